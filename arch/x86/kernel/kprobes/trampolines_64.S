/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes on 64-bit x86: the trampolines. Slots, detour buffers and ftrace's call sites call
 * them, and functions with a return probe return to one.
 *
 * A trampoline is called in the middle of any function, with nothing saved, on the function's
 * stack. It saves all registers as a trap would, so that handlers and unwinders see a struct
 * pt_regs, and calls the handlers. It returns to the address that the call pushed, so the CPU's
 * return predictor stays balanced.
 *
 * Slots and detour buffers have KPROBE_SLOT_SIZE bytes, and are aligned to that:
 *
 *	slot with post_handlers			detour buffer
 *
 *	 0  address of the probepoint		 0  address of the probepoint
 *	 8  copy of the instruction		 8  call kprobe_detour_trampoline
 *	    call kprobe_post_trampoline		13  copy of the probed instruction
 *	    jmp  next instruction		    [call kprobe_post_trampoline]
 *						    copies of the rest of the DCR
 *						    jmp  first instruction after the DCR
 *						    struct kprobe_detour_map
 *
 * If several probes have a pre_handler, the detour buffer calls kprobe_detour_multi_trampoline.
 *
 * The stack of a trampoline, from the higher addresses down:
 *
 *	                 stack of the probed function
 *	regs + 1 + GAP:  return address of the trampoline, in the slot or detour buffer
 *	regs + 1:        gap of KPROBE_TRAMPOLINE_GAP bytes, as after a breakpoint: room for a
 *	                 handler that emulates a push
 *	regs:            struct pt_regs, with the sp of the probed function
 *
 * If a handler redirects execution, it may have changed the stack pointer, too. Then the
 * trampoline leaves via .Lkprobe_trampoline_redirect, which loads both from struct pt_regs.
 *
 * The stack of the return trampoline, to which a probed function has returned:
 *
 *	                 stack of the caller
 *	regs + 1:        the stack slot of the return address. Unwinders and
 *	                 struct kretprobe_instance.fp identify the call by the address of this
 *	                 slot. C and the trampoline store the real return address here.
 *	regs:            struct pt_regs
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/cpufeatures.h>
#include <asm/frame.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/unwind_hints.h>
#include "../../entry/calling.h"
#include "x86.h"

	.text

/*
 * Tell unwinders that the return address is the word that ends @offset bytes above @reg. @signal: 1
 * if unwinders have to look up the return address itself, and not the byte before it. That is so if
 * the address is in a slot or detour buffer: in the probed function, no call precedes it.
 */
.macro KPROBE_HINT_WORD offset:req reg=ORC_REG_SP signal=0
	UNWIND_HINT sp_reg=\reg sp_offset=\offset type=UNWIND_HINT_TYPE_CALL signal=\signal
.endm

/*
 * Begin to save the registers, below the word that the call pushed. Leaves that word in %rax.
 * The code after this macro has to push the ip of struct pt_regs, which is below cs.
 */
.macro KPROBE_TRAMPOLINE_PUSH_FRAME
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	pushq	%rax			/* the first word of the gap */
	movq	8(%rsp), %rax
	leaq	8-KPROBE_TRAMPOLINE_GAP(%rsp), %rsp
	pushq	$__KERNEL_DS		/* ss */
	pushq	%rsp			/* sp, corrected below */
	pushfq				/* flags */
	addq	$(16 + KPROBE_TRAMPOLINE_GAP), 8(%rsp)
	pushq	$__KERNEL_CS		/* cs */
.endm

/*
 * Save the registers that are below ip in struct pt_regs. Leaves %rax unchanged. The words above
 * them, from ss to ip, must have been pushed: the unwind hint in PUSH_REGS says that the whole
 * struct is on the stack.
 */
.macro KPROBE_TRAMPOLINE_SAVE_REGS
	pushq	$-1			/* orig_ax, as a breakpoint has it */
	PUSH_REGS rax=KPROBE_TRAMPOLINE_GAP+72(%rsp)
	ENCODE_FRAME_POINTER
.endm

/*
 * Load the saved flags into %r14. Jump to @slowpath on CPUs with call depth tracking, where the
 * call of the trampoline must be counted, or, with @test_flags, if one of KPROBE_UNSAFE_FLAGS is
 * set, which C code must not run with.
 */
.macro KPROBE_TRAMPOLINE_CHECK_SLOWPATH slowpath:req test_flags=1
	/*
	 * The jmp is not longer than the movq. If it were, ALTERNATIVE would pad the movq with
	 * nops, and CPUs without call depth tracking would execute these.
	 */
	ALTERNATIVE __stringify(movq EFLAGS(%rsp), %r14), "jmp \slowpath", X86_FEATURE_CALL_DEPTH
	.if \test_flags
	testl	$KPROBE_UNSAFE_FLAGS, %r14d
	jnz	\slowpath
	.endif
.endm

/*
 * Clear the flags that C code must not run with, and jump to @back. Leaves -1 in %r14, which
 * never equals the saved flags, so that KPROBE_LOAD_FLAGS jumps to its @popf.
 */
.macro KPROBE_SANITIZE_FLAGS back:req
	pushfq
	andq	$~(X86_EFLAGS_DF | X86_EFLAGS_NT | X86_EFLAGS_AC), (%rsp)
	popfq
	orq	$-1, %r14
	jmp	\back
.endm

