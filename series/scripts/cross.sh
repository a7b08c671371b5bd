#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles kprobes for the other architectures that have it, with Debian's cross compilers,
# which it installs: the core, the architecture's kprobes, and what uses both. The objects are
# linked into one, so that a symbol that two of them define, or none, is found. A warning is an
# error. Debian has no compiler for csky, but clang knows its types: for csky, clang parses the
# sources only.
#
#	series/scripts/cross.sh [ARCHITECTURE...]
#
# The last line says how many passed and failed.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

tree=$OUT/linux
log=$OUT/log/cross.log

# The base of all configurations; an architecture's own fragment overrides it.
base='CONFIG_EXPERT=y
CONFIG_MMU=y
CONFIG_MODULES=y
CONFIG_MODULE_UNLOAD=y
CONFIG_KALLSYMS=y
CONFIG_PRINTK=y
CONFIG_BUG=y
CONFIG_DEBUG_KERNEL=y
CONFIG_DEBUG_FS=y
CONFIG_PROC_FS=y
CONFIG_SYSFS=y
CONFIG_PERF_EVENTS=y
CONFIG_FTRACE=y
CONFIG_KPROBES=y
CONFIG_KPROBE_EVENTS=y
CONFIG_RUNTIME_TESTING_MENU=y
CONFIG_KUNIT=y
CONFIG_KPROBES_SANITY_TEST=m
CONFIG_SAMPLES=y
CONFIG_SAMPLE_KPROBES=m
CONFIG_SAMPLE_KRETPROBES=m
CONFIG_WERROR=y'

# The options that the configuration must have in the end
results='CONFIG_KPROBES=y
CONFIG_KRETPROBES=y'

core='kernel/kprobes.o kernel/kprobes/ kernel/extable.o kernel/kallsyms.o kernel/exit.o
kernel/trace/trace_kprobe.o lib/test_kprobes.o samples/kprobes/'

on_ftrace='CONFIG_FUNCTION_TRACER=y
CONFIG_DYNAMIC_FTRACE=y'

rethook='CONFIG_KRETPROBE_ON_RETHOOK=y'

