// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: ftrace-based probes, at the entries of functions.
 *
 * With crowd=1, a second ftrace function is attached to every target, so ftrace calls both
 * through its list of functions.
 */

#include <linux/context_tracking.h>
#include <asm/nops.h>
#include "kp_ftrace.h"
#include "kp_symbol.h"

bool kp_ft_crowd;
module_param_named(crowd, kp_ft_crowd, bool, 0400);
MODULE_PARM_DESC(crowd, "have ftrace call another callback for the same functions");

int __kprobes kp_ft_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kp_probe *probe = kp_of(kp);

	probe->pre++;
	probe->pre_regs = *regs;
	probe->pre_return = *(unsigned long *)kernel_stack_pointer(regs);
	probe->preemptible |= preemptible();
	probe->rcu_watching = rcu_is_watching();
	return 0;
}

void __kprobes kp_ft_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct kp_probe *probe = kp_of(kp);

	probe->post++;
	probe->post_ip = regs->ip;
	probe->preemptible |= preemptible();
}

bool kp_ft_is_nop(const struct kp_probe *probe)
{
	static const u8 nop[] = { BYTES_NOP5 };
	const void *at = probe->kp.addr;
	u8 now[sizeof(nop)];

	/* Before the first registration, addr may be the address of the ENDBR. */
	if (is_endbr(*(u32 *)at))
		at += ENDBR_INSN_SIZE;
	return !copy_from_kernel_nofault(now, at, sizeof(now)) &&
	       !memcmp(now, nop, sizeof(now));
}

/* Address and flags of a probe at an entry */
static void kp_ft_where(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_ft_target);
	struct kp_probe *by_name = kp_new_named(test, "kp_ft_target", 0);
	unsigned long entry = (unsigned long)kp_ft_target;
	struct kp_probe *inside;
	int i;

	/*
	 * Hide that @entry is constant: objtool would reject code with an address after an ENDBR.
	 */
	OPTIMIZER_HIDE_VAR(entry);
	if (is_endbr(*(u32 *)entry))
		entry += ENDBR_INSN_SIZE;

	KUNIT_EXPECT_EQ(test, (unsigned long)probe->kp.addr, entry);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&probe->kp));
	KUNIT_EXPECT_TRUE(test, probe->kp.flags & KPROBE_FLAG_ON_FUNC_ENTRY);
	KUNIT_EXPECT_FALSE(test, kp_ft_is_nop(probe));

	KUNIT_ASSERT_EQ(test, kp_register(test, by_name), 0);
	KUNIT_EXPECT_PTR_EQ(test, by_name->kp.addr, probe->kp.addr);
	KUNIT_EXPECT_TRUE(test, kprobe_ftrace(&by_name->kp));

	kp_expect_call(test, probe, kp_ft_target, 1);
	kp_expect_hits(test, by_name, 1);

	/* No instruction begins inside the call, or inside the nop that it replaced. */
	for (i = 1; i < MCOUNT_INSN_SIZE; i++) {
		inside = kp_new(test, (void *)entry + i);
		KUNIT_EXPECT_EQ_MSG(test, kp_register(test, inside), -EILSEQ, "+%d", i);
		KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&inside->kp));
	}
	/* A probe on the next instruction is hit by a breakpoint, not through ftrace. */
	inside = kp_registered(test, (void *)entry + MCOUNT_INSN_SIZE);
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&inside->kp));
	kp_expect_call(test, inside, kp_ft_target, 1);
	kp_expect_hits(test, probe, 2);

	kp_unregister(test, probe);
	/*
	 * Unregistering keeps KPROBE_FLAG_FTRACE, since handlers may still read it. The next
	 * registration must clear it.
	 */
	probe->kp.addr = inside->kp.addr;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&probe->kp));
	kp_unregister(test, probe);
	probe->kp.addr = by_name->kp.addr;
	kp_unregister(test, by_name);
	KUNIT_EXPECT_EQ(test, kp_ft_is_nop(probe), !kp_ft_crowd);
	KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre + by_name->pre, 4);
}

