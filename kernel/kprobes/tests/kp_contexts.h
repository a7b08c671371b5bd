/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CONTEXTS_H
#define KP_CONTEXTS_H

/* Calls in every context, and interrupts during a function; included by one file of a module */

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/smp.h>

static void (*kp_context_call)(void);

static void kp_context_irq_work(struct irq_work *work)
{
	kp_context_call();
}

static void kp_context_tasklet(struct tasklet_struct *tasklet)
{
	kp_context_call();
}

static void kp_context_ipi(void *unused)
{
	kp_context_call();
}

/*
 * Call @call in one context after the other, and on one CPU after the other, since counters need
 * not be atomic. After each, call @check with the number of calls so far, which is returned.
 */
static int kp_in_contexts(struct kunit *test, void (*call)(void),
			  void (*check)(struct kunit *test, void *data, int calls), void *data)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(kp_context_irq_work);
	struct tasklet_struct tasklet;
	unsigned long flags;
	int cpu, calls = 0;

	kp_context_call = call;
	local_irq_save(flags);
	call();
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	check(test, data, ++calls);

	local_bh_disable();
	call();
	local_bh_enable();
	check(test, data, ++calls);

	irq_work_queue(&work);
	irq_work_sync(&work);
	check(test, data, ++calls);

	tasklet_setup(&tasklet, kp_context_tasklet);
	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
	check(test, data, ++calls);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, kp_context_ipi, NULL, 1), 0);
		check(test, data, ++calls);
	}
	return calls;
}

#ifdef CONFIG_X86

#include <asm/apic.h>
#include <asm/nmi.h>

static struct {
	struct irq_work work;
	/* what the interrupt or the NMI does */
	void (*call)(void);
	bool nmi;
	/* the CPU that waits for its NMI, or -1 */
	int cpu_of_nmi;
	bool arrived;
	bool in_handler;
	/* how many arrived while in_handler was set */
	int over_handler;
} kp_interrupt;

static void kp_interrupt_arrives(void)
{
	kp_interrupt.over_handler += READ_ONCE(kp_interrupt.in_handler);
	kp_interrupt.call();
	WRITE_ONCE(kp_interrupt.arrived, true);
}

static void kp_interrupt_irq(struct irq_work *work)
{
	kp_interrupt_arrives();
}

static int kp_interrupt_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_interrupt.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	kp_interrupt_arrives();
	WRITE_ONCE(kp_interrupt.cpu_of_nmi, -1);
	return NMI_HANDLED;
}

static void kp_interrupt_unregister(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
}

static const struct kp_interrupt_kind {
	const char *name;
	bool nmi;
} kp_interrupt_kinds[] = {
	{ "irq" }, { "nmi", true },
};

KUNIT_ARRAY_PARAM_DESC(kp_interrupt, kp_interrupt_kinds, name);

/* Until the end of the case, kp_interrupt_self() has @call called by an interrupt or an NMI. */
static void kp_interrupt_prepare(struct kunit *test, void (*call)(void), bool nmi)
{
	memset(&kp_interrupt, 0, sizeof(kp_interrupt));
	kp_interrupt.work = IRQ_WORK_INIT_HARD(kp_interrupt_irq);
	kp_interrupt.call = call;
	kp_interrupt.nmi = nmi;
	kp_interrupt.cpu_of_nmi = -1;
	if (!nmi)
		return;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, kp_interrupt_nmi, 0, KBUILD_MODNAME),
			0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_interrupt_unregister, NULL), 0);
}

/* Interrupt this CPU. With interrupts off, an interrupt arrives later, an NMI at once. */
static void kp_interrupt_self(void)
{
	int i;

	preempt_disable();
	WRITE_ONCE(kp_interrupt.arrived, false);
	if (kp_interrupt.nmi) {
		WRITE_ONCE(kp_interrupt.cpu_of_nmi, smp_processor_id());
		apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	} else {
		irq_work_queue(&kp_interrupt.work);
	}
	for (i = 0; i < 1000000 && !READ_ONCE(kp_interrupt.arrived); i++) {
		if (!kp_interrupt.nmi && irqs_disabled())
			break;
		cpu_relax();
	}
	preempt_enable();
}

/* The same for a handler, whose interruptions are counted */
static void kp_interrupt_handler(void)
{
	WRITE_ONCE(kp_interrupt.in_handler, true);
	kp_interrupt_self();
	WRITE_ONCE(kp_interrupt.in_handler, false);
}

#endif /* CONFIG_X86 */
#endif
