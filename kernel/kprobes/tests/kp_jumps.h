/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_JUMPS_H
#define KP_JUMPS_H

/* Parameters of test modules that wait for jumps; one file of each module includes this */

#include "kp_test.h"

KP_MODULE_PARAM(bool, jumps, false, "wait for jumps to be where the probes are");
KP_MODULE_PARAM(uint, jumped, 0, "how many jumps the suites saw");

static inline bool kp_without_breakpoint(struct kprobe *kp)
{
	return kprobe_optimized(kp) || kprobe_ftrace(kp);
}

static inline void kp_wait_for_jump(struct kprobe *kp, unsigned int patience_ms)
{
	unsigned int i;

	for (i = 0; i < patience_ms && !kp_without_breakpoint(kp); i++)
		usleep_range(1000, 1100);
	jumped += kp_without_breakpoint(kp);
}

#endif
