// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: optimising and unoptimising probepoints.
 *
 * A jump to a detour buffer replaces the breakpoint. It overlaps the instructions of the DCR
 * (detoured code region), and no control flow may enter its bytes 1 to 4, the JTPR (jump
 * target prohibition region).
 *
 * The optimiser puts an armed probepoint on a list. After a short delay, a worker processes the
 * lists, in rounds. A probe that is unregistered during the delay costs the worker nothing.
 *
 * 1. The architecture does the safety check: can control flow enter the JTPR? This takes a long
 *    time. It is done once for each probepoint, without kprobe_mutex.
 * 2. Each probepoint that is still armed gets a detour buffer, and its state becomes QUEUED.
 *    From then on its hits are redirected to the detour buffer, and do not execute the DCR.
 * 3. The worker waits for one tasks-RCU and one RCU grace period, without a lock. After that no
 *    task is in the DCR, nor in a slot from which it would continue in the DCR.
 * 4. The probepoints that are still QUEUED get their jump. The others were disarmed during the
 *    wait, or another probepoint in their DCR was armed.
 *
 * Unoptimising does not wait for grace periods. A batch that disarms a probepoint, or arms
 * one in the DCR of another, removes the conflicting jumps when it patches the text. The detour
 * buffers are freed later, see deferred.c.
 *
 * A jump overwrites the instructions after the probed one. If a pre_handler redirects execution,
 * the code that runs instead may return or jump to one of these instructions. So a probepoint keeps
 * its breakpoint after a pre_handler has returned non-zero, or if a user asks for that, with
 * KPROBE_FLAG_NO_JUMP or an empty post_handler. When a pre_handler returns non-zero, the hit sets
 * pp->redirected and requests a work item, which unoptimises each probepoint whose pp->redirected
 * is set.
 *
 * kprobe_mutex guards everything here except pp->redirected, rounds and out_of_memory.
 */
#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/list_sort.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/rcupdate_wait.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "internal.h"

/* How long an armed probepoint waits for the worker */
#define OPTIMIZER_DELAY		msecs_to_jiffies(20)

/* Number of probepoints to process before kprobe_mutex is released */
#define OPTIMIZER_BATCH		128

/* How long a reader of kprobes/list waits for the worker at most */
#define OPTIMIZER_PATIENCE	HZ

/* The sysctl debug.kprobes-optimization */
static bool kprobes_optimization = true;

/*
 * Probepoints that wait for the safety check, for a detour buffer, and for their jump: steps 1, 2
 * and 4 at the top of this file
 */
static LIST_HEAD(unchecked);
static LIST_HEAD(pending);
static LIST_HEAD(queued);

/*
 * Incremented when a round begins and when it ends: odd during a round. A round processes all
 * probepoints that are on the lists when it begins. A task that waits for the optimiser waits for
 * the end of a round, not for empty lists: there may be no time at which all three lists are empty.
 *
 * Such a task does not use kthread_flush_work(). That sleeps uninterruptibly, and a busy task can
 * delay the grace periods without bounds.
 */
static unsigned long rounds;
static DECLARE_WAIT_QUEUE_HEAD(round_wait);

/* True if the last round failed for lack of memory. Then the worker will try again. */
static bool out_of_memory;

static void optimizer_work_fn(struct kthread_work *work);
static DEFINE_KTHREAD_DELAYED_WORK(optimizer, optimizer_work_fn);

/*
 * The worker's own thread, so that waiting for tasks RCU delays no other work. NULL early in
 * boot.
 */
static struct kthread_worker *thread;

static bool optimizer_has_detour(const struct probepoint *pp)
{
	return pp->state == PROBEPOINT_QUEUED || pp->state == PROBEPOINT_OPTIMIZED;
}

static bool optimizer_has_breakpoint(const struct probepoint *pp)
{
	return pp->state == PROBEPOINT_ARMED || optimizer_has_detour(pp);
}

static unsigned long optimizer_addr(const struct probepoint *pp)
{
	return (unsigned long)pp->addr;
}

/*
 * Return the end of the DCR of @pp, the instructions that its jump overwrites. Their size is known
 * only after the safety check. Before that, assume the largest possible size.
 */
