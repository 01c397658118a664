# doc/monitoring/: the queries run, with the rights that doc/monitoring.md names,
# and give what their metrics say; alert rules and dashboard use these metrics and
# no others.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;

use CosidTest;
use JSON::PP qw(decode_json);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = "$FindBin::RealBin/../doc/monitoring";
my $node = cosid_server('monitoring_files');
my %usage;    # of each metric

mint($node, 'shop', 'order', 1);
$node->safe_psql('shop', 'CREATE ROLE exporter LOGIN IN ROLE pg_monitor');

# query => { once, sql, columns: [ name, usage ] }: as much of YAML as the file uses
my %queries;
my $current;

foreach my $line (split /\n/, slurp_file("$dir/queries.yaml"))
{
	if ($line =~ /^(\w+):$/) { $current = $queries{$1} = { columns => [] }; }
	elsif ($line eq '  master: true') { $current->{once} = 1; }
	elsif ($line =~ /^  query: "(.*)"$/) { $current->{sql} = $1; }
	elsif ($line =~ /^    - (\w+):$/) { push @{ $current->{columns} }, [$1]; }
	elsif ($line =~ /^        usage: "(\w+)"$/) { $current->{columns}[-1][1] = $1; }
	elsif ($line !~ /^(#.*|  metrics:|        description: ".+")?$/) { fail("queries.yaml: $line"); }
}
is(join(' ', sort keys %queries), 'cosid_lease cosid_stat', 'a query for each view');
is(scalar(grep { $_->{once} } values %queries), 2, 'once for all databases');

foreach my $name (sort keys %queries)
{
	my ($sql, $columns) = @{ $queries{$name} }{qw(sql columns)};
	my $output = $node->safe_psql('shop', $sql,
		extra_params => [ '-U', 'exporter', '--pset=tuples_only=off', '--pset=footer=off' ]);
	my ($header, @rows) = map { [ split /\|/, $_, -1 ] } split /\n/, $output;

	is_deeply($header, [ map { $_->[0] } @$columns ], "$name: has the columns of its metrics");
	cmp_ok(scalar(@rows), '>=', 1, "$name: has rows");
	foreach my $i (0 .. $#$columns)
	{
		my ($column, $usage) = @{ $columns->[$i] };
		my @bad = grep { $usage ne 'LABEL' && $_->[$i] !~ /^-?\d+(\.\d+)?(e[+-]?\d+)?$/ } @rows;

		like($usage, qr/^(LABEL|GAUGE|COUNTER)$/, "$name: usage of $column");
		is(scalar @bad, 0, "$name: $column is a number") unless $usage eq 'LABEL';
		$usage{"${name}_$column"} = $usage unless $usage eq 'LABEL';
	}
}

# The metrics that expressions use; a counter only by its rate or increase.
sub check_expressions
{
	my ($file, @expressions) = @_;

	cmp_ok(scalar(@expressions), '>=', 6, "$file: has expressions");
	foreach my $expression (@expressions)
	{
		my @metrics = $expression =~ /\b(cosid_\w+)/g;

		cmp_ok(scalar(@metrics), '>=', 1, "$file: $expression");
		is(join(' ', grep { !$usage{$_} } @metrics), '', "$file: metrics that there are: $expression");
		is( join(' ',
				grep { ($usage{$_} // '') eq 'COUNTER' && $expression !~ /(rate|increase)\(\Q$_\E[{[]/ } @metrics),
			'', "$file: counters are not used as they are: $expression");
	}
	return;
}

check_expressions('alerts.yaml', slurp_file("$dir/alerts.yaml") =~ /^        expr: (.*)$/mg);

my $dashboard = decode_json(slurp_file("$dir/dashboard.json"));
check_expressions('dashboard.json', map { $_->{expr} } map { @{ $_->{targets} } } @{ $dashboard->{panels} });

# What becomes of a server whose registry fails.
my $failing = $queries{cosid_lease}{sql} =~ s/SELECT .* FROM/SELECT failing FROM/r;
$failing =~ s/SELECT failing FROM cosid_lease/SELECT failing FROM ($queries{cosid_lease}{sql}) AS q WHERE namespace = 'cosid'/;
is($node->safe_psql('shop', $failing), 0, 'failing: 0 while all is well');
$node->safe_psql('postgres', <<'SQL');
ALTER SYSTEM SET cosid.guard_interval = '1s';
SELECT pg_reload_conf();
ALTER TABLE cosid_machine RENAME TO cosid_elsewhere;
SQL
ok(wait_until(sub { $node->safe_psql('shop', $failing) == 1 }), 'failing: 1 while the registry fails');
$node->safe_psql('postgres', 'ALTER TABLE cosid_elsewhere RENAME TO cosid_machine');
ok(wait_until(sub { $node->safe_psql('shop', $failing) == 0 }), 'failing: 0 when that is over');

$node->stop;
done_testing();
