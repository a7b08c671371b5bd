#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Writes the project as series of patches against the base kernel, for `git am`, to
# out/patches/SERIES, each with a cover letter. They apply one after the other, in the order of
# their names. The patches in series/messages/7-kept follow them, but are not to be sent, and are
# written to out/patches-kept. series/messages has the messages, and says which files and parts of
# files each patch adds: see series/scripts/split.pl. series/covers has the cover letters.
#
#	series/scripts/export.sh [--check]
#
# With --check it writes nothing, and prints only errors. A step is a patch of the series. The
# script checks that
#
# - all files and edits that a step names exist, and each file belongs to a step;
# - the tree after the last step is out/linux, also when git am applies the patches;
# - the limits below are kept;
# - get_maintainer.pl names a person for each patch.
#
# out/series is a repository with the steps as commits, a branch for each series, and only the
# files that the series change. bisect.sh uses it.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Limits for the sake of reviewers: patches in a series, lines that a patch adds and removes, and
# lines of a cover letter. A patch may have more lines if its message has a line `Large: WHY`.
MOST=25 MOST_LINES=1500 MOST_COVER=150
# The series of patches that are not sent to the kernel's maintainers: see series/README.md
KEPT=7-kept

check=
case ${1:-} in
"") ;;
--check) check=y ;;
*) die "usage: ${0##*/} [--check]" ;;
esac

need_packages git patch perl
{
	"$TOP/series/scripts/prepare.sh"
	"$TOP/series/scripts/prepare.sh" --stock
} | if [ -n "$check" ]; then cat >/dev/null; else cat; fi
version=$(kernel_version "$OUT/linux")
[ "$version" = "$(kernel_version "$OUT/linux-stock")" ] ||
	die "${OUT#"$TOP"/}/linux and linux-stock there are different kernels" "remove linux-stock"

work=$(mktemp -d "$OUT/.export.XXXXXX")
trap 'rm -rf "$work"' EXIT
repo=$work/repo

in_repo() { git -C "$repo" "$@"; }

# table: prints the first table of the manual's section "Probe overhead", without the markup
table()
{
	awk '
		/^Probe overhead$/ { inside = 1 }
		inside && /^=+( +=+)+$/ { rules++ }
		rules {
			# Keep the columns in place: the text before the second one ends here.
			marks = gsub(/``/, "")
			if (marks)
				sub(/  /, sprintf("%*s", 2 + 2 * marks, ""))
			print "  " $0
		}
		rules == 3 { exit }
		END { exit rules != 3 }' "$TOP/Documentation/trace/kprobes.rst"
}

# cover SERIES VERSION COUNT: prints the cover letter of a series: the file in series/covers, with
# the manual's table of costs in it. The first line is the subject.
cover()
{
	local line

	while IFS= read -r line; do
		line=${line//@VERSION@/$2}
		case $line in
		@TABLE@) table ;;
		*) printf '%s\n' "${line//@COUNT@/$3}" ;;
		esac
	done <"$TOP/series/covers/$1"
}

# Every file that differs between out/linux-stock and out/linux
{
	(cd "$OUT/linux-stock" && while IFS= read -r path; do
		find "$path" -type f
	done <"$TOP/series/removed")
	(cd "$OUT/linux/.series/orig" && find . -type f -printf '%P\n')
	own_files
} | sort -u >"$work/files"

