/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions that raise exceptions. What runs them, from registers that are known,
 * is the same as for the instruction matrix, see kp_insn_harness.S.
 */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/smap.h>
#include <asm/trapnr.h>
#include "kp_faults.h"

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
 * FAULT "instruction", trap, pre="before;it", fixed="at the fix-up", flags=
 *
 * What the exception table does here is to put the trap's number into rax. The
 * outcome is noted by an instruction that leaves the flags alone.
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
	movb	$KP_WENT_ON, kp_faults_outcome(%rip)
	jmp	.Lout_\@
.Lfixed_\@:
	movb	$KP_FIXED_UP, kp_faults_outcome(%rip)
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

/* To be named in a string. */
.macro STAC
	ASM_STAC
.endm

.macro CLAC
	ASM_CLAC
.endm

/* Nothing is mapped in the last page. */
#define BAD_KERNEL	"mov $-4096, %rbx"
#define NON_CANONICAL	"movabs $0x5a5a5a5a5a5a5a00, %rbx"

/* Reads and writes of kernel addresses where nothing is. */
FAULT "mov (%rbx), %rcx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "mov %rcx, 8(%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "movb $1, (%rbx, %r15, 8)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "mov -16(%rbx), %rbx", X86_TRAP_PF, pre="mov $-2048, %rbx"
FAULT "add %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock xadd %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "xchg %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock cmpxchg %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "adc (%rbx), %rdx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "bt %rcx, (%rbx)", X86_TRAP_PF, pre="mov $-2048, %rbx; and $63, %ecx"
FAULT "push (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "pop (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lodsq", X86_TRAP_PF, pre="mov $-2048, %rsi"
FAULT "rep stosb", X86_TRAP_PF, pre="cld; mov $-4096, %rdi; mov $64, %ecx"
/* After 16 bytes it gets to where nothing is. */
FAULT "rep movsb", X86_TRAP_PF, pre="cld; mov kp_faults_edge(%rip), %rsi; mov $64, %ecx"
FAULT "rep movsq", X86_TRAP_PF, pre="cld; mov kp_faults_edge(%rip), %rsi; mov $9, %ecx"
/* What is emulated when it can be. */
FAULT "jmp *(%rbx)", X86_TRAP_PF, pre="mov $-4096, %rbx; ANNOTATE_RETPOLINE_SAFE"
FAULT "call *8(%rbx)", X86_TRAP_PF, pre="mov $-4096, %rbx; ANNOTATE_RETPOLINE_SAFE"

/* A user's address where nothing is; without AC it would be no fault to fix up. */
FAULT "mov 16(%rbx), %rdx", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"
FAULT "movl $1, 32(%rbx)", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"

/* Addresses that are none. */
FAULT "mov (%rbx), %r8", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "mov %r8, (%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "orl $1, 64(%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "jmp *16(%rbx)", X86_TRAP_GP, pre="movabs $0x5a5a5a5a5a5a5a00, %rbx; ANNOTATE_RETPOLINE_SAFE"

/* Divisions that cannot be done. */
FAULT "div %ecx", X86_TRAP_DE, pre="xor %ecx, %ecx"
FAULT "div %rcx", X86_TRAP_DE, pre="mov $1, %ecx; mov $2, %edx"
FAULT "idivl 64(%rbx)", X86_TRAP_DE, pre="movl $0, 64(%rbx)"

/* Encodings that are no instructions: lock mov, which some emulators let pass, and lock add. */
FAULT ".byte 0xf0, 0x48, 0x89, 0x0b", X86_TRAP_UD, flags=KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xc8", X86_TRAP_UD

/* What is stepped: selectors of nothing, a control register that is none. */
FAULT "mov %ecx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT "mov %ecx, %es", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT ".byte 0x0f, 0x22, 0xc8", X86_TRAP_UD

/* The stack segment's own exception, or that of any other address. */
FAULT "mov (%rbp), %r9", 0, pre="movabs $0x5a5a5a5a5a5a5a00, %rbp"

/* An exception of the FPU that is raised by the next instruction of it. */
FAULT "fwait", X86_TRAP_MF, flags=KP_X87|KP_MAY_FAULT, \
	pre="fninit; movw $0x033b, (%rbx); fldcw (%rbx); fld1; fldz; fdivrp", fixed="fninit"

/* As above, but nobody fixes anything up. */
FAULT "mov (%rbx), %r10", X86_TRAP_GP, pre=NON_CANONICAL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "mov %r11, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "call *(%rbx)", X86_TRAP_PF, flags=KP_NO_EXTABLE|KP_OOPS, \
	pre="mov $-4096, %rbx; ANNOTATE_RETPOLINE_SAFE"
FAULT "rep stosq", X86_TRAP_GP, flags=KP_NO_EXTABLE, \
	pre="cld; movabs $0x5a5a5a5a5a5a5a00, %rdi; mov $8, %ecx"
FAULT "call *(%rbx)", X86_TRAP_GP, flags=KP_NO_EXTABLE, \
	pre="movabs $0x5a5a5a5a5a5a5a00, %rbx; ANNOTATE_RETPOLINE_SAFE"
FAULT "div %r8d", X86_TRAP_DE, pre="xor %r8d, %r8d", flags=KP_NO_EXTABLE
FAULT ".byte 0xf0, 0x48, 0x89, 0x03", X86_TRAP_UD, flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xca", X86_TRAP_UD, flags=KP_NO_EXTABLE
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE

	.section .rodata.kp_faults, "a"
SYM_DATA(kp_faults_nr, .long kp_nr)

	.bss
SYM_DATA(kp_faults_outcome, .byte 0)
	.balign	8
/* 16 bytes before the end of what is mapped. */
SYM_DATA(kp_faults_edge, .quad 0)

	.text

SYM_FUNC_START(kp_user_load)
	ASM_STAC
.Luser_load:
	mov	(%rdi), %rax
	ASM_CLAC
	RET
.Luser_load_failed:
	mov	$-EFAULT, %rax
	ASM_CLAC
	RET
SYM_FUNC_END(kp_user_load)
_ASM_EXTABLE_UA(.Luser_load, .Luser_load_failed)

SYM_FUNC_START(kp_user_store)
	xor	%eax, %eax
	ASM_STAC
.Luser_store:
	mov	%rsi, (%rdi)
	ASM_CLAC
	RET
.Luser_store_failed:
	mov	$-EFAULT, %rax
	ASM_CLAC
	RET
SYM_FUNC_END(kp_user_store)
_ASM_EXTABLE_UA(.Luser_store, .Luser_store_failed)

SYM_FUNC_START(kp_user_add)
	mov	%rsi, %rax
	ASM_STAC
.Luser_add:
	lock xadd %rax, (%rdi)
	ASM_CLAC
	RET
.Luser_add_failed:
	mov	$-EFAULT, %rax
	ASM_CLAC
	RET
SYM_FUNC_END(kp_user_add)
_ASM_EXTABLE_UA(.Luser_add, .Luser_add_failed)

SYM_FUNC_START(kp_user_move)
	mov	%rdx, %rcx
	ASM_STAC
.Luser_move:
	rep movsb
.Luser_move_failed:
	ASM_CLAC
	mov	%rcx, %rax
	RET
SYM_FUNC_END(kp_user_move)
_ASM_EXTABLE_UA(.Luser_move, .Luser_move_failed)

SYM_FUNC_START(kp_kernel_load)
	nop
.Lkernel_load:
	mov	(%rdi), %rax
	RET
.Lkernel_load_failed:
	mov	$-EFAULT, %rax
	RET
SYM_FUNC_END(kp_kernel_load)
_ASM_EXTABLE(.Lkernel_load, .Lkernel_load_failed)

/* What a watchpoint is set to is written by one instruction. */
SYM_FUNC_START(kp_watched_store)
	nop
.Lwatched_store:
	mov	%rsi, (%rdi)
.Lwatched_store_end:
	nop
	RET
SYM_FUNC_END(kp_watched_store)

SYM_FUNC_START(kp_plain)
	mov	%rdi, %rax
.Lplain:
	add	$1, %rax
	RET
SYM_FUNC_END(kp_plain)

SYM_FUNC_START(kp_foreign_int3)
	mov	%rdi, %rax
.Lforeign_nop:
	nop
.Lforeign_before:
	add	$2, %rax
.Lforeign_int3:
	int3
.Lforeign_after:
	sub	$1, %rax
	RET
SYM_FUNC_END(kp_foreign_int3)

	.section .rodata, "a"
	.balign	4
SYM_DATA(kp_user_load_insn, .long .Luser_load - kp_user_load)
SYM_DATA(kp_user_store_insn, .long .Luser_store - kp_user_store)
SYM_DATA(kp_user_add_insn, .long .Luser_add - kp_user_add)
SYM_DATA(kp_user_move_insn, .long .Luser_move - kp_user_move)
SYM_DATA(kp_kernel_load_insn, .long .Lkernel_load - kp_kernel_load)
SYM_DATA_START(kp_watched_store_insn)
	.long	.Lwatched_store - kp_watched_store
	.long	.Lwatched_store_end - kp_watched_store
SYM_DATA_END(kp_watched_store_insn)
SYM_DATA(kp_plain_insn, .long .Lplain - kp_plain)
SYM_DATA_START(kp_foreign_insn)
	.long	.Lforeign_nop - kp_foreign_int3
	.long	.Lforeign_before - kp_foreign_int3
	.long	.Lforeign_int3 - kp_foreign_int3
	.long	.Lforeign_after - kp_foreign_int3
SYM_DATA_END(kp_foreign_insn)
