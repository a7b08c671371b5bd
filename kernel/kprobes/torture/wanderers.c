// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: wanderers, tasks that sleep in a probed function and return on another CPU.
 *
 * The steady return probe of torture_sleeps() has just enough instances for all wanderers: often
 * none is left, but no call may be missed. The return handler uses the data of its instance to
 * check that it is called for the right call.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/torture.h>

#include "torture.h"

#define WANDERERS_PER_CPU	3

/**
 * struct wanderer - a task that calls torture_sleeps()
 * @task: the task
 * @random: the sequence of its random numbers
 * @seed: number of the seed that it passed to the last call
 * @calls: number of its calls
 */
struct wanderer {
	struct task_struct *task;
	struct rnd_state random;
	unsigned int seed;
	unsigned long calls;
};

/* Data of an instance of the steady return probe */
struct call_data {
	struct wanderer *wanderer;
	unsigned long call;
	int cpu;
};

static struct torture_target *sleeping_target;
static struct wanderer *wanderers;
static unsigned int nr_wanderers;
static atomic_long_t moved;

noinline unsigned long torture_sleeps(unsigned long seed)
{
	int cpu = torture_any_cpu();

	/*
	 * Before there are wanderers, the task that initialises this module calls this function:
	 * do not change the affinity of that task.
	 */
	if (seed % 4 == 0 && wanderers)
		set_cpus_allowed_ptr(current, cpumask_of(cpu));
	else if (seed % 4 == 1)
		schedule_timeout_uninterruptible(1 + seed % 3);
	else
		schedule();
	return seed * 3;
}

static int wanderer_enters(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call_data *data = (struct call_data *)ri->data;

	data->wanderer = kthread_data(current);
	data->call = data->wanderer->calls;
	data->cpu = raw_smp_processor_id();
	return 0;
}

NOKPROBE_SYMBOL(wanderer_enters);

static int wanderer_returns(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call_data *data = (struct call_data *)ri->data;
	struct wanderer *wanderer = kthread_data(current);

	if (data->wanderer != wanderer || data->call != wanderer->calls ||
	    regs_return_value(regs) != sleeping_target->expected[wanderer->seed])
		torture_error("a return of %ps has the data of another call", torture_sleeps);
	if (data->cpu != raw_smp_processor_id())
		atomic_long_inc(&moved);
	return torture_steady_return(ri, regs);
}

NOKPROBE_SYMBOL(wanderer_returns);

/**
 * torture_prepare_wanderers() - set the handlers of the steady return probe
 * @target: torture_sleeps()
 */
void torture_prepare_wanderers(struct torture_target *target)
{
	struct kretprobe *rp = &target->steady_return;

	sleeping_target = target;
	rp->entry_handler = wanderer_enters;
	rp->handler = wanderer_returns;
	rp->data_size = sizeof(struct call_data);
	nr_wanderers = WANDERERS_PER_CPU * num_online_cpus();
	rp->maxactive = nr_wanderers;
}

static int torture_wanderer(void *arg)
{
	struct wanderer *wanderer = arg;

	do {
		wanderer->seed = prandom_u32_state(&wanderer->random) % TORTURE_SEEDS;
		wanderer->calls++;
		torture_call(sleeping_target, wanderer->seed, TORTURE_TASK);
		cond_resched_tasks_rcu_qs();
		stutter_wait("torture_wanderer");
	} while (!torture_must_stop());
	torture_kthread_stopping("torture_wanderer");
	return 0;
}

/**
 * torture_start_wanderers() - start tasks that call torture_sleeps()
 * @seed: for their random numbers
 *
 * Return: 0, or an errno. torture_stop_wanderers() must be called in both cases.
 */
int torture_start_wanderers(u64 seed)
{
	unsigned int i;
	int err = 0;

	atomic_long_set(&moved, 0);
	wanderers = kcalloc(nr_wanderers, sizeof(*wanderers), GFP_KERNEL);
	if (!wanderers)
		return -ENOMEM;
	for (i = 0; i < nr_wanderers && !err; i++) {
		prandom_seed_state(&wanderers[i].random, (seed ^ 0x77616e64) + i);
		err = torture_create_kthread(torture_wanderer, &wanderers[i], wanderers[i].task);
	}
	return err;
}

/**
 * torture_stop_wanderers() - stop the wanderers
 */
void torture_stop_wanderers(void)
{
	unsigned int i;

	if (!wanderers)
		return;
	for (i = 0; i < nr_wanderers; i++)
		torture_stop_kthread(torture_wanderer, wanderers[i].task);
	pr_alert(TORTURE_TYPE TORTURE_FLAG " %ld calls have returned on another CPU\n",
		 atomic_long_read(&moved));
	if (num_online_cpus() > 1 && !atomic_long_read(&moved))
		torture_error("no call has returned on another CPU");
	kfree(wanderers);
	wanderers = NULL;
}
