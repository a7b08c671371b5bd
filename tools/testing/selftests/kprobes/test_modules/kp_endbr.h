/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_ENDBR_H
#define KP_ENDBR_H

#include <asm/asm.h>
#include <asm/ibt.h>

/*
 * For assembly. Loading a module overwrites the endbr of functions that no relocation refers to. A
 * difference of labels or a %rip-relative operand makes no relocation. If only such differences or
 * operands give a function's address, use NOSEAL to keep its endbr.
 */
.macro NOSEAL function
#ifdef CONFIG_X86_KERNEL_IBT
	.pushsection .discard.ibt_endbr_noseal
	_ASM_PTR \function
	.popsection
#endif
.endm

/* ENDBR for strings, in which the preprocessor expands no macros */
.macro LANDING
	ENDBR
.endm

#endif
