#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles kprobes, and what uses it, in configurations that no variant has. Only the objects
# are made; their symbols show if one needs what another does not have. All configurations
# use the directory out/build/configs, one after the other, so that what does not depend on the
# difference is compiled once; with clang it is out/build/configs-clang.
#
#	series/scripts/configs.sh [CONFIGURATION...]
#	series/scripts/configs.sh quick
#
# The last line says how many passed and failed. With `quick`, a minute is enough: the files
# that break most easily are compiled as in the variant default, but with some symbols of the
# configuration undefined. Only failures are printed.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

tree=$OUT/linux
build=$OUT/build/configs
log=$OUT/log/configs.log

# The base of all configurations; a configuration's own fragment overrides it.
base='CONFIG_64BIT=y
CONFIG_EXPERT=y
CONFIG_SMP=y
CONFIG_MODULES=y
CONFIG_MODULE_UNLOAD=y
CONFIG_KPROBES=y
CONFIG_KALLSYMS=y
CONFIG_PRINTK=y
CONFIG_BUG=y
CONFIG_JUMP_LABEL=y
CONFIG_DEBUG_KERNEL=y
CONFIG_WERROR=y
CONFIG_DEBUG_FS=y
CONFIG_PROC_FS=y
CONFIG_SYSFS=y
CONFIG_UNWINDER_ORC=y'

tracer='CONFIG_FTRACE=y
CONFIG_FUNCTION_TRACER=y
CONFIG_DYNAMIC_FTRACE=y'

ours="kernel/kprobes.o kernel/kprobes/ arch/x86/kernel/kprobes/"
unwind="arch/x86/kernel/stacktrace.o"
users="arch/x86/kernel/traps.o arch/x86/mm/fault.o kernel/fork.o kernel/exit.o init/main.o
kernel/kallsyms.o kernel/extable.o arch/x86/kernel/jump_label.o"
# objects of other subsystems that hitpath.pl reads
entry="kernel/fork.o kernel/entry/common.o kernel/context_tracking.o arch/x86/kernel/traps.o
arch/x86/kernel/alternative.o"
fprobe="arch/x86/kernel/rethook.o kernel/trace/rethook.o kernel/trace/fprobe.o"

