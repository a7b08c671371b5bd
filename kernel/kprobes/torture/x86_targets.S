/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kprobe_torture on x86: targets in assembly. They are probed at every instruction that
 * register_kprobe() accepts.
 */

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>

/* The address where user_sleeper.c of the selftests maps memory */
#define TORTURE_USER_ADDRESS	0x20000000

#ifdef CONFIG_X86_64
#define _ASM_SEED	_ASM_DI
#else
#define _ASM_SEED	_ASM_AX
#endif

	.text

/* Mix a register into the result, which is in ax. */
.macro MIX reg:req
	rol	$7, %_ASM_AX
	xor	\reg, %_ASM_AX
.endm

SYM_FUNC_START_LOCAL(torture_x86_leaf)
	lea	5(%_ASM_BX, %_ASM_CX, 2), %_ASM_BX
	RET
SYM_FUNC_END(torture_x86_leaf)

/*
 * unsigned long torture_x86_registers(unsigned long seed)
 *
 * Fills all general registers except the stack pointer and, with CONFIG_FRAME_POINTER, bp. Then
 * executes instructions of many kinds, and returns a hash of these registers and of the
 * arithmetic flags.
 */
SYM_FUNC_START(torture_x86_registers)
	push	%_ASM_BP
#ifdef CONFIG_FRAME_POINTER
	mov	%_ASM_SP, %_ASM_BP	/* for unwinders */
#endif
	push	%_ASM_BX
	push	%_ASM_SI
	push	%_ASM_DI
#ifdef CONFIG_X86_64
	push	%r12
	push	%r13
	push	%r14
	push	%r15
#endif
	mov	%_ASM_SEED, %_ASM_AX
	lea	1(%_ASM_AX), %_ASM_BX
	lea	3(%_ASM_BX), %_ASM_CX
	lea	5(%_ASM_AX, %_ASM_AX), %_ASM_DX
	lea	7(%_ASM_BX, %_ASM_AX), %_ASM_SI
	lea	11(%_ASM_CX, %_ASM_BX), %_ASM_DI
#ifndef CONFIG_FRAME_POINTER
	lea	13(%_ASM_DX, %_ASM_SI, 4), %_ASM_BP
#endif
#ifdef CONFIG_X86_64
	lea	17(%rax), %r8
	lea	19(%rbx), %r9
	lea	23(%rcx), %r10
	lea	29(%rdx), %r11
	lea	31(%rsi), %r12
	lea	37(%rdi), %r13
	lea	41(%rdi), %r14
	lea	43(%r8), %r15
#endif
	/* Most of these read flags that instructions before them have written. */
	add	%_ASM_BX, %_ASM_AX
	adc	$0x123, %_ASM_CX
	sbb	%_ASM_SI, %_ASM_DX
	rcl	$1, %_ASM_DI
	sbb	%_ASM_DI, %_ASM_BX
	setc	%bl
	cmovs	%_ASM_SI, %_ASM_DX
	lahf
	pushf
	pop	%_ASM_SI
	push	%_ASM_SI
	popf
	jc	1f
	xchg	%_ASM_AX, %_ASM_BX
	nop
1:	jo	2f
	inc	%_ASM_CX
2:	test	$1, %al
	jz	3f
	not	%_ASM_DX
3:	and	$0x8d5, %_ASM_SI	/* the arithmetic flags */
	add	%_ASM_SI, %_ASM_DI
	push	%_ASM_CX
	mov	$3, %ecx
4:	rol	$3, %_ASM_DI
	loop	4b
	pop	%_ASM_CX
	call	torture_x86_leaf
	add	_ASM_RIP(.Ltorture_x86_data), %_ASM_AX
	push	$0x1234567
	add	(%_ASM_SP), %_ASM_CX
	pop	%_ASM_DX
	sub	$32, %_ASM_SP
	mov	%_ASM_BX, (%_ASM_SP)
	mov	%_ASM_CX, 16(%_ASM_SP)
	push	%_ASM_DI
	push	%_ASM_CX
	lea	2 * __ASM_SEL(4, 8)(%_ASM_SP), %_ASM_DI
	mov	$16, %ecx
	mov	$0x5a, %al
	rep stosb
	pop	%_ASM_CX
	pop	%_ASM_DI
	add	(%_ASM_SP), %_ASM_DX
	xor	16(%_ASM_SP), %_ASM_DX
	add	$32, %_ASM_SP
	jmp	5f
	int3
5:	bswap	%ecx
	movzbl	%dl, %esi
	imul	$77, %_ASM_BX, %_ASM_BX
	cmp	%_ASM_BX, %_ASM_CX
	pushf
	MIX	%_ASM_BX
	MIX	%_ASM_CX
	MIX	%_ASM_DX
	MIX	%_ASM_SI
	MIX	%_ASM_DI
#ifndef CONFIG_FRAME_POINTER
	MIX	%_ASM_BP
#endif
#ifdef CONFIG_X86_64
	MIX	%r8
	MIX	%r9
	MIX	%r10
	MIX	%r11
	MIX	%r12
	MIX	%r13
	MIX	%r14
	MIX	%r15
#endif
	pop	%_ASM_BX
	and	$0x8d5, %_ASM_BX
	add	%_ASM_BX, %_ASM_AX
#ifdef CONFIG_X86_64
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
#endif
	pop	%_ASM_DI
	pop	%_ASM_SI
	pop	%_ASM_BX
	pop	%_ASM_BP
.Ltorture_x86_registers_end:
	RET
SYM_FUNC_END(torture_x86_registers)

/*
 * unsigned long torture_x86_fault(unsigned long seed)
 *
 * Reads unmapped memory. By the exception table, execution resumes at 7.
 */
SYM_FUNC_START(torture_x86_fault)
	lea	1(%_ASM_SEED), %_ASM_AX
	mov	$-4016, %_ASM_CX	/* an error pointer's value: nothing is mapped there */
6:	mov	(%_ASM_CX), %_ASM_AX
	xor	%eax, %eax
	nop
7:	add	%_ASM_CX, %_ASM_AX
	_ASM_EXTABLE(6b, 7b)
	xor	$0x55, %al
.Ltorture_x86_fault_end:
	RET
SYM_FUNC_END(torture_x86_fault)

/*
 * unsigned long torture_x86_load(unsigned long seed)
 *
 * Reads a word of user memory, and may sleep in the page fault. The result does not depend on the
 * word, nor on whether there is memory at the address.
 */
SYM_FUNC_START(torture_x86_load)
	lea	1(%_ASM_SEED), %_ASM_DX
	mov	$TORTURE_USER_ADDRESS, %ecx
	ASM_STAC
	nop
8:	mov	(%_ASM_CX), %_ASM_AX
	add	%_ASM_CX, %_ASM_AX
	nop
	nop
9:	ASM_CLAC
	_ASM_EXTABLE_UA(8b, 9b)
	lea	3(%_ASM_DX, %_ASM_CX), %_ASM_AX
	xor	$0x55, %al
.Ltorture_x86_load_end:
	RET
SYM_FUNC_END(torture_x86_load)

	.section .rodata, "a"
	.balign	8
.Ltorture_x86_data:
	.quad	0x0123456789abcdef
SYM_DATA(torture_x86_registers_size,
	 .long	.Ltorture_x86_registers_end - torture_x86_registers)
SYM_DATA(torture_x86_fault_size,
	 .long	.Ltorture_x86_fault_end - torture_x86_fault)
SYM_DATA(torture_x86_load_size,
	 .long	.Ltorture_x86_load_end - torture_x86_load)
