#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Reports what this machine lacks for `make demo` and `make test`, before they begin. Installs
# nothing.
#
#	series/scripts/doctor.sh [PACKAGE...]
#
# Without PACKAGEs, looks for all that `make test` needs, and also prints what it finds. demo.sh
# passes the PACKAGEs that the demo needs, and the variant in DOCTOR_VARIANT=: then the script
# checks only these packages and the space for that variant, and prints only what will fail.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

quiet=y
[ $# -gt 0 ] || quiet=
problems=0

fine() { [ -n "$quiet" ] || printf 'ok: %s\n' "$*"; }

# problem WHAT ADVICE
problem()
{
	problems=$((problems + 1))
	printf 'missing: %s\n   %s\n' "$1" "$2"
}

check_packages()
{
	missing_packages "$@"
	if [ ${#missing[@]} -eq 0 ]; then
		fine "all packages are installed"
	elif ! command -v apt-get >/dev/null; then
		problem "packages: ${missing[*]}" \
			"this is not Debian: install what has these programs, then run the same again"
	elif [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		problem "packages: ${missing[*]}" \
			"there is no sudo: as root, run apt-get install ${missing[*]}"
	elif ! update_packages; then
		problem "a network: apt can read none of its repositories, see ${OUT#"$TOP"/}/log/packages.log" \
			"for these packages: ${missing[*]}"
	else
		fine "to be installed: ${missing[*]}"
	fi
}

check_kernel()
{
	if [ -e "$OUT/linux/.series/source" ]; then
		fine "the kernel's sources are in ${OUT#"$TOP"/}/linux"
	elif [ -n "${KERNEL_SRC:-}" ]; then
		[ -e "$KERNEL_SRC" ] || problem "KERNEL_SRC=$KERNEL_SRC" "there is no such file or directory"
	fi
}

check_space()
{
	local need free

	need=$(space_for "$@")
	free=$(free_space)
	if [ "$free" -lt "$need" ]; then
		problem "space: $need MB are needed in ${OUT#"$TOP"/}, and $free MB are free" \
			"make space, or clone to a larger disk"
	else
		fine "space: $free MB are free, at most $need MB are needed"
	fi
}

check_guest()
{
	local qemu=qemu-system-x86_64 device

	if command -v $qemu >/dev/null; then
		for device in isa-serial virtio-9p-pci; do
			$qemu -device help 2>/dev/null | grep "\"$device\"" >/dev/null ||
				problem "the device $device in $qemu" \
					"install Debian's qemu-system-x86, or set QEMU=backports"
		done
	fi
	if [ -w /dev/kvm ]; then
		fine "/dev/kvm: vmtest.sh uses it if a guest starts there, or else emulates"
	else
		fine "no /dev/kvm: guests are emulated, which takes about five times as long"
	fi
}

if [ -n "$quiet" ]; then
	check_packages "$@"
	check_space "${DOCTOR_VARIANT:-default}"
else
	check_packages "${BASIC_PACKAGES[@]}" qemu-system-x86
	check_space default i386
fi
check_kernel
[ -n "$quiet" ] || check_guest
[ "$problems" -eq 0 ] || die "not all that this needs is there, see above"
fine "nothing is missing"
