// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: probes are registered, unregistered and changed while a thread and a timer on
 * each CPU (the workers) call the probed function.
 *
 * A worker reads the phase before each call and counts the call for it; handlers find the
 * worker in a per-CPU variable and count the hit for the same phase. In ON and OFF nothing
 * changes: in ON every call must be a hit, in OFF none. Before each change the controller
 * waits until all calls of the earlier phase have ended.
 *
 * An unregistered probe may be freed at once. The suite poisons it instead: a handler that
 * runs too late finds or overwrites the poison, and the suite detects both.
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
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "kp_regs.h"

static unsigned int ms = 1500;
module_param(ms, uint, 0400);
MODULE_PARM_DESC(ms, "how long each case lasts, in milliseconds");

static bool switching;
module_param(switching, bool, 0400);
MODULE_PARM_DESC(switching, "kprobes/enabled is switched meanwhile: calls in ON may be no hits");

#define KP_LIVE		0x6b70726fUL
#define KP_POISON	0x5a
#define KP_TIMER_NS	(1 * NSEC_PER_MSEC)

enum kp_phase { KP_CHANGING, KP_ON, KP_OFF, KP_PHASES };

/* The visitor is registered and unregistered, or switched; the resident stays registered. */
enum kp_role { KP_VISITOR, KP_RESIDENT, KP_ROLES };

struct kp_worker {
	enum kp_phase phase;
	unsigned long loops;
	unsigned long wrong;
	unsigned long calls[KP_PHASES];
	unsigned long pre[KP_ROLES][KP_PHASES];
	unsigned long post[KP_ROLES][KP_PHASES];
	/* Hits counted as missed; used only in the sum of all workers */
	unsigned long missed;
};

enum { KP_THREAD, KP_TIMER, KP_WORKERS };

struct kp_cpu {
	struct kp_worker worker[KP_WORKERS];
	struct kp_worker *calling;
	struct task_struct *task;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct kp_cpu, kp_cpus);
static enum kp_phase kp_phase;
static atomic_long_t kp_late;

struct kp_racer {
	struct kprobe kp;
	unsigned long live;
	enum kp_role role;
	struct list_head link;
};

static LIST_HEAD(kp_retired);

noinline unsigned long kp_race_target(unsigned long arg);
noinline unsigned long kp_race_target(unsigned long arg)
{
	barrier();
	return arg + 1;
}

static struct kp_racer *kp_racer(struct kprobe *kp)
{
	struct kp_racer *racer = container_of(kp, struct kp_racer, kp);

	if (READ_ONCE(racer->live) == KP_LIVE)
		return racer;
	atomic_long_inc(&kp_late);
	return NULL;
}

NOKPROBE_SYMBOL(kp_racer);

static int kp_race_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_worker *worker = this_cpu_read(kp_cpus.calling);
	struct kp_racer *racer = kp_racer(kp);

	if (racer)
		worker->pre[racer->role][worker->phase]++;
	return 0;
}

NOKPROBE_SYMBOL(kp_race_pre);

static void kp_race_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kp_worker *worker = this_cpu_read(kp_cpus.calling);
	struct kp_racer *racer = kp_racer(kp);

	if (racer)
		worker->post[racer->role][worker->phase]++;
}

NOKPROBE_SYMBOL(kp_race_post);

/* Make a call and count it for @worker, which stays on its CPU. */
static void kp_call(struct kp_worker *worker)
{
	/* Pairs with kp_enter(): changes made before the phase are seen. */
	worker->phase = smp_load_acquire(&kp_phase);
	worker->calls[worker->phase]++;
	this_cpu_write(kp_cpus.calling, worker);
	if (kp_race_target(worker->loops) != worker->loops + 1)
		worker->wrong++;
	/* Pairs with kp_loops(): the call and its hits have ended. */
	smp_store_release(&worker->loops, worker->loops + 1);
}

