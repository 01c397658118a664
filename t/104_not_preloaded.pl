# A server that has not preloaded the library: before PostgreSQL 17 it refuses to
# mint, from then on its first use makes shared memory and starts the worker.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFleet;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server(
	'plain',
	streaming => 1,
	conf => <<'CONF');
autovacuum = off
restart_after_crash = on
log_min_messages = debug1
cosid.watermark_lead = 1s
cosid.wait_timeout = 60s
CONF
my $mints = $node->pg_version >= 17;
my ($last) = mint($node, 'shop', 'order', 1);
my @at_start = split /\n/, $node->safe_psql('shop',
	"SELECT name FROM pg_settings WHERE name LIKE 'cosid.%' AND context = 'postmaster'");

sub restart_with
{
	my ($conf) = @_;

	$node->append_conf('postgresql.conf', $conf);
	$node->restart;
	return;
}

sub workers
{
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'cosid worker'");
}

# A call that is refused because the library had to be loaded at server start.
sub is_refused
{
	my ($what, $sql) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $error = sql_error($node, 'shop', $sql);

	is($error->{sqlstate}, '55000', "$what: 55000");
	is($error->{message}, 'cosid must be loaded when the server starts',
		"$what: the message says why");
	is( $error->{hint},
		'Add cosid to the setting "shared_preload_libraries" and restart the server.',
		"$what: the hint what to do");
	return $error;
}

#
# Before anyone has used it
#
restart_with("shared_preload_libraries = ''");
is(workers(), 0, 'not preloaded: no worker');
is($node->safe_psql('shop', 'SELECT count(last_id) FROM cosid_stat'),
	0, 'not preloaded: no IDs in cosid_stat');
is( $node->safe_psql(
		'shop', 'SELECT count(machine_id), count(last_error) FROM cosid_lease'),
	'0|0',
	'not preloaded: no machine id in cosid_lease');
is(workers(), 0, 'not preloaded: the views start no worker');

if (!$mints)
{
	is_refused("before 17: $_", "$_;")
	  foreach "SELECT cosid_next('other')", 'SELECT cosid_next()',
	  "SELECT * FROM cosid_next('other', 2)", 'SELECT cosid_release()', 'SELECT cosid_resume()';
	$node->safe_psql('shop',
		"CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('other'))");
	is_refused('before 17: a default', 'INSERT INTO orders DEFAULT VALUES;');
	$node->safe_psql('shop', 'INSERT INTO orders VALUES (1)');
	is($node->safe_psql('shop', "SELECT count(*) FROM cosid_generator WHERE name = 'other'"),
		0, 'before 17: nothing is defined by the attempt');
	is($node->safe_psql('shop', 'SELECT count(*) FROM cosid_lease'), 0,
		'before 17: no leases');
	is(workers(), 0, 'before 17: no worker');
	$node->stop;
	done_testing();
	exit;
}

#
# First use
#
my $offset = -s $node->logfile;
my @lists = mint_concurrently($node, 'shop', 'order', 8, 2000);
my ($smallest, $largest) = check_ids('8 first users', @lists);

cmp_ok($smallest, '>', $last, '8 first users: IDs increase, since it was preloaded');
is(log_count($node, 'starting background worker process "cosid worker"', $offset),
	1, '8 first users: one worker is started');
is(workers(), 1, '8 first users: one worker runs');
is($node->safe_psql('shop', 'SELECT namespace, state FROM cosid_lease'),
	'cosid|held', '8 first users: cosid_lease shows the lease');
cmp_ok($node->safe_psql('shop', 'SELECT last_id FROM cosid_stat'),
	'>=', $largest, '8 first users: cosid_stat shows the last ID');

# Where a process has mapped segments of shared memory that came after its start.
sub addresses
{
	my ($pid) = @_;

	return join ' ', map { /^(\w+)-\S+ .*PostgreSQL\.\d+$/ ? $1 : () }
	  split /\n/, slurp_file("/proc/$pid/maps");
}

# One session that has the segment elsewhere, since it took much memory first.
my @sessions = map { $node->background_psql('shop') } 1 .. 2;
$sessions[1]->query_safe("DO \$\$ DECLARE much text := repeat('x', 100000000);"
	  . " BEGIN PERFORM cosid_next('far'); END \$\$");
