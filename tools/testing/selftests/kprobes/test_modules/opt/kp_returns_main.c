// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: if the kernel's returns are jumps to a return
 * thunk, their copies in detour buffers must be, too.
 */

#include <linux/cpufeature.h>
#include "kp_opt.h"

typedef long kp_returns_fn(long);

kp_returns_fn kp_returns_0, kp_returns_1, kp_returns_2, kp_returns_3, kp_returns_bare;

static kp_returns_fn *const kp_fns[] = {
	kp_returns_0, kp_returns_1, kp_returns_2, kp_returns_3, kp_returns_bare,
};

#define KP_SLOT		64

static unsigned long kp_hits, kp_posts;
static bool kp_flip_flags;

static int __kprobes kp_returns_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_hits++;
	if (kp_flip_flags)
		regs->flags ^= X86_EFLAGS_ID;
	return 0;
}

/* Not empty, or else the probe would get no jump. */
static void __kprobes kp_returns_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_posts++;
}

static void kp_returns_register(struct kunit *test, struct kprobe *kp, kp_returns_fn *fn, bool post)
{
	*kp = (struct kprobe){
		.addr = (kprobe_opcode_t *)fn,
		.pre_handler = kp_returns_pre,
		.post_handler = post ? kp_returns_post : NULL,
	};
	kp_kprobe_add(test, kp);
	if (!kprobe_ftrace(kp))
		KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(kp->addr, true), "no jump at %pS",
				      kp->addr);
	kp_hits = 0;
}

/*
 * Return: the offset of the return, which follows the lea, and the call for post_handlers if any.
 */
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
	bool thunk = boot_cpu_has(X86_FEATURE_RETHUNK);
	unsigned long at;
	u8 slot[KP_SLOT];
	struct kprobe kp;
	int ret, i;

	kp_returns_register(test, &kp, fn, post);
	at = ALIGN_DOWN(kp_jump_target(kp.addr), KP_SLOT);
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(slot, (void *)at, KP_SLOT), 0);
	ret = kp_return_at(slot);
	KUNIT_ASSERT_GT(test, ret, 0);
	kunit_info(test, "%pS: detour %*ph\n", kp.addr, KP_SLOT, slot);
	/*
	 * Against ITS, a return needs the thunk only in the lower half of a cache line. Check that
	 * this return is there, so that the next check tests something.
	 */
	KUNIT_EXPECT_LT(test, ret, 32);
	KUNIT_EXPECT_EQ_MSG(test, slot[ret], thunk ? JMP32_INSN_OPCODE : RET_INSN_OPCODE,
			    "the return of %ps", fn);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, fn(i), i + 1);
	KUNIT_EXPECT_EQ(test, kp_hits, 100);
	kp_kprobe_del(test, &kp);
}

static void kp_returns_check_all(struct kunit *test, bool post)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_fns); i++)
		kp_returns_check(test, kp_fns[i], post);
}

KP_CASE(kp_returns_in_detours, kp_returns_check_all(test, false))
KP_CASE(kp_returns_after_post_handlers, kp_returns_check_all(test, true))

#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
/* This function has ftrace's call at its entry. */
KP_PLUS(, long, kp_returns_traced, 1)

/* low enough that all calls of a hit are counted */
#define KP_DEPTH_BEFORE		0xffff000000000000ULL

static __nocfi u64 kp_returns_depth_after(kp_returns_fn *fn)
{
	unsigned long flags;
	u64 depth;

	local_irq_save(flags);
	this_cpu_write(pcpu_hot.call_depth, KP_DEPTH_BEFORE);
	fn(1);
	depth = this_cpu_read(pcpu_hot.call_depth);
	/* The kernel sets this value if it does not know the depth. */
	this_cpu_write(pcpu_hot.call_depth, 0x8000000000000000ULL);
	local_irq_restore(flags);
	return depth;
}

static void kp_returns_check_depth(struct kunit *test, kp_returns_fn *fn, bool post, bool flags)
{
	u64 before = kp_returns_depth_after(fn);
	struct kprobe kp;

	kp_returns_register(test, &kp, fn, post);
	kp_flip_flags = flags;
	KUNIT_EXPECT_EQ_MSG(test, kp_returns_depth_after(fn), before, "%ps%s%s", fn,
			    post ? ", post" : "", flags ? ", flags" : "");
	kp_flip_flags = false;
	KUNIT_EXPECT_EQ(test, kp_hits, 1);
	kp_kprobe_del(test, &kp);
}

/* A hit must leave the call depth as it was, since it has as many calls as returns. */
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
KP_CASE(kp_returns_depth, kunit_skip(test, "no call depth tracking"))
#endif

static struct kunit_case kp_returns_cases[] = {
	KUNIT_CASE(kp_returns_in_detours),
	KUNIT_CASE(kp_returns_after_post_handlers),
	KUNIT_CASE(kp_returns_depth),
	{}
};

KP_ONLY_SUITE(kp_returns, "kprobes_returns",
	      "KUnit suite: returns in the detours of jump-optimised kprobes", .init = kp_opt_init);
