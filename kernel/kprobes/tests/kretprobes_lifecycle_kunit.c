// SPDX-License-Identifier: GPL-2.0
/* Return probes change while calls are in flight: the calls must still return to their callers. */

#include "kretprobes_kunit.h"
#include "kp_cases_life.h"

/* Input and results of the functions that kp_ret_calls_back() calls */
static struct {
	struct kunit *test;
	struct kp_probe *probe, *next;
	struct kretprobe *seen;
	int entries;
} kp_ret_middle;

static void kp_ret_middle_set(struct kunit *test, struct kp_probe *probe, struct kp_probe *next)
{
	kp_ret_middle.test = test;
	kp_ret_middle.probe = probe;
	kp_ret_middle.next = next;
}

/* Unregister and poison a return probe: a handler that runs too late changes a poisoned byte. */
static void kp_ret_unregister_and_poison(struct kunit *test, struct kp_probe *probe)
{
	kp_unregister(test, probe);
	memset(probe, 0x5a, sizeof(*probe));
}

static void kp_ret_expect_poison(struct kunit *test, struct kp_probe *probe)
{
	KUNIT_EXPECT_NULL_MSG(test, memchr_inv(probe, 0x5a, sizeof(*probe)),
			      "an unregistered probe was written to");
}

static void kp_ret_unregisters(long data)
{
	struct kp_probe *probe = kp_ret_middle.probe;
	struct kretprobe_instance *ri = probe->instance;

	kp_ret_middle.entries = atomic_read(&probe->entries);
	kp_ret_unregister_and_poison(kp_ret_middle.test, probe);
	/* The call has not returned, so its instance still exists. */
	kp_ret_middle.seen = get_kretprobe(ri);
}

static void kp_ret_lifecycle_unregistered_in_flight(struct kunit *test)
{
	struct kp_probe *probe;
	int i;

	for (i = 0; i < 20; i++) {
		probe = kp_new(test, kp_ret_calls_back);
		probe->rp.maxactive = i % 2;
		probe->rp.data_size = i * 16;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		kp_ret_middle_set(test, probe, NULL);
		kp_ret_middle.seen = &probe->rp;
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_unregisters, i), i + 1);
		KUNIT_EXPECT_EQ(test, kp_ret_middle.entries, 1);
		KUNIT_EXPECT_NULL(test, kp_ret_middle.seen);
		kp_ret_expect_poison(test, probe);
	}
}

/* Unregister one of two return probes during a call. The other one must handle the return. */
static void kp_ret_lifecycle_other_stays(struct kunit *test)
{
	struct kp_probe *probe[2], *stays, *leaves;
	int i;

	for (i = 0; i < 10; i++) {
		probe[0] = kp_registered(test, kp_ret_calls_back);
		probe[1] = kp_registered(test, kp_ret_calls_back);
		stays = probe[i % 2];
		leaves = probe[!(i % 2)];
		kp_ret_middle_set(test, leaves, NULL);
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_unregisters, i), i + 1);
		kp_ret_expect_poison(test, leaves);
		kp_expect_hits(test, stays, 1);
		KUNIT_EXPECT_EQ(test, stays->value, i + 1);
		kp_unregister(test, stays);
	}
}

/* Register a return probe in the middle of a call, which it must not track. */
static void kp_ret_registers(long data)
{
	KUNIT_EXPECT_EQ(kp_ret_middle.test, kp_register(kp_ret_middle.test, kp_ret_middle.next), 0);
}

static void kp_ret_unregisters_and_registers(long data)
{
	kp_unregister(kp_ret_middle.test, kp_ret_middle.probe);
	kp_ret_registers(data);
}

static void kp_ret_lifecycle_registered_in_flight(struct kunit *test)
{
	struct kp_probe *first = kp_new(test, kp_ret_calls_back);
	struct kp_probe *second = kp_new(test, kp_ret_calls_back);

	kp_ret_middle_set(test, NULL, second);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_registers, 1), 2);
	kp_expect_hits(test, second, 0);
	kp_unregister(test, second);

	KUNIT_ASSERT_EQ(test, kp_register(test, first), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_registers, 1), 2);
	kp_expect_hits(test, first, 1);
	kp_expect_hits(test, second, 0);
	kp_unregister(test, first);

	/* Unregister and re-register a return probe in a call: the return must call no handler. */
	kp_ret_middle_set(test, second, second);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_unregisters_and_registers, 1), 2);
	kp_expect_counts(test, second, 1, 0);
}

/* Disable or enable the return probe during a call. The call must still return to its caller. */
static void kp_ret_disables(long data)
{
	KUNIT_EXPECT_EQ(kp_ret_middle.test, kp_disable(kp_ret_middle.probe), 0);
}

static void kp_ret_enables(long data)
{
	KUNIT_EXPECT_EQ(kp_ret_middle.test, kp_enable(kp_ret_middle.test, kp_ret_middle.probe), 0);
}

static void kp_ret_lifecycle_switched_in_flight(struct kunit *test)
{
	struct kp_probe *probe = kp_ret_limited(test, kp_ret_calls_back, 1);
	int i, returns = 0;

	kp_ret_middle_set(test, probe, NULL);
	for (i = 1; i <= 10; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_disables, i), i + 1);
		/* The return may call the handler or not: implementations of kprobes differ. */
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->entries), i);
		KUNIT_EXPECT_LE(test, atomic_read(&probe->returns), i);
		returns = atomic_read(&probe->returns);
		/* The probe is disabled at the entry, so the call is not tracked. */
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_enables, i), i + 1);
		kp_expect_counts(test, probe, i, returns);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

