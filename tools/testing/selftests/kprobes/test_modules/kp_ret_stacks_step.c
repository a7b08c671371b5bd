// SPDX-License-Identifier: GPL-2.0
/*
 * The stack at every single instruction from the entry of a return-probed function to
 * where it has returned to: slots, trampoline and handlers included, but for what runs
 * within exceptions. The processor steps, and its debug exception looks.
 */

#include <asm/asm.h>
#include <asm/debugreg.h>
#include <asm/processor-flags.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include "kp_ret_stacks.h"

static bool clobber = true;
module_param(clobber, bool, 0400);
MODULE_PARM_DESC(clobber, "step over stacks as interrupts leave them: what is below is overwritten");

/* How many of the wrong ones are shown. */
#define KP_WRONG	8

static struct {
	struct task_struct *task;	/* who is stepping, or NULL */
	bool inside;			/* between entry and return */
	const struct kp_trace *reference;	/* NULL while it is being made */
	unsigned int callers;
	unsigned long back;		/* where the function returns to */
	unsigned int steps;
	unsigned int thunks;
	unsigned int wrong;
	unsigned int wrong_regs;
	unsigned int nr_shown;
	struct kp_trace now;
	char name[KSYM_SYMBOL_LEN];
	struct kp_trace shown[KP_WRONG];
} kp_step;

static bool kp_rs_is_in(unsigned long addr, void *function, unsigned long size)
{
	return addr - (unsigned long)function < size;
}

NOKPROBE_SYMBOL(kp_rs_is_in);

/*
 * With frame pointers a function's caller is only seen when the function has set up its
 * own, and is not there any more when that has gone.
 */
static unsigned int kp_rs_step_callers(void)
{
	return kp_step.callers - !IS_ENABLED(CONFIG_UNWINDER_ORC);
}

NOKPROBE_SYMBOL(kp_rs_step_callers);

static void kp_rs_step_look(unsigned int *wrong)
{
	if (kp_rs_same_end(&kp_step.now, kp_step.reference, kp_rs_step_callers()))
		return;
	if (kp_step.nr_shown < KP_WRONG)
		kp_step.shown[kp_step.nr_shown++] = kp_step.now;
	(*wrong)++;
}

NOKPROBE_SYMBOL(kp_rs_step_look);

/*
 * Overwrite what is below the stack pointer, as an interrupt may. On 64-bit x86 the debug exception
 * has another stack. On 32-bit x86 it has none, and its own frames overwrite what is there.
 */
static void kp_rs_step_clobber(unsigned long sp)
{
	unsigned long bytes = 256, to = sp - bytes;

	if (!IS_ENABLED(CONFIG_X86_64))
		return;
	asm volatile("rep stosb" : "+D" (to), "+c" (bytes) : "a" (0x5a) : "memory");
}

NOKPROBE_SYMBOL(kp_rs_step_clobber);

static int kp_rs_step(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;

	if (event != DIE_DEBUG || user_mode(regs) || READ_ONCE(kp_step.task) != current)
		return NOTIFY_DONE;
	/* Which of the processor's reasons it was: consumed. */
	*(unsigned long *)args->err &= ~DR_STEP;
	if (kp_rs_is_in(regs->ip, kp_rs_probed_untraced, 16))
		kp_step.inside = true;
	if (regs->ip == kp_step.back)
		kp_step.inside = false;
	if (!kp_step.inside || !kp_step.reference)
		return NOTIFY_STOP;

	kp_step.steps++;
	/* Unwinders stop in thunks of indirect calls; an alias's name begins with __pi_. */
	if (strstr(kp_rs_name(regs->ip, kp_step.name), "__x86_indirect_")) {
		kp_step.thunks++;
		return NOTIFY_STOP;
	}
	if (clobber)
		kp_rs_step_clobber(regs->sp);
	/* Unwind from this handler, then from the registers that the exception has saved. */
	kp_save(&kp_step.now);
	kp_rs_step_look(&kp_step.wrong);
	kp_save_regs(&kp_step.now, regs);
	kp_rs_step_look(&kp_step.wrong_regs);
	return NOTIFY_STOP;
}

NOKPROBE_SYMBOL(kp_rs_step);

static struct notifier_block kp_rs_step_nb = {
	.notifier_call = kp_rs_step,
	.priority = INT_MAX,
};

static void kp_rs_step_unregister(void *unused)
{
	unregister_die_notifier(&kp_rs_step_nb);
}

static __always_inline void kp_rs_set_tf(void)
{
	asm volatile("pushf\n\t" __ASM_SIZE(or) " %0, (%%" _ASM_SP ")\n\tpopf"
		     : : "i" (X86_EFLAGS_TF) : "memory", "cc");
}

