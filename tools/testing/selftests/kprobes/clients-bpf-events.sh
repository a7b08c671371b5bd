#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BPF programs on perf's events of kprobes, attached by bpf_probe: not every architecture has
# bpftrace.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

BPF_PROBE=$TOPIC_DIR/bpf_probe

# counted WHAT COUNT SUM: bpf_probe has printed these results to $TMP/WHAT
counted() {
	equal "$1: count and sum" "$(grep -E '^(count|sum) ' "$TMP/$1" | paste -sd' ')" \
		"count $2 sum $3"
}

# sees COUNT SUM ARGUMENT...: `bpf_probe ARGUMENT...` counts all COUNT calls, and its sum is SUM
sees() {
	calls=$1
	sum=$2
	shift 2
	run probed "$BPF_PROBE" "$@" "echo $calls >$CLIENTS/calls"
	counted probed "$calls" "$sum"
}

# Two programs and an event of tracefs at the same entry each have their own figures.
together() {
	event_on 'p:both kp_cl_inner'
	cat >"$TMP/together.work" <<-WORK
		echo 50 >$CLIENTS/calls
		$BPF_PROBE kp_cl_inner 'echo 30 >$CLIENTS/calls' >$TMP/inside
		echo 20 >$CLIENTS/calls
	WORK
	run outside "$BPF_PROBE" kp_cl_inner "sh $TMP/together.work"
	counted outside 100 $((1225 + 435 + 190))
	counted inside 30 435
	equal "hits of the event" "$(event_profile both)" "100 0"
	event_off both
}

# Programs get the address of the function, also from several return probes.
function_known() {
	function=$(awk '$3 == "kp_cl_inner" { print $1 }' /proc/kallsyms)
	sees 50 50 -i "$function" kp_cl_inner
	sees 50 50 -r -i "$function" kp_cl_inner
	cat >"$TMP/func_ip.work" <<-WORK
		echo 50 >$CLIENTS/calls
		$BPF_PROBE -r -i $function kp_cl_inner 'echo 30 >$CLIENTS/calls' >$TMP/func_ip_2
	WORK
	run func_ip_1 "$BPF_PROBE" -r -i "$function" kp_cl_inner "sh $TMP/func_ip.work"
	counted func_ip_1 80 80
	counted func_ip_2 30 30
}

overrides() {
	run override "$BPF_PROBE" -e 12 -f 40 kp_cl_failable "echo 100 >$CLIENTS/failable"
	counted override 100 4950
	results_are 40 60 -12
	call failable 100
	results_are 100 0 0
}

# Only functions marked by ALLOW_ERROR_INJECTION() can be overridden.
override_refused() {
	must_fail "$BPF_PROBE" -e 12 -f 0 kp_cl_inner : 2>"$TMP/refused"
	lines_are "what is refused" "$TMP/refused" 'PERF_EVENT_IOC_SET_BPF: Invalid argument' 1
}

listed_in_debugfs() {
	run names "$BPF_PROBE" kp_many_700 \
		"$BPF_PROBE -r kp_many_701 'cat $KPROBES/list >$TMP/names.list'"
	lines_are "kprobes/list" "$TMP/names.list" ' k +kp_many_700[+]' 1
	lines_are "kprobes/list" "$TMP/names.list" ' r +kp_many_701[+]' 1
}

setup_clients
[ -x "$BPF_PROBE" ] || skip_topic "bpf_probe is not built"
[ -e /sys/bus/event_source/devices/kprobe ] || skip_topic "CONFIG_PERF_EVENTS is needed"
load kp_clients
ktap_set_plan 10
check "hits and arguments at a function's entry" sees 1000 499500 kp_cl_inner
check "returns and results" sees 1000 1499500 -r kp_cl_inner
# The first argument is still in its register.
check "hits behind the entry" sees 300 44850 "kp_cl_inner$SECOND_INSN"
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
