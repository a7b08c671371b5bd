/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Instructions for kprobes/explain: one for each reason that the instructions of kp_opt_codes.S do
 * not cover. No CPU executes this code. CODE_END leaves room for a jump after each instruction.
 */

#include <asm/alternative.h>
#include <asm/nops.h>
#include "kp_asm.h"
#include "kp_inc.h"

	.section .rodata.kp_explain_names, "a"
	.globl	kp_explain_names
kp_explain_names:
	.section .rodata.kp_explain_codes, "a"
	.balign	4
	.globl	kp_explain_codes
kp_explain_codes:
	.set	kp_nr, 0
	.text
	.balign	16
SYM_FUNC_START(kp_explain_text)
	RET
SYM_FUNC_END(kp_explain_text)

.macro CODE name:req
	.text
	.balign	16
	.type	kp_ex_\name, @function
kp_ex_\name:
	KP_INC_EAX
.endm

.macro AT name:req
.Lat_\name:
	.pushsection .rodata.kp_explain_names, "a"
.Lname_\name:
	.asciz	"\name"
	.popsection
	.pushsection .rodata.kp_explain_codes, "a"
	.long	.Lat_\name - kp_explain_text
	.long	.Lname_\name - kp_explain_names
	.popsection
	.set	kp_nr, kp_nr + 1
.endm

.macro SOME_NOPS
	.skip	5, 0x90
.endm

.macro CODE_END name:req
	SOME_NOPS
	RET
	.size	kp_ex_\name, . - kp_ex_\name
	STACK_FRAME_NON_STANDARD kp_ex_\name
.endm

/* As CODE. Make the instruction after the inc that CODE emits a location in kp_explain. */
.macro CODE_AT name:req
CODE \name
	AT	\name
.endm

.macro INSN name:req, insn:vararg
CODE_AT \name
	\insn
CODE_END \name
.endm

.macro COVERED name:req, insn:vararg
CODE_AT \name
	nop
	\insn
CODE_END \name
.endm

/* Can be probed, boosted and optimised. */
CODE_AT plain
	bts	$6, %eax
	AT	plain_second
	KP_INC_EAX
	KP_INC_EAX
	SOME_NOPS
CODE_END plain

/* Instructions that cannot be probed */

INSN trap, ud2
INSN unknown, .byte 0x0f, 0x0a
INSN hlt, hlt
INSN blacklisted, nop
	_ASM_NOKPROBE(kp_ex_blacklisted)
/* A part of a blacklisted function that the compiler has moved out is blacklisted, too. */
INSN blacklisted.part.0, nop

CODE_AT ret16
	ANNOTATE_RETPOLINE_SAFE
	.byte	0x66, 0xc3
CODE_END ret16

CODE_AT sti
	sti
	hlt
CODE_END sti

CODE_AT rsb
	call	1f
	int3
1:	add	$__SIZEOF_LONG__, %_ASM_SP
CODE_END rsb

CODE_AT lock
	LOCK_PREFIX
	addl	$0, (%_ASM_SP)
CODE_END lock

CODE endbr
	nop
	AT	endbr
	__ASM_SEL(endbr32, endbr64)
CODE_END endbr

/*
 * vaddph (map 5) and vfmadd132ph (map 6): only EVEX has these maps. Then an add of APX (map 4):
 * kprobes does not support APX.
 */
INSN evex5, .byte 0x62, 0xf5, 0x6c, 0x48, 0x58, 0xd9
INSN evex6, .byte 0x62, 0xf6, 0x6d, 0x48, 0x98, 0xd9
#ifdef CONFIG_X86_64
INSN evex4, .byte 0x62, 0xf4, 0x7c, 0x08, 0x01, 0xc0

/* lea 0x7fffffff(%rip), %rax, and lea -0x80000000(%rip), %rax: no slot reaches both operands. */
INSN far, .byte 0x48, 0x8d, 0x05, 0xff, 0xff, 0xff, 0x7f
INSN farther, .byte 0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x80
COVERED far_second, .byte 0x48, 0x8d, 0x05, 0xff, 0xff, 0xff, 0x7f
#endif

