#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the files list, enabled, missed and blacklist in debugfs.

. "$(dirname "$0")/functions.sh"

list_is_complete() {
	equal "lines in list" "$(probes_listed | wc -l)" 7
	for id in 0 1 2 3 4 6; do
		list_line $id >/dev/null || failed "probe $id is not in list"
	done
	equal "lines for two probes at one address" "$(list_line 0 | wc -l)" 2
}

list_is_sorted() {
	cut -d' ' -f1 $KPROBES/list >"$TMP/addresses"
	sort "$TMP/addresses" | cmp -s - "$TMP/addresses" || failed "$(cat $KPROBES/list)"
}

# Lines have the form ADDRESS  k  SYMBOL+0xOFFSET  MODULE [MARK]..., with any number of blanks.
list_has_format() {
	module='( +\[?[a-z0-9_]+\]?)?'
	marks='( *\[(DISABLED|GONE|OPTIMIZED|FTRACE)\])*'
	must grep -q . $KPROBES/list
	! grep -v -E "^[0-9a-f]{8,16} +[kr] +[A-Za-z0-9_.]+\+0x[0-9a-f]+$module$marks *$" \
		$KPROBES/list >"$TMP/malformed" || failed "$(cat "$TMP/malformed")"
}

# list_names ID PATTERN: checks that the probe's line in kprobes/list matches
list_names() {
	list_line "$1" | grep -q -E "$2" || failed "no '$2' in: $(list_line "$1")"
}

list_names_symbols() {
	# If a function begins with ENDBR, a probe on its name is after the ENDBR.
	list_names 1 " k +kernel_clone\\+0x$BY_NAME"
	list_names 3 " k +vsnprintf\\+0x$BY_NAME.*\\[DISABLED\\]"
	list_names 2 " k +kp_tgt_caller\\+0x$BY_NAME +\\[?kp_target\\]?"
}

marks_follow_switching() {
	for id in 1 3; do
		ctl enable $id
		not_listed_as $id DISABLED
		ctl disable $id
		listed_as $id DISABLED
	done
	ctl enable 1
}

# If two probes share an address, only the disabled one is marked.
marks_are_per_probe() {
	equal "marked lines" "$(list_line 0 | grep -c -F '[DISABLED]')" 1
	equal "unmarked lines" "$(list_line 0 | grep -c -v -F '[DISABLED]')" 1
}

# switch VALUE WANTED: writes VALUE to kprobes/enabled, then checks that reading the file gives
# WANTED, and that probe 0 is hit only if WANTED is 1
switch() {
	put $KPROBES/enabled "$1"
	is_switched "$2"
}

is_switched() {
	equal "kprobes/enabled" "$(cat $KPROBES/enabled)" "$1"
	before=$(ctl_get 0 hits)
	after_calls 10 hits_are 0 $((before + 10 * $1))
}

enabled_switches_hits() {
	is_switched 1
	switch 0 0
	switch 1 1
}

enabled_takes_letters() {
	for off in n N 0; do
		switch $off 0
		for on in y Y 1; do
			switch $on 1
			switch $on 1
			switch $off 0
			switch $off 0
		done
	done
	switch 1 1
}

enabled_refuses_rubbish() {
	put_refused $KPROBES/enabled x
	put_refused $KPROBES/enabled 7
	is_switched 1
}

enabled_off_keeps_state() {
	switch 0 0
	ctl_add "10 kp_tgt_function" "11 kp_tgt_function disabled" "12 kp_tgt_caller" \
		"13 kp_tgt_caller disabled post"
	ctl enable 13
	ctl disable 12
	after_calls 5 hits_are 10 0 11 0 12 0 13 0
	listed_as 11 DISABLED
	ctl del 2
	put $KPROBES/enabled 1
	after_calls 5 hits_are 10 5 11 0 12 0 13 5
	equal "post handler calls" "$(ctl_get 13 posts)" 5
	ctl_del 10 11 12 13
}

# dd moves the offset of the open file: the kernel then reads the list from its start again.
list_is_read_again() {
	cat $KPROBES/list >"$TMP/all"
	exec 3<$KPROBES/list
	dd bs=40 count=1 <&3 >/dev/null 2>&1
	dd bs=40 skip=1 count=1 <&3 >"$TMP/piece" 2>/dev/null
	exec 3>&-
	dd bs=40 skip=2 count=1 <"$TMP/all" 2>/dev/null | must cmp - "$TMP/piece"
}

is_marked_disabled() {
	list_line "$1" | grep -q -F '[DISABLED]'
}

