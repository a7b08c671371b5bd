# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Functions for the scripts that the Makefile runs. Sourced, never run.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# make and the kernel's makefiles split paths at spaces, and make splits its search path for sources
# (VPATH) at colons.
case $TOP in
*[[:space:]:]*)
	printf 'error: %s: a kernel cannot be built where the path has a space or a colon\n' "$TOP" >&2
	printf '       move the clone, for example: mv "%s" ~/kprobes\n' "$TOP" >&2
	exit 1
	;;
esac
SHARED=$TOP/out
OUT=$SHARED
# shellcheck disable=SC2034 # for the scripts that source this
SELFTESTS=tools/testing/selftests/kprobes
OWN_DIRS=(arch include kernel lib samples scripts Documentation tools)

# BASE is the version of the base kernel. For other versions than the default, series/base-BASE has
# what differs, and all trees and builds are in out/BASE.
DEFAULT_BASE=6.12
export BASE=${BASE:-$DEFAULT_BASE}
ADAPTIONS=
if [ "$BASE" != $DEFAULT_BASE ]; then
	OUT=$SHARED/$BASE
	ADAPTIONS=$TOP/series/base-$BASE
	[ -d "$ADAPTIONS" ] || {
		printf 'error: BASE=%s: there is no series/base-%s\n' "$BASE" "$BASE" >&2
		exit 1
	}
fi

# With COVERAGE= set, kernels count which lines they execute, see coverage.sh. They are built from
# the same sources, but in another directory.
if [ -n "${COVERAGE:-}" ]; then
	OUT=$OUT/coverage
	mkdir -p "$OUT"
	ln -sfn ../linux "$OUT/linux"
	ln -sfn ../.lock.linux "$OUT/.lock.linux"
fi

mkdir -p "$OUT/log"

# shellcheck source=tools/testing/selftests/kprobes/vmtest-archs.sh
. "$TOP/$SELFTESTS/vmtest-archs.sh"
# shellcheck source=tools/testing/selftests/kprobes/vmtest-suites.sh
. "$TOP/$SELFTESTS/vmtest-suites.sh"

# variant_arch VARIANT: sets arch to the variant's architecture
variant_arch()
{
	find_arch name "${1#stock-}" || find_arch name x86_64
}

# Use ccache if Debian's is installed. Clones share the compiled objects.
if [ -d /usr/lib/ccache ]; then
	export PATH=/usr/lib/ccache:$PATH CCACHE_BASEDIR=$TOP CCACHE_NOHASHDIR=1
fi

say() { printf '== %s\n' "$*"; }

# Numbers of results in this run. ok() and not_ok() print one result each, and count it.
passed=0
failed=0

ok()
{
	passed=$((passed + 1))
	printf 'ok: %s\n' "$*"
}

not_ok()
{
	failed=$((failed + 1))
	printf 'not ok: %s\n' "$*"
}

# add_results LOG: adds the numbers in the last line of a log, `N passed, M failed`, to the totals;
# lines of make after it are ignored. If the log has no such line, the run has failed.
add_results()
{
	local p f

	read -r p f < <(grep -v '^make' "$1" | tail -n 1 |
		sed -En 's/^(.* )?([0-9]+) passed, ([0-9]+) failed.*/\2 \3/p') || { p=0 f=1; }
	passed=$((passed + p))
	failed=$((failed + f))
}

