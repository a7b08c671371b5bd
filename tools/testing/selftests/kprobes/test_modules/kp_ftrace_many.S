/* SPDX-License-Identifier: GPL-2.0 */
/* Functions to be probed in batches by the suite kprobes_ftrace. */

#include <linux/linkage.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "kp_ftrace.h"
#include "kp_ftrace_macros.S"

kp_entries kp_ft_many KP_FT_MANY

/* Adds to the argument, for a handler that has it called before a function. */
SYM_FUNC_START(kp_ft_add_thousand)
	add	$1000, %_ASM_ARG1
	RET
SYM_FUNC_END(kp_ft_add_thousand)
