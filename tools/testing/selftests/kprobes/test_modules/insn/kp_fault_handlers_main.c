// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: which fault_handlers are called, in which order, and what they may do. The script
 * that loads the module chooses whether probed instructions are boosted, single-stepped or
 * optimised.
 */

#include <asm/trapnr.h>
#include "kp_faults.h"

bool kp_faults_opt;
module_param_named(opt, kp_faults_opt, bool, 0400);
MODULE_PARM_DESC(opt, "wait until probes are jump-optimised, where they can be");

#define KP_SKIPPED	0x5109L

static const long kp_good = KP_GOOD_VALUE;

/* For a fault_handler: let kp_kernel_load() read kp_good. */
static int __kprobes kp_retry(struct kp_probe *probe, struct pt_regs *regs)
{
	*kp_first_arg(regs) = (unsigned long)&kp_good;
	return 1;
}

/* For a fault_handler: redirect to the RET of kp_kernel_load(), with a result. */
static int __kprobes kp_skip(struct kp_probe *probe, struct pt_regs *regs)
{
	regs->ip = (unsigned long)kp_kernel_load + kp_kernel_load_end;
	regs->ax = KP_SKIPPED;
	return 1;
}

/* For a fault_handler: record the order of calls, and repair nothing. */
static struct kp_probe *kp_turn[4];
static int kp_turns;

static int __kprobes kp_take_turn(struct kp_probe *probe, struct pt_regs *regs)
{
	kp_turn[kp_turns++ % ARRAY_SIZE(kp_turn)] = probe;
	return 0;
}

static struct kp_probe *kp_faulty_new(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_new_post(test, addr, true);

	probe->kp.fault_handler = kp_count_fault;
	return probe;
}

/*
 * The fault_handler repairs a fault, so that the copy must be executed again. Probes with a
 * post_handler and without have different slots: test both.
 */
static void kp_faulty_retries(struct kunit *test)
{
	struct kp_probe *probe = kp_faulty_new(test, kp_load_addr());
	int i;

	probe->repair = kp_retry;
	for (i = 0; i < 2; i++) {
		if (i)
			probe->kp.post_handler = NULL;
		kp_clear_counts(probe);
		kp_faults_register(test, probe);
		KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), KP_GOOD_VALUE);
		kp_expect_counts(test, probe, 1, !i, 1);
		KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
		KUNIT_EXPECT_EQ(test, probe->ip, (unsigned long)kp_load_addr());
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		/* The hit has ended, and must not disturb the next one. */
		KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
		kp_expect_counts(test, probe, 2, 2 * !i, 1);
		kp_unregister(test, probe);
	}
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_EQ(test, probe->fault, 1);
}

static void (*const kp_callee)(void) = kp_called;

static int __kprobes kp_retry_call(struct kp_probe *probe, struct pt_regs *regs)
{
	*kp_first_arg(regs) = (unsigned long)&kp_callee;
	return 1;
}

/*
 * If the target of a call or jump cannot be read, the fault_handler corrects the pointer to it.
 * Then the instruction must be emulated again, as part of the same hit.
 */
static void kp_faulty_retries_branch(struct kunit *test, void *insn,
				     long (*branch)(void (*const *to)(void)))
{
	struct kp_probe *probe = kp_faulty_new(test, insn);
	int i;

	for (i = 0; i < 2; i++) {
		if (i)
			probe->kp.post_handler = NULL;
		probe->repair = kp_retry_call;
		kp_clear_counts(probe);
		kp_faults_register(test, probe);
		KUNIT_EXPECT_EQ(test, branch(KP_BAD), KP_GOOD_VALUE);
		kp_expect_counts(test, probe, 1, !i, 1);
		KUNIT_EXPECT_EQ(test, branch(&kp_callee), KP_GOOD_VALUE);
		kp_expect_counts(test, probe, 2, 2 * !i, 1);
		probe->repair = NULL;
		KUNIT_EXPECT_EQ(test, branch(KP_BAD), -EFAULT);
		kp_expect_counts(test, probe, 3, 2 * !i, 2);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
		kp_unregister(test, probe);
	}
}

KP_CASE(kp_faulty_retries_call,
	kp_faulty_retries_branch(test, (void *)kp_kernel_call + kp_kernel_call_insn,
				 kp_kernel_call))
KP_CASE(kp_faulty_retries_jump,
	kp_faulty_retries_branch(test, (void *)kp_kernel_jump + kp_kernel_jump_insn,
				 kp_kernel_jump))

