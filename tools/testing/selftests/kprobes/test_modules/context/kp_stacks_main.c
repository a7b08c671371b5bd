// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: stack traces from handlers, and from interrupts that arrive while the copy of an
 * instruction is executed.
 *
 * In a trace from a handler, the probe's frames precede the probed function and its callers. The
 * function and the callers must be the same as in a trace from kp_stacks_callee(), which the
 * function calls.
 */

#include <asm/irq_regs.h>
#include <asm/trapnr.h>
#include <linux/hrtimer.h>
#include "kp_fault_handler.h"
#include "kp_opt.h"
#include "kp_stacks.h"

KP_MODULE_PARAM(bool, opt, false, "wait until probes are jump-optimised, where they can be");

static unsigned int kp_jumps;

#define KP_BAD		((const long *)-4096L)

static struct {
	struct kprobe kp;
	struct kp_trace callee, pre, post, fault;
	int hits;
	bool dump;
} kp;

static const long kp_good = 77;

static void __kprobes kp_dump_and_save(struct kp_trace *trace)
{
	if (kp.dump)
		dump_stack();
	kp_save(trace);
}

void kp_stacks_callee(void)
{
	kp_save(&kp.callee);
}

/*
 * Each caller has only one call instruction, so that return addresses are the same in all traces.
 */
KP_CALLER(static, kp_stacks_inner, const long *, kp_stacks_probed(arg))
KP_CALLER(static, kp_stacks_outer, const long *, kp_stacks_inner(arg))

static int __kprobes kp_stacks_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp.hits++;
	kp_dump_and_save(&kp.pre);
	return 0;
}

KP_POST_HANDLER(__kprobes, kp_stacks_post, kp_dump_and_save(&kp.post))

static int __kprobes kp_stacks_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_dump_and_save(&kp.fault);
	return 0;
}

static unsigned long kp_insn(int insn)
{
	return (unsigned long)kp_stacks_probed + kp_stacks_probed_insn[insn];
}

static unsigned int kp_find_probed(const struct kp_trace *trace)
{
	return kp_trace_find(trace, 0, kp_stacks_probed, kp_stacks_probed_insn[KP_SIZE]);
}

/* Do the entries of @trace from @i on differ from those of @wanted from @j on? If so, fail. */
static bool kp_tails_differ(struct kunit *test, const char *what, const struct kp_trace *trace,
			    unsigned int i, const struct kp_trace *wanted, unsigned int j)
{
	bool differ = trace->nr - i != wanted->nr - j;

	for (; !differ && i < trace->nr; i++, j++)
		differ = trace->entry[i] != wanted->entry[j];
	if (!differ)
		return false;
	KUNIT_FAIL(test, "%s: callers differ\n", what);
	kp_show(test, what, trace);
	kp_show(test, "wanted", wanted);
	return true;
}

/*
 * If @ip is not 0, the first address of @trace in the probed function must be @ip. If @ip is 0, the
 * function has returned, and @trace must have no address in it. In both cases, the callers of the
 * function must be the same as in kp.callee.
 */
static void kp_check_trace(struct kunit *test, int insn, const char *handler,
			   const struct kp_trace *trace, unsigned long ip)
{
	unsigned int at = kp_find_probed(trace), wanted = kp_find_probed(&kp.callee) + 1;
	char what[32];

	snprintf(what, sizeof(what), "instruction %d, %s", insn, handler);
	if (ip ? at == trace->nr || trace->entry[at] != ip : at != trace->nr) {
		KUNIT_FAIL(test, "%s: %pS wanted\n", what, (void *)ip);
		kp_show(test, what, trace);
		return;
	}
	if (ip)
		at++;
	else
		at = kp_trace_find(trace, 0, (void *)kp.callee.entry[wanted], 1);
	kp_tails_differ(test, what, trace, at, &kp.callee, wanted);
}

static void kp_register(struct kunit *test, unsigned long addr, bool post)
{
	memset(&kp, 0, sizeof(kp));
	kp.kp.addr = (kprobe_opcode_t *)addr;
	kp.kp.pre_handler = kp_stacks_pre;
	if (post)
		kp.kp.post_handler = kp_stacks_post;
	kp_set_fault_handler(&kp.kp, kp_stacks_fault);
	kp_kprobe_add(test, &kp.kp);
	if (!opt)
		return;
	KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
	kp_jumps += kp_is_jump(kp.kp.addr);
}

