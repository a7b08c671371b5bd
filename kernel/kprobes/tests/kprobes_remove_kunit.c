// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: while a handler spins on one CPU, two tasks in turn disable or unregister its
 * probe. Neither call may return before the handler ends: its caller may then free what the
 * handler uses.
 *
 * If stop_machine() is called in the meantime, for example for a new clock source, it waits for the
 * handler, and blocks the task that would release the handler. So the handler spins for at most 10
 * seconds. If it was not released by then, the case is repeated.
 */

#include "kp_test.h"

static struct {
	bool entered, release, running, gave_up;
	u32 flags;
	const void *addr;
} kp_handler;

/* Handlers may read flags and addr, even while two calls that remove the probe wait. */
static void kp_handler_spins(const struct kprobe *kp)
{
	unsigned long end = jiffies + 10 * HZ;

	WRITE_ONCE(kp_handler.running, true);
	WRITE_ONCE(kp_handler.entered, true);
	/* Pairs with smp_store_release() in kp_remove_try(). */
	while (!smp_load_acquire(&kp_handler.release)) {
		if (time_after(jiffies, end)) {
			WRITE_ONCE(kp_handler.gave_up, true);
			break;
		}
		cpu_relax();
	}
	kp_handler.flags = READ_ONCE(kp->flags);
	kp_handler.addr = READ_ONCE(kp->addr);
	WRITE_ONCE(kp_handler.running, false);
}

KP_PRE_HANDLER(, kp_remove_pre, kp_handler_spins(p))

static int kp_remove_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	/* Call get_kretprobe() before the wait: it returns NULL once unregistration has begun. */
	kp_handler_spins(&get_kretprobe(ri)->kp);
	return 0;
}

KP_PLUS(, long, kp_remove_target, 1)

struct kp_remover {
	int (*remove)(void);
	struct task_struct *task;
	struct completion done;
	int ret;
	/* the call returned while a handler was running */
	bool early;
};

static struct kprobe kp;
static struct kretprobe rp;
#ifdef CONFIG_JPROBES
static struct jprobe jp;

static long kp_remove_jprobe(long arg)
{
	kp_handler_spins(&jp.kp);
	jprobe_return();
	return -1;
}
#endif

static const struct kp_removal {
	const char *name;
	struct kprobe *kp;
	/* for a return probe: the entry_handler spins, not the handler */
	bool entry;
	/* disable the probe; false: unregister the probe */
	bool disable;
} kp_removals[] = {
	{ "disable", &kp, .disable = true },
	{ "unregister", &kp },
	{ "disable_entry", &rp.kp, .entry = true, .disable = true },
	{ "unregister_entry", &rp.kp, .entry = true },
	{ "unregister_return", &rp.kp },
#ifdef CONFIG_JPROBES
	{ "unregister_jprobe", &jp.kp },
#endif
};

/* How the current case removes its probe */
static const struct kp_removal *kp_removal;

static int kp_add(void)
{
	memset(&kp, 0, sizeof(kp));
	memset(&rp, 0, sizeof(rp));
#ifdef CONFIG_JPROBES
	jp = (struct jprobe){ .entry = kp_remove_jprobe };
#endif
	kp.pre_handler = kp_remove_pre;
	if (kp_removal->entry)
		rp.entry_handler = kp_remove_return;
	else
		rp.handler = kp_remove_return;
	kp_removal->kp->addr = (kprobe_opcode_t *)kp_remove_target;
#ifdef CONFIG_JPROBES
	if (kp_removal->kp == &jp.kp)
		return register_jprobe(&jp);
#endif
	return kp_removal->kp == &rp.kp ? register_kretprobe(&rp) : register_kprobe(&kp);
}

static int kp_unregister(void)
{
	if (kp_removal->kp == &kp)
		unregister_kprobe(&kp);
	if (kp_removal->kp == &rp.kp)
		unregister_kretprobe(&rp);
#ifdef CONFIG_JPROBES
	if (kp_removal->kp == &jp.kp)
		unregister_jprobe(&jp);
#endif
	return 0;
}

static int kp_remove(void)
{
	return kp_removal->disable ? disable_kprobe(kp_removal->kp) : kp_unregister();
}

