#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two callers disable and unregister the same probes at once, while a handler runs.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
run_suites 0 kprobes_remove_kunit -- kprobes_remove
ktap_finished
