// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: taking instances of return probes from a pool, and giving them back.
 *
 * A hit takes an instance and a return gives it back, in any context, so neither may wait.
 * Each instance has a bit in a word, set while the instance is free. The CPU that clears the bit
 * owns the instance. Unlike the head of a free list, a word of bits has no ABA problem.
 *
 * The instances of one word are a chunk, which is allocated and freed as a whole. A hit first
 * tries the instance that its CPU caches for the pool, see retcall.c; then the chunk in which
 * the CPU last found a free instance; then it searches two more levels of words, see pool.h.
 *
 * A return probe with maxactive has a pool of fixed size. The pool must not miss a call while
 * an instance is free, so a search that fails takes an instance from another CPU's cache.
 * All other return probes share one pool for each class of instance size. pool_shared.c
 * decides how large these are.
 *
 * pool_mutex guards which chunks a shared pool has. Hits read them with preemption disabled.
 */
#include <linux/cleanup.h>
#include <linux/jiffies.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "pool.h"

#define CHUNK_BYTES_MIN		SZ_4K
#define CHUNK_BYTES_MAX		SZ_32K
/*
 * Minimum number of instances in a chunk, unless the chunk would be too large. With fewer
 * instances, chunks would more often become full or empty, which writes words that all CPUs share.
 */
#define CHUNK_INSTANCES_MIN	16

/* In jiffies: a hit repeats a request for growth if pool_grow() has not run after this time */
#define ASK_AGAIN		max(HZ / 100, 1)

/* A chunk of @g has a free instance: set its bit in g->avail, and the bit of @g in pool->avail. */
static void __kprobes pool_chunk_has_free(struct chunk_group *g, unsigned int index)
{
	struct kretprobe_pool *pool = g->pool;

	/*
	 * test_and_set_bit() is a full barrier between g->avail and pool->avail. Pairs with
	 * smp_mb__after_atomic() in pool_chunk_is_empty().
	 */
	if (!test_and_set_bit(index, &g->avail))
		atomic_inc(&pool->nr_avail);
	if (!test_bit(g->index, pool->avail))
		set_bit(g->index, pool->avail);
}

/*
 * A chunk of @g has no free instance: clear its bit in g->avail and, if no other chunk of @g has
 * one, the bit of @g in pool->avail. If another CPU gives an instance back at the same time, or the
 * worker adds a chunk to @g, one of the two CPUs sets the bits again: see the comment above
 * kretprobe_pool_give().
 */
static noinline void __kprobes pool_chunk_is_empty(struct chunk_group *g, unsigned int index)
{
	struct kretprobe_pool *pool = g->pool;
	struct kretprobe_chunk *c;

	/*
	 * test_and_clear_bit() is a full barrier between g->avail and c->free. Pairs with
	 * smp_mb__after_atomic() in kretprobe_pool_give().
	 */
	if (test_and_clear_bit(index, &g->avail))
		atomic_dec(&pool->nr_avail);
	c = READ_ONCE(g->chunk[index]);
	if (c && READ_ONCE(c->free))
		pool_chunk_has_free(g, index);

	if (READ_ONCE(g->avail))
		return;
	clear_bit(g->index, pool->avail);
	/* A full barrier. Pairs with test_and_set_bit() in pool_chunk_has_free(). */
	smp_mb__after_atomic();
	if (READ_ONCE(g->avail))
		set_bit(g->index, pool->avail);
}

/*
 * Request that the worker adds chunks, if at most half of the chunks have a free instance. Called
 * by a hit that takes the last instance of a chunk, or finds no free instance in the pool.
 *
 * The first such hit sets pool->growth to POOL_GROWTH_REQUESTED. Until pool_grow() changes that,
 * at most one hit in each ASK_AGAIN repeats the request. The limit is needed because a request
 * raises an interrupt, in which pool_run_worker() calls functions that may have return probes.
 * Their hits get here, too: if each of them raised the interrupt again, the worker would never get
 * the CPU.
 *
 * The repetition is needed because the worker's thread may wait for a CPU that is busy with
 * something else. The hit that repeats the request may be on a CPU that can run the worker.
 */
