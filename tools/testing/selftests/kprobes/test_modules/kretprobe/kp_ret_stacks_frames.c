// SPDX-License-Identifier: GPL-2.0
/*
 * Stack traces from a return-probed function, from its handlers, and from interrupts that arrive
 * during these must have the same frames as without the probe.
 */

#include <linux/hrtimer.h>
#include "kp_ret_stacks.h"
#include "kp_symbol.h"

static struct {
	struct kp_trace entry, entry_regs, ret, ret_regs;
	unsigned int returns;
	bool dump, spin;
} kp;

static int __kprobes kp_rs_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (kp.spin)
		return 0;
	if (kp.dump)
		dump_stack();
	kp_save(&kp.entry);
	kp_save_regs(&kp.entry_regs, regs);
	return 0;
}

static int __kprobes kp_rs_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	int i;

	kp.returns++;
	if (kp.spin) {
		/* Make the handler long, so that interrupts arrive during it. */
		for (i = 0; i < 100; i++)
			cpu_relax();
		return 0;
	}
	if (kp.dump)
		dump_stack();
	kp_save(&kp.ret);
	kp_save_regs(&kp.ret_regs, regs);
	return 0;
}

#define KP_PROBES	3
static struct kretprobe kp_rps[KP_PROBES];
static struct kprobe kp_kprobe;

static void kp_rs_kprobe_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

/* Register @nr return probes, and with @kprobe a kprobe with a post_handler between them. */
static void kp_rs_register(struct kunit *test, int nr, bool kprobe)
{
	void *addr = kp_rs_probed;
	int i;

	memset(&kp, 0, sizeof(kp));
	for (i = 0; i < nr; i++) {
		kp_rps[i] = (struct kretprobe){
			.kp.addr = addr, .entry_handler = kp_rs_entry, .handler = kp_rs_return,
		};
		kp_kretprobe_add(test, &kp_rps[i]);
		if (!kprobe || i)
			continue;
		kp_kprobe = (struct kprobe){ .addr = addr, .post_handler = kp_rs_kprobe_post };
		kp_kprobe_add(test, &kp_kprobe);
	}
	if (nr)
		kp_rs_settle(&kp_rps[0].kp);
}

/* Unregister the probes of the last kp_rs_register(). */
static void kp_rs_unregister(struct kunit *test)
{
	int i;

	for (i = 0; i < KP_PROBES; i++)
		kp_kretprobe_del(test, &kp_rps[i]);
	kp_kprobe_del(test, &kp_kprobe);
}

/* Without probes, with 1 to KP_PROBES return probes, and with a kprobe as well */
static const struct {
	int nr;
	bool kprobe;
} kp_rs_sets[] = { { 0, false }, { 1, false }, { 2, false }, { 3, false }, { 2, true } };

enum kp_where { KP_IN_FUNCTION, KP_IN_ENTRY, KP_IN_RETURN, KP_ENTRY_REGS, KP_RETURN_REGS };

static const char *kp_rs_wrong(struct kunit *test, enum kp_where where,
			       const struct kp_trace *trace, const struct kp_trace *reference,
			       unsigned int callers)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i, nr = where == KP_IN_FUNCTION ? reference->nr : callers;

	if (!kp_rs_same_end(trace, reference, nr))
		return "callers differ";
	switch (where) {
	case KP_IN_FUNCTION:
		return trace->nr == nr ? NULL : "more frames than there were";
	case KP_ENTRY_REGS:
		/*
		 * A trace from the registers at the entry has
		 * one entry for the function, then its callers.
		 */
		if (trace->nr != nr + 1)
			return "more or less than the function before its callers";
		fallthrough;
	case KP_IN_ENTRY:
		if (trace->nr > nr &&
		    !strcmp(kp_rs_name(trace->entry[trace->nr - nr - 1], name), "kp_rs_probed"))
			return NULL;
		return "the function is not shown";
	case KP_RETURN_REGS:
		return trace->nr == nr ? NULL : "something before the callers";
	case KP_IN_RETURN:
		for (i = 0; i < trace->nr; i++)
			if (!strcmp(kp_rs_name(trace->entry[i], name), "kp_rs_probed"))
				return "a function that has returned";
		return NULL;
	}
	return NULL;
}

