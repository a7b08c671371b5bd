/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_KPROBES_H
#define _ASM_X86_KPROBES_H
/*
 * Kernel probes on x86. This header has each CPU's stack of running handlers and the hooks of
 * return probes, for the core; and the functions that exception handlers and unwinders call.
 */

#include <asm-generic/kprobes.h>

/*
 * Alignment of all trampolines that replace return addresses. An address whose low byte is not
 * zero can be none of them, so one cheap test rules out nearly all other addresses.
 */
#define RETURN_TRAMPOLINE_ALIGN	256

/* Size of the call at the start of __kretprobe_trampoline(), see trampolines_64.S */
#define KRETPROBE_TRAMPOLINE_CALL	5

/*
 * &struct kprobe_level.context while no handler runs. A hit may take the next level, i.e. push an
 * entry onto its CPU's stack of running handlers, if its own context is greater than that of the
 * top level. This value is less than any context, so if no handler runs, any hit may take a level.
 */
#define KPROBE_CONTEXT_NONE	(-1)

#ifdef __ASSEMBLY__

/*
 * Align a trampoline that replaces return addresses, and give the padding before it a symbol. A
 * backtrace looks up the byte before a return address. For the address of the trampoline, that is
 * the last byte of the padding, which without a symbol would belong to the previous function.
 */
.macro RETURN_TRAMPOLINE_BEFORE name
	.set	before_\name, .
	nop
	.balign	RETURN_TRAMPOLINE_ALIGN, 0xcc
.endm

#else

#ifdef CONFIG_KPROBES

#include <linux/cleanup.h>
#include <linux/context_tracking_state.h>
#include <linux/instrumentation.h>
#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/ptrace.h>

struct kprobe;
struct llist_node;
struct notifier_block;
struct probepoint;
struct pt_regs;
struct task_struct;

/* Let the core allocate instruction slots, in kernel/kprobes/slots.c. */
#define __ARCH_WANT_KPROBES_INSN_SLOT

/*
 * The core passes a struct probepoint to the hooks of x86. x86 has its own kprobe_running() and
 * kprobe_busy_begin(), since it records which interrupt contexts run handlers.
 */
#define __ARCH_WANT_PROBEPOINT

typedef u8 kprobe_opcode_t;

/* The probed instruction is described in the probepoint, see asm/probepoint.h. */
struct arch_specific_insn { };

/*
 * How many interrupt contexts can nest on one CPU: task, softirq, hard interrupts and NMIs. The
 * hardirq field of preempt_count counts hard interrupts and NMIs, so there are at most as many of
 * both as it can count.
 */
#define KPROBE_MAX_CONTEXTS	(2 + (HARDIRQ_MASK >> HARDIRQ_SHIFT))

/*
 * How deep handlers can nest on one CPU: each context runs the handlers of one hit, and if these
 * hit a probe themselves, the handlers of that hit, too, see x86_kprobe_take_second().
 */
#define KPROBE_MAX_LEVELS	(2 * KPROBE_MAX_CONTEXTS)

/**
 * struct kprobe_level - one interrupt context in which this CPU runs handlers
 * @context: the interrupt context, see kprobe_context(), perhaps with other bits of
 *	preempt_count, or with KPROBE_LEVEL_INT3; KPROBE_CONTEXT_NONE if no handler runs
 * @busy: number of calls of kprobe_busy_begin() without kprobe_busy_end()
 * @probe: the probe whose handler runs, or NULL; meaningless if no handler runs
 * @regs: registers that pre_handlers, or post_handlers after ftrace's call, were given. NULL if
 *	no handler runs, or if a trampoline saved the registers.
 * @in_fault: the fault_handler of @probe runs
 * @jprobe: if @probe is a jprobe: the call of its handler
 */
struct kprobe_level {
	s32 context;
	u32 busy;
	struct kprobe *probe;
	struct pt_regs *regs;
	bool in_fault;
#ifdef CONFIG_JPROBES
	struct x86_jprobe_call *jprobe;
#endif
};

