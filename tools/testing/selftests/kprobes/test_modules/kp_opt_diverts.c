// SPDX-License-Identifier: GPL-2.0
/*
 * Handlers of jump-optimised probes that send execution elsewhere: also to instructions that
 * a jump covers, which are only in the detour.
 */

#include "kp_opt_suites.h"

/* Returns to the caller at once, with twice the first argument. */
static int kp_opt_return(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	regs->ax = kp_arg1(regs) * 2;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

/* Goes to the other function instead. */
static int kp_opt_redirect(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	kp_arg1(regs) += 100;
	regs->ip = (unsigned long)kp_opt_sum_other;
	return 1;
}

/* Calls a function first, which returns to the other one: pushes, as a call does. */
static int kp_opt_call_first(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	regs->sp -= sizeof(unsigned long);
	*(unsigned long *)regs->sp = (unsigned long)kp_opt_sum_other;
	regs->ip = (unsigned long)kp_opt_add_thousand;
	return 1;
}

/* To where it would have gone anyway, past the first instruction. */
static int kp_opt_pass_over(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	regs->cx = 5000;
	regs->ip = (unsigned long)kp_sum_insn(1);
	return 1;
}

static void kp_opt_divert(struct kunit *test, kprobe_pre_handler_t handler, long wanted)
{
	struct kp_opt_probe *older = kp_opt_new(test, kp_opt_sum, true);
	struct kp_opt_probe *divert = kp_opt_new(test, kp_opt_sum, false);
	int i, mode;

	divert->kp.pre_handler = handler;
	kp_opt_add(test, older);
	kp_opt_add(test, divert);
	for (mode = 0; mode < 2; mode++) {
		if (mode)
			kp_opt_becomes_jump(test, divert);
		for (i = 0; i < 5; i++) {
			divert->pre = 0;
			KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), wanted);
			KUNIT_EXPECT_EQ(test, divert->pre, 1);
		}
	}
	/* Those after it had nothing to see, and its end is the end of that. */
	KUNIT_EXPECT_EQ(test, older->pre, 0);
	KUNIT_EXPECT_EQ(test, older->post, 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&divert->kp), 0);
	kp_opt_becomes_jump(test, older);
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
	KUNIT_EXPECT_EQ(test, older->pre, 1);
	KUNIT_EXPECT_EQ(test, older->post, 1);
	kp_opt_del(test, divert);
	kp_opt_del(test, older);
}

static void kp_opt_diverts(struct kunit *test)
{
	kp_opt_divert(test, kp_opt_return, 80);
	kp_opt_divert(test, kp_opt_redirect, 142);
	kp_opt_divert(test, kp_opt_call_first, 1042);
	/* Where the jump is there is no second instruction, but in the detour there is. */
	kp_opt_divert(test, kp_opt_pass_over, 5002);
}

/*
 * Post_handlers.
 */

static struct {
	unsigned long ip;
	/* How often; or always, if it is negative. */
	int times;
} kp_opt_send;

static void kp_opt_send_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_opt_post(kp, regs, flags);
	if (!kp_opt_send.times)
		return;
	if (kp_opt_send.times > 0)
		kp_opt_send.times--;
	regs->ip = kp_opt_send.ip;
}

NOKPROBE_SYMBOL(kp_opt_send_post);

/* @probe is at the first one. */
static unsigned long kp_row_insn(const struct kp_opt_probe *probe, int insn)
{
	return (unsigned long)probe->kp.addr + insn * KP_ROW_SIZE;
}

/* From behind the probed instruction, the first, to each of the others. */
static void kp_opt_post_goes(struct kunit *test, struct kp_opt_probe *probe)
{
	int insn;

	kp_opt_send.times = -1;
	for (insn = 1; insn < KP_ROW_INSNS; insn++) {
		probe->pre = 0;
		probe->post = 0;
		kp_opt_send.ip = kp_row_insn(probe, insn);
		/* One was run, and those between are left out. */
		KUNIT_EXPECT_EQ_MSG(test, kp_opt_row(), KP_ROW_INSNS - insn + 1, "to %d", insn);
		KUNIT_EXPECT_EQ(test, probe->pre, 1);
		KUNIT_EXPECT_EQ(test, probe->post, 1);
		KUNIT_EXPECT_EQ(test, probe->post_ip, kp_row_insn(probe, 1));
	}
	/* The probed one again is another hit. */
	probe->pre = 0;
	probe->post = 0;
	kp_opt_send.ip = kp_row_insn(probe, 0);
	kp_opt_send.times = 3;
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
	KUNIT_EXPECT_EQ(test, probe->pre, 4);
	KUNIT_EXPECT_EQ(test, probe->post, 4);
	/* To another function, which has its own jump. */
	kp_opt_send.ip = (unsigned long)kp_opt_sum_other;
	kp_opt_send.times = 1;
	KUNIT_EXPECT_EQ(test, ((long (*)(long, long))kp_opt_row)(40, 2), 42);
}

