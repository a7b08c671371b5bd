#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Mutation test of the tests: breaks one thing in the kernel at a time, and checks whether a test
# then fails. See series/mutants/README.
#
#	series/scripts/mutants.sh [GLOB...]
#	series/scripts/mutants.sh --random COUNT SEED
#
# GLOB chooses among the names of series/mutants/*.diff. VARIANT= in the environment overrides
# the variant that a mutant names. The last line is `N passed, M failed`; a mutant passes if a
# test finds it.
#
# The mutants are applied to a copy of the project, out/mutants/top, which has a tree and builds
# of its own. While a guest tests one mutant, the kernel of the next one is built. out/mutants also
# has
#	base/		the tests that fail without a mutant, by variant and script
#	results/	for each mutant, whether a test has found it
#	log/		the output of builds and guests
# Results are kept until the mutant, the sources or the tests change.
#
# With --random, random-mutants.pl makes the mutants, in out/mutants-random/top, and all are in one
# kernel. out/mutants-random also has
#	list		the mutants
#	dropped		names of the mutants that the compiler refuses, or warns about
#	guess/		scripts to try for lines that only the boot executes, or for all lines if
#			there are no results of `make coverage`: those scripts that find mutants
#			of series/mutants in the same file
# If a script has found a random mutant, that result is kept until the mutant changes.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

random=
if [ "${1:-}" = --random ]; then
	random=${2:?usage: series/scripts/mutants.sh --random COUNT SEED}
	seed=${3:?usage: series/scripts/mutants.sh --random COUNT SEED}
	set --
	VARIANT=${VARIANT:-default}
	QUIET=${QUIET:-100}
	# How long the scripts that are tried for one mutant may take together, in seconds
	SCRIPTS_MAX=${SCRIPTS_MAX:-300}
fi
DIR=$OUT/mutants${random:+-random}
# Several runs at a time, each with a WORKER= and a GLOB of its own, share the results in $DIR. Each
# has its own copy of the project.
WORKER=${WORKER:-}
COPY=$DIR/top$WORKER
# TIMEOUT and QUIET: see vmtest.sh -h. GUEST_MAX: seconds after which a guest is killed. If a guest
# hangs, its mutant counts as found: without a mutant, no script that a mutant names takes as long
# as TIMEOUT.
export TIMEOUT=${TIMEOUT:-300} QUIET=${QUIET:-200}
GUEST_MAX=${GUEST_MAX:-1200}
# The copy is not a git repository: keep git from using the repository of the project, which is
# around it.
export GIT_CEILING_DIRECTORIES=$DIR

mkdir -p "$DIR"/{base,results,log}
lock "mutants$WORKER"

# field MUTANT N: prints a field of a random mutant's line in the list
field()
{
	awk -F '\t' -v name="$1" -v n="$2" '$2 == name { print $n }' "$DIR/list"
}

# header MUTANT KEY: prints the words of the line KEY: in the mutant's header
header()
{
	if [ -n "$random" ]; then
		[ "$2" != Test ] || field "$1" 8
		return
	fi
	sed -n "s/^$2: *//p;/^---/q" "$TOP/series/mutants/$1.diff"
}

variant_of()
{
	local own

	own=$(header "$1" Variant)
	printf '%s\n' "${VARIANT:-${own:-plain}}"
}

# kind_of MUTANT: prints the variant and the mutant's words for the kernel's command line, joined
# by +. Mutants with the same output are tested in guests of one kind, called KIND below.
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

# copy_sources: updates the copy of the project. Files that do not differ keep their time, so that
# make does not rebuild their objects.
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
# start_guest KIND LOG TEST...: runs tests in a guest in the background. Returns when the guest
# boots, since from then on QEMU does not read the kernel's file any more.
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

# failures LOG: prints the names of script and case of each test that failed in a guest
failures()
{
	sed -n 's/^   not ok: //p' "$1"
}

# base KIND TEST...: builds the kernel without a mutant, and finds out which tests fail with it
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
		die "$kind: the log has warnings or errors without a mutant" "see ${log#"$TOP"/}"
	for test in "${missing[@]}"; do
		grep -q "^   $test\.sh .*passed" "$log" ||
			die "$kind: $test does not get to its end without a mutant" \
				"see ${log#"$TOP"/}"
		{ failures "$log" | grep "^$test\.sh: " || true; } >"$DIR/base/$kind/$test"
		sed 's/^/   fails without a mutant: /' "$DIR/base/$kind/$test"
		printf '%s\n' "$sources_stamp" >"$DIR/base/$kind/$test.stamp"
	done
}

