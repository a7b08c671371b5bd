#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Thousands of jumps are written and removed, under load. OPT_CYCLES=N in the environment is their
# number, OPT_MS=N makes each of the other cases last N milliseconds.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup_optimized
optimization 1
cycles=${OPT_CYCLES:-10000}
# KUnit limits the time of a case; with KASAN, fewer cycles fit.
if grep -qw kasan_report /proc/kallsyms; then
	cycles=${OPT_CYCLES:-1000}
fi
run_suites 0 kp_opt_stress "cycles=$cycles" "ms=${OPT_MS:-4000}" -- kprobes_opt_stress
ktap_finished
