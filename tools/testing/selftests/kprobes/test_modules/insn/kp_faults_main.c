// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: exceptions that a probed instruction raises.
 *
 * Each case of the table of instructions that raises an exception is executed without and with a
 * probe. Both runs must leave the same state, die notifiers and fault_handlers must be passed the
 * same, and the probe must be hit once.
 */

#include <linux/processor.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include "kp_faults.h"
#include "kp_insn.h"
#include "kp_opt.h"

bool kp_faults_opt;
module_param_named(opt, kp_faults_opt, bool, 0400);
MODULE_PARM_DESC(opt, "wait until probes are jump-optimised, where they can be");

KP_MODULE_PARAM(bool, oops, false,
		"have the kernel print oopses, for a script to read; they kill no task");

#define KP_ROUNDS	4

/* What a die notifier or a fault_handler got, and how often */
struct kp_told {
	unsigned int times;
	unsigned long trap;
	struct pt_regs regs;
};

/* A case, and what the die notifier got in the rounds without a probe */
struct kp_fault {
	struct kp_insn insn;
	const struct kp_insn_case *fault;
	struct kp_told bare[KP_ROUNDS];
};

/* The current round */
static struct {
	const struct kp_insn_case *fault;
	struct kp_told notifier, handler;
	struct task_struct *task;
	bool oopses;
	int pre;
} kp;

static void __kprobes kp_tell(struct kp_told *told, const struct pt_regs *regs, unsigned long trap)
{
	told->times++;
	told->trap = trap;
	told->regs = *regs;
}

static int __kprobes kp_faults_fault(struct kprobe *p, struct pt_regs *regs, int trapnr)
{
	kp_tell(&kp.handler, regs, trapnr);
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
	    !(kp.fault->flags & KP_NO_EXTABLE) || kp.notifier.times > 2)
		return NOTIFY_DONE;
	kp_tell(&kp.notifier, args->regs, args->trapnr);
	args->regs->ip = (unsigned long)kp_insn_at(kp.fault->fixup);
	return NOTIFY_STOP;
}

static struct notifier_block kp_faults_notifier = {
	.notifier_call = kp_faults_notify,
	.priority = INT_MAX,
};

static void kp_place(struct kp_insn *insn, unsigned int round, struct fuzz_random *random,
		     struct kp_state *in)
{
	kp.fault = container_of(insn, struct kp_fault, insn)->fault;
	memset(&kp.notifier, 0, sizeof(kp.notifier));
	memset(&kp.handler, 0, sizeof(kp.handler));
	/* Even rounds have interrupts on, odd ones off. */
	in->reg[KP_FLAGS] &= ~(X86_EFLAGS_IF | X86_EFLAGS_AC);
	in->reg[KP_FLAGS] |= round & 1 ? 0 : X86_EFLAGS_IF;
}

static void kp_prepare(struct kp_insn *insn, enum kp_mode mode)
{
	if (mode >= KP_PRE_FAULT)
		kp_set_fault_handler(&insn->kp, kp_faults_fault);
}

/*
 * Die notifiers and fault_handlers must be called once, with the original instruction's registers.
 */
static bool kp_told_differ(struct kunit *test, const char *who, const struct kp_told *told,
			   const struct kp_told *bare, const struct kp_state *in)
{
	unsigned long probed = (unsigned long)kp_insn_at(kp.fault->probed);
	const struct pt_regs *regs = &told->regs;

	if (kp_insn_differ(test, who, told->times, 1) ||
	    kp_insn_differ(test, "ip told", regs->ip, probed) ||
	    (kp.fault->trap && kp_insn_differ(test, "trap told", told->trap, kp.fault->trap)) ||
	    kp_insn_differ(test, "IF told", regs->flags & X86_EFLAGS_IF,
			   in->reg[KP_FLAGS] & X86_EFLAGS_IF) ||
	    kp_insn_differ(test, "TF told", regs->flags & X86_EFLAGS_TF, 0))
		return true;
	if (!bare->times)
		return false;
	return kp_insn_differ(test, "sp told", regs->sp, bare->regs.sp) ||
		kp_insn_differ(test, "bx told", regs->bx, bare->regs.bx) ||
		kp_insn_differ(test, "cx told", regs->cx, bare->regs.cx) ||
		kp_insn_differ(test, "di told", regs->di, bare->regs.di) ||
		kp_insn_differ(test, "cs told", regs->cs, bare->regs.cs) ||
		kp_insn_differ(test, "flags told", regs->flags & KP_COMPARED,
			       bare->regs.flags & KP_COMPARED);
}

/* Is the result without a probe as expected, and are handlers and notifiers called as they must? */
static bool kp_check(struct kunit *test, struct kp_insn *insn, enum kp_mode mode,
		     unsigned int round, const struct kp_state *in)
{
	struct kp_told *told = &container_of(insn, struct kp_fault, insn)->bare[round];
	const struct kp_state *bare = &insn->bare[round];

	if (bare->way == KP_WENT_ON && kp.fault->flags & KP_MAY_FAULT)
		return true;
	if (mode == KP_BARE) {
		*told = kp.notifier;
		if (kp_insn_differ(test, "way", bare->way, KP_FIXED_UP))
			return false;
		if (!(kp.fault->flags & KP_NO_EXTABLE) && kp.fault->trap)
			return !kp_insn_differ(test, "trap", bare->reg[KP_AX], kp.fault->trap);
	}
	if (mode >= KP_PRE_FAULT && KP_FAULT_HANDLERS &&
	    kp_told_differ(test, "number of fault_handler calls", &kp.handler, told, in))
		return false;
	return !(kp.fault->flags & KP_NO_EXTABLE) ||
	       !kp_told_differ(test, "number of notifier calls", &kp.notifier, told, in);
}

