#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs targets of the Makefile one after the other, even if one fails, and prints the sum of their
# results.
#
#	series/scripts/sum.sh TARGET...

set -uo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

for target; do
	log=$OUT/log/make-$target.log
	make -C "$TOP" --no-print-directory "$target" 2>&1 </dev/null | tee "$log"
	add_results "$log"
done
sum_up