# configuration NAME: sets fragment, objects, and undefined, symbols that Kconfig offers
# no way to switch off
configuration()
{
	local orc="arch/x86/kernel/unwind_orc.o"

	undefined=
	hitpath=
	toolchain=()
	build=$OUT/build/configs
	objects="$ours $users $unwind $orc"
	case $1 in
	all)	# the one that the others differ from
		fragment=$tracer$'\nCONFIG_KPROBE_EVENTS=y\nCONFIG_FPROBE=y'
		objects+=" $fprobe arch/x86/kernel/ftrace.o kernel/trace/trace_kprobe.o"
		;;
	no-kprobes)
		fragment='CONFIG_KPROBES=n'
		objects="$users $unwind $orc"
		;;
	no-kprobes-fprobe)
		fragment=$tracer$'\nCONFIG_KPROBES=n\nCONFIG_FPROBE=y'
		objects="$users $unwind $orc $fprobe arch/x86/kernel/ftrace.o"
		;;
	i386-fprobe)
		fragment=$tracer$'\nCONFIG_64BIT=n\nCONFIG_UNWINDER_ORC=n\nCONFIG_KPROBES=n'
		fragment+=$'\nCONFIG_DYNAMIC_FTRACE_WITH_REGS=y\nCONFIG_FPROBE=y'
		fragment+=$'\nCONFIG_UNWINDER_FRAME_POINTER=y'
		objects="$users $unwind $fprobe arch/x86/kernel/unwind_frame.o"
		;;
	i386)
		fragment=$tracer$'\nCONFIG_64BIT=n\nCONFIG_UNWINDER_ORC=n\nCONFIG_KPROBE_EVENTS=y'
		fragment+=$'\nCONFIG_DYNAMIC_FTRACE_WITH_REGS=y\nCONFIG_FPROBE=y'
		fragment+=$'\nCONFIG_UNWINDER_FRAME_POINTER=y\nCONFIG_PREEMPT=y'
		objects="$ours $users $unwind $fprobe arch/x86/kernel/unwind_frame.o"
		objects+=" arch/x86/kernel/ftrace.o kernel/trace/trace_kprobe.o"
		;;
	i386-no-smp)
		fragment=$'CONFIG_64BIT=n\nCONFIG_UNWINDER_ORC=n\nCONFIG_UNWINDER_GUESS=y'
		fragment+=$'\nCONFIG_SMP=n\nCONFIG_CPU_MITIGATIONS=n'
		objects="$ours $users $unwind arch/x86/kernel/unwind_guess.o"
		;;
	no-modules)
		fragment=$'CONFIG_MODULES=n\nCONFIG_MODULE_UNLOAD=n'
		;;
	no-kretprobes)
		fragment=
		undefined="CONFIG_KRETPROBES"
		;;
	jprobes)
		fragment=$tracer$'\nCONFIG_JPROBES=y\nCONFIG_FPROBE=y'
		objects+=" $fprobe arch/x86/kernel/ftrace.o"
		;;
	jprobes-rt)
		fragment=$'CONFIG_JPROBES=y\nCONFIG_PREEMPT_RT=y'
		;;
	i386-jprobes)
		fragment=$'CONFIG_64BIT=n\nCONFIG_UNWINDER_ORC=n\nCONFIG_UNWINDER_FRAME_POINTER=y'
		fragment+=$'\nCONFIG_JPROBES=y'
		objects="$ours $users $unwind arch/x86/kernel/unwind_frame.o"
		;;
	no-optprobes)
		fragment=
		undefined="CONFIG_OPTPROBES"
		;;
	no-debugfs)
		fragment='CONFIG_DEBUG_FS=n'
		;;
	no-smp)
		fragment='CONFIG_SMP=n'
		;;
	no-printk)
		fragment=$'CONFIG_PRINTK=n\nCONFIG_BUG=n\nCONFIG_JUMP_LABEL=n'
		objects=${objects/arch\/x86\/kernel\/jump_label.o/}
		;;
	frame-pointer)
		fragment=$'CONFIG_UNWINDER_ORC=n\nCONFIG_UNWINDER_FRAME_POINTER=y'
		objects="$ours $users $unwind arch/x86/kernel/unwind_frame.o"
		;;
	guess)
		fragment=$'CONFIG_UNWINDER_ORC=n\nCONFIG_UNWINDER_GUESS=y'
		objects="$ours $users $unwind arch/x86/kernel/unwind_guess.o"
		;;
	rt)
		fragment='CONFIG_PREEMPT_RT=y'
		;;
	xen)
		fragment=$'CONFIG_HYPERVISOR_GUEST=y\nCONFIG_PARAVIRT=y\nCONFIG_XEN=y'
		fragment+=$'\nCONFIG_XEN_PV=y\nCONFIG_PARAVIRT_XXL=y'
		;;
	entry)	# what the entry of an int3 calls, instrumented by KASAN
		hitpath=1
		fragment=$tracer$'\nCONFIG_KASAN=y\nCONFIG_KASAN_GENERIC=y\nCONFIG_KASAN_OUTLINE=y'
		fragment+=$'\nCONFIG_KGDB=y\nCONFIG_KGDB_LOW_LEVEL_TRAP=y\nCONFIG_PROVE_LOCKING=y'
		fragment+=$'\nCONFIG_HWLAT_TRACER=y\nCONFIG_OSNOISE_TRACER=y'
		fragment+=$'\nCONFIG_IRQSOFF_TRACER=y'
		objects="$ours $entry kernel/trace/trace_preemptirq.o kernel/trace/trace_irqsoff.o"
		objects+=" kernel/trace/trace_hwlat.o kernel/trace/trace_osnoise.o"
		objects+=" arch/x86/kernel/kgdb.o kernel/locking/lockdep.o"
		objects+=" mm/kasan/generic.o mm/kasan/shadow.o"
		;;
	entry-kcsan)
		hitpath=1
		fragment=$tracer$'\nCONFIG_KCSAN=y'
		objects="$ours $entry kernel/kcsan/core.o"
		;;
	clang-kmsan)
		toolchain=(LLVM=-19)
		build=$OUT/build/configs-clang
		hitpath=1
		fragment=$tracer$'\nCONFIG_KMSAN=y\nCONFIG_PREEMPT_NONE=y'
		objects="$ours $entry mm/kmsan/hooks.o mm/kmsan/instrumentation.o"
		;;
	clang*)
		toolchain=(LLVM=-19)
		build=$OUT/build/configs-clang
		fragment=$tracer$'\nCONFIG_KPROBE_EVENTS=y\nCONFIG_FPROBE=y\nCONFIG_JPROBES=y'
		objects+=" $fprobe arch/x86/kernel/ftrace.o kernel/trace/trace_kprobe.o"
		case $1 in
		clang-cfi) fragment+=$'\nCONFIG_CFI_CLANG=y' ;;
		clang-lto) fragment+=$'\nCONFIG_LTO_CLANG_THIN=y\nCONFIG_CFI_CLANG=y' ;;
		esac
		;;
	startup-test)
		fragment=$tracer$'\nCONFIG_KPROBE_EVENTS=y\nCONFIG_FTRACE_STARTUP_TEST=y'
		objects="kernel/trace/trace_kprobe.o kernel/trace/trace_kprobe_selftest.o"
		objects+=" kernel/fork.o $ours"
		;;
	*)
		die "no configuration $1" "there are: ${all[*]}"
		;;
	esac
}

