/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CASES_BATCH_H
#define KP_CASES_BATCH_H

/*
 * Test cases that register and unregister several probes with one call. One file of each test
 * module includes this. KP_KIND is the kind of probe that the module tests: see kp_kind.h.
 */

#define KP_BATCH	4

struct kp_batch {
	struct KP_KIND *own[KP_BATCH];
	struct kp_bytes text;
};

static struct kp_batch *kp_batch_new(struct kunit *test)
{
	struct kp_batch *batch = kp_zalloc(test, sizeof(*batch));
	int i;

	for (i = 0; i < KP_BATCH; i++)
		batch->own[i] = kp_own(kp_new(test, KP_TARGET));
	kp_bytes_save(test, &batch->text, KP_TARGET);
	return batch;
}

static void kp_batch_unregister(void *batch)
{
	KP_API_ALL(unregister)(((struct kp_batch *)batch)->own, KP_BATCH);
}

static void kp_batch_register(struct kunit *test, struct kp_batch *batch)
{
	KUNIT_ASSERT_EQ(test, KP_API_ALL(register)(batch->own, KP_BATCH), 0);
	kp_at_end(test, kp_batch_unregister, batch);
	kp_settle(test, &kp_of(batch->own[0])->kp);
}

static void kp_batch_expect_call(struct kunit *test, struct kp_batch *batch, int hits)
{
	int i;

	KUNIT_EXPECT_EQ(test, KP_TARGET(1), 2);
	for (i = 0; i < KP_BATCH; i++)
		kp_expect_hits(test, kp_of(batch->own[i]), hits);
}

static void kp_batch_empty(struct kunit *test)
{
	struct kp_batch *batch = kp_batch_new(test);

	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(batch->own, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(batch->own, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(batch->own, INT_MIN), -EINVAL);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(NULL, 0), -EINVAL);
	kp_batch_expect_call(test, batch, 0);

	/* Calls without a valid array or number must have no effect. */
	kp_batch_register(test, batch);
	KP_API_ALL(unregister)(NULL, 0);
	KP_API_ALL(unregister)(batch->own, 0);
	KP_API_ALL(unregister)(batch->own, -1);
	kp_batch_expect_call(test, batch, 1);
}

static void kp_batch_many_addresses(struct kunit *test)
{
	struct kp_batch *batch = kp_batch_new(test);
	struct kp_probe *probe[KP_BATCH];
	int i;

	for (i = 0; i < KP_BATCH; i++)
		probe[i] = kp_of(batch->own[i]);
	probe[1]->kp.addr = kp_entry(KP_OTHER);
	probe[2]->kp.addr = NULL;
	probe[2]->kp.symbol_name = __stringify(KP_OTHER);
	probe[3]->kp.flags = KPROBE_FLAG_DISABLED;
	kp_batch_register(test, batch);
	kp_expect_call(test, probe[0], KP_TARGET, 1);
	kp_expect_hits(test, probe[1], 0);
	kp_expect_call(test, probe[1], KP_OTHER, 1);
	kp_expect_hits(test, probe[2], 1);
	kp_expect_hits(test, probe[3], 0);
	KUNIT_EXPECT_EQ(test, kp_enable(test, probe[3]), 0);
	kp_expect_call(test, probe[3], KP_TARGET, 1);
}

/* Expect that a batch is refused, with no member registered and no text changed. */
static void kp_batch_expect_refused(struct kunit *test, struct kp_batch *batch, int error)
{
	int i, ret = KP_API_ALL(register)(batch->own, KP_BATCH);

	KUNIT_EXPECT_EQ(test, ret, error);
	if (!ret)
		kp_batch_unregister(batch);
	kp_batch_expect_call(test, batch, 0);
	kp_bytes_expect_same(test, &batch->text);
	for (i = 0; i < KP_BATCH; i++)
		KUNIT_EXPECT_EQ_MSG(test, KP_API(enable)(batch->own[i]), -EINVAL,
				    "probe %d is left", i);
}

