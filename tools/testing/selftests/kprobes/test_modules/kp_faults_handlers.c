// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: what a fault_handler may do, faults that handlers raise themselves, and
 * breakpoints that belong to no probe.
 */

#include <asm/trapnr.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/uaccess.h>
#include "kp_faults.h"
#include "kp_opt.h"

/* Nothing is mapped in the last page. */
#define KP_BAD		((void *)-4096L)
#define KP_GOOD_VALUE	0x600dL

enum kp_repair { KP_LEAVE, KP_RETRY, KP_SKIP };

struct kp_faulty {
	struct kprobe kp;
	int pre;
	int post;
	int asked;
	int trap;
	unsigned long ip;
	struct kprobe *seen;
	enum kp_repair repair;
	/* What a handler does, and what comes of it. */
	long (*in_pre)(void);
	long (*in_post)(void);
	long (*in_fault)(void);
	long result;
	/* Asked as the how-manyth of all fault_handlers. */
	int turn;
};

static const long kp_good = KP_GOOD_VALUE;
static int kp_turns;

static struct kp_faulty *to_faulty(struct kprobe *kp)
{
	return container_of(kp, struct kp_faulty, kp);
}

NOKPROBE_SYMBOL(to_faulty);

static int kp_faulty_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_faulty *probe = to_faulty(kp);

	probe->pre++;
	if (probe->in_pre)
		probe->result = probe->in_pre();
	return 0;
}

NOKPROBE_SYMBOL(kp_faulty_pre);

static void kp_faulty_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kp_faulty *probe = to_faulty(kp);

	probe->post++;
	if (probe->in_post)
		probe->result = probe->in_post();
}

NOKPROBE_SYMBOL(kp_faulty_post);

static int kp_faulty_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	struct kp_faulty *probe = to_faulty(kp);

	probe->asked++;
	probe->seen = kp;
	probe->trap = trapnr;
	probe->ip = regs->ip;
	probe->turn = ++kp_turns;
	if (probe->in_fault)
		probe->result = probe->in_fault();
	switch (probe->repair) {
	case KP_RETRY:
		/* What kp_kernel_load() reads from. */
		*kp_first_arg(regs) = (unsigned long)&kp_good;
		return 1;
	case KP_SKIP:
		/* To its RET, with a result. */
		regs->ip = (unsigned long)kp_kernel_load + kp_kernel_load_end;
		regs->ax = 0x5109;
		return 1;
	case KP_LEAVE:
		break;
	}
	return 0;
}

NOKPROBE_SYMBOL(kp_faulty_fault);

static void *kp_load_addr(void)
{
	return (void *)kp_kernel_load + kp_kernel_load_insn;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_unregister, unregister_kprobe, struct kprobe *);

static struct kp_faulty *kp_new(struct kunit *test, void *addr)
{
	struct kp_faulty *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe->kp.addr = addr;
	probe->kp.pre_handler = kp_faulty_pre;
	probe->kp.post_handler = kp_faulty_post;
	probe->kp.fault_handler = kp_faulty_fault;
	return probe;
}

static void kp_register(struct kunit *test, struct kp_faulty *probe)
{
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe->kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, &probe->kp), 0);
	if (kp_faults_opt)
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
}

static void kp_counts_are(struct kunit *test, const struct kp_faulty *probe, int pre, int post,
			  int asked)
{
	KUNIT_EXPECT_EQ(test, probe->pre, pre);
	KUNIT_EXPECT_EQ(test, probe->post, post);
	KUNIT_EXPECT_EQ(test, probe->asked, asked);
}

/* Both forms of every slot: with a post_handler and without. */
static void kp_faulty_retries(struct kunit *test)
{
	struct kp_faulty *probe = kp_new(test, kp_load_addr());
	int i;

	probe->repair = KP_RETRY;
	for (i = 0; i < 2; i++) {
		if (i)
			probe->kp.post_handler = NULL;
		probe->pre = 0;
		probe->post = 0;
		probe->asked = 0;
		kp_register(test, probe);
		KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), KP_GOOD_VALUE);
		kp_counts_are(test, probe, 1, !i, 1);
		KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
		KUNIT_EXPECT_EQ(test, probe->ip, (unsigned long)kp_load_addr());
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		/* The hit is over, with nothing left that would spoil the next one. */
		KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
		kp_counts_are(test, probe, 2, 2 * !i, 1);
		kunit_release_action(test, kp_unregister, &probe->kp);
	}
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_EQ(test, probe->asked, 1);
}

