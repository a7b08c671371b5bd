// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: a return in a detour is what it is in the rest of the kernel. Where
 * mitigations have returns go by way of a thunk, so has the detour.
 */

#include <kunit/test.h>
#include <linux/align.h>
#include <linux/cpufeature.h>
#include <linux/module.h>
#include <linux/string.h>
#include <asm/current.h>
#include "kp_opt.h"

typedef long kp_returns_fn(long);

kp_returns_fn kp_returns_0, kp_returns_1, kp_returns_2, kp_returns_3, kp_returns_bare;

static kp_returns_fn *const kp_fns[] = {
	kp_returns_0, kp_returns_1, kp_returns_2, kp_returns_3, kp_returns_bare,
};

#define KP_SLOT		64

static unsigned long kp_hits;

static int kp_returns_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_hits++;
	return 0;
}

NOKPROBE_SYMBOL(kp_returns_pre);

static int kp_returns_pre_flags(struct kprobe *kp, struct pt_regs *regs)
{
	kp_hits++;
	regs->flags ^= X86_EFLAGS_ID;
	return 0;
}

NOKPROBE_SYMBOL(kp_returns_pre_flags);

static void kp_returns_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

NOKPROBE_SYMBOL(kp_returns_post);

KUNIT_DEFINE_ACTION_WRAPPER(kp_returns_unregister, unregister_kprobe, struct kprobe *);

/* The offset in @slot of what comes after the copy of lea; after the call, if there is one. */
static int kp_return_at(const u8 slot[KP_SLOT])
{
	static const u8 lea[] = { 0x48, 0x8d, 0x47, 0x01 };
	int i;

	for (i = 0; i + sizeof(lea) + CALL_INSN_SIZE < KP_SLOT; i++) {
		if (memcmp(slot + i, lea, sizeof(lea)))
			continue;
		i += sizeof(lea);
		return slot[i] == CALL_INSN_OPCODE ? i + CALL_INSN_SIZE : i;
	}
	return -1;
}

static __nocfi void kp_returns_check(struct kunit *test, kp_returns_fn *fn, bool post)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)fn,
		.pre_handler = kp_returns_pre,
		.post_handler = post ? kp_returns_post : NULL,
	};
	bool thunk = boot_cpu_has(X86_FEATURE_RETHUNK);
	unsigned long at;
	u8 slot[KP_SLOT];
	int ret, i;

	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_returns_unregister, &kp), 0);
	KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(kp.addr, true), "no jump at %pS", kp.addr);
	at = ALIGN_DOWN(kp_jump_target(kp.addr), KP_SLOT);
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(slot, (void *)at, KP_SLOT), 0);
	ret = kp_return_at(slot);
	KUNIT_ASSERT_GT(test, ret, 0);
	kunit_info(test, "%pS: detour %*ph\n", kp.addr, KP_SLOT, slot);
	/* In the lower half of the line ITS wants a thunk like all others. */
	KUNIT_EXPECT_LT(test, ret, 32);
	KUNIT_EXPECT_EQ_MSG(test, slot[ret], thunk ? JMP32_INSN_OPCODE : RET_INSN_OPCODE,
			    "the return of %ps", fn);
	kp_hits = 0;
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, fn(i), i + 1);
	KUNIT_EXPECT_EQ(test, kp_hits, 100);
	kunit_release_action(test, kp_returns_unregister, &kp);
}

static void kp_returns_in_detours(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_fns); i++)
		kp_returns_check(test, kp_fns[i], false);
}

static void kp_returns_after_post_handlers(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_fns); i++)
		kp_returns_check(test, kp_fns[i], true);
}

#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
/* Ftrace has a call in it. */
static noinline long kp_returns_traced(long arg)
{
	barrier();
	return arg + 1;
}

/* Three calls; the probed one and those for its probe are fewer than are counted. */
#define KP_DEPTH_BEFORE		0xffff000000000000ULL

/* What is counted after a call if nothing but the call changes it. */
static __nocfi u64 kp_returns_depth_after(kp_returns_fn *fn)
{
	unsigned long flags;
	u64 depth;

	local_irq_save(flags);
	this_cpu_write(pcpu_hot.call_depth, KP_DEPTH_BEFORE);
	fn(1);
	depth = this_cpu_read(pcpu_hot.call_depth);
	/* As the kernel has it where nothing is known. */
	this_cpu_write(pcpu_hot.call_depth, 0x8000000000000000ULL);
	local_irq_restore(flags);
	return depth;
}

static void kp_returns_check_depth(struct kunit *test, kp_returns_fn *fn, bool post, bool flags)
{
	struct kprobe kp = {
		.addr = (kprobe_opcode_t *)fn,
		.pre_handler = flags ? kp_returns_pre_flags : kp_returns_pre,
		.post_handler = post ? kp_returns_post : NULL,
	};
	u64 before, after;

	before = kp_returns_depth_after(fn);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_returns_unregister, &kp), 0);
	if (!kprobe_ftrace(&kp))
		KUNIT_ASSERT_TRUE(test, kp_wait_jump(kp.addr, true));
	kp_hits = 0;
	after = kp_returns_depth_after(fn);
	KUNIT_EXPECT_EQ(test, kp_hits, 1);
	KUNIT_EXPECT_EQ_MSG(test, after, before, "%ps%s%s", fn, post ? ", post" : "",
			    flags ? ", flags" : "");
	kunit_release_action(test, kp_returns_unregister, &kp);
}

/* Call depth tracking counts as many calls as returns for a hit. */
static void kp_returns_depth(struct kunit *test)
{
	int i;

	if (!boot_cpu_has(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "no call depth tracking");
	for (i = 0; i < 4; i++) {
		kp_returns_check_depth(test, kp_returns_1, i & 1, i & 2);
		kp_returns_check_depth(test, kp_returns_traced, i & 1, i & 2);
	}
}
#else
static void kp_returns_depth(struct kunit *test)
{
	kunit_skip(test, "no call depth tracking");
}
#endif

static int kp_returns_init(struct kunit *test)
{
	if (!kp_opt_available())
		kunit_skip(test, "no jump optimisation in this kernel");
	return kp_opt_switch(true);
}

static struct kunit_case kp_returns_cases[] = {
	KUNIT_CASE(kp_returns_in_detours),
	KUNIT_CASE(kp_returns_after_post_handlers),
	KUNIT_CASE(kp_returns_depth),
	{}
};

static struct kunit_suite kp_returns_suite = {
	.name = "kprobes_returns",
	.init = kp_returns_init,
	.test_cases = kp_returns_cases,
};

kunit_test_suite(kp_returns_suite);

MODULE_DESCRIPTION("KUnit suite: returns in the detours of jump-optimised kprobes");
MODULE_LICENSE("GPL");
