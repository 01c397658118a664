# What a role without rights can't do by defaults, triggers and
# cosid.column_default; and that a superuser who works on someone's table runs
# nothing of its owner's that PostgreSQL's own statements would not run.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server('hook_security');

$node->safe_psql('shop', <<'SQL');
CREATE ROLE app LOGIN;
CREATE SCHEMA app AUTHORIZATION app;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT cosid_next('order'), n int);
GRANT INSERT ON orders TO app;
INSERT INTO orders (n) VALUES (1);
SQL

#
# Generators with made-up names
#
my $counts = 'SELECT (SELECT count(*) FROM cosid_generator), (SELECT count(*) FROM cosid_stat),'
  . ' (SELECT sum(size) FROM pg_get_shmem_allocations() WHERE name LIKE \'%osid%\')';
my $before = $node->safe_psql('shop', $counts);

# %s is a name, at most 500 times.
my %attempts = (
	'cosid_next' => "PERFORM cosid_next(%L)",
	'cosid_next_string' => "PERFORM cosid_next_string(%L)",
	'a batch' => "PERFORM * FROM cosid_next(%L, 3)",
	'a default' => "CREATE TABLE app.t (id bigint DEFAULT cosid_next(%L))",
	"a temporary table's default" => "CREATE TEMP TABLE t (id bigint DEFAULT cosid_next(%L))",
	"a temporary table's default that is not constant" =>
	  "CREATE TEMP TABLE t (id bigint DEFAULT cosid_next(lower(%L))); INSERT INTO t DEFAULT VALUES",
	'a domain' => "CREATE DOMAIN pg_temp.d AS bigint DEFAULT cosid_next(%L)",
	'a trigger' => "CREATE TEMP TABLE t (id bigint);"
	  . " CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION cosid_fill('id', %L)",
	'cosid_attach' => "CREATE TEMP TABLE t (id bigint); PERFORM cosid_attach('t', 'id', %L)",
	'column_default' => "SET cosid.column_default = primary_key; CREATE TEMP TABLE %I (id bigint PRIMARY KEY)",
	'column_default, late' => "SET cosid.column_default = serial;"
	  . " CREATE TEMP TABLE %I (id bigserial); ALTER TABLE %1\$I ADD PRIMARY KEY (id)",
	'cosid_create' => "PERFORM cosid_create(%L)",
	'a row' => "INSERT INTO cosid_generator SELECT (g).* FROM"
	  . " (SELECT json_populate_record(g, json_build_object('name', %L)) AS g FROM cosid_generator g LIMIT 1) r");
foreach my $what (sort keys %attempts)
{
	my $sql = $attempts{$what};
	my $count = $what eq 'cosid_next' ? 2000 : 200;

	$sql =~ s/%(?:1\$)?([LI])/%1\$$1/g;
	is( $node->safe_psql('shop', <<"SQL", extra_params => [ '-U', 'app' ]),
CREATE TEMP TABLE results (state text);
DO \$\$
DECLARE
	statement text;
BEGIN
	FOR i IN 1 .. $count LOOP
		BEGIN
			EXECUTE format('DO %L', 'BEGIN ' || format(\$f\$$sql\$f\$, 'made up ' || i) || '; END');
			INSERT INTO results VALUES ('00000');
		EXCEPTION WHEN OTHERS THEN
			INSERT INTO results VALUES (sqlstate);
		END;
	END LOOP;
END \$\$;
SELECT state, count(*) FROM results GROUP BY 1;
SQL
		"42501|$count", "$what, $count names: refused each time");
}
is($node->safe_psql('shop', $counts), $before,
	'no definition is left, and no slot is used up');
is( $node->safe_psql('shop',
		"SELECT count(*) FROM pg_class WHERE relnamespace::regnamespace::text ~ '^(app|pg_temp)'"),
	0, 'nor any table');
# A second look at what it may do
is($node->psql('shop', 'INSERT INTO public.orders (n) VALUES (2)', extra_params => [ '-U', 'app' ]),
	0, 'it still inserts where it may');
is( $node->psql('shop', "CREATE TEMP TABLE t (id bigint DEFAULT cosid_next('order')); INSERT INTO t DEFAULT VALUES",
		extra_params => [ '-U', 'app' ]),
	0, 'and declares defaults of what is defined');
is( $node->psql('shop', 'SET cosid.auto_create = on', extra_params => [ '-U', 'app' ]),
	3, 'it may not set cosid.auto_create');

# What has run of the role's own, by the log: an error would undo all else.
my $log_start = -s $node->logfile;

sub caught
{
	my %what = map { $_ => 1 } log_since($node, $log_start) =~ /LOG:  caught: (.*)$/mg;

	$log_start = -s $node->logfile;
	return join(', ', sort keys %what);
}

