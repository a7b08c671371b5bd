// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: where the instances of return probes come from.
 *
 * A hit takes an instance and a return gives it back, in any context that
 * there is, so neither waits for anybody: an instance is a bit in a word, set
 * while it is free, and whoever clears it has it. Words can't be mistaken for
 * what they were before, as the heads of free lists can.
 *
 * The instances of one word are a chunk, which is what is allocated and freed.
 * A pool finds a chunk with a free instance by two more levels of words: bits
 * of groups in a directory, and bits of chunks in a group, set while there may
 * be something free below. A fixed pool has one directory, a shared one gets
 * more as it grows. A CPU tries the chunk that it found last before it looks; and
 * before that, the one instance of each shared pool that it keeps to itself.
 *
 * There is a pool for each class of instance size, shared by all return probes
 * that did not ask for a number of instances, and a pool of fixed size for
 * each that did. A shared pool is kept so large that at least as many
 * instances are free as are taken. A hit that takes the last one of a chunk
 * asks for a worker on its own CPU, by irq_work, which may be done in any
 * context. That makes chunks; another frees those that are idle. No more than
 * kprobes.return_pool_kib is used by all shared pools together. When the worker
 * could not make what it was asked for, hits do not ask again before a chunk has
 * been freed or that bound has moved, or, if memory was short, some time later.
 *
 * pool_mutex guards which chunks there are; it nests inside nothing but
 * kprobe_mutex. Hits read chunks with preemption disabled, so a chunk is freed
 * by RCU.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "internal.h"

#define CHUNK_BYTES_MIN		SZ_4K
#define CHUNK_BYTES_MAX		SZ_32K
/* Few instances in a chunk are taken and given back by the words above it. */
#define CHUNK_INSTANCES_MIN	16

/* What is free at first, and what a shared pool does not shrink below. */
#define FREE_PER_CPU		64
#define FREE_PER_PROBE		8
#define FREE_BYTES		SZ_256K

/* How long chunks are idle before they are freed, and until memory is tried again. */
#define SHRINK_INTERVAL		(2 * HZ)

/**
 * struct kretprobe_chunk - instances that share a word
 * @free: which of them are free
 * @full: what @free is when all are
 * @group: the group that it is in
 * @index: which of the group it is
 * @rcu: frees it when nobody looks at it any more
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
 * @avail: which of them may have a free instance
 * @pool: the pool that it is in
 * @dir: the directory that it is in
 * @index: which of the pool it is
 * @bit: which of the directory it is
 * @nr: how many chunks there is room for
 * @nr_chunks: how many there are
 * @chunk: the chunks, NULL where there is none
 */
struct chunk_group {
	unsigned long avail;
	struct kretprobe_pool *pool;
	struct group_dir *dir;
	unsigned int index;
	unsigned int bit;
	unsigned int nr;
	unsigned int nr_chunks;
	struct kretprobe_chunk *chunk[] __counted_by(nr);
};

/**
 * struct group_dir - groups that share a word
 * @avail: which of them may have a free instance
 * @nr: how many groups there is room for
 * @group: the groups, NULL where there is none
 */
struct group_dir {
	unsigned long avail;
	unsigned int nr;
	struct chunk_group *group[] __counted_by(nr);
};

/* Of a shared pool; with 4 KiB chunks these are 1 GiB on 64-bit machines. */
#define NR_DIRS			64

/**
 * enum pool_growth - whether hits ask for more instances of a shared pool
 * @POOL_MAY_GROW: they do
 * @POOL_AT_LIMIT: there is no room, or the bound does not allow more
 * @POOL_NO_MEMORY: memory was short
 */
enum pool_growth {
	POOL_MAY_GROW,
	POOL_AT_LIMIT,
	POOL_NO_MEMORY,
};

/**
 * struct kretprobe_pool - where instances are taken from
 * @first: the place of the first chunk of a pool of fixed size
 * @growth: why there is no use in asking for more, if there is none
 * @hint: where this CPU found one last; NULL for all but shared pools
 * @cache: one of this CPU's own, taken and not used; NULL as @hint
 * @nr_avail: how many chunks may have a free instance
 * @nr_chunks: how many chunks there are
 * @size: bytes of an instance, private data included
 * @per_chunk: instances in a chunk, but for the last one of a fixed pool
 * @chunk_bytes: bytes of a chunk
 * @nr_probes: how many return probes share it
 * @left: of a pool of fixed size, how many instances calls may have, and one
 *	more until kretprobe_pool_drain()
 * @room: all groups before this one are full
 * @nr_dirs: how many directories there is room for
 * @dir: the directories, NULL behind the last one. They and their groups are
 *	made in order, and never freed before the pool.
 */
struct kretprobe_pool {
	struct kretprobe_chunk **first;
	enum pool_growth growth;
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
	unsigned int nr_dirs;
	struct group_dir *dir[] __counted_by(nr_dirs);
};

/* Bytes of an instance in each of the shared pools. */
static const unsigned int class_size[] = {
	64, 96, 128, 192, 256, 512, 1024, 2048,
	ALIGN(sizeof(struct kretprobe_instance) + KRETPROBE_MAX_DATA_SIZE, 64),
};

#define NR_CLASSES	ARRAY_SIZE(class_size)

static struct kretprobe_pool *shared[NR_CLASSES];

/**
 * struct pool_cpu - what a CPU keeps of the shared pools
 * @cache: an instance that was given back, for each pool, or NULL
 * @hint: the place of the chunk in which it found the last one, for each pool
 * @irq_work: queues @work, for hits
 * @work: makes chunks. Who is about to have none left does not wait until
 *	another CPU, which may be a virtual one that does not run, gets to it.
 */
struct pool_cpu {
	struct kretprobe_instance *cache[NR_CLASSES];
	struct kretprobe_chunk **hint[NR_CLASSES];
	struct irq_work irq_work;
	struct work_struct work;
};

static DEFINE_PER_CPU(struct pool_cpu, pool_cpu);

static DEFINE_MUTEX(pool_mutex);

/* What all shared pools use, and may use. */
static unsigned long shared_kib;
static unsigned long return_pool_kib;

/*
 * Taking and giving back.
 */

/* There is something free in a chunk, let it be found. */
static void __kprobes chunk_has_free(struct chunk_group *g, unsigned int index)
{
	struct kretprobe_pool *pool = g->pool;

	if (!test_and_set_bit(index, &g->avail))
		atomic_inc(&pool->nr_avail);
	/* Pairs with the barrier of the same level in chunk_is_empty(). */
	smp_mb__after_atomic();
	if (!test_bit(g->bit, &g->dir->avail))
		set_bit(g->bit, &g->dir->avail);
}

/*
 * What this clears was true of a chunk that may have changed meanwhile, or
 * been replaced; whoever makes the bit true again either sees it cleared, or
 * is seen here.
 */
static noinline void __kprobes chunk_is_empty(struct chunk_group *g, unsigned int index)
{
	struct kretprobe_pool *pool = g->pool;
	struct kretprobe_chunk *c;

	if (test_and_clear_bit(index, &g->avail))
		atomic_dec(&pool->nr_avail);
	/* Pairs with the barrier in kretprobe_pool_give(). */
	smp_mb__after_atomic();
	c = READ_ONCE(g->chunk[index]);
	if (c && READ_ONCE(c->free))
		chunk_has_free(g, index);

	if (READ_ONCE(g->avail))
		return;
	clear_bit(g->bit, &g->dir->avail);
	/* Pairs with the barrier in chunk_has_free(). */
	smp_mb__after_atomic();
	if (READ_ONCE(g->avail))
		set_bit(g->bit, &g->dir->avail);
}

/* Half of the chunks are used up: the worker should look at it, unless in vain. */
static void __kprobes grow_early(struct kretprobe_pool *pool)
{
	if (pool->hint && READ_ONCE(pool->growth) == POOL_MAY_GROW &&
	    2 * atomic_read(&pool->nr_avail) <= READ_ONCE(pool->nr_chunks))
		irq_work_queue(this_cpu_ptr(&pool_cpu.irq_work));
}

static __always_inline struct kretprobe_instance *
take_from(struct kretprobe_pool *pool, struct kretprobe_chunk *c)
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
			chunk_is_empty(c->group, c->index);
			grow_early(pool);
		}
		return (void *)c->instances + bit * pool->size;
	}
	return NULL;
}

/* Look at the groups of a directory, each CPU from a different place on. */
static struct kretprobe_instance __kprobes *
search_dir(struct kretprobe_pool *pool, struct group_dir *dir)
{
	unsigned int start = raw_smp_processor_id();
	unsigned int i, j, nr = BITS_PER_LONG;
	struct kretprobe_instance *ri;
	struct kretprobe_chunk *c;
	struct chunk_group *g;

	for (i = 0; i < nr; i++) {
		/*
		 * A CPU that sees the bit sees the group, which was published
		 * before: pairs with the barrier in chunk_has_free(), between
		 * what the worker did before it and set_bit().
		 */
		if (!(smp_load_acquire(&dir->avail) & BIT(i)))
			continue;
		g = READ_ONCE(dir->group[i]);
		for (j = 0; j < nr; j++) {
			unsigned int index = (start + j) % nr;

			if (!(READ_ONCE(g->avail) & BIT(index)))
				continue;
			c = READ_ONCE(g->chunk[index]);
			ri = c ? take_from(pool, c) : NULL;
			if (ri) {
				if (pool->hint)
					this_cpu_write(*pool->hint, &g->chunk[index]);
				return ri;
			}
			chunk_is_empty(g, index);
		}
	}
	return NULL;
}

static noinline struct kretprobe_instance __kprobes *
search(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri;
	struct group_dir *dir;
	unsigned int i;

	for (i = 0; i < pool->nr_dirs; i++) {
		/* Pairs with smp_store_release() in dir_create(). */
		dir = READ_ONCE(pool->dir[i]);
		if (!dir)
			break;
		ri = search_dir(pool, dir);
		if (ri)
			return ri;
	}
	grow_early(pool);
	return NULL;
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
	/* Pairs with smp_store_release() in chunk_create(). */
	c = READ_ONCE(*place);
	ri = likely(c) ? take_from(pool, c) : NULL;
	if (likely(ri))
		return ri;
	return search(pool);
}

/*
 * Two CPUs that are at the same word:
 *
 *	kretprobe_pool_give()			take_from()
 *
 *	read and write the instance		test_and_clear_bit(&c->free)
 *	smp_mb__before_atomic()			write the instance
 *	set_bit(&c->free)
 *
 * If the right one finds the bit set, what it writes comes after all that the
 * left one did with the instance. And the same word with the one above it:
 *
 *	kretprobe_pool_give()			chunk_is_empty()
 *
 *	set_bit(&c->free)			test_and_clear_bit(&g->avail)
 *	smp_mb__after_atomic()			smp_mb__after_atomic()
 *	test_bit(&g->avail)			read c->free
 *
 * At least one of them sees what the other one wrote, and sets the bit in
 * g->avail. It is the same between g->avail and dir->avail.
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

	/* Pairs with test_and_clear_bit() in take_from(). */
	smp_mb__before_atomic();
	set_bit(ri->bit, &c->free);
	/* Pairs with the barrier of the same level in chunk_is_empty(). */
	smp_mb__after_atomic();
	if (unlikely(!test_bit(index, &g->avail)))
		chunk_has_free(g, index);
}

/*
 * Chunks come and go.
 */

