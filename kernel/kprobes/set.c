// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the enabled probes of a probepoint, and how a hit calls them.
 *
 * A batch changes no probe_set that is published: it stages a new array, which may fail for lack of
 * memory, and publishes it with one pointer store. The old set is freed by RCU. A disabled probe is
 * not in the set, so a hit tests no flag.
 *
 * If exactly one probe has a pre_handler, a hit calls it directly. Otherwise it calls the
 * pre_handler of the probepoint's own kprobe, a dispatcher that calls all of them. The same
 * is true of post_handlers.
 *
 * kprobe_mutex guards staging and publishing. A hit reads the set with preemption
 * disabled.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "internal.h"

static void __kprobes probe_set_no_post(struct kprobe *kp, struct pt_regs *regs,
					unsigned long flags)
{
}

/*
 * The set of a probepoint without enabled probes. Each of its three lists has only the NULL that
 * ends it.
 */
static struct {
	struct probe_set set;
	struct kprobe *none[3];
} empty = {
	.set = {
		.post_handler = probe_set_no_post,
		.post = 1,
		.all = 2,
	},
};

static __always_inline struct probepoint *probe_set_probepoint(struct kprobe *kp)
{
	return container_of(kp, struct probepoint, kp);
}

/*
 * The dispatchers: handlers of the kprobe that stands for a probepoint.
 */

/*
 * Call all pre_handlers. A hit may have read pp->first before a new set was
 * published, so the set may have any number of pre_handlers, or none. The last
 * handler is called in tail position, so that the compiler jumps to it.
 */
static int __kprobes probe_set_multi_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe **pos = probepoint_set(probe_set_probepoint(kp))->probes;
	struct kprobe *each = *pos, *next;

	if (unlikely(!each))
		return 0;
	for (; (next = *++pos); each = next) {
		WRITE_ONCE(*kprobe_running_ptr(), each);
		if (each->pre_handler(each, regs))
			return 1;
	}
	WRITE_ONCE(*kprobe_running_ptr(), each);
	return each->pre_handler(each, regs);
}

static void __kprobes probe_set_multi_post(struct kprobe *kp, struct pt_regs *regs,
					   unsigned long flags)
{
	struct probe_set *set = probepoint_set(probe_set_probepoint(kp));
	struct kprobe **pos = set->probes + set->post;
	kprobe_post_handler_t post;
	struct kprobe *each;

	while ((each = *pos++)) {
		/* The user may have cleared it since the set was built. */
		post = READ_ONCE(each->post_handler);
		if (unlikely(!post))
			continue;
		WRITE_ONCE(*kprobe_running_ptr(), each);
		post(each, regs, flags);
	}
}

#ifdef __ARCH_WANT_PROBEPOINT

/*
 * Architectures whose hooks take a struct probepoint read the set themselves.
 * Only the pre_handler of pp->kp is a dispatcher.
 */
#define probe_set_dispatch_pre	probe_set_multi_pre

static void probe_set_dispatchers(struct probepoint *pp)
{
}

#else

/*
 * Architectures whose hooks take a struct kprobe call the handlers of pp->kp, and expect
 * current_kprobe to be that kprobe afterwards.
 */
static int __kprobes probe_set_dispatch_pre(struct kprobe *kp, struct pt_regs *regs)
{
	int ret = probe_set_multi_pre(kp, regs);

	__this_cpu_write(current_kprobe, kp);
	return ret;
}

static void __kprobes probe_set_dispatch_post(struct kprobe *kp, struct pt_regs *regs,
					      unsigned long flags)
{
	struct probepoint *pp = probe_set_probepoint(kp);

	/*
	 * The last post_handler may have been removed since the hit tested kp->post_handler. The
	 * empty set's post_probe is NULL: do not store that in current_kprobe even briefly, or a
	 * nested hit would see no kprobe running.
	 */
	if (!probepoint_has_post(pp))
		return;
	probepoint_call_post(pp, regs, raw_cpu_ptr(&current_kprobe));
	__this_cpu_write(current_kprobe, kp);
}

