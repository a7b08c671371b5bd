// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: replacing return addresses, and finding them for unwinders.
 *
 * At the entry of a function its return address is on top of the stack. A return probe
 * replaces it there by the address of __kretprobe_trampoline, see thunks_64.S. The rest is
 * generic, see kernel/kprobes/retcall.c.
 */
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <asm/unwind.h>

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

/**
 * kprobe_recover_ret_addr() - find the real return address behind the trampoline
 * @tsk: the task whose stack it is; the current task, or one that is not running
 * @addr: return address that was found on the stack
 * @slot: the place where it was found
 * @cur: the state of kretprobe_find_ret_addr(); NULL before the first search
 *
 * For unwinders.
 *
 * Context: any, with preemption disabled.
 *
 * Return: the address that the trampoline has replaced; @addr if it is not that of the
 * trampoline, or if the real one is not known.
 */
unsigned long __kprobes kprobe_recover_ret_addr(struct task_struct *tsk, unsigned long addr,
						void *slot, struct llist_node **cur)
{
	if (!is_kretprobe_trampoline(addr))
		return addr;
	return kretprobe_find_ret_addr(tsk, slot, cur) ?: addr;
}

/**
 * x86_kretprobe_recover() - find the real return address if other code has replaced it
 * @addr: the return address that the return probe has found
 * @slot: its place on the stack
 *
 * Context: handlers of return probes.
 *
 * Return: the address in the caller of the function.
 */
unsigned long __kprobes x86_kretprobe_recover(unsigned long addr, void *slot)
{
	struct unwind_state state = { .task = current };

	return unwind_recover_ret_addr(&state, addr, slot);
}
