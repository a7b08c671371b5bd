#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests BPF programs on perf's events of kprobes, attached by bpf_probe: not every architecture has
# bpftrace.

. "$(dirname "$0")/functions-clients.sh"

MISSED=/sys/module/kp_missed/parameters
BPF_PROBE=$TOPIC_DIR/bpf_probe

# counted WHAT COUNT SUM: checks that bpf_probe has printed these results to $TMP/WHAT
counted() {
	equal "$1: count and sum" "$(grep -E '^(count|sum) ' "$TMP/$1" | paste -sd' ')" \
		"count $2 sum $3"
}

# sees COUNT SUM ARGUMENT...: checks that `bpf_probe ARGUMENT...` counts all COUNT calls, and that
# its sum is SUM
sees() {
	calls=$1
	sum=$2
	shift 2
	run probed "$BPF_PROBE" "$@" "echo $calls >$CLIENTS/calls"
	counted probed "$calls" "$sum"
}

# one_in_another SUM1 SUM2 OPTIONS1 OPTIONS2: attaches a program to an entry for 100 calls, and a
# second program to the same entry for 30 of these calls. SUM1 and SUM2 are what the programs must
# print, OPTIONS1 and OPTIONS2 their options of bpf_probe.
one_in_another() {
	cat >"$TMP/one_in_another.work" <<-WORK
		echo 50 >$CLIENTS/calls
		$BPF_PROBE $4 kp_cl_inner 'echo 30 >$CLIENTS/calls' >$TMP/inside
		echo 20 >$CLIENTS/calls
	WORK
	# shellcheck disable=SC2086 # words
	run outside "$BPF_PROBE" $3 kp_cl_inner "sh $TMP/one_in_another.work"
	counted outside 100 "$1"
	counted inside 30 "$2"
}

# Two programs and an event of tracefs at the same entry must each count their own hits. N calls
# have the arguments 0 to N - 1: for 50, 30 and 20 calls, the sums are 1225, 435 and 190.
together() {
	event_on 'p:both kp_cl_inner'
	one_in_another $((1225 + 435 + 190)) 435 '' ''
	equal "hits of the event" "$(event_profile both)" "100 0"
	event_off both
}

# Programs get the address of the function, also from several return probes.
function_known() {
	function=$(awk '$3 == "kp_cl_inner" { print $1 }' /proc/kallsyms)
	sees 50 50 -i "$function" kp_cl_inner
	sees 50 50 -r -i "$function" kp_cl_inner
	one_in_another 100 30 "-r -i $function" "-r -i $function"
}

overrides() {
	run override "$BPF_PROBE" -e 12 -f 40 kp_cl_failable "echo 100 >$CLIENTS/failable"
	counted override 100 4950
	results_are 40 60 -12
	call failable 100
	results_are 100 0 0
}

# Only functions marked by ALLOW_ERROR_INJECTION() can be overridden.
override_refused() {
	must_fail "$BPF_PROBE" -e 12 -f 0 kp_cl_inner : 2>"$TMP/refused"
	lines_are "what is refused" "$TMP/refused" 'PERF_EVENT_IOC_SET_BPF: Invalid argument' 1
}

can_override_waiting() {
	can_override && [ -e /sys/bus/event_source/devices/kprobe/format/wait ]
}

# If an event waits for its module, the function in the next module of that name may be another one.
override_waits() {
	run traced "$BPF_PROBE" -w kp_clients:kp_cl_failable "echo 100 >$CLIENTS/failable"
	must_fail "$BPF_PROBE" -w -e 12 -f 40 kp_clients:kp_cl_failable : 2>"$TMP/refused"
	lines_are "what is refused" "$TMP/refused" 'PERF_EVENT_IOC_SET_BPF: Invalid argument' 1
}

STATS=/proc/sys/kernel/bpf_stats_enabled

