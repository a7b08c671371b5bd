/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_REGS_H
#define KP_REGS_H

/* What differs between architectures: registers of arguments, names of system calls. */

#include <linux/ptrace.h>
#include <linux/uaccess.h>

/*
 * kp_arg1, kp_arg2: a function's first two arguments at its entry, which a handler may change.
 * KP_SYSCALL: the function that is a system call.
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

/* The function's argument number @n, counted from 0, at its entry. */
static inline unsigned long kp_argument(struct pt_regs *regs, unsigned int n)
{
#ifdef CONFIG_ARM
	return n < 4 ? regs->uregs[n] : ((unsigned long *)regs->ARM_sp)[n - 4];
#elif defined(CONFIG_S390)
	/* The kernel does not export what regs_get_kernel_argument() calls. */
	return n < 5 ? regs->gprs[2 + n] :
		       ((unsigned long *)(regs->gprs[15] + STACK_FRAME_OVERHEAD))[n - 5];
#else
	return regs_get_kernel_argument(regs, n);
#endif
}

/*
 * Where all callers of a function enter it. On powerpc some do not execute the two instructions
 * that it may begin with, which set up r2. What is no function, or is probed there, stays what
 * it is.
 */
static inline void *kp_entry(void *addr)
{
#ifdef CONFIG_PPC64
	u32 insn[2], high;

	if (copy_from_kernel_nofault(insn, addr, sizeof(insn)))
		return addr;
	high = insn[0] >> 16;
	/* addis r2,r12 or lis r2; addi r2,r2 */
	if ((high == 0x3c4c || high == 0x3c40) && insn[1] >> 16 == 0x3842)
		return addr + sizeof(insn);
	/* ld r2,-8(r12); add r2,r2,r12 */
	if (high == 0xe84c && insn[1] == 0x7c426214)
		return addr + sizeof(insn);
#endif
	return addr;
}

#endif
