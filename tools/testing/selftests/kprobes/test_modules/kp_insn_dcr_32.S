/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by kp_insn_dcr.S: cases with 32-bit addresses, or whose length is another one in
 * 32-bit mode, and instructions that exist outside of 64-bit mode only.
 */

GROUP KP_DCR_PLAIN
	/* One, from five bytes to twelve. */
	DCR "mov kp_insn_mem+8, %eax"
	DCR "mov %eax, kp_insn_mem+8"
	DCR "mov 0x123(%ebx), %eax"
	DCR "movl $0x12345678, 8(%ebx)"
	DCR "movl $0x12345678, 0x80(%ebx)"
	DCR "movl $0x12345678, 0x80(%ebx, %ecx)", pre="and $7, %ecx"
	DCR ".byte 0x2e, 0x3e; movl $0x12345678, kp_insn_mem+8"
	DCR ".byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e; mov $0x12345678, %ecx"
	DCR "movl $0x12345678, %fs:0x80(%ebx, %ecx)", pre="and $7, %ecx; sub %fs:this_cpu_off, %ebx"
	/* Two. */
	DCR "mov %eax, %ecx", rest="lea 1(%edx), %edi"
	DCR "lea 1(%eax), %ecx", rest="movzbl %al, %edx"
	DCR "inc %eax", rest="lea 0x12345678(%edx), %ecx"
	DCR "cmc", rest="adc $0x12345678, %eax"
	DCR "stc", rest="adc $0x12345678, %edx"
	DCR "lea -8(%edx), %ecx", rest=".byte 0x3e, 0x3e, 0x3e, 0x3e, 0x3e; mov $0x12345678, %edx"
	DCR "xchg %eax, %edx", rest="lock xadd %eax, (%ebx)"
	DCR "mov (%ebx), %eax", rest="mov %eax, 8(%ebx)"
	DCR "inc %eax", rest="mov kp_insn_mem+8, %ecx"
	DCR "nop", rest="mov %fs:this_cpu_off, %eax"
	DCR "push %eax", rest="mov %eax, kp_insn_mem+12", post="pop %ecx"
	DCR "endbr32", rest="mov %eax, %ecx", pre="nop"
	/* Three. */
	DCR "push %ebp", rest="mov %esp, %ebp; sub $8, %esp", post="add $8, %esp; pop %ebp", \
		flags=(KP_OPT | KP_GAP)
	DCR "inc %eax", rest="add %edx, %ecx; adc %ecx, %eax"
	DCR "add %eax, %edx", rest="cmc; adc %edx, %ecx"
	DCR "nop", rest="cwde; addl $0x12345678, 0x20(%ebx)"
	/* Four. */
	DCR "push %ebp", rest="mov %esp, %ebp; push %edi; push %esi", \
		post="pop %ecx; pop %edx; pop %ebp"
	DCR "lahf", rest="cmc; cwde; sbb %eax, %ecx"
	DCR "push %eax", rest="push %edx; inc %eax; add %eax, %edx", post="pop %ecx; pop %edi"
	/* Five. */
	DCR "push %eax", rest="push %ecx; push %edx; push %ebx; push %esi", \
		post="pop %eax; pop %ecx; pop %edx; pop %edi; pop %ebp", flags=(KP_OPT | KP_GAP)
	DCR "inc %eax", rest="inc %ecx; dec %edx; inc %esi; dec %edi"
	DCR "stosl", rest="lodsl; scasl; movsl; cmpsl"
	DCR "nop", rest="nop; nop; nop; mov $0x12345678, %edi"
	/* Those that exist outside of 64-bit mode only */
	DCR "daa", rest="das; aaa; aas; aad"
	DCR "aam", rest="aad; .byte 0x82, 0xc0, 0x5a"
	DCR "pushal", rest="inc %eax; inc %ecx; inc %edx; popal"
	DCR "push %ds", rest="inc %eax; inc %ecx; push %es; inc %edx", post="pop %edi; pop %esi"
	DCR "arpl %cx, %dx", rest="lea (%bx, %si), %eax"
	DCR "bound %eax, (%ebx)", rest="addr16 nop; nop", \
		pre="movl $0x80000000, (%ebx); movl $0x7fffffff, 4(%ebx)"
	/* Single-stepped, or not known to be allowed under a jump: refused or right */
	DCR "nop", rest="push %fs; pop %es; nop; nop", flags=0
	DCR "nop", rest="les (%ebx), %ecx; nop; nop", pre="mov %fs, 4(%ebx)", flags=0
	DCR "pop %es", rest="nop; nop; nop; nop", pre="push %fs", flags=0
	/* Handlers need their own es and ds: refused, or right */
	DCR "mov %es:(%ebx), %ecx", rest="inc %eax; nop", flags=0, \
		pre="push %fs; pop %es; sub %fs:this_cpu_off, %ebx"
	DCR "inc %eax", rest="mov 8(%ebx), %ecx; nop", flags=0, \
		pre="sub %fs:this_cpu_off, %ebx; push %fs; pop %ds"

