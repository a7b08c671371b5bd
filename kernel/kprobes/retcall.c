// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the calls that return probes follow.
 *
 * A hit at the entry of the function takes an instance, the record of this call, and
 * replaces the return address by the address of a trampoline. When the function returns,
 * the trampoline calls the handlers, and resumes at the real return address.
 *
 * The instances of a task are a list, the newest first. Unwinders find there what the
 * trampoline has replaced. One call has several instances if several return probes are on
 * the function, or if the function ends in a tail call of another one that has a return
 * probe. They all belong to the same place on the stack, and each has the address that the
 * CPU goes on at. All but the oldest of them are chained: bit 0 of their fp is set.
 *
 * Other code may replace the return address too, before or between two of them: rethook, and
 * the function graph tracer. Then the address that the CPU goes on at is that of another
 * trampoline. Such an instance is marked by bit 1 of its fp, so the return does not take the
 * short way in assembly: handlers are to see the address in the caller, which
 * kretprobe_real_address() finds. Where the fp is no place on the stack but the value of a
 * register, its bit 0 is ignored, and there is no such mark.
 *
 * An instance does not refer to its struct kretprobe, which belongs to the user and may be
 * freed before the call returns. It refers to a holder, which refers to the return probe
 * while that is registered. Hits count no references to a holder, and it is freed without
 * waiting for calls, which may not return for a long time:
 *
 * - Instances of a shared pool: some time after return probes have been unregistered, a
 *   worker looks at every instance, and replaces holders that have no return probe by
 *   @unprobed, which is never freed. Then it frees all holders that had been unregistered
 *   before it began.
 * - Instances of a pool of fixed size: the holder and the pool are freed with the last
 *   instance. When the return probe has been unregistered, no hit takes an instance any
 *   more, and the pool counts down the instances as calls return, see pool.c.
 *
 * kretprobe_mutex guards the claiming and releasing of holders. Only a task itself changes
 * its list; an interrupt leaves the list as it was.
 */
#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/irq_work.h>
#include <linux/kcsan-checks.h>
#include <linux/kprobes.h>
#include <linux/minmax.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Takes the place of unregistered return probes in holders. It has no handler. */
static struct kretprobe no_probe;

/* Sentinels: never_there always reads as empty, always_there as occupied. */
static DEFINE_PER_CPU(struct kretprobe_instance *, never_there);
static DEFINE_PER_CPU(struct kretprobe_instance *, always_there) = (void *)-1L;

/* What instances of shared pools refer to when their own holder is about to be freed. */
static struct kretprobe_holder unprobed = {
	.active = &no_probe,
	.back = &always_there,
};

/*
 * Holders of unregistered return probes. Instances of a shared pool may still refer to the
 * first ones; the others have a pool of fixed size, and none of its instances is in use.
 */
static LLIST_HEAD(dead_shared);
static LLIST_HEAD(dead_limited);

/* One pass over all instances serves all return probes that are unregistered in this time. */
#define FREE_SHARED_DELAY	(HZ / 10)

static void kretprobe_free_shared(struct work_struct *work);
static DECLARE_DELAYED_WORK(free_shared_work, kretprobe_free_shared);

static void kretprobe_free_limited(struct work_struct *work);
static DECLARE_WORK(free_limited_work, kretprobe_free_limited);

/* A return raises this interrupt, once for each holder. */
static void __kprobes kretprobe_queue_free_limited(struct irq_work *work)
{
	queue_work(system_unbound_wq, &free_limited_work);
}

/* For returns, which may be in any context. */
static struct irq_work free_limited_irq_work = IRQ_WORK_INIT_HARD(kretprobe_queue_free_limited);

static __always_inline unsigned long kretprobe_trampoline_addr(void)
{
	return (unsigned long)dereference_kernel_function_descriptor(__kretprobe_trampoline);
}

static __always_inline struct kretprobe_instance *kretprobe_node_instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

/* In fp: the call has an older instance. */
#define FP_CHAINED	1UL
#ifdef arch_kretprobe_slot
/* In fp: the return address was another trampoline's already. */
#define FP_REPLACED	2UL
#else
#define FP_REPLACED	0UL
#endif

