/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that a jump would break, or would not: what jumps where, and from where.
 *
 * Each takes a number that says which way it goes, and the result says which way it
 * went. The number is in %_ASM_DI, see kp_opt_run_code(). CODE begins one, PROBED is where
 * it is probed. What says how many bytes an instruction has means both modes.
 */

#include <linux/errno.h>
#include <linux/linkage.h>
#include <linux/objtool.h>
#include <asm/asm.h>
#include <asm/nospec-branch.h>
#include "kp_inc.h"
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

#ifdef CONFIG_X86_32
/* long kp_opt_run_code(kp_opt_fn *fn, long arg): 32-bit code passes no argument in %edi. */
SYM_FUNC_START(kp_opt_run_code)
	push	%edi
	mov	%edx, %edi
	CALL_NOSPEC eax
	pop	%edi
	RET
SYM_FUNC_END(kp_opt_run_code)
#endif

/* The address of a label: an operand relative to %rip, or the absolute address. */
.macro ADDRESS label:req, reg:req
#ifdef CONFIG_X86_64
	lea	\label(%rip), \reg
#else
	mov	$\label, \reg
#endif
.endm

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
	test	$1, %edi
	\jump	1f
	add	$16, %eax
	PROBED	\name
	nop
1:	KP_INC_EAX
	add	$2, %eax
CODE_END \name
.endm

FORWARD short, "jz"
FORWARD near, "{disp32} jz"
FORWARD near_not, "{disp32} jnz"

CODE jrcxz, KP_REFUSE
	mov	%_ASM_DI, %_ASM_CX
	__ASM_SEL(jecxz, jrcxz) 1f
	add	$16, %eax
	PROBED	jrcxz
	nop
1:	KP_INC_EAX
	add	$2, %eax
CODE_END jrcxz

CODE jump, KP_REFUSE
	test	$1, %edi
	jz	2f
	add	$16, %eax
	jmp	1f
2:	nop
	PROBED	jump
	nop
	nop
1:	KP_INC_EAX
	add	$2, %eax
CODE_END jump

/* To the last byte that the jump takes. */
CODE last_byte, KP_REFUSE
	test	$1, %edi
	jz	1f
	add	$16, %eax
	PROBED	last_byte
	/* Four bytes. It adds 64. */
	bts	$6, %eax
1:	KP_INC_EAX
	add	$2, %eax
CODE_END last_byte

CODE backward, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	KP_INC_ECX
	PROBED	backward
	nop
1:	KP_INC_EAX
	dec	%ecx
	jnz	1b
CODE_END backward

CODE backward_near, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	KP_INC_ECX
	PROBED	backward_near
	nop
1:	KP_INC_EAX
	dec	%ecx
	{disp32} jnz 1b
CODE_END backward_near

CODE loop, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	KP_INC_ECX
	PROBED	loop
	nop
1:	KP_INC_EAX
	add	$4, %eax
	loop	1b
CODE_END loop

/* From within what the jump takes. */
CODE itself, KP_REFUSE
	mov	%edi, %ecx
	and	$3, %ecx
	KP_INC_ECX
	PROBED	itself
	nop
1:	dec	%ecx
	jnz	1b
	KP_INC_EAX
CODE_END itself

CODE call, KP_REFUSE
	call	1f
	add	$16, %eax
	PROBED	call
	nop
1:	KP_INC_EAX
	add	$2, %eax
CODE_END call

/* A jump whose target is not known. */
CODE table, KP_REFUSE
	ADDRESS	1f, %_ASM_DX
	ADDRESS	2f, %_ASM_CX
	test	$1, %edi
	cmovz	%_ASM_CX, %_ASM_DX
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_DX
1:	add	$16, %eax
	PROBED	table
	nop
2:	KP_INC_EAX
	add	$2, %eax
CODE_END table

/*
 * The same by a table in data, as the BPF interpreter has one, directly or by way of a
 * retpoline. Where there is IBT such a target would need an endbr.
 */
#ifndef CONFIG_X86_KERNEL_IBT
.macro BY_RETPOLINE
	JMP_NOSPEC _ASM_DX
.endm

.macro PLAIN
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_DX
.endm

.macro IN_DATA name:req, jump:req
CODE \name, KP_REFUSE
	mov	%edi, %ecx
	and	$1, %ecx
	mov	.Ltable_\name(, %_ASM_CX, __ASM_SEL(4, 8)), %_ASM_DX
	\jump
1:	add	$16, %eax
	PROBED	\name
	nop
2:	KP_INC_EAX
	add	$2, %eax
