#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# All clients on one function: a kprobe, a kretprobe and an fprobe event, the function tracer,
# function_graph and a BPF program are attached and detached in shuffled orders while threads call
# the function. After each step, attached clients have to see all calls, and the others none.
#
# TOGETHER_ROUNDS and TOGETHER_SEED in the environment set the number of rounds and the seed.
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

# Each client has an instance of tracefs, with its own buffer.
instance() {
	echo "$INSTANCES/kp_$1"
}

# event_attach CLIENT PROBE: defines and enables it
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

# bpftrace prints its count when it ends; it counts only calls that are tagged.
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

# Prints the calls seen since the buffer was cleared; the calling threads are asleep now.
seen() {
	case $1 in
	kretprobe) grep -c -E "kretprobe: .* arg=$TAG\$" "$(instance "$1")/trace" ;;
	kprobe | fprobe | offset) grep -c -E " $1: .* arg=$TAG\$" "$(instance "$1")/trace" ;;
	*) grep -c 'kp_cl_inner' "$(instance "$1")/trace" ;;
	esac || :
}

# all_see STEP: each attached client sees nine calls
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
			# bpf's count is checked when it is detached.
			bpf_wanted=$((${bpf_wanted:-0} + wanted))
			continue
		fi
		equal "$1: calls that $client sees" "$(seen "$client")" $wanted || bad=1
	done
	return $bad
}

# random N: sets a number below N
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	echo $((seed / 65536 % $1))
}

# Attach or detach a random client until each has been both.
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
		# Linux 6.12.117 frees the hash of functions that function_graph traces while
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

# The rest is about clients that replace return addresses: the address that a call returns to, and
# the first frames of stacks, are the same as without other clients.

return_attach() {
	case $1 in
	kretprobe) event_attach kretprobe "r:kp/kretprobe $2" ;;
	fprobe) event_attach fprobe "f:kp/fprobe $2%return" ;;
	function_graph)
		put "$(instance function_graph)/set_ftrace_filter" "$2" &&
			put "$(instance function_graph)/current_tracer" function_graph
		;;
	bpf) bpf_stacks "kretprobe:$2" ;;
	multi) bpf_stacks "kretprobe:$2*" ;;
	esac
	case $1 in
	kretprobe | fprobe)
		put "$(instance "$1")/events/kp/$1/trigger" stacktrace &&
			put "$(instance "$1")/trace" ''
		;;
	esac
}

return_detach() {
	case $1 in
	kretprobe | fprobe)
		# Removing an event clears the buffer.
		cp "$(instance "$1")/trace" "$TMP/$1.callers"
		# An event with a trigger cannot be removed.
		echo '!stacktrace' >"$(instance "$1")/events/kp/$1/trigger" || :
		event_detach "$1"
		;;
	function_graph) tracer_detach "$1" ;;
	bpf | multi)
		rm -f "$TMP/bpf.up"
		wait "$bpf_pid"
		;;
	esac
}

bpf_stacks() {
	cat >"$TMP/bpf.work" <<-WORK
		touch $TMP/bpf.up
		while [ -e $TMP/bpf.up ]; do
			sleep 0.2
		done
	WORK
	bpftrace -e "$1 { @[kstack(3)] = count(); }" -c "/bin/sh $TMP/bpf.work" >"$TMP/bpf" 2>&1 &
	bpf_pid=$!
	wait_until test -e "$TMP/bpf.up"
}

# caller_seen CLIENT: what it reports of nine calls of kp_cl_inner(), made by kp_cl_middle()
caller_seen() {
	case $1 in
	kretprobe | fprobe)
		lines_are "$1's events" "$TMP/$1.callers" \
			" $1: \\(kp_cl_middle[+].* <- kp_cl_inner[)]" 9
		# The handlers and the trampoline that has called them may precede.
		lines_are "$1's stacks" "$TMP/$1.callers" '^ => kp_cl_middle$' 9
		in_order "$TMP/$1.callers" '^ => kp_cl_middle$' '^ => kp_cl_outer$'
		lines_are "$1's unknown frames" "$TMP/$1.callers" 'unknown' 0
		;;
	bpf | multi)
		in_order "$TMP/bpf" '^@\[$' '^ +kp_cl_middle[+]' '^ +kp_cl_outer[+]'
		lines_are "BPF's stacks" "$TMP/bpf" ']: 9$' 1
		;;
	esac
}

# callers_seen CLIENT...: attaches them in this order
callers_seen() {
	for client; do
		must return_attach "$client" kp_cl_inner
	done
	call tagged 9
	for client; do
		must return_detach "$client"
		caller_seen "$client"
	done
}

# sleeper_seen CLIENT...: a task that sleeps in the function has the same stack as without clients
sleeper_seen() {
	for client; do
		must return_attach "$client" hrtimer_nanosleep
	done
	sleep 1000 &
	sleeper=$!
	wait_until grep -q hrtimer_nanosleep "/proc/$sleeper/stack"
	cat "/proc/$sleeper/stack" >"$TMP/stack.now"
	must kill "$sleeper"
	wait "$sleeper" || :
	for client; do
		must return_detach "$client"
	done
	[ $# -gt 0 ] || mv "$TMP/stack.now" "$TMP/stack"
	[ $# -eq 0 ] || must diff "$TMP/stack" "$TMP/stack.now"
}

# Orders of clients, as words with commas. BPF's is a return probe, or an fprobe (multi).
return_orders() {
	for first in $returns; do
		for second in $returns; do
			case $first,$second in
			bpf,multi | multi,bpf) ;;
			*) [ "$first" = "$second" ] || echo "$first,$second" ;;
			esac
		done
	done
	case $returns in
	*fprobe*function_graph*)
		echo kretprobe,fprobe,function_graph
		echo function_graph,fprobe,kretprobe
		;;
	esac
	case $returns in
	*fprobe*multi*) echo multi,kretprobe,fprobe ;;
	esac
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
returns=kretprobe
! grep -q 'f\[:' $TRACEFS/README || returns="$returns fprobe"
! grep -qw function_graph $TRACEFS/available_tracers || returns="$returns function_graph"
sleeper_orders=$(return_orders)
! command -v bpftrace >/dev/null || returns="$returns bpf multi"
orders=$(return_orders)
ktap_set_plan $((rounds + 3 + $(echo "$orders $sleeper_orders" | wc -w)))
ktap_print_msg "$clients; TOGETHER_SEED=$seed"
i=0
while [ $i -lt "$rounds" ]; do
	i=$((i + 1))
	check "round $i" round
done
for order in $orders; do
	# shellcheck disable=SC2046 # words
	check "callers seen by $order" callers_seen $(echo "$order" | tr , ' ')
done
check "stack of a task that sleeps" sleeper_seen
for order in $sleeper_orders; do
	# shellcheck disable=SC2046 # words
	check "stack of a task that sleeps, $order" sleeper_seen $(echo "$order" | tr , ' ')
done
for client in $clients; do
	[ "$client" = bpf ] || rmdir "$(instance "$client")"
done
unload kp_clients
check "no event and no probe is left" no_events
check "kp_clients can be loaded again" load kp_clients
unload kp_clients
ktap_finished
