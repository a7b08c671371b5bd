#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Ftrace disables itself, as it does when the text is not what it expects, while probes use it.
# Functions cannot be traced until the next boot, so the test needs kp_kill_ftrace on the kernel's
# command line.

. "$(dirname "$0")/functions.sh"

POOL=/sys/module/kp_ret_pool/parameters

# hits_all N: checks that probes 0, 1 and 2, registered before ftrace failed, have N hits each
hits_all() {
	hits_are 0 "$1" 1 "$1" 2 "$1"
}

registered() {
	ctl_add "0 kp_tgt_function" "1 kp_tgt_caller post" "2 kp_tgt_function+$BEHIND_FTRACE"
	put $POOL/registered 1
	listed_as 0 FTRACE && listed_as 1 FTRACE && after_calls 2 hits_all 2
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
ktap_set_plan 12
load kp_target
load kp_ret_pool
load kp_ctl
check "registered" registered
check "ftrace dies, and it is said" dies
check "the existing probes are hit" are_hit_still
check "returns are tracked" returns_are_tracked
check "others may join them" may_join
check "no new ones at entries" no_more 5 kernel_clone
check "the reason is explained" explain_agrees
check "the existing probes are disabled" are_disabled
check "and unregistered" are_unregistered
check "none comes back" no_more 6 kp_tgt_function
check "list is empty" list_is_empty
unload kp_ctl kp_ret_pool kp_target kp_kill_ftrace
check "list is empty after rmmod" list_is_empty
ktap_finished
