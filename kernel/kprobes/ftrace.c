// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: ftrace-based probes.
 *
 * Nearly every function has room for a call of ftrace at its entry. A probe at that address
 * needs neither a slot nor a breakpoint: the address is added to the filter of an ftrace_ops,
 * which calls the architecture's kprobe_ftrace_handler().
 *
 * There are three ftrace_ops. FILTER_DIVERT has %FTRACE_OPS_FL_IPMODIFY, which only one user of
 * a function may have: a live patch, or a probepoint with a post_handler. A user of probes sets a
 * post_handler to declare that its pre_handler redirects calls. If a function already has one such
 * user, the second one fails. Probes without post_handlers, such as those of kprobe events, perf
 * and BPF, must not exclude a live patch. They are in FILTER_STAY; or in FILTER_RETURN, if the
 * only probe is a return probe without entry_handler, and if the architecture has a trampoline
 * that tracks such a call without saving all registers.
 *
 * On x86 an address moves to another filter when its first post_handler is registered, or
 * its last one unregistered, or when a return probe becomes the only probe, or ceases to be the
 * only one. The address is added to the new filter before it is removed from the old one. While
 * it is in both, ftrace calls the handler twice for a hit, so x86 marks the registers of a hit
 * that was handled. Other architectures cannot mark registers. There an address stays in one filter
 * as long as it has an enabled probe. If that is FILTER_STAY, a probe with a post_handler that is
 * registered later does not exclude a live patch. If it is FILTER_DIVERT, a live patch is still
 * excluded after the probe with the post_handler was unregistered.
 *
 * Updating a filter is expensive, so a batch does it once. Adding may fail, and is part of
 * staging. If an address cannot be removed for lack of memory, it stays in the filter until
 * the next batch tries again. Hits at the address then find no handlers to call.
 *
 * kprobe_mutex guards everything here. The locks of ftrace nest inside it.
 */
#include <kunit/visibility.h>
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct kprobe_filter - addresses at which ftrace calls kprobe_ftrace_handler()
 * @ops: the user of ftrace. It is registered only while the filter has addresses: an empty
 *	filter means all functions.
 * @nr: number of addresses in the filter
 */
struct kprobe_filter {
	struct ftrace_ops ops;
	unsigned int nr;
};

/* Indices of filters[], in the order of arming, and bit numbers in probepoint.filters */
#define FILTER_DIVERT	0
#define FILTER_STAY	1
#define FILTER_RETURN	2

/* With PERMANENT, the sysctl kernel.ftrace_enabled cannot be set to 0 while a filter is in use. */
#define FILTER_FLAGS	(FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_PERMANENT)

/*
 * Can an address move from one filter to another? During the move it is in both, and ftrace calls
 * the handler twice for some hits. Only x86 can mark the registers of a hit that was handled, so
 * that the second call does nothing.
 */
#ifdef __ARCH_WANT_PROBEPOINT
#define CAN_MOVE	true
#else
#define CAN_MOVE	false
#endif

static struct kprobe_filter filters[] = {
	[FILTER_DIVERT] = {
		.ops = {
			.func = kprobe_ftrace_handler,
			.flags = FILTER_FLAGS | FTRACE_OPS_FL_IPMODIFY,
		},
	},
	[FILTER_STAY] = {
		.ops = { .func = kprobe_ftrace_handler, .flags = FILTER_FLAGS },
	},
	[FILTER_RETURN] = {
		.ops = { .func = kprobe_ftrace_handler, .flags = FILTER_FLAGS },
	},
};

/* True once ftrace has failed: it no longer knows which functions call it. */
bool kprobe_ftrace_disabled __read_mostly;
EXPORT_SYMBOL_IF_KUNIT(kprobe_ftrace_disabled);

/**
 * arch_kprobe_ftrace_trampoline() - get the trampoline that probed functions call
 *
 * An architecture that has a faster trampoline than ftrace overrides this function. Ftrace lets a
 * probed function call that trampoline unless another user of ftrace is attached to the function.
 *
 * Return: the address of the trampoline, or 0 to use a trampoline of ftrace.
 */
unsigned long __weak arch_kprobe_ftrace_trampoline(void)
{
	return 0;
}

/**
 * arch_kprobe_ftrace_return_trampoline() - get the trampoline for functions that have nothing but
 *	a return probe
 *
 * The trampoline must also handle other probes: if another probe is registered at the same address,
 * the function still calls this trampoline until ftrace has changed the call.
 *
 * Return: the address of the trampoline, or 0 if these functions call the trampoline of
 * arch_kprobe_ftrace_trampoline().
 */
unsigned long __weak arch_kprobe_ftrace_return_trampoline(void)
{
	return 0;
}

/**
 * kprobe_ftrace_kill() - record that ftrace has failed
 *
 * From now on, registering ftrace-based probes fails. The architecture decides how to treat
 * hits of registered ones.
 *
 * Context: any.
 */
