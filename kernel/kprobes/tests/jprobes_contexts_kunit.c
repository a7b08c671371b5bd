// SPDX-License-Identifier: GPL-2.0
/* Jprobes in every context: nested hits, interrupts during handlers, all CPUs */

#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include "jprobes_kunit.h"
#include "kp_contexts.h"

static enum kp_jp_target kp_jp_context_target;
static long kp_jp_context_result;

/* A jprobe on the target of the case, which kp_jp_context_call() calls */
static struct kp_probe *kp_jp_context_new(struct kunit *test)
{
	struct kp_probe *jp;

	kp_jp_context_target = kp_jp_target(test);
	kp_jp_context_result = 0;
	jp = kp_jp_new(test, kp_jp_address(kp_jp_context_target));
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	return jp;
}

static void kp_jp_context_call(void)
{
	kp_jp_context_result = kp_jp_call(kp_jp_context_target);
}

static void kp_jp_context_check(struct kunit *test, void *data, int calls)
{
	struct kp_probe *jp = data;
	int i;

	kp_expect_hits(test, jp, calls);
	KUNIT_EXPECT_EQ(test, kp_jp_context_result, kp_jp_result());
	KUNIT_EXPECT_FALSE(test, jp->preemptible);
	/* The first context has interrupts disabled. */
	if (calls == 1)
		KUNIT_EXPECT_TRUE(test, jp->irqs_disabled);
	for (i = 0; i < KP_JP_ARGS; i++)
		KUNIT_EXPECT_EQ(test, jp->arg[i], KP_JP_ARG(i + 1));
	memset(jp->arg, 0, sizeof(jp->arg));
	kp_jp_context_result = 0;
}

static void kp_jp_contexts_all(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_context_new(test);
	int calls;

	calls = kp_in_contexts(test, kp_jp_context_call, kp_jp_context_check, jp);
	/* Ftrace and jumps keep the function's interrupt flag. */
	kp_jp_context_call();
	KUNIT_EXPECT_EQ(test, jp->irqs_disabled,
			!kprobe_optimized(&jp->kp) && !kprobe_ftrace(&jp->kp));
	kp_jp_context_check(test, jp, calls + 1);
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0);
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
	struct kp_probe *other = kp_registered(test, kp_jp_other);
	struct kp_probe *jp = kp_jp_context_new(test);
	int i;

	kp_jp_hook = kp_jp_call_other;
	for (i = 1; i <= 10; i++) {
		kp_jp_other_result = 0;
		kp_jp_expect_call(test, jp, kp_jp_context_target);
		KUNIT_EXPECT_EQ(test, kp_jp_other_result, 2);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, i);
		kp_expect_hits(test, other, 0);
	}
	kp_jp_hook = NULL;
	kp_expect_call(test, other, kp_jp_other, 1);
}

static void kp_jp_contexts_itself(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_context_new(test);
	int i;

	kp_jp_hook = kp_jp_context_call;
	for (i = 1; i <= 10; i++) {
		kp_jp_context_result = 0;
		kp_jp_expect_call(test, jp, kp_jp_context_target);
		KUNIT_EXPECT_EQ(test, kp_jp_context_result, kp_jp_result());
		KUNIT_EXPECT_EQ(test, jp->kp.nmissed, i);
	}
}

static void kp_jp_call_return(void)
{
	jprobe_return();
}

/* An interrupt during the handler hits another jprobe, or calls jprobe_return(). */
static void kp_jp_over_handler(struct kunit *test, bool nmi, bool returns)
{
	struct kp_probe *other = kp_registered(test, kp_jp_other);
	struct kp_probe *jp = kp_jp_context_new(test);
	int i;

	kp_interrupt_prepare(test, returns ? kp_jp_call_return : kp_jp_call_other, nmi);
	kp_jp_hook = kp_interrupt_handler;
	for (i = 1; i <= 10; i++) {
		kp_jp_other_result = 0;
		kp_jp_expect_call(test, jp, kp_jp_context_target);
		irq_work_sync(&kp_interrupt.work);
		KUNIT_EXPECT_TRUE(test, kp_interrupt.arrived);
		if (nmi || !jp->irqs_disabled)
			KUNIT_EXPECT_EQ(test, kp_interrupt.over_handler, i);
		KUNIT_EXPECT_EQ(test, kp_jp_other_result, returns ? 0 : 2);
		kp_expect_hits(test, other, returns ? 0 : i);
	}
	KUNIT_EXPECT_EQ(test, other->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0);
}

static void kp_jp_contexts_irq(struct kunit *test)
{
	kp_jp_over_handler(test, false, false);
}

/* It must not end the interrupted handler. */
static void kp_jp_contexts_irq_returns(struct kunit *test)
{
	kp_jp_over_handler(test, false, true);
}

static void kp_jp_contexts_nmi(struct kunit *test)
{
	kp_jp_over_handler(test, true, false);
}

static void kp_jp_contexts_nmi_returns(struct kunit *test)
{
	kp_jp_over_handler(test, true, true);
}

static void kp_jp_call_again(void)
{
	/* Once, or it would never end. */
	kp_jp_hook = NULL;
	kp_jp_other_result = kp_jp_call(kp_jp_context_target);
}

static void kp_jp_contexts_irq_itself(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_context_new(test);
	int i;

	kp_interrupt_prepare(test, kp_jp_call_again, false);
	for (i = 1; i <= 10; i++) {
		kp_jp_other_result = 0;
		kp_jp_hook = kp_interrupt_handler;
		KUNIT_EXPECT_EQ(test, kp_jp_call(kp_jp_context_target), kp_jp_result());
		irq_work_sync(&kp_interrupt.work);
		KUNIT_EXPECT_EQ(test, kp_jp_other_result, kp_jp_result());
		kp_expect_hits(test, jp, 2 * i);
	}
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0);
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
	struct kp_probe *jp = kp_jp_new(test, kp_jp_other);
	struct task_struct *task;
	struct hrtimer timer;
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	memset(&kp_jp_wait, 0, sizeof(kp_jp_wait));
	jp->jp.entry = kp_jp_wait_handler;
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
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
	kp_unregister(test, jp);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(kp_jp_wait.left));
	migrate_enable();
	hrtimer_cancel(&timer);
	destroy_hrtimer_on_stack(&timer);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 2);
	put_task_struct(task);
}

/* Tasks and timer interrupts on every CPU call the function while the jprobe changes. */

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

/* Until 20 more calls were handled */
static void kp_jp_stress_wait(void)
{
	int handled = atomic_read(&kp_jp_stress.handled);

	while (atomic_read(&kp_jp_stress.handled) - handled < 20)
		usleep_range(100, 200);
}

static void kp_jp_contexts_stress(struct kunit *test)
{
	struct task_struct *task[KP_JP_TASKS];
	struct kp_probe *jp;
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
		kp_jp_stress_wait();
		err = kp_disable(jp);
		handled = atomic_read(&kp_jp_stress.handled);
		usleep_range(500, 600);
		KUNIT_EXPECT_EQ(test, atomic_read(&kp_jp_stress.handled), handled);
		err = err ?: kp_enable(test, jp);
		if (!err)
			kp_jp_stress_wait();
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