# returns VALUE ARGUMENT... RESULTS: checks that `bpf_probe -v VALUE ARGUMENT...` prints these
# RESULTS, the numbers of runs, missed runs, and records
returns() {
	returns_value=$1
	shift
	returns_args=
	while [ $# -gt 1 ]; do
		returns_args="$returns_args '$1'"
		shift
	done
	eval "run returned '$BPF_PROBE' -v $returns_value $returns_args"
	told returned "$1"
}

# told WHAT RESULTS: checks that $TMP/WHAT has these RESULTS: the numbers of runs, missed runs, and
# records
told() {
	equal "$1: runs, missed, records" "$(awk '{ print $2 }' "$TMP/$1" | paste -sd' ')" "$2"
}

# The lowest bit of what the program returns decides whether perf gets a record.
records() {
	# shellcheck disable=SC2086 # no word if empty
	for form in '' -r; do
		returns 0 $form kp_cl_inner "echo 100 >$CLIENTS/calls" '0 0 0'
		returns 1 $form kp_cl_inner "echo 100 >$CLIENTS/calls" '0 0 100'
		returns 2 $form kp_cl_inner "echo 100 >$CLIENTS/calls" '0 0 0'
		returns 3 $form kp_cl_inner "echo 100 >$CLIENTS/calls" '0 0 100'
	done
}

# The kernel counts runs only while the sysctl is 1.
statistics() {
	put $STATS 1
	returns 0 kp_cl_inner "echo 100 >$CLIENTS/calls" '100 0 0'
	returns 1 -r kp_cl_inner "echo 100 >$CLIENTS/calls" '100 0 100'
	returns 0 kp_cl_inner "echo 60 >$CLIENTS/calls; echo 0 >$STATS; echo 40 >$CLIENTS/calls" \
		'60 0 0'
	equal "$STATS" "$(cat $STATS)" 0
}

# While bpf() looks up a map's element, the kernel runs no program on that CPU, and perf gets no
# record. So attach a program to the lookup function, and let another bpf_probe look up one element:
# that hit must be counted as missed.
missed() {
	# shellcheck disable=SC2086 # no word if empty
	for form in '' -r; do
		returns 1 $form array_map_lookup_elem "$BPF_PROBE kp_cl_inner : >/dev/null" '0 1 0'
	done
}

# all_on_one_event STATISTICS: enables a tracefs event, and opens it through perf with a program,
# for 105 calls. For 30 of these, a second program is also attached, and for 5 others a third one:
# then perf gets a record only if both programs return 1. The second one returns 0, so perf gets 75
# records. STATISTICS: 1 to count the runs of programs, else 0.
all_on_one_event() {
	event_on 'p:both kp_cl_inner'
	put $STATS "$1"
	put "$TRACEFS/trace" ''
	cat >"$TMP/both.work" <<-WORK
		echo 50 >$CLIENTS/calls
		$BPF_PROBE -v 0 kprobes/both 'echo 30 >$CLIENTS/calls' >$TMP/second
		$BPF_PROBE -v 1 kprobes/both 'echo 5 >$CLIENTS/calls' >$TMP/third
		echo 20 >$CLIENTS/calls
	WORK
	run first "$BPF_PROBE" -v 1 kprobes/both "sh $TMP/both.work"
	put $STATS 0
	told first "$((105 * $1)) 0 75"
	told second "$((30 * $1)) 0 0"
	told third "$((5 * $1)) 0 5"
	lines_are "the trace" "$TRACEFS/trace" ' both: ' 105
	equal "hits of the event" "$(event_profile both)" "105 0"
	event_off both
}

cookies() {
	sees 50 50 -c 123456789abcdef0 kp_cl_inner
	sees 50 50 -r -c 123456789abcdef0 kp_cl_inner
	one_in_another 100 30 '-c 11' '-c 22'
}

sleepable_refused() {
	# shellcheck disable=SC2086 # no word if empty
	for form in '' -r; do
		must_fail "$BPF_PROBE" -v 0 -l $form kp_cl_inner : 2>"$TMP/refused"
		lines_are "what is refused" "$TMP/refused" \
			'PERF_EVENT_IOC_SET_BPF: Invalid argument' 1
	done
}

# helpers_succeed LOCATION: checks that programs can record a stack, update a hash map, write to a
# ring buffer and send a signal, in each of five contexts (four with lockdep). In the two contexts
# that belong to a task, programs can also write to the task's memory: the value 1 must be there
# afterwards.
helpers_succeed() {
	all=5
	[ ! -e /proc/lockdep ] || all=4
	run helpers "$BPF_PROBE" -h "$1" "$CLIENTS/contexts"
	equal "$1: helpers that succeeded" "$(awk '{ print $2 }' "$TMP/helpers" | paste -sd' ')" \
		"$all $all $all $all 2 1"
}

# reached_by breakpoint|jump: does kprobes/list show that the probe is hit in this way?
reached_by() {
	case "$1 $(grep 'kp_cl_outer[+]' $KPROBES/list)" in
	jump*OPTIMIZED*) return 0 ;;
	breakpoint*OPTIMIZED*) return 1 ;;
	breakpoint*kp_cl_outer*) return 0 ;;
	*) return 1 ;;
	esac
}

