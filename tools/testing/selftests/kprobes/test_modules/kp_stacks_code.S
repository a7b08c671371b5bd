/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions whose stack is looked at from handlers: at each of their instructions it
 * is another one.
 */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <asm/asm.h>
#include "kp_stacks.h"

	.text

SYM_FUNC_START(kp_stacks_probed)
.Lpush_rbp:
	push	%rbp
.Lmov_rbp:
	mov	%rsp, %rbp
.Lpush_rbx:
	push	%rbx
.Lsub_rsp:
	sub	$16, %rsp
.Lmov_rbx:
	mov	%rdi, %rbx
.Lload:
	mov	(%rbx), %rax
.Lstore:
	mov	%rax, 8(%rsp)
.Lcall:
	call	kp_stacks_callee
.Lnop:
	nop
.Lload_stack:
	mov	8(%rsp), %rax
.Ladd_rsp:
	add	$16, %rsp
.Lpop_rbx:
	pop	%rbx
.Lpop_rbp:
	pop	%rbp
.Lret:
	RET
.Lfault:
	mov	$-EFAULT, %rax
	jmp	.Ladd_rsp
.Lend:
SYM_FUNC_END(kp_stacks_probed)
_ASM_EXTABLE(.Lload, .Lfault)

SYM_FUNC_START(kp_stacks_fill)
	push	%rbp
	mov	%rsp, %rbp
	mov	%rsi, %rcx
	xor	%eax, %eax
.Lfill:
	rep stosb
	pop	%rbp
	RET
.Lfill_end:
SYM_FUNC_END(kp_stacks_fill)

	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kp_stacks_insn)
.irp insn, push_rbp, mov_rbp, push_rbx, sub_rsp, mov_rbx, load, store, call, nop, load_stack, \
	add_rsp, pop_rbx, pop_rbp, ret, end
	.long	.L\insn - kp_stacks_probed
.endr
SYM_DATA_END(kp_stacks_insn)
SYM_DATA_START(kp_stacks_fill_insn)
	.long	.Lfill - kp_stacks_fill
	.long	.Lfill_end - kp_stacks_fill
SYM_DATA_END(kp_stacks_fill_insn)
