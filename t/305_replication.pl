# Logical replication, whose subscriber keeps the publisher's IDs; and sessions that
# declare, drop and use one generator at the same time.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use POSIX qw(:sys_wait_h);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = 'wal_level = logical';
my $publisher = cosid_server('publisher', streaming => 1, conf => $conf);
my $subscriber = cosid_server('subscriber', conf => $conf);

#
# One ID per row: the publisher's
#
$publisher->safe_psql('shop', <<'SQL');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'), n int);
CREATE TABLE filled (id bigint PRIMARY KEY, n int);
CREATE TRIGGER fill BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'filled');
INSERT INTO orders (n) SELECT generate_series(1, 100);
INSERT INTO filled (n) SELECT generate_series(1, 100);
CREATE PUBLICATION pub FOR TABLE orders, filled;
SQL
# The subscriber has the same defaults, from other generators, so that each use
# shows; a trigger that fires for the apply worker, too; and a column more.
$subscriber->safe_psql('shop', <<'SQL');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('not_used'), n int,
	local bigint NOT NULL DEFAULT cosid_next('local'));
CREATE TABLE filled (id bigint PRIMARY KEY, n int, local bigint);
CREATE TRIGGER fill BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'not_used');
ALTER TABLE filled ENABLE ALWAYS TRIGGER fill;
CREATE TRIGGER fill_local BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION cosid_fill('local', 'local');
ALTER TABLE filled ENABLE ALWAYS TRIGGER fill_local;
SQL
my $connstr = $publisher->connstr . ' dbname=shop';
$subscriber->safe_psql('shop',
	"CREATE SUBSCRIPTION sub CONNECTION '$connstr' PUBLICATION pub");
$subscriber->wait_for_subscription_sync($publisher, 'sub');

sub rows_of
{
	my ($node, $table) = @_;
	return $node->safe_psql('shop', "SELECT id, n FROM $table ORDER BY id");
}

sub check_same
{
	my ($what) = @_;

	$publisher->wait_for_catchup('sub');
	foreach my $table ('orders', 'filled')
	{
		my $rows = $publisher->safe_psql('shop', "SELECT count(*) FROM $table");

		is(rows_of($subscriber, $table), rows_of($publisher, $table),
			"$what: rows of $table are the publisher's");
		is( $subscriber->safe_psql('shop', "SELECT count(DISTINCT local) FROM $table"),
			$rows, "$what: the subscriber's own column of $table has an ID a row");
	}
	is( $subscriber->safe_psql('shop', "SELECT count(*) FROM cosid_stat WHERE name = 'not_used'"),
		0, "$what: the subscriber's default for the key is not evaluated");
	return;
}

check_same('copied');
$publisher->safe_psql('shop', <<'SQL');
INSERT INTO orders (n) SELECT generate_series(101, 200);
INSERT INTO filled (n) SELECT generate_series(101, 200);
SQL
check_same('applied');
my $local = $subscriber->safe_psql('shop', 'SELECT local FROM orders ORDER BY n');
$publisher->safe_psql('shop', <<'SQL');
UPDATE orders SET n = -n WHERE n = 7;
UPDATE orders SET id = DEFAULT WHERE n = 8;
DELETE FROM orders WHERE n = 9;
MERGE INTO orders USING (VALUES (10), (300)) v(n) ON orders.n = v.n
 WHEN MATCHED THEN UPDATE SET id = DEFAULT WHEN NOT MATCHED THEN INSERT (n) VALUES (v.n);
INSERT INTO orders SELECT id, 0 FROM orders WHERE n = 20
 ON CONFLICT (id) DO UPDATE SET n = orders.n + 1000;
SQL
check_same('changed');
is( $subscriber->safe_psql('shop', 'SELECT local FROM orders WHERE n IN (-7, 8, 10, 1020) ORDER BY abs(n)'),
	join("\n", (split /\n/, $local)[ 6, 7, 9, 19 ]),
	"an update leaves the subscriber's own column alone");
is($subscriber->safe_psql('shop', "SELECT count(*) FROM cosid_generator WHERE name IN ('not_used', 'local') AND implicit"),
	2, 'the defaults had defined their generators');
$subscriber->safe_psql('shop', 'DROP SUBSCRIPTION sub');
$subscriber->stop;

#
# Sessions that get in each other's way
#
my $node = $publisher;

# Run a statement in a session of its own.  Gives the session and, once it waits
# for a lock or is done, whether it waits.
sub in_background
{
	my ($sql) = @_;
	my $session = start_client($node, 'shop', $sql);
	my $waits = 0;

	wait_until(
		sub {
			$waits = $node->safe_psql('shop',
				    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
				  . " AND application_name = '$session->{name}'");
			return $waits || waitpid($session->{pid}, WNOHANG) != 0;
		}) or die 'session neither waits nor ends';
	return ($session, $waits);
}

