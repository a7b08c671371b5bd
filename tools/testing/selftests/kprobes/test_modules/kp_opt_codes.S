/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that a jump would break, or would not: what jumps where, and from where.
 *
 * Each takes a number that says which way it goes, and the result says which way it
 * went. CODE begins one, PROBED is where it is probed.
 */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "kp_opt_suites.h"

	.set	kp_nr, 0
	.section .rodata.kp_opt_names, "a"
	.globl	kp_opt_names
kp_opt_names:
	.section .rodata.kp_opt_codes, "a"
	.balign	4
	.globl	kp_opt_codes
kp_opt_codes:
	.text
	.balign	16
SYM_FUNC_START(kp_opt_text)
	RET
SYM_FUNC_END(kp_opt_text)

.macro CODE name:req, flags:req
	.text
	.balign	16
#ifdef CONFIG_CFI_CLANG
	/* Where a function in C has its type, which the kernel overwrites if it seals it. */
	.skip	16, 0x90
#endif
	.type	kp_opt_code_\name, @function
kp_opt_code_\name:
	ENDBR
	xor	%eax, %eax
	.section .rodata.kp_opt_names, "a"
.Lname_\name:
	.asciz	"\name"
	.section .rodata.kp_opt_codes, "a"
	.long	kp_opt_code_\name - kp_opt_text
	.long	.Lprobed_\name - kp_opt_text
	.long	.Lname_\name - kp_opt_names
	.long	\flags
	.set	kp_nr, kp_nr + 1
	.text
.endm

.macro PROBED name:req
.Lprobed_\name:
.endm

.macro CODE_END name:req
	RET
	.size	kp_opt_code_\name, . - kp_opt_code_\name
	STACK_FRAME_NON_STANDARD kp_opt_code_\name
.endm

/*
 * Into the bytes of the jump.
 */

.macro FORWARD name:req, jump:req
CODE \name, KP_REFUSE
	test	$1, %dil
	\jump	1f
	add	$16, %eax
	PROBED	\name
	nop
1:	inc	%eax
	add	$2, %eax
CODE_END \name
.endm

FORWARD short, "jz"
FORWARD near, "{disp32} jz"
FORWARD near_not, "{disp32} jnz"

CODE jrcxz, KP_REFUSE
	mov	%rdi, %rcx
	jrcxz	1f
	add	$16, %eax
	PROBED	jrcxz
	nop
1:	inc	%eax
	add	$2, %eax
CODE_END jrcxz

CODE jump, KP_REFUSE
	test	$1, %dil
	jz	2f
	add	$16, %eax
	jmp	1f
2:	nop
	PROBED	jump
	nop
	nop
1:	inc	%eax
	add	$2, %eax
CODE_END jump

/* To the last byte that the jump takes. */
CODE last_byte, KP_REFUSE
	test	$1, %dil
	jz	1f
	add	$16, %eax
	PROBED	last_byte
	lea	64(%rax), %rax
1:	inc	%eax
	add	$2, %eax
CODE_END last_byte

CODE backward, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	inc	%ecx
	PROBED	backward
	nop
1:	inc	%eax
	dec	%ecx
	jnz	1b
CODE_END backward

CODE backward_near, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	inc	%ecx
	PROBED	backward_near
	nop
1:	inc	%eax
	dec	%ecx
	{disp32} jnz 1b
CODE_END backward_near

CODE loop, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	inc	%ecx
	PROBED	loop
	nop
1:	inc	%eax
	add	$4, %eax
	loop	1b
CODE_END loop

/* From within what the jump takes. */
CODE itself, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	inc	%ecx
	PROBED	itself
	nop
1:	dec	%ecx
	jnz	1b
	inc	%eax
CODE_END itself

CODE call, KP_REFUSE
	call	1f
	add	$16, %eax
	PROBED	call
	nop
1:	inc	%eax
	add	$2, %eax
CODE_END call

/* A jump whose target is not known. */
CODE table, KP_REFUSE
	lea	1f(%rip), %rdx
	lea	2f(%rip), %rcx
	test	$1, %dil
	cmovz	%rcx, %rdx
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%rdx
1:	add	$16, %eax
	PROBED	table
	nop
2:	inc	%eax
	add	$2, %eax
CODE_END table

