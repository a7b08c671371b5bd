#!/usr/bin/env perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Splits the difference between the base kernel and out/linux into the steps of the series.
#
#	series/scripts/split.pl TOP STOCK TREE FILES DIR [COMMAND...]
#
# TOP has series/, STOCK is the base kernel and TREE is out/linux. FILES is a list of the files that
# differ between STOCK and TREE. The script writes only these files to DIR: first as they are in the
# base kernel, then as they are after each step. Each time, it runs COMMAND in DIR, with three more
# arguments: the number of the step, a file that has its commit message, and SERIES/NAME of the step
# (0, "" and "" for the base kernel).
#
# A step is a file of series/messages/SERIES. The series are sent one after the other, in the order
# of their names, and so are the steps of each. After the last blank line of the message it may have
# lines of data, which are not part of the message:
#
#	Removes: PATH...	files of the base kernel that this step removes. Files with
#				the same names may arrive later.
#	Files: PATH...		files that this step adds. A path that ends in / stands for all
#				files in that directory. If several paths match a file, the
#				longest counts.
#	Copies: OLD NEW		a file of the base kernel that this step copies to the name NEW,
#				until a step Removes: NEW
#	Edits: NAME...		diffs of series/edits that are applied
#	Lines: FILE RE [... RE] [@-N+M]
#				lines that arrive with this step at the earliest, although their
#				file arrives earlier: all that match the RE; with a second RE,
#				all lines from the match of the first to the next match of the
#				second. Also N lines before and M lines after these
#	Since: FILE TEXT	the defect that this step fixes came with the commit that added
#				TEXT to FILE: review.sh names it by Fixes:
#	Large: WHY		why the patch may have more lines than others, see export.sh
#	Holds: NAME...		diffs of series/steps that are applied on top of this step and of
#				all that follow
#	Lifts: NAME...		diffs that are not applied any more from this step on
#	Builds: NAME...		of these diffs, the ones that bisect.sh reverts to compile this step
#
# Lines of headers, makefiles and suites.sh arrive with the first code that needs them. Arrival.pm
# finds the step, so Lines: is only for lines whose step it cannot know. In C, a comment does not
# arrive before the first of the lines under it, up to the next blank line. #if and #endif do not
# arrive before the first line between them.
#
# So the project has only the final version of a file, and a change of that needs no change in
# series/messages. Each file and edit has to be named exactly once, and the result of the last step
# has to be TREE: anything else is an error.

use strict;
use warnings;
use File::Basename qw(basename dirname);
use File::Path qw(make_path remove_tree);
use FindBin;
use lib $FindBin::Bin;
use Arrival qw(owners);

die "usage: split.pl TOP STOCK TREE FILES DIR [COMMAND...]\n" if @ARGV < 5;
my ($top, $stock, $tree, $list, $dir, @command) = @ARGV;
my (%base, %final, %mode, %arrives, %edited, %owners, %removed, %copied, %held);
my (@steps, @errors);
my $claims = 0;

# The maximum number of Lines: entries
my $MOST_CLAIMS = 40;

my @keys = qw(Removes Copies Files Edits Lines Holds Lifts Builds Since Large);
my $keys = '(?:' . join('|', @keys) . ')';

sub bad { push @errors, join '', @_; return; }

sub stop_on_errors
{
	return if !@errors;
	warn "series/messages: $_\n" for @errors;
	exit 1;
}

sub slurp
{
	my ($path) = @_;

	open my $in, '<:raw', $path or return;
	local $/ = undef;
	my $text = <$in>;
	close $in;
	return $text // '';
}

sub spew
{
	my ($path, $text, $mode) = @_;

	make_path(dirname($path));
	open my $out, '>:raw', $path or die "$path: $!\n";
	print {$out} $text;
	close $out or die "$path: $!\n";
	chmod $mode, $path if defined $mode;
	return;
}

