// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: return probes are registered, unregistered and changed while threads, and a
 * timer on each CPU (the callers), call the probed function. Threads are preempted in it and
 * leave it on another CPU.
 *
 * A caller reads the phase before each call and counts the call for it; handlers get the
 * caller as an argument of the function. In ON and OFF nothing changes: in ON every call must
 * have an entry and a return, in OFF neither. In CHANGING there are no more returns than
 * entries, and no more entries than calls. Before each change the controller waits until all
 * calls of the earlier phase have ended.
 *
 * Architectures other than x86 may miss calls, if they count them: while a return handler
 * runs, hits in interrupts are missed; and rethook's pools do not grow.
 *
 * A call's private data identify the call; its return must find them unchanged.
 */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "kp_regs.h"

static unsigned int ms = 1500;
module_param(ms, uint, 0400);
MODULE_PARM_DESC(ms, "how long each case lasts, in milliseconds");

static bool switching;
module_param(switching, bool, 0400);
MODULE_PARM_DESC(switching, "kprobes/enabled is switched meanwhile: calls in ON may be no hits");

#define KP_LIVE			0x6b726574UL
#define KP_POISON		0x5a
#define KP_TIMER_NS		(1 * NSEC_PER_MSEC)
/* More threads than CPUs, so that they are preempted */
#define KP_THREADS_PER_CPU	3
#define KP_NEST			4

enum kp_phase { KP_CHANGING, KP_ON, KP_OFF, KP_PHASES };

/* Counts of one caller's calls. Written by this caller and its handlers only. */
struct kp_caller {
	enum kp_phase phase;
	unsigned long loops;
	unsigned long wrong;
	unsigned long calls[KP_PHASES];
	unsigned long entries[KP_PHASES];
	unsigned long returns[KP_PHASES];
	struct task_struct *task;
	bool moves;
};

struct kp_timer {
	struct kp_caller caller;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct kp_timer, kp_timers);
static struct kp_caller *kp_threads;
static unsigned int kp_nr_threads;
static enum kp_phase kp_phase;
static atomic_long_t kp_late, kp_spoilt, kp_migrated;

struct kp_racer {
	struct kretprobe rp;
	unsigned long live;
	struct list_head link;
};

static LIST_HEAD(kp_retired);

/* Private data of one call */
struct kp_data {
	struct kp_caller *caller;
	unsigned long loop;
	long depth;
	int cpu;
	unsigned long check;
};

static unsigned long kp_check(const struct kp_data *data)
{
	return ~((unsigned long)data->caller ^ data->loop ^ data->depth ^ data->cpu);
}

/* Nested calls. In the innermost, a thread moves to another CPU or calls schedule(). */
noinline unsigned long kp_ret_race_target(struct kp_caller *caller, unsigned long loop, long depth);
noinline unsigned long kp_ret_race_target(struct kp_caller *caller, unsigned long loop, long depth)
{
	unsigned long ret = loop + 1;

	if (depth > 0) {
		ret = kp_ret_race_target(caller, loop, depth - 1) + 1;
	} else if (caller->moves) {
		int cpu = cpumask_any_distribute(cpu_online_mask);

		if (loop % 8 == 0)
			set_cpus_allowed_ptr(current, cpumask_of(cpu));
		else
			schedule();
	}
	barrier();
	return ret;
}

static bool kp_is_live(struct kretprobe *rp)
{
	if (READ_ONCE(container_of(rp, struct kp_racer, rp)->live) == KP_LIVE)
		return true;
	atomic_long_inc(&kp_late);
	return false;
}

NOKPROBE_SYMBOL(kp_is_live);

static int kp_race_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_data *data = (struct kp_data *)ri->data;
	struct kretprobe *rp = get_kretprobe(ri);

	/* The return probe is being unregistered. */
	if (!rp || !kp_is_live(rp))
		return 1;
	data->caller = (struct kp_caller *)kp_argument(regs, 0);
	data->loop = kp_argument(regs, 1);
	data->depth = kp_argument(regs, 2);
	data->cpu = raw_smp_processor_id();
	data->check = kp_check(data);
	data->caller->entries[data->caller->phase]++;
	return 0;
}

NOKPROBE_SYMBOL(kp_race_entry);

static int kp_race_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_data *data = (struct kp_data *)ri->data;
	struct kretprobe *rp = get_kretprobe(ri);

	if (!rp || !kp_is_live(rp))
		return 0;
	if (data->check != kp_check(data) ||
	    regs_return_value(regs) != data->loop + 1 + data->depth) {
		atomic_long_inc(&kp_spoilt);
		return 0;
	}
	if (data->cpu != raw_smp_processor_id())
		atomic_long_inc(&kp_migrated);
	data->caller->returns[data->caller->phase]++;
	return 0;
}

