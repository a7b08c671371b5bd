# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the front door's scripts share. Sourced, never run.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OUT=$TOP/out
# shellcheck disable=SC2034 # for the scripts that source this
SELFTESTS=tools/testing/selftests/kprobes
OWN_DIRS=(arch include kernel lib samples Documentation tools)

mkdir -p "$OUT/log"

# A compiler cache, where Debian's is installed. What was compiled in one clone is
# found in another.
if [ -d /usr/lib/ccache ]; then
	export PATH=/usr/lib/ccache:$PATH CCACHE_BASEDIR=$TOP CCACHE_NOHASHDIR=1
fi

say() { printf '== %s\n' "$*"; }

die()
{
	printf 'error: %s\n' "$1" >&2
	shift
	[ $# -eq 0 ] || printf '       %s\n' "$@" >&2
	exit 1
}

# own_files: every file of ours that is part of the kernel
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

# need_packages PACKAGE...: installs those that are missing, and says so first
need_packages()
{
	local pkg missing=()

	command -v dpkg-query >/dev/null || return 0
	for pkg; do
		dpkg-query -W -f '${db:Status-Status}\n' "$pkg" 2>/dev/null |
			grep -qx installed || missing+=("$pkg")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	say "installing missing packages: ${missing[*]}"
	update_packages
	as_root "install by hand: ${missing[*]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends "${missing[@]}"
}

# update_packages: if a repository cannot be read now, what is known of it may do
update_packages()
{
	(as_root '' apt-get update) 2>/dev/null || say "not all of apt's repositories can be read"
}

# as_root ADVICE COMMAND...: for what changes the machine; ends with the advice if it fails
as_root()
{
	local advice=$1 root=() log=$OUT/log/packages.log

	shift
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || die "not root and no sudo" "$advice"
		root=(sudo)
	fi
	"${root[@]}" "$@" </dev/null >"$log" 2>&1 || {
		tail -n 15 "$log" >&2
		die "$1 failed, see $log" "$advice"
	}
}

# i386_busybox: sets BUSYBOX for guests with a 32-bit kernel
i386_busybox()
{
	local dir=$OUT/i386 package=busybox-static:i386

	export BUSYBOX=$dir/bin/busybox
	[ ! -x "$BUSYBOX" ] || return 0
	say "getting $package"
	as_root "get $package by hand" dpkg --add-architecture i386
	update_packages
	rm -rf "$dir.new"
	mkdir -p "$dir.new"
	(cd "$dir.new" && apt-get download "$package" >"$OUT/log/packages.log" 2>&1 &&
		dpkg-deb -x ./*.deb .) || die "apt-get download $package failed" \
			"set BUSYBOX= to a static busybox with 32 bits"
	rm -rf "$dir"
	mv "$dir.new" "$dir"
}

# The programs that clients-*.sh run in the guest; bpftrace is in Debian for 64 bits only.
CLIENT_PACKAGES=(kmod perl-base procps gawk linux-perf trace-cmd perf-tools-unstable)

# client_packages VARIANT: gets the programs that clients-*.sh run in the variant's guest
client_packages()
{
	need_packages qemu-system-x86 busybox-static make kmod
	case ${1#stock-} in
	# guests of other variants have another root
	i386) (i386_root) || exit ;;
	*) need_packages "${CLIENT_PACKAGES[@]}" bpftrace ;;
	esac
}

# debian_mirror: this machine's release of Debian, and where apt gets it from
debian_mirror()
{
	local codename

	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# Without lists of apt's, mmdebstrap takes the mirror that is its default.
	# shellcheck disable=SC2016 # apt-get replaces these
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' 'Label: Debian' 'Component: main' "Codename: $codename" |
		grep -m 1 . || printf '%s\n' "$codename"
}

# i386_root: sets GUEST_ROOT for guests whose kernel cannot run the host's programs: the
# root of a Debian for i386 that has CLIENT_PACKAGES
i386_root()
{
	[ -z "${GUEST_ROOT:-}" ] || return 0
	export GUEST_ROOT=$OUT/i386-root
	(
		lock i386-root
		[ "${CLIENT_PACKAGES[*]}" != "$(cat "$GUEST_ROOT/.packages" 2>/dev/null)" ] ||
			exit 0
		make_i386_root "$GUEST_ROOT"
		[ -d "$GUEST_ROOT" ]
	) || exit
}

# make_i386_root DIRECTORY: whole or not at all
make_i386_root()
{
	local advice="set GUEST_ROOT= to the root of a Debian for i386" mirror

	need_packages mmdebstrap arch-test
	read -ra mirror < <(debian_mirror)
	say "making ${1#"$TOP"/}, a Debian for i386, with ${CLIENT_PACKAGES[*]}"
	as_root "$advice" rm -rf "$1" "$1.new"
	# Whatever ends mmdebstrap: what it mounts there goes with its mount namespace.
	as_root "$advice" unshare --mount mmdebstrap --mode=root --format=directory \
		--architectures=i386 --variant=essential \
		--include="${CLIENT_PACKAGES[*]}" --aptopt='APT::Install-Recommends "false"' \
		"${mirror[0]}" "$1.new" "${mirror[@]:1}"
	# The user who runs QEMU has to be able to read all of it.
	as_root "$advice" chown -R "$(id -u):$(id -g)" "$1.new"
	printf '%s\n' "${CLIENT_PACKAGES[*]}" >"$1.new/.packages"
	mv "$1.new" "$1"
}

# kernel_version TREE
kernel_version()
{
	sed -n 's/^\(VERSION\|PATCHLEVEL\|SUBLEVEL\) = *//p' "$1/Makefile" |
		head -n 3 | paste -sd.
}

# use_toolchain VARIANT: sets compiler, and toolchain, what make has to be told of it
use_toolchain()
{
	# shellcheck disable=SC2034 # for the scripts that source this
	compiler=gcc toolchain=()
	case ${1#stock-} in
	i386)
		# Debian's gcc for x86_64 builds the kernel. The programs of the tests need more,
		# and Kconfig asks if the compiler can link programs.
		need_packages gcc-multilib
		toolchain=(ARCH=i386)
		;;
	kcfi)
		# The first whose kCFI the kernel takes is 16.
		need_packages clang-19 lld-19 llvm-19
		# shellcheck disable=SC2034
		compiler=clang-19 toolchain=(LLVM=-19)
		;;
	esac
}

# progress WHAT [TOTAL]: counts the lines on stdin; on a terminal all the time,
# else with a line every half minute
progress()
{
	local what=$1 total=${2:-0} n=0 last=-1 start=$SECONDS every=30 of=

	[ ! -t 1 ] || every=0
	[ "$total" -eq 0 ] || of=" of about $total"
	while IFS= read -r _; do
		n=$((n + 1))
		[ $((SECONDS - start)) -ge $((last + every)) ] || continue
		[ $((SECONDS - start)) -ne "$last" ] || continue
		last=$((SECONDS - start))
		if [ "$every" -eq 0 ]; then
			printf '\r   %s: %d%s, %d s ' "$what" "$n" "$of" "$last"
		elif [ "$last" -gt 0 ]; then
			printf '   %s: %d%s, %d s\n' "$what" "$n" "$of" "$last"
		fi
	done
	[ "$every" -ne 0 ] || printf '\r\033[K'
	printf '   %s: %d, %d s\n' "$what" "$n" $((SECONDS - start))
}

# lock NAME: one at a time, whoever else builds here
lock()
{
	exec 9>"$OUT/.lock.$1"
	flock -n 9 || {
		say "waiting for another run that works on $1"
		flock 9
	}
}

unlock() { exec 9>&-; }