/* Without the marks in it. */
static __always_inline void *kretprobe_unmarked(void *fp)
{
	return (void *)((unsigned long)fp & ~(FP_CHAINED | FP_REPLACED));
}

static __always_inline void kretprobe_mark(struct kretprobe_instance *ri, unsigned long mark)
{
	ri->fp = (void *)((unsigned long)ri->fp | mark);
}

/* Is an instance one of the call that @frame, which is unmarked, identifies? */
static __always_inline bool kretprobe_is_of_call(struct kretprobe_instance *ri, void *frame)
{
	return kretprobe_unmarked(ri->fp) == frame;
}

/* Is it the oldest one? */
static __always_inline bool kretprobe_is_oldest(struct kretprobe_instance *ri, void *frame)
{
	return ((unsigned long)ri->fp & ~FP_REPLACED) == (unsigned long)frame;
}

/*
 * Take the instance that the CPU keeps to itself, or NULL. Only the CPU itself takes that of a
 * shared pool, in any context.
 */
static __always_inline
struct kretprobe_instance *kretprobe_take_cached(struct kretprobe_holder *holder)
{
	struct kretprobe_instance *ri = this_cpu_read(*holder->cache);

	if (likely(ri))
		/* Else an interrupt has taken it. */
		return likely(kretprobe_cache_try_cmpxchg(holder->cache, ri, NULL)) ? ri : NULL;
	/* Pairs with the exchange in pool_take_from_cpus(). */
	return likely(holder->own) ? xchg(raw_cpu_ptr(holder->own), NULL) : NULL;
}

static __always_inline void kretprobe_give(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *holder = ri->rph;
	struct kretprobe_instance *none = NULL;

	/* Only this CPU takes it from its cache, and sees its own accesses in order. Tell KCSAN. */
	kcsan_release();
	if (likely(kretprobe_cache_try_cmpxchg(holder->back, NULL, ri)))
		return;
	/* Pairs with the exchange in pool_take_from_cpus(). */
	if (holder->own && try_cmpxchg(raw_cpu_ptr(holder->own), &none, ri))
		return;
	kretprobe_pool_give(ri);
}

/* Have a pool of fixed size freed, with its holder. None of its instances is in use. */
static void __kprobes kretprobe_limited_is_free(struct kretprobe_holder *holder)
{
	llist_add(&holder->dead, &dead_limited);
	irq_work_queue(&free_limited_irq_work);
}

/*
 * Give back the instance of a call that has ended. The return probe may be unregistered:
 *
 * - If @holder->rp is set, the instance is given back before the grace period ends that
 *   precedes kretprobe_pool_drain(): preemption has been disabled since the holder was read
 *   first. kretprobe_pool_drain() counts it as free.
 * - If it is NULL, kretprobe_pool_drop() counts the instance, which is not given back.
 *
 * So each instance is counted once.
 */
static __always_inline void kretprobe_end_call(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *holder = ri->rph;

	if (likely(!holder->limited || rcu_access_pointer(holder->rp)))
		kretprobe_give(ri);
	else if (kretprobe_pool_drop(holder->pool))
		kretprobe_limited_is_free(holder);
}

/*
 * The entry of a function.
 */

/*
 * The instances of the current task. An interrupt may add some anywhere between two accesses,
 * and has removed them when it returns.
 */
static __always_inline struct llist_node *kretprobe_newest_call(void)
{
	return READ_ONCE(current->kretprobe_instances.first);
}

static __always_inline void kretprobe_set_newest_call(struct llist_node *node)
{
	WRITE_ONCE(current->kretprobe_instances.first, node);
}

/*
 * The call is followed already: copy the return address from its newest instance. That is the
 * first on the list, unless calls in between were left without a return.
 */
static __always_inline void kretprobe_chain(struct kretprobe_instance *ri)
{
	struct llist_node *node;

	for (node = ri->llist.next; node; node = node->next) {
		if (kretprobe_is_of_call(kretprobe_node_instance(node), ri->fp)) {
			ri->ret_addr = kretprobe_node_instance(node)->ret_addr;
			kretprobe_mark(ri, FP_CHAINED);
			return;
		}
	}
}

static __always_inline bool kretprobe_is_followed(struct kretprobe_instance *ri)
{
	return unlikely((unsigned long)ri->ret_addr == kretprobe_trampoline_addr());
}

