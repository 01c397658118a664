# The files that packages are made from name the version that cosid.control has,
# and META.json is as PGXN wants it.

use strict;
use warnings;

use FindBin;

use JSON::PP qw(decode_json);
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/..";
my ($version) = slurp_file("$root/cosid.control") =~ /^default_version = '(\d+\.\d+)'$/m;
my ($packaged) = slurp_file("$root/debian/changelog") =~ /\Acosid \(([^)]+)-\d+\)/;
my ($changes) = slurp_file("$root/CHANGELOG.md") =~ /^## (\d+\.\d+)/m;
my $meta = decode_json(slurp_file("$root/META.json"));

ok($version, 'cosid.control has a version');
is($packaged, $version, "the Debian package's");
is($changes, $version, 'that of the latest changes');

# PGXN's versions have three numbers.
is($meta->{version}, "$version.0", "META.json's");
is_deeply([ keys %{ $meta->{provides} } ], ['cosid'], 'META.json provides cosid');
is($meta->{provides}{cosid}{version}, $meta->{version}, 'of this version');
is($meta->{provides}{cosid}{file}, "cosid--$version.sql", 'by this script');
ok(-f "$root/$meta->{provides}{cosid}{$_}", "its $_ exists") foreach qw(file docfile);

# The oldest PostgreSQL is the one that the library compiles for.
my ($oldest) = slurp_file("$root/src/compat.h") =~ /^#if PG_VERSION_NUM < (\d+)0000$/m;
is($meta->{prereqs}{runtime}{requires}{PostgreSQL}, "$oldest.0.0", 'for these versions of PostgreSQL');
is(slurp_file("$root/debian/pgversions"), "$oldest+\n", 'and so is the Debian package');

# What the specification, version 1.0.0, asks for
is_deeply([ grep { !$meta->{$_} } qw(name version abstract maintainer license provides meta-spec) ],
	[], 'META.json has what it must have');
is($meta->{'meta-spec'}{version}, '1.0.0', 'of the specification that there is');
is($meta->{license}, 'postgresql', 'the license by the name that it has there');

done_testing();