/* After a fault that ended with @result, the next hit must be complete. */
static void kp_faulty_once(struct kunit *test, struct kp_probe *probe, long result)
{
	kp_faults_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), result);
	kp_expect_counts(test, probe, 1, 0, 1);
	KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	kp_expect_counts(test, probe, 2, 1, 1);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

static void kp_faulty_skips(struct kunit *test)
{
	struct kp_probe *probe = kp_faulty_new(test, kp_load_addr());

	probe->repair = kp_skip;
	kp_faulty_once(test, probe, KP_SKIPPED);
}

KP_CASE(kp_faulty_leaves, kp_faulty_once(test, kp_faulty_new(test, kp_load_addr()), -EFAULT))

/*
 * The fault_handler registered last must be called first.
 * After one has returned 1, no other may be called.
 */
static void kp_faulty_order(struct kunit *test)
{
	struct kp_probe *probe[4];
	int i;

	kp_turns = 0;
	for (i = 0; i < 4; i++) {
		probe[i] = kp_faulty_new(test, kp_load_addr());
		probe[i]->repair = kp_take_turn;
		kp_faults_register(test, probe[i]);
	}
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	for (i = 0; i < 4; i++) {
		kp_expect_counts(test, probe[i], 1, 0, 1);
		KUNIT_EXPECT_PTR_EQ(test, kp_turn[i], probe[3 - i]);
	}
	probe[1]->repair = kp_retry;
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), KP_GOOD_VALUE);
	kp_expect_counts(test, probe[3], 2, 1, 2);
	kp_expect_counts(test, probe[2], 1, 0, 1);
	kp_expect_counts(test, probe[1], 2, 1, 2);
	kp_expect_counts(test, probe[0], 2, 1, 1);
}

static long kp_nofault(void)
{
	long value;

	return copy_from_kernel_nofault(&value, KP_BAD, sizeof(value));
}

/* As in an interrupt that arrives while the handler runs */
static long kp_nofault_in_irq(void)
{
	long ret;

	preempt_count_add(HARDIRQ_OFFSET);
	ret = kp_nofault();
	preempt_count_sub(HARDIRQ_OFFSET);
	return ret;
}

static long kp_load_bad(void)
{
	return kp_kernel_load(KP_BAD);
}

static struct kp_probe *kp_somewhere(struct kunit *test)
{
	return kp_faulty_new(test, (void *)kp_plain + kp_plain_insn);
}

/* Hit the probe in kp_plain(). The functions that its handlers call must return @result. */
static void kp_hit_plain(struct kunit *test, struct kp_probe *probe, long result)
{
	probe->pre_result = 0;
	probe->post_result = 0;
	KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre_result, probe->in_pre ? result : 0);
	KUNIT_EXPECT_EQ(test, probe->post_result, probe->in_post ? result : 0);
}

/* If a handler faults, only the fault_handler of its own probe may be called. */
static void kp_faulty_in_handlers(struct kunit *test)
{
	struct kp_probe *probe = kp_somewhere(test), *other = kp_somewhere(test);
	int i;

	kp_faults_register(test, probe);
	kp_faults_register(test, other);
	for (i = 1; i <= 6; i++) {
		probe->in_pre = i & 1 ? kp_nofault : NULL;
		probe->in_post = i & 1 ? NULL : kp_nofault;
		kp_hit_plain(test, probe, -EFAULT);
		kp_expect_counts(test, probe, i, i, i);
		KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		KUNIT_EXPECT_NE(test, probe->ip, (unsigned long)probe->kp.addr);
	}
	kp_expect_counts(test, other, 6, 6, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed + other->kp.nmissed, 0);
}

/* The fault of an interrupt is not one of the handler that it has interrupted. */
static void kp_faulty_in_interrupt(struct kunit *test)
{
	struct kp_probe *probe = kp_somewhere(test);

	probe->in_pre = kp_nofault_in_irq;
	probe->in_post = kp_nofault_in_irq;
	kp_faults_register(test, probe);
	kp_hit_plain(test, probe, -EFAULT);
	kp_expect_counts(test, probe, 1, 1, 0);
}

