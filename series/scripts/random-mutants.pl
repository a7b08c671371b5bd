#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Breaks statements that are chosen at random, in ways that rules determine. All broken statements
# are in one kernel, and a parameter on its command line selects one of them. Usage:
#
#	random-mutants.pl COUNT SEED TREE COPY MATRIX DROPPED GUESS
#
# TREE is out/linux, COPY the copy of the project that gets the mutants: our files, the diff
# series/edits/zz-mutants.diff for lines that other edits add, and kernel/kprobes/mutant.c. MATRIX
# has a file SCRIPT.txt for each script, with FILE:LINE for each line that it executes, and
# boot.txt for the boot. Only such lines are broken. GUESS also has SCRIPT.txt, with FILE:* for each
# file in which the script may find mutants: it is used for lines that only the boot executes, or
# for all lines if there is no MATRIX. DROPPED is a file with names of mutants to leave out. Prints
# a line for each mutant: its number, name, FILE:LINE-LINE, rule, function, the statement before and
# after, and the scripts that may find it, separated by tabs.
#
# Mutant 17 of the statement `a = b + 1;` is
#	{ extern int kprobe_mutant; if (kprobe_mutant == 17) a = b - 1; else a = b + 1; }
# so all mutants are in one kernel, and kprobe_mutant=17 on its command line selects this one. A
# condition, or the value of an initialiser, becomes a conditional expression. Lines keep their
# numbers. Code that cannot be written in that way has no mutants: assembler, tables, declarations,
# case labels. Nor have statements that only check or log something, or whose mutants no test could
# notice: see $SKIP.
#
# The statements are sorted by a hash of the seed and of their text, and the first COUNT are broken.
# So if one function changes, the mutants of others stay the same.

use strict;
use warnings;
use Digest::MD5 qw(md5_hex);

my ($count, $seed, $tree, $copy, $matrix, $dropped, $guess) = @ARGV;
defined $guess or die "usage: $0 COUNT SEED TREE COPY MATRIX DROPPED GUESS\n";

# Statements with these words have no mutants: assertions, messages, what only the compiler sees,
# and barriers. No test could notice a missing barrier on x86, or in an emulator whose CPUs take
# turns.
my $SKIP = qr/\b(\w*WARN\w*|BU(?:G|ILD)\w*|\w*lockdep\w*|might_\w+|cond_resched\w*|pr_\w+|printk\w*|
	panic|static_assert|IS_ENABLED|__builtin\w+|asm|kmsan\w*|kasan\w*|instrumentation_\w+|
	cpu_relax|OPTIMIZER_HIDE_VAR|touch_\w+|barrier\w*|smp_\w*mb\w*|prefetch\w*|ANNOTATE\w*|va_\w+)\b/x;
# Calls whose arguments are not swapped: a swap would not compile, or would change nothing
my $NO_SWAP = qr/^(if|while|for|switch|sizeof|return|offsetof|container_of|list_entry|min|max|swap|
	READ_ONCE|WRITE_ONCE|likely|unlikely|memcmp|strcmp|__get_kernel_nofault|this_cpu_\w+|\w+_t|__alignof__)$/x;
my %TURNED = ('<' => ['<=', '>='], '<=' => ['<', '>'], '>' => ['>=', '<='], '>=' => ['>', '<'],
	      '==' => ['!='], '!=' => ['=='], '&&' => ['||'], '||' => ['&&'], '+' => ['-'], '-' => ['+'],
	      '&' => ['|'], '|' => ['&'], '<<' => ['>>'], '>>' => ['<<'], '+=' => ['-='], '-=' => ['+='],
	      '|=' => ['&='], '&=' => ['|=']);
my %WIDTH = (u8 => 'u16', u16 => 'u8', u32 => 'u16', u64 => 'u32', s8 => 'u8', s16 => 's8', s32 => 's16',
	     int => 's16', long => 'int', 'unsigned int' => 'u16', 'unsigned long' => 'u32');
