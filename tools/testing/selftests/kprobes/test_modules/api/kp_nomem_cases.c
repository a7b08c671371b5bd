// SPDX-License-Identifier: GPL-2.0
/*
 * Fail each allocation of an operation, one at a time. The operation must either return -ENOMEM and
 * leave nothing behind, or work without that memory.
 */

#include "kp_handlers.h"
#include "kp_nomem.h"

/* More probes than there are slots in one page */
#define KP_BATCH	150
#define KP_TEXT		16

/* Repetitions: a caller leaks memory if an allocation of each repetition remains. */
#define KP_PASSES	4

/* Offset of the second instruction in kp_ret_many[]'s functions */
#define KP_INSIDE	((IS_ENABLED(CONFIG_X86_64) ? 3 : 2) + \
			 (IS_ENABLED(CONFIG_X86_KERNEL_IBT) ? 4 : 0))

enum kp_op {
	KP_REGISTER,	/* register probes, all at once */
	KP_OPTIMIZE,	/* register, wait for all jumps; the optimiser's allocations fail */
	KP_JOIN,	/* register a second probe with a post_handler at an address */
	KP_LEAVE,	/* unregister that second probe */
	KP_ENABLE,	/* enable disabled probes at once; the second of several is enabled */
	KP_REMOVE,	/* unregister probes, all at once */
	KP_DISABLE,	/* disable probes, one by one */
};

struct kp_plan {
	enum kp_op op;
	/* Probe entries that ftrace can trace. */
	bool entries;
	unsigned int nr;
	unsigned int offset;
	/* Every nth probe has a post_handler; 0: none has. */
	unsigned int post;
	/*
	 * Register return probes. Every @reserved-th one
	 * has @maxactive; if @reserved is 0, none has.
	 */
	bool returns;
	unsigned int reserved;
	int maxactive;
	size_t data_size;
	/*
	 * The plan is carried out again and again, and each time one allocation fails: number N,
	 * N + @stride, N + 2 * @stride and so on. This is done for @passes values of N.
	 */
	unsigned int passes;
	unsigned int stride;
	/* Minimum number of allocations of the plan */
	unsigned int least;
};

struct kp_np {
	struct kretprobe rp;
	unsigned int pre;
	unsigned int post;
	unsigned int returns;
};

static const struct kp_plan *kp_plan;
static struct kp_np kp_probe[KP_BATCH], kp_second;
static struct kprobe *kps[KP_BATCH];
static struct kretprobe *rps[KP_BATCH];
static u8 kp_text[KP_BATCH][KP_TEXT];

/* Expected hits of each probe of the plan, and of kp_second, since kp_fill() */
static unsigned int kp_hits, kp_second_hits;

KP_PRE_HANDLER(__kprobes, kp_np_pre, container_of(p, struct kp_np, rp.kp)->pre++)
KP_POST_HANDLER(__kprobes, kp_np_post, container_of(p, struct kp_np, rp.kp)->post++)

static int __kprobes kp_np_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct kp_np *probe = container_of(get_kretprobe(ri), struct kp_np, rp);

	probe->pre++;
	return memchr_inv(ri->data, 0, probe->rp.data_size) ? 1 : 0;
}

KP_RETURN_HANDLER(__kprobes, kp_np_return,
		  container_of(get_kretprobe(ri), struct kp_np, rp)->returns++)

static void *kp_function(unsigned int i)
{
	return kp_plan->entries ? kp_nomem_entries[i] : kp_ret_many[i];
}

static void kp_np_fill(struct kp_np *probe, unsigned int i, bool post)
{
	*probe = (struct kp_np) {
		.rp.kp.addr = kp_function(i) + kp_plan->offset,
		.rp.kp.pre_handler = kp_plan->returns ? NULL : kp_np_pre,
		.rp.kp.post_handler = post ? kp_np_post : NULL,
	};
}

static void kp_fill(void)
{
	unsigned int i;

	for (i = 0; i < kp_plan->nr; i++) {
		kp_np_fill(&kp_probe[i], i, kp_plan->post && i % kp_plan->post == 0);
		kps[i] = &kp_probe[i].rp.kp;
		rps[i] = &kp_probe[i].rp;
		rps[i]->entry_handler = kp_np_entry;
		rps[i]->handler = kp_np_return;
		rps[i]->data_size = kp_plan->data_size;
		if (kp_plan->reserved && i % kp_plan->reserved == 0)
			rps[i]->maxactive = kp_plan->maxactive;
	}
	kp_np_fill(&kp_second, 0, true);
	kp_hits = 0;
	kp_second_hits = 0;
}

