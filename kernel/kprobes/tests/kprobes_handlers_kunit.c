// SPDX-License-Identifier: GPL-2.0
/* Handlers: registers, order, redirection, nesting */

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/smp.h>
#include "kprobes_kunit.h"
#include "kp_regs.h"

#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/nmi.h>

/* A probe at each instruction of a function: check the instruction pointers. */
static void kp_handlers_addresses(struct kunit *test)
{
	struct kp_probe *probe;
	int insn;

	for (insn = KP_SUM_LEA; insn < KP_SUM_RET; insn++) {
		probe = kp_new(test, kp_x86_sum_addr(insn));
		probe->kp.post_handler = kp_count_post;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, 1);
		KUNIT_EXPECT_EQ(test, probe->post, 1);
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		/* As the breakpoint leaves it, one byte on */
		KUNIT_EXPECT_EQ(test, probe->pre_ip, (unsigned long)probe->kp.addr + 1);
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)kp_x86_sum_addr(insn + 1));
		KUNIT_EXPECT_FALSE(test, probe->preemptible);
		kp_unregister(test, probe);
	}
}

/* After a return instruction, the next instruction is in the caller. */
static void kp_handlers_return(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_x86_sum_addr(KP_SUM_RET));
	unsigned long start = (unsigned long)kp_x86_sum;

	probe->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	KUNIT_EXPECT_EQ(test, probe->post, 1);
	KUNIT_EXPECT_FALSE(test, probe->post_ip >= start &&
			   probe->post_ip < start + kp_x86_sum_insn[KP_SUM_RET]);
}

static int kp_double_argument(struct kprobe *kp, struct pt_regs *regs)
{
	kp_arg1(regs) *= 2;
	return kp_count_pre(kp, regs);
}

static void kp_add_to_result(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	regs->ax += 1000;
	kp_count_post(kp, regs, flags);
}

static void kp_handlers_change_registers(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_x86_sum_addr(KP_SUM_LEA));

	probe->kp.pre_handler = kp_double_argument;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(20, 2), 42);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	kp_unregister(test, probe);

	probe->kp.pre_handler = NULL;
	probe->kp.post_handler = kp_add_to_result;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 1042);
	KUNIT_EXPECT_EQ(test, probe->post, 1);
}

static int kp_return_at_once(struct kprobe *kp, struct pt_regs *regs)
{
	kp_count_pre(kp, regs);
	regs->ax = kp_arg1(regs) * 2;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

static void kp_handlers_divert(struct kunit *test)
{
	struct kp_probe *older = kp_new(test, kp_x86_sum);
	struct kp_probe *divert = kp_new(test, kp_x86_sum);
	struct kp_probe *newer = kp_new(test, kp_x86_sum);

	divert->kp.pre_handler = kp_return_at_once;
	divert->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, divert), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 20);
	KUNIT_EXPECT_EQ(test, divert->pre, 1);
	KUNIT_EXPECT_EQ(test, divert->post, 0);
	kp_unregister(test, divert);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 11);

	/*
	 * With other probes: pre_handlers before it have run, later ones and post_handlers do
	 * not.
	 */
	older->kp.post_handler = kp_count_post;
	newer->kp.post_handler = kp_count_post;
	divert->pre = 0;
	KUNIT_ASSERT_EQ(test, kp_register(test, older), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, divert), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, newer), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 20);
	KUNIT_EXPECT_EQ(test, newer->pre, 1);
	KUNIT_EXPECT_EQ(test, divert->pre, 1);
	KUNIT_EXPECT_EQ(test, older->pre, 0);
	KUNIT_EXPECT_EQ(test, newer->post + divert->post + older->post, 0);

	/* A redirected hit does not affect the next one. */
	KUNIT_EXPECT_EQ(test, disable_kprobe(&divert->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 11);
	KUNIT_EXPECT_EQ(test, newer->pre, 2);
	KUNIT_EXPECT_EQ(test, older->pre, 1);
	KUNIT_EXPECT_EQ(test, newer->post, 1);
	KUNIT_EXPECT_EQ(test, older->post, 1);
	KUNIT_EXPECT_EQ(test, newer->kp.nmissed + divert->kp.nmissed + older->kp.nmissed, 0);
}
#endif

