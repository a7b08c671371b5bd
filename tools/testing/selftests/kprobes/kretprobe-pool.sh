#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Return probes share pools of instances. A pool must grow with the number of calls in flight, up to
# the bound on its memory, and must shrink when these calls have returned.

. "$(dirname "$0")/functions.sh"

PARAMETERS=/sys/module/kp_ret_pool/parameters
crowd=600
# This size selects a pool that no other test uses.
data_size=1500

set_to() {
	put "$PARAMETERS/$1" "$2"
}

is() {
	equal "$1 of the return probe" "$(cat "$PARAMETERS/$1")" "$2"
}

# pool COLUMN: prints that column of the probe's pool, or 0: probes, instances, taken, KiB
pool() {
	awk -v column="$1" -v wanted="$(cat $PARAMETERS/data_size)" '
		NR == 1 { for (i = 1; i <= NF; i++) number[$i] = i; next }
		$number["data_size"] >= wanted { found = $number[column]; exit }
		END { print found + 0 }' $KPROBES/pools
}

# registered_alone: empties all pools, registers the probe, and notes what its pool begins with
registered_alone() {
	set_to registered 0 && all_empty && set_to registered 1 || return 1
	base=$(pool instances)
	base_kib=$(pool KiB)
	equal probes "$(pool probes)" 1 && equal taken "$(pool taken)" 0
}

# no_call_lost TRACKED: checks that TRACKED calls of the crowd have an instance, and that all others
# count as missed
no_call_lost() {
	is entries "$1" && is nmissed $((crowd - $1)) && is wrong 0 || return 1
	cause=pool
	[ "$(cat $PARAMETERS/maxactive)" -le 0 ] || cause=maxactive
	equal "missed: $cause" "$(missed_for $cause)" $((crowd - $1))
}

# missed_for CAUSE: prints how many calls kprobes/missed counts as missed by the return probe for
# this cause
missed_for() {
	awk -v cause="$1" '
		/  r  kp_pool_sleep\+/ { for (i = 3; i < NF; i++) if ($i == cause) n += $(i + 1) }
		END { print n + 0 }' $KPROBES/missed
}

# all_return: wakes all sleeping tasks, and checks that the probe sees each tracked call return
all_return() {
	tracked=$(cat $PARAMETERS/entries)
	set_to sleepers 0 && is entries "$tracked" && is returns "$tracked" && is wrong 0
}

grows() {
	set_to sleepers $crowd || return 1
	tracked=$(cat $PARAMETERS/entries)
	ktap_print_msg "$base instances at first, $(pool instances) with $tracked of $crowd calls"
	no_call_lost "$tracked" && equal taken "$(pool taken)" "$tracked" || return 1
	at_least "calls tracked" "$tracked" $((base + 1))
	at_least "instances" "$(pool instances)" "$tracked"
}

all_are_returned() {
	all_return && equal taken "$(pool taken)" 0
}

unregistered_asleep() {
	set_to sleepers $crowd || return 1
	tracked=$(pool taken)
	returned=$(cat $PARAMETERS/returns)
	set_to registered 0 || return 1
	# Instances are not free while the calls are in flight.
	equal taken "$(pool taken)" "$tracked" && set_to sleepers 0 || return 1
	is returns "$returned" && becomes 0 pool probes && equal taken "$(pool taken)" 0
}

bound_is_kept() {
	bound=$((base_kib + 64))
	put $BOUND $bound && set_to sleepers $crowd || return 1
	tracked=$(cat $PARAMETERS/entries)
	total=$(pool instances)
	ktap_print_msg "bound $bound KiB: $(all_kib) KiB, $total instances, $tracked calls"
	no_call_lost "$tracked" && equal taken "$(pool taken)" "$tracked" || return 1
	# The pools keep the bound, and one more chunk of 32 KiB would exceed it.
	at_most "KiB" "$(all_kib)" $bound
	at_least "KiB" "$(all_kib)" $((bound - 31))
	# A CPU may keep one instance to itself.
	at_most "calls tracked" "$tracked" "$total"
	at_least "calls tracked" "$tracked" $((total - $(nproc)))
}

