#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the kernels and test modules of variants, and runs the selftests' bench.sh on them.
#
#	series/scripts/bench.sh VARIANT[,VARIANT...]
#
# STOCK=1 also measures the base kernel in the configuration of each. Guests of i386 need a
# busybox of their own, so i386 is measured alone.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/scripts/bench.sh VARIANTS}"
case " ${variants[*]} " in
*" i386 "*)
	[ ${#variants[@]} -eq 1 ] || die "i386 cannot be measured together with variants with 64 bits"
	;;
esac
# BTF needs pahole. Without it, the figures of BPF programs are left out.
if [[ " ${variants[*]} " == *" btf "* ]]; then
	(need_packages dwarves) || :
	command -v pahole >/dev/null || {
		say "no pahole: calls with BPF programs are not measured, nor fentry and fexit"
		mapfile -t variants < <(printf '%s\n' "${variants[@]}" | grep -vx btf)
	}
	[ ${#variants[@]} -gt 0 ] || exit 0
fi
if [ -n "${STOCK:-}" ]; then
	for variant in "${variants[@]}"; do
		variants+=("stock-$variant")
	done
fi

builds=()
for variant in "${variants[@]}"; do
	"$TOP/series/scripts/modules.sh" "$variant" bench
	builds+=("$OUT/build/$variant:$OUT/modules/$variant")
done
guest_packages "${variants[0]}"
need_packages gnuplot-nox
"$TOP/series/scripts/prepare.sh" >/dev/null
lock bench
exec "$OUT/linux/$SELFTESTS/benchmarks/bench.sh" -o "$OUT/log" -r "$OUT/bench" "${builds[@]}"
