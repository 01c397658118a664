# The registry's storage fails, or somebody puts a hand on it: callers learn why,
# minting ends no later than the watermark that was committed, and comes back by
# itself when the cause is gone.
#
# A registry whose table is locked, renamed or rolled back, and an extension that
# is dropped, are in 102_waiting.pl and 202_lost.pl.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFaults;
use CosidTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use SmallDisk;
use Test::More;
use Time::HiRes qw(time);

my $node = cosid_server(
	'storage',
	conf => <<'CONF');
cosid.watermark_lead = 1s
cosid.guard_interval = 100ms
cosid.wait_timeout = 1s
restart_after_crash = off
CONF

# The first one makes the registry.
mint($node, 'shop', 'order', 1);

# While a client mints that waits for long, something is done that stops the
# worker from writing the watermark; then that is taken back.
sub check_episode
{
	my ($what, $reason, $begin, $end) = @_;
	my $client = start_client($node, 'shop',
		"SET cosid.wait_timeout = '1h';\n" . mint_in_bursts('order', 20));
	my ($offset, $error, $lease, $failed_ms, $ids);

	wait_for_ids($client);
	$offset = -s $node->logfile;
	$begin->();
	$node->wait_for_log(qr/has a problem: .*$reason/, $offset);

	# It mints up to the limit, and waits then.
	$error = sql_error($node, 'shop',
		"SET statement_timeout = '60s';\n" . mint_slowly('order'));
	$failed_ms = now_ms();
	is($error->{sqlstate}, 'ID002', "$what: ID002");
	like($error->{detail}, $reason, "$what: DETAIL has the reason");
	$lease = lease($node);
	cmp_ok($lease->{watermark}, '<', $failed_ms, "$what: the limit has passed");
	($ids) = read_ids($client);
	is(count_later($lease->{machine_id}, $lease->{watermark}, $ids),
		0, "$what: minting ends no later than the watermark");

	$end->();
	wait_for_more_ids($client);
	($ids) = end_clients("$what: comes back by itself", $client);
	check_ids($what, $ids);
	$node->wait_for_log(qr/has recovered/, $offset);
	is( log_count($node, 'has a problem', $offset)
		  . log_count($node, 'has recovered', $offset),
		'11',
		"$what: one line in the log when it begins, one when it ends");
	return;
}

# Nothing of what happens shows in what clients get, but perhaps another machine
# id.
sub check_no_episode
{
	my ($what, $begin, $end) = @_;
	my $client = start_client($node, 'shop', mint_in_bursts('order', 20));
	my $offset;

	wait_for_ids($client);
	$offset = -s $node->logfile;
	$begin->($offset);
	wait_for_more_ids($client);
	my ($ids) = end_clients($what, $client);
	check_ids($what, $ids);
	is(log_count($node, 'has a problem', $offset), 0, "$what: no problem");
	$end->();
	return;
}

sub wait_for_extensions
{
	my ($count) = @_;

	for (1 .. $count)
	{
		my $extended = lease($node)->{guarded_at};
		wait_until(sub { lease($node)->{guarded_at} ne $extended })
		  or die 'the worker does not extend the grant';
	}
	return;
}

#
# What is refused
#
foreach my $refused (
	[ 'DROP TABLE cosid_machine', '2BP01', qr/extension cosid requires it/ ],
	[ 'DROP TABLE cosid_machine CASCADE', '2BP01', qr/extension cosid requires it/ ],
	[ 'TRUNCATE cosid_machine', '55000', qr/rows of cosid_machine cannot be deleted/ ],
	[ 'DELETE FROM cosid_machine', '55000', qr/rows of cosid_machine cannot be deleted/ ],
	[ 'SET session_replication_role = replica; DELETE FROM cosid_machine',
		'55000', qr/rows of cosid_machine cannot be deleted/ ])
{
	my ($sql, $sqlstate, $message) = @$refused;
	my $error = sql_error($node, 'postgres', "$sql;");

	is($error->{sqlstate}, $sqlstate, "registry: $sql is refused");
	like($error->{message}, $message, "registry: $sql says why");
}

#
# A lock on the row, rather than the table
#
my $locker = $node->background_psql('postgres');
check_episode(
	'row locked',
	qr/lock timeout/,
	sub { $locker->query_safe('BEGIN; SELECT FROM cosid_machine FOR UPDATE') },
	sub { $locker->query_safe('COMMIT') });
$locker->quit;

#
# A table that is there, but not as it was
#
check_episode(
	'column renamed',
	qr/column "last_timestamp".* does not exist/,
	sub {
		$node->safe_psql('postgres',
			'ALTER TABLE cosid_machine RENAME last_timestamp TO elsewhen');
	},
	sub {
		$node->safe_psql('postgres',
			'ALTER TABLE cosid_machine RENAME elsewhen TO last_timestamp');
	});