static void kp_describe(struct kp_fault *fault, const struct kp_insn_case *c)
{
	fault->fault = c;
	kp_insn_describe(&fault->insn, c);
}

static bool kp_is_tcg(void)
{
	u32 eax, signature[3];

	if (!boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return false;
	cpuid(0x40000000, &eax, &signature[0], &signature[1], &signature[2]);
	return !memcmp(signature, "TCGTCGTCGTCG", sizeof(signature));
}

static void kp_group(struct kunit *test, u32 flags)
{
	struct kp_fault *faults = kp_vzalloc(test, kp_insn_nr * sizeof(*faults));
	struct kprobe **kps = kp_vzalloc(test, kp_insn_nr * sizeof(*kps));
	unsigned long jumps = 0;
	int i, mode, nr = 0;

	for (i = 0; i < kp_insn_nr; i++) {
		const struct kp_insn_case *c = &kp_insn_cases[i];

		if (!c->fixup)
			continue;
		/* A page fault calls die notifiers only in an oops, see kp_faults_oops(). */
		if ((c->flags & KP_NO_EXTABLE) != flags || (flags && c->trap == X86_TRAP_PF))
			continue;
		if (c->flags & KP_BRANCHES && kp_is_tcg())
			continue;
		kp_describe(&faults[nr], c);
		kps[nr] = &faults[nr].insn.kp;
		kp_insn_alloc(test, &faults[nr++].insn);
	}
	memset(kp_runner.runs, 0, sizeof(kp_runner.runs));
	kp_insn_run_all(test, kps, nr);
	for (mode = KP_PRE; mode < KP_MODES; mode++)
		jumps += kp_runner.runs[mode][1] / KP_ROUNDS;
	kunit_info(test, "%d instructions, %lu jumps\n", nr, jumps);
	if (kp_faults_opt)
		KUNIT_EXPECT_GT(test, jumps, (unsigned long)nr);
}

KP_CASE(kp_faults_fixup, kp_group(test, 0))

static void kp_faults_notifiers(struct kunit *test)
{
	kp_die_notifier_add(test, &kp_faults_notifier);
	kp_group(test, KP_NO_EXTABLE);
}

KP_PRE_HANDLER(__kprobes, kp_oops_pre, kp.pre++)

/* Let the kernel print oopses, which the script checks. The die notifier resumes at the fix-up. */
static void kp_faults_oops(struct kunit *test)
{
	struct kp_fault *fault = kp_zalloc(test, sizeof(*fault));
	struct kp_state *state = kp_zalloc(test, 2 * sizeof(*state));
	struct fuzz_random random = fuzz_random_of(2, 0);
	int i, cases = 0;

	if (!oops)
		kunit_skip(test, "not asked for");
	kp_die_notifier_add(test, &kp_faults_notifier);
	for (i = 0; i < kp_insn_nr; i++) {
		struct kprobe *probe = &fault->insn.kp;

		if (!(kp_insn_cases[i].flags & KP_OOPS))
			continue;
		kp_describe(fault, &kp_insn_cases[i]);
		*probe = (struct kprobe){
			.addr = fault->insn.probed, .pre_handler = kp_oops_pre,
		};
		kp.pre = 0;
		KUNIT_ASSERT_EQ(test, register_kprobe(probe), 0);
		if (kp_faults_opt)
			KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
		pr_info("kp_faults: oops at %pS\n", probe->addr);
		kp_insn_randomize(&random, state);
		kp_place(&fault->insn, 0, &random, state);
		kp.oopses = true;
		kp_insn_run_state(state, fault->insn.start, fault->insn.flags, state + 1);
		kp.oopses = false;
		unregister_kprobe(probe);
		KUNIT_EXPECT_EQ(test, state[1].way, KP_FIXED_UP);
		KUNIT_EXPECT_EQ(test, kp.pre, 1);
		KUNIT_EXPECT_EQ(test, kp.notifier.times, 1);
		KUNIT_EXPECT_EQ(test, kp.notifier.regs.ip, (unsigned long)probe->addr);
		cases++;
	}
	KUNIT_EXPECT_GE(test, cases, 2);
}

static int kp_faults_init(struct kunit *test)
{
	void *page = kp_vzalloc(test, PAGE_SIZE);

	memset(page, 0x33, PAGE_SIZE);
	kp_insn_edge = (unsigned long)page + PAGE_SIZE - 16;
	kp.task = current;
	kp_runner.rounds = KP_ROUNDS;
	kp_runner.modes = KP_MODES;
	kp_runner.opt = kp_faults_opt;
	kp_runner.place = kp_place;
	kp_runner.prepare = kp_prepare;
	kp_runner.check = kp_check;
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
	  &kp_faults_suite, &kp_int3_suite, &kp_paging_suite, &kp_steps_suite);
