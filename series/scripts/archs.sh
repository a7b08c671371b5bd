#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests in emulated guests of other architectures than x86, and prints a table that shows,
# for each architecture and script, how many tests passed, failed and were skipped. With STOCK=1 the
# same tests also run on the base kernel of the architecture, and the table shows both.
#
#	series/scripts/archs.sh [ARCH...]
#
# ARCH is a variant for another architecture: arm64, s390, riscv, arm or powerpc; default: all five.
# TESTS="TEST..." runs only these tests. REUSE=1 takes the results of the base kernel from an
# earlier run of the same tests. The table is left in out/log/archs.txt.
#
# If a guest dies in a test, another guest runs the tests after that one. The script fails if
# a test fails on our kernel, or has no result. Its last line is `N passed, M failed`, for our
# kernel.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

archs=("$@")
[ ${#archs[@]} -gt 0 ] || archs=(arm64 s390 riscv arm powerpc)
for name in "${archs[@]}"; do
	if [ ! -e "$TOP/$SELFTESTS/config.$name" ] || ! is_foreign "$name"; then
		die "no guest of another architecture: $name"
	fi
done

read -ra tests <<<"${TESTS:-}"
if [ ${#tests[@]} -eq 0 ]; then
	# Leave out tests that need other programs than busybox: the host's programs do not run in
	# these guests.
	mapfile -t tests < <(test_programs "$TOP")
	tests+=(clients-dynevents clients-events)
fi
tests=("${tests[@]%.sh}")
table=$OUT/log/archs.txt

# ended LOG: prints `SCRIPT PASSED/FAILED/SKIPPED` for each test that has ended
ended()
{
	awk '/^   [a-z-]+\.sh +[0-9]+ passed, [0-9]+ failed/ {
		skipped = /skipped/ ? $6 : 0
		sub(/\.sh$/, "", $1)
		print $1, $2 "/" $4 "/" skipped
	}' "$1"
}

# run_tests VARIANT: runs all tests, in one guest or more; the results are in
# out/log/archs-VARIANT.results
run_tests()
{
	local variant=$1 left=("${tests[@]}") log=$OUT/log/guest-archs-$1.log
	local results=$OUT/log/archs-$1.results append=${APPEND:-} clean=1/0/0

	case $variant in
	# kretprobes_kunit leaves out cases that crash the base kernel.
	stock-*) append+=" kretprobes_kunit.spare=1" ;;
	esac
	: >"$results"
	while [ ${#left[@]} -gt 0 ]; do
		APPEND=$append "$TOP/series/scripts/guest.sh" "$variant" -n "archs-$variant" \
			"${left[@]}" </dev/null 2>&1 | tee "$log" || true
		ended "$log" >>"$results"
		! grep -q '^   not ok: kernel log clean' "$log" || clean=0/1/0
		while [ ${#left[@]} -gt 0 ] && grep -q "^${left[0]} " "$results"; do
			left=("${left[@]:1}")
		done
		[ ${#left[@]} -gt 0 ] || break
		if ! grep -q "^   not ok: the guest .*(${left[0]}\.sh)" "$log"; then
			printf '%s none\n' "${left[@]}" >>"$results"
			break
		fi
		printf '%s died\n' "${left[0]}" >>"$results"
		left=("${left[@]:1}")
	done
	printf 'kernel-log %s\n' "$clean" >>"$results"
	printf '%s\n' "${tests[*]}" >"$OUT/log/archs-$variant.tests"
}

# has_results VARIANT: are there results of the same tests by an earlier run?
has_results()
{
	[ -s "$OUT/log/archs-$1.results" ] &&
		[ "${tests[*]}" = "$(cat "$OUT/log/archs-$1.tests" 2>/dev/null)" ]
}

# side VARIANT: builds the variant's kernel and modules, and runs the tests in its guests
side()
{
	rm -f "$OUT/log/archs-$1.results"
	if "$TOP/series/scripts/modules.sh" "$1"; then
		run_tests "$1"
	else
		printf '%s none\n' "${tests[@]}" >"$OUT/log/archs-$1.results"
	fi
}

# rows ARCH: prints the rows of the table for this architecture
rows()
{
	local stock=/dev/null

	[ -z "${STOCK:-}" ] || stock=$OUT/log/archs-stock-$1.results
	awk -v arch="$1" -v both="${STOCK:-}" '
		function add(result, side, n) {
			if (split(result, n, "/") == 3) {
				p[side] += n[1]; f[side] += n[2]; s[side] += n[3]
			} else {
				f[side]++
			}
		}
		FILENAME == ARGV[1] { ours[$1] = $2; order[nr++] = $1; next }
		{ stock[$1] = $2 }
		END {
			for (i = 0; i < nr; i++) {
				t = order[i]
				add(ours[t], "ours")
				if (both) add(stock[t], "stock")
				printf "%-8s %-22s %-12s %s\n", arch, t, ours[t], stock[t]
			}
			printf "%-8s %-22s %-12s %s\n", arch, "all",
				p["ours"] "/" f["ours"] "/" s["ours"],
				both ? p["stock"] "/" f["stock"] "/" s["stock"] : ""
		}' "$OUT/log/archs-$1.results" "$stock" | sed 's/ *$//'
}

for name in "${archs[@]}"; do
	side "$name"
	[ -n "${STOCK:-}" ] || continue
	if [ -n "${REUSE:-}" ] && has_results "stock-$name"; then
		say "stock-$name: as it was in out/log/archs-stock-$name.results"
	else
		side "stock-$name"
	fi
done

{
	printf '%-8s %-22s %-12s %s\n' arch script ours "${STOCK:+stock}" | sed 's/ *$//'
	for name in "${archs[@]}"; do
		rows "$name"
	done
} >"$table"
cat "$table"
say "passed/failed/skipped; the table is in ${table#"$TOP"/}"
awk '$2 == "all" { split($3, n, "/"); p += n[1]; f += n[2] }
	END { printf "%d passed, %d failed\n", p, f; exit f > 0 || p == 0 }' "$table"
