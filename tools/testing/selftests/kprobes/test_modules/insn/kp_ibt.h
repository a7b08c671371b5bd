/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_IBT_H
#define KP_IBT_H

typedef long kp_ibt_fn(long arg);

/* Each of these functions has an endbr, and returns its argument plus 1. */
kp_ibt_fn kp_ibt_entry, kp_ibt_calls, kp_ibt_switch;
/* This function has no endbr, and returns its argument plus 100. */
kp_ibt_fn kp_ibt_bare;

/* Instructions of kp_ibt_switch() */
enum kp_ibt_insn {
	KP_IBT_PLAIN,		/* what a jump may replace */
	KP_IBT_JUMP,		/* jmp *%rdx */
	KP_IBT_NOP,		/* the instruction before an endbr */
	KP_IBT_TARGET,		/* that endbr */
	KP_IBT_AFTER,		/* the instruction after it */
	KP_IBT_INSNS,
};

/*
 * Offsets of call *%rdx in kp_ibt_calls(), and of the instructions of kp_ibt_switch(). These are no
 * symbols, since a symbol would begin another function.
 */
extern const unsigned int kp_ibt_calls_insn, kp_ibt_switch_insn[KP_IBT_INSNS];

#endif
