#!/usr/bin/env perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Adapts copies of files to another base kernel.
#
#	series/scripts/rename.pl RENAMES FROM TO LIST
#
# RENAMES has lines of `PATTERN...: SUBSTITUTION`. The script runs the perl substitution on each
# file in LIST that matches a PATTERN, in which * stands for anything. It reads a file from FROM,
# unless TO has it already, and writes it to TO if it changes. If a substitution changes no file
# that matches one of its patterns, that is an error, so that obsolete lines are found.

use strict;
use warnings;
use File::Basename qw(dirname);
use File::Copy qw(cp);
use File::Path qw(make_path);

die "usage: rename.pl RENAMES FROM TO LIST\n" if @ARGV != 4;
my ($renames, $from, $to, $list) = @ARGV;
my (%text, %changed);

sub slurp
{
	my ($path) = @_;

	open my $in, '<:raw', $path or die "$path: $!\n";
	local $/ = undef;
	my $text = <$in>;
	close $in;
	return $text // '';
}

my @files = split /\n/, slurp($list);
for my $line (split /\n/, slurp($renames)) {
	next if $line =~ /^\s*(?:#|$)/;
	my ($patterns, $code) = $line =~ /^(\S.*?): (.*)$/ or die "$renames: $line: no substitution\n";
	my $substitute = eval "sub { $code }" or die "$renames: $code: $@";

	for my $pattern (split ' ', $patterns) {
		my $re = join '.*', map { quotemeta } split /\*/, $pattern, -1;
		my $found = 0;

		for my $file (grep { /^$re$/ } @files) {
			local $_ = $text{$file} //= slurp(-e "$to/$file" ? "$to/$file" : "$from/$file");

			next if !$substitute->();
			$found = $changed{$file} = 1;
			$text{$file} = $_;
		}
		die "$renames: $code: matches nothing in $pattern\n" if !$found;
	}
}
for my $file (sort keys %changed) {
	make_path(dirname("$to/$file"));
	# Copy the file first, so that it keeps its mode.
	cp("$from/$file", "$to/$file") or die "$to/$file: $!\n" if !-e "$to/$file";
	open my $out, '>:raw', "$to/$file" or die "$to/$file: $!\n";
	print {$out} $text{$file};
	close $out or die "$to/$file: $!\n";
}
