// SPDX-License-Identifier: GPL-2.0
/*
 * Two thousand tasks sleep in a return-probed function. Once the pool has grown, no return is
 * lost. With maxactive, exactly the calls beyond it are missed. All calls return after the
 * probe was unregistered.
 */

#include <linux/module.h>
#include "kp_ret_tasks.h"

static unsigned int sleepers = 2000;
module_param(sleepers, uint, 0400);
MODULE_PARM_DESC(sleepers, "how many tasks sleep at once");

/* Rounds in which a pool may be too small, before it has grown */
#define KP_GROW_ROUNDS	10
#define KP_ROUNDS	3

static void kp_ret_sleep_round(struct kunit *test, struct kp_crowd_probe *probe,
			       unsigned int followed, unsigned int missed)
{
	unsigned int entries = atomic_read(&probe->entries);
	unsigned int returns = atomic_read(&probe->returns);
	unsigned int nmissed = probe->rp.nmissed;

	kp_crowd_to_sleep(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), entries + followed);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), returns);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, nmissed + missed);
	kp_crowd_wake(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), entries + followed);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), returns + followed);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, nmissed + missed);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->wrong), 0);
	KUNIT_EXPECT_EQ(test, kp_crowd_wrong(), 0);
}

static void kp_ret_sleep_default(struct kunit *test)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_new(test, kp_crowd_sleep);
	int round, lost;

	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		kunit_skip(test, "instances of rethook do not become more");
	kp_crowd_start(test, sleepers);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
	for (round = 1; round <= KP_GROW_ROUNDS; round++) {
		lost = probe->rp.nmissed;
		kp_crowd_to_sleep(test);
		kp_crowd_wake(test);
		lost = probe->rp.nmissed - lost;
		kunit_info(test, "round %d: %d of %u returns lost while the pool grew\n", round,
			   lost, sleepers);
		if (!lost)
			break;
	}
	KUNIT_EXPECT_EQ_MSG(test, lost, 0, "the pool does not grow to what is needed");
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns) + probe->rp.nmissed,
			min(round, KP_GROW_ROUNDS) * sleepers);
	for (round = 0; round < KP_ROUNDS; round++)
		kp_ret_sleep_round(test, probe, sleepers, 0);
}

/* With maxactive, as many calls have an instance, however many the pool has. */
static void kp_ret_sleep_limited(struct kunit *test)
{
	static const unsigned int limits[] = { 16, 1, 1000 };
	struct kp_crowd_probe *probe;
	unsigned int limit;
	int round, i;

	kp_crowd_start(test, sleepers);
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		limit = min(limits[i], sleepers);
		probe = kp_crowd_probe_new(test, kp_crowd_sleep);
		probe->rp.maxactive = limits[i];
		KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
		for (round = 0; round < KP_ROUNDS; round++)
			kp_ret_sleep_round(test, probe, limit, sleepers - limit);
		kunit_info(test, "maxactive %u: %d of %u missed in each round\n", limits[i],
			   probe->rp.nmissed / KP_ROUNDS, sleepers);
		kp_crowd_unregister(test, probe);
	}
}

/* Reserved instances are available from the first call on. */
static void kp_ret_sleep_reserved(struct kunit *test)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_new(test, kp_crowd_sleep);

	/* A data size that no other case uses, so that its pool has not grown */
	probe->rp.data_size = 1200;
	probe->rp.maxactive = sleepers;
	kp_crowd_start(test, sleepers);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
	kp_ret_sleep_round(test, probe, sleepers, 0);
}

/* The limit of one probe is no limit to another probe of the function. */
static void kp_ret_sleep_two(struct kunit *test)
{
	struct kp_crowd_probe *few = kp_crowd_probe_new(test, kp_crowd_sleep);
	struct kp_crowd_probe *all = kp_crowd_probe_new(test, kp_crowd_sleep);

	few->rp.maxactive = 16;
	all->rp.maxactive = sleepers;
	kp_crowd_start(test, sleepers);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, few), 0);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, all), 0);
	kp_ret_sleep_round(test, few, 16, sleepers - 16);
	kp_ret_sleep_round(test, all, sleepers, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&few->returns), 32);
	KUNIT_EXPECT_EQ(test, few->rp.nmissed, 2 * (sleepers - 16));
	KUNIT_EXPECT_EQ(test, atomic_read(&all->returns), 2 * sleepers);
}

