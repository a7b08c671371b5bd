#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the tests of the variant default in Bochs, on processors that QEMU does not emulate: one that
# enforces IBT, or one with FRED, which enforces IBT as well. Debian's Bochs emulates the first
# since trixie, and the second since forky; it is unpacked in out, and not installed. Bochs is many
# times slower than QEMU. So tests that would take long are left out, and so are tests that need a
# kernel command line of their own, except one that runs with ibt=off.
#
#	series/scripts/bochs.sh ibt|fred [TEST...]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

feature=${1:?usage: series/scripts/bochs.sh ibt|fred [TEST...]}
shift
case $feature in
ibt)
	release=trixie
	message='CET detected: Indirect Branch Tracking enabled'
	;;
fred)
	release=forky
	message='Initialize FRED on CPU0'
	export CPU=wildcat_lake APPEND="fred=on ${APPEND:-}"
	;;
*) die "no '$feature': ibt or fred" ;;
esac
start=$(date +%s)
# The names of all guests, for the report at the end
guests=()

# Left out because they take too long in Bochs: tests under load, and tests that look at thousands
# of functions or run all other scripts
slow='api-nomem|api-self|fuzz-interfaces|insn-functions|insn-lib-tests'
slow+='|kretprobe-tasks|opt-coverage|scripts|torture'
# Left out because they would be skipped: they need words on the kernel's command line
special='boot-events|context-oops|ftrace-dead|kexec|power|opt-bpf-interpreter|opt-return-thunks'

# run_guest NAME TEST...: runs tests in Bochs, and counts their results
run_guest()
{
	local name=$1 log=$OUT/log/guest-$1.log

	shift
	guests+=("$name")
	TIMEOUT=${TIMEOUT:-5400} \
		"$TOP/series/scripts/guest.sh" default -n "$name" "$@" </dev/null 2>&1 |
		sed -u "s/^/$name: /" | tee "$log" || true
	add_results "$log"
}

# check_feature NAME: did that guest's kernel use the feature?
check_feature()
{
	if grep -q "$message" "$OUT/log/console-$1.log"; then
		ok "$1: the kernel uses $feature"
	else
		not_ok "$1: the kernel uses $feature"
	fi
}

"$TOP/series/scripts/build.sh" default
"$TOP/series/scripts/modules.sh" default
# Bochs depends on one of several front ends; bochs-term is the smallest.
export BOCHS=$SHARED/bochs-$release
unpack_once "$BOCHS" "bochs bochs-term bochsbios genisoimage isolinux syslinux-common:amd64" "$release" \
	"unpack $release's bochs and what it needs in ${BOCHS#"$TOP"/}" all
if [ $# -gt 0 ]; then
	run_guest "$feature" "$@"
	check_feature "$feature"
else
	mapfile -t tests < <(test_programs "$OUT/linux" | grep -vxE "$slow|$special")
	run_guest "$feature" "${tests[@]}"
	check_feature "$feature"
	[ "$feature" != ibt ] || APPEND="${APPEND:-} ibt=off" run_guest ibt-off insn-ibt
fi
for name in "${guests[@]}"; do
	grep -E '^[^ ]+ +not ok: ' "$OUT/log/guest-$name.log" || true
done
say "default with $feature in $(($(date +%s) - start)) s"
sum_up
