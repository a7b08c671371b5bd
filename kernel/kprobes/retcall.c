// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the calls that return probes follow.
 *
 * When a return probe is hit at the entry of its function, an instance is
 * taken that stands for this call, and the return address is replaced by that
 * of a trampoline. The trampoline calls the handlers and goes on to the real
 * return address.
 *
 * The instances of a task are a list, the newest first, on which unwinders
 * find what the trampoline replaced. All instances of one call, if several
 * return probes are on the function, or functions ended by calling another
 * in tail position, belong to the same place on the stack. Each knows the
 * real return address; all but the oldest are chained, and have an odd fp to
 * tell. Others that
 * replace return addresses may come between: what they left there is a
 * return address like any other to us.
 *
 * An instance does not refer to its struct kretprobe, which is the user's and
 * may be gone when the call returns. It refers to an anchor, which says whether
 * there still is a return probe. An anchor is freed without waiting for calls,
 * which may not return for a long time, and a hit counts nothing for it:
 *
 * - Of a shared pool: some time after return probes have been unregistered, a
 *   worker looks once at every instance that there is, and makes those that
 *   refer to an anchor without a return probe refer to @unprobed, which stays
 *   forever. Then it frees all the anchors that were found unregistered before
 *   that.
 * - Of a pool of its own: the anchor and the pool go with the last instance.
 *   When the return probe has been unregistered no hit takes one any more, so
 *   the pool counts down its instances as calls return, see pool.c.
 *
 * kretprobe_mutex guards the claiming and releasing of anchors. A task's list is
 * changed by the task only; interrupts leave it as they found it.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Stands for all return probes of a call; nobody registers it. */
static struct kprobe __maybe_unused several;

/* The active one of anchors whose return probe is gone: it has no handler. */
static struct kretprobe nobody;

/* Nothing is taken from one, and nothing is put into the other. */
static DEFINE_PER_CPU(struct kretprobe_instance *, never_there);
static DEFINE_PER_CPU(struct kretprobe_instance *, always_there) = (void *)-1L;

/* What instances of a shared pool refer to when their own anchor is to be freed. */
static struct kretprobe_anchor unprobed = {
	.active = &nobody,
	.back = &always_there,
};

/*
 * Anchors whose return probe is gone: those that instances of a shared pool may
 * refer to, and those whose own pool has all its instances back.
 */
static LLIST_HEAD(dead_shared);
static LLIST_HEAD(dead_limited);

/* One look at all instances is for all return probes that go in this time. */
#define FREE_SHARED_DELAY	(HZ / 10)

static void free_shared(struct work_struct *work);
static DECLARE_DELAYED_WORK(free_shared_work, free_shared);

static void free_limited(struct work_struct *work);
static DECLARE_WORK(free_limited_work, free_limited);

/* A return of a dead return probe asks for this interrupt, so this must not have one. */
static void __kprobes queue_free_limited(struct irq_work *work)
{
	queue_work(system_unbound_wq, &free_limited_work);
}

/* Returns come in any context. */
static struct irq_work free_limited_irq_work = IRQ_WORK_INIT_HARD(queue_free_limited);

static __always_inline unsigned long trampoline(void)
{
	return (unsigned long)dereference_kernel_function_descriptor(__kretprobe_trampoline);
}

static __always_inline struct kretprobe_instance *instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

/* Chained instances differ by this from the oldest of their call. */
static __always_inline void *chained(void *frame)
{
	return (void *)((unsigned long)frame | 1);
}

static __always_inline struct kretprobe_instance *take(struct kretprobe_anchor *anchor)
{
	struct kretprobe_instance *ri = NULL;

	if (likely(anchor->cache))
		ri = this_cpu_xchg(*anchor->cache, NULL);
	return likely(ri) ? ri : kretprobe_pool_take(anchor->pool);
}

static __always_inline void give(struct kretprobe_instance *ri)
{
	struct kretprobe_instance * __percpu *back = ri->anchor->back;
	struct kretprobe_instance *none = NULL;

	if (!this_cpu_try_cmpxchg(*back, &none, ri))
		kretprobe_pool_give(ri);
}

