// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: tracking calls for return probes.
 *
 * A hit at the entry of a function takes an instance, the record of this call, and replaces
 * the return address with the address of a trampoline. When the function returns, the
 * trampoline calls the handlers and resumes at the resume address, the one that was replaced.
 *
 * Each task has a list of its instances, newest first, where unwinders find the return
 * addresses. A call has several instances if the function has several return probes, or ends
 * in a tail call of another function with a return probe. All of them have the same stack
 * address in fp, and the same resume address. All but the oldest are chained: bit 0 of fp is set.
 *
 * Rethook and the function graph tracer replace return addresses too. If the resume address is one
 * of their trampolines, bit 1 is set in fp of the oldest instance. Such a return is handled in C,
 * never in assembly: handlers must see the address in the caller, which kretprobe_real_address()
 * finds. On architectures where fp is the value of a register and not a stack address, bit 1
 * belongs to that value, and bit 0 of the value is lost: it becomes the mark of chained instances.
 *
 * The user may free the struct kretprobe before the call returns. So an instance refers to a
 * holder, which refers to the return probe while that is registered. Hits take no reference
 * to a holder, and it is freed without waiting for the calls, which may take long to return:
 *
 * - Shared pool: some time after return probes were unregistered, a worker visits every
 *   instance and replaces holders that have no return probe with @unprobed, which is never
 *   freed. Then it frees all holders whose return probes were unregistered before it began.
 * - Pool of fixed size: after unregistration no hit takes an instance, and the pool counts the
 *   instances down as calls return. The holder and the pool are freed after the last one.
 *
 * kretprobe_mutex guards the setup and teardown of holders. While a task can run, only
 * that task changes its list; an interrupt removes its own instances before it returns.
 */
#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/cpuhotplug.h>
#include <linux/export.h>
#include <linux/init.h>
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

#include "retcall.h"

/* Holders of unregistered return probes refer to this. It has no handler, so returns call none. */
static struct kretprobe no_probe;

/*
 * Placeholders for the fields cache and back of holders whose pool is not shared, for cache of
 * unregistered return probes, and for back of @unprobed. kretprobe_never_there is always NULL, so
 * a hit finds no instance to take; always_there is never NULL, so a return finds no room for its
 * instance.
 */
DEFINE_PER_CPU(struct kretprobe_instance *, kretprobe_never_there);
static DEFINE_PER_CPU(struct kretprobe_instance *, always_there) = (void *)-1L;

/* Instances of shared pools refer to this holder when their own one is about to be freed. */
static struct kretprobe_holder unprobed = {
	.active = &no_probe,
	.back = &always_there,
};

/*
 * Holders of unregistered return probes. Instances may still refer to those in @dead_shared.
 * Those in @dead_limited have a pool of fixed size, none of whose instances is in use.
 */
static LLIST_HEAD(dead_shared);
static LLIST_HEAD(dead_limited);

/* The worker visits all instances at most once in this time. */
#define FREE_SHARED_DELAY	(HZ / 10)

static void kretprobe_free_shared(struct work_struct *work);
static DECLARE_DELAYED_WORK(free_shared_work, kretprobe_free_shared);

static void kretprobe_free_limited(struct work_struct *work);
static DECLARE_WORK(free_limited_work, kretprobe_free_limited);

static struct kprobe_request free_limited_request = { .work = &free_limited_work };

/* Queue a holder to be freed with its pool of fixed size, none of whose instances is in use. */
static void __kprobes kretprobe_limited_is_free(struct kretprobe_holder *holder)
{
	llist_add(&holder->dead, &dead_limited);
	kprobe_request(&free_limited_request);
}

