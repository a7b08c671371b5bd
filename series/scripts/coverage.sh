#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Finds out which lines and branches of kprobes each script of the tests executes, and reports what
# none of them executes.
#
#	series/scripts/coverage.sh VARIANT [TEST...]
#
# With TEST, measures only these scripts. A script's results are kept until the kernel, the script,
# or a module that the script names changes. gcov's counters are in our objects, and in the objects
# of files that we edit; assembly is not measured. Builds are in out/coverage/build, results in
# out/coverage/VARIANT:
#	lines/SCRIPT.txt	FILE:LINE, executed by the script at least once
#	branches/SCRIPT.txt	FILE:LINE:N, taken by the script; gcov numbers a line's branches and
#				calls
#	all-lines.txt, all-branches.txt		all compiled lines and branches
#	report.txt		what the script prints
# Of files that we edit, these have only the lines that the edits add. SCRIPT@GUEST is what a script
# and the boot execute in a guest of its own, see guests.sh; `boot` is what the boot of the first
# guest executes.

set -euo pipefail
export COVERAGE=y
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=series/scripts/guests.sh
. "$(dirname "$0")/guests.sh"

variant=${1:?usage: series/scripts/coverage.sh VARIANT [TEST...]}
shift
asked=" $* "
dir=$OUT/$variant
build=$OUT/build/$variant
read_gcov=$TOP/series/scripts/coverage.pl
export suites=()

# changed_lines: prints FILE:LINE for each line that an edit adds to a file of the base kernel
changed_lines()
{
	local file

	(cd "$OUT/linux/.series/orig" && find . -name '*.[ch]' -printf '%P\n') | while IFS= read -r file; do
		diff --old-line-format= --unchanged-line-format= --new-line-format="$file:%dn"$'\n' \
			"$OUT/linux/.series/orig/$file" "$OUT/linux/$file" || true
	done
}

# gcov_of DIRECTORY...: prints gcov's output for the counters in these directories. Without
# counters, gcov prints all compiled lines as not executed.
gcov_of()
{
	find "$@" -name '*.gcda' -o -name '*.gcno' -type f | sort |
		(cd "$build" && xargs -r -d '\n' -n 1 gcov -b -c -t 2>/dev/null)
}

# stamp SCRIPT: prints a hash of all that the script's result depends on: the kernel, the script,
# and the modules that the script names
stamp()
(
	cd "$TOP/$SELFTESTS"
	script=$1.sh lines=p
	[ -e "$script" ] || script=suites.sh lines="/^$1)\$/,/;;/p"
	{
		printf '%s\n' "$sources_stamp"
		cat functions*.sh
		sed -n "$lines" "$script"
		{ sed -n "$lines" "$script" | grep -oE '\b(kp_[a-z0-9_]+|[a-z]+_kunit|torture)' || true; } |
			sed 's,.*_kunit$,tests/,; s,^torture$,torture/,' | sort -u | while IFS= read -r name; do
			find test_modules "$TOP/kernel/kprobes" -path "*/$name*" -type f -exec cat {} +
		done
	} | sha256sum
)

# is_measured SCRIPT[@GUEST]: is there a result, and has nothing that it depends on changed since?
is_measured()
{
	[ "$(cat "$dir/stamps/$1" 2>/dev/null)" = "$(stamp "${1%@*}")" ]
}

# keep NAME DIRECTORY...: makes the results NAME, a SCRIPT or SCRIPT@GUEST, from the counters in
# these directories
keep()
{
	local name=$1

	shift
	gcov_of "$@" | "$read_gcov" "$OUT/linux" "$dir/measured" "$dir/new-lines" "$dir/new-branches"
	mv "$dir/new-lines" "$dir/lines/$name.txt"
	mv "$dir/new-branches" "$dir/branches/$name.txt"
	stamp "${name%@*}" >"$dir/stamps/$name"
}

