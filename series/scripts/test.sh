#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the variants and runs the tests in each: first tests that need no programs of the
# host, while the next variant is being built. Then other guests follow, two at a time: one of
# `default` with the host's programs, for clients-*.sh; and short ones for tests that need a
# kernel command line of their own. The last line says how many tests passed and failed in all
# guests.
#
#	series/scripts/test.sh VARIANT[,VARIANT...] [TEST...]
#
# SUITE="SUITE..." runs the tests of these suites in all these guests.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/scripts/test.sh VARIANTS [TEST...]}"
shift
start=$(date +%s)

# clients-ftrace.sh takes long and has little to do with probes, see `make test-clients`
clients=(clients-bpf clients-bpf-events clients-bpf-multi clients-dynevents clients-events
	clients-inject clients-kernel clients-perf clients-places clients-together)
plain=()
asked=()
read -ra suites <<<"${SUITE:-}"
check_suites "${suites[@]}" || exit
[ $# -eq 0 ] || [ ${#suites[@]} -eq 0 ] || die "TESTS= and SUITE= both choose tests: give one of them"
# Set if no single tests are asked for: run all that a variant can run, or all of the suites.
whole=
[ $# -ne 0 ] || whole=y
if [ ${#suites[@]} -gt 0 ]; then
	mapfile -t plain < <(test_programs "$TOP" | in_suites "${suites[@]}")
fi
for test; do
	case $test in
	clients-*) asked+=("$test") ;;
	*) plain+=("$test") ;;
	esac
done

# run_guest NAME VARIANT ARGUMENT...: runs guest.sh with these arguments
run_guest()
{
	local name=$1 variant=$2

	shift 2
	"$TOP/series/scripts/guest.sh" "$variant" -n "$name" \
		-r "$OUT/log/vmtest-$name.counts" "$@" </dev/null 2>&1 || true
}

# The names of the running guests, by process id; and how many may run at once
declare -A running=()
slots=1
# The names of all guests, for the report at the end; and of those that DEADLINE, see sum.sh, has
# left out
names=()
left_out=()

# reap: waits for a guest, and counts its results
reap()
{
	local pid name p f

	wait -n -p pid "${!running[@]}" || true
	name=${running[$pid]}
	unset "running[$pid]"
	read -r p f 2>/dev/null <"$OUT/log/vmtest-$name.counts" || { p=0 f=1; }
	passed=$((passed + p))
	failed=$((failed + f))
}

# guest NAME VARIANT ARGUMENT...: starts run_guest in the background once fewer than $slots
# guests run. Each line of its output names the guest.
guest()
{
	while [ ${#running[@]} -ge "$slots" ]; do
		reap
	done
	if is_late; then
		left_out+=("$1")
		return
	fi
	rm -f "$OUT/log/vmtest-$1.counts"
	# In a process group of its own, so that all of it can be killed.
	set -m
	run_guest "$@" > >(sed -u "s/^/$1: /" | tee "$OUT/log/guest-$1.log") &
	names+=("$1")
	running[$!]=$1
	set +m
}

# shellcheck disable=SC2317 # called by the trap
end_guests()
{
	local pid

	for pid in "${!running[@]}"; do
		kill -- "-$pid" 2>/dev/null || true
	done
}
trap end_guests EXIT

# has_kernel VARIANT: is it one of the variants that run all tests, and was it built?
has_kernel()
{
	[[ " ${built[*]} " == *" $1 "* ]]
}

# of_suites TEST...: prints the tests that belong to the suites in SUITE=, or all without it
of_suites()
{
	[ $# -gt 0 ] || return 0
	if [ ${#suites[@]} -eq 0 ]; then
		printf '%s\n' "$@"
	else
		printf '%s\n' "$@" | in_suites "${suites[@]}"
	fi
}

built=()
for variant in "${variants[@]}"; do
	# While the tests of the last variant run, nothing is left to be built.
	[ "$variant" != "${variants[-1]}" ] || slots=2
	# What its guests need may be missing from Debian's archive; the results of others stand.
	if ! (guest_packages "$variant"); then
		say "$variant is left out, and counts as 1 failed: its guests cannot be started here"
		failed=$((failed + 1))
		continue
	fi
	if ! "$TOP/series/scripts/modules.sh" "$variant"; then
		failed=$((failed + 1))
		continue
	fi
	built+=("$variant")
	if { [ $# -eq 0 ] && [ ${#suites[@]} -eq 0 ]; } || [ ${#plain[@]} -gt 0 ]; then
		guest "$variant" "$variant" "${plain[@]}"
	fi
done

for variant in "${built[@]}"; do
	these=("${asked[@]}")
	# One run of the clients' tests will do if both variants are tested.
	case $whole$variant in
	ydefault | yrt) these=("${clients[@]}") ;;
	yi386) has_kernel default || these=("${clients[@]}") ;;
	y*)
		if is_foreign "$variant"; then
			# tests that need no program of the guest's architecture except busybox
			these=(clients-dynevents clients-events)
		elif [ ${#suites[@]} -gt 0 ]; then
			these=("${clients[@]}")
		fi
		;;
	esac
	[ -z "$whole" ] || mapfile -t these < <(of_suites "${these[@]}")
	[ ${#these[@]} -gt 0 ] || continue
	root=()
	if ! is_foreign "$variant"; then
		client_packages "$variant"
		root=(-R)
	fi
	TIMEOUT=${TIMEOUT:-600} guest "$variant-clients" "$variant" "${root[@]}" "${these[@]}"
done

# short_guest VARIANT NAME TESTS WORD...: a few tests of a variant, with words on the
# kernel's command line; none if no test is of the suites
short_guest()
{
	local variant=$1 name=$2 tests

	read -ra tests <<<"$3"
	mapfile -t tests < <(of_suites "${tests[@]}")
	[ ${#tests[@]} -gt 0 ] || return 0
	shift 3
	APPEND="${APPEND:-} $*" guest "$name" "$variant" "${tests[@]}"
}

# boot_events_guest VARIANT NAME OFFSET: with events on the command line, and in the boot
# configuration
boot_events_guest()
{
	BOOTCONFIG=$TOP/$SELFTESTS/boot-events.bootconfig \
		short_guest "$1" "$2" boot-events "$(boot_events "$3")"
}

# boot_events OFFSET: prints probes for the kernel's command line. OFFSET is the one of a
# function's second instruction, after ftrace's call. These probes can be on the kernel's own
# init code, which no longer runs when a test starts.
boot_events()
{
	local events="p:kpboot/enter,kernel_clone;r:kpboot/leave,kernel_clone"

	events+=";p:kpinit/console,console_on_rootfs;p:kpinit/inside,console_on_rootfs+$1"
	events+=";p:kpinit/late,_xbc_exit;p:kpinit/later,_xbc_exit+$1"
	printf 'kprobe_event=%s\n' "$events"
}

# short_guests VARIANT PREFIX OFFSET: starts the short guests of a variant that is configured as
# distributions do; their names begin with PREFIX; OFFSET as for boot_events
short_guests()
{
	# The locks that SMP alternatives may patch are reserved only until a second CPU is up.
	short_guest "$1" "$2one-cpu" api maxcpus=1
	short_guest "$1" "$2one-cpu-explain" api-explain maxcpus=1
	boot_events_guest "$1" "$2boot-events" "$3"
	# An oops switches lockdep off, among others.
	short_guest "$1" "$2oops" "context-oops torture" "kp_oops TORTURE_S=5"
	# The function tracer is unusable after that.
	short_guest "$1" "$2ftrace-dead" ftrace-dead kp_kill_ftrace
	# Another program takes the kernel's place.
	short_guest "$1" "$2kexec" kexec kp_kexec
}

if [ -n "$whole" ] && has_kernel default; then
	# An endbr is in front of the call.
	short_guests default '' 9
	# The pools leave an isolated CPU alone.
	short_guest default isolated kretprobe-pool isolcpus=1
	# No task is preempted in the kernel.
	short_guest default preempt-none kretprobe preempt=none
	# Returns use return thunks: those in the lower half of a cache line, or all.
	short_guest default returns-its opt-return-thunks spectre_v2=retpoline \
		indirect_target_selection=force
	CPU=max,family=23,model=1 \
		short_guest default returns-unret opt-return-thunks retbleed=unret spec_rstack_overflow=off
	# Returns count calls (call depth tracking), and change flags.
	CPU=max,vendor=GenuineIntel,family=6,model=94,stepping=3 \
		short_guest default returns-depth "opt-return-thunks insn-flags kretprobe-stacks" \
		retbleed=stuff spectre_v2=retpoline
fi
if [ -n "$whole" ] && has_kernel i386; then
	short_guests i386 i386- 5
fi
if [ -n "$whole" ] && has_kernel plain; then
	# Without the function tracer, notrace functions can be probed by events, too.
	boot_events_guest plain plain-boot-events 9
fi
if [ -n "$whole" ] && has_kernel debug; then
	short_guest debug debug-oops "context-oops torture" "kp_oops TORTURE_S=5"
fi
if [ -n "$whole" ] && has_kernel power; then
	# The kernel that loads the image has these probes.
	words="kp_power no_console_suspend resume=/dev/vda kprobe_event=p:kpboot/read,swsusp_read"
	words+=";p:kpboot/restore,hibernation_restore;r:kpboot/back,hibernation_restore"
	words+=";p:kpboot/down,syscore_suspend"
	SWAP=1G TIMEOUT=${TIMEOUT:-3000} short_guest power power-sleep power "$words"
	# 32-bit processes enter the kernel by sysenter here, by syscall elsewhere.
	CPU=max,vendor=GenuineIntel,family=6,model=94,stepping=3 \
		short_guest power power-sysenter context-compat retbleed=stuff spectre_v2=retpoline
	# The entry code tells RCU when a CPU leaves user space.
	short_guest power power-nohz-full "api context-same kretprobe torture" nohz_full=1-3 \
		TORTURE_S=5
fi
while [ ${#running[@]} -gt 0 ]; do
	reap
done
# Repeat the tests that failed: their messages are far above.
for name in "${names[@]}"; do
	grep -E '^[^ ]+ +not ok: ' "$OUT/log/guest-$name.log" || true
done
[ ${#left_out[@]} -eq 0 ] || say "guests left out, since time is over: ${left_out[*]}"
say "${#variants[@]} variants (${variants[*]}) in $(($(date +%s) - start)) s"
sum_up
