/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Handlers redirect execution to these functions, with a stack pointer of their own. The functions
 * drop the words on top of the stack, and return one more than the argument. If the handler can
 * push all of the words, the function checks the first and the last one, and returns 0 if one of
 * them has changed.
 */

#include "kp_functions.S"
#include "kp_ret_stacks.h"
#ifdef CONFIG_X86_64
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>
#endif

	.text

.macro DROP words:req
	.balign	16
	SYM_CODE_START(kp_rs_drop_\words)
#ifdef CONFIG_X86_64
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=8*\words+8 type=UNWIND_HINT_TYPE_CALL
	ANNOTATE_NOENDBR
	.if \words && \words <= KP_GAP
	cmpl	$(KP_RS_WORD + \words - 1), (%rsp)
	jne	.Lwrong_\words
	cmpl	$KP_RS_WORD, 8*\words-8(%rsp)
	jne	.Lwrong_\words
	.endif
	lea	8*\words(%rsp), %rsp
	UNWIND_HINT_FUNC
	lea	1(%rdi), %rax
	RET
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=8*\words+8 type=UNWIND_HINT_TYPE_CALL
.Lwrong_\words:
	lea	8*\words(%rsp), %rsp
	UNWIND_HINT_FUNC
	xorl	%eax, %eax
#else
	.if \words && \words <= KP_GAP
	cmpl	$(KP_RS_WORD + \words - 1), (%esp)
	jne	.Lwrong_\words
	cmpl	$KP_RS_WORD, 4*\words-4(%esp)
	jne	.Lwrong_\words
	.endif
	lea	4*\words(%esp), %esp
	lea	1(%eax), %eax
	RET
.Lwrong_\words:
	lea	4*\words(%esp), %esp
	xorl	%eax, %eax
#endif
	RET
	SYM_CODE_END(kp_rs_drop_\words)
.endm

DROP 0
DROP 1
DROP 2
DROP 5
DROP 6
DROP 7
DROP 16
DROP 28
DROP 60
DROP 200

#ifdef CONFIG_X86_64

/*
 * After the return, the stack pointer is a multiple of 16. So the CPU pushes the frame of an
 * interrupt there without a gap, over the stack slot of the return address.
 */
SYM_FUNC_START(kp_rs_probed_aligned)
	pushq	%rbp
	movq	%rsp, %rbp
	andq	$-16, %rsp
	call	kp_rs_probed_interrupted
	leave
	RET
SYM_FUNC_END(kp_rs_probed_aligned)

/*
 * sti delays interrupts until after the next instruction:
 * that must be the ret itself, not a jump to a return thunk.
 */
SYM_FUNC_START(kp_rs_probed_interrupted)
	KP_FTRACE_CALL
	call	kp_rs_raise
	sti
	ANNOTATE_UNRET_SAFE
	ret
	int3
SYM_FUNC_END(kp_rs_probed_interrupted)

#endif
