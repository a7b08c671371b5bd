// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: single-stepping an out-of-line copy.
 *
 * The CPU executes the copy in the slot with interrupts off. The int3 after the copy ends the
 * step. So only exceptions in the copy, NMIs and machine checks can occur during a step. Hits in
 * an NMI may be single-stepped, too: each CPU has a stack of steps. It is separate from the
 * levels of running handlers: a step takes no level. So if the copy raises an exception, hits
 * in the exception handler call their handlers, unless a handler caused the stepped hit.
 */
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/processor-flags.h>
#include <asm/text-patching.h>

#include "x86.h"

/**
 * struct kprobe_step - a step that has begun on this CPU
 * @trap: address of the int3 that ends the step; 0 if there is no step. An NMI reads it first,
 *	so it is set last and cleared first.
 * @pp: the probepoint
 * @flags: X86_EFLAGS_IF and X86_EFLAGS_TF as they were before the step
 * @again: the copy raised an exception, and is stepped once more after its cause was repaired
 */
struct kprobe_step {
	unsigned long trap;
	struct probepoint *pp;
	unsigned long flags;
	bool again;
};

/**
 * struct kprobe_steps - a CPU's stack of steps
 * @depth: number of steps that have begun
 * @step: the steps; each interrupted the one before it
 */
struct kprobe_steps {
	unsigned int depth;
	struct kprobe_step step[KPROBE_MAX_CONTEXTS];
};

static DEFINE_PER_CPU(struct kprobe_steps, kprobe_steps);

/* Return: the innermost step of this CPU, or NULL. */
static struct kprobe_step *__kprobes step_current(void)
{
	struct kprobe_steps *steps = raw_cpu_ptr(&kprobe_steps);
	unsigned int depth = READ_ONCE(steps->depth);

	return depth ? &steps->step[depth - 1] : NULL;
}

/*
 * Single-step the copy of the probed instruction: change @regs, of the hit, to resume at the copy.
 * @again: the copy raised an exception, and is stepped once more after its cause was repaired. Then
 * @regs are those of the exception. Interrupts are off. Return: 1.
 */
int __kprobes x86_kprobe_step(struct probepoint *pp, struct pt_regs *regs, bool again)
{
	struct kprobe_steps *steps = raw_cpu_ptr(&kprobe_steps);
	/* Pairs with smp_store_release() in slot_make(): the slot's code was written before. */
	unsigned long copy = (unsigned long)READ_ONCE(pp->arch.slot.copy);
	struct kprobe_step *step;

	/* At most one step begins in each interrupt context, so a full array is a bug. */
	if (unlikely(steps->depth == ARRAY_SIZE(steps->step)))
		panic("kprobes: too many nested steps, at %pS\n", pp->addr);
	/* From here on, an NMI uses the next step, and frees it before it returns. */
	step = &steps->step[steps->depth];
	WRITE_ONCE(steps->depth, steps->depth + 1);
	barrier();
	step->pp = pp;
	step->again = again;
	step->flags = regs->flags & (X86_EFLAGS_IF | X86_EFLAGS_TF);
	barrier();
	WRITE_ONCE(step->trap, copy + pp->arch.insn.size);
	regs->flags &= ~(X86_EFLAGS_IF | X86_EFLAGS_TF);
	regs->ip = copy;
	return 1;
}

/**
 * x86_kprobe_emulate_again() - emulate an instruction again after an exception was repaired
 * @pp: the probepoint
 * @regs: registers of the exception, which a copy raised
 *
 * The emulation may push a word. The entry code of an int3 leaves room for that between the stack
 * of the probed function and the saved registers; the entry code of this exception does not. So if
 * the slot ends in an int3, let the CPU execute only that int3: x86_kprobe_step_trap() then
 * emulates the instruction. If the slot is boosted, the CPU executes the copy again, which does not
 * push. Without a slot, @regs are unchanged, and the CPU resumes at the probed address.
 *
 * Context: the exception's handler, with interrupts off.
 *
 * Return: 1.
 */
