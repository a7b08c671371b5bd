#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Draws Documentation/trace/kprobes-cost.svg, the chart in the manual and in README.md, from the
# table under "Probe overhead" in the manual. Run it when that table has changed. A comment in the
# svg file has the figures that were drawn. With `check`, the script draws nothing, and prints which
# of these figures differ from the table.
#
#	series/scripts/chart.sh [check]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

manual=Documentation/trace/kprobes.rst
chart=Documentation/trace/kprobes-cost.svg
cd "$TOP"

# recorded: prints a line `"LABEL" HERE THERE` for each group of bars in the chart: how many
# instructions a hit takes with this kernel, and with Linux 6.12
recorded()
{
	while IFS='|' read -r row label; do
		# Pass the label in the environment: with -v, awk would replace its \n by a line
		# break, but gnuplot needs the \n.
		LABEL=$label awk -F '  +' -v row="$row" '
			$1 == row { printf "\"%s\" %s %s\n", ENVIRON["LABEL"], $2, $3; n++ }
			END { exit n != 1 }' $manual || die "$manual does not have one row '$row'"
	done <<-END
		ftrace-based: pre_handler|entry,\nby ftrace
		optimised: pre_handler|inside,\nby jump
		boosted: pre_handler|inside,\nby trap
		return probe: ftrace-based|return,\nby ftrace
		return probe: optimised|return,\nby jump
		return probe: boosted|return,\nby trap
	END
}

data=$(recorded)
if [ "${1:-}" = check ]; then
	diff <(sed -n '/^<!-- drawn:$/,/^-->$/{//!p}' $chart 2>/dev/null) - <<<"$data" ||
		echo "$chart differs from the table in $manual: run series/scripts/chart.sh"
	exit 0
fi

need_packages gnuplot-nox
{
	cat <<-END
		\$data << EOD
		$data
		EOD
	END
	# The chart has its own background, so that it can be read on a dark page, too.
	cat <<-'END'
		set terminal svg size 760,300 font 'sans-serif,13' background rgb 'white'
		set style data histograms
		set style histogram clustered gap 1
		set style fill solid noborder
		set ylabel 'instructions of a hit'
		set yrange [0:800]
		set grid ytics lc rgb '#d0d0d0'
		set border 1
		set xrange [-0.6:5.6]
		set bmargin 3.5
		set tics nomirror scale 0
		set key top left
		plot $data using 2:xtic(1) title 'here' lc rgb '#1b6ac9', \
		     $data using 3 title 'Linux 6.12' lc rgb '#b8b8b8', \
		     $data using ($0-0.17):2:2 with labels offset 0,0.6 notitle, \
		     $data using ($0+0.17):3:3 with labels offset 0,0.6 notitle
	END
} | gnuplot | sed 's/[ \t]*$//; /^$/d; s/^ *\t/\t/' >$chart.new
{
	head -n 1 $chart.new
	# shellcheck disable=SC2028
	printf '<!-- SPDX-License-Identifier: GPL-2.0 -->\n<!-- drawn:\n%s\n-->\n' "$data"
	tail -n +2 $chart.new
} >$chart
rm $chart.new
