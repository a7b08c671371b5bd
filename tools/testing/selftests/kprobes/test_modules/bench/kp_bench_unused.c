// SPDX-License-Identifier: GPL-2.0
/* Measures the cost of kprobes in a kernel that has never had a probe. */

#include <linux/kmod.h>
#include <linux/mman.h>
#include <asm/msr.h>
#include "kp_bench.h"

#define KP_PAGES	512
#define KP_FRAMES	16
#define KP_ROUNDS	100
#define KP_PROCESSES	20

/* Measure page faults in the kernel, on anonymous pages. */
static int kp_fault(struct seq_file *m)
{
	u64 start, least = U64_MAX;
	unsigned long addr;
	int i, err = 0;

	addr = vm_mmap(NULL, 0, KP_PAGES * PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (IS_ERR_VALUE(addr))
		return (int)addr;
	for (i = 0; i < KP_PAGES && !err; i++) {
		start = rdtsc();
		err = put_user(1L, (long __user *)(addr + i * PAGE_SIZE));
		least = min(least, rdtsc() - start);
	}
	vm_munmap(addr, KP_PAGES * PAGE_SIZE);
	seq_printf(m, "unused_fault %llu(1)\n", least);
	return err;
}

/* Measure a stack trace with @frames more frames. */
static noinline unsigned int kp_trace(unsigned int frames, u64 *least)
{
	unsigned long trace[4 * KP_FRAMES];
	unsigned int nr;
	u64 start;

	if (frames) {
		nr = kp_trace(frames - 1, least);
		barrier();
		return nr;
	}
	start = rdtsc();
	nr = stack_trace_save(trace, ARRAY_SIZE(trace), 0);
	*least = min(*least, rdtsc() - start);
	return nr;
}

struct kp_frames {
	u64 few, many;
	unsigned int nr_few, nr_many;
	struct completion done;
};

/* Measure in a kernel thread: its stack has only frames of C functions. */
static int kp_trace_thread(void *data)
{
	struct kp_frames *frames = data;
	int i;

	for (i = 0; i < KP_ROUNDS; i++) {
		frames->nr_few = kp_trace(0, &frames->few);
		frames->nr_many = kp_trace(KP_FRAMES, &frames->many);
	}
	complete(&frames->done);
	return 0;
}

static int kp_frame(struct seq_file *m)
{
	struct kp_frames frames = { .few = U64_MAX, .many = U64_MAX };
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

/* Measure a process from its start to its end. */
static int kp_process(struct seq_file *m)
{
	char path[] = "/bin/true";
	char *argv[2] = { path };
	u64 start, least = U64_MAX;
	int i;

	for (i = 0; i < KP_PROCESSES; i++) {
		start = rdtsc();
		if (call_usermodehelper(path, argv, NULL, UMH_WAIT_PROC))
			return -EIO;
		least = min(least, rdtsc() - start);
	}
	seq_printf(m, "unused_process %llu(0)\n", least);
	return 0;
}

int kp_bench_unused(struct seq_file *m)
{
	return kp_fault(m) ?: kp_frame(m) ?: kp_process(m);
}
