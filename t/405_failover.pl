# The registry fails over to a standby that lacks its last commits, while a fleet
# mints.

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

my $lead_ms = 3000;
my $registry = registry_server('registry', streaming => 1);
$registry->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($registry, 'backup', has_streaming => 1);
$standby->start;

my $conf = <<"CONF";
cosid.watermark_lead = ${lead_ms}ms
cosid.wait_timeout = 60s
CONF
my $conninfo = registry_conninfo($registry, $standby);
my ($one, $two) = map { fleet_server($_, $conninfo, $conf) } 'one', 'two';
my @clients = map { start_client($_, 'shop', mint_slowly('order')) } $one, $two;
wait_for_ids(@clients);
my @machine_ids = map { held_machine_id($_) } $one, $two;

# From here on the standby gets nothing any more.
$registry->wait_for_catchup($standby);
$standby->stop;

# What it lacks: an extension of each, and a whole server's claim.
my @before = map { machine_row($registry, $_)->{last_timestamp} } @machine_ids;
ok(wait_until(
		sub {
			!grep { machine_row($registry, $machine_ids[$_])->{last_timestamp} <= $before[$_] } 0, 1;
		}),
	'the registry commits what its standby lacks: extensions');
my $three = fleet_server('three', $conninfo, $conf);
push @clients, start_client($three, 'shop', mint_slowly('order'));
wait_for_ids($clients[2]);
push @machine_ids, held_machine_id($three);
is(machine_row($registry, $machine_ids[2])->{machine_id}, $machine_ids[2],
	'the registry commits what its standby lacks: a claim');
my $lost = (sort { $b <=> $a } map { machine_row($registry, $_)->{last_timestamp} } @machine_ids)[0];

# kill -9, and the standby that has heard nothing of it takes its place.
$registry->kill9;
$standby->append_conf('postgresql.conf', "primary_conninfo = ''");
$standby->start;
$standby->promote;

# Its timeline is another one: the first call notes it.  A server that never had a
# lease there claims at once; it may be given what is another's by lost commits.
my $four = fleet_server('four', $conninfo, $conf);
push @clients, start_client($four, 'shop', mint_slowly('order'));
my ($first_seen, $largest_lead) = split /\|/,
  $standby->safe_psql('postgres', 'SELECT first_seen, largest_lead FROM cosid_registry');
ok(wait_until(
		sub {
			($first_seen, $largest_lead) = split /\|/,
			  $standby->safe_psql('postgres', 'SELECT first_seen, largest_lead FROM cosid_registry');
			return $first_seen > 0;
		}),
	'the new registry notes when it was first seen');
cmp_ok($largest_lead, '>=', $lead_ms, 'it knows the largest lead');

# All four go on: the three lost their rows or part of them, and claim anew.  (A
# later call may have raised the largest lead since a claim; it is no less than
# the lead that all have.)
ok(wait_until(
		sub {
			!grep { lease($_)->{state} ne 'held' || lease($_)->{floor} < $first_seen + $lead_ms }
			  $one, $two, $three, $four;
		}),
	'no claim gets a floor below that time plus the largest lead');
cmp_ok($first_seen + $largest_lead, '>=', $lost, 'which is above every watermark that was lost');
wait_for_more_ids(@clients);
my %held = map { held_machine_id($_) => 1 } $one, $two, $three, $four;
is(scalar(keys %held), 4, 'each has a machine id of its own');
cmp_ok(log_count($_, 'lost machine id', 0), '>', 0, $_->name . ' was told that its row went back')
  foreach $one, $two, $three;
my @lists = end_clients('failover', @clients);
check_ids('failover', @lists);

# Without the floor there would have been: a machine id of before is another's now.
my %used;
foreach my $i (0 .. 3)
{
	$used{ id_machine($_) }{$i} = 1 foreach @{ $lists[$i] };
}
ok((grep { keys %{ $used{$_} } > 1 } keys %used),
	'a machine id that was one server\'s went to another')
  or diag explain \%used;

$_->stop foreach $one, $two, $three, $four;
$standby->stop;
done_testing();
