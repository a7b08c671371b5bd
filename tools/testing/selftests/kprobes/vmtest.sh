#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Boots a kernel in QEMU and runs the tests of this directory in it. The guest has busybox, the
# kernel's modules, and the tests laid out as kselftest installs them; its first process is
# vmtest-init.sh.
#
# The kernel's messages and the results use separate serial ports. A message that reports trouble
# (see `trouble` below) fails the run, unless the running test has announced it:
#
#	echo "kprobes-selftest: expect EXTENDED_REGEX" >/dev/kmsg

set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
selftests=$(dirname "$here")
. "$here/vmtest-archs.sh"
. "$here/vmtest-suites.sh"

usage()
{
	cat <<EOF
usage: ${0##*/} -b BUILD [option...] [TEST...]
  -b BUILD    where the kernel was built (O=), see config, config.small and config.default
  -m MODULES  where test_modules/ (and samples/, kunit/, torture/) were built, default: here
  -n NAME     what to call this run, default the last part of BUILD
  -o DIR      where to leave the logs, default BUILD
  -r FILE     write the numbers of passed and failed tests to FILE
  -S SUITE    run the scripts of this suite, see vmtest-suites.sh; may be repeated
  -c SCRIPT   run this in the guest and show what it prints, no tests
  -s          a prompt in the guest, no tests
  -H          the host's files, read-only, in the guest's /host
  -R          the guest's root is the host's, read-only over 9p, with what was built and
              what the guest writes in memory above it: the tools installed here run on
              that kernel. It needs OVERLAY_FS, NET_9P_VIRTIO and 9P_FS. A 32-bit kernel
              cannot run programs of a 64-bit host, see GUEST_ROOT
TEST is the name of a script here, with or without .sh; default clients-*.sh with -R,
else all others.
environment:
  ACCEL=      accelerator of QEMU, default kvm where the processor has it, else tcg
  SMP= MEM=1G CPU=max     size and processor of the guest: 4 CPUs of x86, 2 of others;
              with -R, 2G
  TIMEOUT=    seconds for one test, default as in ./settings
  QUIET=      seconds without output after which the guest counts as hung, default a
              minute more than TIMEOUT
  APPEND= QEMU_ARGS=      more kernel and QEMU arguments
  BOOTCONFIG= a boot configuration for the kernel
  SWAP=1G     give the guest a disk of this size, for hibernation. If the guest ends with
              an image of itself on the disk, it is booted again, and has to resume
  BUSYBOX=    a static busybox for the guest's processor, default the installed one,
              which is for the host's architecture
  GCOV=DIR    write the counters of a kernel with GCOV_KERNEL to DIR/TEST after each test,
              and to DIR/boot before the first one. It needs what -R needs
  GUEST_ROOT=/    with -R, a directory to use instead of the host's root: the root of
              a Debian whose programs the kernel can run
  QEMU=       the directory that Debian's qemu-system-* for this machine is unpacked in,
              with all that it depends on; default the installed one
  INTERLEAVE= if set, CPUs that QEMU emulates in one thread take turns at any
              instruction, and at random times
  BOCHS=      boot in Bochs instead of QEMU, for x86_64 and without -H and -R: the
              directory that Debian's bochs, bochsbios, genisoimage, isolinux and
              syslinux-common are unpacked in, with all that they depend on. SMP=2
              unless it is set
EOF
}

die()
{
	printf 'vmtest: %s\n' "$@" >&2
	exit 1
}

build='' modules='' name='' logs='' counts='' script='' mode=tests host='' rootfs='' suites=()
while getopts b:m:n:o:r:S:c:sHRh opt; do
	case $opt in
	b) build=$OPTARG ;;
	m) modules=$OPTARG ;;
	n) name=$OPTARG ;;
	o) logs=$OPTARG ;;
	r) counts=$OPTARG ;;
	S) suites+=("$OPTARG") ;;
	c) script=$OPTARG mode=command ;;
	s) mode=shell ;;
	H) host=y ;;
	R) rootfs=host ;;
	h) usage && exit 0 ;;
	*) usage >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))