static int kp_call(void)
{
	return kp_remove_target(1) == 2 ? 0 : -EIO;
}

KUNIT_ARRAY_PARAM_DESC(kp_removal, kp_removals, name);

static int kp_remover_thread(void *data)
{
	struct kp_remover *r = data;

	r->ret = r->remove();
	r->early = READ_ONCE(kp_handler.running);
	complete(&r->done);
	return 0;
}

static void kp_remover_start(struct kunit *test, struct kp_remover *r, int (*remove)(void))
{
	r->remove = remove;
	init_completion(&r->done);
	r->task = kthread_run(kp_remover_thread, r, "%ps", remove);
	KUNIT_ASSERT_FALSE(test, IS_ERR(r->task));
	get_task_struct(r->task);
}

static void kp_remover_join(struct kunit *test, struct kp_remover *r)
{
	wait_for_completion(&r->done);
	put_task_struct(r->task);
	KUNIT_EXPECT_EQ(test, r->ret, 0);
}

static void kp_remover_settles(struct kp_remover *r)
{
	while (!completion_done(&r->done) && !(READ_ONCE(r->task->__state) & TASK_UNINTERRUPTIBLE))
		schedule_timeout_uninterruptible(1);
}

/* Has the first call of kp_remove() changed the state that the second call will see? */
static bool kp_is_removed(void)
{
	struct kprobe *p = kp_removal->kp;

	return kp_removal->disable ? kprobe_disabled(p) : list_empty(&p->list);
}

/*
 * Wait up to 10 seconds until the probe has a jump, or is ftrace-based; without OPTPROBES, do not
 * wait. A breakpoint would call the handler with interrupts off: while the handler spins, tasks
 * that patch text would be blocked.
 */
static bool kp_remove_has_jump(void)
{
	const struct kprobe *p = kp_removal->kp;
	int i, limit = IS_ENABLED(CONFIG_OPTPROBES) ? 10 * HZ : 0;

	for (i = 0; i < limit && !(p->flags & (KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE)); i++)
		schedule_timeout_uninterruptible(1);
	return p->flags & (KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE);
}

