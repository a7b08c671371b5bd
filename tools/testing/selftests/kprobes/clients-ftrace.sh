#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own tests of the function tracers, see run_ftracetest.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

setup_clients
run_ftracetest ftrace
