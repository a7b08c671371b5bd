// SPDX-License-Identifier: GPL-2.0
/* One struct kprobe over its life: locations, enabling, registering it again */

#include "kprobes_kunit.h"
#include "kp_module.h"

static void kp_lifecycle_hit(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);
	int i;

	kp_expect_unprobed(test, probe, kp_target);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 100; i++) {
		KUNIT_EXPECT_EQ(test, kp_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
	}
	KUNIT_EXPECT_EQ(test, kp_target_other(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 100);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, kp_target);
}

static void kp_lifecycle_by_symbol(struct kunit *test)
{
	static const char *const names[] = { "kp_target", KP_QUALIFIED("kp_target") };
	struct kp_probe *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe = kp_new(test, NULL);
		probe->kp.symbol_name = names[i];
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		/* addr is the function's entry, or after its ENDBR. */
		KUNIT_EXPECT_LE(test, (unsigned long)probe->kp.addr - (unsigned long)kp_target, 4);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, probe->pre, 1);
		kp_unregister(test, probe);
		kp_expect_unprobed(test, probe, kp_target);
	}
}

static void kp_lifecycle_kernel_function(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);
	u8 byte;

	probe->kp.symbol_name = "copy_from_kernel_nofault";
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&byte, &byte, 1), 0);
	KUNIT_EXPECT_GE(test, probe->pre, 1);
	kp_unregister(test, probe);
	probe->pre = 0;
	KUNIT_EXPECT_EQ(test, copy_from_kernel_nofault(&byte, &byte, 1), 0);
	KUNIT_EXPECT_EQ(test, probe->pre, 0);
}

/* An indirect call, which must land on an ENDBR, hits too. */
static void kp_lifecycle_indirect_call(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);
	long (*target)(long) = kp_target;

	OPTIMIZER_HIDE_VAR(target);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

static void kp_lifecycle_disabled(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);
	struct kp_bytes text;
	int i;

	kp_bytes_save(test, &text, kp_target);
	probe->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_TRUE(test, probe->kp.flags & KPROBE_FLAG_DISABLED);
	kp_expect_unprobed(test, probe, kp_target);
	kp_bytes_expect_same(test, &text);

	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_enable(test, &probe->kp), 0);
		KUNIT_EXPECT_FALSE(test, probe->kp.flags & KPROBE_FLAG_DISABLED);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
		KUNIT_EXPECT_TRUE(test, probe->kp.flags & KPROBE_FLAG_DISABLED);
		kp_expect_unprobed(test, probe, kp_target);
	}
	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, kp_target);
	kp_bytes_expect_same(test, &text);
}

