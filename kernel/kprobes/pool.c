// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: taking the instances of return probes from a pool, and giving them back.
 *
 * A hit takes an instance and a return gives it back, in any context, so neither may wait.
 * An instance is a bit in a word, set while the instance is free; the CPU that clears the
 * bit has the instance. A word of bits has no ABA problem, as the head of a free list has.
 *
 * The instances of one word are a chunk, which is allocated and freed as a whole. A hit
 * finds a chunk with a free instance by two more levels of words, see pool.h. It tries
 * the chunk that it has found last before it searches; and before that, the one instance
 * of each pool that the CPU keeps to itself. A pool of fixed size must not refuse a call
 * while an instance is free, so other CPUs may take that one too, after they have searched.
 *
 * A pool of fixed size is that of a return probe with maxactive. The others share one pool
 * for each class of instance size; how large these are is decided in pool_shared.c.
 *
 * pool_mutex guards which chunks there are. Hits read them with preemption disabled.
 */
#include <linux/cleanup.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "pool.h"

#define CHUNK_BYTES_MIN		SZ_4K
#define CHUNK_BYTES_MAX		SZ_32K
/* With few instances in a chunk, the words above it are written too often. */
#define CHUNK_INSTANCES_MIN	16

/*
 * Taking and giving back.
 */

/* An instance of a chunk is free: set the bits above it. */
static void __kprobes pool_chunk_has_free(struct chunk_group *g, unsigned int index)
{
	struct kretprobe_pool *pool = g->pool;

	if (!test_and_set_bit(index, &g->avail))
		atomic_inc(&pool->nr_avail);
	/* Pairs with the barrier of the same level in pool_chunk_is_empty(). */
	smp_mb__after_atomic();
	if (!test_bit(g->index, pool->avail))
		set_bit(g->index, pool->avail);
}

/*
 * No instance of a chunk is free: clear the bits above it. Another CPU may give an
 * instance back meanwhile, or the worker may replace the chunk: either it sees the bit
 * cleared and sets it again, or this function sees the free instance.
 */
static noinline void __kprobes pool_chunk_is_empty(struct chunk_group *g, unsigned int index)
{
	struct kretprobe_pool *pool = g->pool;
	struct kretprobe_chunk *c;

	if (test_and_clear_bit(index, &g->avail))
		atomic_dec(&pool->nr_avail);
	/* Pairs with the barrier in kretprobe_pool_give(). */
	smp_mb__after_atomic();
	c = READ_ONCE(g->chunk[index]);
	if (c && READ_ONCE(c->free))
		pool_chunk_has_free(g, index);

	if (READ_ONCE(g->avail))
		return;
	clear_bit(g->index, pool->avail);
	/* Pairs with the barrier in pool_chunk_has_free(). */
	smp_mb__after_atomic();
	if (READ_ONCE(g->avail))
		set_bit(g->index, pool->avail);
}

/*
 * Called by hits, when the last instance of a chunk has been taken, or none was found. What
 * pool_run_worker() calls can have return probes, whose hits get here too, in the interrupt.
 * Only the first hit raises it, until pool_grow() has stored another value: otherwise each of
 * these hits would raise the interrupt again, and the worker would never get the CPU.
 */
static void __kprobes pool_request_growth(struct kretprobe_pool *pool)
{
	enum pool_growth growth = POOL_MAY_GROW;

	if (READ_ONCE(pool->growth) == POOL_MAY_GROW &&
	    2 * atomic_read(&pool->nr_avail) <= READ_ONCE(pool->nr_chunks) &&
	    try_cmpxchg(&pool->growth, &growth, POOL_GROWTH_REQUESTED))
		irq_work_queue(this_cpu_ptr(pool->grow_work));
}

static __always_inline struct kretprobe_instance *
pool_take_from_chunk(struct kretprobe_pool *pool, struct kretprobe_chunk *c)
{
	unsigned long free = READ_ONCE(c->free);
	unsigned int bit;

	while (free) {
		bit = __ffs(free);
		free &= free - 1;
		/*
		 * Fully ordered: the instance is written only after this, and pairs
		 * with the barrier before set_bit() in kretprobe_pool_give().
		 */
		if (!test_and_clear_bit(bit, &c->free))
			continue;
		if (unlikely(!free)) {
			pool_chunk_is_empty(c->group, c->index);
			pool_request_growth(pool);
		}
		return (void *)c->instances + bit * pool->size;
	}
	return NULL;
}

