// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: memory that is freed after two grace periods.
 *
 * A task may have been preempted inside a slot or a detour buffer, or on its way
 * into one, after the last hit that was sent there. Such memory is freed after a
 * tasks-RCU grace period, in which every task has left the slot, and an RCU grace
 * period, in which every hit that read the probepoint has ended. The second one is
 * also for idle tasks, which tasks RCU does not wait for.
 *
 * kprobe_mutex guards the list.
 */
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "internal.h"

static LIST_HEAD(deferred_list);

static void free_deferred(struct work_struct *work)
{
	struct kprobe_deferred *d, *next;
	LIST_HEAD(list);

	scoped_guard(mutex, &kprobe_mutex)
		list_splice_init(&deferred_list, &list);
	if (list_empty(&list))
		return;

	synchronize_rcu_tasks();
	synchronize_rcu();

	guard(mutex)(&kprobe_mutex);
	list_for_each_entry_safe(d, next, &list, list) {
		list_del(&d->list);
		d->free(d);
	}
}

static DECLARE_WORK(free_deferred_work, free_deferred);

/**
 * kprobe_defer_free() - free memory after a tasks-RCU and an RCU grace period
 * @deferred: embedded in what is to be freed; no new hit gets there any more
 * @free: frees it; the worker calls it with kprobe_mutex held
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_defer_free(struct kprobe_deferred *deferred,
		       void (*free)(struct kprobe_deferred *deferred))
{
	lockdep_assert_held(&kprobe_mutex);
	deferred->free = free;
	list_add(&deferred->list, &deferred_list);
	queue_work(system_unbound_wq, &free_deferred_work);
}
