#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the kernel's own selftests of BPF (tools/testing/selftests/bpf) that use kprobes, fprobes or
# trampolines on the base kernel and on ours, and compares the results. A test
# that does not pass on the base kernel either is named, and is no failure.
#
#	series/scripts/bpf-selftests.sh [TEST...]
#
# TEST is a name or a pattern, as for `test_progs -a`. Both kernels run the same programs: clang-19
# compiles them from the base kernel's sources. Their output is in
# out/log/bpf-selftests-VARIANT.log.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- attach_probe bpf_cookie fentry_fexit fentry_test fexit_sleep fexit_test \
	fill_link_info get_func_args_test get_func_ip_test 'kprobe_multi*' missed modify_return \
	module_attach perf_link recursion test_overhead trampoline_count
# The sources of these tests. bpf_cookie.c calls functions of the last two files.
files=({attach_probe,bpf_cookie,fentry_fexit,fentry_test,fexit_sleep,fexit_test,fill_link_info}.c
	{get_func_args_test,get_func_ip_test,kprobe_multi_test,kprobe_multi_testmod_test,missed}.c
	{modify_return,module_attach,perf_link,recursion,test_overhead,trampoline_count}.c
	{test_lsm,uprobe_multi_test}.c)

bpf=tools/testing/selftests/bpf
dir=$OUT/bpf-selftests
log=$OUT/log/bpf-selftests.log

# copy_sources: copies the sources of test_progs, but only the selected ones of the programs, since
# the Makefile builds all programs that it finds
copy_sources()
{
	local programs

	cd "$OUT/linux-stock"
	mapfile -t programs < <(cd $bpf/prog_tests &&
		grep -ohE '"(\./)?[a-z0-9_]+\.(skel\.h|lskel\.h|bpf\.o)"' "${files[@]}" |
		sed -E 's,^"(\./)?([^.]*).*,\2.c,' | sort -u)
	mkdir -p "$dir/src"
	rsync -aR --exclude="/$bpf/prog_tests/*.c" --exclude="/$bpf/progs/*.c" \
		tools/{arch/x86,build,include,lib,scripts} tools/bpf/{bpftool,resolve_btfids} \
		tools/testing/selftests/lib.mk $bpf scripts/bpf_doc.py kernel/bpf/disasm.{c,h} \
		"$dir/src"
	rsync -a "${files[@]/#/$bpf/prog_tests/}" "$dir/src/$bpf/prog_tests/"
	rsync -a "${programs[@]/#/$bpf/progs/}" "$dir/src/$bpf/progs/"
	# The kernels bpf and stock-bpf have no network namespaces, but test_progs would switch back
	# to its own one after each test: leave that out. They have no block layer either: let the
	# test that overrides the result of should_fail_bio() override another function.
	sed -i 's,/proc/self/ns/net,/dev/null,; s,setns(env\.saved_netns_fd.*) ==,0 ==,' \
		"$dir/src/$bpf/test_progs.c"
	sed -i 's,"should_fail_bio","__x64_sys_sethostname",' \
		"$dir/src/$bpf/prog_tests/kprobe_multi_test.c"
	# Linux 7.3 signs two programs, and test_progs adds the key to a keyring, which these kernels
	# do not have: sign none.
	sed -i 's,err = register_session_key,register_session_key,' "$dir/src/$bpf/test_progs.c"
	sed -i '/keyring_id/d' "$dir/src/$bpf/prog_tests/"f{entry,exit}*.c
	# They have no cgroups either: let bpf_testmod.ko load without kfuncs for these.
	sed -i '/bpf_cgroup_release_id < 0/s,if (.*),if (0),' "$dir/src/$bpf/"*/bpf_testmod.c
	cd "$TOP"
}

# run_make ARGUMENT...: runs make as if no other make had started it. Otherwise the selftests would
# take OUTPUT from that other make, and use the root directory if it has none.
run_make()
{
	env -u MAKELEVEL make -j"$(nproc)" "$@" </dev/null >>"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		die "building the selftests of BPF failed" "the whole log is ${log#"$TOP"/}"
	}
}

