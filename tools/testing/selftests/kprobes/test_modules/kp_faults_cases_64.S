/* SPDX-License-Identifier: GPL-2.0 */
/* Included by kp_faults_cases.S: the cases of 64-bit mode. */

/* Nothing is mapped in the last page. */
#define BAD_KERNEL	"mov $-4096, %rbx"
#define NON_CANONICAL	"movabs $0x5a5a5a5a5a5a5a00, %rbx"

/* Reads and writes of kernel addresses where nothing is. */
FAULT "mov (%rbx), %rcx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "mov %rcx, 8(%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "movb $1, (%rbx, %r15, 8)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "mov -16(%rbx), %rbx", X86_TRAP_PF, pre="mov $-2048, %rbx"
FAULT "add %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock xadd %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "xchg %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lock cmpxchg %rcx, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "adc (%rbx), %rdx", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "bt %rcx, (%rbx)", X86_TRAP_PF, pre="mov $-2048, %rbx; and $63, %ecx"
FAULT "push (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "pop (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL
FAULT "lodsq", X86_TRAP_PF, pre="mov $-2048, %rsi"
FAULT "rep stosb", X86_TRAP_PF, pre="cld; mov $-4096, %rdi; mov $64, %ecx"
/* After 16 bytes it gets to where nothing is. */
FAULT "rep movsb", X86_TRAP_PF, pre="cld; mov kp_faults_edge(%rip), %rsi; mov $64, %ecx"
FAULT "rep movsq", X86_TRAP_PF, pre="cld; mov kp_faults_edge(%rip), %rsi; mov $9, %ecx"
/* Emulated if possible. */
FAULT "jmp *(%rbx)", X86_TRAP_PF, pre="mov $-4096, %rbx; ANNOTATE_RETPOLINE_SAFE"
FAULT "call *8(%rbx)", X86_TRAP_PF, pre="mov $-4096, %rbx; ANNOTATE_RETPOLINE_SAFE"

/* A user's address where nothing is; without AC it would be no fault to fix up. */
FAULT "mov 16(%rbx), %rdx", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"
FAULT "movl $1, 32(%rbx)", X86_TRAP_PF, pre="xor %ebx, %ebx; STAC", fixed="CLAC"

/* Addresses that are none. */
FAULT "mov (%rbx), %r8", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "mov %r8, (%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "orl $1, 64(%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "jmp *16(%rbx)", X86_TRAP_GP, pre="movabs $0x5a5a5a5a5a5a5a00, %rbx; ANNOTATE_RETPOLINE_SAFE"

/* Divisions that cannot be done. */
FAULT "div %ecx", X86_TRAP_DE, pre="xor %ecx, %ecx"
FAULT "div %rcx", X86_TRAP_DE, pre="mov $1, %ecx; mov $2, %edx"
FAULT "idivl 64(%rbx)", X86_TRAP_DE, pre="movl $0, 64(%rbx)"

/* Encodings that are no instructions: lock mov, which some emulators let pass, and lock add. */
FAULT ".byte 0xf0, 0x48, 0x89, 0x0b", X86_TRAP_UD, flags=KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xc8", X86_TRAP_UD

/* Selectors of nothing, a control register that does not exist. */
FAULT "mov %ecx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT "mov %ecx, %es", X86_TRAP_GP, pre="mov $0xfff8, %ecx"
FAULT ".byte 0x0f, 0x22, 0xc8", X86_TRAP_UD

/* The stack segment's own exception, or that of any other address. */
FAULT "mov (%rbp), %r9", 0, pre="movabs $0x5a5a5a5a5a5a5a00, %rbp"

/* An exception of the FPU that is raised by the next instruction of it. */
FAULT "fwait", X86_TRAP_MF, flags=KP_X87|KP_MAY_FAULT, \
	pre="fninit; movw $0x033b, (%rbx); fldcw (%rbx); fld1; fldz; fdivrp", fixed="fninit"

/* These are like the ones above, but no exception table has a fix-up for them. */
FAULT "mov (%rbx), %r10", X86_TRAP_GP, pre=NON_CANONICAL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "mov %r11, (%rbx)", X86_TRAP_PF, pre=BAD_KERNEL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "call *(%rbx)", X86_TRAP_PF, flags=KP_NO_EXTABLE|KP_OOPS, \
	pre="mov $-4096, %rbx; ANNOTATE_RETPOLINE_SAFE"
FAULT "rep stosq", X86_TRAP_GP, flags=KP_NO_EXTABLE, \
	pre="cld; movabs $0x5a5a5a5a5a5a5a00, %rdi; mov $8, %ecx"
FAULT "call *(%rbx)", X86_TRAP_GP, flags=KP_NO_EXTABLE, \
	pre="movabs $0x5a5a5a5a5a5a5a00, %rbx; ANNOTATE_RETPOLINE_SAFE"
FAULT "div %r8d", X86_TRAP_DE, pre="xor %r8d, %r8d", flags=KP_NO_EXTABLE
FAULT ".byte 0xf0, 0x48, 0x89, 0x03", X86_TRAP_UD, flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xca", X86_TRAP_UD, flags=KP_NO_EXTABLE
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE
