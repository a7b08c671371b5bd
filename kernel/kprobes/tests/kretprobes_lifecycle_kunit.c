// SPDX-License-Identifier: GPL-2.0
/*
 * Return probes that are registered, unregistered, enabled and disabled, also while calls are
 * in flight: each call returns to its caller, and no handler of an unregistered probe runs.
 */

#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "kp_regs.h"
#include "kretprobes_kunit.h"

static void kp_ret_lifecycle_switched(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	int i;

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_rp_expect(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, disable_kretprobe(&probe->rp), 0);
		KUNIT_EXPECT_EQ(test, disable_kretprobe(&probe->rp), 0);
		KUNIT_EXPECT_TRUE(test, kprobe_disabled(&probe->rp.kp));
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_rp_expect(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), 0);
		KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), 0);
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe->rp.kp));
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, 0);
}

static void kp_ret_lifecycle_disabled_at_first(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);

	probe->rp.kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);
	KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 1, 1);
}

static int kp_ret_steady_hits;

static int kp_ret_steady_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp_ret_steady_hits++;
	return 0;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_ret_steady_unregister, unregister_kprobe, struct kprobe *);

static void kp_ret_lifecycle_subsets(struct kunit *test)
{
	struct kprobe *kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);
	struct kp_rp *probe[3];
	int hits[3] = {}, on, i;

	KUNIT_ASSERT_NOT_NULL(test, kp);
	kp->addr = kp_entry(kp_ret_target);
	kp->pre_handler = kp_ret_steady_pre;
	kp_ret_steady_hits = 0;
	KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_ret_steady_unregister, kp), 0);
	for (i = 0; i < 3; i++) {
		probe[i] = kp_rp_new(test, kp_ret_target);
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[i]), 0);
	}
	for (on = 0; on < 8; on++) {
		for (i = 0; i < 3; i++)
			KUNIT_EXPECT_EQ(test, on & BIT(i) ? enable_kretprobe(&probe[i]->rp) :
					disable_kretprobe(&probe[i]->rp), 0);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		KUNIT_EXPECT_EQ(test, kp_ret_steady_hits, on + 1);
		for (i = 0; i < 3; i++) {
			hits[i] += !!(on & BIT(i));
			kp_rp_expect(test, probe[i], hits[i], hits[i]);
		}
	}
}

static void kp_ret_lifecycle_batch(struct kunit *test)
{
	void *const addrs[] = { kp_ret_target, kp_ret_other, kp_ret_target, kp_ret_calls };
	struct kretprobe *rps[ARRAY_SIZE(addrs)];
	struct kp_rp *probe[ARRAY_SIZE(addrs)];
	int again, i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		probe[i] = kp_rp_new(test, addrs[i]);
		rps[i] = &probe[i]->rp;
	}
	for (again = 1; again <= 3; again++) {
		KUNIT_ASSERT_EQ(test, register_kretprobes(rps, ARRAY_SIZE(rps)), 0);
		KUNIT_EXPECT_EQ(test, kp_ret_calls(1), 2);
		KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
		for (i = 0; i < ARRAY_SIZE(addrs); i++)
			kp_rp_expect(test, probe[i], again, again);
		unregister_kretprobes(rps, ARRAY_SIZE(rps));
		KUNIT_EXPECT_EQ(test, kp_ret_calls(1), 2);
		KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
		for (i = 0; i < ARRAY_SIZE(addrs); i++)
			kp_rp_expect(test, probe[i], again, again);
	}
}

/* The probes to change in the middle of a call */
static struct {
	struct kunit *test;
	struct kp_rp *probe[2];
	struct kretprobe *seen;
	int entries;
} kp_ret_middle;

static void kp_ret_middle_set(struct kunit *test, struct kp_rp *first, struct kp_rp *second)
{
	kp_ret_middle.test = test;
	kp_ret_middle.probe[0] = first;
	kp_ret_middle.probe[1] = second;
}

/* A handler that runs too late must not find valid data. */
static void kp_ret_unregister_and_poison(struct kunit *test, struct kp_rp *probe)
{
	kp_rp_unregister(test, probe);
	memset(probe, 0x5a, sizeof(*probe));
}

static void kp_ret_expect_poison(struct kunit *test, struct kp_rp *probe)
{
	KUNIT_EXPECT_NULL_MSG(test, memchr_inv(probe, 0x5a, sizeof(*probe)),
			      "an unregistered probe was written to");
}

static void kp_ret_unregisters(long data)
{
	struct kretprobe_instance *ri = kp_ret_middle.probe[0]->instance;

	kp_ret_middle.entries = atomic_read(&kp_ret_middle.probe[0]->entries);
	kp_ret_unregister_and_poison(kp_ret_middle.test, kp_ret_middle.probe[0]);
	/* The call is in flight, so its instance still exists. */
	kp_ret_middle.seen = get_kretprobe(ri);
}

static void kp_ret_lifecycle_unregistered_in_flight(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_calls_back);
	int i;

	for (i = 0; i < 20; i++) {
		memset(probe, 0, sizeof(*probe));
		probe->rp.kp.addr = kp_entry(kp_ret_calls_back);
		probe->rp.entry_handler = kp_ret_entry;
		probe->rp.handler = kp_ret_return;
		probe->rp.maxactive = i % 2;
		probe->rp.data_size = i * 16;
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
		kp_ret_middle_set(test, probe, NULL);
		kp_ret_middle.seen = &probe->rp;
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_unregisters, i), i + 1);
		KUNIT_EXPECT_EQ(test, kp_ret_middle.entries, 1);
		KUNIT_EXPECT_NULL(test, kp_ret_middle.seen);
		kp_ret_expect_poison(test, probe);
	}
}

/* Another probe, registered before or after it, stays on the function. */
static void kp_ret_lifecycle_other_stays(struct kunit *test)
{
	struct kp_rp *probe[2];
	int stays, i;

	for (i = 0; i < 10; i++) {
		stays = i % 2;
		probe[0] = kp_rp_new(test, kp_ret_calls_back);
		probe[1] = kp_rp_new(test, kp_ret_calls_back);
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[0]), 0);
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[1]), 0);
		kp_ret_middle_set(test, probe[!stays], NULL);
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_unregisters, i), i + 1);
		kp_ret_expect_poison(test, probe[!stays]);
		kp_rp_expect(test, probe[stays], 1, 1);
		KUNIT_EXPECT_EQ(test, probe[stays]->value, i + 1);
		kp_rp_unregister(test, probe[stays]);
	}
}

/* Registered in the middle of a call, which it does not follow. */
static void kp_ret_registers(long data)
{
	KUNIT_EXPECT_EQ(kp_ret_middle.test,
			kp_rp_register(kp_ret_middle.test, kp_ret_middle.probe[1]), 0);
}

static void kp_ret_unregisters_and_registers(long data)
{
	kp_rp_unregister(kp_ret_middle.test, kp_ret_middle.probe[0]);
	kp_ret_registers(data);
}

static void kp_ret_lifecycle_registered_in_flight(struct kunit *test)
{
	struct kp_rp *first = kp_rp_new(test, kp_ret_calls_back);
	struct kp_rp *second = kp_rp_new(test, kp_ret_calls_back);

	/* With no other return probe on the function */
	kp_ret_middle_set(test, NULL, second);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_registers, 1), 2);
	kp_rp_expect(test, second, 0, 0);
	kp_rp_unregister(test, second);

	/* With another return probe on the function */
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, first), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_registers, 1), 2);
	kp_rp_expect(test, first, 1, 1);
	kp_rp_expect(test, second, 0, 0);
	kp_rp_unregister(test, first);
	kp_rp_unregister(test, second);

	/* The same return probe, which was registered before */
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, second), 0);
	kp_ret_middle_set(test, second, second);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_unregisters_and_registers, 1), 2);
	kp_rp_expect(test, second, 1, 0);
	kp_rp_unregister(test, second);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
}

/* Disabled or enabled in the middle of a call: it still returns to its caller. */
static void kp_ret_disables(long data)
{
	KUNIT_EXPECT_EQ(kp_ret_middle.test, disable_kretprobe(&kp_ret_middle.probe[0]->rp), 0);
}

static void kp_ret_enables(long data)
{
	KUNIT_EXPECT_EQ(kp_ret_middle.test, enable_kretprobe(&kp_ret_middle.probe[0]->rp), 0);
}

