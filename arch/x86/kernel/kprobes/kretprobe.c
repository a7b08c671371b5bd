// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: replacing return addresses.
 *
 * At the entry of a function its return address is on top of the stack. A return probe
 * replaces it there by the address of __kretprobe_trampoline, see thunks_64.S. The rest is
 * generic, see kernel/kprobes/retcall.c.
 */
#include <linux/kprobes.h>

#include "common.h"

/*
 * One task enters __switch_to_asm() and __switch_to(), and another one leaves them, on its own
 * stack. ret_from_fork_asm() is not called, and has no return address.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ .name = "__switch_to" },
	{ .name = "__switch_to_asm" },
	{ .name = "ret_from_fork_asm" },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);
