#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tests' own scripts: each assertion must be able to fail its case, and no statement may
# ignore the result of an assertion. This needs neither a kernel with kprobes nor root.

. "$(dirname "$0")/functions.sh"

# run_script SCRIPT [ARGUMENT...]: runs $TMP/SCRIPT as if it were in this directory
run_script() {
	SCRIPT=$TMP/$1
	export SCRIPT
	shift
	sh -eu -c '. "$SCRIPT"' "$TOPIC_DIR/scripts.sh" "$@"
}

# case_says RESULT FUNCTION [DIRECTIVE]: runs $TMP/cases, in which check calls FUNCTION, and checks
# that the result line has RESULT and DIRECTIVE
case_says() {
	wanted=$1
	inner=$(run_script cases "$2") || :
	case $inner in
	*"
$wanted 1 a case of $2${3:+ $3}"*) ;;
	*) failed "wanted '$wanted', the case of $2 says: $inner" ;;
	esac
}

write_cases() {
	cat >"$TMP/cases" <<'CASES'
. "${0%/*}/functions.sh"
TMP=$(mktemp -d "${SCRIPT%/*}/XXXXXX")
KPROBES=$TMP
DEBUGFS=$TMP
: >$TMP/list
yes() { :; }
no() { return 1; }
passes() { equal "a word" x x && must yes && must_fail no; }
followed() { equal "a word" x y; yes; }
in_the_middle() { equal "a word" x x && equal "a word" x y && yes; yes; }
with_colon() { equal "a word" x y || :; }
in_subshell() { (equal "a word" x y) || :; }
in_substitution() { word=$(at_least "a number" 3 4) || :; }
in_pipe() { at_most "a number" 4 3 | cat; }
in_background() { equal "a word" x y & wait; }
negated() { ! equal "a word" x y; }
as_condition() { if equal "a word" x y; then :; fi; }
in_loop() { for word in x y x; do equal "a word" x $word; done; }
not_a_number() { at_least "a number" "" 1; yes; }
must_succeed() { must no; yes; }
must_not_succeed() { must_fail yes; yes; }
cannot_be_written() { put "$TMP/nowhere/file" 1; yes; }
can_be_written() { put_refused "$TMP/file" 1; yes; }
refused_by_kp_ctl() { ctl add 1 kernel_clone; yes; }
left_in_list() { echo left >$TMP/list; list_is_empty; yes; }
never_true() { PATIENCE=1 wait_until no; yes; }
polls() { comes_true 1 no || :; n=0; wait_until third_time; }
third_time() { n=$((n + 1)); [ $n -ge 3 ]; }
returns_1() { return 1; }
skips() { false || skip_case "it cannot be had" || return 0; }
fails_and_skips() { equal "a word" x y; skip_case "it cannot be had" || return 0; }
between() { :; }
KTAP_TESTNO=1
case $1 in
between)
	# A failure outside of a case fails the next case.
	equal "a word" x y || :
	;;
at_the_end)
	# A failure after the last case fails the script.
	trap at_exit EXIT
	ktap_set_plan 1
	check "a case of $1" between
	equal "a word" x y || :
	ktap_finished
	;;
esac
echo
check "a case of $1" "$1"
CASES
}

at_the_end_counts() {
	status=0
	run_script cases at_the_end >"$TMP/said" || status=$?
	grep -q '^ok 1 a case of at_the_end' "$TMP/said" || failed "$(cat "$TMP/said")"
	equal "status of the script" $status 1
}

next_case_is_clean() {
	cat >"$TMP/two" <<'TWO'
. "${SCRIPT%/*}/first"
check "a second one" yes
TWO
	sed -e '$d' "$TMP/cases" >"$TMP/first"
	echo 'check "a first one" followed' >>"$TMP/first"
	inner=$(run_script two x) || :
	case $inner in
	*"not ok 1 a first one"*"
ok 2 a second one"*) ;;
	*) failed "$inner" ;;
	esac
}

# look_through SCRIPT...: prints statements that lose a result, and fails if there are any
look_through() {
	awk -f "$TOPIC_DIR/scripts.awk" "$TOPIC_DIR"/functions.sh \
		"$TOPIC_DIR"/functions-modes.sh "$TOPIC_DIR"/functions-clients.sh "$@"
}

losses_are_found() {
	cat >"$TMP/bad.sh" <<'BAD'
conditions() {
	! ctl add 1 kernel_clone
	if hits_are 1 2; then
		:
	fi
	until is_there 1; do :; done
	wait_until is_there 1
	comes_true 3 is_there 1 || :
}
is_there() {
	equal "it's # there" "$1" 1
}
lost() {
	[ 1 -eq 2 ]
	ctl del 1 &&
		rmmod kp_target
	grep -q "it's" 'some
file'
	! cmp -s a b
	insmod x.ko
	usleep 3
}
passes() {
	[ -e x ] || return 0
	is_there 1
}
check "it passes" passes
BAD
	! look_through "$TMP/bad.sh" >"$TMP/found" || failed "nothing is found"
	while read -r line why; do
		grep -q "^bad.sh:$line: .*$why" "$TMP/found" || failed "not found: $line: $why"
	done <<-'FOUND'
		2 ctl asserts
		3 hits_are asserts
		6 is_there asserts
		7 is_there asserts
		8 is_there asserts
		14 '\[' is lost
		15 'rmmod' is lost
		17 'grep' is lost
		19 '!' is lost
		20 'insmod' is lost
		21 busybox
		24 skip_case
	FOUND
}

none_is_found() {
	set --
	for script in "$TOPIC_DIR"/*.sh; do
		case ${script##*/} in
		functions* | vmtest* | bench.sh) ;;
		*) set -- "$@" "$script" ;;
		esac
	done
	at_least "scripts" $# 3
	look_through "$@" >"$TMP/found" || failed "$(cat "$TMP/found")"
}

ktap_print_header
TMP=$(mktemp -d)
trap at_exit EXIT
away="followed in_the_middle with_colon in_subshell in_substitution in_pipe in_background negated
	as_condition in_loop not_a_number must_succeed must_not_succeed cannot_be_written
	can_be_written refused_by_kp_ctl left_in_list never_true returns_1 fails_and_skips between"
# shellcheck disable=SC2086 # words
set -- $away
ktap_set_plan $(($# + 7))
write_cases
check "what is asserted and true passes" case_says "ok" passes
check "what is polled may be false" case_says "ok" polls
check "what cannot be had is skipped" case_says "ok" skips "# SKIP"
for name; do
	check "not passed: $name" case_says "not ok" "$name"
done
check "not passed: after the last case" at_the_end_counts
check "the next case is not concerned" next_case_is_clean
check "lost results are found" losses_are_found
check "no script loses one" none_is_found
ktap_finished
