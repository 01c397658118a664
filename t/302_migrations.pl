# Migrations as frameworks write them (test/orm/*.sql), run unmodified by a role
# for which cosid.column_default is set: bigint keys draw from generators and
# have no sequence; 4-byte keys and references are what they always were.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use CosidTest;

my $orm = "$FindBin::RealBin/../test/orm";

# What each calls the tables of the shop (test/orm/README.md), and the columns
# that refer to a customer, an order and a tag; if any, more bigint keys and more
# 4-byte ones.
my @plural = qw(customers orders tags order_tags invoices);
my @singular = qw(customer order tag order_tag invoice);
my @snake = qw(customer_id order_id tag_id);
my @camel = qw(customerId orderId tagId);
my @django = (
	tables => [qw(shop_customer shop_order shop_tag shop_order_tags shop_invoice)],
	columns => \@snake,
	keys => ['shop_order_tags.id']);
my %tools = (
	'alembic' => { tables => \@singular, columns => \@snake },
	'django-3.2' => {@django},
	'django-4.2' => {@django},
	'hibernate' => {
		tables => [qw(customer orders tag order_tag invoice)],
		columns => \@snake
	},
	'knex' => {
		tables => \@plural,
		columns => \@snake,
		narrow => [qw(knex_migrations.id knex_migrations_lock.index)]
	},
	'prisma' => {
		tables => [qw(Customer Order Tag OrderTag Invoice)],
		columns => \@camel
	},
	'rails' => { tables => \@plural, columns => \@snake, keys => ['shipments.id'] },
	'sequelize' => { tables => \@plural, columns => \@camel },
	'typeorm' => { tables => \@singular, columns => \@camel });

my $node = cosid_server('migrations');

$node->safe_psql('postgres', 'CREATE ROLE app LOGIN');

# As the application's role: output, and error.
sub app
{
	my ($database, $sql) = @_;
	my ($ret, $stdout, $stderr) = $node->psql($database, $sql,
		extra_params => [ '-U', 'app', '-v', 'VERBOSITY=verbose' ]);

	return ($stdout, $stderr);
}

# A database of the role's own, with a tool's schema in it.  Gives exit code and
# notices of psql.
sub migrate
{
	my ($database, $tool, $setting) = @_;
	my ($stdout, $stderr);

	$node->safe_psql('postgres', qq(CREATE DATABASE "$database" OWNER app));
	$node->safe_psql('postgres', $setting);
	$node->safe_psql($database, 'CREATE EXTENSION cosid');
	my $ok = IPC::Run::run(
		[
			$node->installed_command('psql'),
			'-Xq', '-v', 'ON_ERROR_STOP=1', '-U', 'app', '-d', $node->connstr($database), '-f', "$orm/$tool.sql"
		],
		'>', \$stdout, '2>', \$stderr);
	note $stderr;
	return ($ok, $stderr);
}

# "table.column", or with the default, of columns that mint
sub minting
{
	my ($database, $what) = @_;
	return split /\n/, $node->safe_psql($database, <<"SQL");
SELECT format('$what', relname, attname, pg_get_expr(adbin, adrelid))
  FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
  JOIN pg_class c ON c.oid = adrelid
 WHERE pg_get_expr(adbin, adrelid) ~ 'cosid_next' ORDER BY relname COLLATE "C"
SQL
}

# "table.column" of columns that own a sequence
sub counting
{
	my ($database) = @_;
	return split /\n/, $node->safe_psql($database, <<'SQL');
SELECT format('%s.%s', t.relname, attname)
  FROM pg_class s JOIN pg_depend ON objid = s.oid AND deptype IN ('a', 'i')
  JOIN pg_class t ON t.oid = refobjid
  JOIN pg_attribute ON attrelid = t.oid AND attnum = refobjsubid
 WHERE s.relkind = 'S' ORDER BY t.relname COLLATE "C"
SQL
}

sub sequences
{
	my ($database) = @_;
	return $node->safe_psql($database, "SELECT count(*) FROM pg_class WHERE relkind = 'S'");
}

is_deeply(
	[ sort map { /^(.*)\.sql$/ } slurp_dir($orm) ],
	[ sort keys %tools ],
	'each kept migration is run');

