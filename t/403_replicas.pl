# Hot standbys that mint, with a registry elsewhere: during recovery, while they
# are promoted, and after.

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
my $primary = cosid_server('primary', streaming => 1, conf => <<"CONF");
cosid.registry = '$conninfo'
cosid.watermark_lead = 1s
cosid.wait_timeout = 60s
CONF
$primary->safe_psql('shop', <<'SQL');
SELECT cosid_create('order');
SELECT cosid_create('invoice', timestamp_unit => 'second', prefix => 'I');
CREATE ROLE app;
SQL
$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

#
# In recovery
#
my ($on_primary) = mint($primary, 'shop', 'order', 1);
my ($on_standby) = mint($standby, 'shop', 'order', 1);
is($standby->safe_psql('shop', 'SELECT pg_is_in_recovery()'), 't', 'the standby is in recovery');
my $machine_id = id_machine($on_standby);
isnt($machine_id, id_machine($on_primary), 'a standby mints, with a machine id of its own');
isnt(machine_row($registry, $machine_id)->{owner},
	machine_row($registry, id_machine($on_primary))->{owner},
	'it has another identity than its primary');
like($standby->safe_psql('shop', "SELECT cosid_next_string('invoice')"),
	qr/^I/, 'definitions are the replicated ones');

# A name that has no definition
is($standby->safe_psql('shop', "SELECT machine_id FROM cosid_parse(cosid_next('ad hoc'))"),
	$machine_id, 'a generator that is not defined has the default layout');
is($primary->safe_psql('shop', "SELECT count(*) FROM cosid_generator WHERE name = 'ad hoc'"),
	0, 'and stays undefined');
is(sql_error($standby, 'shop', "SET ROLE app; SELECT cosid_next('ad hoc 2');")->{sqlstate},
	'42501', 'which takes the right to define it');
is(sql_error($standby, 'shop', "SET cosid.auto_create = off; SELECT cosid_next('ad hoc 2');")->{sqlstate},
	'42704', 'and cosid.auto_create');
is($standby->psql('shop', "SET ROLE app; SELECT cosid_next('order')"),
	0, 'one that is defined takes no right');

# A standby that is restarted is still itself.
$standby->restart;
is(id_machine((mint($standby, 'shop', 'order', 1))[0]), $machine_id,
	'after a restart in recovery: the same machine id');
# With its own registry it does not mint.
my $offset = -s $standby->logfile;
$standby->append_conf('postgresql.conf', "cosid.registry = ''");
$standby->reload;
ok(wait_until(sub { sql_error($standby, 'shop', "SELECT cosid_next('order')")->{sqlstate} eq '55000' }),
	'without a registry elsewhere: 55000');
is(machine_row($registry, $machine_id)->{instance_id}, '', 'and its machine id was given back');
$standby->append_conf('postgresql.conf', "cosid.registry = '$conninfo'");
$standby->reload;
($on_standby) = mint($standby, 'shop', 'order', 1);
is(id_machine($on_standby), $machine_id, 'with one again: it mints');

#
# Promotion
#
my $row = machine_row($registry, $machine_id);
my $pid = worker_pid($standby);
my @clients = map { start_client($_, 'shop', mint_slowly('order')) } $primary, $standby;
wait_for_ids(@clients);
$standby->promote;
wait_for_more_ids(@clients);
ok(wait_until(sub { machine_row($registry, $machine_id)->{owner} ne $row->{owner} }),
	'promoted: the row has the new identity with the next extension');
wait_for_more_ids(@clients);
my @lists = end_clients('promoted', @clients);
check_ids('promoted', @lists);
is(scalar(grep { id_machine($_) != $machine_id } @{ $lists[1] }), 0,
	'promoted: the machine id stays');
is(machine_row($registry, $machine_id)->{distribute_time}, $row->{distribute_time},
	'promoted: the grant stays');
is(worker_pid($standby), $pid, 'promoted: the worker stays');
$standby->restart;
is(id_machine((mint($standby, 'shop', 'order', 1))[0]), $machine_id,
	'promoted: the machine id is the same after a restart');
$standby->safe_psql('shop', "SELECT cosid_next('ad hoc')");
is($standby->safe_psql('shop', "SELECT count(*) FROM cosid_generator WHERE name = 'ad hoc'"),
	1, 'promoted: generators are defined on first use');

$_->stop foreach $standby, $primary, $registry;
done_testing();
