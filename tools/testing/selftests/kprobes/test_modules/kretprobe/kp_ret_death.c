// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that end inside return-probed functions: their calls never return, and the instances
 * of these calls can be used again.
 */

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include "kp_ret_tasks.h"

static unsigned int deaths = 1000;
module_param(deaths, uint, 0400);
MODULE_PARM_DESC(deaths, "how many tasks end with calls in flight");

/* Depth of recursion at which most tasks end */
#define KP_DEPTH	64

static noinline long kp_ret_dies(long depth)
{
	long ret;

	if (depth == 1)
		kthread_exit(0);
	/* Never true. Without this, the compiler warns of infinite recursion. */
	if (depth < 1)
		return 0;
	ret = kp_ret_dies(depth - 1) + 1;
	barrier();
	return ret;
}

static DECLARE_COMPLETION(kp_ret_alive);

static int kp_ret_dying(void *data)
{
	/* kthread_stop() of a thread that has not run yet would keep it from running. */
	complete(&kp_ret_alive);
	return kp_ret_dies((long)data);
}

static bool kp_ret_is_dead(struct task_struct *task)
{
	if (READ_ONCE(task->__state) != TASK_DEAD)
		return false;
#ifdef CONFIG_SMP
	return !READ_ONCE(task->on_cpu);
#else
	return true;
#endif
}

/* Run one task until its CPU has switched away from it. */
static void kp_ret_one_death(struct kunit *test, long depth)
{
	unsigned long timeout = jiffies + 60 * HZ;
	struct task_struct *task = kthread_create(kp_ret_dying, (void *)depth, "kp_dying");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	reinit_completion(&kp_ret_alive);
	wake_up_process(task);
	wait_for_completion(&kp_ret_alive);
	kthread_stop(task);
	while (!kp_ret_is_dead(task)) {
		usleep_range(50, 100);
		if (time_after(jiffies, timeout)) {
			KUNIT_FAIL(test, "a task does not end");
			break;
		}
	}
	put_task_struct(task);
}

/*
 * The CPU that switches away from a dead task queues an RCU callback, before it is
 * preemptible again, which takes back the task's instances.
 */
static void kp_ret_bury(void)
{
	synchronize_rcu_expedited();
	rcu_barrier();
}

/* No instance of a limited number gets lost. */
static void kp_ret_death_limited(struct kunit *test)
{
	/* @tasks tasks end, each in @depth calls, before kp_ret_bury(). */
	static const struct {
		int tasks, depth;
	} limits[] = { { 1, 1 }, { 4, 4 }, { 16, 1 }, { 1, KP_DEPTH } };
	struct kp_crowd_probe *probe;
	int i, task, round, limit, rounds = deaths / 20;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		limit = limits[i].tasks * limits[i].depth;
		probe = kp_crowd_probe_new(test, kp_ret_dies);
		probe->rp.maxactive = limit;
		KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
		for (round = 1; round <= rounds; round++) {
			for (task = 0; task < limits[i].tasks; task++)
				kp_ret_one_death(test, limits[i].depth);
			kp_ret_bury();
		}
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), rounds * limit);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->wrong), 0);
		kp_crowd_unregister(test, probe);
	}
}

/* Many more calls never return than a pool can have instances. */
static void kp_ret_death_default(struct kunit *test)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_new(test, kp_ret_dies);
	int round, missed = 0;

	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		kunit_skip(test, "instances of rethook do not become more");
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
	for (round = 0; round < deaths; round++) {
		kp_ret_one_death(test, KP_DEPTH);
		if (round % 5 == 4)
			kp_ret_bury();
		/* The pool may have to grow at first. */
		if (round == deaths / 10)
			missed = probe->rp.nmissed;
	}
	kunit_info(test, "%d calls never returned, %d were not followed\n",
		   atomic_read(&probe->entries), probe->rp.nmissed);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, missed);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries) + missed, deaths * KP_DEPTH);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->wrong), 0);
}

/* do_exit() is entered and never returns. */
static void kp_ret_death_do_exit(struct kunit *test)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_new(test, NULL);
	int round, rounds = deaths / 2;

	probe->rp.kp.symbol_name = "do_exit";
	probe->rp.maxactive = 64;
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
	for (round = 0; round < rounds; round++) {
		kp_ret_one_death(test, 1);
		if (round % 32 == 31)
			kp_ret_bury();
	}
	KUNIT_EXPECT_GE(test, atomic_read(&probe->entries), rounds);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

/* Unregister before or after the instances of a dead task are taken back. */
static void kp_ret_death_unregistered(struct kunit *test)
{
	struct kp_crowd_probe *probe;
	int round;

	for (round = 0; round < 20; round++) {
		probe = kp_crowd_probe_new(test, kp_ret_dies);
		probe->rp.maxactive = round % 2 ? 3 : 0;
		KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
		kp_ret_one_death(test, 5);
		if (round % 4 < 2)
			kp_ret_bury();
		kp_crowd_unregister(test, probe);
		memset(&probe->rp, 0x5a, sizeof(probe->rp));
		kp_ret_one_death(test, 5);
		KUNIT_EXPECT_NULL(test, memchr_inv(&probe->rp, 0x5a, sizeof(probe->rp)));
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
	}
}

static struct kunit_case kp_ret_death_cases[] = {
	KUNIT_CASE_SLOW(kp_ret_death_limited),
	KUNIT_CASE_SLOW(kp_ret_death_default),
	KUNIT_CASE_SLOW(kp_ret_death_do_exit),
	KUNIT_CASE_SLOW(kp_ret_death_unregistered),
	{}
};

struct kunit_suite kp_ret_death_suite = {
	.name = "kretprobes_death",
	.test_cases = kp_ret_death_cases,
};
