# cosid.registry: changed while the server runs, with secrets, and with a registry
# that answers nonsense.

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

use constant SECRET => 'Xs3cr3tX';

my $one = registry_server('one');
my $two = registry_server('two');
my $in_one = registry_conninfo($one);
my $in_two = registry_conninfo($two);
my $node = fleet_server('node', $in_one, <<'CONF');
cosid.watermark_lead = 2s
cosid.wait_timeout = 60s
CONF

# Others hold the first machine ids in the second registry, so that a number tells
# which registry it is from.
$two->safe_psql('postgres', "SELECT cosid_machine_claim('cosid', 10, 'x' || g, 'x' || g, false, -1, -1, false, 0, 3600000, 1000, 0) FROM generate_series(0, 4) g");

#
# Another registry on reload
#
my $pid = worker_pid($node);
my $client = start_client($node, 'shop', mint_slowly('order'));
wait_for_ids($client);

# Claims in the registry that a test asks for: its machine id, once it is held.
sub move_to
{
	my ($what, $conninfo, $was) = @_;

	reload_with($node, "cosid.registry = '$conninfo'");
	my $machine_id = held_machine_id($node, $was);
	wait_for_more_ids($client);
	pass("$what: minting goes on");
	return $machine_id;
}

is(held_machine_id($node), 0, 'the first registry gives the first machine id');
is(move_to('to another registry', $in_two, 0), 5,
	'to another registry: its machine id');
is(machine_row($one, 0)->{instance_id}, '',
	'to another registry: the lease in the old one is given back');
is(worker_pid($node), $pid, 'to another registry: the same worker');
is(machine_row($two, 5)->{instance_id} ne '', 1, 'to another registry: claimed there');

my $own = move_to('to its own registry', '', 5);
is(machine_row($two, 5)->{instance_id}, '', 'to its own registry: the lease in the old one is given back');
is(machine_row($node, $own)->{instance_id} ne '', 1, 'to its own registry: claimed there');

is(move_to('from its own registry', $in_two, $own), 5, 'from its own registry: a machine id of the other');
is(machine_row($node, $own)->{instance_id}, '', 'from its own registry: the lease is given back');

# The same registry by other words: nothing is given back.
my $token = machine_row($two, 5)->{distribute_time};
my $offset = -s $two->logfile;
$two->append_conf('postgresql.conf', 'log_connections = on');
$two->reload;
reload_with($node, "cosid.registry = '$in_two connect_timeout=3'");
ok(wait_until(sub { log_count($two, 'connection authorized: user=fleet', $offset) > 0 }),
	'other connection parameters: the worker connects anew');
is(machine_row($two, 5)->{distribute_time}, $token,
	'other connection parameters: the same grant');

# The old registry is down: its row stays as it is.
$two->stop('immediate');
is(move_to('away from a dead registry', $in_one, 5), 0, 'away from a dead registry: a machine id of the other');
$two->start;
isnt(machine_row($two, 5)->{instance_id}, '', 'away from a dead registry: the lease there is abandoned');
my ($watermark) = machine_row($two, 5)->{last_timestamp};

my ($list) = end_clients('all changes', $client);
check_ids('all changes', $list);
is(count_later(5, $watermark, $list), 0, 'no ID is later than the watermark of the lease that was abandoned');

#
# Several hosts
#
# The first has no registry, the second does not answer, the third is right.
my $none = cosid_server('none', conf => 'cosid.worker = off');
$none->safe_psql('postgres', 'CREATE ROLE fleet LOGIN');
my @stopped = stop_server($two);
reload_with($node, "cosid.registry = '" . registry_conninfo($none, $two, $one) . "'");
is(held_machine_id($node), 0, 'several hosts: the one that is right is found');
mint($node, 'shop', 'order', 10);
continue_process($_) foreach @stopped;
$offset = -s $node->logfile;
reload_with($node, "cosid.registry = '" . registry_conninfo($none) . "'\ncosid.wait_timeout = 1s");
ok(wait_until(sub { lease($node)->{last_error} =~ /does not have extension cosid/ }),
	'a database without the extension: the error says so');
is(sql_error($node, 'shop', "SELECT cosid_next('order')")->{sqlstate}, 'ID002',
	'a database without the extension: ID002');
$none->stop;

#
# Secrets
#
# Setting a password in cosid.registry is refused, whatever form it has, and
# nobody repeats it.
foreach my $conninfo (
	"$in_one password=" . SECRET,
	'postgresql://fleet:' . SECRET . '@localhost/postgres',
	"$in_one sslpassword=" . SECRET,
	"$in_one password " . SECRET,
	SECRET . '=1',
	"host=localhost pass=" . SECRET)
{
	$offset = -s $node->logfile;
	reload_with($node, "cosid.registry = '$conninfo'");
	ok(wait_until(sub { log_count($node, 'invalid value for parameter "cosid.registry"', $offset) > 0 }),
		'a secret or nonsense in cosid.registry is refused');
}
like(sql_error($node, 'postgres', "ALTER SYSTEM SET cosid.registry = 'password=x'")->{hint},
	qr/password file/, 'and the hint says what to do');

$one->safe_psql('postgres', "CREATE ROLE fleet_with_password LOGIN PASSWORD '" . SECRET . "'");
grant_registry($one, 'postgres', 'fleet_with_password');
unlink $one->data_dir . '/pg_hba.conf';
$one->append_conf('pg_hba.conf', "local all fleet_with_password scram-sha-256\nlocal all all trust");
$one->reload;

