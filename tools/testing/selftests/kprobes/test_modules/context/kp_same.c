// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: handlers of a function that is called in a task, a softirq, a hard interrupt and an
 * NMI. in_interrupt() and its like must return the same in the handlers as in the function, whether
 * the probe is hit through ftrace, by a breakpoint or by a jump.
 */

#include "kp_nmi.h"
#include "kp_opt.h"
#include "kp_probe.h"

#define KP_BITS		(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK)
#define KP_NOPS		16

KP_MODULE_PARAM(bool, opt, false, "wait for jumps where probes are registered");

/* What a handler, or the caller of the probed function, has seen of its context */
struct kp_seen {
	int calls, count;
	bool irqs_off, preemptible;
};

static struct {
	struct kp_seen caller, pre, post, fault;
	/*
	 * Wrong results of the function, wrong arguments
	 * of handlers, and calls that changed the context
	 */
	int wrong;
	/*
	 * If @busy, the pre_handler calls the function, and
	 * reads where nothing is mapped. @read: the result
	 */
	bool busy;
	long read;
	/* The pre_handler redirects execution to the next instruction. */
	bool redirect;
	/* How the task makes an interrupt or a softirq call the function */
	struct irq_work work;
	struct tasklet_struct tasklet;
	/* queued by the pre_handler */
	struct irq_work queued;
	int run;
} kp;

/*
 * The cases probe the entry of this function, where a kernel with ftrace has its call, or the first
 * of the KP_NOPS nops. A probe on a nop is hit by a breakpoint, or by a jump, for which the nops
 * leave room.
 */
KP_PLUS_WITH(static __noclone, long, kp_same_target, 1,
	     asm volatile(".rept %c1; nop; .endr" : "+r" (arg) : "i" (KP_NOPS)))

static void __kprobes kp_look(struct kp_seen *seen)
{
	seen->calls++;
	/* With PREEMPT_RT, a counter of the task counts softirqs, not preempt_count(). */
	seen->count = (preempt_count() & ~SOFTIRQ_MASK) | softirq_count();
	seen->irqs_off = irqs_disabled();
	seen->preemptible = preemptible();
}

static int __kprobes kp_same_pre(struct kprobe *p, struct pt_regs *regs)
{
	char byte;

	kp_look(&kp.pre);
	if (kp.busy) {
		kp.wrong += kp_same_target(5) != 6;
		/* Nothing is mapped in the last page, so this read raises a page fault. */
		kp.read = copy_from_kernel_nofault(&byte, (void *)-4096L, 1);
		irq_work_queue(&kp.queued);
	}
	if (!kp.redirect)
		return 0;
	regs->ip = (unsigned long)p->addr + (kprobe_ftrace(p) ? CALL_INSN_SIZE : 1);
	return 1;
}

/* The argument flags must always be 0. */
KP_POST_HANDLER(__kprobes, kp_same_post, kp_look(&kp.post); kp.wrong += !!flags)

static int __kprobes kp_same_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_look(&kp.fault);
	return 0;
}

static void kp_same_call(void)
{
	struct kp_seen after = {};

	kp_look(&kp.caller);
	kp.wrong += kp_same_target(1) != 2;
	kp_look(&after);
	kp.wrong += after.count != kp.caller.count || after.irqs_off != kp.caller.irqs_off;
}

static void kp_same_in_irq(struct irq_work *work)
{
	kp_same_call();
}

static void kp_same_in_softirq(struct tasklet_struct *tasklet)
{
	kp_same_call();
}

static void kp_same_queued(struct irq_work *work)
{
	kp.run++;
}

static void kp_call_with_irqs_off(void)
{
	guard(irqsave)();
	kp_same_call();
}

static void kp_call_with_bh_off(void)
{
	local_bh_disable();
	kp_same_call();
	local_bh_enable();
}

static void kp_call_in_softirq(void)
{
	tasklet_schedule(&kp.tasklet);
	tasklet_kill(&kp.tasklet);
}

static void kp_call_in_irq(void)
{
	irq_work_queue(&kp.work);
	irq_work_sync(&kp.work);
}

static const struct kp_same_context {
	const char *name;
	void (*call)(void);
	int bits;
} kp_same_contexts[] = {
	{ "task", kp_same_call },
	{ "interrupts off", kp_call_with_irqs_off },
	{ "softirqs off", kp_call_with_bh_off, SOFTIRQ_DISABLE_OFFSET },
	{ "softirq", kp_call_in_softirq, SOFTIRQ_OFFSET },
	{ "hard interrupt", kp_call_in_irq, HARDIRQ_OFFSET },
	{ "NMI", kp_nmi_send, HARDIRQ_OFFSET + NMI_OFFSET },
};

KUNIT_ARRAY_PARAM_DESC(kp_same, kp_same_contexts, name);

/* Return: the first of the nops, or NULL. */
static u8 *kp_find_nops(void)
{
	u8 *at = (u8 *)kp_same_target, *end = at + 64;
	int nops = 0;

	for (; at < end; at++) {
		nops = kp_byte_at(at) == BYTES_NOP1 ? nops + 1 : 0;
		if (nops == KP_NOPS)
			return at - KP_NOPS + 1;
	}
	return NULL;
}

/*
 * @seen: what a handler has seen. Its context must be that of the probed function, but with
 * preemption disabled once more. If an int3 calls the handler, interrupts are off, and the int3
 * adds PREEMPT_OFFSET to the count in any kernel. If a trampoline calls it, as for a jump and for
 * some post_handlers, a kernel without CONFIG_PREEMPT_COUNT may not count that.
 */
