#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Traces and probes the functions of kprobes themselves, which must work as for other functions.
# Only probes on functions that a hit executes must be refused.

. "$(dirname "$0")/functions.sh"

EVENTS=$TRACEFS/kprobe_events
DYNAMIC=$TRACEFS/dynamic_events

# Functions that other parts of the kernel and modules call; intrusion detectors watch them.
API="register_kprobe unregister_kprobe register_kprobes unregister_kprobes enable_kprobe
disable_kprobe register_kretprobe unregister_kretprobe register_kretprobes
unregister_kretprobes enable_kretprobe disable_kretprobe kprobe_on_func_entry"
[ ! -e $OPTIMIZATION ] || API="$API wait_for_kprobe_optimizer"

# Functions that a hit executes
HIT="get_kprobe kprobe_int3_handler kprobe_fault_begin probe_set_multi_pre kretprobe_entry
kretprobe_pool_take kprobe_ftrace_hit probepoint_of_insn_slot
kprobe_busy_begin emulate_nop probepoint_count_missed __kretprobe_trampoline_handler
get_kretprobe_retaddr"

# A location where a probe is a breakpoint. If ftrace has a call at the entry, the offset of the
# next instruction is appended below.
INSIDE=kp_tgt_function

address_of() {
	awk -v name="$1" '$3 == name && !$4 { print $1; exit }' /proc/kallsyms
}

# The minimum number of functions that kprobes consists of. It is smaller on arm64, riscv and s390,
# which cannot optimise probes with jumps, and smaller still where return probes use rethook: on
# riscv and s390.
case $(uname -m) in
riscv64) LEAST=50 ;;
s390x) LEAST=85 ;;
aarch64) LEAST=95 ;;
*) LEAST=100 ;;
esac

# functions_between NAME...: prints all functions from the NAME with the lowest address to the one
# with the highest. The files of kprobes are adjacent in the kernel's text, so these are the
# functions of kprobes.
functions_between() {
	for name; do
		address_of "$name"
	done | sort >"$TMP/addresses"
	awk -v first="$(head -n 1 "$TMP/addresses")" -v last="$(tail -n 1 "$TMP/addresses")" '
		$2 ~ /^[tT]$/ && !$4 && $1 >= first && $1 <= last && $3 !~ /^__(pfx|cfi)_|\./ {
			print $3
		}' /proc/kallsyms
}

# all_functions: writes the functions of kprobes that have a unique name to $TMP/own
all_functions() {
	{
		functions_between register_kprobe kprobe_on_func_entry probepoint_lower_bound \
			probepoint_attach kprobe_get_kallsym kretprobe_pool_free \
			kprobe_blacklist_del_range wait_for_kprobe_optimizer
		functions_between arch_prepare_probepoint x86_kprobe_decode arch_check_jumps \
			arch_prepare_detour arch_kprobe_ftrace_trampoline
	} >"$TMP/candidates"
	awk 'NR == FNR { own[$1] = 1; next } $3 in own { n[$3]++ }
		END { for (f in n) if (n[f] == 1) print f }' \
		"$TMP/candidates" /proc/kallsyms | sort >"$TMP/own"
	at_least "functions of kprobes" "$(grep -c . "$TMP/own")" $LEAST
}

names_are_known() {
	for name in $API; do
		[ -n "$(address_of "$name")" ] || failed "$name is not in kallsyms"
	done
}

has_filter() {
	[ -e $TRACEFS/set_ftrace_filter ]
}

# traceable NAME...: prints how many of these functions ftrace can trace
traceable() {
	for name; do
		echo "$name"
	done >"$TMP/names"
	awk 'NR == FNR { own[$1] = 1; next } $1 in own' "$TMP/names" \
		$TRACEFS/available_filter_functions | sort -u >"$TMP/traceable"
	wc -l <"$TMP/traceable"
}

api_can_be_traced() {
	# shellcheck disable=SC2086 # words
	equal "functions that can be traced" "$(traceable $API)" "$(echo "$API" | wc -w)"
}

most_can_be_traced() {
	# shellcheck disable=SC2046 # words
	at_least "functions that can be traced" "$(traceable $(cat "$TMP/own"))" $((LEAST * 9 / 10))
}

hits_can_not_be_traced() {
	# shellcheck disable=SC2086 # words
	equal "functions that can be traced" "$(traceable $HIT do_int3)" 0
}

hits_can_not_be_probed() {
	known=0
	for name in $HIT; do
		[ -n "$(address_of "$name")" ] || continue
		known=$((known + 1))
		ctl_refused add 9 "$name"
	done
	# One function may be missing: kprobe_ftrace_hit(), if there are no ftrace-based probes.
	# Other architectures than x86 lack more functions.
	! is_x86 || at_least "functions that are known" $known $(($(echo "$HIT" | wc -w) - 1))
}

churn() {
	for _ in 1 2 3; do
		ctl_add "0 kp_tgt_function" "1 kp_tgt_function post" "2 $INSIDE" \
			"3 kp_tgt_caller disabled"
		ctl enable 3
		ctl disable 0
		ctl enable 0
		after_calls 4 hits_are 0 4 1 4 2 4 3 4
		ctl_del 0 1 2 3
	done
}

no_events() {
	for enable in $TRACEFS/events/kp_self/enable $TRACEFS/events/kp_selff/enable; do
		[ ! -e "$enable" ] || put "$enable" 0
	done
	put $EVENTS ""
	put $DYNAMIC ""
}

define() {
	echo "$1:$2/$1_$3 $3" 2>/dev/null >>$DYNAMIC
}