static unsigned long optimizer_dcr_end(const struct probepoint *pp)
{
	return optimizer_addr(pp) + (pp->jump.checked ? pp->jump.dcr_size : KPROBE_DCR_MAX);
}

/* The probepoints below @pp whose DCR may contain the instruction of @pp */
#define for_each_near_below(other, pp)							\
	for (other = probepoint_last_below(optimizer_addr(pp));				\
	     other && optimizer_addr(other) + KPROBE_DCR_MAX > optimizer_addr(pp);	\
	     other = probepoint_prev(other))

/* Is a probepoint armed after @addr and before @end? */
static bool optimizer_is_armed_between(unsigned long addr, unsigned long end)
{
	struct probepoint *other = probepoint_lower_bound(addr + 1);

	for (; other && optimizer_addr(other) < end; other = probepoint_next(other))
		if (optimizer_has_breakpoint(other))
			return true;
	return false;
}

/*
 * Has a pre_handler redirected execution, and would a jump overwrite the instruction after the
 * probed one? Then no jump may be written.
 */
static bool optimizer_redirects(const struct probepoint *pp)
{
	return READ_ONCE(pp->redirected) && arch_jump_covers_next(pp);
}

/*
 * May a jump be written if hits call the probes in @set? Return: %KPROBE_REASON_NONE if it may;
 * otherwise the reason why not. A user forbids any jump with KPROBE_FLAG_NO_JUMP. An empty
 * post_handler, or a pre_handler that has redirected execution, forbids a jump that would overwrite
 * instructions after the probed one.
 */
static enum kprobe_reason optimizer_keeps_text(struct probepoint *pp, const struct probe_set *set)
{
	unsigned int i;

	for (i = set->all; set->probes[i]; i++)
		if (kprobe_has_flag(set->probes[i], KPROBE_FLAG_NO_JUMP))
			return KPROBE_REASON_JUMP_UNWANTED;
	if (!arch_jump_covers_next(pp))
		return KPROBE_REASON_NONE;
	for (i = set->post; set->probes[i]; i++)
		if (arch_post_is_empty(kprobe_user_post(set->probes[i])))
			return KPROBE_REASON_JUMP_EMPTY_POST;
	return optimizer_redirects(pp) ? KPROBE_REASON_JUMP_REDIRECTED : KPROBE_REASON_NONE;
}

static enum kprobe_reason optimizer_keeps_text_now(struct probepoint *pp)
{
	return optimizer_keeps_text(pp, rcu_dereference_protected(pp->set,
								  lockdep_is_held(&kprobe_mutex)));
}

/*
 * Is another probepoint armed in the DCR of @pp, the instructions that its jump would overwrite?
 * The jump would overwrite the breakpoint of the other one.
 */
static bool optimizer_is_blocked(struct probepoint *pp)
{
	return optimizer_is_armed_between(optimizer_addr(pp), optimizer_dcr_end(pp));
}

static void optimizer_show_optimized(struct probepoint *pp, bool optimized)
{
	struct kprobe *p;

	list_for_each_entry(p, &pp->probes, list) {
		if (optimized)
			p->flags |= KPROBE_FLAG_OPTIMIZED;
		else
			p->flags &= ~KPROBE_FLAG_OPTIMIZED;
	}
}

/*
 * Queue the worker, to run after @delay. If it is queued already, this changes nothing. Early in
 * boot there is no thread: optimizer_init() queues the worker later.
 */
static void optimizer_queue_worker(unsigned long delay)
{
	if (thread)
		kthread_queue_delayed_work(thread, &optimizer, delay);
}

static void optimizer_enqueue(struct probepoint *pp)
{
	if (!kprobes_optimization || pp->state == PROBEPOINT_GONE || pp->jump.refusal)
		return;
	if (list_empty(&pp->jump.work))
		list_add_tail(&pp->jump.work, pp->jump.checked ? &pending : &unchecked);
	optimizer_queue_worker(OPTIMIZER_DELAY);
}

/*
 * Stop redirecting hits to the detour buffer, and free the buffer when no task can be in it. Some
 * architectures keep the buffer: then arch_drop_detour() returns NULL, and nothing is freed later.
 */
