# The wall clock is set while clients mint, and while the server is down.  A
# little back is waited out, more is ID001 until the clock has caught up, and
# forward goes on at once; no ID comes twice, and each backend's IDs increase
# over all of it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidClock;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

use constant HOUR_MS => 60 * 60 * 1000;

# "At once", on a machine that is busy.
my $at_once_s = 15;

#
# The clock that the server goes by is the one we set, in each process.
#
my $clock = CosidClock->new;
$clock->step(24 * HOUR_MS);
my $node = $clock->run(
	sub {
		cosid_server(
			'clock',
			conf => <<'CONF');
cosid.wait_timeout = 60s
cosid.guard_interval = 1s
CONF
	});

sub is_now
{
	my ($what, $sql) = @_;
	my $ms = $node->safe_psql('shop', "SELECT (extract(epoch FROM $sql) * 1000)::bigint");

	cmp_ok(abs($ms - $clock->now_ms), '<', HOUR_MS / 2, "the server's clock is set: $what");
	return;
}

is_now('the postmaster', 'pg_postmaster_start_time()');
is_now('a backend', 'clock_timestamp()');
is_now('an ID', q{(SELECT "timestamp" FROM cosid_parse(cosid_next('order')))});
is_now('the worker', '(SELECT claimed_at FROM cosid_lease)');

# PostgreSQL 15 forks this one inside of a signal handler.
my $worker = worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
worker_pid($node, $worker);
mint($node, 'shop', 'order', 1);
is_now('another worker', '(SELECT claimed_at FROM cosid_lease)');

#
# Steps, while 4 clients mint without pause
#
my @minters = map { start_minter($node, 'shop', 'order') } 1 .. 4;
my $refused = 0;

# Whether each of them gets IDs that are later than a time.
sub all_mint_after
{
	my ($ms) = @_;
	return wait_for_latest(sub { $_[0] =~ /^\d+$/ && id_ms($_[0]) > $ms }, @minters);
}

# Whether each of them is refused IDs.
sub all_are_refused
{
	return wait_for_latest(sub { $_[0] eq 'error ID001' }, @minters);
}

# How many IDs were refused since the last call.
sub newly_refused
{
	my $before = $refused;

	$refused = refused(@minters);
	return $refused - $before;
}

ok(all_mint_after(0), 'before any step: all mint');

# So small a step may hit a moment in which nobody mints.
foreach my $ms (1, 5)
{
	my $waits = clock_waits($node);
	my $steps = 0;

	do
	{
		my $before = $clock->now_ms;

		$clock->step(-$ms);
		all_mint_after($before) or die "minting does not go on";
	} while (++$steps < 100 && clock_waits($node) == $waits);
	cmp_ok(clock_waits($node), '>', $waits, "-$ms ms: waits");
	is(newly_refused(), 0, "-$ms ms: no error");
}

my $before = $clock->now_ms;
my $waits = clock_waits($node);
$clock->step(-200);
ok(all_mint_after($before), '-200 ms: goes on');
cmp_ok(clock_waits($node), '>', $waits, '-200 ms: waits');
is(newly_refused(), 0, '-200 ms: no error');

$before = $clock->now_ms;
$clock->step(-10_000);
ok(all_are_refused(), '-10 s: ID001');
ok(all_mint_after($before), '-10 s: goes on when the clock has caught up');
cmp_ok($clock->now_ms, '>=', $before, '-10 s: not before');
newly_refused();

$before = $clock->now_ms;
$clock->step(-HOUR_MS);
ok(all_are_refused(), '-1 h: ID001');
my $watermark = machine_row($node)->{last_timestamp};
my $guarded_sql = 'SELECT guarded_at FROM cosid_lease';
my $guarded_at = $node->safe_psql('shop', $guarded_sql);
ok(wait_until(sub { $node->safe_psql('shop', $guarded_sql) ne $guarded_at }),
	'-1 h: the worker goes on extending');
cmp_ok(machine_row($node)->{last_timestamp}, '>=', $watermark,
	'-1 h: which does not lower the watermark');
my $error = sql_error($node, 'shop', "SELECT cosid_next('order')");
is($error->{sqlstate}, 'ID001', '-1 h: ID001 for others, too');
like($error->{message}, qr/^clock moved backwards: it is 3[56]\d{5} ms behind the last ID of generator "order"$/,
	'-1 h: the message says how far');
like($error->{detail}, qr/^The last ID is of .*, the clock reads /, '-1 h: DETAIL has both times');
like($error->{hint}, qr/when the clock has caught up/, '-1 h: HINT says what will help');

