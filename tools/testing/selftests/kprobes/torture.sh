#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's torture test of kprobes, kprobe_torture, while other changes affect how probes are
# reached. In the environment, TORTURE_S=N makes each case last N seconds, TORTURE_SEED=N is the
# seed of all random numbers, and TORTURE_CASE=N is the only case to run. With kp_oops on the
# kernel's command line, handlers oops at the end.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

TRACING=/sys/kernel/tracing
SECONDS_EACH=${TORTURE_S:-16}
SEED=${TORTURE_SEED:-1}
ONLY=${TORTURE_CASE:-}
FAILSLAB=$DEBUGFS/failslab
TEXT_HASH=$DEBUGFS/kp_text_hash
TRACES=/sys/module/kprobe_torture/parameters/traces

# begin PARAMETER...: loads the module
begin() {
	echo "kprobes-selftest: torture begins" >/dev/kmsg
	if ! modprobe kprobe_torture "seed=$SEED" stat_interval=5 "$@"; then
		failed "kprobe_torture cannot be loaded"
		return 1
	fi
	LOADED="kprobe_torture $LOADED"
	end=$(($(uptime_s) + SECONDS_EACH))
}

lasts() {
	[ "$(uptime_s)" -lt "$end" ]
}

# verdict: unloads the module, and checks its report
verdict() {
	# The writers pin the module, whose functions they probe, for short times.
	wait_until rmmod kprobe_torture 2>/dev/null
	LOADED=${LOADED#kprobe_torture }
	dmesg | sed -n '/torture begins/h; /kprobe-torture:/H; $ { x; p; }' >"$TMP/said"
	grep 'kprobe-torture: \|!!!' "$TMP/said" | sed 's/.*kprobe-torture: *//' |
		tail -n 12 >"$TMP/lines"
	while read -r line; do
		ktap_print_msg "$line"
	done <"$TMP/lines"
	grep -q 'End of test: SUCCESS' "$TMP/said" || failed "$(grep 'End of test' "$TMP/said" ||
		echo 'no verdict')"
	list_is_empty
}

# Jumps are made, stay for some time, and are removed.
with_jumps() {
	begin || return 1
	while lasts; do
		optimization 1
		sleep 0.3
		optimization 0
	done
	optimization 1
	verdict
}

# Other users of ftrace are added to the entries of the targets, and removed.
with_tracers() {
	if ! grep -qw function $TRACING/available_tracers 2>/dev/null; then
		skip_case "no function tracer"
		return
	fi
	begin || return 1
	while lasts; do
		put $TRACING/set_ftrace_filter ':mod:kprobe_torture'
		put $TRACING/current_tracer function
		put $TRACING/tracing_on 0
		sleep 0.2
		put $TRACES 0
		put $TRACING/current_tracer nop
		put $TRACES 1
		put $TRACING/set_ftrace_filter ''
		put $TRACING/tracing_on 1
	done
	verdict
}

# All probes are disarmed and armed again, so not every call is a hit.
with_enabled() {
	begin exact=0 || return 1
	while lasts; do
		put "$KPROBES/enabled" 0
		put "$KPROBES/enabled" 1
		sleep 0.1
	done
	verdict
}

with_hotplug() {
	if [ ! -e /sys/devices/system/cpu/cpu1/online ]; then
		skip_case "no CPU can go offline"
		return
	fi
	begin onoff_holdoff=1 onoff_interval=50 || return 1
	while lasts; do
		sleep 1
	done
	verdict
}

# Some of the writers' allocations fail.
with_little_memory() {
	if [ ! -d "$FAILSLAB" ]; then
		skip_case "CONFIG_FAILSLAB is not set"
		return
	fi
	begin nomem=1 || return 1
	put "$FAILSLAB/task-filter" Y
	put "$FAILSLAB/probability" 10
	put "$FAILSLAB/interval" 1
	put "$FAILSLAB/times" -1
	put "$FAILSLAB/verbose" 0
	for task in $(pgrep torture_writer); do
		echo 1 >"/proc/$task/make-it-fail"
	done
	while lasts; do
		sleep 1
	done
	put "$FAILSLAB/probability" 0
	verdict
}

