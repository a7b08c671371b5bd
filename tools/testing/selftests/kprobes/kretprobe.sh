#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Return probes: the documented calls, what handlers are given, in every context, and
# calls in flight while probes come and go; with entries that are reached by breakpoints,
# and by jumps.
#
# A kernel without our kprobes does not survive all of it: with kretprobes_kunit.spare=1 on
# its command line the cases are left out that are known to kill such a kernel.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

# What the sample reports of a few processes.
sample_reports() {
	modprobe kretprobe_example || return 1
	LOADED=kretprobe_example
	n=0
	while [ $n -lt 5 ]; do
		must sh -c :
		n=$((n + 1))
	done
	rmmod kretprobe_example || return 1
	LOADED=
	dmesg | sed -n '/kretprobe_example: return probe on kernel_clone/,$p' >"$TMP/sample"
	line='kernel_clone returned [1-9][0-9]* to .*+0x.* after [0-9][0-9]* ns'
	said=$(grep -c "kretprobe_example: $line" "$TMP/sample") || :
	counted=$(sed -n 's/.*return probe gone after \([0-9]*\) returns, 0 more were missed/\1/p' \
		"$TMP/sample")
	ktap_print_msg "the sample reported $said returns, and counted ${counted:-none}"
	at_least "reported returns" "$said" 5
	equal "counted returns" "$counted" "$said"
}

sample_refuses() {
	must_fail modprobe kretprobe_example func=no_such_function 2>/dev/null
	dmesg | tail -n 5 | grep -q 'no_such_function cannot have a return probe: error -2'
}

setup_jumps
spare=0
! grep -q -w 'kretprobes_kunit.spare=1' /proc/cmdline || spare=1
PLANNED_MORE=3
run_with_jumps 0 kretprobes_kunit spare=$spare -- kretprobes_errno kretprobes_calls \
	kretprobes_contexts kretprobes_lifecycle kretprobes_values
if grep -q '/kretprobe_example\.ko' "/lib/modules/$(uname -r)/modules.dep"; then
	check "the sample reports what a function returned" sample_reports
	check "the sample says why it can't" sample_refuses
else
	ktap_test_skip "the sample reports what a function returned"
	ktap_test_skip "the sample says why it can't"
fi
check "list is empty at the end" list_is_empty
ktap_finished
