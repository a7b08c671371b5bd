// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the opcode maps.
 *
 * The tables say what kprobes may do with each instruction of the processor's manual, see &enum
 * x86_op. An opcode that is in no table is %X86_OP_NONE and is refused.
 *
 * The tables have the form of the manual's opcode maps: sixteen rows of sixteen opcodes, with a
 * character for each opcode. A row without instructions is left out.
 *
 *	.	no instruction; or a prefix, or the escape to another map
 *	M	can be boosted, and moved into a detour buffer: %X86_OP_COPY
 *	0-9a-f	the same, but only with some mandatory prefixes: the sum of
 *		1 (none), 2 (66), 4 (f3) and 8 (f2)
 *	S	loads a segment register that C code relies on in 32-bit mode:
 *		%X86_OP_STEP there, and %X86_OP_COPY in 64-bit mode
 *	R	%X86_OP_REFUSE
 *	T	%X86_OP_TRAP
 *	J	%X86_OP_RELATIVE
 *	I	%X86_OP_INDIRECT
 *	N	%X86_OP_RETURN
 *	F	%X86_OP_FLAGS
 *	G	depends on the ModRM byte
 *	W	loads fs or gs, except mov to fs: %X86_OP_REFUSE in 64-bit mode, and
 *		%X86_OP_STEP in 32-bit mode
 *	g-z	as the capital letter in 32-bit mode; no instruction in 64-bit mode
 *
 * In 32-bit mode, loads of ds, es or fs are single-stepped. After a boosted copy, the trampoline
 * that calls post_handlers would run with the new segment. The entry code of the int3 that ends a
 * step loads the kernel's segments, and the exit code restores the new ones.
 *
 * Other instructions that change the state of the CPU are boosted, and a jump may overlap them:
 * lidt, lgdt, ltr, wrmsr, mov to control and debug registers, port I/O. A jump after the copy needs
 * only the page tables, which map slots wherever they map the text. An int3 after the copy would
 * need the IDT, the GDT or the GS base that the instruction has just changed, and an exception
 * between monitor and mwait would end the wait of the mwait at once.
 *
 * VEX and EVEX share their tables. If an instruction has only one of the two forms, a copy of the
 * other form raises #UD as its original does. No VEX or EVEX instruction branches.
 *
 * These functions run at registration and during the safety check, and take no lock.
 */
#include <linux/array_size.h>
#include <linux/ctype.h>
#include <linux/hex.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/insn.h>
#include <asm/ptrace.h>

#include "x86.h"

/*		0123456789abcdef	*/
static const char one_byte[16][16 + 1] = {
	[0x0] = "MMMMMMmsMMMMMMm.",
	[0x1] = "MMMMMMmrMMMMMMms",
	[0x2] = "MMMMMM.mMMMMMM.m",
	[0x3] = "MMMMMM.mMMMMMM.m",
	[0x4] = "mmmmmmmmmmmmmmmm",	/* REX */
	[0x5] = "MMMMMMMMMMMMMMMM",
	[0x6] = "mmmM....MMMMMMMM",
	[0x7] = "JJJJJJJJJJJJJJJJ",
	[0x8] = "MMmMMMMMMMMMGGGG",
	[0x9] = "MMMMMMMMMMiMFFMM",
	[0xa] = "MMMMMMMMMMMMMMMM",
	[0xb] = "MMMMMMMMMMMMMMMM",
	[0xc] = "GGNNssGGMMNNTTtR",
	[0xd] = "GGGGmm.MGGGGGGGG",
	[0xe] = "JJJJMMMMJJiJMMMM",
	[0xf] = ".T..RMGGMMFFMMGG",
};

static const char map_0f[16][16 + 1] = {
	[0x0] = "GGMM.RMRMM.T.G..",
	[0x1] = "fff33373MMMMMMMM",
	[0x2] = "MMMM....33ffff33",
	[0x3] = "MMMMRR.R........",
	[0x4] = "MMMMMMMMMMMMMMMM",
	[0x5] = "3f553333fff7ffff",
	[0x6] = "3333333333332237",
	[0x7] = "fGGG333111..aa77",
	[0x8] = "JJJJJJJJJJJJJJJJ",
	[0x9] = "MMMMMMMMMMMMMMMM",
	[0xa] = "MWMMMMMMMWRMMMGM",
	[0xb] = "MMRMWWMM4TGMMMMM",
	[0xc] = "MMfM333GMMMMMMMM",
	[0xd] = "a33333e333333333",
	[0xe] = "333333e333333333",
	[0xf] = "833333333333333T",
};

