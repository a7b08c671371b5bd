// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: a handler oopses, and its task ends. After that, the CPU must still call handlers,
 * and must be able to go idle: RCU would warn if it still counted the exception that never
 * returned.
 *
 * An oops disables lockdep until the next boot, so the suite has its own guest.
 */

#include "kp_opt.h"
#include "kp_probe.h"

KP_MODULE_PARAM(bool, opt, false, "wait for jumps where probes are registered");

/* The task whose handlers oops */
static struct task_struct *kp_victim;

/* calls of the return probe's handlers */
static int kp_entries, kp_returns;

/* The nops leave room for a jump. */
KP_PLUS_WITH(static __noclone notrace, long, kp_oops_target, 1,
	     asm volatile(".rept 16; nop; .endr"))

/* If the task is the victim, write to the last page, where nothing is mapped. */
static long __kprobes kp_oops_here(void)
{
	if (current == READ_ONCE(kp_victim))
		WRITE_ONCE(*(long *)-4096L, 1);
	return 0;
}

KP_RETURN_HANDLER(__kprobes, kp_oops_entry, kp_entries++)

static int __kprobes kp_oops_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_returns++;
	kp_oops_here();
	return 0;
}

static int kp_victim_thread(void *unused)
{
	kp_oops_target(1);
	return 0;
}

/* Return: the CPU that makes all calls. */
static unsigned int kp_cpu(void)
{
	return cpumask_last(cpu_online_mask);
}

/* Let a task call the function, and end in the handler, which oopses. */
static void kp_oops(struct kunit *test)
{
	struct task_struct *task = kthread_create(kp_victim_thread, NULL, "kp_victim");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	kthread_bind(task, kp_cpu());
	WRITE_ONCE(kp_victim, task);
	wake_up_process(task);
	while (!READ_ONCE(task->exit_state))
		schedule_timeout_uninterruptible(1);
	WRITE_ONCE(kp_victim, NULL);
	put_task_struct(task);
	/* Let the CPU go idle, where RCU would warn. */
	schedule_timeout_uninterruptible(2);
}

static long kp_call_on_cpu(void *unused)
{
	long ret = 0;
	int i;

	for (i = 0; i < 5; i++)
		ret += kp_oops_target(i) != i + 1;
	return ret;
}

static void kp_calls(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, work_on_cpu(kp_cpu(), kp_call_on_cpu, NULL), 0);
}

static void kp_oops_in_probe(struct kunit *test, bool post)
{
	struct kp_probe *probe = kp_new(test, kp_oops_target);

	if (post) {
		probe->kp.post_handler = kp_count_post;
		probe->in_post = kp_oops_here;
	} else {
		probe->in_pre = kp_oops_here;
	}
	kp_register(test, probe);
	if (opt)
		KUNIT_ASSERT_TRUE(test, kp_wait_jump(probe->kp.addr, true));
	kp_oops(test);
	kp_clear_counts(probe);
	kp_calls(test);
	kp_expect_counts(test, probe, 5, post ? 5 : 0, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

KP_CASE(kp_oops_in_pre, kp_oops_in_probe(test, false))
KP_CASE(kp_oops_in_post, kp_oops_in_probe(test, true))

static void kp_oops_in_return(struct kunit *test)
{
	static struct kretprobe rp;

	memset(&rp, 0, sizeof(rp));
	rp.kp.addr = (void *)kp_oops_target;
	rp.entry_handler = kp_oops_entry;
	rp.handler = kp_oops_return;
	kp_kretprobe_add(test, &rp);
	kp_oops(test);
	kp_entries = 0;
	kp_returns = 0;
	kp_calls(test);
	KUNIT_EXPECT_EQ(test, kp_entries, 5);
	KUNIT_EXPECT_EQ(test, kp_returns, 5);
	KUNIT_EXPECT_EQ(test, rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, rp.kp.nmissed, 0);
	kp_kretprobe_del(test, &rp);
}

static struct kunit_case kp_oops_cases[] = {
	KUNIT_CASE(kp_oops_in_pre),
	KUNIT_CASE(kp_oops_in_post),
	KUNIT_CASE(kp_oops_in_return),
	{}
};

KP_ONLY_SUITE(kp_oops, "kprobes_oops", "KUnit suite: handlers that oops");
