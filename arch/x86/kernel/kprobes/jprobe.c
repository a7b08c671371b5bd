// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the call of a jprobe's handler.
 *
 * x86_jprobe_call() in jprobe_call.S builds the handler's stack frame. The level of the
 * running handler leads jprobe_return() back to it.
 *
 * An interrupt that comes while a handler runs may hit a jprobe itself. That hit has a
 * level of its own, so each of the two handlers is ended by a jprobe_return() of its own
 * context.
 */
#include <linux/kasan.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#include "common.h"

/*
 * Find the end of the stack on which @sp is, or of its page. Code that switches to a stack of
 * its own knows where that ends, and get_stack_info() does not. Behind the last page there
 * may be a guard page.
 */
static noinline unsigned long __kprobes jprobe_stack_end(unsigned long sp)
{
	struct stack_info stack;

	if (get_stack_info((unsigned long *)sp, current, &stack, NULL))
		return (sp & PAGE_MASK) + PAGE_SIZE;
	return (unsigned long)stack.end;
}

/*
 * How many bytes of arguments can there be on the stack? @sp is where the return address is.
 * The function may be the first on its stack, with no arguments there.
 */
static __always_inline unsigned long jprobe_args_size(unsigned long sp)
{
	if (likely(offset_in_page(sp) + sizeof(sp) + MAX_STACK_SIZE <= PAGE_SIZE))
		return MAX_STACK_SIZE;
	return min_t(unsigned long, jprobe_stack_end(sp) - sizeof(sp) - sp, MAX_STACK_SIZE);
}

/**
 * arch_jprobe_call() - call the handler of a jprobe
 * @regs: registers at the entry of the probed function
 * @entry: the handler
 *
 * Context: that of a pre_handler.
 *
 * Return: true if jprobe_return() has ended the handler, false if the handler has returned.
 */
bool __kprobes arch_jprobe_call(struct pt_regs *regs, void *entry)
{
	struct kprobe_level *level = kprobe_top_level();
	unsigned long sp = kernel_stack_pointer(regs);
	struct x86_jprobe_call call = {
		.entry = entry,
		.args = (void *)(sp + sizeof(sp)),
		.size = jprobe_args_size(sp),
	};
	bool ended;

	WRITE_ONCE(level->jprobe, &call);
	ended = x86_jprobe_call(&call, regs);
	WRITE_ONCE(level->jprobe, NULL);
	return ended;
}

/**
 * arch_jprobe_return() - end the handler of a jprobe, if this context runs it
 *
 * Returns only if it does not. The probe that the innermost level of the CPU records is a
 * jprobe's. But an interrupt may have come while the handler runs, or an exception, for
 * which the fault_handler is called. And the caller may have left the handler's stack.
 *
 * Context: any, with preemption disabled.
 */
void __kprobes arch_jprobe_return(void)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	struct kprobe_level *level = kprobe_top_level();
	struct x86_jprobe_call *call = READ_ONCE(level->jprobe);

	if (!call || level->context != kprobe_context() || level->in_fault ||
	    (unsigned long)call - here >= THREAD_SIZE)
		return;
	/* The functions that do not return have no chance to unpoison their frames. */
	if (IS_ENABLED(CONFIG_KASAN_STACK))
		kasan_unpoison_range((void *)here, call->bp - here);
	x86_jprobe_end(call->bp);
}
