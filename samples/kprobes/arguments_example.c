// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module whose kprobe records the arguments of a function.
 *
 *	modprobe arguments_example
 *	modprobe arguments_example func=get_fs_type args=1 string=0 user=0
 *	cat /sys/kernel/debug/arguments_example/calls
 *
 * The handler counts the calls on each CPU, and records the arguments of the last one. It
 * prints nothing, since it may be called in any context and at any rate. Reading the file
 * formats the records.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define MAX_ARGS 8
#define STRING_LEN 64

/* do_sys_openat2(int dfd, const char __user *filename, struct open_how *how) */
static char *func = "do_sys_openat2";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "function to probe");

static int args = 3;
module_param(args, int, 0444);
MODULE_PARM_DESC(args, "how many arguments to record, 0 to 8");

static int string = 1;
module_param(string, int, 0444);
MODULE_PARM_DESC(string, "number of the argument that is a string, counted from 0; -1 for none");

static bool user = true;
module_param(user, bool, 0444);
MODULE_PARM_DESC(user, "the string is in memory of the process, not of the kernel");

/*
 * The calls on one CPU. The sequence count is odd while the handler writes the arguments;
 * readers try again if it has changed.
 */
struct record {
	unsigned long calls;
	unsigned long nested;
	unsigned long unreadable;
	seqcount_t seq;
	unsigned long args[MAX_ARGS];
	char string[STRING_LEN];
};

static DEFINE_PER_CPU(struct record, records);

/*
 * Read a string. If its page is missing, the _nofault functions fail: a handler must not wait
 * for the page. strncpy_from_kernel_nofault() and strncpy_from_user_nofault() do all of this,
 * but are not exported to modules.
 *
 * Each copy ends at a word boundary, so it never reads from the page after the end of the
 * string, which may be missing.
 */
static int read_string(char *to, unsigned long from)
{
	size_t done, len;

	for (done = 0; done < STRING_LEN; done += len) {
		const void *at = (const void *)(from + done);
		int err;

		len = min(STRING_LEN - done, sizeof(long) - (from + done) % sizeof(long));
		if (user)
			err = copy_from_user_nofault(to + done, (const void __user *)at, len);
		else
			err = copy_from_kernel_nofault(to + done, at, len);
		if (err)
			return err;
		if (memchr(to + done, '\0', len))
			return 0;
	}
	to[STRING_LEN - 1] = '\0';
	return 0;
}

/*
 * regs_get_kernel_argument() is valid at the first instruction of the function only: after
 * that, the function may have moved its arguments.
 */
static int on_call(struct kprobe *kp, struct pt_regs *regs)
{
	struct record *rec = this_cpu_ptr(&records);
	int i;

	this_cpu_inc(records.calls);
	/*
	 * Preemption is disabled, but an interrupt may hit the probe while the handler writes.
	 * That call is counted, but its arguments are not recorded.
	 */
	if (raw_read_seqcount(&rec->seq) & 1) {
		this_cpu_inc(records.nested);
		return 0;
	}
	raw_write_seqcount_begin(&rec->seq);
	for (i = 0; i < args; i++)
		rec->args[i] = regs_get_kernel_argument(regs, i);
	if (string >= 0 && read_string(rec->string, regs_get_kernel_argument(regs, string))) {
		rec->string[0] = '\0';
		this_cpu_inc(records.unreadable);
	}
	raw_write_seqcount_end(&rec->seq);
	return 0;
}

NOKPROBE_SYMBOL(on_call);

static struct kprobe probe = {
	.pre_handler = on_call,
};

static int calls_show(struct seq_file *m, void *v)
{
	int cpu, i;

	seq_printf(m, "%3s %9s %7s %11s  last arguments\n", "cpu", "calls", "nested",
		   "unreadable");
	for_each_possible_cpu(cpu) {
		const struct record *rec = per_cpu_ptr(&records, cpu);
		struct record copy;
		unsigned int seq;

		if (!READ_ONCE(rec->calls))
			continue;
		do {
			seq = read_seqcount_begin(&rec->seq);
			copy = *rec;
		} while (read_seqcount_retry(&rec->seq, seq));

		seq_printf(m, "%3d %9lu %7lu %11lu ", cpu, copy.calls, copy.nested,
			   copy.unreadable);
		for (i = 0; i < args; i++)
			seq_printf(m, " %lx", copy.args[i]);
		if (string >= 0)
			seq_printf(m, " \"%*pE\"", (int)strlen(copy.string), copy.string);
		seq_putc(m, '\n');
	}
	seq_printf(m, "missed %lu\n", probe.nmissed);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(calls);

static int __init arguments_example_init(void)
{
	struct dentry *dir;
	int cpu, err;

	if (args < 0 || args > MAX_ARGS || string < -1 || string >= MAX_ARGS) {
		pr_err("args is 0 to %d, and string -1 to %d\n", MAX_ARGS, MAX_ARGS - 1);
		return -EINVAL;
	}
	for_each_possible_cpu(cpu)
		seqcount_init(&per_cpu_ptr(&records, cpu)->seq);

	probe.symbol_name = func;
	err = register_kprobe(&probe);
	if (err) {
		pr_err("%s cannot be probed: error %d\n", func, err);
		return err;
	}
	/* The probe works without the file, so errors of debugfs are ignored. */
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("calls", 0400, dir, NULL, &calls_fops);
	pr_info("probe on %pS\n", probe.addr);
	return 0;
}

static void __exit arguments_example_exit(void)
{
	debugfs_lookup_and_remove(KBUILD_MODNAME, NULL);
	/* When this returns, no handler is running and none is called any more. */
	unregister_kprobe(&probe);
}

module_init(arguments_example_init);
module_exit(arguments_example_exit);

MODULE_DESCRIPTION("sample kernel module with a kprobe that reads arguments");
MODULE_LICENSE("GPL");
