// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: probes that disable themselves. A handler only requests that, and a worker disables
 * the probe later. While a case holds kprobe_mutex, the worker cannot do so, and the case can count
 * the hits in between.
 */

#include <linux/probepoint.h>
#include "kp_handlers.h"
#include "kp_jumps.h"
#include "kp_regs.h"
#include "kp_symbol.h"

#define KP_HITS		5
/* Long enough for an emulated CPU on a busy machine */
#define KP_PATIENCE_MS	60000

struct kp_once {
	union {
		struct kprobe kp;
		struct kretprobe rp;
	};
	atomic_t pre, post, returns, won;
};

KP_PLUS(, long, kp_once_traced, 1)
KP_PLUS(notrace, long, kp_once_notrace, 1)

/* The barrier() prevents a tail call, so each level returns. */
static noinline long kp_once_nest(long depth)
{
	long ret = depth ? kp_once_nest(depth - 1) : 0;

	barrier();
	return ret + 1;
}

static void __kprobes kp_once_request(struct kprobe *kp)
{
	atomic_add(kprobe_disable_self(kp), &container_of(kp, struct kp_once, kp)->won);
}

KP_PRE_HANDLER(__kprobes, kp_once_count, atomic_inc(&container_of(p, struct kp_once, kp)->pre))

static int kp_once_pre(struct kprobe *kp, struct pt_regs *regs)
{
	kp_once_request(kp);
	return kp_once_count(kp, regs);
}

/* Another function that does the same */
static int kp_once_again(struct kprobe *kp, struct pt_regs *regs)
{
	return kp_once_pre(kp, regs);
}

KP_POST_HANDLER(__kprobes, kp_once_count_post,
		atomic_inc(&container_of(p, struct kp_once, kp)->post))

static void kp_once_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
	kp_once_request(kp);
	kp_once_count_post(kp, regs, flags);
}

struct kp_once_case {
	const char *name;
	long (*fn)(long arg);
	kprobe_pre_handler_t pre;
	kprobe_post_handler_t post;
	/* expected number of calls of each handler */
	int pre_calls, post_calls;
};

static const struct kp_once_case kp_once_cases[] = {
	{ "pre_handler, ftrace", kp_once_traced, kp_once_pre, NULL, 1, 0 },
	{ "pre_handler", kp_once_notrace, kp_once_pre, NULL, 1, 0 },
	{ "pre_handler, not its post_handler, ftrace", kp_once_traced,
	  kp_once_pre, kp_once_count_post, 1, 0 },
	{ "pre_handler, not its post_handler", kp_once_notrace,
	  kp_once_pre, kp_once_count_post, 1, 0 },
	{ "post_handler after a pre_handler", kp_once_notrace,
	  kp_once_count, kp_once_post, 1, 1 },
	{ "post_handler", kp_once_notrace, NULL, kp_once_post, 0, 1 },
	{ "post_handler, ftrace", kp_once_traced, NULL, kp_once_post, 0, 1 },
};

KUNIT_ARRAY_PARAM_DESC(kp_once_case, kp_once_cases, name);

static struct kp_once *kp_once_new(struct kunit *test, const struct kp_once_case *c)
{
	struct kp_once *probe = kp_zalloc(test, sizeof(*probe));

	probe->kp.addr = kp_entry(c->fn);
	probe->kp.pre_handler = c->pre;
	probe->kp.post_handler = c->post;
	kp_kprobe_add(test, &probe->kp);
	if (jumps)
		kp_wait_for_jump(&probe->kp, 500);
	return probe;
}

static void kp_once_call(struct kunit *test, long (*fn)(long arg))
{
	int i;

	for (i = 0; i < KP_HITS; i++)
		KUNIT_EXPECT_EQ(test, fn(i), i + 1);
}

/* Call the function while the worker cannot disable the probe. */
static void kp_once_call_pending(struct kunit *test, long (*fn)(long arg))
{
	guard(mutex)(&kprobe_mutex);
	kp_once_call(test, fn);
}

static void kp_once_expect(struct kunit *test, struct kp_once *probe, int times,
			   const struct kp_once_case *c, unsigned long missed)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), times);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->pre), times * c->pre_calls);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->post), times * c->post_calls);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, missed);
}

static void kp_once_wait_disabled(struct kunit *test, struct kprobe *kp)
{
	KUNIT_ASSERT_TRUE(test, kp_poll(kprobe_disabled(kp), KP_PATIENCE_MS));
	/*
	 * The flag is set before the text is patched: wait until the worker has released the mutex.
	 */
	guard(mutex)(&kprobe_mutex);
}

/*
 * The first hit requests that the probe is disabled. Hits after that must be counted as missed
 * until the worker disables the probe, and then there must be no more hits.
 */
