// SPDX-License-Identifier: GPL-2.0
/*
 * A task is preempted in the instructions that a jump overwrites, or in the detour buffer, while
 * the jump is written or removed. This task, the runner, executes one long instruction nearly all
 * the time. When a timer finds the runner at the wanted place, it wakes another task, the hog,
 * which has a higher priority, and spins until the test releases it.
 */

#include <asm/irq_regs.h>
#include <linux/hrtimer.h>
#include "kp_opt_suites.h"

#define KP_FILL		(512 * 1024)
#define KP_PERIOD	ns_to_ktime(NSEC_PER_MSEC / 2)
#define KP_LOOKS	200

enum kp_place { KP_NOWHERE, KP_IN_TEXT, KP_IN_DETOUR };

static struct {
	struct task_struct *runner, *hog;
	struct hrtimer timer;
	u8 *memory;
	int cpu;
	enum kp_place wanted;
	bool wake, held, release, in_call;
	unsigned long calls, wrong;
	/* Runs of the timer, and how many of them found the runner in the long instruction */
	unsigned long looks, seen;
	struct kp_trace trace;
} kp;

static void *kp_fill_insn(int insn)
{
	return (void *)kp_opt_fill + kp_opt_fill_insn[insn];
}

static bool kp_is_in_fill(unsigned long ip)
{
	return ip - (unsigned long)kp_opt_fill < kp_opt_fill_insn[KP_FILL_END];
}

/*
 * Let kp_opt_fill() fill the memory. Count the run as wrong if the first or the last byte is not
 * filled, or if the byte after the last one has changed.
 */
static noinline void kp_run_once(void)
{
	kp.memory[0] = 1;
	kp.memory[KP_FILL - 1] = 1;
	kp.memory[KP_FILL] = 1;
	WRITE_ONCE(kp.in_call, true);
	kp_opt_fill(kp.memory, KP_FILL);
	WRITE_ONCE(kp.in_call, false);
	if (kp.memory[0] || kp.memory[KP_FILL - 1] || kp.memory[KP_FILL] != 1)
		kp.wrong++;
	WRITE_ONCE(kp.calls, kp.calls + 1);
}

