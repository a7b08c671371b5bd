// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the functions that must not have return probes.
 *
 * kernel/kprobes/retcall.c replaces return addresses and finds the real ones, trampolines_64.S
 * and trampolines_32.S have the trampoline, and unwind.c answers unwinders.
 */
#include <linux/kprobes.h>

#include "x86.h"

/*
 * Functions that must not have return probes. One task enters __switch_to_asm() and __switch_to(),
 * and another task, which has no record of this call, returns from them, on its own stack.
 * ret_from_fork_asm() is not called, and has no return address.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ .name = "__switch_to" },
	{ .name = "__switch_to_asm" },
	{ .name = "ret_from_fork_asm" },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);
