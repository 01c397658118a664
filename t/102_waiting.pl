# What happens to statements that can't have an ID now: they wait, can be
# cancelled at once, fail with the reason when nothing changes, and all is well
# again by itself when it has.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# "At once", on a machine that is busy; all that could be waited for instead
# takes an hour.
my $at_once_s = 20;

my $patient = "SET cosid.wait_timeout = '1h';";
my $next = "SELECT cosid_next('order')";

my $node = cosid_server(
	'waiting',
	conf => <<'CONF');
cosid.watermark_lead = 1s
cosid.wait_timeout = 1s
CONF
my ($last) = mint($node, 'shop', 'order', 1);

# A statement that waits can be ended in all the ways there are, but for
# shutdown, and at once.
sub check_cancellation
{
	my ($what, $sql) = @_;
	my $waiting = "state = 'active' AND wait_event_type = 'Extension'";

	foreach my $way ([ 'pg_cancel_backend', '57014' ],
		[ 'pg_terminate_backend', '57P01' ])
	{
		my ($function, $sqlstate) = @$way;
		my $client = start_client($node, 'shop', "$patient $sql;");
		my $pid = client_pid($client, $waiting);
		my $start = time;

		$node->safe_psql('postgres', "SELECT $function($pid)");
		is(finish_client($client)->{sqlstate},
			$sqlstate, "waiting for $what: ended by $function");
		cmp_ok(time - $start, '<', $at_once_s,
			"waiting for $what: ended by $function at once");
	}
	my $error = sql_error($node, 'shop',
		"$patient SET statement_timeout = '500ms'; $sql;");
	is($error->{sqlstate}, '57014',
		"waiting for $what: ended by statement_timeout");
	cmp_ok($error->{seconds}, '<', $at_once_s,
		"waiting for $what: ended by statement_timeout at once");
	return;
}

#
# A worker that hangs
#
# It hangs after it has extended the grant, and half a lead before it would do so
# again.
my $client = start_client($node, 'shop', mint_slowly('order'));
wait_for_ids($client);
my $extended = $node->safe_psql('shop', 'SELECT guarded_at FROM cosid_lease');
wait_until(
	sub {
		$node->safe_psql('shop', 'SELECT guarded_at FROM cosid_lease') ne $extended;
	});
my $worker = stop_worker($node);
my $stopped_ms = now_ms();
my $row = machine_row($node);
my $error = finish_client($client);
my $failed_ms = now_ms();
my ($ids) = read_ids($client);

is($error->{sqlstate}, 'ID002', 'worker stopped: ID002 in the end');
like($error->{detail}, qr/The grant ended at/, 'worker stopped: DETAIL says why');
like($error->{hint}, qr/cosid_lease/, 'worker stopped: HINT says where to look');
cmp_ok($failed_ms, '>=', $row->{last_timestamp} + 1000,
	'worker stopped: it fails cosid.wait_timeout after the limit');
is_deeply(machine_row($node), $row, 'worker stopped: its row stays as it is');
cmp_ok(scalar(grep { id_ms($_) >= $stopped_ms } @$ids),
	'>', 0, 'worker stopped: minting goes on up to the limit');
is(scalar(grep { id_ms($_) > $row->{last_timestamp} } @$ids),
	0, 'worker stopped: no ID is later than the watermark');
check_ids('worker stopped', $ids);
$last = max($last, @$ids);

check_cancellation('a grant', $next);

$client = start_client($node, 'shop', "$patient $next;");
client_pid($client, "wait_event_type = 'Extension'");
continue_worker($worker);
is(finish_client($client)->{stderr}, '', 'worker continued: minting comes back by itself');
($ids) = read_ids($client);
cmp_ok($ids->[0], '>', $last, 'worker continued: the next ID is later');
is(id_machine($ids->[0]), id_machine($last), 'worker continued: the machine id is the same');
is(machine_row($node)->{distribute_time},
	$row->{distribute_time}, 'worker continued: the grant is the same');

#
# A sequence that is used up
#
$node->safe_psql('shop',
	"SELECT cosid_create('slow', timestamp_unit => 'second', sequence_bit => 1)");
my $slow = "SELECT cosid_next('slow') FROM generate_series(1, 100000)";
check_cancellation('a tick', $slow);
is($node->safe_psql('shop',
		"SELECT tick_waits > 0 FROM cosid_stat WHERE name = 'slow'"),
	't', 'waiting for a tick: cosid_stat counts it');

