#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kprobes/explain: the format of its answers, the errors of the file, and each reason for a
# refusal. Where no location can show a reason, a registration is refused for it, and the probe,
# the kernel's log, or the error log of tracefs has the reason. At the end, every reason of the
# kernel's table has been seen, or needs another kernel or another command line.
set -eu

# shellcheck source=tools/testing/selftests/kprobes/functions.sh
. "$(dirname "$0")/functions.sh"

EXPLAIN=$KPROBES/explain
CASES=$DEBUGFS/kp_explain/cases
TRACEFS=/sys/kernel/tracing
DYNDBG=$DEBUGFS/dynamic_debug/control
BOOST=/sys/module/kprobes/parameters/boost
FTRACE_ENABLED=/proc/sys/kernel/ftrace_enabled
KPTR=/proc/sys/kernel/kptr_restrict

# Settings before the script changed them; empty if unchanged
BOOST_WAS=
FTRACE_WAS=
KPTR_WAS=

# shellcheck disable=SC2317 # called by the trap
restore_all() {
	restored=$?
	[ -z "$BOOST_WAS" ] || echo "$BOOST_WAS" >$BOOST
	[ -z "$FTRACE_WAS" ] || echo "$FTRACE_WAS" >$FTRACE_ENABLED
	[ -z "$KPTR_WAS" ] || echo "$KPTR_WAS" >$KPTR
	echo 1 >$KPROBES/enabled
	return $restored
}

# asked LOCATION: the kernel takes the question; the answer is in $TMP/answer
asked() {
	question=$1
	exec 3<>$EXPLAIN
	asked_status=0
	printf '%s\n' "$1" 2>/dev/null >&3 || asked_status=1
	cat <&3 >"$TMP/answer"
	exec 3>&-
	return $asked_status
}

ask() {
	asked "$1" || failed "'$1' cannot be written to explain"
}

ask_refused() {
	! asked "$1" || failed "'$1' can be written to explain"
}

# Prints the value that the answer has for a key.
answer() {
	sed -n "s/^$1: //p" "$TMP/answer"
}

# says KEY VALUE: the answer has this value
says() {
	equal "$1 of $question" "$(answer "$1")" "$2"
}

# says_not KEY: the answer has no such line
says_not() {
	! grep -q "^$1: " "$TMP/answer" || failed "$1 of $question is $(answer "$1")"
}

# seen TEXT: notes that this reason was provoked
seen() {
	printf '%s\n' "$1" >>"$TMP/seen"
}

# because KEY TEXT: the answer has this reason, which is noted as seen
because() {
	says "$1" "$2"
	seen "$2"
}

# case_at NAME [FUNCTION]: prints the location of that name in kp_explain
case_at() {
	grep "^$1 ${2:-}" $CASES | head -n 1 | cut -d' ' -f2
}

has_case() {
	grep -q "^$1 " $CASES
}

# refused LOCATION ERRNO REASON: explain refuses it so
refused() {
	ask "$1"
	says probe no
	says errno "$2"
	because reason "$3"
	says_not execution
	says_not jump
}

# executed LOCATION HOW REASON [HOW REASON]: the second pair is for a probe with post_handlers
executed() {
	ask "$1"
	says probe yes
	says_not errno
	says execution "$2"
	because execution-reason "$3"
	says execution-post "${4:-$2}"
	because execution-post-reason "${5:-$3}"
}

# no_jump LOCATION REASON: the probepoint would not be optimised
no_jump() {
	ask "$1"
	says probe yes
	says jump no
	because jump-reason "$2"
}

#
# The file
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

# Every line is "key: value", with only the keys that the manual describes.
has_format() {
	for location in kp_tgt_plain kp_tgt_plain+1 kp_tgt_nokprobe kp_no_such_symbol; do
		ask "$location"
		! grep -v -E '^(location|address|symbol|probe|errno|reason): .' "$TMP/answer" |
			grep -v -E '^(range|before|after): .' |
			grep -v -E '^(length|execution|jump|return-probe|event)[a-z-]*: .' \
			>"$TMP/malformed" || failed "$location: $(cat "$TMP/malformed")"
		says location "$location"
	done
}

# by_ftrace: is a probe at a function's entry ftrace-based?
by_ftrace() {
	asked kernel_clone && [ "$(answer execution)" = ftrace ]
}

# entry_probed: the answer for a function that can be probed. Other architectures than x86 check
# the instruction only at the registration.
entry_probed() {
	if is_x86 || by_ftrace; then
		echo yes
	else
		echo unknown
	fi
}

