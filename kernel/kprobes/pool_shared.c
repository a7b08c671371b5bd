// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: growing and shrinking the shared pools of kretprobe instances.
 *
 * Return probes without maxactive share a pool for each class of instance size. While a pool has
 * return probes, it should have a base number of instances, plus twice the number that calls use:
 * that is its target.
 *
 * - A hit requests a worker if it takes the last instance of a chunk while at least half of the
 *   chunks have no free instance. The worker allocates chunks up to the target. If that worker does
 *   not run, later hits request a worker on their own CPU as well.
 * - Another worker frees idle chunks, half of the chunks above the target at a time.
 *
 * Neither runs on an isolated CPU, or interrupts one.
 *
 * All shared pools together use at most kprobes.return_pool_kib of memory. When a worker reaches
 * this limit, hits stop requesting until a chunk is freed or the limit is raised. When an
 * allocation fails in a worker, hits stop requesting for SHRINK_INTERVAL.
 *
 * pool_mutex guards everything here except what hits read.
 */
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "pool.h"

/*
 * The base is the initial number of instances of a shared pool. It is as many as fit into BASE_KIB,
 * or into 1/BASE_SHARE of kprobes.return_pool_kib if that is less; but at least FREE_MIN_PER_CPU
 * for each possible CPU. A pool that has return probes shrinks below the base only if that limit
 * was lowered.
 *
 * When a hit requests more instances, about half of the base is still free. That must be enough for
 * all calls that begin before the worker runs. If many tasks are ready to run, there can be
 * hundreds of such calls.
 */
#define BASE_KIB		256UL
#define BASE_SHARE		16
#define FREE_MIN_PER_CPU	2

/* Delay before idle chunks are freed, and before a failed allocation is tried again. */
#define SHRINK_INTERVAL		(2 * HZ)

/*
 * The maximum number of groups of a pool. A group has up to BITS_PER_LONG chunks, so on 64-bit
 * machines a pool with chunks of 4 KiB can have up to 960 MiB. A struct kretprobe_pool has a
 * pointer for each group, and so fits into 32 KiB, on 32-bit machines into 8 KiB.
 */
#define NR_GROUPS		(60 * BITS_PER_LONG)

/* Bytes of an instance in each of the shared pools. */
static const unsigned int class_size[] = {
	64, 96, 128, 192, 256, 512, 1024, 2048,
	ALIGN(sizeof(struct kretprobe_instance) + KRETPROBE_MAX_DATA_SIZE, 64),
};

#define NR_CLASSES	ARRAY_SIZE(class_size)

/* Guards which groups of chunks and which chunks the pools have, and the sizes of the pools. */
static DEFINE_MUTEX(pool_mutex);

static struct kretprobe_pool *shared[NR_CLASSES];

/**
 * struct pool_cpu - a CPU's part of the shared pools
 * @cache: for each pool, a free instance, or NULL
 * @hint: for each pool, the address of the pointer to the chunk in which this CPU last found a free
 *	instance
 * @work: allocates chunks if @wanted
 * @wanted: a hit on this CPU has requested chunks while grow_work was pending already
 */
struct pool_cpu {
	struct kretprobe_instance *cache[NR_CLASSES];
	struct kretprobe_chunk **hint[NR_CLASSES];
	struct work_struct work;
	bool wanted;
};

static DEFINE_PER_CPU(struct pool_cpu, pool_cpu);

/* The memory of all shared pools, and its limit, in KiB */
static unsigned long shared_kib;
static unsigned long return_pool_kib;

static unsigned int pool_chunk_kib(const struct kretprobe_pool *pool)
{
	return pool->chunk_bytes / SZ_1K;
}

/* Add a chunk to a shared pool. Return POOL_MAY_GROW, or the reason why not. */
static enum pool_growth pool_grow_by_chunk(struct kretprobe_pool *pool, gfp_t gfp)
{
	struct chunk_group *g;

	if (shared_kib + pool_chunk_kib(pool) > return_pool_kib)
		return POOL_AT_LIMIT;
	while ((g = pool_group(pool, pool->room)) && g->nr_chunks == g->nr)
		pool->room++;
	if (!g && pool->room == pool->nr_groups)
		return POOL_AT_LIMIT;
	g = g ?: pool_add_group(pool, pool->room, BITS_PER_LONG, gfp);
	if (!g || !pool_add_chunk(g, pool->per_chunk, gfp))
		return POOL_NO_MEMORY;
	shared_kib += pool_chunk_kib(pool);
	return POOL_MAY_GROW;
}

