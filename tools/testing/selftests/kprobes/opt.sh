#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Jump optimisation: what an optimised probe does, where a jump is possible, what debugfs and the
# sysctl report, and modules that are loaded and unloaded meanwhile.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

PREEMPT=$DEBUGFS/sched/preempt
PREEMPT_WAS=

# Select full preemption, if the kernel lets us.
preempt_full() {
	[ -w $PREEMPT ] || return 0
	PREEMPT_WAS=$(sed 's/.*(\(.*\)).*/\1/' $PREEMPT)
	echo full >$PREEMPT
}

# shellcheck disable=SC2317 # called by the trap
preempt_restore() {
	restored=$?
	[ -z "$PREEMPT_WAS" ] || echo "$PREEMPT_WAS" >$PREEMPT
	return $restored
}

# has_jump ID: does the text of that probe have a jump?
has_jump() {
	case $(ctl_get "$1" text) in
	e9*) return 0 ;;
	esac
	return 1
}

# is_optimized ID...; is_not_optimized ID...: each of them
is_optimized() {
	for id; do
		has_jump "$id" || failed "probe $id has no jump: $(ctl_get "$id" text)"
	done
}

is_not_optimized() {
	for id; do
		! has_jump "$id" || failed "probe $id has a jump"
	done
}

# mark_is_true ID...: [OPTIMIZED] is shown if and only if the text has a jump
mark_is_true() {
	for id; do
		if has_jump "$id"; then
			listed_as "$id" OPTIMIZED
		else
			not_listed_as "$id" OPTIMIZED
		fi
	done
}

# by_ftrace ID: is it ftrace-based, so that it needs no jump?
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

# Functions of the kernel that are nearly always optimised, and the module's
add_probes() {
	ctl add 0 kp_tgt_function && ctl add 1 kp_tgt_caller post && ctl add 2 kernel_clone &&
		ctl add 3 do_exit && ctl add 4 schedule_timeout post && ctl add 5 vsnprintf &&
		ctl add 6 do_sys_openat2 && ctl add 7 vfs_read disabled
}

