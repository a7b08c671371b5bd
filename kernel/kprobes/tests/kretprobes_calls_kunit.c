// SPDX-License-Identifier: GPL-2.0
/* Handlers of single calls and of nested calls */

#include <linux/cpu.h>
#include <linux/random.h>
#include <linux/smp.h>
#include <linux/string.h>
#include "kp_module.h"
#include "kp_regs.h"
#include "kretprobes_kunit.h"

#define KP_RET_DEPTH	64

static void kp_ret_calls_simple(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	int i;

	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 100; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_target(i * 3), i * 3 + 1);
		kp_rp_expect(test, probe, i, i);
		KUNIT_EXPECT_EQ(test, probe->arg, i * 3);
		KUNIT_EXPECT_EQ(test, probe->value, i * 3 + 1);
	}
	KUNIT_EXPECT_PTR_EQ(test, probe->entry_rp, &probe->rp);
	KUNIT_EXPECT_PTR_EQ(test, probe->return_rp, &probe->rp);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, kp_ret_other(1), 2);
	kp_rp_expect(test, probe, 100, 100);

	kp_rp_unregister(test, probe);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 100, 100);
}

static void kp_ret_calls_by_symbol(struct kunit *test)
{
	static const char *const names[] = { "kp_ret_target", KP_QUALIFIED("kp_ret_target") };
	struct kp_rp *probe;
	int i, again;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe = kp_rp_new(test, NULL);
		probe->rp.kp.symbol_name = names[i];
		/* The struct can be used again as unregistration leaves it. */
		for (again = 1; again <= 3; again++) {
			KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
			KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
			kp_rp_expect(test, probe, again, again);
			kp_rp_unregister(test, probe);
			KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
			kp_rp_expect(test, probe, again, again);
		}
	}
}

static void kp_ret_calls_kernel_function(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, NULL);
	long (*target)(long) = kp_ret_target;

	probe->rp.kp.symbol_name = "int_sqrt";
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, int_sqrt(144), 12);
	KUNIT_EXPECT_EQ(test, probe->arg, 144);
	KUNIT_EXPECT_EQ(test, probe->value, 12);
	kp_rp_unregister(test, probe);

	OPTIMIZER_HIDE_VAR(target);
	probe = kp_rp_new(test, kp_ret_target);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, target(1), 2);
	kp_rp_expect(test, probe, 1, 1);
}

static int kp_ret_refuse_all(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_entry(ri, regs);
	return 1;
}

/* Either handler may be NULL, or both. */
static void kp_ret_calls_handlers_missing(struct kunit *test)
{
	struct kp_rp *probe;
	int have;

	for (have = 0; have < 4; have++) {
		probe = kp_rp_new(test, kp_ret_target);
		if (!(have & 1))
			probe->rp.entry_handler = NULL;
		if (!(have & 2))
			probe->rp.handler = NULL;
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_rp_expect(test, probe, have & 1, have >> 1);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		kp_rp_unregister(test, probe);
	}
}

/* Set, change and clear handlers while the return probe is registered. */
static void kp_ret_expect_late(struct kunit *test, struct kp_rp *probe)
{
	probe->rp.entry_handler = NULL;
	probe->rp.handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 0);

	probe->rp.handler = kp_ret_return;
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 0, 1);
	probe->rp.entry_handler = kp_ret_entry;
	KUNIT_EXPECT_EQ(test, kp_ret_target(5), 6);
	kp_rp_expect(test, probe, 1, 2);
	KUNIT_EXPECT_EQ(test, probe->arg, 5);

	probe->rp.handler = NULL;
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 2, 2);
	probe->rp.entry_handler = NULL;
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 2, 2);

	/* The call is not followed if an entry_handler that was set later refuses it. */
	probe->rp.handler = kp_ret_return;
	probe->rp.entry_handler = kp_ret_refuse_all;
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 3, 2);
	probe->rp.entry_handler = NULL;
	KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
	kp_rp_expect(test, probe, 3, 3);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