#
# A server that is read-only by default
#
check_no_episode(
	'default_transaction_read_only',
	sub {
		$node->append_conf('postgresql.conf', 'default_transaction_read_only = on');
		$node->reload;
		wait_until(
			sub {
				$node->safe_psql('shop', 'SHOW default_transaction_read_only') eq 'on';
			}) or die 'settings are not reloaded';
		wait_for_extensions(4);
	},
	sub {
		# Also the claim of a server that starts so
		$node->restart;
		is(scalar(mint($node, 'shop', 'order', 1000)),
			1000, 'default_transaction_read_only: mints after a restart, too');
		$node->append_conf('postgresql.conf', 'default_transaction_read_only = off');
		$node->reload;
		wait_until(
			sub {
				$node->safe_psql('shop', 'SHOW default_transaction_read_only') eq 'off';
			}) or die 'settings are not reloaded';
	});

#
# The row is really deleted, by a superuser who switches the triggers off
#
my $lost;
check_no_episode(
	'row deleted',
	sub {
		my ($offset) = @_;
		$lost = machine_row($node, lease($node)->{machine_id});
		$node->safe_psql(
			'postgres', qq{
			BEGIN;
			ALTER TABLE cosid_machine DISABLE TRIGGER ALL;
			DELETE FROM cosid_machine WHERE machine_id = $lost->{machine_id};
			ALTER TABLE cosid_machine ENABLE ALWAYS TRIGGER cosid_machine_keep;
			ALTER TABLE cosid_machine ENABLE ALWAYS TRIGGER cosid_machine_keep_all;
			COMMIT});
		$node->wait_for_log(qr/lost machine id $lost->{machine_id} /, $offset);
		$node->wait_for_log(qr/claimed machine id/, $offset);
	},
	sub {
		isnt(lease($node)->{machine_id},
			$lost->{machine_id}, 'row deleted: goes on with another machine id');
	});

#
# A watermark by hand: in the far future.  It is taken for what it is, a promise,
# and costs the machine id when the server crashes.
#
foreach my $future ([ 'in ten years', 'last_timestamp + 10::bigint * 365 * 86400000' ],
	[ 'the largest number', '9223372036854775807' ])
{
	my ($when, $watermark) = @$future;
	my $what = "watermark by hand, $when";
	my $edited;

	check_no_episode(
		$what,
		sub {
			$edited = lease($node)->{machine_id};
			$node->safe_psql('postgres',
				    "UPDATE cosid_machine SET last_timestamp = $watermark"
				  . " WHERE machine_id = $edited");
			wait_for_extensions(2);
		},
		sub {
			is(lease($node)->{machine_id}, $edited, "$what: the machine id is kept");
		});

	# A clean shutdown puts it right.
	$node->restart;
	my ($id) = mint($node, 'shop', 'order', 1);
	is(id_machine($id), $edited, "$what: a clean shutdown puts it right");

	my $row = $node->safe_psql('postgres',
		    "UPDATE cosid_machine SET last_timestamp = $watermark"
		  . " WHERE machine_id = $edited RETURNING last_timestamp");
	$node->stop('immediate');
	$node->start;
	my @after = mint($node, 'shop', 'order', 1000);
	cmp_ok($after[0], '>', $id, "$what: after a crash, IDs go on");
	isnt(id_machine($after[0]), $edited, "$what: with another machine id");
	is(machine_row($node, $edited)->{last_timestamp},
		$row, "$what: the old one is left alone");
}

# ... and in the past: the server that holds the machine id gives it up.
check_no_episode(
	'watermark by hand, negative',
	sub {
		my ($offset) = @_;
		$lost = machine_row($node, lease($node)->{machine_id});
		$node->safe_psql('postgres',
			    'UPDATE cosid_machine SET last_timestamp = -1'
			  . " WHERE machine_id = $lost->{machine_id}");
		$node->wait_for_log(qr/lost machine id $lost->{machine_id} /, $offset);
		$node->wait_for_log(qr/claimed machine id/, $offset);
	},
	sub { });

#
# DROP EXTENSION CASCADE takes all watermarks with it.  The server makes a new
# registry, whose floors are no earlier than now.
#
{
	my $what = 'DROP EXTENSION CASCADE';
	my $client = start_client($node, 'shop', mint_in_bursts('order', 20));
	my $offset;

	wait_for_ids($client);
	$offset = -s $node->logfile;
	$node->safe_psql('postgres',
		    "CREATE TABLE dependent (id bigint DEFAULT cosid_next('order'));"
		  . ' DROP EXTENSION cosid CASCADE');
	$node->wait_for_log(
		qr/created extension cosid in database "postgres"(.*\n)*.*claimed machine id/,
		$offset);
	wait_for_more_ids($client);
	my ($ids) = end_clients("$what: comes back by itself", $client);
	check_ids($what, $ids);

	$node->stop('immediate');
	$node->start;
	my @after = mint($node, 'shop', 'order', 1000);
	check_ids("$what, then a crash", [ @$ids, @after ]);
}

$node->stop;

