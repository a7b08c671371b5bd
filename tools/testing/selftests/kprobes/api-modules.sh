#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests probes in modules. When a module's text or init text is freed, its probes must disappear.
# Another module may then be loaded at the same addresses, and probes there must use that module's
# instructions, and not those of the module before.

. "$(dirname "$0")/functions.sh"

# add_pair ID: adds the probes ID and ID + 1; then 2000 calls hit both
add_pair() {
	ctl add "$1" kp_tgt_function
	ctl add $(($1 + 1)) kp_tgt_caller post
	after_calls 2000 hits_are "$1" 2000 $(($1 + 1)) 2000
}

function_is_hit() {
	ctl_add "0 kp_tgt_function" "1 kp_target:kp_tgt_caller post"
	after_calls 7 hits_are 0 7 1 7
	equal "post handler calls" "$(ctl_get 1 posts)" 7
}

# refused ID ERROR VERB [WHERE]: checks that kp_ctl's command VERB ID [WHERE] fails with ERROR
refused() {
	ctl_refused "$3" "$1" ${4:+"$4"}
	equal "error of $3" "$(ctl_get "$1" error)" "$2"
}

# frees_init: does the kernel free the init text of modules? powerpc keeps it.
frees_init() {
	! is_powerpc
}

module_unloads() {
	equal "reference count" "$(cut -d' ' -f3 /proc/modules | sed -n 1p)" 0
	unload kp_target
}

# Unload the module, and unregister the probes, while their requests to be
# disabled may still be pending.
once_in_going_module() {
	for _ in 1 2 3 4 5; do
		ctl_add "10 kp_tgt_caller once" "11 kp_tgt_function once"
		call_target 1
		unload kp_target
		listed_as 10 GONE
		hits_are 10 1 11 1
		refused 10 -22 enable
		ctl_del 10 11
		load kp_target
	done
}

