#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Walks over all functions that a hit can call, in the objects of kprobes, and prints any that can
# be traced or probed: a hit of such a function would happen in the middle of another hit.
#
# It walks, too:
#
# - what exc_int3() calls before and after kprobe_int3_handler(), in the objects that the
#   entry of an exception consists of. There kprobes cannot detect recursion: a probe in it
#   raises the next int3, which raises the next, until the stack overflows;
# - what a hit raises, which runs after the hit: functions of irq_work, work items and so on.
#   If one of them can be probed, a hit of it may raise the same again, forever. Each
#   needs a guard in the function that raises it, or a reason in @raises.
#
#	series/scripts/hitpath.pl BUILD
#
# BUILD is a directory with kernel/kprobes/ and arch/x86/kernel/kprobes/
# built, and as many of @entry_files as its configuration has.

use strict;
use warnings;
use FindBin;

my $build = shift or die "usage: series/scripts/hitpath.pl BUILD\n";

# Entry points of a hit: what exceptions, the text, slots and detour buffers call, and what users
# and the kernel call while handlers run. The rest are called through pointers: the handlers that
# the core puts into a struct kprobe or a probe_set.
my @roots = qw(
	kprobe_int3_handler kprobe_fault_begin kprobe_fault_resume kprobe_fault_handler
	kprobe_post_trampoline kprobe_detour_trampoline kprobe_detour_multi_trampoline
	kprobe_ftrace_trampoline kprobe_ftrace_return_trampoline kprobe_just_return
	__kretprobe_trampoline
	kprobe_ftrace_handler get_kretprobe_retaddr
	get_kprobe kprobe_busy_begin kprobe_busy_end
	jprobe_call_handler jprobe_return x86_jprobe_call x86_jprobe_end
	probe_set_multi_pre probe_set_multi_post probe_set_no_post probe_set_dispatch_fault
	kretprobe_entry kretprobe_entry_data kretprobe_return
	kprobe_ftrace_skip_call kprobe_ftrace_dispatch
);

# Functions that call kprobe_int3_handler(), directly or not
my @entries = qw(exc_int3);
my @entry_files = qw(
	kernel/entry/common.o kernel/context_tracking.o kernel/locking/lockdep.o
	kernel/trace/trace_preemptirq.o kernel/trace/trace_irqsoff.o
	kernel/trace/trace_hwlat.o kernel/trace/trace_osnoise.o
	arch/x86/kernel/traps.o arch/x86/kernel/alternative.o arch/x86/kernel/kgdb.o
	mm/kasan/generic.o mm/kasan/shadow.o mm/kmsan/hooks.o mm/kmsan/instrumentation.o
	kernel/kcsan/core.o
);

# Functions at which the walk from @entries ends, and why that is safe
my %ends = (
	irqentry_enter_from_user_mode => 'user space has raised the int3, so no hit repeats it',
	irqentry_exit_to_user_mode => 'the same',
	# What it calls, where it is inlined, as on 7.3
	exit_to_user_mode_loop => 'the same',
	arch_exit_to_user_mode_prepare => 'the same',
	__hrtimer_rearm_deferred => 'the same',
	do_int3_user => 'the same',
	do_trap => 'the same',
	notify_die => 'kprobes has seen the int3, and has left it to others',
	die => 'the kernel dies',
	lockdep_hardirqs_on_prepare => 'only if lockdep had interrupts on, which a hit of it turns off',
	__udelay => 'KCSAN watches one of more accesses than a hit makes',
	stack_depot_save => 'KMSAN leaves NMIs out, and so int3',
	debug_locks_off => 'a report',
	kasan_report => 'a report',
	kcsan_report_known_origin => 'a report',
	'.altinstr_aux' => 'before alternatives are patched, when there are no probes',
	x86_kprobe_regs_ip => 'for unwinders: x86_kretprobe_recover() gives no registers',
);

# These may call functions that can be hit: in the int3 of such a hit, they do not call them again.
my %guarded = (
	trace_hwlat_callback => 'leaves out an NMI inside of another',
	trace_osnoise_callback => 'the same',
	trace_hardirqs_off_finish => 'tracing_irq_cpu is set first',
	trace_hardirqs_on_prepare => 'only if lockdep had interrupts on; they are off for it by then',
);

