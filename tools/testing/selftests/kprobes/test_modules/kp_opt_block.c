// SPDX-License-Identifier: GPL-2.0
/*
 * Neighbours: a probe on an instruction that another's jump would overlap keeps it from
 * being optimised, from the moment that it is registered and as long as it is enabled.
 */

#include "kp_opt_suites.h"

static void *kp_row_insn(int insn)
{
	void *row = kp_opt_row;

	/* An address in the middle of a function is nothing to build a constant of. */
	OPTIMIZER_HIDE_VAR(row);
	return row + ENDBR_INSN_SIZE + insn * KP_ROW_SIZE;
}

static struct kp_opt_probe *kp_row_new(struct kunit *test, int insn, bool post)
{
	return kp_opt_new(test, kp_row_insn(insn), post);
}

/* Every one of them is hit by every call. */
static void kp_row_calls(struct kunit *test, struct kp_opt_probe **probes, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		probes[i]->pre = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ_MSG(test, probes[i]->pre, 2, "probe %d", i);
}

/*
 * Registering a second probe in the DCR of the first unoptimises the first one's probepoint, before
 * a CPU can hit the second. A second probe behind the DCR leaves the jump alone.
 */
static void kp_opt_enters(struct kunit *test)
{
	struct kp_opt_bytes before;
	int insn, post;

	kp_opt_save(test, &before, kp_opt_row);
	for (post = 0; post < 2; post++) {
		for (insn = 1; insn <= KP_ROW_DCR; insn++) {
			struct kp_opt_probe *probes[] = {
				kp_row_new(test, 0, post), kp_row_new(test, insn, post),
			};

			kp_opt_add(test, probes[0]);
			kp_opt_becomes_jump(test, probes[0]);
			kp_row_calls(test, probes, 1);
			kp_opt_add(test, probes[1]);
			if (insn < KP_ROW_DCR)
				KUNIT_EXPECT_EQ(test, kp_byte_at(probes[0]->kp.addr),
						INT3_INSN_OPCODE);
			kp_row_calls(test, probes, 2);
			kp_opt_becomes_jump(test, probes[1]);
			if (insn < KP_ROW_DCR)
				kp_opt_stays_int3(test, probes[0]);
			else
				KUNIT_EXPECT_TRUE(test, kp_is_jump(probes[0]->kp.addr));
			kp_row_calls(test, probes, 2);
			kp_opt_del(test, probes[1]);
			kp_row_calls(test, probes, 1);
			kp_opt_becomes_jump(test, probes[0]);
			kp_row_calls(test, probes, 1);
			kp_opt_del(test, probes[0]);
			kp_opt_same(test, &before, NULL, 0);
		}
	}
}

/* A disabled probe does not keep the neighbour from being optimised. */
static void kp_opt_blocker_disabled(struct kunit *test)
{
	struct kp_opt_probe *probes[] = { kp_row_new(test, 4, false), kp_row_new(test, 5, false) };
	int i;

	probes[1]->kp.flags = KPROBE_FLAG_DISABLED;
	kp_opt_add(test, probes[1]);
	kp_opt_add(test, probes[0]);
	kp_opt_becomes_jump(test, probes[0]);
	kp_row_calls(test, probes, 1);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, enable_kprobe(&probes[1]->kp), 0);
		KUNIT_EXPECT_EQ(test, kp_byte_at(probes[0]->kp.addr), INT3_INSN_OPCODE);
		kp_row_calls(test, probes, 2);
		kp_opt_stays_int3(test, probes[0]);
		KUNIT_EXPECT_TRUE(test, kp_is_jump(probes[1]->kp.addr));
		kp_row_calls(test, probes, 2);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probes[1]->kp), 0);
		probes[1]->pre = 0;
		kp_row_calls(test, probes, 1);
		kp_opt_becomes_jump(test, probes[0]);
		kp_row_calls(test, probes, 1);
		KUNIT_EXPECT_EQ(test, probes[1]->pre, 0);
	}
	/* Going while it is disabled changes nothing. */
	kp_opt_del(test, probes[1]);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(probes[0]->kp.addr));
	kp_row_calls(test, probes, 1);
}

/* The blocked one is disabled and enabled. */
static void kp_opt_blocked_disabled(struct kunit *test)
{
	struct kp_opt_probe *probes[] = { kp_row_new(test, 4, false), kp_row_new(test, 5, false) };

	kp_opt_add(test, probes[0]);
	kp_opt_add(test, probes[1]);
	kp_opt_becomes_jump(test, probes[1]);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probes[0]->kp), 0);
	kp_opt_del(test, probes[1]);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(probes[0]->kp.addr));
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probes[0]->kp), 0);
	kp_opt_becomes_jump(test, probes[0]);
	kp_row_calls(test, probes, 1);
}

/*
 * A probe on every instruction: only the last ones are free. Every one that goes frees
 * the one before it, whichever went first.
 */
