#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kprobes/explain: the format of its answers, the errors of the file, and every reason in the
# kernel's table. Some reasons are in no answer, because only a registration can be refused for
# them. The script finds these in the probe, in the kernel's log, or in the error log of tracefs. It
# fails if it has not seen a reason, unless that reason needs another kernel or another command
# line.

. "$(dirname "$0")/functions.sh"

CASES=$DEBUGFS/kp_explain
REFUSE=/sys/module/kp_explain/parameters/refuse
DYNDBG=$DEBUGFS/dynamic_debug/control
BOOST=/sys/module/kprobes/parameters/boost
HEX='0x[0-9a-f]*'

# seen REASON...: notes that these reasons were provoked
seen() {
	printf '%s\n' "$@" >>"$TMP/seen"
}

# asked LOCATION: asks explain; the answer is in $TMP/answer
asked() {
	question=$1
	asked_status=0
	explained "$1" || asked_status=1
	sed -n 's/^[a-z-]*reason: //p' "$TMP/answer" >>"$TMP/seen"
	return $asked_status
}

# ask_refused QUESTION: checks that explain refuses QUESTION, and that a read still gives the usage
ask_refused() {
	! asked "$1" || failed "'$1' can be written to explain"
	cmp -s "$TMP/answer" "$TMP/usage" || failed "'$1' changes what is read"
}

# says LINE...: checks the answer for each LINE. KEY: VALUE must be in it; for ~KEY: PATTERN, a line
# with this KEY must match PATTERN; for !KEY, there must be no line with this KEY.
says() {
	for line; do
		case $line in
		!*) ! grep -q "^${line#!}: " "$TMP/answer" ;;
		~*) grep -q "^${line#?}" "$TMP/answer" ;;
		*) grep -q -x -F -e "$line" "$TMP/answer" ;;
		esac || failed "$question: wanted $line, got" \
			"$(answer "$(expr "$line" : '[~!]*\([a-z-]*\)')")"
	done
}

answers() {
	asked "$1" || failed "'$1' cannot be written to explain"
	shift
	says "$@"
}

# case_at "NAME[ BEGINNING]": prints the first location that kp_explain has for the case NAME, or
# the first of them that starts with BEGINNING
case_at() {
	case $1 in
	*" "*) grep "^$1" $CASES ;;
	*) grep "^$1 " $CASES ;;
	esac | head -n 1 | cut -d' ' -f2
}

has_case() {
	grep -q "^$1 " $CASES
}

# refused LOCATION ERRNO REASON [RANGE]: checks that explain answers that a probe at LOCATION would
# be refused, with ERRNO, REASON, and a range whose symbol begins with RANGE
refused() {
	answers "$1" "probe: no" "errno: $2" "reason: $3" !execution !jump \
		${4:+"~range: $HEX-$HEX $4"}
}

# executed LOCATION HOW REASON [HOW REASON]: checks that the answer says HOW the instruction is
# executed, and why; the second pair is for a probe with a post_handler
executed() {
	answers "$1" "probe: yes" !errno "execution: $2" "execution-reason: $3" \
		"execution-post: ${4:-$2}" "execution-post-reason: ${5:-$3}"
}

# no_jump LOCATION REASON [HINT]: checks that explain answers that no jump is possible, with REASON
# and HINT; yes_jump LOCATION: checks that explain answers that a jump is possible
no_jump() {
	answers "$1" "probe: yes" "jump: no" "jump-reason: $2" "${3:+jump-hint: }${3:-!jump-hint}"
}

yes_jump() {
	answers "$1" "jump: yes" !jump-reason
}

# expect [COMMAND...]: reads lines FUNCTION|LOCATION|ARGUMENT..., and calls FUNCTION for each. @NAME
# stands for the location that case_at NAME prints. If there is no such case, or if COMMAND fails,
# this kernel cannot give the reasons in the line (its fields with blanks): they are added to
# $TMP/elsewhere.
expect() {
	possible=yes
	[ $# -eq 0 ] || "$@" || possible=no
	while IFS='|' read -r what where first second third fourth; do
		case $where in
		@*) where=$(case_at "${where#@}") ;;
		esac
		if [ $possible = yes ] && [ -n "$where" ]; then
			$what "$where" ${first:+"$first"} ${second:+"$second"} \
				${third:+"$third"} ${fourth:+"$fourth"}
		else
			printf '%s\n' "$where" "$first" "$second" "$third" "$fourth" |
				sed -n 's/^[~!]*[a-z-]*: //; / /p' >>"$TMP/elsewhere"
		fi
	done
}

# left ID REASON: checks that kp_ctl's registration of probe ID was refused for REASON
left() {
	equal "reason of probe $1" "$(ctl_get "$1" reason)" "$2"
	seen "$2"
}

