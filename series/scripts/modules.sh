#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the kernel of a variant. Then copies the sources of the test modules and of the samples to
# out/modules/VARIANT, so that the source directories stay clean, and builds them there.
#
#	series/scripts/modules.sh VARIANT [FOLDERS]
#
# With FOLDERS, builds only the test modules in these folders.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/modules.sh VARIANT [FOLDERS]}
only=${2:-}
log=$OUT/log/modules-$variant.log
build=$OUT/build/$variant
dest=$OUT/modules/$variant

"$TOP/series/scripts/build.sh" "$variant"
# Test modules for the base kernel are also built from the sources in out/linux: update that.
[[ $variant != stock-* ]] || "$TOP/series/scripts/prepare.sh" >/dev/null
lock "modules-$variant"
need_packages gcc make rsync
use_toolchain "$variant"

# module_dir NAME SOURCE [MAKE_ARGUMENT...]: builds the modules of SOURCE in $dest/NAME
module_dir()
{
	local name=$1 dir=$2 src=$OUT/linux/$2
	shift 2

	[ -e "$src/Makefile" ] || return 0
	mkdir -p "$dest/$name"
	# Delete copies of sources that no longer exist, and their objects.
	(cd "$src" && find . -name '*.[chS]' -o -name Makefile | sort) >"$dest/$name.new"
	if ! cmp -s "$dest/$name.new" "$dest/$name.list"; then
		rm -rf "${dest:?}/$name"
		mkdir -p "$dest/$name"
	fi
	mv "$dest/$name.new" "$dest/$name.list"
	rsync -rpc --files-from="$dest/$name.list" "$src/" "$dest/$name/"

	# BTF of a module refers to the kernel's types by number, but make does not rebuild the
	# module when vmlinux has changed.
	! grep -qx CONFIG_DEBUG_INFO_BTF_MODULES=y "$build/.config" ||
		find "$dest/$name" -name '*.ko' ! -newer "$build/vmlinux" -delete

	printf '== %s\n' "$name" >>"$log"
	make -C "$build" M="$dest/$name" "${toolchain[@]}" -j"$(nproc)" "$@" modules </dev/null >>"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		die "building $dir for $variant failed" "the whole log is ${log#"$TOP"/}"
	}
}

args=("KPROBES_TESTS=$OUT/linux/kernel/kprobes/tests")
[ -z "$only" ] || args+=("KP_ONLY=$only")
# Some modules use functions that only our kprobes have. For a base kernel, KP_ANY=1 leaves these
# modules out.
[[ $variant != stock-* ]] || args+=(KP_ANY=1)

find_samples "$build"
: >"$log"
# The demo needs only these two samples, and its small kernel lacks what other modules need.
if [ "$variant" = demo ]; then
	module_dir samples samples/kprobes CONFIG_SAMPLE_KPROBES=m CONFIG_SAMPLE_KRETPROBES=m
	say "modules for $variant: $(find "$dest" -name '*.ko' | wc -l) in ${dest#"$TOP"/}"
	exit
fi
module_dir test_modules $SELFTESTS/test_modules "${args[@]}"
[ -n "$only" ] ||
	module_dir samples samples/kprobes "${samples[@]}"
# build.sh has built the KUnit suites and the torture test for our kernel, as modules in its tree.
# The base kernel's tree does not have them: build them here.
if [ -z "$only" ] && [[ $variant == stock-* ]]; then
	module_dir kunit kernel/kprobes/tests CONFIG_KPROBES_KUNIT_TEST=m
	module_dir torture kernel/kprobes/torture CONFIG_KPROBE_TORTURE_TEST=m
fi
say "modules for $variant: $(find "$dest" -name '*.ko' 2>/dev/null | wc -l) in ${dest#"$TOP"/}"
