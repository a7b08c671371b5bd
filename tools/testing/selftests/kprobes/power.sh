#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes functions that are called when the machine is suspended to RAM or hibernates. Then does
# both, at each level of pm_test and completely. Needs kp_power on the kernel's command line, a disk
# for the image, and resume= on the command line: see SWAP= of vmtest.sh.

. "$(dirname "$0")/functions-modes.sh"

POWER=/sys/power
ALARM=/sys/class/rtc/rtc0/wakealarm
DISK=$(sed -n 's/.*resume=\([^ ]*\).*/\1/p' /proc/cmdline)
LEVELS="freezer devices platform processors core none"

# The functions that each kind of sleep calls once, with the first level of pm_test that calls each
MEM="pm_suspend:freezer freeze_processes:freezer thaw_processes:freezer
suspend_devices_and_enter:devices dpm_suspend_start:devices dpm_resume_end:devices
dpm_suspend_late:platform dpm_suspend_noirq:platform dpm_resume_noirq:platform
dpm_resume_early:platform freeze_secondary_cpus:processors thaw_secondary_cpus:processors
syscore_suspend:core syscore_resume:core acpi_suspend_enter:none
x86_acpi_suspend_lowlevel:none"
# swsusp_save() makes the hibernation image, a copy of the kernel's memory. What the kernel does
# after that is not in the image: so after resuming, swsusp_save() has not returned, and
# swsusp_write() was never called.
HIBERNATE="hibernate:freezer freeze_processes:freezer thaw_processes:freezer
hibernation_snapshot:freezer freeze_kernel_threads:freezer dpm_prepare:devices
dpm_suspend:devices dpm_resume:devices dpm_complete:devices dpm_suspend_end:platform
dpm_resume_start:platform freeze_secondary_cpus:processors thaw_secondary_cpus:processors
syscore_suspend:core syscore_resume:core swsusp_save:none swsusp_write:never"

# Each function gets three probes: an ftrace-based one at its entry, one with a breakpoint or a jump
# after ftrace's call, and a return probe.
functions_of() {
	for function in $1; do
		! has_symbol "${function%:*}" || echo "${function%:*}"
	done
}

set_probes() {
	set_mode "$1"
	id=0
	for function in $(functions_of "$2"); do
		ctl_add "$id $function" "$((id + 1)) $function+$BEHIND_FTRACE post" \
			"$((id + 2)) $function return"
		id=$((id + 3))
	done
	at_least "probes" $id 30
	ctl_add "120 kp_tgt_function" "121 kp_tgt_caller post" "122 kp_tgt_plain" \
		"123 kp_tgt_caller return" "124 do_nanosleep return"
	set_mode "$1"
	texts >"$TMP/texts"
	[ "$1" != optimized ] || at_least "jumps" "$(grep -c ' e9' "$TMP/texts")" 10
}

remove_probes() {
	while read -r id _; do
		ctl del "$id"
	done <"$TMP/texts"
	list_is_empty
	unload kp_ctl
	load kp_ctl
}

# texts: prints the id, the address and the first bytes of each probe
texts() {
	while read -r id address _ _ _ _ text _; do
		echo "$id $address $text"
	done <$DEBUGFS/kp_ctl/probes
}

# hits: prints the id, hits, post_handler calls or returns, and missed hits of each probe
hits() {
	while read -r id _ hits posts missed _; do
		echo "$id $hits $posts $missed"
	done <$DEBUGFS/kp_ctl/probes
}

# reached LEVEL FIRST: does a test at LEVEL call a function whose first level is FIRST?
reached() {
	case "$LEVELS " in
	*"$2 "*"$1 "*) return 0 ;;
	esac
	[ "$1" = "$2" ]
}

# expected LEVEL FUNCTIONS: prints how many hits, and post_handler calls or returns, each probe must
# have gained after a test at this level
expected() {
	id=0
	for function in $2; do
		has_symbol "${function%:*}" || continue
		n=0
		! reached "$1" "${function#*:}" || n=1
		back=$n
		[ "${function%:*}" != swsusp_save ] || back=0
		echo "$id $n 0"
		echo "$((id + 1)) $n $n"
		echo "$((id + 2)) $n $back"
		id=$((id + 3))
	done
}

# sleepers: starts three tasks, and waits until they are asleep in do_nanosleep(), which has probe
# 124
sleepers() {
	sleeping=
	for _ in 1 2 3; do
		sleep 100000 &
		sleeping="$sleeping $!"
	done
	# Poll without `sleep`, which would hit the probe on do_nanosleep(), too.
	until [ $(($(ctl_get 124 hits) - before_sleep)) -ge 3 ]; do
		:
	done
	for pid in $sleeping; do
		until read -r _ _ state _ <"/proc/$pid/stat" && [ "$state" = S ]; do
			:
		done
	done
}

