/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included by kp_insn_integer.S: cases with 32-bit addresses, and instructions that exist
 * outside of 64-bit mode only.
 *
 * At the start ebx, ebp, esi and edi point into kp_insn_mem, all other registers, the
 * arithmetic flags, DF, IF and AC are random. The segment registers are as in the kernel, and
 * the harness sets them again after a case. Only fs, which has the per-CPU data, must not
 * change. Its base serves where a segment is wanted that is not flat.
 */

	/* For strings, in which macros are not expanded */
	.set	kp_kernel_cs, __KERNEL_CS

GROUP KP_ALU
.irp op, add, or, adc, sbb, and, sub, xor, cmp
	CASE "\op %edx, %eax"
	CASE "\op %ecx, %edi"
	CASE "\op %ax, %dx"
	CASE "\op %cl, %ch"
	CASE "\op (%ebx), %ecx"
	CASE "\op %eax, 16(%ebx)"
	CASE "\op %cl, -9(%ebp)"
	CASE "\op $0x7f, %edx"
	CASE "\op $-0x12345678, %esi"
	CASE "\op\()l $-3, 0x88(%ebp)"
	CASE "\op\()w $0x1234, (%esi)"
	CASE "\op\()l $0x12345678, kp_insn_mem+40"
	CASE "\op kp_insn_mem+48, %ecx"
.endr
/* With a register of 16 or 32 bits they have opcodes that are REX prefixes in 64-bit mode. */
.irp op, inc, dec
.irp reg, eax, ecx, edx, ebx, ebp, esi, edi, ax, cx, dx, bx, bp, si, di
	CASE "\op %\reg"
.endr
	CASE "\op %esp", flags=KP_GAP
	CASE "\op %dl"
.endr
	CASE ".byte 0xff, 0xc1"		/* incl %ecx */
	CASE ".byte 0xff, 0xc9"		/* decl %ecx */
.irp op, inc, dec, neg, not
	CASE "\op\()l 4(%esi)"
	CASE "lock \op\()l (%edi)"
.endr
.irp op, neg, not
	CASE "\op %eax"
	CASE "\op %dh"
.endr
/* The second opcode of these operations with a byte: add, or, adc, sbb, and, sub, xor, cmp */
.irp modrm, 0xc0, 0xc8, 0xd0, 0xd8, 0xe0, 0xe8, 0xf0, 0xf8
	CASE ".byte 0x82, \modrm, 0x5a"
.endr
	CASE ".byte 0x82, 0x43, 0x05, 0x81"	/* addb $0x81, 5(%ebx) */
	CASE "test %eax, %edx"
	CASE "testl $0x1000, (%ebx)"
	CASE "testb $1, kp_insn_mem+3"
	CASE "bswap %ecx"
	CASE "bswap %edi"

GROUP KP_MOVE
	CASE "mov %eax, %edi"
	CASE "mov %ecx, %edx"
	CASE "mov %cx, %ax"
	CASE "mov $-5, %edx"
	CASE "mov $0x5a, %ch"
	CASE "movl $-77, (%ebx)"
	CASE "movb $0x33, 5(%esi)"
	CASE "movw $0x4455, 0x40(%edi)"
	CASE "movzwl 6(%ebx), %ecx"
	CASE "movzbw (%esi), %ax"
	CASE "movsbl %dl, %edx"
	CASE "movswl (%edi), %ecx"
	CASE "xchg %eax, %edx"
	CASE "xchg %ax, %cx"
	CASE "xchg %esi, (%ebx)"
	CASE "lea (%ebx), %eax"
	CASE "lea -1(%eax, %edx, 8), %ecx"
	CASE "lea 0x12345(, %ecx, 4), %edi"
	CASE "lea (%eax, %edx), %cx"
	CASE "movnti %eax, (%ebx)"
	CASE "movbe (%ebx), %eax", feature=X86_FEATURE_MOVBE
	CASE "movbe %cx, 8(%ebx)", feature=X86_FEATURE_MOVBE
	CASE "xlat %es:(%ebx)", \
		pre="movzbl %al, %eax; push %fs; pop %es; sub %fs:this_cpu_off, %ebx"
	CASE "nopw 0x12345678(%eax, %edx)"
	CASE "nopl 0(%eax, %eax)"
	CASE "endbr32", pre="nop"
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	CASE "set\cc 7(%ebx)"
	CASE "cmov\cc %edx, %eax"
	CASE "cmov\cc (%ebx), %ecx"
