/* SPDX-License-Identifier: GPL-2.0 */

#include <linux/cfi_types.h>
#include <asm/frame.h>
#include <asm/smap.h>
#include "kp_functions.S"
#include "kp_inc.h"
#include "kp_opt_suites.h"

	.text

/* Instructions of two bytes. Argument registers are kept, for a redirection to another function. */
SYM_FUNC_START(kp_opt_row)
	xor	%ecx, %ecx
	.rept	KP_ROW_INSNS - 1
	KP_INC_ECX
	.endr
	add	$1, %_ASM_CX
	nop
	nop
	mov	%_ASM_CX, %_ASM_AX
	RET
SYM_FUNC_END(kp_opt_row)

.macro SUM name first:vararg
SYM_FUNC_START(\name)
.L\name\()_mov:
	\first
.L\name\()_add:
	add	%_ASM_ARG2, %_ASM_CX
.L\name\()_cmp:
	cmp	%_ASM_CX, %_ASM_ARG1
	nop
	nop
	mov	%_ASM_CX, %_ASM_AX
	RET
SYM_FUNC_END(\name)
.endm

SUM kp_opt_sum, mov %_ASM_ARG1, %_ASM_CX
SUM kp_opt_sum_other, mov %_ASM_ARG1, %_ASM_CX
/* A jump fits into the first instruction. */
SUM kp_opt_sum_long, {disp32} lea 0(%_ASM_ARG1), %_ASM_CX

SYM_FUNC_START(kp_opt_add_thousand)
	add	$1000, %_ASM_ARG1
	RET
SYM_FUNC_END(kp_opt_add_thousand)

/* Called in the middle of a SUM: calls a C function, and keeps the registers. */
SYM_FUNC_START(kp_opt_helper)
	FRAME_BEGIN
	push	%_ASM_ARG1
	push	%_ASM_ARG2
	push	%_ASM_CX
	push	%_ASM_AX
	call	kp_opt_help
	pop	%_ASM_AX
	pop	%_ASM_CX
	pop	%_ASM_ARG2
	pop	%_ASM_ARG1
	FRAME_END
	RET
SYM_FUNC_END(kp_opt_helper)

/* Empty post_handlers, as other compilers and configurations make them */
SYM_TYPED_FUNC_START(kp_opt_empty_plain)
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_opt_empty_plain)

SYM_TYPED_FUNC_START(kp_opt_empty_frame)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kp_opt_empty_frame)

/* -fzero-call-used-regs */
SYM_TYPED_FUNC_START(kp_opt_empty_clears)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	nop
	xor	%eax, %eax
	xor	%ecx, %ecx
	leave
	RET
SYM_FUNC_END(kp_opt_empty_clears)

/*
 * arch_post_is_empty() must not take these for empty: the first one writes to memory; the second
 * one jumps to an empty function, but jumps are not followed.
 */
SYM_TYPED_FUNC_START(kp_opt_post_writes)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	xor	%_ASM_CX, %_ASM_AX
	mov	%_ASM_AX, -8(%_ASM_SP)
	pop	%_ASM_BP
	RET
SYM_FUNC_END(kp_opt_post_writes)

SYM_TYPED_FUNC_START(kp_opt_post_leads_on)
	jmp	kp_opt_empty_frame
SYM_FUNC_END(kp_opt_post_leads_on)

/* void kp_opt_fill(void *to, long bytes) */
SYM_FUNC_START(kp_opt_fill)
	push	%_ASM_BP
	mov	%_ASM_SP, %_ASM_BP
	mov	%_ASM_ARG2, %_ASM_CX
#ifdef CONFIG_X86_32
	push	%edi
	mov	%eax, %edi
#endif
	xor	%eax, %eax
.Lfill_probed:
	nop
	nop
.Lfill_stos:
	rep stosb
	nop
	nop
#ifdef CONFIG_X86_32
	pop	%edi
#endif
	pop	%_ASM_BP
	RET
.Lfill_end:
SYM_FUNC_END(kp_opt_fill)

/* long kp_opt_load(const long __user *from): *from, or -EFAULT */
.macro LOAD name before after
SYM_FUNC_START(\name)
	ASM_STAC
	mov	%_ASM_ARG1, %_ASM_DX
	mov	$-EFAULT, %_ASM_AX
.Lprobed_\name:
	\before
.Lload_\name:
	mov	(%_ASM_DX), %_ASM_AX
	\after
	nop
	nop
.Lfixup_\name:
	ASM_CLAC
	RET
SYM_FUNC_END(\name)
_ASM_EXTABLE_UA(.Lload_\name, .Lfixup_\name)
KP_OFFSETS \name .Lprobed_\name
.endm

LOAD kp_opt_load_first, , nop
LOAD kp_opt_load_second, nop, nop

KP_OFFSETS kp_opt_sum .Lkp_opt_sum_mov, .Lkp_opt_sum_add, .Lkp_opt_sum_cmp
KP_OFFSETS kp_opt_sum_long .Lkp_opt_sum_long_mov, .Lkp_opt_sum_long_add
KP_OFFSETS kp_opt_fill .Lfill_probed, .Lfill_stos, .Lfill_end
