#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# BPF programs that bpf_probe attaches through kprobe.multi links. The links have addresses inside
# functions, or symbols of modules that are not loaded.

. "$(dirname "$0")/functions-clients.sh"

BPF_PROBE=$TOPIC_DIR/bpf_probe
INSIDE=+$BEHIND_FTRACE

# read_symbols: writes the symbols that are used here to $TMP/symbols. Reading all of
# /proc/kallsyms takes seconds in an emulator.
read_symbols() {
	used='kp_|asm_exc_int3|bpf_get_current_pid_tgid|vfs_read|register_kprobes|symbols_cmp'
	grep -E " ($used)" /proc/kallsyms >"$TMP/symbols"
}

# many: prints a place in each of a thousand functions
many() {
	awk -v i="$INSIDE" 'BEGIN { while (n < 1000) printf "kp_many_%03d%s\n", n++, i }'
}

# addresses FUNCTION[+OFFSET]...: writes their addresses to $TMP/list, in the form of bpf_probe -k
addresses() {
	printf '%s\n' "$@" | awk -F '[+]' '
		FILENAME == "-" {
			name[n + 0] = $1
			at[n++] = NF > 1 ? "+" $2 : ""
			wanted[$1]
			next
		}
		{
			split($0, symbol, /[ \t]/)
			if (symbol[3] in wanted)
				start[symbol[3]] = symbol[1]
		}
		END {
			for (i = 0; i < n; i++)
				print start[name[i]] at[i]
		}' - "$TMP/symbols" >"$TMP/list"
}

