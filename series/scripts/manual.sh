#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds the manual, the reference and the page on the design in out/linux as `make htmldocs` does,
# but only the directory with these pages, and prints what is wrong:
#
# - warnings of Sphinx and kernel-doc about our files, also about a page in no toctree
# - symbols that the reference takes from kernel-doc, but that have no kernel-doc, or that it takes
#   twice
# - exported functions that the reference does not take from kernel-doc
# - files in Documentation/ that our files refer to, but that do not exist
# - files, functions and constants that the page on the design names, but that do not exist
# - figures in the manual's chart that differ from its table
# - reasons of include/linux/kprobe_reason_list.h that the reference does not have

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

tree=$OUT/linux
manual=Documentation/trace/kprobes.rst
reference=Documentation/trace/kprobes-reference.rst
design=Documentation/trace/kprobes-design.rst

need_packages python3-sphinx perl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
own_files >"$work/own"

# taken: prints a line `file symbol` for each symbol that the reference takes from kernel-doc
taken()
{
	awk '
		/^\.\. kernel-doc:: / { file = $3; next }
		!NF || /^[^ ]/ { file = "" }
		file != "" {
			for (i = 1; i <= NF; i++)
				if ($i !~ /^:/) print file, $i
		}' "$tree/$reference"
}

# about_ours: leaves only lines that name a file of ours, followed by a colon
about_ours()
{
	sed 's/$/:/' "$work/own" >"$work/patterns"
	sed "s,$tree/,,g" | grep -F -f "$work/patterns" || true
}

build()
{
	local log=$OUT/log/sphinx.log page

	# Keep the theme and Python's cache from changing the tree.
	PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8 srctree=$tree \
		sphinx-build -q -E -j1 -b html -c "$tree/Documentation" -d "$work/doctrees" \
		-D version="$(kernel_version "$tree")" -D release="$(kernel_version "$tree")" \
		-D kerneldoc_srctree="$tree" -D kerneldoc_bin="$tree/scripts/kernel-doc" \
		"$tree/$(dirname "$manual")" "$work/html" </dev/null >"$log" 2>&1 ||
		echo "sphinx-build failed, see ${log#"$TOP"/}"
	about_ours <"$log"
	for page in "$manual" "$reference" "$design"; do
		[ -s "$work/html/$(basename "$page" .rst).html" ] || echo "$page: nothing was built"
	done
}

# described FILE: prints the symbols that kernel-doc describes in it
described()
{
	"$tree/scripts/kernel-doc" -rst "$tree/$1" 2>/dev/null |
		sed -n 's/^\.\. c:[a-z]*:: //; T; s/ (.*//; s/.*[ *]//; p' | sort -u
}

# check_taken: prints symbols that the reference takes although no kernel-doc describes them, or
# that it takes twice. Kernel-doc itself reports a missing symbol only if it finds no other symbol
# in the same file.
check_taken()
{
	local file

	taken >"$work/taken"
	[ -s "$work/taken" ] || echo "$reference: takes nothing from kernel-doc"
	awk '{ print $1 }' "$work/taken" | sort -u | while IFS= read -r file; do
		described "$file" >"$work/described"
		awk -v file="$file" '$1 == file { print $2 }' "$work/taken" | sort -u |
			comm -23 - "$work/described" |
			sed "s,.*,$reference: $file has no kernel-doc for &,"
	done
	awk '{ print $2 }' "$work/taken" | sort >"$work/symbols"
	uniq -d "$work/symbols" | sed "s,.*,$reference: & is described twice,"
}

check_exported()
{
	grep '\.c$' "$work/own" | grep -v -e ^tools/ -e ^samples/ | (cd "$tree" && xargs sed -n \
		's/^EXPORT_SYMBOL\(_GPL\)\?(\(.*\));$/\2/p') | sort -u |
		comm -23 - <(uniq "$work/symbols") |
		sed "s,.*,$reference: the exported & is not described,"
}

check_references()
{
	local file

	(cd "$tree" && xargs grep -ohP '(?<![\w/])Documentation/[-\w/]+\.(rst|txt)' <"$work/own") |
		sort -u | while IFS= read -r file; do
		[ -e "$tree/$file" ] || echo "there is no $file, which our files refer to"
	done
}

# named PATTERN: prints each match on the page on the design, once
named()
{
	grep -ohP "$1" "$tree/$design" | sort -u
}

# The page on the design abbreviates two directories in its tables, to K/ and X/, and names headers
# as #include does. It may also name functions and options of the base kernel: look for a name there
# if our files do not have it.
# shellcheck disable=SC2016
check_design()
{
	local name

	named '``\K[\w/]+/[\w.-]+\.[chS](?=``)' |
		sed 's,^K/,kernel/kprobes/,; s,^X/,arch/x86/kernel/kprobes/,; s,^asm/,arch/x86/include/&,' |
		while IFS= read -r name; do
			[ -e "$tree/$name" ] || echo "$design: there is no $name"
		done
	grep '\.[chS]$' "$work/own" | grep -v -e ^tools/ -e ^samples/ |
		(cd "$tree" && xargs cat) >"$work/code"
	{
		named '\b[a-z_]\w+(?=\(\))'
		named '``\K[A-Za-z_]\w+(?=``)'
	} | while IFS= read -r name; do
		grep -qw -e "$name" "$work/code" ||
			grep -rqw -e "$name" "$tree/arch/x86" "$tree/arch/Kconfig" "$tree/kernel" \
				"$tree/include/linux" ||
			echo "$design: there is no $name"
	done
}

# check_reasons: looks for each reason in the reference. Joins the lines of the page first, since
# long reasons wrap.
check_reasons()
{
	local list=include/linux/kprobe_reason_list.h

	tr -s ' \n' ' ' <"$tree/$reference" >"$work/flat"
	sed -n 's/^[^ ].*, "\(.*\)")$/\1/p; s/^[\t ]*"\(.*\)")$/\1/p' "$tree/$list" >"$work/reasons"
	[ "$(grep -c . "$work/reasons")" -eq "$(grep -c '^KPROBE_[A-Z]*(' "$tree/$list")" ] ||
		echo "$list: not read to its end"
	while IFS= read -r reason; do
		grep -qF " $reason " "$work/flat" || echo "$reference: there is no reason $reason"
	done <"$work/reasons"
}

build
"$TOP/series/scripts/chart.sh" check
check_reasons
check_taken
check_exported
check_references
check_design
