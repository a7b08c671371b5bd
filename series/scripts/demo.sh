#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a kernel, boots it in QEMU, and shows what demo-guest.sh prints there: probes by
# modules, a kprobe event, a refused address, and what a hit costs.
#
#	series/scripts/demo.sh [VARIANT]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:-default}
case $variant in
default | server) ;;
*) die "make demo shows the variants default and server only" "to try $variant: make shell VARIANT=$variant" ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All packages of the scripts below at once: each call of apt takes time.
packages=(rsync patch xz-utils "${BUILD_PACKAGES[@]}" busybox-static)
command -v qemu-system-x86_64 >/dev/null || [ -n "${QEMU:-}" ] || packages+=(qemu-system-x86)
if [ ! -e "$OUT/linux/.series/source" ] && [ -z "${KERNEL_SRC:-}$ADAPTIONS" ]; then
	in_archive "linux-source-$BASE" || update_packages || :
	! in_archive "linux-source-$BASE" || packages+=("linux-source-$BASE")
fi
"$TOP/series/scripts/doctor.sh" "${packages[@]}"
need_packages "${packages[@]}"

"$TOP/series/scripts/prepare.sh"
"$TOP/series/scripts/modules.sh" "$variant"

# recorded ROW: prints what the base kernel takes, from the manual's table or the reference's
recorded()
{
	local page=kprobes heading='this kernel  Linux 6.12'

	[ -z "$ADAPTIONS" ] || page=kprobes-reference heading="hit, on Linux $BASE"
	awk -F '  +' -v heading="$heading" -v row="$1" '
		index($0, heading) { inside = 1 }
		inside && $1 == row { print $3; exit }' "$TOP/Documentation/trace/$page.rst"
}

cat >"$work/guest.sh" - "$TOP/series/scripts/demo-guest.sh" <<END
base=$BASE
cost_entry='$(recorded 'ftrace-based: pre_handler')'
cost_inside='$(recorded 'optimised: pre_handler')'
cost_breakpoint='$(recorded 'boosted: pre_handler')'
cost_return='$(recorded 'return probe: ftrace-based')'
END
say "booting it in QEMU"
# The time-stamp counter of the guest counts instructions, as when the recorded figures were taken.
export ACCEL=tcg,thread=single SMP=1 QEMU_ARGS="-icount shift=0,sleep=off ${QEMU_ARGS:-}"
export APPEND="preempt=full ${APPEND:-}"
"$TOP/series/scripts/guest.sh" "$variant" -c "$work/guest.sh"
