# What an ID costs: no WAL, and little of the worker's.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# Nothing else is to write WAL.
my $node = cosid_server(
	'cost',
	conf => <<'CONF');
autovacuum = off
checkpoint_timeout = 1h
CONF

is($node->safe_psql('postgres', 'SHOW cosid.guard_interval'),
	'1min', 'by default the heartbeat of an idle lease is a minute');
mint($node, 'shop', 'order', 1);

#
# No WAL for an ID
#
my $session = $node->background_psql('shop');
my $before = $session->query_safe('SELECT pg_current_wal_insert_lsn()');
is($session->query_safe(
		"SELECT count(DISTINCT id) FROM (SELECT cosid_next('order') AS id"
		  . " FROM generate_series(1, 1000000)) AS s"),
	1000000, 'a million IDs');
my $written = $session->query_safe("SELECT pg_current_wal_insert_lsn() - '$before'");
note "$written bytes of WAL";
cmp_ok($written, '<', 64 * 1024,
	'no WAL for an ID: a million take less than 64 kB, all of it the watermark');

#
# The worker's writes
#
# How often the row of the registry was written, and nothing else.
sub updates
{
	return $node->safe_psql('postgres',
		    "SELECT n_tup_upd + n_tup_ins FROM pg_stat_user_tables"
		  . " WHERE relname = 'cosid_machine'");
}

# The time that so many writes take, from one to the last.
sub time_writes
{
	my ($count) = @_;
	my ($start, $seconds);
	my $from = updates();

	wait_until(sub { updates() > $from }) or return 0;
	$start = time;
	$from = updates();
	wait_until(sub { updates() >= $from + $count }) or return 0;
	$seconds = time - $start;
	note "$count writes in $seconds s";
	return $seconds;
}

# At rest: one a heartbeat, although the watermark has long passed.
$node->append_conf(
	'postgresql.conf', <<'CONF');
cosid.guard_interval = 1s
cosid.watermark_lead = 500ms
CONF
$node->restart;
mint($node, 'shop', 'order', 1);
$before = $node->safe_psql('shop', 'SELECT pg_current_wal_insert_lsn()');
cmp_ok(time_writes(5), '>', 4,
	'at rest the worker writes one row each cosid.guard_interval');
cmp_ok(
	$node->safe_psql('shop', "SELECT pg_current_wal_insert_lsn() - '$before'"),
	'<', 32 * 1024, 'at rest there is hardly any other WAL');

# The default: none before a minute has passed.  (10 leads pass meanwhile; the
# other generator's commits mark the time.)
$node->safe_psql('shop', "SELECT cosid_create('busy', namespace => 'busy')");
$node->append_conf('postgresql.conf', 'cosid.guard_interval = 1min');
$node->reload;
mint($node, 'shop', 'busy', 1);
my $client = start_client($node, 'shop', mint_slowly('busy'));
wait_for_ids($client);
my $idle = machine_row($node);
time_writes(10);
is_deeply(machine_row($node), $idle,
	'at rest a lease is not extended while another one is');
$node->safe_psql('postgres',
	'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
finish_client($client);

# Minting flat out: one commit each half lead.
$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 1s');
$node->restart;
$client = start_client($node, 'shop',
	    "SELECT count(cosid_next('order'))"
	  . " FROM (SELECT generate_series(1, 10000000000)) AS s;");
client_pid($client, "state = 'active'");
my $seconds = time_writes(10);
cmp_ok($seconds, '>', 10 * 0.5 * 0.7,
	'minting flat out: not more than one commit each half lead');
$node->safe_psql('postgres',
	'SELECT pg_cancel_backend(' . client_pid($client, 'true') . ')');
is(finish_client($client)->{sqlstate}, '57014', 'minting flat out: never refused');
is($node->safe_psql('shop',
		"SELECT grant_waits FROM cosid_stat WHERE name = 'order'"),
	0, 'minting flat out: it never waits for the worker');

$session->quit;
$node->stop;
done_testing();
