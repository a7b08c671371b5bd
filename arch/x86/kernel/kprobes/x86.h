/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_X86_H
#define _X86_KERNEL_KPROBES_X86_H
/* Kernel probes on x86: what the files of this directory share. */

/*
 * Size of the gap between the word that the call of a trampoline pushed and the registers that the
 * trampoline saves. A handler that emulates a push writes to that word or to the gap. Both together
 * have the size of the gap that the entry code of int3 leaves, so a handler has the same room in
 * either case. A CPU with FRED leaves more.
 */
#ifdef CONFIG_X86_64
#define KPROBE_TRAMPOLINE_GAP	40
#else
#define KPROBE_TRAMPOLINE_GAP	20
#endif

/*
 * Flags that are usually clear in the kernel. C code must not run with DF, NT or AC, and Xen PV
 * sets IOPL. If any of these was set at a hit, the trampoline restores the flags with popf instead
 * of sahf.
 */
#define KPROBE_UNSAFE_FLAGS	(X86_EFLAGS_DF | X86_EFLAGS_IOPL | X86_EFLAGS_NT | \
				 X86_EFLAGS_AC)

#ifndef __ASSEMBLY__

#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/probepoint.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/ptrace.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

struct x86_jprobe_call;

/*
 * Slots are in the address range of modules, from which branches reach the text of the kernel and
 * of modules. On 32-bit x86 that is the range of vmalloc().
 */
#define KPROBE_SLOTS_START	MODULES_VADDR
#define KPROBE_SLOTS_END	(MODULES_END - KPROBE_SLOT_SIZE)

/*
 * Return: the start of the slot or detour buffer that @ip is in. @ip may also be the return address
 * of a call there: no call is the last instruction, so that address is in the buffer, too.
 */
static __always_inline unsigned long kprobe_slot_of(unsigned long ip)
{
	return ip & ~(KPROBE_SLOT_SIZE - 1UL);
}

/**
 * struct kprobe_detour_map - table at the end of a detour buffer, from copies to originals
 * @at: for each copy, the offset in the buffer of the code after it. The copy of a call is a push
 *	and a jump: for such a copy, the offset of the jump
 * @from: for each copy, where the original of the code at @at is, as an offset from the probed
 *	address. For the copy of a call: KPROBE_DETOUR_CALLED
 * @nr: number of copies. An instruction slot, whose unused bytes are int3s, has INT3_INSN_OPCODE
 *	here.
 */
struct kprobe_detour_map {
	u8 at[KPROBE_JUMP_SIZE];
	u8 from[KPROBE_JUMP_SIZE];
	u8 nr;
};

#define KPROBE_DETOUR_CALLED	0xff
/* Size of the push in the copy of a call */
#define KPROBE_PUSH_SIZE	5
#define KPROBE_DETOUR_END	(KPROBE_SLOT_SIZE - sizeof(struct kprobe_detour_map))

/*
 * Return: the map of the detour buffer that @ip is in; NULL if @ip is in a slot of a single copy.
 */
static __always_inline const struct kprobe_detour_map *kprobe_detour_map(unsigned long ip)
{
	const struct kprobe_detour_map *map = (void *)kprobe_slot_of(ip) + KPROBE_DETOUR_END;

	return map->nr <= KPROBE_JUMP_SIZE ? map : NULL;
}

/* Return: the copy of the probed instruction in a slot, or after the call in a detour buffer. */
static __always_inline unsigned long kprobe_copy_of(unsigned long slot, bool detour)
{
	return slot + KPROBE_SLOT_CODE + (detour ? CALL_INSN_SIZE : 0);
}

/* Return: the stack slot with the return address of the trampoline that saved @regs. */
static __always_inline unsigned long *kprobe_trampoline_return(struct pt_regs *regs)
{
	return (void *)(regs + 1) + KPROBE_TRAMPOLINE_GAP;
}

