// SPDX-License-Identifier: GPL-2.0
/* Test that return probes call their handlers for single calls and for nested calls */

#include "kretprobes_kunit.h"

#define KP_RET_DEPTH	64

static void kp_ret_calls_simple(struct kunit *test)
{
	struct kp_probe *probe = kp_registered(test, kp_ret_target);
	long (*target)(long) = kp_ret_target;

	KUNIT_EXPECT_EQ(test, kp_ret_target(3), 4);
	kp_expect_hits(test, probe, 1);
	KUNIT_EXPECT_EQ(test, probe->arg, 3);
	KUNIT_EXPECT_EQ(test, probe->value, 4);
	KUNIT_EXPECT_PTR_EQ(test, probe->entry_rp, &probe->rp);
	KUNIT_EXPECT_PTR_EQ(test, probe->return_rp, &probe->rp);
	KUNIT_EXPECT_FALSE(test, probe->preemptible);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
	OPTIMIZER_HIDE_VAR(target);
	kp_expect_call(test, probe, target, 2);
}

static void kp_ret_calls_kernel_function(struct kunit *test)
{
	struct kp_probe *probe = kp_new_named(test, "int_sqrt", 0);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, int_sqrt(144), 12);
	KUNIT_EXPECT_EQ(test, probe->arg, 144);
	KUNIT_EXPECT_EQ(test, probe->value, 12);
}

static int kp_ret_refuse_all(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_entry(ri, regs);
	return 1;
}

static void kp_ret_calls_handlers_missing(struct kunit *test)
{
	struct kp_probe *probe;
	int have;

	for (have = 0; have < 4; have++) {
		probe = kp_ret_with(test, kp_ret_target, 0, have & 1 ? kp_ret_entry : NULL,
				    have & 2 ? kp_ret_return : NULL);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_expect_counts(test, probe, have & 1, have >> 1);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		kp_unregister(test, probe);
	}
}

static const struct kp_ret_late {
	const char *name;
	int maxactive, data_size;
	bool two;
} kp_ret_lates[] = {
	{ "shared" }, { "shared, data", 0, 16 }, { "maxactive", 4 }, { "maxactive, data", 4, 16 },
	{ "shared, two probes", .two = true }, { "shared, data, two probes", 0, 16, true },
	{ "maxactive, two probes", 4, 0, true }, { "maxactive, data, two probes", 4, 16, true },
};

KUNIT_ARRAY_PARAM_DESC(kp_ret_late, kp_ret_lates, name);

/*
 * Change the handlers while the return probe is registered. If the entry_handler is
 * kp_ret_refuse_all(), which returns 1, the call is not tracked, and the handler is not called.
 */
static void kp_ret_calls_handlers_late(struct kunit *test)
{
	static const struct {
		kretprobe_handler_t entry, handler;
		int entries, returns;
	} steps[] = {
		{ NULL, NULL, 0, 0 },
		{ NULL, kp_ret_return, 0, 1 },
		{ kp_ret_entry, kp_ret_return, 1, 2 },
		{ kp_ret_entry, NULL, 2, 2 },
		{ NULL, NULL, 2, 2 },
		{ kp_ret_refuse_all, kp_ret_return, 3, 2 },
		{ NULL, kp_ret_return, 3, 3 },
	};
	const struct kp_ret_late *late = test->param_value;
	struct kp_probe *probe = kp_new(test, kp_ret_target);
	struct kp_probe *other = late->two ? kp_registered(test, kp_ret_target) : NULL;
	int i;

	probe->rp.maxactive = late->maxactive;
	probe->rp.data_size = late->data_size;
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		probe->rp.entry_handler = steps[i].entry;
		probe->rp.handler = steps[i].handler;
		if (!i)
			KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, kp_ret_target(1), 2);
		kp_expect_counts(test, probe, steps[i].entries, steps[i].returns);
		if (other)
			kp_expect_hits(test, other, i + 1);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

static void kp_ret_set_handlers(long data)
{
	kp_prepare((void *)data);
}

/* Set the handlers during the first call. The return of that call must call the new handler. */
static void kp_ret_calls_handlers_in_flight(struct kunit *test)
{
	struct kp_probe *probe = kp_ret_with(test, kp_ret_calls_back, 0, NULL, NULL);
	long data = (long)probe;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_back(kp_ret_set_handlers, data), data + 1);
		kp_expect_counts(test, probe, i, i + 1);
	}
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
	struct kp_probe *probe = kp_ret_with(test, kp_ret_target, 0, kp_ret_double_argument,
					     kp_ret_add_to_value);