# architecture NAME: sets kernel_arch, the kernel's name of it; cross, the prefix of the
# compiler; packages; fragment; wants, further options that the configuration must have;
# objects. An empty cross stands for clang, for $target. If sources is set, clang only parses
# these.
architecture()
{
	cross=
	target=
	sources=
	wants=
	fragment=
	kernel_arch=${1%%-*}
	case $1 in
	arc)
		cross=arc-linux-gnu-
		fragment=$'CONFIG_ISA_ARCV2=y\nCONFIG_SMP=y'
		objects='arch/arc/kernel/kprobes.o arch/arc/kernel/traps.o arch/arc/mm/fault.o'
		;;
	arm | arm-unwind)
		cross=arm-linux-gnueabihf-
		fragment=$'CONFIG_ARCH_MULTI_V7=y\nCONFIG_ARCH_VIRT=y\nCONFIG_SMP=y\nCONFIG_AEABI=y'
		fragment+=$'\nCONFIG_ARM_KPROBES_TEST=m'
		case $1 in
		arm)	fragment+=$'\nCONFIG_UNWINDER_FRAME_POINTER=y' ;;
		*)	fragment+=$'\nCONFIG_UNWINDER_ARM=y' ;;
		esac
		wants='CONFIG_OPTPROBES=y'
		objects='arch/arm/probes/ arch/arm/mm/fault.o arch/arm/kernel/stacktrace.o
			arch/arm/kernel/patch.o'
		;;
	arm-thumb2)
		cross=arm-linux-gnueabihf-
		fragment=$'CONFIG_ARCH_MULTI_V7=y\nCONFIG_ARCH_VIRT=y\nCONFIG_SMP=y\nCONFIG_AEABI=y'
		fragment+=$'\nCONFIG_THUMB2_KERNEL=y\nCONFIG_UNWINDER_ARM=y'
		objects='arch/arm/probes/ arch/arm/mm/fault.o arch/arm/kernel/stacktrace.o'
		;;
	arm64)
		cross=aarch64-linux-gnu-
		objects='arch/arm64/kernel/probes/ arch/arm64/mm/fault.o
			arch/arm64/kernel/stacktrace.o arch/arm64/kernel/debug-monitors.o'
		;;
	csky)
		target=csky
		fragment=$'CONFIG_CPU_CK860=y\nCONFIG_SMP=y\n'$on_ftrace
		wants='CONFIG_KPROBES_ON_FTRACE=y'
		sources='kernel/kprobes.c kernel/kprobes/*.c kernel/extable.c kernel/kallsyms.c
			kernel/trace/trace_kprobe.c arch/csky/kernel/probes/[!u]*.c
			arch/csky/mm/fault.c'
		;;
	loongarch)
		target=loongarch64-linux-gnu
		fragment=$'CONFIG_64BIT=y\nCONFIG_SMP=y\n'$on_ftrace
		wants=$rethook$'\nCONFIG_KPROBES_ON_FTRACE=y'
		objects='arch/loongarch/kernel/kprobes.o arch/loongarch/kernel/rethook.o
			arch/loongarch/kernel/rethook_trampoline.o
			arch/loongarch/kernel/ftrace_dyn.o arch/loongarch/mm/fault.o
			kernel/trace/rethook.o'
		;;
	mips)
		cross=mips-linux-gnu-
		fragment=$'CONFIG_MIPS_MALTA=y\nCONFIG_CPU_BIG_ENDIAN=y'
		objects='arch/mips/kernel/kprobes.o arch/mips/mm/fault.o'
		;;
	parisc)
		cross=hppa-linux-gnu-
		fragment=$'CONFIG_PA8X00=y\nCONFIG_SMP=y\n'$on_ftrace
		wants='CONFIG_KPROBES_ON_FTRACE=y'
		objects='arch/parisc/kernel/kprobes.o arch/parisc/kernel/ftrace.o
			arch/parisc/kernel/traps.o arch/parisc/mm/fault.o'
		;;
	powerpc)	# 64 bits, little endian
		cross=powerpc64le-linux-gnu-
		fragment=$'CONFIG_PPC64=y\nCONFIG_PPC_BOOK3S_64=y\nCONFIG_CPU_LITTLE_ENDIAN=y'
		fragment+=$'\nCONFIG_PPC_PSERIES=y\nCONFIG_SMP=y\n'$on_ftrace
		wants=$rethook$'\nCONFIG_OPTPROBES=y\nCONFIG_KPROBES_ON_FTRACE=y'
		;;
	powerpc-be)	# 64 bits, big endian, with function descriptors
		cross=powerpc64-linux-gnu-
		fragment=$'CONFIG_PPC64=y\nCONFIG_PPC_BOOK3S_64=y\nCONFIG_CPU_BIG_ENDIAN=y'
		fragment+=$'\nCONFIG_PPC_PSERIES=y\nCONFIG_SMP=y\n# CONFIG_PPC64_BIG_ENDIAN_ELF_ABI_V2 is not set'
		wants=$rethook$'\nCONFIG_OPTPROBES=y'
		;;
	powerpc-32)
		cross=powerpc-linux-gnu-
		fragment=$'CONFIG_PPC_BOOK3S_32=y\nCONFIG_PPC_PMAC=y'
		wants=$rethook$'\nCONFIG_OPTPROBES=y'
		;;
	riscv)
		cross=riscv64-linux-gnu-
		fragment=$'CONFIG_64BIT=y\nCONFIG_SMP=y'
		wants=$rethook
		objects='arch/riscv/kernel/probes/ arch/riscv/mm/fault.o arch/riscv/kernel/patch.o
			kernel/trace/rethook.o'
		;;
	s390)
		cross=s390x-linux-gnu-
		fragment=$on_ftrace
		wants=$rethook$'\nCONFIG_KPROBES_ON_FTRACE=y'
		objects='arch/s390/kernel/kprobes.o arch/s390/kernel/rethook.o
			arch/s390/kernel/mcount.o arch/s390/kernel/ftrace.o arch/s390/mm/fault.o
			kernel/trace/rethook.o'
		;;
	sh)
		cross=sh4-linux-gnu-
		fragment=$'CONFIG_CPU_SUBTYPE_SH7751R=y\nCONFIG_SH_RTS7751R2D=y'
		objects='arch/sh/kernel/kprobes.o arch/sh/mm/fault.o arch/sh/kernel/traps_32.o'
		;;
	sparc)
		cross=sparc64-linux-gnu-
		fragment=$'CONFIG_64BIT=y\nCONFIG_SMP=y'
		objects='arch/sparc/kernel/kprobes.o arch/sparc/mm/fault_64.o'
		;;
	*)
		die "no architecture $1" "there are: ${all[*]}"
		;;
	esac
	case $1 in
	powerpc*)
		objects='arch/powerpc/kernel/kprobes.o arch/powerpc/kernel/rethook.o
			arch/powerpc/kernel/optprobes.o arch/powerpc/kernel/optprobes_head.o
			arch/powerpc/mm/fault.o kernel/trace/rethook.o'
		[ "$1" != powerpc ] || objects+=' arch/powerpc/kernel/kprobes-ftrace.o'
		;;
	esac
	case $1 in
	csky)	packages=(clang-19) ;;
	loongarch) packages=(clang-19 lld-19 llvm-19) ;;
	*)	packages=("gcc-${cross%-}") ;;
	esac
}

