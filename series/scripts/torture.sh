#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the torture test of kprobes in a guest with the kernel of a variant.
#
#	series/scripts/torture.sh VARIANT [MINUTES [SEED]]
#
# VARIANT may be the base kernel, to compare. MINUTES is the time of all cases together, 5 by
# default. With the same SEED, the tasks that register and unregister probes make the same changes.
# With CASE=N in the environment, only that case runs. With INTERLEAVE=1, CPUs take turns at any
# instruction, see vmtest.sh. For each case, the script prints the last lines of kprobe_torture; its
# own last line is "N passed, M failed".

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/torture.sh VARIANT [MINUTES [SEED]]}
minutes=${2:-5}
seed=${3:-$(date +%s)}
cases=10
[[ $minutes =~ ^[1-9][0-9]*$ && $seed =~ ^[0-9]+$ ]] ||
	die "MINUTES and SEED are numbers, not '$minutes' and '$seed'"
[[ ${CASE:-1} =~ ^[1-9][0-9]?$ && ${CASE:-1} -le $cases ]] ||
	die "CASE is a number from 1 to $cases, not '$CASE'"

"$TOP/series/scripts/modules.sh" "$variant"
say "torture of $variant for $minutes minutes, SEED=$seed${CASE:+, CASE=$CASE}" \
	"${INTERLEAVE:+interleaved}"
APPEND="kp_oops TORTURE_SEED=$seed ${APPEND:-}"
if [ -n "${CASE:-}" ]; then
	APPEND+=" TORTURE_CASE=$CASE TORTURE_S=$((minutes * 60))"
else
	APPEND+=" TORTURE_S=$((minutes * 60 / cases))"
fi
export APPEND
# The guest's clock may be slower than the host's.
export TIMEOUT=$((minutes * 60 * 4 + 600))
exec "$TOP/series/scripts/guest.sh" "$variant" -n "torture-$variant" torture
