// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: report the calls and returns of many functions to one client.
 *
 * A BPF link may be attached to tens of thousands of functions. If each of them had a probe and a
 * probepoint, the link would need hundreds of bytes for a function, and would be slow to attach.
 * It needs neither: all functions have the same handlers, and no post_handler. So a struct
 * kprobe_multi has one ftrace_ops, whose filter has the addresses of all functions, and one struct
 * kretprobe, which is not registered. The function in the ftrace_ops takes an instance of the
 * struct kretprobe, and replaces the return address. From then on the call is like that of any
 * other return probe, see retcall.c.
 *
 * At an entry no level is taken, so hits that the client causes there are handled. At a return they
 * are handled as those of a probe with %KPROBE_FLAG_NEST. The client has to protect itself against
 * calls of the functions that it causes itself.
 */
#include <linux/cleanup.h>
#include <linux/ftrace.h>
#include <linux/kprobe_multi.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/slab.h>
#include <linux/trace_recursion.h>
#include <linux/workqueue.h>

#include "retcall.h"

static __always_inline
void kprobe_multi_fill(struct kretprobe_holder *holder, unsigned long ip, unsigned long *slot,
		       struct kretprobe_instance *ri)
{
	WRITE_ONCE(ri->rph, holder);
	*kprobe_multi_call(ri) = (struct kprobe_multi_call) { .ip = ip };
	kretprobe_fill_at(ri, slot);
}

/*
 * The slow path of a call: this CPU's cache has no instance. Taking one from the pool may call
 * functions whose calls are to be tracked, too. Such a call is missed.
 */
static noinline struct kretprobe_instance *__kprobes
kprobe_multi_track_slowly(struct kprobe_multi *km, unsigned long ip, unsigned long *slot)
{
	struct kretprobe_instance *ri = NULL;
	int bit;

	/* It is being registered or unregistered. */
	if (!READ_ONCE(km->client))
		return NULL;
	bit = ftrace_test_recursion_trylock(ip, *slot);
	if (bit >= 0) {
		ri = kretprobe_pool_take(km->rp.rph->pool);
		ftrace_test_recursion_unlock(bit);
	}
	if (ri)
		kprobe_multi_fill(km->rp.rph, ip, slot, ri);
	else
		raw_atomic_inc((atomic_t *)&km->rp.nmissed);
	return ri;
}

/**
 * kprobe_multi_track() - record a call, to call the handler when it returns
 * @km: what has reported the call
 * @ip: the address that ftrace gave
 * @regs: registers as ftrace gave them
 *
 * The caller must call kprobe_multi_commit() or kprobe_multi_cancel() then. Until then the return
 * address on the stack is the original one.
 *
 * Context: between kprobe_multi_enter() and kprobe_multi_leave().
 *
 * Return: the record; or NULL if there is none left, and then the call counts as missed.
 */
struct kretprobe_instance *kprobe_multi_track(struct kprobe_multi *km, unsigned long ip,
					      struct pt_regs *regs)
{
	struct kretprobe_holder *holder = km->rp.rph;
	struct kretprobe_instance *ri = kretprobe_take_cached(holder);
	unsigned long *slot = arch_kretprobe_slot(regs);

	if (unlikely(!ri))
		return kprobe_multi_track_slowly(km, ip, slot);
	kprobe_multi_fill(holder, ip, slot, ri);
	return ri;
}

/**
 * kprobe_multi_cancel() - do not call the handler when a call returns
 * @ri: the record of the call
 *
 * Context: as kprobe_multi_track().
 */
void __kprobes kprobe_multi_cancel(struct kretprobe_instance *ri)
{
	kretprobe_give(ri);
}

static noinline void __kprobes kprobe_multi_hit_slowly(struct kprobe_multi *km, unsigned long ip,
						       unsigned long *slot)
{
	struct kretprobe_instance *ri = kprobe_multi_track_slowly(km, ip, slot);

	if (ri)
		kprobe_multi_commit(ri);
	kprobe_multi_leave();
}

/* For clients of returns only. The slow path is a tail call, so that no registers need be saved. */
static void __kprobes kprobe_multi_hit(unsigned long ip, unsigned long parent_ip,
				       struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct kprobe_multi *km = container_of(ops, struct kprobe_multi, ops);
	unsigned long *slot = (unsigned long *)ftrace_regs_get_stack_pointer(fregs);
	struct kretprobe_holder *holder = km->rp.rph;
	struct kretprobe_instance *ri;

	if (!kprobe_multi_begin(km))
		return;
	ri = kretprobe_take_cached(holder);
	if (unlikely(!ri))
		return kprobe_multi_hit_slowly(km, ip, slot);
	kprobe_multi_fill(holder, ip, slot, ri);
	kretprobe_hook_at(ri, slot);
	kprobe_multi_leave();
}

/* May a return probe be set on all of the functions? ftrace accepts any byte of its call. */
static bool kprobe_multi_may_return(const unsigned long *addrs, unsigned int nr)
{
	unsigned int i, n;

	for (i = 0; i < kretprobe_blacklist_size; i++) {
		unsigned long entry = (unsigned long)kretprobe_blacklist[i].addr;
		unsigned long call = ftrace_location(entry);

		for (n = 0; call && n < nr; n++)
			if (addrs[n] >= entry && addrs[n] < call + MCOUNT_INSN_SIZE)
				return false;
	}
	return true;
}