/*
 * The code to which KPROBE_TRAMPOLINE_CHECK_SLOWPATH jumps. Ends with a jump to @back.
 *
 * Call depth tracking counts calls and returns. It does not count the call of a trampoline from a
 * slot, a detour buffer or ftrace, so the trampoline does. With call depth tracking, RET is a jump
 * to a return thunk, which counts the return, and changes flags. So the trampoline must return
 * through kprobe_trampoline_popf, which counts the return before it loads the flags.
 * KPROBE_LOAD_FLAGS jumps there if %r14 differs from the saved flags, as -1 always does.
 */
.macro KPROBE_TRAMPOLINE_SLOWPATH back:req
	UNWIND_HINT_REGS
	CALL_DEPTH_ACCOUNT
	orq	$-1, %r14
	testl	$KPROBE_UNSAFE_FLAGS, EFLAGS(%rsp)
	jz	\back
	KPROBE_SANITIZE_FLAGS \back
.endm

/*
 * Load the arithmetic flags with sahf. Changes %ah. Jump to @popf instead
 *
 * - if %r14, a copy of the saved flags, differs from them since a handler has changed the latter;
 * - if %r14 is -1;
 * - if the CPU has no sahf.
 *
 * popf is slower than most of what a trampoline does. It is not needed if C code ran with the saved
 * flags, and no handler changed these: then all but the arithmetic flags still have their values.
 *
 * sahf loads the arithmetic flags from the lower byte, except the overflow flag, which is bit 3 (8)
 * of the upper byte. The cmpb sets the overflow flag: the only other flags that can be set in the
 * upper byte are the trap flag, 1, and the interrupt flag, 2, so subtracting -0x78 from the byte
 * overflows only if the 8 is set. sahf does not change the overflow flag.
 *
 * An NMI or an interrupt that arrives here restores the flags that it interrupted. If a debugger
 * changes the trap flag before the trampoline returns, sahf keeps that change; popf would undo it.
 */
.macro KPROBE_LOAD_FLAGS popf:req
	cmpq	EFLAGS(%rsp), %r14
	ALTERNATIVE "jmp \popf", "jne \popf", X86_FEATURE_LAHF_LM
	cmpb	$-0x78, EFLAGS+1(%rsp)
	movb	EFLAGS(%rsp), %ah
	sahf
.endm

/*
 * Restore all registers but the flags, and return to the address @gap bytes above them. @signal: as
 * for KPROBE_HINT_WORD.
 */
.macro KPROBE_TRAMPOLINE_RETURN_NOFLAGS gap=KPROBE_TRAMPOLINE_GAP signal=1
	/*
	 * From here on, unwinders must use the return address instead of struct pt_regs: an
	 * interrupt may overwrite the registers that are popped already.
	 */
	KPROBE_HINT_WORD FRAME_SIZE+\gap+8 signal=\signal
	POP_REGS
	leaq	FRAME_SIZE-ORIG_RAX+\gap(%rsp), %rsp
	KPROBE_HINT_WORD 8 signal=\signal
	RET
.endm

/*
 * Restore all registers, and return. %r14: the saved flags, or -1 to load the flags with popf, see
 * KPROBE_LOAD_FLAGS.
 */
.macro KPROBE_TRAMPOLINE_RETURN popf=kprobe_trampoline_popf gap=KPROBE_TRAMPOLINE_GAP signal=1
	KPROBE_LOAD_FLAGS \popf
	KPROBE_TRAMPOLINE_RETURN_NOFLAGS gap=\gap signal=\signal
.endm

#define PREEMPT_COUNT	PER_CPU_VAR(pcpu_hot + X86_preempt_count)
#define TOP_LEVEL	PER_CPU_VAR(kprobe_levels + KPROBE_LEVELS_top)

/*
 * The trampolines call handlers directly: a C function in between would save registers again. Rare
 * cases are handled in C. The steps of the trampolines are those of kprobe_enter() and
 * kprobe_leave() in asm/kprobes.h, and of probepoint_first() and probepoint_call_post() in
 * linux/probepoint.h.
 *
 * A level (struct kprobe_level) is an entry of this CPU's stack of running handlers. %r12 points to
 * the level below the trampoline's own, hence the offset KPROBE_LEVEL_SIZE.
 */
#define OUR_LEVEL(field)	(KPROBE_LEVEL_SIZE + field)(%r12)

.macro KPROBE_PREEMPT_DISABLE
#ifdef CONFIG_PREEMPT_COUNT
	incl	PREEMPT_COUNT
#endif
.endm

.macro KPROBE_PREEMPT_ENABLE_NO_RESCHED
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
.endm

/*
 * Take a level, the next entry of this CPU's stack of running handlers; or jump to @nested if a
 * handler already runs on this CPU. The code at @nested may continue at @take. Preemption is
 * disabled.
 *
 * Leaves: %ecx: the context, which the caller stores in the level when it has filled the level;
 * %r12: the level below. A hit in an NMI that arrives before the context is stored takes the level
 * above, and reads only that this one has no context yet.
 */
.macro __KPROBE_TRAMPOLINE_TAKE_LEVEL nested:req take
	/* kprobe_enter() */
	movq	TOP_LEVEL, %r12
	cmpl	$KPROBE_CONTEXT_NONE, KPROBE_LEVEL_context(%r12)
	jne	\nested
	.ifnb \take
\take:
	.endif
	addq	$KPROBE_LEVEL_SIZE, TOP_LEVEL
	movl	PREEMPT_COUNT, %ecx
