#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stack traces with return probes show the real callers: in the function, in handlers, in
# interrupts and at each instruction in between. Entries are reached by breakpoints and by jumps.

. "$(dirname "$0")/functions-modes.sh"

# The handlers call dump_stack(). Each trace has to show the callers, none as a guess ("?"),
# though the last one may be shown by registers; and the function only if it has not returned yet.
dumps_are_right() {
	dmesg | awk '
		/kp_ret_stacks: dumps begin/ { on = 1; n = 0; right = 0; next }
		/kp_ret_stacks: dumps end/ { on = 0; next }
		!on || / \? / { next }
		/Call Trace:/ { n++; seen = 0; function_seen = 0 }
		/[ :]kp_rs_probed\+0x/ { function_seen = 1 }
		/[ :]kp_rs_inner\+0x/ { seen = seen == 0 ? 1 : 9 }
		/ kp_rs_outer\+0x/ { seen = seen == 1 ? 2 : 9 }
		/ kp_rs_loop\+0x/ { if (seen == 2 && function_seen == (n == 1)) right++; seen = 9 }
		END {
			print "# " n " traces, " right " of them right"
			exit !(n == 2 && right == 2)
		}'
}

after_mode() {
	check "dump_stack in handlers, $1" dumps_are_right
}

setup_jumps
is_x86 || skip_topic "stacks are walked as x86 does"
run_with_jumps 1 kp_ret_stacks -- kretprobes_frames kretprobes_step kretprobes_fprobe
ktap_finished