/*
 * Give back the instance of a call that has ended. In a pool of fixed size, each instance has
 * to be counted down once after kretprobe_deactivate() has cleared holder->rp:
 *
 * - If @rp is still set, the instance is given back, and preemption stays disabled from the read of
 *   @rp until then. So the grace period between kretprobe_deactivate() and kretprobe_pool_drain()
 *   waits for that, and kretprobe_pool_drain() counts the instance as free.
 * - If @rp is NULL, kretprobe_pool_drop() counts the instance, which is not given back.
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
 * Count a call that ends without a return. The caller does this before kretprobe_end_call(), after
 * which the holder may be freed.
 */
static __always_inline void kretprobe_count_unreturned(struct kretprobe_instance *ri)
{
	raw_atomic_inc(&READ_ONCE(ri->rph)->unreturned);
}

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

static __always_inline
int kretprobe_track(struct kretprobe *rp, struct kretprobe_holder *holder,
		    struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_handler_t entry_handler;

	WRITE_ONCE(ri->rph, holder);
	kretprobe_fill(ri, regs);
	/* The user may set entry_handler at any time: read it once. */
	entry_handler = READ_ONCE(rp->entry_handler);
	if (entry_handler)
		return kretprobe_call_entry_handler(ri, regs, entry_handler);
	kretprobe_hook(ri, regs);
	return 0;
}

static noinline int __kprobes
kretprobe_track_long_data(struct kretprobe *rp, struct kretprobe_holder *holder,
			  struct kretprobe_instance *ri, struct pt_regs *regs)
{
	memset(ri->data, 0, rp->data_size);
	return kretprobe_track(rp, holder, ri, regs);
}

/*
 * Instances with data have room for at least KRETPROBE_DATA_MIN bytes: clear that many even if
 * data_size is less, since the compiler needs no call of memset() for a constant size.
 */
static __always_inline
int kretprobe_track_data(struct kretprobe *rp, struct kretprobe_holder *holder,
			 struct kretprobe_instance *ri, struct pt_regs *regs)
{
	if (unlikely(rp->data_size > KRETPROBE_DATA_MIN))
		return kretprobe_track_long_data(rp, holder, ri, regs);
	memset(ri->data, 0, KRETPROBE_DATA_MIN);
	return kretprobe_track(rp, holder, ri, regs);
}

/*
 * The slow path of an entry: this CPU's cache had no instance. Take one from the pool, or count the
 * call as missed if the pool has none either.
 */
static noinline int __kprobes kretprobe_enter(struct kretprobe *rp, struct pt_regs *regs)
{
	struct kretprobe_holder *holder = rp->rph;
	struct kretprobe_instance *ri = kretprobe_pool_take(holder->pool);

	if (likely(ri))
		return rp->data_size ? kretprobe_track_data(rp, holder, ri, regs) :
				       kretprobe_track(rp, holder, ri, regs);
	raw_atomic_inc((atomic_t *)&rp->nmissed);
	return 0;
}

/*
 * The pre_handlers of return probes, without data and with data: two functions save a load and
 * a branch for each hit. They end in tail calls, so that they need not save registers.
 */
__visible int __kprobes kretprobe_entry(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_holder *holder = rp->rph;
	struct kretprobe_instance *ri = kretprobe_take_cached(holder);

	return likely(ri) ? kretprobe_track(rp, holder, ri, regs) : kretprobe_enter(rp, regs);
}

static int __kprobes kretprobe_entry_data(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	struct kretprobe_holder *holder = rp->rph;
	struct kretprobe_instance *ri = kretprobe_take_cached(holder);

	return likely(ri) ? kretprobe_track_data(rp, holder, ri, regs) :
			    kretprobe_enter(rp, regs);
}

/* Maximum number of bytes of arguments that a return instruction (ret imm16) drops */
#define RETURN_POPS_MAX	0xffff

/*
 * Find the oldest instance of the call at the stack address @frame. If the return instruction
 * dropped arguments (ret imm16), @frame is above the stack address that the instance has recorded:
 * then find the nearest call below @frame.
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
 * Is @ri of a call further up the same stack than the call at the stack address @frame? Such a call
 * returns later, but its record may be the newer one. For example, if the entry of a return probe
 * is reached by a breakpoint, a function that handles breakpoints records the call of the probed
 * function. On other architectures than x86, the call of that function may itself be tracked. It is
 * recorded first, and returns first.
 */
