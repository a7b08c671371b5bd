/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the users in the suite kprobes_filters trace, and the suite's direct trampoline */

#include "kp_filters.h"
#include "kp_ftrace_macros.S"

kp_entries kf_targets KF_TARGETS

SYM_FUNC_START(kf_direct)
	RET
SYM_FUNC_END(kf_direct)
