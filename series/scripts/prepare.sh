#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Makes out/linux, the base kernel with this project's kprobes in place of its own. May be run
# at any time: it touches only files that differ, so that kbuild rebuilds little. With --stock
# it makes out/linux-stock, the unmodified base kernel, to compare with. With BASE= it uses
# another kernel. series/base-BASE adapts the project to that:
#	edits/, steps/	diffs that replace the diffs of the same names
#	renames		substitutions in our files, see rename.pl
#	ours/		diffs of our files, which are applied after the renames
#	messages	substitutions in the series' messages, for export.sh
#
# out/linux/.series has what the next run needs:
#	source		what the tree was unpacked from
#	removed		the series/removed that the tree was unpacked with
#	laid		our files that were copied to the tree
#	orig/		the originals of the files that series/edits changes
#	changed		its time is when a source file of the kernel last changed in the tree

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

# unpack SOURCE: unpacks the base kernel to a directory that becomes $tree at the end
unpack()
{
	local src=$1 top

	need_space 1900
	work=$(mktemp -d "$OUT/.unpack${stock:+-stock}.XXXXXX")
	if [ -d "$src" ]; then
		check_version "$(kernel_version "$src")" "$src"
		say "copying the kernel from $src"
		top=$work/linux
		rsync -a --exclude=/.git --exclude=/.series --exclude="$OUT" "$src/" "$top"
		# To build with O=, make needs a source directory in which nothing was built.
		if [ -e "$top/.config" ] || [ -e "$top/include/config" ]; then
			make -s -C "$top" mrproper
		fi
	else
		say "unpacking $src (a minute or two)"
		mkdir "$work/tar"
		tar -xvf "$src" -C "$work/tar" | progress "files"
		top=$(dirname "$work"/tar/*/Makefile)
		[ -e "$top/Makefile" ] ||
			die "$src: not a tarball with one top directory, a kernel in it"
		check_version "$(kernel_version "$top")" "$src"
	fi
	[ -n "$stock" ] || (cd "$top" && xargs -d '\n' rm -rf <"$TOP/series/removed")
	mkdir -p "$top/.series"
	cp "$TOP/series/removed" "$top/.series/removed"
	printf '%s\n' "$src" >"$top/.series/source"
	touch "$top/.series/changed"

	# Remove builds of the previous tree: their objects may be newer than the files of this one,
	# and make would not rebuild them.
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

# stage_own: copies our files to $stage. Fails if the base kernel has a file of the same name that
# series/removed does not list: otherwise a new file of ours could replace one by mistake.
stage_own()
{
	local file

	touch "$state/laid"
	own_files >"$work/own"
	while IFS= read -r file; do
		[ ! -e "$tree/$file" ] || grep -qxF "$file" "$state/laid" ||
			die "$file: the base kernel has it too" \
				"list it in series/removed, or make it an edit in series/edits"
	done <"$work/own"
	rsync -rp --files-from="$work/own" "$TOP/" "$stage/"
}

# adapt_own: changes our files as this base kernel needs them
adapt_own()
{
	local file diff name=${ADAPTIONS##*/}

	[ -n "$ADAPTIONS" ] || return 0
	"$TOP/series/scripts/rename.pl" "$ADAPTIONS/renames" "$stage" "$stage" "$work/own" ||
		die "series/$name/renames does not fit our files"
	for diff in "$ADAPTIONS"/ours/*.diff; do
		[ -e "$diff" ] || continue
		check_why "$diff"
		apply "$stage" "$diff" "our files with series/$name/renames"
	done
	for diff in "$ADAPTIONS"/{edits,steps}/*.diff; do
		file=${diff#"$ADAPTIONS"/}
		[ ! -e "$diff" ] || [ -e "$TOP/series/$file" ] ||
			die "series/$name/$file: there is no series/$file that it could replace"
	done
}

# original FILE: prints the path of the base kernel's version of the file
original()
{
	if [ -e "$state/orig/$1" ]; then
		printf '%s\n' "$state/orig/$1"
	else
		printf '%s\n' "$tree/$1"
	fi
}

# check_why DIFF: fails if the first line does not say what the diff is for
check_why()
{
	head -n 1 "$1" | grep -q '^Why: .' || die "${1#"$TOP"/}: does not begin with 'Why: ...'"
}

# files_of DIFF: prints the files that the diff changes
files_of()
{
	sed -n 's,^+++ b/\([^\t]*\).*,\1,p' "$1"
}

# apply DIRECTORY DIFF WHAT: applies the diff to the files in DIRECTORY, which error messages call
# WHAT
apply()
{
	local bad

	# A diff of series/base-BASE may be empty, if that base kernel does not need the edit.
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

# stage_edits: makes every edited file from its original in $stage, and saves the originals
stage_edits()
{
	local edit file files=()

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
	for file in "${files[@]}"; do
		[ ! -e "$state/orig/$file" ] || continue
		mkdir -p "$state/orig/$(dirname "$file")"
		cp -p "$tree/$file" "$state/orig/$file.new"
		mv "$state/orig/$file.new" "$state/orig/$file"
	done
}

# install_stage: copies what differs into the tree, restores the originals of files that are not
# edited any more, and removes files that are not ours any more; sets changed to their number
install_stage()
{
	local file changes=$work/changes

	(cd "$state/orig" && find . -type f ! -name '*.new' -printf '%P\n') |
		while IFS= read -r file; do
			[ -e "$stage/$file" ] || printf '%s\n' "$file"
		done >"$work/restored"
	sort -u "$work/own" "$state/laid" >"$work/both"
	cp "$work/both" "$state/laid"
	# Without -t, rsync gives a copied file the current time, so that kbuild rebuilds its
	# objects.
	{
		rsync -rpc --out-format=%n "$stage/" "$tree/"
		rsync -rpc --out-format=%n --files-from="$work/restored" "$state/orig/" "$tree/"
	} | sed '/\/$/d' >"$changes"
	(cd "$state/orig" && xargs -r -d '\n' rm -f <"$work/restored")
	while IFS= read -r file; do
		rm -f "$tree/$file"
		rmdir -p --ignore-fail-on-non-empty "$(dirname "$tree/$file")"
		printf '%s\n' "$file" >>"$changes"
	done < <(comm -13 "$work/own" "$work/both")
	mv "$work/own" "$state/laid"
	! grep -qvE '^(Documentation/|MAINTAINERS$|samples/|tools/testing/)' "$changes" ||
		touch "$state/changed"
	changed=$(wc -l <"$changes")
}

# base_package: sets source to the tarball in Debian's package of the base kernel's source. Installs
# the package if this machine's Debian has it, or else unpacks it in out/.
base_package()
{
	local path=usr/src/$PACKAGE.tar.xz suite others

	source=/$path
	[ ! -e "$source" ] || return 0
	suite=$(base_suite)
	if [ -z "$ADAPTIONS" ]; then
		# If apt's lists are old or missing, they may lack the package.
		in_archive "$PACKAGE" || update_packages || :
		if in_archive "$PACKAGE"; then
			need_packages "$PACKAGE"
			return
		fi
		say "this machine's Debian has no $PACKAGE: taking it from Debian $suite"
	fi
	source=$OUT/source/$path
	[ ! -e "$source" ] || return 0
	others=$(cd "$TOP/series" && printf '%s\n' base-* | sed 's/^base-/BASE=/' | paste -sd' ')
	unpack_package "$OUT/source" "$PACKAGE:all" "$suite" \
		"set KERNEL_SRC= to a directory or a tarball of any $BASE.y, or take another base: $others"
}

lock "linux${stock:+-stock}"
# Remove what a killed run has left.
rm -rf "$OUT"/.unpack"${stock:+-stock}".?????? "$OUT"/.prepare"${stock:+-stock}".??????
need_packages "${PREPARE_PACKAGES[@]}"

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

work=$(mktemp -d "$OUT/.prepare.XXXXXX")
stage=$work/stage
mkdir -p "$stage" "$state/orig"
stage_own
adapt_own
stage_edits
install_stage
say "${tree#"$TOP"/}: Linux $version with our kprobes, $changed files updated"
