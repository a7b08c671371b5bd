#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the variants and runs the tests in each. Those of clients, clients-*.sh,
# run in the variants `default` and `i386` only, in a guest of their own, which has the
# host's programs, or the same for i386; it runs beside the next variant's builds and
# tests, since it needs one CPU for minutes. What needs a kernel command line of its own
# follows in short guests, most of them of `default` and `i386`. The last line says how many
# passed and failed in all of them.
#
#	series/scripts/test.sh VARIANT[,VARIANT...] [TEST...]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/scripts/test.sh VARIANTS [TEST...]}"
shift
start=$(date +%s)
passed=0
failed=0

# clients-ftrace.sh takes long and has little to do with probes, see `make test-clients`
clients=(clients-bpf clients-bpf-events clients-dynevents clients-events clients-inject
	clients-kernel clients-perf clients-together)
plain=()
asked=()
for test; do
	case $test in
	clients-*) asked+=("$test") ;;
	*) plain+=("$test") ;;
	esac
done

# run_guest NAME VARIANT ARGUMENT...: guest.sh with these arguments
run_guest()
{
	local counts=$OUT/log/vmtest-$1.counts
	local variant=$2

	shift 2
	rm -f "$counts"
	"$TOP/series/scripts/guest.sh" "$variant" -r "$counts" "$@" || true
}

# count_guest NAME
count_guest()
{
	local p f

	read -r p f <"$OUT/log/vmtest-$1.counts" || { p=0 f=1; }
	passed=$((passed + p))
	failed=$((failed + f))
}

# The guest that runs beside others: its name, and its processes.
beside=
beside_pid=

run_beside()
{
	beside=$1
	say "$beside: running meanwhile, to be shown at the end"
	# with a process group, so that all of it can be ended
	set -m
	run_guest "$@" >"$OUT/log/beside.log" 2>&1 </dev/null &
	beside_pid=$!
	set +m
}

# shellcheck disable=SC2317 # called by the trap
end_beside()
{
	[ -z "$beside_pid" ] || kill -- "-$beside_pid" 2>/dev/null || true
}
trap end_beside EXIT

for variant in "${variants[@]}"; do
	if ! { "$TOP/series/scripts/build.sh" "$variant" && "$TOP/series/scripts/modules.sh" "$variant"; }; then
		failed=$((failed + 1))
		continue
	fi
	if [ $# -eq 0 ] || [ ${#plain[@]} -gt 0 ]; then
		run_guest "$variant" "$variant" "${plain[@]}"
		count_guest "$variant"
	fi
	these=("${asked[@]}")
	case $#$variant in
	0default | 0i386) these=("${clients[@]}") ;;
	esac
	if [ ${#these[@]} -gt 0 ]; then
		client_packages "$variant"
		how=run_beside
		[ "$variant" != "${variants[-1]}" ] && [ -z "$beside" ] || how=run_guest
		TIMEOUT=${TIMEOUT:-600} "$how" "$variant-clients" "$variant" -R \
			-n "$variant-clients" "${these[@]}"
		[ "$how" = run_beside ] || count_guest "$variant-clients"
	fi
done

if [ -n "$beside" ]; then
	wait "$beside_pid" || true
	beside_pid=
	cat "$OUT/log/beside.log"
	count_guest "$beside"
fi

# short_guest VARIANT NAME TEST WORD...: one test of a variant, with words on the
# kernel's command line
short_guest()
{
	local variant=$1 name=$2 test=$3

	shift 3
	APPEND="${APPEND:-} $*" run_guest "$name" "$variant" -n "$name" "$test"
	count_guest "$name"
}

# has_kernel VARIANT: it is one of those that all tests run in, and was built
has_kernel()
{
	[[ " ${variants[*]} " == *" $1 "* ]] &&
		[ -e "$OUT/build/$1/arch/x86/boot/bzImage" ]
}

# boot_events OFFSET: probes for the kernel's command line. OFFSET is where the second
# instruction of a function begins, behind ftrace's call. What the kernel's own init code does is
# over when a test starts.
boot_events()
{
	local events="p:kpboot/enter,kernel_clone;r:kpboot/leave,kernel_clone"

	events+=";p:kpinit/console,console_on_rootfs;p:kpinit/inside,console_on_rootfs+$1"
	events+=";p:kpinit/late,_xbc_exit;p:kpinit/later,_xbc_exit+$1"
	printf 'kprobe_event=%s\n' "$events"
}

# short_guests VARIANT PREFIX OFFSET: those of a variant that is built as distributions do; PREFIX
# is of their names, OFFSET as for boot_events
short_guests()
{
	# What alternatives may still patch is there only until a second CPU comes up.
	short_guest "$1" "$2one-cpu" api maxcpus=1
	short_guest "$1" "$2boot-events" boot-events "$(boot_events "$3")"
	# A handler that oopses switches lockdep off, among others.
	short_guest "$1" "$2oops" context-oops kp_oops
	# Nothing traces functions any more after that.
	short_guest "$1" "$2ftrace-dead" ftrace-dead kp_kill_ftrace
}

if [ $# -eq 0 ] && has_kernel default; then
	# An endbr is in front of the call.
	short_guests default '' 9
	# Returns go by way of thunks: those in the lower half of a cacheline, or all.
	short_guest default returns-its opt-return-thunks spectre_v2=retpoline \
		indirect_target_selection=force
	CPU=max,family=23,model=1 \
		short_guest default returns-unret opt-return-thunks retbleed=unret spec_rstack_overflow=off
fi
if [ $# -eq 0 ] && has_kernel i386; then
	short_guests i386 i386- 5
fi
if [ $# -eq 0 ] && has_kernel plain; then
	# Where all functions can be probed, those among them that tracers leave alone.
	short_guest plain plain-boot-events boot-events "$(boot_events 9)"
fi
if [ $# -eq 0 ] && has_kernel debug; then
	short_guest debug debug-oops context-oops kp_oops
fi
say "${#variants[@]} variants (${variants[*]}) in $(($(date +%s) - start)) s"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
