#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The share of the kernel's functions that can be jump-optimised at their first, and at their
# second instruction. It must not fall below a known floor.
#
# OPT_SHARE_STEP=N in the environment tests one in N functions, the same ones in every kernel that
# has them; 1 stands for all. OPT_SHARE_QUIET=N is for kernels whose jumps appear and disappear
# after the sysctl and unregister_kprobes() have returned: after N milliseconds without a new
# jump, all are in place.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

step=${OPT_SHARE_STEP:-40}
# in percent of all functions, including those that cannot be probed at all
floor_first=${OPT_SHARE_FIRST:-88}
floor_second=${OPT_SHARE_SECOND:-84}
share=$DEBUGFS/kp_coverage
chunk=1000

# Functions of the kernel, without freed init text and symbols that are only padding. Their names
# decide which are tested.
choose() {
	init=$(sed -n 's/ . _[se]inittext$//p' /proc/kallsyms | sort | tr '\n' ' ')
	grep -E -v ' (__pfx_|__cfi_)|\[' /proc/kallsyms | grep -i ' t ' | sort -u -k1,1 |
		awk -v init="$init" -v step="$step" '
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
			(($1 "") < bound[1] || ($1 "") >= bound[2]) && hash($3) % step == 0 {
				print $1
			}' \
			>"$TMP/functions"
	[ "$(grep -c . "$TMP/functions")" -ge 20 ]
}

# Write this many functions at once: all addresses have the same length.
count() {
	line=$(head -n 1 "$TMP/functions" | wc -c)
	dd if="$TMP/functions" of=$share/functions bs=$((line * chunk)) 2>"$TMP/dd" || {
		sed 's/^/# /' "$TMP/dd"
		return 1
	}
}

summary() {
	sed -n "s/^$1 //p" $share/summary
}

# percent PART: prints the share of all functions, with one decimal
percent() {
	awk -v part="$1" -v all="$(summary functions)" 'BEGIN { printf "%.1f", 100 * part / all }'
}

# is_right first|second FLOOR
is_right() {
	ktap_print_msg "$1 instruction: of $(summary functions) functions" \
		"$(summary "$1_probed") probed, $(summary "$1_jumps") optimised:" \
		"$(percent "$(summary "$1_jumps")") %; $(summary "$1_ftrace") reached by ftrace"
	equal "wrong text" "$(summary "$1_wrong")" 0 &&
		equal "text that was not restored" "$(summary "$1_left")" 0 &&
		[ $((($(summary "$1_jumps") + $(summary "$1_ftrace")) * 100)) -ge \
			$(($(summary functions) * $2)) ]
}

setup_optimized
ktap_set_plan 5
optimization 1
load kp_coverage "quiet=${OPT_SHARE_QUIET:-0}"
check "functions chosen" choose
check "functions probed" count
check "share of first instructions" is_right first "$floor_first"
check "share of second instructions" is_right second "$floor_second"
unload kp_coverage
check "list is empty" list_is_empty
ktap_finished
