# What the tests of fleets share: a registry that several servers use, and those
# servers.

package CosidFleet;

use strict;
use warnings;

use CosidTest;
use Exporter qw(import);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  registry_server
  grant_registry
  registry_conninfo
  fleet_server
  reload_with
  held_machine_id
);

# A server whose database postgres is a registry, for role fleet.  It mints
# nothing itself.  Parameters: those of cosid_server.
sub registry_server
{
	my ($name, %params) = @_;
	my $conf = "cosid.worker = off\nautovacuum = off\n" . ($params{conf} // '');
	my $node = cosid_server($name, %params, conf => $conf);

	$node->safe_psql('postgres', 'CREATE EXTENSION cosid; CREATE ROLE fleet LOGIN');
	grant_registry($node, 'postgres', 'fleet');
	return $node;
}

# All that a role needs.
sub grant_registry
{
	my ($node, $database, $role, $schema) = @_;

	$schema //= 'public';
	$node->safe_psql($database, join ";\n",
		(map { "GRANT EXECUTE ON FUNCTION $schema.cosid_machine_$_ TO $role" }
		  qw(claim guard revert)),
		"GRANT USAGE ON SCHEMA $schema TO $role");
	return;
}

# The connection string of a registry on one or several servers.
sub registry_conninfo
{
	my @nodes = @_;

	return 'host=' . join(',', map { $_->host } @nodes)
	  . ' port=' . join(',', map { $_->port } @nodes)
	  . ' dbname=postgres user=fleet';
}

# A server, running, that uses a registry, with database shop.
sub fleet_server
{
	my ($name, $conninfo, $conf) = @_;

	return cosid_server($name,
		conf => "cosid.registry = '$conninfo'\n" . ($conf // ''));
}

# Change settings of a server that runs.
sub reload_with
{
	my ($node, $conf) = @_;

	$node->append_conf('postgresql.conf', $conf);
	$node->reload;
	return;
}

# The machine id that a server holds, once it does; if need be another than $not.
sub held_machine_id
{
	my ($node, $not) = @_;
	my $machine_id;

	wait_until(
		sub {
			$machine_id = $node->safe_psql('shop',
				    "SELECT machine_id FROM cosid_lease WHERE namespace = 'cosid'"
				  . " AND state = 'held'");
			return $machine_id ne '' && $machine_id ne ($not // '');
		}) or die $node->name . ' gets no machine id';
	return $machine_id;
}

1;
