// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: a probed instruction accesses user memory that is not mapped yet. While the task
 * sleeps in the page fault, the probepoint may change or be freed. In each case the instruction
 * must be executed once the fault has been handled.
 *
 * The suite handles the page faults: the memory is mapped from a file of its own.
 */

#include <asm/trapnr.h>
#include <linux/sched/mm.h>
#include "kp_faults.h"
#include "kp_user_pages.h"

#define KP_INSN(access)	((void *)kp_user_##access + kp_user_##access##_insn)

static struct {
	struct kp_probe *probe, *second;
	/* the task that sleeps in the page fault, and its stack then */
	struct task_struct *task;
	struct kp_trace trace;
} kp;

static void __user *kp_user(unsigned long offset)
{
	return (void __user *)(kp_mem.addr + offset);
}

static long *kp_word(unsigned long offset)
{
	return page_address(kp_mem.page[offset / PAGE_SIZE]) + offset % PAGE_SIZE;
}

static struct kp_probe *kp_paging_probe(struct kunit *test, void *insn, bool post)
{
	struct kp_probe *probe = kp_new_post(test, insn, post);

	kp_faults_register(test, probe);
	return probe;
}

/* An access is one hit, however many page faults it had. */
static void kp_is_one_hit(struct kunit *test, struct kp_probe *probe, bool post, int faults)
{
	KUNIT_EXPECT_EQ(test, kp_mem.faults, faults);
	kp_expect_counts(test, probe, 1, post, probe->fault);
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
		kp_mem_map(test);
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
	/* Nothing is mapped at NULL: execution must resume at the fix-up. */
	probe = kp_paging_probe(test, KP_INSN(load), true);
	KUNIT_EXPECT_EQ(test, kp_user_load(NULL), -EFAULT);
	kp_is_one_hit(test, probe, false, 1);
}

static long kp_store(void __user *to)
{
	return kp_user_store(to, 0x7654321);
}

KP_CASE(kp_paging_store, kp_paging_access(test, KP_INSN(store), kp_store, 0, 0, 0x7654321))

static long kp_add(void __user *to)
{
	return kp_user_add(to, 7);
}

KP_CASE(kp_paging_add, kp_paging_access(test, KP_INSN(add), kp_add, 1000, 1000, 1007))

/* One instruction with a page fault for each page */
static void kp_paging_move(struct kunit *test)
{
	unsigned int bytes = (KP_PAGES - 1) * PAGE_SIZE + 100;
	u8 *from = kp_zalloc(test, bytes);
	struct kp_probe *probe;
	unsigned int i, wrong;
	int post;

	for (post = 0; post < 2; post++) {
		for (i = 0; i < bytes; i++)
			from[i] = i * 7 + i / 256 + post;
		kp_mem_map(test);
		probe = kp_paging_probe(test, KP_INSN(move), post);
		KUNIT_EXPECT_EQ(test, kp_user_move(kp_user(10), from, bytes), 0);
		for (i = 0, wrong = 0; i < bytes; i++)
			wrong += *(u8 *)kp_word(10 + i) != from[i];
		KUNIT_EXPECT_EQ(test, wrong, 0);
		kp_is_one_hit(test, probe, post, KP_PAGES);
	}
	/*
	 * The move crosses the end of the mapping: it must copy the bytes up to there, and then
	 * execution must resume at the fix-up.
	 */
	kp_mem_map(test);
	KUNIT_ASSERT_EQ(test, vm_munmap(kp_mem.addr + PAGE_SIZE, PAGE_SIZE), 0);
	probe = kp_paging_probe(test, KP_INSN(move), true);
	KUNIT_EXPECT_EQ(test, kp_user_move(kp_user(PAGE_SIZE - 5), from, 20), 15);
	kp_is_one_hit(test, probe, false, 1);
}

/* An instruction faults on two pages. The fault_handler must be called for each of them. */
static void kp_paging_asks(struct kunit *test)
{
	struct kp_probe *probe = kp_new_post(test, KP_INSN(move), true);
	long from[2] = { 1, 2 };

	kp_mem_map(test);
	kp_set_fault_handler(&probe->kp, kp_count_fault);
	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, 0,
			kp_user_move(kp_user(PAGE_SIZE - sizeof(long)), from, sizeof(from)));
	KUNIT_EXPECT_EQ(test, probe->fault, KP_FAULT_HANDLERS ? 2 : 0);
	if (KP_FAULT_HANDLERS) {
		KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
		KUNIT_EXPECT_EQ(test, probe->ip, (unsigned long)probe->kp.addr);
	}
	KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE - sizeof(long)), 1);
	KUNIT_EXPECT_EQ(test, *kp_word(PAGE_SIZE), 2);
	kp_is_one_hit(test, probe, true, 2);
}