static int kp_register(void)
{
	return kp_plan->returns ? register_kretprobes(rps, kp_plan->nr) :
				  register_kprobes(kps, kp_plan->nr);
}

static void kp_unregister(void)
{
	if (kp_plan->returns)
		unregister_kretprobes(rps, kp_plan->nr);
	else
		unregister_kprobes(kps, kp_plan->nr);
}

static void kp_expect_counts(struct kunit *test, const struct kp_np *probe, unsigned int hits)
{
	if (kp_plan->returns) {
		/* A call without an instance is counted as missed. */
		KUNIT_EXPECT_EQ(test, probe->pre + probe->rp.nmissed, hits);
		KUNIT_EXPECT_EQ(test, probe->returns, probe->pre);
		return;
	}
	KUNIT_EXPECT_EQ(test, probe->pre, hits);
	KUNIT_EXPECT_EQ(test, probe->post, probe->rp.kp.post_handler ? hits : 0);
	KUNIT_EXPECT_EQ(test, probe->rp.kp.nmissed, 0);
}

/* Call each function once; @hit, @second: the plan's probes and kp_second are armed. */
static void kp_call(struct kunit *test, bool hit, bool second)
{
	long (*function)(long arg);
	unsigned int i;

	kp_hits += hit;
	kp_second_hits += second;
	for (i = 0; i < kp_plan->nr; i++) {
		function = kp_function(i);
		KUNIT_EXPECT_EQ(test, function(i), (long)i + 1);
	}
	for (i = 0; i < kp_plan->nr; i++)
		kp_expect_counts(test, &kp_probe[i], kp_hits);
	kp_expect_counts(test, &kp_second, kp_second_hits);
}

/* Check that the functions have their original text, and that calls hit no probe. */
static void kp_expect_clean(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < kp_plan->nr; i++)
		KUNIT_EXPECT_MEMEQ_MSG(test, kp_function(i), kp_text[i], KP_TEXT, "function %u", i);
	kp_call(test, false, false);
}

static void kp_prepare(struct kunit *test)
{
	unsigned int i;

	kp_fill();
	switch (kp_plan->op) {
	case KP_REGISTER:
	case KP_OPTIMIZE:
		return;
	case KP_ENABLE:
		for (i = 0; i < kp_plan->nr; i++)
			if (i != 1)
				kps[i]->flags = KPROBE_FLAG_DISABLED;
		KUNIT_ASSERT_EQ(test, kp_register(), 0);
		return;
	default:
		KUNIT_ASSERT_EQ(test, kp_register(), 0);
		if (kp_plan->op == KP_LEAVE)
			KUNIT_ASSERT_EQ(test, register_kprobe(&kp_second.rp.kp), 0);
		kp_call(test, true, kp_plan->op == KP_LEAVE);
	}
}

/* Register the probes, and wait for all jumps: without memory, the optimiser retries. */
static int kp_optimize(struct kunit *test)
{
	unsigned long timeout = jiffies + 120 * HZ;
	int ret = kp_register();
	unsigned int i = 0;

	while (i < kp_plan->nr && !ret) {
		if (kprobe_optimized(kps[i])) {
			i++;
			continue;
		}
		kp_call(test, true, false);
		if (time_after(jiffies, timeout))
			ret = -ETIMEDOUT;
		schedule_timeout_idle(1);
	}
	return ret;
}

static int kp_attempt(struct kunit *test, unsigned int nth, bool *failed)
{
	unsigned int i;
	int ret = 0;

	kp_nomem_begin(kp_plan->op == KP_OPTIMIZE, nth);
	switch (kp_plan->op) {
	case KP_REGISTER:
		ret = kp_register();
		break;
	case KP_OPTIMIZE:
		ret = kp_optimize(test);
		break;
	case KP_JOIN:
		ret = register_kprobe(&kp_second.rp.kp);
		break;
	case KP_LEAVE:
		unregister_kprobe(&kp_second.rp.kp);
		break;
	case KP_ENABLE:
		ret = enable_kprobes(kps, kp_plan->nr);
		break;
	case KP_REMOVE:
		kp_unregister();
		break;
	case KP_DISABLE:
		for (i = 0; i < kp_plan->nr; i++)
			ret = disable_kprobe(kps[i]) ?: ret;
		break;
	}
	*failed = kp_nomem_end();
	return ret;
}

static bool kp_removes(void)
{
	return kp_plan->op == KP_REMOVE || kp_plan->op == KP_DISABLE || kp_plan->op == KP_LEAVE;
}

