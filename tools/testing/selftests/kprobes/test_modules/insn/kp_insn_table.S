/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The table of instructions: tests have no other list of encodings. kp_insn executes each case
 * without and with a probe, kp_faults the cases that raise an exception. The fuzzers vary all of
 * them.
 *
 * At the start bx, bp, si, di, r12 and r13 point into kp_insn_mem, and r15 is small. Other
 * registers, the arithmetic flags, DF, IF and AC are random. Segment registers have the
 * kernel's values, which the harness restores. Only a 32-bit fs, for per-CPU data, must not
 * change. Its base is not 0, so it serves as a segment that is not flat.
 */

#include "kp_insn_macros.S"

	/* For strings, in which the preprocessor expands no macros */
	.set	kp_kernel_cs, __KERNEL_CS

#define CONDITIONS	o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
/* Prefixes that have no effect on a branch here */
#define BRANCH_PREFIXES	0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3
#ifdef CONFIG_X86_64
#define REGS		rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r12, r13, r15
/* The lower half is zero. */
#define UPPER_CX	mov $1, %rcx; shl $32, %rcx
#else
#define REGS		eax, ecx, edx, ebx, ebp, esi, edi
#define UPPER_CX	mov $0x10000, %ecx
#endif

/* Label 1, with an endbr, is the target. Code that is skipped changes edx. */
.macro BRANCH code:req, pre, flags=KP_BRANCH
	CASE "\code", pre="\pre", post="mov $1, %edx; 1: LANDING", flags=(\flags)
.endm

/* Refused with -EOPNOTSUPP */
.macro UNSUPPORTED code:req, post, pad=4
	CASE "\code", post="\post", pad=\pad, flags=(KP_REFUSED | KP_EOPNOTSUPP)
.endm

.macro ALL_UNSUPPORTED codes:vararg
.irp code, \codes
	UNSUPPORTED ".byte \code"
.endr
.endm

	.set	kp_nr, 0
	.section .rodata.kp_names, "a"
	.globl	kp_insn_names
kp_insn_names:
	.section .rodata.kp_cases, "a"
	.balign	4
	.globl	kp_insn_cases
kp_insn_cases:
	.text
	.balign	16
SYM_FUNC_START(kp_insn_text)
	RET
SYM_FUNC_END(kp_insn_text)

GROUP alu
.irp op, add, or, adc, sbb, and, sub, xor, cmp
	CASES "\op %bh, %al", "\op $0x5a, %al", "\op $0x1234567, %eax", W(\op %DX, %AX)
	CASES W(\op %R9D, %ecx), W(\op %R10W, %dx), W(\op %R8B, %R14B), W(\op (%BX), %R11)
	CASES W(\op %AX, 16(%BX)), W(\op %cl, -9(%R13)), W(\op $0x7f, %R8)
	CASES W(\op $-0x12345678, %R14), W(\op\()L $-3, 0x88(%BP)), W(\op\()w $0x1234, (%R12))
	CASES W(\op\()l $0x12345678, MEM(40)), W(\op MEM(48), %CX)
.endr
.irp op, inc, dec, neg, not
	CASES W(\op %AX), W(\op %R9B), W(\op\()l 4(%SI)), W(lock \op\()L (%DI))
.endr
	CASES "test %ah, %ch", "test $0x80, %al", W(test %AX, %DX), W(testb $1, MEM(3))
	CASES W(SIZED(test) $0x1000, (%BX)), "cbw", "cwde", "cwd", "cdq"
	CASES "bswap %eax", W(bswap %R14)
#ifdef CONFIG_X86_64
	CASES "cdqe", "cqo"
#else
/* One-byte forms of inc and dec, which are REX prefixes in 64-bit mode */
.irp op, inc, dec
.irp reg, ecx, edx, ebx, ebp, esi, edi, ax, cx, dx, bx, bp, si, di
	CASE "\op %\reg"
.endr
	CASE "\op %esp", flags=KP_GAP
.endr
	/* The long forms: incl %ecx, decl %ecx */
	CASES ".byte 0xff, 0xc1", ".byte 0xff, 0xc9"
/* Opcode 82: add, or, adc, sbb, and, sub, xor, cmp of a byte */
.irp modrm, 0xc0, 0xc8, 0xd0, 0xd8, 0xe0, 0xe8, 0xf0, 0xf8
	CASE ".byte 0x82, \modrm, 0x5a"
.endr
	CASES ".byte 0x82, 0x43, 0x05, 0x81", "bswap %edi"
#endif

GROUP move
	CASES "mov %dh, %cl", "mov $0x12345678, %ecx", "mov $0x1234, %ax", "movzbl %ah, %ecx"
	CASES W(mov %AX, %R14), W(mov %R9D, %edx), W(mov %R10W, %ax), W(mov $-5, %DX)
	CASES W(mov $0x5a, %R9B), W(SIZED(mov) $-77, (%BX)), W(movb $0x33, 5(%R12))
	CASES W(movw $0x4455, 0x40(%R13)), W(movzwl 6(%BX), %R9D), W(movzbw (%SI), %ax)
	CASES W(SIZED(movsb) %R8B, %DX), W(movswl (%DI), %ecx), W(movnti %AX, (%BX))
	CASES "xchg %eax, %eax", "xchg %ax, %cx", "xchg %cl, %dh", W(xchg %AX, %DX)
	CASES W(xchg %R14, (%BX)), W(lea (%BX), %AX), W(lea -1(%AX, %DX, 8), %CX)
	CASES W(lea 0x12345(, %R9, 4), %R10D), W(lea -5(%eax, %edx, 4), %CX)
	CASES "lea (%eax, %edx), %ecx", "lea (%eax, %edx), %cx", "lahf", "sahf", "nop", "pause"
	CASES "data16 nop", W(nopw 0x12345678(%AX, %DX)), W(nopl 0(%AX, %AX))
	CASE "xlat", pre="movzbl %al, %eax"
	CASES_OF X86_FEATURE_MOVBE, W(movbe (%BX), %AX), W(movbe %ecx, 8(%BX)), W(movbe %cx, 8(%BX))
.irp cc, CONDITIONS
	CASES "set\cc %al", W(set\cc 7(%BX)), W(cmov\cc %DX, %AX), W(cmov\cc (%BX), %R9D)
.endr
#ifdef CONFIG_X86_64
	CASES "movabs $0x1122334455667788, %r11", "movabs kp_insn_mem + 8, %rax"
	CASES "movabs %al, kp_insn_mem + 24", "movslq %eax, %r10", "movslq (%r12), %rax"
	CASES "xchg %r8, %rax"
#ifndef CONFIG_X86_KERNEL_IBT
	/* Begin with a nop, since a probe at the first endbr of a function is moved past it. */
	CASE "endbr64", pre="nop"
#endif
#else
	CASE "xlat %es:(%ebx)", \
		pre="movzbl %al, %eax; push %fs; pop %es; sub %fs:this_cpu_off, %ebx"
	CASE "endbr32", pre="nop"
#endif

.macro INDEXED code:req
	CASE "\code", pre=SMALL
.endm

GROUP address
	CASES W(mov 1(%BX), %AX), W(mov 0x123(%BX), %eax), W(mov 0x123(%BX), %ax)
	CASES W(mov (%R12), %AX), W(mov (%R13), %AX), W(mov %DX, -128(%DI)), W(mov %DX, -129(%DI))
	CASES W(mov %ds:(%BX), %AX), W(mov %ds:(%BP), %AX), W(mov %es:8(%SI), %AX)
	CASES W(mov %cs:(%DI), %edx), W(mov %ss:(%R13), %cx), W(mov %ss:(%BX), %cx)
	CASES W(mov PER_CPU, %DX), W(add PER_CPU, %R9), W(cmp %AX, PER_CPU)
	INDEXED W(mov (%BX, %INDEX), %AX)
	INDEXED W(mov 8(%BX, %INDEX, 4), %ax)
	INDEXED W(mov -8(%BP, %INDEX, 2), %R8B)
	INDEXED W(mov %AX, (%R12, %INDEX, 8))
	INDEXED W(mov %R9D, (%R13, %INDEX))
	INDEXED W(mov kp_insn_mem + 8(, %INDEX), %AX)
	INDEXED W(mov kp_insn_mem + 8(, %INDEX, 4), %AX)
	INDEXED W(mov kp_insn_mem + 8(%INDEX), %AX)
	/* Several prefixes */
	CASES ".byte 0xf2, 0xf3, 0x66; nop", W(.byte 0x3e, 0x2e; mov (%BX), %AX)
	CASES W(.byte 0x26, 0x66; mov %eax, 8(%BX))
#ifdef CONFIG_X86_64
	CASES ".byte 0x40; mov (%rbx), %eax", ".byte 0x66, 0x48; mov %eax, 8(%rbx)"
	CASES "mov %gs:this_cpu_off, %rax"
#else
	CASE "mov %gs:(%ebx), %ecx", pre="mov %ds, %eax; mov %eax, %gs"
	CASE "mov %fs:(%ebx), %ecx", pre="sub %fs:this_cpu_off, %ebx"
	CASE "mov %ecx, %fs:8(%ebx)", pre="sub %fs:this_cpu_off, %ebx"
#endif

/* Operands relative to rip; in 32-bit code, absolute ones */
GROUP memory
	CASES W(mov MEM(0), %AX), W(mov MEM(0), %CX), W(mov %DX, MEM(8)), W(mov %R14B, MEM(17))
	CASES W(movl $0x12345678, MEM(20)), W(movw $0x1234, MEM(24)), W(SIZED(mov) $-1, MEM(32))
	CASES W(lea MEM(40), %AX), W(addl $0x12, MEM(44)), W(imul $0x123, MEM(48), %eax)
	CASES W(movzbl MEM(52), %edx), W(shll $3, MEM(60)), W(shrd $3, %AX, MEM(64))
	CASES W(xchg %AX, MEM(72)), W(cmpb $0x12, MEM(81)), W(SIZED(not) MEM(88))
	CASES W(seto MEM(99)), W(cmovs MEM(104), %R12), W(btl $3, MEM(112)), W(mov PER_CPU, %AX)
#ifdef CONFIG_X86_64
	CASES "lea 0(%rip), %r9", "lea -7(%rip), %rbx", W(movslq MEM(56), %rcx)