# keep_ended GUEST: makes the results of all scripts that have ended in the guest so far
keep_ended()
{
	local raw=$dir/raw/$1 gcda file test name at=@$1 boot=()

	case $1 in
	"$variant" | "$variant-clients") at= ;;
	*) boot=("$raw/boot") ;;
	esac
	for test in "$raw"/*; do
		name=$(basename "$test" .sh)
		if [ ! -d "$test" ] || [ "$name$at" = "boot@$1" ]; then
			continue
		fi
		# gcov looks for the notes (.gcno) next to the counters (.gcda).
		find "$test" "${boot[@]}" -name '*.gcda' | while IFS= read -r gcda; do
			file=${gcda#"$raw"/*/}
			ln -sfn "/${file%.gcda}.gcno" "${gcda%.gcda}.gcno"
		done
		[ "$name/$1" = "boot/$variant-clients" ] || keep "$name$at" "$test" "${boot[@]}"
		rm -rf "$test"
	done
}

guest_pid=
# shellcheck disable=SC2317 # called by the trap
end_guest()
{
	[ -z "$guest_pid" ] || kill "$guest_pid" 2>/dev/null || true
}
trap end_guest EXIT
trap 'exit 130' INT TERM HUP

# guest NAME VARIANT ARGUMENT...: runs a guest with the tests among the ARGUMENTs that are asked for
# and not measured yet; ARGUMENTs that begin with - are options of guest.sh
guest()
{
	local name=$1 at=@$1 arg todo=() options=()

	shift 2
	case $name in
	"$variant" | "$variant-clients") at= ;;
	esac
	for arg; do
		if [[ $arg == -* ]]; then
			options+=("$arg")
		elif [[ $asked =~ ^\ +$|\ $arg\  ]] && ! is_measured "$arg$at"; then
			todo+=("$arg")
		fi
	done
	[ ${#todo[@]} -gt 0 ] || return 0
	rm -rf "$dir/raw/$name"
	mkdir -p "$dir/raw/$name"
	GCOV=$dir/raw/$name "$TOP/series/scripts/guest.sh" "$variant" -n "$name" "${options[@]}" "${todo[@]}" \
		</dev/null &
	guest_pid=$!
	while kill -0 "$guest_pid" 2>/dev/null; do
		keep_ended "$name"
		sleep 2
	done
	wait "$guest_pid" || say "coverage: tests of $name have failed; what they executed counts"
	guest_pid=
	keep_ended "$name"
	rm -rf "$dir/raw/$name"
}

has_kernel() { [ "$1" = "$variant" ]; }

env -u COVERAGE "$TOP/series/scripts/prepare.sh"
"$TOP/series/scripts/modules.sh" "$variant"
lock "coverage-$variant"
mkdir -p "$dir"/{lines,branches,stamps}
sources_stamp=$(cd "$TOP" && {
	own_files | grep -vE "^(Documentation|kernel/kprobes/(tests|torture)|$SELFTESTS)/"
	printf '%s\n' "$SELFTESTS"/test_modules/*.[chS]
	find series/edits series/removed series/scripts/config.coverage -type f | sort
} | xargs -d '\n' sha256sum | sha256sum)
{
	own_files | grep -E '^(arch/x86|include|kernel)/.*\.[ch]$' | grep -vE '/(tests|torture)/'
	changed_lines
} >"$dir/measured"
gcov_of "$build" | "$read_gcov" "$OUT/linux" "$dir/measured" "$dir/all-lines.txt" "$dir/all-branches.txt" all

mapfile -t tests < <(test_programs "$TOP")
guest "$variant" "$variant" "${tests[@]}"
client_packages "$variant"
TIMEOUT=${TIMEOUT:-600} guest "$variant-clients" "$variant" -R "${clients[@]}"
guests_of_their_own

for file in "$dir"/lines/*.txt; do
	name=$(basename "$file" .txt)
	is_measured "$name" || rm -f "$file" "$dir"/{branches/"$name".txt,stamps/"$name"}
done
"$read_gcov" "$OUT/linux" report "$dir" "$TOP/series/coverage.exceptions" | tee "$dir/report.txt"