.endr

/* Some of these have an index that is small. */
GROUP KP_ADDRESS
	CASE "mov 1(%ebx), %eax"
	CASE "mov 0x123(%ebx), %ax"
	CASE "mov (%ebx, %ecx), %eax", pre="and $7, %ecx"
	CASE "mov 8(%ebx, %ecx, 4), %ax", pre="and $7, %ecx"
	CASE "mov -8(%ebp, %ecx, 2), %dh", pre="and $7, %ecx"
	CASE "mov (%ebp), %eax"
	CASE "mov %eax, (%esi, %ecx, 8)", pre="and $7, %ecx"
	CASE "mov %edx, -128(%edi)"
	CASE "mov %edx, -129(%edi)"
	CASE "mov kp_insn_mem + 8(, %ecx), %eax", pre="and $7, %ecx"
	CASE "mov kp_insn_mem + 8(, %ecx, 4), %eax", pre="and $7, %ecx"
	CASE "mov kp_insn_mem + 8(%ecx), %eax", pre="and $7, %ecx"
	CASE "mov %ds:(%ebp), %eax"
	CASE "mov %es:8(%esi), %eax"
	CASE "mov %cs:(%edi), %edx"
	CASE "mov %ss:(%ebx), %cx"
	CASE "mov %gs:(%ebx), %ecx", pre="mov %ds, %eax; mov %eax, %gs"
	CASE "mov %fs:(%ebx), %ecx", pre="sub %fs:this_cpu_off, %ebx"
	CASE "mov %ecx, %fs:8(%ebx)", pre="sub %fs:this_cpu_off, %ebx"
	/* Prefixes that do nothing here, stacked */
	CASE ".byte 0x3e, 0x26; mov (%ebx), %eax"
	CASE ".byte 0x26; .byte 0x66; mov %eax, 8(%ebx)"
	CASE "mov %fs:this_cpu_off, %edx"
	CASE "add %fs:this_cpu_off, %ecx"
	CASE "cmp %ecx, %fs:this_cpu_off"

/* Opcodes a0 to a3, and a displacement of 32 bits without any register */
GROUP KP_ABSOLUTE
	CASE "mov kp_insn_mem + 3, %al"
	CASE "mov kp_insn_mem + 8, %eax"
	CASE "mov kp_insn_mem + 14, %ax"
	CASE "mov %al, kp_insn_mem + 24"
	CASE "mov %eax, kp_insn_mem + 28"
	CASE "mov %ax, kp_insn_mem + 34"
	CASE "mov %fs:this_cpu_off, %eax"
	CASE "mov %es:kp_insn_mem, %eax"
	CASE "mov kp_insn_mem + 0, %ecx"
	CASE "mov %edx, kp_insn_mem + 8"
	CASE "mov %dh, kp_insn_mem + 17"
	CASE "movl $0x12345678, kp_insn_mem + 20"
	CASE "movw $0x1234, kp_insn_mem + 24"
	CASE "lea kp_insn_mem + 40, %eax"
	CASE "addl $0x12, kp_insn_mem + 44"
	CASE "imul $0x123, kp_insn_mem + 48, %eax"
	CASE "movzbl kp_insn_mem + 52, %edx"
	CASE "shll $3, kp_insn_mem + 60"
	CASE "shrd $3, %eax, kp_insn_mem + 64"
	CASE "xchg %eax, kp_insn_mem + 72"
	CASE "cmpb $0x12, kp_insn_mem + 81"
	CASE "notl kp_insn_mem + 88"
	CASE "seto kp_insn_mem + 99"
	CASE "cmovs kp_insn_mem + 104, %ecx"
	CASE "btl $3, kp_insn_mem + 112"

