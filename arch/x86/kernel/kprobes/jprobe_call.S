/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes on x86: the stack frame of a jprobe's handler.
 *
 * The stack, from the higher addresses down:
 *
 *	return address of x86_jprobe_call()
 *	frame pointer of its caller		<- %bp, in struct x86_jprobe_call
 *	the other registers that calls preserve
 *	copy of the probed function's arguments on the stack, at most MAX_STACK_SIZE bytes
 *	return address of the handler
 *
 * Unwinders find the caller through %bp, whatever the size of the copy.
 */
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/asm-offsets.h>
#include <asm/nospec-branch.h>
#include <asm/unwind_hints.h>
#ifdef CONFIG_X86_64
#include "../../entry/calling.h"
#endif
#include "x86.h"

	.text

#ifdef CONFIG_X86_64
#define SAVED_BYTES	40
#else
#define SAVED_BYTES	12
#endif

/*
 * bool x86_jprobe_call(struct x86_jprobe_call *call, struct pt_regs *regs)
 *
 * Call the handler with the arguments of the probed function: the registers of @regs, and a copy of
 * the arguments on the stack. Returns true if x86_jprobe_end() ended the handler; false if the
 * handler returned.
 */
SYM_FUNC_START(x86_jprobe_call)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	push	%_ASM_BX
#ifdef CONFIG_X86_64
	push	%r12
	push	%r13
	push	%r14
	push	%r15

	movq	%rbp, JPROBE_CALL_bp(%rdi)
	movq	%rsi, %r10
	movq	JPROBE_CALL_entry(%rdi), %r11
	movq	JPROBE_CALL_size(%rdi), %rcx
	movq	JPROBE_CALL_args(%rdi), %rsi
	subq	%rcx, %rsp
	movq	%rsp, %rdi
	shrq	$3, %rcx
	rep movsq

	movq	RDI(%r10), %rdi
	movq	RSI(%r10), %rsi
	movq	RDX(%r10), %rdx
	movq	RCX(%r10), %rcx
	movq	R8(%r10), %r8
	movq	R9(%r10), %r9
	/* For a function with variable arguments, %al is the number of vector registers in use. */
	movq	RAX(%r10), %rax
#ifdef CONFIG_CFI_CLANG
	call	jprobe_go_to_r11
#else
	CALL_NOSPEC r11
#endif
#else
	push	%esi
	push	%edi

	movl	%ebp, JPROBE_CALL_bp(%eax)
	movl	JPROBE_CALL_entry(%eax), %ebx
	movl	JPROBE_CALL_size(%eax), %ecx
	movl	JPROBE_CALL_args(%eax), %esi
	movl	%edx, %eax
	subl	%ecx, %esp
	movl	%esp, %edi
	shrl	$2, %ecx
	rep movsl

	movl	PT_ECX(%eax), %ecx
	movl	PT_EDX(%eax), %edx
	movl	PT_EAX(%eax), %eax
	CALL_NOSPEC ebx
#endif

	UNWIND_HINT_SAVE
	xorl	%eax, %eax
.Lended:
	lea	-SAVED_BYTES(%_ASM_BP), %_ASM_SP
#ifdef CONFIG_X86_64
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
#else
	pop	%edi
	pop	%esi
#endif
	pop	%_ASM_BX
	pop	%_ASM_BP
	RET

/*
 * void x86_jprobe_end(unsigned long bp) - continue after the call of the handler
 *
 * @bp is the frame pointer of x86_jprobe_call(). Drop the frames below it. From the mov to %bp on,
 * unwinders that use frame pointers begin at the frame of x86_jprobe_call().
 */
SYM_INNER_LABEL(x86_jprobe_end, SYM_L_GLOBAL)
	UNWIND_HINT_FUNC
	ANNOTATE_NOENDBR
	mov	%_ASM_ARG1, %_ASM_BP
	UNWIND_HINT_RESTORE
	movl	$1, %eax
	jmp	.Lended
SYM_FUNC_END(x86_jprobe_call)
_ASM_NOKPROBE(x86_jprobe_call)
_ASM_NOKPROBE(x86_jprobe_end)

#ifdef CONFIG_CFI_CLANG
/*
 * Jump to the handler, whose address is in %r11, with a return. With FineIBT an indirect call must
 * not go to the first instruction of a function, but to the check before it, which expects the hash
 * of the function's type in a register. The handler's type is not known here.
 */
SYM_FUNC_START_LOCAL(jprobe_go_to_r11)
	pushq	%r11
	UNWIND_HINT_FUNC	/* %r11 is the return address */
	RET
SYM_FUNC_END(jprobe_go_to_r11)
_ASM_NOKPROBE(jprobe_go_to_r11)
#endif
