/* SPDX-License-Identifier: GPL-2.0 */
/* Functions probed between loading flags and reading them: only the probe can change them. */

#include "kp_asm.h"

	.text

/* Two instructions, which a jump overlaps */
SYM_FUNC_START(kp_flags_within)
	pushf
	push	%_ASM_ARG1
	popf
SYM_INNER_LABEL(kp_flags_probed, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	lea	1(%_ASM_ARG1), %_ASM_DX
	lea	-1(%_ASM_DX), %_ASM_CX
	pushf
	pop	%_ASM_AX
	popf
	RET
SYM_FUNC_END(kp_flags_within)

/* Probed at ftrace's call */
SYM_FUNC_START(kp_flags_traced)
#ifdef CONFIG_FUNCTION_TRACER
#ifndef CONFIG_FTRACE_MCOUNT_USE_OBJTOOL
	.pushsection __mcount_loc, "a"
	_ASM_PTR .Ltraced
	.popsection
#endif
.Ltraced:
#if defined(CC_USING_NOP_MCOUNT) && !defined(CONFIG_FTRACE_MCOUNT_USE_OBJTOOL)
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
#else
	call	__fentry__
#endif
#endif
	lea	1(%_ASM_ARG1), %_ASM_AX
	RET
SYM_FUNC_END(kp_flags_traced)

SYM_FUNC_START(kp_flags_entry)
	pushf
	push	%_ASM_ARG1
	popf
	call	kp_flags_traced
	pushf
	pop	%_ASM_AX
	popf
	RET
SYM_FUNC_END(kp_flags_entry)

/* Has a return probe */
SYM_FUNC_START(kp_flags_returning)
	lea	1(%_ASM_ARG1), %_ASM_DX
	lea	-1(%_ASM_DX), %_ASM_CX
	push	%_ASM_CX
	popf
	RET
SYM_FUNC_END(kp_flags_returning)

SYM_FUNC_START(kp_flags_return)
	pushf
	call	kp_flags_returning
	pushf
	pop	%_ASM_AX
	popf
	RET
SYM_FUNC_END(kp_flags_return)