/**
 * enum x86_kind - instructions that callers distinguish in addition to &enum x86_op
 * @X86_KIND_OTHER: none of the following
 * @X86_KIND_CALL: a relative near call
 * @X86_KIND_JMP: an unconditional relative jump
 * @X86_KIND_LOOP: a relative branch without an equivalent near jump: the loop instructions,
 *	jrcxz and xbegin
 * @X86_KIND_JMP_INDIRECT: a near or far jump through a register or memory
 * @X86_KIND_RET: a near return without operand
 * @X86_KIND_STI: sti
 * @X86_KIND_LOAD_SEGMENT: loads ds or es, in 32-bit mode
 */
enum x86_kind {
	X86_KIND_OTHER,
	X86_KIND_CALL,
	X86_KIND_JMP,
	X86_KIND_LOOP,
	X86_KIND_JMP_INDIRECT,
	X86_KIND_RET,
	X86_KIND_STI,
	X86_KIND_LOAD_SEGMENT,
};

/* Legacy prefixes, for x86_insn_has_prefix() */
#define X86_PREFIX_OPSIZE	0x66
#define X86_PREFIX_LOCK		0xf0
#define X86_PREFIX_REPNE	0xf2
#define X86_PREFIX_REP		0xf3

/* opcodes.c */
bool x86_insn_length_known(struct insn *insn);
enum x86_op x86_insn_op(struct insn *insn);
bool x86_insn_has_prefix(struct insn *insn, u8 wanted);
bool x86_insn_branches(struct insn *insn, unsigned long addr, unsigned long *target);
enum x86_kind x86_insn_kind(struct insn *insn);
bool x86_insn_has_address(struct insn *insn, unsigned long addr, unsigned long first,
			  unsigned long size);
bool x86_needs_sti_shadow(const u8 *text, size_t len);

/* insn.c */
bool x86_kprobe_read_original(unsigned long addr, u8 *buf, size_t len);
bool x86_kprobe_decode_text(unsigned long addr, unsigned long end, struct insn *insn,
			    u8 buf[MAX_INSN_SIZE]);
bool x86_kprobe_is_cfi_check(struct insn *insn, unsigned long addr);
bool x86_kprobe_fills_rsb(struct insn *insn, unsigned long addr);
int x86_kprobe_decode(struct probepoint *pp, struct kprobe_explanation *e);

/*
 * Does the CPU continue after an out-of-line copy of the instruction, so that the copy can be
 * followed by a jump back or by another copy? Not after a branch, a call or a return.
 */
static inline bool x86_insn_boostable(struct insn *insn)
{
	return x86_insn_op(insn) == X86_OP_COPY;
}

/*
 * Does control flow end at the instruction: a return, a direct jump, or padding? @dead: control
 * flow does not reach the instruction, so an int3 is padding. Indirect jumps are not counted, so an
 * int3 after one is not taken for padding, which is safe.
 */
static inline bool x86_insn_is_end(struct insn *insn, const u8 *bytes, bool dead)
{
	enum x86_kind kind = x86_insn_kind(insn);

	return kind == X86_KIND_RET || kind == X86_KIND_JMP ||
	       (dead && bytes[0] == INT3_INSN_OPCODE);
}

/* Is @target a return thunk, so that a jump to it is a return? */
static inline bool x86_is_return_thunk(unsigned long target)
{
	return target == (unsigned long)x86_return_thunk ||
	       target == (unsigned long)__x86_return_thunk;
}

/* emulate.c */
void x86_kprobe_find_emulation(struct probepoint *pp, struct insn *insn);

/* slot.c */
extern bool x86_kprobe_boost;
int x86_kprobe_emit_branch(u8 *buf, u8 opcode, unsigned long at, unsigned long to);
int x86_kprobe_emit_copy(u8 *buf, const u8 *bytes, size_t size, unsigned long at,
			 unsigned long addr);
int x86_kprobe_emit_branch_copy(u8 *buf, struct insn *insn, unsigned long at, unsigned long addr,
				unsigned long target);
void x86_kprobe_write_slot(kprobe_opcode_t *slot, const u8 *buf);
void x86_kprobe_choose_exec(struct probepoint *pp);

