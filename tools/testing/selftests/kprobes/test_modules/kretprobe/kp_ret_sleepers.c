// SPDX-License-Identifier: GPL-2.0
/*
 * A function in which processes sleep while scripts probe it.
 *
 * debugfs kp_ret_sleepers/sleep	a write sleeps until it is woken; EINTR after a signal
 *	   kp_ret_sleepers/spin		the same, but the task stays runnable
 *	   kp_ret_sleepers/wake		a write wakes all sleepers
 *	   kp_ret_sleepers/asleep	number of sleepers
 *	   kp_ret_sleepers/show		a write of a process id logs its stack as sysrq-t does
 */

#include <linux/pid.h>
#include <linux/sched/debug.h>
#include <linux/sched/signal.h>
#include "kp_test.h"

static DECLARE_WAIT_QUEUE_HEAD(kp_home_queue);
static unsigned int kp_home_woken;
static atomic_t kp_home_asleep;

static int kp_home_spin(unsigned int woken)
{
	while (READ_ONCE(kp_home_woken) == woken) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		cond_resched();
	}
	return 0;
}

/* Sleep until a write to the file wake; with a negative @arg, spin until then. */
noinline long kp_home_sleep(long arg);
noinline long kp_home_sleep(long arg)
{
	unsigned int woken = READ_ONCE(kp_home_woken);
	int ret;

	atomic_inc(&kp_home_asleep);
	ret = arg < 0 ? kp_home_spin(woken) :
	      wait_event_interruptible(kp_home_queue, READ_ONCE(kp_home_woken) != woken);
	atomic_dec(&kp_home_asleep);
	return ret ?: arg + 1;
}

/* kretprobe-tasks.sh looks for this chain of callers in the stacks of sleeping tasks. */
KP_CALLER(static, kp_home_inner, long, kp_home_sleep(arg))
KP_CALLER(static, kp_home_outer, long, kp_home_inner(arg))

static ssize_t kp_home_stay(long arg)
{
	long ret = kp_home_outer(arg);

	if (ret == -ERESTARTSYS)
		return -EINTR;
	return ret == arg + 1 ? 0 : -EIO;
}

static ssize_t kp_home_sleep_write(struct file *file, const char __user *buf, size_t count,
				   loff_t *pos)
{
	return kp_home_stay(count) ?: count;
}

static ssize_t kp_home_spin_write(struct file *file, const char __user *buf, size_t count,
				  loff_t *pos)
{
	return kp_home_stay(-1L - count) ?: count;
}

static ssize_t kp_home_show_write(struct file *file, const char __user *buf, size_t count,
				  loff_t *pos)
{
	struct task_struct *task;
	struct pid *pid;
	int nr, ret;

	ret = kstrtoint_from_user(buf, count, 10, &nr);
	if (ret)
		return ret;
	pid = find_get_pid(nr);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	/*
	 * A runnable task must not run while its stack is shown. So the script lets the writer run
	 * on the CPU of that task, and preemption is disabled here.
	 */
	scoped_guard(preempt)
		sched_show_task(task);
	put_task_struct(task);
	return count;
}

static const struct file_operations kp_home_sleep_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_home_sleep_write,
	.llseek = noop_llseek,
};

static const struct file_operations kp_home_spin_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_home_spin_write,
	.llseek = noop_llseek,
};

static const struct file_operations kp_home_show_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_home_show_write,
	.llseek = noop_llseek,
};

static ssize_t kp_home_wake_write(struct file *file, const char __user *buf, size_t count,
				  loff_t *pos)
{
	WRITE_ONCE(kp_home_woken, kp_home_woken + 1);
	wake_up_all(&kp_home_queue);
	return count;
}

static const struct file_operations kp_home_wake_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = kp_home_wake_write,
	.llseek = noop_llseek,
};

static struct dentry *kp_home_dir;

static int __init kp_home_init(void)
{
	kp_home_dir = debugfs_create_dir("kp_ret_sleepers", NULL);
	/* With debugfs's proxy, debugfs_remove() would wait for a task that sleeps in a write. */
	debugfs_create_file_unsafe("sleep", 0200, kp_home_dir, NULL, &kp_home_sleep_fops);
	debugfs_create_file_unsafe("spin", 0200, kp_home_dir, NULL, &kp_home_spin_fops);
	debugfs_create_file("show", 0200, kp_home_dir, NULL, &kp_home_show_fops);
	debugfs_create_file("wake", 0200, kp_home_dir, NULL, &kp_home_wake_fops);
	debugfs_create_atomic_t("asleep", 0400, kp_home_dir, &kp_home_asleep);
	return 0;
}

static void __exit kp_home_exit(void)
{
	debugfs_remove(kp_home_dir);
}

KP_MODULE("A function to sleep in, for return probes", kp_home_init, kp_home_exit);
