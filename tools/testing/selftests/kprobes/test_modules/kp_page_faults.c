// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: page faults that handlers raise, and that the copy of a probed instruction
 * raises, on any architecture. The fault_handler is called, then the fix-up of the faulting
 * instruction is found. kp_faults has more of it, with instructions of x86.
 */

#include <kunit/test.h>
#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* Nothing is mapped there. */
#define KP_NOWHERE	((const int __user *)PAGE_SIZE)

#define KP_CALLS	10

struct kp_pf {
	struct kprobe kp;
	int pre;
	int post;
	int asked;
	/* The fault_handler has the CPU execute the instruction again so many times. */
	int retries;
	struct kprobe *seen;
	/* Results of reads in a handler */
	long in_pre;
	long in_post;
	long in_fault;
};

static struct kp_pf *to_kp_pf(struct kprobe *kp)
{
	return container_of(kp, struct kp_pf, kp);
}

NOKPROBE_SYMBOL(to_kp_pf);

static noinline long kp_pf_read(void)
{
	int value = 0;
	long ret;

	pagefault_disable();
	ret = __get_user(value, KP_NOWHERE);
	pagefault_enable();
	return ret;
}

NOKPROBE_SYMBOL(kp_pf_read);

static int kp_pf_pre(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_pf(kp)->pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_pf_pre);

static int kp_pf_pre_reads(struct kprobe *kp, struct pt_regs *regs)
{
	to_kp_pf(kp)->in_pre = kp_pf_read();
	return kp_pf_pre(kp, regs);
}

NOKPROBE_SYMBOL(kp_pf_pre_reads);

static void kp_pf_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_kp_pf(kp)->post++;
}

NOKPROBE_SYMBOL(kp_pf_post);

static void kp_pf_post_reads(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	to_kp_pf(kp)->in_post = kp_pf_read();
	kp_pf_post(kp, regs, flags);
}

NOKPROBE_SYMBOL(kp_pf_post_reads);

static int kp_pf_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	struct kp_pf *probe = to_kp_pf(kp);

	probe->asked++;
	probe->seen = kp;
	if (!probe->retries)
		return 0;
	probe->retries--;
	return 1;
}

NOKPROBE_SYMBOL(kp_pf_fault);

static int kp_pf_fault_reads(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	to_kp_pf(kp)->in_fault = kp_pf_read();
	return kp_pf_fault(kp, regs, trapnr);
}

NOKPROBE_SYMBOL(kp_pf_fault_reads);

noinline long kp_pf_target(long arg);
noinline long kp_pf_target(long arg)
{
	barrier();
	return arg + 1;
}

/* Its instruction that reads has a fix-up. */
noinline long kp_pf_target_reads(const int __user *from);
noinline long kp_pf_target_reads(const int __user *from)
{
	int value = 0;

	return __get_user(value, from);
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_pf_unregister, unregister_kprobe, struct kprobe *);

static struct kp_pf *kp_pf_new(struct kunit *test, void *addr)
{
	struct kp_pf *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->kp.addr = addr;
	probe->kp.pre_handler = kp_pf_pre;
	probe->kp.fault_handler = kp_pf_fault;
	return probe;
}

static void kp_pf_register(struct kunit *test, struct kp_pf *probe)
{
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_pf_unregister, &probe->kp), 0);
}

static void kp_pf_expect(struct kunit *test, const struct kp_pf *probe, int pre, int post,
			 int asked)
{
	KUNIT_EXPECT_EQ(test, probe->pre, pre);
	KUNIT_EXPECT_EQ(test, probe->post, post);
	/* Powerpc emulates the instruction, and if that faults, steps. */
	if (IS_ENABLED(CONFIG_PPC) && asked)
		KUNIT_EXPECT_GE(test, probe->asked, asked);
	else
		KUNIT_EXPECT_EQ(test, probe->asked, asked);
	if (asked)
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

static void kp_pf_of_pre_handler(struct kunit *test)
{
	struct kp_pf *probe = kp_pf_new(test, kp_pf_target);
	int i;

	probe->kp.pre_handler = kp_pf_pre_reads;
	kp_pf_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->in_pre = 0;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->in_pre, -EFAULT);
		kp_pf_expect(test, probe, i, 0, i);
	}
}

