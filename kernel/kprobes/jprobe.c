// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: jprobes, for modules from before Linux 4.15.
 *
 * A jprobe is a probe at the entry of a function. Its pre_handler loads the function's register
 * arguments from the saved registers, copies its stack arguments to a new frame, and calls the
 * user's handler. The handler has copies only, and may overwrite them. This is an ordinary call
 * on the stack of the pre_handler and not a redirection, so it works for breakpoints, jumps and
 * ftrace in the same way.
 *
 * jprobe_return() ends the handler, also from a function that the handler called: it drops the
 * stack frames and resumes after the call of the handler. Returns from these frames would have
 * restored some state of the CPU and the task. This file restores it, see struct before_handler.
 *
 * There is no lock: the state of a call is on the stack, and in the architecture's record of
 * running handlers.
 */
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rethook.h>
#include <linux/sched.h>

#include "internal.h"

/* Do return probes have their own records of calls, and not those of rethook? */
#if defined(CONFIG_KRETPROBES) && !defined(CONFIG_KRETPROBE_ON_RETHOOK)
#define TASK_HAS_INSTANCES
#include "retcall.h"
#endif

/* register_jprobes() and unregister_jprobes() cast arrays of pointers to jprobes. */
static_assert(offsetof(struct jprobe, kp) == 0);

/* Bits of jprobe.reported: misuses by a handler, each reported once per jprobe */
enum jprobe_misuse {
	NO_JPROBE_RETURN,
	PREEMPT_COUNT,
	IRQ_FLAG,
};

/**
 * struct before_handler - state from before a handler, to check or to restore after it
 * @count: preempt_count
 * @flags: the interrupt flag, as local_save_flags() saves it
 * @rethooks: the first node on the task's list of rethook nodes
 * @returns: the first on the task's list of instances of return probes
 */
struct before_handler {
	int count;
	unsigned long flags;
#ifdef CONFIG_RETHOOK
	struct llist_node *rethooks;
#endif
#ifdef TASK_HAS_INSTANCES
	struct llist_node *returns;
#endif
};

/* Give back the instances of calls that jprobe_return() dropped, see jprobe_drop_rethooks(). */
static __always_inline void jprobe_drop_returns(const struct before_handler *before)
{
#ifdef TASK_HAS_INSTANCES
	if (unlikely(kretprobe_newest_call() != before->returns))
		kretprobe_end_newer(before->returns);
#endif
}

/*
 * Recycle rethook nodes of calls that jprobe_return() dropped. These calls never return to
 * rethook's trampoline. If their nodes stayed on the list, the trampoline would use them for the
 * next call that does return to it. Interrupts also add nodes, but remove their nodes before they
 * return.
 */
static __always_inline void jprobe_drop_rethooks(const struct before_handler *before)
{
#ifdef CONFIG_RETHOOK
	struct llist_node *node;

	while (unlikely((node = current->rethooks.first) != before->rethooks)) {
		current->rethooks.first = node->next;
		rethook_recycle(container_of(node, struct rethook_node, llist));
	}
#endif
}

static __always_inline void jprobe_save_state(struct before_handler *before)
{
	before->count = preempt_count();
	local_save_flags(before->flags);
#ifdef CONFIG_RETHOOK
	before->rethooks = current->rethooks.first;
#endif
#ifdef TASK_HAS_INSTANCES
	before->returns = kretprobe_newest_call();
#endif
	/*
	 * Calls that jprobe_return() drops never return, so they must not get onto the graph
	 * tracer's shadow stack.
	 */
	pause_graph_tracing();
}

static bool __kprobes jprobe_is_first(struct jprobe *jp, enum jprobe_misuse misuse)
{
	return !test_and_set_bit(misuse, &jp->reported);
}

/* Called if the handler changed preempt_count, for example because it did not release a lock */
static noinline void __kprobes jprobe_restore_preempt_count(struct jprobe *jp, int count)
{
	int left = preempt_count();

	preempt_count_set(count);
	if (jprobe_is_first(jp, PREEMPT_COUNT))
		pr_err("kprobes: handler %pS of a jprobe has left preempt_count %#x instead of %#x\n",
		       jp->entry, left, count);
}

static noinline void __kprobes jprobe_restore_irq_flag(struct jprobe *jp, unsigned long flags)
{
	local_irq_restore(flags);
	if (jprobe_is_first(jp, IRQ_FLAG))
		pr_err("kprobes: handler %pS of a jprobe has left interrupts %s\n", jp->entry,
		       irqs_disabled_flags(flags) ? "enabled" : "disabled");
}

static __always_inline
void jprobe_restore_state(struct jprobe *jp, const struct before_handler *before)
{
	unpause_graph_tracing();
	jprobe_drop_rethooks(before);
	jprobe_drop_returns(before);
	if (unlikely(preempt_count() != before->count))
		jprobe_restore_preempt_count(jp, before->count);
	if (unlikely(irqs_disabled() != irqs_disabled_flags(before->flags)))
		jprobe_restore_irq_flag(jp, before->flags);
}