/* The handlers that ran, in order */
static struct {
	struct kprobe *kp;
	bool post;
} kp_runs[16];

static unsigned int kp_runs_nr;

static void kp_note_run(struct kprobe *kp, bool post)
{
	if (kp_runs_nr < ARRAY_SIZE(kp_runs)) {
		kp_runs[kp_runs_nr].kp = kp;
		kp_runs[kp_runs_nr].post = post;
	}
	kp_runs_nr++;
}

NOKPROBE_SYMBOL(kp_note_run);

static int kp_note_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_note_run(kp, false);
	return 0;
}

NOKPROBE_SYMBOL(kp_note_pre);

static void kp_note_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_note_run(kp, true);
}

NOKPROBE_SYMBOL(kp_note_post);

/* All pre_handlers run, then all post_handlers, each time the newest first. */
static void kp_handlers_order(struct kunit *test)
{
	struct kp_probe *probe[4];
	int i;

	kp_runs_nr = 0;
	for (i = 0; i < 4; i++) {
		probe[i] = kp_new(test, kp_target);
		probe[i]->kp.pre_handler = kp_note_pre;
		probe[i]->kp.post_handler = kp_note_post;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_ASSERT_EQ(test, kp_runs_nr, 8);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_PTR_EQ(test, kp_runs[i].kp, &probe[3 - i % 4]->kp);
		KUNIT_EXPECT_EQ(test, kp_runs[i].post, i >= 4);
	}

	/* Disabling and enabling does not change the order. */
	kp_runs_nr = 0;
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe[1]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_enable(test, &probe[1]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_ASSERT_EQ(test, kp_runs_nr, 8);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_PTR_EQ(test, kp_runs[i].kp, &probe[3 - i % 4]->kp);
}

/*
 * A post_handler is called from its registration to its unregistration, whatever other probes
 * there are.
 */
static void kp_handlers_post_joins(struct kunit *test)
{
	struct kp_probe *plain = kp_new(test, kp_target);
	struct kp_probe *joins = kp_new(test, kp_target);
	int i;

	joins->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, plain), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, joins), 0);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, joins->pre, i);
		KUNIT_EXPECT_EQ(test, joins->post, i);
		kp_unregister(test, joins);
		kp_expect_unprobed(test, joins, kp_target);
	}
	KUNIT_EXPECT_EQ(test, plain->pre, 7);
	KUNIT_EXPECT_EQ(test, plain->post, 0);

	/* The same by enabling and disabling */
	joins->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, joins), 0);
	kp_expect_unprobed(test, joins, kp_target);
	KUNIT_EXPECT_EQ(test, kp_enable(test, &joins->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, joins->post, 4);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&joins->kp), 0);
	kp_expect_unprobed(test, joins, kp_target);
}

static void kp_handlers_post_only(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	probe->kp.pre_handler = NULL;
	probe->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->post, 1);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

/* Handlers that hit another probe */
static int kp_call_other_pre(struct kprobe *kp, struct pt_regs *regs)
{
	/* The count shows a wrong result. */
	if (kp_target_other(1) == 2)
		to_kp_probe(kp)->pre++;
	return 0;
}

static void kp_call_other_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	if (kp_target_other(1) == 2)
		to_kp_probe(kp)->post++;
}