static const char map_0f38[16][16 + 1] = {
	[0x0] = "333333333333....",
	[0x1] = "2...22.2....333.",
	[0x2] = "222222..2222....",
	[0x3] = "222222.222222222",
	[0x4] = "22..............",
	[0x8] = "222.............",
	[0xc] = "........111111.2",
	[0xd] = "........4..26666",
	[0xf] = "bb...27.e144f...",
};

static const char map_0f3a[16][16 + 1] = {
	[0x0] = "........22222223",
	[0x1] = "....2222........",
	[0x2] = "222.............",
	[0x4] = "222.2...........",
	[0x6] = "2222............",
	[0xc] = "............1.22",
	[0xd] = "...............2",
	[0xf] = "4...............",
};

static const char vex_0f[16][16 + 1] = {
	[0x1] = "fff33373........",
	[0x2] = "........33c3cc33",
	[0x4] = ".33.3333..33....",
	[0x5] = "3f553333fff7ffff",
	[0x6] = "222222222222222e",
	[0x7] = "e2222221ffeeaa6e",
	[0x9] = "33bb....33......",
	[0xa] = "..............1.",
	[0xc] = "..f.223.........",
	[0xd] = "a222222222222222",
	[0xe] = "222222e222222222",
	[0xf] = "822222222222222.",
};

static const char vex_0f38[16][16 + 1] = {
	[0x0] = "2222222222222222",
	[0x1] = "6666662222222222",
	[0x2] = "6666666666622222",
	[0x3] = "6666662266622222",
	[0x4] = "22222222.b.e2222",
	[0x5] = "ffea22..2222c.f.",
	[0x6] = "..22222.8...3...",
	[0x7] = "22e2.22222222222",
	[0x8] = "...2....22222222",
	[0x9] = "2222..2222aa2222",
	[0xa] = "2222..2222aa2222",
	[0xb] = "f6..222222222222",
	[0xc] = "....2.222.2aaa.2",
	[0xd] = "..77......f22222",
	[0xe] = "2222222222222222",
	[0xf] = "..11.d8f........",
};

static const char vex_0f3a[16][16 + 1] = {
	[0x0] = "2222222.32322222",
	[0x1] = "....22222222.222",
	[0x2] = "2222.233........",
	[0x3] = "2222....2222..22",
	[0x4] = "22222.2...222...",
	[0x5] = "22..2233........",
	[0x6] = "2222..33........",
	[0x7] = "2222............",
	[0xc] = "..5...........22",
	[0xd] = "..............22",
	[0xf] = "8...............",
};

/* Half-precision floating point */
static const char evex_5[16][16 + 1] = {
	[0x1] = "44...........3..",
	[0x2] = "..........4.4411",
	[0x5] = ".5......55f75555",
	[0x6] = "..............2.",
	[0x7] = "........77a63f2.",
};

static const char evex_6[16][16 + 1] = {
	[0x1] = "...3............",
	[0x2] = "............22..",
	[0x4] = "..22........2222",
	[0x5] = "......cc........",
	[0x9] = "......2222222222",
	[0xa] = "......2222222222",
	[0xb] = "......2222222222",
	[0xd] = "......cc........",
};

/**
 * struct opcode_group - opcodes whose instruction depends on the reg field of the ModRM byte
 * @first: the first opcode; opcodes of map 0f begin at 0x0f00
 * @last: the last opcode
 * @memory: for an operand in memory: a character for each value of the reg field, with the meaning
 *	that it has in the opcode maps
 * @reg: the same for an operand in a register
 */
struct opcode_group {
	u16 first;
	u16 last;
	char memory[8 + 1];
	char reg[8 + 1];
};

