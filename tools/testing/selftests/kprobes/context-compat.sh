#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# 32-bit processes on a 64-bit kernel: their system calls hit probes and events, which read their
# registers and memory. Their own breakpoints and single-steps never reach kprobes.

. "$(dirname "$0")/functions-modes.sh"

COMPAT=$TOPIC_DIR/user_compat
# Only 32-bit processes call these.
PRIORITY=__ia32_sys_sched_get_priority_max
OPEN=__ia32_compat_sys_openat
CALLS=20

runs() {
	said=$("$COMPAT" "$1") || failed "user_compat: $said"
}

# probed MODE: probes the system calls of the process, which must get the same results as without
# probes
probed() {
	set_mode "$1"
	ctl_add "0 $PRIORITY" "1 $PRIORITY post" "2 $PRIORITY+$BEHIND_FTRACE" \
		"3 $PRIORITY return" "4 $OPEN+$BEHIND_FTRACE post" "5 $OPEN return"
	set_mode "$1"
	runs $CALLS
	equal "what the process says" "$said" "$bare"
	# The process makes each call through int80 and through the vDSO, and makes both again while
	# it is single-stepped.
	hits_are 0 $((4 * CALLS)) 1 $((4 * CALLS)) 2 $((4 * CALLS)) 3 $((4 * CALLS)) \
		4 $((2 * CALLS)) 5 $((2 * CALLS))
	equal "post_handler calls" "$(ctl_get 1 posts) $(ctl_get 4 posts)" \
		"$((4 * CALLS)) $((2 * CALLS))"
	equal "returns" "$(ctl_get 3 posts) $(ctl_get 5 posts)" \
		"$((4 * CALLS)) $((2 * CALLS))"
	for id in 0 1 2 3 4 5; do
		equal "missed by probe $id" "$(ctl_get $id nmissed)" 0
	done
	[ "$1" != optimized ] || listed_as 2 OPTIMIZED
	ctl_del 0 1 2 3 4 5
}

# fields EVENT: prints the fields of the event's lines in the trace, each distinct line once, after
# the number of its occurrences
fields() {
	sed -n "s/^.* $1: ([^)]*) //p" $TRACEFS/trace | sort | uniq -c | sed 's/^ *//'
}

# A handler of a system call has one argument, the registers of the process.
events() {
	set_mode "$1"
	put $TRACEFS/trace ""
	event_on "p:kp_compat/priority $PRIORITY policy=+0x28(\$arg1):u32 cs=+0x88(\$arg1):x16"
	event_on "r:kp_compat/back $PRIORITY ret=\$retval:s64"
	event_on "p:kp_compat/open $OPEN path=+0(+0x58(\$arg1)):ustring"
	event_on "p:kp_compat/inside $OPEN+$BEHIND_FTRACE path=+u0(+0x58(%di)):ustring"
	event_on "p:kp_compat/deep do_sys_openat2 dfd=\$arg1:s32 path=+0(\$arg2):ustring"
	set_mode "$1"
	runs 3
	equal "priority" "$(fields priority)" "12 policy=2 cs=0x23"
	equal "back" "$(fields back)" "12 ret=99"
	for event in open inside; do
		equal "$event" "$(fields $event)" "3 path=\"/kp_compat/int80\"
3 path=\"/kp_compat/vdso\""
	done
	equal "deep" "$(fields deep | grep kp_compat)" "3 dfd=-100 path=\"/kp_compat/int80\"
3 dfd=-100 path=\"/kp_compat/vdso\""
	for event in priority back open inside deep; do
		equal "missed by $event" "$(event_profile $event | cut -d' ' -f2)" 0
		event_off kp_compat/$event
	done
}

setup_modes
{ [ -x "$COMPAT" ] && has_symbol $PRIORITY && "$COMPAT" 1 >/dev/null; } ||
	skip_topic "32-bit processes on a 64-bit kernel are needed, CONFIG_IA32_EMULATION"
ktap_set_plan 7
load kp_ctl
runs $CALLS
bare=$said
ktap_print_msg "$bare"
for mode in boosted stepped optimized; do
	check "system calls hit probes, $mode" probed $mode
	check_if has_events "events read what the process has, $mode" events $mode
done
unload kp_ctl
check "list is empty" list_is_empty
ktap_finished
