# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Shared by clients-*.sh, which test programs that use kprobes through tracefs, perf or BPF, and run
# the kernel's own tests of these.
#
# `vmtest.sh -R` gives the host's programs to the guest. The tests also run on the base kernel.

. "${here:-$(dirname "$0")}/functions.sh"

CLIENTS=/sys/module/kp_clients/parameters
SELFTESTS_DIR=$(dirname "$TOPIC_DIR")

# Do not let bpftrace read the symbols of user programs, which takes long.
export BPFTRACE_NO_USER_SYMBOLS=1
export PERF_BUILDID_DIR=/tmp/buildid
export LC_ALL=C

# setup_clients [PROGRAM...]: as setup, for topics that need programs and tracefs
setup_clients() {
	setup
	for program; do
		command -v "$program" >/dev/null 2>&1 || skip_topic "$program is needed"
	done
	has_events || skip_topic "CONFIG_KPROBE_EVENTS is needed"
}

# on_base_kernel: does the guest run the kprobes of the base kernel, which is Linux without this
# series? On the base kernel, tests leave out what crashes it.
on_base_kernel() {
	grep -qw kprobes_base_kernel /proc/cmdline
}

# can_override: may BPF programs replace results, with CONFIG_BPF_KPROBE_OVERRIDE?
can_override() {
	has_symbol bpf_override_return
}

# By architecture:
# FIRST_ARG	the register with the first argument of a C function
# SECOND_INSN	the offset of a function's second instruction, after endbr64 or ftrace's call
# FRAMED	the offset from which on stack traces show the caller; empty if they do at the entry
# SYSCALL_ABI	the prefix of the names of system calls
# SYSCALL_CALLERS	functions that call the functions of system calls
# SYSCALL_ENTRY	a function in all stack traces from system calls
# shellcheck disable=SC2034 # for topic scripts
if is_x86_32; then
	FIRST_ARG=%ax
	SECOND_INSN=+5
	FRAMED=
	# The 32-bit base kernel unwinds with frame pointers, and misses the caller at entries.
	! on_base_kernel || FRAMED=+8
	SYSCALL_ABI=ia32
	SYSCALL_ENTRY='__do_fast_syscall_32|do_int80_syscall_32'
	SYSCALL_CALLERS="ia32_sys_call|$SYSCALL_ENTRY"
else
	FIRST_ARG=%di
	SECOND_INSN=+4
	FRAMED=
	SYSCALL_ABI=x64
	SYSCALL_ENTRY=do_syscall_64
	SYSCALL_CALLERS="x64_sys_call|$SYSCALL_ENTRY"
fi

# call WHAT N: writes N to a parameter of kp_clients; the write fails if a result is wrong
call() {
	put "$CLIENTS/$1" "$2"
}

# results_are KEPT REPLACED RESULT: checks the calls that the parameter `failable` or
# `failable_plain` made last: KEPT of them must have returned their own result, and REPLACED must
# have returned RESULT
results_are() {
	equal "calls kept, calls replaced, result" \
		"$(cat $CLIENTS/kept $CLIENTS/replaced $CLIENTS/result | paste -sd' ')" "$1 $2 $3"
}

# lines_are WHAT FILE REGEX WANTED: checks that WANTED lines of the file match
lines_are() {
	equal "lines of $1" "$(grep -c -E "$3" "$2")" "$4" ||
		failed "$(head -n 20 "$2" | sed 's/^/| /')"
}

# in_order FILE REGEX...: checks that adjacent lines of the file match the REGEXes, in this order
in_order() {
	in_order_file=$1
	shift
	printf '%s\n' "$@" | awk -v file="$in_order_file" '
		{ wanted[n++] = $0 }
		END {
			for (at = 0; (getline line < file) > 0; ) {
				if (line !~ wanted[at]) at = 0
				if (line ~ wanted[at]) at++
				if (at == n) exit 0
			}
			exit 1
		}' || failed "no lines in this order: $*" "
$(head -n 20 "$in_order_file" | sed 's/^/| /')"
}

# run WHAT COMMAND...: runs the command, with its output in $TMP/WHAT. If the command fails, the
# case fails and shows the output.
run() {
	run_what=$1
	shift
	"$@" >"$TMP/$run_what" 2>&1 || failed "$* ended with $?" "
$(tail -n 20 "$TMP/$run_what" | sed 's/^/| /')"
}

no_events() {
	! grep . "$TRACEFS/dynamic_events" >"$TMP/events" ||
		failed "events are left: $(cat "$TMP/events")"
	list_is_empty
}

# symlinks_are_hits: does a new symbolic link hit a probe on vfs_symlink()?
symlinks_are_hits() {
	echo 'p:kp_lacks/e vfs_symlink' >"$TRACEFS/kprobe_events"
	echo 1 >"$TRACEFS/events/kp_lacks/enable"
	ln -s to "$TMP/symlink"
	rm "$TMP/symlink"
	echo 0 >"$TRACEFS/events/kp_lacks/enable"
	hits=$(awk '$1 == "e" { print $2 }' "$TRACEFS/kprobe_profile")
	: >"$TRACEFS/kprobe_events"
	[ "${hits:-0}" -gt 0 ]
}

