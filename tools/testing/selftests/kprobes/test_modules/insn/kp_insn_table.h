/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INSN_TABLE_H
#define KP_INSN_TABLE_H

/*
 * The table of instructions, for assembly, C in the kernel, and C in user mode, which has to define
 * u16 and u32 before. Each case is a piece of code with one instruction to be tested.
 */

/* Flags of a case */
#define KP_REFUSED	0x0001	/* must not be probed */
#define KP_MAYBE	0x0002	/* may be refused; if it is not, the results must be right */
#define KP_FPU		0x0004	/* uses vector registers or the x87 */
#define KP_ANY_AX	0x0008	/* ax is different each time */
#define KP_ANY_DX	0x0010	/* dx is different each time */
#define KP_ANY_FLAGS	0x0020	/* the arithmetic flags are different each time */
#define KP_IRQS_ON	0x0040	/* only with interrupts on */
#define KP_BRANCH	0x0080	/* does not continue at the next instruction */
#define KP_HITS_AGAIN	0x0100	/* hits the probe five times */
#define KP_GAP		0x0200	/* moves the stack pointer over bytes that it does not write */
#define KP_OPT		0x0400	/* must be optimised */
#define KP_NO_OPT	0x0800	/* must not be optimised */
#define KP_EOPNOTSUPP	0x1000	/* refused since kprobes cannot execute it out of line */
#define KP_PLACED	0x2000	/* the operands are for the fuzzers to place */
#define KP_MMX		0x4000	/* uses mm0 to mm7; only together with KP_FPU */
/* Flags of a case that raises an exception */
#define KP_NO_EXTABLE	0x08000	/* no fix-up: die notifiers are called */
#define KP_MAY_FAULT	0x10000	/* not every processor raises the exception */
#define KP_OOPS		0x20000	/* the script checks the oops that this causes */
#define KP_BRANCHES	0x40000	/* QEMU's TCG branches, and raises the exception at the target */

#ifndef __ASSEMBLY__

/*
 * @start to @next: offsets from kp_insn_text(), with KP_PLACED from kp_insn_names
 * @fixup: where execution resumes after an exception, as an offset from kp_insn_text(); 0: the case
 *	raises none
 * @has_post: bytes of code after the padding
 * @name: offset from kp_insn_names
 * @trap: the exception; 0: not the same one on all processors
 * @feature: the CPU must have this; 0: none
 */
struct kp_insn_case {
	u32 start;
	u32 probed;
	u32 next;
	u32 fixup;
	u32 has_post;
	u32 name;
	u32 flags;
	u32 feature;
	u16 group;
	u16 trap;
};

extern const struct kp_insn_case kp_insn_cases[];
extern const u32 kp_insn_nr;
extern const char kp_insn_names[];
void kp_insn_text(void);

#endif
#endif
