#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The instruction matrix with jumps in place of breakpoints, and with the instructions that jumps
# overlap: an instruction has the same effect, and handlers get the same. INSN_ROUNDS=N and
# INSN_SEED=N in the environment are those of insn.sh.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup_optimized
optimization 1
bad_frame_pointers
run_suites 0 kp_insn opt=1 "rounds=${INSN_ROUNDS:-3}" "seed=${INSN_SEED:-1}" -- kprobes_insn
ktap_finished
