// SPDX-License-Identifier: GPL-2.0
/*
 * A task sleeps over a fault among the instructions that a jump would overlap, or in the
 * detour buffer. For tasks RCU that is a quiescent state. A task that gives tasks RCU none
 * keeps the optimiser from writing jumps, but no task from registering and unregistering
 * probes.
 */

#include <linux/anon_inodes.h>
#include <linux/completion.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "kp_opt_suites.h"
#include "kp_symbol.h"

/*
 * Memory that comes in when all that is to happen before has happened.
 */

static struct {
	struct page *page;
	struct file *file;
	unsigned long addr;
	/* What is to happen while the page comes in, by a thread of its own. */
	void (*meanwhile)(struct kp_opt_probe *probe);
	struct kp_opt_probe *probe;
	struct completion asked;
	struct completion done;
	int faults;
	int error;
} kp;

static vm_fault_t kp_page_fault(struct vm_fault *vmf)
{
	if (vmf->pgoff)
		return VM_FAULT_SIGBUS;
	kp.faults++;
	if (kp.meanwhile) {
		complete(&kp.asked);
		wait_for_completion(&kp.done);
	}
	vmf->page = kp.page;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct kp_page_vm_ops = {
	.fault = kp_page_fault,
};

static int kp_page_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &kp_page_vm_ops;
	return 0;
}

static const struct file_operations kp_page_fops = {
	.owner = THIS_MODULE,
	.mmap = kp_page_mmap,
};

static void kp_page_close(void *unused)
{
	if (kp.file)
		__fput_sync(kp.file);
	if (kp.page)
		put_page(kp.page);
	memset(&kp, 0, sizeof(kp));
}

static int kp_page_init(struct kunit *test)
{
	int ret = kp_opt_init(test);

	if (ret)
		return ret;
	ret = kunit_add_action_or_reset(test, kp_page_close, NULL);
	if (ret)
		return ret;
	kp.page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!kp.page)
		return -ENOMEM;
	kp.file = anon_inode_getfile("kp_opt_page", &kp_page_fops, NULL, O_RDWR);
	if (IS_ERR(kp.file)) {
		ret = PTR_ERR(kp.file);
		kp.file = NULL;
		return ret;
	}
	*(long *)page_address(kp.page) = 4711;
	return 0;
}

static void kp_page_out(struct kunit *test)
{
	if (kp.addr)
		KUNIT_ASSERT_EQ(test, vm_munmap(kp.addr, PAGE_SIZE), 0);
	kp.addr = kunit_vm_mmap(test, kp.file, 0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
				0);
	KUNIT_ASSERT_FALSE(test, !kp.addr || IS_ERR_VALUE(kp.addr));
	kp.faults = 0;
}

static int kp_meanwhile(void *unused)
{
	wait_for_completion(&kp.asked);
	if (kp.meanwhile)
		kp.meanwhile(kp.probe);
	kp.meanwhile = NULL;
	/* All that waits for readers, and for tasks, comes to an end. */
	rcu_barrier();
	synchronize_rcu_tasks();
	synchronize_rcu();
	complete(&kp.done);
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

typedef long kp_load_fn(const long __user *from);

/* Reads what is in the page, which comes in when @meanwhile is over. */
static __nocfi void kp_load_meanwhile(struct kunit *test, kp_load_fn *load,
				      struct kp_opt_probe *probe,
				      void (*meanwhile)(struct kp_opt_probe *probe))
{
	struct task_struct *task;

	kp_page_out(test);
	kp.error = 0;
	kp.probe = probe;
	kp.meanwhile = meanwhile;
	init_completion(&kp.asked);
	init_completion(&kp.done);
	task = kthread_run(kp_meanwhile, NULL, "kp_meanwhile");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_EQ(test, load((const long __user *)kp.addr), 4711);
	/* If no page came in, it still waits. */
	complete(&kp.asked);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, kp.error, 0);
	KUNIT_EXPECT_EQ(test, kp.faults, 1);
	/* And once more, for what is left behind. */
	KUNIT_EXPECT_EQ(test, load((const long __user *)kp.addr), 4711);
	KUNIT_EXPECT_EQ(test, load(NULL), -EFAULT);
}

