// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: when a jump takes the place of a breakpoint, and when the
 * breakpoint comes back.
 *
 * A probepoint that has been armed is put on a list, and a worker goes through
 * it, some time later, so that probes which come and go at once cost nothing:
 *
 * 1. The architecture finds out whether the text allows a jump. That takes long
 *    and is done once for a probepoint, without a lock of ours.
 * 2. Each that is still armed gets a detour. From then on it is QUEUED, and its
 *    hits pass by the bytes that the jump will take.
 * 3. After one grace period of tasks RCU for all of them, waited for without a
 *    lock, no task can be in these bytes.
 * 4. Jumps are put in for those that are still QUEUED: nobody has unregistered
 *    or disabled them, or armed another probepoint under the jump, meanwhile.
 *
 * The way back is never waited for. Whoever disarms a probepoint, or arms one
 * under the jump of another, takes the jumps that are in the way out of the
 * text together with the rest of the batch; the detours are freed later.
 *
 * All of it is guarded by kprobe_mutex.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/list_sort.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "internal.h"

/* Time for a probe to go again before anything is done for it. */
#define OPTIMIZER_DELAY		msecs_to_jiffies(20)

/* How many are dealt with before others get kprobe_mutex. */
#define OPTIMIZER_BATCH		128

/* How long a reader may be kept waiting for jumps that are about to come. */
#define OPTIMIZER_PATIENCE	HZ

/* The sysctl debug.kprobes-optimization */
static bool kprobes_optimization = true;

/* Those to be looked at, and those that wait for the grace period. */
static LIST_HEAD(pending);
static LIST_HEAD(queued);

/* Nothing is on the lists, and the worker holds none in its hands. */
static bool settled = true;

/* The worker's last run found no memory, and it will try again. */
static bool out_of_memory;
static DECLARE_WAIT_QUEUE_HEAD(settled_wait);

/* Tells probepoints apart that have the same address one after the other. */
static u64 last_serial;

static void optimize(struct work_struct *work);
static DECLARE_DELAYED_WORK(optimizer, optimize);

static bool has_detour(const struct probepoint *pp)
{
	return pp->state == PROBEPOINT_QUEUED || pp->state == PROBEPOINT_OPTIMIZED;
}

static bool has_breakpoint(const struct probepoint *pp)
{
	return pp->state == PROBEPOINT_ARMED || has_detour(pp);
}

static bool wants_post(const struct probepoint *pp)
{
	return probepoint_has_post(pp);
}

static unsigned long addr_of(const struct probepoint *pp)
{
	return (unsigned long)pp->addr;
}

/* The end of what the instructions under its jump take, or may take. */
static unsigned long end_of_jump(const struct probepoint *pp)
{
	return addr_of(pp) + (pp->jump.checked ? pp->jump.reach : KPROBE_JUMP_REACH);
}

/* Is another probepoint armed under the jump that this one would get? */
static bool is_blocked(struct probepoint *pp)
{
	struct probepoint *other = pp;

	while ((other = probepoint_next(other)) && addr_of(other) < end_of_jump(pp))
		if (addr_of(other) != addr_of(pp) && has_breakpoint(other))
			return true;
	return false;
}

static void show_optimized(struct probepoint *pp, bool optimized)
{
	struct kprobe *p;

	list_for_each_entry(p, &pp->probes, list) {
		if (optimized)
			p->flags |= KPROBE_FLAG_OPTIMIZED;
		else
			p->flags &= ~KPROBE_FLAG_OPTIMIZED;
	}
}

static void enqueue(struct probepoint *pp)
{
	if (!kprobes_optimization || pp->state == PROBEPOINT_GONE || pp->jump.refusal)
		return;
	if (list_empty(&pp->jump.work))
		list_add_tail(&pp->jump.work, &pending);
	WRITE_ONCE(settled, false);
	queue_delayed_work(system_unbound_wq, &optimizer, OPTIMIZER_DELAY);
}

/* Hits use the detour no more; it goes when nobody is in it. */
static void drop_detour(struct probepoint *pp)
{
	struct retired_slot *retired = pp->jump.retired;

	list_del_init(&pp->jump.work);
	pp->jump.retired = NULL;
	retired->slot = arch_drop_detour(pp);
	kprobe_retire_slot(retired);
	show_optimized(pp, false);
}

/*
 * Have breakpoints instead of jumps, or of jumps to come. text_mutex is held,
 * and CPUs neither come nor go.
 */
