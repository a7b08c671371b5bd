/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_KPROBES_H
#define _ASM_X86_KPROBES_H
/*
 * What x86 tells the kprobes core, and what it keeps for each probepoint.
 */

#include <asm-generic/kprobes.h>

#ifdef CONFIG_KPROBES

#include <linux/cleanup.h>
#include <linux/instrumentation.h>
#include <linux/types.h>
#include <asm/insn.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/ptrace.h>

struct kprobe;
struct llist_node;
struct notifier_block;
struct pt_regs;
struct task_struct;

/* Copies of instructions run from slots that the core hands out. */
#define __ARCH_WANT_KPROBES_INSN_SLOT

/* x86 knows interrupt contexts apart, and so has its own kprobe_busy_begin(). */
#define __ARCH_WANT_KPROBES_CONTEXT

typedef u8 kprobe_opcode_t;

/*
 * Bytes in a slot, or in a detour, which is made in the same memory. Slots are
 * aligned to their size.
 */
#define KPROBE_SLOT_SIZE	64

/* Bytes that a jump takes from the text. */
#define KPROBE_JUMP_SIZE	5
/* The instructions under it may reach that far. */
#define KPROBE_JUMP_REACH	(KPROBE_JUMP_SIZE - 1 + MAX_INSN_SIZE)

/**
 * struct x86_operand - where an emulated instruction finds its operand
 * @base: offset in &struct pt_regs of the base register, or of the register
 *	itself when @reg; -1 for none
 * @index: offset in &struct pt_regs of the index register, -1 for none
 * @disp: displacement, or, with @rip, the address itself
 * @scale: the index is shifted left by this much
 * @seg: 0, or the INAT_SEG_REG_ number of a segment with a base
 * @reg: the operand is a register and not memory
 * @addr32: addresses are cut to 32 bits
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
 * struct arch_specific_insn - the probed instruction, prepared to be run
 * @insn: its copy in a slot; NULL where emulation is all it takes
 * @run: where a hit goes on, in the slot or in the detour; 0 if it is emulated
 *	or stepped
 * @hit_ip: what the instruction pointer is in pre_handlers
 * @next_ip: where the next instruction begins
 * @detour: the detour, NULL if there is none
 * @emulate: does the instruction's work in C, or sends the CPU to @insn where
 *	memory can't be read; NULL if it runs from the slot
 * @bytes: the original instruction
 * @size: its length in bytes
 * @branch: a relative jump, which in a slot is made anew
 * @boostable: nothing is left to do after the copy, so that the slot may end
 *	in a jump instead of a trap
 * @slot_boosted: @insn ends in a jump
 * @post: @insn runs the post_handlers itself before it jumps
 * @run_post: there are post_handlers to be called
 * @jump: the jump to the detour is in the text
 * @covered: what the text is under the jump
 * @slotless: the instruction never runs from a slot
 * @opsize: bytes that an emulated instruction moves
 * @cc: condition code, or which of the loop instructions
 * @reg: offset in &struct pt_regs of a register operand
 * @imm: immediate operand, or target of a relative branch
 * @rm: the register or memory operand
 */
struct arch_specific_insn {
	kprobe_opcode_t *insn;
	unsigned long run;
	unsigned long hit_ip;
	unsigned long next_ip;
	kprobe_opcode_t *detour;
	int (*emulate)(struct kprobe *p, struct pt_regs *regs);
	u8 bytes[MAX_INSN_SIZE];
	u8 size;
	bool branch;
	bool boostable;
	bool slot_boosted;
	bool post;
	bool run_post;
	bool slotless;
	bool jump;
	u8 covered[KPROBE_JUMP_SIZE];
	u8 opsize;
	u8 cc;
	s16 reg;
	long imm;
	struct x86_operand rm;
};

/*
 * How many frames there may be on one CPU. Handlers run in one context each: of
 * a task, of a softirq, and of as many hard interrupts and NMIs as preempt_count
 * can tell apart, for it counts NMIs as both. In each of them one copy may be
 * stepped besides.
 */
#define KPROBE_NR_FRAMES	(2 * (2 + (HARDIRQ_MASK >> HARDIRQ_SHIFT)))

/**
 * struct kprobe_frame - one context in which this CPU runs handlers or steps
 * @context: interrupt context of the running handlers, or of those that have
 *	made the hit that is stepped; KPROBE_CONTEXT_NONE when none run
 * @stepping: the copy of an instruction is being stepped
 * @run_post: post_handlers are to be called after the step
 * @in_fault: a fault_handler runs
 * @repaired: an exception of the copy that is stepped has been handled
 * @busy: how many kprobe_busy_begin() have no kprobe_busy_end() yet
 * @probe: the probe whose handler runs; of no meaning when none run
 * @regs: registers that the handlers were given: pre_handlers, and post_handlers
 *	behind ftrace's call; NULL when none run, or when a thunk saved the registers
 * @kp: what is stepped
 * @flags: X86_EFLAGS_IF and X86_EFLAGS_TF as they were before the step
 */
