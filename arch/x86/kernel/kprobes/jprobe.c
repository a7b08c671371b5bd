// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: calling a jprobe's handler.
 *
 * x86_jprobe_call() in jprobe_call.S builds the handler's stack frame. jprobe_return() finds the
 * frame via the top entry of the CPU's stack of running handlers (struct kprobe_level).
 *
 * An interrupt during a handler may also hit a jprobe. That hit has its own entry in the stack, so
 * each jprobe_return() ends the handler of its own context.
 */
#include <linux/kasan.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <asm/ptrace.h>
#include <asm/stacktrace.h>

#include "x86.h"

/*
 * Return: the end of the stack that @sp is on. If get_stack_info() does not know the stack,
 * because the probed function has switched to a stack of its own, return the end of the page: the
 * next page may be a guard page.
 */
static noinline unsigned long __kprobes jprobe_stack_end(unsigned long sp)
{
	struct stack_info stack;

	if (get_stack_info((unsigned long *)sp, current, &stack, NULL))
		return (sp & PAGE_MASK) + PAGE_SIZE;
	return (unsigned long)stack.end;
}

/*
 * Return: the number of bytes of arguments to copy. @sp is the address of the return address.
 * Usually the number is MAX_STACK_SIZE. If the function is the first one on its stack, the stack
 * may end within these bytes: then copy up to its end.
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
 * Context: the context of a pre_handler.
 *
 * Return: true if jprobe_return() ended the handler, false if the handler returned.
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
 * jprobe_return() calls this if the innermost running handler is a jprobe's. This function returns
 * only if an interrupt or a fault_handler called it during the jprobe's handler, or if the handler
 * runs on another stack.
 *
 * Context: any, with preemption disabled.
 */
void __kprobes arch_jprobe_return(void)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	struct kprobe_level *level = kprobe_top_level();
	struct x86_jprobe_call *call = READ_ONCE(level->jprobe);

	if (!call || kprobe_level_context(level) != kprobe_context() || level->in_fault ||
	    (unsigned long)call - here >= THREAD_SIZE)
		return;
	/*
	 * The functions whose frames are dropped here do not return, so they cannot unpoison their
	 * variables on the stack, as they would at their end.
	 */
	if (IS_ENABLED(CONFIG_KASAN_STACK))
		kasan_unpoison_range((void *)here, call->bp - here);
	x86_jprobe_end(call->bp);
}
