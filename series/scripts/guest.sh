#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs vmtest.sh on what was built for a variant.
#
#	series/scripts/guest.sh VARIANT [argument of vmtest.sh...]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/guest.sh VARIANT [argument of vmtest.sh...]}
shift
guest_packages "$variant"
case "${arch[name]} $* " in
i386*" -R "*) i386_root ;;
esac
# Update the tests' scripts.
"$TOP/series/scripts/prepare.sh" >/dev/null
# Two guests of the same name would write the same logs, so take a lock. With -s, the guest runs a
# prompt, and writes no logs.
name=" $* "
case $name in
*" -n "*)
	name=${name#* -n }
	name=${name%% *}
	;;
*) name=$variant ;;
esac
case " $* " in
*" -s "*) ;;
*) lock "guest-$name" ;;
esac
# on_base_kernel() of the tests looks for this word on the kernel's command line.
[[ $variant != stock-* ]] || export APPEND="${APPEND:-} kprobes_base_kernel"
exec "$OUT/linux/$SELFTESTS/vmtest.sh" -n "$variant" -b "$OUT/build/$variant" \
	-m "$OUT/modules/$variant" -o "$OUT/log" "$@"
