/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_CASES_NESTED_H
#define KP_CASES_NESTED_H

/*
 * Test cases of hits that handlers cause. One file of a test module includes this, after
 * kp_cases_contexts.h. The module's header defines two conditions:
 *
 * KP_SECOND_NESTS: hits that a probe's second handler causes (a post_handler, or the handler of a
 *	return) call handlers; otherwise they are missed
 * KP_TRACED: another tracer is attached, so ftrace drops hits that are nested more than once
 */

static bool kp_nests(void)
{
	return !kp_context->where || KP_SECOND_NESTS;
}

static struct kp_probe *kp_nested_probe(struct kunit *test, void *addr, void (*hook)(void))
{
	struct kp_probe *probe = kp_new(test, addr);

	probe->kp.flags = KPROBE_FLAG_NEST;
	kp_prepare_hook(probe, kp_nests() ? kp_context->where : 0, hook);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	return probe;
}

/* Register a probe on kp_context->target. Its handler calls kp_context->other. */
static struct kp_probe *kp_nested_outer(struct kunit *test, u32 flags)
{
	struct kp_probe *probe = kp_new(test, NULL);

	kp_context = test->param_value;
	kp_context_wrong = 0;
	probe->kp.addr = kp_entry(kp_context->target);
	probe->kp.flags = flags;
	kp_prepare_hook(probe, kp_context->where, kp_context_call_other);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	return probe;
}

static bool kp_nested_in_nmi;

static void kp_nested_context(void)
{
	kp_nested_in_nmi |= in_nmi();
}

/*
 * A handler hits an address with two probes. Only @other, which has KPROBE_FLAG_NEST, may be
 * called, and only if kp_nests(). A probe that is not called must count the hit as missed.
 */
static __nocfi void kp_nested_hits(struct kunit *test)
{
	struct kp_probe *probe = kp_nested_outer(test, KPROBE_FLAG_NEST);
	struct kp_probe *other = kp_nested_probe(test, kp_context->other, kp_nested_context);
	struct kp_probe *plain = kp_registered(test, kp_context->other);
	bool nests = kp_nests();
	int i;

	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_context->target, i);
		kp_expect_hits(test, other, nests ? i : 0);
		KUNIT_EXPECT_EQ(test, kp_missed(other), nests ? 0 : i);
		kp_expect_hits(test, plain, 0);
		KUNIT_EXPECT_EQ(test, kp_missed(plain), i);
	}
	kp_unregister(test, plain);
	kp_expect_call(test, probe, kp_context->target, i);
	kp_expect_hits(test, other, nests ? i : 0);
	KUNIT_EXPECT_EQ(test, kp_missed(probe), 0);
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
	KUNIT_EXPECT_FALSE(test, other->preemptible);
	KUNIT_EXPECT_FALSE(test, kp_nested_in_nmi);
}

/* The probe whose handler causes the hit has no KPROBE_FLAG_NEST, so the hit must be missed. */
static __nocfi void kp_nested_unexpected(struct kunit *test)
{
	struct kp_probe *probe = kp_nested_outer(test, 0);
	struct kp_probe *other = kp_nested_probe(test, kp_context->other, NULL);

	kp_expect_call(test, probe, kp_context->target, 1);
	kp_expect_hits(test, other, 0);
	KUNIT_EXPECT_EQ(test, kp_missed(other), 1);
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
}

/*
 * Each of two handlers calls the function that the other handler's probe is on. A nested hit must
 * call handlers, but no further hit may be nested in it: the third hit must be missed. If
 * !kp_nests(), the second hit must be missed already.
 */
static __nocfi void kp_nested_without_end(struct kunit *test)
{
	struct kp_probe *probe = kp_nested_outer(test, KPROBE_FLAG_NEST);
	struct kp_probe *other = kp_nested_probe(test, kp_context->other, kp_context_call);
	bool nests = kp_nests();
	int i;

	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_context->target, i);
		kp_expect_hits(test, other, nests ? i : 0);
		if (!KP_TRACED)
			KUNIT_EXPECT_EQ(test, kp_missed(probe), nests ? i : 0);
		KUNIT_EXPECT_EQ(test, kp_missed(other), nests ? 0 : i);
	}
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
}

/*
 * A handler calls the function that its own probe is on. This nested hit must be missed, although
 * the probe has KPROBE_FLAG_NEST.
 */
static __nocfi void kp_nested_itself(struct kunit *test)
{
	struct kp_probe *probe;
	int i;

	kp_context = test->param_value;
	kp_context_wrong = 0;
	probe = kp_nested_probe(test, kp_context->target, kp_context_call);
	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_context->target, i);
		KUNIT_EXPECT_EQ(test, kp_missed(probe), i);
	}
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
}

/*
 * An NMI arrives during the handler of a nested hit, and calls both functions. In the NMI, too, one
 * hit may be nested in another, so no hit may be missed.
 */
static __nocfi void kp_nested_nmi(struct kunit *test)
{
	struct kp_probe *probe = kp_nested_outer(test, KPROBE_FLAG_NEST);
	struct kp_probe *other;
	int i;

	if (!kp_nests() || KP_TRACED)
		kunit_skip(test, "not nested so deep");
	other = kp_nested_probe(test, kp_context->other, kp_context_interrupted);
	kp_interrupt_prepare(test, kp_context_interruption, true);
	for (i = 1; i <= 10; i++) {
		kp_context_over.armed = true;
		KUNIT_EXPECT_EQ(test, kp_context->target(1), 2);
		KUNIT_EXPECT_EQ(test, kp_interrupt.over_handler, i);
		/*
		 * In each round, the task and the NMI call the first function: 2 hits. The handlers
		 * of these hits call the second function, and so does the NMI itself: 3 hits.
		 */
		kp_expect_hits(test, probe, 2 * i);
		kp_expect_hits(test, other, 3 * i);
	}
	KUNIT_EXPECT_EQ(test, kp_context_wrong, 0);
	KUNIT_EXPECT_EQ(test, kp_missed(probe) + kp_missed(other), 0);
}

#define KP_CASES_NESTED							\
	KUNIT_CASE_PARAM(kp_nested_hits, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_nested_unexpected, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_nested_without_end, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_nested_itself, kp_context_gen_params),	\
	KUNIT_CASE_PARAM(kp_nested_nmi, kp_context_gen_params)

#endif
