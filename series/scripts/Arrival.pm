# SPDX-License-Identifier: GPL-2.0-only
#
# split.pl splits our files into the patches of the series, which it calls steps. This module finds
# the step with which a line of a header, a makefile or suites.sh arrives: the step of the first
# code that needs the line, or the step of the file itself, if that is later.
#
# - In a header, a prototype, an inline function, a variable, a macro, a type, an enumerator or a
#   reason arrives with the first code that has its name. That may be the file that defines it, a
#   caller, or another line of a header. All that has one name, such as a prototype and the empty
#   function for #else, arrives at once. A name that the base kernel's version of the header has,
#   too, is there from the start, since other code of the base kernel may use it.
# - A member of a structure arrives with the first code that has its name after -> or a dot, or in a
#   call such as container_of(), but not before the structure. The line that describes the member
#   above the structure arrives with the member.
# - #include of a file of ours arrives with the file, and "struct x;" with the first line that uses
#   the type.
# - In a makefile, a line arrives with the last of the files that it names, and a comment with the
#   first line under it. In suites.sh, a topic arrives with the last of the modules and functions
#   that it names.
#
# A line that no other code needs arrives with its file.

package Arrival;

use strict;
use warnings;
use Exporter qw(import);
use File::Basename qw(basename dirname);
use List::Util qw(max min);

our @EXPORT_OK = qw(owners);

my $LATE = 1e9;
my $TESTS = qr{^(?:tools/testing|samples|kernel/kprobes/(?:tests|torture))/};
my (%files, %arrives, %claimed, %of, %used, %step);

# bare(TEXT): the lines without comments and strings
sub bare
{
	my ($text) = @_;
	my $blank = sub { $_[0] =~ s/[^\n]//gr };

	$text =~ s{(/\*.*?\*/)|("(?:[^"\\\n]|\\.)*")}{
		defined $1 ? $blank->($1) : '""'}gse;
	return split /\n/, $text, -1;
}

