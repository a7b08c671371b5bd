// SPDX-License-Identifier: GPL-2.0
/* Test handlers that redirect execution, also to instructions that a jump has overwritten. */

#include <linux/probepoint.h>
#include "kp_opt_suites.h"

static int kp_opt_return(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre++;
	regs->ax = kp_arg1(regs) * 2;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

static int kp_opt_redirect(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre++;
	kp_arg1(regs) += 100;
	regs->ip = (unsigned long)kp_opt_sum_other;
	return 1;
}

/* Push kp_opt_sum_other as return address, and redirect execution to kp_opt_add_thousand. */
static int kp_opt_call_first(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre++;
	regs->sp -= sizeof(unsigned long);
	*(unsigned long *)regs->sp = (unsigned long)kp_opt_sum_other;
	regs->ip = (unsigned long)kp_opt_add_thousand;
	return 1;
}

/* Redirect execution to the second instruction, which a jump may have overwritten. */
static int kp_opt_pass_over(struct kprobe *kp, struct pt_regs *regs)
{
	bool is_long = (void *)kp->addr - (void *)kp_opt_sum_long == kp_opt_sum_long_insn[0];

	to_kp_probe(kp)->pre++;
	regs->cx = 5000;
	if (is_long)
		regs->ip = (unsigned long)kp_opt_sum_long + kp_opt_sum_long_insn[1];
	else
		regs->ip = (unsigned long)kp_sum_insn(1);
	return 1;
}

static const struct kp_divert {
	const char *name;
	kprobe_pre_handler_t handler;
	long result;
} kp_diverts[] = {
	{ "return", kp_opt_return, 80 },
	{ "redirect", kp_opt_redirect, 142 },
	{ "call_first", kp_opt_call_first, 1042 },
	{ "pass_over", kp_opt_pass_over, 5002 },
};

KUNIT_ARRAY_PARAM_DESC(kp_diverts, kp_diverts, name);

/*
 * The first five hits are at the breakpoint, the others at the jump. After a handler has redirected
 * execution, a probepoint keeps no jump that overwrites the instruction after the probed one: the
 * code that was redirected to may resume there. Here the jump fits into the probed instruction, so
 * it must stay.
 */
static __nocfi void kp_opt_diverts_long(struct kunit *test)
{
	const struct kp_divert *divert = test->param_value;
	struct kp_probe *older = kp_new_post(test, kp_opt_sum_long, true);
	struct kp_probe *probe = kp_new(test, kp_opt_sum_long);
	int i;

	probe->kp.pre_handler = divert->handler;
	kp_register(test, older);
	kp_register(test, probe);
	for (i = 1; i <= 10; i++) {
		if (i == 6)
			kp_opt_becomes_jump(test, probe);
		KUNIT_EXPECT_EQ(test, kp_opt_sum_long(40, 2), divert->result);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
	}
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
	kp_expect_counts(test, older, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
	kp_opt_becomes_jump(test, older);
	KUNIT_EXPECT_EQ(test, kp_opt_sum_long(40, 2), 42);
	kp_expect_counts(test, older, 1, 1, 0);
}

/*
 * The first hit is at a jump that covers several instructions.
 * As its handler redirects, the jump must be removed.
 */
static __nocfi void kp_opt_diverts_short(struct kunit *test)
{
	const struct kp_divert *divert = test->param_value;
	struct kp_probe *older = kp_new_post(test, kp_opt_sum, true);
	struct kp_probe *probe = kp_new(test, kp_opt_sum);
	int i;

	probe->kp.pre_handler = divert->handler;
	kp_register(test, older);
	kp_register(test, probe);
	kp_opt_becomes_jump(test, probe);
	for (i = 1; i <= 10; i++) {
		if (i == 2)
			KUNIT_ASSERT_TRUE(test, kp_wait_jump(probe->kp.addr, false));
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), divert->result);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
	}
	kp_opt_stays_int3(test, probe);
	kp_expect_counts(test, older, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
	kp_opt_stays_int3(test, older);
	kp_opt_sum_hits(test, older, 1, 1);
	kp_unregister(test, probe);
	kp_unregister(test, older);
	/* A new probepoint at the address must be optimised again. */
	kp_register(test, older);
	kp_opt_becomes_jump(test, older);
	kp_opt_sum_hits(test, older, 2, 2);
}

/*
 * While unregister_kprobes() runs, a probe leaves its probepoint some time before hits stop calling
 * it. If its handler redirects in that time, the jump must be removed, too.
 */
static __nocfi void kp_opt_diverts_detached(struct kunit *test)
{
	const struct kp_divert *divert = test->param_value;
	struct kp_probe *older = kp_new_post(test, kp_opt_sum, true);
	struct kp_probe *probe = kp_new(test, kp_opt_sum);

	probe->kp.pre_handler = divert->handler;
	kp_register(test, older);
	kp_register(test, probe);
	kp_opt_becomes_jump(test, probe);
	scoped_guard(mutex, &kprobe_mutex) {
		struct probepoint *pp = probe->kp.point;

		WRITE_ONCE(probe->kp.point, NULL);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), divert->result);
		WRITE_ONCE(probe->kp.point, pp);
	}
	kp_unregister(test, probe);
	KUNIT_ASSERT_TRUE(test, kp_wait_jump(older->kp.addr, false));
	kp_opt_stays_int3(test, older);
	kp_opt_sum_hits(test, older, 1, 1);
}

