/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_PROBEPOINT_H
#define _ASM_X86_PROBEPOINT_H
/*
 * Kernel probes on x86: the part of a probepoint that is specific to x86.
 */

#include <linux/cache.h>
#include <linux/types.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

struct probepoint;
struct pt_regs;

/* Size and alignment of slots and detour buffers */
#define KPROBE_SLOT_SIZE	64

/* A slot begins with the address of its probepoint, which the trampolines read. */
#define KPROBE_SLOT_CODE	sizeof(struct probepoint *)

/* Size of the jump to a detour buffer */
#define KPROBE_JUMP_SIZE	5
/*
 * Size of the largest DCR (detoured code region: the instructions that the jump overlaps), whose
 * last instruction begins in the last byte of the jump
 */
#define KPROBE_DCR_MAX	(KPROBE_JUMP_SIZE - 1 + MAX_INSN_SIZE)

/**
 * enum x86_op - what kprobes may do with an instruction
 * @X86_OP_NONE: nothing: the opcode maps do not have it
 * @X86_OP_COPY: execute an out-of-line copy; a jump back or other code may follow the copy
 * @X86_OP_STEP: execute an out-of-line copy with interrupts off, and trap right after it
 * @X86_OP_REFUSE: nothing: its effect depends on its address or on adjacent instructions
 * @X86_OP_TRAP: nothing: it exists to raise an exception
 * @X86_OP_RELATIVE: a relative branch, calls included: emulate it, or re-encode it with the
 *	same target
 * @X86_OP_INDIRECT: a near jump or call through a register or memory: emulate it
 * @X86_OP_RETURN: a return, near or far: emulate it
 * @X86_OP_FLAGS: reads or writes flags, such as IF, that differ while a hit is handled: emulate it
 *
 * An instruction that must be emulated, and has no emulation, is refused.
 */
enum x86_op {
	X86_OP_NONE,
	X86_OP_COPY,
	X86_OP_STEP,
	X86_OP_REFUSE,
	X86_OP_TRAP,
	X86_OP_RELATIVE,
	X86_OP_INDIRECT,
	X86_OP_RETURN,
	X86_OP_FLAGS,
};

/**
 * enum x86_copy - how the out-of-line copy is built
 * @X86_COPY_NONE: not at all: the instruction is always emulated
 * @X86_COPY_BYTES: copy the bytes, and adjust a rip-relative displacement
 * @X86_COPY_BRANCH: encode a branch with the same target
 */
enum x86_copy {
	X86_COPY_NONE,
	X86_COPY_BYTES,
	X86_COPY_BRANCH,
};

/**
 * enum x86_slot_form - what follows the out-of-line copy in a slot
 * @X86_SLOT_NONE: there is no slot
 * @X86_SLOT_STEP: an int3, which ends the step
 * @X86_SLOT_BOOST: a jump back to the probed function
 * @X86_SLOT_POST: a call of kprobe_post_trampoline(), and then the jump back
 */
enum x86_slot_form {
	X86_SLOT_NONE,
	X86_SLOT_STEP,
	X86_SLOT_BOOST,
	X86_SLOT_POST,
};

/**
 * struct x86_probed_insn - the original instruction
 * @bytes: the instruction
 * @size: its length in bytes
 * @op: what kprobes may do with it
 * @copy: how its out-of-line copy is built
 */
struct x86_probed_insn {
	u8 bytes[MAX_INSN_SIZE];
	u8 size;
	enum x86_op op;
	enum x86_copy copy;
};

/**
 * struct x86_operand - where an emulation finds its operand
 * @base: offset in &struct pt_regs of the base register, or of the operand itself if @reg;
 *	-1 for none
 * @index: offset in &struct pt_regs of the index register; -1 for none
 * @disp: displacement; the address itself if the operand is rip-relative
 * @scale: the index is shifted left by this number of bits
 * @seg: the INAT_SEG_REG_ number of a segment with a base, or 0
 * @reg: the operand is a register and not memory
 * @addr32: addresses are truncated to 32 bits
 */
struct x86_operand {
	s16 base;
	s16 index;
	long disp;
	u8 scale;
	u8 seg;
	bool reg;
	bool addr32;
};

/**
 * struct x86_emulation - how the probed instruction is emulated in C
 * @run: does what the CPU would do, and sets the instruction pointer to the next instruction or
 *	to the target. If it cannot read memory, or go to the target, it changes only the
 *	instruction pointer, to the copy in the slot. Always returns 1.
 *	NULL if there is no emulation.
 * @opsize: bytes that the instruction moves; size of the counter of a loop instruction
 * @cc: condition code, or which of the loop instructions it is
 * @reg: offset in &struct pt_regs of a register operand
 * @imm: immediate operand, or the target of a relative branch
 * @rm: the operand in a register or in memory
 */
struct x86_emulation {
	int (*run)(struct probepoint *pp, struct pt_regs *regs);
	u8 opsize;
	u8 cc;
	s16 reg;
	long imm;
	struct x86_operand rm;
};

/**
 * struct x86_slot - the slot of a probepoint
 * @copy: the out-of-line copy; NULL if there is no slot
 * @form: what follows the copy
 */
struct x86_slot {
	kprobe_opcode_t *copy;
	enum x86_slot_form form;
};

/**
 * struct x86_detour - the detour buffer of a probepoint
 * @text: the buffer; NULL if there is none
 * @covered: the original bytes that the jump to the buffer overwrites
 * @in_text: the jump to the buffer is installed at the probed address
 * @several: the buffer calls kprobe_detour_multi_trampoline()
 */
struct x86_detour {
	kprobe_opcode_t *text;
	u8 covered[KPROBE_JUMP_SIZE];
	bool in_text;
	bool several;
};

/**
 * struct arch_probepoint - the part of a probepoint that is specific to x86
 * @resume: where a hit resumes after its pre_handlers, in the slot or in the detour buffer; 0
 *	if the instruction is emulated or single-stepped
 * @hit_ip: the instruction pointer that pre_handlers see
 * @next_ip: address of the next instruction
 * @post: @slot and @resume suit hits that call a post_handler; set to true before the core
 *	publishes a set of probes with a post_handler
 * @insn: the original instruction
 * @emulation: how the instruction is emulated
 * @slot: the slot
 * @detour: the detour buffer
 *
 * Hits, exceptions and unwinders read @resume, @hit_ip, @next_ip, @insn, @emulation, @slot, and
 * @text and @covered of @detour, without a lock. All but @detour are complete before the probepoint
 * is published. Later, @resume, @copy and @form of @slot, and @text change by a single store each.
 * If a hit reads @copy before and @form after such a change, that does no harm: the change is
 * between %X86_SLOT_BOOST and %X86_SLOT_POST, which a hit treats alike. kprobe_mutex guards
 * everything else.
 */
struct arch_probepoint {
	unsigned long resume;
	unsigned long hit_ip;
	unsigned long next_ip;
	bool post;
	struct x86_probed_insn insn;
	struct x86_emulation emulation;
	struct x86_slot slot;
	struct x86_detour detour;
};

#endif /* _ASM_X86_PROBEPOINT_H */
