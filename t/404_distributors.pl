# Machine ids that are fixed: by cosid.machine_id, or by the host's name.

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
my $conninfo = registry_conninfo($registry);

# Give a server these settings, on top of all that it has.
sub configure
{
	my ($node, @settings) = @_;

	$node->append_conf('postgresql.conf', join "\n", @settings);
	return;
}

# The server does not start, and says why.
sub check_refused
{
	my ($node, $what, $message) = @_;
	my $offset = -s $node->logfile;

	ok(!$node->start(fail_ok => 1), "$what: the server does not start");
	like(log_since($node, $offset), qr/FATAL:  $message/, "$what: the log says why");
	return;
}

#
# manual
#
my $one = fleet_server('one', $conninfo, <<'CONF');
cosid.distributor = manual
cosid.machine_id = 7
cosid.wait_timeout = 60s
cosid.watermark_lead = 1s
CONF
is(sql_error($one, 'shop', "SELECT cosid_next('order')")->{message}, '', 'manual: IDs are given out');
my @ids = mint($one, 'shop', 'order', 100);
is(id_machine($ids[0]), 7, 'manual: the machine id is cosid.machine_id');
is(machine_row($registry)->{machine_id}, 7, 'manual: it has a row in the registry');

# Another one with the same machine id.
my $two = fleet_server('two', $conninfo, <<'CONF');
cosid.distributor = manual
cosid.machine_id = 7
cosid.wait_timeout = 1s
CONF
ok(wait_until(sub { lease($two)->{last_error} =~ /machine id 7 is held by instance/ }),
	'manual: another server with the same one is refused');
my $error = sql_error($two, 'shop', "SELECT cosid_next('order')");
is($error->{sqlstate}, 'ID002', 'manual: its callers get ID002');
like($error->{detail}, qr/machine id 7 is held by instance/, 'manual: with the reason');
push @ids, mint($one, 'shop', 'order', 100);
is(id_machine($ids[-1]), 7, 'manual: the first one goes on');

# When the first one gives it back, the other mints above it, by itself.  (It may
# have the row before we could look at it.)
$one->stop;
my $watermark = id_ms($ids[-1]) + 1;
configure($two, 'cosid.wait_timeout = 60s');
$two->reload;
push @ids, mint($two, 'shop', 'order', 100);
is(id_machine($ids[-1]), 7, 'manual: the other one gets it when the first has given it back');
cmp_ok(id_ms($ids[-100]), '>', $watermark, 'manual: and mints above its watermark');
check_ids('manual', \@ids);
$two->stop;

# After a crash it is the same one, waited for.
$one->start;
mint($one, 'shop', 'order', 1);
$watermark = machine_row($registry)->{last_timestamp};
$one->stop('immediate');
$one->start;
my ($id) = mint($one, 'shop', 'order', 1);
is(id_machine($id), 7, 'manual: the same one after a crash');
cmp_ok(id_ms($id), '>', $watermark, 'manual: and above the watermark');

# In a namespace that has no room for it
is($one->psql('shop', "SELECT cosid_create('ticket', safe_javascript => true); SELECT cosid_next('ticket')"),
	0, 'manual: 7 fits into 3 bits');
$one->stop;
configure($one, 'cosid.machine_id = 8');
$one->start;
$error = sql_error($one, 'shop', "SELECT cosid_next('ticket')");
is($error->{sqlstate}, 'ID003', 'manual: 8 does not: ID003');
like($error->{message}, qr/machine id 8 does not fit into the 3 machine bits/, 'manual: the message says why');
cmp_ok($error->{seconds}, '<', 20, 'manual: at once');
is(id_machine((mint($one, 'shop', 'order', 1))[0]), 8, 'manual: other namespaces go on');
$one->stop;

configure($one, 'cosid.machine_id = -1');
check_refused($one, 'manual without cosid.machine_id', 'no machine id is set');

# In the server's own registry
configure($one, "cosid.registry = ''", 'cosid.machine_id = 9');
$one->start;
is(id_machine((mint($one, 'shop', 'order', 1))[0]), 9, 'manual: in its own registry, too');
is(machine_row($one)->{machine_id}, 9, 'manual: there is its row');
$one->stop;

#
# stateful_set
#
configure($one, "cosid.registry = '$conninfo'", 'cosid.distributor = stateful_set');

# pg_ctl under another host name
sub with_host_name
{
	my ($name, $run) = @_;
	local $ENV{LD_PRELOAD} = "$FindBin::RealBin/../test/host/hostname.so";
	local $ENV{COSID_HOSTNAME} = $name;

	return $run->();
}

foreach my $host ('pg', 'pg-', '-3', 'pg-x', 'pg-3a', 'pg-3.example.org', 'pg3', 'pg--', 'pg-99999999999')
{
	with_host_name($host,
		sub { check_refused($one, "stateful_set on $host", qr/host name "\Q$host\E" does not end in an ordinal/) });
}
with_host_name('pg-3', sub { $one->start });
is(id_machine((mint($one, 'shop', 'order', 1))[0]), 3, 'stateful_set: pg-3 is 3');
is($registry->safe_psql('postgres', "SELECT instance_id FROM cosid_machine WHERE namespace = 'cosid' AND machine_id = 3"),
	'pg-3:' . $one->port, 'stateful_set: with its instance id');
$one->stop;
with_host_name('shard-1-replica-0', sub { $one->start });
is(id_machine((mint($one, 'shop', 'order', 1))[0]), 0, 'stateful_set: what comes after the last hyphen counts');
$one->stop;

$registry->stop;
done_testing();
