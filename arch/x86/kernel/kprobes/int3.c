// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: handling a hit of a breakpoint.
 *
 * The pre_handlers run. Then the instruction is emulated, or the CPU resumes in the slot or in
 * the detour buffer. A boosted slot ends in a jump back, and calls kprobe_post_trampoline() if
 * there are post_handlers: such a hit does not return to this file. A slot that ends in an int3
 * is single-stepped, see step.c.
 *
 * Each CPU has a stack of running handlers. An entry, called a level (struct kprobe_level), records
 * in which interrupt context the handler runs. If a handler itself causes a hit, the hit has the
 * handler's context: see x86_kprobe_hit_nested(). A softirq, hard interrupt or NMI that interrupts
 * a handler has a context of its own, so its hits call their handlers. preempt_count counts the
 * int3 itself as an NMI. So a hit subtracts that from preempt_count to get the context that the
 * int3 interrupted, and compares that with the level's. The handlers run in that context: while
 * they run, preempt_count does not count the int3.
 *
 * An NMI may interrupt this code at any instruction. It finds the levels consistent, and leaves
 * them unchanged.
 *
 * At the end of this file is what the trampolines call.
 */
#include <kunit/visibility.h>
#include <linux/cpuhotplug.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#include "x86.h"

#define INT_IMM8_OPCODE	0xcd

DEFINE_PER_CPU(struct kprobe_levels, kprobe_levels);
#if IS_ENABLED(CONFIG_KUNIT)
EXPORT_PER_CPU_SYMBOL_GPL(kprobe_levels);
#endif

DEFINE_STATIC_KEY_FALSE(kprobes_used_key);

/* kprobe_busy_begin() records this probe as running. It is never registered. */
static struct kprobe kprobe_busy;

/*
 * Empty a CPU's stacks of running handlers and of steps before the CPU starts. An INIT IPI, which
 * restarts a CPU, may have stopped it in a handler: the handler's level would stay taken, and all
 * later hits in that context would be missed.
 */
static int kprobe_reset_cpu(unsigned int cpu)
{
	struct kprobe_levels *levels = per_cpu_ptr(&kprobe_levels, cpu);
	unsigned int i;

	for (i = 0; i <= KPROBE_MAX_LEVELS; i++)
		levels->level[i] = (struct kprobe_level){ .context = KPROBE_CONTEXT_NONE };
	levels->top = &levels->level[0];
	x86_kprobe_steps_reset(cpu);
	return 0;
}

/*
 * Initialise each CPU's stack of running handlers. Later, kprobe_reset_cpu() empties the stack of
 * each CPU that is about to be brought up.
 */
int __init arch_init_kprobes(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kprobe_reset_cpu(cpu);
	return min(0, cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "x86/kprobes:levels",
						kprobe_reset_cpu, NULL));
}

/*
 * Let exception handlers and unwinders look for addresses in slots and trampolines. Called for each
 * registration, also of a &struct kprobe_multi that tracks calls. The key is never disabled: a task
 * may return to a trampoline at any time after the last probe was unregistered.
 */
void arch_begin_kprobes(void)
{
	lockdep_assert_held(&kprobe_mutex);
	if (!static_key_enabled(&kprobes_used_key))
		static_branch_enable(&kprobes_used_key);
}

/**
 * kprobe_busy_begin() - begin to count hits in this context as missed
 *
 * For code that calls handlers outside of a hit. Calls nest. If a handler already runs in this
 * context, only preemption is disabled.
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
EXPORT_SYMBOL_IF_KUNIT(kprobe_busy_begin);

/**
 * kprobe_busy_end() - undo kprobe_busy_begin()
 */
void kprobe_busy_end(void)
{
	struct kprobe_level *level = kprobe_top_level();

	if (level->probe == &kprobe_busy && !--level->busy)
		kprobe_leave(level);
	preempt_enable_notrace();
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_busy_end);

/*
 * Was the breakpoint removed after this CPU executed it?
 *
 * text_poke_sync() waits for the handlers of breakpoints on all online CPUs, but not on
 * a CPU that is being brought up or down: that CPU may execute the int3, and look for its
 * probepoint when the probepoint has left the table and the text is the original again.
 * Then it must execute the original instruction.
 */
static bool __kprobes int3_is_removed(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	u8 text, before = 0;

	/*
	 * If an int3 is still at @addr, it belongs to other code. So does an int instruction with
	 * vector 3, whose bytes cd 03 end where an int3 would: read the byte before @addr, too,
	 * unless @addr is the first byte of a mapping.
	 * Call no function: a breakpoint in it would lead here again.
	 */
	__get_kernel_nofault(&text, (void *)addr, u8, unreadable);
	__get_kernel_nofault(&before, (void *)(addr - 1), u8, first);
first:
	if (text == INT3_INSN_OPCODE || (before == INT_IMM8_OPCODE && text == X86_TRAP_BP))
		return false;
	regs->ip = addr;
	return true;

unreadable:
	return false;
}

