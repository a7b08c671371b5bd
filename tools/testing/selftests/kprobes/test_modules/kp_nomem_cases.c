// SPDX-License-Identifier: GPL-2.0
/*
 * Registration, and all else that allocates, without one allocation after the other: -ENOMEM
 * is returned and nothing is left, or it works all the same.
 */

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "kp_nomem.h"

/* Enough that pages of slots are made for them. */
#define KP_BATCH	150
#define KP_TEXT		16

/* Everything is done so often: what one place has left behind each time is a leak. */
#define KP_PASSES	4

/* The second instruction of the functions that are not ftrace's. */
#define KP_INSIDE	((IS_ENABLED(CONFIG_X86_64) ? 3 : 2) + \
			 (IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0))

struct kp_np {
	struct kprobe kp;
	unsigned int pre;
	unsigned int post;
};

struct kp_nrp {
	struct kretprobe rp;
	unsigned int entries;
	unsigned int returns;
};

/* What is probed in a case, and how. */
static struct {
	long (*const *function)(long arg);
	unsigned int offset;
	unsigned int nr;
	/* Every nth probe has a post_handler; 0: none has. */
	unsigned int post;
	/* Return probes: every nth has maxactive; 0: none has. */
	bool returns;
	unsigned int reserved;
	int maxactive;
	size_t data_size;
	/* How often each function has been called since its probes were registered. */
	unsigned int calls;
} kp_set;

/* See kp_nomem_expect_freed(). */
static unsigned int kp_allowed;

static struct kp_np kp_probe[KP_BATCH];
static struct kp_nrp kp_rprobe[KP_BATCH];
static struct kprobe *kps[KP_BATCH];
static struct kretprobe *rps[KP_BATCH];
static u8 kp_text[KP_BATCH][KP_TEXT];

static int kp_np_pre(struct kprobe *kp, struct pt_regs *regs)
{
	container_of(kp, struct kp_np, kp)->pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_np_pre);

static void kp_np_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	container_of(kp, struct kp_np, kp)->post++;
}

NOKPROBE_SYMBOL(kp_np_post);

static int kp_nrp_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_nrp *probe = container_of(get_kretprobe(ri), struct kp_nrp, rp);

	probe->entries++;
	return memchr_inv(ri->data, 0, probe->rp.data_size) ? 1 : 0;
}

NOKPROBE_SYMBOL(kp_nrp_entry);

static int kp_nrp_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	container_of(get_kretprobe(ri), struct kp_nrp, rp)->returns++;
	return 0;
}

NOKPROBE_SYMBOL(kp_nrp_return);

static void kp_np_fill(struct kp_np *probe, unsigned int i, bool post)
{
	*probe = (struct kp_np) {
		.kp.addr = (void *)kp_set.function[i] + kp_set.offset,
		.kp.pre_handler = kp_np_pre,
		.kp.post_handler = post ? kp_np_post : NULL,
	};
}

static void kp_set_fill(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < kp_set.nr; i++) {
		kp_np_fill(&kp_probe[i], i, kp_set.post && i % kp_set.post == 0);
		kps[i] = &kp_probe[i].kp;
		kp_rprobe[i] = (struct kp_nrp) {
			.rp.kp.addr = (void *)kp_set.function[i],
			.rp.entry_handler = kp_nrp_entry,
			.rp.handler = kp_nrp_return,
			.rp.data_size = kp_set.data_size,
			.rp.maxactive = kp_set.reserved && i % kp_set.reserved == 0 ?
					kp_set.maxactive : 0,
		};
		rps[i] = &kp_rprobe[i].rp;
	}
	kp_set.calls = 0;
}

static int kp_set_register(struct kunit *test)
{
	return kp_set.returns ? register_kretprobes(rps, kp_set.nr) :
				register_kprobes(kps, kp_set.nr);
}

static void kp_set_unregister(struct kunit *test)
{
	if (kp_set.returns)
		unregister_kretprobes(rps, kp_set.nr);
	else
		unregister_kprobes(kps, kp_set.nr);
}

static void kp_set_call(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < kp_set.nr; i++)
		KUNIT_EXPECT_EQ(test, kp_set.function[i](i), (long)i + 1);
}

static void kp_expect_hits(struct kunit *test, const struct kp_np *probe, unsigned int hits)
{
	KUNIT_EXPECT_EQ(test, probe->pre, hits);
	KUNIT_EXPECT_EQ(test, probe->post, probe->kp.post_handler ? hits : 0);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 0);
}

