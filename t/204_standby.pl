# Copies of a server: a standby does not mint, a promoted one and a clone that
# is started beside its origin are other servers, with machine ids of their own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = cosid_server(
	'primary',
	streaming => 1,
	conf => <<'CONF');
cosid.watermark_lead = 500ms
cosid.wait_timeout = 60s
CONF

# A generator that nobody mints from before there are copies, with so many
# machine ids that no two servers choose the same by chance.
$primary->safe_psql('shop',
	"SELECT cosid_create('wide', machine_bit => 20, sequence_bit => 2)");

my ($id) = mint($primary, 'shop', 'order', 1);
my $machine_id = id_machine($id);

$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

# The tempting moment for a copy to take its origin's machine id: the watermark
# that it knows of has passed.
sub wait_for_watermark
{
	my $watermark = machine_row($primary, $machine_id)->{last_timestamp};

	ok(wait_until(sub { now_ms() > $watermark + 10 }),
		'the watermark of the primary has passed');
	return;
}

#
# In recovery
#
$primary->safe_psql('shop', 'CREATE TABLE orders (id bigint PRIMARY KEY)');
$primary->safe_psql('shop', "INSERT INTO orders SELECT cosid_next('order') FROM generate_series(1, 1000)");
$primary->wait_for_catchup($standby);

my $error = sql_error($standby, 'shop', "SELECT cosid_next('order');");
is($error->{sqlstate}, '55000', 'standby: 55000');
cmp_ok($error->{seconds}, '<', 20, 'standby: at once');
like($error->{message}, qr/recovery/, 'standby: the message says why');
is($standby->safe_psql('shop',
		"SELECT (cosid_parse(id)).machine_id FROM orders LIMIT 1"),
	$machine_id, 'standby: cosid_parse works');

# A standby that has an ID has the watermark that it needed.
cmp_ok(machine_row($standby, $machine_id)->{last_timestamp},
	'>=',
	id_ms($standby->safe_psql('shop', 'SELECT max(id) FROM orders')),
	'standby: its watermark is not behind its IDs');

#
# Promoted, with the old primary still running
#
wait_for_watermark();
$primary->wait_for_catchup($standby);
$standby->promote;
my @clients = map { start_client($_, 'shop', mint_slowly('order')) } $primary, $standby;
wait_for_ids(@clients);
wait_for_more_ids(@clients);
my @lists = map {
	$_->{node}->safe_psql('postgres',
		'SELECT pg_terminate_backend(' . client_pid($_, 'true') . ')');
	is(finish_client($_)->{sqlstate}, '57P01',
		$_->{node}->name . ' mints after the promotion');
	read_ids($_);
} @clients;
check_ids('primary and promoted standby', @lists);
is(scalar(grep { id_machine($_) != $machine_id } @{ $lists[0] }),
	0, 'the old primary keeps its machine id');
my %promoted = map { id_machine($_) => 1 } @{ $lists[1] };
is(scalar(keys %promoted), 1, 'the promoted standby has one machine id');
ok(!exists $promoted{$machine_id},
	'the promoted standby has another machine id than its primary');
isnt(
	machine_row($standby, (keys %promoted)[0])->{owner},
	machine_row($primary, $machine_id)->{owner},
	'the promoted standby has another identity');

# It is still itself after a restart.
$standby->restart;
($id) = mint($standby, 'shop', 'order', 1);
ok(exists $promoted{ id_machine($id) },
	'the promoted standby has the same machine id after a restart');
cmp_ok($id, '>', $lists[1][-1], 'and goes on above its last ID');

#
# A clone
#
my $clone = PostgreSQL::Test::Cluster->new('clone');
$primary->backup('backup2');
wait_for_watermark();
$clone->init_from_backup($primary, 'backup2');
$clone->start;
@clients = map { start_client($_, 'shop', mint_in_bursts('order', 20)) } $primary, $clone;
wait_for_ids(@clients);
wait_for_more_ids(@clients);
@lists = map {
	$_->{node}->safe_psql('postgres',
		'SELECT pg_terminate_backend(' . client_pid($_, 'true') . ')');
	is(finish_client($_)->{sqlstate},
		'57P01', $_->{node}->name . ' mints beside its copy');
	read_ids($_);
} @clients;
check_ids('origin and clone', @lists);
isnt(id_machine($lists[1][0]), $machine_id, 'the clone has another machine id than its origin');
cmp_ok(log_count($clone, 'another server holds a machine id', 0), '>', 0,
	'the log of the clone warns that another server holds a machine id');
is(log_count($primary, 'another server holds a machine id', 0), 0,
	'that of its origin does not');
is(scalar(grep { id_machine($_) != $machine_id } @{ $lists[0] }),
	0, 'the origin keeps its machine id');

#
# Two copies of one origin don't know of each other, either
#
my ($of_standby) = mint($standby, 'shop', 'wide', 1);
my ($of_clone) = mint($clone, 'shop', 'wide', 1);
isnt(
	$standby->safe_psql('shop', "SELECT machine_id FROM cosid_parse($of_standby, 'wide')"),
	$clone->safe_psql('shop', "SELECT machine_id FROM cosid_parse($of_clone, 'wide')"),
	'two copies start with different machine ids where both have none');

$_->stop foreach $clone, $standby, $primary;
done_testing();
