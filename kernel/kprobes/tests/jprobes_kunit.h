/* SPDX-License-Identifier: GPL-2.0 */
#ifndef JPROBES_KUNIT_H
#define JPROBES_KUNIT_H

/*
 * Shared by the suites of jprobes_kunit: functions to probe, handlers that record their
 * arguments, and registration that is undone when a case breaks off.
 */

/*
 * Bytes of the copied arguments, and the number of arguments of the functions: as many as a
 * handler gets in 64-bit mode. In 32-bit mode it would get more.
 */
#define KP_JP_ARGS	14
#ifdef CONFIG_X86_64
#define KP_JP_REG_ARGS	6
#else
#define KP_JP_REG_ARGS	3
#endif

/* Indices into kp_jp_in[] and kp_jp_out[] */
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

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>

#define KP_JP_PARAMS	long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, \
			long a9, long a10, long a11, long a12, long a13, long a14
#define KP_JP_LIST	a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14

/*
 * Functions that return the sum of the first argument, twice the second and so on. They are
 * entered through ftrace, if the kernel has it; by a breakpoint or a jump; by a breakpoint
 * whose instruction is emulated, or a jump.
 */
long kp_jp_traced(KP_JP_PARAMS);
long kp_jp_plain(KP_JP_PARAMS);
long kp_jp_emulated(KP_JP_PARAMS);
/* All arguments are on the stack, in 32-bit mode too. */
asmlinkage long kp_jp_on_stack(KP_JP_PARAMS);

enum kp_jp_target { KP_JP_TRACED, KP_JP_PLAIN, KP_JP_EMULATED, KP_JP_TARGETS };

/* What the two in assembly do */
long kp_jp_body(KP_JP_PARAMS);
/* Returns its argument plus one. */
long kp_jp_short(long arg);

/*
 * Loads the registers from kp_jp_in[] and calls kp_jp_regs_target(), which stores them in
 * kp_jp_out[]. The frame pointer, and the stack pointer that is expected, are stored in
 * kp_jp_in[].
 */
void kp_jp_regs(void);
void kp_jp_regs_target(void);
extern unsigned long kp_jp_in[KP_JP_NR];
extern unsigned long kp_jp_out[KP_JP_NR];

/*
 * Calls kp_jp_plain() with @args, the first of which on the stack is at @sp; calls
 * kp_jp_short(@arg), with no argument on the stack, which has its end at @sp.
 */
long kp_jp_call_plain_at(const long *args, void *sp);
long kp_jp_call_short_at(long arg, void *sp);

/* A jprobe that records what its handler is given */
struct kp_jp {
	struct jprobe jp;
	int calls;
	/* How often jprobe_return() has returned. */
	int survived;
	long arg[KP_JP_ARGS];
	bool preemptible;
	/* Of the last call: whether interrupts were off. */
	bool irqs_disabled;
	unsigned int order;
};

/*
 * The jprobe that kp_jp_handler() records for, and what else it is to do: call @hook; return
 * without jprobe_return(); call it from a function.
 */
extern struct kp_jp *kp_jp_now;
extern void (*kp_jp_hook)(void);
extern bool kp_jp_returns;
extern bool kp_jp_deep;
/* Incremented by each handler that runs, which records it as its order */
extern unsigned int kp_jp_order;

long kp_jp_handler(KP_JP_PARAMS);
asmlinkage long kp_jp_handler_on_stack(KP_JP_PARAMS);
/* For kp_jp_other(): counts in kp_jp_other_calls. */
long kp_jp_other_handler(long arg);
extern int kp_jp_other_calls;
long kp_jp_other(long arg);

/* The address to probe, and a call with KP_JP_ARG(1) to KP_JP_ARG(14) and its result */
#define KP_JP_ARG(i)	(0x1000L + 16 * (i))
#define KP_JP_CALL(fn)									\
	fn(KP_JP_ARG(1), KP_JP_ARG(2), KP_JP_ARG(3), KP_JP_ARG(4), KP_JP_ARG(5),	\
	   KP_JP_ARG(6), KP_JP_ARG(7), KP_JP_ARG(8), KP_JP_ARG(9), KP_JP_ARG(10),	\
	   KP_JP_ARG(11), KP_JP_ARG(12), KP_JP_ARG(13), KP_JP_ARG(14))
void *kp_jp_address(enum kp_jp_target target);
long kp_jp_call(enum kp_jp_target target);
long kp_jp_result(void);

/* A jprobe of @target with kp_jp_handler(), which becomes kp_jp_now; not registered yet. */
struct kp_jp *kp_jp_new(struct kunit *test, void *addr);
/* Registered until kp_jp_unregister() or the end of the case. */
int kp_jp_register(struct kunit *test, struct jprobe *jp);
void kp_jp_unregister(struct kunit *test, struct jprobe *jp);
/* If the script says so, wait until a probe is optimised, if it can be. */
void kp_jp_settle(struct kunit *test, struct kprobe *kp);

/* Calls the function and expects its result, and that the handler got the arguments. */
void kp_jp_expect_call(struct kunit *test, struct kp_jp *jp, enum kp_jp_target target);

/* Each target is a parameter of a case. */
const void *kp_jp_next_target(const void *prev, char *desc);
#define KP_JP_CASE(fn)	KUNIT_CASE_PARAM(fn, kp_jp_next_target)

static inline enum kp_jp_target kp_jp_target(struct kunit *test)
{
	return *(const enum kp_jp_target *)test->param_value;
}

/* Before each case */
int kp_jp_init(struct kunit *test);

extern struct kunit_suite kp_jp_errno_suite;
extern struct kunit_suite kp_jp_calls_suite;
extern struct kunit_suite kp_jp_contexts_suite;
extern struct kunit_suite kp_jp_drops_suite;

#endif /* !__ASSEMBLY__ */
#endif
