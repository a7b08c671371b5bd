#!/usr/bin/env perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints about how many lines kbuild prints when it builds a configuration: reads the makefiles that
# kbuild would read, and takes most of their conditions for true.
#
#	series/scripts/objects.pl TREE CONFIG

use strict;
use warnings;

my ($tree, $config) = @ARGV;
die "usage: $0 TREE CONFIG\n" if @ARGV != 2;

my %option;
open(my $in, '<', $config) or die "$config: $!\n";
while (<$in>) {
	$option{$1} = $2 eq 'm' ? 'm' : 'y' if /^CONFIG_(\w+)=(.*)/;
}
close $in;

my ($objects, $modules) = (0, 0);
my %visited;

# is_true(CONDITION): 0 or 1; undef if it is about something else than an option
sub is_true {
	my ($line) = @_;

	return exists $option{$2} ? $1 eq '' : $1 ne '' if $line =~ /^if(n?)def\s+CONFIG_(\w+)/;
	return (($option{$2} // '') eq $3) == ($1 eq '')
		if $line =~ /^if(n?)eq\s*\(\$\(CONFIG_(\w+)\),\s*([ym]?)\)/;
	return undef;
}

# logical_lines(FILE): its lines that are not left out by a condition
sub logical_lines {
	my ($file) = @_;
	my (@lines, @held);

	open(my $fh, '<', $file) or return;
	my $text = do { local $/; <$fh> };
	close $fh;
	$text =~ s/\\\n/ /g;
	for (split /\n/, $text) {
		s/#.*//;
		s/^\s+//;
		if (/^if(n?def|n?eq)/) {
			push @held, is_true($_) // 1;
		} elsif (/^else/) {
			# The other branch of a condition that nothing is known of counts, too.
			$held[-1] = !$held[-1] if @held;
		} elsif (/^endif/) {
			pop @held;
		} elsif (!grep { !$_ } @held) {
			push @lines, $_;
		}
	}
	return @lines;
}

sub count_parts {
	my ($name, $parts, $seen) = @_;

	return 0 if $seen->{$name}++;
	my $n = 1;
	$n += count_parts($_, $parts, $seen) for @{$parts->{$name} // []};
	return $n;
}

sub visit {
	my ($dir) = @_;
	my ($file) = grep { -e } map { "$tree/$dir/$_" } qw(Kbuild Makefile);
	my (%parts, %value, @dirs);

	return if !$file || $visited{$dir}++;
	for (logical_lines($file)) {
		s/\$\(subst m,y,\$\(CONFIG_(\w+)\)\)/exists $option{$1} ? 'y' : ''/ge;
		s/\$\(CONFIG_(\w+)\)/$option{$1} \/\/ ''/ge;
		next if !/^([\w.-]+)-(y|m|objs)\s*[:+]?=\s*(.*)/;
		my ($what, $how, $tokens) = ($1, $2, $3);
		for (split ' ', $tokens) {
			if (m{^([\w./-]+)/$}) {
				push @dirs, $1;
			} elsif (/^([\w.\/-]+)\.o$/) {
				if ($what eq 'obj' || $what eq 'lib') {
					$value{$1} = $how;
				} else {
					push @{$parts{$what}}, $1;
				}
			}
		}
	}
	my %seen;
	for my $name (sort keys %value) {
		$objects += count_parts($name, \%parts, \%seen);
		$modules++ if $value{$name} eq 'm';
	}
	visit("$dir/$_") for @dirs;
}

visit($_) for qw(init usr arch/x86 arch/x86/lib arch/x86/pci arch/x86/power arch/x86/video
	kernel certs mm fs ipc security crypto io_uring block lib drivers sound samples net virt);
# A module has three more lines. Headers, programs of the host and the boot image are the rest.
print 590 + $objects + 3 * $modules, "\n";