GROUP KP_DCR_JUMP
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	/* At the end. */
	DCR_BRANCH "lea 1(%eax), %ecx", rest="j\cc 1f"
.endr
	DCR_BRANCH "cmp %eax, %edx", rest="nop; jb 1f"
	DCR_BRANCH "inc %eax", rest="cmc; nop; jc 1f"
	DCR_BRANCH "lea 1(%eax), %ecx", rest="jmp 1f"
	/* In the middle. */
	DCR_BRANCH "nop", rest="jz 1f; inc %eax; nop"
	DCR_BRANCH "nop", rest="jz 1f; add %eax, %edx"
	/* Back to before it, and to the probed instruction itself. */
	DCR "lea (%eax), %ecx", rest="nop; jmp 1b", post="3:", \
		pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:"
	DCR "mov %eax, %ecx", rest="{disp32} jmp 1b", post="3:", \
		pre="jmp 2f; 1: mov $2, %edx; jmp 3f; 2:"
	DCR "dec %ecx", rest="jnz 1b; nop; nop", pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	DCR "inc %eax", rest="nop; dec %ecx; jnz 1b", pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	/* A displacement of one byte only, refused or right. */
	DCR_BRANCH "nop", rest="nop; nop; jecxz 1f", pre="and $1, %ecx", flags=0
	DCR_BRANCH "nop", rest="nop; jcxz 1f", pre="and $0x10001, %ecx", flags=0
	/* Whatever becomes of them, the return address is that of the case. */
	DCR "nop", rest="mov %eax, %ecx; nop; ANNOTATE_RETPOLINE_SAFE; ret", post="1:", \
		pre="push $1f"
	DCR "nop", rest="nop; ANNOTATE_RETPOLINE_SAFE; ret; int3; int3", post="1:", pre="push $1f"
	DCR "ANNOTATE_RETPOLINE_SAFE; ret", rest="int3; int3; int3; int3", post="1:", \
		flags=KP_BRANCH, pre="push $1f"
	/* The first one is a branch itself. */
	DCR_BRANCH "jz 1f", rest="add %eax, %ecx; inc %eax", flags=KP_BRANCH

GROUP KP_DCR_FLAGS
	/* Those that have to do with the interrupt flag may be refused. */
	DCR "pushf", rest="nop; nop; nop; nop", post="pop %eax", flags=0
	DCR "nop", rest="nop; nop; pushf; pop %eax", flags=0
	DCR "stc", rest="adc %eax, %edx; cmc; nop"
	DCR "cmc", rest="rcl %eax; nop; pushf", post="pop %ecx", flags=0
	DCR "cmc", rest="rcl %eax; nop; lahf"
	DCR "sahf", rest="adc $1, %eax; lahf"
	DCR "inc %eax", rest="adc %eax, %edx; nop; nop", post="setc %cl"
	DCR "daa", rest="adc %eax, %edx; nop; lahf"
	DCR "popf", rest="adc %eax, %edx; nop; nop", pre="pushf; xorl $0x8d5, (%esp)", flags=0
	DCR "popf", rest="adc %eax, %edx; nop; nop", pre="pushf; xorl $0x400, (%esp)", flags=0
	DCR "popf", rest="pushf; nop; nop; nop", post="pop %eax", \
		pre="pushf; xorl $0x40000, (%esp)", flags=0
	DCR "nop", rest="popf; adc %eax, %edx; nop", pre="pushf; xorl $0x8d5, (%esp)", flags=0
	DCR "nop", rest="nop; nop; nop; popf", pre="pushf; xorl $0x8d5, (%esp)", flags=0
	DCR "nop", rest="popf; nop; nop; nop", pre="pushf; xorl $0x200, (%esp)", flags=0
	/* A call that fills the return stack buffer cannot be moved. */
	DCR "nop", rest="call 1f; int3; 1: add $4, %esp", flags=KP_NO_OPT
	DCR "cli", rest="pushf; pop %eax; nop; nop", flags=0
	DCR "nop", rest="cli; pushf; pop %eax; nop", flags=0
	DCR "nop", rest="sti; pushf; pop %eax; nop", flags=0
	DCR "nop", rest="mov %cr0, %eax; nop"
	DCR "mov %cr0, %eax", rest="mov %eax, %cr0"

	.text
SYM_FUNC_START_LOCAL(kp_insn_dcr_callee)
	mov	(%esp), %edi
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_dcr_callee)