CODE_END \name
	.section .rodata
	_ASM_ALIGN
.Ltable_\name:
	_ASM_PTR 1b, 2b
	.text
.endm

IN_DATA table_in_data, BY_RETPOLINE
IN_DATA table_plain, PLAIN

/* The jump is in the part that has a symbol of its own. */
CODE table_cold, KP_REFUSE
	mov	%edi, %ecx
	and	$1, %ecx
	mov	.Ltable_cold(, %_ASM_CX, __ASM_SEL(4, 8)), %_ASM_DX
	jmp	kp_opt_code_table_cold.cold
1:	add	$16, %eax
	PROBED	table_cold
	nop
2:	KP_INC_EAX
	add	$2, %eax
CODE_END table_cold
	.section .rodata
	_ASM_ALIGN
.Ltable_cold:
	_ASM_PTR 1b, 2b
	.section .text.unlikely, "ax"
	.type	kp_opt_code_table_cold.cold, @function
kp_opt_code_table_cold.cold:
	add	$32, %eax
	JMP_NOSPEC _ASM_DX
	.size	kp_opt_code_table_cold.cold, . - kp_opt_code_table_cold.cold
	STACK_FRAME_NON_STANDARD kp_opt_code_table_cold.cold
	.text

/* The jump is in the function, and leads into its part, which is probed. */
.macro INTO_COLD name:req, jump:req, flags:req
CODE \name, \flags
	mov	%edi, %ecx
	and	$1, %ecx
	mov	.Ltable_\name(, %_ASM_CX, __ASM_SEL(4, 8)), %_ASM_DX
	\jump
CODE_END \name
	.type	kp_opt_code_\name\().cold, @function
kp_opt_code_\name\().cold:
	test	%eax, %eax
.Lone_\name:
	add	$16, %eax
	PROBED	\name
	nop
.Lother_\name:
	KP_INC_EAX
	add	$2, %eax
	RET
	.size	kp_opt_code_\name\().cold, . - kp_opt_code_\name\().cold
	STACK_FRAME_NON_STANDARD kp_opt_code_\name\().cold
	.section .rodata
	_ASM_ALIGN
.Ltable_\name:
	_ASM_PTR .Lone_\name, .Lother_\name
	.text
.endm

INTO_COLD into_cold, BY_RETPOLINE, KP_REFUSE
INTO_COLD into_cold_plain, PLAIN, KP_REFUSE
INTO_COLD beside_cold, "jmp .Lone_beside_cold", KP_ACCEPT
#endif

/* From another part of the function, which has a symbol of its own. */
.macro PARTED name:req, suffix:req, insn:vararg
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	kp_opt_code_\name\suffix
	add	$16, %eax
	PROBED	\name
	\insn
.Lback_\name:
	KP_INC_EAX
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

PARTED cold, .cold, nop
PARTED part, .part.0, nop
PARTED constprop, .constprop.0, nop
/* Not even the name says that they belong together. */
PARTED assembly, _is_continued_here, nop
/* To the last byte that the jump takes: the instruction has four bytes, and adds 64. */
PARTED part_last_byte, .part.1, bts $6, %eax

/* By a conditional branch. */
CODE part_jcc, KP_REFUSE
	test	$1, %edi
	jz	kp_opt_code_part_jcc.part.0
	add	$16, %eax
	PROBED	part_jcc
	nop
.Lback_part_jcc:
	KP_INC_EAX
	add	$2, %eax
CODE_END part_jcc
	.section .text.unlikely, "ax"
	.type	kp_opt_code_part_jcc.part.0, @function
kp_opt_code_part_jcc.part.0:
	add	$32, %eax
	jnz	.Lback_part_jcc
	RET
	.size	kp_opt_code_part_jcc.part.0, . - kp_opt_code_part_jcc.part.0
	STACK_FRAME_NON_STANDARD kp_opt_code_part_jcc.part.0
	.text

/*
 * The search for such branches reads a page of text at a time. @bytes of the branch are at the
 * end of one page, the others at the start of the next one.
 */
.macro ACROSS_PAGES name:req, bytes:req
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	kp_opt_across_\name
	add	$16, %eax
	PROBED	\name
	nop
.Lback_\name:
	KP_INC_EAX
	add	$2, %eax
CODE_END \name
	.type	kp_opt_fill_\name, @function
kp_opt_fill_\name:
	.balign	4096, 0x90
	.skip	4096 - 16, 0x90
	.size	kp_opt_fill_\name, . - kp_opt_fill_\name
	STACK_FRAME_NON_STANDARD kp_opt_fill_\name
	.type	kp_opt_across_\name, @function