static void kp_once_disabled(struct kunit *test)
{
	const struct kp_once_case *c = test->param_value;
	struct kp_once *probe = kp_once_new(test, c);
	int i;

	for (i = 1; i <= 3; i++) {
		kp_once_call_pending(test, c->fn);
		kp_once_expect(test, probe, i, c, i * (KP_HITS - 1));
		kp_once_wait_disabled(test, &probe->kp);
		kp_once_call(test, c->fn);
		kp_once_expect(test, probe, i, c, i * (KP_HITS - 1));
		KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
		KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe->kp));
	}
}

/*
 * If enable_kprobe() or disable_kprobe() is called right after the request, it must complete the
 * request first, or else the worker would disable a probe that the user has enabled since.
 */
static void kp_once_enabled_at_once(struct kunit *test)
{
	const struct kp_once_case *c = test->param_value;
	struct kp_once *probe = kp_once_new(test, c);
	int i;

	for (i = 1; i <= 10; i++) {
		kp_once_call_pending(test, c->fn);
		KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
		kp_once_expect(test, probe, i, c, i * (KP_HITS - 1));
	}
	/*
	 * enable_kprobe() has cancelled all requests so far, and disable_kprobe() completes the
	 * next one. None of them may disable the probe after it is enabled again.
	 */
	kp_once_call_pending(test, c->fn);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	kp_once_call_pending(test, c->fn);
	kp_once_expect(test, probe, i + 1, c, (i + 1) * (KP_HITS - 1));
}

/*
 * Unregister the probe right after the request. The struct kprobe must have the user's handlers
 * again, and the user may free it at once, or register it again: the worker must not touch it.
 */
static void kp_once_unregistered_at_once(struct kunit *test)
{
	const struct kp_once_case *c = test->param_value;
	struct kp_once *probe, *other;

	probe = kp_once_new(test, c);
	kp_once_call_pending(test, c->fn);
	kp_kprobe_del(test, &probe->kp);
	KUNIT_EXPECT_PTR_EQ(test, probe->kp.pre_handler, c->pre);
	KUNIT_EXPECT_PTR_EQ(test, probe->kp.post_handler, c->post);
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe->kp), 0);
	kp_once_call_pending(test, c->fn);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 2);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, KP_HITS - 1);
	unregister_kprobe(&probe->kp);
	memset(probe, 0x5a, sizeof(*probe));

	other = kp_once_new(test, c);
	kp_once_call_pending(test, c->fn);
	kp_once_wait_disabled(test, &other->kp);
	KUNIT_EXPECT_NULL(test, memchr_inv(probe, 0x5a, sizeof(*probe)));
}

/*
 * While a probe is registered, the user may set other handlers. A handler that is set after the
 * request, and makes it again, makes no second one.
 */
static void kp_once_other_handler(struct kunit *test)
{
	struct kp_once *probe = kp_once_new(test, &kp_once_cases[0]);

	scoped_guard(mutex, &kprobe_mutex) {
		KUNIT_EXPECT_EQ(test, kp_once_traced(1), 2);
		WRITE_ONCE(probe->kp.pre_handler, kp_once_again);
		kp_once_call(test, kp_once_traced);
	}
	kp_once_wait_disabled(test, &probe->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->pre), 1 + KP_HITS);
}

/* Handlers that were set since the registration are those that the probe has when it is enabled. */
static void kp_once_late_handlers(struct kunit *test)
{
	const struct kp_once_case count = { .fn = kp_once_notrace, .pre = kp_once_count };
	struct kp_once *probe = kp_once_new(test, &count);

	WRITE_ONCE(probe->kp.pre_handler, kp_once_again);
	WRITE_ONCE(probe->kp.post_handler, kp_once_count_post);
	kp_once_call_pending(test, kp_once_notrace);
	kp_once_wait_disabled(test, &probe->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->pre), 1);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_PTR_EQ(test, probe->kp.pre_handler, &kp_once_again);
	KUNIT_EXPECT_PTR_EQ(test, probe->kp.post_handler, &kp_once_count_post);
	WRITE_ONCE(probe->kp.pre_handler, kp_once_count);
	KUNIT_EXPECT_EQ(test, kp_once_notrace(1), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->pre), 2);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->post), 1);

	/* A handler that is set after the request stays, too. */
	WRITE_ONCE(probe->kp.pre_handler, kp_once_pre);
	kp_once_call_pending(test, kp_once_notrace);
	kp_once_wait_disabled(test, &probe->kp);
	WRITE_ONCE(probe->kp.pre_handler, kp_once_count);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_PTR_EQ(test, probe->kp.pre_handler, &kp_once_count);
	KUNIT_EXPECT_PTR_EQ(test, probe->kp.post_handler, &kp_once_count_post);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 2);
}

static void kp_once_no_work(struct work_struct *work)
{
}

