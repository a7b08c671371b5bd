#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests jump optimisation: what hits of an optimised probe do, where a jump is safe, and what
# debugfs and the sysctl report. Modules with optimised probes are loaded and unloaded, too.

. "$(dirname "$0")/functions.sh"

PREEMPT=$DEBUGFS/sched/preempt
RCU_NORMAL=/sys/kernel/rcu_normal
RCU_EXPEDITED=/sys/kernel/rcu_expedited

has_jump() {
	ctl_get "$1" text | grep -q ^e9
}

is_optimized() {
	has_jump "$1" || failed "probe $1 has no jump: $(ctl_get "$1" text)"
}

is_not_optimized() {
	! has_jump "$1" || failed "probe $1 has a jump"
}

# mark_is_true ID...: checks that [OPTIMIZED] is shown if and only if the text has a jump
mark_is_true() {
	for id; do
		if has_jump "$id"; then
			listed_as "$id" OPTIMIZED
		else
			not_listed_as "$id" OPTIMIZED
		fi
	done
}

by_ftrace() {
	list_line "$1" | grep -q -F '[FTRACE]'
}

jumps() {
	jumps=0
	for id; do
		! has_jump "$id" || jumps=$((jumps + 1))
	done
	echo $jumps
}

marks_after_switching() {
	optimization 1
	mark_is_true 0 1 2 3 4 5 6 7
	on=$(jumps 0 1 2 3 4 5 6)
	ktap_print_msg "$on of 7 probes optimised"
	by_ftrace 0 || at_least "jumps" "$on" 4
	is_not_optimized 7
	equal "marks" "$(grep -c -F '[OPTIMIZED]' $KPROBES/list)" "$on"
	optimization 0
	equal "jumps when off" "$(jumps 0 1 2 3 4 5 6 7)" 0
	equal "marks when off" "$(grep -c -F '[OPTIMIZED]' $KPROBES/list)" 0
	optimization 1
	equal "jumps when on again" "$(jumps 0 1 2 3 4 5 6)" "$on"
	mark_is_true 0 1 2 3 4 5 6 7
}

target_is_marked() {
	grep -q '  kp_tgt_plain+.*\[OPTIMIZED\]' $KPROBES/list
}

