/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FUZZ_GEN_H
#define FUZZ_GEN_H
/*
 * A generator of random encodings, and predicates of decoded instructions, for the module kp_fuzz
 * and the programs in fuzz/. Both have to define u8 to u64, bool and struct insn before they
 * include this file.
 *
 * An encoding has fifteen bytes. The decoder finds out how many of them are the instruction. Many
 * encodings are variants of the table of instructions. For the others, all opcodes of a map are
 * equally likely; prefixes and operands are chosen so that most encodings of known opcodes can be
 * executed.
 */

#include "fuzz_random.h"
#include "kp_insn_table.h"

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

/* Is @prefix among the legacy prefixes at the start of @bytes? */
static inline bool fuzz_has_prefix(const u8 *bytes, const struct insn *insn, u8 prefix)
{
	return memchr(bytes, prefix, insn->prefixes.nbytes);
}

/* Has the opcode @opcodes bytes, and is the last of them between @first and @last? */
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

/* The registers that address a memory operand; -1: none. The index is shifted by @scale. */
struct fuzz_operand {
	int base, index, scale;
};

/* Get the registers of an instruction that fuzz_has_memory(). */
static inline struct fuzz_operand fuzz_operand_of(const struct insn *insn)
{
	u8 modrm = insn->modrm.bytes[0], sib = insn->sib.bytes[0];
	int base = insn->sib.nbytes ? X86_SIB_BASE(sib) : X86_MODRM_RM(modrm);
	struct fuzz_operand o = { .base = fuzz_reg_b(insn, base), .index = -1 };

	if (insn->sib.nbytes) {
		o.index = fuzz_reg_x(insn, X86_SIB_INDEX(sib));
		o.scale = X86_SIB_SCALE(sib);
	}
	/* These encodings stand for no register. */
	if (o.index == 4)
		o.index = -1;
	if (base == 5 && !X86_MODRM_MOD(modrm))
		o.base = -1;
	return o;
}

/* Return what the index adds to the address, when the registers are @reg. */
static inline unsigned long fuzz_index(const struct fuzz_operand *o, const unsigned long *reg)
{
	return o->index >= 0 ? reg[o->index] << o->scale : 0;
}

/* Is the operand a string of bits, and the offset of the bit in a register? */
static inline bool fuzz_has_bit_offset(const struct insn *insn)
{
	return fuzz_has_memory(insn) &&
	       (fuzz_is(insn, 2, 0xa3, 0xa3) || fuzz_is(insn, 2, 0xab, 0xab) ||
		fuzz_is(insn, 2, 0xb3, 0xb3) || fuzz_is(insn, 2, 0xbb, 0xbb));
}

static const u8 fuzz_prefixes[] = {
	0x66, 0x66, 0xf2, 0xf3, 0xf3, 0x67, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0,
};

static inline unsigned int fuzz_emit_prefixes(struct fuzz_random *r, u8 *p)
{
	/* Mostly few prefixes, sometimes more than the decoder can record */
	static const u8 most[] = { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 3, 6 };
	unsigned int i, nr = most[fuzz_below(r, sizeof(most))];

	if (nr > 3)
		nr = fuzz_below(r, nr + 1);
	for (i = 0; i < nr; i++)
		p[i] = fuzz_prefixes[fuzz_below(r, sizeof(fuzz_prefixes))];
	return nr;
}

/* Emit an EVEX prefix: 0x62, and three bytes with the map, vvvv, vector length, mask and more. */
static inline unsigned int fuzz_emit_evex(struct fuzz_random *r, u8 *p, bool x86_64)
{
	static const u8 maps[] = { 1, 1, 2, 2, 2, 3, 3, 5, 6, 0, 4, 7 };

	p[0] = 0x62;
	p[1] = (fuzz_next(r) & 0xf0) | maps[fuzz_below(r, sizeof(maps))];
	if (!x86_64)
		p[1] |= 0xc0;
	p[2] = fuzz_next(r) | 0x04;
	if (fuzz_one_in(r, 2))
		p[2] |= 0x78;
	p[3] = fuzz_next(r);
	if (fuzz_one_in(r, 2))
		p[3] |= 0x08;
	if (fuzz_one_in(r, 2))
		p[3] &= ~0x10;
	/* In half of the encodings: no embedded broadcast or rounding, and no masking */
	if (fuzz_one_in(r, 2))
		p[3] &= ~0x97;
	return 4;
}

