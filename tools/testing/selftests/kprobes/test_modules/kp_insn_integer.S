/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instruction matrix: everything but vector registers. Here are the cases that read the
 * same with 32-bit and with 64-bit code, and in an included file those that do not.
 *
 * kp_randomize() chooses the registers' first values.
 */

#include "kp_insn_macros.S"

/*
 * The target of a branch is 1, which IBT lets an indirect jump reach; code that it passes over
 * leaves a trace.
 */
.macro BRANCH code:req, pre, flags=KP_BRANCH
	CASE "\code", pre="\pre", post="mov $1, %edx; 1: LANDING", flags=(\flags)
.endm

/* Refused, with what is known of it or because nothing is. */
.macro UNSUPPORTED code:req, post, pad=4
	CASE "\code", post="\post", pad=\pad, flags=(KP_REFUSED | KP_EOPNOTSUPP)
.endm

TABLE kp_insn_integer

GROUP KP_ALU
.irp op, add, or, adc, sbb, and, sub, xor, cmp
	CASE "\op %bh, %al"
	CASE "\op $0x1234567, %eax"
	CASE "\op $0x5a, %al"
.endr
	CASE "test %ah, %ch"
	CASE "test $0x80, %al"
.irp op, cbw, cwde, cwd, cdq
	CASE "\op"
.endr
	CASE "bswap %eax"

GROUP KP_MOVE
	CASE "mov %dh, %cl"
	CASE "mov $0x12345678, %ecx"
	CASE "mov $0x1234, %ax"
	CASE "movzbl %ah, %ecx"
	CASE "xchg %eax, %eax"
	CASE "xchg %cl, %dh"
	CASE "xlat", pre="movzbl %al, %eax"
	CASE "lahf"
	CASE "sahf"
	CASE "nop"
	CASE "data16 nop"
	CASE "pause"
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	CASE "set\cc %al"
.endr

GROUP KP_ADDRESS
	/* Prefixes that do nothing here, stacked. */
	CASE ".byte 0xf2, 0xf3, 0x66; nop"

GROUP KP_STACKS
	CASE "pushw $0x1234"
	CASE "push %ax"
	CASE "pop %dx"
	CASE "push %fs"
	CASE "push %gs"

GROUP KP_SHIFT
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	CASE "\op $5, %edx"
.endr

GROUP KP_BITS
	CASE "bt $7, %ecx"
	CASE "bts %eax, %edx"
	CASE "lzcnt %edx, %eax", feature=X86_FEATURE_ABM

GROUP KP_STRING
.irp op, movsb, movsw, movsl, stosb, stosw, stosl, lodsb, lodsl, cmpsb, scasb, scasl
	CASE "\op"
.endr
.irp op, movsb, movsl, stosb, stosw, lodsb
	CASE "rep \op", pre="mov $11, %ecx"
.endr
	CASE "rep movsb", pre="xor %ecx, %ecx"
	CASE "repe cmpsb", pre="mov $40, %ecx"
	CASE "repne cmpsl", pre="mov $9, %ecx"
	CASE "repne scasb", pre="mov $60, %ecx"
	CASE "outsb", pre="mov $0x80, %edx"
	CASE "rep outsb", pre="mov $0x80, %edx; mov $3, %ecx"

GROUP KP_ATOMIC
	CASE "xadd %ecx, %edx"
	CASE "lfence"
	CASE "mfence"
	CASE "sfence"

/* Both ways: the flags are random. */
GROUP KP_JUMP
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	BRANCH "j\cc 1f"
	BRANCH "{disp32} j\cc 1f"
.endr
	BRANCH "jmp 1f"
	BRANCH "{disp32} jmp 1f"
	/* Each prefix that a branch may have. None of them has an effect here. */
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3
	BRANCH ".byte \prefix; jmp 1f"
	BRANCH ".byte \prefix; {disp32} jmp 1f"
	BRANCH ".byte \prefix; jc 1f"
	BRANCH ".byte \prefix; {disp32} jc 1f"
.endr
	CASE "jmp 1b", pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:", post="3:", flags=KP_BRANCH

/* The callee keeps the return address, which has to be that of the case. */
GROUP KP_CALL
	CASE "call kp_insn_callee", flags=KP_BRANCH
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3
	CASE ".byte \prefix; call kp_insn_callee", flags=KP_BRANCH
.endr
	CASE ".byte 0x2e, 0x2e, 0x3e; call kp_insn_callee", flags=KP_BRANCH

GROUP KP_EFLAGS
.irp op, clc, stc, cmc, cld, std
	CASE "\op"
.endr
	CASE "cli"
	CASE "sti"
	CASE "pushfw"
	CASE "stac", feature=X86_FEATURE_SMAP
	CASE "clac", feature=X86_FEATURE_SMAP

