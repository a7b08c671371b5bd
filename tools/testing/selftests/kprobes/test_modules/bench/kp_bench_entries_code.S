/* SPDX-License-Identifier: GPL-2.0 */
/* Functions whose entries kp_bench probes */

#include <linux/export.h>
#include "kp_bench.h"
#include "kp_ftrace_macros.S"

kp_entries kp_bench_entries KP_BENCH_ENTRIES
EXPORT_SYMBOL_GPL(kp_bench_entries)