# The text of these probes was freed when the module was unloaded, but the probes are still
# registered. Other code may be at their addresses now, so kprobes/list must not name them after
# symbols of that code. Probe 6 was registered with an address instead of a symbol, so it is listed
# by its address only.
gone_is_listed() {
	for id in 0 1 2 5 6; do
		listed_as $id GONE
		[ -e $KPROBES/optimizer ] || continue
		states=$(sed -n "s/^$(ctl_get $id address)  //p" $KPROBES/optimizer | sort -u)
		equal "state of probe $id" "$states" gone
	done
	equal "probes without a name" \
		"$(list_line 6 | grep -c "^\([0-9a-f]*\)  k  \1  *\[")" 1
	hits_are 0 7 1 7
}

gone_stays_gone() {
	for id in 0 2; do
		refused $id -22 enable
		listed_as $id GONE
	done
}

gone_survives_switching() {
	put_in $KPROBES enabled=0 enabled=1
	listed_as 0 GONE
	hits_are 0 7
}

# Probes 0 and 1 stay [GONE], even if the new probes have the same addresses.
loaded_again() {
	load kp_target
	add_pair 3
	hits_are 0 7 1 7
	not_gone=$(list_line 3 | grep -c -v -F '[GONE]') || :
	equal "live probes at the address" "$not_gone" 1
}

gone_is_unregistered() {
	ctl_del 0 1 2 5 6
	after_calls 10 hits_are 3 2010 0 7
}

# Load kp_target and kp_target2 several times. The kernel reuses the addresses of freed modules, so
# a function may get the address of the other module's function of that name, which has other code.
other_code_by_turns() {
	ctl_del 3 4
	unload kp_target
	other=0
	pair=10
	: >"$TMP/seen"
	for code in kp_target2 kp_target2 kp_target kp_target kp_target2 kp_target2; do
		load $code
		add_pair $pair
		address=$(ctl_get $pair address)
		if grep "^$address " "$TMP/seen" | tail -n 1 | grep -q -v " $code\$"; then
			other=$((other + 1))
		fi
		echo "$address $code" >>"$TMP/seen"
		# Probes in kp_target2 stay registered while the next modules are loaded.
		[ $code != kp_target ] || ctl_del $pair $((pair + 1))
		unload $code
		pair=$((pair + 2))
	done
	for pair in 10 12 18 20; do
		listed_as $pair GONE
		hits_are $pair 2000
		ctl_del $pair $((pair + 1))
	done
	ktap_print_msg "other code at an address probed before: $other times"
}

init_function_is_hit() {
	ctl when kp_target 0 kp_tgt_init_function post
	ctl when kp_target 1 kp_tgt_function
	ctl when kp_target 2 kp_tgt_nokprobe
	load kp_target
	equal "error" "$(ctl_get 0 error)" 0
	hits_are 0 3
	equal "post handler calls" "$(ctl_get 0 posts)" 3
}

freed_init_is_gone() {
	listed_as 0 GONE
	refused 0 -22 enable
	not_listed_as 1 GONE
	after_calls 4 hits_are 1 4 0 3
}

freed() {
	dmesg | grep -c 'kp_target: parameters freed' || :
}

# When a module is unloaded, the kernel removes its probes, and then calls functions of the module
# that free its parameters. text_runs_after_going 0|1: checks that such a function runs without
# probes then, with jump optimisation off or on
text_runs_after_going() {
	optimization "$1"
	load kp_target
	before=$(freed)
	# Registration is refused where no instruction begins.
	offsets=$(seq 0 2 44)
	! is_x86 || offsets=$(seq 0 14)
	ids=
	next=30
	for offset in $offsets; do
		! ctl_try add $next "kp_tgt_at_free+$offset" || {
			ids="$ids $next"
			next=$((next + 1))
		}
	done
	jumps=$(grep -c OPTIMIZED $KPROBES/list) || :
	ktap_print_msg "probes: $((next - 30)), of them jumps: $jumps"
	at_least "probes" $((next - 30)) 5
	unload kp_target
	equal "parameters freed" "$(freed)" $((before + 1))
	for each in $ids; do
		listed_as "$each" GONE
		hits_are "$each" 0
		ctl del "$each"
	done
}

# After kprobes has seen the module, another notifier refuses it: see kp_refuse.c.
refused_module_is_forgotten() {
	load kp_refuse
	must_fail insmod "$MODULE_DIR/kp_target.ko"
	equal "error of the registration" "$(cat /sys/module/kp_refuse/parameters/registered)" 0
	equal "the safety check has refused it" "$(cat /sys/module/kp_refuse/parameters/refusal)" 1
	equal "probes that are gone" "$(grep -c -F '[GONE]' $KPROBES/list)" 1
	unload kp_refuse
}

setup
ktap_set_plan 24
load kp_ctl
load kp_target
check_if "has_symbol kprobe_disable_self" "probes that disable themselves while their module goes" \
	once_in_going_module
check "a module's functions are hit" function_is_hit
check "a module's NOKPROBE_SYMBOL is refused" refused 20 -22 add kp_tgt_nokprobe
check_if frees_init "a freed init function is refused" refused 20 -2 add kp_tgt_init_function
# On x86, kp_tgt_plain is at the start of the module's text. Its probe must also become [GONE].
check "three more probes, one disabled, one at the start of the text, one by address" \
	ctl_add "2 kp_tgt_function disabled" "5 kp_tgt_plain" "6 0x$(ctl_get 1 address)"
check "a probed module can be unloaded" module_unloads
check "its probes are listed as gone, with their counts" gone_is_listed
check "a gone probe cannot be enabled" gone_stays_gone
check "gone probes do not mind the global switch" gone_survives_switching
check "the module loaded again is probed again" loaded_again
check "gone probes can be unregistered" gone_is_unregistered
check "other modules in its place are probed by their own bytes" other_code_by_turns
check "list is empty" list_is_empty
check "an init function is hit while the module loads" init_function_is_hit
check "a coming module's blacklist is in force" equal "error" "$(ctl_get 2 error)" -22
check_if frees_init "its probe is gone once init memory is freed" freed_init_is_gone
check "the gone init probe is unregistered" ctl del 0
check "and the other one" ctl del 1
check "list is empty once more" list_is_empty
unload kp_target
check "text that runs after its probes have gone, breakpoints" text_runs_after_going 0
check "the same with jumps" text_runs_after_going 1
check_if "module_file kp_refuse" "a module that another notifier refuses" \
	refused_module_is_forgotten
unload kp_ctl
check "list is empty after all modules went" list_is_empty
check "kprobes/enabled is as it was" equal "kprobes/enabled" "$(cat $KPROBES/enabled)" 1
ktap_finished
