// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: kprobe_disable_self(), with which a handler disables its own probe.
 *
 * Disabling a probe takes kprobe_mutex and patches text, which a handler cannot do. A handler that
 * calls kprobe_disable_self() leaves a request instead, and a worker disables the probe. Until
 * then, the text is still armed. A hit must not call the handlers any more, and hits of other
 * probes must not become slower for that. So kprobe_disable_self() replaces the pre_handler and the
 * post_handler of the probe by kprobe_self_disabled_pre() and kprobe_self_disabled_post(), which
 * count the hit as missed. The user's handlers are restored when the probe is enabled again or
 * unregistered:
 *
 *	handler, any context		worker			enable_kprobe()
 *
 *	take p->request
 *	replace post_handler
 *	replace pre_handler
 *	add to requests
 *	kprobe_request()
 *					set the flag DISABLED
 *					commit the batch
 *								RCU grace period
 *								restore the handlers
 *
 * After the grace period, no handler of the probe runs that could make a second request.
 *
 * Several handlers may call kprobe_disable_self() at the same time. Only the call that takes
 * p->request makes a request. The others find that it is taken, until the handlers have been
 * restored. Therefore such a probe may even be in a function that kprobe_request() or queue_work()
 * calls: a hit that the request causes makes no other request. And a user who sets other handlers
 * in the meantime causes no second request either.
 *
 * kprobe_mutex guards taking requests off the list, and restoring handlers.
 */
#include <linux/cleanup.h>
#include <linux/export.h>
#include <linux/kprobes.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "internal.h"

static LLIST_HEAD(requests);

/* Disable all probes for which kprobe_disable_self() has made a request since the last call. */
void kprobe_disable_requested(void)
{
	struct llist_node *list = llist_del_all(&requests);
	struct kprobe *p, *next;
	bool disabled = false;
	LIST_HEAD(changes);

	lockdep_assert_held(&kprobe_mutex);
	llist_for_each_entry_safe(p, next, list, request) {
		/*
		 * Nothing is left to do if the probe was unregistered, or disabled by another
		 * caller.
		 */
		if (!p->point || kprobe_has_flag(p, KPROBE_FLAG_DISABLED))
			continue;
		kprobe_set_disabled(p, true, &changes);
		disabled = true;
	}
	/* Even if the batch is empty: a handler of a probe that waits by now may still run. */
	if (disabled)
		kprobe_commit_removal(&changes);
}

/* Undo kprobe_disable_self() for the probes in @kps that are being enabled. */
void kprobes_restart(struct kprobe **kps, int num)
{
	bool disabled = false;
	int i;

	for (i = 0; i < num; i++)
		disabled |= kps[i]->enabling && kprobe_is_self_disabled(kps[i]);
	if (!disabled)
		return;
	/*
	 * Wait for hits that began before the probes were disabled, and for a
	 * call of kprobe_disable_self() that has replaced a handler, but has
	 * not added its request to the list yet.
	 */
	synchronize_rcu_expedited();
	kprobe_disable_requested();
	for (i = 0; i < num; i++)
		if (kps[i]->enabling)
			kprobe_restore_handlers(kps[i]);
}

static void disable_self_worker(struct work_struct *work)
{
	guard(mutex)(&kprobe_mutex);
	kprobe_disable_requested();
}

static DECLARE_WORK(disable_self_work, disable_self_worker);

static struct kprobe_request disable_self_request = { .work = &disable_self_work };

/**
 * kprobe_disable_self() - request, in a handler of a probe, that the probe be disabled
 * @p: the probe; in handlers of a return probe or a jprobe, its kp. For NULL this does nothing:
 *     get_kretprobe() returns NULL while the return probe is being unregistered.
 *
 * Of all calls since @p was registered or enabled, one returns true. A handler that must do its
 * work only once does it if this returns true. From that call on, new hits do not call the
 * pre_handler and the post_handler of @p. They count as missed, until a worker disables @p soon
 * afterwards. The current hit does not call the post_handler of @p either, if that has not been
 * called yet. A hit that began earlier on another CPU may still be about to call a handler; if
 * that handler calls this function, the function returns false. A fault_handler may be called
 * until the worker has disabled @p. Calls that a return probe already tracks still call its
 * handler.
 *
 * enable_kprobe() completes a pending request first, and then enables @p again.
 *
 * Context: any; only handlers of @p.
 *
 * Return: true if this call has made the request.
 */
bool __kprobes kprobe_disable_self(struct kprobe *p)
{
	struct probe_set *set;
	struct probepoint *pp;

	/* Pairs with smp_store_release() in kprobe_restore_handlers(). */
	if (!p || cmpxchg(&p->request.next, &p->request, NULL) != &p->request)
		return false;
	/*
	 * Replace the post_handler before the pre_handler: a hit that kprobe_self_disabled_pre()
	 * counts as missed must not call the user's post_handler.
	 *
	 * Pass &function: on csky, xchg() declares a variable of the argument's type, which must
	 * not be a function type.
	 */
	if (p->saved_post) {
		WRITE_ONCE(p->saved_post, xchg(&p->post_handler, &kprobe_self_disabled_post));
		/* Read the set after replacing post_handler. Pairs with kprobe_check_post(). */
		smp_mb();
		pp = kprobe_hit_probepoint(p);
		set = pp ? probepoint_set(pp) : NULL;
		/*
		 * If @p is the only probe with a post_handler, hits call the copy of the pointer
		 * in the probe set: replace the copy, too. A probe that waits for its module has
		 * no probe set.
		 */
		if (set && set->post_probe == p)
			WRITE_ONCE(set->post_handler, kprobe_self_disabled_post);
	}
	/*
	 * A hit that calls kprobe_self_disabled_pre() must not read the user's post_handler
	 * afterwards. The xchg() pairs with smp_rmb() in kprobe_self_disabled_pre().
	 */
	if (p->saved_pre)
		WRITE_ONCE(p->saved_pre, xchg(&p->pre_handler, &kprobe_self_disabled_pre));
	llist_add(&p->request, &requests);
	kprobe_request(&disable_self_request);
	return true;
}
EXPORT_SYMBOL_GPL(kprobe_disable_self);