GROUP KP_SYSTEM
	CASE "cpuid", pre="xor %eax, %eax; xor %ecx, %ecx"
	CASE "cpuid", pre="mov $0x80000000, %eax"
	CASE "rdtsc", flags=(KP_ANY_AX | KP_ANY_DX)
	CASE "rdtscp", flags=(KP_ANY_AX | KP_ANY_DX), feature=X86_FEATURE_RDTSCP
	CASE "xgetbv", pre="xor %ecx, %ecx", feature=X86_FEATURE_OSXSAVE
	CASE "rdmsr", pre="mov $0xc0000080, %ecx"
	CASE "wrmsr", pre="mov $0xc0000080, %ecx; rdmsr", flags=KP_OPT
	CASE "smsw %eax", flags=KP_OPT
	CASE "lmsw %ax", pre="smsw %eax", flags=KP_OPT
	CASE "clts", flags=KP_OPT
	CASE "str %ax", flags=KP_OPT
	CASE "sldt %edx", flags=KP_OPT
	CASE "lldt %ax", pre="sldt %eax", flags=KP_OPT
	CASE "wbinvd", flags=KP_OPT
	CASE "lsl %ecx, %eax", pre="mov %cs, %ecx"
	CASE "mov %ds, %eax"
	CASE "mov %cs, %ax"
	CASE "mov %eax, %es", pre="mov %es, %eax"
	CASE "mov %eax, %ss", pre="mov %ss, %eax", flags=KP_MAYBE
	CASE "in $0x80, %al", flags=(KP_ANY_AX | KP_OPT)
	CASE "out %al, $0x80", flags=KP_OPT
	CASE "out %al, %dx", pre="mov $0x80, %edx", flags=KP_OPT
	CASE "hlt", flags=(KP_MAYBE | KP_IRQS_ON)

GROUP KP_TRAPS
	CASE "int3", flags=KP_REFUSED
	CASE "ud2", flags=KP_REFUSED

GROUP KP_UNKNOWN
	/* What relies on the interrupt shadow of sti */
	UNSUPPORTED "sti", post="hlt", pad=0
	UNSUPPORTED "sti", post="mwait", pad=0
	UNSUPPORTED "sti", post=".byte 0x0f, 0x01, 0xfb", pad=0		/* mwaitx */
	/* No instruction has these opcodes. */
	UNSUPPORTED ".byte 0x0f, 0x04"
	UNSUPPORTED ".byte 0x0f, 0x0a"
	UNSUPPORTED ".byte 0x0f, 0x24, 0xc0"
	UNSUPPORTED ".byte 0x0f, 0x36"
	UNSUPPORTED ".byte 0x0f, 0x39"
	UNSUPPORTED ".byte 0x0f, 0x3b"
	UNSUPPORTED ".byte 0x0f, 0x7a, 0xc0"
	UNSUPPORTED ".byte 0x0f, 0x38, 0x0c, 0xc0"
	UNSUPPORTED ".byte 0x0f, 0x3a, 0x50, 0xc0"
	/* Nor these with that prefix */
	UNSUPPORTED ".byte 0xf3, 0x0f, 0x14, 0xc1"
	UNSUPPORTED ".byte 0xf2, 0x0f, 0x71, 0xd1, 0x01"
	UNSUPPORTED ".byte 0xf2, 0x0f, 0x38, 0x00, 0xc1"
	/* Nor with that middle field in the ModRM byte */
	UNSUPPORTED ".byte 0x8c, 0xf0"
	UNSUPPORTED ".byte 0xc0, 0xf0, 0x01"
	UNSUPPORTED ".byte 0xc6, 0xc8, 0x01"
	UNSUPPORTED ".byte 0xc7, 0xf9, 0x00, 0x00, 0x00, 0x00"
	UNSUPPORTED ".byte 0xf6, 0xc8, 0x01"
	UNSUPPORTED ".byte 0xfe, 0xd0"
	UNSUPPORTED ".byte 0xff, 0xf8"
	UNSUPPORTED ".byte 0x0f, 0x00, 0xf0"
	UNSUPPORTED ".byte 0x0f, 0x71, 0xc0, 0x01"
	UNSUPPORTED ".byte 0x0f, 0xba, 0xc0, 0x01"
	UNSUPPORTED ".byte 0x0f, 0xc7, 0xc0"
	UNSUPPORTED ".byte 0xd9, 0xd1"
	UNSUPPORTED ".byte 0xdb, 0xe0"
	/* 3DNow!, XOP and APX, of which kprobes know nothing */
	UNSUPPORTED "femms"
	UNSUPPORTED ".byte 0x8f, 0xe9, 0x78, 0x81, 0xc1"
	UNSUPPORTED ".byte 0x62, 0xf4, 0x7c, 0x08, 0x01, 0xc0"

#ifdef CONFIG_X86_64
#include "kp_insn_integer_64.S"
#else
#include "kp_insn_integer_32.S"
#endif

TABLE_END kp_insn_integer

/*
 * void kp_insn_use_idt(const struct desc_ptr *idt, const struct desc_ptr *was): for some
 * instructions, with interrupts off, use another IDT.
 */
	.text
SYM_FUNC_START(kp_insn_use_idt)
	pushf
	cli
SYM_INNER_LABEL(kp_insn_use_idt_probed, SYM_L_GLOBAL)
	lidt	(%_ASM_ARG1)
	.rept	5
	nop
	.endr
	lidt	(%_ASM_ARG2)
	popf
	RET
SYM_FUNC_END(kp_insn_use_idt)
STACK_FRAME_NON_STANDARD kp_insn_use_idt
