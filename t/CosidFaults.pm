# What the fault tests share: processes that are stopped, clients that are ended
# from outside, and another server that claims machine ids in a server's
# registry.  It is played through SQL, since each server's registry is its own.

package CosidFaults;

use strict;
use warnings;

use CosidTest;
use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  stop_process
  continue_process
  stop_server
  stop_idle_worker
  end_clients
  lease
  claim_elsewhere
  guard_elsewhere
  count_later
  watermark_left
  wait_until_ms
);

my %stopped;

# SIGSTOP, and wait until it has stopped.  One that has ended will do, too.
sub stop_process
{
	my ($pid) = @_;

	kill('STOP', $pid) == 1 or die "could not stop process $pid";
	$stopped{$pid} = 1;
	# The name, in parentheses, may have spaces in it.
	wait_until(sub { slurp_file("/proc/$pid/stat") =~ /\) [TZ] [^)]*$/ })
	  or die "process $pid does not stop";
	return;
}

sub continue_process
{
	my ($pid) = @_;

	delete $stopped{$pid};
	kill('CONT', $pid);
	return;
}

# A stopped process would outlive its server for a while.
END
{
	kill('CONT', $_) foreach keys %stopped;
}

# The children of a process.
sub children_of
{
	my ($parent) = @_;
	my @children;

	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open(my $handle, '<', $file) or next;    # it has ended
		my $stat = <$handle> // '';
		my ($pid, $ppid) = $stat =~ /^(\d+) .*\) \S (\d+) [^)]*$/ or next;

		push @children, $pid if $ppid == $parent;
	}
	return @children;
}

# SIGSTOP all processes of a server, the postmaster first: then no child of it is
# new, and none vanishes.  Gives their process ids.
sub stop_server
{
	my ($node) = @_;
	my $postmaster = $node->{_pid};
	my @children;

	stop_process($postmaster);
	@children = children_of($postmaster);
	stop_process($_) foreach @children;
	return ($postmaster, @children);
}

# SIGSTOP the worker between two of its transactions, and just after it has
# extended the grant: it holds no lock, and there is most of the lead left.
sub stop_idle_worker
{
	my ($node) = @_;
	my $pid = worker_pid($node);
	my $idle;

	wait_until(
		sub {
			my $extended = lease($node)->{guarded_at};
			wait_until(sub { lease($node)->{guarded_at} ne $extended })
			  or die 'the worker does not extend the grant';
			stop_process($pid);
			$idle = $node->safe_psql('postgres',
				    'SELECT backend_xid IS NULL AND backend_xmin IS NULL'
				  . " FROM pg_stat_activity WHERE pid = $pid") eq 't';
			continue_process($pid) unless $idle;
			return $idle;
		}) or die 'the worker is never idle';
	return $pid;
}

# End clients that mint without end: each must still be well.  Gives their lists.
sub end_clients
{
	my ($what, @clients) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $ended = 0;

	foreach my $client (@clients)
	{
		$client->{node}->safe_psql('postgres',
			'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
		$ended++ if finish_client($client)->{sqlstate} eq '57P01';
	}
	is($ended, scalar @clients, "$what: clients mint until they are ended");
	return read_ids(@clients);
}

# The server's lease of a namespace, as a hash; floor and watermark in Unix ms.
sub lease
{
	my ($node, $namespace) = @_;
	my @columns = qw(state machine_id floor watermark guarded_at last_error);
	my %lease;

	$namespace //= 'cosid';
	@lease{@columns} = split /\|/, $node->safe_psql(
		'shop', "SELECT state, machine_id,
				(extract(epoch FROM floor) * 1000)::bigint,
				(extract(epoch FROM watermark) * 1000)::bigint, guarded_at, last_error
			FROM cosid_lease WHERE namespace = '$namespace'"), -1;
	return \%lease;
}

# Another server of the same instance id claims a machine id in the registry of
# this one.  Gives status, machine_id, instance_id, token, floor, watermark.
sub claim_elsewhere
{
	my ($node, $safe_guard_ms, $machine_id) = @_;
	my @columns = qw(status machine_id token floor watermark);
	my $now = now_ms();
	my $instance_id = machine_row($node, $machine_id)->{instance_id};
	my %claimed = (instance_id => $instance_id);

	@claimed{@columns} = split /\|/, $node->safe_psql(
		'postgres', 'SELECT ' . join(', ', @columns)
		  . " FROM cosid_machine_claim('cosid', 10, 'taker', '$instance_id', false,"
		  . " $machine_id, -1, false, $now, 1000, $safe_guard_ms, 0)"), -1;
	return \%claimed;
}

# It extends that claim; gives its new watermark, empty if it is lost.
sub guard_elsewhere
{
	my ($node, $claimed) = @_;
	my $now = now_ms();

	$claimed->{watermark} = $node->safe_psql('postgres',
		    "SELECT cosid_machine_guard('cosid', $claimed->{machine_id},"
		  . " '$claimed->{instance_id}', $claimed->{token}, $claimed->{watermark}, 'taker', $now, 1000)");
	return $claimed->{watermark};
}

# How many IDs of a machine id are later than that.
sub count_later
{
	my ($machine_id, $ms, @lists) = @_;

	return scalar
	  grep { id_machine($_) == $machine_id && id_ms($_) > $ms } map { @$_ } @lists;
}

# What stood in the row of a machine id when a server that crashed left it: now
# the floor, should this server have claimed it again.
sub watermark_left
{
	my ($node, $machine_id) = @_;
	my $lease = lease($node);

	return $lease->{machine_id} == $machine_id
	  ? $lease->{floor}
	  : machine_row($node, $machine_id)->{last_timestamp};
}

sub wait_until_ms
{
	my ($ms) = @_;

	usleep(10_000) while now_ms() <= $ms;
	return;
}

1;