# A probe that disables itself at its first hit must do so only at a hit, and only once, whatever is
# written to kprobes/enabled before, at the same time, and later.
once_waits_for_enabled() {
	switch 0 0
	ctl add 10 kp_tgt_caller once
	after_calls 5 hits_are 10 0
	put $KPROBES/enabled 1
	not_listed_as 10 DISABLED
	call_target 1
	# The request to disable the probe may still be pending when this is written.
	put $KPROBES/enabled 0
	wait_until is_marked_disabled 10
	put $KPROBES/enabled 1
	after_calls 5 hits_are 10 1
	ctl enable 10
	after_calls 1 hits_are 10 2
	ctl del 10
}

# in_blacklist SYMBOL: checks that the blacklist has a range of SYMBOL that is not empty
in_blacklist() {
	awk -v symbol="$1" '
		$2 == symbol { split($1, range, "-"); found = (range[1] "") < (range[2] "") }
		END { exit !found }' $KPROBES/blacklist ||
		failed "$1 is not in blacklist, or its range is empty"
}

blacklist_has_known() {
	in_blacklist notify_die
	in_blacklist kp_tgt_nokprobe
	must grep -q '	kp_tgt_nokprobe \[kp_target\]' $KPROBES/blacklist
	if is_x86; then
		in_blacklist asm_exc_int3
		in_blacklist exc_int3
	fi
}

# Text that the blacklist must have: x86 copies it, patches it without a table of the sites, or
# cannot handle a trap in it. A line with two symbols is an area, from the first to the second one.
# Which symbols exist depends on the configuration.
untouchable="
machine_kexec
relocate_kernel swap_pages
ftrace_caller ftrace_caller_end
ftrace_regs_caller ftrace_regs_caller_end
ftrace_call ftrace_regs_call ftrace_graph_call
core_restore_code copy_loop restore_image restore_registers __enc_copy
secondary_startup_64 common_startup_64
startup_32_smp verify_cpu start_secondary cr4_init cpu_init_exception_handling load_current_idt
wakeup_long64 wakeup_pmode_return do_suspend_lowlevel restore_processor_state swsusp_arch_suspend
cpuhp_ap_report_dead play_dead_common native_play_dead hlt_play_dead cpuidle_play_dead
acpi_idle_play_dead
trace_hwlat_callback trace_osnoise_callback kgdb_ll_trap __kgdb_notify
__asan_load8 __asan_store8 __tsan_read8 __tsan_write8 __tsan_func_entry"

untouchable_symbols() {
	echo "$untouchable" | awk '
		FNR == NR { for (i = 1; i <= NF; i++) wanted[$i] = 1 }
		FNR == NR && NF == 2 { last[$1] = $2 }
		# Code after _etext may be probed: the kernel executes only copies of it.
		$3 == "_etext" { exit }
		FNR == NR || $4 != "" || $2 !~ /[tTwW]/ { next }
		$3 in last { until = last[$3]; area = ""; left = 32 }
		until != "" { area = area $1 " " $3 "\n" }
		until != "" && $3 == until { printf "%s", area; until = "" }
		$3 in wanted { print $1, $3 }
		!--left { until = "" }
	' - /proc/kallsyms
}

# expect_listed: checks that each address in $TMP/symbols is in a range of the blacklist
expect_listed() {
	sort "$TMP/symbols" | awk '
		FNR == NR {
			split($1, range, /0x|-/)
			from[NR] = range[2]
			to[NR] = range[4]
			n = NR
			next
		}
		{
			for (; i < n && from[i + 1] "" <= $1 ""; i++)
				if (to[i + 1] "" > end "") end = to[i + 1]
			if (end "" <= $1 "") printf " %s", $2
		}' $KPROBES/blacklist - >"$TMP/missing"
	equal "not in blacklist" "$(cat "$TMP/missing")" ""
}

# marked_symbols: prints the functions that must not be probed: those for which NOKPROBE_SYMBOL()
# has defined a symbol, and those in certain text sections. Leaves out a symbol of NOKPROBE_SYMBOL()
# if several functions have that name, since the symbol does not tell which one is meant.
marked_symbols() {
	awk '
		FNR == NR {
			if (sub(/^_kbl_addr_/, "", $3)) marked[$3 $4] = 1
			else if ($2 ~ /[tTwW]/) times[$3 $4]++
			if ($3 ~ /^__(noinstr|kprobes|entry)_text_(start|end)$/) edge[$3] = $1
			next
		}
		$2 !~ /[tTwW]/ { next }
		{ inside = 0 }
		$4 == "" {
			for (start in edge) {
				end = start
				if (sub(/_start$/, "_end", end) && edge[start] "" <= $1 "")
					inside = inside || $1 "" < edge[end] ""
			}
		}
		inside || ($3 $4 in marked && times[$3 $4] == 1) { print $1, $3 }
	' /proc/kallsyms /proc/kallsyms
}