# What locks, and what unlocks
my %PAIR = (mutex_lock => 'mutex_unlock', spin_lock => 'spin_unlock', rcu_read_lock => 'rcu_read_unlock',
	    raw_spin_lock => 'raw_spin_unlock', jump_label_lock => 'jump_label_unlock',
	    cpus_read_lock => 'cpus_read_unlock', preempt_disable => 'preempt_enable',
	    preempt_disable_notrace => 'preempt_enable_notrace');

sub slurp
{
	my ($path) = @_;
	open my $fh, '<', $path or die "$path: $!\n";
	local $/;
	return scalar <$fh>;
}

sub spit
{
	my ($path, $text) = @_;
	open my $fh, '>', $path or die "$path: $!\n";
	print $fh $text;
	close $fh or die "$path: $!\n";
}

sub blank { return $_[0] =~ s/[^\n]/ /gr }

# close_of TEXT POS: returns the position after the bracket that closes the bracket at POS
sub close_of
{
	my ($text, $pos) = @_;
	my $depth = 0;

	for (; $pos < length $text; $pos++) {
		my $c = substr $text, $pos, 1;
		$depth++ if $c =~ /[(\[{]/;
		return $pos + 1 if $c =~ /[)\]}]/ && !--$depth;
	}
	return length $text;
}

