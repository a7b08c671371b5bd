/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes on 32-bit x86: the trampolines. Slots, detour buffers and ftrace's call sites call
 * them, and functions with a return probe return to one.
 *
 * trampolines_64.S has the drawings of slots, detour buffers and stacks. In 32-bit mode:
 *
 * - A trampoline saves the registers in a struct pt_regs, calls one C function, and restores them.
 *   That function does what the code in trampolines_64.S does between the two. It costs some 20
 *   instructions more.
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
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/kprobes.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include "x86.h"

	.text

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

/* Pop the registers of struct pt_regs from bx to bp. */
.macro KPROBE_POP_REGS
	popl	%ebx
	popl	%ecx
	popl	%edx
	popl	%esi
	popl	%edi
	popl	%ebp
.endm

/*
 * Begin to save the registers, below the word that the call pushed. Leaves that word in %eax.
 * The code after this macro has to push the ip of struct pt_regs, which is below cs: unwinders
 * recognise the registers by it as soon as they are saved.
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

/*
 * Load the saved flags into %edi, and call the C function @function. @regs: the register for its
 * argument @regs.
 *
 * If one of KPROBE_UNSAFE_FLAGS is set, first clear those that C code must not run with. %edi is -1
 * then, which never equals the saved flags.
 */
.macro KPROBE_CALL_C function:req regs:req
	movl	PT_EFLAGS(%esp), %edi
	testl	$KPROBE_UNSAFE_FLAGS, %edi
	jz	.Lsafe_flags\@
	pushfl
	andl	$~(X86_EFLAGS_DF | X86_EFLAGS_NT | X86_EFLAGS_AC), (%esp)
	popfl
	orl	$-1, %edi
.Lsafe_flags\@:
	movl	%esp, \regs
	call	\function
.endm

/*
 * Restore all registers, and return to the address @gap bytes above them. Load the arithmetic flags
 * with sahf, see trampolines_64.S; or with popf if %edi is -1, or if it differs from the saved
 * flags because a handler has changed these.
 */
.macro KPROBE_RETURN gap:req
	cmpl	PT_EFLAGS(%esp), %edi
	jne	.Lpopf\@
	cmpb	$-0x78, PT_EFLAGS+1(%esp)
	movb	PT_EFLAGS(%esp), %ah
	sahf
	KPROBE_POP_REGS
	popl	%eax
	leal	PTREGS_SIZE-PT_DS+\gap(%esp), %esp
	RET

.Lpopf\@:
	movl	PTREGS_SIZE+\gap(%esp), %eax
	movl	%eax, PT_EIP(%esp)
	leal	PTREGS_SIZE+\gap+4(%esp), %eax
	movl	%eax, PT_OLDESP(%esp)
	jmp	kprobe_trampoline_popf
.endm

/*
 * Save the registers that are below ip in struct pt_regs, call @function, and return to the word
 * that the call of the trampoline pushed; or to regs->ip if @function returns true. If @regs is
 * %edx, the value of %eax is the first argument of @function.
 */
.macro KPROBE_TRAMPOLINE function:req regs=%edx
	pushl	$-1			/* orig_ax, as a breakpoint has it */
	KPROBE_PUSH_REGS ax=KPROBE_TRAMPOLINE_GAP+36(%esp)
	KPROBE_CALL_C \function, \regs
	testb	%al, %al
	jnz	kprobe_trampoline_redirect
	KPROBE_RETURN gap=KPROBE_TRAMPOLINE_GAP
.endm

/*
 * kprobe_trampoline_popf - load all registers and the flags, and return
 *
 * See trampolines_64.S. Here %eax has the new stack pointer S. The word at S - 12 is the saved
 * value of %eax, which is popped before the flags. Unwinders use the encoded frame pointer until
 * %ebp is popped.
 */
SYM_CODE_START_LOCAL(kprobe_trampoline_popf)
	movl	PT_OLDESP(%esp), %eax
	leal	PTREGS_SIZE(%esp), %edx
	cmpl	%edx, %eax
	jb	.Lpopf_move
	movl	PT_EIP(%esp), %ecx
	movl	PT_EFLAGS(%esp), %edx
	movl	%ecx, -4(%eax)
	movl	PT_EAX(%esp), %ecx
	movl	%edx, -8(%eax)
	movl	%ecx, -12(%eax)
	KPROBE_POP_REGS
	leal	-12(%eax), %esp
	popl	%eax
	popfl
	RET

