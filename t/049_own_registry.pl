# The registry on one of the fleet's servers, which uses it as its own: for it the
# others are no copies, and nobody gets what another one holds.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFleet;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $host = registry_server('host', conf => "cosid.worker = on\n");
my @others = map { fleet_server($_, registry_conninfo($host)) } qw(anna bert);
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

$_->stop foreach @others, $host;
done_testing();
