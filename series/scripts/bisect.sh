#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Walks through the series patch by patch: writes the tree of each step to out/bisect/linux,
# touching only the files that the patch changes, and checks that it builds and works:
#
# - checkpatch --strict reports nothing about the patch.
# - In each variant, the files that the patch changes, and all files of kprobes that are there,
#   compile with W=1, without warnings about our files. Some steps have two cores of kprobes, the
#   old one and the new one: there both are compiled, first the old one, with all that the variant
#   asks for. While the new core is incomplete, Kconfig holds back some of its features: a patch
#   that adds to such a feature names it in a line `Builds:`, and is compiled without the hold, in
#   the variants that can have the feature. For all other patches, no object of the new core may
#   need a function of kprobes that no object has.
# - In each variant for x86 the kernel, its modules and the test modules are built, with the
#   hold, and a guest runs the tests that have arrived by then. Its kernel has the new core as soon
#   as Kconfig offers that.
#
#	series/scripts/bisect.sh
#
# environment:
#	FROM= TO=	numbers of patches, counted over all series, or names of their files in
#			series/messages, default all
#	VARIANTS=	default "default i386 arm64 debug"
#	STAGES=		default "checkpatch objects guest"
#	TESTS=		scripts to run in the guests, if they are there; default all. The word "new"
#			stands for the tests that the patch adds or changes
#	CODE=1		leave out the patches that change only tests, samples or documents
#	CORE=old	guests have the old core, while there are two
#	AGAIN=1		repeat what has passed before
#
# What has passed is remembered, together with a hash of all files that the stage can depend on. So
# the walk can be resumed, a change of one patch repeats only the steps from there on, and a step
# that adds only a document or a test compiles nothing. The last line says how many stages passed.

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

read -ra variants <<<"${VARIANTS:-default i386 arm64 debug}"
read -ra stages <<<"${STAGES:-checkpatch objects guest}"
read -ra tests <<<"${TESTS:-}"
dir=$OUT/bisect
tree=$dir/linux
steps=$dir/steps.git
jobs=${JOBS:-$(nproc)}
export CCACHE_BASEDIR=$dir

need_packages git rsync patch perl gcc libc6-dev make bc bison flex libelf-dev kmod
mkdir -p "$dir"
lock bisect
"$TOP/series/scripts/export.sh"
# The repository's index says which files of a step are in $tree.
[ -e "$steps/index" ] || {
	say "copying the base kernel"
	rm -rf "$tree" "$steps"
	rsync -a --exclude=/.series "$OUT/linux-stock/" "$tree"
	git init -q --bare -b series "$steps"
}
git -C "$steps" fetch -q --force "$OUT/series" '+refs/*:refs/*'
mapfile -t commits < <(git -C "$steps" rev-list --reverse base..series)
mapfile -t messages < <(messages_of_base)
mapfile -t patches < <(patches_in "$OUT/patches" "$OUT/patches-kept")
[ "${#commits[@]} ${#commits[@]}" = "${#messages[@]} ${#patches[@]}" ] || die "the series changed while it was read"

# number STEP: prints the number of a step that is given by its number or its name
number()
{
	local i

	for i in "${!messages[@]}"; do
		[ "${messages[i]##*/}" != "$1" ] || { echo $((i + 1)); return; }
	done
	[[ $1 =~ ^[0-9]+$ ]] || die "series/messages has no $1"
	echo "$1"
}

from=$(number "${FROM:-1}")
to=$(number "${TO:-${#commits[@]}}")

in_tree() { git -C "$tree" --git-dir="$steps" --work-tree=. "$@"; }

# lay COMMIT: changes $tree to the tree of this step
lay() { in_tree read-tree -u --reset "$1"; }

# names KEY MESSAGE: prints the values of lines `KEY: VALUE`
names()
{
	sed -n "s/^$1: //p" "$2"
}

# unhold MESSAGE: reverts the diffs of series/steps that lines `Builds:` of the message name: they
# hold back the features that the patch adds to
unhold()
{
	local name

	for name in $(names Builds "$1"); do
		patch -R -d "$tree" -p1 --fuzz=0 --force --no-backup-if-mismatch -s -r - \
			<"$(adapted steps "$name.diff")"
	done
}

kmake()
{
	make -C "$tree" O="$build" "${toolchain[@]}" -j"$jobs" "$@" </dev/null
}

