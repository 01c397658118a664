# File systems that are small enough to fill up, without being root: a tmpfs
# each, in a mount namespace of a shell that runs what it is told, as the user
# we are.  What that starts sees them, nobody else does.

package SmallDisk;

use strict;
use warnings;

use CosidTest;
use IPC::Open2;
use POSIX qw(getuid getgid);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;

# Mount a tmpfs on each directory; undef if the system does not let us.
# Parameters: directory => size.
sub new
{
	my ($class, %sizes) = @_;
	my $self = bless {}, $class;
	my $mounts = join ' && ',
	  map { "mount -t tmpfs -o size=$sizes{$_},mode=0700 tmpfs '$_'" } sort keys %sizes;
	my ($uid, $gid) = (getuid(), getgid());

	# Root in the first user namespace may mount; in the second one we are
	# ourselves again, as PostgreSQL does not run as root.
	local $SIG{PIPE} = 'IGNORE';
	$self->{pid} = open2($self->{out}, $self->{in}, 'unshare', '-rm', 'sh', '-c',
		"($mounts) >/dev/null 2>&1 && exec unshare -U --map-user=$uid --map-group=$gid"
		  . ' sh -c \'while read -r line; do eval "$line" </dev/null >&2; echo $?; done\'');
	return defined $self->run('true') ? $self : undef;
}

# Run a command of the shell; gives its exit status.
sub run
{
	my ($self, $command) = @_;
	my $out = $self->{out};
	my $status;

	print { $self->{in} } "$command\n";
	$self->{in}->flush;
	$status = <$out>;
	chomp $status if defined $status;
	return $status;
}

# Start a server that sees the small disks.
sub start
{
	my ($self, $node) = @_;
	my $pg_ctl = $node->installed_command('pg_ctl');

	$self->run("'$pg_ctl' start -w -s -D '" . $node->data_dir . "' -l '"
		  . $node->logfile . "'") eq '0'
	  or die 'the server does not start';
	$node->_update_pid(1);
	return;
}

# Nothing may keep the shell, or its mounts, when the test ends.
sub close
{
	my ($self) = @_;

	CORE::close($self->{in});
	waitpid($self->{pid}, 0);
	return;
}

1;
