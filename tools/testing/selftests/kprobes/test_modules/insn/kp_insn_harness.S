/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a case of the instruction matrix: loads its registers, jumps there, and saves them.
 *
 * In a case, the stack pointer points into the task's stack, since interrupts and the probe need
 * the stack below it. The case itself may use what is above, a copy of kp_insn_stack.
 *
 * The harness jumps to a case with a return instruction: cases have no endbr, so with IBT an
 * indirect jump would raise #CP.
 */

#include "kp_insn_macros.S"

/* A register in an array */
#define KP_OF(array, reg)	_ASM_RIP(array + reg * __SIZEOF_LONG__)

/* A case may have loaded another ds, so use ss. */
#define KP_OUT(reg)		WIDTH(, %ss:)KP_OF(kp_insn_out, reg)

#define LOAD_REG(reg)		mov KP_OF(kp_insn_in, KP_##reg), %reg;
#define SAVE_REG(reg)		mov %reg, KP_OUT(KP_##reg);
#define EACH_REG(op)		op(AX) op(CX) op(DX) op(BX) op(BP) op(SI) op(DI)

	.text

/* void kp_insn_run(const void *start) */
SYM_FUNC_START(kp_insn_run)
	push	%_ASM_BP
	push	%_ASM_BX
#ifdef CONFIG_X86_64
	push	%r12
	push	%r13
	push	%r14
	push	%r15
#else
	push	%esi
	push	%edi
	mov	%gs, kp_insn_gs
#endif
	pushf
	mov	%_ASM_SP, _ASM_RIP(kp_insn_sp)
	mov	%_ASM_ARG1, _ASM_RIP(kp_insn_start)

	/* Give the case the same stack address in every run from one caller. */
	sub	$(KP_STACK + 64), %_ASM_SP
	and	$~63, %_ASM_SP
	mov	%_ASM_SP, _ASM_RIP(kp_insn_area)
	mov	%_ASM_SP, %_ASM_DI
	lea	_ASM_RIP(kp_insn_stack), %_ASM_SI
	mov	$KP_STACK, %ecx
	cld
	rep movsb
	add	$KP_STACK_TOP, %_ASM_SP
	mov	%_ASM_SP, KP_OF(kp_insn_in, KP_SP)

	EACH_REG(LOAD_REG)
#ifdef CONFIG_X86_64
.irp i, 8, 9, 10, 11, 12, 13, 14, 15
	mov	KP_OF(kp_insn_in, \i), %r\i
.endr
#endif
	push	_ASM_RIP(kp_insn_start)
	push	KP_OF(kp_insn_in, KP_FLAGS)
	popf
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_run)
STACK_FRAME_NON_STANDARD kp_insn_run

/* Every case jumps here at its end. This returns from kp_insn_run(). */
SYM_FUNC_START(kp_insn_done)
	EACH_REG(SAVE_REG)
	SAVE_REG(SP)
#ifdef CONFIG_X86_64
.irp i, 8, 9, 10, 11, 12, 13, 14, 15
	mov	%r\i, KP_OUT(\i)
.endr
#endif
	pushf
	pop	KP_OUT(KP_FLAGS)
#ifndef CONFIG_X86_64
	/* These write 16 bits each; the upper halves stay zero. */
	mov	%ds, KP_OUT(KP_DS)
	mov	%es, KP_OUT(KP_ES)
	mov	%fs, KP_OUT(KP_FS)
	mov	%gs, KP_OUT(KP_GS)
	mov	$__USER_DS, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	kp_insn_gs, %gs
#endif

	/* Save the stack. The stack pointer is below it, so that interrupts do not write to it. */
	mov	_ASM_RIP(kp_insn_area), %_ASM_SI
	mov	%_ASM_SI, %_ASM_SP
	lea	_ASM_RIP(kp_insn_stack), %_ASM_DI
	mov	$KP_STACK, %ecx
	cld
	rep movsb

	mov	_ASM_RIP(kp_insn_sp), %_ASM_SP
	popf
#ifdef CONFIG_X86_64
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
#else
	pop	%edi
	pop	%esi
#endif
	pop	%_ASM_BX
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kp_insn_done)
STACK_FRAME_NON_STANDARD kp_insn_done

/* 32-bit mode has 8 vector registers; 64-bit mode has 16, with AVX-512 32. */
.macro VECTORS insn:req, reg:req, load:req, numbers:vararg
.irp i, \numbers
.if \load
	\insn	64 * \i(%_ASM_ARG1), %\reg\i
.else
	\insn	%\reg\i, 64 * \i(%_ASM_ARG1)
.endif
.endr
.endm

/* void kp_insn_load_*(const struct kp_vector *), void kp_insn_save_*(struct kp_vector *) */
.macro VECTOR_FUNCTION name:req, load:req, insn:req, reg:req
SYM_FUNC_START(kp_insn_\name)
	VECTORS \insn, \reg, \load, 0, 1, 2, 3, 4, 5, 6, 7
#ifdef CONFIG_X86_64
	VECTORS \insn, \reg, \load, 8, 9, 10, 11, 12, 13, 14, 15
.ifc \reg, zmm
	VECTORS \insn, \reg, \load, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
.endif
#endif
	RET
SYM_FUNC_END(kp_insn_\name)
.endm

VECTOR_FUNCTION load_sse, 1, movups, xmm
VECTOR_FUNCTION save_sse, 0, movups, xmm
VECTOR_FUNCTION load_avx, 1, vmovups, ymm
VECTOR_FUNCTION save_avx, 0, vmovups, ymm
VECTOR_FUNCTION load_avx512, 1, vmovups, zmm
VECTOR_FUNCTION save_avx512, 0, vmovups, zmm

/* void kp_insn_load_mmx(const u64 *), void kp_insn_save_mmx(u64 *) */
SYM_FUNC_START(kp_insn_load_mmx)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7
	movq	8 * \i(%_ASM_ARG1), %mm\i
.endr
	RET
SYM_FUNC_END(kp_insn_load_mmx)

SYM_FUNC_START(kp_insn_save_mmx)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7
	movq	%mm\i, 8 * \i(%_ASM_ARG1)
.endr
	emms
	RET
SYM_FUNC_END(kp_insn_save_mmx)

.macro ARRAY name:req, size:req
SYM_DATA_START(\name)
	.skip	\size
SYM_DATA_END(\name)
.endm

	.data
	.balign	64
ARRAY kp_insn_mem, KP_MEM
ARRAY kp_insn_stack, KP_STACK
ARRAY kp_insn_way, 8
ARRAY kp_insn_in, (KP_REGS * WORD)
ARRAY kp_insn_out, (KP_REGS * WORD)
/* 16 bytes before an unmapped page; only kp_faults has that */
SYM_DATA(kp_insn_edge, _ASM_PTR 0)
SYM_DATA_LOCAL(kp_insn_sp, _ASM_PTR 0)
SYM_DATA_LOCAL(kp_insn_area, _ASM_PTR 0)
SYM_DATA_LOCAL(kp_insn_start, _ASM_PTR 0)
#ifndef CONFIG_X86_64
SYM_DATA_LOCAL(kp_insn_gs, .long 0)
#endif
