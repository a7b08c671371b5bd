#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes out/linux, the base kernel with this project's kprobes in place of its own. May be run
# at any time: it touches only files that differ, so that kbuild rebuilds little. With --stock
# it makes out/linux-stock, the unmodified base kernel, to compare with. With BASE= it uses
# another kernel, with the adaptions of series/base-*:
#	edits/, steps/	diffs that replace the diffs of the same names
#	renames		substitutions in our files, see rename.pl
#	ours/		diffs of our files, which are applied after the renames
#	messages	substitutions in the series' messages, for export.sh
#
# out/linux/.series has what the next run needs:
#	source		what the tree was unpacked from
#	removed		the series/removed that the tree was unpacked with
#	laid		our files that were put there
#	orig/		the original files that series/edits changes
#	changed		touched when a file changes that kernels are built from

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

PACKAGE=linux-source-$BASE

work=
cleanup() { [ -z "$work" ] || rm -rf "$work"; }
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

stock=
case ${1:-} in
"") ;;
--stock) stock=y ;;
*) die "usage: ${0##*/} [--stock]" ;;
esac
tree=$OUT/linux${stock:+-stock}
state=$tree/.series

check_version()
{
	case $1 in
	"$BASE" | "$BASE".*) ;;
	*) die "$2 is Linux '$1', not $BASE.y" \
		"set KERNEL_SRC= to a directory or a tarball of any $BASE.y" ;;
	esac
}

# Arguments that leave out the removed files, for tar and for rsync
excludes()
{
	local path

	[ -z "$stock" ] || return 0
	while IFS= read -r path; do
		case $1 in
		tar) printf -- '--exclude=%s\n' "${path%/}" "*/${path%/}" "./*/${path%/}" ;;
		rsync) printf -- '--exclude=/%s\n' "$path" ;;
		esac
	done <"$TOP/series/removed"
}