#ifdef arch_kretprobe_slot

/* Fill in the instance. The stack is unchanged: the entry_handler sees the call as it was. */
static __always_inline void kretprobe_fill(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	unsigned long *slot = arch_kretprobe_slot(regs);
	unsigned long addr = *slot;

	ri->llist.next = kretprobe_newest_call();
	ri->fp = slot;
	ri->ret_addr = (kprobe_opcode_t *)addr;
	/* A quick test, which few return addresses pass, before the two that compare. */
	if (likely(!arch_kretprobe_may_be_replaced(addr)))
		return;
	if (kretprobe_is_followed(ri))
		kretprobe_chain(ri);
	else if (arch_kretprobe_is_replaced(addr))
		kretprobe_mark(ri, FP_REPLACED);
}

/*
 * Follow the call. The instance is on the list before the trampoline is on the stack: an
 * unwinder in an NMI that finds the trampoline finds the instance.
 */
static __always_inline void kretprobe_hook(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_set_newest_call(&ri->llist);
	barrier();
	WRITE_ONCE(*arch_kretprobe_slot(regs), (unsigned long)__kretprobe_trampoline);
}

#else

static __always_inline void kretprobe_fill(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	ri->llist.next = kretprobe_newest_call();
	ri->ret_addr = NULL;
}

static __always_inline void kretprobe_hook(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	arch_prepare_kretprobe(ri, regs);
	ri->fp = kretprobe_unmarked(ri->fp);
	if (kretprobe_is_followed(ri))
		kretprobe_chain(ri);
	kretprobe_set_newest_call(&ri->llist);
}

#endif

/* An instance with data has room for KRETPROBE_DATA_MIN bytes, and ends with a whole word. */
static __always_inline void kretprobe_clear_data(struct kretprobe_instance *ri, size_t size)
{
	memset(ri->data, 0, KRETPROBE_DATA_MIN);
	if (unlikely(size > KRETPROBE_DATA_MIN))
		memset(ri->data + KRETPROBE_DATA_MIN, 0, size - KRETPROBE_DATA_MIN);
}

/* Let the user decide whether the call is followed. */
static noinline int __kprobes
kretprobe_call_entry_handler(struct kretprobe_instance *ri, struct pt_regs *regs,
			     kretprobe_handler_t entry_handler)
{
	if (entry_handler(ri, regs))
		kretprobe_give(ri);
	else
		kretprobe_hook(ri, regs);
	return 0;
}

/* The user may set the entry_handler at any time. */
static __always_inline
int kretprobe_follow(struct kretprobe *rp, struct kretprobe_holder *holder,
		     struct kretprobe_instance *ri, struct pt_regs *regs, bool data)
{
	kretprobe_handler_t entry_handler;

	WRITE_ONCE(ri->rph, holder);
	kretprobe_fill(ri, regs);
	if (data)
		kretprobe_clear_data(ri, rp->data_size);
	entry_handler = READ_ONCE(rp->entry_handler);
	if (entry_handler)
		return kretprobe_call_entry_handler(ri, regs, entry_handler);
	kretprobe_hook(ri, regs);
	return 0;
}

/* The CPU has no instance of its own. */
static noinline int __kprobes kretprobe_enter(struct kretprobe *rp, struct pt_regs *regs)
{
	struct kretprobe_holder *holder = rp->rph;
	struct kretprobe_instance *ri = kretprobe_pool_take(holder->pool);

	if (likely(ri))
		return kretprobe_follow(rp, holder, ri, regs, rp->data_size);
	raw_atomic_inc((atomic_t *)&rp->nmissed);
	return 0;
}

/*
 * The pre_handlers of return probes, without data and with. Other functions are called last, so
 * that no registers need to be saved for them.
 */
static int __kprobes kretprobe_entry(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_holder *holder = rp->rph;
	struct kretprobe_instance *ri = kretprobe_take_cached(holder);

	return likely(ri) ? kretprobe_follow(rp, holder, ri, regs, false) : kretprobe_enter(rp, regs);
}

static int __kprobes kretprobe_entry_data(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_holder *holder = rp->rph;
	struct kretprobe_instance *ri = kretprobe_take_cached(holder);

	return likely(ri) ? kretprobe_follow(rp, holder, ri, regs, true) : kretprobe_enter(rp, regs);
}

