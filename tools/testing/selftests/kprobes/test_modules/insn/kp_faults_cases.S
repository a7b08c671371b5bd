/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions that raise exceptions; kp_insn_harness.S runs them. */

#include <linux/errno.h>
#include <asm/frame.h>
#include <asm/ibt.h>
#include <asm/smap.h>
#include <asm/trapnr.h>
#include "kp_functions.S"
#include "kp_insn_macros.S"
#include "kp_faults.h"

/* A case may have loaded another ds, so use ss. */
#define KP_WAY		WIDTH(kp_insn_way(%rip), %ss:kp_insn_way)

	.set	kp_nr, 0
	.section .rodata.kp_fault_names, "a"
	.globl	kp_faults_names
kp_faults_names:
	.section .rodata.kp_faults, "a"
	.balign	4
	.globl	kp_faults
kp_faults:
	.text
	.balign	16
SYM_FUNC_START(kp_faults_text)
	RET
SYM_FUNC_END(kp_faults_text)

/*
 * FAULT "instruction", trap, pre="before;it", fixed="afterwards, with or without fix-up", flags=
 *
 * The handler of the exception table puts the trap's number into ax. The outcome is written by
 * an instruction that does not change flags.
 */
.macro FAULT code:req, trap:req, pre, fixed, flags=0
	.text
	.balign	16
	.type	kp_fault_\@, @function
kp_fault_\@:
	ENDBR
	\pre
.Lprobed_\@:
	\code
.Lnext_\@:
	movb	$KP_WENT_ON, KP_WAY
	jmp	.Lout_\@
.Lfixed_\@:
	movb	$KP_FIXED_UP, KP_WAY
.Lout_\@:
	\fixed
	jmp	kp_insn_done
	int3
	.size	kp_fault_\@, . - kp_fault_\@
	STACK_FRAME_NON_STANDARD kp_fault_\@
	.if	!((\flags) & KP_NO_EXTABLE)
	_ASM_EXTABLE_FAULT(.Lprobed_\@, .Lfixed_\@)
	.endif

	.section .rodata.kp_fault_names, "a"
.Lname_\@:
	.asciz	"\code"
	.section .rodata.kp_faults, "a"
	.long	kp_fault_\@ - kp_faults_text
	.long	.Lprobed_\@ - kp_faults_text
	.long	.Lnext_\@ - kp_faults_text
	.long	.Lfixed_\@ - kp_faults_text
	.long	.Lname_\@ - kp_faults_names
	.short	(\trap)
	.short	(\flags)
	.set	kp_nr, kp_nr + 1
	.text
.endm

/* For strings, in which the preprocessor expands no macros */
.macro KP_STAC
	ASM_STAC
.endm

.macro KP_CLAC
	ASM_CLAC
.endm

/* Nothing is mapped in the last page. */
#define BAD(reg)	mov $-4096, %reg
#define BAD_KERNEL	W(BAD(BX))
#define MEM_EDGE	WIDTH(kp_faults_edge(%rip), kp_faults_edge)
/* An unmapped address of user space. With SMAP, an access without AC would be an oops. */
#define BAD_USER	"xor %ebx, %ebx; KP_STAC"

.macro PAGE_FAULT code:req, pre=BAD_KERNEL
	FAULT "\code", X86_TRAP_PF, pre="\pre"
.endm

.macro PAGE_FAULTS codes:vararg
.irp code, \codes
	PAGE_FAULT "\code"
.endr
.endm

