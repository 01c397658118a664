# The documentation does as it says: every example of the pages gives the
# output that stands beside it, the table of doc/reading-ids.md lists the
# functions that there are with their volatility, and the SQL of README.md runs.

use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/..";

my $node = PostgreSQL::Test::Cluster->new('docs');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'cosid'");
$node->start;

# A page's examples, in order: { line, kind, sql, expected }.
#
# A block is SQL and, if an indented block follows it, what psql shows for it
# (without the command tags).  A row of a table is an example if one of its
# cells is a query: the cells after that are its output, or SQLSTATE and message.
sub examples
{
	my ($file) = @_;
	my @lines = split /\n/, slurp_file("$root/$file");
	my @examples;

	for (my $i = 0; $i < @lines; $i++)
	{
		my $at = $i + 1;

		if ($lines[$i] eq '```sql')
		{
			my ($sql, $output) = ('', '');

			$sql .= "$lines[$i]\n"
			  while ++$i < @lines && $lines[$i] ne '```';
			$output .= ($1 // '') . "\n"
			  while ++$i < @lines && $lines[$i] =~ /^(?:    (.*))?$/;
			$i--;
			push @examples, { line => $at, kind => 'block', sql => $sql, expected => $output };
		}
		elsif ($lines[$i] =~ /^\| .*`SELECT /)
		{
			my ($first, @cells) = map { s/^`(.*)`$/$1/r } split / \| /, $lines[$i] =~ s/^\| | \|$//gr;

			push @examples, $first =~ /^SELECT /
			  ? { line => $at, kind => 'error', sql => $first, expected => "$cells[0] $cells[1]\n" }
			  : { line => $at, kind => 'row', function => $first, volatility => $cells[0], sql => $cells[1], expected => "$cells[2]\n" };
		}
	}
	return @examples;
}

# What psql shows for each example, in one session.
sub outputs
{
	my ($database, @examples) = @_;
	my $script = '';

	foreach my $example (@examples)
	{
		$script .= "\\echo === $example->{line}\n";
		$script .=
		    $example->{kind} eq 'block' ? "\\pset format aligned\n\\pset tuples_only off\n$example->{sql}"
		  : $example->{kind} eq 'row' ? "\\pset format unaligned\n\\pset fieldsep ','\n\\pset tuples_only on\n$example->{sql};\n"
		  : "\\set ON_ERROR_STOP off\n$example->{sql};\n\\echo :LAST_ERROR_SQLSTATE :LAST_ERROR_MESSAGE\n\\set ON_ERROR_STOP on\n";
	}
	my ($stdout, $stderr) = ('', '');
	my $ret = $node->psql($database, $script,
		stdout => \$stdout, stderr => \$stderr,
		extra_params => [ '--no-align', '--quiet', '--pset=tuples_only=off' ]);

	is($ret, 0, "$database: the SQL runs") or diag($stderr);
	my (undef, %outputs) = split /^=== (\d+)\n/m, "$stdout\n";
	return \%outputs;
}

# Trailing blanks and the blank lines between results say nothing.
sub tidy
{
	my ($text) = @_;
	return join '', map { s/\s+$//r . "\n" } grep { /\S/ } split /\n/, $text;
}

#
# The pages
#
sub check_page
{
	my ($page) = @_;
	my @examples = examples("doc/$page.md");
	my $database = $page =~ tr/-/_/r;

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	my $outputs = outputs($database, @examples);

	foreach my $example (@examples)
	{
		my $output = $outputs->{ $example->{line} } // '';

		next if $example->{kind} eq 'block' && tidy($example->{expected}) eq '';
		is(tidy($output), tidy($example->{expected}),
			"$page.md, line $example->{line}: " . (split /\n/, $example->{sql})[-1]);
	}
	return grep { $_->{kind} eq 'row' } @examples;
}

my @rows = check_page('reading-ids');
check_page('adopting');
check_page('fleet');
check_page('adopting-orms');

# All that reading.c defines, and nothing else.
my %defined = map { $_ => 1 } slurp_file("$root/src/reading.c") =~ /^PG_FUNCTION_INFO_V1\((\w+)\);/mg;
my $catalog = $node->safe_psql('reading_ids', <<'SQL');
SELECT prosrc, format('%s(%s) %s', proname, array_to_string(proargnames, ', '),
                      CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END)
  FROM pg_proc WHERE probin LIKE '%cosid'
SQL
my @functions = map { (split /\|/)[1] } grep { $defined{ (split /\|/)[0] } } split /\n/, $catalog;

cmp_ok(scalar(@functions), '>=', 24, 'functions are found');
is_deeply([ sort map { "$_->{function} $_->{volatility}" } @rows ],
	[ sort @functions ], 'the table has each function, with its volatility');
is(scalar(grep { $_->{sql} !~ /\b\Q@{[ $_->{function} =~ s|\(.*||r ]}\E\(/ } @rows),
	0, 'each example calls its function');

#
# README.md
#
my @blocks = examples('README.md');

cmp_ok(scalar(@blocks), '>=', 4, 'README.md has SQL');
$node->safe_psql('postgres', 'CREATE DATABASE readme');
outputs('readme', @blocks);
foreach my $page (map { s|.*/||r } glob "$root/doc/*.md")
{
	like(slurp_file("$root/README.md") . slurp_file("$root/doc/adopting.md"),
		qr{\((?:doc/)?\Q$page\E\)}, "there is a link to $page");
}

$node->stop;
done_testing();
