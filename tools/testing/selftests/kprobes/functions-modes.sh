# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# For the topic scripts that run their suites more than once, with copies of instructions boosted,
# stepped, and in detour buffers. Sourced after functions.sh.

BOOST=/sys/module/kprobes/parameters/boost
BOOST_WAS=

# shellcheck disable=SC2317 # called by the trap
restore_boost() {
	restored=$?
	[ -z "$BOOST_WAS" ] || echo "$BOOST_WAS" >$BOOST
	return $restored
}

# setup_modes: as setup. If it is not known how to make copies stepped, suites run in one mode
# only.
setup_modes() {
	setup
	[ ! -w $BOOST ] || BOOST_WAS=$(cat $BOOST)
	trap 'restore_boost; at_exit' EXIT
}

# modes: prints the modes that this kernel supports
modes() {
	if [ -n "$BOOST_WAS" ] && [ -w "$OPTIMIZATION" ]; then
		echo boosted stepped optimized
	elif [ -n "$BOOST_WAS" ]; then
		echo boosted stepped
	else
		uname -m
	fi
}

# set_mode MODE: for probes that are registered from now on
set_mode() {
	case $1 in
	boosted)
		optimization 0
		echo 1 >$BOOST
		;;
	stepped)
		optimization 0
		echo 0 >$BOOST
		;;
	optimized)
		echo 1 >$BOOST
		optimization 1
		;;
	esac
}

# report_mode MODE SUITE...: as report_suites, with the mode in the name of each case
report_mode() {
	mode=$1
	shift
	for suite; do
		mv "$TMP/$suite.results" "$TMP/$suite.$mode.results"
		report_suites "$suite.$mode"
	done
}

# run_in_modes EXTRA MODULE [PARAM=VALUE...] -- SUITE...
# Loads, reports and unloads in each mode; opt=1 tells a module to wait for jumps. EXTRA is how
# many results the script's function after_mode MODE adds to those of each mode, PLANNED_MORE how
# many follow those of all modes.
run_in_modes() {
	extra=$1
	topic_module=$2
	shift
	suites=$(suites_of "$@")
	planned=
	for mode in $(modes); do
		set_mode "$mode"
		if [ "$mode" = optimized ]; then
			module_first "$@"
		else
			load_suites "$@"
		fi
		unload "$topic_module"
		# shellcheck disable=SC2086 # words
		cases=$(count_cases $suites) || exit "$KSFT_FAIL"
		if [ -z "$planned" ]; then
			# Every mode has the same cases.
			planned=$(((cases + extra + 1) * $(modes | wc -w)))
			ktap_set_plan $((planned + ${PLANNED_MORE:-0}))
		fi
		# shellcheck disable=SC2086
		report_mode "$mode" $suites
		[ "$extra" -eq 0 ] || after_mode "$mode"
		check "list is empty after rmmod $topic_module, $mode" list_is_empty
	done
}

# module_first MODULE ...: load_suites with one more parameter
module_first() {
	first=$1
	shift
	load_suites "$first" opt=1 "$@"
}

suites_of() {
	while [ "$1" != -- ]; do
		shift
	done
	shift
	echo "$@"
}

# The following functions run suites twice: with breakpoints only, and with jumps if possible.
#
# setup_jumps: as setup. Saves the value of the sysctl, which is restored at the exit.
setup_jumps() {
	setup
	[ ! -w "$OPTIMIZATION" ] || OPTIMIZATION_WAS=$(cat "$OPTIMIZATION")
}

# jump_modes: prints the modes that this kernel supports
jump_modes() {
	if [ -n "$OPTIMIZATION_WAS" ]; then
		echo breakpoints jumps
	else
		uname -m
	fi
}

# some_jumped: the suites have seen a jump
some_jumped() {
	ktap_print_msg "jumps came $jumped times"
	at_least "jumps" "$jumped" 1
}

# run_with_jumps EXTRA MODULE [PARAM=VALUE...] -- SUITE...
# As run_in_modes; MODULE has the parameters jumps, to wait for them, and jumped. PLANNED_MORE is
# how many results follow those of all modes.
run_with_jumps() {
	extra=$1
	topic_module=$2
	shift
	suites=$(suites_of "$@")
	planned=
	for mode in $(jump_modes); do
		case $mode in
		breakpoints) [ -z "$OPTIMIZATION_WAS" ] || echo 0 >"$OPTIMIZATION" ;;
		jumps) echo 1 >"$OPTIMIZATION" ;;
		esac
		wait_for_jumps=0
		[ "$mode" != jumps ] || wait_for_jumps=1
		shift
		load_suites "$topic_module" jumps=$wait_for_jumps "$@"
		set -- "$topic_module" "$@"
		jumped=$(cat "/sys/module/$topic_module/parameters/jumped")
		unload "$topic_module"
		# shellcheck disable=SC2086 # words
		cases=$(count_cases $suites) || exit "$KSFT_FAIL"
		if [ -z "$planned" ]; then
			# Every mode has the same cases.
			planned=$(((cases + extra + 1) * $(jump_modes | wc -w)))
			case $(jump_modes) in
			*jumps) planned=$((planned + 1)) ;;
			esac
			ktap_set_plan $((planned + ${PLANNED_MORE:-0}))
		fi
		# shellcheck disable=SC2086
		report_mode "$mode" $suites
		[ "$extra" -eq 0 ] || after_mode "$mode"
		[ "$mode" != jumps ] || check "how functions were entered, $mode" some_jumped
		check "list is empty after rmmod $topic_module, $mode" list_is_empty
	done
}
