# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Shared by the topic scripts of the kprobes selftests; sourced, not run.
#
# A topic script loads modules from test_modules/. KUnit suites run while their module is loaded,
# and leave results in debugfs. The script reports them, and its own checks, as one KTAP stream.

set -eu

TOPIC_DIR=$(cd "$(dirname "$0")" && pwd)
MODULE_DIR=$TOPIC_DIR/test_modules
DEBUGFS=/sys/kernel/debug
KPROBES=$DEBUGFS/kprobes

# shellcheck source=/dev/null
. "$TOPIC_DIR/../kselftest/ktap_helpers.sh"

OPTIMIZATION=/proc/sys/debug/kprobes-optimization
FTRACE_ENABLED=/proc/sys/kernel/ftrace_enabled
# shellcheck disable=SC2034 # for topic scripts
KPTR=/proc/sys/kernel/kptr_restrict
TRACEFS=/sys/kernel/tracing
# The program of read_as.c; it is missing if there was no C library to build it with.
# shellcheck disable=SC2034 # for topic scripts
READ_AS=$TOPIC_DIR/read_as

is_x86_32() {
	case $(uname -m) in
	i?86) return 0 ;;
	esac
	return 1
}

is_x86() {
	is_x86_32 || [ "$(uname -m)" = x86_64 ]
}

is_powerpc() {
	[ "$(uname -m)" = ppc64le ]
}

# in_bochs: does vmtest.sh run this guest in Bochs?
in_bochs() {
	grep -qw kprobes_bochs /proc/cmdline
}

# steps_branches: false on QEMU's s390, which loses branches that are single-stepped; see
# kp_s390_qemu.c
steps_branches() {
	! grep -q Y /sys/module/kp_s390_qemu/parameters/loses_branches 2>/dev/null
}

# By architecture:
# BEHIND_FTRACE	the offset after ftrace's call at a function's entry
# SYSCALL	the prefix of the functions of system calls
# BY_NAME	a pattern for the last digit of the offset at which a probe on a function's name
#	is: on powerpc, after the instructions that set up r2, and at ftrace's call
# shellcheck disable=SC2034 # for topic scripts
BY_NAME='[04]'
# shellcheck disable=SC2034
case $(uname -m) in
x86_64) BEHIND_FTRACE=9 SYSCALL=__x64_sys_ ;;
i?86) BEHIND_FTRACE=5 SYSCALL=__ia32_sys_ ;;
aarch64) BEHIND_FTRACE=8 SYSCALL=__arm64_sys_ ;;
riscv64) BEHIND_FTRACE=8 SYSCALL=__riscv_sys_ ;;
s390x) BEHIND_FTRACE=6 SYSCALL=__s390x_sys_ ;;
ppc64le) BEHIND_FTRACE=16 SYSCALL=sys_ BY_NAME='[048c]' ;;
*) BEHIND_FTRACE=8 SYSCALL=sys_ ;;
esac

TMP=
LOADED=

# keep FILE [VALUE]: makes the exit handler write VALUE to the file, or what the file has now. Later
# calls for the same file do nothing.
keep() {
	! grep -q "^$1 " "$TMP/kept" 2>/dev/null || return 0
	echo "$1 ${2:-$(cat "$1")}" >>"$TMP/kept"
}

# change FILE VALUE: writes VALUE to the file, and lets the exit handler restore what the file had;
# put_back FILE: restores it at once
change() {
	keep "$1"
	put "$1" "$2"
}

put_back() {
	put "$1" "$(sed -n "s|^$1 ||p" "$TMP/kept")"
}

restore_kept() {
	[ -n "$TMP" ] && [ -e "$TMP/kept" ] || return 0
	while read -r kept_file kept_value; do
		echo "$kept_value" 2>/dev/null >"$kept_file" || :
	done <"$TMP/kept"
}

at_exit() {
	status=$?
	trap - EXIT
	# A failure after the last case, or in a case that ended the script, fails the script.
	! failures_shown || [ "$status" -ne 0 ] || status=$KSFT_FAIL
	# Unload what is still loaded, the newest module first.
	for module in $LOADED; do
		rmmod "$module" 2>/dev/null || :
	done
	restore_kept
	[ -z "$TMP" ] || rm -rf "$TMP"
	exit "$status"
}

