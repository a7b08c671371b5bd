#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs checkpatch, sparse, kernel-doc, Sphinx, coccinelle and shellcheck over our files, builds the
# fuzzer, splits the series into its patches, applies the mutants, and looks for tests without a
# suite. None of these may report anything. Then litmus.sh checks the barriers, and scripts.sh tests
# the tests' own scripts, which needs no guest.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need_packages shellcheck sparse perl gcc libc6-dev make gawk binutils python3-sphinx coccinelle
"$TOP/series/scripts/build.sh" default config

# verdict NAME LOG: reports that a check has passed if its log is empty, or else that it has failed
verdict()
{
	if [ -s "$2" ]; then
		not_ok "$1"
		sed 's/^/   /' "$2"
	else
		ok "$1"
	fi
}

mapfile -t files < <(own_files)
[ ${#files[@]} -gt 0 ] || die "there are no files of ours"
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.[ch]$' || true)
mapfile -t scripts < <(cd "$TOP" && {
	printf '%s\n' "${files[@]}"
	find series .ci -type f 2>/dev/null
} | while IFS= read -r file; do
	case $file in
	*.sh) echo "$file" ;;
	*) ! head -c 64 "$file" | head -n 1 | grep -q '^#!.*sh' || echo "$file" ;;
	esac
done)

say "checkpatch --strict: ${#files[@]} files"
log=$OUT/log/checkpatch.log
(cd "$OUT/linux" && checkpatch -f "${files[@]}") >"$log"
verdict "checkpatch" "$log"

say "sparse: what of ours the variant default builds"
log=$OUT/log/sparse.log
objects=()
for target in kernel/kprobes.o kernel/kprobes/ arch/x86/kernel/kprobes/; do
	[ ! -e "$OUT/linux/${target/.o/.c}" ] || objects+=("$target")
