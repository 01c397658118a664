# CosId's own Java services in one registry with servers of ours.  They are played
# by plain SQL from another client, statement for statement as CosId's JDBC
# distributor sends them: it knows the first seven columns of cosid_machine, takes
# a row that was given back or has expired, else inserts max(machine_id) + 1, and
# heartbeats last_timestamp.  A service mints with the default layout, from the
# row's last_timestamp on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFaults;
use CosidFleet;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

use constant SAFE_GUARD_MS => 3000;

my $registry = registry_server('registry');
my $conf = sprintf <<'CONF', SAFE_GUARD_MS;
cosid.safe_guard_duration = %dms
cosid.guard_interval = 500ms
cosid.watermark_lead = 500ms
cosid.wait_timeout = 60s
CONF

# Everything that was given out by anyone, by who.
my %given;

#
# A Java service
#

# Each statement is a transaction of its own: there, connections are in autocommit.
sub statement
{
	my ($sql) = @_;
	return $registry->safe_psql('postgres', $sql);
}

sub row_name
{
	return sprintf("cosid.%08d", $_[0]);
}

# Heartbeats, by a client of their own: a service is not silent because this
# program has much to do.
$registry->safe_psql('postgres', <<'SQL');
CREATE TABLE beating (instance text PRIMARY KEY);
CREATE PROCEDURE beat(who text, id int) LANGUAGE plpgsql AS $$
BEGIN
	WHILE EXISTS (SELECT FROM beating WHERE instance = who) LOOP
		UPDATE cosid_machine SET last_timestamp = extract(epoch FROM clock_timestamp()) * 1000
		 WHERE namespace = 'cosid' AND instance_id = who AND machine_id = id;
		EXIT WHEN NOT FOUND;
		COMMIT;
		PERFORM pg_sleep(0.05);
	END LOOP;
END $$;
SQL

# A service that starts.
sub java_start
{
	my $java = java_claim(@_);

	statement("INSERT INTO beating VALUES ('$java->{instance}')");
	$java->{beating} = start_client($registry, 'postgres',
		"CALL beat('$java->{instance}', $java->{machine_id});");
	return $java;
}

# No heartbeats any more.
sub java_silence
{
	my ($java) = @_;

	statement("DELETE FROM beating WHERE instance = '$java->{instance}'");
	is(finish_client($java->{beating})->{stderr}, '', "$java->{instance} is silent");
	return;
}

sub java_claim
{
	my ($instance) = @_;
	my %java = (instance => $instance, last_ms => -1, sequence => 0);
	my $now = now_ms();
	my $expired = $now - SAFE_GUARD_MS;

	my ($found) = split /\n/, statement(
		"select machine_id, last_timestamp from cosid_machine where namespace='cosid'"
		  . " and (instance_id='' or last_timestamp<=$expired)");
	if (defined $found && $found ne '')
	{
		my ($machine_id, $last) = split /\|/, $found;
		my $name = row_name($machine_id);

		if (statement("with u as (update cosid_machine"
				  . " set instance_id='$instance',last_timestamp=$now,distribute_time=$now"
				  . " where name='$name' and (instance_id='' or last_timestamp<=$expired)"
				  . " returning 1) select count(*) from u") > 0)
		{
			@java{qw(machine_id last_ms)} = ($machine_id, $last);
			return \%java;
		}
	}
	for (;;)
	{
		my $machine_id = statement(
			"select max(machine_id)+1 as next_machine_id from cosid_machine where namespace='cosid'");
		$machine_id = 0 if $machine_id eq '';
		my $name = row_name($machine_id);
		my $code = $registry->psql('postgres', 'insert into cosid_machine '
			  . '(name, namespace, machine_id, last_timestamp, instance_id, distribute_time, revert_time)'
			  . " values ('$name','cosid',$machine_id,$now,'$instance',$now,0)");

		next if $code != 0;    # someone was faster
		@java{qw(machine_id last_ms)} = ($machine_id, $now);
		return \%java;
	}
}

# A heartbeat now; false if the machine id is lost.
sub java_guard
{
	my ($java) = @_;

	return statement('with u as (update cosid_machine set last_timestamp=' . now_ms()
		  . " where namespace='cosid' and instance_id='$java->{instance}'"
		  . " and machine_id=$java->{machine_id} returning 1) select count(*) from u");
}

