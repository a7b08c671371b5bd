// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: probes at the call of ftrace in a function's entry.
 *
 * There is no trap. Ftrace's trampoline has saved the registers and will load
 * them again, all but the stack pointer, and go on where they say. Handlers
 * find what they would at a breakpoint in the same place; the context is that
 * of the probed function itself, and interrupts are as they are there.
 *
 * Of ftrace's own guards against recursion none is used: they drop what should
 * be counted as missed. A CPU's frames do it here as they do for breakpoints,
 * see int3.c.
 */
#include <linux/context_tracking.h>
#include <linux/ftrace.h>
#include <linux/kprobes.h>
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

/*
 * A handler has set the stack pointer, which the trampoline does not load. To
 * drop the return address is what can be made up for, by the return address.
 */
static noinline void __kprobes move_stack(struct pt_regs *regs, unsigned long sp)
{
	if (regs->sp == sp + sizeof(sp)) {
		*(unsigned long *)sp = regs->ip;
		regs->ip = (unsigned long)kprobe_just_return;
	} else {
		WARN_ONCE(1, "kprobes: at the entry of a function, sp can't be set to that\n");
	}
	regs->sp = sp;
}

static __always_inline void handle_hit(unsigned long ip, struct pt_regs *regs)
{
	struct kprobe *kp = get_kprobe((void *)ip);
	unsigned long next, orig_ax, sp;
	struct kprobe_frame *f;
	u32 context;

	/* On its way when the last probe left; or not one of ours at all. */
	if (unlikely(!kp || !regs->cs || regs->ssx != __KERNEL_DS))
		return;
	regs->ssx = SSX_HANDLED | __KERNEL_DS;

	context = kprobe_context();
	f = kprobe_top_frame();
	if (kprobe_must_miss(f, context)) {
		kprobes_inc_nmissed_count(kp);
		return;
	}

	/* Others that ftrace calls may have set these, and rely on them. */
	next = regs->ip;
	orig_ax = regs->orig_ax;
	sp = regs->sp;

	kprobe_push_frame(++f, context);
	f->regs = regs;
	regs->ip = ip + INT3_INSN_SIZE;
	regs->orig_ax = -1;
	if (likely(!kprobe_call_pre_handlers(kp, regs, &f->probe))) {
		regs->ip = next;
		if (READ_ONCE(kp->post_handler)) {
			f->regs = NULL;
			kprobe_call_post_handlers(kp, regs, &f->probe);
		}
	} else if (unlikely(regs->sp != sp)) {
		move_stack(regs, sp);
	}
	regs->orig_ax = orig_ax;
	kprobe_pop_frame(f);
}

static __always_inline bool rcu_watches(void)
{
#ifdef CONFIG_CONTEXT_TRACKING_IDLE
	return rcu_is_watching_curr_cpu();
#else
	return true;
#endif
}

/* The handlers may use RCU, and those who unregister them wait for it. */
static noinline void __kprobes handle_unwatched_hit(unsigned long ip, struct pt_regs *regs)
{
	ct_nmi_enter();
	handle_hit(ip, regs);
	ct_nmi_exit();
}

/**
 * kprobe_ftrace_handler() - ftrace has been called from a function
 * @ip: where from
 * @parent_ip: where the function returns to
 * @ops: not looked at, one of kernel/kprobes/ftrace.c
 * @fregs: registers as at the call, if ftrace has saved them
 *
 * Context: that of the probed function.
 */
void __kprobes kprobe_ftrace_handler(unsigned long ip, unsigned long parent_ip,
				     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	struct pt_regs *regs = &arch_ftrace_regs(fregs)->regs;

	if (unlikely(READ_ONCE(kprobe_ftrace_disabled)))
		return;
	preempt_disable_notrace();
	if (likely(rcu_watches()))
		handle_hit(ip, regs);
	else
		handle_unwatched_hit(ip, regs);
	preempt_enable_notrace();
}

/*
 * A breakpoint that somebody else has put here is met, and taken for ours. The
 * call of ftrace is left out then, no more.
 */
static int __kprobes skip_call(struct kprobe *p, struct pt_regs *regs)
{
	regs->ip = (unsigned long)p->addr + p->ainsn.size;
	return 1;
}

/**
 * arch_prepare_kprobe_ftrace() - prepare a probepoint at a location of ftrace
 * @p: the probepoint's kprobe, with nothing set but its addr
 *
 * Return: 0.
 */
int arch_prepare_kprobe_ftrace(struct kprobe *p)
{
	struct arch_specific_insn *ai = &p->ainsn;

	/* What is there while nobody traces the function. */
	memcpy(ai->bytes, x86_nops[MCOUNT_INSN_SIZE], MCOUNT_INSN_SIZE);
	p->opcode = ai->bytes[0];
	ai->size = MCOUNT_INSN_SIZE;
	ai->emulate = skip_call;
	ai->slotless = true;
	return 0;
}
