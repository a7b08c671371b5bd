// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite for the flags register. A probe at a function's entry, inside it or at its return
 * must leave all flags as they were, or as its handlers have set them.
 */

#include <linux/cpufeature.h>
#include <asm/debugreg.h>
#include <asm/irqflags.h>
#include <asm/processor-flags.h>
#include <asm/smap.h>
#include "kp_flags.h"
#include "kp_opt.h"

/* The cases try all combinations of these flags. */
#define KP_ALL_ARITHMETIC (X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			   X86_EFLAGS_SF | X86_EFLAGS_OF)

/*
 * 0, then flags that may be set while the probed function
 * runs and when it returns, but must be clear at a call
 */
static const unsigned long kp_unsafe[] = {
	0, X86_EFLAGS_DF, X86_EFLAGS_AC, X86_EFLAGS_NT, X86_EFLAGS_ID,
	X86_EFLAGS_DF | X86_EFLAGS_AC, X86_EFLAGS_DF | X86_EFLAGS_AC | X86_EFLAGS_NT,
};

/* Flags that handlers invert. IF is set at each hit, so inverting it disables interrupts. */
static const unsigned long kp_changes[] = {
	0, X86_EFLAGS_CF, X86_EFLAGS_PF, X86_EFLAGS_AF, X86_EFLAGS_ZF, X86_EFLAGS_SF,
	X86_EFLAGS_OF, KP_ALL_ARITHMETIC, X86_EFLAGS_DF, X86_EFLAGS_AC, X86_EFLAGS_NT,
	X86_EFLAGS_ID, X86_EFLAGS_IF, X86_EFLAGS_IF | X86_EFLAGS_OF,
	X86_EFLAGS_AC | X86_EFLAGS_DF | X86_EFLAGS_CF,
};

static struct {
	unsigned long change, post_change, shown, post_shown;
	unsigned int hits, posts, traps;
	unsigned long unsafe_in_handler;
	bool at_call;
	struct kprobe kp;
	struct kretprobe rp, other;
} kp;

/*
 * Check that AC, DF and NT are clear, as compiled code requires. Then clear AC, as a handler does
 * when it accesses user memory: that must not change the AC of the probed code.
 */
static void kp_flags_in_handler(void)
{
	kp.unsafe_in_handler |= native_save_fl() & (X86_EFLAGS_AC | X86_EFLAGS_DF | X86_EFLAGS_NT);
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
	return kp_flags_pre(NULL, regs);
}

KP_RETURN_HANDLER(, kp_flags_other_handler, kp_flags_in_handler())

/* Call @fn with @flags. The handlers flip @change; the post_handler, @post_change. */
static bool kp_flags_call(struct kunit *test, unsigned long (*fn)(unsigned long),
			  unsigned long flags, unsigned long change, unsigned long post_change)
{
	unsigned long wanted = flags ^ change, got;

	kp.change = change;
	kp.post_change = post_change;
	kp.hits = 0;
	kp.posts = 0;
	kp.unsafe_in_handler = 0;
	got = fn(flags) & ~X86_EFLAGS_RF;
	KUNIT_EXPECT_EQ(test, kp.hits, 1);
	KUNIT_EXPECT_EQ(test, kp.shown & ~X86_EFLAGS_RF, flags);
	KUNIT_EXPECT_EQ(test, kp.unsafe_in_handler, 0);
	if (kp.kp.post_handler) {
		KUNIT_EXPECT_EQ(test, kp.posts, 1);
		KUNIT_EXPECT_EQ(test, kp.post_shown & ~X86_EFLAGS_RF, wanted);
		wanted ^= post_change;
	}
	/*
	 * At a call, arithmetic flags are undefined: ftrace-based probes restore them only if a
	 * handler has changed a flag.
	 */
	if (kp.at_call && wanted == flags) {
		wanted &= ~KP_ALL_ARITHMETIC;
		got &= ~KP_ALL_ARITHMETIC;
	}
	if (got != wanted)
		KUNIT_FAIL(test, "flags %lx, changed by %lx and %lx: are %lx, not %lx\n", flags,
			   change, post_change, got, wanted);
	return got == wanted && !kp.unsafe_in_handler;
}

/* Call @fn with all combinations of arithmetic flags, and the first @nr_unsafe of kp_unsafe[]. */
static void kp_flags_calls(struct kunit *test, unsigned long (*fn)(unsigned long), int nr_unsafe)
{
	unsigned long flags, arithmetic = 0;
	int i, j;

	do {
		flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF | arithmetic;
		for (i = 0; i < nr_unsafe; i++) {
			for (j = 0; j < ARRAY_SIZE(kp_changes); j++) {
				unsigned long change = kp_changes[j];

				if (!kp_flags_call(test, fn, flags | kp_unsafe[i], change, 0))
					return;
				if (!kp.kp.post_handler)
					continue;
				if (!kp_flags_call(test, fn, flags | kp_unsafe[i], 0, change) ||
				    !kp_flags_call(test, fn, flags | kp_unsafe[i], change, change))
					return;
			}
		}
		cond_resched();
		/*
		 * Next combination of these flags: the subtraction borrows across the other bits.
		 */
		arithmetic = (arithmetic - KP_ALL_ARITHMETIC) & KP_ALL_ARITHMETIC;
	} while (arithmetic);
}

/* Count the debug exceptions. A handler has set TF, so the CPU must raise one. */