# Another generator has no last ID, but shares the machine id.
$error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '100ms'; SELECT cosid_next('fresh')");
is($error->{sqlstate}, 'ID002', '-1 h: another generator gets no ID below the floor');
like($error->{detail}, qr/in use until .* the clock has not passed that yet/,
	'-1 h: DETAIL says why');
$clock->step(HOUR_MS);
ok(all_mint_after($before), '-1 h: goes on when the clock has caught up');
like($node->safe_psql('shop', "SELECT cosid_next('fresh')"),
	qr/^\d+$/, '-1 h: so does the other generator');
newly_refused();

$before = $clock->now_ms;
my $start = time;
$clock->step(HOUR_MS);
ok(all_mint_after($before + HOUR_MS), '+1 h: goes on');
cmp_ok(time - $start, '<', $at_once_s, '+1 h: at once');
is(newly_refused(), 0, '+1 h: no error');

$before = $clock->now_ms;
$clock->step(-HOUR_MS);
ok(all_are_refused(), '+1 h and back: ID001');
$clock->step(HOUR_MS);
ok(all_mint_after($before), '+1 h and back: goes on when the clock has caught up');
newly_refused();

# A clock that jumps ahead of the watermark gets nobody past it.
$worker = stop_worker($node);
$watermark = machine_row($node)->{last_timestamp};
$before = $clock->now_ms;
$clock->step(HOUR_MS);
$error = sql_error($node, 'shop',
	"SET cosid.wait_timeout = '500ms'; SELECT cosid_next('order')");
is($error->{sqlstate}, 'ID002', '+1 h, worker stopped: ID002');
like($error->{detail}, qr/^The grant ended at /, '+1 h, worker stopped: DETAIL says why');
is(scalar(grep { id_ms(latest($_)) > $watermark } @minters),
	0, '+1 h, worker stopped: no ID is later than the watermark');
continue_worker($worker);
ok(all_mint_after($before + HOUR_MS), '+1 h, worker continued: goes on');
is(newly_refused(), 0, '+1 h, worker continued: no error for those who waited');

# NTP slews by 500 ppm; the last two are half and twice the speed.
foreach my $ppm (-2000, 2000, -500_000, 1_000_000)
{
	$before = $clock->now_ms;
	$clock->drift($ppm);
	ok(all_mint_after($before + 2000), "a drift of $ppm ppm: goes on");
	$clock->drift(0);
	ok(all_mint_after($clock->now_ms), "a drift of $ppm ppm that ends: goes on");
	is(newly_refused(), 0, "a drift of $ppm ppm: no error");
}

# As many little steps as a clock that can't be kept in time might make.
foreach (1 .. 20)
{
	$before = $clock->now_ms;
	$clock->step(-20);
	all_mint_after($before) or die "minting does not go on";
}
is(newly_refused(), 0, 'one step of -20 ms after the other: no error');

stop_minters(@minters);
is(scalar(grep { $_ ne 'ID001' } refused(@minters)), 0, 'all steps: no other error than ID001');
is(refusals(@minters), 3 * @minters,
	'all steps: refused three times, and never again once the clock had caught up');
my @lists = minted(@minters);
my (undef, $last) = check_ids('all steps', @lists);

#
# The clock is set back while the server is down: the machine id's watermark is
# an hour ahead, so another one is used.
#
my %used;
foreach my $mode ('fast', 'immediate')
{
	my $what = "-1 h while the server is down, -m $mode";
	my ($first, $seconds);

	@minters = map { start_minter($node, 'shop', 'order') } 1 .. 2;
	ok(all_mint_after(0), "$what: all mint");
	$node->stop($mode);
	await_minters(@minters);
	push @lists, minted(@minters);
	$used{ id_machine(latest($_)) } = 1 foreach @minters;

	$clock->step(-HOUR_MS);
	$clock->run(sub { $node->start });
	$start = time;
	($first) = mint($node, 'shop', 'order', 1);
	cmp_ok(time - $start, '<', $at_once_s, "$what: the first ID comes at once");
	cmp_ok(abs(id_ms($first) - $clock->now_ms), '<', HOUR_MS / 2,
		"$what: it is of the clock's time");
	ok(!$used{ id_machine($first) }, "$what: it is from another machine id");
	push @lists, [ $first, mint($node, 'shop', 'order', 1000) ];
}

# All of that time is gone through again.
foreach my $mode ('fast', 'immediate')
{
	$node->stop($mode);
	$clock->step(HOUR_MS);
	$clock->run(sub { $node->start });
	push @lists, [ mint($node, 'shop', 'order', 1000) ];
}
check_ids('everything', @lists);

$node->stop;
done_testing();
