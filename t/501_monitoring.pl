# What a server shows of itself: the views, what waits are called, and the lines
# in its log.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidClock;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# A machine id that does not fit into 2 bits.
my $clock = CosidClock->new;
my $node = $clock->run(
	sub {
		cosid_server(
			'monitoring',
			conf => <<'CONF');
cosid.distributor = manual
cosid.machine_id = 5
cosid.watermark_lead = 4s
cosid.clock_backwards_broken_threshold = 20s
cosid.guard_interval = 1s
cosid.safe_guard_duration = 2s
cosid.wait_timeout = 60s
CONF
	});

# One value of a generator, or of the server's lease.
sub stat_of
{
	my ($name, $expression) = @_;
	return $node->safe_psql('shop', "SELECT $expression FROM cosid_stat WHERE name = '$name'");
}

sub lease
{
	my ($expression) = @_;
	return $node->safe_psql('shop',
		"SELECT $expression FROM cosid_lease WHERE namespace = 'cosid'");
}

# The backend of a client that waits, by the name that its wait has from 17 on.
my $named = $node->pg_version >= 17;

sub event
{
	my ($name) = @_;
	return "wait_event_type = 'Extension' AND wait_event = '" . ($named ? $name : 'Extension') . "'";
}

mint($node, 'shop', 'order', 1);

#
# cosid_lease
#
is(lease('state'), 'held', 'cosid_lease: the state');
is(lease('grant_seconds > 0 AND grant_seconds <= 10'),
	't', 'cosid_lease: seconds of grant left');
is(lease('claims || $$ $$ || losses'), '1 0', 'cosid_lease: claims and losses at first');
$node->safe_psql('postgres',
	"UPDATE cosid_machine SET distribute_time = distribute_time + 1, instance_id = ''"
	  . " WHERE namespace = 'cosid'");
ok(wait_until(sub { lease('claims || $$ $$ || losses') eq '2 1' }),
	'cosid_lease: one more of each after a loss');

#
# cosid_stat: waits and their time
#
is(stat_of('order', 'tick_waits + clock_waits'), 0, 'cosid_stat: no waits for tick or clock at first');
$node->safe_psql('shop',
	"SELECT cosid_create('slow', timestamp_unit => 'second', sequence_bit => 1)");
mint($node, 'shop', 'slow', 7);
is(stat_of('slow', 'tick_waits BETWEEN 2 AND 4'), 't', 'cosid_stat: waits for a tick');
is( stat_of('slow', 'tick_wait_time BETWEEN 500 AND tick_waits * 5000'),
	't',
	'cosid_stat: and what they waited, in ms');

# It goes on waiting until we end that.
mint($node, 'shop', 'order', 1);
my $offset = -s $node->logfile;
my $start = time;
$clock->step(-10_000);
my $client = start_client($node, 'shop', "SELECT cosid_next('order');");
client_pid($client, event('CosidClock'));
my $seen = time;
$node->wait_for_log(qr/cosid noticed that the clock was set back by (9[789]|10[012])\d\d ms/, $offset);
my $least = time - $seen;
$clock->step(10_000);
is(finish_client($client)->{stderr}, '', 'pg_stat_activity: waits for the clock');
my $most = time - $start;
$node->wait_for_log(qr/cosid noticed that the clock was set forward by (9[789]|10[012])\d\d ms/, $offset);
is(stat_of('order', 'clock_waits'), 1, 'cosid_stat: a wait for the clock, however often it looked');
is( stat_of('order', "clock_wait_time BETWEEN $least * 1000 AND $most * 1000"),
	't',
	'cosid_stat: and what it waited');

my $worker = stop_worker($node);
my $minter = "SET cosid.wait_timeout = '1s'; DO 'BEGIN LOOP PERFORM cosid_next(''order''); END LOOP; END'";
is(sql_error($node, 'shop', $minter)->{sqlstate}, 'ID002', 'a grant that is spent');
is(stat_of('order', 'grant_errors'), 1, 'cosid_stat: an error for want of a grant');
is(stat_of('order', 'grant_waits > 0'), 't', 'cosid_stat: a wait for it');
is(stat_of('order', 'grant_wait_time BETWEEN 900 AND 60000'), 't', 'cosid_stat: and what it waited');
is(lease('grant_seconds'), 0, 'cosid_lease: no grant left');

