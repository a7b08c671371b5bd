// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: changing many probepoints at once.
 *
 * A batch is a list of probepoints whose probes are being attached, detached, enabled or
 * disabled.
 *
 * - Staging does all that may fail: it allocates new sets (the lists of enabled probes, see set.c)
 *   and slots, and adds addresses to ftrace filters. Hits still call the old sets.
 * - Committing cannot fail. It publishes the new sets and patches the text. It synchronises all
 *   CPUs once for the whole batch, not once for each probepoint.
 * - Aborting undoes a batch that was not committed.
 *
 * kprobe_mutex is held from the first step to the last. Patching takes cpus_read_lock() and
 * text_mutex inside it. A batch can have many thousands of probepoints, so long loops over a
 * batch call cond_resched().
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/*
 * Probepoints whose last probe was detached, but whose address ftrace could not remove from a
 * filter, for lack of memory. The next batch tries again.
 */
static LIST_HEAD(unreleased);

/*
 * Cookie of the RCU grace period after the last removal. After that grace period, no handler of a
 * disabled or unregistered probe runs. Guarded by kprobe_mutex.
 */
unsigned long kprobe_handlers_gone;

static int batch_reshape(struct probepoint *pp, bool post)
{
	struct deferred_slot *ds;
	kprobe_opcode_t *old;
	int ret;

	ret = arch_reshape_probepoint(pp, post, &old);
	if (ret || !old)
		return ret;
	ds = kmalloc(sizeof(*ds), GFP_KERNEL | __GFP_NOFAIL);
	ds->slot = old;
	kprobe_defer_free_slot(ds);
	return 0;
}

/* Disable or enable a registered probe in a batch. */
void kprobe_set_disabled(struct kprobe *p, bool disabled, struct list_head *changes)
{
	if (disabled)
		p->flags |= KPROBE_FLAG_DISABLED;
	else
		p->flags &= ~KPROBE_FLAG_DISABLED;
	if (!kprobe_is_waiting(p))
		batch_add_probepoint(p->point, changes);
}

/*
 * Allocate what a batch needs: probe sets, slots, entries of the probepoint table. Add addresses to
 * ftrace filters.
 *
 * This already installs the slots that call post_handlers. Until the commit, a hit that uses such a
 * slot finds no post_handler in the published probe set, and so calls none.
 *
 * Return: 0; or -ENOMEM, or what kprobe_ftrace_arm() returned. If it is not 0, the caller must
 * abort the batch.
 */
int probepoints_stage(struct list_head *changes)
{
	struct probepoint *pp;
	unsigned int new = 0;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change) {
		ret = probepoint_stage_set(pp, GFP_KERNEL);
		if (!ret && probepoint_next_has_post(pp))
			ret = batch_reshape(pp, true);
		if (ret)
			return ret;
		new += !pp->published;
		cond_resched();
	}
	optimizer_unoptimize_for_post(changes);
	ret = probepoint_table_reserve(new);
	/* Arm ftrace last, since that is the most expensive step to undo. */
	return ret ?: kprobe_ftrace_arm(changes);
}

/*
 * Must a breakpoint be written or removed at @pp? It must be written if @pp should be armed but is
 * DISARMED, and removed if @pp should not be armed but is ARMED. An ftrace-based probepoint, or one
 * whose text was freed, should not be armed and never is, so this returns false for it.
 */
static bool batch_must_patch(struct probepoint *pp)
{
	return pp->state == (probepoint_should_arm(pp) ? PROBEPOINT_DISARMED : PROBEPOINT_ARMED);
}

/*
 * Write and remove the breakpoints of a batch. Before that, optimizer_unoptimize_conflicts()
 * removes the jumps of probepoints to be disarmed, and the jumps that cover an instruction where a
 * breakpoint is about to be written.
 */
static void batch_patch_text(struct list_head *changes)
{
	struct probepoint *pp;
	bool patched = false;

	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	optimizer_unoptimize_conflicts(changes);
	optimizer_match_detours(changes);
	list_for_each_entry(pp, changes, change) {
		if (!batch_must_patch(pp))
			continue;
		if (pp->state == PROBEPOINT_DISARMED)
			arch_arm_probepoint(pp);
		else
			arch_disarm_probepoint(pp);
		patched = true;
		cond_resched();
	}
	if (!patched)
		return;
	arch_kprobes_sync();
	list_for_each_entry(pp, changes, change) {
		if (!batch_must_patch(pp))
			continue;
		if (pp->state == PROBEPOINT_DISARMED) {
			arch_probepoint_armed(pp);
			probepoint_set_state(pp, PROBEPOINT_ARMED);
		} else {
			probepoint_set_state(pp, PROBEPOINT_DISARMED);
		}
		cond_resched();
	}
}