static void kp_set_expect(struct kunit *test, unsigned int hits)
{
	unsigned int i;

	kp_set_call(test);
	for (i = 0; i < kp_set.nr; i++) {
		if (!kp_set.returns) {
			kp_expect_hits(test, &kp_probe[i], hits);
			continue;
		}
		/* There may be no memory for instances, which has to be counted. */
		KUNIT_EXPECT_EQ(test, kp_rprobe[i].entries + kp_rprobe[i].rp.nmissed, hits);
		KUNIT_EXPECT_EQ(test, kp_rprobe[i].returns, kp_rprobe[i].entries);
	}
}

/* All of them, exactly once. */
static void kp_set_expect_done(struct kunit *test)
{
	kp_set_expect(test, ++kp_set.calls);
}

/* None is registered, nor looks as if it were. */
static void kp_set_expect_failed(struct kunit *test)
{
	unsigned int i;

	kp_set_expect(test, kp_set.calls);
	for (i = 0; i < kp_set.nr; i++) {
		KUNIT_EXPECT_EQ(test, enable_kprobe(kps[i]), -EINVAL);
		KUNIT_EXPECT_EQ(test, enable_kretprobe(rps[i]), -EINVAL);
		/* There, or behind its endbr. */
		KUNIT_EXPECT_LE(test, (void *)kps[i]->addr - (void *)kp_set.function[i] -
				kp_set.offset, 4);
		KUNIT_EXPECT_EQ(test, kps[i]->flags, 0);
		KUNIT_EXPECT_EQ(test, rps[i]->kp.flags, 0);
	}
	/* Which is harmless. */
	kp_set_unregister(test);
}

static void kp_text_save(void)
{
	unsigned int i;

	for (i = 0; i < kp_set.nr; i++)
		memcpy(kp_text[i], kp_set.function[i], KP_TEXT);
}

/* The text is what it was before there were any probes. */
static void kp_set_expect_clean(struct kunit *test)
{
	unsigned int i, calls = kp_set.calls;

	for (i = 0; i < kp_set.nr; i++)
		KUNIT_EXPECT_MEMEQ_MSG(test, (void *)kp_set.function[i], kp_text[i], KP_TEXT,
				       "function %u", i);
	kp_set_expect(test, calls);
}

static const struct kp_nomem_try kp_registration = {
	.prepare = kp_set_fill,
	.attempt = kp_set_register,
	.undo = kp_set_unregister,
	.expect_done = kp_set_expect_done,
	.expect_failed = kp_set_expect_failed,
	.expect_clean = kp_set_expect_clean,
	.passes = KP_PASSES,
	.stride = 1,
	.least = 2,
};

static void kp_at_entries(unsigned int nr)
{
	memset(&kp_set, 0, sizeof(kp_set));
	kp_set.function = kp_nomem_entries;
	kp_set.nr = nr;
	kp_text_save();
}

/* Not where ftrace may be. */
static void kp_in_functions(unsigned int nr)
{
	memset(&kp_set, 0, sizeof(kp_set));
	kp_set.function = kp_ret_many;
	kp_set.nr = nr;
	kp_text_save();
}

static void kp_nomem_kprobe(struct kunit *test)
{
	kp_in_functions(1);
	kp_nomem_run(test, &kp_registration);
	kp_set.offset = KP_INSIDE;
	kp_nomem_run(test, &kp_registration);
	kp_set.post = 1;
	kp_nomem_run(test, &kp_registration);
}

static void kp_nomem_kprobe_entry(struct kunit *test)
{
	kp_at_entries(1);
	kp_nomem_run(test, &kp_registration);
	kp_set.post = 1;
	kp_nomem_run(test, &kp_registration);
}

static void kp_nomem_kprobes(struct kunit *test)
{
	struct kp_nomem_try t = kp_registration;

	kp_in_functions(KP_BATCH);
	t.stride = 61;
	t.least = 2 * KP_BATCH;
	kp_nomem_run(test, &t);
	kp_set.post = 2;
	kp_nomem_run(test, &t);
}

static void kp_nomem_kprobes_entries(struct kunit *test)
{
	struct kp_nomem_try t = kp_registration;

	kp_at_entries(KP_NOMEM_ENTRIES);
	t.stride = 17;
	t.least = 2 * KP_NOMEM_ENTRIES;
	kp_nomem_run(test, &t);
	kp_set.post = 2;
	kp_nomem_run(test, &t);
}