# refuse WORD ERRNO REASON: writes WORD, which makes kp_explain make a call, and checks that the
# call is refused with ERRNO and REASON
refuse() {
	put $REFUSE "$1"
	equal "$1" "$(cat $REFUSE)" "$2 $3"
	seen "$3"
}

# by_ftrace: is a probe at a function's entry ftrace-based?
by_ftrace() {
	asked kernel_clone && [ "$(answer execution)" = ftrace ]
}

# entry_probed: prints what explain should answer for a function entry. Without ftrace, only x86
# checks the instruction there before a registration.
entry_probed() {
	if is_x86 || by_ftrace; then
		echo yes
	else
		echo unknown
	fi
}

#
# The format and the errors of the file
#

tells_usage() {
	cat $EXPLAIN >"$TMP/usage"
	must grep -q 'SYMBOL\[+OFFSET\], MODULE:SYMBOL\[+OFFSET\], or an address' "$TMP/usage"
	! grep -v '^#' "$TMP/usage" >"$TMP/other" || failed "not a comment: $(cat "$TMP/other")"
	sed -n 's/^# \(refusal\|execution\|jump\): //p' "$TMP/usage" >"$TMP/table"
	at_least "reasons" "$(grep -c . "$TMP/table")" 60
	equal "reasons that are there twice" "$(sort "$TMP/table" | uniq -d)" ""
	! grep -q 'null' "$TMP/table" || failed "a reason has no text"
}

has_format() {
	for location in kp_tgt_plain kp_tgt_plain+1 kp_tgt_nokprobe kp_no_such_symbol; do
		answers "$location" "location: $location"
		! grep -v -E '^(location|address|symbol|probe|errno|reason|range|before|after): .' \
			"$TMP/answer" |
			grep -v -E '^(length|execution|jump|return-probe|event)[a-z-]*: .' \
			>"$TMP/malformed" || failed "$location: $(cat "$TMP/malformed")"
	done
}

finds_location() {
	probed=$(entry_probed)
	first=0
	! is_powerpc || first=$BY_NAME
	answers kp_tgt_plain '~address: 0x[0-9a-f]\{8,16\}$' \
		"~symbol: kp_tgt_plain+0x$first/$HEX \[kp_target\]\$"
	address=$(answer address)
	symbol=$(answer symbol)
	for location in kp_target:kp_tgt_plain kp_tgt_plain+0 kp_tgt_plain+0x0 "$address"; do
		answers "$location" "address: $address" "symbol: $symbol" "probe: $probed"
	done
	# Blanks around the location are ignored, as the shell's newline is.
	answers "  kp_tgt_plain	" "location: kp_tgt_plain" "probe: $probed"
}

refuses_rubbish() {
	for text in "" " " "kp_tgt_plain kp_tgt_plain" kp_tgt_plain+ kp_tgt_plain+x +3 0 0x 0xx \
		kp_tgt_plain+-1 kp_tgt_plain+0x100000000 kp_tgt_plain+1+1 0x1ffffffffffffffff; do
		ask_refused "$text"
	done
	exec 3<>$EXPLAIN
	echo kp_tgt_plain >&3
	taken=yes
	printf 'kp_tgt_plain+x\n' 2>/dev/null >&3 || taken=no
	equal "what is taken" $taken no
	must grep -q '^location: kp_tgt_plain$' <&3
	exec 3>&-
}

refuses_what_is_too_long() {
	long=$(printf '%2000s' kp | tr ' ' k)
	ask_refused "$long"
	# The file takes a name of the maximum length. There is no such symbol.
	refused "$(printf '%s' "$long" | cut -c1-511)" -2 "there is no symbol of that name"
}

refuses_what_cannot_be_read() {
	must "$READ_AS" -b $EXPLAIN
}

readers_are_separate() {
	exec 3<>$EXPLAIN
	exec 4<>$EXPLAIN
	exec 5<$EXPLAIN
	echo kp_tgt_plain >&3
	echo kp_tgt_nokprobe >&4
	equal "third" "$(grep '^location: ' <&3)" "location: kp_tgt_plain"
	equal "fourth" "$(grep '^location: ' <&4)" "location: kp_tgt_nokprobe"
	cmp - "$TMP/usage" <&5 || failed "a question changes what another file has"
	echo kp_tgt_caller >&3
	equal "the next one" "$(grep '^location: ' <&3)" "location: kp_tgt_caller"
	equal "at the end" "$(cat <&3)" ""
	exec 3>&- 4>&- 5<&-
}