.endm

/*
 * Disable preemption and take a level, an entry of this CPU's stack of running handlers. If a
 * handler already runs on this CPU, jump to @nested instead, with preemption disabled. The code at
 * @nested may continue at @take.
 */
.macro KPROBE_TRAMPOLINE_TAKE_LEVEL nested:req take:req
	KPROBE_PREEMPT_DISABLE
	__KPROBE_TRAMPOLINE_TAKE_LEVEL \nested, \take
.endm

/*
 * The code at @nested of KPROBE_TRAMPOLINE_TAKE_LEVEL: the innermost level, at %r12, belongs to a
 * running handler. Jump to @take if the context of the hit has interrupted that handler, or to
 * @miss if the handler runs in the context of the hit. There is no third case: a handler whose
 * context has interrupted that of the hit would have ended by now. So it is enough to test whether
 * the contexts differ.
 */
.macro KPROBE_NESTED take:req miss:req
	UNWIND_HINT_REGS
	movl	KPROBE_LEVEL_context(%r12), %ecx
	xorl	PREEMPT_COUNT, %ecx
	testl	$KPROBE_CONTEXT_BITS, %ecx
	jz	\miss
	jmp	\take
.endm

/*
 * Free the level, and enable preemption. Jump to @resched if a reschedule was requested.
 * Omit @resched if kprobe_redirect() follows, which reschedules. %r12 must still have the value
 * that KPROBE_TRAMPOLINE_TAKE_LEVEL left.
 */
.macro KPROBE_TRAMPOLINE_DROP_LEVEL resched
	/* kprobe_leave() */
	movl	$KPROBE_CONTEXT_NONE, OUR_LEVEL(KPROBE_LEVEL_context)
	movq	%r12, TOP_LEVEL
	/* preempt_enable() */
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
#ifdef CONFIG_PREEMPTION
	.ifnb \resched
	jz	\resched
	.endif
#endif
.endm

/*
 * Call the handler in %rax. With FineIBT an indirect call must check the type of the function,
 * and must not go to its first instruction. Only the compiler can generate such a call. So call the
 * C function @checked, which gets the handler as its last argument, in @reg, and calls it.
 */
.macro KPROBE_CALL_HANDLER checked:req reg:req
#ifdef CONFIG_CFI_CLANG
	movq	%rax, \reg
	call	\checked
#else
	CALL_NOSPEC rax
#endif
.endm

/*
 * kprobe_trampoline_popf - load all registers and the flags, and return to the pushed address
 *
 * .Lkprobe_trampoline_resume also loads the stack pointer and the ip from struct pt_regs. It
 * does not use iret: with FRED, the iretq of a probe in an NMI handler would unblock NMIs. The
 * CPU pops the last three words from below the new stack pointer S:
 *
 *	S - 8:	ip
 *	S - 16:	flags
 *	S - 24:	%rdi, which has S until then
 *
 * Interrupts may be on, so %rsp must be below all words that are still needed. If S is in
 * struct pt_regs or lower, as after a handler that has emulated a subtraction from the stack
 * pointer, struct pt_regs is moved below S first. Otherwise S is at or above the end of struct
 * pt_regs, and the three words overwrite at most ss, sp and flags, which have been read by then. So
 * handlers may use all of the gap.
 */
SYM_CODE_START_LOCAL(kprobe_trampoline_popf)
	UNWIND_HINT_REGS
	movq	FRAME_SIZE+KPROBE_TRAMPOLINE_GAP(%rsp), %rax
	movq	%rax, RIP(%rsp)
	leaq	FRAME_SIZE+KPROBE_TRAMPOLINE_GAP+8(%rsp), %rax
	movq	%rax, RSP(%rsp)
.Lkprobe_trampoline_resume:
#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
	/*
	 * With call depth tracking, the return thunk counts returns, and changes flags. So count
	 * this return here, before the flags are loaded. The trampoline then ends with a plain ret
	 * in place of the thunk.
	 */
	ALTERNATIVE "jmp .Lresume_counted", "", X86_FEATURE_CALL_DEPTH
	CALL_THUNKS_DEBUG_INC_RETS
	shlq	$5, PER_CPU_VAR(pcpu_hot + X86_call_depth)
	jnz	.Lresume_counted
	CALL_THUNKS_DEBUG_INC_STUFFS
	movl	$(RSB_RET_STUFF_LOOPS / 2), %ecx
1:
	.rept	2
	ANNOTATE_INTRA_FUNCTION_CALL
	call	2f
	int3
2:
	.endr
	addq	$16, %rsp
	decl	%ecx
	jnz	1b
	CREDIT_CALL_DEPTH
#endif
.Lresume_counted:
	movq	RSP(%rsp), %rdi
	leaq	FRAME_SIZE(%rsp), %rdx
	cmpq	%rdx, %rdi
	jb	.Lresume_move
	movq	RIP(%rsp), %rax
	movq	EFLAGS(%rsp), %rdx
	movq	%rax, -8(%rdi)
	/* From here on, unwinders must use the ip at S - 8: pt_regs may be overwritten next. */
	KPROBE_HINT_WORD 0 reg=ORC_REG_DI signal=1
	movq	RDI(%rsp), %rax
	movq	%rdx, -16(%rdi)
	movq	%rax, -24(%rdi)
	POP_REGS pop_rdi=0
	leaq	-24(%rdi), %rsp
	KPROBE_HINT_WORD 24 signal=1
	popq	%rdi
	KPROBE_HINT_WORD 16 signal=1
	popfq
	KPROBE_HINT_WORD 8 signal=1
	ALTERNATIVE __stringify(RET), __stringify(ANNOTATE_UNRET_SAFE; ret; int3), \
		    X86_FEATURE_CALL_DEPTH

	/*
	 * The new stack pointer S is below the end of struct pt_regs: copy the struct to
	 * S - 2 * FRAME_SIZE. The two do not overlap, since the old one is above S - FRAME_SIZE.
	 */
	UNWIND_HINT_REGS