static const struct kp_rs_trace {
	enum kp_where where;
	const char *what;
	const struct kp_trace *trace;
} kp_rs_traces[] = {
	{ KP_IN_FUNCTION, "function", &kp_rs_callee },
	{ KP_IN_ENTRY, "entry handler", &kp.entry },
	{ KP_IN_RETURN, "return handler", &kp.ret },
	{ KP_ENTRY_REGS, "registers at the entry", &kp.entry_regs },
	{ KP_RETURN_REGS, "registers at the return", &kp.ret_regs },
};

KUNIT_ARRAY_PARAM_DESC(kp_rs_trace, kp_rs_traces, what);

static void kp_rs_frames(struct kunit *test)
{
	struct kp_trace *reference = kp_zalloc(test, sizeof(*reference));
	const struct kp_rs_trace *checked = test->param_value;
	unsigned int callers = 0;
	const char *wrong;
	int i;

	kp_rs_save = true;
	for (i = 0; i < ARRAY_SIZE(kp_rs_sets); i++) {
		kp_rs_register(test, kp_rs_sets[i].nr, kp_rs_sets[i].kprobe);
		/* Prevent unrolling: return addresses must be the same in all rounds. */
		OPTIMIZER_HIDE_VAR(i);
		KUNIT_EXPECT_EQ(test, kp_rs_loop(i), i + 1);
		KUNIT_EXPECT_EQ(test, kp.returns, kp_rs_sets[i].nr);
		kp_rs_unregister(test);
		if (!i) {
			callers = kp_rs_callers(test);
			*reference = kp_rs_callee;
			continue;
		}
		wrong = kp_rs_wrong(test, checked->where, checked->trace, reference, callers);
		if (wrong) {
			KUNIT_FAIL(test, "%s, %d return probes%s: %s", checked->what,
				   kp_rs_sets[i].nr, kp_rs_sets[i].kprobe ? " and a kprobe" : "",
				   wrong);
			kp_show(test, checked->what, checked->trace);
			kp_show(test, "without", reference);
		}
	}
	kp_rs_save = false;
}

/*
 * Call dump_stack() in the function and in the handlers: the script checks the log. The callers
 * have return probes as well.
 */
static void kp_rs_frames_dumps(struct kunit *test)
{
	static struct kretprobe callers[2];

	callers[0] = (struct kretprobe){ .kp.symbol_name = "kp_rs_inner" };
	callers[1] = (struct kretprobe){ .kp.symbol_name = "kp_rs_outer", .maxactive = 1 };
	kp_kretprobe_add(test, &callers[0]);
	kp_kretprobe_add(test, &callers[1]);
	kp_rs_register(test, 1, false);
	kp.dump = true;
	kp_rs_dump = true;
	pr_info("kp_ret_stacks: dumps begin\n");
	KUNIT_EXPECT_EQ(test, kp_rs_loop(1), 2);
	pr_info("kp_ret_stacks: dumps end\n");
	kp_rs_dump = false;
	KUNIT_EXPECT_EQ(test, kp.returns, 1);
	KUNIT_EXPECT_EQ(test, callers[0].nmissed + callers[1].nmissed, 0);
}

/*
 * A backtrace looks up the byte before a return address. For the address of a trampoline, that byte
 * must not belong to another function.
 */
static void kp_rs_frames_names(struct kunit *test)
{
	static const char *const trampolines[] = {
		"__kretprobe_trampoline", "arch_rethook_trampoline", "return_to_handler",
	};
	char shown[KSYM_SYMBOL_LEN];
	unsigned int i, found = 0;
	void *addr;

	for (i = 0; i < ARRAY_SIZE(trampolines); i++) {
		addr = kp_find_symbol(trampolines[i]);
		if (!addr)
			continue;
		found++;
		snprintf(shown, sizeof(shown), "%pB", addr);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(shown, trampolines[i]), "%s is shown as %s",
					  trampolines[i], shown);
	}
	KUNIT_EXPECT_GE(test, found, 1);
}

/* Interrupts during calls, returns and handlers */

#define KP_SAMPLES	1000
#define KP_PERIOD	(150 * NSEC_PER_USEC)

static struct {
	struct hrtimer timer;
	struct kp_trace *sample;
	unsigned int nr;
	struct task_struct *task;
} kp_timer;

static enum hrtimer_restart kp_timer_function(struct hrtimer *timer)
{
	if (current == kp_timer.task && kp_timer.nr < KP_SAMPLES)
		kp_save(&kp_timer.sample[kp_timer.nr++]);
	if (kp_timer.nr == KP_SAMPLES)
		WRITE_ONCE(kp_rs_times, 1);
	hrtimer_forward_now(timer, ns_to_ktime(KP_PERIOD));
	return HRTIMER_RESTART;
}

