#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stack traces must show the real callers of functions with return probes: traces from the function,
# from handlers, from interrupts, and at each instruction in between. The probes at the entries are
# hit by breakpoints and by jumps.

. "$(dirname "$0")/functions-modes.sh"

# The function and its handlers call dump_stack(). Each trace has to show the callers, none of them
# as a guess ("?"), though the last one may be shown only as the ip of saved registers. It has to
# show the function only if that has not returned yet. It may show a trampoline, but only as a
# guess, and with the trampoline's own name.
#
# The end of kprobe_ftrace_trampoline is allowed as a guess: kprobe_ftrace_return_trampoline begins
# there. While the function is in the filters of two ftrace_ops, as shortly after a probe was
# removed, ftrace jumps to that address and leaves it on the stack, though it is no return address.
dumps_are_right() {
	dmesg | awk '
		/kp_ret_stacks: dumps begin/ { on = 1; n = right = misnamed = 0; next }
		/kp_ret_stacks: dumps end/ { on = 0; next }
		!on { next }
		/trampoline|return_to_handler/ && match($0, /\+0x[0-9a-f]+\/0x[0-9a-f]+/) {
			split(substr($0, RSTART + 3, RLENGTH - 3), part, "/0x")
			if (part[1] == part[2] && !/ \? kprobe_ftrace_trampoline\+/) misnamed++
			if (part[1] ~ /^[05]$/ && !/ \? /) misnamed++
		}
		/ \? / { next }
		/Call Trace:/ { n++; seen = 0; function_seen = 0 }
		/[ :]kp_rs_probed\+0x/ { function_seen = 1 }
		/[ :]kp_rs_inner\+0x/ { seen = seen == 0 ? 1 : 9 }
		/ kp_rs_outer\+0x/ { seen = seen == 1 ? 2 : 9 }
		/ kp_rs_loop\+0x/ { if (seen == 2 && function_seen == (n < 3)) right++; seen = 9 }
		END {
			print "# " n " traces, " right " of them right, " misnamed \
				" trampolines shown wrong"
			exit !(n == 3 && right == 3 && !misnamed)
		}'
}

# has_orders: can the tracers that the module attaches in many orders be attached?
has_orders() {
	has_symbol register_fprobe_ips && has_tracer function_graph
}

# The function calls dump_stack() while several tracers replace its return address. Each trace must
# show the function and its callers. kp_rs_orders[] of kp_ret_stacks_fprobe.c has 26 orders of
# tracers, and one more trace is taken without any.
together_is_right() {
	least=0
	! has_orders || least=27
	log_since | awk -v least=$least '
		/kp_ret_stacks: together/ { on = 1; n++; chain = ""; next }
		/kp_ret_stacks: apart/ { on = 0; right += chain == "probed inner outer loop " }
		on && !/ \? / && match($0, / kp_rs_(probed(_interrupted)?|inner|outer|loop)\+/) {
			name = substr($0, RSTART + 7, RLENGTH - 8)
			sub(/_interrupted/, "", name)
			chain = chain name " "
		}
		END {
			print "# " n + 0 " orders, " right + 0 " of them right"
			exit !(n + 0 == right + 0 && n >= least)
		}'
}

after_mode() {
	check "dump_stack in the function and in handlers, $1" dumps_are_right
	check "dump_stack in a function that tracers follow, $1" together_is_right
	log_mark
}

setup_jumps
is_x86 || skip_topic "stacks are walked as x86 does"
log_mark
run_with_jumps 2 kp_ret_stacks -- kretprobes_frames kretprobes_step kretprobes_fprobe
ktap_finished