/**
 * struct kprobe_levels - a CPU's stack of running handlers
 * @top: the innermost level; &level[0] if no handler runs
 * @level: the levels. The context of a level has interrupted the context of the level before it,
 *	or is the same context, which has two levels at most. The first level is a sentinel,
 *	whose context is always KPROBE_CONTEXT_NONE.
 */
struct kprobe_levels {
	struct kprobe_level *top;
	struct kprobe_level level[KPROBE_MAX_LEVELS + 1];
};

DECLARE_PER_CPU(struct kprobe_levels, kprobe_levels);

/*
 * The bits of preempt_count that change with the interrupt context: each softirq, hard
 * interrupt and NMI-like exception increments them. Two values are equal only in the same
 * context, and a nested context has a greater value.
 */
#define KPROBE_CONTEXT_MASK	(NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)
/* What the entry code of an int3 in the kernel adds to preempt_count */
#define KPROBE_CONTEXT_INT3	(NMI_OFFSET + HARDIRQ_OFFSET)
/*
 * Set in the context of a level that an int3 has taken: if a handler at that
 * level oopses, kprobe_task_oopsed() also has to leave the int3. The bit is free:
 * on x86_64, preempt_count never has it; on i386, kprobe_context() leaves it out.
 */
#define KPROBE_LEVEL_INT3	(IS_ENABLED(CONFIG_X86_64) ? 1 << 30 : 1)

static __always_inline s32 kprobe_context(void)
{
	return preempt_count() & KPROBE_CONTEXT_MASK;
}

/* Return: the interrupt context of a level in which a handler runs. */
static __always_inline s32 kprobe_level_context(const struct kprobe_level *level)
{
	return READ_ONCE(level->context) & KPROBE_CONTEXT_MASK;
}

static __always_inline struct kprobe_level *kprobe_top_level(void)
{
	return __this_cpu_read(kprobe_levels.top);
}

/*
 * While an int3 calls handlers of probes, preempt_count does not count the int3. So in_nmi(),
 * in_hardirq() and so on describe the interrupted code, as they do in handlers that a detour buffer
 * calls. Instead, preemption counts as disabled, even without CONFIG_PREEMPT_COUNT: if a handler
 * accesses user memory, the page fault must not sleep.
 */
static __always_inline void kprobe_int3_hide_context(void)
{
	__preempt_count_sub(KPROBE_CONTEXT_INT3 - PREEMPT_OFFSET);
}

static __always_inline void kprobe_int3_restore_context(void)
{
	__preempt_count_add(KPROBE_CONTEXT_INT3 - PREEMPT_OFFSET);
}

/*
 * Take the next level: push an entry onto this CPU's stack of running handlers.
 *
 * Move the top first, and store the context last. If an NMI arrives in between, the level on top
 * has no context yet. A hit in the NMI takes the level above, and frees it before the NMI returns.
 * The trampolines of 64-bit mode have the same steps in assembly.
 */
static __always_inline
struct kprobe_level *kprobe_take_level(s32 context, struct kprobe *probe, struct pt_regs *regs)
{
	struct kprobe_level *l = kprobe_top_level() + 1;

	__this_cpu_write(kprobe_levels.top, l);
	barrier();
	WRITE_ONCE(l->probe, probe);
	/*
	 * The regs of a free level are NULL already, so do not store a constant NULL. Store any
	 * other value without a test at run time, which would cost more than the store.
	 */
	if (!__builtin_constant_p(regs) || regs)
		WRITE_ONCE(l->regs, regs);
	barrier();
	WRITE_ONCE(l->context, context);
	barrier();
	return l;
}

/**
 * kprobe_enter() - begin to run handlers, unless this context already runs handlers
 * @level: result: the new top entry of this CPU's stack of running handlers, for kprobe_leave()
 * @interrupted: the context that the hit has interrupted
 * @context: @interrupted, perhaps with the other bits of &struct kprobe_level.context
 * @probe: the probe whose handler is called first
 * @regs: registers that the handlers are given, or NULL if a trampoline saved them
 *
 * Context: any, with preemption disabled.
 *
 * Return: true; false if a handler of this context has caused the hit: see
 * x86_kprobe_hit_nested().
 */
