/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes on x86: what slots and detours call.
 *
 * A thunk is called with nothing saved, from the middle of whatever is probed,
 * on its stack. It saves all registers as a trap would, so that handlers and
 * unwinders see a struct pt_regs, and calls C. The word that the call pushed
 * is popped by the return, which keeps the processor's return predictor in
 * step.
 *
 * The stack, from the top down: the pushed word; a gap, so that a handler may
 * push what a call would, as it may where a breakpoint was hit; and a struct
 * pt_regs.
 *
 * C is given the registers and the pushed word. To go on elsewhere it stores
 * there where that is. If that is not enough, because the stack pointer has
 * been changed, it returns true, and all registers are taken as they are.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>
#include "../../entry/calling.h"
#include "common.h"

	.text

#ifdef CONFIG_X86_64

.macro KPROBE_THUNK name:req handler:req
SYM_CODE_START(\name)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	leaq	-KPROBE_THUNK_GAP(%rsp), %rsp
	pushq	$__KERNEL_DS		/* ss */
	pushq	%rsp			/* sp, corrected below */
	pushfq				/* flags */
	addq	$(16 + KPROBE_THUNK_GAP), 8(%rsp)
	cld
	ASM_CLAC
	pushq	$__KERNEL_CS		/* cs */
	pushq	$0			/* ip, filled in by C */
	pushq	$-1			/* orig_ax, as a breakpoint has it */
	PUSH_REGS

	movq	%rsp, %rdi
	ENCODE_FRAME_POINTER
	movq	FRAME_SIZE+KPROBE_THUNK_GAP(%rsp), %rsi
	call	\handler
	testb	%al, %al
	jnz	kprobe_thunk_iret

	POP_REGS
	leaq	24(%rsp), %rsp		/* orig_ax, ip, cs */
	popfq
	leaq	16+KPROBE_THUNK_GAP(%rsp), %rsp
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(\name)
_ASM_NOKPROBE(\name)
.endm

/* kprobe_detour_thunk - a probe has been hit, call the pre_handlers */
KPROBE_THUNK kprobe_detour_thunk kprobe_detour_hit

/* kprobe_post_thunk - the instruction has been run, call the post_handlers */
KPROBE_THUNK kprobe_post_thunk kprobe_slot_post

/* Leave as from a breakpoint, with every register as it is in struct pt_regs. */
SYM_CODE_START_LOCAL(kprobe_thunk_iret)
	UNWIND_HINT_REGS
	movl	%cs, %eax		/* Xen has others */
	movq	%rax, CS(%rsp)
	movl	%ss, %eax
	movq	%rax, SS(%rsp)
	POP_REGS
	leaq	8(%rsp), %rsp		/* orig_ax */
	UNWIND_HINT_IRET_REGS
	iretq
SYM_CODE_END(kprobe_thunk_iret)
_ASM_NOKPROBE(kprobe_thunk_iret)

#ifdef CONFIG_KRETPROBES

/*
 * __kretprobe_trampoline - a return-probed function has returned
 *
 * The return took one entry off the processor's return predictor, and the one
 * at the end takes another; the call puts one there. The word that it pushes
 * has the place of the return address that was replaced. Whoever unwinds the
 * stack by it finds the real one; and it is where C puts that.
 */
SYM_CODE_START(__kretprobe_trampoline)
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	ANNOTATE_INTRA_FUNCTION_CALL
	call	1f
SYM_INNER_LABEL(kretprobe_trampoline_return, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	int3
1:
	UNWIND_HINT_FUNC
	pushq	$__KERNEL_DS		/* ss */
	pushq	%rsp			/* sp, corrected below */
	pushfq				/* flags; what returns has DF and AC clear */
	addq	$16, 8(%rsp)
	pushq	$__KERNEL_CS		/* cs */
	pushq	$__kretprobe_trampoline	/* ip, the real one is put in by C */
	pushq	$-1			/* orig_ax */
	PUSH_REGS
	movq	%rsp, %rdi
	ENCODE_FRAME_POINTER
	call	kretprobe_return

	POP_REGS
	leaq	24(%rsp), %rsp		/* orig_ax, ip, cs */
	popfq
	leaq	16(%rsp), %rsp		/* sp, ss */
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

#endif /* CONFIG_KRETPROBES */

#endif /* CONFIG_X86_64 */