/* Expect that a batch with @bad, at any index, is refused with @error. */
static void kp_batch_expect_bad(struct kunit *test, struct kp_probe *bad, int error)
{
	const struct kp_probe original = *bad;
	struct kp_batch *batch;
	int i;

	for (i = 0; i < KP_BATCH; i++) {
		batch = kp_batch_new(test);
		*bad = original;
		batch->own[i] = kp_own(bad);
		kp_batch_expect_refused(test, batch, error);
	}
}

static void kp_batch_failing_member(struct kunit *test)
{
	kp_batch_expect_bad(test, kp_new(test, NULL), -EINVAL);
	kp_batch_expect_bad(test, kp_new_named(test, "kp_no_such_function", 0), -ENOENT);
	kp_batch_expect_bad(test, kp_new(test, KP_NOKPROBE), -EINVAL);
	kp_batch_expect_bad(test, kp_new(test, KP_INSIDE), KP_INSIDE_ERROR);
}

static void kp_batch_same_twice(struct kunit *test)
{
	struct kp_batch *batch = kp_batch_new(test);

	batch->own[3] = batch->own[1];
	kp_batch_expect_refused(test, batch, -EINVAL);
}

static void kp_batch_registered_member(struct kunit *test)
{
	struct kp_batch *batch = kp_batch_new(test);
	struct kp_probe *other = kp_of(batch->own[2]);

	KUNIT_ASSERT_EQ(test, kp_register(test, other), 0);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(batch->own, KP_BATCH), -EINVAL);
	kp_expect_call(test, other, KP_TARGET, 1);
	kp_expect_hits(test, kp_of(batch->own[0]), 0);
	kp_expect_hits(test, kp_of(batch->own[3]), 0);
}

static void kp_batch_again(struct kunit *test)
{
	struct kp_batch *batch = kp_batch_new(test);
	struct KP_KIND *good = batch->own[1];
	int i;

	batch->own[1] = kp_own(kp_new(test, KP_NOKPROBE));
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(batch->own, KP_BATCH), -EINVAL);
	batch->own[1] = good;
	/* Register the same structs three times: after the failure, then after unregistrations. */
	for (i = 1; i <= 3; i++) {
		kp_batch_register(test, batch);
		kp_batch_expect_call(test, batch, i);
		kunit_release_action(test, kp_batch_unregister, batch);
		kp_batch_expect_call(test, batch, i);
		kp_bytes_expect_same(test, &batch->text);
	}
}

/*
 * Unregister a batch of which first none, then one member is registered. The bystander, a probe at
 * the same address that is not in the batch, must stay registered.
 */
static void kp_batch_unregister_unregistered(struct kunit *test)
{
	struct kp_batch *batch = kp_batch_new(test);
	struct kp_probe *bystander = kp_new(test, KP_TARGET);

	kp_may_be_fatal(test);
	KUNIT_ASSERT_EQ(test, kp_register(test, bystander), 0);
	kp_batch_unregister(batch);
	kp_expect_call(test, bystander, KP_TARGET, 1);

	kp_of(batch->own[1])->kp.addr = kp_entry(KP_TARGET);
	KUNIT_ASSERT_EQ(test, KP_API(register)(batch->own[1]), 0);
	kp_batch_unregister(batch);
	kp_batch_expect_call(test, batch, 0);
	kp_expect_hits(test, bystander, 2);
}

/*
 * One member waits for a module that is never loaded, and another cannot be registered. The batch
 * fails, and must leave the waiting member unregistered.
 */