# helpers_by HOW BOOST OPTIMIZATION: helpers_succeed inside a function, where HOW hits the probe
helpers_by() {
	put $BOOST "$2"
	optimization "$3"
	event_on "p:helpers kp_cl_outer$INSIDE"
	wait_until reached_by "$1"
	helpers_succeed "kp_cl_outer$INSIDE"
	reached_by "$1" || failed "not reached by a $1 any more"
	event_off helpers
	put $BOOST 1
}

helpers_at_breakpoints() {
	helpers_by breakpoint 1 0
	helpers_by breakpoint 0 0
}

# own_kprobes: does the guest run the kprobes under test? In the base kernel, in_nmi() is true in
# programs that a breakpoint calls, so some helpers fail.
own_kprobes() {
	! on_base_kernel
}

# nests: is a probe's handler called if a program or an event hits the probe? Other architectures
# than x86, and the base kernel, count such a hit as missed.
nests() {
	is_x86 && own_kprobes
}

listed_in_debugfs() {
	run names "$BPF_PROBE" kp_many_700 \
		"$BPF_PROBE -r kp_many_701 'cat $KPROBES/list >$TMP/names.list'"
	lines_are "kprobes/list" "$TMP/names.list" ' k +kp_many_700[+]' 1
	lines_are "kprobes/list" "$TMP/names.list" ' r +kp_many_701[+]' 1
}

# jumps_to FUNCTION: is a probe in FUNCTION optimised, according to kprobes/list?
jumps_to() {
	grep " $1[+].*OPTIMIZED" $KPROBES/list >/dev/null
}

# nests_by KIND OFFSET OPTIMIZATION: the program of bpf_probe -h updates a hash map, in each of five
# contexts. An event of the type KIND, p or r, is on the function that updates the map.
nests_by() {
	optimization "$3"
	event_on "$1:nested htab_map_update_elem$2"
	[ "$2$3" != "${INSIDE}1" ] || wait_until jumps_to htab_map_update_elem
	run helpers "$BPF_PROBE" -h kp_cl_outer "$CLIENTS/contexts"
	run helpers "$BPF_PROBE" -r -h kp_cl_outer "$CLIENTS/contexts"
	equal "hits during programs, and missed" "$(event_profile nested)" "10 0"
	event_off nested
}

nested_events() {
	nests_by p '' 1
	nests_by r '' 1
	nests_by p $INSIDE 0
	! has_jumps || nests_by p $INSIDE 1
}

# Hits that handlers cause must not be missed after the module of the event was loaded again.
# A handler of kp_missed calls the function three times, and then it is called once more.
nested_again() {
	load kp_missed
	event_on "p:nested kp_missed:kp_missed_target"
	for time in first second; do
		before=$(event_hits nested)
		put $MISSED/run nested
		put $MISSED/run end
		equal "hits, the $time time" \
			$(($(event_hits nested) - before)) 4
		unload kp_missed
		load kp_missed
	done
	equal "missed" "$(event_profile nested | cut -d' ' -f2)" 0
	event_off nested
	unload kp_missed
}

