// SPDX-License-Identifier: GPL-2.0
/*
 * Targets of the suite kprobes_ftrace, in a file of their own so that calls are not inlined.
 * Each differs from the others, so that none are merged.
 */

#include <linux/context_tracking.h>
#include "kp_ftrace.h"

noinline long kp_ft_target(long arg)
{
	asm volatile("" :: "i"(1001));
	return arg + 1;
}

noinline long kp_ft_other(long arg)
{
	asm volatile("" :: "i"(1002));
	return arg + 1;
}

/* Called where RCU does not watch */
noinline long kp_ft_wakes(long arg)
{
	ct_idle_exit();
	return arg + 1;
}

noinline long kp_ft_caller(long arg)
{
	arg = kp_ft_target(arg);
	barrier();
	return arg;
}

KP_PLUS(, long, kp_ft_elsewhere, 100)
