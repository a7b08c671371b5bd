// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: calling the fault_handlers of a probepoint.
 *
 * If the copy of a probed instruction raises an exception, the fault_handlers of all enabled probes
 * are called, until one of them returns non-zero. If a handler raises an exception, the
 * fault_handler of its probe is called: on x86 by fault_handler.c there, on all other architectures
 * by kprobe_offer_fault().
 */
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#include "internal.h"

/**
 * probepoint_run_fault_handlers() - call the fault_handlers of a probepoint
 * @pp: the probepoint whose instruction has faulted
 * @regs: registers as at the fault
 * @trapnr: number of the exception, as the architecture counts them
 *
 * Context: any, with preemption disabled.
 *
 * Return: true if a fault_handler handled the fault; the fault_handlers after it are not called.
 */
bool __kprobes probepoint_run_fault_handlers(struct probepoint *pp, struct pt_regs *regs,
					     int trapnr)
{
	struct probe_set *set = probepoint_set(pp);
	struct kprobe **pos = set->probes + set->all, *p;
	kprobe_fault_handler_t handler;

	while ((p = *pos++)) {
		handler = READ_ONCE(p->fault_handler);
		if (handler && handler(p, regs, trapnr))
			return true;
	}
	return false;
}

#ifndef __ARCH_WANT_PROBEPOINT
/* The fault_handler of the kprobe that stands for a probepoint */
static int __kprobes fault_dispatch(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	return probepoint_run_fault_handlers(container_of(kp, struct probepoint, kp), regs, trapnr);
}

static bool __kprobes legacy_run_fault_handler(kprobe_fault_handler_t handler, struct kprobe *p,
					       struct pt_regs *regs, int trapnr)
{
	struct kprobe_ctlblk *kcb = get_kprobe_ctlblk();
	struct kprobe *running = kprobe_running();
	unsigned long status = kcb->kprobe_status;
	bool handled;

	/* kprobe_busy has no fault_handler, so the handler is not called for its own exceptions. */
	__this_cpu_write(current_kprobe, &kprobe_busy);
	kcb->kprobe_status = KPROBE_HIT_ACTIVE;
	handled = handler(p, regs, trapnr);
	kcb->kprobe_status = status;
	__this_cpu_write(current_kprobe, running);
	return handled;
}

/**
 * kprobe_offer_fault() - offer a page fault to a fault_handler, and to the architecture
 * @regs: registers as at the fault
 * @trapnr: number of the exception, for the fault_handler
 *
 * If the copy of an instruction raised the fault, the architecture is called first: it ends the
 * step and sets the instruction pointer to the probed address, and then a fault_handler may change
 * the instruction pointer. For any other fault, the fault_handler is called first.
 *
 * Context: the context of the fault; kprobe_running() is not NULL.
 *
 * Return: true if the fault was handled.
 */
bool __kprobes kprobe_offer_fault(struct pt_regs *regs, unsigned int trapnr)
{
	struct kprobe *p = kprobe_running();
	kprobe_fault_handler_t handler = READ_ONCE(p->fault_handler);
	bool stepping, handled;

	if (likely(!handler))
		return kprobe_fault_handler(regs, trapnr);
	/*
	 * On some architectures, kprobe_fault_handler() enables preemption when it ends the step.
	 * Keep it disabled for the fault_handler.
	 */
	preempt_disable();
	stepping = get_kprobe_ctlblk()->kprobe_status & (KPROBE_HIT_SS | KPROBE_REENTER);
	if (stepping)
		handled = kprobe_fault_handler(regs, trapnr) ||
			  legacy_run_fault_handler(handler, p, regs, trapnr);
	else
		handled = legacy_run_fault_handler(handler, p, regs, trapnr) ||
			  kprobe_fault_handler(regs, trapnr);
	preempt_enable_no_resched();
	return handled;
}
#endif

/**
 * probepoint_publish_fault() - publish whether a probepoint has a fault_handler
 * @pp: the probepoint
 * @set: the probe set that is being published
 */
void probepoint_publish_fault(struct probepoint *pp, const struct probe_set *set)
{
	bool has_fault = false;
	unsigned int i;

	lockdep_assert_held(&kprobe_mutex);
	for (i = set->all; set->probes[i]; i++)
		has_fault |= !!set->probes[i]->fault_handler;
	WRITE_ONCE(pp->has_fault, has_fault);
#ifndef __ARCH_WANT_PROBEPOINT
	/* pp->kp.fault_handler never becomes NULL again, see probe_set_dispatchers(). */
	if (has_fault)
		WRITE_ONCE(pp->kp.fault_handler, fault_dispatch);
#endif
}
