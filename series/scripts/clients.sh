#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests of kprobes' clients on the base kernel and on ours, in the same kind of guest, and
# compares the results test by test. Fails if a test passes on the base kernel, but not on ours; or
# if a test fails on our kernel, but is skipped or missing on the base kernel.
#
#	series/scripts/clients.sh VARIANT [TEST...]
#
# The base kernel is the variant stock-VARIANT. The table is left in
# out/log/clients-VARIANT.txt. REUSE=1 takes the results of the base kernel from an earlier run
# of the same tests.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/clients.sh VARIANT [TEST...]}
stock=stock-$variant
shift
tests=("$@")
if [ ${#tests[@]} -eq 0 ]; then
	mapfile -t tests < <(cd "$TOP/$SELFTESTS" && printf '%s\n' clients-*.sh api-kunit.sh)
fi
table=$OUT/log/clients-$variant.txt
asked=$OUT/log/clients-$variant.tests

"$TOP/series/scripts/modules.sh" "$stock" clients
"$TOP/series/scripts/modules.sh" "$variant"
client_packages "$variant"

for side in "$stock" "$variant"; do
	ktap=$OUT/log/ktap-clients-$side.log
	if [ "$side" = "$stock" ] && [ -n "${REUSE:-}" ] &&
		[ "${tests[*]}" = "$(cat "$asked" 2>/dev/null)" ]; then
		say "$side: as it was in ${ktap#"$TOP"/}"
		continue
	fi
	rm -f "$asked"
	# Ignore the guest's status: a test may fail on both kernels, and the table below compares.
	TIMEOUT=${TIMEOUT:-1200} "$TOP/series/scripts/guest.sh" "$side" -R -n "clients-$side" \
		"${tests[@]}" || true
	grep -q '^#@ done' "$ktap" || say "$side: the guest did not get to the end"
done
printf '%s\n' "${tests[*]}" >"$asked"

# results KTAP: prints `test<TAB>result` for each test, in order
results()
{
	tr -d '\r' <"$1" | awk '
		/^#@ start / { test = $3; sub(/\.sh$/, "", test); next }
		/^ *(not )?ok [0-9]+/ {
			result = /^ *not / ? "fail" : /# *SKIP/ ? "skip" : "pass"
			sub(/^ *(not )?ok [0-9]+ *(- *)?/, "")
			sub(/ *# *SKIP.*/, "")
			print test ": " $0 "\t" result
		}'
}

results "$OUT/log/ktap-clients-$stock.log" >"$OUT/log/clients.stock"
results "$OUT/log/ktap-clients-$variant.log" >"$OUT/log/clients.ours"
# The comparison needs the results of both kernels.
[ -s "$OUT/log/clients.stock" ] || die "there are no results of the base kernel"
[ -s "$OUT/log/clients.ours" ] || die "there are no results of ours"

status=0
awk -F'\t' '
	FNR == NR { stock[$1] = $2; order[n++] = $1; next }
	{ ours[$1] = $2; if (!($1 in stock)) order[n++] = $1 }
	END {
		printf "%-72s %-6s %-6s\n", "test", "stock", "ours"
		for (i = 0; i < n; i++) {
			name = order[i]
			s = name in stock ? stock[name] : "-"
			o = name in ours ? ours[name] : "-"
			worse = o != "pass" && s == "pass" || o == "fail" && s != "fail"
			better = o == "pass" && s != "pass"
			bad += worse
			passed += o == "pass"
			was += s == "pass"
			printf "%-72s %-6s %-6s%s\n", name, s, o,
				worse ? " WORSE" : better ? " better" : ""
		}
		printf "%d tests: %d pass on stock, %d pass on ours, %d are worse\n",
			n, was, passed, bad
		exit bad > 0
	}' "$OUT/log/clients.stock" "$OUT/log/clients.ours" >"$table" || status=1
cat "$table"
say "the table is in ${table#"$TOP"/}"
exit $status
