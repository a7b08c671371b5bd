#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests probes while the system changes around them: grace periods are never expedited, CPUs go
# offline and come online again, or a kernel debugger sets its own breakpoints.

. "$(dirname "$0")/functions.sh"

RCU_NORMAL=/sys/kernel/rcu_normal
CPUS=/sys/devices/system/cpu
KGDBTS=/sys/module/kgdbts/parameters/kgdbts

churn_once() {
	ctl_add "10 kp_tgt_plain" "11 kp_tgt_caller post" "12 kp_tgt_function disabled"
	call_target 5
	at_least "hits of probe 10" "$(ctl_get 10 hits)" 5
	at_least "post handler calls of probe 11" "$(ctl_get 11 posts)" 5
	hits_are 12 0
	optimization 1
	call_target 5
	at_least "hits of probe 10" "$(ctl_get 10 hits)" 10
	ctl enable 12
	ctl disable 10
	call_target 5
	at_least "hits of probe 12" "$(ctl_get 12 hits)" 5
	optimization 0
	ctl_del 10 11 12
	optimization 1
}

# After unregister_kprobe(), no handler may be called, even if grace periods are not expedited.
unregisters_normally() {
	change $RCU_NORMAL 1
	ctl add 1 kp_tgt_plain
	call_target 3
	ctl del 1
	after_calls 3 hits_are 1 3
	churn_once
	put_back $RCU_NORMAL
	list_is_empty
}

# call_on N: caller number N. It calls the probed functions while $TMP/churning exists, and writes
# the number of its calls to $TMP/called.N.
call_on() {
	called=0
	while [ -e "$TMP/churning" ]; do
		call_target 20
		called=$((called + 20))
	done
	echo $called >"$TMP/called.$1"
}

# hotplugger: takes each CPU that can go offline down and up, several times
hotplugger() {
	for round in 1 2 3 4; do
		for cpu in "$CPUS"/cpu[0-9]*/online; do
			[ -w "$cpu" ] || continue
			put "$cpu" 0
			put "$cpu" 1
			echo "$round" >>"$TMP/plugged"
		done
	done
	rm "$TMP/churning"
}

# Probes 0, 1 and 2 stay registered, and count all calls.
cpus_come_and_go() {
	: >"$TMP/churning"
	: >"$TMP/plugged"
	ctl_add "0 kp_tgt_plain" "1 kp_tgt_caller post" "2 kp_tgt_function"
	for n in 1 2 3; do
		call_on $n &
	done
	hotplugger &
	churned=0
	while [ -e "$TMP/churning" ]; do
		ctl_add "20 kernel_clone" "21 kp_tgt_plain"
		optimization 0
		optimization 1
		ctl disable 20
		ctl_del 20 21
		put $KPROBES/enabled 1
		churned=$((churned + 1))
	done
	wait
	called=$(cat "$TMP"/called.* | awk '{ sum += $1 } END { print sum }')
	plugged=$(grep -c . "$TMP/plugged")
	ktap_print_msg "CPUs: $plugged times, probes: $churned times, $called calls"
	at_least "times that a CPU was offline" "$plugged" 4
	at_least "times that probes changed" $churned 1
	at_least "calls" "$called" 60
	equal "post handler calls" "$(ctl_get 1 posts)" "$called"
	for id in 0 1 2; do
		hits_are $id "$called"
		equal "missed by probe $id" "$(ctl_get $id nmissed)" 0
		ctl del $id
	done
	after_calls 3 hits_are 0 "$called"
	list_is_empty
}

# A CPU that was offline while text changed must execute the new text when it is online again.
text_changes_while_away() {
	cpu=$CPUS/cpu1/online
	for mode in 0 1; do
		optimization $mode
		ctl add 0 kp_tgt_plain
		optimization $mode
		put "$cpu" 0
		ctl add 1 kp_tgt_caller post
		optimization $mode
		ctl del 0
		put "$cpu" 1
		on_cpu_1
		hits_are 0 0 1 20
		put "$cpu" 0
		ctl del 1
		put "$cpu" 1
		on_cpu_1
		hits_are 1 20
	done
}

