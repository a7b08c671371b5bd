// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: flags. Code that is probed between two instructions, where it is entered,
 * or when it returns, finds every flag as it was, or as handlers have set it, whatever
 * way the hit takes.
 */

#include <linux/cpufeature.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <asm/debugreg.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>
#include <asm/smap.h>
#include <kunit/test.h>
#include "kp_flags.h"
#include "kp_opt.h"

/* In this order the bits of a number stand for them. */
static const unsigned long kp_arithmetic[] = {
	X86_EFLAGS_CF, X86_EFLAGS_PF, X86_EFLAGS_AF, X86_EFLAGS_ZF, X86_EFLAGS_SF, X86_EFLAGS_OF,
};

#define KP_ALL_ARITHMETIC (X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			   X86_EFLAGS_SF | X86_EFLAGS_OF)

/* Functions may run with these, and return with them, but not call with them. */
static const unsigned long kp_odd[] = {
	0, X86_EFLAGS_DF, X86_EFLAGS_AC, X86_EFLAGS_NT, X86_EFLAGS_ID,
	X86_EFLAGS_DF | X86_EFLAGS_AC, X86_EFLAGS_DF | X86_EFLAGS_AC | X86_EFLAGS_NT,
};

/* What handlers change; they switch interrupts off, never on. */
static const unsigned long kp_changes[] = {
	0, X86_EFLAGS_CF, X86_EFLAGS_PF, X86_EFLAGS_AF, X86_EFLAGS_ZF, X86_EFLAGS_SF,
	X86_EFLAGS_OF, KP_ALL_ARITHMETIC, X86_EFLAGS_DF, X86_EFLAGS_AC, X86_EFLAGS_NT,
	X86_EFLAGS_ID, X86_EFLAGS_IF, X86_EFLAGS_IF | X86_EFLAGS_OF,
	X86_EFLAGS_AC | X86_EFLAGS_DF | X86_EFLAGS_CF,
};

static struct {
	unsigned long change;
	unsigned long post_change;
	unsigned long shown;
	unsigned long post_shown;
	unsigned int hits;
	unsigned int posts;
	unsigned int traps;
	unsigned long odd_in_handler;
	struct kprobe kp;
	struct kretprobe rp;
	struct kretprobe other;
} kp;

/*
 * C is compiled for flags like these. A handler that has read user memory leaves AC
 * clear, which is not to be what the probed code goes on with.
 */
static void kp_flags_in_handler(void)
{
	kp.odd_in_handler |= native_save_fl() & (X86_EFLAGS_AC | X86_EFLAGS_DF | X86_EFLAGS_NT);
	stac();
	clac();
}

static int kp_flags_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp_flags_in_handler();
	kp.hits++;
	kp.shown = regs->flags;
	regs->flags ^= kp.change;
	return 0;
}

static void kp_flags_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp_flags_in_handler();
	kp.posts++;
	kp.post_shown = regs->flags;
	regs->flags ^= kp.post_change;
}

static int kp_flags_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_flags_in_handler();
	kp.hits++;
	kp.shown = regs->flags;
	regs->flags ^= kp.change;
	return 0;
}

static int kp_flags_other_handler(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_flags_in_handler();
	return 0;
}

/* One call; the flags that the code begins with, and that handlers change. */
static bool kp_flags_call(struct kunit *test, unsigned long (*fn)(unsigned long),
			  unsigned long flags, unsigned long change, unsigned long post_change)
{
	unsigned long wanted = flags ^ change, got;

	kp.change = change;
	kp.post_change = post_change;
	kp.hits = 0;
	kp.posts = 0;
	kp.odd_in_handler = 0;
	got = fn(flags) & ~X86_EFLAGS_RF;
	KUNIT_EXPECT_EQ(test, kp.hits, 1);
	KUNIT_EXPECT_EQ(test, kp.shown & ~X86_EFLAGS_RF, flags);
	KUNIT_EXPECT_EQ(test, kp.odd_in_handler, 0);
	if (kp.kp.post_handler) {
		KUNIT_EXPECT_EQ(test, kp.posts, 1);
		KUNIT_EXPECT_EQ(test, kp.post_shown & ~X86_EFLAGS_RF, wanted);
		wanted ^= post_change;
	}
	if (got != wanted)
		KUNIT_FAIL(test, "flags %lx, changed by %lx and %lx: are %lx, not %lx\n", flags,
			   change, post_change, got, wanted);
	return got == wanted && !kp.odd_in_handler;
}

