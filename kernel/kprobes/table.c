// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the table that finds the probepoint at an address.
 *
 * Every hit looks its address up, in any context. So readers take no lock and never wait. The
 * table is a hash table with open addressing, at most half full, so the time of a search does
 * not depend on the number of probepoints. A removed probepoint is replaced by a mark, so that
 * a search continues to the entries after it. To grow the table, or to drop the marks, a
 * writer fills a new array, which replaces the old one by RCU.
 *
 * Writers hold kprobe_mutex. Readers have preemption disabled.
 *
 * It is not an rhashtable: a search in one may call functions that can be probed, such as
 * rht_bucket_nested(), and an insertion may fail. But probepoints_commit(), which adds the new
 * probepoints of a batch, must not fail.
 */
#include <kunit/visibility.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "internal.h"

/* Guards all probes and probepoints, see linux/probepoint.h. */
DEFINE_MUTEX(kprobe_mutex);
EXPORT_SYMBOL_IF_KUNIT(kprobe_mutex);

#define TABLE_MIN_BITS	6

/*
 * Replaces a removed probepoint in the table. No search matches it: its addr is
 * an address of kernel data, where no CPU executes a breakpoint. (A small number
 * would not do: user space may execute a breakpoint at a low address.)
 */
static struct probepoint mark = { .addr = (kprobe_opcode_t *)&mark };

/* The first table, always empty, so that readers need no test for NULL */
static struct {
	struct probepoint_table head;
	struct probepoint *none[2];
} first_table = { .head = { .mask = 1, .shift = BITS_PER_LONG - 1 } };

struct probepoint_table __rcu *probepoint_table =
	(struct probepoint_table __rcu *)&first_table.head;

/**
 * get_kprobe() - find the kprobe that stands for the probepoint at an address
 * @addr: the probed address
 *
 * Context: as get_probepoint().
 *
 * Return: the &struct kprobe of the probepoint, which is not one that a user registered; or
 * NULL if @addr is not probed.
 */
struct kprobe *get_kprobe(void *addr)
{
	struct probepoint *pp = get_probepoint(addr);

	return pp ? &pp->kp : NULL;
}
EXPORT_SYMBOL_IF_KUNIT(get_kprobe);

static struct probepoint_table *probepoint_table_current(void)
{
	return rcu_dereference_protected(probepoint_table, lockdep_is_held(&kprobe_mutex));
}

static void probepoint_table_put(struct probepoint_table *t, struct probepoint *pp)
{
	unsigned long i = probepoint_first_place(t, pp->addr);

	while (t->entry[i] && t->entry[i] != &mark)
		i = (i + 1) & t->mask;
	t->used += !t->entry[i];
	t->live++;
	/*
	 * Publish the contents of the probepoint before the pointer to it. Pairs with READ_ONCE()
	 * in get_probepoint().
	 */
	smp_store_release(&t->entry[i], pp);
}

/*
 * Make room for @nr new probepoints, so that probepoint_table_add() cannot fail. Return: 0, or
 * -ENOMEM.
 */
int probepoint_table_reserve(unsigned int nr)
{
	struct probepoint_table *old = probepoint_table_current(), *new;
	unsigned int bits, i;

	lockdep_assert_held(&kprobe_mutex);
	if (2UL * (old->used + nr) <= old->mask)
		return 0;

	/*
	 * Make the new table at most a quarter full, so that the next batches need no larger one.
	 */
	bits = max_t(unsigned int, TABLE_MIN_BITS,
		     order_base_2(4UL * (old->live + nr)));
	new = kvzalloc(struct_size(new, entry, 1UL << bits), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->mask = (1U << bits) - 1;
	new->shift = BITS_PER_LONG - bits;
	for (i = 0; i <= old->mask; i++) {
		struct probepoint *pp = old->entry[i];

		if (pp && pp != &mark)
			probepoint_table_put(new, pp);
	}

	rcu_assign_pointer(probepoint_table, new);
	if (old != &first_table.head)
		kvfree_rcu(old, rcu);
	return 0;
}

/*
 * Add a probepoint. Its address is not in the table, and room was reserved. From now on hits find
 * it.
 */
void probepoint_table_add(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	probepoint_table_put(probepoint_table_current(), pp);
}

/* Remove a probepoint, which must not be freed before an RCU grace period has passed. */
void probepoint_table_del(struct probepoint *pp)
{
	struct probepoint_table *t = probepoint_table_current();
	unsigned long i = probepoint_first_place(t, pp->addr);

	lockdep_assert_held(&kprobe_mutex);
	for (; t->entry[i] != pp; i = (i + 1) & t->mask)
		if (WARN_ON_ONCE(!t->entry[i]))
			return;
	WRITE_ONCE(t->entry[i], &mark);
	t->live--;
}
