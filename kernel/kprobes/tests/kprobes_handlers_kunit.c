// SPDX-License-Identifier: GPL-2.0
/* Test handlers of kprobes: their registers, their order, redirection, nested hits */

#include "kprobes_kunit.h"
#include "kp_cases_contexts.h"
#ifdef __ARCH_WANT_PROBEPOINT
#include "kp_cases_nested.h"
#endif

static struct kp_probe *kp_new_post(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_new(test, addr);

	probe->kp.post_handler = kp_count_post;
	return probe;
}

#ifdef CONFIG_X86

/* Check the ip that handlers get, for each instruction of a function. */
static void kp_handlers_addresses(struct kunit *test)
{
	unsigned long start = (unsigned long)kp_x86_sum;
	struct kp_probe *probe;
	int insn;

	for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
		probe = kp_new_post(test, kp_x86_sum_addr(insn));
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
		kp_expect_hits(test, probe, 1);
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		/* The pre_handler gets the ip after the breakpoint, which has one byte. */
		KUNIT_EXPECT_EQ(test, probe->pre_ip, (unsigned long)probe->kp.addr + 1);
		/* After the RET, ip is in the caller. (Below @start, the difference wraps.) */
		if (insn == KP_SUM_RET)
			KUNIT_EXPECT_GE(test, probe->post_ip - start, kp_x86_sum_insn[insn]);
		else
			KUNIT_EXPECT_EQ(test, probe->post_ip,
					(unsigned long)kp_x86_sum_addr(insn + 1));
		KUNIT_EXPECT_FALSE(test, probe->preemptible);
		kp_unregister(test, probe);
	}
}

static int kp_double_argument(struct kprobe *kp, struct pt_regs *regs)
{
	kp_arg1(regs) *= 2;
	return kp_count_pre(kp, regs);
}

static void kp_add_to_result(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	regs->ax += 1000;
	kp_count_post(kp, regs, flags);
}

static void kp_handlers_change_registers(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_x86_sum_addr(KP_SUM_LEA));

	probe->kp.pre_handler = kp_double_argument;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(20, 2), 42);
	kp_unregister(test, probe);

	probe->kp.pre_handler = NULL;
	probe->kp.post_handler = kp_add_to_result;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 1042);
	kp_expect_pre_post(test, probe, 1, 1);
}

static int kp_return_at_once(struct kprobe *kp, struct pt_regs *regs)
{
	kp_count_pre(kp, regs);
	regs->ax = kp_arg1(regs) * 2;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

/* After a redirection, no further pre_handler runs, and no post_handler. */
static void kp_handlers_divert(struct kunit *test)
{
	struct kp_probe *older = kp_new_post(test, kp_x86_sum);
	struct kp_probe *divert = kp_new_post(test, kp_x86_sum);
	struct kp_probe *newer = kp_new_post(test, kp_x86_sum);

	divert->kp.pre_handler = kp_return_at_once;
	KUNIT_ASSERT_EQ(test, kp_register(test, divert), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 20);
	kp_expect_pre_post(test, divert, 1, 0);
	kp_unregister(test, divert);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 11);

	KUNIT_ASSERT_EQ(test, kp_register(test, older), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, divert), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, newer), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 20);
	kp_expect_pre_post(test, newer, 1, 0);
	kp_expect_pre_post(test, divert, 2, 0);
	kp_expect_hits(test, older, 0);

	KUNIT_EXPECT_EQ(test, kp_disable(divert), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 11);
	kp_expect_pre_post(test, newer, 2, 1);
	kp_expect_hits(test, older, 1);
	KUNIT_EXPECT_EQ(test, newer->kp.nmissed + divert->kp.nmissed + older->kp.nmissed, 0);
}
#endif

static unsigned int kp_runs;

/* Each handler records the number of its call, to show the order. */
KP_PRE_HANDLER(, kp_number_pre, to_kp_probe(p)->pre = ++kp_runs)

KP_POST_HANDLER(, kp_number_post, to_kp_probe(p)->post = ++kp_runs)

/*
 * While a probe is registered, its pre_handler may be replaced. A post_handler that is set then is
 * called after the probe was disabled and enabled.
 */
static void kp_handlers_late(struct kunit *test)
{
	long (*const targets[])(long arg) = { kp_target, kp_target_notrace };
	struct kp_probe *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		probe = kp_registered(test, targets[i]);
		kp_settle(test, &probe->kp);
		WRITE_ONCE(probe->kp.pre_handler, kp_number_pre);
		kp_runs = 40;
		KUNIT_EXPECT_EQ(test, targets[i](1), 2);
		kp_expect_pre_post(test, probe, 41, 0);
		WRITE_ONCE(probe->kp.post_handler, kp_number_post);
		KUNIT_EXPECT_EQ(test, kp_disable(probe), 0);
		KUNIT_EXPECT_EQ(test, kp_enable(test, probe), 0);
		KUNIT_EXPECT_EQ(test, targets[i](1), 2);
		kp_expect_pre_post(test, probe, 42, 43);
	}
}

/*
 * A hit must call all pre_handlers, and then all post_handlers, each beginning with the probe that
 * was registered last. Disabling and enabling a probe must not change the order.
 */
