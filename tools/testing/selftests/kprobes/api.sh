#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The documented calls: what they accept, what they refuse and with which errno, what handlers
# get.
#
# Locations that SMP alternatives reserve exist only on a kernel booted with maxcpus=1 on a
# machine with more CPUs. The case is skipped elsewhere.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
run_suites 0 kprobes_kunit -- kprobes_errno kprobes_batch kprobes_api kprobes_handlers
ktap_finished
