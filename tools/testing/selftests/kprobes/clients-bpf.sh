#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Kprobes of bpftrace: what its programs count, and the stacks that they get.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

# trace NAME PROGRAM PARAMETER CALLS: runs the program while kp_clients makes the calls; the
# output is in $TMP/NAME
trace() {
	cat >"$TMP/$1.work" <<-WORK
		echo $4 >$CLIENTS/$3
	WORK
	run "$1" bpftrace --unsafe -e "$2" -c "/bin/sh $TMP/$1.work"
}

# Each probe counts every call, and sums up arguments or results.
counts() {
	trace counts '
		kprobe:kp_cl_inner { @calls = count(); @args = sum(arg0); }
		kretprobe:kp_cl_inner { @returns = count(); @results = sum(retval); }' \
		calls 1000 &&
		lines_are "the number of calls" "$TMP/counts" '^@calls: 1000$' 1 &&
		lines_are "the sum of arguments" "$TMP/counts" '^@args: 499500$' 1 &&
		lines_are "the number of returns" "$TMP/counts" '^@returns: 1000$' 1 &&
		lines_are "the sum of results" "$TMP/counts" '^@results: 1499500$' 1
}

# Within the function: the second instruction and a later one.
offset() {
	trace offset "kprobe:kp_cl_outer$SECOND_INSN { @calls = count(); }" calls 300 &&
		lines_are "the number of calls" "$TMP/offset" '^@calls: 300$' 1
}

# Stacks from all three functions of the chain have the callers' names, and nothing in between.
stacks() {
	trace stacks 'kprobe:kp_cl_inner { @[kstack(4)] = count(); }' calls 100 &&
		in_order "$TMP/stacks" 'kp_cl_inner[+]' 'kp_cl_middle[+]' 'kp_cl_outer[+]' \
			'call_outer[+]|calls_set[+]' ']: 100$'
}

# The same with a return probe on the probed function's caller.
return_stacks() {
	trace return_stacks '
		kretprobe:kp_cl_inner { @[kstack(4)] = count(); }
		kretprobe:kp_cl_middle { @m[kstack(3)] = count(); }' calls 100 &&
		in_order "$TMP/return_stacks" 'kp_cl_middle[+]' 'kp_cl_outer[+]' &&
		lines_are "stacks with 100 hits" "$TMP/return_stacks" ']: 100$' 2
}

# Results of kp_cl_inner() for 0 to 63 are 1, 4, 7, ... 190.
histogram() {
	trace histogram 'kretprobe:kp_cl_inner { @h = hist(retval); }' calls 64 &&
		lines_are "[1]" "$TMP/histogram" '^\[1\] +1 \|' 1 &&
		lines_are "[4, 8)" "$TMP/histogram" '^\[4, 8\) +2 \|' 1 &&
		lines_are "[32, 64)" "$TMP/histogram" '^\[32, 64\) +10 \|' 1 &&
		lines_are "[64, 128)" "$TMP/histogram" '^\[64, 128\) +22 \|' 1 &&
		lines_are "[128, 256)" "$TMP/histogram" '^\[128, 256\) +21 \|' 1
}

# One program for a hundred functions, each of which is called seven times. The results of
# kp_many_300() to kp_many_399() are 301 to 400.
wildcard() {
	trace wildcard 'kprobe:kp_many_3* { @[func] = count(); }' many 7 &&
		lines_are "functions with 7 hits" "$TMP/wildcard" '^@\[kp_many_3..\]: 7$' 100
}

wildcard_returns() {
	trace wildcard-ret 'kretprobe:kp_many_3* { @[retval] = count(); }' many 7 &&
		lines_are "results that came 7 times" "$TMP/wildcard-ret" \
			'^@\[(30[1-9]|3[1-9].|400)\]: 7$' 100
}

# bpftrace may attach wildcards by kprobe.multi, which uses fprobe, but not a list of functions.
listed() {
	list=$(i=300; while [ $i -lt 400 ]; do echo "$1:kp_many_$i"; i=$((i + 1)); done |
		paste -sd,)
	trace "listed-$1" "$list { @all = count(); }" many 5 &&
		lines_are "all hits" "$TMP/listed-$1" '^@all: 500$' 1
}

# While it is attached, there are as many probes as it asked for.
listed_in_debugfs() {
	cat >"$TMP/names.work" <<-WORK
		cat $KPROBES/list >$TMP/names.list
	WORK
	run names bpftrace -e 'kprobe:kp_many_700,kprobe:kp_many_701,kretprobe:kp_many_702 {
		@ = count(); }' -c "/bin/sh $TMP/names.work" &&
		lines_are "kprobes/list" "$TMP/names.list" ' k +kp_many_70[01][+]' 2 &&
		lines_are "kprobes/list" "$TMP/names.list" ' r +kp_many_702[+]' 1
}

# override() sets the result without calling the function.
overrides() {
	trace overrides 'kprobe:kp_cl_failable /arg0 >= 40/ { override(-12); @ = count(); }' \
		failable 100 &&
		equal "kept" "$(cat $CLIENTS/kept)" 40 &&
		equal "replaced" "$(cat $CLIENTS/replaced)" 60 &&
		equal "result" "$(cat $CLIENTS/result)" -12 &&
		lines_are "the count" "$TMP/overrides" '^@: 60$' 1 || return 1
	echo 100 >$CLIENTS/failable
	equal "kept afterwards" "$(cat $CLIENTS/kept)" 100
}

# Two bpftrace and a tracefs event at the same entry each have their own figures.
together() {
	echo 'p:both kp_cl_inner' >>$TRACEFS/kprobe_events || return 1
	echo 1 >$TRACEFS/events/kprobes/both/enable
	echo "echo 30 >$CLIENTS/calls" >"$TMP/inside.work"
	cat >"$TMP/together.work" <<-WORK
		echo 50 >$CLIENTS/calls
		bpftrace -e 'kprobe:kp_cl_inner { @inside = count(); }' \
			-c "/bin/sh $TMP/inside.work" >$TMP/inside
		echo 20 >$CLIENTS/calls
	WORK
	status=0
	run together bpftrace -e 'kprobe:kp_cl_inner { @outside = count(); }' \
		-c "/bin/sh $TMP/together.work" || status=1
	lines_are "the outer count" "$TMP/together" '^@outside: 100$' 1 || status=1
	lines_are "the inner count" "$TMP/inside" '^@inside: 30$' 1 || status=1
	equal "hits of the event" \
		"$(awk '$1 == "both" { print $2, $3 }' $TRACEFS/kprobe_profile)" "100 0" || status=1
	echo 0 >$TRACEFS/events/kprobes/both/enable
	echo '-:both' >>$TRACEFS/kprobe_events
	return $status
}

setup_clients bpftrace
load kp_clients
ktap_set_plan 14
check "counts of a kprobe and a kretprobe" counts
check "a kprobe within a function" offset
check "stacks of a kprobe" stacks
check "stacks of kretprobes" return_stacks
check "histogram of results" histogram
check "wildcard of 100 kprobes" wildcard
check "wildcard of 100 kretprobes" wildcard_returns
check "100 kprobes by name" listed kprobe
check "100 kretprobes by name" listed kretprobe
check "attached probes are in list" listed_in_debugfs
check "override" overrides
check "several at one entry" together
unload kp_clients
check "no event and no probe is left" no_events
check "kp_clients can be loaded again" load kp_clients
unload kp_clients
ktap_finished
