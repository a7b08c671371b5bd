#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Kprobes of perf, trace-cmd and perf-tools' kprobe
# shellcheck disable=SC2016 # the variables are the kernel's
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

# A program that makes a known number of system calls, the only ones of this kind.
GETPPID='getppid() for 1..200'
GETPPID_FUNCTION=__${SYSCALL_ABI}_sys_getppid
GETPPID_FRAME="__($SYSCALL_ABI|do)_sys_getppid[+]"

perf_probe_add() {
	run probe perf probe -f --add "kp_enter=$GETPPID_FUNCTION" &&
		run probe-ret perf probe -f \
			--add "kp_leave=$GETPPID_FUNCTION%return ret=\$retval" &&
		run probe-list perf probe --list &&
		lines_are "perf probe --list" "$TMP/probe-list" \
			'probe:kp_(enter|leave).*_sys_getppid' 2
}

perf_stat() {
	run stat perf stat -x, -e probe:kp_enter -e probe:kp_leave__return perl -e "$GETPPID" &&
		lines_are "perf stat" "$TMP/stat" '^200,,probe:kp_(enter|leave__return),' 2
}

perf_record() {
	run record perf record -q -o "$TMP/perf.data" -g -e probe:kp_enter \
		-e probe:kp_leave__return perl -e "$GETPPID" &&
		run script perf script -i "$TMP/perf.data" &&
		lines_are "perf script" "$TMP/script" 'perl .* probe:kp_enter:' 200 &&
		lines_are "perf script" "$TMP/script" \
			"perl .* probe:kp_leave__return: .* ret=0x[0-9a-f]*" 200
}

# The chain of each hit: the probed function, then the callers that all hits have.
perf_stacks() {
	lines_are "frames of the function" "$TMP/script" \
		"^\s*[0-9a-f]+ $GETPPID_FRAME" 200 || return 1
	in_order "$TMP/script" "$GETPPID_FRAME" " ($SYSCALL_CALLERS)[+]" &&
		at_least "frames of $SYSCALL_ENTRY" \
			"$(grep -c -E "^\s*[0-9a-f]+ ($SYSCALL_ENTRY)[+]" "$TMP/script")" 400
}

perf_probe_del() {
	run probe-del perf probe --del 'probe:kp_*' && no_events
}

# Without perf probe: perf opens an event of tracefs.
perf_tracefs() {
	echo "p:client/inner kp_cl_inner$FRAMED arg=$FIRST_ARG:s32" >>$TRACEFS/kprobe_events ||
		return 1
	echo 'r:client/leave kp_cl_inner ret=$retval:s32' >>$TRACEFS/kprobe_events || return 1
	status=0
	run stat2 perf stat -x, -e client:inner -e client:leave \
		sh -c "echo 70 >$CLIENTS/calls" || status=1
	lines_are "perf stat" "$TMP/stat2" '^70,,client:(inner|leave),' 2 || status=1
	run record2 perf record -q -o "$TMP/perf2.data" -g -e client:inner --filter 'arg >= 60' \
		sh -c "echo 70 >$CLIENTS/calls" || status=1
	run script2 perf script -i "$TMP/perf2.data" || status=1
	lines_are "perf script" "$TMP/script2" 'client:inner: .* arg=6[0-9]$' 10 || status=1
	in_order "$TMP/script2" ' kp_cl_inner[+]' ' kp_cl_middle[+]' ' kp_cl_outer[+]' || status=1
	return $status
}

trace_cmd() {
	status=0
	run record3 trace-cmd record -q -o "$TMP/trace.dat" -e client:inner -e client:leave \
		sh -c "echo 40 >$CLIENTS/calls" || status=1
	run report trace-cmd report -i "$TMP/trace.dat" || status=1
	lines_are "trace-cmd report" "$TMP/report" \
		'inner: .*\([0-9a-f]+\) arg=([0-9]|[123][0-9])$' 40 || status=1
	lines_are "trace-cmd report" "$TMP/report" \
		'leave: .*\([0-9a-f]+ <- [0-9a-f]+\) ret=[0-9]+$' 40 || status=1
	return $status
}

# With the stack of each hit
trace_cmd_stacks() {
	status=0
	run record4 trace-cmd record -q -T -o "$TMP/trace2.dat" -e client:inner \
		sh -c "echo 30 >$CLIENTS/calls" || status=1
	run report4 trace-cmd report -i "$TMP/trace2.dat" || status=1
	lines_are "trace-cmd report" "$TMP/report4" 'inner: .* arg=[0-9]+$' 30 || status=1
	in_order "$TMP/report4" 'kp_cl_middle ' 'kp_cl_outer ' || status=1
	lines_are "trace-cmd report" "$TMP/report4" '=> kp_cl_middle ' 30 || status=1
	return $status
}

trace_cmd_function() {
	run record5 trace-cmd record -q -p function_graph -g kp_cl_outer -e client:inner \
		-o "$TMP/trace3.dat" sh -c "echo 25 >$CLIENTS/calls" &&
		run report5 trace-cmd report -i "$TMP/trace3.dat" &&
		lines_are "trace-cmd report" "$TMP/report5" \
			'funcgraph_entry: .*kp_cl_outer\(\)' 25 &&
		lines_are "trace-cmd report" "$TMP/report5" 'inner: .* arg=[0-9]+$' 25
}

# Removes everything from tracefs.
trace_cmd_reset() {
	run reset trace-cmd reset && no_events
}

event_is_enabled() {
	[ "$(cat $TRACEFS/events/kprobes/*/enable 2>/dev/null)" = 1 ]
}

# prints_lines REGEX N
prints_lines() {
	[ "$(grep -c -E "$1" "$TMP/kprobe-perf")" -ge "$2" ]
}

# kprobe_perf PROBE CALLS REGEX: lines of perf-tools' kprobe, which prints until it is
# interrupted, and then removes the probe
kprobe_perf() {
	kprobe-perf "$1" >"$TMP/kprobe-perf" 2>&1 </dev/null &
	pid=$!
	wait_until event_is_enabled
	call calls "$2"
	wait_until prints_lines "$3" "$2"
	# A cat reads trace_pipe; the script ends it only when it is asked to.
	pkill -TERM -P $pid 2>/dev/null || :
	kill -TERM $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
	lines_are "kprobe-perf" "$TMP/kprobe-perf" "$3" "$2" && no_events
}

setup_clients perf trace-cmd perl
ktap_set_plan 13
load kp_clients
check "perf probe adds a kprobe and a kretprobe" perf_probe_add
check "perf stat" perf_stat
check "perf record" perf_record
check "stacks that perf recorded" perf_stacks
check "perf probe takes them away" perf_probe_del
check "perf with events of tracefs" perf_tracefs
check "trace-cmd record" trace_cmd
check "stacks that trace-cmd recorded" trace_cmd_stacks
if grep -qw function_graph $TRACEFS/available_tracers; then
	check "trace-cmd with function_graph" trace_cmd_function
else
	ktap_test_skip "trace-cmd with function_graph"
fi
check "trace-cmd reset" trace_cmd_reset
if command -v kprobe-perf >/dev/null; then
	check "kprobe of perf-tools" kprobe_perf "p:kp_cl_inner arg=$FIRST_ARG:s32" 15 \
		'kp_cl_inner: .* arg=[0-9]+$'
	check "kretprobe of perf-tools" kprobe_perf 'r:kp_cl_inner ret=$retval:s32' 15 \
		'<- kp_cl_inner\) ret=[0-9]+$'
else
	ktap_test_skip "kprobe of perf-tools"
	ktap_test_skip "kretprobe of perf-tools"
fi
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
