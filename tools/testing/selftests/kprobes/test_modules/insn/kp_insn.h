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

/* Code after the tested instruction may store one of these in kp_insn_way, which is 0 before. */
#define KP_WENT_ON	1	/* the next instruction */
#define KP_TAKEN	2	/* the target of a branch */
#define KP_FIXED_UP	3	/* the fix-up of an exception */

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
#include "fuzz_random.h"
#include "kp_test.h"

#define KP_ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			 X86_EFLAGS_SF | X86_EFLAGS_OF)
/* All flags but RF, which the CPU sets at its own discretion */
#define KP_COMPARED	(~X86_EFLAGS_RF)

struct kp_vector {
	u8 byte[64];
};

/* @way: what the code after an instruction has stored in kp_insn_way */
struct kp_state {
	unsigned long reg[KP_REGS];
	u8 stack[KP_STACK];
	u8 mem[KP_MEM];
	struct kp_vector vector[KP_VECTORS];
	u64 mmx[8];
	u8 way;
};

/* Input and output of kp_insn_run() */
extern unsigned long kp_insn_in[KP_REGS];
extern unsigned long kp_insn_out[KP_REGS];
extern u8 kp_insn_stack[KP_STACK];
extern u8 kp_insn_mem[KP_MEM];
extern u8 kp_insn_way;
extern unsigned long kp_insn_edge;

void kp_insn_run(const void *start);

/* The arithmetic flags, DF, IF and AC are random; a caller may change them. */
void kp_insn_randomize(struct fuzz_random *random, struct kp_state *in);
/*
 * Run the code at @start with the registers of @in, and save them in @out. With KP_FPU in @flags,
 * this includes the vector registers, with KP_MMX the MMX registers. Stores the initial stack
 * pointer in @in.
 */
void kp_insn_run_state(struct kp_state *in, const void *start, u32 flags, struct kp_state *out);

/*
 * Handlers: none, pre, pre and post, pre and fault, all three; kp_runner.prepare() sets
 * fault_handlers.
 */
enum kp_mode { KP_BARE, KP_PRE, KP_PRE_POST, KP_PRE_FAULT, KP_ALL_THREE, KP_MODES };

/* What both handlers got in a round, before optimisation */
struct kp_shown {
	struct pt_regs pre, post;
};

/*
 * struct kp_insn - an instruction, its probe, and the results of its rounds without a probe
 * @number: tells apart the random sequences of instructions
 * @start, @probed, @next: where its code begins, the instruction itself, and the one after it
 * @has_post: there is code between @next and the end
 * @runs: the instruction can be executed; cleared when a round has failed
 */
struct kp_insn {
	struct kprobe kp;
	const char *name;
	unsigned long number;
	void *start, *probed, *next;
	u32 flags;
	bool has_post;
	bool runs;
	struct kp_state *bare;
	struct kp_shown *shown;
};

/*
 * struct kp_runner - how instructions are executed
 * @rounds: how often each instruction runs in each mode, with different values
 * @seed: what the random values start from
 * @modes: number of modes
 * @opt: run them with jump-optimised probes, too, and compare with the other probes
 * @runs: counts by mode, without and with a jump
 * @place: changes the random values that a round starts with
 * @prepare: changes a probe before it is registered
 * @check: a further check of a round that has passed so far; returns false if the check fails
 *
 * @place, @prepare and @check may be NULL.
 */
struct kp_runner {
	unsigned int rounds;
	unsigned long seed;
	enum kp_mode modes;
	bool opt;
	unsigned long runs[KP_MODES][2];
	void (*place)(struct kp_insn *insn, unsigned int round, struct fuzz_random *random,
		      struct kp_state *in);
	void (*prepare)(struct kp_insn *insn, enum kp_mode mode);
	bool (*check)(struct kunit *test, struct kp_insn *insn, enum kp_mode mode,
		      unsigned int round, const struct kp_state *in);
};

extern struct kp_runner kp_runner;

static inline void *kp_insn_at(u32 offset)
{
	return (void *)kp_insn_text + offset;
}

/* Describe a case of the table, except one with KP_PLACED. */
void kp_insn_describe(struct kp_insn *insn, const struct kp_insn_case *c);
/* Allocate @insn->bare and @insn->shown until the end of the case. */
void kp_insn_alloc(struct kunit *test, struct kp_insn *insn);
/* Prepare @insn->kp for registration. */
void kp_insn_prepare(struct kp_insn *insn, enum kp_mode mode);
/* Is @ret an error that the registration of a probe on an instruction may return? */
bool kp_insn_may_refuse(int ret);
/*
 * Run the instructions of the struct kp_insn that contain @kps, in all modes, and compare the
 * results.
 */
void kp_insn_run_all(struct kunit *test, struct kprobe **kps, int nr);
/* Let the case fail if two values differ, in the current round. Return: do they differ? */
bool kp_insn_differ(struct kunit *test, const char *what, unsigned long got, unsigned long wanted);

struct desc_ptr;
void kp_insn_use_idt(const struct desc_ptr *idt, const struct desc_ptr *was);
extern kprobe_opcode_t kp_insn_use_idt_probed[];

void kp_insn_load_mmx(const u64 *mmx);
void kp_insn_save_mmx(u64 *mmx);
void kp_insn_load_sse(const struct kp_vector *vector);
void kp_insn_save_sse(struct kp_vector *vector);
void kp_insn_load_avx(const struct kp_vector *vector);
void kp_insn_save_avx(struct kp_vector *vector);
void kp_insn_load_avx512(const struct kp_vector *vector);
void kp_insn_save_avx512(struct kp_vector *vector);

#endif
#endif
