// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the return from a function.
 *
 * A function's return address is on top of the stack when it is entered, and
 * is replaced there by the address of __kretprobe_trampoline, see thunks.S.
 * What comes after is generic: see kernel/kprobes/kretprobe.c.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <asm/unwind.h>

#include "common.h"

/*
 * What is entered by one task and left by another, what goes to the stack of
 * another, and what is not called and so has nowhere to return to.
 */
struct kretprobe_blackpoint kretprobe_blacklist[] = {
	{ .name = "__switch_to" },
	{ .name = "__switch_to_asm" },
	{ .name = "ret_from_fork_asm" },
};

const int kretprobe_blacklist_size = ARRAY_SIZE(kretprobe_blacklist);

/**
 * kprobe_recover_ret_addr() - tell what the trampoline's address stands for
 * @tsk: whose stack it is on; the current task, or one that is not running
 * @addr: return address that was found on the stack
 * @slot: where it was found
 * @cur: where the search among return probes has come to
 *
 * For unwinders. May be called in any context, with preemption disabled.
 *
 * Return: what was there before it; @addr if it is not the trampoline's, or
 * nothing is known.
 */
unsigned long __kprobes kprobe_recover_ret_addr(struct task_struct *tsk, unsigned long addr,
						void *slot, struct llist_node **cur)
{
	if (!is_kretprobe_trampoline(addr))
		return addr;
	return kretprobe_find_ret_addr(tsk, slot, cur) ?: addr;
}

/**
 * x86_kretprobe_recover() - find the real return address
 * @addr: what was on the stack when the function was entered
 * @slot: where that was
 *
 * Context: handlers of return probes.
 *
 * Return: where the function returns to.
 */
unsigned long __kprobes x86_kretprobe_recover(unsigned long addr, void *slot)
{
	struct unwind_state state = { .task = current };

	return unwind_recover_ret_addr(&state, addr, slot);
}