static void kp_lifecycle_switch_twice(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_enable(test, &probe->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	kp_expect_unprobed(test, probe, kp_target);
	KUNIT_EXPECT_EQ(test, kp_enable(test, &probe->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_enable(test, &probe->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 2);
}

/* Flags other than KPROBE_FLAG_DISABLED are ignored. */
static void kp_lifecycle_flags(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	probe->kp.flags = KPROBE_FLAG_GONE | KPROBE_FLAG_OPTIMIZED | KPROBE_FLAG_FTRACE;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_FALSE(test, probe->kp.flags & (KPROBE_FLAG_GONE | KPROBE_FLAG_DISABLED));
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

static void kp_lifecycle_no_handlers(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	probe->kp.pre_handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

/* Register the same struct again, as unregistration has left it. */
static void kp_lifecycle_again(struct kunit *test, struct kp_probe *probe)
{
	int i;

	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		kp_unregister(test, probe);
		kp_expect_unprobed(test, probe, kp_target);
	}
}

static void kp_lifecycle_again_by_addr(struct kunit *test)
{
	kp_lifecycle_again(test, kp_new(test, kp_target));
}

static void kp_lifecycle_again_by_symbol(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);

	probe->kp.symbol_name = "kp_target";
	kp_lifecycle_again(test, probe);
}

/* A struct that was disabled, or that now probes another address, can be used again too. */
static void kp_lifecycle_again_elsewhere(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);

	probe->kp.symbol_name = "kp_target";
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	kp_unregister(test, probe);

	probe->kp.symbol_name = "kp_target_other";
	probe->kp.flags = 0;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target_other(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	kp_expect_unprobed(test, probe, kp_target);
	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, kp_target_other);

	probe->kp.symbol_name = NULL;
	probe->kp.addr = (void *)kp_target;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 2);
}

static void kp_lifecycle_again_after_failure(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);

	/* By symbol: not found, then blacklisted, then right */
	probe->kp.symbol_name = "kp_no_such_function";
	kp_expect_refused(test, &probe->kp, -ENOENT);
	probe->kp.symbol_name = "kp_target_nokprobe";
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.symbol_name = "kp_target";
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	kp_unregister(test, probe);

	probe = kp_new(test, kp_target_nokprobe);
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.addr = (void *)kp_target;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

static void kp_lifecycle_unregister_unregistered(struct kunit *test)
{
	struct kp_probe *bystander = kp_new(test, kp_target);
	struct kp_probe *probe = kp_new(test, NULL);

	KUNIT_ASSERT_EQ(test, kp_register(test, bystander), 0);
	unregister_kprobe(&probe->kp);
	probe->kp.addr = (void *)kp_target_other;
	unregister_kprobe(&probe->kp);
	KUNIT_EXPECT_NULL(test, probe->kp.addr);
	probe->kp.addr = bystander->kp.addr;
	unregister_kprobe(&probe->kp);
	KUNIT_EXPECT_NULL(test, probe->kp.addr);

	/* One that was refused, and one that was unregistered */
	probe->kp.addr = (void *)kp_target_nokprobe;
	kp_expect_refused(test, &probe->kp, -EINVAL);
	unregister_kprobe(&probe->kp);
	KUNIT_EXPECT_NULL(test, probe->kp.addr);
	probe->kp.addr = (void *)kp_target;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_unregister(test, probe);
	KUNIT_EXPECT_NOT_NULL(test, probe->kp.addr);
	unregister_kprobe(&probe->kp);
	KUNIT_EXPECT_NULL(test, probe->kp.addr);

	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, bystander->pre, 1);
	KUNIT_EXPECT_EQ(test, probe->pre, 0);
}

/* unregister_kprobes() clears addr of members that are not registered. */
static void kp_lifecycle_unregister_some(struct kunit *test)
{
	struct kp_probe *registered = kp_new(test, kp_target);
	struct kp_probe *other = kp_new(test, kp_target_other);
	struct kprobe *kps[] = { &other->kp, NULL, &registered->kp };

	KUNIT_ASSERT_EQ(test, kp_register(test, registered), 0);
	unregister_kprobes(kps, ARRAY_SIZE(kps));
	KUNIT_EXPECT_NULL(test, other->kp.addr);
	KUNIT_EXPECT_NOT_NULL(test, registered->kp.addr);
	kp_expect_unprobed(test, registered, kp_target);
}

/* Without addr, a probe by symbol registers at the same address again. */
static void kp_lifecycle_cleared_by_symbol(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);

	probe->kp.symbol_name = "kp_target";
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_unregister(test, probe);
	unregister_kprobe(&probe->kp);
	KUNIT_EXPECT_NULL(test, probe->kp.addr);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

static void kp_lifecycle_colocated(struct kunit *test)
{
	struct kp_probe *probe[4];
	unsigned int hits[4] = {};
	struct kp_bytes text;
	int on, i;

	kp_bytes_save(test, &text, kp_target);
	for (i = 0; i < 4; i++) {
		probe[i] = kp_new(test, kp_target);
		KUNIT_ASSERT_EQ(test, kp_register(test, probe[i]), 0);
	}
	for (on = 0; on < 16; on++) {
		for (i = 0; i < 4; i++) {
			if (on & BIT(i))
				KUNIT_EXPECT_EQ(test, enable_kprobe(&probe[i]->kp), 0);
			else
				KUNIT_EXPECT_EQ(test, disable_kprobe(&probe[i]->kp), 0);
		}
		if (on)
			kp_settle(test, &probe[__ffs(on)]->kp);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		for (i = 0; i < 4; i++) {
			hits[i] += !!(on & BIT(i));
			KUNIT_EXPECT_EQ_MSG(test, probe[i]->pre, hits[i], "probe %d of set %x", i,
					    on);
		}
		if (!on)
			kp_bytes_expect_same(test, &text);
	}
	for (i = 0; i < 4; i++) {
		kp_unregister(test, probe[(i * 3 + 1) % 4]);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	}
	KUNIT_EXPECT_EQ(test, probe[1]->pre, hits[1]);
	KUNIT_EXPECT_EQ(test, probe[0]->pre, hits[0] + 1);
	KUNIT_EXPECT_EQ(test, probe[3]->pre, hits[3] + 2);
	KUNIT_EXPECT_EQ(test, probe[2]->pre, hits[2] + 3);
	kp_bytes_expect_same(test, &text);
}