/* Reads and writes of kernel addresses */
PAGE_FAULTS W(mov (%BX), %CX), W(mov %CX, 8(%BX)), W(add %CX, (%BX)), W(lock xadd %CX, (%BX))
PAGE_FAULTS W(xchg %CX, (%BX)), W(lock cmpxchg %CX, (%BX)), W(adc (%BX), %DX)
PAGE_FAULTS W(SIZED(push) (%BX)), W(SIZED(pop) (%BX))
PAGE_FAULT W(movb $1, (%BX, %INDEX, 8)), pre=W(BAD(BX); and $7, %INDEX)
PAGE_FAULT W(mov -16(%BX), %BX), pre=W(mov $-2048, %BX)
PAGE_FAULT W(bt %CX, (%BX)), pre=W(mov $-2048, %BX; and $63, %ecx)
PAGE_FAULT W(SIZED(lods)), pre=W(mov $-2048, %SI)
PAGE_FAULT "rep stosb", pre=W(cld; BAD(DI); mov $64, %ecx)
/* The string instruction reaches the unmapped page after 16 bytes. */
PAGE_FAULT "rep movsb", pre=W(cld; mov MEM_EDGE, %SI; mov $64, %ecx)
PAGE_FAULT W(rep SIZED(movs)), pre=W(cld; mov MEM_EDGE, %SI; mov $9, %ecx)
/* Branches that kprobes emulates if it can read the target */
PAGE_FAULT W(jmp *(%BX)), pre=W(BAD(BX); RETPOLINE_SAFE)
PAGE_FAULT W(call *8(%BX)), pre=W(BAD(BX); RETPOLINE_SAFE)
FAULT W(mov 16(%BX), %DX), X86_TRAP_PF, pre=BAD_USER, fixed="KP_CLAC"
FAULT W(movl $1, 32(%BX)), X86_TRAP_PF, pre=BAD_USER, fixed="KP_CLAC"
#ifndef CONFIG_X86_64
PAGE_FAULTS "les (%ebx), %ecx", "arpl %cx, (%ebx)"
PAGE_FAULTS "mov -4096, %eax", "mov %eax, -4096"
PAGE_FAULT "lock cmpxchg8b (%edi)", pre=W(BAD(edi))
PAGE_FAULT "xlat", pre=W(BAD(ebx); movzbl %al, %eax)
/* An address of 16 bits is always one of user space. */
FAULT "mov (%bx), %edx", X86_TRAP_PF, pre=BAD_USER, fixed="KP_CLAC"
#endif

/* Divisions by zero, or whose result is too large */
FAULT "div %ecx", X86_TRAP_DE, pre="xor %ecx, %ecx"
FAULT W(div %CX), X86_TRAP_DE, pre="mov $1, %ecx; mov $2, %edx"
FAULT W(idivl 64(%BX)), X86_TRAP_DE, pre=W(movl $0, 64(%BX))

/* Invalid: lock mov, which some emulators execute; lock add; a move to cr1 */
FAULT W(.byte 0xf0; mov %CX, (%BX)), X86_TRAP_UD, flags=KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xc8", X86_TRAP_UD
FAULT ".byte 0x0f, 0x22, 0xc8", X86_TRAP_UD

/* Selectors beyond the descriptor table */
#define BAD_SELECTOR	"mov $0xfff8, %ecx"
FAULT "mov %ecx, %ds", X86_TRAP_GP, pre=BAD_SELECTOR
FAULT "mov %ecx, %es", X86_TRAP_GP, pre=BAD_SELECTOR
FAULT W(WIDTH(lretq, lret)), X86_TRAP_GP, pre="push $0xfff8; push $1"

#ifdef CONFIG_X86_64
#define NO_ADDRESS(reg)	movabs $0x5a5a5a5a5a5a5a00, %reg
#define NON_CANONICAL	W(NO_ADDRESS(rbx))

FAULT "mov (%rbx), %r8", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "mov %r8, (%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "orl $1, 64(%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "jmp *16(%rbx)", X86_TRAP_GP, pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE)
/* Branches to a non-canonical address */
FAULT "jmp *%rbx", X86_TRAP_GP, pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE), flags=KP_BRANCHES
FAULT "call *%rbx", X86_TRAP_GP, pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE), flags=KP_BRANCHES
FAULT "jmp *(%rbx)", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rcx); mov %rcx, (%rbx); RETPOLINE_SAFE)
FAULT "ret", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rbx); push %rbx; ANNOTATE_UNRET_SAFE)
FAULT "ret $8", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rbx); push %rbx; push %rbx; ANNOTATE_UNRET_SAFE)
FAULT "lretq", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rbx); mov %cs, %ecx; push %rcx; push %rbx)
/* An access through rbp may raise #SS or, as through other registers, #GP. Trap 0: accept both. */
FAULT "mov (%rbp), %r9", 0, pre=W(NO_ADDRESS(rbp))
#else
/* Null selectors, which allow no access, except in some emulators */
#define NULL_SEG(seg)	xor %ecx, %ecx; mov %ecx, %seg

