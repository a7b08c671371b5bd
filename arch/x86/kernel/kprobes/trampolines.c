// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the parts of the trampolines that are in C.
 */
#include <linux/preempt.h>

#include "x86.h"

/**
 * kprobe_redirect() - find where to resume after a handler has redirected execution
 * @regs: registers as the handler has left them; @regs->ip is changed
 *
 * Also reschedules, if that was requested while the handlers ran.
 *
 * Context: the probed function's.
 */
__visible void __kprobes kprobe_redirect(struct pt_regs *regs)
{
	preempt_disable_notrace();
	regs->ip = x86_kprobe_resume_address(regs->ip);
	preempt_enable_notrace();
}

#ifdef CONFIG_CFI_CLANG
/*
 * The trampolines call these instead of a handler: the compiler generates the indirect call
 * with the check of the handler's type.
 */

/**
 * kprobe_call_pre() - call a pre_handler for a trampoline
 * @p: the probe
 * @regs: registers that the trampoline has saved
 * @handler: the pre_handler
 *
 * Context: as the handler's.
 *
 * Return: what the handler returned.
 */
__visible int __kprobes kprobe_call_pre(struct kprobe *p, struct pt_regs *regs,
					kprobe_pre_handler_t handler)
{
	return handler(p, regs);
}

/**
 * kprobe_call_post() - call a post_handler for a trampoline
 * @p: the probe
 * @regs: registers that the trampoline has saved
 * @flags: 0
 * @handler: the post_handler
 *
 * Context: as the handler's.
 */
__visible void __kprobes kprobe_call_post(struct kprobe *p, struct pt_regs *regs,
					  unsigned long flags, kprobe_post_handler_t handler)
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
__visible int __kprobes kprobe_call_return(struct kretprobe_instance *ri,
					   struct pt_regs *regs, kretprobe_handler_t handler)
{
	return handler(ri, regs);
}
#endif
#endif /* CONFIG_CFI_CLANG */

#ifdef CONFIG_PREEMPTION
/**
 * kprobe_trampoline_resched() - reschedule after handlers were called
 *
 * Context: the probed function's, which was preemptible; a reschedule was requested while
 * the handlers ran.
 */
__visible void __kprobes kprobe_trampoline_resched(void)
{
	__preempt_schedule_notrace();
}
#endif
