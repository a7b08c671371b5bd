#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Builds a kernel with clang in which indirect calls check the type of the called function (kCFI),
# and runs the tests in which trampolines call handlers. The trampolines must not call handlers
# indirectly, but through C functions that contain the check: with FineIBT, an unchecked indirect
# call raises an exception. QEMU emulates no processor with FineIBT, so the script looks for the
# calls and the checks in the objects.
#
#	series/scripts/kcfi.sh [TEST...]

set -euo pipefail
# shellcheck source=series/scripts/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- api api-explain insn-stepped opt kretprobe ftrace jprobe
dir=$OUT/build/kcfi/arch/x86/kernel/kprobes

# check WHAT COMMAND...
check()
{
	local what=$1

	shift
	if "$@"; then
		ok "$what"
	else
		not_ok "$what"
	fi
}

trampolines() { objdump -dr --no-show-raw-insn "$dir/trampolines_64.o"; }

no_indirect_call()
{
	[ -s "$dir/trampolines_64.o" ] || return 1
	! trampolines | grep -E '(call|jmp)q? +\*|__x86_indirect'
}

# called FUNCTION: do the trampolines call this C function, and does it check the type of the
# handler that it calls? Then it has one ud2, which traps if the type is wrong.
called()
{
	trampolines | grep "R_X86_64_PLT32.$1-" >/dev/null || return 1
	objdump -dr --no-show-raw-insn "$dir/int3.o" |
		awk -v f="<$1>:" '/^[0-9a-f]+ </ { inside = $2 == f }
			inside && /\tud2/ { n++ } END { exit n != 1 }'
}

"$TOP/series/scripts/build.sh" kcfi
check "trampolines: no indirect call" no_indirect_call
for function in kprobe_call_pre kprobe_call_post kprobe_call_return; do
	check "trampolines: $function() checks" called $function
done
"$TOP/series/scripts/test.sh" kcfi "$@" | tee "$OUT/log/kcfi.log" || true
add_results "$OUT/log/kcfi.log"
sum_up
