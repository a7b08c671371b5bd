/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CASES_CONTEXTS_H
#define KP_CASES_CONTEXTS_H

/*
 * Test cases that call a probed function in every context, and that interrupt handlers. One file of
 * each test module includes this. KP_KIND is the kind of probe that the module tests: see
 * kp_kind.h.
 */

/*
 * @target, @other: functions to probe; @where: the handler that calls the function passed to
 * kp_prepare_hook(). 0 is the pre_handler, the entry_handler, or the handler of a jprobe; 1 is the
 * post_handler, or the handler of a return probe.
 */
static const struct kp_context {
	const char *name;
	long (*target)(long arg);
	long (*other)(long arg);
	unsigned int where;
} kp_contexts[] = { KP_CONTEXTS };

KUNIT_ARRAY_PARAM_DESC(kp_context, kp_contexts, name);

static const struct kp_context *kp_context;
static unsigned int kp_context_wrong;

static __nocfi void kp_context_call(void)
{
	kp_context_wrong += kp_context->target(1) != 2;
}

static __nocfi void kp_context_call_other(void)
{
	kp_context_wrong += kp_context->other(1) != 2;
}

static struct kp_probe *kp_context_probe(struct kunit *test, void (*hook)(void))
{
	struct kp_probe *probe;

	kp_context = test->param_value;
	kp_context_wrong = 0;
	probe = kp_new(test, kp_context->target);
	kp_prepare_hook(probe, kp_context->where, hook);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	return probe;
}

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
 * Call kp_context->target in one context after another. The calls must not overlap, as the handlers
 * of kprobes and jprobes do not count their calls atomically.
 */
static void kp_contexts_all(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(kp_context_irq_work);
	struct kp_probe *probe = kp_context_probe(test, NULL);
	struct tasklet_struct tasklet;
	unsigned long flags;
	int cpu, calls = 0;

	local_irq_save(flags);
	kp_context_call();
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	kp_expect_hits(test, probe, ++calls);

	local_bh_disable();
	kp_context_call();
	local_bh_enable();
	kp_expect_hits(test, probe, ++calls);

	irq_work_queue(&work);
	irq_work_sync(&work);
	kp_expect_hits(test, probe, ++calls);

	tasklet_setup(&tasklet, kp_context_tasklet);
	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
	kp_expect_hits(test, probe, ++calls);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, kp_context_ipi, NULL, 1), 0);
		kp_expect_hits(test, probe, ++calls);
	}
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
	KUNIT_EXPECT_EQ(test, kp_missed(probe), 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

/* A handler calls kp_context->other: each enabled probe on it must count the hit as missed. */
static __nocfi void kp_contexts_missed(struct kunit *test)
{
	struct kp_probe *probe = kp_context_probe(test, kp_context_call_other);
	struct kp_probe *other[2], *disabled;
	int i;

	other[0] = kp_registered(test, kp_context->other);
	other[1] = kp_new(test, kp_context->other);
	kp_prepare_hook(other[1], 1, NULL);
	KUNIT_ASSERT_EQ(test, kp_register(test, other[1]), 0);
	disabled = kp_registered(test, kp_context->other);
	KUNIT_EXPECT_EQ(test, kp_disable(disabled), 0);
	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_context->target, i);
		KUNIT_EXPECT_EQ(test, other[0]->kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, other[1]->kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, kp_missed(other[0]), i);
	}
	KUNIT_EXPECT_EQ(test, disabled->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
	kp_expect_hits(test, other[0], 0);
	kp_expect_hits(test, other[1], 0);

	/* A hit outside of a handler is not missed. */
	kp_expect_call(test, other[0], kp_context->other, 1);
	kp_expect_hits(test, other[1], 1);
	KUNIT_EXPECT_EQ(test, other[0]->kp.nmissed, 10);
}

/* A handler calls the function that its own probe is on: that hit must be missed. */
static __nocfi void kp_contexts_missed_itself(struct kunit *test)
{
	struct kp_probe *probe = kp_context_probe(test, kp_context_call);
	int i;

	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_context->target, i);
		KUNIT_EXPECT_EQ(test, kp_missed(probe), i);
	}
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
	/* Registration clears the number of missed hits, unregistration keeps it. */
	kp_unregister(test, probe);
	KUNIT_EXPECT_EQ(test, kp_missed(probe), 10);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_missed(probe), 0);
}

#ifdef CONFIG_X86

#include "kp_nmi.h"

