#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes that change while every CPU runs into them, first left alone, then with
# kprobes/enabled switched all the while. RACE_MS=N in the environment makes each
# case last N milliseconds.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

ms=${RACE_MS:-1500}

# What insmod runs in the foreground has to run beside the switching.
switch_meanwhile() {
	insmod "$MODULE_DIR/kp_race.ko" "ms=$ms" switching=1 &
	insmod_pid=$!
	switches=0
	while kill -0 $insmod_pid 2>/dev/null; do
		echo 0 >$KPROBES/enabled
		echo 1 >$KPROBES/enabled
		switches=$((switches + 1))
	done
	wait $insmod_pid || return 1
	# shellcheck disable=SC2034 # for the exit handler
	LOADED=kp_race
	cat $DEBUGFS/kunit/kprobes_race/results >"$TMP/kprobes_race.results"
	ktap_print_msg "switched off and on $switches times"
	[ $switches -ge 10 ]
}

setup
load_suites kp_race "ms=$ms" -- kprobes_race
cases=$(count_cases kprobes_race)
ktap_set_plan $((2 * cases + 3))
report_suites kprobes_race
check "nothing left in list" list_is_empty
unload kp_race

check "kprobes/enabled switched meanwhile" switch_meanwhile
report_suites kprobes_race
check "nothing left in list after switching" list_is_empty
unload kp_race
ktap_finished
