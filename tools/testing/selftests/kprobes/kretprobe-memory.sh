#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The memory of a great many idle return probes: they share instances, so it does not grow by a
# pool for each of them, nor with the number of CPUs.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

rounds=5
# KiB for 500 return probes
limit=2048

# kib FIELD...: prints the sum of these fields of /proc/meminfo
kib() {
	# Make counters that are kept per CPU exact.
	cat /proc/sys/vm/stat_refresh
	sum=0
	for field; do
		sum=$((sum + $(sed -n "s/^$field: *\\([0-9]*\\) kB/\\1/p" /proc/meminfo)))
	done
	echo $sum
}

PARAMETERS=/sys/module/kp_ret_memory/parameters

register_all() {
	put $PARAMETERS/registered "$1"
}

# is_settled: does another round of grace periods, and of deferred frees, change next to nothing?
is_settled() {
	earlier=$settled
	write_to $PARAMETERS/barrier 1 || return 1
	settled=$(kib Slab VmallocUsed Percpu)
	[ "$earlier" -le $((settled + 16)) ] && [ "$earlier" -ge $((settled - 16)) ]
}

# settle: waits until deferred frees are done
settle() {
	settled=0
	wait_until is_settled
}

setup
is_x86 || skip_topic "the functions are x86's"
ktap_set_plan 5
load kp_ret_memory
# Register them once before, since that allocates tables and slabs that stay.
check "registered once" register_all 1
check "and unregistered" register_all 0
i=0
while [ $i -lt $rounds ]; do
	settle
	used=$(kib Slab VmallocUsed Percpu)
	available=$(kib MemAvailable)
	register_all 1
	settle
	used=$(($(kib Slab VmallocUsed Percpu) - used))
	available=$((available - $(kib MemAvailable)))
	register_all 0
	ktap_print_msg "500 return probes: $used KiB in use, $available KiB less available"
	echo "$used" >>"$TMP/used"
	i=$((i + 1))
done
# Other code allocates and frees memory meanwhile.
median=$(sort -n "$TMP/used" | sed -n $((rounds / 2 + 1))p)
ktap_print_msg "CPUs: $(nproc), possible: $(cat /sys/devices/system/cpu/possible)"
if [ -e /sys/kernel/debug/kasan ] || grep -q ' kasan_' /proc/kallsyms; then
	ktap_test_skip "memory they take: this kernel surrounds all objects by red zones"
else
	check "500 return probes take at most $limit KiB" at_most "KiB" "$median" $limit
fi
check "list is empty" list_is_empty
unload kp_ret_memory
check "list is empty after rmmod" list_is_empty
ktap_finished