static void kp_handlers_missed(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, kp_target);
	struct kp_probe *enabled[2], *disabled;
	int i;

	for (i = 0; i < 2; i++) {
		enabled[i] = kp_new(test, kp_target_other);
		enabled[i]->kp.post_handler = i ? kp_count_post : NULL;
		KUNIT_ASSERT_EQ(test, kp_register(test, enabled[i]), 0);
	}
	disabled = kp_new(test, kp_target_other);
	disabled->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, disabled), 0);

	outer->kp.pre_handler = kp_call_other_pre;
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, outer->pre, i);
		KUNIT_EXPECT_EQ(test, enabled[0]->kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, enabled[1]->kp.nmissed, i);
	}
	kp_unregister(test, outer);

	outer->kp.pre_handler = NULL;
	outer->kp.post_handler = kp_call_other_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, outer->post, i);
		KUNIT_EXPECT_EQ(test, enabled[0]->kp.nmissed, 10 + i);
		KUNIT_EXPECT_EQ(test, enabled[1]->kp.nmissed, 10 + i);
	}
	kp_unregister(test, outer);

	KUNIT_EXPECT_EQ(test, disabled->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, enabled[0]->pre + enabled[1]->pre + enabled[1]->post, 0);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);

	/* Outside a handler it is a hit, and is not missed. */
	KUNIT_EXPECT_EQ(test, kp_target_other(1), 2);
	KUNIT_EXPECT_EQ(test, enabled[0]->pre, 1);
	KUNIT_EXPECT_EQ(test, enabled[1]->pre, 1);
	KUNIT_EXPECT_EQ(test, enabled[1]->post, 1);
	KUNIT_EXPECT_EQ(test, enabled[0]->kp.nmissed, 20);
}

/* A handler calls the function that it probes. */
static int kp_call_same_pre(struct kprobe *kp, struct pt_regs *regs)
{
	if (kp_target(1) == 2)
		to_kp_probe(kp)->pre++;
	return 0;
}

static void kp_handlers_missed_same(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);
	int i;

	probe->kp.pre_handler = kp_call_same_pre;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i);
	}
}

/* Probed functions that call each other: no handler is running then. */
static void kp_handlers_nested_functions(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, kp_target_calls);
	struct kp_probe *inner = kp_new(test, kp_target);

	outer->kp.post_handler = kp_count_post;
	inner->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, inner), 0);
	KUNIT_EXPECT_EQ(test, kp_target_calls(1), 2);
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, outer->post, 1);
	KUNIT_EXPECT_EQ(test, inner->pre, 1);
	KUNIT_EXPECT_EQ(test, inner->post, 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed + inner->kp.nmissed, 0);
}

static void kp_call_in_irq_work(struct irq_work *work)
{
	kp_target(1);
}

static void kp_call_in_tasklet(struct tasklet_struct *tasklet)
{
	kp_target(1);
}

static void kp_call_in_ipi(void *unused)
{
	kp_target(1);
}

static void kp_handlers_contexts(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(kp_call_in_irq_work);
	struct kp_probe *probe = kp_new(test, kp_target);
	struct tasklet_struct tasklet;
	unsigned long flags;
	unsigned int hits = 0;
	int cpu;

	probe->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);

	local_irq_save(flags);
	kp_target(1);
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, probe->pre, ++hits);

	local_bh_disable();
	kp_target(1);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, probe->pre, ++hits);

	irq_work_queue(&work);
	irq_work_sync(&work);
	KUNIT_EXPECT_EQ(test, probe->pre, ++hits);

	tasklet_setup(&tasklet, kp_call_in_tasklet);
	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
	KUNIT_EXPECT_EQ(test, probe->pre, ++hits);

	/* One CPU after the other: the counters are not atomic. */
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, kp_call_in_ipi, NULL, 1), 0);
		KUNIT_EXPECT_EQ(test, probe->pre, ++hits);
	}
	KUNIT_EXPECT_EQ(test, probe->post, hits);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

#ifdef CONFIG_X86

/* For contexts that interrupt a running handler */
static struct {
	struct irq_work work;
	struct tasklet_struct tasklet;
	int cpu_of_nmi;		/* the CPU that waits for its NMI, or -1 */
	bool running;		/* the handler has not returned yet */
	bool irqs_on;		/* the handler ran with interrupts on */
	int over_handler;	/* how many contexts interrupted it */
} kp_over;

static void kp_over_tasklet(struct tasklet_struct *tasklet)
{
	kp_over.over_handler += READ_ONCE(kp_over.running);
	kp_target_other(1);
}

static void kp_over_irq(struct irq_work *work)
{
	kp_over.over_handler += READ_ONCE(kp_over.running);
	kp_target_other(1);
	tasklet_schedule(&kp_over.tasklet);
}

