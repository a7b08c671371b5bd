// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: what an exception of a copy leaves behind, above all of one that is stepped;
 * watchpoints that a copy hits; machine checks; and breakpoints that have just been removed.
 */

#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <linux/hw_breakpoint.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <asm/mce.h>
#include "kp_faults.h"
#include "kp_opt.h"
#include "kp_symbol.h"

/* Nothing is mapped in the last page. */
#define KP_BAD		((const void *)-4096L)

static const long kp_good = 0x600d;

static struct {
	int pre;
	int post;
	int fault;
	/* Hits of the probe in xa_load(), and those while a handler runs on this CPU. */
	int loads;
	int nested;
	struct task_struct *in_handler;
} kp_seen;

KUNIT_DEFINE_ACTION_WRAPPER(kp_unregister, unregister_kprobe, struct kprobe *);

static void kp_register(struct kunit *test, struct kprobe *kp)
{
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, kp), 0);
	if (kp_faults_opt)
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
}

static struct kprobe *kp_new(struct kunit *test, void *addr)
{
	struct kprobe *kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, kp);
	kp->addr = addr;
	memset(&kp_seen, 0, sizeof(kp_seen));
	return kp;
}

/*
 * A handler makes a hit of an instruction that faults. What looks up whose copy that is, is
 * in the handler's context still, and so are the hits that it makes.
 */

static int kp_fault_in_handler(struct kprobe *kp, struct pt_regs *regs)
{
	kp_seen.pre++;
	WRITE_ONCE(kp_seen.in_handler, current);
	kp_kernel_load(KP_BAD);
	WRITE_ONCE(kp_seen.in_handler, NULL);
	return 0;
}

NOKPROBE_SYMBOL(kp_fault_in_handler);

static int kp_count_load(struct kprobe *kp, struct pt_regs *regs)
{
	kp_seen.loads++;
	if (READ_ONCE(kp_seen.in_handler) == current)
		kp_seen.nested++;
	return 0;
}

NOKPROBE_SYMBOL(kp_count_load);

static void kp_steps_nested(struct kunit *test)
{
	struct kprobe *outer = kp_new(test, (void *)kp_plain + kp_plain_insn);
	struct kprobe *faulting = kp_new(test, (void *)kp_kernel_load + kp_kernel_load_insn);
	struct kprobe *load = kp_new(test, NULL);

	outer->pre_handler = kp_fault_in_handler;
	load->symbol_name = "xa_load";
	load->pre_handler = kp_count_load;
	kp_register(test, faulting);
	kp_register(test, outer);
	kp_register(test, load);
	KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
	KUNIT_EXPECT_EQ(test, kp_seen.pre, 1);
	KUNIT_EXPECT_EQ(test, faulting->nmissed, 1);
	KUNIT_EXPECT_EQ(test, kp_seen.nested, 0);
	/* Outside of a handler it is a hit like any other, or this has shown nothing. */
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_GE(test, kp_seen.loads, 1);
}

/* The same copy is run again when its exception has been repaired. */

static int kp_repair(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	kp_seen.fault++;
	*kp_first_arg(regs) = (unsigned long)&kp_good;
	return 1;
}

NOKPROBE_SYMBOL(kp_repair);

static void kp_steps_irq_state(struct kunit *test)
{
	struct kprobe *kp = kp_new(test, (void *)kp_kernel_load + kp_kernel_load_insn);
	bool enabled;
	long got;
	int i;

	kp->fault_handler = kp_repair;
	kp_register(test, kp);
	for (i = 0; i < 10; i++) {
		preempt_disable();
		got = kp_kernel_load(KP_BAD);
		/* Anything that switches them off and on would make up for it. */
		enabled = lockdep_hardirqs_enabled();
		preempt_enable();
		KUNIT_EXPECT_EQ(test, got, kp_good);
		if (IS_ENABLED(CONFIG_PROVE_LOCKING))
			KUNIT_EXPECT_TRUE(test, enabled);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
	}
	KUNIT_EXPECT_EQ(test, kp_seen.fault, 10);
	if (!IS_ENABLED(CONFIG_PROVE_LOCKING))
		kunit_skip(test, "without lockdep there is no state of interrupts to be wrong");
}

/*
 * Watchpoints.
 */

static struct {
	long word;
	unsigned long ip;
	int hits;
} kp_watched;

static void kp_watch_handler(struct perf_event *event, struct perf_sample_data *data,
			     struct pt_regs *regs)
{
	kp_watched.hits++;
	kp_watched.ip = instruction_pointer(regs);
}

static void kp_unwatch(void *event)
{
	unregister_wide_hw_breakpoint((struct perf_event * __percpu *)event);
}

static int kp_watch_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_seen.pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_watch_pre);

static void kp_watch_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_seen.post++;
}

NOKPROBE_SYMBOL(kp_watch_post);

static int kp_watch_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	kp_seen.fault++;
	return 0;
}

NOKPROBE_SYMBOL(kp_watch_fault);