/*
 * The same by a table in data, as the BPF interpreter has one, directly or by way of a
 * retpoline. Where there is IBT such a target would need an endbr.
 */
#ifndef CONFIG_X86_KERNEL_IBT
.macro IN_DATA name:req, jump:req
CODE \name, KP_REFUSE
	mov	%edi, %ecx
	and	$1, %ecx
	mov	.Ltable_\name(, %rcx, 8), %rdx
	\jump
1:	add	$16, %eax
	PROBED	\name
	nop
2:	inc	%eax
	add	$2, %eax
CODE_END \name
	.section .rodata
	.balign	8
.Ltable_\name:
	.quad	1b, 2b
	.text
.endm

IN_DATA table_in_data, "JMP_NOSPEC rdx"
IN_DATA table_plain, "ANNOTATE_RETPOLINE_SAFE; jmp *%rdx"

/* The jump is in the part that has a symbol of its own. */
CODE table_cold, KP_REFUSE
	mov	%edi, %ecx
	and	$1, %ecx
	mov	.Ltable_cold(, %rcx, 8), %rdx
	jmp	kp_opt_code_table_cold.cold
1:	add	$16, %eax
	PROBED	table_cold
	nop
2:	inc	%eax
	add	$2, %eax
CODE_END table_cold
	.section .rodata
	.balign	8
.Ltable_cold:
	.quad	1b, 2b
	.section .text.unlikely, "ax"
	.type	kp_opt_code_table_cold.cold, @function
kp_opt_code_table_cold.cold:
	add	$32, %eax
	JMP_NOSPEC rdx
	.size	kp_opt_code_table_cold.cold, . - kp_opt_code_table_cold.cold
	STACK_FRAME_NON_STANDARD kp_opt_code_table_cold.cold
	.text
#endif

/* From another part of the function, which has a symbol of its own. */
.macro PARTED name:req, suffix:req
CODE \name, KP_REFUSE
	test	$1, %dil
	jz	kp_opt_code_\name\suffix
	add	$16, %eax
	PROBED	\name
	nop
.Lback_\name:
	inc	%eax
	add	$2, %eax
CODE_END \name
	.section .text.unlikely, "ax"
	.type	kp_opt_code_\name\suffix, @function
kp_opt_code_\name\suffix:
	add	$32, %eax
	jmp	.Lback_\name
	.size	kp_opt_code_\name\suffix, . - kp_opt_code_\name\suffix
	STACK_FRAME_NON_STANDARD kp_opt_code_\name\suffix
	.text
.endm

PARTED cold, .cold
PARTED part, .part.0
PARTED constprop, .constprop.0
/* Not even the name says that they belong together. */
PARTED assembly, _is_continued_here

/* The exception table leads into it. */
CODE fixup_into, (KP_REFUSE | KP_POINTER)
.Lload_into:
	mov	(%rdi), %rax
	PROBED	fixup_into
	nop
.Lfixup_into:
	inc	%rax
	add	$2, %rax
CODE_END fixup_into
_ASM_EXTABLE(.Lload_into, .Lfixup_into)

/*
 * No place for a jump.
 */

CODE short_end, KP_REFUSE
	add	$16, %eax
	PROBED	short_end
	inc	%eax
	ANNOTATE_RETPOLINE_SAFE
	ret
	.size	kp_opt_code_short_end, . - kp_opt_code_short_end
	STACK_FRAME_NON_STANDARD kp_opt_code_short_end
	/* The next one begins right away. */
	.type	kp_opt_next_symbol, @function
kp_opt_next_symbol:
	add	$1, %eax
	RET
	.size	kp_opt_next_symbol, . - kp_opt_next_symbol

CODE bug, KP_REFUSE
	cmp	$-1, %rdi
	PROBED	bug
	nop
	jne	1f
	ud2
1:	inc	%eax
CODE_END bug

/*
 * Nothing in the way.
 */

CODE to_probed, KP_ACCEPT
	mov	%edi, %ecx
	and	$3, %ecx
	inc	%ecx
	PROBED	to_probed
	add	$3, %rax
	nop
	nop
	dec	%ecx
	jnz	.Lprobed_to_probed
CODE_END to_probed

CODE to_after, KP_ACCEPT
	test	$1, %dil
	jz	1f
	PROBED	to_after
	mov	$0x12345678, %eax
1:	inc	%eax
CODE_END to_after

