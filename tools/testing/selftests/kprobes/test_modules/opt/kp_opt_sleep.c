// SPDX-License-Identifier: GPL-2.0
/*
 * A task sleeps in a page fault of an instruction that the jump overwrites, or of a copy in the
 * detour buffer. Sleeping is a quiescent state, so tasks RCU does not wait until the task has left
 * these. Other cases have a busy task without quiescent states: it delays jumps, but must not delay
 * registrations.
 */

#include <linux/sched/signal.h>
#include "kp_opt_suites.h"
#include "kp_symbol.h"
#include "kp_user_pages.h"

#define KP_WORD		4711

/* The probe that is changed during a page fault */
static struct kp_probe *kp_sleeper;

static int kp_page_init(struct kunit *test)
{
	int ret = kp_opt_init(test) ?: kp_mem_init(test);

	if (!ret)
		*(long *)page_address(kp_mem.page[0]) = KP_WORD;
	return ret;
}

static __nocfi void kp_load_meanwhile(struct kunit *test, kp_load_fn *load,
				      struct kp_probe *probe, void (*meanwhile)(void))
{
	struct task_struct *task = kp_mem_begin(test, meanwhile);
	const long __user *from = (const long __user *)kp_mem.addr;

	kp_sleeper = probe;
	KUNIT_EXPECT_EQ(test, load(from), KP_WORD);
	kp_mem_end(test, task);
	KUNIT_EXPECT_EQ(test, load(from), KP_WORD);
	KUNIT_EXPECT_EQ(test, load(NULL), -EFAULT);
}

static void kp_meanwhile_register(void)
{
	kp_mem.error = register_kprobe(&kp_sleeper->kp) ?: kp_opt_settle();
}

static int kp_reuse(void)
{
	synchronize_rcu_tasks();
	msleep(100);
	return kp_opt_reuse(true);
}

static void kp_meanwhile_unregister(void)
{
	unregister_kprobe(&kp_sleeper->kp);
	kp_mem.error = kp_reuse();
}

static void kp_meanwhile_disable(void)
{
	kp_mem.error = disable_kprobe(&kp_sleeper->kp) ?: kp_reuse();
}

static void kp_meanwhile_switch(void)
{
	kp_mem.error = kp_opt_switch(false) ?: kp_opt_switch(true) ?: kp_opt_settle();
}

static void kp_meanwhile_again(void)
{
	unregister_kprobe(&kp_sleeper->kp);
	kp_mem.error = kp_reuse() ?: register_kprobe(&kp_sleeper->kp) ?: kp_opt_settle();
}

static struct kp_probe *kp_load_new(struct kunit *test, kp_load_fn *load, u32 insn, bool post)
{
	return kp_new_post(test, (void *)load + insn, post);
}

/* The probe is registered while the task sleeps in the page fault. */
static void kp_opt_sleeps_in_text(struct kunit *test)
{
	struct kp_probe *probe;
	int post;

	for (post = 0; post < 2; post++) {
		probe = kp_load_new(test, kp_opt_load_second, kp_opt_load_second_insn, post);
		kp_load_meanwhile(test, kp_opt_load_second, probe, kp_meanwhile_register);
		kp_expect_counts(test, probe, 2, post ? 2 : 0, 0);
		unregister_kprobe(&probe->kp);

		probe = kp_load_new(test, kp_opt_load_first, kp_opt_load_first_insn, post);
		kp_load_meanwhile(test, kp_opt_load_first, probe, kp_meanwhile_register);
		/*
		 * Two calls after the fault are hits. In the first call, the load is executed again
		 * after the fault, which may be a third hit.
		 */
		KUNIT_EXPECT_GE(test, probe->pre, 2);
		KUNIT_EXPECT_LE(test, probe->pre, 3);
		KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
		unregister_kprobe(&probe->kp);
	}
}

static void kp_opt_sleeps_in_detour(struct kunit *test)
{
	static void (*const meanwhile[])(void) = {
		kp_meanwhile_unregister, kp_meanwhile_disable, kp_meanwhile_switch,
		kp_meanwhile_again,
	};
	struct kp_probe *probe;
	int i;

	for (i = 0; i < 2 * ARRAY_SIZE(meanwhile); i++) {
		probe = kp_load_new(test, kp_opt_load_first, kp_opt_load_first_insn, i % 2);
		kp_register(test, probe);
		kp_opt_becomes_jump(test, probe);
		kp_load_meanwhile(test, kp_opt_load_first, probe, meanwhile[i / 2]);
		kunit_info(test, "%d: pre %d post %d\n", i, probe->pre, probe->post);
		KUNIT_EXPECT_GE(test, probe->pre, 1);
		KUNIT_EXPECT_LE(test, probe->post, probe->pre);
		if (meanwhile[i / 2] == kp_meanwhile_switch)
			KUNIT_EXPECT_EQ(test, probe->pre, 3);
		if (i / 2 < 2)
			KUNIT_EXPECT_EQ(test, probe->pre, 1);
		kp_unregister(test, probe);
	}
}

