// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: a probed instruction accesses user memory that is not mapped yet. The task
 * sleeps in the page fault, while the probepoint may change or disappear.
 *
 * The suite handles the page faults: the memory is mapped from a file of its own.
 */

#include <asm/trapnr.h>
#include <linux/anon_inodes.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched/mm.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#include "kp_faults.h"

#define KP_PAGES	4

#define KP_INSN(access)	((void *)kp_user_##access + kp_user_##access##_insn)

static struct {
	struct page *page[KP_PAGES];
	struct file *file;
	unsigned long addr;
	/* number of page faults; what is called during the next one */
	int faults;
	void (*meanwhile)(void);
	/* A page fault holds locks, so it asks a thread to call meanwhile(). */
	struct completion asked;
	struct completion done;
	struct kp_probe *probe;
	struct kp_probe *second;
	int error;
	/* the stack of the task that sleeps */
	struct task_struct *task;
	unsigned long trace[64];
	unsigned int traced;
} kp;

static vm_fault_t kp_paging_fault(struct vm_fault *vmf)
{
	if (vmf->pgoff >= KP_PAGES)
		return VM_FAULT_SIGBUS;
	kp.faults++;
	if (kp.meanwhile) {
		complete(&kp.asked);
		wait_for_completion(&kp.done);
	} else {
		/* Let other tasks run. */
		usleep_range(100, 200);
	}
	vmf->page = kp.page[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct kp_paging_vm_ops = {
	.fault = kp_paging_fault,
};

static int kp_paging_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &kp_paging_vm_ops;
	return 0;
}

static const struct file_operations kp_paging_fops = {
	.owner = THIS_MODULE,
	.mmap = kp_paging_mmap,
};

static void __user *kp_user(unsigned long offset)
{
	return (void __user *)(kp.addr + offset);
}

static long *kp_word(unsigned long offset)
{
	return page_address(kp.page[offset / PAGE_SIZE]) + offset % PAGE_SIZE;
}

/* Map the memory anew, without pages. */
static void kp_page_out(struct kunit *test)
{
	if (kp.addr)
		KUNIT_ASSERT_EQ(test, vm_munmap(kp.addr, KP_PAGES * PAGE_SIZE), 0);
	kp.addr = kunit_vm_mmap(test, kp.file, 0, KP_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_SHARED, 0);
	KUNIT_ASSERT_FALSE(test, !kp.addr || IS_ERR_VALUE(kp.addr));
	kp.faults = 0;
}

static struct kp_probe *kp_paging_probe(struct kunit *test, void *insn, bool post)
{
	struct kp_probe *probe = kp_new(test, insn);

	if (post)
		probe->kp.post_handler = kp_count_post;
	kp_faults_register(test, probe);
	return probe;
}

/* An access that paged in, however often, is one hit. */
static void kp_is_one_hit(struct kunit *test, struct kp_probe *probe, bool post, int faults)
{
	KUNIT_EXPECT_EQ(test, kp.faults, faults);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	KUNIT_EXPECT_EQ(test, probe->post, post);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	kp_unregister(test, probe);
}

/* Access the first word of the second page, which is @before and must become @after. */
static void kp_paging_access(struct kunit *test, void *insn, long (*access)(void __user *),
			     long result, long before, long after)
{
	struct kp_probe *probe;
	int post;

	for (post = 0; post < 2; post++) {
		kp_page_out(test);
		*kp_word(PAGE_SIZE) = before;
		probe = kp_paging_probe(test, insn, post);
		KUNIT_EXPECT_EQ(test, access(kp_user(PAGE_SIZE)), result);
		KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE), after);
		kp_is_one_hit(test, probe, post, 1);
	}
}

static long kp_load(void __user *from)
{
	return kp_user_load(from);
}

static void kp_paging_load(struct kunit *test)
{
	struct kp_probe *probe;

	kp_paging_access(test, KP_INSN(load), kp_load, 0x1234567, 0x1234567, 0x1234567);
	/* Where nothing is mapped, the fix-up is reached. */
	probe = kp_paging_probe(test, KP_INSN(load), true);
	KUNIT_EXPECT_EQ(test, kp_user_load(NULL), -EFAULT);
	kp_is_one_hit(test, probe, false, 1);
}

static long kp_store(void __user *to)
{
	return kp_user_store(to, 0x7654321);
}

static void kp_paging_store(struct kunit *test)
{
	kp_paging_access(test, KP_INSN(store), kp_store, 0, 0, 0x7654321);
}

static long kp_add(void __user *to)
{
	return kp_user_add(to, 7);
}

static void kp_paging_add(struct kunit *test)
{
	kp_paging_access(test, KP_INSN(add), kp_add, 1000, 1000, 1007);
}

