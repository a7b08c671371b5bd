/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by kp_insn_dcr.S: cases with 64-bit operands or addresses, or with registers of
 * 64-bit mode.
 */

GROUP KP_DCR_PLAIN
	/* One, from five bytes to fifteen. */
	DCR "add $0x12345678, %r9"
	DCR "mov 0x123(%rbx, %r15), %rax"
	DCR "movl $0x12345678, 8(%rbx)"
	DCR "movq $0x12345678, 8(%r12)"
	DCR "movabs $0x1122334455667788, %r11"
	DCR "movq $0x12345678, 0x80(%rbx)"
	DCR "movq $0x12345678, 0x80(%r12, %r15)"
	DCR ".byte 0x2e, 0x3e; movq $0x12345678, 0x80(%r12, %r15)"
	DCR ".byte 0x2e, 0x3e, 0x36; movq $0x12345678, 0x80(%r12, %r15)"
	DCR ".byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e; movabs $0x1122334455667788, %r11"
	/* Two. */
	DCR "mov %rax, %rcx", rest="mov %rdx, %r8"
	DCR "lea 1(%rax), %rcx", rest="nop"
	DCR "lea 1(%rax), %rcx", rest="cmc"
	DCR "cmc", rest="lea 1(%rax), %rcx"
	DCR "inc %eax", rest="add %rax, %rdx"
	DCR "stc", rest="movabs $0x1122334455667788, %r11"
	DCR "lea -8(%rdx), %rcx", rest=".byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e; \
		movabs $0x1122334455667788, %r11"
	DCR "xchg %rax, %rdx", rest="lock xadd %rax, (%rbx)"
	DCR "mov (%rbx), %rax", rest="mov %rax, 8(%rbx)"
	/* With IBT none is probed but the first of a function. */
#ifndef CONFIG_X86_KERNEL_IBT
	DCR "endbr64", rest="mov %rax, %rcx", pre="nop"
#endif
	/* Three. */
	DCR "push %rbp", rest="mov %rsp, %rbp; push %rbx", post="pop %rcx; pop %rbp"
	DCR "inc %eax", rest="inc %edx; inc %ecx"
	DCR "add %rax, %rdx", rest="cmc; adc %rdx, %rcx"
	DCR "nop", rest="cwde; addl $0x12345678, 0x20(%rbx)"
	/* Four. */
	DCR "push %rax", rest="push %rdx; inc %eax; pop %rdx", post="pop %rcx"
	DCR "lahf", rest="cmc; cwde; sbb %rax, %rcx"
	DCR "stosb", rest="lodsb; cld; movsq"
	/* Five. */
	DCR "push %rax", rest="push %rcx; push %rdx; push %rbx; push %rsi", \
		post="pop %rax; pop %rcx; pop %rdx; pop %r8; pop %r9", flags=(KP_OPT | KP_GAP)
	DCR "nop", rest="nop; nop; nop; movabs $0x1122334455667788, %r11"

/* rip-relative operands have to be found from another address. */
GROUP KP_DCR_RIP
	DCR "mov kp_insn_mem+0(%rip), %rax"
	DCR "mov %rax, kp_insn_mem+0(%rip)"
	DCR "lea kp_insn_mem+40(%rip), %rax"
	DCR "lea 0(%rip), %r9"
	DCR "movq $0x12345678, kp_insn_mem+8(%rip)"
	DCR "inc %eax", rest="mov kp_insn_mem+8(%rip), %rcx"
	DCR "inc %eax", rest="mov %rcx, kp_insn_mem+16(%rip)"
	DCR "inc %eax", rest="lea kp_insn_mem+24(%rip), %rcx"
	DCR "inc %eax", rest="lea 0(%rip), %rcx"
	DCR "inc %eax", rest="lea -9(%rip), %rcx"
	DCR "mov %eax, %edx", rest="cmpb $0x12, kp_insn_mem+81(%rip)"
	DCR "nop", rest="imul $0x123, kp_insn_mem+48(%rip), %eax"
	DCR "nop", rest="nop; nop; nop; movl $0x12345678, kp_insn_mem+20(%rip)"
	DCR "nop", rest="nop; nop; nop; lea -11(%rip), %rbx"
	DCR "mov %rdx, %rcx", rest="nop; lock cmpxchg %ecx, kp_insn_mem+88(%rip)"
	DCR "nop", rest="mov %gs:this_cpu_off(%rip), %rax"
	DCR "lea 1(%rax), %rcx", rest="btl $3, kp_insn_mem+112(%rip)"
	DCR "nop", rest="nop; pushq kp_insn_mem+64(%rip)", post="pop %rcx"
	DCR "nop", rest="shrd $3, %rax, kp_insn_mem+64(%rip)"

