# Processes that die or stand still: what a server gives out stays within its
# grant, and whoever takes its machine id starts above that.
#
# kill -9 of the worker and of a backend that mints is in 206_kill.pl, a worker
# that stands still while nobody takes its machine id in 102_waiting.pl.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFaults;
use CosidTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

# Short ones, so that a pause is longer than both.
my $lead_ms = 1000;
my $safe_guard_ms = 2000;

my $node = cosid_server(
	'processes',
	conf => <<CONF);
cosid.watermark_lead = ${lead_ms}ms
cosid.guard_interval = 100ms
cosid.safe_guard_duration = ${safe_guard_ms}ms
cosid.wait_timeout = 60s
CONF

# COPY that never sleeps in between, so that its backend does not notice soon
# that the postmaster is gone.
sub mint_busily
{
	my ($generator) = @_;

	return "COPY (SELECT cosid_next('$generator')"
	  . " FROM (SELECT generate_series(1, 1000000000) AS g) AS s"
	  . " WHERE md5(repeat('x', 100000)) IS NOT NULL) TO STDOUT;\n";
}

#
# kill -9 of the postmaster
#
foreach my $round (1 .. 3)
{
	my $what = "kill -9 of the postmaster, round $round";
	my @clients = (
		start_client($node, 'shop', mint_busily('order')),
		map { start_client($node, 'shop', mint_in_bursts('order', 50)) } 1 .. 2);
	my @lists;
	my $refused = 0;

	wait_for_ids(@clients);
	wait_for_more_ids(@clients);
	$node->kill9;

	# PostgreSQL starts as soon as all processes of the dead server are gone.
	ok( wait_until(
			sub {
				return 1 if $node->start(fail_ok => 1);
				$node->{_pid} = undef;    # the dead one's
				$refused++;
				usleep(100_000);
				return 0;
			}),
		"$what: the server can be started");
	note "$what: start was refused $refused times";
	finish_client($_) foreach @clients;
	@lists = read_ids(@clients);
	my (undef, $largest) = check_ids($what, @lists);

	my @after = mint($node, 'shop', 'order', 1000);
	cmp_ok($after[0], '>', $largest, "$what: the next IDs are greater");
	my $machine_id = id_machine($largest);
	is(count_later($machine_id, watermark_left($node, $machine_id), @lists),
		0, "$what: none of its IDs, nor of its orphans', is later than the watermark it left");
}

# While the worker or more stands still, another server takes the machine id.
# $stop gives those other processes that stand still, and the worker.
sub check_takeover
{
	my ($what, $stop) = @_;
	my @clients = map { start_client($node, 'shop', mint_in_bursts('order', 50)) } 1 .. 3;
	my $offset;

	wait_for_ids(@clients);
	$offset = -s $node->logfile;
	my ($first, $worker) = $stop->(@clients);
	my $held = machine_row($node);
	my $machine_id = $held->{machine_id};

	wait_until_ms($held->{last_timestamp} + $safe_guard_ms);
	is_deeply(machine_row($node, $machine_id),
		$held, "$what: its row stays as it is");
	my $taken = claim_elsewhere($node, $safe_guard_ms, $machine_id);
	is("$taken->{status} $taken->{machine_id}",
		"claimed $machine_id", "$what: another server takes its machine id");
	cmp_ok($taken->{floor}, '>=', $held->{last_timestamp},
		"$what: and starts above its watermark");

	# Backends go on before the worker does, and are none the wiser.
	continue_process($_) foreach @$first;
	client_pid($_, "wait_event_type = 'Extension'") foreach @clients;
	is(count_later($machine_id, $taken->{floor}, read_ids(@clients)),
		0, "$what: what backends give out is within their grant");

	continue_process($worker);
	$node->wait_for_log(qr/lost machine id $machine_id /, $offset);
	$node->wait_for_log(qr/claimed machine id/, $offset);
	wait_for_more_ids(@clients);
	my @lists = end_clients($what, @clients);

	check_ids($what, @lists);
	is(count_later($machine_id, $taken->{floor}, @lists),
		0, "$what: no ID that the other server may give out");
	isnt(id_machine(max(map { $_->[-1] } @lists)),
		$machine_id, "$what: goes on with another machine id");
	isnt(guard_elsewhere($node, $taken),
		'', "$what: the other server keeps the machine id");
	is(log_count($node, 'lost machine id', $offset),
		1, "$what: one line in the log");
	return;
}