done
(
	lock build-default
	[ ${#objects[@]} -eq 0 ] || make -C "$OUT/linux" O="$OUT/build/default" \
		-j"$(nproc)" -k C=2 CF="-D__CHECK_ENDIAN__" "${objects[@]}" </dev/null
) >"$log.all" 2>&1 || echo "sparse: make failed, see ${log#"$TOP"/}.all" >>"$log.all"
grep -E '(kernel/kprobes|include/linux/kprobes\.h|asm/kprobes\.h)[^ ]*:[0-9]+:|^sparse: |^make.*\*\*\*' \
	"$log.all" >"$log" || true
verdict "sparse" "$log"

say "hit path: what a hit can call is neither traced nor probed, nor is what must not be hit"
log=$OUT/log/hitpath.log
: >"$log"
# hitpath.pl reads objects of other subsystems, too. Without a complete build, it would skip these.
"$TOP/series/scripts/build.sh" default
# Only the kernel of the variant power has the code that a CPU executes when it resumes from a sleep
# state.
for build in "$OUT"/build/{default,i386,power}; do
	[ -e "$build/vmlinux" ] || [ "${build##*/}" = default ] || continue
	"$TOP/series/scripts/hitpath.pl" "$build" >>"$log" 2>&1 ||
		echo "hitpath.pl failed for ${build##*/}" >>"$log"
done
verdict "hit path" "$log"

say "trampolines: none leaves by iret, which unblocks NMIs with FRED"
log=$OUT/log/iret.log
: >"$log"
for object in "$OUT"/build/{default,i386}/arch/x86/kernel/kprobes/*.o; do
	[ ! -e "$object" ] || objdump -d --no-show-raw-insn "$object" 2>&1 |
		sed -n "/\<iret/s|^|${object##*/}: |p" >>"$log"
done
verdict "iret" "$log"

say "double loads: no handler is tested by one load, and called by another"
log=$OUT/log/double-load.log
# double_loads FILE...: prints the double loads that spatch finds
double_loads()
{
	spatch --very-quiet -D report --sp-file "$TOP/series/scripts/double-load.cocci" "$@" 2>&1
}
# The check fails if spatch does not find the double load in this file: then it would find no others
# either.
cat >"$OUT/log/double-load.c" <<'EOF'
static int example(struct kprobe *p, struct pt_regs *regs)
{
	return p->fault_handler && p->fault_handler(p, regs, 14);
}
EOF
{
	double_loads "$OUT/log/double-load.c" | grep -q 'c:3: fault_handler' ||
		echo "double-load.cocci does not find what it is for"
	(cd "$TOP" && double_loads kernel/kprobes.c kernel/kprobes/*.c arch/x86/kernel/kprobes/*.c \
		include/linux/probepoint.h)
} >"$log" 2>&1 || echo "spatch failed" >>"$log"
verdict "double loads" "$log"

say "fuzz: its programs build from the kernel's files"
log=$OUT/log/fuzz-build.log
need_multilib
make -s -C "$OUT/linux/$SELFTESTS/fuzz" O="$OUT/fuzz" >"$log" 2>&1 </dev/null ||
	echo "make failed" >>"$log"
verdict "fuzz" "$log"

say "configurations: what of the variant default breaks first without others"
log=$OUT/log/configs-quick.log
"$TOP/series/scripts/configs.sh" quick >"$log" 2>&1 || echo "configs.sh failed" >>"$log"
verdict "configurations" "$log"

say "kernel-doc -Wall: ${#sources[@]} files"
log=$OUT/log/kernel-doc.log
: >"$log"
[ ${#sources[@]} -eq 0 ] || (cd "$OUT/linux" &&
	scripts/kernel-doc -none -Wall "${sources[@]}" 2>&1) >"$log" || true
verdict "kernel-doc" "$log"

say "manual: Sphinx, and what the manual takes from kernel-doc"
log=$OUT/log/manual.log
"$TOP/series/scripts/manual.sh" >"$log" 2>&1 || echo "manual.sh failed" >>"$log"
verdict "manual" "$log"

say "series: each file, edit and part belongs to a patch, and git am takes all"
log=$OUT/log/series.log
{
	"$TOP/series/scripts/split-test.sh" && "$TOP/series/scripts/export.sh" --check
} >"$log" 2>&1 || echo "split-test.sh or export.sh failed" >>"$log"
verdict "series" "$log"

say "mutants: each applies, and names tests that exist"
log=$OUT/log/mutants-check.log
programs=$(test_programs "$TOP"; cd "$TOP/$SELFTESTS"; basename -s .sh clients-*.sh)
for mutant in "$TOP"/series/mutants/*.diff; do
	patch -d "$TOP" -p1 --fuzz=0 --force --dry-run <"$mutant" >/dev/null 2>&1 ||
		echo "${mutant#"$TOP"/} does not apply"
	read -ra tests < <(sed -n 's/^Test: *//p;/^---/q' "$mutant")
	for test in "${tests[@]}"; do
		grep -qxF "$test" <<<"$programs" ||
			echo "${mutant#"$TOP"/}: no test $test"
	done
done >"$log"
verdict "mutants" "$log"

say "suites: each test belongs to one"
log=$OUT/log/suites.log
{
	test_programs "$TOP"
	(cd "$TOP/$SELFTESTS" && printf '%s\n' clients-*.sh)
} | while IFS= read -r test; do
	belongs=$(suites_of "${test%.sh}" | paste -sd' ')
	[[ $belongs =~ ^[a-z]+$ ]] || echo "$test: suites '$belongs', see vmtest-suites.sh"
done >"$log"
verdict "suites" "$log"

say "litmus: what the barriers are for does not happen, and does without them"
log=$OUT/log/litmus-check.log
"$TOP/series/scripts/litmus.sh" >"$log.all" 2>&1 ||
	echo "litmus.sh failed, see ${log#"$TOP"/}.all" >>"$log.all"
grep -e '^ *not ok' -e '^litmus.sh' -e '^error' "$log.all" >"$log" || true
verdict "litmus" "$log"

say "shellcheck: ${#scripts[@]} scripts"
log=$OUT/log/shellcheck.log
(cd "$TOP" && printf '%s\n' "${scripts[@]}" |
	xargs -d '\n' -P "$(nproc)" -n 10 shellcheck -x 2>&1) >"$log" || true
verdict "shellcheck" "$log"

say "scripts.sh: the tests' own scripts"
log=$OUT/log/scripts.log
"$OUT/linux/$SELFTESTS/scripts.sh" >"$log.all" 2>&1 </dev/null ||
	grep -v '^ok' "$log.all" >"$log.new" || true
: >"$log"
[ ! -e "$log.new" ] || mv "$log.new" "$log"
verdict "scripts.sh" "$log"

sum_up
