#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BPF programs that bpf_probe attaches through kprobe.multi links. The links have the entries of
# functions, whose calls, returns or both run the program; addresses inside functions; or symbols of
# modules that are not loaded.

. "$(dirname "$0")/functions-clients.sh"

BPF_PROBE=$TOPIC_DIR/bpf_probe
INSIDE=+$BEHIND_FTRACE
SLEEPERS=/sys/module/kp_ret_pool/parameters

# read_symbols: writes the symbols that are used here to $TMP/symbols. Reading all of
# /proc/kallsyms takes seconds in an emulator.
read_symbols() {
	used='kp_|__switch_to|asm_exc_int3|bpf_get_current_pid_tgid|vfs_read|register_kprobes'
	grep -E " ($used|symbols_cmp)" /proc/kallsyms >"$TMP/symbols"
}

# many [OFFSET]: prints a thousand functions, or a place in each
many() {
	awk -v i="${1:-}" 'BEGIN { while (n < 1000) printf "kp_many_%03d%s\n", n++, i }'
}

# addresses FUNCTION[+OFFSET]...: writes their addresses to $TMP/list, in the form of bpf_probe -k
addresses() {
	printf '%s\n' "$@" | awk -F '[+]' '
		FILENAME == "-" {
			name[n + 0] = $1
			at[n++] = NF > 1 ? "+" $2 : ""
			wanted[$1]
			next
		}
		{
			split($0, symbol, /[ \t]/)
			if (symbol[3] in wanted)
				start[symbol[3]] = symbol[1]
		}
		END {
			for (i = 0; i < n; i++)
				print start[name[i]] at[i]
		}' - "$TMP/symbols" >"$TMP/list"
}

