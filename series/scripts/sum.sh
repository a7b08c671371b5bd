#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs targets of the Makefile one after the other, even if one fails. A target's last line is
# `N passed, M failed`; the last line of this script is their sum.
#
#	series/scripts/sum.sh TARGET...

set -uo pipefail
cd "$(dirname "$0")/../.." || exit

passed=0
failed=0

# run TARGET: runs it, and adds the numbers of its last line
run()
{
	local log=out/log/make-$1.log last p f

	mkdir -p out/log
	make --no-print-directory "$1" 2>&1 </dev/null | tee "$log"
	last=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
		p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
	else
		printf 'not ok: make %s did not get to its end\n' "$1"
		p=0 f=1
	fi
	passed=$((passed + p))
	failed=$((failed + f))
}

for target; do
	run "$target"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
