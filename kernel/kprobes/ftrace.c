// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: those on the locations that ftrace patches.
 *
 * At the entry of nearly every function there is room for a call that ftrace
 * puts there when somebody traces the function. A probe of that place is one
 * who does. So nothing is copied and no breakpoint is set; the address is put
 * into the filter of an ftrace_ops, whose function is the architecture's
 * kprobe_ftrace_handler().
 *
 * There are two of them. Ftrace lets only one of those attached to a function
 * change where it goes on: a live patch is one, a probe with a post_handler
 * counts as another, which is how those who divert calls say so. They exclude
 * each other, the first one wins. Nearly all probes only look: kprobe events,
 * perf's and BPF's have no post_handler, and must not keep a live patch away.
 * An address without any is in a filter that has no part in that.
 * Where this changes, the address is put into the second filter
 * before it is taken from the first. A hit in between is seen by both, and it
 * is up to the architecture to handle it once.
 *
 * Updating a filter is expensive, so it is done for a batch at once. Adding may
 * fail and belongs to the staging of a batch. An address that could not be
 * taken out, for lack of memory, stays there until the next batch tries again:
 * its hits find nothing to call.
 *
 * All is guarded by kprobe_mutex, which is outside of ftrace's own locks.
 */
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct kprobe_filter - addresses that ftrace calls us for
 * @ops: what ftrace knows about us
 * @nr: how many addresses are in the filter; @ops is registered if there are
 *	any, since an empty filter stands for all functions
 */
struct kprobe_filter {
	struct ftrace_ops ops;
	unsigned int nr;
};

/* A bit of probepoint.filters is the index here. */
#define FILTER_STAY	0
#define FILTER_DIVERT	1

/* Ftrace going off at the sysctl's command would leave probes without hits. */
#define FILTER_FLAGS	(FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT)

static struct kprobe_filter filters[] = {
	[FILTER_STAY] = {
		.ops = { .func = kprobe_ftrace_handler, .flags = FILTER_FLAGS },
	},
	[FILTER_DIVERT] = {
		.ops = {
			.func = kprobe_ftrace_handler,
			.flags = FILTER_FLAGS | FTRACE_OPS_FL_IPMODIFY,
		},
	},
};

/* Ftrace has failed and does not know any more what calls it. */
bool kprobe_ftrace_disabled __read_mostly;

/**
 * arch_kprobe_ftrace_trampoline() - what ftrace is to call from functions
 *
 * For architectures that have something better than ftrace's own trampolines
 * where no other tracer is attached to a function.
 *
 * Return: an address, or 0 for ftrace's own.
 */
unsigned long __weak arch_kprobe_ftrace_trampoline(void)
{
	return 0;
}

/**
 * kprobe_ftrace_kill() - ftrace is dead
 *
 * No more probes can be set at its places. What becomes of those that are set
 * is up to the architecture. May be called in any context.
 */
void kprobe_ftrace_kill(void)
{
	if (kprobe_ftrace_disabled)
		return;
	WRITE_ONCE(kprobe_ftrace_disabled, true);
	pr_err("kprobes: ftrace has failed, probes by way of it stay as they are\n");
}

/**
 * kprobe_ftrace_check() - see how an address of ftrace's can be probed
 * @addr: the address
 *
 * Return: 0 if ftrace can do it; -EILSEQ if @addr is inside of what ftrace
 * patches, where no instruction begins.
 */
int kprobe_ftrace_check(unsigned long addr)
{
	return ftrace_location_range(addr, addr) == addr ? 0 : -EILSEQ;
}

/* The bit of the filter that the probes in @set need; 0 if there are none. */
static u8 filter_for(const struct probe_set *set)
{
	unsigned int i;
	bool any = false;

	for (i = set->all; set->probes[i]; i++) {
		struct kprobe *p = set->probes[i];

		if (p->post_handler)
			return BIT(FILTER_DIVERT);
		any = true;
	}
	return any ? BIT(FILTER_STAY) : 0;
}

/* What its set, or the one about to replace it, needs. */
static u8 filter_wanted(const struct probepoint *pp)
{
	const struct probe_set *set = pp->next_set;

	if (!(pp->kp.flags & KPROBE_FLAG_FTRACE) || kprobes_all_disarmed)
		return 0;
	if (!pp->staged)
		set = rcu_dereference_protected(pp->set, lockdep_is_held(&kprobe_mutex));
	return filter_for(set);
}

static int filter_add(struct kprobe_filter *f, unsigned long *ips, unsigned int nr)
{
	int ret;

	if (kprobe_ftrace_disabled)
		return -ENODEV;
	if (!f->ops.trampoline)
		f->ops.trampoline = arch_kprobe_ftrace_trampoline();
	/* Nobody looked at what an unused filter was left with. */
	ret = ftrace_set_filter_ips(&f->ops, ips, nr, 0, !f->nr);
	if (!ret && !f->nr)
		ret = register_ftrace_function(&f->ops);
	if (ret)
		return ret;
	f->nr += nr;
	return 0;
}

static int filter_del(struct kprobe_filter *f, unsigned long *ips, unsigned int nr)
{
	int ret;

	if (f->nr == nr)
		ret = unregister_ftrace_function(&f->ops);
	else
		ret = ftrace_set_filter_ips(&f->ops, ips, nr, 1, 0);
	/* A dead ftrace does not remove anything, nor call us. */
	if (ret && !kprobe_ftrace_disabled)
		return ret;
	f->nr -= nr;
	return 0;
}

/* Which filters are to be changed for @pp? */
typedef u8 (*filter_choice_t)(const struct probepoint *pp);

