#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Probes every instruction of library functions while the kernel's own tests of the library run:
# they must log the same as without probes. Then repeats that with fewer probes, which are far
# enough apart to be optimised with jumps.
#
# LIBRARY_TESTS="MODULE..." in the environment runs only these tests.

. "$(dirname "$0")/functions.sh"

params=/sys/module/kp_functions/parameters
soft_watchdog=/proc/sys/kernel/soft_watchdog

# Probe only every sixth function where the tests would take too long: with lockdep, and on other
# architectures, where a hit raises two exceptions.
step=1
if [ -e /proc/lockdep ] || ! is_x86; then
	step=6
fi

# Functions that the tests execute. A number limits the probed bytes; the default is 300, since
# it takes long to find the instructions of a large function. A kernel may lack or refuse some.
functions="
	strlen strnlen strcmp strncmp strcasecmp strncasecmp strchr strchrnul strnchr strrchr
	strstr strnstr strspn strcspn strpbrk strsep strcpy strncpy strcat strncat strlcat
	sized_strscpy memchr memchr_inv memcmp memscan memset16 strim skip_spaces strreplace
	string_get_size string_unescape string_escape_mem
	sort sort_r list_sort merge
	crc32_body:40 crc32_le_base crc32_be_base __crc32c_le_base
	sha256_update sha256_final sha256_transform_blocks
	rb_insert_color rb_erase __rb_insert_augmented __rb_erase_color rb_next rb_prev rb_first
	rb_last rb_replace_node rb_first_postorder rb_next_postorder
	xa_load xa_get_order xa_destroy xa_erase xa_delete_node xas_find_conflict xa_store_range
	xas_split __xas_prev __xas_next xa_extract xas_create_range
	vsnprintf number format_decode hex_string put_dec put_dec_full8 put_dec_trunc8
	mac_address_string ip4_addr_string ip6_compressed_string uuid_string bitmap_string
	bitmap_list_string vsscanf simple_strtoull simple_strtoul simple_strtol _parse_integer_limit
	hex_to_bin hex_dump_to_buffer
	__bitmap_and __bitmap_andnot __bitmap_or __bitmap_xor __bitmap_complement __bitmap_equal:20
	__bitmap_subset __bitmap_intersects __bitmap_replace __bitmap_shift_left
	__bitmap_shift_right bitmap_parse bitmap_parselist bitmap_cut bitmap_remap
	bitmap_find_next_zero_area_off bitmap_to_arr32 bitmap_from_arr32
	full_name_hash hashlen_string siphash_1u64 siphash_2u64 siphash_3u64 siphash_4u64
	siphash_1u32 siphash_3u32 __siphash_unaligned __siphash_aligned __hsiphash_unaligned
	hsiphash_1u32 hsiphash_2u32 hsiphash_3u32 hsiphash_4u32"

# The modules that have the tests. Those that would take long get parameters from parameters_of.
tests=${LIBRARY_TESTS:-"string_kunit string_helpers_kunit test_sort test_list_sort crc32test \
	rbtree_test test_printf test_scanf test_hexdump test_bitmap test_hash siphash_kunit"}

parameters_of() {
	case $1 in
	rbtree_test) echo nnodes=20 perf_loops=20 check_loops=10 ;;
	esac
}

# run_tests NAME: runs all tests; their logs are in $TMP/NAME, the duration of each in
# $TMP/NAME.times
run_tests() {
	marker="insn-lib-tests: $1 $$"
	: >"$TMP/$1.times"
	echo "$marker begins" >/dev/kmsg
	for test in $tests; do
		has_module "$test" || continue
		begin=$(cut -d' ' -f1 /proc/uptime)
		status=0
		# shellcheck disable=SC2046 # words
		modprobe "$test" $(parameters_of "$test") 2>/dev/null || status=$?
		# The module of the rbtree test always fails to load after the test.
		rmmod "$test" 2>/dev/null || :
		echo "$test: modprobe gives $status" >/dev/kmsg
		echo "$test $begin $(cut -d' ' -f1 /proc/uptime)" >>"$TMP/$1.times"
	done
	echo "$marker ends" >/dev/kmsg
	# Remove times, which always differ, and numbers, except in lines that report results.
	dmesg | sed -n "/$marker begins/,/$marker ends/p" |
		sed -e 's/^\[[^]]*\] *//' -e 's/ in [0-9]* nsec//' |
		grep -v -e '\.speed: ' -e 'should be marked slow' -e 'hrtimer: interrupt took' \
			-e '^clocksource: ' -e '^tsc: ' -e "$marker" |
		sed -e '/pass\|fail\|^ *ok\|not ok\|modprobe gives/!{' \
			-e 's/0x[0-9a-f]*\|[0-9][0-9]*/N/g' -e '}' >"$TMP/$1"
	grep -q . "$TMP/$1"
}

passes() {
	! grep -i -e '^ *not ok' -e 'fail:[1-9]' -e 'failed [1-9]' -e 'BUG at' "$TMP/$1" |
		sed 's/^/# /' | grep .
}