# A probe with maxactive has a pool of its own, to which the bound does not apply. When all calls
# have returned, all of its instances must be free for the next calls.
reserved_beyond_bound() {
	set_to registered 0 && all_empty && put $BOUND 0 || return 1
	for limit in 1 16 400; do
		set_to maxactive $limit && set_to registered 1 && set_to sleepers $crowd || return 1
		no_call_lost $limit && equal "KiB" "$(all_kib)" 0
		all_return && set_to sleepers $crowd && is entries $((2 * limit)) || return 1
		is nmissed $((2 * (crowd - limit))) && all_return && set_to registered 0
	done
	put_back $BOUND
	set_to maxactive 0
}

# Return probes without maxactive share instances: more of these probes must need no more memory.
many_idle() {
	set_to more 500 && equal "probes" "$(pool probes)" 501 || return 1
	equal "KiB" "$(pool KiB)" "$base_kib" && equal "instances" "$(pool instances)" "$base"
	set_to more 0 && becomes 1 pool probes
}

bound_raised() {
	put_back $BOUND
	lost=1
	for _ in 1 2 3 4 5; do
		was=$(cat $PARAMETERS/nmissed)
		set_to sleepers $crowd && set_to sleepers 0 && is wrong 0
		lost=$(($(cat $PARAMETERS/nmissed) - was))
		[ $lost -ne 0 ] || break
	done
	equal "calls missed with room for all" $lost 0
}

# When the bound is lowered, idle instances must be freed, and used ones must be kept.
bound_lowered() {
	set_to sleepers 100 && put $BOUND 0 || return 1
	tracked=$(cat $PARAMETERS/entries)
	becomes 0 idle_kib && equal taken "$(pool taken)" "$(in_flight)" || return 1
	set_to sleepers 0 && is wrong 0 && becomes 0 all_kib
}

in_flight() {
	echo $(($(cat $PARAMETERS/entries) - $(cat $PARAMETERS/returns)))
}

# Prints how many KiB of the pools are idle for certain: at most one chunk of 32 KiB for every 8
# calls in flight, and two chunks for each CPU, can be in use.
idle_kib() {
	idle=$(($(all_kib) - 32 * ($(in_flight) / 8 + 2 * $(nproc))))
	echo $((idle > 0 ? idle : 0))
}

nothing_allowed() {
	set_to registered 0 && set_to registered 1 || return 1
	set_to sleepers $crowd && no_call_lost 0 && equal KiB "$(all_kib)" 0 || return 1
	set_to sleepers 0 && is returns 0 && set_to registered 0
}

bad_bounds() {
	before=$(cat $BOUND)
	for bad in -1 x "" 0x10000000000000000; do
		put_refused $BOUND "$bad"
	done
	equal "bound" "$(cat $BOUND)" "$before" || return 1
	# A bound whose number of bytes overflows a long must count as no bound.
	case $(uname -m) in
	i?86 | arm*) no_bound=4194304 ;;
	*) no_bound=18014398509481984 ;;
	esac
	put $BOUND $no_bound && registered_alone && set_to registered 0 || return 1
	at_least "instances" "$base" 1
}

#
# The cost of many return probes that were unregistered, and of many missed calls, counted by
# probes on functions of the pools.
#

# counted_by ID SYMBOL: lets the probe ID of kp_ctl count the calls to SYMBOL
counted_by() {
	ctl add "$1" "$2" || {
		ktap_print_msg "no probe on $2: error $(ctl_get "$1" error)"
		return 1
	}
}

# no_more_than WHAT GOT LIMIT: prints the numbers, and compares them
no_more_than() {
	ktap_print_msg "$1: $2, at most $3 wanted"
	[ "$2" -le "$3" ]
}

# grown_to N: lets N tasks sleep in the function until the pool has grown enough for all of them, so
# that no call is missed. Fails if that takes more than a few rounds.
grown_to() {
	for _ in 1 2 3 4 5 6 7 8; do
		was=$(cat $PARAMETERS/nmissed)
		set_to sleepers "$1" && is wrong 0 || return 1
		[ "$(cat $PARAMETERS/nmissed)" -ne "$was" ] || return 0
		set_to sleepers 0 || return 1
	done
	ktap_print_msg "the pool does not grow to what $1 sleepers need"
	return 1
}

