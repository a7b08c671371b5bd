/* SPDX-License-Identifier: GPL-2.0 */
/* Macros for tables of functions that consist of short instructions */

#include "kp_asm.h"
#include "kp_inc.h"

/* @table: a table of @functions functions with @insns instructions of two bytes each */
.macro kp_rows table functions insns
	.pushsection .rodata, "a"
	_ASM_ALIGN
SYM_DATA_START(\table)
	.popsection
	.altmacro
	.set	kp_nr, 0
	.rept	\functions
	kp_row \table, %kp_nr, \insns
	.set	kp_nr, kp_nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(\table)
	.popsection
.endm

.macro kp_row table nr insns
SYM_FUNC_START(\table\()_\nr)
	.rept	\insns
	KP_INC_EAX
	.endr
	RET
SYM_FUNC_END(\table\()_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR \table\()_\nr
	.popsection
.endm
