#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles users of kprobes that are not in the kernel's tree against the headers of a variant:
# the kprobes and return probes of LTTng's modules, and a module that SystemTap makes of a script
# with both. The packages are from Debian's sid, since older ones do not support new kernels. They
# are downloaded and unpacked, not installed. SystemTap runs with the C library from sid.
#
#	series/scripts/outside.sh VARIANT

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

variant=${1:?usage: series/scripts/outside.sh VARIANT}
build=$OUT/build/$variant
dir=$OUT/outside
log=$OUT/log/outside-$variant.log
packages=(lttng-modules-dkms systemtap systemtap-common libc6 libstdc++6 libgcc-s1 libdw1t64
	libelf1t64 libssl3t64)

[ -e "$build/.built" ] || die "the kernel $variant is not built" "make kernel VARIANT=$variant"
variant_arch "$variant"
[ "${arch[name]}" = x86_64 ] || die "SystemTap runs for x86_64 only"
need_packages gcc make libdebuginfod1 libsqlite3-0 libavahi-client3 libnss3
mkdir -p "$dir"
unpack_once "$dir/debian" "${packages[*]}:all" sid "unpack ${packages[*]} there"
: >"$log"

# compiled NAME COMMAND...: runs COMMAND, and counts its result
compiled()
{
	local name=$1

	shift
	printf '== %s\n' "$name" >>"$log"
	if "$@" </dev/null >>"$log" 2>&1; then
		ok "$name"
	else
		not_ok "$name, see ${log#"$TOP"/}"
		grep -m 5 error "$log" || true
	fi
}

lttng=$(echo "$dir"/debian/usr/src/lttng-modules-*)
compiled "${lttng##*/}: kprobes and return probes" \
	make -C "$build" M="$lttng/src" CONFIG_LTTNG=m lttng-kprobes.o lttng-kretprobes.o

# stap looks for the kernel's symbols below its --sysroot. It writes the module to the current
# directory.
cd "$dir"
mkdir -p "$dir/root/boot"
cp "$build/System.map" "$dir/root/boot/System.map-$(cat "$build/include/config/kernel.release")"
find_loader "$dir/debian"
stap=("${loader[@]}" "$dir/debian/usr/bin/stap")
# SystemTap's own part of the module needs relay files, which this kernel may lack. So define
# CONFIG_RELAY to compile that part, and let modpost only warn of missing symbols.
stap_script='
probe kprobe.function("vfs_read") { printf("%d\n", pid()) }
probe kprobe.function("vfs_read").return { printf("%d\n", returnval()) }
probe kprobe.function("vfs_write").return.maxactive(20) { printf("%s\n", symname(addr())) }
'
version=$("${stap[@]}" -V 2>&1 | sed -n 's/.*(version \([0-9.]*\).*/\1/p')
compiled "systemtap-$version: a script" \
	env SYSTEMTAP_DIR="$dir/cache" "${stap[@]}" -v -p4 -w --disable-cache \
	-r "$build" --sysroot="$dir/root" -R "$dir/debian/usr/share/systemtap/runtime" \
	-I "$dir/debian/usr/share/systemtap/tapset" -B KCFLAGS=-DCONFIG_RELAY=1 \
	-B KBUILD_MODPOST_WARN=1 -m kp_outside -e "$stap_script"

sum_up
