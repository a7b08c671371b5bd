/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a case of the instruction matrix: loads what it starts with, jumps there,
 * and saves what it ends with.
 *
 * The case's stack pointer stays on the task's stack, for interrupts and for the
 * probe itself use it. Below that pointer nothing is safe, above it everything is
 * the case's business up to the end of the copy of kp_insn_stack.
 *
 * The jump to the case is a return: a CPU with IBT would raise #CP after a jump by a pointer,
 * since a case does not begin with an endbr.
 */

#include "kp_insn_macros.S"

/* A register in an array of them */
#define KP_OF(array, reg)	_ASM_RIP(array + reg * __SIZEOF_LONG__)

#ifdef CONFIG_X86_64
#define KP_OUT(reg)		KP_OF(kp_insn_out, reg)
#else
/* A case may end with another ds. */
#define KP_OUT(reg)		%ss:KP_OF(kp_insn_out, reg)
#endif

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

	/* A fixed place on the stack, the same for every run of the same caller. */
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

	mov	KP_OF(kp_insn_in, KP_AX), %_ASM_AX
	mov	KP_OF(kp_insn_in, KP_CX), %_ASM_CX
	mov	KP_OF(kp_insn_in, KP_DX), %_ASM_DX
	mov	KP_OF(kp_insn_in, KP_BX), %_ASM_BX
	mov	KP_OF(kp_insn_in, KP_BP), %_ASM_BP
	mov	KP_OF(kp_insn_in, KP_SI), %_ASM_SI
	mov	KP_OF(kp_insn_in, KP_DI), %_ASM_DI
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

/* Where every case jumps to; continues, and returns, as kp_insn_run(). */
SYM_FUNC_START(kp_insn_done)
	mov	%_ASM_AX, KP_OUT(KP_AX)
	mov	%_ASM_CX, KP_OUT(KP_CX)
	mov	%_ASM_DX, KP_OUT(KP_DX)
	mov	%_ASM_BX, KP_OUT(KP_BX)
	mov	%_ASM_SP, KP_OUT(KP_SP)
	mov	%_ASM_BP, KP_OUT(KP_BP)
	mov	%_ASM_SI, KP_OUT(KP_SI)
	mov	%_ASM_DI, KP_OUT(KP_DI)
#ifdef CONFIG_X86_64
.irp i, 8, 9, 10, 11, 12, 13, 14, 15
	mov	%r\i, KP_OUT(\i)
.endr
#endif
	pushf
	pop	KP_OUT(KP_FLAGS)
#ifndef CONFIG_X86_64
	/* These moves leave the upper halves of the words alone, which are zero. */
	mov	%ds, KP_OUT(KP_DS)
	mov	%es, KP_OUT(KP_ES)
	mov	%fs, KP_OUT(KP_FS)
	mov	%gs, KP_OUT(KP_GS)
	mov	$__USER_DS, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	kp_insn_gs, %gs
#endif

	/* From below the area, where no interrupt writes into it. */
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

/* Vector registers of which 32-bit mode has 8, 64-bit mode 16, and with AVX-512 32 */
.macro LOAD_VECTORS insn:req, reg:req, numbers:vararg
.irp i, \numbers
	\insn	64 * \i(%_ASM_ARG1), %\reg\i
.endr
.endm

.macro SAVE_VECTORS insn:req, reg:req, numbers:vararg
.irp i, \numbers
	\insn	%\reg\i, 64 * \i(%_ASM_ARG1)
.endr
.endm

#define KP_FIRST_VECTORS	0, 1, 2, 3, 4, 5, 6, 7
#define KP_MORE_VECTORS		8, 9, 10, 11, 12, 13, 14, 15
#define KP_AVX512_VECTORS	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31

/* void kp_insn_load_*(const struct kp_vector *), void kp_insn_save_*(struct kp_vector *) */
.macro VECTOR_FUNCTIONS set:req, insn:req, reg:req
SYM_FUNC_START(kp_insn_load_\set)
	LOAD_VECTORS \insn, \reg, KP_FIRST_VECTORS
#ifdef CONFIG_X86_64
	LOAD_VECTORS \insn, \reg, KP_MORE_VECTORS
.ifc \reg, zmm
	LOAD_VECTORS \insn, \reg, KP_AVX512_VECTORS
.endif
#endif
	RET
SYM_FUNC_END(kp_insn_load_\set)

SYM_FUNC_START(kp_insn_save_\set)
	SAVE_VECTORS \insn, \reg, KP_FIRST_VECTORS
#ifdef CONFIG_X86_64
	SAVE_VECTORS \insn, \reg, KP_MORE_VECTORS
.ifc \reg, zmm
	SAVE_VECTORS \insn, \reg, KP_AVX512_VECTORS
.endif
#endif
	RET
SYM_FUNC_END(kp_insn_save_\set)
.endm

VECTOR_FUNCTIONS sse, movups, xmm
VECTOR_FUNCTIONS avx, vmovups, ymm
VECTOR_FUNCTIONS avx512, vmovups, zmm

	.data
	.balign	64
SYM_DATA_START(kp_insn_mem)
	.skip	KP_MEM
SYM_DATA_END(kp_insn_mem)
SYM_DATA_START(kp_insn_stack)
	.skip	KP_STACK
SYM_DATA_END(kp_insn_stack)
SYM_DATA_START(kp_insn_in)
	.skip	KP_REGS * __SIZEOF_LONG__
SYM_DATA_END(kp_insn_in)
SYM_DATA_START(kp_insn_out)
	.skip	KP_REGS * __SIZEOF_LONG__
SYM_DATA_END(kp_insn_out)
SYM_DATA_LOCAL(kp_insn_sp, _ASM_PTR 0)
SYM_DATA_LOCAL(kp_insn_area, _ASM_PTR 0)
SYM_DATA_LOCAL(kp_insn_start, _ASM_PTR 0)
#ifndef CONFIG_X86_64
SYM_DATA_LOCAL(kp_insn_gs, .long 0)
#endif
