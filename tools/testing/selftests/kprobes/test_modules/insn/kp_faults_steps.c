// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: the state after exceptions in copies of instructions, above all in single-stepped
 * ones; copies that hit a watchpoint; machine checks; and int3s that were just removed.
 */

#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <asm/mce.h>
#include "kp_faults.h"
#include "kp_opt.h"
#include "kp_symbol.h"

static struct {
	/* loads: hits of the probe on xa_load(); nested: hits while a handler of this task runs */
	int loads, nested;
	struct task_struct *in_handler;
} kp_seen;

/*
 * A handler hits an instruction whose copy faults. To handle the fault,
 * kprobes looks up the owner of the slot with xa_load(). The lookup is still
 * in the context of the handler, so it must not hit a probe on xa_load().
 */

static long __kprobes kp_fault_in_handler(void)
{
	WRITE_ONCE(kp_seen.in_handler, current);
	kp_kernel_load(KP_BAD);
	WRITE_ONCE(kp_seen.in_handler, NULL);
	return 0;
}

static int __kprobes kp_count_load(struct kprobe *kp, struct pt_regs *regs)
{
	kp_seen.loads++;
	if (READ_ONCE(kp_seen.in_handler) == current)
		kp_seen.nested++;
	return 0;
}

static void kp_steps_nested(struct kunit *test)
{
	struct kp_probe *outer = kp_new(test, (void *)kp_plain + kp_plain_insn);
	struct kp_probe *faulting = kp_new(test, kp_load_addr());
	struct kp_probe *load = kp_new(test, NULL);

	memset(&kp_seen, 0, sizeof(kp_seen));
	faulting->kp.pre_handler = NULL;
	outer->in_pre = kp_fault_in_handler;
	load->kp.symbol_name = "xa_load";
	load->kp.pre_handler = kp_count_load;
	kp_faults_register(test, faulting);
	kp_faults_register(test, outer);
	kp_faults_register(test, load);
	KUNIT_EXPECT_EQ(test, kp_plain(1), 2);
	KUNIT_EXPECT_EQ(test, outer->pre, 1);
	KUNIT_EXPECT_EQ(test, faulting->kp.nmissed, 1);
	KUNIT_EXPECT_EQ(test, kp_seen.nested, 0);
	/* Outside of a handler, xa_load() must be hit, or else the case would prove nothing. */
	KUNIT_EXPECT_EQ(test, kp_kernel_load(KP_BAD), -EFAULT);
	KUNIT_EXPECT_GE(test, kp_seen.loads, 1);
}

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

static void kp_steps_watchpoint(struct kunit *test)
{
	unsigned long next = (unsigned long)kp_watched_store + kp_watched_store_insn[1];
	struct perf_event * __percpu *event;
	struct perf_event_attr attr;
	struct kp_probe *probe;
	int mode;

	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&kp_watched.word;
	attr.bp_len = sizeof(kp_watched.word);
	attr.bp_type = HW_BREAKPOINT_W;
	event = register_wide_hw_breakpoint(&attr, kp_watch_handler, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR((void __force *)event));
	kp_at_end(test, kp_unwatch, (void __force *)event);

	/* Mode 0: no probe; 1: a probe with a pre_handler; 2: a probe with all three handlers */
	for (mode = 0; mode < 3; mode++) {
		probe = kp_new(test, (void *)kp_watched_store + kp_watched_store_insn[0]);
		if (mode == 2) {
			probe->kp.post_handler = kp_count_post;
			kp_set_fault_handler(&probe->kp, kp_count_fault);
		}
		if (mode)
			kp_faults_register(test, probe);
		kp_watched.hits = 0;
		kp_watched.ip = 0;
		kp_watched_store(&kp_watched.word, mode + 1);
		KUNIT_EXPECT_EQ(test, kp_watched.word, mode + 1);
		KUNIT_EXPECT_EQ(test, kp_watched.hits, 1);
		KUNIT_EXPECT_EQ_MSG(test, kp_watched.ip, next, "%pS instead of %pS",
				    (void *)kp_watched.ip, (void *)next);
		/* A watchpoint is no fault: the fault_handler must not be called. */
		kp_expect_counts(test, probe, mode != 0, mode == 2, 0);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		if (mode)
			kp_unregister(test, probe);
	}
}

