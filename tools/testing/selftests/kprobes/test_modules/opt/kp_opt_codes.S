/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions for kp_opt_safety.c. Each has a probed instruction. The jump to a detour buffer would
 * overwrite the five bytes from there; all but the first are the JTPR. In some functions a branch,
 * an address in data, a fixup or a return leads into the JTPR, and kprobes must not write the jump.
 * The argument, in %_ASM_DI, chooses one of two ways through a function, which return different
 * results.
 */

#include "kp_asm.h"
#include "kp_endbr.h"
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
/* long kp_opt_run_code(kp_opt_fn *fn, long arg) */
SYM_FUNC_START(kp_opt_run_code)
	push	%edi
	mov	%edx, %edi
	CALL_NOSPEC eax
	pop	%edi
	RET
SYM_FUNC_END(kp_opt_run_code)
#endif

.macro ADDRESS label:req, reg:req
#ifdef CONFIG_X86_64
	lea	\label(%rip), \reg
#else
	mov	$\label, \reg
#endif
.endm

/* A return that is used as a jump. A search of the text for branches does not find its target. */
.macro PLAIN_RET
	ANNOTATE_RETPOLINE_SAFE
	ret
.endm

.macro CODE name:req, flags:req
	.text
	.balign	16
#ifdef CONFIG_CFI_CLANG
	/* For the kCFI type hash, which the kernel may overwrite */
	.skip	16, 0x90
#endif
	.type	kp_opt_code_\name, @function
kp_opt_code_\name:
	ENDBR
	NOSEAL	kp_opt_code_\name
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

.macro FUNC_END symbol:req
	RET
	.size	\symbol, . - \symbol
	STACK_FRAME_NON_STANDARD \symbol
	.text
.endm

.macro CODE_END name:req
FUNC_END kp_opt_code_\name
.endm

/* @before: the instructions before the probed one */
.macro ROW name:req, flags:req, before, probed:req
CODE \name, \flags
	\before
	PROBED	\name
	\probed
CODE_END \name
.endm

/*
 * Two ways to the end: label 2 leads through the probed instruction, label 1 is in the JTPR (bytes
 * 1 to 4 of the jump). @insn: the probed instruction; a nop if empty.
 */
.macro WAYS name:req, insn:vararg
2:
.Lodd_\name:
	add	$16, %eax
	PROBED	\name
	.ifb \insn
	nop
	.else
	\insn
	.endif
1:
.Linto_\name:
	ANNOTATE_NOENDBR
	KP_INC_EAX
	add	$2, %eax
.endm

.macro INTO name:req, insn:vararg
WAYS \name, \insn
CODE_END \name
.endm

/* If the argument is even, the branch leads into the JTPR, bytes 1 to 4 of the jump. */
.macro BRANCH name:req, branch:req, insn:vararg
CODE \name, KP_REFUSE
	test	$1, %edi
	\branch	1f
INTO \name, \insn
.endm

/* Code in another part of the text, with a symbol of its own */
.macro FAR symbol:req
	.section .text.unlikely, "ax"
	.type	\symbol, @function
\symbol:
	add	$32, %eax
.endm

/* If the argument is even, the function jumps to far code. */
.macro CODE_AND_FAR name:req, symbol:req, insn:vararg
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	\symbol
INTO \name, \insn
FAR \symbol
.endm

/* A loop of one to four rounds, which begins after the probed instruction */
.macro CODE_TIMES name:req, flags:req
CODE \name, \flags
	mov	%edi, %ecx
	and	$3, %ecx
	KP_INC_ECX
	PROBED	\name
.endm

/* Branches into the JTPR */

BRANCH short, jz
BRANCH near, "{disp32} jz"
BRANCH near_not, "{disp32} jnz"
/* bts has four bytes, so the branch leads to the last byte of the jump. */
BRANCH last_byte, jz, bts $6, %eax

CODE jrcxz, KP_REFUSE
	mov	%_ASM_DI, %_ASM_CX
	__ASM_SEL(jecxz, jrcxz) 1f
INTO jrcxz

ROW jump, KP_REFUSE, \
	"test $1, %edi; jz 3f; add $16, %eax; jmp 1f; 3: nop", \
	"nop; nop; 1: KP_INC_EAX; add $2, %eax"

.macro BACKWARD name:req, loop:req
CODE_TIMES \name, KP_REFUSE
	\loop
CODE_END \name
.endm