GROUP KP_DCR_JUMP
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	/* At the end. */
	DCR_BRANCH "lea 1(%rax), %rcx", rest="j\cc 1f"
.endr
	DCR_BRANCH "cmp %rax, %rdx", rest="jb 1f"
	DCR_BRANCH "inc %eax", rest="cmc; jc 1f"
	DCR_BRANCH "lea 1(%rax), %rcx", rest="jmp 1f"
	/* In the middle. */
	DCR_BRANCH "nop", rest="jz 1f; inc %rax"
	/* Back to before it, and to the probed instruction itself. */
	DCR "mov %rax, %rcx", rest="jmp 1b", post="3:", \
		pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:"
	DCR "mov %rax, %rcx", rest="{disp32} jmp 1b", post="3:", \
		pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:"
	DCR "dec %ecx", rest="jnz 1b; nop", pre="mov $5, %ecx; 1:", flags=(KP_OPT | KP_HITS_AGAIN)
	DCR "inc %rax", rest="dec %ecx; jnz 1b", pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	/* A displacement of one byte only, refused or right. */
	DCR_BRANCH "nop", rest="nop; nop; jrcxz 1f", pre="and $1, %ecx", flags=0
	/* Whatever becomes of them, the return address is that of the case. */
	DCR "nop", rest="mov %rax, %rcx; ANNOTATE_RETPOLINE_SAFE; ret", post="1:", \
		pre="lea 1f(%rip), %rax; push %rax"
	DCR "nop", rest="nop; ANNOTATE_RETPOLINE_SAFE; ret; int3; int3", post="1:", \
		pre="lea 1f(%rip), %rax; push %rax"
	DCR "ANNOTATE_RETPOLINE_SAFE; ret", rest="int3; int3; int3; int3", post="1:", \
		flags=KP_BRANCH, pre="lea 1f(%rip), %rax; push %rax"
	/* The first one is a branch itself. */
	DCR_BRANCH "jz 1f", rest="inc %rax", flags=KP_BRANCH

GROUP KP_DCR_FLAGS
	/* Those that have to do with the interrupt flag may be refused. */
	DCR "pushfq", rest="nop; nop; nop; nop", post="pop %rax", flags=0
	DCR "nop", rest="nop; nop; pushfq; pop %rax", flags=0
	DCR "stc", rest="adc %rax, %rdx; cmc"
	DCR "cmc", rest="rcl %rax; pushfq", post="pop %rcx", flags=0
	DCR "cmc", rest="rcl %rax; lahf"
	DCR "sahf", rest="adc $1, %rax; lahf"
	DCR "inc %eax", rest="adc %rax, %rdx", post="setc %cl"
	DCR "popfq", rest="adc %rax, %rdx; nop", pre="pushfq; xorl $0x8d5, (%rsp)", flags=0
	DCR "popfq", rest="adc %rax, %rdx; nop", pre="pushfq; xorl $0x400, (%rsp)", flags=0
	DCR "popfq", rest="pushfq; nop; nop; nop", post="pop %rax", \
		pre="pushfq; xorl $0x40000, (%rsp)", flags=0
	DCR "nop", rest="popfq; adc %rax, %rdx", pre="pushfq; xorl $0x8d5, (%rsp)", flags=0
	DCR "nop", rest="nop; nop; nop; popfq", pre="pushfq; xorl $0x8d5, (%rsp)", flags=0
	DCR "nop", rest="popfq; nop; nop; nop", pre="pushfq; xorl $0x200, (%rsp)", flags=0
	/* A call that fills the return stack buffer cannot be moved. */
	DCR "nop", rest="call 1f; int3; 1: add $8, %rsp", flags=KP_NO_OPT
	DCR "cli", rest="pushfq; pop %rax; nop; nop", flags=0
	DCR "nop", rest="cli; pushfq; pop %rax; nop", flags=0
	DCR "nop", rest="sti; pushfq; pop %rax; nop", flags=0
	DCR "nop", rest="mov %cr0, %rax; nop"
	DCR "mov %cr0, %rax", rest="mov %rax, %cr0"

	.text
SYM_FUNC_START_LOCAL(kp_insn_dcr_callee)
	mov	(%rsp), %r10
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_dcr_callee)
STACK_FRAME_NON_STANDARD kp_insn_dcr_callee
