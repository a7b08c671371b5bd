/* SPDX-License-Identifier: GPL-2.0 */
/* Macros for arrays of functions, for ftrace's call, and for offsets of instructions */

#include "kp_asm.h"

/* const u32 \function_insn[]: the offsets of labels from the start of a function */
.macro KP_OFFSETS function:req labels:vararg
	.pushsection .rodata, "a"
	.balign	4
SYM_DATA_START(\function\()_insn)
.irp label, \labels
	.long	\label - \function
.endr
SYM_DATA_END(\function\()_insn)
	.popsection
.endm

/* ftrace's call or nop at the entry of a function, as the compiler would emit it */
.macro KP_FTRACE_CALL
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

.macro KP_FUNCTION array nr body
SYM_FUNC_START(\array\()_\nr)
	\body
	RET
SYM_FUNC_END(\array\()_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR \array\()_\nr
	.popsection
.endm

/* Define @count functions with the instructions of the macro @body. @array: pointers to them */
.macro KP_FUNCTIONS array count body
	.text
	.pushsection .rodata, "a"
	.balign	8
SYM_DATA_START(\array)
	.popsection
	.altmacro
	.set	kp_function_nr, 0
	.rept	\count
	KP_FUNCTION \array, %kp_function_nr, \body
	.set	kp_function_nr, kp_function_nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(\array)
	.popsection
.endm
