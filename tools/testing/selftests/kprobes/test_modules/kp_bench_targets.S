/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kp_bench probes. Of each function it is the first instruction after the
 * ENDBR.
 */

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>
#include "kp_bench.h"
#include "kp_inc.h"

	.text

SYM_FUNC_START(kp_bench_add)
	add	%_ASM_ARG2, %_ASM_ARG1
	RET
SYM_FUNC_END(kp_bench_add)

/* Enough for a jump */
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

/*
 * The others: functions of KP_BENCH_ROW instructions of two bytes, so that
 * neither looking a symbol up nor decoding a function takes long.
 */
.macro kp_bench_row nr
SYM_FUNC_START(kp_bench_row_\nr)
	.rept	KP_BENCH_ROW
	KP_INC_EAX
	.endr
	RET
SYM_FUNC_END(kp_bench_row_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR kp_bench_row_\nr
	.popsection
.endm

	.pushsection .rodata, "a"
	_ASM_ALIGN
SYM_DATA_START(kp_bench_rows)
	.popsection
	.altmacro
	.set	nr, 0
	.rept	KP_BENCH_ROWS
	kp_bench_row %nr
	.set	nr, nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(kp_bench_rows)
	.popsection

/*
 * In front of the kernel's handlers of #DB and #BP while traps are counted; all
 * registers and the frame are as the processor left them.
 */
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
