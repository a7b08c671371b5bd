// SPDX-License-Identifier: GPL-2.0
/*
 * A probe's handler redirects execution to code that returns to the instruction after the probed
 * one. So the text there must stay, and no jump may overwrite it. The probe asks for that with an
 * empty post_handler, or with a flag.
 */

#include <linux/ftrace.h>
#include "kp_opt_suites.h"

/* Other implementations of the interface do not have the flag. */
#if !__has_include("linux/kprobe_reason.h")
#define KPROBE_FLAG_NO_JUMP	0
#endif

static void kp_opt_empty(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

static void __kprobes kp_opt_empty_kprobes(struct kprobe *kp, struct pt_regs *regs,
					   unsigned long flags)
{
}

static const struct kp_post {
	const char *name;
	kprobe_post_handler_t handler;
	bool empty;
} kp_posts[] = {
	{ "c", kp_opt_empty, true },
	{ "kprobes", kp_opt_empty_kprobes, true },
	{ "plain", kp_opt_empty_plain, true },
	{ "frame", kp_opt_empty_frame, true },
	{ "clears", kp_opt_empty_clears, true },
	{ "writes", kp_opt_post_writes, false },
	{ "leads_on", kp_opt_post_leads_on, false },
};

KUNIT_ARRAY_PARAM_DESC(kp_posts, kp_posts, name);

static struct {
	void (*fn)(void);
	int calls;
} kp_opt_helped;

asmlinkage void kp_opt_help(void)
{
	kp_opt_helped.calls++;
	if (kp_opt_helped.fn)
		kp_opt_helped.fn();
}

/* Do what the first instruction does, but for another @a, and call kp_opt_helper(). */
static int __kprobes kp_opt_call(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre++;
	regs->cx = kp_arg1(regs) + 500;
	regs->sp -= sizeof(unsigned long);
	*(unsigned long *)regs->sp = (unsigned long)kp_sum_insn(1);
	regs->ip = (unsigned long)kp_opt_helper;
	return 1;
}

static int kp_opt_keeps_init(struct kunit *test)
{
	memset(&kp_opt_helped, 0, sizeof(kp_opt_helped));
	return kp_opt_init(test);
}

static void kp_opt_calls(struct kunit *test, struct kp_probe *probe, int calls)
{
	int i;

	for (i = 0; i < calls; i++)
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 542);
	KUNIT_EXPECT_EQ(test, kp_opt_helped.calls, calls);
	KUNIT_EXPECT_EQ(test, probe->pre, calls);
}

/* An empty post_handler must suppress the jump, even before the first hit. */
static void kp_opt_empty_keeps(struct kunit *test)
{
	const struct kp_post *post = test->param_value;
	struct kp_probe *probe = kp_new(test, kp_opt_sum);

	probe->kp.post_handler = post->handler;
	kp_register(test, probe);
	if (!post->empty) {
		kp_opt_becomes_jump(test, probe);
		kp_opt_sum_hits(test, probe, 1, 0);
		return;
	}
	kp_opt_stays_int3(test, probe);
	kp_opt_sum_hits(test, probe, 1, 0);
	kp_unregister(test, probe);

	kp_clear_counts(probe);
	probe->kp.pre_handler = kp_opt_call;
	kp_register(test, probe);
	kp_opt_stays_int3(test, probe);
	kp_opt_calls(test, probe, 10);
}

#ifdef CONFIG_FUNCTION_TRACER
static void kp_opt_trace(unsigned long ip, unsigned long parent, struct ftrace_ops *ops,
			 struct ftrace_regs *regs)
{
}

static struct ftrace_ops kp_opt_tracer = { .func = kp_opt_trace };

/* While an empty post_handler is traced, it begins with a call, but must still count as empty. */
static void kp_opt_traced_keeps(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_sum);
	void *at = (void *)kp_opt_empty;

	/* objtool warns about a reference to what follows an endbr. */
	OPTIMIZER_HIDE_VAR(at);
	if (kp_byte_at(at) == 0xf3)
		at += ENDBR_INSN_SIZE;
	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&kp_opt_tracer, (unsigned long)at, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&kp_opt_tracer), 0);
	KUNIT_EXPECT_EQ(test, kp_byte_at(at), CALL_INSN_OPCODE);
	probe->kp.post_handler = kp_opt_empty;
	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	KUNIT_EXPECT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	KUNIT_EXPECT_EQ(test, unregister_ftrace_function(&kp_opt_tracer), 0);
}
#endif

/*
 * A jump that fits into the probed instruction leaves
 * the text after it, so the probe must get the jump.
 */