# Functions of its own beside the extension's give it no right, and are not what
# the hook calls.
$node->safe_psql('shop', 'GRANT CREATE ON SCHEMA public TO app');
$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'app' ]);
CREATE FUNCTION app.catch(what text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RAISE LOG 'caught: % as %', what, current_user;
	RETURN 1;
END $$;
CREATE FUNCTION public.cosid_create(text) RETURNS void LANGUAGE sql AS $$ SELECT app.catch('create') $$;
CREATE FUNCTION public.cosid_next(varchar) RETURNS bigint LANGUAGE sql AS $$ SELECT app.catch('next varchar') $$;
CREATE FUNCTION public.cosid_next(name) RETURNS bigint LANGUAGE sql AS $$ SELECT app.catch('next name') $$;
CREATE FUNCTION public.cosid_next(anyelement) RETURNS bigint LANGUAGE sql AS $$ SELECT app.catch('next any') $$;
CREATE FUNCTION public.cosid_next(VARIADIC text[]) RETURNS bigint LANGUAGE sql AS $$ SELECT app.catch('next variadic') $$;
CREATE FUNCTION public.cosid_fill(text) RETURNS bigint LANGUAGE sql AS $$ SELECT app.catch('fill') $$;
CREATE FUNCTION app.le(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT app.catch('<=') > 0 $$;
CREATE OPERATOR app.<= (FUNCTION = app.le, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION app.eq(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT app.catch('=') > 0 $$;
CREATE OPERATOR app.= (FUNCTION = app.eq, LEFTARG = text, RIGHTARG = text);
CREATE AGGREGATE app.max(bigint) (SFUNC = int8larger, STYPE = bigint);
CREATE TABLE app.cosid_generator (name text);
CREATE TYPE app.text AS ENUM ('x');
CREATE TYPE app.int8 AS ENUM ('x');
SQL
is( sql_error($node, 'shop', "SET ROLE app; SELECT cosid_next('made up'::text);")->{sqlstate},
	'42501', 'a cosid_create of its own gives no right');
is($node->safe_psql('shop', 'SELECT app.catch($$test$$)') && caught(),
	'test as postgres', 'what runs of the role is noticed');
$node->safe_psql('shop', <<'SQL');
SET search_path = app, pg_catalog, public;
SET cosid.column_default = serial;
CREATE TABLE public.hooked (id bigserial PRIMARY KEY, n int);
CREATE TABLE public.hooked_late (id bigserial, n int);
ALTER TABLE public.hooked_late ADD PRIMARY KEY (id);
CREATE TABLE public.attached (id bigserial, n int);
INSERT INTO public.attached (n) VALUES (1);
SELECT cosid_attach('public.attached', 'id', 'attached');
INSERT INTO public.hooked (n) VALUES (1);
INSERT INTO public.hooked_late (n) VALUES (1);
INSERT INTO public.attached (n) VALUES (1);
SELECT cosid_detach('public.attached', 'id');
SELECT cosid_drop('attached');
SQL
is(caught(), '', "nothing of the role's ran");

#
# A superuser at work on a role's tables, which are full of its own functions
#
$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'app' ]);
CREATE FUNCTION app.immutable(bigint, what text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	PERFORM app.catch(what);
	RETURN $1;
END $$;
CREATE DOMAIN app.checked AS bigint CHECK (app.immutable(VALUE, 'domain') IS NOT NULL);
SQL
my %tables = (
	'index expression' => 'CREATE TABLE app.t (id bigserial, n bigint);'
	  . " CREATE INDEX ON app.t (app.immutable(id, 'index'))",
	'index predicate' => 'CREATE TABLE app.t (id bigserial, n bigint);'
	  . " CREATE INDEX ON app.t (id) WHERE app.immutable(id, 'predicate') > 0",
	'policy' => 'CREATE TABLE app.t (id bigserial, n bigint);'
	  . " CREATE POLICY p ON app.t USING (app.immutable(id, 'policy') > 0);"
	  . ' ALTER TABLE app.t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
	'domain' => 'CREATE TABLE app.t (id app.checked, n bigint)',
	'domain with a default' => "CREATE TABLE app.t (id app.checked DEFAULT app.immutable(7, 'default'), n bigint)",
	'generated column' => 'CREATE TABLE app.t (id bigserial, n bigint,'
	  . " g bigint GENERATED ALWAYS AS (app.immutable(n, 'generated')) STORED)",
	'CHECK' => "CREATE TABLE app.t (id bigserial CHECK (app.immutable(id, 'check') IS NOT NULL), n bigint)",
	'triggers' => 'CREATE TABLE app.t (id bigserial, n bigint);'
	  . " CREATE FUNCTION app.t() RETURNS trigger LANGUAGE plpgsql AS"
	  . " 'BEGIN PERFORM app.catch(''trigger''); RETURN new; END';"
	  . ' CREATE TRIGGER t BEFORE INSERT OR UPDATE ON app.t FOR EACH ROW EXECUTE FUNCTION app.t()',
	'partition' => 'CREATE TABLE app.t (id bigserial, n bigint) PARTITION BY LIST (n);'
	  . " CREATE TABLE app.t1 PARTITION OF app.t (id DEFAULT app.immutable(1, 'partition')) DEFAULT",
	'statistics' => 'CREATE TABLE app.t (id bigserial, n bigint);'
	  . " CREATE STATISTICS app.s ON (app.immutable(id, 'statistics')), n FROM app.t");
foreach my $what (sort keys %tables)
{
	$node->safe_psql('shop',
		"$tables{$what}; INSERT INTO app.t (id, n) VALUES (1, 1), (2, 2), (3, 3)",
		extra_params => [ '-U', 'app' ]);
	caught();
	foreach my $step (
		"SELECT cosid_attach('app.t', 'id', 'order')",
		"SELECT cosid_detach('app.t', 'id')",
		"ALTER TABLE app.t ALTER id DROP IDENTITY IF EXISTS, ALTER id SET NOT NULL, ALTER id SET DEFAULT 0;"
		. " SELECT cosid_attach('app.t', 'id', 'order')",
		"SELECT cosid_drop('order')")
	{
		# The last one fails, and so does an identity of a domain.
		$node->psql('shop', $step);
		is(caught(), '', "$what: nothing of the owner's runs in: $step");
	}
	is( $node->safe_psql('shop',
			"SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'app.t'::regclass AND adnum = 1"),
		"cosid_next('order'::text)", "$what: attached");
	$node->safe_psql('shop', 'DROP TABLE app.t; DROP FUNCTION IF EXISTS app.t');
}

# By cosid.column_default
$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'app' ]);
CREATE TABLE app.t (id bigserial, n bigint);
CREATE POLICY p ON app.t USING (app.immutable(id, 'policy') > 0);
ALTER TABLE app.t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
INSERT INTO app.t (n) VALUES (1), (2), (3);
SQL
caught();
$node->safe_psql('shop', 'SET cosid.column_default = serial; ALTER TABLE app.t ADD PRIMARY KEY (id)');
is(caught(), '', "column_default: nothing of the owner's runs");

# What the planner evaluates of an index's, it evaluates as the table's owner.
$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'app' ]);
CREATE TABLE app.folded (id bigserial);
CREATE INDEX ON app.folded (id) WHERE app.immutable(1, 'folded') > 0;
INSERT INTO app.folded DEFAULT VALUES;
SQL
caught();
$node->safe_psql('shop', "SELECT cosid_attach('app.folded', 'id', 'order')");
unlike(caught(), qr/as postgres/, 'cosid_attach: a constant in an index predicate is not evaluated with its rights');
$node->safe_psql('shop', "SELECT cosid_detach('app.folded', 'id')");
unlike(caught(), qr/as postgres/, 'nor is it by cosid_detach');

