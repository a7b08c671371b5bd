# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What `make demo` runs in the guest: the sample module on a well-known function, then in the
# middle of another one; and what the kernel log and debugfs show of it.

set -eu

module=kprobe_example
list=/sys/kernel/debug/kprobes/list
forks=5
opens=3

# run COMMAND...: prints the command, then runs it
run()
{
	printf '\n# %s\n' "$*"
	"$@"
}

# mark TEXT: writes a mark to the kernel log. The file is open already, so that the shell does
# not hit the probe by opening it.
exec 7>/dev/kmsg
mark() { echo "demo: $1" >&7; }

# said FROM TO: prints what the module has printed between two marks
said()
{
	dmesg | sed "1,/demo: $1\$/d; /demo: $2\$/,\$d" |
		sed -n "s/^\[[^]]*\] //; /$module: /p"
}

start_processes()
{
	i=0
	while [ $i -lt $forks ]; do
		/bin/true
		i=$((i + 1))
	done
}

open_files()
{
	i=0
	while [ $i -lt $opens ]; do
		read -r _ </proc/version
		i=$((i + 1))
	done
}

# seen WORK WORDS: runs WORK with the probe in place, then without
seen()
{
	printf '\n# %s; what the kernel log has of it:\n' "$2"
	# The module limits what it prints in a second.
	sleep 1.2
	# The optimiser writes the jump once no task can be in the instructions that it covers.
	i=0
	while [ $i -lt 40 ] && ! grep -q 'FTRACE\|OPTIMIZED' $list; do
		sleep 0.2
		i=$((i + 1))
	done
	listed=$(cat $list)
	mark "$symbol begins"
	$1
	mark "$symbol ends"
	said "$symbol begins" "$symbol ends" >/tmp/log
	head -n 2 /tmp/log
	echo "(... $(wc -l </tmp/log) lines)"
	hits=$(grep -c ": before " /tmp/log || true)

	run rmmod $module
	mark "$symbol gone"
	$1
	mark "$symbol done"
	late=$(said "$symbol gone" "$symbol done" | wc -l)
	left=$(wc -l <$list)
}

symbol=kernel_clone
run modprobe $module symbol=$symbol
run cat $list
seen start_processes "$forks processes are started"
printf '\n' >/tmp/summary
cat >>/tmp/summary <<EOF
What happened, on Linux $(uname -r) with our kprobes in place of its own:
  probed    $symbol(), the kernel's side of fork()
  hit       $hits times, while $forks processes were started; each time
            $module.ko printed registers, before and after
  listed    by $list, as
            $listed
  removed   by rmmod $module: $left probes in the list, $late hits of the next $forks
EOF
[ "$hits" -eq $forks ] && [ "$left" -eq 0 ] && [ "$late" -eq 0 ] || failed=y

# Find a later instruction: try offsets until the kernel accepts one.
symbol=do_sys_openat2
offset=8
while ! modprobe $module symbol=$symbol offset=$offset 2>/dev/null; do
	offset=$((offset + 1))
	[ $offset -lt 40 ] || exit 1
done
printf '\n# modprobe %s symbol=%s offset=%s\n' $module $symbol $offset
run cat $list
seen open_files "$opens files are opened"
cat >>/tmp/summary <<EOF
Then the same within $symbol(), at its instruction at +$offset:
  listed    as $listed
  hit       $hits times, while $opens files were opened
  removed   by rmmod $module: $left probes in the list, $late hits of the next $opens
EOF
[ "$hits" -eq $opens ] && [ "$left" -eq 0 ] && [ "$late" -eq 0 ] || failed=y
cat /tmp/summary
[ -z "${failed:-}" ] || exit 1
