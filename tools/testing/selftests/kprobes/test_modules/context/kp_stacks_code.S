/* SPDX-License-Identifier: GPL-2.0 */
/* Functions in which stack traces are taken at any instruction */

#include "kp_functions.S"

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

KP_OFFSETS kp_stacks_probed .Lpush_rbp, .Lmov_rbp, .Lpush_rbx, .Lsub_rsp, .Lmov_rbx, .Lload, \
	.Lstore, .Lcall, .Lnop, .Lload_stack, .Ladd_rsp, .Lpop_rbx, .Lpop_rbp, .Lret, .Lend
KP_OFFSETS kp_stacks_fill .Lfill, .Lfill_end
