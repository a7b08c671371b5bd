#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures the cost of probes: boots kernels in QEMU with a time-stamp counter that counts
# instructions, lets test_modules/kp_bench.ko measure in them, and prints a table. The same kernel
# always gives the same numbers.
#
# The guest has one CPU. One more boot, with several, counts the interrupts that registering and
# unregistering sends to others. A kernel that chooses its preemption model at boot is measured
# with the two extremes.
#
# The budget is for 64-bit kernels: figures of 32-bit ones are printed, but not compared with it.

set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# In the source tree, the other selftests are one level up.
[ -e "$here/vmtest.sh" ] || here=$(dirname "$here")

usage()
{
	cat <<EOT
usage: ${0##*/} [-o DIR] [-r DIR] BUILD[:MODULES]...
  BUILD    where a kernel was built (O=); the last part of it is its name
  MODULES  where test_modules/kp_bench.ko was built for it, in test_modules/,
           default: here
  -o DIR   where to leave the logs of the consoles, default BUILD
  -r DIR   write results.json there, and report.svg if gnuplot is installed
EOT
}

logs='' results=''
while getopts o:r:h opt; do
	case $opt in
	o) logs=$OPTARG ;;
	r) results=$OPTARG ;;
	h) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { usage >&2 && exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# The figures that the module printed, by column and key
declare -A figure
columns=()
# The keys of the table, in its order
keys=()
# By column: set if the figures have to be within the budget
declare -A budgeted=()
over=0

# guest_script FILE...: prints the guest's script, which reads these files of the module; $many is
# the number of probes for the files about many probes
guest_script()
{
	cat <<EOT
set -eu
# With jump optimisation, measure breakpoints, too.
optimization=/proc/sys/debug/kprobes-optimization
insmod test_modules/kp_bench_entries.ko
insmod test_modules/kp_bench.ko
# users NAME COMMAND...: prints the cost of a call with a user's probe less that without; COMMAND
# prints the former
users()
{
	name=\$1
	shift
	without=\$(cat \$bench/call)
	with=\$("\$@") || return 0
	echo "users_\$name \$((with - without))(0)"
}
# event DEFINITION: prints the cost of a call with this event
event()
{
	tracefs=/sys/kernel/tracing
	echo "\$1" >\$tracefs/kprobe_events || return 1
	echo 1 >\$tracefs/events/kpb/enable
	cat \$bench/call
	echo 0 >\$tracefs/events/kpb/enable
	echo >\$tracefs/kprobe_events
}
# program ARGUMENT...: prints the cost of a call with a BPF program of bpf_probe
program()
{
	./bpf_probe "\$@" "cat \$bench/call" 2>/dev/null | sed -n 1p
}
bench=/sys/kernel/debug/kp_bench
scale=/sys/kernel/debug/kp_bench_scale
kprobes=/sys/kernel/debug/kprobes
# spent NAME COMMAND...: prints the cost of the command for each of the probes
spent()
{
	name=\$1
	shift
	before=\$(cat \$scale/now)
	"\$@"
	after=\$(cat \$scale/now)
	echo "held_\$name \$(((after - before) / $many))(0)"
}
read_list() { cat \$kprobes/list >/dev/null; }
set_enabled() { echo \$1 >\$kprobes/enabled; }
jumps_come()
{
	echo 1 >\$optimization
	while [ "\$(cat \$scale/jumps)" -lt $many ]; do sleep 0.1; done
}
jumps_go() { echo 0 >\$optimization; }
hold() { echo \$1 >\$scale/hold; }
for file in $*; do
	case \$file in
	cpus)
		insmod test_modules/kp_bench_scale.ko
		[ ! -w \$optimization ] || jumps_go
		cat \$scale/cpus
		rmmod kp_bench_scale
		continue
		;;
	scale)
		insmod test_modules/kp_bench_scale.ko probes=$many
		[ ! -w \$optimization ] || jumps_go
		cat \$scale/grow
		hold 1
		spent list read_list
		spent disarm set_enabled 0
		spent arm set_enabled 1
		if [ -w \$optimization ]; then
			spent optimize jumps_come
			spent list_jumps read_list
			spent unoptimize jumps_go
			jumps_come
			spent off_jumps hold 0
		fi
		rmmod kp_bench_scale
		continue
		;;
	users)
		[ ! -w \$optimization ] || echo 0 >\$optimization
		# The offset after ftrace's bytes at the entry
		inside=+9
		[ "\$(uname -m)" = x86_64 ] || inside=+5
		users entry event 'p:kpb/e kp_bench:kp_bench_called a=\$arg1 b=\$arg2'
		users inside event 'p:kpb/e kp_bench:kp_bench_called'"\$inside"
		users return event 'r:kpb/e kp_bench:kp_bench_called r=\$retval'
		users bpf program kp_bench_called
		users bpf_return program -r kp_bench_called
		continue
		;;
	esac
	case \$file in
	jumps | jump_returns | optimizing) jumps=1 ;;
	*) jumps=0 ;;
	esac
	if [ -w \$optimization ]; then
		echo \$jumps >\$optimization
	elif [ \$jumps = 1 ]; then
		continue
	fi
	cat \$bench/\$file
