#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes functions that kexec executes, then replaces the kernel with a small program through kexec.
# That program prints the last results, as no shell is left. Needs kp_kexec on the kernel's command
# line.

. "$(dirname "$0")/functions.sh"

# Functions that the kernel calls before it starts the other program; not every kernel has them all.
WAY="kernel_kexec kernel_restart_prepare device_shutdown syscore_shutdown migrate_to_reboot_cpu
	machine_shutdown native_machine_shutdown native_stop_other_cpus restore_boot_irq_mode
	disable_local_APIC lapic_shutdown clear_local_APIC hpet_disable hw_breakpoint_disable
	cc_platform_has machine_kexec idt_invalidate"

# Set a probe on each instruction of the functions in $WAY, and on their returns.
set_probes() {
	grep -i ' t ' /proc/kallsyms | sort | awk -v way="$WAY" '
		function value(hex, i, n) {
			for (i = length(hex) - 5; i <= length(hex); i++)
				n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return n
		}
		BEGIN {
			n = split(way, names)
			for (i = 1; i <= n; i++)
				wanted[names[i]] = 1
		}
		name != "" && $1 != start {
			n = value($1) - value(start)
			for (i = 0; i < n && n < 4096; i++)
				printf "p:kp_kexec/%s_%d %s+%d\n", name, i, name, i
			name = ""
		}
		NF == 3 && $3 in wanted { start = $1; name = $3 }' >"$TMP/definitions"
	while read -r definition; do
		echo "$definition" >>$TRACEFS/kprobe_events || continue
	done <"$TMP/definitions" 2>/dev/null
	for name in $WAY; do
		echo "r:kp_kexec/r_$name $name" >>$TRACEFS/kprobe_events || continue
	done 2>/dev/null
	put $TRACEFS/events/kp_kexec/enable 1
	for name in $WAY; do
		ktap_print_msg "$name: $(grep -c " ${name}+" $TRACEFS/kprobe_events || :)"
	done
	at_least "probes" "$(wc -l <$TRACEFS/kprobe_events)" 200
	for name in kernel_kexec machine_shutdown; do
		at_least "probes on $name" "$(grep -c " ${name}+" $TRACEFS/kprobe_events)" 3
	done
}

setup
grep -q -w kp_kexec /proc/cmdline || skip_topic "kp_kexec is not on the kernel's command line"
{ [ -x "$TOPIC_DIR/user_kexec" ] && [ -e /sys/kernel/kexec_loaded ] && has_events; } ||
	skip_topic "CONFIG_KEXEC, user_kexec and kprobe events are needed"
ktap_set_plan 2
check "probes are set" set_probes
"$TOPIC_DIR/user_kexec" "ok 2 another program is executed in the kernel's place
#@ end $(basename "$0") 0 1
#@ done
" || ktap_print_msg "user_kexec: $?"
ktap_test_fail "another program is executed in the kernel's place"
ktap_finished
