// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: the pool of a return probe must grow even if the CPU that requested the growth is
 * busy, or goes offline.
 *
 * A task makes more nested calls to a function than the pool has instances at first, and repeats
 * that until none of them is missed. At the same time a second task, bound to one CPU, makes half
 * as many calls. These use up half of the pool, so they request growth. Then the second task keeps
 * its CPU busy for a while. If the worker that is to grow the pool waits for that CPU, another
 * worker must grow the pool. The CPU hotplug callbacks of readers.c also request growth, on CPUs
 * that go offline before a worker can run there.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/torture.h>

#include "torture.h"

/*
 * More calls than the pool has instances at first: it has as many as fit into BASE_KIB of
 * pool_shared.c, 63 with the largest data_size, or two for each CPU if that is more
 */
#define BUSY_DEPTH	(100 + 2 * num_possible_cpus())
/*
 * How long the second task keeps its CPU busy: too short for a watchdog to report it, or for CPU
 * hotplug to fail
 */
#define BUSY_MS		100
/*
 * For how many seconds the first task repeats its calls while the pool is too small. After that, it
 * reports an error: the request of the hits to grow the pool must have been lost.
 */
#define PATIENCE	60

static struct task_struct *caller;
static struct rnd_state caller_random;
static unsigned long rounds, missed;
static bool busy_probed;

static noinline unsigned long torture_nested(unsigned long depth)
{
	unsigned long sum = depth ? torture_nested(depth - 1) : 0;

	/* Keep the compiler from making a tail call or a loop of the recursive call. */
	barrier();
	return sum + depth;
}

static int busy_returned(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

NOKPROBE_SYMBOL(busy_returned);

static struct kretprobe busy_rp = {
	.handler = busy_returned,
	.data_size = KRETPROBE_MAX_DATA_SIZE,
};

static void call_nested(unsigned long depth)
{
	unsigned long sum = torture_nested(depth);

	if (sum != depth * (depth + 1) / 2)
		torture_error("torture_nested(%lu) has returned %lu", depth, sum);
}

/**
 * torture_request_growth() - make so many nested calls that their hits request a larger pool
 *
 * Context: any.
 */
void torture_request_growth(void)
{
	call_nested(BUSY_DEPTH / 2);
}

static int torture_busy(void *unused)
{
	scoped_guard(preempt) {
		ktime_t end = ktime_add_ms(ktime_get(), BUSY_MS);

		torture_request_growth();
		while (ktime_before(ktime_get(), end))
			cpu_relax();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

/* Return: a task that keeps a CPU busy, or NULL. */
static struct task_struct *make_busy(void)
{
	struct task_struct *task = kthread_create(torture_busy, NULL, "torture_busy");
	int cpu = torture_any_cpu();

	if (IS_ERR(task))
		return NULL;
	/* This fails if the CPU has gone offline. Then the task may keep any other CPU busy. */
	set_cpus_allowed_ptr(task, cpumask_of(cpu));
	wake_up_process(task);
	return task;
}

static void call_until_none_is_missed(void)
{
	unsigned long end = jiffies + PATIENCE * HZ;
	int before;

	do {
		before = busy_rp.nmissed;
		call_nested(BUSY_DEPTH);
		missed += busy_rp.nmissed - before;
		if (busy_rp.nmissed == before)
			return;
		usleep_range(1000, 2000);
	} while (time_before(jiffies, end) && !torture_must_stop());
	if (!torture_must_stop())
		torture_error("the pool of torture_nested() does not grow");
}

static int torture_caller(void *unused)
{
	do {
		struct task_struct *busy = make_busy();

		call_until_none_is_missed();
		if (busy)
			kthread_stop(busy);
		rounds++;
		/* Wait for up to four seconds, sometimes long enough for the pool to shrink. */
		schedule_timeout_interruptible(prandom_u32_state(&caller_random) % (4 * HZ));
		stutter_wait("torture_caller");
	} while (!torture_must_stop());
	torture_kthread_stopping("torture_caller");
	return 0;
}

/**
 * torture_start_busy() - start the task whose calls need a pool of instances that grows
 * @seed: for its random numbers
 *
 * Does nothing with rethook, whose return probes have a fixed number of instances.
 *
 * Return: 0, or an errno. torture_stop_busy() must be called in both cases.
 */
int torture_start_busy(u64 seed)
{
	int err;

	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		return 0;
	rounds = 0;
	missed = 0;
	prandom_seed_state(&caller_random, seed ^ 0x62757379);
	busy_rp.kp.addr = torture_entry(torture_nested);
	err = register_kretprobe(&busy_rp);
	if (err)
		return err;
	busy_probed = true;
	return torture_create_kthread(torture_caller, NULL, caller);
}

/**
 * torture_stop_busy() - stop the task that torture_start_busy() has started
 */
void torture_stop_busy(void)
{
	if (!busy_probed)
		return;
	torture_stop_kthread(torture_caller, caller);
	unregister_kretprobe(&busy_rp);
	busy_probed = false;
	pr_alert(TORTURE_TYPE TORTURE_FLAG " a pool has grown in %lu rounds, %lu calls were missed\n",
		 rounds, missed);
	if (!rounds)
		torture_error("no pool has grown");
}