/* Handlers must get the same registers as after a breakpoint at the same address. */
static void kp_ft_regs(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ft_target);
	unsigned long addr;

	probe->kp.post_handler = kp_ft_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	addr = (unsigned long)probe->kp.addr;
	KUNIT_EXPECT_EQ(test, kp_ft_caller(0x1234), 0x1235);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);
	KUNIT_EXPECT_EQ(test, probe->post, 1);
	KUNIT_EXPECT_EQ(test, probe->pre_regs.ip, addr + 1);
	KUNIT_EXPECT_EQ(test, kp_arg1(&probe->pre_regs), 0x1234);
	KUNIT_EXPECT_EQ(test, probe->pre_regs.orig_ax, -1UL);
	KUNIT_EXPECT_EQ(test, probe->pre_regs.cs, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, probe->pre_regs.ss, __KERNEL_DS);
#ifdef CONFIG_X86_64
	/* Handlers may read the whole words of cs and ss, so the upper bits must be 0. */
	KUNIT_EXPECT_EQ(test, probe->pre_regs.csx, __KERNEL_CS);
	KUNIT_EXPECT_EQ(test, probe->pre_regs.ssx, __KERNEL_DS);
#endif
	KUNIT_EXPECT_TRUE(test, probe->pre_regs.flags & X86_EFLAGS_IF);
	KUNIT_EXPECT_GT(test, probe->pre_return, (unsigned long)kp_ft_caller);
	KUNIT_EXPECT_LT(test, probe->pre_return, (unsigned long)kp_ft_caller + 64);
	KUNIT_EXPECT_EQ(test, probe->post_ip, addr + MCOUNT_INSN_SIZE);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
}

static int kp_ft_set_argument(struct kprobe *kp, struct pt_regs *regs)
{
	kp_of(kp)->pre++;
	kp_arg1(regs) += 10;
	return 0;
}

static int kp_ft_divert(struct kprobe *kp, struct pt_regs *regs)
{
	kp_of(kp)->pre++;
	regs->ip = (unsigned long)kp_ft_elsewhere;
	return 1;
}

static int kp_ft_return(struct kprobe *kp, struct pt_regs *regs)
{
	kp_of(kp)->pre++;
	regs->ax = 4711;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(unsigned long);
	return 1;
}

/* Push the resume address, and redirect to a function that returns there. */
static int kp_ft_call_first(struct kprobe *kp, struct pt_regs *regs)
{
	kp_of(kp)->pre++;
	regs->sp -= sizeof(unsigned long);
	*(unsigned long *)regs->sp = (unsigned long)kp->addr + MCOUNT_INSN_SIZE;
	regs->ip = (unsigned long)kp_ft_add_thousand;
	return 1;
}

static void kp_ft_post_divert(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_of(kp)->post++;
	regs->ip = (unsigned long)kp_ft_elsewhere;
}

/*
 * After a redirection by a pre_handler, handlers of older probes at the address must not be called.
 */
static void kp_ft_diversions(struct kunit *test)
{
	static const struct {
		kprobe_pre_handler_t pre;
		kprobe_post_handler_t post;
		long result;
		bool older_called;
	} diversions[] = {
		{ kp_ft_set_argument, NULL, 12, true },
		{ kp_ft_divert, NULL, 101, false },
		{ kp_ft_return, NULL, 4711, false },
		{ kp_ft_call_first, NULL, 1002, false },
		{ NULL, kp_ft_post_divert, 101, true },
	};
	struct kp_probe *older = kp_new(test, kp_ft_target);
	struct kp_probe *probe = kp_new(test, kp_ft_target);
	int i, calls = 0;

	older->kp.post_handler = kp_ft_post;
	KUNIT_ASSERT_EQ(test, kp_register(test, older), 0);
	for (i = 0; i < ARRAY_SIZE(diversions); i++) {
		probe->kp.pre_handler = diversions[i].pre;
		probe->kp.post_handler = diversions[i].post;
		probe->pre = 0;
		probe->post = 0;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_ft_caller(1), diversions[i].result);
		KUNIT_EXPECT_EQ(test, probe->pre + probe->post, 1);
		calls += diversions[i].older_called;
		KUNIT_EXPECT_EQ(test, older->pre, calls);
		KUNIT_EXPECT_EQ(test, older->post, calls);
		kp_unregister(test, probe);
	}
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 2);
}

/* Handlers may use RCU even where RCU does not watch the probed function. */
static void kp_ft_rcu_idle(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_ft_target);
	bool idle;
	int i;

	if (kp_ft_crowd)
		kunit_skip(test, "ftrace's list is for where RCU watches");
	for (i = 1; i <= 3; i++) {
		local_irq_disable();
		ct_idle_enter();
		idle = !rcu_is_watching();
		kp_ft_target(1);
		idle &= !rcu_is_watching();
		ct_idle_exit();
		local_irq_enable();
		KUNIT_EXPECT_TRUE(test, idle);
		KUNIT_EXPECT_EQ(test, probe->pre, i);
		KUNIT_EXPECT_TRUE(test, probe->rcu_watching);
	}
}

