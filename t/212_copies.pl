# Copies of a server: restored to an earlier moment, cloned, promoted, dumped and
# restored, upgraded.  All of them have their origin's settings, host name and
# port, so its instance id.  A copy of the data directory has the origin's row,
# knows that it is another server, and leaves that machine id alone: no ID of the
# origin's comes twice, whether it runs or not.
#
# What two copies do about each other is another matter: their registries never
# meet (see doc/guarantees.md).  Crash recovery, where a server is its own copy,
# is in 201_restart.pl, 206_kill.pl and 210_processes.pl.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFaults;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $origin = cosid_server('origin', streaming => 1, conf => "cosid.wait_timeout = 60s\n");
$origin->enable_archiving;
$origin->restart;

# A definition of each kind, and one that comes with first use
$origin->safe_psql(
	'shop', q{
	SELECT cosid_create('invoice', timestamp_unit => 'second', prefix => 'I');
	SELECT cosid_create('ticket', safe_javascript => true, zone => 'UTC');
	SELECT cosid_create('own', namespace => 'own', machine_bit => 6, sequence_bit => 16);
	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'),
		invoice bigint DEFAULT cosid_next('invoice'));
	INSERT INTO orders SELECT FROM generate_series(1, 1000);
	SELECT cosid_next('ticket'), cosid_next('own');
});
my $origin_id = $origin->safe_psql('shop', 'SELECT max(id) FROM orders');
my $machine_id = id_machine($origin_id);

# A node with the origin's host name and port: another directory of sockets is
# all that tells them apart.
sub namesake
{
	my ($name) = @_;
	return PostgreSQL::Test::Cluster->new($name, own_host => 1, port => $origin->port);
}

# Whatever the origin gave out until now, and goes on giving out while the copy
# does, is not the copy's.
sub check_copy
{
	my ($what, $copy, @given_out) = @_;
	my @clients = map { start_client($_, 'shop', mint_in_bursts('order', 20)) } $origin, $copy;
	my %seconds;

	wait_for_ids(@clients);
	is( $copy->safe_psql('shop', 'SELECT instance_id FROM cosid_lease LIMIT 1'),
		$origin->safe_psql('shop', 'SELECT instance_id FROM cosid_lease LIMIT 1'),
		"$what: both have the same instance id");
	wait_for_more_ids(@clients);

	# It is still itself after a restart.
	my $copy_id = lease($copy)->{machine_id};
	$copy->restart;
	finish_client($clients[1]);
	my ($before) = read_ids(pop @clients);
	push @clients, start_client($copy, 'shop', mint_in_bursts('order', 20));
	wait_for_ids(@clients);
	wait_for_more_ids(@clients);
	my ($origins, $copys) = end_clients($what, @clients);
	check_ids($what, $origins, [ @$before, @$copys ], @given_out);
	is(scalar(grep { id_machine($_) != $machine_id } @$origins),
		0, "$what: the origin keeps its machine id");
	is(scalar(grep { id_machine($_) != $copy_id } @$before, @$copys),
		0, "$what: the copy keeps one, after a restart too");
	isnt($copy_id, $machine_id, "$what: another one than its origin's");

	# It knows what it was, and leaves that as it is.
	is($copy->safe_psql('postgres',
			"SELECT count(*) FROM cosid_machine WHERE owner = '"
			  . machine_row($origin, $machine_id)->{owner} . "'") > 0,
		1, "$what: it has its origin's rows, too");
	is(machine_row($copy)->{owner} ne machine_row($origin, $machine_id)->{owner},
		1, "$what: its own is of another identity");

	# Other namespaces, other layouts
	foreach my $generator ('invoice', 'ticket', 'own')
	{
		my @got = map { [ mint($_, 'shop', $generator, 500) ] } $origin, $copy;
		check_ids("$what, generator $generator", @got);
	}
	$copy->stop;
	return;
}

#
# pg_basebackup of a server that mints
#
my $client = start_client($origin, 'shop', mint_in_bursts('order', 20));
wait_for_ids($client);
$origin->backup('backup');
my ($given_out) = end_clients('pg_basebackup', $client);

my $clone = namesake('clone');
$clone->init_from_backup($origin, 'backup');
$clone->start;
check_copy('clone beside its origin', $clone, $given_out);

#
# Point in time: the registry that comes back does not know what the origin has
# promised since.
#
$origin->safe_psql('postgres', "SELECT pg_create_restore_point('earlier')");
my $watermark_then = machine_row($origin, $machine_id)->{last_timestamp};
$origin->append_conf('postgresql.conf',
	"cosid.watermark_lead = 100ms\ncosid.guard_interval = 100ms");
$origin->reload;
$client = start_client($origin, 'shop', mint_in_bursts('order', 20));
wait_for_ids($client);
wait_until(
	sub {
		my ($ids) = read_ids($client);
		return @$ids && id_ms($ids->[-1]) > $watermark_then;
	}) or die 'the origin does not get past its old watermark';
my ($since) = end_clients('point in time', $client);
my $segment = $origin->safe_psql('postgres', 'SELECT pg_walfile_name(pg_switch_wal())');

my $restored = namesake('restored');
$restored->init_from_backup($origin, 'backup', has_restoring => 1, standby => 0);
$restored->append_conf(
	'postgresql.conf', <<'CONF');
archive_mode = off
recovery_target_name = 'earlier'
recovery_target_action = promote
CONF
$origin->poll_query_until('postgres',
	"SELECT '$segment' <= last_archived_wal FROM pg_stat_archiver")
  or die 'the log is not archived';
