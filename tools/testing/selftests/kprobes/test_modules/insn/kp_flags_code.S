/* SPDX-License-Identifier: GPL-2.0 */
/* These functions load flags, hit a probe, and read the flags: only the probe can change them. */

#include "kp_functions.S"

	.text

/* Two instructions: a jump overlaps both. */
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
	KP_FTRACE_CALL
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
