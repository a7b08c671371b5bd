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
 * To go on elsewhere C stores in the pushed word where that is. If that is not
 * enough, because the stack pointer has been changed, it returns true, and all
 * registers are taken as they are.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/unwind_hints.h>
#include "../../entry/calling.h"
#include "common.h"

	.text

#ifdef CONFIG_X86_64

/* To be unwound by a word on the stack, which ends so far from the top of it. */
.macro KPROBE_HINT_WORD offset:req
	UNWIND_HINT sp_reg=ORC_REG_SP sp_offset=\offset type=UNWIND_HINT_TYPE_CALL
.endm

/* Save the registers on top of the word that the call pushed. */
.macro KPROBE_THUNK_ENTER
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
	pushq	$0			/* ip, to be filled in */
	pushq	$-1			/* orig_ax, as a breakpoint has it */
	/* To be unwound by the pushed word, until there is an ip. */
	PUSH_REGS unwind_hint=0
.endm

/* There is an ip now. */
.macro KPROBE_THUNK_ENTERED
	UNWIND_HINT_REGS
	ENCODE_FRAME_POINTER
.endm

/* Restore them, and go on where that word says. */
.macro KPROBE_THUNK_LEAVE
	/* And by it again: an interrupt overwrites what has been popped. */
	KPROBE_HINT_WORD FRAME_SIZE+KPROBE_THUNK_GAP+8
	POP_REGS
	leaq	24(%rsp), %rsp		/* orig_ax, ip, cs */
	popfq
	leaq	16+KPROBE_THUNK_GAP(%rsp), %rsp
	UNWIND_HINT_FUNC
	RET
.endm

#define PREEMPT_COUNT	PER_CPU_VAR(pcpu_hot + KPROBE_HOT_PREEMPT_COUNT)
#define TOP_FRAME	PER_CPU_VAR(kprobe_frames)

/*
 * The thunks call the handlers themselves, because all registers have been
 * saved, which a function in C would do once more: see in asm/kprobes.h, and in
 * linux/kprobes.h, what each step is for. What is rare is left to C.
 *
 * In %rbx is the probepoint, and later where in the set the next handler is; in
 * %r12 the frame.
 */

/* Disable preemption and take a frame, if handlers may be called here. */
.macro KPROBE_THUNK_BEGIN miss:req
	/* preempt_disable() and kprobe_context() */
#ifdef CONFIG_PREEMPT_COUNT
	incl	PREEMPT_COUNT
#endif
	movl	PREEMPT_COUNT, %eax
	andl	$KPROBE_FRAME_CONTEXTS, %eax
	/* kprobe_must_miss() */
	movq	TOP_FRAME, %r12
	cmpl	%eax, KPROBE_FRAME_CONTEXT(%r12)
	je	\miss
	cmpb	$KPROBE_FRAME_LIMIT, KPROBE_FRAME_LEVEL(%r12)
	jae	\miss
	/* kprobe_push_frame() */
	addq	$KPROBE_FRAME_SIZE, %r12
	movq	%r12, TOP_FRAME
	movl	%eax, KPROBE_FRAME_CONTEXT(%r12)
.endm

/* Give it back, and enable preemption. */
.macro KPROBE_THUNK_END resched:req
	/* kprobe_pop_frame() */
	movl	$KPROBE_FRAME_NOBODY, KPROBE_FRAME_CONTEXT(%r12)
	movq	$0, KPROBE_FRAME_PROBE(%r12)
	subq	$KPROBE_FRAME_SIZE, %r12
	movq	%r12, TOP_FRAME
	/* preempt_enable() */
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
#ifdef CONFIG_PREEMPTION
	jz	\resched
#endif
.endm

/*
 * kprobe_post_thunk - the instruction has been run, call the post_handlers
 *
 * In %r13 is the address of the next one.
 */
SYM_CODE_START(kprobe_post_thunk)
	KPROBE_THUNK_ENTER
	movq	FRAME_SIZE+KPROBE_THUNK_GAP(%rsp), %rbx
	andq	$-KPROBE_THUNK_SLOT_SIZE, %rbx
	movq	(%rbx), %rbx
	movzbl	KPROBE_INSN_SIZE(%rbx), %r13d
	addq	KPROBE_ADDR(%rbx), %r13
	movq	%r13, RIP(%rsp)
	KPROBE_THUNK_ENTERED

	KPROBE_THUNK_BEGIN .Lpost_missed
	movq	$0, KPROBE_FRAME_REGS(%r12)
	/* kprobe_call_post_handlers() */
	movq	KPROBE_SET(%rbx), %rbx
	movl	PROBE_SET_POST(%rbx), %eax
	leaq	(%rbx,%rax,8), %rbx
	movq	PROBE_SET_PROBES(%rbx), %rdi
	testq	%rdi, %rdi
	jz	.Lpost_handled
.Lpost_handler:
	movq	%rdi, KPROBE_FRAME_PROBE(%r12)
	movq	%rsp, %rsi
	xorl	%edx, %edx
	movq	KPROBE_POST_HANDLER(%rdi), %rax
	CALL_NOSPEC rax
	addq	$8, %rbx
	movq	PROBE_SET_PROBES(%rbx), %rdi
	testq	%rdi, %rdi
	jnz	.Lpost_handler
