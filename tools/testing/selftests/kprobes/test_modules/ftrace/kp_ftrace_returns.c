// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the suite kprobes_ftrace: ftrace-based return probes. If the only user of a function's
 * entry is one return probe without an entry_handler, ftrace may call a faster trampoline of
 * kprobes there.
 */

#include <linux/context_tracking.h>
#include <linux/unaligned.h>
#include <asm/text-patching.h>
#include "kp_ftrace.h"
#include "kp_symbol.h"

struct kp_ft_return {
	struct kretprobe rp;
	unsigned int entries, returns;
	unsigned long value;
};

KP_RETURN_HANDLER(__kprobes, kp_ft_enters,
		  container_of(get_kretprobe(ri), struct kp_ft_return, rp)->entries++)

static int __kprobes kp_ft_returns(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_ft_return *ret = container_of(get_kretprobe(ri), struct kp_ft_return, rp);

	ret->returns++;
	ret->value = regs_return_value(regs);
	return 0;
}

static struct kp_ft_return *kp_ft_new_return(struct kunit *test, void *func, bool entry)
{
	struct kp_ft_return *ret = kp_zalloc(test, sizeof(*ret));

	ret->rp.kp.addr = func;
	ret->rp.handler = kp_ft_returns;
	ret->rp.entry_handler = entry ? kp_ft_enters : NULL;
	return ret;
}

/*
 * Does the function's entry call @own, the trampoline for entries with nothing but a return probe?
 */
static void kp_ft_expect_own(struct kunit *test, struct kprobe *kp, void *own, bool is_own)
{
	u8 text[CALL_INSN_SIZE];

	/*
	 * With a second user of the entry, it calls a trampoline of ftrace, which calls both users.
	 * @own is NULL if the kernel's kprobes has no such trampoline.
	 */
	if (kp_ft_crowd || !own)
		return;
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(text, kp->addr, sizeof(text)), 0);
	KUNIT_ASSERT_EQ(test, text[0], CALL_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, (void *)kp->addr + sizeof(text) +
			(s32)get_unaligned_le32(text + 1) == own, is_own);
}

static void *kp_ft_own_trampoline(struct kunit *test)
{
#if __has_include("linux/kprobe_reason.h") && defined(CONFIG_X86_64)
	return kp_symbol(test, "kprobe_ftrace_return_trampoline");
#else
	return NULL;
#endif
}

/*
 * Register and unregister two return probes, one of them with an entry_handler, and two probes, one
 * with a post_handler, at one address in random order. Each call of the function must call the
 * handlers of every registered probe once.
 */
void kp_ft_return_orders(struct kunit *test)
{
	unsigned int there = 0, step, i, calls[4] = {};
	void *own = kp_ft_own_trampoline(test);
	struct kp_ft_return *ret[2];
	struct kp_probe *probe[2];
	struct kprobe *kps[4];
	u32 random = 54321;

	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "no return probes in this kernel");
	for (i = 0; i < 2; i++) {
		ret[i] = kp_ft_new_return(test, kp_ft_target, i);
		probe[i] = kp_new(test, kp_ft_target);
		kps[i] = &ret[i]->rp.kp;
		kps[2 + i] = &probe[i]->kp;
	}
	probe[1]->kp.post_handler = kp_ft_post;
	for (step = 0; step < 80; step++) {
		random = random * 1664525 + 1013904223;
		i = random >> 30;
		if (there & BIT(i) && i < 2)
			kp_kretprobe_del(test, &ret[i]->rp);
		else if (there & BIT(i))
			kp_unregister(test, probe[i - 2]);
		else if (i < 2)
			kp_kretprobe_add(test, &ret[i]->rp);
		else
			KUNIT_ASSERT_EQ(test, kp_register(test, probe[i - 2]), 0);
		there ^= BIT(i);
		if (there)
			kp_ft_expect_own(test, kps[__ffs(there)], own, there == BIT(0));
		KUNIT_ASSERT_EQ(test, kp_ft_caller(step), step + 1);
		for (i = 0; i < 4; i++)
			calls[i] += !!(there & BIT(i));
		for (i = 0; i < 2; i++) {
			KUNIT_ASSERT_EQ_MSG(test, ret[i]->returns, calls[i],
					    "return probe %u in step %u", i, step);
			KUNIT_ASSERT_EQ(test, ret[i]->entries, i ? calls[i] : 0);
			KUNIT_ASSERT_EQ_MSG(test, probe[i]->pre, calls[2 + i],
					    "probe %u in step %u", i, step);
			if (there & BIT(i))
				KUNIT_ASSERT_EQ(test, ret[i]->value, step + 1);
		}
		KUNIT_ASSERT_EQ(test, probe[1]->post, calls[3]);
	}
}

static int kp_ft_call_target(struct kprobe *kp, struct pt_regs *regs)
{
	container_of(kp, struct kp_probe, kp)->pre++;
	kp_ft_target(1);
	return 0;
}

/*
 * Hits of a return probe that is the only user of the entry and has no entry_handler: in a handler,
 * where the call must be missed; where RCU is not watching; and after an entry_handler was set
 * while the probe was registered.
 */
void kp_ft_return_alone(struct kunit *test)
{
	struct kp_ft_return *ret = kp_ft_new_return(test, kp_ft_target, false);
	struct kp_ft_return *idle = kp_ft_new_return(test, kp_ft_wakes, false);
	struct kp_probe *outer = kp_new(test, kp_ft_other);
	int i;

	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "no return probes in this kernel");
	kp_kretprobe_add(test, &ret->rp);
	kp_ft_expect_own(test, &ret->rp.kp, kp_ft_own_trampoline(test), true);
	for (i = 1; i <= 100; i++) {
		KUNIT_ASSERT_EQ(test, kp_ft_caller(i), i + 1);
		KUNIT_ASSERT_EQ(test, ret->returns, i);
	}

	outer->kp.pre_handler = kp_ft_call_target;
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ft_other(1), 2);
		KUNIT_EXPECT_EQ(test, outer->pre, i);
		KUNIT_EXPECT_EQ(test, ret->rp.kp.nmissed, i);
	}
	KUNIT_EXPECT_EQ(test, ret->returns, 100);
	KUNIT_EXPECT_EQ(test, ret->rp.nmissed, 0);

	/*
	 * Hit the other return probe where RCU does not watch. Not with crowd=1: ftrace does not
	 * call its list of functions there.
	 */
	kp_kretprobe_add(test, &idle->rp);
	for (i = 1; i <= 3 && !kp_ft_crowd; i++) {
		local_irq_disable();
		ct_idle_enter();
		kp_ft_wakes(1);
		local_irq_enable();
		KUNIT_EXPECT_EQ(test, idle->returns, i);
	}

	WRITE_ONCE(ret->rp.entry_handler, kp_ft_enters);
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 2);
	KUNIT_EXPECT_EQ(test, ret->entries, 1);
	KUNIT_EXPECT_EQ(test, ret->returns, 101);
}
