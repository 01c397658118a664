# Who may mint, what may not disturb the worker, which is superuser in a database
# that others can write to, and what happens when shared memory is used up.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server('security', conf => 'cosid.wait_timeout = 60s');

#
# Roles
#
$node->safe_psql('shop', <<'SQL');
CREATE ROLE app LOGIN;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'), item text);
GRANT INSERT ON orders TO app;
SELECT cosid_create('order');
SQL
is( $node->psql('shop', "SET ROLE app; INSERT INTO orders (item) VALUES ('tea')"),
	0, 'an application role with INSERT alone can insert');
is($node->safe_psql('shop', 'SELECT count(*) FROM orders WHERE id > 0'),
	1, 'and its row has an ID');
my $error = sql_error($node, 'shop', "SET ROLE app; SELECT cosid_next('other');");
is($error->{sqlstate}, '42501', 'a role without EXECUTE on cosid_create cannot define a generator');
like($error->{hint}, qr/cosid_create\('other'\)/, 'and the HINT says what helps');
is($node->safe_psql('shop', "SELECT count(*) FROM cosid_generator WHERE name = 'other'"),
	0, 'and no row is left');
$node->safe_psql('shop', 'GRANT EXECUTE ON FUNCTION cosid_create TO app');
is($node->psql('shop', "SET ROLE app; SELECT cosid_next('other')"),
	0, 'with EXECUTE on cosid_create it can');
foreach my $sql (
	'UPDATE cosid_machine SET last_timestamp = 0',
	"SELECT cosid_machine_revert('cosid', 1, 'x', 1, 1, 1)",
	'SELECT * FROM cosid_lease')
{
	is(sql_error($node, 'postgres', "SET ROLE app; $sql;")->{sqlstate},
		'42501', "an application role cannot: $sql");
}