static unsigned int instances_in(unsigned int bytes, unsigned int size)
{
	return min_t(size_t, BITS_PER_LONG,
		     (bytes - offsetof(struct kretprobe_chunk, instances)) / size);
}

static struct kretprobe_pool *pool_create(unsigned int size, unsigned int nr_dirs)
{
	struct kretprobe_pool *pool;

	pool = kzalloc(struct_size(pool, dir, nr_dirs), GFP_KERNEL);
	if (!pool)
		return NULL;
	pool->nr_dirs = nr_dirs;
	pool->size = size;
	pool->chunk_bytes = CHUNK_BYTES_MIN;
	while (pool->chunk_bytes < CHUNK_BYTES_MAX &&
	       instances_in(pool->chunk_bytes, size) < CHUNK_INSTANCES_MIN)
		pool->chunk_bytes *= 2;
	pool->per_chunk = instances_in(pool->chunk_bytes, size);
	return pool;
}

static struct group_dir *dir_create(struct kretprobe_pool *pool, unsigned int index,
				    unsigned int nr_groups)
{
	struct group_dir *dir = kzalloc(struct_size(dir, group, nr_groups), GFP_KERNEL);

	if (!dir)
		return NULL;
	dir->nr = nr_groups;
	/* Pairs with READ_ONCE() in search(), and the address dependency behind it. */
	smp_store_release(&pool->dir[index], dir);
	return dir;
}

/* Make the group number @index of a pool, whose directory is there. */
static struct chunk_group *group_create(struct kretprobe_pool *pool, unsigned int index,
					unsigned int nr_chunks)
{
	struct group_dir *dir = pool->dir[index / BITS_PER_LONG];
	struct chunk_group *g = kzalloc(struct_size(g, chunk, nr_chunks), GFP_KERNEL);

	if (!g)
		return NULL;
	g->nr = nr_chunks;
	g->pool = pool;
	g->dir = dir;
	g->index = index;
	g->bit = index % BITS_PER_LONG;
	/* Pairs with smp_load_acquire() in group_at(), and the other in search_dir(). */
	smp_store_release(&dir->group[g->bit], g);
	return g;
}

/* NULL if there is none; then there is none behind it, either. */
static struct chunk_group *group_at(const struct kretprobe_pool *pool, unsigned int index)
{
	struct group_dir *dir;

	if (index / BITS_PER_LONG >= pool->nr_dirs)
		return NULL;
	/* Pairs with smp_store_release() in dir_create(). */
	dir = smp_load_acquire(&pool->dir[index / BITS_PER_LONG]);
	if (!dir || index % BITS_PER_LONG >= dir->nr)
		return NULL;
	/* Pairs with smp_store_release() in group_create(). */
	return smp_load_acquire(&dir->group[index % BITS_PER_LONG]);
}

static void pool_free(struct kretprobe_pool *pool)
{
	struct chunk_group *g;
	unsigned int i, j;

	for (i = 0; (g = group_at(pool, i)); i++) {
		for (j = 0; j < g->nr; j++)
			kfree(g->chunk[j]);
		kfree(g);
	}
	for (i = 0; i < pool->nr_dirs; i++)
		kfree(pool->dir[i]);
	kfree(pool);
}

/* Add a chunk of @nr instances to a group that has room for it. */
static bool chunk_create(struct chunk_group *g, unsigned int nr)
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
	chunk_has_free(g, c->index);
	return true;
}

static unsigned int chunk_kib(const struct kretprobe_pool *pool)
{
	return pool->chunk_bytes / SZ_1K;
}

/* Make the next group of a shared pool. */
static struct chunk_group *group_add(struct kretprobe_pool *pool, unsigned int index)
{
	unsigned int dir = index / BITS_PER_LONG;

	if (!pool->dir[dir] && !dir_create(pool, dir, BITS_PER_LONG))
		return NULL;
	return group_create(pool, index, BITS_PER_LONG);
}

/* Add a chunk to a shared pool; say why not. */
static enum pool_growth shared_pool_add(struct kretprobe_pool *pool)
{
	struct chunk_group *g;

