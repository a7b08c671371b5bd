/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_RET_STACKS_H
#define KP_RET_STACKS_H

/* Number of words that a handler may push, and the value of the first one */
#define KP_GAP		6
#define KP_RS_WORD	0x4b50

#ifndef __ASSEMBLY__

/* Shared by the suites of kp_ret_stacks: a chain of calls, and traces of its stack */

#include "kp_test.h"

/* Save a stack trace from @regs. */
void kp_save_regs(struct kp_trace *trace, struct pt_regs *regs);

/*
 * kp_rs_loop() calls kp_rs_outer(), which calls kp_rs_inner(), which calls kp_rs_probed(),
 * which returns @arg plus one and, with kp_rs_save, saves a trace in kp_rs_callee.
 * kp_rs_loop() does this kp_rs_times times, and returns the sum.
 */
long kp_rs_loop(long arg);
extern unsigned int kp_rs_times;
long kp_rs_probed(long arg);
/*
 * If kp_rs_untraced is set, kp_rs_inner() calls kp_rs_probed_untraced() instead of kp_rs_probed().
 * It has no call of ftrace at its entry.
 */
long kp_rs_probed_untraced(long arg);
extern bool kp_rs_untraced;
/* If kp_rs_tailed is set, kp_rs_inner() calls kp_rs_tail(), which jumps to kp_rs_probed(). */
long kp_rs_tail(long arg);
extern bool kp_rs_tailed;
/*
 * If kp_rs_interrupted is set, kp_rs_inner() calls kp_rs_probed_aligned() instead of
 * kp_rs_probed(). kp_rs_probed_aligned() calls kp_rs_probed_interrupted(), after whose ret
 * instruction an interrupt arrives.
 */
long kp_rs_probed_aligned(long arg);
long kp_rs_probed_interrupted(long arg);
long kp_rs_raise(long arg);
extern bool kp_rs_interrupted;
extern struct kp_trace kp_rs_callee;
extern bool kp_rs_save;
/* With kp_rs_dump, kp_rs_probed() calls dump_stack(): the script checks the log. */
extern bool kp_rs_dump;

/* Return: the number of entries in kp_rs_callee from kp_rs_inner() to the outermost caller. */
unsigned int kp_rs_callers(struct kunit *test);

/* Are the last @nr entries of @trace and @wanted the same? */
bool kp_rs_same_end(const struct kp_trace *trace, const struct kp_trace *wanted, unsigned int nr);

/* Drops as many words from the stack as its name says, and returns @arg plus one. */
typedef long kp_rs_drop(long arg);
kp_rs_drop kp_rs_drop_0, kp_rs_drop_1, kp_rs_drop_2, kp_rs_drop_5, kp_rs_drop_6, kp_rs_drop_7;
kp_rs_drop kp_rs_drop_16, kp_rs_drop_28, kp_rs_drop_60, kp_rs_drop_200;

/* With the parameter jumps, wait until @kp has its jump. */
void kp_rs_settle(struct kprobe *kp);

const char *kp_rs_name(unsigned long addr, char *name);

extern struct kunit_suite kp_rs_frames_suite, kp_rs_step_suite, kp_rs_fprobe_suite;

#endif
#endif
