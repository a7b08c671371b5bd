#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs the module kprobe_torture while settings and tracers change that affect how probes are hit.
# In the environment, TORTURE_S=N is the seconds of each case, TORTURE_SEED=N the seed, and
# TORTURE_CASE=N the only case to run. Case 8, in which handlers oops, needs kp_oops on the kernel's
# command line.

. "$(dirname "$0")/functions.sh"

SECONDS_EACH=${TORTURE_S:-16}
SEED=${TORTURE_SEED:-1}
ONLY=${TORTURE_CASE:-}
FAILSLAB=$DEBUGFS/failslab
TEXT_HASH=/sys/module/kp_text_hash/parameters/hash
TRACES=/sys/module/kprobe_torture/parameters/traces
BOOST=/sys/module/kprobes/parameters/boost
RCU_NORMAL=/sys/kernel/rcu_normal
BPF_PROBE=$TOPIC_DIR/bpf_probe
LOAD=/sys/module/kprobe_torture/parameters/load
SLEEPER=$TOPIC_DIR/user_sleeper

begin() {
	log_mark
	must modprobe kprobe_torture "seed=$SEED" stat_interval=5 "$@"
	LOADED="kprobe_torture $LOADED"
	end=$(($(uptime_s) + SECONDS_EACH))
}

lasts() {
	[ "$(uptime_s)" -lt "$end" ]
}

last() {
	while lasts; do
		sleep 1
	done
}

# verdict: unloads the module, and checks its report
verdict() {
	# Repeat rmmod: the writers pin the module for short times, since they probe its functions.
	wait_until rmmod kprobe_torture 2>/dev/null
	LOADED=${LOADED#kprobe_torture }
	log_since | grep 'kprobe-torture:' >"$TMP/said" || :
	sed 's/.*kprobe-torture: */# /' "$TMP/said" | tail -n 12
	grep -q 'End of test: SUCCESS' "$TMP/said" || failed "$(grep 'End of test' "$TMP/said" ||
		echo 'no verdict')"
	list_is_empty
}

# Switch all the time between copies of instructions in slots, boosted or single-stepped, and in
# detour buffers. A task sleeps in page faults of copies.
with_jumps() {
	begin
	: >"$TMP/sleeper"
	sleeper=
	if [ -w $LOAD ] && [ -x "$SLEEPER" ]; then
		"$SLEEPER" $LOAD >"$TMP/sleeper" 2>&1 &
		sleeper=$!
	fi
	[ ! -w $BOOST ] || keep $BOOST
	boost=0
	while lasts; do
		[ ! -w $BOOST ] || put $BOOST $boost
		boost=$((1 - boost))
		optimization 1
		sleep 0.3
		optimization 0
	done
	[ ! -w $BOOST ] || put_back $BOOST
	optimization 1
	if [ -n "$sleeper" ]; then
		must kill $sleeper
		rc=0
		wait $sleeper || rc=$?
		ktap_print_msg "a task with user memory: $(cat "$TMP/sleeper")"
		equal "exit status of user_sleeper" $rc 0
		at_least "page faults in which it slept" \
			"$(sed -n 's/^writes [0-9]* slept //p' "$TMP/sleeper")" 1
	fi
	verdict
}

with_tracers() {
	has_tracer function || skip_case "no function tracer" || return 0
	begin
	while lasts; do
		for tracer in function function_graph; do
			has_tracer $tracer || continue
			put_in $TRACEFS set_ftrace_filter=':mod:kprobe_torture' \
				current_tracer=$tracer tracing_on=0
			sleep 0.2
			put $TRACES 0
			put $TRACEFS/current_tracer nop
			put $TRACES 1
			put_in $TRACEFS set_ftrace_filter= tracing_on=1
		done
	done
	verdict
}

# Disarm all probes and arm them again, so that not every call is a hit.
with_enabled() {
	begin exact=0
	while lasts; do
		put_in "$KPROBES" enabled=0 enabled=1
		sleep 0.1
	done
	verdict
}

# Let CPUs go offline and come back. Every other second, no grace period is expedited.
with_hotplug() {
	[ -e /sys/devices/system/cpu/cpu1/online ] || skip_case "no CPU can go offline" || return 0
	begin onoff_holdoff=1 onoff_interval=50
	[ ! -w $RCU_NORMAL ] || keep $RCU_NORMAL
	normal=1
	while lasts; do
		[ ! -w $RCU_NORMAL ] || put $RCU_NORMAL $normal
		normal=$((1 - normal))
		sleep 1
	done
	[ ! -w $RCU_NORMAL ] || put_back $RCU_NORMAL
	verdict
}

