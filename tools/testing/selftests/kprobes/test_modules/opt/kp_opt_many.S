/* SPDX-License-Identifier: GPL-2.0 */

#include "kp_asm.h"
#include "kp_opt_suites.h"

	.text

.macro ONE_OF_MANY nr
SYM_FUNC_START(kp_opt_many_\nr)
	mov	%_ASM_ARG1, %_ASM_AX
	add	$1, %_ASM_AX
	nop
	RET
SYM_FUNC_END(kp_opt_many_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR kp_opt_many_\nr
	.popsection
.endm

	.section .rodata, "a"
	_ASM_ALIGN
SYM_DATA_START(kp_opt_many)
	.text
	.altmacro
	.set	nr, 0
	.rept	KP_MANY
	ONE_OF_MANY %nr
	.set	nr, nr + 1
	.endr
	.noaltmacro
	.section .rodata, "a"
SYM_DATA_END(kp_opt_many)
