# A clock that ran ahead to the year 2040 and was set back: with
# cosid.clock_backwards_action = reclaim, minting goes on from another machine id.
# The one that was given up keeps a watermark that covers what it was used for,
# and is left alone until the clock has passed that, also over restarts.  Each
# jump replays the same seconds of 2040, and no ID comes twice.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidClock;
use CosidTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use constant {
	IN_2040_MS => 2208988800000,
	STAY_MS => 300,
	HOUR_MS => 60 * 60 * 1000
};

# "Within a second", on a machine that is busy.
my $at_once_s = 15;

my $clock = CosidClock->new;
my $node = $clock->run(
	sub {
		cosid_server(
			'reclaim',
			conf => <<'CONF');
cosid.clock_backwards_action = reclaim
cosid.wait_timeout = 60s
CONF
	});
my $giving_up = qr/giving up machine id/;

# A generator of seconds: 31 bits of timestamp, 10 of machine id, 22 of sequence.
sub second_ms
{
	my ($id) = @_;
	return (($id >> 32) + 1577203200) * 1000;
}

sub second_machine
{
	my ($id) = @_;
	return ($id >> 22) & 1023;
}

# 4 clients of one generator and 1 of another
my (@minters, $second_minter);

sub start_minters
{
	@minters = map { start_minter($node, 'shop', 'order') } 1 .. 4;
	$second_minter = start_minter($node, 'shop', 'second');
	return;
}

# Whether all of them mint in 2040, for a while.
sub all_mint_ahead
{
	return wait_for_latest(
		sub { $_[0] =~ /^\d+$/ && id_ms($_[0]) >= IN_2040_MS + STAY_MS },
		@minters)
	  && wait_for_latest(
		sub { $_[0] =~ /^\d+$/ && second_ms($_[0]) >= IN_2040_MS },
		$second_minter);
}

# Whether all of them mint in the present.
sub all_mint
{
	return wait_for_latest(
		sub { $_[0] =~ /^\d+$/ && id_ms($_[0]) < IN_2040_MS }, @minters)
	  && wait_for_latest(
		sub { $_[0] =~ /^\d+$/ && second_ms($_[0]) < IN_2040_MS },
		$second_minter);
}

# What they got, of all rounds.
my (@lists, @second_lists);

sub keep_minted
{
	push @lists, minted(@minters);
	push @second_lists, minted($second_minter);
	return;
}

# The clock jumps to 2040 and back while they mint.  Gives the machine id that
# was used there, its row, and what the clock read when it was set back.
sub jump
{
	my ($what) = @_;
	my $machine_id;

	$clock->set_to(IN_2040_MS);
	ok(all_mint_ahead(), "$what: in 2040 minting goes on");
	$machine_id = id_machine(latest($minters[0]));
	$clock->set_right;
	return $machine_id;
}

# The row of a machine id that was given up.
sub check_given_up
{
	my ($what, $machine_id) = @_;
	my $row = machine_row($node, $machine_id);
	my $largest = max(
		(map { id_ms($_) } grep { id_machine($_) == $machine_id } map { @$_ } minted(@minters)),
		(map { second_ms($_) } grep { second_machine($_) == $machine_id } map { @$_ } minted($second_minter)));

	is($row->{instance_id}, '', "$what: the machine id is given back");
	cmp_ok($row->{last_timestamp}, '>=', $largest, "$what: its watermark covers all that it was used for");
	cmp_ok($row->{last_timestamp}, '<', $largest + 5000, "$what: and no more than what was minted");
	return $row;
}

#
# Two jumps while clients mint
#
$node->safe_psql('shop', "SELECT cosid_create('second', timestamp_unit => 'second')");
my ($quiet) = mint($node, 'shop', 'quiet', 1);
start_minters();
ok(all_mint(), 'before the jump: all mint');

my %given_up;
foreach my $what ('a jump', 'another jump')
{
	my $machine_id = jump($what);
	my $start = time;

	ok(all_mint(), "$what: minting goes on when the clock is set back");
	cmp_ok(time - $start, '<', $at_once_s, "$what: at once");
	note "$what: ", time - $start, ' s';
	ok(!$given_up{$machine_id}, "$what: in 2040 the machine id is the one before it");
	$given_up{$machine_id} = check_given_up($what, $machine_id);
	ok(!$given_up{ id_machine(latest($minters[0])) }, "$what: the machine id after it is another one");
	cmp_ok((mint($node, 'shop', 'quiet', 1))[0] >> 22, '>=', $quiet >> 22,
		"$what: a generator that was not used in 2040 goes on");
}
is(log_count($node, $giving_up), 2, 'two jumps: no more machine ids than two are given up');
is(scalar(refused(@minters, $second_minter)), 0, 'two jumps: no error');

