// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: ftrace's records must follow all changes of filters. In random order, ftrace_ops of
 * all kinds (the users) are registered, are unregistered, and change their filters. After each such
 * change, all records are compared with the text, and with what the users ask for.
 *
 * Reading kp_filters in debugfs compares them, too, for a script.
 */

#include <linux/ftrace.h>
#include <linux/kthread.h>
#include "kp_filters.h"
#include "kp_symbol.h"

KP_MODULE_PARAM(uint, steps, 60, "number of changes in the case of random changes");
KP_MODULE_PARAM(ulong, seed, 0, "seed of the random changes; 0 for another one at each load");

/* Symbols of ftrace that are not exported */
static struct {
	/* protects the list of users and all records */
	struct mutex *lock;
	struct ftrace_ops **list;
	struct ftrace_ops *list_end;
	int *enabled;
	struct ftrace_rec_iter *(*iter_start)(void);
	struct ftrace_rec_iter *(*iter_next)(struct ftrace_rec_iter *iter);
	struct dyn_ftrace *(*iter_record)(struct ftrace_rec_iter *iter);
	unsigned long (*addr_curr)(struct dyn_ftrace *rec);
	int (*ops_test)(struct ftrace_ops *ops, unsigned long ip, void *regs);
} kf_sym;

static bool kf_find_symbols(void)
{
	kf_sym.lock = kp_find_symbol("ftrace_lock");
	kf_sym.list = kp_find_symbol("ftrace_ops_list");
	kf_sym.list_end = kp_find_symbol("ftrace_list_end");
	kf_sym.enabled = kp_find_symbol("ftrace_enabled");
	kf_sym.iter_start = kp_find_function("ftrace_rec_iter_start");
	kf_sym.iter_next = kp_find_function("ftrace_rec_iter_next");
	kf_sym.iter_record = kp_find_function("ftrace_rec_iter_record");
	kf_sym.addr_curr = kp_find_function("ftrace_get_addr_curr");
	kf_sym.ops_test = kp_find_function("ftrace_ops_test");
	return kf_sym.lock && kf_sym.list && kf_sym.list_end && kf_sym.enabled &&
	       kf_sym.iter_start && kf_sym.iter_next && kf_sym.iter_record &&
	       kf_sym.addr_curr && kf_sym.ops_test;
}

/*
 * Compare a record of ftrace with its users and with the text of the function. Return: NULL if they
 * agree, or else what is wrong. For the message, set @expected[0] to what the record should have,
 * and @expected[1] to what it has. Both are numbers of users or, if the text is wrong, the address
 * that the text calls.
 *
 * FTRACE_FL_REGS may stay set after the user that needed it no longer traces the function.
 */
