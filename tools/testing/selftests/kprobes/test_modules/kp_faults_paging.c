// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: a probed instruction accesses user memory that is not there yet. While
 * the page comes in the task sleeps, and the probepoint may change or go.
 *
 * The memory is that of a file whose pages are ours, and so is the fault.
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
#include "kp_opt.h"

#define KP_PAGES	4

struct kp_paged {
	struct kprobe kp;
	int pre;
	int post;
	int asked;
};

static struct {
	struct page *page[KP_PAGES];
	struct file *file;
	unsigned long addr;
	/* Pages that came in, and what is to happen first, once. */
	int faults;
	void (*meanwhile)(void);
	/* That runs in a thread of its own, for a fault holds locks. */
	struct completion asked;
	struct completion done;
	struct kp_paged *probe;
	struct kp_paged *second;
	int error;
	/* The stack of the task that sleeps. */
	struct task_struct *task;
	unsigned long trace[64];
	unsigned int traced;
} kp;

static struct kp_paged *to_paged(struct kprobe *p)
{
	return container_of(p, struct kp_paged, kp);
}

NOKPROBE_SYMBOL(to_paged);

static int kp_paged_pre(struct kprobe *p, struct pt_regs *regs)
{
	to_paged(p)->pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_paged_pre);

static void kp_paged_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	to_paged(p)->post++;
}

NOKPROBE_SYMBOL(kp_paged_post);

static int kp_paged_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	if (trapnr == X86_TRAP_PF && regs->ip == (unsigned long)p->addr)
		to_paged(p)->asked++;
	return 0;
}

NOKPROBE_SYMBOL(kp_paged_fault);

static vm_fault_t kp_paging_fault(struct vm_fault *vmf)
{
	if (vmf->pgoff >= KP_PAGES)
		return VM_FAULT_SIGBUS;
	kp.faults++;
	if (kp.meanwhile) {
		complete(&kp.asked);
		wait_for_completion(&kp.done);
	} else {
		/* Others get their turn. */
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

/* Mapped anew: no page is there. */
static void kp_page_out(struct kunit *test)
{
	if (kp.addr)
		KUNIT_ASSERT_EQ(test, vm_munmap(kp.addr, KP_PAGES * PAGE_SIZE), 0);
	kp.addr = kunit_vm_mmap(test, kp.file, 0, KP_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
				MAP_SHARED, 0);
	KUNIT_ASSERT_FALSE(test, !kp.addr || IS_ERR_VALUE(kp.addr));
	kp.faults = 0;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_unregister, unregister_kprobe, struct kprobe *);

static struct kp_paged *kp_new(struct kunit *test, void *function, u32 insn, bool post)
{
	struct kp_paged *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->kp.addr = function + insn;
	probe->kp.pre_handler = kp_paged_pre;
	if (post)
		probe->kp.post_handler = kp_paged_post;
	return probe;
}

static struct kp_paged *kp_probe(struct kunit *test, void *function, u32 insn, bool post)
{
	struct kp_paged *probe = kp_new(test, function, insn, post);

	KUNIT_ASSERT_EQ(test, register_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, &probe->kp), 0);
	if (kp_faults_opt)
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	return probe;
}

/* An access that had to page in once, or more often, is still one hit. */
static void kp_is_one_hit(struct kunit *test, struct kp_paged *probe, bool post, int faults)
{
	KUNIT_EXPECT_EQ(test, kp.faults, faults);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	KUNIT_EXPECT_EQ(test, probe->post, post);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	kunit_release_action(test, kp_unregister, &probe->kp);
}

static void kp_paging_load(struct kunit *test)
{
	struct kp_paged *probe;
	int post;

	for (post = 0; post < 2; post++) {
		kp_page_out(test);
		*kp_word(8) = 0x1234567;
		probe = kp_probe(test, kp_user_load, kp_user_load_insn, post);
		KUNIT_EXPECT_EQ(test, kp_user_load(kp_user(8)), 0x1234567);
		kp_is_one_hit(test, probe, post, 1);
	}
	/* Where there is nothing, the fix-up is reached. */
	probe = kp_probe(test, kp_user_load, kp_user_load_insn, true);
	KUNIT_EXPECT_EQ(test, kp_user_load(NULL), -EFAULT);
	kp_is_one_hit(test, probe, false, 1);
}

static void kp_paging_store(struct kunit *test)
{
	struct kp_paged *probe;
	int post;

	for (post = 0; post < 2; post++) {
		kp_page_out(test);
		*kp_word(PAGE_SIZE) = 0;
		probe = kp_probe(test, kp_user_store, kp_user_store_insn, post);
		KUNIT_EXPECT_EQ(test, kp_user_store(kp_user(PAGE_SIZE), 0x7654321 + post), 0);
		KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE), 0x7654321 + post);
		kp_is_one_hit(test, probe, post, 1);
	}
}

