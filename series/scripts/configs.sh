#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles kprobes and its users in configurations that no variant has, and for the other
# architectures that have kprobes, with Debian's cross compilers. Compiles objects only, and links
# no kernel. A warning of the compiler or of objtool counts as an error. So does a symbol of kprobes
# that two objects define, or that an object needs and no object defines. Debian has no compiler for
# csky, so clang, which knows the sizes of csky's types, only parses the sources.
#
#	series/scripts/configs.sh [x86 | cross] [CONFIGURATION...]
#	series/scripts/configs.sh quick
#
# The configurations for x86 are built one after the other in the same directory, out/build/configs,
# or out/build/configs-clang for those with clang: so an object is compiled again only if the change
# of the configuration affects it. The last line says how many passed and failed.
#
# `quick` takes about a minute. It uses the configuration of the variant default, and compiles only
# the files that break most easily, with some CONFIG_ symbols undefined. It also compiles traps.c
# with the option for TDX guests, which no variant has. It prints only failures.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

tree=$OUT/linux
log=$OUT/log/configs.log

# The configurations, by name: options, objects, and the target of the compiler. Options are words:
# NAME stands for CONFIG_NAME=y, !NAME for n, NAME=m for m. -NAME undefines CONFIG_NAME when objects
# are compiled: Kconfig selects the option, and cannot deselect it.
declare -A options=() objects=() target=()
x86=() cross=()

ours="kernel/kprobes.o kernel/kprobes/ arch/x86/kernel/kprobes/"
no_unwind="arch/x86/kernel/traps.o arch/x86/mm/fault.o kernel/fork.o kernel/exit.o init/main.o
	kernel/kallsyms.o kernel/extable.o arch/x86/kernel/jump_label.o arch/x86/kernel/stacktrace.o"
users="$no_unwind arch/x86/kernel/unwind_orc.o"
frame="$no_unwind arch/x86/kernel/unwind_frame.o"
guess="$no_unwind arch/x86/kernel/unwind_guess.o"
# Our objects, and objects of other subsystems that hitpath.pl reads
entry="$ours kernel/fork.o kernel/entry/common.o kernel/context_tracking.o arch/x86/kernel/traps.o
	arch/x86/kernel/alternative.o"
rethook="arch/x86/kernel/rethook.o kernel/trace/rethook.o kernel/trace/fprobe.o"
fprobe="$rethook arch/x86/kernel/ftrace.o"
events="kernel/trace/trace_kprobe.o"

