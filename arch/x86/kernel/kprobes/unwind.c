// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: what unwinders need to know about return addresses and registers.
 *
 * x86_kprobe_recover() finds the real return address where a return probe, rethook or the graph
 * tracer replaced it on a stack. For return probes it calls kretprobe_find_ret_addr(), see
 * kernel/kprobes/retcall.c.
 *
 * A task in a slot or detour buffer is shown in the probed function, see slot_lookup.c. The
 * registers of pre_handlers have an instruction pointer one byte after the probed address, and
 * are shown at the probed address.
 *
 * An unwinder may pass any value, so nothing is dereferenced unchecked.
 */
#include <linux/ftrace.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/ptrace.h>
#include <asm/unwind.h>

#include "x86.h"

/*
 * Search this CPU's stack of running handlers for the probe whose handler was called with @regs.
 * Return: the probe, or NULL. Its handler has called the unwinder, or was interrupted by it. So the
 * handler does not return, and the probe stays valid, until the caller enables preemption again.
 */
static struct kprobe *unwind_probe_of_regs(struct pt_regs *regs)
{
	struct kprobe_level *sentinel = this_cpu_ptr(&kprobe_levels.level[0]);
	struct kprobe_level *level;

	for (level = kprobe_top_level() ?: sentinel; level > sentinel; level--) {
		struct kprobe *p = READ_ONCE(level->probe);

		if (READ_ONCE(level->regs) == regs && p)
			return p;
	}
	return NULL;
}

/* Is @ip what pre_handlers of @p see, one byte after the probed address as after an int3? */
static bool unwind_is_pre_ip(const struct kprobe *p, unsigned long ip)
{
	return ip == (unsigned long)p->addr + INT3_INSN_SIZE;
}

/* Is @ip what post_handlers of @p see if the probe is at a call of ftrace? */
static bool unwind_is_after_ftrace_call(struct kprobe *p, unsigned long ip)
{
#ifdef CONFIG_KPROBES_ON_FTRACE
	return kprobe_ftrace(p) && ip == (unsigned long)p->addr + MCOUNT_INSN_SIZE;
#else
	return false;
#endif
}

/*
 * Return: the probe, or the kp of the probepoint, for whose handlers @regs were saved, with @ip as
 * instruction pointer; or NULL.
 */
static struct kprobe *unwind_handled(struct pt_regs *regs, struct task_struct *task,
				     unsigned long ip)
{
	struct probepoint *pp = x86_kprobe_trampoline_of_regs(regs, task, ip);
	struct kprobe *p = pp ? &pp->kp : unwind_probe_of_regs(regs);

	return p && (unwind_is_pre_ip(p, ip) || unwind_is_after_ftrace_call(p, ip)) ? p : NULL;
}

/*
 * Return: the instruction pointer that unwinders show for @regs: the probed address if pre_handlers
 * were called with @regs, the address of the original if @regs are in a slot, or regs->ip.
 *
 * The slow path of kprobe_regs_ip(), called only after the first registration.
 */
unsigned long x86_kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task)
{
	unsigned long ip = READ_ONCE_NOCHECK(regs->ip);
	struct kprobe *p;

	/* User space can set its registers to any value, also to an address in a slot. */
	if (user_mode(regs))
		return ip;
	preempt_disable_notrace();
	p = unwind_handled(regs, task, ip);
	if (p && unwind_is_pre_ip(p, ip))
		ip -= INT3_INSN_SIZE;
	preempt_enable_notrace();
	return x86_kprobe_text_ip(ip);
}

/*
 * Were @regs saved at the entry of a function, for the handlers of a probe? Then the function has
 * no stack frame yet.
 *
 * The slow path of kprobe_regs_at_entry(), called only after the first registration.
 */
bool x86_kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task)
{
	struct kprobe *p;
	bool at_entry;

	if (user_mode(regs))
		return false;
	preempt_disable_notrace();
	p = unwind_handled(regs, task, READ_ONCE_NOCHECK(regs->ip));
	at_entry = p && kprobe_has_flag(p, KPROBE_FLAG_ON_FUNC_ENTRY);
	preempt_enable_notrace();
	return at_entry;
}

/* Is @addr the trampoline of return probes, rethook or the graph tracer? */
static __always_inline bool unwind_is_trampoline(unsigned long addr)
{
	return is_kretprobe_trampoline(addr) || x86_is_tracer_trampoline(addr);
}

