#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests return probes on functions in which tasks sleep, are interrupted, execute another program or
# end, while probes are unregistered and modules are unloaded.

. "$(dirname "$0")/functions.sh"

home=$DEBUGFS/kp_ret_sleepers
guest=/sys/module/kp_ret_guest/parameters
pids=

# guest_is FIELD WANTED: checks a count of kp_ret_guest, which has the return probe
guest_is() {
	equal "$1 of the return probe" "$(cat $guest/"$1")" "$2"
}

asleep_are() {
	[ "$(cat $home/asleep)" -eq "$1" ]
}

# more_sleepers N: lets N processes enter the function, and adds their ids to $pids
more_sleepers() {
	for _ in $(seq "$1"); do
		sh -c "echo x >$home/sleep" 2>/dev/null &
		pids="$pids $!"
	done
}

# put_to_sleep N: lets N processes sleep in the function, and sets $pids
put_to_sleep() {
	pids=
	more_sleepers "$1"
	wait_until asleep_are "$1"
}

# wake: wakes all processes that sleep in the function; each must end without an error
wake() {
	put $home/wake x
	for pid in $pids; do
		wait "$pid" || failed "process $pid ended with $?"
	done
	equal "sleepers" "$(cat $home/asleep)" 0
}

all_return() {
	load kp_ret_guest maxactive=$many && put_to_sleep $many || return 1
	grep -q ' r  *kp_home_sleep+' $KPROBES/list ||
		failed "not in the list: $(cat $KPROBES/list)"
	guest_is entries $many
	guest_is returns 0
	wake
	guest_is returns $many
	guest_is nmissed 0
	guest_is wrong 0
	unload kp_ret_guest
}

# kp_ret_guest, which has the return probe, is unloaded while all tasks are in the function. They
# wake only after that.
unloaded_meanwhile() {
	for round in 1 2 3; do
		load kp_ret_guest maxactive=$((round % 2 * 50)) && put_to_sleep $many || return 1
		guest_is entries $many && unload kp_ret_guest || return 1
		# kp_ctl may be loaded where the text of the unloaded module was.
		load kp_ctl && wake || return 1
		unload kp_ctl
	done
}

# Unload kp_ret_guest while all tasks are in the function, then load it again, so that it registers
# another return probe before the tasks wake. That probe must count only the ten calls that begin
# after its registration.
loaded_again_meanwhile() {
	load kp_ret_guest && put_to_sleep 10 && unload kp_ret_guest || return 1
	load kp_ret_guest || return 1
	more_sleepers 10
	wait_until asleep_are 20 && guest_is entries 10 || return 1
	wake && guest_is returns 10 && guest_is wrong 0 && guest_is nmissed 0 || return 1
	unload kp_ret_guest
}

entries_reach() {
	[ "$(cat $guest/entries)" -ge "$1" ]
}

# ended_by SIGNAL: sends the signal to $pids, and checks that it has ended all of them, although
# they were in a function that returns through the probe's trampoline
ended_by() {
	# shellcheck disable=SC2086 # words
	kill "-$1" $pids || failed "not all of them can be sent SIG$1"
	for pid in $pids; do
		status=0
		wait "$pid" 2>/dev/null || status=$?
		at_least "status of process $pid" $status 129
	done
}

# The tasks sleep in a function of the kernel proper, for longer than any test takes.
unloaded_while_in_kernel() {
	load kp_ret_guest symbol=hrtimer_nanosleep || return 1
	pids=
	for _ in $(seq $many); do
		sleep 10000 &
		pids="$pids $!"
	done
	wait_until entries_reach $many
	unload kp_ret_guest
	ended_by TERM
}

# The function's module is unloaded while no task is in the function. The return probe stays
# registered.
function_goes() {
	load kp_ret_guest && put_to_sleep 5 && wake || return 1
	unload kp_ret_sleepers
	grep -q 'GONE' $KPROBES/list || failed "not gone: $(cat $KPROBES/list)"
	load kp_ret_sleepers && put_to_sleep 5 && wake && guest_is returns 5 || return 1
	unload kp_ret_guest
	load kp_ret_guest && put_to_sleep 5 && wake && guest_is returns 5 || return 1
	unload kp_ret_guest
}

# signalled SIGNAL: checks that each call of the processes returns once, though the signal ends them
signalled() {
	load kp_ret_guest maxactive=10 || return 1
	for round in 1 2 3 4 5; do
		put_to_sleep 10 && guest_is entries $((round * 10)) || return 1
		ended_by "$1"
		wait_until asleep_are 0 && guest_is returns $((round * 10)) || return 1
	done
	guest_is nmissed 0 && guest_is wrong 0 || return 1
	unload kp_ret_guest
}

# A task enters these functions in one program, and returns from them in another one.
executed() {
	for function in ${SYSCALL}execve bprm_execve begin_new_exec; do
		grep -q " [tT] $function\$" /proc/kallsyms || continue
		load kp_ret_guest symbol="$function" maxactive=20 || return 1
		processes 50
		entries=$(cat $guest/entries)
		ktap_print_msg "$function: $entries entries"
		at_least "entries" "$entries" 50
		# There may be more returns than entries were read before: the processes that read
		# the counts also enter the functions, and return from them.
		at_least "returns" "$(cat $guest/returns)" "$entries"
		# An exec that fails returns as well, and must not count as missed.
		must_fail sh -c 'exec /nowhere' 2>/dev/null
		guest_is nmissed 0
		unload kp_ret_guest
	done
}