/* One instruction with a page fault for each page */
static void kp_paging_move(struct kunit *test)
{
	unsigned int bytes = (KP_PAGES - 1) * PAGE_SIZE + 100;
	u8 *from = kunit_kmalloc(test, bytes, GFP_KERNEL);
	struct kp_probe *probe;
	unsigned int i, wrong;
	int post;

	KUNIT_ASSERT_NOT_NULL(test, from);
	for (post = 0; post < 2; post++) {
		for (i = 0; i < bytes; i++)
			from[i] = i * 7 + i / 256 + post;
		kp_page_out(test);
		probe = kp_paging_probe(test, KP_INSN(move), post);
		KUNIT_EXPECT_EQ(test, kp_user_move(kp_user(10), from, bytes), 0);
		for (i = 0, wrong = 0; i < bytes; i++)
			wrong += *(u8 *)kp_word(10 + i) != from[i];
		KUNIT_EXPECT_EQ(test, wrong, 0);
		kp_is_one_hit(test, probe, post, KP_PAGES);
	}
	/* Over the end: bytes are copied up to it, then the fix-up is reached. */
	kp_page_out(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(kp.addr + PAGE_SIZE, PAGE_SIZE), 0);
	probe = kp_paging_probe(test, KP_INSN(move), true);
	KUNIT_EXPECT_EQ(test, kp_user_move(kp_user(PAGE_SIZE - 5), from, 20), 15);
	kp_is_one_hit(test, probe, false, 1);
}

/* The fault_handler is called for each page, before it is mapped. */
static void kp_paging_asks(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, KP_INSN(move));
	long from[2] = { 1, 2 };

	kp_page_out(test);
	probe->kp.post_handler = kp_count_post;
	probe->kp.fault_handler = kp_count_fault;
	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, 0,
			kp_user_move(kp_user(PAGE_SIZE - sizeof(long)), from, sizeof(from)));
	KUNIT_EXPECT_EQ(test, probe->fault, 2);
	KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
	KUNIT_EXPECT_EQ(test, probe->ip, (unsigned long)probe->kp.addr);
	KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE - sizeof(long)), 1);
	KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE), 2);
	kp_is_one_hit(test, probe, true, 2);
}

/*
 * Changes of the probepoint during the page fault
 */

static int kp_meanwhile(void *unused)
{
	wait_for_completion(&kp.asked);
	if (kp.meanwhile)
		kp.meanwhile();
	kp.meanwhile = NULL;
	/* Let RCU free what the change has released. */
	rcu_barrier();
	synchronize_rcu();
	complete(&kp.done);
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

/* Add 7 to 1000; the page is mapped after @meanwhile. */
static void kp_add_meanwhile(struct kunit *test, void (*meanwhile)(void))
{
	struct task_struct *task;

	kp_page_out(test);
	*kp_word(128) = 1000;
	kp.error = 0;
	kp.meanwhile = meanwhile;
	init_completion(&kp.asked);
	init_completion(&kp.done);
	task = kthread_run(kp_meanwhile, NULL, "kp_meanwhile");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 7), 1000);
	/* If there was no page fault, the thread still waits. */
	complete(&kp.asked);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, *kp_word(128), 1007);
	KUNIT_EXPECT_EQ(test, kp.error, 0);
	KUNIT_EXPECT_EQ(test, kp.faults, 1);
}

/* Other probes, which get the freed slot of the first one */
static struct kprobe kp_others[5];

/* After @meanwhile, the probe is not hit, nor its post_handler called. */
static void kp_paging_disappears(struct kunit *test, void (*meanwhile)(void))
{
	int post, i;

	for (post = 0; post < 2; post++) {
		kp.probe = kp_paging_probe(test, KP_INSN(add), post);
		kp_add_meanwhile(test, meanwhile);
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probe->post, 0);
		/* This is harmless if @meanwhile has unregistered it. */
		kp_unregister(test, kp.probe);
		for (i = 0; i < ARRAY_SIZE(kp_others); i++)
			unregister_kprobe(&kp_others[i]);
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1008);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
	}
}

static void kp_meanwhile_unregister(void)
{
	int i;

	unregister_kprobe(&kp.probe->kp);
	/* Slots are freed after grace periods of tasks-RCU and RCU, or after the next ones. */
	for (i = 0; i < 3; i++) {
		synchronize_rcu_tasks();
		rcu_barrier();
		msleep(50);
	}
	memset(kp_others, 0, sizeof(kp_others));
	kp_others[0].addr = KP_INSN(load);
	kp_others[1].addr = KP_INSN(store);
	kp_others[2].addr = KP_INSN(move);
	kp_others[3].addr = (void *)kp_kernel_load + kp_kernel_load_insn;
	kp_others[4].addr = (void *)kp_plain + kp_plain_insn;
	for (i = 0; i < ARRAY_SIZE(kp_others) && !kp.error; i++)
		kp.error = register_kprobe(&kp_others[i]);
}

static void kp_paging_unregister(struct kunit *test)
{
	kp_paging_disappears(test, kp_meanwhile_unregister);
}

