/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instruction matrix: instructions that the jump of an optimised probe overwrites. Each case
 * has one to five of them, and the probe is on the first. The detour buffer has copies of all, in
 * which displacements and the like must be corrected.
 *
 * In cases without KP_OPT, the probe need not be optimised, but the results must be right.
 */

#include "kp_insn_macros.S"

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

#define PREFIXES	.byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e
#ifdef CONFIG_X86_64
#define LONGEST		PREFIXES; movabs $0x1122334455667788, %r11
#else
#define LONGEST		PREFIXES; mov $0x12345678, %ecx
#endif

TABLE kp_insn_dcr

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
	/* Two, in 64-bit code */
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
	/* No jump is allowed: the detour buffer would call the handlers with this es or ds. */
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
 * The copies must get the flags of the original, and the
 * code after them must get those that the copies set.
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

TABLE_END kp_insn_dcr

	.text
SYM_FUNC_START_LOCAL(kp_insn_dcr_callee)
	mov	(%SP), %R9
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_dcr_callee)
STACK_FRAME_NON_STANDARD kp_insn_dcr_callee
