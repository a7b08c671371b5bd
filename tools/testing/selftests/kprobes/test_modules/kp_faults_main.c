// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: exceptions that a probed instruction, or a handler, raises.
 *
 * Each instruction of kp_faults_cases.S runs bare and probed from the same registers.
 * The exception's fix-up, die notifiers and fault_handlers have to find the same, and
 * the instruction is hit once and not done.
 */

#include <asm/fpu/api.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include <kunit/test.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "kp_faults.h"
#include "kp_insn.h"
#include "kp_opt.h"

bool kp_faults_opt;
module_param_named(opt, kp_faults_opt, bool, 0400);
MODULE_PARM_DESC(opt, "wait until probes are jump-optimised, where they can be");

static unsigned int kp_jumps;

static bool oops;
module_param(oops, bool, 0400);
MODULE_PARM_DESC(oops, "have the kernel print oopses, for a script to read; no task dies of them");

#define KP_ROUNDS	4
#define KP_ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			 X86_EFLAGS_SF | X86_EFLAGS_OF)
/* RF is the processor's, which sets it where it likes. */
#define KP_COMPARED	(~X86_EFLAGS_RF)

enum kp_mode { KP_BARE, KP_PRE, KP_PRE_POST, KP_PRE_FAULT, KP_ALL_THREE, KP_MODES };

static const char *const kp_mode_names[] = {
	"bare", "pre", "pre and post", "pre and fault", "all",
};

/* What a die notifier, or a fault_handler, was told of an exception, and how often. */
struct kp_told {
	unsigned int times;
	unsigned long trap;
	struct pt_regs regs;
};

struct kp_run {
	unsigned long reg[KP_REGS];
	u8 stack[KP_STACK];
	u8 mem[KP_MEM];
	u8 outcome;
	struct kp_told notifier;
	struct kp_told handler;
	int pre;
	int post;
};

/* The case at hand, and what its handlers see. */
static struct {
	const struct kp_fault_case *fault;
	struct kprobe kp;
	struct rnd_state random;
	struct kp_run in;
	struct kp_run bare;
	struct kp_run probed;
	struct kp_run *out;
	struct task_struct *task;
	bool oopses;
} kp;

static const char *kp_name(void)
{
	return kp_faults_names + kp.fault->name;
}

static void *kp_text(u32 offset)
{
	return (void *)kp_faults_text + offset;
}

static int kp_faults_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp.out->pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_faults_pre);

static void kp_faults_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp.out->post++;
}

NOKPROBE_SYMBOL(kp_faults_post);

static void kp_tell(struct kp_told *told, const struct pt_regs *regs, unsigned long trap)
{
	told->times++;
	told->trap = trap;
	told->regs = *regs;
}

NOKPROBE_SYMBOL(kp_tell);

static int kp_faults_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_tell(&kp.out->handler, regs, trapnr);
	return 0;
}

NOKPROBE_SYMBOL(kp_faults_fault);

/* Told what would be an oops; goes on where a fix-up would. */
static int kp_faults_notify(struct notifier_block *nb, unsigned long val, void *data)
{
	struct die_args *args = data;

	if (kp.oopses ? val != DIE_OOPS : val != DIE_GPF && val != DIE_TRAP)
		return NOTIFY_DONE;
	if (user_mode(args->regs) || current != kp.task ||
	    !(kp.fault->flags & KP_NO_EXTABLE) || kp.out->notifier.times > 2)
		return NOTIFY_DONE;
	kp_tell(&kp.out->notifier, args->regs, args->trapnr);
	args->regs->ip = (unsigned long)kp_text(kp.fault->fixup);
	return NOTIFY_STOP;
}

NOKPROBE_SYMBOL(kp_faults_notify);

static struct notifier_block kp_faults_notifier = {
	.notifier_call = kp_faults_notify,
	.priority = INT_MAX,
};

static unsigned long kp_random(void)
{
	return (u64)prandom_u32_state(&kp.random) << 32 | prandom_u32_state(&kp.random);
}

