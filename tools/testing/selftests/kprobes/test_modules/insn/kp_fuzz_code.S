/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that random instructions are written to, see kp_fuzz.h */

#include "kp_insn_macros.S"
#include "kp_fuzz.h"

.macro KP_FUZZ_TARGET
	.balign	KP_FUZZ_SIZE, 0xcc
	.type	kp_fuzz_target_\@, @function
kp_fuzz_target_\@:
	ANNOTATE_NOENDBR
	.rept	KP_FUZZ_ROOM
	nop
	.endr
	jmp	kp_insn_done
	.org	kp_fuzz_target_\@ + KP_FUZZ_TAKEN, 0x90
	ENDBR
	movb	$KP_TAKEN, _ASM_RIP(kp_insn_way)
	jmp	kp_insn_done
.Lfault_\@:
	movb	$KP_FIXED_UP, _ASM_RIP(kp_insn_way)
	jmp	kp_insn_done
	int3
	nop
	.size	kp_fuzz_target_\@, . - kp_fuzz_target_\@
	STACK_FRAME_NON_STANDARD kp_fuzz_target_\@
	_ASM_EXTABLE(kp_fuzz_target_\@, .Lfault_\@)
.endm

	.text
	.balign	KP_FUZZ_SIZE, 0xcc
	.globl	kp_fuzz_text
	.type	kp_fuzz_text, @function
kp_fuzz_text:
	ENDBR
	RET
	.size	kp_fuzz_text, . - kp_fuzz_text
.rept KP_FUZZ_TARGETS
	KP_FUZZ_TARGET
.endr
	.balign	KP_FUZZ_SIZE, 0xcc