#else
	/* Opcodes a0 to a3 */
	CASES W(mov MEM(3), %al), W(mov MEM(14), %ax), W(mov %al, MEM(24)), W(mov %eax, MEM(28))
	CASES W(mov %ax, MEM(34)), "mov %es:kp_insn_mem, %eax"
#endif

GROUP stack
.irp reg, REGS
	CASES "push %\reg", "pop %\reg"
.endr
	CASES "push %fs", "push %gs", "push %ax", "pop %dx", W(push %SP), "push $0x12"
	CASES "push $-0x12", "push $-0x12345678", "pushw $0x12", "pushw $0x1234"
	CASES W(SIZED(push) (%BX))
	CASES W(SIZED(push) 16(%SP)), W(SIZED(push) MEM(64)), W(SIZED(push) PER_CPU)
	CASES W(pushw 2(%BX)), W(SIZED(pop) 8(%BX)), W(SIZED(pop) 24(%SP)), W(SIZED(pop) MEM(72))
	CASES W(popw 6(%BX)), W(add $0x10, %SP), W(mov %SP, %AX), W(mov (%SP), %AX)
	CASES W(mov 8(%SP), %edx), W(mov 8(%SP), %dx), W(mov %CX, 40(%SP))
	CASES W(SIZED(cmp) $0, 0x20(%SP))
	INDEXED W(add %AX, (%SP, %INDEX))
	CASE W(pop %SP), pre=W(push %SP)
	CASE W(leave), pre=W(push %BP; mov %SP, %BP; sub $32, %SP)
#ifndef CONFIG_X86_64
	CASES "push %sp", "pushal", "popal", "pushaw", "popaw"
	CASE "leavew", pre="push %ebp; mov %esp, %ebp; sub $32, %esp"
#endif
GROUP stack, flags=KP_GAP
	CASES W(sub $0x28, %SP), W(lea -24(%SP), %SP), W(and $-16, %SP)
	CASE "enter $16, $0", post=W(mov (%BP), %CX)
	CASE "enter $8, $1", pre=W(lea 32(%SP), %BP), post=W(mov (%BP), %CX; mov -WORD(%BP), %DX)
	CASE W(mov %BP, %SP), pre=W(lea -40(%SP), %BP)
	CASE W(xchg %BP, %SP), pre=W(lea -40(%SP), %BP)

#ifndef CONFIG_X86_64
/* First load another selector, so that a load without effect is noticed. */
.macro LOADS_SEG code:req, pre, seg=%es
	CASE "\code", pre="xor %eax, %eax; mov %eax, \seg; \pre"
.endm

/*
 * Probes on these instructions may be refused: a load of ss inhibits interrupts and traps for one
 * instruction, and a load of fs changes the segment of the kernel's per-CPU data, which handlers
 * need.
 */
GROUP segment
.irp seg, cs, ss, ds, es, fs, gs
	CASES "pushl %\seg", "pushw %\seg", "mov %\seg, %ecx", "mov %\seg, %dx"
	CASE "mov %\seg, 2(%ebx)"
.endr
.irp seg, es, gs
	LOADS_SEG "popl %\seg", pre="push %ds", seg=%\seg
	LOADS_SEG "popw %\seg", pre="pushw %ds", seg=%\seg
	LOADS_SEG "popl %\seg", pre="push $0", seg=%\seg
	LOADS_SEG "mov %ecx, %\seg", pre="mov %fs, %ecx", seg=%\seg
	LOADS_SEG "mov (%ebx), %\seg", pre="mov %fs, (%ebx)", seg=%\seg
	CASE "mov %eax, %\seg", pre="xor %eax, %eax"
.endr
	CASE "popl %ds", pre="push %fs"
	CASE "popw %ds", pre="pushw %fs"
	CASE "mov %ecx, %ds", pre="mov %fs, %ecx"
	CASE "mov (%ebx), %ds", pre="mov %fs, (%ebx)"
	CASE "popl %fs", pre="push %fs", flags=KP_MAYBE
	CASE "mov %ecx, %fs", pre="mov %fs, %ecx", flags=KP_MAYBE
	CASE "popl %ss", pre="push %ss", flags=KP_MAYBE
	LOADS_SEG "les (%ebx), %ecx", pre="mov %fs, 4(%ebx)"
	LOADS_SEG "les kp_insn_mem+40, %edx", pre="mov %fs, kp_insn_mem+44"
	LOADS_SEG "les 8(%ebx, %ecx, 4), %bx", pre="and $7, %ecx; mov %ds, 10(%ebx, %ecx, 4)"
	CASE "lds (%ebx), %ecx", pre="mov %fs, 4(%ebx)"
	CASE "lds -9(%ebp), %esi", pre="mov %fs, -5(%ebp)"
	LOADS_SEG "lgs (%ebx), %ecx", pre="mov %fs, 4(%ebx)", seg=%gs
	CASE "lfs (%ebx), %ecx", pre="mov %fs, 4(%ebx)", flags=KP_MAYBE
	CASE "lss (%ebx), %ecx", pre="mov %ss, 4(%ebx)", flags=KP_MAYBE
	/* Hits while es, gs or ds do not have the kernel's selectors */
	LOADS_SEG "mov (%ebx), %ecx"
	LOADS_SEG "mov (%ebx), %ecx", seg=%gs
	CASE "mov %es:(%ebx), %ecx", pre="push %fs; pop %es; sub %fs:this_cpu_off, %ebx"
	CASE "mov (%ebx), %ecx", pre="sub %fs:this_cpu_off, %ebx; push %fs; pop %ds"
	CASE "add %ecx, 8(%ebx)", pre="sub %fs:this_cpu_off, %ebx; push %fs; pop %ds"
	CASE "mov %ecx, (%ebp)", pre="push %fs; pop %ds"
#endif

GROUP shift
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	CASES "\op $5, %edx", W(\op %AX), W(\op %cl, %R9), W(\op\()b $1, (%BX))
	CASES W(\op\()L %cl, 8(%BX))
.endr
	CASES W(shld $7, %AX, %DX), W(shld %cl, %eax, (%BX)), W(shrd $9, %R8, %R9)
	CASES W(shrd %cl, %AX, %R14)

GROUP muldiv
	CASES W(mul %DX), W(mull (%BX)), W(mulb MEM(9)), W(imul %R9), W(imul %AX, %DX)
	CASES W(imul $0x1234, (%BX), %ecx), W(imul $-3, %AX, %R10)
	CASE W(div %CX), pre="xor %edx, %edx; or $1, %ecx"
	CASE W(divl 4(%BX)), pre=W(xor %edx, %edx; orl $1, 4(%BX))
	CASE W(SIZED(div) MEM(16)), pre=W(xor %edx, %edx; orb $1, MEM(16))
	CASE W(div %R8B), pre=W(movzbl %al, %eax; or $1, %R8B)
	CASE W(idiv %CX), pre=W(mov $-77, %CX; WIDTH(cqo, cdq))
	CASE W(idivl (%BX)), pre=W(movl $1001, (%BX); cdq)

#ifndef CONFIG_X86_64
GROUP decimal
	CASES "aaa", "aas", "daa", "das", "aad", "aam", "aad $7", "aam $7"
	CASE "daa", pre="mov $0x12, %al; add $0x39, %al"
	CASE "das", pre="mov $0x51, %al; sub $0x39, %al"
	CASE "aaa", pre="mov $0x0508, %ax; add $0x07, %al"
	CASE "aas", pre="mov $0x0502, %ax; sub $0x07, %al"
	/* salc, which has never been documented */
	CASE ".byte 0xd6", flags=KP_MAYBE
#endif

GROUP bits
	CASES "bt $7, %ecx", W(bt %AX, %DX), "bts %eax, %edx", W(btr $33, %R8), W(btc %AX, %R9)
	CASES W(SIZED(bts) $9, (%BX)), W(lock btsl $30, 8(%BX))
	CASE W(lock btr %AX, (%BX)), pre="movzbl %al, %eax"
	CASE W(bt %AX, (%BX)), pre=W(SIZED(movsb) %al, %AX)
	CASE W(bsf %DX, %AX), pre="or $64, %edx"
	CASE W(bsr (%BX), %AX), pre=W(orb $4, (%BX))
	CASES_OF X86_FEATURE_ABM, "lzcnt %edx, %eax"
	CASES_OF X86_FEATURE_POPCNT, W(popcnt %DX, %AX)
	CASES_OF X86_FEATURE_BMI1, W(tzcnt (%BX), %AX)
	CASES_OF X86_FEATURE_XMM4_2, W(SIZED(crc32) %DX, %AX), W(crc32b (%BX), %ecx)
	CASES_OF X86_FEATURE_ADX, W(adcx %DX, %AX), W(adox (%BX), %R9)

GROUP string
	CASES "movsb", "movsw", "movsl", "stosb", "stosw", "stosl", "lodsb", "lodsl", "cmpsb"
	CASES "scasb", "scasl"
.irp op, movsb, movsl, stosb, stosw, lodsb
	CASE "rep \op", pre="mov $11, %ecx"
.endr
	CASE "rep movsb", pre="xor %ecx, %ecx"
	CASE "repe cmpsb", pre="mov $40, %ecx"
	CASE "repe cmpsb", pre=W(mov %SI, %DI; mov $20, %ecx)
	CASE "repne cmpsl", pre="mov $9, %ecx"
	CASE "repne scasb", pre="mov $60, %ecx"
	CASE W(repe SIZED(scas)), pre="mov $7, %ecx"
	CASE "outsb", pre="mov $0x80, %edx"
	CASE "rep outsb", pre="mov $0x80, %edx; mov $3, %ecx"
	CASE W(rep movsb %SEG:(%SI), %es:(%DI)), \
		pre=W(mov $WORD, %ecx; mov $this_cpu_off, %SI; cld)
#ifdef CONFIG_X86_64
	CASES "movsq", "stosq", "lodsq", "cmpsq"
	CASE "rep movsq", pre="mov $11, %ecx"
	CASE "rep stosq", pre="mov $11, %ecx"
#else
/* The destination is always in es, whatever prefix there is. */
.irp op, stosb, stosl, scasb, movsl, cmpsb
	CASE "\op", pre="push %fs; pop %es; sub %fs:this_cpu_off, %edi"
