# cosid_release gives the server's machine ids back before it moves, exactly and
# for as long as it is wanted.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFaults;
use CosidFleet;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server('release', streaming => 1, conf => "cosid.wait_timeout = 60s\n");
my $soon = "SET cosid.wait_timeout = '200ms';";

sub states
{
	return $node->safe_psql('shop', "SELECT string_agg(DISTINCT state, ' ') FROM cosid_lease");
}

# Two namespaces, and clients at work
$node->safe_psql('shop', "SELECT cosid_create('ticket', safe_javascript => true)");
mint($node, 'shop', 'ticket', 1);
my @clients = map { start_client($node, 'shop', "$soon " . mint_slowly('order')) } 1 .. 2;
wait_for_ids($_) foreach @clients;
my $row = machine_row($node);
my $offset = -s $node->logfile;

$node->safe_psql('shop', 'SELECT cosid_release()');
is(states(), 'released', 'all leases are released');
my $after = machine_row($node, $row->{machine_id});
is($after->{instance_id}, '', 'the registry has the machine id back');
foreach my $client (@clients)
{
	my $error = finish_client($client);

	is($error->{sqlstate}, 'ID002', 'who mints gets ID002');
	like($error->{detail}, qr/given back by cosid_release/, 'with the reason');
	like($error->{hint}, qr/cosid_resume/, 'and what ends it');
}
my @lists = read_ids(@clients);
my ($largest) = sort { $b <=> $a } map { @$_ } @lists;
is($after->{last_timestamp}, id_ms($largest) + 1,
	'the watermark is exact: nothing was given out after it');
is(log_count($node, 'gave back machine id', $offset), 2, 'one line in the log for each');

# It stays so, whoever asks, and over a new worker.
is(sql_error($node, 'shop', "$soon SELECT cosid_next('order')")->{sqlstate},
	'ID002', 'nobody mints');
my $pid = worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
worker_pid($node, $pid);
is(sql_error($node, 'shop', "$soon SELECT cosid_next('order')")->{sqlstate},
	'ID002', 'nor with a new worker');
is(log_count($node, 'claimed machine id', $offset), 0, 'and nothing is claimed');
is($node->safe_psql('shop', 'SELECT cosid_release()'), '', 'once more does no harm');

# Until it is ended: without a wait for the watermark
$node->safe_psql('shop', 'SELECT cosid_resume()');
push @lists, [ mint($node, 'shop', 'order', 10) ];
is(states(), 'held', 'cosid_resume: held again, all of them');
is(id_machine($lists[-1][0]), $row->{machine_id}, 'the same machine id');

$node->safe_psql('shop', 'SELECT cosid_release()');
$node->restart;
push @lists, [ mint($node, 'shop', 'order', 10) ];
check_ids('over all of it', @lists);

#
# A claim that is under way when it is called: nothing is held once it returns
#
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'away'");
$node->reload;
wait_until(
	sub {
		$node->psql('shop', "SELECT pg_logical_emit_message(true, 'a', 'b')", timeout => 1, timed_out => \my $waits);
		return $waits;
	}) or die 'commits do not wait';
