# A process is killed: PostgreSQL restarts, shared memory is new, and no ID is
# given out twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server(
	'kill',
	conf => <<'CONF');
restart_after_crash = on
cosid.wait_timeout = 60s
CONF

my $largest = 0;
my @lists;

# With the long lead the crashed server takes another machine id, with the short
# one mostly the same.
foreach my $lead ('10s', '100ms')
{
	$node->append_conf('postgresql.conf', "cosid.watermark_lead = $lead");
	$node->reload;
	foreach my $victim ('worker', 'backend')
	{
		my @clients =
		  map { start_client($node, 'shop', mint_in_bursts('order', 50)) } 1 .. 4;
		my $offset = -s $node->logfile;
		my $what = "kill -9 of the $victim, lead $lead";
		my $pid;

		wait_for_ids(@clients);
		$pid = $victim eq 'worker' ? worker_pid($node) : client_pid($clients[0], 'true');
		is(kill('KILL', $pid), 1, $what);
		finish_client($_) foreach @clients;
		$node->wait_for_log(qr/terminated by signal 9/, $offset);
		ok( $node->poll_query_until('postgres', 'SELECT true'),
			"$what: the server comes back");

		# A fresh server's IDs, before anything else is known to have passed.
		my @after = mint($node, 'shop', 'order', 1000);
		my @got = read_ids(@clients);
		my ($smallest, $largest_before) = check_ids($what, @got);

		cmp_ok($smallest, '>', $largest, "$what: IDs increase, since the last one");
		cmp_ok($after[0], '>', $largest_before,
			"$what: and those after the crash are later");
		check_ids("$what: before and after", \@after, @got);
		$largest = $after[-1];
	}
}

$node->stop;
done_testing();
