#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two thousand tasks sleep in a return-probed function, and a thousand end in one.
#
# RET_SLEEPERS=N and RET_DEATHS=N in the environment set the numbers of tasks.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

# A kernel with all checks is many times slower.
deaths=1000
[ ! -e /proc/lockdep ] || deaths=200

setup
run_suites 0 kp_ret_tasks "sleepers=${RET_SLEEPERS:-2000}" "deaths=${RET_DEATHS:-$deaths}" -- \
	kretprobes_sleep kretprobes_death
ktap_finished