#ifdef CONFIG_X86
static void kp_lifecycle_offset(struct kunit *test)
{
	struct kp_probe *probe;
	int insn, how;

	for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
		for (how = 0; how < 3; how++) {
			probe = kp_new(test, NULL);
			if (how == 0) {
				probe->kp.addr = kp_x86_sum_addr(insn);
			} else if (how == 1) {
				probe->kp.addr = (void *)kp_x86_sum;
				probe->kp.offset = kp_x86_sum_insn[insn];
			} else {
				probe->kp.symbol_name = "kp_x86_sum";
				probe->kp.offset = kp_x86_sum_insn[insn];
			}
			/* Registration must not change the offset. */
			KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
			KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(insn));
			KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
			KUNIT_EXPECT_EQ(test, probe->pre, 1);
			kp_unregister(test, probe);
			KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
			KUNIT_EXPECT_EQ(test, probe->pre, 1);
		}
	}
}

/* An offset is added once, however often the struct is used. */
/* Probe one instruction after another, in a loop that starts without an offset. */
static void kp_lifecycle_loop_over_offsets(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);
	void *from = kp_x86_sum_addr(KP_SUM_LEA);
	int insn, round;

	for (round = 1; round <= 2; round++) {
		for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
			probe->kp.addr = from;
			probe->kp.offset = kp_x86_sum_addr(insn) - from;
			probe->pre = 0;
			KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
			KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(insn));
			KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
			KUNIT_EXPECT_EQ(test, probe->pre, 1);
			kp_unregister(test, probe);
		}
	}
	/* Unchanged, it registers at the same address. */
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(KP_SUM_RET));
	kp_unregister(test, probe);
	/* With another offset, the symbol is looked up again. */
	probe = kp_new(test, NULL);
	probe->kp.symbol_name = "kp_x86_sum";
	for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
		probe->kp.offset = kp_x86_sum_insn[insn];
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(insn));
		kp_unregister(test, probe);
	}
}

static void kp_lifecycle_again_with_offset(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);
	int i;

	probe->kp.symbol_name = "kp_x86_sum";
	probe->kp.offset = kp_x86_sum_insn[KP_SUM_XOR];
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(KP_SUM_XOR));
		KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		kp_unregister(test, probe);
	}

	probe = kp_new(test, NULL);
	probe->kp.symbol_name = "kp_x86_sum";
	probe->kp.offset = kp_x86_sum_insn[KP_SUM_MOVABS] + 1;
	kp_expect_refused(test, &probe->kp, -EILSEQ);
	probe->kp.offset = kp_x86_sum_insn[KP_SUM_MOVABS];
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr, kp_x86_sum_addr(KP_SUM_MOVABS));
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}
#endif

static struct kunit_case kp_lifecycle_cases[] = {
	KUNIT_CASE(kp_lifecycle_hit),
	KUNIT_CASE(kp_lifecycle_by_symbol),
	KUNIT_CASE(kp_lifecycle_kernel_function),
	KUNIT_CASE(kp_lifecycle_indirect_call),
	KUNIT_CASE(kp_lifecycle_disabled),
	KUNIT_CASE(kp_lifecycle_switch_twice),
	KUNIT_CASE(kp_lifecycle_flags),
	KUNIT_CASE(kp_lifecycle_no_handlers),
	KUNIT_CASE(kp_lifecycle_again_by_addr),
	KUNIT_CASE(kp_lifecycle_again_by_symbol),
	KUNIT_CASE(kp_lifecycle_again_elsewhere),
	KUNIT_CASE(kp_lifecycle_again_after_failure),
	KUNIT_CASE(kp_lifecycle_unregister_unregistered),
	KUNIT_CASE(kp_lifecycle_unregister_some),
	KUNIT_CASE(kp_lifecycle_cleared_by_symbol),
	KUNIT_CASE(kp_lifecycle_colocated),
#ifdef CONFIG_X86
	KUNIT_CASE(kp_lifecycle_offset),
	KUNIT_CASE(kp_lifecycle_again_with_offset),
	KUNIT_CASE(kp_lifecycle_loop_over_offsets),
#endif
	{}
};

struct kunit_suite kp_lifecycle_suite = {
	.name = "kprobes_api",
	.test_cases = kp_lifecycle_cases,
};