/* Search a group. Each CPU begins with a different chunk. */
static struct kretprobe_instance __kprobes *
pool_search_group(struct kretprobe_pool *pool, struct chunk_group *g)
{
	unsigned int start = raw_smp_processor_id();
	struct kretprobe_instance *ri;
	struct kretprobe_chunk *c;
	unsigned int i;

	for (i = 0; i < BITS_PER_LONG; i++) {
		unsigned int index = (start + i) % BITS_PER_LONG;

		if (!(READ_ONCE(g->avail) & BIT(index)))
			continue;
		c = READ_ONCE(g->chunk[index]);
		ri = c ? pool_take_from_chunk(pool, c) : NULL;
		if (ri) {
			if (pool->hint)
				this_cpu_write(*pool->hint, &g->chunk[index]);
			return ri;
		}
		pool_chunk_is_empty(g, index);
	}
	return NULL;
}

/* Take an instance that a CPU keeps to itself, from a pool of fixed size. */
static struct kretprobe_instance __kprobes *pool_take_from_cpus(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri = NULL;
	unsigned int cpu;

	if (pool->hint || !pool->cache)
		return NULL;
	for_each_possible_cpu(cpu) {
		struct kretprobe_instance **place = per_cpu_ptr(pool->cache, cpu);

		/* Pairs with the exchanges of kretprobe_take_cached() and kretprobe_give() in retcall.c. */
		if (READ_ONCE(*place))
			ri = xchg(place, NULL);
		if (ri)
			break;
	}
	return ri;
}

static noinline struct kretprobe_instance __kprobes *
pool_search(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri;
	unsigned long avail;
	unsigned int i;

	for (i = 0; i < pool->nr_groups; i += BITS_PER_LONG) {
		/*
		 * A CPU that sees the bit sees the group: pairs with the barrier in
		 * pool_chunk_has_free(), which the worker executes after pool_add_group()
		 * and before set_bit().
		 */
		avail = smp_load_acquire(&pool->avail[i / BITS_PER_LONG]);
		for (; avail; avail &= avail - 1) {
			ri = pool_search_group(pool, READ_ONCE(pool->group[i + __ffs(avail)]));
			if (ri)
				return ri;
		}
	}
	pool_request_growth(pool);
	return pool_take_from_cpus(pool);
}

/**
 * kretprobe_pool_take() - take an instance
 * @pool: the pool
 *
 * Context: any, with preemption disabled.
 *
 * Return: the instance, or NULL if none is free.
 */
struct kretprobe_instance *kretprobe_pool_take(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk **place = pool->first;
	struct kretprobe_instance *ri;
	struct kretprobe_chunk *c;

	if (likely(pool->hint))
		place = this_cpu_read(*pool->hint);
	/* Pairs with smp_store_release() in pool_add_chunk(). */
	c = READ_ONCE(*place);
	ri = likely(c) ? pool_take_from_chunk(pool, c) : NULL;
	if (likely(ri))
		return ri;
	return pool_search(pool);
}

/*
 * Two CPUs that are at the same word:
 *
 *	kretprobe_pool_give()			pool_take_from_chunk()
 *
 *	read and write the instance		test_and_clear_bit(&c->free)
 *	smp_mb__before_atomic()			write the instance
 *	set_bit(&c->free)
 *
 * If the right CPU finds the bit set, its writes come after all accesses of the left
 * CPU. The same word, and the one above it:
 *
 *	kretprobe_pool_give()			pool_chunk_is_empty()
 *
 *	set_bit(&c->free)			test_and_clear_bit(&g->avail)
 *	smp_mb__after_atomic()			smp_mb__after_atomic()
 *	test_bit(&g->avail)			read c->free
 *
 * At least one of the CPUs sees what the other one has written, and sets the bit in
 * g->avail. The same holds between g->avail and pool->avail.
 */

/**
 * kretprobe_pool_give() - give an instance back
 * @ri: the instance, which the caller must not use any more
 *
 * Context: any, with preemption disabled.
 */
void __kprobes kretprobe_pool_give(struct kretprobe_instance *ri)
{
	struct kretprobe_chunk *c = ri->chunk;
	struct chunk_group *g = c->group;
	unsigned int index = c->index;

	/* Pairs with test_and_clear_bit() in pool_take_from_chunk(). */
	smp_mb__before_atomic();
	set_bit(ri->bit, &c->free);
	/* Pairs with the barrier of the same level in pool_chunk_is_empty(). */
	smp_mb__after_atomic();
	if (unlikely(!test_bit(index, &g->avail)))
		pool_chunk_has_free(g, index);
}