static void kp_randomize(bool irqs_on)
{
	struct kp_run *in = &kp.in;
	int i;

	for (i = 0; i < KP_REGS; i++)
		in->reg[i] = kp_random();
	in->reg[KP_BX] = (unsigned long)kp_insn_mem + 256;
	in->reg[KP_BP] = (unsigned long)kp_insn_mem + 384;
	in->reg[KP_SI] = (unsigned long)kp_insn_mem + 512;
	in->reg[KP_DI] = (unsigned long)kp_insn_mem + 640;
#ifdef CONFIG_X86_64
	in->reg[KP_R15] &= 7;
#endif
	in->reg[KP_FLAGS] &= KP_ARITHMETIC | X86_EFLAGS_DF;
	in->reg[KP_FLAGS] |= X86_EFLAGS_FIXED | (irqs_on ? X86_EFLAGS_IF : 0);
	prandom_bytes_state(&kp.random, in->stack, sizeof(in->stack));
	prandom_bytes_state(&kp.random, in->mem, sizeof(in->mem));
}

/* Always from here, so that the stack pointer is the same each time. */
static noinline void kp_run(struct kp_run *out)
{
	bool irqs_on = kp.in.reg[KP_FLAGS] & X86_EFLAGS_IF;
	unsigned long flags = 0;

	memset(out, 0, sizeof(*out));
	kp.out = out;
	kp_faults_outcome = KP_NOWHERE;
	memcpy(kp_insn_in, kp.in.reg, sizeof(kp.in.reg));
	memcpy(kp_insn_stack, kp.in.stack, sizeof(kp.in.stack));
	memcpy(kp_insn_mem, kp.in.mem, sizeof(kp.in.mem));
	if (kp.fault->flags & KP_X87)
		kernel_fpu_begin();
	if (!irqs_on)
		local_irq_save(flags);
	kp_insn_run(kp_text(kp.fault->start));
	if (!irqs_on)
		local_irq_restore(flags);
	if (kp.fault->flags & KP_X87)
		kernel_fpu_end();
	out->outcome = kp_faults_outcome;
	memcpy(out->reg, kp_insn_out, sizeof(out->reg));
	memcpy(out->stack, kp_insn_stack, sizeof(out->stack));
	memcpy(out->mem, kp_insn_mem, sizeof(out->mem));
}

static bool kp_differ(struct kunit *test, enum kp_mode mode, const char *what, unsigned long got,
		      unsigned long wanted)
{
	if (got == wanted)
		return false;
	KUNIT_FAIL(test, "%s, %s: %s is %lx, not %lx\n", kp_name(), kp_mode_names[mode], what,
		   got, wanted);
	return true;
}

/*
 * Was a die notifier, or a fault_handler, told something else of the exception than it should be?
 * Each has to be called once, with the registers of an exception of the original instruction.
 */
static bool kp_told_differ(struct kunit *test, enum kp_mode mode, const char *who,
			   const struct kp_told *told, const struct kp_run *bare)
{
	const struct pt_regs *regs = &told->regs;
	const struct pt_regs *unprobed = &bare->notifier.regs;

	if (kp_differ(test, mode, who, told->times, 1) ||
	    kp_differ(test, mode, "ip told", regs->ip, (unsigned long)kp_text(kp.fault->probed)) ||
	    (kp.fault->trap && kp_differ(test, mode, "trap told", told->trap, kp.fault->trap)) ||
	    kp_differ(test, mode, "IF told", regs->flags & X86_EFLAGS_IF,
		      kp.in.reg[KP_FLAGS] & X86_EFLAGS_IF) ||
	    kp_differ(test, mode, "TF told", regs->flags & X86_EFLAGS_TF, 0))
		return true;
	if (!bare->notifier.times)
		return false;
	return kp_differ(test, mode, "sp told", regs->sp, unprobed->sp) ||
		kp_differ(test, mode, "bx told", regs->bx, unprobed->bx) ||
		kp_differ(test, mode, "cx told", regs->cx, unprobed->cx) ||
		kp_differ(test, mode, "di told", regs->di, unprobed->di) ||
		kp_differ(test, mode, "cs told", regs->cs, unprobed->cs) ||
		kp_differ(test, mode, "flags told", regs->flags & KP_COMPARED,
			  unprobed->flags & KP_COMPARED);
}

