/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by kp_insn_integer.S: cases with 64-bit operands, the registers of 64-bit mode,
 * or 64-bit addresses.
 *
 * At the start rbx, rbp, rsi, rdi, r12 and r13 point into kp_insn_mem, r15 is small,
 * all other registers, the arithmetic flags, DF, IF and AC are random.
 */

GROUP KP_ALU
.irp op, add, or, adc, sbb, and, sub, xor, cmp
	CASE "\op %rdx, %rax"
	CASE "\op %r9d, %ecx"
	CASE "\op %r10w, %dx"
	CASE "\op %r8b, %r14b"
	CASE "\op (%rbx), %r11"
	CASE "\op %rax, 16(%rbx)"
	CASE "\op %cl, -9(%r13)"
	CASE "\op $0x7f, %r8"
	CASE "\op $-0x12345678, %r14"
	CASE "\op\()q $-3, 0x88(%rbp)"
	CASE "\op\()w $0x1234, (%r12)"
	CASE "\op\()l $0x12345678, kp_insn_mem+40(%rip)"
	CASE "\op kp_insn_mem+48(%rip), %rcx"
.endr
.irp op, inc, dec, neg, not
	CASE "\op %rax"
	CASE "\op %r9b"
	CASE "\op\()l 4(%rsi)"
	CASE "lock \op\()q (%rdi)"
.endr
	CASE "test %rax, %rdx"
	CASE "testq $0x1000, (%rbx)"
	CASE "testb $1, kp_insn_mem+3(%rip)"
.irp op, cdqe, cqo
	CASE "\op"
.endr
	CASE "bswap %r14"

GROUP KP_MOVE
	CASE "mov %rax, %r14"
	CASE "mov %r9d, %edx"
	CASE "mov %r10w, %ax"
	CASE "mov $-5, %rdx"
	CASE "movabs $0x1122334455667788, %r11"
	CASE "mov $0x5a, %r9b"
	CASE "movq $-77, (%rbx)"
	CASE "movb $0x33, 5(%r12)"
	CASE "movw $0x4455, 0x40(%r13)"
	CASE "movabs kp_insn_mem + 8, %rax"
	CASE "movabs %al, kp_insn_mem + 24"
	CASE "movzwl 6(%rbx), %r9d"
	CASE "movzbw (%rsi), %ax"
	CASE "movsbq %r8b, %rdx"
	CASE "movswl (%rdi), %ecx"
	CASE "movslq %eax, %r10"
	CASE "movslq (%r12), %rax"
	CASE "xchg %rax, %rdx"
	CASE "xchg %r8, %rax"
	CASE "xchg %r14, (%rbx)"
	CASE "lea (%rbx), %rax"
	CASE "lea -1(%rax, %rdx, 8), %rcx"
	CASE "lea 0x12345(, %r9, 4), %r10d"
	CASE "lea (%eax, %edx), %ecx"
	CASE "lea -5(%eax, %edx, 4), %rcx"
	CASE "movnti %rax, (%rbx)"
	CASE "movbe (%rbx), %rax", feature=X86_FEATURE_MOVBE
	CASE "movbe %ecx, 8(%rbx)", feature=X86_FEATURE_MOVBE
	CASE "nopw 0x12345678(%rax, %rdx)"
	CASE "nopl 0(%rax, %rax)"
	/* At the start of a function the probe would move past it. */
	/* With IBT none is probed but the first of a function. */
#ifndef CONFIG_X86_KERNEL_IBT
	CASE "endbr64", pre="nop"
#endif
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	CASE "set\cc 7(%rbx)"
	CASE "cmov\cc %rdx, %rax"
	CASE "cmov\cc (%rbx), %r9d"
.endr

