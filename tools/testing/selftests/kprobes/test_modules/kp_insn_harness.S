/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs a case of the instruction matrix: loads what it starts with, jumps there,
 * and saves what it ends with.
 *
 * The case's stack pointer stays on the task's stack, for interrupts and for the
 * probe itself use it. Below that pointer nothing is safe, above it everything is
 * the case's business up to the end of the copy of kp_insn_stack.
 */

#include "kp_insn_macros.S"

	.text

/* void kp_insn_run(const void *start) */
SYM_FUNC_START(kp_insn_run)
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	pushfq
	mov	%rsp, kp_insn_rsp(%rip)
	mov	%rdi, kp_insn_start(%rip)

	/* A fixed place on the stack, the same for every run of the same caller. */
	sub	$(KP_STACK + 64), %rsp
	and	$~63, %rsp
	mov	%rsp, kp_insn_area(%rip)
	mov	%rsp, %rdi
	lea	kp_insn_stack(%rip), %rsi
	mov	$(KP_STACK / 8), %ecx
	cld
	rep movsq
	add	$KP_STACK_TOP, %rsp
	mov	%rsp, KP_RSP * 8 + kp_insn_in(%rip)

	mov	KP_RAX * 8 + kp_insn_in(%rip), %rax
	mov	KP_RCX * 8 + kp_insn_in(%rip), %rcx
	mov	KP_RDX * 8 + kp_insn_in(%rip), %rdx
	mov	KP_RBX * 8 + kp_insn_in(%rip), %rbx
	mov	KP_RBP * 8 + kp_insn_in(%rip), %rbp
	mov	KP_RSI * 8 + kp_insn_in(%rip), %rsi
	mov	KP_RDI * 8 + kp_insn_in(%rip), %rdi
	mov	8 * 8 + kp_insn_in(%rip), %r8
	mov	9 * 8 + kp_insn_in(%rip), %r9
	mov	10 * 8 + kp_insn_in(%rip), %r10
	mov	11 * 8 + kp_insn_in(%rip), %r11
	mov	12 * 8 + kp_insn_in(%rip), %r12
	mov	13 * 8 + kp_insn_in(%rip), %r13
	mov	14 * 8 + kp_insn_in(%rip), %r14
	mov	15 * 8 + kp_insn_in(%rip), %r15
	push	KP_FLAGS * 8 + kp_insn_in(%rip)
	popfq
	ANNOTATE_RETPOLINE_SAFE
	jmp	*kp_insn_start(%rip)
	int3
SYM_FUNC_END(kp_insn_run)
STACK_FRAME_NON_STANDARD kp_insn_run

/* Where every case jumps to; continues, and returns, as kp_insn_run(). */
SYM_FUNC_START(kp_insn_done)
	mov	%rax, KP_RAX * 8 + kp_insn_out(%rip)
	mov	%rcx, KP_RCX * 8 + kp_insn_out(%rip)
	mov	%rdx, KP_RDX * 8 + kp_insn_out(%rip)
	mov	%rbx, KP_RBX * 8 + kp_insn_out(%rip)
	mov	%rsp, KP_RSP * 8 + kp_insn_out(%rip)
	mov	%rbp, KP_RBP * 8 + kp_insn_out(%rip)
	mov	%rsi, KP_RSI * 8 + kp_insn_out(%rip)
	mov	%rdi, KP_RDI * 8 + kp_insn_out(%rip)
	mov	%r8, 8 * 8 + kp_insn_out(%rip)
	mov	%r9, 9 * 8 + kp_insn_out(%rip)
	mov	%r10, 10 * 8 + kp_insn_out(%rip)
	mov	%r11, 11 * 8 + kp_insn_out(%rip)
	mov	%r12, 12 * 8 + kp_insn_out(%rip)
	mov	%r13, 13 * 8 + kp_insn_out(%rip)
	mov	%r14, 14 * 8 + kp_insn_out(%rip)
	mov	%r15, 15 * 8 + kp_insn_out(%rip)
	pushfq
	pop	KP_FLAGS * 8 + kp_insn_out(%rip)

	/* From below the area, where no interrupt writes into it. */
	mov	kp_insn_area(%rip), %rsi
	mov	%rsi, %rsp
	lea	kp_insn_stack(%rip), %rdi
	mov	$(KP_STACK / 8), %ecx
	cld
	rep movsq

	mov	kp_insn_rsp(%rip), %rsp
	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	RET
SYM_FUNC_END(kp_insn_done)
STACK_FRAME_NON_STANDARD kp_insn_done

/* void kp_insn_load_*(const struct kp_vector *), void kp_insn_save_*(struct kp_vector *) */
SYM_FUNC_START(kp_insn_load_sse)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	64 * \i(%rdi), %xmm\i
.endr
	RET
SYM_FUNC_END(kp_insn_load_sse)

SYM_FUNC_START(kp_insn_save_sse)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movups	%xmm\i, 64 * \i(%rdi)
.endr
	RET
SYM_FUNC_END(kp_insn_save_sse)

SYM_FUNC_START(kp_insn_load_avx)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	64 * \i(%rdi), %ymm\i
.endr
	RET
SYM_FUNC_END(kp_insn_load_avx)

SYM_FUNC_START(kp_insn_save_avx)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	%ymm\i, 64 * \i(%rdi)
.endr
	RET
SYM_FUNC_END(kp_insn_save_avx)

SYM_FUNC_START(kp_insn_load_avx512)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	64 * \i(%rdi), %zmm\i
.endr
.irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovups	64 * \i(%rdi), %zmm\i
.endr
	RET
SYM_FUNC_END(kp_insn_load_avx512)

SYM_FUNC_START(kp_insn_save_avx512)
.irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	vmovups	%zmm\i, 64 * \i(%rdi)
.endr
.irp i, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	vmovups	%zmm\i, 64 * \i(%rdi)
.endr
	RET
SYM_FUNC_END(kp_insn_save_avx512)

	.data
	.balign	64
SYM_DATA_START(kp_insn_mem)
	.skip	KP_MEM
SYM_DATA_END(kp_insn_mem)
SYM_DATA_START(kp_insn_stack)
	.skip	KP_STACK
SYM_DATA_END(kp_insn_stack)
SYM_DATA_START(kp_insn_in)
	.skip	KP_REGS * 8
SYM_DATA_END(kp_insn_in)
SYM_DATA_START(kp_insn_out)
	.skip	KP_REGS * 8
SYM_DATA_END(kp_insn_out)
SYM_DATA_LOCAL(kp_insn_rsp, .quad 0)
SYM_DATA_LOCAL(kp_insn_area, .quad 0)
SYM_DATA_LOCAL(kp_insn_start, .quad 0)