/* Have a pool of its own freed, with its anchor; no instance is in use. */
static void __kprobes limited_is_free(struct kretprobe_anchor *anchor)
{
	llist_add(&anchor->dead, &dead_limited);
	irq_work_queue(&free_limited_irq_work);
}

/*
 * Give back the instance of a call that has ended, perhaps after its return
 * probe. Preemption is disabled since @ri's anchor was looked at first. So a call
 * that sees the return probe here has given @ri back before the grace period
 * ends that comes before kretprobe_pool_drain(); one that does not is counted by
 * kretprobe_pool_drop(), and an instance that is free by then by
 * kretprobe_pool_drain(). Each is counted once.
 */
static __always_inline void end_call(struct kretprobe_instance *ri)
{
	struct kretprobe_anchor *anchor = ri->anchor;

	if (likely(!anchor->limited || rcu_access_pointer(anchor->probe)))
		give(ri);
	else if (kretprobe_pool_drop(anchor->pool))
		limited_is_free(anchor);
}

/*
 * The entry of a function.
 */

/* The call is followed already: learn from that what the stack had. */
static __always_inline void chain(struct kretprobe_instance *ri)
{
	struct llist_node *top = current->kretprobe_instances.first;

	if (!top)
		return;
	ri->ret_addr = instance(top)->ret_addr;
	ri->fp = chained(ri->fp);
}

static __always_inline bool is_followed(struct kretprobe_instance *ri)
{
	return unlikely((unsigned long)ri->ret_addr == trampoline());
}

#ifdef arch_kretprobe_slot

/* Nothing is changed yet: what the handler sees is the call as it was. */
static __always_inline void prepare(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long *slot = arch_kretprobe_slot(regs);

	ri->fp = slot;
	ri->ret_addr = (kprobe_opcode_t *)*slot;
	if (is_followed(ri))
		chain(ri);
}

/* An unwinder that finds the trampoline on the stack finds the instance, too. */
static __always_inline void hook(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	__llist_add(&ri->llist, &current->kretprobe_instances);
	barrier();
	WRITE_ONCE(*arch_kretprobe_slot(regs), (unsigned long)__kretprobe_trampoline);
}

#else

static __always_inline void prepare(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	ri->ret_addr = NULL;
}

static __always_inline void hook(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	arch_prepare_kretprobe(ri, regs);
	if (is_followed(ri))
		chain(ri);
	__llist_add(&ri->llist, &current->kretprobe_instances);
}

#endif

static noinline int __kprobes enter(struct kretprobe *rp, struct pt_regs *regs)
{
	kretprobe_handler_t entry_handler = READ_ONCE(rp->entry_handler);
	struct kretprobe_anchor *anchor = rp->anchor;
	struct kretprobe_instance *ri = take(anchor);

	if (unlikely(!ri)) {
		raw_atomic_inc((atomic_t *)&rp->nmissed);
		return 0;
	}
	WRITE_ONCE(ri->anchor, anchor);
	prepare(ri, regs);
	memset(ri->data, 0, rp->data_size);
	if (entry_handler && entry_handler(ri, regs))
		give(ri);
	else
		hook(ri, regs);
	return 0;
}

/* Nothing to call, and an instance at hand: that must not cost much. */
static int __kprobes kretprobe_entry(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_anchor *anchor = rp->anchor;
	struct kretprobe_instance *ri;

	/* Its user may have set it a moment ago. */
	if (unlikely(READ_ONCE(rp->entry_handler)))
		return enter(rp, regs);
	/* If something that interrupts this takes it first, there is enter(). */
	ri = this_cpu_read(*anchor->plain);
	if (unlikely(!ri || !this_cpu_try_cmpxchg(*anchor->plain, &ri, NULL)))
		return enter(rp, regs);
	WRITE_ONCE(ri->anchor, anchor);
	prepare(ri, regs);
	hook(ri, regs);
	return 0;
}

/*
 * The return from it.
 */

/**
 * __kretprobe_trampoline_handler() - handle the return of a function
 * @regs: registers as after the return
 * @frame: tells the call, as arch_prepare_kretprobe() put it into the
 *	instance's fp
 *
 * For architectures that call it while hits are counted as missed anyway.
 *
 * Context: that of the function, with preemption disabled.
 *
 * Return: where to go on, which is in @regs, too.
 */
