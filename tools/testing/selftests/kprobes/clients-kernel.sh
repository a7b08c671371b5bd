#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the kernel's own modules that test or demonstrate clients of kprobes: test_fprobe,
# kprobe_event_gen_test, the samples of fprobe and livepatch, lkdtm.

. "$(dirname "$0")/functions-clients.sh"

FPROBE_CASES="test_fprobe_entry test_fprobe test_fprobe_syms test_fprobe_data
	test_fprobe_nest test_fprobe_skip test_fprobe_again"

# A built-in fprobe_test has run at boot.
fprobe_case() {
	grep -q -E "^ *ok [0-9]+ $1\$" $DEBUGFS/kunit/fprobe_test/results || {
		sed 's/^/# | /' $DEBUGFS/kunit/fprobe_test/results
		return 1
	}
}

# The out-of-line do_sys_open() has no caller, so check the probes, not hits.
event_gen_test() {
	must modprobe kprobe_event_gen_test
	cp $TRACEFS/dynamic_events "$TMP/events"
	grep ' do_sys_open+' $KPROBES/list >"$TMP/list"
	must rmmod kprobe_event_gen_test
	lines_are "events" "$TMP/events" '^p:kprobes/gen_kprobe_test do_sys_open dfd=' 1
	lines_are "events" "$TMP/events" '^r[0-9]*:kprobes/gen_kretprobe_test do_sys_open ' 1
	lines_are "kprobes/list" "$TMP/list" ' [kr] +do_sys_open[+]' 2
	no_events
}

fprobe_sample() {
	log_mark
	must modprobe fprobe_example symbol=kernel_clone
	processes 20
	must rmmod fprobe_example
	at_least "entries" "$(log_lines 'Enter <kernel_clone')" 20
	at_least "returns" "$(log_lines 'Return from <kernel_clone')" 20
	at_least "hits as the sample counts them" \
		"$(log_since | sed -n 's/.*unregistered\. \([0-9]*\) times hit.*/\1/p')" 20
}

patched() {
	grep -q 'this has been live patched' /proc/cmdline
}

# The probe is hit with and without the live patch: its handler runs before the patch redirects.
livepatch_sample() {
	event_on 'p:patched cmdline_proc_show'
	must_fail patched
	equal "hits before" "$(event_hits patched)" 1
	must modprobe livepatch-sample
	wait_until patched
	before=$(event_hits patched)
	must patched
	equal "hits while patched" "$(($(event_hits patched) - before))" 1
	put /sys/kernel/livepatch/livepatch_sample/enabled 0
	wait_until [ ! -d /sys/kernel/livepatch/livepatch_sample ]
	must rmmod livepatch_sample
	before=$(event_hits patched)
	must_fail patched
	equal "hits after" "$(($(event_hits patched) - before))" 1
	event_off patched
}

# lkdtm's crash points are kprobes. Of its actions, use one that only warns.
lkdtm_warning() {
	echo "kprobes-selftest: expect WARNING: .*lkdtm" >/dev/kmsg
	log_mark
	must modprobe lkdtm cpoint_count=3
	put $DEBUGFS/provoke-crash/INT_HW_IRQ_EN WARNING
	wait_until lkdtm_warned
	must rmmod lkdtm
	no_events
}

lkdtm_warned() {
	log_since | grep -q 'WARNING: .*lkdtm'
}

setup_clients
# shellcheck disable=SC2086 # words
set -- $FPROBE_CASES
ktap_set_plan $(($# + 5))
for name; do
	check_if "[ -e $DEBUGFS/kunit/fprobe_test/results ]" "fprobe_test.$name" fprobe_case "$name"
done
check_if "modprobe -nq kprobe_event_gen_test" "kprobe_event_gen_test" event_gen_test
check_if "modprobe -nq fprobe_example" "sample of fprobe" fprobe_sample
check_if "modprobe -nq livepatch-sample" "probe on a function that is live patched" livepatch_sample
check_if "modprobe -nq lkdtm" "warning at lkdtm's crash point INT_HW_IRQ_EN" lkdtm_warning
check "no event and no probe is left" no_events
ktap_finished
