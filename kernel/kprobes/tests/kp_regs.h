/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KP_REGS_H
#define KP_REGS_H

/* Names that differ between 32-bit and 64-bit x86: registers of arguments, system calls. */

/* A function's first two arguments at its entry, which a handler may change. */
#ifdef CONFIG_X86_32
#define kp_arg1(regs)		((regs)->ax)
#define kp_arg2(regs)		((regs)->dx)
#define KP_SYSCALL(name)	"__ia32_sys_" name
#else
#define kp_arg1(regs)		((regs)->di)
#define kp_arg2(regs)		((regs)->si)
#define KP_SYSCALL(name)	"__x64_sys_" name
#endif

#endif
