// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: freeing memory after two grace periods.
 *
 * A task may be preempted inside a slot or a detour buffer, or on its way into one. So slots and
 * detour buffers are freed after a tasks-RCU grace period and an RCU grace period. After the first,
 * every task has left the memory. After the second, every hit that read the probepoint has ended.
 * The RCU grace period also waits for idle tasks, which tasks RCU does not.
 *
 * call_rcu_tasks() waits for the first grace period. Its callback calls queue_rcu_work(), which
 * waits for the second. No thread waits for the grace periods, since a busy task can delay a
 * tasks-RCU grace period without bounds.
 *
 * kprobe_mutex guards the lists.
 */
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Maximum number of objects that are freed before kprobe_mutex is released */
#define FREE_BATCH	128

/*
 * Objects on waiting wait for the current grace periods, or are being freed. Objects on
 * deferred_list wait until those on waiting are freed; then their grace periods begin.
 */
static LIST_HEAD(waiting);
static LIST_HEAD(deferred_list);

static void deferred_free_waiting(struct work_struct *work);

static struct rcu_head tasks_rcu;
static struct rcu_work free_work = {
	.work = __WORK_INITIALIZER(free_work.work, deferred_free_waiting),
};

static void deferred_tasks_left(struct rcu_head *head)
{
	queue_rcu_work(system_unbound_wq, &free_work);
}

static void deferred_begin_wait(void)
{
	list_splice_tail_init(&deferred_list, &waiting);
	call_rcu_tasks(&tasks_rcu, deferred_tasks_left);
}

/* Free up to FREE_BATCH objects whose grace periods have ended. Return: true if there are more. */
static bool deferred_free_some(void)
{
	struct kprobe_deferred *d;
	unsigned int nr;

	guard(mutex)(&kprobe_mutex);
	for (nr = 0; nr < FREE_BATCH; nr++) {
		d = list_first_entry_or_null(&waiting, struct kprobe_deferred, list);
		if (!d)
			break;
		list_del(&d->list);
		d->free(d);
	}
	if (!list_empty(&waiting))
		return true;
	if (!list_empty(&deferred_list))
		deferred_begin_wait();
	return false;
}

static void deferred_free_waiting(struct work_struct *work)
{
	while (deferred_free_some())
		cond_resched();
}

/*
 * Free memory after a tasks-RCU and an RCU grace period. @deferred is embedded in the object to
 * free, which new hits cannot reach any more. The worker calls @free with kprobe_mutex held.
 *
 * Objects are freed in the order in which this was called: a detour buffer before the probepoint
 * that owns it.
 */
void kprobe_defer_free(struct kprobe_deferred *deferred,
		       void (*free)(struct kprobe_deferred *deferred))
{
	lockdep_assert_held(&kprobe_mutex);
	deferred->free = free;
	list_add_tail(&deferred->list, &deferred_list);
	if (list_empty(&waiting))
		deferred_begin_wait();
}