GROUP KP_STACKS
.irp reg, eax, ecx, edx, ebx, ebp, esi, edi
	CASE "push %\reg"
	CASE "pop %\reg"
.endr
	CASE "push %esp"
	CASE "pop %esp", pre="push %esp"
	CASE "push %sp"
	CASE "push $0x12"
	CASE "push $-0x12"
	CASE "push $-0x12345678"
	CASE "pushw $0x12"
	CASE "pushl (%ebx)"
	CASE "pushl 16(%esp)"
	CASE "pushl kp_insn_mem+64"
	CASE "pushl %fs:this_cpu_off"
	CASE "pushw 2(%ebx)"
	CASE "popl 8(%ebx)"
	CASE "popl 24(%esp)"
	CASE "popl kp_insn_mem+72"
	CASE "popw 6(%ebx)"
	CASE "pushal"
	CASE "popal"
	CASE "pushaw"
	CASE "popaw"
	CASE "enter $16, $0", post="mov (%ebp), %ecx", flags=KP_GAP
	CASE "enter $8, $1", pre="lea 32(%esp), %ebp", \
		post="mov (%ebp), %ecx; mov -4(%ebp), %edx", flags=KP_GAP
	CASE "leave", pre="push %ebp; mov %esp, %ebp; sub $32, %esp"
	CASE "leavew", pre="push %ebp; mov %esp, %ebp; sub $32, %esp"
	CASE "sub $0x28, %esp", flags=KP_GAP
	CASE "add $0x10, %esp"
	CASE "lea -24(%esp), %esp", flags=KP_GAP
	CASE "and $-16, %esp", flags=KP_GAP
	CASE "mov %esp, %eax"
	CASE "mov %ebp, %esp", pre="lea -40(%esp), %ebp", flags=KP_GAP
	CASE "xchg %ebp, %esp", pre="lea -40(%esp), %ebp", flags=KP_GAP
	CASE "mov (%esp), %eax"
	CASE "mov 8(%esp), %dx"
	CASE "mov %ecx, 40(%esp)"
	CASE "add %eax, (%esp, %ecx)", pre="and $7, %ecx"
	CASE "cmpl $0, 0x20(%esp)"

/* The selector is another one before, so that a load that did nothing would show. */
.macro LOADS_SEG code:req, pre, seg=%es, flags=0
	CASE "\code", pre="xor %eax, %eax; mov %eax, \seg; \pre", flags=(\flags)
.endm

/*
 * A load of ss inhibits interrupts and traps behind it, and the kernel needs fs: kprobes may
 * refuse these.
 */
GROUP KP_SEGMENT
.irp seg, cs, ss, ds, es, fs, gs
	CASE "pushl %\seg"
	CASE "pushw %\seg"
	CASE "mov %\seg, %ecx"
	CASE "mov %\seg, %dx"
	CASE "mov %\seg, 2(%ebx)"
.endr
.irp seg, es, gs
	LOADS_SEG "popl %\seg", pre="push %ds", seg=%\seg
	LOADS_SEG "popw %\seg", pre="pushw %ds", seg=%\seg
	LOADS_SEG "popl %\seg", pre="push $0", seg=%\seg
	LOADS_SEG "mov %ecx, %\seg", pre="mov %fs, %ecx", seg=%\seg
	LOADS_SEG "mov (%ebx), %\seg", pre="mov %fs, (%ebx)", seg=%\seg
