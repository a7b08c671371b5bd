# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The architectures whose guests run the tests; sourced by vmtest.sh and by scripts that build for
# them. Each has two lines:
#
# name		what the kernel's Makefile calls it: ARCH=
# config	the option that a kernel's configuration for it has
# compiler	CROSS_COMPILE= without its last hyphen; - is the host's compiler
# image		what make builds and QEMU boots; DIR/NAME is arch/DIR/boot/NAME
# qemu		the last part of the program's name
# package	the last part of the name of its package in Debian
# debian	what Debian calls the architecture
#
# board, cpu	QEMU's -machine and -cpu
# console	the tty that has the kernel's messages
# results	the tty that has the results
# device	the QEMU device that provides that tty, if the board has none
ARCH_TABLE='
x86_64  X86_64 -                     x86/bzImage  x86_64  x86  amd64
  pc              max                     ttyS0    ttyS1 -
i386    X86_32 -                     x86/bzImage  i386    x86  i386
  pc              max,family=15,model=107 ttyS0    ttyS1 -
arm64   ARM64  aarch64-linux-gnu     arm64/Image  aarch64 arm  arm64
  virt            max,pauth-impdef=on     ttyAMA0  hvc0  virtio-serial-device
arm     ARM    arm-linux-gnueabihf   arm/zImage   arm     arm  armhf
  virt            cortex-a15              ttyAMA0  hvc0  virtio-serial-device
riscv   RISCV  riscv64-linux-gnu     riscv/Image  riscv64 misc riscv64
  virt            rv64                    ttyS0    hvc0  virtio-serial-device
s390    S390   s390x-linux-gnu       s390/bzImage s390x   misc s390x
  s390-ccw-virtio max                     ttysclp0 hvc0  virtio-serial-ccw
powerpc PPC64  powerpc64le-linux-gnu vmlinux      ppc64   ppc  ppc64el
  pseries         power9                  hvc0     hvc1  -
'

# The fields of an architecture, by the words above
declare -A arch=()

# find_arch FIELD VALUE: sets arch to the architecture whose FIELD is VALUE
find_arch()
{
	while read -r 'arch[name]' 'arch[config]' 'arch[compiler]' 'arch[image]' 'arch[qemu]' \
		'arch[package]' 'arch[debian]' &&
		read -r 'arch[board]' 'arch[cpu]' 'arch[console]' 'arch[results]' 'arch[device]'; do
		[ "${arch[$1]}" != "$2" ] || return 0
	done < <(grep . <<<"$ARCH_TABLE")
	arch=()
	return 1
}

# find_arch_of BUILD: sets arch to the architecture of the kernel in BUILD
find_arch_of()
{
	local option

	while read -r option; do
		! grep -qsx "CONFIG_$option=y" "$1/.config" || {
			find_arch config "$option"
			return
		}
	done < <(awk 'NF == 7 { print $2 }' <<<"$ARCH_TABLE")
	return 1
}

# arch_image BUILD: prints the path of the image
arch_image()
{
	case ${arch[image]} in
	*/*) printf '%s\n' "$1/arch/${arch[image]%/*}/boot/${arch[image]##*/}" ;;
	*) printf '%s\n' "$1/${arch[image]}" ;;
	esac
}