#
# A disk on which commits take longer than the lead: the lead makes up for it.
#
{
	my $what = 'commits of 1.5 s, a lead of 1 s';
	my $library = "$FindBin::RealBin/../test/disk/slowsync.so";
	my $delay = "$PostgreSQL::Test::Utils::tmp_check/slowsync";
	my $waits = q{SELECT grant_waits FROM cosid_stat WHERE name = 'order'};

	die "there is no $library: run make disk" unless -e $library;
	append_to_file($delay, '1500');
	$node->append_conf('postgresql.conf', "fsync = on\nwal_sync_method = fdatasync");
	{
		local $ENV{LD_PRELOAD} = $library;
		local $ENV{SLOWSYNC} = $delay;
		$node->start;
	}
	my @clients = map {
		start_client($node, 'shop',
			"SET cosid.wait_timeout = '1h';\n" . mint_in_bursts('order', 20))
	} 1 .. 2;
	wait_for_ids(@clients);
	wait_for_extensions(2);
	my $began = time;
	my $waited = $node->safe_psql('shop', $waits);
	wait_for_extensions(3);
	cmp_ok((time - $began) / 3, '>=', 1.4, "$what: they do take that long");
	is($node->safe_psql('shop', $waits), $waited, "$what: nobody waits for the worker");
	my @lists = end_clients($what, @clients);
	check_ids($what, @lists);
	is(count_later(lease($node)->{machine_id}, machine_row($node)->{last_timestamp}, @lists),
		0, "$what: no ID is later than the watermark");
	unlink $delay;
	$node->stop;
}

#
# A disk that is full
#
SKIP:
{
	my $base = "$PostgreSQL::Test::Utils::tmp_check/small";
	my ($table_disk, $wal_disk) = ("$base/table", "$base/wal");

	mkdir $_ foreach $base, $table_disk, $wal_disk;
	my $disks = SmallDisk->new($table_disk => '1m', $wal_disk => '100m');
	skip 'this system does not let a user mount a tmpfs in a namespace of its own', 1
	  unless defined $disks;

	# The table's disk: it grows while a snapshot keeps old versions of rows.
	$disks->run("mkdir '$table_disk/data'");
	$disks->start($node);
	$node->safe_psql('postgres', "CREATE TABLESPACE small LOCATION '$table_disk/data'");
	$node->safe_psql('postgres', 'ALTER TABLE cosid_machine SET TABLESPACE small');
	my $snapshot = $node->background_psql('postgres');
	$snapshot->query_safe(
		'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM cosid_machine');
	$node->append_conf('postgresql.conf', 'cosid.watermark_lead = 100ms');
	$node->reload;
	check_episode(
		'disk of the table full',
		qr/could not extend file .*: No space left on device/,
		sub {
			$disks->run("cat /dev/zero >'$table_disk/filler' 2>/dev/null");
		},
		sub {
			$disks->run("rm '$table_disk/filler'");
		});
	$snapshot->query_safe('COMMIT');
	$snapshot->quit;
	$node->safe_psql('postgres', 'ALTER TABLE cosid_machine SET TABLESPACE pg_default');
	$node->stop;

	# The disk of the write-ahead log: PostgreSQL itself gives up.
	my $what = 'disk of the log full';
	my $wal = $node->data_dir . '/pg_wal';
	$disks->run("cp -a '$wal' '$wal_disk/pg_wal' && mv '$wal' '$wal.old'"
		  . " && ln -s '$wal_disk/pg_wal' '$wal'") eq '0'
	  or die 'could not move the log';
	$node->append_conf('postgresql.conf', "wal_level = replica");
	$disks->start($node);
	$node->safe_psql('postgres',
		"SELECT pg_create_physical_replication_slot('keeps_the_log', true)");
	my @clients = map { start_client($node, 'shop', mint_in_bursts('order', 20)) } 1 .. 2;
	my $offset = -s $node->logfile;
	wait_for_ids(@clients);
	$disks->run("cat /dev/zero >'$wal_disk/filler' 2>/dev/null");
	$node->psql('shop',
		"CREATE TABLE filler (x text);\n"
		  . "INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 200000);");
	cmp_ok(log_count($node, 'PANIC: .*No space left on device', $offset),
		'>', 0, "$what: PostgreSQL gives up");
	finish_client($_) foreach @clients;
	my @lists = read_ids(@clients);
	my (undef, $largest) = check_ids($what, @lists);

	$disks->run("rm '$wal_disk/filler'");
	wait_until(sub { !-e $node->data_dir . '/postmaster.pid' })
	  or die 'the server does not end';
	$disks->start($node);
	my @after = mint($node, 'shop', 'order', 1000);
	cmp_ok($after[0], '>', $largest, "$what: when there is room again, IDs go on");
	check_ids("$what: before and after", \@after, @lists);
	my $machine_id = id_machine($largest);
	is(count_later($machine_id, watermark_left($node, $machine_id), @lists),
		0, "$what: no ID is later than the watermark");
	$node->stop;
	$disks->close;
}

done_testing();
