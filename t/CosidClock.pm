# A wall clock that tests can set, for the servers that are started on it, and
# clients that mint while it is set.
#
# The server's processes run with a library (test/clock) that shifts their wall
# clock by what stands in a file; this writes the file.  Clients and the test
# itself stay on the real clock.

package CosidClock;

use strict;
use warnings;

use CosidTest qw(wait_until);
use Exporter qw(import);
use FindBin;
use List::Util qw(min);
use POSIX qw(:sys_wait_h);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(CLOCK_MONOTONIC CLOCK_REALTIME clock_gettime);

our @EXPORT = qw(
  start_minter
  stop_minters
  await_minters
  latest
  wait_for_latest
  minted
  refused
  refusals
  clock_waits
);

my $library = "$FindBin::RealBin/../test/clock/clockshift.so";

# How the file is laid out: see test/clock/clockshift.c.
use constant {
	HEADER_SIZE => 8,
	SETTING_SIZE => 24,
	SETTINGS => 256
};

my $clocks = 0;

sub new
{
	my ($class) = @_;
	my $name =
	  "$PostgreSQL::Test::Utils::tmp_check/clock_$$" . '_' . $clocks++;

	-e $library or BAIL_OUT("$library is missing: run \"make clock\"");
	open(my $file, '+>', $name) or die "could not create $name: $!";
	truncate($file, HEADER_SIZE + SETTINGS * SETTING_SIZE) or die "$name: $!";
	return bless {
		name => $name,
		file => $file,
		current => 0,
		shift_us => 0,
		drift_ppm => 0,
		since_us => 0
	}, $class;
}

# Servers that are started in here are on this clock, as long as they run.
sub run
{
	my ($self, $start) = @_;
	local $ENV{LD_PRELOAD} = $library;
	local $ENV{COSID_CLOCK_FILE} = $self->{name};

	return $start->();
}

