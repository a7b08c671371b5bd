#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Fuzzes the instruction decoder, the opcode maps, slots and emulations: first with programs that
# run on this machine's CPU, in 64-bit and in 32-bit mode, then with probes in a guest that has the
# kernel of the variant default. In the guest, the interfaces are fuzzed with random arguments, too.
#
#	series/scripts/fuzz.sh [MINUTES [SEED [COUNT]]]
#
# Each program tries the table of instructions, and COUNT random encodings, 1000000 by default. With
# MINUTES, the programs and the guest together run for that time, whatever the number of encodings.
# The same SEED gives the same encodings; the default is the current time. The last line is the sum
# of the results.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

minutes=${1:-0}
seed=${2:-$(date +%s)}
count=${3:-1000000}
[[ $minutes =~ ^[0-9]+$ && $seed =~ ^[0-9]+$ && $count =~ ^[1-9][0-9]*$ ]] ||
	die "MINUTES, SEED and COUNT are numbers, not '$minutes', '$seed' and '$count'"

"$TOP/series/scripts/prepare.sh"
need_packages gcc libc6-dev make gawk binutils
need_multilib
make -s -C "$OUT/linux/$SELFTESTS/fuzz" O="$OUT/fuzz"
limit=(-n "$count")
[ "$minutes" -eq 0 ] || limit=(-n 18446744073709551615 -t $((minutes * 20)))
for bits in 64 32; do
	say "fuzz: encodings of $bits bits on this CPU, SEED=$seed"
	log=$OUT/log/fuzz-$bits.log
	"$OUT/fuzz/fuzz_$bits" -s "$seed" "${limit[@]}" 2>&1 | tee "$log" || true
	add_results "$log"
done

"$TOP/series/scripts/modules.sh" default
say "fuzz: encodings under probes, and interfaces, in a guest, SEED=$seed"
log=$OUT/log/fuzz-guest.log
[ "$minutes" -eq 0 ] || export TIMEOUT=$((minutes * 60 * 2 + 600))
# The guest has a third of MINUTES, split between three modes of fuzz and two cases of
# fuzz-interfaces.
each=$((minutes > 0 ? minutes * 5 : 20))
APPEND="FUZZ_SEED=$seed FUZZ_S=$each FUZZ_COUNT=$((each * 5)) ${APPEND:-}" \
	"$TOP/series/scripts/guest.sh" default -n fuzz fuzz fuzz-interfaces 2>&1 | tee "$log" || true
add_results "$log"

sum_up