static __nocfi const char *kf_wrong(struct dyn_ftrace *rec, unsigned long expected[2])
{
	struct ftrace_ops *ops, *only = NULL;
	unsigned long flags = rec->flags;
	unsigned int users = 0;
	bool modifies = false, direct = false, regs = false;
	u8 insn[MCOUNT_INSN_SIZE];
	s32 rel;

	if ((flags & FTRACE_FL_DISABLED) && !(flags & FTRACE_FL_ENABLED))
		return NULL;
	for (ops = *kf_sym.list; ops != kf_sym.list_end; ops = ops->next) {
		if (!(ops->flags & FTRACE_OPS_FL_ENABLED) || !kf_sym.ops_test(ops, rec->ip, rec))
			continue;
		only = users++ ? NULL : ops;
		modifies |= ops->flags & FTRACE_OPS_FL_IPMODIFY;
		direct |= ops->flags & FTRACE_OPS_FL_DIRECT;
		regs |= ops->flags & FTRACE_OPS_FL_SAVE_REGS;
	}
	expected[0] = users;
	expected[1] = ftrace_rec_count(rec);
	if (ftrace_rec_count(rec) != users)
		return "count";
	if (!(flags & FTRACE_FL_ENABLED) != !(users && *kf_sym.enabled))
		return "enabled";
	if (!(flags & FTRACE_FL_IPMODIFY) != !modifies)
		return "ipmodify";
	if (users && !(flags & FTRACE_FL_DIRECT) != !direct)
		return "direct";
	if (regs && !(flags & FTRACE_FL_REGS))
		return "regs";
	if (users && !(flags & FTRACE_FL_TRAMP) != !(only && only->trampoline))
		return "trampoline";
	if (copy_from_kernel_nofault(insn, (void *)rec->ip, sizeof(insn)))
		return "no text";
	if (!(flags & FTRACE_FL_ENABLED))
		return insn[0] == 0xe8 ? "text: a call" : NULL;
	if (!(flags & FTRACE_FL_REGS) != !(flags & FTRACE_FL_REGS_EN))
		return "regs, not updated";
	if (!(flags & FTRACE_FL_TRAMP) != !(flags & FTRACE_FL_TRAMP_EN))
		return "trampoline, not updated";
	memcpy(&rel, insn + 1, sizeof(rel));
	expected[0] = kf_sym.addr_curr(rec);
	expected[1] = rec->ip + MCOUNT_INSN_SIZE + rel;
	if (insn[0] != 0xe8)
		return "text: no call";
	return expected[0] != expected[1] ? "text: another call" : NULL;
}

struct kf_audit {
	unsigned int records, used, wrong;
};

static __nocfi struct kf_audit kf_audit(void)
{
	struct ftrace_rec_iter *iter;
	struct kf_audit sum = {};

	mutex_lock(kf_sym.lock);
	for (iter = kf_sym.iter_start(); iter; iter = kf_sym.iter_next(iter)) {
		struct dyn_ftrace *rec = kf_sym.iter_record(iter);
		unsigned long expected[2];
		const char *what;

		sum.records++;
		sum.used += !!ftrace_rec_count(rec);
		what = kf_wrong(rec, expected);
		if (what && sum.wrong++ < 10)
			pr_info("kp_filters: %pS: %s: flags %lx, expected %lx, is %lx\n",
				(void *)rec->ip, what, rec->flags, expected[0], expected[1]);
		cond_resched();
	}
	mutex_unlock(kf_sym.lock);
	return sum;
}

static int kf_show(struct seq_file *m, void *unused)
{
	struct kf_audit sum = kf_audit();

	seq_printf(m, "records %u used %u wrong %u\n", sum.records, sum.used, sum.wrong);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(kf);

static void kf_expect_consistent(struct kunit *test, const char *after)
{
	struct kf_audit sum = kf_audit();

	KUNIT_EXPECT_GT(test, sum.records, KF_TARGETS);
	KUNIT_EXPECT_EQ_MSG(test, sum.wrong, 0, "after %s", after);
}

/* A user of ftrace. @filter, @exempt: targets in its filter and its notrace filter */
enum kf_kind { KF_PLAIN, KF_REGS, KF_MODIFY, KF_DIRECT };

struct kf_user {
	struct ftrace_ops ops;
	enum kf_kind kind;
	bool on;
	DECLARE_BITMAP(filter, KF_TARGETS);
	DECLARE_BITMAP(exempt, KF_TARGETS);
	unsigned int hits;
};

static void notrace kf_func(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
			    struct ftrace_regs *fregs)
{
	container_of(ops, struct kf_user, ops)->hits++;
}

static struct kf_user kf_users[] = {
	{ .kind = KF_PLAIN }, { .kind = KF_PLAIN }, { .kind = KF_PLAIN }, { .kind = KF_PLAIN },
	{ .kind = KF_REGS }, { .kind = KF_REGS },
	{ .kind = KF_MODIFY }, { .kind = KF_MODIFY },
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	{ .kind = KF_DIRECT },
#endif
};

/* Addresses of ftrace's call in the targets */
static unsigned long kf_locations[KF_TARGETS];

static int kf_unregister(struct kf_user *user)
{
	user->on = false;
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	if (user->kind == KF_DIRECT)
		return unregister_ftrace_direct(&user->ops, (unsigned long)kf_direct, true);
#endif
	return unregister_ftrace_function(&user->ops);
}

static void kf_users_off(void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kf_users); i++) {
		if (kf_users[i].on)
			kf_unregister(&kf_users[i]);
		if (kf_users[i].kind != KF_DIRECT)
			ftrace_free_filter(&kf_users[i].ops);
	}
}

