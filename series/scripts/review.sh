#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes a branch with all series in a git tree of Linux, and writes the branch's commits as patches
# that can be mailed. The script uses a worktree of its own, so what is checked out in the tree does
# not change.
#
#	series/scripts/review.sh DIRECTORY
#
# The branch is for-review/BASE, and begins at the tag of the base kernel. The end of each series
# has the tag kprobes-BASE/SERIES-vN, with the cover letter as message; N is REROLL=, see lib.sh.
# out/review has the patches, which name the base kernel's commit. A line `Since:` in a message
# becomes a tag Fixes:; to find its commit, the tree needs its whole history. If the tags of version
# N-1 are there, each cover letter has a range-diff. export.sh has to run before this.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

git=${1:-}
[ -n "$git" ] || die "of which git tree of Linux?" "make review GIT=DIRECTORY"
git -C "$git" rev-parse -q --git-dir >/dev/null || die "$git is no git tree"
git=$(cd "$git" && pwd)
base=v$(kernel_version "$OUT/linux")
git -C "$git" rev-parse -q --verify "$base^{commit}" >/dev/null ||
	die "$git has no $base" "git -C $git fetch --tags, from a tree that has the stable kernels"
[ -d "$OUT/series" ] || die "${OUT#"$TOP"/}/series is missing" "make patches"

work=$(mktemp -d "$OUT/.review.XXXXXX")
finish()
{
	git -C "$git" worktree remove --force "$work/tree" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
say "checking out $base of $git"
git -C "$git" worktree add -q --detach "$work/tree" "$base"
branch=for-review/$BASE

# tag SERIES VERSION: prints the tag at the end of a series
tag() { printf 'kprobes-%s/%s-v%d' "$BASE" "$1" "$2"; }

# has_tag TAG
has_tag() { git -C "$git" rev-parse -q --verify "refs/tags/$1" >/dev/null; }

# fixes MESSAGE: prints a tag Fixes: for each line `Since: FILE TEXT`
fixes()
{
	local file text commit

	while read -r file text; do
		commit=$(git -C "$git" log --no-merges --reverse --abbrev=12 --format='%h ("%s")' \
			-S"$text" "$base" -- "$file" | sed -n 1p)
		[ -n "$commit" ] || die "$1: no commit before $base added to $file: $text"
		git -C "$git" rev-parse -q --verify "${commit%% *}^" >/dev/null ||
			die "the history in $git is not complete" "git -C $git fetch --unshallow"
		printf 'Fixes: %s\n' "$commit"
	done < <(sed -n 's/^Since: //p' "$1")
}

# apply SERIES: applies the patches of the series to the worktree
apply()
{
	local messages patches i tags

	mapfile -t messages < <(messages_of_base | grep "/$1/")
	mapfile -t patches < <(patches_in "$OUT/patches/$1")
	for i in "${!patches[@]}"; do
		git -C "$work/tree" am -q "${patches[i]}"
		tags=$(fixes "${messages[i]}")
		[ -z "$tags" ] || git -C "$work/tree" -c trailer.where=start -c trailer.ifexists=add \
			commit -q --amend --no-edit --trailer "$tags"
	done
}

before=$base
earlier=$base
for dir in "$OUT"/patches/*/; do
	name=$(basename "$dir")
	apply "$name"
	git -C "$work/tree" branch -q -f "$branch" HEAD
	cover=$(git -C "$OUT/series" config "branch.$name.description")
	git -C "$work/tree" tag -f -a -m "$cover" "$(tag "$name" "$REROLL")" HEAD >/dev/null
	options=()
	last=$(tag "$name" $((REROLL - 1)))
	if has_tag "$last" && git -C "$git" merge-base --is-ancestor "$earlier" "$last"; then
		options=(--range-diff="$earlier..$last")
		earlier=$last
	fi
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=branch.$branch.description GIT_CONFIG_VALUE_0=$cover \
		format_patches "$work/tree" "$work/review/$name" "$before..$branch" --base="$base" \
		--cover-letter --cover-from-description=subject "${options[@]}"
	before=$(tag "$name" "$REROLL")
	count=$(patches_in "$work/review/$name" | wc -l)
	say "$before: $count patches${options:+, compared with $last}"
done
rm -rf "$OUT/review"
mv "$work/review" "$OUT/review"
say "branch $branch in $git; ${OUT#"$TOP"/}/review has the patches for git send-email"
