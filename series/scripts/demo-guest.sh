# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What `make demo` runs in the guest. demo.sh puts its settings before it: base, the base kernel;
# and cost_*, the instructions of a hit there. Prints one screen; fails if a probe was not hit as
# often as it had to be.

set -eu

# shellcheck disable=SC2154 # demo.sh sets it
: "$base"
kprobes=/sys/kernel/debug/kprobes
tracefs=/sys/kernel/tracing
bench=/sys/kernel/debug/kp_bench
forks=5
opens=3
failed=

# watch COMMAND: runs it between two marks in the kernel log. The file is open already, so that the
# shell does not hit the probe by opening it.
exec 7>/dev/kmsg
part=0
watch()
{
	part=$((part + 1))
	echo "demo: begin $part" >&7
	$1
	echo "demo: end $part" >&7
}

# said MODULE: prints what the module has printed while the last command was watched
said()
{
	dmesg | sed "1,/demo: begin $part\$/d; /demo: end $part\$/,\$d" |
		sed -n "s/^\[[^]]*\] $1: //p"
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

# listed WORD: prints the probe's line in kprobes/list, once it has one of the words: the optimiser
# writes a jump when no task can be in the instructions that it covers
listed()
{
	i=0
	while [ $i -lt 40 ] && ! grep -q "$1" $kprobes/list; do
		sleep 0.2
		i=$((i + 1))
	done
	cat $kprobes/list
}

# expect WANTED SEEN WHAT
expect()
{
	[ "$1" -eq "$2" ] || failed="$failed
$3: $2 hits in place of $1"
}

echo
echo "Linux $(uname -r) with our kprobes in place of its own, in QEMU"
echo
echo "A module with a probe, at the entry of a function:"
echo "  # modprobe kprobe_example symbol=kernel_clone"
modprobe kprobe_example symbol=kernel_clone
echo "  $(listed FTRACE)"
watch start_processes
hits=$(said kprobe_example | grep -c '^before ' || :)
said kprobe_example | sed -n '/^before /{s/^/  /; s/ sp=.*/ .../p; q}'
rmmod kprobe_example
expect $forks "$hits" "kernel_clone()"
echo "  $hits hits, while $forks processes were started"

# Find a later instruction: try offsets until the kernel accepts one.
symbol=do_sys_openat2
offset=8
while ! modprobe kprobe_example symbol=$symbol offset=$offset 2>/dev/null; do
	offset=$((offset + 1))
	[ $offset -lt 40 ] || exit 1
done
echo "The same module, inside a function:"
echo "  # modprobe kprobe_example symbol=$symbol offset=$offset"
echo "  $(listed OPTIMIZED)"
# The module limits what it prints in a second.
sleep 1.2
watch open_files
hits=$(said kprobe_example | grep -c '^before ' || :)
rmmod kprobe_example
expect $opens "$hits" "$symbol()+$offset"
echo "  $hits hits, while $opens files were opened"

echo "A module with a return probe:"
echo "  # modprobe kretprobe_example func=kernel_clone"
modprobe kretprobe_example func=kernel_clone
watch start_processes
hits=$(said kretprobe_example | grep -c ' returned ' || :)
said kretprobe_example | sed -n '/ returned /{s/^/  /p; q}'
echo "  $hits returns, while $forks processes were started"
rmmod kretprobe_example
expect $forks "$hits" "return of kernel_clone()"

# shellcheck disable=SC2016 # the kernel replaces $arg2
event='p:open do_sys_openat2 file=+0($arg2):ustring'
echo "A kprobe event, with an argument that is a string:"
echo "  # echo '$event' >kprobe_events"
echo "$event" >$tracefs/kprobe_events
echo 1 >$tracefs/events/kprobes/open/enable
open_files
echo 0 >$tracefs/events/kprobes/open/enable
hits=$(grep -c 'file="/proc/version"' $tracefs/trace || :)
sed -n '/file="\/proc\/version"/{s/^ */  /p; q}' $tracefs/trace
echo >$tracefs/kprobe_events
expect $opens "$hits" "kprobe event"

echo "An address that is refused:"
echo "  # echo $symbol+1 >explain; cat explain"
exec 3<>$kprobes/explain
echo "$symbol+1" >&3
reason=$(sed -n 's/^reason: //p' <&3)
exec 3>&-
echo "  reason: $reason"
[ -n "$reason" ] || failed="$failed
explain gave no reason"

# cost KEY WHAT RECORDED
cost()
{
	here=$(sed -n "s/^$1 \([0-9]*\)(.*/\1/p" /tmp/ways)
	printf '  %-34s %6s %13s\n' "$2" "${here:--}" "${3:--}"
	[ -n "$here" ] || failed="$failed
no figure for $2"
}

for module in kp_bench_entries kp_bench; do
	insmod test_modules/$module.ko
done
cat $bench/ways >/tmp/ways
rmmod kp_bench kp_bench_entries
printf '%-36s %6s %13s\n' "What a hit costs, in instructions:" here "Linux $base *"
# shellcheck disable=SC2154 # demo.sh sets them
{
	cost pre_ftrace "probe at an entry" "$cost_entry"
	cost pre_jump "probe inside, optimised" "$cost_inside"
	cost pre_boost "probe inside, by breakpoint" "$cost_breakpoint"
	cost ret_ftrace "return probe" "$cost_return"
}
echo "  * recorded: Documentation/trace, Probe overhead; preemptible, config.default"
[ "$(wc -l <$kprobes/list)" -eq 0 ] || failed="$failed
probes are left in kprobes/list"
if [ -n "$failed" ]; then
	echo "error:$failed"
	exit 1
fi
