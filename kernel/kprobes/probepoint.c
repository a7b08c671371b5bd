// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: probepoints and the probes attached to them.
 *
 * A probepoint owns a probed address: the patched byte, the copy of the
 * instruction, the state. Users' probes are attached to it and detached from
 * it; what a hit walks is an immutable array of those that are enabled, which
 * is replaced by one pointer store and freed by RCU.
 *
 * Changes are made in batches, in three steps. Attach, detach and touch note
 * which probepoints change. Stage allocates all that is needed, and may fail.
 * Commit can't fail: it publishes the new sets and patches the text of the
 * whole batch at the price of one synchronisation of the CPUs. Abort undoes a
 * batch that was not committed.
 *
 * A probepoint without probes leaves the table at once, but a task may be
 * preempted in its slot, or have been hit and not looked at it yet. A worker
 * frees it after a grace period of tasks RCU and one of RCU.
 *
 * All of this is guarded by kprobe_mutex. Hits read with preemption disabled.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Every probepoint, gone ones too, by address. */
static struct rb_root probepoints = RB_ROOT;

/* kprobes/enabled is 0: nothing is armed, whatever is enabled. */
bool kprobes_all_disarmed;

/* Probepoints and slots that hits may still be using. */
static LIST_HEAD(dying_points);
static LIST_HEAD(dying_slots);

/* Those without probes that ftrace could not let go of. */
static LIST_HEAD(leftovers);

/*
 * What runs when a probepoint is hit, beside what linux/kprobes.h has for it.
 */

static void __kprobes no_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

/* The set of those that have no enabled probe. */
static struct {
	struct probe_set set;
	struct kprobe *none[3];
} empty = {
	.set = {
		.post_handler = no_post,
		.post = 1,
		.all = 2,
	},
};

/* Hits that come here may find a newer set, with any number of handlers. */
static int __kprobes several_pre(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe **pos = kprobe_set_of(kp)->probes;
	struct kprobe **running = kprobe_running_place();
	struct kprobe *each;

	for (; (each = *pos); pos++) {
		WRITE_ONCE(*running, each);
		if (each->pre_handler(each, regs))
			return 1;
	}
	return 0;
}

static void __kprobes several_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	struct probe_set *set = kprobe_set_of(kp);
	struct kprobe **pos = set->probes + set->post;
	struct kprobe **running = kprobe_running_place();
	struct kprobe *each;

	for (; (each = *pos); pos++) {
		WRITE_ONCE(*running, each);
		each->post_handler(each, regs, flags);
	}
}

static __always_inline struct kprobe **all_of(struct kprobe *kp)
{
	struct probe_set *set = kprobe_set_of(kp);

	return set->probes + set->all;
}

/**
 * kprobe_run_fault_handlers() - ask probes about a fault in their instruction
 * @kp: what get_kprobe() gave for the probed address
 * @regs: registers as at the fault
 * @trapnr: number of the exception, as the architecture counts them
 *
 * Called with preemption disabled.
 *
 * Return: true if one of them has dealt with it.
 */
bool __kprobes kprobe_run_fault_handlers(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	struct kprobe **pos = all_of(kp), *p;

	while ((p = *pos++))
		if (p->fault_handler && p->fault_handler(p, regs, trapnr))
			return true;
	return false;
}

/**
 * kprobes_inc_nmissed_count() - count a hit whose handlers are not called
 * @p: what get_kprobe() gave for the probed address
 *
 * Counts it for every enabled probe there. Called with preemption disabled.
 */
void __kprobes kprobes_inc_nmissed_count(struct kprobe *p)
{
	struct kprobe **pos = all_of(p);

	while ((p = *pos++)) {
		/* Two CPUs may miss the same probe, or a CPU and its NMI. */
		atomic_long_t *n = (atomic_long_t *)&p->nmissed;

		raw_atomic_long_inc(n);
	}
}

#ifdef __ARCH_WANT_KPROBES_CONTEXT

/* These architectures call the handlers of the set themselves. */
#define dispatch_pre	several_pre

/* Only looked at to know whether there are any. */
static void dispatch_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}

#else