# linked [OPTION...] COMMAND: attaches the program to the addresses in $TMP/list, runs the command,
# and leaves the results in $TMP/linked. refused ERROR [OPTION...]: checks that the program cannot
# be attached to these addresses because of ERROR, and that no probe is left.
linked() {
	while [ $# -gt 1 ]; do
		linked_options="${linked_options:-} $1"
		shift
	done
	# shellcheck disable=SC2086 # options
	run linked "$BPF_PROBE" -k ${linked_options:-} "$TMP/list" "$1"
	linked_options=
}

refused() {
	refused_as=$1
	shift
	refs=$(cat /sys/module/kp_clients/refcnt)
	must_fail "$BPF_PROBE" -k "$@" "$TMP/list" : 2>"$TMP/refused"
	lines_are "the error" "$TMP/refused" "^BPF_LINK_CREATE: $refused_as" 1
	list_is_empty
	equal "references of the module" "$(cat /sys/module/kp_clients/refcnt)" "$refs"
	no_entries
}

# no_entries: checks that ftrace calls nothing in kp_clients
no_entries() {
	[ -e "$TRACEFS/enabled_functions" ] || return 0
	lines_are enabled_functions "$TRACEFS/enabled_functions" 'kp_cl_' 0
}

# has COOKIE COUNT FUNCTION|0: checks that the program had COUNT hits with this cookie, and that
# bpf_get_func_ip() returned the address of FUNCTION; or 0, as it does inside a function
has() {
	func_ip=0
	[ "$3" = 0 ] || func_ip=$(awk -v f="$3" '$3 == f { print $1 }' "$TMP/symbols")
	lines_are "cookie $1" "$TMP/linked" "^cookie $1 count $2 func_ip $func_ip$" 1
}

# info_is ADDRESSES MISSED: checks the numbers of addresses and of missed hits that the kernel
# reports for the link, and that it reports the same addresses and cookies as were given
info_is() {
	lines_are "the number and missed hits" "$TMP/linked" "^link $1 missed $2$" 1
	lines_are "addresses and cookies" "$TMP/linked" '^info same$' 1
}

# Whatever the order of the addresses is, each keeps its cookie.
mixed() {
	addresses kp_cl_outer "kp_cl_middle$INSIDE" kp_cl_inner "kp_cl_inner$INSIDE"
	linked "echo 100 >$CLIENTS/calls; cp $KPROBES/list $TMP/listed"
	info_is 4 0
	has 0 100 kp_cl_outer
	has 1 100 0
	has 2 100 kp_cl_inner
	has 3 100 0
	lines_are "kprobes/list" "$TMP/listed" . 2
	addresses "kp_cl_inner$INSIDE" kp_cl_inner "kp_cl_middle$INSIDE" kp_cl_outer
	linked "echo 70 >$CLIENTS/calls"
	info_is 4 0
	has 0 70 0
	has 1 70 kp_cl_inner
	has 2 70 0
	has 3 70 kp_cl_outer
	list_is_empty
	no_entries
}

only_inside() {
	addresses "kp_cl_inner$INSIDE"
	linked "echo 40 >$CLIENTS/calls"
	info_is 1 0
	has 0 40 0
}

without_cookies() {
	addresses "kp_cl_outer$INSIDE" kp_cl_middle "kp_cl_inner$INSIDE"
	linked -n "echo 20 >$CLIENTS/calls"
	info_is 3 0
	lines_are "cookies" "$TMP/linked" '^cookie' 1
	lines_are "cookies" "$TMP/linked" '^cookie 0 count 60 ' 1
}

# A program without cookies runs once for a hit, however often the address is in the list. fprobe
# does the same at entries.
duplicates() {
	addresses "kp_cl_inner$INSIDE" kp_cl_middle "kp_cl_inner$INSIDE" kp_cl_middle \
		"kp_cl_inner$INSIDE" "kp_cl_outer$INSIDE"
	linked -n "echo 20 >$CLIENTS/calls"
	info_is 6 0
	lines_are "cookies" "$TMP/linked" '^cookie 0 count 60 ' 1
	linked "echo 20 >$CLIENTS/calls"
	info_is 6 0
	has '[024]' 20 0
	has '[13]' 20 kp_cl_middle
	has 5 20 0
}

# Each instruction is executed in each call, except what follows the return.
every_instruction() {
	size=$(explained kp_cl_outer && answer symbol)
	size=${size##*/}
	size=$((${size%% *}))
	set -- kp_cl_outer
	offset=$BEHIND_FTRACE
	while [ "$offset" -lt "$size" ]; do
		[ "$(explained kp_cl_outer+$offset && answer probe)" != yes ] ||
			set -- "$@" "kp_cl_outer+$offset"
		offset=$((offset + 1))
	done
	addresses "$@"
	linked "echo 30 >$CLIENTS/calls; echo 0 >$CLIENTS/calls"
	info_is $# 0
	at_least "addresses with all hits" "$(grep -c '^cookie .* count 30 ' "$TMP/linked")" 4
	lines_are "addresses with other hits" "$TMP/linked" '^cookie .* count ([^3]|3[^0])' 0
	has 0 30 kp_cl_outer
}

nothing_stays() {
	# inside an instruction
	offset=$BEHIND_FTRACE
	while [ "$(explained kp_cl_middle+$offset && answer probe)" = yes ]; do
		offset=$((offset + 1))
	done
	addresses kp_cl_outer "kp_cl_outer$INSIDE" "kp_cl_middle+$offset" \
		"kp_cl_inner$INSIDE" kp_cl_inner
	refused 'Invalid or incomplete multibyte'
	# on the blacklist
	addresses kp_cl_outer "kp_cl_outer$INSIDE" asm_exc_int3+9 "kp_cl_inner$INSIDE"
	refused 'Invalid argument'
	# no text
	addresses "kp_cl_outer$INSIDE" kp_cl_zero kp_cl_inner
	refused 'Invalid argument'
	addresses "kp_cl_outer$INSIDE" kp_cl_inner
	echo 10 >>"$TMP/list"
	refused 'Invalid argument'
	# An address inside a notrace function is refused if perf refuses events there. The entry of
	# such a function is refused, too: fprobe cannot attach there.
	if [ "$(explained kp_cl_failable_plain+4 && answer event)" = no ]; then
		addresses "kp_cl_outer$INSIDE" kp_cl_failable_plain+4 kp_cl_inner
		refused 'Invalid argument'
	fi
	addresses "kp_cl_outer$INSIDE" kp_cl_failable_plain kp_cl_inner
	refused 'Invalid argument'
	# The next link must work as usual.
	only_inside
}

# Returns can be tracked, and results replaced, only from the entry of a function: a link with
# another address must be refused.
entries_only() {
	addresses kp_cl_failable "kp_cl_failable$INSIDE"
	refused 'Invalid argument' -r
	refused 'Invalid argument' -S
	! can_override || refused 'Invalid argument' -o
	addresses kp_cl_failable
	if can_override; then
		linked -o "echo 10 >$CLIENTS/failable"
		results_are 0 10 -1
	fi
	linked -r "echo 10 >$CLIENTS/failable"
	has 0 10 kp_cl_failable
}

# Probe a function that the program itself calls. The hit of that probe is nested, but a program
# does not run during another one, so the hit must be missed.
missed() {
	addresses "bpf_get_current_pid_tgid$INSIDE" "kp_cl_inner$INSIDE"
	linked "echo 25 >$CLIENTS/calls"
	info_is 2 25
	has 1 25 0
	# The hit must be missed, too, if the other address is an entry, where fprobe runs the
	# program.
	addresses "bpf_get_current_pid_tgid$INSIDE" kp_cl_inner
	linked "echo 25 >$CLIENTS/calls"
	info_is 2 25
	has 1 25 kp_cl_inner
}

# Another user's event is on the function that the program calls. Its hits in the program must be
# handled on x86, and be missed on other architectures.
event_in_program() {
	handled='25 0'
	is_x86 || handled='0 25'
	event_on 'p:nested bpf_get_current_pid_tgid'
	addresses "kp_cl_inner$INSIDE"
	linked "echo 25 >$CLIENTS/calls"
	has 0 25 0
	equal "hits of the event, and missed" "$(event_profile nested)" "$handled"
	event_off nested
}

# each_kind FUNCTION: calls FUNCTION for a link of entries, one of returns, and a session, with the
# hits that one call makes, and the link's option
each_kind() {
	"$1" 1
	"$1" 1 -r
	"$1" 2 -S
}

calls_and_returns() {
	addresses kp_cl_inner kp_cl_outer kp_cl_middle
	each_kind hits_of_calls
	list_is_empty
	no_entries
}

hits_of_calls() {
	hits=$((100 * $1))
	shift
	linked "$@" "echo 100 >$CLIENTS/calls"
	info_is 3 0
	has 0 $hits kp_cl_inner
	has 1 $hits kp_cl_outer
	has 2 $hits kp_cl_middle
	# Without cookies
	linked -n "$@" "echo 10 >$CLIENTS/calls"
	info_is 3 0
	lines_are "cookies" "$TMP/linked" '^cookie' 1
	lines_are "cookies" "$TMP/linked" "^cookie 0 count $((3 * hits / 10)) " 1
}

# A session's program that returns 1 at the entry must not run at the return. Then the call needs no
# instance.
session_without_returns() {
	addresses kp_cl_inner kp_cl_outer
	linked -S -v 1 "echo 900 >$CLIENTS/calls; cat $KPROBES/pools >$TMP/pools || :"
	info_is 2 0
	has 0 900 kp_cl_inner
	has 1 900 kp_cl_outer
	! own_links || equal "instances taken" \
		"$(awk 'NR > 1 { n += $4 } END { print (NR > 1 ? n : "no pool") }' "$TMP/pools")" 0
}

# BPF_F_KPROBE_MULTI_RETURN is 1: a session's program runs at returns only.
session_without_entries() {
	addresses kp_cl_inner kp_cl_outer
	linked -S -F 1 "echo 300 >$CLIENTS/calls"
	info_is 2 0
	has 0 300 kp_cl_inner
	has 1 300 kp_cl_outer
}

# own_links: do links track calls with the instances of return probes, and not with fprobe?
own_links() {
	has_symbol register_kprobe_multi
}

# Calls in interrupts and NMIs are counted. The hits of an event tell how many there are.
in_contexts() {
	addresses kp_cl_outer
	event_on 'p:in_context kp_cl_outer'
	each_kind hits_in_contexts
	event_off in_context
}

hits_in_contexts() {
	before=$(event_hits in_context)
	hits_each=$1
	shift
	linked "$@" "echo 6 >$CLIENTS/contexts"
	calls=$(($(event_hits in_context) - before))
	at_least "calls" "$calls" 24
	info_is 1 0
	has 0 $((calls * hits_each)) kp_cl_outer
}

# While RCU does not watch the CPU, a program must not run.
rcu_does_not_watch() {
	addresses kp_cl_outer kp_cl_inner
	each_kind hits_without_rcu
}

hits_without_rcu() {
	hits=$((5 * $1))
	shift
	linked "$@" "echo 7 >$CLIENTS/idle; echo 5 >$CLIENTS/calls"
	info_is 2 14
	has 0 $hits kp_cl_outer
	has 1 $hits kp_cl_inner
}

# ftrace accepts the address of each byte of its call, as it does for fprobe. The program gets the
# address of the function. On x86 the call has five bytes.
inside_the_call() {
	for back in 5 4 3 2 1; do
		addresses "kp_cl_inner+$((BEHIND_FTRACE - back))"
		each_kind hits_inside_the_call
	done
	addresses "kp_cl_inner$INSIDE"
	refused 'Invalid argument' -r
}

hits_inside_the_call() {
	hits=$((10 * $1))
	shift
	linked -n "$@" "echo 10 >$CLIENTS/calls"
	info_is 1 0
	has 0 $hits kp_cl_inner
}

# A return probe on __switch_to() would crash the kernel: links must refuse it by each of the
# addresses that ftrace accepts. A link for entries is accepted. With CONFIG_FUNCTION_GRAPH_TRACER,
# ftrace does not know the function.
switch_to() {
	grep -q -x __switch_to $TRACEFS/available_filter_functions ||
		skip_case "__switch_to is notrace" || return 0
	for at in '' +$((BEHIND_FTRACE - 5)) +$((BEHIND_FTRACE - 1)); do
		addresses kp_cl_inner "__switch_to$at" kp_cl_outer
		refused 'Invalid argument' -r
		refused 'Invalid argument' -S
	done
	linked "sleep 0.1; echo 9 >$CLIENTS/calls"
	has 0 9 kp_cl_inner
	has 2 9 kp_cl_outer
	addresses __switch_to
	linked "sleep 0.1"
	lines_are "hits of __switch_to" "$TMP/linked" '^cookie 0 count [1-9]' 1
}

# The handler of a jprobe and a function that it calls never return. A link that tracks both must
# not keep instances for these calls while the task, which makes many of them, goes on.
in_jprobe() {
	modprobe -nq jprobes_kunit || skip_case "no jprobes in this kernel" || return 0
	load jprobes_kunit
	read_symbols
	addresses kp_jp_handler kp_jp_return_from_within
	all_empty
	change "$BOUND" 16
	linked -S "echo 1 >$DEBUGFS/kunit/jprobes_drops/run"
	put_back "$BOUND"
	at_least "calls" "$(linked_hits)" 1000
	lines_are "missed calls" "$TMP/linked" '^link 2 missed 0$' 1
	unload jprobes_kunit
}

load_sleepers() {
	load kp_ret_pool
	read_symbols
}

# Many more calls are under way than fprobe could track for one address. None may be missed.
crowded() {
	load_sleepers
	addresses kp_pool_sleep
	each_kind hits_of_crowd
	unload kp_ret_pool
}

hits_of_crowd() {
	hits=$((600 * $1))
	shift
	linked "$@" "echo 600 >$SLEEPERS/sleepers; echo 0 >$SLEEPERS/sleepers"
	info_is 1 0
	has 0 $hits kp_pool_sleep
	equal "wrong results" "$(cat $SLEEPERS/wrong)" 0
}

# linked_hits: prints how often the program has run; linked_missed: how many hits were missed
linked_hits() {
	awk '/^cookie/ { n += $4 } END { print n + 0 }' "$TMP/linked"
}

linked_missed() {
	awk '/^link/ { n = $4 } END { print n + 0 }' "$TMP/linked"
}

# With no memory for instances, each call must count as missed; with little memory, each call that
# gets no instance.
without_instances() {
	load_sleepers
	all_empty
	change "$BOUND" 0
	addresses kp_cl_outer kp_cl_inner
	for kind in -r -S; do
		linked $kind "echo 50 >$CLIENTS/calls"
		info_is 2 100
		equal "hits" "$(linked_hits)" 0
	done
	# A link for entries needs no instances.
	linked "echo 50 >$CLIENTS/calls"
	info_is 2 0
	has 0 50 kp_cl_outer
	becomes 0 all_kib
	put "$BOUND" 16
	addresses kp_pool_sleep
	for kind in -r -S; do
		linked $kind "echo 600 >$SLEEPERS/sleepers; echo 0 >$SLEEPERS/sleepers"
		hits=$(linked_hits)
		[ $kind = -r ] || hits=$((hits / 2))
		ktap_print_msg "$kind: $hits of 600 calls tracked"
		equal "calls tracked and missed" "$((hits + $(linked_missed)))" 600
		at_least "calls tracked" "$hits" 20
		at_least "calls missed" "$(linked_missed)" 20
	done
	put_back "$BOUND"
	equal "wrong results" "$(cat $SLEEPERS/wrong)" 0
	unload kp_ret_pool
}

# A link is closed while calls are under way. When they return, they must not run its program, nor
# that of a later link.
closed_meanwhile() {
	load_sleepers
	addresses kp_pool_sleep
	for kind in -r -S; do
		entries=0
		[ $kind = -r ] || entries=40
		run linked "$BPF_PROBE" -k $kind -a "echo 0 >$SLEEPERS/sleepers" "$TMP/list" \
			"echo 40 >$SLEEPERS/sleepers"
		info_is 1 0
		equal "hits of a closed link" "$(linked_hits)" $entries
		linked $kind "echo 30 >$SLEEPERS/sleepers"
		linked -r "echo 0 >$SLEEPERS/sleepers; echo 7 >$SLEEPERS/calls"
		info_is 1 0
		has 0 7 kp_pool_sleep
	done
	equal "wrong results" "$(cat $SLEEPERS/wrong)" 0
	unload kp_ret_pool
	becomes 0 all_probes
}

# The program calls a function of its own link. The hits there must be missed. When a session has
# missed the entry, Linux 6.12 still tracks the call, and so misses the return, too; 7.3 does not.
missed_at_entries() {
	addresses bpf_get_current_pid_tgid kp_cl_inner
	each_kind missed_hits
}

missed_hits() {
	hits=$((25 * $1))
	# Each run of the program calls the function once.
	nested=$hits
	[ "$1" = 1 ] || nested="($hits|$((2 * hits)))"
	shift
	linked "$@" "echo 25 >$CLIENTS/calls"
	info_is 2 $nested
	has 1 $hits kp_cl_inner
	lines_are "cookies" "$TMP/linked" '^cookie' 1
}

# The hits of another user's probe on what the program calls must be handled, at an entry and at a
# return.
event_in_program_of_entry() {
	addresses kp_cl_inner
	each_kind hits_of_event_in_program
}

hits_of_event_in_program() {
	hits=$((25 * $1))
	shift
	for type in p r; do
		event_on "$type:nested bpf_get_current_pid_tgid"
		linked "$@" "echo 25 >$CLIENTS/calls"
		has 0 $hits kp_cl_inner
		equal "hits of the event, and missed" "$(event_profile nested)" "$hits 0"
		event_off nested
	done
}

# Users of one function: links for entries, for returns and for a session, an event at its return,
# and the function graph tracer. user_off USER HITS: detaches it, and checks the number of its hits
GRAPH=$TRACEFS/instances/kp_graph

user_on() {
	case $1 in
	entries) program_attach entries "$BPF_PROBE" -k "$TMP/list" ;;
	returns) program_attach returns "$BPF_PROBE" -k -r "$TMP/list" ;;
	session) program_attach session "$BPF_PROBE" -k -S "$TMP/list" ;;
	event) event_on 'r:returned kp_cl_inner' ;;
	graph)
		mkdir "$GRAPH"
		put_in "$GRAPH" set_ftrace_filter=kp_cl_inner current_tracer=function_graph
		;;
	esac
}