static void kp_faulty_skips(struct kunit *test)
{
	struct kp_faulty *probe = kp_new(test, kp_load_addr());

	probe->repair = KP_SKIP;
	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), 0x5109);
	kp_counts_are(test, probe, 1, 0, 1);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	kp_counts_are(test, probe, 2, 1, 1);
}

static void kp_faulty_leaves(struct kunit *test)
{
	struct kp_faulty *probe = kp_new(test, kp_load_addr());

	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	kp_counts_are(test, probe, 1, 0, 1);
	KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	kp_counts_are(test, probe, 2, 1, 1);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

/* The newest is asked first; those behind one that repairs are not. */
static void kp_faulty_order(struct kunit *test)
{
	struct kp_faulty *probe[4];
	int i;

	for (i = 0; i < 4; i++) {
		probe[i] = kp_new(test, kp_load_addr());
		kp_register(test, probe[i]);
	}
	kp_turns = 0;
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	for (i = 0; i < 4; i++) {
		kp_counts_are(test, probe[i], 1, 0, 1);
		KUNIT_EXPECT_EQ(test, probe[i]->turn, 4 - i);
	}
	probe[1]->repair = KP_RETRY;
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe[2]->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), KP_GOOD_VALUE);
	kp_counts_are(test, probe[3], 2, 1, 2);
	kp_counts_are(test, probe[2], 1, 0, 1);
	kp_counts_are(test, probe[1], 2, 1, 2);
	kp_counts_are(test, probe[0], 2, 1, 1);
}

static long kp_nofault(void)
{
	long value;

	return copy_from_kernel_nofault(&value, KP_BAD, sizeof(value));
}

static long kp_load_bad(void)
{
	return kp_kernel_load(KP_BAD);
}

static struct kp_faulty *kp_somewhere(struct kunit *test)
{
	return kp_new(test, (void *)kp_plain + kp_plain_insn);
}

/* A handler's fault is offered to the probe whose handler it is, and only to that. */
static void kp_faulty_in_handlers(struct kunit *test)
{
	struct kp_faulty *probe = kp_somewhere(test), *other = kp_somewhere(test);
	int i;

	kp_register(test, probe);
	kp_register(test, other);
	for (i = 1; i <= 3; i++) {
		probe->in_pre = kp_nofault;
		probe->in_post = NULL;
		probe->result = 0;
		KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
		KUNIT_EXPECT_EQ(test, probe->result, -EFAULT);
		KUNIT_EXPECT_EQ(test, probe->asked, 2 * i - 1);
		probe->in_pre = NULL;
		probe->in_post = kp_nofault;
		probe->result = 0;
		KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
		KUNIT_EXPECT_EQ(test, probe->result, -EFAULT);
		kp_counts_are(test, probe, 2 * i, 2 * i, 2 * i);
		KUNIT_EXPECT_EQ(test, probe->trap, X86_TRAP_PF);
		KUNIT_EXPECT_PTR_EQ(test, probe->seen, &probe->kp);
		KUNIT_EXPECT_NE(test, probe->ip, (unsigned long)probe->kp.addr);
	}
	kp_counts_are(test, other, 6, 6, 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed + other->kp.nmissed, 0);
}