tracer="FTRACE FUNCTION_TRACER DYNAMIC_FTRACE"
bits32="!64BIT !UNWINDER_ORC"
# With EXPERT, allnoconfig turns these options off, so each configuration has to select them.
parts="KPROBES_EXPLAIN KPROBES_FAULT_HANDLER KPROBES_DISABLE_SELF"
no_parts=${parts//KPROBES/!KPROBES}
base_x86="64BIT EXPERT SMP MODULES MODULE_UNLOAD KPROBES $parts KALLSYMS PRINTK BUG JUMP_LABEL DEBUG_KERNEL
	WERROR DEBUG_FS PROC_FS SYSFS UNWINDER_ORC"

# config NAME OPTIONS OBJECTS: adds a configuration for x86
config()
{
	x86+=("$1")
	options[$1]="$base_x86 $2"
	objects[$1]=$3
}

config no-kprobes "!KPROBES $no_parts" "$users"
config no-kprobes-fprobe "$tracer !KPROBES $no_parts FPROBE BPF_SYSCALL PERF_EVENTS UPROBE_EVENTS" \
	"$users $fprobe kernel/trace/bpf_trace.o kernel/trace/bpf_kprobe_multi.o"
# On a newer base kernel than the default, i386 has no fprobe.
fprobe32=FPROBE objects32=$fprobe
if [ "$BASE" = "$DEFAULT_BASE" ]; then
	config i386-fprobe "$tracer $bits32 !KPROBES $no_parts DYNAMIC_FTRACE_WITH_REGS FPROBE
		UNWINDER_FRAME_POINTER" "$frame $rethook"
else
	fprobe32='' objects32=''
fi
config i386 "$tracer $bits32 KPROBE_EVENTS DYNAMIC_FTRACE_WITH_REGS $fprobe32
	UNWINDER_FRAME_POINTER PREEMPT" "$ours $frame $objects32 $events"
config i386-no-smp "$bits32 UNWINDER_GUESS !SMP !CPU_MITIGATIONS" "$ours $guess"
config no-modules "!MODULES !MODULE_UNLOAD" "$ours $users"
config no-kretprobes "-KRETPROBES" "$ours $users"
config jprobes "$tracer JPROBES FPROBE" "$ours $users $fprobe"
config jprobes-rt "JPROBES PREEMPT_RT" "$ours $users"
config i386-jprobes "$bits32 UNWINDER_FRAME_POINTER JPROBES" "$ours $frame"
config no-optprobes "-OPTPROBES" "$ours $users"
config no-debugfs "!DEBUG_FS" "$ours $users"
config no-options "$no_parts $tracer" "$ours $users"
config no-smp "!SMP" "$ours $users"
config no-printk "!PRINTK !BUG !JUMP_LABEL" "$ours ${users/arch\/x86\/kernel\/jump_label.o/}"
config frame-pointer "!UNWINDER_ORC UNWINDER_FRAME_POINTER" "$ours $frame"
config guess "!UNWINDER_ORC UNWINDER_GUESS" "$ours $guess"
config rt "PREEMPT_RT" "$ours $users"
config xen "HYPERVISOR_GUEST PARAVIRT XEN XEN_PV PARAVIRT_XXL" "$ours $users"
config startup-test "$tracer KPROBE_EVENTS FTRACE_STARTUP_TEST" \
	"$ours kernel/fork.o $events kernel/trace/trace_kprobe_selftest.o"
# For hitpath.pl: the entry code of an int3, with as much instrumentation as it can have
config entry "$tracer KASAN KASAN_GENERIC KASAN_OUTLINE KGDB KGDB_LOW_LEVEL_TRAP PROVE_LOCKING
	HWLAT_TRACER OSNOISE_TRACER IRQSOFF_TRACER" \
	"$entry kernel/trace/trace_preemptirq.o kernel/trace/trace_irqsoff.o
	kernel/trace/trace_hwlat.o kernel/trace/trace_osnoise.o arch/x86/kernel/kgdb.o
	kernel/locking/lockdep.o mm/kasan/generic.o mm/kasan/shadow.o"
config entry-kcsan "$tracer KCSAN" "$entry kernel/kcsan/core.o"
clang="$tracer KPROBE_EVENTS FPROBE JPROBES"
config clang "$clang" "$ours $users $fprobe $events"
config clang-cfi "$clang CFI_CLANG" "$ours $users $fprobe $events"
config clang-lto "$clang LTO_CLANG_THIN CFI_CLANG" "$ours $users $fprobe $events"
config clang-kmsan "$tracer KMSAN PREEMPT_NONE" "$entry mm/kmsan/hooks.o mm/kmsan/instrumentation.o"
# The configuration with all clients of kprobes, of which the other ones for x86 are variations
config all "$tracer KPROBE_EVENTS FPROBE" "$ours $users $fprobe $events"

base_cross="EXPERT MMU MODULES MODULE_UNLOAD KALLSYMS PRINTK BUG DEBUG_KERNEL DEBUG_FS PROC_FS SYSFS
	PERF_EVENTS FTRACE KPROBES $parts KRETPROBES KPROBE_EVENTS RUNTIME_TESTING_MENU KUNIT
	KPROBES_SANITY_TEST=m SAMPLES SAMPLE_KPROBES=m SAMPLE_KRETPROBES=m WERROR"
core="kernel/kprobes.o kernel/kprobes/ kernel/extable.o kernel/kallsyms.o kernel/exit.o
	kernel/trace/trace_kprobe.o lib/test_kprobes.o samples/kprobes/"

# config_arch NAME TARGET OPTIONS OBJECTS: adds a configuration for another architecture, of which
# NAME begins with the name. TARGET is the prefix of the compiler.
config_arch()
{
	cross+=("$1")
	target[$1]=$2
	options[$1]="$base_cross $3"
	objects[$1]="$core $4"
}

on_ftrace="FUNCTION_TRACER DYNAMIC_FTRACE KPROBES_ON_FTRACE"
by_rethook="KRETPROBE_ON_RETHOOK"
armv7="ARCH_MULTI_V7 ARCH_VIRT SMP AEABI"
arm="arch/arm/probes/ arch/arm/mm/fault.o arch/arm/kernel/stacktrace.o"
powerpc="arch/powerpc/kernel/kprobes.o arch/powerpc/kernel/rethook.o
	arch/powerpc/kernel/optprobes.o arch/powerpc/kernel/optprobes_head.o
	arch/powerpc/mm/fault.o kernel/trace/rethook.o"

config_arch arc arc-linux-gnu "ISA_ARCV2 SMP" \
	"arch/arc/kernel/kprobes.o arch/arc/kernel/traps.o arch/arc/mm/fault.o"
config_arch arm arm-linux-gnueabihf "$armv7 ARM_KPROBES_TEST=m UNWINDER_FRAME_POINTER OPTPROBES" \
	"$arm arch/arm/kernel/patch.o"
config_arch arm-unwind arm-linux-gnueabihf "$armv7 ARM_KPROBES_TEST=m UNWINDER_ARM OPTPROBES" \
	"$arm arch/arm/kernel/patch.o"
config_arch arm-thumb2 arm-linux-gnueabihf "$armv7 THUMB2_KERNEL UNWINDER_ARM" "$arm"
config_arch arm64 aarch64-linux-gnu "" "arch/arm64/kernel/probes/ arch/arm64/mm/fault.o
	arch/arm64/kernel/stacktrace.o arch/arm64/kernel/debug-monitors.o"
config_arch csky csky "CPU_CK860 SMP $on_ftrace" ""
config_arch loongarch loongarch64-linux-gnu "64BIT SMP $on_ftrace $by_rethook" \
	"arch/loongarch/kernel/kprobes.o arch/loongarch/kernel/rethook.o
	arch/loongarch/kernel/rethook_trampoline.o arch/loongarch/kernel/ftrace_dyn.o
	arch/loongarch/mm/fault.o kernel/trace/rethook.o"
config_arch mips mips-linux-gnu "MIPS_MALTA CPU_BIG_ENDIAN" \
	"arch/mips/kernel/kprobes.o arch/mips/mm/fault.o"
config_arch parisc hppa-linux-gnu "PA8X00 SMP $on_ftrace" "arch/parisc/kernel/kprobes.o
	arch/parisc/kernel/ftrace.o arch/parisc/kernel/traps.o arch/parisc/mm/fault.o"
# 64 bits, little endian
config_arch powerpc powerpc64le-linux-gnu "PPC64 PPC_BOOK3S_64 CPU_LITTLE_ENDIAN PPC_PSERIES SMP $on_ftrace
	$by_rethook OPTPROBES" "$powerpc arch/powerpc/kernel/kprobes-ftrace.o"
# 64 bits, big endian, with function descriptors
config_arch powerpc-be powerpc64-linux-gnu "PPC64 PPC_BOOK3S_64 CPU_BIG_ENDIAN PPC_PSERIES SMP
	!PPC64_BIG_ENDIAN_ELF_ABI_V2 $by_rethook OPTPROBES" "$powerpc"
config_arch powerpc-32 powerpc-linux-gnu "PPC_BOOK3S_32 PPC_PMAC $by_rethook OPTPROBES" "$powerpc"
config_arch riscv riscv64-linux-gnu "64BIT SMP $by_rethook" "arch/riscv/kernel/probes/
	arch/riscv/mm/fault.o arch/riscv/kernel/patch.o kernel/trace/rethook.o"
config_arch s390 s390x-linux-gnu "$on_ftrace $by_rethook" "arch/s390/kernel/kprobes.o
	arch/s390/kernel/rethook.o arch/s390/kernel/mcount.o arch/s390/kernel/ftrace.o
	arch/s390/mm/fault.o kernel/trace/rethook.o"
config_arch sh sh4-linux-gnu "CPU_SUBTYPE_SH7751R SH_RTS7751R2D" \
	"arch/sh/kernel/kprobes.o arch/sh/mm/fault.o arch/sh/kernel/traps_32.o"
config_arch sparc sparc64-linux-gnu "64BIT SMP" \
	"arch/sparc/kernel/kprobes.o arch/sparc/mm/fault_64.o arch/sparc/kernel/traps_64.o"

# set_up NAME: sets build, toolchain (make's arguments), nm, and the packages that are needed
set_up()
{
	nm=nm toolchain=() packages=()
	case $1 in
	clang*)
		build=$OUT/build/configs-clang
		# The nm of binutils does not read the objects of LTO.
		nm=llvm-nm-19 toolchain=(LLVM=-19) packages=(clang-19 lld-19 llvm-19)
		;;
	csky)
		build=$OUT/build/cross-$1
		toolchain=(ARCH=csky) packages=(clang-19)
		;;
	loongarch)
		build=$OUT/build/cross-$1
		toolchain=(ARCH=loongarch LLVM=-19 CROSS_COMPILE="${target[$1]}-")
		nm=llvm-nm-19 packages=(clang-19 lld-19 llvm-19)
		;;
	*)
		build=$OUT/build/configs
		[ -n "${target[$1]:-}" ] || return 0
		build=$OUT/build/cross-$1
		toolchain=(ARCH="${1%%-*}" CROSS_COMPILE="${target[$1]}-")
		nm=${target[$1]}-nm packages=("gcc-${target[$1]}")
		;;
	esac
}

