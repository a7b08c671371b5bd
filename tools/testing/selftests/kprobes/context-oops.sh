#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A handler oopses: the task ends, and its CPU goes on calling handlers. An oops disables checks
# until the next boot, so the test needs kp_oops on the kernel's command line.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

setup
if ! grep -q -w kp_oops /proc/cmdline; then
	ktap_skip_all "kp_oops is not on the kernel's command line"
	exit "$KSFT_SKIP"
fi
echo 0 >/proc/sys/kernel/panic_on_oops
echo "kprobes-selftest: expect BUG: unable to handle page fault for address: ffff" >/dev/kmsg
echo "kprobes-selftest: expect Oops: Oops: 0002" >/dev/kmsg
run_suites 0 kp_oops -- kprobes_oops
ktap_finished
