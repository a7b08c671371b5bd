# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154
#
# Defines the guests that the tests need in addition to a variant's first one. Scripts source this
# file. They must define
#	guest NAME VARIANT ARGUMENT...	runs guest.sh with these arguments
#	has_kernel VARIANT		was the variant's kernel built, and are its tests to be run?
#	suites				the suites whose tests are to be run; all if empty

# All clients-*.sh except clients-ftrace.sh, which takes long and has little to do with probes: only
# `make test-clients` runs that.
clients=(clients-bpf clients-bpf-events clients-bpf-multi clients-dynevents clients-events
	clients-inject clients-kernel clients-perf clients-places clients-together)

# of_suites TEST...: prints the tests that belong to a suite in $suites, or all if that is empty
of_suites()
{
	[ $# -gt 0 ] || return 0
	if [ ${#suites[@]} -eq 0 ]; then
		printf '%s\n' "$@"
	else
		printf '%s\n' "$@" | in_suites "${suites[@]}"
	fi
}

# short_guest VARIANT NAME TESTS WORD...: runs a few tests of a variant in a guest with WORDs on the
# kernel's command line. Starts no guest if none of the tests belongs to a suite in $suites.
short_guest()
{
	local variant=$1 name=$2 tests

	read -ra tests <<<"$3"
	mapfile -t tests < <(of_suites "${tests[@]}")
	[ ${#tests[@]} -gt 0 ] || return 0
	shift 3
	APPEND="${APPEND:-} $*" guest "$name" "$variant" "${tests[@]}"
}

# boot_events_guest VARIANT NAME OFFSET: runs boot-events in a guest that has probe events on the
# kernel's command line and in its boot configuration; OFFSET as for boot_events
boot_events_guest()
{
	BOOTCONFIG=$TOP/$SELFTESTS/boot-events.bootconfig \
		short_guest "$1" "$2" boot-events "$(boot_events "$3")"
}

# boot_events OFFSET: prints probe events for the kernel's command line. OFFSET is the offset of the
# instruction after ftrace's call in a function. These events, unlike those that a test creates, can
# be on functions that run only while the kernel boots.
boot_events()
{
	local events="p:kpboot/enter,kernel_clone;r:kpboot/leave,kernel_clone"

	events+=";p:kpinit/console,console_on_rootfs;p:kpinit/inside,console_on_rootfs+$1"
	events+=";p:kpinit/late,_xbc_exit;p:kpinit/later,_xbc_exit+$1"
	# With trace_event=, the ring buffer has its full size from the start. Otherwise it has only
	# one page for each CPU, and on a slow machine later events may overwrite those of the boot.
	printf 'trace_event= kprobe_event=%s\n' "$events"
}

# short_guests VARIANT PREFIX OFFSET: starts the short guests of a variant whose configuration is
# like those of distributions; the guests' names begin with PREFIX; OFFSET as for boot_events
short_guests()
{
	# The tests need a kernel with one CPU: when a second CPU is up, SMP alternatives will not
	# patch lock prefixes any more, so probes on these are not refused.
	short_guest "$1" "$2one-cpu" api maxcpus=1
	short_guest "$1" "$2one-cpu-explain" api-explain maxcpus=1
	boot_events_guest "$1" "$2boot-events" "$3"
	# An oops disables lockdep, among other things, until the next boot.
	short_guest "$1" "$2oops" "context-oops torture" "kp_oops TORTURE_S=5"
	# After ftrace-dead, the function tracer is unusable until the next boot. What ftrace still
	# calls must not be freed: clear all memory that is.
	short_guest "$1" "$2ftrace-dead" ftrace-dead "kp_kill_ftrace init_on_free=1"
	# The test kexec replaces the kernel with another program.
	short_guest "$1" "$2kexec" kexec kp_kexec
}

# guests_of_their_own: starts the short guests of all variants that were built
guests_of_their_own()
{
	local words

	if has_kernel default; then
		# The instruction after ftrace's call is at offset 9: endbr and the call have 4 and
		# 5 bytes.
		short_guests default '' 9
		# The workers of return probes' pools must not run on an isolated CPU.
		short_guest default isolated kretprobe-pool isolcpus=1
		# In this guest, no task is preempted in the kernel.
		short_guest default preempt-none kretprobe preempt=none
		# Returns use return thunks: with ITS, those in the lower half of a cache line; with
		# retbleed=unret, all.
		short_guest default returns-its opt-return-thunks spectre_v2=retpoline \
			indirect_target_selection=force
		CPU=max,family=23,model=1 \
			short_guest default returns-unret opt-return-thunks retbleed=unret spec_rstack_overflow=off
		# With call depth tracking, return thunks count the returns, and change flags.
		CPU=max,vendor=GenuineIntel,family=6,model=94,stepping=3 \
			short_guest default returns-depth "opt-return-thunks insn-flags kretprobe-stacks" \
			retbleed=stuff spectre_v2=retpoline
	fi
	if has_kernel i386; then
		short_guests i386 i386- 5
	fi
	if has_kernel plain; then
		# Without the function tracer, probe events may be on notrace functions, too.
		boot_events_guest plain plain-boot-events 9
	fi
	if has_kernel debug; then
		short_guest debug debug-oops "context-oops torture" "kp_oops TORTURE_S=5"
	fi
	if has_kernel power; then
		# After the hibernation, another kernel boots and loads the image. The probes on its
		# command line are hit while it loads the image.
		words="kp_power no_console_suspend resume=/dev/vda kprobe_event=p:kpboot/read,swsusp_read"
		words+=";p:kpboot/restore,hibernation_restore;r:kpboot/back,hibernation_restore"
		words+=";p:kpboot/down,syscore_suspend"
		SWAP=1G TIMEOUT=${TIMEOUT:-3000} short_guest power power-sleep power "$words"
		# On a CPU of this model, 32-bit processes enter the kernel with sysenter; in all
		# other guests, with syscall.
		CPU=max,vendor=GenuineIntel,family=6,model=94,stepping=3 \
			short_guest power power-sysenter context-compat retbleed=stuff spectre_v2=retpoline
		# On CPUs 1 to 3, RCU does not watch user space, so the entry code has to tell RCU
		# when a CPU enters the kernel.
		short_guest power power-nohz-full "api context-same kretprobe torture" nohz_full=1-3 \
			TORTURE_S=5
	fi
}