static void kp_expect_done(struct kunit *test)
{
	static struct kp_np other;
	bool armed = kp_plan->op != KP_REMOVE && kp_plan->op != KP_DISABLE;

	kp_call(test, armed, kp_plan->op == KP_JOIN);
	if (kp_plan->op == KP_JOIN) {
		unregister_kprobe(&kp_second.rp.kp);
		kp_call(test, true, false);
	}
	kp_unregister();
	if (!kp_removes())
		return;
	/*
	 * If there was no memory to change a filter of
	 * ftrace, the next batch tries again: make one.
	 */
	kp_np_fill(&other, kp_plan->nr, false);
	KUNIT_ASSERT_EQ(test, register_kprobe(&other.rp.kp), 0);
	unregister_kprobe(&other.rp.kp);
	kp_call(test, false, false);
}

static void kp_expect_failed(struct kunit *test)
{
	unsigned int i;

	if (kp_plan->op == KP_ENABLE && kp_plan->nr > 1) {
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(kps[1]));
		KUNIT_EXPECT_EQ(test, disable_kprobe(kps[1]), 0);
	}
	kp_call(test, kp_plan->op == KP_JOIN, false);
	switch (kp_plan->op) {
	case KP_REGISTER:
		for (i = 0; i < kp_plan->nr; i++) {
			KUNIT_EXPECT_EQ(test, enable_kprobe(kps[i]), -EINVAL);
			KUNIT_EXPECT_EQ(test, enable_kretprobe(rps[i]), -EINVAL);
			/* addr is the given address, or the one after its endbr. */
			KUNIT_EXPECT_LE(test, (void *)kps[i]->addr - kp_function(i) -
					kp_plan->offset, 4);
			KUNIT_EXPECT_EQ(test, kps[i]->flags, 0);
			KUNIT_EXPECT_EQ(test, rps[i]->kp.flags, 0);
		}
		break;
	case KP_JOIN:
		KUNIT_EXPECT_EQ(test, enable_kprobe(&kp_second.rp.kp), -EINVAL);
		unregister_kprobe(&kp_second.rp.kp);
		kp_call(test, true, false);
		break;
	case KP_ENABLE:
		for (i = 0; i < kp_plan->nr; i++)
			KUNIT_EXPECT_TRUE(test, kprobe_disabled(kps[i]));
		break;
	default:
		KUNIT_FAIL(test, "operation %d may not fail", kp_plan->op);
	}
	/* unregister_*() must be harmless after a failed registration. */
	kp_unregister();
}

static void kp_run(struct kunit *test, const struct kp_plan *plan)
{
	unsigned int nth = 0, pass, refused = 0, done = 0, passes = plan->passes ?: KP_PASSES;
	unsigned int stride = plan->stride ?: 1, i;
	bool failed;
	int ret;

	kp_plan = plan;
	for (i = 0; i < plan->nr; i++)
		memcpy(kp_text[i], kp_function(i), KP_TEXT);
	for (pass = 0; pass < passes; pass++) {
		failed = true;
		refused = 0;
		done = 0;
		/*
		 * With a stride, each pass begins at another allocation, so that other ones fail.
		 */
		for (nth = 1 + pass % stride; failed; nth += failed ? stride : 0) {
			kp_prepare(test);
			ret = kp_attempt(test, nth, &failed);
			if (ret && (!failed || ret != -ENOMEM))
				KUNIT_FAIL(test, "unexpected error %d", ret);
			if (ret) {
				refused++;
				kp_expect_failed(test);
				kp_expect_clean(test);
				/* With all its memory, the same operation must succeed. */
				kp_prepare(test);
				KUNIT_ASSERT_EQ_MSG(test, kp_attempt(test, 0, &failed), 0,
						    "after a failure of %pS", kp_nomem_where());
				failed = true;
			} else {
				done++;
			}
			kp_expect_done(test);
			kp_expect_clean(test);
			if (test->status == KUNIT_FAILURE || nth > 10000)
				KUNIT_FAIL_AND_ABORT(test, "without allocation %u, of %pS", nth,
						     kp_nomem_where());
		}
	}
	kunit_info(test, "%u allocations: %u failures make it fail, %u do not\n", nth - 1, refused,
		   done - 1);
	KUNIT_EXPECT_GT_MSG(test, nth, plan->least, "too few allocations");
}

#define KP_RUNS(name, ...)							\
static void name(struct kunit *test)						\
{										\
	static const struct kp_plan plans[] = { __VA_ARGS__ };			\
	unsigned int i;								\
										\
	for (i = 0; i < ARRAY_SIZE(plans); i++)					\
		kp_run(test, &plans[i]);					\
}