# Unregister many probes while 4000 calls are in flight, 40 by each of 100 tasks: one scan of all
# instances must be enough for all of the probes, and must not wait for the calls.
many_dead() {
	set_to depth 39 && grown_to 100 || return 1
	taken=$(pool taken)
	[ "$taken" -ge 4000 ] && counted_by 0 pool_replace_dead_in || return 1
	set_to more 500 && set_to more 0 && becomes 1 pool probes || return 1
	equal taken "$(pool taken)" "$taken" || return 1
	# All chunks, of 32 KiB each, belong to this pool. The worker needs to scan them once. Allow
	# two more scans, since it may still be queued for probes that were unregistered before.
	no_more_than "chunks looked at" "$(ctl_get 0 hits)" $((3 * $(all_kib) / 32)) && ctl del 0
}

# The pool of an unregistered probe with maxactive must be freed when its last call has returned,
# and not before.
many_dead_inside() {
	set_to sleepers 0 && set_to depth 0 && counted_by 1 kretprobe_pool_free || return 1
	set_to maxactive 64
	set_to more 300 && set_to sleepers 40 && set_to more 0 || return 1
	equal "pools freed while calls are in flight" "$(ctl_get 1 hits)" 0 || return 1
	set_to sleepers 0 && is wrong 0 && becomes 300 ctl_get 1 hits || return 1
	# Without calls in flight, pools are freed at once.
	set_to more 300 && set_to more 0 && becomes 600 ctl_get 1 hits && ctl del 1
	set_to maxactive 0
}

# The pool has reached its limit, so calls are missed. These hits must not queue the worker again
# and again, since the worker could not let the pool grow.
missed_at_limit() {
	set_to sleepers 0 && set_to registered 0 && set_to depth 0 && registered_alone || return 1
	echo $((base_kib + 64)) >$BOUND && set_to sleepers $crowd || return 1
	missed=$(cat $PARAMETERS/nmissed)
	[ "$missed" -gt 0 ] && counted_by 2 pool_grow_all || return 1
	set_to calls 5000 && is wrong 0 || return 1
	# A CPU may keep one instance to itself, and track the calls that are made there. So expect
	# only that half of the calls are missed.
	kept=$(($(cat $PARAMETERS/nmissed) - missed))
	ktap_print_msg "$kept of 5000 calls missed"
	[ $kept -ge 2500 ] && no_more_than "runs of the worker" "$(ctl_get 2 hits)" 20
}

# After the bound was raised, the pool grows: no further call is missed.
room_at_limit() {
	put_back $BOUND && wait_until has_room && ctl del 2 || return 1
	missed=$(cat $PARAMETERS/nmissed)
	set_to calls 100 && is nmissed "$missed" && set_to sleepers 0 && is wrong 0
}

# has_room: are there instances for more calls than are in flight?
has_room() {
	[ "$(pool instances)" -gt $(($(pool taken) + 100)) ]
}

# An unwinder may be preempted between two frames. It must not keep a pointer to an instance, which
# may be freed before the unwinder continues.
walked() {
	set_to sleepers 0 && set_to registered 0 && registered_alone || return 1
	set_to depth 9 && grown_to 20 && set_to walk 1 || return 1
	set_to sleepers 0 && set_to depth 0 && set_to registered 0 && all_empty || return 1
	set_to walk 0 || return 1
	if [ "$(nproc)" -ge 2 ]; then
		set_to busy 1 && set_to walk 1
		set_to busy 0
	fi
}

# The number of tasks that enter the function at once, each for the first time
at_once=${RET_SLEEPERS:-2000}

none_lost() {
	set_to sleepers 0 && set_to depth 0 && set_to registered 0 || return 1
	set_to data_size 16 && set_to at_once 1 || return 1
	for _ in $(seq "${RET_ROUNDS:-3}"); do
		registered_alone && set_to sleepers "$at_once" || return 1
		ktap_print_msg "$(cat $PARAMETERS/nmissed) of $at_once returns lost," \
			"$base instances in $base_kib KiB at first, $(pool instances) now"
		is nmissed 0
		is entries "$at_once"
		set_to sleepers 0 && set_to registered 0 && is wrong 0 || return 1
	done
	set_to data_size $data_size && set_to at_once 0
}

# Put a return probe on the function that queues the pool's worker. A hit that finds the pool empty
# raises an interrupt, which calls this function and so hits the probe. That hit must not raise the
# interrupt again, or this would go on forever.
worker_is_probed() {
	set_to sleepers 0 && set_to registered 0 && registered_alone || return 1
	put $BOUND $((base_kib + 64)) && set_to sleepers $crowd || return 1
	at_least "calls missed" "$(cat $PARAMETERS/nmissed)" 1
	set_to worker_probed 1 && put_back $BOUND && wait_until has_room || return 1
	at_most "interrupts raised" "$(cat $PARAMETERS/raised)" 50
	set_to worker_probed 0 && set_to sleepers 0 && is wrong 0
}

