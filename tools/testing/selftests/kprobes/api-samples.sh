#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The samples must print, show in their files and refuse what the manual says.

. "$(dirname "$0")/functions.sh"

# check_sample SAMPLE DESCRIPTION FUNCTION...: runs a case; skips it if the kernel lacks the sample
check_sample() {
	sample=$1
	shift
	check_if "has_module $sample" "$@"
}

# said PATTERN: prints group 1 of the matching lines that the sample has printed since the mark;
# lines PATTERN: prints how many match
said() {
	log_since | sed -n -E "s/^$sample: $1\$/\\1/p"
}

lines() {
	log_since | sed -n "s/^$sample: //p" | grep -c -E "$1" || :
}

load_sample() {
	must modprobe "$sample" "$@"
	LOADED="$sample $LOADED"
}

# refused PATTERN PARAM=VALUE...: checks that the sample does not load, says why, and leaves nothing
refused() {
	log_mark
	pattern=$1
	shift
	must_fail modprobe "$sample" "$@" 2>/dev/null
	at_least "lines that say why: $*" "$(lines "$pattern")" 1
	must_fail test -e "$DEBUGFS/$sample"
	list_is_empty
}

opens() {
	for _ in $(seq "$1"); do
		read -r _ </proc/version
	done
}

# shows FILE: saves and prints a file of the sample
shows() {
	cat "$DEBUGFS/$sample/$1" >"$TMP/$1"
	sed 's/^/# /' "$TMP/$1"
}

reports_hits() {
	log_mark
	load_sample
	equal "lines of its beginning" "$(lines '^probe on kernel_clone\+0x[0-9a-f]+/')" 1
	must grep -q '  k  kernel_clone+' $KPROBES/list
	processes 5
	unload "$sample"
	hits=$(said 'probe gone after ([0-9]*) hits, 0 more were missed')
	at_least "hits" "$hits" 5
	# The sample prints at most 20 lines a second.
	at_least "lines before" "$(lines '^before kernel_clone\+0x.*: .*sp=[0-9a-f]+')" 5
	at_least "lines after" "$(lines '^after, next is kernel_clone\+0x.*: .*sp=[0-9a-f]+')" 5
	at_most "lines" "$(lines '^before ')" "$hits"
}

is_gone() {
	log_mark
	list_is_empty
	processes 3
	equal "lines" "$(lines .)" 0
}

# Probe an instruction after the first one of a function. Its offset is found by trying, as the
# kernel refuses offsets inside an instruction.
takes_offset() {
	log_mark
	first=1
	# On powerpc, a function begins with instructions that set up r2. Most callers enter it
	# after these, and would not hit a probe there.
	! is_powerpc || first=9
	offset=$first
	while [ $offset -lt 16 ]; do
		! modprobe kprobe_example symbol=do_sys_openat2 offset=$offset 2>/dev/null || break
		offset=$((offset + 1))
	done
	at_most "offset" $offset 15
	LOADED="$sample $LOADED"
	must grep -q '  k  do_sys_openat2+' $KPROBES/list
	opens 1
	unload "$sample"
	at_least "hits" "$(said 'probe gone after ([0-9]*) hits.*')" 1
	at_least "lines before" "$(lines '^before do_sys_openat2\+')" 1
	# modprobe may try twice to load the sample.
	at_least "refusals" "$(lines '^no instruction begins at|cannot be probed')" \
		$((offset - first))
}

says_why_not() {
	refused '^there is no function no_such_function$' symbol=no_such_function
	refused '^notify_die\+(0x)?0 cannot be probed: error -22$' symbol=notify_die
}

# is_limited PATTERN PARAM=VALUE: checks that of 400 hits, at most 20 lines a second are printed
is_limited() {
	log_mark
	from=$(uptime_s)
	load_sample "$2"
	opens 400
	unload "$sample"
	seconds=$(($(uptime_s) - from + 2))
	at_least "hits" "$(said '.* gone after ([0-9]*) [hr].*')" 400
	at_least "lines" "$(lines "$1")" 1
	at_most "lines in $seconds s" "$(lines "$1")" $((20 * seconds))
}