check_suites "${suites[@]}" || exit 1
[ -n "$build" ] || { usage >&2 && exit 2; }
build=$(realpath "$build")
modules=${modules:-$here}
name=${name:-${build##*/}}
logs=$(realpath "${logs:-$build}")
find_arch_of "$build" || die "$build has no kernel of an architecture that this knows"
image=$(arch_image "$build")
[ -e "$image" ] || die "$image is not there: build the kernel first"
[ -e "$selftests/kselftest/ktap_helpers.sh" ] ||
	die "$here is not in a kernel tree: no $selftests/kselftest"

# need_options OPTION... USE: ends if the kernel was built without one of these options
need_options()
{
	local option use=${!#}

	for option in "${@:1:$#-1}"; do
		grep -qx "CONFIG_$option=y" "$build/.config" ||
			die "$use needs $option, which the kernel $name has not" \
				"take another kernel, such as default"
	done
}

[ -z "$host" ] || need_options NET_9P_VIRTIO 9P_FS "sharing the host's files"
[ -z "$rootfs" ] || need_options OVERLAY_FS NET_9P_VIRTIO 9P_FS "the host's root in the guest"

for file in "$script" "${BOOTCONFIG:-}"; do
	[ -z "$file" ] || [ -r "$file" ] || die "$file: cannot be read"
done
[ -z "${GCOV:-}" ] || GCOV=$(realpath "$GCOV")
guest_root=$(realpath "${GUEST_ROOT:-/}")
[ -d "$guest_root/usr" ] || die "GUEST_ROOT=$guest_root: there is no root"

# unpacked_qemu PROGRAM: sets emulator to the command that runs a program in $QEMU, with the C
# library there, since the host's may be too old
unpacked_qemu()
{
	local lib=lib/x86_64-linux-gnu loader

	QEMU=$(realpath "$QEMU")
	for loader in "$QEMU"/{,usr/}$lib/ld-linux-x86-64.so.2; do
		[ ! -x "$loader" ] || break
	done
	export QEMU_MODULE_DIR=$QEMU/usr/$lib/qemu
	emulator=("$loader" --library-path "$QEMU/$lib:$QEMU/usr/$lib" "$QEMU/usr/bin/$1"
		-L "$QEMU/usr/share/qemu" -L "$QEMU/usr/share/seabios")
}

# emulator_is MAJOR.MINOR: is QEMU's version at least that?
emulator_is()
{
	[ "$(printf '%s\n' "$1" "$emulator_version" | sort -V | head -n 1)" = "$1" ]
}

emulator=("qemu-system-${arch[qemu]}") emulator_version=
[ -z "${QEMU:-}" ] || unpacked_qemu "${emulator[0]}"
if [ -n "${BOCHS:-}" ]; then
	BOCHS=$(realpath "$BOCHS")
	[ "${arch[name]}" = x86_64 ] || die "BOCHS= is for x86_64"
	[ "$mode$host$rootfs" != shell ] || die "BOCHS= has no prompt"
	[ -z "$host$rootfs" ] || die "BOCHS= shares no files with the guest"
	emulator=("$BOCHS/usr/bin/bochs-bin")
	ACCEL=bochs
	SMP=${SMP:-2}
fi
for tool in "${emulator[0]}" busybox depmod; do
	command -v "$tool" >/dev/null ||
		die "$tool is missing" \
			"install qemu-system-${arch[package]}, busybox-static and kmod"
done
elf_kind() { od -An -tx1 -j4 -N16 "$1" | awk '{ print $1, $2, $15, $16 }'; }

BUSYBOX=${BUSYBOX:-$(command -v busybox)}
! ldd "$BUSYBOX" >/dev/null 2>&1 || die "busybox has to be a static one: install busybox-static"
[ "$(elf_kind "$BUSYBOX")" = "$(elf_kind "$build/vmlinux")" ] ||
	die "$BUSYBOX is for another processor than the kernel: set BUSYBOX="
# The compiler of programs for the guest
cc=("${CC:-cc}")
case ${arch[name]} in
# The kernel's headers are in the directory for 64-bit programs.
i386) cc+=(-m32 -idirafter /usr/include/x86_64-linux-gnu) ;;
*) [ "${arch[compiler]}" = - ] || cc=("${arch[compiler]}-gcc") ;;
esac

work=$(mktemp -d)
qemu=
cleanup()
{
	if [ -n "$qemu" ]; then
		kill "$qemu" 2>/dev/null || true
		wait "$qemu" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# kvm_runs: does a guest with /dev/kvm execute instructions? The device may open and then hang, or
# refuse, where this machine is a guest itself. The firmware of this guest is mov $0x10,%al;
# out %al,$0xf4; hlt at the reset vector: the write ends QEMU with the status 2 * 0x10 + 1.
kvm_runs()
{
	local status=0

	{
		head -c 65520 /dev/zero
		printf '\xb0\x10\xe6\xf4\xf4'
		head -c 11 /dev/zero
	} >"$work/firmware"
	timeout -k 2 10 "${emulator[@]}" -machine pc -accel kvm -nodefaults -no-user-config \
		-display none -bios "$work/firmware" -device isa-debug-exit,iobase=0xf4,iosize=1 \
		</dev/null >/dev/null 2>&1 || status=$?
	[ "$status" -eq 33 ]
}

if [ -z "${ACCEL:-}" ]; then
	# With a thread for each CPU, every version of QEMU, 11.1 too, may execute stale code after
	# another CPU has stored to the page: work item 4669 of its tracker. A kernel that patches
	# its text crashes, also without kprobes: two switches of the graph tracer are enough.
	ACCEL=tcg,thread=single
	# Arm flushes kernel pages one by one, and in a single thread each flush waits for the
	# other CPU: a large range takes hours.
	[ "${arch[name]}" != arm ] || ACCEL=tcg,thread=multi
	if [ "${arch[package]}" = x86 ] && [ -e /dev/kvm ] &&
		grep -qwE 'vmx|svm' /proc/cpuinfo; then
		if [ ! -w /dev/kvm ]; then
			echo "== $name: emulated: add yourself to the group kvm, for /dev/kvm" >&2
		elif kvm_runs; then
			ACCEL=kvm
		else
			echo "== $name: emulated: /dev/kvm is there, but executes nothing" >&2
		fi
	fi
fi
[ -n "${BOCHS:-}" ] ||
	emulator_version=$("${emulator[@]}" --version | sed -n 's/.* version \([0-9.]*\).*/\1/p')
if [ -n "${INTERLEAVE:-}" ]; then
	[[ $ACCEL == tcg,thread=single* ]] || die "INTERLEAVE= needs ACCEL=tcg,thread=single"
	# Let each block of translated code have one instruction: a turn may end after any block.
	if emulator_is 8.1; then
		ACCEL+=,one-insn-per-tb=on
	else
		QEMU_ARGS="${QEMU_ARGS:-} -singlestep"
	fi
fi
SMP=${SMP:-$([ "${arch[package]}" = x86 ] && echo 4 || echo 2)}
MEM=${MEM:-$([ -n "$rootfs" ] && echo 2G || echo 1G)}
TIMEOUT=${TIMEOUT:-$(sed -n 's/^timeout=//p' "$here/settings")}
QUIET=${QUIET:-$((TIMEOUT + 60))}

# Under another root, the link to the build directory in /lib/modules leads nowhere: share that
# directory as well.
shared_build=
[ -z "$rootfs" ] || [ "$guest_root" = / ] || shared_build=$build

select_tests()
{
	local all test

	all=$(make -s --no-print-directory -C "$here" OUTPUT="$work" emit_tests |
		sed 's/.*://' | LC_ALL=C sort)
	[ ${#suites[@]} -eq 0 ] || in_suites "${suites[@]}" <<<"$all"
	if [ $# -eq 0 ] && [ ${#suites[@]} -eq 0 ]; then
		case $rootfs in
		host) grep '^clients-' <<<"$all" || : ;;
		*) grep -v '^clients-' <<<"$all" || : ;;
		esac
		return
	fi
	for test; do
		test=${test%.sh}.sh
		grep -qxF "$test" <<<"$all" || die "no '$test' among the tests:" "$all"
		printf '%s\n' "$test"
	done
}

add_bootconfig()
{
	local tool=$here/../../../bootconfig

	[ -e "$tool/main.c" ] || die "BOOTCONFIG= needs the kernel's sources, for tools/bootconfig"
	make -s -C "$tool" OUTPUT="$work/" "$work/bootconfig"
	"$work/bootconfig" -a "$1" "$work/initramfs" >/dev/null ||
		die "$1 cannot be added to the initrd"
}

make_initramfs()
{
	local root=$work/root release mods program flags dir

	release=$(cat "$build/include/config/kernel.release")
	mods=$root/lib/modules/$release
	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,proc,sys,dev,tmp,etc} \
		"$root/kselftest/kprobes" "$root/kselftest/kselftest" "$mods/kernel"
	cp "$BUSYBOX" "$root/bin/busybox"
	cp "$here/vmtest-init.sh" "$root/init"
	cp "$selftests"/kselftest/*.sh "$root/kselftest/kselftest/"
	find "$here" -maxdepth 2 -type f ! -name 'vmtest*' ! -path '*/test_modules/*' \
		\( -name '*.sh' -o -name '*.awk' -o -name '*.skip' -o -name settings \) \
		-exec cp -t "$root/kselftest/kprobes" {} +
	# api-samples.sh tries the scripts in samples/, too.
	mkdir "$root/kselftest/kprobes/samples"
	cp "$here"/../../../../samples/kprobes/*.sh "$root/kselftest/kprobes/samples" \
		2>/dev/null || :
	make -s --no-print-directory -C "$here" OUTPUT="$root/kselftest/kprobes" suites
	if [ -d "$modules/test_modules" ]; then
		mkdir -p "$root/kselftest/kprobes/test_modules"
		find "$modules/test_modules" -name '*.ko' -exec cp -t \
			"$root/kselftest/kprobes/test_modules" {} +
	fi
	# Without a C library to link with, tests that need these programs are skipped.
	for program in "$here"/*.c; do
		flags=()
		# user_compat is a 32-bit program for a 64-bit kernel, and needs no C library.
		case ${arch[name]}/${program##*/} in
		x86_64/user_compat.c)
			flags=(-m32 -nostdlib -idirafter /usr/include/x86_64-linux-gnu) ;;
		*/user_compat.c) continue ;;
		esac
		"${cc[@]}" "${flags[@]}" -static -O2 -idirafter "$here/../../../include" \
			"$program" -o "$root/kselftest/kprobes/$(basename "$program" .c)" \
			2>"$work/cc.log" ||
			echo "== $name: no ${program##*/}: $(head -n 1 "$work/cc.log")" >&2
	done
	while IFS= read -r ko; do
		mkdir -p "$mods/kernel/$(dirname "$ko")"
		cp "$build/$ko" "$mods/kernel/$ko"
	done < <(sed -n 's/\.o$/.ko/p' "$build/modules.order")
	for dir in samples kunit torture; do
		[ -d "$modules/$dir" ] || continue
		mkdir -p "$mods/kernel/$dir/kprobes"
		find "$modules/$dir" -name '*.ko' -exec cp -t "$mods/kernel/$dir/kprobes" {} +
	done
	cp -r "$selftests/ftrace" "$root/kselftest/"
	if [ -n "$rootfs" ]; then
		# Tools look for vmlinux here, and find the build directory of modules through this
		# link.
		ln -s "$build" "$mods/build"
		[ ! -d "$modules/test_modules" ] || mkdir "$mods/extra"
		find "$modules/test_modules" -name '*.ko' -exec cp -t "$mods/extra" {} + \
			2>/dev/null || :
	fi
	cp "$build"/modules.builtin "$build"/modules.order "$mods/"
	[ ! -e "$build/modules.builtin.modinfo" ] || cp "$build/modules.builtin.modinfo" "$mods/"
	depmod -b "$root" "$release"
	[ -z "$script" ] || cp "$script" "$root/vmtest-command"
	cat >"$root/vmtest.conf" <<-EOF
		mode=$mode
		tests='$(paste -sd' ' <<<"$tests")'
		timeout=$TIMEOUT
		host=$host
		rootfs=$rootfs
		results=/dev/${arch[results]}
		shared_build='$shared_build'
		gcov=${GCOV:+y}
	EOF
	chmod +x "$root/init"
	(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initramfs"
	[ -z "${BOOTCONFIG:-}" ] || add_bootconfig "$BOOTCONFIG"
}