all=(arc arm arm-unwind arm-thumb2 arm64 csky loongarch mips parisc powerpc powerpc-be powerpc-32
	riscv s390 sh sparc)

kmake()
{
	local flags=(ARCH="$kernel_arch")

	if [ -n "$cross" ]; then
		flags+=(CROSS_COMPILE="$cross")
	elif [ -z "$sources" ]; then
		flags+=(LLVM=-19 CROSS_COMPILE="$target-")
	fi
	make -C "$tree" O="$build" "${flags[@]}" "$@" </dev/null
}

# Programs of the host that were built for another architecture are used here, too, except
# those of scripts/mod, which depend on the architecture.
start()
{
	local from

	[ ! -e "$build" ] || return 0
	mkdir -p "$build"
	for from in "$OUT"/build/cross-*; do
		[ -e "$from/all.o" ] || continue
		cp -a "$from/scripts" "$build/"
		rm -rf "$build/scripts/mod"
		return
	done
}

# Makes the configuration. If the fragments have several values of a symbol, the first counts.
configure()
{
	local sym value got bad=0

	start
	printf '%s\n%s\n' "$fragment" "$base" >"$build/fragment"
	kmake -s KCONFIG_ALLCONFIG="$build/fragment" allnoconfig || return 1
	while IFS='=' read -r sym value; do
		case $sym in
		CONFIG_*) ;;
		*) continue ;;
		esac
		got=$(sed -n "s/^$sym=//p" "$build/.config")
		[ "$got" = "$value" ] || {
			echo "$sym is not $value"
			bad=1
		}
	done < <(printf '%s\n' "$fragment" "$base" "$results" "$wants")
	return $bad
}

# Each symbol of kprobes that an object needs must be defined by exactly one other object.
link_objects()
{
	local ld=${cross}ld nm=${cross}nm object

	[ -n "$cross" ] || { ld=ld.lld-19; nm=llvm-nm-19; }
	find "$build/kernel" "$build/arch/$kernel_arch" "$build/lib" "$build/samples" -name '*.o' \
		! -name '.*' ! -name 'built-in*' ! -name 'asm-offsets*' ! -name '*.mod.o' \
		! -path '*/vdso*' ! -path '*/boot/*' ! -path '*/tools/*' -size +0 >"$build/all"
	# Modules define symbols that the others define, too.
	grep -vE '/(samples|lib)/|/test-[a-z]*\.o$' "$build/all" >"$build/linked"
	mapfile -t objects_made <"$build/linked"
	"$ld" -r -o "$build/all.o" "${objects_made[@]}" || return 1
	for object in $core $objects; do
		case $object in
		*/) ;;
		*)	[ -s "$build/$object" ] || { echo "undefined: no $object"; return 1; } ;;
		esac
	done
	"$nm" -u "$build/all.o" | awk '{ print $NF }' | sort -u |
		grep -E '(^|_)k(ret)?probes?(_|$)|insn_slot|insn_page|optinsn|rethook_|wait_for_kprobe' |
		grep -vxE '__(start|stop)_kprobe_blacklist|__kprobes_text_(start|end)|__tracepoint.*' |
		sed 's/^/undefined: /' >"$build/missing" || true
	cat "$build/missing"
	[ ! -s "$build/missing" ]
}

