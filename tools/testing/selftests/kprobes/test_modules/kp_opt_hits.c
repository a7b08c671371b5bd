// SPDX-License-Identifier: GPL-2.0
/* What a hit of a jump-optimised probe does: the same as one of any other probe. */

#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>
#include <linux/hardirq.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include "kp_opt_suites.h"

/* Exactly five bytes are another, and they are a jump to somewhere else. */
static void kp_opt_text_is_jump(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, false);
	struct kp_opt_bytes before;
	unsigned long to;
	int i;

	kp_opt_save(test, &before, kp_opt_sum);
	for (i = 0; i < 3; i++) {
		kp_opt_add(test, probe);
		kp_opt_becomes_jump(test, probe);
		kp_opt_same(test, &before, probe->kp.addr, JMP32_INSN_SIZE);
		to = kp_jump_target(probe->kp.addr);
		KUNIT_EXPECT_FALSE(test, to - (unsigned long)kp_opt_sum < 64);
		KUNIT_EXPECT_NE(test, kp_byte_at((void *)to), INT3_INSN_OPCODE);
		KUNIT_EXPECT_EQ(test, (u8)probe->kp.opcode,
				before.byte[(void *)probe->kp.addr - before.addr]);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, 1);
		kp_opt_del(test, probe);
		kp_opt_same(test, &before, NULL, 0);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, 1);
		probe->pre = 0;
	}
}

static void kp_opt_disable(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, false);
	struct kp_opt_bytes before;
	int i;

	kp_opt_save(test, &before, kp_opt_sum);
	probe->kp.flags = KPROBE_FLAG_DISABLED;
	kp_opt_add(test, probe);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_opt_same(test, &before, NULL, 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_ASSERT_EQ(test, enable_kprobe(&probe->kp), 0);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		kp_opt_becomes_jump(test, probe);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, 2 * i);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, 2 * i);
		kp_opt_same(test, &before, NULL, 0);
	}
	/* Switched off before it was optimised: it never is. */
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_opt_same(test, &before, NULL, 0);
}

/* A post_handler does not keep it from being optimised, and is called in between. */
static void kp_opt_post_handler(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, true);
	int i;

	kp_opt_add(test, probe);
	kp_opt_becomes_jump(test, probe);
	for (i = 1; i <= 10; i++) {
		probe->post_ip = 0;
		KUNIT_EXPECT_EQ(test, kp_opt_sum(i, 2), i + 2);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_EQ(test, probe->post, i);
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)kp_sum_insn(1));
	}
}

/* After the first of the overlapped instructions, and before the next. */
static void kp_opt_change_result(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_opt_post(kp, regs, flags);
	if (regs->cx == kp_arg1(regs))
		regs->cx += 1000;
}

static void kp_opt_post_in_between(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, false);

	probe->kp.post_handler = kp_opt_change_result;
	kp_opt_add(test, probe);
	kp_opt_becomes_jump(test, probe);
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 1042);
	KUNIT_EXPECT_EQ(test, probe->post, 1);
}

/* Neither pre- nor post_handler, or only a post_handler. */
static void kp_opt_few_handlers(struct kunit *test)
{
	struct kp_opt_probe *none = kp_opt_new(test, kp_opt_sum, false);
	struct kp_opt_probe *post = kp_opt_new(test, kp_opt_sum_other, true);

	none->kp.pre_handler = NULL;
	post->kp.pre_handler = NULL;
	kp_opt_add(test, none);
	kp_opt_add(test, post);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
	KUNIT_EXPECT_TRUE(test, kp_is_jump(post->kp.addr));
	KUNIT_EXPECT_EQ(test, kp_opt_sum_other(40, 2), 42);
	KUNIT_EXPECT_EQ(test, post->post, 1);
}

static int kp_opt_double(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	kp_arg1(regs) *= 2;
	kp_arg2(regs) *= 3;
	return 0;
}

static void kp_opt_change_registers(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, false);

	probe->kp.pre_handler = kp_opt_double;
	kp_opt_add(test, probe);
	kp_opt_becomes_jump(test, probe);
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 86);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

