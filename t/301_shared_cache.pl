# A session's first ID needs no look at the generator's row if another session
# has had one; and yet it always is of the layout that the row says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server('shared_cache');

# Two layouts that IDs can be told by.
my $plain = "SELECT cosid_create('order')";
my $safe = "SELECT cosid_create('order', safe_javascript => true)";
my $drop = "SELECT cosid_drop('order')";

# Whether the next ID, by a new session, is one for JavaScript.
sub is_safe
{
	my ($database) = @_;

	return $node->safe_psql($database // 'shop',
		"SELECT cosid_is_safe_javascript(cosid_next('order'))");
}

# A session that stays; what the last statement of several gives.
my $session = $node->background_psql('shop');
$session->query_safe('SET client_min_messages = warning');

sub answer
{
	my ($sql) = @_;

	return (split /\n/, $session->query_safe($sql))[-1];
}

#
# What it is for
#
$node->safe_psql('shop', $plain);
is(is_safe(), 'f', 'the first session reads the row');
$session->query_safe('BEGIN; LOCK TABLE cosid_generator');
is( $node->safe_psql(
		'shop', "SET lock_timeout = '2s'; SELECT cosid_next('order') > 0"),
	't',
	'a new session does not open the table');
is( sql_error(
		$node, 'shop', "SET lock_timeout = '2s'; SELECT cosid_next('another')"
	)->{sqlstate},
	'55P03',
	'for a generator that none has used it does');
$session->query_safe('ROLLBACK');

#
# Changes
#
$session->query_safe("BEGIN; $drop; $safe");
is(is_safe(), 'f', 'a change that is not committed is not seen by others');
is(answer("SELECT cosid_is_safe_javascript(cosid_next('order'))"),
	't', 'who has made it sees it');
is(is_safe(), 'f', 'and still does not show it to others');
$session->query_safe('COMMIT');
is(is_safe(), 't', 'a change that is committed is seen by a new session');

$session->query_safe("BEGIN; $drop; $plain; SELECT cosid_next('order'); ROLLBACK");
is(is_safe(), 't', 'one that is rolled back is not');

$session->query_safe('BEGIN; TRUNCATE cosid_generator; COMMIT');
is(is_safe(), 'f', 'TRUNCATE takes effect');
$session->query_safe("$drop; $safe");
is(is_safe(), 't', 'a new definition takes effect');

$session->query_safe('DROP EXTENSION cosid; CREATE EXTENSION cosid');
is(is_safe(), 'f', 'an extension that was dropped has left nothing behind');

# The leader's own change is what its workers see, and nobody else.
$session->query_safe(<<"SQL");
$drop; $plain;
CREATE TABLE many AS SELECT generate_series(1, 10000) AS n;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SQL
is(is_safe(), 'f', 'before the change of one who has parallel workers');
like(
	$session->query_safe("EXPLAIN SELECT cosid_next('order') FROM many"),
	qr/Workers Planned/, 'they have workers');
is( answer(<<"SQL"), '10000',
BEGIN; $drop; $safe;
SELECT count(*) FROM many
WHERE cosid_is_safe_javascript(cosid_next('order') + 0 * n);
SQL
	'all workers use the change of their leader');
is(is_safe(), 'f', 'and do not show it to others');
$session->query_safe('COMMIT');

#
# Databases
#
is(is_safe(), 't', 'a layout of one database');
$session->quit;
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE shop');
is(is_safe('copy'), 't', 'a copy of the database has it, too');
$node->safe_psql('copy', "$drop; $plain");
is(is_safe('copy'), 'f', 'and changes it for itself');
is(is_safe(), 't', 'not for the other one');

#
# Prepared transactions
#
$node->append_conf('postgresql.conf', 'max_prepared_transactions = 2');
$node->restart;
is(is_safe(), 't', 'before the change that is prepared');
$node->safe_psql('shop', "BEGIN; $drop; $plain; PREPARE TRANSACTION 'change'");
is(is_safe(), 't', 'a change that is prepared is not seen');
$node->safe_psql('shop', "COMMIT PREPARED 'change'");
is(is_safe(), 'f', 'one that was prepared and is committed is');

$node->stop;
done_testing();