# names_in(LINE): returns "KIND NAME" for each name that a line of code uses
sub names_in
{
	my ($line) = @_;
	my @found = map { "word $_" } $line =~ /\b([A-Za-z_]\w*)/g;

	push @found, map { "member $_" } $line =~ /(?:->|\.)\s*([A-Za-z_]\w*)/g;
	# Macros such as container_of() take the name of a member without an arrow or a dot before
	# it.
	push @found, map { "member $_" } $line =~ /,\s*([A-Za-z_]\w*)/g
		if $line =~ /offsetof|container_of|OFFSET|DEFINE\(|_entry|entry_|kfree_rcu|rb_|list_|struct_size|struct \w+,/;
	push @found, map { "type $_" } $line =~ /\b(?:struct|enum|union) (\w+)\b(?!;| \{$)/g;
	return @found;
}

# name_of(STATEMENT): returns "KIND NAME" for what a statement outside of braces declares
sub name_of
{
	my ($text) = @_;

	return "type $2" if $text =~ /^(struct|enum|union) (\w+) \{/;
	return "forward $1" if $text =~ /^(?:struct|enum|union) (\w+);/;
	return "word $1" if $text =~ /^typedef\b.*?\(\*(\w+)\)\(/ || $text =~ /^typedef\b.*\b(\w+);/;
	return "word $1" if $text =~ /^(?:DECLARE|DEFINE)_[A-Z_]*\((?:.*,\s*)?(\w+)\);/;
	return "word KPROBE_REASON_$1" if $text =~ /^KPROBE_(?:REFUSAL|EXECUTION|JUMP)\((\w+),/;
	return "word $1" if $text =~ /^[A-Z][A-Z_]+\((\w+),/;
	return "word $1" if $text =~ /^extern\b[^(]*?\b(\w+)(?:\[\w*\])*(?:\s+__\w+)*[;,]/;
	return "word $1" if $text =~ /^[^(=]*?\b(\w+)\(/;
	return;
}

# scan_header(FILE): returns, for each line of a header, "KIND NAME" of the declaration that the
# line is part of, or undef
sub scan_header
{
	my ($file) = @_;
	my @code = bare($files{$file});
	my @raw = split /\n/, $files{$file}, -1;
	my (@of, @nested, $text, $first, $type, $kind);
	my ($depth, $parens, $define) = (0, 0, '');

	for my $i (0 .. $#code) {
		my $line = $code[$i];

		if ($define || $line =~ /^\s*#/) {
			$text = undef if !$depth && !$parens;
			if (!$define && $line =~ /^\s*#\s*define\s+(\w+)/) {
				# Leave out the #define of the include guard.
				$of[$i] = "word $1" if ($code[$i - 1] // '') ne "#ifndef $1";
			} elsif (!$define && $raw[$i] =~ /^\s*#\s*include\s+[<"](\S+)[>"]/) {
				my ($path) = grep { defined $arrives{$_} }
					dirname($file) . "/$1", "include/$1", "arch/x86/include/$1";
				$of[$i] = "file $path" if defined $path;
			} elsif ($define) {
				$of[$i] = $define;
			}
			$define = $line =~ /\\$/ ? $of[$i] // 'none' : '';
			$of[$i] = undef if ($of[$i] // '') eq 'none';
			next;
		}
		next if $line !~ /\S/;
		if (!defined $text) {
			($text, $first, $type) = ('', $i, undef);
		}
		$text .= ($text eq '' ? '' : ' ') . $line;
		if (!$depth && $line =~ /^(struct|enum|union) (\w+) \{$/) {
			($kind, $type) = ($1, $2);
		} elsif ($depth && defined $type && $line !~ /^\}/) {
			if ($line =~ /\{$/) {
				push @nested, [$i];
			} elsif ($line =~ /^\s*\}/) {
				my ($start, @names) = @{pop @nested};

				@of[$start, $i] = ("nested $type @names") x 2;
				push @{$nested[-1]}, @names if @nested;
			} elsif ($kind eq 'enum') {
				$of[$i] = "enumerator $type $1" if $line =~ /^\t(\w+)/;
			} elsif ($line =~ /\(\*(\w+)\)\(/ || $line =~ /\b(\w+)(?:\[.*\])?(?:\s+__\w+(?:\(.*\))?)*;/) {
				my @names = $line =~ /^\s+[^(]*,/ ? $line =~ /\*?(\w+)(?=[,;])/g : $1;

				$of[$i] = "member $type @names";
				push @{$nested[-1]}, @names if @nested;
			}
		}
		$depth += ($line =~ tr/{//) - ($line =~ tr/}//);
		$parens += ($line =~ tr/(//) - ($line =~ tr/)//);
		next if $depth || $parens || ($line !~ /[;}]\s*$/ && $text !~ /^[A-Z][A-Z_]+\(.*\)$/);
		my $name = name_of($text) // die "$file: what does this declare? $text\n";
		$name .= " $file" if $name =~ /^forward/;
		$of[$_] //= $name for $first .. $i;
		($text, $parens) = (undef, 0);
	}
	# Descriptions of members
	my %of_member;
	for my $mine (grep { defined && /^(?:member|enumerator)/ } @of) {
		my (undef, $struct, @names) = split ' ', $mine;

		$of_member{"$struct $_"} = $mine for @names;
	}
	my ($about, $member);
	for my $i (0 .. $#raw) {
		if ($raw[$i] =~ /^ \* (?:struct|enum|union) (\w+) - /) {
			($about, $member) = ($1, undef);
		} elsif (!defined $about) {
			next;
		} elsif ($raw[$i] =~ m{^ \*/|^ \*$}) {
			$member = undef;
			$about = undef if $raw[$i] =~ m{/};
		} elsif ($raw[$i] =~ /^ \* \@(\w+):/) {
			$member = $of_member{"$about $1"};
		}
		$of[$i] = $member if defined $member;
	}
	return @of;
}

# statements(LINES): returns the numbers [first, last] of the lines of each statement of a makefile
sub statements
{
	my ($lines) = @_;
	my @found;

	for (my $i = 0; $i < @$lines; $i++) {
		my $end = $i;

		# In a list with one item in each line, each line counts as a statement.
		if ($lines->[$i] !~ /^\w+ [:+]?= \\$/ && $lines->[$i] !~ /^\t[\w.\/-]+ \\$/) {
			$end++ while $end < $#$lines && $lines->[$end] =~ /\\$/;
		}
		push @found, [$i, $end];
		$i = $end;
	}
	return @found;
}

# files_named(DIRECTORY, LINES, TEXT): returns the step of the last file that arrives, of the files
# that TEXT names; or undef if it names none. LINES are the lines of the makefile.
sub files_named
{
	my ($dir, $lines, $text) = @_;
	my $last;

	for my $token ($text =~ m{[\w.*/-]+}g) {
		my $stem = $token =~ s/\.o$//r;
		my @try = $token =~ m{^(.*)/$} ? "$token/Makefile" : $token =~ /\.o$/ ?
			("$stem.c", "$stem.S") : ($token, "$token.c");
		my ($file) = grep { defined $arrives{$_} } map { "$dir/$_" =~ s{//+}{/}gr } @try;

		if (defined $file) {
			$last = max($last // 0, $arrives{$file});
		} elsif ($token =~ /\.o$/) {
			# A module of several objects
			for my $parts (grep { /^\Q$stem\E-\S+ [:+]?= / } @$lines) {
				my $nr = files_named($dir, [], $parts =~ s/^\S+//r);
				$last = max($last // 0, $nr) if defined $nr;
			}
		}
	}
	return $last;
}

sub makefile_owners
{
	my ($file) = @_;
	my @lines = split /\n/, $files{$file};
	my (@nr, $under);

	for (statements(\@lines)) {
		my ($first, $last) = @$_;
		my $text = join ' ', @lines[$first .. $last];

		next if $text =~ /^#/;
		# All objects of a module arrive at once.
		$text = "$1.o" if $text =~ /^(\w+)-(?:y|\$\(\w+\)) [:+]?= / && $1 ne 'obj';
		my $nr = files_named(dirname($file), \@lines, $text);
		@nr[$first .. $last] = ($nr) x ($last - $first + 1) if defined $nr;
	}
	# Comments, from the end
	for my $i (reverse 0 .. $#lines) {
		if ($lines[$i] !~ /\S/) {
			$under = undef;
		} elsif ($lines[$i] =~ /^#/) {
			$nr[$i] = $under if defined $under;
			$under = undef if ($lines[$i - 1] // '') !~ /^#/;
		} elsif ($lines[$i] !~ /^(?:ifn?def|ifn?eq|else|endif)\b/) {
			$under = min($under // $LATE, $nr[$i] // 0);
		}
	}
	return @nr;
}

sub suites_owners
{
	my ($file) = @_;
	my @lines = split /\n/, $files{$file};
	my %modules = map { basename($_) => $arrives{$_} }
		grep { m{^(?:tools/testing/selftests/kprobes|kernel/kprobes/tests)/.*\.[cS]$} } keys %files;
	my (%defined, @nr);

	for my $script (grep { dirname($_) eq dirname($file) && /functions[\w-]*\.sh$/ } keys %files) {
		$defined{$_} = $arrives{$script} for $files{$script} =~ /^(\w+)\(\)/gm;
		$defined{basename($script)} = $arrives{$script};
	}
	my $start = 0;
	for my $i (0 .. $#lines + 1) {
		next if $i <= $#lines && $lines[$i] =~ /\S/;
		my @topic = @lines[$start .. $i - 1];

		if (grep { /^\S+\)$/ } @topic) {
			my $last;

			for my $word (map { /[\w.-]+/g } grep { !/^\s*#/ } @topic) {
				my $nr = $defined{$word};

				for my $base (grep { /^\Q$word\E(?:_\w+)?\.[cS]$/ } keys %modules) {
					$nr = max($nr // 0, $modules{$base}) if $word =~ /^(?:kp_|\w+_kunit$)/ ||
						$base eq "${word}_kunit.c";
				}
				$last = max($last // 0, $nr) if defined $nr;
			}
			@nr[$start .. $i - 1] = ($last) x ($i - $start) if defined $last;
		}
		$start = $i + 1;
	}
	return @nr;
}

# find_uses(ADDED): stores in %used, for each name, [FILE, LINE] for each line of a header that uses
# it, and the step of each line of other code that uses it
sub find_uses
{
	my ($added) = @_;

	%used = ();
	for my $file (grep { /\.[chS]$/ && $_ !~ $TESTS } sort keys %files) {
		my @code = bare($files{$file});
		my $of = $of{$file};

		for my $i (0 .. $#code) {
			my $mine = $of ? $of->[$i] // '' : '';
			my $self = $mine =~ s/^enumerator \S+ /word /r;
			my $from = $of ? [$file, $i] : $claimed{$file}[$i] // $arrives{$file};

			# Names in #if and #ifdef do not count: only the lines in between need them.
			next if $of && $code[$i] =~ /^\s*#/ && $mine !~ /^word/;
			push @{$used{$_}}, $from for grep { $_ ne $self } names_in($code[$i]);
		}
	}
	for (@$added) {
		my ($nr, $text) = @$_;

		push @{$used{$_}}, $nr for map { names_in($_) } bare($text);
	}
	return;
}

# line_step(FILE, NUMBER): returns the step of a line of a header; $LATE if it is not known yet
sub line_step
{
	my ($file, $i) = @_;
	my $mine = $of{$file}[$i];

	return max($arrives{$file}, $claimed{$file}[$i] // 0, defined $mine ? $step{$mine} // $LATE : 0);
}

# first_use(NAME [, FILE]): returns the first step in which code uses the name. With FILE, only uses
# in that header count.
sub first_use
{
	my ($name, $file) = @_;
	my @uses = @{$used{$name} // []};

	@uses = grep { ref $_ && $_->[0] eq $file } @uses if defined $file;
	return min($LATE, map { ref $_ ? line_step(@$_) : $_ } @uses);
}

# step_of("KIND NAME"): returns the step with which the declaration of NAME has to arrive, according
# to the steps that %step has so far for the lines that use NAME
sub step_of
{
	my ($mine) = @_;
	my ($kind, $name, @members) = split ' ', $mine;

	if ($kind eq 'file') {
		return $arrives{$name};
	} elsif ($kind eq 'type') {
		return min(first_use($mine), map { $step{$_} // $LATE } grep { /^enumerator \Q$name\E / } keys %step);
	} elsif ($kind eq 'enumerator') {
		return first_use("word $members[0]");
	} elsif ($kind eq 'member') {
		return max($step{"type $name"} // $LATE, min(map { first_use("member $_") } @members));
	} elsif ($kind eq 'nested') {
		return min($LATE, map { $step{$_} // $LATE } grep {
			my $all = $_;
			grep { $all =~ /^member \Q$name\E (?:.* )?\Q$_\E(?: |$)/ } @members;
		} keys %step);
	}
	return $kind eq 'forward' ? first_use("type $name", $members[0]) : first_use($mine);
}

# find_steps(BASE): computes the step of each name. Moves names to earlier steps until none changes.
sub find_steps
{
	my ($base) = @_;
	my %all = map { $_ => 1 } map { grep { defined } @$_ } values %of;
	my $changed;

	%step = ();
	# Other code of the base kernel may use names that the base kernel's version of a header
	# has, too. So these arrive with the header.
	for my $file (grep { defined $base->{$_} } keys %of) {
		my %known = map { $_ => 1 } map { /\b(\w+)\b/g } bare($base->{$file});

		for my $mine (grep { defined && /^(?:word|type|member) / } @{$of{$file}}) {
			my (undef, @names) = split ' ', $mine;

			$step{$mine} = $arrives{$file} if !grep { !$known{$_} } @names;
		}
	}
	# First compute the steps of names that other code uses. Then let names without a user
	# arrive with their file, and members without a user with their type. The lines of these may
	# use other names, so compute all steps again each time.
	for my $unnamed (qr/^none/, qr/^(?:word|type|forward|file)/, qr/^/) {
		for my $mine (grep { /$unnamed/ && !defined $step{$_} } keys %all) {
			my ($kind, $type) = split ' ', $mine;

			$step{$mine} = $kind =~ /^(?:member|enumerator|nested)$/ ? $step{"type $type"} // 0 : 0;
		}
		do {
			$changed = 0;
			for my $mine (sort keys %all) {
				my $nr = step_of($mine);

				next if $nr >= ($step{$mine} // $LATE);
				$step{$mine} = $nr;
				$changed = 1;
			}
		} while ($changed);
	}
	return;
}

# owners(FINAL, ARRIVES, BASE, ADDED, CLAIMED): returns, for each file with lines that arrive later
# than the file itself, the step of each line; undef for a line that arrives with the file
#
# FINAL has the text of each file, ARRIVES the step of each file, BASE the base kernel's files, and
# ADDED [step, text] for what edits add. CLAIMED has, for lines that a Lines: entry names, the first
# step with which each may arrive.
sub owners
{
	my ($final, $at, $base, $added, $claimed) = @_;
	my %owners;

	%arrives = %$at;
	%claimed = %$claimed;
	%files = map { $_ => $final->{$_} } keys %arrives;
	%of = map { $_ => [scan_header($_)] }
		grep { m{^(?:include|arch/x86)/.*\.h$|^kernel/kprobes/\w+\.h$} } keys %files;
	find_uses($added);
	find_steps($base);
	for my $file (keys %files) {
		my @rule = $of{$file} ? map { defined ? $step{$_} : undef } @{$of{$file}} :
			$file =~ m{/Makefile$} ? makefile_owners($file) :
			$file =~ m{/suites\.sh$} ? suites_owners($file) : ();
		my $claim = $claimed{$file} // [];
		my @nr = map { max($rule[$_] // 0, $claim->[$_] // 0) } 0 .. max($#rule, $#$claim);

		@nr = map { $_ > $arrives{$file} ? $_ : undef } @nr;
		$owners{$file} = \@nr if grep { defined } @nr;
	}
	return %owners;
}

1;
