#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kprobes/explain with wildcards, which prints a line for each place that matches. The tests compare
# these lists with kallsyms, with the answers to single locations, and with the same lists when they
# are read in other ways.

. "$(dirname "$0")/functions.sh"

# list LOCATION: asks explain, and saves the answer in $TMP/list
list() {
	exec 3<>$EXPLAIN
	printf '%s\n' "$1" >&3 || failed "'$1' cannot be written to explain"
	cat <&3 >"$TMP/list" || failed "the list for '$1' cannot be read"
	exec 3>&-
}

# functions: prints the functions of $TMP/list
functions() {
	cut -d' ' -f2 "$TMP/list" | sed 's/+0x[0-9a-f]*$//'
}

lists_functions() {
	list 'kp_tgt_*'
	sed -n 's/^[0-9a-f]* [tT] \(kp_tgt_[^	]*\)	.*/kp_target:\1/p' /proc/kallsyms |
		sort -u >"$TMP/symbols"
	at_least "functions" "$(grep -c . "$TMP/symbols")" 5
	functions | sort | must cmp - "$TMP/symbols"
	grep -v -E "^0x[0-9a-f]+ [a-z_]+:[a-zA-Z0-9_.]+\+0x[0-9a-f]+ \
((ftrace|optimized|boosted|stepped|emulated)( notrace)?|unknown|no -[0-9]+ .+)$" \
		"$TMP/list" >"$TMP/other" || :
	equal "malformed" "$(head -n 1 "$TMP/other")" ""
	must grep -q ' kp_target:kp_tgt_nokprobe+0x[04] no -22 the address is on the blacklist$' \
		"$TMP/list"
	list 'kp_tgt_plai[mn]'
	equal "one function" "$(functions)" kp_target:kp_tgt_plain
	list 'kp_tgt_plai?'
	equal "one function" "$(functions)" kp_target:kp_tgt_plain
}

lists_modules() {
	list 'kp_target:*'
	at_least "functions of kp_target" "$(grep -c . "$TMP/list")" 8
	equal "functions of others" "$(functions | grep -v '^kp_target:')" ""
	cp "$TMP/list" "$TMP/whole"
	list 'kp_targe?:*'
	must cmp "$TMP/list" "$TMP/whole"
}

# The list has all text symbols of kallsyms, except padding and init text.
lists_all() {
	list '*'
	at_least "functions" "$(grep -c . "$TMP/list")" 3000
	equal "places that are there twice" "$(cut -d' ' -f1,2 "$TMP/list" | sort | uniq -d)" ""
	cut -d' ' -f1 "$TMP/list" | sort -u >"$TMP/addresses"
	cut -d' ' -f2 "$TMP/list" | sed 's/.*://; s/+.*//' | sort -u >"$TMP/names"
	if [ -e $TRACEFS/available_filter_functions ]; then
		cut -d' ' -f1 $TRACEFS/available_filter_functions | grep -v '^__ftrace_invalid' |
			sort -u >"$TMP/traced"
		# A function with aliases is listed by only one of its names: allow 1 % of the names
		# to be missing.
		sort "$TMP/names" "$TMP/names" "$TMP/traced" | uniq -u >"$TMP/missing"
		[ "$(grep -c . "$TMP/missing")" -le $(($(grep -c . "$TMP/traced") / 100)) ] ||
			failed "ftrace has functions that are missing:" \
				"$(grep -c . "$TMP/missing"), $(head -n 3 "$TMP/missing")"
	fi
	ktap_print_msg "$(cut -d' ' -f3 "$TMP/list" | sort | uniq -c | tr -s '\n ' ' ')"
}

# line_agrees ADDRESS SYMBOL MODE REST: checks that this line of a list says the same as the answer
# for SYMBOL alone
line_agrees() {
	explained "$2" || failed "'$2' cannot be written to explain"
	equal "address of $2" "$(answer address)" "$1"
	wanted=$(answer execution)
	case $wanted in
	boost) wanted=boosted ;;
	single-step) wanted=stepped ;;
	emulate) wanted=emulated ;;
	esac
	[ "$(answer jump)" != yes ] || wanted=optimized
	case $(answer probe) in
	unknown) wanted=unknown ;;
	no) wanted="no $(answer errno)" ;;
	esac
	reason=$(answer reason)
	[ "$(answer probe) $(answer event)" != "yes no" ] || reason=notrace
	wanted="$wanted${reason:+ }$reason"
	equal "$2" "$3${4:+ }$4" "$wanted"
}

# compare_inside PATTERN [FUNCTION]: checks that each line of the list PATTERN+* is right, that no
# place is missing, and that the list begins with FUNCTION
compare_inside() {
	list "$1+*"
	cp "$TMP/list" "$TMP/inside"
	last=
	while read -r address symbol mode rest; do
		case $mode in
		no)
			line_agrees "$address" "$symbol" "$mode ${rest%% *}" "${rest#* }"
			;;
		*)
			line_agrees "$address" "$symbol" "$mode" "$rest"
			length=$(answer length)
			# The next line must be about the next instruction.
			[ -z "$last" ] || [ "$address" = "$last" ] ||
				[ "${symbol%+*}" != "$function" ] || failed "after $last: $address"
			function=${symbol%+*}
			last=
			[ -z "$length" ] || last=$(address_plus "$address" "$length")
			continue
			;;
		esac
		last=
	done <"$TMP/inside"
	[ -n "$2" ] || return 0
	equal "first of $1" "$(head -n 1 "$TMP/inside" | sed 's/.* \([^ ]*\)+0x[04] .*/\1/')" "$2"
}

