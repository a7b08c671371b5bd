// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: ftrace-based probes.
 *
 * A hit of such a probe is a call, not a trap. If kprobes is the only user of ftrace in a function,
 * ftrace calls kprobe_ftrace_trampoline. Otherwise it calls its own trampoline, which saves the
 * registers and calls all users. Handlers see the registers as at a breakpoint, and run in the
 * context of the probed function, with its interrupt flag.
 *
 * A hit calls one pre_handler: the pre_handler of the only probe, or kprobe_ftrace_dispatch(),
 * which calls all handlers. In 64-bit mode kprobe_ftrace_trampoline itself handles most hits. For
 * the others it calls kprobe_ftrace_hit(), as the trampoline of 32-bit mode always does.
 *
 * ftrace's recursion guards are not used, since they drop hits that must be counted as missed.
 * Instead, the CPU's stack of running handlers (struct kprobe_level) is used, as for breakpoints,
 * see int3.c.
 */
#include <linux/ftrace.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <asm/nops.h>
#include <asm/ptrace.h>

#include "x86.h"

/*
 * An unused bit of a saved segment register marks registers whose hit was handled. Kprobes has
 * several filters (struct ftrace_ops). While an address moves from one to another, it is in both,
 * and ftrace calls kprobes twice for one hit: the second call finds the mark, and does nothing.
 */
#ifdef CONFIG_X86_64
#define HANDLED_WORD(regs)	((regs)->ssx)
#define HANDLED_MARK		BIT_ULL(63)
#else
/*
 * Use the upper half of the word of cs: the trampolines push a constant as cs, so the half is 0. A
 * push of a segment register, like ss, may leave the upper half of its word unchanged.
 */
#define HANDLED_WORD(regs)	((regs)->__csh)
#define HANDLED_MARK		BIT(0)
#endif

/*
 * The pre_handler of the kprobe that stands for a probepoint: call all pre_handlers in the set, if
 * there are any, and then the post_handlers. Load the set only once, since the core may replace it
 * between these calls.
 *
 * Return: 1 if a handler has redirected execution to @regs, 0 if not.
 */
static int __kprobes kprobe_ftrace_dispatch(struct kprobe *kp, struct pt_regs *regs)
{
	struct probepoint *pp = container_of(kp, struct probepoint, kp);
	struct probe_set *set = probepoint_set(pp);
	struct kprobe **running = kprobe_running_ptr();
	struct kprobe **pos, *p;

	for (pos = set->probes; (p = *pos); pos++) {
		WRITE_ONCE(*running, p);
		if (p->pre_handler(p, regs))
			return 1;
	}
	if (!set->probes[set->post])
		return 0;
	regs->ip = pp->arch.next_ip;
	WRITE_ONCE(*running, set->post_probe);
	set->post_handler(set->post_probe, regs, 0);
	return regs->ip != pp->arch.next_ip;
}

/*
 * Call the handlers of the probepoint at @ip, if it still exists. Return: true if a handler has
 * redirected execution to @regs; false if not, and then regs->ip is @next.
 */
static __always_inline
bool fentry_call_handlers(unsigned long ip, struct pt_regs *regs, unsigned long next)
{
	struct probepoint *pp = get_probepoint((void *)ip);
	s32 context = kprobe_context();
	struct kprobe_level *level;
	struct kprobe *first;
	bool redirected;

	/* The last probe may have been unregistered after this CPU executed ftrace's call. */
	if (unlikely(!pp))
		goto skip;
	first = probepoint_first(pp);
	if (!kprobe_enter(&level, context, context, first, regs)) {
		if (x86_kprobe_hit_nested(pp, context, regs))
			return true;
		goto skip;
	}
	redirected = first->pre_handler(first, regs);
	if (likely(!redirected))
		regs->ip = next;
	kprobe_leave(level);
	return redirected;
skip:
	regs->ip = next;
	return false;
}

/*
 * Handle a hit in code that runs while RCU does not watch this CPU, as in the idle loop. Make RCU
 * watch: handlers rely on it, and so does unregister_kprobe(), which waits for an RCU grace period.
 */
static noinline bool __kprobes
fentry_call_unwatched(unsigned long ip, struct pt_regs *regs, unsigned long next)
{
	bool redirected;

	ct_nmi_enter();
	redirected = fentry_call_handlers(ip, regs, next);
	ct_nmi_exit();
	return redirected;
}

/* Handle a hit. Return: true if a handler has redirected execution; if not, regs->ip is @next. */
static __always_inline bool fentry_hit(unsigned long ip, struct pt_regs *regs, unsigned long next)
{
	bool redirected;

	preempt_disable_notrace();
	if (likely(kprobe_rcu_watches()))
		redirected = fentry_call_handlers(ip, regs, next);
	else
		redirected = fentry_call_unwatched(ip, regs, next);
	preempt_enable_notrace();
	return redirected;
}

/*
 * Handle a hit for kprobe_ftrace_trampoline. @regs: registers as pre_handlers see them.
 *
 * In 64-bit mode the trampoline calls this for hits that it does not handle: if RCU does not watch;
 * if the first table entry that it reads for the address is not the probepoint; or if a handler
 * already runs on this CPU.
 *
 * Return: false if the trampoline is to return to the instruction after the call; true if a handler
 * has redirected execution.
 */