static void kp_batch_waiting_member(struct kunit *test)
{
#if defined(_LINUX_KPROBE_REASON_H) && IS_ENABLED(CONFIG_MODULES)
	struct kp_batch *batch = kp_batch_new(test);
	struct kp_probe *waits = kp_of(batch->own[1]), *bad = kp_of(batch->own[3]);

	waits->kp.addr = NULL;
	waits->kp.symbol_name = "kp_no_module:kp_no_function";
	waits->kp.flags = KPROBE_FLAG_WAIT;
	bad->kp.addr = kp_entry(KP_NOKPROBE);
	KUNIT_EXPECT_EQ(test, KP_API_ALL(register)(batch->own, KP_BATCH), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_disable(waits), -EINVAL);
	KUNIT_EXPECT_EQ(test, waits->kp.flags, KPROBE_FLAG_WAIT);

	bad->kp.addr = kp_entry(KP_TARGET);
	kp_batch_register(test, batch);
	KUNIT_EXPECT_EQ(test, KP_API(register)(batch->own[1]), -EINVAL);
	kp_expect_call(test, bad, KP_TARGET, 1);
	KUNIT_EXPECT_EQ(test, kp_disable(waits), 0);
	KUNIT_EXPECT_EQ(test, KP_API(enable)(batch->own[1]), 0);
	kp_expect_hits(test, waits, 0);

	kunit_release_action(test, kp_batch_unregister, batch);
	KUNIT_EXPECT_EQ(test, kp_disable(waits), -EINVAL);
	waits->kp.flags = 0;
	kp_expect_refused(test, waits, -ENOENT);
#else
	kunit_skip(test, "probes do not wait for modules here");
#endif
}

/* disable_kprobes() and enable_kprobes() must change all members of a batch, or none. */
static void kp_batch_switch(struct kunit *test)
{
#ifdef _LINUX_KPROBE_REASON_H
	struct kp_batch *batch = kp_batch_new(test);
	struct kprobe *kps[KP_BATCH], *last;
	int i, hits = 0;

	for (i = 0; i < KP_BATCH; i++)
		kps[i] = &kp_of(batch->own[i])->kp;
	last = kps[3];
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, KP_BATCH), -EINVAL);
	kp_batch_register(test, batch);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), 0);
	kp_batch_expect_call(test, batch, hits);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), 0);
	KUNIT_EXPECT_EQ(test, KP_API(enable)(batch->own[1]), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, KP_BATCH), 0);
	kp_batch_expect_call(test, batch, ++hits);

	KUNIT_EXPECT_EQ(test, disable_kprobes(NULL, KP_BATCH), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobes(NULL, KP_BATCH), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, -1), -EINVAL);

	kps[3] = &kp_new(test, KP_TARGET)->kp;
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), -EINVAL);
	kps[3] = NULL;
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), -EINVAL);
	kp_batch_expect_call(test, batch, ++hits);

	kps[3] = last;
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), 0);
	kps[3] = NULL;
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, KP_BATCH), -EINVAL);
	kp_batch_expect_call(test, batch, hits);
	/* enable_kprobes() and disable_kprobes() accept an array that has a probe twice. */
	kps[3] = kps[0];
	KUNIT_EXPECT_EQ(test, enable_kprobes(kps, KP_BATCH), 0);
	KUNIT_EXPECT_EQ(test, KP_TARGET(1), 2);
	kp_expect_hits(test, kp_of(batch->own[0]), ++hits);
	KUNIT_EXPECT_EQ(test, disable_kprobes(kps, KP_BATCH), 0);
	KUNIT_EXPECT_EQ(test, KP_TARGET(1), 2);
	kp_expect_hits(test, kp_of(batch->own[0]), hits);
#else
	kunit_skip(test, "the base kernel has no batches of this kind");
#endif
}

#define KP_CASES_BATCH							\
	KUNIT_CASE(kp_batch_switch),					\
	KUNIT_CASE(kp_batch_waiting_member),				\
	KUNIT_CASE(kp_batch_empty),					\
	KUNIT_CASE(kp_batch_many_addresses),				\
	KUNIT_CASE(kp_batch_failing_member),				\
	KUNIT_CASE(kp_batch_same_twice),				\
	KUNIT_CASE(kp_batch_registered_member),				\
	KUNIT_CASE(kp_batch_again),					\
	KUNIT_CASE(kp_batch_unregister_unregistered)

#endif