static const struct {
	unsigned int reserved;
	int maxactive;
	size_t data_size;
} kp_return_kinds[] = {
	{ 0, 0, 0 },
	{ 0, 0, 40 },
	{ 0, 0, 200 },
	{ 0, 0, KRETPROBE_MAX_DATA_SIZE },
	{ 1, 1, 0 },
	{ 1, 100, 24 },
	{ 1, 1000, 400 },
};

static void kp_returns_run(struct kunit *test, const struct kp_nomem_try *t, unsigned int step)
{
	unsigned int i;

	kp_set.returns = true;
	/* Each shared pool that there is stays. */
	kp_allowed = KP_PASSES + 1;
	for (i = 0; i < ARRAY_SIZE(kp_return_kinds); i += step) {
		kp_set.reserved = kp_return_kinds[i].reserved;
		kp_set.maxactive = kp_return_kinds[i].maxactive;
		kp_set.data_size = kp_return_kinds[i].data_size;
		kp_nomem_run(test, t);
	}
}

static void kp_nomem_kretprobe(struct kunit *test)
{
	kp_in_functions(1);
	kp_returns_run(test, &kp_registration, 1);
}

static void kp_nomem_kretprobe_entry(struct kunit *test)
{
	kp_at_entries(1);
	kp_returns_run(test, &kp_registration, 5);
}

static void kp_nomem_kretprobes(struct kunit *test)
{
	struct kp_nomem_try t = kp_registration;

	kp_in_functions(20);
	kp_set.returns = true;
	kp_set.reserved = 2;
	kp_set.maxactive = 100;
	kp_set.data_size = 16;
	t.stride = 13;
	t.least = 5 * 20;
	kp_nomem_run(test, &t);
}

static void kp_nomem_kretprobes_entries(struct kunit *test)
{
	struct kp_nomem_try t = kp_registration;

	kp_at_entries(20);
	kp_set.returns = true;
	kp_set.reserved = 3;
	kp_set.maxactive = 10;
	t.stride = 13;
	t.least = 4 * 20;
	kp_nomem_run(test, &t);
}

/* A probe joins another, which goes on as it was. */
static struct kp_np kp_joining;

static void kp_join_prepare(struct kunit *test)
{
	kp_set_fill(test);
	kp_np_fill(&kp_joining, 0, true);
	KUNIT_ASSERT_EQ(test, kp_set_register(test), 0);
}

static int kp_join(struct kunit *test)
{
	return register_kprobe(&kp_joining.kp);
}

static void kp_join_undo(struct kunit *test)
{
	unregister_kprobe(&kp_joining.kp);
	kp_set_expect_done(test);
	kp_expect_hits(test, &kp_joining, 1);
	kp_set_unregister(test);
}

static void kp_join_expect_done(struct kunit *test)
{
	kp_set_expect_done(test);
	kp_expect_hits(test, &kp_joining, 1);
}

static void kp_join_expect_failed(struct kunit *test)
{
	kp_set_expect_done(test);
	kp_expect_hits(test, &kp_joining, 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&kp_joining.kp), -EINVAL);
	unregister_kprobe(&kp_joining.kp);
	kp_set_expect_done(test);
	kp_set_unregister(test);
}

static const struct kp_nomem_try kp_joins = {
	.prepare = kp_join_prepare,
	.attempt = kp_join,
	.undo = kp_join_undo,
	.expect_done = kp_join_expect_done,
	.expect_failed = kp_join_expect_failed,
	.expect_clean = kp_set_expect_clean,
	.passes = KP_PASSES,
	.stride = 1,
	.least = 1,
};

static void kp_nomem_join(struct kunit *test)
{
	kp_in_functions(1);
	kp_nomem_run(test, &kp_joins);
	kp_set.offset = KP_INSIDE;
	kp_nomem_run(test, &kp_joins);
}

static void kp_nomem_join_entry(struct kunit *test)
{
	kp_at_entries(1);
	kp_nomem_run(test, &kp_joins);
}

/* A disabled probe is enabled, or stays disabled. */
static void kp_enable_prepare(struct kunit *test)
{
	kp_set_fill(test);
	kp_probe[0].kp.flags = KPROBE_FLAG_DISABLED;
	KUNIT_ASSERT_EQ(test, kp_set_register(test), 0);
}

static int kp_enable(struct kunit *test)
{
	return enable_kprobe(&kp_probe[0].kp);
}

static void kp_enable_expect_failed(struct kunit *test)
{
	kp_set_expect(test, kp_set.calls);
	KUNIT_EXPECT_TRUE(test, kprobe_disabled(&kp_probe[0].kp));
	kp_set_unregister(test);
}