unsigned long __kprobes __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame)
{
	struct llist_node *first = current->kretprobe_instances.first, *last, *node;
	struct kretprobe_instance *ri;
	unsigned long addr;

	/* Those of other frames were left without a return. */
	for (last = first; last && instance(last)->fp != frame; )
		last = last->next;
	if (unlikely(!last))
		panic("kprobes: no return address at %p\n", frame);
	ri = instance(last);
	addr = (unsigned long)ri->ret_addr;
	instruction_pointer_set(regs, addr);

	/* Stacks that handlers take need all of the list. */
	for (node = first; ; node = node->next) {
		struct kretprobe *rp = get_kretprobe(instance(node));
		kretprobe_handler_t handler = rp ? READ_ONCE(rp->handler) : NULL;

		ri = instance(node);
		if (handler && (ri->fp == frame || ri->fp == chained(frame)))
			handler(ri, regs);
		if (node == last)
			break;
	}

#ifdef arch_kretprobe_slot
	WRITE_ONCE(*(unsigned long *)frame, addr);
	barrier();
#else
	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)addr);
#endif
	current->kretprobe_instances.first = last->next;
	for (node = first; ; node = first) {
		first = node->next;
		end_call(instance(node));
		if (node == last)
			break;
	}
	return addr;
}

#ifdef arch_kretprobe_slot

/**
 * kretprobe_return() - handle the return of a function
 * @regs: registers as after the return. The word above them is where the
 *	return address was, and where the trampoline looks for it.
 *
 * The trampoline does itself what most returns need, of one instance of a
 * return probe that is there; this is for the others.
 *
 * Context: that of the function.
 */
asmlinkage __visible void __kprobes kretprobe_return(struct pt_regs *regs)
{
	bool begun = arch_kretprobe_begin(&several);

	__kretprobe_trampoline_handler(regs, regs + 1);
	arch_kretprobe_end(begun);
}

#endif

#ifndef arch_kretprobe_slot
/**
 * arch_kretprobe_fixup_return() - put the real return address back
 * @regs: registers that the trampoline has saved
 * @addr: the return address
 *
 * For architectures where it is in memory.
 */
void __weak arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *addr)
{
}
#endif

/**
 * kretprobe_find_ret_addr() - find what the trampoline's address replaced
 * @task: whose stack it is; the current task, or one that is not running
 * @frame: as the same of __kretprobe_trampoline_handler()
 * @at: where the search has come to. The caller sets it to NULL for the
 *	first search, and keeps preemption disabled until the last one.
 *
 * May be called in any context.
 *
 * Return: the return address, or 0 if it is not known.
 */
unsigned long __kprobes kretprobe_find_ret_addr(struct task_struct *task, void *frame,
						struct llist_node **at)
{
	struct llist_node *node;

	if (task != current && task_is_running(task))
		return 0;

	node = *at ? READ_ONCE((*at)->next) : READ_ONCE(task->kretprobe_instances.first);
	for (; node; node = READ_ONCE(node->next)) {
		struct kretprobe_instance *ri = instance(node);

		if (ri->fp != frame)
			continue;
		*at = node;
		return (unsigned long)ri->ret_addr;
	}
	return 0;
}

/**
 * get_kretprobe_retaddr() - tell where a call returns to
 * @ri: record of the call
 *
 * If others than return probes have replaced the return address as well, it
 * still is the caller's.
 *
 * Context: handlers of the return probe.
 *
 * Return: the return address; 0 in an entry_handler, on those architectures
 * that don't know it by then.
 */
unsigned long __kprobes get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	unsigned long addr = (unsigned long)ri->ret_addr;

#ifdef arch_kretprobe_recover
	addr = arch_kretprobe_recover(addr, ri->fp);
#endif
	return addr;
}
EXPORT_SYMBOL_GPL(get_kretprobe_retaddr);

/**
 * kprobe_flush_task() - a task has ended
 * @tsk: the task
 *
 * The calls that it was in are not going to return.
 *
 * Context: any in which nobody else changes the task's list.
 */
void kprobe_flush_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;

	guard(preempt)();
	node = __llist_del_all(&tsk->kretprobe_instances);
	for (; node; node = next) {
		next = node->next;
		end_call(instance(node));
	}
}

