// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: calling the fault_handlers of a probepoint.
 *
 * If the copy of a probed instruction raises an exception, the fault_handlers of all enabled probes
 * are called, until one of them returns non-zero. The architecture calls the fault_handler of a
 * probe whose handler raises an exception.
 */
#include <linux/kprobes.h>

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

static int __kprobes __maybe_unused fault_dispatch(struct kprobe *kp, struct pt_regs *regs,
						   int trapnr)
{
	return probepoint_run_fault_handlers(container_of(kp, struct probepoint, kp), regs, trapnr);
}

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