reports_returns() {
	log_mark
	load_sample
	processes 5
	unload "$sample"
	reported=$(lines '^kernel_clone returned [1-9][0-9]* to .*\+0x.* after [0-9]+ ns$')
	at_least "reported returns" "$reported" 5
	counted=$(said 'return probe gone after ([0-9]*) .*, 0 more were missed')
	equal "counted returns" "$counted" "$reported"
}

says_why_no_return() {
	refused '^no_such_function cannot have a return probe: error -2$' func=no_such_function
}

# The sample records the last call on each CPU. The eleventh is `cat` opening the sample's file.
shows_user_string() {
	load_sample
	opens 10
	shows calls
	unload "$sample"
	at_least "calls" "$(awk '$1 ~ /^[0-9]+$/ { n += $2 } END { print n + 0 }' "$TMP/calls")" 11
	# The arguments are AT_FDCWD, the name, and a pointer to the kernel's struct open_how.
	must grep -q -E " (ffffffff)?ffffff9c [0-9a-f]+ [0-9a-f]{8,} \"$DEBUGFS/$sample/calls\"\$" \
		"$TMP/calls"
	equal "missed" "$(sed -n 's/^missed //p' "$TMP/calls")" 0
}

shows_kernel_string() {
	load_sample func=get_fs_type args=1 string=0 user=0
	mkdir "$TMP/mounted"
	must mount -t tmpfs none "$TMP/mounted"
	must umount "$TMP/mounted"
	shows calls
	unload "$sample"
	must grep -q -E '^ *[0-9]+ +[1-9][0-9]* +0 +0  [0-9a-f]{8,} "tmpfs"$' "$TMP/calls"
}

# shows_arguments PATTERN ARGS STRING: with args=ARGS string=STRING, what the sample shows of a call
# kp_tgt_arguments(1, 2, 3, 4, 5, 6, 7, "eighth") matches PATTERN
shows_arguments() {
	load_sample func=kp_tgt_arguments args="$2" string="$3" user=0
	call_target
	shows calls
	unload "$sample"
	must grep -q -E "^ *[0-9]+ +1 +0 +$1\$" "$TMP/calls"
}

# Let the sample show the arguments on the stack, too, and read a string at one of the arguments. In
# the second case, that argument is not an address: the string must be shown as empty.
shows_stack_arguments() {
	load kp_target
	shows_arguments '0  1 2 3 4 5 6 7 [0-9a-f]{8,} "eighth"' 8 7
	shows_arguments '1  ""' 0 0
	unload kp_target
}

arguments_are_checked() {
	for bad in args=9 args=-1 string=8 string=-2; do
		refused '^args is 0 to 8, and string -1 to 7$' $bad
	done
	refused '^no_such_function cannot be probed: error -2$' func=no_such_function
}

# histogram: saves the file of latency_example, which has to have the right form
histogram() {
	shows histogram
	# shellcheck disable=SC2016 # awk's
	must awk '$1 ~ /^[0-9]+$/ { n += $3; bad += $1 ? $2 != 2 * $1 : $2 != 1 }
		  $1 == "calls" { bad += $2 != n ","; seen++ }
		  END { exit bad || seen != 1 }' "$TMP/histogram"
}

makes_histogram() {
	load_sample
	opens 20
	histogram
	unload "$sample"
	at_least "calls" "$(sed -n 's/^calls \([0-9]*\), missed 0$/\1/p' "$TMP/histogram")" 20
}

