# A synchronous standby that is away: commits wait for it, the server must not.
#
# The worker commits with the server's own synchronous_commit.  That wait is
# bounded; meanwhile the server can drop databases and shut down.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = cosid_server(
	'away',
	streaming => 1,
	conf => "cosid.watermark_lead = 300ms\ncosid.wait_timeout = 60s");
$node->safe_psql('postgres', 'CREATE DATABASE spare');
mint($node, 'shop', 'order', 10);

$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'");
$node->reload;

# The clients' own commits must not wait: they only read.
my @before = mint($node, 'shop', 'order', 10);
ok( $node->poll_query_until(
		'postgres', q{SELECT wait_event = 'SyncRep' FROM pg_stat_activity
			WHERE backend_type = 'cosid worker'}),
	'the worker waits for the standby')
  or BAIL_OUT('the worker never waited');

my $start = time;
$node->safe_psql('postgres',
	'SET synchronous_commit = local; DROP DATABASE spare');
cmp_ok(time - $start, '<', 30, 'a database can be dropped meanwhile');

# The wait ends, the watermark is durable here, and minting goes on.
my @after = mint($node, 'shop', 'order', 10);
cmp_ok($after[0], '>', $before[-1], 'minting goes on');

my $client = start_client($node, 'shop', mint_slowly('order'));
ok( $node->poll_query_until(
		'postgres', q{SELECT wait_event = 'SyncRep' FROM pg_stat_activity
			WHERE backend_type = 'cosid worker'}),
	'the worker waits for the standby again');
$start = time;
$node->stop('fast');
cmp_ok(time - $start, '<', 30, 'the server can be shut down meanwhile');
finish_client($client);

done_testing();
