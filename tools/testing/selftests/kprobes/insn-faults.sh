#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests exceptions in probed instructions (boosted, stepped and optimised) and in handlers.

. "$(dirname "$0")/functions-modes.sh"

# Check that oops messages name the probed instruction. As an oops taints the kernel and disables
# lockdep, this runs only in a guest of the tests, or with FAULTS_OOPS=1 in the environment.
oops=0
[ ! -e /vmtest.conf ] || [ -e /proc/lockdep ] || oops=1
oops=${FAULTS_OOPS:-$oops}

oopses_are_right() {
	dmesg | awk '
		/kp_faults: oops at/ { at = $(NF - 1); n++; seen = 0; next }
		n && !seen && / [RE]IP: / {
			seen = 1
			# RIP is printed with the code segment, EIP without.
			if (index($0, ":" at " ") || index($0, "EIP: " at " "))
				right++
			else
				print "# " $0 ", not at " at
		}
		END { exit !(n && n == right) }'
}

after_mode() {
	if [ "$oops" -eq 1 ]; then
		check "oopses, $1" oopses_are_right
	else
		ktap_test_skip "oopses, $1"
	fi
}

setup_modes
is_x86 || skip_topic "the instructions are for x86"
bad_frame_pointers
if [ "$oops" -eq 1 ]; then
	oops_texts="Oops|BUG: unable to handle|BUG: kernel NULL pointer|general protection fault"
	echo "kprobes-selftest: expect $oops_texts" >/dev/kmsg
fi
run_in_modes 1 kp_faults "oops=$oops" -- kprobes_faults kprobes_foreign_int3 \
	kprobes_paging kprobes_fault_steps
ktap_finished