#ifdef kp_arg1
	long factor = 2;
#else
	long factor = 1;
#endif

	KUNIT_EXPECT_EQ(test, kp_ret_target(20), 20 * factor + 1 + 1000);
	KUNIT_EXPECT_EQ(test, probe->value, 20 * factor + 1);
}

/* Make @depth + 1 nested calls. @hits, @missed: expected numbers since the registration */
static void kp_ret_expect_nest(struct kunit *test, struct kp_probe *probe, int depth, int hits,
			       int missed)
{
	KUNIT_EXPECT_EQ(test, kp_ret_nest(depth), depth);
	kp_expect_hits(test, probe, hits);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, missed);
}

/*
 * The maxactive for KP_RET_DEPTH nested calls. With the default, 0, the pool of instances grows.
 * With rethook, the pool does not grow, and may be too small by default.
 */
#define KP_RET_SHARED	(IS_ENABLED(CONFIG_KRETPROBE_ON_RETHOOK) ? KP_RET_DEPTH : 0)

static void kp_ret_calls_nested(struct kunit *test)
{
	struct kp_probe *probe = kp_ret_limited(test, kp_ret_nest, KP_RET_SHARED);
	int depth, calls = 0;

	for (depth = 0; depth < KP_RET_DEPTH; depth++) {
		calls += depth + 1;
		kp_ret_expect_nest(test, probe, depth, calls, 0);
		KUNIT_EXPECT_EQ(test, probe->value, depth);
	}
}

static void kp_ret_calls_mutual(struct kunit *test)
{
	struct kp_probe *even = kp_ret_limited(test, kp_ret_even, KP_RET_SHARED);
	struct kp_probe *odd = kp_ret_limited(test, kp_ret_odd, KP_RET_SHARED);

	KUNIT_EXPECT_EQ(test, kp_ret_even(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
	kp_expect_hits(test, even, KP_RET_DEPTH / 2);
	kp_expect_hits(test, odd, KP_RET_DEPTH / 2);
	KUNIT_EXPECT_EQ(test, even->value, KP_RET_DEPTH - 1);
	KUNIT_EXPECT_EQ(test, odd->value, KP_RET_DEPTH - 2);
	KUNIT_EXPECT_EQ(test, even->rp.nmissed + odd->rp.nmissed, 0);
}

static const struct kp_ret_limit {
	const char *name;
	int maxactive, calls, tracked;
} kp_ret_limits[] = {
	{ "1", 1, 64, 1 }, { "2", 2, 64, 2 }, { "3", 3, 64, 3 }, { "16", 16, 64, 16 },
	{ "63", 63, 64, 63 }, { "64", 64, 64, 64 }, { "100", 100, 64, 64 },
	/* like 0 */
	{ "-1", -1, 8, 8 }, { "INT_MIN", INT_MIN, 8, 8 },
};

KUNIT_ARRAY_PARAM_DESC(kp_ret_limit, kp_ret_limits, name);

/* At most maxactive calls are tracked at a time; nmissed counts the others. */
static void kp_ret_calls_maxactive(struct kunit *test)
{
	const struct kp_ret_limit *limit = test->param_value;
	struct kp_probe *probe = kp_ret_limited(test, kp_ret_nest, limit->maxactive);
	int i;

	/* All instances must be free again for the second round. */
	for (i = 1; i <= 2; i++)
		kp_ret_expect_nest(test, probe, limit->calls - 1, i * limit->tracked,
				   i * (limit->calls - limit->tracked));
}

static int kp_ret_call_here(void *result)
{
	*(long *)result = kp_ret_nest(0);
	return 0;
}

/*
 * A hit that finds no other free instance must take one from the cache of another CPU. First, one
 * call on each CPU puts an instance into the cache of that CPU. Then this CPU makes as many nested
 * calls as there are instances: none may be missed. With three more nested calls, three are missed.
 */
static void kp_ret_calls_maxactive_cpus(struct kunit *test)
{
	int limit = num_possible_cpus() + 2, cpu, calls = 0;
	struct kp_probe *probe = kp_ret_limited(test, kp_ret_nest, limit);
	long result = 1;

	KUNIT_ASSERT_LT(test, limit, KP_RET_DEPTH);
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, smp_call_on_cpu(cpu, kp_ret_call_here, &result, false), 0);
		KUNIT_EXPECT_EQ(test, result, 0);
		calls++;
	}
	cpus_read_unlock();
	calls += limit;
	kp_ret_expect_nest(test, probe, limit - 1, calls, 0);
	kp_ret_expect_nest(test, probe, limit + 2, calls + limit, 3);
}