/*
 * A hit on another CPU tests kp.post_handler, and loads it again to call the handler. So it never
 * becomes NULL again: if no probe has a post_handler any more, the dispatcher finds an empty list.
 */
static void probe_set_dispatchers(struct probepoint *pp)
{
	if (pp->has_post)
		WRITE_ONCE(pp->kp.post_handler, probe_set_dispatch_post);
}

#endif

static __always_inline struct kprobe **probe_set_all(struct probepoint *pp)
{
	struct probe_set *set = probepoint_set(pp);

	return set->probes + set->all;
}

static __always_inline void probe_set_count_missed(struct kprobe *p)
{
	/* Atomic: an NMI, or another CPU, may count a hit of the same probe at the same time. */
	raw_atomic_long_inc((atomic_long_t *)&p->nmissed);
}

/*
 * Count a hit whose handlers are not called: increment nmissed of every enabled probe. Preemption
 * is disabled.
 */
void __kprobes probepoint_count_missed(struct probepoint *pp)
{
	struct kprobe **pos = probe_set_all(pp), *p;

	while ((p = *pos++))
		probe_set_count_missed(p);
}

#ifdef __ARCH_WANT_PROBEPOINT
/*
 * For a hit that a handler has caused: call the pre_handlers of the enabled probes for which
 * kprobe_nests() is true. For the others, the hit counts as missed. The caller has taken a level
 * (see struct kprobe_level) for this hit. A hit that these pre_handlers cause gets no level, and
 * counts as missed.
 *
 * Return: true if a handler has redirected execution to @regs; the handlers after it are not called
 * then.
 */
bool __kprobes probepoint_call_nested(struct probepoint *pp, struct pt_regs *regs)
{
	struct kprobe **pos = probe_set_all(pp), *p;
	kprobe_pre_handler_t handler;

	while ((p = *pos++)) {
		if (!kprobe_nests(p)) {
			probe_set_count_missed(p);
			continue;
		}
		handler = READ_ONCE(p->pre_handler);
		WRITE_ONCE(*kprobe_running_ptr(), p);
		if (handler && handler(p, regs))
			return true;
	}
	return false;
}
#endif

/**
 * kprobes_inc_nmissed_count() - count a hit whose handlers are not called
 * @p: what get_kprobe() returned for the probed address; or a user's probe, to count the hit
 *	for that one only
 *
 * For architectures that do not define __ARCH_WANT_PROBEPOINT.
 *
 * Context: any, with preemption disabled.
 */
void __kprobes kprobes_inc_nmissed_count(struct kprobe *p)
{
	if (p->pre_handler == probe_set_dispatch_pre)
		probepoint_count_missed(probe_set_probepoint(p));
	else
		probe_set_count_missed(p);
}

/* Give a new probepoint, which no hit can find yet, the empty probe_set and the dispatcher. */
void probepoint_init_set(struct probepoint *pp)
{
	RCU_INIT_POINTER(pp->set, &empty.set);
	pp->first = &pp->kp;
	pp->kp.pre_handler = probe_set_dispatch_pre;
}

/* Does a probepoint have no enabled probe? Return: true if the published set is empty. */
bool probepoint_set_is_empty(const struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	return rcu_access_pointer(pp->set) == &empty.set;
}

static bool probe_set_calls(const struct probepoint *pp, const struct kprobe *p)
{
	return pp->state != PROBEPOINT_GONE && !pp->text_going &&
	       !(p->flags & KPROBE_FLAG_DISABLED);
}

static bool probe_set_has_post(const struct probe_set *set)
{
	return set->probes[set->post];
}

static void probe_set_choose_post(struct probepoint *pp, struct probe_set *set)
{
	struct kprobe **post = set->probes + set->post;

	if (post[0] && !post[1]) {
		set->post_probe = post[0];
		/* The user may have cleared it since it was found to be set. */
		set->post_handler = READ_ONCE(post[0]->post_handler) ?: probe_set_no_post;
	} else {
		set->post_probe = &pp->kp;
		set->post_handler = post[0] ? probe_set_multi_post : probe_set_no_post;
	}
}