static void optimizer_drop_detour(struct probepoint *pp)
{
	struct deferred_slot *ds = pp->jump.deferred_slot;

	list_del_init(&pp->jump.work);
	pp->jump.deferred_slot = NULL;
	ds->slot = arch_drop_detour(pp);
	if (ds->slot)
		kprobe_defer_free_slot(ds);
	else
		kfree(ds);
	optimizer_show_optimized(pp, false);
}

/*
 * Unoptimise all probepoints on @leave, which have a jump or are QUEUED. cpus_read_lock() and
 * text_mutex are held.
 *
 * A jump is removed in two steps, with a synchronisation of all CPUs after each: first its
 * opcode becomes an int3, then the other bytes are restored. CPUs that hit the int3 between the
 * two steps are redirected to the detour buffer.
 */
static void optimizer_unoptimize(struct list_head *leave)
{
	struct probepoint *pp, *next;
	bool patched = false;

	list_for_each_entry(pp, leave, jump.leave) {
		if (pp->state != PROBEPOINT_OPTIMIZED)
			continue;
		arch_break_jump(pp);
		patched = true;
		cond_resched();
	}
	/* After this synchronisation, all CPUs see the int3: none executes the jump any more. */
	if (patched)
		arch_kprobes_sync();
	list_for_each_entry(pp, leave, jump.leave) {
		if (pp->state == PROBEPOINT_OPTIMIZED)
			arch_restore_jump(pp);
		cond_resched();
	}
	/*
	 * After this synchronisation, a hit may resume in the slot again, and continue with the
	 * instructions that the jump had overwritten.
	 */
	if (patched)
		arch_kprobes_sync();
	list_for_each_entry_safe(pp, next, leave, jump.leave) {
		list_del_init(&pp->jump.leave);
		probepoint_set_state(pp, PROBEPOINT_ARMED);
		optimizer_drop_detour(pp);
		cond_resched();
	}
}

static void optimizer_note_leaving(struct probepoint *pp, struct list_head *leave)
{
	if (optimizer_has_detour(pp) && list_empty(&pp->jump.leave))
		list_add_tail(&pp->jump.leave, leave);
}

/*
 * Unoptimise the probepoints of a batch that are about to be disarmed, and every probepoint whose
 * jump overwrites an address at which a probepoint of the batch is about to be armed. The new sets
 * of probes are published, but the text is not patched yet. cpus_read_lock() and text_mutex are
 * held.
 */
void optimizer_unoptimize_conflicts(struct list_head *changes)
{
	struct probepoint *pp, *other;
	LIST_HEAD(leave);

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change) {
		if (!probepoint_should_arm(pp)) {
			optimizer_note_leaving(pp, &leave);
			continue;
		}
		if (pp->state != PROBEPOINT_DISARMED)
			continue;
		for_each_near_below(other, pp)
			if (optimizer_dcr_end(other) > optimizer_addr(pp))
				optimizer_note_leaving(other, &leave);
		cond_resched();
	}
	optimizer_unoptimize(&leave);
}

/*
 * Adapt detour buffers to the new probes of a batch. These are published, and conflicting jumps are
 * removed. cpus_read_lock() and text_mutex are held.
 */
void optimizer_match_detours(struct list_head *changes)
{
	struct probepoint *pp;
	bool queued = false;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change) {
		if (optimizer_has_detour(pp))
			queued |= arch_match_detour(pp);
		cond_resched();
	}
	if (queued)
		arch_sync_jumps();
}

/*
 * Unoptimise a probepoint of a batch if its new set, staged but not published yet, has a
 * post_handler, and its detour buffer calls none; or if a user of a probe in its new set needs the
 * original text after the probed instruction.
 */
void optimizer_unoptimize_for_post(struct list_head *changes)
{
	struct probepoint *pp;
	LIST_HEAD(leave);

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change)
		if (optimizer_has_detour(pp) &&
		    ((!pp->jump.post && probepoint_next_has_post(pp)) ||
		     optimizer_keeps_text(pp, pp->next_set)))
			optimizer_note_leaving(pp, &leave);
	if (list_empty(&leave))
		return;
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	optimizer_unoptimize(&leave);
}

