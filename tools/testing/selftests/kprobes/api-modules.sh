#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes in modules: they are removed with the module's text, all of it or its init part, and
# probes in the next module at the same addresses start from that module's bytes.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

function_is_hit() {
	ctl add 0 kp_tgt_function && ctl add 1 kp_target:kp_tgt_caller post || return 1
	call_target 7 && hits_are 0 7 && hits_are 1 7 || return 1
	equal "post handler calls" "$(ctl_get 1 posts)" 7
}

nokprobe_is_refused() {
	ctl_refused add 20 kp_tgt_nokprobe
	equal "error" "$(ctl_get 20 error)" -22
}

# init_check DESCRIPTION COMMAND...: skipped on powerpc, which keeps the init text of modules
init_check() {
	if is_powerpc; then
		ktap_test_skip "$1: it is not freed here"
	else
		check "$@"
	fi
}

freed_init_is_refused() {
	ctl_refused add 20 kp_tgt_init_function
	equal "error" "$(ctl_get 20 error)" -2
}

# kp_tgt_plain is the first function in the text on x86.
more_probes() {
	ctl add 2 kp_tgt_function disabled && ctl add 5 kp_tgt_plain
}

# A probe does not hold a reference to its module.
module_unloads() {
	equal "reference count" "$(cut -d' ' -f3 /proc/modules | sed -n 1p)" 0 &&
		rmmod kp_target || return 1
	# shellcheck disable=SC2034 # for the exit handler
	LOADED=kp_ctl
}

gone_is_listed() {
	for id in 0 1 2 5; do
		listed_as $id GONE || return 1
	done
	hits_are 0 7 && hits_are 1 7
}

gone_stays_gone() {
	for id in 0 2; do
		ctl_refused enable $id
		equal "error of enable" "$(ctl_get $id error)" -22 || return 1
		listed_as $id GONE || return 1
	done
}

# Switching all probes skips those in unloaded modules.
gone_survives_switching() {
	put $KPROBES/enabled 0
	put $KPROBES/enabled 1
	listed_as 0 GONE && hits_are 0 7
}

# Register new probes in the module loaded again. Probes 0 and 1 stay gone, perhaps at the same
# addresses.
loaded_again() {
	insmod "$MODULE_DIR/$1.ko" || return 1
	LOADED="kp_ctl $1"
	ctl add 3 kp_tgt_function && ctl add 4 kp_tgt_caller post || return 1
	call_target 2000 || return 1
	hits_are 3 2000 && hits_are 4 2000 && hits_are 0 7 && hits_are 1 7 || return 1
	not_gone=$(list_line 3 | grep -c -v -F '[GONE]') || :
	equal "live probes at the address" "$not_gone" 1
}

gone_is_unregistered() {
	for id in 0 1 2 5; do
		ctl del $id || return 1
	done
	call_target 10 && hits_are 3 2010 && hits_are 0 7
}

# Load other code of the same names again and again. Sooner or later it gets the same addresses:
# the kernel reuses freed ones for the next module but one.
other_code_by_turns() {
	ctl del 3 && ctl del 4 && rmmod kp_target || return 1
	LOADED=kp_ctl
	other=0
	id=10
	: >"$TMP/seen"
	for module in kp_target2 kp_target2 kp_target kp_target kp_target2 kp_target2; do
		insmod "$MODULE_DIR/$module.ko" || return 1
		LOADED="kp_ctl $module"
		ctl add $id kp_tgt_function && ctl add $((id + 1)) kp_tgt_caller post || return 1
		call_target 2000 && hits_are $id 2000 && hits_are $((id + 1)) 2000 || return 1
		address=$(ctl_get $id address)
		if grep "^$address " "$TMP/seen" | tail -n 1 | grep -q -v " $module\$"; then
			other=$((other + 1))
		fi
		echo "$address $module" >>"$TMP/seen"
		# Unregister before the module is unloaded, or leave the probes to the next
		# modules.
		if [ $module = kp_target ]; then
			ctl del $id && ctl del $((id + 1)) || return 1
		fi
		rmmod $module || return 1
		LOADED=kp_ctl
		id=$((id + 2))
	done
	for id in 10 12 18 20; do
		listed_as $id GONE && hits_are $id 2000 || return 1
		ctl del $id && ctl del $((id + 1)) || return 1
	done
	ktap_print_msg "other code at an address probed before: $other times"
}

