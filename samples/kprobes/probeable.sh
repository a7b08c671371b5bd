#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Lists what can be probed, as bpftrace -l lists probes: all functions, or the places that a
# pattern stands for.
#
#	probeable.sh [-v] [PATTERN]
#
# A PATTERN is [MODULE:]FUNCTION with wildcards; FUNCTION+* stands for all instructions. -v adds
# how a probe would be hit, the places that cannot be probed, with the reason, and those in notrace
# functions, where BPF programs cannot be attached.
#
#	# ./probeable.sh 'vfs_*'
#	kprobe:vfs_fadvise
#	kprobe:vfs_fallocate
#	...
set -eu

EXPLAIN=/sys/kernel/debug/kprobes/explain

verbose=0
if [ "${1:-}" = -v ]; then
	verbose=1
	shift
fi
[ -w $EXPLAIN ] || { echo "$0: $EXPLAIN cannot be written" >&2; exit 1; }

pattern=${1:-*}
case $pattern in
*[*?[]*) ;;
*) pattern="[${pattern%"${pattern#?}"}]${pattern#?}" ;;	# [f]oo matches only foo, but is a pattern
esac
exec 3<>$EXPLAIN
printf '%s\n' "$pattern" >&3
awk -v verbose=$verbose '
	# A probe of a function may be after its endbr64, at +0x4: print only the name.
	{ place = $2; sub(/\+0x[04]$/, "", place); mode = $3 }
	(mode == "no" || $4 == "notrace") && !verbose { next }
	{ sub(/^[^ ]* [^ ]* [^ ]* ?/, ""); print "kprobe:" place (verbose ? " " mode " " $0 : "") }
' <&3
