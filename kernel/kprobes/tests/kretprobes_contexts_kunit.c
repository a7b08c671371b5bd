// SPDX-License-Identifier: GPL-2.0
/*
 * Calls in every context. If a handler calls a probed function, the call is missed; if a
 * context that interrupts the handler does, it is followed.
 */

#include "kretprobes_kunit.h"
#include "kp_contexts.h"

static void kp_ret_context_call(void)
{
	kp_ret_target(1);
}

static void kp_ret_context_check(struct kunit *test, void *data, int calls)
{
	struct kp_probe *probe = data;

	kp_expect_hits(test, probe, calls);
}

static void kp_ret_contexts_all(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_ret_target);

	kp_in_contexts(test, kp_ret_context_call, kp_ret_context_check, probe);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

/* Handlers that call a probed function. The count shows a wrong result. */
static int kp_ret_entry_calls_other(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_ret_other(1) == 2)
		kp_ret_entry(ri, regs);
	return 0;
}

static int kp_ret_return_calls_other(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_ret_other(1) == 2)
		kp_ret_return(ri, regs);
	return 0;
}

static int kp_ret_pre_calls_other(struct kprobe *p, struct pt_regs *regs)
{
	kp_ret_other(1);
	return 0;
}

static const struct kp_ret_caller {
	const char *name;
	kretprobe_handler_t entry;
	kretprobe_handler_t handler;
	kprobe_pre_handler_t pre;
	int calls;
} kp_ret_callers[] = {
	{ "entry_handler", kp_ret_entry_calls_other, kp_ret_return, .calls = 1 },
	{ "handler", kp_ret_entry, kp_ret_return_calls_other, .calls = 1 },
	{ "both", kp_ret_entry_calls_other, kp_ret_return_calls_other, .calls = 2 },
	{ "pre_handler", kp_ret_entry, kp_ret_return, kp_ret_pre_calls_other, 1 },
};

KUNIT_ARRAY_PARAM_DESC(kp_ret_caller, kp_ret_callers, name);

/* A handler calls a function with a kprobe and a return probe: both count the hit as missed. */
static void kp_ret_contexts_handler_hits(struct kunit *test)
{
	const struct kp_ret_caller *caller = test->param_value;
	struct kp_probe *probe = kp_new(test, kp_ret_target);
	struct kp_probe *other = kp_registered(test, kp_ret_other);
	struct kprobe *kp;
	int i;

	kp = kp_ret_kprobe(test, &(struct kprobe) {
		.addr = kp_entry(kp_ret_other), .pre_handler = kp_ret_kprobe_pre,
	});
	if (caller->pre)
		kp_ret_kprobe(test, &(struct kprobe) {
			.addr = kp_entry(kp_ret_target), .pre_handler = caller->pre,
		});
	probe->rp.entry_handler = caller->entry;
	probe->rp.handler = caller->handler;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_ret_target, i);
		kp_expect_hits(test, other, 0);
		KUNIT_EXPECT_EQ(test, kp->nmissed, caller->calls * i);
		/* Missed as a hit, not for lack of an instance */
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, caller->calls * i);
		KUNIT_EXPECT_EQ(test, other->rp.nmissed, 0);
	}
	kp_unregister(test, probe);
	KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, 0);
	kp_expect_call(test, other, kp_ret_other, 1);
	KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, 1);
}

static int kp_ret_calls_itself(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_ret_target(1) == 2)
		kp_ret_return(ri, regs);
	return 0;
}

static void kp_ret_contexts_handler_hits_itself(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ret_target);
	unsigned long from = kp_ret_calls_from();
	int i;

	probe->rp.handler = kp_ret_calls_itself;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls(7), 8);
		kp_expect_hits(test, probe, i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, probe->value, 8);
		KUNIT_EXPECT_EQ(test, probe->retaddr, from);
	}
}

#ifdef CONFIG_X86

