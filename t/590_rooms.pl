# The rooms of the source: who may include whom.  No server is needed to see it.
#
# src/README.md has the table.  What is on top (src/*.h) is for all rooms but the
# pure core, and knows none of them; src/cosid.c, which starts the module, is the
# only file there that does.

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Find;
use PostgreSQL::Test::Utils;
use Test::More;

# A room, and those that it may include besides itself.  On top is ''.
my %may = (
	id => [],
	mint => [ 'id', '' ],
	lease => [ 'mint', 'id', '' ],
	define => [ 'mint', 'id', '' ],
	sql => [ 'define', 'lease', 'mint', 'id', '' ],
	'' => []);

# What the pure core has of the C library.
my %pure = map { $_ => 1 } qw(inttypes.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h);

my $source = dirname(__FILE__) . '/../src';

sub room
{
	my ($file) = @_;
	return $file =~ m{^(\w+)/} ? $1 : '';
}

# A module is a header and its source.
sub module
{
	my ($file) = @_;
	return $file =~ s/\.[ch]$//r;
}

# path => text, below src/
sub read_tree
{
	my %tree;

	find({ no_chdir => 1, wanted => sub {
		$tree{ substr($_, length("$source/")) } = slurp_file($_) if /\.[ch]$/;
	} }, $source);
	return \%tree;
}

# What is wrong with one include, or undef.
sub wrong_include
{
	my ($tree, $file, $included, $quoted) = @_;
	my $room = room($file);

	if (!$quoted || !exists $tree->{$included})
	{
		return "there is no such file in src/"
		  if $quoted && ($included !~ m{/} ? $included !~ /^(postgres|fmgr|funcapi|miscadmin|pgstat|pgtime|libpq-fe)\.h$/
			: exists $may{ room($included) });
		return $room eq 'id' && !$pure{$included} ? 'id is pure C' : undef;
	}
	return undef if room($included) eq $room || $file eq 'cosid.c';
	return undef if grep { $_ eq room($included) } @{ $may{$room} };
	return ($room || 'what is on top') . ' may not include ' . (room($included) || 'what is on top');
}

# Each thing that is wrong with a tree, with its line.
sub wrong
{
	my ($tree) = @_;
	my @wrong;
	my %edges;		# module => { module => where }

	foreach my $file (sort keys %$tree)
	{
		my $number = 0;

		push @wrong, "src/$file: there is no room " . room($file) unless exists $may{ room($file) };
		foreach my $line (split /\n/, $tree->{$file})
		{
			$number++;
			my ($bracket, $included) = $line =~ /^\s*#\s*include\s*([<"])([^>"]+)[>"]/ or next;
			my $where = "src/$file:$number: $line";
			my $wrong = wrong_include($tree, $file, $included, $bracket eq '"');

			push @wrong, "$where ($wrong)" if defined $wrong;
			$edges{ module($file) }{ module($included) } = $where
			  if exists $tree->{$included} && module($file) ne module($included);
		}
	}

	# Take away, again and again, what includes nothing that is left and what
	# nothing that is left includes: circles stay.
	while (1)
	{
		my %included = map { map { $_ => 1 } keys %$_ } values %edges;
		my @ends = grep { !$included{$_} || !grep { exists $edges{$_} } keys %{ $edges{$_} } } keys %edges;

		last unless @ends;
		delete @edges{@ends};
	}
	foreach my $module (sort keys %edges)
	{
		push @wrong, map { "$edges{$module}{$_} (is part of a circle)" }
		  sort grep { exists $edges{$_} } keys %{ $edges{$module} };
	}
	return @wrong;
}

my $tree = read_tree();
is(join("\n", wrong($tree)), '', 'includes go one way: sql -> define -> mint -> id, lease -> mint -> id');
cmp_ok(scalar(keys %$tree), '>=', 50, 'files were found');

# A tree that has one more line must not pass, and the line is named.
foreach my $planted (
	[ 'mint/generator.c', '#include "lease/tend.h"', 'mint may not include lease' ],
	[ 'mint/slot.h', '#include "define/definition.h"', 'mint may not include define' ],
	[ 'define/create.c', '#include "lease/registry.h"', 'define may not include lease' ],
	[ 'define/create.c', '  # include "lease/registry.h"', 'define may not include lease' ],
	[ 'lease/worker.c', '#include "define/definition.h"', 'lease may not include define' ],
	[ 'lease/registry.h', '#include "define/row.h"', 'lease may not include define' ],
	[ 'define/cache.c', '#include "sql/nothing.h"', 'there is no such file in src/' ],
	[ 'define/cache.c', '#include "row.h"', 'there is no such file in src/' ],
	[ 'catalog.h', '#include "mint/lease.h"', 'what is on top may not include mint' ],
	[ 'id/radix.c', '#include "postgres.h"', 'id is pure C' ],
	[ 'id/radix.c', '#include "settings.h"', 'id may not include what is on top' ],
	[ 'id/radix.c', '#include <unistd.h>', 'id is pure C' ],
	[ 'id/snowflake.h', '#include "id/converter.h"', 'is part of a circle' ],
	[ 'mint/lease.c', '#include "mint/slot.h"', 'is part of a circle' ],
	[ 'define/definition.h', '#include "define/row.h"', 'is part of a circle' ],
	[ 'lease/registry.c', '#include "lease/connection.h"', 'is part of a circle' ])
{
	my ($file, $line, $why) = @$planted;
	my %changed = (%$tree, $file => "$line\n$tree->{$file}");
	my @found = grep { $_ eq "src/$file:1: $line ($why)" } wrong(\%changed);

	is(scalar(@found), 1, "$file with $line") or diag(join "\n", wrong(\%changed));
}

# What the pages on the source name is there: files, and functions in them.
foreach my $page ('src/README.md', 'src/mint/README.md', 'spec/README.md')
{
	my $text = slurp_file("$source/../$page");
	my %named = map { $_ => 1 } $text =~ /\b(\w+\.[ch])\b/g;
	my @missing;

	foreach my $name (sort keys %named)
	{
		push @missing, $name unless -e "$source/../test/unit/$name" || grep { m{(^|/)\Q$name\E$} } keys %$tree;
	}
	while ($text =~ /`(\w+)` in `(\w+\.[ch])`/g)
	{
		my ($function, $name) = ($1, $2);

		push @missing, "$function in $name"
		  unless grep { m{(^|/)\Q$name\E$} && $tree->{$_} =~ /\b\Q$function\E\b/ } keys %$tree;
	}
	cmp_ok(scalar(keys %named), '>=', 3, "$page names files");
	is(join(', ', @missing), '', "$page names what is there");
}

# A file longer than a sitting has two subjects.
is(join(', ', grep { ($tree->{$_} =~ tr/\n//) > 500 } sort keys %$tree), '', 'no file has more than 500 lines');

done_testing();