/*
 * Architectures that know nothing of probepoints call the handlers of @kp, and
 * look at current_kprobe to know what they are in the middle of.
 */
static int __kprobes dispatch_pre(struct kprobe *kp, struct pt_regs *regs)
{
	int ret = several_pre(kp, regs);

	__this_cpu_write(current_kprobe, kp);
	return ret;
}

static void __kprobes dispatch_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kprobe_call_post_handlers(kp, regs, raw_cpu_ptr(&current_kprobe));
	__this_cpu_write(current_kprobe, kp);
}

#endif

static int __kprobes dispatch_fault(struct kprobe *kp, struct pt_regs *regs, int trapnr)
{
	return kprobe_run_fault_handlers(kp, regs, trapnr);
}

/*
 * What architectures may do better.
 */

/**
 * arch_kprobes_sync() - make all CPUs see what was armed and disarmed
 *
 * For architectures whose arch_arm_kprobe() and arch_disarm_kprobe() leave
 * that to the end of a batch.
 *
 * Context: text_mutex is held.
 */
void __weak arch_kprobes_sync(void)
{
}

/**
 * arch_kprobe_armed() - note that a probepoint has been armed
 * @p: the probepoint's kprobe
 *
 * For architectures that have to know when all CPUs see it.
 *
 * Context: text_mutex is held.
 */
void __weak arch_kprobe_armed(struct kprobe *p)
{
}

/**
 * arch_kprobe_reshape() - give a probepoint another slot
 * @p: the probepoint's kprobe
 * @post: the slot is to call post_handlers
 * @old: where to put the slot that was replaced, for the caller to free when
 *	nobody can be running in it; NULL if there is none
 *
 * For architectures whose slots differ where there are post_handlers.
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0, or -ENOMEM, and then nothing has changed.
 */
int __weak arch_kprobe_reshape(struct kprobe *p, bool post,
			       kprobe_opcode_t **old)
{
	*old = NULL;
	return 0;
}

/**
 * arch_remove_kprobe() - free what arch_prepare_kprobe() allocated
 * @p: the probepoint's kprobe; nobody can be running in its slot
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void __weak arch_remove_kprobe(struct kprobe *p)
{
}

/*
 * The end of probepoints and slots.
 */

static void reap(struct work_struct *work)
{
	struct dying_slot *ds, *next_slot;
	struct probepoint *pp, *next;
	LIST_HEAD(points);
	LIST_HEAD(slots);

	scoped_guard(mutex, &kprobe_mutex) {
		list_splice_init(&dying_points, &points);
		list_splice_init(&dying_slots, &slots);
	}
	if (list_empty(&points) && list_empty(&slots))
		return;

	/*
	 * The first is for tasks that were preempted in a slot, the second
	 * for hits under way, and for idle tasks, which the first leaves out.
	 */
	synchronize_rcu_tasks();
	synchronize_rcu();

	guard(mutex)(&kprobe_mutex);
	list_for_each_entry_safe(ds, next_slot, &slots, list) {
		free_insn_slot(ds->slot, 1);
		kfree(ds);
	}
	list_for_each_entry_safe(pp, next, &points, grave) {
		list_del_init(&pp->grave);
		if (!pp->removed)
			arch_remove_kprobe(&pp->kp);
		pp->removed = true;
		if (pp->dead)
			kfree_rcu(pp, rcu);
	}
}

static DECLARE_WORK(reap_work, reap);

/**
 * probepoint_retire_slot() - free a slot when nobody can be running in it
 * @ds: the slot; no hit is sent there any more
 *
 * Context: kprobe_mutex is held.
 */
void probepoint_retire_slot(struct dying_slot *ds)
{
	list_add(&ds->list, &dying_slots);
	queue_work(system_unbound_wq, &reap_work);
}

static void retire_slot(kprobe_opcode_t *slot)
{
	struct dying_slot *ds;

	if (!slot)
		return;
	ds = kmalloc(sizeof(*ds), GFP_KERNEL | __GFP_NOFAIL);
	ds->slot = slot;
	probepoint_retire_slot(ds);
}

static void retire(struct probepoint *pp)
{
	if (list_empty(&pp->grave))
		list_add(&pp->grave, &dying_points);
	queue_work(system_unbound_wq, &reap_work);
}

