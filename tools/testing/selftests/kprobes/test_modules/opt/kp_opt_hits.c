// SPDX-License-Identifier: GPL-2.0
/*
 * Hits of an optimised probe must have the same effect as hits of any other probe. The script
 * insn-stepped runs the suites of kprobes_kunit with jumps; this file has the cases that these
 * suites lack.
 */

#include "kp_opt_suites.h"

/* Only the five bytes of the jump may differ from the original text. */
static void kp_opt_text_is_jump(struct kunit *test)
{
	struct kp_bytes before, now;
	int i, at;

	kp_bytes_save(test, &before, kp_opt_sum);
	for (i = 0; i < 3; i++) {
		struct kp_probe *probe = kp_opt_jump(test, kp_opt_sum, false);
		unsigned long to = kp_jump_target(probe->kp.addr);

		at = (void *)probe->kp.addr - before.addr;
		kp_bytes_save(test, &now, before.addr);
		memcpy(now.byte + at, before.byte + at, JMP32_INSN_SIZE);
		KUNIT_EXPECT_MEMEQ(test, now.byte, before.byte, sizeof(now.byte));
		KUNIT_EXPECT_FALSE(test, to - (unsigned long)kp_opt_sum < 64);
		KUNIT_EXPECT_NE(test, kp_byte_at((void *)to), INT3_INSN_OPCODE);
		KUNIT_EXPECT_EQ(test, (u8)probe->kp.opcode, before.byte[at]);
		kp_opt_sum_hits(test, probe, 1, 0);
		kp_unregister(test, probe);
		kp_bytes_expect_same(test, &before);
		kp_opt_sum_hits(test, probe, 1, 0);
	}
}

static void kp_opt_disable(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_opt_sum);
	struct kp_bytes before;
	int i;

	kp_bytes_save(test, &before, kp_opt_sum);
	probe->kp.flags = KPROBE_FLAG_DISABLED;
	kp_register(test, probe);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_bytes_expect_same(test, &before);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, enable_kprobe(&probe->kp), 0);
		kp_opt_sum_hits(test, probe, 2 * i - 1, 0);
		kp_opt_becomes_jump(test, probe);
		kp_opt_sum_hits(test, probe, 2 * i, 0);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
		kp_opt_sum_hits(test, probe, 2 * i, 0);
		kp_bytes_expect_same(test, &before);
	}
	/* Disable the probe before it is optimised: no jump must be written after that. */
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_bytes_expect_same(test, &before);
}

/* A post_handler must get the address of the next instruction as ip. */
static void kp_opt_post_handler(struct kunit *test)
{
	struct kp_probe *probe = kp_opt_jump(test, kp_opt_sum, true);
	int i;

	for (i = 1; i <= 10; i++) {
		probe->post_ip = 0;
		kp_opt_sum_hits(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)kp_sum_insn(1));
	}
}

static void kp_opt_few_handlers(struct kunit *test)
{
	struct kp_probe *post = kp_new_post(test, kp_opt_sum_other, true);
	struct kp_probe *none = kp_new(test, kp_opt_sum);

	post->kp.pre_handler = NULL;
	kp_register(test, post);
	kp_opt_becomes_jump(test, post);
	none->kp.pre_handler = NULL;
	kp_register(test, none);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_opt_sum_hits(test, none, 0, 0);
	KUNIT_EXPECT_EQ(test, kp_opt_sum_other(40, 2), 42);
	KUNIT_EXPECT_EQ(test, post->post, 1);
}

/*
 * Add a probe with a post_handler at the address of an optimised probe without one: the jump has to
 * be written again, to another detour buffer. The new probe's handlers must be called at each hit
 * while it is enabled, even before that jump is written.
 */
static void kp_opt_colocated(struct kunit *test)
{
	struct kp_probe *plain = kp_opt_jump(test, kp_opt_sum, false);
	struct kp_probe *joins = kp_new_post(test, kp_opt_sum, true);
	int i;

	for (i = 0; i < 9; i += 3) {
		kp_register(test, joins);
		kp_opt_sum_hits(test, joins, i + 1, i + 1);
		kp_opt_becomes_jump(test, joins);
		kp_opt_sum_hits(test, joins, i + 2, i + 2);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&joins->kp), 0);
		kp_opt_sum_hits(test, joins, i + 2, i + 2);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&joins->kp), 0);
		kp_opt_becomes_jump(test, joins);
		kp_opt_sum_hits(test, joins, i + 3, i + 3);
		kp_unregister(test, joins);
		kp_opt_sum_hits(test, joins, i + 3, i + 3);
		kp_opt_becomes_jump(test, plain);
		kp_opt_sum_hits(test, plain, 2 * i + 6, 0);
	}
	KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 0);
}

