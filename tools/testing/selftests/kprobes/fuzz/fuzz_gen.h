/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H
/*
 * A generator of random encodings from the opcode maps, and predicates of decoded instructions, for
 * the fuzzer's program and the module kp_fuzz. Both have to define u8, u32, u64, bool and struct
 * insn before they include this file.
 */

#define FUZZ_MAX_INSN	15

/* The opcode map that an encoding is from */
enum fuzz_map {
	FUZZ_ONE_BYTE,
	FUZZ_0F,
	FUZZ_0F38,
	FUZZ_0F3A,
	FUZZ_VEX2,
	FUZZ_VEX3,
	FUZZ_EVEX,
};

struct fuzz_random {
	u64 state;
};

/* splitmix64: any state gives a sequence of its own */
static inline u64 fuzz_next(struct fuzz_random *r)
{
	u64 z = r->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static inline u32 fuzz_below(struct fuzz_random *r, u32 n)
{
	return ((fuzz_next(r) >> 32) * n) >> 32;
}

static inline bool fuzz_one_in(struct fuzz_random *r, u32 n)
{
	return !fuzz_below(r, n);
}

/*
 * Return the random sequence for encoding number @index of a run with @seed. Each encoding has its
 * own, so it can be repeated alone.
 */
static inline struct fuzz_random fuzz_random_of(u64 seed, u64 index)
{
	struct fuzz_random r = { seed };

	r.state = fuzz_next(&r) ^ index * 0xd1342543de82ef95ULL;
	fuzz_next(&r);
	return r;
}

/* Return a random value, sometimes one at which the carry, sign or zero flag changes. */
static inline u64 fuzz_value(struct fuzz_random *r)
{
	static const u64 edges[] = {
		0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000,
		0xffffffff, 0x7fffffffffffffffULL, 0x8000000000000000ULL, ~0ULL,
	};

	switch (fuzz_below(r, 4)) {
	case 0:
		return edges[fuzz_below(r, sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return fuzz_next(r) >> fuzz_below(r, 64);
	default:
		return fuzz_next(r);
	}
}

/* Has @bytes this legacy prefix? */
static inline bool fuzz_has_prefix(const u8 *bytes, const struct insn *insn, u8 prefix)
{
	return memchr(bytes, prefix, insn->prefixes.nbytes);
}

/* Has the opcode @opcodes bytes, with the last one from @first to @last? */
static inline bool fuzz_is(const struct insn *insn, int opcodes, u8 first, u8 last)
{
	u8 op = insn->opcode.bytes[opcodes - 1];

	return !insn->vex_prefix.nbytes && insn->opcode.nbytes == opcodes && op >= first &&
	       op <= last && (opcodes == 1 || insn->opcode.bytes[0] == 0x0f);
}

static inline bool fuzz_has_memory(const struct insn *insn)
{
	return insn->modrm.nbytes && X86_MODRM_MOD(insn->modrm.bytes[0]) != 3;
}

#define FUZZ_VEX_R		0x80

/*
 * Return a register's number: its low bits are @low. In 64-bit mode its bit 3 is the bit @rex of a
 * REX prefix, or the inverted bit @vex of a VEX or EVEX prefix.
 */
static inline int fuzz_reg(const struct insn *insn, int low, u8 rex, u8 vex)
{
	u8 bits = insn->vex_prefix.bytes[1];

	if (sizeof(long) == 4)
		return low;
	if (!insn->vex_prefix.nbytes)
		return low | (insn->rex_prefix.bytes[0] & rex ? 8 : 0);
	if (insn->vex_prefix.nbytes == 2)
		return low | (vex == FUZZ_VEX_R && !(bits & vex) ? 8 : 0);
	return low | (bits & vex ? 0 : 8);
}

/* The registers in ModRM.reg, in SIB.index, and in ModRM.rm or SIB.base */
#define fuzz_reg_r(insn, low)	fuzz_reg(insn, low, 0x4, FUZZ_VEX_R)
#define fuzz_reg_x(insn, low)	fuzz_reg(insn, low, 0x2, 0x40)
#define fuzz_reg_b(insn, low)	fuzz_reg(insn, low, 0x1, 0x20)

void fuzz_generate(struct fuzz_random *r, u8 bytes[FUZZ_MAX_INSN], bool x86_64);

#endif