#
# Restarts: those that were given up are left alone.
#
foreach my $mode ('fast', 'immediate')
{
	my $what = "stop -m $mode and start";
	my $start;

	$node->stop($mode);
	await_minters(@minters, $second_minter);
	keep_minted();
	$clock->run(sub { $node->start });
	$start = time;
	start_minters();
	ok(all_mint(), "$what: minting goes on");
	cmp_ok(time - $start, '<', $at_once_s, "$what: at once");
	ok(!$given_up{ id_machine(latest($minters[0])) },
		"$what: not from a machine id that was given up");
	is_deeply(machine_row($node, $_), $given_up{$_}, "$what: the row of one that was given up stays as it is")
	  foreach sort keys %given_up;

	my $machine_id = jump($what);
	ok(!$given_up{$machine_id}, "$what, and a jump: nor in 2040");
	ok(all_mint(), "$what, and a jump: minting goes on when the clock is set back");
	$given_up{$machine_id} = check_given_up("$what, and a jump", $machine_id);
}

#
# A worker that does not answer
#
$clock->set_to(IN_2040_MS);
ok(all_mint_ahead(), 'worker stopped: in 2040 minting goes on');
my $worker = stop_worker($node);
$clock->set_right;
my $error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '500ms'; SELECT cosid_next('order')");
is($error->{sqlstate}, 'ID001', 'worker stopped: ID001 in the end');
cmp_ok($error->{seconds}, '>=', 0.5, 'worker stopped: after cosid.wait_timeout');
continue_worker($worker);
ok(all_mint(), 'worker continued: minting goes on');
is(scalar(refused(@minters, $second_minter)), 0, 'worker continued: no error for those who waited');

#
# cosid.clock_backwards_action = error
#
$node->append_conf('postgresql.conf', 'cosid.clock_backwards_action = error');
$node->reload;
my $offset = -s $node->logfile;
wait_until(
	sub {
		$node->safe_psql('shop', 'SHOW cosid.clock_backwards_action') eq 'error';
	});
wait_for_more_ids(@minters, $second_minter);
my $held = id_machine(latest($minters[0]));
jump('error');
ok( wait_for_latest(sub { $_[0] eq 'error ID001' }, @minters, $second_minter),
	'error: ID001 when the clock is set back');
is(machine_row($node)->{machine_id}, $held, 'error: the machine id is kept');
is(log_count($node, $giving_up, $offset), 0, 'error: none is given up');
$node->append_conf('postgresql.conf', 'cosid.clock_backwards_action = reclaim');
$node->reload;
ok(all_mint(), 'reclaim after a reload: minting goes on');
isnt(id_machine(latest($minters[0])), $held, 'reclaim after a reload: from another machine id');
is(log_count($node, $giving_up, $offset), 1, 'reclaim after a reload: one is given up');
$given_up{$held} = 1;

stop_minters(@minters, $second_minter);
is(scalar(grep { $_ ne 'ID001' } refused(@minters, $second_minter)), 0, 'no other error than ID001');
keep_minted();

#
# A generator that does not wait for the clock: it is refused an ID, but not
# until 2040.
#
$node->safe_psql('shop',
	"SELECT cosid_create('strict', namespace => 'strict', clock_sync => false)");
$clock->set_to(IN_2040_MS);
mint($node, 'shop', 'strict', 1);
$clock->set_right;
ok( wait_until(
		sub { $node->psql('shop', "SELECT cosid_next('strict')") == 0 }),
	'clock_sync => false: minting goes on');

#
# A namespace of two machine ids: after two jumps there is none left, and only
# waiting helps.
#
$node->safe_psql('shop', "SELECT cosid_create('pair', machine_bit => 1)");
my @pairs = [ mint($node, 'shop', 'pair', 100) ];
foreach (1, 2)
{
	$clock->set_to(IN_2040_MS);
	push @pairs, [ mint($node, 'shop', 'pair', 20_000) ];
	$clock->set_right;
	$error = sql_error($node, 'shop',
		"SET cosid.wait_timeout = '2s'; SELECT cosid_next('pair')");
	push @pairs, [ $error->{output} ] if $error->{sqlstate} eq '';
}
like($error->{sqlstate}, qr/^ID00[123]$/, 'all machine ids given up: an error');
$offset = -s $node->logfile;
$error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '100ms'; SELECT cosid_next('pair')") foreach 1 .. 10;
like($error->{sqlstate}, qr/^ID00[123]$/, 'all machine ids given up: an error, again');
cmp_ok(log_count($node, $giving_up, $offset), '<=', 1,
	'all machine ids given up: they are not exchanged for each other all the time');