/*
 * Unwinders that use frame pointers find the caller only while the function has its own frame. They
 * also find it in a pre_handler at the entry, but not right after a call, when the callee has not
 * set up its frame yet.
 */
static bool kp_has_frame(int insn, bool post)
{
	if (IS_ENABLED(CONFIG_UNWINDER_ORC))
		return true;
	if (insn == KP_PUSH_RBP || insn == KP_CALL)
		return !post;
	return insn > KP_MOV_RBP && insn < KP_POP_RBP - post;
}

/*
 * Return: the address in the probed function that a post_handler's trace has; 0 if the function has
 * returned
 */
static unsigned long kp_after(int insn)
{
	return insn == KP_RET ? 0 : kp_insn(insn + 1);
}

static void kp_every_instruction(struct kunit *test, bool post)
{
	int insn;

	kp_jumps = 0;
	for (insn = 0; insn < KP_INSNS; insn++) {
		if (!kp_has_frame(insn, post))
			continue;
		kp_register(test, kp_insn(insn), post);
		KUNIT_EXPECT_EQ(test, kp_stacks_outer(&kp_good), kp_good);
		KUNIT_ASSERT_EQ(test, kp.hits, 1);
		KUNIT_ASSERT_LT(test, kp_find_probed(&kp.callee), kp.callee.nr);
		kp_check_trace(test, insn, "pre", &kp.pre, kp_insn(insn));
		/*
		 * After a call, a post_handler's trace has
		 * the callee first, then the return address.
		 */
		if (post)
			kp_check_trace(test, insn, "post", &kp.post, kp_after(insn));
		kp_kprobe_del(test, &kp.kp);
	}
	kunit_info(test, "%u of %d optimised\n", kp_jumps, KP_INSNS);
	if (opt)
		KUNIT_EXPECT_GE(test, kp_jumps, KP_INSNS / 3);
}

KP_CASE(kp_stacks_in_pre, kp_every_instruction(test, false))
KP_CASE(kp_stacks_in_post, kp_every_instruction(test, true))

/*
 * kp.callee is the trace of the call that does not fault: the other call does not reach the callee.
 */
static void kp_stacks_in_fault(struct kunit *test)
{
	const long *from;
	int post, bad;
	long got;

	if (!KP_FAULT_HANDLERS)
		kunit_skip(test, "the kernel calls no fault_handlers");
	for (post = 0; post < 2; post++) {
		kp_register(test, kp_insn(KP_LOAD), post);
		for (bad = 0; bad < 2; bad++) {
			from = bad ? KP_BAD : &kp_good;
			/*
			 * Hide both, or else the compiler might unroll
			 * the loop and have two call instructions.
			 */
			OPTIMIZER_HIDE_VAR(from);
			OPTIMIZER_HIDE_VAR(bad);
			KUNIT_EXPECT_EQ(test, kp.fault.nr, 0);
			got = kp_stacks_outer(from);
			KUNIT_EXPECT_EQ(test, got, bad ? -EFAULT : kp_good);
		}
		KUNIT_EXPECT_EQ(test, kp.hits, 2);
		KUNIT_ASSERT_GT(test, kp.fault.nr, 0);
		kp_check_trace(test, KP_LOAD, "pre", &kp.pre, kp_insn(KP_LOAD));
		kp_check_trace(test, KP_LOAD, "fault", &kp.fault, kp_insn(KP_LOAD));
		kp_kprobe_del(test, &kp.kp);
	}
}

/* Let the handlers call dump_stack(): the script checks the log. */
static void kp_stacks_dumps(struct kunit *test)
{
	kp_register(test, kp_insn(KP_LOAD), true);
	kp.dump = true;
	pr_info("kp_stacks: dumps begin\n");
	KUNIT_EXPECT_EQ(test, kp_stacks_outer(&kp_good), kp_good);
	KUNIT_EXPECT_EQ(test, kp_stacks_outer(KP_BAD), -EFAULT);
	pr_info("kp_stacks: dumps end\n");
}

/* Interrupts of a copy */

#define KP_FILL		(256 * 1024)
#define KP_SAMPLES	20
#define KP_PERIOD	(200 * NSEC_PER_USEC)

static struct {
	struct hrtimer timer;
	void *memory;
	struct kp_trace now, sample[KP_SAMPLES];
	unsigned int in_slot, elsewhere;
} kp_timer;

