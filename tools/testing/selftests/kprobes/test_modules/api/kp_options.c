// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: the interface of optional things, with the option and without it
 */

#include "kp_test.h"

KP_PLUS(, long, kp_options_target, 1)

static int kp_options_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	return 0;
}

/* Without CONFIG_KPROBES_FAULT_HANDLER, registering a fault_handler must fail. */
static void kp_options_fault_handler(struct kunit *test)
{
	int ret = IS_ENABLED(CONFIG_KPROBES_FAULT_HANDLER) ? 0 : -EOPNOTSUPP;
	struct kprobe kp = {
		.addr = (void *)kp_options_target, .fault_handler = kp_options_fault,
	};

	KUNIT_EXPECT_EQ(test, register_kprobe(&kp), ret);
	unregister_kprobe(&kp);
}

static bool kp_options_asked;

KP_PRE_HANDLER(, kp_options_ask, kp_options_asked = kprobe_disable_self(p))

/* Without CONFIG_KPROBES_DISABLE_SELF, kprobe_disable_self() must do nothing. */
static void kp_options_disable_self(struct kunit *test)
{
	struct kprobe kp = { .addr = (void *)kp_options_target, .pre_handler = kp_options_ask };

	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	kp_options_target(1);
	unregister_kprobe(&kp);
	KUNIT_EXPECT_EQ(test, kp_options_asked, IS_ENABLED(CONFIG_KPROBES_DISABLE_SELF));
}

static struct kunit_case kp_options_cases[] = {
	KUNIT_CASE(kp_options_fault_handler),
	KUNIT_CASE(kp_options_disable_self),
	{}
};

KP_ONLY_SUITE(kp_options, "kprobes_options", "KUnit suite: optional things of kprobes");
