#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Ftrace disables itself, as it does when the text is not what it expects, while probes and BPF
# links use it. Functions cannot be traced until the next boot, so the test needs kp_kill_ftrace on
# the kernel's command line.
#
# Since the guest has just booted, it also tests what holds before the first probe is registered.

. "$(dirname "$0")/functions.sh"

POOL=/sys/module/kp_ret_pool/parameters
BPF_PROBE=$TOPIC_DIR/bpf_probe

# hits_all N: checks that probes 0, 1 and 2, registered before ftrace failed, have N hits each
hits_all() {
	hits_are 0 "$1" 1 "$1" 2 "$1"
}

registered() {
	ctl_add "0 kp_tgt_function" "1 kp_tgt_caller post" "2 kp_tgt_function+$BEHIND_FTRACE"
	put $POOL/registered 1
	listed_as 0 FTRACE && listed_as 1 FTRACE && after_calls 2 hits_all 2
}

# try_link: tries whether bpf_probe can attach programs through kprobe.multi links that are not
# fprobe's, for has_links. On 32-bit kernels it cannot. Leaves the addresses of two functions in
# $TMP/list.
links=
try_link() {
	[ -x "$BPF_PROBE" ] || return 0
	has_symbol register_kprobe_multi || return 0
	sed -n 's/ . kp_tgt_\(function\|caller\)[[:space:]].*//p' /proc/kallsyms >"$TMP/list"
	rc=0
	"$BPF_PROBE" -k "$TMP/list" : >"$TMP/first" 2>&1 || rc=$?
	[ $rc -eq "$KSFT_SKIP" ] || links=y
}

has_links() {
	[ -n "$links" ]
}

# link_made NAME OPTION...: makes a link to two functions, which are called again when it is closed
link_made() {
	link=$1
	shift
	program_attach "$link" "$BPF_PROBE" -k "$@" \
		-a 'echo 5 >/sys/module/kp_target/parameters/calls' "$TMP/list"
}

# sleeper_stack: prints the stack of a task that sleeps in hrtimer_nanosleep()
sleeper_stack() {
	sleep 1000 &
	sleeper=$!
	wait_until grep -q hrtimer_nanosleep "/proc/$sleeper/stack"
	cat "/proc/$sleeper/stack"
	must kill "$sleeper"
	wait "$sleeper" 2>/dev/null || :
}

# A link whose program runs at returns is the first that replaces return addresses. Then unwinders
# must find the real ones, although no probe was ever registered.
link_is_first() {
	list_is_empty
	sed -n 's/ . hrtimer_nanosleep$//p' /proc/kallsyms >"$TMP/sleep"
	sleeper_stack >"$TMP/stack"
	for kind in -r -S; do
		program_attach sleeper "$BPF_PROBE" -k $kind "$TMP/sleep"
		sleeper_stack >"$TMP/stack.now"
		must program_detach sleeper
		must diff "$TMP/stack" "$TMP/stack.now"
	done
}

links_made() {
	equal "functions" "$(wc -l <"$TMP/list")" 2
	link_made entries
	link_made returns -r
	link_made session -S
}

# link_closed NAME HITS: closes a link, and checks that it has missed no hit, and the number of hits
# of each function
link_closed() {
	must program_detach "$1"
	equal "$1" "$(awk '/^(link|cookie)/ { print $4 }' "$TMP/$1" | paste -sd' ')" "0 $2 $2"
}

# Ftrace still calls the links' functions: there were ten calls since it has failed, and there are
# five more after each link has been closed, which must not run the program of that link.
links_are_closed() {
	link_closed entries 10
	link_closed returns 15
	link_closed session 40
	# A worker frees closed links a second later, but not these.
	sleep 2
	call_target 3
}

dies() {
	load kp_kill_ftrace
	dmesg | grep -q 'kprobes: ftrace has failed, ftrace-based probes stay as they are'
}

# Ftrace leaves its calls in the text when it fails, so the probes are still hit.
are_hit_still() {
	after_calls 3 hits_all 5 && listed_as 0 FTRACE && listed_as 1 FTRACE
}

returns_are_tracked() {
	put $POOL/sleepers 5 && put $POOL/sleepers 0
	equal entries "$(cat $POOL/entries)" 5 && equal returns "$(cat $POOL/returns)" 5
}

# Probes that are added at an armed address, or that are not at ftrace's call, must still be
# accepted: they need nothing from ftrace. (The former must have no post_handler, or ftrace would
# have to let them redirect the function.)
may_join() {
	ctl_add "3 kp_tgt_function" "4 kp_tgt_caller+$BEHIND_FTRACE"
	after_calls 2 hits_are 3 2 4 2 && hits_all 7
}

no_more() {
	ctl_refused add "$1" "$2"
	equal "error" "$(ctl_get "$1" error)" -19
	equal "reason" "$(ctl_get "$1" reason)" "the address belongs to ftrace, which has failed"
}

# kprobes/explain gives the reason for the entry of a function.
explain_agrees() {
	must explained kernel_clone
	equal "probe" "$(answer probe)" no
	equal "errno" "$(answer errno)" -19
	equal "reason" "$(answer reason)" "the address belongs to ftrace, which has failed"
}

are_disabled() {
	ctl disable 0 && ctl disable 1 && after_calls 1 hits_are 0 7 1 7 2 8 3 3
}

are_unregistered() {
	ctl_del 0 1 2 3 4
	put $POOL/registered 0
	list_is_empty && after_calls 4 hits_are 0 7 1 7 2 8 3 3 4 3
}

setup
grep -q -w kp_kill_ftrace /proc/cmdline ||
	skip_topic "kp_kill_ftrace is not on the kernel's command line"
module_file kp_kill_ftrace >/dev/null || skip_topic "the kernel has no CONFIG_KPROBES_ON_FTRACE"
ktap_set_plan 15
load kp_target
load kp_ret_pool
load kp_ctl
try_link
check_if has_links "stacks, with a link and no probe yet" link_is_first
check "registered" registered
check_if has_links "links are made" links_made
check "ftrace dies, and it is said" dies
check "the existing probes are hit" are_hit_still
check "returns are tracked" returns_are_tracked
check "others may join them" may_join
check "no new ones at entries" no_more 5 kernel_clone
check "the reason is explained" explain_agrees
check "the existing probes are disabled" are_disabled
check "and unregistered" are_unregistered
check_if has_links "links are closed, and their functions called" links_are_closed
check "none comes back" no_more 6 kp_tgt_function
check "list is empty" list_is_empty
unload kp_ctl kp_ret_pool kp_target kp_kill_ftrace
check "list is empty after rmmod" list_is_empty
ktap_finished
