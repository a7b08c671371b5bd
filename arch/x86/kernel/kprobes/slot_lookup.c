// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: looking up addresses in slots and detour buffers.
 *
 * Exception handlers, return trampolines and unwinders find a task in an out-of-line copy, or an
 * address of a copy on a stack. This file finds the address of the original for them.
 *
 * An unwinder may pass any value: registers of user space, stale words of a stack, the stack of a
 * running task. So nothing is dereferenced unchecked. Slots and probepoints are read with
 * preemption disabled: both are freed an RCU grace period after the slot's owner was reset,
 * see free_insn_slot() and deferred.c.
 */
#include <linux/preempt.h>
#include <asm/pgtable_types.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#include "x86.h"

/* Slots are in the address range of modules: for most addresses this saves the lookup. */
static __always_inline bool slot_lookup_is_candidate(unsigned long ip)
{
	return ip - MODULES_VADDR < MODULES_END - MODULES_VADDR;
}

/*
 * Find the probepoint whose slot or detour buffer contains an address.
 *
 * Context: any. Preemption must be disabled until the caller has read the probepoint, which may
 * then be freed; or the current task must be in the slot, which delays that.
 *
 * Return: the probepoint, or NULL.
 */
struct probepoint __kprobes *x86_kprobe_slot_owner(unsigned long ip)
{
	if (!slot_lookup_is_candidate(ip))
		return NULL;
	return probepoint_of_insn_slot(ip);
}

/*
 * Return: where the original of the instruction at @ip is, in a slot or detour buffer of @pp.
 * Context: as x86_kprobe_slot_owner().
 */
unsigned long __kprobes x86_kprobe_original_ip(const struct probepoint *pp, unsigned long ip)
{
	const struct kprobe_detour_map *map = kprobe_detour_map(ip);
	unsigned long offset = ip - kprobe_slot_of(ip);
	unsigned long addr = (unsigned long)pp->addr;
	unsigned int i;

	if (!map)
		return offset < KPROBE_SLOT_CODE + pp->arch.insn.size ? addr : pp->arch.next_ip;
	for (i = map->nr; i > 0; i--)
		if (offset >= map->at[i - 1])
			break;
	if (!i)
		return addr;
	if (map->from[i - 1] != KPROBE_DETOUR_CALLED)
		return addr + map->from[i - 1];
	/*
	 * The copy of a call has pushed the return address, and only its jump is left: return the
	 * address of the called function.
	 */
	ip = kprobe_slot_of(ip) + map->at[i - 1];
	return ip + JMP32_INSN_SIZE + *(s32 *)(ip + 1);
}

/*
 * Translate an address that may be in a slot.
 *
 * Context: any.
 *
 * Return: if @ip is in a slot or detour buffer, the address of the original; else @ip.
 */
unsigned long __kprobes x86_kprobe_text_ip(unsigned long ip)
{
	struct probepoint *pp;

	if (!slot_lookup_is_candidate(ip))
		return ip;
	preempt_disable_notrace();
	pp = x86_kprobe_slot_owner(ip);
	if (pp)
		ip = x86_kprobe_original_ip(pp, ip);
	preempt_enable_notrace();
	return ip;
}

/*
 * @pushed may be the return address that ftrace's call at an ftrace-based probepoint pushed.
 * Return: that probepoint, if its pre_handlers or post_handlers see @ip as instruction pointer; or
 * NULL.
 */
static struct probepoint *slot_lookup_ftrace_call(unsigned long pushed, unsigned long ip)
{
#ifdef CONFIG_KPROBES_ON_FTRACE
	struct probepoint *pp = get_probepoint((void *)(pushed - MCOUNT_INSN_SIZE));

	if (pp && kprobe_ftrace(&pp->kp) && (ip == pp->arch.hit_ip || ip == pp->arch.next_ip))
		return pp;
#endif
	return NULL;
}

/**
 * x86_kprobe_trampoline_of_regs() - find the probepoint for which a trampoline saved registers
 *	before it called handlers
 * @regs: registers on a stack
 * @task: the task whose stack it is
 * @ip: the instruction pointer in @regs
 *
 * The word that the call of a trampoline pushed is KPROBE_TRAMPOLINE_GAP bytes after @regs, see the
 * drawing in trampolines_64.S, and the stack pointer in @regs points right above that word. If an
 * exception saved the registers, the stack pointer or that word differs. In 64-bit mode, an
 * exception through the IDT leaves at most one word between its frame and the interrupted stack;
 * only int3 leaves this gap, and has the stack segment in the place of that word. With FRED an
 * exception leaves 80 to 136 bytes, or is on another stack. In 32-bit mode, all exceptions leave
 * this gap, and have the flags in the place of that word.
 *
 * On the stack of a running task, @regs may be arbitrary words, and the pushed word may be
 * after the end of the stack, in the guard page. So the word is read only if it is on a stack.
 *
 * Context: any, with preemption disabled until the caller has read what it needs.
 *
 * Return: the probepoint; NULL if neither a detour buffer nor ftrace has called the trampoline.
 */
struct probepoint *x86_kprobe_trampoline_of_regs(struct pt_regs *regs, struct task_struct *task,
						 unsigned long ip)
{
	unsigned long *where = kprobe_trampoline_return(regs), pushed;
	struct stack_info stack;
	struct probepoint *pp;

	if (READ_ONCE_NOCHECK(regs->sp) != (unsigned long)(where + 1))
		return NULL;
	if (get_stack_info(where, task, &stack, NULL) ||
	    !on_stack(&stack, where, sizeof(*where)))
		return NULL;
	pushed = READ_ONCE_NOCHECK(*where);
	pp = x86_kprobe_slot_owner(pushed);
	if (!pp)
		return slot_lookup_ftrace_call(pushed, ip);
	if (pushed != kprobe_copy_of(kprobe_slot_of(pushed), true) ||
	    !kprobe_detour_map(pushed) || ip != pp->arch.hit_ip)
		return NULL;
	return pp;
}