NOKPROBE_SYMBOL(kp_race_return);

static void kp_call(struct kp_caller *caller)
{
	/* Pairs with kp_enter(): changes made before the phase are seen. */
	caller->phase = smp_load_acquire(&kp_phase);
	caller->calls[caller->phase] += KP_NEST;
	if (kp_ret_race_target(caller, caller->loops, KP_NEST - 1) != caller->loops + KP_NEST)
		caller->wrong++;
	/* Pairs with kp_loops(): the call and its handlers have ended. */
	smp_store_release(&caller->loops, caller->loops + 1);
}

static int kp_thread(void *data)
{
	while (!kthread_should_stop()) {
		kp_call(data);
		/* Deferred frees wait for a tasks-RCU grace period, which needs this. */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static enum hrtimer_restart kp_timer_function(struct hrtimer *timer)
{
	kp_call(&container_of(timer, struct kp_timer, timer)->caller);
	hrtimer_forward_now(timer, ns_to_ktime(KP_TIMER_NS));
	return HRTIMER_RESTART;
}

static void kp_timer_start(void *unused)
{
	struct kp_timer *timer = this_cpu_ptr(&kp_timers);

	hrtimer_init(&timer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->timer.function = kp_timer_function;
	hrtimer_start(&timer->timer, ns_to_ktime(KP_TIMER_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static unsigned long kp_loops(struct kp_caller *caller)
{
	/* Pairs with kp_call(). */
	return smp_load_acquire(&caller->loops);
}

static void kp_wait_for(struct kunit *test, struct kp_caller *caller)
{
	unsigned long timeout = jiffies + 60 * HZ;
	unsigned long loops = kp_loops(caller);

	while (kp_loops(caller) == loops) {
		usleep_range(50, 100);
		if (time_after(jiffies, timeout))
			KUNIT_FAIL_AND_ABORT(test, "a caller stands still");
	}
}

/* Begin @phase, and wait until no call of an earlier phase is running. */
static void kp_enter(struct kunit *test, enum kp_phase phase)
{
	unsigned int i;
	int cpu;

	/* Pairs with kp_call(). */
	smp_store_release(&kp_phase, phase);
	/* A caller sees the new phase, or kp_wait_for() waits for its call. */
	smp_mb();
	for_each_online_cpu(cpu)
		kp_wait_for(test, &per_cpu(kp_timers, cpu).caller);
	for (i = 0; i < kp_nr_threads; i++)
		kp_wait_for(test, &kp_threads[i]);
}

static void kp_stay(struct kunit *test, enum kp_phase phase)
{
	kp_enter(test, phase);
	usleep_range(2000, 3000);
	kp_enter(test, KP_CHANGING);
}

static void kp_stop(void *unused)
{
	struct kp_timer *timer;
	unsigned int i;
	int cpu;

	for (i = 0; i < kp_nr_threads; i++) {
		if (kp_threads[i].task)
			kthread_stop(kp_threads[i].task);
		kp_threads[i].task = NULL;
	}
	for_each_online_cpu(cpu) {
		timer = &per_cpu(kp_timers, cpu);
		if (timer->timer.function)
			hrtimer_cancel(&timer->timer);
		timer->timer.function = NULL;
	}
}

static int kp_race_init(struct kunit *test)
{
	struct task_struct *task;
	unsigned int i;
	int cpu;

	kp_phase = KP_CHANGING;
	atomic_long_set(&kp_late, 0);
	atomic_long_set(&kp_spoilt, 0);
	atomic_long_set(&kp_migrated, 0);
	for_each_possible_cpu(cpu)
		memset(&per_cpu(kp_timers, cpu), 0, sizeof(struct kp_timer));
	kp_nr_threads = num_online_cpus() * KP_THREADS_PER_CPU;
	kp_threads = kcalloc(kp_nr_threads, sizeof(*kp_threads), GFP_KERNEL);
	if (!kp_threads)
		return -ENOMEM;
	for (i = 0; i < kp_nr_threads; i++) {
		kp_threads[i].moves = i % KP_THREADS_PER_CPU;
		task = kthread_run(kp_thread, &kp_threads[i], "kp_ret_race/%u", i);
		if (IS_ERR(task)) {
			kp_stop(NULL);
			return PTR_ERR(task);
		}
		kp_threads[i].task = task;
	}
	on_each_cpu(kp_timer_start, NULL, 1);
	return kunit_add_action_or_reset(test, kp_stop, NULL);
}

/* Unregister, and poison instead of freeing. */
static void kp_retire(void *data)
{
	struct kp_racer *racer = data;

	unregister_kretprobe(&racer->rp);
	memset(racer, KP_POISON, offsetof(struct kp_racer, link));
	list_add(&racer->link, &kp_retired);
}

static struct kp_racer *kp_racer_new(struct kunit *test, int maxactive, u32 flags)
{
	struct kp_racer *racer = kzalloc(sizeof(*racer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, racer);
	racer->live = KP_LIVE;
	racer->rp.kp.addr = kp_entry(kp_ret_race_target);
	racer->rp.kp.flags = flags;
	racer->rp.entry_handler = kp_race_entry;
	racer->rp.handler = kp_race_return;
	racer->rp.data_size = sizeof(struct kp_data);
	racer->rp.maxactive = maxactive;
	/* Once it is registered, the end of an aborted case retires it, too. */
	if (register_kretprobe(&racer->rp)) {
		kfree(racer);
		KUNIT_FAIL_AND_ABORT(test, "cannot register");
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_retire, racer), 0);
	return racer;
}

/* Check that retired probes were not written to. */
static void kp_race_exit(struct kunit *test)
{
	struct kp_racer *racer, *next;
	int written = 0;

	list_for_each_entry_safe(racer, next, &kp_retired, link) {
		if (memchr_inv(racer, KP_POISON, offsetof(struct kp_racer, link)))
			written++;
		list_del(&racer->link);
		kfree(racer);
	}
	kfree(kp_threads);
	kp_threads = NULL;
	kp_nr_threads = 0;
	KUNIT_EXPECT_EQ_MSG(test, written, 0, "unregistered probes that were written to");
	KUNIT_EXPECT_EQ_MSG(test, atomic_long_read(&kp_late), 0, "handlers after unregister");
}

static void kp_add(struct kp_caller *sum, const struct kp_caller *caller)
{
	int phase;

	sum->wrong += caller->wrong;
	for (phase = 0; phase < KP_PHASES; phase++) {
		sum->calls[phase] += caller->calls[phase];
		sum->entries[phase] += caller->entries[phase];
		sum->returns[phase] += caller->returns[phase];
	}
}

/* Return: the number of calls counted as missed. */
static int kp_missed(const struct kretprobe *rp)
{
	return rp->nmissed + (IS_ENABLED(CONFIG_X86) ? 0 : rp->kp.nmissed);
}

static void kp_settle(struct kunit *test, int probes, int cycles, int missed)
{
	struct kp_caller sum = {};
	unsigned int i;
	int cpu, phase;

	kunit_release_action(test, kp_stop, NULL);
	for (i = 0; i < kp_nr_threads; i++)
		kp_add(&sum, &kp_threads[i]);
	for_each_online_cpu(cpu)
		kp_add(&sum, &per_cpu(kp_timers, cpu).caller);
	kunit_info(test, "%d cycles, calls: %lu on, %lu off, %lu changing; entries %lu, returns %lu, %ld elsewhere than entered\n",
		   cycles, sum.calls[KP_ON], sum.calls[KP_OFF], sum.calls[KP_CHANGING],
		   sum.entries[KP_ON], sum.returns[KP_ON], atomic_long_read(&kp_migrated));
	KUNIT_EXPECT_EQ(test, sum.wrong, 0);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&kp_spoilt), 0);
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_EQ(test, missed, 0);
	KUNIT_EXPECT_GT(test, sum.calls[KP_ON], 0);
	KUNIT_EXPECT_GT(test, sum.calls[KP_OFF], 0);
	for (phase = 0; phase < KP_PHASES; phase++) {
		KUNIT_EXPECT_LE(test, sum.returns[phase], sum.entries[phase]);
		KUNIT_EXPECT_LE(test, sum.entries[phase], probes * sum.calls[phase]);
	}
	KUNIT_EXPECT_EQ(test, sum.entries[KP_OFF], 0);
	if (!switching) {
		/* Some missed calls may be of another phase. */
		KUNIT_EXPECT_GE(test, sum.entries[KP_ON] + missed, probes * sum.calls[KP_ON]);
		KUNIT_EXPECT_EQ(test, sum.returns[KP_ON], sum.entries[KP_ON]);
		KUNIT_EXPECT_GT(test, atomic_long_read(&kp_migrated), 0);
	}
}

/* Minimum number of rounds; with the sysctl switched meanwhile, one is enough. */
#define KP_MIN_CYCLES	(switching ? 1 : 3)

static bool kp_enough(unsigned long start, int cycles)
{
	unsigned int limit = ms;

	/* A slow or busy machine gets two minutes more. */
	if (cycles < KP_MIN_CYCLES)
		limit += 120 * MSEC_PER_SEC;
	return time_after(jiffies, start + msecs_to_jiffies(limit));
}

/* Return: the number of calls that can be in flight at once. */
static int kp_all_calls(void)
{
	return (kp_nr_threads + num_online_cpus()) * KP_NEST;
}

/* Register and unregister @nr return probes until the time is over. */
static void kp_visits(struct kunit *test, int nr, bool limited)
{
	struct kp_racer *racer[3];
	unsigned long start = jiffies;
	int cycles = 0, missed = 0, i;

	do {
		for (i = 0; i < nr; i++)
			racer[i] = kp_racer_new(test, limited ? kp_all_calls() : 0, 0);
		/* A pool may have to grow at first. */
		if (!limited && !cycles)
			msleep(200);
		for (i = 0; i < nr; i++)
			missed -= kp_missed(&racer[i]->rp);
		kp_stay(test, KP_ON);
		for (i = 0; i < nr; i++)
			missed += kp_missed(&racer[i]->rp);
		for (i = 0; i < nr; i++)
			kunit_release_action(test, kp_retire, racer[i]);
		kp_stay(test, KP_OFF);
		cycles++;
	} while (!kp_enough(start, cycles));
	KUNIT_EXPECT_GE(test, cycles, KP_MIN_CYCLES);
	kp_settle(test, nr, cycles, missed);
}

static void kp_ret_race_register(struct kunit *test)
{
	kp_visits(test, 1, false);
}

static void kp_ret_race_register_limited(struct kunit *test)
{
	kp_visits(test, 1, true);
}

static void kp_ret_race_register_three(struct kunit *test)
{
	kp_visits(test, 3, false);
}

static void kp_ret_race_enable(struct kunit *test)
{
	struct kp_racer *racer = kp_racer_new(test, kp_all_calls(), KPROBE_FLAG_DISABLED);
	unsigned long start = jiffies;
	int cycles = 0;

	do {
		kp_stay(test, KP_OFF);
		KUNIT_ASSERT_EQ(test, enable_kretprobe(&racer->rp), 0);
		kp_stay(test, KP_ON);
		KUNIT_ASSERT_EQ(test, disable_kretprobe(&racer->rp), 0);
		cycles++;
	} while (!kp_enough(start, cycles));
	KUNIT_EXPECT_GE(test, cycles, KP_MIN_CYCLES);
	kp_settle(test, 1, cycles, kp_missed(&racer->rp));
}

/* Unregister without a pause, so that more calls are still in flight then. */
static void kp_ret_race_hurry(struct kunit *test)
{
	unsigned long start = jiffies;
	struct kp_racer *racer;
	int cycles = 0, missed;

	do {
		racer = kp_racer_new(test, cycles % 2 * kp_all_calls(), 0);
		if (cycles % 3 == 0)
			usleep_range(100, 2000);
		kunit_release_action(test, kp_retire, racer);
		cycles++;
	} while (!kp_enough(start, cycles));
	/* Afterwards, a new return probe sees all calls. */
	kp_stay(test, KP_OFF);
	racer = kp_racer_new(test, kp_all_calls(), 0);
	kp_stay(test, KP_ON);
	missed = kp_missed(&racer->rp);
	kunit_release_action(test, kp_retire, racer);
	kp_settle(test, 1, cycles, missed);
}

static struct kunit_case kp_ret_race_cases[] = {
	KUNIT_CASE_SLOW(kp_ret_race_register),
	KUNIT_CASE_SLOW(kp_ret_race_register_limited),
	KUNIT_CASE_SLOW(kp_ret_race_register_three),
	KUNIT_CASE_SLOW(kp_ret_race_enable),
	KUNIT_CASE_SLOW(kp_ret_race_hurry),
	{}
};

static struct kunit_suite kp_ret_race_suite = {
	.name = "kretprobes_race",
	.init = kp_race_init,
	.exit = kp_race_exit,
	.test_cases = kp_ret_race_cases,
};

kunit_test_suite(kp_ret_race_suite);

MODULE_DESCRIPTION("KUnit suite for return probes that change while they are hit");
MODULE_LICENSE("GPL");
