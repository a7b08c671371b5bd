#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the kernel of a variant in out/build/VARIANT, from out/linux, or from
# out/linux-stock where the variant's name begins with stock-.
#
#	series/scripts/build.sh VARIANT [config]
#
# With `config`, stops when the configuration is made.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/build.sh VARIANT [config]}
only=${2:-}
log=$OUT/log/build-$variant.log
build=$OUT/build/$variant

find_fragments "$variant"

case $variant in
stock-*)
	tree=$OUT/linux-stock
	"$TOP/series/scripts/prepare.sh" --stock
	# For another base kernel than the default, the configuration's fragments are taken from
	# out/linux, where they are adapted to it: make out/linux, too.
	[ -z "$ADAPTIONS" ] || "$TOP/series/scripts/prepare.sh"
	;;
*)
	tree=$OUT/linux
	"$TOP/series/scripts/prepare.sh"
	;;
esac

lock "build-$variant"
need_packages "${BUILD_PACKAGES[@]}"
# A newer base kernel than the default generates a header with an awk script. Other awks than gawk
# generate a wrong header, without an error.
[ -z "$ADAPTIONS" ] || need_packages gawk
# pahole makes BTF from the compiler's DWARF.
case ${variant#stock-} in
btf | bpf) need_packages dwarves ;;
esac
use_toolchain "$variant"
mkdir -p "$build"

kmake()
{
	make -C "$tree" O="$build" "${toolchain[@]}" "$@"
}

# fail WHAT ADVICE: prints the errors in the log, or its last lines, and exits
fail()
{
	! grep -q 'No space left on device' "$log" ||
		die "$1: no space is left in ${OUT#"$TOP"/}" "make space, then run the same again"
	build_errors "$log" >&2
	die "$1" "$2" "the whole log is ${log#"$TOP"/}"
}

# wanted: prints each symbol with the value that the last fragment gives it
wanted()
{
	awk '/^# CONFIG_.* is not set$/ { v[$2] = "n" }
	     /^CONFIG_/ { i = index($0, "="); v[substr($0, 1, i - 1)] = substr($0, i + 1) }
	     END { for (s in v) print s, v[s] }' "${fragments[@]}" | sort
}

check_config()
{
	local sym value got bad=()

	while read -r sym value; do
		case $variant/$sym in
		# The base kernel does not have these options.
		stock-*/CONFIG_KPROBES_KUNIT_TEST | stock-*/CONFIG_JPROBES | \
		stock-*/CONFIG_KPROBE_TORTURE_TEST) continue ;;
		esac
		got=$(sed -n "s/^$sym=//p" "$build/.config")
		[ "${got:-n}" = "$value" ] || bad+=("$sym is ${got:-n}, wanted $value")
	done < <(wanted)
	[ ${#bad[@]} -eq 0 ] || {
		rm -f "$build/.config-from"
		die "the configuration of $variant is not what its fragments ask for" "${bad[@]}"
	}
}

# can_link: prints what Kconfig's CC_CAN_LINK will be. The value depends on the installed packages,
# so it is part of the stamp below.
can_link()
{
	local bits=-m64

	[ "${variant#stock-}" != i386 ] || bits=-m32
	! scripts/cc-can-link.sh "$compiler" $bits || echo "links programs"
	! scripts/cc-can-link.sh "$compiler" $bits -static || echo "links static programs"
}

configure()
{
	local stamp kconfigs

	mapfile -t kconfigs < <(cd "$tree" && find .series/orig -name 'Kconfig*' \
		-printf '%P\n' 2>/dev/null | sort)
	stamp=$(cd "$tree" && {
		cat "${fragments[@]}" Makefile "${kconfigs[@]}"
		"$compiler" --version
		can_link
	} | sha256sum)
	[ "$stamp" != "$(cat "$build/.config-from" 2>/dev/null)" ] ||
		[ ! -e "$build/.config" ] || return 0

	say "configuring $variant"
	make_config "$tree" "$build" "${fragments[@]}" >"$log" 2>&1 </dev/null ||
		fail "configuring $variant failed" "correct what it names"
	check_config
	printf '%s\n' "$stamp" >"$build/.config-from"
	rm -f "$build/.built"
}

configure
[ "$only" != config ] || exit 0

if [ "$build/.built" -nt "$tree/.series/changed" ]; then
	say "kernel $variant: up to date"
	exit 0
fi

[ -e "$build/vmlinux" ] || need_space "$(space_for "$variant")"

targets=("${arch[image]##*/}" modules)
! grep -q '^CONFIG_GDB_SCRIPTS=y' "$build/.config" || targets+=(scripts_gdb)

say "building the kernel $variant with $(nproc) jobs"
start=$(date +%s)
touch "$build/.building"
set +e
kmake -j"$(nproc)" "${targets[@]}" </dev/null 2>&1 | tee "$log" |
	sed -un '/^  [A-Z]/p' | progress "objects"
rc=${PIPESTATUS[0]}
set -e
[ "$rc" -eq 0 ] || fail "building $variant failed" \
	"mend what the compiler names, then run the same again"
# Keep the time at which the build started: files that have changed since are built by the next run.
mv "$build/.building" "$build/.built"
say "kernel $variant: built in $(($(date +%s) - start)) s"