/*
 * Anchors.
 */

static void anchor_free(struct kretprobe_anchor *anchor)
{
	kretprobe_pool_put(anchor->pool);
	kfree(anchor);
}

static void anchors_free(struct llist_node *dead)
{
	struct kretprobe_anchor *anchor, *next;

	llist_for_each_entry_safe(anchor, next, dead, dead) {
		anchor_free(anchor);
		cond_resched();
	}
}

/*
 * No hit has used one of the anchors on the list for a grace period, so no
 * instance comes to refer to one any more. The work item does not run twice at a
 * time, and nothing else frees an anchor that an instance of a shared pool refers
 * to; so while it looks at them all anchors are there.
 */
static void free_shared(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_shared);

	if (!dead)
		return;
	kretprobe_pools_replace_dead(&unprobed);
	/* Returns that found an anchor by an instance before may still use it. */
	synchronize_rcu();
	anchors_free(dead);
}

static void free_limited(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_limited);

	if (!dead)
		return;
	/* The CPU that gave the last instance back, and unwinders, may still be at it. */
	synchronize_rcu();
	anchors_free(dead);
}

/**
 * kretprobe_claim() - get a return probe what it needs to follow calls
 * @rp: the return probe
 *
 * Context: sleeps; kretprobe_mutex is held.
 *
 * Return: 0; -EINVAL if it has that already; or -ENOMEM.
 */
int kretprobe_claim(struct kretprobe *rp)
{
	struct kretprobe_anchor *anchor;

	lockdep_assert_held(&kretprobe_mutex);
	if (rp->anchor)
		return -EINVAL;
	anchor = kzalloc(sizeof(*anchor), GFP_KERNEL);
	if (!anchor)
		return -ENOMEM;
	anchor->limited = rp->maxactive > 0;
	anchor->pool = anchor->limited ?
		       kretprobe_pool_create(rp->maxactive, rp->data_size) :
		       kretprobe_pool_share(rp->data_size);
	if (!anchor->pool) {
		kfree(anchor);
		return -ENOMEM;
	}
	anchor->cache = kretprobe_pool_cache(anchor->pool);
	anchor->back = anchor->cache ?: &always_there;
	anchor->plain = anchor->cache && !rp->data_size ? anchor->cache : &never_there;
	anchor->active = rp;
	rcu_assign_pointer(anchor->probe, rp);
	rp->anchor = anchor;
	rp->kp.pre_handler = kretprobe_entry;
	return 0;
}

/**
 * kretprobe_stop() - have the handlers of a return probe called no more
 * @rp: the return probe
 *
 * Those that are running may go on until an RCU grace period has passed.
 *
 * Context: kretprobe_mutex is held.
 *
 * Return: false if it has been stopped before, or never was claimed.
 */
bool kretprobe_stop(struct kretprobe *rp)
{
	struct kretprobe_anchor *anchor = rp->anchor;

	lockdep_assert_held(&kretprobe_mutex);
	if (!anchor || !rcu_access_pointer(anchor->probe))
		return false;
	RCU_INIT_POINTER(anchor->probe, NULL);
	WRITE_ONCE(anchor->active, &nobody);
	return true;
}

/**
 * kretprobe_release() - undo kretprobe_claim()
 * @rp: the return probe, which has been stopped and is not hit any more. A
 *	grace period has passed if it ever was.
 *
 * Context: kretprobe_mutex is held.
 */
void kretprobe_release(struct kretprobe *rp)
{
	struct kretprobe_anchor *anchor = rp->anchor;

	lockdep_assert_held(&kretprobe_mutex);
	rp->anchor = NULL;
	rp->kp.pre_handler = NULL;
	if (!anchor->limited) {
		llist_add(&anchor->dead, &dead_shared);
		queue_delayed_work(system_unbound_wq, &free_shared_work, FREE_SHARED_DELAY);
	} else if (kretprobe_pool_drain(anchor->pool)) {
		limited_is_free(anchor);
	}
}

/**
 * is_kretprobe() - tell whether a probe is the one at the entry of a return
 *	probe
 * @p: the probe
 *
 * Return: true if it is.
 */
bool is_kretprobe(const struct kprobe *p)
{
	return p->pre_handler == kretprobe_entry;
}
