// SPDX-License-Identifier: GPL-2.0
/* Handlers: registers, order, redirection, nesting */

#include "kprobes_kunit.h"
#include "kp_contexts.h"

/* A probe that also counts in a post_handler */
static struct kp_probe *kp_new_post(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_new(test, addr);

	probe->kp.post_handler = kp_count_post;
	return probe;
}

#ifdef CONFIG_X86

/* A probe at each instruction of a function: check the instruction pointers. */
static void kp_handlers_addresses(struct kunit *test)
{
	unsigned long start = (unsigned long)kp_x86_sum;
	struct kp_probe *probe;
	int insn;

	for (insn = KP_SUM_LEA; insn <= KP_SUM_RET; insn++) {
		probe = kp_new_post(test, kp_x86_sum_addr(insn));
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
		kp_expect_pre_post(test, probe, 1, 1);
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		/* As the breakpoint leaves it, one byte on */
		KUNIT_EXPECT_EQ(test, probe->pre_ip, (unsigned long)probe->kp.addr + 1);
		/* After a return instruction, the next instruction is in the caller. */
		if (insn == KP_SUM_RET)
			KUNIT_EXPECT_GE(test, probe->post_ip - start, kp_x86_sum_insn[insn]);
		else
			KUNIT_EXPECT_EQ(test, probe->post_ip,
					(unsigned long)kp_x86_sum_addr(insn + 1));
		KUNIT_EXPECT_FALSE(test, probe->preemptible);
		kp_unregister(test, probe);
	}
}

static int kp_double_argument(struct kprobe *kp, struct pt_regs *regs)
{
	kp_arg1(regs) *= 2;
	return kp_count_pre(kp, regs);
}

static void kp_add_to_result(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	regs->ax += 1000;
	kp_count_post(kp, regs, flags);
}

static void kp_handlers_change_registers(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_x86_sum_addr(KP_SUM_LEA));

	probe->kp.pre_handler = kp_double_argument;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(20, 2), 42);
	kp_unregister(test, probe);

	probe->kp.pre_handler = NULL;
	probe->kp.post_handler = kp_add_to_result;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 1042);
	kp_expect_pre_post(test, probe, 1, 1);
}

static int kp_return_at_once(struct kprobe *kp, struct pt_regs *regs)
{
	kp_count_pre(kp, regs);
	regs->ax = kp_arg1(regs) * 2;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

/*
 * A pre_handler redirects the hit, alone and among other probes: pre_handlers before it have run,
 * later ones and all post_handlers do not.
 */
static void kp_handlers_divert(struct kunit *test)
{
	struct kp_probe *older = kp_new_post(test, kp_x86_sum);
	struct kp_probe *divert = kp_new_post(test, kp_x86_sum);
	struct kp_probe *newer = kp_new_post(test, kp_x86_sum);

	divert->kp.pre_handler = kp_return_at_once;
	KUNIT_ASSERT_EQ(test, kp_register(test, divert), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 20);
	kp_expect_pre_post(test, divert, 1, 0);
	kp_unregister(test, divert);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 11);

	KUNIT_ASSERT_EQ(test, kp_register(test, older), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, divert), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, newer), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 20);
	kp_expect_pre_post(test, newer, 1, 0);
	kp_expect_pre_post(test, divert, 2, 0);
	kp_expect_pre_post(test, older, 0, 0);

	/* A redirected hit does not affect the next one. */
	KUNIT_EXPECT_EQ(test, kp_disable(divert), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(10, 1), 11);
	kp_expect_pre_post(test, newer, 2, 1);
	kp_expect_pre_post(test, older, 1, 1);
	KUNIT_EXPECT_EQ(test, newer->kp.nmissed + divert->kp.nmissed + older->kp.nmissed, 0);
}
#endif

/* The handlers that ran, in order */
static struct {
	struct kprobe *kp;
	bool post;
} kp_runs[16];

static unsigned int kp_runs_nr;

static void kp_note_run(struct kprobe *kp, bool post)
{
	if (kp_runs_nr < ARRAY_SIZE(kp_runs)) {
		kp_runs[kp_runs_nr].kp = kp;
		kp_runs[kp_runs_nr].post = post;
	}
	kp_runs_nr++;
}

NOKPROBE_SYMBOL(kp_note_run);

