/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_TEST_H
#define KP_TEST_H

/* What most test modules need: headers of the kernel, definitions of suites */

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

/* Call @action(@data) at the end of the case, or kunit_release_action() does so before. */
static inline void kp_at_end(struct kunit *test, kunit_action_t *action, void *data)
{
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, action, data), 0);
}

/* A function to probe, which returns its argument plus @n. @attributes: notrace, or none */
#define KP_PLUS(attributes, type, name, n)				\
noinline attributes type name(type arg);				\
noinline attributes type name(type arg)					\
{									\
	barrier();							\
	return arg + (n);						\
}

/* A module with these suites only */
#define KP_SUITES(description, suites...)				\
	kunit_test_suites(suites);					\
	MODULE_DESCRIPTION(description);				\
	MODULE_LICENSE("GPL")

/* A case of one statement, which has @test */
#define KP_CASE(name, statement)					\
	static void name(struct kunit *test)				\
	{								\
		statement;						\
	}

/* The suite of the cases in @id_cases. More arguments are members, such as .init */
#define KP_SUITE(id, printed, members...)				\
	struct kunit_suite id##_suite = {				\
		.name = printed,					\
		.test_cases = id##_cases,				\
		members							\
	}

#endif