static __nocfi void kp_opt_empty_fits(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_sum_long);

	probe->kp.post_handler = kp_opt_empty;
	kp_register(test, probe);
	kp_opt_becomes_jump(test, probe);
	KUNIT_EXPECT_EQ(test, kp_opt_sum_long(40, 2), 42);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

static void kp_opt_is_int3(struct kunit *test, struct kp_probe *probe)
{
	KUNIT_EXPECT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	kp_opt_stays_int3(test, probe);
}

/*
 * If a probe with an empty post_handler is registered or enabled,
 * the jump of another probe at its address must be removed.
 */
static void kp_opt_empty_comes(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_sum);
	struct kp_probe *other;
	int post;

	probe->kp.post_handler = kp_opt_empty;
	for (post = 0; post < 2; post++) {
		other = kp_opt_jump(test, kp_opt_sum, post);
		kp_register(test, probe);
		kp_opt_is_int3(test, other);
		kp_opt_sum_hits(test, other, 1, post);
		KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
		kp_opt_becomes_jump(test, other);
		KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
		kp_opt_is_int3(test, other);
		kp_unregister(test, probe);
		kp_opt_becomes_jump(test, other);
		kp_opt_sum_hits(test, other, 2, 2 * post);
		kp_unregister(test, other);
	}
}

/* With the flag, a probe must not be optimised; without it, the same probe must be. */
static __nocfi void kp_opt_flag_keeps(struct kunit *test)
{
	long (*const fns[])(long, long) = { kp_opt_sum, kp_opt_sum_long };
	struct kp_probe *probe, *other;
	int i;

	for (i = 0; i < ARRAY_SIZE(fns); i++) {
		probe = kp_new(test, fns[i]);
		probe->kp.flags = KPROBE_FLAG_NO_JUMP;
		kp_register(test, probe);
		kp_opt_stays_int3(test, probe);
		KUNIT_EXPECT_EQ(test, fns[i](40, 2), 42);
		kp_unregister(test, probe);

		kp_register(test, probe);
		kp_opt_becomes_jump(test, probe);
		other = kp_new(test, fns[i]);
		other->kp.flags = KPROBE_FLAG_NO_JUMP | KPROBE_FLAG_DISABLED;
		kp_register(test, other);
		KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
		KUNIT_EXPECT_EQ(test, enable_kprobe(&other->kp), 0);
		kp_opt_is_int3(test, probe);
		KUNIT_EXPECT_EQ(test, fns[i](40, 2), 42);
		kp_unregister(test, other);
		kp_opt_becomes_jump(test, probe);
		KUNIT_EXPECT_EQ(test, fns[i](40, 2), 42);
		kp_expect_counts(test, probe, 3, 0, 0);
		kp_expect_counts(test, other, 1, 0, 0);
	}
}

/* The first hit, at the breakpoint, redirects execution. After that, no jump may be written. */
static void kp_opt_call_keeps(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_sum);
	int i;

	probe->kp.pre_handler = kp_opt_call;
	kp_register(test, probe);
	for (i = 0; i < 2; i++) {
		kp_opt_calls(test, probe, 5);
		kp_opt_stays_int3(test, probe);
		kp_opt_helped.calls = 0;
		kp_clear_counts(probe);
	}
}

static void kp_opt_help_settles(void)
{
	/*
	 * When kp_opt_settle() returns, all detour buffers and jumps that are possible have been
	 * made. If it fails, -100 makes the case fail, which expects a positive number of calls.
	 */
	if (kp_opt_settle())
		kp_opt_helped.calls = -100;
}

/* While the code that the handler has called sleeps, the jump must not be written. */
static void kp_opt_sleep_keeps(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_sum);

	kp_opt_helped.fn = kp_opt_help_settles;
	probe->kp.pre_handler = kp_opt_call;
	kp_register(test, probe);
	kp_opt_calls(test, probe, 2);
	kp_opt_stays_int3(test, probe);
}

static struct kunit_case kp_opt_keeps_cases[] = {
	KUNIT_CASE_PARAM(kp_opt_empty_keeps, kp_posts_gen_params),
#ifdef CONFIG_FUNCTION_TRACER
	KUNIT_CASE(kp_opt_traced_keeps),
#endif
	KUNIT_CASE(kp_opt_empty_fits),
	KUNIT_CASE(kp_opt_empty_comes),
	KUNIT_CASE(kp_opt_flag_keeps),
	KUNIT_CASE(kp_opt_call_keeps),
	KUNIT_CASE(kp_opt_sleep_keeps),
	{}
};

KP_SUITE(kp_opt_keeps, "kprobes_opt_keeps", .init = kp_opt_keeps_init);
