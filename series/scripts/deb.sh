#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds Debian packages of out/linux in out/deb. The kernel's own bindeb-pkg makes two of them, the
# kernel image and the headers for modules; then the script builds the selftests and samples with
# these headers, and makes a third package of them. After an interruption, the next run builds only
# what is missing.
#
#	series/scripts/deb.sh
#
# CONFIG=	the kernel's configuration: a file, `debian` or `debian-cloud`; default: that of
#		the running kernel if /boot has it, else `debian`
# LSMOD=	a file with the output of lsmod: build only the modules that it lists
# FULL=1	also select the options that tests and users of kprobes need
# LOCALVERSION=	the end of the kernel's version, default -kprobes

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -eq 0 ] || die "usage: ${0##*/}, with CONFIG=, LSMOD=, FULL= in the environment"

dest=$OUT/deb
build=$dest/build
tree=$OUT/linux
log=$OUT/log/deb.log
suffix=${LOCALVERSION:--kprobes}
# configure() stores the suffix in the configuration. kbuild would append this variable to the
# version as well.
unset LOCALVERSION

# What tracefs, perf and BPF as users of kprobes need, in addition to the selftests' own `config`
CLIENT_OPTIONS=(BLK_DEV_INITRD BPF_EVENTS BPF_JIT BPF_KPROBE_OVERRIDE BPF_SYSCALL DYNAMIC_FTRACE
	FTRACE FUNCTION_ERROR_INJECTION FUNCTION_GRAPH_TRACER FUNCTION_TRACER JPROBES KPROBE_EVENTS
	PERF_EVENTS STACKTRACE UPROBE_EVENTS)

kmake()
{
	make -C "$tree" O="$build" "$@"
}

fail()
{
	build_errors "$log" >&2
	die "$1" "run the same again to go on" "the whole log is ${log#"$TOP"/}"
}

# debian_config FLAVOUR: sets config to Debian's configuration of the base kernel
debian_config()
{
	local package=linux-config-$BASE dir=$OUT/debian-config arch suite=

	arch=$(dpkg --print-architecture)
	config=$dir/usr/src/$package/config.${arch}_none_$1
	[ ! -e "$config" ] || return 0
	in_archive "$package" || suite=$(base_suite)
	unpack_once "$dir" "$package:$arch" "$suite" "set CONFIG= to a kernel's configuration"
	[ -e "$config.xz" ] || die "$package has no configuration for $1 of $arch" \
		"set CONFIG= to a kernel's configuration"
	xz -dk "$config.xz"
}

# find_config: sets config to the file of the configuration that CONFIG= asks for
find_config()
{
	local running

	running=/boot/config-$(uname -r)
	config=${CONFIG:-}
	if [ -z "$config" ]; then
		config=debian
		[ ! -r "$running" ] || config=$running
	fi
	case $config in
	debian) debian_config "$(dpkg --print-architecture)" ;;
	debian-cloud) debian_config "cloud-$(dpkg --print-architecture)" ;;
	*) [ -r "$config" ] || die "CONFIG=$config: no such file" ;;
	esac
	[ -z "${LSMOD:-}" ] || [ -r "$LSMOD" ] || die "LSMOD=$LSMOD: no such file" \
		"lsmod >FILE, on the machine that the kernel is for"
}

# set_option ARGUMENT...: changes the configuration with the kernel's scripts/config
set_option()
{
	"$tree/scripts/config" --file "$build/.config" "$@"
}