check_takeover(
	'worker stopped',
	sub {
		my $worker = stop_idle_worker($node);

		is(claim_elsewhere($node, $safe_guard_ms, machine_row($node)->{machine_id})->{status},
			'held', "worker stopped: nobody takes its machine id before it has expired");
		return [], $worker;
	});

check_takeover(
	'server stopped',
	sub {
		my @clients = @_;
		my %backends = map { client_pid($_, 'true') => 1 } @clients;
		my $worker = stop_idle_worker($node);
		my @all = stop_server($node);

		wait_until_ms(now_ms() + $lead_ms + $safe_guard_ms);

		# What plays the other server needs a server that answers.
		continue_process($_) foreach grep { $_ != $worker && !$backends{$_} } @all;
		return [ keys %backends ], $worker;
	});

#
# The whole server stands still for longer than the lead, and nobody takes its
# machine id.
#
{
	my $what = 'server stopped for longer than the lead';
	my @clients = map { start_client($node, 'shop', mint_in_bursts('order', 50)) } 1 .. 3;

	wait_for_ids(@clients);
	my $offset = -s $node->logfile;
	my @all = stop_server($node);
	my $stopped_ms = now_ms();
	wait_until_ms($stopped_ms + 2 * $lead_ms);
	my $continued_ms = now_ms();
	my $machine_id = id_machine((read_ids($clients[0]))[0][0]);
	continue_process($_) foreach reverse @all;
	wait_for_more_ids(@clients);
	my @lists = end_clients($what, @clients);
	check_ids($what, @lists);
	is( scalar(
			grep { id_ms($_) > $stopped_ms && id_ms($_) < $continued_ms }
			map { @$_ } @lists),
		0,
		"$what: no ID of the time between");
	is(scalar(grep { id_machine($_) != $machine_id } map { @$_ } @lists),
		0, "$what: goes on with its machine id, which nobody took");
	is(log_count($node, 'claimed machine id', $offset),
		0, "$what: and with its grant");
}

#
# One backend stands still in the midst of a statement.  Meanwhile the worker
# gives the machine id back, with the watermark that the cursors show, and
# another server takes it, with nothing but a millisecond between.
#
$node->safe_psql(
	'postgres', q{
	CREATE PROCEDURE take_when_given_back(wanted integer, INOUT floor bigint)
	LANGUAGE plpgsql AS $$
	DECLARE
		now_ms bigint;
	BEGIN
		LOOP
			now_ms := extract(epoch FROM clock_timestamp()) * 1000;
			SELECT c.floor INTO floor
			FROM cosid_machine_claim('cosid', 10, 'taker', 'taker:5432', false,
				wanted, -1, false, now_ms, 1000, 3600000, 0) c;
			COMMIT;
			EXIT WHEN floor IS NOT NULL;
			PERFORM pg_sleep(0.001);
		END LOOP;
	END $$;
});
$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 10s');
$node->reload;

foreach my $round (1 .. 4)
{
	my $what = "backend stopped while it mints, round $round";
	my $client = start_client($node, 'shop', mint_in_bursts('order', 1000));

	wait_for_ids($client);
	my $held = machine_row($node, lease($node)->{machine_id});
	my $machine_id = $held->{machine_id};
	my $taker = start_client($node, 'postgres', "CALL take_when_given_back($machine_id, NULL);\n");
	my $taker_pid = client_pid($taker, 'true');
	my $backend = client_pid($client, 'true');
	stop_process($backend);

	# Again, should the worker's next start have been faster than the taker.
	my $terminated = 0;
	wait_until(
		sub {
			my $worker = worker_pid($node);
			$terminated = $worker if $worker != $terminated
			  && $node->safe_psql('postgres',
				"SELECT pg_terminate_backend($worker)") eq 't';
			return $node->safe_psql('postgres',
				"SELECT count(*) FROM pg_stat_activity WHERE pid = $taker_pid") eq '0';
		}) or die 'the machine id was not taken';
	is(finish_client($taker)->{stderr},
		'', "$what: another server takes the machine id that was given back");
	my ($floor) = @{ (read_ids($taker))[0] };
	ok(wait_until(sub { lease($node)->{state} eq 'held' }),
		"$what: this server claims another one");
	isnt(lease($node)->{machine_id}, $machine_id, "$what: a different one");

	continue_process($backend);
	wait_for_more_ids($client);
	my @lists = end_clients($what, $client);
	check_ids($what, @lists);
	is(count_later($machine_id, $floor, @lists),
		0, "$what: no ID that the other server may give out");
}

$node->stop;
done_testing();
