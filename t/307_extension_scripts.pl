# The scripts of extensions, cosid's own among them, make their tables as they are
# written, whatever cosid.column_default says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($share) = run_command([ 'pg_config', '--sharedir' ]);
plan skip_all => 'the installation is not ours to write to'
  unless -w "$share/extension";

my $extension = "$share/extension/cosid_test_keys";

END
{
	unlink glob "$extension*" if defined $extension;
}

append_to_file("$extension.control", "default_version = '1.0'\nrelocatable = false\n");
append_to_file("$extension--1.0.sql", <<'SQL');
CREATE TABLE ext_serial (id bigserial PRIMARY KEY);
CREATE TABLE ext_identity (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE ext_plain (id bigint PRIMARY KEY);
CREATE TABLE ext_late (id bigint);
ALTER TABLE ext_late ADD PRIMARY KEY (id);
DO $$ BEGIN CREATE TABLE ext_do (id bigserial PRIMARY KEY); END $$;
-- Nor is a default checked.
CREATE TABLE ext_default (id bigint DEFAULT @extschema@.cosid_next('ext_default'));
CREATE DOMAIN ext_domain AS bigint DEFAULT @extschema@.cosid_next('ext_domain');
SQL
append_to_file("$extension--1.0--1.1.sql", <<'SQL');
CREATE TABLE ext_more (id bigserial PRIMARY KEY);
ALTER TABLE ext_serial ADD n bigint DEFAULT @extschema@.cosid_next('ext_more');
SQL

my $node = cosid_server('extension_scripts');
my $defaults = "SELECT conrelid::regclass, attidentity, pg_get_expr(adbin, adrelid)"
  . ' FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]'
  . ' LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum'
  . " WHERE contype = 'p' AND conrelid::regclass::text LIKE 'ext%' ORDER BY conrelid::regclass::text";

foreach my $setting ('primary_key', 'serial')
{
	is($node->safe_psql('shop', <<"SQL"), <<'TEXT' =~ s/\n\z//r, "$setting: an extension's keys are as it wrote them");
SET cosid.column_default = $setting;
CREATE EXTENSION cosid_test_keys SCHEMA public;
ALTER EXTENSION cosid_test_keys UPDATE TO '1.1';
$defaults;
SQL
ext_do||nextval('ext_do_id_seq'::regclass)
ext_identity|a|
ext_late||
ext_more||nextval('ext_more_id_seq'::regclass)
ext_plain||
ext_serial||nextval('ext_serial_id_seq'::regclass)
TEXT
	is($node->safe_psql('shop', 'SELECT count(*) FROM cosid_generator'),
		0, "$setting: nothing is defined by its script");
	is($node->safe_psql('shop', "INSERT INTO ext_default DEFAULT VALUES RETURNING id > 0"),
		't', "$setting: first use is");
	$node->safe_psql('shop', "DROP EXTENSION cosid_test_keys; SELECT cosid_drop('ext_default')");

	# A failed script leaves the session as it was.
	is($node->psql('shop', <<"SQL"), 0, "$setting: a script that fails");
SET cosid.column_default = $setting;
CREATE TABLE ext_plain (id bigint PRIMARY KEY);
\\set ON_ERROR_STOP off
CREATE EXTENSION cosid_test_keys;
CREATE TABLE after (id bigint PRIMARY KEY);
SQL
	is( $node->safe_psql('shop',
			"SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'after'::regclass"),
		"cosid_next('after'::text)", "$setting: after it, the setting holds");
	$node->safe_psql('shop', "DROP TABLE ext_plain, after; SELECT cosid_drop('ext_plain'), cosid_drop('after')");
}

# cosid's own, by hand, and by the worker, whose database and role have the setting
my $own = "SELECT count(*) FROM pg_attrdef JOIN pg_depend ON adrelid = objid AND deptype = 'e'"
  . " WHERE pg_get_expr(adbin, adrelid) LIKE '%cosid_next%'";
$node->safe_psql('postgres', <<'SQL');
DROP EXTENSION IF EXISTS cosid;
CREATE DATABASE byhand;
CREATE DATABASE home;
ALTER ROLE ALL SET cosid.column_default = serial;
SQL
$node->safe_psql('byhand', 'CREATE EXTENSION cosid');
is($node->safe_psql('byhand', $own), 0, "cosid's own script, by hand");
$node->append_conf('postgresql.conf', "cosid.database = 'home'");
$node->restart;
mint($node, 'shop', 'some', 1);
is($node->safe_psql('home', "SELECT count(*) FROM pg_extension WHERE extname = 'cosid'"),
	1, 'the worker has made the extension');
is($node->safe_psql('home', $own), 0, "cosid's own script, by the worker");

$node->stop;
done_testing();