.endr
	CASE "rep stosl", pre="push %fs; pop %es; sub %fs:this_cpu_off, %edi; mov $5, %ecx"
	CASE "lodsl %es:(%esi)", pre="push %fs; pop %es; sub %fs:this_cpu_off, %esi"
	CASE "lodsl", pre="sub %fs:this_cpu_off, %esi; push %fs; pop %ds"
#endif

#define CMPXCHG2	WIDTH(cmpxchg16b, cmpxchg8b)

GROUP atomic
.irp op, add, or, and, sub, xor, adc
	CASES W(lock \op %AX, (%BX)), W(lock \op\()l $0x12, MEM(80))
.endr
	CASES "xadd %ecx, %edx", W(lock xadd %AX, (%BX)), W(lock cmpxchg %DX, (%BX))
	CASES W(lock cmpxchg %ecx, MEM(88)), W(cmpxchg %R8B, %R9B), W(cmpxchg8b (%BX))
	CASES W(lock cmpxchg8b (%SI)), W(lock CMPXCHG2 (%BX)), "lfence", "mfence", "sfence"
	CASES W(prefetcht0 (%BX)), W(prefetchw 8(%BX)), W(clflush (%BX))
	CASE W(lock cmpxchg %DX, (%BX)), pre=W(mov (%BX), %AX)
	CASE W(lock CMPXCHG2 (%BP)), pre=W(mov (%BP), %AX; mov WORD(%BP), %DX; mov $7, %ebx)

.macro JUMP_REG code:req, reg:req
	BRANCH "\code *%\reg", pre=W(LOAD(1f, %\reg); RETPOLINE_SAFE)
.endm

.macro JUMP_MEM mem:req, pre
	BRANCH "jmp *\mem", pre=W(\pre; STORE(1f, \mem); RETPOLINE_SAFE)
.endm

/* Flags are random, so conditional branches are taken in some rounds and not in others. */
GROUP jump
.irp cc, CONDITIONS
	BRANCH "j\cc 1f"
	BRANCH "{disp32} j\cc 1f"
.endr
	BRANCH "jmp 1f"
	BRANCH "{disp32} jmp 1f"
.irp prefix, BRANCH_PREFIXES
	BRANCH ".byte \prefix; jmp 1f"
	BRANCH ".byte \prefix; {disp32} jmp 1f"
	BRANCH ".byte \prefix; jc 1f"
	BRANCH ".byte \prefix; {disp32} jc 1f"
	JUMP_REG W(.byte \prefix; jmp), AX
.endr
	CASE "jmp 1b", pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:", post="3:", flags=KP_BRANCH
.irp count, "xor %ecx, %ecx", "mov $1, %ecx", "mov $2, %ecx", \
	W(or $-1, %CX), W(UPPER_CX), W(UPPER_CX; inc %CX)
.irp op, WIDTH(jrcxz, jcxz), jecxz, loop, loope, loopne
	BRANCH "\op 1f", pre="\count"
.endr
.irp op, loop, loope, loopne
	BRANCH W(WIDTH(addr32, addr16) \op 1f), pre="\count"
.endr
.endr
GROUP jump, flags=(KP_BRANCH | KP_HITS_AGAIN)
	CASE "loop 1b", pre=W(mov $5, %ecx; 1: inc %AX)
	CASE W(WIDTH(addr32, addr16) loop 1b), pre=W(UPPER_CX; add $5, %CX; 1: inc %AX)
	CASE "jnz 1b", pre=W(mov $5, %ecx; 1: inc %AX; dec %ecx)
GROUP jump
.irp reg, REGS
	JUMP_REG jmp, \reg
.endr
	JUMP_MEM W((%BX))
	JUMP_MEM W(8(%BP, %INDEX, 8)), pre=SMALL
	JUMP_MEM W((%R13, %INDEX)), pre=SMALL
	JUMP_MEM W(kp_insn_mem+96(, %INDEX, 8)), pre=SMALL
	JUMP_MEM W(MEM(96))
	JUMP_MEM W(8(%SP))
#ifdef CONFIG_X86_64
	JUMP_MEM "%gs:(%rbx)", pre="sub %gs:this_cpu_off(%rip), %rbx"
	BRANCH ".byte 0x48; jmp 1f"
	JUMP_REG ".byte 0x48; jmp", rax
#else
	JUMP_MEM "%fs:(%ebx)", pre="sub %fs:this_cpu_off, %ebx"
	JUMP_MEM "%es:(%ebx)"
	BRANCH "jmp *%cs:(%ebx)", pre="movl $1f, (%ebx); RETPOLINE_SAFE"
	BRANCH "ljmp $kp_kernel_cs, $1f"
	BRANCH "ljmp *(%ebx)", flags=(KP_BRANCH | KP_MAYBE), \
		pre="movl $1f, (%ebx); mov %cs, 4(%ebx)"
#endif

.macro CALL_REG code:req, reg:req
	CASE "\code *%\reg", pre=W(LOAD(kp_insn_callee, %\reg); RETPOLINE_SAFE)
.endm

.macro CALL_MEM mem:req, pre
	CASE "call *\mem", pre=W(\pre; STORE(kp_insn_callee, \mem); RETPOLINE_SAFE)
.endm

.macro RETURN code:req
	CASE "\code", pre=W(PUSH(1f); RETPOLINE_SAFE), post="int3; 1:"
.endm

.macro FAR_RETURN code:req
	CASE "\code", pre=W(mov %cs, %eax; push %AX; PUSH(1f)), post="int3; 1:"
.endm

/* The callee leaves the return address in a register, where runs are compared. */
GROUP call, flags=KP_BRANCH
	CASES "call kp_insn_callee", ".byte 0x2e, 0x2e, 0x3e; call kp_insn_callee"
	RETURN "ret"
	RETURN "ret $16"
.irp prefix, BRANCH_PREFIXES
	CASE ".byte \prefix; call kp_insn_callee"
	CALL_REG W(.byte \prefix; call), AX
	RETURN ".byte \prefix; ret"
.endr
.irp reg, REGS
	CALL_REG call, \reg
.endr
	CALL_MEM W((%BX))
	CALL_MEM W(-8(%BP, %INDEX, 8)), pre=SMALL
	CALL_MEM W(MEM(104))
	CALL_MEM W((%SP))
	CALL_MEM W(16(%SP))
	FAR_RETURN W(WIDTH(lretq, lret))
	FAR_RETURN W(WIDTH(lretq, lret) $8)
#ifdef CONFIG_X86_64
	CALL_MEM "%gs:(%rbx)", pre="sub %gs:this_cpu_off(%rip), %rbx"
	CASE ".byte 0x48; call kp_insn_callee"
	CALL_REG ".byte 0x48; call", rax
	RETURN ".byte 0x48; ret"
	BRANCH "iretq", flags=KP_MAYBE, pre="mov %rsp, %rdx; mov %ss, %eax; push %rax; \
		push %rdx; pushfq; mov %cs, %eax; push %rax; lea 1f(%rip), %rax; push %rax"
#else
	CALL_MEM "%fs:(%ebx)", pre="sub %fs:this_cpu_off, %ebx"
	CASE "lcall $kp_kernel_cs, $kp_insn_far_callee"
	CASE "lcall *(%ebx)", pre="movl $kp_insn_far_callee, (%ebx); mov %cs, 4(%ebx)", \
		flags=KP_MAYBE
	BRANCH "iret", flags=KP_MAYBE, pre="pushf; push %cs; push $1f"
#endif
GROUP call
	/* The call only fills the return stack buffer, which an emulation would not do. */
	UNSUPPORTED "call 1f", post=W(int3; 1: add $WORD, %SP), pad=0

GROUP eflags
	CASES "clc", "stc", "cmc", "cld", "std", "cli", "sti", "pushfw", "pushf"
	CASES_OF X86_FEATURE_SMAP, "stac", "clac"
.irp bits, 0x8d5, 0x200, 0x400, 0x40000, 0x200000
	CASE "popf", pre=W(pushf; xorl $\bits, (%SP))
.endr
.irp bits, 0x8d5, 0x200
	CASE "popfw", pre=W(pushfw; xorw $\bits, (%SP))
.endr

GROUP system
	CASE "cpuid", pre="xor %eax, %eax; xor %ecx, %ecx"
	CASE "cpuid", pre="mov $0x80000000, %eax"
	CASE "rdtsc", flags=(KP_ANY_AX | KP_ANY_DX)
	CASE "rdtscp", flags=(KP_ANY_AX | KP_ANY_DX), feature=X86_FEATURE_RDTSCP
	CASE "xgetbv", pre="xor %ecx, %ecx", feature=X86_FEATURE_OSXSAVE
	CASE "rdmsr", pre="mov $0xc0000080, %ecx"
	CASE "lsl %ecx, %eax", pre="mov %cs, %ecx"
	CASES "mov %ds, %eax", "mov %cs, %ax", W(mov %ss, (%BX))
	CASE "mov %eax, %es", pre="mov %es, %eax"
	CASE "mov %eax, %ss", pre="mov %ss, %eax", flags=(KP_REFUSED | KP_EOPNOTSUPP)
	CASE "hlt", flags=(KP_MAYBE | KP_IRQS_ON)
	CASE W(rdrand %AX), flags=(KP_ANY_AX | KP_ANY_FLAGS), feature=X86_FEATURE_RDRAND
	CASES_OF X86_FEATURE_RDPID, W(rdpid %AX)
#ifdef CONFIG_X86_64
	CASES_OF X86_FEATURE_FSGSBASE, "rdfsbase %rax", "rdgsbase %rdx"
	/* Without a shadow stack, this leaves ecx unchanged. */
	CASE "rdsspd %ecx"
#else
	/*
	 * Write MSR_IA32_SYSENTER_CS, not MSR_TSC_AUX, which emulators do not read in 32-bit mode.
	 */
	CASE "wrmsr", pre="mov $0x174, %ecx; rdmsr", feature=X86_FEATURE_SEP
	CASE "lar %ecx, %eax", pre="mov %ds, %ecx"
	CASES "arpl %cx, %dx", "arpl %ax, 6(%ebx)", "arpl %cx, kp_insn_mem+20"
	/* The index is within the bounds, or else bound would raise an exception. */
	CASE "bound %eax, (%ebx)", pre="movl $0x80000000, (%ebx); movl $0x7fffffff, 4(%ebx)"
	CASE "bound %cx, 2(%ebx)", pre="movl $0x7fff8000, 2(%ebx)"