# sum_up: prints the last line of a run; fails if a test has failed, or if none has passed
sum_up()
{
	printf '%d passed, %d failed\n' "$passed" "$failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# is_late: is it past DEADLINE, in seconds since 1970, if that is set?
is_late()
{
	[ -n "${DEADLINE:-}" ] && [ "$(date +%s)" -ge "$DEADLINE" ]
}

die()
{
	printf 'error: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '       %s\n' "$@" >&2
	exit 1
}

# build_errors LOG: prints the errors in the log of a build, or its last lines if it has none
build_errors()
{
	grep -m 10 -A3 'error:\|undefined\|^error\|^ERROR\|No rule' "$1" || tail -n 30 "$1"
}

# make_config TREE BUILD FRAGMENT...: makes the configuration in BUILD of these fragments, with the
# script's kmake(). make drops options that TREE does not have.
make_config()
{
	local merge=$1/scripts/kconfig/merge_config.sh build=$2

	shift 2
	# bash ignores errexit if a caller tests the status: join the commands with &&.
	kmake tinyconfig && "$merge" -m -O "$build" "$build/.config" "$@" && kmake olddefconfig
}

# checkpatch OPTION... FILE...: runs checkpatch.pl of out/linux in the current directory; prints its
# reports, except what checkpatch.allow allows in lines `TYPE path why`
checkpatch()
{
	local options=()

	while [[ $1 == -* ]]; do
		options+=("$1")
		shift
	done
	printf '%s\n' "$@" | xargs -d '\n' -P "$(nproc)" -n 20 \
		"$OUT/linux/scripts/checkpatch.pl" --strict --no-summary --terse --show-types \
		--color=never "${options[@]}" 2>&1 | awk -v allow="$TOP/series/scripts/checkpatch.allow" '
		BEGIN {
			while ((getline line < allow) > 0)
				if (split(line, w, " ") > 2) ok[w[2], w[1]] = 1
		}
		{
			split($0, part, ":")
			if (!((part[1], part[4]) in ok)) print
		}' || true
}

# is_foreign VARIANT: has the variant's guest another architecture than x86? Such a guest cannot run
# the host's programs, and these scripts make no root file system for it.
is_foreign()
{
	variant_arch "$1"
	[ "${arch[package]}" != x86 ]
}

# adapted KIND NAME: prints the path of the file that replaces series/KIND/NAME with this base
# kernel; if there is none, the path of series/KIND/NAME
adapted()
{
	if [ -n "$ADAPTIONS" ] && [ -e "$ADAPTIONS/$1/$2" ]; then
		printf '%s\n' "$ADAPTIONS/$1/$2"
	else
		printf '%s\n' "$TOP/series/$1/$2"
	fi
}

# messages_of_base: prints the files of series/messages whose patches change this base kernel, in
# order, from the list that export.sh has written
messages_of_base()
{
	sed "s,^,$TOP/series/messages/," "$OUT/series/.git/messages"
}

# own_files: prints every file of ours that is part of the kernel
own_files()
(
	dirs=()
	cd "$TOP" || exit
	for dir in "${OWN_DIRS[@]}"; do
		[ ! -d "$dir" ] || dirs+=("$dir")
	done
	[ ${#dirs[@]} -gt 0 ] || exit 0
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -co --exclude-standard -- "${dirs[@]}"
	else
		find "${dirs[@]}" -type f
	fi | sort -u | while IFS= read -r file; do
		[ ! -f "$file" ] || printf '%s\n' "$file"
	done
)

# Packages that it takes to build a kernel
# shellcheck disable=SC2034 # for the scripts that source this
BUILD_PACKAGES=(gcc libc6-dev make bc bison flex libelf-dev perl kmod)
PREPARE_PACKAGES=(rsync patch xz-utils)
# Packages that it takes to make a source tree, to build a kernel and to run a guest, except QEMU
# shellcheck disable=SC2034 # as above
BASIC_PACKAGES=("${PREPARE_PACKAGES[@]}" "${BUILD_PACKAGES[@]}" busybox-static)

# missing_packages PACKAGE...: sets missing to the packages that are not installed. Without
# dpkg-query, which all Debian systems have, the list is empty.
missing_packages()
{
	local pkg

	missing=()
	command -v dpkg-query >/dev/null || return 0
	for pkg; do
		dpkg-query -W -f '${db:Status-Status}\n' "$pkg" 2>/dev/null |
			grep -qx installed || missing+=("$pkg")
	done
}

# need_packages PACKAGE...: installs the missing packages, and says so first
need_packages()
{
	local advice

	missing_packages "$@"
	[ ${#missing[@]} -gt 0 ] || return 0

	say "installing missing packages: ${missing[*]}"
	advice="install by hand: apt-get install ${missing[*]}"
	[ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
		die "not root, and there is no sudo" "as root, run ${advice#install by hand: }"
	update_packages || advice="is there a network? apt can read none of its repositories"
	# If an installation was interrupted, finish it first, or else apt refuses to run.
	(as_root '' dpkg --configure -a) 2>/dev/null ||
		say "not all that is unpacked can be configured"
	# Another process, the tests of a second clone for example, may hold dpkg's lock: apt-get
	# waits up to 600 s for it.
	as_root "$advice" apt-get -o DPkg::Lock::Timeout=600 \
		install -y --no-install-recommends --fix-broken "${missing[@]}"
}

# update_packages: updates apt's lists, once in a run. If some repositories cannot be read, their
# old lists are used. Fails if no repository can be read.
update_packages()
{
	if [ -z "${PACKAGES_UPDATED:-}" ]; then
		export PACKAGES_UPDATED=y
		(as_root '' apt-get -o Acquire::Retries=0 update) 2>/dev/null ||
			say "not all of apt's repositories can be read"
		grep -qE '^(Hit|Get):' "$OUT/log/packages.log" || PACKAGES_UPDATED=failed
	fi
	[ "$PACKAGES_UPDATED" = y ]
}

# free_space: prints how many MB are free in out/
free_space() { df --output=avail -m "$OUT" | tail -n 1 | tr -d ' '; }

# space_for VARIANT...: prints how many MB are still needed in out/ for the base kernel and for the
# builds of these variants
space_for()
{
	local variant sum=0

	[ -e "$OUT/linux/.series/source" ] || sum=1900
	for variant; do
		[ ! -e "$OUT/build/$variant/vmlinux" ] || continue
		sum=$((sum + 500))
	done
	printf '%d\n' "$sum"
}

# need_space MB: exits with an error if fewer MB are free in out/
need_space()
{
	local free

	free=$(free_space)
	[ "$free" -ge "$1" ] || die "no space: $1 MB are needed in ${OUT#"$TOP"/}, and $free MB are free" \
		"make space, or clone to a larger disk; make clean removes out/"
}

# need_multilib: installs what the host's compiler needs to link 32-bit programs. gcc-multilib
# itself adds only a link to headers, and conflicts with cross compilers.
need_multilib()
{
	local version

	need_packages gcc
	version=$(gcc -dumpversion)
	need_packages "gcc-${version%%.*}-multilib"
}

# as_root ADVICE COMMAND...: runs a command as root, without questions of debconf. If it fails,
# prints the end of its log and the advice, and exits.
as_root()
{
	local advice=$1 root=() log=$OUT/log/packages.log

	shift
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || die "not root and no sudo" "$advice"
		root=(sudo)
	fi
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null >"$log" 2>&1 || {
		tail -n 15 "$log" >&2
		die "$1 failed, see $log" "$advice"
	}
}

# guest_packages VARIANT: gets what vmtest.sh needs for the variant's guest; sets BUSYBOX if the
# guest cannot run the installed one
guest_packages()
{
	variant_arch "$1"
	need_packages busybox-static kmod make
	if [ -n "${QEMU:-}" ]; then
		newer_qemu
	else
		command -v "qemu-system-${arch[qemu]}" >/dev/null ||
			need_packages "$(qemu_package)"
	fi
	case ${arch[name]} in
	x86_64) return ;;
	i386) need_multilib ;;
	*) need_packages "libc6-dev-${arch[debian]}-cross" ;;
	esac
	[ -n "${BUSYBOX:-}" ] || foreign_busybox "${arch[debian]}"
}

# qemu_package: prints the name of the package that has QEMU for the architecture. Debian has moved
# some programs out of qemu-system-misc.
qemu_package()
{
	local name

	for name in "${arch[name]}" "${arch[qemu]}"; do
		if [ "${arch[package]}" = misc ] && in_archive "qemu-system-$name"; then
			printf 'qemu-system-%s\n' "$name"
			return
		fi
	done
	printf 'qemu-system-%s\n' "${arch[package]}"
}

# base_suite: prints the release of Debian that has packages of the base kernel, for machines whose
# own release has none
base_suite()
{
	if [ -n "$ADAPTIONS" ]; then
		cat "$ADAPTIONS/suite"
	else
		echo trixie
	fi
}

# in_archive PACKAGE: can apt install this package from the machine's own repositories?
in_archive()
{
	apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# newer_qemu: if QEMU= is `backports` or the name of a release of Debian, unpacks the QEMU of that
# release, and sets QEMU to the directory. QEMU before 8.2 loses flags in cmpxchg16b, for example.
newer_qemu()
{
	local release=$QEMU

	[[ $QEMU != */* ]] || return 0
	[ "$QEMU" != backports ] ||
		release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)-backports
	export QEMU=$SHARED/qemu-${arch[package]}-$release
	unpack_once "$QEMU" "qemu-system-${arch[package]}:amd64" "$release" \
		"unpack a qemu-system-${arch[package]} in ${QEMU#"$TOP"/}" all
}

# foreign_busybox ARCH: sets BUSYBOX for guests of another architecture than the host
foreign_busybox()
{
	local dir=$SHARED/busybox-$1 release=

	export BUSYBOX=$dir/bin/busybox
	[ ! -x "$BUSYBOX" ] || return 0
	# Debian 13 (trixie) is the first release for riscv64.
	[ "$1" != riscv64 ] || release=trixie
	unpack_once "$dir" "busybox-static:$1" "$release" "set BUSYBOX= to a static busybox for $1"
	[ -d "$dir/bin" ] || ln -sfn usr/bin "$dir/bin"
}

# unpack_package DIRECTORY PACKAGE:ARCH RELEASE ADVICE: downloads a package of a release of Debian,
# or of this machine's release if RELEASE is empty, and unpacks it to DIRECTORY. It is not
# installed, and apt's lists for it are kept apart from the machine's. PACKAGE may be several names.
# With a fifth argument, all packages that these depend on are unpacked there as well. If RELEASE is
# the backports of a release, dependencies that the backports lack are taken from the release.
unpack_package()
{
	local dir=$1 package=$2 release=$3 mirror options packages suites deb fetch=(download)

	say "getting $package of Debian ${release:-as it is installed}"
	read -ra mirror < <(debian_mirror)
	rm -rf "$dir.new"
	mkdir -p "$dir.new"/apt/{lists,cache/archives}/partial
	suites=("${release:-${mirror[0]}}")
	options=()
	if [[ $release = *-backports ]]; then
		suites+=("${release%-backports}")
		options=(-o APT::Default-Release="$release")
	fi
	printf "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
${mirror[1]:-http://deb.debian.org/debian} %s main\n" "${suites[@]}" >"$dir.new/apt/sources.list"
	options+=(-o Dir::Etc::sourceparts=- -o Dir::Etc::sourcelist="$dir.new/apt/sources.list"
		-o Dir::State::lists="$dir.new/apt/lists" -o Dir::State::status=/dev/null
		-o Dir::Cache="$dir.new/apt/cache")
	case $package in
	*:all) ;;
	*) options+=(-o APT::Architecture="${package#*:}" -o APT::Architectures="${package#*:}") ;;
	esac
	read -ra packages <<<"${package%:*}"
	if [ $# -gt 4 ]; then
		# Nothing is installed, so no lock of the machine's dpkg is needed.
		options+=(-o Debug::NoLocking=1)
		fetch=(install --download-only --no-install-recommends -y)
	fi
	(
		cd "$dir.new"
		apt-get "${options[@]}" update &&
			apt-get "${options[@]}" "${fetch[@]}" "${packages[@]}" || exit
		find . apt/cache/archives -maxdepth 1 -name '*.deb' >apt/debs
		while IFS= read -r deb; do
			dpkg-deb -x "$deb" . && rm "$deb" || exit
		done <apt/debs
	) >"$OUT/log/packages.log" 2>&1 ||
		die "apt-get download $package failed, see $OUT/log/packages.log" "$4"
	rm -rf "$dir" "$dir.new/apt"
	mv "$dir.new" "$dir"
}

# unpack_once DIRECTORY PACKAGE:ARCH RELEASE ADVICE: does the same as unpack_package, unless
# DIRECTORY exists. If another process is unpacking to it, waits until that has ended.
unpack_once()
{
	(
		lock "${1##*/}" "$SHARED"
		[ -d "$1" ] || unpack_package "$@"
	) || exit
}

# find_loader DIRECTORY: sets loader to the first words of a command that runs a program for x86_64
# that unpack_package has unpacked to DIRECTORY, with the C library that was unpacked there, too
find_loader()
{
	local libs=$1/usr/lib/x86_64-linux-gnu

	# shellcheck disable=SC2034 # for the scripts that source this
	loader=("$libs/ld-linux-x86-64.so.2" --library-path "$libs:/usr/lib/x86_64-linux-gnu")
}

# Packages with the programs that clients-*.sh run in the guest. client_packages() adds bpftrace,
# which Debian has for 64 bits only.
CLIENT_PACKAGES=(kmod perl-base procps gawk linux-perf trace-cmd perf-tools-unstable)

# client_packages VARIANT: gets the programs that clients-*.sh run in the variant's guest
client_packages()
{
	guest_packages "$1"
	case ${1#stock-} in
	# Guests of i386 have a root of their own.
	i386) (i386_root) || exit ;;
	btf) need_packages "${CLIENT_PACKAGES[@]}" bpftrace gdb ;;
	*) need_packages "${CLIENT_PACKAGES[@]}" bpftrace ;;
	esac
}

# debian_mirror: prints this machine's release of Debian, and the mirror that apt uses. On sid,
# /etc/os-release has the name of the next release. So if apt has no repository of that name, prints
# the name of one that it has.
debian_mirror()
{
	local codename

	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# If apt has no lists, mmdebstrap uses its default mirror.
	# shellcheck disable=SC2016 # apt-get replaces these
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' 'Component: main' |
		awk -v codename="$codename" '
			$1 == codename { own = own ? own : $0 }
			$1 !~ /-/ && !other { other = $0 }
			END { print own ? own : other ? other : codename ? codename : "sid" }'
}

# i386_root: sets GUEST_ROOT to the root of a Debian for i386 with CLIENT_PACKAGES, for guests whose
# kernel cannot run the host's programs; makes that Debian if it does not exist yet
i386_root()
{
	[ -z "${GUEST_ROOT:-}" ] || return 0
	export GUEST_ROOT=$SHARED/i386-root
	(
		lock i386-root "$SHARED"
		[ "${CLIENT_PACKAGES[*]}" != "$(cat "$GUEST_ROOT/.packages" 2>/dev/null)" ] ||
			exit 0
		make_i386_root "$GUEST_ROOT"
		[ -d "$GUEST_ROOT" ]
	) || exit
}

# make_i386_root DIRECTORY: makes the root for i386_root(); if that fails, leaves no DIRECTORY
make_i386_root()
{
	local advice="set GUEST_ROOT= to the root of a Debian for i386" mirror

	need_packages mmdebstrap arch-test
	read -ra mirror < <(debian_mirror)
	say "making ${1#"$TOP"/}, a Debian for i386, with ${CLIENT_PACKAGES[*]}"
	as_root "$advice" rm -rf "$1" "$1.new"
	# Run mmdebstrap in a mount namespace, so that all that it mounts is unmounted, however it
	# ends.
	as_root "$advice" unshare --mount mmdebstrap --mode=root --format=directory \
		--architectures=i386 --variant=essential \
		--include="${CLIENT_PACKAGES[*]}" --aptopt='APT::Install-Recommends "false"' \
		"${mirror[0]}" "$1.new" "${mirror[@]:1}"
	# The user that runs QEMU has to be able to read all of it.
	as_root "$advice" chown -R "$(id -u):$(id -g)" "$1.new"
	printf '%s\n' "${CLIENT_PACKAGES[*]}" >"$1.new/.packages"
	mv "$1.new" "$1"
}

# kernel_version TREE: prints the version of the kernel in this source tree
kernel_version()
{
	sed -n 's/^\(VERSION\|PATCHLEVEL\|SUBLEVEL\) = *//p' "$1/Makefile" |
		head -n 3 | paste -sd.
}

# find_fragments VARIANT: sets fragments to the files that the variant's configuration is made of
find_fragments()
{
	local variant=${1#stock-} basis name dir=$TOP/$SELFTESTS

	# For another base kernel than the default, prepare.sh adapts the fragments in out/linux.
	[ -z "$ADAPTIONS" ] || dir=$OUT/linux/$SELFTESTS
	fragments=()
	if [ "$variant" = demo ]; then
		fragments=("$TOP/series/scripts/config.demo")
		return
	fi
	case $variant in
	plain | debug | power | kcfi | kcsan | bpf) basis=(small x86) ;;
	default | server | i386 | btf | rt) basis=(small default) ;;
	*) basis=(small foreign) ;;
	esac
	for name in config "${basis[@]/#/config.}" "config.$variant"; do
		[ -e "$TOP/$SELFTESTS/$name" ] ||
			die "no variant $variant: there is no $SELFTESTS/$name" \
				"there are: $(cd "$TOP/$SELFTESTS" && printf '%s ' config.* | sed 's/config\.//g')"
		case " ${fragments[*]} " in
		*" $dir/$name "*) ;;
		*) fragments+=("$dir/$name") ;;
		esac
	done
	[[ $1 != stock-* ]] || fragments+=("$TOP/series/scripts/config.stock")
	[ -z "${COVERAGE:-}" ] || fragments+=("$TOP/series/scripts/config.coverage")
}

