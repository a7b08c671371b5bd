// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: readers, which call the targets.
 *
 * On each CPU a task, a tasklet, a timer and, on x86, NMIs call the targets. So calls are
 * interrupted by calls from other contexts, in the targets and in handlers. While CPUs go offline
 * and come online, CPU hotplug callbacks call the targets, too.
 */
#include <linux/bottom_half.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/sprintf.h>
#include <linux/stacktrace.h>
#include <linux/torture.h>

#include "torture.h"

#define TIMER_NS	(2 * NSEC_PER_MSEC)
#define TRACE_DEPTH	64
/* Number of outermost entries of a stack trace to compare. */
#define TRACE_END	2

/**
 * struct reader - the callers on one CPU
 * @task: calls the targets in a task
 * @tasklet: calls them in a softirq
 * @timer: calls them in a hard interrupt, schedules @tasklet, and sends the NMIs
 * @random: chooses the targets that the task calls
 * @cpu: the CPU
 * @turn: number of times that the timer has expired
 * @end: the outermost addresses of a stack trace of @task; 0 until the task has begun
 */
struct reader {
	struct task_struct *task;
	struct tasklet_struct tasklet;
	struct hrtimer timer;
	struct rnd_state random;
	int cpu;
	u32 turn;
	unsigned long end[TRACE_END];
};

static DEFINE_PER_CPU(struct reader, readers);
static bool stopping;
/* Number of hotplug callbacks that have called the targets on this CPU */
static DEFINE_PER_CPU(unsigned long, hotplug_calls);
/* Number of visitors that are detaching a tracer */
atomic_t torture_detaching;
/* True while this CPU executes call_from_nmi() */
static DEFINE_PER_CPU(bool, in_nmi_call);

/* Save a stack trace. Return its length, or 0 if it is too long or cannot be taken. */
static unsigned int save_trace(unsigned long trace[TRACE_DEPTH])
{
	unsigned int nr = 0;

#ifdef CONFIG_STACKTRACE
	nr = stack_trace_save(trace, TRACE_DEPTH, 0);
#endif
	return nr < TRACE_DEPTH ? nr : 0;
}

/*
 * Can unwinders continue from the function that @addr is in? Not if an interrupt has interrupted
 * return_to_handler() after it has dropped the graph tracer's record of the call, which unwinders
 * would need. This function is noinline, so that its buffer is on the stack only if a trace ends
 * early.
 */
static noinline bool can_unwind_from(unsigned long addr)
{
	char name[KSYM_SYMBOL_LEN];

	snprintf(name, sizeof(name), "%ps", (void *)addr);
	return torture_can_unwind(name) && (in_task() || strcmp(name, "return_to_handler"));
}

static bool traces_are_checked(void)
{
	return READ_ONCE(torture_traces) && !atomic_read(&torture_detaching);
}

/**
 * torture_check_trace() - check that a stack trace ends where the task began
 * @where: name of the probed function, for the error message
 *
 * Only traces of readers are checked, and none in an NMI, which may interrupt a task switch. No
 * trace is checked while a tracer is being removed: the task may be in the tracer's trampoline,
 * which unwinders no longer find. While torture.sh removes a tracer, the module parameter traces is
 * 0. While a visitor removes one, torture_detaching is positive.
 *
 * Context: a handler, in any context.
 */
void torture_check_trace(const char *where)
{
	unsigned long trace[TRACE_DEPTH];
	struct reader *reader;
	unsigned int nr, i;
	int cpu;

	if (this_cpu_read(in_nmi_call) || !traces_are_checked())
		return;
	for_each_possible_cpu(cpu) {
		reader = per_cpu_ptr(&readers, cpu);
		if (READ_ONCE(reader->task) == current)
			break;
	}
	if (cpu >= nr_cpu_ids || !READ_ONCE(reader->end[0]))
		return;
	nr = save_trace(trace);
	if (!nr || (nr >= TRACE_END &&
		    !memcmp(trace + nr - TRACE_END, reader->end, sizeof(reader->end))))
		return;
	/* Check again: the removal of a tracer may have begun while the trace was taken. */
	if (!can_unwind_from(trace[nr - 1]) || !traces_are_checked())
		return;
	torture_error("a stack trace from %s does not end where it must", where);
	for (i = 0; i < nr; i++)
		torture_error_at(trace[i]);
}