sub java_stop
{
	my ($java) = @_;

	java_silence($java);
	statement("update cosid_machine set instance_id='',last_timestamp=$java->{last_ms},revert_time="
		  . now_ms() . " where namespace='cosid' and instance_id='$java->{instance}'");
	return;
}

# It mints so many IDs, as long as it believes in its machine id.
sub java_mint
{
	my ($java, $count) = @_;

	foreach (1 .. $count)
	{
		my $now = now_ms();

		# CosId waits for a clock that is behind, too.
		$now = now_ms() while $now < $java->{last_ms};
		if ($now == $java->{last_ms})
		{
			$java->{sequence} = ($java->{sequence} + 1) & 4095;
			if ($java->{sequence} == 0)
			{
				$now = now_ms() while $now <= $java->{last_ms};
			}
		}
		else
		{
			$java->{sequence} = 0;
		}
		$java->{last_ms} = $now;
		keep($java->{instance},
			(($now - CosidTest::EPOCH_MS) << 22) | ($java->{machine_id} << 12) | $java->{sequence});
	}
	return;
}

#
# Claims
#

my $duplicates = 0;

sub keep
{
	my ($who, @ids) = @_;

	foreach (@ids)
	{
		$duplicates++ if exists $given{$_};
		$given{$_} = $who;
	}
	return;
}

# A server of ours mints: with what machine id, and all above a watermark (Unix ms)
# that stood in the row, as the caller knows.
sub node_mints
{
	my ($node, $what, $machine_id, $watermark) = @_;
	my @ids = mint($node, 'shop', 'order', 100);

	keep($node->name, @ids);
	is(id_machine($ids[0]), $machine_id, "$what: machine id $machine_id") if defined $machine_id;
	cmp_ok(id_ms($ids[0]), '>', $watermark, "$what: above the watermark") if defined $watermark;
	return id_machine($ids[-1]);
}

sub row
{
	my ($machine_id) = @_;
	return machine_row($registry, $machine_id);
}

#
# Both take what is free
#
my $conninfo = registry_conninfo($registry);
my $a = java_start('java-a');
my $one = fleet_server('one', $conninfo, $conf);
is($a->{machine_id}, 0, 'a service gets the first machine id');
node_mints($one, 'a server beside it', 1);
my $b = java_start('java-b');
is($b->{machine_id}, 2, 'another service the next one');
java_mint($_, 100) foreach $a, $b;
node_mints($one, 'all three', 1);
ok(java_guard($_), "$_->{instance} has its machine id") foreach $a, $b;

#
# A service takes what a server gave back
#
my @last = mint($one, 'shop', 'order', 1);
keep('one', @last);
$one->stop;
my $watermark = row(1)->{last_timestamp};
is($watermark, id_ms($last[0]) + 1, 'a server gives back: its last ID is below the watermark');
my $c = java_start('java-c');
is($c->{machine_id}, 1, 'a service takes what a server has given back');
cmp_ok($c->{last_ms}, '>', id_ms($last[0]), 'from its watermark on');
java_mint($c, 100);

#
# A server takes what a service gave back
#
java_stop($a);
$watermark = row(0)->{last_timestamp};
is($watermark, $a->{last_ms}, 'a service gives back: its last ID is at the watermark');
$one->start;
node_mints($one, 'a server takes what a service has given back', 0, $watermark);
ok(!java_guard($a), 'and the service has it no more');

#
# A service is silent: a server waits for the safe guard duration after its last
# heartbeat, and another one as its IDs may be later than that.
#
java_mint($c, 10);
java_silence($c);
my $heartbeat = row(1)->{last_timestamp};
# It mints on for a while, as it does between heartbeats.
while (now_ms() < $heartbeat + SAFE_GUARD_MS - 200)
{
	java_mint($_, 5) foreach $c, $b;
	keep('one', mint($one, 'shop', 'order', 5));
	usleep(50_000);
}
wait_until_ms($heartbeat + SAFE_GUARD_MS + 10);
my $two = fleet_server('two', $conninfo, $conf);
node_mints($two, 'a server takes what a silent service had', 1, $heartbeat + SAFE_GUARD_MS);
ok(!java_guard($c), 'the service has it no more');
ok(java_guard($b), 'one that is not silent goes on');

