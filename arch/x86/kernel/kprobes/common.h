/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_COMMON_H
#define _X86_KERNEL_KPROBES_COMMON_H
/*
 * Shared by the x86 files of kprobes; nothing here is for others.
 */

/*
 * Bytes between the word that the call of a thunk has pushed and the registers
 * that the thunk saves. With that word it is what the kernel's entry code has
 * for breakpoints.
 */
#define KPROBE_THUNK_GAP	40

/* Flags that C does not run with, and with which popf has to load them all. */
#define KPROBE_ODD_FLAGS	(X86_EFLAGS_DF | X86_EFLAGS_IOPL | X86_EFLAGS_NT | \
				 X86_EFLAGS_AC)

/* For thunks.S, what C has; int3.c checks it. */
#define KPROBE_HIT_IP		112
#define KPROBE_NEXT_IP		120
#define KPROBE_SET		216
#define KPROBE_FIRST		224
#define KPROBE_PRE_HANDLER	64
#define PROBE_SET_POST_PROBE	16
#define PROBE_SET_POST_HANDLER	24
#define KPROBE_THUNK_SLOT_SIZE	64
#define KPROBE_FRAME_CONTEXT	0
#define KPROBE_FRAME_PROBE	16
#define KPROBE_FRAME_SIZE	48
#define KPROBE_FRAME_CONTEXTS	0xff0100
#define KPROBE_FRAME_NOBODY	-1
#define KPROBE_HOT_PREEMPT_COUNT 8
#define KRETPROBE_HANDLER	232
#define KRETPROBE_NEXT		0
#define KRETPROBE_ANCHOR	8
#define KRETPROBE_RET_ADDR	24
#define KRETPROBE_FP		32
#define KRETPROBE_ANCHOR_PROBE	0
#define KRETPROBE_ANCHOR_ACTIVE	8
#define KRETPROBE_ANCHOR_BACK	16
/* A detour's pointer to the probepoint, from behind its first call. */
#define KPROBE_DETOUR_CALLED_AT	13

#ifndef __ASSEMBLY__

#include <asm/asm.h>
#include <asm/frame.h>

/*
 * For asm() statements that build a struct pt_regs, like rethook's trampoline:
 * ss, sp and flags have been pushed already. cs, ip and orig_ax are left to C.
 * What is restored ends where flags were pushed.
 */
#ifdef CONFIG_X86_64
#define SAVE_REGS_STRING						\
	"leaq -24(%rsp), %rsp\n\t"					\
	"pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\t"	\
	"pushq %rax\n\tpushq %r8\n\tpushq %r9\n\tpushq %r10\n\t"	\
	"pushq %r11\n\tpushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\t"	\
	"pushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"			\
	ENCODE_FRAME_POINTER

#define RESTORE_REGS_STRING						\
	"popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\t"		\
	"popq %rbp\n\tpopq %rbx\n\tpopq %r11\n\tpopq %r10\n\t"		\
	"popq %r9\n\tpopq %r8\n\tpopq %rax\n\tpopq %rcx\n\t"		\
	"popq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"			\
	"leaq 24(%rsp), %rsp\n"
#else
#define SAVE_REGS_STRING						\
	"leal -12(%esp), %esp\n\t"					\
	"pushl %gs\n\tpushl %fs\n\tpushl %es\n\tpushl %ds\n\t"	\
	"pushl %eax\n\tpushl %ebp\n\tpushl %edi\n\tpushl %esi\n\t"	\
	"pushl %edx\n\tpushl %ecx\n\tpushl %ebx\n\t"			\
	ENCODE_FRAME_POINTER

/* The segment registers are as they were. */
#define RESTORE_REGS_STRING						\
	"popl %ebx\n\tpopl %ecx\n\tpopl %edx\n\tpopl %esi\n\t"	\
	"popl %edi\n\tpopl %ebp\n\tpopl %eax\n\t"			\
	"leal 28(%esp), %esp\n"
#endif

/* rethook needs no more than what is above. */
#ifdef CONFIG_KPROBES

#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

/*
 * A slot begins with a pointer to the probepoint's kprobe, for the thunks that
 * its code calls.
 */
#define KPROBE_SLOT_CODE	sizeof(struct kprobe *)

/* Slots are aligned to their size; no call is the last instruction of one. */
static __always_inline unsigned long kprobe_slot_of(unsigned long ip)
{
	return ip & ~(KPROBE_SLOT_SIZE - 1UL);
}

/**
 * struct kprobe_detour_map - from a detour to the text, at the end of a detour
 * @at: where in the detour what comes after each copied instruction begins
 * @from: the same for the original, in bytes from the probed address; or
 *	KPROBE_DETOUR_CALLED where a call has been made by all but the jump that
 *	is there
 * @nr: number of copied instructions; in a slot that is no detour it is
 *	INT3_INSN_OPCODE, with which slots are filled up
 */
struct kprobe_detour_map {
	u8 at[KPROBE_JUMP_SIZE];
	u8 from[KPROBE_JUMP_SIZE];
	u8 nr;
};

#define KPROBE_DETOUR_CALLED	0xff
/* Of what pushes a return address. */
#define KPROBE_PUSH_SIZE	5
#define KPROBE_DETOUR_END	(KPROBE_SLOT_SIZE - sizeof(struct kprobe_detour_map))

/* The map of the detour that @ip is in, NULL if it is an ordinary slot. */
static __always_inline const struct kprobe_detour_map *kprobe_detour_map(unsigned long ip)
{
	const struct kprobe_detour_map *map = (void *)kprobe_slot_of(ip) + KPROBE_DETOUR_END;

	return map->nr <= KPROBE_JUMP_SIZE ? map : NULL;
}