user_off() {
	case $1 in
	event)
		equal "hits of the event" "$(event_profile returned)" "$2 0"
		event_off returned
		;;
	graph)
		# If a call has moved to another CPU, its end has a line of its own.
		equal "calls that the tracer has seen" \
			"$(grep -v '} /\*' "$GRAPH/trace" | grep -c kp_cl_inner)" "$2"
		put_in "$GRAPH" current_tracer=nop set_ftrace_filter=
		rmdir "$GRAPH"
		;;
	*)
		must program_detach "$1"
		user_hits=$2
		[ "$1" != session ] || user_hits=$((2 * user_hits))
		lines_are "hits of $1" "$TMP/$1" "^cookie 0 count $user_hits " 1
		lines_are "missed hits of $1" "$TMP/$1" '^link 1 missed 0$' 1
		;;
	esac
}

# in_turn first|last USER...: attaches the users in this order, then detaches them, beginning with
# the first or the last; calls the function ten times after each step
in_turn() {
	turn=$1
	shift
	users=
	nr_users=$#
	for user; do
		user_on "$user"
		call calls 10
		case $turn in
		first) users="$users $user" ;;
		last) users="$user $users" ;;
		esac
	done
	at=0
	for user in $users; do
		at=$((at + 1))
		# With the first user detached first, each has been attached for as many steps.
		seen=$nr_users
		[ "$turn" = first ] || seen=$((2 * at - 1))
		user_off "$user" $((10 * seen))
		call calls 10
	done
}

