# Machine ids that are lost, or not to be had: the row is another's all of a
# sudden, the namespace is full, the registry is dropped.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = cosid_server(
	'lost',
	conf => <<'CONF');
cosid.watermark_lead = 1s
cosid.wait_timeout = 60s
CONF
mint($node, 'shop', 'order', 1);
# The grant comes before the line in the log, and lines are counted below.
$node->wait_for_log(qr/claimed machine id/);

# Do something to the row of the machine id that is held, while a client mints.
# What the row shows then is the last that was promised to this server, unless
# the change takes some of it back.
sub check_loss
{
	my ($what, $change, $taken_back) = @_;
	my $client = start_client($node, 'shop', mint_slowly('order'));
	my $offset = -s $node->logfile;
	my ($machine_id, $watermark, $list);

	wait_for_ids($client);
	($machine_id, $watermark) = split /\|/, $node->safe_psql(
		'postgres', "UPDATE cosid_machine SET $change"
		  . " WHERE namespace = 'cosid' AND instance_id <> '' AND last_timestamp ="
		  . " (SELECT max(last_timestamp) FROM cosid_machine WHERE namespace = 'cosid')"
		  . " RETURNING machine_id, last_timestamp");
	$node->wait_for_log(qr/claimed machine id/, $offset);
	wait_for_more_ids($client);
	$node->safe_psql('postgres',
		'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
	is(finish_client($client)->{sqlstate}, '57P01', "$what: minting goes on");

	is(log_count($node, "lost machine id $machine_id ", $offset),
		1, "$what: one line in the log");
	is(log_count($node, 'LOG:  .*cosid', $offset),
		2, "$what: and one for the new claim");
	($list) = read_ids($client);
	my @old = grep { id_machine($_) == $machine_id } @$list;
	cmp_ok(scalar @old, '>', 0, "$what: IDs of the machine id that was lost");
	cmp_ok(scalar @old, '<', scalar @$list, "$what: IDs of another machine id");
	$watermark += $taken_back // 0;
	is(scalar(grep { id_ms($_) > $watermark } @old),
		0, "$what: none of the lost one is later than its watermark");
	check_ids($what, $list);
	return;
}

check_loss('another token', 'distribute_time = distribute_time + 1');
check_loss('another holder', "instance_id = 'x', owner = 'x'");

# A row that lost commits: the watermark that this server saw confirmed isn't in
# it any more.
check_loss('a row that was rolled back',
	'last_timestamp = last_timestamp - 60000',
	60000);

# Nobody mints: the worker finds out with the next heartbeat.
$node->append_conf('postgresql.conf', 'cosid.guard_interval = 200ms');
$node->reload;
my $offset = -s $node->logfile;
my $lost = machine_row($node)->{machine_id};
$node->safe_psql('postgres',
	"UPDATE cosid_machine SET distribute_time = distribute_time + 1"
	  . " WHERE namespace = 'cosid' AND machine_id = $lost");
ok(wait_until(sub { log_count($node, 'claimed machine id', $offset) > 0 }),
	'while nobody mints: another machine id is claimed');
is(log_count($node, "lost machine id $lost ", $offset),
	1, 'while nobody mints: one line in the log');
$node->append_conf('postgresql.conf', 'cosid.guard_interval = 60s');
$node->reload;

#
# The namespace is full
#
sub take_by_hand
{
	my ($namespace, $machine_id) = @_;

	$node->safe_psql(
		'postgres', "INSERT INTO cosid_machine (name, namespace, machine_id,"
		  . " last_timestamp, instance_id, distribute_time, fence, owner)"
		  . " SELECT '$namespace.0000000$machine_id', '$namespace', $machine_id,"
		  . " now_ms + 3600000, 'other', now_ms, now_ms, 'other'"
		  . " FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms) AS s");
	return;
}

take_by_hand('tiny', $_) foreach 0, 1;
$node->safe_psql('shop',
	"SELECT cosid_create('tiny', namespace => 'tiny', machine_bit => 1)");
$offset = -s $node->logfile;
my $error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '1s'; SELECT cosid_next('tiny');");
is($error->{sqlstate}, 'ID003', 'namespace full: ID003');
like($error->{message}, qr/namespace "tiny"/, 'namespace full: the message names it');
like($error->{hint}, qr/namespace/, 'namespace full: HINT says what helps');
cmp_ok($error->{seconds}, '>=', 1, 'namespace full: after cosid.wait_timeout');

my $client = start_client($node, 'shop',
	"SET cosid.wait_timeout = '1h'; SELECT cosid_next('tiny');");
client_pid($client, "wait_event_type = 'Extension'");
is(scalar(split /\n/, $node->safe_psql('shop', "SELECT cosid_next('order')")),
	1, 'namespace full: other namespaces mint');
is(log_count($node, 'LOG: .*"tiny" has a problem', $offset),
	1, 'namespace full: one line in the log');
$node->safe_psql('postgres',
	"UPDATE cosid_machine SET instance_id = '', last_timestamp = last_timestamp - 3660000"
	  . " WHERE namespace = 'tiny' AND machine_id = 1");
is(finish_client($client)->{stderr},
	'', 'namespace full: mints by itself when a machine id is given back');
my ($ids) = read_ids($client);
is($node->safe_psql('shop', "SELECT machine_id FROM cosid_parse($ids->[0], 'tiny')"),
	1, 'namespace full: it is the one that was given back');

#
# A machine id that does not fit: the lease is as wide as the generator that
# first wanted it.
#
take_by_hand('wide', $_) foreach 0, 1;
$node->safe_psql(
	'shop', "SELECT cosid_create('wide', namespace => 'wide');"
	  . " SELECT cosid_create('thin', namespace => 'wide', machine_bit => 1);"
	  . " SELECT cosid_next('wide')");
$error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '1h'; SELECT cosid_next('thin');");
is($error->{sqlstate}, 'ID003', 'machine id does not fit: ID003');
like($error->{hint}, qr/namespace of its own/,
	'machine id does not fit: HINT says what helps');
cmp_ok($error->{seconds}, '<', 60, 'machine id does not fit: at once');

#
# The registry is dropped
#
$client = start_client($node, 'shop', mint_slowly('order'));
wait_for_ids($client);
$offset = -s $node->logfile;
$node->safe_psql('postgres', 'DROP EXTENSION cosid');
$node->wait_for_log(
	qr/created extension cosid in database "postgres"(.*\n)*.*claimed machine id \d+ of cosid namespace "cosid"/,
	$offset);
wait_for_more_ids($client);
$node->safe_psql('postgres',
	'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
is(finish_client($client)->{sqlstate},
	'57P01', 'registry dropped: minting goes on by itself');
check_ids('registry dropped', read_ids($client));

# Nobody mints, so nobody needs another one: the worker finds out with the next
# heartbeat, and then has nothing to do.
sub run_time
{
	return (split ' ', slurp_file("/proc/$_[0]/schedstat"))[0];
}

$node->append_conf('postgresql.conf', 'cosid.guard_interval = 200ms');
$node->reload;
$offset = -s $node->logfile;

# As someone who is in the middle of it might see it: an attempt fails first, and
# is not to be repeated when there is nothing left to try.
$node->safe_psql('postgres', 'ALTER TABLE cosid_registry RENAME TO somewhere_else');
$node->wait_for_log(qr/lease of namespace "cosid" has a problem/, $offset);
$node->safe_psql('postgres', 'DROP EXTENSION cosid');
$node->wait_for_log(qr/lost machine id .* "cosid": the registry has no extension/, $offset);
my $worker = worker_pid($node);
ok( wait_until(
		sub {
			my $before = run_time($worker);
			usleep(500_000);
			return run_time($worker) == $before;
		}),
	'registry dropped, while nobody mints: the worker comes to rest');
is(scalar(mint($node, 'shop', 'order', 1)), 1, 'and makes another one for the next ID');

$node->stop;
done_testing();