# split_at TEXT SEPARATOR: returns the parts of the text between separators, as [offset, text].
# Separators within brackets do not count.
sub split_at
{
	my ($text, $separator) = @_;
	my ($pos, $from, @parts) = (0, 0);

	while ($pos < length $text) {
		my $c = substr $text, $pos, 1;
		if ($c =~ /[(\[{]/) {
			$pos = close_of($text, $pos);
			next;
		}
		if ($c eq $separator) {
			push @parts, [$from, substr $text, $from, $pos - $from];
			$from = $pos + 1;
		}
		$pos++;
	}
	return (@parts, [$from, substr $text, $from]);
}

# units TEXT FROM TO: returns [kind, from, to, name, argument] for each part of a function's body
# that can be mutated. Only calls that lock or unlock have a name and an argument.
sub units
{
	my ($m, $pos, $to) = @_;
	my @units;

	while ($pos < $to) {
		my $rest = substr $m, $pos, $to - $pos;
		if ($rest =~ /^(?:\s+|[{};]|(?:else|do)\b|(?:case\b[^:]*|default\s*|\w+\s*):(?!:))/) {
			$pos += $+[0];
		} elsif ($rest =~ /^#(?:[^\n]*\\\n)*[^\n]*/) {
			$pos += $+[0];
		} elsif ($rest =~ /^(if|while|for|switch)\s*\(/) {
			my ($what, $from) = ($1, $pos + $+[0]);
			$pos = close_of($m, $from - 1);
			my $inside = substr $m, $from, $pos - 1 - $from;
			if ($what eq 'for') {
				my @parts = split_at($inside, ';');
				push @units, ['cond', $from + $parts[1][0],
					      $from + $parts[1][0] + length $parts[1][1]] if @parts == 3;
			} elsif ($what ne 'switch') {
				push @units, [$what eq 'if' ? 'if' : 'cond', $from, $pos - 1];
			}
		} elsif ($rest =~ /^(?:scoped_guard\s*\(\s*mutex\s*,|guard\s*\(\s*mutex\s*\)\s*\()/) {
			my $from = $pos + $+[0];
			my $open = $rest =~ /^guard/ ? $from - 1 : $pos + index $rest, '(';
			$pos = close_of($m, $open);
			push @units, ['guard', $from, $pos - 1];
		} elsif ($rest =~ /^\w+\s*\(/ && substr($m, close_of($m, $pos + $+[0] - 1)) =~ /^\s*[{\w]/) {
			# Skip the head of a loop over a list, or of a guard's scope.
			$pos = close_of($m, $pos + $+[0] - 1);
		} else {
			my ($part) = split_at($rest, ';');
			my $text = $part->[1];
			my $end = $pos + length($text) + 1;
			if ($text =~ /^(?:LIST_HEAD|DEFINE_\w+|DECLARE_\w+|CLASS|guard)\b/ || $text =~ /\n#/ ||
			    $text =~ /^(?:goto|break|continue)\b/) {
				# not mutated
			} elsif ($text !~ /^return\b/ && $text =~ /^(?:\w+\s+)+\**\w+\s*(?:=|,|\[|__|\(\*|$)/) {
				push @units, ['init', $pos + $+[0], $end - 1]
					if $text !~ /^static/ && $text =~ /^[\w\s*]+?(?:__free\(\w+\)\s*)?=(?!\s*\{)/ &&
					   split_at($text, ',') == 1;
			} elsif ($text =~ /^(\w+)\((.*)\)$/s && ($PAIR{$1} || grep { $_ eq $1 } values %PAIR)) {
				push @units, ['pair', $pos, $end, $1, $2];
			} else {
				push @units, ['stmt', $pos, $end];
			}
			$pos = $end;
		}
	}
	return @units;
}

# mutants TEXT MASKED KIND: returns [rule, changed text] for each possible mutant of TEXT. MASKED is
# TEXT with the contents of strings blanked.
sub mutants
{
	my ($o, $m, $kind) = @_;
	my @out;
	my $put = sub {
		my ($rule, $from, $length, $new) = @_;
		my $text = $o;
		substr($text, $from, $length) = $new;
		push @out, [$rule, $text];
	};

	while ($m =~ /\s([<>]=?|[=!]=|&&|\|\||<<|>>|[-+&|]=?)(?=\s)/g) {
		my ($op, $at) = ($1, $-[1]);
		my $rule = $op =~ /^(?:[<>]=?|[=!]=)$/ ? 'comparison' : $op =~ /&&|\|\|/ ? 'logic' : 'operator';
		$put->($rule, $at, length $op, $_) for @{$TURNED{$op}};
	}
	$put->('operator', $-[1], 2, $1 eq '++' ? '--' : '++') while $m =~ /(\+\+|--)/g;
	while ($m =~ /(?<![\w.])(0x[0-9a-f]+|\d+)(?=[uUlL]*\b)(?!\.)/gi) {
		my ($number, $at) = ($1, $-[1]);
		my $value = $number =~ /^0x/i ? hex $number : $number;
		my $format = $number =~ /^0x/i ? '0x%x' : '%d';
		$put->('constant', $at, length $number, sprintf $format, $value + 1);
		$put->('constant', $at, length $number, sprintf $format, $value - 1) if $value;
	}
	$put->('constant', $-[1], length $1, $1 eq 'true' ? 'false' : 'true') while $m =~ /\b(true|false)\b/g;
	$put->('errno', $-[1], length $1, $1 eq '-EIO' ? '-EPERM' : '-EIO') while $m =~ /(?<!\w)(-E[A-Z]+)\b/g;
	$put->('negation', $-[1], 1, '') while $m =~ /(!)(?=[\w(*])/g;
	$put->('negation', 0, length $o, "!($o)") if $kind eq 'if';
	while ($m =~ /\(([us](?:8|16|32|64)|int|long|unsigned (?:int|long))\)(?=[\w(*&~-])/g) {
		$put->('width', $-[1], length $1, $WIDTH{$1}) if $WIDTH{$1};
	}
	while ($m =~ /\b(min|max)\(/g) {
		$put->('argument', $-[1], 3, $1 eq 'min' ? 'max' : 'min');
	}
	while ($m =~ /\b(\w+)\(/g) {
		my ($name, $open) = ($1, $+[0] - 1);
		next if $name =~ $NO_SWAP;
		my $inside = substr $m, $open + 1, close_of($m, $open) - $open - 2;
		my @args = split_at($inside, ',');
		for my $i (0 .. $#args - 1) {
			my ($a, $b) = map { substr $o, $open + 1 + $_->[0], length $_->[1] } @args[$i, $i + 1];
			s/^\s+|\s+$//g for $a, $b;
			next if $a eq $b;
			$put->('argument', $open + 1 + $args[$i][0],
			       length($args[$i][1]) + 1 + length $args[$i + 1][1], "$b, $a");
		}
	}
	push @out, ['dropped', ''] if $kind eq 'stmt' && $m !~ /^return\b/;
	return @out;
}

# %scripts: the scripts that execute a line, by FILE:LINE; and the scripts that may find a mutant in
# a file, by FILE:*
my %scripts;
for my $path (glob("$matrix/*.txt"), glob "$guess/*.txt") {
	# SCRIPT@GUEST.txt has what SCRIPT executes in a guest of its own: it counts for SCRIPT.
	my ($script) = $path =~ m{([^/@]+)[^/]*\.txt$};
	push @{$scripts{$_}}, $script for split ' ', slurp($path);
}
my %skip = map { $_ => 1 } split ' ', slurp($dropped);

# %files: the files that get mutants. The value for our own files is undef: mutants may be in any
# line. For files that edits change, it has the numbers of the lines that the edits add.
chdir $tree or die "$tree: $!\n";
my %files;
$files{$_} = undef for grep { !m{/(?:tests|torture)/} }
	split ' ', `cd '$copy' && find kernel arch/x86 include -name '*.[ch]' 2>/dev/null`;
for my $file (split ' ', `cd .series/orig && find . -name '*.[ch]' -printf '%P\n'`) {
	next if exists $files{$file};
	$files{$file} = { map { $_ => 1 } split ' ',
		`diff --unchanged-line-format= --old-line-format= --new-line-format='%dn ' .series/orig/$file $file` };
}

my (%text, @candidates);
for my $file (sort keys %files) {
	my $o = $text{$file} = slurp($file);
	# $plain is the text without comments, $m also without the contents of strings.
	my $plain = $o =~ s{("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|(/\*.*?\*/|//[^\n]*)}{$1 // blank($2)}gesr;
	my $m = $plain =~ s{"(?:\\.|[^"\\\n])*"}{'"' . ' ' x (length($&) - 2) . '"'}ger;
	while ($m =~ /^\{$(.*?)^\}/gms) {
		my ($from, $to) = ($-[1], $+[1]);
		my ($name) = substr($m, 0, $from) =~ /.*^\S.*?\b(\w+)\(/ms;
		my @units = units($m, $from, $to);
		my $nth = 0;
		for my $unit (@units) {
			my ($kind, $begin, $end, $lock, $arg) = @$unit;
			my $text = substr $plain, $begin, $end - $begin;
			my $first = 1 + (substr($o, 0, $begin) . ($text =~ /^(\s*)/)[0]) =~ tr/\n//;
			my $last = $first + ($text =~ s/^\s+//r) =~ tr/\n//;
			my @lines = $first .. $last;
			$nth++;
			next if $text =~ $SKIP || !defined $name;
			next if $files{$file} && grep { !$files{$file}{$_} } @lines;
			my @covered = map { @{$scripts{"$file:$_"} // []} } @lines;
			next if -d $matrix && !@covered;
			@covered = grep { $_ ne 'boot' } @covered;
			@covered = @{$scripts{"$file:*"} // []} if !@covered;
			next if !@covered;
			my @mutants;
			my @parts = [$begin, $end];
			if ($kind eq 'guard') {
				@mutants = ['lock', ''];
			} elsif ($kind eq 'pair') {
				my @ends = grep { $_->[0] eq 'pair' && $_->[3] eq ($PAIR{$lock} // '') &&
						  $_->[4] eq $arg } @units;
				next if !@ends;
				@mutants = ['lock', ''];
				push @parts, map { [$_->[1], $_->[2]] } @ends;
			} else {
				@mutants = mutants($text, substr($m, $begin, $end - $begin), $kind);
			}
			push @candidates, {
				file => $file, kind => $kind, first => $first, last => $last, name => $name,
				text => $text, parts => \@parts, mutants => \@mutants,
				scripts => join(' ', sort keys %{{ map { $_ => 1 } @covered }}),
				hash => md5_hex("$seed $file $name $nth $kind $text"),
			} if @mutants;
		}
	}
}

sub squeeze { return $_[0] =~ s/\s+/ /gr =~ s/^ | $//gr }

my $TEST = '({ extern int kprobe_mutant; kprobe_mutant; }) == ';
# Also number the candidates that are left out. So if one more is left out, the others keep their
# numbers, and fewer files must be compiled again.
my ($number, $made) = (0, 0);
my (%edits, %taken);
for my $c (sort { $a->{hash} cmp $b->{hash} } @candidates) {
	last if $made == $count;
	$number++;
	# Choose a rule first, then one of the changes that the rule makes: otherwise, a statement
	# with many constants would mostly get a changed constant.
	my (%rules, $rule, $new, $id);
	push @{$rules{$_->[0]}}, $_->[1] for @{$c->{mutants}};
	my @by_hash = sort { md5_hex("$c->{hash} $a->[0] $a->[1]") cmp md5_hex("$c->{hash} $b->[0] $b->[1]") }
		map { my $r = $_; map { [$r, $_] } $rules{$r}[hex(substr $c->{hash}, 0, 7) % @{$rules{$r}}] } keys %rules;
	for (@by_hash) {
		($rule, $new) = @$_;
		$id = substr md5_hex("$c->{file} $c->{name} $c->{text} $rule $new"), 0, 10;
		last if !$skip{$id};
		$id = undef;
	}
	next if !defined $id || grep { $taken{"$c->{file} $_->[0]"} } @{$c->{parts}};
	$taken{"$c->{file} $_->[0]"} = 1 for @{$c->{parts}};
	$made++;
	for my $part (@{$c->{parts}}) {
		my ($from, $to) = @$part;
		my $old = substr $text{$c->{file}}, $from, $to - $from;
		my $put = squeeze($new);
		if ($c->{kind} eq 'guard') {
			$put = "({ static DEFINE_MUTEX(kprobe_mutant_lock); $TEST$number ? &kprobe_mutant_lock : ($old); })";
			$put =~ s/^\(\{/ ({/;
		} elsif ($rule eq 'dropped' || $rule eq 'lock') {
			$put = "{ if ($TEST$number) { } else $old }";
		} elsif ($c->{kind} eq 'stmt') {
			$put = "{ if ($TEST$number) $put else $old }";
		} else {
			my $not = $c->{kind} eq "init" ? "" : "!!";
			$put = " ($TEST$number ? $not($put) : $not($old))";
		}
		push @{$edits{$c->{file}}}, [$from, $to - $from, $put];
	}
	my @fields = ($number, $id, "$c->{file}:$c->{first}-$c->{last}", $rule, $c->{name}, $c->{text},
		      $rule eq 'lock' ? 'another lock, or none' : $rule eq 'dropped' ? 'nothing' : $new, $c->{scripts});
	print join("\t", map { squeeze($_) } @fields), "\n";
}

my $diff = '';
for my $file (sort keys %edits) {
	my $new = $text{$file};
	substr($new, $_->[0], $_->[1]) = $_->[2] for sort { $b->[0] <=> $a->[0] } @{$edits{$file}};
	if (!$files{$file}) {
		spit("$copy/$file", $new);
		next;
	}
	spit("$copy/mutant.tmp", $new);
	$diff .= `diff -U1 --label a/$file --label b/$file $file '$copy/mutant.tmp'`;
	unlink "$copy/mutant.tmp";
}
spit("$copy/series/edits/zz-mutants.diff", "Why: the mutants of lines that other edits add\n\n$diff") if $diff ne '';
spit("$copy/kernel/kprobes/mutant.c", <<'C');
// SPDX-License-Identifier: GPL-2.0-only
/* Selects a mutant, see series/scripts/random-mutants.pl */
#include <linux/export.h>
#include <linux/moduleparam.h>

int kprobe_mutant;
EXPORT_SYMBOL(kprobe_mutant);
core_param(kprobe_mutant, kprobe_mutant, int, 0444);
C
my $makefile = slurp("$copy/kernel/kprobes/Makefile");
$makefile .= "obj-y += mutant.o\n" if $makefile !~ /mutant\.o/;
spit("$copy/kernel/kprobes/Makefile", $makefile);
