// SPDX-License-Identifier: GPL-2.0
/* register_kprobes() and unregister_kprobes() */

#include <linux/module.h>
#include "kprobes_kunit.h"

#define KP_BATCH 4

static struct kprobe **kp_batch_new(struct kunit *test, void *addr)
{
	struct kprobe **kps = kunit_kcalloc(test, KP_BATCH, sizeof(*kps), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, kps);
	for (i = 0; i < KP_BATCH; i++)
		kps[i] = &kp_new(test, addr)->kp;
	return kps;
}

static void kp_batch_unregister(void *kps)
{
	unregister_kprobes(kps, KP_BATCH);
}

/* Registered until the action is released or the case ends */
static void kp_batch_register(struct kunit *test, struct kprobe **kps)
{
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_BATCH), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_batch_unregister, kps), 0);
	kp_settle(test, kps[0]);
}

static void kp_batch_expect_hits(struct kunit *test, struct kprobe **kps, unsigned int hits)
{
	int i;

	for (i = 0; i < KP_BATCH; i++)
		KUNIT_EXPECT_EQ_MSG(test, to_kp_probe(kps[i])->pre, hits, "probe %d", i);
}

static void kp_batch_empty(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);

	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, INT_MIN), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_batch_expect_hits(test, kps, 0);

	/* No errno to check: nothing may happen. */
	kp_batch_register(test, kps);
	unregister_kprobes(NULL, 0);
	unregister_kprobes(kps, 0);
	unregister_kprobes(kps, -1);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_batch_expect_hits(test, kps, 1);
}

static void kp_batch_one_address(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);
	struct kp_bytes text;

	kp_bytes_save(test, &text, kp_target);
	kp_batch_register(test, kps);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_batch_expect_hits(test, kps, 1);
	kunit_release_action(test, kp_batch_unregister, kps);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_batch_expect_hits(test, kps, 1);
	kp_bytes_expect_same(test, &text);
}

static void kp_batch_many_addresses(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);

	kps[1]->addr = (void *)kp_target_other;
	kps[2]->addr = NULL;
	kps[2]->symbol_name = "kp_target_calls";
	kps[3]->flags = KPROBE_FLAG_DISABLED;
	kp_batch_register(test, kps);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[0])->pre, 1);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[1])->pre, 0);
	KUNIT_EXPECT_EQ(test, kp_target_other(1), 2);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[1])->pre, 1);
	KUNIT_EXPECT_EQ(test, kp_target_calls(1), 2);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[2])->pre, 1);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[3])->pre, 0);
	KUNIT_EXPECT_EQ(test, kp_enable(test, kps[3]), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[3])->pre, 1);
}

/* @bad fails with @error at any index, and no other member stays registered. */
static void kp_batch_expect_refused(struct kunit *test, struct kprobe *bad, int error)
{
	struct kprobe **kps;
	struct kp_bytes text;
	const struct kprobe original = *bad;
	int at, i, ret;

	kp_bytes_save(test, &text, kp_target);
	for (at = 0; at < KP_BATCH; at++) {
		kps = kp_batch_new(test, kp_target);
		*bad = original;
		kps[at] = bad;
		ret = register_kprobes(kps, KP_BATCH);
		KUNIT_EXPECT_EQ_MSG(test, ret, error, "bad member at %d", at);
		if (!ret)
			unregister_kprobes(kps, KP_BATCH);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		kp_batch_expect_hits(test, kps, 0);
		kp_bytes_expect_same(test, &text);
		for (i = 0; i < KP_BATCH; i++)
			KUNIT_EXPECT_EQ_MSG(test, enable_kprobe(kps[i]), -EINVAL,
					    "probe %d is left", i);
	}
}

static void kp_batch_failing_member(struct kunit *test)
{
	struct kp_probe *bad = kp_new(test, NULL);

	kp_batch_expect_refused(test, &bad->kp, -EINVAL);

	bad->kp.symbol_name = "kp_no_such_function";
	kp_batch_expect_refused(test, &bad->kp, -ENOENT);

	bad = kp_new(test, kp_target_nokprobe);
	kp_batch_expect_refused(test, &bad->kp, -EINVAL);
#ifdef CONFIG_X86
	bad = kp_new(test, kp_x86_sum_addr(KP_SUM_MOVABS) + 1);
	kp_batch_expect_refused(test, &bad->kp, -EILSEQ);
#endif
}

static void kp_batch_same_twice(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);
	struct kp_bytes text;
	int ret;

	kp_bytes_save(test, &text, kp_target);
	kps[3] = kps[1];
	ret = register_kprobes(kps, KP_BATCH);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	if (!ret)
		unregister_kprobes(kps, KP_BATCH);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_batch_expect_hits(test, kps, 0);
	kp_bytes_expect_same(test, &text);
}

static void kp_batch_registered_member(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);
	struct kp_probe *other = to_kp_probe(kps[2]);
	int ret;

	KUNIT_ASSERT_EQ(test, kp_register(test, other), 0);
	ret = register_kprobes(kps, KP_BATCH);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[0])->pre, 0);
	KUNIT_EXPECT_EQ(test, to_kp_probe(kps[3])->pre, 0);
}