finds_location() {
	probed=$(entry_probed)
	ask kp_tgt_plain
	address=$(answer address)
	must expr "$address" : '0x[0-9a-f]\{8,16\}$' >/dev/null
	symbol=$(answer symbol)
	first=0
	! is_powerpc || first=$BY_NAME
	must expr "$symbol" : "kp_tgt_plain+0x$first/0x[0-9a-f]* \[kp_target\]\$" >/dev/null
	for location in kp_target:kp_tgt_plain kp_tgt_plain+0 kp_tgt_plain+0x0 "$address"; do
		ask "$location"
		says address "$address"
		says symbol "$symbol"
		says probe "$probed"
	done
	# The shell's newline and blanks around the location are ignored.
	ask "  kp_tgt_plain	"
	says location kp_tgt_plain
	says probe "$probed"
}

refuses_rubbish() {
	for text in "" " " "kp_tgt_plain kp_tgt_plain" kp_tgt_plain+ kp_tgt_plain+x +3 0 0x 0xx \
		kp_tgt_plain+-1 kp_tgt_plain+0x100000000 kp_tgt_plain+1+1 0x1ffffffffffffffff; do
		ask_refused "$text"
		# The file still has the usage.
		cmp -s "$TMP/answer" "$TMP/usage" || failed "'$text' changes what is read"
	done
	# An error keeps the previous answer.
	exec 3<>$EXPLAIN
	echo kp_tgt_plain >&3
	taken=yes
	printf 'kp_tgt_plain+x\n' 2>/dev/null >&3 || taken=no
	equal "what is taken" $taken no
	must grep -q '^location: kp_tgt_plain$' <&3
	exec 3>&-
}