$node->safe_psql('shop', 'SELECT cosid_release()');
$offset = -s $node->logfile;
$node->safe_psql('shop', 'SELECT cosid_resume()');
ok( $node->poll_query_until('postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE backend_type = 'cosid worker' AND wait_event = 'SyncRep'"),
	'a claim under way: it waits for its commit');
$node->safe_psql('shop', 'SELECT cosid_release()');
is(states(), 'released', 'a claim under way: released');
is( log_count($node, 'gave back machine id', $offset), log_count($node, 'claimed machine id', $offset),
	'a claim under way: what it claimed was given back before cosid_release returned');
cmp_ok(log_count($node, 'claimed machine id', $offset), '>', 0, 'a claim under way: it was one');
is($node->safe_psql('postgres', "SELECT count(*) FROM cosid_machine WHERE instance_id <> ''"), 0,
	'a claim under way: the registry has all machine ids back');
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->reload;
$node->safe_psql('shop', 'SELECT cosid_resume()');
push @lists, [ mint($node, 'shop', 'order', 10) ];

#
# What failed before it does not count as its failure, nor later
#
$node->safe_psql('postgres', <<'SQL');
INSERT INTO cosid_machine (name, namespace, machine_id, instance_id, last_timestamp)
SELECT 'cosid-1.0000000' || i, 'cosid-1', i, 'pg-' || i, extract(epoch FROM now() + interval '1 hour') * 1000 FROM generate_series(0, 1) i
SQL
$node->safe_psql('shop', "SELECT cosid_create('few', machine_bit => 1)");
is(sql_error($node, 'shop', "$soon SELECT cosid_next('few')")->{sqlstate}, 'ID003', 'a full namespace');
$node->safe_psql('shop', 'SELECT cosid_release()');
is(sql_error($node, 'shop', "$soon SELECT cosid_next('few')")->{sqlstate}, 'ID002', 'a full namespace, released');
$node->safe_psql('postgres', "UPDATE cosid_machine SET instance_id = '' WHERE namespace = 'cosid-1'");
$node->safe_psql('shop', 'SELECT cosid_resume()');
mint($node, 'shop', 'order', 1);
my $locker = $node->background_psql('postgres');
$offset = -s $node->logfile;
$locker->query_safe('BEGIN; LOCK cosid_machine IN ACCESS EXCLUSIVE MODE');
my $waiter = start_client($node, 'shop', mint_slowly('order'));
$node->wait_for_log(qr/has a problem: .*lock timeout/, $offset);
my $stopped = stop_worker($node);
$locker->query_safe('COMMIT');
$locker->quit;
my $release = start_client($node, 'shop', 'SELECT cosid_release();');
client_pid($release, "wait_event_type = 'Extension'");
continue_worker($stopped);
is(finish_client($release)->{stderr}, '', 'an earlier error: no warning once the machine ids are given back');
$node->safe_psql('postgres', 'SELECT pg_terminate_backend(' . client_pid($waiter, 'true') . ')');
finish_client($waiter);
push @lists, read_ids($waiter);
$node->safe_psql('shop', 'SELECT cosid_resume()');
push @lists, [ mint($node, 'shop', 'order', 10) ];
check_ids('over what was under way', @lists);

# Rights
$node->safe_psql('shop', 'CREATE ROLE nobody');
foreach my $function (qw(cosid_release cosid_resume))
{
	is(sql_error($node, 'shop', "SET ROLE nobody; SELECT $function()")->{sqlstate},
		'42501', "$function is not for everyone");
}

# cosid_machine_forget and a sign of life of the machine id's holder
$node->safe_psql('postgres', <<'SQL');
INSERT INTO cosid_machine (name, namespace, machine_id, instance_id, stable) VALUES ('gone.00000000', 'gone', 0, 'pg-0', true);
SQL
my $holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; UPDATE cosid_machine SET last_timestamp = extract(epoch FROM now()) * 1000 WHERE namespace = 'gone'");
my $forget = start_client($node, 'postgres', "SELECT cosid_machine_forget('gone', 0);");
client_pid($forget, "wait_event_type = 'Lock'");
$holder->query_safe('COMMIT');
$holder->quit;
is(finish_client($forget)->{sqlstate}, '55006', 'a machine id whose holder comes back at that moment is not forgotten');

$node->safe_psql('postgres', "UPDATE cosid_machine SET last_timestamp = 7 WHERE namespace = 'gone'");
my $forgetter = $node->background_psql('postgres');
$forgetter->query_safe("BEGIN; SELECT cosid_machine_forget('gone', 0)");
my $guard = start_client($node, 'postgres',
	"SELECT cosid_machine_guard('gone', 0, 'pg-0', 0, 7, 'pg-0', 1000, 0) IS NULL;");
client_pid($guard, "wait_event_type = 'Lock'");
$forgetter->query_safe('COMMIT');
$forgetter->quit;
is(finish_client($guard)->{stderr}, '', 'its holder, a moment too late, has no error');
is_deeply(read_ids($guard), ['t'], 'but has lost the machine id');
is($node->safe_psql('postgres', "SELECT last_timestamp, instance_id FROM cosid_machine WHERE namespace = 'gone'"),
	'7|', 'which has the watermark that it had');

# A worker that hangs
my $worker = stop_worker($node);
my $error = sql_error($node, 'shop', "$soon SELECT cosid_release()");
is($error->{sqlstate}, '55P03', 'a worker that hangs: an error in time');
$error = sql_error($node, 'shop', "SET statement_timeout = '200ms'; SELECT cosid_release()");
is($error->{sqlstate}, '57014', 'a worker that hangs: can be cancelled');
continue_worker($worker);
ok(wait_until(sub { states() eq 'released' }), 'and it is done when the worker goes on');
$node->stop;

# A registry that is away
my $registry = registry_server('registry');
my $member = fleet_server('member', registry_conninfo($registry), "cosid.wait_timeout = 60s\n");
my ($last) = mint($member, 'shop', 'order', 1);
my $held = lease($member);
$registry->stop('immediate');
my ($ret, $stdout, $stderr) = $member->psql('shop', 'SELECT cosid_release()');
is($ret, 0, 'a registry that is away: released all the same');
like($stderr, qr/WARNING:  nothing more is minted with machine id \d+ of namespace "cosid", but the registry does not know/,
	'a registry that is away: a warning says that the row stays');
is(sql_error($member, 'shop', "$soon SELECT cosid_next('order')")->{sqlstate},
	'ID002', 'a registry that is away: nothing is minted');

# Nobody knows whether it was given back, so that is not tried again: not by the
# same worker, not by the next, not when the server stops.
$registry->start;
$member->psql('shop', 'SELECT cosid_release()');
$pid = worker_pid($member);
$member->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
worker_pid($member, $pid);
$member->psql('shop', 'SELECT cosid_release()');
$member->stop;
my $kept = machine_row($registry, $held->{machine_id});
isnt($kept->{instance_id}, '', 'a registry that was away: its row stays');
cmp_ok($kept->{last_timestamp}, '>=', $held->{watermark}, 'a registry that was away: and keeps its high watermark');
$member->start;
my ($next) = mint($member, 'shop', 'order', 1);
check_ids('over a registry that was away', [ $last, $next ]);

$_->stop foreach $member, $registry;
done_testing();