#
# A registry that can't be written
#
# While a client mints, the worker gives up each attempt; the limit passes; when the obstacle is gone,
# all is well again.  Whatever the number of attempts, the log has one line for
# the beginning and one for the end.
#
sub check_episode
{
	my ($what, $reason, $offset, $remove) = @_;
	my $attempts = 0;
	my $attempted = '';
	my $client = start_client($node, 'shop', "$patient\n" . mint_slowly('order'));

	$node->wait_for_log(qr/has a problem: .*$reason/, $offset);
	my $error = sql_error($node, 'shop', mint_slowly('order'));
	is($error->{sqlstate}, 'ID002', "$what: ID002");
	like($error->{detail}, qr/$reason/, "$what: DETAIL has the worker's error");

	ok( wait_until(
			sub {
				my $at = $node->safe_psql('shop',
					"SELECT last_error_at FROM cosid_lease WHERE namespace = 'cosid'");
				$attempts++ if $at ne $attempted;
				$attempted = $at;
				return $attempts >= 4;
			}),
		"$what: the worker tries again");
	like($node->safe_psql('shop',
			"SELECT last_error FROM cosid_lease WHERE namespace = 'cosid'"),
		qr/$reason/, "$what: cosid_lease has the worker's error");
	is(log_count($node, 'has a problem', $offset),
		1, "$what: one line in the log");

	$remove->();
	wait_for_more_ids($client);
	$node->safe_psql('postgres',
		'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
	is(finish_client($client)->{sqlstate}, '57P01', "$what: comes back by itself");
	$node->wait_for_log(qr/has recovered/, $offset);
	is(log_count($node, 'has recovered', $offset),
		1, "$what: one line in the log when it is over");
	my (undef, $largest) = check_ids($what, read_ids($client));
	$last = $largest;
	return;
}

my $offset = -s $node->logfile;
my $locker = $node->background_psql('postgres');
$locker->query_safe('BEGIN; LOCK TABLE cosid_machine IN ACCESS EXCLUSIVE MODE');
check_episode('cosid_machine locked', qr/lock timeout/, $offset,
	sub { $locker->query_safe('COMMIT') });
$locker->quit;

$offset = -s $node->logfile;
$node->safe_psql('postgres', 'ALTER TABLE cosid_machine RENAME TO elsewhere');
check_episode(
	'cosid_machine renamed',
	qr/"cosid_machine" of extension cosid does not exist/,
	$offset,
	sub {
		$node->safe_psql('postgres',
			'ALTER TABLE elsewhere RENAME TO cosid_machine');
	});

#
# Shutdown
#
# The server stops although two statements wait, one for a tick and one for a
# grant that nobody will give: a worker that hangs would hold up the shutdown
# itself, so here it is one that can't connect.
#
$node->append_conf(
	'postgresql.conf', <<'CONF');
cosid.database = 'nowhere'
cosid.watermark_lead = 10s
CONF
$client = start_client($node, 'shop', "$patient $slow;");
client_pid($client, "wait_event_type = 'Extension'");
my $start = time;
$node->stop('fast');
is(finish_client($client)->{sqlstate},
	'57P01', 'waiting for a tick: ended by shutdown');
cmp_ok(time - $start, '<', $at_once_s,
	'waiting for a tick: ended by shutdown at once');

$offset = -s $node->logfile;
$node->start;
$client = start_client($node, 'shop', "$patient $next;");
client_pid($client, "wait_event_type = 'Extension'");
$start = time;
$node->stop('fast');
is(finish_client($client)->{sqlstate},
	'57P01', 'waiting for a grant: ended by shutdown');
cmp_ok(time - $start, '<', $at_once_s,
	'waiting for a grant: ended by shutdown at once');

#
# cosid.database names a database that does not exist (yet)
#
$offset = -s $node->logfile;
$start = time;
$node->start;
my $no_database = qr/FATAL: .*database "nowhere" does not exist/;
$node->wait_for_log($no_database, $offset);
wait_until(
	sub {
		$node->safe_psql('shop',
			"SELECT last_error FROM cosid_lease WHERE namespace = 'cosid'") ne '';
	});
$error = sql_error($node, 'shop', "$next;");
is($error->{sqlstate}, 'ID002', 'cosid.database missing: ID002');
like($error->{detail}, qr/cosid\.database/, 'cosid.database missing: DETAIL says so');
$client = start_client($node, 'shop', "$patient $next;");
client_pid($client, "wait_event_type = 'Extension'");
ok(wait_until(sub { log_count($node, $no_database, $offset) >= 2 }),
	'cosid.database missing: the worker tries again');
cmp_ok(log_count($node, $no_database, $offset),
	'<=', 2 + (time - $start) / 3, 'cosid.database missing: the log is not flooded');
$node->safe_psql('postgres', 'CREATE DATABASE nowhere');
is(finish_client($client)->{stderr},
	'', 'cosid.database created: minting comes back by itself');
($ids) = read_ids($client);
cmp_ok($ids->[0], '>', $last, 'cosid.database created: the next ID is later');
cmp_ok($node->safe_psql('nowhere', 'SELECT count(*) FROM cosid_machine'),
	'>', 0, 'cosid.database created: the registry is in it');

#
# cosid.worker = off
#
$node->append_conf('postgresql.conf', 'cosid.worker = off');
$node->restart;
$error = sql_error($node, 'shop', "$next;");
is($error->{sqlstate}, 'ID002', 'cosid.worker = off: ID002');
like($error->{detail}, qr/cosid\.worker/, 'cosid.worker = off: DETAIL says so');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cosid worker'"),
	0, 'cosid.worker = off: no worker runs');
$node->safe_psql('shop', 'SELECT cosid_release()');
$node->safe_psql('postgres', 'DROP DATABASE nowhere');
pass('cosid.worker = off: nothing to release, and the database of the registry can be dropped');

$node->stop;
done_testing();
