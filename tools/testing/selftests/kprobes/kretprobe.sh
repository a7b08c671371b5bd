#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Return probes: the documented calls, what handlers get in every context, and calls in flight
# while probes are registered and unregistered; with entries reached by breakpoints and by jumps.
#
# A kernel without our kprobes does not survive all of it: kretprobes_kunit.spare=1 on its command
# line leaves out the cases that are known to kill it.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-modes.sh
. "$(dirname "$0")/functions-modes.sh"

setup_jumps
spare=0
! grep -q -w 'kretprobes_kunit.spare=1' /proc/cmdline || spare=1
PLANNED_MORE=1
run_with_jumps 0 kretprobes_kunit spare=$spare -- kretprobes_errno kretprobes_calls \
	kretprobes_contexts kretprobes_lifecycle kretprobes_values
check "list is empty at the end" list_is_empty
ktap_finished
