#!/usr/bin/env perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Finds what a header has before the patch that needs it: prototypes of functions that no patch
# has defined or called yet, and fields, constants and reasons that no code uses yet.
#
#	series/scripts/early.pl REPOSITORY [LIST]
#
# REPOSITORY has the steps of the series as commits after the tag base, see export.sh. What was
# in the base kernel is left out. Without LIST, each finding is printed: kind, name, file and
# line, the step that it arrives with and the one that needs it.
#
# LIST has lines of `KIND NAME: why`: findings that are to stay. Others are printed, and so are
# lines of LIST that are no finding any more. The first line is `At most N`: the number of lines,
# which may only shrink.

use strict;
use warnings;

die "usage: early.pl REPOSITORY [LIST]\n" if @ARGV < 1 || @ARGV > 2;
my ($repo, $list) = @ARGV;
my (%step_of, @subject, %code, %steps);

sub git
{
	open my $in, '-|', 'git', '-C', $repo, @_ or die "git: $!\n";
	my @out = <$in>;
	close $in or die "git @_ failed\n";
	chomp @out;
	return @out;
}

my @commits = git('log', '--reverse', '--format=%H %s', 'base..HEAD');
for my $i (0 .. $#commits) {
	my ($id, $subject) = $commits[$i] =~ /^(\S+) (.*)/;

	$step_of{$id} = $i + 1;
	$subject[$i + 1] = $subject;
}

# read_file(FILE): its lines, without comments and strings, and the step that each arrived with
sub read_file
{
	my ($file) = @_;
	my $step = 0;
	my $comment = 0;

	for (git('blame', '--porcelain', 'base..HEAD', '--', $file)) {
		if (/^([0-9a-f]{40}) /) {
			$step = $step_of{$1} // 0;
		} elsif (s/^\t//) {
			s{/\*.*?\*/}{}g;
			if ($comment) {
				$comment = 0 if s{^.*?\*/}{};
				$_ = '' if $comment;
			}
			$comment = 1 if s{/\*.*}{};
			s{//.*}{} if $file !~ /\.S$/;
			s{"(?:[^"\\]|\\.)*"}{""}g if !/\basm\b|SYM_|^\s*#\s*include/;
			push @{$code{$file}}, $_;
			push @{$steps{$file}}, $step;
		}
	}
	return;
}

my @files = grep { m{^(?:include/linux/(?:kprobe|probepoint)|kernel/|arch/x86/|init/|lib/).*\.[chS]$} }
	git('diff', '--name-only', '--diff-filter=d', 'base', 'HEAD');
@files = grep { !m{^kernel/kprobes/(?:tests|torture)/} } @files;
read_file($_) for @files;

my @ours = grep { m{^include/linux/(?:kprobe|probepoint)|kprobes/\w+\.h$|/asm/(?:kprobes|probepoint)\.h$} }
	@files;
my %ours = map { $_ => 1 } @ours;
my (%word, %member, %type);

# The first step that uses a name: %word anywhere, %member after -> or a dot, %type after struct
# or enum
sub note
{
	my ($hash, $name, $step) = @_;

	$hash->{$name} = $step if !defined $hash->{$name} || $hash->{$name} > $step;
	return;
}

