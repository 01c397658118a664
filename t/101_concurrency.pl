# Many clients mint from one generator at once, as fast as it can.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = cosid_server('concurrency');

foreach my $load ([ 8, 50_000 ], [ 64, 5_000 ])
{
	my ($nclients, $count) = @$load;
	my @lists = mint_concurrently($node, 'shop', 'order', $nclients, $count);
	my %in_ms;
	my $mixed = 0;
	my @runs;

	check_ids("$nclients clients", @lists);
	is(scalar(grep { @$_ == $count } @lists),
		$nclients, "$nclients clients: each gets as many IDs as it asked for");
	foreach my $list (@lists)
	{
		$in_ms{ $_ >> 22 }++ foreach @$list;
	}
	note 'most IDs in a millisecond: ', max(values %in_ms);
	cmp_ok(max(values %in_ms), '<=', 4096,
		"$nclients clients: no more than 4096 IDs in a millisecond");

	# That they really were at it at the same time: ranges overlap.
	@runs = sort { $a->[0] <=> $b->[0] } map { [ $_->[0], $_->[-1] ] } @lists;
	cmp_ok(scalar(grep { $runs[$_][0] < $runs[ $_ - 1 ][1] } 1 .. $#runs),
		'>', 0, "$nclients clients: they mint at the same time");
}

# How fast a busy machine is nobody knows: a generator of 16 IDs a millisecond
# is saturated on any.
$node->safe_psql('shop', "SELECT cosid_create('narrow', sequence_bit => 4)");
foreach my $load ([ 8, 5_000 ], [ 64, 500 ])
{
	my ($nclients, $count) = @$load;
	my @lists = mint_concurrently($node, 'shop', 'narrow', $nclients, $count);
	my $waits =
	  $node->safe_psql('shop',
		"SELECT tick_waits FROM cosid_stat WHERE name = 'narrow'");
	my %in_tick;

	check_ids("$nclients clients, saturated", @lists);
	$in_tick{ $_ >> 14 }++ foreach map { @$_ } @lists;
	is(max(values %in_tick), 16,
		"$nclients clients, saturated: all IDs of a millisecond are given out");
	cmp_ok($waits, '>', 0, "$nclients clients, saturated: they wait for ticks");
}

# A busy generator's milliseconds are dealt out by the share, to whoever waits.
# Sessions that want a single ID need not wait for that in a second that has IDs
# left, be it that the one before was used up.
$node->safe_psql('shop', <<'SQL');
SELECT cosid_create('seconds', timestamp_unit => 'second', sequence_bit => 8);
SELECT count(*) FROM cosid_next('seconds', 300);
SQL
my $tick_waits =
  "SELECT tick_waits FROM cosid_stat WHERE name = 'seconds'";
my $before = $node->safe_psql('shop', $tick_waits);
cmp_ok($before, '>', 0, 'a second is used up');
mint($node, 'shop', 'seconds', 1) foreach 1 .. 30;
is($node->safe_psql('shop', $tick_waits),
	$before, 'short sessions do not wait for a share of a second');

$node->stop;
done_testing();