.Lpost_handled:
	KPROBE_THUNK_END .Lpost_resched

.Lpost_leave:
	cmpq	RIP(%rsp), %r13
	jne	.Lpost_elsewhere
.Lpost_return:
	KPROBE_THUNK_LEAVE

	UNWIND_HINT_REGS
.Lpost_elsewhere:
	movq	%rsp, %rdi
	call	kprobe_post_elsewhere
	jmp	.Lpost_return

	/* A hit that a handler made; counted as missed when it happened. */
.Lpost_missed:
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
#ifndef CONFIG_PREEMPTION
	jmp	.Lpost_leave
#else
	jnz	.Lpost_leave
.Lpost_resched:
	call	kprobe_thunk_resched
	jmp	.Lpost_leave
#endif
SYM_CODE_END(kprobe_post_thunk)
_ASM_NOKPROBE(kprobe_post_thunk)

#ifdef CONFIG_OPTPROBES

/*
 * kprobe_detour_thunk - a probe has been hit, call the pre_handlers
 */
SYM_CODE_START(kprobe_detour_thunk)
	KPROBE_THUNK_ENTER
	movq	FRAME_SIZE+KPROBE_THUNK_GAP(%rsp), %rbx
	movq	-KPROBE_DETOUR_CALLED_AT(%rbx), %rbx
	movq	KPROBE_ADDR(%rbx), %rax
	movq	%rax, RIP(%rsp)
	KPROBE_THUNK_ENTERED

	KPROBE_THUNK_BEGIN .Lmissed
	movq	%rsp, KPROBE_FRAME_REGS(%r12)
	/* kprobe_call_pre_handlers() */
	movq	KPROBE_SET(%rbx), %rbx
	movq	PROBE_SET_PROBES(%rbx), %rdi
	testq	%rdi, %rdi
	jz	.Lnone
	/* Unwinders know the byte that is added now by the frame and its probe. */
	movq	%rdi, KPROBE_FRAME_PROBE(%r12)
	incq	RIP(%rsp)
.Lhandler:
	movq	%rdi, KPROBE_FRAME_PROBE(%r12)
	movq	%rsp, %rsi
	movq	KPROBE_PRE_HANDLER(%rdi), %rax
	CALL_NOSPEC rax
	testl	%eax, %eax
	jnz	.Lelsewhere
	addq	$8, %rbx
	movq	PROBE_SET_PROBES(%rbx), %rdi
	testq	%rdi, %rdi
	jnz	.Lhandler
	decq	RIP(%rsp)
.Lnone:
	KPROBE_THUNK_END .Lresched
.Lleave:
	KPROBE_THUNK_LEAVE

	UNWIND_HINT_REGS
.Lmissed:
	movq	%rbx, %rdi
	call	kprobe_detour_missed
	jmp	.Lleave

.Lelsewhere:
	movq	%rsp, %rdi
	movq	%r12, %rsi
	call	kprobe_detour_elsewhere
	testb	%al, %al
	jnz	kprobe_thunk_iret
	jmp	.Lleave

#ifdef CONFIG_PREEMPTION
.Lresched:
	call	kprobe_thunk_resched
	jmp	.Lleave
#endif
SYM_CODE_END(kprobe_detour_thunk)
_ASM_NOKPROBE(kprobe_detour_thunk)

#endif /* CONFIG_OPTPROBES */

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

	/* An interrupt overwrites what has been popped. */
	KPROBE_HINT_WORD FRAME_SIZE+8
	POP_REGS
	leaq	24(%rsp), %rsp		/* orig_ax, ip, cs */
	popfq
	leaq	16(%rsp), %rsp		/* sp, ss */
	UNWIND_HINT_FUNC
	RET
SYM_CODE_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

#endif /* CONFIG_KRETPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE

/*
 * kprobe_ftrace_thunk - ftrace's call at the entry of a function
 *
 * Calls that ftrace puts in place are not seen by those who count how deep
 * they go to keep the return predictor filled, so it is done here.
 */
SYM_CODE_START(kprobe_ftrace_thunk)
	KPROBE_THUNK_ENTER
	CALL_DEPTH_ACCOUNT
	movq	%rsp, %rdi
	movq	FRAME_SIZE+KPROBE_THUNK_GAP(%rsp), %rsi
	movq	%rsi, RIP(%rsp)
	KPROBE_THUNK_ENTERED
	call	kprobe_ftrace_hit
	testb	%al, %al
	jnz	kprobe_thunk_iret
	KPROBE_THUNK_LEAVE
SYM_CODE_END(kprobe_ftrace_thunk)
_ASM_NOKPROBE(kprobe_ftrace_thunk)

/*
 * kprobe_just_return - go where the top of the stack says
 */
SYM_FUNC_START(kprobe_just_return)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(kprobe_just_return)
_ASM_NOKPROBE(kprobe_just_return)

#endif /* CONFIG_KPROBES_ON_FTRACE */

#endif /* CONFIG_X86_64 */