/* Count how many instances of a shared pool are used by calls. */
static unsigned int pool_nr_taken(const struct kretprobe_pool *pool)
{
	const struct kretprobe_chunk *c = NULL;
	unsigned int nr = 0, cached = 0;
	int cpu;

	while ((c = pool_next_chunk(pool, c))) {
		nr += hweight_long(c->full & ~READ_ONCE(c->free));
		if (!c->index)
			cond_resched();
	}
	for_each_possible_cpu(cpu)
		cached += !!READ_ONCE(*per_cpu_ptr(pool->cache, cpu));
	/*
	 * Between the two counts, an instance that was free may have moved into a cache. So @cached
	 * may be more than @nr.
	 */
	return nr - min(nr, cached);
}

static unsigned int pool_nr_total(const struct kretprobe_pool *pool)
{
	return pool->nr_chunks * pool->per_chunk;
}

/*
 * Return how many instances a shared pool should have if calls use @nr_taken of them. If no return
 * probe uses the pool any more, it needs only those.
 */
static unsigned int pool_target(const struct kretprobe_pool *pool, unsigned int nr_taken)
{
	unsigned int base;

	if (!pool->nr_probes)
		return nr_taken;
	base = min(BASE_KIB, return_pool_kib / BASE_SHARE) * SZ_1K / pool->size;
	base = max_t(unsigned int, base, FREE_MIN_PER_CPU * num_possible_cpus());
	return base + 2 * nr_taken;
}

static void pool_shrink_all(struct work_struct *work);

static DECLARE_DELAYED_WORK(shrink_work, pool_shrink_all);

static void pool_grow_all(struct work_struct *work);

static DECLARE_WORK(grow_work, pool_grow_all);

/*
 * The workqueue of @grow_work, created with the first shared pool. Its threads run on any CPU that
 * is not isolated. They have high priority, since many tasks may be ready to run, and may soon need
 * an instance.
 */
static struct workqueue_struct *pool_wq;

static void pool_shrink_later(void)
{
	queue_delayed_work(system_unbound_wq, &shrink_work, SHRINK_INTERVAL);
}

static void pool_grow(struct kretprobe_pool *pool, gfp_t gfp)
{
	unsigned int want = pool_target(pool, pool_nr_taken(pool));
	enum pool_growth growth;

	do {
		growth = POOL_MAY_GROW;
		while (pool_nr_total(pool) < want && growth == POOL_MAY_GROW) {
			growth = pool_grow_by_chunk(pool, gfp);
			cond_resched();
		}
		WRITE_ONCE(pool->growth, growth);
		/*
		 * Count again: a hit that took an instance after the last count, and found
		 * POOL_GROWTH_REQUESTED, has requested nothing. Pairs with test_and_clear_bit() in
		 * pool_take_from_chunk(): either such a hit finds the new value of pool->growth, or
		 * this count includes its instance.
		 */
		smp_mb();
		want = pool_target(pool, pool_nr_taken(pool));
	} while (pool_nr_total(pool) < want && growth == POOL_MAY_GROW);
	if (growth == POOL_NO_MEMORY)
		pool_shrink_later();
}

/*
 * Let hits request growth again for pools that were at the limit or out of memory. Leave
 * POOL_GROWTH_REQUESTED as it is: only pool_grow() may end that.
 */
static void pool_may_grow_again(void)
{
	unsigned int i;

	for (i = 0; i < NR_CLASSES; i++)
		if (shared[i] && READ_ONCE(shared[i]->growth) > POOL_GROWTH_REQUESTED)
			WRITE_ONCE(shared[i]->growth, POOL_MAY_GROW);
}

static void pool_flush_cache(void *data)
{
	struct kretprobe_pool *pool = data;
	struct kretprobe_instance *ri = kretprobe_cache_xchg(pool->cache, NULL);

	if (ri)
		kretprobe_pool_give(ri);
}

/*
 * Is a CPU isolated by isolcpus=, nohz_full=, or cpusets? The caller has preemption disabled, since
 * cpusets free their mask by RCU.
 */
static bool pool_is_isolated(int cpu)
{
	return cpu_is_isolated(cpu) || !housekeeping_test_cpu(cpu, HK_TYPE_WQ);
}

static bool pool_may_interrupt(int cpu, void *data)
{
	struct kretprobe_pool *pool = data;

	return !pool_is_isolated(cpu) && READ_ONCE(*per_cpu_ptr(pool->cache, cpu));
}

/*
 * Give back the instances in the caches of all CPUs, also of offline ones.
 *
 * As long as calls are tracked, no CPU may change the cache of another online CPU, so each CPU is
 * interrupted to empty its own cache. Isolated CPUs are not interrupted, and keep their instance.
 * @idle means that the pool has no return probes and that no call is tracked any more. Then hits
 * and returns do not change the caches any more, so this function empties all of them itself.
 * pool_nr_taken() detects that: it counts a call until the call's instance is in a cache, or is
 * free.
 */