# statements(FILE): [first line, last line, text] of each statement outside of braces
sub statements
{
	my ($file) = @_;
	my ($code, @found, $text, $first) = ($code{$file});
	my $depth = 0;

	for my $i (0 .. $#$code) {
		my $line = $code->[$i];

		if ($line =~ /^\s*#/ || ($i && $code->[$i - 1] =~ /^\s*#.*\\$/)) {
			$text = undef;
			next;
		}
		if (!$depth && $line =~ /\S/) {
			$first = $i if !defined $text;
			$text = ($text // '') . " $line";
		}
		my $opened = ($line =~ tr/{//) - ($line =~ tr/}//);
		$depth += $opened;
		if (!$depth && defined $text && $line =~ /[;}]\s*$/) {
			push @found, [$first, $i, $text];
			$text = undef;
		}
	}
	return @found;
}

my (@prototypes, %is_prototype);
for my $file (@ours) {
	for my $statement (statements($file)) {
		my ($first, $last, $text) = @$statement;

		next if $text =~ /[{}=]/ || $text =~ /^\s*(?:typedef|static|struct \w+;|enum \w+;)/;
		my $name;
		if ($text =~ /\bDECLARE_PER_CPU\(.*?\b(\w+)\);/) {
			$name = $1;
		} elsif ($text =~ /^\s*extern\b.*?\b(\w+)(?:\[\w*\])*(?:\s+__\w+)?;/) {
			$name = $1;
		} elsif ($text =~ /\b(\w+)\(.*\)(?:\s*__\w+)*;/) {
			($name) = $text =~ /^[^(]*?\b(\w+)\(/;
		}
		next if !defined $name || $name =~ /^DE/;
		push @prototypes, [$name, $file, $first, $last];
		$is_prototype{$file}{$_} = 1 for $first .. $last;
	}
}

# Fields of structures and constants of enumerations
my (@fields, @constants, @types, %is_declared);
for my $file (@ours) {
	my ($code, $inside, $type, $depth, $start) = ($code{$file}, '', '', 0, 0);

	for my $i (0 .. $#$code) {
		my $line = $code->[$i];

		# One of linux/kprobe_reason_list.h
		if (!$depth && $line =~ /^KPROBE_[A-Z]+\((\w+),/) {
			push @constants, [$1, $file, $i, $i + 1];
			$is_declared{$file}{$i} = 1;
			next;
		}
		if (!$depth && $line =~ /^(struct|enum) (\w+) \{$/) {
			($inside, $depth, $type, $start) = ($1, 1, $2, $i);
			next;
		}
		next if !$depth;
		$depth += ($line =~ tr/{//) - ($line =~ tr/}//);
		if (!$depth) {
			push @types, [$type, $file, $start, $i];
			$is_declared{$file}{$start} = 1;
			next;
		}
		if ($inside eq 'struct' && $line =~ /\(\*(\w+)\)\(|\b(\w+)(?:\[.*\])?(?:\s+__\w+(?:\(.*\))?)*;/) {
			my @names = $line =~ /^\s+[^(]*,/ ? $line =~ /\*?(\w+)(?=[,;])/g : ($1 // $2);
			push @fields, [$_, $file, $i, $i] for @names;
			$is_declared{$file}{$i} = 1;
		} elsif ($inside eq 'enum' && $line =~ /^\t(\w+)/) {
			push @constants, [$1, $file, $i, $i];
			$is_declared{$file}{$i} = 1;
		}
	}
}

for my $file (@files) {
	my $code = $code{$file};

	for my $i (0 .. $#$code) {
		my ($line, $step) = ($code->[$i], $steps{$file}[$i]);

		note(\%type, $_, $step) for $line =~ /\b(?:struct|enum) (\w+)\b(?!;$| \{$)/g;
		next if $is_prototype{$file}{$i} || $is_declared{$file}{$i};
		note(\%member, $_, $step) for $line =~ /(?:->|\.|,\s*)(\w+)/g;
		next if $line =~ /^\s*(?:EXPORT_SYMBOL|NOKPROBE_SYMBOL)/;
		# An empty function in a header is no use of the prototype.
		my $inline = qr/^static (?:__always_)?inline\b[^(]*?/;
		my $stub = '';
		if ($ours{$file} && ($line =~ /$inline\b(\w+)\(/ ||
				     ($i && $code->[$i - 1] =~ /$inline$/ && $line =~ /^[a-z][^(]*?\b(\w+)\(/))) {
			$stub = $1;
		}
		note(\%word, $_, $step) for grep { $_ ne $stub } $line =~ /\b([A-Za-z_]\w*)/g;
	}
}

my %needs = (prototype => \%word, field => \%member, constant => \%word, type => \%type);
my %found;
for (['prototype', \@prototypes], ['field', \@fields], ['constant', \@constants],
     ['type', \@types]) {
	my ($kind, $all) = @$_;

	for my $one (@$all) {
		my ($name, $file, $first, $last) = @$one;
		my $step = $steps{$file}[$first];
		my $needed = $needs{$kind}{$name};

		next if !$step || !defined $needed || $step >= $needed;
		$found{"$kind $name"} = [$file, $first, $last, $step, $needed];
	}
}

# What the base kernel's header has declared is not new, even if its line has changed.
my %known;
for my $file (@ours) {
	next if !git('ls-tree', '--name-only', 'base', $file);
	$known{$file}{$_} = 1 for map { /\b(\w+)\b/g } git('show', "base:$file");
}
for my $what (keys %found) {
	my ($name) = $what =~ /(\w+)$/;

	delete $found{$what} if $known{$found{$what}[0]}{$name};
}

my $all = @prototypes + @fields + @constants + @types;
if (!defined $list) {
	for my $what (sort keys %found) {
		my ($file, $first, $last, $step, $needed) = @{$found{$what}};

		printf "%s: %s:%d-%d: %d (%s), needed by %d (%s)\n", $what, $file, $first + 1,
			$last + 1, $step, $subject[$step], $needed, $subject[$needed];
	}
	printf "%d of %d\n", scalar keys %found, $all;
	exit 0;
}

open my $in, '<', $list or die "$list: $!\n";
my ($most, $listed, %why) = (undef, 0);
while (<$in>) {
	chomp;
	next if /^\s*(?:#|$)/;
	if (/^At most (\d+)$/) {
		$most = $1;
	} elsif (/^(\w+ \w+): \S/) {
		$why{$1} = 1;
		$listed++;
	} else {
		print "$list: no `KIND NAME: why`: $_\n";
	}
}
close $in;
print "$list: has $listed lines, and says at most ", $most // 'nothing', "\n"
	if !defined $most || $listed != $most;
for my $what (sort keys %found) {
	my ($file, $first, $last, $step, $needed) = @{$found{$what}};

	print "$what: arrives with '$subject[$step]', and '$subject[$needed]' needs it first\n"
		if !$why{$what};
}
for my $what (sort keys %why) {
	print "$list: $what does not arrive early: remove the line\n" if !$found{$what};
}
