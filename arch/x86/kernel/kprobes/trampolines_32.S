/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes on 32-bit x86: the trampolines. Slots, detour buffers and ftrace's call sites call
 * them, and functions with a return probe return to one.
 *
 * trampolines_64.S has the drawings of slots, detour buffers and stacks. In 32-bit mode:
 *
 * - Pointers have 4 bytes: the code of a slot begins at 4, the first copy in a detour buffer at
 *   9.
 * - Arguments of C functions are in %eax, %edx and %ecx. A call of C preserves only %ebx, %esi
 *   and %edi; %ebp is the encoded frame pointer. %edi always has the saved flags, or -1.
 * - Segment registers are saved, but not loaded: they have the kernel's values already. In a
 *   function that loads ds or es, that may not be true. Such a function gets no detour buffers,
 *   and after the first such instruction no slots that call post_handlers. fs has the kernel's
 *   value everywhere.
 * - There are no return thunks, no call depth tracking and no Xen PV, and every processor has
 *   sahf.
 */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/frame.h>
#include <asm/kprobes.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include "x86.h"

	.text

/* Size of the registers that KPROBE_POP_REGS pops */
#define POPPED_SIZE	PT_DS

/* Push the registers of struct pt_regs from gs to bx. @ax: an operand with the value of %eax. */
.macro KPROBE_PUSH_REGS ax=%eax
	pushl	$0			/* gs, which the kernel does not use */
	pushl	%fs
	pushl	%es
	pushl	%ds
	pushl	\ax
	pushl	%ebp
	pushl	%edi
	pushl	%esi
	pushl	%edx
	pushl	%ecx
	pushl	%ebx
#ifdef CONFIG_FRAME_POINTER
	/* ENCODE_FRAME_POINTER in one instruction, so that no unwinder sees half of it */
	leal	-0x80000000(%esp), %ebp
#endif
.endm

/* Pop the registers of struct pt_regs from bx to ax. Leaves %esp at ds. */
.macro KPROBE_POP_REGS
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	popl	%eax
.endm

/*
 * Begin to save the registers, below the word that the call pushed. Leaves that word in %eax.
 * The code after this macro has to push the ip of struct pt_regs, which is below cs.
 */
.macro KPROBE_TRAMPOLINE_PUSH_FRAME
	pushl	%eax			/* the first word of the gap */
	movl	4(%esp), %eax
	leal	4-KPROBE_TRAMPOLINE_GAP(%esp), %esp
	pushl	%ss			/* ss */
	pushl	%esp			/* sp, corrected below */
	pushfl				/* flags */
	addl	$(8 + KPROBE_TRAMPOLINE_GAP), 4(%esp)
	pushl	$__KERNEL_CS		/* cs */
.endm

/* Save the registers that are below ip in struct pt_regs. Leaves %eax unchanged. */
.macro KPROBE_TRAMPOLINE_SAVE_REGS
	pushl	$-1			/* orig_ax, as a breakpoint has it */
	KPROBE_PUSH_REGS ax=KPROBE_TRAMPOLINE_GAP+36(%esp)
.endm

/*
 * Load the saved flags into %edi. Jump to @slowpath if one of KPROBE_UNSAFE_FLAGS is set, which C
 * code must not run with.
 */
.macro KPROBE_TRAMPOLINE_CHECK_SLOWPATH slowpath:req
	movl	PT_EFLAGS(%esp), %edi
	testl	$KPROBE_UNSAFE_FLAGS, %edi
	jnz	\slowpath
.endm

/*
 * Clear the flags that C code must not run with, and jump to @back. Leaves -1 in %edi, which never
 * equals the saved flags, so that KPROBE_LOAD_FLAGS jumps to its @popf.
 */
.macro KPROBE_SANITIZE_FLAGS back:req
	pushfl
	andl	$~(X86_EFLAGS_DF | X86_EFLAGS_NT | X86_EFLAGS_AC), (%esp)
	popfl
	orl	$-1, %edi
	jmp	\back
.endm

/*
 * Load the arithmetic flags with sahf. Jump to @popf instead if %edi is -1, or if it differs from
 * the saved flags because a handler has changed the saved flags. See trampolines_64.S.
 */
.macro KPROBE_LOAD_FLAGS popf:req
	cmpl	PT_EFLAGS(%esp), %edi
	jne	\popf
	cmpb	$-0x78, PT_EFLAGS+1(%esp)
	movb	PT_EFLAGS(%esp), %ah
	sahf