/* A detour calls its thunk first. */
static __always_inline unsigned long kprobe_copy_of(unsigned long slot, bool detour)
{
	return slot + KPROBE_SLOT_CODE + (detour ? CALL_INSN_SIZE : 0);
}

/* Where a thunk goes on when C returns false. */
static __always_inline unsigned long *kprobe_thunk_return(struct pt_regs *regs)
{
	return (void *)(regs + 1) + KPROBE_THUNK_GAP;
}

/* Call the post_handlers of a probepoint whose instruction has been run. */
static __always_inline void kprobe_run_post_handlers(struct kprobe *kp, struct pt_regs *regs,
						     s32 interrupted, s32 context)
{
	struct kprobe_frame *f = kprobe_top_frame();

	/* A hit that a handler made; counted as missed when it happened. */
	if (kprobe_must_miss(f, interrupted))
		return;
	kprobe_push_frame(++f, context, NULL, NULL);
	kprobe_call_post_handlers(kp, regs, &f->probe);
	kprobe_pop_frame(f);
}

/**
 * enum x86_op - what kprobes may do with an instruction
 * @X86_OP_NONE: nothing, it is not in the opcode maps
 * @X86_OP_COPY: run a copy of it anywhere, amid other code
 * @X86_OP_STEP: run a copy with interrupts off, and trap right after it
 * @X86_OP_REFUSE: nothing; it depends on its address or on its neighbours
 * @X86_OP_TRAP: nothing, it is there to raise an exception
 * @X86_OP_RELATIVE: it branches relative to its address, calls among them:
 *	emulate it, or make a branch that leads where it does
 * @X86_OP_INDIRECT: near jump or call by way of a register or memory: emulate it
 * @X86_OP_RETURN: return, near or far: emulate it
 * @X86_OP_FLAGS: reads or writes flags that are not as they were while a hit is
 *	handled: emulate it
 *
 * Where there is no emulation for one that only has that, it is refused.
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

/* opcodes.c */
enum x86_op x86_insn_op(struct insn *insn);

/* insn.c */
bool x86_kprobe_read_original(unsigned long addr, u8 *buf, size_t len);
int x86_kprobe_decode(struct kprobe *p);
bool x86_insn_branches(struct insn *insn, unsigned long addr, unsigned long *target);
bool x86_insn_has_prefix(struct insn *insn, u8 wanted);

/* May a copy be run amid other code, with nothing left to do after it? */
static inline bool x86_insn_boostable(struct insn *insn)
{
	return x86_insn_op(insn) == X86_OP_COPY;
}

static inline bool x86_insn_is_call(struct insn *insn)
{
	return insn->opcode.nbytes == 1 && insn->opcode.bytes[0] == CALL_INSN_OPCODE;
}

/* emulate.c */
bool x86_kprobe_find_emulation(struct kprobe *p, struct insn *insn);

/* slot.c */
extern bool x86_kprobe_boost;
int x86_kprobe_make_slot(struct kprobe *p, bool post);
int x86_kprobe_put_branch(u8 *buf, u8 opcode, unsigned long at, unsigned long to);
int x86_kprobe_put_copy(u8 *buf, const u8 *bytes, size_t size, unsigned long at,
			unsigned long addr);
int x86_kprobe_put_branch_copy(u8 *buf, struct insn *insn, unsigned long at, unsigned long addr,
			       unsigned long target);
void x86_kprobe_write_slot(kprobe_opcode_t *slot, const u8 *buf);
void x86_kprobe_choose_run(struct kprobe *p);

/* thunks.S */
asmlinkage void kprobe_post_thunk(void);
asmlinkage void kprobe_detour_thunk(void);
asmlinkage void kprobe_ftrace_thunk(void);
asmlinkage void kprobe_just_return(void);

/* int3.c */
asmlinkage __visible void kprobe_thunk_resched(void);
asmlinkage __visible void kprobe_post_elsewhere(struct pt_regs *regs);
#ifdef CONFIG_CFI_CLANG
asmlinkage __visible int kprobe_call_pre(struct kprobe *p, struct pt_regs *regs,
					 kprobe_pre_handler_t handler);
asmlinkage __visible void kprobe_call_post(struct kprobe *p, struct pt_regs *regs,
					   unsigned long flags, kprobe_post_handler_t handler);
asmlinkage __visible int kprobe_call_return(struct kretprobe_instance *ri, struct pt_regs *regs,
					    kretprobe_handler_t handler);
#endif

/* entries.c */
#ifdef CONFIG_OPTPROBES
int x86_kprobe_check_entries(struct kprobe_jump *jump);
#endif

/* What the linker gathers for the kernel itself. */
extern const struct exception_table_entry __start___ex_table[];
extern const struct exception_table_entry __stop___ex_table[];

/* ftrace.c */
asmlinkage __visible bool kprobe_ftrace_hit(struct pt_regs *regs, unsigned long next);

/* opt.c */
#ifdef CONFIG_OPTPROBES
unsigned long x86_kprobe_landing(unsigned long ip);
#else
static __always_inline unsigned long x86_kprobe_landing(unsigned long ip)
{
	return ip;
}
#endif
asmlinkage __visible void kprobe_detour_missed(struct kprobe *kp);
asmlinkage __visible bool kprobe_detour_elsewhere(struct pt_regs *regs, struct kprobe_frame *f);

#endif /* CONFIG_KPROBES */
#endif /* !__ASSEMBLY__ */
#endif /* _X86_KERNEL_KPROBES_COMMON_H */
