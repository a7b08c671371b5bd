#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the kernels of variants and what measures probes in them, and runs the
# selftests' bench.sh on all of them.
#
#	series/scripts/bench.sh VARIANT[,VARIANT...]
#
# STOCK=1 has the base kernel measured beside them.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/scripts/bench.sh VARIANTS}"
[ -z "${STOCK:-}" ] || variants+=(stock-default)

builds=()
for variant in "${variants[@]}"; do
	"$TOP/series/scripts/build.sh" "$variant"
	"$TOP/series/scripts/modules.sh" "$variant" "kp_bench kp_bench_entries"
	builds+=("$OUT/build/$variant:$OUT/modules/$variant")
done
need_packages qemu-system-x86 busybox-static kmod make
"$TOP/series/scripts/prepare.sh" >/dev/null
lock bench
exec "$OUT/linux/$SELFTESTS/benchmarks/bench.sh" -o "$OUT/log" "${builds[@]}"
