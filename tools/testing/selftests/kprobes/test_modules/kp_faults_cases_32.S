/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by kp_faults_cases.S: the cases of 32-bit mode. kp_insn_done() sets the segment
 * registers again.
 */

/* Nothing is mapped in the last page. */
#define BAD_KERNEL	"mov $-4096, %ebx"
/* Selectors of nothing, with which no access is allowed; some emulators allow it. */
#define NULL_DS		"xor %ecx, %ecx; mov %ecx, %ds"
#define NULL_ES		"xor %ecx, %ecx; mov %ecx, %es"
#define NULL_GS		"xor %ecx, %ecx; mov %ecx, %gs"

/* Reads and writes of kernel addresses where nothing is. */
FAULT "mov (%ebx), %ecx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "mov %ecx, 8(%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "movb $1, (%ebx, %ecx, 8)", X86_TRAP_PF, pre="mov $-4096, %ebx; and $7, %ecx"
FAULT "mov -16(%ebx), %ebx", X86_TRAP_PF, pre="mov $-2048, %ebx"
FAULT "mov -4096, %eax", X86_TRAP_PF
FAULT "mov %eax, -4096", X86_TRAP_PF
FAULT "add %ecx, (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock xadd %ecx, (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "xchg %ecx, (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock cmpxchg %ecx, (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock cmpxchg8b (%edi)", X86_TRAP_PF, pre="mov $-4096, %edi"
FAULT "adc (%ebx), %edx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "bt %ecx, (%ebx)", X86_TRAP_PF, pre="mov $-2048, %ebx; and $63, %ecx"
FAULT "pushl (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "popl (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "xlat", X86_TRAP_PF, pre="mov $-4096, %ebx; movzbl %al, %eax"
FAULT "lodsl", X86_TRAP_PF, pre="mov $-2048, %esi"
FAULT "rep stosb", X86_TRAP_PF, pre="cld; mov $-4096, %edi; mov $64, %ecx"
/* After 16 bytes it gets to where nothing is. */
FAULT "rep movsb", X86_TRAP_PF, pre="cld; mov kp_faults_edge, %esi; mov $64, %ecx"
FAULT "rep movsl", X86_TRAP_PF, pre="cld; mov kp_faults_edge, %esi; mov $9, %ecx"
FAULT "les (%ebx), %ecx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "arpl %cx, (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL
/* Emulated if possible. */
FAULT "jmp *(%ebx)", X86_TRAP_PF, pre="mov $-4096, %ebx; ANNOTATE_RETPOLINE_SAFE"
FAULT "call *8(%ebx)", X86_TRAP_PF, pre="mov $-4096, %ebx; ANNOTATE_RETPOLINE_SAFE"

/* A user's address where nothing is; without AC it would be no fault to fix up. */
FAULT "mov 16(%ebx), %edx", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"
FAULT "movl $1, 32(%ebx)", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"
/* The same, as 16 bits of an address can have nothing else in them. */
FAULT "mov (%bx), %edx", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"

/* Segments that allow no access; an operand that is not aligned. */
FAULT "mov (%ebx), %ecx", X86_TRAP_GP, pre=NULL_DS, flags=KP_MAY_FAULT
FAULT "mov %es:(%ebx), %ecx", X86_TRAP_GP, pre=NULL_ES, flags=KP_MAY_FAULT
FAULT "mov %eax, %es:(%ebx)", X86_TRAP_GP, pre=NULL_ES, flags=KP_MAY_FAULT
FAULT "orl $1, %gs:64(%ebx)", X86_TRAP_GP, pre=NULL_GS, flags=KP_MAY_FAULT
FAULT "stosl", X86_TRAP_GP, pre=NULL_ES, flags=KP_MAY_FAULT
FAULT "fxsave 8(%ebx)", X86_TRAP_GP, flags=KP_X87
FAULT "fxrstor 8(%ebx)", X86_TRAP_GP, flags=KP_X87

/* Divisions that cannot be done. */
FAULT "div %ecx", X86_TRAP_DE, pre="xor %ecx, %ecx"
FAULT "div %ecx", X86_TRAP_DE, pre="mov $1, %ecx; mov $2, %edx"
FAULT "idivl 64(%ebx)", X86_TRAP_DE, pre="movl $0, 64(%ebx)"
FAULT "aam $0", X86_TRAP_DE

/* Encodings that are no instructions: lock mov, which some emulators let pass, and lock add. */
FAULT ".byte 0xf0, 0x89, 0x0b", X86_TRAP_UD, flags=KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xc8", X86_TRAP_UD

/* Selectors of nothing, a control register that does not exist. */
FAULT "mov %ecx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT "mov %ecx, %es", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT "mov %ecx, %gs", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT "pop %es", X86_TRAP_GP, pre="push $0xfff8"
FAULT "les (%ebx), %ecx", X86_TRAP_GP, pre="movw $0xfff8, 4(%ebx)"
FAULT "lds (%ebx), %ecx", X86_TRAP_GP, pre="movw $0xfff8, 4(%ebx)"
FAULT ".byte 0x0f, 0x22, 0xc8", X86_TRAP_UD

/* An exception of the FPU that is raised by the next instruction of it. */
FAULT "fwait", X86_TRAP_MF, flags=KP_X87|KP_MAY_FAULT, \
	pre="fninit; movw $0x033b, (%ebx); fldcw (%ebx); fld1; fldz; fdivrp", fixed="fninit"

/* These are like the ones above, but no exception table has a fix-up for them. */
FAULT "mov %es:(%ebx), %edi", X86_TRAP_GP, pre=NULL_ES, flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT "fxsave 8(%ebx)", X86_TRAP_GP, flags=KP_X87|KP_NO_EXTABLE
FAULT "mov %edi, (%ebx)", X86_TRAP_PF, pre=BAD_KERNEL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "call *(%ebx)", X86_TRAP_PF, flags=KP_NO_EXTABLE|KP_OOPS, \
	pre="mov $-4096, %ebx; ANNOTATE_RETPOLINE_SAFE"
FAULT "div %ecx", X86_TRAP_DE, pre="xor %ecx, %ecx", flags=KP_NO_EXTABLE
FAULT ".byte 0xf0, 0x89, 0x03", X86_TRAP_UD, flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xca", X86_TRAP_UD, flags=KP_NO_EXTABLE
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE|KP_OOPS
/* The kernel looks for no fix-up of these. */
FAULT "bound %ecx, (%ebx)", X86_TRAP_BR, flags=KP_NO_EXTABLE, \
	pre="movl $1, (%ebx); movl $2, 4(%ebx); xor %ecx, %ecx"
FAULT "bound %cx, kp_insn_mem+256", X86_TRAP_BR, flags=KP_NO_EXTABLE, \
	pre="movl $0x00020001, (%ebx); mov $7, %ecx"
