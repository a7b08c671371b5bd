#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# samples/kprobes/kprobe_example.c: what it prints of hits, and what of its end. See
# kretprobe.sh for the other sample.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

# said: what the sample has printed since mark
mark() {
	marker="samples: $1 $$"
	echo "$marker" >/dev/kmsg
}

said() {
	dmesg | sed -n "/$marker/,\$p" | sed -n 's/^\[[^]]*\] kprobe_example: //p'
}

# lines PATTERN
lines() {
	said | grep -c -E "$1" || :
}

load_sample() {
	must modprobe kprobe_example
	# shellcheck disable=SC2034 # for the exit handler
	LOADED=kprobe_example
}

unload_sample() {
	must rmmod kprobe_example
	# shellcheck disable=SC2034
	LOADED=
}

processes() {
	n=0
	while [ $n -lt "$1" ]; do
		must sh -c :
		n=$((n + 1))
	done
}

reports_hits() {
	mark hits
	load_sample
	equal "lines of its beginning" "$(lines '^probe on kernel_clone\+0x[0-9a-f]+/')" 1
	must grep -q '  k  kernel_clone+' $KPROBES/list
	processes 5
	unload_sample
	hits=$(said | sed -n 's/^probe gone after \([0-9]*\) hits, 0 more were missed$/\1/p')
	at_least "hits" "$hits" 5
	# It prints no more than 20 lines in a second.
	at_least "lines before" "$(lines '^before kernel_clone\+0x.*: .*sp=[0-9a-f]+')" 5
	at_least "lines after" "$(lines '^after, next is kernel_clone\+0x.*: .*sp=[0-9a-f]+')" 5
	at_most "lines" "$(lines '^before ')" "$hits"
}

is_gone() {
	mark gone
	list_is_empty
	processes 3
	equal "lines" "$(lines .)" 0
}

# Within a function: at its second instruction, wherever that is.
takes_offset() {
	mark offset
	offset=1
	while [ $offset -lt 16 ]; do
		! modprobe kprobe_example symbol=do_sys_openat2 offset=$offset 2>/dev/null || break
		offset=$((offset + 1))
	done
	at_most "offset" $offset 15
	# shellcheck disable=SC2034
	LOADED=kprobe_example
	must grep -q '  k  do_sys_openat2+' $KPROBES/list
	cat /proc/version >/dev/null
	unload_sample
	at_least "hits" "$(said | sed -n 's/^probe gone after \([0-9]*\) hits.*/\1/p')" 1
	at_least "lines before" "$(lines '^before do_sys_openat2\+')" 1
	# A modprobe may try twice.
	at_least "refusals" "$(lines '^no instruction begins at|cannot be probed')" $((offset - 1))
}

says_why_not() {
	mark refused
	must_fail modprobe kprobe_example symbol=no_such_function 2>/dev/null
	at_least "lines" "$(lines '^there is no function no_such_function$')" 1
	must_fail modprobe kprobe_example symbol=notify_die 2>/dev/null
	at_least "lines" "$(lines '^notify_die\+(0x)?0 cannot be probed: error -22$')" 1
	list_is_empty
}

setup
if ! grep -q '/kprobe_example\.ko' "/lib/modules/$(uname -r)/modules.dep" 2>/dev/null; then
	ktap_skip_all "CONFIG_SAMPLE_KPROBES is needed"
	exit "$KSFT_SKIP"
fi
ktap_set_plan 5
check "kprobe_example reports hits" reports_hits
check "and none after it has gone" is_gone
check "it probes the middle of a function" takes_offset
check "it says why it can't" says_why_not
check "list is empty at the end" list_is_empty
ktap_finished