kmake()
{
	make -C "$tree" O="$build" "${toolchain[@]}" "$@" </dev/null
}

# configure NAME: makes the configuration, and checks that it has all of the options
configure()
{
	local sym value got bad=0

	mkdir -p "$build"
	# Later options override earlier ones.
	tr -s ' \t\n' '\n' <<<"${options[$1]}" | awk '
		/^-/ || !NF { next }
		{ name = $0; gsub(/^!|=.*/, "", name) }
		!(name in v) { order[++n] = name }
		{ v[name] = /^!/ ? "n" : /=/ ? substr($0, index($0, "=") + 1) : "y" }
		END { for (i = 1; i <= n; i++) print "CONFIG_" order[i] "=" v[order[i]] }' \
		>"$build/fragment"
	kmake -s KCONFIG_ALLCONFIG="$build/fragment" allnoconfig || return 1
	while IFS='=' read -r sym value; do
		got=$(sed -n "s/^$sym=//p" "$build/.config")
		[ "${got:-n}" = "$value" ] || {
			echo "$sym is not $value"
			bad=1
		}
	done <"$build/fragment"
	return $bad
}

# symbols OBJECT...: prints symbols of kprobes that an object needs and no object defines, or that
# two objects define
symbols()
{
	"$nm" -u "$@" | awk '$1 == "U" { print $2 }' | sort -u |
		grep -E '(^|_)(k(ret)?|j)probes?(_|$)|insn_(slot|page)|optinsn|rethook|wait_for_kprobe|^fprobe' |
		# Leave out symbols that the linker defines, or a file that is not compiled here.
		grep -vxE '__(start|stop)_kprobe_blacklist|__kprobes_text_(start|end)|__tracepoint.*|.*trace_kprobe.*' \
			>"$build/needed" || return 0
	"$nm" -g --defined-only "$@" | awk 'NF == 3 { print $2, $3 }' >"$build/given"
	awk '{ print $2 }' "$build/given" | sort -u | comm -23 "$build/needed" - |
		sed 's/^/undefined: /'
	awk '$1 ~ /[TDBR]/ { print $2 }' "$build/given" | sort | uniq -d |
		sed 's/^/multiple definition: /'
}