# A guard is either code or a reason. Code: the raising function has a locked instruction, so
# that only the first of several hits raises. A raised function with neither must not be probed,
# nor must what it calls.
my @raises = (
	{ by => qr/^pool_request_growth$/, call => 'kprobe_request',
	  runs => [qw(pool_run_worker)], guard => 'locked' },
	{ by => qr/./, call => 'kprobe_request',
	  runs => [qw(kretprobe_queue_free_limited)],
	  reason => 'once for each return probe that is unregistered' },
	{ by => qr/^kprobe_request$/, call => 'irq_work_queue',
	  runs => [qw(kprobe_requests_irq_work)],
	  reason => 'its callers have a guard' },
	{ by => qr/./, call => 'preempt_schedule_notrace',
	  reason => 'it disables preemption, so that hits of what it calls do not call it; ' .
		    'it is on the blacklist' },
);
my $raisers = qr/^irq_work_|^(?:__)?queue_(?:delayed_|rcu_)?work|^schedule_(?:delayed_)?work
		|^mod_(?:delayed_work|timer)|^add_timer|^hrtimer_start|tasklet_|^raise_softirq
		|^call_s?rcu|^task_work_|^(?:__)?wake_up|^try_to_wake_up|^swake_up|^complete
		|^smp_call_|^kthread_queue|^stop_one_cpu|^resched_c|send_IPI
		|^(?:__SCT__|__)?preempt_schedule/x;

# A hit also calls all functions of this name that emulate.o has pointers to.
my $emulations = qr/\/emulate\.o:emulate_/;

# Functions of other subsystems that a hit calls, and why that is safe
my @others = (
	# not traced, and on the blacklist, or in entry text or .noinstr.text
	qr/^__x86_return_thunk$|^__x86_indirect_(call_|jump_)?thunk_/,
	qr/^ct_nmi_(enter|exit)$|^(__)?preempt_schedule_notrace(_thunk)?$/,
	qr/^__SCT__preempt_schedule_notrace$/,
	qr/^__mem(set|cpy|move)$|^mem(set|cpy|move)$/,
	# the kernel dies, or warns of a user's error
	qr/^(panic|_printk|__warn_printk|__SCT__WARN_trap|vpanic)$|^__ubsan_|^__stack_chk_fail$/,
	# not traced; by handlers of returns, while hits are counted as missed
	qr/^(ftrace_graph|rethook)_(ret|find_ret)_addr$/,
	# by handlers of jprobes, while hits are counted as missed
	qr/^get_stack_info$|^rethook_recycle$|^trace_hardirqs_o(n|ff)$/,
	qr/^___ratelimit$|^__kasan_unpoison_range$/,
	# called for copies that fault, and never by a breakpoint
	qr/^xa_load$|^__rcu_read_(un)?lock$|^rcu_(read_lock_|is_)|^lock(dep)?_|^debug_lockdep/,
	# while hits are counted as missed
	qr/^llist_add_batch$/,
);

# Functions that arch_populate_kprobe_blacklist() adds by name and by prefix
my (%by_name, @by_prefix);
{
	my $file = "$FindBin::Bin/../../arch/x86/kernel/kprobes/blacklist.c";
	my $in = '';

	open(my $fh, '<', $file) or die "$file: $!\n";
	while (<$fh>) {
		$in = $1 if /^static const .*\b(areas|prefixes)\[\]/;
		$in = '' if /^\};/;
		if ($in eq 'areas') {
			$by_name{$_} = 1 for /"(\w+)"/g;
		} elsif ($in eq 'prefixes') {
			push @by_prefix, /"(\w+)"/g;
		}
	}
	close($fh);
	%by_name && @by_prefix or die "$file: no names found\n";
}

sub is_named
{
	my ($name) = @_;

	return $by_name{$name} || grep { index($name, $_) == 0 } @by_prefix;
}