sub put
{
	my ($self, $offset, $bytes) = @_;

	sysseek($self->{file}, $offset, 0) or die "$self->{name}: $!";
	(syswrite($self->{file}, $bytes) // 0) == length $bytes
	  or die "$self->{name}: $!";
	return;
}

# A new setting takes the place of the one in use in one step: its number is one
# byte.
sub set
{
	my ($self, %setting) = @_;

	$self->{shift_us} = $self->_shift_us;
	$self->{since_us} = monotonic_us();
	@$self{ keys %setting } = values %setting;
	$self->{current} = ($self->{current} + 1) % SETTINGS;
	$self->put(
		HEADER_SIZE + $self->{current} * SETTING_SIZE,
		pack('q3', @$self{qw(shift_us drift_ppm since_us)}));
	$self->put(0, pack('C', $self->{current}));
	return;
}

sub monotonic_us
{
	return int(clock_gettime(CLOCK_MONOTONIC) * 1_000_000);
}

sub real_us
{
	return int(clock_gettime(CLOCK_REALTIME) * 1_000_000);
}

sub _shift_us
{
	my ($self) = @_;
	my $elapsed_us = monotonic_us() - $self->{since_us};

	return $self->{shift_us} + int($elapsed_us * $self->{drift_ppm} / 1_000_000);
}

# What the clock reads, Unix ms.
sub now_ms
{
	my ($self) = @_;
	return int((real_us() + $self->_shift_us) / 1000);
}

# Step the clock by so many ms.
sub step
{
	my ($self, $ms) = @_;

	$self->set(shift_us => $self->_shift_us + $ms * 1000);
	return;
}

# Set the clock to a time, Unix ms.
sub set_to
{
	my ($self, $unix_ms) = @_;

	$self->set(shift_us => $unix_ms * 1000 - real_us());
	return;
}

# Set the clock right.
sub set_right
{
	my ($self) = @_;

	$self->set(shift_us => 0);
	return;
}

# From now on the clock gains so many microseconds a second.
sub drift
{
	my ($self, $ppm) = @_;

	$self->set(drift_ppm => $ppm);
	return;
}

# A client that mints one ID after the other, without pause, and writes each down
# as it gets it.  Where it is refused one, it writes "error" and the sqlstate,
# and tries again after a moment.  (Not by pg_sleep: that goes by the wall clock.)
my $minters = 0;

sub start_minter
{
	my ($node, $database, $generator) = @_;
	my $name = 'minter' . $minters++;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/" . $node->name . "_$name";
	my $loop = <<"SQL";
SELECT cosid_next('$generator');
\\if :ERROR
\\echo error :SQLSTATE
\\! sleep 0.05
\\endif
SQL
	chomp $loop;
	local %ENV = $node->_get_env(PGAPPNAME => $name);
	my @command = ($node->installed_command('psql'),
		'-XAtq', '-d', $node->connstr($database));
	my $minter = {
		name => $name,
		node => $node,
		database => $database,
		file => "$file.ids",
		errors => "$file.err"
	};

	$minter->{pid} = fork() // die "could not fork: $!";
	if ($minter->{pid} == 0)
	{
		$SIG{PIPE} = 'DEFAULT';
		open(my $endless, '-|', 'yes', $loop) or POSIX::_exit(127);
		open(STDIN, '<&', $endless);
		open(STDOUT, '>', $minter->{file});
		open(STDERR, '>', $minter->{errors});
		exec(@command) or POSIX::_exit(127);
	}
	return $minter;
}

# End minters; what they got is written down then.
sub stop_minters
{
	my @minters = @_;
	my $names = join ', ', map { "'$_->{name}'" } @minters;

	$minters[0]{node}->safe_psql('postgres',
		    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
		  . " WHERE application_name IN ($names)");
	await_minters(@minters);
	return;
}

# Wait for minters to end whose server was stopped.
sub await_minters
{
	foreach my $minter (@_)
	{
		wait_until(sub { waitpid($minter->{pid}, WNOHANG) != 0 })
		  or die "$minter->{name} does not end";
	}
	return;
}

# The last line that a minter wrote: an ID or an error; empty before the first.
sub latest
{
	my ($minter) = @_;
	my $size = -s $minter->{file} // 0;
	my $tail;

	return '' if $size == 0;
	open(my $file, '<', $minter->{file}) or die "$minter->{file}: $!";
	sysseek($file, -min($size, 100), 2);
	sysread($file, $tail, 100);
	return $tail =~ /([^\n]*)\n[^\n]*\z/ ? $1 : '';
}

# Wait until what a condition says is true of each minter's last line.
sub wait_for_latest
{
	my ($condition, @minters) = @_;
	my @left = @minters;

	return wait_until(
		sub {
			@left = grep { !$condition->(latest($_)) } @left;
			return @left == 0;
		});
}

sub lines
{
	my ($minter) = @_;
	my $text = -e $minter->{file} ? slurp_file($minter->{file}) : '';

	$text =~ s/[^\n]*\z//;
	return split /\n/, $text;
}

# What minters got, each a list.
sub minted
{
	return map { [ grep { !/^error/ } lines($_) ] } @_;
}

# What minters were refused with, all in one list.
sub refused
{
	return map { /^error (.*)/ ? $1 : () } map { lines($_) } @_;
}

# How often minters began to be refused IDs, in all.
sub refusals
{
	my $count = 0;

	foreach my $minter (@_)
	{
		my @lines = lines($minter);
		$count += grep
		{
			$lines[$_] =~ /^error/ && ($_ == 0 || $lines[ $_ - 1 ] !~ /^error/)
		} 0 .. $#lines;
	}
	return $count;
}

# How often callers waited for the clock, of all generators.
sub clock_waits
{
	my ($node) = @_;
	return $node->safe_psql('postgres', 'SELECT sum(clock_waits) FROM cosid_stat');
}

1;
