// SPDX-License-Identifier: GPL-2.0
/* KUnit suites for jump-optimised probes */

#include "kp_opt_suites.h"

void kp_opt_becomes_jump(struct kunit *test, struct kp_probe *probe)
{
	KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(probe->kp.addr, true), "no jump at %pS",
			      probe->kp.addr);
}

void kp_opt_stays_int3(struct kunit *test, struct kp_probe *probe)
{
	KUNIT_ASSERT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_ASSERT_EQ_MSG(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE, "jump at %pS",
			    probe->kp.addr);
}

/* Call kp_opt_sum(), and expect @pre and @post calls of the handlers so far. */
noinline void kp_opt_sum_hits(struct kunit *test, struct kp_probe *probe, long pre, long post)
{
	void *caller = __builtin_return_address(0);

	KUNIT_EXPECT_EQ_MSG(test, kp_opt_sum(40, 2), 42, "in %pS", caller);
	KUNIT_EXPECT_EQ_MSG(test, probe->pre, pre, "in %pS", caller);
	KUNIT_EXPECT_EQ_MSG(test, probe->post, post, "in %pS", caller);
}

struct kp_probe kp_many[KP_MANY];
static struct kprobe *kp_many_kps[KP_MANY];

int kp_many_register(void)
{
	int i;

	memset(kp_many, 0, sizeof(kp_many));
	for (i = 0; i < KP_MANY; i++) {
		kp_many_kps[i] = &kp_many[i].kp;
		kp_many[i].kp.addr = (kprobe_opcode_t *)kp_opt_many[i];
		kp_many[i].kp.pre_handler = kp_count_pre;
		kp_many[i].kp.post_handler = i % 4 ? NULL : kp_count_post;
	}
	return register_kprobes(kp_many_kps, KP_MANY);
}

void kp_many_unregister(void)
{
	unregister_kprobes(kp_many_kps, KP_MANY);
}

int kp_many_jumps(void)
{
	int i, jumps = 0;

	for (i = 0; i < KP_MANY; i++)
		jumps += kp_is_jump(kp_many[i].kp.addr);
	return jumps;
}

int kp_opt_reuse(bool settle)
{
	int ret = kp_many_register();

	if (ret)
		return ret;
	if (settle)
		ret = kp_opt_settle();
	else
		msleep(100);
	kp_many_unregister();
	return ret;
}

KP_SUITES("KUnit suites for jump-optimised kprobes",
	  &kp_opt_hits_suite, &kp_opt_diverts_suite, &kp_opt_keeps_suite,
	  &kp_opt_block_suite,
	  &kp_opt_safety_suite, &kp_opt_preempt_suite, &kp_opt_sleep_suite);
