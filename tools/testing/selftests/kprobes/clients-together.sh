#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# All clients on one function: a kprobe, a kretprobe and an fprobe event, the function tracer,
# function_graph and a BPF program are attached and detached in shuffled orders while threads call
# the function. After each step, attached clients have to see all calls, and the others none.
#
# Then clients that replace return addresses share one function. All orders in which two of them can
# be attached are tested, and some orders of more clients.
#
# In the environment, TOGETHER_ROUNDS=N sets the number of shuffled orders, TOGETHER_SEED=N sets the
# seed, and TOGETHER_ORDERS=all tests all orders of any number of clients that replace return
# addresses.
# shellcheck disable=SC2016 # the variables are the kernel's

. "$(dirname "$0")/functions-clients.sh"

rounds=${TOGETHER_ROUNDS:-3}
seed=${TOGETHER_SEED:-$(date +%s)}
some_or_all=${TOGETHER_ORDERS:-some}
INSTANCES=$TRACEFS/instances
BPF_PROBE=$TOPIC_DIR/bpf_probe
TAG=7777777

# Each client has an instance of tracefs, with its own buffer.
instance() {
	echo "$INSTANCES/kp_$1"
}

# event_attach CLIENT PROBE: defines the event, and enables it in the client's instance
event_attach() {
	echo "$2" >>$TRACEFS/dynamic_events && echo 1 >"$(instance "$1")/events/kp_tg/$1/enable"
}

event_detach() {
	echo 0 >"$(instance "$1")/events/kp_tg/$1/enable" &&
		echo "-:kp_tg/$1" >>$TRACEFS/dynamic_events
}

tracer_attach() {
	echo kp_cl_inner >"$(instance "$1")/set_ftrace_filter" &&
		echo "$1" >"$(instance "$1")/current_tracer"
}

tracer_detach() {
	echo nop >"$(instance "$1")/current_tracer" && echo >"$(instance "$1")/set_ftrace_filter"
}

# bpftrace prints its count when it ends. It counts only calls with the argument $TAG.
bpf_attach() {
	bpf_wanted=0
	program_attach bpf bpftrace -e "kprobe:kp_cl_inner /arg0 == $TAG/ { @tagged = count(); }" -c
}

bpf_detach() {
	program_detach bpf || return 1
	lines_are "BPF's count" "$TMP/bpf" "^@tagged: $bpf_wanted\$" 1
}

attach() {
	case $1 in
	kprobe) event_attach kprobe "p:kp_tg/kprobe kp_cl_inner arg=$FIRST_ARG:s32" ;;
	kretprobe) event_attach kretprobe 'r:kp_tg/kretprobe kp_cl_inner arg=$arg1:s32' ;;
	fprobe) event_attach fprobe 'f:kp_tg/fprobe kp_cl_inner arg=$arg1:s32' ;;
	offset)
		event_attach offset "p:kp_tg/offset kp_cl_inner$SECOND_INSN arg=$FIRST_ARG:s32"
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

# seen CLIENT: prints the number of calls that the client has seen since its buffer was cleared. No
# thread calls the function now. If a call has moved to another CPU, function_graph prints its end
# in a line of its own, `} /* kp_cl_inner */`: leave these lines out.
seen() {
	case $1 in
	kretprobe) grep -c -E "kretprobe: .* arg=$TAG\$" "$(instance "$1")/trace" ;;
	kprobe | fprobe | offset) grep -c -E " $1: .* arg=$TAG\$" "$(instance "$1")/trace" ;;
	*) grep -v '} /\*' "$(instance "$1")/trace" | grep -c kp_cl_inner ;;
	esac || :
}

# all_see STEP: checks that each attached client sees nine calls, and the others none
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
			# bpf_detach checks the count of bpf.
			bpf_wanted=$((${bpf_wanted:-0} + wanted))
			continue
		fi
		equal "$1: calls that $client sees" "$(seen "$client")" $wanted || bad=1
	done
	return $bad
}

# shuffled WORD...: prints the words in an order that $seed gives
shuffled() {
	echo "$@" | awk -v seed="$seed" '{
		srand(seed)
		for (; NF; NF--) {
			i = int(rand() * NF) + 1
			print $i
			$i = $NF
		} }'
}

