// SPDX-License-Identifier: GPL-2.0-only
/*
 * kprobe_torture: stress test of kprobes.
 *
 * Readers call functions from tasks, softirqs, hard interrupts, NMIs and handlers, on all
 * CPUs. Writers register, unregister, enable and disable probes of these functions all the time,
 * one by one and in batches. Visitors attach probes and tracers to a function that has no other
 * probes. Wanderers are tasks that sleep in a probed function, victims are tasks that end inside
 * probed functions. One more task makes nested calls that need more instances than a pool has, and
 * waits for the pool to grow, while another task keeps a CPU busy. The test runs until the module
 * is unloaded, or until it shuts the machine down after shutdown_secs seconds. The last line that
 * it logs is
 *
 *	kprobe-torture:--- End of test: SUCCESS
 *
 * or FAILURE with the number of errors.
 *
 * The invariants:
 *
 * - Every function returns the same result as without probes.
 * - Every call of a function hits the probe and the return probe that stay registered there during
 *   the whole test (the steady ones), or is counted as missed.
 * - A probe is hit after it was registered or enabled, and not after it was unregistered or
 *   disabled. Other probes and tracers at the same address change nothing.
 * - An unregistered probe may be freed: its memory is neither used nor changed.
 * - A return handler has the data of its call.
 * - If a task ends inside a function, the instances of its calls are free again.
 * - A pool of instances grows until no call is missed any more.
 * - A stack trace from a handler ends where the task began.
 * - Invalid registrations are refused with -EINVAL or -ENOENT.
 * - The text of the functions is the original at the end.
 *
 * The test uses nothing of kprobes but what linux/kprobes.h declares, so it can also test another
 * implementation of this interface.
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/torture.h>

#include "torture.h"

MODULE_DESCRIPTION("Torture test of kernel probes");
MODULE_LICENSE("GPL");

static char *torture_type = TORTURE_TYPE;

torture_param(int, nwriters, 4, "Number of tasks that change probes");
torture_param(long, seed, 1, "Seed of all random numbers");
torture_param(int, onoff_holdoff, 10, "Time after start before CPUs go offline (s)");
torture_param(int, onoff_interval, 0, "Time between CPUs going offline (jiffies), 0 = none do");
torture_param(int, shutdown_secs, 0, "Shutdown time (s), <= zero to disable");
torture_param(int, stat_interval, 15, "Number of seconds between lines of statistics");
torture_param(int, stutter, 0, "Number of seconds to run/halt test");
torture_param(int, verbose, 0, "Enable verbose debugging printk()s");
torture_param(bool, exact, true, "All calls must be hits; not if kprobes/enabled is written");
torture_param(bool, nomem, false, "Registrations may fail for want of memory");
torture_param(bool, oops, false, "Have return handlers oops; the tasks end");

bool torture_traces = true;
module_param_named(traces, torture_traces, bool, 0644);
MODULE_PARM_DESC(traces, "Look at stack traces; not while a tracer goes");

char *torture_symbols[TORTURE_MAX_SYMBOLS];
int torture_nr_symbols;
module_param_array_named(symbols, torture_symbols, charp, &torture_nr_symbols, 0444);
MODULE_PARM_DESC(symbols, "Functions to probe as well, of modules that come and go");

/* Number of errors to print. Further ones are only counted. */
#define MAX_PRINTED	20

bool torture_exact, torture_nomem, torture_oops;
static atomic_t errors;
static struct task_struct *stats_task;

/**
 * torture_error() - count an error, and print it
 * @fmt: what went wrong, as for printk()
 *
 * Context: any.
 */
void torture_error(const char *fmt, ...)
{
	struct va_format vaf;
	va_list args;

	if (atomic_inc_return(&errors) > MAX_PRINTED)
		return;
	va_start(args, fmt);
	vaf.fmt = fmt;
	vaf.va = &args;
	pr_alert(TORTURE_TYPE TORTURE_FLAG "!!! %pV\n", &vaf);
	va_end(args);
}

/**
 * torture_error_at() - print an address that belongs to the error printed last
 * @addr: an address in the text
 *
 * Context: any.
 */
void torture_error_at(unsigned long addr)
{
	if (atomic_read(&errors) <= MAX_PRINTED)
		pr_alert(TORTURE_TYPE TORTURE_FLAG "!!!   %pS\n", (void *)addr);
}

