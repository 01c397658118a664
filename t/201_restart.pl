# What a restart does to IDs: of the server, cleanly and not, and of the worker
# alone.  The first ID comes without a wait, later than all before, and no ID
# twice; a clean shutdown gives the machine id back with the exact watermark.

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

my $node = cosid_server('restart');

# The first ID after a start, and how long it took.
sub first_id
{
	my $start = time;
	my ($id) = mint($node, 'shop', 'order', 1);
	return ($id, time - $start);
}

#
# pg_ctl stop -m fast
#
my $last = max(mint($node, 'shop', 'order', 10000));
my $held = machine_row($node);

cmp_ok($held->{last_timestamp}, '>', id_ms($last) + 1,
	'while the server runs, its watermark is ahead of its IDs');
is($node->safe_psql('shop',
		"SELECT machine_id, extract(epoch FROM timestamp) * 1000 = "
	  . id_ms($last) . " FROM cosid_parse($last)"),
	"$held->{machine_id}|t", 'cosid_parse finds the machine id and the time');

$node->stop('fast');
$node->append_conf('postgresql.conf', 'cosid.worker = off');
$node->start;
my $given_back = machine_row($node, $held->{machine_id});
is($given_back->{instance_id}, '',
	'a clean shutdown gives the machine id back');
is($given_back->{last_timestamp}, id_ms($last) + 1,
	'a clean shutdown leaves the exact watermark');

$node->append_conf('postgresql.conf', 'cosid.worker = on');
$node->restart;
my ($id, $seconds) = first_id();
cmp_ok($seconds, '<', 3, 'stop -m fast and start: the first ID comes without a wait');
cmp_ok($id, '>', $last, 'stop -m fast and start: it is greater than the last');
is(id_machine($id), $held->{machine_id},
	'stop -m fast and start: the machine id is the same');

#
# A stable instance keeps its machine id, so it has to wait out its watermark.
#
$node->append_conf('postgresql.conf', <<'CONF');
cosid.stable = on
cosid.watermark_lead = 3s
cosid.wait_timeout = 60s
CONF
$node->restart;
$last = max(mint($node, 'shop', 'order', 1000));
$held = machine_row($node, id_machine($last));
$node->stop('immediate');
$node->start;
($id) = first_id();
is(id_machine($id), $held->{machine_id},
	'stable, stop -m immediate and start: the machine id is the same');
cmp_ok(id_ms($id), '>', $held->{last_timestamp},
	'stable, stop -m immediate and start: the first ID is above the watermark');
$node->append_conf('postgresql.conf', <<'CONF');
cosid.stable = off
cosid.watermark_lead = 10s
CONF
$node->restart;

#
# pg_ctl stop -m immediate
#
$last = max(mint($node, 'shop', 'order', 10000));
$held = machine_row($node, id_machine($last));
$node->stop('immediate');
$node->start;
($id, $seconds) = first_id();
cmp_ok($seconds, '<', 3, 'stop -m immediate and start: the first ID comes without a wait');
cmp_ok($id, '>', $last, 'stop -m immediate and start: it is greater than the last');
ok( id_machine($id) != $held->{machine_id}
	  || id_ms($id) > $held->{last_timestamp},
	'stop -m immediate and start: another machine id, or above its watermark');

#
# Crashes within a second, each followed by a claim of the least machine id whose
# watermark has passed, which is not the one before: a second that was begun is
# not gone on with, or a lesser machine id would put the IDs after the crash
# before those before it.
#
$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 2s');
$node->restart;
$node->safe_psql('shop', "SELECT cosid_create('seconds', timestamp_unit => 'second')");
my $disordered = 0;
foreach my $crash (1 .. 6)
{
	my $before = (mint($node, 'shop', 'seconds', 1))[0];
	$node->poll_query_until(
		'postgres', q{SELECT bool_and(last_timestamp < extract(epoch FROM clock_timestamp()) * 1000)
			FROM cosid_machine m WHERE machine_id NOT IN
				(SELECT l.machine_id FROM cosid_lease l WHERE l.namespace = m.namespace)})
	  or die 'no other machine id passes';
	wait_until(sub { now_ms() % 1000 < 100 }) or die 'no second begins';
	$before = (mint($node, 'shop', 'seconds', 1))[0];
	$node->stop('immediate');
	$node->start;
	$disordered++ if (mint($node, 'shop', 'seconds', 1))[0] <= $before;
}
is($disordered, 0, 'stop -m immediate and start: a second that was begun is not gone on with');

#
# 20 restarts under load.  With the long lead a crash means another machine id,
# with the short one mostly the same one, above its watermark.  One client gets
# its IDs while its one statement runs, the others get theirs after each.
#
my $largest = 0;
my @rounds = map { { lead => $_, mode => 'fast' }, { lead => $_, mode => 'immediate' } }
  (('10s') x 5, ('100ms') x 5);
my ($total, $duplicates, $disorder, $uncovered, $refused) = (0, 0, 0, 0, 0);

