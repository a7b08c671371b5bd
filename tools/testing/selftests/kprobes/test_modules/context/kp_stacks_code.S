/* SPDX-License-Identifier: GPL-2.0 */
/* Functions to take stack traces at any of their instructions */

#include "kp_asm.h"
#include "kp_stacks.h"

	.text

SYM_FUNC_START(kp_stacks_probed)
.Lpush_rbp:
	push	%_ASM_BP
.Lmov_rbp:
	mov	%_ASM_SP, %_ASM_BP
.Lpush_rbx:
	push	%_ASM_BX
.Lsub_rsp:
	sub	$16, %_ASM_SP
.Lmov_rbx:
	mov	%_ASM_ARG1, %_ASM_BX
.Lload:
	mov	(%_ASM_BX), %_ASM_AX
.Lstore:
	mov	%_ASM_AX, 8(%_ASM_SP)
.Lcall:
	call	kp_stacks_callee
.Lnop:
	nop
.Lload_stack:
	mov	8(%_ASM_SP), %_ASM_AX
.Ladd_rsp:
	add	$16, %_ASM_SP
.Lpop_rbx:
	pop	%_ASM_BX
.Lpop_rbp:
	pop	%_ASM_BP
.Lret:
	RET
.Lfault:
	mov	$-EFAULT, %_ASM_AX
	jmp	.Ladd_rsp
.Lend:
SYM_FUNC_END(kp_stacks_probed)
_ASM_EXTABLE(.Lload, .Lfault)

SYM_FUNC_START(kp_stacks_fill)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	push	%_ASM_DI
	mov	%_ASM_ARG2, %_ASM_CX
#ifdef CONFIG_X86_32
	mov	%_ASM_ARG1, %_ASM_DI
#endif
	xor	%eax, %eax
.Lfill:
	rep stosb
	pop	%_ASM_DI
	pop	%_ASM_BP
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
