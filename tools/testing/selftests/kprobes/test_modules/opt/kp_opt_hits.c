// SPDX-License-Identifier: GPL-2.0
/* Hits of an optimised probe have the same effect as hits of any other probe. */

#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/nmi.h>
#include <linux/hardirq.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/preempt.h>
#include <linux/smp.h>
#include "kp_opt_suites.h"

/* Only the five bytes of the jump differ from the original text. */
static void kp_opt_text_is_jump(struct kunit *test)
{
	struct kp_opt_bytes before;
	int i;

	kp_opt_save(test, &before, kp_opt_sum);
	for (i = 0; i < 3; i++) {
		struct kp_opt_probe *probe = kp_opt_jump(test, kp_opt_sum, false);
		unsigned long to = kp_jump_target(probe->kp.addr);

		kp_opt_same(test, &before, probe->kp.addr, JMP32_INSN_SIZE);
		KUNIT_EXPECT_FALSE(test, to - (unsigned long)kp_opt_sum < 64);
		KUNIT_EXPECT_NE(test, kp_byte_at((void *)to), INT3_INSN_OPCODE);
		KUNIT_EXPECT_EQ(test, (u8)probe->kp.opcode,
				before.byte[(void *)probe->kp.addr - before.addr]);
		kp_opt_sum_hits(test, probe, 1, 0);
		kp_opt_del(test, probe);
		kp_opt_same(test, &before, NULL, 0);
		kp_opt_sum_hits(test, probe, 1, 0);
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
		kp_opt_sum_hits(test, probe, 2 * i - 1, 0);
		kp_opt_becomes_jump(test, probe);
		kp_opt_sum_hits(test, probe, 2 * i, 0);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
		kp_opt_sum_hits(test, probe, 2 * i, 0);
		kp_opt_same(test, &before, NULL, 0);
	}
	/* Disabled before it was optimised */
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_opt_same(test, &before, NULL, 0);
}

/* The handler sees the next instruction's address. */
static void kp_opt_post_handler(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_jump(test, kp_opt_sum, true);
	int i;

	for (i = 1; i <= 10; i++) {
		probe->post_ip = 0;
		kp_opt_sum_hits(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, probe->post_ip, (unsigned long)kp_sum_insn(1));
	}
}

static void kp_opt_change_result(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_opt_post(kp, regs, flags);
	if (regs->cx == kp_arg1(regs))
		regs->cx += 1000;
}

static void kp_opt_post_in_between(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_jump_to(test, kp_opt_sum, NULL, kp_opt_change_result);

	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 1042);
	KUNIT_EXPECT_EQ(test, probe->post, 1);
}

static void kp_opt_few_handlers(struct kunit *test)
{
	struct kp_opt_probe *post = kp_opt_jump_to(test, kp_opt_sum_other, NULL, kp_opt_post);
	struct kp_opt_probe *none = kp_opt_new(test, kp_opt_sum, false);

	none->kp.pre_handler = NULL;
	kp_opt_add(test, none);
	KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	kp_opt_sum_hits(test, none, 0, 0);
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
	struct kp_opt_probe *probe = kp_opt_jump_to(test, kp_opt_sum, kp_opt_double, NULL);

	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), 86);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
}

/*
 * A probe with a post_handler is added to an optimised one without. Its handlers are called
 * while it is enabled, also before the jump is written again.
 */
static void kp_opt_colocated(struct kunit *test)
{
	struct kp_opt_probe *plain = kp_opt_jump(test, kp_opt_sum, false);
	struct kp_opt_probe *joins = kp_opt_new(test, kp_opt_sum, true);
	int i;

	for (i = 0; i < 9; i += 3) {
		kp_opt_add(test, joins);
		kp_opt_sum_hits(test, joins, i + 1, i + 1);
		kp_opt_becomes_jump(test, joins);
		kp_opt_sum_hits(test, joins, i + 2, i + 2);
		KUNIT_ASSERT_EQ(test, disable_kprobe(&joins->kp), 0);
		kp_opt_sum_hits(test, joins, i + 2, i + 2);
		KUNIT_ASSERT_EQ(test, enable_kprobe(&joins->kp), 0);
		kp_opt_becomes_jump(test, joins);
		kp_opt_sum_hits(test, joins, i + 3, i + 3);
		kp_opt_del(test, joins);
		kp_opt_sum_hits(test, joins, i + 3, i + 3);
		kp_opt_becomes_jump(test, plain);
		kp_opt_sum_hits(test, plain, 2 * i + 6, 0);
	}
	KUNIT_EXPECT_EQ(test, plain->kp.nmissed, 0);
}