static void kp_expect_same(struct kunit *test, const struct kp_seen *seen)
{
	bool int3 = seen->irqs_off && !kp.caller.irqs_off;
	int more = seen->count - kp.caller.count;

	KUNIT_EXPECT_EQ(test, seen->count & KP_BITS, kp.caller.count & KP_BITS);
	if (int3 || more)
		KUNIT_EXPECT_EQ(test, more, PREEMPT_OFFSET);
	else
		KUNIT_EXPECT_EQ(test, more, PREEMPT_DISABLE_OFFSET);
	if (int3 || IS_ENABLED(CONFIG_PREEMPT_COUNT))
		KUNIT_EXPECT_FALSE(test, seen->preemptible);
}

static void kp_expect_seen(struct kunit *test, struct kp_probe *probe, int calls, bool post)
{
	const struct kp_same_context *context = test->param_value;
	bool int3 = !opt && !kprobe_ftrace(&probe->kp);

	KUNIT_ASSERT_EQ(test, kp.caller.calls, calls);
	KUNIT_EXPECT_EQ(test, kp.caller.count & KP_BITS, context->bits);
	KUNIT_EXPECT_EQ(test, kp.wrong, 0);
	KUNIT_EXPECT_EQ(test, kp.pre.calls, calls);
	/*
	 * The first redirection starts a worker that
	 * removes the jump, so later calls may hit an int3.
	 */
	if (!opt || !kp.redirect || kprobe_ftrace(&probe->kp))
		KUNIT_EXPECT_EQ(test, kp.pre.irqs_off, int3 || kp.caller.irqs_off);
	kp_expect_same(test, &kp.pre);
	KUNIT_EXPECT_EQ(test, kp.post.calls, post ? calls : 0);
	if (post)
		kp_expect_same(test, &kp.post);
}

/* Register a probe on the entry of the function, or on its nops. */
static struct kp_probe *kp_same_probe(struct kunit *test, bool entry, bool post)
{
	u8 *nops = kp_find_nops();
	struct kp_probe *probe;

	memset(&kp, 0, sizeof(kp));
	kp.work = IRQ_WORK_INIT_HARD(kp_same_in_irq);
	kp.queued = IRQ_WORK_INIT_HARD(kp_same_queued);
	tasklet_setup(&kp.tasklet, kp_same_in_softirq);
	KUNIT_ASSERT_NOT_NULL(test, nops);
	probe = kp_new(test, entry ? (void *)kp_same_target : nops);
	probe->kp.pre_handler = kp_same_pre;
	probe->kp.post_handler = post ? kp_same_post : NULL;
	kp_set_fault_handler(&probe->kp, kp_same_fault);
	kp_register(test, probe);
	if (opt && !kprobe_ftrace(&probe->kp))
		KUNIT_ASSERT_TRUE(test, kp_wait_jump(probe->kp.addr, true));
	return probe;
}

static void kp_same_calls(struct kunit *test, struct kp_probe *probe, bool post)
{
	const struct kp_same_context *context = test->param_value;
	int i;

	for (i = 1; i <= 5; i++) {
		context->call();
		kp_expect_seen(test, probe, i, post);
	}
	kp_unregister(test, probe);
}

static void kp_same_in_handlers(struct kunit *test)
{
	int entry;

	for (entry = 0; entry < 2; entry++) {
		kp_same_calls(test, kp_same_probe(test, entry, false), false);
		kp_same_calls(test, kp_same_probe(test, entry, true), true);
	}
}

/*
 * What works in a handler: a nested hit must be missed, a fault must call the fault_handler in the
 * same context, and an irq_work that the handler queues must be run.
 */
static void kp_same_busy(struct kunit *test)
{
	const struct kp_same_context *context = test->param_value;
	struct kp_probe *probe;
	int entry, i;

	for (entry = 0; entry < 2; entry++) {
		probe = kp_same_probe(test, entry, true);
		kp.busy = true;
		for (i = 1; i <= 5; i++) {
			context->call();
			irq_work_sync(&kp.queued);
			kp_expect_seen(test, probe, i, true);
			KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i);
			KUNIT_EXPECT_LT(test, kp.read, 0);
			KUNIT_EXPECT_EQ(test, kp.fault.calls, KP_FAULT_HANDLERS ? i : 0);
			if (KP_FAULT_HANDLERS)
				KUNIT_EXPECT_EQ(test, kp.fault.count & KP_BITS,
						kp.pre.count & KP_BITS);
			KUNIT_EXPECT_EQ(test, kp.run, i);
		}
		kp_unregister(test, probe);
	}
}

/* After a handler has redirected execution, the context must be as before. */
static void kp_same_redirected(struct kunit *test)
{
	struct kp_probe *probe;
	int entry;

	for (entry = 0; entry < 2; entry++) {
		probe = kp_same_probe(test, entry, false);
		if (!entry || kprobe_ftrace(&probe->kp)) {
			kp.redirect = true;
			kp_same_calls(test, probe, false);
		} else {
			kp_unregister(test, probe);
		}
	}
}

static int kp_same_init(struct kunit *test)
{
	return kp_nmi_start(kp_same_call) ?: kunit_add_action_or_reset(test, kp_nmi_stop, NULL);
}

static struct kunit_case kp_same_cases[] = {
	KUNIT_CASE_PARAM(kp_same_in_handlers, kp_same_gen_params),
	KUNIT_CASE_PARAM(kp_same_busy, kp_same_gen_params),
	KUNIT_CASE_PARAM(kp_same_redirected, kp_same_gen_params),
	{}
};

KP_ONLY_SUITE(kp_same, "kprobes_same", "KUnit suite: the context that handlers see",
	      .init = kp_same_init);