all_taken() {
	awk '{ sum += $4 } END { print sum + 0 }' $KPROBES/pools
}

# taken_at_most N: are at most N instances taken?
taken_at_most() {
	[ "$(all_taken)" -le "$1" ]
}

# Probe functions that ending tasks enter and never leave. There are more such calls than instances,
# and none may be missed: the instances of a task must be free again when the CPU has switched away
# from it for the last time; with rethook, when the task is freed, a grace period later.
ended() {
	limits=100
	[ ! -e $KPROBES/pools ] || limits="40 0"
	for limit in $limits; do
		for function in do_group_exit do_exit; do
			load kp_ret_guest symbol=$function maxactive="$limit" || return 1
			[ ! -e $KPROBES/pools ] || before=$(all_taken)
			for _ in $(seq 10); do
				processes 30
				[ -e $KPROBES/pools ] || put $guest/barrier 1
			done
			entries=$(cat $guest/entries)
			ktap_print_msg "$function, maxactive $limit: $entries entries"
			at_least "entries" "$entries" 300
			guest_is returns 0
			guest_is nmissed 0
			[ ! -e $KPROBES/pools ] || wait_until taken_at_most "$before"
			unload kp_ret_guest
		done
	done
}

# With only two instances, let 200 threads end one after another. Each has been switched away from
# before the next begins, so its instance must be free and no call may be missed.
ended_one_by_one() {
	load kp_ret_guest symbol=do_exit maxactive=2 && put $guest/ended 200 || return 1
	at_least "entries" "$(cat $guest/entries)" 200
	guest_is nmissed 0
	unload kp_ret_guest
}

# The last CPU that can be taken offline
hotplugged() {
	for cpu in /sys/devices/system/cpu/cpu*/online; do :; done
	echo "$cpu"
}

# Probe the function in which an idle task takes its CPU down, and from which it never returns. When
# the CPU comes online again, the idle task starts from the beginning, and its instances must be
# freed.
cpu_offline() {
	[ -e "$(hotplugged)" ] || skip_case "no CPU can be taken offline" || return 0
	for maxactive in 0 2; do
		load kp_ret_guest symbol=arch_cpu_idle_dead maxactive=$maxactive || return 1
		before=$(all_taken)
		for round in 1 2 3 4 5; do
			put "$(hotplugged)" 0
			put "$(hotplugged)" 1
			guest_is entries $round
		done
		ktap_print_msg "maxactive $maxactive: $(all_taken) taken, $before before," \
			"nmissed $(cat $guest/nmissed)"
		guest_is nmissed 0
		equal "instances taken" "$(all_taken)" "$before"
		unload kp_ret_guest
	done
}

# Disable all probes, and enable them again, while calls are in flight.
switched_meanwhile() {
	load kp_ret_guest && put_to_sleep 10 || return 1
	put $KPROBES/enabled 0
	more_sleepers 5
	wait_until asleep_are 15
	guest_is entries 10
	wake
	put $KPROBES/enabled 1
	returns=$(cat $guest/returns)
	at_most "returns" "$returns" 10
	put_to_sleep 5
	guest_is entries 15
	put_in $KPROBES enabled=0 enabled=1
	wake
	guest_is returns $((returns + 5))
	guest_is nmissed 0
	unload kp_ret_guest
}

# stacks_are_same: checks that the stacks saved with a probe, and after it was unregistered, are the
# same as the stack saved before
stacks_are_same() {
	for which in with after; do
		cmp -s "$TMP/without" "$TMP/$which" ||
			failed "$(sed "s/^/$which: /" "$TMP/$which")" "
$(sed 's/^/without: /' "$TMP/without")"
	done
}

# save_stack NAME: saves the stack of the only sleeper
save_stack() {
	cat "/proc/${pids# }/stack" >"$TMP/$1"
}

# /proc must show the same stack of a task that sleeps in the function without a return probe, with
# one, and after that was unregistered.
sleeping_stack() {
	put_to_sleep 1 && save_stack without && wake || return 1
	grep -q kp_home_outer "$TMP/without" || failed "no stacks to be read"
	load kp_ret_guest && put_to_sleep 1 && guest_is entries 1 && save_stack with || return 1
	unload kp_ret_guest
	save_stack after && wake || return 1
	stacks_are_same
}

# probe_callers: registers return probes on the function and on its callers, two of them on the same
# caller. One has a pool of its own, the others use the shared pool.
probe_callers() {
	load kp_ret_guest maxactive=5 && load kp_ctl || return 1
	ctl add 0 kp_home_inner return
	ctl add 1 kp_home_outer return
	ctl add 2 kp_home_inner return
}

unprobe_callers() {
	unload kp_ctl kp_ret_guest
}