# The last CPU that can be taken offline
hotplugged() {
	for cpu in /sys/devices/system/cpu/cpu*/online; do :; done
	echo "$cpu"
}

# A CPU that goes offline needs many instances at a time when it can no longer raise an interrupt.
# Another CPU must run the worker, though there is no further hit, and later the pool must still
# grow when that is needed.
dying_cpu_asks() {
	[ -e "$(hotplugged)" ] || skip_case "no CPU can be taken offline" || return 0
	set_to sleepers 0 && set_to registered 0 && set_to data_size 4096 && registered_alone ||
		return 1
	set_to depth $((base * 3 / 4)) && counted_by 3 pool_grow_all && set_to dying 1 || return 1
	put "$(hotplugged)" 0 && set_to dying 0 || return 1
	is nmissed 0 && at_least "calls" "$(cat $PARAMETERS/entries)" $((base * 3 / 4)) || return 1
	wait_until has_run 3 && ctl del 3 && set_to depth 0 && grown_to $crowd || return 1
	put_back "$(hotplugged)" && set_to sleepers 0 && is wrong 0 || return 1
	set_to registered 0 && set_to data_size $data_size
}

# A CPU needs many instances, and then is too busy to run the worker. The pool must still grow for
# other CPUs.
busy_cpu_asks() {
	[ "$(nproc)" -ge 2 ] || skip_case "only one CPU" || return 0
	set_to sleepers 0 && set_to registered 0 && set_to data_size 4096 && registered_alone ||
		return 1
	set_to depth $((base * 3 / 4)) && set_to busy 1 && set_to depth 0 || return 1
	has_grown=1
	grown_to $crowd || has_grown=0
	set_to busy 0 && set_to sleepers 0 && is wrong 0 && equal "grown" $has_grown 1
	set_to registered 0 && set_to data_size $data_size
}

ISOLATED=/sys/devices/system/cpu/isolated
KMALLOC=$TRACEFS/events/kmem/kmalloc

is_isolated() {
	has_events && grep -q -x '[0-9][0-9]*' $ISOLATED
}

# on_isolated COMMAND...: runs COMMAND on the isolated CPU; there is only one
on_isolated() {
	must taskset "$(printf '%x' $((1 << $(cat $ISOLATED))))" "$@"
}

# traced EVENT: prints how often EVENT was traced on each CPU
traced() {
	sed -n "s/^.*\[0*\([0-9][0-9]*\)\].* $1:.*/\1/p" $TRACEFS/trace | sort -n | uniq -c
}

# Let an isolated CPU use instances and request more of them, then let the pool shrink. No worker
# may run on that CPU, and none may interrupt it. So the instance in the CPU's cache is freed only
# with the whole pool.
isolated_is_left_alone() {
	set_to registered 0 && set_to data_size 4096 && registered_alone || return 1
	# An oops of an earlier test may have stopped the ring buffer.
	put_in $TRACEFS tracing_on=1 trace=
	for name in pool_grow_all pool_shrink_all pool_flush_cache; do
		event_on "p:$name $name"
	done
	set_to depth $((base * 3 / 4)) && on_isolated sh -c "echo 1 >$PARAMETERS/calls" || return 1
	set_to calls 10 && set_to depth 0 && is wrong 0 && put $BOUND 0 || return 1
	# The isolated CPU keeps an instance, and so a chunk of 32 KiB.
	wait_until prints 32 all_kib
	set_to registered 0 && set_to data_size $data_size && becomes 0 all_kib && put_back $BOUND
	# Read the trace first: removing the events clears it.
	for name in pool_grow_all pool_shrink_all pool_flush_cache; do
		traced $name >"$TMP/cpus"
		ktap_print_msg "$name on CPUs:" \
			"$(awk '{ print $2 " (" $1 ")" }' "$TMP/cpus" | paste -sd' ')"
		at_least "calls of $name" "$(wc -l <"$TMP/cpus")" 1
		must_fail grep -q " $(cat $ISOLATED)\$" "$TMP/cpus"
	done
	for name in pool_grow_all pool_shrink_all pool_flush_cache; do
		event_off $name
	done
}