static void kp_meanwhile_register(struct kp_opt_probe *probe)
{
	kp.error = register_kprobe(&probe->kp) ?: kp_opt_settle();
}

/* All that is freed is used again, as far as that can be brought about. */
static void kp_reuse(void)
{
	static struct kprobe probes[KP_MANY], *kps[KP_MANY];
	int i;

	synchronize_rcu_tasks();
	msleep(100);
	for (i = 0; i < KP_MANY; i++) {
		kps[i] = &probes[i];
		memset(kps[i], 0, sizeof(*kps[i]));
		kps[i]->addr = (kprobe_opcode_t *)kp_opt_many[i];
		kps[i]->pre_handler = kp_opt_control_pre;
	}
	if (register_kprobes(kps, KP_MANY)) {
		kp.error = -EIO;
		return;
	}
	kp.error = kp_opt_settle();
	unregister_kprobes(kps, KP_MANY);
}

static void kp_meanwhile_unregister(struct kp_opt_probe *probe)
{
	unregister_kprobe(&probe->kp);
	kp_reuse();
}

static void kp_meanwhile_disable(struct kp_opt_probe *probe)
{
	kp.error = disable_kprobe(&probe->kp);
	if (!kp.error)
		kp_reuse();
}

static void kp_meanwhile_switch(struct kp_opt_probe *probe)
{
	kp.error = kp_opt_switch(false);
	if (!kp.error)
		kp.error = kp_opt_switch(true) ?: kp_opt_settle();
}

static void kp_meanwhile_again(struct kp_opt_probe *probe)
{
	unregister_kprobe(&probe->kp);
	kp_reuse();
	kp.error = kp.error ?: register_kprobe(&probe->kp);
	kp.error = kp.error ?: kp_opt_settle();
}

static void *kp_insn(kp_load_fn *load, u32 insn)
{
	return (void *)load + insn;
}

/* In the text, at the second instruction or at the first, when the probe comes. */
static void kp_opt_sleeps_in_text(struct kunit *test)
{
	struct kp_opt_probe *probe;
	int post;

	for (post = 0; post < 2; post++) {
		probe = kp_opt_new(test, kp_insn(kp_opt_load_second, kp_opt_load_second_insn),
				   post);
		kp_load_meanwhile(test, kp_opt_load_second, probe, kp_meanwhile_register);
		KUNIT_EXPECT_EQ(test, probe->pre, 2);
		KUNIT_EXPECT_EQ(test, probe->post, post ? 2 : 0);
		unregister_kprobe(&probe->kp);

		probe = kp_opt_new(test, kp_insn(kp_opt_load_first, kp_opt_load_first_insn), post);
		kp_load_meanwhile(test, kp_opt_load_first, probe, kp_meanwhile_register);
		/* The instruction that is run again may be a hit, or not. */
		KUNIT_EXPECT_GE(test, probe->pre, 2);
		KUNIT_EXPECT_LE(test, probe->pre, 3);
		KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
		unregister_kprobe(&probe->kp);
	}
}

static void kp_opt_sleeps_in_detour(struct kunit *test)
{
	static void (*const meanwhile[])(struct kp_opt_probe *) = {
		kp_meanwhile_unregister, kp_meanwhile_disable, kp_meanwhile_switch,
		kp_meanwhile_again,
	};
	struct kp_opt_probe *probe;
	int i, post;

	for (i = 0; i < 2 * ARRAY_SIZE(meanwhile); i++) {
		post = i % 2;
		probe = kp_opt_new(test, kp_insn(kp_opt_load_first, kp_opt_load_first_insn), post);
		kp_opt_add(test, probe);
		kp_opt_becomes_jump(test, probe);
		kp_load_meanwhile(test, kp_opt_load_first, probe, meanwhile[i / 2]);
		kunit_info(test, "%d: pre %lu post %lu\n", i, probe->pre, probe->post);
		KUNIT_EXPECT_GE(test, probe->pre, 1);
		KUNIT_EXPECT_LE(test, probe->post, probe->pre);
		if (meanwhile[i / 2] == kp_meanwhile_switch)
			KUNIT_EXPECT_EQ(test, probe->pre, 3);
		if (i / 2 < 2)
			KUNIT_EXPECT_EQ(test, probe->pre, 1);
		kp_opt_del(test, probe);
	}
}