static void optimizer_redirect_worker(struct work_struct *work)
{
	struct probepoint *pp;
	LIST_HEAD(leave);

	guard(mutex)(&kprobe_mutex);
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	for_each_probepoint(pp) {
		if (optimizer_has_detour(pp) && optimizer_redirects(pp)) {
			pp->jump.failure = KPROBE_REASON_JUMP_REDIRECTED;
			optimizer_note_leaving(pp, &leave);
		}
		cond_resched();
	}
	optimizer_unoptimize(&leave);
}

static DECLARE_WORK(redirect_work, optimizer_redirect_worker);

static struct kprobe_request redirect_request = { .work = &redirect_work };

/*
 * Note that a pre_handler has returned non-zero: from now on no jump is written that overwrites the
 * instruction after the probed one. If there is such a jump already, a worker removes it.
 *
 * Context: any, with preemption disabled.
 */
void __kprobes probepoint_note_redirect(struct probepoint *pp)
{
	if (likely(READ_ONCE(pp->redirected)))
		return;
	WRITE_ONCE(pp->redirected, true);
	kprobe_request(&redirect_request);
}

/*
 * Queue a probepoint whose text now matches its set of probes, and others that can be optimised
 * now.
 */
void optimizer_changed(struct probepoint *pp)
{
	struct probepoint *other;

	lockdep_assert_held(&kprobe_mutex);
	if (pp->state == PROBEPOINT_GONE)
		return;
	if (pp->state == PROBEPOINT_OPTIMIZED)
		optimizer_show_optimized(pp, true);
	if (!optimizer_has_detour(pp) || pp->jump.post != probepoint_has_post(pp))
		optimizer_enqueue(pp);
	if (pp->state != PROBEPOINT_DISARMED)
		return;
	/*
	 * The breakpoint of @pp was removed. Armed probepoints whose jump would have overwritten
	 * that breakpoint may get their jump now.
	 */
	for_each_near_below(other, pp)
		if (other->state == PROBEPOINT_ARMED &&
		    optimizer_dcr_end(other) > optimizer_addr(pp))
			optimizer_enqueue(other);
}

/*
 * Remove a probepoint from the lists of the optimiser. It has been disarmed, and so has no detour
 * buffer any more. Its last probe has been detached, or its text is about to be freed.
 */
void optimizer_remove(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	list_del_init(&pp->jump.work);
}

/* Initialise the optimiser's part of a probepoint. An ftrace-based one never gets a jump. */
void optimizer_init_point(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	INIT_LIST_HEAD(&pp->jump.work);
	INIT_LIST_HEAD(&pp->jump.leave);
	if (pp->kp.flags & KPROBE_FLAG_FTRACE)
		pp->jump.refusal = KPROBE_REASON_JUMP_FTRACE;
}

/*
 * Return the state of a probepoint's jump, as a word for debugfs kprobes/optimizer. @why: result:
 * the reason if the state is "refused" or "failed", or KPROBE_REASON_NONE. If the safety check
 * refused the jump, that is final; a failed attempt may be repeated.
 */
const char *optimizer_status(struct probepoint *pp, enum kprobe_reason *why)
{
	*why = KPROBE_REASON_NONE;
	lockdep_assert_held(&kprobe_mutex);
	switch (pp->state) {
	case PROBEPOINT_GONE:
		return "gone";
	case PROBEPOINT_OPTIMIZED:
		return "optimized";
	case PROBEPOINT_QUEUED:
		return "queued";
	default:
		break;
	}
	*why = pp->jump.refusal ?: pp->jump.failure;
	if (*why)
		return pp->jump.refusal ? "refused" : "failed";
	if (!pp->jump.checked)
		return "unchecked";
	if (optimizer_is_blocked(pp))
		return "blocked";
	return list_empty(&pp->jump.work) ? "possible" : "queued";
}

#ifdef CONFIG_KPROBES_EXPLAIN

/*
 * May a jump be written at @addr, given the probes that are registered there? Return:
 * %KPROBE_REASON_NONE if it may, or if there are no probes; otherwise the reason why not.
 */