# linked [OPTION...] COMMAND: attaches the program to the addresses in $TMP/list, runs the command,
# and leaves the results in $TMP/linked. refused ERROR [OPTION...]: checks that the program cannot
# be attached to these addresses because of ERROR, and that no probe is left.
linked() {
	while [ $# -gt 1 ]; do
		linked_options="${linked_options:-} $1"
		shift
	done
	# shellcheck disable=SC2086 # options
	run linked "$BPF_PROBE" -k ${linked_options:-} "$TMP/list" "$1"
	linked_options=
}

refused() {
	refused_as=$1
	shift
	refs=$(cat /sys/module/kp_clients/refcnt)
	must_fail "$BPF_PROBE" -k "$@" "$TMP/list" : 2>"$TMP/refused"
	lines_are "the error" "$TMP/refused" "^BPF_LINK_CREATE: $refused_as" 1
	list_is_empty
	equal "references of the module" "$(cat /sys/module/kp_clients/refcnt)" "$refs"
	no_entries
}

# no_entries: checks that ftrace calls nothing in kp_clients
no_entries() {
	[ -e "$TRACEFS/enabled_functions" ] || return 0
	lines_are enabled_functions "$TRACEFS/enabled_functions" 'kp_cl_' 0
}

# has COOKIE COUNT FUNCTION|0: checks that the program had COUNT hits with this cookie, and that
# bpf_get_func_ip() returned the address of FUNCTION; or 0, as it does inside a function
has() {
	func_ip=0
	[ "$3" = 0 ] || func_ip=$(awk -v f="$3" '$3 == f { print $1 }' "$TMP/symbols")
	lines_are "cookie $1" "$TMP/linked" "^cookie $1 count $2 func_ip $func_ip$" 1
}

# info_is ADDRESSES MISSED: checks the numbers of addresses and of missed hits that the kernel
# reports for the link, and that it reports the same addresses and cookies as were given
info_is() {
	lines_are "the number and missed hits" "$TMP/linked" "^link $1 missed $2$" 1
	lines_are "addresses and cookies" "$TMP/linked" '^info same$' 1
}

# Whatever the order of the addresses is, each keeps its cookie.
mixed() {
	addresses kp_cl_outer "kp_cl_middle$INSIDE" kp_cl_inner "kp_cl_inner$INSIDE"
	linked "echo 100 >$CLIENTS/calls; cp $KPROBES/list $TMP/listed"
	info_is 4 0
	has 0 100 kp_cl_outer
	has 1 100 0
	has 2 100 kp_cl_inner
	has 3 100 0
	lines_are "kprobes/list" "$TMP/listed" . 2
	addresses "kp_cl_inner$INSIDE" kp_cl_inner "kp_cl_middle$INSIDE" kp_cl_outer
	linked "echo 70 >$CLIENTS/calls"
	info_is 4 0
	has 0 70 0
	has 1 70 kp_cl_inner
	has 2 70 0
	has 3 70 kp_cl_outer
	list_is_empty
	no_entries
}

only_inside() {
	addresses "kp_cl_inner$INSIDE"
	linked "echo 40 >$CLIENTS/calls"
	info_is 1 0
	has 0 40 0
}

without_cookies() {
	addresses "kp_cl_outer$INSIDE" kp_cl_middle "kp_cl_inner$INSIDE"
	linked -n "echo 20 >$CLIENTS/calls"
	info_is 3 0
	lines_are "cookies" "$TMP/linked" '^cookie' 1
	lines_are "cookies" "$TMP/linked" '^cookie 0 count 60 ' 1
}

# A program without cookies runs once for a hit, however often the address is in the list. fprobe
# does the same at entries.
duplicates() {
	addresses "kp_cl_inner$INSIDE" kp_cl_middle "kp_cl_inner$INSIDE" kp_cl_middle \
		"kp_cl_inner$INSIDE" "kp_cl_outer$INSIDE"
	linked -n "echo 20 >$CLIENTS/calls"
	info_is 6 0
	lines_are "cookies" "$TMP/linked" '^cookie 0 count 60 ' 1
	linked "echo 20 >$CLIENTS/calls"
	info_is 6 0
	has '[024]' 20 0
	has '[13]' 20 kp_cl_middle
	has 5 20 0
}

# Each instruction is executed in each call, except what follows the return.
every_instruction() {
	size=$(explained kp_cl_outer && answer symbol)
	size=${size##*/}
	size=$((${size%% *}))
	set -- kp_cl_outer
	offset=$BEHIND_FTRACE
	while [ "$offset" -lt "$size" ]; do
		[ "$(explained kp_cl_outer+$offset && answer probe)" != yes ] ||
			set -- "$@" "kp_cl_outer+$offset"
		offset=$((offset + 1))
	done
	addresses "$@"
	linked "echo 30 >$CLIENTS/calls; echo 0 >$CLIENTS/calls"
	info_is $# 0
	at_least "addresses with all hits" "$(grep -c '^cookie .* count 30 ' "$TMP/linked")" 4
	lines_are "addresses with other hits" "$TMP/linked" '^cookie .* count ([^3]|3[^0])' 0
	has 0 30 kp_cl_outer
}

nothing_stays() {
	# inside an instruction
	offset=$BEHIND_FTRACE
	while [ "$(explained kp_cl_middle+$offset && answer probe)" = yes ]; do
		offset=$((offset + 1))
	done
	addresses kp_cl_outer "kp_cl_outer$INSIDE" "kp_cl_middle+$offset" \
		"kp_cl_inner$INSIDE" kp_cl_inner
	refused 'Invalid or incomplete multibyte'
	# on the blacklist
	addresses kp_cl_outer "kp_cl_outer$INSIDE" asm_exc_int3+9 "kp_cl_inner$INSIDE"
	refused 'Invalid argument'
	# no text
	addresses "kp_cl_outer$INSIDE" kp_cl_zero kp_cl_inner
	refused 'Invalid argument'
	addresses "kp_cl_outer$INSIDE" kp_cl_inner
	echo 10 >>"$TMP/list"
	refused 'Invalid argument'
	# An address inside a notrace function is refused if perf refuses events there. The entry of
	# such a function is refused, too: fprobe cannot attach there.
	if [ "$(explained kp_cl_failable_plain+4 && answer event)" = no ]; then
		addresses "kp_cl_outer$INSIDE" kp_cl_failable_plain+4 kp_cl_inner
		refused 'Invalid argument'
	fi
	addresses "kp_cl_outer$INSIDE" kp_cl_failable_plain kp_cl_inner
	refused 'Invalid argument'
	# The next link must work as usual.
	only_inside
}

# Returns can be tracked, and results replaced, only from the entry of a function: a link with
# another address must be refused.
entries_only() {
	addresses kp_cl_failable "kp_cl_failable$INSIDE"
	refused 'Invalid argument' -r
	refused 'Invalid argument' -S
	! can_override || refused 'Invalid argument' -o
	addresses kp_cl_failable
	if can_override; then
		linked -o "echo 10 >$CLIENTS/failable"
		results_are 0 10 -1
	fi
	linked -r "echo 10 >$CLIENTS/failable"
	has 0 10 kp_cl_failable
}

# Probe a function that the program itself calls. The hit of that probe is nested, but a program
# does not run during another one, so the hit must be missed.
missed() {
	addresses "bpf_get_current_pid_tgid$INSIDE" "kp_cl_inner$INSIDE"
	linked "echo 25 >$CLIENTS/calls"
	info_is 2 25
	has 1 25 0
	# The hit must be missed, too, if the other address is an entry, where fprobe runs the
	# program.
	addresses "bpf_get_current_pid_tgid$INSIDE" kp_cl_inner
	linked "echo 25 >$CLIENTS/calls"
	info_is 2 25
	has 1 25 kp_cl_inner
}

# Another user's event is on the function that the program calls. Its hits in the program must be
# handled on x86, and be missed on other architectures.
event_in_program() {
	handled='25 0'
	is_x86 || handled='0 25'
	event_on 'p:nested bpf_get_current_pid_tgid'
	addresses "kp_cl_inner$INSIDE"
	linked "echo 25 >$CLIENTS/calls"
	has 0 25 0
	equal "hits of the event, and missed" "$(event_profile nested)" "$handled"
	event_off nested
}

module_stays() {
	addresses "kp_cl_inner$INSIDE" "vfs_read$INSIDE"
	linked "! rmmod kp_clients 2>$TMP/rmmod; cat /sys/module/kp_clients/refcnt >$TMP/refs"
	lines_are "rmmod's error" "$TMP/rmmod" 'use|busy|temporarily' 1
	equal "references" "$(cat "$TMP/refs")" 1
	equal "references later" "$(cat /sys/module/kp_clients/refcnt)" 0
}

thousand() {
	addresses "$(many)"
	linked "echo 2 >$CLIENTS/many; cp $KPROBES/list $TMP/listed"
	info_is 1000 0
	lines_are "cookies" "$TMP/linked" '^cookie [0-9]* count 2 func_ip 0$' 1000
	lines_are "kprobes/list" "$TMP/listed" . 1000
	ktap_print_msg "$(grep tach "$TMP/linked" | paste -sd' ') microseconds"
	list_is_empty
}

# hits_during EVENT COMMAND...: how often the command hits the event
hits_during() {
	hits_before=$(event_hits "$1")
	hits_event=$1
	shift
	"$@"
	echo $(($(event_hits "$hits_event") - hits_before))
}

# killed_at FUNCTION OPTIONS: makes a link to $TMP/list, kills its task at the second call of the
# function, and checks that there is no third call, and that no probe is left
killed_at() {
	run killer "$BPF_PROBE" -K 2 "$1" \
		"$BPF_PROBE $2 $TMP/list : >$TMP/killed 2>&1; echo \$? >$TMP/status"
	lines_are "batches until the task was killed" "$TMP/killer" '^count 2$' 1
	equal "exit status of the killed task" "$(cat "$TMP/status")" 137
	equal "references of the module" "$(cat /sys/module/kp_clients/refcnt)" 0
	list_is_empty
}

# A link with many probes registers them in batches of 256, and enables and unregisters them in
# batches of 2,048, so that other users can register theirs in between. If the task that creates the
# link is killed, the kernel must register or enable no further batch, and remove those that it has
# registered.
in_batches() {
	addresses "$(many)"
	event_on 'p:kp_batches/registered register_kprobes'
	event_on 'p:kp_batches/enabled enable_kprobes'
	event_on 'p:kp_batches/unregistered unregister_kprobes'
	equal "batches registered" "$(hits_during registered linked :)" 4
	equal "batches enabled" "$(hits_during enabled linked :)" 1
	equal "batches unregistered" "$(hits_during unregistered linked :)" 1
	cp "$TMP/list" "$TMP/thousand"
	many_symbols
	equal "batches of 20,000 unregistered" "$(hits_during unregistered linked -nw :)" 10
	event_off kp_batches/registered
	event_off kp_batches/enabled
	event_off kp_batches/unregistered
	killed_at enable_kprobes -knw
	cp "$TMP/thousand" "$TMP/list"
	killed_at register_kprobes -k
}

# Hits during the registration must not run the program, as that would slow the registration down.
# The first probe is in the function that registers all others.
all_at_once() {
	addresses "register_kprobes$INSIDE" "$(many)"
	linked "echo 2 >$CLIENTS/many"
	info_is 1001 0
	has 1000 2 0
	lines_are "hits during the registration" "$TMP/linked" '^cookie 0 ' 0
}

# With ftrace off, the probes are registered, but cannot be enabled: none may stay registered.
not_enabled() {
	put "$FTRACE_ENABLED" 0
	echo vfs_read >"$TMP/list"
	refused 'Device or resource busy|Resource busy' -w
	put "$FTRACE_ENABLED" 1
}

# Links are made and closed while other CPUs call the probed functions.
under_load() {
	addresses kp_cl_outer "kp_cl_outer$INSIDE" "kp_cl_middle$INSIDE" "kp_cl_inner$INSIDE" \
		kp_cl_inner
	call load 4
	for _ in $(seq 10); do
		linked :
	done
	call load 0
	equal "wrong results" "$(cat $CLIENTS/load)" 0
	list_is_empty
}

# come WHAT: prints the commands that load kp_clients, do WHAT, and unload kp_clients. A link does
# not pin the module, so it must be possible to unload the module while the link exists.
come() {
	echo "insmod $(module_file kp_clients); $1; grep ' kp_cl_' /proc/kallsyms >$TMP/symbols
		rmmod kp_clients"
}

waits_for_module() {
	unload kp_clients
	printf 'kp_clients:%s\n' kp_cl_outer kp_cl_inner kp_cl_middle kp_cl_outer >"$TMP/list"
	echo kp_none:kp_cl_inner >>"$TMP/list"
	linked -w "cp $KPROBES/list $TMP/waiting; $(come "echo 10 >$CLIENTS/calls")"
	lines_are "kprobes/list" "$TMP/waiting" 'kp_clients:kp_cl_(outer|inner|middle).*WAITING' 3
	lines_are "kprobes/list" "$TMP/waiting" 'kp_none:kp_cl_inner.*WAITING' 1
	lines_are "the number and missed hits" "$TMP/linked" "^link 4 missed 0$" 1
	lines_are "cookies" "$TMP/linked" '^cookie' 3
	has '[03]' 10 kp_cl_outer
	has 1 10 kp_cl_inner
	has 2 10 kp_cl_middle
	lines_are "addresses of probes that wait" "$TMP/linked" '^at [0-4] 0$' 4
	list_is_empty

	linked -nw "$(come "echo 10 >$CLIENTS/calls"); $(come "echo 5 >$CLIENTS/calls")"
	lines_are "cookies" "$TMP/linked" '^cookie 0 count 45 ' 1

	bad_flags
	load kp_clients
	read_symbols
	linked -w "echo 7 >$CLIENTS/calls"
	has 1 7 kp_cl_inner
	lines_are "address of a probe that waits" "$TMP/linked" '^at 4 0$' 1
	lines_are "address" "$TMP/linked" \
		"^at 1 $(awk '$3 == "kp_cl_inner" { print $1 }' "$TMP/symbols")$" 1
	list_is_empty
	# The module is loaded, but has no such function.
	echo kp_clients:kp_cl_none >"$TMP/list"
	refused 'No such file' -w
}

# with_many_symbols NAME...: writes the list of many_symbols(), and the names after it
with_many_symbols() {
	many_symbols
	printf '%s\n' "$@" >>"$TMP/list"
}

# A link must be refused for the same reasons as kprobe events: if two functions have the name
# (kp_cl_twice), or if the address is in a notrace function (kp_cl_failable_plain). ALL_CALLS calls
# these functions, and one that may be probed.
ALL_CALLS="for what in calls twice failable_plain; do echo 10 >$CLIENTS/\$what; done"
AMBIGUOUS='(Cannot assign requested address|Address not available)'

# perf_refused ERROR SYMBOL
perf_refused() {
	must_fail "$BPF_PROBE" -w "$2" : 2>"$TMP/refused"
	lines_are "the error" "$TMP/refused" "^perf_event_open: $1" 1
}

# A probe that may wait for a module must be refused if its name is ambiguous or its function is
# notrace: both when the module is loaded later, and if it is loaded already.
checked_when_it_comes() {
	plain=0
	[ "$(explained kp_cl_failable_plain && answer event)" = no ] || plain=10
	unload kp_clients
	for symbol in kp_cl_inner kp_cl_twice kp_cl_failable_plain; do
		event_on "p:kp_waits/$symbol kp_clients:$symbol"
		echo kp_clients:$symbol
	done >"$TMP/list"
	linked -w "$(come "$ALL_CALLS")"
	has 0 10 kp_cl_inner
	lines_are "cookies of two functions" "$TMP/linked" '^cookie 1 ' 0
	lines_are "cookies of a notrace function" "$TMP/linked" '^cookie 2 ' $((plain / 10))
	equal "hits of the event" "$(event_hits kp_cl_inner)" 10
	equal "hits of the event on two functions" "$(event_hits kp_cl_twice)" 0
	equal "hits of the event on a notrace function" "$(event_hits kp_cl_failable_plain)" $plain
	run event "$BPF_PROBE" -w kp_clients:kp_cl_twice "$(come "$ALL_CALLS")"
	lines_are "perf's hits of two functions" "$TMP/event" '^count 0$' 1
	run event "$BPF_PROBE" -w kp_clients:kp_cl_failable_plain "$(come "$ALL_CALLS")"
	lines_are "perf's hits of a notrace function" "$TMP/event" "^count $plain\$" 1
	load kp_clients
	read_symbols
	for symbol in kp_cl_inner kp_cl_twice kp_cl_failable_plain; do
		event_off kp_waits/$symbol
	done
	perf_refused "$AMBIGUOUS" kp_clients:kp_cl_twice
	# A name is ambiguous, and so refused, if several functions have it. kp_cl_twice always is;
	# the kernel may have several functions symbols_cmp or symbols_cmp_r.
	for symbol in kp_clients:kp_cl_twice kp_cl_twice symbols_cmp symbols_cmp_r; do
		[ "$(grep -c -E " ${symbol#*:}([[:space:]]|$)" "$TMP/symbols")" -gt 1 ] || continue
		printf '%s\n' vfs_read $symbol vfs_write >"$TMP/list"
		refused 'Invalid argument' -w
	done
	# With more than 4,096 names, the kernel's symbols are scanned only once for all names.
	for symbol in symbols_cmp symbols_cmp_r; do
		[ "$(grep -c -E " $symbol([[:space:]]|$)" "$TMP/symbols")" -gt 1 ] || continue
		with_many_symbols vfs_read $symbol
		refused 'Invalid argument' -w
	done
	with_many_symbols register_kprobes kp_cl_inner
	linked -w "echo 7 >$CLIENTS/calls"
	has 20001 7 kp_cl_inner
	lines_are "address" "$TMP/linked" \
		"^at 20000 $(awk '$3 == "register_kprobes" { print $1 }' "$TMP/symbols")$" 1
	# The symbols of modules are searched once, however many names there are.
	printf '%s\n' vfs_read vfs_write kp_cl_outer kp_cl_inner >"$TMP/list"
	event_on 'p:kp_batches/searched module_kallsyms_on_each_symbol'
	equal "searches of the modules" "$(hits_during searched linked -w :)" 1
	event_off kp_batches/searched
	echo kp_clients:kp_cl_failable_plain >"$TMP/list"
	[ $plain -ne 0 ] || refused 'Invalid argument' -w
	[ $plain -ne 0 ] || perf_refused 'Invalid argument' kp_clients:kp_cl_failable_plain
}

# many_symbols: writes 20,000 symbols to $TMP/list
many_symbols() {
	awk 'BEGIN { while (n < 20000) printf "kp_none:kp_cl_function_%05d\n", n++ }' >"$TMP/list"
}

# Symbols that wait must take little memory: some 230 bytes each, or 400 as arrays are rounded up.
# The test measures by how much free memory shrinks, which includes the memory of the loader: while
# the link still kept 512 bytes for each symbol, the result was 913. Other tasks allocate and free
# memory at the same time, so use the smallest of three results.
waiting_is_small() {
	many_symbols
	bytes=100000
	for _ in 1 2 3; do
		linked -nw :
		measured=$(($(sed -n 's/^memory //p' "$TMP/linked") * 1024 / 20000))
		[ $measured -ge $bytes ] || bytes=$measured
	done
	ktap_print_msg "$bytes bytes a symbol"
	at_most "bytes a symbol" $bytes 700
	list_is_empty
}

# The memory of a link is charged to the cgroup of its task.
memory_is_charged() {
	cgroups=$TMP/cgroups
	mkdir "$cgroups"
	mount -t cgroup2 none "$cgroups" 2>/dev/null || skip_case "no cgroups" || return 0
	if ! grep -qw memory "$cgroups/cgroup.controllers"; then
		umount "$cgroups"
		skip_case "no CONFIG_MEMCG" || return 0
	fi
	put "$cgroups/cgroup.subtree_control" +memory
	mkdir "$cgroups/kp_link"
	many_symbols
	run charged sh -c "echo \$\$ >$cgroups/kp_link/cgroup.procs
		exec $BPF_PROBE -knw $TMP/list 'cp $cgroups/kp_link/memory.stat $TMP/charged'"
	kernel=$(sed -n 's/^kernel //p' "$TMP/charged")
	ktap_print_msg "$kernel bytes of the kernel charged for 20,000 symbols"
	at_least "bytes charged" "$kernel" $((20000 * 180))
	rmdir "$cgroups/kp_link"
	umount "$cgroups"
}

# Only symbols can wait for a module, not addresses. Only probes can, not return probes, sessions or
# programs that replace results.
bad_flags() {
	for bad in -r -S -F4 $(! can_override || echo -o); do
		must_fail "$BPF_PROBE" -kw "$bad" "$TMP/list" : 2>"$TMP/refused"
		lines_are "the error of $bad" "$TMP/refused" '^BPF_LINK_CREATE: Invalid argument' 1
	done
	echo 10 >"$TMP/number"
	must_fail "$BPF_PROBE" -k -F2 "$TMP/number" : 2>"$TMP/refused"
	lines_are "the error of addresses" "$TMP/refused" '^BPF_LINK_CREATE: Invalid argument' 1
	list_is_empty
}

# Events of perf's kprobe PMU wait as well.
perf_waits() {
	lines_are "format/wait" /sys/bus/event_source/devices/kprobe/format/wait '^config:1$' 1
	unload kp_clients
	must_fail "$BPF_PROBE" kp_clients:kp_cl_inner : 2>"$TMP/refused"
	lines_are "the error" "$TMP/refused" '^perf_event_open: No such file' 1
	run event "$BPF_PROBE" -w kp_clients:kp_cl_inner \
		"$(come "echo 10 >$CLIENTS/calls"); $(come "echo 6 >$CLIENTS/calls")"
	lines_are "hits" "$TMP/event" '^count 16$' 1
	lines_are "the address while it waits" "$TMP/event" '^address 0$' 1
	run event "$BPF_PROBE" -rw kp_clients:kp_cl_inner "$(come "echo 10 >$CLIENTS/calls")"
	lines_are "returns" "$TMP/event" '^count 10$' 1
	list_is_empty
	load kp_clients
	run event "$BPF_PROBE" -w kp_clients:kp_cl_inner :
	lines_are "the address" "$TMP/event" '^address [0-9a-f]*[1-9a-f]' 1
	run event "$BPF_PROBE" -w kp_cl_inner 'rmmod kp_clients'
	lines_are "the address when the module is gone" "$TMP/event" '^address 0$' 1
	load kp_clients
}

setup_clients
[ -x "$BPF_PROBE" ] || skip_topic "bpf_probe is not built"
! on_base_kernel || skip_topic "the base kernel has no such links"
load kp_clients
read_symbols
addresses kp_cl_inner
rc=0
"$BPF_PROBE" -k "$TMP/list" : >"$TMP/first" 2>&1 || rc=$?
[ $rc -ne "$KSFT_SKIP" ] || skip_topic "no kprobe.multi in this kernel"
ktap_set_plan 21
check "entries and addresses inside functions" mixed
check "one address inside a function" only_inside
check "without cookies" without_cookies
check "addresses that are given several times" duplicates
check "every instruction of a function" every_instruction
check "one address is refused, and nothing stays" nothing_stays
check "returns, sessions and replaced results need entries" entries_only
check "missed hits" missed
check "an event on what the program calls" event_in_program
check "the module of an address stays" module_stays
check "1,000 addresses" thousand
check "a link with many addresses is made and removed in batches" in_batches
check "no hit before all probes are registered" all_at_once
check "ftrace is off when probes are to be enabled" not_enabled
check "links that come and go while they are hit" under_load
check "symbols that wait for their module" waits_for_module
check "perf's events that wait for their module" perf_waits
check "what events are refused is refused when the module comes" checked_when_it_comes
check "symbols that wait take little memory" waiting_is_small
check "the memory of a link is charged to a cgroup" memory_is_charged
unload kp_clients
check "no event and no probe is left" no_events
ktap_finished
