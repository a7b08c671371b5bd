#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# gdb's command lx-kprobes must list the same probes as kprobes/list, and their handlers. gdb reads
# the memory of the running kernel here, as it would read a crash dump. It needs a kernel with
# CONFIG_GDB_SCRIPTS and debugging information.

. "$(dirname "$0")/functions-clients.sh"

build=/lib/modules/$(uname -r)/build

# offset_of_kernel: prints how far KASLR has moved the kernel. It uses only the last eight digits of
# the addresses, since dash cannot calculate with all 16.
offset_of_kernel() {
	linked=$(awk '$3 == "_text" { print $1 }' "$build/System.map")
	loaded=$(awk '$3 == "_text" { print $1 }' /proc/kallsyms)
	echo $((0x${loaded#"${loaded%????????}"} - 0x${linked#"${linked%????????}"}))
}

# lx_kprobes FILE: saves what the command prints
lx_kprobes() {
	gdb -nx -batch -ex "symbol-file -o $(offset_of_kernel) $build/vmlinux" \
		-ex "core-file /proc/kcore" -ex "source $build/vmlinux-gdb.py" -ex lx-kprobes \
		>"$TMP/gdb.out" 2>"$TMP/gdb.err" || failed "gdb fails: $(cat "$TMP/gdb.err")"
	grep -E '^[0-9a-f]{8,16}  [krj]  ' "$TMP/gdb.out" >"$1" ||
		failed "gdb lists nothing: $(cat "$TMP/gdb.out")"
}

# inside FUNCTION ID: a probe within the function, at the first instruction that can be probed
inside() {
	for at in $(seq 10 40); do
		! ctl_try add "$2" "$1+$at" || return 0
	done
	failed "no probe inside $1"
}

# Probes of each kind and in each state
add_probes() {
	load kp_target
	ctl_add "0 kernel_clone" "1 kernel_clone post" "2 do_sys_openat2 return" \
		"3 vfs_read disabled" "4 kp_tgt_plain" "5 kp_later:kp_function wait" \
		"7 kp_tgt_function"
	once=0
	! has_symbol kprobe_disable_self || { ctl_add "6 do_filp_open once" && once=1; }
	inside vfs_write 8
	add_event 'p:gdb_enter vfs_fsync' 'r:gdb_leave vfs_fsync'
	put $TRACEFS/events/kprobes/gdb_enter/enable 1
	put $TRACEFS/events/kprobes/gdb_leave/enable 1
	jprobes=0
	! has_module jprobe_example || { must modprobe jprobe_example && jprobes=1; }
	unload kp_target
	[ "$once" -eq 0 ] || wait_until grep -q 'do_filp_open.*DISABLED' $KPROBES/list
}

same_list() {
	load kp_ctl
	add_probes
	# Reading the list waits for the optimiser. So gdb, which does not, finds no jump missing.
	# add_probes adds 8 probes and 2 events; one that disables itself, if probes can; and, if
	# there is a sample of jprobes, one jprobe.
	cat $KPROBES/list >"$TMP/list"
	lx_kprobes "$TMP/listed"
	ktap_print_msg "$(wc -l <"$TMP/list") probes"
	at_least "probes" "$(wc -l <"$TMP/list")" $((10 + once + jprobes))
	sed 's/  [a-z_]*=.*//' "$TMP/listed" >"$TMP/plain"
	cmp -s "$TMP/plain" "$TMP/list" ||
		failed "$(sed 's/^/gdb:  /' "$TMP/plain")" "
$(sed 's/^/list: /' "$TMP/list")"
	for state in GONE WAITING DISABLED FTRACE; do
		grep -q "\[$state\]" "$TMP/plain" || failed "no probe is $state"
	done
}

handlers_shown() {
	lines_are "events at the entry" "$TMP/listed" \
		' k  vfs_fsync[+].*  pre_handler=kprobe_dispatcher\+0x0$' 1
	lines_are "events at the return" "$TMP/listed" \
		' r  vfs_fsync[+].* handler=kretprobe_dispatcher\+0x0$' 1
	lines_are "post_handlers" "$TMP/listed" \
		' k  kernel_clone[+].*  pre_handler=0x[0-9a-f]+  post_handler=0x[0-9a-f]+$' 1
	lines_are "handlers of jprobes" "$TMP/listed" ' j  .*  entry=0x[0-9a-f]+$' "$jprobes"
	# kprobe_disable_self() has replaced the pre_handler.
	lines_are "the handler of a probe that has disabled itself" "$TMP/listed" \
		' k  do_filp_open[+].*  pre_handler=0x[0-9a-f]+$' "$once"
}

none_left() {
	[ "$jprobes" -eq 0 ] || must rmmod jprobe_example
	put $TRACEFS/events/kprobes/enable 0
	: >$TRACEFS/kprobe_events
	unload kp_ctl
	list_is_empty
}

setup_clients gdb
{ [ -e "$build/vmlinux" ] && [ -e "$build/scripts/gdb/linux/constants.py" ]; } ||
	skip_topic "a build directory with CONFIG_GDB_SCRIPTS is needed"
[ -r /proc/kcore ] || skip_topic "CONFIG_PROC_KCORE is needed"
ktap_set_plan 3
check "lx-kprobes lists what kprobes/list does" same_list
check "it has the handlers of the users" handlers_shown
check "no probes are left" none_left
ktap_finished
