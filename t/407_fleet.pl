# 32 servers claim at once from one registry.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFaults;
use CosidFleet;
use CosidTest;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use constant {
	SERVERS => 32,
	PATIENCE_MS => 5000
};

my $registry = registry_server('registry');
my $conninfo = registry_conninfo($registry);

# One server is made, and the others are copies of its directory: to the registry
# they are others, by directory and port.
my $first = PostgreSQL::Test::Cluster->new('fleet01');
$first->init(extra => ['--wal-segsize=1']);
$first->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'cosid'
cosid.registry = '$conninfo'
cosid.wait_timeout = 60s
cosid.max_generators = 16
cosid.max_namespaces = 2
shared_buffers = 512kB
max_connections = 5
max_wal_senders = 0
max_worker_processes = 2
max_logical_replication_workers = 0
wal_level = minimal
autovacuum = off
CONF
$first->start;
$first->safe_psql('postgres', 'CREATE DATABASE shop');
$first->safe_psql('shop', "CREATE EXTENSION cosid; SELECT cosid_create('order')");
$first->stop;

my @fleet = ($first);
foreach my $number (2 .. SERVERS)
{
	my $node = PostgreSQL::Test::Cluster->new(sprintf('fleet%02d', $number));

	make_path($node->data_dir, { mode => 0700 });
	system_or_bail('cp', '-a', $first->data_dir . '/.', $node->data_dir);
	$node->append_conf('postgresql.conf', 'port = ' . $node->port);
	push @fleet, $node;
}

# All wait for a registry that is not there yet.
$registry->stop;
$_->start foreach @fleet;
my @clients = map { start_client($_, 'shop', "SELECT cosid_next('order');") } @fleet;
client_pid($_, "wait_event_type = 'Extension'") foreach @clients;

my $begun = now_ms();
$registry->start;
my $failed = grep { finish_client($_)->{stderr} ne '' } @clients;
is($failed, 0, SERVERS . ' servers: no error');

my @lists = read_ids(@clients);
check_ids(SERVERS . ' servers', @lists);
my %machine_ids = map { id_machine($_->[0]) => 1 } @lists;
is(scalar(keys %machine_ids), SERVERS, SERVERS . ' servers: as many machine ids');
is((sort { $b <=> $a } keys %machine_ids)[0], SERVERS - 1, SERVERS . ' servers: the lowest ones');
my ($last_ms) = sort { $b <=> $a } map { id_ms($_->[0]) } @lists;
cmp_ok($last_ms - $begun, '<', PATIENCE_MS, SERVERS . ' servers: all mint within 5 s of the registry\'s start');
note 'the last one began after ' . ($last_ms - $begun) . ' ms';

# They give all of them back.
$_->stop foreach @fleet;
is($registry->safe_psql('postgres', "SELECT count(*) FROM cosid_machine WHERE instance_id <> ''"),
	0, SERVERS . ' servers: all machine ids are given back');
$registry->stop;
done_testing();