static __always_inline bool kretprobe_is_above(struct kretprobe_instance *ri, void *frame)
{
	unsigned long distance = kretprobe_unmarked(ri->fp) - frame;

	return distance && distance < THREAD_SIZE;
}

/*
 * Return the address in the caller of the function. If ri->ret_addr is the trampoline of another
 * tracer, look the address up in the records of that tracer. If that tracer had in turn replaced
 * the address of our trampoline, the lookup goes on with the instances after the oldest one of this
 * call.
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
 * @frame: identifies the call; the value that arch_prepare_kretprobe() stored in the
 *	instance's fp
 *
 * The caller has arranged that further hits on this CPU count as missed. While a handler runs,
 * kprobe_running() returns the kp of its return probe, for bpf_get_func_ip().
 *
 * Context: the context of the function, with preemption disabled.
 *
 * Return: the address to resume at: the return address that the entry of the function found. That
 * may be a trampoline of another tracer, see arch_kretprobe_is_replaced(). The instruction pointer
 * in @regs is the real return address in both cases.
 */
unsigned long __kprobes __kretprobe_trampoline_handler(struct pt_regs *regs, void *frame)
{
	struct llist_node *first = kretprobe_newest_call(), *last, *node;
	struct kprobe **running = kprobe_running_ptr();
	struct kprobe *outer = *running;
	struct llist_node *above = NULL, *next;
	struct kretprobe_instance *ri;
	unsigned long addr;
	void *fp;

	frame = kretprobe_unmarked(frame);
	/*
	 * Calls that are newer than the one at @frame will never return: end
	 * them too.
	 */
	last = kretprobe_find_call(first, frame);
	if (unlikely(!last))
		panic("kprobes: no return address at %p\n", frame);
	ri = kretprobe_node_instance(last);
	fp = kretprobe_unmarked(ri->fp);
	addr = (unsigned long)ri->ret_addr;
	instruction_pointer_set(regs, kretprobe_real_address(ri));
#ifdef arch_kretprobe_slot
	/*
	 * If the return dropped arguments, unwinders in handlers do not find the instance by
	 * @frame. So store the return address at @frame before the handlers run.
	 */
	if (unlikely(fp != frame))
		WRITE_ONCE(*(unsigned long *)frame, addr);
#endif

	/* Leave the instances on the list: a handler may take a stack trace. */
	for (node = first; ; node = node->next) {
		struct kretprobe *rp = get_kretprobe(kretprobe_node_instance(node));
		kretprobe_handler_t handler = rp ? READ_ONCE(rp->handler) : NULL;

		ri = kretprobe_node_instance(node);
		if (handler && kretprobe_is_of_call(ri, fp)) {
			WRITE_ONCE(*running, &rp->kp);
			handler(ri, regs);
		} else if (unlikely(!kretprobe_is_of_call(ri, fp) && !kretprobe_is_above(ri, fp))) {
			kretprobe_count_unreturned(ri);
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
	/* Remove one after the other: an unwinder in an NMI must find those that stay. */
	for (node = first; ; node = next) {
		next = node->next;
		ri = kretprobe_node_instance(node);
		if (unlikely(kretprobe_is_above(ri, fp))) {
			above = node;
			continue;
		}
		if (unlikely(above))
			WRITE_ONCE(above->next, next);
		else
			kretprobe_set_newest_call(next);
		kretprobe_end_call(ri);
		if (node == last)
			break;
	}
	return addr;
}

#ifdef arch_kretprobe_slot

/**
 * kretprobe_return() - handle the return of a function
 * @regs: registers as after the return. The word after them is the stack slot of the return
 *	address. The trampoline returns to the address that this function stores there.
 *
 * In 64-bit mode the trampoline itself handles a call that has one instance whose return probe is
 * registered. It calls this function for all other calls.
 *
 * Context: the context of the function.
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
 * Architectures override it if their trampoline returns to an address that it loads from @regs.
 */
void __weak arch_kretprobe_fixup_return(struct pt_regs *regs, kprobe_opcode_t *addr)
{
}
#endif

/* Is @task running on another CPU? Then its list of instances may change at any time. */
static __always_inline bool kretprobe_task_runs(struct task_struct *task)
{
#ifdef CONFIG_SMP
	return task != current && READ_ONCE(task->on_cpu);
#else
	return false;
#endif
}

/**
 * kretprobe_find_ret_addr() - find the return address that the trampoline's address replaced
 * @task: the task whose stack it is; the current task, or one that no CPU runs
 * @frame: identifies the call, as for __kretprobe_trampoline_handler()
 * @at: the number of instances that earlier searches of this stack have passed, cast to a
 *	pointer; NULL at the first search. It does not point to an instance: that might be freed
 *	between two searches, if the caller is preempted there and @task runs and returns.
 *
 * Context: any.
 *
 * Return: the return address, or 0 if it is not known.
 */
unsigned long __kprobes kretprobe_find_ret_addr(struct task_struct *task, void *frame,
						struct llist_node **at)
{
	unsigned long passed = 0, earlier = 0;
	struct llist_node *node;

	if (kretprobe_task_runs(task))
		return 0;

	frame = kretprobe_unmarked(frame);
	/* RCU frees chunks and pools: disabled preemption keeps the instances in memory. */
	guard(preempt_notrace)();
	node = READ_ONCE(task->kretprobe_instances.first);
	for (; node; node = READ_ONCE(node->next)) {
		struct kretprobe_instance *ri = kretprobe_node_instance(node);

		passed++;
		if (!kretprobe_is_oldest(ri, frame))
			continue;
		if (passed > (unsigned long)*at) {
			*at = (struct llist_node *)passed;
			return (unsigned long)ri->ret_addr;
		}
		earlier = (unsigned long)ri->ret_addr;
	}
	/* A call further up the stack may have been recorded later, see kretprobe_is_above(). */
	return earlier;
}
EXPORT_SYMBOL_IF_KUNIT(kretprobe_find_ret_addr);

/**
 * get_kretprobe_retaddr() - find the address that a call returns to
 * @ri: record of the call
 *
 * It is an address in the caller, also if another tracer replaced it on the stack.
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

/*
 * End the current task's calls that are newer than the one of @older, or all if @older is NULL.
 * They will never return. Preemption is disabled.
 */
void __kprobes kretprobe_end_newer(struct llist_node *older)
{
	struct llist_node *node;

	/* Interrupts add instances, but remove them before they return. */
	while ((node = kretprobe_newest_call()) != older) {
		kretprobe_set_newest_call(node->next);
		kretprobe_count_unreturned(kretprobe_node_instance(node));
		kretprobe_end_call(kretprobe_node_instance(node));
	}
}

/*
 * Give back the instances of a task whose calls will never return, and count these calls. The slow
 * path of kprobe_flush_task(), for a task that has instances.
 */
void kretprobe_flush_task(struct task_struct *tsk)
{
	struct llist_node *node, *next;

	guard(preempt)();
	node = __llist_del_all(&tsk->kretprobe_instances);
	for (; node; node = next) {
		next = node->next;
		kretprobe_count_unreturned(kretprobe_node_instance(node));
		kretprobe_end_call(kretprobe_node_instance(node));
	}
}

/*
 * An idle task never returns from the functions that take its CPU offline, and enters some of
 * them after the CPU was reported dead. When the CPU is brought up again, its idle task starts from
 * the beginning. Before that, the CPU that brings it up calls this function, which gives the
 * instances of the idle task back.
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

static void kretprobe_holders_free(struct llist_node *dead)
{
	struct kretprobe_holder *holder, *next;

	/*
	 * Wait for returns that read a holder from their instance before it was replaced. The CPU
	 * that counted the last instance of a pool of fixed size may still access the pool, and so
	 * may unwinders.
	 */
	synchronize_rcu();
	llist_for_each_entry_safe(holder, next, dead, dead) {
		if (holder->limited)
			kretprobe_pool_free(holder->pool);
		else
			kretprobe_pool_unshare(holder->pool);
		kfree(holder);
		cond_resched();
	}
}

/*
 * Free the holders in @dead_shared. No hit has used them for a grace period, so no further instance
 * will refer to them. Only this function frees holders of shared pools, and it never runs
 * concurrently with itself: while it visits the instances, all holders that they refer to exist.
 */
static void kretprobe_free_shared(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_shared);

	if (!dead)
		return;
	kretprobe_pools_replace_dead(&unprobed);
	kretprobe_holders_free(dead);
}