static void kp_timer_stop(void *unused)
{
	hrtimer_cancel(&kp_timer.timer);
}

/*
 * Find the first frame of the trace that is in a function of the chain, and check that all callers
 * of that function follow. Return: the function's index in chain[], -1 if the trace has no function
 * of the chain, or -2 if the callers are wrong.
 */
static int kp_rs_chain_from(const struct kp_trace *trace, const struct kp_trace *reference,
			    unsigned int callers)
{
	static const char *const chain[] = {
		"kp_rs_probed", "kp_rs_inner", "kp_rs_outer", "kp_rs_loop",
	};
	char name[KSYM_SYMBOL_LEN];
	unsigned int i, at, last;

	for (i = 0; i < trace->nr; i++) {
		at = match_string(chain, ARRAY_SIZE(chain), kp_rs_name(trace->entry[i], name));
		if ((int)at >= 0)
			break;
	}
	if (i == trace->nr)
		return -1;
	/* The interrupt may arrive anywhere in the function, so do not compare its own entry. */
	last = callers - at;
	/* A frame-pointer unwinder misses the caller of a function that has no frame yet. */
	if (!IS_ENABLED(CONFIG_UNWINDER_ORC) && trace->nr - i == last)
		last--;
	return trace->nr - i - 1 == last && kp_rs_same_end(trace, reference, last) ? at : -2;
}

static void kp_rs_frames_interrupts(struct kunit *test)
{
	struct kp_trace *reference = kp_zalloc(test, sizeof(*reference));
	unsigned int callers = 0, calls = 0, found[5] = {}, wrong = 0, i;
	int probed, at;

	kp_timer.sample = kp_vzalloc(test, KP_SAMPLES * sizeof(*kp_timer.sample));
	kp_timer.nr = 0;
	kp_timer.task = current;
	hrtimer_init(&kp_timer.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	kp_timer.timer.function = kp_timer_function;
	kp_at_end(test, kp_timer_stop, NULL);

	/* Prevent unrolling: return addresses must be the same in both rounds. */
	for (probed = 0; probed < 2; probed++) {
		OPTIMIZER_HIDE_VAR(probed);
		kp_rs_save = !probed;
		kp_rs_times = probed ? UINT_MAX : 1;
		kp_timer.nr = 0;
		if (probed) {
			kp_rs_register(test, 2, false);
			kp.spin = true;
		}
		migrate_disable();
		hrtimer_start(&kp_timer.timer, ns_to_ktime(KP_PERIOD),
			      HRTIMER_MODE_REL_PINNED_HARD);
		calls = kp_rs_loop(0);
		hrtimer_cancel(&kp_timer.timer);
		migrate_enable();
		OPTIMIZER_HIDE_VAR(probed);
		if (!probed) {
			callers = kp_rs_callers(test);
			*reference = kp_rs_callee;
		}
	}
	KUNIT_EXPECT_EQ(test, kp.returns, 2 * calls);
	KUNIT_EXPECT_EQ(test, kp_rps[0].nmissed + kp_rps[1].nmissed, 0);

	for (i = 0; i < kp_timer.nr; i++) {
		at = kp_rs_chain_from(&kp_timer.sample[i], reference, callers);
		if (at != -2) {
			found[at + 1]++;
			continue;
		}
		if (!wrong++) {
			KUNIT_FAIL(test, "sample %u is not right", i);
			kp_show(test, "interrupt", &kp_timer.sample[i]);
			kp_show(test, "without", reference);
		}
	}
	kunit_info(test, "%u calls, %u interrupts: in the function %u, over its return %u, in callers %u, elsewhere %u, wrong %u\n",
		   calls, kp_timer.nr, found[1], found[2], found[3] + found[4], found[0], wrong);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	/*
	 * found[2] counts the traces that have kp_rs_inner(), but no longer kp_rs_probed(), as in a
	 * return handler. Handlers take most of the time, so there must be such traces.
	 */
	KUNIT_EXPECT_GT(test, found[2], 10);
}

static struct kunit_case kp_rs_frames_cases[] = {
	KUNIT_CASE_PARAM(kp_rs_frames, kp_rs_trace_gen_params),
	KUNIT_CASE(kp_rs_frames_dumps),
	KUNIT_CASE(kp_rs_frames_names),
	KUNIT_CASE_SLOW(kp_rs_frames_interrupts),
	{}
};

KP_SUITE(kp_rs_frames, "kretprobes_frames");