static void unoptimize(struct list_head *leave)
{
	struct probepoint *pp, *next;
	bool patched = false;

	list_for_each_entry(pp, leave, jump.leave) {
		if (pp->state != PROBEPOINT_OPTIMIZED)
			continue;
		arch_break_jump(pp);
		patched = true;
	}
	/* Nobody takes the jump any more. */
	if (patched)
		arch_kprobes_sync();
	list_for_each_entry(pp, leave, jump.leave)
		if (pp->state == PROBEPOINT_OPTIMIZED)
			arch_restore_jump(pp);
	/* The rest of the text is there before anybody is sent to it. */
	if (patched)
		arch_kprobes_sync();
	list_for_each_entry_safe(pp, next, leave, jump.leave) {
		list_del_init(&pp->jump.leave);
		probepoint_set_state(pp, PROBEPOINT_ARMED);
		drop_detour(pp);
	}
}

static void note_leaving(struct probepoint *pp, struct list_head *leave)
{
	if (has_detour(pp) && list_empty(&pp->jump.leave))
		list_add_tail(&pp->jump.leave, leave);
}

/**
 * optimizer_unoptimize_conflicts() - take out the jumps that a batch can't have
 * @changes: the batch, its sets are published and its text not patched yet
 *
 * Those of probepoints that are going to be disarmed, and those over others
 * that are going to be armed.
 *
 * Context: sleeps; kprobe_mutex and text_mutex are held, CPUs neither come nor
 * go.
 */
void optimizer_unoptimize_conflicts(struct list_head *changes)
{
	struct probepoint *pp, *other;
	LIST_HEAD(leave);

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change) {
		if (!probepoint_wants_arming(pp)) {
			note_leaving(pp, &leave);
			continue;
		}
		if (pp->state != PROBEPOINT_DISARMED)
			continue;
		for (other = probepoint_before(addr_of(pp));
		     other && addr_of(other) + KPROBE_JUMP_REACH > addr_of(pp);
		     other = probepoint_prev(other))
			if (end_of_jump(other) > addr_of(pp))
				note_leaving(other, &leave);
	}
	unoptimize(&leave);
}

/**
 * optimizer_unoptimize_for_post() - see that post_handlers are going to be called
 * @changes: the batch, which has been staged
 *
 * A detour that does not call any can't be kept where there are going to be
 * some.
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void optimizer_unoptimize_for_post(struct list_head *changes)
{
	struct probepoint *pp;
	LIST_HEAD(leave);

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(pp, changes, change)
		if (!pp->jump.post && probepoint_next_has_post(pp))
			note_leaving(pp, &leave);
	if (list_empty(&leave))
		return;
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	unoptimize(&leave);
}

/**
 * optimizer_changed() - look at a probepoint after a batch
 * @pp: the probepoint; its text is in line with its set
 *
 * Context: kprobe_mutex is held.
 */
void optimizer_changed(struct probepoint *pp)
{
	struct probepoint *other;

	lockdep_assert_held(&kprobe_mutex);
	if (pp->state == PROBEPOINT_GONE)
		return;
	if (pp->state == PROBEPOINT_OPTIMIZED)
		show_optimized(pp, true);
	if (!has_detour(pp) || pp->jump.post != wants_post(pp))
		enqueue(pp);
	if (pp->state != PROBEPOINT_DISARMED)
		return;
	/* It is in nobody's way now. */
	for (other = probepoint_before(addr_of(pp));
	     other && addr_of(other) + KPROBE_JUMP_REACH > addr_of(pp);
	     other = probepoint_prev(other))
		if (other->state == PROBEPOINT_ARMED && end_of_jump(other) > addr_of(pp))
			enqueue(other);
}

/**
 * optimizer_forget() - have no more to do with a probepoint
 * @pp: the probepoint, whose last probe has left, or whose text is about to be
 *	freed and is left as it is
 *
 * Context: kprobe_mutex is held.
 */
void optimizer_forget(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	if (has_detour(pp))
		drop_detour(pp);
	list_del_init(&pp->jump.work);
}

/**
 * optimizer_init_point() - initialise what the optimiser has in a probepoint
 * @pp: the probepoint
 *
 * Context: kprobe_mutex is held.
 */
void optimizer_init_point(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	INIT_LIST_HEAD(&pp->jump.work);
	INIT_LIST_HEAD(&pp->jump.leave);
	pp->jump.serial = ++last_serial;
	if (pp->kp.flags & KPROBE_FLAG_FTRACE)
		pp->jump.refusal = "ftrace has a call there";
}

/**
 * optimizer_status() - tell how it is about the jump of a probepoint
 * @pp: the probepoint
 * @why: where to put the reason why it is refused, or NULL
 *
 * Context: kprobe_mutex is held.
 *
 * Return: a word, for people to read.
 */
