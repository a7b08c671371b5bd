#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the KUnit suites of kernel/kprobes/.kunitconfig with the kernel's own kunit.py: it builds
# them into a small kernel, in out/build/kunit, and boots that in QEMU.
#
#	series/scripts/kunit.sh [SUITE[.CASE]]
#
# The last line says how many cases passed and failed.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

log=$OUT/log/kunit.log

"$TOP/series/scripts/prepare.sh"
lock build-kunit
need_packages gcc libc6-dev make bc bison flex libelf-dev perl python3 qemu-system-x86
cd "$OUT/linux"
# Keep QEMU from using hardware virtualisation, and kunit.py from leaving files in the sources.
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
status=0
tools/testing/kunit/kunit.py run --arch=x86_64 --kunitconfig=kernel/kprobes \
	--build_dir="$OUT/build/kunit" --jobs="$(nproc)" --timeout="${TIMEOUT:-600}" \
	--qemu_args="-accel tcg,thread=single -smp ${SMP:-4}" "$@" </dev/null 2>&1 |
	tee "$log" || status=1
# The last lines are like `Testing complete. Ran 9 tests: passed: 8, failed: 1`
read -r passed failed < <(sed 's/\x1b\[[0-9;]*m//g' "$log" | awk '
	/Testing complete\. Ran/ {
		gsub(",", "")
		for (i = 1; i < NF; i++)
			n[$i] = $(i + 1)
	}
	END { print n["passed:"] + 0, n["failed:"] + n["crashed:"] + n["errors:"] + 0 }')
# If kunit.py failed before the first case, its log has no failed case: count one failure.
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
sum_up