/* trampolines_64.S, trampolines_32.S: assembly code, not called from C */
void kprobe_post_trampoline(void);
void kprobe_detour_trampoline(void);
void kprobe_detour_multi_trampoline(void);
void kprobe_ftrace_trampoline(void);
void kprobe_ftrace_return_trampoline(void);
void kprobe_just_return(void);

/* int3.c */
int x86_kprobe_emulate_with_post(struct probepoint *pp, struct pt_regs *regs);

/* int3.c, for the trampolines */
__visible void kprobe_redirect(struct pt_regs *regs);
#ifdef CONFIG_X86_32
__visible bool kprobe_post_hit(struct probepoint *pp, struct pt_regs *regs);
#else
__visible void kprobe_trampoline_resched(void);
#endif
#ifdef CONFIG_CFI_CLANG
__visible int kprobe_call_pre(struct kprobe *p, struct pt_regs *regs,
			      kprobe_pre_handler_t handler);
__visible void kprobe_call_post(struct kprobe *p, struct pt_regs *regs,
				unsigned long flags, kprobe_post_handler_t handler);
__visible int kprobe_call_return(struct kretprobe_instance *ri, struct pt_regs *regs,
				 kretprobe_handler_t handler);
#endif

/* step.c */
int x86_kprobe_step(struct probepoint *pp, struct pt_regs *regs, bool again);
int x86_kprobe_emulate_again(struct probepoint *pp, struct pt_regs *regs);
bool x86_kprobe_step_trap(struct pt_regs *regs);
bool x86_kprobe_step_fault(struct pt_regs *regs);
void x86_kprobe_steps_discard(void);
void x86_kprobe_steps_reset(unsigned int cpu);

/* slot_lookup.c */
struct probepoint *x86_kprobe_slot_owner(unsigned long ip);
unsigned long x86_kprobe_original_ip(const struct probepoint *pp, unsigned long ip);
unsigned long x86_kprobe_text_ip(unsigned long ip);
struct probepoint *x86_kprobe_trampoline_of_regs(struct pt_regs *regs, struct task_struct *task,
						 unsigned long ip);

/* fault_handler.c */
bool x86_kprobe_fault_in_handler(struct pt_regs *regs, int trapnr);
bool x86_kprobe_fault_in_copy(struct probepoint *pp, struct pt_regs *regs, int trapnr);

/*
 * Was the exception raised instead of executing the instruction? A watchpoint (#DB) is reported
 * after its access, and a machine check may not be related to the instruction.
 */
static __always_inline bool x86_kprobe_is_fault(int trapnr)
{
	return trapnr != X86_TRAP_DB && trapnr != X86_TRAP_MC;
}

/*
 * Call the fault_handlers for an exception that a copy of @pp has raised, or a handler if @pp is
 * NULL. A detour buffer has copies of several instructions: call them for the first copy only,
 * since the first instruction is the probed one.
 */
static __always_inline
void x86_kprobe_offer_fault(struct kprobe_fault *fault, struct probepoint *pp,
			    struct pt_regs *regs, int trapnr)
{
	if (!IS_ENABLED(CONFIG_KPROBES_FAULT_HANDLER) || !x86_kprobe_is_fault(trapnr))
		return;
	if (unlikely(pp)) {
		if (!fault->where && probepoint_has_fault(pp))
			fault->handled = x86_kprobe_fault_in_copy(pp, regs, trapnr);
	} else if (unlikely(kprobe_running())) {
		fault->handled = x86_kprobe_fault_in_handler(regs, trapnr);
	}
}

/* jprobe_call.S */
bool x86_jprobe_call(struct x86_jprobe_call *call, struct pt_regs *regs);
void x86_jprobe_end(unsigned long bp);

/* branch_targets.c */
#ifdef CONFIG_OPTPROBES
int x86_kprobe_check_targets(struct kprobe_jump *jump);
#endif

/*
 * From the linker: the start of the trampolines of static calls. The return and indirect-branch
 * thunks are right before these, so it is also the end of the thunks.
 */
extern char __static_call_text_start[];

/* From the linker: the kernel's own exception table */
extern const struct exception_table_entry __start___ex_table[];
extern const struct exception_table_entry __stop___ex_table[];

