/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_TEST_H
#define KP_TEST_H

/* Headers, functions and macros that most test modules need */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kallsyms.h>
#include <linux/kdebug.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "kp_handlers.h"

/* Call @action(@data) at the end of the case, unless kunit_release_action() calls it earlier. */
static inline void kp_at_end(struct kunit *test, kunit_action_t *action, void *data)
{
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, action, data), 0);
}

/* Return zeroed memory, which is freed at the end of the case. */
static inline void *kp_zalloc(struct kunit *test, size_t size)
{
	void *mem = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	return mem;
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_vfree, vfree, const void *);

/* Return zeroed pages, freed at the end of the case. The page after them is not mapped. */
static inline void *kp_vzalloc(struct kunit *test, size_t size)
{
	void *mem = vzalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, mem);
	kp_at_end(test, kp_vfree, mem);
	return mem;
}

/* The first bytes of some text, to compare later */
struct kp_bytes {
	void *addr;
	u8 byte[64];
};

static inline void kp_bytes_save(struct kunit *test, struct kp_bytes *bytes, void *addr)
{
	bytes->addr = addr;
	KUNIT_ASSERT_EQ(test, copy_from_kernel_nofault(bytes->byte, addr, sizeof(bytes->byte)), 0);
}

static inline void kp_bytes_expect_same(struct kunit *test, const struct kp_bytes *bytes)
{
	struct kp_bytes now;

	kp_bytes_save(test, &now, bytes->addr);
	KUNIT_EXPECT_MEMEQ(test, now.byte, bytes->byte, sizeof(now.byte));
}

/* Wait until @condition is true, for @ms milliseconds at most. Return: true if it became true. */
#define kp_poll(condition, ms) ({							\
	unsigned long _end = jiffies + msecs_to_jiffies(ms);				\
	bool _true;									\
											\
	while (!(_true = (condition)) && time_before(jiffies, _end))			\
		usleep_range(100, 200);							\
	_true;										\
})

/* Traces of a stack */
#define KP_DEPTH	64

struct kp_trace {
	unsigned int nr;
	unsigned long entry[KP_DEPTH];
};

#ifdef CONFIG_STACKTRACE
static __always_inline unsigned int kp_save(struct kp_trace *trace)
{
	trace->nr = stack_trace_save(trace->entry, KP_DEPTH, 0);
	return trace->nr;
}
#endif

/*
 * Return: the index of the first entry, from @from on, that is in the @size bytes at @addr;
 * trace->nr if there is none.
 */
static inline unsigned int kp_trace_find(const struct kp_trace *trace, unsigned int from,
					 const void *addr, unsigned long size)
{
	while (from < trace->nr && trace->entry[from] - (unsigned long)addr >= size)
		from++;
	return from;
}

static inline void kp_show(struct kunit *test, const char *what, const struct kp_trace *trace)
{
	unsigned int i;

	for (i = 0; i < trace->nr; i++)
		kunit_info(test, "%s: %2u %pS\n", what, i, (void *)trace->entry[i]);
}

/*
 * Define kp_@kind_add(), which registers an object until the end of the case, and kp_@kind_del(),
 * which unregisters it earlier. Call both in the same file: KUnit finds the object's action by the
 * address of kp_@kind_gone(), which is static.
 */
#define KP_KIND_ADD(kind, type)								\
KUNIT_DEFINE_ACTION_WRAPPER(kp_##kind##_gone, unregister_##kind, type *);		\
static inline void kp_##kind##_add(struct kunit *test, type *object)			\
{											\
	KUNIT_ASSERT_EQ(test, register_##kind(object), 0);				\
	kp_at_end(test, kp_##kind##_gone, object);					\
}											\
static inline void kp_##kind##_del(struct kunit *test, type *object)			\
{											\
	kunit_release_action(test, kp_##kind##_gone, object);				\
}

KP_KIND_ADD(kprobe, struct kprobe)
KP_KIND_ADD(kretprobe, struct kretprobe)
KP_KIND_ADD(die_notifier, struct notifier_block)

/*
 * Define a function to probe, which returns its argument plus @n. @attributes: such as notrace or
 * static, or empty. @body: statements before the return, such as barrier()
 */
#define KP_PLUS_WITH(attributes, type, name, n, body)			\
noinline attributes type name(type arg);				\
noinline attributes type name(type arg)					\
{									\
	body;								\
	return arg + (n);						\
}

#define KP_PLUS(attributes, type, name, n)				\
	KP_PLUS_WITH(attributes, type, name, n, barrier())

/*
 * Define a function that returns the value of @call. This expression can use the function's
 * parameter, arg. The barrier prevents a tail call.
 */
#define KP_CALLER(attributes, name, type, call)				\
	noinline attributes long name(type arg);			\
	noinline attributes long name(type arg)				\
	{								\
		long ret = call;					\
									\
		barrier();						\
		return ret;						\
	}

/* A module with these suites only */
#define KP_SUITES(description, suites...)				\
	kunit_test_suites(suites);					\
	MODULE_DESCRIPTION(description);				\
	MODULE_LICENSE("GPL")

/* A module with one suite. @members: initialisers of struct kunit_suite, such as .init = fn */
#define KP_ONLY_SUITE(id, printed, description, members...)		\
	static KP_SUITE(id, printed, members);				\
	KP_SUITES(description, &id##_suite)

/* A module without suites */
#define KP_MODULE(description, init, exit)				\
	module_init(init);						\
	module_exit(exit);						\
	MODULE_DESCRIPTION(description);				\
	MODULE_LICENSE("GPL")

/* A static variable that is also a parameter of the module. @initial: the default value */
#define KP_MODULE_PARAM(type, name, initial, description)		\
	static type name = initial;					\
	module_param(name, type, 0400);					\
	MODULE_PARM_DESC(name, description)

/* A test case that executes one statement, which can use the variable test */
#define KP_CASE(name, statement)					\
	static void name(struct kunit *test)				\
	{								\
		statement;						\
	}

/*
 * Define a suite, @id_suite, of the cases in the array @id_cases. @members: initialisers of struct
 * kunit_suite, such as .init = fn; or empty
 */
#define KP_SUITE(id, printed, members...)				\
	struct kunit_suite id##_suite = {				\
		.name = printed,					\
		.test_cases = id##_cases,				\
		members							\
	}

#endif