/*
 * Finding and making probepoints.
 */

/**
 * probepoint_from() - find the first probepoint at an address or above it
 * @addr: the address
 *
 * Context: kprobe_mutex is held.
 *
 * Return: the probepoint, gone or not, or NULL if there is none.
 */
struct probepoint *probepoint_from(unsigned long addr)
{
	struct rb_node *n = probepoints.rb_node;
	struct probepoint *found = NULL;

	while (n) {
		struct probepoint *pp = rb_entry(n, struct probepoint, node);

		if ((unsigned long)pp->kp.addr >= addr) {
			found = pp;
			n = n->rb_left;
		} else {
			n = n->rb_right;
		}
	}
	return found;
}

/**
 * probepoint_before() - find the last probepoint below an address
 * @addr: the address
 *
 * Context: kprobe_mutex is held.
 *
 * Return: the probepoint, gone or not, or NULL if there is none.
 */
struct probepoint *probepoint_before(unsigned long addr)
{
	struct probepoint *pp = probepoint_from(addr);
	struct rb_node *last;

	if (pp)
		return probepoint_prev(pp);
	last = rb_last(&probepoints);
	return rb_entry_safe(last, struct probepoint, node);
}

static struct probepoint *find_live(kprobe_opcode_t *addr)
{
	struct probepoint *pp = probepoint_from((unsigned long)addr);

	/* Those whose code has gone stay until their users let go. */
	while (pp && pp->kp.addr == addr && pp->state == PROBEPOINT_GONE)
		pp = probepoint_next(pp);
	return pp && pp->kp.addr == addr ? pp : NULL;
}

static bool probepoint_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct probepoint, node)->kp.addr <
	       rb_entry(b, struct probepoint, node)->kp.addr;
}

static struct probepoint *probepoint_create(kprobe_opcode_t *addr, bool on_ftrace)
{
	struct probepoint *pp = kzalloc(sizeof(*pp), GFP_KERNEL);
	int ret;

	if (!pp)
		return ERR_PTR(-ENOMEM);
	pp->kp.addr = addr;
	RCU_INIT_POINTER(pp->kp.set, &empty.set);
	pp->kp.pre_handler = dispatch_pre;
	pp->kp.first = &pp->kp;
	INIT_LIST_HEAD(&pp->kp.list);
	INIT_LIST_HEAD(&pp->probes);
	INIT_LIST_HEAD(&pp->change);
	INIT_LIST_HEAD(&pp->grave);
	pp->kp.flags = on_ftrace ? KPROBE_FLAG_FTRACE : 0;
	optimizer_init_point(pp);
	ret = on_ftrace ? arch_prepare_kprobe_ftrace(&pp->kp) : arch_prepare_kprobe(&pp->kp);
	if (ret) {
		kfree(pp);
		return ERR_PTR(ret);
	}
	rb_add(&pp->node, &probepoints, probepoint_less);
	return pp;
}

/**
 * probepoint_touch() - note that a batch changes a probepoint
 * @pp: the probepoint
 * @changes: the batch
 */
void probepoint_touch(struct probepoint *pp, struct list_head *changes)
{
	if (list_empty(&pp->change))
		list_add_tail(&pp->change, changes);
}

/**
 * probepoint_attach() - attach a probe to the probepoint at its address
 * @p: the probe; its addr and flags are set
 * @module: module that the address is in, pinned by the caller, or NULL. The
 *	end of the batch lets go of it, unless this fails.
 * @changes: the batch
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0, or what arch_prepare_kprobe() says of the address, or -ENOMEM.
 */
int probepoint_attach(struct kprobe *p, struct module *module,
		      struct list_head *changes)
{
	struct probepoint *pp = find_live(p->addr);

	if (!pp)
		pp = probepoint_create(p->addr, kprobe_ftrace(p));
	if (IS_ERR(pp))
		return PTR_ERR(pp);

