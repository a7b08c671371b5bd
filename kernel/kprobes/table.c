// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: from an address to its probepoint.
 *
 * Every hit starts here, with nothing but the address of a breakpoint, in any
 * context there is. So readers take no lock, wait for nobody and run through
 * few entries, however many probepoints there are: the table is an array with
 * open addressing, at most half of it in use, and an entry that is taken out
 * leaves a mark behind so that those after it are still found. Growing it, or
 * sweeping out the marks, is done in a new array, which replaces the old one
 * by RCU.
 *
 * Writers hold kprobe_mutex. Readers have preemption disabled.
 */
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

#define TABLE_MIN_BITS	6

/* Left where a probepoint was taken out: search on. */
#define TABLE_MARK	((struct probepoint *)1UL)

/**
 * struct probepoint_table - one generation of the table
 * @rcu: frees it when the last reader has left
 * @bits: log2 of the number of entries
 * @used: entries that are not NULL, marks included
 * @live: entries that are probepoints
 * @entry: the probepoints, at the hash of their address or soon after
 */
struct probepoint_table {
	struct rcu_head rcu;
	unsigned int bits;
	unsigned int used;
	unsigned int live;
	struct probepoint *entry[];
};

/* Never NULL, so that readers need not ask; replaced by the first insertion. */
static struct {
	struct probepoint_table head;
	struct probepoint *none[2];
} first_table = { .head.bits = 1 };

static struct probepoint_table __rcu *table =
	(struct probepoint_table __rcu *)&first_table.head;

static __always_inline unsigned int first_slot(const struct probepoint_table *t,
					       const void *addr)
{
	return hash_long((unsigned long)addr, t->bits);
}

/**
 * probepoint_lookup() - find the probepoint of an address
 * @addr: the probed address
 *
 * May be called in any context, with preemption disabled or kprobe_mutex held.
 *
 * Return: the probepoint, or NULL if there is none.
 */
struct probepoint __kprobes *probepoint_lookup(kprobe_opcode_t *addr)
{
	/* Pairs with the release in probepoint_table_reserve(). */
	const struct probepoint_table *t = rcu_dereference_raw(table);
	unsigned int mask = (1U << t->bits) - 1;
	unsigned int i;

	for (i = first_slot(t, addr);; i++) {
		/* Pairs with the release in probepoint_table_add(). */
		struct probepoint *pp = READ_ONCE(t->entry[i & mask]);

		if (!pp)
			return NULL;
		if (pp != TABLE_MARK && pp->kp.addr == addr)
			return pp;
	}
}

static struct probepoint_table *current_table(void)
{
	return rcu_dereference_protected(table, lockdep_is_held(&kprobe_mutex));
}

static void table_put(struct probepoint_table *t, struct probepoint *pp)
{
	unsigned int mask = (1U << t->bits) - 1;
	unsigned int i = first_slot(t, pp->kp.addr);

	while (t->entry[i & mask])
		i++;
	t->used++;
	t->live++;
	/* Readers that see the probepoint see it initialised. */
	smp_store_release(&t->entry[i & mask], pp);
}

/**
 * probepoint_table_reserve() - make room, so that adding can't fail
 * @nr: how many probepoints are going to be added
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0, or -ENOMEM.
 */
int probepoint_table_reserve(unsigned int nr)
{
	struct probepoint_table *old = current_table(), *new;
	unsigned int bits, i;

	if (2UL * (old->used + nr) <= 1UL << old->bits)
		return 0;

	/* Room for as much again, or the next batch would be back here. */
	bits = max_t(unsigned int, TABLE_MIN_BITS,
		     order_base_2(4UL * (old->live + nr)));
	new = kvzalloc(struct_size(new, entry, 1UL << bits), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->bits = bits;
	for (i = 0; i < 1U << old->bits; i++) {
		struct probepoint *pp = old->entry[i];

		if (pp && pp != TABLE_MARK)
			table_put(new, pp);
	}

	rcu_assign_pointer(table, new);
	if (old != &first_table.head)
		kvfree_rcu(old, rcu);
	return 0;
}

/**
 * probepoint_table_add() - let hits find a probepoint
 * @pp: the probepoint; its address is not in the table, and room was reserved
 *
 * Context: kprobe_mutex is held.
 */
void probepoint_table_add(struct probepoint *pp)
{
	table_put(current_table(), pp);
}

/**
 * probepoint_table_del() - let hits find a probepoint no more
 * @pp: the probepoint, which must not be freed before an RCU grace period
 *
 * Context: kprobe_mutex is held.
 */
void probepoint_table_del(struct probepoint *pp)
{
	struct probepoint_table *t = current_table();
	unsigned int mask = (1U << t->bits) - 1;
	unsigned int i = first_slot(t, pp->kp.addr);

	for (; t->entry[i & mask] != pp; i++)
		if (WARN_ON_ONCE(!t->entry[i & mask]))
			return;
	WRITE_ONCE(t->entry[i & mask], TABLE_MARK);
	t->live--;
}

/**
 * get_kprobe() - find what is probed at an address
 * @addr: the probed address
 *
 * Must be called with preemption disabled; the answer is valid as long as it
 * stays so.
 *
 * Return: the &struct kprobe that stands for the probepoint, which is not any
 * user's, or NULL if @addr is not probed.
 */
struct kprobe __kprobes *get_kprobe(void *addr)
{
	struct probepoint *pp = probepoint_lookup(addr);

	return pp ? &pp->kp : NULL;
}
