#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A 32-bit task executes an int3 in a code segment of its own. The base of that segment makes the
# instruction pointer equal to a probed address of the kernel. kprobes must not take this for a hit,
# whichever way the probed instruction would be executed.

. "$(dirname "$0")/functions.sh"

# is_no_hit ID: checks that a breakpoint of user space at the probe's address raises SIGTRAP, and is
# no hit
is_no_hit() {
	said=$("$TOPIC_DIR/user_segment" "$(ctl_get "$1" address)") || failed "user space: $said"
	hits_are "$1" 0
	equal "nmissed of probe $1" "$(ctl_get "$1" nmissed)" 0
}

boosted() {
	ctl add 1 kp_tgt_plain && is_no_hit 1 && ctl del 1
}

# The first instruction after ftrace's call is a push, which is emulated with a post_handler.
emulated() {
	ctl add 1 "kp_tgt_caller+$BEHIND_FTRACE" post && is_no_hit 1 && ctl del 1
}

stepped() {
	was=$(cat "$BOOST")
	put "$BOOST" 0
	ctl add 1 kp_tgt_plain && is_no_hit 1 && ctl del 1
	put "$BOOST" "$was"
}

entry() {
	ctl add 1 kp_tgt_function && is_no_hit 1 && ctl del 1
}

BOOST=/sys/module/kprobes/parameters/boost
setup
rc=0
"$TOPIC_DIR/user_segment" c0000000 >/dev/null 2>&1 || rc=$?
if ! is_x86_32 || [ "$rc" -eq 4 ] || [ ! -x "$TOPIC_DIR/user_segment" ]; then
	skip_topic "no code segments of their own for tasks"
fi
ktap_set_plan 5
load kp_ctl
load kp_target
check "boosted" boosted
check "emulated" emulated
check "single-stepped" stepped
check "at a function's entry" entry
unload kp_target kp_ctl
check "list is empty" list_is_empty
ktap_finished
