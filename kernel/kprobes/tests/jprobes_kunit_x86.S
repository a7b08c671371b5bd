/* SPDX-License-Identifier: GPL-2.0 */
/* Functions for jprobes_kunit with known first instructions and stacks */

#include "jprobes_kunit.h"
#include "kp_asm.h"

#define KP_WORD		__SIZEOF_LONG__
#define KP_IN(reg)	_ASM_RIP(kp_jp_in + (reg) * KP_WORD)
#define KP_OUT(reg)	_ASM_RIP(kp_jp_out + (reg) * KP_WORD)
#define KP_LOAD(reg)	mov KP_IN(KP_JP_##reg), %_ASM_##reg;
#define KP_STORE(reg)	mov %_ASM_##reg, KP_OUT(KP_JP_##reg);

	.text

.macro kp_room
	.rept	8
	nop
	.endr
.endm

SYM_FUNC_START(kp_jp_plain)
	test	%_ASM_SP, %_ASM_SP
	kp_room
	jmp	kp_jp_body
SYM_FUNC_END(kp_jp_plain)

SYM_FUNC_START(kp_jp_emulated)
	jmp	1f
	kp_room
1:	jmp	kp_jp_body
SYM_FUNC_END(kp_jp_emulated)

SYM_FUNC_START(kp_jp_short)
	test	%_ASM_SP, %_ASM_SP
	kp_room
	lea	1(%_ASM_ARG1), %_ASM_AX
	RET
SYM_FUNC_END(kp_jp_short)

SYM_FUNC_START(kp_jp_short_emulated)
	jmp	1f
	kp_room
1:	lea	1(%_ASM_ARG1), %_ASM_AX
	RET
SYM_FUNC_END(kp_jp_short_emulated)

SYM_FUNC_START(kp_jp_regs_target)
	mov	%_ASM_AX, %_ASM_AX	/* keeps the flags */
	kp_room
	KP_STORE(AX) KP_STORE(BX) KP_STORE(CX) KP_STORE(DX)
	KP_STORE(SI) KP_STORE(DI) KP_STORE(BP) KP_STORE(SP)
#ifdef CONFIG_X86_64
	.irp	nr, 8, 9, 10, 11, 12, 13, 14, 15
	mov	%r\nr, KP_OUT(KP_JP_R8 + \nr - 8)
	.endr
#endif
	pushf
	pop	KP_OUT(KP_JP_FLAGS)
	RET
SYM_FUNC_END(kp_jp_regs_target)
STACK_FRAME_NON_STANDARD kp_jp_regs_target

SYM_FUNC_START(kp_jp_regs)
	push	%_ASM_BX
#ifdef CONFIG_X86_64
	push	%r12
	push	%r13
	push	%r14
	push	%r15
#else
	push	%esi
	push	%edi
#endif
	/* Store bp instead of loading it: an interrupt may unwind the stack at any time. */
	mov	%_ASM_BP, KP_IN(KP_JP_BP)
	lea	-KP_WORD(%_ASM_SP), %_ASM_AX
	mov	%_ASM_AX, KP_IN(KP_JP_SP)
	push	KP_IN(KP_JP_FLAGS)
	popf
	KP_LOAD(AX) KP_LOAD(BX) KP_LOAD(CX) KP_LOAD(DX) KP_LOAD(SI) KP_LOAD(DI)
#ifdef CONFIG_X86_64
	.irp	nr, 8, 9, 10, 11, 12, 13, 14, 15
	mov	KP_IN(KP_JP_R8 + \nr - 8), %r\nr
	.endr
#endif
	call	kp_jp_regs_target
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
	RET
SYM_FUNC_END(kp_jp_regs)
STACK_FRAME_NON_STANDARD kp_jp_regs

/*
 * long kp_jp_call_plain_at(const long *args, void *sp)
 *
 * Calls kp_jp_plain() with the first stack argument at @sp.
 */
SYM_FUNC_START(kp_jp_call_plain_at)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	push	%_ASM_BX
#ifdef CONFIG_X86_64
	mov	%rdi, %rbx
	mov	%rsi, %rax
#else
	mov	%eax, %ebx
	mov	%edx, %eax
#endif
	lea	(KP_JP_ARGS - KP_JP_REG_ARGS) * KP_WORD(%_ASM_AX), %_ASM_SP
	mov	$KP_JP_ARGS, %ecx
1:	push	-KP_WORD(%_ASM_BX, %_ASM_CX, KP_WORD)
	dec	%ecx
	cmp	$KP_JP_REG_ARGS, %ecx
	jne	1b
#ifdef CONFIG_X86_64
	mov	0 * KP_WORD(%rbx), %rdi
	mov	1 * KP_WORD(%rbx), %rsi
	mov	2 * KP_WORD(%rbx), %rdx
	mov	3 * KP_WORD(%rbx), %rcx
	mov	4 * KP_WORD(%rbx), %r8
	mov	5 * KP_WORD(%rbx), %r9
#else
	mov	0 * KP_WORD(%ebx), %eax
	mov	1 * KP_WORD(%ebx), %edx
	mov	2 * KP_WORD(%ebx), %ecx
#endif
	call	kp_jp_plain
	lea	-KP_WORD(%_ASM_BP), %_ASM_SP
	pop	%_ASM_BX
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kp_jp_call_plain_at)
STACK_FRAME_NON_STANDARD kp_jp_call_plain_at

/*
 * long kp_jp_call_short_at(long arg, void *sp)
 *
 * Calls kp_jp_short() with the return address right below @sp.
 */
SYM_FUNC_START(kp_jp_call_short_at)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	mov	%_ASM_ARG2, %_ASM_SP
	call	kp_jp_short
	mov	%_ASM_BP, %_ASM_SP
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kp_jp_call_short_at)
STACK_FRAME_NON_STANDARD kp_jp_call_short_at

	.data
	.balign	KP_WORD
SYM_DATA(kp_jp_in, .fill KP_JP_NR, KP_WORD, 0)
SYM_DATA(kp_jp_out, .fill KP_JP_NR, KP_WORD, 0)