static enum kprobe_reason optimizer_keeps_text_at(kprobe_opcode_t *addr)
{
	struct probepoint *pp = probepoint_find_live(addr);

	return pp ? optimizer_keeps_text_now(pp) : KPROBE_REASON_NONE;
}

static void optimizer_answer(struct jump_question *q, const struct kprobe_jump *jump)
{
	enum kprobe_reason kept = optimizer_keeps_text_at(q->pp->addr);
	struct probepoint *pp = q->pp;
	unsigned int post;

	lockdep_assert_held(&kprobe_mutex);
	for (post = 0; post < q->nr; post++) {
		q->answer[post] = KPROBE_NO;
		q->why[post] = jump->refusal;
		if (jump->refusal)
			continue;
		q->answer[post] = arch_explain_detour(pp, jump->dcr_size, post);
		q->why[post] = pp->jump.failure;
		if (q->answer[post] == KPROBE_NO)
			continue;
		if (optimizer_is_armed_between(optimizer_addr(pp),
					       optimizer_addr(pp) + jump->dcr_size))
			q->why[post] = KPROBE_REASON_JUMP_BLOCKED;
		else if (kept)
			q->why[post] = kept;
		else if (!kprobes_optimization)
			q->why[post] = KPROBE_REASON_JUMP_OFF;
		else if (kprobes_all_disarmed)
			q->why[post] = KPROBE_REASON_JUMP_DISARMED;
		else
			continue;
		q->answer[post] = KPROBE_NO;
	}
}

/*
 * Would probepoints be optimised? @questions: a list of struct jump_question, whose results are
 * filled in. If the addresses are in ascending order, each function is decoded only once.
 *
 * Return: 0 or -ENOMEM. Takes kprobe_mutex.
 */
int optimizer_explain(struct list_head *questions)
{
	unsigned int nr = list_count_nodes(questions), i = 0;
	struct kprobe_jump *jumps __free(kvfree) = NULL;
	struct jump_question *q;
	int ret;

	if (!nr)
		return 0;
	jumps = kvcalloc(nr, sizeof(*jumps), GFP_KERNEL);
	if (!jumps)
		return -ENOMEM;
	list_for_each_entry(q, questions, list)
		jumps[i++].addr = optimizer_addr(q->pp);
	ret = arch_check_jumps(jumps, nr);
	if (ret)
		return ret;
	i = 0;
	list_for_each_entry(q, questions, list)
		scoped_guard(mutex, &kprobe_mutex)
			optimizer_answer(q, &jumps[i++]);
	return 0;
}

#endif /* CONFIG_KPROBES_EXPLAIN */

static bool optimizer_is_idle(void)
{
	return !(READ_ONCE(rounds) & 1) &&
	       list_empty(&unchecked) && list_empty(&pending) && list_empty(&queued);
}

/*
 * If there is work, make the worker run at once. Return: the value of rounds at the end of the
 * round that processes all probepoints that are on the lists now; the current value if there is no
 * work.
 */
static unsigned long optimizer_request_round(void)
{
	unsigned long round;

	guard(mutex)(&kprobe_mutex);
	if (!thread || optimizer_is_idle())
		return rounds;
	/*
	 * If a round runs now (rounds is odd), it may have processed a list before a probepoint was
	 * added to the list: wait for the end of the next round, rounds + 3. If none runs, the next
	 * round ends at rounds + 2. Read rounds before the worker is queued: the worker may begin
	 * the next round at once, and no other round may follow.
	 */
	round = (READ_ONCE(rounds) + 3) & ~1UL;
	kthread_mod_delayed_work(thread, &optimizer, 0);
	return round;
}

static bool optimizer_round_has_ended(unsigned long round)
{
	/* Pairs with smp_store_release() in optimizer_end_round(). */
	return (long)(smp_load_acquire(&rounds) - round) >= 0;
}

