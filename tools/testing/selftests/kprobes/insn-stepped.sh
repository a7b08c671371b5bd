#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs suites of other topics while kprobes single-steps the copies of instructions that it boosts
# by default: with the second trap, the copies must have the same effect. Instructions that are
# emulated are among the targets in both modes. Then runs the suites of kprobes_kunit with jumps:
# after a probe was registered or enabled, these suites wait until it is optimised.

. "$(dirname "$0")/functions-modes.sh"

setup_modes
[ -w "$BOOST" ] || skip_topic "here it cannot be chosen whether copies are stepped"
suites=
suites_in_mode stepped kprobes_kunit -- kprobes_batch kprobes_api kprobes_handlers
bad_frame_pointers
suites_in_mode stepped kp_insn stepped=1 "rounds=${INSN_ROUNDS:-4}" -- kprobes_insn
suites_in_mode stepped kp_patch -- kprobes_patching
extra=1
if has_jumps; then
	suites_in_mode optimized kprobes_kunit jumps=1 -- kprobes_batch kprobes_api kprobes_handlers
	extra=2
fi
# shellcheck disable=SC2086 # words
report_planned "$extra" $suites
[ "$extra" -eq 1 ] || check "there were jumps" some_jumped 21
check "list is empty" list_is_empty
ktap_finished