BACKWARD backward, "nop; 1: KP_INC_EAX; dec %ecx; jnz 1b"
BACKWARD backward_near, "nop; 1: KP_INC_EAX; dec %ecx; {disp32} jnz 1b"
BACKWARD loop, "nop; 1: KP_INC_EAX; add $4, %eax; loop 1b"
/* The jump would overwrite both the branch and its target. */
BACKWARD itself, "nop; 1: dec %ecx; jnz 1b; KP_INC_EAX"

CODE call, KP_REFUSE
	call	1f
INTO call

/*
 * An indirect jump with unknown targets, one of which is in the JTPR (bytes 1 to 4 of kprobes'
 * jump). With IBT, a return replaces the indirect jump: the target of an indirect jump needs an
 * endbr, which alone would be a reason to refuse.
 */
CODE table, KP_REFUSE
	ADDRESS	2f, %_ASM_DX
	ADDRESS	1f, %_ASM_CX
	test	$1, %edi
	cmovz	%_ASM_CX, %_ASM_DX
#ifdef CONFIG_X86_KERNEL_IBT
	push	%_ASM_DX
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
#else
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_DX
#endif
INTO table

/*
 * An indirect jump whose targets are in a table in data; the jump is plain or uses a retpoline. Not
 * with IBT, where each target would need an endbr, which is another reason to refuse.
 */
#ifndef CONFIG_X86_KERNEL_IBT
.macro LOAD_TARGET name:req
	mov	%edi, %ecx
	and	$1, %ecx
	mov	.Ltable_\name(, %_ASM_CX, __ASM_SEL(4, 8)), %_ASM_DX
	.pushsection .rodata
	_ASM_ALIGN
.Ltable_\name:
	_ASM_PTR .Lodd_\name, .Linto_\name
	.popsection
.endm

.macro BY_RETPOLINE
	JMP_NOSPEC _ASM_DX
.endm

.macro PLAIN
	ANNOTATE_RETPOLINE_SAFE
	jmp	*%_ASM_DX
.endm

.macro IN_DATA name:req, jump:req
CODE \name, KP_REFUSE
	LOAD_TARGET \name
	\jump
INTO \name
.endm

IN_DATA table_in_data, BY_RETPOLINE
IN_DATA table_plain, PLAIN

/* The hot part is probed. The .cold part jumps indirectly to byte 1 to 4 of the probe's jump. */
IN_DATA table_cold, "jmp kp_opt_code_table_cold.cold"
FAR kp_opt_code_table_cold.cold
	BY_RETPOLINE
FUNC_END kp_opt_code_table_cold.cold

/*
 * The probe is on the .cold part of a function. If the hot part has an indirect jump, that may lead
 * to byte 1 to 4 of the probe's jump, as the table in data does here. So no probe here may be
 * optimised.
 */
.macro INTO_COLD name:req, jump:req, flags:req
CODE \name, \flags
	LOAD_TARGET \name
	\jump
CODE_END \name
	.type	kp_opt_code_\name\().cold, @function
kp_opt_code_\name\().cold:
	test	%eax, %eax
WAYS \name
FUNC_END kp_opt_code_\name\().cold
.endm

INTO_COLD into_cold, BY_RETPOLINE, KP_REFUSE
INTO_COLD into_cold_plain, PLAIN, KP_REFUSE
INTO_COLD beside_cold, "jmp .Lodd_beside_cold", KP_ACCEPT
#endif

.macro PARTED name:req, suffix:req, branch:req, insn:vararg
CODE_AND_FAR \name, kp_opt_code_\name\suffix, \insn
	\branch	.Linto_\name
FUNC_END kp_opt_code_\name\suffix
.endm

PARTED cold, .cold, jmp
PARTED part, .part.0, jmp
PARTED constprop, .constprop.0, jmp
/* The symbol of this part has no suffix that tells kprobes of which function it is a part. */
PARTED assembly, _is_continued_here, jmp
PARTED part_last_byte, .part.1, jmp, bts $6, %eax
PARTED part_jcc, .part.0, jnz

/* A short branch from the function before or after, over the shortest or the longest distance */
#ifdef CONFIG_X86_64
#define JUMP_IF_CX_ZERO	jrcxz
#else
#define JUMP_IF_CX_ZERO	jecxz
#endif

.macro NEIGHBOUR name:req, skip, jump=jmp
	.text
	.type	kp_opt_\name, @function
kp_opt_\name:
	add	$32, %eax
.ifnb \skip
	.skip	\skip, 0x90