static void kp_ret_lifecycle_switched_in_flight(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_calls_back);
	int i, returns = 0;

	probe->rp.maxactive = 1;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	kp_ret_middle_set(test, probe, NULL);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_disables, i), i + 1);
		/* Whether the handler is called for this return is not documented. */
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), i);
		KUNIT_EXPECT_LE(test, atomic_read(&probe->returns), i);
		returns = atomic_read(&probe->returns);
		/* Disabled at its entry, so not followed */
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_enables, i), i + 1);
		kp_rp_expect(test, probe, i, returns);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

static void kp_ret_recurses(long depth)
{
	if (depth == 30)
		kp_ret_unregister_and_poison(kp_ret_middle.test, kp_ret_middle.probe[0]);
	if (depth > 0)
		KUNIT_EXPECT_EQ(kp_ret_middle.test,
				kp_ret_calls_back(kp_ret_recurses, depth - 1), depth);
}

static void kp_ret_lifecycle_unregistered_in_depth(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_calls_back);
	struct kp_rp *stays = kp_rp_new(test, kp_ret_calls_back);

	probe->rp.maxactive = 64;
	stays->rp.maxactive = 64;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, stays), 0);
	kp_ret_middle_set(test, probe, NULL);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_recurses, 63), 64);
	kp_ret_expect_poison(test, probe);
	kp_rp_expect(test, stays, 64, 64);
	KUNIT_EXPECT_EQ(test, stays->value, 64);
}

static __nocfi void kp_ret_lifecycle_many(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kretprobe **rps = kunit_kcalloc(test, KP_RET_MANY, sizeof(*rps), GFP_KERNEL);
	struct kp_rp *probe;
	int i, again, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, rps);
	for (i = 0; i < KP_RET_MANY; i++)
		rps[i] = &kp_rp_new(test, kp_ret_many[i])->rp;
	KUNIT_ASSERT_EQ(test, register_kretprobes(rps, KP_RET_MANY), 0);
	for (i = 0; i < KP_RET_MANY; i++) {
		long (*fn)(long) = kp_ret_many[i];

		for (again = 0; again < 3; again++)
			wrong += fn(i) != i + 1;
	}
	unregister_kretprobes(rps, KP_RET_MANY);
	for (i = 0; i < KP_RET_MANY; i++) {
		long (*fn)(long) = kp_ret_many[i];

		wrong += fn(i) != i + 1;
		probe = container_of(rps[i], struct kp_rp, rp);
		wrong += atomic_read(&probe->entries) != 3;
		wrong += atomic_read(&probe->returns) != 3;
		wrong += probe->value != i + 1;
		wrong += probe->rp.nmissed != 0;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
#else
	kunit_skip(test, "there are no such functions");
#endif
}

#ifdef CONFIG_X86
/*
 * Probes in one batch. Another task must get the CPU once in so many ticks. A busy host makes a
 * guest miss ticks; a batch that never reschedules takes hundreds and lets no other task run.
 */
#define KP_RET_BATCH		16000
#define KP_RET_JIFFIES_A_SLICE	32

struct kp_ret_batch {
	struct kprobe **kps;
	struct completion done;
	unsigned long elapsed[2];
	unsigned long switches[2];
	int ret;
};

/* Register and unregister a large batch, and count how often another task got the CPU. */
static int kp_ret_batch_thread(void *data)
{
	struct kp_ret_batch *batch = data;
	unsigned long begin[3], switches[3];

	begin[0] = jiffies;
	switches[0] = current->nvcsw + current->nivcsw;
	batch->ret = register_kprobes(batch->kps, KP_RET_BATCH);
	begin[1] = jiffies;
	switches[1] = current->nvcsw + current->nivcsw;
	if (!batch->ret)
		unregister_kprobes(batch->kps, KP_RET_BATCH);
	begin[2] = jiffies;
	switches[2] = current->nvcsw + current->nivcsw;
	for (int i = 0; i < 2; i++) {
		batch->elapsed[i] = begin[i + 1] - begin[i];
		batch->switches[i] = switches[i + 1] - switches[i];
	}
	complete(&batch->done);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

static int kp_ret_rival_thread(void *unused)
{
	while (!kthread_should_stop())
		cond_resched();
	return 0;
}

static void kp_ret_stop_thread(void *task)
{
	kthread_stop(task);
}

static void kp_ret_run_on(struct kunit *test, int cpu, int (*fn)(void *data), void *data)
{
	struct task_struct *task = kthread_create(fn, data, "kp_ret_batch");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	wake_up_process(task);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_ret_stop_thread, task), 0);
}
#endif