	if (shared_kib + chunk_kib(pool) > return_pool_kib)
		return POOL_AT_LIMIT;
	while ((g = group_at(pool, pool->room)) && g->nr_chunks == g->nr)
		pool->room++;
	if (!g && pool->room == pool->nr_dirs * BITS_PER_LONG)
		return POOL_AT_LIMIT;
	g = g ?: group_add(pool, pool->room);
	if (!g || !chunk_create(g, pool->per_chunk))
		return POOL_NO_MEMORY;
	shared_kib += chunk_kib(pool);
	return POOL_MAY_GROW;
}

/* Free a chunk if none of its instances is taken. */
static bool chunk_destroy(struct kretprobe_chunk *c)
{
	struct chunk_group *g = c->group;
	struct kretprobe_pool *pool = g->pool;

	/* From here on nobody can take one of them. */
	if (cmpxchg(&c->free, c->full, 0) != c->full)
		return false;
	WRITE_ONCE(g->chunk[c->index], NULL);
	chunk_is_empty(g, c->index);
	g->nr_chunks--;
	pool->room = min(pool->room, g->index);
	WRITE_ONCE(pool->nr_chunks, pool->nr_chunks - 1);
	kfree_rcu(c, rcu);
	return true;
}

/* The chunk after @c, or the first one if that is NULL. */
static struct kretprobe_chunk *next_chunk(const struct kretprobe_pool *pool,
					  const struct kretprobe_chunk *c)
{
	unsigned int i = c ? c->group->index : 0, j = c ? c->index + 1 : 0;
	struct chunk_group *g;

	for (; (g = group_at(pool, i)); i++, j = 0)
		for (; j < g->nr; j++)
			if (g->chunk[j])
				return g->chunk[j];
	return NULL;
}

/* Of a shared pool. */
static unsigned int taken(const struct kretprobe_pool *pool)
{
	const struct kretprobe_chunk *c = NULL;
	unsigned int nr = 0, cached = 0;
	int cpu;

	while ((c = next_chunk(pool, c))) {
		nr += hweight_long(c->full & ~READ_ONCE(c->free));
		if (!c->index)
			cond_resched();
	}
	for_each_possible_cpu(cpu)
		cached += !!READ_ONCE(*per_cpu_ptr(pool->cache, cpu));
	/* Both change while they are counted. */
	return nr - min(nr, cached);
}

static unsigned int total(const struct kretprobe_pool *pool)
{
	return pool->nr_chunks * pool->per_chunk;
}

/* How many instances a shared pool should have, when @nr_taken are taken. */
static unsigned int wanted(const struct kretprobe_pool *pool, unsigned int nr_taken)
{
	unsigned int base;

	if (!pool->nr_probes)
		return nr_taken;
	base = FREE_PER_CPU * num_possible_cpus() + FREE_PER_PROBE * pool->nr_probes;
	base = min_t(unsigned int, base, FREE_BYTES / pool->size);
	base = max_t(unsigned int, base, 2 * num_possible_cpus());
	return base + 2 * nr_taken;
}

static void shrink_all(struct work_struct *work);

static DECLARE_DELAYED_WORK(shrink_work, shrink_all);

static void grow(struct kretprobe_pool *pool)
{
	unsigned int want = wanted(pool, taken(pool));
	enum pool_growth growth = POOL_MAY_GROW;

	while (total(pool) < want && growth == POOL_MAY_GROW) {
		growth = shared_pool_add(pool);
		cond_resched();
	}
	WRITE_ONCE(pool->growth, growth);
	if (growth == POOL_NO_MEMORY)
		queue_delayed_work(system_wq, &shrink_work, SHRINK_INTERVAL);
}

/* Hits may ask for more of any shared pool again. */
static void may_grow_again(void)
{
	unsigned int i;

	for (i = 0; i < NR_CLASSES; i++)
		if (shared[i])
			WRITE_ONCE(shared[i]->growth, POOL_MAY_GROW);
}