sub read_step
{
	my ($path) = @_;
	my @lines = split /\n/, slurp($path);
	my %step = (name => basename(dirname($path)) . '/' . basename($path), map { $_ => [] } @keys);
	my @data;

	unshift @data, pop @lines while @lines && $lines[-1] ne '';
	if (!@lines || grep { !/^$keys: ./ } @data) {
		bad("$step{name}: its last paragraph is not data");
		return \%step;
	}
	for (@data) {
		my ($key, $value) = /^(\w+): (.*?)\s*$/;
		push @{$step{$key}}, $key =~ /^(?:Lines|Since|Large)$/ ? $value : split ' ', $value;
	}
	pop @lines while @lines && $lines[-1] eq '';
	$step{message} = join("\n", @lines) . "\n";
	my $subject = $lines[0] // '';
	bad("$step{name}: the subject has " . length($subject) . ' characters') if length $subject > 75;
	bad("$step{name}: the second line is not empty") if ($lines[1] // '') ne '';
	for (@lines) {
		bad("$step{name}: more than 75 characters: $_") if length > 75 && !/^(?:Fixes:|\s|\S*https?:)/;
	}
	return \%step;
}

# hunks_of(DIFF): returns the diff's hunks: for each, its file, and for '-' and '+' the lines of
# that side, with a newline before them
sub hunks_of
{
	my ($diff) = @_;
	my ($file, @hunks);

	for my $line (split /^/, slurp($diff)) {
		if ($line =~ m{^\+\+\+ b/([^\t\n]+)}) {
			$file = $1;
		} elsif ($line =~ /^\@\@/) {
			push @hunks, { file => $file, '-' => "\n", '+' => "\n" };
		} elsif (@hunks && $line !~ m{^--- a/} && $line =~ /^([-+ ])(.*)/s) {
			$hunks[-1]{$_} .= $2 for $1 eq ' ' ? qw(- +) : $1;
		}
	}
	return @hunks;
}

# files_of(DIFF): returns the files that the diff changes
sub files_of { return map { $_->{file} } hunks_of(@_); }

sub apply
{
	my ($where, $diff) = @_;

	# A diff of series/base-BASE may be empty, if that base kernel does not need the edit.
	return if !files_of($diff);
	my $log = `patch -d '$where' -p1 --fuzz=0 --force --no-backup-if-mismatch -r - <'$diff' 2>&1`;

	die "$diff does not apply to this step:\n$log" if $?;
	return;
}

# apply_once(DIR, DIFF): applies the diff. Dies if the text that a hunk replaces, or the text that
# replaces it, is in the file more than once: patch might change the wrong place, here or when
# bisect.sh reverts the diff. With another base kernel, or at another step, the file may have more
# such places, so check each time.
sub apply_once
{
	my ($where, $diff) = @_;

	places($where, $diff, '-');
	apply($where, $diff);
	places($where, $diff, '+');
	return;
}

# places(DIR, DIFF, SIGN): dies if this side of a hunk, '-' or '+', is in its file more than once
sub places
{
	my ($where, $diff, $sign) = @_;

	for my $hunk (hunks_of($diff)) {
		my ($name, $text) = ($hunk->{file}, $hunk->{$sign});
		my $have = "\n" . (slurp("$where/$name") // '');
		my $count = () = $have =~ /(?=\Q$text\E)/g;

		die "$diff: $name has $count places like\n$text" if $count > 1;
	}
	return;
}

# claim(STEP, VALUE): reads the VALUE of a Lines: entry: the lines that it names arrive with STEP at
# the earliest
sub claim
{
	my ($nr, $value) = @_;
	my ($before, $behind) = $value =~ s/ @-(\d+)\+(\d+)$// ? ($1, $2) : (0, 0);
	my ($file, $from, $to) = $value =~ /^(\S+) (.*?)(?: \.\.\. (.*))?$/;
	my $name = "$steps[$nr]{name}: Lines: $value";

	return bad("$name: no such file of ours") if !defined $file || !defined $final{$file};
	return bad("$name: edits change it, so split the edit") if $edited{$file};
	return bad("$name: $file itself does not arrive before")
		if !defined $arrives{$file} || $arrives{$file} >= $nr;
	my @lines = split /^/, $final{$file};
	my @hits = grep { $lines[$_] =~ $from } 0 .. $#lines;

	return bad("$name: nothing matches") if !@hits;
	if (defined $to) {
		return bad("$name: matches " . @hits . ' lines') if @hits > 1;
		my ($end) = grep { $_ > $hits[0] && $lines[$_] =~ $to } 0 .. $#lines;
		return bad("$name: nothing matches the end") if !defined $end;
		@hits = $hits[0] .. $end;
	}
	my %mine = map { $_ => 1 } map { $_ - $before .. $_ + $behind } @hits;

	for (keys %mine) {
		$owners{$file}[$_] = $nr if ($owners{$file}[$_] // 0) < $nr;
	}
	$claims++;
	return;
}

# added(EDIT): returns the lines of C and assembly that the edit adds
sub added
{
	my ($edit) = @_;
	my $text = '';
	my $code = 0;

	for my $line (split /^/, slurp("$top/series/edits/$edit.diff")) {
		if ($line =~ m{^\+\+\+ b/([^\t\n]+)}) {
			$code = $1 =~ /\.[chS]$/;
		} elsif ($code && $line =~ /^\+(.*)/s) {
			$text .= $1;
		}
	}
	return $text;
}

# drop_comments(LINES, NUMBERS): NUMBERS are the LINES that have arrived. Returns them without those
# of comments under which no line has arrived yet.
sub drop_comments
{
	my ($lines, @here) = @_;
	my %here = map { $_ => 1 } @here;

	for (my $i = 0; $i < @$lines; $i++) {
		next if $lines->[$i] !~ m{^\s*/\*};
		my $end = $i;
		$end++ while $end < $#$lines && $lines->[$end] !~ m{\*/};
		my $behind = $end + 1;
		# A comment that only names a file is the heading of the paragraph after the blank
		# line.
		$behind++ if $lines->[$i] =~ m{^/\* \S+\.[cS](?: (?:and|or) \S+)? \*/$} && ($lines->[$behind] // '') eq "\n";
		my $after = $behind;
		$after++ while $after < @$lines && $lines->[$after] !~ /^(?:\s*|#(?:else|elif|endif).*)$/;
		if ($after > $behind && $lines->[$end] =~ m{\*/$} && !grep { $here{$_} } $behind .. $after - 1) {
			delete $here{$_} for $i .. $end;
		}
		$i = $end;
	}
	return grep { $here{$_} } @here;
}

# drop_conditions(FILE, LINES, NUMBERS): returns NUMBERS without those of #if, #else and #endif
# between which no line has arrived yet
sub drop_conditions
{
	my ($file, $lines, @here) = @_;
	my $mark = $file =~ /Makefile$/ ? '' : '#';
	my (@open, %gone);

	for my $i (@here) {
		my $line = $lines->[$i];

		if ($line =~ /^\s*$mark\s*if/) {
			push @open, { lines => [$i], full => [0] };
		} elsif (@open && $line =~ /^\s*$mark\s*(?:else|elif)/) {
			push @{$open[-1]{lines}}, $i;
			push @{$open[-1]{full}}, 0;
		} elsif ($line =~ /^\s*$mark\s*endif/) {
			my $done = pop @open;

			die "$file: an #endif arrives before its #if\n" if !$done;
			if (!grep { $_ } @{$done->{full}}) {
				$gone{$_} = 1 for @{$done->{lines}}, $i;
			} else {
				# an empty #else
				$gone{$done->{lines}[-1]} = 1 if @{$done->{full}} > 1 && !$done->{full}[-1];
				$open[-1]{full}[-1] = 1 if @open;
			}
		} elsif (@open && $line =~ /\S/) {
			$open[-1]{full}[-1] = 1;
		}
	}
	die "$file: an #if arrives before its #endif\n" if @open;
	return grep { !$gone{$_} } @here;
}

# content(FILE, STEP): returns the contents of a file of ours after this step
sub content
{
	my ($file, $nr) = @_;
	my $owners = $owners{$file};

	return $final{$file} if !$owners;
	my @lines = split /^/, $final{$file};
	my @here = grep { ($owners->[$_] // 0) <= $nr } 0 .. $#lines;
	return $final{$file} if @here == @lines;
	my $before = 0;
	while ($file =~ m{\.[chS]$|/Makefile$} && @here != $before) {
		$before = @here;
		@here = drop_comments(\@lines, @here) if $file !~ /Makefile/;
		@here = drop_conditions($file, \@lines, @here);
	}
	# Leave one blank line in place of lines that arrive later, and none at the end of the file.
	my $text = '';
	for my $i (0 .. $#here) {
		my $line = $lines[$here[$i]];

		next if $i && $here[$i] != $here[$i - 1] + 1 && $line eq "\n" &&
			$text =~ /(?:\n|^#\s*(?:if|el)[^\n]*|\{)\n\z/m;
		$text .= $line;
	}
	$text =~ s/\n\n+\z/\n/;
	return $text;
}

sub read_all
{
	my %steps_of;

	@steps = map { read_step($_) } sort glob "$top/series/messages/*/*";
	open my $in, '<', $list or die "$list: $!\n";
	my @files = <$in>;
	close $in;
	chomp @files;
	for my $name (map { @{$_->{Holds}} } @steps) {
		push @files, files_of("$top/series/steps/$name.diff") if -e "$top/series/steps/$name.diff";
	}
	for my $nr (0 .. $#steps) {
		my @names = @{$steps[$nr]{Copies}};

		while (my ($from, $to) = splice @names, 0, 2) {
			bad("$steps[$nr]{name}: Copies: no name for $from") if !defined $to;
			next if !defined $to;
			bad("$steps[$nr]{name}: Copies: there is a $to")
				if -e "$stock/$to" || -e "$tree/$to" || $copied{$to};
			$copied{$to} = { nr => $nr, from => $from };
		}
	}
	my %seen;
	for my $file (grep { !$copied{$_} && !$seen{$_}++ } @files) {
		$base{$file} = slurp("$stock/$file");
		$final{$file} = slurp("$tree/$file");
		$mode{$file} = (stat(-e "$tree/$file" ? "$tree/$file" : "$stock/$file"))[2] & 0777;
	}

	for my $to (sort keys %copied) {
		my $from = $copied{$to}{from};

		bad("$steps[$copied{$to}{nr}]{name}: Copies: the base kernel has no $from that changes")
			if !defined $base{$from};
		($base{$to}, $final{$to}, $mode{$to}) = (undef, undef, $mode{$from});
	}

	# Each edit and each diff in series/steps must be named only once.
	for my $nr (0 .. $#steps) {
		for my $edit (@{$steps[$nr]{Edits}}) {
			my $diff = "$top/series/edits/$edit.diff";

			bad("$steps[$nr]{name}: there is no $diff") if !-e $diff;
			bad("$steps[$nr]{name}: $edit is named by $steps_of{$edit}, too") if $steps_of{$edit};
			$steps_of{$edit} = $steps[$nr]{name};
			$edited{$_} = 1 for files_of($diff);
		}
		for my $name (@{$steps[$nr]{Holds}}) {
			my $diff = "$top/series/steps/$name.diff";

			bad("$steps[$nr]{name}: there is no $diff") if !-e $diff;
			bad("$diff does not begin with 'Why: ...'") if (slurp($diff) // '') !~ /^Why: ./;
			bad("$steps[$nr]{name}: $name is held already") if $held{$name};
			$held{$name} = 1;
		}
		for my $name (@{$steps[$nr]{Builds}}) {
			bad("$steps[$nr]{name}: $name is not held") if ($held{$name} // 0) != 1;
		}
		for my $name (@{$steps[$nr]{Lifts}}) {
			bad("$steps[$nr]{name}: $name is not held") if ($held{$name} // 0) != 1;
			$held{$name} = 2;
		}
	}
	for my $edit (map { basename($_, '.diff') } glob "$top/series/edits/*.diff") {
		bad("no step has the edit $edit") if !$steps_of{$edit};
	}
	for my $name (map { basename($_, '.diff') } glob "$top/series/steps/*.diff") {
		bad("no step holds $name") if !$held{$name};
		bad("no step lifts $name") if ($held{$name} // 0) == 1;
	}
	return;
}

# longest(FILE, KEY, USED): returns the step with the longest path that matches the file, of all
# paths in entries KEY:, such as Files:. Stores "STEP PATH" in USED.
sub longest
{
	my ($file, $key, $used) = @_;
	my ($best, $length) = (undef, 0);

	for my $nr (0 .. $#steps) {
		for my $path (@{$steps[$nr]{$key}}) {
			my $prefix = $path =~ s/\*$//r;

			next if $file ne $path && ($path !~ m{[/*]$} || index($file, $prefix) != 0);
			if (length $path == $length) {
				bad("$file: named by $steps[$best]{name} and by $steps[$nr]{name}");
			} elsif (length $path > $length) {
				($best, $length) = ($nr, length $path);
				$used->{"$file"} = "$nr $path";
			}
		}
	}
	return $best;
}

sub assign_files
{
	my %used;

	for my $file (sort keys %base) {
		next if $edited{$file};
		my $copied = $copied{$file};
		my $removed_by = defined $base{$file} || $copied ? longest($file, 'Removes', \my %gone) : undef;

		$used{"Removes $gone{$file}"} = 1 if defined $removed_by;
		$removed{$file} = $removed_by if defined $removed_by;
		bad("$file: removed before it is copied")
			if $copied && defined $removed_by && $removed_by <= $copied->{nr};
		if (defined $final{$file}) {
			my $nr = longest($file, 'Files', \my %came);

			if (!defined $nr) {
				bad("no step has $file") if ($base{$file} // "\0") ne $final{$file};
				next;
			}
			$used{"Files $came{$file}"} = 1;
			$arrives{$file} = $nr;
			bad("$file: arrives before it is removed") if defined $removed_by && $removed_by > $nr;
		} elsif (!defined $removed_by) {
			bad("no step removes $file");
		}
	}
	for my $nr (0 .. $#steps) {
		for my $key (qw(Removes Files)) {
			for my $path (@{$steps[$nr]{$key}}) {
				bad("$steps[$nr]{name}: $key: $path: there is no such file, or others have all of it")
					if !$used{"$key $nr $path"};
			}
		}
		claim($nr, $_) for @{$steps[$nr]{Lines}};
	}
	bad("$claims lines Lines:, at most $MOST_CLAIMS are wanted") if $claims > $MOST_CLAIMS;
	my @added = map { my $nr = $_; map { [$nr, added($_)] } @{$steps[$nr]{Edits}} } 0 .. $#steps;
	%owners = owners(\%final, \%arrives, \%base, \@added, \%owners) if !@errors;
	return;
}

# call(NUMBER, MESSAGE, NAME): runs the command for a step
sub call
{
	my ($nr, $message, $name) = @_;

	return if !@command;
	spew("$dir.message", $message) if $message ne '';
	my $rc = system { $command[0] } @command, $nr, $message ne '' ? "$dir.message" : '', $name;
	die "step $nr: $command[0] failed\n" if $rc;
	return;
}

# lay(FROM, HOLDS): copies the files in FROM to DIR, and applies these diffs of series/steps there
sub lay
{
	my ($plain, @holds) = @_;

	for my $file (keys %base) {
		my $have = slurp("$dir/$file");
		my $want = slurp("$plain/$file");

		if (!defined $want) {
			unlink "$dir/$file" if defined $have;
		} elsif (($have // "\0") ne $want) {
			spew("$dir/$file", $want, $mode{$file});
		}
	}
	apply_once($dir, "$top/series/steps/$_.diff") for @holds;
	return;
}

sub write_steps
{
	my $plain = "$dir.plain";
	my %holds;

	remove_tree($plain);
	for my $file (keys %base) {
		spew("$plain/$file", $base{$file}, $mode{$file}) if defined $base{$file};
	}
	lay($plain);
	call(0, '', '');
	for my $nr (0 .. $#steps) {
		my $step = $steps[$nr];

		for my $file (grep { $removed{$_} == $nr } keys %removed) {
			unlink "$plain/$file";
		}
		for my $file (grep { $copied{$_}{nr} == $nr } keys %copied) {
			spew("$plain/$file", $base{$copied{$file}{from}}, $mode{$file});
		}
		apply($plain, "$top/series/edits/$_.diff") for @{$step->{Edits}};
		for my $file (keys %arrives) {
			next if $arrives{$file} > $nr;
			next if $arrives{$file} < $nr && !grep { defined && $_ == $nr } @{$owners{$file} // []};
			spew("$plain/$file", content($file, $nr), $mode{$file});
		}
		$holds{$_} = 1 for @{$step->{Holds}};
		delete $holds{$_} for @{$step->{Lifts}};
		lay($plain, sort keys %holds);
		call($nr + 1, $step->{message}, $step->{name});
	}
	for my $file (sort keys %base) {
		my $have = slurp("$dir/$file");

		bad("after the last step, $file is not what it is in $tree")
			if ($have // "\0") ne ($final{$file} // "\0");
	}
	remove_tree($plain);
	unlink "$dir.message";
	return;
}

read_all();
assign_files();
stop_on_errors();
write_steps();
stop_on_errors();