reads_anywhere() {
	asked kp_tgt_plain
	exec 3<>$EXPLAIN
	echo kp_tgt_plain >&3
	dd bs=7 <&3 2>/dev/null >"$TMP/pieces"
	must cmp "$TMP/pieces" "$TMP/answer"
	echo kp_tgt_plain >&3
	dd bs=10 skip=1 count=1 <&3 2>/dev/null >"$TMP/piece"
	dd bs=10 skip=1 count=1 <"$TMP/answer" 2>/dev/null | must cmp - "$TMP/piece"
	exec 3>&-
}

changes_nothing() {
	list_is_empty
	before=$(grep -c . $KPROBES/blacklist)
	yes_jump kp_tgt_plain
	list_is_empty
	equal "lines in blacklist" "$(grep -c . $KPROBES/blacklist)" "$before"
	! grep . $KPROBES/optimizer || failed "there is a probepoint"
	call_target 10
}

hides_addresses() {
	change $KPTR 0
	answers kp_tgt_nokprobe '~address: 0x0*[1-9a-f]'
	address=$(answer address)
	put $KPTR 2
	answers kp_tgt_nokprobe '~address: 0x0*$' '~range: 0x0*-0x0* kp_tgt_nokprobe'
	ask_refused "$address"
	put_back $KPTR
}

#
# Refusals
#

BLACKLISTED="the address is on the blacklist"
NO_SYMBOL="there is no symbol of that name"
NO_TEXT="neither the kernel nor a module has text at the address"
NO_ADDRESS="no symbol of the kernel or of a module contains the address"
BEYOND="the offset is past the end of the symbol, in the middle of another"
DATA_SIZE="data_size is more than KRETPROBE_MAX_DATA_SIZE"
INIT_FREED="the init text of the kernel has been freed"

refuses_locations() {
	expect <<-EOF
		refused|kp_no_such_symbol|-2|$NO_SYMBOL
		refused|kp_target:kp_no_such_symbol|-2|$NO_SYMBOL
		refused|$(printf '%070d' 0):kp_tgt_plain|-2|$NO_SYMBOL
		refused|do_sys_openat2+0x100001|-22|$BEYOND
		refused|0x1|-22|$NO_ADDRESS
		refused|jiffies|-22|$NO_TEXT
		refused|start_kernel|-22|$INIT_FREED
	EOF
	# An offset has 32 bits, so address plus offset can only wrap around if the kernel is in the
	# last 4 GiB of the address space.
	asked do_sys_openat2
	case $(answer address) in
	0xffffffff???????? | 0x????????)
		refused do_sys_openat2+0xffffffff -22 \
			"the offset is beyond the end of the address space"
		;;
	esac
}

# The last byte of a range of the blacklist is refused, and the byte after it is not.
names_blacklist_entry() {
	refused kp_tgt_nokprobe -22 "$BLACKLISTED" kp_tgt_nokprobe+0x0/
	after=$(answer range | sed 's/.*-\(0x[0-9a-f]*\) .*/\1/')
	refused "$(address_plus "$after" -1)" -22 "$BLACKLISTED"
	asked "$after"
	! grep 'on the blacklist' "$TMP/answer" || failed "what is after the range is refused, too"
	refused notify_die+1 -22 "$BLACKLISTED" notify_die+0x0/
	must grep -q "^$(answer range | cut -d' ' -f1)	" $KPROBES/blacklist
}

# loads_with_ftrace: can kp_ctl stop the loading of a module in ftrace_module_enable()? The handler
# spins there until another CPU has tried to register a probe, so two CPUs are needed.
loads_with_ftrace() {
	has_symbol ftrace_module_enable && [ "$(grep -c '^processor' /proc/cpuinfo)" -gt 1 ]
}

left_enoent() {
	equal "errno" "$(ctl_get "$1" error)" -2
	left "$1" "$2"
}

refuses_modules() {
	ctl live kp_target 50 kp_tgt_init_function
	ctl going kp_target 51 kp_tgt_function
	# On x86, this address is inside ftrace's call, of which ftrace may have removed its record
	# already. Either way, the reason must be that the module is being unloaded.
	ctl going kp_target 53 kp_tgt_function+$((BEHIND_FTRACE - 4))
	! loads_with_ftrace || ctl early 52 kp_tgt_caller
	unload kp_target
	load kp_target
	is_powerpc || left_enoent 50 "the init text of the module is about to be freed"
	left_enoent 51 "the module is being unloaded"
	left_enoent 53 "the module is being unloaded"
	if loads_with_ftrace; then
		ctl late
		left_enoent 52 "the module is being loaded, and cannot be probed yet"
		ctl del 52
	fi
	ctl_del 50 51 53
}

refuses_returns() {
	# On some architectures, all bytes up to the end of ftrace's call count as the entry.
	inside=$((BEHIND_FTRACE + 4)) probed=unknown
	! is_x86 || inside=3 probed=yes
	answers kp_tgt_plain+$inside "probe: $probed" "return-probe: no" \
		"return-probe-reason: a return probe must be at the entry of a function"
	answers kp_tgt_plain "return-probe: $(entry_probed)" !return-probe-reason
	! is_x86 || answers __switch_to "return-probe: no" \
		"return-probe-reason: the function must not have return probes"
}

