#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes disabled and unregistered by two callers at once, while a handler runs.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
run_suites 0 kprobes_remove_kunit -- kprobes_remove
ktap_finished
