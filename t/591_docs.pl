# The documentation does as it says: every example of the pages gives the
# output that stands beside it, the SQL of README.md runs, and the pages have all
# functions, columns, settings, errors and lines of the log, and as they are.

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
check_page($_) foreach qw(adopting adopting-orms concepts faq fleet monitoring settings sql-reference troubleshooting);

# All that reading.c defines, and nothing else.
my %defined = map { $_ => 1 } slurp_file("$root/src/sql/reading.c") =~ /^PG_FUNCTION_INFO_V1\((\w+)\);/mg;
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
# Pages against catalogs and source
#

# The cells of each row of a page's tables that begins with `...`, without the
# backquotes of the first and what keeps Markdown from reading more into them.
sub rows_of
{
	my ($text) = @_;
	return map { [ map { s/^`(.*)`$/$1/r =~ s/\\([<|])/$1/gr } split / \| /, s/^\| | \|$//gr ] }
	  grep { /^\| `/ } split /\n/, $text;
}

sub query
{
	my ($sql) = @_;
	return map { [ split /\t/, $_, -1 ] }
	  split /\n/, $node->safe_psql('fresh', $sql, extra_params => [ '--field-separator', "\t" ]);
}

$node->safe_psql('postgres', 'CREATE DATABASE fresh');
$node->safe_psql('fresh', 'CREATE EXTENSION cosid');

my $reference = slurp_file("$root/doc/sql-reference.md");

# Functions: arguments, result, volatility, who may call them, comment.  Long
# lists of arguments are cut short.
my %arguments;
my @in_catalog = query(<<'SQL');
SELECT proname || '(' || coalesce(
           (SELECT string_agg(concat_ws(' ', quote_ident(a.name), format_type(a.type, NULL)), ', ' ORDER BY a.n)
              FROM unnest(proargnames, proargtypes::oid[]) WITH ORDINALITY a (name, type, n)
             WHERE n <= pronargs), '') || ')',
       pg_get_function_result(p.oid),
       CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
       coalesce((SELECT string_agg(CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, ', ')
                   FROM aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee <> proowner), 'owner'),
       obj_description(p.oid, 'pg_proc')
  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
 WHERE d.deptype = 'e' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'cosid')
SQL
foreach my $row (@in_catalog)
{
	my ($name, $list) = $row->[0] =~ /^(\w+)\((.*)\)$/;

	$arguments{$name} = [ split /, /, $list ];
	$row->[0] = "$name($arguments{$name}[0], ...)" if @{ $arguments{$name} } > 4;
}
cmp_ok(scalar(@in_catalog), '>=', 42, 'all functions are found');
is_deeply(
	[ sort map { join ' | ', @{$_}[ 0 .. 4 ] } grep { $_->[0] =~ /^cosid_\w+\(/ } rows_of($reference) ],
	[ sort map { join ' | ', @$_ } @in_catalog ],
	'sql-reference.md has each function as it is');
is_deeply([ map { "$_->[0] $_->[1]" } rows_of($reference =~ s/.*\n\| argument \|(.*?)\n\n.*/$1/sr) ],
	$arguments{cosid_create}, 'and the arguments of cosid_create');

# Relations and the type: columns, types, comments.
my (undef, @sections) = split /^### `/m, $reference;
is_deeply(
	[
		map {
			my ($relation, $text) = split /`\n/, $_, 2;
			map { join ' | ', $relation, @$_ } grep { @$_ == 3 } rows_of($text =~ s/\n## .*//sr)
		} @sections
	],
	[
		map { join ' | ', @$_ } query(<<'SQL')
SELECT c.relname, attname, format_type(atttypid, atttypmod), col_description(c.oid, attnum)
  FROM pg_class c JOIN pg_attribute ON attrelid = c.oid AND attnum > 0
 WHERE relkind IN ('r', 'v', 'c') AND relname LIKE 'cosid%'
 ORDER BY array_position('{cosid_state,cosid_lease,cosid_stat,cosid_generator,cosid_machine,cosid_registry}', relname::text), attnum
SQL
	],
	'sql-reference.md has each column as it is');

# Settings: default and what a new value takes.  Nothing is set here.
my %takes = (postmaster => 'restart', sighup => 'reload', superuser => 'superuser', user => 'anyone');
is_deeply(
	[ sort map { join ' ', $_->[0], $_->[1] =~ tr/`//dr, $_->[2] } grep { @$_ == 5 } rows_of(slurp_file("$root/doc/settings.md")) ],
	[
		map { join ' ', $_->[0], $_->[1] eq '' ? '(empty)' : $_->[1], $takes{ $_->[2] } } query(<<'SQL')
SELECT name, current_setting(name), context FROM pg_settings WHERE name LIKE 'cosid.%' ORDER BY name COLLATE "C"
SQL
	],
	'settings.md has each setting with its default');

# Errors, by the names that the source has for them
my $troubleshooting = slurp_file("$root/doc/troubleshooting.md");
my ($sharedir) = run_command([ 'pg_config', '--sharedir' ]);
my %code = slurp_file("$sharedir/errcodes.txt") =~ /^(\w{5}) +[EWS] +(ERRCODE_\w+)/mg;
my %raised;
my @logged;

%code = (reverse(%code), slurp_file("$root/src/errors.h") =~ /(ERRCODE_COSID\w+)\s+MAKE_SQLSTATE(\(.*\))/g);
foreach my $source (map { slurp_file($_) } glob "$root/src/{*.c,*/*.c}")
{
	$raised{ ($code{$_} // "$_ has no code") =~ tr/A-Z0-9//cdr } = 1 foreach $source =~ /errcode\((ERRCODE_\w+)\)/g;
	push @logged, $source =~ /ereport\((?:LOG|WARNING|FATAL),[^;]*?errmsg\("((?:[^"\\]|\\.)*)"/g;
}
cmp_ok(scalar(keys %raised), '>=', 20, 'errors are found');
is_deeply([ sort grep { /^\w{5}$/ } map { $_->[0] } rows_of($troubleshooting) ],
	[ sort keys %raised ], 'troubleshooting.md has each error');

is(join(' ', grep { !$raised{$_} } map { $_->[5] =~ /\b(\w{5})\b/g } grep { $_->[0] =~ /^cosid_\w+\(/ } rows_of($reference)),
	'', 'sql-reference.md names no other error');

cmp_ok(scalar(@logged), '>=', 10, 'lines of the log are found');
foreach my $line (@logged)
{
	my $pattern = join '.+?', map { quotemeta s/\\"/"/gr } split /%(?:ll)?[sd]/, $line, -1;

	like($troubleshooting, qr/^\| `$pattern` \|/m, "troubleshooting.md has the line: $line");
}

#
# README.md
#
my @blocks = examples('README.md');

cmp_ok(scalar(@blocks), '>=', 4, 'README.md has SQL');
$node->safe_psql('postgres', 'CREATE DATABASE readme');
outputs('readme', @blocks);
my @pages = map { s|^\Q$root\E/||r } glob "$root/doc/*.md";

foreach my $page ('CONTRIBUTING.md', @pages)
{
	ok(slurp_file("$root/README.md") =~ /\(\Q$page\E\)/, "README.md has a link to $page");
}

# Links lead somewhere: to a file, and to a heading if they name one.
sub leads_somewhere
{
	my ($page, $link) = @_;
	my ($file, $anchor) = split /#/, $link;
	my $path = $file eq '' ? $page : ($page =~ m|^(.*/)| ? $1 : '') . $file;

	return 0 unless -f "$root/$path";
	return !defined $anchor
	  || grep { lc($_) =~ s/[^\w\- ]//gr =~ tr/ /-/r eq $anchor } slurp_file("$root/$path") =~ /^#+ (.*)/mg;
}

foreach my $page ('README.md', 'CONTRIBUTING.md', 'src/README.md', 'src/mint/README.md', 'spec/README.md', @pages)
{
	is(join(' ', grep { !leads_somewhere($page, $_) } slurp_file("$root/$page") =~ /\]\((?!https:)([^()]+)\)/g),
		'', "$page: links lead somewhere");
}

$node->stop;
done_testing();