kp_opt_across_\name:
	add	$32, %eax
	.skip	16 - 3 - \bytes, 0x90
	{disp32} jmp .Lback_\name
	.size	kp_opt_across_\name, . - kp_opt_across_\name
	STACK_FRAME_NON_STANDARD kp_opt_across_\name
.endm

ACROSS_PAGES page_opcode, 1
ACROSS_PAGES page_displacement, 3

/* The exception table leads into it. */
CODE fixup_into, (KP_REFUSE | KP_POINTER)
.Lload_into:
	mov	(%_ASM_DI), %_ASM_AX
	PROBED	fixup_into
	nop
.Lfixup_into:
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
CODE_END fixup_into
_ASM_EXTABLE(.Lload_into, .Lfixup_into)

/*
 * Without operands that are relative to the instruction pointer, the absolute address of
 * code is somewhere in an instruction. The jump to it is a return, which a search for
 * branches does not find.
 */
#ifdef CONFIG_X86_32
.macro INTO name:req
CODE \name, KP_REFUSE
	test	$1, %edi
	jnz	2f
	PUSH_ADDRESS_\name .Linto_\name
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
2:	add	$16, %eax
	PROBED	\name
	nop
.Linto_\name:
	KP_INC_EAX
	add	$2, %eax
CODE_END \name
.endm

.macro PUSH_ADDRESS_address_pushed label
	push	$\label
.endm

.macro PUSH_ADDRESS_address_moved label
	mov	$\label, %edx
	push	%edx
.endm

.macro PUSH_ADDRESS_address_stored label
	push	%eax
	movl	$\label, (%esp)
.endm

.macro PUSH_ADDRESS_address_loaded label
	lea	\label, %edx
	push	%edx
.endm

.macro PUSH_ADDRESS_address_added label
	xor	%edx, %edx
	add	$\label, %edx
	push	%edx
.endm

/* There is no ModRM byte between this opcode and the address. */
.macro PUSH_ADDRESS_address_added_to_eax label
	add	$\label, %eax
	push	%eax
	xor	%eax, %eax
.endm

INTO address_pushed
INTO address_moved
INTO address_stored
INTO address_loaded
INTO address_added
INTO address_added_to_eax

/* The address is in another part of the text, from which no short branch leads here. */
.macro INTO_FROM_FAR name:req, symbol:req
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	\symbol
	add	$16, %eax
	PROBED	\name
	nop
.Linto_\name:
	KP_INC_EAX
	add	$2, %eax
CODE_END \name
	.section .text.unlikely, "ax"
	.type	\symbol, @function
\symbol:
	add	$32, %eax
	PUSH_ADDRESS_\name .Linto_\name
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
	.size	\symbol, . - \symbol
	.text
.endm

.macro PUSH_ADDRESS_far_address_pushed label
	push	$\label
.endm

.macro PUSH_ADDRESS_far_address_moved label
	mov	$\label, %edx
	push	%edx
.endm

.macro PUSH_ADDRESS_far_address_stored label
	push	%eax
	movl	$\label, (%esp)
.endm

INTO_FROM_FAR far_address_pushed, kp_opt_pushes_an_address
INTO_FROM_FAR far_address_moved, kp_opt_moves_an_address
INTO_FROM_FAR far_address_stored, kp_opt_stores_an_address

/* The address is in data, and the jump by way of that is in the function. */
CODE pointer, KP_REFUSE
	test	$1, %edi
	jnz	1f
	ANNOTATE_RETPOLINE_SAFE
	jmp	*.Lpointer
1:	add	$16, %eax
	PROBED	pointer
	nop
2:	KP_INC_EAX
	add	$2, %eax
CODE_END pointer
	.section .rodata
	.balign	4
.Lpointer:
	.long	2b
	.text

/* A jump covers five instructions of one byte. */
CODE last_of_five, KP_REFUSE
	test	$1, %edi
	jz	1f
	add	$16, %eax
	PROBED	last_of_five
	.rept	4
	inc	%eax
	.endr
1:	inc	%eax
	add	$2, %eax
CODE_END last_of_five
#endif

/*
 * Another function stores the address by an instruction whose opcode is far from it, and jumps
 * there by a return.
 */
.macro STORED_FROM_FAR name:req, memory:vararg
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	kp_opt_stores_\name
	add	$16, %eax
	PROBED	\name
	nop
.Linto_\name:
	ANNOTATE_NOENDBR
	KP_INC_EAX
	add	$2, %eax
