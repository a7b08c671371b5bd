#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Repeats operations. In each repetition, a different allocation of the operation fails.

. "$(dirname "$0")/functions.sh"

PARAMETERS=/sys/module/kp_nomem/parameters

# without N COMMAND: runs COMMAND in a shell whose allocation N fails
without() {
	nth=$1
	shift
	result=0
	sh -c "echo $nth >$PARAMETERS/nth; $*" 2>/dev/null || result=1
	echo 0 >$PARAMETERS/nth
	return $result
}

some_fail() {
	[ "$(cat $PARAMETERS/failed)" != 0 ]
}

# the fewest allocations that a case must make
least=1

# each_allocation WHAT ATTEMPT...: calls ATTEMPT with N = 1, 2 and so on; each time, allocation
# number N fails. Stops when ATTEMPT makes fewer than N allocations. If a case fails, it names the
# caller of allocation N.
each_allocation() {
	what=$1
	shift
	n=1
	while [ $n -lt 200 ]; do
		more=yes
		"$@" $n || more=no
		if [ -s "$TMP/failed" ]; then
			failed "$what without allocation $n, of $(cat $PARAMETERS/where)"
			return
		fi
		[ $more = yes ] || break
		n=$((n + 1))
	done
	ktap_print_msg "$what: $((n - 1)) allocations"
	at_least "allocations of $what" $((n - 1)) $least
	at_most "allocations of $what" $n 199
}

# Read a file while an allocation fails. After that, the whole file must be readable.
read_file() {
	without "$2" "while read -r line; do :; done <$KPROBES/$1" || :
	must cat "$KPROBES/$1" >/dev/null
	some_fail
}

files_are_read() {
	for file in list blacklist enabled optimizer explain pools; do
		[ ! -e "$KPROBES/$file" ] || each_allocation $file read_file $file
	done
}

ask() {
	without "$1" "exec 3<>$KPROBES/explain; echo kp_tgt_plain >&3" || :
	exec 3<>$KPROBES/explain
	echo kp_tgt_plain >&3
	must grep -q '^probe: yes$' <&3
	exec 3>&-
	some_fail
}

# A reader that continues after the error must get each line of the list exactly once.
ask_for_list() {
	exec 3<>$KPROBES/explain
	echo 'kp_tgt_*' >&3
	put $PARAMETERS/nth "$1"
	while read -r line; do
		echo "$line"
	done <&3 >"$TMP/part"
	put $PARAMETERS/nth 0
	cat <&3 >>"$TMP/part"
	exec 3>&-
	must cmp "$TMP/list" "$TMP/part"
	some_fail
}

questions_are_answered() {
	[ -e "$KPROBES/explain" ] || skip_case "kprobes/explain is not there" || return 0
	each_allocation explain ask
	exec 3<>$KPROBES/explain
	echo 'kp_tgt_*' >&3
	cat <&3 >"$TMP/list"
	exec 3>&-
	must grep -q kp_tgt_plain "$TMP/list"
	put $PARAMETERS/within explain_start
	each_allocation "a list" ask_for_list
	put $PARAMETERS/within ''
}

hits=0

called() {
	hits=$((hits + $2))
	after_calls "$1" hits_are 0 $hits 1 $hits 2 $hits
}

# is_switched 0|1: checks that all probes are off, or on; then switches them on
is_switched() {
	equal enabled "$(cat $KPROBES/enabled)" "$1"
	called 2 $((2 * $1))
	put $KPROBES/enabled 1
	called 3 3
}

switch_off() {
	on=1
	! without "$1" "echo 0 >$KPROBES/enabled" || on=0
	is_switched $on
	some_fail
}

# While all probes are off, the probes with which kp_nomem makes allocations fail are off, too. So
# use /proc/self/fail-nth here.
switch_on() {
	put $KPROBES/enabled 0
	# shellcheck disable=SC2016 # for the other shell
	left=$(n=$1 file=$KPROBES/enabled sh -c 'echo $n >/proc/self/fail-nth
		echo 1 >$file || echo failed
		read -r left </proc/self/fail-nth && echo $left' 2>/dev/null) || :
	on=1
	[ "${left#failed}" = "$left" ] || on=0
	is_switched $on
	case ${left#failed} in
	"" | *[!0-9]*0 | 0) return 0 ;;
	*) return 1 ;;
	esac
}

switched() {
	ctl_add "0 kp_tgt_function" "1 kp_tgt_function post" "2 kp_tgt_plain"
	each_allocation off switch_off
	if [ -e /proc/self/fail-nth ] && [ -d $DEBUGFS/failslab ]; then
		echo N >$DEBUGFS/failslab/ignore-gfp-wait
		echo 0 >$DEBUGFS/failslab/verbose
		each_allocation on switch_on
	fi
	ctl_del 0 1 2
}