static void kp_paging_add(struct kunit *test)
{
	struct kp_paged *probe;
	int post;

	for (post = 0; post < 2; post++) {
		kp_page_out(test);
		*kp_word(64) = 1000;
		probe = kp_probe(test, kp_user_add, kp_user_add_insn, post);
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(64), 7), 1000);
		KUNIT_EXPECT_EQ(test, *kp_word(64), 1007);
		kp_is_one_hit(test, probe, post, 1);
	}
}

/* One instruction that pages in again and again. */
static void kp_paging_move(struct kunit *test)
{
	unsigned int bytes = (KP_PAGES - 1) * PAGE_SIZE + 100;
	u8 *from = kunit_kmalloc(test, bytes, GFP_KERNEL);
	struct kp_paged *probe;
	unsigned int i, wrong;
	int post;

	KUNIT_ASSERT_NOT_NULL(test, from);
	for (post = 0; post < 2; post++) {
		for (i = 0; i < bytes; i++)
			from[i] = i * 7 + i / 256 + post;
		kp_page_out(test);
		probe = kp_probe(test, kp_user_move, kp_user_move_insn, post);
		KUNIT_EXPECT_EQ(test, kp_user_move(kp_user(10), from, bytes), 0);
		for (i = 0, wrong = 0; i < bytes; i++)
			wrong += *(u8 *)kp_word(10 + i) != from[i];
		KUNIT_EXPECT_EQ(test, wrong, 0);
		kp_is_one_hit(test, probe, post, KP_PAGES);
	}
	/* Over the end: what was copied before counts, and the fix-up is reached. */
	kp_page_out(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(kp.addr + PAGE_SIZE, PAGE_SIZE), 0);
	probe = kp_probe(test, kp_user_move, kp_user_move_insn, true);
	KUNIT_EXPECT_EQ(test, kp_user_move(kp_user(PAGE_SIZE - 5), from, 20), 15);
	kp_is_one_hit(test, probe, false, 1);
}

/* A fault_handler is asked before the page comes in, each time. */
static void kp_paging_asks(struct kunit *test)
{
	struct kp_paged *probe = kp_new(test, kp_user_move, kp_user_move_insn, true);
	long from[2] = { 1, 2 };

	kp_page_out(test);
	probe->kp.fault_handler = kp_paged_fault;
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, &probe->kp), 0);
	KUNIT_EXPECT_EQ(test, 0,
			kp_user_move(kp_user(PAGE_SIZE - sizeof(long)), from, sizeof(from)));
	KUNIT_EXPECT_EQ(test, probe->asked, 2);
	KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE - sizeof(long)), 1);
	KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE), 2);
	kp_is_one_hit(test, probe, true, 2);
}

/*
 * What happens to the probepoint while the page comes in.
 */

static int kp_meanwhile(void *unused)
{
	wait_for_completion(&kp.asked);
	if (kp.meanwhile)
		kp.meanwhile();
	kp.meanwhile = NULL;
	/* All that may be freed is, and what comes next may be in its place. */
	rcu_barrier();
	synchronize_rcu();
	complete(&kp.done);
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

static void kp_meanwhile_unregister(void)
{
	unregister_kprobe(&kp.probe->kp);
}

static void kp_meanwhile_again(void)
{
	unregister_kprobe(&kp.probe->kp);
	kp.error = register_kprobe(&kp.probe->kp);
}

static void kp_meanwhile_disable(void)
{
	kp.error = disable_kprobe(&kp.probe->kp);
}

static void kp_meanwhile_join(void)
{
	kp.error = register_kprobe(&kp.second->kp);
}

static void kp_meanwhile_trace(void)
{
	kp.error = -ENOENT;
	/* It has asked, and is about to sleep. */
	while (task_is_running(kp.task) || READ_ONCE(kp.task->on_cpu))
		usleep_range(100, 200);
	kp.traced = stack_trace_save_tsk(kp.task, kp.trace, ARRAY_SIZE(kp.trace), 0);
	if (kp.traced)
		kp.error = 0;
}

static void kp_meanwhile_leave(void)
{
	unregister_kprobe(&kp.second->kp);
}

/* Adds 7, and the page comes in when @meanwhile is over. */
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
	/* If no page came in, it still waits. */
	complete(&kp.asked);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, *kp_word(128), 1007);
	KUNIT_EXPECT_EQ(test, kp.error, 0);
	KUNIT_EXPECT_EQ(test, kp.faults, 1);
}

