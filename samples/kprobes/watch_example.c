// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module whose kprobe finds data, and sets a watchpoint on the data.
 *
 *	modprobe watch_example pid=$$
 *	echo first >/proc/$$/comm
 *	cat /sys/kernel/debug/watch_example/stack
 *	echo second >/proc/$$/comm
 *	cat /sys/kernel/debug/watch_example/stack
 *
 * The first call of __set_task_comm() for the thread hits the probe, which gets the address of
 * the name. Then the module sets a watchpoint there, and the file shows the stack of the first
 * write. Reading the file waits until the watchpoint is set. See samples/hw_breakpoint/ for a
 * watchpoint of a variable whose address is known.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/hw_breakpoint.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/stacktrace.h>
#include <linux/workqueue.h>

static int pid;
module_param(pid, int, 0444);
MODULE_PARM_DESC(pid, "thread whose name is watched");

/* The thread to watch, with a reference. NULL until on_rename() finds the thread. */
static struct task_struct *watched;
static struct perf_event * __percpu *watchpoint;

/* 0 at first; 1 when the watchpoint has been set; a negative errno if that failed */
static int state;

static atomic_long_t writes;
static unsigned long stack[32];
static unsigned int stack_len;

/*
 * Called after a write, on the CPU that has executed it. The writer may hold any lock, so the
 * rules for handlers of kprobes apply here too.
 */
static void on_write(struct perf_event *bp, struct perf_sample_data *data, struct pt_regs *regs)
{
	unsigned int len;

	if (atomic_long_inc_return(&writes) != 1)
		return;
	len = stack_trace_save(stack, ARRAY_SIZE(stack), 0);
	/* Pairs with smp_load_acquire() in stack_show(): publish the stack before its length. */
	smp_store_release(&stack_len, len);
}

NOKPROBE_SYMBOL(on_write);

/* Register the watchpoint on all CPUs. Context: takes mutexes. */
static void set_watchpoint(struct work_struct *work)
{
	struct perf_event * __percpu *event;
	struct perf_event_attr attr;

	/*
	 * On arm and arm64 the CPU raises the exception before the write, and again whenever it
	 * resumes there. The kernel single-steps the write only for perf's default handler. This
	 * event has a handler of its own, so the task would raise the exception forever.
	 */
	if (IS_ENABLED(CONFIG_ARM) || IS_ENABLED(CONFIG_ARM64)) {
		WRITE_ONCE(state, -EOPNOTSUPP);
		return;
	}
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)watched->comm;
	attr.bp_len = HW_BREAKPOINT_LEN_1;
	attr.bp_type = HW_BREAKPOINT_W;
	event = register_wide_hw_breakpoint(&attr, on_write, NULL);
	if (IS_ERR_PCPU(event)) {
		WRITE_ONCE(state, PTR_ERR_PCPU(event));
		return;
	}
	watchpoint = event;
	WRITE_ONCE(state, 1);
}

static DECLARE_WORK(watch_work, set_watchpoint);

/* Called in an interrupt after irq_work_queue(). It must not sleep, but may wake tasks. */
static void pass_on(struct irq_work *work)
{
	schedule_work(&watch_work);
}

static struct irq_work found_work = IRQ_WORK_INIT(pass_on);

/*
 * void __set_task_comm(struct task_struct *tsk, const char *buf, bool exec)
 *
 * A handler must not sleep, and the probed code may hold locks of the scheduler. So it can neither
 * register a watchpoint nor wake a worker that does: it queues an irq_work.
 */
static int on_rename(struct kprobe *kp, struct pt_regs *regs)
{
	struct task_struct *task = (struct task_struct *)regs_get_kernel_argument(regs, 0);

	if (task->pid != pid || cmpxchg(&watched, NULL, task))
		return 0;
	/* Safe: the caller of __set_task_comm() holds a reference until the function returns. */
	get_task_struct(task);
	irq_work_queue(&found_work);
	return 0;
}

NOKPROBE_SYMBOL(on_rename);

static struct kprobe probe = {
	.symbol_name = "__set_task_comm",
	.pre_handler = on_rename,
};

static int stack_show(struct seq_file *m, void *v)
{
	unsigned int i, len;
	int now;

	/* If the probe was hit, wait until the watchpoint is set. */
	irq_work_sync(&found_work);
	flush_work(&watch_work);
	now = READ_ONCE(state);

	if (now < 0) {
		seq_printf(m, "no watchpoint: error %d\n", now);
		return 0;
	}
	if (!now) {
		seq_printf(m, "no watchpoint: thread %d has not been renamed yet\n", pid);
		return 0;
	}
	seq_printf(m, "watching the name of thread %d: %ld writes\n", pid,
		   atomic_long_read(&writes));
	/* Pairs with smp_store_release() in on_write(). */
	len = smp_load_acquire(&stack_len);
	for (i = 0; i < len; i++)
		seq_printf(m, "  %pS\n", (void *)stack[i]);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stack);

static int __init watch_example_init(void)
{
	struct dentry *dir;
	int err;

	if (pid <= 0) {
		pr_err("pid is the number of a thread\n");
		return -EINVAL;
	}
	err = register_kprobe(&probe);
	if (err) {
		pr_err("%s cannot be probed: error %d\n", probe.symbol_name, err);
		return err;
	}
	/* The watchpoint works without the file, so errors of debugfs are ignored. */
	dir = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("stack", 0400, dir, NULL, &stack_fops);
	return 0;
}

static void __exit watch_example_exit(void)
{
	debugfs_lookup_and_remove(KBUILD_MODNAME, NULL);
	/* Keep this order: the probe queues the irq_work, and the irq_work queues the work. */
	unregister_kprobe(&probe);
	irq_work_sync(&found_work);
	cancel_work_sync(&watch_work);
	if (watchpoint)
		unregister_wide_hw_breakpoint(watchpoint);
	if (watched)
		put_task_struct(watched);
}

module_init(watch_example_init);
module_exit(watch_example_exit);

MODULE_DESCRIPTION("sample kernel module with a kprobe that sets a watchpoint");
MODULE_LICENSE("GPL");