/* Offsets of two instructions: a nop that a jump may replace, and a load that the jump covers */
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
 * The kernel recovers from a machine check if the instruction at the saved ip reads user memory, so
 * it decodes that instruction. If a copy raised the machine check, it must decode the original. The
 * test cannot raise a machine check, so it calls the function that decodes.
 */
static __nocfi void kp_steps_machine_check(struct kunit *test)
{
	int (*context)(struct mce *m, struct pt_regs *regs) = kp_find_function("error_context");
	const int number = 23;
	unsigned long flags;
	struct kp_probe *probe;
	int mode, user;

	if (!context || !IS_ENABLED(CONFIG_X86_MCE))
		kunit_skip(test, "no machine checks");
	/*
	 * Mode 0: no probe; 1: a probe on the load; 2: a probe on the nop, whose jump may overlap
	 * the load
	 */
	for (mode = 0; mode < 3; mode++) {
		struct pt_regs regs = { .cs = __KERNEL_CS, .flags = X86_EFLAGS_IF };
		struct mce m = {
			.mcgstatus = MCG_STATUS_RIPV | MCG_STATUS_EIPV,
			.cs = __KERNEL_CS,
		};

		probe = kp_new(test, (void *)kp_mce_load + kp_mce_insn[mode == 1]);
		if (mode)
			kp_faults_register(test, probe);
		regs.ip = (unsigned long)kp_mce_load + kp_mce_insn[1];
#ifdef CONFIG_X86_32
		regs.ds = __USER_DS;
#endif
		m.ip = regs.ip;
		/* The kernel must not recover from a load of its own memory. */
		for (user = 0; user < 2; user++) {
			m.kflags = 0;
			regs.di = user ? PAGE_SIZE : (unsigned long)&number;
			local_irq_save(flags);
			context(&m, &regs);
			local_irq_restore(flags);
			KUNIT_EXPECT_EQ_MSG(test, !!(m.kflags & MCE_IN_KERNEL_COPYIN), user,
					    "mode %d", mode);
		}
		KUNIT_EXPECT_EQ(test, kp_mce_load(&number), number);
		if (mode)
			kp_unregister(test, probe);
	}
}

/*
 * After a breakpoint was removed, a CPU that text_poke_sync() does not reach may still execute it.
 * Call the handler as such a CPU would.
 */
static void kp_steps_gone_int3(struct kunit *test)
{
	unsigned long foreign = (unsigned long)kp_foreign_int3 +
				kp_foreign_int3_insn[KP_FOREIGN_INT3];
	unsigned long plain = (unsigned long)kp_plain + kp_plain_insn;
	const struct {
		unsigned long int3;
		u16 cs;
		int ret;
	} cases[] = {
		/* The original instruction is back in the text: the CPU must execute it. */
		{ plain, __KERNEL_CS, 1 },
		/* A breakpoint that is in the text, but is not a probe's, belongs to other code. */
		{ foreign, __KERNEL_CS },
		/* Breakpoints of user space never belong to kprobes. */
		{ plain, __USER_CS },
	};
	unsigned long flags;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pt_regs regs = { .cs = cases[i].cs, .flags = X86_EFLAGS_IF };

		regs.ip = cases[i].int3 + INT3_INSN_SIZE;
		local_irq_save(flags);
		ret = kprobe_int3_handler(&regs);
		local_irq_restore(flags);
		KUNIT_EXPECT_EQ(test, ret, cases[i].ret);
		KUNIT_EXPECT_EQ(test, regs.ip, cases[i].int3 + INT3_INSN_SIZE * !ret);
	}
}

static struct kunit_case kp_steps_cases[] = {
	KUNIT_CASE(kp_steps_nested),
	KUNIT_CASE(kp_steps_watchpoint),
	KUNIT_CASE(kp_steps_machine_check),
	KUNIT_CASE(kp_steps_gone_int3),
	{}
};

KP_SUITE(kp_steps, "kprobes_fault_steps");
