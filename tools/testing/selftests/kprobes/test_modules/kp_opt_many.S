/* SPDX-License-Identifier: GPL-2.0 */
/* A lot of functions that are all alike. */

#include <linux/linkage.h>
#include <asm/nospec-branch.h>
#include "kp_opt_suites.h"

	.text

/* Each returns its argument plus one; a jump overlaps two instructions. */
.macro ONE_OF_MANY nr
SYM_FUNC_START(kp_opt_many_\nr)
	mov	%rdi, %rax
	add	$1, %rax
	nop
	RET
SYM_FUNC_END(kp_opt_many_\nr)
	.pushsection .rodata, "a"
	.quad	kp_opt_many_\nr
	.popsection
.endm

	.section .rodata, "a"
	.balign	8
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