FAULT "mov (%ebx), %ecx", X86_TRAP_GP, pre=W(NULL_SEG(ds)), flags=KP_MAY_FAULT
FAULT "mov %es:(%ebx), %ecx", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_MAY_FAULT
FAULT "mov %eax, %es:(%ebx)", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_MAY_FAULT
FAULT "orl $1, %gs:64(%ebx)", X86_TRAP_GP, pre=W(NULL_SEG(gs)), flags=KP_MAY_FAULT
FAULT "stosl", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_MAY_FAULT
FAULT "mov %ecx, %gs", X86_TRAP_GP, pre=BAD_SELECTOR
FAULT "pop %es", X86_TRAP_GP, pre="push $0xfff8"
FAULT "les (%ebx), %ecx", X86_TRAP_GP, pre="movw $0xfff8, 4(%ebx)"
FAULT "lds (%ebx), %ecx", X86_TRAP_GP, pre="movw $0xfff8, 4(%ebx)"
FAULT "fxsave 8(%ebx)", X86_TRAP_GP, flags=KP_X87
FAULT "fxrstor 8(%ebx)", X86_TRAP_GP, flags=KP_X87
FAULT "aam $0", X86_TRAP_DE
#endif

/* A pending exception of the FPU, which the next FPU instruction raises */
FAULT "fwait", X86_TRAP_MF, flags=KP_X87|KP_MAY_FAULT, fixed="fninit", \
	pre=W(fninit; movw $0x033b, (%BX); fldcw (%BX); fld1; fldz; fdivrp)

/* Exceptions of the same kinds, but without a fix-up in the exception table */
FAULT W(mov %R11, (%BX)), X86_TRAP_PF, pre=BAD_KERNEL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT W(call *(%BX)), X86_TRAP_PF, flags=KP_NO_EXTABLE|KP_OOPS, \
	pre=W(BAD(BX); RETPOLINE_SAFE)
FAULT W(div %R10D), X86_TRAP_DE, pre=W(xor %R10D, %R10D), flags=KP_NO_EXTABLE
FAULT W(.byte 0xf0; mov %AX, (%BX)), X86_TRAP_UD, flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xca", X86_TRAP_UD, flags=KP_NO_EXTABLE
#ifdef CONFIG_X86_64
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE
FAULT "mov (%rbx), %r10", X86_TRAP_GP, pre=NON_CANONICAL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "rep stosq", X86_TRAP_GP, flags=KP_NO_EXTABLE, pre=W(cld; NO_ADDRESS(rdi); mov $8, %ecx)
FAULT "call *(%rbx)", X86_TRAP_GP, flags=KP_NO_EXTABLE, \
	pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE)
#else
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE|KP_OOPS
FAULT "mov %es:(%ebx), %edi", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT "fxsave 8(%ebx)", X86_TRAP_GP, flags=KP_X87|KP_NO_EXTABLE
/* Exceptions for which the kernel does not search the exception tables */
FAULT "bound %ecx, (%ebx)", X86_TRAP_BR, flags=KP_NO_EXTABLE, \
	pre="movl $1, (%ebx); movl $2, 4(%ebx); xor %ecx, %ecx"
FAULT "bound %cx, kp_insn_mem+256", X86_TRAP_BR, flags=KP_NO_EXTABLE, \
	pre="movl $0x00020001, (%ebx); mov $7, %ecx"
#endif

	.section .rodata.kp_faults, "a"
SYM_DATA(kp_faults_nr, .long kp_nr)

	.bss
	.balign	8
/* 16 bytes before an unmapped page */
SYM_DATA(kp_faults_edge, _ASM_PTR 0)

	.text

/*
 * An access to user memory. @before sets up registers, @success and @failure set the result,
 * @after restores registers.
 */
.macro USER_ACCESS name:req, code:req, before, success, failure, after
SYM_FUNC_START(kp_user_\name)
	\before
	ASM_STAC
.Luser_\name:
	\code
	\success
.Luser_\name\()_out:
	ASM_CLAC
	\after
	RET
.Luser_\name\()_failed:
	\failure
	jmp	.Luser_\name\()_out
SYM_FUNC_END(kp_user_\name)
	_ASM_EXTABLE_UA(.Luser_\name, .Luser_\name\()_failed)
