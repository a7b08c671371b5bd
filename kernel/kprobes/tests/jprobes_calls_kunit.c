// SPDX-License-Identifier: GPL-2.0
/* Test jprobes in task context: arguments, other probes, exceptions, stack traces */

#include <linux/sched/task_stack.h>
#include <asm/processor-flags.h>
#include "jprobes_kunit.h"

#define KP_JP_ROUNDS	20

static struct kp_probe *kp_jp_rounds(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_registered(test);
	int i;

	for (i = 0; i < KP_JP_ROUNDS; i++)
		kp_jp_expect_call(test, jp);
	return jp;
}

static void kp_jp_calls_arguments(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_rounds(test);

	KUNIT_EXPECT_EQ(test, jp->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, jp->jp.reported, 0);
	kp_unregister(test, jp);
	KUNIT_EXPECT_EQ(test, kp_jp_call(kp_jp_target(test)), kp_jp_result());
	kp_expect_hits(test, jp, KP_JP_ROUNDS);
}

static noinline long kp_jp_call_on_stack(void)
{
	return KP_JP_CALL(kp_jp_on_stack);
}

static void kp_jp_calls_all_on_stack(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_new(test, kp_jp_on_stack);
	int i;

	jp->jp.entry = kp_jp_handler_on_stack;
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	KUNIT_EXPECT_EQ(test, kp_jp_call_on_stack(), kp_jp_result());
	KUNIT_EXPECT_EQ(test, jp->calls, 1);
	for (i = 0; i < KP_JP_ARGS; i++)
		KUNIT_EXPECT_EQ(test, jp->arg[i], KP_JP_ARG(i + 1));
}

static void kp_jp_calls_deep(struct kunit *test)
{
	kp_jp_deep = true;
	kp_jp_rounds(test);
}

/* The handler returns without jprobe_return(). jprobe.sh looks for the message about that. */
static void kp_jp_calls_no_return(struct kunit *test)
{
	struct kp_probe *jp;

	kp_jp_returns = true;
	jp = kp_jp_rounds(test);
	KUNIT_EXPECT_NE(test, jp->jp.reported, 0);
	kp_jp_returns = false;
	kp_jp_expect_call(test, jp);
}

