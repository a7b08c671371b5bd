// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module that makes a function return another result.
 *
 *	modprobe inject_example pid=$$ skip=1
 *	echo 2 >/sys/module/inject_example/parameters/times
 *
 * The next two calls of do_sys_openat2() by that process return -EIO. With skip=1 the CPU does
 * not execute the function: a pre_handler at its entry redirects execution to the caller.
 * Otherwise it executes the function, and a return probe replaces the result.
 *
 * The caller of the function must be able to handle the result. With skip=1 it must not rely
 * on anything else that the function does, such as taking a lock or filling a structure.
 * Functions that are marked ALLOW_ERROR_INJECTION() are made for that.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

static char *func = "do_sys_openat2";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "function whose result is changed");

static bool skip;
module_param(skip, bool, 0444);
MODULE_PARM_DESC(skip, "do not execute the function");

static long result = -EIO;
module_param(result, long, 0644);
MODULE_PARM_DESC(result, "what the function returns instead");

static int pid;
module_param(pid, int, 0644);
MODULE_PARM_DESC(pid, "process whose calls are changed, 0 for all");

static int times;
module_param(times, int, 0644);
MODULE_PARM_DESC(times, "how many calls are still to be changed");

static atomic_long_t changed;

/* Should this call be changed? If so, decrement @times. Several CPUs may do that at once. */
static bool change_this(void)
{
	int filter = READ_ONCE(pid), left;

	if (filter && current->tgid != filter)
		return false;
	left = READ_ONCE(times);
	do {
		if (left <= 0)
			return false;
	} while (!try_cmpxchg(&times, &left, left - 1));
	atomic_long_inc(&changed);
	return true;
}

NOKPROBE_SYMBOL(change_this);

#ifdef CONFIG_X86
/*
 * Redirect execution. The rules:
 *
 * - At the entry of a function, the return address is on top of the stack. The handler pops it into
 *   the instruction pointer, as a return instruction does. Anywhere else in a function, the handler
 *   would also have to undo what the function has done so far.
 * - The handler stores the result in the registers where the caller expects it.
 * - The handler returns non-zero. Then the CPU does not execute the probed instruction, and
 *   kprobes calls no more handlers for this hit, not even of other users' probes.
 */
static int return_at_once(struct kprobe *kp, struct pt_regs *regs)
{
	if (!change_this())
		return 0;
	regs_set_return_value(regs, READ_ONCE(result));
	instruction_pointer_set(regs, *(unsigned long *)regs->sp);
	regs->sp += sizeof(unsigned long);
	return 1;
}

NOKPROBE_SYMBOL(return_at_once);

/*
 * Does nothing, but must be set. If the probe is ftrace-based, kprobes takes a post_handler as the
 * sign that a handler may redirect execution, and tells ftrace. Ftrace then refuses live patches of
 * the function, which would redirect it as well.
 */
static void tells_ftrace(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

NOKPROBE_SYMBOL(tells_ftrace);

static struct kprobe entry_probe = {
	.pre_handler = return_at_once,
	.post_handler = tells_ftrace,
};

static int probe_entry(void)
{
	entry_probe.symbol_name = func;
	return register_kprobe(&entry_probe);
}

static void unprobe_entry(void)
{
	unregister_kprobe(&entry_probe);
}
#else
/* The sample knows only how x86 returns from a function. */
static int probe_entry(void)
{
	return -EOPNOTSUPP;
}

static void unprobe_entry(void)
{
}
#endif

/*
 * Called when the function has returned, before its caller continues. On i386 this changes 32
 * bits of the result; the upper half of a longer result is in regs->dx.
 */
static int change_result(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (change_this())
		regs_set_return_value(regs, READ_ONCE(result));
	return 0;
}

NOKPROBE_SYMBOL(change_result);

static struct kretprobe return_probe = {
	.handler = change_result,
};

static int probe_return(void)
{
	return_probe.kp.symbol_name = func;
	return register_kretprobe(&return_probe);
}

static int __init inject_example_init(void)
{
	int err = skip ? probe_entry() : probe_return();

	if (err)
		pr_err("the result of %s cannot be changed: error %d\n", func, err);
	else
		pr_info("%s %s\n", skip ? "will skip" : "will change the result of", func);
	return err;
}

static void __exit inject_example_exit(void)
{
	if (skip)
		unprobe_entry();
	else
		unregister_kretprobe(&return_probe);
	pr_info("changed %ld calls of %s\n", atomic_long_read(&changed), func);
}

module_init(inject_example_init);
module_exit(inject_example_exit);

MODULE_DESCRIPTION("sample kernel module with probes that change a result");
MODULE_LICENSE("GPL");