/*
 * Handle a breakpoint at an address that has no probepoint: the int3 that ends a single step, or a
 * breakpoint that was removed after this CPU executed it. Return: 0 if it belongs to other code.
 */
static noinline int __kprobes int3_without_probepoint(struct pt_regs *regs)
{
	return x86_kprobe_step_trap(regs) || int3_is_removed(regs);
}

/*
 * Take a second level for a context in which a handler runs, and for which kprobe_enter() has
 * failed. @context may have the other bits of struct kprobe_level.context.
 *
 * A level is an entry of this CPU's stack of running handlers. A context that has two levels gets
 * no more, so the number of levels is bounded, whatever handlers call. An interrupt may arrive
 * while the interrupted code fills a level. That level has no context yet, so it does not count as
 * a level of the interrupt.
 *
 * Return: the level; NULL if the context has two. Preemption is disabled.
 */
struct kprobe_level __kprobes *x86_kprobe_take_second(s32 context, struct pt_regs *regs)
{
	struct kprobe_level *outer = kprobe_top_level();
	s32 interrupted = context & KPROBE_CONTEXT_MASK;

	/* @outer is &level[1] or above, so @outer - 1 exists: &level[0] is a sentinel. */
	if (kprobe_level_context(outer) != interrupted ||
	    kprobe_level_context(outer - 1) == interrupted)
		return NULL;
	return kprobe_take_level(context, NULL, regs);
}

/**
 * x86_kprobe_hit_nested() - handle a hit that a handler of the same context has caused
 * @pp: the probepoint
 * @context: as for x86_kprobe_take_second()
 * @regs: registers of the hit
 *
 * If the probe whose handler runs has KPROBE_FLAG_NEST, this calls the pre_handlers of the probes
 * with that flag, see kprobe_nests(). It calls none, and counts the hit as missed, if
 *
 * - the probe whose handler runs does not have the flag;
 * - that handler has hit the probepoint of its own probe;
 * - that handler was itself called by this function. Handlers often call the same functions first,
 *   for instance rcu_read_lock(): with probes in these, each nested hit would cause the next one,
 *   without end.
 *
 * An interrupt or an NMI has another context, in which handlers may nest again. While the
 * pre_handlers run, preemption is disabled, so unregister_kprobe() waits for them, as it does for
 * other hits. If a probe is unregistered while its handler runs, its @point becomes NULL. Then the
 * handler may hit its former probepoint, and this calls the pre_handlers there, which does no harm.
 *
 * Context: the probed code's, with preemption disabled.
 *
 * Return: true if a handler has redirected execution to @regs.
 */
bool __kprobes x86_kprobe_hit_nested(struct probepoint *pp, s32 context, struct pt_regs *regs)
{
	struct kprobe_level *outer = kprobe_top_level(), *level = NULL;
	struct kprobe *runs = READ_ONCE(outer->probe);
	bool redirected;

	/*
	 * @runs is NULL while x86_kprobe_emulate_with_post() emulates an instruction. If the
	 * emulation faults, hits in the exception handler are missed.
	 */
	if (runs && kprobe_nests(runs) && READ_ONCE(runs->point) != pp)
		level = x86_kprobe_take_second(context, regs);
	if (!level) {
		probepoint_count_missed(pp);
		return false;
	}
	redirected = probepoint_call_nested(pp, regs);
	kprobe_leave(level);
	return redirected;
}

/* Resume where a pre_handler has redirected execution to. Return: 1. */
static __always_inline int int3_redirected(struct probepoint *pp, struct pt_regs *regs)
{
	probepoint_note_redirect(pp);
	regs->ip = x86_kprobe_resume_address(regs->ip);
	return 1;
}

/*
 * Handle a hit of @pp that a handler has caused. The post_handlers of @pp are not called: they
 * would need the level (struct kprobe_level) of this context, which that handler keeps until it
 * returns. See x86_kprobe_step_trap().
 */
static noinline int __kprobes int3_nested(struct probepoint *pp, struct pt_regs *regs)
{
	bool redirected;

	kprobe_int3_hide_context();
	redirected = x86_kprobe_hit_nested(pp, kprobe_context() + KPROBE_LEVEL_INT3, regs);
	kprobe_int3_restore_context();
	if (redirected)
		return int3_redirected(pp, regs);
	return x86_kprobe_go_on(pp, regs, X86_AFTER_MISS, NULL);
}

/*
 * Emulate the probed instruction, call the post_handlers, and free the hit's level, the top entry
 * of this CPU's stack of running handlers. Return: 1.
 */
