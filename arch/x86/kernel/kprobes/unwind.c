// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: what unwinders ask of addresses and registers.
 *
 * x86_kprobe_recover() finds the real return address where a return probe, rethook or the
 * graph tracer has replaced it on a stack. It asks kretprobe_find_ret_addr(), see
 * kernel/kprobes/retcall.c.
 *
 * A task in a slot or in a detour buffer is shown in the probed function. Registers that
 * pre_handlers are given have an instruction pointer one byte behind the probed address,
 * which is shown at the probed address.
 *
 * An unwinder may ask about anything: registers of user space, stale words of a stack,
 * the stack of a task that runs. So nothing is read that was not checked, see origin.c.
 */
#include <linux/ftrace.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/ptrace.h>
#include <asm/unwind.h>

#include "common.h"

/*
 * The probe whose handler is running with @regs, if a level of this CPU has them. The
 * handler cannot end while preemption is disabled.
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

/* Are @regs those that a pre_handler of @p is given? */
static bool unwind_is_pre_ip(const struct kprobe *p, unsigned long ip)
{
	return ip == (unsigned long)p->addr + INT3_INSN_SIZE;
}

/* kprobe_regs_ip(), when a probe has been registered */
unsigned long x86_kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task)
{
	unsigned long ip = READ_ONCE_NOCHECK(regs->ip);
	struct kprobe *p;

	/* A task in user space can set all its registers to any value. */
	if (user_mode(regs))
		return ip;
	preempt_disable_notrace();
	p = unwind_probe_of_regs(regs);
	if (x86_kprobe_detour_of_regs(regs, task, ip) || (p && unwind_is_pre_ip(p, ip)))
		ip -= INT3_INSN_SIZE;
	preempt_enable_notrace();
	return x86_kprobe_text_ip(ip);
}

/* Are @regs those that a post_handler of @p is given, behind ftrace's call? */
static bool unwind_is_after_ftrace_call(struct kprobe *p, unsigned long ip)
{
#ifdef CONFIG_KPROBES_ON_FTRACE
	return kprobe_ftrace(p) && ip == (unsigned long)p->addr + MCOUNT_INSN_SIZE;
#else
	return false;
#endif
}

/* kprobe_regs_at_entry(), when a probe has been registered */
bool x86_kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task)
{
	struct probepoint *pp;
	unsigned long ip;
	struct kprobe *p;
	bool at_entry;

	if (user_mode(regs))
		return false;
	preempt_disable_notrace();
	ip = READ_ONCE_NOCHECK(regs->ip);
	pp = x86_kprobe_detour_of_regs(regs, task, ip);
	p = unwind_probe_of_regs(regs);
	if (pp)
		p = &pp->kp;
	else if (p && !unwind_is_pre_ip(p, ip) && !unwind_is_after_ftrace_call(p, ip))
		p = NULL;
	at_entry = p && kprobe_has_flag(p, KPROBE_FLAG_ON_FUNC_ENTRY);
	preempt_enable_notrace();
	return at_entry;
}

/* Is an address one that takes the place of a return address? */
static __always_inline bool unwind_is_trampoline(unsigned long addr)
{
#ifdef CONFIG_KRETPROBES
	if (is_kretprobe_trampoline(addr))
		return true;
#endif
	return x86_is_tracer_trampoline(addr);
}

/* Find the real return address, if it was a return probe that has replaced it. */
static unsigned long __kprobes
unwind_recover_kretprobe(struct task_struct *task, unsigned long addr, unsigned long *addr_p,
			 struct llist_node **cur)
{
#ifdef CONFIG_KRETPROBES
	if (is_kretprobe_trampoline(addr))
		return kretprobe_find_ret_addr(task, addr_p, cur) ?: addr;
#endif
	return addr;
}

/*
 * Find the real return address, if @addr is that of a trampoline. Return probes, rethook and
 * the graph tracer may have replaced it in any order, each several times. So only one of them
 * is asked at a time, and each goes on behind what it has found last.
 *
 * An instance that one search finds must not be freed before the next one, so preemption
 * is disabled.
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
		if (addr == before)
			addr = unwind_recover_kretprobe(state->task, addr, addr_p, &cur);
		if (addr == before)
			break;
	}
	return addr;
}

/**
 * x86_kprobe_recover() - find where code that an unwinder has found on a stack really is
 * @state: state of the unwinder
 * @addr: the address that it has found
 * @addr_p: the place where it was found; with the frame-pointer unwinder, it may be in the
 *	registers of @state
 *
 * Several of return probes, rethook and the graph tracer may have replaced a return address,
 * in any order. And a task that is in a slot, or a function that was called from one, is shown
 * in the probed function.
 *
 * Context: any.
 *
 * Return: the address in the function as it is without probes and tracers.
 */
unsigned long __kprobes x86_kprobe_recover(struct unwind_state *state, unsigned long addr,
					   unsigned long *addr_p)
{
	unsigned long ip;

#ifdef CONFIG_UNWINDER_FRAME_POINTER
	/*
	 * The instruction pointer of saved registers is no return address. If it is that of a
	 * trampoline, the ret that led there has popped the place of the return address.
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
	/* No call precedes it: look up the address itself, not the one before. */
	if (ip != addr)
		state->signal = true;
#endif
	return ip;
}

/*
 * How far a search of the current task's instances has got that has found @instance last, see
 * kretprobe_find_ret_addr(). While an entry_handler runs, its instance is not on the list yet.
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
 * x86_recover_return() - find the return address in the caller, for a handler of a return
 * @addr: the return address that the handler's return probe or tracer has found
 * @slot: its place on the stack
 * @instance: the instance of a return probe that has @addr; NULL if none has it
 * @node: the node of rethook that has @addr; NULL if none has it
 *
 * Context: that of the function, with preemption disabled.
 *
 * Return: the address as it is without probes and tracers.
 */
unsigned long __kprobes x86_recover_return(unsigned long addr, unsigned long *slot,
					   struct llist_node *instance, struct llist_node *node)
{
	struct unwind_state state;

	/* It is not in a slot: a copy of a call pushes the address in the function. */
	if (likely(!unwind_is_trampoline(addr)))
		return addr;
	/* At the entry, others may have replaced it since, and have records of that. */
	if (!instance && !node && unwind_is_trampoline(READ_ONCE(*slot)))
		addr = READ_ONCE(*slot);
	memset(&state, 0, sizeof(state));
	state.task = current;
#ifdef CONFIG_RETHOOK
	state.kr_cur = node;
#endif
	/* Rethook gives 0 for what it does not know. */
	return unwind_find_return(&state, addr, slot, unwind_search_after(instance)) ?: addr;
}