# An event that reads a string calls this function. If a second event or a program is on the
# function, it must be called for the hits that this causes. If the second event reads a string as
# well, it hits its own probe: such a hit must be missed.
STRING=strncpy_from_kernel_nofault

in_events() {
	event_on "p:outer kp_cl_inner text=@linux_banner:string"
	event_on "p:inner $STRING"
	put "$TRACEFS/trace" ''
	call calls 40
	equal "hits of the outer event" "$(event_profile outer)" "40 0"
	equal "hits of the inner event" "$(event_profile inner)" "40 0"
	lines_are "the trace" "$TRACEFS/trace" ' inner: ' 40
	event_off inner
	run program "$BPF_PROBE" $STRING "echo 40 >$CLIENTS/calls"
	lines_are "the program's hits" "$TMP/program" '^count 40$' 1
	event_on "p:inner $STRING text=@linux_banner:string"
	call calls 40
	equal "hits of the inner event" "$(event_profile inner)" "40 40"
	event_off inner
	event_off outer
}

# Recording an event that has a trigger takes locks, so the hits that this causes must be missed.
not_with_trigger() {
	trigger=$TRACEFS/events/kprobes/outer/trigger
	for kind in p r; do
		event_on "$kind:outer kp_cl_inner text=@linux_banner:string"
		event_on "p:inner $STRING"
		put "$trigger" traceon
		call calls 40
		equal "hits, and missed, of the inner event" "$(event_profile inner)" "0 40"
		put "$trigger" '!traceon'
		call calls 40
		equal "hits, and missed, of the inner event" "$(event_profile inner)" "40 40"
		event_off inner
		event_off outer
	done
}

BOOST=/sys/module/kprobes/parameters/boost
# The offset of the instruction after an endbr64 and ftrace's call; i386 has no endbr here
INSIDE=+9
! is_x86_32 || INSIDE=+5

setup_clients
[ -x "$BPF_PROBE" ] || skip_topic "bpf_probe is not built"
[ -e /sys/bus/event_source/devices/kprobe ] || skip_topic "CONFIG_PERF_EVENTS is needed"
load kp_clients
ktap_set_plan 25
check "hits and arguments at a function's entry" sees 1000 499500 kp_cl_inner
check "returns and results" sees 1000 1499500 -r kp_cl_inner
# At the second instruction, the first argument is still in its register.
check "hits after the entry" sees 300 44850 "kp_cl_inner$SECOND_INSN"
check "several at one entry" together
check "the function's address" function_known
check_if can_override "override" overrides
check_if can_override "override of a function that is not to fail is refused" override_refused
check_if can_override_waiting "override of an event that waits is refused" override_waits
check "perf's records of what programs return" records
check "runs that the kernel counts" statistics
check "runs missed during another program's bpf()" missed
check "ftrace, perf and programs on one event" all_on_one_event 0
check "the same, and counted runs" all_on_one_event 1
check "cookies" cookies
check "helpers in all contexts, by ftrace" helpers_succeed kp_cl_outer
check_if own_kprobes "helpers in all contexts, by breakpoints" helpers_at_breakpoints
check_if has_jumps "helpers in all contexts, by jumps" helpers_by jump 1 1
check "sleepable programs are refused" sleepable_refused
check_if nests "an event on what a program calls" nested_events
check_if nests "the same, when its module was loaded again" nested_again
check_if nests "an event and a program on what an event calls" in_events
check_if nests "an event on what an event with a trigger calls" not_with_trigger
check "attached probes are in list" listed_in_debugfs
unload kp_clients
check "no event and no probe is left" no_events
check "kp_clients can be loaded again" load kp_clients
unload kp_clients
ktap_finished
