#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests fault injection with fail_function, which uses a kprobe to replace the result of a function.
# The probe is at an ftrace-based entry, or at another entry, where it is optimised if possible.
# shellcheck disable=SC2016 # the variables are the kernel's

. "$(dirname "$0")/functions-clients.sh"

FAIL=$DEBUGFS/fail_function

# inject FUNCTION RETVAL TIMES [TASK_FILTER]: fails the next TIMES calls
inject() {
	# Choose the task first, then enable the injection.
	put_in $FAIL task-filter="${4:-N}" times="$3" inject="$1"
	# A negative number has to be written as an unsigned one of 64 bits.
	put "$FAIL/$1/retval" "$(printf '%#x' "$2")"
	put_in $FAIL interval=0 space=0 verbose=0 probability=100
}

uninject() {
	put_in $FAIL probability=0 inject="!$1"
}

# calls_are PARAMETER KEPT REPLACED RESULT: makes ten calls through PARAMETER of kp_clients, and
# checks that KEPT of them return their own result, and REPLACED return RESULT
calls_are() {
	call "$1" 10
	results_are "$2" "$3" "$4"
}

is_marked() {
	grep " $1+" $KPROBES/list | grep -q -F -e '[OPTIMIZED]' -e '[FTRACE]'
}

show_mark() {
	comes_true 10 is_marked "$1" || :
	grep " $1+" $KPROBES/list | sed 's/^/# /'
}

# some_calls FUNCTION PARAMETER: makes ten calls four times. Of the ten, the first four fail, then
# none, then all, then none.
some_calls() {
	inject "$1" -19 4
	show_mark "$1"
	calls_are "$2" 6 4 -19
	calls_are "$2" 10 0 0
	put $FAIL/times -1
	calls_are "$2" 0 10 -19
	uninject "$1"
	calls_are "$2" 10 0 0
}

others_too() {
	event_on "p:kp/enter kp_cl_failable arg=$FIRST_ARG:s32"
	event_on 'r:kp/leave kp_cl_failable ret=$retval:s32'
	inject kp_cl_failable -5 3
	echo >$TRACEFS/trace
	calls_are failable 7 3 -5
	cat $TRACEFS/trace >"$TMP/trace"
	uninject kp_cl_failable
	# Three of the ten calls fail. The handler of fail_function may be called first, and hide
	# these from the events: so expect at least seven.
	at_least "entries" "$(grep -c 'enter: ' "$TMP/trace")" 7
	at_least "returns" "$(grep -c 'leave: .*ret=[0-9]' "$TMP/trace")" 7
	event_off kp/enter
	event_off kp/leave
}

# open_errno FAIL: a process writes FAIL to its /proc/self/make-it-fail, then opens a file. Prints
# the errno of the open, or 0 if it succeeds.
open_errno() {
	perl -e 'open(my $fail, ">", "/proc/self/make-it-fail") or die "make-it-fail: $!";
		syswrite($fail, $ARGV[0]);
		my $errno = sysopen(my $file, "/proc/version", 0) ? 0 : $! + 0;
		syswrite($fail, "0");
		print $errno;' "$1"
}

failslab() {
	inject should_failslab -12 -1 Y
	show_mark should_failslab
	equal "errno when it is to fail" "$(open_errno 1)" 12
	equal "errno of others" "$(open_errno 0)" 0
	uninject should_failslab
	equal "errno when nothing is injected" "$(open_errno 1)" 0
}

refused() {
	put_refused $FAIL/inject kp_cl_inner
	put_refused $FAIL/inject kp_cl_there_is_none
	put $FAIL/inject kp_cl_failable
	put_refused $FAIL/inject kp_cl_failable
	uninject kp_cl_failable
}

setup_clients perl
[ -e $FAIL/inject ] || skip_topic "CONFIG_FAIL_FUNCTION is needed"
# The handler of fail_function takes a lock that sleeps with PREEMPT_RT, for random bytes.
case $(uname -v) in
*PREEMPT_RT*) echo "kprobes-selftest: expect sleeping function called" >/dev/kmsg ;;
esac
load kp_clients
ktap_set_plan 6
check "fail_function at an entry of ftrace's" some_calls kp_cl_failable failable
check "fail_function at another" some_calls kp_cl_failable_plain failable_plain
if on_base_kernel; then
	ktap_print_msg "in Linux 6.12.117 the list of probes becomes a circle that never ends"
	ktap_test_skip "fail_function with other probes"
else
	check "fail_function with other probes" others_too
fi
check "should_failslab() fails for one process" failslab
check "what is refused" refused
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