static __nocfi void kf_users_init(struct kunit *test)
{
	unsigned long (*location)(unsigned long ip) = kp_function(test, "ftrace_location");
	int i;

	for (i = 0; i < KF_TARGETS; i++) {
		kf_locations[i] = location((unsigned long)kf_targets[i]);
		KUNIT_ASSERT_NE(test, kf_locations[i], 0);
	}
	for (i = 0; i < ARRAY_SIZE(kf_users); i++) {
		struct kf_user *user = &kf_users[i];
		enum kf_kind kind = user->kind;

		memset(user, 0, sizeof(*user));
		user->kind = kind;
		if (kind == KF_DIRECT)
			continue;
		user->ops.func = kf_func;
		if (kind == KF_REGS)
			user->ops.flags = FTRACE_OPS_FL_SAVE_REGS;
		if (kind == KF_MODIFY)
			user->ops.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_SAVE_REGS;
	}
	kp_at_end(test, kf_users_off, NULL);
}

static bool kf_traces(const struct kf_user *user, int target)
{
	return user->on && test_bit(target, user->filter) && !test_bit(target, user->exempt);
}

/* Is a target of @filter in the filter of another registered user of @kind? */
static bool kf_shares(const struct kf_user *user, enum kf_kind kind, const unsigned long *filter)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kf_users); i++)
		if (&kf_users[i] != user && kf_users[i].on && kf_users[i].kind == kind &&
		    bitmap_intersects(kf_users[i].filter, filter, KF_TARGETS))
			return true;
	return false;
}

/*
 * Only one user at a time may redirect a function, and no user may if the function has a direct
 * trampoline that has not agreed to share it.
 */
static bool kf_conflicts(const struct kf_user *user, const unsigned long *filter)
{
	return user->kind == KF_MODIFY && (kf_shares(user, KF_MODIFY, filter) ||
					   kf_shares(user, KF_DIRECT, filter));
}

/*
 * Call each target. It must return the right result, and each user that traces it must be called
 * once.
 */
static void kf_expect_hits(struct kunit *test)
{
	unsigned int before[ARRAY_SIZE(kf_users)];
	int i, t;

	for (t = 0; t < KF_TARGETS; t++) {
		for (i = 0; i < ARRAY_SIZE(kf_users); i++)
			before[i] = kf_users[i].hits;
		KUNIT_EXPECT_EQ(test, kf_targets[t](t), t + 1);
		for (i = 0; i < ARRAY_SIZE(kf_users); i++)
			if (kf_users[i].kind != KF_DIRECT)
				KUNIT_EXPECT_EQ_MSG(test, kf_users[i].hits - before[i],
						    kf_traces(&kf_users[i], t),
						    "user %d, target %d", i, t);
	}
}

static void kf_choose(struct rnd_state *rnd, unsigned long *some)
{
	int n = 1 + prandom_u32_state(rnd) % 5;

	bitmap_zero(some, KF_TARGETS);
	while (n--)
		__set_bit(prandom_u32_state(rnd) % KF_TARGETS, some);
}

static int kf_set(struct kf_user *user, const unsigned long *some, int remove, int reset)
{
	unsigned long ips[KF_TARGETS];
	unsigned int t, n = 0;

	for_each_set_bit(t, some, KF_TARGETS)
		ips[n++] = kf_locations[t];
	return ftrace_set_filter_ips(&user->ops, ips, n, remove, reset);
}