# build_module VARIANT: builds bpf_testmod.ko; builds it again if vmlinux is newer, since the
# module's BTF refers to the kernel's types by number, and make does not know of this dependency
build_module()
{
	local module=$dir/$1/$modules

	mkdir -p "$dir/$1"
	rsync -a "$dir/src/$bpf/"{"$modules",*.h} "$dir/$1"
	[ "$module/bpf_testmod.ko" -nt "$OUT/build/$1/vmlinux" ] || rm -f "$module/bpf_testmod.ko"
	run_make -C "$OUT/build/$1" M="$module" modules
}

# pack VARIANT TESTS: makes the script that the guest runs, with all that it needs in an archive at
# its end
pack()
{
	local stage=$dir/$1/root libraries

	rm -rf "$stage"
	mkdir -p "$stage/bpf"
	cp "$dir/src/$bpf/"*.bpf.o "$dir/$1/$modules/bpf_testmod.ko" "$stage/bpf"
	strip --strip-debug -o "$stage/bpf/test_progs" "$dir/src/$bpf/test_progs"
	mapfile -t libraries < <(ldd "$dir/src/$bpf/test_progs" | grep -o '/[^ ]*')
	cp -L --parents "${libraries[@]}" "$stage"
	{
		cat <<-EOF
			#!/bin/sh
			tail -n +5 "\$0" | tar -xzf - -C / && cd /bpf || exit 1
			./test_progs -a '$2'
			exit
		EOF
		tar -C "$stage" -czf - .
	} >"$dir/$1/script"
}

# results VARIANT: prints `number<TAB>name<TAB>result` for each test and subtest, and for the
# guest as a whole
results()
{
	local file=$OUT/log/bpf-selftests-$1.log

	tr -d '\r' <"$file" | sed -En 's,^#([0-9/]+) +([^ ]+):(OK|FAIL|SKIP).*,\1\t\2\t\3,p' |
		LC_ALL=C sort -uV
	if grep -q '^#[0-9]' "$file" && grep -q '^Summary: ' "$file" && ! grep -q '^vmtest: ' "$file"; then
		printf '0\tall tests ended, and the kernel reported no trouble\tOK\n'
	else
		printf '0\tall tests ended, and the kernel reported no trouble\tFAIL\n'
	fi
}

"$TOP/series/scripts/build.sh" stock-bpf
"$TOP/series/scripts/build.sh" bpf
need_packages clang-19 llvm-19 libelf-dev zlib1g-dev python3 rsync
lock bpf-selftests
: >"$log"
say "building test_progs and bpf_testmod.ko"
copy_sources
# On Linux 6.12, bpf_testmod.ko has a directory of its own.
modules=test_kmods
[ -d "$dir/src/$bpf/$modules" ] || modules=bpf_testmod
run_make -C "$dir/src/$bpf" CLANG=clang-19 LLVM_STRIP=llvm-strip-19 feature-llvm=0 \
	PCAP_CFLAGS='' PCAP_LIBS='' VMLINUX_BTF="$OUT/build/bpf/vmlinux" TRUNNER_EXTRA_FILES='' \
	LINKED_SKELS='' LSKELS="fentry_test.c fexit_test.c fexit_sleep.c" LSKELS_SIGNED='' \
	LSKELS_EXTRA='' LIBARENA_SKEL='' test_progs

tests=$(IFS=, && echo "$*")
for variant in stock-bpf bpf; do
	build_module $variant
	pack $variant "$tests"
	say "running $tests on $variant"
	TIMEOUT=${TIMEOUT:-900} "$TOP/series/scripts/guest.sh" $variant -n bpf-selftests-$variant \
		-c "$dir/$variant/script" >"$OUT/log/bpf-selftests-$variant.log" 2>&1 || true
done

while IFS=$'\t' read -r name base ours; do
	case $base/$ours in
	*/OK) ok "$name" ;;
	OK/* | SKIP/FAIL | -/FAIL) not_ok "$name: $ours, on the base kernel: $base" ;;
	*) say "not counted: $name: $ours, on the base kernel: $base" ;;
	esac
done < <(awk -F'\t' '
	{ key = $1 FS $2 }
	!(key in name) { name[key] = $2; order[n++] = key; base[key] = ours[key] = "-" }
	FNR == NR { base[key] = $3; next }
	{ ours[key] = $3 }
	END {
		for (i = 0; i < n; i++)
			print name[order[i]] FS base[order[i]] FS ours[order[i]]
	}' <(results stock-bpf) <(results bpf))
[ "$failed" -eq 0 ] || say "what they printed: out/log/bpf-selftests-{bpf,stock-bpf}.log"
sum_up