my $good = $node->data_dir . '/good.pgpass';
my $bad = $node->data_dir . '/bad.pgpass';
append_to_file($good, '*:*:*:fleet_with_password:' . SECRET . "\n");
append_to_file($bad, '*:*:*:fleet_with_password:' . SECRET . "wrong\n");
chmod 0600, $good, $bad;
$in_one =~ s/user=fleet/user=fleet_with_password/;
reload_with($node, "cosid.registry = '$in_one passfile=$bad'");
ok(wait_until(sub { lease($node)->{last_error} =~ /password authentication failed/ }),
	'a wrong password: the error says so');
like(sql_error($node, 'shop', "SELECT cosid_next('order')")->{detail},
	qr/password authentication failed/, 'a wrong password: so does the detail of ID002');
reload_with($node, "cosid.registry = '$in_one passfile=$good'\ncosid.wait_timeout = 60s");
mint($node, 'shop', 'order', 10);
is($one->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE usename = 'fleet_with_password'"),
	1, 'a password file works');

# Another service is another registry, by name.
my $service_file = $node->data_dir . '/service.conf';
my %service = map { split /=/, $_, 2 } split / /, $in_one;
append_to_file($service_file, join "\n", '[fleet]', (map { "$_=$service{$_}" } sort keys %service), "passfile=$good\n");
$ENV{PGSERVICEFILE} = $service_file;
$offset = -s $node->logfile;
$node->append_conf('postgresql.conf', "cosid.registry = 'service=fleet'");
$node->restart;
delete $ENV{PGSERVICEFILE};
mint($node, 'shop', 'order', 10);
is(log_count($node, 'has a problem', $offset), 0, 'a service file works');

unlike(slurp_file($_->logfile), qr/@{[SECRET]}/, 'no password in the log of ' . $_->name)
  foreach $node, $two;
# That of the registry has what set the password there.
is(log_count($one, SECRET, 0), 0, 'nor in that of the registry');

$node->safe_psql('postgres', 'CREATE ROLE app');
is(sql_error($node, 'postgres', 'SET ROLE app; SHOW cosid.registry;')->{sqlstate},
	'42501', 'only superusers see cosid.registry');

#
# A registry that answers nonsense
#
my $arguments = 'namespace text, machine_bit integer, identity text, instance_id text,'
  . ' stable boolean, fixed_machine_id integer, avoid_machine_id integer, local boolean,'
  . ' server_now bigint, lead bigint, safe_guard_duration bigint, least_floor bigint,'
  . ' OUT status text, OUT machine_id integer, OUT token bigint, OUT floor bigint,'
  . ' OUT watermark bigint, OUT holder text';
my %answers = (
	'a machine id that does not fit' => "'claimed', 1024, 1, least_floor, server_now + lead, null",
	'a negative machine id' => "'claimed', -1, 1, least_floor, server_now + lead, null",
	'no machine id' => "'claimed', null::integer, 1, least_floor, server_now + lead, null",
	'a floor that is too low' => "'claimed', 1, 1, least_floor - 1, server_now + lead, null",
	'a watermark below the floor' => "'claimed', 1, 1, server_now + lead, server_now, null",
	'no token' => "'claimed', 1, 0, least_floor, server_now + lead, null",
	'an unknown status' => "'perhaps', 1, 1, least_floor, server_now + lead, null");

$two->safe_psql('postgres', 'CREATE DATABASE liar');
$two->safe_psql('liar', 'CREATE SCHEMA "An ""odd"" one"; CREATE EXTENSION cosid SCHEMA "An ""odd"" one"');
grant_registry($two, 'liar', 'fleet', '"An ""odd"" one"');
$in_two =~ s/dbname=postgres/dbname=liar/;
reload_with($node, "cosid.registry = '$in_two'");
is(held_machine_id($node), 0, 'the extension is found in a schema with an odd name');
mint($node, 'shop', 'order', 10);
$node->stop;
foreach my $what (sort keys %answers)
{
	$two->safe_psql('liar', 'CREATE OR REPLACE FUNCTION "An ""odd"" one".cosid_machine_claim'
		  . "($arguments) RETURNS record LANGUAGE sql STRICT AS \$\$ SELECT $answers{$what} \$\$");
	$node->start;
	ok(wait_until(sub { lease($node)->{last_error} =~ /makes no sense/ }), "$what: refused");
	$node->stop;
}

#
# What can't be, at the server's start
#
# With a warning and the default it would mint in its own registry, or in another
# namespace than the fleet.
my $conf = slurp_file($node->data_dir . '/postgresql.conf');
foreach my $setting ("cosid.registry = 'password=x'", "cosid.registry = 'host'", "cosid.namespace = 'a b'",
	"cosid.instance_id = '" . 'x' x 101 . "'")
{
	my ($name) = $setting =~ /^(\S+)/;
	my $offset = -s $node->logfile;

	$node->append_conf('postgresql.conf', $setting);
	ok(!$node->start(fail_ok => 1), "the server does not start with $setting");
	like(log_since($node, $offset), qr/FATAL:  invalid value for parameter "\Q$name\E"/, 'and says why');
	unlike(log_since($node, $offset), qr/password=x/, 'without the value') if $name eq 'cosid.registry';
	unlink $node->data_dir . '/postgresql.conf';
	append_to_file($node->data_dir . '/postgresql.conf', $conf);
}

$one->stop;
$two->stop;
done_testing();