# new_failures LOG KIND: prints the failures in a log that do not occur without a mutant
new_failures()
{
	failures "$1" | grep -vxF -f <(cat "$DIR/base/$2"/* 2>/dev/null) || true
}

# report MUTANT RESULT: counts and prints the result
report()
{
	case $2 in
	found*) passed=$((passed + 1)) ;;
	*) failed=$((failed + 1)) ;;
	esac
	printf '%-28s %s\n' "$1" "$2"
}

# record MUTANT RESULT: reports the result, and saves it for later runs
record()
{
	printf '%s\n%s\n' "$(stamp "$1")" "$2" >"$DIR/results/$1"
	report "$1" "$2"
}

# known MUTANT: reports the result of an earlier run; fails if there is none that still holds. What
# has found a random mutant counts until the mutant, and so its name, changes.
known()
{
	local stamp result

	{ read -r stamp && read -r result; } 2>/dev/null <"$DIR/results/$1" || return 1
	[[ -n $random && $result == found* ]] || [ "$stamp" = "$(stamp "$1")" ] || return 1
	report "$1" "$result"
}

# stamp MUTANT: prints a hash of what its result depends on
stamp()
{
	{
		printf '%s %s\n' "$sources_stamp" "$(kind_of "$1")"
		if [ -n "$random" ]; then
			field "$1" 8
			echo "$SCRIPTS_MAX"
		else
			cat "$TOP/series/mutants/$1.diff"
		fi
	} | sha256sum
}

# The mutant that the running guest tests, or empty
tested=
# verdict: waits until a test has failed or the guest has ended, and ends the guest. Sets result to
# `found: ...` or SURVIVED; empty if the guest did not start.
verdict()
{
	local log=$DIR/log/$tested new=

	# One failure is enough: do not wait for the other tests.
	while [ -z "$new" ] && kill -0 "$guest" 2>/dev/null; do
		sleep 1
		new=$(new_failures "$log" "$(kind_of "$tested")")
	done
	end_guest
	wait "$guest" 2>/dev/null || true
	guest=
	new=$(new_failures "$log" "$(kind_of "$tested")")
	result=
	if [ -n "$new" ]; then
		result="found: $(head -n 1 <<<"$new")"
	elif grep -q '^== mutant: [0-9]* passed, [0-9]* failed' "$log"; then
		result=SURVIVED
	elif grep -q '^== mutant: booting' "$log"; then
		result="found: no end in $GUEST_MAX s"
	fi
}

# record_verdict: records the result of the mutant that the guest has tested
record_verdict()
{
	if [ -n "$result" ]; then
		record "$tested" "$result"
	else
		report "$tested" "the guest does not start, see ${DIR#"$TOP"/}/log/$tested"
	fi
	tested=
}

# judge: waits for the result of the mutant that the guest tests, if any, and records it
judge()
{
	[ -n "$tested" ] || return 0
	verdict
	record_verdict
}

# Files that the mutant in the copy has changed
changed=()
# restore: restores the files in the copy that the last mutant has changed
restore()
{
	local file

	for file in "${changed[@]}"; do
		cp "$TOP/$file" "$COPY/$file"
	done
	changed=()
}

# apply MUTANT: applies the mutant to the copy
apply()
{
	local diff=$TOP/series/mutants/$1.diff

	mapfile -t changed < <(sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$diff")
	patch -d "$COPY" -p1 --fuzz=0 --force --no-backup-if-mismatch -r - <"$diff" \
		>"$DIR/log/$1.build" 2>&1
}

# Set if the test modules must be rebuilt, since this mutant or the previous one changes a header
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

# guess: writes guess/SCRIPT.txt, with a line FILE:* for each file that has a mutant in
# series/mutants that the script finds
guess()
{
	local diff file test tests

	rm -rf "$DIR/guess"
	mkdir "$DIR/guess"
	for diff in "$TOP"/series/mutants/*.diff; do
		read -ra tests < <(sed -n 's/^Test: *//p;/^---/q' "$diff")
		while read -r file; do
			for test in "${tests[@]}"; do
				echo "$file:*" >>"$DIR/guess/$test.txt"
			done
		done < <(sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$diff")
	done
}

# complaints: prints FILE:LINE of each error or warning of the compiler or the linker
complaints()
{
	local file='((arch|include|kernel|lib|fs|mm)/[^: ]*\.[ch])' what='[0-9]+: (error|warning|note: in expansion)'

	# If the build of the kernel failed, there is no log of the modules.
	{ cat "$COPY/out/log/"{build,modules}-"$VARIANT.log" 2>/dev/null || true; } |
		sed -En "s,^(.*/linux/)?$file:([0-9]+):($what|.*undefined reference).*,\\2:\\4,p" | sort -u
}

# make_random: makes the mutants, and a kernel and test modules that have all of them
make_random()
{
	local matrix=$OUT/coverage/$VARIANT/lines log=$DIR/log/random$WORKER.build bad

	[ -d "$matrix" ] ||
		say "no ${matrix#"$TOP"/}: taking the scripts that series/mutants has for a file"
	guess
	touch "$DIR/dropped"
	"$TOP/series/scripts/prepare.sh"
	while :; do
		copy_sources
		"$TOP/series/scripts/random-mutants.pl" "$random" "$seed" "$OUT/linux" "$COPY" "$matrix" \
			"$DIR/dropped" "$DIR/guess" >"$DIR/list"
		say "building $VARIANT with $(wc -l <"$DIR/list") mutants"
		: >"$log"
		MAKEFLAGS=-k build "$VARIANT" "$log" && modules "$VARIANT" "$log" && bad= || bad=y
		complaints | awk -F '\t' '
			FILENAME == "-" { split($1, at, ":"); line[at[1]] = line[at[1]] " " at[2]; next }
			{
				split($3, at, "[:-]")
				n = split(line[at[1]], lines, " ")
				for (i = 1; i <= n; i++)
					if (lines[i] >= at[2] && lines[i] <= at[3]) { print $2; break }
			}' - "$DIR/list" >"$DIR/dropped.new"
		[ -s "$DIR/dropped.new" ] || break
		cat "$DIR/dropped.new" >>"$DIR/dropped"
		say "$(wc -l <"$DIR/dropped.new") mutants are left out: the compiler finds them"
	done
	[ -z "$bad" ] || die "$VARIANT does not build, and no mutant is where the compiler says" \
		"see ${log#"$TOP"/}"
}

# describe MUTANT: prints a random mutant as a small diff
describe()
{
	printf '  %s in %s(), kprobe_mutant=%s\n  - %s\n  + %s\n' "$(field "$1" 3 | sed 's/-[0-9]*$//')" \
		"$(field "$1" 5)" "$(field "$1" 1)" "$(field "$1" 6)" "$(field "$1" 7)"
}

# note_times LOG: saves how long each script took, of those that passed in the guest
note_times()
{
	local test seconds

	mkdir -p "$DIR/times"
	sed -n 's/^   \([a-z-]*\)\.sh .* passed, 0 failed.*, \([0-9]*\) s$/\1 \2/p' "$1" |
		while read -r test seconds; do
			echo "$seconds" >"$DIR/times/$test"
		done
}

# by_time TEST...: prints these scripts, the shortest first, as many as take at most SCRIPTS_MAX
# seconds together, but at least one
by_time()
{
	local test

	for test; do
		printf '%s %s\n' "$(cat "$DIR/times/$test" 2>/dev/null || echo 15)" "$test"
	done | sort -n | awk -v max="$SCRIPTS_MAX" '(sum += $1 + 1) <= max || NR == 1 { print $2 }'
}

# Scripts that leave the kernel unusable, so that each needs a guest of its own; and for each, the
# word on the kernel's command line without which it is skipped
declare -A alone=([context-oops]=kp_oops [ftrace-dead]=kp_kill_ftrace [kexec]=kp_kexec)

# groups TEST...: prints one line for each guest that is needed, with the scripts to run in it. The
# last line has the scripts that need the host's programs.
groups()
{
	local test plain=() clients=()

	for test; do
		case ${alone[$test]:-}$test in
		clients-*) clients+=("$test") ;;
		"$test") plain+=("$test") ;;
		*) printf '%s\n' "$test" ;;
		esac
	done
	printf '%s\n' "${plain[*]}" "${clients[*]}"
}

