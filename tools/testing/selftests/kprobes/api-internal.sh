#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Functions of kprobes that the rest of the kernel calls: kprobe_busy_begin(), kprobe_busy_end(),
# kprobe_running(), get_kprobe(), within_kprobe_blacklist() and is_kprobe_insn_slot(); with
# instructions boosted, stepped and optimised, and with ftrace-based probes.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

setup_modes
if ! is_x86; then
	ktap_skip_all "handlers have no levels here"
	exit "$KSFT_SKIP"
fi
run_in_modes 0 kp_internal -- kprobes_internal
ktap_finished