struct kprobe_frame {
	s32 context;
	bool stepping;
	bool run_post;
	bool in_fault;
	bool repaired;
	u32 busy;
	struct kprobe *probe;
	struct pt_regs *regs;
	struct kprobe *kp;
	unsigned long flags;
};

/**
 * struct kprobe_frames - what a CPU is doing for probes
 * @top: the innermost context; &frame[0] when there is none
 * @frame: a stack of contexts, each deeper than the one before. The first is
 *	nobody's.
 */
struct kprobe_frames {
	struct kprobe_frame *top;
	struct kprobe_frame frame[KPROBE_NR_FRAMES + 1];
};

DECLARE_PER_CPU(struct kprobe_frames, kprobe_frames);

/*
 * The bits of preempt_count that say which context runs: they go up with
 * every NMI-like exception, hard interrupt and softirq. So two values are equal
 * only if the same context runs, and what comes over another has the greater.
 */
#define KPROBE_CONTEXT_MASK	(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)
/* What the kernel's entry code adds for an int3 that came from the kernel. */
#define KPROBE_CONTEXT_INT3	(NMI_OFFSET + HARDIRQ_OFFSET)
/* Less than any. */
#define KPROBE_CONTEXT_NONE	(-1)

static __always_inline s32 kprobe_context(void)
{
	return preempt_count() & KPROBE_CONTEXT_MASK;
}

static __always_inline struct kprobe_frame *kprobe_top_frame(void)
{
	return __this_cpu_read(kprobe_frames.top);
}

/*
 * Must handlers not run, because of @f, in what was @interrupted for them? It
 * never is less than the context of @f; asked like that, what handlers run in
 * is one context more with every frame, so that frames are enough.
 */
static __always_inline bool kprobe_must_miss(const struct kprobe_frame *f, s32 interrupted)
{
	return unlikely(READ_ONCE(f->context) >= interrupted);
}

/*
 * Take a frame for the handlers of @probe, or that of which is to be filled in
 * later, in @context. It is taken before it is filled, and is no context's
 * until it is: an NMI in between takes the next one and gives it back.
 */
static __always_inline void kprobe_push_frame(struct kprobe_frame *f, s32 context,
					      struct kprobe *probe, struct pt_regs *regs)
{
	__this_cpu_write(kprobe_frames.top, f);
	barrier();
	WRITE_ONCE(f->probe, probe);
	if (regs)
		WRITE_ONCE(f->regs, regs);
	barrier();
	WRITE_ONCE(f->context, context);
	barrier();
}

/* What is taken next is to be nobody's until it is filled. */
static __always_inline void kprobe_pop_frame(struct kprobe_frame *f)
{
	WRITE_ONCE(f->context, KPROBE_CONTEXT_NONE);
	WRITE_ONCE(f->regs, NULL);
	barrier();
	__this_cpu_write(kprobe_frames.top, f - 1);
}

static __always_inline struct kprobe **kprobe_running_place(void)
{
	return &kprobe_top_frame()->probe;
}

/**
 * kprobe_running() - the probe whose handler runs on this CPU
 *
 * Must be called with preemption disabled; the answer is of no use otherwise.
 *
 * Return: the probe, or NULL where no handler of a probe is running.
 */
static inline struct kprobe *kprobe_running(void)
{
	struct kprobe_frame *f = this_cpu_read(kprobe_frames.top);

	/* There is none early in boot. */
	return f && f->context != KPROBE_CONTEXT_NONE ? f->probe : NULL;
}

/**
 * struct kprobe_fault - an exception that a copy of an instruction raised
 * @regs: registers as at the exception
 * @handled: a fault_handler has dealt with it, there is nothing left to do
 * @kp: the probepoint, NULL if the exception came from elsewhere
 * @addr: probed address
 * @ip: where the kernel is told the exception was raised
 * @where: where it really was raised
 * @first: that is where the copy of the probed instruction begins
 * @stepping: the copy was being stepped
 * @run_post: post_handlers were to be called after the step
 */
struct kprobe_fault {
	struct pt_regs *regs;
	bool handled;
	struct kprobe *kp;
	unsigned long addr;
	unsigned long ip;
	unsigned long where;
	bool first;
	bool stepping;
	bool run_post;
};

