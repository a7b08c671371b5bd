// SPDX-License-Identifier: GPL-2.0
/* Test what jprobe_return() undoes: preempt counts, disabled interrupts, traced calls */

#include <linux/fprobe.h>
#include "jprobes_kunit.h"

static void kp_jp_takes_preempt_count(void)
{
	preempt_disable();
}

static void kp_jp_takes_bh(void)
{
	/* local_bh_disable() would also inform lockdep, which jprobe_return() does not undo. */
	preempt_count_add(SOFTIRQ_DISABLE_OFFSET);
}

static void kp_jp_takes_irqs(void)
{
	local_irq_disable();
}

static void kp_jp_drops(struct kunit *test, void (*take)(void))
{
	struct kp_probe *jp = kp_jp_registered(test);
	int i, count;

	kp_jp_hook = take;
	for (i = 1; i <= 5; i++) {
		count = preempt_count();
		KUNIT_EXPECT_EQ(test, kp_jp_call(kp_jp_target(test)), kp_jp_result());
		KUNIT_EXPECT_EQ(test, preempt_count(), count);
		KUNIT_EXPECT_FALSE(test, irqs_disabled());
		kp_expect_hits(test, jp, i);
	}
	/*
	 * A breakpoint calls the handler with interrupts off, so kprobes does not report that the
	 * handler has disabled them.
	 */
	KUNIT_EXPECT_EQ(test, jp->jp.reported != 0, take != kp_jp_takes_irqs ||
			kprobe_optimized(&jp->kp) || kprobe_ftrace(&jp->kp));
}

static void kp_jp_drops_preempt_count(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT))
		kunit_skip(test, "preempt_disable() does nothing in this kernel");
	kp_jp_drops(test, kp_jp_takes_preempt_count);
}

KP_CASE(kp_jp_drops_bh, kp_jp_drops(test, kp_jp_takes_bh))
KP_CASE(kp_jp_drops_irqs, kp_jp_drops(test, kp_jp_takes_irqs))

#ifdef CONFIG_FPROBE

static int kp_jp_fprobe_entries, kp_jp_fprobe_exits;

static int kp_jp_fprobe_entry(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			      struct pt_regs *regs, void *data)
{
	kp_jp_fprobe_entries++;
	return 0;
}

static void kp_jp_fprobe_exit(struct fprobe *fp, unsigned long ip, unsigned long ret_ip,
			      struct pt_regs *regs, void *data)
{
	kp_jp_fprobe_exits++;
}

static struct fprobe kp_jp_fprobe;

static void kp_jp_fprobe_gone(void *unused)
{
	unregister_fprobe(&kp_jp_fprobe);
}

/*
 * An fprobe tracks three functions. Only kp_jp_call() may return through the fprobe's trampoline:
 * the handler and the function that it calls never return. So each call has three entries, but only
 * one exit.
 */
static void kp_jp_drops_fprobe(struct kunit *test)
{
	/* The array is not const, because register_fprobe_syms() sorts it. */
	const char *names[] = { "kp_jp_handler", "kp_jp_return_from_within", "kp_jp_call" };
	struct kp_probe *jp = kp_jp_new(test, NULL);
	int i, ret;

	memset(&kp_jp_fprobe, 0, sizeof(kp_jp_fprobe));
	kp_jp_fprobe.entry_handler = kp_jp_fprobe_entry;
	kp_jp_fprobe.exit_handler = kp_jp_fprobe_exit;
	kp_jp_fprobe_entries = 0;
	kp_jp_fprobe_exits = 0;
	kp_jp_deep = true;
	ret = register_fprobe_syms(&kp_jp_fprobe, names, ARRAY_SIZE(names));
	KUNIT_ASSERT_EQ(test, ret, 0);
	kp_at_end(test, kp_jp_fprobe_gone, NULL);
	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	/*
	 * Make more calls than the fprobe has records: if jprobe_return() did not free the records
	 * of the calls that it drops, the fprobe would miss calls.
	 */
	for (i = 1; i <= 500; i++) {
		kp_jp_expect_call(test, jp);
		KUNIT_ASSERT_EQ(test, kp_jp_fprobe_entries, 3 * i);
		KUNIT_ASSERT_EQ(test, kp_jp_fprobe_exits, i);
	}
	KUNIT_EXPECT_EQ(test, kp_jp_fprobe.nmissed, 0);
}
#endif

/*
 * Let jprobe_return() drop calls many times. jprobe.sh also runs this while the function graph
 * tracer traces the handler: the tracer's shadow stack must not keep the dropped calls.
 */
static void kp_jp_drops_many(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_registered(test);
	int i;

	kp_jp_deep = true;
	for (i = 0; i < 500; i++)
		kp_jp_expect_call(test, jp);
}

static struct kunit_case kp_jp_drops_cases[] = {
	KP_JP_CASE(kp_jp_drops_preempt_count),
	KP_JP_CASE(kp_jp_drops_bh),
	KP_JP_CASE(kp_jp_drops_irqs),
#ifdef CONFIG_FPROBE
	KP_JP_CASE(kp_jp_drops_fprobe),
#endif
	KP_JP_CASE(kp_jp_drops_many),
	{}
};

KP_SUITE(kp_jp_drops, "jprobes_drops", .init = kp_jp_init);