# Attach or detach a random client until all have been attached and detached.
round() {
	attached=
	bad_round=0
	seed=$((seed + 1))
	# shellcheck disable=SC2086 # words
	for client in $(shuffled $clients $clients); do
		# Detach function_graph without load, since Linux 6.12.117 frees the hash of
		# functions that function_graph traces while other CPUs may be reading it, see
		# ftrace_shutdown_subops().
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

# The clients below replace return addresses. The tests check that each of them still sees the
# caller to which the function returns, and that stack traces begin with the same frames as they do
# without other clients.

return_attach() {
	case $1 in
	kretprobe) event_attach kretprobe "r:kp_tg/kretprobe $2" ;;
	fprobe) event_attach fprobe "f:kp_tg/fprobe $2%return" ;;
	function_graph)
		put "$(instance function_graph)/set_ftrace_filter" "$2" &&
			put "$(instance function_graph)/current_tracer" function_graph
		;;
	bpf) program_attach bpf "$BPF_PROBE" -s -r "$2" ;;
	multi) program_attach multi "$BPF_PROBE" -s -rm "$2" ;;
	fexit) program_attach fexit "$BPF_PROBE" -s -rx "$2" ;;
	esac
	case $1 in
	kretprobe | fprobe)
		put "$(instance "$1")/events/kp_tg/$1/trigger" stacktrace &&
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
		echo '!stacktrace' >"$(instance "$1")/events/kp_tg/$1/trigger" || :
		event_detach "$1"
		;;
	function_graph) tracer_detach "$1" ;;
	bpf | multi | fexit) program_detach "$1" ;;
	esac
}

# perf_events CLIENT...: prints perf's options for the clients that are events
perf_events() {
	for client; do
		case $client in
		kretprobe | fprobe) echo "-e kp_tg:$client" ;;
		esac
	done
}

# nine_calls CLIENT...: calls the function nine times; perf records the stacks of attached events
nine_calls() {
	rm -f "$TMP/perf.script"
	perf_events=$(perf_events "$@")
	if [ -z "$perf_events" ] || ! command -v perf >/dev/null; then
		call tagged 9
		return
	fi
	# shellcheck disable=SC2086 # words
	run perf.record perf record -q -o "$TMP/perf.data" -g $perf_events \
		sh -c "echo 9 >$CLIENTS/tagged" &&
		run perf.script perf script -i "$TMP/perf.data" -F event,ip,sym
}

# caller_seen CLIENT: checks that CLIENT reported nine calls to kp_cl_inner() from kp_cl_middle()
caller_seen() {
	case $1 in
	kretprobe | fprobe)
		lines_are "$1's events" "$TMP/$1.callers" \
			" $1: \\(kp_cl_middle[+].* <- kp_cl_inner[)]" 9
		# Frames of the handlers and of the trampoline that called them may come first.
		lines_are "$1's stacks" "$TMP/$1.callers" '^ => kp_cl_middle$' 9
		in_order "$TMP/$1.callers" '^ => kp_cl_middle$' '^ => kp_cl_outer$'
		lines_are "$1's unknown frames" "$TMP/$1.callers" 'unknown' 0
		[ -e "$TMP/perf.script" ] || return 0
		# Each event, with its frames, is a paragraph. perf may not know the names yet when
		# it takes the first sample: take them from another sample with the same addresses.
		awk -v event="kp_tg:$1:" 'BEGIN { RS = ""; FS = "\n" } index($1, event) {
				line[++n] = $2 " " $3
				split(line[n], frame, " ")
				where[n] = frame[1] " " frame[3]
				if (frame[2] != "[unknown]")
					named[where[n]] = line[n]
			}
			END { for (i = 1; i <= n; i++)
				print (where[i] in named ? named[where[i]] : line[i]) }' \
			"$TMP/perf.script" >"$TMP/perf.callers"
		lines_are "stacks of $1 that perf took" "$TMP/perf.callers" \
			' kp_cl_middle[[:space:]]+[0-9a-f]+ kp_cl_outer$' 9
		;;
	bpf | multi)
		in_order "$TMP/$1" '^stack$' '^ kp_cl_middle[+]' '^ kp_cl_outer[+]'
		bpf_counted "$1"
		;;
	fexit)
		# The function's entry calls the trampoline, which calls the program.
		in_order "$TMP/$1" '^ bpf_trampoline_' '^ kp_cl_inner[+]' '^ kp_cl_middle[+]' \
			'^ kp_cl_outer[+]'
		lines_are "unknown frames of $1" "$TMP/$1" '[?]|_trampoline[+]|return_to_handler' 0
		bpf_counted "$1"
		;;
	esac
}