GROUP KP_ADDRESS
	CASE "mov 1(%rbx), %rax"
	CASE "mov 0x123(%rbx), %eax"
	CASE "mov (%rbx, %r15), %rax"
	CASE "mov 8(%rbx, %r15, 4), %ax"
	CASE "mov -8(%rbp, %r15, 2), %r8b"
	CASE "mov (%r12), %rax"
	CASE "mov (%r13), %rax"
	CASE "mov %rax, (%r12, %r15, 8)"
	CASE "mov %r9d, (%r13, %r15)"
	CASE "mov %rdx, -128(%rdi)"
	CASE "mov %rdx, -129(%rdi)"
	CASE "mov kp_insn_mem + 8(, %r15), %rax"
	CASE "mov %ds:(%rbx), %rax"
	CASE "mov %es:8(%rsi), %rax"
	CASE "mov %cs:(%rdi), %edx"
	CASE "mov %ss:(%r13), %cx"
	/* Prefixes that do nothing here, stacked */
	CASE ".byte 0x3e, 0x2e; mov (%rbx), %rax"
	CASE ".byte 0x40; mov (%rbx), %eax"
	CASE ".byte 0x66, 0x48; mov %eax, 8(%rbx)"
	CASE "mov %gs:this_cpu_off, %rax"
	CASE "mov %gs:this_cpu_off(%rip), %rdx"
	CASE "add %gs:this_cpu_off(%rip), %r9"
	CASE "cmp %rax, %gs:this_cpu_off(%rip)"

GROUP KP_STACKS
.irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r12, r13, r15
	CASE "push %\reg"
	CASE "pop %\reg"
.endr
	CASE "push %rsp"
	CASE "pop %rsp", pre="push %rsp"
	CASE "pushq $0x12"
	CASE "pushq $-0x12345678"
	CASE "pushq (%rbx)"
	CASE "pushq 16(%rsp)"
	CASE "pushq kp_insn_mem+64(%rip)"
	CASE "popq 8(%rbx)"
	CASE "popq 24(%rsp)"
	CASE "popq kp_insn_mem+72(%rip)"
	CASE "enter $16, $0", post="mov (%rbp), %rcx", flags=KP_GAP
	CASE "enter $8, $1", pre="lea 32(%rsp), %rbp", \
		post="mov (%rbp), %rcx; mov -8(%rbp), %rdx", flags=KP_GAP
	CASE "leave", pre="push %rbp; mov %rsp, %rbp; sub $32, %rsp"
	CASE "sub $0x28, %rsp", flags=KP_GAP
	CASE "add $0x10, %rsp"
	CASE "lea -24(%rsp), %rsp", flags=KP_GAP
	CASE "and $-16, %rsp", flags=KP_GAP
	CASE "mov %rsp, %rax"
	CASE "mov %rbp, %rsp", pre="lea -40(%rsp), %rbp", flags=KP_GAP
	CASE "xchg %rbp, %rsp", pre="lea -40(%rsp), %rbp", flags=KP_GAP
	CASE "mov (%rsp), %rax"
	CASE "mov 8(%rsp), %edx"
	CASE "mov %rcx, 40(%rsp)"
	CASE "add %rax, (%rsp, %r15)"
	CASE "cmpq $0, 0x20(%rsp)"

GROUP KP_SHIFT
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	CASE "\op %rax"
	CASE "\op %cl, %r9"
	CASE "\op\()b $1, (%rbx)"
	CASE "\op\()q %cl, 8(%rbx)"
.endr
	CASE "shld $7, %rax, %rdx"
	CASE "shld %cl, %eax, (%rbx)"
	CASE "shrd $9, %r8, %r9"
	CASE "shrd %cl, %rax, %r14"

GROUP KP_MULDIV
	CASE "mul %rdx"
	CASE "mull (%rbx)"
	CASE "mulb kp_insn_mem+9(%rip)"
	CASE "imul %r9"
	CASE "imul %rax, %rdx"
	CASE "imul $0x1234, (%rbx), %ecx"
	CASE "imul $-3, %rax, %r10"
	CASE "div %rcx", pre="xor %edx, %edx; or $1, %ecx"
	CASE "divl 4(%rbx)", pre="xor %edx, %edx; orl $1, 4(%rbx)"
	CASE "divq kp_insn_mem+16(%rip)", pre="xor %edx, %edx; orb $1, kp_insn_mem+16(%rip)"
	CASE "div %r8b", pre="movzbl %al, %eax; or $1, %r8b"
	CASE "idiv %rcx", pre="mov $-77, %rcx; cqo"
	CASE "idivl (%rbx)", pre="movl $1001, (%rbx); cdq"

