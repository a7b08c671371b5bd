// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture on x86: limits of unwinders, NMIs that a CPU sends to itself, tasks that sleep in
 * a page fault.
 */
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/string.h>
#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>

#include "torture.h"

/*
 * Return: false if unwinders may give up in @function. They do so in a retpoline, which does not
 * return to its caller. On i386, they also do so in rethook's trampoline: the registers that the
 * trampoline saves have no valid ip until arch_rethook_trampoline_callback() sets it.
 */
bool torture_can_unwind(const char *function)
{
	if (IS_ENABLED(CONFIG_X86_32) && strstarts(function, "arch_rethook_trampoline"))
		return false;
	/* strstarts() would not do: kallsyms may return an alias with the prefix __pi_. */
	return !strstr(function, "__x86_indirect_") && !strstr(function, "__x86_return_") &&
	       !strstarts(function, "retbleed_") && !strstarts(function, "srso_");
}

/*
 * If true, a write to the parameter load calls a target. Guarded by kernel_param_lock(), which
 * every write to a parameter takes.
 */
static bool loads_allowed;

/*
 * A task that writes to the parameter load calls torture_x86_load(). Readers call it, too, but have
 * no user memory: only the writing task sleeps in the page fault.
 */
static int torture_load_set(const char *val, const struct kernel_param *kp)
{
	static unsigned int seed;
	unsigned int i;

	for (i = 0; loads_allowed && i < torture_nr_targets; i++) {
		if (torture_targets[i].call != torture_x86_load)
			continue;
		torture_call(&torture_targets[i], seed++ % TORTURE_SEEDS, TORTURE_TASK);
		return 0;
	}
	return -ENODEV;
}

static const struct kernel_param_ops torture_load_ops = {
	.set = torture_load_set,
};

module_param_cb(load, &torture_load_ops, NULL, 0200);
MODULE_PARM_DESC(load, "Write anything: read user memory in a target");

void torture_allow_loads(bool allow)
{
	kernel_param_lock(THIS_MODULE);
	loads_allowed = allow;
	kernel_param_unlock(THIS_MODULE);
}

static void (*nmi_call)(void);
/* This CPU has sent itself an NMI: torture_nmi() must handle the next NMI. */
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
