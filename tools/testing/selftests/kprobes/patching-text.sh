#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The probed text differs in one byte while a probe is armed, and in none afterwards.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
# A jump has more bytes.
optimization 0
run_suites 0 kp_patch -- kprobes_patching
ktap_finished