static void kf_add(struct kunit *test, struct kf_user *user, unsigned long *some)
{
	DECLARE_BITMAP(filter, KF_TARGETS);
	bool refused;

	bitmap_or(filter, user->filter, some, KF_TARGETS);
	refused = user->on && kf_conflicts(user, filter);
	KUNIT_EXPECT_EQ(test, kf_set(user, some, 0, 0), refused ? -EBUSY : 0);
	if (!refused)
		bitmap_copy(user->filter, filter, KF_TARGETS);
}

static void kf_remove(struct kunit *test, struct kf_user *user, unsigned long *some)
{
	bitmap_and(some, some, user->filter, KF_TARGETS);
	/* Leave something in the filter: an empty filter means all functions. */
	if (bitmap_empty(some, KF_TARGETS) || bitmap_equal(some, user->filter, KF_TARGETS))
		return;
	KUNIT_EXPECT_EQ(test, kf_set(user, some, 1, 0), 0);
	bitmap_andnot(user->filter, user->filter, some, KF_TARGETS);
}

static void kf_replace(struct kunit *test, struct kf_user *user, unsigned long *some)
{
	bool refused = user->on && kf_conflicts(user, some);

	KUNIT_EXPECT_EQ(test, kf_set(user, some, 0, 1), refused ? -EBUSY : 0);
	if (!refused)
		bitmap_copy(user->filter, some, KF_TARGETS);
}

static void kf_exempt(struct kunit *test, struct kf_user *user, unsigned long *some)
{
	unsigned int target = find_first_bit(some, KF_TARGETS);
	char name[32];

	if (user->kind == KF_MODIFY)
		return;
	snprintf(name, sizeof(name), "kf_targets_%u", target);
	KUNIT_EXPECT_EQ(test, ftrace_set_notrace(&user->ops, name, strlen(name), 1), 0);
	bitmap_zero(user->exempt, KF_TARGETS);
	__set_bit(target, user->exempt);
}

