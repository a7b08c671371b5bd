/* SPDX-License-Identifier: GPL-2.0 */
/* Functions whose return the jump overwrites, one function in each quarter of a cache line */

#include "kp_asm.h"

	.text
	.balign	64
.macro RETURNS nr:req
	.balign	16
SYM_FUNC_START_NOALIGN(kp_returns_\nr)
	lea	1(%rdi), %rax
	RET
SYM_FUNC_END(kp_returns_\nr)
.endm

RETURNS 0
RETURNS 1
RETURNS 2
RETURNS 3

/* A return that no mitigation replaces */
	.balign	16
SYM_FUNC_START_NOALIGN(kp_returns_bare)
	lea	1(%rdi), %rax
	ANNOTATE_UNRET_SAFE
	ret
	.skip	4, 0xcc
SYM_FUNC_END(kp_returns_bare)
