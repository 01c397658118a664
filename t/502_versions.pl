# The library meets objects of another version of the extension: an update while
# clients mint, and what is said when they do not fit.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFleet;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($version) = slurp_file("$FindBin::RealBin/../cosid.control") =~ /^default_version = '(.*)'/m;
my $later = "$version.later";
my $share = `pg_config --sharedir`;
chomp $share;
my $script = "$share/extension/cosid--$version--$later.sql";

# The script of a later version, as CONTRIBUTING.md says to write them.  The
# server's installation is ours alone, and no other test asks for this version.
append_to_file($script, <<'SQL');
ALTER TABLE @extschema@.cosid_machine ADD COLUMN zone text;
ALTER TABLE @extschema@.cosid_generator ADD COLUMN remark text;
CREATE FUNCTION @extschema@.cosid_later() RETURNS integer RETURN 1;
SQL

END { unlink $script if defined $script }

my $node = cosid_server('versions', conf => "cosid.watermark_lead = 1s\ncosid.wait_timeout = 60s\n");

sub log_lines
{
	return log_count($node, 'the registry has version', @_);
}

#
# ALTER EXTENSION cosid UPDATE, while clients mint
#
$node->safe_psql('shop', "SELECT cosid_create('order', sequence_bit => 11)");
my $client = start_client($node, 'shop', mint_slowly('order'));
wait_for_ids($client);
my $before = machine_row($node);
is(log_lines(), 0, 'nothing is said while versions are the same');

my $dumps = PostgreSQL::Test::Utils::tempdir;
my $definitions = 'SELECT name, namespace, timestamp_bit, machine_bit, sequence_bit, implicit FROM cosid_generator ORDER BY name';
my $defined = $node->safe_psql('shop', $definitions);

sub dump_shop
{
	my ($name) = @_;
	command_ok([ 'pg_dump', '--file', "$dumps/$name", '--dbname', $node->connstr('shop') ], "a dump $name");
	return;
}

dump_shop('before');
my $offset = -s $node->logfile;
$node->safe_psql($_, "ALTER EXTENSION cosid UPDATE TO '$later'") foreach 'postgres', 'shop';
is($node->safe_psql('shop', 'SELECT cosid_later()'), 1, 'the update has happened');
$node->wait_for_log(
	qr/the registry has version \Q$later\E of extension cosid, but the server's library is of version \Q$version\E/,
	$offset);
wait_for_more_ids($client);
wait_for_more_ids($client);
my $after = machine_row($node);
is($after->{distribute_time}, $before->{distribute_time}, 'the lease goes on over an update');
cmp_ok($after->{last_timestamp}, '>=', $before->{last_timestamp}, 'its watermark is kept');
is(log_lines($offset), 1, 'the log says once that the registry is newer');

is($node->safe_psql('shop', "SELECT sequence FROM cosid_parse(cosid_next('order'), 'order') WHERE sequence >= 2048"),
	'', 'definitions are read from a table that has more columns');
$node->safe_psql('shop', "SELECT cosid_create('after', timestamp_unit => 'second'); SELECT cosid_drop('after')");
foreach my $sql ('DELETE FROM cosid_machine', 'TRUNCATE cosid_machine')
{
	is(sql_error($node, 'postgres', "SET session_replication_role = replica; $sql")->{sqlstate},
		'55000', "after the update still refused: $sql");
}

# Dumps of either version restore where the extension is of the later one.
dump_shop('after');
foreach my $name ('before', 'after')
{
	$node->safe_psql('postgres', "CREATE DATABASE restored_$name");
	$node->safe_psql("restored_$name", "CREATE EXTENSION cosid VERSION '$later'");
	command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$dumps/$name", '-d', $node->connstr("restored_$name") ],
		"a dump $name the update restores");
	is($node->safe_psql("restored_$name", $definitions), $defined, "a dump $name the update has the definitions");
}

# The worker that comes after, and after a crash
my $pid = worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
worker_pid($node, $pid);
wait_for_more_ids($client);
$node->safe_psql('postgres', 'SELECT pg_terminate_backend(' . client_pid($client, 'true') . ')');
is(finish_client($client)->{sqlstate}, '57P01', 'the client had no error');
my ($list) = read_ids($client);
$node->stop('immediate');
$node->start;
check_ids('over update, restart and crash', $list, [ mint($node, 'shop', 'order', 100) ]);

#
# What does not fit is an error, and no more
#
$node->safe_psql('shop',
	"CREATE FUNCTION few_columns(OUT a text, OUT b text) RETURNS SETOF record"
	  . " AS '\$libdir/cosid', 'cosid_lease_rows' LANGUAGE C");
is(sql_error($node, 'shop', 'SELECT * FROM few_columns()')->{sqlstate},
	'55000', 'a view of another version');
