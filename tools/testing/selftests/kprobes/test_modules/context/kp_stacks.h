/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_STACKS_H
#define KP_STACKS_H

#include <linux/types.h>

/* Indexes of kp_stacks_probed_insn[]: the instructions of kp_stacks_probed(), then its size */
enum {
	KP_PUSH_RBP, KP_MOV_RBP, KP_PUSH_RBX, KP_SUB_RSP, KP_MOV_RBX,
	KP_LOAD,	/* may fault: the function returns -EFAULT */
	KP_STORE,	/* to the stack */
	KP_CALL, KP_NOP, KP_LOAD_STACK, KP_ADD_RSP, KP_POP_RBX, KP_POP_RBP, KP_RET,
	KP_SIZE,
	KP_INSNS = KP_SIZE,
};

/* Calls kp_stacks_callee() and returns what @from points to. */
long kp_stacks_probed(const long *from);
extern const u32 kp_stacks_probed_insn[KP_SIZE + 1];
void kp_stacks_callee(void);

/* Fills memory with zeros, by one instruction. */
void kp_stacks_fill(void *to, unsigned long bytes);
/* Offsets of that instruction, and of the function's end */
enum { KP_FILL_STOS, KP_FILL_SIZE, KP_FILL_NR };
extern const u32 kp_stacks_fill_insn[KP_FILL_NR];

#endif