/* First with a breakpoint, then with a jump. */
static void kp_opt_post_diverts(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_row, false);
	struct kp_opt_probe *other = kp_opt_new(test, kp_opt_sum_other, true);

	probe->kp.post_handler = kp_opt_send_post;
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	kp_opt_add(test, probe);
	kp_opt_add(test, other);
	kp_opt_post_goes(test, probe);
	KUNIT_ASSERT_EQ(test, kp_byte_at(probe->kp.addr), INT3_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	kp_opt_becomes_jump(test, probe);
	kp_opt_becomes_jump(test, other);
	kp_opt_post_goes(test, probe);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probe->kp.addr));
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed + other->kp.nmissed, 0);
}

/* From elsewhere to what a jump covers. */
static void kp_opt_post_diverts_under(struct kunit *test)
{
	struct kp_opt_probe *from = kp_opt_new(test, kp_opt_sum, false);
	struct kp_opt_probe *covers = kp_opt_new(test, kp_opt_sum_other, true);
	int i;

	from->kp.post_handler = kp_opt_send_post;
	kp_opt_add(test, covers);
	kp_opt_becomes_jump(test, covers);
	kp_opt_send.ip = (unsigned long)kp_opt_sum_other + kp_opt_sum_insn[1];
	kp_opt_send.times = -1;
	kp_opt_add(test, from);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, from->post, i + 1);
		/* It was not entered by its first instruction. */
		KUNIT_EXPECT_EQ(test, covers->pre, 0);
		KUNIT_EXPECT_EQ(test, covers->post, 0);
		kp_opt_becomes_jump(test, from);
	}
	KUNIT_EXPECT_TRUE(test, kp_is_jump(covers->kp.addr));
}

/* What ftrace has a call in: a probe at its entry has no breakpoint. */
noinline long kp_opt_entry(long a, long b);
noinline long kp_opt_entry(long a, long b)
{
	barrier();
	return a - b;
}

/* To the second instruction of the other function, having done the first. */
static int kp_opt_go_under(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	regs->cx = kp_arg1(regs);
	regs->ip = (unsigned long)kp_opt_sum_other + kp_opt_sum_insn[1];
	return 1;
}

NOKPROBE_SYMBOL(kp_opt_go_under);

/* From the entry of a function to what a jump covers. */
static void kp_opt_entry_diverts_under(struct kunit *test)
{
	struct kp_opt_probe *from = kp_opt_new(test, kp_opt_entry, false);
	struct kp_opt_probe *covers = kp_opt_new(test, kp_opt_sum_other, true);
	int i;

	kp_opt_add(test, covers);
	kp_opt_becomes_jump(test, covers);
	from->kp.pre_handler = kp_opt_go_under;
	kp_opt_add(test, from);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_opt_entry(40, 2), 42);
		KUNIT_EXPECT_EQ(test, from->pre, i);
		KUNIT_EXPECT_EQ(test, covers->pre, 0);
	}
	KUNIT_EXPECT_TRUE(test, kp_is_jump(covers->kp.addr));
}

static struct kunit_case kp_opt_diverts_cases[] = {
	KUNIT_CASE(kp_opt_diverts),
	KUNIT_CASE(kp_opt_post_diverts),
	KUNIT_CASE(kp_opt_post_diverts_under),
	KUNIT_CASE(kp_opt_entry_diverts_under),
	{}
};

struct kunit_suite kp_opt_diverts_suite = {
	.name = "kprobes_opt_diverts",
	.init = kp_opt_init,
	.test_cases = kp_opt_diverts_cases,
};
