/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_POOL_H
#define _KERNEL_KPROBES_POOL_H
/*
 * Kernel probes: the pools of instances, for pool.c and for pool_shared.c, which calls it.
 *
 *	pool		avail: a bit for each group that may have a free instance
 *	  group		avail: a bit for each chunk that may have a free instance
 *	    chunk	free: a bit for each instance that is free
 *
 * pool_mutex guards which chunks and groups a shared pool has. It nests inside
 * kretprobe_mutex. Hits read them with preemption disabled, so chunks are freed by RCU;
 * groups are freed with their pool.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "internal.h"

/**
 * struct kretprobe_chunk - instances that share a word
 * @free: which of them are free
 * @full: the value of @free when all are free
 * @group: the group that contains the chunk
 * @index: the bit of the chunk in the group
 * @rcu: frees the chunk when no hit reads it any more
 * @instances: the instances
 */
struct kretprobe_chunk {
	unsigned long free;
	unsigned long full;
	struct chunk_group *group;
	unsigned int index;
	struct rcu_head rcu;
	char instances[] __aligned(sizeof(long));
};

/**
 * struct chunk_group - chunks that share a word
 * @avail: which chunks may have a free instance
 * @pool: the pool
 * @index: the bit of the group in the pool
 * @nr: number of places in @chunk
 * @nr_chunks: number of chunks
 * @chunk: the chunks; NULL where there is none
 */
struct chunk_group {
	unsigned long avail;
	struct kretprobe_pool *pool;
	unsigned int index;
	unsigned int nr;
	unsigned int nr_chunks;
	struct kretprobe_chunk *chunk[] __counted_by(nr);
};

/**
 * enum pool_growth - whether hits ask for more instances of a shared pool
 * @POOL_MAY_GROW: they do
 * @POOL_GROWTH_REQUESTED: they do not: a hit has asked, and pool_grow() has not run since then
 * @POOL_AT_LIMIT: they do not: there is no room, or the limit does not allow more
 * @POOL_NO_MEMORY: they do not: memory was short
 */
enum pool_growth {
	POOL_MAY_GROW,
	POOL_GROWTH_REQUESTED,
	POOL_AT_LIMIT,
	POOL_NO_MEMORY,
};

/**
 * struct kretprobe_pool - where instances are taken from
 * @first: the place of the first chunk, of a pool of fixed size
 * @growth: whether hits ask for more instances; %POOL_AT_LIMIT if the pool has a fixed size
 * @grow_work: of a shared pool, what hits queue on their CPU to ask for more instances
 * @hint: the place of the chunk in which this CPU has found an instance last; NULL if
 *	the pool has a fixed size
 * @cache: one free instance of this CPU's own; NULL if a pool of fixed size has too few
 *	instances for that
 * @nr_avail: number of chunks that may have a free instance
 * @nr_chunks: number of chunks
 * @size: bytes of an instance, its private data included
 * @per_chunk: instances in a chunk; the last chunk of a pool of fixed size may have fewer
 * @chunk_bytes: bytes of a chunk
 * @nr_probes: number of return probes that share the pool
 * @left: of a pool of fixed size, the number of instances that calls may still have, and
 *	one more until kretprobe_pool_drain()
 * @room: all groups before this one are full
 * @nr_groups: number of places in @group
 * @avail: which groups may have a free instance
 * @group: the groups, which are made in order; NULL after the last one
 */
struct kretprobe_pool {
	struct kretprobe_chunk **first;
	enum pool_growth growth;
	struct irq_work __percpu *grow_work;
	struct kretprobe_chunk ** __percpu *hint;
	struct kretprobe_instance * __percpu *cache;
	atomic_t nr_avail;
	unsigned int nr_chunks;
	unsigned int size;
	unsigned int per_chunk;
	unsigned int chunk_bytes;
	unsigned int nr_probes;
	atomic_t left;
	unsigned int room;
	unsigned int nr_groups;
	unsigned long *avail;
	struct chunk_group *group[] __counted_by(nr_groups);
};

struct kretprobe_pool *pool_create(unsigned int size, unsigned int nr_groups);
struct chunk_group *pool_add_group(struct kretprobe_pool *pool, unsigned int index,
				   unsigned int nr_chunks);
struct chunk_group *pool_group(const struct kretprobe_pool *pool, unsigned int index);
bool pool_add_chunk(struct chunk_group *g, unsigned int nr);
bool pool_del_chunk(struct kretprobe_chunk *c);
struct kretprobe_chunk *pool_next_chunk(const struct kretprobe_pool *pool,
					const struct kretprobe_chunk *c);

#endif /* _KERNEL_KPROBES_POOL_H */
