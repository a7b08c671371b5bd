// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suites for jump-optimised probes: what a hit does, which probes block which, where
 * there may be a jump and where not, and tasks that are just where one is to come or go.
 */

#include <linux/module.h>
#include "kp_opt_suites.h"

int kp_opt_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_opt_pre);

void kp_opt_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_opt_probe(kp)->post++;
	to_opt_probe(kp)->post_ip = regs->ip;
}

NOKPROBE_SYMBOL(kp_opt_post);

struct kp_opt_probe *kp_opt_new(struct kunit *test, void *addr, bool post)
{
	struct kp_opt_probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->kp.addr = addr;
	probe->kp.pre_handler = kp_opt_pre;
	if (post)
		probe->kp.post_handler = kp_opt_post;
	return probe;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_opt_unregister, unregister_kprobe, struct kprobe *);

void kp_opt_add(struct kunit *test, struct kp_opt_probe *probe)
{
	KUNIT_ASSERT_EQ_MSG(test, register_kprobe(&probe->kp), 0, "probing %pS",
			    probe->kp.addr);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_opt_unregister, &probe->kp), 0);
	probe->registered = true;
}

void kp_opt_del(struct kunit *test, struct kp_opt_probe *probe)
{
	if (!probe->registered)
		return;
	probe->registered = false;
	kunit_release_action(test, kp_opt_unregister, &probe->kp);
	/* What the next registration is to start from, for the base kernel too. */
	probe->kp.flags = 0;
}

void kp_opt_becomes_jump(struct kunit *test, struct kp_opt_probe *probe)
{
	KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(probe->kp.addr, true), "no jump at %pS",
			      probe->kp.addr);
}

void kp_opt_stays_int3(struct kunit *test, struct kp_opt_probe *probe)
{
	KUNIT_ASSERT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_ASSERT_EQ_MSG(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE, "jump at %pS",
			    probe->kp.addr);
}

void kp_opt_save(struct kunit *test, struct kp_opt_bytes *bytes, void *addr)
{
	bytes->addr = addr;
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(bytes->byte, addr, sizeof(bytes->byte)), 0);
}

void kp_opt_same(struct kunit *test, const struct kp_opt_bytes *bytes, void *except, int size)
{
	struct kp_opt_bytes now;
	int i, from = except ? except - bytes->addr : sizeof(now.byte);

	kp_opt_save(test, &now, bytes->addr);
	for (i = 0; i < sizeof(now.byte); i++) {
		if (i >= from && i < from + size)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, now.byte[i], bytes->byte[i], "at %pS", bytes->addr + i);
	}
}

kunit_test_suites(&kp_opt_hits_suite, &kp_opt_diverts_suite, &kp_opt_block_suite,
		  &kp_opt_safety_suite, &kp_opt_preempt_suite, &kp_opt_sleep_suite);

MODULE_DESCRIPTION("KUnit suites for jump-optimised kprobes");
MODULE_LICENSE("GPL");