# Modules whose functions are probed by name are loaded and unloaded.
with_modules() {
	begin symbols=kp_tgt_function,kp_tgt_caller || return 1
	loaded=0
	while lasts || [ $loaded -lt 3 ]; do
		must insmod "$MODULE_DIR/kp_target.ko"
		LOADED="kp_target $LOADED"
		put /sys/module/kp_target/parameters/calls 50
		loaded=$((loaded + 1))
		# A registration pins the module while it resolves the name.
		wait_until rmmod kp_target 2>/dev/null
		LOADED=${LOADED#kp_target }
	done
	verdict
}

# profile EVENT COLUMN: column 2 has the hits, 3 the missed ones
profile() {
	awk -v name="$1" -v column="$2" '$1 == name { print $column }' $TRACING/kprobe_profile
}

# An intrusion detector watches functions that all tasks call, by return probes with pools of a
# fixed size and entry handlers, and hashes the kernel's text meanwhile. When all probes are
# unregistered, the text is unchanged.
with_watched_functions() {
	if [ ! -e $TRACING/kprobe_events ]; then
		skip_case "no kprobe events"
		return
	fi
	load kp_text_hash
	hash=$(cat $TEXT_HASH)
	watched=
	for name in generic_permission lookup_fast capable do_exit wake_up_new_task \
		override_creds revert_creds begin_new_exec commit_creds set_current_groups \
		do_faccessat vfs_read vfs_write do_filp_open; do
		echo "r40:kp_watch/$name $name \$retval" >>$TRACING/kprobe_events || continue
		watched="$watched $name"
	done 2>/dev/null
	at_least "functions that are watched" "$(echo "$watched" | wc -w)" 8
	begin || return 1
	put $TRACING/events/kp_watch/enable 1
	changed=0
	while lasts || [ "$(profile vfs_read 2)" -lt 10 ]; do
		processes 3
		must ls -lR $KPROBES >/dev/null
		[ "$(cat $TEXT_HASH)" = "$hash" ] || changed=$((changed + 1))
	done
	# It never returns: the instance is free again when the task has ended.
	equal "missed calls of do_exit" "$(profile do_exit 3)" 0
	put $TRACING/events/kp_watch/enable 0
	put $TRACING/kprobe_events ''
	verdict
	at_least "hashes that see probes" $changed 1
	equal "hash of the text" "$(cat $TEXT_HASH)" "$hash"
	unload kp_text_hash
}

# Return handlers oops; lockdep and the ring buffer are off afterwards, until the next boot.
with_oopses() {
	if ! grep -q -w kp_oops /proc/cmdline; then
		skip_case "kp_oops is not on the kernel's command line"
		return
	fi
	put /proc/sys/kernel/panic_on_oops 0
	echo "kprobes-selftest: expect BUG: unable to handle page fault for address: ffff" \
		>/dev/kmsg
	echo "kprobes-selftest: expect Oops: Oops: 0002" >/dev/kmsg
	begin oops=1 || return 1
	while lasts; do
		sleep 1
	done
	verdict
	oopses=$(sed -n 's/.*of handlers that oops \([0-9]*\)$/\1/p' "$TMP/said")
	at_least "handlers that have oopsed" "$oopses" 1
}

# Functions of exceptions, signals, steps and stack traces; those that exist in this kernel are
# probed
HOSTILE_WATCHED="force_sig_fault force_sig_info_to_task get_signal send_user_sigtrap do_group_exit
	arch_ptrace ptrace_resume user_enable_single_step ptrace_write_dr7_bp
	perf_callchain perf_callchain_user perf_bp_event bad_area_nosemaphore
	restore_sigcontext fixup_iopl_exception wake_up_new_task do_wp_page"

# hostile_watch: probes them and their returns, as far as possible
hostile_watch() {
	for name in $HOSTILE_WATCHED; do
		{
			echo "p:kp_hostile/p_$name $name" >>$TRACING/kprobe_events
			echo "r:kp_hostile/r_$name $name" >>$TRACING/kprobe_events
		} 2>/dev/null || :
	done
	put $TRACING/events/kp_hostile/enable 1
}

hostile_forget() {
	put $TRACING/events/kp_hostile/enable 0
	awk '{ hits += $2 } END { print hits + 0 }' $TRACING/kprobe_profile >>"$TMP/hostile_hits"
	put $TRACING/kprobe_events ''
}

# An unprivileged user leads the CPU to the kernel's exception handlers, and each act ends as it
# does without probes.
with_hostile_user() {
	if ! is_x86 || [ ! -e $TRACING/kprobe_events ]; then
		skip_case "no kprobe events, or the acts are not for this processor"
		return
	fi
	has_hostile_user || {
		failed "user_hostile is not built"
		return
	}
	# In less time than that it performs each act several times.
	SECONDS_EACH=${TORTURE_S:-10}
	: >"$TMP/hostile_hits"
	begin || return 1
	start_hostile_user "$SEED"
	while lasts; do
		hostile_watch
		sleep 0.3
		hostile_forget
	done
	end_hostile_user
	verdict
	at_least "hits of what handles them" "$(awk '{ n += $1 } END { print n + 0 }' \
		"$TMP/hostile_hits")" 100
}

# unless_left_out NUMBER CHECK...: runs it, unless TORTURE_CASE is another number
unless_left_out() {
	if [ -n "$ONLY" ] && [ "$ONLY" != "$1" ]; then
		skip_case "left out"
		return
	fi
	shift
	"$@"
}

setup
if ! grep -qs /kprobe_torture.ko "/lib/modules/$(uname -r)/modules.dep"; then
	ktap_skip_all "kprobe_torture is needed, see CONFIG_KPROBE_TORTURE_TEST"
	exit "$KSFT_SKIP"
fi
ktap_set_plan 9
check "jumps come and go" unless_left_out 1 with_jumps
check "tracers come and go" unless_left_out 2 with_tracers
check "kprobes/enabled switched meanwhile" unless_left_out 3 with_enabled
check "CPUs go offline" unless_left_out 4 with_hotplug
check "memory is short" unless_left_out 5 with_little_memory
check "modules come and go" unless_left_out 6 with_modules
check "many functions are watched" unless_left_out 7 with_watched_functions
check "handlers oops" unless_left_out 8 with_oopses
check "a user is hostile" unless_left_out 9 with_hostile_user
ktap_finished