/* All combinations, but for those that code can't be in when it is hit there. */
static void kp_flags_calls(struct kunit *test, unsigned long (*fn)(unsigned long), int nr_odd)
{
	int arithmetic, bit, i, j;

	for (arithmetic = 0; arithmetic < 1 << ARRAY_SIZE(kp_arithmetic); arithmetic++) {
		unsigned long flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF;

		for (bit = 0; bit < ARRAY_SIZE(kp_arithmetic); bit++)
			if (arithmetic & BIT(bit))
				flags |= kp_arithmetic[bit];
		for (i = 0; i < nr_odd; i++) {
			for (j = 0; j < ARRAY_SIZE(kp_changes); j++) {
				unsigned long change = kp_changes[j];

				if (!kp_flags_call(test, fn, flags | kp_odd[i], change, 0))
					return;
				if (!kp.kp.post_handler)
					continue;
				if (!kp_flags_call(test, fn, flags | kp_odd[i], 0, change) ||
				    !kp_flags_call(test, fn, flags | kp_odd[i], change, change))
					return;
			}
		}
		cond_resched();
	}
}

/* What counts returns does it with the arithmetic flags, probed or not. */
static void kp_flags_survive_return(struct kunit *test)
{
	if (boot_cpu_has(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "returns change flags");
}

/*
 * A handler that sets the trap flag: the processor has to be seen to step.
 */

static int kp_flags_debug(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG || user_mode(args->regs) || !(*(unsigned long *)args->err & DR_STEP))
		return NOTIFY_DONE;
	*(unsigned long *)args->err &= ~DR_STEP;
	args->regs->flags &= ~X86_EFLAGS_TF;
	kp.traps++;
	return NOTIFY_STOP;
}

NOKPROBE_SYMBOL(kp_flags_debug);

static struct notifier_block kp_flags_nb = {
	.notifier_call = kp_flags_debug,
	.priority = INT_MAX,
};

static void kp_flags_no_notifier(void *unused)
{
	unregister_die_notifier(&kp_flags_nb);
}

static void kp_flags_traps(struct kunit *test, unsigned long (*fn)(unsigned long))
{
	unsigned long flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_ZF;
	int post;

	KUNIT_ASSERT_EQ(test, register_die_notifier(&kp_flags_nb), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_flags_no_notifier, NULL), 0);
	for (post = 0; post <= !!kp.kp.post_handler; post++) {
		kp.traps = 0;
		kp.change = post ? 0 : X86_EFLAGS_TF;
		kp.post_change = post ? X86_EFLAGS_TF : 0;
		KUNIT_EXPECT_EQ(test, fn(flags) & ~X86_EFLAGS_RF, flags);
		KUNIT_EXPECT_EQ(test, kp.traps, 1);
	}
	kunit_release_action(test, kp_flags_no_notifier, NULL);
}

static void kp_flags_unregister(void *unused)
{
	unregister_kprobe(&kp.kp);
}

static void kp_flags_unregister_return(void *rp)
{
	unregister_kretprobe(rp);
}

static void kp_flags_jumps(struct kunit *test, void *addr, bool jump)
{
	if (jump && !kp_opt_available())
		kunit_skip(test, "no jump optimisation in this kernel");
	if (kp_opt_available())
		KUNIT_ASSERT_EQ(test, kp_opt_switch(jump), 0);
	if (!jump || !addr)
		return;
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_ASSERT_TRUE(test, kp_is_jump(addr));
}