# list_waits [nonblocking]: checks that opening the list waits until probes are optimised, unless
# O_NONBLOCK is set. Without a wait, the list cannot show [OPTIMIZED] yet, since the optimiser first
# waits for a grace period. It is enough if one of ten rounds shows the difference: the wait may
# time out, and a jump may be written early.
list_waits() {
	marked=0
	unmarked=0
	for round in 1 2 3 4 5 6 7 8 9 10; do
		ctl add 9 kp_tgt_plain
		if [ $# -gt 0 ]; then
			"$READ_AS" -n $KPROBES/list >"$TMP/at_once" ||
				failed "list cannot be read at once"
			must grep -q '  kp_tgt_plain+' "$TMP/at_once"
			grep -F '[OPTIMIZED]' "$TMP/at_once" | grep -q '  kp_tgt_plain+' ||
				unmarked=$((unmarked + 1))
		fi
		! target_is_marked || marked=$((marked + 1))
		wait_until target_is_marked
		ctl del 9
	done
	ktap_print_msg "of $round rounds: after a wait marked in $marked, before in $unmarked not"
	at_least "rounds with a mark after waiting" $marked 1
	[ $# -eq 0 ] || at_least "rounds without a mark at once" $unmarked 1
}

hits_whatever_it_is() {
	for state in 0 1 0 1; do
		optimization $state
		before=$(ctl_get 0 hits)
		posts=$(ctl_get 1 posts)
		after_calls 100 hits_are 0 $((before + 100))
		equal "post handler calls" "$(ctl_get 1 posts)" $((posts + 100))
	done
	equal "missed" "$(ctl_get 0 nmissed)" 0
}

jumps_are_back() {
	[ "$(jumps 0 1 2 3 4 5 6)" -eq "$on" ]
}

# Writing 0 to kprobes/enabled restores the text; writing 1 is enough to bring the jumps back.
all_switched() {
	optimization 1
	on=$(jumps 0 1 2 3 4 5 6)
	put $KPROBES/enabled 0
	grep -c -E ' (cc|e9)[0-9a-f]{8}$' $DEBUGFS/kp_ctl/probes >"$TMP/left" || :
	# None of the functions itself begins with the opcode of an int3 or a jump.
	equal "patched probes" "$(cat "$TMP/left")" 0
	before=$(ctl_get 0 hits)
	call_target 10
	off=$(ctl_get 0 hits)
	equal "marks" "$(grep -c -F '[OPTIMIZED]' $KPROBES/list)" 0
	put $KPROBES/enabled 1
	equal "hits while off" "$off" "$before"
	wait_until jumps_are_back
	mark_is_true 0 1 2 3 4 5 6 7
}

# Unregister the probe that prevents the jump while kprobes/enabled is 0.
blocker_gone_while_off() {
	ctl add 10 kp_tgt_plain
	optimization 1
	is_optimized 10
	ctl add 11 kp_tgt_plain+3
	is_not_optimized 10
	optimization 1
	is_not_optimized 10
	mark_is_true 10 11
	put $KPROBES/enabled 0
	ctl del 11
	put $KPROBES/enabled 1
	optimization 1
	is_optimized 10
	mark_is_true 10
	ctl del 10
}

sysctl_takes() {
	put $OPTIMIZATION "$1"
	equal "sysctl" "$(cat $OPTIMIZATION)" "$1"
}

sysctl_refuses() {
	before=$(cat $OPTIMIZATION)
	put_refused $OPTIMIZATION "$1"
	equal "sysctl" "$(cat $OPTIMIZATION)" "$before"
}

sysctl_is_checked() {
	sysctl_takes 0 && sysctl_refuses 2 && sysctl_refuses -1 && sysctl_refuses x &&
		sysctl_takes 1 && sysctl_refuses 256 && sysctl_takes 1
}

# being_written PID: is the task writing to the sysctl, and does it wait there for the optimiser?
being_written() {
	grep -q optimizer_sysctl_handler "/proc/$1/stack" 2>/dev/null
}

# written_or_ended PID: does the task wait in its write to the sysctl, or has it ended?
written_or_ended() {
	being_written "$1" || [ ! -e "/proc/$1" ] || has_state "$1" Z
}

# is_busy PID: has the task been executing in the kernel for 200 ms?
is_busy() {
	awk '{ exit !($3 == "R" && $15 >= 20) }' "/proc/$1/stat"
}

has_state() {
	grep -q "^State:	$2" "/proc/$1/status" 2>/dev/null
}

is_frozen() {
	grep -q -x 'frozen 1' "$cgroups/kp_frozen/cgroup.events"
}

# stop_and_go PID, freeze_and_thaw PID: stop a task for some time. For the task, this is the same as
# being frozen while the machine is suspended.
stop_and_go() {
	must kill -STOP "$1"
	wait_until has_state "$1" T
	must kill -CONT "$1"
}

freeze_and_thaw() {
	put "$cgroups/kp_frozen/cgroup.procs" "$1"
	put "$cgroups/kp_frozen/cgroup.freeze" 1
	wait_until is_frozen
	put "$cgroups/kp_frozen/cgroup.freeze" 0
}

# goes_on COMMAND: writes to the sysctl, which waits for a busy task. In the meantime, COMMAND stops
# the writer for some time. Checks that the write goes on waiting after that, and returns when the
# jump is there. The writer is awk, since it does not repeat a write that fails.
goes_on() {
	optimization 0
	ctl add 9 kp_tgt_plain
	echo 1 >/sys/module/kp_opt/parameters/busy 2>/dev/null &
	busy=$!
	wait_until is_busy $busy
	awk -v to=$OPTIMIZATION 'BEGIN { print 1 >to; exit close(to) != 0 }' &
	writer=$!
	wait_until being_written $writer
	"$1" $writer
	wait_until written_or_ended $writer
	must is_busy $busy
	must kill $busy
	rc=0
	wait $writer || rc=$?
	equal "exit status of the writer after $1" $rc 0
	is_optimized 9
	wait $busy 2>/dev/null || :
	ctl del 9
}

write_goes_on() {
	uname -v | grep -q PREEMPT || skip_case "no task is waited for long in this kernel" ||
		return 0
	goes_on stop_and_go
	cgroups=$TMP/cgroups
	mkdir "$cgroups"
	if mount -t cgroup2 none "$cgroups" 2>/dev/null; then
		mkdir "$cgroups/kp_frozen"
		goes_on freeze_and_thaw
		ktap_print_msg "after a stop, and after a freeze of its cgroup"
		rmdir "$cgroups/kp_frozen"
		umount "$cgroups"
	fi
}

# The states in kprobes/optimizer must agree with the text.
reasons_are_shown() {
	optimization 1
	for id in 0 1 2 3 4 5 6 7; do
		! by_ftrace $id || continue
		line=$(grep "^$(ctl_get $id address) " $KPROBES/optimizer) || line=none
		case $line in
		*"  optimized") is_optimized $id ;;
		*"  refused: "?* | *"  failed: "?*) is_not_optimized $id ;;
		*) [ $id -eq 7 ] || failed "probe $id in kprobes/optimizer: $line" ;;
		esac
	done
}