done
rmmod kp_bench kp_bench_entries
EOT
}

# measure COLUMN BUILD MODULES CPUS APPEND FILE...
measure()
{
	local column=$1 build=$2 modules=$3 cpus=$4 append=$5 key value
	shift 5

	printf '== %s: %s CPU, measuring %s\n' "$column" "$cpus" "$*"
	guest_script "$@" >"$work/guest.sh"
	TIMEOUT=${TIMEOUT:-1800} ACCEL=tcg,thread=single SMP=$cpus \
		QEMU_ARGS="-icount shift=0,sleep=off" APPEND="nokaslr $append" \
		"$here/vmtest.sh" -b "$build" -m "$modules" -n "bench-$column" \
		-o "${logs:-$build}" -c "$work/guest.sh" >"$work/figures" || {
		cat "$work/figures"
		exit 1
	}
	while read -r key value; do
		figure[$column:$cpus:$key]=$value
	done <"$work/figures"
}

measure_build()
{
	local build=$1 modules=$2 name=${1##*/} model column many=50000

	models=('')
	! grep -q '^CONFIG_PREEMPT_DYNAMIC=y' "$build/.config" || models=(full none)
	for model in "${models[@]}"; do
		column=$name${model:+,$model}
		columns+=("$column")
		[[ $name == stock-* ]] || ! grep -q '^CONFIG_X86_64=y' "$build/.config" ||
			budgeted[$column]=y
		measure "$column" "$build" "$modules" 1 "${model:+preempt=$model}" \
			unused hits jumps returns jump_returns users changes optimizing
		measure "$column" "$build" "$modules" 4 "${model:+preempt=$model}" \
			changes optimizing
	done
	# One preemption model is enough for these. The base kernel takes 17 million instructions
	# to register and unregister a probe.
	[[ $name != stock-* ]] || many=1000
	measure "$column" "$build" "$modules" 1 "${model:+preempt=$model}" scale
	measure "$column" "$build" "$modules" 16 "${model:+preempt=$model}" cpus
}

# cells KEY: prints one line of figures, marked if above $budget
cells()
{
	local column value mark

	keys+=("$1")

	for column in "${columns[@]}"; do
		value=${figure[$column:$1]:--}
		mark=' '
		if [ -n "$budget" ] && [ -n "${budgeted[$column]:-}" ] &&
			[[ $value =~ ([0-9]+)\( ]] && [ "${BASH_REMATCH[1]}" -gt "$budget" ]; then
			mark='*'
			over=$((over + 1))
		fi
		printf '  %16s%s' "$value" "$mark"
	done
	printf '\n'
}

# write_json: writes the figures as numbers, by row and column. Keys begin with the number of
# CPUs.
write_json()
{
	local key column value sep='' sep2

	printf '{\n'
	for key in "${keys[@]}"; do
		printf '%s  "%s": {' "$sep" "$key"
		sep=$',\n' sep2=''
		for column in "${columns[@]}"; do
			value=${figure[$column:$key]:-}
			[[ $value =~ ^([0-9.]+) ]] || continue
			printf '%s"%s": %s' "$sep2" "$column" "${BASH_REMATCH[1]}"
			sep2=', '
		done
		printf '}'
	done
	printf '\n}\n'
}

# write_chart: for each column with its base kernel, draws a hit's share of the base kernel's
# instructions
write_chart()
{
	local column key value stock compared=()

	command -v gnuplot >/dev/null || return 0
	for column in "${columns[@]}"; do
		[[ " ${columns[*]} " != *" stock-$column "* ]] || compared+=("$column")
	done
	[ ${#compared[@]} -gt 0 ] || return 0
	for key in "${keys[@]}"; do
		[[ $key =~ ^1:(pre|post|several|ret|users|unused)_ ]] || continue
		printf '"%s"' "${key#1:}"
		for column in "${compared[@]}"; do
			value=${figure[$column:$key]:-} stock=${figure[stock-$column:$key]:-}
			if [[ $value =~ ^([0-9]+) ]] && value=${BASH_REMATCH[1]} &&
				[[ $stock =~ ^([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -gt 0 ]; then
				printf ' %d' $((100 * value / BASH_REMATCH[1]))
			else
				printf ' NaN'
			fi
		done
		printf '\n'
	done >"$work/chart"
	{
		printf '%s\n' 'set terminal svg size 1200,600' "set output '$results/report.svg'" \
			'set style data histograms' 'set style fill solid' \
			'set xtics rotate by -60' \
			'set ylabel "instructions, % of the base kernel"' 'set yrange [0:]' \
			'set key noenhanced' 'set xtics noenhanced' 'set grid ytics'
		printf 'plot '
		for key in "${!compared[@]}"; do
			[ "$key" -eq 0 ] || printf ', '
			printf "'%s' using %d:xtic(1) title '%s'" "$work/chart" $((key + 2)) \
				"${compared[key]}"
		done
		printf '\n'
	} | gnuplot
}

# head TITLE
head_line()
{
	local column

	printf '\n%-42s %6s' "$1" budget
	for column in "${columns[@]}"; do
		printf '  %16s ' "$column"
	done
	printf '\n'
}

# row BUDGET KEY LABEL
row()
{
	local budget=$1

	# A budget that no column is compared with is not shown either.
	[ ${#budgeted[@]} -gt 0 ] || budget=
	printf '%-42s %6s' "$3" "${budget:--}"
	cells "$2"
}

# extra_row EXTRA KEY LABEL: a figure that may exceed the one of the same variant's base kernel by
# EXTRA
extra_row()
{
	local extra=$1 key=$2 column value stock mark

	keys+=("$key")
	printf '%-42s %6s' "$3" "${extra:+"+$extra"}"
	for column in "${columns[@]}"; do
		value=${figure[$column:$key]:--}
		stock=${figure[stock-$column:$key]:-}
		mark=' '
		if [ -n "$extra" ] && [[ $value =~ ^([0-9]+)\( ]] && value=${BASH_REMATCH[1]} &&
			[[ $stock =~ ^([0-9]+)\( ]] &&
			[ "$value" -gt $((BASH_REMATCH[1] + extra)) ]; then
			mark='*'
			over=$((over + 1))
		fi
		printf '  %16s%s' "${value%(*}" "$mark"
	done
	printf '\n'
}

# time_row KEY LABEL: prints the figures of a thousand probes, for one of them
time_row()
{
	local budget='' column key=$1 n ipis

	for column in "${columns[@]}"; do
		[[ ${figure[$column:$key]:-} =~ ^([0-9]+)\(([0-9]+)\)$ ]] || continue
		n=${BASH_REMATCH[1]} ipis=${BASH_REMATCH[2]}
		figure[$column:$key]=$(printf '%d.%03d(%d)' $((n / 1000000)) \
			$((n / 1000 % 1000)) "$ipis")
	done
	printf '%-42s %6s' "$2" -
	cells "$key"
}

for arg; do
	build=$(realpath "${arg%%:*}")
	modules=$here
	[[ $arg != *:* ]] || modules=$(realpath "${arg#*:}")
	measure_build "$build" "$modules"
done

head_line "Instructions without any probe"
extra_row 2 1:unused_fault "a page fault"
extra_row 5 1:unused_frame "a frame of a stack trace"
extra_row '' 1:unused_process "a process that starts and ends"

head_line "Instructions of one hit (traps)"
row 235 1:pre_boost "add %rsi,%rdi: pre_handler"
row 310 1:post_boost "  and post_handler"
row 235 1:pre_boost_among_1 "  pre_handler, 1 other probe registered"
row 235 1:pre_boost_among_100 "  100 others"
row 235 1:pre_boost_among_10000 "  10,000 others"
row '' 1:pre_boost_each "  mean over all the 10,000"
row 235 1:pre_nop "nop: pre_handler"
row '' 1:post_nop "  and post_handler"
row 235 1:pre_jmp "jmp: pre_handler"
row '' 1:post_jmp "  and post_handler"
row 235 1:pre_je "je: pre_handler"
row '' 1:post_je "  and post_handler"
row 235 1:pre_push "push %rbp: pre_handler"
row '' 1:post_push "  and post_handler"
row 235 1:pre_str "str %eax: pre_handler"
row '' 1:post_str "  and post_handler"
row 80 1:pre_jump "two adds, optimised: pre_handler"
row 165 1:post_jump "  and post_handler"
row 130 1:pre_ftrace "entry, by way of ftrace: pre_handler"
row '' 1:post_ftrace "  and post_handler"
row 275 1:several_boost_2 "add %rsi,%rdi: 2 probes"
row '' 1:several_boost_4 "  4 probes"
row '' 1:several_boost_16 "  16 probes"
row 130 1:several_jump_2 "two adds, optimised: 2 probes"
row '' 1:several_jump_4 "  4 probes"
row '' 1:several_jump_16 "  16 probes"

head_line "Instructions of one call with a return probe"
row 350 1:ret_boost "add %rsi,%rdi at the entry: handler"
row '' 1:ret_boost_both "  and entry_handler"
row 360 1:ret_boost_limit "  and maxactive"
row 390 1:ret_boost_all "  and entry_handler, maxactive, data"
row '' 1:ret_push "push %rbp at the entry: handler"
row 205 1:ret_jump "two adds, optimised: handler"
row '' 1:ret_jump_both "  and entry_handler"
row 215 1:ret_jump_limit "  and maxactive"
row 245 1:ret_jump_all "  and entry_handler, maxactive, data"
row 265 1:ret_ftrace "ftrace location at the entry: handler"
row '' 1:ret_ftrace_both "  and entry_handler"
row 265 1:ret_ftrace_limit "  and maxactive"
row 300 1:ret_ftrace_all "  and entry_handler, maxactive, data"

head_line "Instructions of a call, all the way to the user"
row '' 1:users_entry "kprobe event at the entry, 2 arguments"
row '' 1:users_inside "kprobe event inside, by breakpoint"
row '' 1:users_return "kretprobe event, return value"
row '' 1:users_bpf "BPF program on perf's kprobe"
row '' 1:users_bpf_return "BPF program on perf's kretprobe"

head_line "Thousand instructions for a probe (IPIs)"
time_row 1:register_singly "1,000 registered one by one"
time_row 1:register_batch "  as a batch"
time_row 1:register_last_batch "  as a batch, after 9,000 others"
time_row 1:unregister_singly "1,000 unregistered one by one"
time_row 1:unregister_batch "  as a batch"
time_row 1:entries_on_singly "1,000 entries (ftrace) one by one"
time_row 1:entries_on_batch "  as a batch"
time_row 1:entries_off_singly "  unregistered one by one"
time_row 1:entries_off_batch "  as a batch"
time_row 4:register_singly "4 CPUs: 1,000 registered one by one"
time_row 4:register_batch "  as a batch"
time_row 4:unregister_singly "  1,000 unregistered one by one"
time_row 4:unregister_batch "  as a batch"
time_row 4:entries_on_singly "4 CPUs: 1,000 entries one by one"
time_row 4:entries_on_batch "  as a batch"
time_row 4:entries_off_singly "  unregistered one by one"
time_row 4:entries_off_batch "  as a batch"

head_line "Milliseconds of such instructions (IPIs)"
for cpus in 1 4; do
	time_row "$cpus:optimize_one" "$cpus CPU(s): one probe until it is optimised"
	time_row "$cpus:unregister_optimized_one" "  unregistered"
	time_row "$cpus:optimize_batch" "  a batch of 1,000"
	time_row "$cpus:unregister_optimized_batch" "  unregistered"
done

head_line "Instructions for a probe, with others"
for others in 0 1000 10000 20000 50000; do
	row '' "1:grow_hit_$others" "a hit, with $others others"
	row '' "1:grow_on_$others" "  one more registered"
	row '' "1:grow_off_$others" "  unregistered"
	[ "$others" -eq 0 ] || row '' "1:grow_batch_$others" "  each of the last batch registered"
done
row '' 1:grow_batch_off "unregistered as a batch, each"
row '' 1:grow_bytes "bytes of memory for each"
row '' 1:held_list "reading kprobes/list, for each"
row '' 1:held_disarm "enabled = 0, for each"
row '' 1:held_arm "enabled = 1, for each"
row '' 1:held_optimize "all optimised, for each"
row '' 1:held_list_jumps "reading kprobes/list, for each"
row '' 1:held_unoptimize "all unoptimised, for each"
row '' 1:held_off_jumps "unregistered with their jumps, each"

head_line "Instructions of a hit on several CPUs"
for cpus in 1 2 4 8 16; do
	row '' "16:cpus_pre_one_$cpus" "$cpus of 16 CPUs: one probe"
	row '' "16:cpus_pre_each_$cpus" "  one each"
	row '' "16:cpus_ret_one_$cpus" "  one return probe"
	row '' "16:cpus_ret_each_$cpus" "  one each"
	row '' "16:cpus_limit_one_$cpus" "  one with maxactive"
	row '' "16:cpus_limit_each_$cpus" "  one each"
done

if [ -n "$results" ]; then
	mkdir -p "$results"
	write_json >"$results/results.json"
	write_chart
fi

cat <<EOT

An instruction counts as a nanosecond, and a wait as what it lasts. IPIs are
those of all the 1,000 probes.
EOT
[ "$over" -eq 0 ] || {
	printf '%d figures, marked *, are above the budget.\n' "$over"
	exit 1
}