my @near = split /\n/, $sessions[0]->query_safe("SELECT cosid_next('far'), cosid_next('order')");
my @pids = map { $_->query_safe('SELECT pg_backend_pid()') } @sessions;
my @far = split /\n/, $sessions[1]->query_safe("SELECT cosid_next('far'), cosid_next('order')");
isnt(addresses($pids[0]), addresses($pids[1]), 'two addresses: they differ');
for my $i (0 .. 1)
{
	my @ids = ((split /\|/, $near[0])[$i], (split /\|/, $far[0])[$i]);

	cmp_ok($ids[1], '>', $ids[0], "two addresses: generator $i is one");
}
is($node->safe_psql('shop', "SELECT namespace FROM cosid_stat WHERE name = 'far'"),
	'cosid', 'two addresses: and so is its lease');

$_->quit foreach @sessions;

#
# Its worker ends, and comes back
#
my $client = start_client($node, 'shop', mint_slowly('order'));
my $pid = worker_pid($node);

wait_for_ids($client);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
isnt(worker_pid($node, $pid), $pid, 'pg_terminate_backend: the worker comes back');
wait_for_more_ids($client);
is(workers(), 1, 'pg_terminate_backend: one worker');

# PostgreSQL is to start it again, and someone who needs it was faster.  The
# postmaster is kept from both until then: SIGUSR1 (10) is how it is asked.
my $postmaster = $node->{_pid};
END { kill('CONT', $postmaster) if defined $postmaster }
$offset = -s $node->logfile;
$pid = worker_pid($node);
kill('STOP', $postmaster);
kill('TERM', $pid);
ok( wait_until(
		sub { slurp_file("/proc/$postmaster/status") =~ /^ShdPnd:\s+(\w+)/m && hex($1) & 1 << 9 }),
	'two workers: someone who needs it asks for one');
kill('CONT', $postmaster);
$node->wait_for_log(qr/background worker "cosid worker" \(PID \d+\) exited with exit code 0/,
	$offset);
is(log_count($node, 'starting background worker process "cosid worker"', $offset),
	2, 'two workers: both were started');
wait_for_more_ids($client);
is(workers(), 1, 'two workers: one stays');

#
# A crash
#
$offset = -s $node->logfile;
kill('KILL', client_pid($client, 'true'));
finish_client($client);
$node->wait_for_log(qr/terminated by signal 9/, $offset);
ok($node->poll_query_until('postgres', 'SELECT true'), 'kill -9: the server comes back');
ok(worker_pid($node), 'kill -9: so does the worker, by itself');
my ($before) = read_ids($client);
my @after = mint($node, 'shop', 'order', 1000);
cmp_ok($after[0], '>', $before->[-1], 'kill -9: the IDs after it are later');
check_ids('kill -9: before and after', \@after, $before, @lists);
is(workers(), 1, 'kill -9: one worker');

#
# A clean restart
#
$node->restart;
is(workers(), 0, 'clean restart: no worker');
my $row = machine_row($node, id_machine($after[-1]));
is($row->{instance_id}, '', 'clean restart: the machine id was given back');
cmp_ok($row->{last_timestamp} - id_ms($after[-1]),
	'<=', 1, 'clean restart: with the exact watermark');

# A parallel worker is the first to use it.
$client = start_client($node, 'shop',
	"SET debug_parallel_query = on;\nSELECT cosid_next('order');\n");
is(finish_client($client)->{stderr}, '', 'first used by a parallel worker: no error');
my ($parallel) = read_ids($client);
cmp_ok($parallel->[0], '>', $after[-1], 'first used by a parallel worker: a later ID');

# Given back by hand
$node->safe_psql('postgres', 'SELECT cosid_release()');
is($node->safe_psql('postgres', 'SELECT state FROM cosid_lease'),
	'released', 'cosid_release: the machine id is given back');
my $error = sql_error($node, 'shop', "SET cosid.wait_timeout = 0; SELECT cosid_next('order');");
is($error->{detail}, "This server's machine ids were given back by cosid_release.",
	'cosid_release: no ID, and the detail says why');
