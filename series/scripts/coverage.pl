#!/usr/bin/env perl
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh runs this, and describes the files:
#	coverage.pl TREE MEASURED LINES BRANCHES [all]	reads gcov's output; writes which lines and
#							branches were executed, or all
#	coverage.pl TREE report DIRECTORY EXCEPTIONS	prints what no script executes
# MEASURED has a line FILE for each file that is measured as a whole, and FILE:LINE for each single
# line that is measured in another file.

use strict;
use warnings;
use Cwd 'realpath';

my ($tree, @args) = @ARGV;
my $link = $tree;
$tree = realpath($tree);

sub slurp
{
	my ($path) = @_;

	open(my $in, '<', $path) or die "$path: $!\n";
	chomp(my @lines = <$in>);
	return @lines;
}

# sorted ITEM...: sorts FILE:LINE and FILE:LINE:N by file, then by the numbers
sub sorted
{
	return map { $_->[0] } sort {
		$a->[1][0] cmp $b->[1][0] || $a->[1][1] <=> $b->[1][1] ||
			($a->[1][2] // 0) <=> ($b->[1][2] // 0)
	} map { [$_, [split /:/]] } @_;
}

sub read_gcov
{
	my ($measured, $lines_to, $branches_to, $all) = @_;
	my %measured = map { $_ => 1 } slurp($measured);
	my (%lines, %branches, $file, $at);

	while (<STDIN>) {
		if (/^\s+-:\s+0:Source:(.*)/) {
			$file = $1;
			1 while $file =~ s{[^/.]+/\.\./}{};
			# The path begins with the tree, or with a symbolic link to it; with ccache,
			# it is relative.
			$file =~ s{^(?:\Q$tree\E|\Q$link\E|(?:\.\./)+linux)/}{};
			undef $at;
		} elsif (/^\s*([^\s:]+):\s*(\d+):/) {
			$at = $measured{$file} || $measured{"$file:$2"} ? "$file:$2" : undef;
			next if !$at || $1 eq '-';
			$lines{$at} = 1 if $all || $1 =~ /^[1-9]/;
		} elsif ($at && /^branch\s+(\d+) (?:taken (\d+)|never executed)/) {
			$branches{"$at:$1"} = 1 if $all || $2;
		}
	}
	for ([$lines_to, \%lines], [$branches_to, \%branches]) {
		open(my $out, '>', $_->[0]) or die "$_->[0]: $!\n";
		print $out "$_\n" for sorted(keys %{$_->[1]});
		close($out) or die;
	}
}

my %sources;
# source FILE:LINE: returns the text of the line, and the name of the function that it is in
sub source
{
	my ($at) = @_;
	my ($file, $line) = split /:/, $at;

	if (!$sources{$file}) {
		my $function = '';
		$sources{$file} = [''];
		for (slurp("$tree/$file")) {
			$function = $1 if /^(?=\w).*?\b(\w+)\([^;]*$/;
			push @{$sources{$file}}, [s/^\s+//r, $function];
			$function = '' if /^}/;
		}
	}
	return @{$sources{$file}[$line]};
}

# nothing_alone DONE, SCRIPTS: returns the scripts that are never the only one: another script
# executes each of their lines, too. For each line, DONE has { script => 1 } for the scripts that
# execute it.
sub nothing_alone
{
	my ($done, @scripts) = @_;
	my %alone;

	for (values %$done) {
		my @by = keys %$_;
		$alone{$by[0]}++ if @by == 1;
	}
	return grep { !$alone{$_} } @scripts;
}

# ranges MISSING, ALL: joins adjacent lines of MISSING, which no script executes, to ranges. Returns
# [FIRST, '-LAST', LAST] for each. A range stays within one function, and spans no line of ALL, the
# compiled lines, that is not in MISSING. Both are references to sorted lists.
sub ranges
{
	my ($missing, $all) = @_;
	my (%next, @ranges);

	@next{@$all[0 .. $#$all - 1]} = @$all[1 .. $#$all] if $all;
	for my $at (@$missing) {
		if (@ranges && ($next{$ranges[-1][2]} // '') eq $at && (source($at))[1] eq (source($ranges[-1][0]))[1]) {
			$ranges[-1][1] = $at =~ s/.*:/-/r;
			$ranges[-1][2] = $at;
		} else {
			push @ranges, [$at, '', $at];
		}
	}
	return @ranges;
}

sub percent
{
	my ($run, $all) = @_;

	return $all ? sprintf('%5d of %5d %5.1f %%', $run, $all, 100 * $run / $all) : '      none         ';
}

sub report
{
	my ($dir, $exceptions) = @_;
	my (@exceptions, %by, %counts, %excepted, %used);

	my ($variant) = $dir =~ m{([^/]+)/*$};

	for (grep { !/^(#|$)/ } slurp($exceptions)) {
		my ($words, $file, $what) = /^((?:\w+ )*)([^:\s]+):(\S.*?)\t+\S/ or die "$exceptions: '$_'\n";
		my $only = $words =~ s/\bbranches //;
		next if $words && $words !~ /\b$variant\b/;
		my $glob = join '.*', map { quotemeta } split /\*/, $file, -1;
		push @exceptions, [qr/^$glob$/, $what, $_, $only];
	}
	my @files = glob("$dir/lines/*.txt");
	my %scripts = map { m{([^/@]+)(?:@[^/]*)?\.txt$} ? ($1 => 1) : () } @files;
	for my $file (@files, glob("$dir/branches/*.txt")) {
		my ($script) = $file =~ m{([^/@]+)(?:@[^/]*)?\.txt$};
		$by{$_}{$script} = 1 for slurp($file);
	}

	for my $kind ('lines', 'branches') {
		my (@missing, %seen);
		for my $at (slurp("$dir/all-$kind.txt")) {
			my ($file, $line) = split /:/, $at;
			my $group = $file =~ m{^(?:arch/x86|kernel)/(?:kernel/)?kprobes[./]} ?
				($file =~ /^arch/ ? 'x86' : 'core') : $file =~ /kprobe|probepoint/ &&
				$file =~ /\.h$/ ? 'headers' : 'edits';
			for ($file, "all of $group", 'all') {
				$counts{$_}{$kind}[1]++;
				$counts{$_}{$kind}[0] += exists $by{$at};
			}
			next if $by{$at};
			my ($text, $function) = source($at);
			my @known = grep {
				(!$_->[3] || $kind eq 'branches' && $by{"$file:$line"}) && $file =~ $_->[0] &&
				($_->[1] =~ /^\w+\(\)(?: |$)/ ? index("$function() $text", $_->[1]) == 0 :
				 index($text, $_->[1]) >= 0)
			} @exceptions;
			if (@known) {
				$used{$_->[2]} = 1 for @known;
				$counts{$_}{$kind}[2]++ for $file, "all of $group", 'all';
				next;
			}
			push @missing, $at if $kind eq 'lines' || $by{"$file:$line"};
		}
		printf "== %s that no script executes, without exceptions: %d\n", $kind, scalar @missing;
		for (ranges(\@missing, $kind eq 'lines' && [slurp("$dir/all-lines.txt")])) {
			my ($at, $to) = @$_;
			my ($text, $function) = source($at);
			printf "   %-44s %s%s\n", "$at$to", $function && "$function(): ", $text;
		}
	}
	print "== exceptions that except nothing\n", map { "   $_->[2]\n" } grep { !$used{$_->[2]} } @exceptions
		if grep { !$used{$_->[2]} } @exceptions;

	my %lines = map { $_ => $by{$_} } grep { tr/:// == 1 } keys %by;
	print "== scripts that execute no line alone\n";
	print "   $_\n" for nothing_alone(\%lines, sort keys %scripts);

	print "== executed, by ", scalar keys %scripts, " scripts; `+ N': not executed, and in $exceptions\n";
	for (sort { ($a =~ /^all/) <=> ($b =~ /^all/) || $a cmp $b } keys %counts) {
		printf "   %-44s", $_;
		for my $kind ('lines', 'branches') {
			my ($run, $all, $known) = @{$counts{$_}{$kind} // [0, 0]};
			printf ' %s%s', percent($run, $all), $known ? sprintf(' + %-4d', $known) : '       ';
		}
		print "\n";
	}
}

if ($args[0] eq 'report') {
	report(@args[1, 2]);
} else {
	read_gcov(@args);
}
