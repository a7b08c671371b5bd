// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: jumps that come and go by the thousand while every CPU, and a timer and
 * now and then an NMI on each, run into them.
 *
 * Callers put each call on the account of the phase that it began in, as their handlers
 * do with the hits. When nothing changes, every call of a function has to be a hit of its
 * probe. One more probe, on the last instruction of each function, is never touched: its
 * hits have to be the calls, all the time.
 */

#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/smp.h>
#include "kp_opt_suites.h"

static unsigned int cycles = 10000;
module_param(cycles, uint, 0400);
MODULE_PARM_DESC(cycles, "how many probes are optimised, and not any more, at least");

static unsigned int ms = 3000;
module_param(ms, uint, 0400);
MODULE_PARM_DESC(ms, "how long those cases last that are about nothing else, in milliseconds");

#define KP_TIMER_NS	(10 * NSEC_PER_MSEC)

enum kp_phase { KP_CHANGING, KP_ON, KP_OFF, KP_PHASES };

struct kp_account {
	unsigned long calls[KP_PHASES];
	unsigned long hits[KP_PHASES];
	unsigned long posts[KP_PHASES];
	unsigned long last[KP_PHASES];
	unsigned long wrong;
};

enum { KP_THREAD, KP_TIMER, KP_NMI, KP_CALLERS };

struct kp_cpu {
	struct kp_account account[KP_CALLERS];
	/* The account and the phase of the call that is under way. */
	struct kp_account *calling;
	enum kp_phase phase;
	unsigned long loops;
	unsigned long timers;
	bool nmi_asked;
	struct task_struct *task;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct kp_cpu, kp_cpus);
static enum kp_phase kp_phase;
static bool kp_with_nmi;

struct kp_one {
	struct kprobe kp;
	/* Of the last instruction. */
	struct kprobe last;
};

static struct kp_one kp_one[KP_MANY];
static struct kprobe *kps[KP_MANY], *kp_lasts[KP_MANY];

static int kp_stress_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_cpu *cpu = this_cpu_ptr(&kp_cpus);

	if (cpu->calling)
		cpu->calling->hits[cpu->phase]++;
	return 0;
}

NOKPROBE_SYMBOL(kp_stress_pre);

static void kp_stress_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kp_cpu *cpu = this_cpu_ptr(&kp_cpus);

	if (cpu->calling)
		cpu->calling->posts[cpu->phase]++;
}

NOKPROBE_SYMBOL(kp_stress_post);

static int kp_stress_last(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_cpu *cpu = this_cpu_ptr(&kp_cpus);

	if (cpu->calling)
		cpu->calling->last[cpu->phase]++;
	return 0;
}

NOKPROBE_SYMBOL(kp_stress_last);

/* Every function once; all of it belongs to one phase. */
static __nocfi void kp_call_some(struct kp_cpu *cpu, int caller, int from, int to)
{
	struct kp_account *was = cpu->calling;
	enum kp_phase phase_was = cpu->phase;
	int i;

	/* Pairs with kp_enter(): in its phase, what was done before it is seen. */
	cpu->phase = smp_load_acquire(&kp_phase);
	barrier();
	cpu->calling = &cpu->account[caller];
	barrier();
	for (i = from; i < to; i++) {
		cpu->calling->calls[cpu->phase]++;
		if (kp_opt_many[i](i) != i + 1)
			cpu->calling->wrong++;
	}
	barrier();
	cpu->calling = was;
	barrier();
	cpu->phase = phase_was;
}

static int kp_thread(void *data)
{
	struct kp_cpu *cpu = data;
	int i;

	while (!kthread_should_stop()) {
		for (i = 0; i < KP_MANY; i += 10)
			kp_call_some(cpu, KP_THREAD, i, i + 10);
		/* Pairs with kp_enter(): the calls and their hits are over. */
		smp_store_release(&cpu->loops, cpu->loops + 1);
		/* Leave CPU time to the tasks that change probes, on a slow machine, too. */
		usleep_range(500, 1000);
	}
	return 0;
}

static enum hrtimer_restart kp_timer(struct hrtimer *timer)
{
	struct kp_cpu *cpu = container_of(timer, struct kp_cpu, timer);
	int from = cpu->timers % (KP_MANY / 4);

	kp_call_some(cpu, KP_TIMER, 4 * from, 4 * from + 4);
	/* Pairs with kp_enter(). */
	smp_store_release(&cpu->timers, cpu->timers + 1);
	if (kp_with_nmi && cpu->timers % 4 == 0) {
		WRITE_ONCE(cpu->nmi_asked, true);
		apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	}
	hrtimer_forward_now(timer, ns_to_ktime(KP_TIMER_NS));
	return HRTIMER_RESTART;
}

