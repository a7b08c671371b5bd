# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What `make demo` runs in the guest: probes at a function's entry, within a function, at a return,
# and as an event, and an address that is refused. Prints one screen, and fails if a hit is missing.

set -eu

debugfs=/sys/kernel/debug
tracefs=/sys/kernel/tracing
list=$debugfs/kprobes/list
failed=

# Open the log only once, here: opening it for each mark would hit the probes on do_sys_openat2().
exec 7>/dev/kmsg
mark() { echo "demo: $1" >&7; }

# during WORK MODULE: runs the function WORK, and prints what the module logs in that time
runs=0
during()
{
	runs=$((runs + 1))
	mark "begin $runs"
	$1
	mark "end $runs"
	dmesg | sed "1,/demo: begin $runs\$/d; /demo: end $runs\$/,\$d; s/^\[[^]]*\] //" | grep "^$2: " || :
}

row() { printf '  %-11s %s\n' "$1" "$2"; }

# must NUMBER -OPERATOR WANTED WHAT: lets the demo fail, and says so, if this comparison is false
must()
{
	test "$1" "$2" "$3" || {
		row FAILED "$4: $1, wanted $3"
		failed=y
	}
}

start_processes()
{
	i=0
	while [ $i -lt 5 ]; do
		/bin/true
		i=$((i + 1))
	done
}

open_files()
{
	i=0
	while [ $i -lt 3 ]; do
		read -r _ </proc/version
		i=$((i + 1))
	done
}

# wait_for_jump: waits until the list shows that ftrace or a jump, and not a breakpoint, leads to
# the probe. The optimiser writes a jump once no task can be in the instructions that it overlaps.
wait_for_jump()
{
	i=0
	while [ $i -lt 50 ] && ! grep -q 'FTRACE\|OPTIMIZED' $list; do
		sleep 0.1
		i=$((i + 1))
	done
}

# show MODULE WORK PATTERN HITS WORDS: runs WORK with the module's probe in place, and prints the
# list of probes and what is logged. Logged lines that match PATTERN are hits: at least HITS are
# expected. Then removes the module, and runs WORK again: now a hit is an error.
show()
{
	wait_for_jump
	row listed "$(cat $list)"
	during "$2" "$1" >/tmp/said
	grep "$3" /tmp/said >/tmp/hits || :
	# There may be more hits than WORK causes: a kernel thread may start, too.
	must "$(wc -l </tmp/hits)" -ge "$4" hits
	row hit "$(wc -l </tmp/hits) times, $5; the log's last line of it:"
	sed -n '$s/^/              /; $s/ dx=.*//; $p' /tmp/hits
	rmmod "$1"
	during "$2" "$1" >/tmp/said
	must "$(wc -l </tmp/said)" -eq 0 "hits after rmmod"
	must "$(wc -l <$list)" -eq 0 "probes left"
}

printf '\nLinux %s with these kprobes, in QEMU. Each probe is removed after its hits.\n' "$(uname -r)"

echo "Entry of a function     # modprobe kprobe_example symbol=kernel_clone"
modprobe kprobe_example symbol=kernel_clone
show kprobe_example start_processes ': before ' 5 "as 5 processes start"

# Find an instruction within the function: try offsets until the kernel accepts one.
offset=8
while ! modprobe kprobe_example symbol=do_sys_openat2 offset=$offset 2>/dev/null; do
	offset=$((offset + 1))
	[ $offset -lt 40 ] || exit 1
done
echo "Within a function       # modprobe kprobe_example symbol=do_sys_openat2 offset=$offset"
show kprobe_example open_files ': before ' 3 "as 3 files are opened"

echo "Return of a function    # modprobe kretprobe_example func=kernel_clone"
modprobe kretprobe_example func=kernel_clone
show kretprobe_example start_processes ' returned ' 5 "as 5 processes start"

# shellcheck disable=SC2016 # $arg2 is the event's
event='p:opened do_sys_openat2 file=+0($arg2):ustring'
echo "Event with a string     # echo '$event' >kprobe_events"
echo "$event" >$tracefs/kprobe_events
echo 1 >$tracefs/events/kprobes/opened/enable
open_files
# Ftrace learns the shell's name when the CPU switches to another task.
sleep 0.1
echo 0 >$tracefs/events/kprobes/opened/enable
grep 'opened: .*file="/proc/version"' $tracefs/trace >/tmp/hits || :
must "$(wc -l </tmp/hits)" -eq 3 "lines of the event"
row trace "$(sed -n '$s/^ *//p' /tmp/hits)"
echo >$tracefs/kprobe_events

echo "An address refused      # echo kernel_clone+1 >&3; cat <&3     (kprobes/explain)"
exec 3<>$debugfs/kprobes/explain
echo kernel_clone+1 >&3
sed -n 's/^reason: *//p' <&3 >/tmp/reason
[ -s /tmp/reason ] || failed=y
row reason "$(cat /tmp/reason)"

[ -z "$failed" ] || exit 1