/*
 * The return of a function.
 */

/* A return pops at most so many bytes beyond the return address, and drops arguments with them. */
#define RETURN_POPS_MAX	0xffff

/*
 * Find the instance of the call that has returned to @frame, the oldest one if there are
 * several. If the return has dropped arguments, @frame is above the place where the return
 * address was: then it is the nearest call below.
 */
static struct llist_node *__kprobes kretprobe_find_call(struct llist_node *first, void *frame)
{
	struct llist_node *node, *nearest = NULL;

	for (node = first; node; node = node->next)
		if (likely(kretprobe_is_oldest(kretprobe_node_instance(node), frame)))
			return node;
#ifdef arch_kretprobe_slot
	for (node = first; node; node = node->next) {
		void *fp = kretprobe_unmarked(kretprobe_node_instance(node)->fp);

		if (kretprobe_is_oldest(kretprobe_node_instance(node), fp) && fp < frame &&
		    frame - fp <= RETURN_POPS_MAX &&
		    (!nearest || fp > kretprobe_unmarked(kretprobe_node_instance(nearest)->fp)))
			nearest = node;
	}
#endif
	return nearest;
}

/*
 * The address in the caller that a call returns to. The addresses that others have put in its
 * place are found from the call's oldest instance on: newer ones are of no use there.
 */
static __always_inline unsigned long kretprobe_real_address(struct kretprobe_instance *ri)
{
	unsigned long addr = (unsigned long)ri->ret_addr;

#ifdef arch_kretprobe_slot
	if (unlikely(arch_kretprobe_may_be_replaced(addr))) {
		void *frame = kretprobe_unmarked(ri->fp);

		addr = arch_kretprobe_recover(addr, frame, kretprobe_find_call(&ri->llist, frame));
	}
#endif
	return addr;
}

/**
 * __kretprobe_trampoline_handler() - call the handlers of a function that has returned
 * @regs: registers as after the return
 * @frame: identifies the call; the value that arch_prepare_kretprobe() has stored in the
 *	instance's fp
 *
 * Architectures call it if hits are counted as missed anyway. While a handler runs,
 * kprobe_running() returns its return probe's kp; bpf_get_func_ip() reads that.
 *
 * Context: that of the function, with preemption disabled.
 *
 * Return: the address to go on at. That is the real return address, and also in @regs, unless
 * arch_kretprobe_is_replaced().
 */
unsigned long __kprobes __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame)
{
	struct llist_node *first = kretprobe_newest_call(), *last, *node;
	struct kprobe **running = kprobe_running_ptr();
	struct kprobe *outer = *running;
	struct kretprobe_instance *ri;
	unsigned long addr;
	void *fp;

	frame = kretprobe_unmarked(frame);
	/* Functions of other frames were left without a return: end these calls too. */
	last = kretprobe_find_call(first, frame);
	if (unlikely(!last))
		panic("kprobes: no return address at %p\n", frame);
	ri = kretprobe_node_instance(last);
	fp = kretprobe_unmarked(ri->fp);
	addr = (unsigned long)ri->ret_addr;
	instruction_pointer_set(regs, kretprobe_real_address(ri));
#ifdef arch_kretprobe_slot
	/* Unwinders do not find the instance by this place. */
	if (unlikely(fp != frame))
		WRITE_ONCE(*(unsigned long *)frame, addr);
#endif

	/* The instances stay on the list, since a handler may take a stack trace. */
	for (node = first; ; node = node->next) {
		struct kretprobe *rp = get_kretprobe(kretprobe_node_instance(node));
		kretprobe_handler_t handler = rp ? READ_ONCE(rp->handler) : NULL;

		ri = kretprobe_node_instance(node);
		if (handler && kretprobe_is_of_call(ri, fp)) {
			WRITE_ONCE(*running, &rp->kp);
			handler(ri, regs);
		}
		if (node == last)
			break;
	}
	WRITE_ONCE(*running, outer);

#ifdef arch_kretprobe_slot
	WRITE_ONCE(*(unsigned long *)frame, addr);
	barrier();
#else
	arch_kretprobe_fixup_return(regs, (kprobe_opcode_t *)addr);
#endif
	kretprobe_set_newest_call(last->next);
	for (node = first; ; node = first) {
		first = node->next;
		kretprobe_end_call(kretprobe_node_instance(node));
		if (node == last)
			break;
	}
	return addr;
}

