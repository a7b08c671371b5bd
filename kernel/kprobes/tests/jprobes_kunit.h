/* SPDX-License-Identifier: GPL-2.0 */
#ifndef JPROBES_KUNIT_H
#define JPROBES_KUNIT_H

/* Shared by the suites of jprobes_kunit: functions to probe, handlers that record arguments */

/* Number of arguments: in 64-bit mode, 6 in registers and 8 that kprobes copies from the stack */
#define KP_JP_ARGS	14
#ifdef CONFIG_X86_64
#define KP_JP_REG_ARGS	6
#else
#define KP_JP_REG_ARGS	3
#endif

#define KP_JP_AX	0
#define KP_JP_BX	1
#define KP_JP_CX	2
#define KP_JP_DX	3
#define KP_JP_SI	4
#define KP_JP_DI	5
#define KP_JP_BP	6
#define KP_JP_SP	7
#define KP_JP_FLAGS	8
#define KP_JP_R8	9
#define KP_JP_NR	17

#ifndef __ASSEMBLY__

#include "kp_test.h"

#define KP_JP_PARAMS	long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, \
			long a9, long a10, long a11, long a12, long a13, long a14
#define KP_JP_LIST	a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14

/*
 * Each of these functions returns a1 + 2 * a2 + ... + 14 * a14. Probes on the first are
 * ftrace-based, if the kernel supports that. The third begins with an instruction that kprobes
 * emulates. On i386, the last takes all its arguments on the stack.
 */
long kp_jp_traced(KP_JP_PARAMS);
long kp_jp_plain(KP_JP_PARAMS);
long kp_jp_emulated(KP_JP_PARAMS);
asmlinkage long kp_jp_on_stack(KP_JP_PARAMS);

enum kp_jp_target { KP_JP_TRACED, KP_JP_PLAIN, KP_JP_EMULATED, KP_JP_TARGETS };

long kp_jp_body(KP_JP_PARAMS);
/*
 * Each of these functions returns @arg + 1. kp_jp_other() has ftrace's call at its entry; the other
 * two have none, and the last begins with an instruction that kprobes emulates.
 */
long kp_jp_other(long arg);
long kp_jp_short(long arg);
long kp_jp_short_emulated(long arg);

/*
 * kp_jp_regs() loads registers and flags from kp_jp_in[], but stores the frame and stack pointers
 * there. Then it calls kp_jp_regs_target(), which stores all registers and the flags in
 * kp_jp_out[].
 */
void kp_jp_regs(void);
void kp_jp_regs_target(void);
extern unsigned long kp_jp_in[KP_JP_NR];
extern unsigned long kp_jp_out[KP_JP_NR];

/*
 * kp_jp_call_plain_at() calls kp_jp_plain() with the first stack argument at @sp.
 * kp_jp_call_short_at() calls kp_jp_short() with the return address right below @sp.
 */
long kp_jp_call_plain_at(const long *args, void *sp);
long kp_jp_call_short_at(long arg, void *sp);

#define KP_KIND			jprobe
#define KP_MEMBER		jp
#define KP_AT_ENTRY		1
#define KP_TARGET		kp_jp_short
#define KP_OTHER		kp_jp_other
#define KP_NOKPROBE		jprobe_return
/*
 * An address inside a function. As code refers to the address, no jump can be installed over it:
 * take a function that no case expects to be optimised.
 */
#define KP_INSIDE		((void *)kp_jp_body + 1)
#define KP_INSIDE_ERROR		-EINVAL
#define KP_CONTEXTS							\
	{ "traced", kp_jp_other, kp_jp_short },				\
	{ "plain", kp_jp_short, kp_jp_other },				\
	{ "emulated", kp_jp_short_emulated, kp_jp_other }

struct kp_probe {
	union {
		struct kprobe kp;
		struct jprobe jp;
	};
	unsigned int calls;
	/* how often jprobe_return() has returned to the handler, which is an error */
	int survived;
	long arg[KP_JP_ARGS];
	bool preemptible;
	/* interrupts were off in the last call of the handler */
	bool irqs_disabled;
	unsigned int order;
	/* called by kp_jp_counts() */
	void (*hook)(void);
};

