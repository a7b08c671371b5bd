// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel module with one kprobe, as a start for your own.
 *
 *	modprobe kprobe_example
 *	modprobe kprobe_example symbol=do_sys_openat2 offset=10
 *
 * The module sets a probe on the function, or on the instruction at the offset, which depends
 * on the kernel: objdump shows where instructions begin. It prints some registers before and
 * after the instruction, to the kernel log. The probe is in /sys/kernel/debug/kprobes/list.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/ptrace.h>
#include <linux/ratelimit.h>

static char *symbol = "kernel_clone";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function to probe");

static unsigned int offset;
module_param(offset, uint, 0444);
MODULE_PARM_DESC(offset, "offset of the probed instruction in the function, in bytes");

static atomic_long_t hits;

/* A probe on a busy function must not flood the log. */
static DEFINE_RATELIMIT_STATE(limit, HZ, 20);

/* Print the flags, and the registers that hold arguments and results. */
static void show(const char *when, unsigned long addr, struct pt_regs *regs)
{
	if (!__ratelimit(&limit))
		return;
#if defined(CONFIG_X86_64)
	pr_info("%s %pS: di=%lx si=%lx dx=%lx ax=%lx sp=%lx flags=%lx\n", when, (void *)addr,
		regs->di, regs->si, regs->dx, regs->ax, regs->sp, regs->flags);
#elif defined(CONFIG_X86_32)
	pr_info("%s %pS: ax=%lx dx=%lx cx=%lx sp=%lx flags=%lx\n", when, (void *)addr,
		regs->ax, regs->dx, regs->cx, kernel_stack_pointer(regs), regs->flags);
#elif defined(CONFIG_ARM64)
	pr_info("%s %pS: x0=%llx x1=%llx x2=%llx lr=%llx sp=%llx pstate=%llx\n", when,
		(void *)addr, regs->regs[0], regs->regs[1], regs->regs[2], regs->regs[30],
		regs->sp, regs->pstate);
#else
	pr_info("%s %pS: sp=%lx\n", when, (void *)addr, kernel_stack_pointer(regs));
#endif
}

/*
 * Called before the probed instruction. Preemption is disabled, and interrupts may be: do
 * not sleep, and be quick. If a handler calls a function that has a probe, the hit is counted
 * as missed.
 *
 * A handler may change the registers. If it redirects execution by setting the instruction
 * pointer, it must return non-zero. Then the CPU does not execute the probed instruction, and
 * post_handlers are not called. Otherwise the handler must return 0.
 */
static int before_insn(struct kprobe *kp, struct pt_regs *regs)
{
	atomic_long_inc(&hits);
	show("before", (unsigned long)kp->addr, regs);
	return 0;
}

/* Called after the instruction, under the same rules. A probe need not have a post_handler. */
static void after_insn(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	show("after, next is", instruction_pointer(regs), regs);
}

/* The structure and its handlers must stay in memory until the probe is unregistered. */
static struct kprobe probe = {
	.pre_handler = before_insn,
	.post_handler = after_insn,
};

static int __init kprobe_example_init(void)
{
	int err;

	probe.symbol_name = symbol;
	probe.offset = offset;
	err = register_kprobe(&probe);
	switch (err) {
	case 0:
		pr_info("probe on %pS\n", probe.addr);
		break;
	case -ENOENT:
		pr_err("there is no function %s\n", symbol);
		break;
	case -EILSEQ:
		pr_err("no instruction begins at %s+%#x\n", symbol, offset);
		break;
	default:
		pr_err("%s+%#x cannot be probed: error %d\n", symbol, offset, err);
	}
	return err;
}

static void __exit kprobe_example_exit(void)
{
	/* When this returns, no handler is running and none is called any more. */
	unregister_kprobe(&probe);
	pr_info("probe gone after %ld hits, %lu more were missed\n", atomic_long_read(&hits),
		probe.nmissed);
}

module_init(kprobe_example_init);
module_exit(kprobe_example_exit);

MODULE_DESCRIPTION("sample kernel module with a kprobe");
MODULE_LICENSE("GPL");