static void kp_pf_of_post_handler(struct kunit *test)
{
	struct kp_pf *probe = kp_pf_new(test, kp_pf_target);
	int i;

	probe->kp.post_handler = kp_pf_post_reads;
	kp_pf_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->in_post = 0;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->in_post, -EFAULT);
		kp_pf_expect(test, probe, i, i, i);
	}
}

/* Without a fault_handler the fix-up is found as well. */
static void kp_pf_without_fault_handler(struct kunit *test)
{
	struct kp_pf *probe = kp_pf_new(test, kp_pf_target);
	int i;

	probe->kp.pre_handler = kp_pf_pre_reads;
	probe->kp.post_handler = kp_pf_post_reads;
	probe->kp.fault_handler = NULL;
	kp_pf_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->in_pre = 0;
		probe->in_post = 0;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->in_pre, -EFAULT);
		KUNIT_EXPECT_EQ(test, probe->in_post, -EFAULT);
		kp_pf_expect(test, probe, i, i, 0);
	}
}

/* A fault that the fault_handler raises is not offered to it, or there would be no end. */
static void kp_pf_of_fault_handler(struct kunit *test)
{
	struct kp_pf *probe = kp_pf_new(test, kp_pf_target);
	int i;

	probe->kp.pre_handler = kp_pf_pre_reads;
	probe->kp.fault_handler = kp_pf_fault_reads;
	kp_pf_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->in_pre = 0;
		probe->in_fault = 0;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->in_pre, -EFAULT);
		KUNIT_EXPECT_EQ(test, probe->in_fault, -EFAULT);
		kp_pf_expect(test, probe, i, 0, i);
	}
}

/* The fault_handler says that it has handled the fault: the CPU tries again. */
static void kp_pf_tried_again(struct kunit *test)
{
	struct kp_pf *probe = kp_pf_new(test, kp_pf_target);
	int i;

	probe->kp.pre_handler = kp_pf_pre_reads;
	kp_pf_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->in_pre = 0;
		probe->asked = 0;
		probe->retries = i;
		KUNIT_EXPECT_EQ(test, kp_pf_target(i), i + 1);
		KUNIT_EXPECT_EQ(test, probe->in_pre, -EFAULT);
		kp_pf_expect(test, probe, i, 0, i + 1);
	}
}

/* Outside of a handler no fault_handler is called. */
static void kp_pf_elsewhere(struct kunit *test)
{
	struct kp_pf *probe = kp_pf_new(test, kp_pf_target);

	kp_pf_register(test, probe);
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

/* What the module's table of fix-ups has for kp_pf_target_reads(). */
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

/* The copy of an instruction faults: its fix-up is found, and the fault_handler is called. */
static void kp_pf_of_copy(struct kunit *test)
{
	void *insn = kp_pf_reading_insn();
	struct kp_pf *probe;
	int i, ret;

	if (!insn)
		kunit_skip(test, "the instruction is not in the function itself");
	/*
	 * do_pgm_check() handles a page fault that comes with the event of a single step as the
	 * event alone: kprobes takes the instruction for done, and the task hits it for ever.
	 */
	if (IS_ENABLED(CONFIG_S390))
		kunit_skip(test, "the architecture loses the fault");
	probe = kp_pf_new(test, insn);
	probe->kp.post_handler = kp_pf_post;
	if (IS_ENABLED(CONFIG_ARM64)) {
		KUNIT_EXPECT_EQ(test, register_kprobe(&probe->kp), -EINVAL);
		kunit_skip(test, "the architecture refuses instructions that have a fix-up");
	}
	kp_pf_register(test, probe);
	for (i = 1; i <= KP_CALLS; i++) {
		probe->pre = 0;
		probe->asked = 0;
		/* Each time that the CPU resumes at the probed address is another hit. */
		probe->retries = i - 1;
		pagefault_disable();
		ret = kp_pf_target_reads(KP_NOWHERE);
		pagefault_enable();
		KUNIT_EXPECT_EQ(test, ret, -EFAULT);
		kp_pf_expect(test, probe, i, 0, i);
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

static struct kunit_suite kp_pf_suite = {
	.name = "kprobes_page_faults",
	.test_cases = kp_pf_cases,
};

kunit_test_suite(kp_pf_suite);

MODULE_DESCRIPTION("KUnit suite for page faults of kprobes' handlers and copies");
MODULE_LICENSE("GPL");