static int kp_note_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_note_run(kp, false);
	return 0;
}

NOKPROBE_SYMBOL(kp_note_pre);

static void kp_note_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_note_run(kp, true);
}

NOKPROBE_SYMBOL(kp_note_post);

/*
 * All pre_handlers run, then all post_handlers, each time the newest first. Disabling and
 * enabling does not change the order.
 */
static void kp_handlers_order(struct kunit *test)
{
	struct kp_probe *probe[4];
	int i, again;

	for (i = 0; i < 4; i++) {
		probe[i] = kp_new(test, kp_target);
		probe[i]->kp.pre_handler = kp_note_pre;
		probe[i]->kp.post_handler = kp_note_post;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe[i]), 0);
	}
	for (again = 0; again < 2; again++) {
		kp_runs_nr = 0;
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_ASSERT_EQ(test, kp_runs_nr, 8);
		for (i = 0; i < 8; i++) {
			KUNIT_EXPECT_PTR_EQ(test, kp_runs[i].kp, &probe[3 - i % 4]->kp);
			KUNIT_EXPECT_EQ(test, kp_runs[i].post, i >= 4);
		}
		KUNIT_EXPECT_EQ(test, kp_disable(probe[1]), 0);
		KUNIT_EXPECT_EQ(test, kp_enable(test, probe[1]), 0);
	}
}

/*
 * A post_handler is called from registration to unregistration, and while it is enabled,
 * whatever other probes there are.
 */
static void kp_handlers_post_joins(struct kunit *test)
{
	struct kp_probe *plain = kp_registered(test, kp_target);
	struct kp_probe *joins = kp_new_post(test, kp_target);
	int i;

	kp_expect_call(test, plain, kp_target, 1);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, joins), 0);
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		kp_expect_pre_post(test, joins, i, i);
		kp_unregister(test, joins);
		kp_expect_unprobed(test, joins, kp_target);
	}
	kp_expect_pre_post(test, plain, 7, 0);

	joins->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, joins), 0);
	kp_expect_unprobed(test, joins, kp_target);
	KUNIT_EXPECT_EQ(test, kp_enable(test, joins), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_expect_pre_post(test, joins, 4, 4);
	KUNIT_EXPECT_EQ(test, kp_disable(joins), 0);
	kp_expect_unprobed(test, joins, kp_target);
}

static void kp_handlers_post_only(struct kunit *test)
{
	struct kp_probe *probe = kp_new_post(test, kp_target);

	probe->kp.pre_handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	kp_expect_pre_post(test, probe, 0, 1);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

/* Handlers that hit another probe. The count shows a wrong result. */
static int kp_call_other_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre += kp_target_other(1) == 2;
	return 0;
}

static void kp_call_other_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_kp_probe(kp)->post += kp_target_other(1) == 2;
}

static void kp_handlers_missed(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, kp_target);
	struct kp_probe *plain = kp_registered(test, kp_target_other);
	struct kp_probe *post = kp_new_post(test, kp_target_other);
	struct kp_probe *disabled = kp_registered(test, kp_target_other);
	int i;

	KUNIT_ASSERT_EQ(test, kp_register(test, post), 0);
	KUNIT_EXPECT_EQ(test, kp_disable(disabled), 0);
	for (i = 1; i <= 20; i++) {
		if (i % 10 == 1) {
			outer->kp.pre_handler = i < 10 ? kp_call_other_pre : NULL;
			outer->kp.post_handler = i < 10 ? NULL : kp_call_other_post;
			KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
		}
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		kp_expect_pre_post(test, outer, min(i, 10), max(i - 10, 0));
		KUNIT_EXPECT_EQ(test, plain->kp.nmissed, i);
		KUNIT_EXPECT_EQ(test, post->kp.nmissed, i);
		if (i % 10 == 0)
			kp_unregister(test, outer);
	}
	KUNIT_EXPECT_EQ(test, disabled->kp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
	kp_expect_pre_post(test, plain, 0, 0);
	kp_expect_pre_post(test, post, 0, 0);

	/* Outside a handler it is a hit, and is not missed. */
	kp_expect_call(test, plain, kp_target_other, 1);
	kp_expect_pre_post(test, post, 1, 1);
	KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 20);
}

/* A handler calls the function that it probes. */
static int kp_call_same_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_probe(kp)->pre += kp_target(1) == 2;
	return 0;
}

