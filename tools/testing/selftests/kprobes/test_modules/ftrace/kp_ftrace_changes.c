// SPDX-License-Identifier: GPL-2.0
/*
 * Part of the suite kprobes_ftrace: probes with live patches, batches and their cost, and
 * what ftrace refuses.
 */

#include "kp_ftrace.h"
#include "kp_symbol.h"

/* Only calls by this task are counted. */
static struct task_struct *kp_ft_counted;

struct kp_ft_counter {
	struct kprobe kp;
	int n;
};

static int __kprobes kp_ft_counter_pre(struct kprobe *kp, struct pt_regs *regs)
{
	if (current == kp_ft_counted)
		container_of(kp, struct kp_ft_counter, kp)->n++;
	return 0;
}

static struct kp_ft_counter kp_ft_counters[] = {
	{ .kp = { .symbol_name = "arch_ftrace_update_code", .pre_handler = kp_ft_counter_pre } },
	{ .kp = { .symbol_name = "synchronize_rcu_expedited", .pre_handler = kp_ft_counter_pre } },
	{ .kp = { .symbol_name = "stop_machine", .pre_handler = kp_ft_counter_pre } },
};

static void kp_ft_costs_begin(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kp_ft_counters); i++)
		kp_kprobe_add(test, &kp_ft_counters[i].kp);
	for (i = 0; i < ARRAY_SIZE(kp_ft_counters); i++)
		kp_ft_counters[i].n = 0;
	kp_ft_counted = current;
}

/* Check the numbers of calls of each function in kp_ft_counters[] since kp_ft_costs_begin(). */
static void kp_ft_costs_end(struct kunit *test, int ftrace_updates, int expedited, int stop_machine)
{
	const int wanted[] = { ftrace_updates, expedited, stop_machine };
	int i;

	kp_ft_counted = NULL;
	for (i = 0; i < ARRAY_SIZE(kp_ft_counters); i++) {
		kp_kprobe_del(test, &kp_ft_counters[i].kp);
		KUNIT_EXPECT_EQ_MSG(test, kp_ft_counters[i].n, wanted[i], "%s",
				    kp_ft_counters[i].kp.symbol_name);
	}
}

static void notrace kp_ft_rival_func(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);

	if (regs)
		instruction_pointer_set(regs, (unsigned long)kp_ft_elsewhere);
	else
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)kp_ft_elsewhere);
}

/* Without DYNAMIC_FTRACE_WITH_ARGS, only callbacks that ask for all registers get any. */
struct ftrace_ops kp_ft_rival = {
	.func = kp_ft_rival_func,
	.flags = FTRACE_OPS_FL_IPMODIFY |
		 (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) ? 0 : FTRACE_OPS_FL_SAVE_REGS),
};

static void kp_ft_rival_off(void *unused)
{
	unregister_ftrace_function(&kp_ft_rival);
}

static int kp_ft_rival_on(struct kunit *test, unsigned long addr)
{
	int ret;

	KUNIT_ASSERT_EQ(test, ftrace_set_filter_ip(&kp_ft_rival, addr, 0, 1), 0);
	ret = register_ftrace_function(&kp_ft_rival);
	if (ret)
		return ret;
	return kunit_add_action_or_reset(test, kp_ft_rival_off, NULL);
}

/*
 * While a live patch is attached, a probe with a post_handler must be refused, since it may
 * redirect execution, too. Other probes must not be refused. The live patch, kp_ft_rival, redirects
 * to kp_ft_elsewhere(), which returns its argument plus 100.
 */