static __always_inline void kp_rs_clear_tf(void)
{
	asm volatile("pushf\n\t" __ASM_SIZE(and) " %0, (%%" _ASM_SP ")\n\tpopf"
		     : : "i" (~X86_EFLAGS_TF) : "memory", "cc");
}

static unsigned int kp_rs_step_returns;

static int kp_rs_step_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_rs_step_returns++;
	return 0;
}

static int kp_rs_step_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

#define KP_PROBES	3
static struct kretprobe kp_rs_step_rps[KP_PROBES];

static void kp_rs_step_unset(void *unused)
{
	int i;

	kp_rs_untraced = false;
	for (i = 0; i < KP_PROBES; i++) {
		if (kp_rs_step_rps[i].kp.addr)
			unregister_kretprobe(&kp_rs_step_rps[i]);
		kp_rs_step_rps[i].kp.addr = NULL;
	}
}

/* The last one, which is the first to be there, also has an entry handler. */
static int kp_rs_step_set(int nr)
{
	struct kretprobe *rp;
	int i, ret;

	for (i = 0; i < nr; i++) {
		rp = &kp_rs_step_rps[i];
		memset(rp, 0, sizeof(*rp));
		rp->kp.addr = (void *)kp_rs_probed_untraced;
		rp->handler = kp_rs_step_return;
		if (!i)
			rp->entry_handler = kp_rs_step_entry;
		ret = register_kretprobe(rp);
		if (ret) {
			rp->kp.addr = NULL;
			return ret;
		}
	}
	kp_rs_settle(&kp_rs_step_rps[0].kp);
	return 0;
}

static void kp_rs_step_every(struct kunit *test)
{
	struct kp_trace *reference = kunit_kzalloc(test, sizeof(*reference), GFP_KERNEL);
	unsigned int i, without = 0;
	unsigned long flags;
	long ret;
	int nr;

	KUNIT_ASSERT_NOT_NULL(test, reference);
	KUNIT_ASSERT_EQ(test, register_die_notifier(&kp_rs_step_nb), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_rs_step_unregister, NULL), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_rs_step_unset, NULL), 0);
	kp_rs_untraced = true;
	/* To have the reference, then without and with return probes. */
	for (nr = -1; nr <= KP_PROBES; nr++) {
		if (nr > 0)
			KUNIT_ASSERT_EQ(test, kp_rs_step_set(nr), 0);
		memset(&kp_step, 0, offsetof(typeof(kp_step), now));
		if (nr >= 0) {
			kp_step.reference = reference;
			kp_step.callers = kp_rs_callers(test);
			kp_step.back = reference->entry[reference->nr - kp_step.callers];
		}
		kp_rs_save = nr < 0;
		kp_rs_step_returns = 0;

		/* One place for all of them, so nothing here may differ. */
		local_irq_save(flags);
		WRITE_ONCE(kp_step.task, current);
		kp_rs_set_tf();
		ret = kp_rs_loop(1);
		kp_rs_clear_tf();
		WRITE_ONCE(kp_step.task, NULL);
		local_irq_restore(flags);

		KUNIT_EXPECT_EQ(test, ret, 2);
		kp_rs_save = false;
		if (nr < 0) {
			*reference = kp_rs_callee;
			continue;
		}
		kunit_info(test, "%d return probes: %u steps, %u of them in thunks; stacks wrong: %u, by registers %u\n",
			   nr, kp_step.steps, kp_step.thunks, kp_step.wrong, kp_step.wrong_regs);
		KUNIT_EXPECT_EQ(test, kp_rs_step_returns, nr);
		KUNIT_EXPECT_EQ(test, kp_step.wrong, 0);
		KUNIT_EXPECT_EQ(test, kp_step.wrong_regs, 0);
		for (i = 0; i < kp_step.nr_shown; i++)
			kp_rs_show(test, "step", &kp_step.shown[i]);
		if (kp_step.nr_shown)
			kp_rs_show(test, "without", reference);
		/*
		 * Return probes have more instructions stepped than none. Each probe more
		 * need not: the first may find its CPU's own instance taken, and search.
		 */
		KUNIT_EXPECT_GT(test, kp_step.steps, without);
		if (!nr)
			without = kp_step.steps;
		kp_rs_step_unset(NULL);
		kp_rs_untraced = true;
	}
	kp_rs_untraced = false;
}

static struct kunit_case kp_rs_step_cases[] = {
	KUNIT_CASE_SLOW(kp_rs_step_every),
	{}
};

struct kunit_suite kp_rs_step_suite = {
	.name = "kretprobes_step",
	.test_cases = kp_rs_step_cases,
};