foreach my $tool (sort keys %tools)
{
	my %t = %{ $tools{$tool} };
	my ($customer, $order, $tag, $order_tag, $invoice) = @{ $t{tables} };
	my ($customer_id, $order_id, $tag_id) = @{ $t{columns} };
	my @keys = sort("$customer.id", "$order.id", @{ $t{keys} // [] });
	my @narrow = sort("$tag.id", @{ $t{narrow} // [] });

	my ($ok, $stderr) = migrate($tool, $tool,
		qq(ALTER DATABASE "$tool" SET cosid.column_default = 'serial'));

	ok($ok, "$tool: runs unmodified");

	# A default of another name would be another generator.
	my @minting = minting($tool, '%s.%s %s');
	my @references = ("$order_tag.$order_id", "$invoice.$order_id");
	my %default = map { split / / } @minting;

	is_deeply(
		[ map { "$_ " . ($default{$_} // '') } @keys ],
		[ map { my ($table) = split /\./; "$_ cosid_next('$table'::text)" } @keys ],
		"$tool: bigint keys draw from the generator that is named after their table");
	is_deeply([ grep { exists $default{$_} } @references ],
		[], "$tool: keys that are references are left alone");
	is_deeply([ sort keys %default ], \@keys, "$tool: so are all other columns");
	is_deeply([ counting($tool) ], \@narrow, "$tool: only 4-byte keys have a sequence");
	is(sequences($tool), scalar @narrow, "$tool: no other sequence is left behind");

	# Prisma has another one: CREATE SCHEMA IF NOT EXISTS
	my @notices = grep { !/already exists, skipping$/ } $stderr =~ /NOTICE:  (.*)/g;
	is_deeply(
		[ sort @notices ],
		[ sort map { my ($table, $column) = split /\./; qq(primary key column "$column" of table "$table" is left without cosid_next as its default) } @narrow ],
		"$tool: a NOTICE for each 4-byte key");
	my $whys = () = $stderr =~ /^DETAIL:  An ID has 8 bytes, the column has 4\.$/mg;
	is($whys, scalar @narrow, "$tool: which says why");

	# As an application goes on
	my $before = now_ms();
	my ($ids, $error) = app($tool, <<"SQL");
INSERT INTO "$customer" (name) VALUES ('first'), ('second') RETURNING id;
INSERT INTO "$order" ("$customer_id", item) SELECT id, 'pen' FROM "$customer" RETURNING id;
SQL
	my $after = now_ms();
	my @ids = split /\n/, $ids;

	is(scalar @ids, 4, "$tool: rows are inserted without an id") or diag $error;
	is(scalar(grep { id_ms($_) >= $before - 1000 && id_ms($_) <= $after + 1000 } @ids), 4, "$tool: and have one of now");
	cmp_ok($ids[1], '>', $ids[0], "$tool: the next one is greater");
	is((app($tool, qq(INSERT INTO "$tag" (name) VALUES ('red'), ('blue') RETURNING id)))[0], "1\n2", "$tool: 4-byte keys count from 1");

	app($tool, <<"SQL");
INSERT INTO "$order_tag" ("$order_id", "$tag_id") VALUES ($ids[2], 1);
INSERT INTO "$invoice" ("$order_id") VALUES ($ids[2]);
SQL
	is((app($tool, qq(SELECT "$order_id" FROM "$order_tag" UNION ALL SELECT "$order_id" FROM "$invoice")))[0],
		"$ids[2]\n$ids[2]", "$tool: a reference is kept as it is given");
	like((app($tool, qq(INSERT INTO "$invoice" DEFAULT VALUES)))[1],
		qr/ERROR:  23502: null value in column "$order_id"/, "$tool: and is not made up");
}

# Where the setting comes from does not matter, and without it nothing changes.
my ($ok) = migrate('role', 'rails', "ALTER ROLE app SET cosid.column_default = 'serial'");
ok($ok, 'ALTER ROLE: runs unmodified');
is_deeply([ minting('role', '%s.%s') ], [qw(customers.id orders.id shipments.id)], 'ALTER ROLE: as ALTER DATABASE does');

($ok) = migrate('primary', 'rails', "ALTER ROLE app SET cosid.column_default = 'primary_key'");
ok($ok, 'primary_key: runs unmodified');
is_deeply([ minting('primary', '%s.%s') ], [], 'primary_key: bigserial stays bigserial');
is(sequences('primary'), 4, 'primary_key: with its sequences');

($ok) = migrate('none', 'rails', 'ALTER ROLE app RESET cosid.column_default');
ok($ok, 'off: runs unmodified');
is_deeply([ minting('none', '%s.%s') ], [], 'off: no column mints');
is(sequences('none'), 4, 'off: all sequences are there');

$node->stop;
done_testing();