static void kretprobe_free_limited(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&dead_limited);

	if (dead)
		kretprobe_holders_free(dead);
}

/*
 * Give a return probe its holder and its pool.
 *
 * Return: 0; -EINVAL if it has them already; or -ENOMEM.
 */
int kretprobe_setup(struct kretprobe *rp)
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
		holder->cache = &kretprobe_never_there;
		holder->back = &always_there;
	} else {
		holder->cache = kretprobe_pool_cache(holder->pool);
		holder->back = holder->cache;
	}
	holder->active = rp;
	/* No hit finds the holder before probepoint_publish_set() has published @rp. */
	RCU_INIT_POINTER(holder->rp, rp);
	rp->rph = holder;
	rp->kp.pre_handler = rp->data_size ? kretprobe_entry_data : kretprobe_entry;
	holder->simple = !holder->limited && !rp->data_size && !READ_ONCE(rp->entry_handler);
	return 0;
}

/*
 * Stop calling the handler of a return probe.
 *
 * Handlers that are running may go on until an RCU grace period has passed.
 *
 * Return: true; false if it was stopped before, or if the return probe was never set up.
 */
bool kretprobe_deactivate(struct kretprobe *rp)
{
	struct kretprobe_holder *holder = rp->rph;

	lockdep_assert_held(&kretprobe_mutex);
	if (!holder || !rcu_access_pointer(holder->rp))
		return false;
	RCU_INIT_POINTER(holder->rp, NULL);
	WRITE_ONCE(holder->active, &no_probe);
	/* Hits find no cached instance, and take the slow path. */
	WRITE_ONCE(holder->cache, &kretprobe_never_there);
	return true;
}

/*
 * Undo kretprobe_setup(). If the return probe was ever hit, an RCU grace period has passed since
 * its last hit, and since kretprobe_deactivate() stopped it. Do nothing if it is not stopped, or
 * was not set up.
 */
void kretprobe_teardown(struct kretprobe *rp)
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

/* Is @p the kp of a return probe? */
bool is_kretprobe(const struct kprobe *p)
{
	kprobe_pre_handler_t pre = kprobe_user_pre(p);

	return pre == kretprobe_entry || pre == kretprobe_entry_data;
}

/*
 * May arch_kprobe_ftrace_return_trampoline() handle the hits of a probe? Return: true if @p
 * belongs to a return probe with a shared pool and no data, registered without an entry_handler.
 * The user may set one later: the trampoline has to test for it.
 */
bool kretprobe_is_simple(const struct kprobe *p)
{
	return is_kretprobe(p) && container_of(p, struct kretprobe, kp)->rph->simple;
}

/* Return: how many calls were tracked, but ended without a return. */
unsigned int kretprobe_unreturned(const struct kretprobe *rp)
{
	return atomic_read(&rp->rph->unreturned);
}
