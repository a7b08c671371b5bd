#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Return probes: the documented calls, what handlers are given, in every context, and
# calls in flight while probes come and go; how much memory a great many of them take.
#
# A kernel without our kprobes does not survive all of it: with kp_ret.spare=1 on its
# command line the cases are left out that are known to kill such a kernel.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
spare=0
! grep -q -w 'kp_ret.spare=1' /proc/cmdline || spare=1
run_suites 0 kp_ret spare=$spare -- kretprobes_errno kretprobes_calls kretprobes_contexts \
	kretprobes_lifecycle
ktap_finished
