/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KPROBES_KUNIT_H
#define KPROBES_KUNIT_H

/*
 * Shared by the suites of kprobes_kunit: probes that count, functions to probe, registration
 * that ends with the case
 */

#include <kunit/test.h>
#include <linux/kprobes.h>
#include <linux/uaccess.h>

/* A kprobe with counters, and what its handlers saw last */
struct kp_probe {
	struct kprobe kp;
	unsigned int pre;
	unsigned int post;
	struct kprobe *seen;
	unsigned long pre_ip;
	unsigned long post_ip;
	bool preemptible;
};

static inline struct kp_probe *to_kp_probe(struct kprobe *kp)
{
	return container_of(kp, struct kp_probe, kp);
}

int kp_count_pre(struct kprobe *kp, struct pt_regs *regs);
void kp_count_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

/* Make a probe at @addr that counts in its pre_handler; do not register it. */
struct kp_probe *kp_new(struct kunit *test, void *addr);

/* Registers until kp_unregister() or the end of the case. */
int kp_register(struct kunit *test, struct kp_probe *probe);
void kp_unregister(struct kunit *test, struct kp_probe *probe);

/*
 * If the parameter jumps is set, wait until @kp has a jump, if it can have one. Registering
 * and enabling by functions of this file calls it.
 */
void kp_settle(struct kunit *test, struct kprobe *kp);
int kp_enable(struct kunit *test, struct kprobe *kp);

/* register_kprobe() must fail with @error and leave nothing. */
void kp_expect_refused(struct kunit *test, struct kprobe *kp, int error);

/* Check that calls of @target do not hit the probe at @addr until it is registered again. */
void kp_expect_unprobed(struct kunit *test, struct kp_probe *probe, long (*target)(long));

/* The first bytes of some text, to compare later */
struct kp_bytes {
	void *addr;
	u8 byte[16];
};

void kp_bytes_save(struct kunit *test, struct kp_bytes *bytes, void *addr);
void kp_bytes_expect_same(struct kunit *test, const struct kp_bytes *bytes);

/* Functions to probe; each returns its argument plus one. */
long kp_target(long arg);
long kp_target_other(long arg);
long kp_target_calls(long arg);
long kp_target_jump_label(long arg);
long kp_target_static_call(long arg);
long kp_target_bug(long arg);
long kp_target_warn(long arg);
long kp_target_indirect(long arg);

/*
 * A row of instructions of one size, more than a page has slots for. The offsets of the first
 * one, and after the last one, are in kp_row_bounds[].
 */
long kp_target_row(long arg);
extern const u32 kp_row_bounds[2];
/* A page of x86 has few slots, and a registration decodes the function from its beginning. */
#ifdef CONFIG_X86
#define KP_ROW		200
#else
#define KP_ROW		1400
#endif

/* Functions that must not be probed. */
long kp_target_nokprobe(long arg);
long kp_target_noinstr(long arg);
long kp_target_kprobes(long arg);
long kp_target_kprobes_named(long arg);
long kp_target_kprobes_after(long arg);

#ifdef CONFIG_X86
/* Adds its arguments. kp_x86_sum_insn[] has the offsets of its instructions, then its size. */
long kp_x86_sum(long a, long b);
enum { KP_SUM_LEA, KP_SUM_MOVABS, KP_SUM_XOR, KP_SUM_XOR_BACK, KP_SUM_RET, KP_SUM_SIZE, KP_SUM_NR };
extern const u32 kp_x86_sum_insn[KP_SUM_NR];

/* An ENDBR that is not the first instruction, at [0], and its neighbours */
void kp_x86_endbr(void);
extern const u32 kp_x86_endbr_insn[3];

/* Never called: an int3; and a lock prefix, at [0], that alternatives may patch */
void kp_x86_int3(void);
extern const u32 kp_x86_int3_insn[1];
void kp_x86_lock(void);
extern const u32 kp_x86_lock_insn[1];

static inline void *kp_x86_sum_addr(int insn)
{
	return (void *)kp_x86_sum + kp_x86_sum_insn[insn];
}
#endif

extern struct kunit_suite kp_errno_suite;
extern struct kunit_suite kp_batch_suite;
extern struct kunit_suite kp_lifecycle_suite;
extern struct kunit_suite kp_handlers_suite;

#endif
