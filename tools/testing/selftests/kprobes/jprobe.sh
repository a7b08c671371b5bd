#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests jprobes: which registrations are refused, which arguments handlers get, and which the
# function gets after the handler. Jprobes are hit through ftrace, by breakpoints and by jumps.

. "$(dirname "$0")/functions-modes.sh"

# Three jprobes have handlers that make one of these mistakes at every hit. The kernel must log each
# mistake only once for each jprobe.
messages() {
	equal "handlers that return" \
		"$(log_lines 'handler kp_jp_handler.* has returned without jprobe_return\(\)')" 3
	at_least "handlers that leave a count" \
		"$(log_lines 'handler kp_jp_handler.* has left preempt_count 0x')" 3
	at_most "handlers that leave interrupts disabled" \
		"$(log_lines 'handler kp_jp_handler.* has left interrupts disabled')" 3
	# The kernel limits the rate of this message, so look for it only in the first mode.
	[ "$1" != boosted ] || at_least "calls outside of a handler" \
		"$(log_lines 'kp_jp_errno_return_outside.* has called jprobe_return\(\) outside')" 1
}

after_mode() {
	check "messages, $1" messages "$1"
	log_mark
}

graph() {
	# An earlier test's oops may have stopped the ring buffer.
	put_in $TRACEFS tracing_on=1 set_ftrace_filter='*:mod:jprobes_kunit' \
		current_tracer=function_graph
	load_suites jprobes_kunit -- jprobes_calls jprobes_drops
	# The buffer may have only the last of many calls.
	at_least "calls in the trace" "$(grep -c 'kp_jp_' $TRACEFS/trace || :)" 100
	unload jprobes_kunit
	put_in $TRACEFS current_tracer=nop set_ftrace_filter=
	for suite in jprobes_calls jprobes_drops; do
		must_fail grep -E '^ *not ok' "$TMP/$suite.results"
		at_least "cases of $suite" "$(count_cases $suite)" 4
	done
}

sample() {
	log_mark
	must modprobe jprobe_example
	LOADED=jprobe_example
	must grep -q '  j  kernel_clone+' $KPROBES/list
	equal "probes listed" "$(grep -c . $KPROBES/list)" 1
	processes 5
	unload jprobe_example
	line='kernel_clone\(flags=0x[0-9a-f]+, exit_signal=17\)'
	at_least "lines" "$(log_lines "jprobe_example: $line")" 5
	line='jprobe gone after [0-9]+ calls, 0 more were missed'
	equal "lines of the end" "$(log_lines "jprobe_example: $line")" 1
	list_is_empty
	log_mark
	processes 3
	equal "lines after the end" "$(log_lines 'jprobe_example')" 0
}

setup_modes
has_module jprobes_kunit || skip_topic "CONFIG_JPROBES and CONFIG_KPROBES_KUNIT_TEST=m are needed"
has_events || :
log_mark
PLANNED_MORE=3
run_in_modes 1 jprobes_kunit -- jprobes_errno jprobes_calls jprobes_contexts jprobes_drops
check_if "has_tracer function_graph" "handlers that the function graph tracer follows" graph
check_if "has_module jprobe_example" "the sample prints the arguments" sample
check "list is empty at the end" list_is_empty
ktap_finished
