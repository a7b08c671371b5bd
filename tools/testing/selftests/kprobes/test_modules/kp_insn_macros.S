/* SPDX-License-Identifier: GPL-2.0 */
/* How the files of the instruction matrix write down their cases. */

#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/ibt.h>
#include <asm/nospec-branch.h>
#include <asm/percpu.h>
#include <asm/segment.h>
#include "kp_endbr.h"
#include "kp_insn.h"

/* All cases up to TABLE_END go to tables called \name. */
.macro TABLE name:req
	.set	kp_nr, 0
	.set	kp_group, 0
	.section .rodata.kp_names, "a"
	.globl	\name\()_names
\name\()_names:
.Lnames:
	.section .rodata.kp_cases, "a"
	.balign	4
	.globl	\name
\name:
	.text
	.balign	16
	.globl	\name\()_text
	.type	\name\()_text, @function
\name\()_text:
.Ltext:
	ENDBR
	RET
	.size	\name\()_text, . - \name\()_text
.endm

.macro TABLE_END name:req
	.section .rodata.kp_cases, "a"
	.globl	\name\()_nr
\name\()_nr:
	.long	kp_nr
	.text
.endm

.macro GROUP group:req
	.set	kp_group, \group
.endm

/*
 * CASE "instruction", pre="before;it", post="after;it", flags=, feature=, pad=
 *
 * The instruction is probed, what stands before and after it is not. Its symbol is
 * a function of its own, since that is where the decoding of instructions begins.
 *
 * The padding is there so that a jump in the instruction's place reaches into nothing
 * else that does something. A nop keeps the last int3 apart from what the assembler puts between
 * functions of 32-bit code, cc 8d b4 26 00 00 00 00 for one: the safety check of jump optimisation
 * takes that for a jcc with a breakpoint over its first byte.
 */
.macro CASE code:req, pre, post, flags=0, feature=0, pad=4
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

	.section .rodata.kp_names, "a"
.Lname_\@:
	.asciz	"\code"
	.section .rodata.kp_cases, "a"
	.long	kp_case_\@ - .Ltext
	.long	.Lprobed_\@ - .Ltext
	.long	.Lnext_\@ - .Ltext
	.long	.Lpost_\@ - .Lpadded_\@
	.long	.Lname_\@ - .Lnames
	.short	(\flags)
	.short	kp_group
	.long	(\feature)
	.set	kp_nr, kp_nr + 1
	.text
.endm

/*
 * DCR "first", rest="second;third", pre=, post=, flags=, name=
 *
 * The instructions that a jump in place of the first one overlaps, and no padding: what
 * comes after them is not the jump's business.
 */
.macro DCR code:req, rest, pre, post, flags=KP_OPT
	CASE "\code", pre="\pre", post="\rest; \post", flags=(\flags), pad=0
.endm