/* Handlers are not passed their jprobe. Return: the jprobe whose handler this CPU runs. */
static inline struct kp_probe *kp_jp_running(void)
{
	return container_of(kprobe_running(), struct kp_probe, kp);
}

/* The handler of jprobes on kp_jp_short() and other functions of type long (long) */
long kp_jp_counts(long arg);
/*
 * If the parameter opt is set, kp_jp_wait_for_jumps() and kp_jp_settle() wait until probes are
 * optimised. Then kp_jp_settle() also checks that @kp is optimised, if it can be.
 */
void kp_jp_wait_for_jumps(struct kunit *test);
void kp_jp_settle(struct kunit *test, struct kprobe *kp);

static inline void kp_prepare(struct kp_probe *probe)
{
	probe->jp.entry = kp_jp_counts;
}

static inline void kp_prepare_hook(struct kp_probe *probe, unsigned int where, void (*hook)(void))
{
	probe->hook = hook;
}

static inline unsigned long kp_missed(struct kp_probe *probe)
{
	return probe->kp.nmissed;
}

#define kp_settle	kp_jp_settle

static inline unsigned int kp_hits(struct kp_probe *probe)
{
	return probe->calls + probe->survived;
}

#define kp_expect_hits(test, probe, hits)	KUNIT_EXPECT_EQ(test, kp_hits(probe), hits)

#include "kp_kind.h"

/*
 * kp_jp_handler() records its arguments, calls kp_jp_hook(), and then calls jprobe_return(). If
 * kp_jp_deep is set, it calls a function that calls jprobe_return(); if kp_jp_returns is set, it
 * returns without a call of jprobe_return(). kp_jp_order counts the calls of all handlers.
 */
extern void (*kp_jp_hook)(void);
extern bool kp_jp_returns;
extern bool kp_jp_deep;
extern unsigned int kp_jp_order;

long kp_jp_handler(KP_JP_PARAMS);
asmlinkage long kp_jp_handler_on_stack(KP_JP_PARAMS);

/*
 * kp_jp_call() calls a target with the arguments KP_JP_ARG(1) to KP_JP_ARG(14), and must return
 * kp_jp_result().
 */
#define KP_JP_ARG(i)	(0x1000L + 16 * (i))
#define KP_JP_CALL(fn)									\
	fn(KP_JP_ARG(1), KP_JP_ARG(2), KP_JP_ARG(3), KP_JP_ARG(4), KP_JP_ARG(5),	\
	   KP_JP_ARG(6), KP_JP_ARG(7), KP_JP_ARG(8), KP_JP_ARG(9), KP_JP_ARG(10),	\
	   KP_JP_ARG(11), KP_JP_ARG(12), KP_JP_ARG(13), KP_JP_ARG(14))
void *kp_jp_address(enum kp_jp_target target);
long kp_jp_call(enum kp_jp_target target);
long kp_jp_result(void);

/* Allocate a jprobe with kp_jp_handler(), at @addr or, if this is NULL, at the case's target. */
struct kp_probe *kp_jp_new(struct kunit *test, void *addr);
/* Allocate and register a jprobe with kp_jp_handler() at the case's target. */
static inline struct kp_probe *kp_jp_registered(struct kunit *test)
{
	struct kp_probe *jp = kp_jp_new(test, NULL);

	KUNIT_ASSERT_EQ(test, kp_register(test, jp), 0);
	return jp;
}

/* Call the case's target, and expect one more call of the handler. */
void kp_jp_expect_call(struct kunit *test, struct kp_probe *jp);

const void *kp_jp_next_target(const void *prev, char *desc);
#define KP_JP_CASE(fn)	KUNIT_CASE_PARAM(fn, kp_jp_next_target)

/* The target of a case without a parameter is kp_jp_plain(). */
static inline enum kp_jp_target kp_jp_target(struct kunit *test)
{
	return test->param_value ? *(const enum kp_jp_target *)test->param_value : KP_JP_PLAIN;
}

int kp_jp_init(struct kunit *test);

extern struct kunit_suite kp_jp_errno_suite, kp_jp_calls_suite, kp_jp_contexts_suite;
extern struct kunit_suite kp_jp_drops_suite;

#endif /* !__ASSEMBLY__ */
#endif