refuses_calls() {
	expect <<-EOF
		refuse|twice|-22|the probe is registered already
		refuse|neither|-22|neither an address nor a symbol is given, or both are
		refuse|both|-22|neither an address nor a symbol is given, or both are
		refuse|data|-7|$DATA_SIZE
		refuse|memory|-12|out of memory, or maxactive is too large
	EOF
	expect has_symbol register_jprobe <<-EOF
		refuse|jprobe-inside|-22|a jprobe must be at the entry of a function
		refuse|jprobe-handler|-22|the handler of a jprobe is not in kernel text
	EOF
}

LABEL="the kernel patches the jump label there"
BUG="the kernel identifies the trap of a BUG() or WARN() by its address"
PADDING="the address is in the padding in front of a function"
STATIC_CALL="the kernel patches the static call there"

refuses_text() {
	expect <<-EOF
		refused|@label|-22|$LABEL|kp_ex_label+0x2/
		refused|@bug kp_explain_warns|-22|$BUG|kp_explain_warns+0x
		refused|@static_call kp_explain_calls|-22|$STATIC_CALL|kp_explain_calls+
		refused|@cfi_check|-22|the kernel decodes the instruction when a kCFI check fails
		refused|@blacklisted|-22|$BLACKLISTED
		refused|@blacklisted.part.0|-22|$BLACKLISTED
	EOF
	expect has_symbol start_secondary <<-EOF
		refused|start_secondary|-22|$BLACKLISTED|start_secondary+0x0/
	EOF
	expect grep -q -w __SCT__kp_explain_call /proc/kallsyms <<-EOF
		refused|__SCT__kp_explain_call|-22|$STATIC_CALL
	EOF
	expect has_case label <<-EOF
		refused|kp_ex_label+0x3|-22|$LABEL|kp_ex_label+0x2/
	EOF
	expect has_symbol __pfx_kp_explain_one <<-EOF
		refused|__pfx_kp_explain_one|-22|$PADDING
	EOF
	expect has_case endbr_covered <<-EOF
		refused|@endbr|-22|an indirect jump must find the endbr unchanged
	EOF
	expect grep -q -w maxcpus=1 /proc/cmdline <<-EOF
		refused|@lock|-22|the kernel may patch the lock prefix when more CPUs come online
	EOF
}

one_of_kernel() {
	# shellcheck disable=SC2013 # locations have no blanks
	for location in $(grep "^$1 " $CASES | cut -d' ' -f2); do
		asked "$location"
		[ "$(answer reason)" = "$2" ] || continue
		says "errno: -22" "~range: $HEX-$HEX $location/"
		return
	done
	failed "none of the kernel's sites is refused since $2"
}

# kprobes looks up the kernel's sites in a sorted list, but the sites of a module in its tables.
refuses_kernel_sites() {
	has_symbol __start___jump_table || skip_case "no CONFIG_KALLSYMS_ALL" || return 0
	one_of_kernel kernel_label "$LABEL"
	one_of_kernel kernel_bug "$BUG"
	! has_case static_call || one_of_kernel kernel_call "$STATIC_CALL"
}

finds_boundaries() {
	for byte in 3 4 5; do
		refused kp_ex_plain+$byte -84 "no instruction begins at the address"
		says "~before: kp_ex_plain+0x2/" "~after: kp_ex_plain+0x6/"
	done
	refused "$(case_at undecoded)" -84 \
		"an instruction at the address or before it cannot be decoded"
	says "~before: kp_ex_undecoded+0x6/" !after
	answers kp_ex_plain+2 "probe: yes" "length: 4" !before !after
}

# A breakpoint or a jump replaces the first bytes in the text. The boundaries must still be those of
# the original instructions.
finds_boundaries_of_original() {
	ctl add 0 kp_ex_plain+2
	finds_boundaries
	optimization 1
	finds_boundaries
	ctl del 0
}

refuses_instructions() {
	expect <<-'EOF'
		refused|@trap|-22|the instruction exists to trap
		refused|@unknown|-95|kprobes does not know the opcode
		refused|@evex4|-95|kprobes does not know the opcode
		refused|@hlt|-95|a copy elsewhere would not have the instruction's effect
		refused|@ret16|-95|this form of the instruction has no emulation
		refused|@sti|-95|the next instruction needs the interrupt shadow of the sti
		refused|@rsb|-95|the call only fills the return stack buffer
	EOF
}

TOO_FAR="instruction slots are too far from the operand"

