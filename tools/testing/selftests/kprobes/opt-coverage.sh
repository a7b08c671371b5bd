#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Measures what share of the kernel's functions can be jump-optimised at their first, and at their
# second instruction. It must not fall below a known floor.
#
# OPT_SHARE_STEP=N in the environment tests one in N functions, the same ones in every kernel that
# has them; 1 stands for all.

. "$(dirname "$0")/functions.sh"

step=${OPT_SHARE_STEP:-40}
# The least share of functions that can be jump-optimised at their first, and at their second
# instruction, in percent
floor_first=${OPT_SHARE_FIRST:-88}
floor_second=${OPT_SHARE_SECOND:-84}
share=/sys/module/kp_coverage/parameters

# choose: writes addresses of functions to $TMP/functions, 200 in each line. A hash of the name
# decides whether a function is chosen. Leaves out freed init text, padding, and symbols after the
# kernel's text, where some kernels have code that they copy elsewhere.
choose() {
	init=$(sed -n 's/ . _[se]inittext$//p' /proc/kallsyms | sort | tr '\n' ' ')
	end=$(sed -n 's/ . _etext$//p' /proc/kallsyms)
	grep -E -v ' (__pfx_|__cfi_)|\[' /proc/kallsyms | grep -i ' t ' | sort -u -k1,1 |
		awk -v init="$init" -v end="$end" -v step="$step" '
			BEGIN {
				split(init, bound, " ")
				for (i = 1; i < 128; i++)
					code[sprintf("%c", i)] = i
			}
			function hash(name, i, sum) {
				for (i = 1; i <= length(name); i++)
					sum = (sum * 31 + code[substr(name, i, 1)]) % 65521
				return sum
			}
			end != "" && ($1 "") >= end && ($1 "") < bound[1] { next }
			(($1 "") < bound[1] || ($1 "") >= bound[2]) && hash($3) % step == 0 {
				printf "%s%s", $1, ++chosen % 200 ? " " : "\n"
			}
			END { print "" }' >"$TMP/functions"
	functions=$(wc -w <"$TMP/functions")
	at_least "functions" "$functions" 20
}

count() {
	while read -r chunk; do
		put $share/probe "$chunk"
	done <"$TMP/functions"
}

# is_right first|second FLOOR: checks that at least FLOOR per cent of the functions have a jump at
# this instruction, or an ftrace-based probe
is_right() {
	IFS=, read -r probed jumps ftrace wrong left <"$share/$1"
	ktap_print_msg "$1 instruction: of $functions functions $probed probed, $jumps" \
		"optimised:" "$((1000 * jumps / functions))" "per mille; $ftrace reached by ftrace"
	equal "wrong text" "$wrong" 0
	equal "text that was not restored" "$left" 0
	at_least "per cent" $(((jumps + ftrace) * 100 / functions)) "$2"
}

setup_optimized
ktap_set_plan 5
optimization 1
load kp_coverage
check "functions chosen" choose
check "functions probed" count
check "share of first instructions" is_right first "$floor_first"
check "share of second instructions" is_right second "$floor_second"
unload kp_coverage
check "list is empty" list_is_empty
ktap_finished