# A drop while a default is declared in another transaction
$node->safe_psql('shop', "SELECT cosid_create('contended')");
foreach my $declare (
	"CREATE TABLE declared (id bigint DEFAULT cosid_next('contended'))",
	"ALTER TABLE orders ALTER n TYPE bigint, ALTER n SET DEFAULT cosid_next('contended')",
	"CREATE DOMAIN declared_id AS bigint DEFAULT cosid_next('contended')",
	"CREATE TRIGGER declared BEFORE INSERT ON filled FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', 'contended')",
	"SELECT cosid_attach('filled', 'id', 'contended')",
	"SET cosid.column_default = primary_key; CREATE TABLE contended (id bigint PRIMARY KEY)")
{
	my $session = $node->background_psql('shop');

	$session->query_safe("BEGIN; $declare");
	my ($drop, $waits) = in_background("SELECT cosid_drop('contended');");
	ok($waits, "drop waits for: $declare");
	$session->query_safe('ROLLBACK');
	is(finish_client($drop)->{sqlstate}, '', 'and succeeds after its rollback');
	$node->safe_psql('shop', "SELECT cosid_create('contended')");

	$session->query_safe("BEGIN; $declare");
	($drop, $waits) = in_background("SELECT cosid_drop('contended');");
	ok($waits, 'drop waits again');
	$session->query_safe('COMMIT');
	is(finish_client($drop)->{sqlstate}, '2BP01', 'and is refused after its commit');
	$session->quit;
	$node->safe_psql('shop', <<'SQL');
DROP TABLE IF EXISTS declared, contended;
DROP DOMAIN IF EXISTS declared_id;
DROP TRIGGER IF EXISTS declared ON filled;
ALTER TABLE filled ALTER id DROP DEFAULT;
ALTER TABLE orders ALTER n DROP DEFAULT;
SQL
}

# The other way round: a declaration waits for a drop, and then defines anew.
my $session = $node->background_psql('shop');
$session->query_safe("BEGIN; SELECT cosid_drop('contended')");
my ($declare, $waits) = in_background(
	"CREATE TABLE declared (id bigint DEFAULT cosid_next('contended'));");
ok($waits, 'a declaration waits for a drop');
$session->query_safe('COMMIT');
is(finish_client($declare)->{sqlstate}, '', 'and succeeds after it');
is($node->safe_psql('shop', "SELECT implicit FROM cosid_generator WHERE name = 'contended'"),
	't', 'with a definition of its own');
$node->safe_psql('shop', "INSERT INTO declared DEFAULT VALUES; DROP TABLE declared; SELECT cosid_drop('contended')");

# Two that declare the same new generator, and several that exist
$session->query_safe("BEGIN; CREATE TABLE first (id bigint DEFAULT cosid_next('new'))");
($declare, $waits) = in_background(
	"CREATE TABLE second (id bigint DEFAULT cosid_next('new'));");
ok($waits, 'the second one to declare a new generator waits for the first');
$session->query_safe('COMMIT');
is(finish_client($declare)->{sqlstate}, '', 'and succeeds');
$session->query_safe("BEGIN; CREATE TABLE third (id bigint DEFAULT cosid_next('newer'))");
($declare, $waits) = in_background(
	"CREATE TABLE fourth (id bigint DEFAULT cosid_next('newer'));");
ok($waits, 'the same again');
$session->query_safe('ROLLBACK');
is(finish_client($declare)->{sqlstate}, '', 'and it succeeds after a rollback, too');
is( $node->safe_psql('shop', "SELECT string_agg(name, ' ' ORDER BY name) FROM cosid_generator WHERE name LIKE 'new%'"),
	'new newer', 'there is one definition each');
$session->query_safe("BEGIN; CREATE TABLE fifth (id bigint DEFAULT cosid_next('new'))");
($declare, $waits) = in_background(
	"CREATE TABLE sixth (id bigint DEFAULT cosid_next('new'));");
ok(!$waits, 'of a generator that exists nobody waits');
is(finish_client($declare)->{sqlstate}, '', 'and both succeed');
# Nor does who mints wait for who declares.
my ($minter, $mint_waits) = in_background(
	"SELECT cosid_next('new'); INSERT INTO second DEFAULT VALUES;");
ok(!$mint_waits, 'minting does not wait');
is(finish_client($minter)->{sqlstate}, '', 'and succeeds');
$session->query_safe('COMMIT');
# Nor first use, which leaves the row to the other.
$session->query_safe("BEGIN; CREATE TABLE seventh (id bigint DEFAULT cosid_next('newest'))");
($minter, $mint_waits) = in_background("SELECT cosid_next('newest');");
ok(!$mint_waits, 'first use does not wait for a declaration');
is(finish_client($minter)->{sqlstate}, '', 'and succeeds');
$session->query_safe('COMMIT');
$session->quit;

# An old snapshot does not hide values from attach and detach.
$node->safe_psql('shop', 'CREATE TABLE old (id bigint, n bigserial)');
$session = $node->background_psql('shop', on_error_stop => 0);
$session->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders');
$node->safe_psql('shop', 'INSERT INTO old VALUES (9000000000000000000)');
$session->query("SELECT cosid_attach('old', 'id', 'old');");
like($session->{stderr}, qr/would collide with IDs to come/,
	'REPEATABLE READ: attach sees values that its snapshot does not');
$session->query('ROLLBACK');
$node->safe_psql('shop', "TRUNCATE old; ALTER TABLE old ALTER id SET DEFAULT cosid_next('old')");
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders');
$node->safe_psql('shop', 'INSERT INTO old VALUES (1000000)');
$session->query("SELECT cosid_detach('old', 'id');");
$session->query('COMMIT');
$session->quit;
is($node->safe_psql('shop', 'INSERT INTO old DEFAULT VALUES RETURNING id'),
	1000001, 'REPEATABLE READ: detach does, too');

$node->stop;
done_testing();