const char *optimizer_status(struct probepoint *pp, const char **why)
{
	*why = NULL;
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
		return "refused";
	if (!pp->jump.checked)
		return "unchecked";
	if (is_blocked(pp))
		return "blocked";
	return list_empty(&pp->jump.work) ? "possible" : "queued";
}

/**
 * optimizer_wait_idle() - let the worker finish first, if it can soon
 *
 * For those who show what there is: users look right after they have registered
 * a probe, and want to see what it has come to. A task that holds up tasks RCU
 * holds them up for a second at most, and a signal ends it.
 *
 * Context: sleeps; nothing of ours is held.
 */
void optimizer_wait_idle(void)
{
	if (READ_ONCE(settled))
		return;
	/* They need not wait for probes to come and go, too. */
	mod_delayed_work(system_unbound_wq, &optimizer, 0);
	wait_event_interruptible_timeout(settled_wait, READ_ONCE(settled),
					 OPTIMIZER_PATIENCE);
}

/**
 * wait_for_kprobe_optimizer() - wait until the optimiser is idle
 *
 * When this returns, the optimiser has put in all jumps that there can be for
 * what was registered, enabled or switched on before, and changes no text
 * until another probe comes. If it has no memory for some of the jumps, this
 * does not wait for those: the worker tries again later.
 *
 * It is a function, and has this name, for modules that look it up by name.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
noinline void wait_for_kprobe_optimizer(void)
{
	while (!READ_ONCE(settled)) {
		/*
		 * A run of the worker that begins now finds all that was put
		 * on the lists before. One that is under way is flushed, too.
		 */
		mod_delayed_work(system_unbound_wq, &optimizer, 0);
		flush_delayed_work(&optimizer);
		if (READ_ONCE(out_of_memory))
			return;
	}
}

/*
 * The worker.
 */

static unsigned int list_unchecked(struct kprobe_jump *jumps, unsigned int max)
{
	struct probepoint *pp;
	unsigned int nr = 0;

	list_for_each_entry(pp, &pending, jump.work) {
		if (nr == max)
			break;
		if (pp->jump.checked)
			continue;
		jumps[nr].addr = addr_of(pp);
		jumps[nr].refusal = NULL;
		jumps[nr].reach = 0;
		jumps[nr++].serial = pp->jump.serial;
	}
	return nr;
}

static void note_checked(const struct kprobe_jump *jump)
{
	struct probepoint *pp = probepoint_from(jump->addr);

	while (pp && addr_of(pp) == jump->addr && pp->jump.serial != jump->serial)
		pp = probepoint_next(pp);
	/* What was checked may have gone since. */
	if (!pp || addr_of(pp) != jump->addr)
		return;
	pp->jump.checked = true;
	pp->jump.reach = jump->reach;
	pp->jump.refusal = jump->refusal;
	if (jump->refusal)
		list_del_init(&pp->jump.work);
}

/*
 * Find out about those that came since the last time, and publish it, so many
 * at a time.
 */
static int check_pending(void)
{
	struct kprobe_jump *jumps;
	unsigned int nr, i;
	int ret;

	jumps = kcalloc(OPTIMIZER_BATCH, sizeof(*jumps), GFP_KERNEL);
	if (!jumps)
		return -ENOMEM;
	do {
		scoped_guard(mutex, &kprobe_mutex)
			nr = list_unchecked(jumps, OPTIMIZER_BATCH);
		ret = nr ? arch_check_jumps(jumps, nr) : 0;
		if (ret)
			break;
		scoped_guard(mutex, &kprobe_mutex) {
			for (i = 0; i < nr; i++)
				note_checked(&jumps[i]);
		}
	} while (nr);
	kfree(jumps);
	return ret;
}

static int make_detour(struct probepoint *pp)
{
	bool post = wants_post(pp);
	int ret;

	pp->jump.retired = kmalloc(sizeof(*pp->jump.retired), GFP_KERNEL);
	if (!pp->jump.retired)
		return -ENOMEM;
	ret = arch_prepare_detour(pp, pp->jump.reach, post);
	if (ret) {
		kfree(pp->jump.retired);
		pp->jump.retired = NULL;
		return ret;
	}
	pp->jump.post = post;
	probepoint_set_state(pp, PROBEPOINT_QUEUED);
	return 0;
}