#endif
GROUP system, flags=KP_OPT
	CASES "smsw %eax", "clts", "str %ax", "sldt %edx", "wbinvd", "out %al, $0x80"
	CASES W(mov %cr0, %AX), W(mov %cr4, %R10), W(mov %db7, %DX), W(invlpg (%BX))
	CASES W(sgdt (%BX)), W(sidt 16(%BX))
	CASE "wrmsr", pre="mov $0xc0000080, %ecx; rdmsr"
	CASE "lmsw %ax", pre="smsw %eax"
	CASE "lldt %ax", pre="sldt %eax"
	CASE "in $0x80, %al", flags=KP_ANY_AX
	CASE "out %al, %dx", pre="mov $0x80, %edx"
	CASE W(mov %AX, %cr0), pre=W(mov %cr0, %AX)
	CASE W(mov %AX, %cr3), pre=W(mov %cr3, %AX), flags=KP_ANY_AX
	CASE W(mov %AX, %cr4), pre=W(mov %cr4, %AX)
	CASE W(mov %AX, %db7), pre=W(mov %db7, %AX)
	CASE W(lgdt (%BX)), pre=W(sgdt (%BX))
	CASE W(lidt 16(%BX)), pre=W(sidt 16(%BX))
	CASE W(verw (%BX)), pre=W(mov %ds, (%BX))
#ifdef CONFIG_X86_64
	CASE "wrmsr", pre="mov $0xc0000103, %ecx; rdmsr", feature=X86_FEATURE_RDTSCP
	/* MSR_GS_BASE */
	CASE "wrmsr", pre="mov $0xc0000101, %ecx; rdmsr"
	CASE "mov %eax, %ds", pre="mov %ds, %eax"
#endif

#ifndef CONFIG_X86_64
/* Instructions with 16-bit addresses that access no memory: the first 64 KiB are not mapped. */
GROUP addr16
.irp rm, "(%bx, %si)", "(%bx, %di)", "(%bp, %si)", "(%bp, %di)", "(%si)", "(%di)", "(%bx)"
	CASES "lea \rm, %eax", "lea 5\rm, %ecx", "lea -0x1234\rm, %edx"
.endr
	CASES "lea -5(%bp), %esi", "lea 0x4321(%bp), %di", "nopl 5(%bx, %si)", "nopw 0x1234(%di)"
	CASES "prefetcht0 (%bx)", "addr16 mov %eax, %ecx", "addr16 push %edx"
	CASES ".byte 0x67, 0x8d, 0x06, 0x34, 0x12"	/* lea 0x1234, %eax */
	/* cx is 0, so these access no memory. */
.irp op, "rep movsb", "rep stosl", "repe cmpsb"
	CASE "addr16 \op", pre="mov $0x10000, %ecx"
.endr
#endif

GROUP traps, flags=KP_REFUSED
	CASES "int3", "ud2", ".byte 0x0f, 0xff, 0xc0"	/* ud0 */
#ifndef CONFIG_X86_64
	CASES "int $0x80", ".byte 0xf1"		/* int1 */
GROUP traps
	/* into raises no exception while OF is clear. */
	CASE "into", pre="test %eax, %eax", flags=KP_MAYBE
#endif

GROUP unknown
	/* sti before hlt, mwait or mwaitx, which rely on its interrupt shadow */
	UNSUPPORTED "sti", post="hlt", pad=0
	UNSUPPORTED "sti", post="mwait", pad=0
	UNSUPPORTED "sti", post=".byte 0x0f, 0x01, 0xfb", pad=0
	UNSUPPORTED "sti", post=".byte 0x0f, 0x35", pad=0	/* sysexit */
	/* No instruction has these opcodes. */
	ALL_UNSUPPORTED "0x0f, 0x04", "0x0f, 0x0a", "0x0f, 0x24, 0xc0", "0x0f, 0x36", "0x0f, 0x39"
	ALL_UNSUPPORTED "0x0f, 0x3b", "0x0f, 0x7a, 0xc0", "0x0f, 0x38, 0x0c, 0xc0"
	ALL_UNSUPPORTED "0x0f, 0x3a, 0x50, 0xc0"
	/* Instructions have these opcodes, but not with that prefix. */
	ALL_UNSUPPORTED "0xf3, 0x0f, 0x14, 0xc1", "0xf2, 0x0f, 0x71, 0xd1, 0x01"
	ALL_UNSUPPORTED "0xf2, 0x0f, 0x38, 0x00, 0xc1"
	/* Instructions have these opcodes, but not with that reg field in the ModRM byte. */
	ALL_UNSUPPORTED "0x8c, 0xf0", "0xc0, 0xf0, 0x01", "0xc6, 0xc8, 0x01", "0xf6, 0xc8, 0x01"
	ALL_UNSUPPORTED "0xc7, 0xf9, 0x00, 0x00, 0x00, 0x00", "0xfe, 0xd0", "0xff, 0xf8"
	ALL_UNSUPPORTED "0x0f, 0x00, 0xf0", "0x0f, 0x71, 0xc0, 0x01", "0x0f, 0xba, 0xc0, 0x01"
	ALL_UNSUPPORTED "0x0f, 0xc7, 0xc0", "0xd9, 0xd1", "0xdb, 0xe0"
	/* vmrun and swapgs (in 32-bit mode, nothing) */
	ALL_UNSUPPORTED "0x0f, 0x01, 0xd8", "0x0f, 0x01, 0xf8"
	/* popcnt without its prefix; mov of cr0 whose ModRM byte looks like an operand in memory */
	ALL_UNSUPPORTED "0x0f, 0xb8, 0xc0", "0x0f, 0x20, 0x04, 0x3d, 0x20, 0x00, 0x00, 0x00"
	/* 3DNow!, XOP and APX, of which kprobes know nothing */
	UNSUPPORTED "femms"
	ALL_UNSUPPORTED "0x8f, 0xe9, 0x78, 0x81, 0xc1", "0x62, 0xf4, 0x7c, 0x08, 0x01, 0xc0"
#ifdef CONFIG_X86_64
	/* Valid only outside of 64-bit mode */
	ALL_UNSUPPORTED "0x06", "0x27", "0x60", "0xce", "0xd4, 0x0a", "0x82, 0xc0, 0x01"
	/* REX2 of APX */
	ALL_UNSUPPORTED "0xd5, 0x08, 0x01, 0xc0"
#else
	/* Instructions that enter or leave user space; 0f 07 is sysret. */
	UNSUPPORTED "syscall"
	UNSUPPORTED "sysenter"
	UNSUPPORTED "sysexit"
	ALL_UNSUPPORTED "0x0f, 0x07"
#endif

/*
 * x87, MMX, SSE, AVX, and other VEX or EVEX encodings. Many of these have an opcode byte that means
 * a jump, call or return in another opcode map. kprobes must not take them for branches.
 */
#define SSE_OPS	pxor, por, pand, paddd, paddq, psubsb, psubsw, psubb, pcmpeqb, pcmpeqw, pcmpeqd, \
		punpckhbw, packuswb, pmaddwd, pavgb, psadbw, pmuludq
#define AVX_OPS	vpaddd, vpsubsb, vpsubsw, vpor, vpcmpeqb, vpcmpeqw, vpcmpeqd, vpxor, vpmaddwd, \
		vpunpckhbw, vpackuswb, vpavgb, vpsubq, vpmuludq

GROUP sse, flags=KP_FPU
/* Opcodes 74 to 76, e8, e9 and eb of map 0f are jcc, call and jmp in the one-byte map. */
.irp op, SSE_OPS
	CASES "\op %xmm1, %xmm0", W(\op MEM(64), %WIDTH(xmm10, xmm2))
.endr
.irp op, movups, movdqu, movupd, lddqu
	CASES W(\op (%BX), %xmm0), W(\op MEM(16), %WIDTH(xmm9, xmm1))
.endr
	CASES "movd %xmm3, %ecx", "pmovmskb %xmm2, %edx", "pextrw $3, %xmm1, %eax"
	CASES "maskmovdqu %xmm1, %xmm2", "pshufd $0x1b, %xmm4, %xmm5", "psrldq $3, %xmm6"
	CASES "psllw $3, %xmm7", "psrlq %xmm1, %xmm7", "addps %xmm2, %xmm1", "emms"
	CASES "shufps $0x4e, %xmm3, %xmm1", "sqrtss %xmm1, %xmm0", "ucomisd %xmm1, %xmm2"
	CASES "cvtdq2ps %xmm1, %xmm2", W(movups %xmm1, 3(%BX)), W(movaps %xmm2, (%BX))
	CASES W(movaps MEM(32), %WIDTH(xmm15, xmm7)), W(movdqa %xmm3, %WIDTH(xmm12, xmm4))
	CASES W(movdqu %WIDTH(xmm8, xmm0), MEM(5)), W(movntdq %xmm4, 16(%BX))
	CASES W(movss (%BX), %xmm5), W(movsd %xmm6, 8(%BX)), W(movd %AX, %xmm7)
	CASES W(movd %xmm7, %DX), W(movq %xmm7, 8(%BX)), W(movhps (%BX), %xmm1)
	CASES W(movlps %xmm1, (%BX)), W(movmskps %WIDTH(xmm9, xmm1), %eax)
	CASES W(pinsrw $2, (%BX), %xmm1), W(pshufhw $0x1b, (%BX), %xmm5), W(mulpd (%BX), %xmm1)
	CASES W(cmpps $2, MEM(96), %xmm1), W(cvtsi2sd %AX, %xmm5), W(cvttsd2si (%BX), %AX)
	CASES W(stmxcsr (%BX))
	CASE W(ldmxcsr (%BX)), pre=W(stmxcsr (%BX))
	CASE "fnstsw %ax", pre="fninit"
	CASE W(fstpl (%BX)), pre="fninit; fldpi"
	CASE "faddp", pre="fninit; fld1; fldpi", post=W(fstpl (%BX))
	CASE W(fildll MEM(104)), pre="fninit", post=W(fstpt (%BX))
	CASE W(fnstcw (%BX)), pre="fninit"
	CASE W(movq (%BX), %mm1), post=W(movq %mm1, 8(%BX); emms)
	CASE "paddw %mm1, %mm2", pre=W(movq (%BX), %mm1; movq 8(%BX), %mm2), \
		post=W(movq %mm2, (%BX); emms)
	CASE W(WIDTH(fxsave64, fxsave) (%BX)), pre=W(lea MEM(256), %BX)
	CASES_OF X86_FEATURE_XMM4_1, "pinsrb $7, %edx, %xmm1", W(movntdqa (%BX), %xmm4)
	CASES_OF X86_FEATURE_XMM4_1, W(WIDTH(pextrq, pextrd) $1, %xmm1, %AX), W(ptest (%BX), %xmm2)
	CASES_OF X86_FEATURE_XMM4_2, W(pcmpistri $0x18, (%BX), %xmm2)
	CASES_OF X86_FEATURE_SSSE3, W(pshufb (%BX), %xmm3), W(palignr $5, MEM(80), %xmm3)
	CASES_OF X86_FEATURE_AES, "aesenc %xmm3, %xmm4", W(aeskeygenassist $1, (%BX), %xmm4)
	CASES_OF X86_FEATURE_PCLMULQDQ, W(pclmulqdq $0x10, (%BX), %xmm2)
	CASES_OF X86_FEATURE_SHA_NI, "sha256rnds2 %xmm0, %xmm3, %xmm4"