del_probes() {
	for id in 0 1 2 3 4 5 6 7; do
		ctl del $id || return 1
	done
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

# A probe is not optimised as soon as it is registered: the worker has a delay and waits for a
# grace period. So a list that does not wait never has the mark at once. One that waits has it,
# unless the machine is so busy that the list gives up: the mark in one of the rounds is enough.
list_waits_for_jumps() {
	at_once=0
	for round in 1 2 3 4 5 6 7 8 9 10; do
		ctl add 9 kp_tgt_plain
		! target_is_marked || at_once=$((at_once + 1))
		wait_until target_is_marked
		ctl del 9
	done
	ktap_print_msg "marked at once in $at_once of $round rounds"
	at_least "rounds with the mark at once" $at_once 1
}

hits_whatever_it_is() {
	for state in 0 1 0 1; do
		optimization $state
		before=$(ctl_get 0 hits)
		posts=$(ctl_get 1 posts)
		call_target 100
		hits_are 0 $((before + 100))
		equal "post handler calls" "$(ctl_get 1 posts)" $((posts + 100))
	done
	equal "missed" "$(ctl_get 0 nmissed)" 0
}

jumps_are_back() {
	[ "$(jumps 0 1 2 3 4 5 6)" -eq "$on" ]
}

# Off for all of them: the text is what it was. On: jumps again, after a while.
all_switched() {
	optimization 1
	on=$(jumps 0 1 2 3 4 5 6)
	put $KPROBES/enabled 0
	grep -c -E ' (cc|e9)[0-9a-f]{8}$' $DEBUGFS/kp_ctl/probes >"$TMP/left" || :
	# The original text may begin with such a byte by chance.
	equal "patched probes" "$(cat "$TMP/left")" 0
	before=$(ctl_get 0 hits)
	call_target 10
	off=$(ctl_get 0 hits)
	equal "marks" "$(grep -c -F '[OPTIMIZED]' $KPROBES/list)" 0
	put $KPROBES/enabled 1
	equal "hits while off" "$off" "$before"
	# The write has queued them. One to the sysctl would do that, too.
	wait_until jumps_are_back
	mark_is_true 0 1 2 3 4 5 6 7
}

# A probe that prevents another one's jump, unregistered while optimisation is off
blocker_gone_while_off() {
	# It is on the second instruction, which the jump overlaps.
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

# sysctl_takes WORD, sysctl_refuses WORD
sysctl_takes() {
	put $OPTIMIZATION "$1"
	equal "sysctl" "$(cat $OPTIMIZATION)" "$1"
}

sysctl_refuses() {
	before=$(cat $OPTIMIZATION)
	put_refused $OPTIMIZATION "$1"
	equal "sysctl" "$(cat $OPTIMIZATION)" "$before"
}

# Right after the registration there is no jump; a reader that waits sees one.
nonblocking_does_not_wait() {
	unmarked=10
	marked=0
	for round in 1 2 3 4 5 6 7 8 9 10; do
		ctl add 9 kp_tgt_plain
		"$READ_AS" -n $KPROBES/list >"$TMP/at_once" || failed "list cannot be read at once"
		! target_is_marked || marked=$((marked + 1))
		must grep -q '  kp_tgt_plain+' "$TMP/at_once"
		! grep -F '[OPTIMIZED]' "$TMP/at_once" | grep -q '  kp_tgt_plain+' ||
			unmarked=$((unmarked - 1))
		wait_until target_is_marked
		ctl del 9
	done
	ktap_print_msg "of $round rounds: not marked yet in $unmarked, after a wait in $marked"
	at_least "rounds without a mark at once" $unmarked 1
	at_least "rounds with a mark after waiting" $marked 1
}

sysctl_is_checked() {
	sysctl_takes 0 && sysctl_refuses 2 && sysctl_refuses -1 && sysctl_refuses x &&
		sysctl_takes 1 && sysctl_refuses 256 && sysctl_takes 1
}

# Each probepoint has a line in kprobes/optimizer, with a state that agrees with the probed text,
# and with the reason if it cannot be optimised.
reasons_are_shown() {
	optimization 1
	for id in 0 1 2 3 4 5 6; do
		! by_ftrace $id || continue
		line=$(grep "^$(ctl_get $id address) " $KPROBES/optimizer) || line=none
		case $line in
		*"  optimized") is_optimized $id ;;
		*"  refused: "?* | *"  failed: "?*) is_not_optimized $id ;;
		*) failed "probe $id in kprobes/optimizer: $line" ;;
		esac
	done
	grep "^$(ctl_get 7 address) " $KPROBES/optimizer | grep -q -v optimized
}

#
# Modules.
#

reload() {
	rmmod "${LOADED%% *}" || return 1
	LOADED=kp_ctl
	insmod "$MODULE_DIR/$1.ko" || return 1
	LOADED="$1 kp_ctl"
}

# hits_of_new ID: probes in the module that was just loaded are hit by breakpoint, then by jump
hits_of_new() {
	ctl add "$1" kp_tgt_function && ctl add $(($1 + 1)) kp_tgt_caller post || return 1
	call_target 300 && hits_are "$1" 300 && hits_are $(($1 + 1)) 300 || return 1
	optimization 1
	call_target 300 && hits_are "$1" 600 && hits_are $(($1 + 1)) 600 || return 1
	mark_is_true "$1"
	equal "post handler calls" "$(ctl_get $(($1 + 1)) posts)" 600
}

# The module is unloaded while its probes are optimised, are about to be, or no longer are; other
# code is loaded in its place.
modules_by_turns() {
	first=20
	for how in jump queued undone off queued jump; do
		ctl add $first kp_tgt_function &&
			ctl add $((first + 1)) kp_tgt_caller post || return 1
		case $how in
		jump)
			optimization 1
			by_ftrace $first ||
				equal "jumps" "$(jumps $first $((first + 1)))" 2 || return 1
			;;
		queued)
			# Usually the worker is at work on them then.
			sleep 0.03
			;;
		undone)
			optimization 1
			ctl del $first && ctl del $((first + 1)) || return 1
			;;
		off)
			optimization 1
			ctl disable $first || return 1
			;;
		esac
		if [ $((first % 8)) -eq 0 ]; then
			reload kp_target || return 1
		else
			reload kp_target2 || return 1
		fi
		if [ $how != undone ]; then
			listed_as $first GONE && not_listed_as $first OPTIMIZED || return 1
		fi
		hits_of_new $((first + 2)) || {
			ktap_print_msg "after a module left with probes: $how"
			return 1
		}
		ctl del $((first + 2)) && ctl del $((first + 3)) || return 1
		# Probepoints of the unloaded module stay for a while, or are freed.
		[ $((first % 3)) -eq 0 ] || ctl del "$first" || return 1
		[ $((first % 3)) -eq 0 ] || ctl del $((first + 1)) || return 1
		first=$((first + 4))
	done
	for id in $(seq 20 44); do
		ctl del "$id" || return 1
	done
}

