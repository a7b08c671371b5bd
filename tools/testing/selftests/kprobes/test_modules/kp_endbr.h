/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_ENDBR_H
#define KP_ENDBR_H

#include <asm/asm.h>
#include <asm/ibt.h>

/*
 * For assembly. At load, a module's endbr is overwritten at the start of a function if no
 * relocation refers to the function. Offsets from another label and operands relative to %rip
 * have no relocation: NOSEAL keeps the endbr of a function that is called by one of these.
 */
.macro NOSEAL function
#ifdef CONFIG_X86_KERNEL_IBT
	.pushsection .discard.ibt_endbr_noseal
	_ASM_PTR \function
	.popsection
#endif
.endm

/* ENDBR, to be named in a string */
.macro LANDING
	ENDBR
.endm

#endif
