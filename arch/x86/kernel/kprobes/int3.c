// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: what happens when a breakpoint is hit.
 *
 * Handlers run, then the instruction is emulated, or the CPU is sent to its
 * slot. A slot that ends in a jump is the last we see of the hit, unless it
 * calls kprobe_slot_post() on its way. One that ends in int3 is stepped: with
 * interrupts off, so that nothing but its exceptions can come between.
 *
 * A CPU's frames say which contexts run handlers or step; see struct
 * kprobe_frame. A hit that comes from the very context in which a handler
 * runs is one that the handler made: it is counted as missed, and its
 * instruction is run all the same. A hit from a softirq, a hard interrupt or
 * an NMI that came over a running handler has a context of its own, and gets
 * its handlers. The int3 itself counts as an NMI for preempt_count, so it is
 * what was interrupted that is compared.
 *
 * An NMI may come at any point here. It finds the frames consistent, as those
 * of a CPU that is one step further or not, and leaves them as they were.
 */
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <asm/processor-flags.h>
#include <asm/text-patching.h>

#include "common.h"

DEFINE_PER_CPU(struct kprobe *, current_kprobe);
DEFINE_PER_CPU(struct kprobe_ctlblk, kprobe_ctlblk) = {
	.frame = { [0 ... KPROBE_NR_FRAMES - 1] = {
		.context = KPROBE_CONTEXT_NONE,
	} },
};

/* Stands for whoever keeps probes off; nobody registers it. */
static struct kprobe kprobe_busy;

static __always_inline u32 this_context(void)
{
	return preempt_count() & KPROBE_CONTEXT_MASK;
}

/*
 * Take a frame for handlers that run in @context, which @interrupted got to.
 * Returns NULL if they must not run.
 *
 * The frame is taken before it is filled, and is no context's until it is: an
 * NMI in between takes the next one and gives it back.
 */
static __always_inline
struct kprobe_frame *push_frame(struct kprobe_ctlblk *kcb, u32 interrupted,
				u32 context)
{
	unsigned int depth = kcb->depth;
	struct kprobe_frame *f = &kcb->frame[depth];

	if (unlikely(depth)) {
		if (f[-1].context == interrupted || depth >= KPROBE_MAX_DEPTH)
			return NULL;
	}
	kcb->depth = depth + 1;
	barrier();
	f->prev = __this_cpu_read(current_kprobe);
	WRITE_ONCE(f->context, context);
	return f;
}

static __always_inline void pop_frame(struct kprobe_ctlblk *kcb,
				      struct kprobe_frame *f)
{
	__this_cpu_write(current_kprobe, f->prev);
	WRITE_ONCE(f->context, KPROBE_CONTEXT_NONE);
	barrier();
	kcb->depth--;
}

/**
 * kprobe_busy_begin() - have hits in this context counted as missed
 *
 * For code that calls handlers from elsewhere than a hit. Nothing happens, but
 * for preemption, where handlers run in this context already.
 *
 * Context: disables preemption until kprobe_busy_end().
 */
void kprobe_busy_begin(void)
{
	struct kprobe_ctlblk *kcb;
	struct kprobe_frame *f;
	u32 context;

	preempt_disable_notrace();
	kcb = this_cpu_ptr(&kprobe_ctlblk);
	context = this_context();
	f = push_frame(kcb, context, context);
	if (f) {
		f->kp = &kprobe_busy;
		f->regs = NULL;
		__this_cpu_write(current_kprobe, &kprobe_busy);
	}
}
NOKPROBE_SYMBOL(kprobe_busy_begin);

/**
 * kprobe_busy_end() - end what kprobe_busy_begin() began
 */
void kprobe_busy_end(void)
{
	struct kprobe_ctlblk *kcb = this_cpu_ptr(&kprobe_ctlblk);

	if (__this_cpu_read(current_kprobe) == &kprobe_busy)
		pop_frame(kcb, &kcb->frame[kcb->depth - 1]);
	preempt_enable_notrace();
}
NOKPROBE_SYMBOL(kprobe_busy_end);

/*
 * Have the CPU run the copy and trap. The frame is there for the trap, and
 * for faults; no handler runs meanwhile, so it is no hit's context.
 */
static void begin_step(struct kprobe_ctlblk *kcb, struct kprobe *kp,
		       struct pt_regs *regs, bool run_post)
{
	unsigned int depth = kcb->depth;
	struct kprobe_frame *f = &kcb->frame[depth];

	/* Handlers, and what they hit, can't nest as deep as that. */
	BUG_ON(depth == KPROBE_NR_FRAMES);
	kcb->depth = depth + 1;
	barrier();
	f->prev = __this_cpu_read(current_kprobe);
	f->kp = kp;
	f->regs = NULL;
	f->run_post = run_post;
	f->flags = regs->flags & (X86_EFLAGS_IF | X86_EFLAGS_TF);
	regs->flags &= ~(X86_EFLAGS_IF | X86_EFLAGS_TF);
	regs->ip = (unsigned long)kp->ainsn.insn;
	f->stepping = true;
}
NOKPROBE_SYMBOL(begin_step);

/* The innermost frame, if it is a step. */
static __always_inline struct kprobe_frame *stepping_frame(struct kprobe_ctlblk *kcb)
{
	struct kprobe_frame *f;

	if (!kcb->depth)
		return NULL;
	f = &kcb->frame[kcb->depth - 1];
	return f->stepping ? f : NULL;
}

/* The step is over, or given up: the context is as it was before it. */
static void end_step(struct kprobe_ctlblk *kcb, struct kprobe_frame *f,
		     struct pt_regs *regs)
{
	regs->flags |= f->flags;
	f->stepping = false;
	pop_frame(kcb, f);
}
NOKPROBE_SYMBOL(end_step);

