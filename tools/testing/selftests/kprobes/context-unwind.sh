#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Unwinders must check all that they read: user registers may have harmful values, and a stack may
# have addresses in instruction slots that were freed long ago. The test reads stacks of running
# tasks from /proc, while probes come and go on the functions that these tasks are in.

. "$(dirname "$0")/functions.sh"

parameters=/sys/module/kp_unwind/parameters

user_registers() {
	before=$(cat $parameters/traces)
	calls=$("$TOPIC_DIR/user_stack" $parameters/stack_top) || return 1
	traces=$(($(cat $parameters/traces) - before))
	ktap_print_msg "$calls system calls, $traces traces"
	[ "$calls" -eq 130 ] && [ "$traces" -ge "$calls" ]
}

# slot_pages: prints the addresses of the pages of slots that exist now
slot_pages() {
	awk '$3 == "kprobe_insn_page" { printf "%s0x%s", n++ ? "," : "", $1 }' /proc/kallsyms
}

# Give the addresses of the pages of slots to kp_unwind, which uses them after the pages are freed.
note_pages() {
	echo 1 >$parameters/registered || return 1
	pages=$(slot_pages)
	echo 0 >$parameters/registered || return 1
	ktap_print_msg "pages of slots: $pages"
	[ -n "$pages" ] && echo "$pages" >$parameters/pages
}

stale_addresses() {
	# Bochs is slow: the module unwinds fewer stacks in a round, so run more rounds.
	rounds=10
	! in_bochs || rounds=20
	echo "${STALE_ROUNDS:-$rounds}" >$parameters/stale || return 1
	ktap_print_msg "unwound $(cat $parameters/unwound) times"
	[ "$(cat $parameters/unwound)" -gt 1000 ]
}

running_tasks() {
	pids=
	for _ in 1 2 3; do
		sh -c 'while :; do : >/dev/null; done' &
		pids="$pids $!"
	done
	reads=0
	round=0
	while [ $round -lt 15 ]; do
		round=$((round + 1))
		ctl add 0 do_filp_open post || return 1
		ctl add 1 vfs_open || return 1
		ctl add 2 path_openat post || return 1
		for pid in $pids; do
			cat "/proc/$pid/stack" >/dev/null && reads=$((reads + 1))
		done
		ctl del 0 && ctl del 1 && ctl del 2 || return 1
		for pid in $pids; do
			cat "/proc/$pid/stack" >/dev/null && reads=$((reads + 1))
		done
	done
	# shellcheck disable=SC2086 # words
	must kill $pids
	# shellcheck disable=SC2086
	wait $pids 2>/dev/null || :
	ktap_print_msg "$reads stacks read"
	[ $reads -eq 90 ]
}

setup
is_x86 || skip_topic "the stack contents are for x86"
[ -x "$TOPIC_DIR/user_stack" ] || ktap_exit_fail_msg "user_stack is not built"
# Unwinders may warn of stack pointers of user space, and of made-up ones.
echo "kprobes-selftest: expect WARNING: stack going in the wrong direction" >/dev/kmsg
bad_frame_pointers
ktap_set_plan 5
load kp_ctl
load kp_unwind
check "registers of user space" user_registers
check "stacks of running tasks" running_tasks
check "where slots are" note_pages
check "stale addresses of slots" stale_addresses
unload kp_unwind kp_ctl
check "list is empty after rmmod" list_is_empty
ktap_finished