/*
 * Wait for a round of the worker, for OPTIMIZER_PATIENCE at most.
 *
 * For readers of kprobes/list: a user reads it right after registering a probe, to see whether
 * the probe is optimised. A signal ends the wait. If a task delays the grace periods, the wait
 * times out.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void optimizer_wait_idle(void)
{
	unsigned long round = optimizer_request_round();

	wait_event_interruptible_timeout(round_wait, optimizer_round_has_ended(round),
					 OPTIMIZER_PATIENCE);
}

/**
 * wait_for_kprobe_optimizer() - wait until the optimiser has processed all probes
 *
 * When this returns, every probe that was registered, enabled or armed before has its
 * jump if it can have one. The optimiser changes no text until the next change of probes, of
 * kprobes/enabled or of the sysctl. If memory is short, this does not wait for the jumps that
 * need memory: the worker tries again later.
 *
 * Modules outside of the kernel look this function up by name. So the name must stay, and the
 * function must not be inlined.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
noinline void wait_for_kprobe_optimizer(void)
{
	unsigned long round = optimizer_request_round();

	/*
	 * A busy task can delay the grace periods, and so the round, for a long time. This task
	 * sleeps in TASK_IDLE, so it counts neither as hung nor as load.
	 */
	wait_event_state(round_wait, optimizer_round_has_ended(round),
			 (TASK_IDLE | TASK_FREEZABLE));
}
EXPORT_SYMBOL_IF_KUNIT(wait_for_kprobe_optimizer);

static unsigned int optimizer_list_unchecked(struct kprobe_jump *jumps, unsigned int max)
{
	struct probepoint *pp;
	unsigned int nr = 0;

	list_for_each_entry(pp, &unchecked, jump.work) {
		if (nr == max)
			break;
		jumps[nr++] = (struct kprobe_jump){
			.addr = optimizer_addr(pp),
			.serial = pp->serial,
		};
	}
	return nr;
}

static void optimizer_note_checked(const struct kprobe_jump *jump)
{
	struct probepoint *pp = probepoint_lower_bound(jump->addr);

	while (pp && optimizer_addr(pp) == jump->addr && pp->serial != jump->serial)
		pp = probepoint_next(pp);
	/*
	 * If no probepoint at the address has the serial number of the checked one, that one was
	 * freed during the check.
	 */
	if (!pp || optimizer_addr(pp) != jump->addr)
		return;
	pp->jump.checked = true;
	pp->jump.dcr_size = jump->dcr_size;
	pp->jump.refusal = jump->refusal;
	if (jump->refusal)
		list_del_init(&pp->jump.work);
	else if (!list_empty(&pp->jump.work))
		list_move_tail(&pp->jump.work, &pending);
}

/* Do the safety check of all probepoints that need it. Return: 0, or -ENOMEM. */
static int optimizer_check_pending(void)
{
	struct kprobe_jump *jumps __free(kfree) = kcalloc(OPTIMIZER_BATCH, sizeof(*jumps),
							  GFP_KERNEL);
	unsigned int nr, i;
	int ret;

	if (!jumps)
		return -ENOMEM;
	do {
		scoped_guard(mutex, &kprobe_mutex)
			nr = optimizer_list_unchecked(jumps, OPTIMIZER_BATCH);
		ret = nr ? arch_check_jumps(jumps, nr) : 0;
		if (ret)
			return ret;
		scoped_guard(mutex, &kprobe_mutex)
			for (i = 0; i < nr; i++)
				optimizer_note_checked(&jumps[i]);
	} while (nr);
	return 0;
}

static int optimizer_make_detour(struct probepoint *pp)
{
	bool post = probepoint_has_post(pp);
	int ret;

	pp->jump.deferred_slot = kmalloc(sizeof(*pp->jump.deferred_slot), GFP_KERNEL);
	if (!pp->jump.deferred_slot)
		return -ENOMEM;
	ret = arch_prepare_detour(pp, pp->jump.dcr_size, post);
	if (ret) {
		kfree(pp->jump.deferred_slot);
		pp->jump.deferred_slot = NULL;
		return ret;
	}
	pp->jump.post = post;
	probepoint_set_state(pp, PROBEPOINT_QUEUED);
	return 0;
}

/*
 * Build the detour buffer of a probepoint, and queue the probepoint for its jump. If it already has
 * a jump, to a buffer that does not suit its post_handlers, remove that jump first. Do nothing if
 * the probepoint is not armed, or cannot have a jump now. Return: 0; or -ENOMEM, and the probepoint
 * is pending again.
 */