# unpack SOURCE: unpacks the base kernel to a directory that becomes $tree at the end
unpack()
{
	local src=$1 top opts total

	work=$(mktemp -d "$OUT/.unpack.XXXXXX")
	if [ -d "$src" ]; then
		check_version "$(kernel_version "$src")" "$src"
		say "copying the kernel from $src"
		mapfile -t opts < <(excludes rsync)
		top=$work/linux
		rsync -a --exclude=/.git --exclude=/.series --exclude="$OUT" "${opts[@]}" "$src/" "$top"
		# O= needs a source directory that nothing was built in.
		if [ -e "$top/.config" ] || [ -e "$top/include/config" ]; then
			make -s -C "$top" mrproper
		fi
	else
		mkdir "$work/makefile"
		tar -xf "$src" -C "$work/makefile" --occurrence=1 --wildcards \
			--anchored --no-wildcards-match-slash '*/Makefile' 2>/dev/null ||
			die "$src: not a tarball with one top directory, a kernel in it"
		check_version "$(kernel_version "$work"/makefile/*)" "$src"
		say "unpacking $src (a minute or two)"
		mkdir "$work/tar"
		mapfile -t opts < <(excludes tar)
		total=90000
		tar -xvf "$src" -C "$work/tar" --anchored --wildcards \
			--no-wildcards-match-slash "${opts[@]}" | progress "files" "$total"
		top=$(dirname "$work"/tar/*/Makefile)
	fi
	mkdir -p "$top/.series"
	cp "$TOP/series/removed" "$top/.series/removed"
	printf '%s\n' "$src" >"$top/.series/source"
	touch "$top/.series/changed"

	# Objects of the previous tree may be newer than the files of this one.
	if [ -d "$tree" ]; then
		mv "$tree" "$work/old"
		if [ -n "$stock" ]; then
			rm -rf "$OUT"/build/stock-*
		else
			find "$OUT/build" -mindepth 1 -maxdepth 1 ! -name 'stock-*' \
				-exec rm -rf {} + 2>/dev/null || true
		fi
	fi
	mv "$top" "$tree"
	rm -rf "$work"
	work=
}

note_change()
{
	changed=$((changed + 1))
	case $1 in
	Documentation/* | MAINTAINERS | samples/* | tools/testing/*) ;;
	*) touch "$state/changed" ;;
	esac
}

# install_file FROM TO: replaces TO atomically, and only if it differs
install_file()
{
	if cmp -s "$1" "$2" && [ "$(stat -c %A "$1")" = "$(stat -c %A "$2")" ]; then
		return 0
	fi
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.series-new"
	chmod --reference="$1" "$2.series-new"
	mv -f "$2.series-new" "$2"
	note_change "${2#"$tree"/}"
}

# A file of the base kernel that we replace has to be listed as removed
list_files()
{
	local file

	touch "$state/laid"
	own_files >"$work/own"
	while IFS= read -r file; do
		[ ! -e "$tree/$file" ] || grep -qxF "$file" "$state/laid" ||
			die "$file: the base kernel has it too" \
				"list it in series/removed, or make it an edit in series/edits"
	done <"$work/own"
}

# own FILE: prints the path of our file, adapted to this base kernel
own()
{
	if [ -e "$work/ours/$1" ]; then
		printf '%s\n' "$work/ours/$1"
	else
		printf '%s\n' "$TOP/$1"
	fi
}

# take_own FILE DIFF: makes a copy of our file, which the diff changes
take_own()
{
	grep -qxF "$1" "$work/own" || die "${2#"$TOP"/}: $1 is no file of ours"
	[ -e "$work/ours/$1" ] || {
		mkdir -p "$work/ours/$(dirname "$1")"
		cp -p "$TOP/$1" "$work/ours/$1"
	}
}

# adapt_own: changes our own files as this base kernel needs it
adapt_own()
{
	local file diff name=${ADAPTIONS##*/}

	[ -n "$ADAPTIONS" ] || return 0
	"$TOP/series/scripts/rename.pl" "$ADAPTIONS/renames" "$TOP" "$work/ours" "$work/own" ||
		die "series/$name/renames does not fit our files"
	for diff in "$ADAPTIONS"/ours/*.diff; do
		[ -e "$diff" ] || continue
		check_why "$diff"
		while IFS= read -r file; do
			take_own "$file" "$diff"
		done < <(files_of "$diff")
		apply "$work/ours" "$diff" "our files with series/$name/renames"
	done
	for diff in "$ADAPTIONS"/{edits,steps}/*.diff; do
		file=${diff#"$ADAPTIONS"/}
		[ ! -e "$diff" ] || [ -e "$TOP/series/$file" ] ||
			die "series/$name/$file: there is no series/$file that it could replace"
	done
}

lay_files()
{
	local file

	sort -u "$work/own" "$state/laid" >"$work/both"
	cp "$work/both" "$state/laid"
	while IFS= read -r file; do
		install_file "$(own "$file")" "$tree/$file"
	done <"$work/own"
	while IFS= read -r file; do
		rm -f "$tree/$file"
		rmdir -p --ignore-fail-on-non-empty "$(dirname "$tree/$file")"
		note_change "$file"
	done < <(comm -13 "$work/own" "$work/both")
	mv "$work/own" "$state/laid"
}

# original FILE: prints the path of the base kernel's version
original()
{
	if [ -e "$state/orig/$1" ]; then
		printf '%s\n' "$state/orig/$1"
	else
		printf '%s\n' "$tree/$1"
	fi
}

# A section of MAINTAINERS extends from its title to the next empty line.
merge_maintainers()
{
	awk -v ours="$TOP/MAINTAINERS" '
		$0 == "KPROBES" {
			while ((getline line < ours) > 0) {
				if (line == "KPROBES") inside = 1
				if (line == "") inside = 0
				if (inside) print line
			}
			skip = 1
			found = 1
			next
		}
		$0 == "" { skip = 0 }
		!skip { print }
		END { exit !found }' "$1"
}

# check_why DIFF: fails if the first line does not say what the diff is for
check_why()
{
	head -n 1 "$1" | grep -q '^Why: .' || die "${1#"$TOP"/}: does not begin with 'Why: ...'"
}

# files_of DIFF: prints the files that it changes
files_of()
{
	sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$1"
}

# apply DIRECTORY DIFF WHAT: WHAT is what the diff is for
apply()
{
	local bad

	# With another base kernel than the default, a diff may have nothing to do.
	grep -q '^+++ ' "$2" || return 0
	patch -d "$1" -p1 --fuzz=0 --force --no-backup-if-mismatch -r - \
		<"$2" >"$work/patch.log" 2>&1 || {
		bad=$(awk '/^patching file/ { f = $3 } /FAILED/ { print f }' \
			"$work/patch.log" | sort -u | paste -sd' ')
		sed 's/^/       /' "$work/patch.log" >&2
		die "${2#"$TOP"/} does not apply to ${bad:-it} of $3" \
			"the tree was left as it was; adapt the diff"
	}
}

# Make every edited file from its original, all of them before the first is installed.
apply_edits()
{
	local edit file files=() stage=$work/stage

	mkdir "$stage"
	for edit in "$TOP"/series/edits/*.diff; do
		[ -e "$edit" ] || continue
		edit=$(adapted edits "${edit##*/}")
		check_why "$edit"
		while IFS= read -r file; do
			[ -f "$(original "$file")" ] ||
				die "${edit#"$TOP"/} does not apply: $file is not in Linux $version"
			! grep -qxF "$file" "$work/own" ||
				die "${edit#"$TOP"/} edits $file, which is ours"
			[ ! -e "$stage/$file" ] || continue
			mkdir -p "$stage/$(dirname "$file")"
			cp -p "$(original "$file")" "$stage/$file"
			files+=("$file")
		done < <(files_of "$edit")
		apply "$stage" "$edit" "Linux $version"
	done
	if [ -e "$TOP/MAINTAINERS" ]; then
		merge_maintainers "$(original MAINTAINERS)" >"$stage/MAINTAINERS" ||
			die "MAINTAINERS of Linux $version has no KPROBES section"
		files+=(MAINTAINERS)
	fi

	for file in "${files[@]}"; do
		[ ! -e "$state/orig/$file" ] || continue
		mkdir -p "$state/orig/$(dirname "$file")"
		cp -p "$tree/$file" "$state/orig/$file.new"
		mv "$state/orig/$file.new" "$state/orig/$file"
	done
	for file in "${files[@]}"; do
		install_file "$stage/$file" "$tree/$file"
	done

	# Restore the original of a file that is not edited any more.
	[ -d "$state/orig" ] || return 0
	while IFS= read -r file; do
		[ ! -e "$stage/$file" ] || continue
		install_file "$state/orig/$file" "$tree/$file"
		rm -f "$state/orig/$file"
	done < <(cd "$state/orig" && find . -type f ! -name '*.new' -printf '%P\n')
}