# share TAG DIRECTORY [READONLY]: adds arguments of QEMU with which the guest can mount DIRECTORY,
# read-only, or writable if READONLY is off
share()
{
	local options="security_model=none,readonly=${3:-on},multidevs=remap"

	args+=(-virtfs "local,path=$2,mount_tag=$1,$options")
}

# in_bochs PROGRAM ARGUMENT...: replaces the shell by a program in $BOCHS. The program uses the C
# library there, since the host's may be too old.
in_bochs()
{
	local lib=$BOCHS/usr/lib/x86_64-linux-gnu program=$1

	shift
	LTDL_LIBRARY_PATH=$lib/bochs/plugins exec "$BOCHS/usr/lib64/ld-linux-x86-64.so.2" \
		--library-path "$lib:$lib/pulseaudio" "$BOCHS/usr/bin/$program" "$@"
}

# start_bochs APPEND: boots from a CD, as Bochs itself does not load kernels. The processor
# enforces IBT; of Bochs 3.1, wildcat_lake has FRED. MWAIT and the deadline timer of Bochs lose
# interrupts, so the kernel uses neither. The kernel takes this processor for one with ITS, and
# Linux 6.12 warns of its own thunks for ITS, which are writable while a module is loaded: the
# mitigation is off. Time in the guest is the number of executed instructions. The tests' in_bochs()
# looks for kprobes_bochs.
start_bochs()
{
	local options="nokaslr idle=halt lapic=notscdeadline indirect_target_selection=off"
	options+=" kprobes_bochs"
	local cd=$work/cd mib=$(($(numfmt --from=iec "$MEM") >> 20))

	mkdir "$cd"
	cp "$BOCHS/usr/lib/ISOLINUX/isolinux.bin" \
		"$BOCHS/usr/lib/syslinux/modules/bios/ldlinux.c32" "$cd"
	cp "$image" "$cd/linux"
	mv "$work/initramfs" "$cd/initrd"
	cat >"$cd/isolinux.cfg" <<-EOF
		default linux
		label linux
		  kernel /linux
		  initrd /initrd
		  append $1 $options
	EOF
	(in_bochs genisoimage -quiet -o "$work/cd.iso" -b isolinux.bin -c boot.cat \
		-no-emul-boot -boot-load-size 4 -boot-info-table "$cd")
	rm -r "$cd"
	cat >"$work/bochsrc" <<-EOF
		display_library: rfb, options="timeout=0"
		cpu: model=${CPU:-tigerlake}, count=$SMP, ips=50000000, reset_on_triple_fault=0
		memory: guest=$mib, host=$mib
		romimage: file=$BOCHS/usr/share/bochs/BIOS-bochs-latest, options=fastboot
		vgaromimage: file=$BOCHS/usr/share/bochs/VGABIOS-lgpl-latest
		ata0-master: type=cdrom, path=$work/cd.iso, status=inserted
		boot: cdrom
		com1: enabled=1, mode=file, dev=$console
		com2: enabled=1, mode=file, dev=$ktap
		log: $work/bochs.log
		panic: action=fatal
		error: action=ignore
		info: action=ignore
	EOF
	# Keep the messages in a file: Bochs reports as an error that the kernel restarts the
	# machine, which it does by a triple fault.
	in_bochs bochs-bin -q -f "$work/bochsrc" >"$work/bochs.out" 2>&1
}