# Parses the sources that the configuration compiles.
parse()
{
	local gen=$build/include/generated arch_dir=$tree/arch/$kernel_arch dir source flags bad=0

	# There is no compiler, so this fails, but only after the headers have been made.
	kmake -s asm-generic include/generated/utsrelease.h || true
	sed -n 's/^CONFIG_HZ=//p' "$build/.config" | bc -q "$tree/kernel/time/timeconst.bc" \
		>"$gen/timeconst.h"
	# Any values do: no code is generated.
	printf '#define %s\n' 'NR_PAGEFLAGS 24' 'MAX_NR_ZONES 3' 'NR_CPUS_BITS 2' \
		'SPINLOCK_SIZE 4' 'LRU_GEN_WIDTH 0' '__LRU_REFS_WIDTH 0' >"$gen/bounds.h"
	: >"$gen/asm-offsets.h"
	flags=(--target="$target" -fsyntax-only -nostdinc -std=gnu11 -fshort-wchar -funsigned-char
		-fno-builtin -Wall -Wno-pointer-sign -Wno-address-of-packed-member -Wno-gnu
		-Wno-unused-function -Wno-unused-variable -Wno-unused-but-set-variable -Wno-frame-address
		-fheinous-gnu-extensions -D__KERNEL__ -D__CSKYABIV2__ -DKBUILD_MODNAME='"x"'
		-DKBUILD_BASENAME='"x"' -DKBUILD_MODFILE='"x"' -D__KBUILD_MODNAME=x
		-I"$tree/kernel/trace" -I"$arch_dir/abiv2/inc" -I"$arch_dir/kernel/probes")
	for dir in "arch/$kernel_arch/include" include; do
		flags+=(-I"$tree/$dir" -I"$build/$dir/generated" -I"$build/$dir" -I"$tree/$dir/uapi"
			-I"$build/$dir/generated/uapi")
	done
	for source in compiler-version.h kconfig.h compiler_types.h; do
		flags+=(-include "$tree/include/linux/$source")
	done
	# shellcheck disable=SC2086 # patterns
	for source in $(cd "$tree" && echo $sources); do
		case $source in
		*/legacy_opt.c | */optimizer.c | */rethook.c | */jprobe.c) continue ;;
		esac
		echo "  PARSE   $source"
		clang-19 "${flags[@]}" "$tree/$source" >"$build/parse.log" 2>&1 || bad=1
		# Clang warns of a cast in asm/uaccess.h that gcc accepts.
		! grep -E '(error|warning): ' "$build/parse.log" | grep -v heinous || bad=1
	done
	return $bad
}

compile()
{
	if [ -n "$sources" ]; then
		parse
		return
	fi
	find "$build/kernel" "$build/arch" "$build/lib" -name '*.o' -delete 2>/dev/null || true
	# shellcheck disable=SC2086 # words
	kmake -j"$(nproc)" -k $core $objects || return 1
	link_objects
}

names=("$@")
[ $# -gt 0 ] || names=("${all[@]}")
"$TOP/series/scripts/prepare.sh"
lock build-cross
need_packages gcc libc6-dev make bc bison flex libelf-dev perl
passed=0
failed=0
: >"$log.all"
for name in "${names[@]}"; do
	architecture "$name"
	need_packages "${packages[@]}"
	build=$OUT/build/cross-$name
	begun=$SECONDS
	if configure >"$log" 2>&1 && compile >>"$log" 2>&1; then
		passed=$((passed + 1))
		printf 'ok: %s%s, %d s\n' "$name" "${sources:+, only parsed}" $((SECONDS - begun))
	else
		failed=$((failed + 1))
		printf 'not ok: %s, %d s\n' "$name" $((SECONDS - begun))
		grep -E -A3 'error:|warning:|undefined: |multiple definition|is not |Error ' "$log" |
			head -n 12 | sed 's/^/   /' || true
	fi
	{ printf '== %s\n' "$name"; cat "$log"; } >>"$log.all"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
