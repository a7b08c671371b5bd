// SPDX-License-Identifier: GPL-2.0
/* Test a single struct kprobe: its location, enabling it, and registering it again */

#include "kprobes_kunit.h"
#include "kp_cases_life.h"

static void kp_lifecycle_kernel_function(struct kunit *test)
{
	struct kp_probe *probe = kp_new_named(test, "copy_from_kernel_nofault", 0);
	u8 byte;

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&byte, &byte, 1), 0);
	KUNIT_EXPECT_GE(test, probe->pre, 1);
	kp_unregister(test, probe);
	probe->pre = 0;
	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&byte, &byte, 1), 0);
	kp_expect_hits(test, probe, 0);
}

/* An indirect call, which with IBT enters the function at its ENDBR, must hit the probe, too. */
static void kp_lifecycle_indirect_call(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_target);
	long (*target)(long) = kp_target;

	OPTIMIZER_HIDE_VAR(target);
	kp_expect_call(test, probe, target, 1);
}

/* Registration must ignore the flags that only the kernel sets. */
static void kp_lifecycle_flags(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	probe->kp.flags = KPROBE_FLAG_GONE | KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_FALSE(test, probe->kp.flags & (KPROBE_FLAG_GONE | KPROBE_FLAG_DISABLED));
	kp_expect_call(test, probe, kp_target, 1);
}

static void kp_lifecycle_no_handlers(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	probe->kp.pre_handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_expect_call(test, probe, kp_target, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

#ifdef CONFIG_X86
static void kp_lifecycle_expect_insn(struct kunit *test, struct kp_probe *probe, int insn)
{
	unsigned int hits = probe->pre;

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(insn));
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	kp_expect_hits(test, probe, hits + 1);
	kp_unregister(test, probe);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	kp_expect_hits(test, probe, hits + 1);
}

static void kp_lifecycle_offset(struct kunit *test)
{
	struct kp_probe *probe;
	int insn;

	for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
		kp_lifecycle_expect_insn(test, kp_new(test, kp_x86_sum_addr(insn)), insn);
		probe = kp_new(test, kp_x86_sum);
		probe->kp.offset = kp_x86_sum_insn[insn];
		kp_lifecycle_expect_insn(test, probe, insn);
		probe = kp_new_named(test, "kp_x86_sum", kp_x86_sum_insn[insn]);
		kp_lifecycle_expect_insn(test, probe, insn);
	}
}

/* If the same struct is registered again, registration must not add the offset twice to addr. */
static void kp_lifecycle_loop_over_offsets(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);
	void *from = kp_x86_sum_addr(KP_SUM_LEA);
	int insn, round;

	for (round = 1; round <= 2; round++) {
		for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
			probe->kp.addr = from;
			probe->kp.offset = kp_x86_sum_addr(insn) - from;
			kp_lifecycle_expect_insn(test, probe, insn);
		}
	}
	kp_lifecycle_expect_insn(test, probe, KP_SUM_RET);
	/* After a change of the offset only, registration must look up the symbol again. */
	probe = kp_new_named(test, "kp_x86_sum", 0);
	for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
		probe->kp.offset = kp_x86_sum_insn[insn];
		kp_lifecycle_expect_insn(test, probe, insn);
	}
}

static void kp_lifecycle_again_with_offset(struct kunit *test)
{
	struct kp_probe *probe = kp_new_named(test, "kp_x86_sum", kp_x86_sum_insn[KP_SUM_XOR]);
	int i;

	for (i = 1; i <= 3; i++)
		kp_lifecycle_expect_insn(test, probe, KP_SUM_XOR);

	probe = kp_new_named(test, "kp_x86_sum", kp_x86_sum_insn[KP_SUM_MOVABS] + 1);
	kp_expect_refused(test, probe, -EILSEQ);
	probe->kp.offset = kp_x86_sum_insn[KP_SUM_MOVABS];
	kp_lifecycle_expect_insn(test, probe, KP_SUM_MOVABS);
}
#endif

static struct kunit_case kp_lifecycle_cases[] = {
	KP_CASES_LIFE,
	KUNIT_CASE(kp_lifecycle_kernel_function),
	KUNIT_CASE(kp_lifecycle_indirect_call),
	KUNIT_CASE(kp_lifecycle_flags),
	KUNIT_CASE(kp_lifecycle_no_handlers),
#ifdef CONFIG_X86
	KUNIT_CASE(kp_lifecycle_offset),
	KUNIT_CASE(kp_lifecycle_again_with_offset),
	KUNIT_CASE(kp_lifecycle_loop_over_offsets),
#endif
	{}
};

KP_SUITE(kp_lifecycle, "kprobes_api");
