/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KRETPROBES_KUNIT_H
#define KRETPROBES_KUNIT_H

/* Shared by the suites of kretprobes_kunit: return probes that count, functions to probe */

#define KP_KIND			kretprobe
#define KP_MEMBER		rp
#define KP_AT_ENTRY		1
#define KP_TARGET		kp_ret_target
#define KP_OTHER		kp_ret_other
#define KP_NOKPROBE		kp_ret_nokprobe
#define KP_INSIDE		((void *)kp_ret_calls_from + 1)
#define KP_INSIDE_ERROR		-EINVAL
#define KP_CONTEXTS							\
	{ "entry_handler", kp_ret_target, kp_ret_other, 0 },		\
	{ "handler", kp_ret_target, kp_ret_other, 1 }

#define KP_SECOND_NESTS		true
#define KP_TRACED		false

#include "kp_test.h"

struct kp_probe {
	union {
		struct kprobe kp;
		struct kretprobe rp;
	};
	atomic_t entries;
	atomic_t returns;
	unsigned long arg;
	unsigned long entry_retaddr;
	struct kretprobe *entry_rp;
	unsigned long value;
	unsigned long retaddr;
	struct kretprobe *return_rp;
	bool preemptible;
	/* record of the last call, valid until it returns */
	struct kretprobe_instance *instance;
	/* functions that the entry_handler and the handler call */
	void (*hook[2])(void);
};

/* Return: the probe that @ri belongs to; NULL if the return probe was unregistered. */
static inline struct kp_probe *to_kp_probe(struct kretprobe_instance *ri)
{
	struct kretprobe *rp = get_kretprobe(ri);

	return rp ? container_of(rp, struct kp_probe, rp) : NULL;
}

int kp_ret_entry(struct kretprobe_instance *ri, struct pt_regs *regs);
int kp_ret_return(struct kretprobe_instance *ri, struct pt_regs *regs);
void kp_ret_settle(struct kunit *test, struct kprobe *kp);
#define kp_settle		kp_ret_settle
/*
 * If the module's parameter spare is set, skip a case that may crash kernels with other
 * implementations of kprobes.
 */
void kp_ret_may_be_fatal(struct kunit *test);
#define kp_may_be_fatal		kp_ret_may_be_fatal

static inline void kp_prepare(struct kp_probe *probe)
{
	probe->rp.entry_handler = kp_ret_entry;
	probe->rp.handler = kp_ret_return;
}

static inline void kp_prepare_hook(struct kp_probe *probe, unsigned int where, void (*hook)(void))
{
	probe->hook[where] = hook;
}

/* Return: the number of calls missed, because the hit was nested, or for lack of an instance. */
static inline unsigned long kp_missed(struct kp_probe *probe)
{
	return probe->kp.nmissed + probe->rp.nmissed;
}

static inline unsigned int kp_hits(struct kp_probe *probe)
{
	return atomic_read(&probe->entries) + atomic_read(&probe->returns);
}

#define kp_expect_counts(test, probe, wanted_entries, wanted_returns) do {		\
	struct kunit *_test = (test);							\
	struct kp_probe *_probe = (probe);						\
											\
	KUNIT_EXPECT_EQ(_test, atomic_read(&_probe->entries), wanted_entries);		\
	KUNIT_EXPECT_EQ(_test, atomic_read(&_probe->returns), wanted_returns);		\
} while (0)

#define kp_expect_hits(test, probe, hits) do {						\
	int _hits = (hits);								\
											\
	kp_expect_counts(test, probe, _hits, _hits);					\
} while (0)

/*
 * Each returns its argument plus one, and stores its return address, perhaps a trampoline's, in
 * kp_ret_from.
 */
long kp_ret_target(long arg);
long kp_ret_other(long arg);
extern unsigned long kp_ret_from;

/* The first calls kp_ret_target(), the second jumps to it, the third calls kp_ret_tail(). */
long kp_ret_calls(long arg);
long kp_ret_tail(long arg);
long kp_ret_calls_tail(long arg);
/* Calls kp_ret_other(), then jumps to kp_ret_target(). */
long kp_ret_leaves(long arg);
/* The return addresses of the calls in kp_ret_calls() and kp_ret_calls_tail() */
unsigned long kp_ret_calls_from(void);
unsigned long kp_ret_calls_tail_from(void);

/* Call themselves, or each other, @depth times, and return @depth. */
long kp_ret_nest(long depth);
long kp_ret_even(long depth);
long kp_ret_odd(long depth);

/* Calls @fn, and returns @data plus one. */
long kp_ret_calls_back(void (*fn)(long data), long data);

#ifdef CONFIG_64BIT
typedef unsigned __int128 kp_ret_two_t;
#else
typedef u64 kp_ret_two_t;
#endif

struct kp_ret_big {
	long word[6];
};

kp_ret_two_t kp_ret_two(unsigned long low, unsigned long high);
struct kp_ret_big kp_ret_big(long arg);
asmlinkage struct kp_ret_big kp_ret_big_on_stack(long arg);

/* Return a + 2 * b + 3 * c, and so on for all arguments. */
long kp_ret_eight(long a, long b, long c, long d, long e, long f, long g, long h);
asmlinkage long kp_ret_on_stack(long a, long b, long c);
/* Returns the sum of its other arguments; @nr is their number. */
long kp_ret_variadic(int nr, ...);

long kp_ret_nokprobe(long arg);

/* Number of functions in kp_ret_many[]. Each returns its argument plus one. */
#define KP_RET_MANY	500

#ifdef CONFIG_X86
extern void *const kp_ret_many[KP_RET_MANY];
#endif

#include "kp_kind.h"

extern unsigned int kp_ret_kprobe_hits;
int kp_ret_kprobe_pre(struct kprobe *p, struct pt_regs *regs);
void kp_ret_kprobe_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

/* Register a copy of @kp until kp_kprobe_del() or the end of the case. */
static inline struct kprobe *kp_ret_kprobe(struct kunit *test, const struct kprobe *kp)
{
	struct kprobe *copy = kp_zalloc(test, sizeof(*copy));

	*copy = *kp;
	kp_kprobe_add(test, copy);
	kp_ret_kprobe_hits = 0;
	return copy;
}

static inline struct kp_probe *kp_ret_with(struct kunit *test, void *addr, int maxactive,
					   kretprobe_handler_t entry, kretprobe_handler_t handler)
{
	struct kp_probe *probe = kp_new(test, addr);

	probe->rp.maxactive = maxactive;
	probe->rp.entry_handler = entry;
	probe->rp.handler = handler;
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	return probe;
}

static inline struct kp_probe *kp_ret_limited(struct kunit *test, void *addr, int maxactive)
{
	return kp_ret_with(test, addr, maxactive, kp_ret_entry, kp_ret_return);
}

extern struct kunit_suite kp_ret_errno_suite, kp_ret_calls_suite, kp_ret_contexts_suite;
extern struct kunit_suite kp_ret_lifecycle_suite, kp_ret_values_suite;

#endif
