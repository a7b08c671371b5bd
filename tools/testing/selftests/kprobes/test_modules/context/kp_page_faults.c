// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: page faults that a handler or the copy of a probed instruction raises, on any
 * architecture. kprobes must call the fault_handler, if the kernel calls them, and then execution
 * must resume at the fix-up of the exception table. kp_faults has more cases, for x86.
 */

#include <linux/extable.h>
#include "kp_probe.h"

/* Nothing is mapped there. */
#define KP_NOWHERE	((const int __user *)PAGE_SIZE)

#define KP_CALLS	10

/* How often the fault_handler will still return 1 */
static int kp_pf_retries;

static noinline long __kprobes kp_pf_read(void)
{
	int value = 0;
	long ret;

	pagefault_disable();
	ret = __get_user(value, KP_NOWHERE);
	pagefault_enable();
	return ret;
}

static int __kprobes kp_pf_retry(struct kp_probe *probe, struct pt_regs *regs)
{
	return kp_pf_retries-- > 0;
}

KP_PLUS(, long, kp_pf_target, 1)

/* The instruction that reads @from has a fix-up in the exception table. */
noinline long kp_pf_target_reads(const int __user *from);
noinline long kp_pf_target_reads(const int __user *from)
{
	int value = 0;

	return __get_user(value, from);
}

static struct kp_probe *kp_pf_new(struct kunit *test, void *addr)
{
	struct kp_probe *probe = kp_new(test, addr);

	kp_set_fault_handler(&probe->kp, kp_count_fault);
	return probe;
}

static void kp_pf_expect(struct kunit *test, const struct kp_probe *probe, int pre, int post,
			 int fault)
{
	if (!KP_FAULT_HANDLERS)
		fault = 0;
	/*
	 * Powerpc emulates the instruction. If that faults,
	 * it also single-steps it, which faults again.
	 */
	if (IS_ENABLED(CONFIG_PPC) && fault && probe->fault > fault)
		fault = probe->fault;
	kp_expect_counts(test, probe, pre, post, fault);
	if (fault)
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

/* Handlers that raise a page fault */
enum { KP_PF_PRE = 1, KP_PF_POST = 2, KP_PF_FAULT = 4 };

/* In each call a handler faults. The fault_handler must be called, if there is one. */
static void kp_pf_calls(struct kunit *test, int faulting, bool fault_handler)
{
	struct kp_probe *probe = kp_new_post(test, kp_pf_target, faulting & KP_PF_POST);
	int i;

	if (faulting & KP_PF_FAULT && !KP_FAULT_HANDLERS)
		kunit_skip(test, "the kernel calls no fault_handlers");
	if (fault_handler)
		kp_set_fault_handler(&probe->kp, kp_count_fault);
	probe->in_pre = faulting & KP_PF_PRE ? kp_pf_read : NULL;
	probe->in_post = faulting & KP_PF_POST ? kp_pf_read : NULL;
	probe->in_fault = faulting & KP_PF_FAULT ? kp_pf_read : NULL;
	kp_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->pre_result = 0;
		probe->post_result = 0;
		probe->fault_result = 0;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->pre_result, probe->in_pre ? -EFAULT : 0);
		KUNIT_EXPECT_EQ(test, probe->post_result, probe->in_post ? -EFAULT : 0);
		KUNIT_EXPECT_EQ(test, probe->fault_result, probe->in_fault ? -EFAULT : 0);
		kp_pf_expect(test, probe, i, probe->in_post ? i : 0, fault_handler ? i : 0);
	}
}

KP_CASE(kp_pf_of_pre_handler, kp_pf_calls(test, KP_PF_PRE, true))
KP_CASE(kp_pf_of_post_handler, kp_pf_calls(test, KP_PF_POST, true))
/* Execution must resume at the fix-up even if there is no fault_handler. */
KP_CASE(kp_pf_without_fault_handler, kp_pf_calls(test, KP_PF_PRE | KP_PF_POST, false))
/* A fault_handler must not be called for its own fault, or else there would be no end. */
KP_CASE(kp_pf_of_fault_handler, kp_pf_calls(test, KP_PF_PRE | KP_PF_FAULT, true))

