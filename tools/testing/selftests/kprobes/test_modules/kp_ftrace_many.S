/* SPDX-License-Identifier: GPL-2.0 */
/* Functions to be probed in batches by the suite kprobes_ftrace. */

#include "kp_ftrace.h"
#include "kp_ftrace_macros.S"

kp_entries kp_ft_many KP_FT_MANY
