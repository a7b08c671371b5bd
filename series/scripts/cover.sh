#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Writes the cover letter of the series to stdout: series/cover, with the table of costs
# taken from the manual. The first line is the subject.
#
#	series/scripts/cover.sh VERSION COUNT

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

usage="usage: ${0##*/} VERSION COUNT"
version=${1:?$usage}
count=${2:?$usage}
# The first table of the manual's section on costs, without the markup
table()
{
	awk -v title="Probe overhead" '
		inside && /^=+$/ && previous != "" && seen { exit }
		inside { if (seen++) print previous }
		!inside && previous == title && /^=+$/ { inside = 1; previous = ""; next }
		{ previous = $0 }' "$TOP"/Documentation/trace/kprobes*.rst |
		awk '
			/^=+( +=+)+$/ { n++ }
			n && !done { k = gsub(/``/, ""); if (k) sub(/  /, sprintf("%*s", 2 + 2 * k, "")); print "  " $0 }
			n == 3 { done = 1 }
			END { exit !done }'
}

while IFS= read -r line; do
	case $line in
	@TABLE@) table ;;
	*)
		line=${line//@VERSION@/$version}
		printf '%s\n' "${line//@COUNT@/$count}"
		;;
	esac
done <"$TOP/series/cover"
