/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_INSN_H
#define KP_INSN_H

/*
 * For C and assembly. kp_insn_run() loads registers, flags and a part of the stack, jumps to a case
 * of the table of instructions, and saves all of these when the case ends.
 */

#include "kp_insn_table.h"

/* In the order of the instruction encoding */
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
/* A case starts with the kernel's values in these registers. */
#define KP_DS		9
#define KP_ES		10
#define KP_FS		11
#define KP_GS		12
#define KP_REGS		13
/* Entries of 32-bit mode do not save gs in struct pt_regs. */
#define KP_SHOWN_REGS	KP_GS
#define KP_VECTORS	8
#endif

/* A case starts with the stack pointer in the middle of this. */
#define KP_STACK	256
#define KP_STACK_TOP	(KP_STACK / 2)

/* Memory for operands: bx, bp, si, di, r12 and r13 point into it. */
#define KP_MEM		1024

/* Expand @group for each group of cases. Each group is one KUnit case. */
#ifdef CONFIG_X86_64
#define KP_GROUPS_32(group)
#else
#define KP_GROUPS_32(group) \
	group(segment) group(decimal) group(addr16)
#endif
#define KP_GROUPS(group) \
	group(alu) group(move) group(address) group(memory) group(stack) group(shift) \
	group(muldiv) group(bits) group(string) group(atomic) group(jump) group(call) \
	group(eflags) group(system) group(sse) group(avx) group(bmi) group(evex) group(traps) \
	group(unknown) group(dcr_plain) group(dcr_memory) group(dcr_jump) group(dcr_flags) \
	KP_GROUPS_32(group)

#ifndef __ASSEMBLY__

#include <asm/processor-flags.h>
#include "kp_test.h"

#define KP_ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			 X86_EFLAGS_SF | X86_EFLAGS_OF)
/* All flags but RF, which the CPU sets at its own discretion */
#define KP_COMPARED	(~X86_EFLAGS_RF)

struct kp_vector {
	u8 byte[64];
};

struct kp_state {
	unsigned long reg[KP_REGS];
	u8 stack[KP_STACK];
	u8 mem[KP_MEM];
	struct kp_vector vector[KP_VECTORS];
};

/* Input and output of kp_insn_run() */
extern unsigned long kp_insn_in[KP_REGS];
extern unsigned long kp_insn_out[KP_REGS];
extern u8 kp_insn_stack[KP_STACK];
extern u8 kp_insn_mem[KP_MEM];

void kp_insn_run(const void *start);

/* The arithmetic flags, DF, IF and AC are random; a caller may change them. */
void kp_insn_randomize(struct rnd_state *random, struct kp_state *in);
/* @fpu: load and save vector registers, too. Stores the initial stack pointer in @in. */
void kp_insn_run_state(struct kp_state *in, const void *start, bool fpu, struct kp_state *out);

struct desc_ptr;
void kp_insn_use_idt(const struct desc_ptr *idt, const struct desc_ptr *was);
extern kprobe_opcode_t kp_insn_use_idt_probed[];

void kp_insn_load_sse(const struct kp_vector *vector);
void kp_insn_save_sse(struct kp_vector *vector);
void kp_insn_load_avx(const struct kp_vector *vector);
void kp_insn_save_avx(struct kp_vector *vector);
void kp_insn_load_avx512(const struct kp_vector *vector);
void kp_insn_save_avx512(struct kp_vector *vector);

#endif
#endif