#
# The same seconds of 2040 once more, after restarts: those that have others use
# another machine id, the two wait until the clock has passed their watermark.
#
$node->stop;
$node->append_conf('postgresql.conf', 'cosid.clock_backwards_action = error');
$clock->set_to(IN_2040_MS);
$clock->run(sub { $node->start });
push @lists, [ mint($node, 'shop', 'order', 10_000) ];
push @second_lists, [ mint($node, 'shop', 'second', 1000) ];
$node->stop;
$clock->set_to(IN_2040_MS - HOUR_MS);
$clock->run(sub { $node->start });
$error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '100ms'; SELECT cosid_next('pair')");
is($error->{sqlstate}, 'ID002', 'an hour before 2040: no ID below the floor');
$clock->set_to(IN_2040_MS);
push @pairs, [ mint($node, 'shop', 'pair', 20_000) ];

#
# When the clock is past all of it, any of them may be used again.
#
$node->stop;
$clock->set_to(IN_2040_MS + HOUR_MS);
$clock->run(sub { $node->start });
push @lists, [ mint($node, 'shop', 'order', 1000) ];
ok($given_up{ id_machine($lists[-1][0]) }, '2040 has come: the machine ids are used again');
push @second_lists, [ mint($node, 'shop', 'second', 1000) ];
push @pairs, [ mint($node, 'shop', 'pair', 100) ];
$node->stop;

# Between any two set-backs each client's IDs increase; a set-back takes another
# machine id.
sub runs
{
	my ($id_machine, @lists) = @_;
	my @runs;

	foreach my $list (@lists)
	{
		my $last;

		foreach my $id (@$list)
		{
			push @runs, []
			  if !defined $last || $id_machine->($id) != $id_machine->($last);
			push @{ $runs[-1] }, $last = $id;
		}
	}
	return @runs;
}

check_ids('all milliseconds', runs(\&id_machine, @lists));
check_ids('all seconds', runs(\&second_machine, @second_lists));
check_ids('two machine ids', @pairs);

#
# A stable instance: it goes on from another row, and comes back to the one that
# can be used.
#
$clock->set_right;
$node = $clock->run(
	sub {
		cosid_server(
			'stable',
			conf => <<'CONF');
cosid.clock_backwards_action = reclaim
cosid.stable = on
cosid.watermark_lead = 1s
cosid.wait_timeout = 20s
CONF
	});
my @ids = mint($node, 'shop', 'order', 1000);
%given_up = ();
foreach my $what ('stable, a jump', 'stable, another jump')
{
	$clock->set_to(IN_2040_MS);
	push @ids, mint($node, 'shop', 'order', 1000);
	$given_up{ id_machine($ids[-1]) } = 1;
	$clock->set_right;
	my ($ret, $output) = $node->psql('shop', "SELECT cosid_next('order')");
	is($ret, 0, "$what: minting goes on");
	ok($ret == 0 && !$given_up{ id_machine($output) }, "$what: from another machine id");
	push @ids, $output if $ret == 0;
}
foreach my $mode ('fast', 'immediate')
{
	my $machine_id = id_machine($ids[-1]);

	$node->stop($mode);
	$clock->run(sub { $node->start });
	my ($ret, $output) = $node->psql('shop', "SELECT cosid_next('order')");
	ok($ret == 0 && id_machine($output) == $machine_id,
		"stable, stop -m $mode and start: from the row whose watermark has passed");
	push @ids, $output if $ret == 0;
}
check_ids('stable', runs(\&id_machine, \@ids));
$node->stop;

#
# A claim that was made while the clock was wrong
#
$clock->set_to(IN_2040_MS);
$node = $clock->run(sub { cosid_server('ahead') });
my ($ahead) = mint($node, 'shop', 'order', 1);
$clock->set_right;
$error = sql_error($node, 'shop', "SELECT cosid_next('order')");
is($error->{sqlstate}, 'ID001', 'claimed in 2040: ID001');
$error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '100ms'; SELECT cosid_next('fresh')");
is($error->{sqlstate}, 'ID002', 'claimed in 2040: ID002 for another generator');
like($error->{detail}, qr/in use until 20(39-12-31|40-01-01) .* the clock has not passed that/,
	'claimed in 2040: DETAIL says until when');

my $client = start_client($node, 'shop',
	"SET cosid.wait_timeout = '1h'; SELECT cosid_next('fresh');");
client_pid($client, "wait_event_type = 'Extension'");
$node->append_conf('postgresql.conf', 'cosid.clock_backwards_action = reclaim');
$node->reload;
is(finish_client($client)->{sqlstate}, '', 'claimed in 2040, reclaim: minting goes on for one who waits');
my ($fresh) = map { @$_ } read_ids($client);
my ($id) = mint($node, 'shop', 'order', 1);
isnt(id_machine($id), id_machine($ahead), 'claimed in 2040, reclaim: from another machine id');
is(id_machine($fresh), id_machine($id), 'claimed in 2040, reclaim: the same for all');
cmp_ok(id_ms($id), '<', IN_2040_MS, 'claimed in 2040, reclaim: of the clock\'s time');
$node->stop;

done_testing();
