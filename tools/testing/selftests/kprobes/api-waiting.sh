#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests probes that wait for a module (KPROBE_FLAG_WAIT): they are registered when it is loaded,
# before its init function runs, and wait again after it is unloaded.

. "$(dirname "$0")/functions.sh"

# refused ID ERROR WHERE [OPTION]...: registering this probe must fail with ERROR
refused() {
	id=$1
	error=$2
	shift 2
	ctl_refused add "$id" "$@"
	equal "error of $1" "$(ctl_get "$id" error)" "$error"
}

# A probe that waits must be listed without an address, and by the name that its user has given.
waits() {
	for name; do
		must grep -q "^0*  k  kp_target:$name+0x0 \[WAITING\]" $KPROBES/list
	done
}

waits_for_nothing_else() {
	refused 0 -2 kp_target:kp_tgt_function
	refused 0 -2 kp_tgt_function wait
	refused 0 -2 :kp_tgt_function wait
	list_is_empty
}

begins_before_init() {
	ctl_add "0 kp_target:kp_tgt_init_function wait" "1 kp_target:kp_tgt_function post wait" \
		"2 kp_target:kp_tgt_caller disabled wait" "3 kp_target:kp_tgt_nokprobe wait" \
		"4 kp_target:kp_tgt_plain+1000000 wait" "5 kp_other:kp_tgt_function wait"
	waits kp_tgt_init_function kp_tgt_function kp_tgt_caller kp_tgt_nokprobe
	equal "probes that wait" "$(grep -c WAITING $KPROBES/list)" 6
	equal "lines in optimizer" "$(grep -c . $KPROBES/optimizer)" 0
	load kp_target
	hits_are 0 3
	after_calls 7 hits_are 1 7 2 0
	equal "post handler calls" "$(ctl_get 1 posts)" 7
	equal "probes that wait" "$(grep -c WAITING $KPROBES/list)" \
		$((3 + $(grep -c 'kp_tgt_init_function.*WAITING' $KPROBES/list)))
	waits kp_tgt_nokprobe
}

# Unload and load the module again: the probes wait, are registered, and their counts continue.
waits_again() {
	optimization 1
	unload kp_target
	waits kp_tgt_init_function kp_tgt_function kp_tgt_caller
	equal "probes that are gone" "$(grep -c GONE $KPROBES/list)" 0
	equal "lines in optimizer" "$(grep -c . $KPROBES/optimizer)" 0
	load kp_target
	hits_are 0 6
	after_calls 3 hits_are 1 10
	equal "post handler calls" "$(ctl_get 1 posts)" 10
}

# A waiting probe can be enabled and disabled, which must take effect when the module is loaded.
changes_while_waiting() {
	unload kp_target
	ctl disable 1
	ctl enable 2
	ctl disable 2
	ctl enable 2
	must grep -q 'kp_tgt_function+0x0 \[WAITING\] \[DISABLED\]' $KPROBES/list
	ctl_refused add 1 kp_target:kp_tgt_function wait
	put_in $KPROBES enabled=0 enabled=1
	load kp_target
	after_calls 5 hits_are 1 10 2 5
	ctl enable 1
	after_calls 1 hits_are 1 11 2 6
}

# A probe that is unregistered while it waits must not be registered when the module is loaded.
ends_while_waiting() {
	unload kp_target
	ctl_del 0 1 2 3 4 5
	list_is_empty
	load kp_target
	call_target 1
	list_is_empty
}

# While the module is loaded, KPROBE_FLAG_WAIT must have no effect on a registration.
needs_no_wait() {
	ctl add 0 kp_target:kp_tgt_function wait
	after_calls 2 hits_are 0 2
	refused 6 -2 kp_target:no_such_function wait
	refused 6 -22 kp_target:kp_tgt_nokprobe wait
	# Kallsyms has forgotten the freed init text.
	is_powerpc || refused 6 -2 kp_target:kp_tgt_init_function wait
	ctl add 1 kp_target:kp_tgt_function
	unload kp_target
	waits kp_tgt_function
	equal "probes that are gone" "$(grep -c GONE $KPROBES/list)" 1
	load kp_target
	after_calls 2 hits_are 0 4
	equal "hits of the one that does not wait" "$(ctl_get 1 hits)" 0
	ctl_del 0 1
}