# skip_topic REASON
skip_topic() {
	ktap_skip_all "$1"
	exit "$KSFT_SKIP"
}

# setup: prints the header, or skips the topic if it cannot run
setup() {
	ktap_print_header
	[ "$(id -u)" -eq 0 ] || skip_topic "must be run as root"
	[ -d $DEBUGFS/kprobes ] || mount -t debugfs none $DEBUGFS 2>/dev/null || :
	[ -e $KPROBES/list ] ||
		skip_topic "no kprobes in debugfs: CONFIG_KPROBES and CONFIG_DEBUG_FS are needed"
	TMP=$(mktemp -d)
	trap at_exit EXIT
	trap 'exit 1' INT TERM HUP
}

# setup_optimized: like setup, for topics about jump optimisation on x86
setup_optimized() {
	setup
	{ is_x86 && has_jumps; } || skip_topic "no jump optimisation in this kernel"
}

# module_file MODULE: prints the path of its .ko, in test_modules/ or in a folder of it; fails if it
# was not built. In a guest, and where kselftest installs them, all are in test_modules/ itself.
module_file() {
	for ko in "$MODULE_DIR/$1.ko" "$MODULE_DIR"/*/"$1.ko"; do
		[ -e "$ko" ] || continue
		echo "$ko"
		return
	done
	return 1
}

# load MODULE [PARAM=VALUE...]: loads a module of test_modules/, or a KUnit module of the kernel
load() {
	module=$1
	shift
	case $module in
	*_kunit)
		modprobe "$module" "$@" || skip_topic "CONFIG_KPROBES_KUNIT_TEST=m is needed"
		;;
	*)
		module_path=$(module_file "$module") ||
			ktap_exit_fail_msg "$module.ko is missing: build test_modules first"
		insmod "$module_path" "$@" || ktap_exit_fail_msg "insmod $module failed"
		;;
	esac
	LOADED="$module $LOADED"
}

# unload MODULE...
unload() {
	for gone; do
		rmmod "$gone" || ktap_exit_fail_msg "rmmod $gone failed"
		LOADED=$(for module in $LOADED; do
			[ "$module" = "$gone" ] || printf '%s ' "$module"
		done)
	done
}

# load_suites MODULE [PARAM=VALUE...] -- SUITE...: loads a module, saves its suites' results
load_suites() {
	args=
	while [ "$1" != -- ]; do
		args="$args $1"
		shift
	done
	shift
	if [ ! -d $DEBUGFS/kunit ] && ! modprobe kunit 2>/dev/null && [ ! -d $DEBUGFS/kunit ]; then
		skip_topic "CONFIG_KUNIT and CONFIG_KUNIT_DEBUGFS are needed"
	fi
	# shellcheck disable=SC2086 # arguments without spaces by design
	load $args
	for suite; do
		if [ ! -r "$DEBUGFS/kunit/$suite/results" ]; then
			ktap_exit_fail_msg "suite $suite left no results"
		fi
		cat "$DEBUGFS/kunit/$suite/results" >"$TMP/$suite.results"
	done
}

# count_cases SUITE...: prints the number of result lines of report_suites
count_cases() {
	cases=0
	for suite; do
		lines=$(grep -c -E '^    (not )?ok ' "$TMP/$suite.results") ||
			ktap_exit_fail_msg "suite $suite ran no case"
		cases=$((cases + lines))
	done
	echo "$cases"
}

# report_suites SUITE...: prints one KTAP line per case, and its failures as comments
report_suites() {
	for suite; do
		while IFS= read -r line; do
			name=${line#*ok * }
			name=$suite.${name%% *}
			case $line in
			"    ok "*"# SKIP"*)
				ktap_print_msg "$suite: ${line#*# }"
				ktap_test_skip "$name"
				;;
			"    ok "*) ktap_test_pass "$name" ;;
			"    not ok "*) ktap_test_fail "$name" ;;
			# Leave out lines of the suite that are no results. The last pattern takes
			# the message of a failed expectation, which is not indented.
			"    # "*": pass:"* | *.speed:* | "    # Subtest:"* | "    # module:"*) ;;
			"    1.."* | "    KTAP"* | KTAP* | 1..* | "# "* | "ok "* | "not ok "*) ;;
			"    # "*) printf '# %s\n' "${line#    # }" ;;
			*) printf '# %s\n' "${line#    }" ;;
			esac
		done <"$TMP/$suite.results"
	done
}

# report_planned MORE SUITE...: plans a result for each case of these suites, and MORE others that
# the script prints itself. Then does what report_suites does.
report_planned() {
	more=$1
	shift
	cases=$(count_cases "$@") || exit "$KSFT_FAIL"
	ktap_set_plan $((cases + more))
	report_suites "$@"
}

# has_jumps: does this kernel have jump optimisation?
has_jumps() {
	[ -w $OPTIMIZATION ]
}

# optimization 0|1: disables jump optimisation; or enables it, and waits until probes are optimised.
# Does nothing on a kernel without jumps. The exit handler restores the setting.
optimization() {
	has_jumps || return 0
	keep $OPTIMIZATION
	echo "$1" >$OPTIMIZATION
}

# probes_listed: prints kprobes/list without the probe that powerpc has on the trampoline of
# return probes
probes_listed() {
	if is_powerpc; then
		grep -v ' arch_rethook_trampoline+0x0' $KPROBES/list
	else
		grep . $KPROBES/list
	fi
}

list_is_empty() {
	! probes_listed >"$TMP/left" || failed "left in list: $(cat "$TMP/left")"
}

# enough_have_jumps N PROBES: checks that N, the number of optimised probes, is at least half of
# PROBES. On other architectures than x86, one is enough: powerpc optimises a probe only if it can
# emulate the instruction.
enough_have_jumps() {
	least=1
	! is_x86 || least=$(($2 / 2))
	at_least "optimised probes" "$1" $least
}

# An assertion that is not true calls failed, which writes to a file. If check finds something in
# that file, the case has failed. An exit status would not be enough: "set -e" is off in a function
# that check calls, so in "a && b; c" a failure of a would be lost. In conditions of loops, after
# "if" and after "!", use plain commands, not assertions, or a condition that is false would make
# the case fail. scripts.sh looks for violations.

failed() {
	printf '%s\n' "$*" >>"$TMP/failed"
	return 1
}

# failures_shown: prints the failures since the last call. True if there are any.
failures_shown() {
	[ -n "$TMP" ] && [ -s "$TMP/failed" ] || return 1
	sed 's/^/# /' "$TMP/failed"
	rm -f "$TMP/failed"
}

# CONDITION || skip_case REASON || return 0: skips the case unless the condition is true
skip_case() {
	printf '%s\n' "$*" >"$TMP/skipped"
	return 1
}

# ftrace_switches: can ftrace be disabled? Newer kernels refuse it.
ftrace_switches() {
	printf '0\n' 2>/dev/null >$FTRACE_ENABLED || return 1
	printf '1\n' >$FTRACE_ENABLED
}

# must COMMAND...: fails the case if COMMAND fails; must_fail COMMAND...: if it succeeds
must() {
	"$@" || failed "failed with status $?: $*"
}

must_fail() {
	! "$@" || failed "did not fail: $*"
}

# processes N: starts N processes, one after the other, each of which executes a program
processes() {
	for _ in $(seq "$1"); do
		must sh -c :
	done
}

PARANOID=/proc/sys/kernel/perf_event_paranoid
EXCEPTIONS=/proc/sys/debug/exception-trace

# has_hostile_user: can the program user_hostile run here? It must not run in Bochs, which raises a
# single-step trap after SYSCALL, although SYSCALL has cleared the trap flag.
has_hostile_user() {
	is_x86 && ! in_bochs && [ -x "$TOPIC_DIR/user_hostile" ]
}

# start_hostile_user SEED: starts a program that raises exceptions as an unprivileged user until
# end_hostile_user is called. Does nothing if there is no such program for this processor.
start_hostile_user() {
	has_hostile_user || return 0
	# Let users get stacks of the kernel, and do not log their faults.
	[ ! -w $PARANOID ] || change $PARANOID 0
	[ ! -w $EXCEPTIONS ] || change $EXCEPTIONS 0
	"$TOPIC_DIR/user_hostile" 100000 "$1" >"$TMP/hostile" 2>&1 &
	hostile_user=$!
}

# end_hostile_user: ends the program, and checks that it has raised every kind of exception that
# this kernel allows, with the same results as on a kernel without probes
end_hostile_user() {
	has_hostile_user || skip_case "no acts for this processor, emulator or host" || return 0
	rc=0
	kill "$hostile_user" 2>/dev/null || :
	wait "$hostile_user" || rc=$?
	[ ! -w $PARANOID ] || put_back $PARANOID
	[ ! -w $EXCEPTIONS ] || put_back $EXCEPTIONS
	while read -r line; do
		ktap_print_msg "$line"
	done <"$TMP/hostile"
	equal "exit status of the user" $rc 0
	had=$(awk '/^never had/ { print $5 - $3 }' "$TMP/hostile")
	at_least "acts that this kernel has" "$had" 20
	at_least "acts" "$(sed -n 's/^acts \([0-9]*\) wrong 0$/\1/p' "$TMP/hostile")" "$had"
}

# write_to FILE TEXT: succeeds if the kernel accepts the text. put FILE TEXT: checks that the kernel
# accepts it. put_refused FILE TEXT: checks that the kernel refuses it.
write_to() {
	printf '%s\n' "$2" 2>/dev/null >"$1"
}

put() {
	write_to "$1" "$2" || failed "'$2' cannot be written to $1"
}

# put_in DIRECTORY FILE=TEXT...: puts texts into files, in this order
put_in() {
	put_dir=$1
	shift
	for put_pair; do
		put "$put_dir/${put_pair%%=*}" "${put_pair#*=}"
	done
}

put_refused() {
	! write_to "$1" "$2" || failed "'$2' can be written to $1"
}

# equal WHAT GOT WANTED
equal() {
	[ "$2" = "$3" ] || failed "$1: got '$2', wanted '$3'"
}

EXPLAIN=$KPROBES/explain

# explained LOCATION: asks kprobes/explain about it, and saves the answer in $TMP/answer. Fails if
# the location cannot be written to the file; there may be an answer even then.
explained() {
	exec 3<>$EXPLAIN
	explained_status=0
	printf '%s\n' "$1" 2>/dev/null >&3 || explained_status=1
	cat <&3 >"$TMP/answer"
	exec 3>&-
	return $explained_status
}

# answer KEY: what $TMP/answer has for KEY
answer() {
	sed -n "s/^$1: //p" "$TMP/answer"
}

# address_plus ADDRESS NUMBER: prints the sum, in hexadecimal. It adds the upper and the lower half
# separately, since dash cannot calculate with all digits of a kernel address.
address_plus() {
	set -- "${1#0x}" "$2"
	high=${1%????????}
	sum=$((0x${1#"$high"} + $2))
	[ -z "$high" ] || high=$(printf "%0${#high}x" $((0x$high + (sum >> 32))))
	printf '0x%s%08x\n' "$high" $((sum & 0xffffffff))
}

# at_least WHAT GOT WANTED, at_most WHAT GOT WANTED: check that the number GOT is WANTED or more, or
# WANTED or less
at_least() {
	[ "${2:-0}" -ge "$3" ] 2>/dev/null || failed "$1: got '$2', wanted $3 or more"
}

at_most() {
	[ "${2:-$(($3 + 1))}" -le "$3" ] 2>/dev/null || failed "$1: got '$2', wanted $3 or less"
}

uptime_s() {
	cut -d. -f1 /proc/uptime
}

# comes_true SECONDS COMMAND...: runs the command again and again until it succeeds. Fails if it has
# not after this time.
comes_true() {
	[ "$1" -gt 0 ] || return 2
	until_uptime=$(($(uptime_s) + $1))
	shift
	until "$@"; do
		[ "$(uptime_s)" -le $until_uptime ] || return 1
		sleep 0.1
	done
}

# Seconds after which wait_until fails: so many that a slow machine makes no test fail
PATIENCE=${PATIENCE:-300}

wait_until() {
	comes_true "$PATIENCE" "$@" || failed "still not true after $PATIENCE s: $*"
}

# check DESCRIPTION COMMAND...: runs the command as a case, and prints its result line. The case
# fails if the command fails, or if an assertion has failed since the last case.
check() {
	description=$1
	shift
	rm -f "$TMP/skipped"
	case_status=0
	"$@" || case_status=1
	! failures_shown || case_status=1
	if [ $case_status -ne 0 ]; then
		ktap_test_fail "$description"
	elif [ -e "$TMP/skipped" ]; then
		ktap_print_msg "$description: $(cat "$TMP/skipped")"
		ktap_test_skip "$description"
	else
		ktap_test_pass "$description"
	fi
}

# check_if CONDITION DESCRIPTION COMMAND...: like check, but skips the case if CONDITION, a command,
# fails
check_if() {
	condition=$1
	shift
	case_status=0
	$condition >/dev/null || case_status=$?
	case $case_status in
	0) check "$@" ;;
	# The shell returns 127 if it does not find the command.
	127) check "$1" failed "$condition ends with 127" ;;
	*) ktap_test_skip "$1: $condition is false" ;;
	esac
}

# log_mark: marks the kernel's log; log_since: prints what has been logged since, without times;
# log_lines PATTERN: prints how many of these lines match
log_marks=0
log_mark() {
	log_marks=$((log_marks + 1))
	log_marker="kprobes-selftest: mark $log_marks of $$,"
	echo "$log_marker" >/dev/kmsg
}

log_since() {
	dmesg | sed -n "/$log_marker/,\$s/^\[[^]]*\] //p"
}

log_lines() {
	log_since | grep -c -E "$1" || :
}

# has_symbol NAME: does the kernel, or a module, have this symbol?
has_symbol() {
	grep -q " $1\$" /proc/kallsyms
}

# has_module NAME: is it one of the kernel's modules?
has_module() {
	grep -q "/$(echo "$1" | sed 's/_/[-_]/g')\.ko" \
		"/lib/modules/$(uname -r)/modules.dep" 2>/dev/null
}

# has_events: mounts tracefs if needed; false without kprobe events
has_events() {
	[ -e $TRACEFS/kprobe_events ] || mount -t tracefs none $TRACEFS 2>/dev/null || :
	[ -e $TRACEFS/kprobe_events ]
}

has_tracer() {
	grep -qw "$1" $TRACEFS/available_tracers 2>/dev/null
}

# add_event DEFINITION...: adds kprobe events; event_on DEFINITION: adds one and enables it
add_event() {
	for definition; do
		echo "$definition" >>$TRACEFS/kprobe_events || failed "no event: $definition"
	done
}

# event_path EVENT: prints GROUP/EVENT
event_path() {
	case $1 in
	*/*) echo "$1" ;;
	*) echo "kprobes/$1" ;;
	esac
}