GROUP KP_BITS
	CASE "bt %rax, %rdx"
	CASE "btr $33, %r8"
	CASE "btc %rax, %r9"
	CASE "btsq $9, (%rbx)"
	CASE "lock btsl $30, 8(%rbx)"
	CASE "lock btr %rax, (%rbx)", pre="movzbl %al, %eax"
	CASE "bt %rax, (%rbx)", pre="movsbq %al, %rax"
	CASE "bsf %rdx, %rax", pre="or $64, %edx"
	CASE "bsr (%rbx), %rax", pre="orb $4, (%rbx)"
	CASE "popcnt %rdx, %rax", feature=X86_FEATURE_POPCNT
	CASE "tzcnt (%rbx), %rax", feature=X86_FEATURE_BMI1
	CASE "crc32q %rdx, %rax", feature=X86_FEATURE_XMM4_2
	CASE "crc32b (%rbx), %ecx", feature=X86_FEATURE_XMM4_2
	CASE "adcx %rdx, %rax", feature=X86_FEATURE_ADX
	CASE "adox (%rbx), %r9", feature=X86_FEATURE_ADX

GROUP KP_STRING
.irp op, movsq, stosq, lodsq, cmpsq
	CASE "\op"
.endr
.irp op, movsq, stosq
	CASE "rep \op", pre="mov $11, %ecx"
.endr
	CASE "repe cmpsb", pre="mov %rsi, %rdi; mov $20, %ecx"
	CASE "repe scasq", pre="mov $7, %ecx"
	CASE "rep movsb %gs:(%rsi), %es:(%rdi)", pre="mov $8, %ecx; mov $this_cpu_off, %rsi; cld"

GROUP KP_ATOMIC
.irp op, add, or, and, sub, xor, adc
	CASE "lock \op %rax, (%rbx)"
	CASE "lock \op\()l $0x12, kp_insn_mem+80(%rip)"
.endr
	CASE "lock xadd %rax, (%rbx)"
	CASE "lock cmpxchg %rdx, (%rbx)"
	CASE "lock cmpxchg %rdx, (%rbx)", pre="mov (%rbx), %rax"
	CASE "lock cmpxchg %ecx, kp_insn_mem+88(%rip)"
	CASE "cmpxchg %r8b, %r9b"
	CASE "lock cmpxchg8b (%rbx)"
	CASE "lock cmpxchg16b (%rbx)"
	CASE "lock cmpxchg16b (%rbp)", pre="mov (%rbp), %rax; mov 8(%rbp), %rdx; mov $7, %ebx"
	CASE "prefetcht0 (%rbx)"
	CASE "prefetchw 8(%rbx)"
	CASE "clflush (%rbx)"

.macro JUMP_REG reg:req
	BRANCH "jmp *\reg", pre="lea 1f(%rip), \reg; ANNOTATE_RETPOLINE_SAFE"
.endm

.macro JUMP_MEM mem:req
	BRANCH "jmp *\mem", pre="lea 1f(%rip), %rax; mov %rax, \mem; ANNOTATE_RETPOLINE_SAFE"
.endm

GROUP KP_JUMP
.irp count, "xor %ecx, %ecx", "mov $1, %ecx", "mov $2, %ecx", "mov $1, %rcx; shl $32, %rcx", \
	"or $-1, %rcx"
.irp op, jrcxz, jecxz, loop, loope, loopne, "addr32 loop", "addr32 loope", "addr32 loopne"
	BRANCH "\op 1f", pre="\count"
