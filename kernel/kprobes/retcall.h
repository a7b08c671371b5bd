/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_RETCALL_H
#define _KERNEL_KPROBES_RETCALL_H
/*
 * Kretprobe instances: each records one call that a return probe tracks. See retcall.c.
 */

#include <linux/kcsan-checks.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "internal.h"

static __always_inline unsigned long kretprobe_trampoline_addr(void)
{
	return (unsigned long)dereference_kernel_function_descriptor(__kretprobe_trampoline);
}

static __always_inline struct kretprobe_instance *kretprobe_node_instance(struct llist_node *node)
{
	return container_of(node, struct kretprobe_instance, llist);
}

/* Bit of fp: the call has an older instance. */
#define FP_CHAINED	1UL
#ifdef arch_kretprobe_slot
/*
 * Bit of fp: the return address that the instance replaced is the trampoline of another tracer.
 * Never set on architectures without arch_kretprobe_slot().
 */
#define FP_REPLACED	2UL
#else
#define FP_REPLACED	0UL
#endif

static __always_inline void *kretprobe_unmarked(void *fp)
{
	return (void *)((unsigned long)fp & ~(FP_CHAINED | FP_REPLACED));
}

static __always_inline void kretprobe_mark(struct kretprobe_instance *ri, unsigned long mark)
{
	ri->fp = (void *)((unsigned long)ri->fp | mark);
}

/* Does @ri belong to the call at @frame? */
static __always_inline bool kretprobe_is_of_call(struct kretprobe_instance *ri, void *frame)
{
	return kretprobe_unmarked(ri->fp) == frame;
}

/* Is @ri the oldest instance of the call at @frame? */
static __always_inline bool kretprobe_is_oldest(struct kretprobe_instance *ri, void *frame)
{
	return ((unsigned long)ri->fp & ~FP_REPLACED) == (unsigned long)frame;
}

DECLARE_PER_CPU(struct kretprobe_instance *, kretprobe_never_there);

/*
 * Take the instance that this CPU caches, or return NULL if there is none.
 *
 * A shared pool has its cache in holder->cache. No other CPU changes the cache of an online CPU,
 * but interrupts and NMIs of this CPU do, so a cmpxchg that is atomic on this CPU is enough. A pool
 * of fixed size has its cache in holder->own, and *holder->cache is always NULL. Other CPUs take
 * instances from holder->own when the pool is empty, so the exchange must be atomic for all CPUs.
 */
static __always_inline
struct kretprobe_instance *kretprobe_take_cached(struct kretprobe_holder *holder)
{
	struct kretprobe_instance * __percpu *cache = READ_ONCE(holder->cache);
	struct kretprobe_instance *ri = this_cpu_read(*cache);

	if (likely(ri))
		/* This fails if an interrupt has taken the instance since it was read. */
		return likely(kretprobe_cache_try_cmpxchg(cache, ri, NULL)) ? ri : NULL;
	/* Pairs with the exchange in pool_take_from_cpus(). */
	return likely(holder->own) ? xchg(raw_cpu_ptr(holder->own), NULL) : NULL;
}

static __always_inline void kretprobe_give(struct kretprobe_instance *ri)
{
	struct kretprobe_holder *holder = ri->rph;
	struct kretprobe_instance *none = NULL;

	/*
	 * Tell KCSAN that the accesses to the instance end here. The CPU needs no barrier for
	 * @back, from which no other CPU takes instances. The exchange with @own is a barrier.
	 */
	kcsan_release();
	if (likely(kretprobe_cache_try_cmpxchg(holder->back, NULL, ri)))
		return;
	/* Pairs with the exchange in pool_take_from_cpus(). */
	if (holder->own && try_cmpxchg(raw_cpu_ptr(holder->own), &none, ri))
		return;
	kretprobe_pool_give(ri);
}

/* READ_ONCE() and WRITE_ONCE(): interrupts add instances to the list and remove them again. */
static __always_inline struct llist_node *kretprobe_newest_call(void)
{
	return READ_ONCE(current->kretprobe_instances.first);
}

static __always_inline void kretprobe_set_newest_call(struct llist_node *node)
{
	WRITE_ONCE(current->kretprobe_instances.first, node);
}

/*
 * Called if the return address is already the address of the trampoline: an older instance of the
 * same call has replaced it. All instances of the call have the original return address: copy it
 * from the first one on the list. The instances before that belong to other calls, which ended
 * without a return.
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

static __always_inline bool kretprobe_is_tracked(struct kretprobe_instance *ri)
{
	return unlikely((unsigned long)ri->ret_addr == kretprobe_trampoline_addr());
}

#ifdef arch_kretprobe_slot

/*
 * Record the call in its instance. Leave the stack unchanged until kretprobe_hook(): the
 * entry_handler must see the original return address there.
 */
static __always_inline void kretprobe_fill_at(struct kretprobe_instance *ri, unsigned long *slot)
{
	unsigned long addr = *slot;

	ri->llist.next = kretprobe_newest_call();
	ri->fp = slot;
	ri->ret_addr = (kprobe_opcode_t *)addr;
	/* A cheap test first: few return addresses have the alignment of trampolines. */
	if (likely(!arch_kretprobe_may_be_replaced(addr)))
		return;
	if (kretprobe_is_tracked(ri))
		kretprobe_chain(ri);
	else if (arch_kretprobe_is_replaced(addr))
		kretprobe_mark(ri, FP_REPLACED);
}

/*
 * Replace the return address with the trampoline's. Put the instance on the
 * list first: an unwinder in an NMI that finds the trampoline on the stack
 * needs the instance.
 */
static __always_inline void kretprobe_hook_at(struct kretprobe_instance *ri, unsigned long *slot)
{
	kretprobe_set_newest_call(&ri->llist);
	barrier();
	WRITE_ONCE(*slot, (unsigned long)__kretprobe_trampoline);
}

static __always_inline void kretprobe_fill(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_fill_at(ri, arch_kretprobe_slot(regs));
}

static __always_inline void kretprobe_hook(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kretprobe_hook_at(ri, arch_kretprobe_slot(regs));
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
	if (kretprobe_is_tracked(ri))
		kretprobe_chain(ri);
	kretprobe_set_newest_call(&ri->llist);
}

#endif

#endif /* _KERNEL_KPROBES_RETCALL_H */
