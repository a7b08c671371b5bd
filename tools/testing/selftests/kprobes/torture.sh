#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's torture test of kprobes, kprobe_torture, while other things change that decide
# how probes are reached. In the environment, TORTURE_S=N makes each case last N seconds, and
# TORTURE_SEED=N is the seed of the writers.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

TRACING=/sys/kernel/tracing
SECONDS_EACH=${TORTURE_S:-10}
SEED=${TORTURE_SEED:-1}
FAILSLAB=$DEBUGFS/failslab

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

# verdict: unloads the module, and tells what it says
verdict() {
	# The writers pin the module now and then, whose functions they probe.
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

# Jumps come, stay for some time, and go.
with_jumps() {
	begin || return 1
	while lasts; do
		optimization 1
		sleep 1
		optimization 0
	done
	optimization 1
	verdict
}

# Other users of ftrace come to the entries of the targets, and go.
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
		put $TRACING/current_tracer nop
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

# The allocator fails for the writers now and then.
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

setup
if ! grep -qs /kprobe_torture.ko "/lib/modules/$(uname -r)/modules.dep"; then
	ktap_skip_all "CONFIG_KPROBE_TORTURE_TEST=m is needed"
	exit "$KSFT_SKIP"
fi
ktap_set_plan 5
check "jumps come and go" with_jumps
check "tracers come and go" with_tracers
check "kprobes/enabled switched meanwhile" with_enabled
check "CPUs go offline" with_hotplug
check "memory is short" with_little_memory
ktap_finished
