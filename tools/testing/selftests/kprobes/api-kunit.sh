#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the kernel's own KUnit suite for kprobes, lib/test_kprobes.c.

. "$(dirname "$0")/functions.sh"

setup
results=$DEBUGFS/kunit/kprobes_test/results
if [ ! -e $results ] && ! modprobe test_kprobes 2>/dev/null; then
	skip_topic "CONFIG_KPROBES_SANITY_TEST is needed"
fi
[ -e $results ] || ktap_exit_fail_msg "suite kprobes_test left no results"
cat $results >"$TMP/kprobes_test.results"
report_planned 1 kprobes_test
check "nothing left in list" list_is_empty
rmmod test_kprobes 2>/dev/null || :
ktap_finished
