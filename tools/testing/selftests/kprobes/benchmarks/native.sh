#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures the cost of probes on the machine and the kernel that it runs on, with the processor's
# counters and test_modules/kp_bench.ko, built for this kernel. Prints what the figures depend on,
# and a table like bench.sh's. In an emulator, which has no cycles, it refuses.

set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# In the source tree, the modules are one level up.
[ -d "$here/test_modules" ] || here=$(dirname "$here")

usage()
{
	cat <<EOT
usage: ${0##*/} [-c CPU] [-m MODULES] [-r RUNS] [-t]
  -c CPU      run on it, default the last one
  -m MODULES  where kp_bench.ko and kp_bench_entries.ko are, default test_modules
  -r RUNS     number of runs, default 30
  -t          try: go through one run, on any machine, and print no figures
EOT
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

cpu='' modules='' runs=30 try=
while getopts c:m:r:th opt; do
	case $opt in
	c) cpu=$OPTARG ;;
	m) modules=$OPTARG ;;
	r) runs=$OPTARG ;;
	t) try=y runs=1 ;;
	h) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || { usage >&2 && exit 2; }

# hypervisor: prints the signature that the hypervisor has in CPUID, if it can be read
hypervisor()
{
	dd if=/dev/cpu/0/cpuid bs=16 count=1 skip=$((0x40000000)) iflag=skip_bytes 2>/dev/null |
		tail -c 12 | tr -dc '[:alnum:]'
}

# emulator: prints how this processor was recognised as emulated; fails if it is not known to be
emulator()
{
	local virt

	virt=$(systemd-detect-virt --vm 2>/dev/null) || :
	case $virt in
	qemu | bochs)
		echo "systemd-detect-virt says $virt"
		return
		;;
	esac
	grep -m 1 -E '^model name.*(QEMU TCG|QEMU Virtual)' /proc/cpuinfo && return
	[ "$(hypervisor)" = TCGTCGTCGTCG ] && echo "the hypervisor is TCG"
}

# module NAME: prints the path of its .ko
module()
{
	find "${modules:-$here/test_modules}" -name "$1.ko" | grep -m 1 . ||
		die "$1.ko is missing: build test_modules for this kernel, or give -m"
}

[ "$(id -u)" -eq 0 ] || die "must be run as root"
if [ -z "$try" ] && why=$(emulator); then
	die "refused: there are no figures of hardware in an emulator ($why)"
fi

debugfs=/sys/kernel/debug
bench=$debugfs/kp_bench
optimization=/proc/sys/debug/kprobes-optimization
loaded=()
was=
work=$(mktemp -d)
at_exit()
{
	local name

	[ -z "$was" ] || echo "$was" >$optimization
	for name in "${loaded[@]}"; do
		rmmod "$name"
	done
	rm -rf "$work"
}
trap at_exit EXIT
trap 'exit 130' INT TERM HUP

mountpoint -q $debugfs 2>/dev/null || mount -t debugfs none $debugfs 2>/dev/null || :
for name in kp_bench_entries kp_bench; do
	insmod "$(module $name)" || die "insmod $name failed: was it built for this kernel?"
	loaded=("$name" "${loaded[@]}")
done
[ ! -w $optimization ] || was=$(cat $optimization)
cpu=${cpu:-$(($(getconf _NPROCESSORS_ONLN) - 1))}

# read_file FILE JUMPS: switches optimisation off or on (JUMPS is 0 or 1), then reads a file of the
# module on the measured CPU. The read measures, and returns the figures. If the sysctl cannot be
# written ($was is empty), prints nothing with JUMPS 1.
read_file()
{
	if [ -n "$was" ]; then
		echo "$2" >$optimization
	elif [ "$2" -eq 1 ]; then
		return 0
	fi
	taskset -c "$cpu" cat "$bench/$1"
}

