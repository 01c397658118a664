# cosid_release gives the server's machine ids back before it moves, exactly and
# for as long as it is wanted.

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

my $node = cosid_server('release', conf => "cosid.wait_timeout = 60s\n");
my $soon = "SET cosid.wait_timeout = '200ms';";

sub states
{
	return $node->safe_psql('shop', "SELECT string_agg(DISTINCT state, ' ') FROM cosid_lease");
}

# Two namespaces, and clients at work
$node->safe_psql('shop', "SELECT cosid_create('ticket', safe_javascript => true)");
mint($node, 'shop', 'ticket', 1);
my @clients = map { start_client($node, 'shop', "$soon " . mint_slowly('order')) } 1 .. 2;
wait_for_ids($_) foreach @clients;
my $row = machine_row($node);
my $offset = -s $node->logfile;

$node->safe_psql('shop', 'SELECT cosid_release()');
is(states(), 'released', 'all leases are released');
my $after = machine_row($node, $row->{machine_id});
is($after->{instance_id}, '', 'the registry has the machine id back');
foreach my $client (@clients)
{
	my $error = finish_client($client);

	is($error->{sqlstate}, 'ID002', 'who mints gets ID002');
	like($error->{detail}, qr/given back by cosid_release/, 'with the reason');
}
my @lists = read_ids(@clients);
my ($largest) = sort { $b <=> $a } map { @$_ } @lists;
is($after->{last_timestamp}, id_ms($largest) + 1,
	'the watermark is exact: nothing was given out after it');
is(log_count($node, 'gave back machine id', $offset), 2, 'one line in the log for each');

# It stays so, whoever asks, and over a new worker.
is(sql_error($node, 'shop', "$soon SELECT cosid_next('order')")->{sqlstate},
	'ID002', 'nobody mints');
my $pid = worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
worker_pid($node, $pid);
is(sql_error($node, 'shop', "$soon SELECT cosid_next('order')")->{sqlstate},
	'ID002', 'nor with a new worker');
is(log_count($node, 'claimed machine id', $offset), 0, 'and nothing is claimed');
is($node->safe_psql('shop', 'SELECT cosid_release()'), '', 'once more does no harm');

# Until it is ended: without a wait for the watermark
$node->safe_psql('shop', 'SELECT cosid_resume()');
push @lists, [ mint($node, 'shop', 'order', 10) ];
is(states(), 'held', 'cosid_resume: held again, all of them');
is(id_machine($lists[-1][0]), $row->{machine_id}, 'the same machine id');

$node->safe_psql('shop', 'SELECT cosid_release()');
$node->restart;
push @lists, [ mint($node, 'shop', 'order', 10) ];
check_ids('over all of it', @lists);

# Rights
$node->safe_psql('shop', 'CREATE ROLE nobody');
foreach my $function (qw(cosid_release cosid_resume))
{
	is(sql_error($node, 'shop', "SET ROLE nobody; SELECT $function()")->{sqlstate},
		'42501', "$function is not for everyone");
}

# cosid_machine_forget and a sign of life of the machine id's holder
$node->safe_psql('postgres', <<'SQL');
INSERT INTO cosid_machine (name, namespace, machine_id, instance_id, stable) VALUES ('gone.00000000', 'gone', 0, 'pg-0', true);
SQL
my $holder = $node->background_psql('postgres');
$holder->query_safe("BEGIN; UPDATE cosid_machine SET last_timestamp = extract(epoch FROM now()) * 1000 WHERE namespace = 'gone'");
my $forget = start_client($node, 'postgres', "SELECT cosid_machine_forget('gone', 0);");
client_pid($forget, "wait_event_type = 'Lock'");
$holder->query_safe('COMMIT');
$holder->quit;
is(finish_client($forget)->{sqlstate}, '55006', 'a machine id whose holder comes back at that moment is not forgotten');

# A worker that hangs
my $worker = stop_worker($node);
my $error = sql_error($node, 'shop', "$soon SELECT cosid_release()");
is($error->{sqlstate}, '55P03', 'a worker that hangs: an error in time');
$error = sql_error($node, 'shop', "SET statement_timeout = '200ms'; SELECT cosid_release()");
is($error->{sqlstate}, '57014', 'a worker that hangs: can be cancelled');
continue_worker($worker);
ok(wait_until(sub { states() eq 'released' }), 'and it is done when the worker goes on');
$node->stop;

# A registry that is away
my $registry = registry_server('registry');
my $member = fleet_server('member', registry_conninfo($registry), "cosid.wait_timeout = 60s\n");
my ($last) = mint($member, 'shop', 'order', 1);
$registry->stop('immediate');
my ($ret, $stdout, $stderr) = $member->psql('shop', 'SELECT cosid_release()');
is($ret, 0, 'a registry that is away: released all the same');
like($stderr, qr/WARNING:  nothing more is minted with machine id \d+ of namespace "cosid", but the registry does not know/,
	'a registry that is away: a warning says that the row stays');
is(sql_error($member, 'shop', "$soon SELECT cosid_next('order')")->{sqlstate},
	'ID002', 'a registry that is away: nothing is minted');
$registry->start;
$member->safe_psql('shop', 'SELECT cosid_resume()');
my ($next) = mint($member, 'shop', 'order', 1);
check_ids('over a registry that was away', [ $last, $next ]);

$_->stop foreach $member, $registry;
done_testing();