/* nmissed counts from registration on, and is readable after unregistration. */
static void kp_ret_calls_nmissed(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ret_nest);
	int again;

	probe->rp.maxactive = 1;
	probe->rp.nmissed = 12345;
	for (again = 0; again < 3; again++) {
		KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		KUNIT_EXPECT_EQ(test, kp_ret_nest(7), 7);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 7);
		KUNIT_EXPECT_EQ(test, register_kretprobe(&probe->rp), -EINVAL);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 7);
		kp_unregister(test, probe);
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 7);
	}
}

/* The maxactive of one return probe must not limit another one on the same function. */
static void kp_ret_calls_maxactive_apart(struct kunit *test)
{
	struct kp_probe *few = kp_ret_limited(test, kp_ret_nest, 5);
	struct kp_probe *many = kp_ret_limited(test, kp_ret_nest, KP_RET_DEPTH);

	kp_ret_expect_nest(test, few, KP_RET_DEPTH - 1, 5, KP_RET_DEPTH - 5);
	kp_expect_hits(test, many, KP_RET_DEPTH);
	KUNIT_EXPECT_EQ(test, many->rp.nmissed, 0);
}

static int kp_ret_refuse_third(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_ret_entry(ri, regs);
	return atomic_read(&to_kp_probe(ri)->entries) % 3 == 0;
}

/* If the entry_handler refuses a call, the instance must be free again at once. */
static void kp_ret_calls_refused(struct kunit *test)
{
	const int tracked = KP_RET_DEPTH - KP_RET_DEPTH / 3;
	struct kp_probe *probe;
	int i;

	probe = kp_ret_with(test, kp_ret_target, 1, kp_ret_refuse_third, kp_ret_return);
	for (i = 1; i <= 300; i++) {
		probe->value = 0;
		KUNIT_EXPECT_EQ(test, kp_ret_target(i), i + 1);
		kp_expect_counts(test, probe, i, i - i / 3);
		KUNIT_EXPECT_EQ(test, probe->value, i % 3 ? i + 1 : 0);
	}
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);

	probe = kp_ret_with(test, kp_ret_nest, tracked, kp_ret_refuse_third, kp_ret_return);
	KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
	kp_expect_counts(test, probe, KP_RET_DEPTH, tracked);
	KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
}

/*
 * Counters of violations. When an entry_handler is called, the data of its instance must be zero.
 * The handler of the same call must find the data that the entry_handler stored. Inner calls must
 * return first. @last: the depth at the last return
 */
static struct {
	unsigned int wrong_data, wrong_order;
	long last;
} kp_ret_levels;

static int kp_ret_level_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	size_t size = to_kp_probe(ri)->rp.data_size;

	kp_ret_levels.wrong_data += !!memchr_inv(ri->data, 0, size);
	memset(ri->data, ~kp_argument(regs, 0), size);
	return kp_ret_entry(ri, regs);
}

static int kp_ret_level_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	size_t size = to_kp_probe(ri)->rp.data_size;
	long depth = regs_return_value(regs);

	kp_ret_levels.wrong_data += !!memchr_inv(ri->data, ~depth, size);
	/*
	 * Several return probes are on the function. A return calls all their handlers, with the
	 * same depth, which is 0 for the innermost call. The caller returns next, with depth + 1.
	 */
	kp_ret_levels.wrong_order += depth != kp_ret_levels.last &&
				     depth != kp_ret_levels.last + 1;
	kp_ret_levels.last = depth;
	memset(ri->data, 0xa5, size);
	return kp_ret_return(ri, regs);
}

/* Register return probes of all sizes at once, to notice a write past the end of an instance. */
static void kp_ret_calls_data(struct kunit *test)
{
	static const size_t sizes[] = {
		1, 7, 8, 9, 16, 32, 64, 100, 128, 256, 511, 1000, 2048, 3000,
		KRETPROBE_MAX_DATA_SIZE - 1, KRETPROBE_MAX_DATA_SIZE,
	};
	struct kp_probe *probe[ARRAY_SIZE(sizes)];
	int i, calls = 10;

	memset(&kp_ret_levels, 0, sizeof(kp_ret_levels));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		probe[i] = kp_new(test, kp_ret_nest);
		probe[i]->rp.data_size = sizes[i];
		probe[i]->rp.maxactive = KP_RET_DEPTH;
		probe[i]->rp.entry_handler = kp_ret_level_entry;
		probe[i]->rp.handler = kp_ret_level_return;
		KUNIT_ASSERT_EQ(test, kp_register(test, probe[i]), 0);
	}
	for (i = 0; i < calls; i++) {
		kp_ret_levels.last = -1;
		KUNIT_EXPECT_EQ(test, kp_ret_nest(KP_RET_DEPTH - 1), KP_RET_DEPTH - 1);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		kp_expect_hits(test, probe[i], KP_RET_DEPTH * calls);
		KUNIT_EXPECT_EQ(test, probe[i]->rp.nmissed, 0);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_levels.wrong_data, 0);
	KUNIT_EXPECT_EQ(test, kp_ret_levels.wrong_order, 0);
}