static int optimizer_prepare_one(struct probepoint *pp)
{
	LIST_HEAD(leave);
	int ret;

	list_del_init(&pp->jump.work);
	pp->jump.failure = KPROBE_REASON_NONE;
	if (pp->state == PROBEPOINT_OPTIMIZED && pp->jump.post != probepoint_has_post(pp)) {
		optimizer_note_leaving(pp, &leave);
		guard(cpus_read_lock)();
		guard(mutex)(&text_mutex);
		optimizer_unoptimize(&leave);
	}
	if (pp->state != PROBEPOINT_ARMED || optimizer_is_blocked(pp))
		return 0;
	pp->jump.failure = optimizer_keeps_text_now(pp);
	if (pp->jump.failure)
		return 0;
	ret = optimizer_make_detour(pp);
	if (!ret)
		list_add_tail(&pp->jump.work, &queued);
	else if (ret == -ENOMEM)
		list_add_tail(&pp->jump.work, &pending);
	else if (!pp->jump.failure)
		pp->jump.failure = KPROBE_REASON_JUMP_DETOUR;
	return ret == -ENOMEM ? ret : 0;
}

/*
 * Build detour buffers for all probepoints that have passed the safety check. Return: 0; or
 * -ENOMEM, and the probepoints without a buffer are pending again.
 */
static int optimizer_prepare_pending(void)
{
	struct probepoint *pp, *next;
	unsigned int done;
	LIST_HEAD(todo);
	int ret = 0;

	scoped_guard(mutex, &kprobe_mutex)
		list_splice_init(&pending, &todo);
	do {
		guard(mutex)(&kprobe_mutex);
		done = 0;
		list_for_each_entry_safe(pp, next, &todo, jump.work) {
			if (done++ == OPTIMIZER_BATCH)
				break;
			if (!ret)
				ret = optimizer_prepare_one(pp);
			else
				list_move_tail(&pp->jump.work, &pending);
		}
	} while (done);
	return ret;
}

static int optimizer_cmp(void *priv, const struct list_head *a, const struct list_head *b)
{
	return optimizer_addr(list_entry(a, struct probepoint, jump.work)) >
	       optimizer_addr(list_entry(b, struct probepoint, jump.work));
}

/*
 * Write the jumps of up to OPTIMIZER_BATCH queued probepoints. The caller has waited until no task
 * is in the instructions that the jumps overwrite. Return: false if no probepoint was queued any
 * more.
 */
static bool optimizer_install_jumps(void)
{
	struct probepoint *pp, *next;
	unsigned int nr = 0;
	LIST_HEAD(leave);
	LIST_HEAD(done);

	guard(mutex)(&kprobe_mutex);
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	list_for_each_entry_safe(pp, next, &queued, jump.work) {
		if (nr++ == OPTIMIZER_BATCH)
			break;
		/* A pre_handler may have redirected execution since the detour buffer was built. */
		if (optimizer_redirects(pp)) {
			pp->jump.failure = KPROBE_REASON_JUMP_REDIRECTED;
		} else if (arch_install_jump(pp)) {
			list_move_tail(&pp->jump.work, &done);
			continue;
		} else {
			pp->jump.failure = KPROBE_REASON_JUMP_CHANGED;
		}
		optimizer_note_leaving(pp, &leave);
	}
	arch_sync_jumps();
	optimizer_unoptimize(&leave);
	list_for_each_entry_safe(pp, next, &done, jump.work) {
		list_del_init(&pp->jump.work);
		probepoint_set_state(pp, PROBEPOINT_OPTIMIZED);
		optimizer_show_optimized(pp, true);
		if (pp->jump.post != probepoint_has_post(pp))
			optimizer_enqueue(pp);
	}
	return nr;
}

static void optimizer_end_round(void)
{
	/* Waiters see what the round has done. Pairs with optimizer_round_has_ended(). */
	smp_store_release(&rounds, rounds + 1);
	wake_up_all(&round_wait);
}

/*
 * Like synchronize_rcu_tasks(), but wait in another task state, in which the thread counts neither
 * as load nor as hung, and does not prevent the system from being suspended.
 */
