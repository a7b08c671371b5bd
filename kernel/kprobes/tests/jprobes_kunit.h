/* SPDX-License-Identifier: GPL-2.0 */
#ifndef JPROBES_KUNIT_H
#define JPROBES_KUNIT_H

/* Shared by the suites of jprobes_kunit: functions to probe, handlers that record arguments */

/* The number of arguments, and their bytes: the most that a handler gets in 64-bit mode */
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

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>

#define KP_JP_PARAMS	long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8, \
			long a9, long a10, long a11, long a12, long a13, long a14
#define KP_JP_LIST	a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14

/*
 * They return the sum of the first argument, twice the second and so on. Entered by ftrace,
 * if configured; by breakpoint or jump; by breakpoint with emulation, or jump.
 */
long kp_jp_traced(KP_JP_PARAMS);
long kp_jp_plain(KP_JP_PARAMS);
long kp_jp_emulated(KP_JP_PARAMS);
asmlinkage long kp_jp_on_stack(KP_JP_PARAMS);

enum kp_jp_target { KP_JP_TRACED, KP_JP_PLAIN, KP_JP_EMULATED, KP_JP_TARGETS };

long kp_jp_body(KP_JP_PARAMS);
/* They return @arg + 1; entered like kp_jp_traced(), kp_jp_plain() and kp_jp_emulated(). */
long kp_jp_other(long arg);
long kp_jp_short(long arg);
long kp_jp_short_emulated(long arg);

/*
 * Load the registers from kp_jp_in[], but store the frame and stack pointers there, and call
 * kp_jp_regs_target(), which stores all in kp_jp_out[].
 */
void kp_jp_regs(void);
void kp_jp_regs_target(void);
extern unsigned long kp_jp_in[KP_JP_NR];
extern unsigned long kp_jp_out[KP_JP_NR];

/* Call a function with its first stack argument at @sp, or with @sp as the end of the stack. */
long kp_jp_call_plain_at(const long *args, void *sp);
long kp_jp_call_short_at(long arg, void *sp);

#define KP_KIND			jprobe
#define KP_MEMBER		jp
#define KP_AT_ENTRY		1
#define KP_TARGET		kp_jp_short
#define KP_OTHER		kp_jp_other
#define KP_NOKPROBE		jprobe_return
/* In a function without jprobes: what points into a function prevents jumps there. */
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
	/* how often jprobe_return() has returned */
	int survived;
	long arg[KP_JP_ARGS];
	bool preemptible;
	/* the last call had interrupts off */
	bool irqs_disabled;
	unsigned int order;
	/* what a handler of kp_jp_prepare() calls */
	void (*hook)(void);
};

/* Handlers do not know their jprobe: each of the last eight made has a handler of its own. */
void kp_jp_prepare(struct kp_probe *probe);
/* If the script wants jumps, wait for them; also check that @kp has one. */
void kp_jp_wait_for_jumps(struct kunit *test);
void kp_jp_settle(struct kunit *test, struct kprobe *kp);

static inline void kp_prepare(struct kp_probe *probe)
{
	kp_jp_prepare(probe);
}

static inline void kp_prepare_hook(struct kp_probe *probe, unsigned int where, void (*hook)(void))
{
	probe->hook = hook;
}

static inline unsigned long kp_missed(struct kp_probe *probe)
{
	return probe->kp.nmissed;
}

static inline void kp_settle(struct kunit *test, struct kprobe *kp)
{
	kp_jp_settle(test, kp);
}

static inline void kp_may_be_fatal(struct kunit *test)
{
}

static inline unsigned int kp_hits(struct kp_probe *probe)
{
	return probe->calls + probe->survived;
}

#define kp_expect_hits(test, probe, hits)	KUNIT_EXPECT_EQ(test, kp_hits(probe), hits)

#include "kp_kind.h"

/*
 * kp_jp_handler() records for kp_jp_now, and may call kp_jp_hook(), return without jprobe_return(),
 * or call jprobe_return() from a function.
 */
extern struct kp_probe *kp_jp_now;
extern void (*kp_jp_hook)(void);
extern bool kp_jp_returns;
extern bool kp_jp_deep;
extern unsigned int kp_jp_order;

long kp_jp_handler(KP_JP_PARAMS);
asmlinkage long kp_jp_handler_on_stack(KP_JP_PARAMS);

/* The address to probe; a call with KP_JP_ARG(1) to KP_JP_ARG(14), and its result */
#define KP_JP_ARG(i)	(0x1000L + 16 * (i))
#define KP_JP_CALL(fn)									\
	fn(KP_JP_ARG(1), KP_JP_ARG(2), KP_JP_ARG(3), KP_JP_ARG(4), KP_JP_ARG(5),	\
	   KP_JP_ARG(6), KP_JP_ARG(7), KP_JP_ARG(8), KP_JP_ARG(9), KP_JP_ARG(10),	\
	   KP_JP_ARG(11), KP_JP_ARG(12), KP_JP_ARG(13), KP_JP_ARG(14))
void *kp_jp_address(enum kp_jp_target target);
long kp_jp_call(enum kp_jp_target target);
long kp_jp_result(void);

/* Make a jprobe with kp_jp_handler(), which becomes kp_jp_now; do not register it. */
struct kp_probe *kp_jp_new(struct kunit *test, void *addr);

void kp_jp_expect_call(struct kunit *test, struct kp_probe *jp, enum kp_jp_target target);

const void *kp_jp_next_target(const void *prev, char *desc);
#define KP_JP_CASE(fn)	KUNIT_CASE_PARAM(fn, kp_jp_next_target)

static inline enum kp_jp_target kp_jp_target(struct kunit *test)
{
	return *(const enum kp_jp_target *)test->param_value;
}

int kp_jp_init(struct kunit *test);

extern struct kunit_suite kp_jp_errno_suite;
extern struct kunit_suite kp_jp_calls_suite;
extern struct kunit_suite kp_jp_contexts_suite;
extern struct kunit_suite kp_jp_drops_suite;

#endif /* !__ASSEMBLY__ */
#endif
