/* SPDX-License-Identifier: GPL-2.0 */
/* Targets of kp_bench, probed at the first instruction after the ENDBR */

#include <asm/unwind_hints.h>
#include "kp_bench.h"
#include "kp_functions.S"
#include "kp_inc.h"

	.text

SYM_FUNC_START(kp_bench_add)
	add	%_ASM_ARG2, %_ASM_ARG1
	RET
SYM_FUNC_END(kp_bench_add)

/* Has room for a jump. */
SYM_FUNC_START(kp_bench_long)
	add	%_ASM_ARG2, %_ASM_ARG1
	sub	%_ASM_ARG2, %_ASM_ARG1
#ifdef CONFIG_X86_32
	nop
#endif
	RET
SYM_FUNC_END(kp_bench_long)

SYM_FUNC_START(kp_bench_push)
	push	%_ASM_BP
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kp_bench_push)

SYM_FUNC_START(kp_bench_nop)
	nop
	RET
SYM_FUNC_END(kp_bench_nop)

SYM_FUNC_START(kp_bench_jmp)
	jmp	.Ljmp
.Ljmp:
	RET
SYM_FUNC_END(kp_bench_jmp)

SYM_FUNC_START(kp_bench_je)
	je	.Lje
.Lje:
	RET
SYM_FUNC_END(kp_bench_je)

SYM_FUNC_START(kp_bench_str)
	str	%eax
	RET
SYM_FUNC_END(kp_bench_str)

/* Rows of many short instructions: there are few symbols to look up, and a row is decoded fast. */
.macro kp_bench_row
	.rept	KP_BENCH_ROW
	KP_INC_EAX
	.endr
.endm

KP_FUNCTIONS kp_bench_rows KP_BENCH_ROWS kp_bench_row

/* Count a trap, then jump to the kernel's handler with the CPU's registers and frame. */
.macro kp_bench_gate name real
SYM_CODE_START(\name)
#ifdef CONFIG_X86_64
	UNWIND_HINT_IRET_REGS
#endif
	ENDBR
	incl	_ASM_RIP(kp_bench_traps)
	ANNOTATE_RETPOLINE_SAFE
	jmp	*_ASM_RIP(\real)
SYM_CODE_END(\name)
.endm

kp_bench_gate kp_bench_debug kp_bench_real_debug
kp_bench_gate kp_bench_int3 kp_bench_real_int3
