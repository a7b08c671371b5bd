/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that the suite kprobes_nomem probes */

#include "kp_nomem.h"
#include "kp_ftrace_macros.S"

kp_entries kp_nomem_entries KP_NOMEM_ENTRIES