# idle: prints how long the measured CPU, and the others on average, were idle within a second
idle()
{
	grep '^cpu[0-9]' /proc/stat >"$work/before"
	sleep 1
	grep '^cpu[0-9]' /proc/stat | awk -v cpu="cpu$cpu" '
		NR == FNR { idle[$1] = $5; for (i = 2; i <= 9; i++) all[$1] += $i; next }
		{
			sum = -all[$1]
			for (i = 2; i <= 9; i++) sum += $i
			share = sum > 0 ? 100 * ($5 - idle[$1]) / sum : 100
			if ($1 == cpu) { own = share; next }
			others += share
			n++
		}
		END {
			printf "CPU %s %d %%", substr(cpu, 4), own
			if (n) printf ", the other %d %d %%", n, others / n
			print ""
		}' "$work/before" -
}

# fact WHAT VALUE
fact() { printf '%-14s %s\n' "$1" "${2:--}"; }

# of_file FILE: prints its first line, if it can be read
of_file() { head -n 1 "$1" 2>/dev/null || :; }

facts()
{
	local file cpus=/sys/devices/system/cpu

	file=kprobes
	[ ! -e $debugfs/kprobes/explain ] || file="kprobes with an explain file"
	fact kernel "$(uname -r), $file"
	fact processor "$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)"
	fact microcode "$(sed -n 's/^microcode[^:]*: *//p' /proc/cpuinfo | head -n 1)"
	fact machine "$(systemd-detect-virt --vm 2>/dev/null || :)"
	fact preemption "$(of_file $debugfs/sched/preempt)"
	fact frequency "$(of_file $cpus/cpu"$cpu"/cpufreq/scaling_governor)"
	fact SMT "$(of_file $cpus/smt/control)"
	fact idle "$(idle)"
	fact load "$(of_file /proc/loadavg)"
	fact "command line" "$(of_file /proc/cmdline)"
	for file in "$cpus"/vulnerabilities/*; do
		[ ! -e "$file" ] || fact "${file##*/}" "$(of_file "$file")"
	done
}

# table: lines of `key|label`, and headings, as in bench.sh
table()
{
	cat <<'EOT'
# One hit
pre_boost|add %rsi,%rdi: pre_handler
post_boost|  and post_handler
pre_push|push %rbp: pre_handler
pre_jump|two adds, optimised: pre_handler
post_jump|  and post_handler
pre_ftrace|entry, by ftrace: pre_handler
post_ftrace|  and post_handler
# One call with a return probe
ret_boost|add %rsi,%rdi at the entry: handler
ret_jump|two adds, optimised: handler
ret_ftrace|ftrace location at the entry: handler
EOT
}

# print_table: prints the median of all runs, the least and the most of each row
print_table()
{
	table | awk -F'|' -v try="$try" '
		function figures(key, what,    n, i, j, x, v) {
			n = count[key]
			if (!n) return "-"
			if (try) return "ran"
			for (i = 1; i <= n; i++) {
				x = value[key, what, i] / 1000
				for (j = i - 1; j > 0 && v[j] > x; j--) v[j + 1] = v[j]
				v[j + 1] = x
			}
			x = n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
			return sprintf("%.0f (%.0f-%.0f)", x, v[1], v[n])
		}
		NR == FNR {
			split($0, word, " ")
			n = ++count[word[1]]
			for (i = 1; i <= 3; i++) value[word[1], i, n] = word[i + 1]
			next
		}
		/^# / {
			printf "\n%-42s  %18s  %18s  %18s\n", substr($0, 3), "instructions",
				"cycles", "nanoseconds"
			next
		}
		{
			printf "%-42s  %18s  %18s  %18s\n", $2, figures($1, 1), figures($1, 2),
				figures($1, 3)
		}' "$work/all" -
}

facts
: >"$work/all"
for ((run = 1; run <= runs; run++)); do
	read_file counted 0 >>"$work/all"
	read_file counted_jumps 1 >>"$work/all"
done
[ -s "$work/all" ] || die "nothing was measured"
[ -n "$try" ] || ! awk '$2 <= 0 || $3 <= 0 { bad = 1 } END { exit !bad }' "$work/all" ||
	die "refused: this machine does not let perf count instructions and cycles"
print_table
printf '\nMedian (least-most) of %d runs of 1,000 hits on CPU %s, less calls without a probe.\n' \
	"$runs" "$cpu"