static inline unsigned int fuzz_emit_vex(struct fuzz_random *r, u8 *p, enum fuzz_map map,
					 bool x86_64)
{
	static const u8 maps[] = { 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 4, 7 };
	unsigned int len = 2;

	p[1] = fuzz_next(r);
	if (map == FUZZ_VEX3) {
		p[1] = (p[1] & 0xe0) | maps[fuzz_below(r, sizeof(maps))];
		p[2] = fuzz_next(r);
		if (fuzz_one_in(r, 2))
			p[2] &= ~0x80;
		len = 3;
	}
	p[0] = map == FUZZ_VEX3 ? 0xc4 : 0xc5;
	/*
	 * In 32-bit mode, c4 and c5 are les and lds unless the two upper bits of the next byte are
	 * set.
	 */
	if (!x86_64 && !fuzz_one_in(r, 8))
		p[1] |= 0xc0;
	/* Most instructions with two operands raise #UD if vvvv is not 1111. */
	if (fuzz_one_in(r, 2))
		p[len - 1] |= 0x78;
	if (fuzz_one_in(r, 2))
		p[len - 1] &= ~0x04;
	return len;
}

/* Get the instruction of a case of the table, and int3s after it. Return: its length. */
static inline unsigned int fuzz_case(const struct kp_insn_case *c, u8 bytes[FUZZ_MAX_INSN])
{
	const char *from = c->flags & KP_PLACED ? kp_insn_names : (const char *)kp_insn_text;

	memset(bytes, 0xcc, FUZZ_MAX_INSN);
	memcpy(bytes, from + c->probed, c->next - c->probed);
	return c->next - c->probed;
}

/* Choose an instruction of the table, add prefixes, and change one byte of every second one. */
static inline void fuzz_vary(struct fuzz_random *r, u8 bytes[FUZZ_MAX_INSN])
{
	unsigned int n = fuzz_emit_prefixes(r, bytes), len;
	u8 insn[FUZZ_MAX_INSN];

	len = fuzz_case(&kp_insn_cases[fuzz_below(r, kp_insn_nr)], insn);
	if (fuzz_one_in(r, 2))
		insn[fuzz_below(r, len)] = fuzz_next(r);
	while (len < FUZZ_MAX_INSN)
		insn[len++] = fuzz_next(r);
	memcpy(bytes + n, insn, FUZZ_MAX_INSN - n);
}

/*
 * fuzz_generate() - generate a random encoding
 * @r: the random sequence
 * @bytes: result: the instruction, and random bytes after it
 * @x86_64: the encoding is for 64-bit mode
 */
static inline void fuzz_generate(struct fuzz_random *r, u8 bytes[FUZZ_MAX_INSN], bool x86_64)
{
	static const u8 maps[] = {
		FUZZ_ONE_BYTE, FUZZ_ONE_BYTE, FUZZ_ONE_BYTE, FUZZ_ONE_BYTE, FUZZ_ONE_BYTE,
		FUZZ_0F, FUZZ_0F, FUZZ_0F, FUZZ_0F, FUZZ_0F38, FUZZ_0F3A,
		FUZZ_VEX2, FUZZ_VEX3, FUZZ_VEX3, FUZZ_EVEX, FUZZ_EVEX,
	};
	enum fuzz_map map = maps[fuzz_below(r, sizeof(maps))];
	unsigned int n;

	if (fuzz_one_in(r, 4)) {
		fuzz_vary(r, bytes);
		return;
	}
	/* VEX and EVEX with a prefix raise #UD; only a few of them are wanted. */
	n = map < FUZZ_VEX2 || fuzz_one_in(r, 16) ? fuzz_emit_prefixes(r, bytes) : 0;
	if (x86_64 && (map < FUZZ_VEX2 ? fuzz_one_in(r, 2) : fuzz_one_in(r, 64)))
		bytes[n++] = 0x40 | fuzz_below(r, 16);
	switch (map) {
	case FUZZ_0F:
		bytes[n++] = 0x0f;
		break;
	case FUZZ_0F38:
		bytes[n++] = 0x0f;
		bytes[n++] = 0x38;
		break;
	case FUZZ_0F3A:
		bytes[n++] = 0x0f;
		bytes[n++] = 0x3a;
		break;
	case FUZZ_VEX2:
	case FUZZ_VEX3:
		n += fuzz_emit_vex(r, bytes + n, map, x86_64);
		break;
	case FUZZ_EVEX:
		n += fuzz_emit_evex(r, bytes + n, x86_64);
		break;
	default:
		break;
	}
	/* Opcode, ModRM, SIB, displacement, immediate: the decoder takes what the opcode needs. */
	while (n < FUZZ_MAX_INSN)
		bytes[n++] = fuzz_next(r);
}

#endif
