// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: creating, changing and freeing probepoints.
 *
 * The first probe at an address creates its probepoint, further probes are attached to it,
 * and it is freed when the last one is detached. All probepoints are in a tree, ordered by
 * address.
 *
 *	             arm                 optimiser          jump written
 *	DISARMED <----------> ARMED <----------------> QUEUED ----------> OPTIMIZED
 *	   |  ^     disarm      ^                                             |
 *	   |  |                 +---------------------------------------------+
 *	   |  |  ftrace                               unoptimise
 *	   |  +------------> FTRACE
 *	   v                   |
 *	  GONE <---------------+   (only if ftrace has failed to remove its call)
 *
 * When the text of a probepoint is freed, its state becomes GONE and it leaves the table. It
 * stays in the tree until its probes have been unregistered.
 *
 * Freeing is deferred. A task may have been preempted in the slot, see deferred.c. An unwinder may
 * find the probepoint via a stale address of the slot on a stack, so the probepoint is freed one
 * more RCU grace period after the slot.
 *
 * kprobe_mutex guards everything here.
 */
#include <linux/err.h>
#include <linux/slab.h>

#include "internal.h"

/*
 * All probepoints, ordered by address. An address may have several, at most one
 * of which is not GONE.
 */
static struct rb_root probepoints = RB_ROOT;

/* The last generation number */
static u64 last_serial;

/*
 * True while debugfs kprobes/enabled is 0: only return trampolines that are probepoints are armed.
 */
bool kprobes_all_disarmed;

/*
 * Change the state of a probepoint. The text, the slot and the filters of ftrace already match it.
 */
void probepoint_set_state(struct probepoint *pp, enum probepoint_state state)
{
	/* The states that may precede each state. */
	static const u8 from[] = {
		[PROBEPOINT_DISARMED] = BIT(PROBEPOINT_ARMED) | BIT(PROBEPOINT_FTRACE),
		[PROBEPOINT_ARMED] = BIT(PROBEPOINT_DISARMED) | BIT(PROBEPOINT_QUEUED) |
				     BIT(PROBEPOINT_OPTIMIZED),
		[PROBEPOINT_QUEUED] = BIT(PROBEPOINT_ARMED),
		[PROBEPOINT_OPTIMIZED] = BIT(PROBEPOINT_QUEUED),
		[PROBEPOINT_FTRACE] = BIT(PROBEPOINT_DISARMED),
		[PROBEPOINT_GONE] = BIT(PROBEPOINT_DISARMED) | BIT(PROBEPOINT_FTRACE),
	};

	lockdep_assert_held(&kprobe_mutex);
	if (pp->state == state)
		return;
	WARN_ONCE(!(from[state] & BIT(pp->state)), "kprobes: %pS goes from state %d to %d\n",
		  pp->addr, pp->state, state);
	pp->state = state;
}

/*
 * Find the first probepoint at an address or above it. Return: the probepoint, GONE or not; or
 * NULL if there is none.
 */
struct probepoint *probepoint_lower_bound(unsigned long addr)
{
	struct rb_node *n = probepoints.rb_node;
	struct probepoint *found = NULL;

	lockdep_assert_held(&kprobe_mutex);
	while (n) {
		struct probepoint *pp = rb_entry(n, struct probepoint, node);

		if ((unsigned long)pp->addr >= addr) {
			found = pp;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return found;
}

/*
 * Find the last probepoint below an address. Return: the probepoint, GONE or not; or NULL if there
 * is none.
 */
struct probepoint *probepoint_last_below(unsigned long addr)
{
	struct probepoint *pp = probepoint_lower_bound(addr);
	struct rb_node *last;

	lockdep_assert_held(&kprobe_mutex);
	if (pp)
		return probepoint_prev(pp);
	last = rb_last(&probepoints);
	return rb_entry_safe(last, struct probepoint, node);
}

/* Find the probepoint at @addr that is not GONE; NULL if there is none. */
struct probepoint *probepoint_find_live(kprobe_opcode_t *addr)
{
	struct probepoint *pp = probepoint_lower_bound((unsigned long)addr);

	while (pp && pp->addr == addr && pp->state == PROBEPOINT_GONE)
		pp = probepoint_next(pp);
	return pp && pp->addr == addr ? pp : NULL;
}

/*
 * Should a probepoint have a breakpoint or a jump, given its published set of probes and debugfs
 * kprobes/enabled? Return: true if it should.
 */
bool probepoint_should_arm(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	if (kprobes_all_disarmed && !probepoint_is_return_trampoline(pp))
		return false;
	return !(pp->kp.flags & KPROBE_FLAG_FTRACE) && !probepoint_set_is_empty(pp);
}

/*
 * Add @pp to @changes, the batch of probepoints that are being changed, unless it is on that list
 * already.
 */
void batch_add_probepoint(struct probepoint *pp, struct list_head *changes)
{
	lockdep_assert_held(&kprobe_mutex);
	if (list_empty(&pp->change))
		list_add_tail(&pp->change, changes);
}

static bool probepoint_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct probepoint, node)->addr <
	       rb_entry(b, struct probepoint, node)->addr;
}

static struct probepoint *probepoint_create(const struct kprobe_place *place,
					    enum kprobe_reason *why)
{
	struct probepoint *pp = kzalloc(sizeof(*pp), GFP_KERNEL);
	int ret;

