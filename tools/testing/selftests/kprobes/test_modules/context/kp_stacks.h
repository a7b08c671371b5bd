/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_STACKS_H
#define KP_STACKS_H

/* Indexes of kp_stacks_insn[]: the instructions of kp_stacks_probed(), then its size */
#define KP_PUSH_RBP	0	/* the first instruction */
#define KP_MOV_RBP	1
#define KP_PUSH_RBX	2
#define KP_SUB_RSP	3
#define KP_MOV_RBX	4
#define KP_LOAD		5	/* may fault: the function returns -EFAULT */
#define KP_STORE	6	/* to the stack */
#define KP_CALL		7
#define KP_NOP		8
#define KP_LOAD_STACK	9
#define KP_ADD_RSP	10
#define KP_POP_RBX	11
#define KP_POP_RBP	12
#define KP_RET		13	/* the last index of an instruction */
#define KP_SIZE		14
#define KP_INSNS	14

#ifndef __ASSEMBLY__

#include <linux/types.h>

/* Calls kp_stacks_callee() and returns what @from points to. */
long kp_stacks_probed(const long *from);
extern const u32 kp_stacks_insn[KP_SIZE + 1];
void kp_stacks_callee(void);

/* Fills memory with zeros, by one instruction. */
void kp_stacks_fill(void *to, unsigned long bytes);
/* Offsets of that instruction, and of the function's end */
enum { KP_FILL_STOS, KP_FILL_SIZE, KP_FILL_NR };
extern const u32 kp_stacks_fill_insn[KP_FILL_NR];

#endif
#endif