static int __kprobes kp_once_skip_work(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)kp_once_no_work);
	return 1;
}

/*
 * Unregister the probe while the worker is late: its function is skipped. unregister_kprobe() must
 * take the request off the list, or else the next run of the worker would disable the probe, which
 * is registered again.
 */
static void kp_once_late_worker(struct kunit *test)
{
	struct kp_once *probe = kp_once_new(test, &kp_once_cases[0]), *other;
	struct kprobe *skip = kp_zalloc(test, sizeof(*skip));

	skip->symbol_name = "disable_self_worker";
	skip->pre_handler = kp_once_skip_work;
	kp_kprobe_add(test, skip);
	kp_once_call(test, kp_once_traced);
	kp_kprobe_del(test, &probe->kp);
	KUNIT_ASSERT_EQ(test, register_kprobe(&probe->kp), 0);
	kp_kprobe_del(test, skip);
	other = kp_once_new(test, &kp_once_cases[1]);
	kp_once_call(test, kp_once_notrace);
	kp_once_wait_disabled(test, &other->kp);
	KUNIT_EXPECT_FALSE(test, kprobe_disabled(&probe->kp));
	unregister_kprobe(&probe->kp);
}

/*
 * While unregister_kprobes() runs, a probe leaves its probepoint some time before hits stop calling
 * it. If a handler makes the request in that time, no hit may call the post_handler, either.
 */
static void kp_once_detached(struct kunit *test)
{
	const struct kp_once_case *c = test->param_value;
	struct kp_once *probe = kp_once_new(test, c);
	struct probepoint *pp = probe->kp.point;

	guard(mutex)(&kprobe_mutex);
	WRITE_ONCE(probe->kp.point, NULL);
	kp_once_call(test, c->fn);
	WRITE_ONCE(probe->kp.point, pp);
	kp_once_expect(test, probe, 1, c, KP_HITS - 1);
}

/* Other probes at the address must still be called, even if they are registered later. */
static void kp_once_others(struct kunit *test)
{
	const struct kp_once_case *c = test->param_value;
	const struct kp_once_case count = {
		.fn = c->fn, .pre = kp_once_count, .post = kp_once_count_post,
	};
	struct kp_once *older = kp_once_new(test, &count);
	struct kp_once *probe = kp_once_new(test, c), *again = kp_once_new(test, c), *newer;

	kp_once_call_pending(test, c->fn);
	newer = kp_once_new(test, &count);
	kp_once_call(test, c->fn);
	kp_once_wait_disabled(test, &probe->kp);
	kp_once_wait_disabled(test, &again->kp);
	kp_once_call(test, c->fn);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&again->won), 1);
	KUNIT_EXPECT_GE(test, probe->kp.nmissed, KP_HITS - 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&older->pre), 3 * KP_HITS);
	KUNIT_EXPECT_EQ(test, atomic_read(&older->post), 3 * KP_HITS);
	KUNIT_EXPECT_EQ(test, atomic_read(&newer->pre), 2 * KP_HITS);
	KUNIT_EXPECT_EQ(test, atomic_read(&newer->post), 2 * KP_HITS);
	KUNIT_EXPECT_EQ(test, older->kp.nmissed + newer->kp.nmissed, 0);
}

static void kp_once_ipi(void *fn)
{
	long (*call)(long arg) = fn;
	int i;

	for (i = 0; i < 100; i++)
		call(i);
}

/*
 * All CPUs hit the probe at the same time. Only one of them may make the request to disable the
 * probe, and each hit must be counted, as a call of a handler or as missed.
 */
static void kp_once_cpus(struct kunit *test)
{
	const struct kp_once_case *c = test->param_value;
	struct kp_once *probe = kp_once_new(test, c);
	unsigned long calls;
	int i;

	for (i = 1; i <= 20; i++) {
		scoped_guard(mutex, &kprobe_mutex) {
			guard(cpus_read_lock)();
			calls = 100 * num_online_cpus();
			atomic_set(&probe->pre, 0);
			atomic_set(&probe->post, 0);
			probe->kp.nmissed = 0;
			on_each_cpu(kp_once_ipi, c->fn, 1);
		}
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed +
				max(atomic_read(&probe->pre), atomic_read(&probe->post)), calls);
		KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	}
}

/*
 * Probe the function that queues the worker, with a probe that disables itself.
 * kprobe_disable_self() calls the probed function again: that nested hit must not make a second
 * request.
 */
static void kp_once_queue_work(struct kunit *test)
{
	struct kp_once *probe = kp_zalloc(test, sizeof(*probe)), *other;

	probe->kp.symbol_name = "queue_work_on";
	probe->kp.pre_handler = kp_once_pre;
	kp_kprobe_add(test, &probe->kp);
	other = kp_once_new(test, &kp_once_cases[0]);
	kp_once_call(test, kp_once_traced);
	kp_once_wait_disabled(test, &other->kp);
	kp_once_wait_disabled(test, &probe->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 1);
}