/* Return: the target of the call at the start of the detour buffer. */
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
	if (kp_opt_nr_called < ARRAY_SIZE(kp_opt_called))
		kp_opt_called[kp_opt_nr_called++] = to_opt_probe(kp);
	return 0;
}

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

/* Expect @result, and calls of the handlers of @nr probes, from @newest to older ones. */
static void kp_opt_calls(struct kunit *test, struct kp_opt_probe **newest, int nr, long result)
{
	int i;

	kp_opt_nr_called = 0;
	KUNIT_EXPECT_EQ(test, kp_opt_sum(40, 2), result);
	KUNIT_ASSERT_EQ(test, kp_opt_nr_called, nr);
	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_PTR_EQ(test, kp_opt_called[i], newest[-i]);
}

/*
 * More probes are added to an optimised one. The jump stays, but the detour buffer calls
 * another trampoline for several pre_handlers.
 */
static void kp_opt_several(struct kunit *test)
{
	struct kp_opt_probe *probe[3];
	unsigned long one, several;
	int i;

	for (i = 0; i < 3; i++) {
		probe[i] = kp_opt_new(test, kp_opt_sum, false);
		probe[i]->kp.pre_handler = kp_opt_note_call;
	}
	kp_opt_add(test, probe[0]);
	kp_opt_becomes_jump(test, probe[0]);
	one = kp_opt_trampoline(test, probe[0]);
	for (i = 1; i < 3; i++) {
		kp_opt_add(test, probe[i]);
		several = kp_opt_trampoline(test, probe[0]);
		KUNIT_EXPECT_NE(test, several, one);
		kp_opt_calls(test, &probe[i], i + 1, 42);
	}
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe[1]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);
	KUNIT_ASSERT_EQ(test, disable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), one);
	kp_opt_calls(test, &probe[0], 1, 42);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe[1]->kp), 0);
	KUNIT_ASSERT_EQ(test, enable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);

	for (i = 0; i < 3; i++)
		probe[i]->kp.pre_handler = kp_opt_note_and_hit;
	kp_opt_calls(test, &probe[2], 3, 42);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, probe[i]->kp.nmissed, 3);

	/* After a redirection, the oldest is not called. */
	for (i = 0; i < 3; i++)
		probe[i]->kp.pre_handler = i == 1 ? kp_opt_return_seven : kp_opt_note_call;
	kp_opt_calls(test, &probe[2], 2, 7);

	kp_opt_del(test, probe[1]);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), several);
	kp_opt_del(test, probe[2]);
	KUNIT_EXPECT_EQ(test, kp_opt_trampoline(test, probe[0]), one);
	kp_opt_calls(test, &probe[0], 1, 42);
}

enum { KP_OVER_IRQ, KP_OVER_SOFTIRQ, KP_OVER_NMI, KP_OVERS };

static struct {
	struct irq_work work;
	struct tasklet_struct tasklet;
	int cpu_of_nmi;
	bool running;
	/* contexts that have interrupted the handler */
	unsigned long over;
	bool irqs_off;
	bool preemptible;
	bool in_irq;
} kp_over;

static void kp_over_hit(int context)
{
	if (READ_ONCE(kp_over.running))
		set_bit(context, &kp_over.over);
	kp_opt_sum_other(1, 1);
}

static void kp_over_tasklet(struct tasklet_struct *tasklet)
{
	kp_over_hit(KP_OVER_SOFTIRQ);
}

static void kp_over_irq(struct irq_work *work)
{
	kp_over_hit(KP_OVER_IRQ);
	tasklet_schedule(&kp_over.tasklet);
}

static int kp_over_nmi(unsigned int type, struct pt_regs *regs)
{
	if (READ_ONCE(kp_over.cpu_of_nmi) != smp_processor_id())
		return NMI_DONE;
	WRITE_ONCE(kp_over.cpu_of_nmi, -1);
	kp_over_hit(KP_OVER_NMI);
	return NMI_HANDLED;
}

