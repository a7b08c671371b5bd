#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a small kernel, boots it in QEMU, and shows probes in it, see demo-guest.sh. If the small
# kernel was not built yet, but that of the variant default is up to date, uses the latter instead.
#
#	series/scripts/demo.sh [VARIANT]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:-}
if [ -z "$variant" ]; then
	variant=demo
	[ -e "$OUT/build/demo/.built" ] ||
		[ ! "$OUT/build/default/.built" -nt "$OUT/linux/.series/changed" ] || variant=default
fi
# Collect the packages that all scripts below need, so that doctor.sh reports what cannot be
# installed before the build begins.
packages=("${BASIC_PACKAGES[@]}")
command -v qemu-system-x86_64 >/dev/null || [ -n "${QEMU:-}" ] || packages+=(qemu-system-x86)
if [ ! -e "$OUT/linux/.series/source" ] && [ -z "${KERNEL_SRC:-}$ADAPTIONS" ]; then
	in_archive "linux-source-$BASE" || update_packages || :
	! in_archive "linux-source-$BASE" || packages+=("linux-source-$BASE")
fi
DOCTOR_VARIANT=$variant "$TOP/series/scripts/doctor.sh" "${packages[@]}"
[ -e "$OUT/build/$variant/.built" ] || [ "$variant" != demo ] ||
	say "the first time, packages, sources and a small kernel take three to seven minutes on two idle CPUs"
need_packages "${packages[@]}"
"$TOP/series/scripts/modules.sh" "$variant"
# The small kernel has no ACPI, so the time-stamp counter is its only fast clock. The kernel cannot
# measure the counter's frequency, since the emulated timers are too slow. It is that of the host:
# pass it on the command line.
if [ "$variant" = demo ]; then
	khz=$(awk '/^cpu MHz/ { printf "%d", $4 * 1000; exit }' /proc/cpuinfo)
	export SMP=1 APPEND="${APPEND:-} tsc=reliable${khz:+ tsc_early_khz=$khz}"
fi
"$TOP/series/scripts/guest.sh" "$variant" -c series/scripts/demo-guest.sh

# cost ROW: prints the figures of a row of the table in the manual; for another base kernel than the
# default, of the table in the reference
cost()
{
	local page=kprobes heading='this kernel  Linux 6.12'

	[ -z "$ADAPTIONS" ] || page=kprobes-reference heading="hit, on Linux $BASE"
	awk -F '  +' -v heading="$heading" -v row="$1" '
		index($0, heading) { inside = 1 }
		inside && $1 == row { printf "%s (%s)", $2, $3; exit }' \
		"$TOP/Documentation/trace/$page.rst"
}

cat <<END
Instructions per hit (on the base kernel); recorded in the manual, not measured now
  entry $(cost 'ftrace-based: pre_handler'), within $(cost 'optimised: pre_handler'), \
by a breakpoint $(cost 'boosted: pre_handler'), return $(cost 'return probe: ftrace-based')
END