static bool kp_remove_try(struct kunit *test)
{
	struct kp_remover caller = {}, first = {}, second = {};

	if (!kp_remove_has_jump()) {
		kunit_mark_skipped(test, "the handler runs with interrupts off");
		return true;
	}
	memset(&kp_handler, 0, sizeof(kp_handler));
	kp_remover_start(test, &caller, kp_call);
	while (!READ_ONCE(kp_handler.entered))
		schedule_timeout_uninterruptible(1);
	kp_remover_start(test, &first, kp_remove);
	while (!kp_is_removed())
		schedule_timeout_uninterruptible(1);
	kp_remover_settles(&first);
	kp_remover_start(test, &second, kp_remove);
	kp_remover_settles(&second);
	/* Pairs with smp_load_acquire() in kp_handler_spins(). */
	smp_store_release(&kp_handler.release, true);
	kp_remover_join(test, &second);
	kp_remover_join(test, &first);
	kp_remover_join(test, &caller);
	if (kp_handler.gave_up)
		return false;
	KUNIT_EXPECT_FALSE(test, first.early);
	KUNIT_EXPECT_FALSE(test, second.early);
	/* bpf_get_func_ip() reads this flag, for instance. */
	KUNIT_EXPECT_TRUE(test, kp_handler.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	/* The second unregistration clears addr, but not before the handler has ended. */
	KUNIT_EXPECT_LT(test, (unsigned long)kp_handler.addr - (unsigned long)kp_remove_target,
			16UL);
	return true;
}

/* Try the removal up to three times: on a slow machine, the handler may give up waiting. */
static void kp_remove_twice(struct kunit *test)
{
	bool done = false;
	int i;

	if (num_online_cpus() < 3)
		kunit_skip(test, "the handler needs a CPU to itself");
	kp_removal = test->param_value;
	if (kp_removal->kp == &rp.kp && !IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "no return probes in this kernel");
	for (i = 0; i < 3 && !done; i++) {
		KUNIT_ASSERT_EQ(test, kp_add(), 0);
		done = kp_remove_try(test);
		kp_unregister();
	}
	KUNIT_EXPECT_TRUE_MSG(test, done, "the handler gave up %d times", i);
}

static struct {
	struct irq_work work;
	struct completion published;
	struct task_struct *remover;
	unsigned int cpu;
	bool waits, hold;
} kp_between;

static void kp_between_published(struct irq_work *work)
{
	complete_all(&kp_between.published);
}

/*
 * Handler of a probe at kvfree_call_rcu(), which unregister_kprobes() calls when it has published
 * the new set of the first probepoint, and not yet that of the second
 */
static int kp_between_pre(struct kprobe *p, struct pt_regs *regs)
{
	if (current == READ_ONCE(kp_between.remover))
		irq_work_queue(&kp_between.work);
	return 0;
}

KP_PLUS(, long, kp_remove_first, 1)

static int kp_unregister_two(void)
{
	static struct kprobe first;
	struct kprobe *two[] = { &first, &kp };
	int ret;

	first = (struct kprobe){
		.addr = (kprobe_opcode_t *)kp_remove_first,
		.pre_handler = kp_remove_pre,
	};
	ret = register_kprobe(&first) ?:
	      set_cpus_allowed_ptr(current, cpumask_of(kp_between.cpu));
	WRITE_ONCE(kp_between.remover, current);
	unregister_kprobes(two, ARRAY_SIZE(two));
	WRITE_ONCE(kp_between.remover, NULL);
	return ret;
}

/*
 * A task with a real-time priority that keeps the task which unregisters the probes from going on.
 * After 0.95 s, the scheduler would let other tasks run.
 */
static int kp_hold_remover(void)
{
	unsigned long end;
	int ret = set_cpus_allowed_ptr(current, cpumask_of(kp_between.cpu));

	sched_set_fifo(current);
	WRITE_ONCE(kp_between.waits, true);
	wait_for_completion(&kp_between.published);
	for (end = jiffies + HZ * 9 / 10; READ_ONCE(kp_between.hold) && time_before(jiffies, end);)
		cond_resched();
	return ret;
}

static bool kp_between_try(struct kunit *test)
{
	struct kp_remover holder = {}, caller = {}, remover = {};
	bool published, hit = false;
	unsigned long end;

	if (!kp_remove_has_jump()) {
		kunit_mark_skipped(test, "the handler runs with interrupts off");
		return true;
	}
	memset(&kp_handler, 0, sizeof(kp_handler));
	kp_between.work = IRQ_WORK_INIT_HARD(kp_between_published);
	init_completion(&kp_between.published);
	kp_between.cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	kp_between.waits = false;
	kp_between.hold = true;
	kp_remover_start(test, &holder, kp_hold_remover);
	while (!READ_ONCE(kp_between.waits))
		schedule_timeout_uninterruptible(1);
	kp_remover_settles(&holder);
	kp_remover_start(test, &remover, kp_unregister_two);
	published = wait_for_completion_timeout(&kp_between.published, 10 * HZ);
	KUNIT_EXPECT_TRUE(test, published);
	if (published) {
		synchronize_rcu();
		kp_remover_start(test, &caller, kp_call);
		while (!READ_ONCE(kp_handler.entered) && !completion_done(&caller.done))
			schedule_timeout_uninterruptible(1);
		hit = READ_ONCE(kp_handler.entered);
		WRITE_ONCE(kp_between.hold, false);
		/* Give a call that does not wait for the handler the time to return. */
		for (end = jiffies + HZ; hit && !completion_done(&remover.done) &&
		     time_before(jiffies, end);)
			schedule_timeout_uninterruptible(1);
		/* Pairs with smp_load_acquire() in kp_handler_spins(). */
		smp_store_release(&kp_handler.release, true);
		kp_remover_join(test, &caller);
	} else {
		complete_all(&kp_between.published);
	}
	kp_remover_join(test, &remover);
	kp_remover_join(test, &holder);
	irq_work_sync(&kp_between.work);
	KUNIT_EXPECT_FALSE(test, remover.early);
	return !published || (hit && !kp_handler.gave_up);
}

/*
 * The grace period that unregister_kprobes() waits for must begin after the last probepoint has
 * changed. So end a grace period while it has changed one of two, and only then hit the other.
 */
static void kp_remove_between(struct kunit *test)
{
	static struct kprobe between;
	bool done = false;
	int i;

	if (num_online_cpus() < 3)
		kunit_skip(test, "three tasks need a CPU each");
	kp_removal = &kp_removals[1];
	between = (struct kprobe){
		.symbol_name = "kvfree_call_rcu",
		.pre_handler = kp_between_pre,
	};
	KUNIT_ASSERT_EQ(test, register_kprobe(&between), 0);
	/* On a slow machine, the grace period may take longer than the task can be kept. */
	for (i = 0; i < 20 && !done; i++) {
		int ret = kp_add();

		KUNIT_EXPECT_EQ(test, ret, 0);
		done = ret || kp_between_try(test);
		kp_unregister();
	}
	unregister_kprobe(&between);
	KUNIT_EXPECT_TRUE_MSG(test, done, "the second probe was not hit in time, %d times", i);
}

/* notrace, so that probes are not ftrace-based: a hit executes or emulates an instruction. */
KP_PLUS(notrace, long, kp_remove_hot, 1)

static unsigned long kp_hot_hits, kp_hot_posts;

KP_PRE_HANDLER(__kprobes, kp_hot_pre, kp_hot_hits++)

KP_POST_HANDLER(__kprobes, kp_hot_post, WRITE_ONCE(kp_hot_posts, kp_hot_posts + 1))

static struct kprobe kp_hot = {
	.addr = (kprobe_opcode_t *)kp_remove_hot,
	.pre_handler = kp_hot_pre,
};

static int kp_hot_caller(void *wrong)
{
	while (!kthread_should_stop()) {
		if (kp_remove_hot(1) != 2)
			++*(unsigned long *)wrong;
		cond_resched();
	}
	return 0;
}

/*
 * A task hits a probepoint all the time, while another task registers and unregisters a probe
 * there, the only one with a post_handler. The post_handler must not be called after
 * unregister_kprobe() has returned.
 */
static void kp_remove_post(struct kunit *test)
{
	unsigned long wrong = 0, posts, late = 0, called = 0;
	struct task_struct *caller;
	int i, ret = 0;

	if (num_online_cpus() < 2)
		kunit_skip(test, "the two tasks need a CPU each");
	kp_hot_hits = 0;
	kp_hot_posts = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp_hot), 0);
	caller = kthread_run(kp_hot_caller, &wrong, "kp_hot");
	if (IS_ERR(caller)) {
		unregister_kprobe(&kp_hot);
		KUNIT_FAIL(test, "no task");
		return;
	}
	for (i = 0; i < 200 && !ret; i++) {
		memset(&kp, 0, sizeof(kp));
		kp.addr = (kprobe_opcode_t *)kp_remove_hot;
		kp.post_handler = kp_hot_post;
		posts = READ_ONCE(kp_hot_posts);
		ret = register_kprobe(&kp);
		/* Give the calling task time to hit the probe. */
		if (!ret)
			schedule_timeout_uninterruptible(1);
		unregister_kprobe(&kp);
		called += READ_ONCE(kp_hot_posts) != posts;
		posts = READ_ONCE(kp_hot_posts);
		schedule_timeout_uninterruptible(1);
		late += READ_ONCE(kp_hot_posts) != posts;
	}
	kthread_stop(caller);
	unregister_kprobe(&kp_hot);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, late, 0);
	KUNIT_EXPECT_GT(test, called, 0);
	KUNIT_EXPECT_GE(test, kp_hot_hits, kp_hot_posts);
	kunit_info(test, "%lu hits, %lu of them with the post_handler", kp_hot_hits, kp_hot_posts);
}

static struct kunit_case kp_remove_cases[] = {
	KUNIT_CASE_PARAM(kp_remove_twice, kp_removal_gen_params),
	KUNIT_CASE_SLOW(kp_remove_between),
	KUNIT_CASE_SLOW(kp_remove_post),
	{}
};

KP_ONLY_SUITE(kp_remove, "kprobes_remove", "KUnit suite: probes removed while their handlers run");