static struct {
	unsigned long ip;
	/* forever if negative */
	int times;
} kp_opt_send;

static void __kprobes kp_opt_send_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_count_post(kp, regs, flags);
	if (!kp_opt_send.times)
		return;
	if (kp_opt_send.times > 0)
		kp_opt_send.times--;
	regs->ip = kp_opt_send.ip;
}

static unsigned long kp_row_insn(const struct kp_probe *probe, int insn)
{
	return (unsigned long)probe->kp.addr + insn * KP_ROW_SIZE;
}

/* After the first instruction, redirect execution to each of the others in turn. */
static void kp_opt_post_goes(struct kunit *test, struct kp_probe *probe)
{
	/*
	 * Pass kp_opt_row() the arguments of kp_opt_sum_other(), to which the last hit redirects.
	 */
	long (*sum)(long, long) = (void *)kp_opt_row;
	int insn;

	kp_opt_send.times = -1;
	for (insn = 1; insn < KP_ROW_INSNS; insn++) {
		kp_clear_counts(probe);
		kp_opt_send.ip = kp_row_insn(probe, insn);
		KUNIT_EXPECT_EQ_MSG(test, kp_opt_row(), KP_ROW_INSNS - insn + 1, "to %d", insn);
		kp_expect_counts(test, probe, 1, 1, 0);
		KUNIT_EXPECT_EQ(test, probe->post_ip, kp_row_insn(probe, 1));
	}
	/* Redirect to the probed instruction three times: these are three further hits. */
	kp_clear_counts(probe);
	kp_opt_send.ip = kp_row_insn(probe, 0);
	kp_opt_send.times = 3;
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
	kp_expect_counts(test, probe, 4, 4, 0);
	kp_opt_send.ip = (unsigned long)kp_opt_sum_other;
	kp_opt_send.times = 1;
	KUNIT_EXPECT_EQ(test, sum(40, 2), 42);
}

static void kp_opt_post_diverts(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_row);
	struct kp_probe *other = kp_new_post(test, kp_opt_sum_other, true);

	probe->kp.post_handler = kp_opt_send_post;
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	kp_register(test, probe);
	kp_register(test, other);
	kp_opt_post_goes(test, probe);
	KUNIT_ASSERT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	kp_opt_becomes_jump(test, probe);
	kp_opt_becomes_jump(test, other);
	kp_opt_post_goes(test, probe);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed + other->kp.nmissed, 0);
}

/* This function has ftrace's call at its entry. */
noinline long kp_opt_entry(long a, long b);
noinline long kp_opt_entry(long a, long b)
{
	barrier();
	return a - b;
}

/* Do the first instruction of kp_opt_sum_other(), and resume at its second one. */
static int __kprobes kp_opt_go_under(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre++;
	regs->cx = kp_arg1(regs);
	regs->ip = (unsigned long)kp_opt_sum_other + kp_opt_sum_insn[1];
	return 1;
}

/* Redirect from @fn to the second instruction of kp_opt_sum_other(), which a jump covers. */
static __nocfi void kp_opt_diverts_under(struct kunit *test, long (*fn)(long a, long b),
					 bool by_post)
{
	struct kp_probe *covers = kp_opt_jump(test, kp_opt_sum_other, true);
	struct kp_probe *from = kp_new(test, fn);
	int i;

	kp_opt_send.ip = (unsigned long)kp_opt_sum_other + kp_opt_sum_insn[1];
	kp_opt_send.times = -1;
	if (by_post)
		from->kp.post_handler = kp_opt_send_post;
	else
		from->kp.pre_handler = kp_opt_go_under;
	kp_register(test, from);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, fn(40, 2), 42);
		kp_expect_counts(test, from, i, by_post ? i : 0, 0);
		KUNIT_EXPECT_EQ(test, covers->pre + covers->post, 0);
		if (by_post && i == 5)
			kp_opt_becomes_jump(test, from);
	}
	KUNIT_EXPECT_TRUE(test, kp_is_jump(covers->kp.addr));
}

KP_CASE(kp_opt_post_diverts_under, kp_opt_diverts_under(test, kp_opt_sum, true))
KP_CASE(kp_opt_entry_diverts_under, kp_opt_diverts_under(test, kp_opt_entry, false))

static struct kunit_case kp_opt_diverts_cases[] = {
	KUNIT_CASE_PARAM(kp_opt_diverts_long, kp_diverts_gen_params),
	KUNIT_CASE_PARAM(kp_opt_diverts_short, kp_diverts_gen_params),
	KUNIT_CASE_PARAM(kp_opt_diverts_detached, kp_diverts_gen_params),
	KUNIT_CASE(kp_opt_post_diverts),
	KUNIT_CASE(kp_opt_post_diverts_under),
	KUNIT_CASE(kp_opt_entry_diverts_under),
	{}
};

KP_SUITE(kp_opt_diverts, "kprobes_opt_diverts", .init = kp_opt_init);