static long kp_jp_regs_handler(void)
{
	return kp_jp_handler(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void kp_jp_calls_registers(struct kunit *test)
{
	const unsigned long arithmetic = X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |
					 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_OF;
	struct kp_probe *jp = kp_jp_new(test, kp_jp_regs_target);
	unsigned long flags = 0;
	int calls = 0, i, nr = IS_ENABLED(CONFIG_X86_64) ? KP_JP_NR : KP_JP_FLAGS + 1;

	jp->jp.entry = kp_jp_regs_handler;
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	do {
		preempt_disable();
		for (i = 0; i < KP_JP_NR; i++)
			kp_jp_in[i] = 0x1234567UL * (i + 1) + calls;
		kp_jp_in[KP_JP_FLAGS] = X86_EFLAGS_IF | X86_EFLAGS_FIXED | flags;
		memset(kp_jp_out, 0, sizeof(kp_jp_out));
		kp_jp_regs();
		preempt_enable();
		kp_jp_out[KP_JP_FLAGS] &= X86_EFLAGS_IF | arithmetic;
		kp_jp_in[KP_JP_FLAGS] &= X86_EFLAGS_IF | arithmetic;
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ_MSG(test, kp_jp_out[i], kp_jp_in[i], "register %d", i);
		calls++;
		/* Next subset of the arithmetic flags: count upwards, skip the bits in between. */
		flags = (flags - arithmetic) & arithmetic;
	} while (flags);
	kp_expect_hits(test, jp, calls);
}

static void kp_jp_calls_across_pages(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_new(test, kp_jp_plain);
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	unsigned long page = ALIGN_DOWN(here - 1024, PAGE_SIZE);
	long args[KP_JP_ARGS];
	int i, words, calls = 0;

	if (page <= (unsigned long)task_stack_page(current))
		kunit_skip(test, "the stack has no page below this one");
	for (i = 0; i < KP_JP_ARGS; i++)
		args[i] = KP_JP_ARG(i + 1);
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	for (words = -KP_JP_ARGS; words <= 2; words++) {
		memset(jp->arg, 0, sizeof(jp->arg));
		KUNIT_EXPECT_EQ(test, kp_jp_call_plain_at(args, (long *)page + words),
				kp_jp_result());
		KUNIT_EXPECT_EQ(test, jp->calls, ++calls);
		for (i = 0; i < KP_JP_ARGS; i++)
			KUNIT_EXPECT_EQ_MSG(test, jp->arg[i], args[i], "%d words, argument %d",
					    words, i + 1);
	}
}

static noinline long kp_jp_short_handler(long arg)
{
	return kp_jp_handler(arg, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

/*
 * Call kp_jp_short() on a stack that ends at a guard page, with only 0 to 13 words above the return
 * address. kprobes copies the words where arguments may be, and must not read past the end of the
 * stack.
 */
static void kp_jp_calls_end_of_stack(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_new(test, kp_jp_short);
	void *stack = kp_vzalloc(test, THREAD_SIZE);
	unsigned long flags;
	long got[KP_JP_ARGS];
	int words;

	jp->jp.entry = kp_jp_short_handler;
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	/* Keep interrupts off: they would use this stack, on which unwinders give up. */
	local_irq_save(flags);
	for (words = 0; words < KP_JP_ARGS; words++)
		got[words] = kp_jp_call_short_at(words, stack + THREAD_SIZE - words * sizeof(long));
	local_irq_restore(flags);
	for (words = 0; words < KP_JP_ARGS; words++)
		KUNIT_EXPECT_EQ(test, got[words], words + 1);
	KUNIT_EXPECT_EQ(test, jp->calls, KP_JP_ARGS);
	KUNIT_EXPECT_EQ(test, jp->arg[0], KP_JP_ARGS - 1);
	KUNIT_EXPECT_EQ(test, jp->survived, 0);
}

static struct kp_jp_neighbour {
	struct kprobe kp;
	struct kretprobe rp;
	unsigned int pre, post, entry, ret;
	long value, arg;
} kp_jp_older, kp_jp_newer;

static int kp_jp_neighbour_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct kp_jp_neighbour *n = container_of(p, struct kp_jp_neighbour, kp);

	n->pre = ++kp_jp_order;
	n->arg = regs_get_kernel_argument(regs, 1);
	return 0;
}

KP_POST_HANDLER(, kp_jp_neighbour_post,
		container_of(p, struct kp_jp_neighbour, kp)->post = ++kp_jp_order)

static int kp_jp_neighbour_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct kp_jp_neighbour, rp)->entry = ++kp_jp_order;
	return 0;
}

static int kp_jp_neighbour_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_jp_neighbour *n = container_of(get_kretprobe(ri), struct kp_jp_neighbour, rp);

	n->ret = ++kp_jp_order;
	n->value = regs_return_value(regs);
	return 0;
}

static void kp_jp_neighbour_add(struct kunit *test, struct kp_jp_neighbour *n, void *addr)
{
	*n = (struct kp_jp_neighbour) {
		.kp.addr = addr,
		.kp.pre_handler = kp_jp_neighbour_pre, .kp.post_handler = kp_jp_neighbour_post,
		.rp.kp.addr = addr,
		.rp.entry_handler = kp_jp_neighbour_entry, .rp.handler = kp_jp_neighbour_return,
	};
	kp_kretprobe_add(test, &n->rp);
	kp_kprobe_add(test, &n->kp);
}

/* At the entry of the function, the handlers must run in reverse order of their registration. */
static void kp_jp_calls_with_probes(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_new(test, NULL);
	void *addr = jp->kp.addr;
	int i;

	kp_jp_neighbour_add(test, &kp_jp_older, addr);
	KUNIT_ASSERT_EQ(test, register_jprobe(&jp->jp), 0);
	kp_jp_neighbour_add(test, &kp_jp_newer, addr);
	kp_jp_wait_for_jumps(test);
	for (i = 0; i < KP_JP_ROUNDS; i++) {
		kp_jp_order = 0;
		kp_jp_expect_call(test, jp);
		KUNIT_EXPECT_EQ(test, kp_jp_newer.pre, 1);
		KUNIT_EXPECT_EQ(test, kp_jp_newer.entry, 2);
		KUNIT_EXPECT_EQ(test, jp->order, 3);
		KUNIT_EXPECT_EQ(test, kp_jp_older.pre, 4);
		KUNIT_EXPECT_EQ(test, kp_jp_older.entry, 5);
		KUNIT_EXPECT_EQ(test, kp_jp_newer.post + kp_jp_older.post, 6 + 7);
		KUNIT_EXPECT_EQ(test, kp_jp_newer.ret + kp_jp_older.ret, 8 + 9);
		KUNIT_EXPECT_EQ(test, kp_jp_older.value, kp_jp_result());
		KUNIT_EXPECT_EQ(test, kp_jp_newer.value, kp_jp_result());
		KUNIT_EXPECT_EQ(test, kp_jp_older.arg, KP_JP_ARG(2));
	}
	unregister_jprobe(&jp->jp);
}

