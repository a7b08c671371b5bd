/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_OPT_SUITES_H
#define KP_OPT_SUITES_H

/* kp_opt_row() has KP_ROW_INSNS instructions; a jump covers KP_ROW_DCR of them. */
#define KP_ROW_INSNS	16
#define KP_ROW_SIZE	2
#define KP_ROW_DCR	3

/* functions in kp_opt_many */
#define KP_MANY		200

#define KP_REFUSE	0x01	/* must not be optimised */
#define KP_ACCEPT	0x02
#define KP_POINTER	0x04	/* its argument is a pointer, valid or not */
#define KP_ACCEPT_PRE	0x10	/* must be optimised if it has no post_handler */

#ifndef __ASSEMBLY__

#include <asm/ibt.h>
#include "kp_opt.h"
#include "kp_probe.h"
#include "kp_regs.h"

/* Returns the number of executed instructions. */
long kp_opt_row(void);
/* Returns a + b. The first instruction copies a to %_ASM_CX, the second one adds b. */
long kp_opt_sum(long a, long b);
long kp_opt_sum_other(long a, long b);
/* The first instruction is as long as a jump. */
long kp_opt_sum_long(long a, long b);
void kp_opt_add_thousand(void);
/* Calls kp_opt_help(), and keeps the registers. */
void kp_opt_helper(void);
asmlinkage void kp_opt_help(void);

/* post_handlers: three that are empty, and two that are not */
void kp_opt_empty_plain(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kp_opt_empty_frame(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kp_opt_empty_clears(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kp_opt_post_writes(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);
void kp_opt_post_leads_on(struct kprobe *kp, struct pt_regs *regs, unsigned long flags);

extern const u32 kp_opt_sum_insn[3], kp_opt_sum_long_insn[2];

static inline void *kp_sum_insn(int insn)
{
	return (void *)kp_opt_sum + kp_opt_sum_insn[insn];
}

typedef long kp_opt_fn(long);
/* Each returns its argument plus one. */
extern kp_opt_fn *const kp_opt_many[KP_MANY];

void kp_opt_fill(void *to, long bytes);
enum { KP_FILL_PROBED, KP_FILL_STOS, KP_FILL_END, KP_FILL_NR };
extern const u32 kp_opt_fill_insn[KP_FILL_NR];

/*
 * In kp_opt_load_first() the probed instruction is the load, which may fault; in
 * kp_opt_load_second() the load follows the probed instruction.
 */
typedef long kp_load_fn(const long __user *from);
kp_load_fn kp_opt_load_first, kp_opt_load_second;
extern const u32 kp_opt_load_first_insn, kp_opt_load_second_insn;

/* @start, @probed: offsets from kp_opt_text. @name: offset from kp_opt_names */
struct kp_opt_code {
	u32 start;
	u32 probed;
	u32 name;
	u32 flags;
} __packed;

#ifdef CONFIG_X86_64
static inline __nocfi long kp_opt_run_code(kp_opt_fn *fn, long arg)
{
	return fn(arg);
}
#else
long kp_opt_run_code(kp_opt_fn *fn, long arg);
#endif

extern const struct kp_opt_code kp_opt_codes[];
extern const u32 kp_opt_codes_nr;
extern const char kp_opt_names[];
void kp_opt_text(void);

/*
 * The instruction at kp_opt_hides_probed loads the address of byte 1 of a jump at
 * kp_opt_hidden_probed, so an indirect branch may lead there.
 */
kp_opt_fn kp_opt_hidden;
extern kprobe_opcode_t kp_opt_hidden_probed[], kp_opt_hides_probed[];

/* An xor, five nops, an instruction of five bytes, five nops */
kp_opt_fn kp_opt_debugged;
#define KP_DEBUGGED_BEFORE	2
#define KP_DEBUGGED_INSN	7
#define KP_DEBUGGED_NEXT	12

void kp_opt_becomes_jump(struct kunit *test, struct kp_probe *probe);
/* Expect an int3, now and after all possible jumps are written. */
void kp_opt_stays_int3(struct kunit *test, struct kp_probe *probe);
void kp_opt_sum_hits(struct kunit *test, struct kp_probe *probe, long pre, long post);

/* Register a probe, and wait for its jump. */
static inline struct kp_probe *kp_opt_jump(struct kunit *test, void *addr, bool post)
{
	struct kp_probe *probe = kp_new_post(test, addr, post);

	kp_register(test, probe);
	kp_opt_becomes_jump(test, probe);
	return probe;
}

/* Probes on each function of kp_opt_many; every fourth has a post_handler. */
extern struct kp_probe kp_many[KP_MANY];
int kp_many_register(void);
void kp_many_unregister(void);
int kp_many_jumps(void);
/*
 * Register the probes kp_many for 100 ms, or with @settle until all are optimised, then unregister
 * them. Their slots overwrite slots that were freed before: a task that is still in one crashes.
 */
int kp_opt_reuse(bool settle);

extern struct kunit_suite kp_opt_hits_suite, kp_opt_diverts_suite, kp_opt_keeps_suite;
extern struct kunit_suite kp_opt_block_suite;
extern struct kunit_suite kp_opt_safety_suite, kp_opt_preempt_suite, kp_opt_sleep_suite;

#endif
#endif
