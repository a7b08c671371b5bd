/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_USER_PAGES_H
#define KP_USER_PAGES_H

/*
 * User memory for tests of page faults; one file of a test module includes this. The memory is
 * mapped from a file that the module itself implements, so the module handles the page faults.
 * During a fault the task sleeps, and a thread calls kp_mem.meanwhile(). The handler of the fault
 * cannot call that itself, since it runs with locks held.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/mman.h>
#include "kp_test.h"

#define KP_PAGES	4

static struct {
	struct page *page[KP_PAGES];
	struct file *file;
	unsigned long addr;
	/* page faults since kp_mem_map() */
	int faults;
	/* called once, during the next fault */
	void (*meanwhile)(void);
	int error;
	struct completion asked, done;
} kp_mem;

static vm_fault_t kp_mem_fault(struct vm_fault *vmf)
{
	if (vmf->pgoff >= KP_PAGES)
		return VM_FAULT_SIGBUS;
	kp_mem.faults++;
	if (kp_mem.meanwhile) {
		complete(&kp_mem.asked);
		wait_for_completion(&kp_mem.done);
	} else {
		/* Sleep in each fault, as if the page were read from a disk. */
		usleep_range(100, 200);
	}
	vmf->page = kp_mem.page[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct kp_mem_vm_ops = { .fault = kp_mem_fault };

static int kp_mem_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = &kp_mem_vm_ops;
	return 0;
}

static const struct file_operations kp_mem_fops = { .owner = THIS_MODULE, .mmap = kp_mem_mmap };

static void kp_mem_close(void *unused)
{
	int i;

	if (!IS_ERR_OR_NULL(kp_mem.file))
		__fput_sync(kp_mem.file);
	for (i = 0; i < KP_PAGES; i++)
		if (kp_mem.page[i])
			put_page(kp_mem.page[i]);
}

static int kp_mem_init(struct kunit *test)
{
	int i, ret;

	memset(&kp_mem, 0, sizeof(kp_mem));
	ret = kunit_add_action_or_reset(test, kp_mem_close, NULL);
	if (ret)
		return ret;
	for (i = 0; i < KP_PAGES; i++) {
		kp_mem.page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!kp_mem.page[i])
			return -ENOMEM;
	}
	kp_mem.file = anon_inode_getfile("kp_mem", &kp_mem_fops, NULL, O_RDWR);
	return PTR_ERR_OR_ZERO(kp_mem.file);
}

/* Map the memory, again if it was mapped before. The first access to each page then faults. */
static void kp_mem_map(struct kunit *test)
{
	if (kp_mem.addr)
		KUNIT_ASSERT_EQ(test, vm_munmap(kp_mem.addr, KP_PAGES * PAGE_SIZE), 0);
	kp_mem.addr = kunit_vm_mmap(test, kp_mem.file, 0, KP_PAGES * PAGE_SIZE,
				    PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	KUNIT_ASSERT_FALSE(test, !kp_mem.addr || IS_ERR_VALUE(kp_mem.addr));
	kp_mem.faults = 0;
}

static int kp_mem_thread(void *unused)
{
	wait_for_completion(&kp_mem.asked);
	if (kp_mem.meanwhile)
		kp_mem.meanwhile();
	kp_mem.meanwhile = NULL;
	/* Let deferred frees of slots be done while the task is still in the page fault. */
	rcu_barrier();
	synchronize_rcu_tasks();
	synchronize_rcu();
	complete(&kp_mem.done);
	while (!kthread_should_stop())
		usleep_range(100, 200);
	return 0;
}

/* Call this before an access whose page fault is to last until @meanwhile has returned. */
static struct task_struct *kp_mem_begin(struct kunit *test, void (*meanwhile)(void))
{
	struct task_struct *task;

	kp_mem_map(test);
	kp_mem.error = 0;
	kp_mem.meanwhile = meanwhile;
	init_completion(&kp_mem.asked);
	init_completion(&kp_mem.done);
	task = kthread_run(kp_mem_thread, NULL, "kp_meanwhile");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	return task;
}

/*
 * Call this after kp_mem_begin() and the access. The access must have caused one page fault, and
 * the function that was passed to kp_mem_begin() must have found no error.
 */
static void kp_mem_end(struct kunit *test, struct task_struct *task)
{
	/* If there was no page fault, the thread still waits for kp_mem.asked. */
	complete(&kp_mem.asked);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, kp_mem.error, 0);
	KUNIT_EXPECT_EQ(test, kp_mem.faults, 1);
}

#endif