static int kp_jp_faults;
static bool kp_jp_fault_handler_ends;

static int kp_jp_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_jp_faults++;
	/*
	 * In a fault_handler, jprobe_return() must return to its caller, or the exception handler
	 * that called the fault_handler would never return.
	 */
	if (kp_jp_fault_handler_ends)
		jprobe_return();
	return 0;
}

static long kp_jp_fixed_up;

static void kp_jp_read_nowhere(void)
{
	long word;

	kp_jp_fixed_up = copy_from_kernel_nofault(&word, (void *)-4096L, sizeof(word));
}

static void kp_jp_calls_fault(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_new(test, NULL);
	int i;

	kp_jp_faults = 0;
	jp->kp.fault_handler = kp_jp_fault;
	kp_jp_hook = kp_jp_read_nowhere;
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	for (i = 1; i <= 4; i++) {
		kp_jp_fault_handler_ends = i > 2;
		kp_jp_fixed_up = 0;
		kp_jp_expect_call(test, jp);
		KUNIT_EXPECT_EQ(test, kp_jp_fixed_up, -EFAULT);
		KUNIT_EXPECT_EQ(test, kp_jp_faults, i);
	}
}

static struct kp_trace kp_jp_in_handler, kp_jp_in_function;

static void kp_jp_trace_handler(void)
{
	kp_save(&kp_jp_in_handler);
}

KP_PRE_HANDLER(, kp_jp_trace_pre, kp_save(&kp_jp_in_function))

KP_CALLER(static, kp_jp_call_from_here, enum kp_jp_target, kp_jp_call(arg))

static void kp_jp_calls_stack_trace(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_registered(test);
	void *addr = kp_jp_address(kp_jp_target(test));
	struct kprobe kp = { .addr = addr, .pre_handler = kp_jp_trace_pre };
	unsigned int i, j;

	kp_jp_hook = kp_jp_trace_handler;
	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	kp_jp_settle(test, &kp);
	KUNIT_EXPECT_EQ(test, kp_jp_call_from_here(kp_jp_target(test)), kp_jp_result());
	unregister_kprobe(&kp);
	KUNIT_EXPECT_EQ(test, jp->calls, 1);
	i = kp_trace_find(&kp_jp_in_handler, 0, addr, 16);
	j = kp_trace_find(&kp_jp_in_function, 0, addr, 16);
	KUNIT_ASSERT_GT(test, i, 1);
	KUNIT_ASSERT_LT(test, i, kp_jp_in_handler.nr);
	KUNIT_ASSERT_LT(test, j + 3, kp_jp_in_function.nr);
	KUNIT_EXPECT_EQ(test, kp_jp_in_handler.nr - i, kp_jp_in_function.nr - j);
	for (; i < kp_jp_in_handler.nr && j < kp_jp_in_function.nr; i++, j++)
		KUNIT_EXPECT_EQ_MSG(test, kp_jp_in_handler.entry[i], kp_jp_in_function.entry[j],
				    "%pS", (void *)kp_jp_in_handler.entry[i]);
}

static struct kunit_case kp_jp_calls_cases[] = {
	KP_JP_CASE(kp_jp_calls_arguments),
	KUNIT_CASE(kp_jp_calls_all_on_stack),
	KP_JP_CASE(kp_jp_calls_deep),
	KP_JP_CASE(kp_jp_calls_no_return),
	KUNIT_CASE(kp_jp_calls_registers),
	KUNIT_CASE(kp_jp_calls_across_pages),
	KUNIT_CASE(kp_jp_calls_end_of_stack),
	KP_JP_CASE(kp_jp_calls_with_probes),
	KP_JP_CASE(kp_jp_calls_fault),
	KP_JP_CASE(kp_jp_calls_stack_trace),
	{}
};

KP_SUITE(kp_jp_calls, "jprobes_calls", .init = kp_jp_init);