with_little_memory() {
	[ -d "$FAILSLAB" ] || skip_case "CONFIG_FAILSLAB is not set" || return 0
	begin nomem=1
	put_in "$FAILSLAB" task-filter=Y probability=10 interval=1 times=-1 verbose=0 \
		ignore-gfp-wait=N
	writers=0
	for task in /proc/[0-9]*; do
		grep -q -x torture_writer "$task/comm" 2>/dev/null || continue
		put "$task/make-it-fail" 1
		writers=$((writers + 1))
	done
	at_least "writers whose allocations fail" $writers 4
	last
	put "$FAILSLAB/probability" 0
	verdict
	failures=$(sed -n 's/.* no memory \([0-9]*\) .*/\1/p' "$TMP/said" | tail -n 1)
	at_least "registrations without memory" "$failures" 1
}

with_modules() {
	begin symbols=kp_tgt_function,kp_tgt_caller
	loaded=0
	while lasts || [ $loaded -lt 3 ]; do
		load kp_target
		put /sys/module/kp_target/parameters/calls 50
		loaded=$((loaded + 1))
		# Repeat rmmod: a registration pins the module while it resolves the name.
		wait_until rmmod kp_target 2>/dev/null
		LOADED=${LOADED#kp_target }
	done
	verdict
}

# Do what an intrusion detector does: watch functions that all tasks call, with return probes that
# have a fixed number of instances, and hash the kernel's text. At the end, the text must be
# unchanged.
with_watched_functions() {
	has_events || skip_case "no kprobe events" || return 0
	load kp_text_hash
	hash=$(cat $TEXT_HASH)
	watched=
	for name in generic_permission lookup_fast capable do_exit wake_up_new_task \
		override_creds revert_creds begin_new_exec commit_creds set_current_groups \
		do_faccessat vfs_read vfs_write do_filp_open; do
		echo "r40:kp_watch/$name $name \$comm" >>$TRACEFS/kprobe_events || continue
		watched="$watched $name"
	done 2>/dev/null
	at_least "functions that are watched" "$(echo "$watched" | wc -w)" 8
	begin
	put $TRACEFS/events/kp_watch/enable 1
	changed=0
	while lasts || [ "$(event_hits vfs_read)" -lt 10 ]; do
		processes 3
		must ls -lR $KPROBES >/dev/null
		[ "$(cat $TEXT_HASH)" = "$hash" ] || changed=$((changed + 1))
	done
	# do_exit() never returns: its instance is free again when the task has ended.
	equal "missed calls of do_exit" "$(event_profile do_exit | cut -d' ' -f2)" 0
	put $TRACEFS/events/kp_watch/enable 0
	put $TRACEFS/kprobe_events ''
	verdict
	at_least "hashes that see probes" $changed 1
	equal "hash of the text" "$(cat $TEXT_HASH)" "$hash"
	unload kp_text_hash
}

# Return handlers oops; lockdep and the ring buffer are off afterwards, until the next boot.
with_oopses() {
	grep -q -w kp_oops /proc/cmdline ||
		skip_case "kp_oops is not on the kernel's command line" || return 0
	put /proc/sys/kernel/panic_on_oops 0
	echo "kprobes-selftest: expect BUG: unable to handle page fault for address: ffff" \
		>/dev/kmsg
	echo "kprobes-selftest: expect Oops: Oops: 0002" >/dev/kmsg
	begin oops=1
	last
	verdict
	oopses=$(sed -n 's/.*of handlers that oops \([0-9]*\)$/\1/p' "$TMP/said")
	at_least "handlers that have oopsed" "$oopses" 1
}

# Functions of exceptions, signals, steps and stack traces; not all kernels have all of them.
HOSTILE_WATCHED="force_sig_fault force_sig_info_to_task get_signal send_user_sigtrap do_group_exit
	arch_ptrace ptrace_resume user_enable_single_step ptrace_write_dr7_bp
	perf_callchain perf_callchain_user perf_bp_event bad_area_nosemaphore
	restore_sigcontext fixup_iopl_exception wake_up_new_task do_wp_page"

hostile_watch() {
	for name in $HOSTILE_WATCHED; do
		{
			echo "p:kp_hostile/p_$name $name" >>$TRACEFS/kprobe_events
			echo "r:kp_hostile/r_$name $name" >>$TRACEFS/kprobe_events
		} 2>/dev/null || :
	done
	put $TRACEFS/events/kp_hostile/enable 1
}

# hostile_hits: prints the number of hits in all rounds, including the current one
hostile_hits() {
	{ cat "$TMP/hostile_hits"; awk '{ print $2 }' $TRACEFS/kprobe_profile; } |
		awk '{ hits += $1 } END { print hits + 0 }'
}

hostile_are_hit() {
	[ "$(hostile_hits)" -ge 100 ]
}

hostile_remove() {
	put $TRACEFS/events/kp_hostile/enable 0
	hits=$(hostile_hits)
	echo "$hits" >"$TMP/hostile_hits"
	put $TRACEFS/kprobe_events ''
}

# An unprivileged user raises exceptions. Each act must have the same result as without probes.
with_hostile_user() {
	{ is_x86 && has_events; } ||
		skip_case "no kprobe events, or the acts are not for this processor" || return 0
	must has_hostile_user
	SECONDS_EACH=${TORTURE_S:-10}
	: >"$TMP/hostile_hits"
	begin
	start_hostile_user "$SEED"
	# Do at least one round, even if the time is over before it begins.
	while lasts || [ ! -s "$TMP/hostile_hits" ]; do
		hostile_watch
		sleep 0.3
		wait_until hostile_are_hit
		hostile_remove
	done
	end_hostile_user
	verdict
	at_least "hits of what handles them" "$(cat "$TMP/hostile_hits")" 100
}

# with_links_ready: is there a loader of BPF programs, and does the kernel have kprobe.multi links?
with_links_ready() {
	rc=0
	[ -x "$BPF_PROBE" ] || return 1
	grep 'torture_' /proc/kallsyms >"$TMP/symbols"
	: >"$TMP/list"
	awk '$3 == "torture_leaf" { print $1 }' "$TMP/symbols" >"$TMP/one"
	"$BPF_PROBE" -k "$TMP/one" : >"$TMP/linked" 2>&1 || rc=$?
	[ $rc -ne "$KSFT_SKIP" ]
}

# Attach a BPF program and a tracefs event to entries and inside functions. The program and the
# event register all their probes in one batch. Other programs run at the returns of these
# functions, or at entries and returns.
with_links() {
	has_events || skip_case "no kprobe events" || return 0
	SECONDS_EACH=${TORTURE_S:-8}
	begin
	if ! with_links_ready; then
		verdict
		skip_case "no kprobe.multi links" || return 0
	fi
	links=0
	places="torture_called torture_leaf torture_leaf+$BEHIND_FTRACE
		torture_calls torture_calls+$BEHIND_FTRACE
		torture_faults torture_faults+$BEHIND_FTRACE"
	for place in $places; do
		add_event "p:kp_places kprobe_torture:$place"
		awk -v name="${place%+*}" -v offset="${place#"${place%+*}"}" \
			'$3 == name { print $1 offset }' "$TMP/symbols" >>"$TMP/list"
	done
	grep -v -F + "$TMP/list" >"$TMP/entries"
	while lasts || [ $links -lt 6 ]; do
		put $TRACEFS/events/kprobes/kp_places/enable $((links & 1))
		case $((links % 3)) in
		0) must "$BPF_PROBE" -k "$TMP/list" 'sleep 0.1' >"$TMP/places" ;;
		1) must "$BPF_PROBE" -k -r "$TMP/entries" 'sleep 0.1' >"$TMP/returns" ;;
		2) must "$BPF_PROBE" -k -S "$TMP/entries" 'sleep 0.1' >"$TMP/session" ;;
		esac
		links=$((links + 1))
	done
	put $TRACEFS/events/kprobes/kp_places/enable 0
	ktap_print_msg "$links links; $(grep tach "$TMP/places" | paste -sd" ") microseconds"
	equal "places that are hit" "$(grep -c 'count [1-9]' "$TMP/places")" 7
	equal "functions whose returns are hit" "$(grep -c 'count [1-9]' "$TMP/returns")" 4
	equal "functions with hits of a session" "$(grep -c 'count [1-9]' "$TMP/session")" 4
	at_least "hits of the event" "$(event_hits kp_places)" 7
	put $TRACEFS/kprobe_events ''
	verdict
}

# unless_left_out NUMBER CHECK...: runs CHECK, unless TORTURE_CASE is another number
unless_left_out() {
	[ -z "$ONLY" ] || [ "$ONLY" = "$1" ] || skip_case "left out" || return 0
	shift
	"$@"
}

setup
has_module kprobe_torture || skip_topic "kprobe_torture is needed, see CONFIG_KPROBE_TORTURE_TEST"
ktap_set_plan 10
check "jumps come and go" unless_left_out 1 with_jumps
check "tracers come and go" unless_left_out 2 with_tracers
check "kprobes/enabled is written" unless_left_out 3 with_enabled
check "CPUs go offline" unless_left_out 4 with_hotplug
check "memory is short" unless_left_out 5 with_little_memory
check "modules come and go" unless_left_out 6 with_modules
check "many functions are watched" unless_left_out 7 with_watched_functions
check "handlers oops" unless_left_out 8 with_oopses
check "a user is hostile" unless_left_out 9 with_hostile_user
check "places are attached in batches" unless_left_out 10 with_links
ktap_finished
