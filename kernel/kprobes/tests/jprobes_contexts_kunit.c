// SPDX-License-Identifier: GPL-2.0
/* Jprobes in every context: nested hits, interrupts during handlers, all CPUs */

#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/nmi.h>
#include "jprobes_kunit.h"

static enum kp_jp_target kp_jp_context_target;
static long kp_jp_context_result;

static void kp_jp_call_in_context(void)
{
	kp_jp_context_result = kp_jp_call(kp_jp_context_target);
}

static void kp_jp_in_irq_work(struct irq_work *work)
{
	kp_jp_call_in_context();
}

static void kp_jp_in_tasklet(struct tasklet_struct *tasklet)
{
	kp_jp_call_in_context();
}

static void kp_jp_in_ipi(void *unused)
{
	kp_jp_call_in_context();
}

static void kp_jp_expect_context(struct kunit *test, struct kp_jp *jp, int calls)
{
	int i;

	KUNIT_EXPECT_EQ(test, jp->calls, calls);
	KUNIT_EXPECT_EQ(test, kp_jp_context_result, kp_jp_result());
	KUNIT_EXPECT_FALSE(test, jp->preemptible);
	for (i = 0; i < KP_JP_ARGS; i++)
		KUNIT_EXPECT_EQ(test, jp->arg[i], KP_JP_ARG(i + 1));
	memset(jp->arg, 0, sizeof(jp->arg));
	kp_jp_context_result = 0;
}

static void kp_jp_contexts_all(struct kunit *test)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(kp_jp_in_irq_work);
	struct tasklet_struct tasklet;
	unsigned long flags;
	struct kp_jp *jp;
	int cpu, calls = 0;
	bool off;

	kp_jp_context_target = kp_jp_target(test);
	jp = kp_jp_new(test, kp_jp_address(kp_jp_context_target));
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);

	kp_jp_call_in_context();
	kp_jp_expect_context(test, jp, ++calls);
	/* Ftrace and jumps keep the function's interrupt flag. */
	off = jp->irqs_disabled;
	KUNIT_EXPECT_EQ(test, off, !kprobe_optimized(&jp->jp.kp) && !kprobe_ftrace(&jp->jp.kp));

	local_irq_save(flags);
	kp_jp_call_in_context();
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_TRUE(test, jp->irqs_disabled);
	kp_jp_expect_context(test, jp, ++calls);

	local_bh_disable();
	kp_jp_call_in_context();
	local_bh_enable();
	kp_jp_expect_context(test, jp, ++calls);

	irq_work_queue(&work);
	irq_work_sync(&work);
	kp_jp_expect_context(test, jp, ++calls);

	tasklet_setup(&tasklet, kp_jp_in_tasklet);
	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
	kp_jp_expect_context(test, jp, ++calls);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, kp_jp_in_ipi, NULL, 1), 0);
		kp_jp_expect_context(test, jp, ++calls);
	}
	KUNIT_EXPECT_EQ(test, jp->jp.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, jp->survived, 0);
}

/*
 * A handler calls a function with a jprobe: the hit is missed. So the inner handler does not
 * run, and its jprobe_return() does not end the outer one.
 */

static long kp_jp_other_result;

static void kp_jp_call_other(void)
{
	kp_jp_other_result = kp_jp_other(1);
}

static void kp_jp_contexts_nested(struct kunit *test)
{
	enum kp_jp_target target = kp_jp_target(test);
	struct kp_jp *other = kp_jp_new(test, kp_jp_other);
	struct kp_jp *jp = kp_jp_new(test, kp_jp_address(target));
	int i;

	other->jp.entry = kp_jp_other_handler;
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &other->jp), 0);
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_hook = kp_jp_call_other;
	for (i = 1; i <= 10; i++) {
		kp_jp_other_result = 0;
		kp_jp_expect_call(test, jp, target);
		KUNIT_EXPECT_EQ(test, kp_jp_other_result, 2);
		KUNIT_EXPECT_EQ(test, other->jp.kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, kp_jp_other_calls, 0);
	}
	kp_jp_hook = NULL;
	KUNIT_EXPECT_EQ(test, kp_jp_other(1), 2);
	KUNIT_EXPECT_EQ(test, kp_jp_other_calls, 1);
}

static void kp_jp_call_itself(void)
{
	kp_jp_context_result = kp_jp_call(kp_jp_context_target);
}