# With the grant still missing
$client = start_client($node, 'shop', "SET cosid.wait_timeout = '1h'; SELECT cosid_next('order');");
client_pid($client, event('CosidGrant'));
continue_worker($worker);
is(finish_client($client)->{stderr}, '', 'pg_stat_activity: waits for a grant');
$client = start_client($node, 'shop', "SELECT cosid_next('slow') FROM generate_series(1, 100000);");
my $pid = client_pid($client, event('CosidTick'));
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
is(finish_client($client)->{sqlstate}, '57P01', 'pg_stat_activity: waits for a tick');
ok( wait_until(
		sub {
			$node->safe_psql('postgres',
				'SELECT ' . event('CosidWorkerMain') . " FROM pg_stat_activity WHERE pid = $worker") eq 't';
		}),
	'pg_stat_activity: the worker is idle');

#
# cosid_stat: errors
#
$node->safe_psql('shop', <<'SQL');
SELECT cosid_create('small', namespace => 'cosid', machine_bit => 2);
SELECT cosid_create('future', epoch => 4102444800000);
SQL
is(sql_error($node, 'shop', "SELECT cosid_next('small')")->{sqlstate}, 'ID003', 'a small layout');
is(stat_of('small', 'machine_id_errors'), 1, 'cosid_stat: a machine id that does not fit');
is(sql_error($node, 'shop', "SELECT cosid_next('future')")->{sqlstate}, 'ID004', 'a late epoch');
is(stat_of('future', 'timestamp_errors'), 1, 'cosid_stat: a time that does not fit');

#
# The log
#
my $hour_ms = 60 * 60 * 1000;
$offset = -s $node->logfile;
$clock->step($hour_ms);
$node->wait_for_log(qr/cosid noticed that the clock was set forward by (3599|3600)\d{3} ms/, $offset);
mint($node, 'shop', 'order', 1);
$clock->step(-$hour_ms);
$node->wait_for_log(qr/cosid noticed that the clock was set back by (3599|3600)\d{3} ms/, $offset);
is(sql_error($node, 'shop', "SELECT cosid_next('order')")->{sqlstate},
	'ID001', 'a clock that is set back');
is(stat_of('order', 'clock_errors'), 1, 'cosid_stat: an error for a clock that was set back');

# The worker looks at the clock again and again, and at one that is merely adjusted.
$clock->step(-300);
my $guarded = lease('guarded_at');
ok(wait_until(sub { lease('guarded_at') ne $guarded }), 'the worker goes on') foreach 1 .. 2;
is(log_count($node, 'cosid noticed', $offset), 2, 'log: one line for each step of the clock');

#
# cosid_stat_reset
#
$node->safe_psql('shop', 'CREATE ROLE watcher IN ROLE pg_monitor');
is(sql_error($node, 'shop', 'SET ROLE watcher; SELECT cosid_stat_reset()')->{sqlstate},
	'42501', 'cosid_stat_reset: not for everyone who may look');
my $before = stat_of('order', 'stats_reset');
$node->safe_psql('shop', 'SELECT cosid_stat_reset()');
is( $node->safe_psql('shop', <<'SQL'),
SELECT count(*), sum(tick_waits + clock_waits + grant_waits
  + clock_errors + grant_errors + machine_id_errors + timestamp_errors),
  sum(tick_wait_time + clock_wait_time + grant_wait_time), count(last_id)
FROM cosid_stat
SQL
	'4|0|0|2', 'cosid_stat_reset: waits and errors are 0, IDs are still there');
isnt(stat_of('order', 'stats_reset'), $before, 'cosid_stat_reset: says when');

$offset = -s $node->logfile;
$node->stop;
is(log_count($node, 'gave back machine id 5 of cosid namespace "cosid"', $offset),
	1, 'log: one line for a machine id that is given back');

done_testing();
