/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KPROBES_KUNIT_H
#define KPROBES_KUNIT_H

/* Shared by the suites of kprobes_kunit: probes that count, functions to probe */

#define KP_KIND			kprobe
#define KP_MEMBER		kp
#define KP_AT_ENTRY		0
#define KP_TARGET		kp_target
#define KP_OTHER		kp_target_other
#define KP_NOKPROBE		kp_target_nokprobe
#ifdef CONFIG_X86
#define KP_INSIDE		(kp_x86_sum_addr(KP_SUM_MOVABS) + 1)
#define KP_INSIDE_ERROR		-EILSEQ
#else
#define KP_INSIDE		kp_target_noinstr
#define KP_INSIDE_ERROR		-EINVAL
#endif
#define KP_CONTEXTS								\
	{ "pre_handler", kp_target, kp_target_other, 0 },			\
	{ "post_handler", kp_target, kp_target_other, 1 },			\
	{ "pre_handler, breakpoint or jump", kp_target_notrace, kp_target, 0 },	\
	{ "post_handler, breakpoint or jump", kp_target_notrace, kp_target, 1 }

/* If a probe has a post_handler, hits that its handlers cause are missed, see kprobe_nests(). */
#define KP_SECOND_NESTS		false
#define KP_TRACED		kp_traced()

#include "kp_test.h"

struct kp_probe {
	struct kprobe kp;
	unsigned int pre, post;
	struct kprobe *seen;
	unsigned long pre_ip, post_ip;
	bool preemptible;
	/* functions that the pre_handler and the post_handler call */
	void (*hook[2])(void);
};

static inline struct kp_probe *to_kp_probe(struct kprobe *kp)
{
	return container_of(kp, struct kp_probe, kp);
}

/*
 * Return: true if another tracer is attached to all functions. Then ftrace drops hits that are
 * nested more than once, and kprobes cannot count them.
 */
bool kp_traced(void);
int kp_count_pre(struct kprobe *kp, struct pt_regs *regs);
void kp_count_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kp_settle(struct kunit *test, struct kprobe *kp);

static inline void kp_prepare(struct kp_probe *probe)
{
	probe->kp.pre_handler = kp_count_pre;
}

static inline void kp_prepare_hook(struct kp_probe *probe, unsigned int where, void (*hook)(void))
{
	probe->hook[where] = hook;
	if (where)
		probe->kp.post_handler = kp_count_post;
}

static inline unsigned int kp_hits(struct kp_probe *probe)
{
	return probe->pre + probe->post;
}

static inline unsigned long kp_missed(struct kp_probe *probe)
{
	return probe->kp.nmissed;
}

#define kp_expect_pre_post(test, probe, pre_hits, post_hits) do {	\
	struct kunit *_test = (test);					\
	struct kp_probe *_probe = (probe);				\
									\
	KUNIT_EXPECT_EQ(_test, _probe->pre, pre_hits);			\
	KUNIT_EXPECT_EQ(_test, _probe->post, post_hits);		\
} while (0)

#define kp_expect_hits(test, probe, hits) do {				\
	struct kp_probe *_hit = (probe);				\
	unsigned int _hits = (hits);					\
									\
	kp_expect_pre_post(test, _hit, _hit->kp.pre_handler ? _hits : 0, \
			   _hit->kp.post_handler ? _hits : 0);		\
} while (0)

/* Functions to probe; each returns its argument plus one. */
long kp_target(long arg);
long kp_target_notrace(long arg);
long kp_target_other(long arg);
long kp_target_calls(long arg);
long kp_target_jump_label(long arg);
long kp_target_static_call(long arg);
long kp_target_bug(long arg);
long kp_target_warn(long arg);
long kp_target_indirect(long arg);

/*
 * kp_target_row() has KP_ROW instructions of equal size between the two offsets in kp_row_bounds[].
 * KP_ROW is larger than the number of instruction slots in a page. On x86, each registration
 * decodes the function from its start, so a smaller KP_ROW saves time.
 */
long kp_target_row(long arg);
extern const u32 kp_row_bounds[2];
#ifdef CONFIG_X86
#define KP_ROW		200
#else
#define KP_ROW		1400
#endif

/* Functions that must not be probed. */
long kp_target_nokprobe(long arg);
long kp_target_noinstr(long arg);
long kp_target_cpuidle(long arg);
long kp_target_kprobes(long arg);
long kp_target_kprobes_named(long arg);
long kp_target_kprobes_after(long arg);

#ifdef CONFIG_X86
/* Adds its arguments. kp_x86_sum_insn[]: offsets of its instructions, then its size */
long kp_x86_sum(long a, long b);
enum { KP_SUM_LEA, KP_SUM_MOVABS, KP_SUM_XOR, KP_SUM_XOR_BACK, KP_SUM_RET, KP_SUM_SIZE, KP_SUM_NR };
extern const u32 kp_x86_sum_insn[KP_SUM_NR];

/*
 * kp_x86_endbr_insn[]: the offset of an ENDBR that is not at the entry, then those of the nops
 * before and after that ENDBR
 */
void kp_x86_endbr(void);
extern const u32 kp_x86_endbr_insn[3];

/*
 * These functions are never called. The arrays have the offset of an int3, and of a lock prefix
 * that alternatives may patch.
 */
void kp_x86_int3(void);
extern const u32 kp_x86_int3_insn[1];
void kp_x86_lock(void);
extern const u32 kp_x86_lock_insn[1];

static inline void *kp_x86_sum_addr(int insn)
{
	return (void *)kp_x86_sum + kp_x86_sum_insn[insn];
}
#endif

#include "kp_kind.h"

extern struct kunit_suite kp_errno_suite, kp_batch_suite, kp_lifecycle_suite, kp_handlers_suite;

#endif
