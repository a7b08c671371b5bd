/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_POOL_H
#define _KERNEL_KPROBES_POOL_H
/*
 * Kernel probes: pools of kretprobe instances. pool.c takes instances from a pool and gives them
 * back; pool_shared.c decides how many instances shared pools have.
 *
 *	pool		avail: a bit for each group that may have a free instance
 *	  group		avail: a bit for each chunk that may have a free instance
 *	    chunk	free: a bit for each instance that is free
 *
 * pool_mutex guards which chunks and groups a shared pool has. It nests inside
 * kretprobe_mutex. Hits read chunks and groups with preemption disabled, so chunks are freed
 * by RCU; groups are freed with their pool.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "internal.h"

/**
 * struct kretprobe_chunk - up to BITS_PER_LONG instances
 * @free: bit mask of the free instances
 * @full: the value of @free when all are free
 * @group: the group that contains the chunk
 * @index: number of the bit of this chunk in @avail of the group
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
 * struct chunk_group - up to BITS_PER_LONG chunks
 * @avail: bit mask of the chunks that may have a free instance
 * @pool: the pool
 * @index: number of the bit of this group in @avail of the pool
 * @nr: number of elements of @chunk
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
 * enum pool_growth - may hits request more instances?
 * @POOL_MAY_GROW: yes
 * @POOL_GROWTH_REQUESTED: no: a hit requested them, and pool_grow() has not run since then
 * @POOL_AT_LIMIT: no: the pool has a fixed size, none of its chunk_groups has room for another
 *	chunk, or kprobes.return_pool_kib is reached
 * @POOL_NO_MEMORY: no: an allocation failed
 */
enum pool_growth {
	POOL_MAY_GROW,
	POOL_GROWTH_REQUESTED,
	POOL_AT_LIMIT,
	POOL_NO_MEMORY,
};

/**
 * struct kretprobe_pool - instances of one size, shared or of one return probe
 * @first: fixed size only: the address of the pointer to the first chunk
 * @growth: may hits request more instances?
 * @asked: shared only: time of the last request, in jiffies
 * @grow: shared only: the request that hits make to get more instances
 * @hint: shared only: the address of the pointer to the chunk in which this CPU last found a
 *	free instance
 * @cache: one free instance for each CPU; NULL if a pool of fixed size has no more instances than
 *	there are CPUs
 * @nr_avail: number of chunks that may have a free instance
 * @nr_chunks: number of chunks
 * @size: bytes of an instance, its private data included
 * @per_chunk: instances in a chunk; the last chunk of a pool of fixed size may have fewer
 * @chunk_bytes: bytes of a chunk
 * @nr_probes: shared only: number of return probes that share the pool
 * @left: fixed size only: the number of instances that kretprobe_pool_drop() and
 *	kretprobe_pool_drain() have not counted yet, plus one until kretprobe_pool_drain() is
 *	called
 * @room: all groups with a lower index than this already have as many chunks as they can have
 * @nr_groups: number of elements of @group
 * @avail: bitmap of the groups that may have a free instance
 * @group: the groups, which are created in order; NULL after the last one
 *
 * The pool is not an objpool: an objpool has a fixed number of objects, and its objects cannot be
 * walked, which kretprobe_pools_replace_dead() has to do.
 */
struct kretprobe_pool {
	struct kretprobe_chunk **first;
	enum pool_growth growth;
	unsigned long asked;
	struct kprobe_request *grow;
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
				   unsigned int nr_chunks, gfp_t gfp);
struct chunk_group *pool_group(const struct kretprobe_pool *pool, unsigned int index);
bool pool_add_chunk(struct chunk_group *g, unsigned int nr, gfp_t gfp);
bool pool_del_chunk(struct kretprobe_chunk *c);
struct kretprobe_chunk *pool_next_chunk(const struct kretprobe_pool *pool,
					const struct kretprobe_chunk *c);

#endif /* _KERNEL_KPROBES_POOL_H */