#ifdef arch_kretprobe_slot

/**
 * kretprobe_return() - handle the return of a function
 * @regs: registers as after the return. The word behind them is the place where the
 *	return address was, and where the trampoline reads it.
 *
 * The trampoline handles the common case itself: one instance, whose return probe is
 * registered. It calls this function in all others.
 *
 * Context: that of the function.
 */
__visible void __kprobes kretprobe_return(struct pt_regs *regs)
{
	bool begun = arch_kretprobe_begin();

	__kretprobe_trampoline_handler(regs, regs + 1);
	arch_kretprobe_end(begun);
}

#endif

#ifndef arch_kretprobe_slot
/**
 * arch_kretprobe_fixup_return() - restore the real return address
 * @regs: registers that the trampoline has saved
 * @addr: the return address
 *
 * For architectures that keep it in memory.
 */
void __weak arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *addr)
{
}
#endif

/**
 * kretprobe_find_ret_addr() - find the real return address behind the trampoline
 * @task: the task whose stack it is; the current task, or one that is not running
 * @frame: identifies the call, as for __kretprobe_trampoline_handler()
 * @at: how far the searches of this stack have got: the number of instances that they have
 *	passed. The caller sets it to NULL for the first search. It is a number, not the
 *	instance that the last search has found: the caller may be preempted between two
 *	searches, and a task that is not the current one may go on and return, after which
 *	the instance may be freed.
 *
 * Context: any.
 *
 * Return: the return address, or 0 if it is not known.
 */
unsigned long __kprobes kretprobe_find_ret_addr(struct task_struct *task, void *frame,
						struct llist_node **at)
{
	unsigned long passed = 0;
	struct llist_node *node;

	if (task != current && task_is_running(task))
		return 0;

	frame = kretprobe_unmarked(frame);
	/* Chunks and pools are freed by RCU. */
	guard(preempt_notrace)();
	node = READ_ONCE(task->kretprobe_instances.first);
	for (; node; node = READ_ONCE(node->next)) {
		struct kretprobe_instance *ri = kretprobe_node_instance(node);

		if (passed++ < (unsigned long)*at || !kretprobe_is_oldest(ri, frame))
			continue;
		*at = (struct llist_node *)passed;
		return (unsigned long)ri->ret_addr;
	}
	return 0;
}

/**
 * get_kretprobe_retaddr() - find the address that a call returns to
 * @ri: record of the call
 *
 * It is an address in the caller, also if other code has replaced the return address too.
 *
 * Context: handlers of the return probe.
 *
 * Return: the return address; 0 in an entry_handler, on architectures that know it only
 * after the entry_handler.
 */
unsigned long __kprobes get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	return kretprobe_real_address(ri);
}
EXPORT_SYMBOL_GPL(get_kretprobe_retaddr);

/* kprobe_flush_task(), if the task has instances */
void kretprobe_flush_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;

	guard(preempt)();
	node = __llist_del_all(&tsk->kretprobe_instances);
	for (; node; node = next) {
		next = node->next;
		kretprobe_end_call(kretprobe_node_instance(node));
	}
}

/*
 * An idle task never returns from the functions in which it takes its CPU offline, and it may
 * enter some of these when the CPU has been reported dead already. It begins anew when the CPU
 * comes up again. Before that, the CPU that brings it up gives its instances back.
 */
static int kretprobe_flush_idle_task(unsigned int cpu)
{
	kprobe_flush_task(idle_task(cpu));
	return 0;
}

static int __init kretprobe_flush_init(void)
{
	return min(0, cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "kprobes:idle",
						kretprobe_flush_idle_task, NULL));
}
early_initcall(kretprobe_flush_init);

/*
 * Holders.
 */

static void kretprobe_holder_free(struct kretprobe_holder *holder)
{
	if (holder->limited)
		kretprobe_pool_free(holder->pool);
	else
		kretprobe_pool_unshare(holder->pool);
	kfree(holder);
}

