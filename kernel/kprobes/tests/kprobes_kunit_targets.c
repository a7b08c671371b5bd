// SPDX-License-Identifier: GPL-2.0
/*
 * Functions for kprobes_kunit to probe, in another file so that the compiler does not inline
 * or clone them
 */

#include <linux/bug.h>
#include <linux/jump_label.h>
#include <linux/static_call.h>
#include <linux/stringify.h>
#include "kprobes_kunit.h"

/* Room for a jump */
static __always_inline void kp_room(void)
{
	asm volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop" : : : "memory");
}

noinline long kp_target(long arg)
{
	kp_room();
	return arg + 1;
}

noinline long kp_target_other(long arg)
{
	kp_room();
	return arg + 1;
}

noinline long kp_target_calls(long arg)
{
	kp_room();
	arg = kp_target(arg);
	barrier();
	return arg;
}

static DEFINE_STATIC_KEY_FALSE(kp_key);

noinline long kp_target_jump_label(long arg)
{
	if (static_branch_unlikely(&kp_key))
		return kp_target_other(arg);
	return arg + 1;
}

DEFINE_STATIC_CALL(kp_call, kp_target);

noinline long kp_target_static_call(long arg)
{
	arg = static_call(kp_call)(arg);
	barrier();
	return arg;
}

noinline long kp_target_bug(long arg)
{
	BUG_ON(arg == LONG_MAX);
	return arg + 1;
}

noinline long kp_target_warn(long arg)
{
	WARN_ON(arg == LONG_MAX);
	return arg + 1;
}

/* An instruction that leaves the registers as they are, and is executed from a slot */
#if defined(CONFIG_X86)
#define KP_ROW_INSN	"test %%eax, %%eax"
#elif defined(CONFIG_ARM64)
#define KP_ROW_INSN	"mov x9, x9"
#elif defined(CONFIG_ARM)
#define KP_ROW_INSN	"mov r3, r3"
#elif defined(CONFIG_S390)
#define KP_ROW_INSN	"lgr %%r3, %%r3"
#elif defined(CONFIG_RISCV)
#define KP_ROW_INSN	"mv t0, t0"
#elif defined(CONFIG_PPC)
#define KP_ROW_INSN	"mr 9, 9"
#else
#define KP_ROW_INSN	"nop"
#endif

noinline long kp_target_row(long arg)
{
	asm volatile("1:\n\t"
		     ".rept " __stringify(KP_ROW) "\n\t"
		     KP_ROW_INSN "\n\t"
		     ".endr\n"
		     "2:\n\t"
		     ".pushsection .rodata\n\t"
		     ".balign 4\n\t"
		     ".globl kp_row_bounds\n"
		     "kp_row_bounds:\n\t"
		     ".long 1b - kp_target_row, 2b - kp_target_row\n\t"
		     ".popsection" : : : "memory", "cc");
	return arg + 1;
}

static long (*kp_target_pointer)(long) = kp_target;

noinline long kp_target_indirect(long arg)
{
	long ret = READ_ONCE(kp_target_pointer)(arg);

	barrier();
	return ret;
}

noinline long kp_target_nokprobe(long arg)
{
	barrier();
	return arg + 1;
}

NOKPROBE_SYMBOL(kp_target_nokprobe);

noinstr long kp_target_noinstr(long arg)
{
	barrier();
	return arg + 1;
}

noinline long __kprobes kp_target_kprobes(long arg)
{
	barrier();
	return arg + 1;
}

/* An entry of the blacklist inside the area that is another entry. */
noinline long __kprobes kp_target_kprobes_named(long arg)
{
	barrier();
	return arg + 1;
}

NOKPROBE_SYMBOL(kp_target_kprobes_named);

noinline long __kprobes kp_target_kprobes_after(long arg)
{
	barrier();
	return arg + 1;
}
