// SPDX-License-Identifier: GPL-2.0
/*
 * A generator of random encodings, see fuzz_gen.h. The fuzzer's program and the module kp_fuzz
 * include this file after that header.
 *
 * An encoding has fifteen bytes. The decoder finds out how many of them are the instruction.
 * All opcodes of a map are equally likely; prefixes and operands are chosen so that most
 * encodings of known opcodes can be executed.
 */

static const u8 fuzz_prefixes[] = {
	0x66, 0x66, 0xf2, 0xf3, 0xf3, 0x67, 0x67, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0,
};

/* Opcodes that kprobes emulates, which are tried more often. */
static const u8 fuzz_emulated[] = {
	0xff, 0xff, 0xff, 0xff, 0x50, 0x5c, 0x68, 0x6a, 0x89, 0x8b, 0x8d, 0x8d, 0x90, 0x9a, 0x9c,
	0x9d, 0xc2, 0xc3, 0xca, 0xcb, 0xe0, 0xe1, 0xe2, 0xe3, 0xe8, 0xea,
};

static unsigned int fuzz_emit_prefixes(struct fuzz_random *r, u8 *p)
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

/* The three bytes after 62: map, vector length, mask and the rest */
static unsigned int fuzz_emit_evex(struct fuzz_random *r, u8 *p, bool x86_64)
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

static unsigned int fuzz_emit_vex(struct fuzz_random *r, u8 *p, enum fuzz_map map, bool x86_64)
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
	/* In 32-bit mode other values would make it les or lds. */
	if (!x86_64 && !fuzz_one_in(r, 8))
		p[1] |= 0xc0;
	/* Most instructions with two operands raise #UD if vvvv is not 1111. */
	if (fuzz_one_in(r, 2))
		p[len - 1] |= 0x78;
	if (fuzz_one_in(r, 2))
		p[len - 1] &= ~0x04;
	return len;
}

/*
 * fuzz_generate() - generate a random encoding
 * @r: the random sequence
 * @bytes: result: the instruction, and random bytes after it
 * @x86_64: the encoding is for 64-bit mode
 */
void fuzz_generate(struct fuzz_random *r, u8 bytes[FUZZ_MAX_INSN], bool x86_64)
{
	static const u8 maps[] = {
		FUZZ_ONE_BYTE, FUZZ_ONE_BYTE, FUZZ_ONE_BYTE, FUZZ_ONE_BYTE, FUZZ_ONE_BYTE,
		FUZZ_0F, FUZZ_0F, FUZZ_0F, FUZZ_0F, FUZZ_0F38, FUZZ_0F3A,
		FUZZ_VEX2, FUZZ_VEX3, FUZZ_VEX3, FUZZ_EVEX, FUZZ_EVEX,
	};
	enum fuzz_map map = maps[fuzz_below(r, sizeof(maps))];
	unsigned int n;

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
	bytes[n] = fuzz_next(r);
	if (map == FUZZ_ONE_BYTE && fuzz_one_in(r, 8))
		bytes[n] = fuzz_emulated[fuzz_below(r, sizeof(fuzz_emulated))];
	n++;
	/* ModRM, SIB, displacement and immediate: the decoder takes what the opcode needs. */
	while (n < FUZZ_MAX_INSN)
		bytes[n++] = fuzz_next(r);
}