# base_package: sets source to Debian's package of the base kernel. series/base-BASE/suite names the
# part of Debian that has another base kernel than the default.
base_package()
{
	local path=usr/src/$PACKAGE.tar.xz

	source=/$path
	[ ! -e "$source" ] || return 0
	if [ -z "$ADAPTIONS" ]; then
		need_packages "$PACKAGE"
		return
	fi
	source=$OUT/source/$path
	[ ! -e "$source" ] || return 0
	unpack_package "$OUT/source" "$PACKAGE:all" "$(cat "$ADAPTIONS/suite")" \
		"set KERNEL_SRC= to a directory or a tarball of any $BASE.y"
}

lock "linux${stock:+-stock}"
need_packages rsync patch xz-utils

source=${KERNEL_SRC:-}
if [ -n "$source" ]; then
	[ -e "$source" ] || die "KERNEL_SRC=$source: no such file or directory"
	source=$(realpath "$source")
fi
have=$(cat "$state/source" 2>/dev/null || true)
if [ -z "$have" ] || [ "${source:-$have}" != "$have" ] ||
	{ [ -z "$stock" ] && ! cmp -s "$TOP/series/removed" "$state/removed"; }; then
	source=${source:-$have}
	if [ -z "$source" ]; then
		base_package
	fi
	[ -e "$source" ] || die "$source: no such file or directory" \
		"set KERNEL_SRC= to a directory or a tarball of any $BASE.y"
	unpack "$source"
fi
version=$(kernel_version "$tree")

if [ -n "$stock" ]; then
	say "${tree#"$TOP"/}: Linux $version as it is"
	exit 0
fi

changed=0
work=$(mktemp -d "$OUT/.prepare.XXXXXX")
list_files
adapt_own
apply_edits
lay_files
say "${tree#"$TOP"/}: Linux $version with our kprobes, $changed files updated"