static void kp_ret_calls_handlers_late(struct kunit *test)
{
	struct kp_rp *probe, *other;
	int limit, size, two;

	for (limit = 0; limit <= 4; limit += 4) {
		for (size = 0; size <= 16; size += 16) {
			for (two = 0; two < 2; two++) {
				probe = kp_rp_new(test, kp_ret_target);
				probe->rp.maxactive = limit;
				probe->rp.data_size = size;
				other = kp_rp_new(test, kp_ret_target);
				if (two)
					KUNIT_ASSERT_EQ(test, kp_rp_register(test, other), 0);
				kp_ret_expect_late(test, probe);
				kp_rp_unregister(test, probe);
				if (!two)
					continue;
				kp_rp_expect(test, other, 7, 7);
				kp_rp_unregister(test, other);
			}
		}
	}
}

static void kp_ret_set_handler(long data)
{
	struct kp_rp *probe = (void *)data;

	probe->rp.handler = kp_ret_return;
	probe->rp.entry_handler = kp_ret_entry;
}

static void kp_ret_calls_handlers_in_flight(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_calls_back);
	long data = (long)probe;

	probe->rp.entry_handler = NULL;
	probe->rp.handler = NULL;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_set_handler, data), data + 1);
	kp_rp_expect(test, probe, 0, 1);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_set_handler, data), data + 1);
	kp_rp_expect(test, probe, 1, 2);
}

static int kp_ret_double_argument(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_entry(ri, regs);
#ifdef kp_arg1
	kp_arg1(regs) *= 2;
#endif
	return 0;
}

static int kp_ret_add_to_value(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_return(ri, regs);
	regs_set_return_value(regs, regs_return_value(regs) + 1000);
	return 0;
}

static void kp_ret_calls_change(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
#ifdef kp_arg1
	long factor = 2;
#else
	long factor = 1;
#endif

	probe->rp.entry_handler = kp_ret_double_argument;
	probe->rp.handler = kp_ret_add_to_value;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_target(20), 20 * factor + 1 + 1000);
	KUNIT_EXPECT_EQ(test, probe->value, 20 * factor + 1);
}

/* With rethook, the default number of instances is fixed, and depends on the number of CPUs. */
static void kp_ret_calls_reserve(struct kp_rp *probe)
{
	if (IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK))
		probe->rp.maxactive = KP_RET_DEPTH;
}

static void kp_ret_calls_nested(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_nest);
	int depth, calls = 0;

	kp_ret_calls_reserve(probe);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (depth = 0; depth < KP_RET_DEPTH; depth++) {
		KUNIT_EXPECT_EQ(test, kp_ret_nest(depth), depth);
		calls += depth + 1;
		kp_rp_expect(test, probe, calls, calls);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		KUNIT_EXPECT_EQ(test, probe->value, depth);
	}
}

static void kp_ret_calls_mutual(struct kunit *test)
{
	struct kp_rp *even = kp_rp_new(test, kp_ret_even);
	struct kp_rp *odd = kp_rp_new(test, kp_ret_odd);

	kp_ret_calls_reserve(even);
	kp_ret_calls_reserve(odd);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, even), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, odd), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_even(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
	kp_rp_expect(test, even, KP_RET_DEPTH / 2, KP_RET_DEPTH / 2);
	kp_rp_expect(test, odd, KP_RET_DEPTH / 2, KP_RET_DEPTH / 2);
	KUNIT_EXPECT_EQ(test, even->value, KP_RET_DEPTH - 1);
	KUNIT_EXPECT_EQ(test, odd->value, KP_RET_DEPTH - 2);
	KUNIT_EXPECT_EQ(test, even->rp.nmissed + odd->rp.nmissed, 0);
}

/* Each call finds the data of its own entry. */
struct kp_ret_level {
	long depth;
	unsigned long fill[7];
};

static struct {
	unsigned int wrong_data;
	unsigned int wrong_order;
	long last;
} kp_ret_levels;

static int kp_ret_level_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_ret_level *level = (struct kp_ret_level *)ri->data;

	if (memchr_inv(level, 0, sizeof(*level)))
		kp_ret_levels.wrong_data++;
	level->depth = kp_argument(regs, 0);
	memset_l(level->fill, ~level->depth, ARRAY_SIZE(level->fill));
	return kp_ret_entry(ri, regs);
}

static int kp_ret_level_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_ret_level *level = (struct kp_ret_level *)ri->data;
	int i;

	for (i = 0; i < ARRAY_SIZE(level->fill); i++)
		if (level->fill[i] != ~level->depth)
			kp_ret_levels.wrong_data++;
	if (level->depth != regs_return_value(regs))
		kp_ret_levels.wrong_data++;
	/* The innermost call returns first. */
	if (level->depth != kp_ret_levels.last + 1)
		kp_ret_levels.wrong_order++;
	kp_ret_levels.last = level->depth;
	return kp_ret_return(ri, regs);
}