static void kp_ret_recurses(long depth)
{
	if (depth == 30)
		kp_ret_unregister_and_poison(kp_ret_middle.test, kp_ret_middle.probe);
	if (depth > 0)
		KUNIT_EXPECT_EQ(kp_ret_middle.test,
				kp_ret_calls_back(kp_ret_recurses, depth - 1), depth);
}

static void kp_ret_lifecycle_unregistered_in_depth(struct kunit *test)
{
	struct kp_probe *probe = kp_ret_limited(test, kp_ret_calls_back, 64);
	struct kp_probe *stays = kp_ret_limited(test, kp_ret_calls_back, 64);

	kp_ret_middle_set(test, probe, NULL);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_recurses, 63), 64);
	kp_ret_expect_poison(test, probe);
	kp_expect_hits(test, stays, 64);
	KUNIT_EXPECT_EQ(test, stays->value, 64);
}

#ifdef CONFIG_X86
/*
 * While a large batch is registered, another task on the same CPU must get to run at least once
 * every 32 ticks. (The limit allows for ticks that a guest loses. A batch that never reschedules
 * would keep the CPU for hundreds of ticks.)
 */
#define KP_RET_BATCH		16000
#define KP_RET_JIFFIES_A_SLICE	32

struct kp_ret_batch {
	struct kprobe **kps;
	struct completion done;
	unsigned long elapsed[2], switches[2];
	int ret;
};

static unsigned long kp_ret_switches(void)
{
	return current->nvcsw + current->nivcsw;
}

static int kp_ret_batch_thread(void *data)
{
	struct kp_ret_batch *batch = data;
	int i;

	for (i = 0; i < 2; i++) {
		unsigned long begin = jiffies, switches = kp_ret_switches();

		if (!i)
			batch->ret = register_kprobes(batch->kps, KP_RET_BATCH);
		else if (!batch->ret)
			unregister_kprobes(batch->kps, KP_RET_BATCH);
		batch->elapsed[i] = jiffies - begin;
		batch->switches[i] = kp_ret_switches() - switches;
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
	kp_at_end(test, kp_ret_stop_thread, task);
}

/* Registration of a large batch must reschedule even in a kernel without preemption. */
static void kp_ret_lifecycle_batch_reschedules(struct kunit *test)
{
	struct kp_ret_batch *batch = kp_zalloc(test, sizeof(*batch));
	struct kprobe *probes = kp_zalloc(test, KP_RET_BATCH * sizeof(*probes));
	int i;

	batch->kps = kp_zalloc(test, KP_RET_BATCH * sizeof(*batch->kps));
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
}
#endif /* CONFIG_X86 */

/* Registration does not change maxactive: the structure can be registered again. */
static void kp_ret_lifecycle_maxactive_stays(struct kunit *test)
{
	static const int values[] = { 0, -1, 4 };
	struct kp_probe *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		probe = kp_ret_limited(test, kp_ret_target, values[i]);
		KUNIT_EXPECT_EQ(test, probe->rp.maxactive, values[i]);
		kp_expect_call(test, probe, kp_ret_target, 1);
		kp_unregister(test, probe);
		KUNIT_EXPECT_EQ(test, probe->rp.maxactive, values[i]);
	}
}

/*
 * Security agents probe register_kprobe() and register_kprobes() to see registrations. So the
 * functions that register return probes must call these.
 */
static void kp_ret_lifecycle_seen(struct kunit *test)
{
	struct kretprobe *rps[] = {
		&kp_new(test, kp_ret_target)->rp, &kp_new(test, kp_ret_other)->rp,
	};
	struct kprobe *watch;

	watch = kp_ret_kprobe(test, &(struct kprobe) {
		.symbol_name = "register_kprobe", .pre_handler = kp_ret_kprobe_pre,
	});
	KUNIT_ASSERT_EQ(test, register_kretprobe(rps[0]), 0);
	unregister_kretprobe(rps[0]);
	KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, 1);
	kp_kprobe_del(test, watch);

	kp_ret_kprobe(test, &(struct kprobe) {
		.symbol_name = "register_kprobes", .pre_handler = kp_ret_kprobe_pre,
	});
	KUNIT_ASSERT_EQ(test, register_kretprobes(rps, ARRAY_SIZE(rps)), 0);
	unregister_kretprobes(rps, ARRAY_SIZE(rps));
	KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, 1);
}

static struct kunit_case kp_ret_lifecycle_cases[] = {
	KP_CASES_LIFE,
	KUNIT_CASE(kp_ret_lifecycle_seen),
	KUNIT_CASE(kp_ret_lifecycle_maxactive_stays),
	KUNIT_CASE(kp_ret_lifecycle_unregistered_in_flight),
	KUNIT_CASE(kp_ret_lifecycle_other_stays),
	KUNIT_CASE(kp_ret_lifecycle_registered_in_flight),
	KUNIT_CASE(kp_ret_lifecycle_switched_in_flight),
	KUNIT_CASE(kp_ret_lifecycle_unregistered_in_depth),
#ifdef CONFIG_X86
	KUNIT_CASE_SLOW(kp_ret_lifecycle_batch_reschedules),
#endif
	{}
};

KP_SUITE(kp_ret_lifecycle, "kretprobes_lifecycle");
