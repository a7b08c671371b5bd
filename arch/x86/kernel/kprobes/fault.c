// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: exceptions of out-of-line copies and of handlers.
 *
 * An exception that a copy raises is shown to the kernel as if the original instruction
 * had raised it: exception tables, oops messages and signals go by the probed address and
 * by the original flags. If the kernel repairs the fault and has the instruction executed
 * again, the copy is executed again: one execution of the instruction is one hit.
 *
 * The exception handlers of the kernel have CLASS(kprobe_fault) in scope, see
 * asm/kprobes.h, which calls kprobe_fault_begin() and kprobe_fault_resume(). It calls neither
 * before the first probe is registered, nor for an exception that user space has raised.
 */
#include <linux/preempt.h>
#include <asm/ptrace.h>
#include <asm/trapnr.h>

#include "common.h"

/* Offer an exception of a handler to the fault_handler of the same probe. */
static bool __kprobes kprobe_fault_in_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe_level *level = kprobe_top_level();
	struct kprobe *p = level->probe;
	kprobe_fault_handler_t handler = READ_ONCE(p->fault_handler);
	bool handled;

	/* A fault_handler is not called for its own faults. */
	if (level->in_fault || level->context != kprobe_context() || !handler)
		return false;
	level->in_fault = true;
	handled = handler(p, regs, trapnr);
	level->in_fault = false;
	return handled;
}

/*
 * Has the instruction raised the exception instead of having an effect? A watchpoint
 * reports what has been done already, and a machine check may have nothing to do with the
 * instruction.
 */
static __always_inline bool kprobe_is_fault(int trapnr)
{
	return trapnr != X86_TRAP_DB && trapnr != X86_TRAP_MC;
}

/**
 * kprobe_fault_begin() - begin to handle an exception of the kernel
 * @fault: result, for kprobe_fault_end(). The caller has cleared @fault->handled and
 *	@fault->pp.
 * @regs: registers as at the exception
 * @trapnr: its number, X86_TRAP_*
 *
 * If a copy has raised it, @regs are changed to those of the original instruction. A task
 * that dies of the exception, or is sent to a fix-up, never returns to the slot; if the
 * instruction is to be executed again, kprobe_fault_resume() sends the task to the copy.
 *
 * The fault_handlers are called first: those of the probepoint if its copy has raised the
 * exception, that of the running probe if a handler has. They are not called for debug
 * exceptions and machine checks.
 *
 * Context: interrupts are off, and RCU is watching.
 */
void __kprobes kprobe_fault_begin(struct kprobe_fault *fault, struct pt_regs *regs, int trapnr)
{
	struct probepoint *pp = x86_kprobe_slot_owner(regs->ip);
	unsigned long copy;

	if (likely(!pp)) {
		fault->handled = kprobe_is_fault(trapnr) && unlikely(kprobe_running()) &&
				 kprobe_fault_in_handler(regs, trapnr);
		return;
	}

	fault->regs = regs;
	fault->pp = pp;
	fault->ip = x86_kprobe_original_ip(pp, regs->ip);
	copy = kprobe_copy_of(kprobe_slot_of(regs->ip), kprobe_detour_map(regs->ip));
	fault->where = regs->ip == copy ? 0 : regs->ip;
	fault->stepping = x86_kprobe_step_fault(regs, &fault->run_post);
	regs->ip = fault->ip;
	/* Only the first copy is of the probed instruction. */
	if (!fault->where && kprobe_is_fault(trapnr) && probepoint_has_fault(pp))
		fault->handled = probepoint_run_fault_handlers(pp, regs, trapnr);
}

/**
 * kprobe_fault_resume() - end the handling of an exception that a copy has raised
 * @fault: what kprobe_fault_begin() returned
 *
 * If the instruction is to be executed again, the task resumes where a hit would now:
 * handling the exception may have taken long and slept, so the slot that raised it may be
 * gone. If the probepoint is gone, the task executes the text.
 *
 * Other instructions of a detour buffer raise no exception in which a task can sleep, so
 * the buffer is still there.
 *
 * Context: interrupts are off.
 */
void __kprobes kprobe_fault_resume(struct kprobe_fault *fault)
{
	struct pt_regs *regs = fault->regs;
	struct probepoint *pp;
	unsigned long resume;

	if (regs->ip != fault->ip) {
		/* A fault_handler has redirected execution, and knows of no jumps. */
		if (fault->handled)
			regs->ip = x86_kprobe_resume_address(regs->ip);
		return;
	}
	if (fault->where) {
		/* A watchpoint or a machine check between the copy and the int3. */
		if (fault->stepping)
			x86_kprobe_step_again(fault->pp, regs, fault->run_post);
		regs->ip = fault->where;
		return;
	}
	pp = get_probepoint((void *)fault->ip);
	if (pp != fault->pp)
		return;
	/* Pairs with the release in x86_kprobe_choose_exec(). */
	resume = READ_ONCE(pp->arch.resume);
	if (resume)
		regs->ip = resume;
	else if (fault->stepping)
		x86_kprobe_step_again(pp, regs, fault->run_post);
	else if (!pp->arch.emulation.run || pp->arch.slot.form >= X86_SLOT_BOOST)
		regs->ip = (unsigned long)READ_ONCE(pp->arch.slot.copy);
}

/**
 * kprobe_fault_handler() - offer a page fault to a fault_handler
 * @regs: registers as at the exception
 * @trapnr: its number, X86_TRAP_*
 *
 * The core calls it by kprobe_page_fault().
 *
 * Return: 0: kprobe_fault_begin() has called the fault_handlers already.
 */
int __kprobes kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	return 0;
}
