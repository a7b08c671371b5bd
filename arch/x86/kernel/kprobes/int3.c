// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: what happens when a breakpoint is hit.
 *
 * Handlers run, then the instruction is emulated, or the CPU is sent to its
 * slot. A slot that ends in a jump is the last we see of the hit, unless it
 * calls kprobe_post_thunk() on its way. One that ends in int3 is stepped: with
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
#include <linux/ftrace.h>
#include <linux/kprobes.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/uaccess.h>
#include <asm/pgtable_types.h>
#include <asm/processor-flags.h>
#include <asm/stacktrace.h>
#include <asm/text-patching.h>
#include <asm/trapnr.h>

#include "common.h"

#define INT_IMM8_OPCODE	0xcd

DEFINE_PER_CPU(struct kprobe_frames, kprobe_frames);

/* Stands for whoever keeps probes off; nobody registers it. */
static struct kprobe kprobe_busy;

/**
 * arch_init_kprobes() - prepare the frames of all CPUs
 *
 * Return: 0.
 */
int __init arch_init_kprobes(void)
{
	unsigned int i;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct kprobe_frames *frames = per_cpu_ptr(&kprobe_frames, cpu);

		for (i = 0; i <= KPROBE_NR_FRAMES; i++)
			frames->frame[i].context = KPROBE_CONTEXT_NONE;
		frames->top = &frames->frame[0];
	}
	return 0;
}

/**
 * kprobe_busy_begin() - have hits in this context counted as missed
 *
 * For code that calls handlers from elsewhere than a hit. Nothing happens, but
 * for preemption, where a handler runs in this context already.
 *
 * Context: disables preemption until kprobe_busy_end().
 */
void kprobe_busy_begin(void)
{
	struct kprobe_frame *f;
	s32 context;

	preempt_disable_notrace();
	context = kprobe_context();
	f = kprobe_top_frame();
	if (!kprobe_must_miss(f, context)) {
		kprobe_push_frame(++f, context, &kprobe_busy, NULL);
		f->busy = 0;
	}
	if (f->probe == &kprobe_busy)
		f->busy++;
}

/**
 * kprobe_busy_end() - end what kprobe_busy_begin() began
 */
void kprobe_busy_end(void)
{
	struct kprobe_frame *f = kprobe_top_frame();

	if (f->probe == &kprobe_busy && !--f->busy)
		kprobe_pop_frame(f);
	preempt_enable_notrace();
}

/**
 * kprobe_task_oopsed() - forget the handlers that the current task was in
 *
 * Called when an oops is about to end the task. A handler that has raised it never
 * returns, so its frame has to go, or its CPU would count all later hits of its
 * context as missed. All frames of the CPU are the task's: an oops in a deeper
 * context is a panic, and a handler of another task would have preemption disabled.
 *
 * Context: that of a task; preemption is still disabled if a handler was running.
 */
void kprobe_task_oopsed(void)
{
	struct kprobe_frame *f;

	guard(preempt_notrace)();
	while ((f = kprobe_top_frame()) > this_cpu_ptr(&kprobe_frames.frame[0])) {
		f->stepping = false;
		f->in_fault = false;
		kprobe_pop_frame(f);
	}
}

/*
 * Have the CPU run the copy and trap. The frame is there for the trap, and for
 * faults. It has the context and the probe of the frame below: no handler runs
 * in a frame of its own meanwhile, but if a handler has made the hit that is
 * stepped, what an exception of the copy calls is in that handler's context
 * still, and hits there are missed as the handler's own are.
 */
static void __kprobes begin_step(struct kprobe *kp, struct pt_regs *regs, bool run_post)
{
	struct kprobe_frame *below = kprobe_top_frame(), *f = below + 1;

	/* There are frames for all that can come over each other. */
	if (unlikely(f > this_cpu_ptr(&kprobe_frames.frame[KPROBE_NR_FRAMES])))
		panic("kprobes: no frame to step %pS\n", kp->addr);
	__this_cpu_write(kprobe_frames.top, f);
	barrier();
	WRITE_ONCE(f->probe, below->probe);
	WRITE_ONCE(f->context, below->context);
	f->kp = kp;
	f->run_post = run_post;
	f->repaired = false;
	f->flags = regs->flags & (X86_EFLAGS_IF | X86_EFLAGS_TF);
	regs->flags &= ~(X86_EFLAGS_IF | X86_EFLAGS_TF);
	regs->ip = (unsigned long)kp->ainsn.insn;
	f->stepping = true;
}

