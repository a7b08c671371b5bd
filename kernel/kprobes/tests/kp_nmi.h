/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_NMI_H
#define KP_NMI_H

/* NMIs that an x86 CPU sends to itself; one file of a test module includes this */

#include <asm/apic.h>
#include <asm/nmi.h>
#include "kp_test.h"

static struct {
	void (*call)(void);
	/* the CPU that waits for its NMI; -1: none does */
	int cpu;
} kp_nmi;

static int kp_nmi_handler(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_nmi.cpu) != smp_processor_id())
		return NMI_DONE;
	kp_nmi.call();
	WRITE_ONCE(kp_nmi.cpu, -1);
	return NMI_HANDLED;
}

/* Until kp_nmi_stop(), kp_nmi_send() calls @call in an NMI. */
static int kp_nmi_start(void (*call)(void))
{
	kp_nmi.call = call;
	kp_nmi.cpu = -1;
	return register_nmi_handler(NMI_LOCAL, kp_nmi_handler, 0, KBUILD_MODNAME);
}

static void kp_nmi_stop(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
}

static void kp_nmi_send(void)
{
	int i;

	guard(preempt)();
	WRITE_ONCE(kp_nmi.cpu, smp_processor_id());
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	for (i = 0; i < 1000000 && READ_ONCE(kp_nmi.cpu) >= 0; i++)
		cpu_relax();
}

#endif
