#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures the cost of probes: boots kernels in QEMU with a time-stamp counter that counts
# instructions, lets test_modules/kp_bench.ko measure in them, and prints a table. The same kernel
# always gives the same numbers.
#
# The guest has one CPU. One more boot, with four CPUs, counts the interrupts that registering and
# unregistering probes sends to other CPUs. A kernel that chooses its preemption model at boot is
# measured with the two extremes. In a kernel with BTF, which fentry and fexit need, only calls with
# a BPF program are measured, with one preemption model.
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
  -r DIR   write results.json there, and report.svg and bpf.svg if gnuplot is installed
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

# The figures: lines of `column|CPUs:key|value`
: >"$work/all"
columns=()
# The columns whose figures have to be within the budget
budgeted=

# guest_script FILE...: prints the guest's script, which reads these files of the module; $many is
# the number of probes for the files about many probes
guest_script()
{
	cat <<EOT
set -eu
# A kernel with jump optimisation has this file. Switch it off and on, to measure breakpoints and
# jumps.
optimization=/proc/sys/debug/kprobes-optimization
insmod test_modules/kp_bench_entries.ko
insmod test_modules/kp_bench.ko
# cost NAME COMMAND...: COMMAND prints the cost of a call while a user's probe is attached. Prints
# the difference from a call without the probe.
cost()
{
	name=\$1
	shift
	without=\$(cat \$bench/call)
	with=\$("\$@") || return 0
	[ -z "\$with" ] || echo "\$name \$((with - without))(0)"
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
# program_by_jump ARGUMENT...: as program, but measures when the probe is optimised, and prints
# nothing if it never is. The base kernel lists it as optimised before it has written the jump, so
# wait one more second.
program_by_jump()
{
	./bpf_probe "\$@" "for i in \$(seq 100 | paste -sd' '); do
		! grep -q OPTIMIZED \$kprobes/list || { sleep 1; exec cat \$bench/call; }
		sleep 0.1
	done; exit 1" 2>/dev/null | sed -n 1p
}
bench=/sys/kernel/debug/kp_bench
scale=/sys/kernel/debug/kp_bench_scale
kprobes=/sys/kernel/debug/kprobes
# The offset after ftrace's bytes at an entry
inside=+9
[ "\$(uname -m)" = x86_64 ] || inside=+5
# spent NAME COMMAND...: prints the cost of the command, divided by the number of probes
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
		cost users_entry event 'p:kpb/e kp_bench:kp_bench_called a=\$arg1 b=\$arg2'
		cost users_inside event 'p:kpb/e kp_bench:kp_bench_called'"\$inside"
		cost users_return event 'r:kpb/e kp_bench:kp_bench_called r=\$retval'
		cost users_bpf program kp_bench_called
		cost users_bpf_return program -r kp_bench_called
		continue
		;;
	bpf)
		[ ! -w \$optimization ] || jumps_go
		cost bpf_fentry program -v 0 -x kp_bench_called
		cost bpf_fexit program -v 0 -x -r kp_bench_called
		cost bpf_kprobe program -v 0 kp_bench_called
		cost bpf_kretprobe program -v 0 -r kp_bench_called
		cost bpf_break program -v 0 "kp_bench_called\$inside"
		cost bpf_multi program -v 0 -m kp_bench_called
		cost bpf_multi_return program -v 0 -m -r kp_bench_called
		cost bpf_session program -v 0 -S kp_bench_called
		if [ -w \$optimization ]; then
			echo 1 >\$optimization
			cost bpf_jump program_by_jump -v 0 "kp_bench_called\$inside"
		fi
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

# measure COLUMN BUILD MODULES CPUS APPEND FILE...: boots once, and adds the figures to $work/all
measure()
{
	local column=$1 build=$2 modules=$3 cpus=$4 append=$5
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
	awk -v start="$column|$cpus:" 'NF > 1 { print start $1 "|" $2 }' \
		"$work/figures" >>"$work/all"
}

measure_build()
{
	local build=$1 modules=$2 name=${1##*/} model column many=50000

	if grep -q '^CONFIG_DEBUG_INFO_BTF=y' "$build/.config"; then
		columns+=("$name")
		[[ $name == stock-* ]] || budgeted+=" $name "
		measure "$name" "$build" "$modules" 1 "" bpf
		return
	fi
	models=('')
	! grep -q '^CONFIG_PREEMPT_DYNAMIC=y' "$build/.config" || models=(full none)
	for model in "${models[@]}"; do
		column=$name${model:+,$model}
		columns+=("$column")
		[[ $name == stock-* ]] || ! grep -q '^CONFIG_X86_64=y' "$build/.config" ||
			budgeted+=" $column "
		measure "$column" "$build" "$modules" 1 "${model:+preempt=$model}" \
			unused hits jumps returns jump_returns users bpf changes optimizing
		measure "$column" "$build" "$modules" 4 "${model:+preempt=$model}" \
			changes optimizing
	done
	# Measure these with one preemption model only. The base kernel (stock-*) gets fewer probes,
	# since it takes 17 million instructions to register and unregister one.
	[[ $name != stock-* ]] || many=1000
	measure "$column" "$build" "$modules" 1 "${model:+preempt=$model}" scale
	measure "$column" "$build" "$modules" 16 "${model:+preempt=$model}" cpus
}

# table: prints lines of `budget|CPUs:key|label`, and headings. A budget +N is N more than the base
# kernel's figure in the same variant. ~ is no budget, for a figure that is shown in millions. A
# figure has the number of traps, or of IPIs, in parentheses.
table()
{
	local n

	cat <<'EOT'
# Instructions without any probe
+2|1:unused_fault|a page fault
+5|1:unused_frame|a frame of a stack trace
|1:unused_process|a process that starts and ends
# One hit: instructions (and traps)
235|1:pre_boost|add %rsi,%rdi: pre_handler
310|1:post_boost|  and post_handler
235|1:pre_boost_among_1|  pre_handler, 1 other probe registered
235|1:pre_boost_among_100|  100 others
235|1:pre_boost_among_10000|  10,000 others
|1:pre_boost_each|  mean over all the 10,000
235|1:pre_nop|nop: pre_handler
|1:post_nop|  and post_handler
235|1:pre_jmp|jmp: pre_handler
|1:post_jmp|  and post_handler
235|1:pre_je|je: pre_handler
|1:post_je|  and post_handler
235|1:pre_push|push %rbp: pre_handler
|1:post_push|  and post_handler
235|1:pre_str|str %eax: pre_handler
|1:post_str|  and post_handler
80|1:pre_jump|two adds, optimised: pre_handler
165|1:post_jump|  and post_handler
90|1:pre_ftrace|entry, by ftrace: pre_handler
150|1:post_ftrace|  and post_handler
275|1:several_boost_2|add %rsi,%rdi: 2 probes
|1:several_boost_4|  4 probes
|1:several_boost_16|  16 probes
130|1:several_jump_2|two adds, optimised: 2 probes
|1:several_jump_4|  4 probes
|1:several_jump_16|  16 probes
# Instructions of one call with a return probe
350|1:ret_boost|add %rsi,%rdi at the entry: handler
|1:ret_boost_both|  and entry_handler
360|1:ret_boost_limit|  and maxactive
390|1:ret_boost_all|  and entry_handler, maxactive, data
|1:ret_push|push %rbp at the entry: handler
205|1:ret_jump|two adds, optimised: handler
|1:ret_jump_both|  and entry_handler
215|1:ret_jump_limit|  and maxactive
245|1:ret_jump_all|  and entry_handler, maxactive, data
150|1:ret_ftrace|ftrace location at the entry: handler
|1:ret_ftrace_both|  and entry_handler
220|1:ret_ftrace_limit|  and maxactive
240|1:ret_ftrace_all|  and entry_handler, maxactive, data
# Instructions of a call, all the way to the user
|1:users_entry|kprobe event at the entry, 2 arguments
|1:users_inside|kprobe event inside, by breakpoint
|1:users_return|kretprobe event, return value
|1:users_bpf|BPF program on perf's kprobe
|1:users_bpf_return|BPF program on perf's kretprobe
# Instructions, a BPF program returns 0
|1:bpf_fentry|fentry
|1:bpf_fexit|fexit
|1:bpf_kprobe|kprobe at the entry
|1:bpf_kretprobe|kretprobe
|1:bpf_jump|kprobe inside, by jump
|1:bpf_break|kprobe inside, by breakpoint
|1:bpf_multi|kprobe.multi
|1:bpf_multi_return|kprobe.multi at the return
|1:bpf_session|kprobe.session
# Thousand instructions a probe (and IPIs)
EOT
	for n in 1 4; do
		cat <<-EOT
			~|$n:register_singly|$n CPU(s): 1,000 registered one by one
			~|$n:register_batch|  as a batch
			~|$n:register_last_batch|  as a batch, after 9,000 others
			~|$n:unregister_singly|  unregistered one by one
			~|$n:unregister_batch|  as a batch
			~|$n:entries_on_singly|$n CPU(s): 1,000 entries one by one
			~|$n:entries_on_batch|  as a batch
			~|$n:entries_off_singly|  unregistered one by one
			~|$n:entries_off_batch|  as a batch
		EOT
	done | sed '/^~|4:register_last/d'
	echo '# Milliseconds of such instructions (IPIs)'
	for n in 1 4; do
		cat <<-EOT
			~|$n:optimize_one|$n CPU(s): one probe until it is optimised
			~|$n:unregister_optimized_one|  unregistered
			~|$n:optimize_batch|  a batch of 1,000
			~|$n:unregister_optimized_batch|  unregistered
		EOT
	done
	echo '# Instructions for a probe, with others'
	for n in 0 1000 10000 20000 50000; do
		cat <<-EOT
			|1:grow_hit_$n|a hit, with $n others
			|1:grow_on_$n|  one more registered
			|1:grow_off_$n|  unregistered
			|1:grow_batch_$n|  each of the last batch registered
		EOT
	done
	cat <<'EOT'
|1:grow_batch_off|unregistered as a batch, each
|1:grow_bytes|bytes of memory for each
|1:held_list|reading kprobes/list, for each
|1:held_disarm|enabled = 0, for each
|1:held_arm|enabled = 1, for each
|1:held_optimize|all optimised, for each
|1:held_list_jumps|reading kprobes/list, for each
|1:held_unoptimize|all unoptimised, for each
|1:held_off_jumps|unregistered with their jumps, each
# Instructions of a hit on several CPUs
EOT
	for n in 1 2 4 8 16; do
		cat <<-EOT
			|16:cpus_pre_one_$n|$n of 16 CPUs: one probe
			|16:cpus_pre_each_$n|  one each
			|16:cpus_ret_one_$n|  one return probe
			|16:cpus_ret_each_$n|  one each
			|16:cpus_limit_one_$n|  one with maxactive
			|16:cpus_limit_each_$n|  one each
		EOT
	done
}

# print_table: prints the figures of table, and writes them to $work/json and $work/chart. The chart
# has the percentage of the base kernel's instructions, for each column that has a stock- column.
# The figures of BPF programs go to $work/bpf instead, for kernels with BTF. Fails if a figure is
# above its budget.
print_table()
{
	table | awk -F'|' -v columns="${columns[*]}" -v budgeted="$budgeted" -v work="$work" '
		# A value is like 123(0): instructions, and in parentheses traps or IPIs; like
		# 123-130(0): the least and the most instructions; or like 1.5: a mean, for which
		# most() returns 0, since it has no budget.
		function first(value) {
			return match(value, /^[0-9.]+/) ? substr(value, 1, RLENGTH) : ""
		}
		function most(value) {
			return match(value, /[0-9]+\(/) ? substr(value, RSTART, RLENGTH - 1) + 0 : 0
		}
		BEGIN { n = split(columns, column, " ") }
		NR == FNR { figure[$1, $2] = $3; next }
		/^# / {
			printf "\n%-42s %6s", substr($0, 3), "budget"
			for (i = 1; i <= n; i++)
				printf "  %16s ", column[i]
			print ""
			next
		}
		{
			budget = budgeted != "" || $1 ~ /^\+/ ? $1 : ""
			printf "%-42s %6s", $3, budget == "~" || budget == "" ? "-" : budget
			json = chart = bpf = ""
			for (i = 1; i <= n; i++) {
				value = shown = figure[column[i], $2]
				stock = first(figure["stock-" column[i], $2])
				if ($1 == "~" && value ~ /^[0-9]+\(/)
					shown = sprintf("%.3f%s", value / 1e6,
							substr(value, index(value, "(")))
				limit = budget ~ /^\+/ ? (stock != "" ? stock + budget : 0) : \
					index(budgeted, " " column[i] " ") ? budget + 0 : 0
				above = limit && most(value) > limit
				over += above
				printf "  %16s%s", shown == "" ? "-" : shown, above ? "*" : " "
				if (first(value) != "")
					json = json (json != "" ? ", " : "") \
						sprintf("\"%s\": %s", column[i], first(shown))
				if (column[i] ~ /btf/)
					bpf = bpf " " (first(value) != "" ? first(value) : "NaN")
				else if (index(" " columns " ", " stock-" column[i] " "))
					chart = chart " " (stock > 0 && first(value) != "" ? \
						int(100 * first(value) / stock) : "NaN")
			}
			print ""
			printf "%s  \"%s\": {%s}", rows++ ? ",\n" : "{\n", $2, json >(work "/json")
			if ($2 ~ /^1:(pre|post|several|ret|users|unused)_/ && chart != "")
				print "\"" substr($2, 3) "\"" chart >(work "/chart")
			if ($2 ~ /^1:bpf_/ && bpf != "")
				print "\"" $3 "\"" bpf >(work "/bpf")
		}
		END {
			print "\n}" >(work "/json")
			if (over)
				printf "\n%d figures, marked *, are above the budget.\n", over
			exit over > 0
		}' "$work/all" -
}

# draw_chart NAME FILE YLABEL COLUMN...: draws the file to NAME.svg, if gnuplot is installed
draw_chart()
{
	local name=$1 file=$2 ylabel=$3 column i=1

	shift 3
	[ -s "$file" ] && [ $# -gt 0 ] && command -v gnuplot >/dev/null || return 0
	{
		printf '%s\n' 'set terminal svg size 1200,600' "set output '$results/$name.svg'" \
			'set style data histograms' 'set style fill solid' \
			'set xtics rotate by -60' \
			"set ylabel '$ylabel'" 'set yrange [0:]' \
			'set key noenhanced' 'set xtics noenhanced' 'set grid ytics'
		printf 'plot '
		for column; do
			[ $((i++)) -eq 1 ] || printf ', '
			printf "'%s' using %d:xtic(1) title '%s'" "$file" $i "$column"
		done
		printf '\n'
	} | gnuplot
}

# draw_charts: draws $work/chart and $work/bpf
draw_charts()
{
	local column compared=() with_btf=()

	for column in "${columns[@]}"; do
		if [[ $column == *btf* ]]; then
			with_btf+=("$column")
		elif [[ " ${columns[*]} " == *" stock-$column "* ]]; then
			compared+=("$column")
		fi
	done
	draw_chart report "$work/chart" "instructions, % of the base kernel" "${compared[@]}"
	draw_chart bpf "$work/bpf" "instructions of a call with a BPF program" "${with_btf[@]}"
}

for arg; do
	build=$(realpath "${arg%%:*}")
	modules=$here
	[[ $arg != *:* ]] || modules=$(realpath "${arg#*:}")
	measure_build "$build" "$modules"
done

status=0
print_table || status=$?
cat <<EOT

An instruction counts as a nanosecond, and a wait as what it lasts. IPIs are
those of all the 1,000 probes.
EOT
if [ -n "$results" ]; then
	mkdir -p "$results"
	cp "$work/json" "$results/results.json"
	draw_charts
fi
exit $status