.endr
	CASE "mov %eax, %es", pre="xor %eax, %eax"
	CASE "mov %eax, %gs", pre="xor %eax, %eax"
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
	/* es and ds of the probed code are others while it is hit */
	LOADS_SEG "mov (%ebx), %ecx"
	LOADS_SEG "mov (%ebx), %ecx", seg=%gs
	CASE "mov %es:(%ebx), %ecx", pre="push %fs; pop %es; sub %fs:this_cpu_off, %ebx"
	CASE "mov (%ebx), %ecx", pre="sub %fs:this_cpu_off, %ebx; push %fs; pop %ds"
	CASE "add %ecx, 8(%ebx)", pre="sub %fs:this_cpu_off, %ebx; push %fs; pop %ds"
	CASE "mov %ecx, (%ebp)", pre="push %fs; pop %ds"

GROUP KP_SHIFT
.irp op, rol, ror, rcl, rcr, shl, shr, sar
	CASE "\op %eax"
	CASE "\op %cl, %edi"
	CASE "\op\()b $1, (%ebx)"
	CASE "\op\()l %cl, 8(%ebx)"
.endr
	CASE "shld $7, %eax, %edx"
	CASE "shld %cl, %eax, (%ebx)"
	CASE "shrd $9, %ecx, %edi"
	CASE "shrd %cl, %eax, %edx"

GROUP KP_MULDIV
	CASE "mul %edx"
	CASE "mull (%ebx)"
	CASE "mulb kp_insn_mem+9"
	CASE "imul %ecx"
	CASE "imul %eax, %edx"
	CASE "imul $0x1234, (%ebx), %ecx"
	CASE "imul $-3, %eax, %edi"
	CASE "div %ecx", pre="xor %edx, %edx; or $1, %ecx"
	CASE "divl 4(%ebx)", pre="xor %edx, %edx; orl $1, 4(%ebx)"
	CASE "divl kp_insn_mem+16", pre="xor %edx, %edx; orb $1, kp_insn_mem+16"
	CASE "div %cl", pre="movzbl %al, %eax; or $1, %cl"
	CASE "idiv %ecx", pre="mov $-77, %ecx; cdq"
	CASE "idivl (%ebx)", pre="movl $1001, (%ebx); cdq"

GROUP KP_DECIMAL
.irp op, aaa, aas, daa, das, aad, aam
	CASE "\op"
.endr
	CASE "aad $7"
	CASE "aam $7"
	CASE "daa", pre="mov $0x12, %al; add $0x39, %al"
	CASE "das", pre="mov $0x51, %al; sub $0x39, %al"
	CASE "aaa", pre="mov $0x0508, %ax; add $0x07, %al"
	CASE "aas", pre="mov $0x0502, %ax; sub $0x07, %al"
	/* salc has never been documented. */
	CASE ".byte 0xd6", flags=KP_MAYBE

GROUP KP_BITS
	CASE "bt %eax, %edx"
	CASE "btr $13, %ecx"
	CASE "btc %eax, %edi"
	CASE "btsl $9, (%ebx)"
	CASE "lock btsl $30, 8(%ebx)"
	CASE "lock btr %eax, (%ebx)", pre="movzbl %al, %eax"
	CASE "bt %eax, (%ebx)", pre="movsbl %al, %eax"
	CASE "bsf %edx, %eax", pre="or $64, %edx"
	CASE "bsr (%ebx), %eax", pre="orb $4, (%ebx)"
	CASE "popcnt %edx, %eax", feature=X86_FEATURE_POPCNT
	CASE "tzcnt (%ebx), %eax", feature=X86_FEATURE_BMI1
	CASE "crc32l %edx, %eax", feature=X86_FEATURE_XMM4_2
	CASE "crc32b (%ebx), %ecx", feature=X86_FEATURE_XMM4_2
	CASE "adcx %edx, %eax", feature=X86_FEATURE_ADX
	CASE "adox (%ebx), %ecx", feature=X86_FEATURE_ADX

/* The destination is always in es, whatever prefix there is. */
GROUP KP_STRING
.irp op, stosb, stosl, scasb, movsl, cmpsb
	CASE "\op", pre="push %fs; pop %es; sub %fs:this_cpu_off, %edi"
