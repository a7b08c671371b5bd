#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Breaks one thing at a time, and looks whether the tests find it: see series/mutants/README.
#
#	series/scripts/mutants.sh [GLOB...]
#
# GLOB chooses among the names of series/mutants/*.diff. VARIANT= in the environment overrides
# the variant that a mutant names. The last line is `N passed, M failed`; a mutant passes if a
# test finds it.
#
# The mutants are applied to a copy of the project, out/mutants/top, which has a tree and builds
# of its own. While a guest tests one mutant, the kernel of the next one is built. Next to the
# copy there are
#	base/		what fails without a mutant, by variant and script
#	results/	what became of each mutant
#	log/		the output of builds and guests
# Results are kept until the mutant, the sources or the tests change.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

DIR=$OUT/mutants
# Several runs at a time, each with a WORKER= and a GLOB of its own, share the results.
WORKER=${WORKER:-}
COPY=$DIR/top$WORKER
# A guest that hangs has found its mutant. No script that a mutant names takes so long.
export TIMEOUT=${TIMEOUT:-300} QUIET=${QUIET:-200}
GUEST_MAX=${GUEST_MAX:-1200}
# The copy is no git repository, and is not to be taken for a part of this one.
export GIT_CEILING_DIRECTORIES=$DIR

mkdir -p "$DIR"/{base,results,log}
lock "mutants$WORKER"

# header MUTANT KEY: prints the words of the line KEY: in the mutant's header
header()
{
	sed -n "s/^$2: *//p;/^---/q" "$TOP/series/mutants/$1.diff"
}

variant_of()
{
	local own

	own=$(header "$1" Variant)
	printf '%s\n' "${VARIANT:-${own:-plain}}"
}

# kind_of MUTANT: prints the variant and the words of the kernel's command line, as one word
kind_of()
{
	local append

	append=$(header "$1" Append)
	printf '%s%s\n' "$(variant_of "$1")" "${append:++${append// /+}}"
}

# sources: prints the project's files that kernels and tests are made from
sources()
{
	own_files | grep -v '^Documentation/'
	(cd "$TOP" && find series/edits series/removed -type f | sort)
}

# copy_sources: brings the copy up to date; a file that does not differ keeps its time
copy_sources()
{
	(cd "$TOP" && own_files && find series Makefile -type f) | sort -u >"$DIR/files"
	mkdir -p "$COPY"
	rsync -rpc --files-from="$DIR/files" "$TOP/" "$COPY/"
	# Remove files that the sources no longer have.
	(cd "$COPY" && find . -path ./out -prune -o -type f -printf '%P\n' | sort) |
		comm -23 - "$DIR/files" | (cd "$COPY" && xargs -r -d '\n' rm -f)
}

# build VARIANT LOG: builds the copy's kernel
build()
{
	"$COPY/series/scripts/build.sh" "$1" </dev/null >"$2" 2>&1
}

# modules VARIANT LOG: builds the copy's test modules
modules()
{
	"$COPY/series/scripts/modules.sh" "$1" </dev/null >>"$2" 2>&1
}

guest=
# start_guest KIND LOG TEST...: runs tests in the background; returns when QEMU has read the kernel
start_guest()
{
	local variant=${1%%+*} log=$2 console=$COPY/out/log/console-mutant.log words root=()

	words=${1#"$variant"}
	shift 2
	# Tests of clients need the programs of the host.
	case " $*" in
	*" clients-"*)
		client_packages "$variant"
		root=(-R)
		;;
	esac
	rm -f "$console"
	set -m
	APPEND="${APPEND:-}${words//+/ }" timeout "$GUEST_MAX" "$COPY/series/scripts/guest.sh" "$variant" -n mutant \
		"${root[@]}" "$@" \
		</dev/null >"$log" 2>&1 &
	guest=$!
	set +m
	until [ -s "$console" ] || ! kill -0 "$guest" 2>/dev/null; do
		sleep 0.3
	done
}

# shellcheck disable=SC2317 # called by the trap
end_guest()
{
	[ -z "$guest" ] || kill -- "-$guest" 2>/dev/null || true
}
trap end_guest EXIT
trap 'exit 130' INT TERM HUP

# failures LOG: prints what failed in a guest, by the names of script and case
failures()
{
	sed -n 's/^   not ok: //p' "$1"
}