void kp_ft_patched_before(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_ft_target);
	struct kp_probe *looks = kp_new(test, kp_ft_target);
	struct kp_probe *other = kp_new(test, kp_ft_other);
	struct kp_probe *disabled = kp_new(test, kp_ft_target);
	struct kprobe *batch[] = { &other->kp, &probe->kp };

	probe->kp.post_handler = kp_ft_post;
	disabled->kp.post_handler = kp_ft_post;
	/* Register the probe once, to get the address that ftrace patches. */
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	kp_unregister(test, probe);
	KUNIT_ASSERT_EQ(test, kp_ft_rival_on(test, (unsigned long)probe->kp.addr), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 101);

	KUNIT_EXPECT_EQ(test, kp_register(test, probe), -EBUSY);
	KUNIT_EXPECT_FALSE(test, kprobe_ftrace(&probe->kp));
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, register_kprobes(batch, 2), -EBUSY);
	kp_expect_call(test, other, kp_ft_other, 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, other), 0);
	KUNIT_EXPECT_EQ(test, kp_ft_is_nop(other), false);
	kp_unregister(test, other);
	KUNIT_EXPECT_EQ(test, kp_ft_is_nop(other), !kp_ft_crowd);

	KUNIT_ASSERT_EQ(test, kp_register(test, looks), 0);
	KUNIT_EXPECT_EQ(test, kp_register(test, probe), -EBUSY);
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 101);
	KUNIT_EXPECT_EQ(test, looks->pre, 1);
	KUNIT_EXPECT_EQ(test, looks->pre_regs.ip, (unsigned long)looks->kp.addr + 1);

	/*
	 * While the rival, which has FTRACE_OPS_FL_IPMODIFY, is attached, a disabled probe with a
	 * post_handler can be registered, but not enabled.
	 */
	disabled->kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_register(test, disabled), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&disabled->kp), -EBUSY);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&disabled->kp));
	KUNIT_EXPECT_EQ(test, kp_ft_caller(1), 101);
	KUNIT_EXPECT_EQ(test, disabled->pre, 0);
	KUNIT_EXPECT_EQ(test, looks->pre, 2);

	kunit_release_action(test, kp_ft_rival_off, NULL);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&disabled->kp), 0);
	kp_expect_call(test, disabled, kp_ft_caller, 1);
	KUNIT_EXPECT_EQ(test, disabled->post, 1);
	KUNIT_EXPECT_EQ(test, looks->pre, 3);
}

/*
 * Register and unregister two probes with a post_handler and two without at one address, in random
 * order. Each hit must call every registered probe once. A live patch must be refused if and only
 * if a probe with a post_handler is registered, since such a probe may redirect execution, too.
 */
void kp_ft_orders(struct kunit *test)
{
	struct kp_probe *probe[4];
	unsigned int there = 0, step, i, calls[4] = {}, posts[4] = {};
	u32 random = 12345;
	int ret;

	for (i = 0; i < 4; i++) {
		probe[i] = kp_new(test, kp_ft_target);
		if (i & 1)
			probe[i]->kp.post_handler = kp_ft_post;
	}
	for (step = 0; step < 60; step++) {
		random = random * 1664525 + 1013904223;
		i = random >> 30;
		if (there & BIT(i))
			kp_unregister(test, probe[i]);
		else
			KUNIT_ASSERT_EQ(test, kp_register(test, probe[i]), 0);
		there ^= BIT(i);
		KUNIT_ASSERT_EQ(test, kp_ft_caller(step), step + 1);
		for (i = 0; i < 4; i++) {
			calls[i] += !!(there & BIT(i));
			posts[i] += (there & BIT(i)) && (i & 1);
			KUNIT_ASSERT_EQ_MSG(test, probe[i]->pre, calls[i],
					    "probe %u in step %u", i, step);
			KUNIT_ASSERT_EQ(test, probe[i]->post, posts[i]);
		}
		ret = kp_ft_rival_on(test, (unsigned long)probe[0]->kp.addr ?:
				     (unsigned long)probe[1]->kp.addr);
		KUNIT_ASSERT_EQ_MSG(test, ret, there & 10 ? -EBUSY : 0, "%x in step %u",
				    there, step);
		if (!ret)
			kunit_release_action(test, kp_ft_rival_off, NULL);
	}
}

/* Call the first @nr of kp_ft_many[]. Check that each probe was hit @hits times since kp_new(). */
static __nocfi void kp_ft_call_many(struct kunit *test, struct kprobe **kps, int nr, int hits)
{
	int i;

	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, kp_ft_many[i](i), i + 1);
		KUNIT_EXPECT_EQ_MSG(test, kp_of(kps[i])->pre, hits, "probe %d", i);
	}
}

/* A batch must need only one update of each filter, and only one grace period at the end. */
void kp_ft_batch(struct kunit *test)
{
	struct kprobe **kps = kp_zalloc(test, KP_FT_MANY * sizeof(*kps));
	int i, round;

	for (i = 0; i < KP_FT_MANY; i++) {
		kps[i] = &kp_new(test, kp_ft_many[i])->kp;
		if (i % 10 == 3)
			kps[i]->post_handler = kp_ft_post;
	}
	for (round = 1; round <= 3; round++) {
		kp_ft_costs_begin(test);
		KUNIT_ASSERT_EQ(test, register_kprobes(kps, KP_FT_MANY), 0);
		/* Two updates: one filter is for probes with a post_handler, one for the others. */
		kp_ft_costs_end(test, 2, 0, 0);
		kp_ft_call_many(test, kps, KP_FT_MANY, round);

		kp_ft_costs_begin(test);
		unregister_kprobes(kps, KP_FT_MANY);
		kp_ft_costs_end(test, 2, 1, 0);
		kp_ft_call_many(test, kps, KP_FT_MANY, round);
		for (i = 0; i < KP_FT_MANY; i++)
			KUNIT_EXPECT_EQ(test, kp_ft_is_nop(kp_of(kps[i])), !kp_ft_crowd);
	}
}