# two_cores: does this step have both the base kernel's core of kprobes (old) and ours (new), and an
# option that chooses one?
two_cores()
{
	choice | grep -q $'^\tbool'
}

# choice: prints what arch/Kconfig says about PROBEPOINTS, the choice between the two cores
choice()
{
	sed -n '/^config PROBEPOINTS$/,/^\(\thelp\)\?$/p' "$tree/arch/Kconfig"
}

# offered: does Kconfig offer the new core on this architecture?
offered()
{
	choice | grep -q $'^\tbool "' || return 1
	case ${arch[name]} in
	x86_64) ;;
	i386) ! choice | grep -qw X86_64 ;;
	*) ! choice | grep -qE '\bX86(_64)?$' ;;
	esac
}

# options: prints the options that select the new core, and, in steps where that excludes the
# function tracer, the options that turn the tracer off
options()
{
	printf 'CONFIG_%s=y\n' EXPERT PROBEPOINTS
	! choice | grep -q '!FUNCTION_TRACER' ||
		printf 'CONFIG_%s=n\n' FUNCTION_TRACER STACK_TRACER
}

# set_up VARIANT DIRECTORY [new]: makes the variant's configuration; with `new`, it selects the new
# core if there are two. Sets build and toolchain.
set_up()
{
	local variant=$1 core=${3:-old} fragments=() stamp

	build=$2
	use_toolchain "$variant"
	find_fragments "$variant"
	mkdir -p "$build"
	cat "${fragments[@]}" >"$build/fragments"
	[ "$core" = old ] || options >>"$build/fragments"
	stamp=$({
		cat "$build/fragments"
		in_tree ls-files '*Kconfig*' | (cd "$tree" && xargs cat)
		"$compiler" --version
	} | sha256sum)
	[ "$stamp" != "$(cat "$build/.config-from" 2>/dev/null)" ] || return 0
	make_config "$tree" "$build" "$build/fragments" && printf '%s\n' "$stamp" >"$build/.config-from"
}

# has OPTION: is the option selected in this configuration?
has()
{
	grep -qE "^CONFIG_$1=[ym]$" "$build/.config"
}

# part: does the patch name features in a line `Builds:`, which diffs of series/steps hold back, and
# does this configuration have them?
part()
{
	local name

	[ -n "$(names Builds "$message")" ] && has PROBEPOINTS || return 1
	for name in $(names Builds "$message"); do
		has "$name" || return 1
	done
}

# old_core: does this configuration build the base kernel's core? That is kernel/kprobes.c until the
# step that adds ours, and kernel/kprobes_old.c from then on.
old_core()
{
	[ -e "$tree/kernel/kprobes_old.c" ] || [ ! -e "$tree/kernel/kprobes/" ] || return 1
	! has PROBEPOINTS
}

