// SPDX-License-Identifier: GPL-2.0
/*
 * A return probe must not change return values that do not fit into one register, nor arguments on
 * the stack, even if the called function pops them.
 */

#include "kretprobes_kunit.h"

#define KP_RET_ARGS	8

static unsigned long kp_ret_args[KP_RET_ARGS];

static int kp_ret_note_args(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	int i;

	for (i = 0; i < KP_RET_ARGS; i++)
		kp_ret_args[i] = kp_argument(regs, i);
	return kp_ret_entry(ri, regs);
}

/* On x86 a function returns the address of the structure that it has filled. */
#define KP_RET_BIG_HAS_ADDRESS	IS_ENABLED(CONFIG_X86)

static struct kp_ret_big kp_ret_big_seen;

static int kp_ret_note_big(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (KP_RET_BIG_HAS_ADDRESS)
		memcpy(&kp_ret_big_seen, (void *)regs_return_value(regs), sizeof(kp_ret_big_seen));
	return kp_ret_return(ri, regs);
}

static int kp_ret_add_to_upper(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_return(ri, regs);
#ifdef CONFIG_X86
	regs->dx += 1000;
#endif
	return 0;
}

static void kp_ret_values_two(struct kunit *test)
{
	unsigned long high = ~0UL / 5, low, add;
	struct kp_probe *probe;
	kp_ret_two_t two;
	int change;

	for (change = 0; change < 2; change++) {
		add = change && IS_ENABLED(CONFIG_X86) ? 1000 : 0;
		probe = kp_ret_with(test, kp_ret_two, 0, kp_ret_entry,
				    change ? kp_ret_add_to_upper : kp_ret_return);
		for (low = 1; low <= 10; low++) {
			two = kp_ret_two(low, high + low);
			KUNIT_EXPECT_EQ(test, (unsigned long)two, low);
			KUNIT_EXPECT_EQ(test, (unsigned long)(two >> BITS_PER_LONG),
					high + low + add);
			/* s390 returns both words in memory, so regs_return_value() is neither. */
			if (!IS_ENABLED(CONFIG_S390))
				KUNIT_EXPECT_EQ(test, probe->value, low);
			kp_expect_hits(test, probe, low);
		}
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		kp_unregister(test, probe);
	}
}

static const struct kp_ret_structure {
	const char *name;
	bool on_stack;
} kp_ret_structures[] = {
	{ "register" }, { "stack", true },
};

KUNIT_ARRAY_PARAM_DESC(kp_ret_structure, kp_ret_structures, name);

/*
 * The caller passes the address of memory for the structure. On i386, if that address is passed on
 * the stack, the function pops it (ret $4).
 */
static void kp_ret_values_structure(struct kunit *test)
{
	bool on_stack = ((const struct kp_ret_structure *)test->param_value)->on_stack;
	struct kp_probe *probe = kp_new(test, on_stack ? (void *)kp_ret_big_on_stack :
							 (void *)kp_ret_big);
	struct kp_ret_big big;
	int i, n;

	if (on_stack && IS_ENABLED(CONFIG_X86_32))
		kp_may_be_fatal(test);
	probe->rp.handler = kp_ret_note_big;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 20; i++) {
		memset(&kp_ret_big_seen, 0, sizeof(kp_ret_big_seen));
		big = on_stack ? kp_ret_big_on_stack(i) : kp_ret_big(i);
		for (n = 0; n < ARRAY_SIZE(big.word); n++)
			KUNIT_EXPECT_EQ(test, big.word[n], i * 100 + n);
		if (KP_RET_BIG_HAS_ADDRESS)
			KUNIT_EXPECT_MEMEQ(test, &kp_ret_big_seen, &big, sizeof(big));
		kp_expect_hits(test, probe, i);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

static void kp_ret_values_arguments(struct kunit *test)
{
	struct kp_probe *probe = kp_ret_with(test, kp_ret_eight, 0, kp_ret_note_args,
					     kp_ret_return);
	int i, n;

	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_eight(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6,
						   i + 7), 36 * i + 168);
		for (n = 0; n < KP_RET_ARGS; n++)
			KUNIT_EXPECT_EQ_MSG(test, kp_ret_args[n], i + n, "argument %d", n);
		KUNIT_EXPECT_EQ(test, probe->value, 36 * i + 168);
		kp_expect_hits(test, probe, i);
	}
}

/* On i386, all arguments of an asmlinkage function are on the stack, above the return address. */
static void kp_ret_values_asmlinkage(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_ret_on_stack);
	int i;

	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_on_stack(i, 10 * i, 100 * i), 321 * i);
		KUNIT_EXPECT_EQ(test, probe->value, 321 * i);
		kp_expect_hits(test, probe, i);
	}
}

static void kp_ret_values_variadic(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_ret_variadic);

	KUNIT_EXPECT_EQ(test, kp_ret_variadic(0), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_variadic(1, 7L), 7);
	KUNIT_EXPECT_EQ(test, kp_ret_variadic(4, 1L, 10L, 100L, 1000L), 1111);
	KUNIT_EXPECT_EQ(test, kp_ret_variadic(9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L), 45);
	KUNIT_EXPECT_EQ(test, probe->value, 45);
	kp_expect_hits(test, probe, 4);
}

#if defined(CONFIG_ARM) && !defined(CONFIG_FRAME_POINTER) && !defined(CONFIG_THUMB2_KERNEL)

/* Call kp_ret_target() with @frame in the frame pointer register. */
static noinline long kp_ret_with_frame(unsigned long frame, long arg)
{
	register long value asm("r0") = arg;

	asm volatile("mov r10, r11\n\t"
		     "mov r11, %[frame]\n\t"
		     "bl kp_ret_target\n\t"
		     "mov r11, r10"
		     : "+r" (value)
		     : [frame] "r" (frame)
		     : "r1", "r2", "r3", "r10", "ip", "lr", "cc", "memory");
	return value;
}

/*
 * An instance identifies its call by the frame, and kprobes uses bit 0 of the stored frame as a
 * flag. On arm, the frame is the frame pointer register, which may have any value, even an odd one.
 */
static void kp_ret_values_any_frame(struct kunit *test)
{
	static const unsigned long frames[] = { 0, 1, 2, 3, ~1UL, ~0UL };
	struct kp_probe *probe[2];
	int i, n, calls = 0;

	for (n = 0; n < ARRAY_SIZE(probe); n++) {
		probe[n] = kp_registered(test, kp_ret_target);
		for (i = 0; i < ARRAY_SIZE(frames); i++) {
			KUNIT_EXPECT_EQ(test, kp_ret_with_frame(frames[i], i), i + 1);
			calls++;
			kp_expect_hits(test, probe[0], calls);
			KUNIT_EXPECT_EQ(test, probe[n]->value, i + 1);
		}
	}
	kp_expect_hits(test, probe[1], ARRAY_SIZE(frames));
}

#else

KP_CASE(kp_ret_values_any_frame, kunit_skip(test, "the frame of a call is a place on the stack"))

#endif

static struct kunit_case kp_ret_values_cases[] = {
	KUNIT_CASE(kp_ret_values_two),
	KUNIT_CASE_PARAM(kp_ret_values_structure, kp_ret_structure_gen_params),
	KUNIT_CASE(kp_ret_values_arguments),
	KUNIT_CASE(kp_ret_values_asmlinkage),
	KUNIT_CASE(kp_ret_values_variadic),
	KUNIT_CASE(kp_ret_values_any_frame),
	{}
};

KP_SUITE(kp_ret_values, "kretprobes_values");