# Two instructions whose operands are so far apart that no slot reaches both.
# explain does not know the slot's address; a registration refuses one of them.
refuses_far_operands() {
	if ! has_case far; then
		echo "$TOO_FAR" >>"$TMP/elsewhere"
		skip_case "operands are not relative to the instruction pointer" || return 0
	fi
	far_refused=0
	for name in far farther; do
		answers "$(case_at $name)" "probe: unknown" "reason: $TOO_FAR" !errno
		if ! ctl_try add 0 "$(case_at $name)"; then
			far_refused=$((far_refused + 1))
			equal "errno" "$(ctl_get 0 error)" -95
			left 0 "$TOO_FAR"
		fi
		ctl del 0
	done
	equal "operands that were too far" $far_refused 1
}

FTRACE_CALLS="ftrace calls the probe, and there is no instruction to execute"
FTRACE_BYTES="the address is inside the bytes that ftrace patches"
FTRACE_OFF="the address belongs to ftrace, which is switched off"
REDIRECTED="another user of ftrace may redirect the function"

refuses_by_ftrace() {
	entry=$(printf 'kernel_clone+0x%x/' $((BEHIND_FTRACE - 5)))
	expect by_ftrace <<-EOF
		refuse|redirects|-16|$REDIRECTED
		refuse|ftrace|-5|ftrace refuses the address
		executed|kernel_clone|ftrace|$FTRACE_CALLS
		says|jump: no|jump-reason: the address belongs to ftrace
		refused|kernel_clone+$((BEHIND_FTRACE - 1))|-84|$FTRACE_BYTES|$entry
		says|~before: $entry|~after: kernel_clone+0x$BEHIND_FTRACE/
	EOF
	off=no
	! by_ftrace || ! ftrace_switches || off=yes
	[ $off = no ] || change $FTRACE_ENABLED 0
	expect [ $off = yes ] <<-EOF
		refused|kernel_clone|-16|$FTRACE_OFF
		ctl_refused|add|0|kernel_clone
		left|0|$FTRACE_OFF
	EOF
	[ $off = no ] || put_back $FTRACE_ENABLED
	by_ftrace || skip_case "no probe is by way of ftrace" || return 0
}

#
# Execution and jumps
#

SAME="the instruction has the same effect elsewhere"
POST="post_handlers cost less after emulation"
SEGMENT="the function loads a data segment before the instruction"
KERNEL="kprobes itself depends on what the instruction reads or changes"

tells_execution() {
	expect <<-EOF
		executed|@plain|boost|$SAME
		executed|@evex5|boost|$SAME
		executed|@evex6|boost|$SAME
		executed|@branch|boost|the slot has a branch with the same target|emulate|$POST
		executed|@relative|emulate|the instruction depends on its address
		executed|@loop|emulate|the instruction depends on its address
		executed|@indirect|emulate|the instruction is an indirect jump or call
		executed|@return|emulate|the instruction is a return
		executed|@flags|emulate|the instruction uses flags that are different during a hit
		executed|@push|boost|$SAME|emulate|$POST
		executed|@state|boost|$SAME
		executed|@state_second|boost|$SAME
		executed|@state_third|boost|$SAME
		executed|@step|single-step|$KERNEL
		executed|@segment|single-step|$SEGMENT
	EOF
}

OFF="the parameter kprobes.boost is off, so no copy is boosted"

tells_of_boost() {
	change $BOOST 0
	expect <<-EOF
		executed|@branch|emulate|$OFF
		executed|@push|emulate|$OFF
		executed|@plain|single-step|$OFF
	EOF
	says "jump: no" \
		"jump-reason: the parameter kprobes.boost is off, so no detour buffer is made"
	put_back $BOOST
}

FIRST_ONLY="post_handlers cannot be called after the first instruction"
ADDRESS_HINT="an address that is only stored in a struct kprobe looks the same; \
give symbol_name and offset instead"

tells_of_jumps() {
	optimization 1
	cat >"$TMP/no_jump" <<-EOF
		no_jump|@undecoded_later|not all of the function can be decoded
		no_jump|@short_end|the function ends before the jump does
		no_jump|@short|a branch leads into the JTPR
		no_jump|@address_first|an address inside the JTPR is loaded|$ADDRESS_HINT
		no_jump|@fixup_into|an exception fixup leads into the JTPR
		no_jump|@label_into|a jump label leads into the JTPR
		no_jump|@assembly|a branch from another function leads into the JTPR
		no_jump|@disp32|another function loads an address inside the JTPR|$ADDRESS_HINT
		no_jump|@fixup_second|a task may sleep in a fault in the DCR
		no_jump|@blacklist_covered|the DCR has text on the blacklist
		no_jump|@cfi_covered|the kernel decodes the DCR when a kCFI check fails
		no_jump|@loop_covered|a branch in the DCR has no near form
		no_jump|@flags_covered|an instruction in the DCR cannot be moved
		no_jump|@label_covered|the kernel patches the DCR itself
		no_jump|@endbr_covered|an indirect jump may lead into the DCR
		no_jump|@jumps_indirectly|the targets of an indirect jump are not known
		no_jump|@segment|the function changes segments that handlers need
	EOF
	expect <"$TMP/no_jump"
	expect <<-EOF
		yes_jump|@state
		yes_jump|@into_other
		yes_jump|@plain
		says|jump-post: yes|!jump-post-reason
		yes_jump|@branch
		says|jump-post: no|jump-post-reason: $FIRST_ONLY
	EOF
	expect has_case far_second <<-EOF
		answers|@far_second|jump: unknown|jump-reason: no detour buffer can be made
	EOF
}