marked_is_listed() {
	marked_symbols >"$TMP/symbols"
	at_least "symbols found" "$(grep -c . "$TMP/symbols")" 100
	must grep -q ' kp_tgt_nokprobe$' "$TMP/symbols"
	must grep -q ' notify_die$' "$TMP/symbols"
	expect_listed
}

untouchable_is_listed() {
	is_x86 || skip_case "only x86 has a table of names" || return 0
	untouchable_symbols >"$TMP/symbols"
	at_least "symbols found" "$(grep -c . "$TMP/symbols")" 1
	expect_listed
	while read -r _ symbol; do
		ctl_refused add 10 "$symbol"
	done <"$TMP/symbols"
}

# low_half ADDRESS: prints the last 8 digits, since some shells cannot calculate with all 16
low_half() {
	echo "0x${1#"${1%????????}"}"
}

# A probe must be accepted at an offset from the symbol at the start of the text, since perf gives
# each location in that form.
counted_from_start() {
	ctl add 10 do_sys_openat2
	function=$(awk '$3 == "do_sys_openat2" { print $1; exit }' /proc/kallsyms)
	for start in _text _stext; do
		from=$(awk -v start=$start '$3 == start { print $1; exit }' /proc/kallsyms)
		offset=$(($(low_half "$function") - $(low_half "$from")))
		ctl add 11 "$start+$offset"
		wanted=$(ctl_get 10 address)
		# On powerpc, a probe on the name is after the instructions that set up r2.
		! is_powerpc || wanted=$function
		equal "$start+$offset" "$(ctl_get 11 address)" "$wanted"
		ctl del 11
	done
	# From any other symbol, an offset must not lead into the middle of another function.
	ctl_refused add 11 "do_sys_openat2+0x100001"
	ctl del 10
}

# Lines have the form 0xSTART-0xEND<tab>SYMBOL, or that and [MODULE].
blacklist_has_format() {
	tab=$(printf '\t')
	must grep -q . $KPROBES/blacklist
	! grep -v -E "^0x[0-9a-f]{8,16}-0x[0-9a-f]{8,16}${tab}[A-Za-z0-9_.]+( \[[a-z0-9_]+\])?$" \
		$KPROBES/blacklist >"$TMP/malformed" || failed "$(head -n 5 "$TMP/malformed")"
}

blacklist_forgets_module() {
	must_fail grep 'kp_tgt_nokprobe' $KPROBES/blacklist
	in_blacklist notify_die
}

MISSED=/sys/module/kp_missed/parameters

has_missed() {
	[ -e $KPROBES/missed ]
}

# missed_is FUNCTION NESTED POOL MAXACTIVE ENDED UNRETURNED: are these the numbers in the function's
# line of kprobes/missed?
missed_is() {
	missed_line=$(grep -E " [kr]  $1\\+0x" $KPROBES/missed) || :
	shift
	# shellcheck disable=SC2086 # words
	got=$(echo $missed_line | awk '{ print $4, $6, $8, $10, $12 }')
	[ "$got" = "$*" ]
}

# missed_after CASE FUNCTION NESTED POOL MAXACTIVE ENDED UNRETURNED: runs a case of kp_missed, and
# checks the numbers in the function's line. The sum there must be nmissed of the probe, and must
# not include calls that never returned.
missed_after() {
	missed_case=$1
	missed_function=$2
	shift 2
	put $MISSED/run "$missed_case" || return 1
	wait_until missed_is "$missed_function" "$@" ||
		failed "$missed_case: $(cat $KPROBES/missed)"
	sum=$(($1 + $2 + $3 + $4))
	equal "sum in: $missed_line" "$(echo "$missed_line" | awk '{ print $2 }')" $sum
	equal "nmissed" "$(cat $MISSED/nmissed)" $sum
}

missed_has_causes() {
	missed_after nested kp_missed_target 3 0 0 0 0
	! has_symbol kprobe_disable_self || missed_after ended kp_missed_target 0 0 0 99 0
	missed_after limited kp_missed_target 3 0 4 0 0
}

# On x86, calls that end without a return are counted. Rethook does not count them.
missed_has_unreturned() {
	is_x86 || skip_case "rethook, which all but x86 have, does not count them" || return 0
	missed_after exit kp_missed_exits 0 0 0 0 1
	missed_after left kp_missed_target 0 0 0 0 1
}