static void pool_flush_caches(struct kretprobe_pool *pool)
{
	bool idle = !pool->nr_probes && !pool_nr_taken(pool);
	struct kretprobe_instance *ri;
	int cpu;

	guard(cpus_read_lock)();
	if (!idle)
		on_each_cpu_cond(pool_may_interrupt, pool_flush_cache, pool, 1);
	for_each_possible_cpu(cpu) {
		if (!idle && cpu_online(cpu))
			continue;
		guard(preempt)();
		ri = xchg(per_cpu_ptr(pool->cache, cpu), NULL);
		if (ri)
			kretprobe_pool_give(ri);
	}
}

/* When all calls have returned, will the pool be above its target by a chunk or more? */
static bool pool_may_shrink(const struct kretprobe_pool *pool)
{
	return pool_nr_total(pool) >= pool_target(pool, 0) + pool->per_chunk;
}

static bool pool_beyond_limit(void)
{
	return shared_kib > return_pool_kib;
}

/*
 * Free half of the chunks above the target; the other half may be needed again soon. If all shared
 * pools together exceed kprobes.return_pool_kib, free idle chunks until they do not. Return true if
 * the worker has to run again.
 */
static bool pool_shrink(struct kretprobe_pool *pool)
{
	unsigned int want = pool_target(pool, pool_nr_taken(pool)), spare = 0;
	struct kretprobe_chunk *c, *next;

	if (pool_nr_total(pool) >= want + pool->per_chunk)
		spare = DIV_ROUND_UP((pool_nr_total(pool) - want) / pool->per_chunk, 2);
	else if (!pool_beyond_limit())
		return pool_may_shrink(pool);
	/*
	 * The bit of a cached instance in its chunk is not set, so the chunk could not be freed:
	 * give cached instances back first.
	 */
	if (!pool->nr_probes || pool_beyond_limit())
		pool_flush_caches(pool);
	for (c = pool_next_chunk(pool, NULL); c && (spare || pool_beyond_limit()); c = next) {
		next = pool_next_chunk(pool, c);
		if (pool_del_chunk(c)) {
			shared_kib -= pool_chunk_kib(pool);
			pool_may_grow_again();
			spare -= !!spare;
		}
		cond_resched();
	}
	return pool_may_shrink(pool) || pool_beyond_limit();
}

static void pool_grow_all(struct work_struct *work)
{
	unsigned int i;

	guard(mutex)(&pool_mutex);
	/* __GFP_NORETRY: better miss a call than have the OOM killer end a task. */
	for (i = 0; i < NR_CLASSES; i++)
		if (shared[i])
			pool_grow(shared[i], GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	pool_shrink_later();
}

static void pool_grow_if_wanted(struct work_struct *work)
{
	struct pool_cpu *pc = container_of(work, struct pool_cpu, work);

	if (!READ_ONCE(pc->wanted))
		return;
	WRITE_ONCE(pc->wanted, false);
	pool_grow_all(work);
}

static void pool_shrink_all(struct work_struct *work)
{
	bool more = false;
	unsigned int i;

	guard(mutex)(&pool_mutex);
	for (i = 0; i < NR_CLASSES; i++) {
		if (!shared[i])
			continue;
		if (shared[i]->growth == POOL_NO_MEMORY)
			WRITE_ONCE(shared[i]->growth, POOL_MAY_GROW);
		more |= pool_shrink(shared[i]);
	}
	if (more)
		pool_shrink_later();
}

/*
 * Queue grow_work. If it is pending already, its thread may be waiting for a CPU that is busy with
 * something else, and no other thread would take it. This CPU has just taken an interrupt, so it is
 * not stuck: queue its own work item for a thread of this CPU, too, unless the CPU is isolated.
 */
static void __kprobes pool_run_worker(void)
{
	unsigned int cpu;

	guard(preempt)();
	cpu = smp_processor_id();
	if (queue_work(pool_wq, &grow_work) || pool_is_isolated(cpu))
		return;
	WRITE_ONCE(per_cpu(pool_cpu, cpu).wanted, true);
	queue_work_on(cpu, system_highpri_wq, &per_cpu(pool_cpu, cpu).work);
}

static struct kprobe_request growth_request = { .queue = pool_run_worker };

/*
 * Before the only idle thread of a worker pool runs a work item, it creates a
 * second thread. That may take long while many tasks are ready to run, so queue
 * a work item now, before a hit needs the worker. Several CPUs share a worker
 * pool of an unbound queue; a work item for each CPU reaches all worker pools.
 */
static void pool_wake_workers(void)
{
	int cpu;

	for_each_online_cpu(cpu)
		queue_work_on(cpu, pool_wq, &per_cpu(pool_cpu, cpu).work);
}

/*
 * Get a reference to the shared pool for instances with @data_size bytes of private data. Return:
 * the pool, for kretprobe_pool_unshare(); or NULL if out of memory.
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
	pool_wq = pool_wq ?: alloc_workqueue("kprobes", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!pool_wq)
		return NULL;
	if (!pool) {
		struct chunk_group *g;

		pool = pool_create(class_size[class], NR_GROUPS);
		g = pool ? pool_add_group(pool, 0, BITS_PER_LONG, GFP_KERNEL) : NULL;
		if (!g) {
			kfree(pool);
			return NULL;
		}
		for_each_possible_cpu(cpu)
			per_cpu(pool_cpu, cpu).hint[class] = &g->chunk[0];
		pool->grow = &growth_request;
		pool->hint = &pool_cpu.hint[class];
		pool->cache = &pool_cpu.cache[class];
		shared[class] = pool;
		pool_wake_workers();
	}
	pool->nr_probes++;
	pool_grow(pool, GFP_KERNEL);
	return pool;
}

void kretprobe_pool_unshare(struct kretprobe_pool *pool)
{
	guard(mutex)(&pool_mutex);
	pool->nr_probes--;
	pool_shrink_later();
}

static noinline void pool_replace_dead_in(const struct kretprobe_pool *pool,
					  struct kretprobe_chunk *c,
					  struct kretprobe_holder *by)
{
	unsigned int bit, nr = hweight_long(c->full);
	struct kretprobe_instance *ri;
	struct kretprobe_holder *holder;

	for (bit = 0; bit < nr; bit++) {
		ri = (void *)c->instances + bit * pool->size;
		holder = READ_ONCE(ri->rph);
		if (!holder || holder == by || rcu_access_pointer(holder->rp))
			continue;
		/*
		 * If a hit has just taken the instance for another return probe, cmpxchg() fails,
		 * and nothing has to be replaced any more.
		 */
		cmpxchg(&ri->rph, holder, by);
	}
}