in_any_order() {
	graph=
	! has_tracer function_graph || graph=graph
	addresses kp_cl_inner
	# shellcheck disable=SC2086 # the tracer, or none
	for turn in first last; do
		in_turn $turn entries $graph returns event session
		in_turn $turn session event returns $graph entries
	done
	no_entries
}

module_stays() {
	addresses "kp_cl_inner$INSIDE" "vfs_read$INSIDE"
	linked "! rmmod kp_clients 2>$TMP/rmmod; cat /sys/module/kp_clients/refcnt >$TMP/refs"
	lines_are "rmmod's error" "$TMP/rmmod" 'use|busy|temporarily' 1
	equal "references" "$(cat "$TMP/refs")" 1
	equal "references later" "$(cat /sys/module/kp_clients/refcnt)" 0
}

# thousand_hits COUNT OPTION...: makes a link to the entries of a thousand functions, calls each of
# them twice, and checks that each has COUNT hits, with its own address and cookie
thousand_hits() {
	hits=$1
	shift
	linked "$@" "echo 2 >$CLIENTS/many"
	info_is 1000 0
	ktap_print_msg "$* $(grep tach "$TMP/linked" | paste -sd' ') microseconds"
	awk '{ print "cookie", NR - 1, "count '"$hits"' func_ip", $1 }' "$TMP/list" >"$TMP/wanted"
	grep '^cookie' "$TMP/linked" >"$TMP/got"
	must cmp "$TMP/got" "$TMP/wanted"
}