/*
 * Build a probe_set of the probes that are enabled now. A probe for which kprobe_disable_self() was
 * called since is left out: a worker is about to disable it. Return: 0, or -ENOMEM.
 */
int probepoint_stage_set(struct probepoint *pp, gfp_t gfp)
{
	unsigned int nr = 0, pre = 0, post, all;
	struct probe_set *set = &empty.set;
	struct kprobe *p;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(p, &pp->probes, list)
		nr += probe_set_calls(pp, p);
	if (nr) {
		/*
		 * Each of the three lists has room for all probes, however many handlers are set
		 * when they are read below.
		 */
		set = kvzalloc(struct_size(set, probes, 3 * (nr + 1)), gfp);
		if (!set)
			return -ENOMEM;
		set->post = nr + 1;
		set->all = 2 * set->post;
		post = set->post;
		all = set->all;
		list_for_each_entry(p, &pp->probes, list) {
			if (!probe_set_calls(pp, p))
				continue;
			if (!kprobe_save_handlers(p))
				continue;
			if (kprobe_user_pre(p))
				set->probes[pre++] = p;
			if (kprobe_user_post(p))
				set->probes[post++] = p;
			set->probes[all++] = p;
		}
		probe_set_choose_post(pp, set);
	}
	pp->next_set = set;
	pp->staged = true;
	return 0;
}

/*
 * Will hits call a post_handler once the batch is committed? Return: true if the staged set has a
 * probe with a post_handler.
 */
bool probepoint_next_has_post(const struct probepoint *pp)
{
	return probe_set_has_post(pp->next_set);
}

static void probe_set_free(struct probe_set *set)
{
	if (set && set != &empty.set)
		kvfree_rcu(set, rcu);
}

/* Free a staged set. */
void probepoint_unstage_set(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	probe_set_free(pp->next_set);
	pp->next_set = NULL;
	pp->staged = false;
}

/*
 * Choose pp->first: the only probe with a pre_handler, or pp->kp with the
 * dispatcher. An ftrace-based probepoint with post_handlers needs the
 * dispatcher, which on x86 calls the post_handlers, too.
 */
static struct kprobe *probe_set_choose_first(struct probepoint *pp, struct probe_set *set)
{
	if (kprobe_ftrace(&pp->kp) && probe_set_has_post(set))
		return &pp->kp;
	return set->probes[0] && !set->probes[1] ? set->probes[0] : &pp->kp;
}

/*
 * Make hits call the probes that are enabled now.
 *
 * If no set was staged, this allocates one with __GFP_NOFAIL. Callers may rely on that only if they
 * detach or disable probes: then the new set is not larger than the old one. A hit that began
 * before may call the probes of the old set until the end of an RCU grace period.
 */
void probepoint_publish_set(struct probepoint *pp)
{
	struct probe_set *old;

	lockdep_assert_held(&kprobe_mutex);
	if (!pp->staged)
		probepoint_stage_set(pp, GFP_KERNEL | __GFP_NOFAIL);
	WRITE_ONCE(pp->has_post, probe_set_has_post(pp->next_set));
	probe_set_dispatchers(pp);
	probepoint_publish_fault(pp, pp->next_set);
	/* Publish the set's contents before its address. Pairs with probepoint_set(). */
	old = rcu_replace_pointer(pp->set, pp->next_set, lockdep_is_held(&kprobe_mutex));
	kprobe_check_post(pp->next_set);

	/*
	 * Publish the contents of the probe before its address, such as the rph
	 * of a return probe. Pairs with probepoint_first(): a hit calls the
	 * only pre_handler without reading the set.
	 */
	smp_store_release(&pp->first, probe_set_choose_first(pp, pp->next_set));
	pp->next_set = NULL;
	pp->staged = false;
	probe_set_free(old);
}