static int __kprobes jprobe_call_handler(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe *jp = container_of(p, struct jprobe, kp);
	struct before_handler before;
	bool returned;

	jprobe_save_state(&before);
	returned = !arch_jprobe_call(regs, jp->entry);
	jprobe_restore_state(jp, &before);
	if (unlikely(returned) && jprobe_is_first(jp, NO_JPROBE_RETURN))
		pr_err("kprobes: handler %pS of a jprobe has returned without jprobe_return()\n",
		       jp->entry);
	return 0;
}

/* Is @p the kp of a jprobe? kprobe_disable_self() may have replaced its pre_handler. */
bool __kprobes is_jprobe(const struct kprobe *p)
{
	return kprobe_user_pre(p) == jprobe_call_handler;
}

/**
 * jprobe_return() - end the handler of a jprobe
 *
 * The probed function continues with the registers and the stack that it was called with.
 * Functions that the handler calls may call this, too. It does not release locks that they hold.
 *
 * If no handler of a jprobe is running, or a fault_handler is, it prints a message and returns
 * to its caller.
 *
 * Context: the handler.
 */
void __kprobes jprobe_return(void)
{
	struct kprobe *running = preemptible() ? NULL : kprobe_running();

	if (running && is_jprobe(running))
		arch_jprobe_return();
	pr_err_ratelimited("kprobes: %pS has called %s() outside of a jprobe's handler\n",
			   __builtin_return_address(0), __func__);
}
EXPORT_SYMBOL_GPL(jprobe_return);

static int jprobe_prepare(struct jprobe *jp)
{
	if (!jp)
		return kprobe_refused(NULL, KPROBE_REASON_NO_PROBE, -EINVAL);
	if (!jp->entry || !func_ptr_is_kernel_text(jp->entry))
		return kprobe_refused(&jp->kp, KPROBE_REASON_JPROBE_HANDLER, -EINVAL);
	/*
	 * Leave a registered jprobe as it is: kprobe_disable_self() may have replaced its
	 * pre_handler, which is_jprobe() allows for.
	 */
	if (!is_jprobe(&jp->kp))
		jp->kp.pre_handler = jprobe_call_handler;
	jp->kp.post_handler = NULL;
	return 0;
}

/**
 * register_jprobes() - register several jprobes
 * @jps: the jprobes
 * @num: number of jprobes
 *
 * If one cannot be registered, none is.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 0, or what register_jprobe() would return for the first jprobe that cannot be
 * registered. %-EINVAL also if @jps or one of its members is NULL, if @num is not positive,
 * or if a jprobe is in the array twice.
 */
int register_jprobes(struct jprobe **jps, int num)
{
	int i, err;

	if (!jps || num <= 0)
		return kprobe_refused(NULL, KPROBE_REASON_NO_PROBE, -EINVAL);
	for (i = 0; i < num; i++) {
		err = jprobe_prepare(jps[i]);
		if (err)
			return err;
	}
	return register_kprobes((struct kprobe **)jps, num);
}
EXPORT_SYMBOL_GPL(register_jprobes);

/**
 * register_jprobe() - register a jprobe
 * @jp: the jprobe; see &struct jprobe for the fields that the user sets
 *
 * After this has returned 0, every call of the function calls the handler first, unless it is
 * counted in nmissed, %KPROBE_FLAG_DISABLED is set or debugfs kprobes/enabled is 0.
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return:
 * * 0 - the jprobe is registered
 * * %-EINVAL - what register_kprobe() returns it for; the handler is NULL or is not in the
 *   text of the kernel or of a module; the address is not the entry of a function
 * * %-EILSEQ, %-EOPNOTSUPP, %-ENOENT, %-EBUSY, %-ENODEV, %-ENOMEM - as register_kprobe()
 */
int register_jprobe(struct jprobe *jp)
{
	return jprobe_prepare(jp) ?: register_kprobe(&jp->kp);
}
EXPORT_SYMBOL_GPL(register_jprobe);

/**
 * unregister_jprobes() - unregister several jprobes
 * @jps: the jprobes. A member may be NULL. If a jprobe is not registered, its addr is set to NULL,
 *	as a sign to the caller.
 * @num: number of jprobes
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_jprobes(struct jprobe **jps, int num)
{
	unregister_kprobes((struct kprobe **)jps, num);
}
EXPORT_SYMBOL_GPL(unregister_jprobes);

/**
 * unregister_jprobe() - unregister a jprobe
 * @jp: the jprobe; if it is not registered, its addr is set to NULL
 *
 * When this returns, the handler is not running and is not called any more.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void unregister_jprobe(struct jprobe *jp)
{
	unregister_jprobes(&jp, 1);
}
EXPORT_SYMBOL_GPL(unregister_jprobe);

/**
 * disable_jprobe() - stop calling the handler of a jprobe
 * @jp: a registered jprobe
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as disable_kprobe(); %-EINVAL if @jp is NULL.
 */
int disable_jprobe(struct jprobe *jp)
{
	return jp ? disable_kprobe(&jp->kp) : -EINVAL;
}
EXPORT_SYMBOL_GPL(disable_jprobe);

/**
 * enable_jprobe() - call the handler of a jprobe again
 * @jp: a registered jprobe
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: as enable_kprobe(); %-EINVAL if @jp is NULL.
 */
int enable_jprobe(struct jprobe *jp)
{
	return jp ? enable_kprobe(&jp->kp) : -EINVAL;
}
EXPORT_SYMBOL_GPL(enable_jprobe);