.endr
.endr
	CASE "loop 1b", pre="mov $5, %ecx; 1: inc %rax", flags=(KP_BRANCH | KP_HITS_AGAIN)
	CASE "jnz 1b", pre="mov $5, %ecx; 1: inc %rax; dec %ecx", flags=(KP_BRANCH | KP_HITS_AGAIN)
.irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r12, r13, r15
	JUMP_REG %\reg
.endr
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3, 0x48
	BRANCH ".byte \prefix; jmp *%rax", pre="lea 1f(%rip), %rax; ANNOTATE_RETPOLINE_SAFE"
.endr
	BRANCH ".byte 0x48; jmp 1f"
	JUMP_MEM "(%rbx)"
	JUMP_MEM "8(%rbp, %r15, 8)"
	JUMP_MEM "kp_insn_mem+96(%rip)"
	JUMP_MEM "8(%rsp)"
	JUMP_MEM "(%r13, %r15)"

.macro CALL_REG reg:req
	CASE "call *\reg", pre="lea kp_insn_callee(%rip), \reg; ANNOTATE_RETPOLINE_SAFE", \
		flags=KP_BRANCH
.endm

.macro CALL_MEM mem:req
	CASE "call *\mem", pre="lea kp_insn_callee(%rip), %rax; mov %rax, \mem; \
		ANNOTATE_RETPOLINE_SAFE", flags=KP_BRANCH
.endm

.macro RETURN code:req
	CASE "\code", pre="lea 1f(%rip), %rax; push %rax; ANNOTATE_RETPOLINE_SAFE", \
		post="int3; 1:", flags=KP_BRANCH
.endm

.macro FAR_RETURN code:req
	CASE "\code", pre="mov %cs, %eax; push %rax; lea 1f(%rip), %rax; push %rax", \
		post="int3; 1:", flags=KP_BRANCH
.endm

GROUP KP_CALL
.irp reg, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r12, r13, r15
	CALL_REG %\reg
.endr
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3, 0x48
	CASE ".byte \prefix; call *%rax", flags=KP_BRANCH, \
		pre="lea kp_insn_callee(%rip), %rax; ANNOTATE_RETPOLINE_SAFE"
.endr
	CASE ".byte 0x48; call kp_insn_callee", flags=KP_BRANCH
	CALL_MEM "(%rbx)"
	CALL_MEM "-8(%rbp, %r15, 8)"
	CALL_MEM "kp_insn_mem+104(%rip)"
	CALL_MEM "(%rsp)"
	CALL_MEM "16(%rsp)"
	/* What fills the return stack buffer, where an emulation would fill nothing */
	UNSUPPORTED "call 1f", post="int3; 1: add $8, %rsp", pad=0
	RETURN "ret"
	RETURN "ret $16"
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3, 0x48
	RETURN ".byte \prefix; ret"
.endr
	FAR_RETURN "lretq"
	FAR_RETURN "lretq $8"
	BRANCH "iretq", flags=(KP_BRANCH | KP_MAYBE), pre="mov %rsp, %rdx; mov %ss, %eax; \
		push %rax; push %rdx; pushfq; mov %cs, %eax; push %rax; lea 1f(%rip), %rax; \
		push %rax"

GROUP KP_EFLAGS
	CASE "pushfq"
	CASE "popfq", pre="pushfq; xorl $0x8d5, (%rsp)"
	CASE "popfq", pre="pushfq; xorl $0x200, (%rsp)"
	CASE "popfq", pre="pushfq; xorl $0x400, (%rsp)"
	CASE "popfw", pre="pushfw; xorw $0x8d5, (%rsp)"
	CASE "popfw", pre="pushfw; xorw $0x200, (%rsp)"