/* If the fault_handler has handled the fault, the CPU must execute the instruction again. */
static void kp_pf_tried_again(struct kunit *test)
{
	struct kp_probe *probe = kp_pf_new(test, kp_pf_target);
	int i;

	if (!KP_FAULT_HANDLERS)
		kunit_skip(test, "the kernel calls no fault_handlers");
	probe->in_pre = kp_pf_read;
	probe->repair = kp_pf_retry;
	kp_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		kp_clear_counts(probe);
		kp_pf_retries = i;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->pre_result, -EFAULT);
		kp_pf_expect(test, probe, 1, 0, i + 1);
	}
}

/* For a fault outside of a handler, no fault_handler must be called. */
static void kp_pf_elsewhere(struct kunit *test)
{
	struct kp_probe *probe = kp_pf_new(test, kp_pf_target);

	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_pf_target(1), 2);
	KUNIT_EXPECT_EQ(test, kp_pf_read(), -EFAULT);
	kp_pf_expect(test, probe, 1, 0, 0);
}

static void *kp_pf_insn(const struct exception_table_entry *entry)
{
#ifdef ARCH_HAS_RELATIVE_EXTABLE
	return (void *)&entry->insn + entry->insn;
#else
	return (void *)entry->insn;
#endif
}

/* The instruction of kp_pf_target_reads() that is in the module's exception table */
static void *kp_pf_reading_insn(void)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;
	void *insn;

	for (i = 0; i < THIS_MODULE->num_exentries; i++) {
		insn = kp_pf_insn(&THIS_MODULE->extable[i]);
		snprintf(name, sizeof(name), "%ps", insn);
		if (strstarts(name, "kp_pf_target_reads"))
			return insn;
	}
	return NULL;
}

/* A copy faults: the fault_handler must be called, then execution must resume at the fix-up. */
static void kp_pf_of_copy(struct kunit *test)
{
	void *insn = kp_pf_reading_insn();
	struct kp_probe *probe;
	int i, ret;

	if (!insn)
		kunit_skip(test, "the instruction is not in the function itself");
	/*
	 * do_pgm_check() drops a page fault during a single step, and handles the step only.
	 * Kprobes take the instruction as executed, and the task hits it for ever.
	 */
	if (IS_ENABLED(CONFIG_S390))
		kunit_skip(test, "the architecture loses the fault");
	probe = kp_pf_new(test, insn);
	probe->kp.post_handler = kp_count_post;
	probe->repair = kp_pf_retry;
	if (IS_ENABLED(CONFIG_ARM64)) {
		KUNIT_EXPECT_EQ(test, register_kprobe(&probe->kp), -EINVAL);
		kunit_skip(test, "the architecture refuses instructions that have a fix-up");
	}
	kp_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		kp_clear_counts(probe);
		/*
		 * After each retry, execution resumes at the probed address, which is another hit.
		 */
		kp_pf_retries = i - 1;
		pagefault_disable();
		ret = kp_pf_target_reads(KP_NOWHERE);
		pagefault_enable();
		KUNIT_EXPECT_EQ(test, ret, -EFAULT);
		kp_pf_expect(test, probe, KP_FAULT_HANDLERS ? i : 1, 0, i);
	}
}

static struct kunit_case kp_pf_cases[] = {
	KUNIT_CASE(kp_pf_of_pre_handler),
	KUNIT_CASE(kp_pf_of_post_handler),
	KUNIT_CASE(kp_pf_without_fault_handler),
	KUNIT_CASE(kp_pf_of_fault_handler),
	KUNIT_CASE(kp_pf_tried_again),
	KUNIT_CASE(kp_pf_elsewhere),
	KUNIT_CASE(kp_pf_of_copy),
	{}
};

KP_ONLY_SUITE(kp_pf, "kprobes_page_faults",
	      "KUnit suite for page faults of kprobes' handlers and copies");