/*
 * A busy task: runnable all the time, it never gives up the CPU by itself.
 */

static struct {
	struct task_struct *task;
	bool running;
	bool release;
} kp_busy;

static int kp_busy_thread(void *unused)
{
	/* As long as a test that waits for it in vain may take. */
	unsigned long timeout = jiffies + 30 * HZ;

	WRITE_ONCE(kp_busy.running, true);
	while (!READ_ONCE(kp_busy.release) && time_before(jiffies, timeout))
		cond_resched();
	WRITE_ONCE(kp_busy.running, false);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void kp_busy_stop(void *unused)
{
	WRITE_ONCE(kp_busy.release, true);
	kthread_stop(kp_busy.task);
}

static void kp_busy_start(struct kunit *test)
{
	WRITE_ONCE(kp_busy.release, false);
	kp_busy.task = kthread_run(kp_busy_thread, NULL, "kp_busy");
	KUNIT_ASSERT_FALSE(test, IS_ERR(kp_busy.task));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_busy_stop, NULL), 0);
	while (!READ_ONCE(kp_busy.running))
		msleep(20);
}

/* A reader of the list waits for jumps that are about to come, but not for a busy task. */
static void kp_list_opens(struct kunit *test)
{
	struct file *file = filp_open("/sys/kernel/debug/kprobes/list", O_RDONLY, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	filp_close(file, NULL);
}

/* Many probes come, are hit and go, some are switched, before the busy task is through. */
static __nocfi void kp_opt_busy_task(struct kunit *test)
{
	static struct kp_opt_probe probes[KP_MANY];
	static struct kprobe *kps[KP_MANY];
	int i, round, jumps = 0;

	kp_busy_start(test);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < KP_MANY; i++) {
			memset(&probes[i], 0, sizeof(probes[i]));
			kps[i] = &probes[i].kp;
			kps[i]->addr = (kprobe_opcode_t *)kp_opt_many[i];
			kps[i]->pre_handler = kp_opt_pre;
			kps[i]->post_handler = i % 4 ? NULL : kp_opt_post;
		}
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_MANY), 0);
		/* Long enough to be queued. */
		msleep(50);
		for (i = 0; i < KP_MANY; i++) {
			jumps += kp_is_jump(kps[i]->addr);
			if (i % 16 == 1 && (disable_kprobe(kps[i]) || enable_kprobe(kps[i])))
				KUNIT_FAIL(test, "probe %d cannot be switched", i);
			KUNIT_EXPECT_EQ(test, kp_opt_many[i](i), i + 1);
			KUNIT_EXPECT_EQ(test, probes[i].pre, 1);
			KUNIT_EXPECT_EQ(test, probes[i].post, kps[i]->post_handler ? 1 : 0);
		}
		if (!round)
			kp_list_opens(test);
		unregister_kprobes(kps, KP_MANY);
		for (i = 0; i < KP_MANY; i++) {
			KUNIT_EXPECT_EQ(test, kp_opt_many[i](i), i + 1);
			KUNIT_EXPECT_EQ(test, probes[i].pre, 1);
		}
	}
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(kp_busy.running), "it waited for the busy task");
	kunit_info(test, "%d probes had a jump meanwhile\n", jumps);
	/* Only where there is something that tasks RCU waits for. */
	if (IS_ENABLED(CONFIG_PREEMPTION))
		KUNIT_EXPECT_EQ(test, jumps, 0);

	/* Jumps come when it is through, and not before. */
	for (i = 0; i < KP_MANY; i++) {
		kps[i]->flags = 0;
		kps[i]->addr = (kprobe_opcode_t *)kp_opt_many[i];
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_MANY), 0);
	WRITE_ONCE(kp_busy.release, true);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	for (i = 0, jumps = 0; i < KP_MANY; i++)
		jumps += kp_is_jump(kps[i]->addr);
	KUNIT_EXPECT_EQ(test, jumps, KP_MANY);
	unregister_kprobes(kps, KP_MANY);
}