static void call_some(enum torture_context context, u32 random)
{
	torture_call(torture_pick(random >> 8, TORTURE_VISITED), random % TORTURE_SEEDS, context);
}

static void call_from_nmi(void)
{
	this_cpu_write(in_nmi_call, true);
	call_some(TORTURE_NMI, this_cpu_read(readers.turn) * 0x9e3779b1);
	this_cpu_write(in_nmi_call, false);
}

static void call_from_tasklet(struct tasklet_struct *tasklet)
{
	call_some(TORTURE_SOFTIRQ, this_cpu_read(readers.turn) * 0x85ebca6b);
}

static enum hrtimer_restart call_from_timer(struct hrtimer *timer)
{
	u32 turn = this_cpu_inc_return(readers.turn);

	if (READ_ONCE(stopping))
		return HRTIMER_NORESTART;
	call_some(TORTURE_HARDIRQ, turn * 0xc2b2ae35);
	if (turn % 2)
		tasklet_schedule(this_cpu_ptr(&readers.tasklet));
	if (turn % 8 == 0)
		torture_send_nmi();
	hrtimer_forward_now(timer, ns_to_ktime(TIMER_NS + turn % 16 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void call_in_turn(u32 random)
{
	unsigned long flags;

	switch (random % 8) {
	case 0:
		local_irq_save(flags);
		call_some(TORTURE_TASK, random >> 3);
		local_irq_restore(flags);
		break;
	case 1:
		local_bh_disable();
		call_some(TORTURE_TASK, random >> 3);
		local_bh_enable();
		break;
	case 2:
		preempt_disable();
		call_some(TORTURE_TASK, random >> 3);
		preempt_enable();
		break;
	default:
		call_some(TORTURE_TASK, random >> 3);
	}
}

static int torture_reader(void *arg)
{
	unsigned long trace[TRACE_DEPTH];
	struct reader *reader = arg;
	bool was_offline = false;
	int cpu = reader->cpu;
	unsigned int nr;
	u32 n;

	nr = save_trace(trace);
	if (nr >= TRACE_END)
		memcpy(reader->end, trace + nr - TRACE_END, sizeof(reader->end));
	set_cpus_allowed_ptr(current, cpumask_of(cpu));
	do {
		for (n = 0; n < 64; n++)
			call_in_turn(prandom_u32_state(&reader->random));
		while (cpu_is_offline(cpu) && !torture_must_stop()) {
			schedule_timeout_interruptible(HZ / 5);
			was_offline = true;
		}
		if (was_offline) {
			set_cpus_allowed_ptr(current, cpumask_of(cpu));
			was_offline = false;
		}
		/*
		 * Sleep: an emulator may run only one CPU at a time, and the
		 * writers must run, too.
		 */
		torture_hrtimeout_us(200, 200, NULL);
		stutter_wait("torture_reader");
	} while (!torture_must_stop());
	torture_kthread_stopping("torture_reader");
	return 0;
}

static int call_in_hotplug(unsigned int cpu)
{
	u32 random = this_cpu_inc_return(hotplug_calls) * 0x27d4eb2f;
	unsigned int n;

	for (n = 0; n < 2 * TORTURE_MAX_TARGETS; n++)
		call_some(TORTURE_TASK, random += 0x9e3779b1);
	torture_request_growth();
	return 0;
}

/*
 * The CPU hotplug states whose callbacks call the targets when a CPU goes online or offline. In the
 * first state, the callback runs on another CPU, before the CPU that goes online is up, or after
 * the CPU that goes offline is dead. In the second, it runs on the CPU itself with interrupts
 * disabled, before its first interrupt or after its last one. (Only MIPS uses this state for
 * something else.) In the third, it runs on the CPU itself, in its hotplug thread.
 */
static int hotplug_states[] = {
	CPUHP_BP_PREPARE_DYN, CPUHP_AP_IRQ_MIPS_GIC_STARTING, CPUHP_AP_ONLINE_DYN,
};

static unsigned int nr_hotplug_states;

/**
 * torture_start_hotplug() - start to call the targets in callbacks of CPU hotplug
 *
 * Return: 0, or an errno. torture_stop_hotplug() must be called in both cases.
 */
int torture_start_hotplug(void)
{
	while (nr_hotplug_states < ARRAY_SIZE(hotplug_states)) {
		int *state = &hotplug_states[nr_hotplug_states];
		int ret = cpuhp_setup_state_nocalls(*state, "kprobe_torture", call_in_hotplug,
						    call_in_hotplug);

		if (ret < 0)
			return ret;
		/* @ret is the number that was allocated for a dynamic state, 0 for other states. */
		*state = ret ?: *state;
		nr_hotplug_states++;
	}
	return 0;
}

/**
 * torture_stop_hotplug() - stop calling the targets in callbacks of CPU hotplug
 */
void torture_stop_hotplug(void)
{
	unsigned long calls = 0;
	int cpu;

	if (!nr_hotplug_states)
		return;
	while (nr_hotplug_states)
		cpuhp_remove_state_nocalls(hotplug_states[--nr_hotplug_states]);
	for_each_possible_cpu(cpu)
		calls += per_cpu(hotplug_calls, cpu);
	pr_alert(TORTURE_TYPE TORTURE_FLAG " %lu callbacks of CPU hotplug\n", calls);
	if (!calls)
		torture_error("no callback of CPU hotplug");
}

static void start_timer(void *unused)
{
	struct reader *reader = this_cpu_ptr(&readers);

	hrtimer_start(&reader->timer, ns_to_ktime(TIMER_NS), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * torture_start_readers() - start to call the targets on all CPUs
 * @seed: for the readers' random numbers, which differ from those of the writers
 *
 * Return: 0, or an errno. torture_stop_readers() must be called in both cases.
 */
int torture_start_readers(u64 seed)
{
	struct reader *reader;
	int cpu, err;

	stopping = false;
	for_each_possible_cpu(cpu) {
		reader = per_cpu_ptr(&readers, cpu);
		memset(reader, 0, sizeof(*reader));
		reader->cpu = cpu;
		prandom_seed_state(&reader->random, ~seed - cpu);
		tasklet_setup(&reader->tasklet, call_from_tasklet);
		hrtimer_init(&reader->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
		reader->timer.function = call_from_timer;
	}
	err = torture_start_nmi(call_from_nmi);
	if (err)
		return err;
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		reader = per_cpu_ptr(&readers, cpu);
		err = torture_create_kthread(torture_reader, reader, reader->task);
		if (err)
			break;
	}
	if (!err)
		on_each_cpu(start_timer, NULL, 1);
	cpus_read_unlock();
	return err;
}

/**
 * torture_stop_readers() - stop calling the targets
 */
void torture_stop_readers(void)
{
	struct reader *reader;
	int cpu;

	WRITE_ONCE(stopping, true);
	for_each_possible_cpu(cpu) {
		reader = per_cpu_ptr(&readers, cpu);
		torture_stop_kthread(torture_reader, reader->task);
		if (reader->timer.function)
			hrtimer_cancel(&reader->timer);
	}
	for_each_possible_cpu(cpu)
		if (per_cpu(readers, cpu).timer.function)
			tasklet_kill(&per_cpu(readers, cpu).tasklet);
	torture_stop_nmi();
}
