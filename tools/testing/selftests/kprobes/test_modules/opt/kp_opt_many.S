/* SPDX-License-Identifier: GPL-2.0 */

#include "kp_functions.S"
#include "kp_opt_suites.h"

.macro kp_opt_add_one
	mov	%_ASM_ARG1, %_ASM_AX
	add	$1, %_ASM_AX
	nop
.endm

KP_FUNCTIONS kp_opt_many KP_MANY kp_opt_add_one