static void optimizer_wait_for_tasks(void)
{
	struct rcu_synchronize rs;

	init_rcu_head_on_stack(&rs.head);
	init_completion(&rs.completion);
	call_rcu_tasks(&rs.head, wakeme_after_rcu);
	wait_for_completion_state(&rs.completion, TASK_IDLE | TASK_FREEZABLE);
	destroy_rcu_head_on_stack(&rs.head);
}

static void optimizer_work_fn(struct kthread_work *work)
{
	bool waiting, failed;

	do {
		WRITE_ONCE(rounds, rounds + 1);
		failed = optimizer_check_pending() || optimizer_prepare_pending();
		WRITE_ONCE(out_of_memory, failed);
		if (failed)
			optimizer_queue_worker(HZ);
		scoped_guard(mutex, &kprobe_mutex) {
			list_sort(NULL, &queued, optimizer_cmp);
			waiting = !list_empty(&queued);
		}
		if (waiting) {
			/*
			 * Tasks RCU waits for tasks that were preempted in the instructions that a
			 * jump will overwrite, or in a slot from which they would continue there.
			 * RCU waits for current hits, and for idle tasks, which tasks RCU does not
			 * wait for.
			 */
			optimizer_wait_for_tasks();
			synchronize_rcu();
			while (optimizer_install_jumps())
				cond_resched();
		}
		optimizer_end_round();
	} while (waiting);
}

static int __init optimizer_init(void)
{
	struct kthread_worker *worker;

	worker = kthread_create_worker(KTW_FREEZABLE, "kprobe-optimizer");
	if (IS_ERR(worker)) {
		pr_err("kprobes: no thread to optimise probes (%ld)\n", PTR_ERR(worker));
		return PTR_ERR(worker);
	}
	guard(mutex)(&kprobe_mutex);
	thread = worker;
	if (!optimizer_is_idle())
		optimizer_queue_worker(OPTIMIZER_DELAY);
	return 0;
}
early_initcall(optimizer_init);

#ifdef CONFIG_SYSCTL
static void optimizer_disable(void)
{
	struct probepoint *pp;
	LIST_HEAD(leave);

	kprobes_optimization = false;
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	for_each_probepoint(pp) {
		list_del_init(&pp->jump.work);
		optimizer_note_leaving(pp, &leave);
		cond_resched();
	}
	optimizer_unoptimize(&leave);
}

static void optimizer_enable(void)
{
	struct probepoint *pp;

	kprobes_optimization = true;
	for_each_probepoint(pp) {
		if (!optimizer_has_detour(pp))
			optimizer_enqueue(pp);
		cond_resched();
	}
}

/*
 * A write returns when all current probepoints are optimised or unoptimised. A task may delay
 * the tasks-RCU grace period without bounds, so a signal ends the wait, and the optimiser
 * continues. If the signal has a handler, the write returns -EINTR. The freezer, cgroup.freeze,
 * SIGSTOP and live patching also wake the task, as a signal does: then the write is restarted.
 */
static int optimizer_sysctl_handler(const struct ctl_table *table, int write, void *buffer,
				    size_t *lenp, loff_t *ppos)
{
	u8 value = READ_ONCE(kprobes_optimization);
	struct ctl_table mine = *table;
	unsigned long round;
	int ret;

	mine.data = &value;
	ret = proc_dou8vec_minmax(&mine, write, buffer, lenp, ppos);
	if (ret || !write)
		return ret;
	scoped_guard(mutex, &kprobe_mutex) {
		if (value)
			optimizer_enable();
		else if (kprobes_optimization)
			optimizer_disable();
	}
	if (!value)
		return 0;
	round = optimizer_request_round();
	if (wait_event_interruptible(round_wait,
				     optimizer_round_has_ended(round) && !READ_ONCE(out_of_memory)))
		return -ERESTARTNOHAND;
	return 0;
}

static struct ctl_table optimizer_table[] = {
	{
		.procname	= "kprobes-optimization",
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= optimizer_sysctl_handler,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init optimizer_sysctl_init(void)
{
	register_sysctl_init("debug", optimizer_table);
	return 0;
}
late_initcall(optimizer_sysctl_init);
#endif /* CONFIG_SYSCTL */