static void kp_ret_calls_nested_data(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_nest);
	int i;

	probe->rp.entry_handler = kp_ret_level_entry;
	probe->rp.handler = kp_ret_level_return;
	probe->rp.data_size = sizeof(struct kp_ret_level);
	probe->rp.maxactive = KP_RET_DEPTH;
	memset(&kp_ret_levels, 0, sizeof(kp_ret_levels));
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 10; i++) {
		kp_ret_levels.last = -1;
		KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
		kp_rp_expect(test, probe, i * KP_RET_DEPTH, i * KP_RET_DEPTH);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_levels.wrong_data, 0);
	KUNIT_EXPECT_EQ(test, kp_ret_levels.wrong_order, 0);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

/* maxactive calls are followed at once; further ones are counted. */
static void kp_ret_calls_maxactive(struct kunit *test)
{
	static const int limits[] = { 1, 2, 3, 16, 63, 64, 100 };
	struct kp_rp *probe;
	int i, followed, missed;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		probe = kp_rp_new(test, kp_ret_nest);
		probe->rp.maxactive = limits[i];
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
		followed = min(limits[i], KP_RET_DEPTH);
		missed = KP_RET_DEPTH - followed;
		KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
		kp_rp_expect(test, probe, followed, followed);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, missed);
		/* All instances are free again. */
		KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
		kp_rp_expect(test, probe, 2 * followed, 2 * followed);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 2 * missed);
		kp_rp_unregister(test, probe);
	}
}

static int kp_ret_call_here(void *result)
{
	*(long *)result = kp_ret_nest(0);
	return 0;
}

/* Other CPUs take the instance in a CPU's cache, so up to maxactive no call is missed. */
static void kp_ret_calls_maxactive_cpus(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_nest);
	int limit = num_possible_cpus() + 2, cpu, calls = 0;
	long result = 1;

	KUNIT_ASSERT_LT(test, limit, KP_RET_DEPTH);
	probe->rp.maxactive = limit;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_on_cpu(cpu, kp_ret_call_here, &result, false), 0);
		KUNIT_EXPECT_EQ(test, result, 0);
		calls++;
	}
	cpus_read_unlock();
	KUNIT_EXPECT_EQ(test, kp_ret_nest(limit - 1), limit - 1);
	kp_rp_expect(test, probe, calls + limit, calls + limit);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	KUNIT_EXPECT_EQ(test, kp_ret_nest(limit + 2), limit + 2);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 3);
}

/* nmissed counts from registration on, and is readable after unregistration. */
static void kp_ret_calls_nmissed(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_nest);
	int again;

	probe->rp.maxactive = 1;
	probe->rp.nmissed = 12345;
	for (again = 0; again < 3; again++) {
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		KUNIT_EXPECT_EQ(test, kp_ret_nest(7), 7);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 7);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&probe->rp), -EINVAL);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 7);
		kp_rp_unregister(test, probe);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 7);
	}
}

/* One probe's maxactive does not limit another probe of the same function. */
static void kp_ret_calls_maxactive_apart(struct kunit *test)
{
	struct kp_rp *few = kp_rp_new(test, kp_ret_nest);
	struct kp_rp *many = kp_rp_new(test, kp_ret_nest);

	few->rp.maxactive = 5;
	many->rp.maxactive = KP_RET_DEPTH;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, few), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, many), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
	kp_rp_expect(test, few, 5, 5);
	KUNIT_EXPECT_EQ(test, few->rp.nmissed, KP_RET_DEPTH - 5);
	kp_rp_expect(test, many, KP_RET_DEPTH, KP_RET_DEPTH);
	KUNIT_EXPECT_EQ(test, many->rp.nmissed, 0);
}

/* A negative maxactive works like 0. */
static void kp_ret_calls_maxactive_negative(struct kunit *test)
{
	static const int limits[] = { -1, INT_MIN };
	struct kp_rp *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		probe = kp_rp_new(test, kp_ret_nest);
		probe->rp.maxactive = limits[i];
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_ret_nest(7), 7);
		kp_rp_expect(test, probe, 8, 8);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		kp_rp_unregister(test, probe);
	}
}