.Lresume_move:
	movq	%rsp, %rdx
	UNWIND_HINT_REGS base=%rdx
	leaq	-2*FRAME_SIZE(%rdi), %rsp
	movq	%rdx, %rsi
	movq	%rsp, %rdi
	movl	$(FRAME_SIZE / 8), %ecx
	rep movsq
	UNWIND_HINT_REGS
	ENCODE_FRAME_POINTER
	jmp	.Lresume_counted

	UNWIND_HINT_REGS
.Lkprobe_trampoline_redirect:
	movq	%rsp, %rdi
	call	kprobe_redirect
	jmp	.Lkprobe_trampoline_resume
SYM_CODE_END(kprobe_trampoline_popf)
_ASM_NOKPROBE(kprobe_trampoline_popf)

/*
 * kprobe_post_trampoline - call the post_handlers, after the probed instruction
 *
 * A slot or detour buffer calls this after its copy of the instruction, if there are post_handlers.
 *
 * While the post_handlers run, %r13 has the address of the next instruction. If the ip in struct
 * pt_regs differs from %r13 afterwards, a handler has redirected execution.
 */
SYM_CODE_START(kprobe_post_trampoline)
	KPROBE_TRAMPOLINE_PUSH_FRAME
	andq	$-KPROBE_SLOT_BYTES, %rax
	movq	(%rax), %rax
	pushq	PROBEPOINT_next_ip(%rax)
	KPROBE_TRAMPOLINE_SAVE_REGS
	KPROBE_TRAMPOLINE_CHECK_SLOWPATH .Lpost_slowpath
.Lpost_checked:
	movq	RIP(%rsp), %r13

	KPROBE_TRAMPOLINE_TAKE_LEVEL .Lpost_nested, .Lpost_take
	/* probepoint_call_post() */
	movq	PROBEPOINT_set(%rax), %rax
	movq	PROBE_SET_post_probe(%rax), %rdi
	movq	%rdi, OUR_LEVEL(KPROBE_LEVEL_probe)
	movl	%ecx, OUR_LEVEL(KPROBE_LEVEL_context)
	movq	%rsp, %rsi
	xorl	%edx, %edx
	movq	PROBE_SET_post_handler(%rax), %rax
	KPROBE_CALL_HANDLER kprobe_call_post %rcx
	KPROBE_TRAMPOLINE_DROP_LEVEL .Lpost_resched

.Lpost_leave:
	cmpq	RIP(%rsp), %r13
	jne	.Lkprobe_trampoline_redirect
	KPROBE_TRAMPOLINE_RETURN

.Lpost_slowpath:
	KPROBE_TRAMPOLINE_SLOWPATH .Lpost_checked

.Lpost_nested:
	KPROBE_NESTED .Lpost_take, .Lpost_missed

	/*
	 * A handler that runs in this context has caused this hit, so no post_handler is called.
	 * The hit was counted as missed before the instruction was executed.
	 */
.Lpost_missed:
	KPROBE_PREEMPT_ENABLE_NO_RESCHED
#ifndef CONFIG_PREEMPTION
	jmp	.Lpost_leave
#else
	jnz	.Lpost_leave
.Lpost_resched:
	call	kprobe_trampoline_resched
	jmp	.Lpost_leave
#endif
SYM_CODE_END(kprobe_post_trampoline)
_ASM_NOKPROBE(kprobe_post_trampoline)

#ifdef CONFIG_OPTPROBES

/*
 * Call the pre_handlers. If @several is 1, walk the list of the probes that have one, which may be
 * empty. If @several is 0, call the pre_handler of probepoint_first().
 */
.macro KPROBE_DETOUR_TRAMPOLINE several:req
	KPROBE_TRAMPOLINE_PUSH_FRAME
	movq	-KPROBE_DETOUR_AFTER_CALL(%rax), %rax
	/* ip: one byte after the probed address, as after an int3; unwinders correct that */
	pushq	PROBEPOINT_hit_ip(%rax)
	KPROBE_TRAMPOLINE_SAVE_REGS
	KPROBE_TRAMPOLINE_CHECK_SLOWPATH .Lslowpath\@
.Lchecked\@:

	KPROBE_TRAMPOLINE_TAKE_LEVEL .Lnested\@, .Ltake\@
	.if \several
	/* probepoint_set(); PROBE_SET_probes(%rbx): the next entry of a list that ends with NULL */
	movq	PROBEPOINT_set(%rax), %rbx
	movq	PROBE_SET_probes(%rbx), %rdi
	testq	%rdi, %rdi
	jz	.Lcalled\@
	.else
	/* probepoint_first() */
	movq	PROBEPOINT_first(%rax), %rdi
	.endif
	movq	%rdi, OUR_LEVEL(KPROBE_LEVEL_probe)
	movl	%ecx, OUR_LEVEL(KPROBE_LEVEL_context)