# show_stack NAME: lets the kernel log the stack of the only sleeper, and saves the frames that it
# logs as reliable. A trampoline's address must not be shown as the end of the function before it.
show_stack() {
	log_mark
	put $home/show "${pids# }"
	log_since >"$TMP/log"
	grep -v ' ? ' "$TMP/log" | grep '+0x.*/0x' >"$TMP/$1"
	! grep -q ' kprobe.*+0x\([0-9a-f]*\)/0x\1$' "$TMP/log" ||
		failed "$1: a frame is named by what ends there: $(grep kprobe "$TMP/log")"
}

# hints_are WHICH N: checks that the log shows the trampoline, as a guess, in N frames: those whose
# return address was replaced
hints_are() {
	equal "$1: trampolines shown as a guess" \
		"$(grep -c '^ ? __kretprobe_trampoline+0x0/0x' "$TMP/log")" "$2"
}

# The kernel must log the same frames of a sleeping task without and with return probes on the
# function and on its callers.
sleeping_task_shown() {
	put_to_sleep 1 && show_stack without && wake || return 1
	grep -q ' kp_home_outer+' "$TMP/without" || failed "no stack in the log: $(cat "$TMP/log")"
	hints_are without 0
	probe_callers && put_to_sleep 1 && guest_is entries 1 && show_stack with || return 1
	hints_are with 3
	unprobe_callers
	show_stack after && hints_are after 3
	wake
	stacks_are_same
}

# callers_in NAME: checks that a saved stack has the function and its callers. If an interrupt has
# preempted the task, the function itself is shown as RIP.
callers_in() {
	names=$(sed -n 's/.*[ :]kp_home_\(sleep\|inner\|outer\)+.*/\1/p' "$TMP/$1")
	equal "$1" "$(echo "$names" | paste -sd' ')" "sleep inner outer"
}

# The stack of a task that is preempted in the function must have the function and its callers. The
# reader of the stack runs on the only CPU that the task may use, so the task cannot go on.
preempted_stack() {
	probe_callers || return 1
	taskset 1 sh -c "echo x >$home/spin" 2>/dev/null &
	pids=" $!"
	wait_until asleep_are 1
	guest_is entries 1
	must taskset 1 cat "/proc/${pids# }/stack" >"$TMP/read"
	log_mark
	must taskset 1 sh -c "echo ${pids# } >$home/show"
	log_since | grep -v ' ? ' >"$TMP/shown"
	unprobe_callers
	wake
	callers_in read
	callers_in shown
}

# test_case DESCRIPTION COMMAND...: like check, but also cleans up after a case that has ended early
test_case() {
	check "$@"
	[ ! -w $home/wake ] || echo x >$home/wake
	echo 1 >$KPROBES/enabled
	for module in kp_ret_guest kp_ctl; do
		[ ! -d /sys/module/$module ] || unload $module
	done
	[ -d $home ] || load kp_ret_sleepers
	comes_true 30 asleep_are 0 || :
}

restore_switch() {
	restored=$?
	echo 1 >$KPROBES/enabled
	[ ! -w $home/wake ] || echo x >$home/wake
	return $restored
}

setup
# shellcheck disable=SC2154 # it is set by the function that the trap calls
trap 'restore_switch; at_exit' EXIT
many=20
# Without pools, a return probe has 8 instances for each CPU, unless maxactive is set.
[ -e $KPROBES/pools ] || many=12
ktap_set_plan 18
load kp_ret_sleepers
test_case "processes that slept in the function return" all_return
test_case "a return probe's module is unloaded while they sleep" unloaded_meanwhile
test_case "and another is loaded before they wake" loaded_again_meanwhile
test_case "it goes while they sleep in the kernel" unloaded_while_in_kernel
test_case "the function's module goes" function_goes
test_case "sleepers are interrupted" signalled USR1
test_case "sleepers are killed" signalled KILL
test_case "programs are executed" executed
test_case "processes end" ended
if [ -e $KPROBES/pools ]; then
	test_case "threads end one by one" ended_one_by_one
	test_case "a CPU goes offline, and comes back" cpu_offline
else
	ktap_test_skip "threads end one by one: instances are rethook's here"
	ktap_test_skip "a CPU goes offline, and comes back: instances are rethook's here"
fi
test_case "kprobes/enabled switched while they sleep" switched_meanwhile
case $(uname -m) in
riscv64 | ppc64le | arm*)
	ktap_test_skip "/proc/PID/stack of a sleeper: the unwinder does not look for return probes"
	;;
*) test_case "/proc/PID/stack of a sleeper" sleeping_stack ;;
esac
if is_x86; then
	test_case "a sleeper in the kernel's log" sleeping_task_shown
	test_case "a preempted task in /proc/PID/stack and in the log" preempted_stack
else
	ktap_test_skip "a sleeper in the kernel's log: return probes are not looked for"
	ktap_test_skip "a preempted task: return probes are not looked for"
fi
check "list is empty" list_is_empty
unload kp_ret_sleepers
check "list is empty after all modules went" list_is_empty
check "kprobes/enabled is as it was" equal "kprobes/enabled" "$(cat $KPROBES/enabled)" 1
ktap_finished
