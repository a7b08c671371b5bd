/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_H
#define FUZZ_H
/*
 * Shared by the parts of the fuzzer: fuzz_subject.c, which is compiled with shim.h and calls
 * the kernel's files, and fuzz_cpu.c and fuzz_main.c, which are ordinary programs.
 */

#include <stdbool.h>
#include <stddef.h>
#ifndef __KERNEL__
/* struct insn, from tools/: the kernel's own header needs other headers of the kernel. */
#include "../../../../arch/x86/include/asm/insn.h"
#endif

/*
 * Memory at fixed addresses below 2 GiB, so that a 32-bit displacement or address reaches all of
 * it. The addresses are free: the program is linked to 0x7c000000, see the Makefile, and in 64-bit
 * mode nothing else is below 2 GiB. If they are not free, the fuzzer ends with an error.
 */
#define FUZZ_ARENA	0x20000000UL	/* memory operands and the stack */
#define FUZZ_ARENA_SIZE	0x4000UL
#define FUZZ_TEXT	0x30000000UL	/* the probed instruction; the page after it is unmapped */
#define FUZZ_TEXT_SIZE	0x1000UL
#define FUZZ_AT		(FUZZ_TEXT + 0x400)
#define FUZZ_SLOTS	0x58000000UL
#define FUZZ_SLOTS_SIZE	0x1000UL
#define FUZZ_TRAMPOLINE	0x59000000UL	/* stands for kprobe_post_trampoline(); see the Makefile */

/* Registers by their numbers in encodings; 32-bit mode has the first eight. */
#ifdef __x86_64__
#define FUZZ_NR_REGS	16
#else
#define FUZZ_NR_REGS	8
#endif
enum { FUZZ_AX, FUZZ_CX, FUZZ_DX, FUZZ_BX, FUZZ_SP, FUZZ_BP, FUZZ_SI, FUZZ_DI };

struct fuzz_regs {
	unsigned long reg[FUZZ_NR_REGS];
	unsigned long ip;
	unsigned long flags;
	unsigned long cs;
	unsigned long fs_base;
	unsigned long gs_base;
	unsigned long segments[2];	/* in 32-bit mode: es << 16 | ds, and gs << 16 | fs */
};

/* The values are those of enum x86_op; fuzz_subject.c checks that. */
enum fuzz_op {
	FUZZ_OP_NONE, FUZZ_OP_COPY, FUZZ_OP_STEP, FUZZ_OP_REFUSE, FUZZ_OP_TRAP,
	FUZZ_OP_RELATIVE, FUZZ_OP_INDIRECT, FUZZ_OP_RETURN, FUZZ_OP_FLAGS, FUZZ_OPS
};

/*
 * struct fuzz_probe - what kprobes would do with the encoding
 * @err: 0 or the errno of a registration, and @why the text of the reason
 * @emulated: there is an emulation
 * @slot: the slot's copy; 0 if there is none
 * @boosted: a jump back follows the copy, or the copy is a branch itself
 * @branch: the copy is a branch with a new displacement
 * @post_slot: the copy in a slot with a call of the post_handlers' trampoline; or 0
 * @next: address of the next instruction
 */
struct fuzz_probe {
	int err;
	const char *why;
	bool emulated;
	unsigned long slot;
	bool boosted;
	bool branch;
	unsigned long post_slot;
	unsigned long next;
};

/* fuzz_subject.c */
enum fuzz_op fuzz_decode(const unsigned char *bytes, struct insn *insn);
void fuzz_probe(struct fuzz_probe *probe);
int fuzz_emulate(struct fuzz_regs *regs);

/*
 * struct fuzz_outcome - the end of an execution
 * @regs: registers; the instruction pointer is at the next instruction, or at the one that has
 *	raised an exception
 * @sig: 0, or the signal of an exception
 * @code: its si_code
 * @page_fault: the exception is a page fault, at @address
 */
struct fuzz_outcome {
	struct fuzz_regs regs;
	int sig;
	int code;
	bool page_fault;
	unsigned long address;
};

/*
 * enum fuzz_end - when an execution ends, if there is no exception
 * @FUZZ_BY_INT3: when an int3 is executed
 * @FUZZ_AFTER_STEP: after one instruction
 * @FUZZ_AFTER_REPEATING: after all repetitions of one instruction
 */
enum fuzz_end { FUZZ_BY_INT3, FUZZ_AFTER_STEP, FUZZ_AFTER_REPEATING };

/* fuzz_cpu.c */
struct fuzz_random;
#define FUZZ_FPU_MAX	16384
extern unsigned char *fuzz_fpu;
extern unsigned int fuzz_fpu_size;
extern unsigned long fuzz_cpu_fs_base;
void fuzz_cpu_init(void);
void fuzz_fpu_randomize(struct fuzz_random *r, bool small);
int fuzz_fpu_compare(const unsigned char *a, const unsigned char *b);
void fuzz_execute(const struct fuzz_regs *in, enum fuzz_end end, struct fuzz_outcome *out,
		  unsigned char *fpu_out);

#endif
