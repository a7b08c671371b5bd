#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-only
#
# Walks over all functions that a hit can call, in the objects of kprobes, and prints those that can
# be traced or probed: a probe in such a function would be hit in the middle of another hit.
#
# It also walks:
#
# - what exc_int3() calls before and after kprobe_int3_handler(), in the objects with the entry code
#   of exceptions. Kprobes cannot detect recursion there: a probe in this code raises an int3, whose
#   entry code raises the next, until the stack overflows;
# - functions that a hit causes to run later, which this script calls to raise them: those of
#   irq_work, work items and so on. If such a function can be probed, a hit in it may raise it
#   again, forever. So the function that raises it needs a guard, or a reason in @raises;
# - what a CPU executes where no hit can be handled, see @windows, along the branches of the
#   code. Each instruction there must be in text on the blacklist.
#
#	series/scripts/hitpath.pl BUILD
#
# BUILD is a directory in which kernel/kprobes/ and arch/x86/kernel/kprobes/ were built, and as many
# of @entry_files and @window_files as the configuration has. In a build for 32 bits, the script
# walks only @windows.

use strict;
use warnings;
use FindBin;

my $build = shift or die "usage: series/scripts/hitpath.pl BUILD\n";

# Entry points of a hit: functions that exceptions, the text, slots and detour buffers call, and
# functions that users and the kernel call while handlers run. Others are called only through
# pointers: handlers that the core stores in a struct kprobe or a probe_set.
my @roots = qw(
	kprobe_int3_handler kprobe_fault_begin kprobe_fault_resume
	kprobe_post_trampoline kprobe_detour_trampoline kprobe_detour_multi_trampoline
	kprobe_ftrace_trampoline kprobe_ftrace_return_trampoline kprobe_just_return
	__kretprobe_trampoline
	kprobe_ftrace_handler get_kretprobe_retaddr
	get_kprobe kprobe_busy_begin kprobe_busy_end
	jprobe_call_handler jprobe_return x86_jprobe_call x86_jprobe_end
	probe_set_multi_pre probe_set_multi_post probe_set_no_post fault_dispatch
	kretprobe_entry kretprobe_entry_data kretprobe_return
	kprobe_ftrace_skip_call kprobe_ftrace_dispatch
	kprobe_multi_hit kprobe_multi_track kprobe_multi_cancel
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
	# On 7.3, irqentry_exit_to_user_mode() is inlined: these are the functions that it calls.
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
	x86_kprobe_regs_ip => 'for unwinders: x86_recover_return() gives no registers',
);

# These functions may call others that can be probed. That causes no endless recursion: when the CPU
# handles the int3 of such a probe, the function here does not call the probed one again.
my %guarded = (
	trace_hwlat_callback => 'leaves out an NMI inside of another',
	trace_osnoise_callback => 'the same',
	trace_hardirqs_off_finish => 'tracing_irq_cpu is set first',
	trace_hardirqs_on_prepare => 'only if lockdep had interrupts on; they are off for it by then',
);

