#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests for leaks: after an operation has been repeated many times, the kernel must use no more
# memory, pages of slots and symbols than before.

. "$(dirname "$0")/functions.sh"

SLAB=/sys/kernel/slab
times=${MEMORY_TIMES:-50}
# An address at which a probe with a post_handler needs a different slot than one without
inside=kp_tgt_plain
! is_x86 || inside=kp_tgt_plain+3
# Probes at entries are ftrace-based if the kernel has ftrace. So the probes that are to have jumps
# are at the instruction after ftrace's call.
behind=
! has_symbol __fentry__ || behind=+$BEHIND_FTRACE

# sizes: prints names and numbers: objects of each kmalloc() cache, without the free ones that CPUs
# keep; areas of vmalloc(), except stacks and areas that are freed later; symbols of kprobes'
# own pages; ranges of the blacklist; KiB of pools
sizes() {
	for cache in "$SLAB"/kmalloc-*; do
		echo 1 >"$cache/shrink"
		read -r number _ <"$cache/objects"
		echo "${cache##*/} $number"
	done
	echo "areas $(grep -c -v -E 'unpurged|stack|dup_task' /proc/vmallocinfo)"
	echo "pages $(grep -c -F '[__builtin__kprobes]' /proc/kallsyms)"
	echo "ranges $(grep -c . $KPROBES/blacklist)"
	echo "pools $(awk '{ sum += $5 } END { print sum + 0 }' $KPROBES/pools 2>/dev/null)"
}

# have_grown: measures the sizes once more. For each size, compares the smallest value that was
# measured since with the largest in $TMP/before: other code of the kernel allocates and frees at
# any time, so single values prove nothing.
have_grown() {
	sizes >>"$TMP/after"
	awk -v few=$((times * 4 / 5)) '
		FNR == NR { if (!($1 in before) || $2 > before[$1]) before[$1] = $2; next }
		!($1 in after) || $2 < after[$1] { after[$1] = $2 }
		END {
			for (size in after) {
				if (after[size] <= before[size] + few) continue
				printf " %s: %d, %d;", size, before[size], after[size]
				grown = 1
			}
			exit !grown
		}' "$TMP/before" "$TMP/after" >"$TMP/grown"
}

have_not_grown() {
	! have_grown
}

# repeated COMMAND...: runs the command $times times, then checks that the sizes have not grown.
# Waits up to 20 seconds for that, since workers free some memory later.
repeated() {
	: >"$TMP/after"
	for _ in 1 2 3; do
		sizes
	done >"$TMP/before"
	time=0
	while [ $time -lt "$times" ]; do
		"$@" || return
		time=$((time + 1))
	done
	comes_true 20 have_not_grown
}

# stays COMMAND...: checks that the sizes do not grow when the command is run many times. Sizes may
# grow once for another reason than a leak, so fail only if they grow in three rounds.
stays() {
	# Let the command make the allocations that it makes only once.
	for _ in 1 2 3; do
		"$@" || return
	done
	sleep 1
	for _ in 1 2 3; do
		if repeated "$@"; then
			return
		elif failures_shown; then
			return 1
		fi
	done
	failed "after $times times:$(cat "$TMP/grown")"
}

# on_and_off "WHERE [OPTION...]"...: registers probes, and unregisters them
on_and_off() {
	id=0
	for probe; do
		ctl add $id "$probe" || return
		id=$((id + 1))
	done
	while [ $id -gt 0 ]; do
		id=$((id - 1))
		ctl del $id || return
	done
}

refused() {
	ctl_refused add 0 kp_tgt_nokprobe
	ctl_refused add 0 kp_no_such_symbol
	ctl_refused add 0 kp_tgt_plain+1000000
	# This address is in the middle of an instruction.
	! is_x86 || ctl_refused add 0 kp_tgt_plain+1
	ctl_refused add 0 kp_tgt_function+1 return
}