#ifdef CONFIG_KRETPROBES
/* The return address is on the stack, and can be changed there at any time. */
#define arch_kretprobe_slot(regs)	((unsigned long *)kernel_stack_pointer(regs))

/*
 * What keeps the handlers of a return from being called again by what they do.
 * Where a handler is running already, nothing is to be done for that.
 */
static __always_inline bool arch_kretprobe_begin(struct kprobe *running)
{
	struct kprobe_frame *f;
	s32 context;

	preempt_disable_notrace();
	context = kprobe_context();
	f = kprobe_top_frame();
	if (kprobe_must_miss(f, context))
		return false;
	kprobe_push_frame(++f, context, running, NULL);
	return true;
}

static __always_inline void arch_kretprobe_end(bool begun)
{
	if (begun)
		kprobe_pop_frame(kprobe_top_frame());
	preempt_enable_notrace();
}

/* Tracers may have replaced what is a return probe's real return address. */
#define arch_kretprobe_recover		x86_kretprobe_recover
unsigned long x86_kretprobe_recover(unsigned long addr, void *slot);

/* Where the trampoline is called from, for the processor's return predictor. */
extern char kretprobe_trampoline_return[];
void __kretprobe_trampoline(void);

#define is_kretprobe_trampoline is_kretprobe_trampoline
static __always_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return addr == (unsigned long)__kretprobe_trampoline ||
	       addr == (unsigned long)kretprobe_trampoline_return;
}

unsigned long kprobe_recover_ret_addr(struct task_struct *tsk, unsigned long addr,
				      void *slot, struct llist_node **cur);
#endif /* CONFIG_KRETPROBES */

int kprobe_int3_handler(struct pt_regs *regs);
int kprobe_fault_handler(struct pt_regs *regs, int trapnr);
struct kprobe_fault kprobe_fault_begin(struct pt_regs *regs, int trapnr);
void kprobe_fault_resume(struct kprobe_fault *fault);
unsigned long kprobe_text_ip(unsigned long ip);
unsigned long kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task);
bool kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task);

static __always_inline void kprobe_fault_end(struct kprobe_fault *fault)
{
	if (unlikely(fault->kp))
		kprobe_fault_resume(fault);
}

/*
 * CLASS(kprobe_fault, name)(regs, trapnr): while in scope, an exception that
 * the copy of a probed instruction raised looks as if the original had.
 */
DEFINE_CLASS(kprobe_fault, struct kprobe_fault, kprobe_fault_end(&_T),
	     kprobe_fault_begin(regs, trapnr), struct pt_regs *regs, int trapnr)

/* CLASS(kprobe_nmi_fault, name)(regs, trapnr): the same for code that is noinstr. */
static __always_inline struct kprobe_fault kprobe_nmi_fault_begin(struct pt_regs *regs, int trapnr)
{
	struct kprobe_fault fault;

	instrumentation_begin();
	fault = kprobe_fault_begin(regs, trapnr);
	instrumentation_end();
	return fault;
}

static __always_inline void kprobe_nmi_fault_end(struct kprobe_fault *fault)
{
	instrumentation_begin();
	kprobe_fault_end(fault);
	instrumentation_end();
}

DEFINE_CLASS(kprobe_nmi_fault, struct kprobe_fault, kprobe_nmi_fault_end(&_T),
	     kprobe_nmi_fault_begin(regs, trapnr), struct pt_regs *regs, int trapnr)

#else /* !CONFIG_KPROBES */

#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <asm/ptrace.h>

struct llist_node;
struct task_struct;

struct kprobe_fault {
	bool handled;
};

static __always_inline struct kprobe_fault kprobe_fault_begin(struct pt_regs *regs, int trapnr)
{
	return (struct kprobe_fault){};
}

static __always_inline void kprobe_fault_end(struct kprobe_fault *fault)
{
}

DEFINE_CLASS(kprobe_fault, struct kprobe_fault, (void)_T,
	     ((struct kprobe_fault){}), struct pt_regs *regs, int trapnr)

DEFINE_CLASS(kprobe_nmi_fault, struct kprobe_fault, (void)_T,
	     ((struct kprobe_fault){}), struct pt_regs *regs, int trapnr)

static inline unsigned long kprobe_text_ip(unsigned long ip)
{
	return ip;
}

static inline unsigned long kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task)
{
	return READ_ONCE_NOCHECK(regs->ip);
}

static inline bool kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task)
{
	return false;
}

#endif /* CONFIG_KPROBES */

#ifndef CONFIG_KRETPROBES
static inline
unsigned long kprobe_recover_ret_addr(struct task_struct *tsk, unsigned long addr,
				      void *slot, struct llist_node **cur)
{
	return addr;
}
#endif

#endif /* _ASM_X86_KPROBES_H */