/*
 * Making and freeing chunks.
 */

static unsigned int pool_instances_in(unsigned int bytes, unsigned int size)
{
	return min_t(size_t, BITS_PER_LONG,
		     (bytes - offsetof(struct kretprobe_chunk, instances)) / size);
}

static unsigned int pool_chunk_bytes(unsigned int size)
{
	unsigned int bytes = CHUNK_BYTES_MIN;

	while (bytes < CHUNK_BYTES_MAX && pool_instances_in(bytes, size) < CHUNK_INSTANCES_MIN)
		bytes *= 2;
	return bytes;
}

/* Make a pool without chunks. */
struct kretprobe_pool *pool_create(unsigned int size, unsigned int nr_groups)
{
	struct kretprobe_pool *pool;
	size_t bytes = struct_size(pool, group, nr_groups);

	pool = kzalloc(bytes + BITS_TO_LONGS(nr_groups) * sizeof(long), GFP_KERNEL);
	if (!pool)
		return NULL;
	/* Hits of a pool of fixed size never ask for more; a shared pool calls pool_grow(). */
	pool->growth = POOL_AT_LIMIT;
	pool->size = size;
	pool->chunk_bytes = pool_chunk_bytes(size);
	pool->per_chunk = pool_instances_in(pool->chunk_bytes, size);
	pool->nr_groups = nr_groups;
	pool->avail = (void *)pool + bytes;
	return pool;
}

/* Make the group number @index of a pool. */
struct chunk_group *pool_add_group(struct kretprobe_pool *pool, unsigned int index,
				   unsigned int nr_chunks)
{
	struct chunk_group *g = kzalloc(struct_size(g, chunk, nr_chunks), GFP_KERNEL);

	if (!g)
		return NULL;
	g->nr = nr_chunks;
	g->pool = pool;
	g->index = index;
	/* Pairs with smp_load_acquire() in pool_group(), and the other in pool_search(). */
	smp_store_release(&pool->group[index], g);
	return g;
}

/* The group number @index; NULL if there is none, and none after it. */
struct chunk_group *pool_group(const struct kretprobe_pool *pool, unsigned int index)
{
	if (index >= pool->nr_groups)
		return NULL;
	/* Pairs with smp_store_release() in pool_add_group(). */
	return smp_load_acquire(&pool->group[index]);
}

/**
 * kretprobe_pool_free() - free a pool
 * @pool: the pool. None of its instances is in use, and a grace period has passed since then.
 */
void kretprobe_pool_free(struct kretprobe_pool *pool)
{
	struct chunk_group *g;
	unsigned int i, j;

	for (i = 0; (g = pool_group(pool, i)); i++) {
		for (j = 0; j < g->nr; j++)
			kfree(g->chunk[j]);
		kfree(g);
	}
	free_percpu(pool->cache);
	kfree(pool);
}

/* Add a chunk of @nr instances to a group that has room for it. Return: false if out of memory. */
bool pool_add_chunk(struct chunk_group *g, unsigned int nr)
{
	struct kretprobe_pool *pool = g->pool;
	struct kretprobe_instance *ri;
	struct kretprobe_chunk *c;
	unsigned int i;

	c = kzalloc(offsetof(struct kretprobe_chunk, instances) + nr * pool->size,
		    GFP_KERNEL | __GFP_NOWARN);
	if (!c)
		return false;
	while (g->chunk[c->index])
		c->index++;
	c->group = g;
	c->full = GENMASK(nr - 1, 0);
	c->free = c->full;
	for (i = 0; i < nr; i++) {
		ri = (void *)c->instances + i * pool->size;
		ri->chunk = c;
		ri->bit = i;
	}
	g->nr_chunks++;
	WRITE_ONCE(pool->nr_chunks, pool->nr_chunks + 1);
	/* Hits see a chunk that is complete: pairs with READ_ONCE() of its place. */
	smp_store_release(&g->chunk[c->index], c);
	pool_chunk_has_free(g, c->index);
	return true;
}

/* Free a chunk. Return: false if one of its instances is taken. */
bool pool_del_chunk(struct kretprobe_chunk *c)
{
	struct chunk_group *g = c->group;
	struct kretprobe_pool *pool = g->pool;

	/* From here on no hit can take one of them. */
	if (cmpxchg(&c->free, c->full, 0) != c->full)
		return false;
	WRITE_ONCE(g->chunk[c->index], NULL);
	pool_chunk_is_empty(g, c->index);
	g->nr_chunks--;
	pool->room = min(pool->room, g->index);
	WRITE_ONCE(pool->nr_chunks, pool->nr_chunks - 1);
	kfree_rcu(c, rcu);
	return true;
}