static void kp_opt_row_full(struct kunit *test)
{
	struct kp_opt_probe *probes[KP_ROW_INSNS];
	struct kprobe *kps[KP_ROW_INSNS];
	struct kp_opt_bytes before;
	int i, j, jumps;

	kp_opt_save(test, &before, kp_opt_row);
	for (i = 0; i < KP_ROW_INSNS; i++) {
		probes[i] = kp_row_new(test, i, i % 2);
		kps[i] = &probes[i]->kp;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_ROW_INSNS), 0);
	kp_row_calls(test, probes, KP_ROW_INSNS);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	kp_row_calls(test, probes, KP_ROW_INSNS);
	for (i = 0, jumps = 0; i < KP_ROW_INSNS; i++)
		jumps += kp_is_jump(kps[i]->addr);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(kps[KP_ROW_INSNS - 1]->addr));
	KUNIT_EXPECT_EQ(test, jumps, 1);

	/* Leave every third: they reach just up to the next. */
	for (i = 0; i < KP_ROW_INSNS; i++)
		if (i % KP_ROW_DCR)
			unregister_kprobe(kps[i]);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	for (i = 0, j = 0; i < KP_ROW_INSNS; i += KP_ROW_DCR) {
		KUNIT_EXPECT_TRUE_MSG(test, kp_is_jump(kps[i]->addr), "probe %d", i);
		probes[j++] = to_opt_probe(kps[i]);
	}
	kp_row_calls(test, probes, j);
	/* Back again, all at once: those are in the way of the others again. */
	for (i = 0, j = 0; i < KP_ROW_INSNS; i++) {
		probes[i] = to_opt_probe(kps[i]);
		if (i % KP_ROW_DCR == 0)
			continue;
		kps[i]->flags = 0;
		if (!register_kprobe(kps[i]))
			j++;
	}
	KUNIT_EXPECT_EQ(test, j, KP_ROW_INSNS - DIV_ROUND_UP(KP_ROW_INSNS, KP_ROW_DCR));
	kp_row_calls(test, probes, KP_ROW_INSNS);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	kp_row_calls(test, probes, KP_ROW_INSNS);
	for (i = 0; i < KP_ROW_INSNS - 1; i++)
		KUNIT_EXPECT_FALSE(test, kp_is_jump(kps[i]->addr));
	unregister_kprobes(kps, KP_ROW_INSNS);
	kp_opt_same(test, &before, NULL, 0);
	KUNIT_EXPECT_EQ(test, kp_opt_row(), KP_ROW_INSNS);
}

/* The switch: back to breakpoints when it has been written, and to jumps. */
static void kp_opt_switched(struct kunit *test)
{
	struct kp_opt_probe *probes[] = {
		kp_row_new(test, 0, false), kp_row_new(test, 4, true), kp_row_new(test, 8, false),
		kp_row_new(test, 9, false),
	};
	int i, round;

	for (i = 0; i < 3; i++)
		kp_opt_add(test, probes[i]);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3; i++)
			kp_opt_becomes_jump(test, probes[i]);
		kp_row_calls(test, probes, 3);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, kp_byte_at(probes[i]->kp.addr), INT3_INSN_OPCODE);
		kp_row_calls(test, probes, 3);
		/* What comes and goes meanwhile. */
		kp_opt_add(test, probes[3]);
		kp_row_calls(test, probes, 4);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probes[0]->kp), 0);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&probes[0]->kp), 0);
		msleep(100);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_EQ(test, kp_byte_at(probes[i]->kp.addr), INT3_INSN_OPCODE);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		kp_row_calls(test, probes, 4);
		kp_opt_becomes_jump(test, probes[3]);
		kp_opt_stays_int3(test, probes[2]);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		kp_opt_del(test, probes[3]);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	}
	/* Again what it is already. */
	KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_switch(false), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_switch(false), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
	for (i = 0; i < 3; i++)
		kp_opt_becomes_jump(test, probes[i]);
	kp_row_calls(test, probes, 3);
}

/* Writing 1 returns when what can be optimised is, writing 0 when nothing is any more. */
static void kp_opt_switch_waits(struct kunit *test)
{
	static struct kp_opt_probe *probes[KP_MANY];
	static struct kprobe *kps[KP_MANY];
	int i, round, jumps;

	for (i = 0; i < KP_MANY; i++) {
		probes[i] = kp_opt_new(test, kp_opt_many[i], false);
		kps[i] = &probes[i]->kp;
	}
	KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_MANY), 0);
	for (round = 0; round < 3; round++) {
		KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
		for (i = 0, jumps = 0; i < KP_MANY; i++)
			jumps += kp_is_jump(kps[i]->addr);
		KUNIT_EXPECT_EQ(test, jumps, KP_MANY);
		KUNIT_EXPECT_EQ(test, kp_opt_switch(false), 0);
		for (i = 0, jumps = 0; i < KP_MANY; i++)
			jumps += kp_byte_at(kps[i]->addr) != INT3_INSN_OPCODE;
		KUNIT_EXPECT_EQ(test, jumps, 0);
	}
	unregister_kprobes(kps, KP_MANY);
	KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
}

static struct kunit_case kp_opt_block_cases[] = {
	KUNIT_CASE(kp_opt_enters),
	KUNIT_CASE(kp_opt_blocker_disabled),
	KUNIT_CASE(kp_opt_blocked_disabled),
	KUNIT_CASE(kp_opt_row_full),
	KUNIT_CASE(kp_opt_switched),
	KUNIT_CASE(kp_opt_switch_waits),
	{}
};

struct kunit_suite kp_opt_block_suite = {
	.name = "kprobes_opt_block",
	.init = kp_opt_init,
	.test_cases = kp_opt_block_cases,
};
