// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: int3s that belong to no probe
 */

#include "kp_faults.h"

static const long kp_good = KP_GOOD_VALUE;

static struct kp_probe *kp_int3_new(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_new_post(test, addr, true);

	kp_set_fault_handler(&probe->kp, kp_count_fault);
	return probe;
}

static struct {
	struct task_struct *task;
	int seen;
	int elsewhere;
	unsigned long ax;
} kp_int3;

static void *kp_foreign(int insn)
{
	return (void *)kp_foreign_int3 + kp_foreign_int3_insn[insn];
}

static int __kprobes kp_int3_notify(struct notifier_block *nb, unsigned long val, void *data)
{
	struct die_args *args = data;

	if (val != DIE_INT3 || user_mode(args->regs) || current != kp_int3.task)
		return NOTIFY_DONE;
	if (args->regs->ip != (unsigned long)kp_foreign(KP_FOREIGN_INT3) + 1) {
		kp_int3.elsewhere++;
		return NOTIFY_DONE;
	}
	kp_int3.seen++;
	kp_int3.ax = args->regs->ax;
	return NOTIFY_STOP;
}

static struct notifier_block kp_int3_notifier = {
	.notifier_call = kp_int3_notify,
	.priority = INT_MAX,
};

static void kp_int3_expect(struct kunit *test)
{
	memset(&kp_int3, 0, sizeof(kp_int3));
	kp_int3.task = current;
	kp_die_notifier_add(test, &kp_int3_notifier);
}

/* @seen: number of int3 so far; @ax: ax at the last one */
static void kp_int3_was(struct kunit *test, int seen, unsigned long ax)
{
	KUNIT_EXPECT_EQ(test, kp_int3.seen, seen);
	KUNIT_EXPECT_EQ(test, kp_int3.elsewhere, 0);
	KUNIT_EXPECT_EQ(test, kp_int3.ax, ax);
}

static long kp_run_int3(void)
{
	return kp_foreign_int3(100);
}

/*
 * An int3 without a probe must reach the die notifier, also if instructions around it are probed.
 */
static void kp_int3_unprobed(struct kunit *test)
{
	static const int around[] = { KP_FOREIGN_NOP, KP_FOREIGN_BEFORE, KP_FOREIGN_AFTER };
	struct kp_probe *probe;
	int i, n = 0;

	kp_int3_expect(test);
	KUNIT_EXPECT_EQ(test, kp_foreign_int3(5), 6);
	kp_int3_was(test, ++n, 7);
	for (i = 0; i < ARRAY_SIZE(around); i++) {
		probe = kp_int3_new(test, kp_foreign(around[i]));
		kp_faults_register(test, probe);
		KUNIT_EXPECT_EQ(test, kp_foreign_int3(5), 6);
		kp_int3_was(test, ++n, 7);
		kp_expect_counts(test, probe, 1, 1, 0);
	}
}

/* The die notifier must also get an int3 in a function that a handler calls. */
static void kp_int3_in_handlers(struct kunit *test)
{
	struct kp_probe *probe = kp_int3_new(test, kp_load_addr());
	typeof(probe->in_pre) *hooks[] = { &probe->in_pre, &probe->in_post, &probe->in_fault };
	long *results[] = { &probe->pre_result, &probe->post_result, &probe->fault_result };
	int i, n = KP_FAULT_HANDLERS ? 3 : 2;

	kp_int3_expect(test);
	kp_faults_register(test, probe);
	for (i = 0; i < n; i++) {
		*hooks[i] = kp_run_int3;
		KUNIT_EXPECT_EQ(test, kp_kernel_load(i < 2 ? &kp_good : KP_BAD),
				i < 2 ? KP_GOOD_VALUE : -EFAULT);
		KUNIT_EXPECT_EQ(test, *results[i], 101);
		kp_int3_was(test, i + 1, 102);
		*hooks[i] = NULL;
	}
	kp_expect_counts(test, probe, n, 2, n - 2);
}

/*
 * A handler calls a function with an int3 between two probed instructions. The die notifier must
 * get the int3, and the hits of the two probes must be missed.
 */
static void kp_int3_among_missed(struct kunit *test)
{
	struct kp_probe *probe = kp_int3_new(test, kp_load_addr());
	struct kp_probe *before = kp_int3_new(test, kp_foreign(KP_FOREIGN_BEFORE));
	struct kp_probe *after = kp_int3_new(test, kp_foreign(KP_FOREIGN_AFTER));

	kp_int3_expect(test);
	kp_faults_register(test, before);
	kp_faults_register(test, after);
	kp_faults_register(test, probe);
	probe->in_pre = kp_run_int3;
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	KUNIT_EXPECT_EQ(test, probe->pre_result, 101);
	kp_int3_was(test, 1, 102);
	KUNIT_EXPECT_EQ(test, before->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, after->kp.nmissed, 1);
	kp_expect_counts(test, probe, 1, 1, 0);
	kp_expect_counts(test, before, 0, 0, 0);
	kp_expect_counts(test, after, 0, 0, 0);
}

static struct kunit_case kp_int3_cases[] = {
	KUNIT_CASE(kp_int3_unprobed),
	KUNIT_CASE(kp_int3_in_handlers),
	KUNIT_CASE(kp_int3_among_missed),
	{}
};

KP_SUITE(kp_int3, "kprobes_foreign_int3");
