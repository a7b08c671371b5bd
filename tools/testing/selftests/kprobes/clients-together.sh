#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# All clients on one function: a kprobe, a kretprobe and an fprobe event, the function
# tracer, function_graph and a BPF program come and go in shuffled orders while threads
# call the function. After each step, those that are there have to see all calls, and
# those that are not, none.
#
# TOGETHER_ROUNDS and TOGETHER_SEED in the environment.
# shellcheck disable=SC2016 # the variables are the kernel's
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"
# shellcheck source=tools/testing/selftests/kprobes/functions-clients.sh
. "$(dirname "$0")/functions-clients.sh"

rounds=${TOGETHER_ROUNDS:-3}
seed=${TOGETHER_SEED:-$(date +%N | sed 's/^0*//')}
INSTANCES=$TRACEFS/instances
TAG=7777777

# Each has an instance of tracefs, with its own buffer.
instance() {
	echo "$INSTANCES/kp_$1"
}

# event_attach CLIENT PROBE
event_attach() {
	echo "$2" >>$TRACEFS/dynamic_events &&
		echo 1 >"$(instance "$1")/events/kp/$1/enable"
}

event_detach() {
	echo 0 >"$(instance "$1")/events/kp/$1/enable" &&
		echo "-:kp/$1" >>$TRACEFS/dynamic_events
}

tracer_attach() {
	echo kp_cl_inner >"$(instance "$1")/set_ftrace_filter" &&
		echo "$1" >"$(instance "$1")/current_tracer"
}

tracer_detach() {
	echo nop >"$(instance "$1")/current_tracer" &&
		echo >"$(instance "$1")/set_ftrace_filter"
}

# bpftrace says what it counted when it ends; it counts only calls that are tagged.
bpf_attach() {
	cat >"$TMP/bpf.work" <<-WORK
		touch $TMP/bpf.up
		while [ -e $TMP/bpf.up ]; do
			sleep 0.2
		done
	WORK
	bpftrace -e "kprobe:kp_cl_inner /arg0 == $TAG/ { @tagged = count(); }" \
		-c "/bin/sh $TMP/bpf.work" \
		>"$TMP/bpf" 2>&1 &
	bpf_pid=$!
	bpf_wanted=0
	wait_until test -e "$TMP/bpf.up"
}

bpf_detach() {
	rm -f "$TMP/bpf.up"
	wait "$bpf_pid" || return 1
	lines_are "BPF's count" "$TMP/bpf" "^@tagged: $bpf_wanted\$" 1
}

attach() {
	case $1 in
	kprobe) event_attach kprobe "p:kp/kprobe kp_cl_inner arg=$FIRST_ARG:s32" ;;
	kretprobe) event_attach kretprobe 'r:kp/kretprobe kp_cl_inner arg=$arg1:s32' ;;
	fprobe) event_attach fprobe 'f:kp/fprobe kp_cl_inner arg=$arg1:s32' ;;
	offset)
		event_attach offset "p:kp/offset kp_cl_inner$SECOND_INSN arg=$FIRST_ARG:s32"
		;;
	function | function_graph) tracer_attach "$1" ;;
	bpf) bpf_attach ;;
	esac
}

detach() {
	case $1 in
	kprobe | kretprobe | fprobe | offset) event_detach "$1" ;;
	function | function_graph) tracer_detach "$1" ;;
	bpf) bpf_detach ;;
	esac
}

# The calls seen since the buffer was cleared; the threads that call are asleep now.
seen() {
	case $1 in
	kretprobe) grep -c -E "kretprobe: .* arg=$TAG\$" "$(instance "$1")/trace" ;;
	kprobe | fprobe | offset) grep -c -E " $1: .* arg=$TAG\$" "$(instance "$1")/trace" ;;
	*) grep -c 'kp_cl_inner' "$(instance "$1")/trace" ;;
	esac || :
}

# all_see STEP: nine calls
all_see() {
	for client in $clients; do
		[ "$client" = bpf ] || echo >"$(instance "$client")/trace"
	done
	call tagged 9 || return 1
	bad=0
	for client in $clients; do
		wanted=0
		case " $attached " in
		*" $client "*) wanted=9 ;;
		esac
		if [ "$client" = bpf ]; then
			# Checked when it goes.
			bpf_wanted=$((${bpf_wanted:-0} + wanted))
			continue
		fi
		equal "$1: calls that $client sees" "$(seen "$client")" $wanted || bad=1
	done
	return $bad
}

# random N: a number below N
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	echo $((seed / 65536 % $1))
}

# One of the clients at a time, attached or detached, till each was both.
round() {
	attached=
	bad_round=0
	todo=
	for client in $clients $clients; do
		todo="$todo $client"
	done
	while [ -n "$todo" ]; do
		# shellcheck disable=SC2086 # words
		set -- $todo
		seed=$(((seed * 1103515245 + 12345) % 2147483648))
		shift $((seed / 65536 % $#))
		client=$1
		todo=$(echo "$todo" | awk -v client="$client" '{
			for (i = 1; i <= NF; i++)
				if ($i == client && !gone) gone = 1
				else printf " %s", $i }')
		# Linux 6.12.117 frees the hash that says what function_graph traces while
		# others may be reading it, see ftrace_shutdown_subops().
		case "$client $attached " in
		"function_graph"*" function_graph "*) call load 0 || bad_round=1 ;;
		*) call load 2 || bad_round=1 ;;
		esac
		case " $attached " in
		*" $client "*)
			what="detach $client"
			detach "$client" || { ktap_print_msg "$what failed"; bad_round=1; }
			attached=$(echo " $attached " | sed "s/ $client / /")
			;;
		*)
			what="attach $client"
			attach "$client" || { ktap_print_msg "$what failed"; bad_round=1; }
			attached="$attached $client"
			;;
		esac
		call load 0 || bad_round=1
		all_see "$what" || bad_round=1
	done
	equal "wrong results" "$(cat $CLIENTS/load)" 0 || bad_round=1
	return $bad_round
}

setup_clients
load kp_clients
clients="kprobe kretprobe offset"
! grep -q 'f\[:' $TRACEFS/README || clients="$clients fprobe"
for tracer in function function_graph; do
	! grep -qw "$tracer" $TRACEFS/available_tracers || clients="$clients $tracer"
done
! command -v bpftrace >/dev/null || clients="$clients bpf"
for client in $clients; do
	[ "$client" = bpf ] || mkdir "$(instance "$client")"
done
ktap_set_plan $((rounds + 2))
ktap_print_msg "$clients; TOGETHER_SEED=$seed"
i=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	check "round $i" round
done
for client in $clients; do
	[ "$client" = bpf ] || rmdir "$(instance "$client")"
done
unload kp_clients
check "no event and no probe is left" no_events
check "kp_clients can be loaded again" load kp_clients
unload kp_clients
ktap_finished
