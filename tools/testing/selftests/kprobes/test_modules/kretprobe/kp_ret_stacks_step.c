// SPDX-License-Identifier: GPL-2.0
/*
 * Checks stack traces at each instruction from the entry of a return-probed function until it has
 * returned, also in slots, trampolines and handlers, but not in exceptions. To do so, the CPU
 * single-steps, and the handler of the debug exception takes the traces.
 */

#include <asm/asm.h>
#include <asm/debugreg.h>
#include <asm/processor-flags.h>
#include "kp_ret_stacks.h"

KP_MODULE_PARAM(bool, clobber, true,
		"step over stacks as interrupts leave them: what is below is overwritten");

/* Number of wrong traces that are printed */
#define KP_WRONG	8

static struct {
	struct task_struct *task;	/* the task that is stepped, or NULL */
	bool inside;			/* between entry and return */
	unsigned long top;		/* stack pointer at a redirected hit; 0 before it */
	unsigned long sp;		/* new sp from a handler; 0 once the CPU has loaded it */
	const struct kp_trace *reference;	/* NULL while the reference is being made */
	unsigned int callers;
	void *entry;			/* the function's entry */
	unsigned long back;		/* the function's return address */
	unsigned int steps, looks, thunks, wrong, wrong_regs, nr_shown;
	struct kp_trace now;
	char name[KSYM_SYMBOL_LEN];
	struct kp_trace shown[KP_WRONG];
} kp_step;

static bool __kprobes kp_rs_is_in(unsigned long addr, void *function, unsigned long size)
{
	return addr - (unsigned long)function < size;
}

/* While the function has no frame of its own, an unwinder with frame pointers misses the caller. */
static unsigned int kp_rs_step_callers(void)
{
	return kp_step.callers - !IS_ENABLED(CONFIG_UNWINDER_ORC);
}

NOKPROBE_SYMBOL(kp_rs_step_callers);

static void __kprobes kp_rs_step_look(unsigned int *wrong)
{
	if (kp_rs_same_end(&kp_step.now, kp_step.reference, kp_rs_step_callers()))
		return;
	if (kp_step.nr_shown < KP_WRONG)
		kp_step.shown[kp_step.nr_shown++] = kp_step.now;
	(*wrong)++;
}

/*
 * Overwrite bytes below the stack pointer, as an interrupt may: no trace may depend on them. On
 * 32-bit x86 that is not needed, as the frames of the debug exception are there anyway.
 */
static void __kprobes kp_rs_step_clobber(unsigned long sp)
{
	unsigned long bytes = 256, to = sp - bytes;

	if (!IS_ENABLED(CONFIG_X86_64))
		return;
	asm volatile("rep stosb" : "+D" (to), "+c" (bytes) : "a" (0x5a) : "memory");
}

static int __kprobes kp_rs_step(struct notifier_block *nb, unsigned long event, void *data)
{
	struct die_args *args = data;
	struct pt_regs *regs = args->regs;

	if (event != DIE_DEBUG || user_mode(regs) || READ_ONCE(kp_step.task) != current)
		return NOTIFY_DONE;
	/* Clear the reason for the exception: it is handled. */
	*(unsigned long *)args->err &= ~DR_STEP;
	if (kp_rs_is_in(regs->ip, kp_step.entry, 16))
		kp_step.inside = true;
	/*
	 * After a redirection by iret, the CPU executes one instruction before the trap, so the
	 * trap need not be at @back: compare the stack pointer, too.
	 */
	if (regs->ip == kp_step.back || (kp_step.top && regs->sp > kp_step.top))
		kp_step.inside = false;
	if (!kp_step.inside || !kp_step.reference)
		return NOTIFY_STOP;

	kp_step.steps++;
	/*
	 * Take no traces in thunks of indirect calls: unwinders stop there. The name of an alias of
	 * a thunk begins with __pi_, so search in the name.
	 */
	if (strstr(kp_rs_name(regs->ip, kp_step.name), "__x86_indirect_")) {
		kp_step.thunks++;
		return NOTIFY_STOP;
	}
	if (clobber)
		kp_rs_step_clobber(regs->sp);
	/* This handler sets regs->ip before regs->sp: skip the steps in between. */
	if (strstr(kp_step.name, "kp_rs_redirect_pre"))
		return NOTIFY_STOP;
	/*
	 * The new stack pointer is inside the trampoline's frame. Take no traces until the
	 * trampoline has moved its frame.
	 */
	if (kp_step.sp && strstr(kp_step.name, "kprobe_trampoline_popf") &&
	    regs->sp == kp_step.sp - 2 * sizeof(*regs))
		kp_step.sp = 0;
	if (kp_step.sp)
		return NOTIFY_STOP;
	kp_step.looks++;
	/* Unwind from here, then from the registers that the exception has saved. */
	kp_save(&kp_step.now);
	kp_rs_step_look(&kp_step.wrong);
	kp_save_regs(&kp_step.now, regs);
	kp_rs_step_look(&kp_step.wrong_regs);
	return NOTIFY_STOP;
}

