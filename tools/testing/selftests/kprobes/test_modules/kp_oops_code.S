/* SPDX-License-Identifier: GPL-2.0 */
/* The function that kp_oops probes. */

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "kp_oops.h"

	.text

SYM_FUNC_START(kp_oops_target)
	mov	%_ASM_ARG1, %_ASM_AX
.Linsn:
	lea	0x100(%_ASM_AX), %_ASM_DX
	inc	%_ASM_AX
	nop
	RET
SYM_FUNC_END(kp_oops_target)

	.section .rodata, "a"
	.balign	4
SYM_DATA(kp_oops_insn, .long .Linsn - kp_oops_target)