/* A task that writes 1 to the sysctl, and waits for the busy one. */
static struct {
	struct task_struct *task;
	struct completion done;
	int ret;
} kp_writer;

static int kp_writer_thread(void *unused)
{
	allow_signal(SIGUSR1);
	kp_writer.ret = kp_opt_switch(true);
	complete(&kp_writer.done);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void kp_writer_stop(void *unused)
{
	kthread_stop(kp_writer.task);
}

/* A signal ends the write, and what it asked for comes about all the same. */
static void kp_opt_busy_signal(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, (void *)kp_opt_many[0], false);

	if (!IS_ENABLED(CONFIG_PREEMPTION))
		kunit_skip(test, "no task is waited for long in this kernel");
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	kp_busy_start(test);
	kp_opt_add(test, probe);

	init_completion(&kp_writer.done);
	kp_writer.task = kthread_run(kp_writer_thread, NULL, "kp_writer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(kp_writer.task));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_writer_stop, NULL), 0);
	/* It waits, since the probe can't have a jump yet. */
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&kp_writer.done, HZ / 2), 0);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probe->kp.addr));
	send_sig(SIGUSR1, kp_writer.task, 1);
	/* The busy task gives up after 30 s, and that is to be seen below. */
	wait_for_completion_timeout(&kp_writer.done, 40 * HZ);
	KUNIT_EXPECT_EQ(test, kp_writer.ret, -EINTR);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(kp_busy.running), "the writer waited for it");
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probe->kp.addr));

	WRITE_ONCE(kp_busy.release, true);
	kp_opt_becomes_jump(test, probe);
	kp_opt_del(test, probe);
}

/* A task that waits for the optimiser, as modules do that look this function up by its name. */
static struct {
	struct task_struct *task;
	struct completion done;
	void (*wait)(void);
} kp_waiter;

static __nocfi int kp_waiter_thread(void *unused)
{
	kp_waiter.wait();
	complete(&kp_waiter.done);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static void kp_waiter_stop(void *unused)
{
	WRITE_ONCE(kp_busy.release, true);
	kthread_stop(kp_waiter.task);
}

/* While a busy task delays it, it is idle: neither a hung task nor part of the load. */
static void kp_opt_busy_wait(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, (void *)kp_opt_many[0], false);

	if (!IS_ENABLED(CONFIG_PREEMPTION))
		kunit_skip(test, "no task is waited for long in this kernel");
	kp_waiter.wait = kp_symbol(test, "wait_for_kprobe_optimizer");
	kp_busy_start(test);
	kp_opt_add(test, probe);

	init_completion(&kp_waiter.done);
	kp_waiter.task = kthread_run(kp_waiter_thread, NULL, "kp_waiter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(kp_waiter.task));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_waiter_stop, NULL), 0);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&kp_waiter.done, HZ / 2), 0);
	KUNIT_EXPECT_EQ(test, READ_ONCE(kp_waiter.task->__state) & TASK_IDLE, TASK_IDLE);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probe->kp.addr));

	WRITE_ONCE(kp_busy.release, true);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&kp_waiter.done, 30 * HZ), 0);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
	kp_opt_del(test, probe);
}

static struct kunit_case kp_opt_sleep_cases[] = {
	KUNIT_CASE(kp_opt_sleeps_in_text),
	KUNIT_CASE(kp_opt_sleeps_in_detour),
	KUNIT_CASE_SLOW(kp_opt_busy_task),
	KUNIT_CASE_SLOW(kp_opt_busy_signal),
	KUNIT_CASE_SLOW(kp_opt_busy_wait),
	{}
};

struct kunit_suite kp_opt_sleep_suite = {
	.name = "kprobes_opt_sleep",
	.init = kp_page_init,
	.test_cases = kp_opt_sleep_cases,
};