# bpf_counted CLIENT: checks that the program counted nine hits, all with the same stack
bpf_counted() {
	lines_are "hits of $1" "$TMP/$1" '^count 9$' 1
	lines_are "stacks of $1" "$TMP/$1" '^stack$' 1
}

# callers_seen CLIENT...: attaches the clients in this order, and checks that each sees the caller
callers_seen() {
	for client; do
		must return_attach "$client" kp_cl_inner
	done
	nine_calls "$@"
	for client; do
		must return_detach "$client"
		caller_seen "$client"
	done
}

# sleeper_seen CLIENT...: checks that a task that sleeps in the function has the same stack as
# without clients
sleeper_seen() {
	for client; do
		must return_attach "$client" hrtimer_nanosleep
	done
	sleep 1000 &
	sleeper=$!
	wait_until grep -q hrtimer_nanosleep "/proc/$sleeper/stack"
	# The function's entry calls fexit's trampoline, which calls the rest of the function: leave
	# out the trampoline and the entry.
	awk '/bpf_trampoline_/ { getline; next } { print }' "/proc/$sleeper/stack" >"$TMP/stack.now"
	must kill "$sleeper"
	wait "$sleeper" 2>/dev/null || :
	for client; do
		must return_detach "$client"
	done
	[ $# -gt 0 ] || mv "$TMP/stack.now" "$TMP/stack"
	[ $# -eq 0 ] || must diff "$TMP/stack" "$TMP/stack.now"
}

# all_orders SIZE CLIENT...: prints all orders of SIZE clients, or of any number if SIZE is 0, each
# as a word with commas
all_orders() {
	echo "$*" | awk '
		function extend(order, size, i) {
			if (size && (wanted == size || !wanted))
				print substr(order, 2)
			if (size == wanted && wanted)
				return
			for (i = 2; i <= NF; i++) {
				if (used[i])
					continue
				used[i] = 1
				extend(order "," $i, size + 1)
				used[i] = 0
			}
		}
		{ wanted = $1; extend("", 0) }'
}

# return_orders CLIENT...: prints the orders to be tested
return_orders() {
	all_orders 2 "$@"
	if [ "$some_or_all" = all ]; then
		# Leave out bpf, which attaches through a return probe like the event kretprobe, and
		# orders of two clients, which are printed already.
		# shellcheck disable=SC2046 # words
		all_orders 0 $(printf '%s\n' "$@" | grep -vx bpf) | grep -v '^[a-z_]*,[a-z_]*$'
	elif [ $# -gt 2 ]; then
		# All clients in the given order, and in reverse
		all_orders $# "$@" | sed -n '1p; $p'
	fi
}

# bpf_has OPTION: can bpf_probe attach to a function of kp_clients with this option?
bpf_has() {
	"$BPF_PROBE" -s "$1" kp_cl_inner true >"$TMP/bpf_has" 2>&1 && return
	status=$?
	[ $status -eq "$KSFT_SKIP" ] || ktap_print_msg "bpf_probe $1: $(head -n 3 "$TMP/bpf_has")"
	return 1
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
[ ! -x "$BPF_PROBE" ] || ! bpf_has -r || returns="$returns bpf"
[ ! -x "$BPF_PROBE" ] || ! bpf_has -rm || returns="$returns multi"
[ ! -x "$BPF_PROBE" ] || [ ! -e /sys/kernel/btf/vmlinux ] || ! bpf_has -rx ||
	returns="$returns fexit"
# shellcheck disable=SC2086 # words
orders=$(return_orders $returns)
# bpf attaches through a return probe, as kretprobe does, so the stack of a sleeping task would be
# the same: leave bpf out there.
# shellcheck disable=SC2046,SC2086
sleeper_orders=$(return_orders $(printf '%s\n' $returns | grep -vx bpf))
ktap_set_plan $((rounds + 3 + $(echo "$orders $sleeper_orders" | wc -w)))
ktap_print_msg "$clients; returns: $returns; TOGETHER_SEED=$seed"
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