.endm

/*
 * Restore all registers, and return to the address @gap bytes above them. At @popf, the flags are
 * loaded with popf, see KPROBE_LOAD_FLAGS.
 */
.macro KPROBE_TRAMPOLINE_RETURN popf=kprobe_trampoline_popf gap=KPROBE_TRAMPOLINE_GAP
	KPROBE_LOAD_FLAGS \popf
	KPROBE_POP_REGS
	leal	PTREGS_SIZE-POPPED_SIZE+\gap(%esp), %esp
	RET
.endm

#define PREEMPT_COUNT	PER_CPU_VAR(pcpu_hot + X86_preempt_count)
#define TOP_LEVEL	PER_CPU_VAR(kprobe_levels + KPROBE_LEVELS_top)

/*
 * The steps of the trampolines are those of kprobe_enter() and kprobe_leave() in asm/kprobes.h, and
 * of probepoint_first() and probepoint_call_post() in linux/probepoint.h.
 *
 * A level (struct kprobe_level) is an entry of this CPU's stack of running handlers. %ebx points to
 * the level below the trampoline's own, hence the offset KPROBE_LEVEL_SIZE.
 */
#define OUR_LEVEL(field)	(KPROBE_LEVEL_SIZE + field)(%ebx)

/*
 * Disable preemption and take a level: the next entry of this CPU's stack of running handlers. If a
 * handler already runs in this context, jump to @miss instead, with preemption disabled.
 *
 * Leaves: %ecx: the context, which the caller stores in the level when it has filled the level;
 * %ebx: the level below. A hit in an NMI that arrives before the context is stored takes the level
 * above, and reads only that this one has no context yet.
 */
.macro KPROBE_TRAMPOLINE_TAKE_LEVEL miss:req
	/* preempt_disable() and kprobe_context() */
#ifdef CONFIG_PREEMPT_COUNT
	incl	PREEMPT_COUNT
#endif
	movl	PREEMPT_COUNT, %ecx
	andl	$KPROBE_CONTEXT_BITS, %ecx
	/* kprobe_enter() */
	movl	TOP_LEVEL, %ebx
	cmpl	%ecx, KPROBE_LEVEL_context(%ebx)
	jge	\miss
	addl	$KPROBE_LEVEL_SIZE, TOP_LEVEL
.endm

/*
 * Free the level, and enable preemption, see trampolines_64.S. %ebx must have the value that
 * KPROBE_TRAMPOLINE_TAKE_LEVEL left.
 */
.macro KPROBE_TRAMPOLINE_DROP_LEVEL resched
	/* kprobe_leave() */
	movl	$KPROBE_CONTEXT_NONE, OUR_LEVEL(KPROBE_LEVEL_context)
	movl	%ebx, TOP_LEVEL
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

/* After %ebx was overwritten: load it with the value that KPROBE_TRAMPOLINE_TAKE_LEVEL left. */
.macro KPROBE_TRAMPOLINE_FIND_LEVEL
	movl	TOP_LEVEL, %ebx
	leal	-KPROBE_LEVEL_SIZE(%ebx), %ebx
.endm

/*
 * kprobe_trampoline_popf - load all registers and the flags, and return to the pushed address
 *
 * See trampolines_64.S. Here %eax has the new stack pointer S. The word at S - 12 is the saved
 * value of %eax, which is popped before the flags. Unwinders use the encoded frame pointer until
 * %ebp is popped.
 */
SYM_CODE_START_LOCAL(kprobe_trampoline_popf)
	movl	PTREGS_SIZE+KPROBE_TRAMPOLINE_GAP(%esp), %eax
	movl	%eax, PT_EIP(%esp)
	leal	PTREGS_SIZE+KPROBE_TRAMPOLINE_GAP+4(%esp), %eax
	movl	%eax, PT_OLDESP(%esp)
.Lkprobe_trampoline_resume:
	movl	PT_OLDESP(%esp), %eax
	leal	PTREGS_SIZE(%esp), %edx
	cmpl	%edx, %eax
	jb	.Lresume_move
	movl	PT_EIP(%esp), %ecx
	movl	PT_EFLAGS(%esp), %edx
	movl	%ecx, -4(%eax)
	movl	PT_EAX(%esp), %ecx
	movl	%edx, -8(%eax)
	movl	%ecx, -12(%eax)
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
	leal	-12(%eax), %esp
	popl	%eax
	popfl
	RET

