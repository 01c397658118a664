# Object-relational mappers, run for real: their schemas get cosid's keys, and
# they have each new row's ID.  What is claimed is in test/orm/shop.js and beside
# it; the SQL that is kept for t/302_migrations.pl is what they emit.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $orm = "$FindBin::RealBin/../test/orm";
my %claims = (knex => 19, prisma => 17, sequelize => 19, typeorm => 20);

die 'run "npm ci" in test/orm first' unless -d "$orm/node_modules/pg";

my $node = PostgreSQL::Test::Cluster->new('orm');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'cosid'");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE app LOGIN');

# A mapper's script, in a database: whether it ended well, output and errors.
sub run_script
{
	my ($database, $tool, @arguments) = @_;
	my ($stdout, $stderr) = ('', '');
	local %ENV = $node->_get_env(PGDATABASE => $database, PGUSER => 'app');
	my $ok = IPC::Run::run([ 'node', "$orm/$tool.js", @arguments ], '>', \$stdout, '2>', \$stderr);

	note $stderr;
	return ($ok, $stdout, $stderr);
}

foreach my $tool (sort keys %claims)
{
	# Without the extension: what it emits anywhere
	$node->safe_psql('postgres', "CREATE DATABASE ${tool}_sql OWNER app");
	my ($ok, $sql, $errors) = run_script("${tool}_sql", $tool, 'sql');
	is($sql, slurp_file("$orm/$tool.sql") =~ s/\A(?:-- .*\n)+\n//r, "$tool: the kept SQL is what it emits") or diag($errors);

	# In a schema of its own, where mappers don't take its tables for the application's
	$node->safe_psql('postgres', "CREATE DATABASE $tool OWNER app");
	$node->safe_psql($tool, 'CREATE SCHEMA cosid; CREATE EXTENSION cosid SCHEMA cosid; GRANT USAGE ON SCHEMA cosid TO app');
	($ok, my $stdout, $errors) = run_script($tool, $tool);

	# A script that ends early makes too few claims.
	my $count = 0;
	foreach (split /\n/, $stdout)
	{
		like($_, qr/^ok - /, "$tool: " . s/^(not )?ok - //r);
		$count++;
	}
	ok($ok, "$tool: it ends well") or diag($errors);
	is($count, $claims{$tool}, "$tool: it made its claims");
}

$node->stop;
done_testing();