# Lines have the form ADDRESS  SUM  CAUSE NUMBER...  KIND  SYMBOL+0xOFFSET  MODULE.
missed_has_format() {
	causes='nested [0-9]+  pool [0-9]+  maxactive [0-9]+  ended [0-9]+  unreturned [0-9]+'
	put $MISSED/run nested
	must grep -q . $KPROBES/missed
	place='[krj]  [^ ]+\+0x[0-9a-f]+(  \[?[a-z0-9_]+\]?)?'
	! grep -v -E "^[0-9a-f]{8,16}  [0-9]+  $causes  $place$" \
		$KPROBES/missed >"$TMP/malformed" || failed "$(cat "$TMP/malformed")"
}

# Registered probes that have missed nothing have no line.
missed_is_empty() {
	put $MISSED/run end
	ctl add 10 kp_tgt_function
	call_target 3
	must_fail grep -E 'kp_(missed_target|tgt_function)' $KPROBES/missed
	ctl del 10
}

# shows_addresses none|some FILE COMMAND...: COMMAND prints kprobes/FILE. Checks that all addresses
# in it are 0 (none), or that some are not (some).
shows_addresses() {
	wanted=$1
	shown_file=$2
	shift 2
	"$@" "$KPROBES/$shown_file" >"$TMP/shown" || failed "kprobes/$shown_file cannot be read"
	sed -n -E 's/^(0x)?([0-9a-f]{8,16})(-0x([0-9a-f]{8,16}))?[ \t].*/\2 \4/p' "$TMP/shown" \
		>"$TMP/addresses"
	at_least "addresses in kprobes/$shown_file" "$(grep -c . "$TMP/addresses")" 1
	equal "lines with an address field in kprobes/$shown_file" \
		"$(grep -c . "$TMP/addresses")" "$(grep -c . "$TMP/shown")"
	got=none
	! grep -q '[1-9a-f]' "$TMP/addresses" || got=some
	equal "addresses in kprobes/$shown_file" $got "$wanted"
}

# These files must hide addresses from the same readers as /proc/kallsyms does.
addresses_are_hidden() {
	keep $KPTR
	! has_missed || put $MISSED/run nested
	for file in list missed blacklist optimizer; do
		[ -e $KPROBES/$file ] || continue
		put $KPTR 0
		shows_addresses some "$file" cat
		put $KPTR 1
		shows_addresses some "$file" cat
		[ ! -x "$READ_AS" ] || shows_addresses none "$file" "$READ_AS" -s
		put $KPTR 2
		shows_addresses none "$file" cat
	done
	put_back $KPTR
}

setup
ktap_set_plan 27
load kp_target
load kp_ctl
! has_missed || load kp_missed
check "probes registered" ctl_add "0 kp_target:kp_tgt_function" "1 kernel_clone" \
	"2 kp_tgt_caller post" "3 vsnprintf disabled" "4 schedule_timeout" \
	"5 kp_tgt_function disabled" "6 do_exit"
check "list shows every probe" list_is_complete
check "list is sorted by address" list_is_sorted
check "list can be read from another offset" list_is_read_again
check "list has the documented format" list_has_format
check "list names symbols, offsets and modules" list_names_symbols
check "[DISABLED] follows enable and disable" marks_follow_switching
check "[DISABLED] is each probe's own" marks_are_per_probe
check "enabled switches all probes off and on" enabled_switches_hits
check "enabled takes 0, 1, y, n in any case" enabled_takes_letters
check "enabled refuses other words" enabled_refuses_rubbish
check "what changes while off takes effect when on" enabled_off_keeps_state
check_if "has_symbol kprobe_disable_self" "a probe that disables itself, and enabled" \
	once_waits_for_enabled
check "list is still sorted" list_is_sorted
check "blacklist holds kernel and module functions" blacklist_has_known
check "blacklist holds all that is marked" marked_is_listed
check "blacklist holds text that is copied, patched or without a trap" untouchable_is_listed
check "blacklist has the documented format" blacklist_has_format
check "offsets from the start of the text" counted_from_start
check_if has_missed "missed has the causes of missed hits and calls" missed_has_causes
check_if has_missed "missed has calls that never returned" missed_has_unreturned
check_if has_missed "missed has the documented format" missed_has_format
check_if has_missed "missed has only probes that have missed something" missed_is_empty
check "addresses are hidden from tasks that may not see them" addresses_are_hidden
! has_missed || unload kp_missed
unload kp_ctl
check "list is empty again" list_is_empty
unload kp_target
check "blacklist forgets an unloaded module" blacklist_forgets_module
check "list is empty after all" list_is_empty
ktap_finished