.Lpopf_move:
	movl	%esp, %esi
	leal	-2*PTREGS_SIZE(%eax), %esp
	movl	%esp, %edi
	movl	$(PTREGS_SIZE / 4), %ecx
	rep movsl
#ifdef CONFIG_FRAME_POINTER
	leal	-0x80000000(%esp), %ebp
#endif
	jmp	kprobe_trampoline_popf
SYM_CODE_END(kprobe_trampoline_popf)
_ASM_NOKPROBE(kprobe_trampoline_popf)

/* kprobe_trampoline_redirect - return to where a handler has redirected execution */
SYM_CODE_START_LOCAL(kprobe_trampoline_redirect)
	movl	%esp, %eax
	call	kprobe_redirect
	jmp	kprobe_trampoline_popf
SYM_CODE_END(kprobe_trampoline_redirect)
_ASM_NOKPROBE(kprobe_trampoline_redirect)

/*
 * kprobe_post_trampoline - call the post_handlers, after the probed instruction
 *
 * A slot or detour buffer calls this after its copy of the instruction, if there are post_handlers.
 */
SYM_CODE_START(kprobe_post_trampoline)
	KPROBE_TRAMPOLINE_PUSH_FRAME
	andl	$-KPROBE_SLOT_BYTES, %eax
	movl	(%eax), %eax
	pushl	PROBEPOINT_next_ip(%eax)
	KPROBE_TRAMPOLINE kprobe_post_hit
SYM_CODE_END(kprobe_post_trampoline)
_ASM_NOKPROBE(kprobe_post_trampoline)

#ifdef CONFIG_OPTPROBES

.macro KPROBE_DETOUR_TRAMPOLINE function:req
	KPROBE_TRAMPOLINE_PUSH_FRAME
	movl	-KPROBE_DETOUR_AFTER_CALL(%eax), %eax
	/* ip: one byte after the probed address, as after an int3; unwinders correct that */
	pushl	PROBEPOINT_hit_ip(%eax)
	KPROBE_TRAMPOLINE \function
.endm

/*
 * kprobe_detour_trampoline - call the pre_handler of the only probe that has one
 *
 * A detour buffer calls this, unless several probes have a pre_handler, see trampolines_64.S.
 */
SYM_CODE_START(kprobe_detour_trampoline)
	KPROBE_DETOUR_TRAMPOLINE kprobe_detour_hit
SYM_CODE_END(kprobe_detour_trampoline)
_ASM_NOKPROBE(kprobe_detour_trampoline)

/*
 * kprobe_detour_multi_trampoline - call the pre_handlers of several probes
 *
 * A detour buffer calls this if several probes have a pre_handler.
 */
SYM_CODE_START(kprobe_detour_multi_trampoline)
	KPROBE_DETOUR_TRAMPOLINE kprobe_detour_multi_hit
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
	/*
	 * A function may return with AC set for accesses to user memory, and its caller relies
	 * on that. Handlers run with AC clear, and KPROBE_RETURN restores it.
	 */
	KPROBE_CALL_C kretprobe_return, regs=%eax
	/* C has replaced the word that the call has pushed with the real return address. */
	KPROBE_RETURN gap=0
SYM_CODE_END(__kretprobe_trampoline)
_ASM_NOKPROBE(__kretprobe_trampoline)

#endif /* CONFIG_KRETPROBES */

#ifdef CONFIG_KPROBES_ON_FTRACE

/*
 * kprobe_ftrace_trampoline - handle ftrace's call at the entry of a function
 *
 * The probed function calls this while no other user of ftrace is attached to it.
 */
SYM_CODE_START(kprobe_ftrace_trampoline)
	KPROBE_TRAMPOLINE_PUSH_FRAME
	/* ip: one byte after the probed address, as after an int3; unwinders correct that */
	leal	KPROBE_FTRACE_HIT_IP(%eax), %eax
	pushl	%eax
	KPROBE_TRAMPOLINE kprobe_ftrace_hit, regs=%eax
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
