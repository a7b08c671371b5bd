/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes: the calls and returns of many functions, for one user.
 *
 * This is for users of many functions that need neither a probe nor a probepoint for each of them,
 * such as the kprobe.multi links of BPF. See kernel/kprobes/multi.c.
 */
#ifndef _LINUX_KPROBE_MULTI_H
#define _LINUX_KPROBE_MULTI_H

#include <linux/atomic.h>
#include <linux/context_tracking_state.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>

#ifdef CONFIG_KPROBE_MULTI

/**
 * struct kprobe_multi - a user of the calls and returns of many functions
 * @ops: calls @ops.func for each call of one of the functions. The user sets @ops.func; or leaves
 *	it NULL if only returns are wanted. It has to use kprobe_multi_enter().
 * @rp: its handler is called when one of the functions returns. The user sets @rp.handler, or
 *	leaves it NULL if only calls are wanted. Its address is not set.
 * @nmissed: number of calls for which @ops.func had to do nothing
 *
 * All fields that the user does not set must be zero.
 */
struct kprobe_multi {
	struct ftrace_ops ops;
	struct kretprobe rp;
	atomic_t nmissed;
};

/**
 * struct kprobe_multi_call - the data of an instance
 * @ip: the address of the call of ftrace in the function
 * @data: the user's private data, zero when the function is entered
 */
struct kprobe_multi_call {
	unsigned long ip;
	u64 data;
};

/**
 * kprobe_multi_call() - get the data of a call
 * @ri: record of the call
 *
 * Return: the data.
 */
static __always_inline struct kprobe_multi_call *kprobe_multi_call(struct kretprobe_instance *ri)
{
	return (struct kprobe_multi_call *)ri->data;
}

/**
 * kprobe_multi_enter() - begin to handle a call
 * @km: the user
 *
 * Context: any; for the function in @km->ops. If it returns true, preemption is disabled until
 * kprobe_multi_leave().
 *
 * Return: false if RCU does not watch this CPU. The call then counts as missed.
 */
static __always_inline bool kprobe_multi_enter(struct kprobe_multi *km)
{
	preempt_disable_notrace();
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	if (unlikely(!(raw_cpu_read(context_tracking.state.counter) & CT_RCU_WATCHING))) {
		raw_atomic_inc(&km->nmissed);
		preempt_enable_notrace();
		return false;
	}
#endif
	return true;
}

/**
 * kprobe_multi_leave() - end what kprobe_multi_enter() has begun
 */
static __always_inline void kprobe_multi_leave(void)
{
	preempt_enable_notrace();
}

int register_kprobe_multi(struct kprobe_multi *km, unsigned long *addrs, unsigned int nr);
int unregister_kprobe_multi(struct kprobe_multi *km);
struct kretprobe_instance *kprobe_multi_track(struct kprobe_multi *km, unsigned long ip,
					      struct pt_regs *regs);
void kprobe_multi_cancel(struct kretprobe_instance *ri);

/**
 * kprobe_multi_commit() - call the handler when a call returns
 * @ri: the record of the call, which kprobe_multi_track() has returned
 *
 * Context: as kprobe_multi_track().
 */
static __always_inline void kprobe_multi_commit(struct kretprobe_instance *ri)
{
	/* The two lowest bits of fp are marks. The order is that of kretprobe_hook_at(). */
	unsigned long *slot = (unsigned long *)((unsigned long)ri->fp & ~3UL);

	WRITE_ONCE(current->kretprobe_instances.first, &ri->llist);
	barrier();
	WRITE_ONCE(*slot, (unsigned long)__kretprobe_trampoline);
}

/**
 * kprobe_multi_missed() - count the calls and returns that were missed
 * @km: the user
 *
 * Return: their number.
 */
static inline unsigned int kprobe_multi_missed(struct kprobe_multi *km)
{
	return atomic_read(&km->nmissed) + READ_ONCE(km->rp.nmissed);
}

#endif /* CONFIG_KPROBE_MULTI */

#endif /* _LINUX_KPROBE_MULTI_H */