# A partition that is being detached has no ancestors any more.
$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'app' ]);
CREATE TABLE app.parent (id bigint, n int) PARTITION BY LIST (n);
CREATE TABLE app.part PARTITION OF app.parent FOR VALUES IN (1);
SQL
my $reading = $node->background_psql('shop');
$reading->query_safe('BEGIN; SELECT count(*) FROM app.parent');
$node->psql('shop', <<'SQL');
SET statement_timeout = '1s';
ALTER TABLE app.parent DETACH PARTITION app.part CONCURRENTLY;
SQL
$reading->quit;
is( sql_error($node, 'shop', "SET ROLE app; SELECT cosid_attach('app.part', 'id', 'order');")->{sqlstate},
	'42809', 'a partition whose DETACH CONCURRENTLY was cancelled is refused');

#
# A superuser who has to wait, until a view stands where the table was
#
$node->safe_psql('shop', 'GRANT CREATE ON DATABASE shop TO app');
$node->safe_psql('shop', 'CREATE TABLE app.swapped (id bigserial)', extra_params => [ '-U', 'app' ]);
my $defining = $node->background_psql('shop');
$defining->query_safe("BEGIN; SELECT cosid_create(name => 'slow')");
my $attaching = $node->background_psql('shop', on_error_stop => 0);
$attaching->query_until(qr/attaching/, "\\echo attaching\nSELECT cosid_attach('app.swapped', 'id', 'slow');\n");
$node->poll_query_until('shop',
	"SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'object' AND NOT granted")
  or die 'cosid_attach does not wait';
$node->safe_psql('shop', <<'SQL', extra_params => [ '-U', 'app' ]);
ALTER SCHEMA app RENAME TO aside;
CREATE SCHEMA app;
CREATE FUNCTION app.catch(what text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RAISE LOG 'caught: % as %', what, current_user;
	RETURN 1;
END $$;
CREATE VIEW app.swapped AS SELECT app.catch('view') AS id;
SQL
caught();
$defining->query_safe('COMMIT');
$attaching->query('SELECT 1');
like($attaching->{stderr}, qr/a table was replaced by another/, 'a table that was swapped is refused');
is(caught(), '', 'and what stands in its place is not read');
$_->quit foreach $attaching, $defining;

$node->stop;
done_testing();