/* The chunk after @c, or the first one if @c is NULL. */
struct kretprobe_chunk *pool_next_chunk(const struct kretprobe_pool *pool,
					const struct kretprobe_chunk *c)
{
	unsigned int i = c ? c->group->index : 0, j = c ? c->index + 1 : 0;
	struct chunk_group *g;

	for (; (g = pool_group(pool, i)); i++, j = 0)
		for (; j < g->nr; j++)
			if (g->chunk[j])
				return g->chunk[j];
	return NULL;
}

/**
 * kretprobe_pool_create() - make a pool of fixed size
 * @nr: how many instances it is to have, at least one
 * @data_size: bytes of private data in each instance
 *
 * Context: sleeps.
 *
 * Return: the pool, for kretprobe_pool_free(); or NULL if out of memory, or if a pool cannot
 * have so many instances.
 */
struct kretprobe_pool *kretprobe_pool_create(unsigned int nr, size_t data_size)
{
	size_t room = data_size ? max(data_size, KRETPROBE_DATA_MIN) : 0;
	size_t size = ALIGN(sizeof(struct kretprobe_instance) + room, sizeof(long));
	unsigned int chunks, groups, asked = nr, i;
	struct kretprobe_pool *pool;
	struct chunk_group *g;

	chunks = DIV_ROUND_UP(nr, pool_instances_in(pool_chunk_bytes(size), size));
	groups = DIV_ROUND_UP(chunks, BITS_PER_LONG);
	pool = groups > BITS_PER_LONG ? NULL : pool_create(size, groups);
	if (!pool)
		return NULL;
	atomic_set(&pool->left, nr + 1);
	for (i = 0; i < groups; i++) {
		g = pool_add_group(pool, i, min_t(unsigned int, chunks, BITS_PER_LONG));
		if (!g)
			goto fail;
		for (; chunks && g->nr_chunks < g->nr; chunks--) {
			unsigned int part = min(nr, pool->per_chunk);

			if (!pool_add_chunk(g, part))
				goto fail;
			nr -= part;
		}
	}
	pool->first = &pool->group[0]->chunk[0];
	/* With fewer instances than CPUs, hits would take them from each other. */
	if (asked > num_possible_cpus()) {
		pool->cache = alloc_percpu(struct kretprobe_instance *);
		if (!pool->cache)
			goto fail;
	}
	return pool;
fail:
	kretprobe_pool_free(pool);
	return NULL;
}

/**
 * kretprobe_pool_cache() - find the instance that each CPU keeps of a pool
 * @pool: the pool
 *
 * An exchange with NULL takes the instance. A compare-and-exchange of NULL with an
 * instance gives that instance back. If the pool has a fixed size, other CPUs do this
 * too, and both have to be atomic for all CPUs.
 *
 * Return: the per-CPU pointer to it; or NULL if the pool has none.
 */
struct kretprobe_instance * __percpu *kretprobe_pool_cache(struct kretprobe_pool *pool)
{
	return pool->cache;
}

/**
 * kretprobe_pool_drop() - count an instance as gone, instead of giving it back
 * @pool: a pool of fixed size
 *
 * For calls that end after their return probe has been unregistered.
 *
 * Context: any.
 *
 * Return: true if that was the last one. The pool may be freed a grace period later.
 */
bool __kprobes kretprobe_pool_drop(struct kretprobe_pool *pool)
{
	return atomic_dec_and_test(&pool->left);
}

/**
 * kretprobe_pool_drain() - count the instances as gone that are free
 * @pool: a pool of fixed size, from which nothing is taken any more, and to which
 *	nothing is given back
 *
 * Return: true if there are no others. The pool may be freed a grace period later.
 */
bool kretprobe_pool_drain(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *c = NULL;
	/* Until now one more is left than there are instances. */
	unsigned int nr = 1, cpu;

	while ((c = pool_next_chunk(pool, c)))
		nr += hweight_long(c->free);
	if (pool->cache)
		for_each_possible_cpu(cpu)
			nr += !!*per_cpu_ptr(pool->cache, cpu);
	return atomic_sub_and_test(nr, &pool->left);
}
