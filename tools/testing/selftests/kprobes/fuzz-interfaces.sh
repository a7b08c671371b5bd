#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Fuzzes the interfaces: passes random arguments to the calls that register and unregister probes,
# writes random text to the files in debugfs, the sysctl and the parameters, and defines kprobe
# events at random. What is accepted must have its effect, and what is refused must have none.
# Meanwhile, a user process raises exceptions. In the environment, FUZZ_S=N is the seconds of each
# suite, FUZZ_COUNT=N the number of lines written to each file, and FUZZ_SEED=N the seed.

. "$(dirname "$0")/functions.sh"

PARAMETERS=/sys/module/kprobes/parameters
SEED=${FUZZ_SEED:-1}
COUNT=${FUZZ_COUNT:-60}

# random_lines NUMBER PROGRAM: prints NUMBER lines. PROGRAM is in awk, and its function line(i)
# returns line i. Characters that the shell would not pass on are printed as a backslash and octal
# digits.
random_lines() {
	awk -v seed="$SEED" -v count="$1" '
		function below(n) { return int(rand() * n) }
		function one_in(n) { return below(n) == 0 }
		function pick(words, w, n) { n = split(words, w, " "); return w[below(n) + 1] }
		function bytes(n, s) {
			for (s = ""; n > 0; n--)
				s = s sprintf("\\0%o", 1 + below(255))
			return s
		}
		'"$2"'
		BEGIN { srand(seed); for (i = 0; i < count; i++) print line(i) }'
}

# written FILE TEXT: converts the octal digits in TEXT to characters, and writes all to the file
# with a single write(). dd's messages are in $TMP/error.
written() {
	printf '%b' "$2" >"$TMP/text"
	dd if="$TMP/text" of="$1" bs=65536 count=1 conv=notrunc 2>"$TMP/error" >/dev/null
}

# settings FILE PATTERN: writes numbers, words and garbage to the file. After each write, its value
# must match PATTERN, and must be the same as before if the write was refused.
settings() {
	[ -w "$1" ] || skip_case "this kernel has no $1" || return 0
	was=$(cat "$1")
	taken=0
	refused=0
	random_lines "$COUNT" '
		function line(i) {
			if (one_in(3))
				return pick("0 1 0 1 y n on off Y N t f")
			if (one_in(2))
				return pick("2 -1 00 01 0x0 0x1 1x 99999999999999999999 - + " \
					"1\\0400 \\0401 1\\0120 256 257 -0")
			return bytes(below(20) + 1)
		}' >"$TMP/lines"
	while IFS= read -r line; do
		before=$(cat "$1")
		if written "$1" "$line"; then
			taken=$((taken + 1))
		else
			refused=$((refused + 1))
			equal "$1 after '$line' was refused" "$(cat "$1")" "$before"
		fi
		grep -qxE "$2" "$1" || failed "$1 has '$(cat "$1")' after '$line'"
	done <"$TMP/lines"
	put "$1" "$was"
	ktap_print_msg "$1: $taken accepted, $refused refused"
	at_least "accepted values" $taken 1
	at_least "refused values" $refused 1
}

# explained TEXT: writes TEXT to explain, and saves in $TMP/answer what the file has then. Fails if
# the kernel refuses the text.
explained() {
	exec 3<>$KPROBES/explain
	status=0
	printf '%b' "$1" >"$TMP/text"
	# A single write
	cat "$TMP/text" 2>/dev/null >&3 || status=1
	cat <&3 >"$TMP/answer"
	exec 3>&-
	return $status
}