# load_module MODULE N
load_module() {
	put $PARAMETERS/nth "$2"
	came=1
	insmod "$MODULE_DIR/$1.ko" 2>/dev/null || came=0
	put $PARAMETERS/nth 0
	if [ $came -eq 1 ]; then
		must rmmod "$1"
	else
		refused=$((refused + 1))
	fi
	# Look now for what this module has left: if the next module gets the same address, kprobes
	# removes it.
	equal "allocations of the notifier that are left" "$(cat $PARAMETERS/kept)" 0
	must cmp $KPROBES/blacklist "$TMP/blacklist"
	some_fail
}

unload_target() {
	must insmod "$MODULE_DIR/kp_target.ko"
	ctl add 3 kp_tgt_function
	put $PARAMETERS/nth "$1"
	must rmmod kp_target
	put $PARAMETERS/nth 0
	must cmp $KPROBES/blacklist "$TMP/blacklist"
	listed_as 3 GONE
	ctl del 3
	some_fail
}

# Fail each allocation of the module notifier. COMING: loading must fail and leave no blacklist
# entry, not even one that was added before the allocation failed: kp_nomem_blacklist needs several
# allocations. GOING: unloading must succeed, and leave no entry either.
modules_come_and_go() {
	must rmmod kp_target
	cat $KPROBES/blacklist >"$TMP/blacklist"
	put $PARAMETERS/within kprobe_module_notify
	refused=0
	each_allocation "loading" load_module kp_target
	equal "loaded with all allocations" "$came" 1
	put $PARAMETERS/onwards 1
	each_allocation "loading many ranges" load_module kp_nomem_blacklist
	equal "loaded with all allocations" "$came" 1
	put $PARAMETERS/onwards 0
	at_least "times that it is not loaded" "$refused" 3
	# When the module is unloaded, only ftrace allocates memory, to remove the probe's address.
	[ -e $FTRACE_ENABLED ] || least=0
	each_allocation "unloading" unload_target
	least=1
	put $PARAMETERS/within ''
	must insmod "$MODULE_DIR/kp_target.ko"
}

# is_searched: has the search for branch targets run out of memory, or has probe 3 got its jump?
is_searched() {
	some_fail || ctl_get 3 text | grep -q ^e9
}

# When a module is loaded again, the optimiser searches its branch targets again. If allocation N of
# the search fails, the optimiser must try again later.
search_targets() {
	must rmmod kp_target
	must insmod "$MODULE_DIR/kp_target.ko"
	put $PARAMETERS/nth "$1"
	ctl_add "3 kp_tgt_plain"
	wait_until is_searched
	put $PARAMETERS/nth 0
	optimization 1
	ctl_get 3 text >"$TMP/text"
	must grep -q ^e9 "$TMP/text"
	ctl del 3
	some_fail
}

targets_are_searched() {
	has_jumps || skip_case "no jump optimisation" || return 0
	put $PARAMETERS/within targets_find
	each_allocation "the search for branch targets" search_targets
	put $PARAMETERS/within ''
}

POOL=/sys/module/kp_ret_pool/parameters

# all_tracked: makes 600 calls that sleep at the same time. Is none of them missed?
all_tracked() {
	echo 0 >$POOL/sleepers
	missed=$(cat $POOL/nmissed)
	echo 600 >$POOL/sleepers
	[ "$(cat $POOL/nmissed)" = "$missed" ]
}

# While the worker gets no memory, the pool of return probes cannot grow. Hits that find the pool
# empty then must not queue the worker again and again. Once there is memory, the pool must grow.
pool_grows_later() {
	put $POOL/registered 1
	put $PARAMETERS/within pool_grow_all
	put $PARAMETERS/nth 1
	put $POOL/sleepers 600
	at_least "calls missed without memory" "$(cat $POOL/nmissed)" 1
	at_least "allocations that failed" "$(cat $PARAMETERS/failed)" 1
	put $PARAMETERS/nth 0
	put $PARAMETERS/within ''
	wait_until all_tracked
	put $POOL/sleepers 0
	put $POOL/registered 0
}

setup
is_x86 || skip_topic "the probes that make allocations fail are x86's"
load_suites kp_nomem -- kprobes_nomem
report_planned 7 kprobes_nomem
load kp_target
load kp_ctl
check "files in debugfs are read" files_are_read
check "questions are answered" questions_are_answered
check "all are disabled and enabled" switched
check "modules come and go" modules_come_and_go
check "branch targets are searched" targets_are_searched
load kp_ret_pool data_size=1500
check "a pool that had no memory grows" pool_grows_later
unload kp_ret_pool kp_ctl kp_target kp_nomem
check "list is empty after rmmod" list_is_empty
ktap_finished
