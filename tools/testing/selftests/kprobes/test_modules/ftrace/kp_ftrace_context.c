// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the suite kprobes_ftrace: handlers where RCU does not watch, and what stack traces from
 * handlers show.
 */

#include <linux/context_tracking.h>
#include "kp_ftrace.h"
#include "kp_symbol.h"

/* Handlers may use RCU even where RCU does not watch the probed function. */
void kp_ft_rcu_idle(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ft_target);
	bool idle;
	int i;

	if (kp_ft_crowd)
		kunit_skip(test, "ftrace's list is for where RCU watches");
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 3; i++) {
		local_irq_disable();
		ct_idle_enter();
		idle = !rcu_is_watching();
		kp_ft_target(1);
		idle &= !rcu_is_watching();
		ct_idle_exit();
		local_irq_enable();
		KUNIT_EXPECT_TRUE(test, idle);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_TRUE(test, probe->rcu_watching);
	}
}

static struct kp_trace kp_trace[3];

static unsigned int (*kp_ft_save_regs)(struct pt_regs *regs, unsigned long *store,
				       unsigned int size, unsigned int skip);

static __nocfi int kp_ft_trace_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_save(&kp_trace[0]);
	kp_trace[1].nr = kp_ft_save_regs(regs, kp_trace[1].entry, KP_DEPTH, 0);
	return 0;
}

static void kp_ft_trace_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_save(&kp_trace[2]);
}

/* Return: index from @from on of an entry in the first @size bytes of @func, or -1. */
static int kp_ft_find(struct kunit *test, int trace, int from, void *func, unsigned long size)
{
	unsigned long start = (unsigned long)func;
	int i;

	for (i = from; i < kp_trace[trace].nr; i++) {
		if (kp_trace[trace].entry[i] - start < size)
			return i;
	}
	KUNIT_FAIL(test, "trace %d does not show %ps", trace, func);
	kp_show(test, "trace", &kp_trace[trace]);
	return -1;
}

void kp_ft_stacks(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ft_target);
	int trace, at;

	kp_ft_save_regs = kp_function(test, "stack_trace_save_regs");
	probe->kp.pre_handler = kp_ft_trace_pre;
	probe->kp.post_handler = kp_ft_trace_post;
	memset(kp_trace, 0, sizeof(kp_trace));
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 2);
	for (trace = 0; trace < ARRAY_SIZE(kp_trace); trace++) {
		at = kp_ft_find(test, trace, 0, kp_ft_target, 16);
		if (at < 0)
			continue;
		KUNIT_EXPECT_EQ(test, kp_ft_find(test, trace, at, kp_ft_caller, 32), at + 1);
		KUNIT_EXPECT_EQ(test, kp_ft_find(test, trace, at + 2, kp_ft_stacks, 4096), at + 2);
	}
	/* A trace from registers begins with the ip, one byte past the probed address. */
	KUNIT_EXPECT_EQ(test, kp_trace[1].entry[0], (unsigned long)probe->kp.addr + 1);
}
