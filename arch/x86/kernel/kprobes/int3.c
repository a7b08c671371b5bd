// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: a hit of a breakpoint.
 *
 * The pre_handlers run. Then the instruction is emulated, or the CPU is sent to the slot
 * or to the detour buffer. A slot that ends in a jump back is the last that this file
 * sees of the hit: if there are post_handlers, the slot calls kprobe_post_trampoline(). A slot
 * that ends in int3 is single-stepped, see step.c.
 *
 * A CPU's levels record which interrupt contexts run handlers, see struct kprobe_level.
 * A hit that a handler makes itself comes from the context that is recorded: it is
 * counted as missed, and its instruction is executed all the same. A hit from a softirq,
 * a hard interrupt or an NMI that has interrupted a handler comes from another interrupt
 * context, nested in that one, and calls its handlers. The int3 itself counts as an NMI in
 * preempt_count, so the context that it has interrupted is compared.
 *
 * An NMI may come at any point. It finds the levels consistent, and leaves them as they
 * were.
 */
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#include "common.h"

#define INT_IMM8_OPCODE	0xcd

DEFINE_PER_CPU(struct kprobe_levels, kprobe_levels);

DEFINE_STATIC_KEY_FALSE(kprobes_used_key);

/* The probe that kprobe_busy_begin() records as running. No user registers it. */
static struct kprobe kprobe_busy;

/**
 * arch_init_kprobes() - prepare the levels of all CPUs
 *
 * Return: 0.
 */
int __init arch_init_kprobes(void)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct kprobe_levels *levels = per_cpu_ptr(&kprobe_levels, cpu);

		for (i = 0; i <= KPROBE_MAX_LEVELS; i++)
			levels->level[i].context = KPROBE_CONTEXT_NONE;
		levels->top = &levels->level[0];
	}
	return 0;
}

/**
 * arch_begin_kprobes() - have exceptions and unwinders take note of slots
 *
 * They do so from the first probe on. The key stays enabled: a task may return to a
 * trampoline at any time after the last probe.
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void arch_begin_kprobes(void)
{
	lockdep_assert_held(&kprobe_mutex);
	if (!static_key_enabled(&kprobes_used_key))
		static_branch_enable(&kprobes_used_key);
}

/**
 * kprobe_busy_begin() - have hits of this context counted as missed
 *
 * For code that calls handlers outside of a hit. Calls nest. If a handler runs in this
 * context already, only preemption is disabled.
 *
 * Context: any. Disables preemption until kprobe_busy_end().
 */
void kprobe_busy_begin(void)
{
	struct kprobe_level *level;
	s32 context;

	preempt_disable_notrace();
	context = kprobe_context();
	if (kprobe_enter(&level, context, context, &kprobe_busy, NULL))
		level->busy = 0;
	level = kprobe_top_level();
	if (level->probe == &kprobe_busy)
		level->busy++;
}

/**
 * kprobe_busy_end() - end what kprobe_busy_begin() began
 */
void kprobe_busy_end(void)
{
	struct kprobe_level *level = kprobe_top_level();

	if (level->probe == &kprobe_busy && !--level->busy)
		kprobe_leave(level);
	preempt_enable_notrace();
}

/**
 * kprobe_task_oopsed() - forget the handlers that the current task was in
 *
 * Called when an oops is about to end the task. A handler that has raised it never
 * returns; if its level stayed, the CPU would count all later hits of its context as
 * missed. All levels of the CPU are the task's: an oops in an interrupt is a panic, and
 * a handler of another task would have preemption disabled.
 *
 * Context: that of a task; preemption is still disabled if a handler was running.
 */
void kprobe_task_oopsed(void)
{
	struct kprobe_level *level;

	guard(preempt_notrace)();
	x86_kprobe_steps_forget();
	while ((level = kprobe_top_level()) > this_cpu_ptr(&kprobe_levels.level[0])) {
		level->in_fault = false;
		kprobe_leave(level);
	}
}

/*
 * Has the breakpoint been removed while this CPU was on its way here?
 *
 * text_poke_sync() waits for the handlers of breakpoints on all online CPUs, but not on
 * a CPU that comes up or goes down: that CPU may execute the int3, and look for its
 * probepoint when the text is the original again and the probepoint has left the table.
 * Then it has to execute the original instruction.
 */