static void kp_jp_contexts_itself(struct kunit *test)
{
	struct kp_jp *jp;
	int i;

	kp_jp_context_target = kp_jp_target(test);
	jp = kp_jp_new(test, kp_jp_address(kp_jp_context_target));
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_hook = kp_jp_call_itself;
	for (i = 1; i <= 10; i++) {
		kp_jp_context_result = 0;
		kp_jp_expect_call(test, jp, kp_jp_context_target);
		KUNIT_EXPECT_EQ(test, kp_jp_context_result, kp_jp_result());
		KUNIT_EXPECT_EQ(test, jp->jp.kp.nmissed, i);
	}
}

/* An interrupt during the handler */

static struct {
	struct irq_work work;
	int cpu_of_nmi;		/* the CPU that waits for its NMI, or -1 */
	bool nmi;		/* send an NMI, no interrupt */
	bool returns;		/* call jprobe_return() there, no probed function */
	bool came;
	bool in_handler;
	int over_handler;
	long other;
} kp_jp_over;

static void kp_jp_interruption(void)
{
	kp_jp_over.over_handler += READ_ONCE(kp_jp_over.in_handler);
	if (kp_jp_over.returns)
		jprobe_return();
	else
		kp_jp_over.other = kp_jp_other(1);
	WRITE_ONCE(kp_jp_over.came, true);
}

static void kp_jp_over_irq(struct irq_work *work)
{
	kp_jp_interruption();
}

static int kp_jp_over_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_jp_over.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	kp_jp_interruption();
	WRITE_ONCE(kp_jp_over.cpu_of_nmi, -1);
	return NMI_HANDLED;
}

static void kp_jp_have_interrupted(void)
{
	int i;

	WRITE_ONCE(kp_jp_over.came, false);
	WRITE_ONCE(kp_jp_over.in_handler, true);
	if (kp_jp_over.nmi) {
		WRITE_ONCE(kp_jp_over.cpu_of_nmi, smp_processor_id());
		apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	} else {
		irq_work_queue(&kp_jp_over.work);
	}
	/* If interrupts are off, one arrives later. */
	for (i = 0; i < 1000000 && !READ_ONCE(kp_jp_over.came); i++) {
		if (!kp_jp_over.nmi && irqs_disabled())
			break;
		cpu_relax();
	}
	WRITE_ONCE(kp_jp_over.in_handler, false);
}

static void kp_jp_over_handler(struct kunit *test, bool nmi, bool returns)
{
	enum kp_jp_target target = kp_jp_target(test);
	struct kp_jp *other = kp_jp_new(test, kp_jp_other);
	struct kp_jp *jp = kp_jp_new(test, kp_jp_address(target));
	int i;

	memset(&kp_jp_over, 0, sizeof(kp_jp_over));
	kp_jp_over.work = IRQ_WORK_INIT_HARD(kp_jp_over_irq);
	kp_jp_over.cpu_of_nmi = -1;
	kp_jp_over.nmi = nmi;
	kp_jp_over.returns = returns;
	other->jp.entry = kp_jp_other_handler;
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &other->jp), 0);
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_hook = kp_jp_have_interrupted;
	for (i = 1; i <= 10; i++) {
		kp_jp_over.other = 0;
		kp_jp_expect_call(test, jp, target);
		irq_work_sync(&kp_jp_over.work);
		KUNIT_EXPECT_TRUE(test, kp_jp_over.came);
		if (nmi || !jp->irqs_disabled)
			KUNIT_EXPECT_EQ(test, kp_jp_over.over_handler, i);
		KUNIT_EXPECT_EQ(test, kp_jp_over.other, returns ? 0 : 2);
		KUNIT_EXPECT_EQ(test, kp_jp_other_calls, returns ? 0 : i);
	}
	KUNIT_EXPECT_EQ(test, other->jp.kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, jp->jp.kp.nmissed, 0);
}

static void kp_jp_contexts_irq(struct kunit *test)
{
	kp_jp_over_handler(test, false, false);
}

/* jprobe_return() in an interrupt must not end the interrupted handler. */
static void kp_jp_contexts_irq_returns(struct kunit *test)
{
	kp_jp_over_handler(test, false, true);
}

static void kp_jp_unregister_nmi(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
}

