// SPDX-License-Identifier: GPL-2.0
/* Test jprobes in every context, nested hits, interrupts during handlers, hits on all CPUs */

#include <linux/hrtimer.h>
#include "jprobes_kunit.h"
#include "kp_cases_contexts.h"

/*
 * The jprobe's handler must run with interrupts off if a breakpoint calls it, or if the probed
 * function was called with interrupts off. Otherwise, it must run with interrupts on.
 */
static void kp_jp_contexts_irq_flag(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_registered(test);

	kp_jp_expect_call(test, jp);
	KUNIT_EXPECT_EQ(test, jp->irqs_disabled,
			!kprobe_optimized(&jp->kp) && !kprobe_ftrace(&jp->kp));
	local_irq_disable();
	kp_jp_call(kp_jp_target(test));
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, jp->irqs_disabled);
}

static void kp_jp_call_return(void)
{
	jprobe_return();
}

/* jprobe_return() in an interrupt must not end the interrupted handler. */
static void kp_jp_over_handler(struct kunit *test, bool nmi)
{
	struct kp_probe *jp = kp_jp_registered(test);
	int i, over = 0;

	kp_interrupt_prepare(test, kp_jp_call_return, nmi);
	kp_jp_hook = kp_interrupt_handler;
	for (i = 1; i <= 10; i++) {
		kp_jp_expect_call(test, jp);
		irq_work_sync(&kp_interrupt.work);
		KUNIT_EXPECT_TRUE(test, kp_interrupt.arrived);
		/*
		 * A breakpoint calls the handler with interrupts off, so the interrupt arrives
		 * after the handler. If the probepoint has been optimised since the last round, the
		 * handler runs with interrupts on, and the interrupt arrives during the handler.
		 */
		over += nmi || !jp->irqs_disabled;
		KUNIT_EXPECT_EQ(test, kp_interrupt.over_handler, over);
	}
	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0);
}

KP_CASE(kp_jp_contexts_irq_returns, kp_jp_over_handler(test, false))
KP_CASE(kp_jp_contexts_nmi_returns, kp_jp_over_handler(test, true))

/*
 * Four tasks and their timers call the function while the jprobe is registered, disabled, enabled
 * and unregistered.
 */

#define KP_JP_TASKS	4
#define KP_JP_PERIOD	(300 * NSEC_PER_USEC)
#define KP_JP_CHANGES	40

static struct {
	struct hrtimer timer[KP_JP_TASKS];
	atomic_t handled, called, wrong;
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

static enum kp_jp_target kp_jp_stress_target;

static void kp_jp_stress_call(void)
{
	atomic_inc(&kp_jp_stress.called);
	if (kp_jp_call(kp_jp_stress_target) != kp_jp_result())
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
		/* The optimiser waits for tasks RCU: report a quiescent state of this task. */
		cond_resched_tasks_rcu_qs();
	}
	hrtimer_cancel(timer);
	return 0;
}

static void kp_jp_stress_wait(void)
{
	int handled = atomic_read(&kp_jp_stress.handled);

	while (atomic_read(&kp_jp_stress.handled) - handled < 20)
		usleep_range(100, 200);
}

static void kp_jp_contexts_stress(struct kunit *test)
{
	struct task_struct *task[KP_JP_TASKS];
	struct kp_probe *jp = kp_jp_new(test, NULL);
	/* Limit the time, since kp_enable() waits for a jump if the parameter opt is set. */
	unsigned long end = jiffies + 3 * HZ;
	int i, err = 0, handled;

	kp_jp_stress_target = kp_jp_target(test);
	jp->jp.entry = kp_jp_stress_handler;
	memset(&kp_jp_stress, 0, sizeof(kp_jp_stress));
	for (i = 0; i < KP_JP_TASKS; i++)
		task[i] = kthread_run(kp_jp_stress_task, &kp_jp_stress.timer[i], "kp_jp/%d", i);
	for (i = 0; i < KP_JP_CHANGES && !err && time_before(jiffies, end); i++) {
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
	KP_CASES_CONTEXTS,
	KP_CASES_INTERRUPTS,
	KP_JP_CASE(kp_jp_contexts_irq_flag),
	KP_JP_CASE(kp_jp_contexts_irq_returns),
	KP_JP_CASE(kp_jp_contexts_nmi_returns),
	KP_JP_CASE(kp_jp_contexts_stress),
	{}
};

KP_SUITE(kp_jp_contexts, "jprobes_contexts", .init = kp_jp_init);
