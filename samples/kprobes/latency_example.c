// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module whose return probe measures how long the calls of a function take.
 *
 *	modprobe latency_example
 *	modprobe latency_example func=do_sys_openat2
 *	cat /sys/kernel/debug/latency_example/histogram
 *
 * Each line of the file counts the calls that took at least the time in its first column, and
 * less than the time in its second column: the next power of two.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/seq_file.h>
#include <linux/timekeeping.h>

static char *func = "vfs_read";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "function whose calls are measured");

/* Line 0 counts calls that took 0 ns; line n, at least 2^(n-1) ns and less than 2^n ns. */
#define LINES 64

struct histogram {
	unsigned long calls[LINES];
};

/* Per CPU, so that CPUs that count at the same time do not share cache lines. */
static DEFINE_PER_CPU(struct histogram, histograms);

/* Private data of each call, from its entry to its return */
struct call {
	u64 entered;
};

/* Use a fast clock: others may take a lock that the caller of the function holds. */
static int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	call->entered = ktime_get_mono_fast_ns();
	return 0;
}

NOKPROBE_SYMBOL(on_entry);

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;
	s64 ns = ktime_get_mono_fast_ns() - call->entered;

	/* The fast clock may step back if the task has moved to another CPU: count that as 0 ns. */
	this_cpu_inc(histograms.calls[ns > 0 ? fls64(ns) : 0]);
	return 0;
}

NOKPROBE_SYMBOL(on_return);

static struct kretprobe probe = {
	.entry_handler = on_entry,
	.handler = on_return,
	.data_size = sizeof(struct call),
};

static int histogram_show(struct seq_file *m, void *v)
{
	unsigned long total = 0;
	int cpu, line;

	seq_printf(m, "%20s %20s %12s\n", "from ns", "to less than ns", "calls");
	for (line = 0; line < LINES; line++) {
		unsigned long calls = 0;

		for_each_possible_cpu(cpu)
			calls += READ_ONCE(per_cpu_ptr(&histograms, cpu)->calls[line]);
		total += calls;
		if (calls)
			seq_printf(m, "%20llu %20llu %12lu\n",
				   line ? 1ULL << (line - 1) : 0, 1ULL << line, calls);
	}
	seq_printf(m, "calls %lu, missed %d\n", total, probe.nmissed);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(histogram);

static int __init latency_example_init(void)
{
	struct dentry *dir;
	int err;

	probe.kp.symbol_name = func;
	err = register_kretprobe(&probe);
	if (err) {
		pr_err("%s cannot have a return probe: error %d\n", func, err);
		return err;
	}
	/* The probe works without the file, so errors of debugfs are ignored. */
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("histogram", 0400, dir, NULL, &histogram_fops);
	pr_info("return probe on %pS\n", probe.kp.addr);
	return 0;
}

static void __exit latency_example_exit(void)
{
	debugfs_lookup_and_remove(KBUILD_MODNAME, NULL);
	/* Calls that are still under way return without a call of the handler. */
	unregister_kretprobe(&probe);
}

module_init(latency_example_init);
module_exit(latency_example_exit);

MODULE_DESCRIPTION("sample kernel module with a return probe that makes a histogram");
MODULE_LICENSE("GPL");
