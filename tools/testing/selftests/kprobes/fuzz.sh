#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Executes random instructions with and without probes: the effect must be the same. Probes are hit
# by breakpoints, with copies boosted or single-stepped, or by jumps. Meanwhile, a user process
# raises exceptions. (The programs in fuzz/ test many more instructions, in user mode.) In the
# environment, FUZZ_S=N is the seconds of each mode, and FUZZ_SEED=N the seed. FUZZ_TRACE=1 logs
# each instruction before it is executed, so that one that crashes the kernel is known.

. "$(dirname "$0")/functions-modes.sh"

setup_modes
is_x86 || skip_topic "the instructions are for x86"
bad_frame_pointers
PLANNED_MORE=1
start_hostile_user "${FUZZ_SEED:-1}"
run_in_modes 0 kp_fuzz "seed=${FUZZ_SEED:-1}" "seconds=${FUZZ_S:-5}" "trace=${FUZZ_TRACE:-0}" \
	least=100 -- kprobes_fuzz
check "what the hostile user did" end_hostile_user
ktap_finished
