// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture on x86: limits of unwinders, NMIs that a CPU sends to itself.
 */
#include <linux/percpu.h>
#include <linux/string.h>
#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>

#include "torture.h"

/*
 * Unwinders give up in a retpoline, which does not return to its caller. On
 * i386 they also give up in rethook's trampoline: the registers that it has
 * saved have no valid ip until its C function sets it.
 */
bool torture_can_unwind(const char *function)
{
	if (IS_ENABLED(CONFIG_X86_32) && strstarts(function, "arch_rethook_trampoline"))
		return false;
	/* Not strstarts(): kallsyms may return an alias with the prefix __pi_. */
	return !strstr(function, "__x86_indirect_") && !strstr(function, "__x86_return_") &&
	       !strstarts(function, "retbleed_") && !strstarts(function, "srso_");
}

static void (*nmi_call)(void);
/* This CPU has sent itself an NMI, so the next one is ours. */
static DEFINE_PER_CPU(bool, nmi_sent);

static int torture_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!this_cpu_read(nmi_sent))
		return NMI_DONE;
	this_cpu_write(nmi_sent, false);
	nmi_call();
	return NMI_HANDLED;
}

int torture_start_nmi(void (*call)(void))
{
	int err;

	err = register_nmi_handler(NMI_LOCAL, torture_nmi, 0, "kprobe_torture");
	if (!err)
		nmi_call = call;
	return err;
}

void torture_stop_nmi(void)
{
	if (!nmi_call)
		return;
	unregister_nmi_handler(NMI_LOCAL, "kprobe_torture");
	nmi_call = NULL;
}

/* Context: interrupts are off. */
void torture_send_nmi(void)
{
#ifdef CONFIG_X86_LOCAL_APIC
	if (!boot_cpu_has(X86_FEATURE_APIC))
		return;
	this_cpu_write(nmi_sent, true);
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
#endif
}