static void __kprobes pool_request_growth(struct kretprobe_pool *pool)
{
	enum pool_growth growth = READ_ONCE(pool->growth);
	unsigned long asked = READ_ONCE(pool->asked), now = jiffies;

	if (growth > POOL_GROWTH_REQUESTED ||
	    2 * atomic_read(&pool->nr_avail) > READ_ONCE(pool->nr_chunks))
		return;
	if (growth == POOL_MAY_GROW ?
	    !try_cmpxchg(&pool->growth, &growth, POOL_GROWTH_REQUESTED) :
	    time_before(now, asked + ASK_AGAIN))
		return;
	if (try_cmpxchg(&pool->asked, &asked, now))
		kprobe_request(pool->grow);
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
		 * test_and_clear_bit() is fully ordered: this CPU writes the instance only after
		 * it. Pairs with smp_mb__before_atomic() in kretprobe_pool_give().
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

/*
 * Take an instance from a chunk of @g, or return NULL. Begin at a chunk that depends on the CPU, so
 * that few CPUs write to the same words.
 */
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

/*
 * Take an instance from the cache of any CPU, if the pool has a fixed size. Return NULL for a
 * shared pool: there, no other CPU may change the cache of a CPU.
 */
static struct kretprobe_instance __kprobes *pool_take_from_cpus(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri = NULL;
	unsigned int cpu;

	if (pool->hint || !pool->cache)
		return NULL;
	for_each_possible_cpu(cpu) {
		struct kretprobe_instance **place = per_cpu_ptr(pool->cache, cpu);

		/*
		 * Pairs with xchg() in kretprobe_take_cached(), try_cmpxchg() in kretprobe_give().
		 */
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
		 * Pairs with test_and_set_bit() in pool_chunk_has_free(), a full barrier between
		 * pool_add_group() and set_bit(): a CPU that sees the bit sees the group.
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

/*
 * Take an instance.
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
 * One CPU gives an instance of a chunk back, while another CPU takes one. Both access c->free:
 *
 *	kretprobe_pool_give()			pool_take_from_chunk()
 *
 *	read and write the instance		test_and_clear_bit(&c->free)
 *	smp_mb__before_atomic()			write the instance
 *	set_bit(&c->free)
 *
 * If the right CPU finds the bit set, its writes happen after all accesses of the left CPU.
 *
 * One CPU gives an instance back, while another CPU has found the chunk empty. Both access c->free,
 * and g->avail, which is one level above it:
 *
 *	kretprobe_pool_give()			pool_chunk_is_empty()
 *
 *	set_bit(&c->free)			test_and_clear_bit(&g->avail)
 *	smp_mb__after_atomic()			read c->free
 *	test_bit(&g->avail)
 *
 * At least one of the CPUs sees the write of the other CPU, and sets the bit in g->avail. The same
 * holds one level higher, for g->avail and pool->avail. Bit operations that return the old bit are
 * fully ordered. set_bit() and clear_bit() are not, so they need the barriers.
 */

/* Give back an instance, which the caller must not use any more. Preemption is disabled. */
void __kprobes kretprobe_pool_give(struct kretprobe_instance *ri)
{
	struct kretprobe_chunk *c = ri->chunk;
	struct chunk_group *g = c->group;
	unsigned int index = c->index;

	/* Pairs with test_and_clear_bit() in pool_take_from_chunk(). */
	smp_mb__before_atomic();
	set_bit(ri->bit, &c->free);
	/* Pairs with test_and_clear_bit() in pool_chunk_is_empty(). */
	smp_mb__after_atomic();
	if (unlikely(!test_bit(index, &g->avail)))
		pool_chunk_has_free(g, index);
}

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

/* Create a pool without chunks. The caller adds them, or pool_grow() does for a shared pool. */
struct kretprobe_pool *pool_create(unsigned int size, unsigned int nr_groups)
{
	struct kretprobe_pool *pool;
	size_t bytes = struct_size(pool, group, nr_groups);

	pool = kzalloc(bytes + BITS_TO_LONGS(nr_groups) * sizeof(long), GFP_KERNEL);
	if (!pool)
		return NULL;
	/* A pool of fixed size keeps this. pool_grow() changes it for a shared pool. */
	pool->growth = POOL_AT_LIMIT;
	pool->size = size;
	pool->chunk_bytes = pool_chunk_bytes(size);
	pool->per_chunk = pool_instances_in(pool->chunk_bytes, size);
	pool->nr_groups = nr_groups;
	pool->avail = (void *)pool + bytes;
	return pool;
}

/* Create group number @index. */
struct chunk_group *pool_add_group(struct kretprobe_pool *pool, unsigned int index,
				   unsigned int nr_chunks, gfp_t gfp)
{
	struct chunk_group *g = kzalloc(struct_size(g, chunk, nr_chunks), gfp);

	if (!g)
		return NULL;
	g->nr = nr_chunks;
	g->pool = pool;
	g->index = index;
	/* Publish the complete group. Pairs with READ_ONCE() in pool_group(). */
	smp_store_release(&pool->group[index], g);
	return g;
}

/* Return group number @index of chunks; or NULL if neither it nor any later group exists. */
struct chunk_group *pool_group(const struct kretprobe_pool *pool, unsigned int index)
{
	if (index >= pool->nr_groups)
		return NULL;
	/* Pairs with smp_store_release() in pool_add_group(). */
	return READ_ONCE(pool->group[index]);
}

/*
 * Free a pool. None of its instances is in use, and a grace period has passed since the last use.
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

/* Add a chunk of @nr instances to @g, which has room for it. Return false if out of memory. */
bool pool_add_chunk(struct chunk_group *g, unsigned int nr, gfp_t gfp)
{
	struct kretprobe_pool *pool = g->pool;
	struct kretprobe_instance *ri;
	struct kretprobe_chunk *c;
	unsigned int i;

	c = kzalloc(offsetof(struct kretprobe_chunk, instances) + nr * pool->size,
		    gfp | __GFP_NOWARN);
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
	/* Publish the complete chunk. Pairs with READ_ONCE() of the pointer by hits. */
	smp_store_release(&g->chunk[c->index], c);
	pool_chunk_has_free(g, c->index);
	return true;
}

/* Free a chunk. Return false if one of its instances is in use, or in the cache of a CPU. */
bool pool_del_chunk(struct kretprobe_chunk *c)
{
	struct chunk_group *g = c->group;
	struct kretprobe_pool *pool = g->pool;

	/* If all instances are free, clear their bits: from now on no hit can take one of them. */
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

/* Return the chunk after @c, or the first one if @c is NULL; NULL if there is none. */
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

/*
 * Create a pool of @nr instances, at least one, each with @data_size bytes of private data. Return:
 * the pool; or NULL if out of memory, or if @nr is too large.
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
		g = pool_add_group(pool, i, min_t(unsigned int, chunks, BITS_PER_LONG), GFP_KERNEL);
		if (!g)
			goto fail;
		for (; chunks && g->nr_chunks < g->nr; chunks--) {
			unsigned int part = min(nr, pool->per_chunk);

			if (!pool_add_chunk(g, part, GFP_KERNEL))
				goto fail;
			nr -= part;
		}
	}
	pool->first = &pool->group[0]->chunk[0];
	/*
	 * Without an instance for each CPU, caches do not pay: hits would take instances from the
	 * caches of other CPUs.
	 */
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

/*
 * Return the per-CPU cache of a pool.
 *
 * Each CPU's part holds one free instance, or NULL. A hit takes the instance by replacing it with
 * NULL. A return gives an instance back by a cmpxchg() from NULL to the instance. If the pool has a
 * fixed size, both have to be atomic for all CPUs, since other CPUs take the instance, too.
 *
 * Return: the cache, or NULL if the pool has none.
 */
struct kretprobe_instance * __percpu *kretprobe_pool_cache(struct kretprobe_pool *pool)
{
	return pool->cache;
}

/*
 * Subtract an instance from the count of a pool of fixed size, instead of giving it back: its call
 * has ended after its return probe was unregistered. Return: true if the count is zero:
 * kretprobe_pool_drain() was called, and all calls that had instances have ended. The pool may be
 * freed a grace period later.
 */
bool __kprobes kretprobe_pool_drop(struct kretprobe_pool *pool)
{
	return atomic_dec_and_test(&pool->left);
}

/*
 * Subtract the free instances from the count of a pool of fixed size, of which no instance is taken
 * or given back any more. Return: true if the count is zero: no call has an instance any more, and
 * the pool may be freed a grace period later. If false, kretprobe_pool_drop() returns true for the
 * last call.
 */
bool kretprobe_pool_drain(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *c = NULL;
	/* pool->left began at one more than the number of instances: subtract that one, too. */
	unsigned int nr = 1, cpu;

	while ((c = pool_next_chunk(pool, c)))
		nr += hweight_long(c->free);
	if (pool->cache)
		for_each_possible_cpu(cpu)
			nr += !!*per_cpu_ptr(pool->cache, cpu);
	return atomic_sub_and_test(nr, &pool->left);
}
