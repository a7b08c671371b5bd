#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the litmus tests of kprobes in herd7, with the memory model of the kernel's tree. Each test
# names an outcome that must not be possible. Then the script runs the test again for each line that
# ends in
#
#	// weak: STATEMENT
#
# In that run, STATEMENT replaces the line's own statement; `none` removes it. Now the outcome must
# be possible. If it is not, either the barrier in that line is not needed, or the test does not
# prove that the barrier is needed.
#
# herd7 is in Debian's sid. It is downloaded and unpacked, not installed, and runs with the C
# library of its own release.
#
#	series/scripts/litmus.sh [TEST...]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

model=$OUT/linux/tools/memory-model
tests=$model/litmus-tests/kprobes
page=$OUT/linux/Documentation/trace/kprobes-design.rst
dir=$SHARED/herdtools
log=$OUT/log/litmus.log

[ -d "$tests" ] || die "there are no litmus tests in ${tests#"$TOP"/}" "make tree"
unpack_once "$dir" "herdtools7 libc6 libgmp10:amd64" sid "unpack herdtools7, libc6 and libgmp10 there"
find_loader "$dir"
lock litmus
: >"$log"

# outcome FILE: prints herd7's answer for the outcome that the test names: never, sometimes or
# always; or error
outcome()
{
	local out

	out=$(cd "$model" && timeout 60 "${loader[@]}" "$dir/usr/bin/herd7" \
		-set-libdir "$dir/usr/share/herdtools7/herd" -conf linux-kernel.cfg "$1" 2>&1) ||
		out+=$'\nherd7 failed'
	printf '%s\n\n' "$out" >>"$log"
	# herd7 prints `Flag` if there is a data race, or an unbalanced lock.
	if grep -q -e '^Flag' -e 'failed$' -e '^Warning' <<<"$out"; then
		printf 'error'
	else
		sed -n 's/^Observation [^ ]* \([^ ]*\) .*/\1/p' <<<"$out" | tr '[:upper:]' '[:lower:]'
	fi
}

# weaken FILE LINE: prints the test with the statement of this line replaced
weaken()
{
	sed -e "$2s,^\([[:space:]]*\).*// weak: ,\1," -e "$2s,^[[:space:]]*none\$,," "$1"
}

# run NAME: runs the test unchanged, then once for each line that can be weakened
run()
{
	local file=$tests/$1.litmus own line lines weak sep='' verdict=ok text

	own=$(outcome "$file")
	text="${own:-error}; weakened:"
	[ "$own" = never ] || verdict=not_ok
	mapfile -t lines < <(grep -n '// weak: ' "$file" | cut -d: -f1)
	[ ${#lines[@]} -gt 0 ] || verdict=not_ok text+=" in no line"
	for line in "${lines[@]}"; do
		weaken "$file" "$line" >"$OUT/log/weak.litmus"
		weak=$(outcome "$OUT/log/weak.litmus")
		text+="${sep} ${weak:-error} (line $line)" sep=,
		[ "$weak" = sometimes ] || verdict=not_ok
	done
	grep -qwF -- "$1" "$page" || verdict=not_ok text+="; ${page##*/} does not name it"
	"$verdict" "$(printf '%-18s %s' "$1" "$text")"
}

# check_page: the page's tables name no test that does not exist, and no function that is nowhere in
# the kernel
check_page()
{
	local rows gone

	rows=$(grep -E '^\|.*\|.*\|.*\|$' "$page")
	gone=$(comm -23 \
		<(cut -d'|' -f4 <<<"$rows" | grep -oE '[a-z]+(-[a-z]+)+' | sort -u) \
		<(cd "$tests" && printf '%s\n' *.litmus | sed 's/\.litmus$//' | sort -u)
		comm -23 \
		<(cut -d'|' -f2,3 <<<"$rows" | grep -oE '[a-z_0-9]+\(\)' | tr -d '()' | sort -u) \
		<(cd "$OUT/linux" && git grep -hE --no-index -o '\w+\(' -- kernel arch/x86 include |
			tr -d '(' | sort -u))
	[ -z "$gone" ] || echo "${page##*/} names, in its tables: ${gone//$'\n'/ }" >&2
	[ -z "$gone" ]
}

names=("$@")
[ $# -gt 0 ] || mapfile -t names < <(cd "$tests" && printf '%s\n' *.litmus | sed 's/\.litmus$//')
for name in "${names[@]}"; do
	[ -e "$tests/$name.litmus" ] || die "there is no ${tests#"$TOP"/}/$name.litmus"
	run "$name"
done
[ $# -gt 0 ] || if check_page; then ok "the page's tables"; else not_ok "the page's tables"; fi

sum_up
