#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests ftrace-based probes at function entries: alone and together with other users of ftrace on
# the same functions, and in modules that are loaded and unloaded.

. "$(dirname "$0")/functions.sh"

suite() {
	load_suites kp_ftrace "crowd=$1" -- kprobes_ftrace
	report_suites kprobes_ftrace
	check "nothing left in list" list_is_empty
	unload kp_ftrace
}

# Run the cases of other suites while a tracer traces all functions that they probe.
traced_suites() {
	put_in $TRACEFS set_ftrace_filter=':mod:kprobes_kunit' current_tracer=function tracing_on=0
	load_suites kprobes_kunit traced=1 -- kprobes_api kprobes_handlers
	unload kprobes_kunit
	put_in $TRACEFS current_tracer=nop set_ftrace_filter= tracing_on=1
}

is_marked() {
	listed_as 0 FTRACE && not_listed_as 1 FTRACE || return 1
	after_calls 3 hits_are 0 3 1 3
}

stays_enabled() {
	put_refused $FTRACE_ENABLED 0
	equal "$FTRACE_ENABLED" "$(cat $FTRACE_ENABLED)" 1
	after_calls 2 hits_are 0 5
}

# While ftrace is off, a registration is refused; it succeeds when ftrace is on again.
refused_when_off() {
	ftrace_switches || skip_case "this kernel does not switch ftrace off" || return 0
	put $FTRACE_ENABLED 0
	ctl_refused add 2 kp_tgt_function
	equal "error" "$(ctl_get 2 error)" -16
	# A probe that is not at ftrace's call does not depend on ftrace.
	ctl add 3 kp_tgt_function+$BEHIND_FTRACE && ctl del 3
	put $FTRACE_ENABLED 1
	ctl add 2 kp_tgt_function
	after_calls 2 hits_are 2 2 && ctl del 2
}

# When kprobes/enabled is set to 1, a probe that cannot be armed must be reported, and must not
# prevent others from being armed.
enabled_says_so() {
	ftrace_switches || skip_case "this kernel does not switch ftrace off" || return 0
	ctl_add "2 kp_tgt_function" "3 kp_tgt_function+$BEHIND_FTRACE"
	put $KPROBES/enabled 0
	put $FTRACE_ENABLED 0
	put_refused $KPROBES/enabled 1
	equal "enabled" "$(cat $KPROBES/enabled)" 1
	after_calls 2 hits_are 2 0 3 2
	dmesg | grep -q 'kprobes: can.t arm kp_tgt_function' || failed "the kernel does not say so"
	put $KPROBES/enabled 0
	put $FTRACE_ENABLED 1
	put $KPROBES/enabled 1
	after_calls 2 hits_are 2 2 3 4 && ctl_del 2 3
}

switched_off_and_on() {
	ctl add 2 kp_tgt_function
	put $KPROBES/enabled 0
	after_calls 4 hits_are 2 0
	must_fail grep '^kp_tgt_function' $TRACEFS/enabled_functions
	put $KPROBES/enabled 1
	after_calls 4 hits_are 2 4
	must grep -q '^kp_tgt_function' $TRACEFS/enabled_functions
	ctl del 2
	must_fail grep '^kp_tgt_function' $TRACEFS/enabled_functions
}

# Unloading a module removes its probes. Then the module is loaded again, perhaps at the same
# addresses, and no trace of the old probes may be left there.
module_again() {
	for id in 10 13 16 19; do
		ctl_add "$id kp_tgt_function" "$((id + 1)) kp_tgt_caller post"
		after_calls 5 hits_are $id 5 $((id + 1)) 5
		rmmod kp_target && listed_as $id GONE || return 1
		insmod "$MODULE_DIR/kp_target.ko" || return 1
		must_fail grep '^kp_tgt' $TRACEFS/enabled_functions
		after_calls 5 hits_are $id 5
	done
	ctl_del 10 11 13 14 16 17 19 20
}

init_function() {
	ctl when kp_target 30 kp_tgt_init_function
	ctl when kp_target 31 kp_tgt_function post
	rmmod kp_target && insmod "$MODULE_DIR/kp_target.ko" || return 1
	equal "error" "$(ctl_get 30 error)" 0 && hits_are 30 3
	listed_as 30 FTRACE && listed_as 30 GONE && listed_as 31 FTRACE
	after_calls 6 hits_are 31 6 && ctl_del 30 31
}

# While a module is loaded, there is a time when its symbols are known, but ftrace has no records of
# its functions yet. kprobes must refuse these functions as unknown until then.
too_early() {
	rmmod kp_target && ctl early 32 kp_tgt_function || return 1
	insmod "$MODULE_DIR/kp_target.ko" && ctl late || return 1
	equal "error" "$(ctl_get 32 error)" -2
	ctl add 33 kp_tgt_function && after_calls 2 hits_are 33 2 && ctl del 33
}

# When the last probe of a filter is removed, the filter must become empty: then the next probe must
# not attach ftrace to the old address again.
emptied_filter_is_empty() {
	for kind in '' post; do
		# shellcheck disable=SC2086 # a word or none
		ctl add 0 kp_tgt_function $kind
		ctl del 0
		# shellcheck disable=SC2086
		ctl add 0 kp_tgt_caller $kind
		must grep -q '^kp_tgt_caller' $TRACEFS/enabled_functions
		must_fail grep '^kp_tgt_function' $TRACEFS/enabled_functions
		ctl del 0
	done
}

setup
[ -e $TRACEFS/set_ftrace_filter ] || mount -t tracefs none $TRACEFS 2>/dev/null || :
if ! has_symbol kprobe_ftrace_handler || [ ! -e $TRACEFS/set_ftrace_filter ]; then
	skip_topic "the kernel has no CONFIG_KPROBES_ON_FTRACE"
fi
# The suites of kp_ftrace run on x86 only: their functions are x86 assembly.
if is_x86; then
	traced_suites
	report_planned 40 kprobes_api kprobes_handlers
	suite 0
	suite 1
else
	ktap_set_plan 10
fi
load kp_target
load kp_ctl
ctl add 0 kp_tgt_function
ctl add 1 kp_tgt_function+$BEHIND_FTRACE
check "marked in list" is_marked
check "ftrace can't be disabled" stays_enabled
ctl_del 0 1
check "refused while ftrace is off" refused_when_off
check "what can't be armed is reported" enabled_says_so
check "kprobes/enabled switches" switched_off_and_on
check "an emptied filter starts empty" emptied_filter_is_empty
check "modules come and go" module_again
check "an init function is hit, then gone" init_function
check "a module is not probed before it is ready" too_early
check "list is empty" list_is_empty
unload kp_ctl kp_target
ktap_finished