# test_programs TREE: prints the names of the selftests in TREE that need no programs of the host
test_programs()
{
	{
		sed -n '/^TEST_PROGS :=/,/\(^\|[^\\]\)$/s/^\t\([a-z-]*\)\.sh.*/\1/p' "$1/$SELFTESTS/Makefile"
		sed -n 's/^\([a-z-]*\))$/\1/p' "$1/$SELFTESTS/suites.sh"
	} | grep -v '^clients-' | LC_ALL=C sort
}

# use_toolchain VARIANT: installs the compiler for the variant; sets compiler to its command, and
# toolchain to the arguments that make needs for it
use_toolchain()
{
	variant_arch "$1"
	# shellcheck disable=SC2034 # for the scripts that source this
	compiler=gcc toolchain=()
	[ "${arch[name]}" = x86_64 ] || toolchain=(ARCH="${arch[name]}")
	if [ "${arch[compiler]}" != - ]; then
		need_packages "gcc-${arch[compiler]}"
		compiler=${arch[compiler]}-gcc
		toolchain+=(CROSS_COMPILE="${arch[compiler]}-")
	fi
	case ${1#stock-} in
	i386)
		# Kconfig tests whether the compiler can link programs, here of 32 bits.
		need_multilib
		;;
	kcfi)
		# kCFI needs clang 16 or later.
		need_packages clang-19 lld-19 llvm-19
		# shellcheck disable=SC2034
		compiler=clang-19 toolchain=(LLVM=-19)
		;;
	esac
	[ -z "${COVERAGE:-}" ] || count_coverage
}

