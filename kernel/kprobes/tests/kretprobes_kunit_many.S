/* SPDX-License-Identifier: GPL-2.0 */

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>

	.text

.macro kp_ret_one nr
SYM_FUNC_START(kp_ret_many_\nr)
	mov	%_ASM_ARG1, %_ASM_AX
	add	$1, %_ASM_AX
	RET
SYM_FUNC_END(kp_ret_many_\nr)
	.pushsection .rodata, "a"
	_ASM_PTR kp_ret_many_\nr
	.popsection
.endm

	.pushsection .rodata, "a"
	.balign	8
SYM_DATA_START(kp_ret_many)
	.popsection
	.altmacro
	.set	nr, 0
	.rept	500
	kp_ret_one %nr
	.set	nr, nr + 1
	.endr
	.noaltmacro
	.pushsection .rodata, "a"
SYM_DATA_END(kp_ret_many)
	.popsection