# explained LOCATION KEY: prints what kprobes/explain says
explained() {
	{
		echo "$1" >&3
		sed -n "s/^$2: //p" <&3
	} 3<>$KPROBES/explain
}

flag_is_shown() {
	reason="a probe has the flag KPROBE_FLAG_NO_JUMP"
	equal "jump before" "$(explained kp_tgt_plain jump)" yes
	ctl add 52 kp_tgt_plain nojump
	optimization 1
	is_not_optimized 52
	equal "state" "$(sed -n "s/^$(ctl_get 52 address) .*  //p" $KPROBES/optimizer)" \
		"failed: $reason"
	equal "jump" "$(explained kp_tgt_plain jump)" no
	equal "reason" "$(explained kp_tgt_plain jump-reason)" "$reason"
	ctl del 52
	equal "jump afterwards" "$(explained kp_tgt_plain jump)" yes
}

#
# Modules that are unloaded and loaded
#

reload() {
	unload "${LOADED%% *}"
	load "$1"
}

# hits_of_new ID: adds the probes ID and ID + 1, and checks the counts of hits, first those by
# breakpoints, then those by jumps
hits_of_new() {
	ctl add "$1" kp_tgt_function
	ctl add $(($1 + 1)) kp_tgt_caller post
	for hits in 300 600; do
		after_calls 300 hits_are "$1" $hits $(($1 + 1)) $hits
		optimization 1
	done
	mark_is_true "$1"
	equal "post handler calls" "$(ctl_get $(($1 + 1)) posts)" 600
}

# Unload the module while its probes are in each of several states, and load another module, perhaps
# at the same addresses. Some probes stay registered although their module is gone.
modules_by_turns() {
	first=20
	for how in jump queued undone off queued jump; do
		ctl add $first kp_tgt_function
		ctl add $((first + 1)) kp_tgt_caller post
		# After 30 ms, the optimiser's worker has usually begun with these probes.
		sleep 0.03
		[ $how = queued ] || optimization 1
		case $how in
		jump)
			by_ftrace $first || equal "jumps" "$(jumps $first $((first + 1)))" 2
			;;
		undone)
			ctl_del $first $((first + 1))
			;;
		off)
			ctl disable $first
			;;
		esac
		if [ $((first % 8)) -eq 0 ]; then
			reload kp_target
		else
			reload kp_target2
		fi
		if [ $how != undone ]; then
			listed_as $first GONE
			not_listed_as $first OPTIMIZED
		fi
		hits_of_new $((first + 2))
		! failures_shown || failed "after a module was unloaded with probes: $how"
		ctl_del $((first + 2)) $((first + 3))
		if [ $((first % 3)) -ne 0 ]; then
			ctl_del $first $((first + 1))
		fi
		first=$((first + 4))
	done
	# shellcheck disable=SC2046 # words
	ctl_del $(seq 20 44)
}