static void flush_cache(void *data)
{
	struct kretprobe_pool *pool = data;
	struct kretprobe_instance *ri = this_cpu_xchg(*pool->cache, NULL);

	if (ri)
		kretprobe_pool_give(ri);
}

/* May there be more than enough some day? */
static bool may_shrink(const struct kretprobe_pool *pool)
{
	return total(pool) >= wanted(pool, 0) + pool->per_chunk;
}

static bool beyond_bound(void)
{
	return shared_kib > return_pool_kib;
}

/*
 * Free half of what is too much; the rest may be wanted again soon. Beyond the
 * bound free all that is idle.
 */
static bool shrink(struct kretprobe_pool *pool)
{
	unsigned int want = wanted(pool, taken(pool)), spare = 0;
	struct kretprobe_chunk *c, *next;

	if (total(pool) >= want + pool->per_chunk)
		spare = DIV_ROUND_UP((total(pool) - want) / pool->per_chunk, 2);
	else if (!beyond_bound())
		return may_shrink(pool);
	/* What CPUs keep to themselves is idle, but may be used soon. */
	if (!pool->nr_probes || beyond_bound())
		on_each_cpu(flush_cache, pool, 1);
	for (c = next_chunk(pool, NULL); c && (spare || beyond_bound()); c = next) {
		next = next_chunk(pool, c);
		if (chunk_destroy(c)) {
			shared_kib -= chunk_kib(pool);
			may_grow_again();
			spare -= !!spare;
		}
	}
	return may_shrink(pool) || beyond_bound();
}

static void grow_all(struct work_struct *work)
{
	unsigned int i;

	guard(mutex)(&pool_mutex);
	for (i = 0; i < NR_CLASSES; i++)
		if (shared[i])
			grow(shared[i]);
	queue_delayed_work(system_wq, &shrink_work, SHRINK_INTERVAL);
}

static void shrink_all(struct work_struct *work)
{
	bool more = false;
	unsigned int i;

	guard(mutex)(&pool_mutex);
	for (i = 0; i < NR_CLASSES; i++) {
		if (!shared[i])
			continue;
		if (shared[i]->growth == POOL_NO_MEMORY)
			WRITE_ONCE(shared[i]->growth, POOL_MAY_GROW);
		more |= shrink(shared[i]);
	}
	if (more)
		queue_delayed_work(system_wq, &shrink_work, SHRINK_INTERVAL);
}

/*
 * Tasks that wait for it may be many, and all ready to run. A hit asks for this
 * interrupt, which may not be the cause of another such hit.
 */
static void __kprobes run_worker(struct irq_work *work)
{
	queue_work(system_highpri_wq, &container_of(work, struct pool_cpu, irq_work)->work);
}

/*
 * A CPU's only idle worker has another one made before it begins, by a thread
 * that may have to wait for many others. Have that done when there is time.
 */
static void wake_workers(void)
{
	int cpu;

	guard(cpus_read_lock)();
	for_each_online_cpu(cpu)
		queue_work_on(cpu, system_highpri_wq, &per_cpu(pool_cpu, cpu).work);
}

/**
 * kretprobe_pool_share() - get a pool that grows
 * @data_size: bytes of private data in each instance
 *
 * Context: sleeps.
 *
 * Return: the pool, to be let go by kretprobe_pool_put(), or NULL if out of
 * memory.
 */
struct kretprobe_pool *kretprobe_pool_share(size_t data_size)
{
	size_t size = sizeof(struct kretprobe_instance) + data_size;
	struct kretprobe_pool *pool;
	unsigned int class = 0;
	int cpu;

	while (class_size[class] < size)
		class++;