static struct notifier_block kp_rs_step_nb = { .notifier_call = kp_rs_step, .priority = INT_MAX };

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

KP_RETURN_HANDLER(, kp_rs_step_return, kp_rs_step_returns++)

static int kp_rs_step_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return 0;
}

#define KP_PROBES	3
static struct kretprobe kp_rs_step_rps[KP_PROBES];

static void kp_rs_step_unset(struct kunit *test)
{
	int i;

	for (i = 0; i < KP_PROBES; i++)
		kp_kretprobe_del(test, &kp_rs_step_rps[i]);
}

/*
 * Handlers run in reverse order. The probe registered first also has an entry_handler; but a probe
 * that is alone at an entry with ftrace's call has none, since x86 then uses a faster trampoline.
 * @silent: no return handlers
 */
static void kp_rs_step_set(struct kunit *test, void *entry, int nr, bool silent)
{
	int i;

	for (i = 0; i < nr; i++) {
		kp_rs_step_rps[i] = (struct kretprobe){
			.kp.addr = entry, .handler = silent ? NULL : kp_rs_step_return,
		};
		if (!i && (nr > 1 || entry == kp_rs_probed_untraced))
			kp_rs_step_rps[i].entry_handler = kp_rs_step_entry;
		kp_kretprobe_add(test, &kp_rs_step_rps[i]);
	}
	kp_rs_settle(&kp_rs_step_rps[0].kp);
}

/*
 * Single-step through a call. If @reference has no entries, there are no probes yet, and a trace is
 * saved there; otherwise traces are compared with it. Return: the result of kp_rs_loop().
 */
static noinline long kp_rs_step_call(struct kunit *test, void *entry, struct kp_trace *reference)
{
	bool compare = reference->nr;
	unsigned long flags;
	long ret;

	memset(&kp_step, 0, offsetof(typeof(kp_step), now));
	kp_step.entry = entry;
	if (compare) {
		kp_step.reference = reference;
		kp_step.callers = kp_rs_callers(test);
		kp_step.back = reference->entry[reference->nr - kp_step.callers];
	}
	kp_rs_save = !compare;
	kp_rs_untraced = entry == kp_rs_probed_untraced;
	local_irq_save(flags);
	WRITE_ONCE(kp_step.task, current);
	kp_rs_set_tf();
	ret = kp_rs_loop(1);
	kp_rs_clear_tf();
	WRITE_ONCE(kp_step.task, NULL);
	local_irq_restore(flags);
	kp_rs_save = false;
	kp_rs_untraced = false;
	if (!compare)
		*reference = kp_rs_callee;
	return ret;
}

/* Return: a trace without entries. */
static struct kp_trace *kp_rs_step_begin(struct kunit *test)
{
	kp_die_notifier_add(test, &kp_rs_step_nb);
	return kp_zalloc(test, sizeof(struct kp_trace));
}

/* Expect that no trace was wrong. */
static void kp_rs_step_expect(struct kunit *test, const char *what,
			      const struct kp_trace *reference)
{
	unsigned int i;

	kunit_info(test, "%s: %u steps, %u in thunks, %u looked at; stacks wrong: %u, by registers %u\n",
		   what, kp_step.steps, kp_step.thunks, kp_step.looks, kp_step.wrong,
		   kp_step.wrong_regs);
	KUNIT_EXPECT_EQ_MSG(test, kp_step.wrong + kp_step.wrong_regs, 0, "%s", what);
	for (i = 0; i < kp_step.nr_shown; i++)
		kp_show(test, "step", &kp_step.shown[i]);
	if (kp_step.nr_shown)
		kp_show(test, "without", reference);
}

/*
 * Round -1 saves the reference trace. Round 0 has no return probe, each following round has one
 * more, and the last round has a single return probe without a handler.
 */
static void kp_rs_step_rounds(struct kunit *test, void *entry)
{
	static const char *const rounds[KP_PROBES + 2] = {
		"no return probe", "1 return probe", "2 return probes", "3 return probes",
		"1 without a handler",
	};
	struct kp_trace *reference = kp_rs_step_begin(test);
	unsigned int without = 0;
	int round;

	for (round = -1; round <= KP_PROBES + 1; round++) {
		bool silent = round > KP_PROBES;

		if (round > 0)
			kp_rs_step_set(test, entry, silent ? 1 : round, silent);
		kp_rs_step_returns = 0;
		/* Prevent unrolling: return addresses must be the same in all rounds. */
		OPTIMIZER_HIDE_VAR(round);
		KUNIT_EXPECT_EQ(test, kp_rs_step_call(test, entry, reference), 2);
		if (round < 0)
			continue;
		kp_rs_step_expect(test, rounds[round], reference);
		KUNIT_EXPECT_EQ(test, kp_rs_step_returns, silent ? 0 : round);
		/*
		 * With return probes a call takes more steps than without. A further return probe
		 * need not add any: the first may have taken more to find an instance, if the
		 * CPU's cache was empty.
		 */
		KUNIT_EXPECT_GT(test, kp_step.steps, without);
		if (!round)
			without = kp_step.steps;
		kp_rs_step_unset(test);
	}
}