static const struct kp_ret_order {
	const char *name;
	/* how many return probes are registered before the kprobe */
	int before;
	kprobe_post_handler_t post;
} kp_ret_orders[] = {
	{ "first", 0 }, { "between", 1 }, { "last", 2 },
	{ "first, post_handler", 0, kp_ret_kprobe_post },
	{ "between, post_handler", 1, kp_ret_kprobe_post },
	{ "last, post_handler", 2, kp_ret_kprobe_post },
};

KUNIT_ARRAY_PARAM_DESC(kp_ret_order, kp_ret_orders, name);

static void kp_ret_calls_colocated(struct kunit *test)
{
	const struct kp_ret_order *order = test->param_value;
	unsigned long from = kp_ret_calls_from();
	struct kp_probe *probe[2];
	struct kprobe *kp = NULL;
	int i, calls;

	for (i = 0; i < 3; i++) {
		if (i == order->before)
			kp = kp_ret_kprobe(test, &(struct kprobe) {
				.addr = kp_entry(kp_ret_target),
				.pre_handler = kp_ret_kprobe_pre, .post_handler = order->post,
			});
		if (i < 2)
			probe[i] = kp_registered(test, kp_ret_target);
	}
	for (calls = 1; calls <= 20; calls++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls(calls), calls + 1);
		for (i = 0; i < 2; i++) {
			kp_expect_hits(test, probe[i], calls);
			KUNIT_EXPECT_EQ(test, probe[i]->arg, calls);
			KUNIT_EXPECT_EQ(test, probe[i]->value, calls + 1);
			KUNIT_EXPECT_EQ(test, probe[i]->retaddr, from);
		}
		KUNIT_EXPECT_EQ(test, kp_ret_kprobe_hits, order->post ? 2 * calls : calls);
	}
	kp_unregister(test, probe[0]);
	kp_expect_call(test, probe[1], kp_ret_calls, 21);
	kp_kprobe_del(test, kp);
	kp_expect_call(test, probe[1], kp_ret_calls, 22);
	kp_expect_hits(test, probe[0], 20);
}

/*
 * get_kretprobe_retaddr() must return the real return address in the handler, and on x86 in the
 * entry_handler, too. On other architectures, the entry_handler gets 0.
 */
static void kp_ret_expect_from(struct kunit *test, struct kp_probe *probe, unsigned long from)
{
	KUNIT_EXPECT_EQ(test, probe->entry_retaddr, IS_ENABLED(CONFIG_X86) ? from : 0);
	KUNIT_EXPECT_EQ(test, probe->retaddr, from);
}

static void kp_ret_calls_retaddr(struct kunit *test)
{
	unsigned long from = kp_ret_calls_from();
	struct kp_probe *probe[4];
	int nr, i;

	for (nr = 0; nr < ARRAY_SIZE(probe); nr++) {
		/* probe[0] has only one instance: each call must free it for the next one. */
		probe[nr] = nr ? kp_registered(test, kp_ret_target) :
				 kp_ret_limited(test, kp_ret_target, 1);
		kp_expect_call(test, probe[nr], kp_ret_calls, 1);
		for (i = 0; i <= nr; i++)
			kp_ret_expect_from(test, probe[i], from);
	}
}

