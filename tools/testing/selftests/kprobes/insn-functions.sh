#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes the first three instructions of 200 functions all over the kernel, while a shell keeps
# it busy; then only the first one, so that most probes are optimised. SWEEP_FUNCTIONS=N in the
# environment sets another number of functions, up to 1000.

. "$(dirname "$0")/functions.sh"

wanted=${SWEEP_FUNCTIONS:-200}
own_calls=1000
sweep=/sys/module/kp_functions/parameters

# add ADDRESS: adds the function to those that the module will probe; fails if it cannot be probed
# in its first 48 bytes
add() {
	write_to $sweep/add "0x$1 48"
}

summary() {
	sed -n "s/^$1 //p" $sweep/summary
}

# Take some symbols from each part of the kernel's text: more than are needed, since many cannot be
# probed. Take none in init text, which has been freed, nor, on powerpc, in the code where
# exceptions begin.
choose() {
	init=$(sed -n 's/ . _[se]inittext$//p' /proc/kallsyms | sort | tr '\n' ' ')
	entry=$(sed -n 's/ . __end_soft_masked$//p' /proc/kallsyms)
	grep -E -v ' (__pfx_|__cfi_)|\[' /proc/kallsyms | grep -i ' t ' | sort -u -k1,1 |
		awk -v init="$init" -v entry="$entry" '
			BEGIN { split(init, bound, " ") }
			($1 "") < entry { next }
			($1 "") < bound[1] || ($1 "") >= bound[2]' >"$TMP/symbols"
	awk -v wanted="$wanted" -v symbols="$(grep -c . "$TMP/symbols")" '
		{
			part = int((NR - 1) * wanted / symbols)
			if (part != last || NR == 1)
				taken = 0
			last = part
			if (taken++ < 50)
				print part, $1, $3
		}' "$TMP/symbols" >"$TMP/candidates"
	equal "parts of the symbol table" "$(cut -d' ' -f1 "$TMP/candidates" | uniq | wc -l)" \
		"$wanted"
}

# Add one function of each part. If no function of a part can be probed, add more of other parts.
probe_functions() {
	self=$(awk '$3 == "kp_functions_self" { print $1 }' /proc/kallsyms)
	add "$self" || failed "the module's own function cannot be probed"
	probed=0
	refused=0
	cp "$TMP/candidates" "$TMP/left"
	for round in 1 2 3; do
		done_part=-1
		: >"$TMP/untried"
		while read -r part address name; do
			if [ $probed -eq "$wanted" ]; then
				break
			elif [ "$part" = "$done_part" ]; then
				echo "$part $address $name" >>"$TMP/untried"
			elif add "$address"; then
				done_part=$part
				probed=$((probed + 1))
			else
				refused=$((refused + 1))
			fi
		done <"$TMP/left"
		mv "$TMP/untried" "$TMP/left"
	done
	ktap_print_msg "$probed functions probed, $refused not: refused, or too short"
	equal "functions" "$(summary functions)" $((wanted + 1))
	put $sweep/register 1
}

# Do what a shell does: start processes, use pipes and files, read the kernel's own files.
work() {
	for round in 1 2 3 4; do
		for file in /proc/[1-9]/stat /proc/self/stat; do
			tr ' ' '\n' 2>/dev/null <"$file" | sort | uniq | tail -n 1
		done >"$TMP/work.$round"
		find "$TOPIC_DIR" /proc/self -exec stat -t {} + 2>/dev/null |
			wc -l >>"$TMP/work.$round"
		dd if=/dev/zero bs=4k count=64 2>/dev/null | md5sum >"$TMP/sum.$round"
		(sleep 1 & wait)
		cmp -s "$TMP/sum.1" "$TMP/sum.$round" || return 1
		put $sweep/self $((own_calls / 4))
	done
	rm -f "$TMP"/work.* "$TMP"/sum.*
}

list_has_all() {
	equal "lines in list" "$(probes_listed | wc -l)" $(($(summary functions) * insns))
}

# knows_pairs: does kp_functions know the instructions of this architecture after which the CPU
# always executes the next one?
knows_pairs() {
	uname -m | grep -q -x -E 'x86_64|i.86|aarch64|riscv64|ppc64le'
}

counts_are_right() {
	sed 's/^/# /' $sweep/summary
	for wrong in errno post pair self text; do
		equal "wrong $wrong" "$(summary wrong_$wrong)" 0
	done
	at_least "functions that were hit" "$(summary functions_hit)" 6
	if [ "$insns" -gt 1 ] && knows_pairs; then
		at_least "pairs of instructions compared" "$(summary pairs_compared)" 11
	fi
}

# With jump optimisation, most functions must have a jump, or an ftrace-based probe.
have_jumps() {
	has_jumps || skip_case "no jump optimisation in this kernel" || return 0
	optimization 1
	jumps=$(grep -c -F '[OPTIMIZED]' $KPROBES/list) || :
	by_ftrace=$(grep -c -F '[FTRACE]' $KPROBES/list) || :
	ktap_print_msg "$jumps of $(summary functions) optimised, $by_ftrace reached by ftrace"
	[ ! -e $KPROBES/optimizer ] ||
		sed -n 's/.*  \(refused\|failed\): /# \1: /p' $KPROBES/optimizer |
		sort | uniq -c | sort -rn | sed 's/^ *\([0-9]*\) # /# \1 /'
	enough_have_jumps $((jumps + by_ftrace)) "$(summary functions)"
}

# On arm, the compiler puts data between functions and into them. Data after a short function may
# look like its third instruction, so probe only the first instructions there.
finds_insns() {
	case $(uname -m) in
	arm*) [ "$insns" -eq 1 ] ;;
	esac
}

sweep() {
	insns=$1
	! finds_insns || load kp_functions "insns=$insns"
	check_if finds_insns "functions probed at $insns instructions" probe_functions
	check_if finds_insns "list has all of them, $insns" list_has_all
	[ "$insns" -ne 1 ] || check "they are optimised" have_jumps
	check_if finds_insns "a shell works with probes, $insns" work
	check_if finds_insns "all removed at once, $insns" put $sweep/remove 1
	check_if finds_insns "counts are right, text is as it was, $insns" counts_are_right
	check_if finds_insns "list is empty, $insns" list_is_empty
	! finds_insns || unload kp_functions
}

setup
steps_branches || skip_topic "this emulator does not take branches that are single-stepped"
ktap_set_plan 15
check "$wanted functions chosen over the symbol table" choose
sweep 3
sweep 1
check "list is empty after rmmod kp_functions" list_is_empty
ktap_finished