KP_CASE(kp_rs_step_every, kp_rs_step_rounds(test, kp_rs_probed_untraced))
KP_CASE(kp_rs_step_every_entry, kp_rs_step_rounds(test, kp_rs_probed))

/*
 * Cases whose handlers redirect execution, and may also change the stack pointer; and cases whose
 * handlers change a flag that only popf can load
 */

static const struct kp_rs_redirect {
	const char *what;
	kp_rs_drop *to;			/* NULL: the caller */
	unsigned int words;		/* pushed by the handler, dropped by @to */
	unsigned long flags;		/* to change */
	bool redirect;
} kp_rs_redirects[] = {
	{ "flags", NULL, 0, X86_EFLAGS_ID, false },
	{ "the same", kp_rs_drop_0, 0, 0, true },
	{ "return", NULL, 0, 0, true },
	{ "return and flags", NULL, 0, X86_EFLAGS_ID, true },
	{ "a word more", kp_rs_drop_1, 1, 0, true },
	{ "2 words more", kp_rs_drop_2, 2, 0, true },
	{ "5 words more", kp_rs_drop_5, 5, 0, true },
	/* 6 words fill the gap between the stack and the trampoline's registers. */
	{ "6 words more", kp_rs_drop_6, 6, 0, true },
	/* More words would overwrite the trampoline's registers: handlers cannot set so many. */
	{ "7 words more", kp_rs_drop_7, 7, 0, true },
	{ "16 words more", kp_rs_drop_16, 16, 0, true },
	{ "28 words more", kp_rs_drop_28, 28, 0, true },
	{ "60 words more", kp_rs_drop_60, 60, 0, true },
	{ "200 words more", kp_rs_drop_200, 200, 0, true },
};

static const struct kp_rs_redirect *kp_rs_redirect;
static unsigned int kp_rs_redirect_hits;

static int __kprobes kp_rs_redirect_pre(struct kprobe *kp, struct pt_regs *regs)
{
	const struct kp_rs_redirect *r = kp_rs_redirect;
	unsigned long *sp = (unsigned long *)regs->sp;
	unsigned int i;

	kp_rs_redirect_hits++;
	kp_step.top = regs->sp;
	regs->flags ^= r->flags;
	if (!r->redirect)
		return 0;
	if (r->to) {
		for (i = 0; i < r->words && i < KP_GAP; i++)
			*--sp = KP_RS_WORD + i;
		sp = (unsigned long *)regs->sp - r->words;
		regs->ip = (unsigned long)r->to;
		if (r->words > KP_GAP)
			kp_step.sp = (unsigned long)sp;
	} else {
		regs->ax = 2;
		regs->ip = *sp++;
	}
	regs->sp = (unsigned long)sp;
	return 1;
}

static struct kprobe kp_rs_redirect_kp;

static void kp_rs_redirect_set(struct kunit *test, void *entry)
{
	kp_rs_redirect_kp = (struct kprobe){ .addr = entry, .pre_handler = kp_rs_redirect_pre };
	kp_kprobe_add(test, &kp_rs_redirect_kp);
	kp_rs_settle(&kp_rs_redirect_kp);
}

/* Redirect at an entry with ftrace's call, or (@untraced) at one without. */
static void kp_rs_step_redirect(struct kunit *test, bool untraced)
{
	void *entry = untraced ? kp_rs_probed_untraced : kp_rs_probed;
	struct kp_trace *reference = kp_rs_step_begin(test);
	int i;

	for (i = -1; i < (int)ARRAY_SIZE(kp_rs_redirects); i++) {
		if (!i)
			kp_rs_redirect_set(test, entry);
		if (i >= 0)
			kp_rs_redirect = &kp_rs_redirects[i];
		kp_rs_redirect_hits = 0;
		OPTIMIZER_HIDE_VAR(i);
		KUNIT_EXPECT_EQ(test, kp_rs_step_call(test, entry, reference), 2);
		if (i < 0)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, kp_rs_redirect_hits, 1, "%s", kp_rs_redirect->what);
		kp_rs_step_expect(test, kp_rs_redirect->what, reference);
	}
}

KP_CASE(kp_rs_step_redirects, kp_rs_step_redirect(test, true))
KP_CASE(kp_rs_step_redirects_entry, kp_rs_step_redirect(test, false))

static struct kunit_case kp_rs_step_cases[] = {
	KUNIT_CASE_SLOW(kp_rs_step_every),
	KUNIT_CASE_SLOW(kp_rs_step_every_entry),
	KUNIT_CASE_SLOW(kp_rs_step_redirects),
	KUNIT_CASE_SLOW(kp_rs_step_redirects_entry),
	{}
};

KP_SUITE(kp_rs_step, "kretprobes_step");