/* int3.c */
bool x86_kprobe_hit_nested(struct probepoint *pp, s32 context, struct pt_regs *regs);

/* fentry.c */
__visible bool kprobe_ftrace_hit(struct pt_regs *regs);

/* detour.c */
#ifdef CONFIG_OPTPROBES
unsigned long x86_kprobe_resume_address(unsigned long ip);
#else
static __always_inline unsigned long x86_kprobe_resume_address(unsigned long ip) { return ip; }
#endif
__visible bool kprobe_detour_nested(struct probepoint *pp, struct pt_regs *regs);
#ifdef CONFIG_X86_32
__visible bool kprobe_detour_hit(struct probepoint *pp, struct pt_regs *regs);
__visible bool kprobe_detour_multi_hit(struct probepoint *pp, struct pt_regs *regs);
#else
__visible void kprobe_detour_redirected(struct kprobe *p);
#endif

/* kprobe_enter() for an int3, whose entry code has added KPROBE_CONTEXT_INT3 to the context */
static __always_inline
bool kprobe_enter_int3(struct kprobe_level **level, struct kprobe *probe, struct pt_regs *regs)
{
	s32 interrupted = kprobe_context() - KPROBE_CONTEXT_INT3;

	return kprobe_enter(level, interrupted, interrupted + KPROBE_LEVEL_INT3, probe, regs);
}

/**
 * enum x86_after - when the CPU executes the probed instruction
 * @X86_AFTER_HIT: after the pre_handlers of a hit
 * @X86_AFTER_MISS: after a missed hit
 * @X86_AFTER_FAULT: again, after an exception in a copy was repaired
 */
enum x86_after {
	X86_AFTER_HIT,
	X86_AFTER_MISS,
	X86_AFTER_FAULT,
};

/**
 * x86_kprobe_go_on() - execute the probed instruction
 * @pp: the probepoint
 * @regs: registers of the hit, or of the exception
 * @after: what happened before, a constant
 * @level: after a hit: its entry in the CPU's stack of running handlers. This frees the entry.
 *
 * The copy in a detour buffer or a boosted slot is followed by a call of the post_handlers, if
 * there are any, and by a jump back. Otherwise the instruction is emulated or single-stepped.
 *
 * Context: the handler of the int3, or of the exception.
 *
 * Return: 1.
 */
static __always_inline int x86_kprobe_go_on(struct probepoint *pp, struct pt_regs *regs,
					    enum x86_after after, struct kprobe_level *level)
{
	/*
	 * Pairs with smp_store_release() in x86_kprobe_choose_exec(): the code at this address was
	 * written before.
	 */
	unsigned long resume = READ_ONCE(pp->arch.resume);
	bool emulate = !resume && pp->arch.emulation.run;

	if (emulate && after == X86_AFTER_FAULT)
		return x86_kprobe_emulate_again(pp, regs);
	if (emulate && after == X86_AFTER_HIT && probepoint_has_post(pp))
		return x86_kprobe_emulate_with_post(pp, regs);
	if (after == X86_AFTER_HIT)
		kprobe_leave(level);
	if (emulate)
		return pp->arch.emulation.run(pp, regs);
	if (!resume)
		return x86_kprobe_step(pp, regs, after == X86_AFTER_FAULT);
	regs->ip = resume;
	return 1;
}

/*
 * Call the post_handlers from an int3, after an instruction was emulated or single-stepped. @level
 * records which one runs. If a post_handler has redirected execution, the CPU resumes at the
 * address that the handler set; if a jump overlaps the instruction there, at the copy in the detour
 * buffer.
 */
static __always_inline void kprobe_run_post_handlers(struct probepoint *pp, struct pt_regs *regs,
						     struct kprobe_level *level)
{
	unsigned long next = regs->ip;

	kprobe_int3_hide_context();
	probepoint_call_post(pp, regs, &level->probe);
	kprobe_int3_restore_context();
	if (unlikely(regs->ip != next))
		regs->ip = x86_kprobe_resume_address(regs->ip);
}

#endif /* !__ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_X86_H */