static int kp_runner(void *unused)
{
	while (!kthread_should_stop()) {
		kp_run_once();
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static int kp_hog(void *unused)
{
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (!READ_ONCE(kp.wake)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(kp.wake, false);
		/*
		 * Without preemption, the hog runs only after
		 * the call, when there is nothing to hold.
		 */
		if (!READ_ONCE(kp.in_call))
			continue;
		WRITE_ONCE(kp.held, true);
		while (!READ_ONCE(kp.release) && !kthread_should_stop())
			cpu_relax();
		WRITE_ONCE(kp.held, false);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static enum kp_place kp_where(struct pt_regs *regs)
{
	if (!regs || user_mode(regs) || !READ_ONCE(kp.in_call) ||
	    regs->di - (unsigned long)kp.memory >= KP_FILL ||
	    regs->cx - 1 >= KP_FILL)
		return KP_NOWHERE;
	if (regs->ip == (unsigned long)kp_fill_insn(KP_FILL_STOS))
		return KP_IN_TEXT;
	return kp_is_in_fill(regs->ip) ? KP_NOWHERE : KP_IN_DETOUR;
}

static enum hrtimer_restart kp_look(struct hrtimer *timer)
{
	enum kp_place wanted = READ_ONCE(kp.wanted), place = kp_where(get_irq_regs());

	WRITE_ONCE(kp.seen, kp.seen + (place != KP_NOWHERE));
	WRITE_ONCE(kp.looks, kp.looks + 1);
	if (wanted && place == wanted) {
		WRITE_ONCE(kp.wanted, KP_NOWHERE);
		WRITE_ONCE(kp.wake, true);
		wake_up_process(kp.hog);
	}
	hrtimer_forward_now(timer, KP_PERIOD);
	return HRTIMER_RESTART;
}

static void kp_start_timer(void *unused)
{
	hrtimer_init(&kp.timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	kp.timer.function = kp_look;
	hrtimer_start(&kp.timer, KP_PERIOD, HRTIMER_MODE_REL_PINNED_HARD);
}

static void kp_stop(void *unused)
{
	WRITE_ONCE(kp.wanted, KP_NOWHERE);
	WRITE_ONCE(kp.release, true);
	if (kp.timer.function)
		hrtimer_cancel(&kp.timer);
	if (kp.hog)
		kthread_stop(kp.hog);
	if (kp.runner)
		kthread_stop(kp.runner);
	vfree(kp.memory);
	memset(&kp, 0, sizeof(kp));
}

static struct task_struct *kp_thread(int (*fn)(void *), const char *name)
{
	struct task_struct *task = kthread_create_on_cpu(fn, NULL, kp.cpu, name);

	return IS_ERR(task) ? NULL : task;
}

static int kp_preempt_init(struct kunit *test)
{
	int ret = kp_opt_init(test);

	if (ret)
		return ret;
	kp.cpu = cpumask_last(cpu_online_mask);
	if (kp.cpu == cpumask_first(cpu_online_mask))
		kunit_skip(test, "needs a second CPU");
	set_cpus_allowed_ptr(current, cpumask_of(cpumask_first(cpu_online_mask)));
	ret = kunit_add_action_or_reset(test, kp_stop, NULL);
	if (ret)
		return ret;
	kp.memory = vzalloc(KP_FILL + 1);
	kp.runner = kp_thread(kp_runner, "kp_runner");
	kp.hog = kp_thread(kp_hog, "kp_hog");
	if (!kp.memory || !kp.runner || !kp.hog)
		return -ENOMEM;
	sched_set_fifo(kp.hog);
	wake_up_process(kp.hog);
	wake_up_process(kp.runner);
	ret = smp_call_function_single(kp.cpu, kp_start_timer, NULL, 1);
	if (ret)
		return ret;
	if (!kp_poll(READ_ONCE(kp.looks) >= KP_LOOKS, 30 * MSEC_PER_SEC))
		return -ETIMEDOUT;
	/* Some emulators, as Bochs, take no interrupt in a string instruction. */
	if (!READ_ONCE(kp.seen))
		kunit_skip(test, "no interrupt arrives in a string instruction");
	return 0;
}

static void kp_hold(struct kunit *test, enum kp_place place)
{
	unsigned long timeout = jiffies + 20 * HZ;
	int tries = 0;

	WRITE_ONCE(kp.release, false);
	while (!READ_ONCE(kp.held)) {
		if (!READ_ONCE(kp.wanted) && !READ_ONCE(kp.wake)) {
			usleep_range(2000, 3000);
			if (READ_ONCE(kp.held))
				break;
			if (tries++ == 20)
				kunit_skip(test, "nothing is preempted in this kernel");
			WRITE_ONCE(kp.wanted, place);
		}
		usleep_range(500, 1000);
		KUNIT_ASSERT_TRUE_MSG(test, time_before(jiffies, timeout),
				      "the runner is never at place %d", place);
	}
}

static void kp_goes_on(struct kunit *test)
{
	unsigned long calls = READ_ONCE(kp.calls);

	KUNIT_ASSERT_TRUE_MSG(test, kp_poll(READ_ONCE(kp.calls) - calls >= 2, 30 * MSEC_PER_SEC),
			      "the runner hangs");
	KUNIT_EXPECT_EQ(test, kp.wrong, 0);
}

static void kp_let_go(struct kunit *test)
{
	WRITE_ONCE(kp.release, true);
	while (READ_ONCE(kp.held))
		usleep_range(500, 1000);
	kp_goes_on(test);
}

/*
 * The runner is preempted within the instructions that the jump overwrites. The jump must not be
 * written before the runner has left them. In the last two rounds, the probe is unregistered while
 * the runner is still there.
 */
static void kp_opt_preempted_in_text(struct kunit *test)
{
	struct kp_probe *probe;
	unsigned long calls;
	int i, round, held = 0;

	for (round = 0; round < 4; round++) {
		probe = kp_new_post(test, kp_fill_insn(KP_FILL_PROBED), round % 2);
		kp_hold(test, KP_IN_TEXT);
		calls = READ_ONCE(kp.calls);
		kp_register(test, probe);
		for (i = 0; i < 40; i++) {
			u8 byte = kp_byte_at(probe->kp.addr);

			usleep_range(5000, 6000);
			/*
			 * The scheduler may let the runner run for a moment. Then the optimiser's
			 * wait may end.
			 */
			if (READ_ONCE(kp.calls) != calls)
				break;
			KUNIT_EXPECT_EQ(test, byte, INT3_INSN_OPCODE);
			held++;
		}
		if (round >= 2)
			kp_unregister(test, probe);
		kp_let_go(test);
		if (round >= 2)
			continue;
		kp_opt_becomes_jump(test, probe);
		kp_goes_on(test);
		kp_unregister(test, probe);
		kp_goes_on(test);
	}
	kunit_info(test, "held %d times 5 ms\n", held);
}

static void kp_trace_is_right(struct kunit *test)
{
	unsigned long caller = (unsigned long)kp_run_once;
	unsigned int i;

	/* A running task has no trace: retry. */
	kp_poll((kp.trace.nr = stack_trace_save_tsk(kp.runner, kp.trace.entry, KP_DEPTH, 0)),
		30 * MSEC_PER_SEC);
	i = kp_trace_find(&kp.trace, 0, kp_opt_fill, kp_opt_fill_insn[KP_FILL_END]);
	if (i + 1 < kp.trace.nr && kp.trace.entry[i + 1] - caller < 512)
		return;
	KUNIT_FAIL(test, "the probed function and its caller are not in the trace:\n");
	kp_show(test, "runner", &kp.trace);
}

enum kp_leave { KP_UNREGISTER, KP_DISABLE, KP_SWITCH, KP_NEIGHBOUR, KP_JOIN, KP_LEAVES };

/* However the jump was removed, the task must be able to continue in the detour buffer. */
static void kp_opt_preempted_in_detour(struct kunit *test)
{
	struct kp_probe *probe, *second;
	unsigned long hits, calls, held = 0;
	enum kp_leave leave;

	for (leave = 0; leave < KP_LEAVES; leave++) {
		second = kp_new_post(test, kp_fill_insn(leave == KP_NEIGHBOUR ? KP_FILL_STOS :
						       KP_FILL_PROBED), true);
		probe = kp_opt_jump(test, kp_fill_insn(KP_FILL_PROBED), leave == KP_DISABLE);
		kp_hold(test, KP_IN_DETOUR);
		calls = READ_ONCE(kp.calls);
		kp_trace_is_right(test);
		if (leave == KP_UNREGISTER)
			kp_unregister(test, probe);
		else if (leave == KP_DISABLE)
			KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
		else if (leave == KP_SWITCH)
			KUNIT_EXPECT_EQ(test, kp_opt_switch(false), 0);
		else
			kp_register(test, second);
		KUNIT_EXPECT_FALSE(test, kp_is_jump(kp_fill_insn(KP_FILL_PROBED)));
		hits = probe->pre;
		KUNIT_EXPECT_EQ(test, kp_opt_reuse(false), 0);
		if (READ_ONCE(kp.calls) == calls) {
			held++;
			kp_trace_is_right(test);
		}
		kp_let_go(test);
		if (leave <= KP_DISABLE)
			KUNIT_EXPECT_EQ(test, probe->pre, hits);
		KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
		kp_goes_on(test);
		kp_unregister(test, second);
		kp_unregister(test, probe);
		kp_goes_on(test);
	}
	kunit_info(test, "held all the time %lu times of %d\n", held, KP_LEAVES);
	KUNIT_EXPECT_GT(test, held, 0);
}

static struct kunit_case kp_opt_preempt_cases[] = {
	KUNIT_CASE_SLOW(kp_opt_preempted_in_text),
	KUNIT_CASE_SLOW(kp_opt_preempted_in_detour),
	{}
};

KP_SUITE(kp_opt_preempt, "kprobes_opt_preempt", .init = kp_preempt_init);