# is_known_failure MUTANT: does the script that failed fail in the same way without the mutant? Then
# the failure does not mean that the script has found the mutant.
is_known_failure()
{
	local script

	script=$(sed -n 's/^found: \([a-z-]*\)\.sh: .*/\1/p' <<<"$result")
	[ -n "$script" ] || return 1
	base "$VARIANT" "$script"
	[ -z "$(new_failures "$DIR/log/$1" "$VARIANT")" ]
}

# run_random MUTANT: boots the kernel with this mutant selected, and runs the scripts that the list
# names for it
run_random()
{
	local all tests words

	read -ra all < <(header "$1" Test)
	mapfile -t all < <(by_time "${all[@]}")
	tested=$1
	while read -ra tests <&3; do
		[ ${#tests[@]} -gt 0 ] || continue
		words=${alone[${tests[0]}]:-}
		while :; do
			start_guest "$VARIANT+kprobe_mutant=$(field "$1" 1)${words:++$words}" \
				"$DIR/log/$1" "${tests[@]}"
			verdict
			note_times "$DIR/log/$1"
			is_known_failure "$1" || break
		done
		[ "$result" = SURVIVED ] || break
	done 3< <(groups "${all[@]}")
	record_verdict
}

if [ -n "$random" ]; then
	need_packages rsync patch
	sources_stamp=$(cd "$TOP" && sources | xargs -d '\n' sha256sum | sha256sum)
	make_random
	mapfile -t mutants < <(cut -f 2 "$DIR/list")
	for mutant in "${mutants[@]}"; do
		known "$mutant" || run_random "$mutant"
	done
	for mutant in "${mutants[@]}"; do
		! grep -qsx SURVIVED "$DIR/results/$mutant" || describe "$mutant"
	done
	sum_up
	exit
fi

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
	known "$mutant" || todo+=("$mutant")
done

if [ ${#todo[@]} -gt 0 ]; then
	copy_sources
	# Test all mutants of one variant before those of the next one: then each variant is built
	# completely only once.
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
sum_up