/*
 * Replace the holders of unregistered return probes in all instances of the shared pools by @by.
 *
 * Free instances are included: they refer to the holder that they were last taken for. No lock is
 * held, so a chunk may be added or deleted during the walk: the instances of a new chunk refer to
 * no holder, and the instances of a deleted one are never used again.
 */
void kretprobe_pools_replace_dead(struct kretprobe_holder *by)
{
	struct kretprobe_pool *pool;
	struct kretprobe_chunk *c;
	struct chunk_group *g;
	unsigned int class, i, j;

	for (class = 0; class < NR_CLASSES; class++) {
		scoped_guard(mutex, &pool_mutex)
			pool = shared[class];
		for (i = 0; pool && (g = pool_group(pool, i)); i++) {
			for (j = 0; j < g->nr; j++) {
				guard(rcu)();
				/* Pairs with smp_store_release() in pool_add_chunk(). */
				c = READ_ONCE(g->chunk[j]);
				if (c)
					pool_replace_dead_in(pool, c, by);
			}
			cond_resched();
		}
	}
}

/* Print a line about each shared pool: the file kprobes/pools in debugfs. */
int kretprobe_pools_show(struct seq_file *m, void *v)
{
	unsigned int i;

	guard(mutex)(&pool_mutex);
	seq_puts(m, "data_size probes instances taken KiB\n");
	for (i = 0; i < NR_CLASSES; i++) {
		struct kretprobe_pool *pool = shared[i];

		if (pool)
			seq_printf(m, "%zu %u %u %u %u\n",
				   pool->size - sizeof(struct kretprobe_instance),
				   pool->nr_probes, pool_nr_total(pool), pool_nr_taken(pool),
				   pool->nr_chunks * pool_chunk_kib(pool));
	}
	return 0;
}

/*
 * If the command line does not set kprobes.return_pool_kib, set it to 1/64 of the memory, without
 * high memory.
 */
static int __init pool_shared_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(&per_cpu(pool_cpu, cpu).work, pool_grow_if_wanted);
	if (!return_pool_kib)
		return_pool_kib = (totalram_pages() - totalhigh_pages()) *
				  (PAGE_SIZE / SZ_1K) / 64;
	return 0;
}
early_initcall(pool_shared_init);

/* When the limit is lowered, pools shrink. When it is raised, pools that had reached it grow. */
static int pool_limit_set(const char *val, const struct kernel_param *param)
{
	int ret;

	guard(mutex)(&pool_mutex);
	ret = param_set_ulong(val, param);
	if (ret)
		return ret;
	pool_may_grow_again();
	if (pool_wq) {
		queue_work(pool_wq, &grow_work);
		pool_shrink_later();
	}
	return 0;
}

static const struct kernel_param_ops limit_ops = {
	.set = pool_limit_set,
	.get = param_get_ulong,
};

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."
module_param_cb(return_pool_kib, &limit_ops, &return_pool_kib, 0644);
MODULE_PARM_DESC(return_pool_kib, "most memory that the shared instances of return probes may take, in KiB");