static void batch_take_unreleased(struct list_head *changes)
{
	struct probepoint *pp, *next;

	list_for_each_entry_safe(pp, next, &unreleased, unreleased) {
		list_del_init(&pp->unreleased);
		batch_add_probepoint(pp, changes);
	}
}

/*
 * Take a probepoint off a batch. If it has no probes left, free it; but if a filter of ftrace still
 * contains its address, put it on the list of unreleased probepoints instead. Return: true if it
 * has probes, and is not GONE.
 */
static bool batch_end_change(struct probepoint *pp)
{
	list_del_init(&pp->change);
	module_put(pp->module);
	pp->module = NULL;
	optimizer_changed(pp);
	if (!list_empty(&pp->probes))
		return pp->state != PROBEPOINT_GONE;
	if (pp->filters) {
		list_add(&pp->unreleased, &unreleased);
		return false;
	}
	optimizer_remove(pp);
	probepoint_free(pp);
	return false;
}

/* Replace the slots that call post_handlers but no longer need to. */
static void batch_end_changes(struct list_head *changes)
{
	struct probepoint *pp, *next;

	list_for_each_entry_safe(pp, next, changes, change) {
		if (batch_end_change(pp) && !probepoint_has_post(pp))
			/* If this fails, the old slot stays. It is correct, but slower. */
			batch_reshape(pp, false);
		cond_resched();
	}
}

/* Make the text match the published sets, and end the batch. */
static void batch_finish(struct list_head *changes)
{
	batch_take_unreleased(changes);
	batch_patch_text(changes);
	kprobe_ftrace_disarm(changes);
	batch_end_changes(changes);
}

/*
 * Make a batch take effect. It was staged, or it only detaches and disables probes.
 *
 * When this returns, a new hit on any CPU calls exactly the probes that are attached and enabled. A
 * hit that began before may still call probes that the batch has detached or disabled, until the
 * end of an RCU grace period.
 */
void probepoints_commit(struct list_head *changes)
{
	struct probepoint *pp;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change) {
		if (!pp->published && pp->state != PROBEPOINT_GONE) {
			probepoint_table_add(pp);
			pp->published = true;
		}
		probepoint_publish_set(pp);
		cond_resched();
	}
	batch_finish(changes);
}

/*
 * Commit a batch that disables or detaches probes.
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void kprobe_commit_removal(struct list_head *changes)
{
	probepoints_commit(changes);
	/* Callers wait for this grace period: earlier hits may still call the removed probes. */
	kprobe_handlers_gone = get_state_synchronize_rcu();
}

/* Undo a batch that has not been committed. The probes that it attached have been detached. */
void probepoints_abort(struct list_head *changes)
{
	struct probepoint *pp;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change) {
		probepoint_unstage_set(pp);
		cond_resched();
	}
	batch_take_unreleased(changes);
	kprobe_ftrace_disarm(changes);
	batch_end_changes(changes);
}

/*
 * Arm all probepoints that have enabled probes, or disarm all. Return: 0; or what
 * kprobe_ftrace_arm() returned for one of the probepoints that could not be armed. All others are
 * armed.
 */
int probepoints_arm_all(bool arm)
{
	struct probepoint *pp;
	LIST_HEAD(changes);
	int err;

	lockdep_assert_held(&kprobe_mutex);
	kprobes_all_disarmed = !arm;
	for_each_probepoint(pp) {
		batch_add_probepoint(pp, &changes);
		cond_resched();
	}
	err = kprobe_ftrace_arm_most(&changes);
	batch_finish(&changes);
	return err;
}

/*
 * Disarm all probepoints in [@start, @end), text that is about to be freed.
 *
 * Their state becomes PROBEPOINT_GONE. The text is still mapped, and may still be executed:
 * module_destroy_params() calls functions of a module after the module's exit function, and the
 * function that frees the boot configuration is in init text. So breakpoints and jumps are removed
 * first, and a probepoint leaves the table only when all CPUs see the original text.
 */
void probepoints_kill(unsigned long start, unsigned long end)
{
	struct probepoint *pp, *next;
	LIST_HEAD(changes);

	lockdep_assert_held(&kprobe_mutex);
	for (pp = probepoint_lower_bound(start); pp && (unsigned long)pp->addr < end;
	     pp = probepoint_next(pp)) {
		if (pp->state == PROBEPOINT_GONE)
			continue;
		pp->text_going = true;
		probepoint_publish_set(pp);
		batch_add_probepoint(pp, &changes);
		cond_resched();
	}
	batch_take_unreleased(&changes);
	batch_patch_text(&changes);
	/* Remove the addresses from ftrace's filters before other text is loaded there. */
	kprobe_ftrace_disarm(&changes);
	list_for_each_entry_safe(pp, next, &changes, change) {
		if (pp->text_going) {
			optimizer_remove(pp);
			probepoint_kill(pp);
			kprobe_ftrace_discard(pp);
		}
		batch_end_change(pp);
		cond_resched();
	}
}
