// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suites for parts of kprobes, which are compiled a second time into this module. In that
 * copy slots may have another size, and cond_resched() calls the test, which can do there what a
 * hit would do at that moment.
 */

#include "kp_parts.h"
/* With lockdep, assertions in that copy need kprobe_mutex, which is exported for KUnit only. */
#include "../kp_symbol.h"

KP_SUITES("KUnit tests of slots, deferred frees, pools and filters of kprobes",
	  &kp_slots_suite, &kp_deferred_suite, &kp_pools_suite, &kp_filters_suite);