# count_coverage: adds arguments of make to toolchain that compile gcov's counters into our objects,
# the objects of files that edits change, and the copies of our code in the test module kp_parts.
# Variables on make's command line override those of the makefiles. Early inlining is off, because
# gcov would count a branch of an inlined function once for each caller.
count_coverage()
{
	local objects flags="-fprofile-arcs -ftest-coverage -fprofile-update=prefer-atomic"

	flags+=" -fno-tree-loop-im -fno-early-inlining"
	objects=$(cd "$TOP" && sed -n 's,^+++ b/\(arch/x86\|init\|kernel\)\(/[^\t]*\)\.c$,\1\2.o,p' \
		series/edits/*.diff | sort -u | paste -sd' ')
	objects="kernel/kprobes/ kernel/kprobes.o arch/x86/kernel/kprobes/ $objects"
	# make expands $(@D), $@ and $(@F) when it compiles an object.
	toolchain+=(
		"GCOV_PROFILE=\$(if \$(filter $objects,\$(@D)/ \$@)\$(filter kp_parts_%,\$(@F)),y,n)"
		"CFLAGS_GCOV=$flags"
	)
}

# built_with BUILD OPTION...: was the kernel built with each OPTION, and without each !OPTION?
built_with()
{
	local option config=$1/.config

	shift
	for option; do
		case $option in
		!*) ! grep -qx "CONFIG_${option#!}=y" "$config" || return 1 ;;
		*) grep -qx "CONFIG_$option=y" "$config" || return 1 ;;
		esac
	done
}

# find_samples BUILD: sets samples to make's arguments for the samples that this kernel can have.
# The conditions are the same as in samples/Kconfig.
find_samples()
{
	local sample needs

	samples=(CONFIG_SAMPLE_KPROBES=m CONFIG_SAMPLE_KRETPROBES=m)
	! built_with "$1" JPROBES || samples+=(CONFIG_SAMPLE_JPROBES=m)
	while read -r sample needs; do
		read -ra needs <<<"$needs"
		! built_with "$1" "${needs[@]}" || samples+=("CONFIG_SAMPLE_KPROBES_$sample=m")
	done <<-END
		ARGUMENTS HAVE_FUNCTION_ARG_ACCESS_API DEBUG_FS !S390
		BATCH GLOB DEBUG_FS
		INJECT KRETPROBES HAVE_FUNCTION_ERROR_INJECTION
		LATENCY KRETPROBES DEBUG_FS
		WATCH HAVE_FUNCTION_ARG_ACCESS_API HAVE_HW_BREAKPOINT PERF_EVENTS DEBUG_FS STACKTRACE
	END
}

# progress WHAT: counts the lines on stdin; prints the count every second on a terminal, otherwise
# every 30 seconds
progress()
{
	local what=$1 n=0 last=-1 start=$SECONDS every=30

	[ ! -t 1 ] || every=0
	while IFS= read -r _; do
		n=$((n + 1))
		[ $((SECONDS - start)) -ge $((last + every)) ] || continue
		[ $((SECONDS - start)) -ne "$last" ] || continue
		last=$((SECONDS - start))
		if [ "$every" -eq 0 ]; then
			printf '\r   %s: %d, %d s ' "$what" "$n" "$last"
		elif [ "$last" -gt 0 ]; then
			printf '   %s: %d, %d s\n' "$what" "$n" "$last"
		fi
	done
	[ "$every" -ne 0 ] || printf '\r\033[K'
	printf '   %s: %d, %d s\n' "$what" "$n" $((SECONDS - start))
}

# The version of the series, as in [PATCH v1 1/9]
REROLL=${REROLL:-1}

# format_patches GIT DIRECTORY RANGE [OPTION...]: writes the commits as patches, and a cover letter
# if the options ask for one
format_patches()
{
	local git=$1 to=$2 range=$3 cover=$2/v$REROLL-0000-cover-letter.patch

	shift 3
	# By default, git adds a summary of created and deleted files to the diffstat. --stat -p
	# leaves that out, but not from a cover letter.
	git -C "$git" format-patch -q -C --stat -p -v "$REROLL" -o "$to" "$@" "$range"
	[ ! -e "$cover" ] || sed -i '/^ \(create\|delete\) mode /d' "$cover"
}

# patches_in DIRECTORY...: prints the patches in each directory, in order, without cover letters
patches_in()
{
	local dir

	for dir; do
		find "$dir" -name '*.patch' ! -name '*-0000-*' | sort
	done
}

# lock NAME [DIRECTORY]: waits until no other process holds the lock, then takes it
lock()
{
	local file=${2:-$OUT}/.lock.$1 holder=

	exec 9>>"$file"
	flock -n 9 || {
		read -r holder <"$file" || :
		say "waiting for another run that works on $1${holder:+: process $holder}"
		flock 9
	}
	printf '%d, %s\n' $$ "${0##*/}" >"$file"
}

unlock() { exec 9>&-; }
