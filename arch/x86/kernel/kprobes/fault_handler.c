// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: calling fault_handlers.
 *
 * They are called at the beginning of an exception, before the kernel handles it: if an out-of-line
 * copy raised the exception, the fault_handlers of the copy's probepoint; if a handler raised it,
 * the fault_handler of the running probe. They are not called for debug exceptions and machine
 * checks. x86_kprobe_offer_fault() in x86.h finds out whether there is one to call.
 */
#include <asm/ptrace.h>

#include "x86.h"

/**
 * x86_kprobe_fault_in_handler() - call the fault_handler of the probe whose handler has faulted
 * @regs: registers as at the exception
 * @trapnr: its number
 *
 * Return: true if the fault_handler has handled the exception.
 */
bool __kprobes x86_kprobe_fault_in_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe_level *level = kprobe_top_level();
	struct kprobe *p = level->probe;
	kprobe_fault_handler_t handler;
	bool handled;

	/*
	 * Do not call the fault_handler for its own exceptions, or for an exception of an interrupt
	 * that arrived while the handler ran.
	 */
	if (level->in_fault || kprobe_level_context(level) != kprobe_context())
		return false;
	handler = READ_ONCE(p->fault_handler);
	if (!handler)
		return false;
	level->in_fault = true;
	handled = handler(p, regs, trapnr);
	level->in_fault = false;
	return handled;
}

/**
 * x86_kprobe_fault_in_copy() - call the fault_handlers of a probepoint whose copy has faulted
 * @pp: the probepoint
 * @regs: registers of the original instruction
 * @trapnr: number of the exception
 *
 * Return: true if one of them has handled the exception.
 */
bool __kprobes x86_kprobe_fault_in_copy(struct probepoint *pp, struct pt_regs *regs, int trapnr)
{
	unsigned long ip = regs->ip;

	if (!probepoint_run_fault_handlers(pp, regs, trapnr))
		return false;
	/*
	 * The fault_handler may have set the address of an instruction that the jump of a
	 * probepoint overlaps (in its DCR). Then resume at the copy in the detour buffer.
	 */
	if (regs->ip != ip)
		regs->ip = x86_kprobe_resume_address(regs->ip);
	return true;
}
