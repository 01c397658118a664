# One registry for as many servers as there are machine ids: 1,024 instances,
# simulated by test/fleet/fleet over libpq, claim at once, guard once a second,
# expire and are replaced; the 1,025th finds the namespace full.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $program = "$FindBin::RealBin/../test/fleet/fleet";

my $node = PostgreSQL::Test::Cluster->new('registry');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'cosid'
max_connections = 90
log_statement = none
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE fleet');
$node->safe_psql('fleet', 'CREATE EXTENSION cosid');

my ($stdout, $stderr) = run_command([ $program, '-c', '64', '-s', '5', $node->connstr('fleet') ]);
is($stderr, '', 'no call fails');
foreach my $line (split /\n/, $stdout)
{
	if ($line =~ /^(not )?ok - (.*)/)
	{
		ok(!defined $1, $2);
	}
	else
	{
		note($line);
	}
}
like($stdout, qr/^10 passed, 0 failed$/m, 'all was looked at');

# Each row has been updated some ten times by now.
is($node->safe_psql('fleet', 'SELECT count(*), count(DISTINCT machine_id), max(machine_id) FROM cosid_machine'),
	'1024|1024|1023', 'a row for each machine id, and no more');

$node->stop;
done_testing();
