/* SPDX-License-Identifier: GPL-2.0 */

#include "kp_functions.S"

.macro kp_ret_add_one
	mov	%_ASM_ARG1, %_ASM_AX
	add	$1, %_ASM_AX
.endm

KP_FUNCTIONS kp_ret_many 500 kp_ret_add_one