static const struct opcode_group groups[] = {
	{ 0x008c, 0x008c, "MMMMMM..", "MMMMMM.." },	/* mov from a segment register */
	{ 0x008d, 0x008d, "MMMMMMMM", "........" },	/* lea */
	/* mov to a segment register; R is ss: the CPU takes no interrupt right after the load */
	{ 0x008e, 0x008e, "S.RSSW..", "S.RSSW.." },
	{ 0x008f, 0x008f, "M.......", "M......." },	/* pop; XOP with another reg field */
	{ 0x00c0, 0x00c1, "MMMMMM.M", "MMMMMM.M" },	/* rotates, shifts */
	{ 0x00c6, 0x00c6, "M.......", "M......." },	/* mov */
	{ 0x00c7, 0x00c7, "M.......", "M......." },
	{ 0x00d0, 0x00d3, "MMMMMM.M", "MMMMMM.M" },	/* rotates, shifts */
	{ 0x00f6, 0x00f7, "M.MMMMMM", "M.MMMMMM" },	/* test, not, neg, mul, div */
	{ 0x00fe, 0x00fe, "MM......", "MM......" },	/* inc, dec */
	{ 0x00ff, 0x00ff, "MMIRIRM.", "MMI.I.M." },	/* inc, dec, call, jmp, push */
	{ 0x0f00, 0x0f00, "MMMMMM..", "MMMMMM.." },	/* sldt, str, lldt, ltr, verr, verw */
	/* sgdt, sidt, lgdt, lidt, smsw, rstorssp, lmsw, invlpg; see map_0f01 */
	{ 0x0f01, 0x0f01, "MMMMMRMM", "........" },
	{ 0x0f0d, 0x0f0d, "MMMMMMMM", "........" },	/* prefetchw */
	{ 0x0f71, 0x0f72, "........", "..3.3.3." },	/* shifts of vectors */
	{ 0x0f73, 0x0f73, "........", "..32..32" },
	/* fxsave, fxrstor, ldmxcsr, stmxcsr, xsave, xrstor, xsaveopt, clflush */
	{ 0x0fae, 0x0fae, "MMMM5M33", ".....1b1" },
	{ 0x0fba, 0x0fba, "....MMMM", "....MMMM" },	/* bt, bts, btr, btc */
	/* cmpxchg8b, xrstors, xsavec, xsaves, vmptrld and its like; rdrand, rdseed */
	{ 0x0fc7, 0x0fc7, ".M.MMMRR", "......37" },
};

/*
 * 0f 01 with a register operand: a character for each ModRM byte from c0 to ff, with the meaning
 * that it has in the opcode maps
 */
static const char map_0f01[64 + 1] = {
	"RMRRRRRR"	/* c0: virtualisation, pconfig */
	"MRMMRRRR"	/* c8: monitor, mwait, clac, stac, TDX, SGX */
	"MM..RRMR"	/* d0: xgetbv, xsetbv, vmfunc, xend, xtest, enclu */
	"RMRRRRRR"	/* d8: virtualisation; M is vmmcall */
	"MMMMMMMM"	/* e0: smsw */
	"R.RRRRMM"	/* e8: serialize, shadow stacks, rdpkru, wrpkru */
	"MMMMMMMM"	/* f0: lmsw */
	"RMRRRRRR"	/* f8: swapgs, rdtscp, mwaitx and more */
};

/*
 * The instructions that exist with each of the x87 opcodes d8 to df. A clear bit is an undefined
 * opcode. Bit n of @memory is for an operand in memory and the value n in the reg field of the
 * ModRM byte. Bit n of @reg is for the ModRM byte c0 + n, with no operand in memory.
 */
static const struct {
	u8 memory;
	u64 reg;
} x87[8] = {
	{ 0xff, 0xffffffffffffffff },
	{ 0xfd, 0xffff7f330001ffff },
	{ 0xff, 0x00000200ffffffff },
	{ 0xaf, 0x00ffff0cffffffff },
	{ 0xff, 0xffffffff0000ffff },
	{ 0xdf, 0x0000ffffffff00ff },
	{ 0xff, 0xffffffff0200ffff },
	{ 0xff, 0x00ffff0100000000 },
};

/* Return: the mandatory prefix: 1 for none, 2 for 66, 4 for f3, 8 for f2, and 12 for f3 and f2. */
static unsigned int x86_insn_mandatory_prefix(struct insn *insn)
{
	static const u8 of_vex[] = { 1, 2, 4, 8 };
	unsigned int prefix;

	if (insn_is_avx(insn))
		return of_vex[insn_vex_p_bits(insn)];
	prefix = (x86_insn_has_prefix(insn, X86_PREFIX_REP) ? 4 : 0) |
		 (x86_insn_has_prefix(insn, X86_PREFIX_REPNE) ? 8 : 0);
	if (!prefix)
		prefix = x86_insn_has_prefix(insn, X86_PREFIX_OPSIZE) ? 2 : 1;
	return prefix;
}