static void kp_flags_within_by(struct kunit *test, bool post, bool jump)
{
	kp.kp.addr = (void *)kp_flags_probed;
	kp.kp.pre_handler = kp_flags_pre;
	kp.kp.post_handler = post ? kp_flags_post : NULL;
	kp_flags_jumps(test, NULL, jump);
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp.kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_flags_unregister, NULL), 0);
	kp_flags_jumps(test, kp.kp.addr, jump);
	kp_flags_calls(test, kp_flags_within, ARRAY_SIZE(kp_odd));
	kp_flags_traps(test, kp_flags_within);
}

static void kp_flags_break(struct kunit *test)
{
	kp_flags_within_by(test, false, false);
}

static void kp_flags_break_post(struct kunit *test)
{
	kp_flags_within_by(test, true, false);
}

static void kp_flags_jump(struct kunit *test)
{
	kp_flags_within_by(test, false, true);
}

static void kp_flags_jump_post(struct kunit *test)
{
	kp_flags_within_by(test, true, true);
}

static void kp_flags_ftrace_by(struct kunit *test, bool post)
{
	if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "no probes by way of ftrace in this kernel");
	if (IS_ENABLED(CONFIG_X86_32))
		kunit_skip(test, "ftrace changes flags before it saves them, and restores none");
	kp_flags_survive_return(test);
	kp.kp.addr = (void *)kp_flags_traced;
	kp.kp.pre_handler = kp_flags_pre;
	kp.kp.post_handler = post ? kp_flags_post : NULL;
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp.kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_flags_unregister, NULL), 0);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&kp.kp));
	/* A call has been made: only with flags as they may be at calls. */
	kp_flags_calls(test, kp_flags_entry, 1);
	kp_flags_traps(test, kp_flags_entry);
}

static void kp_flags_ftrace(struct kunit *test)
{
	kp_flags_ftrace_by(test, false);
}

static void kp_flags_ftrace_post(struct kunit *test)
{
	kp_flags_ftrace_by(test, true);
}

static void kp_flags_register_return(struct kunit *test, struct kretprobe *rp,
				     kretprobe_handler_t handler)
{
	rp->kp.addr = (void *)kp_flags_returning;
	rp->handler = handler;
	KUNIT_ASSERT_EQ(test, register_kretprobe(rp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_flags_unregister_return, rp), 0);
}

static void kp_flags_return_by(struct kunit *test, bool jump, bool two)
{
	kp_flags_survive_return(test);
	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "no return probes in this kernel");
	kp_flags_jumps(test, NULL, jump);
	kp_flags_register_return(test, &kp.rp, kp_flags_handler);
	if (two)
		kp_flags_register_return(test, &kp.other, kp_flags_other_handler);
	kp_flags_jumps(test, kp.rp.kp.addr, jump);
	kp_flags_calls(test, kp_flags_return, ARRAY_SIZE(kp_odd));
	kp_flags_traps(test, kp_flags_return);
}

static void kp_flags_return_break(struct kunit *test)
{
	kp_flags_return_by(test, false, false);
}

static void kp_flags_return_jump(struct kunit *test)
{
	kp_flags_return_by(test, true, false);
}

/* Two on one function: the trampoline leaves all to C. */
static void kp_flags_return_two(struct kunit *test)
{
	kp_flags_return_by(test, false, true);
}

static int kp_flags_init(struct kunit *test)
{
	memset(&kp, 0, sizeof(kp));
	return 0;
}

static struct kunit_case kp_flags_cases[] = {
	KUNIT_CASE(kp_flags_break),
	KUNIT_CASE(kp_flags_break_post),
	KUNIT_CASE(kp_flags_jump),
	KUNIT_CASE(kp_flags_jump_post),
	KUNIT_CASE(kp_flags_ftrace),
	KUNIT_CASE(kp_flags_ftrace_post),
	KUNIT_CASE(kp_flags_return_break),
	KUNIT_CASE(kp_flags_return_jump),
	KUNIT_CASE(kp_flags_return_two),
	{}
};

static struct kunit_suite kp_flags_suite = {
	.name = "kprobes_flags",
	.init = kp_flags_init,
	.test_cases = kp_flags_cases,
};

kunit_test_suites(&kp_flags_suite);

MODULE_DESCRIPTION("Probes leave flags alone, or as handlers set them");
MODULE_LICENSE("GPL");