void kprobe_ftrace_kill(void)
{
	if (kprobe_ftrace_disabled)
		return;
	WRITE_ONCE(kprobe_ftrace_disabled, true);
	pr_err("kprobes: ftrace has failed, ftrace-based probes stay as they are\n");
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_ftrace_kill);

/*
 * Can ftrace call a probe at @place->addr, in text that cannot be freed now? Set @place->on_ftrace
 * to whether ftrace can put a call there. Return: KPROBE_REASON_NONE if it can, or if ftrace does
 * not patch the address; or a reason if the address is inside the bytes that ftrace patches, but
 * not the first. Then @place->range has these bytes.
 */
enum kprobe_reason kprobe_ftrace_check(struct kprobe_place *place)
{
	unsigned long addr = (unsigned long)place->addr;
	unsigned long ip = ftrace_location_range(addr, addr);

	place->on_ftrace = ip == addr;
	if (!ip || place->on_ftrace)
		return KPROBE_REASON_NONE;
	place->range.start = ip;
	place->range.end = ip + MCOUNT_INSN_SIZE;
	return KPROBE_REASON_FTRACE_INSIDE;
}

/* Can ftrace call handlers of probes? Return: %KPROBE_REASON_NONE; or the reason why not. */
enum kprobe_reason kprobe_ftrace_state(void)
{
	if (READ_ONCE(kprobe_ftrace_disabled))
		return KPROBE_REASON_FTRACE_FAILED;
	return READ_ONCE(ftrace_enabled) ? KPROBE_REASON_NONE : KPROBE_REASON_FTRACE_OFF;
}

/* Return: the reason for an error of kprobe_ftrace_arm() other than -ENOMEM. */
enum kprobe_reason kprobe_ftrace_reason(int err)
{
	if (err == -EBUSY)
		return kprobe_ftrace_state() ?: KPROBE_REASON_FTRACE_REDIRECTS;
	return err == -ENODEV ? KPROBE_REASON_FTRACE_FAILED : KPROBE_REASON_FTRACE_REFUSES;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_ftrace_reason);

static unsigned long kprobe_filter_trampoline(const struct kprobe_filter *f)
{
	return f == &filters[FILTER_RETURN] ? arch_kprobe_ftrace_return_trampoline() :
					      arch_kprobe_ftrace_trampoline();
}

/*
 * Return: the bit of the filter that the probes in @set need; 0 if @set is empty. It is the same
 * each time: do not read the post_handlers of the probes, which users may change.
 */
static u8 kprobe_filter_for(const struct probe_set *set)
{
	struct kprobe *const *all = set->probes + set->all;

	if (set->probes[set->post])
		return BIT(FILTER_DIVERT);
	if (!all[0])
		return 0;
	if (!all[1] && kretprobe_is_simple(all[0]) && arch_kprobe_ftrace_return_trampoline())
		return BIT(FILTER_RETURN);
	return BIT(FILTER_STAY);
}

/*
 * Return: the bit of the filter that a probepoint needs for its staged set; or, if none is staged,
 * for its published set. 0 if it needs no filter.
 */
static u8 kprobe_filter_wanted(struct probepoint *pp)
{
	const struct probe_set *set = pp->next_set;

	if (!(pp->kp.flags & KPROBE_FLAG_FTRACE) ||
	    (kprobes_all_disarmed && !probepoint_is_return_trampoline(pp)))
		return 0;
	if (!pp->staged)
		set = rcu_dereference_protected(pp->set, lockdep_is_held(&kprobe_mutex));
	if (!CAN_MOVE && pp->filters && set->probes[set->all])
		return pp->filters;
	return kprobe_filter_for(set);
}

static int kprobe_filter_try_add(struct kprobe_filter *f, unsigned long *ips, unsigned int nr)
{
	int ret;

	/* An unused filter may still have old addresses: reset it. */
	ret = ftrace_set_filter_ips(&f->ops, ips, nr, 0, !f->nr);
	if (!ret && !f->nr)
		ret = register_ftrace_function(&f->ops);
	return ret;
}

static int kprobe_filter_add(struct kprobe_filter *f, unsigned long *ips, unsigned int nr)
{
	int tries = 100;
	int ret;

	if (kprobe_ftrace_disabled)
		return -ENODEV;
	if (!f->ops.trampoline)
		f->ops.trampoline = kprobe_filter_trampoline(f);
	do {
		/*
		 * If BPF is attached to a function, ftrace asks BPF to share the function with
		 * FILTER_DIVERT. While BPF is changing its own trampoline there, BPF sleeps for
		 * 1 ms and returns -EAGAIN: try again.
		 */
		ret = kprobe_filter_try_add(f, ips, nr);
	} while (ret == -EAGAIN && --tries);
	if (!ret)
		f->nr += nr;
	return ret;
}

static int kprobe_filter_del(struct kprobe_filter *f, unsigned long *ips, unsigned int nr)
{
	int ret;

	if (f->nr == nr)
		ret = unregister_ftrace_function(&f->ops);
	else
		ret = ftrace_set_filter_ips(&f->ops, ips, nr, 1, 0);
	/* Once ftrace has failed, it removes nothing: count the addresses as removed. */
	if (ret && !kprobe_ftrace_disabled)
		return ret;
	f->nr -= nr;
	return 0;
}