GROUP avx, flags=KP_FPU, feature=X86_FEATURE_AVX
.irp op, AVX_OPS
	CASES "\op %xmm1, %xmm2, %xmm3", W(\op (%BX), %WIDTH(xmm9, xmm1), %WIDTH(xmm10, xmm2))
	CASES W(\op MEM(32), %WIDTH(xmm9, xmm1), %WIDTH(xmm10, xmm2))
.endr
	CASES W(vmovups (%BX), %ymm0), W(vmovups %WIDTH(ymm8, ymm0), 7(%R12)), "vzeroupper"
	CASES W(vmovdqa MEM(64), %ymm3), W(vmovdqu %WIDTH(ymm15, ymm7), MEM(65)), "vzeroall"
	CASES W(vmovd %AX, %xmm1), W(vmovd %xmm1, %R9), W(vmovq %xmm1, 8(%BX))
	CASES W(vmovd %WIDTH(xmm9, xmm1), %ecx), W(vmovmskps %WIDTH(ymm9, ymm1), %eax)
	CASES W(vmovntdq %ymm1, (%BX)), "vaddps %ymm1, %ymm2, %ymm3", W(vmulpd (%BX), %ymm2, %ymm3)
	CASES W(vpinsrd $1, %eax, %xmm1, %xmm2), W(vpextrb $3, %xmm1, (%BX))
	CASES W(vextractf128 $1, %ymm1, (%BX)), W(vinsertf128 $1, MEM(176), %ymm1, %ymm2)
	CASES W(vbroadcastss (%BX), %ymm2), W(vptest (%BX), %ymm1), "vucomiss %xmm1, %xmm2"
	CASES W(vcvtsi2sd %AX, %xmm1, %xmm2), W(vcvttsd2si %xmm1, %DX), "vpextrw $3, %xmm1, %edx"
	CASES "vblendvps %ymm1, %ymm2, %ymm3, %ymm4"
	/* Opcode c2, which is ret in the one-byte map */
	CASES "vcmpps $1, %ymm1, %ymm2, %ymm3", W(vcmpsd $1, MEM(96), %xmm2, %xmm3)
	/* Opcodes 70 to 73, which are jcc in the one-byte map */
	CASES "vpshufd $0x1b, %xmm1, %xmm2", W(vpshufhw $0x1b, MEM(128), %xmm2)
	CASES "vpsrlq $3, %xmm1, %xmm2", W(vpsllw $3, %WIDTH(xmm8, xmm0), %xmm2)
	/* Opcodes e6, e8 and ee, which are out, call and out in the one-byte map */
	CASES "vcvtpd2dq %ymm1, %xmm2", W(vpsubsb MEM(160), %xmm1, %WIDTH(xmm8, xmm0))
	CASES W(vpmaxsw %xmm1, %WIDTH(xmm8, xmm0), %xmm2)
#ifdef CONFIG_X86_64
	CASES "vpinsrq $1, %rax, %xmm1, %xmm2"
#endif
	CASES_OF X86_FEATURE_F16C, W(vcvtph2ps (%BX), %xmm1)
	CASES_OF X86_FEATURE_PCLMULQDQ, "vpclmulqdq $1, %xmm1, %xmm2, %xmm3"
	CASES_OF X86_FEATURE_AES, "vaesdec %xmm1, %xmm2, %xmm3"
	CASES_OF X86_FEATURE_FMA, "vfmadd213ps %ymm1, %ymm2, %ymm3"
	CASES_OF X86_FEATURE_FMA, W(vfmadd231sd MEM(200), %xmm2, %xmm3)
	CASES_OF X86_FEATURE_FMA, W(vfnmsub132pd (%BX), %ymm2, %ymm3)
GROUP avx, flags=KP_FPU, feature=X86_FEATURE_AVX2
.irp op, AVX_OPS
	CASES W(\op %ymm4, %WIDTH(ymm12, ymm5), %ymm3)
.endr
	CASES "vpalignr $3, %ymm1, %ymm2, %ymm3", "vpermq $0x1b, %ymm1, %ymm2"
	CASES "vperm2i128 $0x21, %ymm1, %ymm2, %ymm3", "vpbroadcastb %xmm1, %ymm2"
	CASES "vpsllvd %ymm1, %ymm2, %ymm3", "vpmovmskb %ymm1, %eax", W(vpmovzxbw (%BX), %ymm1)
	CASES W(vpshufb (%BX), %ymm2, %ymm3), W(vpermd MEM(192), %ymm1, %ymm2)
	CASES W(vpmaskmovd %ymm1, %ymm2, (%BX))
	CASE W(vpgatherdd %xmm1, (%BX, %xmm2, 4), %xmm3), \
		pre="vpxor %xmm2, %xmm2, %xmm2; vpcmpeqd %xmm1, %xmm1, %xmm1"

/* Instructions with VEX that use general registers */
GROUP bmi, feature=X86_FEATURE_BMI1
	CASES "blsmsk %ecx, %eax", W(andn %DX, %AX, %CX), W(andn MEM(8), %eax, %ecx)
	CASES W(bextr %DX, (%BX), %AX), W(blsr %AX, %DX), W(blsi (%BX), %R14)
GROUP bmi, feature=X86_FEATURE_BMI2
	CASES W(bzhi %AX, %DX, %R9), W(mulx MEM(16), %AX, %CX), W(pdep %AX, %DX, %R10)
	CASES W(pext (%BX), %DX, %AX), W(rorx $13, %AX, %DX), W(rorx $7, MEM(24), %R8)
	CASES W(shlx %CX, %AX, %DX), W(sarx %eax, (%BX), %R9D), W(shrx %R9, MEM(32), %R14)

/* These instructions are probed on any CPU, but are executed only on a CPU with AVX-512. */
GROUP evex, flags=KP_FPU, feature=X86_FEATURE_AVX512F
	CASES "vpaddd %zmm1, %zmm2, %zmm3", "vpternlogd $0x96, %zmm1, %zmm2, %zmm3"
	CASES W(vmovdqu64 (%BX), %zmm0), W(vmovdqu64 %WIDTH(zmm17, zmm1), 64(%BX))
	CASES W(vmovdqa32 MEM(64), %WIDTH(zmm31, zmm7)), W(vpord %zmm1, %WIDTH(zmm20, zmm4), %zmm3)
	CASES W(vpxorq MEM(128){1to8}, %zmm2, %zmm3), W(vpsrad $3, (%BX), %zmm3)
	CASE "vpcmpeqd %zmm1, %zmm2, %k1", post="kmovw %k1, %eax"
	CASE "kmovw %k1, %eax", pre="kmovw %ecx, %k1"
	CASE "korw %k1, %k2, %k3", pre="kmovw %ecx, %k1; kmovw %edx, %k2", post="kmovw %k3, %eax"

/*
 * Instructions that the jump of an optimised probe overwrites. Each case has one to five of them,
 * and the probe is on the first. The detour buffer has copies of all, in which displacements and
 * the like must be corrected.
 *
 * In cases without KP_OPT, the probe need not be optimised, but the results must be right.
 */

/* Label 1 is the target of a branch among the overlapped instructions. */
.macro DCR_BRANCH code:req, rest, pre, flags=KP_OPT
	DCR "\code", rest="\rest", pre="\pre", post="mov $1, %edx; 1:", flags=(\flags)
.endm

/* Instructions of five bytes or more, which the jump overlaps alone */
.macro DCR_SINGLES codes:vararg
.irp code, \codes
	DCR "\code"
.endr
.endm

#ifdef CONFIG_X86_64
#define LONGEST		.byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e; movabs $0x1122334455667788, %r11
#else
#define LONGEST		.byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e; mov $0x12345678, %ecx
#endif

GROUP dcr_plain
	/* One instruction, of five to fifteen bytes */
	DCR_SINGLES "mov $0x12345678, %ecx", "xor $0x12345678, %eax", "add $0x12345678, %edx"
	DCR_SINGLES W(add $0x12345678, %R9), W(mov 0x123(%BX), %AX), W(LONGEST)
	DCR_SINGLES W(movl $0x12345678, 8(%BX)), W(SIZED(mov) $0x12345678, 8(%R12))
	DCR_SINGLES W(SIZED(mov) $0x12345678, 0x80(%BX))
#ifdef CONFIG_X86_64
	DCR_SINGLES "mov 0x123(%rbx, %r15), %rax", "movabs $0x1122334455667788, %r11"
	DCR_SINGLES "movq $0x12345678, 0x80(%r12, %r15)"
	DCR_SINGLES ".byte 0x2e, 0x3e; movq $0x12345678, 0x80(%r12, %r15)"
	DCR_SINGLES ".byte 0x2e, 0x3e, 0x36; movq $0x12345678, 0x80(%r12, %r15)"