#
# A server crashes, or stands still: a service takes its row when that has expired
#
$two->stop('immediate');
$watermark = row(1)->{last_timestamp};
wait_until_ms($watermark + SAFE_GUARD_MS + 10);
my $d = java_start('java-d');
is($d->{machine_id}, 1, 'a service takes what a crashed server had');
is($d->{last_ms}, $watermark, 'from its watermark on');
java_mint($d, 100);

my $client = start_client($one, 'shop', mint_slowly('order'));
wait_for_ids($client);
my $of_one = id_machine((mint($one, 'shop', 'order', 1))[0]);
my @stopped = stop_server($one);
$watermark = row($of_one)->{last_timestamp};
while (now_ms() <= $watermark + SAFE_GUARD_MS)
{
	java_mint($_, 5) foreach $b, $d;
	usleep(50_000);
}
my $e = java_start('java-e');
is($e->{machine_id}, $of_one, 'a service takes what a server had that stands still');
java_mint($e, 100);
continue_process($_) foreach @stopped;
java_mint($e, 100);
isnt(held_machine_id($one, $of_one), $of_one, 'the server notices, and takes another machine id');
wait_for_more_ids($client);
ok(java_guard($_), "$_->{instance} has its machine id still") foreach $b, $d, $e;
java_mint($_, 100) foreach $b, $d, $e;
my ($list) = end_clients('the server goes on', $client);
is(count_later($of_one, $watermark, $list), 0, 'none of its IDs is later than the watermark that it had');
keep('one', @$list);

#
# Many at once: services and servers start in each other's midst
#
java_silence($_) foreach $b, $d, $e;
my @clients;
$registry->safe_psql('postgres', <<'SQL');
CREATE TABLE claimed (machine_id int, who text);
CREATE PROCEDURE ours(who text) LANGUAGE plpgsql AS $$
DECLARE id int;
BEGIN
	FOR i IN 1 .. 25 LOOP
		SELECT machine_id INTO STRICT id FROM cosid_machine_claim('race', 10, who || i, who || i, false, -1, -1,
			false, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 60000, 300000, 0);
		INSERT INTO claimed VALUES (id, who || i);
		COMMIT;
	END LOOP;
END $$;
CREATE PROCEDURE java(who text) LANGUAGE plpgsql AS $$
DECLARE
	id int;
	now_ms bigint;
BEGIN
	FOR i IN 1 .. 25 LOOP
		LOOP
			now_ms := extract(epoch FROM clock_timestamp()) * 1000;
			SELECT max(machine_id) + 1 INTO id FROM cosid_machine WHERE namespace = 'race';
			id := coalesce(id, 0);
			COMMIT;
			BEGIN
				INSERT INTO cosid_machine (name, namespace, machine_id, last_timestamp, instance_id, distribute_time, revert_time)
				VALUES ('race.' || to_char(id, 'FM00000000'), 'race', id, now_ms, who || i, now_ms, 0);
				EXIT;
			EXCEPTION WHEN unique_violation THEN
			END;
		END LOOP;
		INSERT INTO claimed VALUES (id, who || i);
		COMMIT;
	END LOOP;
END $$;
SQL
push @clients, start_client($registry, 'postgres', "CALL ours('ours$_-');"), start_client($registry, 'postgres', "CALL java('java$_-');")
  foreach 1 .. 4;
is(scalar(grep { finish_client($_)->{stderr} ne '' } @clients), 0, 'many at once: no error');
is($registry->safe_psql('postgres', 'SELECT count(*), count(DISTINCT machine_id) FROM claimed'),
	'200|200', 'many at once: never the same machine id');
is($registry->safe_psql('postgres', "SELECT count(*) FROM claimed c JOIN cosid_machine m ON m.namespace = 'race' AND m.machine_id = c.machine_id AND m.instance_id = c.who"),
	200, 'many at once: and the row is theirs');

is($duplicates, 0, 'no ID was given out twice, by services and servers');
note scalar(keys %given) . ' IDs';

$one->stop;
$registry->stop;
done_testing();