/* Changes of the probepoint during the page fault */

/* Add 7 to 1000. While the task waits in the page fault, another task calls @meanwhile. */
static void kp_add_meanwhile(struct kunit *test, void (*meanwhile)(void))
{
	struct task_struct *task = kp_mem_begin(test, meanwhile);

	*kp_word(128) = 1000;
	KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 7), 1000);
	kp_mem_end(test, task);
	KUNIT_EXPECT_EQ(test, *kp_word(128), 1007);
}

/* Probes that are registered during the fault: one of them gets the slot that was freed. */
static struct kprobe kp_others[5];

/* After @meanwhile, the probe must not be hit any more, nor its post_handler called. */
static void kp_paging_disappears(struct kunit *test, void (*meanwhile)(void))
{
	int post, i;

	for (post = 0; post < 2; post++) {
		kp.probe = kp_paging_probe(test, KP_INSN(add), post);
		kp_add_meanwhile(test, meanwhile);
		KUNIT_EXPECT_EQ(test, kp_user_add(kp_user(128), 1), 1007);
		kp_expect_counts(test, kp.probe, 1, 0, 0);
		/* This is harmless if @meanwhile has unregistered the probe. */
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
	for (i = 0; i < ARRAY_SIZE(kp_others) && !kp_mem.error; i++)
		kp_mem.error = register_kprobe(&kp_others[i]);
}

KP_CASE(kp_paging_unregister, kp_paging_disappears(test, kp_meanwhile_unregister))

static void kp_meanwhile_disable(void)
{
	kp_mem.error = disable_kprobe(&kp.probe->kp);
}

KP_CASE(kp_paging_disable, kp_paging_disappears(test, kp_meanwhile_disable))

static void kp_meanwhile_again(void)
{
	unregister_kprobe(&kp.probe->kp);
	kp_mem.error = register_kprobe(&kp.probe->kp);
}

/* After the fault the instruction is executed again, and may hit the new registration. */
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
	kp_mem.error = register_kprobe(&kp.second->kp);
}

static void kp_meanwhile_leave(void)
{
	unregister_kprobe(&kp.second->kp);
}

/* Register a probe with a post_handler during one access, and unregister it during the next. */
static void kp_paging_reshape(struct kunit *test)
{
	kp.probe = kp_paging_probe(test, KP_INSN(add), false);
	kp.second = kp_new_post(test, KP_INSN(add), true);
	kp_add_meanwhile(test, kp_meanwhile_join);
	kp_at_end(test, kp_kprobe_gone, &kp.second->kp);
	KUNIT_EXPECT_EQ(test, kp.probe->pre, 1);
	/* The second probe was registered after the hit had begun. */
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
	/* The task has completed kp_mem.asked, and is about to sleep: wait until it sleeps. */
	while (task_is_running(kp.task) || READ_ONCE(kp.task->on_cpu))
		usleep_range(100, 200);
	kp.trace.nr = stack_trace_save_tsk(kp.task, kp.trace.entry, KP_DEPTH, 0);
	kp_mem.error = kp.trace.nr ? 0 : -ENOENT;
}

/* The trace of a task that sleeps in a fault of a copy must have the probed address. */
static void kp_paging_trace(struct kunit *test)
{
	unsigned int i, post;

	for (post = 0; post < 2; post++) {
		kp.task = current;
		kp.probe = kp_paging_probe(test, KP_INSN(add), post);
		kp_add_meanwhile(test, kp_meanwhile_trace);
		i = kp_trace_find(&kp.trace, 0, kp.probe->kp.addr, 1);
		/* The callers must follow. */
		KUNIT_EXPECT_GT_MSG(test, kp.trace.nr, i + 2, "%pS in the trace:",
				    kp.probe->kp.addr);
		if (kp.trace.nr <= i + 2)
			kp_show(test, "sleeps", &kp.trace);
		kp_expect_counts(test, kp.probe, 1, post, 0);
		kp_unregister(test, kp.probe);
	}
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

KP_SUITE(kp_paging, "kprobes_paging", .init = kp_mem_init);