static void kp_over_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	int i;

	WRITE_ONCE(kp_over.running, true);
	kp_over.irqs_on = !irqs_disabled();
	irq_work_queue(&kp_over.work);
	/* A single-stepped probe's post_handler times out: interrupts are off. */
	for (i = 0; i < 1000 && READ_ONCE(kp_over.over_handler) < 2; i++)
		cpu_relax();
	kp_target_other(1);
	to_kp_probe(kp)->post++;
	WRITE_ONCE(kp_over.running, false);
}

/* A hard interrupt and a softirq during a handler have hits of their own. */
static void kp_handlers_interrupted(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, kp_x86_sum_addr(KP_SUM_XOR));
	struct kp_probe *other = kp_new(test, kp_target_other);

	kp_over.work = IRQ_WORK_INIT_HARD(kp_over_irq);
	tasklet_setup(&kp_over.tasklet, kp_over_tasklet);
	kp_over.over_handler = 0;
	outer->kp.post_handler = kp_over_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, other), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);

	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	irq_work_sync(&kp_over.work);
	tasklet_kill(&kp_over.tasklet);
	KUNIT_EXPECT_EQ(test, outer->post, 1);
	KUNIT_EXPECT_EQ(test, kp_over.over_handler, kp_over.irqs_on ? 2 : 0);
	KUNIT_EXPECT_EQ(test, other->pre, 2);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
}

static int kp_over_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_over.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	kp_over.over_handler += READ_ONCE(kp_over.running);
	kp_target_other(1);
	WRITE_ONCE(kp_over.cpu_of_nmi, -1);
	return NMI_HANDLED;
}

static int kp_over_pre(struct kprobe *kp, struct pt_regs *regs)
{
	int i;

	WRITE_ONCE(kp_over.running, true);
	WRITE_ONCE(kp_over.cpu_of_nmi, smp_processor_id());
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	for (i = 0; i < 1000000 && READ_ONCE(kp_over.cpu_of_nmi) >= 0; i++)
		cpu_relax();
	kp_target_other(1);
	to_kp_probe(kp)->pre++;
	WRITE_ONCE(kp_over.running, false);
	return 0;
}

/* So does an NMI. */
static void kp_handlers_nmi(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, kp_target);
	struct kp_probe *other = kp_new(test, kp_target_other);
	int i;

	kp_over.over_handler = 0;
	kp_over.cpu_of_nmi = -1;
	outer->kp.pre_handler = kp_over_pre;
	other->kp.post_handler = kp_count_post;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, kp_over_nmi, 0, KBUILD_MODNAME), 0);
	if (!kp_register(test, other) && !kp_register(test, outer)) {
		for (i = 1; i <= 10; i++) {
			KUNIT_EXPECT_EQ(test, kp_target(1), 2);
			KUNIT_EXPECT_EQ(test, kp_over.over_handler, i);
			KUNIT_EXPECT_EQ(test, other->pre, i);
			KUNIT_EXPECT_EQ(test, other->post, i);
			KUNIT_EXPECT_EQ(test, other->kp.nmissed, i);
		}
	}
	KUNIT_EXPECT_EQ(test, outer->pre, 10);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
}

#endif /* CONFIG_X86 */

static struct kunit_case kp_handlers_cases[] = {
#ifdef CONFIG_X86
	KUNIT_CASE(kp_handlers_interrupted),
	KUNIT_CASE(kp_handlers_nmi),
	KUNIT_CASE(kp_handlers_addresses),
	KUNIT_CASE(kp_handlers_return),
	KUNIT_CASE(kp_handlers_change_registers),
	KUNIT_CASE(kp_handlers_divert),
#endif
	KUNIT_CASE(kp_handlers_order),
	KUNIT_CASE(kp_handlers_post_joins),
	KUNIT_CASE(kp_handlers_post_only),
	KUNIT_CASE(kp_handlers_missed),
	KUNIT_CASE(kp_handlers_missed_same),
	KUNIT_CASE(kp_handlers_nested_functions),
	KUNIT_CASE(kp_handlers_contexts),
	{}
};

struct kunit_suite kp_handlers_suite = {
	.name = "kprobes_handlers",
	.test_cases = kp_handlers_cases,
};