thousand() {
	addresses "$(many)"
	thousand_hits 2
	thousand_hits 2 -r
	thousand_hits 4 -S
	addresses "$(many "$INSIDE")"
	linked "echo 2 >$CLIENTS/many; cp $KPROBES/list $TMP/listed"
	info_is 1000 0
	lines_are "cookies" "$TMP/linked" '^cookie [0-9]* count 2 func_ip 0$' 1000
	lines_are "kprobes/list" "$TMP/listed" . 1000
	ktap_print_msg "$(grep tach "$TMP/linked" | paste -sd' ') microseconds"
	list_is_empty
}

# hits_during EVENT COMMAND...: how often the command hits the event
hits_during() {
	hits_before=$(event_hits "$1")
	hits_event=$1
	shift
	"$@"
	echo $(($(event_hits "$hits_event") - hits_before))
}

# killed_at FUNCTION OPTIONS: makes a link to $TMP/list, kills its task at the second call of the
# function, and checks that there is no third call, and that no probe is left
killed_at() {
	run killer "$BPF_PROBE" -K 2 "$1" \
		"$BPF_PROBE $2 $TMP/list : >$TMP/killed 2>&1; echo \$? >$TMP/status"
	lines_are "batches until the task was killed" "$TMP/killer" '^count 2$' 1
	equal "exit status of the killed task" "$(cat "$TMP/status")" 137
	equal "references of the module" "$(cat /sys/module/kp_clients/refcnt)" 0
	list_is_empty
}

# A link with many probes registers them in batches of 256, and enables and unregisters them in
# batches of 2,048, so that other users can register theirs in between. If the task that creates the
# link is killed, the kernel must register or enable no further batch, and remove those that it has
# registered.
in_batches() {
	addresses "$(many "$INSIDE")"
	event_on 'p:kp_batches/registered register_kprobes'
	event_on 'p:kp_batches/enabled enable_kprobes'
	event_on 'p:kp_batches/unregistered unregister_kprobes'
	equal "batches registered" "$(hits_during registered linked :)" 4
	equal "batches enabled" "$(hits_during enabled linked :)" 1
	equal "batches unregistered" "$(hits_during unregistered linked :)" 1
	cp "$TMP/list" "$TMP/thousand"
	many_symbols
	equal "batches of 20,000 unregistered" "$(hits_during unregistered linked -nw :)" 10
	event_off kp_batches/registered
	event_off kp_batches/enabled
	event_off kp_batches/unregistered
	killed_at enable_kprobes -knw
	cp "$TMP/thousand" "$TMP/list"
	killed_at register_kprobes -k
}

# Hits during the registration must not run the program, as that would slow the registration down.
# The first probe is in the function that registers all others.
all_at_once() {
	addresses "register_kprobes$INSIDE" "$(many "$INSIDE")"
	linked "echo 2 >$CLIENTS/many"
	info_is 1001 0
	has 1000 2 0
	lines_are "hits during the registration" "$TMP/linked" '^cookie 0 ' 0
}

# With ftrace off, the probes are registered, but cannot be enabled: none may stay registered.
not_enabled() {
	ftrace_switches || skip_case "this kernel does not switch ftrace off" || return 0
	put "$FTRACE_ENABLED" 0
	echo vfs_read >"$TMP/list"
	refused 'Device or resource busy|Resource busy' -w
	put "$FTRACE_ENABLED" 1
}

# Attach to all functions that ftrace knows. So many hits arrive that some interrupt the program, or
# each other, in every function that they call.
all_functions() {
	own_links || skip_case "all functions are too much for fprobe" || return 0
	list=$TRACEFS/available_filter_functions_addrs
	[ -e "$list" ] || skip_case "no available_filter_functions_addrs" || return 0
	awk '$2 != "__switch_to" { print $1 }' "$list" >"$TMP/list"
	nr_functions=$(wc -l <"$TMP/list")
	each_kind hits_of_all
	list_is_empty
}

