# The registry on one of the fleet's servers, which uses it as its own: for it the
# others are no copies, and nobody gets what another one holds.

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

# Enough to mint on while the registry restarts, on a machine that is busy.
my $conf = "cosid.watermark_lead = 20s\ncosid.wait_timeout = 60s\n";
my $host = registry_server('host', streaming => 1, conf => "cosid.worker = on\n$conf");
my @others = map { fleet_server($_, registry_conninfo($host), $conf) } qw(anna bert);
my @all = ($host, @others);
my @ids;

sub mint_on_all
{
	push @ids, mint($_, 'shop', 'order', 1000) foreach @_;
	return;
}

sub machine_ids
{
	return map { held_machine_id($_) } @_;
}

sub distinct
{
	my %seen = map { $_ => 1 } @_;

	return scalar keys %seen;
}

mint_on_all(@all);
my @held = machine_ids(@all);
is(distinct(@held), 3, 'three machine ids');
is( $host->safe_psql('postgres', "SELECT count(*) FROM cosid_machine WHERE namespace = 'cosid' AND instance_id <> ''"),
	3, 'in one table');

# The one with the registry restarts; the others mint on meanwhile.
$host->stop;
mint_on_all(@others);
$host->start;
mint_on_all(@all);
is(distinct(machine_ids(@all)), 3, 'still three after it was restarted');
is(join(' ', machine_ids(@others)), "$held[1] $held[2]", 'the others keep theirs');

# It crashes; the others restart.
$host->stop('immediate');
$host->start;
$_->restart foreach @others;
mint_on_all(@all);
is(distinct(machine_ids(@all)), 3, 'and after a crash');
is(distinct(@ids), scalar @ids, 'no ID twice');

#
# Its standby, which lacks the last claim, takes its place
#
# Of two machine ids the host has one; another server gets the other one, and the
# standby does not know.
my $anna = $others[0];
$_->safe_psql('shop',
	"SELECT cosid_create('tiny', timestamp_bit => 42, machine_bit => 1, sequence_bit => 10)")
  foreach $host, $anna;
mint($host, 'shop', 'tiny', 1);
$host->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($host, 'backup', has_streaming => 1);
$standby->start;
$host->wait_for_catchup($standby);
$standby->stop;
my @tiny = mint($anna, 'shop', 'tiny', 1000);
my $lease = lease($anna, 'cosid-1');
$host->kill9;
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->start;
$standby->promote;
push @tiny, mint($standby, 'shop', 'tiny', 1000);
is(lease($standby, 'cosid-1')->{machine_id}, $lease->{machine_id},
	'failover: the standby is given the machine id that another server has by a lost commit');
cmp_ok(lease($standby, 'cosid-1')->{floor}, '>=', $lease->{watermark},
	'failover: but nothing of the time up to which that one may mint');
is(distinct(@tiny), 2000, 'failover: no ID twice');

$_->stop foreach @others, $standby;
done_testing();
