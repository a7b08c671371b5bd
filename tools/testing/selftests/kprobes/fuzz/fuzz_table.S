/* SPDX-License-Identifier: GPL-2.0 */
/* The table of instructions of test_modules/insn/, assembled for user mode */

#ifdef __x86_64__
#define CONFIG_X86_64		1
#endif

#include "../../../../../arch/x86/include/asm/asm.h"

/* In place of headers that the Makefile replaces */
#ifndef ANNOTATE_RETPOLINE_SAFE
#define ANNOTATE_RETPOLINE_SAFE
#endif
#define _ASM_EXTABLE_FAULT(from, to)
#define ASM_STAC
#define ASM_CLAC
#define ENDBR
#define RET			ret
#define __KERNEL_CS		0x10

#include "kp_insn_table.S"

	.section .note.GNU-stack, "", @progbits