# Register while the module is coming, so that its init function can be probed.
init_function_is_hit() {
	ctl when kp_target 0 kp_tgt_init_function post && ctl when kp_target 1 kp_tgt_function &&
		ctl when kp_target 2 kp_tgt_nokprobe || return 1
	insmod "$MODULE_DIR/kp_target.ko" || return 1
	LOADED="kp_ctl kp_target"
	equal "error" "$(ctl_get 0 error)" 0 && hits_are 0 3 || return 1
	equal "post handler calls" "$(ctl_get 0 posts)" 3
}

coming_blacklist_counts() {
	equal "error" "$(ctl_get 2 error)" -22
}

freed_init_is_gone() {
	listed_as 0 GONE
	ctl_refused enable 0
	equal "error of enable" "$(ctl_get 0 error)" -22 || return 1
	not_listed_as 1 GONE && call_target 4 && hits_are 1 4 && hits_are 0 3
}

freed() {
	dmesg | grep -c 'kp_target: parameters freed' || :
}

# Offsets at which an instruction may begin; registration is refused where none does.
offsets() {
	case $(uname -m) in
	x86_64 | i?86) seq 0 14 ;;
	*) seq 0 2 44 ;;
	esac
}

# A module's parameters are destroyed by its own functions, after its probes have been removed.
text_runs_after_going() {
	before=$(freed)
	ids=
	id=30
	for offset in $(offsets); do
		! ctl_try add $id "kp_tgt_at_free+$offset" || {
			ids="$ids $id"
			id=$((id + 1))
		}
	done
	jumps=$(grep -c OPTIMIZED $KPROBES/list) || :
	ktap_print_msg "probes: $((id - 30)), of them jumps: $jumps"
	at_least "probes" $((id - 30)) 5
	rmmod kp_target || return 1
	LOADED=kp_ctl
	equal "parameters freed" "$(freed)" $((before + 1))
	for id in $ids; do
		listed_as "$id" GONE && hits_are "$id" 0 && ctl del "$id" || return 1
	done
}

# The probe is marked as gone, and nothing refers to its text, which is freed.
refused_module_is_forgotten() {
	insmod "$MODULE_DIR/kp_refuse.ko" || return 1
	LOADED="kp_ctl kp_refuse"
	must_fail insmod "$MODULE_DIR/kp_target.ko"
	equal "error of the registration" "$(cat /sys/module/kp_refuse/parameters/registered)" 0
	equal "the safety check has refused it" \
		"$(cat /sys/module/kp_refuse/parameters/refusal)" 1
	equal "probes that are gone" "$(grep -c -F '[GONE]' $KPROBES/list)" 1
	rmmod kp_refuse || return 1
	LOADED=kp_ctl
}

# with_jumps 0|1 COMMAND...: runs it with jump optimisation off or on
with_jumps() {
	optimization "$1"
	shift
	insmod "$MODULE_DIR/kp_target.ko" || return 1
	LOADED="kp_ctl kp_target"
	"$@"
}

setup
ktap_set_plan 23
load kp_ctl
load kp_target
check "a module's functions are hit" function_is_hit
check "a module's NOKPROBE_SYMBOL is refused" nokprobe_is_refused
init_check "a freed init function is refused" freed_init_is_refused
check "two more probes, one disabled, one at the start of the text" more_probes
check "a probed module can be unloaded" module_unloads
check "its probes are listed as gone, with their counts" gone_is_listed
check "a gone probe cannot be enabled" gone_stays_gone
check "gone probes do not mind the global switch" gone_survives_switching
check "the module loaded again is probed anew" loaded_again kp_target
check "gone probes can be unregistered" gone_is_unregistered
check "other modules in its place are probed by their own bytes" other_code_by_turns
check "list is empty" list_is_empty
check "an init function is hit while the module loads" init_function_is_hit
check "a coming module's blacklist is in force" coming_blacklist_counts
init_check "its probe is gone once init memory is freed" freed_init_is_gone
check "the gone init probe is unregistered" ctl del 0
check "and the other one" ctl del 1
check "list is empty once more" list_is_empty
unload kp_target
check "text that runs after its probes have gone, breakpoints" with_jumps 0 text_runs_after_going
check "the same with jumps" with_jumps 1 text_runs_after_going
if [ -e "$MODULE_DIR/kp_refuse.ko" ]; then
	check "a module that another notifier refuses" refused_module_is_forgotten
else
	ktap_test_skip "a module that another notifier refuses: no search here"
fi
unload kp_ctl
check "list is empty after all modules went" list_is_empty
check "kprobes/enabled is as it was" equal "kprobes/enabled" "$(cat $KPROBES/enabled)" 1
ktap_finished