tells_of_changes() {
	plain=$(case_at plain)
	ctl add 0 "$(case_at plain_second)"
	no_jump "$plain" "another probepoint in the DCR is armed"
	ctl disable 0
	yes_jump "$plain"
	ctl del 0
	optimization 0
	no_jump "$plain" "the sysctl debug.kprobes-optimization is 0"
	optimization 1
	put $KPROBES/enabled 0
	no_jump "$plain" "debugfs kprobes/enabled is 0"
	put $KPROBES/enabled 1
	yes_jump "$plain"
	refuse gone 0 "the text is being freed"
}

optimizer_agrees() {
	names="plain branch $(sed 's/.*@//;s/|.*//' "$TMP/no_jump")"
	id=0
	for name in $names; do
		! has_case "$name" || ctl add $id "$(case_at "$name")"
		id=$((id + 1))
	done
	optimization 1
	id=0
	for name in $names; do
		if has_case "$name"; then
			line=$(grep "^$(ctl_get $id address) " $KPROBES/optimizer) || line=none
			asked "$(case_at "$name")"
			wanted="refused: $(answer jump-reason)"
			[ "$(answer jump)" != yes ] || wanted=optimized
			equal "state of $name" "${line##*0x*  }" "$wanted"
			ctl del $id
		fi
		id=$((id + 1))
	done
}

text_was_changed() {
	optimization 1
	put $REFUSE changed
	text="other code has changed the text"
	must grep -q " kp_ex_changed+.*  failed: $text\$" $KPROBES/optimizer
	seen "$text"
	put $REFUSE unchanged
}

#
# Reasons in the logs
#

NOTRACE="kprobe events are refused in notrace functions"

# refuses_notrace: do kprobe events refuse functions that ftrace does not know?
refuses_notrace() {
	has_symbol kprobe_events_refuse
}

# event_agrees LOCATION TYPE: checks that a kprobe event (p or r) is refused if explain says so. The
# error log must have the usual error, then explain's reason. Each of the two messages must mark a
# column with ^, since user space looks for the mark in the last message. The code of kprobe events
# may refuse the function itself, before kprobes does.
event_agrees() {
	asked "$1"
	probed=$(answer probe)
	reason=$(answer reason)
	[ "$probed" = no ] || reason=$(answer event-reason)
	[ "$2" = p ] || reason=$(answer return-probe-reason)
	message="Failed to register probe event"
	[ "$(answer errno)" != -84 ] || message="Probe point is not an instruction boundary"
	: >$TRACEFS/error_log
	if write_to $TRACEFS/kprobe_events "$2:kpexplain/event $1"; then
		[ "$probed" = unknown ] || equal "why $1 cannot have an event" "$reason" ""
		: >$TRACEFS/kprobe_events
		return
	fi
	logged=$(sed -n 's/.*trace_kprobe: error: //p' $TRACEFS/error_log)
	printf '%s\n' "$logged" >>"$TMP/logged"
	if [ "$probed$2" != yesp ] && echo "$logged" | grep -q -x -F "$NOTRACE"; then
		message="Failed to register probe event"
		reason=$NOTRACE
	fi
	[ "$probed" = unknown ] || equal "messages for $1" "$(echo "$logged" | sort)" \
		"$(printf '%s\n' "$message" "$reason" | sort)"
	equal "places" "$(grep -c '^ *^$' $TRACEFS/error_log)" 2
	equal "column" "$(tail -n 1 $TRACEFS/error_log)" "$(printf '%29s^' '')"
}

error_log_has_reasons() {
	has_events || skip_case "no kprobe events" || return 0
	: >"$TMP/logged"
	for location in kp_tgt_nokprobe start_kernel jiffies 0x1 do_sys_openat2+0x100001; do
		event_agrees $location p
	done
	equal "refused events" "$(grep -c ^Failed "$TMP/logged")" 5
	: >$TRACEFS/error_log
}