.Lcall\@:
	movq	%rsp, %rsi
	movq	KPROBE_pre_handler(%rdi), %rax
	KPROBE_CALL_HANDLER kprobe_call_pre %rdx
	testl	%eax, %eax
	jnz	.Lredirected\@
	.if \several
	addq	$8, %rbx
	movq	PROBE_SET_probes(%rbx), %rdi
	testq	%rdi, %rdi
	jz	.Lcalled\@
	movq	%rdi, OUR_LEVEL(KPROBE_LEVEL_probe)
	jmp	.Lcall\@
	.endif
.Lcalled\@:
	KPROBE_TRAMPOLINE_DROP_LEVEL .Lresched\@
.Lleave\@:
	KPROBE_TRAMPOLINE_RETURN

.Lslowpath\@:
	KPROBE_TRAMPOLINE_SLOWPATH .Lchecked\@

.Lnested\@:
	KPROBE_NESTED .Ltake\@, .Lin_c\@

.Lin_c\@:
	movq	%rax, %rdi
	movq	%rsp, %rsi
	call	kprobe_detour_nested
	testb	%al, %al
	jz	.Lleave\@
	jmp	.Lkprobe_trampoline_redirect

.Lredirected\@:
	movq	OUR_LEVEL(KPROBE_LEVEL_probe), %rdi
	call	kprobe_detour_redirected
	KPROBE_TRAMPOLINE_DROP_LEVEL
	jmp	.Lkprobe_trampoline_redirect

#ifdef CONFIG_PREEMPTION
.Lresched\@:
	call	kprobe_trampoline_resched
	jmp	.Lleave\@
#endif
.endm

/*
 * kprobe_detour_trampoline - call the pre_handler of the only probe that has one
 *
 * A detour buffer calls this, unless several probes have a pre_handler. When a second probe with a
 * pre_handler is registered, hits come here until the call in the detour buffer is patched. For
 * these hits, the pre_handler of probepoint_first() is probe_set_multi_pre(), which calls all
 * pre_handlers.
 */
SYM_CODE_START(kprobe_detour_trampoline)
	KPROBE_DETOUR_TRAMPOLINE several=0
SYM_CODE_END(kprobe_detour_trampoline)
_ASM_NOKPROBE(kprobe_detour_trampoline)

/*
 * kprobe_detour_multi_trampoline - call the pre_handlers of several probes
 *
 * A detour buffer calls this if several probes have a pre_handler. This trampoline calls the
 * pre_handlers directly, which saves a call of probe_set_multi_pre().
 */
SYM_CODE_START(kprobe_detour_multi_trampoline)
	KPROBE_DETOUR_TRAMPOLINE several=1
SYM_CODE_END(kprobe_detour_multi_trampoline)
_ASM_NOKPROBE(kprobe_detour_multi_trampoline)

#endif /* CONFIG_OPTPROBES */

#ifdef CONFIG_KRETPROBES

/*
 * __kretprobe_trampoline - a probed function has returned here
 *
 * The function's return popped an entry of the CPU's return predictor, and the return at the end
 * pops another. The call here pushes one, so the predictor stays balanced. The call also pushes its
 * own return address, to the stack slot from which the function's return popped the trampoline's
 * address. An unwinder that finds this word looks up the real return address. Before the return at
 * the end, the trampoline or C replaces the word with the real return address.
 */
	RETURN_TRAMPOLINE_BEFORE __kretprobe_trampoline
SYM_CODE_START(__kretprobe_trampoline)
	UNWIND_HINT_UNDEFINED
	ANNOTATE_NOENDBR
	ANNOTATE_INTRA_FUNCTION_CALL
	call	1f
	.if . - __kretprobe_trampoline != KRETPROBE_TRAMPOLINE_CALL
	.error "is_kretprobe_trampoline() needs the size of the call"
	.endif
	ANNOTATE_NOENDBR
	int3
1:
	UNWIND_HINT_FUNC
	pushq	$__KERNEL_DS		/* ss */
	pushq	%rsp			/* sp, corrected below */
	pushfq				/* flags */
	addq	$16, 8(%rsp)
	pushq	$__KERNEL_CS		/* cs */
	pushq	$__kretprobe_trampoline	/* ip; the real one is stored below, or by C */
	pushq	$-1			/* orig_ax */
	PUSH_REGS
	ENCODE_FRAME_POINTER
	movq	EFLAGS(%rsp), %r14
	testl	$KPROBE_UNSAFE_FLAGS, %r14d
	jnz	.Lreturn_slowpath
.Lreturn_checked:

	/* As arch_kretprobe_begin() does */
	KPROBE_TRAMPOLINE_TAKE_LEVEL .Lreturn_nested, .Lreturn_take
	/*
	 * Is the first instance on the task's list the one of this call, and does its return probe
	 * have a handler?
	 */
	movq	PER_CPU_VAR(pcpu_hot + X86_current_task), %r13
	movq	TASK_kretprobe_instances(%r13), %rbx
	testq	%rbx, %rbx
	jz	.Lreturn_several
	leaq	FRAME_SIZE(%rsp), %rax
	cmpq	%rax, KRETPROBE_INSTANCE_fp(%rbx)
	jne	.Lreturn_several
	movq	KRETPROBE_INSTANCE_ret_addr(%rbx), %r15
	movq	KRETPROBE_INSTANCE_rph(%rbx), %rdx
	movq	KRETPROBE_HOLDER_active(%rdx), %rdi
	movq	KRETPROBE_handler(%rdi), %rax
	testq	%rax, %rax
	jz	.Lreturn_no_handler
	movq	%rdi, OUR_LEVEL(KPROBE_LEVEL_probe)
	movl	%ecx, OUR_LEVEL(KPROBE_LEVEL_context)
	movq	%r15, RIP(%rsp)
	movq	%rbx, %rdi
	movq	%rsp, %rsi
	KPROBE_CALL_HANDLER kprobe_call_return %rdx