static void kp_faulty_handler_repaired(struct kunit *test)
{
	struct kp_probe *probe = kp_somewhere(test);

	probe->in_pre = kp_load_bad;
	probe->repair = kp_retry;
	kp_faults_register(test, probe);
	kp_hit_plain(test, probe, KP_GOOD_VALUE);
	kp_expect_counts(test, probe, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, probe->ip, (unsigned long)kp_load_addr());

	probe->in_pre = NULL;
	probe->in_post = kp_load_bad;
	probe->repair = kp_skip;
	kp_hit_plain(test, probe, KP_SKIPPED);
	kp_expect_counts(test, probe, 2, 2, 2);
}

/* A fault_handler must not be called for its own fault, or else there would be no end. */
static void kp_faulty_own_fault(struct kunit *test)
{
	struct kp_probe *probe = kp_somewhere(test);
	struct kp_probe *copy = kp_faulty_new(test, kp_load_addr());

	/* The pre_handler faults. */
	probe->in_pre = kp_nofault;
	probe->in_fault = kp_nofault;
	kp_faults_register(test, probe);
	kp_hit_plain(test, probe, -EFAULT);
	KUNIT_EXPECT_EQ(test, probe->fault_result, -EFAULT);
	kp_expect_counts(test, probe, 1, 1, 1);

	/* The copy faults. */
	copy->in_fault = kp_nofault;
	kp_faults_register(test, copy);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_EQ(test, copy->fault_result, -EFAULT);
	kp_expect_counts(test, copy, 1, 0, 1);
}

/*
 * A handler hits a probed instruction that faults. That nested hit must be missed, but the inner
 * probe's fault_handler must still be called, and execution must resume at the fix-up.
 */
static void kp_faulty_missed(struct kunit *test)
{
	struct kp_probe *outer = kp_somewhere(test);
	struct kp_probe *inner = kp_faulty_new(test, kp_load_addr());
	int i;

	outer->kp.fault_handler = NULL;
	kp_faults_register(test, inner);
	kp_faults_register(test, outer);
	for (i = 1; i <= 6; i++) {
		outer->in_pre = i & 1 ? kp_load_bad : NULL;
		outer->in_post = i & 1 ? NULL : kp_load_bad;
		kp_hit_plain(test, outer, -EFAULT);
		KUNIT_EXPECT_EQ(test, inner->kp.nmissed, i);
	}
	kp_expect_counts(test, outer, 6, 6, 0);
	kp_expect_counts(test, inner, 0, 0, 6);
}

/* When a repaired copy is executed again, lockdep must know that interrupts are on. */
static void kp_faulty_irq_state(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_load_addr());
	bool enabled;
	long got;
	int i;

	probe->kp.pre_handler = NULL;
	probe->kp.fault_handler = kp_count_fault;
	probe->repair = kp_retry;
	kp_faults_register(test, probe);
	for (i = 0; i < 10; i++) {
		preempt_disable();
		got = kp_kernel_load(KP_BAD);
		/*
		 * Read the state of lockdep before preempt_enable() and the expectations: if
		 * these disable and enable interrupts, they correct a wrong state.
		 */
		enabled = lockdep_hardirqs_enabled();
		preempt_enable();
		KUNIT_EXPECT_EQ(test, got, KP_GOOD_VALUE);
		if (IS_ENABLED(CONFIG_PROVE_LOCKING))
			KUNIT_EXPECT_TRUE(test, enabled);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
	}
	KUNIT_EXPECT_EQ(test, probe->fault, 10);
	if (!IS_ENABLED(CONFIG_PROVE_LOCKING))
		kunit_skip(test, "without lockdep there is no state of interrupts to be wrong");
}

static struct kunit_case kp_faulty_cases[] = {
	KUNIT_CASE(kp_faulty_retries),
	KUNIT_CASE(kp_faulty_retries_call),
	KUNIT_CASE(kp_faulty_retries_jump),
	KUNIT_CASE(kp_faulty_skips),
	KUNIT_CASE(kp_faulty_leaves),
	KUNIT_CASE(kp_faulty_order),
	KUNIT_CASE(kp_faulty_in_handlers),
	KUNIT_CASE(kp_faulty_in_interrupt),
	KUNIT_CASE(kp_faulty_handler_repaired),
	KUNIT_CASE(kp_faulty_own_fault),
	KUNIT_CASE(kp_faulty_missed),
	KUNIT_CASE(kp_faulty_irq_state),
	{}
};

KP_ONLY_SUITE(kp_faulty, "kprobes_fault_handlers", "KUnit suite: fault_handlers of kprobes");