static void kp_handlers_missed_same(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);
	int i;

	probe->kp.pre_handler = kp_call_same_pre;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		kp_expect_call(test, probe, kp_target, i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i);
	}
}

/* Probed functions that call each other: no handler is running then. */
static void kp_handlers_nested_functions(struct kunit *test)
{
	struct kp_probe *outer = kp_new_post(test, kp_target_calls);
	struct kp_probe *inner = kp_new_post(test, kp_target);

	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, inner), 0);
	KUNIT_EXPECT_EQ(test, kp_target_calls(1), 2);
	kp_expect_pre_post(test, outer, 1, 1);
	kp_expect_pre_post(test, inner, 1, 1);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed + inner->kp.nmissed, 0);
}

static void kp_context_hit(void)
{
	kp_target(1);
}

static void kp_context_check(struct kunit *test, void *data, int calls)
{
	struct kp_probe *probe = data;

	kp_expect_pre_post(test, probe, calls, calls);
}

static void kp_handlers_contexts(struct kunit *test)
{
	struct kp_probe *probe = kp_new_post(test, kp_target);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_in_contexts(test, kp_context_hit, kp_context_check, probe);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

#ifdef CONFIG_X86

/* A softirq after the interrupt, which hits the other probe too */
static struct tasklet_struct kp_over_tasklet;

static void kp_over_softirq(struct tasklet_struct *tasklet)
{
	kp_interrupt_arrives();
}

static void kp_over_hit(void)
{
	kp_target_other(1);
	if (in_hardirq() && !in_nmi())
		tasklet_schedule(&kp_over_tasklet);
}

static bool kp_over_irqs_on;

static void kp_over_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_over_irqs_on = !irqs_disabled();
	kp_interrupt_handler();
	kp_target_other(1);
	to_kp_probe(kp)->post++;
}

static int kp_over_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_over_post(kp, regs, 0);
	return 0;
}

/*
 * A hard interrupt, a softirq or an NMI during a handler has hits of its own. The hit of the
 * handler itself is missed.
 */
static void kp_handlers_interrupted(struct kunit *test)
{
	const struct kp_interrupt_kind *kind = test->param_value;
	void *addr = kind->nmi ? (void *)kp_target : kp_x86_sum_addr(KP_SUM_XOR);
	struct kp_probe *outer = kp_new(test, addr);
	struct kp_probe *other = kp_new_post(test, kp_target_other);
	int i, hits = kind->nmi ? 1 : 2;

	kp_interrupt_prepare(test, kp_over_hit, kind->nmi);
	tasklet_setup(&kp_over_tasklet, kp_over_softirq);
	outer->kp.pre_handler = kind->nmi ? kp_over_pre : NULL;
	outer->kp.post_handler = kind->nmi ? NULL : kp_over_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, other), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, outer), 0);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_target(1), 2);
		KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
		irq_work_sync(&kp_interrupt.work);
		tasklet_kill(&kp_over_tasklet);
		KUNIT_EXPECT_EQ(test, outer->post, i);
		KUNIT_EXPECT_EQ(test, kp_interrupt.over_handler,
				kind->nmi || kp_over_irqs_on ? i * hits : 0);
		kp_expect_pre_post(test, other, i * hits, i * hits);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, i);
	}
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
}

#endif /* CONFIG_X86 */

static struct kunit_case kp_handlers_cases[] = {
#ifdef CONFIG_X86
	KUNIT_CASE_PARAM(kp_handlers_interrupted, kp_interrupt_gen_params),
	KUNIT_CASE(kp_handlers_addresses),
	KUNIT_CASE(kp_handlers_change_registers),
	KUNIT_CASE(kp_handlers_divert),
#endif
	KUNIT_CASE(kp_handlers_order),
	KUNIT_CASE(kp_handlers_post_joins),
	KUNIT_CASE(kp_handlers_post_only),
	KUNIT_CASE(kp_handlers_missed),
	KUNIT_CASE(kp_handlers_missed_same),
	KUNIT_CASE(kp_handlers_nested_functions),
	KUNIT_CASE(kp_handlers_contexts),
	{}
};

struct kunit_suite kp_handlers_suite = {
	.name = "kprobes_handlers",
	.test_cases = kp_handlers_cases,
};