# Functions that match `by` raise the functions in `runs` by calling `call`. With `guard`, the
# function must have a locked instruction, so that only the first of several hits raises. With
# `reason`, nothing is checked. Without both, the raised functions and all that they call must not
# be probed.
my @raises = (
	{ by => qr/^pool_request_growth$/, call => 'kprobe_request',
	  runs => [qw(pool_run_worker)], guard => 'locked' },
	{ by => qr/^probepoint_note_redirect$/, call => 'kprobe_request',
	  reason => 'once for each probepoint whose pre_handler redirects' },
	{ by => qr/./, call => 'kprobe_request',
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

# Functions of other subsystems that a hit calls, and why that is safe. They are not walked.
my @others = (
	# not traced, and on the blacklist, or in entry text or .noinstr.text
	qr/^__x86_return_thunk$|^__x86_indirect_(call_|jump_)?thunk_/,
	qr/^ct_nmi_(enter|exit)$|^(__)?preempt_schedule_notrace(_thunk)?$/,
	qr/^__SCT__preempt_schedule_notrace$/,
	qr/^__mem(set|cpy|move)$|^mem(set|cpy|move)$/,
	# the kernel dies, or warns of a user's error
	qr/^(panic|_printk|__warn_printk|__SCT__WARN_trap|vpanic)$|^__ubsan_|^__stack_chk_fail$/,
	# not traced; called by handlers of returns, while hits are counted as missed
	qr/^(ftrace_graph|rethook)_(ret|find_ret)_addr$/,
	# called by handlers of jprobes, while hits are counted as missed
	qr/^get_stack_info$|^rethook_recycle$|^trace_hardirqs_o(n|ff)$/,
	qr/^___ratelimit$|^__kasan_unpoison_range$/,
	# called only after a fault in a copy, and never by the handler of a breakpoint
	qr/^xa_load$|^__rcu_read_(un)?lock$|^rcu_(read_lock_|is_)|^lock(dep)?_|^debug_lockdep/,
	# called while hits are counted as missed
	qr/^llist_add_batch$/,
);

# Windows: code that a CPU executes while it cannot take a hit, or while RCU does not watch it, so
# that unregister_kprobe() would not wait for a hit there
#
#	from	the window begins at the start of these functions
#	after	the window begins where these functions return to
#	done	the window ends where these functions return
#	before	the window ends where these functions are called
#	goes_on	a function in the window may return before the window ends
#	optional	some configurations do not have this window
my @windows = (
	{ what => 'a CPU that starts', from => [qw(secondary_startup_64 startup_32_smp vc_boot_ghcb)],
	  done => [qw(cpu_init_exception_handling)], before => [qw(idt_invalidate)] },
	{ what => 'a CPU that resumes', from => [qw(wakeup_long64 wakeup_pmode_return)],
	  after => [qw(x86_acpi_enter_sleep_state)],
	  before => [qw(idt_invalidate get_cpu_entry_area)], optional => 1 },
	# This CPU still has the IDT and the GS base of another kernel, which has loaded the image.
	{ what => 'a CPU that resumes an image', from => [qw(restore_image restore_registers)],
	  after => [qw(swsusp_arch_suspend)], before => [qw(idt_invalidate get_cpu_entry_area)],
	  optional => 1 },
	{ what => 'a dead CPU', from => [qw(cpuhp_ap_report_dead)], after => [qw(cpuhp_ap_report_dead)],
	  before => [qw(start_secondary cpu_bringup_and_idle)], goes_on => 1 },
);
my @window_files = (
	(map { "arch/x86/kernel/$_" } qw(head_64.o head_32.o head64.o head32.o smpboot.o process.o
					 idt.o cet.o fred.o tboot.o paravirt.o cpu/common.o cpu/amd.o
					 acpi/cstate.o acpi/madt_wakeup.o acpi/madt_playdead.o
					 acpi/wakeup_64.o acpi/wakeup_32.o)),
	qw(arch/x86/boot/startup/gdt_idt.pi.o arch/x86/boot/startup/sev-startup.pi.o
	   arch/x86/coco/core.o arch/x86/coco/sev/core.o arch/x86/coco/sev/noinstr.o
	   arch/x86/coco/sev/vc-handle.o arch/x86/mm/tlb.o arch/x86/mm/cpu_entry_area.o
	   arch/x86/lib/memset_64.o arch/x86/lib/memcpy_64.o arch/x86/lib/string_32.o
	   arch/x86/lib/memcpy_32.o arch/x86/xen/smp_pv.o arch/x86/power/cpu.o
	   arch/x86/power/hibernate_asm_64.o arch/x86/power/hibernate_asm_32.o
	   kernel/cpu.o kernel/power/hibernate.o drivers/cpuidle/cpuidle.o
	   drivers/cpuidle/driver.o drivers/acpi/processor_idle.o drivers/idle/intel_idle.o),
);

# The functions that functions in windows call through pointers that are not constants. A list is
# empty if the called code needs no walk.
my %through = (
	common_startup_64 => [qw(start_secondary)],
	startup_32_smp => [qw(start_secondary)],
	cpuidle_play_dead => [qw(acpi_idle_play_dead intel_idle_enter_dead)],
	# the firmware, or the hypervisor
	asm_acpi_mp_play_dead => [],
	tboot_shutdown => [],
	# kernel_exc_vmm_communication(), in .noinstr.text
	vc_boot_ghcb => [],
	# where the call of x86_acpi_enter_sleep_state() would return to
	wakeup_long64 => [],
	wakeup_pmode_return => [],
	# a copy of core_restore_code(), which jumps to restore_registers()
	restore_image => [],
);

# Functions that are called in a window, but not walked, and why that is safe
my %window_ends = (
	__fentry__ => 'no probe is its callback: its caller is on the blacklist',
	do_trace_write_msr => 'a tracepoint, only if it is enabled',
	do_trace_read_msr => 'the same',
	__SCT__xen_hypercall => 'in .noinstr.text',
	__stack_chk_fail => 'the kernel dies',
	panic => 'the same',
);

# Functions that arch_populate_kprobe_blacklist() adds by name, by range and by prefix
my (%by_name, @by_range, @by_prefix);
{
	my $file = "$FindBin::Bin/../../arch/x86/kernel/kprobes/blacklist.c";
	my $in = '';

	open(my $fh, '<', $file) or die "$file: $!\n";
	while (<$fh>) {
		$in = $1 if /^static const .*\b(areas|prefixes)\[\]/;
		$in = '' if /^\};/;
		if ($in eq 'areas') {
			$by_name{$_} = 1 for /"(\w+)"/g;
			push @by_range, [$1, $2] while /"(\w+)", "(\w+)"/g;
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

# If a function of @roots or @raises was renamed in the sources, the walk would silently leave it
# out: fail instead.
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

my (%func, %listed, @pointers);

# Instructions, by FILE:SECTION and offset; and the targets of each jump label, by the
# FILE:SECTION:OFFSET of its instruction
my (%code, %jump_label);

# %func and other hashes have functions by the key FILE:NAME. %global has that key for the NAME of a
# global function.
my %global;

# %variable: FILE:SECTION:OFFSET of a global variable, by name. %pointer: what a pointer in a data
# section points to, by FILE:SECTION:OFFSET of the pointer.
my (%variable, %pointer);

my $wide = -e "$build/arch/x86/kernel/head_64.o";

sub run
{
	my ($file, @opts) = @_;

	open(my $fh, '-|', 'objdump', @opts, $file) or die "objdump: $!\n";
	my @lines = <$fh>;
	close($fh) or die "objdump $file failed\n";
	return @lines;
}

# at FILE, SECTION, OFFSET: returns the key of the function that includes this offset, or undef
my %symbols;
sub at
{
	my ($file, $section, $offset) = @_;

	for my $s (@{$symbols{$file}{$section} // []}) {
		return "$file:$s->[2]" if $offset >= $s->[0] && $offset < $s->[1];
	}
	return undef;
}

# place FILE, SYMBOL, ADDEND: returns the target of a relocation in FILE, as FILE:SECTION:OFFSET; or
# SYMBOL itself if another file defines it
my (%defined, %begins);
sub place
{
	my ($file, $sym, $addend) = @_;

	return "$file:$sym:$addend" if exists $symbols{$file}{$sym} || $sym eq '.altinstr_aux';
	return $sym unless exists $defined{"$file:$sym"};
	my ($section, $start) = @{$defined{"$file:$sym"}};
	return "$file:$section:" . ($start + $addend);
}

# function_at PLACE: returns the key of the function at FILE:SECTION:OFFSET. If PLACE is a symbol,
# returns it unchanged.
sub function_at
{
	my ($place) = @_;

	return $place =~ /:/ ? at(split /:/, $place) : $place;
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
		$variable{$name} = "$file:$section:$addr" if $bind eq 'g' && $section =~ /^\.data/;
		next if $section eq '*UND*' || $section eq '*ABS*' || $section !~ /text/;
		# Symbols of sections would hide the functions at their start.
		next if $name =~ /^\.|^__pfx_|^__cfi_|^__UNIQUE/;
		# A label in assembly has no size: let it cover one byte, so that at() finds it.
		$size = 1 if !$size;
		push @{$symbols{$file}{$section}}, [$addr, $addr + $size, $name];
		$defined{"$file:$name"} = [$section, $addr];
		# Symbols without a type are functions, or labels in one.
		$begins{"$file:$section:$addr"} = $type eq 'F' ? 'function' : 'any';
		$global{$name} = "$file:$name" if $bind eq 'g';
		$func{"$file:$name"} = { section => $section, calls => [] };
	}
}

# read_code FILE: disassembles the file. Stores the text of each instruction, the offset of the next
# one, and the target of a branch; and, for each function, the functions that it calls.
sub read_code
{
	my ($file) = @_;
	my ($section, $here, $insn, $shown);

	for (run($file, '-dr', '--no-show-raw-insn')) {
		if (/^Disassembly of section (\S+):/) {
			($section, $insn) = ($1, undef);
		} elsif (/^\s*([0-9a-f]+):\t(.*)$/ && $_ !~ /R_(?:X86_64|386)_/) {
			my ($addr, $text) = (hex($1), $2);

			$insn->{next} = $addr if $insn;
			$insn = { text => $text };
			$code{"$file:$section"}{$addr} = $insn;
			$here = at($file, $section, $addr);
			$func{$here}{locked} = 1
				if defined $here && $text =~ /^lock\s|^(?:lock )?\s*xchg\s.*\(/;
			next unless $text =~ /^(?:\S+ )*(?:call|j[a-z]+)\s+(?:\w+ )*([0-9a-f]+) </;
			$shown = hex($1);
			$insn->{to} = "$file:$section:$shown";
		} elsif (/^\s*([0-9a-f]+): R_(?:X86_64|386)_(\S+)\t([^\s+-]+)([+-]0x[0-9a-f]+)?/) {
			my ($at, $type, $sym, $add) = (hex($1), $2, $3, offset($4));

			# An indirect jump through a table (switch) stays in its function.
			next if $sym =~ /^\.rodata/ && $insn->{text} =~ /^(?:\S+ )*jmp\s+\*/;
			if ($insn->{text} =~ /^(?:\S+ )*(?:call|j[a-z]+)\s+[^*\s]/) {
				# A 32-bit relocation has its addend in the instruction, so
				# objdump shows the target with it.
				$insn->{to} = place($file, $sym, $wide ? $add + 4 : $shown - $at);
			} elsif ($insn->{text} =~ /^(?:\S+ )*(?:call|jmp)\s+\*(?:0x([0-9a-f]+)$)?/) {
				# The variable that has the pointer
				$insn->{through} = [$sym, $type =~ /^PC/ ? $add + 4 :
						    $wide ? $add : hex($1 // 0)];
			} elsif (defined $here) {
				my $to = place($file, $sym, $type =~ /^PC/ ? $add + 4 : $add);

				$to = $to =~ /:/ ? function_at($to) : undef;
				push @pointers, $to if defined $to;
			}
		}
	}
	# Record branches to other functions as calls, jumps (tail calls) included.
	for my $section (keys %{$symbols{$file}}) {
		my $code = $code{"$file:$section"} // {};

		for my $addr (sort { $a <=> $b } keys %$code) {
			my $from = at($file, $section, $addr) // next;
			my $to = function_at($code->{$addr}{to} // next) // next;

			push @{$func{$from}{calls}}, $to if $to ne $from;
		}
	}
}

# words FILE, SECTION: returns a hash of the section's words of 32 bits, by offset
sub words
{
	my ($file, $section) = @_;
	my %word;

	for (run($file, '-s', '-j', $section)) {
		next unless /^ ([0-9a-f]+) ((?:[0-9a-f]{1,8} ){1,4}) /;
		my $at = hex($1);
		for my $hex (split ' ', $2) {
			$word{$at} = unpack('l<', pack('H*', $hex));
			$at += 4;
		}
	}
	return %word;
}

# Read the blacklist, the sites that ftrace patches, tables of pointers, and the jump labels.
sub read_tables
{
	my ($file) = @_;
	my ($section, $label, %word) = ('');

	for (run($file, '-r')) {
		if (/^RELOCATION RECORDS FOR \[(\S+)\]/) {
			$section = $1;
			%word = $wide || $section !~ /^__jump_table$|^_kprobe_blacklist$/ ? () :
				words($file, $section);
		} elsif (/^([0-9a-f]+) R_(?:X86_64|386)_(?:64|32|PC32)\s+([^\s+-]+)([+-]0x[0-9a-f]+)?/) {
			my $at = hex($1);
			my $place = place($file, $2, offset($3) + ($word{$at} // 0));
			# The blacklist may name a label inside a function. Then take the label, and
			# not the whole function.
			my $to = $begins{$place} && exists $func{"$file:$2"} ? "$file:$2" :
				function_at($place);

			if ($section eq '__jump_table') {
				# Each entry has the address of a jump label, its target, its key.
				my $which = $at % ($wide ? 16 : 12);

				$label = $place if $which == 0;
				push @{$jump_label{$label}}, $place if $which == 4;
			}
			$pointer{"$file:$section:$at"} = $place if $section =~ /^\.data/;
			next unless defined $to;
			$listed{$to} = 1 if $section eq '_kprobe_blacklist';
			$func{$to}{traced} = 1
				if $section eq '__mcount_loc' && exists $func{$to};
			push @pointers, $to if $section =~ /^\.(rodata|data)/;
		}
	}
}

my @files = glob("$build/kernel/kprobes.o $build/kernel/kprobes/*.o $build/arch/x86/kernel/kprobes/*.o");
@files = grep { -e && !/built-in|\.mod\.o$/ } @files;
@files >= 3 or die "$build: kprobes is not built there\n";
my %ours = map { $_ => 1 } @files;
my %read;
push @files, grep { -e && !$read{$_}++ } map { "$build/$_" } @entry_files, @window_files;

read_symbols($_) for @files;
read_code($_) for @files;
read_tables($_) for @files;

my (%seen, @todo);

sub add
{
	my ($name, $from) = @_;

	$name = $global{$name} // $name;
	return if exists $seen{$name};
	$seen{$name} = $from;
	push @todo, $name;
}

# raise FUNCTION, NAME, CALL: checks that FUNCTION, whose short name is NAME, may call CALL, which
# makes code run after the hit, see @raises
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

sub walk_hits
{
	my $found = 0;

	for my $root (@roots) {
		my @which = grep { /:\Q$root\E$/ } keys %func;
		# Some of these functions exist only in some configurations.
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

	my $walked = 0;
	while (defined(my $name = shift @todo)) {
		my $from = $seen{$name};
		(my $short = $name) =~ s/.*://;
		(my $caller = $from) =~ s/.*://;
		(my $file = $name) =~ s/:.*//;
		# The compiler splits off parts of functions, such as f.cold and f.part.0.
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
		# Functions of other subsystems in the entry code may be traced: ftrace detects its
		# own recursion.
		print "$short, which $caller calls: can be traced\n" if $traced && $ours{$file};
		print "$short, which $caller calls: can be probed\n"
			unless $f->{section} =~ /^\.(kprobes|noinstr|entry)\.text$/ || $listed{$name} ||
			       $listed{$short} || $listed{$whole} || $listed{"$file:$whole"} ||
			       is_named($whole);
		next if $guarded{$whole};
		for my $call (grep { $_ ne '__fentry__' } @{$f->{calls}}) {
			# kprobe_request() raises an interrupt, so its callers need a guard.
			raise($name, $short, 'kprobe_request') if $call =~ /(?:^|:)kprobe_request$/;
			if ($call =~ $raisers && !exists $func{$global{$call} // $call}) {
				raise($name, $short, $call);
			} else {
				add($call, $name);
			}
		}
	}
	$walked >= 30 or print "only $walked functions were found that a hit can call\n";
	# Print the number only for a user at a terminal: check.sh fails if anything is in stdout.
	print STDERR "   $walked functions of kprobes that a hit can call\n" if -t STDERR;
}

# symbols_at FILE, SECTION, OFFSET: returns the names by which kallsyms may know the code at this
# offset: the last symbols that begin at it or before it
sub symbols_at
{
	my ($file, $section, $offset) = @_;
	my @before = grep { $_->[0] <= $offset } @{$symbols{$file}{$section} // []};
	my ($last) = sort { $b <=> $a } map { $_->[0] } @before;

	return map { $_->[2] } grep { $_->[0] == $last } @before;
}

sub is_blacklisted
{
	my ($file, $section, $name) = @_;
	(my $whole = $name) =~ s/\..*//;

	return 1 if $section =~ /^\.(kprobes|noinstr|cpuidle|entry|init)\.text$|^\.text\.\.__x86/;
	# arch_populate_kprobe_blacklist() also finds names with these suffixes. A part with another
	# suffix counts only if its function is in the same object, and on the blacklist.
	return 1 if $name =~ /^(\w+)\.(?:constprop|isra|part)\.0$/ && $by_name{$1};
	for my $known (grep { exists $func{"$file:$_"} } $name, $whole) {
		return 1 if $listed{"$file:$known"} || $listed{$known} || is_named($known);
	}
	for my $range (@by_range) {
		my ($first, $last) = map { $defined{"$file:$_"} } @$range;
		my $at = $defined{"$file:$name"};

		return 1 if $first && $last && $first->[0] eq $section &&
			    $at->[1] >= $first->[1] && $at->[1] <= $last->[1];
	}
	return 0;
}

# beginning NAME: returns where the function begins, as FILE:SECTION:OFFSET; or undef if no object
# has it
sub beginning
{
	my ($name) = @_;

	# Startup code has a prefix, which the linker script of 7.3 hides.
	for my $known ($name, "__pi_$name") {
		my $f = $global{$known} // (grep { /:\Q$known\E$/ } keys %defined)[0] // next;

		return ($f =~ s/:.*//r) . ":$defined{$f}[0]:$defined{$f}[1]";
	}
	return undef;
}

# branches WINDOW, INSTRUCTION, FUNCTION: returns the possible targets of a call or jump in FUNCTION
sub branches
{
	my ($w, $insn, $short) = @_;
	(my $whole = $short) =~ s/\..*//;
	my ($to, $in) = @$insn{qw(to through)};

	return $to if defined $to && $to !~ /^__x86_indirect_(?:call_|jump_)?thunk/;
	if ($through{$whole}) {
		my @found = grep { defined beginning($_) } @{$through{$whole}};

		return @found if @found || !@{$through{$whole}};
	}
	# A call through a pointer in a variable, such as pv_ops: take the pointer's initial value.
	if ($in && $variable{$in->[0]}) {
		my ($file, $section, $offset) = split /:/, $variable{$in->[0]};

		$to = $pointer{"$file:$section:" . ($offset + $in->[1])};
		return $to if defined $to;
	}
	print "$short calls through a pointer: where to is not known, and $w->{what} executes it\n"
		if !$w->{noted}{"$short through"}++;
	return ();
}

# walk WINDOW, PLACE, CALLER: walks what the CPU executes from a place on, until the function there
# returns or the window ends. Returns true if the function may return before the window ends.
sub walk
{
	my ($w, $start, $caller) = @_;
	my ($returns, %been) = (0);
	my @todo = ($start);

	return $w->{returns}{$start} if exists $w->{returns}{$start};
	# Until the walk has shown whether the function returns, assume that a recursive call does.
	$w->{returns}{$start} = 1;
	while (defined(my $place = pop @todo)) {
		next if $been{$place}++;
		my ($file, $section, $offset) = split /:/, $place;
		my $insn = $code{"$file:$section"}{$offset} or die "no instruction at $place\n";
		my $text = $insn->{text};
		my $next = defined $insn->{next} ? "$file:$section:$insn->{next}" : undef;
		my @names = symbols_at($file, $section, $offset);
		my $short = $names[0] // $caller;

		$w->{walked}++;
		print "$short, which $caller calls: can be probed, and $w->{what} executes it\n"
			if @names && !$w->{noted}{"$file:$short"}++ &&
			   !grep { is_blacklisted($file, $section, $_) } @names;
		push @todo, @{$jump_label{$place} // []};
		next if $text =~ /^ud[12]/;
		my ($op) = $text =~ /^(?:\S+ )*(call|l?j[a-z]+|[il]?ret\w*)\b/;
		my $goes_on = !$op || $op !~ /jmp|ret/;
		my $leaves = $op && ($op =~ /ret/ ||
				     ($insn->{to} // '') =~ /^(?:__pi_)?__x86_return_thunk$/);

		$returns = 1 if $leaves;
		for my $to ($op && !$leaves ? branches($w, $insn, $short) : ()) {
			my $at = $to =~ /:/ ? $to : beginning($to);
			my ($name) = $to !~ /:/ ? $to : symbols_at(split /:/, $to);

			if ($to =~ /:/ && $op ne 'call' && !$begins{$to}) {
				push @todo, $to;
			} elsif (grep { $_ eq $name } @{$w->{before} // []}) {
				$goes_on = 0 if $op eq 'call';
			} elsif ($window_ends{$name}) {
				$returns = 1 if $op ne 'call';
			} elsif (!defined $at) {
				print "$name, which $short calls: in no object that is read, and " .
					"$w->{what} executes it\n" if !$w->{noted}{$name}++;
			} else {
				my $back = walk($w, $at, $short) &&
					   !grep { $_ eq $name } @{$w->{done} // []};

				$goes_on = 0 if $op eq 'call' && !$back;
				$returns = 1 if $op ne 'call' && $back;
			}
		}
		# If a call is the last instruction of a function, the called function does not
		# return.
		push @todo, $next
			if $goes_on && defined $next && ($begins{$next} // '') ne 'function';
	}
	return $w->{returns}{$start} = $returns;
}

# walk_after WINDOW, FUNCTION: walks from each place that FUNCTION returns to. If the function at
# that place also returns before the window ends, walks from each place that it returns to, and so
# on.
sub walk_after
{
	my ($w, $name) = @_;

	return if $w->{after_seen}{$name}++;
	for my $where (sort keys %code) {
		my ($file, $section) = split /:/, $where;

		for my $offset (sort { $a <=> $b } keys %{$code{$where}}) {
			my $insn = $code{$where}{$offset};
			my $to = $insn->{to} // next;
			my ($called) = $to !~ /:/ ? $to : $begins{$to} ? symbols_at(split /:/, $to) : '';

			next unless ($called // '') eq $name && $insn->{text} =~ /\bcall\b/;
			my ($short) = symbols_at($file, $section, $offset);
			$w->{found}++;
			next unless walk($w, "$file:$section:$insn->{next}", $name);
			print "$short returns before the window of $w->{what} ends\n"
				if !$w->{goes_on};
			walk_after($w, $short);
		}
	}
}

# The script reads relocations of 32-bit objects only as far as the windows need them.
walk_hits() if $wide;
for my $w (@windows) {
	for my $name (@{$w->{from} // []}) {
		my $at = beginning($name) // next;

		$w->{found}++;
		walk($w, $at, 'the CPU');
	}
	walk_after($w, $_) for @{$w->{after} // []};
	# Without vmlinux, the build is not complete, and the objects of the window may be missing.
	print "$build has no function of $w->{what}\n"
		unless $w->{found} || $w->{optional} || ! -e "$build/vmlinux";
	print STDERR '   ', $w->{walked} // 0, " instructions of $w->{what}\n" if -t STDERR;
}
