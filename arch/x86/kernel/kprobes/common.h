/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _X86_KERNEL_KPROBES_COMMON_H
#define _X86_KERNEL_KPROBES_COMMON_H
/* Macros of rethook's trampoline. What the files of kernel probes share is in x86.h. */

#include <asm/asm.h>
#include <asm/frame.h>

/*
 * SAVE_REGS_STRING and RESTORE_REGS_STRING are for asm() statements that build a struct pt_regs.
 * The statement pushes ss, sp and flags before SAVE_REGS_STRING; C fills in cs, ip and orig_ax.
 * After RESTORE_REGS_STRING the stack pointer is at flags.
 */
#ifdef CONFIG_X86_64
#define SAVE_REGS_STRING						\
	"leaq -24(%rsp), %rsp\n\t"					\
	"pushq %rdi\n\tpushq %rsi\n\tpushq %rdx\n\tpushq %rcx\n\t"	\
	"pushq %rax\n\tpushq %r8\n\tpushq %r9\n\tpushq %r10\n\t"	\
	"pushq %r11\n\tpushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\t"	\
	"pushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"			\
	ENCODE_FRAME_POINTER

#define RESTORE_REGS_STRING						\
	"popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\t"		\
	"popq %rbp\n\tpopq %rbx\n\tpopq %r11\n\tpopq %r10\n\t"		\
	"popq %r9\n\tpopq %r8\n\tpopq %rax\n\tpopq %rcx\n\t"		\
	"popq %rdx\n\tpopq %rsi\n\tpopq %rdi\n\t"			\
	"leaq 24(%rsp), %rsp\n"
#else
#define SAVE_REGS_STRING						\
	"leal -12(%esp), %esp\n\t"					\
	"pushl %gs\n\tpushl %fs\n\tpushl %es\n\tpushl %ds\n\t"	\
	"pushl %eax\n\tpushl %ebp\n\tpushl %edi\n\tpushl %esi\n\t"	\
	"pushl %edx\n\tpushl %ecx\n\tpushl %ebx\n\t"			\
	ENCODE_FRAME_POINTER

/*
 * Skip 28 bytes: ds, es, fs and gs, which have not changed since they were saved, and orig_ax, ip
 * and cs.
 */
#define RESTORE_REGS_STRING						\
	"popl %ebx\n\tpopl %ecx\n\tpopl %edx\n\tpopl %esi\n\t"	\
	"popl %edi\n\tpopl %ebp\n\tpopl %eax\n\t"			\
	"leal 28(%esp), %esp\n"
#endif

#endif /* _X86_KERNEL_KPROBES_COMMON_H */