foreach my $round (@rounds)
{
	$node->append_conf('postgresql.conf', "cosid.watermark_lead = $round->{lead}");
	$node->reload;
	my $statement = "SELECT cosid_next('order') FROM generate_series(1, 100);\n"
	  . "DO 'BEGIN PERFORM pg_sleep(0.001); END';\n";
	my @clients = (
		start_client($node, 'shop', mint_in_bursts('order', 50)),
		map { start_client($node, 'shop', $statement x 5000) } 1 .. 3);
	my ($state, $machine_id, $floor);
	my @all;
	my $largest_before = $largest;

	wait_for_ids(@clients);
	$node->stop($round->{mode});
	foreach my $client (@clients)
	{
		my $error = finish_client($client);
		$refused++ if $error->{sqlstate} =~ /^ID/;
	}
	$node->start;

	# The next grant of a machine id starts above all that it was used for.
	ok( wait_until(
			sub {
				($state, $machine_id, $floor) = split /\|/, $node->safe_psql('shop',
					    'SELECT state, machine_id, extract(epoch FROM floor) * 1000'
					  . " FROM cosid_lease WHERE namespace = 'cosid'");
				return $state eq 'held';
			}),
		"restart under load, -m $round->{mode}, lead $round->{lead}");
	foreach my $list (read_ids(@clients))
	{
		my $previous = 0;
		foreach my $id (@$list)
		{
			$disorder++ if $id <= $previous;
			$previous = $id;
		}
		push @all, @$list;
		$disorder++ if @$list && $list->[0] <= $largest_before;
		$largest = max($largest, $previous);
	}
	@all = sort { $a <=> $b } @all;
	$duplicates += grep { $all[$_] == $all[ $_ - 1 ] } 1 .. $#all;
	$total += @all;
	$uncovered += grep { id_machine($_) == $machine_id && id_ms($_) > $floor } @all;
}
note "$total IDs";
cmp_ok($total, '>', 20 * 4 * 100, '20 restarts under load: IDs were given out');
is($duplicates, 0, '20 restarts under load: no duplicate');
is($disorder, 0, '20 restarts under load: IDs increase strictly, across restarts too');
is($uncovered, 0, "20 restarts under load: none is above the floor of its machine id's next grant");
is($refused, 0, '20 restarts under load: none is refused while the server runs');

#
# A shorter lead does not lower a watermark: what was promised may be used.
#
$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 60s');
$node->restart;
($last) = mint($node, 'shop', 'order', 1);
$held = machine_row($node, id_machine($last));
my $guarded_at = 'SELECT guarded_at FROM cosid_lease';
my $guarded = $node->safe_psql('shop', $guarded_at);
$node->append_conf(
	'postgresql.conf', <<'CONF');
cosid.watermark_lead = 100ms
cosid.guard_interval = 100ms
CONF
$node->reload;
ok(wait_until(sub { $node->safe_psql('shop', $guarded_at) ne $guarded }),
	'the worker guards the lease with a shorter lead');
cmp_ok(machine_row($node, id_machine($last))->{last_timestamp},
	'>=', $held->{last_timestamp}, 'which does not lower the watermark');
$node->append_conf('postgresql.conf', 'cosid.guard_interval = 60s');

#
# The worker alone
#
$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 10s');
$node->restart;
($last) = mint($node, 'shop', 'order', 1);
$held = machine_row($node, id_machine($last));
my $client = start_client($node, 'shop', mint_slowly('order'));
wait_for_ids($client);

my $pid = worker_pid($node);
my $offset = -s $node->logfile;
is($node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"),
	't', 'the worker can be cancelled');
my $next_pid = worker_pid($node, $pid);
ok( wait_until(
		sub {
			machine_row($node, $held->{machine_id})->{last_timestamp} >
			  $held->{last_timestamp};
		}),
	'a worker that was restarted goes on extending the watermark');
my $now_held = machine_row($node, $held->{machine_id});
is($now_held->{distribute_time}, $held->{distribute_time},
	'a worker that was restarted goes on with the same grant');
is($now_held->{instance_id}, $held->{instance_id},
	'a worker that was restarted has not given the machine id back');
is(log_count($node, 'claimed machine id', $offset),
	0, 'a worker that was restarted does not claim');

$offset = -s $node->logfile;
is($node->safe_psql('postgres', "SELECT pg_terminate_backend($next_pid)"),
	't', 'the worker can be terminated');
$node->wait_for_log(qr/claimed machine id/, $offset);
wait_for_more_ids($client);
$now_held = machine_row($node);
cmp_ok($now_held->{distribute_time}, '>', $held->{distribute_time},
	'a worker that was terminated gave its grant back; the next one claimed');
my $client_pid = client_pid($client, 'true');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($client_pid)");
is(finish_client($client)->{sqlstate},
	'57P01', 'minting has gone on all the time, by itself');
my ($ids) = read_ids($client);
check_ids('cancelled and terminated worker', $ids);

# The machine id was given back: nothing is minted before the next claim, which
# comes a second later (bgw_restart_time).
my ($exited) = log_since($node, $offset) =~
  /^(\S+ \S+ \S+) .*background worker "cosid worker" \(PID $next_pid\) exited/m;
my $exited_ms = $node->safe_psql('postgres',
	"SELECT (extract(epoch FROM timestamptz '$exited') * 1000)::bigint");
is(scalar(grep { id_ms($_) > $exited_ms && id_ms($_) < $exited_ms + 800 } @$ids),
	0, 'no ID while the machine id is given back');

$node->stop;
done_testing();
