# Trust: what the owner of a database can do to code that runs as superuser there.
#
# The extension's tables are used with their owner's rights.  A database's owner
# can rename the schema they are in and put another in its place, at any moment.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server('trust');

$node->safe_psql(
	'postgres', q{
	CREATE ROLE landlord LOGIN;
	CREATE DATABASE rented OWNER landlord;
});
$node->safe_psql(
	'rented', q{
	CREATE EXTENSION cosid SCHEMA public;
	-- calls cosid_create wherever its schema has gone
	CREATE SCHEMA caller;
	CREATE SEQUENCE caller.n;
	CREATE VIEW caller.create_one AS
		SELECT cosid_create('g' || nextval('caller.n'))::text AS created;
});
$node->safe_psql(
	'rented', q{
	CREATE SCHEMA fake;
	CREATE TABLE fake.cosid_generator AS
		SELECT * FROM public.cosid_generator WHERE false;
	CREATE TABLE fake.caught (who text);
	CREATE FUNCTION fake.catch() RETURNS trigger LANGUAGE plpgsql AS $$
	DECLARE
		here text := tg_table_schema;
	BEGIN
		EXECUTE format('INSERT INTO %I.caught VALUES (current_user)', here);
		RETURN new;
	END $$;
	CREATE TRIGGER catch BEFORE INSERT ON fake.cosid_generator
		FOR EACH ROW EXECUTE FUNCTION fake.catch();
	-- the schemas change places, again and again
	CREATE PROCEDURE swap(turns integer) LANGUAGE plpgsql AS $$
	BEGIN
		FOR turn IN 1 .. turns LOOP
			ALTER SCHEMA public RENAME TO real;
			ALTER SCHEMA fake RENAME TO public;
			COMMIT;
			ALTER SCHEMA public RENAME TO fake;
			ALTER SCHEMA real RENAME TO public;
			COMMIT;
		END LOOP;
	END $$;
}, extra_params => [ '-U', 'landlord' ]);

is( $node->safe_psql(
		'rented',
		q{SELECT rolsuper FROM pg_roles WHERE rolname = 'landlord'}),
	'f', 'the owner of the database is no superuser');

# Until the swap has come between a look at the table and its use at least once.
my $replaced = 0;
my $created = 0;
for my $round (1 .. 100)
{
	my $swapping = $node->background_psql(
		'rented',
		on_error_stop => 0,
		extra_params => [ '-U', 'landlord' ]);
	$swapping->query_until(qr/swapping/, "\\echo swapping\nCALL swap(300);\n");
	my ($status, $stdout, $stderr) = $node->psql(
		'rented', "SELECT created FROM caller.create_one;\n" x 300,
		on_error_stop => 0);
	$swapping->quit;
	$replaced += () = $stderr =~ /was replaced by another/g;
	last if $replaced > 0;
}
$created = $node->safe_psql('rented', 'SELECT count(*) FROM cosid_generator');

cmp_ok($created, '>', 0, 'definitions were made meanwhile');
cmp_ok($replaced, '>', 0, 'a statement on a table that was swapped is refused');
is($node->safe_psql('rented', 'SELECT count(*) FROM fake.caught'),
	0, "nothing of the owner's ran with other rights");

$node->stop;
done_testing();