# base KIND TEST...: finds out what fails without a mutant
base()
{
	local kind=$1 variant=${1%%+*} test stamp missing=() log=$DIR/log/base-$1$WORKER

	shift
	mkdir -p "$DIR/base/$kind"
	for test; do
		stamp=$(cat "$DIR/base/$kind/$test.stamp" 2>/dev/null || true)
		[ "$stamp" = "$sources_stamp" ] || missing+=("$test")
	done
	if ! { build "$variant" "$log.build" && modules "$variant" "$log.build"; }; then
		die "$variant does not build without a mutant" "see ${log#"$TOP"/}.build"
	fi
	[ ${#missing[@]} -gt 0 ] || return 0
	say "$kind without a mutant: ${missing[*]}"
	start_guest "$kind" "$log" "${missing[@]}"
	wait "$guest" || true
	guest=
	! failures "$log" | grep -x 'kernel log clean' ||
		die "$kind: the log tells of trouble without a mutant" "see ${log#"$TOP"/}"
	for test in "${missing[@]}"; do
		grep -q "^   $test\.sh .*passed" "$log" ||
			die "$kind: $test does not get to its end without a mutant" \
				"see ${log#"$TOP"/}"
		{ failures "$log" | grep "^$test\.sh: " || true; } >"$DIR/base/$kind/$test"
		sed 's/^/   fails without a mutant: /' "$DIR/base/$kind/$test"
		printf '%s\n' "$sources_stamp" >"$DIR/base/$kind/$test.stamp"
	done
}

# new_failures LOG KIND: prints the failures that only the mutant causes
new_failures()
{
	failures "$1" | grep -vxF -f <(cat "$DIR/base/$2"/*) || true
}

found=0
not_found=0
# report MUTANT RESULT: counts and prints it
report()
{
	case $2 in
	found*) found=$((found + 1)) ;;
	*) not_found=$((not_found + 1)) ;;
	esac
	printf '%-28s %s\n' "$1" "$2"
}

# record MUTANT RESULT: reports and keeps it
record()
{
	printf '%s\n%s\n' "$(stamp "$1")" "$2" >"$DIR/results/$1"
	report "$1" "$2"
}

# stamp MUTANT: prints a hash of what its result depends on
stamp()
{
	{
		printf '%s %s\n' "$sources_stamp" "$(kind_of "$1")"
		cat "$TOP/series/mutants/$1.diff"
	} | sha256sum
}

# Which mutant the running guest tests
tested=
# judge: waits for the guest, and says whether it has found its mutant
judge()
{
	local log=$DIR/log/$tested new=

	[ -n "$tested" ] || return 0
	# One failure will do.
	while [ -z "$new" ] && kill -0 "$guest" 2>/dev/null; do
		sleep 1
		new=$(new_failures "$log" "$(kind_of "$tested")")
	done
	end_guest
	wait "$guest" 2>/dev/null || true
	guest=
	new=$(new_failures "$log" "$(kind_of "$tested")")
	if [ -n "$new" ]; then
		record "$tested" "found: $(head -n 1 <<<"$new")"
	elif grep -q '^== mutant: [0-9]* passed, [0-9]* failed' "$log"; then
		record "$tested" SURVIVED
	elif grep -q '^== mutant: booting' "$log"; then
		record "$tested" "found: no end in $GUEST_MAX s"
	else
		report "$tested" "the guest does not start, see ${log#"$TOP"/}"
	fi
	tested=
}

# Files that the mutant in the copy has changed
changed=()
# restore: takes the mutant out of the copy
restore()
{
	local file

	for file in "${changed[@]}"; do
		cp "$TOP/$file" "$COPY/$file"
	done
	changed=()
}

# apply MUTANT: puts it into the copy
apply()
{
	local diff=$TOP/series/mutants/$1.diff log=$DIR/log/$1.build

	patch -d "$COPY" -p1 --fuzz=0 --force --dry-run <"$diff" >"$log" 2>&1 || return
	mapfile -t changed < <(sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$diff")
	patch -d "$COPY" -p1 --fuzz=0 --force --no-backup-if-mismatch <"$diff" >"$log" 2>&1
}

# Set while the test modules have to be rebuilt: a mutant changes, or has changed, a header.
stale=
run()
{
	local mutant=$1 variant tests log=$DIR/log/$1.build

	variant=$(variant_of "$mutant")
	read -ra tests <<<"$(header "$mutant" Test)"
	restore
	if ! apply "$mutant"; then
		record "$mutant" "does not apply"
		return
	fi
	if ! build "$variant" "$log"; then
		record "$mutant" "does not build"
		return
	fi
	case ${changed[*]} in
	*.h*) stale=y ;;
	esac
	judge
	if [ -n "$stale" ]; then
		modules "$variant" "$log" || true
		[[ ${changed[*]} = *.h* ]] || stale=
	fi
	start_guest "$(kind_of "$mutant")" "$DIR/log/$mutant" "${tests[@]}"
	tested=$mutant
}

read -ra globs <<<"${*:-*}"
mutants=()
for file in "$TOP"/series/mutants/*.diff; do
	name=$(basename "$file" .diff)
	for glob in "${globs[@]}"; do
		# shellcheck disable=SC2053 # it is a glob
		[[ $name == $glob ]] || continue
		mutants+=("$name")
		break
	done
done
[ ${#mutants[@]} -gt 0 ] || die "no mutant has such a name: ${globs[*]}"

for mutant in "${mutants[@]}"; do
	for key in Why Test; do
		[ -n "$(header "$mutant" $key)" ] || die "series/mutants/$mutant.diff has no '$key:'"
	done
done

need_packages rsync patch
sources_stamp=$(cd "$TOP" && sources | xargs -d '\n' sha256sum | sha256sum)
todo=()
for mutant in "${mutants[@]}"; do
	if [ "$(head -n 1 "$DIR/results/$mutant" 2>/dev/null)" = "$(stamp "$mutant")" ]; then
		report "$mutant" "$(tail -n +2 "$DIR/results/$mutant")"
	else
		todo+=("$mutant")
	fi
done

if [ ${#todo[@]} -gt 0 ]; then
	copy_sources
	# by variant, so that each is built once
	for kind in $(for mutant in "${todo[@]}"; do kind_of "$mutant"; done | sort -u); do
		these=()
		for mutant in "${todo[@]}"; do
			[ "$(kind_of "$mutant")" != "$kind" ] || these+=("$mutant")
		done
		mapfile -t tests < <(for mutant in "${these[@]}"; do
			header "$mutant" Test | tr ' ' '\n'
		done | sort -u)
		base "$kind" "${tests[@]}"
		for mutant in "${these[@]}"; do
			run "$mutant"
		done
		judge
		restore
	done
fi
printf '%d passed, %d failed\n' "$found" "$not_found"
[ "$not_found" -eq 0 ]
