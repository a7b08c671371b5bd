// SPDX-License-Identifier: GPL-2.0
/* Cases for deferred frees: they must be done in order, and only a part of them at a time */

#include "kp_parts.h"
#include "../internal.h"

#define KP_DEFERRED	1000

struct kp_deferred {
	struct kprobe_deferred deferred;
	unsigned int order;
};

static DEFINE_MUTEX(kp_deferred_mutex);

static struct {
	struct completion done;
	/*
	 * nr: objects freed; run: freed since the worker has last rescheduled; most: the highest
	 * run
	 */
	unsigned int nr, run, most;
	unsigned int out_of_order, locked;
} kp;

static void kp_deferred_resched(void)
{
	kp.most = max(kp.most, kp.run);
	kp.run = 0;
	kp.locked += mutex_is_locked(&kp_deferred_mutex);
}

#define kprobe_mutex	kp_deferred_mutex
#undef cond_resched
#define cond_resched()	kp_deferred_resched()

#include "../deferred.c"

static void kp_deferred_free(struct kprobe_deferred *deferred)
{
	struct kp_deferred *d = container_of(deferred, struct kp_deferred, deferred);

	kp.out_of_order += d->order != kp.nr;
	kp.run++;
	if (++kp.nr == KP_DEFERRED)
		complete(&kp.done);
}

/* While much memory is freed, the worker must reschedule, and release the mutex, in between. */
static void kp_deferred_reschedules(struct kunit *test)
{
	struct kp_deferred *d = kp_zalloc(test, KP_DEFERRED * sizeof(*d));
	unsigned int i;

	memset(&kp, 0, sizeof(kp));
	init_completion(&kp.done);
	scoped_guard(mutex, &kp_deferred_mutex) {
		for (i = 0; i < KP_DEFERRED; i++) {
			d[i].order = i;
			kprobe_defer_free(&d[i].deferred, kp_deferred_free);
		}
	}
	wait_for_completion(&kp.done);
	flush_rcu_work(&free_work);
#ifdef CONFIG_TASKS_RCU
	rcu_barrier_tasks();
#endif
	rcu_barrier();
	kp_deferred_resched();
	KUNIT_EXPECT_EQ(test, kp.nr, KP_DEFERRED);
	KUNIT_EXPECT_EQ(test, kp.out_of_order, 0);
	/*
	 * The first object waits for grace periods alone, and the others wait for the next ones. So
	 * the worker frees at most that object and one batch before its first cond_resched().
	 */
	KUNIT_EXPECT_LE(test, kp.most, FREE_BATCH + 1);
	KUNIT_EXPECT_EQ(test, kp.locked, 0);
}

static struct kunit_case kp_deferred_cases[] = {
	KUNIT_CASE_SLOW(kp_deferred_reschedules),
	{}
};

KP_SUITE(kp_deferred, "kprobes_deferred");