# Functions that a CPU executes after its last irq_work when it goes offline, and before its first
# irq_work when it comes online
LATE="rcutree_dying_cpu sched_cpu_dying cpuhp_report_idle_dead"
EARLY="notify_cpu_starting sched_cpu_starting"

is_disabled() {
	list_line "$1" | grep -q -F '[DISABLED]'
}

# once_on WHERE: registers probe 10, which disables itself at its first hit
once_on() {
	grep -q " [tT] $1\$" /proc/kallsyms && ctl_try add 10 "$1" once
}

# disabled_by WHAT: probe 10 has disabled itself in its first hit: checks that it becomes disabled
# without another hit. Then does the same with a new probe 11. WHAT is for messages.
disabled_by() {
	comes_true 20 is_disabled 10 || failed "$1: not disabled"
	hits_are 10 1
	ctl add 11 kp_tgt_caller once
	call_target 1
	comes_true 20 is_disabled 11 || failed "$1: the next one is not disabled"
	ctl_del 10 11
}

# Register probes in functions in which a CPU cannot raise an interrupt, because it goes offline or
# comes up. The probes disable themselves at their first hit.
once_on_the_way() {
	cpu=$CPUS/cpu1/online
	hit=0
	for function in $LATE; do
		once_on "$function" || continue
		put "$cpu" 0
		disabled_by "$function"
		put "$cpu" 1
		hit=$((hit + 1))
	done
	for function in $EARLY; do
		put "$cpu" 0
		if once_on "$function"; then
			put "$cpu" 1
			disabled_by "$function"
			hit=$((hit + 1))
		fi
		put "$cpu" 1
	done
	ktap_print_msg "$hit functions"
	at_least "functions" $hit 2
}

# A CPU that goes offline may still queue an irq_work after it has run its last one. That irq_work
# must run when the CPU is online again, and must not prevent others from running there.
irq_work_after_the_last() {
	cpu=$CPUS/cpu1/online
	load kp_dying || return 1
	put /sys/module/kp_dying/parameters/run_on 1
	put "$cpu" 0
	put "$cpu" 1
	put /sys/module/kp_dying/parameters/run_on 1
	equal "irq_works" "$(cat /sys/module/kp_dying/parameters/late)" 1 && unload kp_dying
}

on_cpu_1() {
	must taskset 2 sh -c 'echo 20 >/sys/module/kp_target/parameters/calls'
}

# Functions that a CPU executes when it goes offline or comes online
PLUGGING="start_secondary cpu_init load_current_idt cr4_update_irqsoff apic_ap_setup
cpuhp_ap_report_dead notify_cpu_starting idle_task_exit check_tsc_sync_target arch_cpu_idle_dead
rcutree_report_cpu_starting cpuidle_play_dead sched_cpu_starting cpu_startup_entry"

# around: prints the functions in $PLUGGING, and the 30 before and after each in the text
around() {
	awk -v names="$PLUGGING" '
		BEGIN { split(names, name, /[ \n]/); for (i in name) wanted[name[i]] = 1 }
		$4 != "" { exit }
		$2 !~ /[tTwW]/ || $3 ~ /^__(pfx|cfi)_|\./ { next }
		{ symbol[++n] = $3 }
		$3 in wanted { at[n] = 1 }
		END {
			for (i in at)
				for (j = i - 30; j <= i + 30; j++)
					print symbol[j]
		}' /proc/kallsyms | sort -u
}

# plug N: takes CPU 1 offline and online. Then adds the function of each of the probes 0 to N - 1
# that was hit to $TMP/hit, and removes these N probes.
plug() {
	put $CPUS/cpu1/online 0
	put $CPUS/cpu1/online 1
	awk -v n="$1" '$1 < n && $3 > 0 { print $1 }' $DEBUGFS/kp_ctl/probes |
		while read -r id; do
			sed -n "$((id + 1))p" "$TMP/batch" >>"$TMP/hit"
		done
	id=0
	while [ $id -lt "$1" ]; do
		ctl del $id
		id=$((id + 1))
	done
	: >"$TMP/batch"
}

# A kernel without kprobes/explain accepts probes on functions with which CPUs go offline and
# online, even where the probes reset the machine.
x86_can_plug() {
	is_x86 && [ -e $KPROBES/explain ] && [ -w $CPUS/cpu1/online ]
}

