/* SPDX-License-Identifier: GPL-2.0 */
/* Targets of the suite kprobes_nomem */

#include "kp_nomem.h"
#include "kp_ftrace_macros.S"

kp_entries kp_nomem_entries KP_NOMEM_ENTRIES
