// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: handling exceptions that out-of-line copies or handlers raise.
 *
 * If a copy raises an exception, the kernel sees the original instruction: exception tables,
 * oops messages and signals use the probed address and the original flags. If the kernel
 * repairs the fault and restarts the instruction, the copy is executed again, without calling
 * pre_handlers: one execution of the instruction is one hit.
 *
 * The exception handlers of the kernel have CLASS(kprobe_fault) in scope, see asm/kprobes.h. At the
 * beginning of the scope, the class calls kprobe_fault_begin(), if a probe was ever registered and
 * the kernel raised the exception. At the end, it calls kprobe_fault_resume(), if a copy raised the
 * exception.
 *
 * If the exception of a handler ends the task, kprobe_task_oopsed() discards the handler's state.
 */
#include <kunit/visibility.h>
#include <linux/entry-common.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/ptrace.h>

#include "x86.h"

static void __kprobes kprobe_fault_in_copy(struct kprobe_fault *fault, struct probepoint *pp,
					   struct pt_regs *regs)
{
	unsigned long copy;

	fault->regs = regs;
	fault->pp = pp;
	fault->ip = x86_kprobe_original_ip(pp, regs->ip);
	copy = kprobe_copy_of(kprobe_slot_of(regs->ip), kprobe_detour_map(regs->ip));
	fault->where = regs->ip == copy ? 0 : regs->ip;
	fault->stepping = x86_kprobe_step_fault(regs);
	regs->ip = fault->ip;
}

/**
 * kprobe_fault_begin() - begin to handle an exception of the kernel
 * @fault: result, for kprobe_fault_end(). The caller has cleared it.
 * @regs: registers as at the exception
 * @trapnr: its number, X86_TRAP_*
 *
 * If an out-of-line copy of a probed instruction raised the exception, @regs are changed to those
 * of the original instruction. A task that the exception kills, or that resumes at a fixup, never
 * returns to the slot.
 *
 * Context: interrupts are off, and RCU is watching.
 */
void __kprobes kprobe_fault_begin(struct kprobe_fault *fault, struct pt_regs *regs, int trapnr)
{
	struct probepoint *pp = x86_kprobe_slot_owner(regs->ip);

	if (unlikely(pp))
		kprobe_fault_in_copy(fault, pp, regs);
	x86_kprobe_offer_fault(fault, pp, regs, trapnr);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_fault_begin);

/**
 * kprobe_fault_resume() - finish handling an exception that a copy raised
 * @fault: what kprobe_fault_begin() filled in
 *
 * If the instruction is to be restarted, the task resumes where a hit would resume now: the
 * exception handler may have slept, and the slot with the copy may have been freed. If the
 * probepoint was freed, the task executes the text.
 *
 * A detour buffer also has copies of the instructions after the probed one. These have no entry in
 * an exception table, so a task does not sleep in their exceptions, and the buffer still exists
 * when the task resumes there.
 *
 * Context: interrupts are off.
 */
void __kprobes kprobe_fault_resume(struct kprobe_fault *fault)
{
	struct pt_regs *regs = fault->regs;
	struct probepoint *pp;

	if (regs->ip != fault->ip)
		return;
	if (fault->where) {
		/*
		 * Resume at the instruction that was interrupted. If a #DB or #MC was raised right
		 * before the int3 that ends a step, the CPU has yet to execute that int3: then the
		 * step goes on.
		 */
		if (fault->stepping)
			x86_kprobe_step(fault->pp, regs, true);
		regs->ip = fault->where;
		return;
	}
	pp = get_probepoint((void *)fault->ip);
	if (pp == fault->pp)
		x86_kprobe_go_on(pp, regs, X86_AFTER_FAULT, NULL);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_fault_resume);

/*
 * Leave an int3 whose handler has oopsed: undo what the entry code of the int3 did. RCU and lockdep
 * count, for each CPU, the exceptions that are being handled, and this int3 will never return.
 * Interrupts stay off, for the CPU and for lockdep.
 */
static void fault_abandon_int3(void)
{
	kprobe_int3_restore_context();
	irqentry_nmi_exit(NULL, (irqentry_state_t){});
}

/**
 * kprobe_task_oopsed() - discard the levels (records of running handlers) of a task that has oopsed
 *
 * Called when an oops is about to end the task. A handler that raised the oops never returns. If
 * its level stayed taken, the CPU would count all later hits in that context as missed. All levels
 * of the CPU belong to the task: an oops in an interrupt is a panic, and a handler of another task
 * would have preemption disabled.
 *
 * Context: task context; if a handler was running, preemption is still disabled, and in an int3
 * so are interrupts.
 */
void kprobe_task_oopsed(void)
{
	struct kprobe_level *level;

	guard(preempt_notrace)();
	x86_kprobe_steps_discard();
	while ((level = kprobe_top_level()) > this_cpu_ptr(&kprobe_levels.level[0])) {
		if (level->context & KPROBE_LEVEL_INT3)
			fault_abandon_int3();
		level->in_fault = false;
		kprobe_leave(level);
	}
}