#else
	DCR_SINGLES ".byte 0x2e, 0x3e; movl $0x12345678, kp_insn_mem+8"
	DCR "movl $0x12345678, 0x80(%ebx, %ecx)", pre="and $7, %ecx"
	DCR "movl $0x12345678, %fs:0x80(%ebx, %ecx)", pre="and $7, %ecx; sub %fs:this_cpu_off, %ebx"
#endif
	/* Two instructions, in 64-bit code */
	DCR W(mov %AX, %CX), rest=W(mov %DX, %R8; nop)
	DCR W(lea 1(%AX), %CX), rest="nop; nop"
	DCR W(lea 1(%AX), %CX), rest="cmc; nop"
	DCR "cmc", rest=W(lea 1(%AX), %CX; nop)
	DCR W(inc %eax), rest=W(add %AX, %DX; nop; nop)
	DCR "stc", rest=W(LONGEST)
	DCR W(lea -8(%DX), %CX), rest=W(LONGEST)
	DCR W(xchg %AX, %DX), rest=W(lock xadd %AX, (%BX))
	DCR W(mov (%BX), %AX), rest=W(mov %AX, 8(%BX))
	/* Three */
	DCR "inc %eax", rest="inc %edx; inc %ecx; inc %eax; inc %edx"
	DCR W(add %AX, %DX), rest=W(cmc; adc %DX, %CX)
	DCR "nop", rest=W(cwde; addl $0x12345678, 0x20(%BX))
	/* Four */
	DCR "lahf", rest=W(cmc; cwde; sbb %AX, %CX)
	/* Five */
	DCR "nop", rest="nop; nop; nop; nop"
	DCR "cmc", rest="cwde; lahf; stc; cltd"
	DCR "stosb", rest="lodsb; scasb; movsb; cmpsb"
	DCR "nop", rest="nop; nop; nop; rep movsb", pre="mov $7, %ecx; cld"
	DCR "nop", rest=W(nop; nop; nop; LONGEST)
	DCR W(push %AX), rest=W(push %CX; push %DX; push %BX; push %SI), \
		post=W(pop %AX; pop %CX; pop %DX; pop %R8; pop %R9), flags=(KP_OPT | KP_GAP)
#ifdef CONFIG_X86_64
#ifndef CONFIG_X86_KERNEL_IBT
	/* With IBT, an endbr inside a function cannot be probed. */
	DCR "endbr64", rest="mov %rax, %rcx", pre="nop"
#endif
	DCR "push %rbp", rest="mov %rsp, %rbp; push %rbx", post="pop %rcx; pop %rbp"
	DCR "push %rax", rest="push %rdx; inc %eax; pop %rdx", post="pop %rcx"
	DCR "stosb", rest="lodsb; cld; movsq"
#else
	DCR "mov %eax, %ecx", rest="lea 1(%edx), %edi"
	DCR "lea 1(%eax), %ecx", rest="movzbl %al, %edx"
	DCR "inc %eax", rest="lea 0x12345678(%edx), %ecx"
	DCR "cmc", rest="adc $0x12345678, %eax"
	DCR "stc", rest="adc $0x12345678, %edx"
	DCR "push %eax", rest="mov %eax, kp_insn_mem+12", post="pop %ecx"
	DCR "endbr32", rest="mov %eax, %ecx", pre="nop"
	DCR "push %ebp", rest="mov %esp, %ebp; sub $8, %esp", post="add $8, %esp; pop %ebp", \
		flags=(KP_OPT | KP_GAP)
	DCR "inc %eax", rest="add %edx, %ecx; adc %ecx, %eax"
	DCR "push %ebp", rest="mov %esp, %ebp; push %edi; push %esi", \
		post="pop %ecx; pop %edx; pop %ebp"
	DCR "push %eax", rest="push %edx; inc %eax; add %eax, %edx", post="pop %ecx; pop %edi"
	DCR "inc %eax", rest="inc %ecx; dec %edx; inc %esi; dec %edi"
	DCR "stosl", rest="lodsl; scasl; movsl; cmpsl"
	/* Not in 64-bit mode */
	DCR "daa", rest="das; aaa; aas; aad"
	DCR "aam", rest="aad; .byte 0x82, 0xc0, 0x5a"
	DCR "pushal", rest="inc %eax; inc %ecx; inc %edx; popal"
	DCR "push %ds", rest="inc %eax; inc %ecx; push %es; inc %edx", post="pop %edi; pop %esi"
	DCR "arpl %cx, %dx", rest="lea (%bx, %si), %eax"
	DCR "bound %eax, (%ebx)", rest="addr16 nop; nop", \
		pre="movl $0x80000000, (%ebx); movl $0x7fffffff, 4(%ebx)"
	/* Some of these are single-stepped, others are not known to be allowed under a jump. */
	DCR "nop", rest="push %fs; pop %es; nop; nop", flags=0
	DCR "nop", rest="les (%ebx), %ecx; nop; nop", pre="mov %fs, 4(%ebx)", flags=0
	DCR "pop %es", rest="nop; nop; nop; nop", pre="push %fs", flags=0
	/* No jump is allowed: the detour buffer would call handlers with the changed es or ds. */
	DCR "mov %es:(%ebx), %ecx", rest="inc %eax; nop", flags=0, \
		pre="push %fs; pop %es; sub %fs:this_cpu_off, %ebx"
	DCR "inc %eax", rest="mov 8(%ebx), %ecx; nop", flags=0, \
		pre="sub %fs:this_cpu_off, %ebx; push %fs; pop %ds"
#endif

/* Operands relative to rip, which the copies have to find from another address */
GROUP dcr_memory
	DCR_SINGLES W(mov MEM(0), %AX), W(mov %AX, MEM(0)), W(lea MEM(40), %AX)
	DCR_SINGLES W(SIZED(mov) $0x12345678, MEM(8))
	DCR "inc %eax", rest=W(mov MEM(8), %CX)
	DCR "inc %eax", rest=W(mov %CX, MEM(16))
	DCR "inc %eax", rest=W(lea MEM(24), %CX)
	DCR "mov %eax, %edx", rest=W(cmpb $0x12, MEM(81))
	DCR "nop", rest=W(imul $0x123, MEM(48), %eax)
	DCR "nop", rest=W(nop; nop; nop; movl $0x12345678, MEM(20))
	DCR W(mov %DX, %CX), rest=W(nop; lock cmpxchg %ecx, MEM(88))
	DCR "nop", rest=W(mov PER_CPU, %AX)
	DCR W(lea 1(%AX), %CX), rest=W(btl $3, MEM(112))
	DCR "nop", rest=W(nop; SIZED(push) MEM(64)), post=W(pop %CX)
	DCR "nop", rest=W(shrd $3, %AX, MEM(64))
#ifdef CONFIG_X86_64
	DCR "lea 0(%rip), %r9"
	DCR "inc %eax", rest="lea 0(%rip), %rcx"
	DCR "inc %eax", rest="lea -9(%rip), %rcx"
	DCR "nop", rest="nop; nop; nop; lea -11(%rip), %rbx"
#endif

GROUP dcr_jump
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	/* At the end */
	DCR_BRANCH "nop", rest="{disp32} j\cc 1f"
	DCR_BRANCH W(lea 1(%AX), %CX), rest="j\cc 1f"
.endr
	DCR_BRANCH "test $1, %al", rest="nop; jz 1f"
	DCR_BRANCH W(cmp %AX, %DX), rest="nop; jb 1f"
	DCR_BRANCH "inc %eax", rest="cmc; nop; jc 1f"
	DCR_BRANCH W(lea 1(%AX), %CX), rest="jmp 1f"
	DCR_BRANCH "nop", rest="{disp32} jmp 1f"
	DCR_BRANCH "nop", rest="nop; nop; jmp 1f"
	DCR_BRANCH "nop", rest="nop; nop; nop; {disp32} jmp 1f"
	/* In the middle */
	DCR_BRANCH "nop", rest="jc 1f; nop; cmc"
	DCR_BRANCH "nop", rest=W(jz 1f; inc %AX; nop)
	DCR_BRANCH "nop", rest=W(jz 1f; add %AX, %DX)
	DCR_BRANCH "cmc", rest="jo 1f; jc 1f"
	DCR_BRANCH "cmc", rest="jc 1f; {disp32} jz 1f"
	/* Branches back to code before the probed instruction, and to that instruction */
	DCR W(lea 1(%AX), %CX), rest="jmp 1b", post="3:", pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:"
	DCR W(mov %AX, %CX), rest="{disp32} jmp 1b", post="3:", \
		pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:"
	DCR "dec %ecx", rest="{disp32} jnz 1b", pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	DCR "dec %ecx", rest="jnz 1b; nop; nop", pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	DCR W(inc %AX), rest=W(WIDTH(, nop;) dec %ecx; jnz 1b), pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	/* A branch to the byte after the overlapped ones must not prevent the jump. */
	DCR "nop", rest="nop; nop; nop; nop", post="1: dec %ecx; jnz 1b", pre="mov $5, %ecx"
	DCR "mov $0x12345678, %eax", post="1: dec %ecx; jnz 1b", pre="mov $5, %ecx"
	/* Branches whose displacement can only have one byte */
	DCR_BRANCH "nop", rest="nop; nop; loop 1f", flags=0
	DCR_BRANCH "nop", rest=W(nop; nop; WIDTH(jrcxz, jecxz) 1f), pre="and $1, %ecx", flags=0
	DCR_BRANCH "nop", rest=W(nop; WIDTH(jecxz, jcxz) 1f), pre="and $0x10001, %ecx", flags=0
	/* Calls, which must push the return address of the original; then returns */
	DCR "nop", rest="call kp_insn_dcr_callee", flags=0
	DCR "nop", rest=".byte 0x2e; call kp_insn_dcr_callee", flags=KP_OPT
	DCR "nop", rest=W(mov %AX, %CX; WIDTH(, nop;) RETPOLINE_SAFE; ret), \
		post="1:", pre=W(PUSH(1f))
	DCR "nop", rest="nop; RETPOLINE_SAFE; ret; int3; int3", post="1:", pre=W(PUSH(1f))
	DCR "RETPOLINE_SAFE; ret", rest="int3; int3; int3; int3", post="1:", \
		flags=KP_BRANCH, pre=W(PUSH(1f))
	/* The probed instruction is a branch itself. */
	DCR_BRANCH "{disp32} jz 1f", flags=KP_BRANCH
	DCR_BRANCH "jz 1f", rest=W(add %AX, %CX; inc %eax), flags=KP_BRANCH
	DCR_BRANCH "jmp 1f", rest="nop; nop; nop", flags=KP_BRANCH
	DCR_BRANCH "{disp32} jmp 1f", flags=KP_BRANCH