/* Instructions for which explain must say why they are boosted, emulated or single-stepped */

INSN relative, call kp_explain_text
INSN loop, loop kp_ex_loop

CODE_AT branch
	jz	1f
	SOME_NOPS
1:	nop
CODE_END branch

CODE_AT indirect
	ANNOTATE_RETPOLINE_SAFE
	call	*%_ASM_DX
CODE_END indirect

CODE_AT return
	ANNOTATE_RETPOLINE_SAFE
	ret
	.skip	4, 0xcc
CODE_END return

CODE_AT flags
	pushf
	pop	%_ASM_AX
CODE_END flags

CODE_AT push
	push	%_ASM_AX
	pop	%_ASM_AX
	SOME_NOPS
CODE_END push

/* These instructions change state on which the trap after a single-step depends. */
CODE_AT state
	lidt	(%_ASM_AX)
	AT	state_second
	wrmsr
	AT	state_third
	mov	%_ASM_AX, %cr0
	SOME_NOPS
CODE_END state

#ifdef CONFIG_X86_32
INSN step, mov %eax, %es

CODE segment
	mov	%eax, %ds
	AT	segment
	bts	$6, %eax
	SOME_NOPS
CODE_END segment
#endif

/* Instructions that get no jump */

.macro LABEL_NOP to:req
.Lsite_\to:
	.byte	BYTES_NOP5
	.pushsection __jump_table, "aw"
	_ASM_ALIGN
	.long	.Lsite_\to - ., \to - .
	_ASM_PTR kp_explain_key - .
	.popsection
.endm

CODE label_into
	LABEL_NOP .Llabel_target
	AT	label_into
	nop
.Llabel_target:
	SOME_NOPS
CODE_END label_into

CODE_AT label_covered
	nop
	LABEL_NOP .Lcovered_target
	SOME_NOPS
.Lcovered_target:
	nop
CODE_END label_covered

CODE_AT label
	LABEL_NOP .Lplain_target
.Lplain_target:
	nop
CODE_END label

COVERED loop_covered, loop kp_ex_loop_covered
COVERED flags_covered, pushf
/* The branch's target is in the middle of another function. */
COVERED into_other, {disp32} jmp .Lat_hlt
#ifdef CONFIG_X86_KERNEL_IBT
COVERED endbr_covered, endbr64
#else
CODE_AT jumps_indirectly
	SOME_NOPS
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_DX
CODE_END jumps_indirectly
#endif

CODE_AT blacklist_covered
	nop
	nop
.Lblacklisted:
	SOME_NOPS
CODE_END blacklist_covered
	_ASM_NOKPROBE(.Lblacklisted)

#ifdef CONFIG_CFI_CLANG
CODE_AT cfi_covered
	nop
	movl	$0x12345678, %r10d
	addl	-4(%rax), %r10d
	je	.Lcfi_passed
.Lcfi_trap:
	ud2
.Lcfi_passed:
	SOME_NOPS
CODE_END cfi_covered
	.pushsection .kcfi_traps, "a"
	.long	.Lcfi_trap - .
	.popsection
#endif

/* kp_flip() in kp_explain_main.c changes this text. */
CODE_AT changed
	bts	$6, %eax
	bts	$7, %eax
	SOME_NOPS
CODE_END changed

/* Keeps the next function out of reach of short branches in other functions. */
CODE room
	.skip	256, 0x90
CODE_END room

/* Another symbol begins in the middle of the last instruction. */
CODE undecoded
	AT	undecoded_later
	SOME_NOPS
	AT	undecoded
	.byte	0xb8
	.type	kp_ex_undecoded_rest, @object
kp_ex_undecoded_rest:
	.byte	0x90, 0x90, 0x90, 0x90
CODE_END undecoded

	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kp_explain_codes_nr)
	.long	kp_nr
SYM_DATA_END(kp_explain_codes_nr)
