# The registry is away for a while: nobody who mints notices, if the lead is long
# enough.

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
use Time::HiRes qw(time usleep);

use constant OUTAGE_S => 8;

my $registry = registry_server('registry');
my $node = fleet_server('node', registry_conninfo($registry), <<'CONF');
cosid.watermark_lead = 30s
cosid.wait_timeout = 0
CONF
held_machine_id($node);

# So many calls have waited for the worker, and so for the registry.
sub grant_waits
{
	return $node->safe_psql('shop', "SELECT grant_waits FROM cosid_stat WHERE name = 'order'");
}

# The registry is away for 8 s, begun at a moment when half of the lead is used up:
# the worker needs it then.
sub check_outage
{
	my ($what, $begin, $end) = @_;
	my $offset = -s $node->logfile;
	my $client = start_client($node, 'shop', mint_slowly('order'));

	wait_for_ids($client);
	my $waits = grant_waits();
	my $watermark = lease($node)->{watermark};
	# As far as the next extension is due, and a little before that.
	wait_until_ms($watermark - 15_000 - 1000);
	is(lease($node)->{watermark}, $watermark, "$what: it begins just before an extension is due");
	my $begun = time;
	$begin->();
	usleep(10_000) while time < $begun + OUTAGE_S;
	ok(wait_until(sub { log_count($node, 'has a problem', $offset) > 0 }), "$what: the worker has missed the registry");
	is(lease($node)->{watermark}, $watermark, "$what: and could not extend");
	is(lease($node)->{state}, 'held', "$what: and keeps the machine id");
	unlike(lease($node)->{last_error}, qr/[[:cntrl:]]|  /, "$what: the error is one line");
	$end->();
	ok(wait_until(sub { lease($node)->{watermark} > $watermark }), "$what: it goes on when it is back");
	wait_for_more_ids($client);
	my ($list) = end_clients("$what: no error", $client);
	is(grant_waits(), $waits, "$what: no call waited for it");
	check_ids($what, $list);
	cmp_ok(id_ms($list->[-1]) - $begun * 1000, '>', OUTAGE_S * 1000, "$what: IDs are from all of the time");
	return;
}

check_outage('registry down', sub { $registry->stop('immediate') }, sub { $registry->start });

my @stopped;
check_outage(
	'registry stands still',
	sub { @stopped = stop_server($registry) },
	sub { continue_process($_) foreach @stopped });

$node->stop;
$registry->stop;
done_testing();
