#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the topics that only load KUnit suites, or run the kernel's tests of tracefs. The Makefile
# makes a copy of this script for each of them, NAME.sh; the name of the copy selects the topic.

. "$(dirname "$0")/functions-modes.sh"

case $(basename "$0") in
clients-*)
	. "$(dirname "$0")/functions-clients.sh"
	;;
esac

x86_only() {
	is_x86 || skip_topic "$1"
}

case $(basename "$0" .sh) in

# The documented calls. One case needs maxcpus=1 on the command line: it probes lock prefixes that
# SMP alternatives may still patch.
api)
	setup
	run_suites 0 kprobes_kunit -- kprobes_errno kprobes_batch kprobes_api kprobes_handlers
	;;

# Functions of kprobes that the rest of the kernel calls, such as kprobe_running()
api-internal)
	setup_modes
	x86_only "handlers have no levels here"
	run_in_modes 0 kp_internal -- kprobes_internal
	;;

# kprobe_function_entry(), which returns the start of the function if a probe is at its entry
api-entry)
	setup
	module_file kp_entry >/dev/null || skip_topic "the kernel has no kprobe_function_entry()"
	run_suites 0 kp_entry -- kprobes_entry
	;;

# Probes that their own handlers disable
api-once)
	setup_jumps
	module_file kp_once >/dev/null || skip_topic "the kernel has no kprobe_disable_self()"
	run_with_jumps 0 kp_once -- kprobes_once
	;;

# What can be left out of a kernel: fault_handlers and kprobe_disable_self()
api-options)
	setup
	run_suites 0 kp_options -- kprobes_options
	;;

# The module has copies of the code for slots, deferred frees, shared pools and filters of ftrace,
# and tests each part alone.
api-parts)
	setup
	module_file kp_parts >/dev/null || skip_topic "the kernel has other code"
	run_suites 0 kp_parts -- kprobes_slots kprobes_deferred kprobes_pools kprobes_filters_stay
	;;

api-unregister)
	setup
	run_suites 0 kprobes_remove_kunit -- kprobes_remove
	;;

# The kernel's own tests of dynamic events
clients-dynevents)
	run_ftracetest dynevent
	;;

# The kernel's own tests of kprobe events
clients-events)
	run_ftracetest kprobe
	;;

# The kernel's own tests of the function tracers
clients-ftrace)
	run_ftracetest ftrace
	;;

# Handlers and copies of instructions raise page faults, on any architecture.
context-faults)
	setup
	run_suites 0 kp_page_faults -- kprobes_page_faults
	;;

# A handler oopses, which ends the current task. After that, the CPU must still call handlers. The
# oops disables lockdep and other checks until the next boot.
context-oops)
	setup_modes
	grep -q -w kp_oops /proc/cmdline || skip_topic "kp_oops is not on the kernel's command line"
	echo 0 >/proc/sys/kernel/panic_on_oops
	echo "kprobes-selftest: expect BUG: unable to handle page fault for address: fff" >/dev/kmsg
	echo "kprobes-selftest: expect Oops: Oops: 0002" >/dev/kmsg
	run_in_modes 0 kp_oops -- kprobes_oops
	;;

# In handlers, in_nmi() and the like must return the same as in the probed code, however a hit
# reaches the handlers.
context-same)
	setup_modes
	x86_only "elsewhere a breakpoint changes what handlers see"
	run_in_modes 0 kp_same -- kprobes_same
	;;

# Which fault_handlers are called, and what they may do, with instructions boosted, stepped and
# optimised
insn-fault-handlers)
	setup_modes
	module_file kp_fault_handlers >/dev/null || skip_topic "the kernel calls no fault_handlers"
	run_in_modes 0 kp_fault_handlers -- kprobes_fault_handlers
	;;

# Probes next to an endbr, with instructions boosted, stepped and optimised. `make test-ibt` runs
# this on a CPU that enforces IBT.
insn-ibt)
	setup_modes
	module_file kp_ibt >/dev/null || skip_topic "the kernel has no endbr"
	run_in_modes 0 kp_ibt -- kprobes_ibt
	;;

# After hits of every kind, the flags must be unchanged, or be as handlers have set them.
insn-flags)
	setup
	x86_only "the flags are for x86"
	! has_jumps || optimization "$(cat $OPTIMIZATION)"
	run_suites 0 kp_flags -- kprobes_flags
	;;

# The instruction matrix: each instruction must have the same effect, probed or not. In the
# environment, INSN_ONLY=TEXT and INSN_SKIP=TEXT choose instructions by name, INSN_ROUNDS=N and
# INSN_SEED=N the number and the seed of values.
insn)
	setup
	x86_only "the instructions are for x86"
	bad_frame_pointers
	run_suites 0 kp_insn "rounds=${INSN_ROUNDS:-8}" "seed=${INSN_SEED:-1}" \
		"only=${INSN_ONLY:-}" "skip=${INSN_SKIP:-}" -- kprobes_insn
	;;

# Return probes, with entries reached by breakpoints and by jumps. kretprobes_kunit.spare=1 on the
# command line leaves out the cases that kill the base kernel.
kretprobe)
	setup_jumps
	spare=$(grep -c -w 'kretprobes_kunit.spare=1' /proc/cmdline) || :
	PLANNED_MORE=1
	run_with_jumps 0 kretprobes_kunit "spare=$spare" -- kretprobes_errno kretprobes_calls \
		kretprobes_contexts kretprobes_lifecycle kretprobes_values
	check "list is empty at the end" list_is_empty
	;;

# Probes on all instructions of the BPF interpreter, optimised where possible, while it runs a
# program with known results
opt-bpf-interpreter)
	setup_optimized
	has_symbol ___bpf_prog_run ||
		skip_topic "no BPF interpreter in this kernel"
	jit=/proc/sys/net/core/bpf_jit_enable
	[ ! -w $jit ] || change $jit 0
	optimization 1
	run_suites 0 kp_bpf -- kprobes_bpf
	;;

# The instruction matrix with jumps in place of breakpoints, and with the instructions that jumps
# overlap. INSN_ROUNDS=N and INSN_SEED=N as for insn.
opt-insn)
	setup_optimized
	optimization 1
	bad_frame_pointers
	run_suites 0 kp_insn opt=1 "rounds=${INSN_ROUNDS:-3}" "seed=${INSN_SEED:-1}" -- kprobes_insn
	;;

# A return in a detour buffer must use a return thunk if the kernel's own returns do.
opt-return-thunks)
	setup_optimized
	[ "$(uname -m)" = x86_64 ] || skip_topic "a 32-bit kernel has no return thunks"
	optimization 1
	for bug in indirect_target_selection retbleed spec_rstack_overflow; do
		file=/sys/devices/system/cpu/vulnerabilities/$bug
		[ ! -r $file ] || ktap_print_msg "$bug: $(cat $file)"
	done
	run_suites 0 kp_returns -- kprobes_returns
	;;

# The probed text must differ in one byte while a probe is armed, and in none afterwards.
patching-text)
	setup
	# A jump would change more bytes.
	optimization 0
	run_suites 0 kp_patch -- kprobes_patching
	;;

esac
ktap_finished