# objects_of COMMIT: prints the targets of make to compile for this patch
objects_of()
{
	local file object option srcarch=x86

	case ${arch[name]} in
	x86_64 | i386) ;;
	*) srcarch=${arch[name]} ;;
	esac
	while IFS= read -r file; do
		case $file in
		*_32.S) [ "${arch[name]}" = i386 ] || continue ;;
		*_64.S) [ "${arch[name]}" = x86_64 ] || continue ;;
		esac
		case $file in
		*/asm-offsets.c) continue ;;
		kernel/kprobes_old.c) continue ;; # with all of kprobes, below
		kernel/kprobes.c | kernel/kprobes/* | arch/x86/kernel/kprobes/*)
			part || continue
			;;
		esac
		case $file in
		arch/"$srcarch"/*.[cS] | kernel/*.c | lib/*.c | init/*.c) ;;
		*) continue ;;
		esac
		case $file in
		kernel/kprobes/rethook.c) continue ;; # the directory's makefile compiles it if needed
		kernel/exit.c) ! part || continue ;; # may need functions that arrive in later steps
		*/unwind_orc.c) has UNWINDER_ORC || continue ;;
		*/unwind_frame.c) has UNWINDER_FRAME_POINTER || continue ;;
		*/mce/*) has X86_MCE || continue ;;
		kernel/power/hibernate.c) has HIBERNATION || continue ;;
		arch/x86/kernel/rethook.c) has RETHOOK || continue ;;
		# The search below, for kernel/trace/*, would not find the options of these two in
		# the makefile.
		kernel/trace/ftrace.c) has FUNCTION_TRACER || continue ;;
		kernel/trace/trace_event_perf.c) has PERF_EVENTS || continue ;;
		kernel/trace/*)
			object=$(basename "${file%.*}").o
			option=$(sed -n "s/^obj-\$(CONFIG_\(.*\)) += $object$/\1/p" "$tree/kernel/trace/Makefile")
			has "${option:-TRACING}" || continue
			;;
		esac
		[ ! -e "$tree/$file" ] || printf '%s\n' "${file%.*}.o"
	done < <(git -C "$steps" diff --name-only "$1^" "$1")
	# Compile all of kprobes as well, unless unhold() has reverted the diffs that hold back the
	# patch's feature: then files that need later parts of the feature do not compile.
	if has KPROBES && ! part; then
		file=kernel/kprobes
		! old_core || [ ! -e "$tree/${file}_old.c" ] || file+=_old
		[ ! -e "$tree/$file.c" ] || echo "$file.o"
		old_core || echo kernel/kprobes/
		for file in "arch/$srcarch/kernel/kprobes/" \
			"arch/$srcarch/kernel/probes/" samples/kprobes/; do
			[ ! -e "$tree/$file" ] || echo "$file"
		done
		# all_defined reads these objects as well.
		! has KPROBE_EVENTS || echo kernel/trace/trace_kprobe.o
		[ "$srcarch" != x86 ] || echo arch/x86/kernel/traps.o
		echo kernel/exit.o
	fi
}

# our_warnings: prints the warnings in the log about files of kprobes; fails if there are none.
# Leaves out warnings about files that are still the base kernel's, perhaps under another name.
our_warnings()
{
	local line file found=1

	while IFS= read -r line; do
		file=${line%%:*}
		# With ccache, the compiler is given relative paths.
		file=${file#"$tree"/}
		file=${file#../linux/}
		[ "$file" != kernel/kprobes_old.c ] || continue
		! git -C "$steps" diff --quiet base "$commit" -- "$file" || continue
		printf '%s\n' "$line"
		found=0
	done < <(grep -E '(kernel/kprobes|samples/kprobes|linux/(kprobe|probepoint)|asm/(kprobes|probepoint))[^ :]*:.*warning:' "$log")
	return $found
}

# Each function run_STAGE prints what is wrong, and fails if anything is.
run_checkpatch()
{
	(
		cd "$tree"
		# Fixes: is missing until review.sh adds it. A line of context may name a commit,
		# which checkpatch cannot find, since $tree has no history.
		checkpatch --showfile \
			--ignore=FILE_PATH_CHANGES,MISSING_FIXES_TAG,UNKNOWN_COMMIT_ID \
			"${patches[n - 1]}"
	) >"$log"
	cat "$log"
	[ ! -s "$log" ]
}

run_objects()
{
	compile "$1" "$dir/objects-$1" old || return 1
	two_cores || return 0
	unhold "$message"
	compile "$1" "$dir/objects-$1-new" new
}

# all_selected: fails if the variant asks for kprobes, a client of kprobes or a tracer, but Kconfig
# turns that off at this step: then nobody could bisect a bug of that feature
all_selected()
{
	local name bad=0

	for name in KPROBES KPROBE_EVENTS BPF_EVENTS FUNCTION_TRACER FPROBE; do
		[ "$(sed -n "s/^CONFIG_$name=//p" "$build/fragments" | tail -n 1)" = y ] || continue
		has "$name" || { echo "$name cannot be selected"; bad=1; }
	done
	return $bad
}

# compile VARIANT DIRECTORY old|new: compiles the objects with this core
compile()
{
	local targets=() name had=()

	set_up "$1" "$2" "$3" >"$log.config" 2>&1 || { cat "$log.config"; return 1; }
	if [ "$3" = old ]; then
		all_selected || return 1
	elif ! has PROBEPOINTS; then
		echo "the new core cannot be selected"
		! offered || return 1
		return 0
	fi
	mapfile -t targets < <(objects_of "$commit" | sort -u)
	kmake W=1 prepare scripts >"$log" 2>&1 || { build_errors "$log"; return 1; }
	[ ${#targets[@]} -eq 0 ] || kmake W=1 -k "${targets[@]}" >>"$log" 2>&1 || {
		build_errors "$log"
		return 1
	}
	! our_warnings || return 1
	part || ! has KPROBES || old_core || all_defined || return 1
	for name in KPROBES KRETPROBES OPTPROBES KPROBES_ON_FTRACE; do
		! has "$name" || had+=("$name")
	done
	printf '%s, %d targets: %s\n' "$(old_core && echo "old core" || echo "new core")" \
		${#targets[@]} "${had[*]}"
}

# all_defined: fails if an object of kprobes needs a function of kprobes that no object has:
# the kernel would not link.
all_defined()
{
	local objects missing

	mapfile -t objects < <(
		cd "$build"
		for object in kernel/kprobes.o kernel/kprobes/*.o arch/*/kernel/{k,}probes/*.o; do
			case $object in
			*/built-in.o | *.mod.o) ;;
			# objects of the old core, left from an earlier step
			arch/x86/kernel/kprobes/core.o | arch/x86/kernel/kprobes/opt.o | \
			arch/x86/kernel/kprobes/ftrace.o) ;;
			*) [ ! -e "$tree/${object%.o}.c" ] && [ ! -e "$tree/${object%.o}.S" ] || echo "$object" ;;
			esac
		done
		for object in kernel/trace/trace_kprobe.o arch/x86/kernel/traps.o; do
			[ ! -e "$object" ] || echo "$object"
		done
	)
	missing=$(cd "$build" && nm "${objects[@]}" 2>/dev/null | awk '
		NF == 2 && $1 == "U" { wanted[$2] = 1 }
		NF == 3 { have[$3] = 1 }
		END { for (s in wanted) if (!(s in have)) print s }' |
		grep -E 'probepoint|kprobe|optimizer|x86_insn|kretprobe|jprobe' |
		grep -vE '^__(start|stop)_|^perf_|^(bpf|trace)_|kprobes?_(text|event)|k(ret)?probe_(multi|prog|trace|perf)' |
		sort | paste -sd' ') || true
	[ -z "$missing" ] || {
		printf 'not defined: %s\n' "$missing"
		return 1
	}
}