api_can_be_probed() {
	for name in $API; do
		must define p kp_self "$name"
		must define r kp_self "$name"
	done
	# Enabling an event calls functions whose events may already be on: subtract these hits.
	put $TRACEFS/events/kp_self/enable 1
	for name in register_kprobe unregister_kprobe enable_kprobe disable_kprobe; do
		echo "$name $(event_hits p_$name) $(event_hits r_$name)"
	done >"$TMP/hits"
	churn
	while read -r name hits returns; do
		hits=$(($(event_hits p_"$name") - ${hits:-0}))
		equal "returns of $name" $(($(event_hits r_"$name") - ${returns:-0})) $hits
		at_least "hits of $name" $hits 3
	done <"$TMP/hits"
	no_events
}

traced_by() {
	for tracer; do
		put $TRACEFS/current_tracer "$tracer"
		churn
		put_in $KPROBES enabled=0 enabled=1
		# Entries of the trace may have been overwritten, so do not look for them, but check
		# that ftrace still traces the function.
		must grep -q '^register_kprobe ' $TRACEFS/enabled_functions
	done
	put_in $TRACEFS current_tracer=nop set_ftrace_filter=
}

# to_filter: sets set_ftrace_filter to the functions in $TMP/own that can be traced
to_filter() {
	# shellcheck disable=SC2046 # words
	traceable $(cat "$TMP/own") >/dev/null
	cat "$TMP/traceable" >$TRACEFS/set_ftrace_filter
}

all_traced() {
	must to_filter
	traced_by function function_graph
}

# Trace the functions of kprobes while registered probes are hit. Nothing is registered in the
# meantime, so an entry of the trace would be of a function that a hit executes.
hits_leave_no_trace() {
	! grep -qw -e kasan_report -e __lock_acquire /proc/kallsyms ||
		skip_case "KASAN and lockdep take traces, and unwinders ask kprobes" || return 0
	for mode in 0 1; do
		optimization $mode
		ctl_add "0 kp_tgt_function" "1 kp_tgt_caller post" "2 $INSIDE" "3 $INSIDE"
		if [ -e $EVENTS ]; then
			must define r kp_self kp_tgt_function
			put $TRACEFS/events/kp_self/enable 1
		fi
		# Reading the list waits for the jumps.
		must grep -q . $KPROBES/list
		must to_filter
		put_in $TRACEFS current_tracer=function trace=
		call_target 50
		# The tracer prints FUNCTION <-CALLER, an event (CALLER <- FUNCTION).
		awk '/ <-[a-z_]/ && !/kworker|rcu|ksoftirqd/' $TRACEFS/trace >"$TMP/trace"
		put_in $TRACEFS current_tracer=nop set_ftrace_filter=
		[ ! -e $EVENTS ] || no_events
		hits_are 0 50 1 50 2 50 3 50
		ctl_del 0 1 2 3
		equal "traced functions" "$(head -n 3 "$TMP/trace")" ""
	done
}

# All at once: an event (a probe or a return probe) on each function, fprobe events on the API, and
# both tracers
all_at_once() {
	while read -r name; do
		type=p
		[ $((${#name} % 2)) -eq 0 ] || type=r
		define $type kp_self "$name" || ktap_print_msg "no event on $name"
	done <"$TMP/own"
	set_events=$(grep -c 'kp_self/' $EVENTS)
	ktap_print_msg "$set_events events"
	at_least "events" "$set_events" $LEAST
	if grep -q '^[[:blank:]]*f\[:' $TRACEFS/README; then
		for name in $API; do
			must define f kp_selff "$name"
		done
	fi
	put $TRACEFS/events/kp_self/enable 1
	[ ! -e $TRACEFS/events/kp_selff ] || put $TRACEFS/events/kp_selff/enable 1
	churn
	if has_filter; then
		must to_filter
		traced_by function function_graph
	fi
	if has_jumps; then
		optimization 0
		churn
		optimization 1
		churn
	fi
	no_events
	churn
}

waits_when_off() {
	optimization 0
	ctl add 0 $INSIDE
	put /sys/module/kp_self/parameters/wait 1
	after_calls 2 hits_are 0 2
	case $(uname -m) in
	arm*) breakpoint=f8 ;;
	ppc64le) breakpoint=08 ;;
	*) breakpoint=cc ;;
	esac
	equal "first byte" "$(ctl_get 0 text | cut -c1-2)" $breakpoint
	optimization 1
	put /sys/module/kp_self/parameters/wait 1
	ctl del 0
}

setup
has_events || :
bad_frame_pointers
load_suites kp_self -- kprobes_self kprobes_guard
load kp_target
load kp_ctl
! has_filter || INSIDE=kp_tgt_function+$BEHIND_FTRACE
report_planned 12 kprobes_self kprobes_guard
check "nothing left in list" list_is_empty
check "names of functions are known" names_are_known
check "functions of kprobes" all_functions
check_if has_filter "the API can be traced" api_can_be_traced
check_if has_filter "most functions can be traced" most_can_be_traced
check_if has_filter "what a hit runs can't be traced" hits_can_not_be_traced
check_if has_filter "tracers of all functions" all_traced
check_if has_filter "hits leave no trace" hits_leave_no_trace
check "what a hit runs can't be probed" hits_can_not_be_probed
check_if has_events "the API can be probed by events" api_can_be_probed
check_if has_events "all functions are probed and traced at once" all_at_once
check_if has_jumps "waiting for the optimiser when it is off" waits_when_off
unload kp_ctl kp_target kp_self
ktap_finished