static void kp_handlers_order(struct kunit *test)
{
	struct kp_probe *probe[4];
	int i, again;

	for (i = 0; i < 4; i++) {
		probe[i] = kp_new(test, kp_target);
		probe[i]->kp.pre_handler = kp_number_pre;
		probe[i]->kp.post_handler = kp_number_post;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe[i]), 0);
	}
	for (again = 0; again < 2; again++) {
		kp_runs = 0;
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, kp_runs, 8);
		for (i = 0; i < 4; i++)
			kp_expect_pre_post(test, probe[3 - i], 1 + i, 5 + i);
		KUNIT_EXPECT_EQ(test, kp_disable(probe[1]), 0);
		KUNIT_EXPECT_EQ(test, kp_enable(test, probe[1]), 0);
	}
}

/* A hit must call a probe without a post_handler, and one with that is registered later. */
static void kp_handlers_post_joins(struct kunit *test)
{
	struct kp_probe *plain = kp_registered(test, kp_target);
	struct kp_probe *joins = kp_new_post(test, kp_target);
	int i;

	kp_expect_call(test, plain, kp_target, 1);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, joins), 0);
		kp_expect_call(test, joins, kp_target, i);
		kp_unregister(test, joins);
		kp_expect_unprobed(test, joins, kp_target);
	}
	kp_expect_hits(test, plain, 7);

	joins->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, joins), 0);
	kp_expect_unprobed(test, joins, kp_target);
	KUNIT_EXPECT_EQ(test, kp_enable(test, joins), 0);
	kp_expect_call(test, joins, kp_target, 4);
	KUNIT_EXPECT_EQ(test, kp_disable(joins), 0);
	kp_expect_unprobed(test, joins, kp_target);
}

static void kp_handlers_post_only(struct kunit *test)
{
	struct kp_probe *probe = kp_new_post(test, kp_target);

	probe->kp.pre_handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, kp_target, 1);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

/*
 * One probed function calls another. The second hit is not nested in the first, whose handlers have
 * ended, so it must not be missed.
 */
static void kp_handlers_nested_functions(struct kunit *test)
{
	struct kp_probe *outer = kp_new_post(test, kp_target_calls);
	struct kp_probe *inner = kp_new_post(test, kp_target);

	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, inner), 0);
	kp_expect_call(test, outer, kp_target_calls, 1);
	kp_expect_hits(test, inner, 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed + inner->kp.nmissed, 0);
}

#ifdef __ARCH_WANT_PROBEPOINT

static long kp_nested_results[2];

static void kp_nested_calls(void)
{
	kp_nested_results[0] = kp_x86_sum(10, 1);
	kp_nested_results[1] = kp_target_other(10);
}

/*
 * Handlers of nested hits redirect execution: at a breakpoint or a jump in kp_x86_sum(), and at
 * ftrace's call in kp_target_other().
 */
static void kp_handlers_nested_divert(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, kp_target), *older, *divert[2];
	int i;

	for (i = 0; i < 2; i++) {
		older = kp_new(test, i ? (void *)kp_target_other : kp_x86_sum);
		divert[i] = kp_new(test, older->kp.addr);
		older->kp.flags = KPROBE_FLAG_NEST;
		divert[i]->kp.flags = KPROBE_FLAG_NEST;
		divert[i]->kp.pre_handler = kp_return_at_once;
		kp_prepare_hook(divert[i], 0, kp_nested_context);
		KUNIT_ASSERT_EQ(test, kp_register(test, older), 0);
		KUNIT_ASSERT_EQ(test, kp_register(test, divert[i]), 0);
	}
	outer->kp.flags = KPROBE_FLAG_NEST;
	kp_prepare_hook(outer, 0, kp_nested_calls);
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, outer, kp_target, i);
		KUNIT_EXPECT_EQ(test, kp_nested_results[0], 20);
		KUNIT_EXPECT_EQ(test, kp_nested_results[1], 20);
		kp_expect_hits(test, divert[0], i);
		kp_expect_hits(test, divert[1], i);
	}
	KUNIT_EXPECT_EQ(test, kp_missed(divert[0]) + kp_missed(divert[1]), 0);
	KUNIT_EXPECT_FALSE(test, kp_nested_in_nmi);
}

#endif

static struct kunit_case kp_handlers_cases[] = {
#ifdef CONFIG_X86
	KUNIT_CASE(kp_handlers_addresses),
	KUNIT_CASE(kp_handlers_change_registers),
	KUNIT_CASE(kp_handlers_divert),
#endif
	KUNIT_CASE(kp_handlers_late),
	KUNIT_CASE(kp_handlers_order),
	KUNIT_CASE(kp_handlers_post_joins),
	KUNIT_CASE(kp_handlers_post_only),
	KUNIT_CASE(kp_handlers_nested_functions),
	KP_CASES_CONTEXTS,
#ifdef CONFIG_X86
	KP_CASES_INTERRUPTS,
#endif
#ifdef __ARCH_WANT_PROBEPOINT
	KUNIT_CASE(kp_handlers_nested_divert),
	KP_CASES_NESTED,
#endif
	{}
};

KP_SUITE(kp_handlers, "kprobes_handlers");