# syncs_of NUMBER WHAT COMMAND...: the command synchronises all CPUs that often
syncs_of() {
	wanted=$1
	what=$2
	shift 2
	before=$(ctl_get 60 hits)
	"$@"
	equal "synchronisations that $what" $(($(ctl_get 60 hits) - before)) "$wanted"
}

# Text that CPUs must not see half is not known to them without a synchronisation. In an emulator
# all see it at once.
cpus_are_synchronised() {
	optimization 0
	ctl add 60 text_poke_sync
	ctl add 61 kp_tgt_plain
	ctl del 61
	syncs_of 1 "put a breakpoint in place" ctl add 61 kp_tgt_plain
	syncs_of 1 "remove one" ctl del 61
	ctl add 61 kp_tgt_plain
	optimization 1
	is_optimized 61
	syncs_of 2 "replace a jump by a breakpoint" optimization 0
	ctl del 61
	ctl del 60
	optimization 1
}

# Probes in a module's init function, optimised or not, and its memory is freed.
init_text() {
	reload kp_target || return 1
	must rmmod kp_target
	LOADED=kp_ctl
	ctl when kp_target 50 kp_tgt_init_function post && ctl when kp_target 51 kp_tgt_function ||
		return 1
	insmod "$MODULE_DIR/kp_target.ko" || return 1
	LOADED="kp_target kp_ctl"
	hits_are 50 3 && listed_as 50 GONE || return 1
	optimization 1
	not_listed_as 50 OPTIMIZED && call_target 10 && hits_are 51 10
	mark_is_true 51
	ctl del 50 && ctl del 51
}

setup_optimized
trap 'preempt_restore; at_exit' EXIT
optimization 1
suites="kprobes_opt_hits kprobes_opt_diverts kprobes_opt_block kprobes_opt_safety \
	kprobes_opt_sleep kprobes_opt_preempt"
preempt_full
# shellcheck disable=SC2086 # words
load_suites kp_opt -- $suites
unload kp_opt
preempt_restore
# shellcheck disable=SC2086
cases=$(count_cases $suites) || exit "$KSFT_FAIL"
ktap_set_plan $((cases + 16))
# shellcheck disable=SC2086
report_suites $suites
check "nothing left in list" list_is_empty
load kp_target
load kp_ctl
check "the list waits for jumps that are about to come" list_waits_for_jumps
if [ -x "$READ_AS" ]; then
	check "the list does not wait if it is opened with O_NONBLOCK" nonblocking_does_not_wait
else
	ktap_test_skip "the list does not wait if it is opened with O_NONBLOCK"
fi
check "probes registered" add_probes
check "[OPTIMIZED] is shown where there is a jump" marks_after_switching
check "hits are counted either way" hits_whatever_it_is
check "kprobes/enabled takes jumps away and brings them back" all_switched
check "one that was in the way goes while all are off" blocker_gone_while_off
check "the sysctl takes 0 and 1" sysctl_is_checked
if [ -e $KPROBES/optimizer ]; then
	check "reasons are shown" reasons_are_shown
else
	ktap_test_skip "reasons are shown"
fi
check "probes unregistered" del_probes
LOADED="kp_target kp_ctl"
check "modules go with probes optimised, queued, and not any more" modules_by_turns
check "init text goes" init_text
check "all CPUs are synchronised when text changes" cpus_are_synchronised
unload "${LOADED%% *}"
unload kp_ctl
check "list is empty" list_is_empty
check "the sysctl is 1" equal "sysctl" "$(cat $OPTIMIZATION)" 1
ktap_finished