static __always_inline
bool kprobe_enter(struct kprobe_level **level, s32 interrupted, s32 context,
		  struct kprobe *probe, struct pt_regs *regs)
{
	struct kprobe_level *l = kprobe_top_level();

	if (unlikely(READ_ONCE(l->context) != KPROBE_CONTEXT_NONE) &&
	    kprobe_level_context(l) >= interrupted)
		return false;
	*level = kprobe_take_level(context, probe, regs);
	return true;
}

struct kprobe_level *x86_kprobe_take_second(s32 context, struct pt_regs *regs);

/*
 * Free the level that kprobe_enter() took, the top entry of this CPU's stack of running handlers.
 * Clear it before it is free: an NMI may take it as soon as it is free, and relies on a free level
 * having no context and no registers.
 */
static __always_inline void kprobe_leave(struct kprobe_level *level)
{
	WRITE_ONCE(level->context, KPROBE_CONTEXT_NONE);
	WRITE_ONCE(level->regs, NULL);
	barrier();
	__this_cpu_write(kprobe_levels.top, level - 1);
}

/* Return: where code that calls several handlers records the probe whose handler runs. */
static __always_inline struct kprobe **kprobe_running_ptr(void)
{
	return &kprobe_top_level()->probe;
}

/**
 * kprobe_running() - get the probe whose handler runs on this CPU
 *
 * Context: preemption is disabled.
 *
 * Return: the probe, or NULL if no handler runs. Between kprobe_busy_begin() and
 * kprobe_busy_end() it is a placeholder that is never registered.
 */
static inline struct kprobe *kprobe_running(void)
{
	struct kprobe_level *level = this_cpu_read(kprobe_levels.top);

	/* @level is NULL until arch_init_kprobes() has set up the levels. */
	return level && level->context != KPROBE_CONTEXT_NONE ? level->probe : NULL;
}

/**
 * struct kprobe_fault - an exception in the kernel, which an out-of-line copy may have raised
 * @regs: registers as at the exception
 * @handled: a fault_handler handled it; do nothing else
 * @pp: the probepoint; NULL if no out-of-line copy raised the exception
 * @ip: the address in the original text to which regs->ip was changed
 * @where: 0 if the copy of the probed instruction raised the exception; else the address in the
 *	slot or detour buffer at which the exception was raised
 * @stepping: the copy was being single-stepped
 */
struct kprobe_fault {
	struct pt_regs *regs;
	bool handled;
	struct probepoint *pp;
	unsigned long ip;
	unsigned long where;
	bool stepping;
};

#ifdef CONFIG_JPROBES
/*
 * Maximum size of the stack arguments that are copied for the handler of a jprobe, in bytes: 8
 * arguments after those in registers, or 16 in 32-bit mode. Fewer are copied if the stack ends
 * before that.
 */
#define MAX_STACK_SIZE	64

/**
 * struct x86_jprobe_call - a call of a jprobe's handler, for x86_jprobe_call()
 * @bp: result: the frame pointer of x86_jprobe_call(), which jprobe_return() loads to return there
 * @entry: the handler
 * @args: the probed function's arguments on the stack
 * @size: number of bytes to copy from @args
 */
struct x86_jprobe_call {
	unsigned long bp;
	void *entry;
	const void *args;
	unsigned long size;
};
#endif

#ifdef CONFIG_KRETPROBES
/* On x86 an operation on a per-CPU variable is one instruction, so no NMI can interrupt it. */
#define KPROBE_PERCPU_OPS_NMI_SAFE

/* The stack slot of the return address. The core writes it after the entry_handler has run. */
#define arch_kretprobe_slot(regs)	((unsigned long *)kernel_stack_pointer(regs))