/*
 * Return: the bits of the filters to which @pp is to be added, or from which it is to be removed.
 */
typedef u8 (*filter_choice_t)(struct probepoint *pp);

static u8 kprobe_filter_missing(struct probepoint *pp)
{
	return kprobe_filter_wanted(pp) & ~pp->filters;
}

/* An address that moves is added to its new filter first: until then, remove nothing. */
static u8 kprobe_filter_excess(struct probepoint *pp)
{
	return kprobe_filter_missing(pp) ? 0 : pp->filters & ~kprobe_filter_wanted(pp);
}

static unsigned int kprobe_filter_count(struct list_head *changes, filter_choice_t choose, u8 bit)
{
	struct probepoint *pp;
	unsigned int nr = 0;

	list_for_each_entry(pp, changes, change)
		nr += !!(choose(pp) & bit);
	return nr;
}

/*
 * Change filters[@which] for all probepoints of a batch for which @choose returns its bit. If
 * @choose is kprobe_filter_missing(), add their addresses to the filter; otherwise remove them.
 */
static int kprobe_filter_change(unsigned int which, struct list_head *changes,
				filter_choice_t choose, gfp_t gfp)
{
	unsigned int nr, i = 0;
	struct probepoint *pp;
	u8 bit = BIT(which);
	unsigned long *ips;
	int ret;

	nr = kprobe_filter_count(changes, choose, bit);
	if (!nr)
		return 0;
	ips = kvmalloc_array(nr, sizeof(*ips), gfp);
	if (!ips)
		return -ENOMEM;
	list_for_each_entry(pp, changes, change) {
		if (choose(pp) & bit)
			ips[i++] = (unsigned long)pp->addr;
		cond_resched();
	}
	if (choose == kprobe_filter_missing)
		ret = kprobe_filter_add(&filters[which], ips, nr);
	else
		ret = kprobe_filter_del(&filters[which], ips, nr);
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

/*
 * Add the probepoints of a batch to their filters.
 *
 * Hits find no new handlers to call until the batch is committed.
 *
 * Context: sleeps; kprobe_mutex is held; takes locks of ftrace and text_mutex.
 *
 * Return: 0; -EBUSY if ftrace is disabled, or if another user may redirect a function; -ENODEV
 * if ftrace has failed; -ENOMEM; or another errno of ftrace. After an error, the caller must call
 * kprobe_ftrace_disarm().
 */
int kprobe_ftrace_arm(struct list_head *changes)
{
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&kprobe_mutex);
	for (i = 0; i < ARRAY_SIZE(filters) && !ret; i++)
		ret = kprobe_filter_change(i, changes, kprobe_filter_missing, GFP_KERNEL);
	return ret;
}

/*
 * Add as many probepoints of a batch as possible to their filters.
 *
 * Context: as kprobe_ftrace_arm().
 *
 * Return: 0; or what kprobe_ftrace_arm() returned for one of the probepoints that could not be
 * added. The log names each probepoint that could not be added.
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

static bool kprobe_filter_moves(struct probepoint *pp)
{
	return kprobe_filter_excess(pp) && kprobe_filter_wanted(pp);
}

/*
 * For a hit, ftrace tests one filter after the other. If the address moved between these tests,
 * the hit would find it in neither filter. So after adding the address to the new filter, wait for
 * such hits before removing it from the old one.
 */
static void kprobe_filter_wait_for_moves(struct list_head *changes)
{
	struct probepoint *pp;

	list_for_each_entry(pp, changes, change) {
		if (!kprobe_filter_moves(pp))
			continue;
		synchronize_rcu_expedited();
		return;
	}
}

/*
 * Remove the probepoints of a batch, committed or aborted, from filters that they do not need.
 *
 * Context: sleeps; takes locks of ftrace and text_mutex.
 */
void kprobe_ftrace_disarm(struct list_head *changes)
{
	unsigned int i;

	lockdep_assert_held(&kprobe_mutex);
	/*
	 * An address that has lost its last post_handler, or has only a return probe left, moves to
	 * another filter: add it there first. If that fails, it stays in its old filter, and no hit
	 * is lost. But in FILTER_DIVERT it excludes live patches without need.
	 */
	for (i = FILTER_STAY; i < ARRAY_SIZE(filters); i++)
		kprobe_filter_change(i, changes, kprobe_filter_missing, GFP_KERNEL | __GFP_NOFAIL);
	kprobe_filter_wait_for_moves(changes);
	for (i = 0; i < ARRAY_SIZE(filters); i++)
		kprobe_filter_change(i, changes, kprobe_filter_excess, GFP_KERNEL | __GFP_NOFAIL);
}

/*
 * Forget which filters have a probepoint whose text is being freed. kprobe_ftrace_disarm() has
 * removed it from all filters, or has failed to.
 */
void kprobe_ftrace_discard(struct probepoint *pp)
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