.Lreturn_handled:
	/*
	 * Functions that the handler called may have had instances, too. They have returned, so
	 * this instance is the first again. Store the real return address before the instance
	 * leaves the list, so that an unwinder, even in an NMI, finds the instance or that address.
	 */
	movq	%r15, FRAME_SIZE(%rsp)
	movq	KRETPROBE_INSTANCE_next(%rbx), %rax
	movq	%rax, TASK_kretprobe_instances(%r13)
	/* kretprobe_give() */
	movq	KRETPROBE_INSTANCE_rph(%rbx), %rdx
	movq	KRETPROBE_HOLDER_back(%rdx), %rdx
	xorl	%eax, %eax
	cmpxchgq %rbx, __percpu (%rdx)
	jne	.Lreturn_give
.Lreturn_given:
	/* arch_kretprobe_end() */
	KPROBE_TRAMPOLINE_DROP_LEVEL .Lreturn_resched

.Lreturn_leave:
	/*
	 * With call depth tracking, RET is a return thunk that changes the arithmetic flags. The
	 * function's own return has changed them already, so its caller does not rely on them.
	 * If one of KPROBE_UNSAFE_FLAGS is set, popf is used: on Xen PV always, which sets IOPL.
	 */
	KPROBE_TRAMPOLINE_RETURN .Lreturn_popf gap=0 signal=0

	/*
	 * A function may return with AC set for accesses to user memory, and its caller relies
	 * on that. Handlers run with AC clear; .Lreturn_popf restores it.
	 */
	UNWIND_HINT_REGS
.Lreturn_slowpath:
	KPROBE_SANITIZE_FLAGS .Lreturn_checked

.Lreturn_nested:
	KPROBE_NESTED .Lreturn_take, .Lreturn_missed

	UNWIND_HINT_REGS
.Lreturn_no_handler:
	/*
	 * The return probe has no handler, or was unregistered during the call. In the latter case
	 * the holder's rp is NULL: let C handle the return.
	 */
	cmpq	$0, KRETPROBE_HOLDER_rp(%rdx)
	je	.Lreturn_several
	/* When the instance has left the list, unwinders find the return address only as the ip. */
	movq	%r15, RIP(%rsp)
	jmp	.Lreturn_handled

	UNWIND_HINT_REGS
.Lreturn_give:
	/*
	 * A pool of fixed size has its cache in holder->own. Other CPUs also take instances from
	 * that cache, so the exchange needs a lock prefix. If there is no such cache, or the cache
	 * has an instance already, C code gives the instance back to the pool.
	 */
	movq	KRETPROBE_INSTANCE_rph(%rbx), %rdx
	movq	KRETPROBE_HOLDER_own(%rdx), %rdx
	testq	%rdx, %rdx
	jz	.Lreturn_give_to_pool
	xorl	%eax, %eax
	lock cmpxchgq %rbx, __percpu (%rdx)
	je	.Lreturn_given
.Lreturn_give_to_pool:
	movq	%rbx, %rdi
	call	kretprobe_pool_give
	jmp	.Lreturn_given

	/*
	 * The first instance on the list belongs to another call; or a bit of its fp marks a call
	 * with several instances, or one that another tracer tracks, too; or its return probe was
	 * unregistered. kretprobe_return() handles these cases: free the trampoline's level, since
	 * that function takes a level itself.
	 */
.Lreturn_several:
	movq	%r12, TOP_LEVEL
.Lreturn_missed:
	KPROBE_PREEMPT_ENABLE_NO_RESCHED
	movq	%rsp, %rdi
	call	kretprobe_return
	jmp	.Lreturn_leave

#ifdef CONFIG_PREEMPTION
.Lreturn_resched:
	call	kprobe_trampoline_resched
	jmp	.Lreturn_leave
#endif

	UNWIND_HINT_REGS
.Lreturn_popf:
	movq	FRAME_SIZE(%rsp), %rax
	movq	%rax, RIP(%rsp)
	leaq	FRAME_SIZE+8(%rsp), %rax
	movq	%rax, RSP(%rsp)
	jmp	.Lkprobe_trampoline_resume
SYM_CODE_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

#endif /* CONFIG_KRETPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE

/* kprobe_rcu_watches() */
.macro KPROBE_RCU_WATCHES no:req
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	testl	$CONTEXT_RCU_WATCHING, PER_CPU_VAR(context_tracking + CONTEXT_TRACKING_state)
	jz	\no
#endif
.endm

/*
 * Load into @pp the first table entry that get_probepoint() reads for the address @ip + @offset; or
 * jump to @fail if it is NULL. The caller compares the address. Changes %rcx and @hash.
 */
.macro KPROBE_FIND_PROBEPOINT ip:req offset:req hash:req pp:req fail:req
	movq	probepoint_table(%rip), \pp
	leaq	\offset(\ip), \hash
	imulq	.Lprobepoint_hash(%rip), \hash
	movl	PROBEPOINT_TABLE_shift(\pp), %ecx
	shrq	%cl, \hash
	movq	PROBEPOINT_TABLE_entry(\pp, \hash, 8), \pp
	testq	\pp, \pp
	jz	\fail
