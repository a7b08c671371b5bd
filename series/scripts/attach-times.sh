#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Measures how long clients take to attach and detach probes, on the base kernel and on ours,
# in guests that run one after the other. The table is left in out/log/attach-times.txt. The
# figures mean little if the host is busy with other work.
#
#	series/scripts/attach-times.sh VARIANT

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/attach-times.sh VARIANT}
table=$OUT/log/attach-times.txt
"$TOP/series/scripts/modules.sh" "stock-$variant" clients
"$TOP/series/scripts/modules.sh" "$variant"
client_packages "$variant"

cat >"$OUT/log/attach-times.guest" <<'GUEST'
cd /kselftest/kprobes && exec ./attach-times.sh
GUEST
for side in "stock-$variant" "$variant"; do
	say "measuring $side"
	"$TOP/series/scripts/guest.sh" "$side" -R -n "attach-$side" -c "$OUT/log/attach-times.guest" |
		tr -d '\r' | tee "$OUT/log/attach-times.$side" | sed 's/^/   /'
done

awk '
	$1 != "time" { next }
	FNR == NR { on[$2, $3] = $4; off[$2, $3] = $5; next }
	FNR == 1 || !started {
		started = 1
		printf "%-26s %5s  %22s  %22s\n", "", "", "attach, ms", "detach, ms"
		printf "%-26s %5s  %7s %7s %6s  %7s %7s %6s\n", "by", "N",
			"stock", "ours", "ratio", "stock", "ours", "ratio"
	}
	{
		printf "%-26s %5d  %7d %7d %6s  %7d %7d %6s\n", $2, $3,
			on[$2, $3], $4, ratio(on[$2, $3], $4),
			off[$2, $3], $5, ratio(off[$2, $3], $5)
	}
	function ratio(stock, ours) {
		return ours > 0 ? sprintf("%.2f", stock / ours) : "-"
	}' \
	"$OUT/log/attach-times.stock-$variant" "$OUT/log/attach-times.$variant" >"$table"
cat "$table"
say "ratio: stock by ours, more is better for ours; the table is in ${table#"$TOP"/}"