static int kp_nmi(unsigned int type, struct pt_regs *regs)
{
	struct kp_cpu *cpu = this_cpu_ptr(&kp_cpus);

	if (!READ_ONCE(cpu->nmi_asked))
		return NMI_DONE;
	WRITE_ONCE(cpu->nmi_asked, false);
	kp_call_some(cpu, KP_NMI, 0, 4);
	return NMI_HANDLED;
}

static void kp_timer_start(void *unused)
{
	struct kp_cpu *cpu = this_cpu_ptr(&kp_cpus);

	hrtimer_init(&cpu->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	cpu->timer.function = kp_timer;
	hrtimer_start(&cpu->timer, ns_to_ktime(KP_TIMER_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

static void kp_wait_for(struct kunit *test, int nr, const unsigned long *loops,
			unsigned long was)
{
	unsigned long timeout = jiffies + 60 * HZ;

	/* The one under way may belong to the phase before: two more. */
	while (smp_load_acquire(loops) - was < 2) {
		usleep_range(100, 200);
		if (time_after(jiffies, timeout))
			KUNIT_FAIL_AND_ABORT(test, "CPU %d stands still", nr);
	}
}

/* Returns when no call of an earlier phase is still under way. */
static void kp_enter(struct kunit *test, enum kp_phase phase)
{
	struct kp_cpu *cpu;
	int nr;

	/* Pairs with kp_call_some(). */
	smp_store_release(&kp_phase, phase);
	for_each_online_cpu(nr) {
		cpu = &per_cpu(kp_cpus, nr);
		kp_wait_for(test, nr, &cpu->loops, READ_ONCE(cpu->loops));
		kp_wait_for(test, nr, &cpu->timers, READ_ONCE(cpu->timers));
	}
}

static void kp_stay(struct kunit *test, enum kp_phase phase)
{
	kp_enter(test, phase);
	kp_enter(test, KP_CHANGING);
}

static void kp_stop(void *unused)
{
	struct kp_cpu *cpu;
	int nr;

	for_each_online_cpu(nr) {
		cpu = &per_cpu(kp_cpus, nr);
		if (cpu->task)
			kthread_stop(cpu->task);
		if (cpu->timer.function)
			hrtimer_cancel(&cpu->timer);
		cpu->task = NULL;
		cpu->timer.function = NULL;
	}
	if (kp_with_nmi) {
		msleep(20);
		unregister_nmi_handler(NMI_LOCAL, "kp_opt_stress");
	}
	kp_with_nmi = false;
	unregister_kprobes(kp_lasts, KP_MANY);
}

static void kp_prepare(struct kprobe *p, int i, bool post)
{
	memset(p, 0, sizeof(*p));
	p->addr = (kprobe_opcode_t *)kp_opt_many[i];
	p->pre_handler = kp_stress_pre;
	p->post_handler = post ? kp_stress_post : NULL;
}

static int kp_start_callers(struct kunit *test, bool nmi)
{
	struct kp_cpu *cpu;
	int nr, i, ret;

	kp_phase = KP_CHANGING;
	for_each_possible_cpu(nr)
		memset(&per_cpu(kp_cpus, nr), 0, sizeof(struct kp_cpu));
	for (i = 0; i < KP_MANY; i++) {
		struct kprobe *p = &kp_one[i].last;

		/* The nop, which no jump in place of the mov overlaps. */
		kp_lasts[i] = p;
		kps[i] = &kp_one[i].kp;
		memset(p, 0, sizeof(*p));
		p->addr = (void *)kp_opt_many[i] + KP_MANY_LAST;
		p->pre_handler = kp_stress_last;
		kp_prepare(kps[i], i, false);
	}
	ret = register_kprobes(kp_lasts, KP_MANY);
	if (ret)
		return ret;
	if (nmi) {
		ret = register_nmi_handler(NMI_LOCAL, kp_nmi, 0, "kp_opt_stress");
		kp_with_nmi = !ret;
	}
	for_each_online_cpu(nr) {
		cpu = &per_cpu(kp_cpus, nr);
		cpu->task = kthread_create_on_node(kp_thread, cpu, cpu_to_node(nr), "kp_opt/%d",
						   nr);
		if (IS_ERR(cpu->task)) {
			cpu->task = NULL;
			kp_stop(NULL);
			return -ENOMEM;
		}
		kthread_bind(cpu->task, nr);
		wake_up_process(cpu->task);
	}
	on_each_cpu(kp_timer_start, NULL, 1);
	return kunit_add_action_or_reset(test, kp_stop, NULL) ?: ret;
}

/* All callers stopped: what they counted is right. */
static void kp_settle_accounts(struct kunit *test, bool post)
{
	struct kp_account sum = {};
	unsigned long missed = 0, last = 0;
	int nr, caller, phase, i;

	kunit_release_action(test, kp_stop, NULL);
	for_each_online_cpu(nr) {
		for (caller = 0; caller < KP_CALLERS; caller++) {
			struct kp_account *a = &per_cpu(kp_cpus, nr).account[caller];

			sum.wrong += a->wrong;
			for (phase = 0; phase < KP_PHASES; phase++) {
				sum.calls[phase] += a->calls[phase];
				sum.hits[phase] += a->hits[phase];
				sum.posts[phase] += a->posts[phase];
				sum.last[phase] += a->last[phase];
			}
		}
	}
	for (i = 0; i < KP_MANY; i++) {
		missed += kp_one[i].kp.nmissed;
		last += kp_one[i].last.nmissed;
	}
	kunit_info(test, "%lu calls on, %lu off, %lu changing; %lu hits\n", sum.calls[KP_ON],
		   sum.calls[KP_OFF], sum.calls[KP_CHANGING],
		   sum.hits[KP_ON] + sum.hits[KP_CHANGING]);
	KUNIT_EXPECT_EQ(test, sum.wrong, 0);
	KUNIT_EXPECT_EQ(test, missed, 0);
	KUNIT_EXPECT_EQ(test, last, 0);
	KUNIT_EXPECT_GT(test, sum.calls[KP_ON], 0);
	KUNIT_EXPECT_EQ(test, sum.hits[KP_ON], sum.calls[KP_ON]);
	KUNIT_EXPECT_EQ(test, sum.hits[KP_OFF], 0);
	KUNIT_EXPECT_LE(test, sum.hits[KP_CHANGING], sum.calls[KP_CHANGING]);
	if (post)
		KUNIT_EXPECT_EQ(test, sum.posts[KP_ON], sum.calls[KP_ON]);
	for (phase = 0; phase < KP_PHASES; phase++)
		KUNIT_EXPECT_EQ_MSG(test, sum.last[phase], sum.calls[phase], "phase %d", phase);
}

static int kp_count_jumps(void)
{
	int i, jumps = 0;

	for (i = 0; i < KP_MANY; i++)
		jumps += kp_is_jump(kp_opt_many[i] + ENDBR_INSN_SIZE);
	return jumps;
}

static void kp_all_jump(struct kunit *test)
{
	unsigned long timeout = jiffies + KP_OPT_TIMEOUT;

	while (kp_count_jumps() < KP_MANY) {
		if (time_after(jiffies, timeout))
			KUNIT_FAIL_AND_ABORT(test, "%d of %d have a jump", kp_count_jumps(),
					     KP_MANY);
		usleep_range(1000, 2000);
	}
}

static void kp_unregister_all(void *unused)
{
	unregister_kprobes(kps, KP_MANY);
}

/* Registered, optimised, hit, unregistered, and again. */
static void kp_stress_cycles(struct kunit *test)
{
	unsigned int done = 0;
	bool post = false;
	int i;

	KUNIT_ASSERT_EQ(test, kp_start_callers(test, true), 0);
	while (done < cycles) {
		for (i = 0; i < KP_MANY; i++)
			kp_prepare(kps[i], i, post);
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_MANY), 0);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister_all, NULL), 0);
		/* Hits count from now on, while jumps come in. */
		kp_phase = KP_ON;
		kp_all_jump(test);
		kp_stay(test, KP_ON);
		kunit_release_action(test, kp_unregister_all, NULL);
		KUNIT_ASSERT_EQ(test, kp_count_jumps(), 0);
		kp_stay(test, KP_OFF);
		done += KP_MANY;
		post = !post;
	}
	kunit_info(test, "%u times optimised\n", done);
	kp_settle_accounts(test, false);
}

