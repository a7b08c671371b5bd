// SPDX-License-Identifier: GPL-2.0
/* Test return probes in every context, and with interrupts during functions and handlers */

#include "kretprobes_kunit.h"
#include "kp_cases_contexts.h"
#ifdef __ARCH_WANT_PROBEPOINT
#include "kp_cases_nested.h"
#endif

/* A kprobe's handler calls a function with a return probe, which must count the hit as missed. */
KP_PRE_HANDLER(, kp_ret_pre_calls_other, kp_ret_kprobe_hits += kp_ret_other(1) == 2)

static void kp_ret_contexts_kprobe_handler(struct kunit *test)
{
	struct kp_probe *other = kp_registered(test, kp_ret_other);
	int i;

	kp_ret_kprobe(test, &(struct kprobe) {
		.addr = kp_entry(kp_ret_target), .pre_handler = kp_ret_pre_calls_other,
	});
	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, other, kp_ret_target, 0);
		KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, i);
		KUNIT_EXPECT_EQ(test, kp_missed(other), i);
	}
}

static void kp_ret_contexts_handler_hits_kprobe(struct kunit *test)
{
	struct kprobe *kp = kp_ret_kprobe(test, &(struct kprobe) {
		.addr = kp_entry(kp_ret_other), .pre_handler = kp_ret_kprobe_pre,
	});
	struct kp_probe *probe = kp_context_probe(test, kp_context_call_other);
	int i;

	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_ret_target, i);
		KUNIT_EXPECT_EQ(test, kp->nmissed, i);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, 0);
	KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
	KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, 1);
}

/* A handler calls the probed function. The outer call must still return to its caller. */
static void kp_ret_contexts_handler_hits_itself(struct kunit *test)
{
	unsigned long from = kp_ret_calls_from();
	struct kp_probe *probe = kp_context_probe(test, kp_context_call);

	KUNIT_EXPECT_EQ(test, kp_ret_calls(7), 8);
	kp_expect_hits(test, probe, 1);
	KUNIT_EXPECT_EQ(test, probe->value, 8);
	KUNIT_EXPECT_EQ(test, probe->retaddr, from);
}

#ifdef CONFIG_X86

static struct kp_probe *kp_ret_above_probe;

noinline long kp_ret_records(struct pt_regs *regs);
noinline long kp_ret_records(struct pt_regs *regs)
{
	guard(preempt)();
	return kp_ret_above_probe->kp.pre_handler(&kp_ret_above_probe->kp, regs);
}

noinline long kp_ret_above(long arg);
noinline long kp_ret_above(long arg)
{
	/* As after a breakpoint at the entry: sp is the stack slot of the return address. */
	struct pt_regs regs = {
		.sp = (unsigned long)((unsigned long *)__builtin_frame_address(0) + 1),
	};

	if (kp_ret_records(&regs))
		return -1;
	barrier();
	return arg + 1;
}

/*
 * A function whose return is tracked, as one that handles breakpoints may be, records the entry of
 * a call that is further up the stack. So the call whose record is newer returns later.
 */
static void kp_ret_contexts_above(struct kunit *test)
{
	struct kp_probe *records = kp_registered(test, kp_ret_records);
	int i;

	kp_ret_may_be_fatal(test);
	kp_ret_above_probe = kp_registered(test, kp_ret_target);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_above(1), 2);
		kp_expect_counts(test, records, i, i);
		kp_expect_counts(test, kp_ret_above_probe, i, i);
		KUNIT_EXPECT_EQ(test, kp_ret_above_probe->value, 2);
	}
}

static void kp_ret_interrupted_function(long data)
{
	kp_interrupt_self();
}

static void kp_ret_over_function(struct kunit *test, bool nmi)
{
	struct kp_probe *probe = kp_registered(test, kp_ret_calls_back);
	struct kp_probe *target = kp_context_probe(test, NULL);
	struct kp_probe *other = kp_registered(test, kp_ret_other);
	int i;

	kp_interrupt_prepare(test, kp_context_interruption, nmi);
	tasklet_setup(&kp_context_over.tasklet, kp_context_softirq);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_interrupted_function, i), i + 1);
		tasklet_kill(&kp_context_over.tasklet);
		KUNIT_EXPECT_TRUE(test, kp_interrupt.arrived);
		kp_expect_hits(test, probe, i);
		kp_expect_hits(test, other, nmi ? i : 2 * i);
		kp_expect_hits(test, target, nmi ? i : 2 * i);
		KUNIT_EXPECT_EQ(test, target->value, 2);
		KUNIT_EXPECT_EQ(test, probe->value, i + 1);
	}
	KUNIT_EXPECT_EQ(test, kp_missed(probe) + kp_missed(target) + kp_missed(other), 0);
}

KP_CASE(kp_ret_contexts_irq_over_function, kp_ret_over_function(test, false))
KP_CASE(kp_ret_contexts_nmi_over_function, kp_ret_over_function(test, true))

#endif /* CONFIG_X86 */

static struct kunit_case kp_ret_contexts_cases[] = {
	KP_CASES_CONTEXTS,
	KUNIT_CASE(kp_ret_contexts_kprobe_handler),
	KUNIT_CASE_PARAM(kp_ret_contexts_handler_hits_kprobe, kp_context_gen_params),
	KUNIT_CASE_PARAM(kp_ret_contexts_handler_hits_itself, kp_context_gen_params),
#ifdef CONFIG_X86
	KP_CASES_INTERRUPTS,
	KUNIT_CASE(kp_ret_contexts_above),
	KUNIT_CASE_PARAM(kp_ret_contexts_irq_over_function, kp_context_gen_params),
	KUNIT_CASE_PARAM(kp_ret_contexts_nmi_over_function, kp_context_gen_params),
#endif
#ifdef __ARCH_WANT_PROBEPOINT
	KP_CASES_NESTED,
#endif
	{}
};

KP_SUITE(kp_ret_contexts, "kretprobes_contexts");