/* The meaning of the capital letters in the opcode maps, other than G */
static const u8 ops['Z' + 1] = {
	['F'] = X86_OP_FLAGS,
	['I'] = X86_OP_INDIRECT,
	['J'] = X86_OP_RELATIVE,
	['M'] = X86_OP_COPY,
	['N'] = X86_OP_RETURN,
	['R'] = X86_OP_REFUSE,
	['S'] = IS_ENABLED(CONFIG_X86_64) ? X86_OP_COPY : X86_OP_STEP,
	['T'] = X86_OP_TRAP,
	['W'] = IS_ENABLED(CONFIG_X86_64) ? X86_OP_REFUSE : X86_OP_STEP,
};

static char opcode_letter(const char map[16][16 + 1], u8 opcode)
{
	return map[opcode >> 4][opcode & 0xf] ?: '.';
}

static enum x86_op letter_to_op(char c, struct insn *insn)
{
	unsigned int prefix;

	if (isdigit(c) || (c >= 'a' && c <= 'f')) {
		prefix = x86_insn_mandatory_prefix(insn);
		return (hex_to_bin(c) & prefix) == prefix ? X86_OP_COPY : X86_OP_NONE;
	}
	if (!IS_ENABLED(CONFIG_X86_64))
		c = toupper(c);
	return c <= 'Z' ? ops[(u8)c] : X86_OP_NONE;
}

/*
 * group_to_op() calls this if groups[] has no instruction for @opcode and the reg field of @modrm.
 * There may still be one for certain ModRM bytes (xabort, 0f 01) or prefixes (rdfsbase).
 */
static enum x86_op exception_to_op(u16 opcode, u8 modrm, struct insn *insn)
{
	unsigned int prefix = x86_insn_mandatory_prefix(insn);
	u8 field = X86_MODRM_REG(modrm);

	if (X86_MODRM_MOD(modrm) != 3)
		/* clrssbsy */
		return opcode == 0x0fae && field == 6 && prefix == 4 ? X86_OP_REFUSE : X86_OP_NONE;
	switch (opcode) {
	case 0x00c6:		/* xabort */
		return modrm == 0xf8 ? X86_OP_REFUSE : X86_OP_NONE;
	case 0x00c7:		/* xbegin */
		return modrm == 0xf8 ? X86_OP_RELATIVE : X86_OP_NONE;
	case 0x0f01:
		/* With prefix f3 or f2: erets, eretu, setssbsy, user interrupts and more */
		return prefix & 0xc ? X86_OP_REFUSE :
				      letter_to_op(map_0f01[modrm & 0x3f], insn);
	case 0x0fae:
		/* rdfsbase, rdgsbase; wrfsbase, wrgsbase, ptwrite, incssp, umonitor */
		if (prefix == 4 && field != 7)
			return field < 2 ? X86_OP_COPY : X86_OP_REFUSE;
		return X86_OP_NONE;
	case 0x0fc7:		/* senduipi */
		return field == 6 && prefix == 4 ? X86_OP_REFUSE : X86_OP_NONE;
	}
	return X86_OP_NONE;
}

static enum x86_op group_to_op(u16 opcode, struct insn *insn)
{
	u8 modrm = insn->modrm.bytes[0];
	bool reg = X86_MODRM_MOD(modrm) == 3;
	const struct opcode_group *g;
	enum x86_op op;

	if (opcode >= 0xd8 && opcode <= 0xdf) {
		bool known = reg ? x87[opcode & 7].reg >> (modrm & 0x3f) & 1 :
				   x87[opcode & 7].memory >> X86_MODRM_REG(modrm) & 1;

		return known ? X86_OP_COPY : X86_OP_NONE;
	}
	for (g = groups; g < groups + ARRAY_SIZE(groups); g++) {
		if (opcode < g->first || opcode > g->last)
			continue;
		op = letter_to_op((reg ? g->reg : g->memory)[X86_MODRM_REG(modrm)], insn);
		return op == X86_OP_NONE ? exception_to_op(opcode, modrm, insn) : op;
	}
	return X86_OP_NONE;
}

static enum x86_op vex_to_op(struct insn *insn)
{
	static const char (*const maps[8])[16 + 1] = {
		[1] = vex_0f, [2] = vex_0f38, [3] = vex_0f3a, [5] = evex_5, [6] = evex_6,
	};
	unsigned int nr = insn_vex_m_bits(insn);