static void kp_paging_unregister(struct kunit *test)
{
	int post;

	for (post = 0; post < 2; post++) {
		kp.probe = kp_probe(test, kp_user_add, kp_user_add_insn, post);
		kp_add_meanwhile(test, kp_meanwhile_unregister);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probe->post, 0);
		/* Unregistering once more is harmless, and it is gone. */
		kunit_release_action(test, kp_unregister, &kp.probe->kp);
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
	}
}

/* The instruction that is run again may be a hit of the new registration, or of none. */
static void kp_paging_register_again(struct kunit *test)
{
	int post;

	for (post = 0; post < 2; post++) {
		kp.probe = kp_probe(test, kp_user_add, kp_user_add_insn, post);
		kp_add_meanwhile(test, kp_meanwhile_again);
		KUNIT_EXPECT_LE(test, kp.probe->pre, 2);
		KUNIT_EXPECT_LE(test, kp.probe->post, post);
		kp.probe->pre = 0;
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		kunit_release_action(test, kp_unregister, &kp.probe->kp);
	}
}

static void kp_paging_disable(struct kunit *test)
{
	int post;

	for (post = 0; post < 2; post++) {
		kp.probe = kp_probe(test, kp_user_add, kp_user_add_insn, post);
		kp_add_meanwhile(test, kp_meanwhile_disable);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probe->post, 0);
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		kunit_release_action(test, kp_unregister, &kp.probe->kp);
	}
}

/* A post_handler joins while the instruction is under way, and leaves again. */
static void kp_paging_reshape(struct kunit *test)
{
	kp.probe = kp_probe(test, kp_user_add, kp_user_add_insn, false);
	kp.second = kp_new(test, kp_user_add, kp_user_add_insn, true);
	kp_add_meanwhile(test, kp_meanwhile_join);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, &kp.second->kp), 0);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
	/* It was not there when the hit began. */
	KUNIT_EXPECT_EQ(test, kp.second->pre, 0);

	kp.second->pre = 0;
	kp.second->post = 0;
	kp_add_meanwhile(test, kp_meanwhile_leave);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 2);
	KUNIT_EXPECT_EQ(test, kp.second->pre, 1);
	KUNIT_EXPECT_EQ(test, kp.second->post, 0);
	KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 3);
	KUNIT_EXPECT_EQ(test, kp.second->pre, 1);
}

/* A task that sleeps over a fault in a copy is in the probed function. */
static void kp_paging_trace(struct kunit *test)
{
	unsigned int i, post;

	for (post = 0; post < 2; post++) {
		kp.task = current;
		kp.probe = kp_probe(test, kp_user_add, kp_user_add_insn, post);
		kp_add_meanwhile(test, kp_meanwhile_trace);
		for (i = 0; i < kp.traced; i++)
			if (kp.trace[i] == (unsigned long)kp.probe->kp.addr)
				break;
		KUNIT_EXPECT_LT_MSG(test, i, kp.traced, "no %pS in the trace", kp.probe->kp.addr);
		if (i == kp.traced) {
			for (i = 0; i < kp.traced; i++)
				kunit_info(test, "%u: %pS\n", i, (void *)kp.trace[i]);
		} else {
			KUNIT_EXPECT_GT(test, kp.traced, i + 2);
		}
		KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probe->post, post);
		kunit_release_action(test, kp_unregister, &kp.probe->kp);
	}
}

static void kp_paging_close(void *unused)
{
	int i;

	if (kp.file)
		__fput_sync(kp.file);
	kp.file = NULL;
	for (i = 0; i < KP_PAGES; i++) {
		if (kp.page[i])
			put_page(kp.page[i]);
		kp.page[i] = NULL;
	}
}

static int kp_paging_init(struct kunit *test)
{
	int i;

	memset(&kp, 0, sizeof(kp));
	for (i = 0; i < KP_PAGES; i++) {
		kp.page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!kp.page[i]) {
			kp_paging_close(NULL);
			return -ENOMEM;
		}
	}
	kp.file = anon_inode_getfile("kp_paging", &kp_paging_fops, NULL, O_RDWR);
	if (IS_ERR(kp.file)) {
		int ret = PTR_ERR(kp.file);

		kp.file = NULL;
		kp_paging_close(NULL);
		return ret;
	}
	return kunit_add_action_or_reset(test, kp_paging_close, NULL);
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