# Writes random text to explain. The kernel must answer it, or refuse it.
questions() {
	taken=0
	random_lines "$COUNT" '
		function line(i, s) {
			s = pick("vfs_read kp_tgt_function kp_target:kp_tgt_function " \
				"no_such_function jiffies 0x 0 0x1000 : :: kp_target: " \
				":vfs_read")
			if (one_in(2))
				s = s pick("+ +0 +1 +0x7 +9999 +-1 +99999999999 ++1 +0x +1+1 -1")
			if (one_in(6))
				s = bytes(below(40) + 1)
			if (one_in(10))
				s = s bytes(below(900))
			return s
		}' >"$TMP/lines"
	while IFS= read -r line; do
		if explained "$line"; then
			taken=$((taken + 1))
			answer probe | grep -qxE 'yes|no|unknown' || failed "no answer to '$line'"
			[ "$(answer probe)" != no ] || answer reason | grep -q . ||
				failed "no reason for '$line'"
		else
			# The file must still have the usage.
			grep -q '^#' "$TMP/answer" ||
				failed "'$line' was refused: $(cat "$TMP/answer")"
		fi
	done <"$TMP/lines"
	ktap_print_msg "explain: $taken of $COUNT accepted"
	at_least "accepted questions" $taken 1
}

# For any address, explain must answer what a registration there returns.
explain_is_right() {
	yes=0
	no=0
	grep ' [tT] ' /proc/kallsyms | awk -v seed="$SEED" -v count="$COUNT" '
		{ address[NR] = $1 }
		END {
			srand(seed)
			for (i = 0; i < count; i++)
				print address[int(rand() * NR) + 1], int(rand() * 60)
		}' >"$TMP/lines"
	while read -r address offset; do
		where=$(address_plus "$address" "$offset")
		explained "$where" || failed "explain refuses $where"
		said=$(answer probe)
		wanted=0
		[ "$said" = yes ] || wanted=$(answer errno)
		if [ "$said" = yes ]; then
			yes=$((yes + 1))
			ctl add 0 "$where" || failed "$(cat "$TMP/answer")"
		elif ctl_try add 0 "$where"; then
			# On some architectures, only a registration checks the instruction.
			[ "$said" = unknown ] || failed "registered: $(cat "$TMP/answer")"
			yes=$((yes + 1))
		else
			no=$((no + 1))
			[ "$said" = unknown ] ||
				equal "errno at $where" "$(ctl_get 0 error)" "$wanted"
		fi
		ctl_try del 0 || :
	done <"$TMP/lines"
	ktap_print_msg "$yes of $COUNT can be probed, $no cannot"
	at_least "addresses that can be probed" $yes 1
	at_least "addresses that cannot" $no 1
}

events() {
	cat $TRACEFS/kprobe_events
}

# The errors with which a definition may be refused, as the messages of two C libraries: EINVAL,
# ENOENT, EEXIST, E2BIG, EILSEQ, EOPNOTSUPP, ERANGE, EADDRNOTAVAIL, ENAMETOOLONG
ERRORS='Invalid argument|No such file|File exists|list too long|Illegal byte|multibyte'
ERRORS="$ERRORS|not supported|out of range|not representable|not available|name too long"

