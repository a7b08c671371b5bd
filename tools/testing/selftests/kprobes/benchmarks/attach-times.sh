#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Measures how long attaching and detaching 1, 100 and 1,000 probes takes, with tracefs and with
# bpftrace. Not a test: it prints lines of client, number, and milliseconds for attaching and
# detaching. Emulated processors and busy hosts are slow; compare only figures that were measured
# on the same host at the same time.
here=$(dirname "$0")
# Installed, this script is in a directory with the tests; in the source tree they are one level up.
[ -e "$here/functions.sh" ] || here=$here/..
. "$here/functions-clients.sh"

export BPFTRACE_MAX_PROBES=1100 BPFTRACE_MAX_BPF_PROGS=1100
# bpftrace has one open file for each event that it attaches.
# shellcheck disable=SC3045 # every shell that is /bin/sh somewhere has it
ulimit -n 4096

now() {
	date +%s%N
}

# took WHAT N T0 T1 T2 T3: attached from T0 to T1, detached from T2 to T3
took() {
	echo "time $1 $2 $((($4 - $3) / 1000000)) $((($6 - $5) / 1000000))"
}

# names N: prints the first N of the thousand functions
names() {
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "kp_many_%03d\n", i }'
}

# events WHAT N TYPE OFFSET: times how N events are defined and enabled, then disabled and removed
events() {
	names "$2" | sed "s/.*/$3:many\/& &$4/" >"$TMP/define"
	names "$2" | sed 's/^/-:many\//' >"$TMP/remove"
	t0=$(now)
	cat "$TMP/define" >>$TRACEFS/kprobe_events
	echo 1 >$TRACEFS/events/many/enable
	t1=$(now)
	call many 1
	t2=$(now)
	echo 0 >$TRACEFS/events/many/enable
	cat "$TMP/remove" >>$TRACEFS/kprobe_events
	t3=$(now)
	took "$1" "$2" "$t0" "$t1" "$t2" "$t3"
}

# bpf WHAT N PROBES: times how bpftrace attaches and detaches, without the time for compiling
bpf() {
	cat >"$TMP/work" <<-WORK
		date +%s%N >$TMP/t1
		echo 1 >$CLIENTS/many
		date +%s%N >$TMP/t2
	WORK
	echo "$3 { @ = count(); }" >"$TMP/program"
	bpftrace -B none -c "/bin/sh $TMP/work" "$TMP/program" 2>&1 | {
		while IFS= read -r line; do
			case $line in
			Attaching*) now >"$TMP/t0" ;;
			*) echo "$line" ;;
			esac
		done
		now >"$TMP/t3"
	} >"$TMP/bpf"
	equal "bpftrace's count" "$(sed -n 's/^@: //p' "$TMP/bpf")" "$2" || cat "$TMP/bpf"
	took "$1" "$2" "$(cat "$TMP/t0")" "$(cat "$TMP/t1")" "$(cat "$TMP/t2")" "$(cat "$TMP/t3")"
}

# listed TYPE N: prints N probes by their names; bpftrace attaches them one after the other
listed() {
	names "$2" | sed "s/^/$1:/" | paste -sd,
}

setup_clients bpftrace
load kp_clients
for n in 1 100 1000; do
	events kprobe_events/entry $n p ''
	events kprobe_events/inside $n p +4
	events kprobe_events/return $n r ''
done
for n in 1 100 1000; do
	bpf bpftrace/kprobe $n "$(listed kprobe $n)"
	bpf bpftrace/kretprobe $n "$(listed kretprobe $n)"
done
bpf bpftrace/kprobe-wildcard 100 'kprobe:kp_many_3*'
bpf bpftrace/kprobe-wildcard 1000 'kprobe:kp_many_*'
unload kp_clients
list_is_empty
