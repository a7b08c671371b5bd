// SPDX-License-Identifier: GPL-2.0
/*
 * Calls in every context. If a handler calls a probed function, the call is missed; if a
 * context that interrupts the handler does, it is followed.
 */

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/smp.h>
#include "kp_regs.h"
#include "kretprobes_kunit.h"

#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

static void kp_ret_in_irq_work(struct irq_work *work)
{
	kp_ret_target(1);
}

static void kp_ret_in_tasklet(struct tasklet_struct *tasklet)
{
	kp_ret_target(1);
}

static void kp_ret_in_ipi(void *unused)
{
	kp_ret_target(1);
}

static void kp_ret_contexts_all(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(kp_ret_in_irq_work);
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	struct tasklet_struct tasklet;
	unsigned long flags;
	int cpu, calls = 0;

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);

	local_irq_save(flags);
	kp_ret_target(1);
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	calls++;
	kp_rp_expect(test, probe, calls, calls);

	local_bh_disable();
	kp_ret_target(1);
	local_bh_enable();
	calls++;
	kp_rp_expect(test, probe, calls, calls);

	irq_work_queue(&work);
	irq_work_sync(&work);
	calls++;
	kp_rp_expect(test, probe, calls, calls);

	tasklet_setup(&tasklet, kp_ret_in_tasklet);
	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
	calls++;
	kp_rp_expect(test, probe, calls, calls);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, kp_ret_in_ipi, NULL, 1), 0);
		calls++;
		kp_rp_expect(test, probe, calls, calls);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

/* Handlers that call a probed function. The count shows a wrong result. */
static int kp_ret_entry_calls_other(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_ret_other(1) == 2)
		kp_ret_entry(ri, regs);
	return 0;
}

static int kp_ret_return_calls_other(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_ret_other(1) == 2)
		kp_ret_return(ri, regs);
	return 0;
}

static atomic_t kp_ret_other_hits;

static int kp_ret_other_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&kp_ret_other_hits);
	return 0;
}

static void kp_ret_contexts_handler_hits_kprobe(struct kunit *test)
{
	static struct kprobe kp;
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	int i;

	memset(&kp, 0, sizeof(kp));
	kp.addr = kp_entry(kp_ret_other);
	kp.pre_handler = kp_ret_other_pre;
	atomic_set(&kp_ret_other_hits, 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	probe->rp.handler = kp_ret_return_calls_other;
	if (!kp_rp_register(test, probe)) {
		for (i = 1; i <= 10; i++) {
			KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
			kp_rp_expect(test, probe, i, i);
			KUNIT_EXPECT_EQ(test, kp.nmissed, i);
		}
		kp_rp_unregister(test, probe);
		probe->rp.handler = kp_ret_return;
		probe->rp.entry_handler = kp_ret_entry_calls_other;
		KUNIT_EXPECT_EQ(test, kp_rp_register(test, probe), 0);
		for (i = 11; i <= 20; i++) {
			KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
			kp_rp_expect(test, probe, i, i);
			KUNIT_EXPECT_EQ(test, kp.nmissed, i);
		}
		KUNIT_EXPECT_EQ(test, atomic_read(&kp_ret_other_hits), 0);
		kp_rp_unregister(test, probe);
		KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
		KUNIT_EXPECT_EQ(test, atomic_read(&kp_ret_other_hits), 1);
		KUNIT_EXPECT_EQ(test, kp.nmissed, 20);
	}
	unregister_kprobe(&kp);
	KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&kp_ret_other_hits), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 20);
}

static void kp_ret_contexts_handler_hits_kretprobe(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	struct kp_rp *other = kp_rp_new(test, kp_ret_other);
	int i;

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, other), 0);
	probe->rp.handler = kp_ret_return_calls_other;
	probe->rp.entry_handler = kp_ret_entry_calls_other;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_rp_expect(test, probe, i, i);
		kp_rp_expect(test, other, 0, 0);
		/* Missed as a hit, not for lack of an instance */
		KUNIT_EXPECT_EQ(test, other->rp.kp.nmissed, 2 * i);
		KUNIT_EXPECT_EQ(test, other->rp.nmissed, 0);
	}
	kp_rp_unregister(test, probe);
	KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
	kp_rp_expect(test, other, 1, 1);
}

static int kp_ret_calls_itself(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_ret_target(1) == 2)
		kp_ret_return(ri, regs);
	return 0;
}

