#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Writes the project as a series of patches against the base kernel, for
# `git am`, to out/patches. The commit messages are series/messages/*; the last
# line of each names the directories and files that belong to it, "Files: ", or the edits of
# series/edits, "Edits: ", if the patches of several messages change the same files.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need_packages git
"$TOP/series/scripts/prepare.sh"
"$TOP/series/scripts/prepare.sh" --stock
[ "$(kernel_version "$OUT/linux")" = "$(kernel_version "$OUT/linux-stock")" ] ||
	die "out/linux and out/linux-stock are different kernels" "remove out/linux-stock"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
repo=$work/repo

in_repo()
{
	git -C "$repo" -c user.name="$(git -C "$TOP" config user.name || id -un)" \
		-c user.email="$(git -C "$TOP" config user.email || id -un)" "$@"
}

# take TREE: the files on stdin, as TREE has them
take()
{
	local file

	while IFS= read -r file; do
		rm -f "$repo/$file"
		[ ! -e "$1/$file" ] || {
			mkdir -p "$repo/$(dirname "$file")"
			cp -p "$1/$file" "$repo/$file"
		}
	done
}

# Every file that differs between the two
{
	(cd "$OUT/linux-stock" && while IFS= read -r path; do
		find "$path" -type f
	done <"$TOP/series/removed")
	(cd "$OUT/linux/.series/orig" && find . -type f -printf '%P\n')
	own_files
} | sort -u >"$work/files"

git init -q "$repo"
take "$OUT/linux-stock" <"$work/files"
in_repo add -A
in_repo commit -q -m base
in_repo tag base

# edits_of MESSAGE: the edits that it names; edited MESSAGE: the files that they change
edits_of()
{
	sed -n 's/^Edits: //p' "$1" | tr ' ' '\n'
}

edited()
{
	local edit

	for edit in $(edits_of "$1"); do
		sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$TOP/series/edits/$edit.diff"
	done | sort -u
}

# These are the base kernel's until their edits are applied one by one.
for message in "$TOP"/series/messages/*; do
	edited "$message"
done | sort -u >"$work/by-edits"
grep -vxFf "$work/by-edits" "$work/files" >"$work/rest" || true
mv "$work/rest" "$work/files"

for message in "$TOP"/series/messages/*; do
	for edit in $(edits_of "$message"); do
		patch -d "$repo" -p1 --fuzz=0 --force --no-backup-if-mismatch -s \
			<"$TOP/series/edits/$edit.diff"
	done
	read -ra owned < <(sed -n 's/^Files: //p' "$message") || true
	while IFS= read -r file; do
		for prefix in "${owned[@]}"; do
			case $file in
			"$prefix"*) printf '%s\n' "$file" && break ;;
			esac
		done
	done <"$work/files" >"$work/these"
	grep -vxFf "$work/these" "$work/files" >"$work/rest" || true
	mv "$work/rest" "$work/files"
	take "$OUT/linux" <"$work/these"
	in_repo add -A
	in_repo diff --cached --quiet ||
		sed '/^Files: /d; /^Edits: /d' "$message" | in_repo commit -q -s -F -
done
[ ! -s "$work/files" ] ||
	die "no message in series/messages has these files:" "$(paste -sd' ' "$work/files")"
while IFS= read -r file; do
	cmp -s "$repo/$file" "$OUT/linux/$file" ||
		die "series/messages does not name all edits of $file"
done <"$work/by-edits"

rm -rf "$OUT/patches"
in_repo format-patch -q -M -o "$OUT/patches" base
say "out/patches: $(find "$OUT/patches" -name '*.patch' | wc -l) patches against Linux $(kernel_version "$OUT/linux")"