/* Give it a detour, if it is one that may have a jump at the moment. */
static int prepare_one(struct probepoint *pp)
{
	LIST_HEAD(leave);
	int ret;

	list_del_init(&pp->jump.work);
	pp->jump.failure = NULL;
	if (pp->state == PROBEPOINT_OPTIMIZED && pp->jump.post != wants_post(pp)) {
		note_leaving(pp, &leave);
		guard(cpus_read_lock)();
		guard(mutex)(&text_mutex);
		unoptimize(&leave);
	}
	if (pp->state != PROBEPOINT_ARMED || is_blocked(pp))
		return 0;
	ret = make_detour(pp);
	if (!ret)
		list_add_tail(&pp->jump.work, &queued);
	else if (ret == -ENOMEM)
		list_add_tail(&pp->jump.work, &pending);
	else
		pp->jump.failure = "there can be no detour for it";
	return ret == -ENOMEM ? ret : 0;
}

/* Make detours. Those who were not checked have come since, and stay. */
static int prepare_pending(void)
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
			if (!pp->jump.checked)
				list_move_tail(&pp->jump.work, &pending);
			else if (!ret)
				ret = prepare_one(pp);
			else
				list_move_tail(&pp->jump.work, &pending);
		}
	} while (done);
	return ret;
}

static int point_cmp(void *priv, const struct list_head *a, const struct list_head *b)
{
	return addr_of(list_entry(a, struct probepoint, jump.work)) >
	       addr_of(list_entry(b, struct probepoint, jump.work));
}

/* Put in some of the jumps. Nobody is in the bytes that they take. */
static bool put_some_jumps(void)
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
		if (arch_put_jump(pp)) {
			list_move_tail(&pp->jump.work, &done);
			continue;
		}
		pp->jump.failure = "the text is not what it was";
		note_leaving(pp, &leave);
	}
	arch_sync_jumps();
	unoptimize(&leave);
	list_for_each_entry_safe(pp, next, &done, jump.work) {
		list_del_init(&pp->jump.work);
		probepoint_set_state(pp, PROBEPOINT_OPTIMIZED);
		show_optimized(pp, true);
		if (pp->jump.post != wants_post(pp))
			enqueue(pp);
	}
	return nr;
}

static void optimize(struct work_struct *work)
{
	bool waiting, failed;

	do {
		failed = check_pending() || prepare_pending();
		WRITE_ONCE(out_of_memory, failed);
		/* Without memory, try again later. */
		if (failed)
			queue_delayed_work(system_unbound_wq, &optimizer, HZ);
		scoped_guard(mutex, &kprobe_mutex) {
			list_sort(NULL, &queued, point_cmp);
			waiting = !list_empty(&queued);
			if (!waiting && list_empty(&pending)) {
				WRITE_ONCE(settled, true);
				wake_up_all(&settled_wait);
			}
		}
		if (!waiting)
			return;
		/*
		 * The first is for tasks that were preempted in the bytes or
		 * on their way there, the second for hits under way, and for
		 * idle tasks, which the first leaves out.
		 */
		synchronize_rcu_tasks();
		synchronize_rcu();
		while (put_some_jumps())
			cond_resched();
	} while (true);
}

/*
 * The sysctl.
 */

static void switch_off(void)
{
	struct probepoint *pp;
	LIST_HEAD(leave);

	kprobes_optimization = false;
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	for (pp = probepoint_from(0); pp; pp = probepoint_next(pp)) {
		list_del_init(&pp->jump.work);
		note_leaving(pp, &leave);
	}
	unoptimize(&leave);
}

static void switch_on(void)
{
	struct probepoint *pp;

	kprobes_optimization = true;
	for (pp = probepoint_from(0); pp; pp = probepoint_next(pp))
		if (!has_detour(pp))
			enqueue(pp);
}

#ifdef CONFIG_SYSCTL
/*
 * Returns when everything is as it was asked for. A task that does not pass
 * through tasks RCU may keep the worker for as long as it likes, so a signal ends
 * the wait, and the write fails with -EINTR: the value has been taken all the same.
 */
static int optimization_handler(const struct ctl_table *table, int write, void *buffer,
				size_t *lenp, loff_t *ppos)
{
	u8 value = READ_ONCE(kprobes_optimization);
	struct ctl_table mine = *table;
	int ret;

	mine.data = &value;
	ret = proc_dou8vec_minmax(&mine, write, buffer, lenp, ppos);
	if (ret || !write)
		return ret;
	scoped_guard(mutex, &kprobe_mutex) {
		if (value)
			switch_on();
		else if (kprobes_optimization)
			switch_off();
	}
	if (value) {
		mod_delayed_work(system_unbound_wq, &optimizer, 0);
		if (wait_event_interruptible(settled_wait, READ_ONCE(settled)))
			return -EINTR;
	}
	return 0;
}

static struct ctl_table optimizer_table[] = {
	{
		.procname	= "kprobes-optimization",
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= optimization_handler,
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