# end_if_not_started: ends if QEMU has refused its arguments, for example a device that it was built
# without. QEMU's message names the argument.
end_if_not_started()
{
	[ ! -s "$console" ] && [ -z "$hang" ] || return 0
	grep -q '^qemu-system-.*: ' "$work/qemu.log" || return 0
	cat "$work/qemu.log" >&2
	die "QEMU did not start the guest" \
		"install Debian's qemu-system-${arch[package]}, or set QEMU=;" \
		"ACCEL=, CPU=, MEM= and QEMU_ARGS= are other arguments of it"
}

# emulator_said: prints what the emulator itself has reported
emulator_said()
{
	[ -n "$hang" ] || cat "$work/qemu.log" >&2
	[ -n "$finished" ] || [ ! -e "$work/bochs.out" ] ||
		sed -n "/^Bochs is exiting/,/^=/{//!p}" "$work/bochs.out" >&2
}

# start_guest ARGUMENT...: runs QEMU in the background, or in the foreground for a prompt
start_guest()
{
	local append args
	append="console=${arch[console]} panic=-1 oops=panic softlockup_panic=1 watchdog_thresh=30"
	append+=" rcupdate.rcu_cpu_stall_timeout=90 kunit.stats_enabled=0"
	# The kernel waits a short time for ticks when it tests the timer interrupt. On a busy
	# host none may arrive.
	[ "${arch[package]}" != x86 ] || append+=" no_timer_check"
	append+=" ${APPEND:-}"
	[ -z "${BOOTCONFIG:-}" ] || append+=" bootconfig"
	# While a kernel detects the features of its first processor, it ignores the fifth level of
	# page tables for a moment. KASAN reports accesses of an interrupt in that moment as wild.
	! grep -qsx CONFIG_KASAN=y "$build/.config" || append+=" no5lvl"
	[ -z "${BOCHS:-}" ] || start_bochs "$append"
	args=(
		-machine "${arch[board]}" -accel "$ACCEL" -cpu "${CPU:-${arch[cpu]}}"
		-smp "$SMP" -m "$MEM"
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$image" -initrd "$work/initramfs"
		-append "$append"
	)

	[ -z "$host" ] || share host /
	[ -z "$rootfs" ] || share root "$guest_root"
	[ -z "$shared_build" ] || share build "$shared_build"
	[ -z "${GCOV:-}" ] || share gcov "$GCOV" off
	[ -z "${SWAP:-}" ] || args+=(-drive "file=$work/swap,format=raw,if=virtio")
	# shellcheck disable=SC2206 # a list of words
	args+=(${QEMU_ARGS:-})
	exec "${emulator[@]}" "${args[@]}" "$@"
}