static bool __kprobes int3_is_removed(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	u8 text[2];

	/*
	 * The byte before it is read too: an int with a vector of 3 leaves the same
	 * address. No function is called, since a breakpoint in it would lead here again.
	 */
	__get_kernel_nofault(text, (void *)(addr - 1), u16, unreadable);
	if (text[1] == INT3_INSN_OPCODE || (text[0] == INT_IMM8_OPCODE && text[1] == X86_TRAP_BP))
		return false;
	regs->ip = addr;
	return true;

unreadable:
	return false;
}

/* Handle a breakpoint at an address that has no probepoint. */
static noinline int __kprobes int3_without_probepoint(struct pt_regs *regs)
{
	return x86_kprobe_step_trap(regs) || int3_is_removed(regs);
}

/* A handler has made the hit itself: execute the instruction, and call no handler. */
static noinline int __kprobes int3_missed(struct probepoint *pp, struct pt_regs *regs)
{
	/* Pairs with the release in x86_kprobe_choose_exec(). */
	unsigned long resume = READ_ONCE(pp->arch.resume);

	probepoint_count_missed(pp);
	if (resume)
		regs->ip = resume;
	else if (pp->arch.emulation.run)
		pp->arch.emulation.run(pp, regs);
	else
		x86_kprobe_step(pp, regs, false);
	return 1;
}

/* End a hit that is single-stepped, or that is emulated and has post_handlers. */
static noinline int __kprobes int3_finish_hit(struct probepoint *pp, struct pt_regs *regs)
{
	struct kprobe_level *level = kprobe_top_level();
	bool post = probepoint_has_post(pp);

	if (!pp->arch.emulation.run) {
		kprobe_leave(level);
		x86_kprobe_step(pp, regs, post);
		return 1;
	}
	/* No handler runs while the emulation reads memory, which may fault. */
	level->regs = NULL;
	WRITE_ONCE(level->probe, NULL);
	pp->arch.emulation.run(pp, regs);
	/* An emulation that could not read memory has sent the CPU to the copy. */
	if (post && (!pp->arch.slot.copy || regs->ip != (unsigned long)pp->arch.slot.copy))
		kprobe_run_post_handlers(pp, regs, level);
	kprobe_leave(level);
	return 1;
}

/**
 * kprobe_int3_handler() - handle a breakpoint, if it is one of a probepoint
 * @regs: registers as at the breakpoint; the instruction pointer is behind it
 *
 * Context: interrupts are off, and RCU is watching.
 *
 * Return: 1 if the breakpoint has been handled and the CPU is to resume with @regs; 0 if
 * it belongs to other code, and @regs are unchanged.
 */
int __kprobes kprobe_int3_handler(struct pt_regs *regs)
{
	struct kprobe_level *level;
	struct probepoint *pp;
	struct kprobe *first;
	unsigned long resume;
	s32 context;

	/*
	 * A task can have almost any instruction pointer: its code segment can have a base,
	 * and 32-bit code wraps around at 4 GiB.
	 */
	if (user_mode(regs))
		return 0;
	pp = get_probepoint((void *)(regs->ip - INT3_INSN_SIZE));
	if (unlikely(!pp))
		return int3_without_probepoint(regs);

	context = kprobe_context();
	first = probepoint_first(pp);
	if (!kprobe_enter(&level, context - KPROBE_CONTEXT_INT3, context, first, regs))
		return int3_missed(pp, regs);
	if (unlikely(first->pre_handler(first, regs))) {
		kprobe_leave(level);
		regs->ip = x86_kprobe_resume_address(regs->ip);
		return 1;
	}
	/* Pairs with the release in x86_kprobe_choose_exec(). */
	resume = READ_ONCE(pp->arch.resume);
	if (resume) {
		regs->ip = resume;
		kprobe_leave(level);
		return 1;
	}
	if (pp->arch.emulation.run && !probepoint_has_post(pp)) {
		kprobe_leave(level);
		return pp->arch.emulation.run(pp, regs);
	}
	return int3_finish_hit(pp, regs);
}
