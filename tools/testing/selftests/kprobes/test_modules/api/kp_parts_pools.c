// SPDX-License-Identifier: GPL-2.0
/*
 * Cases for the shared pools of return probes: what
 * their workers do, and what hits do in the meantime
 */

#include "kp_parts.h"
#include "../internal.h"

/* State of the current case. @resched: what the case does when a worker reschedules */
static struct {
	void (*resched)(struct kretprobe_pool *pool);
	struct kretprobe_pool *pool;
	unsigned int nr_chunks;
	/* the most chunks that were freed between two calls of @resched */
	unsigned int most;
	struct llist_head taken;
	unsigned int nr_taken;
	/* make alloc_workqueue() fail */
	bool fail_queue;
	/* how often a hit has requested growth */
	unsigned int requests;
} kp;

static void kp_pools_resched(void)
{
	if (kp.resched)
		kp.resched(kp.pool);
}

static struct workqueue_struct *kp_pools_queue(const char *name, unsigned int flags, int max)
{
	return alloc_workqueue("%s", flags, max, name);
}

#undef cond_resched
#define cond_resched()	kp_pools_resched()
/* Requests of this module's hits are not served: its cases call pool_grow() themselves. */
#define kprobe_request(request)	((void)(request), kp.requests++)

#undef alloc_workqueue
#define alloc_workqueue(name, flags, max) \
	(kp.fail_queue ? NULL : kp_pools_queue(name, flags, max))

#include "../pool.c"
#include "../pool_shared.c"

/* pool_shared.c, as part of this module, makes its initcall the init function of the module. */
static void __exit kp_pools_exit(void)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu)
		cancel_work_sync(&per_cpu_ptr(&pool_cpu, cpu)->work);
	if (pool_wq)
		destroy_workqueue(pool_wq);
	cancel_delayed_work_sync(&shrink_work);
	for (i = 0; i < NR_CLASSES; i++) {
		if (!shared[i])
			continue;
		/* The cache is a part of pool_cpu, and must not be freed. */
		shared[i]->cache = NULL;
		kretprobe_pool_free(shared[i]);
	}
}

module_exit(kp_pools_exit);

/* There must be no shared pool if the workqueue for its workers cannot be created. */
static void kp_pools_no_queue(struct kunit *test)
{
	KUNIT_ASSERT_NULL(test, pool_wq);
	kp.fail_queue = true;
	KUNIT_EXPECT_NULL(test, kretprobe_pool_share(0));
	kp.fail_queue = false;
	KUNIT_EXPECT_NULL(test, shared[0]);
}

static struct kretprobe_pool *kp_pools_begin(struct kunit *test)
{
	kp.pool = kretprobe_pool_share(0);
	KUNIT_ASSERT_NOT_NULL(test, kp.pool);
	return kp.pool;
}

/* Begin to call @resched. The caller holds pool_mutex, so that no worker of the module calls it. */
static void kp_pools_watch(void (*resched)(struct kretprobe_pool *pool))
{
	kp.nr_chunks = kp.pool->nr_chunks;
	kp.resched = resched;
}

static void kp_pools_note_freed(struct kretprobe_pool *pool)
{
	kp.most = max(kp.most, kp.nr_chunks - pool->nr_chunks);
	kp.nr_chunks = pool->nr_chunks;
}

/* The worker must reschedule after each chunk that it frees. */
static void kp_pools_shrink_reschedules(struct kunit *test)
{
	unsigned long limit = return_pool_kib;
	struct kretprobe_pool *pool = kp_pools_begin(test);

	kp.most = 0;
	scoped_guard(mutex, &pool_mutex) {
		KUNIT_EXPECT_GE(test, pool->nr_chunks, 16);
		return_pool_kib = 0;
		kp_pools_watch(kp_pools_note_freed);
		pool_shrink(pool);
		kp_pools_note_freed(pool);
		kp.resched = NULL;
		return_pool_kib = limit;
		KUNIT_EXPECT_EQ(test, pool->nr_chunks, 0);
		KUNIT_EXPECT_EQ(test, kp.most, 1);
	}
	kretprobe_pool_unshare(pool);
}

static void kp_pools_take_rest(struct kretprobe_pool *pool)
{
	struct kretprobe_instance *ri;

	guard(preempt)();
	while ((ri = kretprobe_pool_take(pool))) {
		llist_add(&ri->llist, &kp.taken);
		kp.nr_taken++;
	}
}