KP_RUNS(kp_nomem_kprobe,
	{ .nr = 1, .least = 2 },
	{ .nr = 1, .offset = KP_INSIDE, .least = 2 },
	{ .nr = 1, .offset = KP_INSIDE, .post = 1, .least = 2 })
KP_RUNS(kp_nomem_kprobe_entry,
	{ .entries = true, .nr = 1, .least = 2 },
	{ .entries = true, .nr = 1, .post = 1, .least = 2 })
KP_RUNS(kp_nomem_kprobes,
	/* The batch fails after the first probe has got a slot that calls its post_handler. */
	{ .nr = 2, .offset = KP_INSIDE, .post = 1, .least = 4 },
	{ .nr = KP_BATCH, .stride = 61, .least = 2 * KP_BATCH },
	{ .nr = KP_BATCH, .post = 2, .stride = 61, .least = 2 * KP_BATCH })
KP_RUNS(kp_nomem_kprobes_entries,
	{ .entries = true, .nr = 40, .stride = 17, .least = 80 },
	{ .entries = true, .nr = 40, .post = 2, .stride = 17, .least = 80 })
KP_RUNS(kp_nomem_kretprobe,
	{ .returns = true, .nr = 1, .least = 2 },
	{ .returns = true, .nr = 1, .data_size = 40, .least = 2 },
	{ .returns = true, .nr = 1, .data_size = 200, .least = 2 },
	{ .returns = true, .nr = 1, .data_size = KRETPROBE_MAX_DATA_SIZE, .least = 2 },
	{ .returns = true, .nr = 1, .reserved = 1, .maxactive = 1, .least = 2 },
	{ .returns = true, .nr = 1, .reserved = 1, .maxactive = 100, .data_size = 24, .least = 2 },
	{ .returns = true, .nr = 1, .reserved = 1, .maxactive = 1000, .data_size = 400,
	  .least = 2 })
KP_RUNS(kp_nomem_kretprobe_entry,
	{ .entries = true, .returns = true, .nr = 1, .least = 2 },
	{ .entries = true, .returns = true, .nr = 1, .reserved = 1, .maxactive = 100,
	  .data_size = 24, .least = 2 })
KP_RUNS(kp_nomem_kretprobes,
	{ .returns = true, .nr = 20, .reserved = 2, .maxactive = 100, .data_size = 16,
	  .stride = 13, .least = 5 * 20 })
KP_RUNS(kp_nomem_kretprobes_entries,
	{ .entries = true, .returns = true, .nr = 20, .reserved = 3, .maxactive = 10,
	  .stride = 13, .least = 4 * 20 })
KP_RUNS(kp_nomem_join,
	{ .op = KP_JOIN, .nr = 1, .least = 1 },
	{ .op = KP_JOIN, .nr = 1, .offset = KP_INSIDE, .least = 1 })
KP_RUNS(kp_nomem_join_entry, { .op = KP_JOIN, .entries = true, .nr = 1, .least = 1 })
KP_RUNS(kp_nomem_enable,
	{ .op = KP_ENABLE, .nr = 1, .least = 1 },
	{ .op = KP_ENABLE, .nr = 1, .post = 1, .least = 1 },
	{ .op = KP_ENABLE, .nr = 3, .least = 2 })
KP_RUNS(kp_nomem_enable_entry,
	{ .op = KP_ENABLE, .entries = true, .nr = 1, .least = 1 },
	{ .op = KP_ENABLE, .entries = true, .nr = 1, .post = 1, .least = 1 },
	{ .op = KP_ENABLE, .entries = true, .nr = 3, .least = 2 })
KP_RUNS(kp_nomem_remove,
	{ .op = KP_REMOVE, .nr = 3 },
	{ .op = KP_DISABLE, .nr = 3, .stride = 7 },
	{ .op = KP_REMOVE, .nr = 3, .post = 2 },
	{ .op = KP_DISABLE, .nr = 3, .post = 2, .stride = 7 })
KP_RUNS(kp_nomem_remove_entries,
	{ .op = KP_REMOVE, .entries = true, .nr = 3 },
	{ .op = KP_DISABLE, .entries = true, .nr = 3, .stride = 7 },
	{ .op = KP_REMOVE, .entries = true, .nr = 3, .post = 2 },
	{ .op = KP_DISABLE, .entries = true, .nr = 3, .post = 2, .stride = 7 })
KP_RUNS(kp_nomem_remove_returns,
	{ .op = KP_REMOVE, .returns = true, .nr = 3 },
	{ .op = KP_REMOVE, .returns = true, .nr = 3, .reserved = 1, .maxactive = 100 })