events_agree() {
	has_events || skip_case "no kprobe events" || return 0
	answers kernel_clone "event: yes" !event-reason
	expect refuses_notrace <<-EOF
		answers|@plain|probe: yes|event: no|event-reason: $NOTRACE
	EOF
	event_agrees __switch_to r
	! by_ftrace || event_agrees kernel_clone+$((BEHIND_FTRACE - 1)) p
	# shellcheck disable=SC2013 # locations have no blanks
	for location in asm_exc_int3 kprobe_int3_handler kp_ex_plain+3 \
		$(grep -v kp_opt $CASES | cut -d' ' -f2 | sort -u); do
		event_agrees "$location" p
	done
	! refuses_notrace || dmesg | must grep -q "Could not probe kp_ex_plain.*: $NOTRACE"
	: >$TRACEFS/error_log
	ktap_print_msg "reasons in the error log: $(sort -u "$TMP/logged" | grep -c .)"
}

# debug_has N TEXT COMMAND...: checks that COMMAND logs N messages with the reason TEXT
debug_has() {
	wanted=$1
	text=$2
	shift 2
	before=$(dmesg | grep -c -F "refused: $text (" || :)
	"$@"
	after=$(dmesg | grep -c -F "refused: $text (" || :)
	equal "messages of: $text" $((after - before)) "$wanted"
}

NULL="the call names no probe: a pointer is NULL, or the number is 0"

debug_messages_have_reasons() {
	if [ ! -w $DYNDBG ]; then
		echo "$NULL" >>"$TMP/elsewhere"
		skip_case "no CONFIG_DYNAMIC_DEBUG" || return 0
	fi
	put $DYNDBG "func kprobe_refused +p"
	debug_has 1 "$NULL" put $REFUSE null
	seen "$NULL"
	debug_has 1 "$BLACKLISTED" ctl_refused add 0 kp_tgt_nokprobe
	debug_has 1 "$NO_SYMBOL" ctl_refused add 0 kp_no_such_symbol
	debug_has 1 "$DATA_SIZE" put $REFUSE data
	! by_ftrace || debug_has 1 "$REDIRECTED" put $REFUSE redirects
	dmesg | must grep -q -F "kprobes: kp_tgt_nokprobe+0x0 refused: the address is on the"
	# A question to explain logs nothing.
	debug_has 0 "$BLACKLISTED" asked kp_tgt_nokprobe
	put $DYNDBG "func kprobe_refused -p"
	debug_has 0 "$BLACKLISTED" ctl_refused add 0 kp_tgt_nokprobe
}

AMBIGUOUS="several symbols have that name"