.endr
	CASE "rep stosl", pre="push %fs; pop %es; sub %fs:this_cpu_off, %edi; mov $5, %ecx"
	CASE "lodsl %es:(%esi)", pre="push %fs; pop %es; sub %fs:this_cpu_off, %esi"
	CASE "lodsl", pre="sub %fs:this_cpu_off, %esi; push %fs; pop %ds"
	CASE "repe cmpsb", pre="mov %esi, %edi; mov $20, %ecx"
	CASE "repe scasl", pre="mov $7, %ecx"
	CASE "rep movsb %fs:(%esi), %es:(%edi)", pre="mov $4, %ecx; mov $this_cpu_off, %esi; cld"

GROUP KP_ATOMIC
.irp op, add, or, and, sub, xor, adc
	CASE "lock \op %eax, (%ebx)"
	CASE "lock \op\()l $0x12, kp_insn_mem+80"
.endr
	CASE "lock xadd %eax, (%ebx)"
	CASE "lock cmpxchg %edx, (%ebx)"
	CASE "lock cmpxchg %edx, (%ebx)", pre="mov (%ebx), %eax"
	CASE "lock cmpxchg %ecx, kp_insn_mem+88"
	CASE "cmpxchg %cl, %dh"
	CASE "cmpxchg8b (%ebx)"
	CASE "lock cmpxchg8b (%esi)"
	CASE "lock cmpxchg8b (%ebp)", pre="mov (%ebp), %eax; mov 4(%ebp), %edx; mov $7, %ebx"
	CASE "prefetcht0 (%ebx)"
	CASE "prefetchw 8(%ebx)"
	CASE "clflush (%ebx)"

.macro JUMP_REG reg:req
	BRANCH "jmp *\reg", pre="mov $1f, \reg; ANNOTATE_RETPOLINE_SAFE"
.endm

.macro JUMP_MEM mem:req, pre="nop"
	BRANCH "jmp *\mem", pre="\pre; movl $1f, \mem; ANNOTATE_RETPOLINE_SAFE"
.endm

GROUP KP_JUMP
.irp count, "xor %ecx, %ecx", "mov $1, %ecx", "mov $2, %ecx", "mov $0x10000, %ecx", \
	"mov $0x10001, %ecx", "or $-1, %ecx"
.irp op, jcxz, jecxz, loop, loope, loopne, "addr16 loop", "addr16 loope", "addr16 loopne"
	BRANCH "\op 1f", pre="\count"
.endr
.endr
	CASE "loop 1b", pre="mov $5, %ecx; 1: inc %eax", flags=(KP_BRANCH | KP_HITS_AGAIN)
	CASE "addr16 loop 1b", pre="mov $0x10005, %ecx; 1: inc %eax", \
		flags=(KP_BRANCH | KP_HITS_AGAIN)
	CASE "jnz 1b", pre="mov $5, %ecx; 1: inc %eax; dec %ecx", flags=(KP_BRANCH | KP_HITS_AGAIN)
.irp reg, eax, ecx, edx, ebx, ebp, esi, edi
	JUMP_REG %\reg
.endr
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3
	BRANCH ".byte \prefix; jmp *%eax", pre="mov $1f, %eax; ANNOTATE_RETPOLINE_SAFE"
.endr
	JUMP_MEM "(%ebx)"
	JUMP_MEM "8(%ebp, %ecx, 4)", pre="and $7, %ecx"
	JUMP_MEM "kp_insn_mem+96"
	JUMP_MEM "kp_insn_mem+96(, %ecx, 8)", pre="and $7, %ecx"
	JUMP_MEM "8(%esp)"
	JUMP_MEM "%fs:(%ebx)", pre="sub %fs:this_cpu_off, %ebx"
	JUMP_MEM "%es:(%ebx)"
	BRANCH "jmp *%cs:(%ebx)", pre="movl $1f, (%ebx); ANNOTATE_RETPOLINE_SAFE"
	BRANCH "ljmp $kp_kernel_cs, $1f"
	BRANCH "ljmp *(%ebx)", flags=(KP_BRANCH | KP_MAYBE), \
		pre="movl $1f, (%ebx); mov %cs, 4(%ebx)"

