// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module with one jprobe. New code does not need jprobes: a kprobe at the entry of the
 * function reads the arguments with regs_get_kernel_argument().
 *
 *	modprobe jprobe_example
 *
 * The module prints arguments of kernel_clone(), which creates all tasks, to the kernel log.
 * The probe is in /sys/kernel/debug/kprobes/list, marked with a j.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/sched/task.h>

static atomic_long_t calls;

/* A busy function must not flood the log. */
static DEFINE_RATELIMIT_STATE(limit, HZ, 20);

/*
 * Called before the function, with its arguments. Preemption is disabled, and interrupts may
 * be: do not sleep, and be quick. If the handler assigns to its parameters, the function does
 * not see that.
 */
static pid_t on_clone(struct kernel_clone_args *args)
{
	atomic_long_inc(&calls);
	if (__ratelimit(&limit))
		pr_info("kernel_clone(flags=%#llx, exit_signal=%d)\n", args->flags,
			args->exit_signal);

	/*
	 * Every path must end with jprobe_return(), which never returns here. The return statement
	 * only satisfies the compiler.
	 */
	jprobe_return();
	return 0;
}

/* Nothing checks the prototype at run time: with another one the arguments would be wrong. */
static_assert(__same_type(on_clone, kernel_clone));

static struct jprobe probe = {
	.kp.symbol_name = "kernel_clone",
	.entry = on_clone,
};

static int __init jprobe_example_init(void)
{
	int err = register_jprobe(&probe);

	if (err)
		pr_err("kernel_clone cannot have a jprobe: error %d\n", err);
	else
		pr_info("jprobe on %pS\n", probe.kp.addr);
	return err;
}

static void __exit jprobe_example_exit(void)
{
	/* When this returns, the handler is not running and is not called any more. */
	unregister_jprobe(&probe);
	pr_info("jprobe gone after %ld calls, %lu more were missed\n", atomic_long_read(&calls),
		probe.kp.nmissed);
}

module_init(jprobe_example_init);
module_exit(jprobe_example_exit);

MODULE_DESCRIPTION("sample kernel module with a jprobe");
MODULE_LICENSE("GPL");
