# A registry in another server: what the worker needs there, and what happens to
# a server whose registry is slow, stands still, refuses or fails to commit.

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

my $registry = registry_server('registry');
my $node = fleet_server('node', registry_conninfo($registry), <<'CONF');
cosid.watermark_lead = 1s
cosid.wait_timeout = 60s
CONF

#
# A role with nothing but EXECUTE on the three functions
#
my @ids = mint($node, 'shop', 'order', 1000);
my $row = machine_row($registry);
is(id_machine($ids[0]), $row->{machine_id},
	'a server mints with a machine id of the registry in another one');
is($registry->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE usename = 'fleet' AND application_name = 'cosid'"),
	1, 'its worker has one connection there');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_extension WHERE extname = 'cosid'"),
	0, 'there is no registry in the server itself');
is($node->safe_psql('postgres', "SELECT datname IS NULL FROM pg_stat_activity WHERE backend_type = 'cosid worker'"),
	't', 'the worker is connected to no database');
foreach my $sql ('SELECT * FROM cosid_machine', 'DELETE FROM cosid_machine',
	'SELECT * FROM cosid_registry', 'UPDATE cosid_registry SET first_seen = 0')
{
	is(sql_error($registry, 'postgres', "SET ROLE fleet; $sql;")->{sqlstate},
		'42501', "the role cannot: $sql");
}

#
# Restarts
#
my $pid = worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");    # an error, to it
isnt(worker_pid($node, $pid), $pid, 'a new worker');
push @ids, mint($node, 'shop', 'order', 1000);
is(machine_row($registry)->{distribute_time}, $row->{distribute_time},
	'a worker that was restarted goes on with the same grant');

$node->stop;
$row = machine_row($registry, $row->{machine_id});
is($row->{instance_id}, '', 'a clean shutdown gives the machine id back');
is($row->{last_timestamp}, id_ms($ids[-1]) + 1, 'with the exact watermark');
$node->start;
push @ids, mint($node, 'shop', 'order', 1000);
is(id_machine($ids[-1]), $row->{machine_id}, 'and it is taken again');

my $watermark = machine_row($registry)->{last_timestamp};
$node->stop('immediate');
$node->start;
my ($after) = mint($node, 'shop', 'order', 1);
ok(id_machine($after) != $row->{machine_id} || id_ms($after) > $watermark,
	'after a crash: another machine id, or above the watermark');
push @ids, $after;
check_ids('over all restarts', \@ids);

#
# What is set for the role there does not matter
#
$registry->safe_psql('postgres', "ALTER ROLE fleet SET $_") foreach
  'search_path = nowhere', 'default_transaction_read_only = on',
  "default_transaction_isolation = 'serializable'", 'statement_timeout = 1000000',
  'lock_timeout = 1000000', 'synchronous_commit = off', "client_encoding = 'LATIN1'";
# Longer in the background than the test lasts: what is on disk was flushed.
$registry->append_conf('postgresql.conf', "wal_writer_delay = 10s\nwal_writer_flush_after = 1GB");
$registry->restart;
$node->restart;
($after) = mint($node, 'shop', 'order', 1);
cmp_ok($after, '>', $ids[-1], 'settings of the role: minting goes on');
$watermark = lease($node)->{watermark};
$registry->stop('immediate');
$registry->start;
cmp_ok(machine_row($registry, id_machine($after))->{last_timestamp},
	'>=', $watermark,
	'synchronous_commit = off for the role: a crash of the registry loses no watermark');
$registry->safe_psql('postgres', 'ALTER ROLE fleet RESET ALL');

#
# The registry stands still
#
my $offset = -s $node->logfile;
$node->safe_psql('postgres', 'CREATE DATABASE victim');
reload_with($node, 'cosid.wait_timeout = 1s');
my $client = start_client($node, 'shop', mint_slowly('order'));
wait_for_ids($client);
my @stopped = stop_server($registry);
my $error = finish_client($client);
is($error->{sqlstate}, 'ID002', 'registry stopped: ID002 once the limit is reached');
ok(wait_until(sub { lease($node)->{last_error} =~ /^timeout/ }),
	'registry stopped: the call ends by itself');
like(sql_error($node, 'shop', "SELECT cosid_next('order')")->{detail},
	qr/timeout/, 'registry stopped: the detail has the reason');
# Waits for every process, the worker in the midst of a call included.
$node->safe_psql('postgres', 'DROP DATABASE victim');
pass('registry stopped: DROP DATABASE is not held up');
my $begun = time;
$node->restart;
cmp_ok(time - $begun, '<', 20, 'registry stopped: the server can be restarted');
like(sql_error($node, 'shop', "SELECT cosid_next('order')")->{sqlstate},
	qr/ID002/, 'registry stopped: no machine id');
continue_process($_) foreach @stopped;
reload_with($node, 'cosid.wait_timeout = 60s');
push @ids, @{ (read_ids($client))[0] }, mint($node, 'shop', 'order', 10);
check_ids('registry stopped and continued', \@ids);
is(log_count($node, 'has a problem: timeout', $offset), 1,
	'registry stopped: one line in the log');

#
# A commit that fails after the rows were sent
#
$registry->safe_psql('postgres', <<'SQL');
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'not at the end'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON cosid_machine
	DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse();
SQL
$row = machine_row($registry);
$client = start_client($node, 'shop', 'SET cosid.wait_timeout = 0;' . mint_slowly('order'));
is(finish_client($client)->{sqlstate}, 'ID002', 'commit fails: ID002');
ok(wait_until(sub { lease($node)->{last_error} eq 'not at the end' }), 'commit fails: the error is kept');
is(machine_row($registry)->{last_timestamp}, $row->{last_timestamp}, 'commit fails: the row is as it was');
my ($list) = read_ids($client);
is(count_later($row->{machine_id}, $row->{last_timestamp}, $list), 0,
	'commit fails: no ID is later than the watermark that was committed');
is(lease($node)->{watermark}, $row->{last_timestamp}, 'commit fails: nor is the limit');
$registry->safe_psql('postgres', 'DROP FUNCTION refuse CASCADE');
check_ids('commit fails', $list, [ mint($node, 'shop', 'order', 10) ]);

#
# The registry is restarted while nothing is asked of it
#
$offset = -s $node->logfile;
reload_with($node, 'cosid.watermark_lead = 1min');
ok(wait_until(sub { lease($node)->{watermark} > now_ms() + 40_000 or (mint($node, 'shop', 'order', 1), 0)[1] }),
	'a long lead is taken up');
$registry->restart;
reload_with($node, 'cosid.guard_interval = 100ms');
my $guarded = lease($node)->{guarded_at};
ok(wait_until(sub { lease($node)->{guarded_at} ne $guarded }), 'registry restarted: heartbeats go on');
is(log_count($node, 'has a problem', $offset), 0,
	'registry restarted: the worker has noticed before it asked');

$node->stop;
$registry->stop;
done_testing();