CODE_END \name
	.section .text.unlikely, "ax"
	.type	kp_opt_stores_\name, @function
kp_opt_stores_\name:
	add	$32, %eax
	push	%_ASM_AX
	lea	-0x200(%_ASM_SP), %_ASM_DX
	xor	%ecx, %ecx
	__ASM_SIZE(mov)	$.Linto_\name, \memory
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
	.size	kp_opt_stores_\name, . - kp_opt_stores_\name
	STACK_FRAME_NON_STANDARD kp_opt_stores_\name
	.text
.endm

STORED_FROM_FAR disp32, 0x200(%_ASM_DX)
STORED_FROM_FAR sib_disp32, 0x200(%_ASM_DX, %_ASM_CX)

/* long kp_opt_hidden(long arg): a jump covers the instruction that loads the address. */
	.text
	.balign	16
SYM_FUNC_START(kp_opt_hidden)
	ENDBR
	xor	%eax, %eax
	test	$1, %edi
	jz	kp_opt_hides
	add	$16, %eax
SYM_INNER_LABEL(kp_opt_hidden_probed, SYM_L_GLOBAL)
	nop
.Linto_hidden:
	ANNOTATE_NOENDBR
	KP_INC_EAX
	add	$2, %eax
	RET
SYM_FUNC_END(kp_opt_hidden)
STACK_FRAME_NON_STANDARD kp_opt_hidden

	.section .text.unlikely, "ax"
SYM_FUNC_START_LOCAL(kp_opt_hides)
	add	$32, %eax
SYM_INNER_LABEL(kp_opt_hides_probed, SYM_L_GLOBAL)
	ADDRESS	.Linto_hidden, %_ASM_DX
	push	%_ASM_DX
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_opt_hides)
STACK_FRAME_NON_STANDARD kp_opt_hides
	.text

/* long kp_opt_debugged(long arg): with an int3 over its first byte, mov reads as int3, js, xor */
	.balign	16
SYM_FUNC_START(kp_opt_debugged)
	xor	%eax, %eax
	.rept	5
	nop
	.endr
	mov	$0x12345678, %eax
	.rept	5
	nop
	.endr
	RET
SYM_FUNC_END(kp_opt_debugged)
STACK_FRAME_NON_STANDARD kp_opt_debugged

/*
 * No place for a jump.
 */

CODE fills_rsb, KP_REFUSE
	add	$16, %eax
	PROBED	fills_rsb
	KP_INC_EAX
	call	1f
	int3
1:	add	$__SIZEOF_LONG__, %_ASM_SP
CODE_END fills_rsb

CODE short_end, KP_REFUSE
	add	$16, %eax
	PROBED	short_end
	KP_INC_EAX
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
	cmp	$-1, %_ASM_DI
	PROBED	bug
	nop
	jne	1f
	ud2
1:	KP_INC_EAX
CODE_END bug

/*
 * Nothing in the way.
 */

CODE to_probed, KP_ACCEPT
	mov	%edi, %ecx
	and	$3, %ecx
	KP_INC_ECX
	PROBED	to_probed
	add	$3, %_ASM_AX
	nop
	nop
	dec	%ecx
	jnz	.Lprobed_to_probed
CODE_END to_probed

CODE to_after, KP_ACCEPT
	test	$1, %edi
	jz	1f
	PROBED	to_after
	mov	$0x12345678, %eax
1:	KP_INC_EAX
CODE_END to_after

CODE to_after_longer, KP_ACCEPT
	test	$1, %edi
	jz	1f
	PROBED	to_after_longer
	lea	16(%_ASM_AX), %_ASM_AX
	add	$5, %_ASM_AX
1:	KP_INC_EAX
CODE_END to_after_longer

CODE calls, KP_ACCEPT
	test	$1, %edi
	jz	1f
	call	kp_opt_next_symbol
1:	nop
	PROBED	calls
	lea	16(%_ASM_AX), %_ASM_AX
	add	$5, %_ASM_AX
CODE_END calls

/* What fills the space after a return, or a jump, is not run. */
CODE return, KP_ACCEPT_PRE
	KP_INC_EAX
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
	KP_INC_EAX
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
	int3
CODE_END return_second

CODE jump_filled, KP_ACCEPT
	PROBED	jump_filled
	KP_INC_EAX
	jmp	1f
	int3
	add	$16, %eax
1:	add	$2, %eax
CODE_END jump_filled

CODE jump_filled_first, KP_ACCEPT_PRE
	KP_INC_EAX
	PROBED	jump_filled_first
	jmp	1f
	int3
	int3
	int3
	add	$16, %eax
