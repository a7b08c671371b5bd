#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the variants and runs the tests in each. Those of clients, clients-*.sh,
# run where all clients are configured, in a guest of their own, which has the
# host's programs. The last line says how many passed and failed in all of them.
#
#	series/test.sh VARIANT[,VARIANT...] [TEST...]

set -euo pipefail
# shellcheck source=series/lib.sh
. "$(dirname "$0")/lib.sh"

IFS=', ' read -ra variants <<<"${1:?usage: series/test.sh VARIANTS [TEST...]}"
shift
start=$(date +%s)
passed=0
failed=0

# clients-ftrace.sh takes long and has little to do with probes, see `make test-clients`
clients=(clients-bpf clients-dynevents clients-events clients-inject clients-kernel
	clients-perf clients-together)
plain=()
asked=()
for test; do
	case $test in
	clients-*) asked+=("$test") ;;
	*) plain+=("$test") ;;
	esac
done

# run_guest NAME ARGUMENT...: of guest.sh, and counts
run_guest()
{
	local counts=$OUT/log/vmtest-$1.counts p f
	local variant=$2

	shift 2
	rm -f "$counts"
	"$TOP/series/guest.sh" "$variant" -r "$counts" "$@" || true
	read -r p f <"$counts" || { p=0 f=1; }
	passed=$((passed + p))
	failed=$((failed + f))
}

for variant in "${variants[@]}"; do
	if ! { "$TOP/series/build.sh" "$variant" && "$TOP/series/modules.sh" "$variant"; }; then
		failed=$((failed + 1))
		continue
	fi
	if [ $# -eq 0 ] || [ ${#plain[@]} -gt 0 ]; then
		run_guest "$variant" "$variant" "${plain[@]}"
	fi
	these=("${asked[@]}")
	[ $# -ne 0 ] || [ "$variant" != server ] || these=("${clients[@]}")
	if [ ${#these[@]} -gt 0 ]; then
		client_packages
		TIMEOUT=${TIMEOUT:-600} run_guest "$variant-clients" "$variant" -R \
			-n "$variant-clients" "${these[@]}"
	fi
done

# What alternatives may still patch is there only until a second CPU comes up.
if [ $# -eq 0 ] && [ -e "$OUT/build/${variants[0]}/arch/x86/boot/bzImage" ]; then
	APPEND="${APPEND:-} maxcpus=1" run_guest one-cpu "${variants[0]}" -n one-cpu api
fi
# Nothing traces functions any more after that.
if [ $# -eq 0 ] && [[ " ${variants[*]} " == *" server "* ]] &&
	[ -e "$OUT/build/server/arch/x86/boot/bzImage" ]; then
	APPEND="${APPEND:-} kp_kill_ftrace" run_guest ftrace-dead server -n ftrace-dead ftrace-dead
fi
say "${#variants[@]} variants (${variants[*]}) in $(($(date +%s) - start)) s"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
