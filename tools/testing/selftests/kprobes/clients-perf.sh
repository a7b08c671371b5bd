#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kprobes that are created with perf, with trace-cmd, and with perf-tools' script kprobe.
# shellcheck disable=SC2016 # the variables are the kernel's

. "$(dirname "$0")/functions-clients.sh"

# A program for perl. No other program calls getppid().
GETPPID='getppid() for 1..200'
GETPPID_FUNCTION=__${SYSCALL_ABI}_sys_getppid
GETPPID_FRAME="__($SYSCALL_ABI|do)_sys_getppid[+]"

perf_probe_add() {
	run probe perf probe -f --add "kp_enter=$GETPPID_FUNCTION"
	run probe-ret perf probe -f --add "kp_leave=$GETPPID_FUNCTION%return ret=\$retval"
	run probe-list perf probe --list
	lines_are "perf probe --list" "$TMP/probe-list" 'probe:kp_(enter|leave).*_sys_getppid' 2
}

perf_stat() {
	run stat perf stat -x, -e probe:kp_enter -e probe:kp_leave__return perl -e "$GETPPID"
	lines_are "perf stat" "$TMP/stat" '^200,,probe:kp_(enter|leave__return),' 2
}

perf_record() {
	run record perf record -q -o "$TMP/perf.data" -g -e probe:kp_enter \
		-e probe:kp_leave__return perl -e "$GETPPID"
	run script perf script -i "$TMP/perf.data"
	lines_are "perf script" "$TMP/script" 'perl .* probe:kp_enter:' 200
	lines_are "perf script" "$TMP/script" \
		"perl .* probe:kp_leave__return: .* ret=0x[0-9a-f]*" 200
}

# perf has recorded 200 hits at the entry, and 200 returns. The stacks of the entries begin with the
# probed function and its caller. All 400 stacks have the entry of the system call.
perf_stacks() {
	lines_are "frames of the function" "$TMP/script" "^\s*[0-9a-f]+ $GETPPID_FRAME" 200
	in_order "$TMP/script" "$GETPPID_FRAME" " ($SYSCALL_CALLERS)[+]"
	at_least "frames of $SYSCALL_ENTRY" \
		"$(grep -c -E "^\s*[0-9a-f]+ ($SYSCALL_ENTRY)[+]" "$TMP/script")" 400
}

perf_probe_del() {
	run probe-del perf probe --del 'probe:kp_*'
	no_events
}

# Without perf probe: perf opens an event of tracefs.
perf_tracefs() {
	add_event "p:client/inner kp_cl_inner$FRAMED arg=$FIRST_ARG:s32" \
		'r:client/leave kp_cl_inner ret=$retval:s32'
	run stat2 perf stat -x, -e client:inner -e client:leave sh -c "echo 70 >$CLIENTS/calls"
	lines_are "perf stat" "$TMP/stat2" '^70,,client:(inner|leave),' 2
	run record2 perf record -q -o "$TMP/perf2.data" -g -e client:inner --filter 'arg >= 60' \
		sh -c "echo 70 >$CLIENTS/calls"
	run script2 perf script -i "$TMP/perf2.data"
	lines_are "perf script" "$TMP/script2" 'client:inner: .* arg=6[0-9]$' 10
	in_order "$TMP/script2" ' kp_cl_inner[+]' ' kp_cl_middle[+]' ' kp_cl_outer[+]'
}

# trace_cmd_of CALLS ARGUMENT...: trace-cmd records that many calls; its report is in $TMP/report
trace_cmd_of() {
	calls=$1
	shift
	run record3 trace-cmd record -q -o "$TMP/trace.dat" "$@" sh -c "echo $calls >$CLIENTS/calls"
	run report trace-cmd report -i "$TMP/trace.dat"
}

reports() {
	lines_are "trace-cmd report" "$TMP/report" "$1" "$2"
}

trace_cmd() {
	trace_cmd_of 40 -e client:inner -e client:leave
	reports 'inner: .*\([0-9a-f]+\) arg=([0-9]|[123][0-9])$' 40
	reports 'leave: .*\([0-9a-f]+ <- [0-9a-f]+\) ret=[0-9]+$' 40
}

trace_cmd_stacks() {
	trace_cmd_of 30 -T -e client:inner
	reports 'inner: .* arg=[0-9]+$' 30
	in_order "$TMP/report" 'kp_cl_middle ' 'kp_cl_outer '
	reports '=> kp_cl_middle ' 30
}

trace_cmd_function() {
	trace_cmd_of 25 -p function_graph -g kp_cl_outer -e client:inner
	reports 'funcgraph_entry: .*kp_cl_outer\(\)' 25
	reports 'inner: .* arg=[0-9]+$' 25
}

trace_cmd_reset() {
	run reset trace-cmd reset
	# trace-cmd 3.4 does not remove its events: remove them here.
	if trace-cmd --version 2>&1 | grep -q 'version 3\.4'; then
		echo >$TRACEFS/dynamic_events
		skip_case "trace-cmd 3.4 removes no event" || return 0
	fi
	no_events
}

event_is_enabled() {
	[ "$(cat $TRACEFS/events/kprobes/*/enable 2>/dev/null)" = 1 ]
}

# kprobe-perf empties the buffer after it has enabled the event, then starts a `cat` of trace_pipe.
pipe_is_read() {
	pgrep -P "$pid" -x cat >/dev/null
}

prints_lines() {
	[ "$(grep -c -E "$1" "$TMP/kprobe-perf")" -ge "$2" ]
}

# kprobe_perf PROBE CALLS REGEX: checks that perf-tools' kprobe prints a line that matches REGEX for
# each of the CALLS, and removes the probe when it is interrupted
kprobe_perf() {
	kprobe-perf "$1" >"$TMP/kprobe-perf" 2>&1 </dev/null &
	pid=$!
	wait_until event_is_enabled
	wait_until pipe_is_read
	call calls "$2"
	wait_until prints_lines "$3" "$2"
	pkill -TERM -P $pid 2>/dev/null || :
	kill -TERM $pid 2>/dev/null || :
	wait $pid 2>/dev/null || :
	lines_are "kprobe-perf" "$TMP/kprobe-perf" "$3" "$2"
	no_events
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
check_if "has_tracer function_graph" "trace-cmd with function_graph" trace_cmd_function
check "trace-cmd reset" trace_cmd_reset
check_if "command -v kprobe-perf" "kprobe of perf-tools" kprobe_perf \
	"p:kp_cl_inner arg=$FIRST_ARG:s32" 15 'kp_cl_inner: .* arg=[0-9]+$'
check_if "command -v kprobe-perf" "kretprobe of perf-tools" kprobe_perf \
	'r:kp_cl_inner ret=$retval:s32' 15 '<- kp_cl_inner\) ret=[0-9]+$'
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