	if (pp->module)
		module_put(module);
	else
		pp->module = module;
	p->opcode = pp->kp.opcode;
	/* The address is one, or it is not. */
	pp->kp.flags |= p->flags & KPROBE_FLAG_ON_FUNC_ENTRY;
	p->point = pp;
	list_add(&p->list, &pp->probes);
	probepoint_touch(pp, changes);
	return 0;
}

/**
 * probepoint_detach() - take a probe from its probepoint
 * @p: the probe
 * @changes: the batch, when it is committed, no new hit calls @p
 *
 * Context: kprobe_mutex is held.
 */
void probepoint_detach(struct kprobe *p, struct list_head *changes)
{
	probepoint_touch(p->point, changes);
	list_del_init(&p->list);
	p->point = NULL;
}

/*
 * Batches.
 */

static bool wants_calls(const struct probepoint *pp, const struct kprobe *p)
{
	return pp->state != PROBEPOINT_GONE && !pp->going &&
	       !(p->flags & KPROBE_FLAG_DISABLED);
}

static bool set_has_post(const struct probe_set *set)
{
	return set->probes[set->post];
}

static bool set_has_fault(const struct probe_set *set)
{
	unsigned int i;

	for (i = set->all; set->probes[i]; i++)
		if (set->probes[i]->fault_handler)
			return true;
	return false;
}

/* What is the only one is called straight away. */
static struct kprobe *only_pre(struct probepoint *pp, struct probe_set *set)
{
	return set->probes[0] && !set->probes[1] ? set->probes[0] : &pp->kp;
}

static void choose_post(struct probepoint *pp, struct probe_set *set)
{
	struct kprobe **post = set->probes + set->post;

	if (post[0] && !post[1]) {
		set->post_probe = post[0];
		set->post_handler = post[0]->post_handler;
	} else {
		set->post_probe = &pp->kp;
		set->post_handler = post[0] ? several_post : no_post;
	}
}

static int stage_set(struct probepoint *pp, gfp_t gfp)
{
	unsigned int nr = 0, nr_pre = 0, nr_post = 0, i = 0;
	struct probe_set *set = &empty.set;
	struct kprobe *p;

	list_for_each_entry(p, &pp->probes, list) {
		if (!wants_calls(pp, p))
			continue;
		nr++;
		nr_pre += !!p->pre_handler;
		nr_post += !!p->post_handler;
	}
	if (nr) {
		set = kvzalloc(struct_size(set, probes, nr + nr_pre + nr_post + 3), gfp);
		if (!set)
			return -ENOMEM;
		set->post = nr_pre + 1;
		set->all = set->post + nr_post + 1;
		nr_pre = 0;
		nr_post = set->post;
		i = set->all;
		list_for_each_entry(p, &pp->probes, list) {
			if (!wants_calls(pp, p))
				continue;
			if (p->pre_handler)
				set->probes[nr_pre++] = p;
			if (p->post_handler)
				set->probes[nr_post++] = p;
			set->probes[i++] = p;
		}
		choose_post(pp, set);
	}
	pp->next_set = set;
	pp->staged = true;
	return 0;
}

static void free_set(struct probe_set *set)
{
	if (set && set != &empty.set)
		kvfree_rcu(set, rcu);
}

static int reshape(struct probepoint *pp, bool post)
{
	kprobe_opcode_t *old;
	int ret;

	ret = arch_kprobe_reshape(&pp->kp, post, &old);
	if (!ret)
		retire_slot(old);
	return ret;
}

/**
 * probepoints_stage() - allocate what a batch needs
 * @changes: the batch
 *
 * A slot that is to call post_handlers is put in place here already. It does
 * no harm before its time: it finds none to call.
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0; or -ENOMEM, or what kprobe_ftrace_arm() returned, and then the
 * batch must be aborted.
 */
int probepoints_stage(struct list_head *changes)
{
	struct probepoint *pp;
	unsigned int new = 0;
	int ret;

	list_for_each_entry(pp, changes, change) {
		ret = stage_set(pp, GFP_KERNEL);
		if (!ret && set_has_post(pp->next_set))
			ret = reshape(pp, true);
		if (ret)
			return ret;
		new += !pp->published;
	}
	optimizer_make_form(changes);
	ret = probepoint_table_reserve(new);
	/* The last that may fail, and the most expensive to undo. */
	return ret ?: kprobe_ftrace_arm(changes);
}