refuses_what_is_too_long() {
	long=kp
	while [ ${#long} -lt 2000 ]; do
		long=$long$long
	done
	ask_refused "$long"
	cmp -s "$TMP/answer" "$TMP/usage" || failed "what is too long changes what is read"
	# A name of the maximum length is taken, and is a symbol that does not exist.
	name=$(printf '%s' "$long" | cut -c1-511)
	refused "$name" -2 "there is no symbol of that name"
}

readers_are_separate() {
	exec 3<>$EXPLAIN
	exec 4<>$EXPLAIN
	exec 5<$EXPLAIN
	echo kp_tgt_plain >&3
	echo kp_tgt_nokprobe >&4
	cat <&3 >"$TMP/third"
	cat <&4 >"$TMP/fourth"
	cat <&5 >"$TMP/fifth"
	equal "third" "$(grep '^location: ' "$TMP/third")" "location: kp_tgt_plain"
	equal "fourth" "$(grep '^location: ' "$TMP/fourth")" "location: kp_tgt_nokprobe"
	must cmp "$TMP/fifth" "$TMP/usage"
	# The next question is answered from the beginning.
	echo kp_tgt_caller >&3
	equal "the next one" "$(grep '^location: ' <&3)" "location: kp_tgt_caller"
	equal "at the end" "$(cat <&3)" ""
	exec 3>&- 4>&- 5<&-
}

# Reads at an offset, in small pieces, and after a seek give the same bytes.
reads_anywhere() {
	ask kp_tgt_plain
	exec 3<>$EXPLAIN
	echo kp_tgt_plain >&3
	dd bs=7 <&3 2>/dev/null >"$TMP/pieces"
	must cmp "$TMP/pieces" "$TMP/answer"
	echo kp_tgt_plain >&3
	dd bs=10 skip=1 count=1 <&3 2>/dev/null >"$TMP/piece"
	dd bs=10 skip=1 count=1 <"$TMP/answer" 2>/dev/null | must cmp - "$TMP/piece"
	exec 3>&-
}

# Without post_handlers and probes the answer has no further lines.
changes_nothing() {
	list_is_empty
	before=$(grep -c . $KPROBES/blacklist)
	ask kp_tgt_plain
	says jump yes
	list_is_empty
	equal "lines in blacklist" "$(grep -c . $KPROBES/blacklist)" "$before"
	! grep . $KPROBES/optimizer || failed "there is a probepoint"
	call_target 10
}

hides_addresses() {
	KPTR_WAS=$(cat $KPTR)
	put $KPTR 0
	ask kp_tgt_nokprobe
	address=$(answer address)
	must_fail expr "$address" : '0x0*$' >/dev/null
	put $KPTR 2
	ask kp_tgt_nokprobe
	must expr "$(answer address)" : '0x0*$' >/dev/null
	must expr "$(answer range)" : '0x0*-0x0* kp_tgt_nokprobe' >/dev/null
	ask_refused "$address"
	put $KPTR "$KPTR_WAS"
	KPTR_WAS=
}

#
# Refusals
#

refuses_locations() {
	refused kp_no_such_symbol -2 "there is no symbol of that name"
	refused kp_target:kp_no_such_symbol -2 "there is no symbol of that name"
	# An offset has 32 bits. If the kernel is further from the end, no offset leads there.
	ask do_sys_openat2
	case $(answer address) in
	0xffffffff???????? | 0x????????)
		refused do_sys_openat2+0xffffffff -22 \
			"the offset leads beyond the end of the address space"
		;;
	esac
	refused do_sys_openat2+0x100001 -22 \
		"the offset leads beyond the symbol, into the middle of another"
	refused 0x1 -22 "no symbol of the kernel or of a module has the address"
	refused jiffies -22 "the address is in no text of the kernel or of a module"
	refused start_kernel -22 "the init text of the kernel has been freed"
}

names_blacklist_entry() {
	refused kp_tgt_nokprobe -22 "the address is on the blacklist"
	must expr "$(answer range)" : '0x[0-9a-f]*-0x[0-9a-f]* kp_tgt_nokprobe+0x0/' >/dev/null
	after=$(answer range | sed 's/.*-\(0x[0-9a-f]*\) .*/\1/')
	refused "$(printf '0x%x' $((after - 1)))" -22 "the address is on the blacklist"
	ask "$after"
	! grep 'on the blacklist' "$TMP/answer" || failed "what is after the range is refused, too"
	refused notify_die+1 -22 "the address is on the blacklist"
	must expr "$(answer range)" : '0x[0-9a-f]*-0x[0-9a-f]* notify_die+0x0/' >/dev/null
	# The answer has the range of the blacklist.
	must grep -q "^$(answer range | cut -d' ' -f1)	" $KPROBES/blacklist
}

# kp_ctl stops the loading of a module in ftrace_module_enable(): the handler spins until another
# CPU has tried to register a probe.
loads_with_ftrace() {
	grep -q ' ftrace_module_enable$' /proc/kallsyms &&
		[ "$(grep -c '^processor' /proc/cpuinfo)" -gt 1 ]
}

refuses_modules() {
	ctl live kp_target 50 kp_tgt_init_function
	ctl going kp_target 51 kp_tgt_function
	# Inside ftrace's call on x86; ftrace may have forgotten the record already.
	ctl going kp_target 53 kp_tgt_function+$((BEHIND_FTRACE - 4))
	! loads_with_ftrace || ctl early 52 kp_tgt_caller
	unload kp_target
	load kp_target
	if ! is_powerpc; then
		equal "errno" "$(ctl_get 50 error)" -2
		left 50 "the init text of the module is about to be freed"
	fi
	equal "errno" "$(ctl_get 51 error)" -2
	left 51 "the module is being unloaded"
	equal "errno" "$(ctl_get 53 error)" -2
	left 53 "the module is being unloaded"
	if loads_with_ftrace; then
		ctl late
		equal "errno" "$(ctl_get 52 error)" -2
		left 52 "the module is being loaded, and cannot be probed yet"
		ctl del 52
	fi
	ctl del 50
	ctl del 51
	ctl del 53
}

# left ID REASON: the registration by kp_ctl was refused for this reason
left() {
	equal "reason of probe $1" "$(sed -n "s/^$1 //p" $DEBUGFS/kp_ctl/reasons)" "$2"
	seen "$2"
}

refuses_returns() {
	if is_x86; then
		ask kp_tgt_plain+3
		says probe yes
	else
		# Some architectures take all bytes up to ftrace's call for the entry.
		ask kp_tgt_plain+$((BEHIND_FTRACE + 4))
		says probe unknown
	fi
	says return-probe no
	because return-probe-reason "a return probe must be at the entry of a function"
	probed=$(entry_probed)
	ask kp_tgt_plain
	says return-probe "$probed"
	says_not return-probe-reason
	if is_x86; then
		ask __switch_to
		says return-probe no
		because return-probe-reason "the function must not have return probes"
	fi
}

# refuse WORD ERRNO REASON: kp_explain provokes this refusal
refuse() {
	put $DEBUGFS/kp_explain/refuse "$1"
	equal "$1" "$(cat $DEBUGFS/kp_explain/refused)" "$2 $3"
	seen "$3"
}

JPROBE_INSIDE="a jprobe must be at the entry of a function"
JPROBE_HANDLER="the handler of a jprobe is not in kernel text"

has_jprobes() {
	grep -q ' register_jprobe$' /proc/kallsyms
}

refuses_calls() {
	refuse twice -22 "the probe is registered already"
	refuse neither -22 "neither an address nor a symbol is given, or both are"
	refuse both -22 "neither an address nor a symbol is given, or both are"
	refuse data -7 "data_size is more than KRETPROBE_MAX_DATA_SIZE"
	refuse memory -12 "out of memory, or maxactive is too large"
	if has_jprobes; then
		refuse jprobe-inside -22 "$JPROBE_INSIDE"
		refuse jprobe-handler -22 "$JPROBE_HANDLER"
	fi
}

refuses_text() {
	refused "$(case_at label)" -22 "the kernel patches the jump label there"
	must expr "$(answer range)" : '0x[0-9a-f]*-0x[0-9a-f]* kp_ex_label+0x2/' >/dev/null
	refused "$(case_at bug kp_explain_warns)" -22 \
		"the kernel knows the trap of a BUG() or a WARN() by its address"
	must expr "$(answer range)" : '0x[0-9a-f]*-0x[0-9a-f]* kp_explain_warns+0x' >/dev/null
	if has_case static_call; then
		refused "$(case_at static_call kp_explain_calls)" -22 \
			"the kernel patches the static call there"
		must expr "$(answer range)" : '0x[0-9a-f]*-0x[0-9a-f]* kp_explain_calls+' >/dev/null
	fi
	if grep -q ' __pfx_kp_explain_one' /proc/kallsyms; then
		refused __pfx_kp_explain_one -22 \
			"the address is in the padding in front of a function"
	fi
	if has_case endbr_covered; then
		refused "$(case_at endbr)" -22 "an indirect jump must find the endbr unchanged"
	fi
	if has_case cfi_check; then
		refused "$(case_at cfi_check)" -22 \
			"the kernel decodes the instruction when a kCFI check fails"
	fi
	if grep -q -w maxcpus=1 /proc/cmdline; then
		refused "$(case_at lock)" -22 \
			"the kernel may patch the lock prefix when more CPUs come online"
	fi
	refused "$(case_at blacklisted)" -22 "the address is on the blacklist"
}

finds_boundaries() {
	for byte in 3 4 5; do
		refused kp_ex_plain+$byte -84 "no instruction begins at the address"
		must expr "$(answer before)" : 'kp_ex_plain+0x2/' >/dev/null
		must expr "$(answer after)" : 'kp_ex_plain+0x6/' >/dev/null
	done
	refused "$(case_at undecoded)" -84 \
		"an instruction at the address or before it cannot be decoded"
	must expr "$(answer before)" : 'kp_ex_undecoded+0x6/' >/dev/null
	says_not after
	ask kp_ex_plain+2
	says probe yes
	says length 4
	says_not before
	says_not after
}

# one_of_kernel NAME REASON: one of the kernel's own sites of a kind is refused for this reason
one_of_kernel() {
	# shellcheck disable=SC2013 # locations have no blanks
	for location in $(grep "^$1 " $CASES | cut -d' ' -f2); do
		ask "$location"
		[ "$(answer reason)" = "$2" ] || continue
		says errno -22
		must expr "$(answer range | cut -d' ' -f2)" : "$location/" >/dev/null
		return
	done
	failed "none of the kernel's sites is refused since $2"
}

# Sites of the kernel are found in one sorted list, those of a module in its tables.
refuses_kernel_sites() {
	if ! grep -q ' __start___jump_table$' /proc/kallsyms; then
		skip_case "no CONFIG_KALLSYMS_ALL"
		return
	fi
	one_of_kernel kernel_label "the kernel patches the jump label there"
	one_of_kernel kernel_bug "the kernel knows the trap of a BUG() or a WARN() by its address"
	! has_case static_call ||
		one_of_kernel kernel_call "the kernel patches the static call there"
}

# A breakpoint hides the first byte; instruction boundaries are those of the original text.
finds_boundaries_of_original() {
	ctl add 0 kp_ex_plain+2
	finds_boundaries
	optimization 1
	finds_boundaries
	ctl del 0
}

refuses_instructions() {
	refused "$(case_at trap)" -22 "the instruction exists to trap"
	refused "$(case_at unknown)" -95 "the opcode is in no opcode map of kprobes"
	refused "$(case_at hlt)" -95 "a copy elsewhere would not have the instruction's effect"
	refused "$(case_at ret16)" -95 "this form of the instruction has no emulation"
	refused "$(case_at sti)" -95 "the next instruction needs the interrupt shadow of the sti"
	refused "$(case_at rsb)" -95 "the call only fills the return stack buffer"
}

# The address of a slot is known at the registration only: one of two probes is refused then.
refuses_far_operands() {
	if ! has_case far; then
		skip_case "operands are not relative to the instruction pointer"
		return
	fi
	far_refused=0
	for where in far farther; do
		ask "$(case_at $where)"
		says probe unknown
		because reason "instruction slots are too far from the operand"
		says_not errno
		if ! ctl_try add 0 "$(case_at $where)"; then
			far_refused=$((far_refused + 1))
			equal "errno" "$(ctl_get 0 error)" -95
			left 0 "instruction slots are too far from the operand"
		fi
		ctl del 0
	done
	equal "operands that were too far" $far_refused 1
}

refuses_by_ftrace() {
	if ! by_ftrace; then
		skip_case "no probe is by way of ftrace"
		return
	fi
	executed kernel_clone ftrace \
		"ftrace calls the probe, and there is no instruction to execute"
	says jump no
	because jump-reason "the address belongs to ftrace"
	inside=$((BEHIND_FTRACE - 1))
	refused kernel_clone+$inside -84 "the address is inside the bytes that ftrace patches"
	entry=$(printf '0x%x' $((BEHIND_FTRACE - 5)))
	must expr "$(answer before)" : "kernel_clone+$entry/" >/dev/null
	must expr "$(answer after)" : "kernel_clone+0x$BEHIND_FTRACE/" >/dev/null
	must expr "$(answer range)" : "0x[0-9a-f]*-0x[0-9a-f]* kernel_clone+$entry/" >/dev/null
	refuse redirects -16 "another user of ftrace may redirect the function"
	refuse ftrace -5 "ftrace refuses the address"

	FTRACE_WAS=$(cat $FTRACE_ENABLED)
	put $FTRACE_ENABLED 0
	refused kernel_clone -16 "the address belongs to ftrace, which is switched off"
	ctl_refused add 0 kernel_clone
	left 0 "the address belongs to ftrace, which is switched off"
	put $FTRACE_ENABLED "$FTRACE_WAS"
	FTRACE_WAS=
}

#
# Execution
#

SAME="the instruction has the same effect elsewhere"
POST="post_handlers cost less behind an emulation"
KERNEL="kprobes itself depends on what the instruction reads or changes"

tells_execution() {
	executed "$(case_at plain)" boost "$SAME"
	executed "$(case_at branch)" boost "the slot has a branch with the same target" \
		emulate "$POST"
	executed "$(case_at relative)" emulate "the instruction depends on its address"
	executed "$(case_at loop)" emulate "the instruction depends on its address"
	executed "$(case_at indirect)" emulate "the instruction is an indirect jump or call"
	executed "$(case_at return)" emulate "the instruction is a return"
	executed "$(case_at flags)" emulate \
		"the instruction uses flags that are different during a hit"
	executed "$(case_at push)" boost "$SAME" emulate "$POST"
	for state in state state_second state_third; do
		executed "$(case_at $state)" boost "$SAME"
	done
	if has_case segment; then
		executed "$(case_at step)" single-step "$KERNEL"
		executed "$(case_at segment)" single-step \
			"the function loads a data segment before the instruction"
	fi
}

OFF="the parameter kprobes.boost is off, so no copy is boosted"

tells_of_boost() {
	BOOST_WAS=$(cat $BOOST)
	put $BOOST 0
	executed "$(case_at plain)" single-step "$OFF"
	says jump no
	because jump-reason "the parameter kprobes.boost is off, so no detour buffer is made"
	executed "$(case_at branch)" emulate "$OFF"
	executed "$(case_at push)" emulate "$OFF"
	put $BOOST "$BOOST_WAS"
	BOOST_WAS=
}

#
# Jumps
#

ADDRESS_HINT="an address that is only stored in a struct kprobe looks the same; \
give symbol_name and offset instead"

tells_of_jumps() {
	optimization 1
	ask "$(case_at plain)"
	says jump yes
	says jump-post yes
	says_not jump-reason
	says_not jump-post-reason
	no_jump "$(case_at undecoded_later)" "not all of the function can be decoded"
	no_jump "$(case_at end)" "the function ends before the jump does"
	no_jump "$(case_at into)" "a branch leads into the JTPR"
	no_jump "$(case_at address)" "an address inside the JTPR is loaded"
	says jump-hint "$ADDRESS_HINT"
	no_jump "$(case_at fixup)" "an exception fixup leads into the JTPR"
	no_jump "$(case_at label_into)" "a jump label leads into the JTPR"
	no_jump "$(case_at far_branch)" "a branch from another function leads into the JTPR"
	says_not jump-hint
	no_jump "$(case_at far_address)" "another function loads an address inside the JTPR"
	says jump-hint "$ADDRESS_HINT"
	no_jump "$(case_at fault_covered)" "a task may sleep in a fault in the DCR"
	no_jump "$(case_at blacklist_covered)" "the DCR has text on the blacklist"
	no_jump "$(case_at loop_covered)" "a branch in the DCR has no near form"
	no_jump "$(case_at flags_covered)" "an instruction of the DCR cannot be moved"
	no_jump "$(case_at label_covered)" "the kernel patches the DCR itself"
	if has_case endbr_covered; then
		no_jump "$(case_at endbr_covered)" "an indirect jump may lead into the DCR"
	else
		no_jump "$(case_at jumps_indirectly)" \
			"the targets of an indirect jump are not known"
	fi
	if has_case segment; then
		no_jump "$(case_at segment)" "the function changes segments that handlers need"
	fi
	for covered in state into_other; do
		ask "$(case_at $covered)"
		says jump yes
	done
	ask "$(case_at branch)"
	says jump yes
	says jump-post no
	because jump-post-reason "post_handlers cannot be called behind the first instruction"
	if has_case far_second; then
		ask "$(case_at far_second)"
		says jump unknown
		because jump-reason "no detour buffer can be made"
	fi
}

tells_of_changes() {
	plain=$(case_at plain)
	ctl add 0 "$(case_at plain_second)"
	no_jump "$plain" "another probepoint in the DCR is armed"
	ctl disable 0
	ask "$plain"
	says jump yes
	ctl del 0
	optimization 0
	no_jump "$plain" "the sysctl debug.kprobes-optimization is 0"
	optimization 1
	put $KPROBES/enabled 0
	no_jump "$plain" "debugfs kprobes/enabled is 0"
	put $KPROBES/enabled 1
	ask "$plain"
	says jump yes
	refuse gone 0 "the text is being freed"
}

# The optimiser's reason is the same as the answer's, for the same addresses.
optimizer_agrees() {
	names="plain branch undecoded_later end into address fixup label_into far_branch \
		far_address fault_covered blacklist_covered loop_covered \
		flags_covered label_covered"
	id=0
	for name in $names; do
		ctl add $id "$(case_at "$name")"
		id=$((id + 1))
	done
	optimization 1
	id=0
	for name in $names; do
		line=$(grep "^$(ctl_get $id address) " $KPROBES/optimizer) || line=none
		ask "$(case_at "$name")"
		if [ "$(answer jump)" = yes ]; then
			wanted=optimized
		else
			wanted="refused: $(answer jump-reason)"
		fi
		equal "state of $name" "${line##*0x*  }" "$wanted"
		ctl del $id
		id=$((id + 1))
	done
}

text_was_changed() {
	optimization 1
	put $DEBUGFS/kp_explain/refuse changed
	text="other code has changed the text"
	must grep -q " kp_ex_changed+.*  failed: $text\$" $KPROBES/optimizer
	seen "$text"
	put $DEBUGFS/kp_explain/refuse unchanged
}

#
# The logs
#

# event_refused LOCATION MESSAGE REASON [TYPE]: the error log has both
event_refused() {
	: >$TRACEFS/error_log
	put_refused $TRACEFS/kprobe_events "${4:-p}:kpexplain/event $1"
	must grep -q "trace_kprobe: error: $2\$" $TRACEFS/error_log
	must grep -q "trace_kprobe: error: $3\$" $TRACEFS/error_log
	# Scripts look at the last line for the place of the error.
	equal "errors" "$(grep -c 'error: ' $TRACEFS/error_log)" 2
	equal "places" "$(grep -c '^ *^$' $TRACEFS/error_log)" 2
	equal "column" "$(tail -n 1 $TRACEFS/error_log)" "$(printf '%29s^' '')"
}

has_events() {
	[ -e $TRACEFS/kprobe_events ] || mount -t tracefs none $TRACEFS 2>/dev/null || :
	[ -e $TRACEFS/kprobe_events ]
}

NOTRACE="kprobe events are refused in notrace functions"

# refuses_notrace: do kprobe events refuse functions that ftrace does not know?
refuses_notrace() {
	grep -q ' kprobe_events_refuse$' /proc/kallsyms
}

error_log_has_reasons() {
	if ! has_events; then
		skip_case "no kprobe events"
		return
	fi
	fail="Failed to register probe event"
	boundary="Probe point is not an instruction boundary"
	blacklisted="the address is on the blacklist"
	event_refused kp_tgt_nokprobe "$fail" "$blacklisted"
	# This and the next function are notrace, but the reason of kprobes is more precise.
	event_refused start_kernel "$fail" "the init text of the kernel has been freed"
	event_refused jiffies "$fail" "the address is in no text of the kernel or of a module"
	event_refused 0x1 "$fail" "no symbol of the kernel or of a module has the address"
	event_refused do_sys_openat2+0x100001 "$fail" \
		"the offset leads beyond the symbol, into the middle of another"
	if ! is_x86; then
		: >$TRACEFS/error_log
		return
	fi
	event_refused asm_exc_int3 "$fail" "$blacklisted"
	event_refused kprobe_int3_handler "$fail" "$blacklisted"
	if by_ftrace; then
		event_refused kernel_clone+$((BEHIND_FTRACE - 1)) "$boundary" \
			"the address is inside the bytes that ftrace patches"
	fi
	if refuses_notrace; then
		event_refused "$(case_at plain)" "$fail" "$NOTRACE"
		event_refused __switch_to "$fail" "$NOTRACE" r
		dmesg | must grep -q "Could not probe kp_ex_plain.*: $NOTRACE"
	else
		event_refused __switch_to "$fail" "the function must not have return probes" r
		event_refused kp_ex_plain+3 "$boundary" "no instruction begins at the address"
		event_refused "$(case_at hlt)" "$fail" \
			"a copy elsewhere would not have the instruction's effect"
	fi
	: >$TRACEFS/error_log
}

# event_agrees LOCATION: a kprobe event is refused if and only if explain says so, and the error
# log has the same reason. If explain's reason is about the instruction, kprobe events may have
# refused the function before that.
event_agrees() {
	ask "$1"
	probed=$(answer probe)
	reason=$(answer reason)
	[ "$probed" = no ] || reason=$(answer event-reason)
	: >$TRACEFS/error_log
	if write_to $TRACEFS/kprobe_events "p:kpexplain/event $1"; then
		[ "$probed" = unknown ] || equal "why $1 cannot have an event" "$reason" ""
		: >$TRACEFS/kprobe_events
		return
	fi
	logged=$(sed -n 's/.*trace_kprobe: error: //p' $TRACEFS/error_log | tail -n 1)
	printf '%s\n' "$logged" >>"$TMP/logged"
	[ "$probed" != unknown ] || return 0
	[ "$probed" != no ] || [ "$logged" != "$NOTRACE" ] || return 0
	equal "reason in the error log for $1" "$logged" "$reason"
}

events_agree() {
	if ! has_events; then
		skip_case "no kprobe events"
		return
	fi
	: >"$TMP/logged"
	ask kernel_clone
	says event yes
	says_not event-reason
	if refuses_notrace; then
		ask "$(case_at plain)"
		says probe yes
		says event no
		because event-reason "$NOTRACE"
	fi
	# shellcheck disable=SC2013 # locations have no blanks
	for location in $(cut -d' ' -f2 $CASES | sort -u); do
		event_agrees "$location"
	done
	: >$TRACEFS/error_log
	ktap_print_msg "reasons in the error log: $(sort -u "$TMP/logged" | grep -c .)"
}

# debug_has N TEXT COMMAND...: the command adds N messages with the reason
debug_has() {
	wanted=$1
	text=$2
	shift 2
	before=$(dmesg | grep -c -F "refused: $text (" || :)
	"$@"
	after=$(dmesg | grep -c -F "refused: $text (" || :)
	equal "messages of: $text" $((after - before)) "$wanted"
}

debug_messages_have_reasons() {
	if [ ! -w $DYNDBG ]; then
		skip_case "no CONFIG_DYNAMIC_DEBUG"
		return
	fi
	put $DYNDBG "func kprobe_refused +p"
	null="the call names no probe: a pointer is NULL, or the number is 0"
	debug_has 1 "$null" put $DEBUGFS/kp_explain/refuse null
	seen "$null"
	debug_has 1 "the address is on the blacklist" ctl_refused add 0 kp_tgt_nokprobe
	debug_has 1 "there is no symbol of that name" ctl_refused add 0 kp_no_such_symbol
	debug_has 1 "data_size is more than KRETPROBE_MAX_DATA_SIZE" \
		put $DEBUGFS/kp_explain/refuse data
	if by_ftrace; then
		debug_has 1 "another user of ftrace may redirect the function" \
			put $DEBUGFS/kp_explain/refuse redirects
	fi
	dmesg | must grep -q -F "kprobes: kp_tgt_nokprobe+0x0 refused: the address is on the"
	# A question to explain is no registration, and logs nothing.
	debug_has 0 "the address is on the blacklist" ask kp_tgt_nokprobe
	put $DYNDBG "func kprobe_refused -p"
	debug_has 0 "the address is on the blacklist" ctl_refused add 0 kp_tgt_nokprobe
}

# Reasons that need another kernel, another processor mode, or another command line
elsewhere() {
	echo "ftrace patches the instruction"
	echo "the architecture has no jump optimisation"
	echo "the code of the architecture refuses the instruction"
	echo "the architecture looks at the instruction at a registration only"
	echo "the architecture decides when the detour buffer is made"
	has_jprobes || printf '%s\n' "$JPROBE_INSIDE" "$JPROBE_HANDLER"
	refuses_notrace || echo "$NOTRACE"
	# ftrace-dead.sh
	echo "the address belongs to ftrace, which has failed"
	grep -q -w maxcpus=1 /proc/cmdline ||
		echo "the kernel may patch the lock prefix when more CPUs come online"
	has_case cfi_check ||
		echo "the kernel decodes the instruction when a kCFI check fails"
	[ -w $DYNDBG ] ||
		echo "the call names no probe: a pointer is NULL, or the number is 0"
	has_case static_call || echo "the kernel patches the static call there"
	grep -q ' __pfx_kp_explain_one' /proc/kallsyms ||
		echo "the address is in the padding in front of a function"
	if has_case endbr_covered; then
		echo "the targets of an indirect jump are not known"
	else
		echo "an indirect jump must find the endbr unchanged"
		echo "an indirect jump may lead into the DCR"
	fi
	if has_case segment; then
		echo "instruction slots are too far from the operand"
		echo "no detour buffer can be made"
	else
		echo "$KERNEL"
		echo "the function loads a data segment before the instruction"
		echo "the function changes segments that handlers need"
	fi
	if ! by_ftrace; then
		echo "ftrace calls the probe, and there is no instruction to execute"
		echo "the address belongs to ftrace"
		echo "the address is inside the bytes that ftrace patches"
		echo "the address belongs to ftrace, which is switched off"
		echo "another user of ftrace may redirect the function"
		echo "ftrace refuses the address"
	fi
	loads_with_ftrace ||
		echo "the module is being loaded, and cannot be probed yet"
}

every_reason_was_seen() {
	elsewhere >"$TMP/elsewhere"
	cat "$TMP/seen" "$TMP/elsewhere" | sort -u >"$TMP/known"
	sort "$TMP/table" >"$TMP/sorted"
	equal "reasons that nothing has provoked" "$(comm -23 "$TMP/sorted" "$TMP/known")" ""
	equal "reasons that are not in the table" "$(comm -13 "$TMP/sorted" "$TMP/known")" ""
	ktap_print_msg "$(sort -u "$TMP/seen" | grep -c .) of $(grep -c . "$TMP/table") seen"
}

setup
if [ ! -e $EXPLAIN ]; then
	ktap_skip_all "this kernel has no kprobes/explain"
	exit "$KSFT_SKIP"
fi
trap 'restore_all; at_exit' EXIT
: >"$TMP/seen"
cases=14
! is_x86 || cases=32
ktap_set_plan $cases
load kp_target
load kp_ctl
check "without a question, the usage and all reasons" tells_usage
check "every line has a key and a value" has_format
check "symbols, modules, offsets, addresses" finds_location
check "what is no location is refused" refuses_rubbish
check "what is too long is refused" refuses_what_is_too_long
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
check "the error log of tracefs has the reasons" error_log_has_reasons
if is_x86; then
	check "kprobe events are refused for the same reasons" events_agree
	check "the kernel's log has the reasons" debug_messages_have_reasons
	check "every reason was seen" every_reason_was_seen
	unload kp_explain
fi
check "list is empty" list_is_empty
unload kp_ctl
unload kp_target
ktap_finished