1:	add	$2, %eax
CODE_END jump_filled_first

/* A branch leads to the code after the return. An int3 that the CPU can reach is no padding. */
CODE after_return, KP_REFUSE
	test	$1, %edi
	jz	1f
	add	$16, %eax
	PROBED	after_return
	KP_INC_EAX
	ANNOTATE_RETPOLINE_SAFE
	ret
1:	KP_INC_EAX
	add	$2, %eax
CODE_END after_return

CODE int3_alone, KP_REFUSE
	cmp	$-1, %_ASM_DI
	jne	1f
	PROBED	int3_alone
	KP_INC_EAX
	int3
	nop
	nop
1:	KP_INC_EAX
CODE_END int3_alone

#ifdef CONFIG_X86_32
CODE five, KP_ACCEPT
	add	%edi, %eax
	PROBED	five
	inc	%eax
	inc	%ecx
	inc	%eax
	dec	%edx
	dec	%eax
	add	$2, %eax
CODE_END five

/* Addresses of the probed instruction, and of what is behind the DCR. */
CODE address_of_probed, KP_ACCEPT
	test	$1, %edi
	jnz	1f
	push	$.Lprobed_address_of_probed
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
1:	add	$16, %eax
	PROBED	address_of_probed
	nop
	KP_INC_EAX
	add	$2, %eax
CODE_END address_of_probed

CODE address_of_next, KP_ACCEPT
	test	$1, %edi
	jnz	1f
	push	$2f
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
1:	add	$16, %eax
	PROBED	address_of_next
	KP_INC_EAX
	add	$2, %eax
2:	add	$4, %eax
CODE_END address_of_next

/*
 * How code finds out where it is. The call is not the last instruction of a symbol, and its
 * return address is that of the original, whatever has executed it.
 */
CODE where_it_is, KP_ACCEPT_PRE
	add	%edi, %eax
	PROBED	where_it_is
	call	1f
1:	pop	%edx
	sub	$1b, %edx
	add	%edx, %eax
CODE_END where_it_is
#endif

/* Fix-ups that lead to somewhere else. */
CODE fixup_elsewhere, (KP_ACCEPT | KP_POINTER)
.Lload_elsewhere:
	mov	(%_ASM_DI), %_ASM_AX
	PROBED	fixup_elsewhere
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
	jmp	2f
.Lfixup_elsewhere:
	mov	$-EFAULT, %_ASM_AX
2:	nop
CODE_END fixup_elsewhere
_ASM_EXTABLE(.Lload_elsewhere, .Lfixup_elsewhere)

CODE fixup_to_probed, (KP_ACCEPT | KP_POINTER)
	mov	$-EFAULT, %_ASM_AX
.Lload_to_probed:
	mov	(%_ASM_DI), %_ASM_AX
	PROBED	fixup_to_probed
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
CODE_END fixup_to_probed
_ASM_EXTABLE(.Lload_to_probed, .Lprobed_fixup_to_probed)

/* What is probed may fault itself, in the detour. */
CODE fixup_first, (KP_ACCEPT | KP_POINTER)
	PROBED	fixup_first
	mov	(%_ASM_DI), %_ASM_AX
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
	jmp	2f
.Lfixup_first:
	mov	$-EFAULT, %_ASM_AX
2:	nop
CODE_END fixup_first
_ASM_EXTABLE(.Lprobed_fixup_first, .Lfixup_first)

/* A task may sleep over the fault of another one, with the jump not there yet. */
CODE fixup_second, (KP_REFUSE | KP_POINTER)
	PROBED	fixup_second
	add	$1, %_ASM_AX
.Lload_second:
	mov	(%_ASM_DI), %_ASM_AX
	add	$2, %_ASM_AX
	jmp	2f
.Lfixup_second:
	sub	$EFAULT, %_ASM_AX
2:	nop
CODE_END fixup_second
_ASM_EXTABLE(.Lload_second, .Lfixup_second)

CODE fixup_third, (KP_REFUSE | KP_POINTER)
	PROBED	fixup_third
	KP_INC_EAX
	KP_INC_EAX
.Lload_third:
	mov	(%_ASM_DI), %_ASM_AX
	jmp	2f
.Lfixup_third:
	sub	$EFAULT, %_ASM_AX
2:	nop
CODE_END fixup_third
_ASM_EXTABLE(.Lload_third, .Lfixup_third)

	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kp_opt_codes_nr)
	.long	kp_nr
SYM_DATA_END(kp_opt_codes_nr)
