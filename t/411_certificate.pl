# The registry knows the fleet by a certificate, and the fleet the registry.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidFleet;
use CosidTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;

sub openssl
{
	my @arguments = @_;

	run_log([ 'openssl', @arguments ]) or die "openssl @arguments failed";
	return;
}

# A key and a certificate that an authority has signed.
sub certificate
{
	my ($name, $subject, $extension, $authority) = @_;

	append_to_file("$dir/$name.ext", "$extension\n");
	openssl('req', '-new', '-nodes', '-newkey', 'rsa:2048', '-subj', "/CN=$subject",
		'-keyout', "$dir/$name.key", '-out', "$dir/$name.csr");
	openssl('x509', '-req', '-days', '30', '-in', "$dir/$name.csr", '-extfile', "$dir/$name.ext",
		'-CA', "$dir/$authority.crt", '-CAkey', "$dir/$authority.key", '-CAcreateserial',
		'-out', "$dir/$name.crt");
	chmod 0600, "$dir/$name.key";
	return;
}

foreach my $authority (qw(ca other))
{
	openssl('req', '-x509', '-new', '-nodes', '-newkey', 'rsa:2048', '-days', '30', '-subj', "/CN=$authority",
		'-keyout', "$dir/$authority.key", '-out', "$dir/$authority.crt");
}
certificate('server', 'registry', 'subjectAltName = IP:127.0.0.1', 'ca');
certificate('fleet', 'fleet', 'keyUsage = digitalSignature', 'ca');
certificate('stranger', 'fleet', 'keyUsage = digitalSignature', 'other');

my $registry = registry_server('registry', conf => <<"CONF");
listen_addresses = '127.0.0.1'
ssl = on
ssl_ca_file = '$dir/ca.crt'
ssl_cert_file = '$dir/server.crt'
ssl_key_file = '$dir/server.key'
CONF
unlink $registry->data_dir . '/pg_hba.conf';
$registry->append_conf('pg_hba.conf', "local all all trust\nhostssl all fleet 127.0.0.1/32 cert\n");
$registry->reload;

sub conninfo
{
	my ($certificate, $root) = @_;

	return 'host=127.0.0.1 port=' . $registry->port . ' dbname=postgres user=fleet sslmode=verify-full'
	  . " sslrootcert=$dir/$root.crt sslcert=$dir/$certificate.crt sslkey=$dir/$certificate.key";
}

# What the worker last failed at, once it has.
sub last_error
{
	my ($node) = @_;
	my $error;

	wait_until(
		sub {
			$error = $node->safe_psql('shop',
				"SELECT last_error FROM cosid_lease WHERE namespace = 'cosid' AND state <> 'held'");
			return $error ne '';
		}) or die 'the worker does not fail';
	return $error;
}

my $stranger = fleet_server('stranger', conninfo('stranger', 'ca'));
isnt(last_error($stranger), '', 'a certificate of another authority is refused');
is(scalar(grep { /-----BEGIN/ } last_error($stranger)), 0, 'and not shown');
$stranger->stop;

my $careful = fleet_server('careful', conninfo('fleet', 'other'));
like(last_error($careful), qr/certificate verify failed/, 'a registry of another authority is not believed');
is($registry->safe_psql('postgres', 'SELECT count(*) FROM cosid_machine'), 0, 'neither has claimed anything');

reload_with($careful, "cosid.registry = '" . conninfo('fleet', 'ca') . "'\ncosid.wait_timeout = 60s");
is(scalar(mint($careful, 'shop', 'order', 10)), 10, 'with the right ones it mints');
is( $registry->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'fleet' AND ssl AND client_dn = '/CN=fleet'"),
	1, 'over an encrypted connection');

$_->stop foreach $careful, $registry;
done_testing();