wake_sleepers() {
	# shellcheck disable=SC2086 # words
	must kill $sleeping
	# shellcheck disable=SC2086
	wait $sleeping 2>/dev/null || :
}

# calls_on_all_cpus: each CPU calls the probed functions five times
calls_on_all_cpus() {
	cpu=0
	while [ -d /sys/devices/system/cpu/cpu$cpu ]; do
		must taskset "$(printf %x $((1 << cpu)))" \
			sh -c 'echo 5 >/sys/module/kp_target/parameters/calls'
		cpu=$((cpu + 1))
	done
}

# sleeps STATE LEVEL FUNCTIONS: suspends or hibernates the machine with pm_test set to LEVEL, then
# checks how often each probe was hit
sleeps() {
	before_target=$(ctl_get 120 hits)
	before_sleep=$(ctl_get 124 hits)
	sleepers
	equal "asleep" "$(($(ctl_get 124 hits) - $(ctl_get 124 posts)))" 3
	hits >"$TMP/before"
	put $POWER/pm_test "$2"
	if [ "$2" = none ] && [ "$1" != disk ]; then
		put $ALARM 0
		put $ALARM +30
	fi
	put $POWER/state "$1"
	put $POWER/pm_test none
	hits | awk 'NR == FNR { hits[$1] = $2; posts[$1] = $3; missed[$1] = $4; next }
		$1 < 120 { print $1, $2 - hits[$1], $3 - posts[$1] }
		$4 != missed[$1] { print $1, "missed", $4 }' "$TMP/before" - >"$TMP/got"
	expected "$2" "$3" >"$TMP/wanted"
	cmp -s "$TMP/got" "$TMP/wanted" || failed "hits and returns: $(diff "$TMP/wanted" \
		"$TMP/got" | sed -n 's/^\([<>]\) \([0-9]*\) /\1 \2 /p' | tr '\n' ';')"
	equal "still asleep" "$(($(ctl_get 124 hits) - $(ctl_get 124 posts)))" 3
	wake_sleepers
	equal "sleeps" "$(($(ctl_get 124 hits) - before_sleep))" 3
	equal "returns from sleep" "$(ctl_get 124 posts)" "$(ctl_get 124 hits)"
	calls_on_all_cpus
	calls=$((before_target + 5 * cpu))
	hits_are 120 $calls 121 $calls 122 $calls 123 $calls
	equal "post_handler calls" "$(ctl_get 121 posts)" $calls
	equal "returns" "$(ctl_get 123 posts)" $calls
	texts | cmp -s - "$TMP/texts" || failed "the text has changed"
}

hibernates() {
	put $POWER/disk "$1"
	sleeps disk none "$HIBERNATE"
}

# The events on the command line must be there. Their probes are also in the kernel that loads the
# image, and are hit there.
boot_events_are_there() {
	equal "events" "$(grep -c kpboot/ $TRACEFS/kprobe_events)" 4
	put $TRACEFS/events/kpboot/enable 0
	put $TRACEFS/kprobe_events ""
}

setup_modes
grep -q -w kp_power /proc/cmdline || skip_topic "kp_power is not on the kernel's command line"
{ [ -e $POWER/pm_test ] && [ -e $ALARM ] && [ -b "$DISK" ]; } ||
	skip_topic "suspend, hibernation, an RTC and a disk for the image are needed"
ktap_set_plan 38
mkswap "$DISK" >/dev/null
swapon "$DISK"
# By default, the kernel waits some seconds at each level of pm_test.
change /sys/module/suspend/parameters/pm_test_delay 0
load kp_target
load kp_ctl
check_if has_events "events from the command line" boot_events_are_there
for mode in boosted optimized; do
	check "probes are set, suspend, $mode" set_probes $mode "$MEM"
	for level in $LEVELS; do
		check "suspend to RAM, $level, $mode" sleeps mem "$level" "$MEM"
	done
	check "probes are removed, suspend, $mode" remove_probes
	check "probes are set, hibernation, $mode" set_probes $mode "$HIBERNATE"
	for level in freezer devices platform processors core; do
		check "hibernation, $level, $mode" sleeps disk "$level" "$HIBERNATE"
	done
	for how in test_resume shutdown platform; do
		check "hibernation, $how, $mode" hibernates $how
	done
	check "probes are removed, hibernation, $mode" remove_probes
done
swapoff "$DISK"
unload kp_ctl kp_target
check "list is empty" list_is_empty
ktap_finished
