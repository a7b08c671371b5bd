// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: calling the hooks of architectures whose hooks take a struct kprobe.
 *
 * The core calls hooks that take a struct probepoint. This file and legacy.h pass the struct kprobe
 * that the probepoint embeds to the older hooks of these architectures. The architectures keep the
 * instruction in the ainsn of this struct kprobe, and call its handlers, which are the core's
 * dispatchers, see set.c. The architectures also define current_kprobe and kprobe_ctlblk.
 *
 * Some of these hooks write slots by patching text, and decode text that they
 * patched. So the hooks that prepare, arm or disarm a probe are called with
 * text_mutex and cpus_read_lock() held.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/kdebug.h>
#include <linux/memory.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/printk.h>

#include "internal.h"

#ifndef __ARCH_WANT_PROBEPOINT

/* kprobe_busy_begin() records this probe as running. It is never registered. */
struct kprobe kprobe_busy;

/*
 * Begin to count hits of this CPU as missed, for code that calls handlers outside a hit. It must
 * not be called again before kprobe_busy_end().
 */
void kprobe_busy_begin(void)
{
	preempt_disable();
	__this_cpu_write(current_kprobe, &kprobe_busy);
	raw_cpu_ptr(&kprobe_ctlblk)->kprobe_status = KPROBE_HIT_ACTIVE;
}

void kprobe_busy_end(void)
{
	__this_cpu_write(current_kprobe, NULL);
	preempt_enable();
}

/*
 * Called when an oops is about to end the current task. A handler that raised the oops never
 * returns, and its CPU would count all later hits as missed. Preemption is still disabled if a
 * handler was running.
 */
void kprobe_task_oopsed(void)
{
	guard(preempt)();
	reset_current_kprobe();
}

/* Return: 0, or an errno as register_kprobe() documents it. */
int arch_prepare_probepoint(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	return arch_prepare_kprobe(&pp->kp);
}

/*
 * Free what arch_prepare_kprobe() allocated. Architectures override this if they allocate
 * something. It must not access the probed text, which may have been freed. kprobe_mutex is held.
 */
void __weak arch_remove_kprobe(struct kprobe *p)
{
}

/*
 * Make all CPUs see what was armed and disarmed. Architectures whose hooks do not synchronise for
 * each probepoint override this. kprobe_mutex, cpus_read_lock() and text_mutex are held.
 */
void __weak arch_kprobes_sync(void)
{
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/*
 * Prepare a probepoint at an ftrace location. Return: 0, or an errno as register_kprobe() documents
 * it.
 */
int arch_prepare_probepoint_ftrace(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	return arch_prepare_kprobe_ftrace(&pp->kp);
}
#endif

/* Print the address and the opcode of a probepoint. Architectures call this before BUG(). */
void __kprobes dump_kprobe(struct kprobe *kp)
{
	pr_err("kprobes: probe on %pS, opcode %*ph\n", kp->addr, (int)sizeof(kp->opcode),
	       &kp->opcode);
}

/**
 * kprobe_exceptions_notify() - handle an exception that the die notifier reports
 * @nb: not used
 * @event: what happened, a DIE_ number
 * @args: a &struct die_args
 *
 * Architectures that handle hits in a die notifier override it.
 *
 * Return: a NOTIFY_ number.
 */
__weak
int kprobe_exceptions_notify(struct notifier_block *nb, unsigned long event, void *args)
{
	return NOTIFY_DONE;
}

/* The priority puts it before all other die notifiers that handle breakpoints. */
static struct notifier_block die_nb = {
	.notifier_call = kprobe_exceptions_notify,
	.priority = INT_MAX,
};

/* Register the die notifier. Return: 0 or a negative errno. */
int __init kprobe_legacy_init(void)
{
	return register_die_notifier(&die_nb);
}

#endif /* !__ARCH_WANT_PROBEPOINT */