hits_of_all() {
	shift
	linked -n "$@" "echo 10000 >$CLIENTS/calls"
	lines_are "the number of functions" "$TMP/linked" "^link $nr_functions " 1
	at_least "hits" "$(linked_hits)" 10000
	ktap_print_msg "$nr_functions functions $*:" \
		"$(grep -E '^(link|attach|detach|memory)' "$TMP/linked" | paste -sd' ')"
}

# While ftrace patches the functions of a link, it calls some of them, again and again. The program
# does not run for these calls, since the link is not made yet. A worker may patch text afterwards,
# for a link that was closed before.
while_patching() {
	own_links || skip_case "fprobe decides when the first hit comes" || return 0
	patching=$(awk '$3 ~ /^(__text_poke|do_sync_core)$/ { print $1 }' /proc/kallsyms)
	[ -n "$patching" ] || skip_case "no function that patches text" || return 0
	addresses "$(many)"
	printf '%s\n' "$patching" >>"$TMP/list"
	each_kind no_hits_of_patching
}

no_hits_of_patching() {
	shift
	linked -n "$@" :
	at_most "hits $*" "$(linked_hits)" 100
}

# Links are made and closed while other CPUs call the probed functions.
under_load() {
	call load 4
	for _ in $(seq 6); do
		addresses kp_cl_outer "kp_cl_outer$INSIDE" "kp_cl_middle$INSIDE" \
			"kp_cl_inner$INSIDE" kp_cl_inner
		linked :
		addresses kp_cl_outer kp_cl_middle kp_cl_inner
		linked :
		linked -r :
		linked -S :
	done
	call load 0
	equal "wrong results" "$(cat $CLIENTS/load)" 0
	list_is_empty
}

# come WHAT: prints the commands that load kp_clients, do WHAT, and unload kp_clients. A link does
# not pin the module, so it must be possible to unload the module while the link exists.
come() {
	echo "insmod $(module_file kp_clients); $1; grep ' kp_cl_' /proc/kallsyms >$TMP/symbols
		rmmod kp_clients"
}

waits_for_module() {
	unload kp_clients
	printf 'kp_clients:%s\n' kp_cl_outer kp_cl_inner kp_cl_middle kp_cl_outer >"$TMP/list"
	echo kp_none:kp_cl_inner >>"$TMP/list"
	linked -w "cp $KPROBES/list $TMP/waiting; $(come "echo 10 >$CLIENTS/calls")"
	lines_are "kprobes/list" "$TMP/waiting" 'kp_clients:kp_cl_(outer|inner|middle).*WAITING' 3
	lines_are "kprobes/list" "$TMP/waiting" 'kp_none:kp_cl_inner.*WAITING' 1
	lines_are "the number and missed hits" "$TMP/linked" "^link 4 missed 0$" 1
	lines_are "cookies" "$TMP/linked" '^cookie' 3
	has '[03]' 10 kp_cl_outer
	has 1 10 kp_cl_inner
	has 2 10 kp_cl_middle
	lines_are "addresses of probes that wait" "$TMP/linked" '^at [0-4] 0$' 4
	list_is_empty

	linked -nw "$(come "echo 10 >$CLIENTS/calls"); $(come "echo 5 >$CLIENTS/calls")"
	lines_are "cookies" "$TMP/linked" '^cookie 0 count 45 ' 1

	bad_flags
	load kp_clients
	read_symbols
	linked -w "echo 7 >$CLIENTS/calls"
	has 1 7 kp_cl_inner
	lines_are "address of a probe that waits" "$TMP/linked" '^at 4 0$' 1
	lines_are "address" "$TMP/linked" \
		"^at 1 $(awk '$3 == "kp_cl_inner" { print $1 }' "$TMP/symbols")$" 1
	list_is_empty
	# A name without a module does not wait, and may be one of a module that is unloaded.
	echo kp_cl_inner >"$TMP/list"
	linked -w 'rmmod kp_clients'
	lines_are "address when the module is gone" "$TMP/linked" '^at 0 0$' 1
	load kp_clients
	read_symbols
	# The module is loaded, but has no such function.
	echo kp_clients:kp_cl_none >"$TMP/list"
	refused 'No such file' -w
}

# with_many_symbols NAME...: writes the list of many_symbols(), and the names after it
with_many_symbols() {
	many_symbols
	printf '%s\n' "$@" >>"$TMP/list"
}

# A link must be refused for the same reasons as kprobe events: if two functions have the name
# (kp_cl_twice), or if the address is in a notrace function (kp_cl_failable_plain). ALL_CALLS calls
# these functions, and one that may be probed.
ALL_CALLS="for what in calls twice failable_plain; do echo 10 >$CLIENTS/\$what; done"
AMBIGUOUS='(Cannot assign requested address|Address not available)'

# perf_refused ERROR SYMBOL
perf_refused() {
	must_fail "$BPF_PROBE" -w "$2" : 2>"$TMP/refused"
	lines_are "the error" "$TMP/refused" "^perf_event_open: $1" 1
}