	guard(mutex)(&pool_mutex);
	pool = shared[class];
	if (!pool) {
		struct chunk_group *g;

		pool = pool_create(class_size[class], NR_DIRS);
		g = pool ? group_add(pool, 0) : NULL;
		if (!g) {
			if (pool)
				pool_free(pool);
			return NULL;
		}
		for_each_possible_cpu(cpu)
			per_cpu(pool_cpu, cpu).hint[class] = &g->chunk[0];
		pool->hint = &pool_cpu.hint[class];
		pool->cache = &pool_cpu.cache[class];
		shared[class] = pool;
		wake_workers();
	}
	pool->nr_probes++;
	grow(pool);
	return pool;
}

/**
 * kretprobe_pool_create() - make a pool of fixed size
 * @nr: how many instances it is to have, at least one
 * @data_size: bytes of private data in each instance
 *
 * Context: sleeps.
 *
 * Return: the pool, to be let go by kretprobe_pool_put(), or NULL if out of
 * memory, or if there can't be so many.
 */
struct kretprobe_pool *kretprobe_pool_create(unsigned int nr, size_t data_size)
{
	size_t size = ALIGN(sizeof(struct kretprobe_instance) + data_size, sizeof(long));
	unsigned int chunks, groups, i;
	struct kretprobe_pool *pool;
	struct chunk_group *g;

	pool = pool_create(size, 1);
	if (!pool)
		return NULL;
	atomic_set(&pool->left, nr + 1);
	chunks = DIV_ROUND_UP(nr, pool->per_chunk);
	groups = DIV_ROUND_UP(chunks, BITS_PER_LONG);
	if (groups > BITS_PER_LONG || !dir_create(pool, 0, groups))
		goto fail;
	for (i = 0; i < groups; i++) {
		g = group_create(pool, i, min_t(unsigned int, chunks, BITS_PER_LONG));
		if (!g)
			goto fail;
		for (; chunks && g->nr_chunks < g->nr; chunks--) {
			unsigned int part = min(nr, pool->per_chunk);

			if (!chunk_create(g, part))
				goto fail;
			nr -= part;
		}
	}
	pool->first = &group_at(pool, 0)->chunk[0];
	return pool;
fail:
	kretprobe_pool_put(pool);
	return NULL;
}

/**
 * kretprobe_pool_cache() - tell where each CPU keeps an instance of a pool
 * @pool: the pool
 *
 * Who swaps it with NULL has taken the instance; who finds NULL there may put
 * one there that is to be given back, instead.
 *
 * Return: the place, or NULL if the pool must not be used like that.
 */
struct kretprobe_instance * __percpu *kretprobe_pool_cache(struct kretprobe_pool *pool)
{
	return pool->cache;
}

/**
 * kretprobe_pool_put() - let go of a pool
 * @pool: the pool. If it is of fixed size, none of its instances is in use, and
 *	a grace period has passed since that was so.
 *
 * Context: sleeps.
 */
void kretprobe_pool_put(struct kretprobe_pool *pool)
{
	if (!pool->hint) {
		pool_free(pool);
		return;
	}
	guard(mutex)(&pool_mutex);
	pool->nr_probes--;
	queue_delayed_work(system_wq, &shrink_work, SHRINK_INTERVAL);
}

/**
 * kretprobe_pool_drop() - count an instance as gone, instead of giving it back
 * @pool: a pool of fixed size
 *
 * For calls that end after their return probe has been unregistered.
 *
 * Context: any.
 *
 * Return: true if that was the last one. The pool may be put a grace period later.
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
 * Return: true if there are no others. The pool may be put a grace period later.
 */
bool kretprobe_pool_drain(struct kretprobe_pool *pool)
{
	struct kretprobe_chunk *c = NULL;
	/* Until now one more is left than there are instances. */
	unsigned int nr = 1;

	while ((c = next_chunk(pool, c)))
		nr += hweight_long(c->free);
	return atomic_sub_and_test(nr, &pool->left);
}

