/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KRETPROBES_KUNIT_H
#define KRETPROBES_KUNIT_H

/*
 * Shared by the suites of kretprobes_kunit: return probes that count, functions to probe,
 * registration that ends with the case
 */

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>

struct kp_rp {
	struct kretprobe rp;
	atomic_t entries;
	atomic_t returns;
	/* last entry: the argument and the return address */
	unsigned long arg;
	unsigned long entry_retaddr;
	struct kretprobe *entry_rp;
	/* last return */
	unsigned long value;
	unsigned long retaddr;
	struct kretprobe *return_rp;
	bool preemptible;
	/* record of the last call, valid until it returns */
	struct kretprobe_instance *instance;
};

/* NULL if the return probe was unregistered */
static inline struct kp_rp *to_kp_rp(struct kretprobe_instance *ri)
{
	struct kretprobe *rp = get_kretprobe(ri);

	return rp ? container_of(rp, struct kp_rp, rp) : NULL;
}

int kp_ret_entry(struct kretprobe_instance *ri, struct pt_regs *regs);
int kp_ret_return(struct kretprobe_instance *ri, struct pt_regs *regs);

/* Make a return probe on the function at @addr; do not register it. */
struct kp_rp *kp_rp_new(struct kunit *test, void *addr);

/* Registers until kp_rp_unregister() or the end of the case. */
int kp_rp_register(struct kunit *test, struct kp_rp *probe);
void kp_rp_unregister(struct kunit *test, struct kp_rp *probe);

/* Numbers of entries and returns since the probe was made */
#define kp_rp_expect(test, probe, wanted_entries, wanted_returns) do {			\
	struct kunit *_test = (test);							\
	struct kp_rp *_probe = (probe);							\
											\
	KUNIT_EXPECT_EQ(_test, atomic_read(&_probe->entries), wanted_entries);		\
	KUNIT_EXPECT_EQ(_test, atomic_read(&_probe->returns), wanted_returns);		\
} while (0)

/*
 * Skip a case that other kernels are known not to survive, if the module's parameter says so.
 */
void kp_ret_may_be_fatal(struct kunit *test);

/*
 * Functions to probe. The first two return their argument plus one, and store their return
 * address in kp_ret_from, valid if they have no return probe.
 */
long kp_ret_target(long arg);
long kp_ret_other(long arg);
extern unsigned long kp_ret_from;

/* Each calls kp_ret_target() at one place; the second one by a jump. */
long kp_ret_calls(long arg);
long kp_ret_tail(long arg);
long kp_ret_calls_tail(long arg);
/* Calls kp_ret_other(), then kp_ret_target(), the second one by a jump. */
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

/* Return the sum of the first argument, twice the second and so on. */
long kp_ret_eight(long a, long b, long c, long d, long e, long f, long g, long h);
asmlinkage long kp_ret_on_stack(long a, long b, long c);
/* Returns the sum of its other arguments; @nr is their number. */
long kp_ret_variadic(int nr, ...);

long kp_ret_nokprobe(long arg);

/* This many functions that do nothing */
#define KP_RET_MANY	500

#ifdef CONFIG_X86
extern void *const kp_ret_many[KP_RET_MANY];
#endif

extern struct kunit_suite kp_ret_errno_suite;
extern struct kunit_suite kp_ret_calls_suite;
extern struct kunit_suite kp_ret_contexts_suite;
extern struct kunit_suite kp_ret_lifecycle_suite;
extern struct kunit_suite kp_ret_values_suite;

#endif