.Lresume_move:
	movl	%esp, %esi
	leal	-2*PTREGS_SIZE(%eax), %esp
	movl	%esp, %edi
	movl	$(PTREGS_SIZE / 4), %ecx
	rep movsl
#ifdef CONFIG_FRAME_POINTER
	leal	-0x80000000(%esp), %ebp
#endif
	jmp	.Lkprobe_trampoline_resume

.Lkprobe_trampoline_redirect:
	movl	%esp, %eax
	call	kprobe_redirect
	jmp	.Lkprobe_trampoline_resume
SYM_CODE_END(kprobe_trampoline_popf)
_ASM_NOKPROBE(kprobe_trampoline_popf)

/*
 * kprobe_post_trampoline - call the post_handlers, after the probed instruction
 *
 * A slot or detour buffer calls this after its copy of the instruction, if there are post_handlers.
 *
 * While the post_handlers run, %esi has the address of the next instruction. If the ip in struct
 * pt_regs differs from %esi afterwards, a handler has redirected execution.
 */
SYM_CODE_START(kprobe_post_trampoline)
	KPROBE_TRAMPOLINE_PUSH_FRAME
	andl	$-KPROBE_SLOT_BYTES, %eax
	movl	(%eax), %eax
	pushl	PROBEPOINT_next_ip(%eax)
	KPROBE_TRAMPOLINE_SAVE_REGS
	KPROBE_TRAMPOLINE_CHECK_SLOWPATH .Lpost_slowpath
.Lpost_checked:
	movl	PT_EIP(%esp), %esi

	KPROBE_TRAMPOLINE_TAKE_LEVEL .Lpost_missed
	/* probepoint_call_post() */
	movl	PROBEPOINT_set(%eax), %edx
	movl	PROBE_SET_post_probe(%edx), %eax
	movl	%eax, OUR_LEVEL(KPROBE_LEVEL_probe)
	movl	%ecx, OUR_LEVEL(KPROBE_LEVEL_context)
	movl	PROBE_SET_post_handler(%edx), %ebx
	movl	%esp, %edx
	xorl	%ecx, %ecx
	CALL_NOSPEC ebx
	KPROBE_TRAMPOLINE_FIND_LEVEL
	KPROBE_TRAMPOLINE_DROP_LEVEL .Lpost_resched

.Lpost_leave:
	cmpl	PT_EIP(%esp), %esi
	jne	.Lkprobe_trampoline_redirect
	KPROBE_TRAMPOLINE_RETURN

.Lpost_slowpath:
	KPROBE_SANITIZE_FLAGS .Lpost_checked

	/*
	 * A handler that runs in this context has caused this hit, so no post_handler is called.
	 * The hit was counted as missed before the instruction was executed.
	 */
.Lpost_missed:
#ifdef CONFIG_PREEMPT_COUNT
	decl	PREEMPT_COUNT
#endif
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
	movl	-KPROBE_DETOUR_AFTER_CALL(%eax), %eax
	/* ip: one byte after the probed address, as after an int3; unwinders correct that */
	pushl	PROBEPOINT_hit_ip(%eax)
	KPROBE_TRAMPOLINE_SAVE_REGS
	KPROBE_TRAMPOLINE_CHECK_SLOWPATH .Lslowpath\@
.Lchecked\@:

	KPROBE_TRAMPOLINE_TAKE_LEVEL .Lin_c\@
	.if \several
	/* probepoint_set(); PROBE_SET_probes(%esi): the next entry of a list that ends with NULL */
	movl	PROBEPOINT_set(%eax), %esi
	movl	PROBE_SET_probes(%esi), %eax
	testl	%eax, %eax
	jz	.Lcalled\@
	.else
	/* probepoint_first() */
	movl	PROBEPOINT_first(%eax), %eax
	.endif
	movl	%eax, OUR_LEVEL(KPROBE_LEVEL_probe)
	movl	%ecx, OUR_LEVEL(KPROBE_LEVEL_context)
.Lcall\@:
	movl	%esp, %edx
	movl	KPROBE_pre_handler(%eax), %ecx
	CALL_NOSPEC ecx
	testl	%eax, %eax
	jnz	.Lredirected\@
	.if \several
	addl	$4, %esi
	movl	PROBE_SET_probes(%esi), %eax
	testl	%eax, %eax
	jz	.Lcalled\@
	movl	%eax, OUR_LEVEL(KPROBE_LEVEL_probe)
	jmp	.Lcall\@
	.endif