static int kp_thread(void *data)
{
	struct kp_cpu *cpu = data;

	while (!kthread_should_stop()) {
		kp_call(&cpu->worker[KP_THREAD]);
		/* Deferred frees wait for a tasks-RCU grace period, which needs this. */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static enum hrtimer_restart kp_timer(struct hrtimer *timer)
{
	struct kp_cpu *cpu = container_of(timer, struct kp_cpu, timer);
	struct kp_worker *interrupted = cpu->calling;

	kp_call(&cpu->worker[KP_TIMER]);
	cpu->calling = interrupted;
	hrtimer_forward_now(timer, ns_to_ktime(KP_TIMER_NS));
	return HRTIMER_RESTART;
}

static void kp_timer_start(void *unused)
{
	struct kp_cpu *cpu = this_cpu_ptr(&kp_cpus);

	hrtimer_init(&cpu->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	cpu->timer.function = kp_timer;
	hrtimer_start(&cpu->timer, ns_to_ktime(KP_TIMER_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static unsigned long kp_loops(struct kp_worker *worker)
{
	/* Pairs with kp_call(). */
	return smp_load_acquire(&worker->loops);
}

/* Begin @phase, and wait until no call of an earlier phase is running. */
static void kp_enter(struct kunit *test, enum kp_phase phase)
{
	unsigned long timeout = jiffies + 30 * HZ;
	unsigned long loops;
	int cpu, i;

	/* Pairs with kp_call(). */
	smp_store_release(&kp_phase, phase);
	/* A worker sees the new phase, or the loop below waits for its call. */
	smp_mb();
	for_each_online_cpu(cpu) {
		for (i = 0; i < KP_WORKERS; i++) {
			struct kp_worker *worker = &per_cpu(kp_cpus, cpu).worker[i];

			loops = kp_loops(worker);
			while (kp_loops(worker) == loops) {
				usleep_range(50, 100);
				if (time_after(jiffies, timeout))
					KUNIT_FAIL_AND_ABORT(test, "worker on CPU %d stands still",
							     cpu);
			}
		}
	}
}

static void kp_stay(struct kunit *test, enum kp_phase phase)
{
	kp_enter(test, phase);
	usleep_range(2000, 3000);
	kp_enter(test, KP_CHANGING);
}

static void kp_stop(void *unused)
{
	struct kp_cpu *c;
	int cpu;

	for_each_online_cpu(cpu) {
		c = &per_cpu(kp_cpus, cpu);
		if (c->task)
			kthread_stop(c->task);
		if (c->timer.function)
			hrtimer_cancel(&c->timer);
		c->task = NULL;
		c->timer.function = NULL;
	}
}

static int kp_race_init(struct kunit *test)
{
	struct task_struct *task;
	struct kp_cpu *c;
	int cpu;

	kp_phase = KP_CHANGING;
	atomic_long_set(&kp_late, 0);
	for_each_possible_cpu(cpu)
		memset(&per_cpu(kp_cpus, cpu), 0, sizeof(struct kp_cpu));
	for_each_online_cpu(cpu) {
		c = &per_cpu(kp_cpus, cpu);
		task = kthread_create_on_node(kp_thread, c, cpu_to_node(cpu), "kp_race/%d", cpu);
		if (IS_ERR(task)) {
			kp_stop(NULL);
			return PTR_ERR(task);
		}
		kthread_bind(task, cpu);
		c->task = task;
		wake_up_process(task);
	}
	on_each_cpu(kp_timer_start, NULL, 1);
	return kunit_add_action_or_reset(test, kp_stop, NULL);
}

/* Unregister, and poison instead of freeing. */
static void kp_retire(void *data)
{
	struct kp_racer *racer = data;
	struct list_head *link = &racer->link;

	unregister_kprobe(&racer->kp);
	memset(racer, KP_POISON, offsetof(struct kp_racer, link));
	list_add(link, &kp_retired);
}

static struct kp_racer *kp_racer_new(struct kunit *test, enum kp_role role, bool post,
				     u32 flags)
{
	struct kp_racer *racer = kzalloc(sizeof(*racer), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, racer);
	racer->live = KP_LIVE;
	racer->role = role;
	racer->kp.addr = kp_entry(kp_race_target);
	racer->kp.flags = flags;
	racer->kp.pre_handler = kp_race_pre;
	if (post)
		racer->kp.post_handler = kp_race_post;
	/* Once it is registered, the end of an aborted case retires it, too. */
	if (register_kprobe(&racer->kp)) {
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
	KUNIT_EXPECT_EQ_MSG(test, written, 0, "unregistered probes that were written to");
	KUNIT_EXPECT_EQ_MSG(test, atomic_long_read(&kp_late), 0, "handlers after unregister");
}

static struct kp_worker kp_sum(struct kunit *test)
{
	struct kp_worker sum = {}, *w;
	int cpu, role, phase, i;

	for_each_online_cpu(cpu) {
		for (i = 0; i < KP_WORKERS; i++) {
			w = &per_cpu(kp_cpus, cpu).worker[i];
			KUNIT_EXPECT_GT(test, w->loops, 0);
			sum.wrong += w->wrong;
			for (phase = 0; phase < KP_PHASES; phase++) {
				sum.calls[phase] += w->calls[phase];
				for (role = 0; role < KP_ROLES; role++) {
					sum.pre[role][phase] += w->pre[role][phase];
					sum.post[role][phase] += w->post[role][phase];
				}
			}
		}
	}
	return sum;
}

struct kp_expected {
	bool pre[KP_ROLES];
	bool post[KP_ROLES];
};

/* Minimum number of rounds; with the sysctl switched meanwhile, one is enough. */
#define KP_MIN_CYCLES	(switching ? 1 : 3)

static void kp_expect_all(struct kunit *test, const struct kp_worker *sum, enum kp_phase phase,
			  unsigned long hits, const char *what)
{
	KUNIT_EXPECT_LE_MSG(test, hits, sum->calls[phase], "%s in phase %d", what, phase);
	KUNIT_EXPECT_GE_MSG(test, hits + sum->missed, sum->calls[phase], "%s in phase %d", what,
			    phase);
}

static void kp_expect_hits(struct kunit *test, const struct kp_worker *sum, enum kp_phase phase,
			   unsigned long hits, bool expected, const char *what)
{
	if (!expected)
		KUNIT_EXPECT_EQ_MSG(test, hits, 0, "%s in phase %d", what, phase);
	else if (switching || phase == KP_CHANGING)
		KUNIT_EXPECT_LE_MSG(test, hits, sum->calls[phase], "%s in phase %d", what, phase);
	else
		kp_expect_all(test, sum, phase, hits, what);
}

static unsigned long kp_total(const unsigned long *counts)
{
	unsigned long total = 0;
	int phase;

	for (phase = 0; phase < KP_PHASES; phase++)
		total += counts[phase];
	return total;
}

/*
 * Stop the workers and compare hits with calls. @missed: missed hits of the visitor.
 * @resident: NULL if there is none
 */
static void kp_settle(struct kunit *test, const struct kp_expected *expected, int cycles,
		      unsigned long missed, const struct kp_racer *resident)
{
	struct kp_worker sum;
	unsigned long calls;
	bool on;
	int phase;

	kunit_release_action(test, kp_stop, NULL);
	sum = kp_sum(test);
	kunit_info(test, "%d cycles, %lu calls on, %lu off, %lu changing; %lu hits\n", cycles,
		   sum.calls[KP_ON], sum.calls[KP_OFF], sum.calls[KP_CHANGING],
		   sum.pre[KP_VISITOR][KP_ON]);
	KUNIT_EXPECT_GE(test, cycles, KP_MIN_CYCLES);
	KUNIT_EXPECT_EQ(test, sum.wrong, 0);
	sum.missed = missed + (resident ? resident->kp.nmissed : 0);
	/* Other architectures may miss an interrupt's hits while a handler runs. */
	if (IS_ENABLED(CONFIG_X86))
		KUNIT_EXPECT_EQ(test, sum.missed, 0);
	KUNIT_EXPECT_GT(test, sum.calls[KP_ON], 0);
	KUNIT_EXPECT_GT(test, sum.calls[KP_OFF], 0);
	for (phase = 0; phase < KP_PHASES; phase++) {
		on = phase != KP_OFF;
		kp_expect_hits(test, &sum, phase, sum.pre[KP_VISITOR][phase],
			       expected->pre[KP_VISITOR] && on, "pre_handler of the visitor");
		kp_expect_hits(test, &sum, phase, sum.post[KP_VISITOR][phase],
			       expected->post[KP_VISITOR] && on, "post_handler of the visitor");
		kp_expect_hits(test, &sum, phase, sum.pre[KP_RESIDENT][phase],
			       expected->pre[KP_RESIDENT], "pre_handler of the resident");
		kp_expect_hits(test, &sum, phase, sum.post[KP_RESIDENT][phase],
			       expected->post[KP_RESIDENT], "post_handler of the resident");
	}
	if (!resident || switching)
		return;
	/* Each call was a hit of the resident, or is counted as missed. */
	calls = kp_total(sum.calls);
	missed = resident->kp.nmissed;
	kunit_info(test, "resident: %lu hits, %lu missed, of %lu calls\n",
		   kp_total(sum.pre[KP_RESIDENT]), missed, calls);
	KUNIT_EXPECT_EQ(test, kp_total(sum.pre[KP_RESIDENT]) + missed, calls);
	if (expected->post[KP_RESIDENT])
		KUNIT_EXPECT_EQ(test, kp_total(sum.post[KP_RESIDENT]) + missed, calls);
}

static bool kp_enough(unsigned long start, int cycles)
{
	unsigned int limit = ms;

	/* A slow or busy machine gets a minute more. */
	if (cycles < KP_MIN_CYCLES)
		limit += 60 * MSEC_PER_SEC;
	return time_after(jiffies, start + msecs_to_jiffies(limit));
}

/* Register and unregister a visitor until the time is over. */
static void kp_visits(struct kunit *test, const struct kp_expected *expected,
		      const struct kp_racer *resident)
{
	unsigned long start = jiffies;
	unsigned long missed = 0;
	struct kp_racer *racer;
	int cycles = 0;

	do {
		racer = kp_racer_new(test, KP_VISITOR, expected->post[KP_VISITOR], 0);
		kp_stay(test, KP_ON);
		missed += racer->kp.nmissed;
		kunit_release_action(test, kp_retire, racer);
		kp_stay(test, KP_OFF);
		cycles++;
	} while (!kp_enough(start, cycles));
	kp_settle(test, expected, cycles, missed, resident);
}

static void kp_race_register(struct kunit *test)
{
	const struct kp_expected expected = { .pre[KP_VISITOR] = true };

	kp_visits(test, &expected, NULL);
}

static void kp_race_register_post(struct kunit *test)
{
	const struct kp_expected expected = { .pre[KP_VISITOR] = true, .post[KP_VISITOR] = true };

	kp_visits(test, &expected, NULL);
}

/* The same, with a resident registered before the first call and until after the last. */
static void kp_visits_to(struct kunit *test, const struct kp_expected *expected)
{
	struct kp_racer *resident;

	/* Restart the workers: calls before the registration must not count. */
	kunit_release_action(test, kp_stop, NULL);
	resident = kp_racer_new(test, KP_RESIDENT, expected->post[KP_RESIDENT], 0);
	KUNIT_ASSERT_EQ(test, kp_race_init(test), 0);
	kp_visits(test, expected, resident);
	kunit_release_action(test, kp_retire, resident);
}

static void kp_race_join_plain(struct kunit *test)
{
	const struct kp_expected expected = {
		.pre = { [KP_VISITOR] = true, [KP_RESIDENT] = true },
	};

	kp_visits_to(test, &expected);
}

static void kp_race_join_with_post(struct kunit *test)
{
	const struct kp_expected expected = {
		.pre = { [KP_VISITOR] = true, [KP_RESIDENT] = true },
		.post = { [KP_VISITOR] = true },
	};

	kp_visits_to(test, &expected);
}

static void kp_race_join_post(struct kunit *test)
{
	const struct kp_expected expected = {
		.pre = { [KP_VISITOR] = true, [KP_RESIDENT] = true },
		.post = { [KP_RESIDENT] = true },
	};

	kp_visits_to(test, &expected);
}

static void kp_race_switch(struct kunit *test, const struct kp_expected *expected)
{
	unsigned long start = jiffies;
	struct kp_racer *racer;
	int cycles = 0;

	racer = kp_racer_new(test, KP_VISITOR, expected->post[KP_VISITOR], KPROBE_FLAG_DISABLED);
	do {
		kp_stay(test, KP_OFF);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&racer->kp), 0);
		kp_stay(test, KP_ON);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&racer->kp), 0);
		cycles++;
	} while (!kp_enough(start, cycles));
	kp_settle(test, expected, cycles, racer->kp.nmissed, NULL);
}

static void kp_race_enable(struct kunit *test)
{
	const struct kp_expected expected = { .pre[KP_VISITOR] = true };

	kp_race_switch(test, &expected);
}

static void kp_race_enable_post(struct kunit *test)
{
	const struct kp_expected expected = { .pre[KP_VISITOR] = true, .post[KP_VISITOR] = true };

	kp_race_switch(test, &expected);
}

static struct kunit_case kp_race_cases[] = {
	KUNIT_CASE_SLOW(kp_race_register),
	KUNIT_CASE_SLOW(kp_race_register_post),
	KUNIT_CASE_SLOW(kp_race_join_plain),
	KUNIT_CASE_SLOW(kp_race_join_with_post),
	KUNIT_CASE_SLOW(kp_race_join_post),
	KUNIT_CASE_SLOW(kp_race_enable),
	KUNIT_CASE_SLOW(kp_race_enable_post),
	{}
};

static struct kunit_suite kp_race_suite = {
	.name = "kprobes_race",
	.init = kp_race_init,
	.exit = kp_race_exit,
	.test_cases = kp_race_cases,
};

kunit_test_suite(kp_race_suite);

MODULE_DESCRIPTION("KUnit suite for kprobes that change while they are hit");
MODULE_LICENSE("GPL");