static void kp_ret_contexts_handler_hits_itself(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	unsigned long from = kp_ret_calls_from();
	int i;

	probe->rp.handler = kp_ret_calls_itself;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls(7), 8);
		kp_rp_expect(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, probe->value, 8);
		KUNIT_EXPECT_EQ(test, probe->retaddr, from);
	}
}

/* A kprobe's handler calls a function with a return probe: the call is not followed. */
static int kp_ret_pre_calls_other(struct kprobe *p, struct pt_regs *regs)
{
	if (kp_ret_other(1) == 2)
		atomic_inc(&kp_ret_other_hits);
	return 0;
}

static void kp_ret_contexts_kprobe_handler(struct kunit *test)
{
	static struct kprobe kp;
	struct kp_rp *other = kp_rp_new(test, kp_ret_other);
	int i;

	memset(&kp, 0, sizeof(kp));
	kp.addr = kp_entry(kp_ret_target);
	kp.pre_handler = kp_ret_pre_calls_other;
	atomic_set(&kp_ret_other_hits, 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, other), 0);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		KUNIT_EXPECT_EQ(test, atomic_read(&kp_ret_other_hits), i);
		kp_rp_expect(test, other, 0, 0);
		KUNIT_EXPECT_EQ(test, other->rp.kp.nmissed, i);
	}
	unregister_kprobe(&kp);
}

#ifdef CONFIG_X86

/* An interrupt during the function or during a handler */
static struct {
	struct irq_work work;
	int cpu_of_nmi;		/* the CPU that waits for its NMI, or -1 */
	bool came;
	bool in_handler;	/* the handler that should be interrupted is running */
	int over_handler;	/* interrupts during a handler */
} kp_ret_over;

/*
 * Called by the interrupt: call two functions with return probes, one of them the interrupted
 * one.
 */
static void kp_ret_interruption(void)
{
	kp_ret_over.over_handler += READ_ONCE(kp_ret_over.in_handler);
	kp_ret_other(1);
	kp_ret_target(5);
	WRITE_ONCE(kp_ret_over.came, true);
}

static void kp_ret_over_irq(struct irq_work *work)
{
	kp_ret_interruption();
}

static int kp_ret_over_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_ret_over.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	kp_ret_interruption();
	WRITE_ONCE(kp_ret_over.cpu_of_nmi, -1);
	return NMI_HANDLED;
}

static void kp_ret_have_interrupted(long nmi)
{
	int i;

	preempt_disable();
	WRITE_ONCE(kp_ret_over.came, false);
	if (nmi) {
		WRITE_ONCE(kp_ret_over.cpu_of_nmi, smp_processor_id());
		apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	} else {
		irq_work_queue(&kp_ret_over.work);
	}
	/* If interrupts are off, one arrives later. */
	for (i = 0; i < 1000000 && !READ_ONCE(kp_ret_over.came); i++) {
		if (!nmi && irqs_disabled())
			break;
		cpu_relax();
	}
	preempt_enable();
}

static int kp_ret_interrupted_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	/* Interrupt one of them only, or it would never end. */
	if (regs_return_value(regs) == 2) {
		WRITE_ONCE(kp_ret_over.in_handler, true);
		kp_ret_have_interrupted(kp_ret_over.cpu_of_nmi == -2);
		WRITE_ONCE(kp_ret_over.in_handler, false);
	}
	return kp_ret_return(ri, regs);
}

static int kp_ret_interrupted_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_argument(regs, 0) == 1) {
		WRITE_ONCE(kp_ret_over.in_handler, true);
		kp_ret_have_interrupted(kp_ret_over.cpu_of_nmi == -2);
		WRITE_ONCE(kp_ret_over.in_handler, false);
	}
	return kp_ret_entry(ri, regs);
}

static void kp_ret_over_prepare(struct kunit *test, struct kp_rp *other)
{
	memset(&kp_ret_over, 0, sizeof(kp_ret_over));
	kp_ret_over.work = IRQ_WORK_INIT_HARD(kp_ret_over_irq);
	kp_ret_over.cpu_of_nmi = -1;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, other), 0);
}

static void kp_ret_over_function(struct kunit *test, bool nmi)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_calls_back);
	struct kp_rp *target = kp_rp_new(test, kp_ret_target);
	struct kp_rp *other = kp_rp_new(test, kp_ret_other);
	int i;

	kp_ret_over_prepare(test, other);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, target), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_have_interrupted, nmi), nmi + 1);
		KUNIT_EXPECT_TRUE(test, kp_ret_over.came);
		kp_rp_expect(test, probe, i, i);
		kp_rp_expect(test, other, i, i);
		kp_rp_expect(test, target, i, i);
		KUNIT_EXPECT_EQ(test, target->value, 6);
		KUNIT_EXPECT_EQ(test, probe->value, nmi + 1);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed + target->rp.nmissed + other->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, other->rp.kp.nmissed + target->rp.kp.nmissed, 0);
}