/* One with a post_handler joins one without, leaves, is switched: whatever there is, is called. */
static void kp_opt_colocated(struct kunit *test)
{
	struct kp_opt_probe *plain = kp_opt_new(test, kp_opt_sum, false);
	struct kp_opt_probe *joins = kp_opt_new(test, kp_opt_sum, true);
	int i;

	kp_opt_add(test, plain);
	kp_opt_becomes_jump(test, plain);
	for (i = 1; i <= 3; i++) {
		kp_opt_add(test, joins);
		/* From the moment that it is registered. */
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, joins->post, 3 * i - 2);
		kp_opt_becomes_jump(test, joins);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, joins->post, 3 * i - 1);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&joins->kp), 0);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, joins->post, 3 * i - 1);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&joins->kp), 0);
		kp_opt_becomes_jump(test, joins);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, joins->post, 3 * i);
		KUNIT_EXPECT_EQ(test, joins->pre, 3 * i);
		kp_opt_del(test, joins);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, joins->post, 3 * i);
		kp_opt_becomes_jump(test, plain);
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, plain->pre, 6 * i);
	}
	KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 0);
}

/* The target of the call at which a detour buffer begins. */
static unsigned long kp_opt_trampoline(struct kunit *test, struct kp_opt_probe *probe)
{
	unsigned long call = kp_jump_target(probe->kp.addr);
	s32 disp;

	KUNIT_ASSERT_NE(test, call, 0);
	KUNIT_ASSERT_EQ(test, kp_byte_at((void *)call), CALL_INSN_OPCODE);
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(&disp, (void *)call + 1, sizeof(disp)), 0);
	return call + CALL_INSN_SIZE + disp;
}

static struct kp_opt_probe *kp_opt_called[4];
static unsigned int kp_opt_nr_called;

static int kp_opt_note_call(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	if (kp_opt_nr_called < ARRAY_SIZE(kp_opt_called))
		kp_opt_called[kp_opt_nr_called++] = to_opt_probe(kp);
	return 0;
}

/* A hit that a handler makes is missed by all probes. */
static int kp_opt_note_and_hit(struct kprobe *kp, struct pt_regs *regs)
{
	kp_opt_note_call(kp, regs);
	kp_opt_sum(1, 1);
	return 0;
}

static int kp_opt_return_seven(struct kprobe *kp, struct pt_regs *regs)
{
	kp_opt_note_call(kp, regs);
	regs_set_return_value(regs, 7);
	regs->ip = *(unsigned long *)kernel_stack_pointer(regs);
	regs->sp += sizeof(long);
	return 1;
}

/*
 * Probes join an optimised one, and leave. The jump stays, and the detour buffer calls the
 * trampoline that is made for the number of pre_handlers.
 */
static void kp_opt_several(struct kunit *test)
{
	struct kp_opt_probe *probe[3];
	unsigned long one, several;
	int i, nr;

	for (i = 0; i < 3; i++) {
		probe[i] = kp_opt_new(test, kp_opt_sum, false);
		probe[i]->kp.pre_handler = kp_opt_note_call;
	}
	kp_opt_add(test, probe[0]);
	kp_opt_becomes_jump(test, probe[0]);
	one = kp_opt_trampoline(test, probe[0]);
	for (nr = 2; nr <= 3; nr++) {
		kp_opt_add(test, probe[nr - 1]);
		several = kp_opt_trampoline(test, probe[0]);
		KUNIT_EXPECT_NE(test, several, one);
		kp_opt_nr_called = 0;
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_ASSERT_EQ(test, kp_opt_nr_called, nr);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_PTR_EQ(test, kp_opt_called[i], probe[nr - 1 - i]);
	}
	/* The one in the middle is disabled, then the newest, then both are enabled again. */
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe[1]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), one);
	kp_opt_nr_called = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
	KUNIT_ASSERT_EQ(test, kp_opt_nr_called, 1);
	KUNIT_EXPECT_PTR_EQ(test, kp_opt_called[0], probe[0]);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe[1]->kp), 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);

	for (i = 0; i < 3; i++)
		probe[i]->kp.pre_handler = kp_opt_note_and_hit;
	kp_opt_nr_called = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
	KUNIT_EXPECT_EQ(test, kp_opt_nr_called, 3);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, probe[i]->kp.nmissed, 3);

	/* The one in the middle redirects execution: the oldest is not called. */
	for (i = 0; i < 3; i++)
		probe[i]->kp.pre_handler = i == 1 ? kp_opt_return_seven : kp_opt_note_call;
	kp_opt_nr_called = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 7);
	KUNIT_ASSERT_EQ(test, kp_opt_nr_called, 2);
	KUNIT_EXPECT_PTR_EQ(test, kp_opt_called[1], probe[1]);

	kp_opt_del(test, probe[1]);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);
	kp_opt_del(test, probe[2]);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), one);
	kp_opt_nr_called = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
	KUNIT_EXPECT_EQ(test, kp_opt_nr_called, 1);
}