/*
 * Disable preemption and take a level, an entry of this CPU's stack of running handlers, for the
 * handlers of a return. If the function was called by a handler, this context has a level already:
 * take a second one. If the context has two, take none, and return false: hits in this context are
 * missed anyway.
 */
static __always_inline bool arch_kretprobe_begin(void)
{
	struct kprobe_level *level;
	s32 context;

	preempt_disable_notrace();
	context = kprobe_context();
	return kprobe_enter(&level, context, context, NULL, NULL) ||
	       x86_kprobe_take_second(context, NULL);
}

static __always_inline void arch_kretprobe_end(bool begun)
{
	if (begun)
		kprobe_leave(kprobe_top_level());
	preempt_enable_notrace();
}

#define arch_kretprobe_is_replaced	x86_is_tracer_trampoline
#define arch_kretprobe_recover(addr, slot, at)	x86_recover_return(addr, slot, at, NULL)

void __kretprobe_trampoline(void);

/* Is @addr the trampoline, or the return address of the call at its start? */
#define is_kretprobe_trampoline is_kretprobe_trampoline
static __always_inline bool is_kretprobe_trampoline(unsigned long addr)
{
	return addr == (unsigned long)__kretprobe_trampoline ||
	       addr == (unsigned long)__kretprobe_trampoline + KRETPROBE_TRAMPOLINE_CALL;
}

#endif /* CONFIG_KRETPROBES */

/* Enabled permanently when the first probe, or the first user of trampolines, is registered. */
DECLARE_STATIC_KEY_FALSE(kprobes_used_key);

/*
 * Was a probe ever registered? Until then, exceptions and unwinders need not look for slots,
 * detour buffers and trampolines.
 */
static __always_inline bool kprobes_have_been_used(void)
{
	return static_branch_unlikely(&kprobes_used_key);
}

/* Does RCU watch this CPU? Preemption is disabled. */
static __always_inline bool kprobe_rcu_watches(void)
{
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	return raw_cpu_read(context_tracking.state.counter) & CT_RCU_WATCHING;
#else
	return true;
#endif
}

/*
 * Can @addr be a trampoline that replaces a return address? The test is cheap, and rarely true for
 * any other address.
 */
static __always_inline bool arch_kretprobe_may_be_replaced(unsigned long addr)
{
	return addr % RETURN_TRAMPOLINE_ALIGN == 0;
}

/* The trampolines of rethook and of the function graph tracer */
void arch_rethook_trampoline(void);
void return_to_handler(void);

/* Is @addr the trampoline of another tracer, which replaces return addresses? */
static __always_inline bool x86_is_tracer_trampoline(unsigned long addr)
{
	return (IS_ENABLED(CONFIG_RETHOOK) && addr == (unsigned long)arch_rethook_trampoline) ||
	       (IS_ENABLED(CONFIG_FUNCTION_GRAPH_TRACER) &&
		addr == (unsigned long)return_to_handler);
}

unsigned long x86_recover_return(unsigned long addr, unsigned long *slot,
				 struct llist_node *instance, struct llist_node *node);

/**
 * arch_recover_return() - find the real return address of a function
 * @addr: the return address that a tracer found, which may be another tracer's trampoline
 * @frame: address of the stack slot that contained @addr
 * @node: the node of rethook that recorded @addr as the return address, or NULL
 *
 * Context: at the entry or the return of the function, with preemption disabled.
 *
 * Return: the address; @addr itself if no probe was ever registered.
 */
static __always_inline unsigned long
arch_recover_return(unsigned long addr, unsigned long frame, struct llist_node *node)
{
	/* Inline, since fprobe and rethook call this for each traced call. */
	if (kprobes_have_been_used() && unlikely(arch_kretprobe_may_be_replaced(addr)))
		return x86_recover_return(addr, (unsigned long *)frame, NULL, node);
	return addr;
}

#define arch_recover_return arch_recover_return

