// SPDX-License-Identifier: GPL-2.0
/* Jprobes that must be refused with the documented errno, and leave nothing */

#include <linux/slab.h>
#include "jprobes_kunit.h"
#include "kp_module.h"

static void kp_jp_expect_refused(struct kunit *test, struct kp_jp *jp, int error)
{
	const char *name = jp->jp.kp.symbol_name;
	void *addr = jp->jp.kp.addr;
	int ret = register_jprobe(&jp->jp);

	KUNIT_EXPECT_EQ_MSG(test, ret, error, "probing %s %pS + %u", name, addr,
			    jp->jp.kp.offset);
	if (!ret) {
		unregister_jprobe(&jp->jp);
		return;
	}
	KUNIT_EXPECT_EQ(test, enable_jprobe(&jp->jp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_jprobe(&jp->jp), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_jp_call(KP_JP_PLAIN), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, 0);
}

static void kp_jp_errno_null(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, register_jprobe(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, enable_jprobe(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_jprobe(NULL), -EINVAL);
	unregister_jprobe(NULL);
	unregister_jprobes(NULL, 1);
}

static void kp_jp_errno_number(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, kp_jp_plain);
	struct jprobe *jps[1] = { &jp->jp };

	KUNIT_EXPECT_EQ(test, register_jprobes(jps, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(jps, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_jp_call(KP_JP_PLAIN), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, 0);

	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	unregister_jprobes(jps, 0);
	unregister_jprobes(jps, -1);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
}

/*
 * One member is wrong, so none is registered. unregister_jprobes() still unregisters the
 * others.
 */
static void kp_jp_errno_member(struct kunit *test)
{
	struct kp_jp *wrong = kp_jp_new(test, kp_jp_emulated);
	struct kp_jp *jp = kp_jp_new(test, kp_jp_plain);
	struct jprobe *with_null[2] = { &jp->jp, NULL };
	struct jprobe *with_wrong[2] = { &jp->jp, &wrong->jp };
	struct jprobe *twice[2] = { &jp->jp, &jp->jp };

	KUNIT_EXPECT_EQ(test, register_jprobes(with_null, 2), -EINVAL);
	wrong->jp.entry = NULL;
	KUNIT_EXPECT_EQ(test, register_jprobes(with_wrong, 2), -EINVAL);
	wrong->jp.entry = kp_jp_handler;
	wrong->jp.kp.offset = 1;
	KUNIT_EXPECT_EQ(test, register_jprobes(with_wrong, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_jprobes(twice, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_jp_call(KP_JP_PLAIN), kp_jp_result());
	KUNIT_EXPECT_EQ(test, kp_jp_call(KP_JP_EMULATED), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, 0);

	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
	unregister_jprobes(with_null, 2);
	KUNIT_EXPECT_EQ(test, kp_jp_call(KP_JP_PLAIN), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, 1);
}

static void kp_jp_errno_entry(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, kp_jp_plain);
	void *heap = kunit_kzalloc(test, 64, GFP_KERNEL);
	void *entries[] = { NULL, heap, &kp_jp_now, &jp, (void *)1, (void *)-1L };
	int i;

	KUNIT_ASSERT_NOT_NULL(test, heap);
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		jp->jp.entry = entries[i];
		kp_jp_expect_refused(test, jp, -EINVAL);
	}
	jp->jp.entry = kp_jp_handler;
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
}

/* Not at the entry: arguments may have moved. */
static void kp_jp_errno_not_entry(struct kunit *test)
{
	void *entry = kp_jp_plain;
	struct kp_jp *jp;
	unsigned int offset;

	/* A visible address inside the function would prevent jumps in it. */
	OPTIMIZER_HIDE_VAR(entry);
	for (offset = 1; offset < 16; offset++) {
		/* The first instruction after an ENDBR counts as the entry. */
		if (offset == 4)
			continue;
		jp = kp_jp_new(test, entry + offset);
		kp_jp_expect_refused(test, jp, -EINVAL);
		jp = kp_jp_new(test, (void *)kp_jp_plain);
		jp->jp.kp.offset = offset;
		kp_jp_expect_refused(test, jp, -EINVAL);
		jp = kp_jp_new(test, NULL);
		jp->jp.kp.symbol_name = KP_QUALIFIED("kp_jp_plain");
		jp->jp.kp.offset = offset;
		kp_jp_expect_refused(test, jp, -EINVAL);
	}
}

static void kp_jp_errno_location(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, NULL);

	kp_jp_expect_refused(test, jp, -EINVAL);
	jp->jp.kp.symbol_name = KP_QUALIFIED("kp_no_such_function");
	kp_jp_expect_refused(test, jp, -ENOENT);
	/* Both name and address */
	jp->jp.kp.symbol_name = KP_QUALIFIED("kp_jp_plain");
	jp->jp.kp.addr = (void *)kp_jp_plain;
	kp_jp_expect_refused(test, jp, -EINVAL);
	/* Data, and a blacklisted function */
	jp = kp_jp_new(test, &kp_jp_now);
	kp_jp_expect_refused(test, jp, -EINVAL);
	jp = kp_jp_new(test, jprobe_return);
	kp_jp_expect_refused(test, jp, -EINVAL);

	jp = kp_jp_new(test, NULL);
	jp->jp.kp.symbol_name = KP_QUALIFIED("kp_jp_plain");
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
}

static void kp_jp_errno_twice(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, kp_jp_plain);

	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	KUNIT_EXPECT_EQ(test, register_jprobe(&jp->jp), -EINVAL);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
	kp_jp_unregister(test, &jp->jp);
	KUNIT_EXPECT_EQ(test, kp_jp_call(KP_JP_PLAIN), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, 1);
	unregister_jprobe(&jp->jp);
	KUNIT_EXPECT_NULL(test, jp->jp.kp.addr);
	jp->jp.kp.addr = (void *)kp_jp_plain;
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
}

/* Handlers that the user has set in jp.kp are not called. */
static int kp_jp_no_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp_jp_other_calls++;
	return 0;
}