static void kp_pools_give_all(void)
{
	struct kretprobe_instance *ri, *next;

	llist_for_each_entry_safe(ri, next, llist_del_all(&kp.taken), llist) {
		guard(preempt)();
		kretprobe_pool_give(ri);
	}
}

/* If the worker does not run, a hit must request it again, but only after some time. */
static void kp_pools_ask_again(struct kunit *test)
{
	struct kretprobe_pool *pool = kp_pools_begin(test);

	init_llist_head(&kp.taken);
	scoped_guard(mutex, &pool_mutex) {
		kp_pools_take_rest(pool);
		KUNIT_EXPECT_EQ(test, pool->growth, POOL_GROWTH_REQUESTED);
		kp.requests = 0;
		pool->asked = jiffies + 100 * HZ;
		pool_request_growth(pool);
		KUNIT_EXPECT_EQ(test, kp.requests, 0);
		pool->asked = jiffies - ASK_AGAIN;
		pool_request_growth(pool);
		KUNIT_EXPECT_EQ(test, kp.requests, 1);
		kp_pools_give_all();
		pool_grow(pool, GFP_KERNEL);
	}
	kretprobe_pool_unshare(pool);
}

/*
 * Request the worker three times. The case holds pool_mutex, so grow_work cannot finish. It is
 * still queued at the third request at the latest: that request must queue the work item of this
 * CPU instead.
 */
static void kp_pools_worker_waits(struct kunit *test)
{
	struct kretprobe_pool *pool = kp_pools_begin(test);
	unsigned int i, busy = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		flush_work(&per_cpu(pool_cpu, cpu).work);
	scoped_guard(mutex, &pool_mutex) {
		for (i = 0; i < 3; i++)
			pool_run_worker();
		for_each_possible_cpu(cpu)
			busy += !!work_busy(&per_cpu(pool_cpu, cpu).work);
	}
	KUNIT_EXPECT_GE(test, busy, 1);
	kretprobe_pool_unshare(pool);
}

/*
 * Called when the worker reschedules. Once it has added the first chunk, take all instances, as
 * hits might. The worker has already counted how many instances are needed, and these hits see that
 * growth was requested and do not request it again.
 */
static void kp_pools_take_all(struct kretprobe_pool *pool)
{
	if (pool->nr_chunks == kp.nr_chunks)
		return;
	kp.resched = NULL;
	kp_pools_take_rest(pool);
}

/*
 * Hits need more instances while the worker is making
 * chunks: the worker must also make chunks for these.
 */
static void kp_pools_grow_again(struct kunit *test)
{
	struct kretprobe_pool *pool = kp_pools_begin(test);
	struct kretprobe_instance *ri;

	kp.nr_taken = 0;
	init_llist_head(&kp.taken);
	scoped_guard(mutex, &pool_mutex) {
		/* Grow, then take instances until the pool must grow by one chunk. */
		pool_grow(pool, GFP_KERNEL);
		for (;;) {
			guard(preempt)();
			if (pool_nr_total(pool) < pool_target(pool, pool_nr_taken(pool)))
				break;
			ri = kretprobe_pool_take(pool);
			if (!ri)
				break;
			llist_add(&ri->llist, &kp.taken);
		}
		WRITE_ONCE(pool->growth, POOL_GROWTH_REQUESTED);
		kp_pools_watch(kp_pools_take_all);
		pool_grow(pool, GFP_KERNEL);
		kp.resched = NULL;
		KUNIT_EXPECT_GT(test, kp.nr_taken, 0);
		KUNIT_EXPECT_EQ(test, pool->growth, POOL_MAY_GROW);
		KUNIT_EXPECT_GE(test, pool_nr_total(pool), pool_target(pool, pool_nr_taken(pool)));
		kp_pools_give_all();
		KUNIT_EXPECT_EQ(test, pool_nr_taken(pool), 0);
	}
	kretprobe_pool_unshare(pool);
}

static struct kunit_case kp_pools_cases[] = {
	/* Must be the first case: no shared pool may exist yet. */
	KUNIT_CASE(kp_pools_no_queue),
	KUNIT_CASE(kp_pools_shrink_reschedules),
	KUNIT_CASE(kp_pools_grow_again),
	KUNIT_CASE(kp_pools_ask_again),
	KUNIT_CASE(kp_pools_worker_waits),
	{}
};

KP_SUITE(kp_pools, "kprobes_pools");
