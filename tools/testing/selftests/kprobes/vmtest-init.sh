#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# The first process of vmtest.sh's guest. /vmtest.conf has the host's requests; results are written
# to the port $results. With the host's root, the script assembles that root, and then runs again
# in it.

set -u
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/ TERM=linux LC_ALL=C
rootfs=
tests=
timeout=300
shared_build=
gcov=
results=
# shellcheck source=/dev/null
. /vmtest.conf

# mount_shared TAG DIRECTORY: mounts a directory of the host, read-only. The guest caches files only
# while tests run: at a prompt, the user has to see what the host writes.
mount_shared()
{
	cache=loose
	[ "${mode:-}" != shell ] || cache=none
	mkdir -p "$2"
	mount -t 9p -o "trans=virtio,version=9p2000.L,msize=512000,cache=$cache,ro" "$1" "$2"
}

# over_host: mounts on /newroot the host's root, where /lib is a link to /usr/lib, with the guest's
# files above it
over_host()
{
	upper=/layer/upper
	mkdir -p /layer /newroot /dev &&
		mount -t devtmpfs none /dev &&
		mount -t tmpfs -o mode=755 none /layer &&
		mount_shared root /layer/host &&
		mkdir -p $upper/usr/lib/modules $upper/vmtest /layer/work &&
		cp -a /kselftest /vmtest.conf $upper/ &&
		cp -a "/lib/modules/$(uname -r)" $upper/usr/lib/modules/ &&
		cp /bin/busybox /init $upper/vmtest/ &&
		{ [ ! -e /vmtest-command ] || cp /vmtest-command $upper/; } &&
		mount -t overlay -o "lowerdir=/layer/host,upperdir=$upper,workdir=/layer/work" \
			none /newroot &&
		mount -t tmpfs -o mode=755 none /newroot/run &&
		mount -t proc none /newroot/proc &&
		{ [ -z "$shared_build" ] || mount_shared build "/newroot$shared_build"; }
}

if [ "$rootfs" = host ] && [ "$0" = /vmtest/init ]; then
	busybox=/vmtest/busybox
	path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	PATH=/vmtest/bin:$path
	HOME=/root
	$busybox mkdir -p /vmtest/bin
	$busybox --install -s /vmtest/bin
else
	busybox=/bin/busybox
	path=$PATH
	$busybox --install -s
	if [ "$rootfs" = host ]; then
		mount -t proc none /proc
		! over_host 2>/dev/kmsg || exec switch_root /newroot /vmtest/busybox sh /vmtest/init
		echo "vmtest: the host's root cannot be had" >/dev/kmsg
		exit 1
	fi
	mount -t proc none /proc
fi
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/pts /tmp
mount -t devpts none /dev/pts
mount -t tmpfs none /tmp
mount -t debugfs none /sys/kernel/debug
[ ! -d /sys/kernel/tracing ] || mount -t tracefs none /sys/kernel/tracing
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
# Show all messages on the console, without a rate limit.
echo 8 >/proc/sys/kernel/printk
echo 0 >/proc/sys/kernel/printk_ratelimit 2>/dev/null
echo on >/proc/sys/kernel/printk_devkmsg 2>/dev/null

# insmod waits until the suites of its module have ended. That may take as long as a test may, and
# the hung-task detector must not report it.
echo "$timeout" >/proc/sys/kernel/hung_task_timeout_secs 2>/dev/null

stty -F "$results" -opost 2>/dev/null

[ -z "${host:-}" ] || mount_shared host /host

note() { echo "kprobes-selftest: $*" >/dev/kmsg; }

# save_counters NAME: copies gcov's counters of executed code to the host, and resets them
save_counters()
{
	[ -n "$gcov" ] || return 0
	(
		cd /sys/kernel/debug/gcov || exit
		find . -name '*.gcda' | while read -r file; do
			mkdir -p "/gcov/.new/${file%/*}"
			cat "$file" >"/gcov/.new/$file"
		done
		mv /gcov/.new "/gcov/$1"
		echo 1 >reset
	)
}

kill_session()
{
	for stat in /proc/[0-9]*/stat; do
		read -r line 2>/dev/null <"$stat" || continue
		id=$1
		# pid (name) state parent group session
		# shellcheck disable=SC2086
		set -- ${line##*) }
		[ "$4" != "$id" ] || kill -KILL "${line%% *}" 2>/dev/null
		set -- "$id"
	done
}

# watch_test TEST PID: prints the stacks of a test that takes too long, and kills its session
watch_test()
{
	trap 'kill $!; exit 0' TERM
	sleep "$timeout" &
	wait
	touch /tmp/late
	note "$1 takes more than $timeout s, stacks follow"
	echo l >/proc/sysrq-trigger
	echo w >/proc/sysrq-trigger
	kill -TERM "$2"
	sleep 20 &
	wait
	kill_session "$2"
}

run_test()
{
	note "start $1"
	echo "#@ start $1" >"$results"
	begin=$(cut -d. -f1 /proc/uptime)
	rm -f /tmp/late

	PATH=$path setsid "./$1" </dev/null >"$results" 2>&1 &
	pid=$!
	watch_test "$1" $pid &
	watcher=$!
	wait $pid
	rc=$?
	kill $watcher 2>/dev/null
	wait $watcher
	kill_session $pid
	[ ! -e /tmp/late ] || rc=124

	save_counters "$1"
	note "end $1"
	echo "#@ end $1 $rc $(($(cut -d. -f1 /proc/uptime) - begin))" >"$results"
}

cd /kselftest/kprobes || exit
# This module works around bugs of QEMU's s390, see kp_s390_qemu.c.
[ "$(uname -m)" != s390x ] || [ ! -e test_modules/kp_s390_qemu.ko ] ||
	insmod test_modules/kp_s390_qemu.ko
case ${mode:-tests} in
tests)
	[ -z "$gcov" ] || {
		mkdir /gcov
		mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 gcov /gcov
	} || gcov=
	save_counters boot
	for test in $tests; do
		run_test "$test"
	done
	;;
command)
	PATH=$path /bin/sh /vmtest-command >"$results" 2>&1 </dev/null
	echo "#@ command $?" >"$results"
	;;
shell)
	dmesg -n 5
	shell=/bin/sh
	[ ! -x /bin/bash ] || shell=/bin/bash
	programs=
	[ -z "$rootfs" ] || programs="The host's programs are here, nothing is kept.
"
	cat <<EOF

Linux $(uname -r) with our kprobes, $(nproc) CPUs. ${programs}Modules at hand:
$(find /lib/modules /kselftest -name '*.ko' | sed 's/^/  /')
Load one with insmod or modprobe; probes are listed in
/sys/kernel/debug/kprobes/list. ${host:+The files of the host are in /host. }Leave
with 'exit' or Ctrl-A x.

EOF
	PATH=$path setsid cttyhack "$shell" -l
	;;
esac
echo "#@ done" >"$results"
reboot -f