int __kprobes x86_kprobe_emulate_with_post(struct probepoint *pp, struct pt_regs *regs)
{
	struct kprobe_level *level = kprobe_top_level();

	/*
	 * The emulation may fault when it reads memory. Record that no handler
	 * runs, so that the fault does not count as a handler's.
	 */
	level->regs = NULL;
	WRITE_ONCE(level->probe, NULL);
	pp->arch.emulation.run(pp, regs);
	/*
	 * If the emulation could not read memory or go to the target, the CPU resumes in the copy,
	 * which raises the exception. The instruction has not been executed yet, so do not call the
	 * post_handlers here. If the kernel repairs the exception, x86_kprobe_emulate_again() lets
	 * the CPU execute the int3 after the copy. Then x86_kprobe_step_trap() emulates the
	 * instruction again, and calls the post_handlers.
	 */
	if (!pp->arch.slot.copy || regs->ip != (unsigned long)pp->arch.slot.copy)
		kprobe_run_post_handlers(pp, regs, level);
	kprobe_leave(level);
	return 1;
}

/**
 * kprobe_int3_handler() - handle a breakpoint of a probepoint or of a single step
 * @regs: registers as at the breakpoint; the instruction pointer is after it
 *
 * It also handles a breakpoint that is no longer in the text: the CPU executes the current text.
 *
 * Context: interrupts are off, and RCU is watching.
 *
 * Return: 1 if the breakpoint was handled and the CPU is to resume with @regs; 0 if it belongs to
 * other code, and @regs are unchanged.
 */
int __kprobes kprobe_int3_handler(struct pt_regs *regs)
{
	struct kprobe_level *level;
	struct probepoint *pp;
	struct kprobe *first;
	int skip;

	/*
	 * User space can set almost any instruction pointer, also the address of a probepoint:
	 * its code segment can have a base, and 32-bit code wraps around at 4 GiB.
	 */
	if (user_mode(regs))
		return 0;
	pp = get_probepoint((void *)(regs->ip - INT3_INSN_SIZE));
	if (unlikely(!pp))
		return int3_without_probepoint(regs);

	first = probepoint_first(pp);
	if (!kprobe_enter_int3(&level, first, regs))
		return int3_nested(pp, regs);
	kprobe_int3_hide_context();
	skip = first->pre_handler(first, regs);
	kprobe_int3_restore_context();
	if (unlikely(skip)) {
		kprobe_leave(level);
		return int3_redirected(pp, regs);
	}
	return x86_kprobe_go_on(pp, regs, X86_AFTER_HIT, level);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_int3_handler);

/*
 * Find where to resume after a handler has redirected execution, and change @regs->ip. Also
 * reschedule, if that was requested while the handlers ran.
 */
__visible void __kprobes kprobe_redirect(struct pt_regs *regs)
{
	preempt_disable_notrace();
	regs->ip = x86_kprobe_resume_address(regs->ip);
	preempt_enable_notrace();
}

#ifdef CONFIG_CFI_CLANG
/*
 * With CFI, an indirect call must check the type of the function, and only the compiler can
 * generate that check. So the trampolines call these C functions, which call the handler.
 */
__visible int __kprobes kprobe_call_pre(struct kprobe *p, struct pt_regs *regs,
					kprobe_pre_handler_t handler)
{
	return handler(p, regs);
}

__visible void __kprobes kprobe_call_post(struct kprobe *p, struct pt_regs *regs,
					  unsigned long flags, kprobe_post_handler_t handler)
{
	handler(p, regs, flags);
}

#ifdef CONFIG_KRETPROBES
__visible int __kprobes kprobe_call_return(struct kretprobe_instance *ri,
					   struct pt_regs *regs, kretprobe_handler_t handler)
{
	return handler(ri, regs);
}
#endif
#endif /* CONFIG_CFI_CLANG */

#ifdef CONFIG_X86_32
/*
 * Call the post_handlers for kprobe_post_trampoline. In 64-bit mode the trampoline does this
 * itself. Return: true if a handler has redirected execution to @regs.
 */
__visible bool __kprobes kprobe_post_hit(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long next = regs->ip;
	struct kprobe_level *level;
	s32 context;

	preempt_disable_notrace();
	context = kprobe_context();
	/*
	 * If a handler that runs in this context has caused this hit, no post_handler is called.
	 * The hit was counted as missed before the instruction was executed.
	 */
	if (likely(kprobe_enter(&level, context, context, NULL, NULL))) {
		probepoint_call_post(pp, regs, &level->probe);
		kprobe_leave(level);
	}
	preempt_enable_notrace();
	return regs->ip != next;
}
#endif

#if defined(CONFIG_X86_64) && defined(CONFIG_PREEMPTION)
/*
 * A trampoline decrements preempt_count itself, and calls this if a reschedule was requested while
 * the handlers ran, and the probed function was preemptible.
 */
__visible void __kprobes kprobe_trampoline_resched(void)
{
	__preempt_schedule_notrace();
}
#endif
