#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the variants one after the other. While the next one is being built, a guest runs the
# tests of the last one that need no programs of the host. When all are built, other guests follow,
# two at a time: one of `default` with the host's programs, for clients-*.sh; and short ones for
# tests that need a kernel command line of their own. The last line says how many tests passed and
# failed in all guests.
#
#	series/scripts/test.sh VARIANT[,VARIANT...] [TEST...]
#
# Without TEST, runs all tests that a variant can run; with SUITE="SUITE...", those of them that
# belong to these suites.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=series/scripts/guests.sh
. "$(dirname "$0")/guests.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/scripts/test.sh VARIANTS [TEST...]}"
shift
start=$(date +%s)

plain=()
asked=()
read -ra suites <<<"${SUITE:-}"
check_suites "${suites[@]}" || exit
[ $# -eq 0 ] || [ ${#suites[@]} -eq 0 ] || die "TESTS= and SUITE= both choose tests: give one of them"
# $whole is set if no TEST was given: then run all tests that a variant can run, or all tests of the
# suites in SUITE=.
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
# The names of all guests, for the report at the end; and the names of those that were left out
# because of DEADLINE=, see sum.sh
names=()
left_out=()

# reap: waits until one of the running guests has ended, and counts its results
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
	# Run it in a process group of its own, so that end_guests() can kill all of its processes.
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

built=()
for variant in "${variants[@]}"; do
	# Once the last variant is built, no build needs a CPU any more: then run two guests at
	# once.
	[ "$variant" != "${variants[-1]}" ] || slots=2
	# Debian's archive may lack packages that the guests of a variant need. Then count a
	# failure, and test the other variants.
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
	# If no TEST was given, i386 runs the tests of clients only if `default` does not.
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
	# On a busy host the longest script takes more than ten minutes, but no case of it does.
	quiet=${QUIET:-$((${TIMEOUT:-600} + 60))}
	QUIET=$quiet TIMEOUT=${TIMEOUT:-1800} guest "$variant-clients" "$variant" "${root[@]}" "${these[@]}"
done

[ -z "$whole" ] || guests_of_their_own
while [ ${#running[@]} -gt 0 ]; do
	reap
done
# Print the failures of all guests once more: the first time they were printed far above.
for name in "${names[@]}"; do
	grep -E '^[^ ]+ +not ok: ' "$OUT/log/guest-$name.log" || true
done
[ ${#left_out[@]} -eq 0 ] || say "guests left out, since time is over: ${left_out[*]}"
say "${#variants[@]} variants (${variants[*]}) in $(($(date +%s) - start)) s"
sum_up