/* The probes stay; what they are reached by changes all the time. Nothing is lost. */
static void kp_stress_switches(struct kunit *test)
{
	unsigned long end;
	unsigned int done = 0;
	int i;

	KUNIT_ASSERT_EQ(test, kp_start_callers(test, true), 0);
	for (i = 0; i < KP_MANY; i++)
		kp_prepare(kps[i], i, true);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_MANY), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister_all, NULL), 0);
	kp_enter(test, KP_ON);
	end = jiffies + msecs_to_jiffies(ms);
	do {
		/* Sometimes long enough for the jumps to be there. */
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		if (done % 2)
			kp_all_jump(test);
		else
			usleep_range(100, 5000);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		KUNIT_ASSERT_EQ(test, kp_count_jumps(), 0);
		done++;
	} while (time_before(jiffies, end) || done < 6);
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	kunit_info(test, "switched %u times\n", done);
	kp_enter(test, KP_CHANGING);
	kp_settle_accounts(test, true);
	kunit_release_action(test, kp_unregister_all, NULL);
}

/*
 * Neighbours that come and go by chance, by threads that know nothing of each other. The
 * functions' own probes stay, and lose nothing.
 */

static int kp_meddle_pre(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static void kp_meddle_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

#define KP_MEDDLERS	3
#define KP_EACH		16

static struct kp_meddler {
	struct task_struct *task;
	struct kprobe kp[KP_EACH];
	bool registered[KP_EACH];
	struct rnd_state random;
	unsigned long done;
	unsigned long failed;
} kp_meddlers[KP_MEDDLERS];

static void kp_meddle_once(struct kp_meddler *m)
{
	u32 random = prandom_u32_state(&m->random);
	int i = random % KP_EACH, fn = (random >> 8) % 24, ret = 0;
	struct kprobe *p = &m->kp[i];

	if (!m->registered[i]) {
		memset(p, 0, sizeof(*p));
		/* On the probed instruction itself, or on the next one. */
		p->addr = (void *)kp_opt_many[fn] +
			  (random & BIT(20) ? KP_MANY_SECOND : ENDBR_INSN_SIZE);
		p->pre_handler = kp_meddle_pre;
		p->post_handler = random & BIT(21) ? kp_meddle_post : NULL;
		p->flags = random & BIT(22) ? KPROBE_FLAG_DISABLED : 0;
		ret = register_kprobe(p);
		m->registered[i] = !ret;
	} else if (random & BIT(23)) {
		unregister_kprobe(p);
		m->registered[i] = false;
	} else if (random & BIT(24)) {
		ret = disable_kprobe(p);
	} else {
		ret = enable_kprobe(p);
	}
	m->failed += ret != 0;
	m->done++;
	if (random >> 27 == 0)
		msleep(60);
}

static int kp_meddle(void *data)
{
	struct kp_meddler *m = data;
	int i;

	while (!kthread_should_stop()) {
		kp_meddle_once(m);
		cond_resched_tasks_rcu_qs();
	}
	for (i = 0; i < KP_EACH; i++)
		if (m->registered[i])
			unregister_kprobe(&m->kp[i]);
	return 0;
}

static void kp_meddlers_stop(void *unused)
{
	int i;

	for (i = 0; i < KP_MEDDLERS; i++)
		if (kp_meddlers[i].task)
			kthread_stop(kp_meddlers[i].task);
}

static void kp_stress_meddlers(struct kunit *test)
{
	unsigned long done = 0, failed = 0;
	struct task_struct *task;
	int i, jumps = 0, looks = 0;
	unsigned long end;

	memset(kp_meddlers, 0, sizeof(kp_meddlers));
	KUNIT_ASSERT_EQ(test, kp_start_callers(test, true), 0);
	for (i = 0; i < KP_MANY; i++)
		kp_prepare(kps[i], i, i % 2);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_MANY), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister_all, NULL), 0);
	kp_enter(test, KP_ON);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_meddlers_stop, NULL), 0);
	for (i = 0; i < KP_MEDDLERS; i++) {
		prandom_seed_state(&kp_meddlers[i].random, i + 1);
		task = kthread_run(kp_meddle, &kp_meddlers[i], "kp_meddle/%d", i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		kp_meddlers[i].task = task;
	}
	for (end = jiffies + msecs_to_jiffies(ms); time_before(jiffies, end); looks++) {
		jumps += kp_count_jumps();
		msleep(20);
	}
	kunit_release_action(test, kp_meddlers_stop, NULL);
	for (i = 0; i < KP_MEDDLERS; i++) {
		done += kp_meddlers[i].done;
		failed += kp_meddlers[i].failed;
	}
	kunit_info(test, "%lu changes, %d jumps on average\n", done, jumps / max(looks, 1));
	KUNIT_EXPECT_EQ(test, failed, 0);
	KUNIT_EXPECT_GT(test, done, 20);
	/* The meddlers have unregistered their probes, so none of these is in a DCR. */
	kp_all_jump(test);
	kp_enter(test, KP_CHANGING);
	kp_settle_accounts(test, false);
	kunit_release_action(test, kp_unregister_all, NULL);
}

static struct kunit_case kp_stress_cases[] = {
	KUNIT_CASE_SLOW(kp_stress_cycles),
	KUNIT_CASE_SLOW(kp_stress_switches),
	KUNIT_CASE_SLOW(kp_stress_meddlers),
	{}
};

struct kunit_suite kp_stress_suite = {
	.name = "kprobes_opt_stress",
	.init = kp_opt_init,
	.test_cases = kp_stress_cases,
};

kunit_test_suite(kp_stress_suite);

MODULE_DESCRIPTION("KUnit suite: jump-optimised kprobes under load");
MODULE_LICENSE("GPL");