static void kp_meanwhile_disable(void)
{
	kp.error = disable_kprobe(&kp.probe->kp);
}

static void kp_paging_disable(struct kunit *test)
{
	kp_paging_disappears(test, kp_meanwhile_disable);
}

static void kp_meanwhile_again(void)
{
	unregister_kprobe(&kp.probe->kp);
	kp.error = register_kprobe(&kp.probe->kp);
}

/* The instruction is executed again, and may hit the new registration. */
static void kp_paging_register_again(struct kunit *test)
{
	int post;

	for (post = 0; post < 2; post++) {
		kp.probe = kp_paging_probe(test, KP_INSN(add), post);
		kp_add_meanwhile(test, kp_meanwhile_again);
		KUNIT_EXPECT_LE(test, kp.probe->pre, 2);
		KUNIT_EXPECT_LE(test, kp.probe->post, post);
		kp.probe->pre = 0;
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		kp_unregister(test, kp.probe);
	}
}

static void kp_meanwhile_join(void)
{
	kp.error = register_kprobe(&kp.second->kp);
}

static void kp_meanwhile_leave(void)
{
	unregister_kprobe(&kp.second->kp);
}

/* A probe with a post_handler is registered in one access, and unregistered in the next. */
static void kp_paging_reshape(struct kunit *test)
{
	kp.probe = kp_paging_probe(test, KP_INSN(add), false);
	kp.second = kp_new(test, KP_INSN(add));
	kp.second->kp.post_handler = kp_count_post;
	kp_add_meanwhile(test, kp_meanwhile_join);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister_action,
							&kp.second->kp), 0);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
	/* It was not there when the hit began. */
	KUNIT_EXPECT_EQ(test, kp.second->pre, 0);

	kp_clear_counts(kp.second);
	kp_add_meanwhile(test, kp_meanwhile_leave);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 2);
	kp_expect_counts(test, kp.second, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 3);
	KUNIT_EXPECT_EQ(test, kp.second->pre, 1);
}

static void kp_meanwhile_trace(void)
{
	/* The task has completed @asked, and is about to sleep. */
	while (task_is_running(kp.task) || READ_ONCE(kp.task->on_cpu))
		usleep_range(100, 200);
	kp.traced = stack_trace_save_tsk(kp.task, kp.trace, ARRAY_SIZE(kp.trace), 0);
	kp.error = kp.traced ? 0 : -ENOENT;
}

/* A task that sleeps in a fault of a copy has the probed address in its trace. */
static void kp_paging_trace(struct kunit *test)
{
	unsigned int i, post;

	for (post = 0; post < 2; post++) {
		kp.task = current;
		kp.probe = kp_paging_probe(test, KP_INSN(add), post);
		kp_add_meanwhile(test, kp_meanwhile_trace);
		for (i = 0; i < kp.traced; i++)
			if (kp.trace[i] == (unsigned long)kp.probe->kp.addr)
				break;
		/* The callers must follow. */
		KUNIT_EXPECT_GT_MSG(test, kp.traced, i + 2, "%pS in the trace:",
				    kp.probe->kp.addr);
		for (i = kp.traced > i + 2 ? kp.traced : 0; i < kp.traced; i++)
			kunit_info(test, "%u: %pS\n", i, (void *)kp.trace[i]);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probe->post, post);
		kp_unregister(test, kp.probe);
	}
}

static void kp_paging_close(void *unused)
{
	int i;

	if (!IS_ERR_OR_NULL(kp.file))
		__fput_sync(kp.file);
	for (i = 0; i < KP_PAGES; i++)
		if (kp.page[i])
			put_page(kp.page[i]);
}

static int kp_paging_init(struct kunit *test)
{
	int ret, i;

	memset(&kp, 0, sizeof(kp));
	ret = kunit_add_action_or_reset(test, kp_paging_close, NULL);
	if (ret)
		return ret;
	for (i = 0; i < KP_PAGES; i++) {
		kp.page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!kp.page[i])
			return -ENOMEM;
	}
	kp.file = anon_inode_getfile("kp_paging", &kp_paging_fops, NULL, O_RDWR);
	return PTR_ERR_OR_ZERO(kp.file);
}

static struct kunit_case kp_paging_cases[] = {
	KUNIT_CASE(kp_paging_load),
	KUNIT_CASE(kp_paging_store),
	KUNIT_CASE(kp_paging_add),
	KUNIT_CASE(kp_paging_move),
	KUNIT_CASE(kp_paging_asks),
	KUNIT_CASE(kp_paging_unregister),
	KUNIT_CASE(kp_paging_register_again),
	KUNIT_CASE(kp_paging_disable),
	KUNIT_CASE(kp_paging_reshape),
	KUNIT_CASE(kp_paging_trace),
	{}
};

struct kunit_suite kp_paging_suite = {
	.name = "kprobes_paging",
	.init = kp_paging_init,
	.test_cases = kp_paging_cases,
};