/* Return: the target of the call at the start of the detour buffer. */
static unsigned long kp_opt_trampoline(struct kunit *test, struct kp_probe *probe)
{
	unsigned long call = kp_jump_target(probe->kp.addr);
	s32 disp;

	KUNIT_ASSERT_NE(test, call, 0);
	KUNIT_ASSERT_EQ(test, kp_byte_at((void *)call), CALL_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(&disp, (void *)call + 1, sizeof(disp)), 0);
	return call + CALL_INSN_SIZE + disp;
}

static unsigned int kp_opt_called;

/* Record the order in which handlers are called. */
KP_PRE_HANDLER(, kp_opt_number_call, to_kp_probe(p)->pre = ++kp_opt_called)

static int kp_opt_number_and_hit(struct kprobe *kp, struct pt_regs *regs)
{
	kp_opt_number_call(kp, regs);
	kp_opt_sum_long(1, 1);
	return 0;
}

static int kp_opt_return_seven(struct kprobe *kp, struct pt_regs *regs)
{
	kp_opt_number_call(kp, regs);
	regs_set_return_value(regs, 7);
	regs->ip = *(unsigned long *)kernel_stack_pointer(regs);
	regs->sp += sizeof(long);
	return 1;
}

/* Expect @result, and calls of the handlers of @nr probes, from @newest to older ones. */
static void kp_opt_calls(struct kunit *test, struct kp_probe **newest, int nr, long result)
{
	int i;

	kp_opt_called = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_sum_long(40, 2), result);
	KUNIT_EXPECT_EQ(test, kp_opt_called, nr);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, newest[-i]->pre, i + 1);
}

/*
 * Add more probes at the address of an optimised one. The jump stays, but the call in the detour
 * buffer must be changed to the trampoline for several pre_handlers.
 */
static void kp_opt_several(struct kunit *test)
{
	struct kp_probe *probe[3];
	unsigned long one, several;
	int i;

	for (i = 0; i < 3; i++) {
		probe[i] = kp_new(test, kp_opt_sum_long);
		probe[i]->kp.pre_handler = kp_opt_number_call;
	}
	kp_register(test, probe[0]);
	kp_opt_becomes_jump(test, probe[0]);
	one = kp_opt_trampoline(test, probe[0]);
	for (i = 1; i < 3; i++) {
		kp_register(test, probe[i]);
		several = kp_opt_trampoline(test, probe[0]);
		KUNIT_EXPECT_NE(test, several, one);
		kp_opt_calls(test, &probe[i], i + 1, 42);
	}
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe[1]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), one);
	kp_opt_calls(test, &probe[0], 1, 42);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe[1]->kp), 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);

	for (i = 0; i < 3; i++)
		probe[i]->kp.pre_handler = kp_opt_number_and_hit;
	kp_opt_calls(test, &probe[2], 3, 42);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, probe[i]->kp.nmissed, 3);

	/* After a redirection by the second probe, the oldest probe must not be called. */
	for (i = 0; i < 3; i++)
		probe[i]->kp.pre_handler = i == 1 ? kp_opt_return_seven : kp_opt_number_call;
	kp_opt_calls(test, &probe[2], 2, 7);

	kp_unregister(test, probe[1]);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);
	kp_unregister(test, probe[2]);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), one);
	kp_opt_calls(test, &probe[0], 1, 42);
}

static struct kunit_case kp_opt_hits_cases[] = {
	KUNIT_CASE(kp_opt_text_is_jump),
	KUNIT_CASE(kp_opt_disable),
	KUNIT_CASE(kp_opt_post_handler),
	KUNIT_CASE(kp_opt_few_handlers),
	KUNIT_CASE(kp_opt_colocated),
	KUNIT_CASE(kp_opt_several),
	{}
};

KP_SUITE(kp_opt_hits, "kprobes_opt_hits", .init = kp_opt_init);