static void kf_switch(struct kunit *test, struct kf_user *user, unsigned long *unused)
{
	if (bitmap_empty(user->filter, KF_TARGETS))
		return;
	if (user->on) {
		KUNIT_EXPECT_EQ(test, kf_unregister(user), 0);
	} else if (kf_conflicts(user, user->filter)) {
		KUNIT_EXPECT_EQ(test, register_ftrace_function(&user->ops), -EBUSY);
	} else {
		KUNIT_EXPECT_EQ(test, register_ftrace_function(&user->ops), 0);
		user->on = true;
	}
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static void kf_switch_direct(struct kunit *test, struct kf_user *user, const unsigned long *some)
{
	if (user->on) {
		KUNIT_EXPECT_EQ(test, kf_unregister(user), 0);
		bitmap_zero(user->filter, KF_TARGETS);
		return;
	}
	/*
	 * Leave this out: KF_MODIFY and direct users share a function only if an ops_func agrees.
	 */
	if (kf_shares(user, KF_MODIFY, some))
		return;
	memset(&user->ops, 0, sizeof(user->ops));
	KUNIT_ASSERT_EQ(test, kf_set(user, some, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_direct(&user->ops, (unsigned long)kf_direct), 0);
	bitmap_copy(user->filter, some, KF_TARGETS);
	user->on = true;
}
#else
static void kf_switch_direct(struct kunit *test, struct kf_user *user, const unsigned long *some)
{
}
#endif

static void kf_random(struct kunit *test)
{
	static const struct {
		const char *name;
		void (*change)(struct kunit *test, struct kf_user *user, unsigned long *some);
	} actions[] = {
		{ "add", kf_add }, { "add", kf_add }, { "remove", kf_remove },
		{ "replace", kf_replace }, { "exempt", kf_exempt }, { "switch", kf_switch },
		{ "switch", kf_switch },
	};
	DECLARE_BITMAP(some, KF_TARGETS);
	struct rnd_state rnd;
	char after[64];
	u64 seeded = seed ?: get_random_u32();
	unsigned int i;

	kunit_info(test, "seed %llu", seeded);
	prandom_seed_state(&rnd, seeded);
	kf_users_init(test);
	for (i = 0; i < steps; i++) {
		unsigned int which = prandom_u32_state(&rnd) % ARRAY_SIZE(kf_users);
		unsigned int action = prandom_u32_state(&rnd) % ARRAY_SIZE(actions);
		struct kf_user *user = &kf_users[which];

		kf_choose(&rnd, some);
		if (user->kind == KF_DIRECT)
			kf_switch_direct(test, user, some);
		else
			actions[action].change(test, user, some);
		snprintf(after, sizeof(after), "change %u: %s, user %u, of kind %d", i,
			 actions[action].name, which, user->kind);
		kf_expect_consistent(test, after);
		kf_expect_hits(test);
		if (test->status == KUNIT_FAILURE)
			return;
	}
	kunit_release_action(test, kf_users_off, NULL);
	kf_expect_consistent(test, "the last one is off");
	kf_expect_hits(test);
}

/* After a filter was freed, the user's next filter must start empty. */
static void kf_freed(struct kunit *test)
{
	struct kf_user *user = &kf_users[0];
	DECLARE_BITMAP(some, KF_TARGETS) = {};
	struct ftrace_hash *filter;

	kf_users_init(test);
	__set_bit(0, some);
	kf_add(test, user, some);
	kf_switch(test, user, some);
	kf_switch(test, user, some);
	filter = rcu_access_pointer(user->ops.func_hash->filter_hash);
	ftrace_free_filter(&user->ops);
	KUNIT_ASSERT_PTR_NE(test, rcu_access_pointer(user->ops.func_hash->filter_hash), filter);
	ftrace_free_filter(&user->ops);

	bitmap_zero(user->filter, KF_TARGETS);
	__clear_bit(0, some);
	__set_bit(1, some);
	kf_add(test, user, some);
	kf_switch(test, user, some);
	kf_expect_consistent(test, "a filter after one that was freed");
	kf_expect_hits(test);
}

/*
 * kf_cost() counts how often ftrace checks a function with ftrace_test_record(). If one function is
 * added to a filter or removed, ftrace must check only that function, at most four times. If a
 * whole filter is registered or unregistered, ftrace may check each function three times.
 */
static unsigned int kf_tested;
static struct task_struct *kf_changer;

static int __kprobes kf_count_tests(struct kprobe *kp, struct pt_regs *regs)
{
	if (current == kf_changer)
		kf_tested++;
	return 0;
}

static struct kprobe kf_counter;

static unsigned int kf_tests_of(struct kunit *test, int ret)
{
	unsigned int tested = kf_tested;

	KUNIT_EXPECT_EQ(test, ret, 0);
	kf_tested = 0;
	return tested;
}

static void kf_cost(struct kunit *test)
{
	struct kf_user *user = &kf_users[0];
	unsigned long *ips = kf_locations;
	const int last = KF_TARGETS - 1;
	int ret;

	kf_users_init(test);
	kf_counter = (struct kprobe){
		.symbol_name = "ftrace_test_record", .pre_handler = kf_count_tests,
	};
	kp_kprobe_add(test, &kf_counter);
	kf_tested = 0;
	kf_changer = current;

	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ips(&user->ops, ips, last, 0, 1), 0);
	ret = register_ftrace_function(&user->ops);
	KUNIT_EXPECT_LE(test, kf_tests_of(test, ret), 3 * KF_TARGETS);
	user->on = true;
	ret = ftrace_set_filter_ips(&user->ops, ips + last, 1, 0, 0);
	KUNIT_EXPECT_LE(test, kf_tests_of(test, ret), 4);
	ret = ftrace_set_filter_ips(&user->ops, ips, 1, 1, 0);
	KUNIT_EXPECT_LE(test, kf_tests_of(test, ret), 4);
	/* Adding a function that is in the filter already must make ftrace check no function. */
	ret = ftrace_set_filter_ips(&user->ops, ips + 1, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, kf_tests_of(test, ret), 0);
	ret = unregister_ftrace_function(&user->ops);
	KUNIT_EXPECT_LE(test, kf_tests_of(test, ret), 3 * KF_TARGETS);
	user->on = false;
	kf_changer = NULL;
	kf_expect_consistent(test, "all");
}

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
static int kf_modify_direct(void *arg)
{
	struct kf_user *user = arg;
	int failed = 0;

	while (!kthread_should_stop()) {
		failed += !!modify_ftrace_direct(&user->ops, (unsigned long)kf_direct);
		cond_resched();
	}
	return failed;
}

/* Calls of kf_ask() for each command of ftrace; how many more times it returns -EAGAIN */
static unsigned int kf_asked[FTRACE_OPS_CMD_DISABLE_SHARE_IPMODIFY_PEER + 1];
static unsigned int kf_again;

static int kf_ask(struct ftrace_ops *ops, enum ftrace_ops_cmd cmd)
{
	kf_asked[cmd]++;
	if (cmd != FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER || !kf_again)
		return 0;
	kf_again--;
	return -EAGAIN;
}

static void kf_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	/* Not empty: kprobes takes an empty post_handler as a request not to optimise the probe. */
	WRITE_ONCE(kf_asked[0], READ_ONCE(kf_asked[0]));
}