static void publish_set(struct probepoint *pp)
{
	struct probe_set *old;

	/* What detaching needs must not fail, and is small. */
	if (!pp->staged)
		stage_set(pp, GFP_KERNEL | __GFP_NOFAIL);
	WRITE_ONCE(pp->kp.post_handler,
		   set_has_post(pp->next_set) ? dispatch_post : NULL);
	WRITE_ONCE(pp->kp.fault_handler,
		   set_has_fault(pp->next_set) ? dispatch_fault : NULL);
	/* Hits see a set that is complete. */
	old = rcu_replace_pointer(pp->kp.set, pp->next_set,
				  lockdep_is_held(&kprobe_mutex));
	/* Who is called instead of all finds this set, or a newer one. */
	smp_store_release(&pp->kp.first, only_pre(pp, pp->next_set));
	pp->next_set = NULL;
	pp->staged = false;
	free_set(old);
}

/**
 * probepoint_next_has_post() - tell whether post_handlers will be called
 * @pp: a probepoint of a staged batch
 *
 * Return: true if its next set has some.
 */
bool probepoint_next_has_post(const struct probepoint *pp)
{
	return set_has_post(pp->next_set);
}

/**
 * probepoint_wants_arming() - tell whether a probepoint is to be hit
 * @pp: the probepoint
 *
 * Context: kprobe_mutex is held.
 *
 * Return: true if it is, now that its set is what it is.
 */
bool probepoint_wants_arming(const struct probepoint *pp)
{
	return !kprobes_all_disarmed && !(pp->kp.flags & KPROBE_FLAG_FTRACE) &&
	       rcu_access_pointer(pp->kp.set) != &empty.set;
}

/* Bring the text in line with the sets; one synchronisation for all. */
static void patch_text(struct list_head *changes)
{
	struct probepoint *pp;
	bool patched = false;

	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	optimizer_make_way(changes);
	list_for_each_entry(pp, changes, change) {
		if (pp->state == PROBEPOINT_DISARMED && probepoint_wants_arming(pp))
			arch_arm_kprobe(&pp->kp);
		else if (pp->state == PROBEPOINT_ARMED && !probepoint_wants_arming(pp))
			arch_disarm_kprobe(&pp->kp);
		else
			continue;
		patched = true;
	}
	if (!patched)
		return;
	arch_kprobes_sync();
	list_for_each_entry(pp, changes, change) {
		if (pp->state == PROBEPOINT_DISARMED && probepoint_wants_arming(pp)) {
			arch_kprobe_armed(&pp->kp);
			pp->state = PROBEPOINT_ARMED;
		} else if (pp->state == PROBEPOINT_ARMED && !probepoint_wants_arming(pp)) {
			pp->state = PROBEPOINT_DISARMED;
		}
	}
}

static void unpublish(struct probepoint *pp)
{
	if (pp->published)
		probepoint_table_del(pp);
	pp->published = false;
}

/* The last probe has left. */
static void probepoint_free(struct probepoint *pp)
{
	optimizer_forget(pp);
	rb_erase(&pp->node, &probepoints);
	if (!pp->published && pp->state != PROBEPOINT_GONE) {
		/* No hit has ever seen it, but an unwinder may. */
		arch_remove_kprobe(&pp->kp);
		kfree_rcu(pp, rcu);
		return;
	}
	unpublish(pp);
	pp->dead = true;
	retire(pp);
}

/* Each batch tries again for those before it that could not be finished. */
static void take_leftovers(struct list_head *changes)
{
	struct probepoint *pp, *next;

	list_for_each_entry_safe(pp, next, &leftovers, grave) {
		list_del_init(&pp->grave);
		probepoint_touch(pp, changes);
	}
}

/* Return: true if there is nothing left to do for @pp. */
static bool end_change(struct probepoint *pp)
{
	list_del_init(&pp->change);
	module_put(pp->module);
	pp->module = NULL;
	optimizer_changed(pp);
	if (!list_empty(&pp->probes))
		return pp->state == PROBEPOINT_GONE;
	if (pp->filters)
		list_add(&pp->grave, &leftovers);
	else
		probepoint_free(pp);
	return true;
}

