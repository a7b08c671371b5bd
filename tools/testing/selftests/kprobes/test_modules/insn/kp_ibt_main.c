// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: probes next to an endbr. On a CPU with IBT, an indirect branch to an instruction
 * other than an endbr raises #CP, so kprobes must not make such a branch. The cases also pass on a
 * CPU without IBT, but prove less: the suite first logs whether there is IBT.
 */

#include <linux/cpufeature.h>
#include <linux/kprobe_reason.h>
#include <asm/ibt.h>
#include "kp_ibt.h"
#include "kp_opt.h"
#include "kp_probe.h"

KP_MODULE_PARAM(bool, opt, false, "wait for jumps where probes are registered");

#define KP_CALLS	6

/* With function tracing, this function begins with ftrace's call. */
KP_PLUS(, long, kp_ibt_traced, 1)

struct kp_ibt_target {
	const char *name;
	kp_ibt_fn *fn;
};

static const struct kp_ibt_target kp_ibt_targets[] = {
	{ "instruction", kp_ibt_entry },
	{ "entry", kp_ibt_traced },
};

KUNIT_ARRAY_PARAM_DESC(kp_ibt_targets, kp_ibt_targets, name);

static struct kretprobe kp_return;
static unsigned long kp_returns;

static int __kprobes kp_ibt_pre_redirects(struct kprobe *kp, struct pt_regs *regs)
{
	kp_count_pre(kp, regs);
	regs->ip = (unsigned long)kp_ibt_bare;
	return 1;
}

static void __kprobes kp_ibt_post_redirects(struct kprobe *kp, struct pt_regs *regs,
					    unsigned long flags)
{
	kp_count_post(kp, regs, flags);
	regs->ip = (unsigned long)kp_ibt_bare;
}

KP_RETURN_HANDLER(__kprobes, kp_ibt_returned, kp_returns++)

static void *kp_ibt_at(enum kp_ibt_insn insn)
{
	return (void *)kp_ibt_switch + kp_ibt_switch_insn[insn];
}

/* @jumps: with opt, expect a jump. */
static struct kp_probe *kp_ibt_probe(struct kunit *test, void *addr, kprobe_pre_handler_t pre,
				     kprobe_post_handler_t post, bool jumps)
{
	struct kp_probe *probe = kp_new(test, addr);

	probe->kp.pre_handler = pre;
	probe->kp.post_handler = post;
	kp_register(test, probe);
	if (opt && jumps && !kprobe_ftrace(&probe->kp))
		KUNIT_ASSERT_TRUE_MSG(test, kp_wait_jump(probe->kp.addr, true), "no jump at %pS",
				      probe->kp.addr);
	return probe;
}

/* Call by a pointer that the compiler does not know. */
static void kp_ibt_call_all(struct kunit *test, kp_ibt_fn *fn, long plus)
{
	OPTIMIZER_HIDE_VAR(fn);
	for (long arg = 0; arg < KP_CALLS; arg++)
		KUNIT_EXPECT_EQ(test, fn(arg), arg + plus);
}

/*
 * Call @fn. Check that the handlers were called @pres and @posts times, and unregister the probe.
 */
static void kp_ibt_hits(struct kunit *test, struct kp_probe *probe, kp_ibt_fn *fn, long plus,
			int pres, int posts)
{
	kp_ibt_call_all(test, fn, plus);
	kp_expect_counts(test, probe, pres, posts, 0);
	kp_unregister(test, probe);
}

static bool kp_ibt_has_endbr(const void *addr)
{
	u32 insn;

	return !copy_from_kernel_nofault(&insn, addr, sizeof(insn)) && is_endbr(insn);
}

/*
 * The probe must be moved past the endbr, and calls of the function by a pointer must still work.
 */
static void kp_ibt_called_by_pointer(struct kunit *test)
{
	const struct kp_ibt_target *target = test->param_value;
	struct kp_probe *probe;

	for (int post = 0; post < 2; post++) {
		probe = kp_ibt_probe(test, target->fn, kp_count_pre, post ? kp_count_post : NULL,
				     true);
		KUNIT_EXPECT_PTR_EQ(test, (void *)probe->kp.addr,
				    (void *)target->fn + ENDBR_INSN_SIZE);
		KUNIT_EXPECT_TRUE(test, kp_ibt_has_endbr(target->fn));
		kp_ibt_hits(test, probe, target->fn, 1, KP_CALLS, post ? KP_CALLS : 0);
	}
	KUNIT_EXPECT_TRUE(test, kp_ibt_has_endbr(target->fn));
}