# as_in BUILD OBJECT SOURCE OPTION...: compiles SOURCE with the command that compiled OBJECT in
# BUILD, and with these options in addition
as_in()
{
	local dir=$1 object=$2 source=$3 cmd

	shift 3
	cmd=$(sed -n 's/^savedcmd_[^ ]* := //p' "$dir/${object%/*}/.${object##*/}.cmd" | head -n 1)
	[ -n "$cmd" ] || { echo "$object was not built in ${dir#"$TOP"/}"; return 1; }
	# Remove what follows the compiler's command, and its options for the dependency file, the
	# output and the source.
	cmd=$(sed 's/ ; .*//; s/-Wp,-MMD,[^ ]*//; s/ -c -o .*//' <<<"$cmd")
	(cd "$dir" && eval "$cmd $* -c -o '$build/as-in.o' '$source'")
}

# parse_csky: parses the sources that the configuration compiles
parse_csky()
{
	local gen=$build/include/generated dir source flags bad=0

	# Without a compiler for csky, make fails here, but only after it has made the headers.
	kmake -s asm-generic include/generated/utsrelease.h || true
	sed -n 's/^CONFIG_HZ=//p' "$build/.config" | bc -q "$tree/kernel/time/timeconst.bc" \
		>"$gen/timeconst.h"
	# These values need not be right, since clang generates no code.
	printf '#define %s\n' 'NR_PAGEFLAGS 24' 'MAX_NR_ZONES 3' 'NR_CPUS_BITS 2' \
		'SPINLOCK_SIZE 4' 'LRU_GEN_WIDTH 0' '__LRU_REFS_WIDTH 0' >"$gen/bounds.h"
	: >"$gen/asm-offsets.h"
	flags=(--target=csky -fsyntax-only -nostdinc -std=gnu11 -fshort-wchar -funsigned-char
		-fno-builtin -Wall -Wno-pointer-sign -Wno-address-of-packed-member -Wno-gnu
		-Wno-unused-function -Wno-unused-variable -Wno-unused-but-set-variable -Wno-frame-address
		-fheinous-gnu-extensions -D__KERNEL__ -D__CSKYABIV2__ -DKBUILD_MODNAME='"x"'
		-DKBUILD_BASENAME='"x"' -DKBUILD_MODFILE='"x"' -D__KBUILD_MODNAME=x
		-I"$tree/kernel/trace" -I"$tree/arch/csky/abiv2/inc"
		-I"$tree/arch/csky/kernel/probes")
	for dir in arch/csky/include include; do
		flags+=(-I"$tree/$dir" -I"$build/$dir/generated" -I"$build/$dir" -I"$tree/$dir/uapi"
			-I"$build/$dir/generated/uapi")
	done
	for source in compiler-version.h kconfig.h compiler_types.h; do
		flags+=(-include "$tree/include/linux/$source")
	done
	for source in "$tree"/kernel/{extable,kallsyms,kprobes,trace/trace_kprobe}.c \
		"$tree"/kernel/kprobes/*.c "$tree"/arch/csky/kernel/probes/[!u]*.c \
		"$tree"/arch/csky/mm/fault.c; do
		case $source in
		*/legacy_opt.c | */optimizer.c | */rethook.c | */jprobe.c | */multi.c) continue ;;
		esac
		echo "  PARSE   $source"
		clang-19 "${flags[@]}" "$source" >"$build/parse.log" 2>&1 || bad=1
		# Leave out clang's warning of a "heinous" extension in asm/uaccess.h, a cast that
		# gcc accepts.
		! grep -E '(error|warning): ' "$build/parse.log" | grep -v heinous || bad=1
	done
	return $bad
}

