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

#ifdef CONFIG_X86_64
#define KP_OUTCOME	_ASM_RIP(kp_faults_outcome)
#else
/* A case may have another ds. */
#define KP_OUTCOME	%ss:kp_faults_outcome
#endif

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
 * What the exception table does here is to put the trap's number into ax. The
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
	movb	$KP_WENT_ON, KP_OUTCOME
	jmp	.Lout_\@
.Lfixed_\@:
	movb	$KP_FIXED_UP, KP_OUTCOME
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

#ifdef CONFIG_X86_64
#include "kp_faults_cases_64.S"
#else
#include "kp_faults_cases_32.S"
#endif

	.section .rodata.kp_faults, "a"
SYM_DATA(kp_faults_nr, .long kp_nr)

	.bss
SYM_DATA(kp_faults_outcome, .byte 0)
	.balign	8
/* 16 bytes before the end of what is mapped. */
SYM_DATA(kp_faults_edge, _ASM_PTR 0)

	.text

SYM_FUNC_START(kp_user_load)
	ASM_STAC
.Luser_load:
	mov	(%_ASM_ARG1), %_ASM_AX
	ASM_CLAC
	RET
.Luser_load_failed:
	mov	$-EFAULT, %_ASM_AX
	ASM_CLAC
	RET
SYM_FUNC_END(kp_user_load)
_ASM_EXTABLE_UA(.Luser_load, .Luser_load_failed)

SYM_FUNC_START(kp_user_store)
	ASM_STAC
.Luser_store:
	mov	%_ASM_ARG2, (%_ASM_ARG1)
	ASM_CLAC
	xor	%eax, %eax
	RET
.Luser_store_failed:
	mov	$-EFAULT, %_ASM_AX
	ASM_CLAC
	RET
SYM_FUNC_END(kp_user_store)
_ASM_EXTABLE_UA(.Luser_store, .Luser_store_failed)

SYM_FUNC_START(kp_user_add)
	mov	%_ASM_ARG2, %_ASM_DX
	ASM_STAC
.Luser_add:
	lock xadd %_ASM_DX, (%_ASM_ARG1)
	ASM_CLAC
	mov	%_ASM_DX, %_ASM_AX
	RET
.Luser_add_failed:
	mov	$-EFAULT, %_ASM_AX
	ASM_CLAC
	RET
SYM_FUNC_END(kp_user_add)
_ASM_EXTABLE_UA(.Luser_add, .Luser_add_failed)

SYM_FUNC_START(kp_user_move)
#ifdef CONFIG_X86_64
	mov	%rdx, %rcx
#else
	push	%edi
	push	%esi
	mov	%eax, %edi
	mov	%edx, %esi
#endif
	ASM_STAC
.Luser_move:
	rep movsb
.Luser_move_failed:
	ASM_CLAC
	mov	%_ASM_CX, %_ASM_AX
#ifndef CONFIG_X86_64
	pop	%esi
	pop	%edi
#endif
	RET
SYM_FUNC_END(kp_user_move)
_ASM_EXTABLE_UA(.Luser_move, .Luser_move_failed)

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

/* What a watchpoint is set to is written by one instruction. */
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

	.section .rodata, "a"
	.balign	4
SYM_DATA(kp_user_load_insn, .long .Luser_load - kp_user_load)
SYM_DATA(kp_user_store_insn, .long .Luser_store - kp_user_store)
SYM_DATA(kp_user_add_insn, .long .Luser_add - kp_user_add)
SYM_DATA(kp_user_move_insn, .long .Luser_move - kp_user_move)
SYM_DATA(kp_kernel_load_insn, .long .Lkernel_load - kp_kernel_load)
SYM_DATA(kp_kernel_load_end, .long .Lkernel_load_end - kp_kernel_load)
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