# A probe that may wait for a module must be refused if its name is ambiguous or its function is
# notrace: both when the module is loaded later, and if it is loaded already.
checked_when_it_comes() {
	plain=0
	[ "$(explained kp_cl_failable_plain && answer event)" = no ] || plain=10
	unload kp_clients
	for symbol in kp_cl_inner kp_cl_twice kp_cl_failable_plain; do
		event_on "p:kp_waits/$symbol kp_clients:$symbol"
		echo kp_clients:$symbol
	done >"$TMP/list"
	linked -w "$(come "$ALL_CALLS")"
	has 0 10 kp_cl_inner
	lines_are "cookies of two functions" "$TMP/linked" '^cookie 1 ' 0
	lines_are "cookies of a notrace function" "$TMP/linked" '^cookie 2 ' $((plain / 10))
	equal "hits of the event" "$(event_hits kp_cl_inner)" 10
	equal "hits of the event on two functions" "$(event_hits kp_cl_twice)" 0
	equal "hits of the event on a notrace function" "$(event_hits kp_cl_failable_plain)" $plain
	run event "$BPF_PROBE" -w kp_clients:kp_cl_twice "$(come "$ALL_CALLS")"
	lines_are "perf's hits of two functions" "$TMP/event" '^count 0$' 1
	run event "$BPF_PROBE" -w kp_clients:kp_cl_failable_plain "$(come "$ALL_CALLS")"
	lines_are "perf's hits of a notrace function" "$TMP/event" "^count $plain\$" 1
	load kp_clients
	read_symbols
	for symbol in kp_cl_inner kp_cl_twice kp_cl_failable_plain; do
		event_off kp_waits/$symbol
	done
	perf_refused "$AMBIGUOUS" kp_clients:kp_cl_twice
	# A name is ambiguous, and so refused, if several functions have it. kp_cl_twice always is;
	# the kernel may have several functions symbols_cmp or symbols_cmp_r.
	for symbol in kp_clients:kp_cl_twice kp_cl_twice symbols_cmp symbols_cmp_r; do
		[ "$(grep -c -E " ${symbol#*:}([[:space:]]|$)" "$TMP/symbols")" -gt 1 ] || continue
		printf '%s\n' vfs_read $symbol vfs_write >"$TMP/list"
		refused 'Invalid argument' -w
	done
	# With more than 4,096 names, the kernel's symbols are scanned only once for all names.
	for symbol in symbols_cmp symbols_cmp_r; do
		[ "$(grep -c -E " $symbol([[:space:]]|$)" "$TMP/symbols")" -gt 1 ] || continue
		with_many_symbols vfs_read $symbol
		refused 'Invalid argument' -w
	done
	with_many_symbols register_kprobes kp_cl_inner
	linked -w "echo 7 >$CLIENTS/calls"
	has 20001 7 kp_cl_inner
	lines_are "address" "$TMP/linked" \
		"^at 20000 $(awk '$3 == "register_kprobes" { print $1 }' "$TMP/symbols")$" 1
	# The symbols of modules are searched once, however many names there are.
	printf '%s\n' vfs_read vfs_write kp_cl_outer kp_cl_inner >"$TMP/list"
	event_on 'p:kp_batches/searched module_kallsyms_on_each_symbol'
	equal "searches of the modules" "$(hits_during searched linked -w :)" 1
	event_off kp_batches/searched
	echo kp_clients:kp_cl_failable_plain >"$TMP/list"
	[ $plain -ne 0 ] || refused 'Invalid argument' -w
	[ $plain -ne 0 ] || perf_refused 'Invalid argument' kp_clients:kp_cl_failable_plain
}

# many_symbols: writes 20,000 symbols to $TMP/list
many_symbols() {
	awk 'BEGIN { while (n < 20000) printf "kp_none:kp_cl_function_%05d\n", n++ }' >"$TMP/list"
}

# Symbols that wait must take little memory: some 230 bytes each, or 400 as arrays are rounded up.
# The test measures by how much free memory shrinks, which includes the memory of the loader: while
# the link still kept 512 bytes for each symbol, the result was 913. Other tasks allocate and free
# memory at the same time, so use the smallest of three results.
waiting_is_small() {
	many_symbols
	bytes=100000
	for _ in 1 2 3; do
		linked -nw :
		measured=$(($(sed -n 's/^memory //p' "$TMP/linked") * 1024 / 20000))
		[ $measured -ge $bytes ] || bytes=$measured
	done
	ktap_print_msg "$bytes bytes a symbol"
	at_most "bytes a symbol" $bytes 700
	list_is_empty
}

# The memory of a link is charged to the cgroup of its task.
memory_is_charged() {
	cgroups=$TMP/cgroups
	mkdir "$cgroups"
	mount -t cgroup2 none "$cgroups" 2>/dev/null || skip_case "no cgroups" || return 0
	if ! grep -qw memory "$cgroups/cgroup.controllers"; then
		umount "$cgroups"
		skip_case "no CONFIG_MEMCG" || return 0
	fi
	put "$cgroups/cgroup.subtree_control" +memory
	mkdir "$cgroups/kp_link"
	many_symbols
	run charged sh -c "echo \$\$ >$cgroups/kp_link/cgroup.procs
		exec $BPF_PROBE -knw $TMP/list 'cp $cgroups/kp_link/memory.stat $TMP/charged'"
	kernel=$(sed -n 's/^kernel //p' "$TMP/charged")
	ktap_print_msg "$kernel bytes of the kernel charged for 20,000 symbols"
	at_least "bytes charged" "$kernel" $((20000 * 180))
	rmdir "$cgroups/kp_link"
	umount "$cgroups"
}

# Only symbols can wait for a module, not addresses. Only probes can, not return probes, sessions or
# programs that replace results.
bad_flags() {
	for bad in -r -S -F4 $(! can_override || echo -o); do
		must_fail "$BPF_PROBE" -kw "$bad" "$TMP/list" : 2>"$TMP/refused"
		lines_are "the error of $bad" "$TMP/refused" '^BPF_LINK_CREATE: Invalid argument' 1
	done
	echo 10 >"$TMP/number"
	must_fail "$BPF_PROBE" -k -F2 "$TMP/number" : 2>"$TMP/refused"
	lines_are "the error of addresses" "$TMP/refused" '^BPF_LINK_CREATE: Invalid argument' 1
	list_is_empty
}

# Events of perf's kprobe PMU wait as well.
perf_waits() {
	lines_are "format/wait" /sys/bus/event_source/devices/kprobe/format/wait '^config:1$' 1
	unload kp_clients
	must_fail "$BPF_PROBE" kp_clients:kp_cl_inner : 2>"$TMP/refused"
	lines_are "the error" "$TMP/refused" '^perf_event_open: No such file' 1
	run event "$BPF_PROBE" -w kp_clients:kp_cl_inner \
		"$(come "echo 10 >$CLIENTS/calls"); $(come "echo 6 >$CLIENTS/calls")"
	lines_are "hits" "$TMP/event" '^count 16$' 1
	lines_are "the address while it waits" "$TMP/event" '^address 0$' 1
	run event "$BPF_PROBE" -rw kp_clients:kp_cl_inner "$(come "echo 10 >$CLIENTS/calls")"
	lines_are "returns" "$TMP/event" '^count 10$' 1
	list_is_empty
	load kp_clients
	run event "$BPF_PROBE" -w kp_clients:kp_cl_inner :
	lines_are "the address" "$TMP/event" '^address [0-9a-f]*[1-9a-f]' 1
	run event "$BPF_PROBE" -w kp_cl_inner 'rmmod kp_clients'
	lines_are "the address when the module is gone" "$TMP/event" '^address 0$' 1
	load kp_clients
}

has_find_place() {
	has_symbol kprobe_find_place
}

place_is_looked_for() {
	[ "$(ctl_get 0 hits)" -ge 1 ]
}

# While its module is being loaded, the probe of an event is on no list for some time. The event
# must not take it for one that is not registered then: it would free it.
closed_while_it_comes() {
	unload kp_clients
	program_attach first "$BPF_PROBE" -w kp_clients:kp_cl_inner
	program_attach second "$BPF_PROBE" -w kp_clients:kp_cl_outer
	load kp_ctl
	ctl_add "0 kprobe_find_place slow"
	load kp_clients &
	loader=$!
	wait_until place_is_looked_for
	must program_detach second
	must wait $loader
	ctl_del 0
	echo 10 >$CLIENTS/calls
	must program_detach first
	lines_are "hits of the other event" "$TMP/first" '^count 10$' 1
	unload kp_ctl
	list_is_empty
}

setup_clients
[ -x "$BPF_PROBE" ] || skip_topic "bpf_probe is not built"
! on_base_kernel || skip_topic "the base kernel has no such links"
load kp_clients
read_symbols
addresses kp_cl_inner
rc=0
"$BPF_PROBE" -k "$TMP/list" : >"$TMP/first" 2>&1 || rc=$?
[ $rc -ne "$KSFT_SKIP" ] || skip_topic "no kprobe.multi in this kernel"
ktap_set_plan 38
check "calls, returns and sessions" calls_and_returns
check "sessions without returns" session_without_returns
check "sessions without entries" session_without_entries
check_if own_links "calls in interrupts" in_contexts
check_if own_links "calls where RCU does not watch" rcu_does_not_watch
check_if own_links "addresses inside ftrace's call" inside_the_call
check_if own_links "__switch_to" switch_to
check_if own_links "calls that a jprobe drops" in_jprobe
check_if own_links "600 calls at once" crowded
check_if own_links "no memory for more calls" without_instances
check_if own_links "a link is closed while calls are under way" closed_meanwhile
check_if own_links "missed hits at entries and returns" missed_at_entries
check_if own_links "an event on what the program calls, at entries and returns" \
	event_in_program_of_entry
check "several users of one function, in any order" in_any_order
check "entries and addresses inside functions" mixed
check "one address inside a function" only_inside
check "without cookies" without_cookies
check "addresses that are given several times" duplicates
check "every instruction of a function" every_instruction
check "one address is refused, and nothing stays" nothing_stays
check "returns, sessions and replaced results need entries" entries_only
check "missed hits" missed
check "an event on what the program calls" event_in_program
check "the module of an address stays" module_stays
check "1,000 functions, and 1,000 addresses inside" thousand
check "a link with many addresses is made and removed in batches" in_batches
check "no hit before all probes are registered" all_at_once
check "ftrace is off when probes are to be enabled" not_enabled
check "links to all functions" all_functions
check "no hit while ftrace patches the functions" while_patching
check "links that come and go while they are hit" under_load
check "symbols that wait for their module" waits_for_module
check "perf's events that wait for their module" perf_waits
check_if has_find_place "an event is closed while its module comes" closed_while_it_comes
check "what events are refused is refused when the module comes" checked_when_it_comes
check "symbols that wait take little memory" waiting_is_small
check "the memory of a link is charged to a cgroup" memory_is_charged
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