static noinline void replace_dead_in(const struct kretprobe_pool *pool, struct kretprobe_chunk *c,
				     struct kretprobe_anchor *by)
{
	unsigned int bit, nr = hweight_long(c->full);
	struct kretprobe_instance *ri;
	struct kretprobe_anchor *anchor;

	for (bit = 0; bit < nr; bit++) {
		ri = (void *)c->instances + bit * pool->size;
		anchor = READ_ONCE(ri->anchor);
		if (!anchor || anchor == by || rcu_access_pointer(anchor->probe))
			continue;
		/* A hit may have taken it meanwhile, for another return probe. */
		cmpxchg(&ri->anchor, anchor, by);
	}
}

/**
 * kretprobe_pools_replace_dead() - replace anchors that have no return probe
 * @by: what instances of the shared pools are to refer to instead
 *
 * The free ones too, which refer to what they were taken for last. No lock is
 * held, so a chunk may come or go meanwhile: a new one does not refer to any
 * anchor, and none of the instances of one that goes is used again.
 *
 * Context: sleeps.
 */
void kretprobe_pools_replace_dead(struct kretprobe_anchor *by)
{
	struct kretprobe_pool *pool;
	struct kretprobe_chunk *c;
	struct chunk_group *g;
	unsigned int class, i, j;

	for (class = 0; class < NR_CLASSES; class++) {
		scoped_guard(mutex, &pool_mutex)
			pool = shared[class];
		for (i = 0; pool && (g = group_at(pool, i)); i++) {
			for (j = 0; j < g->nr; j++) {
				guard(rcu)();
				/* Pairs with smp_store_release() in chunk_create(). */
				c = smp_load_acquire(&g->chunk[j]);
				if (c)
					replace_dead_in(pool, c, by);
			}
			cond_resched();
		}
	}
}

/**
 * kretprobe_pools_show() - tell about the shared pools, a line each
 * @m: where to print it
 *
 * Context: sleeps.
 */
void kretprobe_pools_show(struct seq_file *m)
{
	unsigned int i;

	guard(mutex)(&pool_mutex);
	seq_puts(m, "data_size probes instances taken KiB\n");
	for (i = 0; i < NR_CLASSES; i++) {
		struct kretprobe_pool *pool = shared[i];

		if (pool)
			seq_printf(m, "%zu %u %u %u %u\n",
				   pool->size - sizeof(struct kretprobe_instance),
				   pool->nr_probes, total(pool), taken(pool),
				   pool->nr_chunks * chunk_kib(pool));
	}
}

/* A sixty-fourth of memory, unless the command line says otherwise. */
static int __init pools_init(void)
{
	struct pool_cpu *pc;
	int cpu;

	for_each_possible_cpu(cpu) {
		pc = per_cpu_ptr(&pool_cpu, cpu);
		pc->irq_work = IRQ_WORK_INIT_HARD(run_worker);
		INIT_WORK(&pc->work, grow_all);
	}
	if (!return_pool_kib)
		return_pool_kib = totalram_pages() * (PAGE_SIZE / SZ_1K) / 64;
	return 0;
}
early_initcall(pools_init);

/* What is beyond a lower bound is to be freed; a higher one may be waited for. */
static int bound_set(const char *val, const struct kernel_param *param)
{
	int ret;

	guard(mutex)(&pool_mutex);
	ret = param_set_ulong(val, param);
	if (ret)
		return ret;
	may_grow_again();
	if (system_state == SYSTEM_RUNNING) {
		queue_work(system_highpri_wq, &raw_cpu_ptr(&pool_cpu)->work);
		queue_delayed_work(system_wq, &shrink_work, SHRINK_INTERVAL);
	}
	return 0;
}

static const struct kernel_param_ops bound_ops = {
	.set = bound_set,
	.get = param_get_ulong,
};

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."
module_param_cb(return_pool_kib, &bound_ops, &return_pool_kib, 0644);
MODULE_PARM_DESC(return_pool_kib, "most memory that the shared instances of return probes may take, in KiB");