run_guest()
{
	local variant=$1 image all=() wanted=() asked=" ${tests[*]} " test modules=$dir/modules-$1 name

	variant_arch "$variant"
	case ${arch[name]} in
	x86_64 | i386) ;;
	*) return 0 ;;
	esac
	image=${arch[image]##*/}
	set_up "$variant" "$dir/build-$variant" "${CORE:-new}" >"$log.config" 2>&1 ||
		{ cat "$log.config"; return 1; }
	kmake "$image" modules >"$log" 2>&1 || {
		build_errors "$log"
		return 1
	}
	! our_warnings || return 1
	# The tests need the new core: without tests, or with the old core, only boot.
	if [ ! -e "$tree/$SELFTESTS/vmtest.sh" ] || old_core; then
		boot_only "$variant"
		return
	fi
	mkdir -p "$modules"
	for name in test_modules:$SELFTESTS/test_modules samples:samples/kprobes kunit:kernel/kprobes/tests; do
		[ -e "$tree/${name#*:}/Makefile" ] || continue
		mkdir -p "$modules/${name%%:*}"
		rsync -rc --delete --include='*/' --include='*.[chS]' --include=Makefile --exclude='*' \
			"$tree/${name#*:}/" "$modules/${name%%:*}/"
		make -C "$build" M="$modules/${name%%:*}" "${toolchain[@]}" -j"$jobs" \
			KPROBES_TESTS="$tree/kernel/kprobes/tests" CONFIG_KPROBES_KUNIT_TEST=m \
			CONFIG_SAMPLE_KPROBES=m CONFIG_SAMPLE_KRETPROBES=m modules \
			</dev/null >>"$log" 2>&1 ||
			{ build_errors "$log"; return 1; }
	done
	mapfile -t all < <(test_programs "$tree")
	[[ $asked != *" new "* ]] || asked+="$({
		git -C "$steps" diff --name-only --diff-filter=AM "$commit^" "$commit" -- "$SELFTESTS/*.sh" |
			sed 's,.*/,,; s,\.sh$,,'
		git -C "$steps" diff "$commit^" "$commit" -- "$SELFTESTS/suites.sh" |
			sed -n 's/^+\([a-z-]*\))$/\1/p'
	} | paste -sd' ') "
	for test in "${all[@]}"; do
		[ ${#tests[@]} -eq 0 ] || [[ $asked == *" $test "* ]] || continue
		wanted+=("$test")
	done
	if [ ${#wanted[@]} -eq 0 ]; then
		boot_only "$variant"
		return
	fi
	(
		guest_packages "$variant" >>"$log"
		"$tree/$SELFTESTS/vmtest.sh" -n "bisect-$variant" -b "$build" -m "$modules" \
			-o "$dir/log" "${wanted[@]}"
	) >"$log.guest" 2>&1 || { grep -E 'not ok|trouble|error|failed' "$log.guest" | tail -n 30; return 1; }
	tail -n 1 "$log.guest" | sed "s/^/   $variant: /"
}

# boot_only VARIANT: boots a step that has no test yet, with the vmtest.sh of the last step, and
# checks whether a kprobe event is hit
boot_only()
{
	cat >"$dir/boot.sh" <<-'END'
		echo booted: && uname -r
		t=/sys/kernel/tracing
		[ -e $t/kprobe_events ] || mount -t tracefs tracefs $t
		echo 'p:bisect kernel_clone' >$t/kprobe_events
		echo 1 >$t/events/kprobes/bisect/enable
		/bin/true
		echo "events: $(awk '$1 == "bisect" { print $2 }' $t/kprobe_profile) hits"
	END
	(
		guest_packages "$1" >>"$log"
		"$OUT/linux/$SELFTESTS/vmtest.sh" -n "bisect-$1" -b "$build" -m "$dir" -o "$dir/log" \
			-c "$dir/boot.sh"
	) >"$log.guest" 2>&1
	grep 'events: [1-9]' "$log.guest" || { tail -n 20 "$log.guest"; return 1; }
}

# key_of STAGE: prints a hash of all files of the step's tree that this stage can depend on. A stage
# need not run again while its hash is the same. With TESTS=new, the files of the step before decide
# which tests are new, so the hash for guests includes these, too.
key_of()
{
	local step of=("$commit")

	[[ $1/${tests[*]} != guest/*new* ]] || of+=("$commit^")
	for step in "${of[@]}"; do
		git -C "$steps" ls-tree -r --full-tree "$step"
	done | case $1 in
	checkpatch) cat ;;
	objects) grep -vE '	(Documentation|tools/testing)/' ;;
	guest) grep -v '	Documentation/' ;;
	esac | sha1sum | cut -c1-40
}

# try STAGE [VARIANT]: runs the stage, unless it has passed before with the same files, see key_of()
try()
{
	local what="$*" key start=$SECONDS

	key="$(key_of "$1") $what${tests[*]:+ ${tests[*]}}"
	if [ -z "${AGAIN:-}" ] && grep -qxF "$key" "$dir/passed" 2>/dev/null; then
		ok "$n $what (before)"
		return
	fi
	log=$dir/log/$(printf '%02d' "$n")-${what// /-}.log
	mkdir -p "$dir/log"
	lay "$commit"
	# bash ignores errexit in a condition: run the stage in a subshell, and test its status
	# afterwards.
	set +e
	(set -e; "run_$1" "${@:2}") >"$log.said" 2>&1
	local rc=$?
	set -e
	if [ "$rc" -eq 0 ]; then
		printf '%s\n' "$key" >>"$dir/passed"
		ok "$n $what, $((SECONDS - start)) s"
	else
		not_ok "$n $what: $(git -C "$steps" log -1 --format=%s "$commit")"
	fi
	sed 's/^/   /' "$log.said"
}

# changes_code: does this patch change what is built into a kernel?
changes_code()
{
	! git -C "$steps" diff --quiet "$commit^" "$commit" -- arch include init kernel lib \
		':!kernel/kprobes/tests'
}

for ((n = from; n <= to; n++)); do
	commit=${commits[n - 1]}
	message=${messages[n - 1]}
	[ -z "${CODE:-}" ] || changes_code || continue
	for stage in "${stages[@]}"; do
		case $stage in
		checkpatch) try checkpatch ;;
		objects | guest)
			for variant in "${variants[@]}"; do
				try "$stage" "$variant"
			done
			;;
		*) die "no stage $stage" ;;
		esac
	done
done
sum_up
