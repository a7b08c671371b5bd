// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the suite kprobes_ftrace: in which contexts handlers run, which hits during a
 * handler are missed, and what stack traces from handlers show.
 */

#include <linux/context_tracking.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include "kp_ftrace.h"
#include "kp_symbol.h"

static int kp_ft_call_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_ft(kp)->pre++;
	kp_ft_other(1);
	return 0;
}

static void kp_ft_call_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_kp_ft(kp)->post++;
	kp_ft_other(1);
}

/* Hits by a handler are missed, also if either of the two probes has a breakpoint. */
void kp_ft_missed(struct kunit *test)
{
	struct kp_ft_probe *outer = kp_ft_new(test, kp_ft_target);
	struct kp_ft_probe *other = kp_ft_new(test, kp_ft_other);
	struct kp_ft_probe *trap = kp_ft_new(test, NULL);
	void *after_call;
	int i;

	other->kp.post_handler = kp_ft_post;
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, other), 0);
	outer->kp.pre_handler = kp_ft_call_pre;
	outer->kp.post_handler = kp_ft_call_post;
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, outer), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
		KUNIT_EXPECT_EQ(test, outer->pre, i);
		KUNIT_EXPECT_EQ(test, outer->post, i);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, 2 * i);
	}
	KUNIT_EXPECT_EQ(test, other->pre + other->post, 0);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);

	/* The instruction after ftrace's call gets a breakpoint. */
	trap->kp.addr = other->kp.addr + MCOUNT_INSN_SIZE;
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, trap), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
	KUNIT_EXPECT_EQ(test, trap->kp.nmissed, 2);
	KUNIT_EXPECT_EQ(test, trap->pre, 0);
	after_call = (void *)outer->kp.addr + MCOUNT_INSN_SIZE;
	kp_ft_unregister(test, outer);

	outer->kp.addr = after_call;
	outer->kp.post_handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, outer), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
	KUNIT_EXPECT_EQ(test, outer->pre, 12);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed, 23);
	KUNIT_EXPECT_EQ(test, other->pre + other->post, 0);

	/* Hits outside handlers are not missed. */
	KUNIT_EXPECT_EQ(test, kp_ft_other(1), 2);
	KUNIT_EXPECT_EQ(test, other->pre + other->post, 2);
	KUNIT_EXPECT_EQ(test, trap->pre, 1);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed, 23);
}

/* Interrupts during a handler; @over_handler counts them */
static struct {
	struct irq_work work;
	struct tasklet_struct tasklet;
	int cpu_of_nmi;
	bool running;
	int over_handler;
} kp_over;

static void kp_ft_over_tasklet(struct tasklet_struct *tasklet)
{
	kp_over.over_handler += READ_ONCE(kp_over.running);
	kp_ft_other(1);
}

static void kp_ft_over_irq(struct irq_work *work)
{
	kp_over.over_handler += READ_ONCE(kp_over.running);
	kp_ft_other(1);
	tasklet_schedule(&kp_over.tasklet);
}

static int kp_ft_wait_for_irq(struct kprobe *kp, struct pt_regs *regs)
{
	int i;

	WRITE_ONCE(kp_over.running, true);
	irq_work_queue(&kp_over.work);
	for (i = 0; i < 100000000 && READ_ONCE(kp_over.over_handler) < 2; i++)
		cpu_relax();
	kp_ft_other(1);
	to_kp_ft(kp)->pre++;
	WRITE_ONCE(kp_over.running, false);
	return 0;
}

/* Hits by a hard interrupt or a softirq during a handler are not missed. */
void kp_ft_interrupted(struct kunit *test)
{
	struct kp_ft_probe *outer = kp_ft_new(test, kp_ft_target);
	struct kp_ft_probe *other = kp_ft_new(test, kp_ft_other);

	kp_over.over_handler = 0;
	kp_over.work = IRQ_WORK_INIT_HARD(kp_ft_over_irq);
	tasklet_setup(&kp_over.tasklet, kp_ft_over_tasklet);
	outer->kp.pre_handler = kp_ft_wait_for_irq;
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, other), 0);
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, outer), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
	irq_work_sync(&kp_over.work);
	tasklet_kill(&kp_over.tasklet);
	KUNIT_EXPECT_EQ(test, kp_over.over_handler, 2);
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, other->pre, 2);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
}

static int kp_ft_over_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_over.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	kp_over.over_handler += READ_ONCE(kp_over.running);
	kp_ft_other(1);
	WRITE_ONCE(kp_over.cpu_of_nmi, -1);
	return NMI_HANDLED;
}