uptime_cs() {
	cut -d' ' -f1 /proc/uptime | tr -d .
}

# probe_functions APART: sets the probes at least that many bytes apart
probe_functions() {
	echo "$1" >$params/apart
	echo 0 >"$TMP/absent"
	began=$(uptime_cs)
	nr=0
	for function in $functions; do
		nr=$((nr + 1))
		[ $((nr % step)) -eq 0 ] || continue
		case $function in
		*:*) echo "${function%:*} ${function#*:}" >"$TMP/function" ;;
		*) echo "$function 300" >"$TMP/function" ;;
		esac
		cat "$TMP/function" >$params/add 2>/dev/null || echo "$function" >>"$TMP/absent"
	done
	found=$(uptime_cs)
	echo 1 >$params/register || return 1
	registered=$(uptime_cs)
	ktap_print_msg "found in $((found - began))0 ms, registered in $((registered - found))0 ms"
	sed 's/^/# /' $params/summary
	ktap_print_msg "not there, or not to be probed: $(tail -n +2 "$TMP/absent" | tr '\n' ' ')"
	at_least "functions" "$(summary functions)" $((60 / step))
	at_least "probes" "$(summary probes)" $((3000 / step / ($1 / 3 + 1)))
	equal "wrong errno" "$(summary wrong_errno)" 0
}

summary() {
	sed -n "s/^$1 //p" $params/summary
}

# says_the_same NAME: checks that the tests have logged the same as without probes
says_the_same() {
	cmp -s "$TMP/bare" "$TMP/$1" && return
	diff "$TMP/bare" "$TMP/$1" | grep '^[+-]' | head -n 30 | sed 's/^/# /'
	return 1
}

# kp_functions calls some library functions itself, and must get the known results.
own_is_right() {
	equal "what the module computes" "$(cat $params/own)" "$(cat <<-EOF
		sha256 $sha256
		crc32 cbf43926 fc891918 e3069283
		xarray 0 wrong
	EOF
	)"
}

# counts_are_right NAME: prints the duration of each test, and checks the module's counts
counts_are_right() {
	awk 'NR == FNR { bare[$1] = $3 - $2; next }
		{ printf "# %s: %.1f s, %.1f s without probes\n", $1, $3 - $2, bare[$1] }' \
		"$TMP/bare.times" "$TMP/$1.times"
	sed 's/^/# /' $params/summary
	equal "probes whose post_handler was called wrongly" "$(summary wrong_post)" 0
	equal "functions whose text has changed" "$(summary wrong_text)" 0
	at_least "functions hit" "$(summary functions_hit)" $(($(summary functions) / 2))
	at_least "hits" "$(summary hits)" 10000
}

most_have_jumps() {
	optimization 1
	jumps=$(grep -c -F '[OPTIMIZED]' $KPROBES/list) || :
	ktap_print_msg "$jumps of $(summary probes) optimised"
	enough_have_jumps "$jumps" "$(summary probes)"
}

setup
case $(uname -m) in
arm*)
	skip_topic "there is data among the instructions of functions"
	;;
esac
steps_branches || skip_topic "this emulator does not take branches that are single-stepped"
if ! has_module test_sort || ! has_module rbtree_test; then
	skip_topic "the library's tests are needed as modules, CONFIG_TEST_SORT and others"
fi
if has_jumps; then
	ktap_set_plan 20
else
	ktap_set_plan 12
fi
# with_probes NAME APART WORD: runs the tests with probes; WORD distinguishes the results
with_probes() {
	load kp_functions
	check "functions probed $3" probe_functions "$2"
	if [ "$1" = jumps ]; then
		check "they are optimised" most_have_jumps
	else
		check "list has all of them" \
			equal "lines in list" "$(probes_listed | wc -l)" "$(summary probes)"
	fi
	check "tests $3" run_tests "$1"
	check "they pass, $3" passes "$1"
	check "they say the same, $3" says_the_same "$1"
	check "what is known is computed, $3" own_is_right
	echo 1 >$params/remove
	check "counts are right, $3" counts_are_right "$1"
	check "list is empty, $3" list_is_empty
	unload kp_functions
}

# Search /proc/kallsyms before there are probes. The kernel prints each line of the file with
# vsnprintf(): with a probe on each instruction of vsnprintf(), this would take up to a minute.
sha256=328de8f1895f8bb09f6e6b4c2012ef2b2a6f067cd002794b750aa040a6f6d8bd
if ! has_symbol sha256_final; then
	ktap_print_msg "the kernel has no sha256_final()"
	sha256=$(printf '%064d' 0)
fi
# Switch the soft-lockup detector off: some of the tests do not reschedule, and one with probes took
# 78 s in a guest of a busy machine.
[ ! -w $soft_watchdog ] || change $soft_watchdog 0
load kp_functions
check "tests without probes" run_tests bare
check "they pass" passes bare
check "what is known is computed" own_is_right
unload kp_functions
with_probes probed 0 "with a probe on every instruction"
! has_jumps || with_probes jumps 5 "with jumps"
check "list is empty after rmmod kp_functions" list_is_empty
ktap_finished