static void kf_expect_asked(struct kunit *test, int enable, int disable)
{
	KUNIT_EXPECT_EQ(test, kf_asked[FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER], enable);
	KUNIT_EXPECT_EQ(test, kf_asked[FTRACE_OPS_CMD_DISABLE_SHARE_IPMODIFY_PEER], disable);
	memset(kf_asked, 0, sizeof(kf_asked));
	kf_expect_consistent(test, "sharing");
	kf_expect_hits(test);
}

/* ftrace must ask a direct user about each function that another user begins or ends to modify. */
static void kf_shared(struct kunit *test)
{
	struct kf_user *direct = &kf_users[ARRAY_SIZE(kf_users) - 1], *user = &kf_users[6];
	DECLARE_BITMAP(some, KF_TARGETS) = { BIT(0) | BIT(1) };
	DECLARE_BITMAP(one, KF_TARGETS) = { BIT(0) };
	DECLARE_BITMAP(other, KF_TARGETS) = { BIT(1) };

	kf_users_init(test);
	KUNIT_ASSERT_EQ(test, user->kind, KF_MODIFY);
	kf_again = 0;
	memset(kf_asked, 0, sizeof(kf_asked));
	kf_switch_direct(test, direct, some);
	direct->ops.ops_func = kf_ask;

	KUNIT_ASSERT_EQ(test, kf_set(user, (unsigned long []){ BIT(2) }, 0, 1), 0);
	KUNIT_ASSERT_EQ(test, register_ftrace_function(&user->ops), 0);
	user->on = true;
	__set_bit(2, user->filter);
	kf_expect_asked(test, 0, 0);

	KUNIT_EXPECT_EQ(test, kf_set(user, one, 0, 0), 0);
	__set_bit(0, user->filter);
	kf_expect_asked(test, 1, 0);
	kf_again = 1;
	KUNIT_EXPECT_EQ(test, kf_set(user, other, 0, 0), -EAGAIN);
	kf_expect_asked(test, 1, 0);
	KUNIT_EXPECT_EQ(test, ftrace_set_filter_ip(&user->ops, kf_locations[1], 0, 0), 0);
	__set_bit(1, user->filter);
	kf_expect_asked(test, 1, 0);
	KUNIT_EXPECT_EQ(test, kf_set(user, one, 1, 0), 0);
	__clear_bit(0, user->filter);
	kf_expect_asked(test, 0, 1);
	KUNIT_EXPECT_EQ(test, kf_unregister(user), 0);
	kf_expect_asked(test, 0, 1);
}

