// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: emulating instructions in C.
 *
 * Unless there is a detour buffer, hits emulate calls, returns, indirect jumps and loop
 * instructions: after these the CPU may not reach the rest of a slot, and a call would push an
 * address in the slot. Hits emulate pushf, popf, cli and sti, since these use flags that differ
 * while a hit is handled. If there are post_handlers, hits also emulate jmp, jcc, nops, endbr,
 * push, pop of a register, lea, and mov between registers: that costs less than the slot's call
 * of the trampoline. With kprobes.boost=0, all of these are always emulated.
 *
 * An emulation writes memory only on the stack of the probed function, where it cannot fault.
 * It reads memory operands without faulting: if a read fails, it changes only the instruction
 * pointer, to the out-of-line copy, which raises the exception. All emulations return 1, so the
 * breakpoint handler can end in a tail call of them.
 *
 * A push needs room between the stack of the probed function and the registers that the breakpoint
 * saved. The entry code of int3 leaves a gap; with FRED the CPU leaves one, its red zone of
 * FRED_CONFIG_REDZONE bytes. In 32-bit mode, the exit from the int3 also writes the frame of iret
 * into the gap, below the stack pointer. That leaves two words, so no emulation may set the stack
 * pointer lower than two words below its old value.
 *
 * An emulation is chosen at registration, under kprobe_mutex.
 */
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/desc.h>
#include <asm/insn.h>
#include <asm/inat.h>
#include <asm/insn-eval.h>
#include <asm/msr.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/text-patching.h>
#include <asm/vsyscall.h>

#include "x86.h"

/* The flags that popf changes at privilege level 0 */
#define POPF_FLAGS	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF |  \
			 X86_EFLAGS_ZF | X86_EFLAGS_SF | X86_EFLAGS_TF |  \
			 X86_EFLAGS_IF | X86_EFLAGS_DF | X86_EFLAGS_OF |  \
			 X86_EFLAGS_IOPL | X86_EFLAGS_NT | X86_EFLAGS_AC | \
			 X86_EFLAGS_ID)

static const s16 gpr_offset[] = {
	offsetof(struct pt_regs, ax), offsetof(struct pt_regs, cx),
	offsetof(struct pt_regs, dx), offsetof(struct pt_regs, bx),
	offsetof(struct pt_regs, sp), offsetof(struct pt_regs, bp),
	offsetof(struct pt_regs, si), offsetof(struct pt_regs, di),
#ifdef CONFIG_X86_64
	offsetof(struct pt_regs, r8), offsetof(struct pt_regs, r9),
	offsetof(struct pt_regs, r10), offsetof(struct pt_regs, r11),
	offsetof(struct pt_regs, r12), offsetof(struct pt_regs, r13),
	offsetof(struct pt_regs, r14), offsetof(struct pt_regs, r15),
#endif
};

static __always_inline unsigned long *emulate_reg(struct pt_regs *regs, int offset)
{
	return (void *)regs + offset;
}

#ifdef CONFIG_X86_64
/* Do not use rdmsrl(): it has a tracepoint, whose callbacks may be probed. */
static __always_inline unsigned long emulate_segment_base(u8 seg, const struct pt_regs *regs)
{
	if (seg == INAT_SEG_REG_GS)
		return __rdmsr(MSR_GS_BASE);
	return seg == INAT_SEG_REG_FS ? __rdmsr(MSR_FS_BASE) : 0;
}
#else
/*
 * fs is the kernel's per-CPU segment. The base of the other segments is 0, except that of gs:
 * emulate_decode_rm() refuses operands in gs.
 */
static __always_inline unsigned long emulate_segment_base(u8 seg, const struct pt_regs *regs)
{
	unsigned int nr = regs->fs / sizeof(struct desc_struct);

	if (seg != INAT_SEG_REG_FS || nr >= GDT_ENTRIES)
		return 0;
	return get_desc_base(&raw_cpu_ptr(&gdt_page)->gdt[nr]);
}
#endif