$restored->start;
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
  or die 'the restored server does not get out of recovery';
is( $restored->safe_psql('postgres',
		"SELECT last_timestamp <= $watermark_then FROM cosid_machine"
	  . " WHERE namespace = 'cosid' AND machine_id = $machine_id"),
	't', 'point in time: the registry is an earlier one');
check_copy('point in time', $restored, $given_out, $since);

#
# A standby, promoted while its primary goes on
#
my $standby = namesake('standby');
$standby->init_from_backup($origin, 'backup', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'archive_mode = off');
$standby->start;
$origin->wait_for_catchup($standby->name);
$standby->promote;
check_copy('promoted standby beside its primary', $standby, $given_out, $since);

#
# pg_dump and restore: a server that shares nothing but the definitions
#
my $other = cosid_server('other', conf => 'cosid.wait_timeout = 60s');
my $dump = "$PostgreSQL::Test::Utils::tmp_check/dump.sql";
my $definitions = 'SELECT * FROM cosid_generator ORDER BY name';
my $what = 'pg_dump and restore';

foreach my $database ('postgres', 'shop')
{
	$other->safe_psql('postgres', 'DROP DATABASE IF EXISTS shop')
	  if $database eq 'shop';
	$origin->command_ok(
		[ 'pg_dump', '-d', $origin->connstr($database), '-f', $dump, '--create' ],
		"$what: pg_dump of $database");
	unlike(slurp_file($dump), qr/COPY public\.cosid_machine/,
		"$what: machine ids are not in it");
	next if $database eq 'postgres';
	$other->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-q',
			'-d', $other->connstr('postgres'), '-f', $dump ],
		"$what: restore of $database");
}
is($other->safe_psql('shop', $definitions),
	$origin->safe_psql('shop', $definitions), "$what: the definitions arrive");
$other->safe_psql('shop', 'INSERT INTO orders SELECT FROM generate_series(1, 1000)');
is( $other->safe_psql('shop',
		'SELECT count(*), count(DISTINCT id), count(DISTINCT invoice) FROM orders'),
	'2000|2000|2000',
	"$what: the table goes on, no key comes twice");
is( $other->safe_psql('shop', "SELECT cosid_next('ticket') < 2::bigint ^ 53"),
	't', "$what: with the layouts that the origin had");
my $owners = "SELECT DISTINCT owner FROM cosid_machine";
my %origins = map { $_ => 1 } split /\n/, $origin->safe_psql('postgres', $owners);
is(scalar(grep { $origins{$_} } split /\n/, $other->safe_psql('postgres', $owners)),
	0, "$what: a registry of its own, with an identity of its own");
$other->stop;

#
# pg_upgrade
#
$what = 'pg_upgrade';
my $rows = 'SELECT * FROM cosid_machine ORDER BY name';
my $largest = "SELECT max(id), max(invoice) FROM orders";
$origin->safe_psql('shop', 'INSERT INTO orders SELECT FROM generate_series(1, 1000)');
my ($last_id, $last_invoice) = split /\|/, $origin->safe_psql('shop', $largest);
my @tickets = mint($origin, 'shop', 'ticket', 100);
my $generators = $origin->safe_psql('shop', $definitions);
$origin->append_conf('postgresql.conf', 'archive_mode = off');
$origin->restart;
$origin->append_conf('postgresql.conf', 'cosid.worker = off');
$origin->restart;
my $machines = $origin->safe_psql('postgres', $rows);
$origin->stop;

my $upgraded = PostgreSQL::Test::Cluster->new('upgraded');
$upgraded->init;
$upgraded->append_conf('postgresql.conf',
	"shared_preload_libraries = 'cosid'\ncosid.wait_timeout = 60s\ncosid.worker = off");
chdir $PostgreSQL::Test::Utils::tmp_check or die 'could not change directory';
my $bin = $upgraded->config_data('--bindir');
command_ok(
	[
		'pg_upgrade', '--no-sync', '-b', $bin, '-B', $bin,
		'-d', $origin->data_dir, '-D', $upgraded->data_dir,
		'-p', $origin->port, '-P', $upgraded->port, '-s', $upgraded->host
	],
	"$what: runs");
$upgraded->start;
is($upgraded->safe_psql('postgres', $rows), $machines, "$what: machine ids are carried along");
is($upgraded->safe_psql('shop', $definitions), $generators, "$what: and definitions");
is( sql_error($upgraded, 'postgres',
		'SET session_replication_role = replica; DELETE FROM cosid_machine;')->{sqlstate},
	'55000',
	"$what: machine ids can't be deleted");
$upgraded->append_conf('postgresql.conf', 'cosid.worker = on');
$upgraded->restart;
$upgraded->safe_psql('shop', 'INSERT INTO orders SELECT FROM generate_series(1, 1000)');
is( $upgraded->safe_psql('shop',
		    "SELECT count(*) = count(DISTINCT id), count(*) = count(DISTINCT invoice),"
		  . " count(*) FILTER (WHERE id > $last_id), count(*) FILTER (WHERE invoice > $last_invoice)"
		  . ' FROM orders'),
	't|t|1000|1000',
	"$what: keys go on above the last, and none comes twice");
check_ids("$what, generator ticket", [ @tickets, mint($upgraded, 'shop', 'ticket', 100) ]);
$upgraded->stop;

done_testing();