/*
 * Handlers that come by probes themselves, and contexts that come over them.
 */

static struct {
	struct irq_work work;
	struct tasklet_struct tasklet;
	int cpu_of_nmi;
	bool running;
	int over;
	bool irqs_off;
	bool preemptible;
	bool in_irq;
} kp_over;

static void kp_over_tasklet(struct tasklet_struct *tasklet)
{
	kp_over.over += READ_ONCE(kp_over.running);
	kp_opt_sum_other(1, 1);
}

static void kp_over_irq(struct irq_work *work)
{
	kp_over.over += READ_ONCE(kp_over.running);
	kp_opt_sum_other(1, 1);
	tasklet_schedule(&kp_over.tasklet);
}

static void kp_over_run(struct kprobe *kp)
{
	int i;

	kp_over.irqs_off = irqs_disabled();
	kp_over.preemptible = preemptible();
	kp_over.in_irq = in_hardirq() || in_nmi();
	WRITE_ONCE(kp_over.running, true);
	irq_work_queue(&kp_over.work);
	for (i = 0; i < 100000 && READ_ONCE(kp_over.over) < 2 && !kp_over.irqs_off; i++)
		cpu_relax();
	/* This one is the handler's own. */
	kp_opt_sum_other(1, 1);
	WRITE_ONCE(kp_over.running, false);
}

static int kp_over_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	kp_over_run(kp);
	return 0;
}

static void kp_over_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_opt_probe(kp)->post++;
	kp_over_run(kp);
}

/* A hard interrupt, and a softirq, over a handler: hits, and the handler's own is missed. */
static void kp_opt_interrupted(struct kunit *test)
{
	struct kp_opt_probe *other = kp_opt_new(test, kp_opt_sum_other, true);
	struct kp_opt_probe *outer;
	int post;

	kp_opt_add(test, other);
	for (post = 0; post < 2; post++) {
		outer = kp_opt_new(test, kp_opt_sum, false);
		if (post)
			outer->kp.post_handler = kp_over_post;
		else
			outer->kp.pre_handler = kp_over_pre;
		kp_opt_add(test, outer);
		kp_opt_becomes_jump(test, other);
		kp_opt_becomes_jump(test, outer);
		kp_over.work = IRQ_WORK_INIT_HARD(kp_over_irq);
		tasklet_setup(&kp_over.tasklet, kp_over_tasklet);
		kp_over.over = 0;
		other->pre = 0;
		other->post = 0;
		other->kp.nmissed = 0;
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		irq_work_sync(&kp_over.work);
		tasklet_kill(&kp_over.tasklet);
		KUNIT_EXPECT_FALSE(test, kp_over.preemptible);
		KUNIT_EXPECT_FALSE(test, kp_over.in_irq);
		/* Nothing in the detour keeps interrupts off. */
		KUNIT_EXPECT_FALSE(test, kp_over.irqs_off);
		KUNIT_EXPECT_EQ(test, kp_over.over, kp_over.irqs_off ? 0 : 2);
		KUNIT_EXPECT_EQ(test, other->pre, 2);
		KUNIT_EXPECT_EQ(test, other->post, 2);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, 1);
		KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
		kp_opt_del(test, outer);
	}
}

