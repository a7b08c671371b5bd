# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What `make demo` runs in the guest: the sample module on a function that
# everybody knows, seen from all sides.

set -eu

symbol=kernel_clone
module=kprobe_example
list=/sys/kernel/debug/kprobes/list
forks=5

# What the module said since the last call
said()
{
	dmesg -c | sed -n "s/^\[[^]]*\] //; /$module\|$symbol/p"
}

say() { echo; echo "# $*"; }

dmesg -c >/dev/null
say "modprobe $module symbol=$symbol"
modprobe $module symbol=$symbol
said
say "cat $list"
cat $list
listed=$(cat $list)
said >/dev/null

say "$forks processes are started"
i=0
while [ $i -lt $forks ]; do
	/bin/true
	i=$((i + 1))
done
said | tee /tmp/hits
