#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BPF programs on perf's events of kprobes, as bpftrace uses them, but without bpftrace: not every
# architecture has it, and its wildcards (kprobe.multi) use fprobe.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

BPF_PROBE=$TOPIC_DIR/bpf_probe

# counted WHAT COUNT SUM: bpf_probe has printed these results
counted() {
	equal "$1: count and sum" "$(grep -E '^(count|sum) ' "$TMP/$1" | paste -sd' ')" \
		"count $2 sum $3"
}

# probe_calls WHAT COUNT SUM ARGUMENT...: COUNT calls with 0 to COUNT - 1 are seen
probe_calls() {
	probed=$1
	wanted="$2 $3"
	calls=$2
	shift 3
	# shellcheck disable=SC2086 # words
	run "$probed" "$BPF_PROBE" "$@" "echo $calls >$CLIENTS/calls" && counted "$probed" $wanted
}

at_entry() {
	probe_calls entry 1000 499500 kp_cl_inner
}

at_return() {
	probe_calls return 1000 1499500 -r kp_cl_inner
}

# The first argument is still in its register.
behind_entry() {
	probe_calls offset 300 44850 "kp_cl_inner$SECOND_INSN"
}

# Two programs and an event of tracefs at the same entry each have their own figures.
together() {
	echo 'p:both kp_cl_inner' >>$TRACEFS/kprobe_events || return 1
	echo 1 >$TRACEFS/events/kprobes/both/enable
	cat >"$TMP/together.work" <<-WORK
		echo 50 >$CLIENTS/calls
		$BPF_PROBE kp_cl_inner 'echo 30 >$CLIENTS/calls' >$TMP/inside
		echo 20 >$CLIENTS/calls
	WORK
	status=0
	run outside "$BPF_PROBE" kp_cl_inner "sh $TMP/together.work" || status=1
	# The sums are of 50, 30 and 20 calls.
	counted outside 100 $((1225 + 435 + 190)) || status=1
	counted inside 30 435 || status=1
	equal "hits of the event" \
		"$(awk '$1 == "both" { print $2, $3 }' $TRACEFS/kprobe_profile)" "100 0" || status=1
	echo 0 >$TRACEFS/events/kprobes/both/enable
	echo '-:both' >>$TRACEFS/kprobe_events
	return $status
}

# Programs get the address of the function, also from several return probes.
function_known() {
	function=$(awk '$3 == "kp_cl_inner" { print $1 }' /proc/kallsyms)
	probe_calls func_ip 50 50 -i "$function" kp_cl_inner &&
		probe_calls func_ip_ret 50 50 -r -i "$function" kp_cl_inner || return 1
	cat >"$TMP/func_ip.work" <<-WORK
		echo 50 >$CLIENTS/calls
		$BPF_PROBE -r -i $function kp_cl_inner 'echo 30 >$CLIENTS/calls' >$TMP/func_ip_2
	WORK
	run func_ip_1 "$BPF_PROBE" -r -i "$function" kp_cl_inner "sh $TMP/func_ip.work"
	counted func_ip_1 80 80
	counted func_ip_2 30 30
}

# Of 100 calls, those with 40 and more get another result.
overrides() {
	run override "$BPF_PROBE" -e 12 -f 40 kp_cl_failable "echo 100 >$CLIENTS/failable" &&
		counted override 100 4950 &&
		equal "kept" "$(cat $CLIENTS/kept)" 40 &&
		equal "replaced" "$(cat $CLIENTS/replaced)" 60 &&
		equal "result" "$(cat $CLIENTS/result)" -12 || return 1
	put $CLIENTS/failable 100
	equal "kept afterwards" "$(cat $CLIENTS/kept)" 100
}

# Only functions that are marked for it can be overridden.
override_refused() {
	must_fail "$BPF_PROBE" -e 12 -f 0 kp_cl_inner : 2>"$TMP/refused"
	lines_are "what is refused" "$TMP/refused" 'PERF_EVENT_IOC_SET_BPF: Invalid argument' 1
}

# The probes exist while programs are attached.
listed_in_debugfs() {
	run names "$BPF_PROBE" kp_many_700 \
		"$BPF_PROBE -r kp_many_701 'cat $KPROBES/list >$TMP/names.list'" &&
		lines_are "kprobes/list" "$TMP/names.list" ' k +kp_many_700[+]' 1 &&
		lines_are "kprobes/list" "$TMP/names.list" ' r +kp_many_701[+]' 1
}

setup_clients
if [ ! -x "$BPF_PROBE" ]; then
	ktap_skip_all "bpf_probe is not built"
	exit "$KSFT_SKIP"
fi
if [ ! -e /sys/bus/event_source/devices/kprobe ]; then
	ktap_skip_all "CONFIG_PERF_EVENTS is needed"
	exit "$KSFT_SKIP"
fi
load kp_clients
ktap_set_plan 10
check "hits and arguments at a function's entry" at_entry
check "returns and results" at_return
check "hits behind the entry" behind_entry
check "several at one entry" together
check "the function's address" function_known
check "override" overrides
check "override of a function that is not to fail is refused" override_refused
check "attached probes are in list" listed_in_debugfs
unload kp_clients
check "no event and no probe is left" no_events
check "kp_clients can be loaded again" load kp_clients
unload kp_clients
ktap_finished
