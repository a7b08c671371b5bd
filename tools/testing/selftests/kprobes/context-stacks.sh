#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stack traces from handlers, and from interrupts while a probed instruction is executed, must show
# the probed function and its callers. That is tested for probed instructions that are boosted,
# stepped, optimised or emulated.

. "$(dirname "$0")/functions-modes.sh"

# The handlers call dump_stack(). Each trace has to show the probed function, perhaps only as the
# instruction pointer of the saved registers, and its callers, none of them as a guess ("?"). An
# address in a slot has no symbol, so the address in the probed function must follow it.
dumps_are_right() {
	least=1 dumps=4
	[ "$1" != stepped ] || least=0
	! grep -q 'the kernel calls no fault_handlers' "$TMP/kprobes_stacks.$1.results" || dumps=3
	dmesg | awk -v least=$least -v dumps=$dumps '
		/kp_stacks: dumps begin/ { on = 1; n = right = slots = untold = 0; next }
		/kp_stacks: dumps end/ { on = 0; next }
		!on { next }
		in_slot { in_slot = 0; untold += !/ \? kp_stacks_probed\+0x/ }
		/ \? 0x[0-9a-f]+$/ { in_slot = 1; slots++ }
		/ \? / { next }
		/Call Trace:/ { n++; seen = 0 }
		/[ :]kp_stacks_probed\+0x/ { seen = seen < 1 ? 1 : seen }
		/ kp_stacks_inner\+0x/ { seen = seen == 1 ? 2 : 9 }
		/ kp_stacks_outer\+0x/ { if (seen == 2) right++; seen = 9 }
		END {
			print "# " n " traces, " right " of them right, " slots \
				" addresses in slots, " untold " of them alone"
			exit !(n == dumps && right == n && !untold && slots >= least)
		}'
}

# Interrupts must have arrived while a copy was executed, except for single-stepped copies, which
# are executed with interrupts off. Bochs takes no interrupt before a string instruction has ended:
# one arrives in the copy only if it became pending during a breakpoint, which optimised probes
# lack.
interrupts_came() {
	! grep -q 'ok .* kp_stacks_in_interrupt # SKIP' "$TMP/kprobes_stacks.$1.results" ||
		[ "$1" = stepped ] || { [ "$1" = optimized ] && in_bochs; }
}

after_mode() {
	check "interrupts in slots, $1" interrupts_came "$1"
	check "dump_stack in handlers, $1" dumps_are_right "$1"
}

setup_modes
is_x86 || skip_topic "the probed function is one of x86"
run_in_modes 2 kp_stacks -- kprobes_stacks
ktap_finished
