// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: probes at the call of ftrace in a function's entry.
 *
 * There is no trap. If nobody else traces the function, it calls a thunk of
 * ours, as slots and detours do. Else it calls ftrace's trampoline, which saves
 * the registers and comes to us among others. Handlers find what they would at
 * a breakpoint in the same place; the context is that of the probed function
 * itself, and interrupts are as they are there.
 *
 * Of ftrace's own guards against recursion none is used: they drop what should
 * be counted as missed. A CPU's frames do it here as they do for breakpoints,
 * see int3.c.
 */
#include <linux/context_tracking.h>
#include <linux/ftrace.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <asm/nops.h>
#include <asm/ptrace.h>

#include "common.h"

/*
 * Set in the word that has ss, beyond what is loaded from it, when a hit has
 * been handled: an address that is being moved from one of our filters to the
 * other may be in both.
 */
#define SSX_HANDLED	BIT_ULL(63)

/* Return: true if a pre_handler has redirected execution, to what @regs say. */
static __always_inline
bool handle_hit(struct probepoint *pp, struct pt_regs *regs, unsigned long next)
{
	s32 context = kprobe_context();
	struct kprobe *first = probepoint_first(pp);
	struct kprobe_level *level;
	bool redirected;

	if (!kprobe_enter(&level, context, context, first, regs)) {
		probepoint_count_missed(pp);
		regs->ip = next;
		return false;
	}
	redirected = first->pre_handler(first, regs);
	if (likely(!redirected)) {
		regs->ip = next;
		/* The level keeps @regs: kprobe_regs_at_entry() looks for them. */
		if (probepoint_has_post(pp))
			probepoint_call_post(pp, regs, &level->probe);
	}
	kprobe_leave(level);
	return redirected;
}

static __always_inline bool rcu_watches(void)
{
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	return raw_cpu_read(context_tracking.state.counter) & CT_RCU_WATCHING;
#else
	return true;
#endif
}

static __always_inline bool find_hit(unsigned long ip, struct pt_regs *regs, unsigned long next)
{
	struct probepoint *pp = get_probepoint((void *)ip);

	if (likely(pp))
		return handle_hit(pp, regs, next);
	/* The last probe was unregistered while the hit was on its way here. */
	regs->ip = next;
	return false;
}

/* The handlers may use RCU, and those who unregister them wait for it. */
static noinline bool __kprobes find_unwatched_hit(unsigned long ip, struct pt_regs *regs,
						  unsigned long next)
{
	bool redirected;

	ct_nmi_enter();
	redirected = find_hit(ip, regs, next);
	ct_nmi_exit();
	return redirected;
}

/**
 * kprobe_ftrace_hit() - the thunk has been called from a function
 * @regs: registers as at the call, but for the instruction pointer
 * @next: where the function goes on, behind the call
 *
 * Where nobody else is attached to the function, what ftrace puts there is a
 * call of our thunk.
 *
 * Context: that of the probed function.
 *
 * Return: false: the thunk goes on at @next, unless told otherwise; true: all
 * registers are to be as in @regs.
 */
asmlinkage __visible bool __kprobes kprobe_ftrace_hit(struct pt_regs *regs, unsigned long next)
{
	unsigned long ip = next - MCOUNT_INSN_SIZE;
	bool redirected;

	regs->ip = ip + INT3_INSN_SIZE;
	preempt_disable_notrace();
	if (likely(rcu_watches()))
		redirected = find_hit(ip, regs, next);
	else
		redirected = find_unwatched_hit(ip, regs, next);
	preempt_enable_notrace();

	if (likely(!redirected && regs->ip == next))
		return false;
	/* A handler that has pushed something has overwritten the thunk's word. */
	if (redirected && regs->sp != (unsigned long)(kprobe_thunk_return(regs) + 1))
		return true;
	*kprobe_thunk_return(regs) = regs->ip;
	return false;
}

/*
 * A handler has set the stack pointer, which ftrace's trampoline does not load.
 * Two values can be made up for. The handler has either dropped the return address
 * of the function, and then a return to where that was does the same; or it has
 * pushed a word, as a call does, and then the trampoline is told to go on at the
 * handler's address the way it does to a direct caller: it leaves regs->ip on the
 * stack, in the place that the handler has pushed its word to. @regs->orig_ax is
 * that address, see arch_ftrace_set_direct_caller().
 */
static noinline void __kprobes move_stack(struct pt_regs *regs, unsigned long sp)
{
	if (regs->sp == sp + sizeof(sp)) {
		*(unsigned long *)sp = regs->ip;
		regs->ip = (unsigned long)kprobe_just_return;
	} else if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS) &&
		   regs->sp == sp - sizeof(sp) && !regs->orig_ax) {
		regs->orig_ax = regs->ip;
		regs->ip = *(unsigned long *)regs->sp;
	} else {
		WARN_ONCE(1, "kprobes: at the entry of a function, sp can't be set to that\n");
	}
	regs->sp = sp;
}

/**
 * kprobe_ftrace_handler() - ftrace has been called from a function
 * @ip: where from
 * @parent_ip: where the function returns to
 * @ops: not looked at, one of kernel/kprobes/ftrace.c
 * @fregs: registers as at the call, if ftrace has saved them
 *
 * Called by ftrace for each of those who are attached to the function, where
 * we are not alone.
 *
 * Context: that of the probed function.
 */
void __kprobes kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;
	/* Others may have set these, and rely on them. */
	unsigned long next = regs->ip, orig_ax = regs->orig_ax, sp = regs->sp;
	bool redirected;

	/* Without all registers it is too early, or it is not one of ours at all. */
	if (!ftrace_get_regs(fregs) || regs->ssx & SSX_HANDLED)
		return;
	regs->ssx |= SSX_HANDLED;
	regs->ip = ip + INT3_INSN_SIZE;
	regs->orig_ax = -1;
	preempt_disable_notrace();
	if (likely(rcu_watches()))
		redirected = find_hit(ip, regs, next);
	else
		redirected = find_unwatched_hit(ip, regs, next);
	preempt_enable_notrace();
	regs->orig_ax = orig_ax;
	if (unlikely(redirected && regs->sp != sp))
		move_stack(regs, sp);
}

/**
 * arch_kprobe_ftrace_trampoline() - what ftrace is to call from functions
 *
 * Return: an address.
 */
unsigned long arch_kprobe_ftrace_trampoline(void)
{
	return (unsigned long)kprobe_ftrace_thunk;
}

/*
 * Other code may have put a breakpoint here, whose int3 is taken for that of the
 * probepoint. Leave out the call of ftrace.
 */
static int __kprobes skip_call(struct probepoint *pp, struct pt_regs *regs)
{
	regs->ip = pp->arch.next_ip;
	return 1;
}

/**
 * arch_prepare_probepoint_ftrace() - prepare a probepoint at a location of ftrace
 * @pp: the probepoint, with nothing set but its address
 *
 * Return: 0.
 */
int arch_prepare_probepoint_ftrace(struct probepoint *pp)
{
	struct arch_probepoint *ap = &pp->arch;

	/* The text while no tracer is attached to the function. */
	memcpy(ap->insn.bytes, x86_nops[MCOUNT_INSN_SIZE], MCOUNT_INSN_SIZE);
	pp->kp.opcode = ap->insn.bytes[0];
	ap->insn.size = MCOUNT_INSN_SIZE;
	ap->next_ip = (unsigned long)pp->addr + MCOUNT_INSN_SIZE;
	ap->insn.copy = X86_COPY_NONE;
	ap->exec = X86_EXEC_EMULATE;
	ap->emulation.run = skip_call;
	return 0;
}
