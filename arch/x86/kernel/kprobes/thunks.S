/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes on x86: what slots call.
 *
 * A slot calls a thunk with nothing saved, from the middle of whatever is
 * probed, on its stack. The thunk saves all registers as a trap would, so that
 * handlers and unwinders see a struct pt_regs, and calls C. The word that the
 * call pushed is popped by the return, which keeps the processor's return
 * predictor in step.
 *
 * The stack, from the top down: the pushed word, ss, sp, flags, and the rest
 * of struct pt_regs, with the pushed word once more as orig_ax.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>
#include "../../entry/calling.h"

	.text

#ifdef CONFIG_X86_64

/*
 * kprobe_post_thunk - the instruction has been run, call the post_handlers
 */
SYM_CODE_START(kprobe_post_thunk)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	pushq	$__KERNEL_DS		/* ss */
	leaq	-8(%rsp), %rsp
	pushfq				/* flags */
	cld
	ASM_CLAC
	pushq	$__KERNEL_CS		/* cs */
	pushq	$0			/* ip, filled in by C */
	pushq	40(%rsp)		/* orig_ax: the pushed word */
	PUSH_REGS

	/* The stack pointer before the call that got us here. */
	leaq	FRAME_SIZE+8(%rsp), %rax
	movq	%rax, RSP(%rsp)
	movq	%rsp, %rdi
	call	kprobe_slot_post

	/* Where to go on takes the place of the word that the call pushed. */
	movq	ORIG_RAX(%rsp), %rax
	movq	%rax, FRAME_SIZE(%rsp)
	POP_REGS
	leaq	24(%rsp), %rsp		/* orig_ax, ip, cs */
	popfq
	leaq	16(%rsp), %rsp		/* sp, ss */
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(kprobe_post_thunk)
_ASM_NOKPROBE(kprobe_post_thunk)

#endif /* CONFIG_X86_64 */