event_on() {
	add_event "$1"
	event=${1%% *}
	put "$TRACEFS/events/$(event_path "${event#*:}")/enable" 1
}

# event_off EVENT: disables it, and removes it
event_off() {
	put "$TRACEFS/events/$(event_path "$1")/enable" 0
	echo "-:$1" >>$TRACEFS/kprobe_events || failed "event $1 cannot be removed"
}

# event_profile EVENT: prints the hits and missed hits of all its places; event_hits EVENT: the
# hits only
event_profile() {
	awk -v event="$1" '$1 == event { hits += $2; missed += $3; n++ }
		END { if (n) print hits, missed }' $TRACEFS/kprobe_profile
}

event_hits() {
	event_profile "$1" | cut -d' ' -f1
}

# bad_frame_pointers: announces warnings of unwinders. The tested code has arbitrary values in the
# frame pointer, and KASAN may take a stack trace there.
bad_frame_pointers() {
	echo "kprobes-selftest: expect WARNING: kernel stack .* has bad" >/dev/kmsg
}

# run_suites EXTRA MODULE [PARAM=VALUE...] -- SUITE...
# For a topic that has only suites: loads the module, reports the suites, and unloads the module.
# The script itself prints EXTRA more results.
run_suites() {
	extra=$1
	topic_module=$2
	shift
	load_suites "$@"
	while [ "$1" != -- ]; do
		shift
	done
	shift
	report_planned $((extra + 2)) "$@"
	# The suites clean up after a failure, so only the code under test can leave a probe.
	check "nothing left in list" list_is_empty
	unload "$topic_module"
	check "list is empty after rmmod $topic_module" list_is_empty
}

# The following functions control the module kp_ctl.

# ctl COMMAND...: checks that kp_ctl executes the command; ctl_refused COMMAND...: checks that the
# command fails; ctl_try COMMAND...: returns its status, and checks nothing
ctl_try() {
	write_to $DEBUGFS/kp_ctl/cmd "$*"
}

ctl() {
	ctl_try "$@" || failed "kp_ctl: $* fails"
}

ctl_refused() {
	! ctl_try "$@" || failed "kp_ctl: $* does not fail"
}

# ctl_get ID FIELD: prints a field of this probe: address, hits, posts (calls of the post_handler,
# or returns), nmissed, error, text (the first bytes at the address), or reason (why it was refused)
ctl_get() {
	# shellcheck disable=SC2034 # one of them is printed
	while read -r id address hits posts nmissed error text reason; do
		[ "$id" != "$1" ] || eval "echo \$$2"
	done <$DEBUGFS/kp_ctl/probes
}

# ctl_add "ID WHERE [OPTION...]"...: registers probes; ctl_del ID...: unregisters them
ctl_add() {
	for probe; do
		ctl add "$probe"
	done
}

ctl_del() {
	for probe; do
		ctl del "$probe"
	done
}

# hits_are [ID WANTED]...: checks that each probe ID has been hit WANTED times
hits_are() {
	while [ $# -gt 0 ]; do
		equal "hits of probe $1" "$(ctl_get "$1" hits)" "$2"
		shift 2
	done
}

# list_line ID: prints the lines of kprobes/list for the probe's address
list_line() {
	grep "^$(ctl_get "$1" address) " $KPROBES/list
}

# listed_as ID MARK: checks that the probe is listed with [MARK]; not_listed_as: without
listed_as() {
	list_line "$1" | grep -q -F "[$2]" || failed "probe $1 has no [$2]: $(list_line "$1")"
}

not_listed_as() {
	line=$(list_line "$1") || {
		failed "probe $1 is not listed"
		return 1
	}
	case $line in
	*"[$2]"*) failed "probe $1 has [$2]: $line" ;;
	esac
}

# call_target [N]: lets kp_target, or kp_target2, call its functions N times, and checks what
# these return
call_target() {
	for target in kp_target kp_target2; do
		[ -w /sys/module/$target/parameters/calls ] || continue
		put /sys/module/$target/parameters/calls "${1:-1}"
		return
	done
	failed "no module to be called"
}

# after_calls N ASSERTION...: lets the module call its functions N times, then asserts
after_calls() {
	call_target "$1"
	shift
	"$@"
}

# program_attach NAME COMMAND...: starts COMMAND with one more argument, a command that runs until
# program_detach NAME; the output is in $TMP/NAME
program_attach() {
	program=$1
	shift
	cat >"$TMP/$program.work" <<-WORK
		touch $TMP/$program.up
		while [ -e $TMP/$program.up ]; do
			sleep 0.1
		done
	WORK
	"$@" "/bin/sh $TMP/$program.work" >"$TMP/$program" 2>&1 &
	eval "${program}_pid=\$!"
	wait_until test -e "$TMP/$program.up"
}

program_detach() {
	rm -f "$TMP/$1.up"
	eval "wait \"\$${1}_pid\""
}

# The following functions are about the shared pools of return probes.

BOUND=/sys/module/kprobes/parameters/return_pool_kib

# all_kib, all_probes: print the sum over all pools; the words of the first line count as 0.
all_kib() {
	awk '{ sum += $5 } END { print sum }' $KPROBES/pools
}

all_probes() {
	awk '{ sum += $2 } END { print sum }' $KPROBES/pools
}

# prints N COMMAND...: does COMMAND print N?
prints() {
	number=$1
	shift
	[ "$("$@")" -eq "$number" ]
}

# becomes N COMMAND...: waits until COMMAND prints N
becomes() {
	wait_until prints "$@"
}

# all_empty: waits until the pools have no memory, which is faster with a bound of 0. Before that,
# it waits until the pools no longer count any unregistered probe: for such a probe, the pools would
# grow again when the old bound is restored.
all_empty() {
	becomes 0 all_probes
	was=$(cat $BOUND)
	put $BOUND 0
	becomes 0 all_kib
	put $BOUND "$was"
}