int __kprobes x86_kprobe_emulate_again(struct probepoint *pp, struct pt_regs *regs)
{
	if (pp->arch.slot.form >= X86_SLOT_BOOST) {
		regs->ip = (unsigned long)READ_ONCE(pp->arch.slot.copy);
	} else if (pp->arch.slot.form == X86_SLOT_STEP) {
		x86_kprobe_step(pp, regs, true);
		regs->ip = step_current()->trap;
	}
	return 1;
}

static __always_inline void step_free(struct kprobe_step *step)
{
	struct kprobe_steps *steps = raw_cpu_ptr(&kprobe_steps);

	WRITE_ONCE(step->trap, 0);
	barrier();
	WRITE_ONCE(steps->depth, steps->depth - 1);
}

/*
 * End @step, the innermost one: restore the interrupt and trap flags from before it, and free it.
 */
static void __kprobes step_end(struct kprobe_step *step, struct pt_regs *regs)
{
	regs->flags |= step->flags;
	step_free(step);
}

/*
 * Tell lockdep and the tracers that interrupts will be on after the step. This is for a copy that
 * raised an exception, and is executed again with interrupts off: the exit from that exception has
 * told them that interrupts are off. The exit from the int3 that ends the step does not correct
 * this, since it restores the state that the int3 found.
 */
static void __kprobes step_note_interrupts_on(unsigned long ip)
{
	trace_hardirqs_on_prepare();
	lockdep_hardirqs_on_prepare();
	lockdep_hardirqs_on(ip);
}

/*
 * If the int3 that was hit is the one after the copy of a step, end the step.
 *
 * Context: the handler of an int3.
 *
 * Return: true if the breakpoint ended a step, and the CPU is to resume with @regs.
 */
bool __kprobes x86_kprobe_step_trap(struct pt_regs *regs)
{
	struct kprobe_step *step = step_current();
	struct kprobe_level *level;
	bool run_post, again;
	struct probepoint *pp;

	if (!step || READ_ONCE(step->trap) != regs->ip - INT3_INSN_SIZE)
		return false;
	pp = step->pp;
	run_post = probepoint_has_post(pp);
	again = step->again;
	regs->ip = pp->arch.next_ip;
	step_end(step, regs);
	/*
	 * After x86_kprobe_emulate_again() the CPU has executed only the int3, so emulate the
	 * instruction now. If the emulation cannot read memory, it sets regs->ip to the copy, which
	 * raises the exception: then do not call the post_handlers.
	 */
	if (unlikely(again) && pp->arch.emulation.run) {
		pp->arch.emulation.run(pp, regs);
		run_post &= regs->ip != (unsigned long)READ_ONCE(pp->arch.slot.copy);
	}
	/*
	 * If a handler has caused the hit, this CPU's stack of running handlers still has an entry
	 * (level) for it, so kprobe_enter_int3() fails: nested hits call no post_handlers, see
	 * int3_nested().
	 */
	if (run_post && kprobe_enter_int3(&level, NULL, NULL)) {
		kprobe_run_post_handlers(pp, regs, level);
		kprobe_leave(level);
	}
	if (again && regs->flags & X86_EFLAGS_IF)
		step_note_interrupts_on(regs->ip);
	return true;
}

/*
 * Abandon a step whose copy raised an exception, if the exception of @regs, in a slot, is one:
 * restore their flags, and return true.
 */
bool __kprobes x86_kprobe_step_fault(struct pt_regs *regs)
{
	struct kprobe_step *step = step_current();

	if (!step || kprobe_slot_of(READ_ONCE(step->trap)) != kprobe_slot_of(regs->ip))
		return false;
	step_end(step, regs);
	return true;
}

/*
 * Discard the steps of a task that has oopsed: it never reaches the int3s that would end them.
 *
 * Context: the task's, with preemption disabled.
 */
void x86_kprobe_steps_discard(void)
{
	struct kprobe_step *step;

	while ((step = step_current()))
		step_free(step);
}

/* Discard the steps of a CPU before it starts: an INIT IPI may have stopped it during a step. */
void x86_kprobe_steps_reset(unsigned int cpu)
{
	*per_cpu_ptr(&kprobe_steps, cpu) = (struct kprobe_steps){};
}