.Lcalled\@:
	KPROBE_TRAMPOLINE_DROP_LEVEL .Lresched\@
.Lleave\@:
	KPROBE_TRAMPOLINE_RETURN

.Lslowpath\@:
	KPROBE_SANITIZE_FLAGS .Lchecked\@

.Lin_c\@:
	movl	%esp, %edx
	call	kprobe_detour_nested
	testb	%al, %al
	jz	.Lleave\@
	jmp	.Lkprobe_trampoline_redirect

.Lredirected\@:
	movl	OUR_LEVEL(KPROBE_LEVEL_probe), %eax
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
 * kretprobe_hook() has replaced the function's return address with the address of this trampoline.
 * The call keeps the CPU's return predictor balanced, see trampolines_64.S.
 */
	RETURN_TRAMPOLINE_BEFORE __kretprobe_trampoline
SYM_CODE_START(__kretprobe_trampoline)
	call	1f
	.if . - __kretprobe_trampoline != KRETPROBE_TRAMPOLINE_CALL
	.error "is_kretprobe_trampoline() needs the size of the call"
	.endif
	int3
1:
	pushl	%ss			/* ss */
	pushl	%esp			/* sp, corrected below */
	pushfl				/* flags */
	addl	$8, 4(%esp)
	pushl	$__KERNEL_CS		/* cs */
	pushl	$__kretprobe_trampoline	/* ip; C stores the real one */
	pushl	$-1			/* orig_ax */
	KPROBE_PUSH_REGS
	movl	PT_EFLAGS(%esp), %edi
	testl	$KPROBE_UNSAFE_FLAGS, %edi
	jnz	.Lreturn_slowpath
.Lreturn_checked:

	/* C replaces the word that the call has pushed with the real return address. */
	movl	%esp, %eax
	call	kretprobe_return
	KPROBE_TRAMPOLINE_RETURN .Lreturn_popf 0

.Lreturn_popf:
	movl	PTREGS_SIZE(%esp), %eax
	movl	%eax, PT_EIP(%esp)
	leal	PTREGS_SIZE+4(%esp), %eax
	movl	%eax, PT_OLDESP(%esp)
	jmp	.Lkprobe_trampoline_resume

	/*
	 * A function may return with AC set for accesses to user memory, and its caller relies
	 * on that. Handlers run with AC clear; .Lreturn_popf restores it.
	 */
.Lreturn_slowpath:
	KPROBE_SANITIZE_FLAGS .Lreturn_checked
SYM_CODE_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

#endif /* CONFIG_KRETPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE

/*
 * kprobe_ftrace_trampoline - handle ftrace's call at the entry of a function
 *
 * The probed function calls this while no other user of ftrace is attached to it. All hits are
 * handled in C.
 */
SYM_CODE_START(kprobe_ftrace_trampoline)
	KPROBE_TRAMPOLINE_PUSH_FRAME
	/* ip: one byte after the probed address, as after an int3; unwinders correct that */
	leal	KPROBE_FTRACE_HIT_IP(%eax), %eax
	pushl	%eax
	KPROBE_TRAMPOLINE_SAVE_REGS
	KPROBE_TRAMPOLINE_CHECK_SLOWPATH .Lftrace_slowpath
.Lftrace_checked:
	movl	%esp, %eax
	call	kprobe_ftrace_hit
	testb	%al, %al
	jnz	.Lkprobe_trampoline_redirect
	KPROBE_TRAMPOLINE_RETURN

.Lftrace_slowpath:
	KPROBE_SANITIZE_FLAGS .Lftrace_checked
SYM_CODE_END(kprobe_ftrace_trampoline)
_ASM_NOKPROBE(kprobe_ftrace_trampoline)

/*
 * kprobe_just_return - return to the address on top of the stack
 *
 * A handler may have popped the probed function's return address from the stack. But the graph
 * tracer, which ftrace's trampoline calls next, expects a return address there. So
 * kprobe_ftrace_move_stack() stores the address that the handler set in regs->ip to that stack
 * slot, and sets regs->ip to this function. The RET pops the stored address.
 */
SYM_FUNC_START(kprobe_just_return)
	RET
SYM_FUNC_END(kprobe_just_return)
_ASM_NOKPROBE(kprobe_just_return)

#endif /* CONFIG_KPROBES_ON_FTRACE */
