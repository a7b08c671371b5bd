#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the variants and runs the tests in each. The last line says how many
# passed and failed in all of them.
#
#	series/test.sh VARIANT[,VARIANT...] [TEST...]

set -euo pipefail
# shellcheck source=series/lib.sh
. "$(dirname "$0")/lib.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/test.sh VARIANTS [TEST...]}"
shift
start=$(date +%s)
passed=0
failed=0
for variant in "${variants[@]}"; do
	counts=$OUT/log/vmtest-$variant.counts
	rm -f "$counts"
	if ! { "$TOP/series/build.sh" "$variant" && "$TOP/series/modules.sh" "$variant"; }; then
		failed=$((failed + 1))
		continue
	fi
	"$TOP/series/guest.sh" "$variant" -r "$counts" "$@" || true
	read -r p f <"$counts" || { p=0 f=1; }
	passed=$((passed + p))
	failed=$((failed + f))
done

# What alternatives may still patch is there only until a second CPU comes up.
if [ $# -eq 0 ] && [ -e "$OUT/build/${variants[0]}/arch/x86/boot/bzImage" ]; then
	counts=$OUT/log/vmtest-one-cpu.counts
	rm -f "$counts"
	APPEND="${APPEND:-} maxcpus=1" \
		"$TOP/series/guest.sh" "${variants[0]}" -n one-cpu -r "$counts" api || true
	read -r p f <"$counts" || { p=0 f=1; }
	passed=$((passed + p))
	failed=$((failed + f))
fi
say "${#variants[@]} variants (${variants[*]}) in $(($(date +%s) - start)) s"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