static int kp_ret_refuse_third(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_entry(ri, regs);
	return atomic_read(&to_kp_rp(ri)->entries) % 3 == 0;
}

static void kp_ret_calls_refused(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_target);
	int i;

	/* A call that is not followed leaves its instance free. */
	probe->rp.maxactive = 1;
	probe->rp.entry_handler = kp_ret_refuse_third;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	for (i = 1; i <= 300; i++) {
		probe->value = 0;
		KUNIT_EXPECT_EQ(test, kp_ret_target(i), i + 1);
		kp_rp_expect(test, probe, i, i - i / 3);
		KUNIT_EXPECT_EQ(test, probe->value, i % 3 ? i + 1 : 0);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

/* The same with nested calls, some of them followed */
static void kp_ret_calls_refused_nested(struct kunit *test)
{
	struct kp_rp *probe = kp_rp_new(test, kp_ret_nest);
	const int followed = KP_RET_DEPTH - KP_RET_DEPTH / 3;

	probe->rp.maxactive = followed;
	probe->rp.entry_handler = kp_ret_refuse_third;
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
	kp_rp_expect(test, probe, KP_RET_DEPTH, followed);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

/* Data are zero at each entry, whatever an earlier call has left there. */
static unsigned int kp_ret_not_zero;

static int kp_ret_zero_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	size_t size = to_kp_rp(ri)->rp.data_size;

	if (size && memchr_inv(ri->data, 0, size))
		kp_ret_not_zero++;
	memset(ri->data, 0x5a, size);
	return kp_ret_entry(ri, regs);
}

static int kp_ret_zero_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	size_t size = to_kp_rp(ri)->rp.data_size;

	if (size && memchr_inv(ri->data, 0x5a, size))
		kp_ret_not_zero++;
	memset(ri->data, 0xa5, size);
	return kp_ret_return(ri, regs);
}

static void kp_ret_calls_data(struct kunit *test)
{
	static const size_t sizes[] = {
		1, 7, 8, 9, 16, 32, 64, 100, 128, 256, 511, 1000, 2048, 3000,
		KRETPROBE_MAX_DATA_SIZE - 1, KRETPROBE_MAX_DATA_SIZE,
	};
	struct kp_rp *probe[ARRAY_SIZE(sizes)];
	int i, calls = 50;

	kp_ret_not_zero = 0;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		probe[i] = kp_rp_new(test, kp_ret_nest);
		probe[i]->rp.data_size = sizes[i];
		probe[i]->rp.maxactive = 4;
		probe[i]->rp.entry_handler = kp_ret_zero_entry;
		probe[i]->rp.handler = kp_ret_zero_return;
		KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[i]), 0);
	}
	/* All sizes at once, to notice writes beyond an instance's own data. */
	for (i = 0; i < calls; i++)
		KUNIT_EXPECT_EQ(test, kp_ret_nest(3), 3);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		kp_rp_expect(test, probe[i], 4 * calls, 4 * calls);
		KUNIT_EXPECT_EQ(test, probe[i]->rp.nmissed, 0);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_not_zero, 0);
}

static atomic_t kp_ret_kprobe_hits;

static int kp_ret_kprobe_pre(struct kprobe *p, struct pt_regs *regs)
{
	atomic_inc(&kp_ret_kprobe_hits);
	return 0;
}

static void kp_ret_kprobe_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	atomic_inc(&kp_ret_kprobe_hits);
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_ret_unregister_kprobe, unregister_kprobe, struct kprobe *);

