#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two thousand tasks asleep in a return-probed function, and as many that end in one.
#
# RET_SLEEPERS=N and RET_DEATHS=N in the environment have fewer or more tasks take part.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

# Of a kernel that checks everything, which is many times slower, a part is enough.
deaths=1000
[ ! -e /proc/lockdep ] || deaths=200

setup
run_suites 0 kp_ret_tasks "sleepers=${RET_SLEEPERS:-2000}" "deaths=${RET_DEATHS:-$deaths}" -- \
	kretprobes_sleep kretprobes_death
ktap_finished
