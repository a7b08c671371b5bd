/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The instruction matrix: what a jump overlaps. One to five instructions, of which the
 * first is probed, with all that has to be mended when they run elsewhere. Here are the cases
 * that read the same with 32-bit and with 64-bit code, and in an included file those that do
 * not.
 */

#include "kp_insn_macros.S"

/* A branch from the overlapped instructions goes where it went. */
.macro DCR_BRANCH code:req, rest, pre, flags=KP_OPT
	DCR "\code", rest="\rest", pre="\pre", post="mov $1, %edx; 1:", flags=(\flags)
.endm

TABLE kp_insn_dcr

GROUP KP_DCR_PLAIN
	/* One, from five bytes on. */
	DCR "mov $0x12345678, %ecx"
	DCR "xor $0x12345678, %eax"
	DCR "add $0x12345678, %edx"
	/* Five. */
	DCR "nop", rest="nop; nop; nop; nop"
	DCR "cmc", rest="cwde; lahf; stc; cltd"
	DCR "stosb", rest="lodsb; scasb; movsb; cmpsb"
	DCR "nop", rest="nop; nop; nop; rep movsb", pre="mov $7, %ecx; cld"

GROUP KP_DCR_JUMP
.irp cc, o, no, b, ae, e, ne, be, a, s, ns, p, np, l, ge, le, g
	/* At the end. */
	DCR_BRANCH "nop", rest="{disp32} j\cc 1f"
.endr
	DCR_BRANCH "test $1, %al", rest="nop; jz 1f"
	DCR_BRANCH "nop", rest="{disp32} jmp 1f"
	DCR_BRANCH "nop", rest="nop; nop; jmp 1f"
	DCR_BRANCH "nop", rest="nop; nop; nop; {disp32} jmp 1f"
	/* In the middle. */
	DCR_BRANCH "nop", rest="jc 1f; nop; cmc"
	DCR_BRANCH "cmc", rest="jo 1f; jc 1f"
	DCR_BRANCH "cmc", rest="jc 1f; {disp32} jz 1f"
	/* Back to the probed instruction itself. */
	DCR "dec %ecx", rest="{disp32} jnz 1b", pre="mov $5, %ecx; 1:", \
		flags=(KP_OPT | KP_HITS_AGAIN)
	/* What comes right after the overlapped bytes is not the jump's business. */
	DCR "nop", rest="nop; nop; nop; nop", post="1: dec %ecx; jnz 1b", pre="mov $5, %ecx"
	DCR "mov $0x12345678, %eax", post="1: dec %ecx; jnz 1b", pre="mov $5, %ecx"
	/* A displacement of one byte only, refused or right. */
	DCR_BRANCH "nop", rest="nop; nop; loop 1f", flags=0
	/* Whatever becomes of it, the return address is that of the case. */
	DCR "nop", rest="call kp_insn_dcr_callee", flags=0
	DCR "nop", rest=".byte 0x2e; call kp_insn_dcr_callee", flags=KP_OPT
	/* The first one is a branch itself. */
	DCR_BRANCH "{disp32} jz 1f", flags=KP_BRANCH
	DCR_BRANCH "jmp 1f", rest="nop; nop; nop", flags=KP_BRANCH
	DCR_BRANCH "{disp32} jmp 1f", flags=KP_BRANCH

/* Flags go in and come out as they are, whatever reads and writes them. */
GROUP KP_DCR_FLAGS
	DCR "std", rest="stosb; lodsb; cld; nop"
	DCR "cld", rest="stosb; lodsb; std; nop", post="scasb"
	DCR "lodsb", rest="scasb; stosb; movsb; nop"
	/* What changes the state of the CPU can be moved. */
	DCR "nop", rest="str %eax; nop"
	DCR "str %eax", rest="nop; nop"
	DCR "nop", rest="clts; nop; nop"

#ifdef CONFIG_X86_64
#include "kp_insn_dcr_64.S"
#else
#include "kp_insn_dcr_32.S"
#endif

TABLE_END kp_insn_dcr
