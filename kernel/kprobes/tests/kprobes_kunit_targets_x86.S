/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code with known instruction boundaries. The tables have offsets instead of addresses: code whose
 * address is in data would need an ENDBR.
 */

#include <asm/alternative.h>
#include "kp_functions.S"

	.text

/* long kp_x86_sum(long a, long b) */
SYM_FUNC_START(kp_x86_sum)
.Lsum_lea:
	lea	(%_ASM_ARG1, %_ASM_ARG2), %_ASM_AX
.Lsum_movabs:
	_ASM_MOV $__ASM_SEL(0x11223344, 0x1122334455667788), %_ASM_CX
.Lsum_xor:
	xor	%_ASM_CX, %_ASM_AX
.Lsum_xor_back:
	xor	%_ASM_CX, %_ASM_AX
.Lsum_ret:
	RET
SYM_FUNC_END(kp_x86_sum)

/* In kallsyms, a function ends where the next symbol begins. This symbol ends kp_x86_sum. */
SYM_FUNC_START(kp_x86_after_sum)
	xor	%eax, %eax
	RET
SYM_FUNC_END(kp_x86_after_sum)

SYM_FUNC_START(kp_x86_int3)
	nop
.Lint3:
	int3
	nop
	RET
SYM_FUNC_END(kp_x86_int3)

SYM_FUNC_START(kp_x86_lock)
	sub	$8, %_ASM_SP
.Llock:
	LOCK_PREFIX
	addl	$0, (%_ASM_SP)
	add	$8, %_ASM_SP
	RET
SYM_FUNC_END(kp_x86_lock)

/* An indirect jump may lead to the ENDBR at .Lendbr, so no probe may replace that ENDBR. */
SYM_FUNC_START(kp_x86_endbr)
	xor	%eax, %eax
.Lendbr_nop:
	nop
.Lendbr:
	__ASM_SEL(endbr32, endbr64)
.Lendbr_after:
	nop
	RET
SYM_FUNC_END(kp_x86_endbr)

KP_OFFSETS kp_x86_sum .Lsum_lea, .Lsum_movabs, .Lsum_xor, .Lsum_xor_back, .Lsum_ret, \
	kp_x86_after_sum
KP_OFFSETS kp_x86_endbr .Lendbr, .Lendbr_nop, .Lendbr_after
KP_OFFSETS kp_x86_int3 .Lint3
KP_OFFSETS kp_x86_lock .Llock