	*why = KPROBE_REASON_NO_MEMORY;
	if (!pp)
		return ERR_PTR(-ENOMEM);
	pp->addr = place->addr;
	pp->serial = ++last_serial;
	probepoint_init_set(pp);
	pp->kp.addr = place->addr;
	pp->kp.flags = (place->entry ? KPROBE_FLAG_ON_FUNC_ENTRY : 0) |
		       (place->on_ftrace ? KPROBE_FLAG_FTRACE : 0);
	pp->kp.entry_size = place->entry ? (unsigned long)place->addr - place->entry : 0;
	INIT_LIST_HEAD(&pp->kp.list);
	INIT_LIST_HEAD(&pp->probes);
	INIT_LIST_HEAD(&pp->change);
	INIT_LIST_HEAD(&pp->unreleased);
	optimizer_init_point(pp);
	ret = place->on_ftrace ? arch_prepare_probepoint_ftrace(pp) : arch_prepare_probepoint(pp);
	if (ret) {
		if (ret != -ENOMEM)
			*why = pp->why ?: KPROBE_REASON_ARCH;
		/*
		 * Free it after a grace period: an unwinder may have found it as the owner of a
		 * slot, and may still read it.
		 */
		kfree_rcu(pp, rcu);
		return ERR_PTR(ret);
	}
	rb_add(&pp->node, &probepoints, probepoint_less);
	return pp;
}

/*
 * Attach a probe to the probepoint of an address, and put that on the batch @changes. Of @p, only
 * its point and its list entry change. The end of the batch unpins @place->module; after an error,
 * the caller must do so. Return: 0; or -ENOMEM or the errno of the architecture's hook, and @why.
 */
int probepoint_attach(struct kprobe *p, const struct kprobe_place *place,
		      struct list_head *changes, enum kprobe_reason *why)
{
	struct probepoint *pp = probepoint_find_live(place->addr);

	lockdep_assert_held(&kprobe_mutex);
	if (!pp)
		pp = probepoint_create(place, why);
	if (IS_ERR(pp))
		return PTR_ERR(pp);

	if (pp->module)
		module_put(place->module);
	else
		pp->module = place->module;
	p->point = pp;
	list_add(&p->list, &pp->probes);
	batch_add_probepoint(pp, changes);
	return 0;
}

/* Detach a probe from its probepoint. After the commit of @changes, no new hit calls @p. */
void probepoint_detach(struct kprobe *p, struct list_head *changes)
{
	lockdep_assert_held(&kprobe_mutex);
	batch_add_probepoint(p->point, changes);
	list_del_init(&p->list);
	p->point = NULL;
}

/*
 * No task can be in the slot any more: free it, and the probepoint if its last probe is detached.
 */
static void probepoint_release(struct kprobe_deferred *deferred)
{
	struct probepoint *pp = container_of(deferred, struct probepoint, deferred);

	pp->deferred_queued = false;
	if (!pp->removed)
		arch_remove_probepoint(pp);
	pp->removed = true;
	/*
	 * The detour buffers were passed to kprobe_defer_free() before the slot, so they have been
	 * freed.
	 */
	if (pp->dead && !WARN_ON_ONCE(pp->nr_slots))
		kfree_rcu(pp, rcu);
}

/* Free the slot after the grace periods, and the probepoint if it is dead by then. */
static void probepoint_defer_free(struct probepoint *pp)
{
	if (!pp->deferred_queued)
		kprobe_defer_free(&pp->deferred, probepoint_release);
	pp->deferred_queued = true;
}

static void probepoint_unpublish(struct probepoint *pp)
{
	if (pp->published)
		probepoint_table_del(pp);
	pp->published = false;
}

/*
 * Free a probepoint whose last probe has been detached. Its text is the original, or has been
 * freed.
 */
void probepoint_free(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	rb_erase(&pp->node, &probepoints);
	if (!pp->published && pp->state != PROBEPOINT_GONE) {
		/*
		 * No hit has found the probepoint, so no task is in its slot: free the slot now.
		 * But free the probepoint after a grace period: an unwinder may have found it by a
		 * stale address that happens to be in the slot.
		 */
		arch_remove_probepoint(pp);
		pp->removed = true;
		if (!pp->nr_slots) {
			kfree_rcu(pp, rcu);
			return;
		}
		/*
		 * The batch replaced the slot before it failed, and the old slot is not freed yet:
		 * free the probepoint after it.
		 */
	}
	probepoint_unpublish(pp);
	pp->dead = true;
	probepoint_defer_free(pp);
}

/*
 * Set a probepoint's state to GONE; mark its probes GONE, or let them wait for their module. Its
 * text is the original, and no probe is called.
 */
void probepoint_kill(struct probepoint *pp)
{
	struct kprobe *p, *next;

	lockdep_assert_held(&kprobe_mutex);
	probepoint_set_state(pp, PROBEPOINT_GONE);
	pp->text_going = false;
	probepoint_unpublish(pp);
	/* Begin with the oldest: those that wait are attached again in the order of their list. */
	list_for_each_entry_safe_reverse(p, next, &pp->probes, list) {
		if (kprobe_should_wait(p, KPROBE_REASON_MODULE_GOING)) {
			list_del(&p->list);
			kprobe_waiting_add(p);
		} else {
			p->flags |= KPROBE_FLAG_GONE;
		}
	}
	probepoint_defer_free(pp);
}