static void kp_batch_again(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);
	struct kprobe *good = kps[1];
	int i;

	/* After a failure */
	kps[1] = &kp_new(test, kp_target_nokprobe)->kp;
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, KP_BATCH), -EINVAL);
	kps[1] = good;
	/* After success, with the structs as unregistration has left them */
	for (i = 1; i <= 3; i++) {
		kp_batch_register(test, kps);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		kp_batch_expect_hits(test, kps, i);
		kunit_release_action(test, kp_batch_unregister, kps);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		kp_batch_expect_hits(test, kps, i);
	}
}

static void kp_batch_unregister_unregistered(struct kunit *test)
{
	struct kprobe **kps = kp_batch_new(test, kp_target);
	struct kp_probe *bystander = kp_new(test, kp_target);

	KUNIT_ASSERT_EQ(test, kp_register(test, bystander), 0);

	/* First none, then some of the members are registered. */
	unregister_kprobes(kps, KP_BATCH);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, bystander->pre, 1);

	kps[1]->addr = bystander->kp.addr;
	KUNIT_ASSERT_EQ(test, kp_register(test, to_kp_probe(kps[1])), 0);
	unregister_kprobes(kps, KP_BATCH);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, bystander->pre, 2);
	kp_batch_expect_hits(test, kps, 0);
}

/* No registration keeps the module that it probes, whether it is refused or not. */
static void kp_batch_module_reference(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_MODULE_UNLOAD)
	struct kprobe **kps = kp_batch_new(test, kp_target);
	int before = module_refcount(THIS_MODULE), refused = 0;
	struct kp_probe *probe;
	unsigned int offset;

	/* Probes of one address, each of which pins the module. */
	kp_batch_register(test, kps);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), before);
	kunit_release_action(test, kp_batch_unregister, kps);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), before);

	/* Refused by ftrace, or since no instruction begins there. */
	for (offset = 0; offset < 16; offset++) {
		probe = kp_new(test, (void *)kp_target + offset);
		if (register_kprobe(&probe->kp))
			refused++;
		else
			unregister_kprobe(&probe->kp);
		KUNIT_EXPECT_EQ_MSG(test, module_refcount(THIS_MODULE), before, "at +%u", offset);
	}
	KUNIT_EXPECT_GT(test, refused, 0);
#else
	kunit_skip(test, "not a module that can be unloaded");
#endif
}

/* One of so many is enabled, since some architectures stop the machine to enable a probe. */
#define KP_ROW_STEP	20

static void kp_batch_unregister_row(void *kps)
{
	unregister_kprobes(kps, KP_ROW);
}

/* More slots than a page has. On s390 they do not divide the page. */
static void kp_batch_row(struct kunit *test)
{
	struct kprobe **kps = kunit_kcalloc(test, KP_ROW, sizeof(*kps), GFP_KERNEL);
	const size_t bytes = kp_row_bounds[1] - kp_row_bounds[0];
	void *row = (void *)kp_target_row + kp_row_bounds[0];
	void *text = kunit_kmalloc(test, bytes, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, kps);
	KUNIT_ASSERT_NOT_NULL(test, text);
	memcpy(text, row, bytes);
	for (i = 0; i < KP_ROW; i++) {
		kps[i] = &kp_new(test, row + i * (bytes / KP_ROW))->kp;
		kps[i]->flags = KPROBE_FLAG_DISABLED;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_ROW), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_batch_unregister_row, kps), 0);
	for (i = 0; i < KP_ROW; i += KP_ROW_STEP)
		KUNIT_EXPECT_EQ(test, enable_kprobe(kps[i]), 0);
	KUNIT_EXPECT_EQ(test, kp_target_row(1), 2);
	kunit_release_action(test, kp_batch_unregister_row, kps);
	KUNIT_EXPECT_EQ(test, kp_target_row(1), 2);
	for (i = 0; i < KP_ROW; i++)
		KUNIT_EXPECT_EQ_MSG(test, to_kp_probe(kps[i])->pre, i % KP_ROW_STEP == 0,
				    "probe %d", i);
	KUNIT_EXPECT_MEMEQ(test, row, text, bytes);
}

static struct kunit_case kp_batch_cases[] = {
	KUNIT_CASE(kp_batch_empty),
	KUNIT_CASE(kp_batch_one_address),
	KUNIT_CASE(kp_batch_many_addresses),
	KUNIT_CASE(kp_batch_failing_member),
	KUNIT_CASE(kp_batch_same_twice),
	KUNIT_CASE(kp_batch_registered_member),
	KUNIT_CASE(kp_batch_again),
	KUNIT_CASE(kp_batch_unregister_unregistered),
	KUNIT_CASE(kp_batch_module_reference),
	KUNIT_CASE_SLOW(kp_batch_row),
	{}
};

struct kunit_suite kp_batch_suite = {
	.name = "kprobes_batch",
	.test_cases = kp_batch_cases,
};