/* A return needs no endbr, neither at the trampoline nor in the caller. */
static void kp_ibt_returns(struct kunit *test)
{
	const struct kp_ibt_target *target = test->param_value;

	kp_returns = 0;
	memset(&kp_return, 0, sizeof(kp_return));
	kp_return.kp.addr = (kprobe_opcode_t *)target->fn;
	kp_return.handler = kp_ibt_returned;
	kp_kretprobe_add(test, &kp_return);
	if (opt && !kprobe_ftrace(&kp_return.kp))
		KUNIT_ASSERT_TRUE(test, kp_wait_jump(kp_return.kp.addr, true));
	kp_ibt_call_all(test, target->fn, 1);
	KUNIT_EXPECT_EQ(test, kp_returns, KP_CALLS);
	KUNIT_EXPECT_EQ(test, kp_return.nmissed, 0);
	kp_kretprobe_del(test, &kp_return);
}

/* A redirection is no indirect jump: its target needs no endbr. */
static void kp_ibt_redirected(struct kunit *test)
{
	const struct kp_ibt_target *target = test->param_value;
	struct kp_probe *probe;

	probe = kp_ibt_probe(test, target->fn, kp_ibt_pre_redirects, NULL, true);
	kp_ibt_hits(test, probe, target->fn, 100, KP_CALLS, 0);
	probe = kp_ibt_probe(test, target->fn, kp_count_pre, kp_ibt_post_redirects, true);
	kp_ibt_hits(test, probe, target->fn, 100, KP_CALLS, KP_CALLS);
}

/* The probed instruction is an indirect branch, and its target has an endbr. */
static void kp_ibt_branches(struct kunit *test)
{
	struct kp_probe *probe;

	for (int i = 0; i < 2; i++) {
		kprobe_post_handler_t post = i ? kp_count_post : NULL;

		probe = kp_ibt_probe(test, (void *)kp_ibt_calls + kp_ibt_calls_insn, kp_count_pre,
				     post, false);
		kp_ibt_hits(test, probe, kp_ibt_calls, 1, KP_CALLS, post ? KP_CALLS : 0);
		probe = kp_ibt_probe(test, kp_ibt_at(KP_IBT_JUMP), kp_count_pre, post, false);
		kp_ibt_hits(test, probe, kp_ibt_switch, 1, KP_CALLS / 2, post ? KP_CALLS / 2 : 0);
	}
}

/* An endbr inside a function can neither be probed nor be overlapped by a jump. */
static void kp_ibt_inside(struct kunit *test)
{
	void *target = kp_ibt_at(KP_IBT_TARGET), *nop = kp_ibt_at(KP_IBT_NOP);
	struct kprobe kp = { .addr = target };
	int ret = register_kprobe(&kp);
	struct kp_probe *probe;

	if (!ret)
		unregister_kprobe(&kp);
	KUNIT_EXPECT_EQ(test, ret, -EINVAL);
	KUNIT_EXPECT_EQ(test, kp.refusal, KPROBE_REASON_ENDBR);

	probe = kp_ibt_probe(test, nop, kp_count_pre, NULL, false);
	if (opt)
		KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
	KUNIT_EXPECT_FALSE(test, kp_is_jump(nop));
	KUNIT_EXPECT_TRUE(test, kp_ibt_has_endbr(target));
	kp_ibt_hits(test, probe, kp_ibt_switch, 1, KP_CALLS / 2, 0);

	probe = kp_ibt_probe(test, kp_ibt_at(KP_IBT_AFTER), kp_count_pre, NULL, true);
	KUNIT_EXPECT_TRUE(test, kp_ibt_has_endbr(target));
	kp_ibt_hits(test, probe, kp_ibt_switch, 1, KP_CALLS, 0);
}

/*
 * In a function with an indirect jump, a probe must be optimised if the kernel is configured with
 * IBT, even if the CPU lacks IBT: the compiler has put an endbr at each target, so it is known
 * where the indirect jump may lead.
 */
static void kp_ibt_safety(struct kunit *test)
{
	struct kp_probe *probe;

	probe = kp_ibt_probe(test, kp_ibt_at(KP_IBT_PLAIN), kp_count_pre, NULL, true);
	kp_ibt_hits(test, probe, kp_ibt_switch, 1, KP_CALLS, 0);
}

static struct kunit_case kp_ibt_cases[] = {
	KUNIT_CASE_PARAM(kp_ibt_called_by_pointer, kp_ibt_targets_gen_params),
	KUNIT_CASE_PARAM(kp_ibt_returns, kp_ibt_targets_gen_params),
	KUNIT_CASE_PARAM(kp_ibt_redirected, kp_ibt_targets_gen_params),
	KUNIT_CASE(kp_ibt_branches),
	KUNIT_CASE(kp_ibt_inside),
	KUNIT_CASE(kp_ibt_safety),
	{}
};

static int kp_ibt_suite_init(struct kunit_suite *suite)
{
	pr_info("IBT is %senforced\n", boot_cpu_has(X86_FEATURE_IBT) ? "" : "not ");
	return 0;
}

KP_ONLY_SUITE(kp_ibt, "kprobes_ibt", "KUnit tests of probes and indirect branch tracking",
	      .suite_init = kp_ibt_suite_init);