.macro CALL_REG reg:req
	CASE "call *\reg", pre="mov $kp_insn_callee, \reg; ANNOTATE_RETPOLINE_SAFE", \
		flags=KP_BRANCH
.endm

.macro CALL_MEM mem:req, pre="nop"
	CASE "call *\mem", pre="\pre; movl $kp_insn_callee, \mem; ANNOTATE_RETPOLINE_SAFE", \
		flags=KP_BRANCH
.endm

.macro RETURN code:req
	CASE "\code", pre="push $1f; ANNOTATE_RETPOLINE_SAFE", post="int3; 1:", flags=KP_BRANCH
.endm

.macro FAR_RETURN code:req
	CASE "\code", pre="push %cs; push $1f", post="int3; 1:", flags=KP_BRANCH
.endm

GROUP KP_CALL
.irp reg, eax, ecx, edx, ebx, ebp, esi, edi
	CALL_REG %\reg
.endr
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3
	CASE ".byte \prefix; call *%eax", flags=KP_BRANCH, \
		pre="mov $kp_insn_callee, %eax; ANNOTATE_RETPOLINE_SAFE"
.endr
	CALL_MEM "(%ebx)"
	CALL_MEM "-8(%ebp, %ecx, 4)", pre="and $7, %ecx"
	CALL_MEM "kp_insn_mem+104"
	CALL_MEM "(%esp)"
	CALL_MEM "16(%esp)"
	CALL_MEM "%fs:(%ebx)", pre="sub %fs:this_cpu_off, %ebx"
	CASE "lcall $kp_kernel_cs, $kp_insn_far_callee", flags=KP_BRANCH
	CASE "lcall *(%ebx)", pre="movl $kp_insn_far_callee, (%ebx); mov %cs, 4(%ebx)", \
		flags=(KP_BRANCH | KP_MAYBE)
	/* What fills the return stack buffer, where an emulation would fill nothing */
	UNSUPPORTED "call 1f", post="int3; 1: add $4, %esp", pad=0
	RETURN "ret"
	RETURN "ret $16"
.irp prefix, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf2, 0xf3
	RETURN ".byte \prefix; ret"
.endr
	FAR_RETURN "lret"
	FAR_RETURN "lret $8"
	BRANCH "iret", flags=(KP_BRANCH | KP_MAYBE), pre="pushf; push %cs; push $1f"

GROUP KP_EFLAGS
	CASE "pushf"
	CASE "popf", pre="pushf; xorl $0x8d5, (%esp)"
	CASE "popf", pre="pushf; xorl $0x200, (%esp)"
	CASE "popf", pre="pushf; xorl $0x400, (%esp)"
	CASE "popf", pre="pushf; xorl $0x40000, (%esp)"
	CASE "popf", pre="pushf; xorl $0x200000, (%esp)"
	CASE "popfw", pre="pushfw; xorw $0x8d5, (%esp)"
	CASE "popfw", pre="pushfw; xorw $0x200, (%esp)"