static int kp_over_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_over.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	kp_over.over += READ_ONCE(kp_over.running);
	kp_opt_sum_other(1, 1);
	WRITE_ONCE(kp_over.cpu_of_nmi, -1);
	return NMI_HANDLED;
}

static int kp_over_nmi_pre(struct kprobe *kp, struct pt_regs *regs)
{
	int i;

	WRITE_ONCE(kp_over.running, true);
	WRITE_ONCE(kp_over.cpu_of_nmi, smp_processor_id());
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	for (i = 0; i < 1000000 && READ_ONCE(kp_over.cpu_of_nmi) >= 0; i++)
		cpu_relax();
	kp_opt_sum_other(1, 1);
	to_opt_probe(kp)->pre++;
	WRITE_ONCE(kp_over.running, false);
	return 0;
}

static void kp_opt_nmi_unregister(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, "kp_opt");
}

static void kp_opt_nmi(struct kunit *test)
{
	struct kp_opt_probe *outer = kp_opt_new(test, kp_opt_sum, false);
	struct kp_opt_probe *other = kp_opt_new(test, kp_opt_sum_other, true);
	int i;

	kp_over.over = 0;
	kp_over.cpu_of_nmi = -1;
	outer->kp.pre_handler = kp_over_nmi_pre;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, kp_over_nmi, 0, "kp_opt"), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_opt_nmi_unregister, NULL), 0);
	kp_opt_add(test, other);
	kp_opt_add(test, outer);
	kp_opt_becomes_jump(test, other);
	kp_opt_becomes_jump(test, outer);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, kp_over.over, i);
		KUNIT_EXPECT_EQ(test, other->pre, i);
		KUNIT_EXPECT_EQ(test, other->post, i);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, i);
	}
	KUNIT_EXPECT_EQ(test, outer->pre, 10);
	KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
}

/* A handler that calls the very function it is on. */
static int kp_opt_same_pre(struct kprobe *kp, struct pt_regs *regs)
{
	if (kp_opt_sum(20, 1) == 21)
		to_opt_probe(kp)->pre++;
	return 0;
}

static void kp_opt_missed_same(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, true);
	int i;

	probe->kp.pre_handler = kp_opt_same_pre;
	kp_opt_add(test, probe);
	kp_opt_becomes_jump(test, probe);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 42);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_EQ(test, probe->post, i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i);
	}
}

static void kp_opt_call(void *wrong)
{
	if (kp_opt_sum(40, 2) != 42)
		(*(int *)wrong)++;
}

/* Interrupts off, from another CPU's IPI, with softirqs off: the flags are what they were. */
static void kp_opt_contexts(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_new(test, kp_opt_sum, true);
	unsigned long flags;
	int cpu, hits = 0, wrong = 0;

	kp_opt_add(test, probe);
	kp_opt_becomes_jump(test, probe);
	local_irq_save(flags);
	kp_opt_call(&wrong);
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, probe->pre, ++hits);
	local_bh_disable();
	kp_opt_call(&wrong);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, probe->pre, ++hits);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(cpu, kp_opt_call, &wrong, 1), 0);
		KUNIT_EXPECT_EQ(test, probe->pre, ++hits);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, probe->post, hits);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

static struct kunit_case kp_opt_hits_cases[] = {
	KUNIT_CASE(kp_opt_text_is_jump),
	KUNIT_CASE(kp_opt_disable),
	KUNIT_CASE(kp_opt_post_handler),
	KUNIT_CASE(kp_opt_post_in_between),
	KUNIT_CASE(kp_opt_few_handlers),
	KUNIT_CASE(kp_opt_change_registers),
	KUNIT_CASE(kp_opt_colocated),
	KUNIT_CASE(kp_opt_several),
	KUNIT_CASE(kp_opt_interrupted),
	KUNIT_CASE(kp_opt_nmi),
	KUNIT_CASE(kp_opt_missed_same),
	KUNIT_CASE(kp_opt_contexts),
	{}
};

struct kunit_suite kp_opt_hits_suite = {
	.name = "kprobes_opt_hits",
	.init = kp_opt_init,
	.test_cases = kp_opt_hits_cases,
};
