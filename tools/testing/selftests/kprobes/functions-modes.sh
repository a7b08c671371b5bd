# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# For the topic scripts that run their suites more than once, in different modes: copies of
# instructions are boosted, single-stepped, or in detour buffers; or probes are hit by breakpoints
# or by jumps.

. "$(dirname "$0")/functions.sh"

BOOST=/sys/module/kprobes/parameters/boost

# setup_modes: like setup, for scripts that use modes. If a kernel has no parameter that makes it
# single-step copies, suites run in one mode only.
setup_modes() {
	setup
	[ ! -w $BOOST ] || keep $BOOST
}

# setup_jumps: like setup, for scripts that use jump_modes. Saves the value of the sysctl, so that
# it is restored at the exit.
setup_jumps() {
	setup
	! has_jumps || keep "$OPTIMIZATION"
}

# modes, jump_modes: print the modes that this kernel supports
modes() {
	if [ -w $BOOST ] && has_jumps; then
		echo boosted stepped optimized
	elif [ -w $BOOST ]; then
		echo boosted stepped
	else
		uname -m
	fi
}

jump_modes() {
	if has_jumps; then
		echo breakpoints jumps
	else
		uname -m
	fi
}

# set_mode MODE: selects the mode of the probes that are registered from now on
set_mode() {
	case $1 in
	boosted | stepped | breakpoints) optimization 0 ;;
	optimized | jumps) optimization 1 ;;
	esac
	case $1 in
	stepped) echo 0 >$BOOST ;;
	boosted | optimized) echo 1 >$BOOST ;;
	esac
}

suites_of() {
	while [ "$1" != -- ]; do
		shift
	done
	shift
	echo "$@"
}

# suites_in_mode MODE MODULE [PARAM=VALUE...] -- SUITE...: loads the module, which runs the suites,
# and unloads it. Adds SUITE.MODE to $suites, for report_suites. Sets $jumped to the number of jumps
# that the module has seen.
suites_in_mode() {
	mode=$1
	shift
	topic_module=$1
	set_mode "$mode"
	load_suites "$@"
	jumped=$(cat "/sys/module/$topic_module/parameters/jumped" 2>/dev/null) || :
	unload "$topic_module"
	for suite in $(suites_of "$@"); do
		mv "$TMP/$suite.results" "$TMP/$suite.$mode.results"
		suites="$suites $suite.$mode"
	done
}

# some_jumped [N]: checks that jumps were hit in at least N functions of the suites, by default one
some_jumped() {
	ktap_print_msg "the suites saw $jumped jumps"
	at_least "jumps" "$jumped" "${1:-1}"
}

# run_all_modes "MODE..." EXTRA MODULE [PARAM=VALUE...] -- SUITE...
# In each mode, loads the module, reports its suites and unloads it. If EXTRA is not 0, the script
# defines a function after_mode MODE, which prints EXTRA more results for each mode. At its end, the
# script may print PLANNED_MORE further results.
run_all_modes() {
	all_modes=$1
	extra=$2
	topic_module=$3
	shift 3
	planned=
	for mode in $all_modes; do
		suites=
		# With these parameters, modules wait until their probes are optimised.
		case $mode in
		optimized) suites_in_mode "$mode" "$topic_module" opt=1 "$@" ;;
		jumps) suites_in_mode "$mode" "$topic_module" jumps=1 "$@" ;;
		*) suites_in_mode "$mode" "$topic_module" "$@" ;;
		esac
		# shellcheck disable=SC2086 # words
		cases=$(count_cases $suites) || exit "$KSFT_FAIL"
		if [ -z "$planned" ]; then
			# Every mode has the same cases.
			planned=$(((cases + extra + 1) * $(echo "$all_modes" | wc -w)))
			case $all_modes in
			*jumps) planned=$((planned + 1)) ;;
			esac
			ktap_set_plan $((planned + ${PLANNED_MORE:-0}))
		fi
		# shellcheck disable=SC2086
		report_suites $suites
		[ "$extra" -eq 0 ] || after_mode "$mode"
		[ "$mode" != jumps ] || check "how functions were entered, $mode" some_jumped
		check "list is empty after rmmod $topic_module, $mode" list_is_empty
	done
}

# run_in_modes, run_with_jumps EXTRA MODULE [PARAM=VALUE...] -- SUITE...: run_all_modes with the
# modes that `modes` or `jump_modes` prints
run_in_modes() {
	run_all_modes "$(modes)" "$@"
}

run_with_jumps() {
	run_all_modes "$(jump_modes)" "$@"
}
