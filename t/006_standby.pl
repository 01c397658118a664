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
	conf => 'cosid.wait_timeout = 60s');

my ($id) = mint($primary, 'shop', 'order', 1);
my $machine_id = id_machine($id);

$primary->backup('backup');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'backup', has_streaming => 1);
$standby->start;

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
my $client = start_client($primary, 'shop', mint_slowly('order'));
wait_for_ids($client);
$standby->promote;
my @clients = ($client, start_client($standby, 'shop', mint_slowly('order')));
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
is(scalar(grep { id_machine($_) != $machine_id } @{ $lists[0] }),
	0, 'the origin keeps its machine id');

$_->stop foreach $clone, $standby, $primary;
done_testing();
