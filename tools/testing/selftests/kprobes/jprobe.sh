#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Jprobes: which calls are refused, what handlers get, and what the function gets after them; with
# entries reached through ftrace, by breakpoints whose instructions are boosted, single-stepped
# and emulated, and by jumps.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

TRACING=/sys/kernel/tracing
modules=/lib/modules/$(uname -r)/modules.dep

mark() {
	marker="jprobe: $1 $$"
	echo "$marker" >/dev/kmsg
}

# said PATTERN: prints how many lines the kernel has logged since mark
said() {
	dmesg | sed -n "/$marker/,\$p" | grep -c -E "$1" || :
}

# Each of three jprobes logs this once, however often its handler does it.
messages() {
	equal "handlers that return" \
		"$(said 'handler kp_jp_handler.* has returned without jprobe_return\(\)')" 3
	at_least "handlers that leave a count" \
		"$(said 'handler kp_jp_handler.* has left preempt_count 0x')" 3
	at_most "handlers that leave interrupts disabled" \
		"$(said 'handler kp_jp_handler.* has left interrupts disabled')" 3
	# The kernel limits the rate of this message. It was not logged in the first mode.
	[ "$1" != boosted ] || at_least "calls outside of a handler" \
		"$(said 'kp_jp_errno_return_outside.* has called jprobe_return\(\) outside')" 1
}

after_mode() {
	check "messages, $1" messages "$1"
	mark "after $1"
}

# The function graph tracer traces all functions of the module.
graph() {
	if ! grep -q -w function_graph $TRACING/available_tracers 2>/dev/null; then
		skip_case "there is no function graph tracer"
		return
	fi
	# An earlier oops, also one of a test, has stopped the ring buffer.
	put $TRACING/tracing_on 1
	put $TRACING/set_ftrace_filter '*:mod:jprobes_kunit'
	put $TRACING/current_tracer function_graph
	load_suites jprobes_kunit -- jprobes_calls jprobes_drops
	# The buffer has only the last calls, of any of the module's functions.
	at_least "calls in the trace" "$(grep -c 'kp_jp_' $TRACING/trace || :)" 100
	unload jprobes_kunit
	put $TRACING/current_tracer nop
	put $TRACING/set_ftrace_filter ''
	for suite in jprobes_calls jprobes_drops; do
		must_fail grep -E '^ *not ok' "$TMP/$suite.results"
		at_least "cases of $suite" "$(count_cases $suite)" 4
	done
}

sample() {
	mark sample
	must modprobe jprobe_example
	LOADED=jprobe_example
	must grep -q '  j  kernel_clone+' $KPROBES/list
	equal "probes listed" "$(grep -c . $KPROBES/list)" 1
	processes 5
	must rmmod jprobe_example
	LOADED=
	line='kernel_clone\(flags=0x[0-9a-f]+, exit_signal=17\)'
	at_least "lines" "$(said "jprobe_example: $line")" 5
	equal "lines of the end" \
		"$(said 'jprobe_example: jprobe gone after [0-9]+ calls, 0 more were missed')" 1
	list_is_empty
	mark gone
	processes 3
	equal "lines after the end" "$(said 'jprobe_example')" 0
}

setup_modes
if ! grep -q '/jprobes_kunit\.ko' "$modules" 2>/dev/null; then
	ktap_skip_all "CONFIG_JPROBES and CONFIG_KPROBES_KUNIT_TEST=m are needed"
	exit "$KSFT_SKIP"
fi
[ -d $TRACING/events ] || mount -t tracefs none $TRACING 2>/dev/null || :
mark begin
PLANNED_MORE=3
run_in_modes 1 jprobes_kunit -- jprobes_errno jprobes_calls jprobes_contexts jprobes_drops
check "handlers that the function graph tracer follows" graph
if grep -q '/jprobe_example\.ko' "$modules"; then
	check "the sample prints the arguments" sample
else
	ktap_test_skip "the sample prints the arguments"
fi
check "list is empty at the end" list_is_empty
ktap_finished
