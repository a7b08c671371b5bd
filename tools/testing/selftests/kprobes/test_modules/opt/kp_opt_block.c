// SPDX-License-Identifier: GPL-2.0
/* A probepoint must not get a jump while the jump would overwrite another armed probepoint. */

#include "kp_opt_suites.h"

static void *kp_row_insn(int insn)
{
	void *row = kp_opt_row;

	/* Hide the address: a jump is not written if code loads the address of its byte 1 to 4. */
	OPTIMIZER_HIDE_VAR(row);
	return row + ENDBR_INSN_SIZE + insn * KP_ROW_SIZE;
}

static struct kp_probe *kp_row_new(struct kunit *test, int insn, bool post)
{
	return kp_new_post(test, kp_row_insn(insn), post);
}

static void kp_row_calls(struct kunit *test, struct kp_probe **probes, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		probes[i]->pre = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, probes[i]->pre, 2, "probe %d", i);
}

static void kp_row_jump(struct kunit *test, struct kp_probe **probes)
{
	kp_row_calls(test, probes, 1);
	kp_opt_becomes_jump(test, probes[0]);
	kp_row_calls(test, probes, 1);
}

/*
 * When the first probe has a jump, register a second one. If the jump overwrites the instruction of
 * the second probe (in_dcr), the jump must be removed before any CPU can hit the second probe.
 * Otherwise, the jump must stay.
 */
static void kp_opt_enters(struct kunit *test)
{
	struct kp_bytes before;
	int i;

	kp_bytes_save(test, &before, kp_opt_row);
	for (i = 0; i < 2 * KP_ROW_DCR; i++) {
		bool in_dcr = i / 2 + 1 < KP_ROW_DCR, post = i % 2;
		struct kp_probe *probes[] = {
			kp_row_new(test, 0, post), kp_row_new(test, i / 2 + 1, post),
		};

		kp_register(test, probes[0]);
		kp_row_jump(test, probes);
		kp_register(test, probes[1]);
		KUNIT_EXPECT_EQ(test, kp_is_jump(probes[0]->kp.addr), !in_dcr);
		kp_row_calls(test, probes, 2);
		kp_opt_becomes_jump(test, probes[1]);
		if (in_dcr)
			kp_opt_stays_int3(test, probes[0]);
		else
			KUNIT_EXPECT_TRUE(test, kp_is_jump(probes[0]->kp.addr));
		kp_row_calls(test, probes, 2);
		kp_unregister(test, probes[1]);
		kp_row_jump(test, probes);
		kp_unregister(test, probes[0]);
		kp_bytes_expect_same(test, &before);
	}
}

/* The probed nop has one byte, so the second probe is at byte 1 of the nop's jump. */
static void kp_opt_enters_second_byte(struct kunit *test)
{
	void *nop = (void *)kp_opt_fill + kp_opt_fill_insn[KP_FILL_PROBED];
	struct kp_probe *second = kp_opt_jump(test, nop + 1, false);
	struct kp_probe *first = kp_new(test, nop);
	long filled = -1;

	kp_register(test, first);
	kp_opt_stays_int3(test, first);
	kp_opt_fill(&filled, sizeof(filled));
	KUNIT_EXPECT_EQ(test, filled, 0);
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
}

static void kp_opt_blocker_disabled(struct kunit *test)
{
	struct kp_probe *probes[] = { kp_row_new(test, 4, false), kp_row_new(test, 5, false) };
	int i;

	probes[1]->kp.flags = KPROBE_FLAG_DISABLED;
	kp_register(test, probes[1]);
	kp_register(test, probes[0]);
	kp_row_jump(test, probes);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, enable_kprobe(&probes[1]->kp), 0);
		KUNIT_EXPECT_EQ(test, kp_byte_at(probes[0]->kp.addr), INT3_INSN_OPCODE);
		kp_row_calls(test, probes, 2);
		kp_opt_stays_int3(test, probes[0]);
		KUNIT_EXPECT_TRUE(test, kp_is_jump(probes[1]->kp.addr));
		kp_row_calls(test, probes, 2);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probes[1]->kp), 0);
		probes[1]->pre = 0;
		kp_row_jump(test, probes);
		KUNIT_EXPECT_EQ(test, probes[1]->pre, 0);
	}
	kp_unregister(test, probes[1]);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probes[0]->kp.addr));
	kp_row_calls(test, probes, 1);
}

/*
 * Disable a probe whose jump another probe prevents. When the other probe is unregistered, the jump
 * must not be written; it must be written after the disabled probe is enabled again.
 */
static void kp_opt_blocked_disabled(struct kunit *test)
{
	struct kp_probe *probes[] = { kp_row_new(test, 4, false), kp_row_new(test, 5, false) };

	kp_register(test, probes[0]);
	kp_register(test, probes[1]);
	kp_opt_becomes_jump(test, probes[1]);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probes[0]->kp), 0);
	kp_unregister(test, probes[1]);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probes[0]->kp.addr));
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probes[0]->kp), 0);
	kp_row_jump(test, probes);
}

/*
 * The jump of the first probe overwrites the instructions of the others. The second one, which is
 * disabled, has had a jump that would overwrite the third one as well.
 */
