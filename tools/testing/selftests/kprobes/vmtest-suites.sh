# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The suites, each with patterns for the names of its scripts; sourced by vmtest.sh and by scripts
# that run it. Every script belongs to one suite.
SUITE_TABLE='
api        api api-* boot-events jprobe kexec power scripts
insn       insn insn-* patching-*
context    context context-*
kretprobe  kretprobe kretprobe-*
opt        opt opt-*
ftrace     ftrace ftrace-*
clients    clients clients-*
stress     torture fuzz fuzz-*
'

# suites_of TEST: prints the names of the suites whose patterns match
suites_of()
{
	local suite pattern patterns

	while read -r suite patterns; do
		read -ra patterns <<<"$patterns"
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2053 # a pattern
			[[ $1 != $pattern ]] || echo "$suite"
		done
	done <<<"$SUITE_TABLE"
}

# check_suites SUITE...: fails if there is no such suite, and lists the existing ones
check_suites()
{
	local suite known

	known=$(awk 'NF { print $1 }' <<<"$SUITE_TABLE" | paste -sd' ')
	for suite; do
		[[ " $known " != *" $suite "* ]] || continue
		printf 'error: no suite %s; there are: %s\n' "$suite" "$known" >&2
		return 1
	done
}

# in_suites SUITE...: reads names of tests, with or without .sh, and prints those in these suites
in_suites()
{
	local test

	while IFS= read -r test; do
		[[ " $* " != *" $(suites_of "${test%.sh}") "* ]] || printf '%s\n' "$test"
	done
}
