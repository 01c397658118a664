# Databases and extensions come and go while the worker runs and other databases
# mint.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = cosid_server(
	'drop',
	conf => <<'CONF');
cosid.watermark_lead = 1s
cosid.wait_timeout = 60s
CONF

# Nobody has minted yet: it is not there before somebody wants it.
is( $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_extension WHERE extname = 'cosid'"),
	0, 'the worker does not create the extension before a backend needs it');

#
# CREATE EXTENSION in cosid.database, before the worker has made it
#
# An ID in the transaction that creates the extension can't be had: the worker
# does not see it.  It says so at once.
my $error = sql_error($node, 'postgres',
	"BEGIN; CREATE EXTENSION cosid; SELECT cosid_next('order');");
is($error->{sqlstate}, 'ID002',
	'minting in the transaction that creates the extension in cosid.database: ID002');
like($error->{detail}, qr/created by this transaction/,
	'minting in the transaction that creates it: DETAIL says why');
cmp_ok($error->{seconds}, '<', 20,
	'minting in the transaction that creates it: at once');

is($node->psql('postgres', 'CREATE EXTENSION cosid'),
	0, 'CREATE EXTENSION in cosid.database before the worker needs it');
is(scalar(mint($node, 'postgres', 'order', 10)),
	10, 'minting in cosid.database right after it');

# A second database with a generator of the same name and layout.
$node->safe_psql('postgres', 'CREATE DATABASE shop2');
$node->safe_psql('shop2', 'CREATE EXTENSION cosid');
my @clients =
  map { start_client($node, $_, mint_slowly('order')) } 'shop', 'shop2', 'postgres';
wait_for_ids(@clients);

#
# DROP EXTENSION, DROP DATABASE, CREATE DATABASE ... TEMPLATE
#
is($node->psql('postgres', 'CREATE DATABASE doomed'), 0, 'CREATE DATABASE');
is($node->psql('doomed', 'CREATE EXTENSION cosid'), 0, 'CREATE EXTENSION');
is(scalar(mint($node, 'doomed', 'order', 10)), 10, 'minting in a new database');
is($node->psql('doomed', 'DROP EXTENSION cosid'), 0, 'DROP EXTENSION');
is($node->psql('doomed', 'CREATE EXTENSION cosid'), 0, 'CREATE EXTENSION again');
is(scalar(mint($node, 'doomed', 'order', 10)), 10, 'minting after DROP and CREATE');
is($node->psql('postgres', 'CREATE DATABASE twin TEMPLATE doomed', timeout => 60),
	0, 'CREATE DATABASE ... TEMPLATE while the worker runs and others mint');
is(scalar(mint($node, 'twin', 'order', 10)), 10, 'minting in the copy');
is( $node->psql(
		'postgres', 'CREATE DATABASE twin2 TEMPLATE doomed STRATEGY file_copy',
		timeout => 60),
	0, 'CREATE DATABASE ... STRATEGY file_copy');
is($node->psql('postgres', 'DROP DATABASE doomed', timeout => 60),
	0, 'DROP DATABASE while the worker runs and others mint');
is($node->psql('postgres', 'ALTER DATABASE twin RENAME TO twin1', timeout => 60),
	0, 'ALTER DATABASE ... RENAME');

wait_for_more_ids(@clients);
foreach my $client (@clients)
{
	my $pid = client_pid($client, 'true');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
	is(finish_client($client)->{sqlstate},
		'57P01', 'meanwhile, minting in other databases goes on');
}
check_ids('three databases, slowly', read_ids(@clients));

#
# While nobody mints the worker sleeps, for up to cosid.guard_interval, but not
# through what PostgreSQL asks of every process
#
$node->append_conf('postgresql.conf', 'cosid.guard_interval = 1h');
$node->reload;
ok( wait_until(
		sub {
			$node->safe_psql('shop',
				"SELECT watermark < now() FROM cosid_lease WHERE namespace = 'cosid'"
			) eq 't';
		}),
	'the worker is at rest');
is($node->psql('postgres', 'DROP DATABASE twin1', timeout => 60),
	0, 'DROP DATABASE while the worker is at rest');
is($node->psql('postgres', 'CREATE DATABASE twin TEMPLATE twin2', timeout => 60),
	0, 'CREATE DATABASE ... TEMPLATE while the worker is at rest');

#
# Two databases at the same time
#
my @lists;
@clients = map { start_client($node, $_, mint_in_bursts('order', 1000)) } 'shop', 'shop2';
wait_for_ids($_) foreach @clients;
wait_for_more_ids($_) foreach @clients;
foreach my $client (@clients)
{
	$node->safe_psql('postgres',
		'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
	is(finish_client($client)->{sqlstate}, '57P01', 'two databases: no other error');
}
@lists = read_ids(@clients);
ok( $lists[0][0] < $lists[1][-1] && $lists[1][0] < $lists[0][-1],
	'two databases: they mint at the same time');
check_ids('two databases, the same name and layout', @lists);

#
# cosid.database without a schema public, and the worker has to make the
# extension
#
$node->safe_psql('postgres', 'CREATE DATABASE home');
$node->safe_psql('home', 'DROP SCHEMA public');
$node->append_conf('postgresql.conf', "cosid.database = 'home'");
$node->restart;
is(scalar(mint($node, 'shop', 'order', 10)),
	10, 'no schema public in cosid.database: minting works');
is( $node->safe_psql('home',
		    'SELECT nspname FROM pg_extension JOIN pg_namespace AS n'
		  . " ON n.oid = extnamespace WHERE extname = 'cosid'"),
	'cosid', 'no schema public in cosid.database: the extension goes to schema cosid');
is($node->psql('home', 'CREATE EXTENSION IF NOT EXISTS cosid'),
	0, 'CREATE EXTENSION IF NOT EXISTS in cosid.database after the worker made it');
my ($ret, undef, $stderr) = $node->psql('home', 'CREATE EXTENSION cosid');
like($stderr, qr/already exists/,
	'CREATE EXTENSION in cosid.database after the worker made it');
is(scalar(mint($node, 'shop', 'order', 10)), 10, 'minting still works');

$node->stop;
done_testing();
