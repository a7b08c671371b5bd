/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code that kprobes/explain is asked about: for each reason an instruction that provokes it.
 * None of it is ever executed.
 *
 * CODE begins a function, AT is before the instruction. CODE_END ends the function; behind it
 * are enough nops for a jump.
 */

#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/nops.h>
#include <asm/nospec-branch.h>
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
	nop
	nop
	nop
	nop
	nop
.endm

.macro CODE_END name:req
	SOME_NOPS
	RET
	.size	kp_ex_\name, . - kp_ex_\name
	STACK_FRAME_NON_STANDARD kp_ex_\name
.endm

/* An instruction for which all answers are yes, and then some that jumps could be put at. */
CODE plain
	AT	plain
	bts	$6, %eax
	AT	plain_second
	KP_INC_EAX
	KP_INC_EAX
	SOME_NOPS
CODE_END plain

/*
 * Refused
 */

CODE trap
	AT	trap
	ud2
CODE_END trap

CODE unknown
	AT	unknown
	.byte	0x0f, 0x0a
CODE_END unknown

CODE hlt
	AT	hlt
	hlt
CODE_END hlt

CODE ret16
	AT	ret16
	ANNOTATE_RETPOLINE_SAFE
	.byte	0x66, 0xc3
CODE_END ret16

CODE sti
	AT	sti
	sti
	hlt
CODE_END sti

CODE rsb
	AT	rsb
	call	1f
	int3
1:	add	$__SIZEOF_LONG__, %_ASM_SP
CODE_END rsb

CODE lock
	AT	lock
	LOCK_PREFIX
	addl	$0, (%_ASM_SP)
CODE_END lock

CODE endbr
	nop
	AT	endbr
	__ASM_SEL(endbr32, endbr64)
CODE_END endbr

CODE blacklisted
	AT	blacklisted
	nop
CODE_END blacklisted
	_ASM_NOKPROBE(kp_ex_blacklisted)

#ifdef CONFIG_X86_64
/* Of any two slots one is too far, or both. */
CODE far
	AT	far
	.byte	0x48, 0x8d, 0x05
	.long	0x7fffffff
CODE_END far

CODE far_second
	AT	far_second
	nop
	.byte	0x48, 0x8d, 0x05
	.long	0x7fffffff
CODE_END far_second

/* Wherever the slot is */
CODE farther
	AT	farther
	.byte	0x48, 0x8d, 0x05
	.long	-0x80000000
CODE_END farther
#endif

/*
 * How instructions are executed
 */

CODE branch
	AT	branch
	jz	1f
	SOME_NOPS
1:	nop
CODE_END branch

CODE relative
	AT	relative
	call	kp_explain_text
CODE_END relative

CODE loop
	AT	loop
	loop	kp_ex_loop
CODE_END loop

CODE indirect
	AT	indirect
	ANNOTATE_RETPOLINE_SAFE
	call	*%_ASM_DX
CODE_END indirect

CODE return
	AT	return
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
	int3
	int3
	int3
CODE_END return

CODE flags
	AT	flags
	pushf
	pop	%_ASM_AX
CODE_END flags

CODE push
	AT	push
	push	%_ASM_AX
	pop	%_ASM_AX
	SOME_NOPS
CODE_END push

/* The boosted copy changes what a second trap would need. */
CODE state
	AT	state
	lidt	(%_ASM_AX)
	AT	state_second
	wrmsr
	AT	state_third
	mov	%_ASM_AX, %cr0
	SOME_NOPS
CODE_END state

#ifdef CONFIG_X86_32
CODE step
	AT	step
	mov	%eax, %es
CODE_END step

CODE segment
	mov	%eax, %ds
	AT	segment
	bts	$6, %eax
	SOME_NOPS
CODE_END segment
#endif

/*
 * No jump
 */

	.text
	.type	kp_ex_end, @function
kp_ex_end:
	AT	end
	KP_INC_EAX
	ANNOTATE_RETPOLINE_SAFE
	ret
	.size	kp_ex_end, . - kp_ex_end
	STACK_FRAME_NON_STANDARD kp_ex_end
	.type	kp_ex_behind_end, @function
kp_ex_behind_end:
	SOME_NOPS
.Lmiddle:
	SOME_NOPS
	RET
	.size	kp_ex_behind_end, . - kp_ex_behind_end

CODE into
	jz	1f
	AT	into
	nop
1:	SOME_NOPS
CODE_END into

CODE address
#ifdef CONFIG_X86_64
	lea	1f(%rip), %rax
#else
	mov	$1f, %eax
#endif
	AT	address
	nop
1:	ANNOTATE_NOENDBR
	SOME_NOPS
CODE_END address

CODE fixup
.Lload_fixup:
	mov	(%_ASM_DI), %_ASM_AX
	AT	fixup
	nop
.Lfixup_fixup:
	SOME_NOPS
CODE_END fixup
_ASM_EXTABLE(.Lload_fixup, .Lfixup_fixup)

/* The nop of a jump label, whose jump would lead behind @to. */
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

CODE label_covered
	AT	label_covered
	nop
	LABEL_NOP .Lcovered_target
	SOME_NOPS
.Lcovered_target:
	nop
CODE_END label_covered

CODE label
	AT	label
	LABEL_NOP .Lplain_target
.Lplain_target:
	nop
CODE_END label

CODE far_branch
	AT	far_branch
	nop
.Lfar_branch:
	SOME_NOPS
CODE_END far_branch

CODE far_address
	AT	far_address
	nop
.Lfar_address:
	ANNOTATE_NOENDBR
	SOME_NOPS
CODE_END far_address

/* No short branch leads from here to the code above. */
	.section .text.unlikely, "ax"
	.balign	16
	.type	kp_ex_far_away, @function
kp_ex_far_away:
	.skip	256, 0x90
	jmp	.Lfar_branch
	mov	$.Lfar_address, %_ASM_AX
	.skip	256, 0x90
	RET
	.size	kp_ex_far_away, . - kp_ex_far_away
	STACK_FRAME_NON_STANDARD kp_ex_far_away
	.text

#ifndef CONFIG_X86_KERNEL_IBT
CODE jumps_indirectly
	AT	jumps_indirectly
	SOME_NOPS
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_DX
CODE_END jumps_indirectly
#else
CODE endbr_covered
	AT	endbr_covered
	nop
	endbr64
CODE_END endbr_covered
#endif

CODE fault_covered
	AT	fault_covered
	nop
.Lload_covered:
	mov	(%_ASM_DI), %_ASM_AX
	SOME_NOPS
.Lfixup_covered:
	nop
CODE_END fault_covered
_ASM_EXTABLE(.Lload_covered, .Lfixup_covered)

CODE blacklist_covered
	AT	blacklist_covered
	nop
	nop
.Lblacklisted:
	SOME_NOPS
CODE_END blacklist_covered
	_ASM_NOKPROBE(.Lblacklisted)

CODE loop_covered
	AT	loop_covered
	nop
	loop	kp_ex_loop_covered
CODE_END loop_covered

CODE into_other
	AT	into_other
	nop
	{disp32} jmp .Lmiddle
CODE_END into_other

CODE flags_covered
	AT	flags_covered
	nop
	pushf
	pop	%_ASM_AX
CODE_END flags_covered

/* The text of this one is changed while the jump is about to be written. */
CODE changed
	AT	changed
	bts	$6, %eax
	bts	$7, %eax
	SOME_NOPS
CODE_END changed

/* Functions that a short branch may reach are decoded as well, so this one is far from others. */
CODE room
	.skip	256, 0x90
CODE_END room

/* It ends in the middle of an instruction, as another symbol begins there. */
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