$node->safe_psql('shop', "ALTER TYPE cosid_state ADD ATTRIBUTE more text, ADD ATTRIBUTE most text");
is(sql_error($node, 'shop', "SELECT cosid_parse(cosid_next('order'))")->{sqlstate},
	'55000', 'a type of another version');
$node->safe_psql('postgres', "CREATE FUNCTION claim_more(" . join(', ', qw(text int text text bool int int bool bigint bigint bigint bigint),
		map { "OUT c$_ text" } 1 .. 9) . ") RETURNS record AS '\$libdir/cosid', 'cosid_machine_claim_sql' LANGUAGE C STRICT");
is( sql_error($node, 'postgres', "SELECT claim_more('more', 10, 'me', 'me', false, -1, -1, false, 0, 0, 0, 0)")->{sqlstate},
	'55000', 'a claim of another version');
$node->safe_psql('shop', 'ALTER TABLE cosid_generator DROP COLUMN implicit CASCADE');
my $error = sql_error($node, 'shop', "SELECT cosid_create('another')");
is($error->{sqlstate}, '55000', 'definitions of another version');
like($error->{message}, qr/is not what version \Q$version\E of cosid's library reads/, 'with a message');
like($error->{hint}, qr/ALTER EXTENSION cosid UPDATE/, 'and a HINT');

# An older registry: the log says so, and minting goes on.
$offset = -s $node->logfile;
$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'cosid'");
$node->safe_psql('shop', 'SELECT cosid_release(); SELECT cosid_resume(); SELECT cosid_next()');
$node->wait_for_log(qr/the registry has version 0\.9 of extension cosid, but the server's library is of version \Q$version\E/, $offset);
is(log_lines($offset), 1, 'the log says once that the registry is older');
$node->safe_psql('postgres', "UPDATE pg_extension SET extversion = '$later' WHERE extname = 'cosid'");

# A registry that lacks a column: the worker says so, goes on trying, and goes on.
$offset = -s $node->logfile;
$node->safe_psql('postgres', 'ALTER TABLE cosid_machine RENAME COLUMN fence TO wall');
$node->restart;
$node->wait_for_log(qr/has a problem: column .*fence does not exist/, $offset);
like( sql_error($node, 'shop', "SET cosid.wait_timeout = '100ms'; SELECT cosid_next()")->{detail},
	qr/fence does not exist/,
	'a registry without a column: DETAIL says so');
$node->safe_psql('postgres', 'ALTER TABLE cosid_machine RENAME COLUMN wall TO fence');
cmp_ok($node->safe_psql('shop', 'SELECT cosid_next()'), '>', 0, 'and minting goes on when it is mended');

#
# A registry in another server
#
my $registry = registry_server('registry');
$registry->safe_psql('postgres', "ALTER EXTENSION cosid UPDATE TO '$later'");
my $member = fleet_server('member', registry_conninfo($registry), "cosid.watermark_lead = 1s\n");
cmp_ok($member->safe_psql('shop', 'SELECT cosid_next()'), '>', 0, 'a newer registry elsewhere serves');
is(log_count($member, "the registry has version \Q$later\E"), 1, 'and the log says that it is newer');

# One that lacks a function, or has it with other arguments: the worker says so,
# goes on trying, and goes on.
my $definition = $registry->safe_psql('postgres', "SELECT pg_get_functiondef('cosid_machine_guard'::regproc)");
foreach my $other ('', 'CREATE FUNCTION cosid_machine_guard(namespace text) RETURNS bigint RETURN 1')
{
	my $what = $other eq '' ? 'no function' : 'other arguments';

	$offset = -s $member->logfile;
	$registry->safe_psql('postgres',
		"ALTER EXTENSION cosid DROP FUNCTION cosid_machine_guard; DROP FUNCTION cosid_machine_guard; $other");
	my $minting = start_client($member, 'shop', "SET cosid.wait_timeout = '60s'; " . mint_slowly('order'));
	$member->wait_for_log(qr/has a problem: function .*cosid_machine_guard\(.*\) does not exist/, $offset);
	like($member->safe_psql('shop', 'SELECT last_error FROM cosid_lease'),
		qr/cosid_machine_guard.* does not exist/, "a registry elsewhere, $what: last_error says so");
	$registry->safe_psql('postgres', ($other eq '' ? '' : 'DROP FUNCTION cosid_machine_guard; ')
		  . "$definition; ALTER EXTENSION cosid ADD FUNCTION cosid_machine_guard");
	grant_registry($registry, 'postgres', 'fleet');
	$member->wait_for_log(qr/has recovered/, $offset);
	wait_for_more_ids($minting);
	$member->safe_psql('postgres', 'SELECT pg_terminate_backend(' . client_pid($minting, 'true') . ')');
	is(finish_client($minting)->{sqlstate}, '57P01', "a registry elsewhere, $what: and minting goes on when it is mended");
}

$_->stop foreach $member, $registry, $node;
done_testing();