static void kp_jp_with_nmi(struct kunit *test, bool returns)
{
	int ret = register_nmi_handler(NMI_LOCAL, kp_jp_over_nmi, 0, KBUILD_MODNAME);

	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_jp_unregister_nmi, NULL), 0);
	kp_jp_over_handler(test, true, returns);
}

static void kp_jp_contexts_nmi(struct kunit *test)
{
	kp_jp_with_nmi(test, false);
}

static void kp_jp_contexts_nmi_returns(struct kunit *test)
{
	kp_jp_with_nmi(test, true);
}

static void kp_jp_call_again(struct irq_work *work)
{
	/* Once, or it would never end. */
	kp_jp_hook = NULL;
	kp_jp_over.other = kp_jp_call(kp_jp_context_target);
	WRITE_ONCE(kp_jp_over.came, true);
}

static void kp_jp_contexts_irq_itself(struct kunit *test)
{
	struct kp_jp *jp;
	int i;

	kp_jp_context_target = kp_jp_target(test);
	jp = kp_jp_new(test, kp_jp_address(kp_jp_context_target));
	memset(&kp_jp_over, 0, sizeof(kp_jp_over));
	kp_jp_over.work = IRQ_WORK_INIT_HARD(kp_jp_call_again);
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	for (i = 1; i <= 10; i++) {
		kp_jp_over.other = 0;
		kp_jp_hook = kp_jp_have_interrupted;
		KUNIT_EXPECT_EQ(test, kp_jp_call(kp_jp_context_target), kp_jp_result());
		irq_work_sync(&kp_jp_over.work);
		KUNIT_EXPECT_EQ(test, kp_jp_over.other, kp_jp_result());
		KUNIT_EXPECT_EQ(test, jp->calls, 2 * i);
	}
	KUNIT_EXPECT_EQ(test, jp->survived, 0);
	KUNIT_EXPECT_EQ(test, jp->jp.kp.nmissed, 0);
}

/* unregister_jprobe() waits for a handler on another CPU. */

static struct {
	bool entered;
	bool leave;
	bool left;
} kp_jp_wait;

static noinline long kp_jp_wait_handler(long arg)
{
	WRITE_ONCE(kp_jp_wait.entered, true);
	while (!READ_ONCE(kp_jp_wait.leave))
		cpu_relax();
	WRITE_ONCE(kp_jp_wait.left, true);
	jprobe_return();
	return -1;
}

static int kp_jp_wait_calls(void *unused)
{
	return kp_jp_other(1);
}

static enum hrtimer_restart kp_jp_wait_ends(struct hrtimer *timer)
{
	WRITE_ONCE(kp_jp_wait.leave, true);
	return HRTIMER_NORESTART;
}

static void kp_jp_contexts_unregister_waits(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, kp_jp_other);
	struct task_struct *task;
	struct hrtimer timer;
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	memset(&kp_jp_wait, 0, sizeof(kp_jp_wait));
	jp->jp.entry = kp_jp_wait_handler;
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	task = kthread_create(kp_jp_wait_calls, NULL, "kp_jp_wait");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = kp_jp_wait_ends;
	migrate_disable();
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	kthread_bind(task, cpu);
	wake_up_process(task);
	while (!READ_ONCE(kp_jp_wait.entered))
		usleep_range(100, 200);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(kp_jp_wait.left));
	/* On this CPU: interrupts may be off on the other one. */
	hrtimer_start(&timer, ms_to_ktime(50), HRTIMER_MODE_REL_PINNED_HARD);
	kp_jp_unregister(test, &jp->jp);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(kp_jp_wait.left));
	migrate_enable();
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 2);
	put_task_struct(task);
}

/*
 * Tasks and timer interrupts on every CPU call the function while the jprobe is registered,
 * disabled, enabled and unregistered.
 */

#define KP_JP_TASKS	4
#define KP_JP_PERIOD	(300 * NSEC_PER_USEC)
#define KP_JP_CHANGES	40

static struct {
	struct hrtimer timer[KP_JP_TASKS];
	atomic_t handled;
	atomic_t called;
	atomic_t wrong;
} kp_jp_stress;