/* The step is over, or given up: the context is as it was before it. */
static void __kprobes end_step(struct kprobe_frame *f, struct pt_regs *regs)
{
	regs->flags |= f->flags;
	f->stepping = false;
	kprobe_pop_frame(f);
}

/*
 * The kernel's exit from an exception looks at the flags that it is going to load,
 * which had interrupts off when a repaired copy was stepped again, so lockdep and
 * the tracers believe that they still are. The exit from the int3 that ends the
 * step leaves them as the int3 found them. Make them match what it loads.
 */
static void __kprobes note_interrupts_on(unsigned long ip)
{
	trace_hardirqs_on_prepare();
	lockdep_hardirqs_on_prepare();
	lockdep_hardirqs_on(ip);
}

/* Is it the trap at the end of a step? */
static int __kprobes step_trap(struct pt_regs *regs)
{
	struct kprobe_frame *f = kprobe_top_frame();
	bool run_post, repaired;
	struct kprobe *kp;
	s32 context;

	if (!f || !f->stepping)
		return 0;
	kp = f->kp;
	if (regs->ip - INT3_INSN_SIZE != (unsigned long)kp->ainsn.insn + kp->ainsn.size)
		return 0;

	run_post = f->run_post;
	repaired = f->repaired;
	regs->ip = kp->ainsn.next_ip;
	end_step(f, regs);
	if (run_post) {
		context = kprobe_context();
		kprobe_run_post_handlers(kp, regs, context - KPROBE_CONTEXT_INT3, context);
		if (unlikely(regs->ip != kp->ainsn.next_ip))
			regs->ip = x86_kprobe_landing(regs->ip);
	}
	if (repaired && regs->flags & X86_EFLAGS_IF)
		note_interrupts_on(regs->ip);
	return 1;
}

/*
 * Has the breakpoint been removed while this CPU was on its way here?
 *
 * text_poke_sync() waits for the handlers of breakpoints on all online CPUs, but
 * not on a CPU that is coming up or going down: that CPU may execute the int3, and
 * look for its probepoint when the text is the original again and the probepoint
 * has left the table. The original instruction is then to be executed.
 */
static bool __kprobes breakpoint_is_gone(struct pt_regs *regs)
{
	unsigned long addr = regs->ip - INT3_INSN_SIZE;
	u8 text[2];

	/*
	 * The byte before it, for int with a vector of 3 leaves the same address. No
	 * function is called: a breakpoint in it would lead here again.
	 */
	__get_kernel_nofault(text, (void *)(addr - 1), u16, unreadable);
	if (text[1] == INT3_INSN_OPCODE || (text[0] == INT_IMM8_OPCODE && text[1] == X86_TRAP_BP))
		return false;
	regs->ip = addr;
	return true;

unreadable:
	return false;
}

/* Handle a breakpoint at an address that has no probepoint. */
static noinline int __kprobes other_int3(struct pt_regs *regs)
{
	if (user_mode(regs))
		return 0;
	return step_trap(regs) || breakpoint_is_gone(regs);
}

/* Have the instruction run, and the CPU back in time for post_handlers. */
static __always_inline void run_insn(struct kprobe *kp, struct pt_regs *regs, bool run_post)
{
	/* Pairs with the release in x86_kprobe_choose_run(). */
	unsigned long run = READ_ONCE(kp->ainsn.run);

	if (run)
		regs->ip = run;
	else if (kp->ainsn.emulate)
		kp->ainsn.emulate(kp, regs);
	else
		begin_step(kp, regs, run_post);
}

/* A handler has made this hit itself. */
static noinline int __kprobes missed(struct kprobe *kp, struct pt_regs *regs)
{
	kprobes_inc_nmissed_count(kp);
	run_insn(kp, regs, false);
	return 1;
}