# A name that has changed would silently be left out of the walk.
{
	my @sources = glob("$FindBin::Bin/../../{kernel,arch/x86/kernel}/kprobes/*.[cS]");
	my %words;

	for my $source (@sources) {
		open(my $fh, '<', $source) or die "$source: $!\n";
		while (<$fh>) {
			$words{$_} = 1 for /\w+/g;
		}
		close($fh);
	}
	for my $name (@roots, map { @{$_->{runs} // []} } @raises) {
		die "$0: no source of kprobes has $name\n" if !$words{$name};
	}
}

my (%func, %bad_ref, %static, %listed, @pointers);

# A function is FILE:NAME; for a global one, NAME leads to it.
my %global;

sub run
{
	my ($file, @opts) = @_;

	open(my $fh, '-|', 'objdump', @opts, $file) or die "objdump: $!\n";
	my @lines = <$fh>;
	close($fh) or die "objdump $file failed\n";
	return @lines;
}

# at FILE, SECTION, OFFSET: the function there
my %symbols;
sub at
{
	my ($file, $section, $offset) = @_;

	for my $s (@{$symbols{$file}{$section} // []}) {
		return "$file:$s->[2]" if $offset >= $s->[0] && $offset < $s->[1];
	}
	return undef;
}

# target FILE, RELOCATION, ADDEND: the called function; the addend is relative to the end of the
# four bytes of the displacement
sub target
{
	my ($file, $sym, $addend) = @_;

	return at($file, $sym, $addend) if exists $symbols{$file}{$sym};
	return "$file:$sym" if $static{"$file:$sym"};
	return $sym;
}

sub offset
{
	my ($text) = @_;

	return 0 unless defined $text && $text =~ /^([+-])0x([0-9a-f]+)$/;
	return $1 eq '-' ? -hex($2) : hex($2);
}

sub read_symbols
{
	my ($file) = @_;

	for (run($file, '-t')) {
		next unless /^([0-9a-f]+) (.).{4}(.)(.) (\S+)\t([0-9a-f]+) (?:\.hidden )?(\S+)$/;
		my ($addr, $bind, $type, $section, $size, $name) = (hex($1), $2, $4, $5, hex($6), $7);
		next if $section eq '*UND*' || $section eq '*ABS*' || $section !~ /text/;
		# Symbols of sections would hide the functions at their start.
		next if $name =~ /^\.|^__pfx_|^__cfi_|^__UNIQUE/;
		# A label in assembly has no size: let it cover one byte, so that at() finds it.
		$size = 1 if !$size;
		push @{$symbols{$file}{$section}}, [$addr, $addr + $size, $name];
		$static{"$file:$name"} = 1;
		$global{$name} = "$file:$name" if $bind eq 'g';
		$func{"$file:$name"} = { section => $section, calls => [] };
	}
}

sub read_code
{
	my ($file) = @_;
	my ($section, $here, $insn, $pending);

	for (run($file, '-dr', '--no-show-raw-insn')) {
		if (/^Disassembly of section (\S+):/) {
			# The last instruction may be a jump to another function (tail call).
			push @{$func{$here}{calls}}, $pending if defined $pending && defined $here;
			($section, $here, $pending) = ($1, undef, undef);
		} elsif (/^\s*([0-9a-f]+):\t(.*)$/ && $_ !~ /R_X86_64/) {
			my ($addr, $text) = (hex($1), $2);
			push @{$func{$here}{calls}}, $pending if defined $pending && defined $here;
			$pending = undef;
			$here = at($file, $section, $addr);
			next unless defined $here;
			$insn = $text;
			$func{$here}{locked} = 1 if $text =~ /^lock\s|^(?:lock )?\s*xchg\s.*\(/;
			if ($text =~ /^(?:\S+ )*(?:call|j[a-z]+)\s+(?:\w+ )*([0-9a-f]+) </) {
				my $to = at($file, $section, hex($1));
				$pending = $to if defined $to && $to ne $here;
			}
		} elsif (/R_X86_64_(\S+)\t([^\s+-]+)([+-]0x[0-9a-f]+)?/) {
			my ($sym, $add) = ($2, offset($3));
			next unless defined $here;
			# A jump by a table stays in the function.
			next if $sym =~ /^\.rodata/ && $insn =~ /^(?:\S+ )*jmp\s+\*/;
			if ($insn =~ /^(?:\S+ )*(?:call|j[a-z]+)\s/) {
				$pending = target($file, $sym, $add + 4);
			} elsif (exists $symbols{$file}{$sym} || $static{"$file:$sym"}) {
				my $to = target($file, $sym, $1 =~ /^PC/ ? $add + 4 : $add);
				push @pointers, $to if defined $to;
			}
		}
	}
	push @{$func{$here}{calls}}, $pending if defined $pending && defined $here;
}

# Read the blacklist, the sites that ftrace patches, and tables of pointers.
sub read_tables
{
	my ($file) = @_;
	my $section = '';

	for (run($file, '-r')) {
		if (/^RELOCATION RECORDS FOR \[(\S+)\]/) {
			$section = $1;
		} elsif (/^[0-9a-f]+ R_X86_64_(?:64|PC32)\s+([^\s+-]+)([+-]0x[0-9a-f]+)?/) {
			my $to = target($file, $1, offset($2));
			next unless defined $to;
			$listed{$to} = 1 if $section eq '_kprobe_blacklist';
			$func{$to}{traced} = 1
				if $section eq '__mcount_loc' && exists $func{$to};
			push @pointers, $to if $section =~ /^\.(rodata|data)/;
		}
	}
}

my @files = glob("$build/kernel/kprobes/*.o $build/arch/x86/kernel/kprobes/*.o");
@files = grep { -e && !/built-in|\.mod\.o$/ } @files;
@files >= 3 or die "$build: kprobes is not built there\n";
my %ours = map { $_ => 1 } @files;
push @files, grep { -e } map { "$build/$_" } @entry_files;

read_symbols($_) for @files;
read_code($_) for @files;
read_tables($_) for @files;

my (%seen, @todo);
my $found = 0;

sub add
{
	my ($name, $from) = @_;

	$name = $global{$name} // $name;
	return if exists $seen{$name};
	$seen{$name} = $from;
	push @todo, $name;
}

for my $root (@roots) {
	my @which = grep { /:\Q$root\E$/ } keys %func;
	# Some exist in some configurations only.
	add($_, 'a hit') for @which;
	$found++ if @which;
}
$found >= 12 or die "$build: few of the functions that hits enter are there\n";
my @emulations = grep { /$emulations/ } @pointers;
@emulations or die "$build: no pointer to an emulation is there\n";
add($_, 'a hit') for @emulations;

for my $entry (@entries) {
	my @which = grep { /:\Q$entry\E$/ } keys %func;
	print STDERR "   $entry is not built there\n" if !@which && -t STDERR;
	add($_, 'the CPU') for @which;
}

# raise FUNCTION, NAME, CALL: checks a call by which the hit path leaves work to be done later
sub raise
{
	my ($f, $short, $call) = @_;
	(my $plain = $call) =~ s/^__SCT__|_thunk$//g;
	my @known = grep { $short =~ $_->{by} && $plain =~ /^_*\Q$_->{call}\E$/ } @raises;

	if (!@known) {
		print "$short calls $call: what it raises is not known, nor who guards it\n";
		return;
	}
	my $r = $known[0];
	return if $r->{reason};
	return if ($r->{guard} // '') eq 'locked' && $func{$f}{locked};
	print "$short calls $call: no guard lets only the first of several hits raise ",
		join(', ', @{$r->{runs}}), "\n" if $r->{guard};
	for my $run (@{$r->{runs}}) {
		my @which = grep { /:\Q$run\E$/ } keys %func;
		print "$short raises $run: it is not there\n" if !@which;
		add($_, $f) for @which;
	}
}

my $walked = 0;
while (defined(my $name = shift @todo)) {
	my $from = $seen{$name};
	(my $short = $name) =~ s/.*://;
	(my $caller = $from) =~ s/.*://;
	(my $file = $name) =~ s/:.*//;
	# The compiler has split off parts of functions.
	(my $whole = $short) =~ s/\..*//;

	next if $ends{$short} || $ends{$whole} || !$ours{$file} && grep { $short =~ $_ } @others;
	if (!exists $func{$name}) {
		print "$short, which $caller calls: not known to be safe on a hit\n"
			unless is_named($short);
		next;
	}
	$walked++;
	my $f = $func{$name};
	my $traced = $f->{traced} || grep { $_ eq '__fentry__' } @{$f->{calls}};
	# Ftrace handles its own recursion if other subsystems' functions in the entry are traced.
	print "$short, which $caller calls: can be traced\n" if $traced && $ours{$file};
	print "$short, which $caller calls: can be probed\n"
		unless $f->{section} =~ /^\.(kprobes|noinstr|entry)\.text$/ || $listed{$name} ||
		       $listed{$short} || $listed{$whole} || $listed{"$file:$whole"} ||
		       is_named($whole);
	next if $guarded{$whole};
	for my $call (grep { $_ ne '__fentry__' } @{$f->{calls}}) {
		# It raises an interrupt; its callers have to have a guard.
		raise($name, $short, 'kprobe_request') if $call =~ /(?:^|:)kprobe_request$/;
		if ($call =~ $raisers && !exists $func{$global{$call} // $call}) {
			raise($name, $short, $call);
		} else {
			add($call, $name);
		}
	}
}
$walked >= 30 or print "only $walked functions were found that a hit can call\n";
# stderr, for people: the log of the check is stdout
print STDERR "   $walked functions of kprobes that a hit can call\n" if -t STDERR;
