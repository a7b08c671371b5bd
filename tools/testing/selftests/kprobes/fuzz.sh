#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Random instructions have the same effect probed and not probed: with breakpoints, boosted and
# single-stepped, and with jumps, while a user raises exceptions. The programs in fuzz/ test many
# more in user mode. In the environment, FUZZ_S=N is the seconds of each case, FUZZ_SEED=N the
# seed; FUZZ_TRACE=1 prints each instruction first.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

setup_modes
is_x86 || skip_topic "the instructions are those of x86"
optimization 1
bad_frame_pointers

# results MODE BOOST: runs the suite in this mode, and saves its results
results() {
	set_mode "$1"
	load_suites kp_fuzz "boost=$2" "seed=${FUZZ_SEED:-1}" "seconds=${FUZZ_S:-5}" \
		"trace=${FUZZ_TRACE:-0}" at_least=100 -- kprobes_fuzz
	unload kp_fuzz
	mv "$TMP/kprobes_fuzz.results" "$TMP/kprobes_fuzz.$1.results"
}

start_hostile_user "${FUZZ_SEED:-1}"
results boosted 1
results stepped 0
cases=$(count_cases kprobes_fuzz.boosted kprobes_fuzz.stepped) || exit "$KSFT_FAIL"
ktap_set_plan $((cases + 2))
report_suites kprobes_fuzz.boosted kprobes_fuzz.stepped
check "what a hostile user did meanwhile" end_hostile_user
check "list is empty" list_is_empty
ktap_finished
