#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The suites of the other topics with copies of instructions stepped: what is boosted as
# a rule, and there runs without a second trap, has to do the same with one. Emulated
# instructions are among the targets in both modes.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

ms=${RACE_MS:-1500}

# results MODULE [PARAM=VALUE...] -- SUITE...
results() {
	results_module=$1
	load_suites "$@"
	unload "$results_module"
	suites="$suites $(suites_of "$@")"
}

setup_modes
if [ -z "$BOOST_WAS" ]; then
	ktap_skip_all "here it cannot be chosen whether copies are stepped"
	exit "$KSFT_SKIP"
fi
set_mode stepped
suites=
results kp_api -- kprobes_batch kprobes_api kprobes_handlers
bad_frame_pointers
results kp_insn "rounds=${INSN_ROUNDS:-4}" -- kprobes_insn
results kp_race "ms=$ms" -- kprobes_race
results kp_text -- kprobes_text
# shellcheck disable=SC2086 # words
cases=$(count_cases $suites) || exit "$KSFT_FAIL"
ktap_set_plan $((cases + 1))
# shellcheck disable=SC2086
report_mode stepped $suites
check "list is empty" list_is_empty
ktap_finished
