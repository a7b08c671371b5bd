#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests changes of ftrace filters. The module kp_filters has ftrace users of all kinds, and compares
# ftrace's records with what these users ask for. Filters are also changed through the files of
# tracefs, while ftrace is on or off, and while modules are loaded and unloaded.

. "$(dirname "$0")/functions.sh"

FILTER=$TRACEFS/set_ftrace_filter
NOTRACE=$TRACEFS/set_ftrace_notrace
AUDIT=$DEBUGFS/kp_filters

# Functions of the kernel; the guest calls vfs_read() all the time
SOME="vfs_rmdir device_move vfs_read"

# narrow NAMES: sets the filter to these functions; widen NAMES: adds these functions to it; without
# NAME: removes this function from it
narrow() {
	put $FILTER "$1"
}

widen() {
	echo "$1" 2>/dev/null >>$FILTER || failed "'$1' cannot be added to the filter"
}

without() {
	widen "!$1"
}

# consistent: checks that ftrace's records are what its users ask for
consistent() {
	cat $AUDIT >"$TMP/audit"
	grep -q ' wrong 0$' "$TMP/audit" || failed "$(cat "$TMP/audit")"
}

# used N: checks that N records have a user
used() {
	equal "used" "$(sed 's/.* used \([0-9]*\) .*/\1/' $AUDIT)" "$1"
}

tracer() {
	put $TRACEFS/current_tracer "$1"
}

# leads_to N COMMAND...: checks that after the command, the records are right, and N of them have a
# user
leads_to() {
	left=$1
	shift
	"$@"
	consistent && used "$left"
}

add_some() {
	for function in $SOME; do
		widen "$function"
		consistent
	done
}

# Removing the last function of a filter leaves an empty filter, which stands for all functions.
filter_changes() {
	narrow vfs_rmdir
	leads_to 1 tracer "$1"
	add_some
	used 3
	leads_to 2 without vfs_read
	put $NOTRACE vfs_rmdir
	consistent
	# ftrace may still call function_graph in functions that are not to be traced:
	# function_graph checks for them itself.
	[ "$1" = function_graph ] || used 1
	leads_to 1 narrow vfs_read
	put $NOTRACE ''
	consistent
	leads_to 0 tracer nop
	narrow ''
}

instances() {
	narrow vfs_read
	tracer function
	mkdir $TRACEFS/instances/kp_filters || return 1
	put $TRACEFS/instances/kp_filters/set_ftrace_filter "$SOME"
	leads_to 3 put $TRACEFS/instances/kp_filters/current_tracer function
	leads_to 3 narrow vfs_rmdir
	leads_to 3 tracer nop
	put $TRACEFS/instances/kp_filters/current_tracer nop
	leads_to 0 rmdir $TRACEFS/instances/kp_filters
	narrow ''
}

profiler() {
	[ -e $TRACEFS/function_profile_enabled ] ||
		skip_case "the kernel has no CONFIG_FUNCTION_PROFILER" || return 0
	narrow vfs_read
	leads_to 1 put $TRACEFS/function_profile_enabled 1
	add_some
	leads_to 0 put $TRACEFS/function_profile_enabled 0
	narrow ''
}

# Changes while ftrace is off must reach the text when ftrace is on again.
switched_off() {
	ftrace_switches || skip_case "this kernel does not switch ftrace off" || return 0
	narrow vfs_read
	tracer function
	put $FTRACE_ENABLED 0
	consistent
	add_some
	without vfs_read
	consistent
	leads_to 2 put $FTRACE_ENABLED 1
	put $FTRACE_ENABLED 0
	tracer nop
	consistent
	leads_to 0 put $FTRACE_ENABLED 1
	narrow ''
}

# The filter has all functions, then few, then all but few.
all_functions() {
	narrow ''
	tracer function
	consistent
	leads_to 3 narrow "$SOME"
	leads_to 2 put $NOTRACE vfs_read
	narrow ''
	consistent
	tracer nop
	leads_to 0 put $NOTRACE ''
}

# A module with functions in a filter is unloaded and loaded again.
modules_go() {
	load kp_target
	narrow "kp_tgt_function vfs_read"
	leads_to 2 tracer function
	leads_to 1 unload kp_target
	leads_to 1 narrow vfs_rmdir
	widen ':mod:kp_target'
	load kp_target
	consistent
	at_least "used with the module" "$(sed 's/.* used \([0-9]*\) .*/\1/' $AUDIT)" 2
	leads_to 0 tracer nop
	unload kp_target
	narrow ''
	consistent
}