/* @always: the interrupt comes while the handler runs, and not after it */
static void kp_ret_over_handler(struct kunit *test, struct kp_rp *target, bool nmi, bool always)
{
	struct kp_rp *other = kp_rp_new(test, kp_ret_other);
	int i;

	kp_ret_over_prepare(test, other);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, target), 0);
	for (i = 1; i <= 10; i++) {
		kp_ret_over.cpu_of_nmi = nmi ? -2 : -1;
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		irq_work_sync(&kp_ret_over.work);
		KUNIT_EXPECT_TRUE(test, kp_ret_over.came);
		if (always)
			KUNIT_EXPECT_EQ(test, kp_ret_over.over_handler, i);
		kp_rp_expect(test, other, i, i);
		kp_rp_expect(test, target, 2 * i, 2 * i);
	}
	KUNIT_EXPECT_EQ(test, target->rp.nmissed + other->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, other->rp.kp.nmissed + target->rp.kp.nmissed, 0);
}

static void kp_ret_over_return_handler(struct kunit *test, bool nmi)
{
	struct kp_rp *target = kp_rp_new(test, kp_ret_target);

	target->rp.handler = kp_ret_interrupted_return;
	kp_ret_over_handler(test, target, nmi, true);
}

/* Only an NMI can interrupt an entry_handler that runs with interrupts off. */
static void kp_ret_over_entry_handler(struct kunit *test, bool nmi)
{
	struct kp_rp *target = kp_rp_new(test, kp_ret_target);

	target->rp.entry_handler = kp_ret_interrupted_entry;
	kp_ret_over_handler(test, target, nmi, nmi);
}

static void kp_ret_contexts_irq_over_function(struct kunit *test)
{
	kp_ret_over_function(test, false);
}

static void kp_ret_contexts_irq_over_return_handler(struct kunit *test)
{
	kp_ret_over_return_handler(test, false);
}

static void kp_ret_contexts_irq_over_entry_handler(struct kunit *test)
{
	kp_ret_over_entry_handler(test, false);
}

static void kp_ret_unregister_nmi(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
}

static void kp_ret_with_nmi(struct kunit *test, void (*fn)(struct kunit *test, bool nmi))
{
	int ret = register_nmi_handler(NMI_LOCAL, kp_ret_over_nmi, 0, KBUILD_MODNAME);

	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_ret_unregister_nmi, NULL), 0);
	fn(test, true);
}

static void kp_ret_contexts_nmi_over_function(struct kunit *test)
{
	kp_ret_with_nmi(test, kp_ret_over_function);
}

static void kp_ret_contexts_nmi_over_return_handler(struct kunit *test)
{
	kp_ret_with_nmi(test, kp_ret_over_return_handler);
}

static void kp_ret_contexts_nmi_over_entry_handler(struct kunit *test)
{
	kp_ret_with_nmi(test, kp_ret_over_entry_handler);
}

#endif /* CONFIG_X86 */

static struct kunit_case kp_ret_contexts_cases[] = {
	KUNIT_CASE(kp_ret_contexts_all),
	KUNIT_CASE(kp_ret_contexts_handler_hits_kprobe),
	KUNIT_CASE(kp_ret_contexts_handler_hits_kretprobe),
	KUNIT_CASE(kp_ret_contexts_handler_hits_itself),
	KUNIT_CASE(kp_ret_contexts_kprobe_handler),
#ifdef CONFIG_X86
	KUNIT_CASE(kp_ret_contexts_irq_over_function),
	KUNIT_CASE(kp_ret_contexts_irq_over_return_handler),
	KUNIT_CASE(kp_ret_contexts_irq_over_entry_handler),
	KUNIT_CASE(kp_ret_contexts_nmi_over_function),
	KUNIT_CASE(kp_ret_contexts_nmi_over_return_handler),
	KUNIT_CASE(kp_ret_contexts_nmi_over_entry_handler),
#endif
	{}
};

struct kunit_suite kp_ret_contexts_suite = {
	.name = "kretprobes_contexts",
	.test_cases = kp_ret_contexts_cases,
};
