/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Macros for functions that have ftrace's call or nop at their entries, as the compiler makes
 * it, and for an array of small ones.
 */

#include "kp_asm.h"

/* What the compiler puts at the entry of a function, with CONFIG_FUNCTION_TRACER */
.macro FTRACE_CALL
#ifdef CONFIG_FUNCTION_TRACER
#ifndef CONFIG_FTRACE_MCOUNT_USE_OBJTOOL
	.pushsection __mcount_loc, "a"
	_ASM_PTR .Lftrace_call_\@
	.popsection
#endif
.Lftrace_call_\@:
#if defined(CC_USING_NOP_MCOUNT) && !defined(CONFIG_FTRACE_MCOUNT_USE_OBJTOOL)
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
#else
	call	__fentry__
#endif
#endif
.endm

/* A function that returns its argument plus one. */
.macro kp_entry array nr
SYM_FUNC_START(\array\()_\nr)
	FTRACE_CALL
	lea	1(%_ASM_ARG1), %_ASM_AX
	RET
SYM_FUNC_END(\array\()_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR \array\()_\nr
	.popsection
.endm

.macro kp_entries array count
	.text
	.pushsection .rodata, "a"
	.balign	8
SYM_DATA_START(\array)
	.popsection
	.altmacro
	.set	nr, 0
	.rept	\count
	kp_entry \array %nr
	.set	nr, nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(\array)
	.popsection
.endm
