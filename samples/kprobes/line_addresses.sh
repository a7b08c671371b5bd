#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the addresses at which a line of source can be probed, for a kprobe.multi link: there is
# one for each copy of the line, including inlined copies. Instead of a line, LINE may be any
# location that perf probe takes. Copies that cannot be probed are printed to stderr, with the
# reason.
#
#	line_addresses.sh LINE [option of perf probe...]
#
#	# ./line_addresses.sh fs/read_write.c:558 -k vmlinux
#	0xffffffff812c1176 vfs_read+0x36
#
# perf needs the kernel's debug information, and the user has to be allowed to see addresses.
set -eu

EXPLAIN=/sys/kernel/debug/kprobes/explain

line=${1:?usage: line_addresses.sh LINE [option of perf probe...]}
shift
definitions=$(perf probe "$@" -D "$line")

# perf prints lines `p:probe/NAME SYMBOL+OFFSET ARGUMENT...`: pass SYMBOL+OFFSET to kprobes/explain.
echo "$definitions" | cut -d' ' -f2 | sort -u | while read -r location; do
	exec 3<>$EXPLAIN
	echo "$location" >&3
	awk -F': ' '
		{ value[$1] = $2 }
		END {
			place = value["symbol"] ? value["symbol"] : value["location"]
			sub(/\/0x.*/, "", place)
			if (value["probe"] != "no")
				print value["address"], place
			else
				print place ": " value["reason"] >"/dev/stderr"
		}
	' <&3
	exec 3>&-
done
