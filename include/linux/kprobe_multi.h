/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel probes: report the calls and returns of many functions to one client.
 *
 * This is for clients, such as the kprobe.multi links of BPF, that trace many functions without a
 * probe and a probepoint for each. See kernel/kprobes/multi.c.
 */
#ifndef _LINUX_KPROBE_MULTI_H
#define _LINUX_KPROBE_MULTI_H

#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#ifdef CONFIG_KPROBE_MULTI

/**
 * struct kprobe_multi - what reports the calls and returns of many functions to a client
 * @ops: calls @ops.func for each call of one of the functions. The client sets @ops.func, which has
 *	to use kprobe_multi_enter(); or leaves it NULL if only returns are wanted.
 * @rp: calls @rp.handler for each return. The client sets @rp.handler, which has to use
 *	kprobe_multi_returned(); or leaves it NULL if only calls are wanted. Its address is not set.
 * @client: the client, set by the client; NULL while register_kprobe_multi() runs, and once
 *	unregister_kprobe_multi() has been called
 * @nmissed: number of calls that were not reported
 * @dead: links those that are to be freed
 *
 * The client allocates it with kzalloc(). register_kprobe_multi() frees it after an error,
 * otherwise unregister_kprobe_multi() does.
 */
struct kprobe_multi {
	struct ftrace_ops ops;
	struct kretprobe rp;
	void *client;
	atomic_long_t nmissed;
	struct llist_node dead;
};

/**
 * struct kprobe_multi_call - the data of an instance
 * @ip: the address of the call of ftrace in the function
 * @data: the client's private data, zero when the function is entered
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

/* Count a call as missed, unless @km is being registered or unregistered. */
static __always_inline void kprobe_multi_count_missed(struct kprobe_multi *km)
{
	if (READ_ONCE(km->client))
		raw_atomic_long_inc(&km->nmissed);
}

/**
 * kprobe_multi_begin() - begin to handle a call
 * @km: what has reported the call
 *
 * Context: any; for @km->ops.func. If it returns true, preemption is disabled until
 * kprobe_multi_leave().
 *
 * Return: false if RCU does not watch this CPU, and then the call counts as missed.
 */
static __always_inline bool kprobe_multi_begin(struct kprobe_multi *km)
{
	preempt_disable_notrace();
	if (likely(kprobe_rcu_watches()))
		return true;
	kprobe_multi_count_missed(km);
	preempt_enable_notrace();
	return false;
}

/**
 * kprobe_multi_enter() - begin to handle a call, and get the client
 * @km: what has reported the call
 * @regs: all registers, or NULL if ftrace did not save them: until it has updated the call, the
 *	trampoline may be that of a user that needs less. The call then counts as missed.
 *
 * Context: as kprobe_multi_begin(), if it does not return NULL.
 *
 * Return: the client; NULL if @km is being registered or unregistered, if @regs is NULL, or if
 * kprobe_multi_begin() has failed.
 */
static __always_inline void *kprobe_multi_enter(struct kprobe_multi *km, const struct pt_regs *regs)
{
	void *client;

	if (unlikely(!regs)) {
		kprobe_multi_count_missed(km);
		return NULL;
	}
	if (!kprobe_multi_begin(km))
		return NULL;
	client = READ_ONCE(km->client);
	if (unlikely(!client))
		preempt_enable_notrace();
	return client;
}

/**
 * kprobe_multi_leave() - end what kprobe_multi_begin() or kprobe_multi_enter() has begun
 */
static __always_inline void kprobe_multi_leave(void)
{
	preempt_enable_notrace();
}

/**
 * kprobe_multi_returned() - get the client to which a return is reported
 *
 * Context: any; for the handler of a &struct kprobe_multi.rp.
 *
 * Return: the client; NULL if it is being unregistered.
 */
static __always_inline void *kprobe_multi_returned(void)
{
	/* While a handler runs, the running probe is that of its return probe. */
	return READ_ONCE(container_of(*kprobe_running_ptr(), struct kprobe_multi, rp.kp)->client);
}

int register_kprobe_multi(struct kprobe_multi *km, unsigned long *addrs, unsigned int nr);
void unregister_kprobe_multi(struct kprobe_multi *km);
struct kretprobe_instance * __kprobes kprobe_multi_track(struct kprobe_multi *km, unsigned long ip,
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
 * kprobe_multi_missed() - count the calls and returns that were not reported
 * @km: what would have reported them
 *
 * Return: their number.
 */
static inline unsigned long kprobe_multi_missed(struct kprobe_multi *km)
{
	return atomic_long_read(&km->nmissed) + (unsigned int)READ_ONCE(km->rp.nmissed);
}

#endif /* CONFIG_KPROBE_MULTI */

#endif /* _LINUX_KPROBE_MULTI_H */