__visible bool __kprobes kprobe_ftrace_hit(struct pt_regs *regs)
{
	unsigned long ip = regs->ip - INT3_INSN_SIZE;

	return fentry_hit(ip, regs, ip + MCOUNT_INSN_SIZE);
}

/*
 * Make a handler's change of the stack pointer take effect. In 64-bit mode ftrace's trampoline
 * does not load the stack pointer, but two changes can be emulated:
 *
 * - The handler removed the function's return address. Then the address in regs->ip, where the
 *   handler wants to resume, is stored in place of the return address, and the trampoline resumes
 *   at a return instruction, which pops it.
 * - The handler pushed a word, as a call does. Then regs->ip is stored in @regs->orig_ax, like the
 *   address of a direct caller, see arch_ftrace_set_direct_caller(), and the pushed word in
 *   regs->ip. The trampoline stores regs->ip to the stack slot of the pushed word, and resumes at
 *   orig_ax. This needs support for direct callers in ftrace.
 *
 * Any other change is undone, with a warning.
 *
 * In 32-bit mode the trampoline loads the stack pointer. But then it calls the graph tracer,
 * which takes the word at the stack pointer for the return address. So the removal of the
 * return address is emulated there, too.
 */
static noinline void __kprobes kprobe_ftrace_move_stack(struct pt_regs *regs, unsigned long sp)
{
	if (regs->sp == sp + sizeof(sp)) {
		*(unsigned long *)sp = regs->ip;
		regs->ip = (unsigned long)kprobe_just_return;
	} else if (!IS_ENABLED(CONFIG_X86_64)) {
		return;
	} else if (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS) &&
		   regs->sp == sp - sizeof(sp) && !regs->orig_ax) {
		regs->orig_ax = regs->ip;
		regs->ip = *(unsigned long *)regs->sp;
	} else {
		WARN_ONCE(1, "kprobes: a handler has set sp, which ftrace does not load\n");
	}
	regs->sp = sp;
}

/*
 * Handle a hit for ftrace's trampoline, which functions call to which other users of ftrace are
 * attached. @ip: address of the call. @fregs: registers as at the call, if ftrace saved them.
 */
void __kprobes kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = ftrace_get_regs(fregs);
	unsigned long next, orig_ax, sp;
	bool redirected;

	/*
	 * If ftrace did not save all registers, it has not updated this call
	 * yet, or the address is not probed. If @regs are marked, the hit has
	 * been handled already.
	 */
	if (!regs || HANDLED_WORD(regs) & HANDLED_MARK)
		return;
	/*
	 * Another user of ftrace may have set ip or orig_ax in @regs, and relies on its values.
	 * Handlers must see other values there: save those that are there now, and restore them
	 * when the handlers have run.
	 */
	next = regs->ip;
	orig_ax = regs->orig_ax;
	sp = regs->sp;
	regs->ip = ip + INT3_INSN_SIZE;
	regs->orig_ax = -1;
	redirected = fentry_hit(ip, regs, next);
	regs->orig_ax = orig_ax;
	/*
	 * Mark @regs after the handlers ran: they may read the whole word, as
	 * an event with %ss does.
	 */
	HANDLED_WORD(regs) |= HANDLED_MARK;
	if (likely(!redirected))
		return;
	kprobe_redirect(regs);
	if (regs->sp != sp)
		kprobe_ftrace_move_stack(regs, sp);
}

unsigned long arch_kprobe_ftrace_trampoline(void)
{
	return (unsigned long)kprobe_ftrace_trampoline;
}

#if defined(CONFIG_X86_64) && defined(CONFIG_KRETPROBES)
/* This trampoline tracks most calls without running a handler at the entry. */
unsigned long arch_kprobe_ftrace_return_trampoline(void)
{
	return (unsigned long)kprobe_ftrace_return_trampoline;
}
#endif

/*
 * Skip ftrace's call. Used only if other code wrote an int3 there, which kprobes takes for its own.
 */
static int __kprobes kprobe_ftrace_skip_call(struct probepoint *pp, struct pt_regs *regs)
{
	regs->ip = pp->arch.next_ip;
	return 1;
}

int arch_prepare_probepoint_ftrace(struct probepoint *pp)
{
	struct arch_probepoint *ap = &pp->arch;

	lockdep_assert_held(&kprobe_mutex);
	/* The text has this nop while no tracer is attached to the function. */
	memcpy(ap->insn.bytes, x86_nops[MCOUNT_INSN_SIZE], MCOUNT_INSN_SIZE);
	pp->kp.opcode = ap->insn.bytes[0];
	pp->kp.pre_handler = kprobe_ftrace_dispatch;
	ap->insn.size = MCOUNT_INSN_SIZE;
	ap->hit_ip = (unsigned long)pp->addr + INT3_INSN_SIZE;
	ap->next_ip = (unsigned long)pp->addr + MCOUNT_INSN_SIZE;
	ap->insn.copy = X86_COPY_NONE;
	ap->emulation.run = kprobe_ftrace_skip_call;
	return 0;
}