#
# Settings of the registry's database
#
# The worker must go on as if there were none: it claims, extends (the lead is
# short) and gives back.
sub check_worker
{
	my ($what) = @_;
	my ($id, $row, $client, $offset);

	$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 500ms');
	$offset = -s $node->logfile;
	$node->restart;
	$client = start_client($node, 'shop', mint_slowly('order'));
	wait_for_ids($client);
	$node->wait_for_log(qr/claimed machine id \d+ of cosid namespace "cosid"/, $offset);
	foreach my $time (1 .. 2)
	{
		my $watermark = $node->safe_psql('shop',
			"SELECT watermark FROM cosid_lease WHERE namespace = 'cosid'");
		ok( wait_until(
				sub {
					$node->safe_psql('shop',
						"SELECT watermark FROM cosid_lease WHERE namespace = 'cosid'"
					) ne $watermark;
				}),
			"$what: the worker extends ($time)");
	}
	$node->safe_psql('shop',
		'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
	is(finish_client($client)->{sqlstate}, '57P01', "$what: minting goes on");
	($id) = mint($node, 'shop', 'order', 1);
	$node->stop('fast');
	is( join("\n",
			grep { /has a problem|could not give back|ERROR|WARNING.*cosid_|PANIC|TRAP/ }
			  split /\n/, log_since($node, $offset)),
		'', "$what: no error in the log");
	$node->start;
	return id_machine($id);
}

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE nobody;
CREATE SCHEMA nasty;
CREATE TABLE nasty.cosid_machine (LIKE public.cosid_machine);
CREATE FUNCTION nasty.fail(integer, integer) RETURNS boolean
	LANGUAGE plpgsql AS $$ BEGIN RAISE 'nasty'; END $$;
CREATE FUNCTION nasty.fail(bigint, bigint) RETURNS boolean
	LANGUAGE plpgsql AS $$ BEGIN RAISE 'nasty'; END $$;
CREATE OPERATOR nasty.= (FUNCTION = nasty.fail, LEFTARG = integer, RIGHTARG = integer);
CREATE OPERATOR nasty.>= (FUNCTION = nasty.fail, LEFTARG = bigint, RIGHTARG = bigint);
ALTER DATABASE postgres SET search_path = nasty, public, pg_catalog;
ALTER DATABASE postgres SET default_transaction_isolation = serializable;
ALTER DATABASE postgres SET default_transaction_deferrable = on;
ALTER DATABASE postgres SET statement_timeout = 1;
ALTER DATABASE postgres SET lock_timeout = 1;
ALTER DATABASE postgres SET idle_in_transaction_session_timeout = 1;
ALTER DATABASE postgres SET role = nobody;
ALTER DATABASE postgres SET session_replication_role = replica;
ALTER DATABASE postgres SET synchronous_commit = off;
ALTER ROLE ALL SET default_transaction_read_only = on;
SQL
my $machine_id = check_worker('settings of the database and of all roles');
foreach my $reset (
	'ALTER ROLE ALL RESET ALL', 'ALTER DATABASE postgres RESET ALL')
{
	$node->safe_psql('template1',
		"SET default_transaction_read_only = off; $reset");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM nasty.cosid_machine'),
	0, 'search_path: nothing has gone into the wrong table');
is(machine_row($node, $machine_id)->{machine_id},
	$machine_id, 'search_path: the registry has the row');

#
# What the owner of the registry's database can do, who is no superuser: put
# something else where the extension's tables were.
#
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner LOGIN;
CREATE DATABASE home OWNER owner;
SQL
$node->safe_psql('home', 'CREATE EXTENSION cosid');
$node->append_conf('postgresql.conf', "cosid.database = 'home'");
$node->restart;
mint($node, 'shop', 'order', 1);
$node->safe_psql('home', <<'SQL');
SET SESSION AUTHORIZATION owner;
ALTER SCHEMA public RENAME TO elsewhere;
CREATE SCHEMA public;
CREATE FUNCTION public.attack() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'ALTER ROLE owner SUPERUSER';
	RETURN NEW;
END $$;
CREATE TABLE public.cosid_machine (name text, namespace text, machine_id int,
	last_timestamp bigint, instance_id text, distribute_time bigint,
	revert_time bigint, stable boolean, owner text, fence bigint,
	UNIQUE (namespace, machine_id));
CREATE TRIGGER attack BEFORE INSERT OR UPDATE ON public.cosid_machine
	FOR EACH ROW EXECUTE FUNCTION public.attack();
SQL
check_worker('another table in the place of cosid_machine');
is($node->safe_psql('home', 'SELECT count(*) FROM public.cosid_machine'),
	0, 'another table in the place of cosid_machine: nothing goes there');
is($node->safe_psql('home', "SELECT rolsuper FROM pg_roles WHERE rolname = 'owner'"),
	'f', 'another table in the place of cosid_machine: its owner is no superuser');

#
# Shared memory used up
#
$node->append_conf('postgresql.conf', <<'CONF');
cosid.max_generators = 2
cosid.max_namespaces = 1
CONF
$node->restart;
mint($node, 'shop', 'order', 1);
mint($node, 'shop', 'other', 1);
$error = sql_error($node, 'shop', "SELECT cosid_next('third');");
is($error->{sqlstate}, '53400', 'cosid.max_generators used up: 53400');
like($error->{hint}, qr/cosid\.max_generators/, 'cosid.max_generators used up: HINT names it');
$error = sql_error($node, 'shop',
	"SELECT cosid_create('fourth', namespace => 'more'); SELECT cosid_next('fourth');");
is($error->{sqlstate}, '53400', 'cosid.max_namespaces used up: 53400');
like($error->{hint}, qr/cosid\.max_namespaces/, 'cosid.max_namespaces used up: HINT names it');
is(scalar(mint($node, 'shop', $_, 10)), 10, "generator $_ still mints")
  foreach 'order', 'other';

$node->stop;
done_testing();
