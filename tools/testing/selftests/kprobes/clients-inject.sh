#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Fault injection by fail_function, a kprobe that replaces the result of a function: at an
# ftrace-based entry and at one that is not, where the probe is optimised if possible.
# shellcheck disable=SC2016 # the variables are the kernel's
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

FAIL=$DEBUGFS/fail_function

# inject FUNCTION RETVAL TIMES [TASK_FILTER]: fails the next TIMES calls
inject() {
	# Choose the task first, then enable the injection.
	echo "${4:-N}" >$FAIL/task-filter
	echo "$3" >$FAIL/times
	echo "$1" >$FAIL/inject || return 1
	# The file takes a negative number as unsigned, of 64 bits.
	printf '%#x' "$2" >"$FAIL/$1/retval" || return 1
	echo 0 >$FAIL/interval
	echo 0 >$FAIL/space
	echo 0 >$FAIL/verbose
	echo 100 >$FAIL/probability
}

uninject() {
	echo 0 >$FAIL/probability
	echo "!$1" >$FAIL/inject
}

# calls_are PARAMETER KEPT REPLACED RESULT: of ten calls, this many keep or lose their result
calls_are() {
	echo 10 >"$CLIENTS/$1"
	equal "kept" "$(cat $CLIENTS/kept)" "$2" &&
		equal "replaced" "$(cat $CLIENTS/replaced)" "$3" &&
		equal "result" "$(cat $CLIENTS/result)" "$4"
}

is_marked() {
	grep " $1+" $KPROBES/list | grep -q -F -e '[OPTIMIZED]' -e '[FTRACE]'
}

# show_mark FUNCTION: prints how its probe is listed, after waiting for a jump
show_mark() {
	comes_true 10 is_marked "$1" || :
	grep " $1+" $KPROBES/list | sed 's/^/# /'
}

# some_calls FUNCTION PARAMETER: the first four have to fail
some_calls() {
	inject "$1" -19 4 || return 1
	show_mark "$1"
	status=0
	calls_are "$2" 6 4 -19 || status=1
	calls_are "$2" 10 0 0 || status=1
	echo -1 >$FAIL/times
	calls_are "$2" 0 10 -19 || status=1
	uninject "$1" || status=1
	calls_are "$2" 10 0 0 || status=1
	return $status
}

# With a kprobe event and a kretprobe event at the same function
others_too() {
	echo "p:kp/enter kp_cl_failable arg=$FIRST_ARG:s32" >>$TRACEFS/kprobe_events || return 1
	echo 'r:kp/leave kp_cl_failable ret=$retval:s32' >>$TRACEFS/kprobe_events || return 1
	echo 1 >$TRACEFS/events/kp/enable
	inject kp_cl_failable -5 3 || return 1
	echo >$TRACEFS/trace
	status=0
	calls_are failable 7 3 -5 || status=1
	cat $TRACEFS/trace >"$TMP/trace"
	uninject kp_cl_failable || status=1
	# The handler of the probe registered last is called first, and may redirect: if that is
	# fail_function's, the other users see only the calls that it does not fail.
	at_least "entries" "$(grep -c 'enter: ' "$TMP/trace")" 7 || status=1
	at_least "returns" "$(grep -c 'leave: .*ret=[0-9]' "$TMP/trace")" 7 || status=1
	echo 0 >$TRACEFS/events/kp/enable
	echo '-:kp/enter' >>$TRACEFS/kprobe_events
	echo '-:kp/leave' >>$TRACEFS/kprobe_events
	return $status
}

# open_errno FAIL: prints the errno of a process that opens a file with FAIL in its make-it-fail.
# The process does nothing else afterwards: closing a file of 9p must not fail.
open_errno() {
	perl -e 'open(my $fail, ">", "/proc/self/make-it-fail") or die "make-it-fail: $!";
		syswrite($fail, $ARGV[0]);
		my $errno = sysopen(my $file, "/proc/version", 0) ? 0 : $! + 0;
		syswrite($fail, "0");
		print $errno;' "$1"
}

# Fail the allocations of one process, which gets the error when it opens a file.
failslab() {
	inject should_failslab -12 -1 Y || return 1
	show_mark should_failslab
	status=0
	equal "errno when it is to fail" "$(open_errno 1)" 12 || status=1
	equal "errno of others" "$(open_errno 0)" 0 || status=1
	uninject should_failslab || status=1
	equal "errno when nothing is injected" "$(open_errno 1)" 0 || status=1
	return $status
}

# refused: functions that are not marked for injection, do not exist, or have one already
refused() {
	# EINVAL, EINVAL, EBUSY in the words of the shell
	put_refused $FAIL/inject kp_cl_inner
	put_refused $FAIL/inject kp_cl_there_is_none
	put $FAIL/inject kp_cl_failable
	put_refused $FAIL/inject kp_cl_failable
	uninject kp_cl_failable
}

setup_clients perl
if [ ! -e $FAIL/inject ]; then
	ktap_skip_all "CONFIG_FAIL_FUNCTION is needed"
	exit "$KSFT_SKIP"
fi
load kp_clients
ktap_set_plan 6
check "fail_function at an entry of ftrace's" some_calls kp_cl_failable failable
check "fail_function at another" some_calls kp_cl_failable_plain failable_plain
if on_base_kernel; then
	ktap_print_msg "in Linux 6.12.117 the list of probes becomes a circle that never ends"
	ktap_test_skip "fail_function beside other probes"
else
	check "fail_function beside other probes" others_too
fi
check "should_failslab() fails for one process" failslab
check "what is refused" refused
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