.endm

/*
 * kprobe_ftrace_trampoline - handle ftrace's call at the entry of a function
 *
 * When a function is called, none of KPROBE_UNSAFE_FLAGS is set, and the function does not rely on
 * the arithmetic flags. So the trampoline does not restore the flags, unless a handler has changed
 * the saved ones.
 *
 * The steps are those of kprobe_ftrace_hit(), in the same order. If a step before the level (the
 * entry of the CPU's stack of running handlers) is taken finds an unusual case, the trampoline
 * calls kprobe_ftrace_hit(), which starts again. These rules make the steps safe:
 *
 * - Preemption is disabled before per-CPU data is read. If the task is preempted before that, the
 *   probepoint may be removed: the task then finds no probepoint, or a newer one at the address.
 * - RCU must be watching before the table is read. Only this CPU can change whether RCU watches it,
 *   and an interrupt or an NMI restores that before it returns.
 * - The table, the probepoint and the probe are valid until preemption is enabled. Each address
 *   depends on the one before it.
 * - An interrupt or an NMI may arrive at any instruction here, and call this trampoline, too. It
 *   leaves the levels as it finds them.
 *
 * Unwinders recognise the registers by the ip and the word that the call pushed, also before the
 * level is taken; see x86_kprobe_trampoline_of_regs().
 */
SYM_CODE_START(kprobe_ftrace_trampoline)
	KPROBE_TRAMPOLINE_PUSH_FRAME
	/* ip: one byte after the probed address, as after an int3; unwinders correct that */
	leaq	KPROBE_FTRACE_HIT_IP(%rax), %rax
	pushq	%rax
	KPROBE_TRAMPOLINE_SAVE_REGS
	KPROBE_TRAMPOLINE_CHECK_SLOWPATH .Lftrace_slowpath test_flags=0
.Lftrace_checked:

	KPROBE_PREEMPT_DISABLE
	KPROBE_RCU_WATCHES no=.Lftrace_in_c
	KPROBE_FIND_PROBEPOINT %rax, KPROBE_HIT_IP_ADDR, %rdi, %rdx, .Lftrace_in_c
	cmpq	%rax, PROBEPOINT_hit_ip(%rdx)
	jne	.Lftrace_in_c

	__KPROBE_TRAMPOLINE_TAKE_LEVEL .Lftrace_in_c
	/* probepoint_first() */
	movq	PROBEPOINT_first(%rdx), %rdi
	movq	%rdi, OUR_LEVEL(KPROBE_LEVEL_probe)
	movl	%ecx, OUR_LEVEL(KPROBE_LEVEL_context)
	movq	%rsp, %rsi
	movq	KPROBE_pre_handler(%rdi), %rax
	KPROBE_CALL_HANDLER kprobe_call_pre %rdx
	testl	%eax, %eax
	jnz	.Lftrace_redirected
	KPROBE_TRAMPOLINE_DROP_LEVEL .Lftrace_resched
.Lftrace_leave:
	cmpq	EFLAGS(%rsp), %r14
	jne	kprobe_trampoline_popf
	KPROBE_TRAMPOLINE_RETURN_NOFLAGS

	/*
	 * With call depth tracking, count the call of the trampoline, as KPROBE_TRAMPOLINE_SLOWPATH
	 * does. The RET to the entry of the function is a return thunk, which counts the return. It
	 * changes flags, but a function does not rely on the flags at its entry. If a handler has
	 * changed the saved flags, kprobe_trampoline_popf loads these: it counts the return itself,
	 * and returns without the thunk.
	 */
	UNWIND_HINT_REGS
.Lftrace_slowpath:
	CALL_DEPTH_ACCOUNT
	movq	EFLAGS(%rsp), %r14
	jmp	.Lftrace_checked

.Lftrace_redirected:
	KPROBE_TRAMPOLINE_DROP_LEVEL
	jmp	.Lkprobe_trampoline_redirect

.Lftrace_in_c:
	KPROBE_PREEMPT_ENABLE_NO_RESCHED
	movq	%rsp, %rdi
	call	kprobe_ftrace_hit
	testb	%al, %al
	jz	.Lftrace_leave
	jmp	.Lkprobe_trampoline_redirect

#ifdef CONFIG_PREEMPTION
.Lftrace_resched:
	call	kprobe_trampoline_resched
	jmp	.Lftrace_leave
#endif
SYM_CODE_END(kprobe_ftrace_trampoline)
_ASM_NOKPROBE(kprobe_ftrace_trampoline)

#if defined(CONFIG_KRETPROBES)

/*
 * kprobe_ftrace_return_trampoline - track a call of a function that has only a return probe
 *
 * This does what kretprobe_entry() does if the CPU's cache has an instance, and no other tracer has
 * replaced the return address. No handler runs, so it needs no struct pt_regs, and no level (entry
 * of the CPU's stack of running handlers):
 *
 * - A hit in the context of a running handler may have to be counted as missed. So this code tracks
 *   the call only while no level of the CPU is taken. If a level is taken, even by a handler that
 *   was interrupted, kprobe_ftrace_trampoline decides whether the hit is missed.
 * - An interrupt or an NMI may arrive at any instruction, and hit this or another
 *   probe. If that hit takes the cached instance, the cmpxchg here fails. When the
 *   interrupt returns, the task's list is as it was.
 * - An unwinder in an NMI that finds the trampoline's address on the stack finds the instance on
 *   the list.
 * - Another probe may be registered at the address at any time, and ftrace then makes the function
 *   call another trampoline. Until it does, hits still come here. The return probe is still the
 *   only probe if the pre_handler of probepoint_first() is kretprobe_entry().
 *
 * For all other hits this restores the registers, and jumps to kprobe_ftrace_trampoline as if
 * ftrace had called that. Until it has taken the instance it changes nothing.
 *
 * This code changes %r10 and %r11, as ftrace's own trampolines do.
 */