#ifdef CONFIG_KRETPROBES
static __kprobes struct kp_once *kp_once_of(struct kretprobe_instance *ri)
{
	return container_of(get_kretprobe(ri), struct kp_once, rp);
}

static int kp_once_entry(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_once_request(&kp_once_of(ri)->kp);
	atomic_inc(&kp_once_of(ri)->pre);
	return 0;
}

KP_RETURN_HANDLER(__kprobes, kp_once_count_return, atomic_inc(&kp_once_of(ri)->returns))

static int kp_once_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kp_once_request(&kp_once_of(ri)->kp);
	return kp_once_count_return(ri, regs);
}

static struct kp_once *kp_once_new_return(struct kunit *test, kretprobe_handler_t entry,
					  kretprobe_handler_t handler)
{
	struct kp_once *probe = kp_zalloc(test, sizeof(*probe));

	probe->kp.addr = kp_entry(kp_once_nest);
	probe->rp.entry_handler = entry;
	probe->rp.handler = handler;
	kp_kretprobe_add(test, &probe->rp);
	return probe;
}

/* A return probe disables itself: the call that requests it is still tracked, but no later one. */
static void kp_once_return_entry(struct kunit *test)
{
	struct kp_once *probe = kp_once_new_return(test, kp_once_entry, kp_once_count_return);
	int i;

	for (i = 1; i <= 3; i++) {
		scoped_guard(mutex, &kprobe_mutex)
			KUNIT_EXPECT_EQ(test, kp_once_nest(KP_HITS - 1), KP_HITS);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->pre), i);
		KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), i);
		KUNIT_EXPECT_EQ(test, probe->kp.nmissed, i * (KP_HITS - 1));
		KUNIT_EXPECT_EQ(test, probe->rp.nmissed, 0);
		if (i == 2)
			kp_once_wait_disabled(test, &probe->kp);
		KUNIT_EXPECT_EQ(test, enable_kretprobe(&probe->rp), 0);
	}
	scoped_guard(mutex, &kprobe_mutex)
		KUNIT_EXPECT_EQ(test, kp_once_nest(0), 1);
	/* Unregister the return probe while the request may be pending, and register it again. */
	kp_kretprobe_del(test, &probe->rp);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe->rp), 0);
	KUNIT_EXPECT_EQ(test, kp_once_nest(0), 1);
	unregister_kretprobe(&probe->rp);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 5);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), 5);
}

/* The innermost call makes the request; the others are tracked already. */
static void kp_once_return_handler(struct kunit *test)
{
	struct kp_once *probe = kp_once_new_return(test, NULL, kp_once_return);

	scoped_guard(mutex, &kprobe_mutex) {
		KUNIT_EXPECT_EQ(test, kp_once_nest(KP_HITS - 1), KP_HITS);
		KUNIT_EXPECT_EQ(test, kp_once_nest(0), 1);
	}
	kp_once_wait_disabled(test, &probe->kp);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->won), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe->returns), KP_HITS);
	KUNIT_EXPECT_EQ(test, probe->kp.nmissed, 1);
}
#else
KP_CASE(kp_once_return_entry, kunit_skip(test, "the kernel has no return probes"))
KP_CASE(kp_once_return_handler, kunit_skip(test, "the kernel has no return probes"))
#endif

/* Request to disable NULL, which get_kretprobe() returns during an unregistration. */
static void kp_once_null(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kprobe_disable_self(NULL));
}

static struct kunit_case kp_once_kunit_cases[] = {
	KUNIT_CASE_PARAM(kp_once_disabled, kp_once_case_gen_params),
	KUNIT_CASE_PARAM(kp_once_enabled_at_once, kp_once_case_gen_params),
	KUNIT_CASE_PARAM(kp_once_unregistered_at_once, kp_once_case_gen_params),
	KUNIT_CASE(kp_once_other_handler),
	KUNIT_CASE(kp_once_late_handlers),
	KUNIT_CASE(kp_once_late_worker),
	KUNIT_CASE_PARAM(kp_once_detached, kp_once_case_gen_params),
	KUNIT_CASE_PARAM(kp_once_others, kp_once_case_gen_params),
	KUNIT_CASE_PARAM(kp_once_cpus, kp_once_case_gen_params),
	KUNIT_CASE(kp_once_queue_work),
	KUNIT_CASE(kp_once_return_entry),
	KUNIT_CASE(kp_once_return_handler),
	KUNIT_CASE(kp_once_null),
	{}
};

static KP_SUITE(kp_once_kunit, "kprobes_once");

KP_SUITES("KUnit tests of probes that disable themselves", &kp_once_kunit_suite);