/**
 * probepoints_commit() - make a batch take effect
 * @changes: the batch. It was staged, or else only detaches and disables.
 *
 * When this returns, hits on all CPUs call exactly the probes that are
 * attached and enabled; but hits that began before may still be calling those
 * detached, until an RCU grace period has passed.
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void probepoints_commit(struct list_head *changes)
{
	struct probepoint *pp, *next;

	list_for_each_entry(pp, changes, change) {
		if (!pp->published && pp->state != PROBEPOINT_GONE) {
			probepoint_table_add(pp);
			pp->published = true;
		}
		publish_set(pp);
	}

	take_leftovers(changes);
	patch_text(changes);
	kprobe_ftrace_disarm(changes);

	list_for_each_entry_safe(pp, next, changes, change)
		if (!end_change(pp) && !pp->kp.post_handler)
			/* Without memory it stays as it is: slower, not wrong. */
			reshape(pp, false);
}

/**
 * probepoints_abort() - forget a batch that has not been committed
 * @changes: the batch; the probes that it attached have been detached
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void probepoints_abort(struct list_head *changes)
{
	struct probepoint *pp, *next;

	list_for_each_entry(pp, changes, change) {
		free_set(pp->next_set);
		pp->next_set = NULL;
		pp->staged = false;
	}
	take_leftovers(changes);
	kprobe_ftrace_disarm(changes);

	list_for_each_entry_safe(pp, next, changes, change)
		if (!end_change(pp) && !pp->kp.post_handler)
			reshape(pp, false);
}

/**
 * probepoints_arm_all() - arm what is enabled, or disarm everything
 * @arm: which of the two
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0, or what kprobe_ftrace_arm() returned for one of those that could
 * not be armed; all others have been.
 */
int probepoints_arm_all(bool arm)
{
	struct probepoint *pp, *next;
	LIST_HEAD(changes);
	struct rb_node *n;
	int err;

	kprobes_all_disarmed = !arm;
	for (n = rb_first(&probepoints); n; n = rb_next(n))
		probepoint_touch(rb_entry(n, struct probepoint, node), &changes);
	err = kprobe_ftrace_arm_most(&changes);
	patch_text(&changes);
	kprobe_ftrace_disarm(&changes);
	list_for_each_entry_safe(pp, next, &changes, change) {
		list_del_init(&pp->change);
		optimizer_changed(pp);
	}
	return err;
}

static void probepoint_kill(struct probepoint *pp)
{
	struct kprobe *p;

	optimizer_forget(pp);
	pp->state = PROBEPOINT_GONE;
	pp->going = false;
	unpublish(pp);
	list_for_each_entry(p, &pp->probes, list)
		p->flags |= KPROBE_FLAG_GONE;
	/* Its slot is freed when no task can be in it. */
	retire(pp);
}

/**
 * probepoints_kill() - take all probepoints out of text that is about to be freed
 * @start: its first address
 * @end: the first address after it
 *
 * The text is still mapped, and may still be executed: a module's parameters are
 * destroyed by its functions after its exit function has run, and the boot
 * configuration is freed by init text. So breakpoints and jumps are removed, and
 * when all CPUs see that, the probepoints leave the table. The probes are marked
 * as gone and stay so until they are unregistered.
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void probepoints_kill(unsigned long start, unsigned long end)
{
	struct probepoint *pp, *next;
	LIST_HEAD(changes);

	for (pp = probepoint_from(start); pp && (unsigned long)pp->kp.addr < end;
	     pp = probepoint_next(pp)) {
		if (pp->state == PROBEPOINT_GONE)
			continue;
		pp->going = true;
		publish_set(pp);
		probepoint_touch(pp, &changes);
	}
	take_leftovers(&changes);
	patch_text(&changes);
	/* The next owner of the text must not be taken for it. */
	kprobe_ftrace_disarm(&changes);
	list_for_each_entry_safe(pp, next, &changes, change) {
		if (pp->going) {
			probepoint_kill(pp);
			kprobe_ftrace_forget(pp);
		}
		end_change(pp);
	}
}