# Register probes of the same functions, without and with post_handlers.
with_probes() {
	load kp_ctl
	narrow vfs_read
	tracer function
	id=1
	for function in $SOME; do
		ctl_add "$id $function" "$((id + 1)) $function post"
		consistent
		id=$((id + 2))
	done
	used 3
	for id in 1 2 3 4 5 6; do
		ctl del $id
		consistent
	done
	used 1
	tracer nop
	leads_to 0 unload kp_ctl
	narrow ''
}

# The graph tracer stops while other CPUs look functions up in its filter: KASAN reports a lookup
# in a freed filter. Two other tracers of the same functions keep the text unchanged, so that
# ftrace waits for no CPU before it frees the filter: such a wait would hide the bug.
graph_stops() {
	functions="vfs_read vfs_write rw_verify_area ksys_read ksys_write read_zero write_null"
	for instance in kp_one kp_two; do
		mkdir $TRACEFS/instances/$instance || return 1
		put_in $TRACEFS/instances/$instance tracing_on=0 set_ftrace_filter="$functions" \
			current_tracer=function
	done
	put $TRACEFS/tracing_on 0
	narrow "$functions"
	: >"$TMP/readers"
	for _ in $(seq 2 "$(grep -c '^processor' /proc/cpuinfo)"); do
		dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
		echo $! >>"$TMP/readers"
	done
	for _ in $(seq "${GRAPH_STOPS:-30}"); do
		tracer function_graph
		tracer nop
	done
	while read -r reader; do
		kill "$reader" || :
		wait "$reader" 2>/dev/null || :
	done <"$TMP/readers"
	put $TRACEFS/tracing_on 1
	for instance in kp_one kp_two; do
		put $TRACEFS/instances/$instance/current_tracer nop
		rmdir $TRACEFS/instances/$instance
	done
	consistent && used 0
	narrow ''
}

# Records of a module are removed while the records of a module that was loaded later are looked up.
lookups_find() {
	for _ in $(seq 20); do
		load kp_target && load kp_lookups || return 1
		unload kp_target
		missed=$(cat /sys/module/kp_lookups/parameters/missed)
		unload kp_lookups
		equal "lookups that missed" "$missed" 0
	done
}

# Each registered fgraph_ops gets an index, and indices are reused in turn. When fprobe's index was
# 0, fprobe used to warn if a function returned that only the graph tracer tracked.
graph_indices() {
	has_tracer function_graph || skip_case "no function graph tracer" || return 0
	echo 'f:kp_index vfs_open%return' 2>/dev/null >>$TRACEFS/dynamic_events ||
		skip_case "no fprobe events" || return 0
	narrow vfs_read
	tracer function_graph
	log_mark
	for _ in $(seq 20); do
		put $TRACEFS/events/fprobes/kp_index/enable 1
		head -c 9 /proc/version >/dev/null
		put $TRACEFS/events/fprobes/kp_index/enable 0
	done
	tracer nop
	narrow ''
	echo '-:kp_index' >>$TRACEFS/dynamic_events
	! log_since | grep WARNING || failed "a return handler was called without data"
	consistent && used 0
}

setup
[ -e $FILTER ] || mount -t tracefs none $TRACEFS 2>/dev/null || :
if ! module_file kp_filters >/dev/null || [ ! -e $FILTER ]; then
	skip_topic "the kernel has no CONFIG_KPROBES_ON_FTRACE"
fi
load_suites kp_filters "steps=${FILTER_STEPS:-60}" -- kprobes_filters
grep -o 'seed [0-9]*' "$TMP/kprobes_filters.results" | sed 's/^/# /' || :
report_planned 12 kprobes_filters
check "a filter of the function tracer" filter_changes function
check "a filter of the function_graph tracer" filter_changes function_graph
check "instances with filters of their own" instances
check "a filter of the function profiler" profiler
check "filters change while ftrace is off" switched_off
check "all functions, and back to a filter" all_functions
check "modules come and go" modules_go
check "lookups while modules go" lookups_find
check "probes at the same functions" with_probes
check "the graph tracer stops while its filter is looked at" graph_stops
check "each index of the graph tracer, with an fprobe" graph_indices
check "nothing left in list" list_is_empty
unload kp_filters
ktap_finished