/*
 * The copies must start with the flags of the original code, and the code after the copies must get
 * the flags that the copies set.
 */
GROUP dcr_flags
	DCR "std", rest="stosb; lodsb; cld; nop"
	DCR "cld", rest="stosb; lodsb; std; nop", post="scasb"
	DCR "lodsb", rest="scasb; stosb; movsb; nop"
	DCR "stc", rest=W(adc %AX, %DX; cmc; nop)
	DCR "cmc", rest=W(rcl %AX; WIDTH(, nop;) lahf)
	DCR "sahf", rest=W(adc $1, %AX; lahf)
	DCR "inc %eax", rest=W(adc %AX, %DX; WIDTH(, nop; nop)), post="setc %cl"
	/* Instructions that use the state of the CPU can be copied. */
	DCR "nop", rest="str %eax; nop"
	DCR "str %eax", rest="nop; nop"
	DCR "nop", rest="clts; nop; nop"
	DCR "nop", rest=W(mov %cr0, %AX; nop)
	DCR W(mov %cr0, %AX), rest=W(mov %AX, %cr0)
	/* A call that fills the return stack buffer cannot be copied. */
	DCR "nop", rest=W(call 1f; int3; 1: add $WORD, %SP), flags=KP_NO_OPT
	/* Instructions that read or write the interrupt flag */
	DCR "pushf", rest="nop; nop; nop; nop", post=W(pop %AX), flags=0
	DCR "nop", rest=W(nop; nop; pushf; pop %AX), flags=0
	DCR "cmc", rest=W(rcl %AX; WIDTH(, nop;) pushf), post=W(pop %CX), flags=0
.irp bits, 0x8d5, 0x400
	DCR "popf", rest=W(adc %AX, %DX; nop; nop), pre=W(pushf; xorl $\bits, (%SP)), flags=0
.endr
	DCR "popf", rest="pushf; nop; nop; nop", post=W(pop %AX), \
		pre=W(pushf; xorl $0x40000, (%SP)), flags=0
	DCR "nop", rest=W(popf; adc %AX, %DX; nop), pre=W(pushf; xorl $0x8d5, (%SP)), flags=0
	DCR "nop", rest="nop; nop; nop; popf", pre=W(pushf; xorl $0x8d5, (%SP)), flags=0
	DCR "nop", rest="popf; nop; nop; nop", pre=W(pushf; xorl $0x200, (%SP)), flags=0
	DCR "cli", rest=W(pushf; pop %AX; nop; nop), flags=0
	DCR "nop", rest=W(cli; pushf; pop %AX; nop), flags=0
	DCR "nop", rest=W(sti; pushf; pop %AX; nop), flags=0
#ifndef CONFIG_X86_64
	DCR "daa", rest="adc %eax, %edx; nop; lahf"
#endif

/* Instructions that raise exceptions, most of them with a fix-up */

/* Nothing is mapped in the last page. */
#define BAD(reg)	mov $-4096, %reg
#define BAD_KERNEL	W(BAD(BX))
#define MEM_EDGE	WIDTH(kp_insn_edge(%rip), kp_insn_edge)
/* An unmapped address of user space. With SMAP, an access without AC would be an oops. */
#define BAD_USER	"xor %ebx, %ebx; KP_STAC"

.macro PAGE_FAULT code:req, pre=BAD_KERNEL
	FAULT "\code", X86_TRAP_PF, pre="\pre"
.endm

.macro PAGE_FAULTS codes:vararg
.irp code, \codes
	PAGE_FAULT "\code"
.endr
.endm

/* Reads and writes of kernel addresses */
PAGE_FAULTS W(mov (%BX), %CX), W(mov %CX, 8(%BX)), W(add %CX, (%BX)), W(lock xadd %CX, (%BX))
PAGE_FAULTS W(xchg %CX, (%BX)), W(lock cmpxchg %CX, (%BX)), W(adc (%BX), %DX)
PAGE_FAULTS W(SIZED(push) (%BX)), W(SIZED(pop) (%BX))
PAGE_FAULT W(movb $1, (%BX, %INDEX, 8)), pre=W(BAD(BX); and $7, %INDEX)
PAGE_FAULT W(mov -16(%BX), %BX), pre=W(mov $-2048, %BX)
PAGE_FAULT W(bt %CX, (%BX)), pre=W(mov $-2048, %BX; and $63, %ecx)
PAGE_FAULT W(SIZED(lods)), pre=W(mov $-2048, %SI)
PAGE_FAULT "rep stosb", pre=W(cld; BAD(DI); mov $64, %ecx)
/* The string instruction reaches the unmapped page after 16 bytes. */
PAGE_FAULT "rep movsb", pre=W(cld; mov MEM_EDGE, %SI; mov $64, %ecx)
PAGE_FAULT W(rep SIZED(movs)), pre=W(cld; mov MEM_EDGE, %SI; mov $9, %ecx)
/* Branches that kprobes emulates if it can read the target */
PAGE_FAULT W(jmp *(%BX)), pre=W(BAD(BX); RETPOLINE_SAFE)
PAGE_FAULT W(call *8(%BX)), pre=W(BAD(BX); RETPOLINE_SAFE)
FAULT W(mov 16(%BX), %DX), X86_TRAP_PF, pre=BAD_USER, fixed="KP_CLAC"
FAULT W(movl $1, 32(%BX)), X86_TRAP_PF, pre=BAD_USER, fixed="KP_CLAC"
FAULT W(jmp *48(%BX)), X86_TRAP_PF, fixed="KP_CLAC", \
	pre=W(xor %ebx, %ebx; KP_STAC; RETPOLINE_SAFE)
#ifndef CONFIG_X86_64
PAGE_FAULTS "les (%ebx), %ecx", "arpl %cx, (%ebx)"
PAGE_FAULTS "mov -4096, %eax", "mov %eax, -4096"
PAGE_FAULT "lock cmpxchg8b (%edi)", pre=W(BAD(edi))
PAGE_FAULT "xlat", pre=W(BAD(ebx); movzbl %al, %eax)
/* An address of 16 bits is always one of user space. */
FAULT "mov (%bx), %edx", X86_TRAP_PF, pre=BAD_USER, fixed="KP_CLAC"
#endif

/* Divisions by zero, or whose result is too large */
FAULT "div %ecx", X86_TRAP_DE, pre="xor %ecx, %ecx"
FAULT W(div %CX), X86_TRAP_DE, pre="mov $1, %ecx; mov $2, %edx"
FAULT W(idivl 64(%BX)), X86_TRAP_DE, pre=W(movl $0, 64(%BX))

/* Invalid: lock mov, which some emulators execute; lock add; a move to cr1 */
FAULT W(.byte 0xf0; mov %CX, (%BX)), X86_TRAP_UD, flags=KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xc8", X86_TRAP_UD
FAULT ".byte 0x0f, 0x22, 0xc8", X86_TRAP_UD

/* Selectors beyond the descriptor table */
#define BAD_SELECTOR	"mov $0xfff8, %ecx"
FAULT "mov %ecx, %ds", X86_TRAP_GP, pre=BAD_SELECTOR
FAULT "mov %ecx, %es", X86_TRAP_GP, pre=BAD_SELECTOR
FAULT W(WIDTH(lretq, lret)), X86_TRAP_GP, pre="push $0xfff8; push $1"

#ifdef CONFIG_X86_64
#define NO_ADDRESS(reg)	movabs $0x5a5a5a5a5a5a5a00, %reg
#define NON_CANONICAL	W(NO_ADDRESS(rbx))

FAULT "mov (%rbx), %r8", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "mov %r8, (%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "orl $1, 64(%rbx)", X86_TRAP_GP, pre=NON_CANONICAL
FAULT "jmp *16(%rbx)", X86_TRAP_GP, pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE)
/* Branches to a non-canonical address */
FAULT "jmp *%rbx", X86_TRAP_GP, pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE), flags=KP_BRANCHES
FAULT "call *%rbx", X86_TRAP_GP, pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE), flags=KP_BRANCHES
FAULT "jmp *(%rbx)", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rcx); mov %rcx, (%rbx); RETPOLINE_SAFE)
FAULT "ret", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rbx); push %rbx; RETPOLINE_SAFE)
FAULT "ret $8", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rbx); push %rbx; push %rbx; RETPOLINE_SAFE)
FAULT "lretq", X86_TRAP_GP, flags=KP_BRANCHES, \
	pre=W(NO_ADDRESS(rbx); mov %cs, %ecx; push %rcx; push %rbx)
/* An access through rbp may raise #SS or, as through other registers, #GP. Trap 0: accept both. */
FAULT "mov (%rbp), %r9", 0, pre=W(NO_ADDRESS(rbp))
#else
/* Null selectors, which allow no access, except in some emulators */
#define NULL_SEG(seg)	xor %ecx, %ecx; mov %ecx, %seg

FAULT "mov (%ebx), %ecx", X86_TRAP_GP, pre=W(NULL_SEG(ds)), flags=KP_MAY_FAULT
FAULT "mov %es:(%ebx), %ecx", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_MAY_FAULT
FAULT "mov %eax, %es:(%ebx)", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_MAY_FAULT
FAULT "orl $1, %gs:64(%ebx)", X86_TRAP_GP, pre=W(NULL_SEG(gs)), flags=KP_MAY_FAULT
FAULT "stosl", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_MAY_FAULT
FAULT "mov %ecx, %gs", X86_TRAP_GP, pre=BAD_SELECTOR
FAULT "pop %es", X86_TRAP_GP, pre="push $0xfff8"
FAULT "les (%ebx), %ecx", X86_TRAP_GP, pre="movw $0xfff8, 4(%ebx)"
FAULT "lds (%ebx), %ecx", X86_TRAP_GP, pre="movw $0xfff8, 4(%ebx)"
FAULT "fxsave 8(%ebx)", X86_TRAP_GP, flags=KP_FPU
FAULT "fxrstor 8(%ebx)", X86_TRAP_GP, flags=KP_FPU
FAULT "aam $0", X86_TRAP_DE
#endif

