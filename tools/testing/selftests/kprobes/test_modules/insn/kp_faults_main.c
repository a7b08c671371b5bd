// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: exceptions that a probed instruction raises.
 *
 * Each instruction of kp_faults_cases.S is executed without and with a probe. Both runs must leave
 * the same state, die notifiers and fault_handlers must be passed the same, and the probe must be
 * hit once.
 */

#include <linux/cpufeature.h>
#include <linux/processor.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include "kp_faults.h"
#include "kp_insn.h"
#include "kp_opt.h"

bool kp_faults_opt;
module_param_named(opt, kp_faults_opt, bool, 0400);
MODULE_PARM_DESC(opt, "wait until probes are jump-optimised, where they can be");

static unsigned int kp_jumps;

KP_MODULE_PARAM(bool, oops, false,
		"have the kernel print oopses, for a script to read; they kill no task");

#define KP_ROUNDS	4
/* Modes after those of enum kp_mode */
enum { KP_PRE_FAULT = KP_MODES, KP_ALL_THREE, KP_FAULT_MODES };

static const char *const kp_mode_names[] = {
	"bare", "pre", "pre and post", "pre and fault", "all",
};

/* What a die notifier or a fault_handler got, and how often */
struct kp_told {
	unsigned int times;
	unsigned long trap;
	struct pt_regs regs;
};

struct kp_run {
	struct kp_state state;
	struct kp_told notifier, handler;
	int pre, post;
};

/* The current case */
static struct {
	const struct kp_fault_case *fault;
	int mode;
	struct kprobe kp;
	struct fuzz_random random;
	struct kp_state in;
	struct kp_run bare, probed, *out;
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

KP_PRE_HANDLER(__kprobes, kp_faults_pre, kp.out->pre++)

KP_POST_HANDLER(__kprobes, kp_faults_post, kp.out->post++)

static void __kprobes kp_tell(struct kp_told *told, const struct pt_regs *regs, unsigned long trap)
{
	told->times++;
	told->trap = trap;
	told->regs = *regs;
}

static int __kprobes kp_faults_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_tell(&kp.out->handler, regs, trapnr);
	return 0;
}

/*
 * Record what a die notifier gets, and resume at the case's fix-up. Without kp.oopses, this is
 * called before an oops is printed.
 */
static int __kprobes kp_faults_notify(struct notifier_block *nb, unsigned long val, void *data)
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

static struct notifier_block kp_faults_notifier = {
	.notifier_call = kp_faults_notify,
	.priority = INT_MAX,
};

static void kp_randomize(bool irqs_on)
{
	kp_insn_randomize(&kp.random, &kp.in);
	kp.in.reg[KP_FLAGS] &= ~(X86_EFLAGS_IF | X86_EFLAGS_AC);
	kp.in.reg[KP_FLAGS] |= irqs_on ? X86_EFLAGS_IF : 0;
}

static void kp_run(struct kp_run *out)
{
	memset(out, 0, sizeof(*out));
	kp.out = out;
	kp_insn_run_state(&kp.in, kp_text(kp.fault->start),
			  kp.fault->flags & KP_X87 ? KP_FPU : 0, &out->state);
}

static bool kp_differ(struct kunit *test, const char *what, unsigned long got, unsigned long wanted)
{
	return kp_insn_differ(test, kp_name(), kp_mode_names[kp.mode], what, got, wanted);
}

/*
 * Die notifiers and fault_handlers must be called once, with the original instruction's registers.
 */
static bool kp_told_differ(struct kunit *test, const char *who, const struct kp_told *told)
{
	const struct kp_told *bare = &kp.bare.notifier;
	const struct pt_regs *regs = &told->regs;

	if (kp_differ(test, who, told->times, 1) ||
	    kp_differ(test, "ip told", regs->ip, (unsigned long)kp_text(kp.fault->probed)) ||
	    (kp.fault->trap && kp_differ(test, "trap told", told->trap, kp.fault->trap)) ||
	    kp_differ(test, "IF told", regs->flags & X86_EFLAGS_IF,
		      kp.in.reg[KP_FLAGS] & X86_EFLAGS_IF) ||
	    kp_differ(test, "TF told", regs->flags & X86_EFLAGS_TF, 0))
		return true;
	if (!bare->times)
		return false;
	return kp_differ(test, "sp told", regs->sp, bare->regs.sp) ||
		kp_differ(test, "bx told", regs->bx, bare->regs.bx) ||
		kp_differ(test, "cx told", regs->cx, bare->regs.cx) ||
		kp_differ(test, "di told", regs->di, bare->regs.di) ||
		kp_differ(test, "cs told", regs->cs, bare->regs.cs) ||
		kp_differ(test, "flags told", regs->flags & KP_COMPARED,
			  bare->regs.flags & KP_COMPARED);
}

static bool kp_has_post(int mode)
{
	return mode == KP_PRE_POST || mode == KP_ALL_THREE;
}

static bool kp_round_fails(struct kunit *test)
{
	const struct kp_insn insn = { .name = kp_name() };
	bool raised = kp.bare.state.way == KP_FIXED_UP;

	if (kp_differ(test, "number of pre_handler calls", kp.probed.pre, 1) ||
	    kp_differ(test, "number of post_handler calls", kp.probed.post,
		      !raised && kp_has_post(kp.mode)) ||
	    kp_insn_results_differ(test, &insn, kp_mode_names[kp.mode], &kp.in, &kp.probed.state,
				   &kp.bare.state))
		return true;
	if (raised && kp.mode >= KP_PRE_FAULT &&
	    kp_told_differ(test, "number of fault_handler calls", &kp.probed.handler))
		return true;
	return kp.bare.notifier.times &&
		kp_told_differ(test, "number of notifier calls", &kp.probed.notifier);
}