static void kp_meanwhile_off(void)
{
	kp_mem.error = kp_opt_switch(false);
}

/*
 * The task sleeps in the detour buffer of a probe whose slot was made while kprobes.boost was 0, so
 * that the copy in the slot ends in an int3. The jump is removed while the task sleeps. After that,
 * the copy in the slot has to be single-stepped.
 */
static void kp_opt_sleeps_unboosted(struct kunit *test)
{
	struct kp_probe *probe;
	int post;

	for (post = 0; post < 2; post++) {
		probe = kp_load_new(test, kp_opt_load_first, kp_opt_load_first_insn, post);
		KUNIT_ASSERT_EQ(test, kp_boost_switch(false), 0);
		kp_register(test, probe);
		KUNIT_ASSERT_EQ(test, kp_boost_switch(true), 0);
		kp_opt_becomes_jump(test, probe);
		kp_load_meanwhile(test, kp_opt_load_first, probe, kp_meanwhile_off);
		kp_expect_counts(test, probe, 3, post ? 2 : 0, 0);
		kp_unregister(test, probe);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	}
}

/*
 * A task without quiescent states for tasks RCU. It ends after 30 s, so that a test that waits for
 * it by mistake can go on.
 */
static struct {
	bool running, release;
} kp_busy;

static void kp_be_busy(void)
{
	unsigned long timeout = jiffies + 30 * HZ;

	WRITE_ONCE(kp_busy.running, true);
	while (!READ_ONCE(kp_busy.release) && !signal_pending(current) &&
	       time_before(jiffies, timeout))
		cond_resched();
	WRITE_ONCE(kp_busy.running, false);
}

/* For opt.sh: the task that writes the parameter `busy` is busy until it gets a signal. */
static int kp_busy_set(const char *val, const struct kernel_param *param)
{
	WRITE_ONCE(kp_busy.release, false);
	kp_be_busy();
	return 0;
}

static const struct kernel_param_ops kp_busy_ops = { .set = kp_busy_set };

module_param_cb(busy, &kp_busy_ops, NULL, 0200);

static int kp_busy_thread(void *unused)
{
	kp_be_busy();
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void kp_thread_stop(void *task)
{
	WRITE_ONCE(kp_busy.release, true);
	kthread_stop(task);
}

static struct task_struct *kp_thread(struct kunit *test, int (*fn)(void *), const char *name)
{
	struct task_struct *task = kthread_run(fn, NULL, "%s", name);

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kp_at_end(test, kp_thread_stop, task);
	return task;
}

static void kp_busy_start(struct kunit *test)
{
	WRITE_ONCE(kp_busy.release, false);
	kp_thread(test, kp_busy_thread, "kp_busy");
	while (!READ_ONCE(kp_busy.running))
		msleep(20);
}

/* Opening the list must not wait for a busy task. */
static void kp_list_opens(struct kunit *test)
{
	struct file *file = kp_open("/sys/kernel/debug/kprobes/list", O_RDONLY);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	filp_close(file, NULL);
}

static __nocfi void kp_opt_busy_task(struct kunit *test)
{
	int i, round, jumps = 0;

	kp_busy_start(test);
	for (round = 0; round < 4; round++) {
		KUNIT_ASSERT_EQ(test, kp_many_register(), 0);
		/* Wait until the probes are queued for optimisation. */
		msleep(50);
		jumps += kp_many_jumps();
		for (i = 0; i < KP_MANY; i++) {
			struct kp_probe *probe = &kp_many[i];

			if (i % 16 == 1) {
				KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
				KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
			}
			KUNIT_EXPECT_EQ(test, kp_opt_many[i](i), i + 1);
			kp_expect_counts(test, probe, 1, probe->kp.post_handler ? 1 : 0, 0);
		}
		if (!round)
			kp_list_opens(test);
		kp_many_unregister();
		for (i = 0; i < KP_MANY; i++) {
			KUNIT_EXPECT_EQ(test, kp_opt_many[i](i), i + 1);
			KUNIT_EXPECT_EQ(test, kp_many[i].pre, 1);
		}
	}
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(kp_busy.running), "it waited for the busy task");
	kunit_info(test, "%d probes had a jump while a task was busy\n", jumps);
	/* Without preemption, tasks RCU does not wait for the busy task. */
	if (IS_ENABLED(CONFIG_PREEMPTION))
		KUNIT_EXPECT_EQ(test, jumps, 0);

	KUNIT_ASSERT_EQ(test, kp_many_register(), 0);
	WRITE_ONCE(kp_busy.release, true);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	/* These are more probes than the optimiser gives their jumps at once. */
	KUNIT_EXPECT_TRUE(test, kp_poll(kp_many_jumps() == KP_MANY, KP_OPT_TIMEOUT_MS));
	kp_many_unregister();
}