/* If ftrace refuses any one probe of a batch, no probe of it may stay registered. */
void kp_ft_batch_refused(struct kunit *test)
{
	struct kprobe *kps[5];
	int at, i;

	for (i = 0; i < 5; i++) {
		kps[i] = &kp_new(test, kp_ft_many[i])->kp;
		kps[i]->post_handler = kp_ft_post;
	}
	KUNIT_ASSERT_EQ(test, register_kprobes(kps, 5), 0);
	unregister_kprobes(kps, 5);
	for (at = 0; at < 5; at++) {
		KUNIT_ASSERT_EQ(test, kp_ft_rival_on(test, (unsigned long)kps[at]->addr), 0);
		KUNIT_EXPECT_EQ(test, register_kprobes(kps, 5), -EBUSY);
		kunit_release_action(test, kp_ft_rival_off, NULL);
		kp_ft_call_many(test, kps, 5, 0);
		for (i = 0; i < 5; i++) {
			KUNIT_EXPECT_EQ(test, kp_ft_is_nop(kp_of(kps[i])), !kp_ft_crowd);
			KUNIT_EXPECT_EQ(test, enable_kprobe(kps[i]), -EINVAL);
		}
	}
}

static struct kprobe *kp_ft_changed;

static int __kprobes kp_ft_change_pre(struct kprobe *kp, struct pt_regs *regs)
{
	if (current == kp_ft_counted)
		WRITE_ONCE(kp_ft_changed->post_handler, kp_ft_post);
	return 0;
}

/*
 * While a batch adds one address to the filter for post_handlers, a user sets a post_handler at
 * another address of the batch. That must not count as added, or it would be in no filter.
 */
void kp_ft_late_post(struct kunit *test)
{
	static struct kprobe adds = {
		.symbol_name = "ftrace_set_filter_ips",
		.pre_handler = kp_ft_change_pre,
	};
	struct kp_probe *first = kp_new(test, kp_ft_other), *second = kp_new(test, kp_ft_target);
	struct kp_probe *changed = kp_registered(test, kp_ft_target);
	struct kprobe *kps[] = { &first->kp, &second->kp };

	first->kp.post_handler = kp_ft_post;
	kp_ft_changed = &changed->kp;
	kp_kprobe_add(test, &adds);
	kp_ft_counted = current;
	KUNIT_EXPECT_EQ(test, register_kprobes(kps, 2), 0);
	kp_ft_counted = NULL;
	kp_kprobe_del(test, &adds);
	KUNIT_EXPECT_TRUE(test, changed->kp.post_handler == kp_ft_post);
	changed->kp.post_handler = NULL;
	kp_expect_call(test, first, kp_ft_other, 1);
	kp_expect_call(test, second, kp_ft_target, 1);
	kp_expect_hits(test, changed, 1);
	unregister_kprobes(kps, 2);
	kp_expect_call(test, changed, kp_ft_target, 2);
}

typedef void (*kp_ft_call_t)(void);

static void kp_ft_revive(void *disabled)
{
	WRITE_ONCE(*(bool *)disabled, false);
}

/* Call kprobe_ftrace_kill(), as ftrace does when it shuts itself down after an error. */
__nocfi void kp_ft_dead(struct kunit *test)
{
	kp_ft_call_t kill = kp_own_function(kprobe_ftrace_kill);
	bool *disabled = kp_own_variable(kprobe_ftrace_disabled);
	struct kp_probe *probe = kp_registered(test, kp_ft_target);
	struct kp_probe *late = kp_new(test, kp_ft_other);

	kill();
	kp_at_end(test, kp_ft_revive, disabled);
	/* Registered probes still work. */
	kp_expect_call(test, probe, kp_ft_target, 1);
	KUNIT_EXPECT_EQ(test, kp_register(test, late), -ENODEV);
	kp_expect_call(test, late, kp_ft_other, 0);
	kunit_release_action(test, kp_ft_revive, disabled);
	kp_expect_call(test, probe, kp_ft_target, 2);
	KUNIT_EXPECT_EQ(test, kp_register(test, late), 0);
	kp_expect_call(test, late, kp_ft_other, 1);
}