CODE to_after_longer, KP_ACCEPT
	test	$1, %dil
	jz	1f
	PROBED	to_after_longer
	lea	16(%rax), %rax
	add	$5, %rax
1:	inc	%eax
CODE_END to_after_longer

CODE calls, KP_ACCEPT
	test	$1, %dil
	jz	1f
	call	kp_opt_next_symbol
1:	nop
	PROBED	calls
	lea	16(%rax), %rax
	add	$5, %rax
CODE_END calls

/* What fills the space after a return, or a jump, is not run. */
CODE return, KP_ACCEPT_PRE
	inc	%eax
	PROBED	return
	ANNOTATE_RETPOLINE_SAFE
	ret
	.rept	4
	int3
	.endr
CODE_END return

CODE return_second, KP_ACCEPT
	add	%edi, %eax
	PROBED	return_second
	inc	%eax
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
	int3
CODE_END return_second

CODE jump_filled, KP_ACCEPT
	PROBED	jump_filled
	inc	%eax
	jmp	1f
	int3
	add	$16, %eax
1:	add	$2, %eax
CODE_END jump_filled

CODE jump_filled_first, KP_ACCEPT_PRE
	inc	%eax
	PROBED	jump_filled_first
	jmp	1f
	int3
	int3
	int3
	add	$16, %eax
1:	add	$2, %eax
CODE_END jump_filled_first

/* It is somebody's, or nobody knows whose. */
CODE after_return, KP_REFUSE
	test	$1, %dil
	jz	1f
	add	$16, %eax
	PROBED	after_return
	inc	%eax
	ANNOTATE_RETPOLINE_SAFE
	ret
1:	inc	%eax
	add	$2, %eax
CODE_END after_return

CODE int3_alone, KP_REFUSE
	cmp	$-1, %rdi
	jne	1f
	PROBED	int3_alone
	inc	%eax
	int3
	nop
	nop
1:	inc	%eax
CODE_END int3_alone

/* Fix-ups that lead to somewhere else. */
CODE fixup_elsewhere, (KP_ACCEPT | KP_POINTER)
.Lload_elsewhere:
	mov	(%rdi), %rax
	PROBED	fixup_elsewhere
	inc	%rax
	add	$2, %rax
	jmp	2f
.Lfixup_elsewhere:
	mov	$-EFAULT, %rax
2:	nop
CODE_END fixup_elsewhere
_ASM_EXTABLE(.Lload_elsewhere, .Lfixup_elsewhere)

CODE fixup_to_probed, (KP_ACCEPT | KP_POINTER)
	mov	$-EFAULT, %rax
.Lload_to_probed:
	mov	(%rdi), %rax
	PROBED	fixup_to_probed
	inc	%rax
	add	$2, %rax
CODE_END fixup_to_probed
_ASM_EXTABLE(.Lload_to_probed, .Lprobed_fixup_to_probed)

/* What is probed may fault itself, in the detour. */
CODE fixup_first, (KP_ACCEPT | KP_POINTER)
	PROBED	fixup_first
	mov	(%rdi), %rax
	inc	%rax
	add	$2, %rax
	jmp	2f
.Lfixup_first:
	mov	$-EFAULT, %rax
2:	nop
CODE_END fixup_first
_ASM_EXTABLE(.Lprobed_fixup_first, .Lfixup_first)

/* A task may sleep over the fault of another one, with the jump not there yet. */
CODE fixup_second, (KP_REFUSE | KP_POINTER)
	PROBED	fixup_second
	inc	%rax
.Lload_second:
	mov	(%rdi), %rax
	add	$2, %rax
	jmp	2f
.Lfixup_second:
	sub	$EFAULT, %rax
2:	nop
CODE_END fixup_second
_ASM_EXTABLE(.Lload_second, .Lfixup_second)

CODE fixup_third, (KP_REFUSE | KP_POINTER)
	PROBED	fixup_third
	inc	%eax
	inc	%eax
.Lload_third:
	mov	(%rdi), %rax
	jmp	2f
.Lfixup_third:
	sub	$EFAULT, %rax
2:	nop
CODE_END fixup_third
_ASM_EXTABLE(.Lload_third, .Lfixup_third)

	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kp_opt_codes_nr)
	.long	kp_nr
SYM_DATA_END(kp_opt_codes_nr)