# A return probe waits at the entry. One at another address is refused when the module is loaded.
return_waits() {
	unload kp_target
	ctl add 0 kp_target:kp_tgt_function return wait
	ctl add 1 kp_target:kp_tgt_caller+$BEHIND_FTRACE return wait
	load kp_target
	after_calls 6 hits_are 0 6 1 0
	equal "returns" "$(ctl_get 0 posts)" 6
	unload kp_target
	load kp_target
	after_calls 2 hits_are 0 8 1 0
	equal "returns, the second time" "$(ctl_get 0 posts)" 8
	ctl_del 0 1
	call_target 1
	list_is_empty
}

# Each time that the module is loaded, probes at one address must have the order in which they were
# registered: the last one is the first to be called, and the first in the list.
keeps_order() {
	unload kp_target
	ctl_add "0 kp_target:kp_tgt_function wait" "1 kp_target:kp_tgt_function wait return"
	for time in first second third; do
		load kp_target
		equal "types, the $time time" "$(awk '{ print $2 }' $KPROBES/list | paste -sd' ')" \
			"r k"
		unload kp_target
	done
	ctl_del 0 1
	load kp_target
}

# refuses_plain: are kprobe events refused in kp_tgt_plain, which ftrace does not know?
refuses_plain() {
	is_x86 && has_symbol kprobe_events_refuse
}

# The option `event` makes a probe obey the rules of kprobe events. If these rules refuse
# kp_tgt_plain(), a probe there that waits for the module must not be registered when the module is
# loaded: it gets no hits, and continues to wait. While the module is loaded, a registration there
# fails with -EINVAL.
event_waits() {
	unload kp_target
	ctl_add "0 kp_target:kp_tgt_plain wait event" "1 kp_target:kp_tgt_function wait event" \
		"2 kp_target:kp_tgt_plain wait"
	load kp_target
	after_calls 3 hits_are 1 3 2 3
	if refuses_plain; then
		hits_are 0 0
		waits kp_tgt_plain
		refused 3 -22 kp_target:kp_tgt_plain wait event
	fi
	ctl_del 0 1 2
}

can_lock() {
	has_symbol security_locked_down
}

# The kernel is locked down after the probes were registered.
event_waits_locked() {
	ctl_add "0 kp_target:kp_tgt_caller event" "1 kp_target:kp_tgt_function wait event" \
		"2 kp_target:kp_tgt_function wait"
	unload kp_target
	ctl lock
	load kp_target
	after_calls 3 hits_are 0 0 1 0 2 3
	waits kp_tgt_function
	refused 3 -1 kp_target:kp_tgt_function event
	refused 3 -1 kp_none:kp_tgt_function wait event
	unload kp_target
	ctl unlock
	load kp_target
	after_calls 2 hits_are 1 2 2 5
	ctl_del 0 1 2
}

# Many probes wait for a module. When it is loaded, they are registered in batches of 64. If a probe
# of a batch is refused, the probes of this batch are registered one by one instead.
many_wait() {
	unload kp_target
	for id in $(seq 10 89); do
		case $((id % 4)) in
		0) ctl add "$id" kp_target:kp_tgt_function wait ;;
		1) ctl add "$id" kp_target:kp_tgt_caller wait ;;
		2) ctl add "$id" kp_target:kp_tgt_caller once wait ;;
		3) ctl add "$id" "kp_target:$1" wait ;;
		esac
	done
	load kp_target
	after_calls 4 hits_are 12 4 13 4 88 4 89 4
	waiting=0
	[ "$1" = kp_tgt_function ] || waiting=20
	equal "probes that wait" "$(grep -c WAITING $KPROBES/list)" $waiting
	unload kp_target
	load kp_target
	after_calls 4 hits_are 12 8 13 8
	equal "hits of a probe that disables itself" "$(ctl_get 14 hits)" 1
	# shellcheck disable=SC2046 # words
	ctl_del $(seq 10 89)
	list_is_empty
}

setup
[ -e $KPROBES/explain ] || skip_topic "this kernel has no probes that wait"
ktap_set_plan 12
load kp_ctl
check "probes that have no module to wait for" waits_for_nothing_else
check "they are hit from the init function on" begins_before_init
check "they wait for the module to come back" waits_again
check "they are disabled and enabled while they wait" changes_while_waiting
check "they are unregistered while they wait" ends_while_waiting
check "the module is there already" needs_no_wait
check "return probes" return_waits
check "they keep their order" keeps_order
check "probes that are refused what events are" event_waits
check_if can_lock "the kernel is locked down while they wait" event_waits_locked
check "many of one module" many_wait kp_tgt_function
check "one of many is refused, when the module comes" many_wait kp_tgt_nokprobe
unload kp_target kp_ctl
ktap_finished