static void kp_jp_no_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp_jp_other_calls++;
}

static void kp_jp_errno_own_handlers(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, kp_jp_plain);

	jp->jp.kp.pre_handler = kp_jp_no_pre;
	jp->jp.kp.post_handler = kp_jp_no_post;
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
	KUNIT_EXPECT_EQ(test, kp_jp_other_calls, 0);
}

/* Outside a handler jprobe_return() returns. The script looks for the message. */
static void kp_jp_errno_return_outside(struct kunit *test)
{
	struct kp_jp *jp = kp_jp_new(test, kp_jp_plain);
	int i;

	for (i = 0; i < 3; i++)
		jprobe_return();
	preempt_disable();
	jprobe_return();
	preempt_enable();
	KUNIT_ASSERT_EQ(test, kp_jp_register(test, &jp->jp), 0);
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
	jprobe_return();
	kp_jp_expect_call(test, jp, KP_JP_PLAIN);
}

static struct kunit_case kp_jp_errno_cases[] = {
	KUNIT_CASE(kp_jp_errno_null),
	KUNIT_CASE(kp_jp_errno_number),
	KUNIT_CASE(kp_jp_errno_member),
	KUNIT_CASE(kp_jp_errno_entry),
	KUNIT_CASE(kp_jp_errno_not_entry),
	KUNIT_CASE(kp_jp_errno_location),
	KUNIT_CASE(kp_jp_errno_twice),
	KUNIT_CASE(kp_jp_errno_own_handlers),
	KUNIT_CASE(kp_jp_errno_return_outside),
	{}
};

struct kunit_suite kp_jp_errno_suite = {
	.name = "jprobes_errno",
	.init = kp_jp_init,
	.test_cases = kp_jp_errno_cases,
};
