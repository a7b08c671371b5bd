#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Failed allocations: each allocation of an operation fails, one after the other.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

PARAMETERS=/sys/module/kp_nomem/parameters

# without N COMMAND: the shell runs it, and its allocation N fails
without() {
	nth=$1
	shift
	result=0
	sh -c "echo $nth >$PARAMETERS/nth; $*" 2>/dev/null || result=1
	echo 0 >$PARAMETERS/nth
	return $result
}

# Return: true if no allocation of the last attempt failed.
had_all() {
	[ "$(cat $PARAMETERS/failed)" = 0 ]
}

where() {
	failed "that was without allocation $1, of $(cat $PARAMETERS/where)"
}

# Each file is read as far as possible, and completely after that.
files_are_read() {
	for file in list blacklist enabled optimizer explain pools; do
		[ -e "$KPROBES/$file" ] || continue
		n=1
		while [ $n -lt 100 ]; do
			without $n "while read -r line; do :; done <$KPROBES/$file" || :
			! had_all || break
			cat "$KPROBES/$file" >/dev/null || where $n || return 1
			n=$((n + 1))
		done
		ktap_print_msg "$file: $((n - 1)) allocations"
		[ $n -gt 1 ] && [ $n -lt 100 ] || return 1
	done
}

# explained N: allocation N of a question fails; after that it is answered
explained() {
	exec 3<>$KPROBES/explain
	echo kp_tgt_plain >&3
	grep -q '^probe: yes$' <&3 || where "$1"
	exec 3>&-
}

questions_are_asked() {
	n=1
	while [ $n -lt 100 ]; do
		without $n "exec 3<>$KPROBES/explain; echo kp_tgt_plain >&3" || :
		! had_all || break
		explained $n
		n=$((n + 1))
	done
	ktap_print_msg "explain: $((n - 1)) allocations"
	[ $n -gt 1 ] && [ $n -lt 100 ]
}

hits=0

# called TIMES MORE: makes the calls, which add MORE hits
called() {
	call_target "$1" || return 1
	hits=$((hits + $2))
	hits_are 0 $hits && hits_are 1 $hits && hits_are 2 $hits
}

# After an attempt to switch, all probes are switched or none. Then switch them on.
is_switched() {
	equal enabled "$(cat $KPROBES/enabled)" "$1" && called 2 $((2 * $1)) || return 1
	echo 1 >$KPROBES/enabled && called 3 3
}

switched_off() {
	n=1
	while [ $n -lt 200 ]; do
		if without $n "echo 0 >$KPROBES/enabled"; then
			is_switched 0 || where $n || return 1
		else
			is_switched 1 || where $n || return 1
		fi
		! had_all || break
		n=$((n + 1))
	done
	ktap_print_msg "off: $((n - 1)) allocations"
	[ $n -gt 1 ] && [ $n -lt 200 ]
}

# The probes of this test are switched off as well, so fail allocations by the kernel's own means.
switched_on() {
	n=1
	while [ $n -lt 200 ]; do
		echo 0 >$KPROBES/enabled
		# shellcheck disable=SC2016 # for the other shell
		left=$(n=$n file=$KPROBES/enabled sh -c 'echo $n >/proc/self/fail-nth
			echo 1 >$file || echo failed
			read -r left </proc/self/fail-nth && echo $left' 2>/dev/null) || :
		case $left in
		failed*) on=0 ;;
		*) on=1 ;;
		esac
		is_switched $on || where_kernel $n || return 1
		case ${left#failed} in
		"" | *[!0-9]*0 | 0) ;;
		*) break ;;
		esac
		n=$((n + 1))
	done
	ktap_print_msg "on: $((n - 1)) allocations"
	[ $n -gt 1 ] && [ $n -lt 200 ]
}

where_kernel() {
	failed "that was without allocation $1"
}

switched() {
	ctl add 0 kp_tgt_function && ctl add 1 kp_tgt_function post || return 1
	ctl add 2 kp_tgt_plain && switched_off || return 1
	if [ -e /proc/self/fail-nth ] && [ -d $DEBUGFS/failslab ]; then
		echo N >$DEBUGFS/failslab/ignore-gfp-wait
		echo 0 >$DEBUGFS/failslab/verbose
		switched_on || return 1
	fi
	ctl del 0 && ctl del 1 && ctl del 2
}

loaded_where() {
	where "$1" || :
	rmmod kp_target 2>/dev/null || :
	must insmod "$MODULE_DIR/kp_target.ko"
	return 1
}

# Fail each allocation of the module notifier. COMING: loading must fail and leave no blacklist
# entry. GOING: unloading must succeed; a range that could not be removed disappears with the
# next module.
modules_come_and_go() {
	rmmod kp_target && cat $KPROBES/blacklist >"$TMP/blacklist" || return 1
	echo kprobe_module_notify >$PARAMETERS/within || return 1
	refused=0
	n=1
	while [ $n -lt 100 ]; do
		echo $n >$PARAMETERS/nth_within
		came=1
		# modprobe may try twice.
		insmod "$MODULE_DIR/kp_target.ko" 2>/dev/null || came=0
		echo 0 >$PARAMETERS/nth_within
		! had_all || break
		if [ $came -eq 1 ]; then
			rmmod kp_target || return 1
		else
			refused=$((refused + 1))
		fi
		cmp -s $KPROBES/blacklist "$TMP/blacklist" || loaded_where $n || return 1
		n=$((n + 1))
	done
	ktap_print_msg "$((n - 1)) allocations, without $refused of them it does not come"
	[ $refused -gt 0 ] && [ $n -lt 100 ] && [ "$came" -eq 1 ] || loaded_where $n || return 1
	n=1
	while [ $n -lt 100 ]; do
		ctl add 3 kp_tgt_function || return 1
		echo $n >$PARAMETERS/nth_within
		rmmod kp_target || return 1
		echo 0 >$PARAMETERS/nth_within
		listed_as 3 GONE && ctl del 3 || return 1
		insmod "$MODULE_DIR/kp_target.ko" || return 1
		! had_all || break
		n=$((n + 1))
	done
	ktap_print_msg "$((n - 1)) allocations when it goes"
	[ $n -lt 100 ] || loaded_where $n || return 1
	rmmod kp_target && cmp $KPROBES/blacklist "$TMP/blacklist" || loaded_where $n || return 1
	echo >$PARAMETERS/within && insmod "$MODULE_DIR/kp_target.ko"
}

setup
if ! is_x86; then
	ktap_skip_all "the probes that make allocations fail are x86's"
	exit "$KSFT_SKIP"
fi
load_suites kp_nomem -- kprobes_nomem
cases=$(count_cases kprobes_nomem) || exit "$KSFT_FAIL"
ktap_set_plan $((cases + 5))
report_suites kprobes_nomem
load kp_target
load kp_ctl
check "files in debugfs are read" files_are_read
check "questions are answered" questions_are_asked
check "all are switched off and on" switched
check "modules come and go" modules_come_and_go
unload kp_ctl
unload kp_target
unload kp_nomem
check "list is empty after rmmod" list_is_empty
ktap_finished
