# What cosid's TAP tests share: servers that mint, clients that collect what
# they got, and checks of what was collected.

package CosidTest;

use strict;
use warnings;

use Exporter qw(import);
use File::Basename qw(basename);
use POSIX qw(:sys_wait_h);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(
  cosid_server
  mint
  mint_slowly
  mint_in_bursts
  sql_error
  id_machine
  id_ms
  now_ms
  machine_row
  worker_pid
  stop_worker
  continue_worker
  wait_until
  log_since
  log_count
  start_client
  client_pid
  wait_for_ids
  wait_for_more_ids
  finish_client
  read_ids
  check_ids
  mint_concurrently
);

# The default layout: 41 bits of milliseconds, 10 of machine id, 12 of sequence.
use constant EPOCH_MS => 1577203200000;

# More than any test waits when all is well, on a machine that is busy.
use constant PATIENCE_S => 60;

my %stopped;

# A server with cosid, running, and database "shop" with the extension in it.
# Parameters: conf => settings; streaming => 1: can have standbys.
sub cosid_server
{
	my ($name, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(allows_streaming => $params{streaming});
	$node->append_conf(
		'postgresql.conf', join "\n",
		"shared_preload_libraries = 'cosid'",
		"shared_buffers = 16MB",
		"max_connections = 100",
		"log_statement = none",
		$params{conf} // '');
	$node->start;
	$node->safe_psql('postgres', 'CREATE DATABASE shop');
	$node->safe_psql('shop', 'CREATE EXTENSION cosid');
	return $node;
}

# Mint so many IDs, in one statement, which must not fail.
sub mint
{
	my ($node, $database, $generator, $count) = @_;

	return split /\n/,
	  $node->safe_psql($database,
		"SELECT cosid_next('$generator') FROM generate_series(1, $count)");
}

# SQL that mints about one ID a millisecond, forever, and sends each at once.
sub mint_slowly
{
	my ($generator) = @_;

	return mint_in_bursts($generator, 1);
}

# The same with so many IDs after each pause of a millisecond.
sub mint_in_bursts
{
	my ($generator, $burst) = @_;

	# In FROM, PostgreSQL would make all of the series first.
	return "COPY (SELECT cosid_next('$generator')"
	  . " FROM (SELECT generate_series(1, 1000000000) AS g) AS s"
	  . " WHERE CASE WHEN g % $burst = 0 THEN pg_sleep(0.001) IS NOT NULL"
	  . " ELSE true END) TO STDOUT;\n";
}

# Run SQL that fails.  Gives sqlstate, message, detail, hint, output, seconds;
# the sqlstate is empty if it did not fail.
sub sql_error
{
	my ($node, $database, $sql) = @_;
	my $start = time;
	my ($ret, $stdout, $stderr) =
	  $node->psql($database, "\\set VERBOSITY verbose\n$sql");

	return parse_error($stderr, $stdout, time - $start);
}

sub parse_error
{
	my ($stderr, $stdout, $seconds) = @_;
	# A warning before it may have a detail and a hint, too.
	my ($sqlstate, $message, $rest) =
	  $stderr =~ /^(?:psql:\S+ )?(?:ERROR|FATAL):  (\w{5}): ([^\n]*)(.*)/ms;
	$rest //= $stderr;
	my ($detail) = $rest =~ /^DETAIL:  (.*)$/m;
	my ($hint) = $rest =~ /^HINT:  (.*)$/m;

	note "error: $stderr";
	return {
		sqlstate => $sqlstate // '',
		message => $message // '',
		detail => $detail // '',
		hint => $hint // '',
		output => $stdout,
		stderr => $stderr,
		seconds => $seconds
	};
}

# The parts of an ID of the default layout.
sub id_ms
{
	my ($id) = @_;
	return ($id >> 22) + EPOCH_MS;
}

sub id_machine
{
	my ($id) = @_;
	return ($id >> 12) & 1023;
}

sub now_ms
{
	return int(time * 1000);
}

# The row of a machine id in the registry, as a hash; without a machine id that
# of the one that is held.
sub machine_row
{
	my ($node, $machine_id, $database) = @_;
	my $which =
	  defined $machine_id ? "machine_id = $machine_id" : "instance_id <> ''";
	my @columns =
	  qw(machine_id last_timestamp instance_id distribute_time owner);
	my @rows = split /\n/,
	  $node->safe_psql(
		$database // 'postgres',
		'SELECT ' . join(', ', @columns)
		  . " FROM cosid_machine WHERE namespace = 'cosid' AND $which"
		  . ' ORDER BY distribute_time DESC LIMIT 1');
	my %row;

	die "no such row in cosid_machine" unless @rows;
	@row{@columns} = split /\|/, $rows[0], -1;
	return \%row;
}

# Wait until a condition holds; false if it never does.
sub wait_until
{
	my ($condition) = @_;
	my $deadline = time + PATIENCE_S;

	until ($condition->())
	{
		return 0 if time > $deadline;
		usleep(10_000);
	}
	return 1;
}

# The worker that has reached its database, if it needs one; if need be another
# than $not.
sub worker_pid
{
	my ($node, $not) = @_;
	my $pid;

	wait_until(
		sub {
			$pid = $node->safe_psql('postgres',
				    "SELECT pid FROM pg_stat_activity"
				  . " WHERE backend_type = 'cosid worker' AND (datname IS NOT NULL"
				  . " OR current_setting('cosid.registry', true) <> '')");
			return $pid ne '' && $pid ne ($not // '');
		}) or die "no worker runs";
	return $pid;
}

# SIGSTOP and SIGCONT: a worker that hangs.
sub stop_worker
{
	my ($node) = @_;
	my $pid = worker_pid($node);

	kill('STOP', $pid) == 1 or die "could not stop process $pid";
	$stopped{$pid} = 1;
	wait_until(sub { (split ' ', slurp_file("/proc/$pid/stat"))[-50] eq 'T' })
	  or die "process $pid does not stop";
	return $pid;
}

sub continue_worker
{
	my ($pid) = @_;

	delete $stopped{$pid};
	kill('CONT', $pid) == 1 or die "could not continue process $pid";
	return;
}

# A stopped process would outlive its server for a while.
END
{
	kill('CONT', $_) foreach keys %stopped;
}

sub log_since
{
	my ($node, $offset) = @_;
	return slurp_file($node->logfile, $offset // 0);
}

# How many lines of the log, from an offset on, match.
sub log_count
{
	my ($node, $pattern, $offset) = @_;
	return scalar grep { /$pattern/ } split /\n/, log_since($node, $offset);
}

# A psql of its own that runs SQL and writes what it gets, as it gets it, into a
# file.  It ends at the first error.
my $clients = 0;

sub start_client
{
	my ($node, $database, $sql) = @_;
	# Tests that run at the same time share the directory.
	my $file = "$PostgreSQL::Test::Utils::tmp_check/"
	  . basename($0, '.pl') . '_' . $node->name . '_client_' . $clients++;
	my $client = {
		file => "$file.ids",
		errors => "$file.err",
		start => time
	};
	append_to_file("$file.sql", "\\set VERBOSITY verbose\n$sql");
	local %ENV = $node->_get_env(PGAPPNAME => "client$clients");
	my @command = (
		$node->installed_command('psql'),
		'-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database),
		'-f', "$file.sql");

	$client->{name} = "client$clients";
	$client->{node} = $node;
	$client->{database} = $database;

	# Not IPC::Run: it takes its time, and many clients are to start at once.
	$client->{pid} = fork() // die "could not fork: $!";
	if ($client->{pid} == 0)
	{
		open(STDIN, '<', '/dev/null');
		open(STDOUT, '>', $client->{file});
		open(STDERR, '>', $client->{errors});
		exec(@command) or POSIX::_exit(127);
	}
	return $client;
}

# The backend of a client, once it is in the state that a condition on
# pg_stat_activity describes.
sub client_pid
{
	my ($client, $condition) = @_;
	my $pid;

	wait_until(
		sub {
			$pid = $client->{node}->safe_psql($client->{database},
				    "SELECT pid FROM pg_stat_activity"
				  . " WHERE application_name = '$client->{name}' AND $condition");
			return $pid ne '';
		}) or die "client did not get there: $condition";
	return $pid;
}

# Wait until each of the clients has written something down.
sub wait_for_ids
{
	wait_for_size($_, 0) foreach @_;
	return;
}

# Wait until each of the clients has written down more than it has now.
sub wait_for_more_ids
{
	my @had = map { -s $_->{file} } @_;

	wait_for_size($_, shift @had) foreach @_;
	return;
}

sub wait_for_size
{
	my ($client, $had) = @_;

	wait_until(sub { (-s $client->{file} // 0) > $had })
	  or die "client got nothing: " . slurp_file($client->{errors});
	return;
}

# Wait for a client to end.  Gives its error, as sql_error does.
sub finish_client
{
	my ($client) = @_;

	wait_until(sub { waitpid($client->{pid}, WNOHANG) != 0 })
	  or die "client does not end";
	return parse_error(slurp_file($client->{errors}), '',
		time - $client->{start});
}

# What clients got: for each a list of IDs.
sub read_ids
{
	return map { [ split /\n/, slurp_file($_->{file}) ] } @_;
}

# The claims about what clients got from one generator at the same time: each
# one's IDs increase strictly, and nobody got one of another's.  Gives the
# smallest and the largest one.
sub check_ids
{
	my ($what, @lists) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $total = 0;
	my $disorder = 0;
	my $duplicates = 0;
	my @all;

	foreach my $list (@lists)
	{
		my $last = -1;

		$total += @$list;
		foreach my $id (@$list)
		{
			$disorder++ if $id <= $last;
			$last = $id;
		}
		push @all, @$list;
	}
	@all = sort { $a <=> $b } @all;
	for my $i (1 .. $#all)
	{
		$duplicates++ if $all[$i] == $all[ $i - 1 ];
	}
	cmp_ok($total, '>', 0, "$what: IDs were given out");
	is($disorder, 0, "$what: each client's IDs increase strictly");
	is($duplicates, 0, "$what: no duplicate");
	note "$what: $total IDs";
	return ($all[0], $all[-1]);
}

# Several clients mint so many IDs each, and none starts before all are ready.
# They mint as fast as they can and send afterwards.  Gives their lists.
sub mint_concurrently
{
	my ($node, $database, $generator, $nclients, $count) = @_;
	my $gate = $node->background_psql($database);
	my @clients;
	my $failed = 0;

	$gate->query_safe('SELECT pg_advisory_lock(1)');
	push @clients,
	  start_client(
		$node, $database,
		"SET application_name = 'gate';\n"
		  . "DO 'BEGIN PERFORM pg_advisory_lock_shared(1); END';\n"
		  . "COPY (SELECT unnest(array_agg(cosid_next('$generator')))"
		  . " FROM generate_series(1, $count)) TO STDOUT;\n")
	  foreach 1 .. $nclients;
	wait_until(
		sub {
			return $gate->query_safe(
				    "SELECT count(*) FROM pg_stat_activity WHERE"
				  . " application_name = 'gate' AND wait_event = 'advisory'") ==
			  $nclients;
		}) or die "clients did not get ready";
	$gate->query_safe('SELECT pg_advisory_unlock(1)');
	foreach my $client (@clients)
	{
		$failed++ if finish_client($client)->{stderr} ne '';
	}
	$gate->quit;
	is($failed, 0, "$nclients clients: no error");
	return read_ids(@clients);
}

1;
