// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module with one return probe, as a start for your own.
 *
 *	modprobe kretprobe_example
 *	modprobe kretprobe_example func=vfs_read
 *
 * The module prints what the function returns, and how long the call takes, to the kernel
 * log. The probe is in /sys/kernel/debug/kprobes/list, marked with an r.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

static char *func = "kernel_clone";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "function whose returns are reported");

static atomic_long_t returns;

/* A busy function must not flood the log. */
static DEFINE_RATELIMIT_STATE(limit, HZ, 20);

/* Private data of each call, from its entry to its return */
struct call {
	u64 entered;
};

/*
 * Called when the function is entered, with its arguments in the registers. ri->data is zeroed
 * before each call. If the handler returns non-zero, kprobes does not track the call: here, a call
 * by a kernel thread.
 *
 * Use a fast clock: other clocks take locks, which the caller of the function may hold.
 */
static int on_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	if (!current->mm)
		return 1;
	call->entered = ktime_get_mono_fast_ns();
	return 0;
}

/* Called when the function returns. Preemption is disabled: do not sleep, and be quick. */
static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct call *call = (struct call *)ri->data;

	atomic_long_inc(&returns);
	if (__ratelimit(&limit))
		pr_info("%s returned %ld to %pS after %llu ns\n", func,
			(long)regs_return_value(regs), (void *)get_kretprobe_retaddr(ri),
			ktime_get_mono_fast_ns() - call->entered);
	return 0;
}

/* maxactive is 0: only memory limits the number of calls that are tracked at once. */
static struct kretprobe probe = {
	.handler = on_return,
	.entry_handler = on_entry,
	.data_size = sizeof(struct call),
};

static int __init kretprobe_example_init(void)
{
	int err;

	probe.kp.symbol_name = func;
	err = register_kretprobe(&probe);
	if (err)
		pr_err("%s cannot have a return probe: error %d\n", func, err);
	else
		pr_info("return probe on %pS\n", probe.kp.addr);
	return err;
}

static void __exit kretprobe_example_exit(void)
{
	/* Calls that are still under way return without a call of the handler. */
	unregister_kretprobe(&probe);
	pr_info("return probe gone after %ld returns, %d more were missed\n",
		atomic_long_read(&returns), probe.nmissed);
}

module_init(kretprobe_example_init);
module_exit(kretprobe_example_exit);

MODULE_DESCRIPTION("sample kernel module with a return probe");
MODULE_LICENSE("GPL");