# configure: makes $build/.config, unless it was made from the same files and settings before
configure()
{
	local stamp option name value missing=()

	stamp=$({
		cat "$config" "${LSMOD:-/dev/null}" "$tree/Makefile" "$TOP/$SELFTESTS/config" "$0"
		printf '%s\n' "$suffix" "${FULL:-}"
		gcc --version
	} | sha256sum)
	[ "$stamp" != "$(cat "$build/.config-from" 2>/dev/null)" ] || return 0
	say "configuring, from ${config#"$TOP"/}"
	cp "$config" "$build/.config"
	set_option --set-str LOCALVERSION "$suffix" -d LOCALVERSION_AUTO
	# A distribution's configuration names files with keys that only the distribution's source
	# tree has: leave them out.
	for name in SYSTEM_TRUSTED_KEYS SYSTEM_REVOCATION_KEYS MODULE_SIG_KEY; do
		value=$(sed -n "s/^CONFIG_$name=\"\(.*\)\"/\1/p" "$build/.config")
		[ -z "$value" ] || [ -e "$tree/$value" ] || [ "$value" = certs/signing_key.pem ] ||
			set_option --set-str "$name" ""
	done
	if [ -n "${LSMOD:-}" ]; then
		kmake olddefconfig >"$log" 2>&1 </dev/null || fail "configuring failed"
		# localmodconfig asks about new options. An empty answer takes the default.
		(yes '' || :) | kmake LSMOD="$(realpath "$LSMOD")" localmodconfig >"$log" 2>&1 ||
			fail "make localmodconfig failed"
	fi
	# Add these after localmodconfig, which would drop modules that only the tests need.
	if [ -n "${FULL:-}" ]; then
		for option in "${CLIENT_OPTIONS[@]}"; do
			set_option -e "$option"
		done
		"$tree/scripts/kconfig/merge_config.sh" -m -O "$build" "$build/.config" \
			"$TOP/$SELFTESTS/config" >"$log" 2>&1 </dev/null || fail "configuring failed"
	fi
	kmake olddefconfig >"$log" 2>&1 </dev/null || fail "configuring failed"
	grep -qx CONFIG_KPROBES=y "$build/.config" ||
		die "this configuration has no kprobes" "FULL=1 adds them, and what their users need"
	if [ -n "${FULL:-}" ]; then
		for option in "${CLIENT_OPTIONS[@]}"; do
			grep -qx "CONFIG_$option=y" "$build/.config" || missing+=("$option")
		done
		[ ${#missing[@]} -eq 0 ] || say "this configuration cannot have: ${missing[*]}"
	fi
	printf '%s\n' "$stamp" >"$build/.config-from"
}

# packages: runs bindeb-pkg for the image and the headers only, and not for debugging symbols and
# linux-libc-dev
packages()
{
	local revision rc

	revision=$(git -C "$TOP" rev-list --count HEAD 2>/dev/null) || revision=1
	version=$(kernel_version "$tree")-$revision
	rm -f "$dest"/*.deb
	set +e
	# With `terse`, kbuild prints a line for each object.
	DEB_BUILD_OPTIONS="terse parallel=$(nproc)" kmake -j"$(nproc)" bindeb-pkg \
		KDEB_PKGVERSION="$version" KDEB_CHANGELOG_DIST=unstable \
		DPKG_FLAGS="--target=binary-image,binary-headers" </dev/null 2>&1 | tee "$log" |
		sed -un '/^  HDRINST/d; /^  [A-Z]/p' | progress "objects"
	rc=${PIPESTATUS[0]}
	set -e
	[ "$rc" -eq 0 ] || fail "building the packages failed"
	release=$(cat "$build/include/config/kernel.release")
}

# install_selftests DIRECTORY: builds the kernel's selftests in this directory, and installs them in
# the package
install_selftests()
{
	make -C "$work/tree/tools/testing/selftests" KDIR="$headers" TARGETS="$1" \
		INSTALL_PATH="$content/$lib" install
}

# tests_package: builds the selftests and samples with the headers of the package, and makes a
# package of them. The modules of the samples are where modprobe finds them.
tests_package()
{
	local name=linux-kprobes-tests-$release work=$dest/tests content=$dest/tests/content arch
	local lib=usr/lib/kprobes-tests/$release headers modules

	say "building the selftests and samples with the headers of the package"
	arch=$(dpkg --print-architecture)
	find_samples "$build"
	mkdir -p "$work"
	rm -rf "$work/headers" "$content"
	dpkg-deb -x "$dest/linux-headers-${release}_${version}_$arch.deb" "$work/headers"
	headers=$work/headers/usr/src/linux-headers-$release
	(
		cd "$tree"
		find $SELFTESTS samples/kprobes kernel/kprobes/tests tools/include tools/scripts scripts/Makefile.* \
			scripts/subarch.include tools/testing/selftests -maxdepth 1 -type f
		find $SELFTESTS tools/include tools/testing/selftests/{ftrace,kselftest} -type f
		# Some test modules call functions that only kprobes' internal headers declare, or
		# include the C file that has them.
		find kernel/kprobes -maxdepth 1 -name "*.[ch]"
	) | grep -v '\.\(k\?o\|cmd\|mod\|mod\.c\)$' | LC_ALL=C sort -u >"$work/list"
	rsync -rpc --files-from="$work/list" "$tree/" "$work/tree/"
	{
		# clients-*.sh run tests of ftrace, so install these, too. Install kprobes last: the
		# list of tests to run is that of the directory that is installed last.
		install_selftests ftrace && install_selftests kprobes &&
			make -C "$headers" M="$work/tree/samples/kprobes" -j"$(nproc)" \
				"${samples[@]}" modules
	} >"$log" 2>&1 </dev/null || fail "building the selftests and samples failed"

	modules=$content/lib/modules/$release/updates/kprobes
	mkdir -p "$modules" "$content/DEBIAN" "$content/usr/share/doc/$name"
	cp "$work/tree"/samples/kprobes/*.ko "$modules"
	rsync -r --include='*.[ch]' --include=Makefile --exclude='*' --exclude='*.mod.c' \
		"$tree/samples/kprobes/" "$content/usr/share/doc/$name/samples/"
	cp "$tree/COPYING" "$content/usr/share/doc/$name/copyright"
	cat >"$content/DEBIAN/control" <<-END
		Package: $name
		Version: $version
		Architecture: $arch
		Maintainer: $(sed -n 's/^Maintainer: //p' "$build/debian/control" | head -n 1)
		Depends: linux-image-$release, kmod
		Section: kernel
		Priority: optional
		Description: selftests and samples of kernel probes, for Linux $release
		 The selftests are started by /$lib/run_kselftest.sh.
		 The samples are modules for modprobe: kprobe_example, for instance.
	END
	printf '#!/bin/sh\nset -e\ndepmod %s\n' "$release" >"$content/DEBIAN/postinst"
	printf '#!/bin/sh\nset -e\n[ ! -d /lib/modules/%s/kernel ] || depmod %s\n' "$release" "$release" \
		>"$content/DEBIAN/postrm"
	chmod 755 "$content/DEBIAN/postinst" "$content/DEBIAN/postrm"
	dpkg-deb --root-owner-group -b "$content" "$dest/${name}_${version}_$arch.deb" >>"$log" 2>&1 ||
		fail "packing the tests failed"
}

command -v dpkg-deb >/dev/null || die "packages of Debian can be made on Debian and its relatives only"
"$TOP/series/scripts/prepare.sh"
lock deb
need_packages gcc libc6-dev make bc bison flex libelf-dev libssl-dev perl kmod rsync cpio xz-utils zstd \
	debhelper dpkg-dev
# what Linux 7.3 needs in addition
[ -z "$ADAPTIONS" ] || need_packages gawk libdw-dev python3
mkdir -p "$build"
find_config
configure
! grep -qx CONFIG_DEBUG_INFO_BTF=y "$build/.config" || need_packages dwarves
packages
tests_package
say "built in $((SECONDS / 60)) minutes, in ${dest#"$TOP"/}:"
(cd "$dest" && du -h -- *.deb | sed 's/^/   /')
cat <<EOT
Install them, and boot:
   apt install ./${dest#"$TOP"/}/*.deb, then reboot
To go back, choose the former kernel in the boot menu, where it stays, and remove these:
   apt purge 'linux-*-$release'
EOT