# When memory is short, allocations for a growing pool must fail, and must not make the OOM killer
# end a task.
grows_gently() {
	set_to registered 0 && set_to data_size 4096 && registered_alone || return 1
	# An oops of an earlier test may have stopped the ring buffer.
	put_in $TRACEFS tracing_on=1 trace=
	put_in $KMALLOC filter='bytes_req > 16384' enable=1
	has_grown=1
	grown_to $crowd || has_grown=0
	put_in $KMALLOC enable=0 filter=0
	set_to sleepers 0 && set_to registered 0 && set_to data_size $data_size || return 1
	equal "grown" $has_grown 1
	# Ftrace does not know the name of every task.
	grep -E '(kworker|<\.\.\.>).* call_site=pool_add_chunk' $TRACEFS/trace >"$TMP/chunks"
	at_least "chunks that were made" "$(wc -l <"$TMP/chunks")" 10 ||
		failed "the end of the trace: $(tail -n 20 $TRACEFS/trace)"
	must_fail grep -q -v -w __GFP_NORETRY "$TMP/chunks"
}

has_run() {
	[ "$(ctl_get "$1" hits)" -gt 0 ]
}

# Let a pool grow beyond 64 groups of 64 chunks each. A chunk has 7 instances, so that takes more
# than 28672 calls in flight: 300 tasks make 100 each.
huge() {
	set_to sleepers 0 && set_to registered 0 && set_to data_size 4096 && all_empty || return 1
	echo 150000 >$BOUND && set_to registered 1 && set_to depth 99 && grown_to 300 || return 1
	taken=$(pool taken)
	ktap_print_msg "$taken instances taken, $(pool KiB) KiB"
	[ "$taken" -ge 30000 ] && set_to sleepers 0 && is wrong 0 || return 1
	set_to depth 0 && set_to registered 0 && set_to data_size $data_size && all_empty &&
		put_back $BOUND
}

# too_many MAXACTIVE: checks that the registration is refused, and leaves nothing
too_many() {
	all_empty || return 1
	before=$(cat $KPROBES/pools)
	set_to maxactive "$1"
	put_refused $PARAMETERS/registered 1
	is error -12 && is registered 0 && list_is_empty || return 1
	equal pools "$(cat $KPROBES/pools)" "$before" || return 1
	set_to maxactive 4 && set_to registered 1 && set_to sleepers $crowd || return 1
	no_call_lost 4 && all_return && set_to registered 0 && set_to maxactive 0
}

setup
[ -e $KPROBES/pools ] || skip_topic "instances are rethook's here"
keep $BOUND
[ ! -e "$(hotplugged)" ] || keep "$(hotplugged)"
ktap_set_plan 33
load kp_ret_pool data_size=$data_size
load kp_ctl
check "registered, with what pools begin with" registered_alone
check "500 more probes share the pool" many_idle
check "$crowd sleepers: the pool grows" grows
check "all return" all_are_returned
check "the pool shrinks, the probe stays" becomes "$base" pool instances
check "unregistered with sleepers inside" unregistered_asleep
check "and nothing remains" becomes 0 all_kib

check "registered again" registered_alone
check "memory is bounded" bound_is_kept
check "all return that were tracked" all_return
check "reserved instances are not bounded" reserved_beyond_bound
check "registered again" registered_alone
check "raised, and none is missed" bound_raised
check "lowered, and what is idle is freed" bound_lowered
check "nothing allowed, all missed" nothing_allowed
check "wrong bounds are refused" bad_bounds
put_back $BOUND

check "registered again" registered_alone
check "many are unregistered, many calls in flight" many_dead
check "many with maxactive are unregistered, calls in flight" many_dead_inside
check "many calls are missed at the limit" missed_at_limit
check "none is missed when the limit is raised" room_at_limit
check "a return probe on what queues the worker" worker_is_probed
check "a CPU that goes offline uses up a pool" dying_cpu_asks
check "a busy CPU uses up a pool" busy_cpu_asks
check_if is_isolated "an isolated CPU is left alone" isolated_is_left_alone
check_if "[ -e $KMALLOC ]" "what a pool grows by is not taken from tasks" grows_gently
check "an unwinder keeps no instance" walked
check "$at_once tasks enter at once" none_lost
check "more than 4096 chunks" huge
check "more than there can be is refused" too_many 300000
check "much more than there can be is refused" too_many 2147483647
check "list is empty" list_is_empty
unload kp_ctl kp_ret_pool
check "list is empty after rmmod" list_is_empty
ktap_finished