static int kprobe_multi_setup_returns(struct kprobe_multi *km, const unsigned long *addrs,
				      unsigned int nr)
{
	int err;

	if (!kprobe_multi_may_return(addrs, nr))
		return -EINVAL;
	/* Unwinders must look for the trampoline even if no probe was ever registered. */
	scoped_guard(mutex, &kprobe_mutex)
		arch_begin_kprobes();
	km->rp.data_size = sizeof(struct kprobe_multi_call);
	km->rp.kp.flags = KPROBE_FLAG_NEST;
	guard(mutex)(&kretprobe_mutex);
	err = kretprobe_setup(&km->rp);
	/* Until kprobe_multi_start(), calls find no instance, and take the slow path. */
	if (!err)
		km->rp.rph->cache = &kretprobe_never_there;
	return err;
}

/*
 * Never called. Until an ftrace_ops that has no client any more is unregistered, its filter has
 * this function only. An empty filter would mean all functions.
 */
static noinline void __used kprobe_multi_nowhere(void)
{
	barrier();
}

/* From now on, report calls and returns. */
static void kprobe_multi_start(struct kprobe_multi *km, void *client)
{
	WRITE_ONCE(km->client, client);
	if (km->rp.handler)
		WRITE_ONCE(km->rp.rph->cache, km->rp.rph->back);
}

/* From now on, report no call and no return. */
static void kprobe_multi_stop(struct kprobe_multi *km)
{
	WRITE_ONCE(km->client, NULL);
	guard(mutex)(&kretprobe_mutex);
	kretprobe_deactivate(&km->rp);
}

/* ftrace does not call @km->ops.func any more, and kprobe_multi_stop() was called before that. */
static void kprobe_multi_free(struct kprobe_multi *km)
{
	ftrace_free_filter(&km->ops);
	scoped_guard(mutex, &kretprobe_mutex)
		kretprobe_teardown(&km->rp);
	kfree(km);
}

/*
 * What is to be freed. One worker does that for all of them, one after the other, since
 * unregister_ftrace_function() holds ftrace_lock while it waits. The worker begins later, so that a
 * task that closes many links does not have to wait for the lock each time.
 */
static LLIST_HEAD(dead_multi);

#define FREE_DELAY	HZ

static void kprobe_multi_free_dead(struct work_struct *work)
{
	struct kprobe_multi *km, *next;

	llist_for_each_entry_safe(km, next, llist_del_all(&dead_multi), dead) {
		/* If ftrace has failed, it may go on calling @km->ops.func. */
		if (!unregister_ftrace_function(&km->ops))
			kprobe_multi_free(km);
	}
}

static DECLARE_DELAYED_WORK(free_dead_multi, kprobe_multi_free_dead);

/**
 * register_kprobe_multi() - begin to report the calls and returns of some functions
 * @km: what is to report them
 * @addrs: the addresses of the functions, or of the calls of ftrace in them
 * @nr: number of functions
 *
 * Nothing is reported before this has succeeded: while ftrace patches many functions, it calls some
 * of them once or several times for each.
 *
 * Context: sleeps; takes kprobe_mutex, kretprobe_mutex and locks of ftrace.
 *
 * Return: 0; -EINVAL if ftrace does not know one of the addresses, or if one of the functions must
 * not have return probes; -ENOMEM; or another errno of register_ftrace_function(). After an error,
 * @km is freed.
 */
int register_kprobe_multi(struct kprobe_multi *km, unsigned long *addrs, unsigned int nr)
{
	void *client = km->client;
	int err;

	km->client = NULL;
	err = km->rp.handler ? kprobe_multi_setup_returns(km, addrs, nr) : 0;
	if (err) {
		kfree(km);
		return err;
	}
	/* kprobe_multi_hit() needs only the stack pointer, which ftrace always saves. */
	if (km->ops.func)
		km->ops.flags |= FTRACE_OPS_FL_SAVE_REGS;
	else
		km->ops.func = kprobe_multi_hit;
	err = ftrace_set_filter_ips(&km->ops, addrs, nr, 0, 0) ?:
	      register_ftrace_function(&km->ops);
	if (!err) {
		kprobe_multi_start(km, client);
		return 0;
	}
	kprobe_multi_stop(km);
	/* If ftrace has failed on the way, some functions will go on calling @km->ops.func. */
	if (!(km->ops.flags & FTRACE_OPS_FL_ENABLED))
		kprobe_multi_free(km);
	return err;
}

/**
 * unregister_kprobe_multi() - stop reporting calls and returns
 * @km: what register_kprobe_multi() has accepted; this frees it
 *
 * No further call or return is reported. Handlers that are running may go on until an RCU grace
 * period has passed. Calls that are still under way return without a call of the handler.
 *
 * It would take long to wait until no task is in ftrace's trampoline, so a worker does that. Until
 * then, @km->ops stays registered, but for no function that is ever called.
 *
 * Context: sleeps; as register_kprobe_multi().
 */
void unregister_kprobe_multi(struct kprobe_multi *km)
{
	unsigned long nowhere = (unsigned long)kprobe_multi_nowhere;

	kprobe_multi_stop(km);
	/* If this fails, ftrace calls @km->ops.func until the worker has unregistered @km->ops. */
	ftrace_set_filter_ips(&km->ops, &nowhere, 1, 0, 1);
	llist_add(&km->dead, &dead_multi);
	queue_delayed_work(system_unbound_wq, &free_dead_multi, FREE_DELAY);
}
