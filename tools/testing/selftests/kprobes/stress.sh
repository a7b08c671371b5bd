#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes change while every CPU hits them, first left alone, then while kprobes/enabled is
# switched. RACE_MS=N in the environment makes each case last N milliseconds.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
run_races kp_race kprobes_race "${RACE_MS:-1500}"
ktap_finished