static void kp_faulty_handler_repaired(struct kunit *test)
{
	struct kp_faulty *probe = kp_somewhere(test);

	probe->in_pre = kp_load_bad;
	probe->repair = KP_RETRY;
	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
	KUNIT_EXPECT_EQ(test, probe->result, KP_GOOD_VALUE);
	kp_counts_are(test, probe, 1, 1, 1);
	KUNIT_EXPECT_EQ(test, probe->ip, (unsigned long)kp_load_addr());

	probe->in_pre = NULL;
	probe->in_post = kp_load_bad;
	probe->repair = KP_SKIP;
	KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
	KUNIT_EXPECT_EQ(test, probe->result, 0x5109);
	kp_counts_are(test, probe, 2, 2, 2);
}

/* A fault_handler that faults is not asked about it, or there would be no end. */
static void kp_faulty_own_fault(struct kunit *test)
{
	struct kp_faulty *probe = kp_somewhere(test), *copy = kp_new(test, kp_load_addr());

	probe->in_pre = kp_nofault;
	probe->in_fault = kp_nofault;
	kp_register(test, probe);
	KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
	KUNIT_EXPECT_EQ(test, probe->result, -EFAULT);
	kp_counts_are(test, probe, 1, 1, 1);

	/* Nor one that was asked about the instruction. */
	copy->in_fault = kp_nofault;
	kp_register(test, copy);
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_EQ(test, copy->result, -EFAULT);
	kp_counts_are(test, copy, 1, 0, 1);
}

/* A handler runs into a probed instruction that faults: a missed hit, fixed up as ever. */
static void kp_faulty_missed(struct kunit *test)
{
	struct kp_faulty *outer = kp_somewhere(test), *inner = kp_new(test, kp_load_addr());
	int i;

	outer->kp.fault_handler = NULL;
	kp_register(test, inner);
	kp_register(test, outer);
	for (i = 1; i <= 3; i++) {
		outer->in_pre = kp_load_bad;
		outer->in_post = NULL;
		KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
		KUNIT_EXPECT_EQ(test, outer->result, -EFAULT);
		outer->in_pre = NULL;
		outer->in_post = kp_load_bad;
		outer->result = 0;
		KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
		KUNIT_EXPECT_EQ(test, outer->result, -EFAULT);
		KUNIT_EXPECT_EQ(test, inner->kp.nmissed, 2 * i);
	}
	kp_counts_are(test, outer, 6, 6, 0);
	KUNIT_EXPECT_EQ(test, inner->pre + inner->post, 0);
	KUNIT_EXPECT_EQ(test, inner->asked, 6);
}

/*
 * Breakpoints that belong to no probe.
 */

static struct {
	struct task_struct *task;
	int seen;
	int elsewhere;
	unsigned long ax;
} kp_int3;

static int kp_int3_notify(struct notifier_block *nb, unsigned long val, void *data)
{
	struct die_args *args = data;
	unsigned long int3 = (unsigned long)kp_foreign_int3 + kp_foreign_insn[KP_FOREIGN_INT3];

	if (val != DIE_INT3 || user_mode(args->regs) || current != kp_int3.task)
		return NOTIFY_DONE;
	if (args->regs->ip != int3 + 1) {
		kp_int3.elsewhere++;
		return NOTIFY_DONE;
	}
	kp_int3.seen++;
	kp_int3.ax = args->regs->ax;
	return NOTIFY_STOP;
}

NOKPROBE_SYMBOL(kp_int3_notify);

static struct notifier_block kp_int3_notifier = {
	.notifier_call = kp_int3_notify,
	.priority = INT_MAX,
};

KUNIT_DEFINE_ACTION_WRAPPER(kp_unnotify, unregister_die_notifier, struct notifier_block *);

static void kp_int3_expect(struct kunit *test)
{
	memset(&kp_int3, 0, sizeof(kp_int3));
	kp_int3.task = current;
	KUNIT_ASSERT_EQ(test, register_die_notifier(&kp_int3_notifier), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unnotify, &kp_int3_notifier), 0);
}

/* @seen: how many int3 have come by; the last had @ax in ax. */
static void kp_int3_was(struct kunit *test, int seen, unsigned long ax)
{
	KUNIT_EXPECT_EQ(test, kp_int3.seen, seen);
	KUNIT_EXPECT_EQ(test, kp_int3.elsewhere, 0);
	KUNIT_EXPECT_EQ(test, kp_int3.ax, ax);
}