# Ask for names that are ambiguous: of several functions in the kernel, of one function in each of
# two modules, and of two functions in one module.
tells_of_several() {
	module_file kp_clients >/dev/null || skip_case "kp_clients is not there" || return 0
	# shellcheck disable=SC2013 # names have no blanks
	for name in $(awk '$2 ~ /[tT]/ && $4 == "" && $3 ~ /^[a-z][a-z_]*$/ &&
			++n[$3] == 2 && m++ < 3 { print $3 }' /proc/kallsyms); do
		answers "$name" "symbols: $(grep -c " $name\(	\|\$\)" /proc/kallsyms)"
		[ "$(answer probe)" != yes ] || failed "$name: probe: yes"
	done
	load kp_target2
	load kp_clients
	answers kp_tgt_caller "probe: unknown" "reason: $AMBIGUOUS" "symbols: 2" \
		"~symbols-hint: name one by MODULE:SYMBOL, .*; write \[k\]p_tgt_caller for a list$"
	! has_events || says "event: no" "event-reason: $AMBIGUOUS"
	probed=$(entry_probed)
	for location in kp_target:kp_tgt_caller kp_target2:kp_tgt_caller; do
		answers $location "probe: $probed" !symbols !reason !event-reason
	done
	answers kp_clients:kp_cl_twice "probe: unknown" "reason: $AMBIGUOUS" "symbols: 2" \
		"~symbols-hint: .* write kp_clients:\[k\]p_cl_twice for a list$"
	for location in '[k]p_tgt_caller' 'kp_clients:[k]p_cl_twice'; do
		explained "$location" || failed "$location cannot be written to explain"
		cut -d' ' -f1 "$TMP/answer" >"$TMP/places"
		equal "places of $location" "$(grep -c . "$TMP/places")" 2
		while read -r address; do
			answers "$address" "probe: $probed" !symbols
			! has_events || event_is_accepted "$address"
		done <"$TMP/places"
	done
	if has_events; then
		put_refused $TRACEFS/kprobe_events "p:kpexplain/event kp_tgt_caller"
		put_refused $TRACEFS/kprobe_events "p:kpexplain/event kp_clients:kp_cl_twice"
		event_is_accepted kp_target2:kp_tgt_caller
		: >$TRACEFS/error_log
	fi
	unload kp_clients kp_target2
}

event_is_accepted() {
	put $TRACEFS/kprobe_events "p:kpexplain/event $1"
	: >$TRACEFS/kprobe_events
}

LOCKED="kprobe events are refused while the kernel is locked down"

# kp_ctl's command `lock` makes security_locked_down() fail. Without CONFIG_SECURITY, there is no
# such function in the kernel.
refuses_if_locked() {
	if ! has_symbol security_locked_down; then
		echo "$LOCKED" >>"$TMP/elsewhere"
		skip_case "no CONFIG_SECURITY" || return 0
	fi
	ctl lock
	ctl_refused add 0 kp_tgt_caller event
	equal "errno" "$(ctl_get 0 error)" -1
	left 0 "$LOCKED"
	if has_events; then
		: >$TRACEFS/error_log
		put_refused $TRACEFS/kprobe_events "p:kpexplain/event kp_tgt_caller"
		must grep -q "error: $LOCKED\$" $TRACEFS/error_log
		: >$TRACEFS/error_log
	fi
	ctl unlock
	ctl add 0 kp_tgt_caller event
	ctl del 0
}

# elsewhere: prints the reasons that are seen only on other kernels or architectures, or in
# ftrace-dead.sh or opt.sh
elsewhere() {
	cat "$TMP/elsewhere" - <<-EOF
		ftrace patches the instruction
		the architecture has no jump optimisation
		the architecture's code refuses the instruction
		the architecture checks the instruction only at registration
		the architecture decides when the detour buffer is made
		the address belongs to ftrace, which has failed
		the kernel has no CONFIG_KPROBES_FAULT_HANDLER
		a probe has the flag KPROBE_FLAG_NO_JUMP
		an empty post_handler keeps the next instruction in the text
		a pre_handler has redirected execution, and may need the next instruction
	EOF
	loads_with_ftrace || echo "the module is being loaded, and cannot be probed yet"
}

every_reason_was_seen() {
	elsewhere | sort -u - "$TMP/seen" >"$TMP/known"
	sort "$TMP/table" >"$TMP/sorted"
	equal "reasons that nothing has provoked" \
		"$(grep -v -x -F -f "$TMP/known" "$TMP/sorted")" ""
	equal "reasons that are not in the table" \
		"$(grep -v -x -F -f "$TMP/sorted" "$TMP/known")" ""
	ktap_print_msg "$(sort -u "$TMP/seen" | grep -c .) of $(grep -c . "$TMP/table") seen"
}

setup
[ -e $EXPLAIN ] || skip_topic "this kernel has no kprobes/explain"
: >"$TMP/seen"
: >"$TMP/elsewhere"
cases=17
! is_x86 || cases=35
ktap_set_plan $cases
load kp_target
load kp_ctl
check "without a question, the usage and all reasons" tells_usage
check "every line has a key and a value" has_format
check "symbols, modules, offsets, addresses" finds_location
check "what is no location is refused" refuses_rubbish
check "what is too long is refused" refuses_what_is_too_long
check_if "[ -x $READ_AS ]" "what cannot be read is refused" refuses_what_cannot_be_read
check "each open file has an answer of its own" readers_are_separate
check "reads at offsets" reads_anywhere
check "locations that do not exist, or not any more" refuses_locations
check "the entry of the blacklist is named" names_blacklist_entry
check "functions that may not have return probes" refuses_returns
check "modules that come and go" refuses_modules
check "addresses are hidden from tasks that may not see them" hides_addresses
if is_x86; then
	load kp_explain
	check "a question changes nothing" changes_nothing
	check "calls that are wrong" refuses_calls
	check "text that the kernel needs as it is" refuses_text
	check "the same in the kernel itself" refuses_kernel_sites
	check "boundaries" finds_boundaries
	check "boundaries where there are probes" finds_boundaries_of_original
	check "instructions that cannot be probed" refuses_instructions
	check "operands that are too far away" refuses_far_operands
	check "what belongs to ftrace" refuses_by_ftrace
	check "how instructions are executed" tells_execution
	check "and if boosting is off" tells_of_boost
	check "where there can be no jump" tells_of_jumps
	check "where there is none at the moment" tells_of_changes
	check "the optimiser gives the same reasons" optimizer_agrees
	check "text that has changed" text_was_changed
fi
check "names that several functions have" tells_of_several
check "a kernel that is locked down" refuses_if_locked
check "the error log of tracefs has the reasons" error_log_has_reasons
if is_x86; then
	check "kprobe events are refused for the same reasons" events_agree
	check "the kernel's log has the reasons" debug_messages_have_reasons
	check "every reason was seen" every_reason_was_seen
	unload kp_explain
fi
check "list is empty" list_is_empty
unload kp_ctl kp_target
ktap_finished
