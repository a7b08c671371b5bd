/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_REGS_H
#define KP_REGS_H

#include <linux/ptrace.h>
#include <linux/uaccess.h>
#ifdef CONFIG_PPC64
#include <asm/code-patching.h>
#endif

/*
 * kp_arg1, kp_arg2: the first two arguments at a function's entry, as lvalues; KP_SYSCALL: the
 * name of a system call's function
 */
#if defined(CONFIG_X86_32)
#define kp_arg1(regs)		((regs)->ax)
#define kp_arg2(regs)		((regs)->dx)
#define KP_SYSCALL(name)	"__ia32_sys_" name
#elif defined(CONFIG_X86_64)
#define kp_arg1(regs)		((regs)->di)
#define kp_arg2(regs)		((regs)->si)
#define KP_SYSCALL(name)	"__x64_sys_" name
#elif defined(CONFIG_ARM64)
#define kp_arg1(r)		((r)->regs[0])
#define kp_arg2(r)		((r)->regs[1])
#define KP_SYSCALL(name)	"__arm64_sys_" name
#elif defined(CONFIG_RISCV)
#define kp_arg1(regs)		((regs)->a0)
#define kp_arg2(regs)		((regs)->a1)
#define KP_SYSCALL(name)	"__riscv_sys_" name
#elif defined(CONFIG_S390)
#define kp_arg1(regs)		((regs)->gprs[2])
#define kp_arg2(regs)		((regs)->gprs[3])
#define KP_SYSCALL(name)	"__s390x_sys_" name
#elif defined(CONFIG_PPC)
#define kp_arg1(regs)		((regs)->gpr[3])
#define kp_arg2(regs)		((regs)->gpr[4])
#define KP_SYSCALL(name)	"sys_" name
#elif defined(CONFIG_ARM)
#define kp_arg1(regs)		((regs)->ARM_r0)
#define kp_arg2(regs)		((regs)->ARM_r1)
#define KP_SYSCALL(name)	"sys_" name
#else
#define KP_SYSCALL(name)	"sys_" name
#endif

/* Argument number @n, counted from 0, at the function's entry */
static inline unsigned long kp_argument(struct pt_regs *regs, unsigned int n)
{
#ifdef CONFIG_ARM
	return n < 4 ? regs->uregs[n] : ((unsigned long *)regs->ARM_sp)[n - 4];
#elif defined(CONFIG_S390)
	/* Modules cannot call regs_get_kernel_argument(), which needs a function not exported. */
	return n < 5 ? regs->gprs[2 + n] :
		       ((unsigned long *)(regs->gprs[15] + STACK_FRAME_OVERHEAD))[n - 5];
#else
	return regs_get_kernel_argument(regs, n);
#endif
}

/*
 * Return the first address that all callers of the function at @addr execute. On powerpc, a
 * function may begin with two instructions that set r2, which callers with the same r2 skip: return
 * the address after these. If a breakpoint hides them, or there are none, return @addr.
 */
static inline void *kp_entry(void *addr)
{
#ifdef CONFIG_PPC64
	u32 insn[2];

	/* Some tests pass addresses that cannot be read. */
	if (!copy_from_kernel_nofault(insn, addr, sizeof(insn)))
		return (void *)ppc_function_entry(addr);
#endif
	return addr;
}

#endif
