// SPDX-License-Identifier: GPL-2.0
/* Test that registrations of jprobes fail with the documented errno */

#include "jprobes_kunit.h"
#include "kp_cases_batch.h"
#include "kp_cases_errno.h"
#include "kp_cases_life.h"

static void kp_jp_errno_entry(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_jp_short);
	void *heap = kp_zalloc(test, 64);
	void *entries[] = { NULL, heap, &kp_jp_hook, &probe, (void *)1, (void *)-1L };
	int i;

	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		probe->jp.entry = entries[i];
		kp_expect_refused(test, probe, -EINVAL);
		kp_batch_expect_bad(test, probe, -EINVAL);
	}
	kp_prepare(probe);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, kp_jp_short, 1);
}

/*
 * Handlers that the user has set in jp.kp must not be called. If they are, kp_expect_call() fails,
 * since it compares calls plus survived.
 */
KP_PRE_HANDLER(, kp_jp_no_pre, container_of(p, struct kp_probe, kp)->survived++)

KP_POST_HANDLER(, kp_jp_no_post, container_of(p, struct kp_probe, kp)->survived++)

static void kp_jp_errno_own_handlers(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_jp_short);

	probe->kp.pre_handler = kp_jp_no_pre;
	probe->kp.post_handler = kp_jp_no_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, kp_jp_short, 1);
}

/* Outside a handler, jprobe_return() returns, and logs a message, which jprobe.sh looks for. */
static void kp_jp_errno_return_outside(struct kunit *test)
{
	struct kp_probe *jp;
	int i;

	for (i = 0; i < 3; i++)
		jprobe_return();
	preempt_disable();
	jprobe_return();
	preempt_enable();
	jp = kp_jp_registered(test);
	kp_jp_expect_call(test, jp);
	jprobe_return();
	kp_jp_expect_call(test, jp);
}

static struct kunit_case kp_jp_errno_cases[] = {
	KP_CASES_ERRNO,
	KP_CASES_AT_ENTRY,
	KP_CASES_BATCH,
	KP_CASES_LIFE,
	KUNIT_CASE(kp_jp_errno_entry),
	KUNIT_CASE(kp_jp_errno_own_handlers),
	KUNIT_CASE(kp_jp_errno_return_outside),
	{}
};

KP_SUITE(kp_jp_errno, "jprobes_errno", .init = kp_jp_init);
