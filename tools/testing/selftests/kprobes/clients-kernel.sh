#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own modules that test or demonstrate clients of kprobes: test_fprobe,
# kprobe_event_gen_test, the samples of fprobe and livepatch, lkdtm.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

FPROBE_CASES="test_fprobe_entry test_fprobe test_fprobe_syms test_fprobe_data
	test_fprobe_nest test_fprobe_skip"

# If it is built in, it ran at boot.
fprobe_case() {
	grep -q -E "^ *ok [0-9]+ $1\$" $DEBUGFS/kunit/fprobe_test/results || {
		sed 's/^/# | /' $DEBUGFS/kunit/fprobe_test/results
		return 1
	}
}

# kprobe_event_gen_test makes events for a kprobe and a kretprobe of do_sys_open(), and enables
# them. The out-of-line do_sys_open() has no caller, so check the probes, not hits.
event_gen_test() {
	modprobe kprobe_event_gen_test || return 1
	cp $TRACEFS/dynamic_events "$TMP/events"
	grep ' do_sys_open+' $KPROBES/list >"$TMP/list"
	rmmod kprobe_event_gen_test || return 1
	lines_are "events" "$TMP/events" '^p:kprobes/gen_kprobe_test do_sys_open dfd=' 1 &&
		lines_are "events" "$TMP/events" \
			'^r[0-9]*:kprobes/gen_kretprobe_test do_sys_open ' 1 &&
		lines_are "kprobes/list" "$TMP/list" ' [kr] +do_sys_open[+]' 2 &&
		no_events
}

# mark NAME: marks the log; since_marker: prints what the kernel has logged since
mark() {
	marker="clients-kernel: mark $1 $$"
	echo "$marker" >/dev/kmsg
}

since_marker() {
	dmesg | sed -n "/$marker/,\$p"
}

forks() {
	i=0
	while [ $i -lt "$1" ]; do
		(:)
		i=$((i + 1))
	done
}

fprobe_sample() {
	mark fprobe
	modprobe fprobe_example symbol=kernel_clone || return 1
	forks 20
	must rmmod fprobe_example
	since_marker >"$TMP/log"
	at_least "entries" "$(grep -c 'Enter <kernel_clone' "$TMP/log")" 20 &&
		at_least "returns" "$(grep -c 'Return from <kernel_clone' "$TMP/log")" 20 &&
		at_least "hits as the sample counts them" \
			"$(sed -n 's/.*unregistered\. \([0-9]*\) times hit.*/\1/p' "$TMP/log")" 20
}

patch_is_gone() {
	[ ! -d /sys/kernel/livepatch/livepatch_sample ]
}

patched() {
	grep -q 'this has been live patched' /proc/cmdline
}

hits_of() {
	awk -v event="$1" '$1 == event { print $2 }' $TRACEFS/kprobe_profile
}

# A probe on a live-patched function, registered before the patch and removed after it: the patch
# works, and the probe is hit, with and without the patch, since its handler runs first.
livepatch_sample() {
	echo 'p:patched cmdline_proc_show' >>$TRACEFS/kprobe_events || return 1
	echo 1 >$TRACEFS/events/kprobes/patched/enable
	status=0
	must_fail patched || status=1
	equal "hits before" "$(hits_of patched)" 1 || status=1
	modprobe livepatch-sample || status=1
	wait_until patched || status=1
	before=$(hits_of patched)
	must patched || status=1
	equal "hits while patched" "$(($(hits_of patched) - before))" 1 || status=1
	echo 0 >/sys/kernel/livepatch/livepatch_sample/enabled
	wait_until patch_is_gone || status=1
	rmmod livepatch_sample || status=1
	before=$(hits_of patched)
	must_fail patched || status=1
	equal "hits after" "$(($(hits_of patched) - before))" 1 || status=1
	echo 0 >$TRACEFS/events/kprobes/patched/enable
	echo '-:patched' >>$TRACEFS/kprobe_events
	return $status
}

# lkdtm's crash points are kprobes. Of its actions, use one that only warns.
lkdtm_warning() {
	echo "kprobes-selftest: expect WARNING: .*lkdtm" >/dev/kmsg
	mark lkdtm
	modprobe lkdtm cpoint_count=3 || return 1
	echo WARNING >$DEBUGFS/provoke-crash/INT_HW_IRQ_EN || return 1
	wait_until lkdtm_warned
	rmmod lkdtm && no_events
}

lkdtm_warned() {
	since_marker | grep -q 'WARNING: .*lkdtm'
}

# have MODULE
have() {
	modprobe -n "$1" 2>/dev/null
}

# check_with MODULE DESCRIPTION FUNCTION
check_with() {
	if have "$1"; then
		check "$2" "$3"
	else
		ktap_print_msg "$1.ko is not there: not configured, or not of this architecture"
		ktap_test_skip "$2"
	fi
}

setup_clients
# shellcheck disable=SC2086 # words
set -- $FPROBE_CASES
ktap_set_plan $(($# + 5))
for name; do
	if [ -e $DEBUGFS/kunit/fprobe_test/results ]; then
		check "fprobe_test.$name" fprobe_case "$name"
	else
		ktap_test_skip "fprobe_test.$name"
	fi
done
check_with kprobe_event_gen_test "kprobe_event_gen_test" event_gen_test
check_with fprobe_example "sample of fprobe" fprobe_sample
check_with livepatch-sample "probe on a function that is live patched" livepatch_sample
check_with lkdtm "warning at lkdtm's crash point INT_HW_IRQ_EN" lkdtm_warning
check "no event and no probe is left" no_events
ktap_finished
