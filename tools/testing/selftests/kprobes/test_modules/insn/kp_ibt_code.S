/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that are called by pointers, or have indirect branches */

#include "kp_functions.S"

	.text
	.balign	16
SYM_FUNC_START(kp_ibt_entry)
	lea	1(%rdi), %rax
	.rept	4
	nop
	.endr
	RET
SYM_FUNC_END(kp_ibt_entry)

	.balign	16
SYM_START(kp_ibt_bare, SYM_L_GLOBAL, SYM_A_NONE)
	ANNOTATE_NOENDBR
	lea	100(%rdi), %rax
	RET
SYM_FUNC_END(kp_ibt_bare)

	.balign	16
SYM_FUNC_START(kp_ibt_calls)
	lea	kp_ibt_entry(%rip), %rdx
.Lcall:
	ANNOTATE_RETPOLINE_SAFE
	call	*%rdx
	.rept	4
	nop
	.endr
	RET
SYM_FUNC_END(kp_ibt_calls)
STACK_FRAME_NON_STANDARD kp_ibt_calls

/*
 * With an odd argument, an indirect jump leads to the endbr;
 * with an even one, execution gets there from the nop before it.
 */
	.balign	16
SYM_FUNC_START(kp_ibt_switch)
.Lplain:
	mov	$0x12345678, %eax
	lea	.Ltarget(%rip), %rdx
	test	$1, %edi
	jz	1f
.Ljump:
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rdx
	.rept	4
	int3
	.endr
1:	xor	%eax, %eax
.Lnop:
	nop
.Ltarget:
	ENDBR
.Lafter:
	lea	1(%rdi), %rax
	.rept	4
	nop
	.endr
	RET
SYM_FUNC_END(kp_ibt_switch)
STACK_FRAME_NON_STANDARD kp_ibt_switch

KP_OFFSETS kp_ibt_calls .Lcall
KP_OFFSETS kp_ibt_switch .Lplain, .Ljump, .Lnop, .Ltarget, .Lafter