static u8 filter_missing(const struct probepoint *pp)
{
	return filter_wanted(pp) & ~pp->filters;
}

/* Out of the one filter only when it is in the other. */
static u8 filter_excess(const struct probepoint *pp)
{
	return filter_missing(pp) ? 0 : pp->filters & ~filter_wanted(pp);
}

static unsigned int count_chosen(struct list_head *changes, filter_choice_t choose, u8 bit)
{
	struct probepoint *pp;
	unsigned int nr = 0;

	list_for_each_entry(pp, changes, change)
		nr += !!(choose(pp) & bit);
	return nr;
}

/* Change one filter for all of a batch whose bit @choose gives. */
static int filter_change(unsigned int which, struct list_head *changes,
			 filter_choice_t choose, gfp_t gfp)
{
	unsigned int nr, i = 0;
	struct probepoint *pp;
	u8 bit = BIT(which);
	unsigned long *ips;
	int ret;

	nr = count_chosen(changes, choose, bit);
	if (!nr)
		return 0;
	ips = kvmalloc_array(nr, sizeof(*ips), gfp);
	if (!ips)
		return -ENOMEM;
	list_for_each_entry(pp, changes, change)
		if (choose(pp) & bit)
			ips[i++] = (unsigned long)pp->addr;
	if (choose == filter_missing)
		ret = filter_add(&filters[which], ips, nr);
	else
		ret = filter_del(&filters[which], ips, nr);
	kvfree(ips);
	if (ret)
		return ret;

	list_for_each_entry(pp, changes, change) {
		pp->filters ^= choose(pp) & bit;
		if (kprobe_ftrace(&pp->kp) && pp->state != PROBEPOINT_GONE)
			probepoint_set_state(pp, pp->filters ? PROBEPOINT_FTRACE :
							       PROBEPOINT_DISARMED);
	}
	return 0;
}

/**
 * kprobe_ftrace_arm() - have ftrace call us for what a batch adds
 * @changes: the batch
 *
 * Does no harm before its time: hits find no handlers to call yet.
 *
 * Context: sleeps; kprobe_mutex is held; takes locks of ftrace and text_mutex.
 *
 * Return: 0; -EBUSY if ftrace is switched off, or somebody else may change
 * where a function goes on; -ENODEV if ftrace is dead; -ENOMEM. Of a failure
 * kprobe_ftrace_disarm() undoes what was done.
 */
int kprobe_ftrace_arm(struct list_head *changes)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	ret = filter_change(FILTER_DIVERT, changes, filter_missing, GFP_KERNEL);
	if (!ret)
		ret = filter_change(FILTER_STAY, changes, filter_missing, GFP_KERNEL);
	return ret;
}

/**
 * kprobe_ftrace_arm_most() - have ftrace call us for all that it can
 * @changes: the batch
 *
 * Context: as kprobe_ftrace_arm().
 *
 * Return: 0, or what kprobe_ftrace_arm() would return for one of those that
 * could not be armed. Which these are is in the kernel's log.
 */
int kprobe_ftrace_arm_most(struct list_head *changes)
{
	struct probepoint *pp, *next;
	LIST_HEAD(done);
	LIST_HEAD(one);
	int ret, err = 0;

	if (!kprobe_ftrace_arm(changes))
		return 0;
	list_for_each_entry_safe(pp, next, changes, change) {
		list_move(&pp->change, &one);
		ret = kprobe_ftrace_arm(&one);
		if (ret) {
			pr_warn("kprobes: can't arm %pS: %d\n", pp->addr, ret);
			err = ret;
		}
		list_splice_tail_init(&one, &done);
	}
	list_splice(&done, changes);
	return err;
}

/**
 * kprobe_ftrace_disarm() - have ftrace not call us for what a batch removes
 * @changes: the batch; what it was to add has been added, or given up
 *
 * Context: sleeps; kprobe_mutex is held; takes locks of ftrace and text_mutex.
 */
void kprobe_ftrace_disarm(struct list_head *changes)
{
	struct probepoint *pp;
	bool moves = false;

	lockdep_assert_held(&kprobe_mutex);
	/*
	 * Without its last probe that may divert a function, an address moves
	 * to the other filter. If that fails it stays where it is: too much is
	 * excluded then, but no hit is lost.
	 */
	filter_change(FILTER_STAY, changes, filter_missing, GFP_KERNEL | __GFP_NOFAIL);
	list_for_each_entry(pp, changes, change)
		moves |= filter_excess(pp) && filter_wanted(pp);
	/* A hit that asked one filter too early must not ask the other too late. */
	if (moves)
		synchronize_rcu_expedited();
	filter_change(FILTER_STAY, changes, filter_excess, GFP_KERNEL | __GFP_NOFAIL);
	filter_change(FILTER_DIVERT, changes, filter_excess, GFP_KERNEL | __GFP_NOFAIL);
}

/**
 * kprobe_ftrace_forget() - the text of a probepoint is about to be freed
 * @pp: the probepoint; kprobe_ftrace_disarm() has done what it can
 *
 * Context: kprobe_mutex is held.
 */
void kprobe_ftrace_forget(struct probepoint *pp)
{
	unsigned int i;

	lockdep_assert_held(&kprobe_mutex);
	if (likely(!pp->filters))
		return;
	pr_warn("kprobes: ftrace has kept %pS, which is being freed\n", pp->addr);
	for (i = 0; i < ARRAY_SIZE(filters); i++)
		filters[i].nr -= !!(pp->filters & BIT(i));
	pp->filters = 0;
}