GROUP KP_SYSTEM
	CASE "rdrand %rax", flags=(KP_ANY_AX | KP_ANY_FLAGS), feature=X86_FEATURE_RDRAND
	CASE "rdpid %rax", feature=X86_FEATURE_RDPID
	CASE "rdfsbase %rax", feature=X86_FEATURE_FSGSBASE
	CASE "rdgsbase %rdx", feature=X86_FEATURE_FSGSBASE
	CASE "wrmsr", pre="mov $0xc0000103, %ecx; rdmsr", feature=X86_FEATURE_RDTSCP, \
		flags=KP_OPT
	/* MSR_GS_BASE */
	CASE "wrmsr", pre="mov $0xc0000101, %ecx; rdmsr", flags=KP_OPT
	CASE "mov %eax, %ds", pre="mov %ds, %eax", flags=KP_OPT
	CASE "mov %cr0, %rax", flags=KP_OPT
	CASE "mov %cr4, %r9", flags=KP_OPT
	CASE "mov %db7, %rdx", flags=KP_OPT
	CASE "mov %rax, %cr0", pre="mov %cr0, %rax", flags=KP_OPT
	CASE "mov %rax, %cr3", pre="mov %cr3, %rax", flags=(KP_ANY_AX | KP_OPT)
	CASE "mov %rax, %cr4", pre="mov %cr4, %rax", flags=KP_OPT
	CASE "mov %rax, %db7", pre="mov %db7, %rax", flags=KP_OPT
	CASE "invlpg (%rbx)", flags=KP_OPT
	CASE "sgdt (%rbx)", flags=KP_OPT
	CASE "sidt 16(%rbx)", flags=KP_OPT
	CASE "lgdt (%rbx)", pre="sgdt (%rbx)", flags=KP_OPT
	CASE "lidt 16(%rbx)", pre="sidt 16(%rbx)", flags=KP_OPT
	CASE "verw (%rbx)", pre="mov %ds, (%rbx)", flags=KP_OPT
	CASE "mov %ss, (%rbx)"

GROUP KP_RIP
	CASE "mov kp_insn_mem+0(%rip), %rax"
	CASE "mov %rdx, kp_insn_mem+8(%rip)"
	CASE "mov %r14b, kp_insn_mem+17(%rip)"
	CASE "movl $0x12345678, kp_insn_mem+20(%rip)"
	CASE "movw $0x1234, kp_insn_mem+24(%rip)"
	CASE "movq $-1, kp_insn_mem+32(%rip)"
	CASE "lea kp_insn_mem+40(%rip), %rax"
	CASE "lea 0(%rip), %r9"
	CASE "lea -7(%rip), %rbx"
	CASE "addl $0x12, kp_insn_mem+44(%rip)"
	CASE "imul $0x123, kp_insn_mem+48(%rip), %eax"
	CASE "movzbl kp_insn_mem+52(%rip), %edx"
	CASE "movslq kp_insn_mem+56(%rip), %rcx"
	CASE "shll $3, kp_insn_mem+60(%rip)"
	CASE "shrd $3, %rax, kp_insn_mem+64(%rip)"
	CASE "xchg %rax, kp_insn_mem+72(%rip)"
	CASE "cmpb $0x12, kp_insn_mem+81(%rip)"
	CASE "notq kp_insn_mem+88(%rip)"
	CASE "seto kp_insn_mem+99(%rip)"
	CASE "cmovs kp_insn_mem+104(%rip), %r12"
	CASE "mov %gs:this_cpu_off(%rip), %rax"
	CASE "btl $3, kp_insn_mem+112(%rip)"

GROUP KP_UNKNOWN
	/* Outside of 64-bit mode only */
	UNSUPPORTED ".byte 0x06"
	UNSUPPORTED ".byte 0x27"
	UNSUPPORTED ".byte 0x60"
	UNSUPPORTED ".byte 0xce"
	UNSUPPORTED ".byte 0xd4, 0x0a"
	UNSUPPORTED ".byte 0x82, 0xc0, 0x01"
	/* REX2, of which kprobes know nothing */
	UNSUPPORTED ".byte 0xd5, 0x08, 0x01, 0xc0"

	.text
SYM_FUNC_START_LOCAL(kp_insn_callee)
	mov	(%rsp), %r10
	lea	1(%r14, %rcx), %r14
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_callee)
STACK_FRAME_NON_STANDARD kp_insn_callee
NOSEAL kp_insn_callee