static void kp_steps_watchpoint(struct kunit *test)
{
	unsigned long next = (unsigned long)kp_watched_store + kp_watched_store_insn[1];
	struct perf_event * __percpu *event;
	struct perf_event_attr attr;
	struct kprobe *kp;
	int mode;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&kp_watched.word;
	attr.bp_len = sizeof(kp_watched.word);
	attr.bp_type = HW_BREAKPOINT_W;
	event = register_wide_hw_breakpoint(&attr, kp_watch_handler, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR((void __force *)event));
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, kp_unwatch, (void __force *)event));

	/* Bare; with a pre_handler; with all three. */
	for (mode = 0; mode < 3; mode++) {
		kp = kp_new(test, (void *)kp_watched_store + kp_watched_store_insn[0]);
		kp->pre_handler = kp_watch_pre;
		if (mode == 2) {
			kp->post_handler = kp_watch_post;
			kp->fault_handler = kp_watch_fault;
		}
		if (mode)
			kp_register(test, kp);
		kp_watched.hits = 0;
		kp_watched.ip = 0;
		kp_watched_store(&kp_watched.word, mode + 1);
		KUNIT_EXPECT_EQ(test, kp_watched.word, mode + 1);
		KUNIT_EXPECT_EQ(test, kp_watched.hits, 1);
		KUNIT_EXPECT_EQ_MSG(test, kp_watched.ip, next, "%pS instead of %pS",
				    (void *)kp_watched.ip, (void *)next);
		KUNIT_EXPECT_EQ(test, kp_seen.pre, mode ? 1 : 0);
		KUNIT_EXPECT_EQ(test, kp_seen.post, mode == 2 ? 1 : 0);
		/* It is no fault. */
		KUNIT_EXPECT_EQ(test, kp_seen.fault, 0);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		if (mode)
			kunit_release_action(test, kp_unregister, kp);
	}
}

/* Offsets of two instructions: a nop that a jump may replace, and a load that it covers. */
extern const u8 kp_mce_insn[2];

static noinline __noclone notrace int kp_mce_load(const int *from)
{
	int value;

	asm volatile("0:	nop; nop\n"
		     "1:	movl (%1), %0\n"
		     "	.rept 8; nop; .endr\n"
		     "	.pushsection .rodata\n"
		     "kp_mce_insn:\n"
		     "	.byte 0b - kp_mce_load, 1b - kp_mce_load\n"
		     "	.popsection" : "=a" (value) : "D" (from) : "memory");
	return value;
}

/*
 * A machine check at an instruction that reads user memory can be recovered from. The kernel
 * decodes the instruction, at the address that exceptions of copies are shown at. There is no
 * machine check to be had, so this calls the function that decodes.
 */
static __nocfi void kp_steps_machine_check(struct kunit *test)
{
	int (*context)(struct mce *m, struct pt_regs *regs) = kp_find_function("error_context");
	const int number = 23;
	unsigned long flags;
	struct kprobe *kp;
	int mode;

	if (!context || !IS_ENABLED(CONFIG_X86_MCE))
		kunit_skip(test, "no machine checks");
	/* Bare; the load has the probe; an instruction before it, whose jump may cover the load. */
	for (mode = 0; mode < 3; mode++) {
		struct pt_regs regs = { .cs = __KERNEL_CS, .flags = X86_EFLAGS_IF };
		struct mce m = {
			.mcgstatus = MCG_STATUS_RIPV | MCG_STATUS_EIPV,
			.cs = __KERNEL_CS,
		};

		kp = kp_new(test, (void *)kp_mce_load + kp_mce_insn[mode == 1]);
		if (mode)
			kp_register(test, kp);
		regs.ip = (unsigned long)kp_mce_load + kp_mce_insn[1];
		regs.di = PAGE_SIZE;
#ifdef CONFIG_X86_32
		regs.ds = __USER_DS;
#endif
		m.ip = regs.ip;
		local_irq_save(flags);
		context(&m, &regs);
		local_irq_restore(flags);
		KUNIT_EXPECT_TRUE_MSG(test, m.kflags & MCE_IN_KERNEL_COPYIN, "mode %d", mode);

		/* A load of the kernel's memory is another matter. */
		m.kflags = 0;
		regs.di = (unsigned long)&number;
		local_irq_save(flags);
		context(&m, &regs);
		local_irq_restore(flags);
		KUNIT_EXPECT_FALSE_MSG(test, m.kflags & MCE_IN_KERNEL_COPYIN, "mode %d", mode);
		KUNIT_EXPECT_EQ(test, kp_mce_load(&number), number);
		if (mode)
			kunit_release_action(test, kp_unregister, kp);
	}
}

/*
 * A CPU that text_poke_sync() does not reach executes a breakpoint that has been removed
 * when it looks for its probepoint. There is no such CPU to be had here; this is what it
 * does then.
 */
static void kp_steps_gone_int3(struct kunit *test)
{
	unsigned long plain = (unsigned long)kp_plain + kp_plain_insn;
	unsigned long foreign = (unsigned long)kp_foreign_int3 + kp_foreign_insn[KP_FOREIGN_INT3];
	struct pt_regs regs = { .cs = __KERNEL_CS, .flags = X86_EFLAGS_IF };
	unsigned long flags;
	int ret;

	/* The original is there again: it is executed. */
	regs.ip = plain + INT3_INSN_SIZE;
	local_irq_save(flags);
	ret = kprobe_int3_handler(&regs);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, ret, 1);
	KUNIT_EXPECT_EQ(test, regs.ip, plain);

	/* A breakpoint that stays is for others. */
	regs.ip = foreign + INT3_INSN_SIZE;
	local_irq_save(flags);
	ret = kprobe_int3_handler(&regs);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, regs.ip, foreign + INT3_INSN_SIZE);

	/* User space's are none of ours, wherever they are. */
	regs.cs = __USER_CS;
	regs.ip = plain + INT3_INSN_SIZE;
	local_irq_save(flags);
	ret = kprobe_int3_handler(&regs);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_EQ(test, regs.ip, plain + INT3_INSN_SIZE);
}

static struct kunit_case kp_steps_cases[] = {
	KUNIT_CASE(kp_steps_nested),
	KUNIT_CASE(kp_steps_irq_state),
	KUNIT_CASE(kp_steps_watchpoint),
	KUNIT_CASE(kp_steps_machine_check),
	KUNIT_CASE(kp_steps_gone_int3),
	{}
};

struct kunit_suite kp_steps_suite = {
	.name = "kprobes_fault_steps",
	.test_cases = kp_steps_cases,
};