	/* Map 4 of EVEX is APX. */
	if (nr >= ARRAY_SIZE(maps) || !maps[nr] || (nr >= 5 && !insn_is_evex(insn)))
		return X86_OP_NONE;
	return letter_to_op(opcode_letter(maps[nr], insn->opcode.bytes[0]), insn);
}

/* For each row of map 0f, a bit for each column: set if the opcode has no ModRM byte */
static const u16 no_modrm_0f[16] = {
	[0x0] = 0x4be0,		/* 05 to 09, 0b, 0e */
	[0x3] = 0x00ff,		/* 30 to 37 */
	[0x7] = 0x0080,		/* 77 */
	[0x8] = 0xffff,		/* jcc */
	[0xa] = 0x0707,		/* a0 to a2, a8 to aa */
	[0xc] = 0xff00,		/* bswap */
	[0xf] = 0x8000,		/* ud0: only some CPUs take a ModRM byte */
};

/* Do all instructions with this opcode of map 0f have an immediate? */
static bool x86_insn_has_immediate_0f(u8 opcode)
{
	return (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
	       (opcode >= 0xc4 && opcode <= 0xc6);
}

/*
 * Does the decoder know the length of an instruction?
 *
 * The decoder uses the last prefix where the CPU uses the mandatory one, and so may miss the
 * ModRM byte or the immediate. It does not know some hint instructions (0f 19, 0f 1d). And mov to
 * or from control and debug registers has no operand in memory, whatever the ModRM byte says.
 *
 * Return: false if the decoder may be wrong. The result does not matter for opcodes that are in no
 * map of this file: they are refused anyway.
 */
bool x86_insn_length_known(struct insn *insn)
{
	const u8 *opcode = insn->opcode.bytes;
	bool modrm = insn->modrm.nbytes;
	bool imm = insn->immediate.nbytes;

	if (insn_is_avx(insn)) {
		switch (insn_vex_m_bits(insn)) {
		case 1:
			if (opcode[0] == 0x77)
				return true;
			return modrm && (imm || !x86_insn_has_immediate_0f(opcode[0]));
		case 3:
			return modrm && imm;
		default:
			return modrm;
		}
	}
	switch (insn->opcode.nbytes) {
	case 1:
		return true;
	case 2:
		if (opcode_letter(map_0f, opcode[1]) == '.')
			return true;
		if (!modrm)
			return no_modrm_0f[opcode[1] >> 4] >> (opcode[1] & 0xf) & 1;
		if (opcode[1] >= 0x20 && opcode[1] <= 0x23)
			return X86_MODRM_MOD(insn->modrm.bytes[0]) == 3;
		return imm || !x86_insn_has_immediate_0f(opcode[1]);
	default:
		if (opcode_letter(opcode[1] == 0x38 ? map_0f38 : map_0f3a, opcode[2]) == '.')
			return true;
		return modrm && (imm || opcode[1] != 0x3a);
	}
}

/*
 * Look an instruction up in the opcode maps. Return: what kprobes may do with it. %X86_OP_NONE for
 * XOP, 3DNow! and REX2; %X86_OP_TRAP for instructions with the emulate prefix of
 * paravirtualisation.
 */
enum x86_op x86_insn_op(struct insn *insn)
{
	const u8 *opcode = insn->opcode.bytes;
	u16 grouped = opcode[0];
	char c;

	if (insn_has_emulate_prefix(insn))
		return X86_OP_TRAP;
	if (insn_is_rex2(insn) || !x86_insn_length_known(insn))
		return X86_OP_NONE;
	if (insn_is_avx(insn))
		return vex_to_op(insn);
	switch (insn->opcode.nbytes) {
	case 1:
		c = opcode_letter(one_byte, opcode[0]);
		break;
	case 2:
		c = opcode_letter(map_0f, opcode[1]);
		grouped = 0x0f00 | opcode[1];
		break;
	case 3:
		c = opcode_letter(opcode[1] == 0x38 ? map_0f38 : map_0f3a, opcode[2]);
		break;
	default:
		return X86_OP_NONE;
	}
	return c == 'G' ? group_to_op(grouped, insn) : letter_to_op(c, insn);
}

/* Does an instruction have the legacy prefix @wanted? */
bool x86_insn_has_prefix(struct insn *insn, u8 wanted)
{
	insn_byte_t p;
	int i;

	for_each_insn_prefix(insn, i, p)
		if (p == wanted)
			return true;
	return false;
}

/* Is an instruction at @addr a relative branch, calls included? Then set @target. */
bool x86_insn_branches(struct insn *insn, unsigned long addr, unsigned long *target)
{
	if (x86_insn_op(insn) != X86_OP_RELATIVE)
		return false;
	*target = addr + insn->length + insn->immediate.value;
	return true;
}

/* Return: which &enum x86_kind an instruction is. A jump to a retpoline is %X86_KIND_JMP. */
enum x86_kind x86_insn_kind(struct insn *insn)
{
	u8 modrm = insn->modrm.bytes[0], field = X86_MODRM_REG(modrm);

	/*
	 * The instructions below have an opcode of one byte. The opcode of a VEX instruction also
	 * has one byte, but another meaning.
	 */
	if (insn->opcode.nbytes != 1 || insn_is_avx(insn))
		return X86_KIND_OTHER;
	switch (insn->opcode.bytes[0]) {
	case CALL_INSN_OPCODE:
		return X86_KIND_CALL;
	case JMP32_INSN_OPCODE:
	case JMP8_INSN_OPCODE:
		return X86_KIND_JMP;
	case RET_INSN_OPCODE:
		return X86_KIND_RET;
	case 0xfb:
		return X86_KIND_STI;
	case 0xff:
		return field == 4 || field == 5 ? X86_KIND_JMP_INDIRECT : X86_KIND_OTHER;
	case 0xe0 ... 0xe3:
		return X86_KIND_LOOP;
	case 0xc7:	/* xbegin, or mov */
		return modrm == 0xf8 ? X86_KIND_LOOP : X86_KIND_OTHER;
	case 0x07:	/* pop es, pop ds, les, lds */
	case 0x1f:
	case 0xc4:
	case 0xc5:
		return IS_ENABLED(CONFIG_X86_64) ? X86_KIND_OTHER : X86_KIND_LOAD_SEGMENT;
	case 0x8e:	/* mov to the segment register @field: es is 0, ds is 3 */
		return !IS_ENABLED(CONFIG_X86_64) && (field == 0 || field == 3) ?
		       X86_KIND_LOAD_SEGMENT : X86_KIND_OTHER;
	default:
		return X86_KIND_OTHER;
	}
}

/*
 * Is an operand of an instruction at @addr an address in the range of @size bytes at @first? Code
 * may use such an operand as the target of an indirect branch. The operand is a rip-relative
 * address that lea loads, an absolute displacement, or an immediate. Not counted are relative
 * branches, see x86_insn_branches().
 */
bool x86_insn_has_address(struct insn *insn, unsigned long addr, unsigned long first,
			  unsigned long size)
{
	unsigned long value;

	if (insn_rip_relative(insn)) {
		value = addr + insn->length + insn->displacement.value;
		if (insn->opcode.value == 0x8d && value - first < size)
			return true;
	} else if (insn->displacement.nbytes == 4) {
		value = insn->displacement.value;
		if (value - first < size)
			return true;
	}
	if (x86_insn_op(insn) == X86_OP_RELATIVE)
		return false;
	/* mov with a 64-bit immediate and far branches use the fields immediate1 and immediate2. */
	value = insn->immediate.value;
	if (insn->immediate1.nbytes == 4 && insn->immediate2.nbytes == 4)
		value = (u32)insn->immediate1.value | (u64)(u32)insn->immediate2.value << 32;
	return insn->immediate1.nbytes >= 4 && value - first < size;
}

/*
 * Does the instruction with the bytes @text, after sti, rely on the interrupt shadow of sti?
 *
 * After sti, the CPU takes no interrupt before the next instruction. Idle code relies on that: if
 * an interrupt brought new work after the check for work, but before the instruction that sleeps,
 * the CPU would still sleep.
 */
bool x86_needs_sti_shadow(const u8 *text, size_t len)
{
	static const char *const insns[] = {
		"\xf4",		/* hlt */
		"\x0f\x01\xc9",	/* mwait */
		"\x0f\x01\xfb",	/* mwaitx */
		"\x0f\x35",	/* sysexit */
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(insns); i++)
		if (strlen(insns[i]) <= len && !memcmp(text, insns[i], strlen(insns[i])))
			return true;
	return false;
}