# Copy the series' data. With another base kernel than the default, files of series/base-BASE
# replace some of them.
mkdir -p "$work/top/series"
cp -r "$TOP"/series/{messages,edits,steps} "$work/top/series"
if [ -n "$ADAPTIONS" ]; then
	for kind in edits steps; do
		[ ! -d "$ADAPTIONS/$kind" ] || cp "$ADAPTIONS/$kind"/* "$work/top/series/$kind"
	done
	(cd "$work/top" && find series/messages -type f) >"$work/messages"
	"$TOP/series/scripts/rename.pl" "$ADAPTIONS/messages" "$work/top" "$work/top" \
		"$work/messages" || die "${ADAPTIONS#"$TOP"/}/messages does not fit the series"
fi

git init -q -b series "$repo"
in_repo config user.name "$(git -C "$TOP" config user.name || id -un)"
in_repo config user.email "$(git -C "$TOP" config user.email || id -un)"
in_repo config core.autocrlf false
in_repo config gc.auto 0

# split.pl runs this script with the number of a step, the file with the step's commit message, and
# the step's name. 0 is the base kernel.
cat >"$work/commit" <<'END'
#!/bin/bash
set -euo pipefail
git add -A
if [ "$1" -eq 0 ]; then
	# With a fixed date and author, the same files give the same commit in any clone.
	GIT_AUTHOR_DATE=2000-01-01T00:00:00Z GIT_COMMITTER_DATE=2000-01-01T00:00:00Z \
		git -c user.name=base -c user.email=base commit -q -m base
	git tag base
else
	# With ADAPTIONS, the base kernel is a newer one, which may have all changes of the step
	# already: make no commit. Otherwise, a step without changes is an error.
	if git diff --cached --quiet; then
		[ -n "$ADAPTIONS" ] || { echo "step $1 changes nothing" >&2; exit 1; }
		exit 0
	fi
	git commit -q -s -F "$2"
	git branch -q -f "${3%/*}"
	echo "$3" >>.git/messages
fi
END
chmod +x "$work/commit"
(
	cd "$repo"
	export ADAPTIONS
	"$TOP/series/scripts/split.pl" "$work/top" "$OUT/linux-stock" "$OUT/linux" "$work/files" \
		"$repo" "$work/commit"
) || die "series/messages and the tree do not fit together"

# check_sizes SERIES BEFORE: fails if a patch of the series is too large, or if its message has a
# line `Large:` without need
check_sizes()
{
	local message commit lines large

	while read -r message commit; do
		lines=$(in_repo diff -C --numstat "$commit^" "$commit" | awk '{ n += $1 + $2 } END { print n }')
		large=$(sed -n 's/^Large: //p' "$TOP/$message")
		[ "$lines" -le $MOST_LINES ] || [ -n "$large" ] ||
			die "$message: the patch has $lines lines" "at most $MOST_LINES are wanted"
		[ "$lines" -gt $MOST_LINES ] || [ -z "$large" ] ||
			die "$message: the patch is not large: it has $lines lines"
	done < <(paste -d' ' <(sed -n "s,^$1/,series/messages/&,p" "$repo/.git/messages") \
		<(in_repo rev-list --reverse "$2..$1"))
}

mapfile -t all < <(cd "$work/top/series/messages" && printf '%s\n' *)
mkdir "$work/patches"
patches=()
before=base
for name in "${all[@]}"; do
	to=$work/patches/$name
	options=()
	if [ "$name" = $KEPT ]; then
		to=$work/kept
	else
		count=$(in_repo rev-list --count "$before..$name")
		[ "$count" -le $MOST ] || die "$name has $count patches" "at most $MOST are wanted"
		[ "$(wc -l <"$TOP/series/covers/$name")" -le $MOST_COVER ] ||
			die "series/covers/$name has more than $MOST_COVER lines"
		in_repo config "branch.$name.description" "$(cover "$name" "$version" "$count")"
		options=(--cover-letter --cover-from-description=subject)
		check_sizes "$name" "$before"
	fi
	format_patches "$repo" "$to" "$before..$name" --base=base "${options[@]}"
	mapfile -t -O ${#patches[@]} patches < <(patches_in "$to")
	before=$name
done

# A patch that changes a file of our entry in MAINTAINERS is sent to the people in that entry. For
# all other patches, get_maintainer.pl must name a person.
sed -n '/^KPROBES$/,/^$/s/^F:[ \t]*//p' "$OUT/linux/MAINTAINERS" >"$work/ours"
echo MAINTAINERS >>"$work/ours"
# kernel/exit.c and kernel/irq_work.c have no maintainer.
printf "%s\n" kernel/exit.c kernel/irq_work.c >>"$work/ours"
for patch in "${patches[@]}"; do
	! sed -n 's,^\(---\|+++\) [ab]/,,p' "$patch" |
		awk 'NR == FNR { ours[$0] = 1; next }
		     { for (o in ours) if (index($0, o) == 1) found = 1 }
		     END { exit !found }' "$work/ours" - || continue
	(cd "$OUT/linux" && scripts/get_maintainer.pl --no-git --no-git-fallback --no-rolestats \
		--no-keywords --no-l "$patch") >"$work/people" 2>/dev/null || true
	grep -q '@' "$work/people" || die "get_maintainer.pl names no person for ${patch##*/}"
done

# Applying the patches with git am has to lead to the same tree.
git clone -q "$repo" "$work/am"
(
	cd "$work/am"
	git checkout -q --detach base
	git -c user.name=am -c user.email=am am -q "${patches[@]}"
) >"$work/am.log" 2>&1 || {
	cat "$work/am.log" >&2
	die "git am does not take the patches"
}
[ ! -s "$work/am.log" ] || die "git am has something to say:" "$(cat "$work/am.log")"
[ "$(git -C "$work/am" rev-parse 'HEAD^{tree}')" = "$(in_repo rev-parse 'HEAD^{tree}')" ] ||
	die "git am of the patches leads to another tree"

[ -z "$check" ] || exit 0

rm -rf "$OUT/patches" "$OUT/patches-kept" "$OUT/series"
mv "$work/patches" "$OUT/patches"
mv "$work/kept" "$OUT/patches-kept"
mv "$repo" "$OUT/series"
for name in "${all[@]}"; do
	[ "$name" != $KEPT ] || continue
	say "${OUT#"$TOP"/}/patches/$name: $(patches_in "$OUT/patches/$name" | wc -l) patches, and a cover letter"
done
say "in this order, against Linux $version; ${OUT#"$TOP"/}/patches-kept has what is not sent"
