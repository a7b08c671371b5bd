/* SPDX-License-Identifier: GPL-2.0 */
/* Macros for the cases of the instruction matrix, in 32-bit and 64-bit code alike */

#include <asm/cpufeatures.h>
#include <asm/percpu.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/trapnr.h>
#include "kp_asm.h"
#include "kp_endbr.h"
#include "kp_insn.h"

/*
 * W(code): code as a string, in which the macros below are expanded, such as registers' names
 * and L, the suffix for operands of a register's size.
 */
#define W_(code...)	#code
#define W(code...)	W_(code)

#ifdef CONFIG_X86_64
#define WIDTH(in_64, in_32)	in_64
#else
#define WIDTH(in_64, in_32)	in_32
#endif

#define AX	_ASM_AX
#define CX	_ASM_CX
#define DX	_ASM_DX
#define BX	_ASM_BX
#define SP	_ASM_SP
#define BP	_ASM_BP
#define SI	_ASM_SI
#define DI	_ASM_DI
/* Registers of 64-bit mode, and what replaces them in 32-bit code */
#define R8	WIDTH(r8, edx)
#define R9	WIDTH(r9, edi)
#define R10	WIDTH(r10, ecx)
#define R11	WIDTH(r11, ecx)
#define R12	WIDTH(r12, esi)
#define R13	WIDTH(r13, ebp)
#define R14	WIDTH(r14, esi)
#define R9D	WIDTH(r9d, edi)
#define R10D	WIDTH(r10d, ecx)
#define R10W	WIDTH(r10w, cx)
#define R8B	WIDTH(r8b, cl)
#define R9B	WIDTH(r9b, dh)
#define R14B	WIDTH(r14b, ch)
/* A register with an index from 0 to 7; in 32-bit code only after the instruction SMALL */
#define INDEX	WIDTH(r15, ecx)
#define SMALL	WIDTH("", "and $7, %ecx")

#define L		WIDTH(q, l)
#define SIZED(insn)	__ASM_SIZE(insn)
#define WORD		__SIZEOF_LONG__
#define MEM(offset)	WIDTH(kp_insn_mem+offset(%rip), kp_insn_mem+offset)
#define SEG		WIDTH(gs, fs)
#define PER_CPU		%SEG:WIDTH(this_cpu_off(%rip), this_cpu_off)
/* A case may have loaded another ds, so use ss. */
#define KP_WAY		WIDTH(kp_insn_way(%rip), %ss:kp_insn_way)

/* Load an address into a register, store it in memory, or push it. STORE, PUSH may clobber rax. */
#ifdef CONFIG_X86_64
#define LOAD(label, reg)	lea label(%rip), reg
#define STORE(label, mem)	lea label(%rip), %rax; mov %rax, mem
#define PUSH(label)		lea label(%rip), %rax; push %rax
#else
#define LOAD(label, reg)	mov $label, reg
#define STORE(label, mem)	movl $label, mem
#define PUSH(label)		push $label
#endif

/* For code in strings, in which the preprocessor expands no macros */
.macro RETPOLINE_SAFE
	ANNOTATE_RETPOLINE_SAFE
.endm

.macro KP_STAC
	ASM_STAC
.endm

.macro KP_CLAC
	ASM_CLAC
.endm

	.set	kp_groups, 0
#define KP_GROUP_NUMBER(name)	.set kp_group_##name, kp_groups; .set kp_groups, kp_groups + 1;
	KP_GROUPS(KP_GROUP_NUMBER)

/* Group and flags of the cases below; @feature is for cases that name none. */
.macro GROUP group:req, flags=0, feature=0
	.set	kp_group, kp_group_\group
	.set	kp_flags, \flags
	.set	kp_feature, \feature
.endm

/* Add a case to the table. */
.macro ROW code:req, start:req, probed:req, next:req, base=kp_insn_text, fixup=kp_insn_text, \
	post=0, flags:req, group=kp_groups, feature=0, trap=0
	.section .rodata.kp_names, "a"
.Lname_\@:
	.asciz	"\code"
	.section .rodata.kp_cases, "a"
	.long	\start - \base
	.long	\probed - \base
	.long	\next - \base
	.long	\fixup - kp_insn_text
	.long	\post
	.long	.Lname_\@ - kp_insn_names
	.long	\flags
	.long	\feature
	.short	\group
	.short	\trap
	.set	kp_nr, kp_nr + 1
	.text
.endm

/*
 * CASE "instruction", pre="before;it", post="after;it", flags=, feature=, pad=
 *
 * Only the instruction is probed. Each case is a function, as kprobes decode a function from its
 * beginning.
 *
 * A jump covers the instruction and padding. The nop at the end separates the last int3 from the
 * assembler's padding of 32-bit functions, for example 8d b4 26 00 00 00 00: kprobes would take
 * cc 8d for a jcc (0f 8d) with a breakpoint.
 */
.macro CASE code:req, pre, post, flags=0, feature=kp_feature, pad=4
	.text
	.balign	16
	.type	kp_case_\@, @function
kp_case_\@:
	\pre
.Lprobed_\@:
	\code
.Lnext_\@:
	.rept	\pad
	nop
	.endr
.Lpadded_\@:
	\post
.Lpost_\@:
	jmp	kp_insn_done
	int3
	nop
	.size	kp_case_\@, . - kp_case_\@
	STACK_FRAME_NON_STANDARD kp_case_\@

	ROW "\code", kp_case_\@, .Lprobed_\@, .Lnext_\@, post=".Lpost_\@ - .Lpadded_\@", \
		flags=((\flags) | kp_flags), group=kp_group, feature=(\feature)
.endm

.macro CASES codes:vararg
.irp code, \codes
	CASE "\code"
.endr
.endm

/*
 * FAULT "instruction", trap, pre="before;it", fixed="afterwards, with or without fix-up", flags=
 *
 * The instruction raises an exception. The handler of the exception table puts the trap's number
 * into ax. The outcome is written by an instruction that does not change flags.
 */
.macro FAULT code:req, trap:req, pre, fixed, flags=0
	.text
	.balign	16
	.type	kp_fault_\@, @function
kp_fault_\@:
	\pre
.Lprobed_\@:
	\code
.Lnext_\@:
	movb	$KP_WENT_ON, KP_WAY
	jmp	.Lout_\@
.Lfixed_\@:
	movb	$KP_FIXED_UP, KP_WAY
.Lout_\@:
	\fixed
	jmp	kp_insn_done
	int3
	nop
	.size	kp_fault_\@, . - kp_fault_\@
	STACK_FRAME_NON_STANDARD kp_fault_\@
	.if	!((\flags) & KP_NO_EXTABLE)
	_ASM_EXTABLE_FAULT(.Lprobed_\@, .Lfixed_\@)
	.endif
	ROW "\code", kp_fault_\@, .Lprobed_\@, .Lnext_\@, fixup=.Lfixed_\@, post=1, \
		flags=(\flags), trap=(\trap)
.endm

/* Run only if the CPU has @feature */
.macro CASES_OF feature:req, codes:vararg
.irp code, \codes
	CASE "\code", feature=\feature
.endr
.endm

/*
 * DCR "first", rest="second;third", pre=, post=, flags=
 *
 * If the probe on the first instruction is optimised, the jump overwrites the others, too, as there
 * is no padding between them. In 64-bit code some of the instructions are longer, and the jump
 * overwrites fewer of them.
 */
.macro DCR code:req, rest, pre, post, flags=KP_OPT
	CASE "\code", pre="\pre", post="\rest; \post", flags=(\flags), pad=0
.endm
