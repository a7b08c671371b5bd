// SPDX-License-Identifier: GPL-2.0
/*
 * Targets of the suite kprobes_ftrace, in a file of their own so that calls are not inlined.
 * Each differs from the others, so that the compiler merges none of them.
 */

#include <linux/context_tracking.h>
#include "kp_ftrace.h"

KP_PLUS_WITH(, long, kp_ft_target, 1, asm volatile("" :: "i"(1001)))
KP_PLUS_WITH(, long, kp_ft_other, 1, asm volatile("" :: "i"(1002)))
/* Called where RCU does not watch */
KP_PLUS_WITH(, long, kp_ft_wakes, 1, ct_idle_exit())
KP_CALLER(, kp_ft_caller, long, kp_ft_target(arg))
KP_PLUS(, long, kp_ft_elsewhere, 100)