static bool kp_round_fails(struct kunit *test, enum kp_mode mode)
{
	const struct kp_run *bare = &kp.bare, *probed = &kp.probed;
	bool raised = bare->outcome == KP_FIXED_UP;
	bool post = mode == KP_PRE_POST || mode == KP_ALL_THREE;
	char what[16];
	int i;

	if (kp_differ(test, mode, "outcome", probed->outcome, bare->outcome) ||
	    kp_differ(test, mode, "number of pre_handler calls", probed->pre, 1) ||
	    kp_differ(test, mode, "number of post_handler calls", probed->post, !raised && post))
		return true;
	for (i = 0; i < KP_REGS; i++) {
		snprintf(what, sizeof(what), i == KP_FLAGS ? "flags" : "register %d", i);
		if (kp_differ(test, mode, what, probed->reg[i] & (i == KP_FLAGS ? KP_COMPARED : ~0),
			      bare->reg[i] & (i == KP_FLAGS ? KP_COMPARED : ~0)))
			return true;
	}
	if (memcmp(probed->mem, bare->mem, sizeof(bare->mem)) ||
	    memcmp(probed->stack + KP_STACK_TOP, bare->stack + KP_STACK_TOP, KP_STACK_TOP)) {
		KUNIT_FAIL(test, "%s, %s: memory differs\n", kp_name(), kp_mode_names[mode]);
		return true;
	}
	if (raised && mode >= KP_PRE_FAULT &&
	    kp_told_differ(test, mode, "number of fault_handler calls", &probed->handler, bare))
		return true;
	return bare->notifier.times &&
		kp_told_differ(test, mode, "number of notifier calls", &probed->notifier, bare);
}

/* What the case does without a probe has to be what it is there for. */
static bool kp_is_as_expected(struct kunit *test)
{
	const struct kp_fault_case *fault = kp.fault;

	if (kp.bare.outcome == KP_WENT_ON && fault->flags & KP_MAY_FAULT)
		return true;
	if (kp_differ(test, KP_BARE, "outcome", kp.bare.outcome, KP_FIXED_UP))
		return false;
	if (fault->flags & KP_NO_EXTABLE)
		return !kp_told_differ(test, KP_BARE, "notifier calls", &kp.bare.notifier,
				       &kp.bare);
	return !fault->trap ||
		!kp_differ(test, KP_BARE, "trap", kp.bare.reg[KP_AX], fault->trap);
}

static void kp_one_round(struct kunit *test, unsigned int round)
{
	enum kp_mode mode;

	/* An even round with interrupts on, an odd one with them off. */
	kp_randomize(!(round & 1));
	kp_run(&kp.bare);
	if (!kp_is_as_expected(test))
		return;
	for (mode = KP_PRE; mode < KP_MODES; mode++) {
		bool failed;
		int ret;

		memset(&kp.kp, 0, sizeof(kp.kp));
		kp.kp.addr = kp_text(kp.fault->probed);
		kp.kp.pre_handler = kp_faults_pre;
		if (mode == KP_PRE_POST || mode == KP_ALL_THREE)
			kp.kp.post_handler = kp_faults_post;
		if (mode >= KP_PRE_FAULT)
			kp.kp.fault_handler = kp_faults_fault;
		ret = register_kprobe(&kp.kp);
		if (ret) {
			KUNIT_FAIL(test, "%s is refused with %d\n", kp_name(), ret);
			return;
		}
		if (kp_faults_opt && !kp_opt_switch(true))
			kp_jumps += kp_is_jump(kp.kp.addr);
		kp_run(&kp.probed);
		failed = kp_round_fails(test, mode);
		unregister_kprobe(&kp.kp);
		if (failed)
			return;
	}
}