/* Does the case have the result that it should have without a probe? */
static bool kp_is_as_expected(struct kunit *test)
{
	const struct kp_fault_case *fault = kp.fault;

	if (kp.bare.state.way == KP_WENT_ON && fault->flags & KP_MAY_FAULT)
		return true;
	if (kp_differ(test, "way", kp.bare.state.way, KP_FIXED_UP))
		return false;
	if (fault->flags & KP_NO_EXTABLE)
		return !kp_told_differ(test, "notifier calls", &kp.bare.notifier);
	return !fault->trap ||
		!kp_differ(test, "trap", kp.bare.state.reg[KP_AX], fault->trap);
}

static int kp_register_probe(void)
{
	int ret;

	memset(&kp.kp, 0, sizeof(kp.kp));
	kp.kp.addr = kp_text(kp.fault->probed);
	kp.kp.pre_handler = kp_faults_pre;
	if (kp_has_post(kp.mode))
		kp.kp.post_handler = kp_faults_post;
	if (kp.mode >= KP_PRE_FAULT)
		kp.kp.fault_handler = kp_faults_fault;
	ret = register_kprobe(&kp.kp);
	if (!ret && kp_faults_opt && !kp_opt_switch(true))
		kp_jumps += kp_is_jump(kp.kp.addr);
	return ret;
}

/*
 * noinline: GCC might split the function otherwise, and the two runs would have different stack
 * pointers at the fault.
 */
static noinline void kp_one_round(struct kunit *test, unsigned int round)
{
	bool failed = false;
	int ret;

	/* Even rounds have interrupts on, odd ones off. */
	kp_randomize(!(round & 1));
	kp.mode = KP_BARE;
	kp_run(&kp.bare);
	if (!kp_is_as_expected(test))
		return;
	for (kp.mode = KP_PRE; kp.mode < KP_FAULT_MODES && !failed; kp.mode++) {
		ret = kp_register_probe();
		if (ret) {
			KUNIT_FAIL(test, "%s is refused with %d\n", kp_name(), ret);
			return;
		}
		kp_run(&kp.probed);
		failed = kp_round_fails(test);
		unregister_kprobe(&kp.kp);
	}
}

static bool kp_is_tcg(void)
{
	u32 eax, signature[3];

	if (!boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return false;
	cpuid(0x40000000, &eax, &signature[0], &signature[1], &signature[2]);
	return !memcmp(signature, "TCGTCGTCGTCG", sizeof(signature));
}

static void kp_group(struct kunit *test, u16 flags)
{
	unsigned int round;
	int i, cases = 0;

	kp_jumps = 0;
	kp.random = fuzz_random_of(1, 0);
	for (i = 0; i < kp_faults_nr; i++) {
		kp.fault = &kp_faults[i];
		/* A page fault calls die notifiers only in an oops, see kp_faults_oops(). */
		if ((kp.fault->flags & KP_NO_EXTABLE) != flags ||
		    (flags && kp.fault->trap == X86_TRAP_PF))
			continue;
		if (kp.fault->flags & KP_BRANCHES && kp_is_tcg())
			continue;
		/* Only one round, since each wait for a jump takes time. */
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

KP_CASE(kp_faults_fixup, kp_group(test, 0))

static void kp_faults_notifiers(struct kunit *test)
{
	kp_die_notifier_add(test, &kp_faults_notifier);
	kp_group(test, KP_NO_EXTABLE);
}

/* Let the kernel print oopses, which the script checks. The die notifier resumes at the fix-up. */
static void kp_faults_oops(struct kunit *test)
{
	int i, cases = 0;

	if (!oops)
		kunit_skip(test, "not asked for");
	kp_die_notifier_add(test, &kp_faults_notifier);
	kp.random = fuzz_random_of(2, 0);
	for (i = 0; i < kp_faults_nr; i++) {
		kp.fault = &kp_faults[i];
		if (!(kp.fault->flags & KP_OOPS))
			continue;
		kp.mode = KP_PRE;
		KUNIT_ASSERT_EQ(test, kp_register_probe(), 0);
		pr_info("kp_faults: oops at %pS\n", kp.kp.addr);
		kp_randomize(true);
		kp.oopses = true;
		kp_run(&kp.probed);
		kp.oopses = false;
		unregister_kprobe(&kp.kp);
		KUNIT_EXPECT_EQ(test, kp.probed.state.way, KP_FIXED_UP);
		KUNIT_EXPECT_EQ(test, kp.probed.pre, 1);
		KUNIT_EXPECT_EQ(test, kp.probed.notifier.times, 1);
		KUNIT_EXPECT_EQ(test, kp.probed.notifier.regs.ip, (unsigned long)kp.kp.addr);
		cases++;
	}
	KUNIT_EXPECT_GE(test, cases, 2);
}

static int kp_faults_init(struct kunit *test)
{
	void *page = kp_vzalloc(test, PAGE_SIZE);

	memset(page, 0x33, PAGE_SIZE);
	kp_faults_edge = (unsigned long)page + PAGE_SIZE - 16;
	kp.task = current;
	return 0;
}

static struct kunit_case kp_faults_cases[] = {
	KUNIT_CASE_SLOW(kp_faults_fixup),
	KUNIT_CASE_SLOW(kp_faults_notifiers),
	KUNIT_CASE_SLOW(kp_faults_oops),
	{}
};

static KP_SUITE(kp_faults, "kprobes_faults", .init = kp_faults_init);

KP_SUITES("KUnit suites: exceptions under kprobes",
	  &kp_faults_suite, &kp_faulty_suite, &kp_paging_suite, &kp_steps_suite);