static struct {
	struct irq_work work;
	/* called in the interrupt or the NMI */
	void (*call)(void);
	bool nmi;
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

/*
 * Until the case ends, kp_interrupt_self() raises an interrupt or, with @nmi, an NMI, which calls
 * @call.
 */
static void kp_interrupt_prepare(struct kunit *test, void (*call)(void), bool nmi)
{
	memset(&kp_interrupt, 0, sizeof(kp_interrupt));
	kp_interrupt.work = IRQ_WORK_INIT_HARD(kp_interrupt_irq);
	kp_interrupt.call = call;
	kp_interrupt.nmi = nmi;
	if (!nmi)
		return;
	KUNIT_ASSERT_EQ(test, kp_nmi_start(kp_interrupt_arrives), 0);
	kp_at_end(test, kp_nmi_stop, NULL);
}

/*
 * Send this CPU an NMI or an interrupt, and wait for it. With interrupts off, an interrupt arrives
 * later: do not wait.
 */
static void kp_interrupt_self(void)
{
	int i;

	guard(preempt)();
	WRITE_ONCE(kp_interrupt.arrived, false);
	if (kp_interrupt.nmi) {
		kp_nmi_send();
		return;
	}
	irq_work_queue(&kp_interrupt.work);
	for (i = 0; i < 1000000 && !READ_ONCE(kp_interrupt.arrived) && !irqs_disabled(); i++)
		cpu_relax();
}

static void kp_interrupt_handler(void)
{
	WRITE_ONCE(kp_interrupt.in_handler, true);
	kp_interrupt_self();
	WRITE_ONCE(kp_interrupt.in_handler, false);
}

static struct {
	/* interrupt the next handler that runs; the handler clears this */
	bool armed;
	bool irqs_off;
	struct tasklet_struct tasklet;
} kp_context_over;

static void kp_context_interrupted(void)
{
	if (!kp_context_over.armed)
		return;
	kp_context_over.armed = false;
	kp_context_over.irqs_off = irqs_disabled();
	kp_interrupt_handler();
}

/*
 * Call both probed functions. This runs in an NMI; or in an interrupt, and then again in the
 * softirq that the interrupt raises.
 */
static void kp_context_interruption(void)
{
	kp_context_call();
	kp_context_call_other();
	if (in_hardirq() && !in_nmi())
		tasklet_schedule(&kp_context_over.tasklet);
}

static void kp_context_softirq(struct tasklet_struct *tasklet)
{
	kp_interrupt_arrives();
}

/*
 * Interrupt a handler with an NMI, or with an interrupt that raises a softirq. The NMI, the
 * interrupt and the softirq call both functions once each. Their hits are in other contexts than
 * the handler, so none may be missed. In each round, the task calls the first function, too.
 */
static __nocfi void kp_contexts_over_handler(struct kunit *test, bool nmi)
{
	struct kp_probe *probe = kp_context_probe(test, kp_context_interrupted);
	struct kp_probe *other = kp_registered(test, kp_context->other);
	int i, each = nmi ? 1 : 2, over = 0;
	/* With PREEMPT_RT a thread executes the softirq, after the handler has ended. */
	int each_over = IS_ENABLED(CONFIG_PREEMPT_RT) ? 1 : each;

	kp_interrupt_prepare(test, kp_context_interruption, nmi);
	tasklet_setup(&kp_context_over.tasklet, kp_context_softirq);
	for (i = 1; i <= 10; i++) {
		kp_context_over.armed = true;
		KUNIT_EXPECT_EQ(test, kp_context->target(1), 2);
		irq_work_sync(&kp_interrupt.work);
		tasklet_kill(&kp_context_over.tasklet);
		KUNIT_EXPECT_TRUE(test, kp_interrupt.arrived);
		/*
		 * A breakpoint calls the handler with interrupts off, so the interrupt arrives
		 * after the handler. If the probepoint has been optimised since the last round, the
		 * handler runs with interrupts on, and the interrupt arrives during the handler.
		 */
		over += nmi || !kp_context_over.irqs_off ? each_over : 0;
		KUNIT_EXPECT_EQ(test, kp_interrupt.over_handler, over);
		kp_expect_hits(test, other, i * each);
		kp_expect_hits(test, probe, i * (1 + each));
	}
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
	KUNIT_EXPECT_EQ(test, kp_missed(probe) + kp_missed(other), 0);
}

KP_CASE(kp_contexts_irq, kp_contexts_over_handler(test, false))
KP_CASE(kp_contexts_nmi, kp_contexts_over_handler(test, true))

#define KP_CASES_INTERRUPTS						\
	KUNIT_CASE_PARAM(kp_contexts_irq, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_contexts_nmi, kp_context_gen_params)

#endif /* CONFIG_X86 */

#define KP_CASES_CONTEXTS						\
	KUNIT_CASE_PARAM(kp_contexts_all, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_contexts_missed, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_contexts_missed_itself, kp_context_gen_params)

#endif