int kprobe_int3_handler(struct pt_regs *regs);
void kprobe_fault_begin(struct kprobe_fault *fault, struct pt_regs *regs, int trapnr);
void kprobe_fault_resume(struct kprobe_fault *fault);

/* There is nothing left to do after kprobe_fault_begin(). */
static inline int kprobe_fault_handler(struct pt_regs *regs, int trapnr) { return 0; }

/* Can a copy of a probed instruction, or a handler, have raised this exception of the kernel? */
static __always_inline bool kprobe_may_have_faulted(struct pt_regs *regs)
{
	return kprobes_have_been_used() && !user_mode(regs);
}

static __always_inline struct kprobe_fault kprobe_fault_enter(struct pt_regs *regs, int trapnr)
{
	struct kprobe_fault fault;

	instrumentation_begin();
	fault = (struct kprobe_fault){};
	if (kprobe_may_have_faulted(regs))
		kprobe_fault_begin(&fault, regs, trapnr);
	instrumentation_end();
	return fault;
}

static __always_inline void kprobe_fault_end(struct kprobe_fault *fault)
{
	instrumentation_begin();
	if (unlikely(fault->pp))
		kprobe_fault_resume(fault);
	instrumentation_end();
}

/*
 * CLASS(kprobe_fault, name)(regs, trapnr): while in scope, an exception of an out-of-line copy
 * looks as if the original instruction had raised it. The scope may be noinstr.
 */
DEFINE_CLASS(kprobe_fault, struct kprobe_fault, kprobe_fault_end(&_T),
	     kprobe_fault_enter(regs, trapnr), struct pt_regs *regs, int trapnr)

#else /* !CONFIG_KPROBES */

#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <asm/ptrace.h>

struct task_struct;

struct kprobe_fault {
	bool handled;
};

static __always_inline struct kprobe_fault kprobe_fault_enter(struct pt_regs *regs, int trapnr)
{
	return (struct kprobe_fault){};
}

static __always_inline void kprobe_fault_end(struct kprobe_fault *fault) { }
static __always_inline bool kprobe_may_have_faulted(struct pt_regs *regs) { return false; }
static __always_inline bool kprobes_have_been_used(void) { return false; }

DEFINE_CLASS(kprobe_fault, struct kprobe_fault, (void)_T,
	     ((struct kprobe_fault){}), struct pt_regs *regs, int trapnr)

#endif /* CONFIG_KPROBES */

/*
 * Callers test kprobes_have_been_used() first. Without CONFIG_KPROBES it is constant false, so the
 * compiler drops these calls, and callers need no #ifdef.
 */
struct unwind_state;
unsigned long x86_kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task);
bool x86_kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task);
unsigned long x86_kprobe_recover(struct unwind_state *state, unsigned long addr,
				 unsigned long *addr_p);
void x86_kprobe_restore_original(u8 *buf, unsigned long addr);

/*
 * Return: the instruction pointer that registers would have in the function without probes. An
 * exception or a trampoline saved @regs on the stack of @task. At least the part that the CPU
 * pushes at an exception, from the instruction pointer on, must be readable.
 *
 * While pre_handlers run, the saved instruction pointer is after the breakpoint, where a different
 * instruction may begin. If @regs are those of user space, only the instruction pointer and the
 * code segment are read.
 */
static __always_inline
unsigned long kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task)
{
	if (kprobes_have_been_used())
		return x86_kprobe_regs_ip(regs, task);
	return READ_ONCE_NOCHECK(regs->ip);
}

/*
 * Do registers that an exception or a trampoline saved belong to a function that has no frame yet?
 * True if @regs are those of pre_handlers at the entry of a function, or of post_handlers after
 * ftrace's call there: the stack pointer is at the return address. For unwinders that use frame
 * pointers: at the entry, the frame pointer is still the caller's.
 */
static __always_inline
bool kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task)
{
	return kprobes_have_been_used() && x86_kprobe_regs_at_entry(regs, task);
}

#endif /* !__ASSEMBLY__ */
#endif /* _ASM_X86_KPROBES_H */