static void print_stats(void)
{
	unsigned long contexts[TORTURE_CONTEXTS] = {}, hits = 0, calls = 0;
	unsigned int i;
	char buf[200];
	int cpu;

	for_each_possible_cpu(cpu) {
		struct torture_counts *counts = per_cpu_ptr(&torture_counts, cpu);

		for (i = 0; i < TORTURE_CONTEXTS; i++)
			contexts[i] += READ_ONCE(counts->contexts[i]);
		for (i = 0; i < torture_nr_targets; i++)
			hits += READ_ONCE(counts->hits[i]);
	}
	for (i = 0; i < TORTURE_CONTEXTS; i++)
		calls += contexts[i];
	torture_print_writers(buf, sizeof(buf));
	pr_alert(TORTURE_TYPE TORTURE_FLAG " calls %lu (task %lu softirq %lu hardirq %lu nmi %lu handler %lu) hits %lu;%s; errors %d\n",
		 calls, contexts[TORTURE_TASK], contexts[TORTURE_SOFTIRQ],
		 contexts[TORTURE_HARDIRQ], contexts[TORTURE_NMI], contexts[TORTURE_HANDLER], hits,
		 buf, atomic_read(&errors));
}

static int torture_stats(void *arg)
{
	do {
		schedule_timeout_interruptible(stat_interval * HZ);
		print_stats();
		torture_shutdown_absorb("torture_stats");
	} while (!torture_must_stop());
	torture_kthread_stopping("torture_stats");
	return 0;
}

static void print_parameters(const char *tag)
{
	pr_alert(TORTURE_TYPE TORTURE_FLAG "--- %s: nwriters=%d seed=%ld onoff_holdoff=%d onoff_interval=%d shutdown_secs=%d stat_interval=%d stutter=%d exact=%d nomem=%d oops=%d symbols=%d errors=%d\n",
		 tag, nwriters, seed, onoff_holdoff, onoff_interval, shutdown_secs, stat_interval,
		 stutter, exact, nomem, oops, torture_nr_symbols, atomic_read(&errors));
}

static bool steady;

static void torture_cleanup(void)
{
	if (torture_cleanup_begin())
		return;
	torture_allow_loads(false);
	torture_stop_writers();
	torture_stop_visitors();
	torture_stop_busy();
	torture_stop_victims();
	torture_stop_wanderers();
	torture_stop_hotplug();
	torture_stop_readers();
	torture_stop_kthread(torture_stats, stats_task);
	print_stats();
	if (steady) {
		torture_check_steady();
		torture_unregister_steady();
	}
	torture_check_text();
	torture_free_writers();
	torture_free_targets();
	if (atomic_read(&errors))
		print_parameters("End of test: FAILURE");
	else if (torture_onoff_failures())
		print_parameters("End of test: FAILURE: CPU hotplug");
	else
		print_parameters("End of test: SUCCESS");
	torture_cleanup_end();
}

static int __init kprobe_torture_init(void)
{
	int err;

	if (nwriters < 0 || stat_interval < 0)
		return -EINVAL;
	if (!torture_init_begin(torture_type, verbose))
		return -EBUSY;
	torture_exact = exact;
	torture_nomem = nomem;
	torture_oops = oops;
	print_parameters("Start of test");
	err = torture_find_targets() ?: torture_register_steady();
	steady = !err;
	if (!err && shutdown_secs > 0)
		err = torture_shutdown_init(shutdown_secs, torture_cleanup);
	if (!err && stutter > 0)
		err = torture_stutter_init(stutter * HZ, stutter * HZ);
	if (!err)
		err = torture_start_readers(seed);
	if (!err && onoff_interval > 0)
		err = torture_start_hotplug() ?:
		      torture_onoff_init(onoff_holdoff * HZ, onoff_interval, NULL);
	if (!err)
		err = torture_start_writers(nwriters, seed) ?: torture_start_visitors(seed) ?:
		      torture_start_wanderers(seed) ?: torture_start_victims(seed) ?:
		      torture_start_busy(seed);
	if (!err && stat_interval > 0)
		err = torture_create_kthread(torture_stats, NULL, stats_task);
	if (!err)
		torture_allow_loads(true);
	torture_init_end();
	if (err) {
		torture_error("cannot start: %d", err);
		torture_cleanup();
	}
	return err;
}
module_init(kprobe_torture_init);
module_exit(torture_cleanup);
