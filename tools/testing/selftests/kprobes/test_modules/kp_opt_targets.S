/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the suites of kp_opt probe where a jump can be. */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include <asm/smap.h>
#include "kp_opt_suites.h"

	.text

/* Two bytes each, so that it is known what a jump overlaps: the next two as well. */
SYM_FUNC_START(kp_opt_row)
	xor	%eax, %eax
	.rept	KP_ROW_INSNS - 1
	inc	%eax
	.endr
	add	$1, %rax
	nop
	nop
	RET
SYM_FUNC_END(kp_opt_row)

.macro SUM name
SYM_FUNC_START(\name)
.L\name\()_mov:
	mov	%rdi, %rax
.L\name\()_add:
	add	%rsi, %rax
.L\name\()_cmp:
	cmp	%rax, %rdi
	nop
	nop
	RET
SYM_FUNC_END(\name)
.endm

SUM kp_opt_sum
SUM kp_opt_sum_other

/* Adds to the first argument, for a handler that has it called before a function. */
SYM_FUNC_START(kp_opt_add_thousand)
	add	$1000, %rdi
	RET
SYM_FUNC_END(kp_opt_add_thousand)

	.section .rodata, "a"
	.balign	8
SYM_DATA_START(kp_opt_sum_insn)
	.long	.Lkp_opt_sum_mov - kp_opt_sum
	.long	.Lkp_opt_sum_add - kp_opt_sum
	.long	.Lkp_opt_sum_cmp - kp_opt_sum
SYM_DATA_END(kp_opt_sum_insn)

	.text

/*
 * void kp_opt_fill(void *to, long bytes): one long instruction, which is among those that
 * a jump in the place of the first one overlaps.
 */
SYM_FUNC_START(kp_opt_fill)
	push	%rbp
	mov	%rsp, %rbp
	mov	%rsi, %rcx
	xor	%eax, %eax
.Lfill_probed:
	nop
	nop
.Lfill_stos:
	rep stosb
	nop
	nop
	pop	%rbp
	RET
.Lfill_end:
SYM_FUNC_END(kp_opt_fill)

/* long kp_opt_load(const long __user *from): -EFAULT, or what is there; it may sleep. */
.macro LOAD name before after
SYM_FUNC_START(\name)
	ASM_STAC
	mov	$-EFAULT, %rax
.Lprobed_\name:
	\before
.Lload_\name:
	mov	(%rdi), %rax
	\after
	nop
	nop
.Lfixup_\name:
	ASM_CLAC
	RET
SYM_FUNC_END(\name)
_ASM_EXTABLE_UA(.Lload_\name, .Lfixup_\name)
	.pushsection .rodata, "a"
	.balign	4
SYM_DATA_START(\name\()_insn)
	.long	.Lprobed_\name - \name
SYM_DATA_END(\name\()_insn)
	.popsection
.endm

LOAD kp_opt_load_first, , nop
LOAD kp_opt_load_second, nop, nop

	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kp_opt_fill_insn)
	.long	.Lfill_probed - kp_opt_fill
	.long	.Lfill_stos - kp_opt_fill
	.long	.Lfill_end - kp_opt_fill
SYM_DATA_END(kp_opt_fill_insn)