/* A pending exception of the FPU, which the next FPU instruction raises */
FAULT "fwait", X86_TRAP_MF, flags=KP_FPU|KP_MAY_FAULT, fixed="fninit", \
	pre=W(fninit; movw $0x033b, (%BX); fldcw (%BX); fld1; fldz; fdivrp)

/* Exceptions of the same kinds, but without a fix-up in the exception table */
FAULT W(mov %R11, (%BX)), X86_TRAP_PF, pre=BAD_KERNEL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT W(call *(%BX)), X86_TRAP_PF, flags=KP_NO_EXTABLE|KP_OOPS, \
	pre=W(BAD(BX); RETPOLINE_SAFE)
FAULT W(call *24(%BX)), X86_TRAP_PF, flags=KP_NO_EXTABLE|KP_OOPS, \
	pre=W(xor %ebx, %ebx; RETPOLINE_SAFE)
FAULT W(div %R10D), X86_TRAP_DE, pre=W(xor %R10D, %R10D), flags=KP_NO_EXTABLE
FAULT W(.byte 0xf0; mov %AX, (%BX)), X86_TRAP_UD, flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT ".byte 0xf0, 0x01, 0xca", X86_TRAP_UD, flags=KP_NO_EXTABLE
#ifdef CONFIG_X86_64
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE
FAULT "mov (%rbx), %r10", X86_TRAP_GP, pre=NON_CANONICAL, flags=KP_NO_EXTABLE|KP_OOPS
FAULT "rep stosq", X86_TRAP_GP, flags=KP_NO_EXTABLE, pre=W(cld; NO_ADDRESS(rdi); mov $8, %ecx)
FAULT "call *(%rbx)", X86_TRAP_GP, flags=KP_NO_EXTABLE, \
	pre=W(NO_ADDRESS(rbx); RETPOLINE_SAFE)
#else
FAULT "mov %edx, %ds", X86_TRAP_GP, pre="mov $0xfff8, %edx", flags=KP_NO_EXTABLE|KP_OOPS
FAULT "mov %es:(%ebx), %edi", X86_TRAP_GP, pre=W(NULL_SEG(es)), flags=KP_NO_EXTABLE|KP_MAY_FAULT
FAULT "fxsave 8(%ebx)", X86_TRAP_GP, flags=KP_FPU|KP_NO_EXTABLE
/* Exceptions for which the kernel does not search the exception tables */
FAULT "bound %ecx, (%ebx)", X86_TRAP_BR, flags=KP_NO_EXTABLE, \
	pre="movl $1, (%ebx); movl $2, 4(%ebx); xor %ecx, %ecx"
FAULT "bound %cx, kp_insn_mem+256", X86_TRAP_BR, flags=KP_NO_EXTABLE, \
	pre="movl $0x00020001, (%ebx); mov $7, %ecx"
#endif

/*
 * Encodings that kprobes once handled wrongly, and similar ones. Their operands may be anywhere, so
 * kp_insn does not execute them. The fuzzers, kp_fuzz and the programs in fuzz/, place the
 * operands. These bytes are not in the text, since objtool cannot decode all of them.
 */
.macro PLACED codes:vararg
.irp code, \codes
	.section .rodata.kp_names, "a"
101:	\code
102:
	ROW "\code", 101b, 101b, 102b, base=kp_insn_names, flags=KP_PLACED
.endr
.endm

.macro BYTES bytes:vararg
.irp insn, \bytes
	PLACED ".byte \insn"
.endr
.endm

	/*
	 * The decoder knows no ModRM byte of these two: the copy was too short, and the CPU took
	 * the jump after it for the rest of the instruction.
	 */
	BYTES "0x0f, 0x19, 0xc0", "0x0f, 0x1d, 0x00"
	/* cmovbe, setno, cmovnp with a prefix that is mandatory for other forms only */
	BYTES "0xf3, 0x0f, 0x46, 0xc1", "0xf2, 0x0f, 0x91, 0xc0", "0xf2, 0x0f, 0x4b, 0xc1"
	/* cvtdq2pd, which has a mandatory prefix as well, but which the decoder knows */
	BYTES "0xf3, 0x0f, 0xe6, 0xc1"
	/* haddpd, haddps, pextrb, pmovzxbd, punpcklqdq with a prefix after the mandatory one */
	BYTES "0x66, 0x3e, 0x0f, 0x7d, 0xc1", "0xf2, 0x2e, 0x0f, 0x7d, 0xc1"
	BYTES "0x66, 0x2e, 0x0f, 0x3a, 0x14, 0xc0, 0x01", "0x66, 0x64, 0x0f, 0x38, 0x31, 0xc1"
	BYTES "0x66, 0xf0, 0x0f, 0x6c, 0xc1"
	/* pslldq, psrldq: the decoder knows the ModRM byte, but not the immediate */
	BYTES "0x66, 0x64, 0x0f, 0x73, 0xfa, 0x03", "0x66, 0x67, 0x0f, 0x73, 0xdb, 0x03"
	/* mov of cr0, dr5, dr0: no operand is in memory, whatever the ModRM byte says */
	BYTES "0x0f, 0x20, 0x04, 0x3d, 0x20, 0x00, 0x00, 0x00"
	BYTES "0x36, 0x66, 0x0f, 0x21, 0x6f, 0xea", "0x0f, 0x23, 0x86, 0xde, 0xad, 0xbe, 0xef"
	/* extrq: 66 0f 78 has two immediates on AMD's CPUs */
	BYTES "0x66, 0x0f, 0x78, 0xc0, 0x01, 0x02", "0x66, 0x2e, 0x0f, 0x78, 0xe3, 0x01, 0x02"
	/* loopne, loope: f2 and f3 are the condition on AMD's CPUs */
	BYTES "0xf3, 0xe0, 0x24", "0xf2, 0xe1, 0x55", "0xf3, 0x2e, 0xe0, 0xc2"
	/* loopne, loope; loop to the next instruction; loop, jcxz with any address size */
	BYTES "0xe0, 0xfc", "0xe1, 0xf0", "0xe2, 0x00", "0x67, 0xe2, 0x05", "0xe3, 0x05"
	BYTES "0x67, 0xe3, 0x05"
	/* je, jne, jmp, call, call of the next instruction */
	BYTES "0x74, 0x8e", "0x0f, 0x85, 0x10, 0x00, 0x00, 0x00", "0xeb, 0x10"
	BYTES "0xe8, 0x10, 0x00, 0x00, 0x00", "0xe8, 0x00, 0x00, 0x00, 0x00"
	/* endbr64, a nop, prefetch of a register */
	BYTES "0xf3, 0x0f, 0x1e, 0xfa", "0x0f, 0x1f, 0x44, 0x00, 0x00", "0x0f, 0x0d, 0xff"
	PLACED "ret $8", "lretl", "lretl $16", "enter $16, $1"
	PLACED W(SIZED(push) -8(%SP)), W(SIZED(push) 8(%SP)), W(SIZED(pop) 8(%SP))
#ifdef CONFIG_X86_64
	/* cvtdq2pd after another prefix, loope with REX, xchg of r8 */
	BYTES "0xf3, 0x67, 0x42, 0x0f, 0xe6, 0xc1", "0xf2, 0x44, 0xe1, 0x2e", "0x41, 0x90"
	/* pushf and popf of 8 bytes: REX.W goes before the operand-size prefix */
	BYTES "0x66, 0x48, 0x9c", "0x66, 0x48, 0x9d", "0x66, 0x4d, 0x9d"
	/*
	 * jmp and call through gs or fs. The CPU uses the last of several segment prefixes, but the
	 * decoder records each prefix only once.
	 */
	BYTES "0x65, 0x64, 0x65, 0xff, 0x20", "0x64, 0x65, 0x64, 0xff, 0x60, 0x10"
	BYTES "0x65, 0x64, 0x65, 0xff, 0x10"
	PLACED "jmp *(%eax)", "jmp *0(%eip)", "lea 0(%eip), %eax", "lretq $16"
#else
	BYTES "0x64, 0x2e, 0xff, 0x20", "0x2e, 0x64, 0xff, 0x20", "0x64, 0x36, 0x64, 0xff, 0x20"
	/* lcall, lcall, ljmp to other segments; a byte follows the first */
	BYTES "0x9a, 0x00, 0x04, 0x00, 0x30, 0x23, 0x00, 0x00"
	BYTES "0x9a, 0x00, 0x04, 0x00, 0x30, 0x23, 0x00"
	BYTES "0xea, 0x00, 0x04, 0x00, 0x30, 0x23, 0x00"
#endif

	.section .rodata.kp_cases, "a"
	.globl	kp_insn_nr
kp_insn_nr:
	.long	kp_nr
	.text

SYM_FUNC_START_LOCAL(kp_insn_callee)
	mov	(%SP), %R10
	lea	1(%R14, %CX), %R14
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_callee)
STACK_FRAME_NON_STANDARD kp_insn_callee
NOSEAL kp_insn_callee

#ifndef CONFIG_X86_64
/* The upper half of the pushed selector is not defined. */
SYM_FUNC_START_LOCAL(kp_insn_far_callee)
	mov	(%esp), %edi
	movzwl	4(%esp), %esi
	lret
	int3
SYM_FUNC_END(kp_insn_far_callee)
#endif

/*
 * void kp_insn_use_idt(const struct desc_ptr *idt, const struct desc_ptr *was): with interrupts
 * disabled, load the IDT @idt, and a few instructions later @was again.
 */
SYM_FUNC_START(kp_insn_use_idt)
	pushf
	cli
SYM_INNER_LABEL(kp_insn_use_idt_probed, SYM_L_GLOBAL)
	ANNOTATE_NOENDBR
	lidt	(%_ASM_ARG1)
	.rept	5
	nop
	.endr
	lidt	(%_ASM_ARG2)
	popf
	RET
SYM_FUNC_END(kp_insn_use_idt)
STACK_FRAME_NON_STANDARD kp_insn_use_idt

SYM_FUNC_START_LOCAL(kp_insn_dcr_callee)
	mov	(%SP), %R9
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_dcr_callee)
STACK_FRAME_NON_STANDARD kp_insn_dcr_callee
