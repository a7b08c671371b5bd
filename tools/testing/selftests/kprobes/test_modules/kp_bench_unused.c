// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of kprobes in a kernel in which no probe has ever been registered.
 *
 * debugfs kp_bench/unused	a page fault, a frame of a stack trace, a process
 *
 * To be read before the other files, which register probes.
 */

#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/kmod.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#include <asm/msr.h>
#include "kp_bench.h"

#define KP_PAGES	512
#define KP_FRAMES	16
#define KP_ROUNDS	100
#define KP_PROCESSES	20

/* A fault of the kernel at an anonymous page of the reader. */
static int kp_fault(struct seq_file *m)
{
	u64 start, end, least = U64_MAX;
	unsigned long addr, page;
	int i, err = 0;

	addr = vm_mmap(NULL, 0, KP_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(addr))
		return (int)addr;
	for (i = 0; i < KP_PAGES && !err; i++) {
		page = addr + i * PAGE_SIZE;
		start = rdtsc();
		err = put_user(1L, (long __user *)page);
		end = rdtsc();
		least = min(least, end - start);
	}
	vm_munmap(addr, KP_PAGES * PAGE_SIZE);
	seq_printf(m, "unused_fault %llu(1)\n", least);
	return err;
}

/* Calls itself, so that there are more frames. */
static noinline unsigned int kp_trace(unsigned int frames, u64 *cycles)
{
	unsigned long trace[4 * KP_FRAMES];
	unsigned int nr;
	u64 start;

	if (frames) {
		nr = kp_trace(frames - 1, cycles);
		barrier();
		return nr;
	}
	start = rdtsc();
	nr = stack_trace_save(trace, ARRAY_SIZE(trace), 0);
	*cycles = rdtsc() - start;
	return nr;
}

static u64 kp_trace_least(unsigned int frames, unsigned int *nr)
{
	u64 one, least = U64_MAX;
	int i;

	for (i = 0; i < KP_ROUNDS; i++) {
		*nr = kp_trace(frames, &one);
		least = min(least, one);
	}
	return least;
}

struct kp_frames {
	u64 few, many;
	unsigned int nr_few, nr_many;
	struct completion done;
};

/* The stack of a thread has nothing on it but frames of C functions. */
static int kp_trace_thread(void *data)
{
	struct kp_frames *frames = data;

	frames->few = kp_trace_least(0, &frames->nr_few);
	frames->many = kp_trace_least(KP_FRAMES, &frames->nr_many);
	complete(&frames->done);
	return 0;
}

static int kp_frame(struct seq_file *m)
{
	struct kp_frames frames = {};
	struct task_struct *task;

	init_completion(&frames.done);
	task = kthread_run(kp_trace_thread, &frames, "kp_bench");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wait_for_completion(&frames.done);
	if (frames.nr_many != frames.nr_few + KP_FRAMES)
		return -EIO;
	seq_printf(m, "unused_frame %llu(0)\n", (frames.many - frames.few) / KP_FRAMES);
	return 0;
}

/* A process that is started, ends at once, and is waited for. */
static int kp_process(struct seq_file *m)
{
	char path[] = "/bin/true";
	char *argv[2] = { path };
	u64 start, least = U64_MAX;
	int i, err;

	for (i = 0; i < KP_PROCESSES; i++) {
		start = rdtsc();
		err = call_usermodehelper(path, argv, NULL, UMH_WAIT_PROC);
		least = min(least, rdtsc() - start);
		if (err)
			return -EIO;
	}
	seq_printf(m, "unused_process %llu(0)\n", least);
	return 0;
}

static int kp_bench_unused_show(struct seq_file *m, void *unused)
{
	guard(mutex)(&kp_bench_mutex);
	return kp_fault(m) ?: kp_frame(m) ?: kp_process(m);
}
DEFINE_SHOW_ATTRIBUTE(kp_bench_unused);

void kp_bench_create_unused(struct dentry *dir)
{
	debugfs_create_file("unused", 0400, dir, NULL, &kp_bench_unused_fops);
}
