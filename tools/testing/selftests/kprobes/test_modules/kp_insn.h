/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INSN_H
#define KP_INSN_H

/*
 * The instruction matrix, as its C and its assembly see it.
 *
 * A case is a piece of code around one instruction. kp_insn_run() loads registers,
 * flags and some stack, jumps there, and saves them all when the case is through.
 */

/* In the order of the instruction encoding. */
#define KP_AX		0
#define KP_CX		1
#define KP_DX		2
#define KP_BX		3
#define KP_SP		4
#define KP_BP		5
#define KP_SI		6
#define KP_DI		7
#ifdef CONFIG_X86_64
#define KP_R12		12
#define KP_R13		13
#define KP_R15		15
#define KP_FLAGS	16
#define KP_REGS		17
#define KP_SHOWN_REGS	KP_REGS
#define KP_VECTORS	32
#else
#define KP_FLAGS	8
/* A case starts with what they have in the kernel. */
#define KP_DS		9
#define KP_ES		10
#define KP_FS		11
#define KP_GS		12
#define KP_REGS		13
/* struct pt_regs has no gs. */
#define KP_SHOWN_REGS	KP_GS
#define KP_VECTORS	8
#endif

/* The case starts with its stack pointer in the middle of this. */
#define KP_STACK	256
#define KP_STACK_TOP	(KP_STACK / 2)

/* Memory operands: bx, bp, si, di, r12 and r13 point into it, rip may. */
#define KP_MEM		1024

/* How a case is to be treated. */
#define KP_REFUSED	0x0001	/* may not be probed */
#define KP_MAYBE	0x0002	/* may be refused; if not, it has to be right */
#define KP_FPU		0x0004	/* uses vector registers or the x87 */
#define KP_ANY_AX	0x0008	/* ax is different each time */
#define KP_ANY_DX	0x0010	/* so is dx */
#define KP_ANY_FLAGS	0x0020	/* so are the arithmetic flags */
#define KP_IRQS_ON	0x0040	/* only with interrupts on */
#define KP_BRANCH	0x0080	/* does not go on with the next instruction */
#define KP_HITS_AGAIN	0x0100	/* comes by the probe more than once */
#define KP_GAP		0x0200	/* moves the stack pointer over what it does not write */
#define KP_OPT		0x0400	/* a jump can take its place */
#define KP_NO_OPT	0x0800	/* no jump may take its place */
#define KP_EOPNOTSUPP	0x1000	/* refused as one that kprobes can't run elsewhere */

/* The test case it belongs to. */
#define KP_ALU		0
#define KP_MOVE		1
#define KP_ADDRESS	2
#define KP_STACKS	3
#define KP_SHIFT	4
#define KP_MULDIV	5
#define KP_BITS		6
#define KP_STRING	7
#define KP_ATOMIC	8
#define KP_JUMP		9
#define KP_CALL		10
#define KP_EFLAGS	11
#define KP_SYSTEM	12
#define KP_RIP		13
#define KP_SSE		14
#define KP_AVX		15
#define KP_BMI		16
#define KP_EVEX		17
#define KP_TRAPS	18
#define KP_DCR_PLAIN	19
#define KP_DCR_RIP	20
#define KP_DCR_JUMP	21
#define KP_DCR_FLAGS	22
#define KP_UNKNOWN	23
/* Outside of 64-bit mode only */
#define KP_ABSOLUTE	24
#define KP_SEGMENT	25
#define KP_DECIMAL	26
#define KP_ADDR16	27
#define KP_GROUPS	28

#ifndef __ASSEMBLY__

#include <linux/kprobes.h>
#include <linux/types.h>

/* Offsets are from the start of the case's text, and of the strings. */
struct kp_insn_case {
	u32 start;
	u32 probed;
	u32 next;
	u32 has_post;
	u32 name;
	u16 flags;
	u16 group;
	u32 feature;
} __packed;

struct kp_insn_table {
	const struct kp_insn_case *cases;
	const u32 *nr;
	const void *text;
	const char *names;
};

struct kp_vector {
	u8 byte[64];
};

struct kp_state {
	unsigned long reg[KP_REGS];
	u8 stack[KP_STACK];
	u8 mem[KP_MEM];
	struct kp_vector vector[KP_VECTORS];
};

/* Set before a run, and filled by it. */
extern unsigned long kp_insn_in[KP_REGS];
extern unsigned long kp_insn_out[KP_REGS];
extern u8 kp_insn_stack[KP_STACK];
extern u8 kp_insn_mem[KP_MEM];

void kp_insn_run(const void *start);

struct desc_ptr;
void kp_insn_use_idt(const struct desc_ptr *idt, const struct desc_ptr *was);
extern kprobe_opcode_t kp_insn_use_idt_probed[];

void kp_insn_load_sse(const struct kp_vector *vector);
void kp_insn_save_sse(struct kp_vector *vector);
void kp_insn_load_avx(const struct kp_vector *vector);
void kp_insn_save_avx(struct kp_vector *vector);
void kp_insn_load_avx512(const struct kp_vector *vector);
void kp_insn_save_avx512(struct kp_vector *vector);

extern const struct kp_insn_case kp_insn_integer[], kp_insn_vector[], kp_insn_dcr[];
extern const u32 kp_insn_integer_nr, kp_insn_vector_nr, kp_insn_dcr_nr;
extern const char kp_insn_integer_names[], kp_insn_vector_names[], kp_insn_dcr_names[];
void kp_insn_integer_text(void);
void kp_insn_vector_text(void);
void kp_insn_dcr_text(void);

#endif
#endif
