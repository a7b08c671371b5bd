/* SPDX-License-Identifier: GPL-2.0 */
/* Targets for batches of the suite kprobes_ftrace */

#include "kp_ftrace.h"
#include "kp_ftrace_macros.S"

kp_entries kp_ft_many KP_FT_MANY

/*
 * A handler redirects execution here. The function adds
 * to the argument, and returns to the probed function.
 */
SYM_FUNC_START(kp_ft_add_thousand)
	add	$1000, %_ASM_ARG1
	RET
SYM_FUNC_END(kp_ft_add_thousand)