/* A batch of thousands reschedules also if the kernel is not preemptible. */
static void kp_ret_lifecycle_batch_reschedules(struct kunit *test)
{
#ifdef CONFIG_X86
	struct kp_ret_batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);
	struct kprobe *probes;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, batch);
	batch->kps = kunit_kcalloc(test, KP_RET_BATCH, sizeof(*batch->kps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, batch->kps);
	probes = kunit_kcalloc(test, KP_RET_BATCH, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	for (i = 0; i < KP_RET_BATCH; i++) {
		probes[i].addr = kp_ret_many[i % KP_RET_MANY];
		probes[i].flags = KPROBE_FLAG_DISABLED;
		batch->kps[i] = &probes[i];
	}
	init_completion(&batch->done);
	kp_ret_run_on(test, 0, kp_ret_rival_thread, NULL);
	kp_ret_run_on(test, 0, kp_ret_batch_thread, batch);
	wait_for_completion(&batch->done);
	KUNIT_EXPECT_EQ(test, batch->ret, 0);
	for (i = 0; i < 2; i++) {
		kunit_info(test, "%lu ticks, %lu other slices\n", batch->elapsed[i],
			   batch->switches[i]);
		KUNIT_EXPECT_GE(test, batch->switches[i],
				batch->elapsed[i] / KP_RET_JIFFIES_A_SLICE);
	}
#else
	kunit_skip(test, "there are no such functions");
#endif
}

static unsigned int kp_ret_seen;

static int kp_ret_see(struct kprobe *p, struct pt_regs *regs)
{
	kp_ret_seen++;
	return 0;
}

NOKPROBE_SYMBOL(kp_ret_see);

static void kp_ret_see_no_more(void *p)
{
	unregister_kprobe(p);
}

/*
 * Security agents probe register_kprobe() to see single registrations, and register_kprobes()
 * to see batches.
 */
static void kp_ret_lifecycle_seen(struct kunit *test)
{
	static const char *const names[] = { "register_kprobe", "register_kprobes" };
	struct kp_rp *probe[2] = {
		kp_rp_new(test, kp_ret_target), kp_rp_new(test, kp_ret_other),
	};
	struct kretprobe *rps[2] = { &probe[0]->rp, &probe[1]->rp };
	static struct kprobe watch;
	int i, err;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		memset(&watch, 0, sizeof(watch));
		watch.symbol_name = names[i];
		watch.pre_handler = kp_ret_see;
		KUNIT_ASSERT_EQ(test, register_kprobe(&watch), 0);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_ret_see_no_more,
								&watch), 0);
		kp_ret_seen = 0;
		if (!i) {
			KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[0]), 0);
			kp_rp_unregister(test, probe[0]);
		} else {
			err = register_kretprobes(rps, ARRAY_SIZE(rps));
			if (!err)
				unregister_kretprobes(rps, ARRAY_SIZE(rps));
			KUNIT_EXPECT_EQ(test, err, 0);
		}
		KUNIT_EXPECT_EQ_MSG(test, kp_ret_seen, 1, "%s", names[i]);
		kunit_release_action(test, kp_ret_see_no_more, &watch);
	}
}

static struct kunit_case kp_ret_lifecycle_cases[] = {
	KUNIT_CASE(kp_ret_lifecycle_switched),
	KUNIT_CASE(kp_ret_lifecycle_disabled_at_first),
	KUNIT_CASE(kp_ret_lifecycle_subsets),
	KUNIT_CASE(kp_ret_lifecycle_batch),
	KUNIT_CASE(kp_ret_lifecycle_seen),
	KUNIT_CASE(kp_ret_lifecycle_unregistered_in_flight),
	KUNIT_CASE(kp_ret_lifecycle_other_stays),
	KUNIT_CASE(kp_ret_lifecycle_registered_in_flight),
	KUNIT_CASE(kp_ret_lifecycle_switched_in_flight),
	KUNIT_CASE(kp_ret_lifecycle_unregistered_in_depth),
	KUNIT_CASE_SLOW(kp_ret_lifecycle_many),
	KUNIT_CASE_SLOW(kp_ret_lifecycle_batch_reschedules),
	{}
};

struct kunit_suite kp_ret_lifecycle_suite = {
	.name = "kretprobes_lifecycle",
	.test_cases = kp_ret_lifecycle_cases,
};