# arguments_are_known: can events fetch a function's arguments by number?
arguments_are_known() {
	# shellcheck disable=SC2016 # the dollar is the definition's
	echo 'p:kp_lacks/e vfs_read a=$arg1' >"$TRACEFS/kprobe_events" 2>/dev/null || return 1
	: >"$TRACEFS/kprobe_events"
}

# has_isra_function: has the compiler named a function .isra, and can it be traced?
has_isra_function() {
	names=$TRACEFS/available_filter_functions
	[ -e "$names" ] || names=/proc/kallsyms
	grep -q '\.isra\.' "$names"
}

# ftracetest_is_left_out NAME: is this test to be skipped in this guest? If so, prints the reason.
# Each line of ftracetest.skip is a test's name, and the reason.
ftracetest_is_left_out() {
	case $1 in
	*/add_remove_uprobe.tc)
		# The test looks for the shell's file in /proc/PID/maps.
		# shellcheck disable=SC2016 # the shell's own number
		! echo 'cat /proc/$$/maps' | /bin/sh | grep -q 'r-xp .*/bin/.*sh$' || return 1
		ktap_print_msg "$1 needs a shell whose file's name ends in sh"
		;;
	*/kretprobe_maxactive.tc)
		! grep -q -w inet_csk_accept /proc/kallsyms || return 1
		ktap_print_msg "$1 needs inet_csk_accept(), of CONFIG_INET"
		;;
	*/kprobe_module.tc | */func_mod_trace.tc)
		! has_module trace_printk || return 1
		ktap_print_msg "$1 needs CONFIG_SAMPLE_TRACE_PRINTK=m"
		;;
	*/kprobe_insn_boundary.tc)
		# This test probes vfs_read() at every instruction, so also at branches.
		! steps_branches || return 1
		ktap_print_msg "$1 needs a CPU that takes branches that are single-stepped"
		;;
	*/multiple_kprobes.tc)
		# This test probes the first 256 functions that can be probed. On powerpc, one of
		# them may be do_program_check(). That is called for each breakpoint, so a probe on
		# it would recurse forever.
		grep -i ' t ' /proc/kallsyms | head -n 1000 | grep -q -w do_program_check ||
			return 1
		ktap_print_msg "$1 would probe do_program_check(), which handles breakpoints"
		;;
	*/test_duplicates.tc | */kprobe_args_vfs.tc | */kretprobe_entry_arg.tc)
		! arguments_are_known || return 1
		ktap_print_msg "$1 needs arguments by their numbers, which the architecture lacks"
		;;
	*/kprobe_eventname.tc)
		! has_isra_function || return 1
		ktap_print_msg "$1 needs a function that the compiler has named .isra"
		;;
	*/kprobe_args_user.tc)
		! is_x86 && ! symlinks_are_hits || return 1
		ktap_print_msg "$1 needs a vfs_symlink() that the compiler has not inlined"
		;;
	*)
		why=$(grep "^$1 " "$TOPIC_DIR/ftracetest.skip") || return 1
		ktap_print_msg "$why"
		;;
	esac
}

# run_ftracetest DIRECTORY...: runs the kernel's tests of tracefs, each a result
run_ftracetest() {
	setup_clients
	ftracetest=$SELFTESTS_DIR/ftrace/ftracetest
	[ -e "$ftracetest" ] || skip_topic "$ftracetest is needed"
	for dir; do
		find "$SELFTESTS_DIR/ftrace/test.d/$dir" -name '*.tc' | sort
	done >"$TMP/tests"
	ktap_set_plan $(($(wc -l <"$TMP/tests") + 1))
	while IFS= read -r file; do
		name=${file#*/test.d/}
		if ftracetest_is_left_out "$name"; then
			ktap_test_skip "$name"
			continue
		fi
		begun=$(date +%s)
		# Do not run ftracetest in a subshell: it gets the results of its tests by signals.
		timeout 300 sh "$ftracetest" -K -vv -l "$TMP/logs" "$file" </dev/null \
			>"$TMP/log" 2>&1 || :
		took=$(($(date +%s) - begun))
		# One of the tests leaves the profiler on, which makes later tests slow.
		[ ! -e $TRACEFS/function_profile_enabled ] ||
			echo 0 >$TRACEFS/function_profile_enabled
		# Let the console show which tasks wait, and for what.
		[ "$took" -lt 300 ] || echo w >/proc/sysrq-trigger
		[ "$took" -lt 10 ] || ktap_print_msg "$name took $took s"
		result=$(grep -E '^(not )?ok 1 ' "$TMP/log" | head -n 1)
		case $result in
		"ok "*"# SKIP"*)
			ktap_test_skip "$name"
			;;
		"ok "*)
			ktap_test_pass "$name"
			;;
		*)
			# ftracetest -vv prints the test's commands in lines that begin with #.
			grep -vE '^([0-9]|# Totals)' "$TMP/log" | tail -n 20 | sed 's/^/# | /'
			ktap_test_fail "$name"
			;;
		esac
		rm -rf "$TMP/logs"
	done <"$TMP/tests"
	check "no event and no probe is left" no_events
}
