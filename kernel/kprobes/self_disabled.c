// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the handlers that a hit calls after kprobe_disable_self().
 *
 * The handlers in this file replace the user's handlers until the probe is enabled again or
 * unregistered. In the meantime, saved_pre and saved_post have the user's handlers. disable_self.c
 * draws the order of the steps.
 */
#include <linux/atomic.h>
#include <linux/kprobes.h>

#include "internal.h"

static __always_inline void self_disabled_count_missed(struct kprobe *p)
{
	raw_atomic_inc((atomic_t *)&p->nmissed_disabled);
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

/* The pre_handler of a probe after kprobe_disable_self() */
int __kprobes kprobe_self_disabled_pre(struct kprobe *p, struct pt_regs *regs)
{
	self_disabled_count_missed(p);
	/*
	 * Order the load of p->pre_handler, which led here, before the load of p->post_handler.
	 * kprobe_disable_self() replaces the post_handler first, so this hit cannot call the user's
	 * post_handler any more. Pairs with xchg() in kprobe_disable_self().
	 */
	smp_rmb();
	return 0;
}

/*
 * The post_handler of a probe after kprobe_disable_self(). Counts the hit, unless the probe had a
 * pre_handler: then kprobe_self_disabled_pre() has counted the hit, or the hit called the
 * pre_handler before that was replaced.
 */
void __kprobes kprobe_self_disabled_post(struct kprobe *p, struct pt_regs *regs,
					 unsigned long flags)
{
	if (!p->saved_pre)
		self_disabled_count_missed(p);
}

/*
 * Replace the post_handler in a probe_set that has just been published, if @set->post_probe has
 * called kprobe_disable_self().
 *
 * If exactly one probe in @set has a post_handler, set->post_handler is a copy of it.
 * kprobe_disable_self() may have replaced the post_handler of the probe after it was copied, and
 * have looked for the copy before the set was published. The barriers ensure that at least one side
 * sees the other's store:
 *
 *	probepoint_publish_set()		kprobe_disable_self()
 *
 *	publish the set				replace p->post_handler
 *	smp_mb()				smp_mb()
 *	read p->post_handler			read the set
 */
void kprobe_check_post(struct probe_set *set)
{
	lockdep_assert_held(&kprobe_mutex);
	/* Pairs with smp_mb() in kprobe_disable_self(), see above. */
	smp_mb();
	if (set->post_probe &&
	    READ_ONCE(set->post_probe->post_handler) == kprobe_self_disabled_post)
		WRITE_ONCE(set->post_handler, kprobe_self_disabled_post);
}

/**
 * kprobe_save_handlers() - record the handlers that kprobe_disable_self() may replace
 * @p: a probe that is being registered, enabled, or put into another probe_set
 *
 * Return: true; or false if kprobe_disable_self() has replaced them.
 */
bool kprobe_save_handlers(struct kprobe *p)
{
	kprobe_post_handler_t post = READ_ONCE(p->post_handler);
	kprobe_pre_handler_t pre = READ_ONCE(p->pre_handler);

	lockdep_assert_held(&kprobe_mutex);
	/*
	 * Read the handlers first. If kprobe_disable_self() has replaced one, it has taken the
	 * request before. Pairs with cmpxchg() and xchg() there.
	 */
	smp_rmb();
	if (kprobe_is_self_disabled(p))
		return false;
	WRITE_ONCE(p->saved_pre, pre);
	WRITE_ONCE(p->saved_post, post);
	return true;
}

/**
 * kprobe_restore_handlers() - undo what kprobe_disable_self() did to a probe
 * @p: the probe. No hit calls it, and it is not on the list of requests. Handlers that its user has
 *	set since stay.
 */
void kprobe_restore_handlers(struct kprobe *p)
{
	lockdep_assert_held(&kprobe_mutex);
	if (p->pre_handler == kprobe_self_disabled_pre)
		WRITE_ONCE(p->pre_handler, p->saved_pre);
	if (p->post_handler == kprobe_self_disabled_post)
		WRITE_ONCE(p->post_handler, p->saved_post);
	/*
	 * Pairs with cmpxchg() in kprobe_disable_self(): a caller that can take the request also
	 * finds the handlers restored.
	 */
	smp_store_release(&p->request.next, &p->request);
}