# hibernated: has the guest left an image of itself on its disk? A kernel that has resumed restores
# the signature of swap space.
hibernated()
{
	[ "$(dd if="$work/swap" bs=1 skip=4086 count=9 2>/dev/null)" = S1SUSPEND ]
}

# start_guest_again ARGUMENT...: runs QEMU, and again while the guest hibernates
start_guest_again()
{
	local boot pid=

	# shellcheck disable=SC2154 # pid is set above
	trap 'kill "$pid"; exit' TERM
	for boot in {1..8}; do
		(start_guest "$@") &
		pid=$!
		wait "$pid" || :
		hibernated || break
		echo "kprobes-selftest: boot $((boot + 1))" >>"$console"
	done
}

# interrupt_turns: prints commands for QEMU's monitor. QEMU ends a turn when a CPU gets an
# interrupt, or after 0.1 s. It also ends a turn when it stops all CPUs: the commands stop them
# after 0 to 4 ms, again and again. While the CPUs are stopped, time in the guest stands still.
interrupt_turns()
{
	local pause

	# A pipe that is never written to: read -t waits on it, which is a sleep without a process.
	exec 4<> <(:)
	while printf 'stop\ncont\n'; do
		printf -v pause '0.00%04d' $((RANDOM % 4000))
		read -r -t "$pause" <&4 || :
	done
}