static int __kprobes kp_flags_debug(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;

	if (event != DIE_DEBUG || user_mode(args->regs) || !(*(unsigned long *)args->err & DR_STEP))
		return NOTIFY_DONE;
	*(unsigned long *)args->err &= ~DR_STEP;
	args->regs->flags &= ~X86_EFLAGS_TF;
	kp.traps++;
	return NOTIFY_STOP;
}

static struct notifier_block kp_flags_nb = { .notifier_call = kp_flags_debug, .priority = INT_MAX };

static void kp_flags_traps(struct kunit *test, unsigned long (*fn)(unsigned long))
{
	unsigned long flags = X86_EFLAGS_FIXED | X86_EFLAGS_IF | X86_EFLAGS_ZF;
	int post;

	kp_die_notifier_add(test, &kp_flags_nb);
	for (post = 0; post <= !!kp.kp.post_handler; post++) {
		kp.traps = 0;
		kp.change = post ? 0 : X86_EFLAGS_TF;
		kp.post_change = post ? X86_EFLAGS_TF : 0;
		KUNIT_EXPECT_EQ(test, fn(flags) & ~X86_EFLAGS_RF, flags);
		KUNIT_EXPECT_EQ(test, kp.traps, 1);
	}
	kp_die_notifier_del(test, &kp_flags_nb);
}

/* Before registration: switch optimisation, or skip the case */
static void kp_flags_want_jump(struct kunit *test, bool jump)
{
	if (jump && !kp_opt_available())
		kunit_skip(test, "no jump optimisation in this kernel");
	if (kp_opt_available())
		KUNIT_ASSERT_EQ(test, kp_opt_switch(jump), 0);
}

/* After registration: if @jump, wait until the probe is optimised. */
static void kp_flags_wait_jump(struct kunit *test, void *addr, bool jump)
{
	if (!jump)
		return;
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_ASSERT_TRUE(test, kp_is_jump(addr));
}

static void kp_flags_register(struct kunit *test, void *addr, bool post)
{
	kp.kp.addr = addr;
	kp.kp.pre_handler = kp_flags_pre;
	kp.kp.post_handler = post ? kp_flags_post : NULL;
	kp_kprobe_add(test, &kp.kp);
}

static void kp_flags_within_by(struct kunit *test, bool post, bool jump)
{
	kp_flags_want_jump(test, jump);
	kp_flags_register(test, kp_flags_probed, post);
	kp_flags_wait_jump(test, kp.kp.addr, jump);
	kp_flags_calls(test, kp_flags_within, ARRAY_SIZE(kp_unsafe));
	kp_flags_traps(test, kp_flags_within);
}

/*
 * Skip the case with call depth tracking, which changes
 * arithmetic flags at calls and returns, with or without a probe.
 */
static void kp_flags_survive_return(struct kunit *test)
{
	if (boot_cpu_has(X86_FEATURE_CALL_DEPTH))
		kunit_skip(test, "returns change flags");
}

static void kp_flags_ftrace_by(struct kunit *test, bool post)
{
	if (!IS_ENABLED(CONFIG_KPROBES_ON_FTRACE))
		kunit_skip(test, "no probes by way of ftrace in this kernel");
	if (IS_ENABLED(CONFIG_X86_32))
		kunit_skip(test, "ftrace changes flags before it saves them, and restores none");
	kp_flags_survive_return(test);
	kp_flags_register(test, kp_flags_traced, post);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&kp.kp));
	/* Only the first of kp_unsafe[], which is 0: the others must be clear at a call. */
	kp.at_call = true;
	kp_flags_calls(test, kp_flags_entry, 1);
	kp_flags_traps(test, kp_flags_entry);
}

static void kp_flags_register_return(struct kunit *test, struct kretprobe *rp,
				     kretprobe_handler_t handler)
{
	rp->kp.addr = (void *)kp_flags_returning;
	rp->handler = handler;
	kp_kretprobe_add(test, rp);
}

/* With two return probes on the function, the trampoline leaves all work to C. */
static void kp_flags_return_by(struct kunit *test, bool two, bool jump)
{
	kp_flags_survive_return(test);
	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "no return probes in this kernel");
	kp_flags_want_jump(test, jump);
	kp_flags_register_return(test, &kp.rp, kp_flags_handler);
	if (two)
		kp_flags_register_return(test, &kp.other, kp_flags_other_handler);
	kp_flags_wait_jump(test, kp.rp.kp.addr, jump);
	kp_flags_calls(test, kp_flags_return, ARRAY_SIZE(kp_unsafe));
	kp_flags_traps(test, kp_flags_return);
}

KP_CASE(kp_flags_break, kp_flags_within_by(test, false, false))
KP_CASE(kp_flags_break_post, kp_flags_within_by(test, true, false))
KP_CASE(kp_flags_jump, kp_flags_within_by(test, false, true))
KP_CASE(kp_flags_jump_post, kp_flags_within_by(test, true, true))
KP_CASE(kp_flags_ftrace, kp_flags_ftrace_by(test, false))
KP_CASE(kp_flags_ftrace_post, kp_flags_ftrace_by(test, true))
KP_CASE(kp_flags_return_break, kp_flags_return_by(test, false, false))
KP_CASE(kp_flags_return_jump, kp_flags_return_by(test, false, true))
KP_CASE(kp_flags_return_two, kp_flags_return_by(test, true, false))

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

KP_ONLY_SUITE(kp_flags, "kprobes_flags", "Probes leave flags alone, or as handlers set them",
	      .init = kp_flags_init);