SYM_CODE_START(kprobe_ftrace_return_trampoline)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	pushq	%rax
	pushq	%rcx
#define CALL_SITE	16(%rsp)
#define RETURN_SLOT	24(%rsp)
	KPROBE_PREEMPT_DISABLE
	KPROBE_RCU_WATCHES no=.Ltrack_fully
	movq	TOP_LEVEL, %rax
	cmpl	$KPROBE_CONTEXT_NONE, KPROBE_LEVEL_context(%rax)
	jne	.Ltrack_fully
	movq	CALL_SITE, %rax
	KPROBE_FIND_PROBEPOINT %rax, KPROBE_FTRACE_ADDR, %r10, %r11, .Ltrack_fully
	cmpq	%rax, PROBEPOINT_next_ip(%r11)
	jne	.Ltrack_fully
	/* probepoint_first() */
	movq	PROBEPOINT_first(%r11), %r11
	cmpq	$kretprobe_entry, KPROBE_pre_handler(%r11)
	jne	.Ltrack_fully
	cmpq	$0, KRETPROBE_entry_handler(%r11)
	jne	.Ltrack_fully
	/* arch_kretprobe_may_be_replaced() */
	cmpb	$0, RETURN_SLOT
	je	.Ltrack_fully
	/* kretprobe_take_cached() */
	movq	KRETPROBE_rph(%r11), %r11
	movq	KRETPROBE_HOLDER_cache(%r11), %rcx
	movq	__percpu (%rcx), %rax
	testq	%rax, %rax
	jz	.Ltrack_fully
	xorl	%r10d, %r10d
	cmpxchgq %r10, __percpu (%rcx)
	jne	.Ltrack_fully
	/* kretprobe_fill() */
	movq	%r11, KRETPROBE_INSTANCE_rph(%rax)
	leaq	RETURN_SLOT, %rcx
	movq	%rcx, KRETPROBE_INSTANCE_fp(%rax)
	movq	RETURN_SLOT, %rcx
	movq	%rcx, KRETPROBE_INSTANCE_ret_addr(%rax)
	movq	PER_CPU_VAR(pcpu_hot + X86_current_task), %r11
	movq	TASK_kretprobe_instances(%r11), %r10
	movq	%r10, KRETPROBE_INSTANCE_next(%rax)
	/* kretprobe_hook() */
	movq	%rax, TASK_kretprobe_instances(%r11)
	ALTERNATIVE __stringify(movq $__kretprobe_trampoline, RETURN_SLOT), \
		    "jmp .Ltrack_counted", X86_FEATURE_CALL_DEPTH
.Ltrack_hooked:
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
#ifdef CONFIG_PREEMPTION
	jz	.Ltrack_resched
#endif
	popq	%rcx
	popq	%rax
	RET

	/*
	 * Count the call, as KPROBE_TRAMPOLINE_SLOWPATH does, and do the movq that
	 * the alternative has replaced with the jump.
	 */
.Ltrack_counted:
	CALL_DEPTH_ACCOUNT
	movq	$__kretprobe_trampoline, RETURN_SLOT
	jmp	.Ltrack_hooked

.Ltrack_fully:
	KPROBE_PREEMPT_ENABLE_NO_RESCHED
	popq	%rcx
	popq	%rax
	jmp	kprobe_ftrace_trampoline

#ifdef CONFIG_PREEMPTION
	/* The task may be preempted here: save all registers in a struct pt_regs for unwinders. */
.Ltrack_resched:
	popq	%rcx
	popq	%rax
	KPROBE_TRAMPOLINE_PUSH_FRAME
	pushq	%rax			/* ip, after the call */
	KPROBE_TRAMPOLINE_SAVE_REGS
	call	kprobe_trampoline_resched
	KPROBE_TRAMPOLINE_RETURN_NOFLAGS
#endif
SYM_CODE_END(kprobe_ftrace_return_trampoline)
_ASM_NOKPROBE(kprobe_ftrace_return_trampoline)

#endif /* with CONFIG_KRETPROBES */

/*
 * kprobe_just_return - return to the address on top of the stack
 *
 * A handler may have popped the probed function's return address from the stack. But ftrace's
 * trampoline does not load the stack pointer. So kprobe_ftrace_move_stack() stores the address that
 * the handler set in regs->ip to the stack slot of the return address, and sets regs->ip to this
 * function. The RET pops the stored address.
 */
SYM_FUNC_START(kprobe_just_return)
	ANNOTATE_NOENDBR
	RET
SYM_FUNC_END(kprobe_just_return)
_ASM_NOKPROBE(kprobe_just_return)

	.section .rodata
	.balign 8
.Lprobepoint_hash:
	.quad	PROBEPOINT_HASH
	.text

#endif /* CONFIG_KPROBES_ON_FTRACE */