static void kp_ret_calls_colocated(struct kunit *test)
{
	unsigned long from = kp_ret_calls_from();
	struct kp_rp *probe[2];
	struct kprobe *kp;
	int order, i, calls;

	/* The kprobe is first, in between and last, with a post_handler and without. */
	for (order = 0; order < 6; order++) {
		kp = kunit_kzalloc(test, sizeof(*kp), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, kp);
		kp->addr = kp_entry(kp_ret_target);
		kp->pre_handler = kp_ret_kprobe_pre;
		if (order < 3)
			kp->post_handler = kp_ret_kprobe_post;
		atomic_set(&kp_ret_kprobe_hits, 0);
		for (i = 0; i < 3; i++) {
			if (i == order % 3)
				KUNIT_ASSERT_EQ(test, register_kprobe(kp), 0);
			if (i == 2)
				break;
			probe[i] = kp_rp_new(test, kp_ret_target);
			KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[i]), 0);
		}
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_ret_unregister_kprobe,
								kp), 0);
		for (calls = 1; calls <= 20; calls++) {
			KUNIT_EXPECT_EQ(test, kp_ret_calls(calls), calls + 1);
			for (i = 0; i < 2; i++) {
				kp_rp_expect(test, probe[i], calls, calls);
				KUNIT_EXPECT_EQ(test, probe[i]->arg, calls);
				KUNIT_EXPECT_EQ(test, probe[i]->value, calls + 1);
				KUNIT_EXPECT_EQ(test, probe[i]->retaddr, from);
			}
			KUNIT_EXPECT_EQ(test, atomic_read(&kp_ret_kprobe_hits),
					order < 3 ? 2 * calls : calls);
		}
		kp_rp_unregister(test, probe[0]);
		KUNIT_EXPECT_EQ(test, kp_ret_calls(1), 2);
		kunit_release_action(test, kp_ret_unregister_kprobe, kp);
		KUNIT_EXPECT_EQ(test, kp_ret_calls(1), 2);
		kp_rp_expect(test, probe[0], 20, 20);
		kp_rp_expect(test, probe[1], 22, 22);
		kp_rp_unregister(test, probe[1]);
	}
}

/*
 * get_kretprobe_retaddr() finds the real return address, also if other code has replaced it:
 * in the handler, and on x86 in the entry_handler too.
 */
static void kp_ret_calls_retaddr(struct kunit *test)
{
	unsigned long from = kp_ret_calls_from();
	unsigned long known = IS_ENABLED(CONFIG_X86) ? from : 0;
	struct kp_rp *probe[4];
	int nr, i;

	for (nr = 1; nr <= ARRAY_SIZE(probe); nr++) {
		for (i = 0; i < nr; i++) {
			probe[i] = kp_rp_new(test, kp_ret_target);
			KUNIT_ASSERT_EQ(test, kp_rp_register(test, probe[i]), 0);
		}
		KUNIT_EXPECT_EQ(test, kp_ret_calls(1), 2);
		for (i = 0; i < nr; i++) {
			KUNIT_EXPECT_EQ_MSG(test, probe[i]->entry_retaddr, known,
					    "entry, probe %d of %d: %pS", i, nr,
					    (void *)probe[i]->entry_retaddr);
			KUNIT_EXPECT_EQ_MSG(test, probe[i]->retaddr, from,
					    "return, probe %d of %d: %pS", i, nr,
					    (void *)probe[i]->retaddr);
			kp_rp_unregister(test, probe[i]);
		}
	}
}

/* A function ends in a jump to another: one return for both. */
static void kp_ret_calls_tail_call(struct kunit *test)
{
	unsigned long from = kp_ret_calls_tail_from();
	struct kp_rp *tail = kp_rp_new(test, kp_ret_tail);
	struct kp_rp *target = kp_rp_new(test, kp_ret_target);
	unsigned long plain = kp_ret_calls_from();
	unsigned long known = IS_ENABLED(CONFIG_X86) ? from : 0;
	int i;

	if (from >= (unsigned long)kp_ret_tail && from < (unsigned long)kp_ret_calls_tail &&
	    (unsigned long)kp_ret_calls_tail > (unsigned long)kp_ret_tail)
		kunit_skip(test, "the compiler did not make it a jump");
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, tail), 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_tail(i), i + 1);
		kp_rp_expect(test, tail, i, i);
		KUNIT_EXPECT_EQ(test, tail->retaddr, from);
	}
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, target), 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_tail(i), i + 1);
		kp_rp_expect(test, tail, 3 + i, 3 + i);
		kp_rp_expect(test, target, i, i);
		KUNIT_EXPECT_EQ(test, tail->retaddr, from);
		KUNIT_EXPECT_EQ(test, target->retaddr, from);
		KUNIT_EXPECT_EQ(test, tail->entry_retaddr, known);
		KUNIT_EXPECT_EQ(test, target->entry_retaddr, known);
		KUNIT_EXPECT_EQ(test, tail->value, i + 1);
		KUNIT_EXPECT_EQ(test, target->value, i + 1);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_calls(1), 2);
	KUNIT_EXPECT_EQ(test, target->retaddr, plain);
	kp_rp_expect(test, tail, 6, 6);
	kp_rp_expect(test, target, 4, 4);
	kp_rp_unregister(test, tail);
	KUNIT_EXPECT_EQ(test, kp_ret_calls_tail(1), 2);
	KUNIT_EXPECT_EQ(test, target->retaddr, from);
}

