#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The instruction matrix: each instruction has the same effect, probed or not. In the environment,
# INSN_ONLY=TEXT and INSN_SKIP=TEXT choose instructions by name, INSN_ROUNDS=N is the number of
# values that are tried, and INSN_SEED=N chooses them.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
if ! is_x86; then
	ktap_skip_all "the instructions are those of x86"
	exit "$KSFT_SKIP"
fi
bad_frame_pointers
run_suites 0 kp_insn "rounds=${INSN_ROUNDS:-8}" "seed=${INSN_SEED:-1}" \
	"only=${INSN_ONLY:-}" "skip=${INSN_SKIP:-}" -- kprobes_insn
ktap_finished