static bool kp_within(unsigned long addr, unsigned long start, unsigned long size)
{
	return addr - start < size;
}

/* Has an interrupt arrived while the CPU executes the copy of kp_stacks_fill()'s instruction? */
static bool kp_is_in_slot(struct pt_regs *regs)
{
	return regs && !user_mode(regs) &&
		kp_within(regs->di, (unsigned long)kp_timer.memory, KP_FILL) &&
		kp_within(regs->cx, 1, KP_FILL) &&
		!kp_within(regs->ip, (unsigned long)kp_stacks_fill,
			   kp_stacks_fill_insn[KP_FILL_SIZE]);
}

static enum hrtimer_restart kp_timer_function(struct hrtimer *timer)
{
	if (!kp_is_in_slot(get_irq_regs()))
		kp_timer.elsewhere++;
	else if (kp_timer.in_slot < KP_SAMPLES)
		kp_save(&kp_timer.sample[kp_timer.in_slot++]);
	hrtimer_forward_now(timer, ns_to_ktime(KP_PERIOD));
	return HRTIMER_RESTART;
}

static void kp_timer_stop(void *unused)
{
	hrtimer_cancel(&kp_timer.timer);
}

static noinline void kp_fill_inner(void)
{
	kp_stacks_fill(kp_timer.memory, KP_FILL);
	barrier();
}

static noinline void kp_fill_outer(void)
{
	kp_fill_inner();
	barrier();
}

static void kp_stacks_in_interrupt(struct kunit *test)
{
	unsigned long probed = (unsigned long)kp_stacks_fill + kp_stacks_fill_insn[KP_FILL_STOS];
	unsigned long size = kp_stacks_fill_insn[KP_FILL_SIZE];
	unsigned long timeout = jiffies + 3 * HZ;
	unsigned int i, at, wanted, boosted;
	int calls = 0;

	memset(&kp_timer, 0, sizeof(kp_timer));
	kp_timer.memory = kp_vzalloc(test, KP_FILL);
	hrtimer_init(&kp_timer.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	kp_timer.timer.function = kp_timer_function;
	kp_at_end(test, kp_timer_stop, NULL);
	kp_register(test, probed, false);
	/* Stay on the CPU of the timer. */
	migrate_disable();
	hrtimer_start(&kp_timer.timer, ns_to_ktime(KP_PERIOD), HRTIMER_MODE_REL_PINNED_HARD);
	while (READ_ONCE(kp_timer.in_slot) < KP_SAMPLES && time_before(jiffies, timeout)) {
		kp_fill_outer();
		calls++;
		cond_resched();
	}
	hrtimer_cancel(&kp_timer.timer);
	migrate_enable();
	boosted = kp_timer.in_slot;
	kunit_info(test, "%u interrupts in the slot, %u elsewhere, %d calls\n", boosted,
		   kp_timer.elsewhere, calls);
	KUNIT_EXPECT_EQ(test, kp.hits, calls);
	if (!boosted)
		kunit_skip(test, "no interrupt comes while a copy is stepped");

	wanted = kp_trace_find(&kp.pre, 0, kp_stacks_fill, size);
	KUNIT_ASSERT_LT(test, wanted, kp.pre.nr);
	for (i = 0; i < boosted; i++) {
		at = kp_trace_find(&kp_timer.sample[i], 0, kp_stacks_fill, size);
		if (at == kp_timer.sample[i].nr || kp_timer.sample[i].entry[at] != probed) {
			KUNIT_FAIL(test, "no %pS\n", (void *)probed);
			kp_show(test, "interrupt", &kp_timer.sample[i]);
			break;
		}
		if (kp_tails_differ(test, "interrupt", &kp_timer.sample[i], at + 1, &kp.pre,
				    wanted + 1))
			break;
	}
}

static struct kunit_case kp_stacks_cases[] = {
	KUNIT_CASE(kp_stacks_in_pre),
	KUNIT_CASE(kp_stacks_in_post),
	KUNIT_CASE(kp_stacks_in_fault),
	KUNIT_CASE(kp_stacks_dumps),
	KUNIT_CASE_SLOW(kp_stacks_in_interrupt),
	{}
};

KP_ONLY_SUITE(kp_stacks, "kprobes_stacks", "KUnit suite: stack traces under kprobes");