static __always_inline
unsigned long emulate_address(const struct x86_operand *rm,
			      struct pt_regs *regs)
{
	unsigned long addr = rm->disp;

	if (rm->base >= 0)
		addr += *emulate_reg(regs, rm->base);
	if (rm->index >= 0)
		addr += *emulate_reg(regs, rm->index) << rm->scale;
	if (rm->addr32)
		addr = (u32)addr;
	return addr;
}

static int __kprobes emulate_nop(struct probepoint *pp, struct pt_regs *regs)
{
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_jmp(struct probepoint *pp, struct pt_regs *regs)
{
	regs->ip = pp->arch.emulation.imm;
	return 1;
}

static int __kprobes emulate_call(struct probepoint *pp, struct pt_regs *regs)
{
	int3_emulate_push(regs, pp->arch.next_ip);
	regs->ip = pp->arch.emulation.imm;
	return 1;
}

static int __kprobes emulate_jcc(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long next = pp->arch.next_ip;

	int3_emulate_jcc(regs, pp->arch.emulation.cc, next, pp->arch.emulation.imm - next);
	return 1;
}

/* cc: 0 loopne, 1 loope, 2 loop, 3 jcxz; opsize: size of the counter */
static int __kprobes emulate_loop(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long count = regs->cx;
	bool jump;

	if (pp->arch.emulation.cc != 3)
		count--;
	if (pp->arch.emulation.opsize == 2)
		count = (u16)count;
	else if (pp->arch.emulation.opsize == 4)
		count = (u32)count;
	switch (pp->arch.emulation.cc) {
	case 0:
		jump = count && !(regs->flags & X86_EFLAGS_ZF);
		break;
	case 1:
		jump = count && (regs->flags & X86_EFLAGS_ZF);
		break;
	case 2:
		jump = count;
		break;
	default:
		jump = !count;
		break;
	}
	/*
	 * A counter of 2 bytes leaves the rest of rcx unchanged. A counter of 4 bytes clears the
	 * upper half of rcx.
	 */
	if (pp->arch.emulation.cc != 3 && pp->arch.emulation.opsize == 2)
		*(u16 *)&regs->cx = count;
	else if (pp->arch.emulation.cc != 3)
		regs->cx = count;
	regs->ip = jump ? pp->arch.emulation.imm : pp->arch.next_ip;
	return 1;
}

/*
 * Can the exit from the breakpoint go to @target? A branch to an address that is not canonical
 * raises #GP. The iret of the exit would raise it in the entry code. The entry code treats any
 * fault of that iret as the fault of a return to user space, and would run with the user's GS base.
 * In 32-bit mode all addresses are canonical.
 */
static __always_inline bool emulate_can_go_to(unsigned long target)
{
	return IS_ENABLED(CONFIG_X86_32) ||
	       __is_canonical_address(target, __VIRTUAL_MASK_SHIFT + 1);
}

/*
 * May a breakpoint handler read a word at @addr? With SMAP, the kernel oopses when it faults at an
 * address of user space, whatever the exception table says. The vsyscall page counts as user space.
 */
static __always_inline bool emulate_can_read(unsigned long addr)
{
	return addr >= TASK_SIZE_MAX &&
	       (IS_ENABLED(CONFIG_X86_32) ||
		addr - (VSYSCALL_ADDR - sizeof(addr)) > PAGE_SIZE + sizeof(addr));
}

/* Get the target of an indirect jump or call. Return: false if the emulation cannot go there. */
static __always_inline
bool emulate_read_target(struct probepoint *pp, struct pt_regs *regs, unsigned long *target)
{
	const struct x86_operand *rm = &pp->arch.emulation.rm;
	unsigned long addr;

	if (rm->reg) {
		*target = *emulate_reg(regs, rm->base);
	} else {
		addr = emulate_address(rm, regs) + emulate_segment_base(rm->seg, regs);
		if (!emulate_can_read(addr))
			return false;
		/* In a breakpoint handler, a page fault must not sleep: this read fails instead. */
		__get_kernel_nofault(target, addr, unsigned long, fault);
	}
	return emulate_can_go_to(*target);
fault:
	return false;
}

/*
 * The emulation could not read the operand, or cannot go to the target: resume in the copy, so that
 * the CPU executes the instruction, or raises its exception.
 */
static __always_inline int emulate_call_copy(struct probepoint *pp, struct pt_regs *regs)
{
	regs->ip = (unsigned long)pp->arch.slot.copy;
	return 1;
}

static int __kprobes emulate_jmp_rm(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long target;

	if (!emulate_read_target(pp, regs, &target))
		return emulate_call_copy(pp, regs);
	regs->ip = target;
	return 1;
}

static int __kprobes emulate_call_rm(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long target;

	if (!emulate_read_target(pp, regs, &target))
		return emulate_call_copy(pp, regs);
	int3_emulate_push(regs, pp->arch.next_ip);
	regs->ip = target;
	return 1;
}

/* A far call to __KERNEL_CS does not change cs: push cs, and do what a near call does. */
static int __kprobes emulate_far_call(struct probepoint *pp, struct pt_regs *regs)
{
	int3_emulate_push(regs, (u16)regs->cs);
	return emulate_call(pp, regs);
}

static int __kprobes emulate_ret(struct probepoint *pp, struct pt_regs *regs)
{
	if (!emulate_can_go_to(*(unsigned long *)regs->sp))
		return emulate_call_copy(pp, regs);
	regs->ip = int3_emulate_pop(regs);
	regs->sp += pp->arch.emulation.imm;
	return 1;
}

/*
 * Emulate a far return to the same code segment. For any other segment, or a
 * target that emulate_can_go_to() refuses, execute the copy. After an emulation,
 * the exit from the breakpoint would have to load the selector. With a bad
 * selector, that would raise an exception in the entry code, and with FRED the
 * exit can load no other code segment of the kernel.
 */
static int __kprobes emulate_far_ret(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned int size = pp->arch.emulation.opsize;
	unsigned long sp = regs->sp;
	unsigned long target = size == 8 ? *(unsigned long *)sp : *(u32 *)sp;

	if (*(u16 *)(sp + size) != (u16)regs->cs || !emulate_can_go_to(target))
		return emulate_call_copy(pp, regs);
	regs->ip = target;
	regs->sp = sp + 2 * size + pp->arch.emulation.imm;
	return 1;
}

static int __kprobes emulate_push(struct probepoint *pp, struct pt_regs *regs)
{
	int3_emulate_push(regs, *emulate_reg(regs, pp->arch.emulation.reg));
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_push_imm(struct probepoint *pp, struct pt_regs *regs)
{
	int3_emulate_push(regs, pp->arch.emulation.imm);
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_pop(struct probepoint *pp, struct pt_regs *regs)
{
	/* The CPU increments rsp before it writes the operand, so pop rsp sets rsp to @val. */
	unsigned long val = int3_emulate_pop(regs);

	*emulate_reg(regs, pp->arch.emulation.reg) = val;
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_pushf(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long flags = regs->flags & ~(X86_EFLAGS_VM | X86_EFLAGS_RF);

	if (pp->arch.emulation.opsize == 2) {
		regs->sp -= 2;
		*(u16 *)regs->sp = flags;
	} else {
		int3_emulate_push(regs, flags);
	}
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_popf(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long mask = POPF_FLAGS, flags;

	if (pp->arch.emulation.opsize == 2) {
		mask &= 0xffff;
		flags = *(u16 *)regs->sp;
		regs->sp += 2;
	} else {
		flags = int3_emulate_pop(regs);
	}
	regs->flags = (regs->flags & ~mask) | (flags & mask);
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_cli(struct probepoint *pp, struct pt_regs *regs)
{
	regs->flags &= ~X86_EFLAGS_IF;
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_sti(struct probepoint *pp, struct pt_regs *regs)
{
	regs->flags |= X86_EFLAGS_IF;
	regs->ip = pp->arch.next_ip;
	return 1;
}

/* mov from @rm to @reg, registers of 32 or 64 bits */
static int __kprobes emulate_mov(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long val = *emulate_reg(regs, pp->arch.emulation.rm.base);

	*emulate_reg(regs, pp->arch.emulation.reg) =
		pp->arch.emulation.opsize == 4 ? (u32)val : val;
	regs->ip = pp->arch.next_ip;
	return 1;
}

static int __kprobes emulate_lea(struct probepoint *pp, struct pt_regs *regs)
{
	unsigned long val = emulate_address(&pp->arch.emulation.rm, regs);

	*emulate_reg(regs, pp->arch.emulation.reg) =
		pp->arch.emulation.opsize == 4 ? (u32)val : val;
	regs->ip = pp->arch.next_ip;
	return 1;
}

static s16 emulate_modrm_reg(struct insn *insn)
{
	return gpr_offset[X86_MODRM_REG(insn->modrm.bytes[0]) |
			  (X86_REX_R(insn->rex_prefix.bytes[0]) ? 8 : 0)];
}

static s16 emulate_rm_reg(struct insn *insn, u8 low)
{
	return gpr_offset[low | (X86_REX_B(insn->rex_prefix.bytes[0]) ? 8 : 0)];
}

/*
 * Return: the segment that a prefix names, if it is fs or gs, which may have a base; otherwise 0.
 * The CPU uses the last segment prefix; the decoder does not keep the order of prefixes. In 64-bit
 * mode, prefixes of other segments are ignored.
 */
static u8 emulate_segment_prefix(struct insn *insn)
{
	u8 seg = 0;
	int i;

	for (i = 0; i < insn->prefixes.nbytes; i++) {
		switch (insn->kaddr[i]) {
		case 0x64:
			seg = INAT_SEG_REG_FS;
			break;
		case 0x65:
			seg = INAT_SEG_REG_GS;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			if (!IS_ENABLED(CONFIG_X86_64))
				seg = 0;
			break;
		}
	}
	return seg;
}

/*
 * Fill in the operand that the ModRM byte names. Return: true; in 32-bit mode, false for 16-bit
 * addresses and for operands in gs, which are not emulated, since no compiler uses them.
 */
static bool emulate_decode_rm(struct probepoint *pp, struct insn *insn)
{
	struct x86_operand *rm = &pp->arch.emulation.rm;
	u8 modrm = insn->modrm.bytes[0];
	u8 rex = insn->rex_prefix.bytes[0];
	u8 sib = insn->sib.bytes[0];

	rm->base = -1;
	rm->index = -1;
	rm->disp = insn->displacement.value;
	rm->seg = emulate_segment_prefix(insn);
	rm->addr32 = IS_ENABLED(CONFIG_X86_64) && insn->addr_bytes == 4;
	rm->reg = X86_MODRM_MOD(modrm) == 3;

	if (rm->reg) {
		rm->base = emulate_rm_reg(insn, X86_MODRM_RM(modrm));
		return true;
	}
	if (!IS_ENABLED(CONFIG_X86_64) &&
	    (insn->addr_bytes != 4 || rm->seg == INAT_SEG_REG_GS))
		return false;

	if (insn->sib.nbytes) {
		u8 index = X86_SIB_INDEX(sib) | (X86_REX_X(rex) ? 8 : 0);

		if (index != 4)
			rm->index = gpr_offset[index];
		rm->scale = X86_SIB_SCALE(sib);
		/* Base 5 with mod 0 stands for no base, and a displacement of four bytes. */
		if (X86_SIB_BASE(sib) != 5 || X86_MODRM_MOD(modrm) != 0)
			rm->base = emulate_rm_reg(insn, X86_SIB_BASE(sib));
	} else if (X86_MODRM_MOD(modrm) == 0 && X86_MODRM_RM(modrm) == 5) {
		if (insn_rip_relative(insn))
			rm->disp += (unsigned long)pp->addr + insn->length;
	} else {
		rm->base = emulate_rm_reg(insn, X86_MODRM_RM(modrm));
	}
	return true;
}

/*
 * May an emulation set @reg to any value? Not the stack pointer in 32-bit mode: the exit from the
 * breakpoint writes the frame of iret below the new stack pointer, perhaps over saved registers.
 */
static bool emulate_can_set(s16 reg)
{
	return IS_ENABLED(CONFIG_X86_64) || reg != offsetof(struct pt_regs, sp);
}

typedef int (*emulation_t)(struct probepoint *pp, struct pt_regs *regs);

static emulation_t emulate_find_relative(struct probepoint *pp, struct insn *insn)
{
	struct x86_emulation *em = &pp->arch.emulation;
	u8 op = insn->opcode.bytes[0];

	/* With an operand-size prefix, some CPUs truncate the target to 16 bits, others do not. */
	if (x86_insn_has_prefix(insn, X86_PREFIX_OPSIZE))
		return NULL;
	em->imm = pp->arch.next_ip + insn->immediate.value;
	if (insn->opcode.nbytes == 2) {
		em->cc = insn->opcode.bytes[1] & 0xf;
		return emulate_jcc;
	}
	switch (op) {
	case 0xc7:	/* xbegin */
		return NULL;
	case 0x70 ... 0x7f:
		em->cc = op & 0xf;
		return emulate_jcc;
	case 0xe0 ... 0xe3:
		/* For loopne and loope, AMD CPUs may take the condition from a prefix f2 or f3. */
		if (op < 0xe2 && (x86_insn_has_prefix(insn, X86_PREFIX_REPNE) ||
				  x86_insn_has_prefix(insn, X86_PREFIX_REP)))
			return NULL;
		em->cc = op & 3;
		em->opsize = insn->addr_bytes;
		return emulate_loop;
	case CALL_INSN_OPCODE:
		return emulate_call;
	default:
		return emulate_jmp;
	}
}

static emulation_t emulate_find_one_byte(struct probepoint *pp, struct insn *insn)
{
	struct x86_emulation *em = &pp->arch.emulation;
	u8 op = insn->opcode.bytes[0];
	u8 modrm = insn->modrm.bytes[0];
	bool opsize = x86_insn_has_prefix(insn, X86_PREFIX_OPSIZE);

	switch (op) {
	case 0x50 ... 0x57:
		if (opsize)
			return NULL;
		em->reg = emulate_rm_reg(insn, op & 7);
		return emulate_push;
	case 0x58 ... 0x5f:
		if (opsize)
			return NULL;
		em->reg = emulate_rm_reg(insn, op & 7);
		return emulate_can_set(em->reg) ? emulate_pop : NULL;
	case 0x68:
	case 0x6a:
		if (opsize)
			return NULL;
		em->imm = insn->immediate.value;
		return emulate_push_imm;
	case 0x89:
	case 0x8b:
		if (X86_MODRM_MOD(modrm) != 3 || insn->opnd_bytes < 4)
			return NULL;
		emulate_decode_rm(pp, insn);
		em->reg = emulate_modrm_reg(insn);
		em->opsize = insn->opnd_bytes;
		if (op == 0x89)
			swap(em->reg, em->rm.base);
		return emulate_can_set(em->reg) ? emulate_mov : NULL;
	case 0x8d:
		if (X86_MODRM_MOD(modrm) == 3 || insn->opnd_bytes < 4 ||
		    !emulate_decode_rm(pp, insn))
			return NULL;
		em->reg = emulate_modrm_reg(insn);
		em->opsize = insn->opnd_bytes;
		return emulate_can_set(em->reg) ? emulate_lea : NULL;
	case 0x90:
		/* With REX.B, 90 is xchg with r8; with a rep prefix, it is pause. */
		if (X86_REX_B(insn->rex_prefix.bytes[0]) ||
		    x86_insn_has_prefix(insn, X86_PREFIX_REP))
			return NULL;
		return emulate_nop;
	case 0x9a:
	case 0xea:
		/*
		 * Do not emulate a 16-bit target, or a selector that may be of a call gate or task.
		 */
		if (opsize || insn->immediate2.value != __KERNEL_CS)
			return NULL;
		em->imm = insn->immediate1.value;
		return op == 0x9a ? emulate_far_call : emulate_jmp;
	case 0x9c:
		em->opsize = opsize && !X86_REX_W(insn->rex_prefix.bytes[0]) ? 2 : sizeof(long);
		return emulate_pushf;
	case 0x9d:
		em->opsize = opsize && !X86_REX_W(insn->rex_prefix.bytes[0]) ? 2 : sizeof(long);
		return emulate_popf;
	case RET_INSN_OPCODE:
		return opsize ? NULL : emulate_ret;
	case 0xc2:
		em->imm = (u16)insn->immediate.value;
		return opsize ? NULL : emulate_ret;
	case 0xca:
		em->imm = (u16)insn->immediate.value;
		fallthrough;
	case 0xcb:
		em->opsize = X86_REX_W(insn->rex_prefix.bytes[0]) ? 8 : 4;
		return opsize ? NULL : emulate_far_ret;
	case 0xfa:
		return emulate_cli;
	case 0xfb:
		return emulate_sti;
	case 0xff:
		if (x86_insn_op(insn) != X86_OP_INDIRECT || opsize || !emulate_decode_rm(pp, insn))
			return NULL;
		return X86_MODRM_REG(modrm) == 2 ? emulate_call_rm : emulate_jmp_rm;
	}
	return NULL;
}

static emulation_t emulate_find(struct probepoint *pp, struct insn *insn)
{
	/* With a lock prefix, all instructions that have an emulation raise #UD instead. */
	if (insn_is_avx(insn) || x86_insn_has_prefix(insn, X86_PREFIX_LOCK))
		return NULL;
	switch (x86_insn_op(insn)) {
	case X86_OP_RELATIVE:
		return emulate_find_relative(pp, insn);
	case X86_OP_COPY:
	case X86_OP_INDIRECT:
	case X86_OP_RETURN:
	case X86_OP_FLAGS:
		break;
	default:
		return NULL;
	}
	if (insn->opcode.nbytes == 1)
		return emulate_find_one_byte(pp, insn);
	if (insn->opcode.nbytes != 2)
		return NULL;
	switch (insn->opcode.bytes[1]) {
	case 0x1e:
		/* endbr64 and endbr32; other forms may read the shadow stack. */
		if (!x86_insn_has_prefix(insn, X86_PREFIX_REP) ||
		    (insn->modrm.bytes[0] != 0xfa && insn->modrm.bytes[0] != 0xfb))
			return NULL;
		return emulate_nop;
	case 0x1f:
		return emulate_nop;
	}
	return NULL;
}

static enum x86_copy emulate_choose_copy(enum x86_op op, emulation_t run)
{
	if (op == X86_OP_RELATIVE && (run == emulate_jmp || run == emulate_jcc))
		return X86_COPY_BRANCH;
	/*
	 * All instructions without emulation need a copy, and so do those that are emulated only if
	 * there are post_handlers (X86_OP_COPY). The emulations that are listed here may be unable
	 * to read the operand, or to go to the target: then emulate_call_copy() resumes in the
	 * copy. In 32-bit mode, emulate_ret() can go to any target.
	 */
	if (!run || op == X86_OP_COPY || run == emulate_jmp_rm || run == emulate_call_rm ||
	    run == emulate_far_ret || (run == emulate_ret && IS_ENABLED(CONFIG_X86_64)))
		return X86_COPY_BYTES;
	return X86_COPY_NONE;
}

/*
 * Choose the emulation of an instruction, if it has one. next_ip and insn.op of @pp are set. Fill
 * in emulation and insn.copy.
 */
void x86_kprobe_find_emulation(struct probepoint *pp, struct insn *insn)
{
	struct arch_probepoint *ap = &pp->arch;

	ap->emulation.run = emulate_find(pp, insn);
	ap->insn.copy = emulate_choose_copy(ap->insn.op, ap->emulation.run);
}
