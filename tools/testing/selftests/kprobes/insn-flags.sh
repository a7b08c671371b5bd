#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# After hits of every kind, flags are unchanged, or as handlers have set them.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
if ! is_x86; then
	ktap_skip_all "the flags are those of x86"
	exit "$KSFT_SKIP"
fi
# The suite switches jumps on and off; they are restored at the end.
[ ! -w $OPTIMIZATION ] || optimization "$(cat $OPTIMIZATION)"
run_suites 0 kp_flags -- kprobes_flags
ktap_finished