# Probe the functions that `around` prints, if possible: first with breakpoints, then with jumps.
cpus_plug_with_probes() {
	around >"$TMP/around"
	for mode in 0 1; do
		optimization $mode
		: >"$TMP/batch"
		: >"$TMP/hit"
		refused=
		id=0
		while read -r name; do
			if ! ctl_try add $id "$name+$BEHIND_FTRACE" &&
					! ctl_try add $id "$name"; then
				refused="$refused $name"
				continue
			fi
			echo "$name" >>"$TMP/batch"
			id=$((id + 1))
			[ $id -lt 120 ] || { plug $id; id=0; }
		done <"$TMP/around"
		plug $id
		ktap_print_msg "mode $mode: of $(grep -c . "$TMP/around") functions," \
			"$(grep -c . "$TMP/hit") were hit, and refused were:$refused"
		for name in cpu_init notify_cpu_starting rcutree_report_cpu_starting \
			arch_cpu_idle_dead idle_task_exit; do
			# Newer kernels have inlined some of these functions.
			! has_symbol $name || must grep -qx $name "$TMP/hit"
		done
	done
	list_is_empty
}

# kgdb_test NAME: runs the tests of drivers/misc/kgdbts.c; their output is in $TMP/NAME
kgdb_test() {
	log_mark
	put $KGDBTS V1I50
	log_since | sed -n 's/^.*kgdbts: *//p' |
		sed -e 's/[0-9a-f]\{8,16\}/N/g' -e 's/ got .*//' >"$TMP/$1"
	must grep -q 'RUN sw breakpoint test' "$TMP/$1"
	must grep -q 'RUN singlestep test' "$TMP/$1"
	must_fail grep -E 'ERROR.*(plant|detach|^sw|bad_read|singlestep|step)' "$TMP/$1"
}

# The kernel debugger's own tests must give the same results with and without probes. Its tests of
# breakpoints in debug registers may fail in any guest, so their errors are ignored.
kgdb_with_probes() {
	echo "kprobes-selftest: expect WARNING: .*kgdbts" >/dev/kmsg
	list_is_empty
	kgdb_test bare
	ctl_add "0 kp_tgt_plain" "1 kp_tgt_caller post" "2 vfs_read" "3 vfs_write" \
		"4 wake_up_new_task"
	for mode in 0 1; do
		optimization $mode
		before=$(ctl_get 0 hits)
		kgdb_test "probed.$mode"
		cmp -s "$TMP/bare" "$TMP/probed.$mode" ||
			failed "with probes, the tests say: $(cat "$TMP/probed.$mode")"
		after_calls 10 hits_are 0 $((before + 10))
	done
	sed 's/^/# kgdbts: /' "$TMP/bare"
	ctl_del 0 1 2 3 4
}

# has_kgdbts: can the tests of kgdb run? Not with lockdep: kgdb patches text in an exception, so
# lockdep would report that, and be off until the next boot.
has_kgdbts() {
	[ -w $KGDBTS ] && [ ! -e /proc/lockdep ]
}

setup
for cpu in "$CPUS"/cpu[0-9]*/online; do
	[ ! -w "$cpu" ] || keep "$cpu"
done
optimization "$(cat $OPTIMIZATION 2>/dev/null || echo 0)"
ktap_set_plan 9
load kp_target
load kp_ctl
check "probes that come and go, to begin with" churn_once
check_if "[ -w $RCU_NORMAL ]" "no grace period is expedited" unregisters_normally
check_if "[ -w $CPUS/cpu1/online ]" "CPUs come and go" cpus_come_and_go
check_if "[ -w $CPUS/cpu1/online ]" "text changes while a CPU is away" text_changes_while_away
check_if "[ -w $CPUS/cpu1/online ]" "requests of CPUs on the way" once_on_the_way
check_if "[ -w $CPUS/cpu1/online ]" "a CPU's last irq_work" irq_work_after_the_last
check_if x86_can_plug "a CPU comes and goes, and executes probes everywhere" cpus_plug_with_probes
check_if has_kgdbts "kgdb together with probes" kgdb_with_probes
unload kp_ctl kp_target
check "list is empty" list_is_empty
ktap_finished