static void kp_group(struct kunit *test, u16 flags)
{
	unsigned int round;
	int i, cases = 0;

	kp_jumps = 0;
	prandom_seed_state(&kp.random, 1);
	for (i = 0; i < kp_faults_nr; i++) {
		kp.fault = &kp_faults[i];
		/* No notifier is called for a page fault but by an oops. */
		if ((kp.fault->flags & KP_NO_EXTABLE) != flags ||
		    (flags && kp.fault->trap == X86_TRAP_PF))
			continue;
		/* Each wait takes its time. */
		if (kp_faults_opt)
			kp_one_round(test, i);
		for (round = 0; round < KP_ROUNDS && !kp_faults_opt; round++)
			kp_one_round(test, round);
		cases++;
	}
	kunit_info(test, "%d instructions, %u jumps\n", cases, kp_jumps);
	if (kp_faults_opt && cases)
		KUNIT_EXPECT_GT(test, kp_jumps, cases);
}

static void kp_faults_fixup(struct kunit *test)
{
	kp_group(test, 0);
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_unnotify, unregister_die_notifier, struct notifier_block *);

static void kp_faults_notifiers(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, register_die_notifier(&kp_faults_notifier), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unnotify, &kp_faults_notifier), 0);
	kp_group(test, KP_NO_EXTABLE);
}

/*
 * An oops as it is printed. The notifier that stops it comes after the text, and goes on
 * where a fix-up would. The script looks for what is announced here.
 */
static void kp_faults_oops(struct kunit *test)
{
	int i, cases = 0;

	if (!oops)
		kunit_skip(test, "not asked for");
	KUNIT_ASSERT_EQ(test, register_die_notifier(&kp_faults_notifier), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unnotify, &kp_faults_notifier), 0);
	prandom_seed_state(&kp.random, 2);
	for (i = 0; i < kp_faults_nr; i++) {
		kp.fault = &kp_faults[i];
		if (!(kp.fault->flags & KP_OOPS))
			continue;
		memset(&kp.kp, 0, sizeof(kp.kp));
		kp.kp.addr = kp_text(kp.fault->probed);
		kp.kp.pre_handler = kp_faults_pre;
		KUNIT_ASSERT_EQ(test, register_kprobe(&kp.kp), 0);
		if (kp_faults_opt)
			KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
		pr_info("kp_faults: oops at %pS\n", kp.kp.addr);
		kp_randomize(true);
		kp.oopses = true;
		kp_run(&kp.probed);
		kp.oopses = false;
		unregister_kprobe(&kp.kp);
		KUNIT_EXPECT_EQ(test, kp.probed.outcome, KP_FIXED_UP);
		KUNIT_EXPECT_EQ(test, kp.probed.pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probed.notifier.times, 1);
		KUNIT_EXPECT_EQ(test, kp.probed.notifier.regs.ip, (unsigned long)kp.kp.addr);
		cases++;
	}
	KUNIT_EXPECT_GE(test, cases, 2);
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_vfree, vfree, const void *);

static int kp_faults_init(struct kunit *test)
{
	void *page = vmalloc(PAGE_SIZE);

	/* After what vmalloc() gives comes a page where nothing is. */
	if (!page)
		return -ENOMEM;
	memset(page, 0x33, PAGE_SIZE);
	kp_faults_edge = (unsigned long)page + PAGE_SIZE - 16;
	kp.task = current;
	return kunit_add_action_or_reset(test, kp_vfree, page);
}

static struct kunit_case kp_faults_cases[] = {
	KUNIT_CASE_SLOW(kp_faults_fixup),
	KUNIT_CASE_SLOW(kp_faults_notifiers),
	KUNIT_CASE_SLOW(kp_faults_oops),
	{}
};

static struct kunit_suite kp_faults_suite = {
	.name = "kprobes_faults",
	.init = kp_faults_init,
	.test_cases = kp_faults_cases,
};

kunit_test_suites(&kp_faults_suite, &kp_faulty_suite, &kp_paging_suite, &kp_steps_suite);

MODULE_DESCRIPTION("KUnit suites: exceptions under kprobes");
MODULE_LICENSE("GPL");
