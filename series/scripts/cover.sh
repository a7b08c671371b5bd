#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Writes the cover letter of the series to stdout: series/cover, with the table of costs and
# the known limits taken from the manual. The first line is the subject.
#
#	series/scripts/cover.sh VERSION COUNT

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

usage="usage: ${0##*/} VERSION COUNT"
version=${1:?$usage}
count=${2:?$usage}
manual=$TOP/Documentation/trace/kprobes.rst

# section TITLE: the text of a section of the manual
section()
{
	awk -v title="$1" '
		inside && /^=+$/ && previous != "" && seen { exit }
		inside { if (seen++) print previous }
		!inside && previous == title && /^=+$/ { inside = 1; previous = ""; next }
		{ previous = $0 }' "$manual"
}

# The first table of the section, without the markup
table()
{
	section "Probe overhead" | awk '
		/^=+( +=+)+$/ { n++ }
		n && !done { k = gsub(/``/, ""); if (k) sub(/  /, sprintf("%*s", 2 + 2 * k, "")); print "  " $0 }
		n == 3 { done = 1 }'
}

limits()
{
	# shellcheck disable=SC2016 # these are quotes of the manual
	section Limitations | sed 's/``//g; s/`\([^`]*\)`_/"\1" in the manual/g' |
		sed '/./,$!d' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

while IFS= read -r line; do
	case $line in
	@TABLE@) table ;;
	@LIMITS@) limits ;;
	*)
		line=${line//@VERSION@/$version}
		printf '%s\n' "${line//@COUNT@/$count}"
		;;
	esac
done <"$TOP/series/cover"
