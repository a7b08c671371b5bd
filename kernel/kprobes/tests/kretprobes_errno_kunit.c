// SPDX-License-Identifier: GPL-2.0
/* Test that registrations of return probes fail with the documented errno */

#include "kretprobes_kunit.h"
#include "kp_cases_batch.h"
#include "kp_cases_errno.h"

/* A task enters __switch_to(), but another task leaves it: a return probe must be refused there. */
static void kp_ret_errno_switches(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kprobe kp = { .symbol_name = "__switch_to" };

	kp_expect_refused(test, kp_new_named(test, "__switch_to", 0), -EINVAL);

	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	unregister_kprobe(&kp);
	kp_expect_refused(test, kp_new(test, kp.addr), -EINVAL);
#else
	kunit_skip(test, "not known which these are");
#endif
}

static void kp_ret_errno_data_size(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ret_target);

	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE + 1;
	kp_batch_expect_bad(test, probe, -E2BIG);
	kp_expect_refused(test, probe, -E2BIG);
	probe->rp.data_size = SIZE_MAX;
	kp_expect_refused(test, probe, -E2BIG);
	probe->rp.data_size = KRETPROBE_MAX_DATA_SIZE;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, kp_ret_target, 1);
}

static void kp_ret_errno_switch(struct kunit *test)
{
#ifdef _LINUX_KPROBE_REASON_H
	struct kp_batch *batch = kp_batch_new(test);

	KUNIT_EXPECT_EQ(test, disable_kretprobes(batch->own, KP_BATCH), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kretprobes(batch->own, KP_BATCH), -EINVAL);
	kp_batch_register(test, batch);
	KUNIT_EXPECT_EQ(test, disable_kretprobes(batch->own, KP_BATCH), 0);
	kp_batch_expect_call(test, batch, 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobes(batch->own, KP_BATCH), 0);
	kp_batch_expect_call(test, batch, 1);
#else
	kunit_skip(test, "the base kernel has no batches of this kind");
#endif
}

static struct kunit_case kp_ret_errno_cases[] = {
	KP_CASES_ERRNO,
	KP_CASES_AT_ENTRY,
	KP_CASES_BATCH,
	KUNIT_CASE(kp_ret_errno_switch),
	KUNIT_CASE(kp_ret_errno_switches),
	KUNIT_CASE(kp_ret_errno_data_size),
	{}
};

KP_SUITE(kp_ret_errno, "kretprobes_errno");