/* The rest of a hit that is stepped, or emulated and has post_handlers. */
static noinline int __kprobes finish_hit(struct kprobe *kp, struct pt_regs *regs)
{
	struct kprobe_frame *f = kprobe_top_frame();
	bool post = READ_ONCE(kp->post_handler);
	unsigned long next;

	if (!kp->ainsn.emulate) {
		kprobe_pop_frame(f);
		run_insn(kp, regs, post);
		return 1;
	}
	/* No handler runs while it is emulated, and memory is read for that. */
	f->regs = NULL;
	WRITE_ONCE(f->probe, NULL);
	/* Not by a detour that has come meanwhile, which has its own post_handlers. */
	kp->ainsn.emulate(kp, regs);
	/* It is about to raise an exception where it has been sent to its copy. */
	if (post && (kp->ainsn.slotless || regs->ip != (unsigned long)kp->ainsn.insn)) {
		next = regs->ip;
		kprobe_call_post_handlers(kp, regs, &f->probe);
		if (unlikely(regs->ip != next))
			regs->ip = x86_kprobe_landing(regs->ip);
	}
	kprobe_pop_frame(f);
	return 1;
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
int __kprobes kprobe_int3_handler(struct pt_regs *regs)
{
	struct kprobe *kp = get_kprobe((void *)(regs->ip - INT3_INSN_SIZE));
	struct kprobe_frame *f;
	struct kprobe *first;
	unsigned long run;
	s32 context;

	/* No user's address is ever found, so there is no need to ask before. */
	if (unlikely(!kp))
		return other_int3(regs);

	context = kprobe_context();
	f = kprobe_top_frame();
	if (kprobe_must_miss(f, context - KPROBE_CONTEXT_INT3))
		return missed(kp, regs);

	first = kprobe_first_of(kp);
	kprobe_push_frame(++f, context, first, regs);
	if (unlikely(first->pre_handler(first, regs))) {
		kprobe_pop_frame(f);
		regs->ip = x86_kprobe_landing(regs->ip);
		return 1;
	}
	/* Pairs with the release in x86_kprobe_choose_run(). */
	run = READ_ONCE(kp->ainsn.run);
	if (run) {
		regs->ip = run;
		kprobe_pop_frame(f);
		return 1;
	}
	if (kp->ainsn.emulate && !READ_ONCE(kp->post_handler)) {
		kprobe_pop_frame(f);
		return kp->ainsn.emulate(kp, regs);
	}
	return finish_hit(kp, regs);
}

/* thunks.S relies on these. */
static_assert(KPROBE_CONTEXT_MASK == KPROBE_FRAME_CONTEXTS);
static_assert(KPROBE_CONTEXT_NONE == KPROBE_FRAME_NOBODY);
static_assert(offsetof(struct kprobe, ainsn.hit_ip) == KPROBE_HIT_IP);
static_assert(offsetof(struct kprobe, ainsn.next_ip) == KPROBE_NEXT_IP);
static_assert(offsetof(struct kprobe, set) == KPROBE_SET);
static_assert(offsetof(struct kprobe, first) == KPROBE_FIRST);
static_assert(offsetof(struct kprobe, pre_handler) == KPROBE_PRE_HANDLER);
static_assert(offsetof(struct probe_set, post_probe) == PROBE_SET_POST_PROBE);
static_assert(offsetof(struct probe_set, post_handler) == PROBE_SET_POST_HANDLER);
static_assert(offsetof(struct kprobe_frame, context) == KPROBE_FRAME_CONTEXT);
static_assert(offsetof(struct kprobe_frame, probe) == KPROBE_FRAME_PROBE);
static_assert(sizeof(struct kprobe_frame) == KPROBE_FRAME_SIZE);
static_assert(offsetof(struct kprobe_frames, top) == 0);
static_assert(offsetof(struct pcpu_hot, preempt_count) == KPROBE_HOT_PREEMPT_COUNT);
static_assert(KPROBE_SLOT_SIZE == KPROBE_THUNK_SLOT_SIZE);
#ifdef CONFIG_KRETPROBES
static_assert(offsetof(struct kretprobe, handler) == KRETPROBE_HANDLER);
static_assert(offsetof(struct kretprobe_instance, llist.next) == KRETPROBE_NEXT);
static_assert(offsetof(struct kretprobe_instance, anchor) == KRETPROBE_ANCHOR);
static_assert(offsetof(struct kretprobe_instance, ret_addr) == KRETPROBE_RET_ADDR);
static_assert(offsetof(struct kretprobe_instance, fp) == KRETPROBE_FP);
static_assert(offsetof(struct kretprobe_anchor, probe) == KRETPROBE_ANCHOR_PROBE);
static_assert(offsetof(struct kretprobe_anchor, active) == KRETPROBE_ANCHOR_ACTIVE);
static_assert(offsetof(struct kretprobe_anchor, back) == KRETPROBE_ANCHOR_BACK);
/* The frame names the probe by it. */
static_assert(offsetof(struct kretprobe, kp) == 0);
#endif
static_assert(KPROBE_SLOT_CODE + CALL_INSN_SIZE == KPROBE_DETOUR_CALLED_AT);

/**
 * kprobe_post_elsewhere() - go on where a post_handler has said
 * @regs: registers as the handler has left them
 *
 * Context: that of the probed function.
 */
asmlinkage __visible void __kprobes kprobe_post_elsewhere(struct pt_regs *regs)
{
	preempt_disable_notrace();
	*kprobe_thunk_return(regs) = x86_kprobe_landing(regs->ip);
	preempt_enable_notrace();
}

#ifdef CONFIG_CFI_CLANG
/*
 * What the thunks call instead of a handler: the compiler makes the indirect call,
 * and what has to be checked before it.
 */

/**
 * kprobe_call_pre() - call a pre_handler for a thunk
 * @p: the probe
 * @regs: registers that the thunk has saved
 * @handler: the pre_handler
 *
 * Context: as the handler's.
 *
 * Return: what the handler returned.
 */
asmlinkage __visible int __kprobes kprobe_call_pre(struct kprobe *p, struct pt_regs *regs,
						   kprobe_pre_handler_t handler)
{
	return handler(p, regs);
}

/**
 * kprobe_call_post() - call a post_handler for a thunk
 * @p: the probe
 * @regs: registers that the thunk has saved
 * @flags: 0
 * @handler: the post_handler
 *
 * Context: as the handler's.
 */
asmlinkage __visible void __kprobes kprobe_call_post(struct kprobe *p, struct pt_regs *regs,
						     unsigned long flags,
						     kprobe_post_handler_t handler)
{
	handler(p, regs, flags);
}

#ifdef CONFIG_KRETPROBES
/**
 * kprobe_call_return() - call the handler of a return probe for the trampoline
 * @ri: record of the call
 * @regs: registers that the trampoline has saved
 * @handler: the handler
 *
 * Context: as the handler's.
 *
 * Return: what the handler returned.
 */
asmlinkage __visible int __kprobes kprobe_call_return(struct kretprobe_instance *ri,
						      struct pt_regs *regs,
						      kretprobe_handler_t handler)
{
	return handler(ri, regs);
}
#endif
#endif /* CONFIG_CFI_CLANG */

#ifdef CONFIG_PREEMPTION
/**
 * kprobe_thunk_resched() - let another task run, when handlers have been called
 *
 * Context: that of the probed function; it was preemptible, and somebody has
 * asked for this since.
 */
asmlinkage __visible void __kprobes kprobe_thunk_resched(void)
{
	__preempt_schedule_notrace();
}
#endif

/*
 * Exceptions.
 */

/* Where the original would be, when the copy is at @ip. */
static __always_inline unsigned long original_ip(const struct kprobe *kp, unsigned long ip)
{
	const struct kprobe_detour_map *map = kprobe_detour_map(ip);
	unsigned long offset = ip - kprobe_slot_of(ip);
	unsigned long addr = (unsigned long)kp->addr;
	unsigned int i;

	if (!map)
		return offset < KPROBE_SLOT_CODE + kp->ainsn.size ? addr : kp->ainsn.next_ip;
	for (i = map->nr; i > 0; i--)
		if (offset >= map->at[i - 1])
			break;
	if (!i)
		return addr;
	if (map->from[i - 1] != KPROBE_DETOUR_CALLED)
		return addr + map->from[i - 1];
	/* A jump to what is called, which is where this is now. */
	ip = kprobe_slot_of(ip) + map->at[i - 1];
	return ip + JMP32_INSN_SIZE + *(s32 *)(ip + 1);
}

/*
 * The probepoint whose slot or detour @ip is in. An unwinder may find @ip in a
 * stale word of a stack, so that no task needs to be in the slot: the caller has
 * preemption disabled until it has read what it wants of the slot and of the
 * probepoint. Both are freed an RCU grace period after the slot has lost its
 * owner, see free_insn_slot() and reap().
 */
static __always_inline struct kprobe *slot_owner(unsigned long ip)
{
	/* All slots are where modules are; most of what is asked for is not. */
	if (ip - MODULES_VADDR >= MODULES_END - MODULES_VADDR)
		return NULL;
	return kprobe_of_insn_slot(ip);
}

/**
 * kprobe_text_ip() - translate an address in a slot to the probed function
 * @ip: address of code
 *
 * For unwinders: a task that runs in a slot, or has been called from one, is
 * in the probed function. May be called in any context.
 *
 * Return: the address in the probed function, or @ip if it is in no slot.
 */
unsigned long __kprobes kprobe_text_ip(unsigned long ip)
{
	struct kprobe *kp;

	preempt_disable_notrace();
	kp = slot_owner(ip);
	if (kp)
		ip = original_ip(kp, ip);
	preempt_enable_notrace();
	return ip;
}

#ifdef CONFIG_OPTPROBES
/*
 * The probepoint whose detour has called the thunk that saved @regs, if one
 * has. The word that the call pushed tells, where the stack pointer shows that
 * it is where such a word would be. Stacks of which nothing has been popped
 * since have no other there: an exception leaves a word or none between what
 * it saves and the stack it came over, but for int3, which has copied a stack
 * segment there.
 *
 * On the stack of a running task @regs may be any words, and the place of the
 * pushed word beyond the stack's end, in the guard page: it is read only if it
 * is on a stack.
 */
static struct kprobe *probe_of_detour(struct pt_regs *regs, struct task_struct *task,
				      unsigned long ip)
{
	unsigned long *where = kprobe_thunk_return(regs), detour;
	struct stack_info stack;
	struct kprobe *kp;

	if (READ_ONCE_NOCHECK(regs->sp) != (unsigned long)(where + 1))
		return NULL;
	if (get_stack_info(where, task, &stack, NULL) ||
	    !on_stack(&stack, where, sizeof(*where)))
		return NULL;
	detour = READ_ONCE_NOCHECK(*where);
	kp = slot_owner(detour);
	if (!kp || detour != kprobe_copy_of(kprobe_slot_of(detour), true) ||
	    !kprobe_detour_map(detour) || ip != kp->ainsn.hit_ip)
		return NULL;
	return kp;
}
#else
static struct kprobe *probe_of_detour(struct pt_regs *regs, struct task_struct *task,
				      unsigned long ip)
{
	return NULL;
}
#endif

/*
 * The probe whose handler is running with @regs, if a frame of this CPU has them:
 * the handler can't end while preemption is disabled.
 */
static struct kprobe *probe_of_frame(struct pt_regs *regs)
{
	struct kprobe_frame *last = this_cpu_ptr(&kprobe_frames.frame[0]);
	struct kprobe_frame *f;

	for (f = kprobe_top_frame() ?: last; f > last; f--) {
		struct kprobe *p = READ_ONCE(f->probe);

		if (READ_ONCE(f->regs) == regs && p)
			return p;
	}
	return NULL;
}

/*
 * The probe whose pre_handler is running with @regs, if there is one: either a
 * detour's thunk has saved @regs, or a frame of this CPU has them. The caller has
 * preemption disabled, which also keeps a probepoint from being freed that a stale
 * word has led to.
 */
static struct kprobe *probe_of_regs(struct pt_regs *regs, struct task_struct *task,
				    unsigned long ip)
{
	struct kprobe *p = probe_of_detour(regs, task, ip);

	if (p)
		return p;
	p = probe_of_frame(regs);
	return p && ip == (unsigned long)p->addr + INT3_INSN_SIZE ? p : NULL;
}

#ifdef CONFIG_KPROBES_ON_FTRACE
/* The probe whose post_handler is running behind ftrace's call, with @regs. */
static struct kprobe *probe_behind_ftrace_call(struct pt_regs *regs, unsigned long ip)
{
	struct kprobe *p = probe_of_frame(regs);

	return p && kprobe_ftrace(p) && ip == (unsigned long)p->addr + MCOUNT_INSN_SIZE ? p : NULL;
}
#else
static struct kprobe *probe_behind_ftrace_call(struct pt_regs *regs, unsigned long ip)
{
	return NULL;
}
#endif

/**
 * kprobe_regs_ip() - find the instruction that saved registers are from
 * @regs: registers that an exception saved, of which the caller may read the
 *	instruction pointer and what the processor pushes beside it
 * @task: the task on whose stack @regs are
 *
 * While pre_handlers run, the saved instruction pointer is past the breakpoint
 * byte, where a different instruction may begin. May be called in any context,
 * also for registers of user space, of which nothing but the instruction pointer
 * and the code segment is looked at.
 *
 * Return: the instruction pointer in the function as it is without probes.
 */
unsigned long kprobe_regs_ip(struct pt_regs *regs, struct task_struct *task)
{
	unsigned long ip = READ_ONCE_NOCHECK(regs->ip);

	/* A task in user space can set all registers to what it likes. */
	if (user_mode(regs))
		return ip;
	preempt_disable_notrace();
	if (probe_of_regs(regs, task, ip))
		ip -= INT3_INSN_SIZE;
	preempt_enable_notrace();
	return kprobe_text_ip(ip);
}

/**
 * kprobe_regs_at_entry() - is a function interrupted before it has a frame?
 * @regs: registers that an exception saved
 * @task: the task on whose stack @regs are
 *
 * For unwinders that go by frame pointers: the function has not made its frame
 * yet. May be called in any context.
 *
 * Return: true if @regs are those of running pre_handlers at the entry of a function,
 * or of post_handlers behind ftrace's call there: the stack pointer is where the
 * return address is.
 */
bool kprobe_regs_at_entry(struct pt_regs *regs, struct task_struct *task)
{
	unsigned long ip;
	struct kprobe *p;
	bool at_entry;

	if (user_mode(regs))
		return false;
	preempt_disable_notrace();
	ip = READ_ONCE_NOCHECK(regs->ip);
	p = probe_of_regs(regs, task, ip) ?: probe_behind_ftrace_call(regs, ip);
	at_entry = p && kprobe_has_flag(p, KPROBE_FLAG_ON_FUNC_ENTRY);
	preempt_enable_notrace();
	return at_entry;
}

/* Ask the probe whose handler raised an exception. */
static bool __kprobes fault_in_handler(struct pt_regs *regs, int trapnr)
{
	struct kprobe_frame *f = kprobe_top_frame();
	struct kprobe *p = f->probe;
	kprobe_fault_handler_t handler = READ_ONCE(p->fault_handler);
	bool handled;

	/* It is not asked about its own faults. */
	if (f->in_fault || f->context != kprobe_context() || !handler)
		return false;
	f->in_fault = true;
	handled = handler(p, regs, trapnr);
	f->in_fault = false;
	return handled;
}

/*
 * Is it an exception that the instruction raised instead of having an effect? A
 * watchpoint reports what has been done already, a machine check what may have
 * nothing to do with the instruction.
 */
static __always_inline bool is_fault(int trapnr)
{
	return trapnr != X86_TRAP_DB && trapnr != X86_TRAP_MC;
}

/**
 * kprobe_fault_begin() - begin the handling of an exception
 * @regs: registers as at the exception
 * @trapnr: its number, X86_TRAP_*
 *
 * If it was raised by a copy, @regs are made to say that the original did it,
 * with the flags as they were. A task that dies of it, or is sent elsewhere
 * by a fix-up, never comes back to the slot; for one that is to try again
 * kprobe_fault_resume() sees to it that it does.
 *
 * The fault_handlers of the probes whose handler or whose instruction it was are
 * asked first, but not about debug exceptions and machine checks.
 *
 * Context: interrupts are off, and RCU is watching.
 *
 * Return: what kprobe_fault_end() needs to know.
 */
struct kprobe_fault __kprobes kprobe_fault_begin(struct pt_regs *regs, int trapnr)
{
	struct kprobe_fault fault = { .regs = regs };
	struct kprobe_frame *f;
	struct kprobe *kp;

	if (user_mode(regs))
		return fault;
	kp = slot_owner(regs->ip);
	if (likely(!kp)) {
		fault.handled = is_fault(trapnr) && unlikely(kprobe_running()) &&
				fault_in_handler(regs, trapnr);
		return fault;
	}

	fault.kp = kp;
	fault.addr = (unsigned long)kp->addr;
	fault.ip = original_ip(kp, regs->ip);
	fault.where = regs->ip;
	fault.first = regs->ip == kprobe_copy_of(kprobe_slot_of(regs->ip),
						 kprobe_detour_map(regs->ip));

	f = kprobe_top_frame();
	if (f->stepping && f->kp == kp) {
		fault.stepping = true;
		fault.run_post = f->run_post;
		end_step(f, regs);
	}
	regs->ip = fault.ip;
	/* A detour has other instructions, too. */
	if (fault.first && is_fault(trapnr) && READ_ONCE(kp->fault_handler))
		fault.handled = kprobe_run_fault_handlers(kp, regs, trapnr);
	return fault;
}

static void __kprobes step_again(struct kprobe *kp, struct pt_regs *regs, bool run_post)
{
	begin_step(kp, regs, run_post);
	kprobe_top_frame()->repaired = true;
}

/**
 * kprobe_fault_resume() - end the handling of an exception that a copy raised
 * @fault: what kprobe_fault_begin() returned
 *
 * If the instruction is to be tried again, it is the copy that is: the hit is
 * not over. Handling the exception may have taken long and slept, so that it is
 * what the probepoint has for its instruction now. If it is gone, the task goes
 * on in the text, whatever that is now.
 *
 * Other instructions of a detour are none in whose exceptions a task can sleep,
 * so the detour is still there.
 *
 * Context: interrupts are off.
 */
void __kprobes kprobe_fault_resume(struct kprobe_fault *fault)
{
	struct pt_regs *regs = fault->regs;
	struct arch_specific_insn *ai;
	struct kprobe *kp;
	unsigned long run;

	if (regs->ip != fault->ip) {
		/* Who has sent it there knows the text, but not the jumps. */
		if (fault->handled)
			regs->ip = x86_kprobe_landing(regs->ip);
		return;
	}
	if (!fault->first) {
		/* A watchpoint or machine check, between the copy and its trap. */
		if (fault->stepping)
			step_again(fault->kp, regs, fault->run_post);
		regs->ip = fault->where;
		return;
	}
	kp = get_kprobe((void *)fault->addr);
	if (kp != fault->kp)
		return;
	ai = &kp->ainsn;
	/* Pairs with the release in x86_kprobe_choose_run(). */
	run = READ_ONCE(ai->run);
	if (run)
		regs->ip = run;
	else if (fault->stepping)
		step_again(kp, regs, fault->run_post);
	else if (!ai->emulate || ai->slot_boosted)
		regs->ip = (unsigned long)READ_ONCE(ai->insn);
}

/**
 * kprobe_fault_handler() - the core's name for asking about a fault
 * @regs: registers as at the exception
 * @trapnr: its number, X86_TRAP_*
 *
 * Return: 0: whoever is to be asked was asked by kprobe_fault_begin().
 */
int __kprobes kprobe_fault_handler(struct pt_regs *regs, int trapnr)
{
	return 0;
}