lists_instructions() {
	compare_inside kp_target:kp_tgt_plain kp_target:kp_tgt_plain
	at_least "instructions" "$(grep -c . "$TMP/inside")" 2
	compare_inside do_sys_openat2 do_sys_openat2
	at_least "instructions" "$(grep -c . "$TMP/inside")" 20
	# If the kernel has a function tracer, snprintf() is a notrace function: the list must say
	# so.
	compare_inside snprintf ''
	compare_inside kp_target:kp_tgt_nokprobe kp_target:kp_tgt_nokprobe
	equal "what is blacklisted" "$(grep -c . "$TMP/inside")" 1
	# explain checks several functions together.
	compare_inside 'kp_tgt_*' ''
	at_least "functions" "$(grep -c '+0x[04] ' "$TMP/inside")" 5
}

refuses_patterns() {
	cat $EXPLAIN >"$TMP/usage"
	for text in '+*' 'kp_tgt_*+1' 'kp_tgt_*+x' 'kp_tgt_plain+*1' 'kp_tgt_plain+**' \
		'no_such_*' 'no_such_module:*' 'kp_target:no_such_*' 'jiffies*_data?'; do
		exec 3<>$EXPLAIN
		! printf '%s\n' "$text" 2>/dev/null >&3 || failed "'$text' can be written"
		cat <&3 | cmp -s - "$TMP/usage" || failed "'$text' changes what is read"
		exec 3>&-
	done
	exec 3<>$EXPLAIN
	echo kp_tgt_plain >&3
	! echo 'no_such_*' 2>/dev/null >&3 || failed "a pattern without a match can be written"
	must grep -q '^location: kp_tgt_plain$' <&3
	exec 3>&-
}

reads_in_pieces() {
	list 'kp_t*'
	cp "$TMP/list" "$TMP/whole"
	exec 3<>$EXPLAIN 4<>$EXPLAIN
	echo 'kp_t*' >&3
	echo 'kp_target:*' >&4
	dd bs=7 <&3 2>/dev/null | must cmp - "$TMP/whole"
	# Each open file has a list of its own, which a write replaces.
	equal "first of the fourth" "$(head -n 1 <&4 | cut -d: -f1 | cut -d' ' -f2)" kp_target
	echo 'kp_tgt_plain' >&4
	must grep -q '^location: kp_tgt_plain$' <&4
	echo 'kp_t*' >&4
	dd bs=10 skip=3 count=1 <&4 2>/dev/null >"$TMP/piece"
	dd bs=10 skip=3 count=1 <"$TMP/whole" 2>/dev/null | must cmp - "$TMP/piece"
	exec 3>&- 4>&-
}

# Read the first part of a list, then write the same question, and read again. The kernel checks
# several instructions at a time. The first read ends before all of their lines are printed: the
# second read must not get the remaining lines.
reads_again() {
	exec 3<>$EXPLAIN
	echo '*' >&3
	head -c 150000 <&3 >"$TMP/first"
	equal "bytes" "$(wc -c <"$TMP/first")" 150000
	echo '*' >&3
	head -c 150000 <&3 | must cmp - "$TMP/first"
	exec 3>&-
}

hides_addresses() {
	shown=$(cat $KPTR)
	put $KPTR 2
	list 'kp_tgt_*'
	put $KPTR "$shown"
	at_least "places" "$(grep -c '^0x0* kp_target:' "$TMP/list")" 5
	equal "addresses" "$(grep -v '^0x0* ' "$TMP/list")" ""
}

# Unload the module after the write has looked up its functions, before a read checks them.
forgets_modules() {
	exec 3<>$EXPLAIN
	echo 'kp_target:*' >&3
	unload kp_target
	equal "what is left" "$(cat <&3)" ""
	exec 3>&-
	load kp_target
}

survives_killed_readers() {
	for delay in 0 0.01 0.05 0.2; do
		(
			exec 3<>$EXPLAIN
			echo '*+*' >&3
			exec cat <&3 >/dev/null
		) &
		reader=$!
		sleep $delay
		must kill -9 $reader
		wait $reader 2>/dev/null || :
	done
	list 'kp_tgt_plain*'
	at_least "places" "$(grep -c . "$TMP/list")" 1
}

# While two readers list the instructions of the module, probe it, and unload and load it.
lists_what_changes() {
	for reader in 1 2; do
		(
			while [ ! -e "$TMP/stop" ]; do
				exec 3<>$EXPLAIN
				echo 'kp_t*+*' >&3 2>/dev/null || :
				cat <&3 >/dev/null
				exec 3>&-
			done
		) &
	done
	for _ in 1 2 3 4 5; do
		ctl add 0 kp_tgt_plain
		optimization 1
		ctl del 0
		unload kp_target
		load kp_target
	done
	: >"$TMP/stop"
	wait
	list 'kp_tgt_plain'
}

setup
[ -e $EXPLAIN ] || skip_topic "this kernel has no kprobes/explain"
ktap_set_plan 12
load kp_target
load kp_ctl
check "functions that match" lists_functions
check "functions of modules" lists_modules
check "all functions" lists_all
check "all instructions of a function, as the single answers" lists_instructions
check "patterns that are wrong, or match nothing" refuses_patterns
check "reads in pieces" reads_in_pieces
check "the same list twice" reads_again
check "addresses are hidden" hides_addresses
check "a module that goes before the list is read" forgets_modules
check "readers are killed" survives_killed_readers
check "probes and modules change at the same time" lists_what_changes
check "list is empty" list_is_empty
unload kp_ctl kp_target
ktap_finished
