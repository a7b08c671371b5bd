/* SPDX-License-Identifier: GPL-2.0 */
/* Functions with instructions that fault or trap. kp_faults has others in kp_insn_table.S. */

#include <linux/errno.h>
#include <asm/frame.h>
#include <asm/smap.h>
#include "kp_functions.S"
#include "kp_insn_macros.S"
#include "kp_faults.h"

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
