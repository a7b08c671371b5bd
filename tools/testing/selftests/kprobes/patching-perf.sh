#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# perf must get records of the text that kprobes patches and of the pages of slots. /proc/kallsyms
# must have a symbol for each of these pages.

. "$(dirname "$0")/functions.sh"

RECORDS=$TOPIC_DIR/perf_records
CMD=$DEBUGFS/kp_ctl/cmd

# number NAME: prints what perf_records.awk has counted
number() {
	sed -n "s/^$1 //p" "$TMP/numbers"
}

# in_and_out NAME WANTED: checks that WANTED breakpoints or jumps were written, and as many removed
in_and_out() {
	equal "$1" "$(number "$1")" "$2" && equal "$1 taken out" "$(number "$1_out")" "$2"
}

# All probes are armed and disarmed twice. Each time, a breakpoint is written and removed.
text_is_right() {
	at_least "probes" "$armed" 33
	in_and_out breakpoints $((2 * armed))
	equal "other records" "$(number others)" 0
}

# Without jump optimisation there are no jumps.
jumps_are_right() {
	ktap_print_msg "$optimized of $armed probes optimised"
	! has_jumps || [ "$optimized" -gt 16 ] || return 1
	in_and_out jumps $((2 * optimized))
}

# Each time, an armed probe gets a slot, unless its instruction needs none. An optimised probe gets
# a detour buffer, which is a slot as well.
slots_are_right() {
	[ "$(number filled)" -gt $((2 * optimized)) ] &&
		[ "$(number filled)" -le $((2 * armed + 2 * optimized)) ] &&
		equal "slots emptied" "$(number emptied)" "$(number filled)"
}

# with_two_pages ASSERTION...: makes the assertion if the slots need two pages or more, and skips
# the case otherwise: there may be no record of a single page, which may have existed before the
# test, and is kept after it.
with_two_pages() {
	[ "$optimized" -gt $PAGE_OF_SLOTS ] ||
		skip_case "$optimized detour buffers may fit in one page" || return 0
	"$@"
}

records_agree() {
	sed -n 's/^wrong: /# /p' "$TMP/numbers" | head -n 20
	equal "records lost" "$(number lost)" 0 && equal "disagreements" "$(number wrong)" 0
}

setup
is_x86 || skip_topic "only x86 tells perf of the text that it patches"
[ -x "$RECORDS" ] || skip_topic "perf_records is not built"

# The offset after ftrace's bytes, with and without endbr before them
OFFSETS=+0
! has_symbol __fentry__ || OFFSETS="+$BEHIND_FTRACE +5"

# kp_ctl has 128 probes. Their detour buffers need more than one page, which has 64 slots.
PAGE_OF_SLOTS=64
awk '$2 == "T" && $3 ~ /^(vfs|generic|simple|kern|do)_/ { print $3 }' /proc/kallsyms |
	head -n 128 >"$TMP/names"

cat >"$TMP/work" <<-'EOF'
	all() {
		i=0
		while read -r name; do
			for offset in $OFFSETS; do
				! echo "$1 $i${2:+ $name$offset}" >"$CMD" 2>/dev/null || break
			done
			i=$((i + 1))
		done <"$TMP/names"
	}
	switch() {
		[ ! -w "$OPTIMIZATION" ] || echo "$1" >"$OPTIMIZATION"
	}
EOF
# named_pages: prints how many pages of slots /proc/kallsyms has
named_pages() {
	grep -c ' kprobe_insn_page' /proc/kallsyms || :
}

# few_pages: is at most one page of slots left? After other tests have unregistered their probes,
# slots and pages are freed with a delay, except one page with a free slot. If more pages were left,
# this test might not need a new one, and perf would get no record of a page.
few_pages() {
	[ "$(named_pages)" -le 1 ]
}

load kp_ctl
export CMD TMP KPROBES OFFSETS OPTIMIZATION
optimization 0
work=". $TMP/work"
status=0
wait_until few_pages || :
"$RECORDS" "$DEBUGFS/kp_ctl/probes" \
	"$work; all add name; wc -l <$KPROBES/list >$TMP/armed" \
	"$work; switch 1; grep -c -F '[OPTIMIZED]' $KPROBES/list >$TMP/optimized;
		grep -c ' kprobe_insn_page' /proc/kallsyms >$TMP/pages || :" \
	"$work; switch 0" \
	"$work; switch 1" \
	"$work; all del; switch 0" \
	"$work; all add name" \
	"$work; all del" >"$TMP/records" 2>"$TMP/errors" || status=$?
unload kp_ctl
[ "$status" -ne "$KSFT_SKIP" ] || skip_topic "the kernel has no such records"
if [ "$status" -ne 0 ]; then
	sed 's/^/# /' "$TMP/errors"
	ktap_exit_fail_msg "perf_records ended with status $status"
fi
ktap_set_plan 7
sort -n -k1,1 -k2,2 "$TMP/records" >"$TMP/sorted"
awk -f "$TOPIC_DIR/perf_records.awk" "$TMP/sorted" "$TMP/sorted" >"$TMP/numbers"
armed=$(cat "$TMP/armed")
optimized=$(cat "$TMP/optimized")
check "patched text" text_is_right
check "jumps" jumps_are_right
check "slots" slots_are_right
check "what is known is what is there" records_agree
check "new pages" with_two_pages at_least "new pages" "$(number pages)" 1
check "pages that go" with_two_pages at_least "pages that went" "$(number pages_out)" 1
check "names of pages" with_two_pages at_least "named pages" "$(cat "$TMP/pages")" 2
ktap_finished