.endif
	xor	%ecx, %ecx
	\jump	.Linto_\name
	ud2
FUNC_END kp_opt_\name
.endm

.macro NEAR name:req, insn:vararg
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	kp_opt_\name
INTO \name, \insn
.endm

NEIGHBOUR from_before
NEAR from_before
NEAR from_after
NEIGHBOUR from_after
NEAR from_far, bts $6, %eax
NEIGHBOUR from_far, ".Linto_from_far + 124 - ."
NEIGHBOUR from_cx, jump=JUMP_IF_CX_ZERO
NEAR from_cx

/*
 * A branch whose first @bytes are on one page and the rest on the next. kprobes' search for
 * branches reads page by page, and must not overlook this one.
 */
.macro ACROSS_PAGES name:req, bytes:req
CODE \name, KP_REFUSE
	test	$1, %edi
	jz	kp_opt_across_\name
INTO \name
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
	{disp32} jmp .Linto_\name
FUNC_END kp_opt_across_\name
.endm

ACROSS_PAGES page_opcode, 1
ACROSS_PAGES page_displacement, 3

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

/* Code that loads the address of byte 1 or byte 4 of the probe's jump, and might jump there */
.macro ADDRESS_OF name:req, insn:vararg
CODE \name, KP_REFUSE
	ADDRESS	1f, %_ASM_DX
	test	$1, %edi
	jnz	2f
	push	%_ASM_DX
	PLAIN_RET
	int3
INTO \name, \insn
.endm

ADDRESS_OF address_first
ADDRESS_OF address_last, bts $6, %eax

/* Absolute addresses, in each kind of instruction that can have one */
#ifdef CONFIG_X86_32
.macro ADDRESS_IN name:req, push:req
CODE \name, KP_REFUSE
	test	$1, %edi
	jnz	2f
	\push
	PLAIN_RET
	int3
INTO \name
.endm

ADDRESS_IN address_pushed, "push $1f"
ADDRESS_IN address_moved, "mov $1f, %edx; push %edx"
ADDRESS_IN address_stored, "push %eax; movl $1f, (%esp)"
ADDRESS_IN address_loaded, "lea 1f, %edx; push %edx"
ADDRESS_IN address_added, "xor %edx, %edx; add $1f, %edx; push %edx"
/* This form of add has no ModRM byte between the opcode and the address. */
ADDRESS_IN address_added_to_eax, "add $1f, %eax; push %eax; xor %eax, %eax"

/* The instruction that has the address is in a function too far away for short branches. */
.macro ADDRESS_FAR name:req, symbol:req, push:req
CODE_AND_FAR \name, \symbol
	\push
	PLAIN_RET
	int3
FUNC_END \symbol
.endm

ADDRESS_FAR far_address_pushed, kp_opt_pushes_an_address, "push $.Linto_far_address_pushed"
ADDRESS_FAR far_address_moved, kp_opt_moves_an_address, \
	"mov $.Linto_far_address_moved, %edx; push %edx"
ADDRESS_FAR far_address_stored, kp_opt_stores_an_address, \
	"push %eax; movl $.Linto_far_address_stored, (%esp)"

/* The address is in data, not in the text. */
CODE pointer, KP_REFUSE
	test	$1, %edi
	jnz	2f
	ANNOTATE_RETPOLINE_SAFE
	jmp	*.Lpointer
INTO pointer
	.section .rodata
	.balign	4
.Lpointer:
	.long	.Linto_pointer
	.text

/* The jump would overwrite five instructions of one byte: four inc %eax, and the target of jz. */
BRANCH last_of_five, jz, .fill 4, 1, 0x40
#endif

/* A ModRM byte, perhaps a SIB byte, and a displacement are between the opcode and the address. */
.macro STORED_FROM_FAR name:req, memory:vararg
CODE_AND_FAR \name, kp_opt_stores_\name
	push	%_ASM_AX
	lea	-0x200(%_ASM_SP), %_ASM_DX
	xor	%ecx, %ecx
	__ASM_SIZE(mov)	$.Linto_\name, \memory
	PLAIN_RET
	int3
FUNC_END kp_opt_stores_\name
.endm

STORED_FROM_FAR disp32, 0x200(%_ASM_DX)
STORED_FROM_FAR sib_disp32, 0x200(%_ASM_DX, %_ASM_CX)

/*
 * long kp_opt_hidden(long arg): a jump at kp_opt_hides_probed covers an instruction that loads the
 * address of byte 1 of a jump at kp_opt_hidden_probed.
 */
	.text
	.balign	16
