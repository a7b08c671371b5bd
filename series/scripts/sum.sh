#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs targets of the Makefile one after the other, even if one fails, and prints the sum of their
# results. DEADLINE= in the environment is a time in seconds since 1970: the script leaves out
# targets that have not begun by then, and names them before the sum.
#
#	series/scripts/sum.sh TARGET...

set -uo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

left_out=()
for target; do
	if is_late; then
		left_out+=("$target")
		continue
	fi
	log=$OUT/log/make-$target.log
	make -C "$TOP" --no-print-directory "$target" 2>&1 </dev/null | tee "$log"
	add_results "$log"
done
[ ${#left_out[@]} -eq 0 ] || say "left out, since time is over: ${left_out[*]}"
sum_up