/* A thread that waits for the optimiser */
static struct {
	struct task_struct *task;
	struct completion done;
	void (*wait)(void);
	int ret;
} kp_waiter;

static __nocfi int kp_waiter_thread(void *unused)
{
	allow_signal(SIGUSR1);
	if (kp_waiter.wait)
		kp_waiter.wait();
	else
		kp_waiter.ret = kp_opt_switch(true);
	complete(&kp_waiter.done);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* @wait: NULL stands for a write to the sysctl */
static void kp_waiter_run(struct kunit *test, void (*wait)(void))
{
	kp_waiter.wait = wait;
	init_completion(&kp_waiter.done);
	kp_waiter.task = kp_thread(test, kp_waiter_thread, "kp_waiter");
}

static struct kp_probe *kp_waiter_start(struct kunit *test, void (*wait)(void))
{
	struct kp_probe *probe = kp_new(test, (void *)kp_opt_many[0]);

	kp_busy_start(test);
	kp_register(test, probe);
	kp_waiter_run(test, wait);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&kp_waiter.done, HZ / 2), 0);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probe->kp.addr));
	return probe;
}

static void kp_needs_preemption(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_PREEMPTION))
		kunit_skip(test, "no task is waited for long in this kernel");
}

/* A signal with a handler ends the write with -EINTR. The jumps are written later. */
static void kp_opt_busy_signal(struct kunit *test)
{
	struct kp_probe *probe;

	kp_needs_preemption(test);
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	probe = kp_waiter_start(test, NULL);
	send_sig(SIGUSR1, kp_waiter.task, 1);
	wait_for_completion_timeout(&kp_waiter.done, 40 * HZ);
	KUNIT_EXPECT_EQ(test, kp_waiter.ret, -ERESTARTNOHAND);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(kp_busy.running), "the writer waited for it");
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probe->kp.addr));
	WRITE_ONCE(kp_busy.release, true);
	kp_opt_becomes_jump(test, probe);
}

/* A task that waits for the optimiser must count as idle: neither as hung nor as load. */
static void kp_opt_busy_wait(struct kunit *test)
{
	struct kp_probe *probe;

	kp_needs_preemption(test);
	probe = kp_waiter_start(test, kp_own_function(wait_for_kprobe_optimizer));
	KUNIT_EXPECT_EQ(test, READ_ONCE(kp_waiter.task->__state) & TASK_IDLE, TASK_IDLE);
	WRITE_ONCE(kp_busy.release, true);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&kp_waiter.done, 30 * HZ), 0);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
}

/*
 * A return handler that delays the task that has just requested a round of the optimiser, so that
 * the worker begins the round before the task waits for it.
 */
KP_RETURN_HANDLER(, kp_requested, mdelay(100))

static struct kretprobe kp_request = {
	.kp.symbol_name = "kthread_mod_delayed_work",
	.handler = kp_requested,
};

/*
 * The requested round begins before the writer waits for it. As no probe can get a jump, there is
 * no further round: the writer must not wait for one, or it would wait for ever.
 */
static void kp_opt_round_begins_early(struct kunit *test)
{
	struct kp_probe *probe;
	int i = 0;

	if (num_online_cpus() == 1)
		kunit_skip(test, "the worker needs a CPU of its own");
	while (!(kp_opt_codes[i].flags & KP_REFUSE))
		i++;
	probe = kp_new(test, (void *)kp_opt_text + kp_opt_codes[i].probed);
	kp_kretprobe_add(test, &kp_request);
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	kp_register(test, probe);
	kp_waiter_run(test, NULL);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&kp_waiter.done, 10 * HZ), 0);
	/* If the case has failed, the task still waits: let the task end. */
	send_sig(SIGUSR1, kp_waiter.task, 1);
}

static struct kunit_case kp_opt_sleep_cases[] = {
	KUNIT_CASE(kp_opt_sleeps_in_text),
	KUNIT_CASE(kp_opt_sleeps_in_detour),
	KUNIT_CASE(kp_opt_sleeps_unboosted),
	KUNIT_CASE_SLOW(kp_opt_busy_task),
	KUNIT_CASE_SLOW(kp_opt_busy_signal),
	KUNIT_CASE_SLOW(kp_opt_busy_wait),
	KUNIT_CASE(kp_opt_round_begins_early),
	{}
};

KP_SUITE(kp_opt_sleep, "kprobes_opt_sleep", .init = kp_page_init);
