#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What others are told of probes: perf of text that is patched and of pages of
# slots, /proc/kallsyms of those pages.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

RECORDS=$TOPIC_DIR/perf_records
CMD=$DEBUGFS/kp_ctl/cmd

setup
ktap_set_plan 4
if [ ! -x "$RECORDS" ]; then
	for name in "patched text" "new pages" "pages that go" "names of pages"; do
		ktap_test_skip "$name: perf_records is not built"
	done
	ktap_finished
fi

# Past what belongs to ftrace, with and without endbr before it.
OFFSETS=+0
! grep -q ' __fentry__$' /proc/kallsyms || OFFSETS='+9 +5'

# As many functions as kp_ctl has probes: more than half a page of slots.
awk '$2 == "T" && $3 ~ /^(vfs|generic|simple|kern|do)_/ { print $3 }' /proc/kallsyms |
	head -n 64 >"$TMP/names"

# Slots wait for a grace period before they are free again: those who come at
# once need another page, which is given back after a while.
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
	all add name
	wc -l <"$KPROBES/list" >"$TMP/armed"
	all del
	all add name
	grep -c ' kprobe_insn_page' /proc/kallsyms >"$TMP/pages" || :
	all del
	sleep 5
EOF
load kp_ctl
export CMD TMP KPROBES OFFSETS
status=0
line=$("$RECORDS" sh "$TMP/work") || status=$?
unload kp_ctl
if [ "$status" -eq "$KSFT_SKIP" ]; then
	for name in "patched text" "new pages" "pages that go" "names of pages"; do
		ktap_test_skip "$name: the kernel has no such records"
	done
	ktap_finished
fi
armed=$(cat "$TMP/armed")
ktap_print_msg "$armed probes, twice: $line"

# text_poke N ksymbol N unregister N
# shellcheck disable=SC2086 # these are words
set -- $line
# A breakpoint is put in place and taken away, and a slot is filled.
if [ "$armed" -gt 32 ] && [ "${2:-0}" -ge $((6 * armed)) ]; then
	ktap_test_pass "patched text"
else
	ktap_test_fail "patched text"
fi
if [ "${4:-0}" -ge 1 ]; then
	ktap_test_pass "new pages"
else
	ktap_test_fail "new pages"
fi
if [ "${6:-0}" -ge 1 ]; then
	ktap_test_pass "pages that go"
else
	ktap_test_fail "pages that go"
fi
if [ "$(cat "$TMP/pages")" -ge 2 ]; then
	ktap_test_pass "names of pages"
else
	ktap_test_fail "names of pages"
fi
ktap_finished