KP_RUNS(kp_nomem_leave, { .op = KP_LEAVE, .nr = 1 })
KP_RUNS(kp_nomem_leave_entry, { .op = KP_LEAVE, .entries = true, .nr = 1 })

#ifdef CONFIG_OPTPROBES
static void kp_nomem_optimize(struct kunit *test)
{
	/*
	 * The page of an earlier detour buffer may be used
	 * again, so only few allocations are certain.
	 */
	static const struct kp_plan one = {
		.op = KP_OPTIMIZE, .nr = 1, .passes = 2, .least = 2,
	}, pages = {
		.op = KP_OPTIMIZE, .nr = 80, .post = 2, .passes = 1, .stride = 16, .least = 80,
	};

	/*
	 * The optimiser also makes allocations for this module's own probes: let it finish these.
	 */
	kp_plan = &one;
	kp_fill();
	KUNIT_ASSERT_EQ(test, kp_optimize(test), 0);
	kp_unregister();
	kp_run(test, &one);
	/* There are so many probes that their detour buffers need several pages. */
	kp_run(test, &pages);
}
#endif

/*
 * If an allocation fails, both registrations fail, but only one for that reason: @waits still has
 * the reason that its module is not loaded.
 */
static void kp_nomem_waiting(struct kunit *test)
{
	static const struct kp_plan one = { .nr = 1 };
	struct kprobe waits, *both[] = { &waits, &kp_probe[0].rp.kp };
	unsigned int nth = 0;
	bool failed = true;

	kp_plan = &one;
	while (failed) {
		kp_fill();
		waits = (struct kprobe) {
			.symbol_name = "kp_no_module:function", .flags = KPROBE_FLAG_WAIT,
		};
		kp_nomem_begin(false, ++nth);
		if (!register_kprobes(both, ARRAY_SIZE(both))) {
			unregister_kprobes(both, ARRAY_SIZE(both));
			failed = kp_nomem_end();
			continue;
		}
		KUNIT_ASSERT_TRUE(test, kp_nomem_end());
		KUNIT_EXPECT_EQ(test, both[1]->refusal, KPROBE_REASON_NO_MEMORY);
		KUNIT_EXPECT_EQ(test, waits.refusal, KPROBE_REASON_NO_SYMBOL);
	}
	KUNIT_EXPECT_GT(test, nth, 2);
}

static struct kunit_case kp_nomem_cases[] = {
	KUNIT_CASE(kp_nomem_kprobe),
	KUNIT_CASE_SLOW(kp_nomem_kprobe_entry),
	KUNIT_CASE_SLOW(kp_nomem_kprobes),
	KUNIT_CASE_SLOW(kp_nomem_kprobes_entries),
	KUNIT_CASE_SLOW(kp_nomem_kretprobe),
	KUNIT_CASE_SLOW(kp_nomem_kretprobe_entry),
	KUNIT_CASE_SLOW(kp_nomem_kretprobes),
	KUNIT_CASE_SLOW(kp_nomem_kretprobes_entries),
	KUNIT_CASE(kp_nomem_waiting),
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

/* Shared pools are never freed: make one of each size before allocations are recorded. */
static int kp_nomem_case_init(struct kunit *test)
{
	static const size_t sizes[] = { 0, 40, 200, KRETPROBE_MAX_DATA_SIZE };
	struct kretprobe rp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rp = (struct kretprobe) {
			.kp.addr = (void *)kp_ret_many[0], .data_size = sizes[i],
		};
		KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
		unregister_kretprobe(&rp);
	}
	kp_nomem_clear_accounts();
	return 0;
}

static void kp_nomem_case_exit(struct kunit *test)
{
	static const struct kp_plan entry = { .entries = true, .nr = 1 };
	unsigned int allowed = KP_PASSES - 1;
	struct kp_np last;
	int post;

	/* A shared pool may have grown, and keeps that memory. */
	if (kp_plan->op == KP_REGISTER && kp_plan->returns && kp_plan->nr == 1)
		allowed += 2;
	/*
	 * Ftrace keeps copies of its last filters. Replace them
	 * by small ones, so that those of the case are freed.
	 */
	kp_plan = &entry;
	for (post = 0; post <= 1; post++) {
		kp_np_fill(&last, 0, post);
		KUNIT_EXPECT_EQ(test, register_kprobe(&last.rp.kp), 0);
		unregister_kprobe(&last.rp.kp);
	}
	kp_nomem_expect_freed(test, allowed);
}

KP_SUITE(kp_nomem, "kprobes_nomem", .init = kp_nomem_case_init, .exit = kp_nomem_case_exit);