/*
 * Find the real return address, if @addr is a trampoline. Return probes, rethook and the graph
 * tracer may have replaced it in any order, each several times. Each pass of the loop asks these
 * three until one of them knows which address its trampoline replaced. If a later pass asks the
 * same tracer again, the tracer continues its search after the record that it found last.
 *
 * The caller has disabled preemption, since an instance that is found in one pass must not be freed
 * before the next pass.
 */
static unsigned long __kprobes unwind_find_return(struct unwind_state *state, unsigned long addr,
						  unsigned long *addr_p, struct llist_node *cur)
{
	unsigned long before;

	while (unwind_is_trampoline(addr)) {
		before = addr;
		addr = ftrace_graph_ret_addr(state->task, &state->graph_idx, addr, addr_p);
		if (addr == before)
			addr = unwind_recover_rethook(state, addr, addr_p);
#ifdef CONFIG_KRETPROBES
		if (addr == before && is_kretprobe_trampoline(addr))
			addr = kretprobe_find_ret_addr(state->task, addr_p, &cur) ?: addr;
#endif
		if (addr == before)
			break;
	}
	return addr;
}

/**
 * x86_kprobe_recover() - translate an address on a stack to the probed text
 * @state: state of the unwinder
 * @addr: the address that the unwinder found
 * @addr_p: where the unwinder found @addr: a stack slot, or, with frame pointers, perhaps
 *	@state->regs->ip
 *
 * A task in a slot, or a function called from a slot, is shown in the probed function.
 *
 * Context: any.
 *
 * Return: the address without probes and tracers.
 */
unsigned long __kprobes x86_kprobe_recover(struct unwind_state *state, unsigned long addr,
					   unsigned long *addr_p)
{
	unsigned long ip;

#ifdef CONFIG_UNWINDER_FRAME_POINTER
	/*
	 * The instruction pointer of saved registers is not in the stack slot of a return address.
	 * If it is a trampoline, a ret has just jumped there: the slot that this ret popped is the
	 * word below the saved stack pointer.
	 */
	if (state->regs && addr_p == &state->regs->ip) {
		addr = x86_kprobe_regs_ip(state->regs, state->task);
		addr_p = (unsigned long *)state->regs->sp - 1;
	}
#endif
	preempt_disable_notrace();
	addr = unwind_find_return(state, addr, addr_p, NULL);
	preempt_enable_notrace();

	ip = x86_kprobe_text_ip(addr);
#ifdef CONFIG_UNWINDER_ORC
	/* If @addr was in a slot, no call precedes the original, @ip: look up @ip, not @ip - 1. */
	if (ip != addr)
		state->signal = true;
#endif
	return ip;
}

/*
 * Return: the cursor with which kretprobe_find_ret_addr() continues its search of the current
 * task's instances after @instance. The cursor is the number of instances up to @instance, cast to
 * a pointer. It is NULL, for a search from the start, if @instance is not on the list: while an
 * entry_handler runs, its instance is not on the list yet.
 */
static struct llist_node *__kprobes unwind_search_after(struct llist_node *instance)
{
#ifdef CONFIG_KRETPROBES
	struct llist_node *node = READ_ONCE(current->kretprobe_instances.first);
	unsigned long passed = 0;

	for (; node && instance; node = node->next) {
		passed++;
		if (node == instance)
			return (struct llist_node *)passed;
	}
#endif
	return NULL;
}

/**
 * x86_recover_return() - find the real return address of a function, for a handler
 * @addr: the return address that the handler's return probe or tracer found, which may be
 *	another tracer's trampoline
 * @slot: the stack slot that contained @addr
 * @instance: the instance of a return probe that recorded @addr as return address, or NULL
 * @node: the node of rethook that recorded @addr as return address, or NULL
 *
 * Context: at the entry or the return of the function, with preemption disabled.
 *
 * Return: the address without probes and tracers.
 */
unsigned long __kprobes x86_recover_return(unsigned long addr, unsigned long *slot,
					   struct llist_node *instance, struct llist_node *node)
{
	struct unwind_state state;

	/*
	 * @addr need not be translated: it is never in a slot, since the copy of a call pushes the
	 * original return address.
	 */
	if (likely(!unwind_is_trampoline(addr)))
		return addr;
	/* At the entry, another tracer may have replaced @addr after the caller read the stack. */
	if (!instance && !node && unwind_is_trampoline(READ_ONCE(*slot)))
		addr = READ_ONCE(*slot);
	memset(&state, 0, sizeof(state));
	state.task = current;
#ifdef CONFIG_RETHOOK
	state.kr_cur = node;
#endif
	/* The result is 0 if rethook has no record of the address. Then return @addr. */
	return unwind_find_return(&state, addr, slot, unwind_search_after(instance)) ?: addr;
}
