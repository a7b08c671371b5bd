// SPDX-License-Identifier: GPL-2.0
/* Functions to probe, in a file of their own so that the compiler cannot inline or clone them */

#include <linux/jump_label.h>
#include <linux/static_call.h>
#include "kprobes_kunit.h"

#define KP_PLUS_ONE(attributes, name)						\
	KP_PLUS_WITH(attributes, long, name, 1,					\
		     asm volatile("nop\n\tnop\n\tnop\n\tnop\n\tnop" : : : "memory"))

KP_PLUS_ONE(, kp_target)
KP_PLUS_ONE(, kp_target_other)
KP_PLUS_ONE(notrace, kp_target_notrace)
KP_PLUS_ONE(, kp_target_nokprobe)
NOKPROBE_SYMBOL(kp_target_nokprobe);
KP_PLUS_ONE(noinstr, kp_target_noinstr)
KP_PLUS_ONE(__cpuidle, kp_target_cpuidle)
KP_PLUS_ONE(__kprobes, kp_target_kprobes)
/* Blacklisted twice: by NOKPROBE_SYMBOL(), and by being in the text section of __kprobes */
KP_PLUS_ONE(__kprobes, kp_target_kprobes_named)
NOKPROBE_SYMBOL(kp_target_kprobes_named);
KP_PLUS_ONE(__kprobes, kp_target_kprobes_after)

KP_CALLER(, kp_target_calls, long, kp_target(arg))

static DEFINE_STATIC_KEY_FALSE(kp_key);

noinline long kp_target_jump_label(long arg)
{
	if (static_branch_unlikely(&kp_key))
		return kp_target_other(arg);
	return arg + 1;
}

DEFINE_STATIC_CALL(kp_call, kp_target);

KP_CALLER(, kp_target_static_call, long, static_call(kp_call)(arg))
KP_PLUS_WITH(, long, kp_target_bug, 1, BUG_ON(arg == LONG_MAX))
KP_PLUS_WITH(, long, kp_target_warn, 1, WARN_ON(arg == LONG_MAX))

/* An instruction that changes no general register. kprobes executes its copy in a slot. */
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

KP_CALLER(, kp_target_indirect, long, READ_ONCE(kp_target_pointer)(arg))