static struct kp_trace kp_trace[3];

static unsigned int (*kp_ft_save_regs)(struct pt_regs *regs, unsigned long *store,
				       unsigned int size, unsigned int skip);

static __nocfi int kp_ft_trace_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_save(&kp_trace[0]);
	kp_trace[1].nr = kp_ft_save_regs(regs, kp_trace[1].entry, KP_DEPTH, 0);
	return 0;
}

KP_POST_HANDLER(, kp_ft_trace_post, kp_save(&kp_trace[2]))

static void kp_ft_stacks(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ft_target);
	const struct kp_trace *trace;
	unsigned int at;

	kp_ft_save_regs = kp_function(test, "stack_trace_save_regs");
	probe->kp.pre_handler = kp_ft_trace_pre;
	probe->kp.post_handler = kp_ft_trace_post;
	memset(kp_trace, 0, sizeof(kp_trace));
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 2);
	for (trace = kp_trace; trace < kp_trace + ARRAY_SIZE(kp_trace); trace++) {
		at = kp_trace_find(trace, 0, kp_ft_target, 16);
		KUNIT_EXPECT_LT(test, at + 2, trace->nr);
		KUNIT_EXPECT_EQ(test, kp_trace_find(trace, at, kp_ft_caller, 32), at + 1);
		KUNIT_EXPECT_EQ(test, kp_trace_find(trace, at + 2, kp_ft_stacks, 4096), at + 2);
		if (test->status == KUNIT_FAILURE)
			kp_show(test, "trace", trace);
	}
	/* A trace from registers begins with the ip, one byte past the probed address. */
	KUNIT_EXPECT_EQ(test, kp_trace[1].entry[0], (unsigned long)probe->kp.addr + 1);
}

static unsigned long kp_ft_crowd_calls;

static void notrace kp_ft_crowd_func(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	kp_ft_crowd_calls++;
}

static struct ftrace_ops kp_ft_crowd_ops = { .func = kp_ft_crowd_func };

static int kp_ft_suite_init(struct kunit_suite *suite)
{
	char filter[] = "kp_ft_*";
	int ret;

	if (!kp_ft_crowd)
		return 0;
	ret = ftrace_set_filter(&kp_ft_crowd_ops, filter, strlen(filter), 1);
	return ret ?: register_ftrace_function(&kp_ft_crowd_ops);
}

static void kp_ft_suite_exit(struct kunit_suite *suite)
{
	if (kp_ft_crowd)
		unregister_ftrace_function(&kp_ft_crowd_ops);
	ftrace_free_filter(&kp_ft_crowd_ops);
	ftrace_free_filter(&kp_ft_rival);
}

/* Was the second function attached for crowd=1, and only then? */
static void kp_ft_crowd_is_there(struct kunit *test)
{
	unsigned long before = kp_ft_crowd_calls;

	KUNIT_EXPECT_EQ(test, kp_ft_target(1), 2);
	KUNIT_EXPECT_EQ(test, kp_ft_crowd_calls - before, kp_ft_crowd ? 1 : 0);
}

static struct kunit_case kp_ft_cases[] = {
	KUNIT_CASE(kp_ft_crowd_is_there),
	KUNIT_CASE(kp_ft_where),
	KUNIT_CASE(kp_ft_regs),
	KUNIT_CASE(kp_ft_diversions),
	KUNIT_CASE(kp_ft_patched_before),
	KUNIT_CASE(kp_ft_orders),
	KUNIT_CASE(kp_ft_batch),
	KUNIT_CASE(kp_ft_batch_refused),
	KUNIT_CASE(kp_ft_late_post),
	KUNIT_CASE(kp_ft_rcu_idle),
	KUNIT_CASE(kp_ft_stacks),
	KUNIT_CASE(kp_ft_return_orders),
	KUNIT_CASE(kp_ft_return_alone),
	KUNIT_CASE(kp_ft_dead),
	{}
};

KP_ONLY_SUITE(kp_ft, "kprobes_ftrace", "KUnit suite for kprobes by way of ftrace",
	      .suite_init = kp_ft_suite_init, .suite_exit = kp_ft_suite_exit);
