#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes of the kernel's command line, in its text and in its init text, which is freed before the
# first process starts. The command line has to define them, in the groups kpboot and kpinit, by
#
#	kprobe_event=p:kpboot/enter,kernel_clone;r:kpboot/leave,kernel_clone;
#	  p:kpinit/console,console_on_rootfs;p:kpinit/inside,console_on_rootfs+9;
#	  p:kpinit/late,_xbc_exit;p:kpinit/later,_xbc_exit+9
#
# in one line; functions of init text may have other names in other kernels. +9 is after an endbr
# and ftrace's call; with 32 bits, +5 is after the call.
#
# The events of the boot configuration, boot-events.bootconfig, are tested, too, if they exist:
# that needs CONFIG_BOOTTIME_TRACING, and `bootconfig` on the command line.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

TRACEFS=/sys/kernel/tracing

# profile EVENT: prints hits and missed
profile() {
	awk -v event="$1" '$1 == event { print $2, $3 }' $TRACEFS/kprobe_profile
}

# hits EVENT: prints its hits
hits() {
	profile "$1" | cut -d' ' -f1
}

# A work item creates the directories of all events that exist when it runs. Events that are added
# while it runs, as these are, get their directories, too.
are_enabled() {
	for event in "$@"; do
		must grep -q "^$event\$" $TRACEFS/set_event
		must test -e "$TRACEFS/events/${event%:*}/${event#*:}/enable"
	done
}

# switch EVENTS: writes system:*, or !system:* to disable them
switch() {
	echo "$1" >>$TRACEFS/set_event || failed "set_event does not take $1"
}

are_there() {
	must grep -q '^p:kpboot/enter kernel_clone' $TRACEFS/kprobe_events
	must grep -q '^r[0-9]*:kpboot/leave kernel_clone' $TRACEFS/kprobe_events
	must grep -q '^p:kpinit/console ' $TRACEFS/kprobe_events
	are_enabled kpboot:enter kpboot:leave kpinit:console
}

# Processes that the kernel itself has started since boot
were_hit() {
	at_least "hits of kpboot/enter" "$(hits enter)" 10
	at_least "hits of kpboot/leave" "$(hits leave)" 10
	equal "hits and misses of kpinit/console" "$(profile console)" "1 0"
	# In some kernels no instruction may begin there.
	if grep -q '^p:kpinit/inside ' $TRACEFS/kprobe_events; then
		equal "hits and misses of kpinit/inside" "$(profile inside)" "1 0"
	fi
}

are_traced() {
	must grep -q ' console: (console_on_rootfs+0x' $TRACEFS/trace
	must grep -q ' enter: (kernel_clone+0x' $TRACEFS/trace
	must grep -q ' leave: (.* <- kernel_clone)' $TRACEFS/trace
}

# The memory of the init text has been reused.
init_is_gone() {
	grep 'console_on_rootfs' $KPROBES/list >"$TMP/init" || failed "not in kprobes/list"
	must_fail grep -v -F '[GONE]' "$TMP/init"
	must_fail grep -F '[OPTIMIZED]' "$TMP/init"
	must_fail grep -q ' console_on_rootfs$' $KPROBES/blacklist
}

# Init text that runs after the probes in it were removed: a breakpoint that was left there would
# be fatal.
late_init_is_not_hit() {
	if ! grep -q '_xbc_exit' $KPROBES/list; then
		skip_case "no event on _xbc_exit(): no CONFIG_BOOT_CONFIG, or not traced"
		return
	fi
	grep '_xbc_exit' $KPROBES/list >"$TMP/late"
	must_fail grep -v -F '[GONE]' "$TMP/late"
	equal "hits and misses of kpinit/late" "$(profile late)" "0 0"
	if grep -q '^p:kpinit/later ' $TRACEFS/kprobe_events; then
		equal "hits and misses of kpinit/later" "$(profile later)" "0 0"
	fi
}

others_are_hit() {
	listed=$(grep -c '  [kr]  kernel_clone+' $KPROBES/list) || :
	equal "probes of kernel_clone()" "$listed" 2
	must_fail grep 'kernel_clone.*GONE' $KPROBES/list
	entered=$(hits enter)
	left=$(hits leave)
	sh -c :
	sh -c :
	at_least "hits of kpboot/enter" "$(hits enter)" $((entered + 2))
	at_least "hits of kpboot/leave" "$(hits leave)" $((left + 2))
}

is_configured() {
	grep -q 'ftrace.event.kprobes.conf_enter' /proc/bootconfig 2>/dev/null || {
		skip_case "no such events are in the boot configuration"
		return 1
	}
}

are_configured() {
	if ! is_configured; then
		return
	fi
	must grep -q '^p:kprobes/conf_enter wake_up_new_task' $TRACEFS/kprobe_events
	must grep -q '^r[0-9]*:kprobes/conf_leave do_sys_openat2 ret=.retval$' \
		$TRACEFS/kprobe_events
	are_enabled kprobes:conf_enter kprobes:conf_leave kprobes:conf_init
	at_least "hits of conf_enter" "$(hits conf_enter)" 10
	at_least "hits of conf_leave" "$(hits conf_leave)" 10
	equal "hits and misses of conf_init" "$(profile conf_init)" "1 0"
	must grep -q ' conf_leave: (.* <- do_sys_openat2) ret=' $TRACEFS/trace
	entered=$(hits conf_enter)
	left=$(hits conf_leave)
	cat /proc/version >/dev/null
	at_least "hits of conf_enter" "$(hits conf_enter)" $((entered + 1))
	at_least "hits of conf_leave" "$(hits conf_leave)" $((left + 1))
	switch '!kprobes:*'
}

switched() {
	switch '!kpinit:*'
	switch '!kpboot:*'
	entered=$(hits enter)
	sh -c :
	equal "hits while off" "$(hits enter)" "$entered"
	switch 'kpboot:*'
	sh -c :
	at_least "hits when on again" "$(hits enter)" $((entered + 1))
}

removed() {
	switch '!kpboot:*'
	for event in kpboot/enter kpboot/leave kpinit/console; do
		echo "-:$event" >>$TRACEFS/kprobe_events || failed "$event cannot be removed"
	done
	# These may never have been set.
	for event in kpinit/inside kpinit/late kpinit/later; do
		echo "-:$event" 2>/dev/null >>$TRACEFS/kprobe_events || :
	done
	if grep -q ':kprobes/conf_enter ' $TRACEFS/kprobe_events; then
		for event in conf_enter conf_leave conf_init; do
			echo "-:kprobes/$event" >>$TRACEFS/kprobe_events ||
				failed "$event cannot be removed"
		done
	fi
	must_fail grep . $TRACEFS/kprobe_events
	list_is_empty
}

setup
if ! grep -q 'kprobe_event=.*kpboot/enter.*kpinit/console' /proc/cmdline; then
	ktap_skip_all "no such events are on the kernel's command line"
	exit "$KSFT_SKIP"
fi
[ -e $TRACEFS/kprobe_events ] || mount -t tracefs none $TRACEFS 2>/dev/null || :
ktap_set_plan 9
check "events of the command line are there, and enabled" are_there
check "they were hit while the kernel booted" were_hit
check "their hits are in the trace" are_traced
check "those of init text have gone with it" init_is_gone
check "init text that is executed after that meets none" late_init_is_not_hit
check "the others are hit" others_are_hit
check "events of the boot configuration are there, and hit" are_configured
check "they can be switched" switched
check "they can be removed" removed
ktap_finished