/* Call the post_handlers of a probepoint whose instruction has been run. */
static void run_post_handlers(struct kprobe_ctlblk *kcb, struct kprobe *kp,
			      struct pt_regs *regs, u32 interrupted, u32 context)
{
	struct kprobe_frame *f = push_frame(kcb, interrupted, context);

	/* A hit that a handler made; counted as missed when it happened. */
	if (!f)
		return;
	f->kp = kp;
	f->regs = regs;
	kprobe_run_post_handlers(kp, regs);
	pop_frame(kcb, f);
}
NOKPROBE_SYMBOL(run_post_handlers);

/* Is it the trap at the end of a step? */
static bool step_trap(struct kprobe_ctlblk *kcb, struct pt_regs *regs,
		      unsigned long addr)
{
	struct kprobe_frame *f = stepping_frame(kcb);
	struct kprobe *kp;
	u32 context;

	if (!f)
		return false;
	kp = f->kp;
	if (addr != (unsigned long)kp->ainsn.insn + kp->ainsn.size)
		return false;

	regs->ip = (unsigned long)kp->addr + kp->ainsn.size;
	end_step(kcb, f, regs);
	if (f->run_post) {
		context = this_context();
		run_post_handlers(kcb, kp, regs, context - KPROBE_CONTEXT_INT3,
				  context);
	}
	return true;
}
NOKPROBE_SYMBOL(step_trap);

/* Send the CPU to the copy of the instruction. */
static __always_inline void run_copy(struct kprobe_ctlblk *kcb,
				     struct kprobe *kp, struct pt_regs *regs,
				     bool run_post)
{
	/*
	 * What is emulated but for memory that can't be read comes here to
	 * fault; no copy of it ever gets past its first instruction.
	 */
	if (likely(kp->ainsn.boosted || kp->ainsn.emulate))
		/* Pairs with the release in x86_kprobe_make_slot(). */
		regs->ip = (unsigned long)READ_ONCE(kp->ainsn.insn);
	else
		begin_step(kcb, kp, regs, run_post);
}

/**
 * kprobe_int3_handler() - see whether a breakpoint is one of ours
 * @regs: registers as at the breakpoint; the instruction pointer is past it
 *
 * Context: interrupts are off, and RCU is watching.
 *
 * Return: 1 if it is, and @regs say where to go on; 0 if it is somebody
 * else's, and @regs are as they were.
 */
int kprobe_int3_handler(struct pt_regs *regs)
{
	struct kprobe_ctlblk *kcb = this_cpu_ptr(&kprobe_ctlblk);
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	struct kprobe_frame *f;
	struct kprobe *kp;
	u32 context;

	if (user_mode(regs))
		return 0;

	kp = get_kprobe((void *)addr);
	if (unlikely(!kp))
		return step_trap(kcb, regs, addr);

	context = this_context();
	f = push_frame(kcb, context - KPROBE_CONTEXT_INT3, context);
	if (unlikely(!f)) {
		kprobes_inc_nmissed_count(kp);
		if (!kp->ainsn.emulate || !kp->ainsn.emulate(kp, regs))
			run_copy(kcb, kp, regs, false);
		return 1;
	}

	f->kp = kp;
	f->regs = regs;
	if (kprobe_run_pre_handlers(kp, regs)) {
		pop_frame(kcb, f);
		return 1;
	}
	if (kp->ainsn.emulate && kp->ainsn.emulate(kp, regs)) {
		if (READ_ONCE(kp->post_handler))
			kprobe_run_post_handlers(kp, regs);
		pop_frame(kcb, f);
		return 1;
	}
	pop_frame(kcb, f);
	run_copy(kcb, kp, regs, READ_ONCE(kp->post_handler));
	return 1;
}
NOKPROBE_SYMBOL(kprobe_int3_handler);

/**
 * kprobe_slot_post() - call post_handlers from a slot
 * @regs: registers as after the instruction; the thunk has left what it needs
 *	from us, see there
 *
 * The thunk passes the word that the slot's call pushed in orig_ax: it points
 * to the probepoint's pointer in the slot. What we leave there is where the
 * thunk returns to.
 *
 * Context: that of the probed function.
 */
asmlinkage __visible void kprobe_slot_post(struct pt_regs *regs)
{
	struct kprobe **where = (struct kprobe **)regs->orig_ax;
	struct kprobe *kp = *where;
	unsigned long next = (unsigned long)kp->addr + kp->ainsn.size;
	u32 context;

	/* A jump back follows the pointer. */
	regs->orig_ax = (unsigned long)(where + 1);
	regs->ip = next;

	preempt_disable_notrace();
	context = this_context();
	run_post_handlers(this_cpu_ptr(&kprobe_ctlblk), kp, regs, context,
			  context);
	preempt_enable_notrace();

	if (unlikely(regs->ip != next))
		regs->orig_ax = regs->ip;
}
NOKPROBE_SYMBOL(kprobe_slot_post);

/**
 * kprobe_fault_handler() - offer an exception to the probe whose handler runs
 * @regs: registers as at the exception
 * @trapnr: its number, X86_TRAP_*
 *
 * Context: preemption is disabled, and kprobe_running() is not NULL.
 *
 * Return: 1 if the probe's fault_handler has dealt with it, else 0.
 */
int kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe *p = kprobe_running();

	return p && p->fault_handler && p->fault_handler(p, regs, trapnr);
}
NOKPROBE_SYMBOL(kprobe_fault_handler);