# Most definitions are nearly right. Lines that kprobe_events prints define the same events again.
definitions() {
	[ -e $TRACEFS/kprobe_events ] || skip_case "no kprobe events" || return 0
	# On arm the registers of a return probe have no stack pointer, and $stackN reads memory
	# through it unchecked.
	# shellcheck disable=SC2016 # the dollars are those of definitions
	case $(uname -m) in
	arm*) stack_entries= ;;
	*) stack_entries='$stack0 $stack3' ;;
	esac
	# shellcheck disable=SC2016
	random_lines "$COUNT" '
		function type() {
			if (one_in(2))
				return pick(":u8 :s16 :x32 :u64 :char :symbol :string " \
					":ustring :b3@2/8 :u8[4] :string[2] :symstr :x64[64]")
			return one_in(8) ? pick(": :u7 :b :u8[] :u8[-1] :u8[65] :b99@99/99 :[") : ""
		}
		function operand() {
			if (one_in(10))
				return pick("% %zz $ $arg $arg0 $arg999 $nothing @ @no_such " \
					"+() +0 -( \\\\ $stack999999 +9(+9(+9(+9(%ax))))")
			return pick("$arg1 $arg2 $stack $comm $retval '"$stack_entries"' " \
				"@jiffies +0($arg1) -8($stack) +8(+0($arg1)) +u0($arg1) \\\\1")
		}
		function mutate(s, at) {
			at = 1 + below(length(s))
			if (one_in(3))
				return substr(s, 1, at - 1) substr(s, at + 1)
			if (one_in(2))
				return substr(s, 1, at) sprintf("%c", 33 + below(94)) \
					substr(s, at + 1)
			return substr(s, 1, at) substr(s, at, 5) substr(s, at + 1)
		}
		function line(i, s, n) {
			s = pick("p:kpf/e r:kpf/e r8:kpf/e p:kpf/e r:kpf/e p:kpf/same -:kpf/e")
			if (s ~ /e$/ && s !~ /same$/)
				s = s (s ~ /^-/ ? below(i + 1) : i)
			if (s !~ /^-/) {
				s = s " " pick("vfs_read vfs_write kp_tgt_function " \
					"kp_target:kp_tgt_function kp_tgt_caller do_exit " \
					"no_such no_such:vfs_read schedule")
				if (one_in(4))
					s = s pick("+0 +1 +4 +8 +0x10 +99999 %return -1 +")
				for (n = below(4); n > 0; n--)
					s = s " " (one_in(2) ? "a" n "=" : "") operand() type()
			}
			if (one_in(3))
				s = mutate(s)
			return s
		}' >"$TMP/lines"
	taken=0
	refused=0
	while IFS= read -r line; do
		number=$(events | wc -l)
		printf '%s\n' "$line" >"$TMP/text"
		if dd if="$TMP/text" of=$TRACEFS/kprobe_events oflag=append conv=notrunc bs=65536 \
			2>"$TMP/error" >/dev/null; then
			taken=$((taken + 1))
		else
			refused=$((refused + 1))
			equal "number of events after '$line' was refused" "$(events | wc -l)" \
				"$number"
			grep -qE "$ERRORS" "$TMP/error" || failed "'$line': $(cat "$TMP/error")"
		fi
	done <"$TMP/lines"
	events >"$TMP/first"
	number=$(wc -l <"$TMP/first")
	ktap_print_msg "kprobe_events: $taken accepted, $refused refused, $number left"
	at_least "events" "$number" 1
	while IFS= read -r line; do
		event=${line%% *}
		event=${event#*:}
		put "$TRACEFS/events/$event/enable" 1
	done <"$TMP/first"
	processes 5
	call_target 5
	put $TRACEFS/events/enable 0
	put $TRACEFS/kprobe_events ''
	while IFS= read -r line; do
		printf '%s\n' "$line" >>$TRACEFS/kprobe_events || failed "not taken again: $line"
	done <"$TMP/first"
	events >"$TMP/again"
	cmp -s "$TMP/first" "$TMP/again" ||
		failed "defined again: $(grep -vxFf "$TMP/first" "$TMP/again" | head -n 5)"
	put $TRACEFS/kprobe_events ''
	list_is_empty
}

setup
start_hostile_user "$SEED"
load_suites kp_fuzz_calls "seed=$SEED" "seconds=${FUZZ_S:-3}" -- kprobes_fuzz_calls
unload kp_fuzz_calls
load kp_ctl
load kp_target
report_planned 9 kprobes_fuzz_calls
check "anything written to enabled" settings $KPROBES/enabled '[01]'
check "anything written to the sysctl" settings $OPTIMIZATION '[01]'
check "anything written to the parameter boost" settings $PARAMETERS/boost '[YN]'
check "anything written to the parameter return_pool_kib" \
	settings $PARAMETERS/return_pool_kib '[0-9]+'
check "anything written to explain" questions
check "what explain says is true at any address" explain_is_right
check "any definition of a kprobe event" definitions
check "what the hostile user did" end_hostile_user
unload kp_target kp_ctl
check "list is empty" list_is_empty
ktap_finished