static const struct kp_nomem_try kp_enables = {
	.prepare = kp_enable_prepare,
	.attempt = kp_enable,
	.undo = kp_set_unregister,
	.expect_done = kp_set_expect_done,
	.expect_failed = kp_enable_expect_failed,
	.expect_clean = kp_set_expect_clean,
	.passes = KP_PASSES,
	.stride = 1,
	.least = 1,
};

static void kp_nomem_enable(struct kunit *test)
{
	kp_in_functions(1);
	kp_nomem_run(test, &kp_enables);
	kp_set.post = 1;
	kp_nomem_run(test, &kp_enables);
}

static void kp_nomem_enable_entry(struct kunit *test)
{
	kp_at_entries(1);
	kp_nomem_run(test, &kp_enables);
	kp_set.post = 1;
	kp_nomem_run(test, &kp_enables);
}

/* To remove probes takes memory as well, but is always done. */
static void kp_remove_prepare(struct kunit *test)
{
	kp_set_fill(test);
	KUNIT_ASSERT_EQ(test, kp_set_register(test), 0);
	kp_set_expect_done(test);
}

static int kp_remove(struct kunit *test)
{
	kp_set_unregister(test);
	return 0;
}

static int kp_disable(struct kunit *test)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < kp_set.nr; i++)
		ret = disable_kprobe(kps[i]) ?: ret;
	return ret;
}

static void kp_remove_expect_done(struct kunit *test)
{
	kp_set_expect(test, kp_set.calls);
}

/*
 * What ftrace could not let go of, it does when something else is changed. It may be that
 * it is only now that this has been probed.
 */
static void kp_remove_undo(struct kunit *test)
{
	static struct kp_np other;
	unsigned int calls = kp_set.calls;

	kp_set_unregister(test);
	kp_np_fill(&other, kp_set.nr, false);
	KUNIT_ASSERT_EQ(test, register_kprobe(&other.kp), 0);
	unregister_kprobe(&other.kp);
	/* And here is what was removed: it is found as if it had never been. */
	kp_set_expect(test, calls);
}

static void kp_remove_expect_failed(struct kunit *test)
{
	KUNIT_FAIL(test, "probes can't be removed for lack of memory");
}

static const struct kp_nomem_try kp_removal = {
	.prepare = kp_remove_prepare,
	.attempt = kp_remove,
	.undo = kp_remove_undo,
	.expect_done = kp_remove_expect_done,
	.expect_failed = kp_remove_expect_failed,
	.expect_clean = kp_set_expect_clean,
	.never_fails = true,
	.passes = KP_PASSES,
	.stride = 1,
};

static void kp_removal_run(struct kunit *test, unsigned int post)
{
	struct kp_nomem_try t = kp_removal;

	kp_set.post = post;
	kp_nomem_run(test, &t);
	/* One by one, which is much more. */
	t.attempt = kp_disable;
	t.stride = 7;
	kp_nomem_run(test, &t);
}

static void kp_nomem_remove(struct kunit *test)
{
	kp_in_functions(3);
	kp_removal_run(test, 0);
	kp_removal_run(test, 2);
}

static void kp_nomem_remove_entries(struct kunit *test)
{
	kp_at_entries(3);
	kp_removal_run(test, 0);
	kp_removal_run(test, 2);
}

static void kp_nomem_remove_returns(struct kunit *test)
{
	kp_in_functions(3);
	kp_set.returns = true;
	kp_nomem_run(test, &kp_removal);
	kp_set.reserved = 1;
	kp_set.maxactive = 100;
	kp_nomem_run(test, &kp_removal);
}

/* The probe that needed post_handlers called leaves; the other has to go on. */
static void kp_leave_prepare(struct kunit *test)
{
	kp_join_prepare(test);
	KUNIT_ASSERT_EQ(test, kp_join(test), 0);
	kp_join_expect_done(test);
}

static int kp_leave(struct kunit *test)
{
	unregister_kprobe(&kp_joining.kp);
	return 0;
}

static void kp_leave_expect_done(struct kunit *test)
{
	kp_set_expect_done(test);
	kp_expect_hits(test, &kp_joining, 1);
}

static const struct kp_nomem_try kp_leaves = {
	.prepare = kp_leave_prepare,
	.attempt = kp_leave,
	.undo = kp_remove_undo,
	.expect_done = kp_leave_expect_done,
	.expect_failed = kp_remove_expect_failed,
	.expect_clean = kp_set_expect_clean,
	.never_fails = true,
	.passes = KP_PASSES,
	.stride = 1,
};