static noinline long kp_jp_stress_handler(KP_JP_PARAMS)
{
	const long arg[] = { KP_JP_LIST };
	int i;

	atomic_inc(&kp_jp_stress.handled);
	for (i = 0; i < KP_JP_ARGS; i++)
		if (arg[i] != KP_JP_ARG(i + 1))
			atomic_inc(&kp_jp_stress.wrong);
	a1 = 0;
	a14 = 0;
	OPTIMIZER_HIDE_VAR(a1);
	OPTIMIZER_HIDE_VAR(a14);
	jprobe_return();
	atomic_inc(&kp_jp_stress.wrong);
	return a1 + a14;
}

static void kp_jp_stress_call(void)
{
	atomic_inc(&kp_jp_stress.called);
	if (kp_jp_call(kp_jp_context_target) != kp_jp_result())
		atomic_inc(&kp_jp_stress.wrong);
}

static enum hrtimer_restart kp_jp_stress_timer(struct hrtimer *timer)
{
	kp_jp_stress_call();
	hrtimer_forward_now(timer, ns_to_ktime(KP_JP_PERIOD));
	return HRTIMER_RESTART;
}

static int kp_jp_stress_task(void *data)
{
	struct hrtimer *timer = data;

	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer->function = kp_jp_stress_timer;
	hrtimer_start(timer, ns_to_ktime(KP_JP_PERIOD), HRTIMER_MODE_REL_HARD);
	while (!kthread_should_stop()) {
		kp_jp_stress_call();
		/* The optimiser waits for a quiescent state of each task. */
		cond_resched_tasks_rcu_qs();
	}
	hrtimer_cancel(timer);
	return 0;
}

static void kp_jp_contexts_stress(struct kunit *test)
{
	struct task_struct *task[KP_JP_TASKS];
	struct kp_jp *jp;
	int i, err = 0, handled;

	kp_jp_context_target = kp_jp_target(test);
	jp = kp_jp_new(test, kp_jp_address(kp_jp_context_target));
	jp->jp.entry = kp_jp_stress_handler;
	memset(&kp_jp_stress, 0, sizeof(kp_jp_stress));
	for (i = 0; i < KP_JP_TASKS; i++)
		task[i] = kthread_run(kp_jp_stress_task, &kp_jp_stress.timer[i], "kp_jp/%d", i);
	for (i = 0; i < KP_JP_CHANGES && !err; i++) {
		err = register_jprobe(&jp->jp);
		if (err)
			break;
		handled = atomic_read(&kp_jp_stress.handled);
		while (atomic_read(&kp_jp_stress.handled) - handled < 20)
			usleep_range(100, 200);
		err = disable_jprobe(&jp->jp);
		handled = atomic_read(&kp_jp_stress.handled);
		usleep_range(500, 600);
		KUNIT_EXPECT_EQ(test, atomic_read(&kp_jp_stress.handled), handled);
		err = err ?: enable_jprobe(&jp->jp);
		kp_jp_settle(test, &jp->jp.kp);
		while (!err && atomic_read(&kp_jp_stress.handled) - handled < 20)
			usleep_range(100, 200);
		unregister_jprobe(&jp->jp);
	}
	for (i = 0; i < KP_JP_TASKS; i++)
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&kp_jp_stress.wrong), 0);
	KUNIT_EXPECT_GE(test, atomic_read(&kp_jp_stress.called),
			atomic_read(&kp_jp_stress.handled));
	kunit_info(test, "%d calls, %d of them handled\n", atomic_read(&kp_jp_stress.called),
		   atomic_read(&kp_jp_stress.handled));
}

static struct kunit_case kp_jp_contexts_cases[] = {
	KP_JP_CASE(kp_jp_contexts_all),
	KP_JP_CASE(kp_jp_contexts_nested),
	KP_JP_CASE(kp_jp_contexts_itself),
	KP_JP_CASE(kp_jp_contexts_irq),
	KP_JP_CASE(kp_jp_contexts_irq_returns),
	KP_JP_CASE(kp_jp_contexts_irq_itself),
	KP_JP_CASE(kp_jp_contexts_nmi),
	KP_JP_CASE(kp_jp_contexts_nmi_returns),
	KUNIT_CASE(kp_jp_contexts_unregister_waits),
	KP_JP_CASE(kp_jp_contexts_stress),
	{}
};

struct kunit_suite kp_jp_contexts_suite = {
	.name = "jprobes_contexts",
	.init = kp_jp_init,
	.test_cases = kp_jp_contexts_cases,
};