KP_OFFSETS kp_user_\name .Luser_\name
.endm

#define FAILED		failure=W(mov $-EFAULT, %AX)

USER_ACCESS load, W(mov (%_ASM_ARG1), %AX), FAILED
USER_ACCESS store, W(mov %_ASM_ARG2, (%_ASM_ARG1)), success="xor %eax, %eax", FAILED
USER_ACCESS add, W(lock xadd %DX, (%_ASM_ARG1)), before=W(mov %_ASM_ARG2, %DX), \
	success=W(mov %DX, %AX), FAILED
#ifdef CONFIG_X86_64
USER_ACCESS move, "rep movsb", before="mov %rdx, %rcx", success="mov %rcx, %rax", \
	failure="mov %rcx, %rax"
#else
USER_ACCESS move, "rep movsb", success="mov %ecx, %eax", failure="mov %ecx, %eax", \
	before="push %edi; push %esi; mov %eax, %edi; mov %edx, %esi", after="pop %esi; pop %edi"
#endif

SYM_FUNC_START(kp_kernel_load)
	nop
.Lkernel_load:
	mov	(%_ASM_ARG1), %_ASM_AX
.Lkernel_load_end:
	RET
.Lkernel_load_failed:
	mov	$-EFAULT, %_ASM_AX
	RET
SYM_FUNC_END(kp_kernel_load)
_ASM_EXTABLE(.Lkernel_load, .Lkernel_load_failed)

/*
 * Call kp_called(), or jump to it, through a pointer in memory. After the jump, kp_called() returns
 * to the caller of kp_kernel_jump().
 */
SYM_FUNC_START(kp_kernel_call)
	FRAME_BEGIN
.Lkernel_call:
	RETPOLINE_SAFE
	call	*(%_ASM_ARG1)
.Lkernel_call_end:
	FRAME_END
	RET
.Lkernel_call_failed:
	mov	$-EFAULT, %_ASM_AX
	jmp	.Lkernel_call_end
SYM_FUNC_END(kp_kernel_call)
_ASM_EXTABLE(.Lkernel_call, .Lkernel_call_failed)

SYM_FUNC_START(kp_kernel_jump)
.Lkernel_jump:
	RETPOLINE_SAFE
	jmp	*(%_ASM_ARG1)
.Lkernel_jump_failed:
	mov	$-EFAULT, %_ASM_AX
	RET
SYM_FUNC_END(kp_kernel_jump)
_ASM_EXTABLE(.Lkernel_jump, .Lkernel_jump_failed)

SYM_FUNC_START(kp_called)
	ENDBR
	mov	$KP_GOOD_VALUE, %_ASM_AX
	RET
SYM_FUNC_END(kp_called)

SYM_FUNC_START(kp_watched_store)
	nop
.Lwatched_store:
	mov	%_ASM_ARG2, (%_ASM_ARG1)
.Lwatched_store_end:
	nop
	RET
SYM_FUNC_END(kp_watched_store)

SYM_FUNC_START(kp_plain)
	mov	%_ASM_ARG1, %_ASM_AX
.Lplain:
	add	$1, %_ASM_AX
	RET
SYM_FUNC_END(kp_plain)

SYM_FUNC_START(kp_foreign_int3)
	mov	%_ASM_ARG1, %_ASM_AX
.Lforeign_nop:
	nop
.Lforeign_before:
	add	$2, %_ASM_AX
.Lforeign_int3:
	int3
.Lforeign_after:
	sub	$1, %_ASM_AX
	RET
SYM_FUNC_END(kp_foreign_int3)

KP_OFFSETS kp_kernel_load .Lkernel_load
KP_OFFSETS kp_kernel_call .Lkernel_call
KP_OFFSETS kp_kernel_jump .Lkernel_jump
KP_OFFSETS kp_watched_store .Lwatched_store, .Lwatched_store_end
KP_OFFSETS kp_plain .Lplain
KP_OFFSETS kp_foreign_int3 .Lforeign_nop, .Lforeign_before, .Lforeign_int3, .Lforeign_after
	.section .rodata, "a"
SYM_DATA(kp_kernel_load_end, .long .Lkernel_load_end - kp_kernel_load)