/* kp_ret_tail() ends in a jump to kp_ret_target(), so one return ends the calls of both. */
static void kp_ret_calls_tail_call(struct kunit *test)
{
	unsigned long from = kp_ret_calls_tail_from();
	unsigned long plain = kp_ret_calls_from();
	struct kp_probe *tail, *target;
	int i;

	if (from >= (unsigned long)kp_ret_tail && from < (unsigned long)kp_ret_calls_tail &&
	    (unsigned long)kp_ret_calls_tail > (unsigned long)kp_ret_tail)
		kunit_skip(test, "the compiler did not make it a jump");
	tail = kp_registered(test, kp_ret_tail);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_tail(i), i + 1);
		kp_expect_hits(test, tail, i);
		kp_ret_expect_from(test, tail, from);
	}
	target = kp_registered(test, kp_ret_target);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_calls_tail(i), i + 1);
		kp_expect_hits(test, tail, 3 + i);
		kp_expect_hits(test, target, i);
		kp_ret_expect_from(test, tail, from);
		kp_ret_expect_from(test, target, from);
		KUNIT_EXPECT_EQ(test, tail->value, i + 1);
		KUNIT_EXPECT_EQ(test, target->value, i + 1);
	}
	kp_expect_call(test, target, kp_ret_calls, 4);
	KUNIT_EXPECT_EQ(test, target->retaddr, plain);
	kp_expect_hits(test, tail, 6);
	kp_unregister(test, tail);
	kp_expect_call(test, target, kp_ret_calls_tail, 5);
	KUNIT_EXPECT_EQ(test, target->retaddr, from);
}

#ifdef CONFIG_X86
static struct kp_probe *kp_ret_left;

/*
 * At the entry of kp_ret_other(), redirect execution to its caller. No return instruction is
 * executed, so kprobes sees no return of this call. BPF exceptions have the same effect.
 */
static int kp_ret_leave(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = kp_ret_left->entry_retaddr;
	regs->sp += sizeof(long);
	return 1;
}

/*
 * kp_ret_leave() ends the calls of kp_ret_other() without a return. Their instances stay on the
 * task's list. Later calls must not use the return addresses in these instances.
 */
static void kp_ret_calls_left(struct kunit *test)
{
	struct kp_probe *outer, *inner;
	int i;

	kp_ret_leaves(1);
	if (kp_ret_from >= (unsigned long)kp_ret_leaves &&
	    kp_ret_from < (unsigned long)kp_ret_calls_tail)
		kunit_skip(test, "the compiler did not make it a jump");
	kp_ret_kprobe(test, &(struct kprobe) {
		.addr = (void *)kp_ret_other, .pre_handler = kp_ret_leave,
	});
	/* This return probe is registered after the kprobe, so its entry_handler runs first. */
	kp_ret_left = kp_registered(test, kp_ret_other);
	outer = kp_registered(test, kp_ret_leaves);
	inner = kp_registered(test, kp_ret_target);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kp_ret_leaves(i), i + 1);
		kp_expect_counts(test, kp_ret_left, i, 0);
		kp_expect_hits(test, outer, i);
		kp_expect_hits(test, inner, i);
		KUNIT_EXPECT_NE(test, outer->retaddr, kp_ret_left->entry_retaddr);
		KUNIT_EXPECT_EQ(test, outer->retaddr, outer->entry_retaddr);
		KUNIT_EXPECT_EQ(test, inner->entry_retaddr, outer->retaddr);
		KUNIT_EXPECT_EQ(test, inner->retaddr, outer->retaddr);
	}
	KUNIT_EXPECT_EQ(test, kp_ret_left->rp.nmissed, 0);
}
#else
KP_CASE(kp_ret_calls_left, kunit_skip(test, "handlers cannot change the stack pointer"))
#endif

static struct kunit_case kp_ret_calls_cases[] = {
	KUNIT_CASE(kp_ret_calls_simple),
	KUNIT_CASE(kp_ret_calls_kernel_function),
	KUNIT_CASE(kp_ret_calls_handlers_missing),
	KUNIT_CASE_PARAM(kp_ret_calls_handlers_late, kp_ret_late_gen_params),
	KUNIT_CASE(kp_ret_calls_handlers_in_flight),
	KUNIT_CASE(kp_ret_calls_change),
	KUNIT_CASE(kp_ret_calls_nested),
	KUNIT_CASE(kp_ret_calls_mutual),
	KUNIT_CASE_PARAM(kp_ret_calls_maxactive, kp_ret_limit_gen_params),
	KUNIT_CASE(kp_ret_calls_maxactive_cpus),
	KUNIT_CASE(kp_ret_calls_nmissed),
	KUNIT_CASE(kp_ret_calls_maxactive_apart),
	KUNIT_CASE(kp_ret_calls_refused),
	KUNIT_CASE(kp_ret_calls_data),
	KUNIT_CASE_PARAM(kp_ret_calls_colocated, kp_ret_order_gen_params),
	KUNIT_CASE(kp_ret_calls_retaddr),
	KUNIT_CASE(kp_ret_calls_tail_call),
	KUNIT_CASE(kp_ret_calls_left),
	{}
};

KP_SUITE(kp_ret_calls, "kretprobes_calls");