static void kp_opt_enters_behind_disabled(struct kunit *test)
{
	struct kp_probe *second = kp_row_new(test, 5, false);
	struct kp_probe *probes[] = { kp_row_new(test, 4, false), kp_row_new(test, 6, false) };

	kp_register(test, second);
	kp_row_jump(test, &second);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&second->kp), 0);
	kp_register(test, probes[0]);
	kp_row_jump(test, probes);
	kp_register(test, probes[1]);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probes[0]->kp.addr));
	kp_row_calls(test, probes, 2);
	kp_unregister(test, probes[1]);
	kp_row_jump(test, probes);
	KUNIT_EXPECT_EQ(test, second->pre, 2);
}

/* Wait for all possible jumps. Return: their number */
static int kp_row_jumps(struct kunit *test, struct kp_probe **probes, int nr)
{
	int i, jumps = 0;

	kp_row_calls(test, probes, nr);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	kp_row_calls(test, probes, nr);
	for (i = 0; i < nr; i++)
		jumps += kp_is_jump(probes[i]->kp.addr);
	return jumps;
}

/* Probes on all instructions: only the last one is optimised. Probes on every third: all are. */
static void kp_opt_row_full(struct kunit *test)
{
	struct kp_probe *probes[KP_ROW_INSNS], *third[KP_ROW_INSNS];
	int i, nr = DIV_ROUND_UP(KP_ROW_INSNS, KP_ROW_DCR);
	struct kprobe *kps[KP_ROW_INSNS];
	struct kp_bytes before;

	kp_bytes_save(test, &before, kp_opt_row);
	for (i = 0; i < KP_ROW_INSNS; i++) {
		probes[i] = kp_row_new(test, i, i % 2);
		kps[i] = &probes[i]->kp;
		third[i / KP_ROW_DCR] = probes[i / KP_ROW_DCR * KP_ROW_DCR];
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_ROW_INSNS), 0);
	KUNIT_EXPECT_EQ(test, kp_row_jumps(test, probes, KP_ROW_INSNS), 1);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(kps[KP_ROW_INSNS - 1]->addr));

	for (i = 0; i < KP_ROW_INSNS; i++)
		if (i % KP_ROW_DCR)
			unregister_kprobe(kps[i]);
	KUNIT_EXPECT_EQ(test, kp_row_jumps(test, third, nr), nr);
	for (i = 0; i < KP_ROW_INSNS; i++) {
		if (i % KP_ROW_DCR == 0)
			continue;
		kps[i]->flags = 0;
		KUNIT_EXPECT_EQ(test, register_kprobe(kps[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, kp_row_jumps(test, probes, KP_ROW_INSNS - 1), 0);
	unregister_kprobes(kps, KP_ROW_INSNS);
	kp_bytes_expect_same(test, &before);
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
}

static void kp_row_all_int3(struct kunit *test, struct kp_probe **probes, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, kp_byte_at(probes[i]->kp.addr), INT3_INSN_OPCODE);
	kp_row_calls(test, probes, nr);
}

/* While the sysctl is 0, there must be no jumps. */
static void kp_opt_switched(struct kunit *test)
{
	struct kp_probe *probes[] = {
		kp_row_new(test, 0, false), kp_row_new(test, 4, true), kp_row_new(test, 8, false),
		kp_row_new(test, 9, false),
	};
	static const bool again[] = { true, false, false, true };
	int i, round;

	for (i = 0; i < 3; i++)
		kp_register(test, probes[i]);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3; i++)
			kp_opt_becomes_jump(test, probes[i]);
		kp_row_calls(test, probes, 3);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		kp_row_all_int3(test, probes, 3);
		kp_register(test, probes[3]);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probes[0]->kp), 0);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&probes[0]->kp), 0);
		msleep(100);
		kp_row_all_int3(test, probes, 4);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		kp_row_calls(test, probes, 4);
		kp_opt_becomes_jump(test, probes[3]);
		kp_opt_stays_int3(test, probes[2]);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		kp_unregister(test, probes[3]);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	}
	for (i = 0; i < ARRAY_SIZE(again); i++)
		KUNIT_EXPECT_EQ(test, kp_opt_switch(again[i]), 0);
	for (i = 0; i < 3; i++)
		kp_opt_becomes_jump(test, probes[i]);
	kp_row_calls(test, probes, 3);
}

/* A write to the sysctl returns after all jumps are written, or removed. */
static void kp_opt_switch_waits(struct kunit *test)
{
	int i, round, int3s;

	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	KUNIT_ASSERT_EQ(test, kp_many_register(), 0);
	for (round = 0; round < 3; round++) {
		KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
		KUNIT_EXPECT_EQ(test, kp_many_jumps(), KP_MANY);
		KUNIT_EXPECT_EQ(test, kp_opt_switch(false), 0);
		for (i = 0, int3s = 0; i < KP_MANY; i++)
			int3s += kp_byte_at(kp_many[i].kp.addr) == INT3_INSN_OPCODE;
		KUNIT_EXPECT_EQ(test, int3s, KP_MANY);
	}
	kp_many_unregister();
	KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
}

static struct kunit_case kp_opt_block_cases[] = {
	KUNIT_CASE(kp_opt_enters),
	KUNIT_CASE(kp_opt_enters_second_byte),
	KUNIT_CASE(kp_opt_enters_behind_disabled),
	KUNIT_CASE(kp_opt_blocker_disabled),
	KUNIT_CASE(kp_opt_blocked_disabled),
	KUNIT_CASE(kp_opt_row_full),
	KUNIT_CASE(kp_opt_switched),
	KUNIT_CASE(kp_opt_switch_waits),
	{}
};

KP_SUITE(kp_opt_block, "kprobes_opt_block", .init = kp_opt_init);