/* The interrupt calls two functions with return probes, one of them the interrupted one. */
static void kp_ret_interruption(void)
{
	kp_ret_other(1);
	kp_ret_target(5);
}

/* Interrupt only the call of the case, not those of the interrupt. */
static int kp_ret_interrupted_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp_argument(regs, 0) == 1)
		kp_interrupt_handler();
	return kp_ret_entry(ri, regs);
}

static int kp_ret_interrupted_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (regs_return_value(regs) == 2)
		kp_interrupt_handler();
	return kp_ret_return(ri, regs);
}

static void kp_ret_interrupted_function(long data)
{
	kp_interrupt_self();
}

static void kp_ret_contexts_over_function(struct kunit *test)
{
	const struct kp_interrupt_kind *kind = test->param_value;
	struct kp_probe *probe = kp_registered(test, kp_ret_calls_back);
	struct kp_probe *target = kp_registered(test, kp_ret_target);
	struct kp_probe *other = kp_registered(test, kp_ret_other);
	int i;

	kp_interrupt_prepare(test, kp_ret_interruption, kind->nmi);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_interrupted_function, i), i + 1);
		KUNIT_EXPECT_TRUE(test, kp_interrupt.arrived);
		kp_expect_hits(test, probe, i);
		kp_expect_hits(test, other, i);
		kp_expect_hits(test, target, i);
		KUNIT_EXPECT_EQ(test, target->value, 6);
		KUNIT_EXPECT_EQ(test, probe->value, i + 1);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed + target->rp.nmissed + other->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed + target->kp.nmissed, 0);
}

static void kp_ret_over_handler(struct kunit *test, bool at_entry)
{
	const struct kp_interrupt_kind *kind = test->param_value;
	struct kp_probe *target = kp_new(test, kp_ret_target);
	struct kp_probe *other = kp_registered(test, kp_ret_other);
	int i;

	if (at_entry)
		target->rp.entry_handler = kp_ret_interrupted_entry;
	else
		target->rp.handler = kp_ret_interrupted_return;
	kp_interrupt_prepare(test, kp_ret_interruption, kind->nmi);
	KUNIT_ASSERT_EQ(test, kp_register(test, target), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		irq_work_sync(&kp_interrupt.work);
		KUNIT_EXPECT_TRUE(test, kp_interrupt.arrived);
		/* An entry_handler may run with interrupts off. */
		if (kind->nmi || !at_entry)
			KUNIT_EXPECT_EQ(test, kp_interrupt.over_handler, i);
		kp_expect_hits(test, other, i);
		kp_expect_hits(test, target, 2 * i);
	}
	KUNIT_EXPECT_EQ(test, target->rp.nmissed + other->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, other->kp.nmissed + target->kp.nmissed, 0);
}

static void kp_ret_contexts_over_entry_handler(struct kunit *test)
{
	kp_ret_over_handler(test, true);
}

static void kp_ret_contexts_over_return_handler(struct kunit *test)
{
	kp_ret_over_handler(test, false);
}

#endif /* CONFIG_X86 */

static struct kunit_case kp_ret_contexts_cases[] = {
	KUNIT_CASE(kp_ret_contexts_all),
	KUNIT_CASE_PARAM(kp_ret_contexts_handler_hits, kp_ret_caller_gen_params),
	KUNIT_CASE(kp_ret_contexts_handler_hits_itself),
#ifdef CONFIG_X86
	KUNIT_CASE_PARAM(kp_ret_contexts_over_function, kp_interrupt_gen_params),
	KUNIT_CASE_PARAM(kp_ret_contexts_over_entry_handler, kp_interrupt_gen_params),
	KUNIT_CASE_PARAM(kp_ret_contexts_over_return_handler, kp_interrupt_gen_params),
#endif
	{}
};

struct kunit_suite kp_ret_contexts_suite = {
	.name = "kretprobes_contexts",
	.test_cases = kp_ret_contexts_cases,
};