/* A signal ends the sleep, and the call returns another value. */
static void kp_ret_sleep_signalled(struct kunit *test)
{
	struct kp_crowd_probe *probe = kp_crowd_probe_new(test, kp_crowd_sleep);
	unsigned int nr = min(sleepers, 200);
	int round;

	probe->rp.maxactive = nr;
	kp_crowd_start(test, nr);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
	for (round = 1; round <= KP_ROUNDS; round++) {
		kp_crowd_to_sleep(test);
		kp_crowd_signal(test);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), round * nr);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->interrupted), round * nr);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->wrong), 0);
	KUNIT_EXPECT_EQ(test, kp_crowd_wrong(), 0);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	kp_ret_sleep_round(test, probe, nr, 0);
}

/* Unregister while all are asleep: no handler sees their returns. */
static void kp_ret_sleep_unregistered(struct kunit *test)
{
	struct kp_crowd_probe *probe;
	int round, entries;

	kp_crowd_start(test, sleepers);
	for (round = 0; round < KP_ROUNDS; round++) {
		probe = kp_crowd_probe_new(test, kp_crowd_sleep);
		probe->rp.maxactive = round == 1 ? sleepers : 0;
		KUNIT_ASSERT_EQ(test, kp_crowd_register(test, probe), 0);
		kp_crowd_to_sleep(test);
		entries = atomic_read(&probe->entries);
		KUNIT_EXPECT_GT(test, entries, 0);
		/* Unregistration waits for running handlers, but not for calls to return. */
		kp_crowd_unregister(test, probe);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
		memset(&probe->rp, 0x5a, sizeof(probe->rp));
		kp_crowd_wake(test);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), entries);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 0);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->wrong), 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(&probe->rp, 0x5a, sizeof(probe->rp)));
		KUNIT_EXPECT_EQ(test, kp_crowd_wrong(), 0);
	}
}

/* Another probe is registered before the tasks wake: it sees none of their returns. */
static void kp_ret_sleep_successor(struct kunit *test)
{
	struct kp_crowd_probe *first = kp_crowd_probe_new(test, kp_crowd_sleep);
	struct kp_crowd_probe *second = kp_crowd_probe_new(test, kp_crowd_sleep);
	unsigned int nr = min(sleepers, 200);

	first->rp.maxactive = nr;
	second->rp.maxactive = nr;
	kp_crowd_start(test, nr);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, first), 0);
	kp_crowd_to_sleep(test);
	kp_crowd_unregister(test, first);
	KUNIT_ASSERT_EQ(test, kp_crowd_register(test, second), 0);
	kp_crowd_wake(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&first->entries), nr);
	KUNIT_EXPECT_EQ(test, atomic_read(&first->returns), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->entries), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&second->returns), 0);
	KUNIT_EXPECT_EQ(test, kp_crowd_wrong(), 0);
	/* The second probe has all instances that the first one had reserved. */
	kp_ret_sleep_round(test, second, nr, 0);
}

static struct kunit_case kp_ret_sleep_cases[] = {
	KUNIT_CASE_SLOW(kp_ret_sleep_default),
	KUNIT_CASE_SLOW(kp_ret_sleep_limited),
	KUNIT_CASE_SLOW(kp_ret_sleep_reserved),
	KUNIT_CASE_SLOW(kp_ret_sleep_two),
	KUNIT_CASE_SLOW(kp_ret_sleep_signalled),
	KUNIT_CASE_SLOW(kp_ret_sleep_unregistered),
	KUNIT_CASE_SLOW(kp_ret_sleep_successor),
	{}
};

struct kunit_suite kp_ret_sleep_suite = {
	.name = "kretprobes_sleep",
	.test_cases = kp_ret_sleep_cases,
};
