#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A return in a detour buffer uses a return thunk if the kernel's own returns do. That depends on
# the processor and on the kernel's command line, for example on indirect_target_selection=force
# and retbleed=unret.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup_optimized
if [ "$(uname -m)" != x86_64 ]; then
	ktap_skip_all "a 32-bit kernel has no return thunks"
	exit "$KSFT_SKIP"
fi
optimization 1
for bug in indirect_target_selection retbleed spec_rstack_overflow; do
	file=/sys/devices/system/cpu/vulnerabilities/$bug
	[ ! -r $file ] || ktap_print_msg "$bug: $(cat $file)"
done
run_suites 0 kp_returns -- kprobes_returns
ktap_finished