static void kretprobe_holders_free(struct llist_node *dead)
{
	struct kretprobe_holder *holder, *next;

	llist_for_each_entry_safe(holder, next, dead, dead) {
		kretprobe_holder_free(holder);
		cond_resched();
	}
}

/*
 * Free the holders of return probes that used a shared pool. No hit has used one of them
 * for a grace period, so no more instances come to refer to them. Only this function frees
 * such holders, and the work item does not run twice at a time: while the instances are
 * looked at, every holder that one of them refers to exists.
 */
static void kretprobe_free_shared(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_shared);

	if (!dead)
		return;
	kretprobe_pools_replace_dead(&unprobed);
	/* A return that has read a holder from its instance before that may still use it. */
	synchronize_rcu();
	kretprobe_holders_free(dead);
}

static void kretprobe_free_limited(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_limited);

	if (!dead)
		return;
	/* The CPU that counted the last instance, and unwinders, may still use it. */
	synchronize_rcu();
	kretprobe_holders_free(dead);
}

/**
 * kretprobe_claim() - give a return probe its holder and its pool
 * @rp: the return probe
 *
 * Context: sleeps; kretprobe_mutex is held.
 *
 * Return: 0; -EINVAL if it has them already; or -ENOMEM.
 */
int kretprobe_claim(struct kretprobe *rp)
{
	struct kretprobe_holder *holder;

	lockdep_assert_held(&kretprobe_mutex);
	if (rp->rph)
		return -EINVAL;
	holder = kzalloc(sizeof(*holder), GFP_KERNEL);
	if (!holder)
		return -ENOMEM;
	holder->limited = rp->maxactive > 0;
	holder->pool = holder->limited ?
		       kretprobe_pool_create(rp->maxactive, rp->data_size) :
		       kretprobe_pool_share(rp->data_size);
	if (!holder->pool) {
		kfree(holder);
		return -ENOMEM;
	}
	if (holder->limited) {
		holder->own = kretprobe_pool_cache(holder->pool);
		holder->cache = &never_there;
		holder->back = &always_there;
	} else {
		holder->cache = kretprobe_pool_cache(holder->pool);
		holder->back = holder->cache;
	}
	holder->active = rp;
	rcu_assign_pointer(holder->rp, rp);
	rp->rph = holder;
	rp->kp.pre_handler = rp->data_size ? kretprobe_entry_data : kretprobe_entry;
	return 0;
}

/**
 * kretprobe_stop() - stop calling the handler of a return probe
 * @rp: the return probe
 *
 * Handlers that are running may go on until an RCU grace period has passed.
 *
 * Context: kretprobe_mutex is held.
 *
 * Return: true if this has stopped it; false if it was stopped before, or never claimed.
 */
bool kretprobe_stop(struct kretprobe *rp)
{
	struct kretprobe_holder *holder = rp->rph;

	lockdep_assert_held(&kretprobe_mutex);
	if (!holder || !rcu_access_pointer(holder->rp))
		return false;
	RCU_INIT_POINTER(holder->rp, NULL);
	WRITE_ONCE(holder->active, &no_probe);
	return true;
}

/**
 * kretprobe_release() - undo kretprobe_claim()
 * @rp: the return probe. If it was ever hit, a grace period has passed since it was stopped
 *	and its last hit.
 *
 * Does nothing if @rp is not stopped, or not claimed.
 *
 * Context: kretprobe_mutex is held.
 */
void kretprobe_release(struct kretprobe *rp)
{
	struct kretprobe_holder *holder = rp->rph;

	lockdep_assert_held(&kretprobe_mutex);
	if (!holder || rcu_access_pointer(holder->rp))
		return;
	rp->rph = NULL;
	rp->kp.pre_handler = NULL;
	if (!holder->limited) {
		llist_add(&holder->dead, &dead_shared);
		queue_delayed_work(system_unbound_wq, &free_shared_work, FREE_SHARED_DELAY);
	} else if (kretprobe_pool_drain(holder->pool)) {
		kretprobe_limited_is_free(holder);
	}
}

/**
 * is_kretprobe() - does a probe belong to a return probe?
 * @p: the probe
 *
 * Return: true if @p is the probe at the entry.
 */
bool is_kretprobe(const struct kprobe *p)
{
	return p->pre_handler == kretprobe_entry || p->pre_handler == kretprobe_entry_data;
}
