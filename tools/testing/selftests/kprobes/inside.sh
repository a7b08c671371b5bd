#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What the rest of the kernel calls of kprobes: kprobe_busy_begin() and kprobe_busy_end(),
# kprobe_running(), get_kprobe(), within_kprobe_blacklist() and is_kprobe_insn_slot(), with
# instructions boosted, stepped and optimised, and by way of ftrace.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

# at SYMBOL: its address; nothing if the kernel has none
at() {
	sed -n "s/^\([0-9a-f]*\) . $1\$/0x\1/p" /proc/kallsyms | head -n 1
}

setup_modes
frames=$(at kprobe_frames)
if [ "$(uname -m)" != x86_64 ] || [ -z "$frames" ]; then
	ktap_skip_all "handlers have no frames here"
	exit "$KSFT_SKIP"
fi
in_detour=$(at is_kprobe_optinsn_slot)
run_in_modes 0 kp_inside "frames_at=$frames" "busy_begin_at=$(at kprobe_busy_begin)" \
	"busy_end_at=$(at kprobe_busy_end)" "find_at=$(at get_kprobe)" \
	"blacklisted_at=$(at within_kprobe_blacklist)" "in_slot_at=$(at is_kprobe_insn_slot)" \
	"in_detour_at=${in_detour:-0}" -- kprobes_inside
ktap_finished