static void kp_nomem_leave(struct kunit *test)
{
	kp_in_functions(1);
	kp_nomem_run(test, &kp_leaves);
}

static void kp_nomem_leave_entry(struct kunit *test)
{
	kp_at_entries(1);
	kp_nomem_run(test, &kp_leaves);
}

#ifdef CONFIG_OPTPROBES
/* The worker that has no memory tries again, and puts in the jump then. */
static int kp_optimize(struct kunit *test)
{
	unsigned long timeout = jiffies + 120 * HZ;
	int ret = kp_set_register(test);
	unsigned int i;

	for (i = 0; i < kp_set.nr && !ret; ) {
		if (kprobe_optimized(kps[i])) {
			i++;
			continue;
		}
		kp_set_expect_done(test);
		if (time_after(jiffies, timeout))
			ret = -ETIMEDOUT;
		schedule_timeout_idle(1);
	}
	return ret;
}

static const struct kp_nomem_try kp_optimization = {
	.who = KP_NOMEM_OPTIMIZER,
	.prepare = kp_set_fill,
	.attempt = kp_optimize,
	.undo = kp_set_unregister,
	.expect_done = kp_set_expect_done,
	.expect_failed = kp_set_expect_failed,
	.expect_clean = kp_set_expect_clean,
	.never_fails = true,
	.passes = 2,
	.stride = 1,
	.least = 3,
};

static void kp_nomem_optimize(struct kunit *test)
{
	struct kp_nomem_try t = kp_optimization;

	kp_in_functions(1);
	kp_set_fill(test);
	/* Those of this module, first. */
	KUNIT_ASSERT_EQ(test, kp_optimize(test), 0);
	kp_set_unregister(test);
	kp_nomem_run(test, &t);
	/* So many that pages are made for their detours. */
	kp_in_functions(80);
	kp_set.post = 2;
	t.stride = 16;
	t.least = 80;
	t.passes = 1;
	kp_nomem_run(test, &t);
}
#endif

static struct kunit_case kp_nomem_cases[] = {
	KUNIT_CASE(kp_nomem_kprobe),
	KUNIT_CASE_SLOW(kp_nomem_kprobe_entry),
	KUNIT_CASE_SLOW(kp_nomem_kprobes),
	KUNIT_CASE_SLOW(kp_nomem_kprobes_entries),
	KUNIT_CASE_SLOW(kp_nomem_kretprobe),
	KUNIT_CASE_SLOW(kp_nomem_kretprobe_entry),
	KUNIT_CASE_SLOW(kp_nomem_kretprobes),
	KUNIT_CASE_SLOW(kp_nomem_kretprobes_entries),
	KUNIT_CASE(kp_nomem_join),
	KUNIT_CASE_SLOW(kp_nomem_join_entry),
	KUNIT_CASE(kp_nomem_enable),
	KUNIT_CASE_SLOW(kp_nomem_enable_entry),
	KUNIT_CASE(kp_nomem_remove),
	KUNIT_CASE_SLOW(kp_nomem_remove_entries),
	KUNIT_CASE(kp_nomem_remove_returns),
	KUNIT_CASE(kp_nomem_leave),
	KUNIT_CASE_SLOW(kp_nomem_leave_entry),
#ifdef CONFIG_OPTPROBES
	KUNIT_CASE_SLOW(kp_nomem_optimize),
#endif
	{}
};

static int kp_nomem_case_init(struct kunit *test)
{
	kp_allowed = KP_PASSES - 1;
	kp_nomem_forget();
	return 0;
}

static void kp_nomem_case_exit(struct kunit *test)
{
	struct kp_np last = { };

	/* Ftrace keeps what its filters had last; have that be little. */
	kp_at_entries(1);
	kp_np_fill(&last, 0, false);
	KUNIT_EXPECT_EQ(test, register_kprobe(&last.kp), 0);
	unregister_kprobe(&last.kp);
	kp_np_fill(&last, 0, true);
	KUNIT_EXPECT_EQ(test, register_kprobe(&last.kp), 0);
	unregister_kprobe(&last.kp);
	kp_nomem_expect_freed(test, kp_allowed);
}

struct kunit_suite kp_nomem_suite = {
	.name = "kprobes_nomem",
	.init = kp_nomem_case_init,
	.exit = kp_nomem_case_exit,
	.test_cases = kp_nomem_cases,
};