GROUP KP_SYSTEM
	CASE "rdrand %eax", flags=(KP_ANY_AX | KP_ANY_FLAGS), feature=X86_FEATURE_RDRAND
	CASE "rdpid %eax", feature=X86_FEATURE_RDPID
	/* MSR_IA32_SYSENTER_CS: emulators do not read MSR_TSC_AUX in 32-bit mode. */
	CASE "wrmsr", pre="mov $0x174, %ecx; rdmsr", feature=X86_FEATURE_SEP
	CASE "mov %cr0, %eax", flags=KP_OPT
	CASE "mov %cr4, %ecx", flags=KP_OPT
	CASE "mov %db7, %edx", flags=KP_OPT
	CASE "mov %eax, %cr0", pre="mov %cr0, %eax", flags=KP_OPT
	CASE "mov %eax, %cr3", pre="mov %cr3, %eax", flags=(KP_ANY_AX | KP_OPT)
	CASE "mov %eax, %cr4", pre="mov %cr4, %eax", flags=KP_OPT
	CASE "mov %eax, %db7", pre="mov %db7, %eax", flags=KP_OPT
	CASE "invlpg (%ebx)", flags=KP_OPT
	CASE "sgdt (%ebx)", flags=KP_OPT
	CASE "sidt 16(%ebx)", flags=KP_OPT
	CASE "lgdt (%ebx)", pre="sgdt (%ebx)", flags=KP_OPT
	CASE "lidt 16(%ebx)", pre="sidt 16(%ebx)", flags=KP_OPT
	CASE "verw (%ebx)", pre="mov %ds, (%ebx)", flags=KP_OPT
	CASE "lar %ecx, %eax", pre="mov %ds, %ecx"
	CASE "arpl %cx, %dx"
	CASE "arpl %ax, 6(%ebx)"
	CASE "arpl %cx, kp_insn_mem+20"
	/* Within its bounds, for it raises an exception if not */
	CASE "bound %eax, (%ebx)", pre="movl $0x80000000, (%ebx); movl $0x7fffffff, 4(%ebx)"
	CASE "bound %cx, 2(%ebx)", pre="movl $0x7fff8000, 2(%ebx)"

/* There is no memory to be accessed in the first 64 KiB. */
GROUP KP_ADDR16
.irp rm, "(%bx, %si)", "(%bx, %di)", "(%bp, %si)", "(%bp, %di)", "(%si)", "(%di)", "(%bx)"
	CASE "lea \rm, %eax"
	CASE "lea 5\rm, %ecx"
	CASE "lea -0x1234\rm, %edx"
.endr
	CASE "lea -5(%bp), %esi"
	CASE "lea 0x4321(%bp), %di"
	CASE ".byte 0x67, 0x8d, 0x06, 0x34, 0x12"	/* lea 0x1234, %eax */
	CASE "nopl 5(%bx, %si)"
	CASE "nopw 0x1234(%di)"
	CASE "prefetcht0 (%bx)"
	/* Nothing is copied, for cx is 0. */
	CASE "addr16 rep movsb", pre="mov $0x10000, %ecx"
	CASE "addr16 rep stosl", pre="mov $0x10000, %ecx"
	CASE "addr16 repe cmpsb", pre="mov $0x10000, %ecx"
	/* There is no address. */
	CASE "addr16 mov %eax, %ecx"
	CASE "addr16 push %edx"

GROUP KP_TRAPS
	CASE "int $0x80", flags=KP_REFUSED
	CASE ".byte 0xf1", flags=KP_REFUSED		/* int1 */
	/* Not a trap while OF is clear */
	CASE "into", pre="test %eax, %eax", flags=KP_MAYBE

GROUP KP_UNKNOWN
	/* Instructions that enter or leave user space */
	UNSUPPORTED "syscall"
	UNSUPPORTED ".byte 0x0f, 0x07"		/* sysret */
	UNSUPPORTED "sysenter"
	UNSUPPORTED "sysexit"

	.text
SYM_FUNC_START_LOCAL(kp_insn_callee)
	mov	(%esp), %edi
	lea	1(%esi, %ecx), %esi
	ANNOTATE_RETPOLINE_SAFE
	ret
	int3
SYM_FUNC_END(kp_insn_callee)

/* The upper half of the pushed selector is not defined. */
SYM_FUNC_START_LOCAL(kp_insn_far_callee)
	mov	(%esp), %edi
	movzwl	4(%esp), %esi
	lret
	int3
SYM_FUNC_END(kp_insn_far_callee)
