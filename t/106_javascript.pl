# IDs in JavaScript: a real client, the npm package pg on Node.js, gets them
# through JSON and sends them back.  What it claims is in test/js/ids.js.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $js = "$FindBin::RealBin/../test/js";

die 'run "npm ci" in test/js first' unless -d "$js/node_modules/pg";

my $node = PostgreSQL::Test::Cluster->new('javascript');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'cosid'");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION cosid;
SELECT cosid_create('safe-js', machine_bit => 3, sequence_bit => 9),
       cosid_create('parcel', prefix => 'P');
CREATE TABLE ticket (id bigint PRIMARY KEY DEFAULT cosid_next('safe-js'), item int);
CREATE TABLE "order" (id bigint PRIMARY KEY DEFAULT cosid_next('order'), item int);
CREATE TABLE parcel (id text COLLATE "C" PRIMARY KEY DEFAULT cosid_next_string('parcel'), item int);
INSERT INTO ticket (item) SELECT generate_series(1, 1000);
INSERT INTO "order" (item) SELECT generate_series(1, 1000);
INSERT INTO parcel (item) SELECT generate_series(1, 1000);
SQL

# The claims; a script that ends early makes too few.
my %env = $node->_get_env(PGDATABASE => 'postgres', PGUSER => $ENV{USER} // getpwuid($<));
my ($stdout, $stderr) = ('', '');
my $ok = do
{
	local %ENV = %env;
	IPC::Run::run([ 'node', "$js/ids.js" ], '>', \$stdout, '2>', \$stderr);
};
my $claims = 0;

foreach (split /\n/, $stdout)
{
	like($_, qr/^ok - /, s/^(not )?ok - //r);
	$claims++;
}
ok($ok, 'the client ends well') or diag($stderr);
is($claims, 25, 'the client made its claims');

$node->stop;
done_testing();
