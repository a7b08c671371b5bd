#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A kprobe event may have probes at many places. Enabling or disabling the event must change its
# probes in one batch, and either all of them or none.

. "$(dirname "$0")/functions-clients.sh"

INSIDE=+$BEHIND_FTRACE
ENABLE=$TRACEFS/events/kprobes/places/enable
PLACES=1000

# counted: starts to trace the two functions that enable and disable batches of probes.
# counts_are ENABLE DISABLE: checks how often each of them was called since then
counted() {
	printf '%s\n' enable_kprobes disable_kprobes >$TRACEFS/set_ftrace_filter
	put $TRACEFS/current_tracer function
	echo >$TRACEFS/trace
}

counts_are() {
	cp $TRACEFS/trace "$TMP/trace"
	put $TRACEFS/current_tracer nop
	echo >$TRACEFS/set_ftrace_filter
	lines_are "calls of enable_kprobes()" "$TMP/trace" ': enable_kprobes <-' "$1"
	lines_are "calls of disable_kprobes()" "$TMP/trace" ': disable_kprobes <-' "$2"
}

# define KIND: defines an event of this kind, with a probe in each of the functions
define() {
	awk -v kind="$1" -v n=$PLACES 'BEGIN {
		while (i < n)
			printf "%s:places kp_clients:kp_many_%03d\n", kind, i++
	}' >"$TMP/definitions"
	cat "$TMP/definitions" >>$TRACEFS/kprobe_events || failed "events are refused"
	equal "definitions" "$(grep -c ':kprobes/places ' $TRACEFS/kprobe_events)" $PLACES
}

# switched KIND: checks that an event of this kind gets all hits while it is enabled, and none
# afterwards
switched() {
	define "$1"
	call many 1
	equal "hits of a disabled event" "$(event_profile places)" "0 0"
	counted
	put $ENABLE 1
	call many 2
	put $ENABLE 0
	call many 1
	counts_are 1 1
	equal "hits and misses" "$(event_profile places)" "$((2 * PLACES)) 0"
	event_off places
	list_is_empty
}

# While ftrace is off, probes that use it cannot be enabled.
all_or_none() {
	ftrace_switches || skip_case "this kernel does not switch ftrace off" || return 0
	define p
	# Add a probe inside a function: it does not use ftrace.
	add_event "p:places kp_clients:kp_many_000$INSIDE"
	put $FTRACE_ENABLED 0
	put_refused $ENABLE 1
	equal "enable" "$(cat $ENABLE)" 0
	call many 1
	equal "hits" "$(event_profile places)" "0 0"
	put $FTRACE_ENABLED 1
	put $ENABLE 1
	call many 1
	equal "hits" "$(event_profile places)" "$((PLACES + 1)) 0"
	event_off places
}

# Probes in a module that is unloaded must be left out when the event is switched.
module_gone() {
	define p
	add_event 'p:places vfs_read'
	put $ENABLE 1
	call many 1
	unload kp_clients
	put $ENABLE 0
	before=$(event_hits places)
	put $ENABLE 1
	cat /proc/version >/dev/null
	at_least "hits later" "$(event_hits places)" $((before + 1))
	load kp_clients
	call many 1
	at_least "hits in the module" "$(event_hits places)" $((before + PLACES))
	event_off places
}

# Events are switched while other CPUs hit them.
under_load() {
	add_event 'p:places kp_cl_outer' "p:places kp_cl_outer$INSIDE" \
		"p:places kp_cl_middle$INSIDE" 'p:places kp_cl_inner'
	call load 4
	for _ in $(seq 20); do
		put $ENABLE 1
		put $ENABLE 0
	done
	call load 0
	equal "wrong results" "$(cat $CLIENTS/load)" 0
	event_off places
}

setup_clients
! on_base_kernel || skip_topic "the base kernel switches one by one"
load kp_clients
ktap_set_plan 6
check_if "has_tracer function" "1,000 functions" switched p
check_if "has_tracer function" "1,000 return probes" switched r
check_if "has_tracer function" "a batch that fails leaves nothing enabled" all_or_none
check "a module with places is unloaded and loaded" module_gone
check "an event is switched while it is hit" under_load
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
