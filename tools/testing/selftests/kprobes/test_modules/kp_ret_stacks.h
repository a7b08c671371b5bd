/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_RET_STACKS_H
#define KP_RET_STACKS_H

/* How many words a handler may push, and what the first one is. */
#define KP_GAP		6
#define KP_RS_WORD	0x4b50

#ifndef __ASSEMBLY__

/* What the suites of kp_ret_stacks share: a chain of calls, and what stacks it has. */

#include <kunit/test.h>
#include <linux/kprobes.h>

#define KP_DEPTH	64

struct kp_trace {
	unsigned int nr;
	unsigned long entry[KP_DEPTH];
};

/* As the kernel saves a stack: from here, and from registers. */
void kp_save(struct kp_trace *trace);
void kp_save_regs(struct kp_trace *trace, struct pt_regs *regs);

/*
 * kp_rs_loop() calls kp_rs_outer(), that kp_rs_inner(), and that kp_rs_probed(), which
 * returns @arg plus one. It saves the stack in kp_rs_callee where kp_rs_save is set. All
 * this happens kp_rs_times times, and kp_rs_loop() returns the sum.
 */
long kp_rs_loop(long arg);
extern unsigned int kp_rs_times;
long kp_rs_probed(long arg);
/* Its like, in its place where kp_rs_untraced is set; ftrace has no part in it. */
long kp_rs_probed_untraced(long arg);
extern bool kp_rs_untraced;
/* Calls kp_rs_probed() by a jump, in its place where kp_rs_tailed is set. */
long kp_rs_tail(long arg);
extern bool kp_rs_tailed;
extern struct kp_trace kp_rs_callee;
extern bool kp_rs_save;

/* How many entries of kp_rs_callee are those of kp_rs_inner() and its callers. */
unsigned int kp_rs_callers(struct kunit *test);

/* @trace ends as @wanted does, in @nr entries. */
bool kp_rs_same_end(const struct kp_trace *trace, const struct kp_trace *wanted, unsigned int nr);
void kp_rs_show(struct kunit *test, const char *what, const struct kp_trace *trace);

/* Drops as many words as its name says, and returns @arg plus one. */
typedef long kp_rs_drop(long arg);
kp_rs_drop kp_rs_drop_0, kp_rs_drop_1, kp_rs_drop_2, kp_rs_drop_5, kp_rs_drop_6, kp_rs_drop_7;
kp_rs_drop kp_rs_drop_16, kp_rs_drop_28, kp_rs_drop_60, kp_rs_drop_200;

/* @kp is reached as it is going to be, if that was asked for. */
void kp_rs_settle(struct kprobe *kp);

/* The function that an address is in. */
const char *kp_rs_name(unsigned long addr, char *name);

extern struct kunit_suite kp_rs_frames_suite;
extern struct kunit_suite kp_rs_step_suite;
extern struct kunit_suite kp_rs_fprobe_suite;

#endif /* !__ASSEMBLY__ */
#endif