#ifdef CONFIG_X86
static struct kp_rp *kp_ret_left;

/*
 * At the entry of kp_ret_other(): leave its caller without a return, as an exception in BPF
 * does.
 */
static int kp_ret_leave(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = kp_ret_left->entry_retaddr;
	regs->sp += sizeof(long);
	return 1;
}

NOKPROBE_SYMBOL(kp_ret_leave);

static void kp_ret_leave_unset(void *p)
{
	unregister_kprobe(p);
}

/*
 * A call was left without a return, and its instance is still on the list. A later call that
 * another return probe follows must not get the return address from there.
 */
static void kp_ret_calls_left(struct kunit *test)
{
	static struct kprobe leave;
	struct kp_rp *outer = kp_rp_new(test, kp_ret_leaves);
	struct kp_rp *inner = kp_rp_new(test, kp_ret_target);
	int i;

	kp_ret_leaves(1);
	if (kp_ret_from >= (unsigned long)kp_ret_leaves &&
	    kp_ret_from < (unsigned long)kp_ret_calls_tail)
		kunit_skip(test, "the compiler did not make it a jump");
	kp_ret_left = kp_rp_new(test, kp_ret_other);
	/* This return probe is registered last, so its handler runs first. */
	memset(&leave, 0, sizeof(leave));
	leave.addr = (void *)kp_ret_other;
	leave.pre_handler = kp_ret_leave;
	KUNIT_ASSERT_EQ(test, register_kprobe(&leave), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_ret_leave_unset, &leave), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, kp_ret_left), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, outer), 0);
	KUNIT_ASSERT_EQ(test, kp_rp_register(test, inner), 0);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_leaves(i), i + 1);
		kp_rp_expect(test, kp_ret_left, i, 0);
		kp_rp_expect(test, outer, i, i);
		kp_rp_expect(test, inner, i, i);
		KUNIT_EXPECT_NE(test, outer->retaddr, kp_ret_left->entry_retaddr);
		KUNIT_EXPECT_EQ(test, outer->retaddr, outer->entry_retaddr);
		KUNIT_EXPECT_EQ(test, inner->entry_retaddr, outer->retaddr);
		KUNIT_EXPECT_EQ(test, inner->retaddr, outer->retaddr);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_left->rp.nmissed, 0);
}
#else
static void kp_ret_calls_left(struct kunit *test)
{
	kunit_skip(test, "handlers cannot change the stack pointer");
}
#endif

static struct kunit_case kp_ret_calls_cases[] = {
	KUNIT_CASE(kp_ret_calls_simple),
	KUNIT_CASE(kp_ret_calls_by_symbol),
	KUNIT_CASE(kp_ret_calls_kernel_function),
	KUNIT_CASE(kp_ret_calls_handlers_missing),
	KUNIT_CASE(kp_ret_calls_handlers_late),
	KUNIT_CASE(kp_ret_calls_handlers_in_flight),
	KUNIT_CASE(kp_ret_calls_change),
	KUNIT_CASE(kp_ret_calls_nested),
	KUNIT_CASE(kp_ret_calls_mutual),
	KUNIT_CASE(kp_ret_calls_nested_data),
	KUNIT_CASE(kp_ret_calls_maxactive),
	KUNIT_CASE(kp_ret_calls_maxactive_cpus),
	KUNIT_CASE(kp_ret_calls_nmissed),
	KUNIT_CASE(kp_ret_calls_maxactive_apart),
	KUNIT_CASE(kp_ret_calls_maxactive_negative),
	KUNIT_CASE(kp_ret_calls_refused),
	KUNIT_CASE(kp_ret_calls_refused_nested),
	KUNIT_CASE(kp_ret_calls_data),
	KUNIT_CASE(kp_ret_calls_colocated),
	KUNIT_CASE(kp_ret_calls_retaddr),
	KUNIT_CASE(kp_ret_calls_tail_call),
	KUNIT_CASE(kp_ret_calls_left),
	{}
};

struct kunit_suite kp_ret_calls_suite = {
	.name = "kretprobes_calls",
	.test_cases = kp_ret_calls_cases,
};