static void kp_over_run(void)
{
	int i;

	kp_over.irqs_off = irqs_disabled();
	kp_over.preemptible = preemptible();
	kp_over.in_irq = in_hardirq() || in_nmi();
	WRITE_ONCE(kp_over.running, true);
	WRITE_ONCE(kp_over.cpu_of_nmi, smp_processor_id());
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
	irq_work_queue(&kp_over.work);
	for (i = 0; i < 1000000 && READ_ONCE(kp_over.over) != BIT(KP_OVERS) - 1; i++)
		cpu_relax();
	kp_opt_sum_other(1, 1);
	WRITE_ONCE(kp_over.running, false);
}

static int kp_over_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_opt_probe(kp)->pre++;
	kp_over_run();
	return 0;
}

static void kp_over_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_opt_probe(kp)->post++;
	kp_over_run();
}

static void kp_opt_nmi_unregister(void *unused)
{
	unregister_nmi_handler(NMI_LOCAL, "kp_opt");
}

/* Hits by interrupts, softirqs and NMIs during a handler are not missed; the handler's own is. */
static void kp_opt_interrupted(struct kunit *test)
{
	struct kp_opt_probe *other = kp_opt_jump(test, kp_opt_sum_other, true), *outer;
	int i;

	kp_over.cpu_of_nmi = -1;
	KUNIT_ASSERT_EQ(test, register_nmi_handler(NMI_LOCAL, kp_over_nmi, 0, "kp_opt"), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_opt_nmi_unregister, NULL), 0);
	for (i = 0; i < 10; i++) {
		outer = kp_opt_jump_to(test, kp_opt_sum, i % 2 ? kp_opt_pre : kp_over_pre,
				       i % 2 ? kp_over_post : NULL);
		kp_over.work = IRQ_WORK_INIT_HARD(kp_over_irq);
		tasklet_setup(&kp_over.tasklet, kp_over_tasklet);
		kp_over.over = 0;
		other->pre = 0;
		other->post = 0;
		other->kp.nmissed = 0;
		kp_opt_sum_hits(test, outer, 1, i % 2);
		irq_work_sync(&kp_over.work);
		tasklet_kill(&kp_over.tasklet);
		KUNIT_EXPECT_FALSE(test, kp_over.preemptible);
		KUNIT_EXPECT_FALSE(test, kp_over.in_irq);
		KUNIT_EXPECT_FALSE(test, kp_over.irqs_off);
		KUNIT_EXPECT_EQ(test, kp_over.over, BIT(KP_OVERS) - 1);
		KUNIT_EXPECT_EQ(test, other->pre, KP_OVERS);
		KUNIT_EXPECT_EQ(test, other->post, KP_OVERS);
		KUNIT_EXPECT_EQ(test, other->kp.nmissed, 1);
		KUNIT_EXPECT_EQ(test, outer->kp.nmissed, 0);
		kp_opt_del(test, outer);
	}
}

static int kp_opt_same_pre(struct kprobe *kp, struct pt_regs *regs)
{
	if (kp_opt_sum(20, 1) == 21)
		to_opt_probe(kp)->pre++;
	return 0;
}

static void kp_opt_missed_same(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_jump_to(test, kp_opt_sum, kp_opt_same_pre, kp_opt_post);
	int i;

	for (i = 1; i <= 10; i++) {
		kp_opt_sum_hits(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i);
	}
}

static void kp_opt_call(void *wrong)
{
	if (kp_opt_sum(40, 2) != 42)
		(*(int *)wrong)++;
}

static void kp_opt_contexts(struct kunit *test)
{
	struct kp_opt_probe *probe = kp_opt_jump(test, kp_opt_sum, true);
	unsigned long flags;
	int cpu, hits = 2, wrong = 0;

	local_irq_save(flags);
	kp_opt_call(&wrong);
	KUNIT_EXPECT_TRUE(test, irqs_disabled());
	local_irq_restore(flags);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	local_bh_disable();
	kp_opt_call(&wrong);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, probe->pre, hits);
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
	KUNIT_CASE(kp_opt_missed_same),
	KUNIT_CASE(kp_opt_contexts),
	{}
};

struct kunit_suite kp_opt_hits_suite = {
	.name = "kprobes_opt_hits",
	.init = kp_opt_init,
	.test_cases = kp_opt_hits_cases,
};