all=(no-kprobes no-kprobes-fprobe i386-fprobe i386 i386-no-smp no-modules no-kretprobes
	jprobes jprobes-rt i386-jprobes no-optprobes no-debugfs no-smp no-printk frame-pointer
	guess rt xen startup-test entry entry-kcsan clang clang-cfi clang-lto clang-kmsan
	all)

kmake()
{
	make -C "$tree" O="$build" "${toolchain[@]}" "$@" </dev/null
}

# Building the host's programs takes long: use those of a variant that was built.
start()
{
	local from=$OUT/build/default dir

	mkdir -p "$build"
	[ ${#toolchain[@]} -eq 0 ] && [ ! -e "$build/.config" ] &&
		[ -e "$from/tools/objtool/objtool" ] || return 0
	for dir in scripts tools; do
		cp -a "$from/$dir" "$build/"
	done
}

configure()
{
	local sym value got bad=0

	printf '%s\n%s\n' "$base" "$fragment" | awk -F= '{ v[$1] = $2; if (!($1 in n)) o[++i] = $1; n[$1] = 1 }
		END { for (j = 1; j <= i; j++) print o[j] "=" v[o[j]] }' >"$build/fragment"
	kmake -s KCONFIG_ALLCONFIG="$build/fragment" allnoconfig || return 1
	while IFS='=' read -r sym value; do
		[ -n "$sym" ] || continue
		got=$(sed -n "s/^$sym=//p" "$build/.config")
		[ "${got:-n}" = "$value" ] || {
			echo "$sym is not $value"
			bad=1
		}
	done <"$build/fragment"
	return $bad
}

# Each symbol of kprobes that an object needs has to be in another one.
symbols()
{
	local files=("$@") nm=nm

	# The nm of binutils does not read the objects of LTO.
	[ ${#toolchain[@]} -eq 0 ] || nm=llvm-nm-19
	$nm -u "${files[@]}" | awk '$1 == "U" { print $2 }' | sort -u |
		grep -E '(^|_)(k(ret)?|j)probes?(_|$)|insn_slot|rethook|wait_for_kprobe|^fprobe' |
		grep -v '^__tracepoint' >"$build/needed" || return 0
	$nm --defined-only "${files[@]}" | awk 'NF == 3 { print $3 }' | sort -u >"$build/given"
	# symbols that the linker defines, or a file that is not compiled here
	grep -vxE '__(start|stop)_kprobe_blacklist|__kprobes_text_(start|end)|.*trace_kprobe.*' \
		"$build/needed" | sort | comm -23 - "$build/given" | sed 's/^/undefined: /'
}

# as_in BUILD OBJECT SOURCE OPTION...: compiles SOURCE as OBJECT was in BUILD
as_in()
{
	local dir=$1 object=$2 source=$3 cmd

	shift 3
	cmd=$(sed -n 's/^savedcmd_[^ ]* := //p' "$dir/${object%/*}/.${object##*/}.cmd" | head -n 1)
	[ -n "$cmd" ] || { echo "$object was not built in ${dir#"$TOP"/}"; return 1; }
	# Remove the commands after the compiler's, the dependency file, and the file names.
	cmd=$(sed 's/ ; .*//; s/-Wp,-MMD,[^ ]*//; s/ -c -o .*//' <<<"$cmd")
	(cd "$dir" && eval "$cmd $* -c -o '$build/as-in.o' '$source'")
}

compile()
{
	local undef=$build/undef.h sym file files=() flags=() object

	: >"$undef"
	for sym in $undefined; do
		echo "#undef $sym" >>"$undef"
	done
	[ -z "$undefined" ] || flags=("KCFLAGS=-include $undef" "KAFLAGS=-include $undef")
	# Undefine them for the makefiles as well.
	for sym in $undefined; do
		flags+=("$sym=")
	done
	find "$build/kernel" "$build/arch" -name '*.o' -delete 2>/dev/null || true
	# shellcheck disable=SC2086 # words
	kmake -j"$(nproc)" -k "${flags[@]}" $objects || return 1
	as_in "$build" kernel/fork.o "$TOP/series/scripts/configs-stubs.c" || return 1
	mv "$build/as-in.o" "$build/kernel/stubs.o"
	while IFS= read -r file; do
		files+=("$file")
	done < <(find "$build/kernel" "$build/arch" -name '*.o' ! -name 'built-in*' \
		! -name 'asm-offsets*' -path '*k*' | grep -v '/vdso/\|/boot/\|/realmode/' )
	for object in "${files[@]}"; do
		[ -s "$object" ] || return 1
	done
	if [ -n "$hitpath" ]; then
		"$TOP/series/scripts/hitpath.pl" "$build" >"$build/hitpath"
		sed 's/^/hit path error: /' "$build/hitpath"
		[ ! -s "$build/hitpath" ] || return 1
	fi
	symbols "${files[@]}" >"$build/missing"
	cat "$build/missing"
	[ ! -s "$build/missing" ]
}

# quick NAME UNDEFINED OBJECT...: the stubs, and the objects
quick()
{
	local name=$1 object source sym

	for sym in $2; do
		echo "#undef $sym"
	done >"$build/quick.h"
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

if [ "${1:-}" = quick ]; then
	mkdir -p "$build"
	no_kprobes=(arch/x86/kernel/unwind_orc.o arch/x86/kernel/rethook.o
		arch/x86/kernel/traps.o kernel/exit.o)
	# Compile them once, so that kbuild has saved the commands.
	(
		lock build-default
		make -C "$tree" O="$OUT/build/default" -j"$(nproc)" kernel/fork.o \
			kernel/kprobes.o kernel/kprobes/ arch/x86/kernel/kprobes/ \
			"${no_kprobes[@]}" </dev/null >"$log" 2>&1
	) || { grep -m 5 'error\|\*\*\*' "$log"; exit 1; }
	# shellcheck disable=SC2086 # words
	{
		quick "KPROBES=n" "CONFIG_KPROBES CONFIG_KRETPROBES CONFIG_OPTPROBES
			CONFIG_KPROBES_ON_FTRACE" "${no_kprobes[@]}"
		quick "MODULES=n" "CONFIG_MODULES CONFIG_MODULE_UNLOAD" kernel/kprobes.o \
			arch/x86/kernel/kprobes/safety.o
		quick "KRETPROBES=n" CONFIG_KRETPROBES kernel/kprobes.o \
			arch/x86/kernel/kprobes/int3.o arch/x86/kernel/unwind_orc.o
		quick "JPROBES=n" CONFIG_JPROBES kernel/kprobes.o kernel/kprobes/debugfs.o \
			arch/x86/kernel/kprobes/int3.o
		quick "OPTPROBES=n" CONFIG_OPTPROBES kernel/kprobes/probepoint.o \
			arch/x86/kernel/kprobes/slot.o
	}
	exit
fi

names=("$@")
[ $# -gt 0 ] || names=("${all[@]}")
"$TOP/series/scripts/prepare.sh"
lock build-configs
need_packages gcc libc6-dev make bc bison flex libelf-dev perl
case " ${names[*]}" in
*" clang"*) need_packages clang-19 lld-19 llvm-19 ;;
esac
passed=0
failed=0
: >"$log.all"
for name in "${names[@]}"; do
	configuration "$name"
	start
	begun=$SECONDS
	if configure >"$log" 2>&1 && compile >>"$log" 2>&1; then
		passed=$((passed + 1))
		printf 'ok: %s, %d s\n' "$name" $((SECONDS - begun))
	else
		failed=$((failed + 1))
		printf 'not ok: %s, %d s\n' "$name" $((SECONDS - begun))
		grep -E -A3 'error:|undefined: |is not |Error ' "$log" | head -n 12 | sed 's/^/   /' || true
	fi
	{ printf '== %s\n' "$name"; cat "$log"; } >>"$log.all"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
