#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests probes that the kernel's command line puts into the kernel's text, and into its init text,
# which is freed before the first process starts. The command line must have
#
#	trace_event= kprobe_event=p:kpboot/enter,kernel_clone;r:kpboot/leave,kernel_clone;
#	  p:kpinit/console,console_on_rootfs;p:kpinit/inside,console_on_rootfs+9;
#	  p:kpinit/late,_xbc_exit;p:kpinit/later,_xbc_exit+9
#
# in one line. +9 is the offset of the instruction after an endbr and ftrace's call. On a 32-bit
# kernel use +5, since there is no endbr before the call.
#
# The events of boot-events.bootconfig are tested, too, with CONFIG_BOOTTIME_TRACING and
# `bootconfig` on the command line.

. "$(dirname "$0")/functions.sh"

# At boot, a work item creates the directories of all events, and the events of the command line are
# added at the same time. Check that none of them has been left without a directory.
are_enabled() {
	for event in "$@"; do
		must grep -q "^$event\$" $TRACEFS/set_event
		must test -e "$TRACEFS/events/${event%:*}/${event#*:}/enable"
	done
}

switch() {
	echo "$1" >>$TRACEFS/set_event || failed "set_event does not take $1"
}

are_there() {
	must grep -q '^p:kpboot/enter kernel_clone' $TRACEFS/kprobe_events
	must grep -q '^r[0-9]*:kpboot/leave kernel_clone' $TRACEFS/kprobe_events
	must grep -q '^p:kpinit/console ' $TRACEFS/kprobe_events
	are_enabled kpboot:enter kpboot:leave kpinit:console
}

were_hit() {
	at_least "hits of kpboot/enter" "$(event_hits enter)" 10
	at_least "hits of kpboot/leave" "$(event_hits leave)" 10
	equal "hits and misses of kpinit/console" "$(event_profile console)" "1 0"
	# The event does not exist if no instruction begins at the offset in the command line.
	if grep -q '^p:kpinit/inside ' $TRACEFS/kprobe_events; then
		equal "hits and misses of kpinit/inside" "$(event_profile inside)" "1 0"
	fi
}

are_traced() {
	must grep -q ' console: (console_on_rootfs+0x' $TRACEFS/trace
	must grep -q ' enter: (kernel_clone+0x' $TRACEFS/trace
	must grep -q ' leave: (.* <- kernel_clone)' $TRACEFS/trace
}

init_is_gone() {
	grep 'console_on_rootfs' $KPROBES/list >"$TMP/init" || failed "not in kprobes/list"
	must_fail grep -v -F '[GONE]' "$TMP/init"
	must_fail grep -F '[OPTIMIZED]' "$TMP/init"
	must_fail grep -q ' console_on_rootfs$' $KPROBES/blacklist
}

# _xbc_exit() is init text, and runs after kprobes has removed the probes there: a breakpoint that
# is left would be fatal.
late_init_is_not_hit() {
	grep -q '_xbc_exit' $KPROBES/list ||
		skip_case "no _xbc_exit(): no CONFIG_BOOT_CONFIG, or not traced" || return 0
	grep '_xbc_exit' $KPROBES/list >"$TMP/late"
	must_fail grep -v -F '[GONE]' "$TMP/late"
	equal "hits and misses of kpinit/late" "$(event_profile late)" "0 0"
	if grep -q '^p:kpinit/later ' $TRACEFS/kprobe_events; then
		equal "hits and misses of kpinit/later" "$(event_profile later)" "0 0"
	fi
}

others_are_hit() {
	listed=$(grep -c '  [kr]  kernel_clone+' $KPROBES/list) || :
	equal "probes of kernel_clone()" "$listed" 2
	must_fail grep 'kernel_clone.*GONE' $KPROBES/list
	entered=$(event_hits enter)
	left=$(event_hits leave)
	processes 2
	at_least "hits of kpboot/enter" "$(event_hits enter)" $((entered + 2))
	at_least "hits of kpboot/leave" "$(event_hits leave)" $((left + 2))
}

are_configured() {
	grep -q 'ftrace.event.kprobes.conf_enter' /proc/bootconfig 2>/dev/null ||
		skip_case "no such events are in the boot configuration" || return 0
	must grep -q '^p:kprobes/conf_enter wake_up_new_task' $TRACEFS/kprobe_events
	must grep -q '^r[0-9]*:kprobes/conf_leave do_sys_openat2 ret=.retval$' \
		$TRACEFS/kprobe_events
	are_enabled kprobes:conf_enter kprobes:conf_leave kprobes:conf_init
	for event in conf_enter conf_leave; do
		at_least "hits of $event" "$(event_hits $event)" 10
	done
	equal "hits and misses of conf_init" "$(event_profile conf_init)" "1 0"
	must grep -q ' conf_leave: (.* <- do_sys_openat2) ret=' $TRACEFS/trace
	entered=$(event_hits conf_enter)
	left=$(event_hits conf_leave)
	cat /proc/version >/dev/null
	at_least "hits of conf_enter" "$(event_hits conf_enter)" $((entered + 1))
	at_least "hits of conf_leave" "$(event_hits conf_leave)" $((left + 1))
	switch '!kprobes:*'
}

switched() {
	switch '!kpinit:*'
	switch '!kpboot:*'
	entered=$(event_hits enter)
	sh -c :
	equal "hits while off" "$(event_hits enter)" "$entered"
	switch 'kpboot:*'
	sh -c :
	at_least "hits when on again" "$(event_hits enter)" $((entered + 1))
}

# Some of the events may not exist.
removed() {
	switch '!kpboot:*'
	for event in kpboot/enter kpboot/leave kpinit/console kpinit/inside kpinit/late \
		kpinit/later kprobes/conf_enter kprobes/conf_leave kprobes/conf_init; do
		! grep -q ":$event " $TRACEFS/kprobe_events || add_event "-:$event"
	done
	must_fail grep . $TRACEFS/kprobe_events
	list_is_empty
}

setup
grep -q 'kprobe_event=.*kpboot/enter.*kpinit/console' /proc/cmdline ||
	skip_topic "no such events are on the kernel's command line"
has_events || :
ktap_set_plan 9
check "events of the command line are there, and enabled" are_there
check "they were hit while the kernel booted" were_hit
check "their hits are in the trace" are_traced
check "the ones in init text were removed with it" init_is_gone
check "init text that is executed after that meets none" late_init_is_not_hit
check "the others are hit" others_are_hit
check "events of the boot configuration are there, and hit" are_configured
check "they can be switched" switched
check "they can be removed" removed
ktap_finished