switched() {
	ctl_add "0 kp_tgt_plain disabled" "1 kp_tgt_function disabled post"
	for command in enable disable enable; do
		ctl $command 0
		ctl $command 1
	done
	ctl_del 0 1
}

disables_itself() {
	ctl_add "0 kp_tgt_plain once" "1 kp_tgt_function once"
	call_target 2
	ctl_del 0 1
}

calls_return() {
	ctl_add "0 kp_tgt_function return" "1 kp_tgt_plain return"
	call_target 3
	ctl_del 0 1
}

has_waiting() {
	[ -e $EXPLAIN ]
}

waits_in_vain() {
	ctl_add "0 kp_no_module:kp_tgt_function wait" "1 kp_no_module:kp_tgt_plain wait return"
	ctl_del 0 1
}

module_comes() {
	ctl_add "0 kp_target2:kp_tgt_function wait" "1 kp_target2:kp_tgt_function wait return"
	load kp_target2
	unload kp_target2
	ctl_del 0 1
}

# Also read only a part of each file: then the kernel frees the rest when the file is closed.
files_are_read() {
	for file in list missed blacklist optimizer pools enabled; do
		[ -e $KPROBES/$file ] || continue
		cat $KPROBES/$file >"$TMP/read"
		read -r _ <$KPROBES/$file || :
	done
}

explain_is_asked() {
	for location in kp_tgt_plain kp_tgt_function+1 kp_tgt_nokprobe kp_no_such_symbol \
			vfs_read; do
		explained $location || :
	done
	# Ask several questions with one open file.
	exec 3<>$EXPLAIN
	for location in 'kp_tgt_*' 'kp_target:kp_tgt_*' vfs_read; do
		echo "$location" >&3 || failed "'$location' cannot be asked"
	done
	exec 3>&-
}

all_off_and_on() {
	ctl_add "0 kp_tgt_plain" "1 kp_tgt_function" "2 kp_tgt_caller post"
	put $KPROBES/enabled 0
	put $KPROBES/enabled 1
	ctl_del 0 1 2
}

jumps_come() {
	ctl_add "0 kp_tgt_caller$behind" "1 kp_tgt_plain" "2 kp_tgt_plain post" "3 vfs_read$behind"
	optimization 1
	ctl_del 0 1 2 3
}

events_come() {
	echo 'p:kpmemory/one kp_tgt_caller' >$TRACEFS/kprobe_events
	echo 'r:kpmemory/two kp_tgt_function' >>$TRACEFS/kprobe_events
	put $TRACEFS/events/kpmemory/enable 1
	call_target 1
	put $TRACEFS/events/kpmemory/enable 0
	: >$TRACEFS/kprobe_events
}

setup
{ [ -w $SLAB/kmalloc-64/shrink ] && [ -r $SLAB/kmalloc-64/objects ]; } ||
	skip_topic "no counts of objects: CONFIG_SLUB_DEBUG is needed"
load kp_target
load kp_ctl
optimization 0
ktap_set_plan 16

check "a probe by a breakpoint" stays on_and_off kp_tgt_plain
check "a probe with a post_handler" stays on_and_off "$inside post"
check "a probe at the entry of a function" stays on_and_off kp_tgt_function
check "the same with a post_handler" stays on_and_off "kp_tgt_function post"
check "probes at one address" stays on_and_off $inside "$inside post" $inside
check "probes that are refused" stays refused
check "probes that are enabled and disabled" stays switched
check_if "has_symbol kprobe_disable_self" "probes that disable themselves" stays disables_itself
check "return probes" stays calls_return
check_if has_waiting "probes that wait for a module" stays waits_in_vain
check_if has_waiting "modules with probes" stays module_comes
check "debugfs files" stays files_are_read
check_if has_waiting "questions to explain" stays explain_is_asked
check "all probes off and on" stays all_off_and_on
check_if has_jumps "jumps" stays jumps_come
check_if has_events "kprobe events" stays events_come

unload kp_ctl
unload kp_target
ktap_finished