static int kp_ft_wait_for_nmi(struct kprobe *kp, struct pt_regs *regs)
{
	int i;

	WRITE_ONCE(kp_over.running, true);
	WRITE_ONCE(kp_over.cpu_of_nmi, smp_processor_id());
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	for (i = 0; i < 1000000 && READ_ONCE(kp_over.cpu_of_nmi) >= 0; i++)
		cpu_relax();
	to_kp_ft(kp)->pre++;
	WRITE_ONCE(kp_over.running, false);
	return 0;
}

void kp_ft_nmi(struct kunit *test)
{
	struct kp_ft_probe *outer = kp_ft_new(test, kp_ft_target);
	struct kp_ft_probe *other = kp_ft_new(test, kp_ft_other);
	int i;

	kp_over.over_handler = 0;
	kp_over.cpu_of_nmi = -1;
	outer->kp.pre_handler = kp_ft_wait_for_nmi;
	other->kp.post_handler = kp_ft_post;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, kp_ft_over_nmi, 0, "kp_ftrace"), 0);
	if (!kp_ft_register(test, other) && !kp_ft_register(test, outer)) {
		for (i = 1; i <= 10; i++) {
			KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
			KUNIT_EXPECT_EQ(test, kp_over.over_handler, i);
			KUNIT_EXPECT_EQ(test, other->pre, i);
			KUNIT_EXPECT_EQ(test, other->post, i);
		}
	}
	KUNIT_EXPECT_EQ(test, outer->pre, 10);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed + other->kp.nmissed, 0);
	unregister_nmi_handler(NMI_LOCAL, "kp_ftrace");
}

/* Handlers may use RCU even where RCU does not watch the probed function. */
void kp_ft_rcu_idle(struct kunit *test)
{
	struct kp_ft_probe *probe = kp_ft_new(test, kp_ft_target);
	bool idle;
	int i;

	if (kp_ft_crowd)
		kunit_skip(test, "ftrace's list is for where RCU watches");
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, probe), 0);
	for (i = 1; i <= 3; i++) {
		local_irq_disable();
		ct_idle_enter();
		idle = !rcu_is_watching();
		kp_ft_target(1);
		idle &= !rcu_is_watching();
		ct_idle_exit();
		local_irq_enable();
		KUNIT_EXPECT_TRUE(test, idle);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_TRUE(test, probe->rcu_watching);
	}
}

#define KP_FT_DEPTH	24

static struct {
	unsigned long entry[KP_FT_DEPTH];
	unsigned int nr;
} kp_trace[3];

static unsigned int (*kp_ft_save_regs)(struct pt_regs *regs, unsigned long *store,
				       unsigned int size, unsigned int skip);

static __nocfi int kp_ft_trace_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_trace[0].nr = stack_trace_save(kp_trace[0].entry, KP_FT_DEPTH, 0);
	kp_trace[1].nr = kp_ft_save_regs(regs, kp_trace[1].entry, KP_FT_DEPTH, 0);
	return 0;
}

static void kp_ft_trace_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_trace[2].nr = stack_trace_save(kp_trace[2].entry, KP_FT_DEPTH, 0);
}

/* Return: index from @from on of an entry in the first @size bytes of @func, or -1. */
static int kp_ft_find(struct kunit *test, int trace, int from, void *func, unsigned long size)
{
	unsigned long start = (unsigned long)func;
	int i;

	for (i = from; i < kp_trace[trace].nr; i++) {
		if (kp_trace[trace].entry[i] - start < size)
			return i;
	}
	KUNIT_FAIL(test, "trace %d does not show %ps", trace, func);
	for (i = 0; i < kp_trace[trace].nr; i++)
		kunit_info(test, "  %pS\n", (void *)kp_trace[trace].entry[i]);
	return -1;
}

void kp_ft_stacks(struct kunit *test)
{
	struct kp_ft_probe *probe = kp_ft_new(test, kp_ft_target);
	int trace, at;

	kp_ft_save_regs = kp_function(test, "stack_trace_save_regs");
	probe->kp.pre_handler = kp_ft_trace_pre;
	probe->kp.post_handler = kp_ft_trace_post;
	memset(kp_trace, 0, sizeof(kp_trace));
	KUNIT_ASSERT_EQ(test, kp_ft_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 2);
	for (trace = 0; trace < ARRAY_SIZE(kp_trace); trace++) {
		at = kp_ft_find(test, trace, 0, kp_ft_target, 16);
		if (at < 0)
			continue;
		KUNIT_EXPECT_EQ(test, kp_ft_find(test, trace, at, kp_ft_caller, 32), at + 1);
		KUNIT_EXPECT_EQ(test, kp_ft_find(test, trace, at, kp_ft_stacks, 1024), at + 2);
	}
	/* A trace from registers begins with the ip, one byte past the probed address. */
	KUNIT_EXPECT_EQ(test, kp_trace[1].entry[0], (unsigned long)probe->kp.addr + 1);
}
