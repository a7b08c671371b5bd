// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: return probes of architectures that use rethook.
 *
 * Instances are nodes of rethook. A return probe has maxactive of them, or INSTANCES_PER_CPU
 * for each possible CPU if maxactive is not positive. After unregistration, calls in flight do not
 * call the handler any more, and rethook frees the nodes when the last of them has returned.
 *
 * kretprobe_mutex guards which return probes have a rethook.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/ptrace.h>
#include <linux/rethook.h>
#include <linux/string.h>

#include "internal.h"

#define INSTANCES_PER_CPU	8

static int __kprobes kretprobe_entry(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = container_of(p, struct kretprobe, kp);
	kretprobe_handler_t entry_handler = READ_ONCE(rp->entry_handler);
	struct kretprobe_instance *ri;
	struct rethook_node *node;

	node = rethook_try_get(rp->rh);
	if (!node) {
		raw_atomic_inc((atomic_t *)&rp->nmissed);
		return 0;
	}
	ri = container_of(node, struct kretprobe_instance, node);
	/*
	 * Clear the return address of the call that used the node last, so that
	 * get_kretprobe_retaddr() returns 0 in an entry_handler.
	 */
	node->ret_addr = 0;
	memset(ri->data, 0, rp->data_size);
	if (entry_handler && entry_handler(ri, regs))
		rethook_recycle(node);
	else
		rethook_hook(node, regs, kprobe_ftrace(p));
	return 0;
}

/*
 * Rethook calls this when the function returns. Hits that the handler causes count as missed. The
 * handler may be a BPF program, for which bpf_get_func_ip() asks kprobe_running() for the function.
 */
static void __kprobes kretprobe_return(struct rethook_node *node, void *data,
				       unsigned long ret_addr, struct pt_regs *regs)
{
	struct kretprobe *rp = data;
	kretprobe_handler_t handler = READ_ONCE(rp->handler);

	if (!handler)
		return;
	kprobe_busy_begin();
	*kprobe_running_ptr() = &rp->kp;
	handler(container_of(node, struct kretprobe_instance, node), regs);
	kprobe_busy_end();
}

/**
 * get_kretprobe() - find the return probe that an instance belongs to
 * @ri: record of the call
 *
 * Context: handlers of the return probe.
 *
 * Return: the return probe, or NULL once its unregistration has begun.
 */
struct kretprobe __kprobes *get_kretprobe(struct kretprobe_instance *ri)
{
	struct rethook *rh = ri->node.rethook;

	return rcu_access_pointer(rh->handler) ? rh->data : NULL;
}
EXPORT_SYMBOL_GPL(get_kretprobe);

/**
 * get_kretprobe_retaddr() - find the address that a call returns to
 * @ri: record of the call
 *
 * Context: handlers of the return probe.
 *
 * Return: the return address; 0 in an entry_handler, where it is not known yet.
 */
unsigned long __kprobes get_kretprobe_retaddr(struct kretprobe_instance *ri)
{
	struct llist_node *at = &ri->node.llist;

	if (ri->node.ret_addr != (unsigned long)arch_rethook_trampoline)
		return ri->node.ret_addr;
	/* Of several nodes of one call, the first one hooked has the real return address. */
	return rethook_find_ret_addr(current, ri->node.frame, &at);
}
EXPORT_SYMBOL_GPL(get_kretprobe_retaddr);

/* Is @p the kp of a return probe? */
bool is_kretprobe(const struct kprobe *p)
{
	return kprobe_user_pre(p) == kretprobe_entry;
}

/*
 * May the trampoline of arch_kprobe_ftrace_return_trampoline() handle the hits of a probe?
 * Return: false, as that trampoline cannot call rethook.
 */
bool kretprobe_is_simple(const struct kprobe *p)
{
	return false;
}

/* Return: 0, since rethook does not know which calls ended without a return. */
unsigned int kretprobe_unreturned(const struct kretprobe *rp)
{
	return 0;
}

/*
 * Give a return probe its rethook.
 *
 * Return: 0; -EINVAL if it has one already; or an errno of rethook_alloc().
 */
int kretprobe_setup(struct kretprobe *rp)
{
	int nr = rp->maxactive;
	struct rethook *rh;

	lockdep_assert_held(&kretprobe_mutex);
	if (rp->rh)
		return -EINVAL;
	if (nr <= 0)
		nr = INSTANCES_PER_CPU * num_possible_cpus();
	rh = rethook_alloc(rp, kretprobe_return,
			   sizeof(struct kretprobe_instance) + rp->data_size, nr);
	if (IS_ERR(rh))
		return PTR_ERR(rh);
	rp->rh = rh;
	rp->kp.pre_handler = kretprobe_entry;
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
	lockdep_assert_held(&kretprobe_mutex);
	if (!rp->rh || !rcu_access_pointer(rp->rh->handler))
		return false;
	rethook_stop(rp->rh);
	return true;
}

/*
 * Undo kretprobe_setup(). If the return probe was ever hit, a grace period has passed since its
 * last hit, and since its rethook was stopped. Do nothing if it is not stopped, or was not set up.
 */
void kretprobe_teardown(struct kretprobe *rp)
{
	lockdep_assert_held(&kretprobe_mutex);
	if (!rp->rh || rcu_access_pointer(rp->rh->handler))
		return;
	rethook_free(rp->rh);
	rp->rh = NULL;
	rp->kp.pre_handler = NULL;
}