SYM_FUNC_START(kp_opt_hidden)
	ENDBR
	xor	%eax, %eax
	test	$1, %edi
	jz	kp_opt_hides
	add	$16, %eax
SYM_INNER_LABEL(kp_opt_hidden_probed, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	nop
.Linto_hidden:
	ANNOTATE_NOENDBR
	KP_INC_EAX
	add	$2, %eax
	RET
SYM_FUNC_END(kp_opt_hidden)
STACK_FRAME_NON_STANDARD kp_opt_hidden

FAR kp_opt_hides
SYM_INNER_LABEL(kp_opt_hides_probed, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	ADDRESS	.Linto_hidden, %_ASM_DX
	push	%_ASM_DX
	PLAIN_RET
	int3
FUNC_END kp_opt_hides

/*
 * long kp_opt_debugged(long arg): if an int3 replaces the opcode of the mov, the bytes of the mov
 * decode as int3, js, xor.
 */
	.balign	16
SYM_FUNC_START(kp_opt_debugged)
	xor	%eax, %eax
	.skip	5, 0x90
	mov	$0x12345678, %eax
	.skip	5, 0x90
	RET
SYM_FUNC_END(kp_opt_debugged)
STACK_FRAME_NON_STANDARD kp_opt_debugged

/*
 * Lead into the JTPR (bytes 1 to 4 of the jump) in each way. @insn: the probed instruction, which
 * has @bytes bytes. So the target is byte @bytes of the jump, or the byte after the jump.
 */
.macro EACH_WAY bytes:req, flags:req, insn:vararg
CODE branch_to_\bytes, \flags
	test	$1, %edi
	jz	1f
INTO branch_to_\bytes, \insn

CODE near_to_\bytes, \flags
	test	$1, %edi
	{disp32} jz 1f
INTO near_to_\bytes, \insn

CODE part_to_\bytes, \flags
	test	$1, %edi
	jz	kp_opt_part_to_\bytes
INTO part_to_\bytes, \insn
FAR kp_opt_part_to_\bytes
	jmp	.Linto_part_to_\bytes
FUNC_END kp_opt_part_to_\bytes

NEIGHBOUR before_to_\bytes
CODE before_to_\bytes, \flags
	test	$1, %edi
	jz	kp_opt_before_to_\bytes
INTO before_to_\bytes, \insn

CODE after_to_\bytes, \flags
	test	$1, %edi
	jz	kp_opt_after_to_\bytes
INTO after_to_\bytes, \insn
NEIGHBOUR after_to_\bytes

CODE address_to_\bytes, \flags
	ADDRESS	1f, %_ASM_DX
	test	$1, %edi
	jnz	2f
	push	%_ASM_DX
	PLAIN_RET
	int3
INTO address_to_\bytes, \insn

CODE fixup_to_\bytes, (\flags | KP_POINTER)
.Lload_to_\bytes:
	mov	(%_ASM_DI), %_ASM_AX
INTO fixup_to_\bytes, \insn
_ASM_EXTABLE(.Lload_to_\bytes, .Linto_fixup_to_\bytes)
.endm

EACH_WAY 1, KP_REFUSE, nop
EACH_WAY 2, KP_REFUSE, .byte 0x66, 0x90
EACH_WAY 3, KP_REFUSE, .byte 0x0f, 0x1f, 0x00
EACH_WAY 4, KP_REFUSE, .byte 0x0f, 0x1f, 0x40, 0x00
EACH_WAY 5, KP_ACCEPT, mov $0x12345678, %ecx

/* A jump cannot cover these: an instruction cannot be copied, or the function ends too early. */

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
	.type	kp_opt_next_symbol, @function
kp_opt_next_symbol:
	add	$1, %eax
	RET
	.size	kp_opt_next_symbol, . - kp_opt_next_symbol

ROW bug, KP_REFUSE, "cmp $-1, %edi", "nop; jne 1f; ud2; 1: KP_INC_EAX"

/* Nothing prevents a jump */

CODE_TIMES to_probed, KP_ACCEPT
	add	$3, %_ASM_AX
	nop
	nop
	dec	%ecx
	jnz	.Lprobed_to_probed
CODE_END to_probed

ROW to_after, KP_ACCEPT, "test $1, %edi; jz 1f", "mov $0x12345678, %eax; 1: KP_INC_EAX"

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

/* The CPU never executes padding after a return or a jump. */
ROW return, KP_ACCEPT_PRE, "KP_INC_EAX", "PLAIN_RET; .skip 4, 0xcc"
ROW return_second, KP_ACCEPT, "add %edi, %eax", "KP_INC_EAX; PLAIN_RET; .skip 2, 0xcc"
ROW jump_filled, KP_ACCEPT, "", \
	"KP_INC_EAX; jmp 1f; int3; add $16, %eax; 1: add $2, %eax"
ROW jump_filled_first, KP_ACCEPT_PRE, "KP_INC_EAX", \
	"jmp 1f; .skip 3, 0xcc; add $16, %eax; 1: add $2, %eax"
ROW after_return, KP_REFUSE, "test $1, %edi; jz 1f; add $16, %eax", \
	"KP_INC_EAX; PLAIN_RET; 1: KP_INC_EAX; add $2, %eax"
/* The CPU can reach this int3. */
ROW int3_alone, KP_REFUSE, "cmp $-1, %edi; jne 1f", \
	"KP_INC_EAX; int3; nop; nop; 1: KP_INC_EAX"

#ifdef CONFIG_X86_32
ROW five, KP_ACCEPT, "add %edi, %eax", \
	"inc %eax; inc %ecx; inc %eax; dec %edx; dec %eax; add $2, %eax"
/* Code that loads addresses outside of the JTPR, bytes 1 to 4 of the jump */
ROW address_of_probed, KP_ACCEPT, \
	"test $1, %edi; jnz 1f; push $2f; PLAIN_RET; int3; 1: add $16, %eax; 2:", \
	"nop; KP_INC_EAX; add $2, %eax"
ROW address_of_next, KP_ACCEPT, \
	"test $1, %edi; jnz 1f; push $2f; PLAIN_RET; int3; 1: add $16, %eax", \
	"KP_INC_EAX; add $2, %eax; 2: add $4, %eax"
/* The copy of the call must push the return address of the original. */
ROW where_it_is, KP_ACCEPT_PRE, "add %edi, %eax", \
	"call 1f; 1: pop %edx; sub $1b, %edx; add %edx, %eax"
#endif

/* Fixups outside the JTPR */
.macro FIXUP name:req, load:req, insn:vararg
	jmp	2f
.Lfixup_\name:
	\insn
2:	nop
CODE_END \name
_ASM_EXTABLE(\load, .Lfixup_\name)
.endm

CODE fixup_elsewhere, (KP_ACCEPT | KP_POINTER)
.Lload_elsewhere:
	mov	(%_ASM_DI), %_ASM_AX
	PROBED	fixup_elsewhere
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
FIXUP fixup_elsewhere, .Lload_elsewhere, mov $-EFAULT, %_ASM_AX

CODE fixup_to_probed, (KP_ACCEPT | KP_POINTER)
	mov	$-EFAULT, %_ASM_AX
.Lload_to_probed:
	mov	(%_ASM_DI), %_ASM_AX
	PROBED	fixup_to_probed
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
CODE_END fixup_to_probed
_ASM_EXTABLE(.Lload_to_probed, .Lprobed_fixup_to_probed)

/* The probed instruction itself faults, in the detour buffer. */
CODE fixup_first, (KP_ACCEPT | KP_POINTER)
	PROBED	fixup_first
	mov	(%_ASM_DI), %_ASM_AX
	add	$1, %_ASM_AX
	add	$2, %_ASM_AX
FIXUP fixup_first, .Lprobed_fixup_first, mov $-EFAULT, %_ASM_AX

/* A task may sleep in a fault of the mov, which the jump would overwrite in the meantime. */
CODE fixup_second, (KP_REFUSE | KP_POINTER)
	PROBED	fixup_second
	add	$1, %_ASM_AX
.Lload_second:
	mov	(%_ASM_DI), %_ASM_AX
	add	$2, %_ASM_AX
FIXUP fixup_second, .Lload_second, sub $EFAULT, %_ASM_AX

CODE fixup_third, (KP_REFUSE | KP_POINTER)
	PROBED	fixup_third
	KP_INC_EAX
	KP_INC_EAX
.Lload_third:
	mov	(%_ASM_DI), %_ASM_AX
FIXUP fixup_third, .Lload_third, sub $EFAULT, %_ASM_AX

	.section .rodata, "a"
	.balign	4
SYM_DATA_START(kp_opt_codes_nr)
	.long	kp_nr
SYM_DATA_END(kp_opt_codes_nr)
