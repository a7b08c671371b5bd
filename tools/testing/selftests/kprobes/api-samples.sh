#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The modules in samples/kprobes/ print, show in their files and refuse what the manual says.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

# said: prints what the sample has printed since mark
marks=0
mark() {
	marks=$((marks + 1))
	marker="samples: mark $marks of $$,"
	echo "$marker $*" >/dev/kmsg
}

said() {
	dmesg | sed -n "/$marker/,\$p" | sed -n "s/^\[[^]]*\] $sample: //p"
}

# lines PATTERN: prints the number of lines that match
lines() {
	said | grep -c -E "$1" || :
}

# has_sample NAME: skips the case if the kernel does not have it
has_sample() {
	sample=$1
	grep -q "/$sample\.ko" "/lib/modules/$(uname -r)/modules.dep" 2>/dev/null || {
		skip_case "$sample is not there: see samples/Kconfig"
		return 1
	}
}

# load_sample [PARAM=VALUE...]
load_sample() {
	must modprobe "$sample" "$@"
	LOADED="$sample $LOADED"
}

unload_sample() {
	must rmmod "$sample"
	LOADED=${LOADED#"$sample "}
}

# refused PATTERN PARAM=VALUE...: the sample does not load, says why, and leaves nothing
refused() {
	mark "refused $*"
	pattern=$1
	shift
	must_fail modprobe "$sample" "$@" 2>/dev/null
	at_least "lines that say why: $*" "$(lines "$pattern")" 1
	must_fail test -e "$DEBUGFS/$sample"
	list_is_empty
}

reports_hits() {
	if ! has_sample kprobe_example; then
		return
	fi
	mark hits
	load_sample
	equal "lines of its beginning" "$(lines '^probe on kernel_clone\+0x[0-9a-f]+/')" 1
	must grep -q '  k  kernel_clone+' $KPROBES/list
	processes 5
	unload_sample
	hits=$(said | sed -n 's/^probe gone after \([0-9]*\) hits, 0 more were missed$/\1/p')
	at_least "hits" "$hits" 5
	# It prints at most 20 lines a second.
	at_least "lines before" "$(lines '^before kernel_clone\+0x.*: .*sp=[0-9a-f]+')" 5
	at_least "lines after" "$(lines '^after, next is kernel_clone\+0x.*: .*sp=[0-9a-f]+')" 5
	at_most "lines" "$(lines '^before ')" "$hits"
}

is_gone() {
	if ! has_sample kprobe_example; then
		return
	fi
	mark gone
	list_is_empty
	processes 3
	equal "lines" "$(lines .)" 0
}

# A location within a function: its second instruction
takes_offset() {
	if ! has_sample kprobe_example; then
		return
	fi
	mark offset
	first=1
	# Most callers skip the instructions that set up r2.
	! is_powerpc || first=9
	offset=$first
	while [ $offset -lt 16 ]; do
		! modprobe kprobe_example symbol=do_sys_openat2 offset=$offset 2>/dev/null || break
		offset=$((offset + 1))
	done
	at_most "offset" $offset 15
	LOADED="$sample $LOADED"
	must grep -q '  k  do_sys_openat2+' $KPROBES/list
	cat /proc/version >/dev/null
	unload_sample
	at_least "hits" "$(said | sed -n 's/^probe gone after \([0-9]*\) hits.*/\1/p')" 1
	at_least "lines before" "$(lines '^before do_sys_openat2\+')" 1
	# A modprobe may try twice.
	at_least "refusals" "$(lines '^no instruction begins at|cannot be probed')" \
		$((offset - first))
}

says_why_not() {
	if ! has_sample kprobe_example; then
		return
	fi
	refused '^there is no function no_such_function$' symbol=no_such_function
	refused '^notify_die\+(0x)?0 cannot be probed: error -22$' symbol=notify_die
}

# is_limited PATTERN PARAM=VALUE...: of many hits in a few seconds, at most 20 a second are
# printed
is_limited() {
	pattern=$1
	shift
	mark "limit of $sample"
	from=$(uptime_s)
	load_sample "$@"
	n=0
	while [ $n -lt 400 ]; do
		read -r _ </proc/version
		n=$((n + 1))
	done
	unload_sample
	seconds=$(($(uptime_s) - from + 2))
	at_least "hits" "$(said | sed -n 's/.* gone after \([0-9]*\) [hr].*/\1/p')" 400
	at_least "lines" "$(lines "$pattern")" 1
	at_most "lines in $seconds s" "$(lines "$pattern")" $((20 * seconds))
}

kprobe_is_limited() {
	if ! has_sample kprobe_example; then
		return
	fi
	is_limited '^(before|after)' symbol=do_sys_openat2
}

# kretprobe_example reports each of five forks, counts what it reports, and misses none.
reports_returns() {
	if ! has_sample kretprobe_example; then
		return
	fi
	mark returns
	load_sample
	n=0
	while [ $n -lt 5 ]; do
		must sh -c :
		n=$((n + 1))
	done
	unload_sample
	reported=$(lines '^kernel_clone returned [1-9][0-9]* to .*\+0x.* after [0-9]+ ns$')
	at_least "reported returns" "$reported" 5
	equal "counted returns" "$(said | sed -n 's/^return probe gone after \([0-9]*\) .*/\1/p')" \
		"$reported"
	equal "none was missed" "$(lines '^return probe gone after .*, 0 more were missed$')" 1
}

says_why_no_return() {
	if ! has_sample kretprobe_example; then
		return
	fi
	refused '^no_such_function cannot have a return probe: error -2$' func=no_such_function
}

kretprobe_is_limited() {
	if ! has_sample kretprobe_example; then
		return
	fi
	is_limited ' returned ' func=do_sys_openat2
}

# Its last string on that CPU is the name of the file that is being opened for reading.
shows_user_string() {
	if ! has_sample arguments_example; then
		return
	fi
	load_sample
	file="$DEBUGFS/$sample/calls"
	n=0
	while [ $n -lt 10 ]; do
		read -r _ </proc/version
		n=$((n + 1))
	done
	cat "$file" >"$TMP/calls"
	sed 's/^/# /' "$TMP/calls"
	unload_sample
	calls=$(awk '$1 ~ /^[0-9]+$/ { n += $2 } END { print n + 0 }' "$TMP/calls")
	at_least "calls" "$calls" 11
	# AT_FDCWD, the name, and a pointer to the kernel's struct open_how
	must grep -q -E " (ffffffff)?ffffff9c [0-9a-f]+ [0-9a-f]{8,} \"$file\"\$" "$TMP/calls"
	equal "missed" "$(sed -n 's/^missed //p' "$TMP/calls")" 0
}

shows_kernel_string() {
	if ! has_sample arguments_example; then
		return
	fi
	load_sample func=get_fs_type args=1 string=0 user=0
	mkdir "$TMP/mounted"
	must mount -t tmpfs none "$TMP/mounted"
	must umount "$TMP/mounted"
	cat "$DEBUGFS/$sample/calls" >"$TMP/calls"
	unload_sample
	must grep -q -E '^ *[0-9]+ +[1-9][0-9]* +0 +0  [0-9a-f]{8,} "tmpfs"$' "$TMP/calls"
}

# Some arguments of kp_tgt_arguments(1, 2, 3, 4, 5, 6, 7, "eighth") are on the stack.
shows_stack_arguments() {
	if ! has_sample arguments_example; then
		return
	fi
	load kp_target
	load_sample func=kp_tgt_arguments args=8 string=7 user=0
	call_target
	cat "$DEBUGFS/$sample/calls" >"$TMP/calls"
	unload_sample
	must grep -q -E '^ *[0-9]+ +1 +0 +0  1 2 3 4 5 6 7 [0-9a-f]{8,} "eighth"$' "$TMP/calls"
	# The first argument is not an address.
	load_sample func=kp_tgt_arguments args=0 string=0 user=0
	call_target
	cat "$DEBUGFS/$sample/calls" >"$TMP/calls"
	unload_sample
	must grep -q -E '^ *[0-9]+ +1 +0 +1  ""$' "$TMP/calls"
	unload kp_target
}

arguments_are_checked() {
	if ! has_sample arguments_example; then
		return
	fi
	for bad in args=9 args=-1 string=8 string=-2; do
		refused '^args is 0 to 8, and string -1 to 7$' $bad
	done
	refused '^no_such_function cannot be probed: error -2$' func=no_such_function
}

# histogram: saves the file of latency_example, which has to have the right form
histogram() {
	cat $DEBUGFS/latency_example/histogram >"$TMP/histogram"
	sed 's/^/# /' "$TMP/histogram"
	# shellcheck disable=SC2016 # awk's
	must awk '$1 ~ /^[0-9]+$/ { n += $3; bad += $1 ? $2 != 2 * $1 : $2 != 1 }
		  $1 == "calls" { bad += $2 != n ","; seen++ }
		  END { exit bad || seen != 1 }' "$TMP/histogram"
}

makes_histogram() {
	if ! has_sample latency_example; then
		return
	fi
	load_sample
	n=0
	while [ $n -lt 20 ]; do
		read -r _ </proc/version
		n=$((n + 1))
	done
	histogram
	unload_sample
	at_least "calls" "$(sed -n 's/^calls \([0-9]*\), missed 0$/\1/p' "$TMP/histogram")" 20
}

measures_time() {
	if ! has_sample latency_example; then
		return
	fi
	load_sample func=hrtimer_nanosleep
	sleep 0.3
	histogram
	unload_sample
	# 2^28 ns are 268 ms.
	slow=$(awk '$1 ~ /^[0-9]+$/ && $1 >= 268435456 { n += $3 } END { print n + 0 }' \
		"$TMP/histogram")
	at_least "calls of 268 ms or more" "$slow" 1
	refused '^no_such_function cannot have a return probe: error -2$' func=no_such_function
}

# What a shell does while its calls are changed: it opens a file three times, and prints the
# status of each, and how many more files it has open than before.
cat_openers() {
	cat <<-'END'
		parameters=/sys/module/inject_example/parameters
		open() {
			read -r _ <"$1"
		}
		# Not in a subshell, whose pipe this one may still have to close.
		count() {
			set -- /proc/$$/fd/*
			count=$#
		}
		exec 2>"$1"
		echo $$ >$parameters/pid
		count
		before=$count
		echo 2 >$parameters/times
		for n in 1 2 3; do
			open /proc/version
			echo "open $n: $?"
		done
		count
		echo "more open files: $((count - before))"
		cat $parameters/times
	END
}

# changes_opens SKIP MORE: with a third call that is left alone. A call that was executed has
# opened a file, even if its caller gets another result.
changes_opens() {
	if ! has_sample inject_example; then
		return
	fi
	mark "inject $1"
	cat_openers >"$TMP/openers"
	load_sample "skip=$1" result=-13
	sh "$TMP/openers" "$TMP/errors" >"$TMP/opens"
	unload_sample
	printf 'open 1: 1\nopen 2: 1\nopen 3: 0\nmore open files: %d\n0\n' "$2" >"$TMP/wanted"
	equal "what it did" "$(cat "$TMP/opens")" "$(cat "$TMP/wanted")"
	equal "errors" "$(grep -c 'Permission denied' "$TMP/errors")" 2
	equal "counted" "$(lines '^changed 2 calls of do_sys_openat2$')" 1
}

changes_result() {
	changes_opens 0 2
}

skips_function() {
	if ! is_x86; then
		skip_case "skip=1 is for x86"
		return
	fi
	changes_opens 1 0
}

changes_module() {
	if ! has_sample inject_example; then
		return
	fi
	load kp_target
	for skip in 0 1; do
		is_x86 || [ $skip -eq 0 ] || continue
		load_sample skip=$skip func=kp_tgt_function result=4711
		call_target 3
		put "/sys/module/$sample/parameters/times" 1
		# The shell compares the numbers.
		must_fail write_to /sys/module/kp_target/parameters/calls 1
		call_target 3
		equal "calls left" "$(cat "/sys/module/$sample/parameters/times")" 0
		unload_sample
	done
	unload kp_target
}

inject_is_refused() {
	if ! has_sample inject_example; then
		return
	fi
	refused 'no_such_function cannot be changed: error -2$' func=no_such_function
	if is_x86; then
		refused 'no_such_function cannot be changed: error -2$' \
			func=no_such_function skip=1
		refused 'notify_die cannot be changed: error -22$' func=notify_die skip=1
	else
		refused 'cannot be changed: error -95$' skip=1
	fi
}

# hits_of FUNCTION: prints the hits that batch_example has counted
hits_of() {
	awk -v name="$1" '$3 == name { print $1 }' $DEBUGFS/batch_example/hits
}

probes_all_that_match() {
	if ! has_sample batch_example; then
		return
	fi
	mark batch
	load_sample
	awk '$3 ~ /^vfs_/ && NF == 3 && !seen[$1]++ { n[$2 ~ /[tTwW]/]++ }
	     END { print n[1] + 0, n[0] + n[1] }' /proc/kallsyms >"$TMP/kallsyms"
	read -r functions symbols <"$TMP/kallsyms"
	read -r _ </proc/version
	tail -n +2 "$DEBUGFS/$sample/hits" >"$TMP/hits"
	entries=$(wc -l <"$TMP/hits")
	refused=$(grep -c -w refused "$TMP/hits") || :
	ktap_print_msg "$entries symbols match, $refused are refused;" \
		"kallsyms has $functions functions, $symbols in all"
	at_least "functions" "$functions" 20
	at_least "entries" "$entries" "$functions"
	at_most "entries" "$entries" "$symbols"
	must_fail grep -v -E '^ *([0-9]+ +0|refused +-[0-9]+)  vfs_[a-z0-9_.]+$' "$TMP/hits"
	# Most callers skip the instructions that set up r2, which are at the symbol's address.
	is_powerpc || at_least "hits of vfs_read()" "$(hits_of vfs_read)" 1
	equal "probes" "$(grep -c '  k  vfs_' $KPROBES/list)" $((entries - refused))
	unload_sample
	pattern="^$((entries - refused)) probes registered in [0-9]+ us, $refused refused\$"
	equal "what it says" "$(lines "$pattern")" 1
}

probes_module() {
	if ! has_sample batch_example; then
		return
	fi
	load kp_target
	load_sample glob='kp_tgt_*' beside=kp_tgt_function
	call_target 3
	cat "$DEBUGFS/$sample/hits" >"$TMP/hits"
	sed 's/^/# /' "$TMP/hits"
	equal "hits" "$(hits_of kp_tgt_function)" 3
	must grep -q -E '^ *refused +-22  kp_tgt_nokprobe$' "$TMP/hits"
	# shellcheck disable=SC2016 # awk's
	must_fail awk 'NR > 1 && $3 !~ /^kp_tgt_/ { bad = 1 } END { exit !bad }' "$TMP/hits"
	unload kp_target
	must grep -q '  kp_tgt_function (unloaded)$' "$DEBUGFS/$sample/hits"
	unload_sample
}

batch_is_refused() {
	if ! has_sample batch_example; then
		return
	fi
	refused '^no function matches no_such_function_[*]$' glob='no_such_function_*'
	refused '^more than 3 functions match vfs_[*]$' limit=3
	refused '^none of 1 functions can be probed$' glob=notify_die
	refused '^no_such_function cannot be probed: error -2$' beside=no_such_function
}

# shown PATTERN: watch_example shows it
shown() {
	grep -q -E "$1" $DEBUGFS/watch_example/stack
}

sees_write() {
	if ! has_sample watch_example; then
		return
	fi
	name=$(cat /proc/$$/comm)
	load_sample pid=$$
	must shown "^no watchpoint: thread $$ has not been renamed yet\$"
	put /proc/$$/comm first
	# Reading the file waits for the watchpoint.
	must shown "^(watching the name of thread $$: 0 writes\$|no watchpoint: error)"
	if ! is_x86 && shown error; then
		unload_sample
		skip_case "this machine has no watchpoint for us"
		return
	fi
	put /proc/$$/comm second
	cat "$DEBUGFS/$sample/stack" >"$TMP/stack"
	sed 's/^/# /' "$TMP/stack"
	# The names of other threads are in other memory.
	processes 3
	must shown "^watching the name of thread $$: [1-9][0-9]* writes\$"
	must cmp "$TMP/stack" "$DEBUGFS/$sample/stack"
	must grep -q '^  on_write+0x.* \[watch_example\]$' "$TMP/stack"
	must grep -q '^  __set_task_comm+0x' "$TMP/stack"
	must grep -q '^  vfs_write+0x' "$TMP/stack"
	unload_sample
	put /proc/$$/comm "$name"
	list_is_empty
}

watch_is_refused() {
	if ! has_sample watch_example; then
		return
	fi
	refused '^pid is the number of a thread$' pid=0
	# Unload it before it has found anything.
	load_sample pid=$$
	unload_sample
}

setup
if ! grep -q '/kprobe_example\.ko' "/lib/modules/$(uname -r)/modules.dep" 2>/dev/null; then
	ktap_skip_all "CONFIG_SAMPLE_KPROBES is needed"
	exit "$KSFT_SKIP"
fi
ktap_set_plan 24
check "kprobe_example reports hits" reports_hits
check "and none after it has gone" is_gone
check "it probes the middle of a function" takes_offset
check "it says why it can't" says_why_not
check "it prints at a limited rate" kprobe_is_limited
check "kretprobe_example reports what a function returned" reports_returns
check "it says why a function can't have a return probe" says_why_no_return
check "kretprobe_example prints at a limited rate" kretprobe_is_limited
check "arguments_example shows a string of user space" shows_user_string
check "it shows a string of the kernel" shows_kernel_string
check "it shows arguments on the stack, and what cannot be read" shows_stack_arguments
check "it checks its parameters" arguments_are_checked
check "latency_example makes a histogram" makes_histogram
check "it measures time, and says why it can't" measures_time
check "inject_example changes a result" changes_result
check "it skips a function" skips_function
check "it does so in a module" changes_module
check "it says why it can't change a result" inject_is_refused
check "batch_example probes all that match" probes_all_that_match
check "it probes a module, which goes" probes_module
check "it says why it can't probe" batch_is_refused
check "watch_example sees a write, with its stack" sees_write
check "it checks its parameter, and goes early" watch_is_refused
check "list is empty at the end" list_is_empty
ktap_finished
