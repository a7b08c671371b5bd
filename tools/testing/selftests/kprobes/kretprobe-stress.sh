#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Return probes that change while every CPU runs into them, in tasks and in interrupts,
# first left alone, then with kprobes/enabled switched all the while. RACE_MS=N in the
# environment makes each case last N milliseconds.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

ms=${RACE_MS:-1500}

# What insmod runs in the foreground has to run beside the switching.
switch_meanwhile() {
	insmod "$MODULE_DIR/kp_ret_race.ko" "ms=$ms" switching=1 &
	insmod_pid=$!
	switches=0
	while kill -0 $insmod_pid 2>/dev/null; do
		echo 0 >$KPROBES/enabled
		echo 1 >$KPROBES/enabled
		switches=$((switches + 1))
	done
	wait $insmod_pid || return 1
	# shellcheck disable=SC2034 # for the exit handler
	LOADED=kp_ret_race
	cat $DEBUGFS/kunit/kretprobes_race/results >"$TMP/kretprobes_race.results"
	ktap_print_msg "switched off and on $switches times"
	[ $switches -ge 10 ]
}

setup
load_suites kp_ret_race "ms=$ms" -- kretprobes_race
cases=$(count_cases kretprobes_race)
ktap_set_plan $((2 * cases + 3))
report_suites kretprobes_race
check "nothing left in list" list_is_empty
unload kp_ret_race

check "kprobes/enabled switched meanwhile" switch_meanwhile
report_suites kretprobes_race
check "nothing left in list after switching" list_is_empty
unload kp_ret_race
ktap_finished