trouble='BUG:|BUG at |WARNING:|Oops|Kernel panic|general protection fault'
trouble+='|possible recursive locking|possible circular locking|inconsistent lock state'
trouble+='|suspicious RCU usage|KASAN:|UBSAN:|kmemleak:|ODEBUG:|rcu:.*detected .*stall'
trouble+='|INFO: task .* blocked|INFO: rcu|soft lockup|hard LOCKUP|scheduling while atomic'
trouble+='|sleeping function called|unable to handle|double fault|Unexpected int3'
trouble+='|trying to register non-static key|turning off the locking correctness validator'
trouble+='|refcount_t:|list_(add|del) corruption|bad: scheduling|stack-protector'

# kcsan_functions: prints the functions of kprobes, if the kernel has KCSAN
kcsan_functions()
{
	! grep -q '^CONFIG_KCSAN=y' "$build/.config" ||
		find "$build"/kernel/kprobes{.o,} "$build"/arch/*/kernel/kprobes -name '*.o' \
			-exec nm --defined-only {} + |
		awk '$2 ~ /[tTwW]/ { print $3 }'
}

# troubled: prints the lines of the console's log that report trouble and that no test has announced
troubled()
{
	TROUBLE=$trouble awk '
		BEGIN { trouble = ENVIRON["TROUBLE"]; where = "boot" }
		FILENAME == ARGV[1] { own[$1] = 1; next }
		{ sub(/\r$/, "") }
		# Ignore data races that name no function of kprobes.
		/BUG: KCSAN: / {
			ours = 0
			for (i = 1; i <= NF; i++)
				ours += $i in own
			if (!ours) next
		}
		match($0, /kprobes-selftest: start /) {
			where = substr($0, RSTART + RLENGTH)
			n = 0
			next
		}
		/kprobes-selftest: end / { n = 0; where = "after " where; next }
		match($0, /kprobes-selftest: expect /) {
			expected[n++] = substr($0, RSTART + RLENGTH)
			next
		}
		$0 ~ trouble {
			for (i = 0; i < n; i++)
				if ($0 ~ expected[i]) next
			print where ": " $0
		}' <(kcsan_functions) "$console"
}

passed=0 failed=0 skipped=0
fail()
{
	failed=$((failed + 1))
	printf '   not ok: %s\n' "$1"
}

begin_test()
{
	if [ -n "$test" ]; then
		fail "$test: the guest has booted instead of resuming"
		kill "$qemu"
	fi
	test=$1 planned=0 t_pass=0 t_fail=0 t_skip=0
}

result_line()
{
	if [[ $2 =~ \#\ *SKIP ]]; then
		t_skip=$((t_skip + 1))
		printf '   skipped: %s: %s\n' "$test" "$2"
	elif [ -n "$1" ]; then
		t_fail=$((t_fail + 1))
		fail "$test: $2"
	else
		t_pass=$((t_pass + 1))
	fi
}

# what_failed: prints what the test printed before each result that is not ok, and at its end
what_failed()
{
	tr -d '\r' <"$ktap" | awk -v start="#@ start $test" '
		$0 == start { on = 1; text = ""; next }
		!on || /^#@/ { next }
		/^ok / { text = ""; next }
		{ text = text "      | " $0 "\n" }
		/^not ok / { printf "%s", text; text = "" }
		END { printf "%s", text }' | sed -n 1,60p
}

end_test()
{
	local rc=$1 secs=$2 why='' seen=$((t_pass + t_fail + t_skip))

	case $rc in
	0) ;;
	4) [ "$seen" -ne 0 ] || t_skip=1 seen=1 ;;
	124) why="did not end in $TIMEOUT s" ;;
	*) [ "$t_fail" -ne 0 ] || why="ended with status $rc" ;;
	esac
	if [ -z "$why" ] && [ "$seen" -lt "$planned" ]; then
		why="$((planned - seen)) of $planned planned results are missing"
	elif [ -z "$why" ] && [ "$seen" -eq 0 ]; then
		why="no results"
	fi
	if [ -n "$why" ]; then
		fail "$test: $why"
		t_fail=$((t_fail + 1))
	fi
	passed=$((passed + t_pass))
	skipped=$((skipped + t_skip))
	printf '   %-24s %4d passed, %d failed%s, %d s\n' "$test" "$t_pass" "$t_fail" \
		"$([ "$t_skip" -eq 0 ] || echo ", $t_skip skipped")" "$secs"
	[ "$t_fail" -eq 0 ] || what_failed
	test=
}

parse_line()
{
	local line=$1

	if [[ $line =~ ^#@\ start\ (.*)$ ]]; then
		begin_test "${BASH_REMATCH[1]}"
	elif [[ $line =~ ^#@\ end\ [^\ ]+\ ([0-9]+)\ ([0-9]+)$ ]]; then
		end_test "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
	elif [[ $line == "#@ done" ]]; then
		finished=y
	elif [[ $line =~ ^(not\ )?ok\ [0-9]+\ *(.*)$ ]]; then
		[ -z "$test" ] || result_line "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]#- }"
	elif [[ $line =~ ^1\.\.([0-9]+) ]]; then
		planned=$((planned + BASH_REMATCH[1]))
	fi
}

show_console()
{
	printf '   the last lines of the console (all of it: %s):\n' "$console"
	tail -n 60 "$console" | tr -d '\r' | sed 's/^/      | /'
}

# follow FUNCTION: calls FUNCTION with each line of results, until the guest ends. Kills a guest
# that has written nothing for $QUIET seconds.
follow()
{
	local line part='' size last=0 since=$SECONDS

	exec 3< <(exec tail -n +1 -s 0.3 -f --pid="$qemu" "$ktap" 2>/dev/null)
	while :; do
		if IFS= read -r -t 5 line <&3; then
			line=$part$line
			part=
			"$1" "${line%$'\r'}"
		elif [ $? -le 128 ]; then
			break
		else
			part+=$line
		fi
		size=$(stat -c %s "$console" "$ktap" | paste -sd' ')
		if [ "$size" != "$last" ]; then
			last=$size
			since=$SECONDS
		elif [ $((SECONDS - since)) -ge "$QUIET" ]; then
			hang=y
			kill "$qemu" 2>/dev/null || true
		fi
	done
	exec 3<&-
	wait "$qemu" 2>/dev/null || true
	qemu=
}

tests=
if [ "$mode" = tests ]; then
	tests=$(select_tests "$@")
	[ -n "$tests" ] || die "there are no tests"
elif [ $# -ne 0 ]; then
	usage >&2
	exit 2
fi
make_initramfs

if [ "$mode" = shell ]; then
	APPEND="quiet ${APPEND:-}"
	(start_guest -serial mon:stdio -serial null)
	exit
fi

mkdir -p "$logs"
console=$logs/console-$name.log
ktap=$logs/ktap-$name.log
: >"$console"
: >"$ktap"
# A guest that resumes appends to its logs. In QEMU's arguments, a comma in a value is written
# twice.
port=(-chardev "file,id=console,path=${console//,/,,},append=on" -serial chardev:console
	-chardev "file,id=ktap,path=${ktap//,/,,},append=on")
if [ "${arch[device]}" = - ]; then
	port+=(-serial chardev:ktap)
else
	port+=(-device "${arch[device]}" -device "virtconsole,chardev=ktap")
fi
starter=start_guest
if [ -n "${SWAP:-}" ]; then
	truncate -s "$SWAP" "$work/swap"
	starter=start_guest_again
fi
if [ -n "${INTERLEAVE:-}" ]; then
	mkfifo "$work/monitor"
	interrupt_turns >"$work/monitor" 2>/dev/null &
	start_guest "${port[@]}" -monitor stdio \
		<"$work/monitor" >/dev/null 2>"$work/qemu.log" &
else
	$starter "${port[@]}" -monitor none \
		</dev/null >"$work/qemu.log" 2>&1 &
fi
qemu=$!
test='' finished='' hang=''

if [ "$mode" = command ]; then
	status=
	# shellcheck disable=SC2317 # follow calls it
	show_line()
	{
		case $1 in
		"#@ command "*) status=${1##* } ;;
		"#@ done") finished=y ;;
		*) printf '%s\n' "$1" ;;
		esac
	}
	follow show_line
	end_if_not_started
	emulator_said
	if [ -z "$finished" ] || [ -n "$(troubled)" ]; then
		show_console
		die "the guest did not get to its end without trouble"
	fi
	exit "${status:-1}"
fi

printf '== %s: booting %s (%s CPUs, %s%s) for %d tests\n' "$name" \
	"$(cat "$build/include/config/kernel.release")" "$SMP" "$ACCEL" \
	"${emulator_version:+ of QEMU $emulator_version}${INTERLEAVE:+, interleaved}" \
	"$(wc -l <<<"$tests")"
start=$SECONDS
follow parse_line

end_if_not_started
emulator_said
if [ -z "$finished" ]; then
	why="ended before its time"
	! grep -q 'Kernel panic' "$console" || why=panicked
	[ -z "$hang" ] || why="gave no sign of life for $QUIET s"
	during=booting
	[ ! -s "$ktap" ] || during="between tests"
	fail "the guest $why (${test:-$during})"
fi
bad=$(troubled)
if [ -n "$bad" ]; then
	fail "kernel log clean"
	head -n 10 <<<"$bad" | sed 's/^/      | /'
else
	passed=$((passed + 1))
fi
[ "$failed" -eq 0 ] || show_console

[ "$skipped" -eq 0 ] || printf '== %s: %d skipped\n' "$name" "$skipped"
[ -z "$counts" ] || printf '%d %d\n' "$passed" "$failed" >"$counts"
printf '== %s: %d passed, %d failed, %d s\n' "$name" "$passed" "$failed" $((SECONDS - start))
[ "$failed" -eq 0 ]