# syncs_of NUMBER WHAT COMMAND...: checks that the command synchronises all CPUs NUMBER times
syncs_of() {
	wanted=$1
	what=$2
	shift 2
	before=$(ctl_get 60 hits)
	"$@"
	equal "synchronisations that $what" $(($(ctl_get 60 hits) - before)) "$wanted"
}

# In an emulator, a missing synchronisation between the steps of patching has no effect. So count
# the synchronisations.
cpus_are_synchronised() {
	optimization 0
	ctl_add "60 text_poke_sync" "61 kp_tgt_plain"
	ctl del 61
	syncs_of 1 "put a breakpoint in place" ctl add 61 kp_tgt_plain
	syncs_of 1 "remove one" ctl del 61
	ctl add 61 kp_tgt_plain
	optimization 1
	is_optimized 61
	syncs_of 2 "replace a jump by a breakpoint" optimization 0
	ctl_del 61 60
	optimization 1
}

# Register probes in a module's init function, whose memory is freed.
init_text() {
	reload kp_target
	unload kp_target
	ctl when kp_target 50 kp_tgt_init_function post
	ctl when kp_target 51 kp_tgt_function
	load kp_target
	hits_are 50 3
	listed_as 50 GONE
	optimization 1
	not_listed_as 50 OPTIMIZED
	after_calls 10 hits_are 51 10
	mark_is_true 51
	ctl_del 50 51
}

setup_optimized
optimization 1
suites="kprobes_opt_hits kprobes_opt_diverts kprobes_opt_keeps kprobes_opt_block \
	kprobes_opt_safety kprobes_opt_sleep kprobes_opt_preempt"
if [ -w $PREEMPT ]; then
	keep $PREEMPT "$(sed 's/.*(\(.*\)).*/\1/' $PREEMPT)"
	put $PREEMPT full
fi
# With PREEMPT_RT, grace periods are not expedited, and end only after threads of RCU have run. The
# suite kprobes_opt_preempt would keep such a thread from running while it waits for a grace period,
# so use expedited ones.
normal=$(cat $RCU_NORMAL 2>/dev/null) || :
if [ "$normal" = 1 ]; then
	change $RCU_NORMAL 0
	change $RCU_EXPEDITED 1
fi
# shellcheck disable=SC2086 # words
load_suites kp_opt -- $suites
if [ "$normal" = 1 ]; then
	put_back $RCU_EXPEDITED
	put_back $RCU_NORMAL
fi
# shellcheck disable=SC2086
report_planned 18 $suites
check "nothing left in list" list_is_empty
load kp_ctl
load kp_target
check "a write to the sysctl goes on after a stop" write_goes_on
unload kp_opt
[ ! -w $PREEMPT ] || put_back $PREEMPT
check "the list waits for jumps that are about to come" list_waits
check_if "[ -x $READ_AS ]" "the list does not wait if it is opened with O_NONBLOCK" \
	list_waits nonblocking
check "probes registered" ctl_add "0 kp_tgt_function" "1 kp_tgt_caller post" "2 kernel_clone" \
	"3 do_exit" "4 schedule_timeout post" "5 vsnprintf" "6 do_sys_openat2" "7 vfs_read disabled"
check "[OPTIMIZED] is shown where there is a jump" marks_after_switching
check "hits are counted either way" hits_whatever_it_is
check "kprobes/enabled takes jumps away and brings them back" all_switched
check "one that was in the way goes while all are off" blocker_gone_while_off
check "the sysctl takes 0 and 1" sysctl_is_checked
check_if "[ -e $KPROBES/optimizer ]" "reasons are shown" reasons_are_shown
check "probes unregistered" ctl_del 0 1 2 3 4 5 6 7
check_if "[ -e $KPROBES/explain ]" "a flag that asks for no jump is shown as the reason" \
	flag_is_shown
check "modules go with probes optimised, queued, and not any more" modules_by_turns
check "init text goes" init_text
check "all CPUs are synchronised when text changes" cpus_are_synchronised
unload "${LOADED%% *}"
unload kp_ctl
check "list is empty" list_is_empty
check "the sysctl is 1" equal "sysctl" "$(cat $OPTIMIZATION)" 1
ktap_finished