measures_time() {
	load_sample func=hrtimer_nanosleep
	sleep 0.3
	histogram
	unload "$sample"
	slow=$(awk '$1 ~ /^[0-9]+$/ && $1 >= 268435456 { n += $3 } END { print n + 0 }' \
		"$TMP/histogram")
	at_least "calls of 268 ms or more" "$slow" 1
	says_why_no_return
}

# cat_openers: prints a script that opens a file three times, and prints each status and how many
# more files are open in the end. The sample changes the results of calls by the script's shell.
cat_openers() {
	cat <<-'END'
		parameters=/sys/module/inject_example/parameters
		open() {
			# A failed redirection has the status 1 in some shells, and 2 in others.
			read -r _ <"$1" || return 1
		}
		# Do not count in a subshell: its pipe may still be open in the shell.
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

# changes_opens SKIP MORE: checks that two of three calls get an error as result. With skip=0, these
# calls still open their files, which nothing closes: at the end, MORE files are open.
changes_opens() {
	is_x86 || [ "$1" -eq 0 ] || skip_case "skip=1 is for x86" || return 0
	log_mark
	cat_openers >"$TMP/openers"
	load_sample "skip=$1" result=-13
	sh "$TMP/openers" "$TMP/errors" >"$TMP/opens"
	unload "$sample"
	printf 'open 1: 1\nopen 2: 1\nopen 3: 0\nmore open files: %d\n0\n' "$2" >"$TMP/wanted"
	equal "what it did" "$(cat "$TMP/opens")" "$(cat "$TMP/wanted")"
	equal "errors" "$(grep -c 'Permission denied' "$TMP/errors")" 2
	equal "counted" "$(lines '^changed 2 calls of do_sys_openat2$')" 1
}

changes_module() {
	load kp_target
	for skip in 0 1; do
		is_x86 || [ $skip -eq 0 ] || continue
		load_sample skip=$skip func=kp_tgt_function result=4711
		call_target 3
		put "/sys/module/$sample/parameters/times" 1
		must_fail write_to /sys/module/kp_target/parameters/calls 1
		call_target 3
		equal "calls left" "$(cat "/sys/module/$sample/parameters/times")" 0
		unload "$sample"
	done
	unload kp_target
}

inject_is_refused() {
	refused 'no_such_function cannot be changed: error -2$' func=no_such_function
	if is_x86; then
		refused 'no_such_function cannot be changed: error -2$' func=no_such_function skip=1
		refused 'notify_die cannot be changed: error -22$' func=notify_die skip=1
	else
		refused 'cannot be changed: error -95$' skip=1
	fi
}

hits_of() {
	awk -v name="$1" '$3 == name { print $1 }' $DEBUGFS/batch_example/hits
}

probes_all_that_match() {
	log_mark
	load_sample
	awk '$3 ~ /^vfs_/ && NF == 3 && !seen[$1]++ { n[$2 ~ /[tTwW]/]++ }
	     END { print n[1] + 0, n[0] + n[1] }' /proc/kallsyms >"$TMP/kallsyms"
	read -r functions symbols <"$TMP/kallsyms"
	opens 1
	tail -n +2 "$DEBUGFS/$sample/hits" >"$TMP/hits"
	entries=$(wc -l <"$TMP/hits")
	refused=$(grep -c -w refused "$TMP/hits") || :
	ktap_print_msg "$entries symbols match, $refused are refused;" \
		"kallsyms has $functions functions, $symbols in all"
	at_least "functions" "$functions" 20
	at_least "entries" "$entries" "$functions"
	at_most "entries" "$entries" "$symbols"
	must_fail grep -v -E '^ *([0-9]+ +0|refused +-[0-9]+)  vfs_[a-z0-9_.]+$' "$TMP/hits"
	# On powerpc, the sample probes the first instruction of a function, which sets up r2. Most
	# callers enter the function after that, so there may be no hit.
	is_powerpc || at_least "hits of vfs_read()" "$(hits_of vfs_read)" 1
	equal "probes" "$(grep -c '  k  vfs_' $KPROBES/list)" $((entries - refused))
	unload "$sample"
	pattern="^$((entries - refused)) probes registered in [0-9]+ us, $refused refused\$"
	equal "what it says" "$(lines "$pattern")" 1
}

probes_module() {
	load kp_target
	load_sample glob='kp_tgt_*' beside=kp_tgt_function
	call_target 3
	shows hits
	equal "hits" "$(hits_of kp_tgt_function)" 3
	must grep -q -E '^ *refused +-22  kp_tgt_nokprobe$' "$TMP/hits"
	# shellcheck disable=SC2016 # awk's
	must_fail awk 'NR > 1 && $3 !~ /^kp_tgt_/ { bad = 1 } END { exit !bad }' "$TMP/hits"
	unload kp_target
	must grep -q '  kp_tgt_function (unloaded)$' "$DEBUGFS/$sample/hits"
	unload "$sample"
}

batch_is_refused() {
	refused '^no function matches no_such_function_[*]$' glob='no_such_function_*'
	refused '^more than 3 functions match vfs_[*]$' limit=3
	refused '^none of 1 functions can be probed$' glob=notify_die
	refused '^no_such_function cannot be probed: error -2$' beside=no_such_function
}

shown() {
	grep -q -E "$1" $DEBUGFS/watch_example/stack
}

sees_write() {
	name=$(cat /proc/$$/comm)
	load_sample pid=$$
	must shown "^no watchpoint: thread $$ has not been renamed yet\$"
	put /proc/$$/comm first
	# Reading the file waits for the watchpoint.
	must shown "^(watching the name of thread $$: 0 writes\$|no watchpoint: error)"
	if ! is_x86 && shown error; then
		unload "$sample"
		skip_case "this machine has no watchpoint for us" || return 0
	fi
	put /proc/$$/comm second
	shows stack
	# Only this thread's name is watched: other processes change nothing.
	processes 3
	must shown "^watching the name of thread $$: [1-9][0-9]* writes\$"
	must cmp "$TMP/stack" "$DEBUGFS/$sample/stack"
	must grep -q '^  on_write+0x.* \[watch_example\]$' "$TMP/stack"
	must grep -q '^  __set_task_comm+0x' "$TMP/stack"
	must grep -q '^  vfs_write+0x' "$TMP/stack"
	unload "$sample"
	put /proc/$$/comm "$name"
	list_is_empty
}

watch_is_refused() {
	refused '^pid is the number of a thread$' pid=0
	load_sample pid=$$
	unload "$sample"
}

has_scripts() {
	[ -x "$SCRIPTS/probeable.sh" ] && [ -e $KPROBES/explain ]
}

lists_probeable() {
	load kp_target
	must "$SCRIPTS/probeable.sh" 'vfs_rea*' >"$TMP/probes"
	must grep -q -x 'kprobe:vfs_read' "$TMP/probes"
	must "$SCRIPTS/probeable.sh" 'kp_target:kp_tgt_*' >"$TMP/probes"
	! grep nokprobe "$TMP/probes" || failed "what is on the blacklist is listed"
	must "$SCRIPTS/probeable.sh" -v 'kp_target:kp_tgt_*' >"$TMP/probes"
	must grep -q '^kprobe:kp_target:kp_tgt_plain ' "$TMP/probes"
	must "$SCRIPTS/probeable.sh" -v 'kp_tgt_nokprobe' >"$TMP/probes"
	equal "with -v" "$(cat "$TMP/probes")" \
		"kprobe:kp_target:kp_tgt_nokprobe no -22 the address is on the blacklist"
	must "$SCRIPTS/probeable.sh" -v snprintf >"$TMP/probes"
	if grep -q notrace "$TMP/probes"; then
		must "$SCRIPTS/probeable.sh" snprintf >"$TMP/probes"
		equal "notrace functions" "$(cat "$TMP/probes")" ""
	fi
	must "$SCRIPTS/probeable.sh" 'vfs_read+*' >"$TMP/probes"
	at_least "instructions" "$(grep -c '^kprobe:vfs_read' "$TMP/probes")" 2
	! "$SCRIPTS/probeable.sh" 'no_such_*' >"$TMP/probes" 2>/dev/null ||
		failed "a pattern without a match is no error"
}

# Replace perf by a script that prints what `perf probe -D` would for a line that has three copies.
finds_addresses() {
	cat >"$TMP/perf" <<-'EOF'
		#!/bin/sh
		[ "$*" = "probe -k image -D file.c:1" ] || exit 1
		echo 'p:probe/kp_tgt_plain kp_target:kp_tgt_plain+0'
		echo 'p:probe/kp_tgt_plain_1 kp_target:kp_tgt_caller+0 arg=%di'
		echo 'p:probe/kp_tgt_plain_2 kp_target:kp_tgt_nokprobe+0'
	EOF
	chmod +x "$TMP/perf"
	PATH=$TMP:$PATH must "$SCRIPTS/line_addresses.sh" file.c:1 -k image \
		>"$TMP/addresses" 2>"$TMP/refused"
	equal "addresses" "$(sed -n 's/^0x[0-9a-f]* \(.*\)+0x[04]$/\1/p' "$TMP/addresses" | sort)" \
		"$(printf 'kp_tgt_caller\nkp_tgt_plain')"
	must grep -q '^kp_tgt_nokprobe+0x[04]: the address is on the blacklist$' "$TMP/refused"
	! PATH=$TMP:$PATH "$SCRIPTS/line_addresses.sh" other.c:1 2>/dev/null ||
		failed "an error of perf is lost"
	unload kp_target
}

setup
SCRIPTS=$(dirname "$0")/samples
has_module kprobe_example || skip_topic "CONFIG_SAMPLE_KPROBES is needed"
ktap_set_plan 26
check_sample kprobe_example "kprobe_example reports hits" reports_hits
check_sample kprobe_example "and none after it has gone" is_gone
check_sample kprobe_example "it probes the middle of a function" takes_offset
check_sample kprobe_example "it says why it can't" says_why_not
check_sample kprobe_example "it prints at a limited rate" is_limited '^(before|after)' \
	symbol=do_sys_openat2
check_sample kretprobe_example "kretprobe_example reports what a function returned" reports_returns
check_sample kretprobe_example "it says why a function can't have a return probe" says_why_no_return
check_sample kretprobe_example "kretprobe_example prints at a limited rate" \
	is_limited ' returned ' func=do_sys_openat2
check_sample arguments_example "arguments_example shows a string of user space" shows_user_string
check_sample arguments_example "it shows a string of the kernel" shows_kernel_string
check_sample arguments_example "it shows arguments on the stack, and what cannot be read" \
	shows_stack_arguments
check_sample arguments_example "it checks its parameters" arguments_are_checked
check_sample latency_example "latency_example makes a histogram" makes_histogram
check_sample latency_example "it measures time, and says why it can't" measures_time
check_sample inject_example "inject_example changes a result" changes_opens 0 2
check_sample inject_example "it skips a function" changes_opens 1 0
check_sample inject_example "it does so in a module" changes_module
check_sample inject_example "it says why it can't change a result" inject_is_refused
check_sample batch_example "batch_example probes all that match" probes_all_that_match
check_sample batch_example "it probes a module, which goes" probes_module
check_sample batch_example "it says why it can't probe" batch_is_refused
check_sample watch_example "watch_example sees a write, with its stack" sees_write
check_sample watch_example "it checks its parameter, and goes early" watch_is_refused
check_if has_scripts "probeable.sh lists what can be probed" lists_probeable
check_if has_scripts "line_addresses.sh finds all copies of a line" finds_addresses
check "list is empty at the end" list_is_empty
ktap_finished