$node->safe_psql('postgres', 'SELECT cosid_resume()');
my ($resumed) = mint($node, 'shop', 'order', 1);
cmp_ok($resumed, '>', $parallel->[0], 'cosid_resume: a later ID');

#
# There is no room for the worker
#
restart_with('max_worker_processes = 1');
$error = sql_error($node, 'shop', "SELECT cosid_next('order');");
is($error->{sqlstate}, '53400', 'no background worker slot: 53400');
like($error->{hint}, qr/max_worker_processes/, 'no background worker slot: the hint says which setting');
# Segments come from memory that is set aside for them, and not zeroed.
restart_with("max_worker_processes = 8\nmin_dynamic_shared_memory = 16MB");

#
# Settings that take effect when the server starts
#
cmp_ok(scalar @at_start, '>=', 9, 'settings at start: there are some');
is_refused("SET $_", "SET $_ = '1'; SELECT cosid_next('order');") foreach @at_start;
is_refused('SET and RESET of the namespace',
	"SET cosid.namespace = 'mine'; SELECT cosid_timestamp(1); RESET cosid.namespace; SELECT cosid_next();");
$node->append_conf('postgresql.conf', "cosid.namespace = 'shop'");
$node->reload;
$error = is_refused('namespace in the configuration', "SELECT cosid_next('order');");
is($error->{detail}, 'The setting "cosid.namespace" has no effect otherwise.',
	'namespace in the configuration: the detail names it');

# Whoever hides it from a session does not hide it from the worker.
$offset = -s $node->logfile;
{
	local $ENV{PGOPTIONS} = '-c cosid.namespace=cosid -c cosid.wait_timeout=3s';
	is(sql_error($node, 'shop', "SELECT cosid_next('order');")->{sqlstate},
		'55000', 'namespace hidden: even if it is the default: 55000');
	$ENV{PGOPTIONS} = '-c cosid.namespace= -c cosid.wait_timeout=3s';
	is(sql_error($node, 'shop', "SELECT cosid_next('order');")->{sqlstate},
		'ID002', 'namespace hidden: the worker does not run');
}
$node->wait_for_log(qr/LOG:  cosid must be loaded when the server starts/, $offset);
is(log_count($node, 'claimed machine id', $offset),
	0, 'namespace hidden: no machine id is claimed');
$node->append_conf('postgresql.conf', "cosid.namespace = ''");
$node->reload;
$node->append_conf('postgresql.conf', "cosid.registry = 'password=x'");
$node->reload;
is(sql_error($node, 'shop', "SELECT cosid_next('order');")->{sqlstate},
	'55000', 'a registry that is not accepted: 55000');
$node->append_conf('postgresql.conf', "cosid.registry = ''");
$node->reload;
my ($id) = mint($node, 'shop', 'order', 1);
cmp_ok($id, '>', $resumed, 'namespace not set any more: an ID');

#
# A hot standby
#
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('plain_standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
$error = sql_error($standby, 'shop', "SELECT cosid_next('order');");
is($error->{sqlstate}, '55000', 'standby: 55000');
like($error->{message}, qr/recovery/, 'standby: the message says why');

# With a registry elsewhere, which is its primary's here.
$node->safe_psql('postgres', 'CREATE ROLE fleet LOGIN');
grant_registry($node, 'postgres', 'fleet');
$node->wait_for_catchup($standby);
reload_with($standby, "cosid.registry = '" . registry_conninfo($node) . "'");
my ($standby_id) = mint($standby, 'shop', 'order', 1);
isnt(id_machine($standby_id), id_machine($id), 'standby with a registry elsewhere: a machine id of its own');
$standby->stop;

#
# Preloaded from now on
#
restart_with("shared_preload_libraries = 'cosid'\ncosid.namespace = 'cosid'");
ok(worker_pid($node), 'preloaded again: the worker runs');
my ($preloaded) = mint($node, 'shop', 'order', 1);
cmp_ok($preloaded, '>', $id, 'preloaded again: a later ID');
is(workers(), 1, 'preloaded again: one worker');
is(log_count($node, 'TRAP|PANIC'), 0, 'nothing in the log that should not be');
$node->stop;

done_testing();