static long kp_run_int3(void)
{
	return kp_foreign_int3(100);
}

/* At an unprobed address, with nothing and with probes around it. */
static void kp_int3_unprobed(struct kunit *test)
{
	static const int around[] = { KP_FOREIGN_NOP, KP_FOREIGN_BEFORE, KP_FOREIGN_AFTER };
	struct kp_faulty *probe;
	int i, n = 0;

	kp_int3_expect(test);
	KUNIT_EXPECT_EQ(test, kp_foreign_int3(5), 6);
	kp_int3_was(test, ++n, 7);
	for (i = 0; i < ARRAY_SIZE(around); i++) {
		probe = kp_new(test, (void *)kp_foreign_int3 + kp_foreign_insn[around[i]]);
		kp_register(test, probe);
		KUNIT_EXPECT_EQ(test, kp_foreign_int3(5), 6);
		kp_int3_was(test, ++n, 7);
		kp_counts_are(test, probe, 1, 1, 0);
	}
}

/* In a function that a handler calls, pre or post, or a fault_handler. */
static void kp_int3_in_handlers(struct kunit *test)
{
	struct kp_faulty *probe = kp_new(test, kp_load_addr());
	int n = 0;

	kp_int3_expect(test);
	kp_register(test, probe);
	probe->in_pre = kp_run_int3;
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	KUNIT_EXPECT_EQ(test, probe->result, 101);
	kp_int3_was(test, ++n, 102);

	probe->in_pre = NULL;
	probe->in_post = kp_run_int3;
	probe->result = 0;
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	KUNIT_EXPECT_EQ(test, probe->result, 101);
	kp_int3_was(test, ++n, 102);

	probe->in_post = NULL;
	probe->in_fault = kp_run_int3;
	probe->result = 0;
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_EQ(test, probe->result, 101);
	kp_int3_was(test, ++n, 102);
	kp_counts_are(test, probe, 3, 2, 1);
}

/* As before, and the function is full of probes, whose hits are missed. */
static void kp_int3_among_missed(struct kunit *test)
{
	struct kp_faulty *probe = kp_new(test, kp_load_addr());
	struct kp_faulty *before = kp_new(test, (void *)kp_foreign_int3 +
					  kp_foreign_insn[KP_FOREIGN_BEFORE]);
	struct kp_faulty *after = kp_new(test, (void *)kp_foreign_int3 +
					 kp_foreign_insn[KP_FOREIGN_AFTER]);

	kp_int3_expect(test);
	kp_register(test, before);
	kp_register(test, after);
	kp_register(test, probe);
	probe->in_pre = kp_run_int3;
	KUNIT_EXPECT_EQ(test, kp_kernel_load(&kp_good), KP_GOOD_VALUE);
	KUNIT_EXPECT_EQ(test, probe->result, 101);
	kp_int3_was(test, 1, 102);
	KUNIT_EXPECT_EQ(test, before->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, after->kp.nmissed, 1);
	kp_counts_are(test, probe, 1, 1, 0);
	kp_counts_are(test, before, 0, 0, 0);
	kp_counts_are(test, after, 0, 0, 0);
}

static struct kunit_case kp_faulty_cases[] = {
	KUNIT_CASE(kp_faulty_retries),
	KUNIT_CASE(kp_faulty_skips),
	KUNIT_CASE(kp_faulty_leaves),
	KUNIT_CASE(kp_faulty_order),
	KUNIT_CASE(kp_faulty_in_handlers),
	KUNIT_CASE(kp_faulty_handler_repaired),
	KUNIT_CASE(kp_faulty_own_fault),
	KUNIT_CASE(kp_faulty_missed),
	KUNIT_CASE(kp_int3_unprobed),
	KUNIT_CASE(kp_int3_in_handlers),
	KUNIT_CASE(kp_int3_among_missed),
	{}
};

struct kunit_suite kp_faulty_suite = {
	.name = "kprobes_fault_handlers",
	.test_cases = kp_faulty_cases,
};
