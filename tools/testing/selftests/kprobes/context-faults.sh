#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Handlers and copies of instructions raise page faults, on any architecture.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
run_suites 0 kp_page_faults -- kprobes_page_faults
ktap_finished