/*
 * As in kf_shared(), but kprobes modifies the function, for a probe with a post_handler. kprobes
 * must retry after -EAGAIN: if ops_func returns -EAGAIN three times, kprobes must call it a fourth
 * time. If ops_func always returns -EAGAIN, the registration must fail.
 */
static void kf_shared_by_probe(struct kunit *test)
{
	struct kf_user *direct = &kf_users[ARRAY_SIZE(kf_users) - 1];
	DECLARE_BITMAP(some, KF_TARGETS) = { BIT(0) };
	static struct kprobe kps[2];

	kf_users_init(test);
	kf_again = 0;
	memset(kf_asked, 0, sizeof(kf_asked));
	kf_switch_direct(test, direct, some);
	direct->ops.ops_func = kf_ask;

	kps[0] = (struct kprobe){ .addr = (void *)kf_locations[2], .post_handler = kf_post };
	kps[1] = (struct kprobe){ .addr = (void *)kf_locations[0], .post_handler = kf_post };
	kp_kprobe_add(test, &kps[0]);
	kf_expect_asked(test, 0, 0);
	kf_again = 3;
	kp_kprobe_add(test, &kps[1]);
	kf_expect_asked(test, 4, 0);
	kp_kprobe_del(test, &kps[1]);
	kf_expect_asked(test, 0, 1);

	kf_again = UINT_MAX;
	kps[1] = (struct kprobe){ .addr = (void *)kf_locations[0], .post_handler = kf_post };
	KUNIT_EXPECT_EQ(test, register_kprobe(&kps[1]), -EAGAIN);
	KUNIT_EXPECT_GT(test, kf_asked[FTRACE_OPS_CMD_ENABLE_SHARE_IPMODIFY_PEER], 4);
	memset(kf_asked, 0, sizeof(kf_asked));
	kp_kprobe_del(test, &kps[0]);
	kf_expect_asked(test, 0, 0);
}

/* Change one user's filter while another user's direct trampoline is replaced. */
static void kf_concurrent(struct kunit *test)
{
	struct kf_user *direct = &kf_users[ARRAY_SIZE(kf_users) - 1], *user = &kf_users[0];
	DECLARE_BITMAP(one, KF_TARGETS) = { 1 };
	unsigned long end = jiffies + 2 * HZ;
	struct task_struct *task;
	int failed = 0;

	kf_users_init(test);
	kf_switch_direct(test, direct, one);
	kf_add(test, user, one);
	kf_switch(test, user, one);
	task = kthread_run(kf_modify_direct, direct, "kf_direct");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (time_before(jiffies, end)) {
		failed += !!ftrace_set_filter_ips(&user->ops, kf_locations, KF_TARGETS, 0, 1);
		failed += !!kf_set(user, one, 0, 1);
		cond_resched();
	}
	KUNIT_EXPECT_EQ(test, kthread_stop(task), 0);
	KUNIT_EXPECT_EQ(test, failed, 0);
	kf_expect_consistent(test, "changes of a filter and of a direct trampoline");
	kf_expect_hits(test);
}
#endif

static struct kunit_case kf_cases[] = {
	KUNIT_CASE_SLOW(kf_cost),
	KUNIT_CASE_SLOW(kf_random),
	KUNIT_CASE(kf_freed),
#ifdef CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS
	KUNIT_CASE(kf_shared),
	KUNIT_CASE(kf_shared_by_probe),
	KUNIT_CASE_SLOW(kf_concurrent),
#endif
	{}
};

static KP_SUITE(kf, "kprobes_filters");

static struct dentry *kf_file;

static int __init kf_init(void)
{
	if (!kf_find_symbols())
		return -ENOENT;
	kf_file = debugfs_create_file("kp_filters", 0400, NULL, NULL, &kf_fops);
	return 0;
}

static void __exit kf_exit(void)
{
	debugfs_remove(kf_file);
}

kunit_test_suite(kf_suite);
KP_MODULE("Filters of ftrace that change, and ftrace's records", kf_init, kf_exit);