# compile NAME: makes the objects of the configuration, and checks their symbols
compile()
{
	local undef=$build/undef.h sym files flags=()

	[ "$1" != csky ] || { parse_csky; return; }
	# Undefine options with a - in the sources, and for the makefiles.
	for sym in $(tr -s ' \t' '\n' <<<"${options[$1]}" | sed -n 's/^-/CONFIG_/p'); do
		echo "#undef $sym" >"$undef"
		flags+=("KCFLAGS=-include $undef" "KAFLAGS=-include $undef" "$sym=")
	done
	find "$build" -name '*.o' \( -path "$build/kernel/*" -o -path "$build/arch/*" \
		-o -path "$build/lib/*" \) -delete
	# shellcheck disable=SC2086 # words
	kmake -j"$(nproc)" -k "${flags[@]}" ${objects[$1]} 2>&1 | tee "$build/make.log" || return 1
	! grep 'warning: objtool' "$build/make.log" >/dev/null || return 1
	if [ -z "${target[$1]:-}" ]; then
		as_in "$build" kernel/fork.o "$TOP/series/scripts/configs-stubs.c" || return 1
		mv "$build/as-in.o" "$build/kernel/stubs.o"
	fi
	# Leave out objects that do not become part of the kernel's image, such as those of modules
	# and of the vDSO: they may define the same symbols.
	mapfile -t files < <(find "$build/kernel" "$build/arch" -name '*.o' \
		! -name 'built-in*' ! -name 'asm-offsets*' ! -name '*.mod.o' ! -name 'test-*' |
		grep -v '/vdso\|/boot/\|/realmode/\|/tools/')
	[ ${#files[@]} -gt 4 ] || { echo "undefined: there are no objects"; return 1; }
	case $1 in
	entry* | clang-kmsan)
		"$TOP/series/scripts/hitpath.pl" "$build" >"$build/hitpath"
		sed 's/^/hit path error: /' "$build/hitpath"
		[ ! -s "$build/hitpath" ] || return 1
		;;
	esac
	symbols "${files[@]}" >"$build/missing"
	cat "$build/missing"
	[ ! -s "$build/missing" ]
}

# quick NAME UNDEFINED OBJECT...: compiles configs-stubs.c and the objects with the options in
# UNDEFINED undefined; prints only failures, with NAME
quick()
{
	local name=$1 object source

	# shellcheck disable=SC2086 # words
	printf '#undef CONFIG_%s\n' $2 >"$build/quick.h"
	shift 2
	for object in stubs "$@"; do
		source=$tree/${object%.o}.c
		[ "$object" != stubs ] || source=$TOP/series/scripts/configs-stubs.c object=kernel/fork.o
		as_in "$OUT/build/default" "$object" "$source" -include "$build/quick.h" \
			>"$build/quick.log" 2>&1 && continue
		printf '%s: %s\n' "$name" "${source##*/}"
		grep -m 3 'error\|not built' "$build/quick.log" || tail -n 2 "$build/quick.log"
	done
}

# quick_ve: compiles traps.c with TDX, which none of the tests' guests has, and checks the handler
# of the exception #VE: if a copy raised it, the handler must be shown the original instruction. For
# that, it must call the constructor and the destructor of CLASS(kprobe_fault).
quick_ve()
{
	local function=exc_virtualization_exception called

	echo '#define CONFIG_INTEL_TDX_GUEST 1' >"$build/quick.h"
	# With -ffunction-sections, relocations name static functions, too.
	as_in "$OUT/build/default" arch/x86/kernel/traps.o "$tree/arch/x86/kernel/traps.c" \
		-include "$build/quick.h" -ffunction-sections >"$build/quick.log" 2>&1 || {
		echo "INTEL_TDX_GUEST=y: traps.c"
		grep -m 3 'error\|not built' "$build/quick.log" || tail -n 2 "$build/quick.log"
		return
	}
	objdump -dr "$build/as-in.o" |
		awk -v name="<$function>:" '/^[0-9a-f]+ </ { on = $2 == name } on' >"$build/quick.log"
	for called in 'begin|constructor' 'resume|destructor'; do
		grep -qE "kprobe_fault_($called)\>" "$build/quick.log" ||
			echo "$function() does not call kprobe_fault_${called%|*}()"
	done
}

quick_all()
{
	local no_kprobes=(arch/x86/kernel/unwind_orc.o arch/x86/kernel/rethook.o
		arch/x86/kernel/traps.o kernel/exit.o) dir=arch/x86/kernel/kprobes

	build=$OUT/build/configs
	mkdir -p "$build"
	# Compile all objects normally once: kbuild saves the commands, which as_in() reads.
	(
		lock build-default
		# shellcheck disable=SC2086 # words
		make -C "$tree" O="$OUT/build/default" -j"$(nproc)" kernel/fork.o $ours \
			"${no_kprobes[@]}" </dev/null >"$log" 2>&1
	) || { grep -m 5 'error\|\*\*\*' "$log"; return 1; }
	quick "KPROBES=n" "KPROBES KRETPROBES OPTPROBES KPROBES_ON_FTRACE" "${no_kprobes[@]}"
	quick "MODULES=n" "MODULES MODULE_UNLOAD" kernel/kprobes.o kernel/kprobes/place.o $dir/safety.o
	quick "KRETPROBES=n" KRETPROBES kernel/kprobes.o $dir/int3.o arch/x86/kernel/unwind_orc.o
	quick "KPROBES_DISABLE_SELF=n, KPROBES_FAULT_HANDLER=n" "KPROBES_DISABLE_SELF KPROBES_FAULT_HANDLER" \
		kernel/kprobes.o kernel/kprobes/set.o kernel/kprobes/place.o $dir/fault.o
	quick "JPROBES=n" JPROBES kernel/kprobes.o kernel/kprobes/debugfs.o $dir/int3.o
	quick "OPTPROBES=n" OPTPROBES kernel/kprobes/probepoint.o $dir/slot.o
	quick_ve
}

case ${1:-x86} in
quick)
	quick_all
	exit
	;;
cross) names=("${cross[@]}") ;;
*) names=("${x86[@]}") ;;
esac
case ${1:-} in
x86 | cross) shift ;;
esac
[ $# -eq 0 ] || names=("$@")
"$TOP/series/scripts/prepare.sh"
lock build-configs
need_packages gcc libc6-dev make bc bison flex libelf-dev perl
: >"$log.all"
for name in "${names[@]}"; do
	[ -n "${options[$name]:-}" ] ||
		die "no configuration $name" "there are: ${x86[*]}" "${cross[*]}"
	set_up "$name"
	need_packages "${packages[@]}"
	begun=$SECONDS
	if configure "$name" >"$log" 2>&1 && compile "$name" >>"$log" 2>&1; then
		ok "$name, $((SECONDS - begun)) s"
	else
		not_ok "$name, $((SECONDS - begun)) s"
		grep -E -A3 'error:|warning:|undefined: |multiple definition|is not |Error ' "$log" |
			head -n 12 | sed 's/^/   /' || true
	fi
	{ printf '== %s\n' "$name"; cat "$log"; } >>"$log.all"
done
sum_up
