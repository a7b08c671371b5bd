#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes that change while every CPU runs into them, first left alone, then with
# kprobes/enabled switched all the while. RACE_MS=N in the environment makes each
# case last N milliseconds.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
run_races kp_race kprobes_race "${RACE_MS:-1500}"
ktap_finished
