#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kprobes of bpftrace: what its programs count, and the stacks that they get.

. "$(dirname "$0")/functions-clients.sh"

# trace NAME PROGRAM PARAMETER CALLS: runs the program while kp_clients makes the calls; the
# output is in $TMP/NAME
trace() {
	echo "echo $4 >$CLIENTS/$3" >"$TMP/$1.work"
	run "$1" bpftrace --unsafe -e "$2" -c "/bin/sh $TMP/$1.work"
}

# has NAME [[N] REGEX]...: $TMP/NAME has N lines that match each REGEX. N holds for all that follow;
# without an N before it, one line must match.
has() {
	name=$1
	times=1
	shift
	for regex; do
		case $regex in
		*[!0-9]*) lines_are "$regex" "$TMP/$name" "$regex" "$times" ;;
		*) times=$regex ;;
		esac
	done
}

# can_join: can bpftrace be used with a kprobe and a kretprobe on one function? Newer versions make
# one program for both, which they can load only if the kernel has BTF.
can_join() {
	[ ! -e /sys/kernel/btf/vmlinux ] || return 0
	minor=$(bpftrace --version | sed -n 's/.*v0\.\([0-9]*\).*/\1/p')
	[ "${minor:-0}" -lt 24 ]
}

counts() {
	can_join || skip_case "this bpftrace needs CONFIG_DEBUG_INFO_BTF" || return 0
	trace counts '
		kprobe:kp_cl_inner { @calls = count(); @args = sum(arg0); }
		kretprobe:kp_cl_inner { @returns = count(); @results = sum(retval); }' calls 1000
	has counts '^@calls: 1000$' '^@args: 499500$' '^@returns: 1000$' '^@results: 1499500$'
}

offset() {
	trace offset "kprobe:kp_cl_outer$SECOND_INSN { @calls = count(); }" calls 300
	has offset '^@calls: 300$'
}

# The stack must have the three functions of the chain, and nothing in between.
stacks() {
	trace stacks 'kprobe:kp_cl_inner { @[kstack(4)] = count(); }' calls 100
	in_order "$TMP/stacks" 'kp_cl_inner[+]' 'kp_cl_middle[+]' 'kp_cl_outer[+]' \
		'call_outer[+]|set_calls[+]|number_set[+]' ']: 100$'
}

return_stacks() {
	trace return_stacks '
		kretprobe:kp_cl_inner { @[kstack(4)] = count(); }
		kretprobe:kp_cl_middle { @m[kstack(3)] = count(); }' calls 100
	in_order "$TMP/return_stacks" 'kp_cl_middle[+]' 'kp_cl_outer[+]'
	has return_stacks 2 ']: 100$'
}

# Results of kp_cl_inner() for 0 to 63 are 1, 4, 7, ... 190.
histogram() {
	trace histogram 'kretprobe:kp_cl_inner { @h = hist(retval); }' calls 64
	has histogram '^\[1\] +1 \|' '^\[4, 8\) +2 \|' '^\[32, 64\) +10 \|' \
		'^\[64, 128\) +22 \|' '^\[128, 256\) +21 \|'
}

# Each function is called seven times. The results of kp_many_300() to kp_many_399() are 301 to 400.
wildcard() {
	trace wildcard 'kprobe:kp_many_3* { @[func] = count(); }' many 7
	has wildcard 100 '^@\[kp_many_3..\]: 7$'
}

wildcard_returns() {
	trace wildcard-ret 'kretprobe:kp_many_3* { @[retval] = count(); }' many 7
	has wildcard-ret 100 '^@\[(30[1-9]|3[1-9].|400)\]: 7$'
}

# listed TYPE: does what wildcard() does, but with a list of 100 functions. bpftrace may attach a
# wildcard through kprobe.multi, which uses fprobe. It attaches a list through kprobes, one for each
# function.
listed() {
	list=$(seq -s, -f "$1:kp_many_%g" 300 399)
	trace "listed-$1" "$list { @all = count(); }" many 5
	has "listed-$1" '^@all: 500$'
}

listed_in_debugfs() {
	echo "cat $KPROBES/list >$TMP/names.list" >"$TMP/names.work"
	run names bpftrace -e 'kprobe:kp_many_700,kprobe:kp_many_701,kretprobe:kp_many_702 {
		@ = count(); }' -c "/bin/sh $TMP/names.work"
	has names.list 2 ' k +kp_many_70[01][+]' 1 ' r +kp_many_702[+]'
}

overrides() {
	trace overrides 'kprobe:kp_cl_failable /arg0 >= 40/ { override(-12); @ = count(); }' \
		failable 100
	results_are 40 60 -12
	has overrides '^@: 60$'
	call failable 100
	results_are 100 0 0
}

# Two instances of bpftrace and a tracefs event at the same entry must each count their own hits.
together() {
	event_on 'p:both kp_cl_inner'
	echo "echo 30 >$CLIENTS/calls" >"$TMP/inside.work"
	cat >"$TMP/together.work" <<-WORK
		echo 50 >$CLIENTS/calls
		bpftrace -e 'kprobe:kp_cl_inner { @inside = count(); }' \
			-c "/bin/sh $TMP/inside.work" >$TMP/inside
		echo 20 >$CLIENTS/calls
	WORK
	run together bpftrace -e 'kprobe:kp_cl_inner { @outside = count(); }' \
		-c "/bin/sh $TMP/together.work"
	has together '^@outside: 100$'
	has inside '^@inside: 30$'
	equal "hits of the event" "$(event_profile both)" "100 0"
	event_off both
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
check_if can_override "override" overrides
check "several at one entry" together
unload kp_clients
check "no event and no probe is left" no_events
check "kp_clients can be loaded again" load kp_clients
unload kp_clients
ktap_finished
