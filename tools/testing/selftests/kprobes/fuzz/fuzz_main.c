// SPDX-License-Identifier: GPL-2.0
/*
 * Compares how kprobes, the CPU of the host and objdump decode and execute random encodings. See
 * fuzz.h for the parts of the program.
 *
 * For each encoding:
 *
 * length	The decoder's length has to be the number of bytes that the CPU fetches: at the end
 *		of a page, with the next one unmapped, the instruction runs, and one byte later it
 *		faults. objdump has to agree, unless the CPU has proved the decoder right.
 * copy		If kprobes would execute a copy of the instruction, the copy in the slot has to do
 *		what the original does: registers, flags, the state of the FPU, memory, exceptions,
 *		and the next instruction.
 * emulation	If kprobes would emulate the instruction, the emulation has to do what the CPU does.
 *
 * The encodings of the table of instructions are tried first. The others, and all states, are
 * generated from a seed and a number, so each can be repeated alone.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#include "fuzz_gen.h"

#ifdef __x86_64__
#define X86_64		true
#define MODE		64
#define OBJDUMP_ARCH	"i386:x86-64"
#else
#define X86_64		false
#define MODE		32
#define OBJDUMP_ARCH	"i386"
#endif

#define FLAG_IF		0x200UL
#define FLAG_IOPL	0x3000UL
#define FLAG_RF		0x10000UL
#define FLAG_TF		0x100UL
#define FLAG_ARITHMETIC	0x8d5UL

/* The number of failures that are printed without -v */
#define SHOWN	50

enum {
	C_ENCODINGS,
	C_UNDECODED,
	C_PREFIX,		/* refused: see is_prefix_as_opcode() */
	C_UNKNOWN,		/* refused: not in kprobes' opcode maps */
	C_REFUSED,
	C_TRAPS,
	C_NO_EMULATION,
	C_OTHERWISE,
	C_COPIED,
	C_STEPPED,
	C_EMULATED,
	C_BRANCHES,		/* copied, new displacement */
	C_UD,			/* accepted, but this CPU raises #UD */
	C_SLOW,			/* accepted, takes seconds */
	C_FAULTED,
	C_LENGTHS,
	C_COPY_RUNS,
	C_EMULATION_RUNS,
	C_NO_ORACLE,		/* not tested: see has_oracle(), is_locked_verw() */
	C_RUNS_THOUGH_UNKNOWN,
	C_OBJDUMP,
	C_OBJDUMP_BAD,
	C_OBJDUMP_WRONG,	/* objdump disagrees, the CPU agrees with the decoder */
	C_REFUSED_WRONG,	/* refused, and the decoder's length is wrong */
	C_COUNTS,
};

static const char *const count_names[C_COUNTS] = {
	"encodings", "not decoded", "prefix as opcode", "unknown opcode", "not movable",
	"made to trap", "no emulation", "refused otherwise", "copied", "copied, stepped",
	"emulated only", "branches", " no such insn", " too slow", " other faults",
	"lengths: CPU", "copies run", "emulations run", "no oracle", "unknown, but run",
	"lengths: objdump", "objdump: (bad)", "objdump: wrong", "wrong, refused",
};

static u64 number, failures;
static u64 count[C_COUNTS];
static u64 seed = 1, count_max = 1000000;
static unsigned int seconds_max;
static bool verbose;

/* The current encoding */
static struct {
	u8 bytes[FUZZ_MAX_INSN];
	struct insn insn;
	enum fuzz_op op;
	struct fuzz_probe probe;
	struct fuzz_regs in;
	struct fuzz_outcome bare;
	bool unsafe;
} now;

static u8 mem_pool[4 * FUZZ_ARENA_SIZE];
static const u8 *mem_in;
static u8 mem_bare[FUZZ_ARENA_SIZE];
static u8 fpu_bare[16384], fpu_other[16384];

static void hex(char *to, const u8 *bytes, unsigned int n)
{
	while (n--)
		to += sprintf(to, "%02x", *bytes++);
	*to = 0;
}

static void __attribute__((format(printf, 2, 3))) fail(const char *kind, const char *fmt, ...)
{
	char text[2 * FUZZ_MAX_INSN + 1];
	va_list args;

	if (failures++ >= SHOWN && !verbose)
		return;
	hex(text, now.bytes, now.insn.length ? now.insn.length : FUZZ_MAX_INSN);
	printf("FAIL %s: %d %s (number %llu): ", kind, MODE, text, (unsigned long long)number);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

static bool has_prefix(u8 prefix)
{
	return fuzz_has_prefix(now.bytes, &now.insn, prefix);
}

static bool is_legacy(unsigned int opcodes, u8 opcode)
{
	return fuzz_is(&now.insn, opcodes, opcode, opcode);
}

static void decode(void)
{
	now.op = fuzz_decode(now.bytes, &now.insn);
}

/*
 * Has the decoder taken a prefix for the opcode? It does so after a REX prefix, and after four
 * different legacy prefixes.
 */
static bool is_prefix_as_opcode(void)
{
	static const u8 prefixes[] = {
		0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3,
	};
	u8 op = now.insn.opcode.bytes[0];

	return !now.insn.vex_prefix.nbytes && now.insn.opcode.nbytes == 1 && now.probe.err &&
	       (memchr(prefixes, op, sizeof(prefixes)) || (X86_64 && (op & 0xf0) == 0x40));
}

/* Is it a string instruction with a REP prefix? Single-stepping traps after each repetition. */
static bool repeats(void)
{
	const struct insn *insn = &now.insn;

	return (has_prefix(0xf2) || has_prefix(0xf3)) &&
	       (fuzz_is(insn, 1, 0x6c, 0x6f) || fuzz_is(insn, 1, 0xa4, 0xa7) ||
		fuzz_is(insn, 1, 0xaa, 0xaf));
}

static bool is_gather(void)
{
	u8 op = now.insn.opcode.bytes[0];

	return now.insn.vex_prefix.nbytes && insn_vex_m_bits(&now.insn) == 2 &&
	       ((op >= 0x90 && op <= 0x93) || (op >= 0xa0 && op <= 0xa3) || op == 0xc6 ||
		op == 0xc7);
}

/*
 * Return an address in the middle of the arena, in half of the cases aligned to 64 bytes. Locked
 * accesses are at least aligned to 8 bytes, since split locks may be slow.
 */
static unsigned long some_place(struct fuzz_random *r)
{
	unsigned long at = FUZZ_ARENA + FUZZ_ARENA_SIZE / 2 + 64 * fuzz_below(r, 16);

	if (fuzz_one_in(r, 2))
		return at;
	if (has_prefix(0xf0) || is_legacy(1, 0x86) || is_legacy(1, 0x87))
		return at + 8 * fuzz_below(r, 8);
	return at + fuzz_below(r, 64);
}

static void patch(unsigned int at, u64 value, unsigned int len)
{
	memcpy(now.bytes + at, &value, len);
}

static unsigned long segment_of_prefix(void)
{
	unsigned long base = 0;
	unsigned int i;

	for (i = 0; i < now.insn.prefixes.nbytes; i++) {
		u8 p = now.bytes[i];

		if (p == 0x64)
			base = now.in.fs_base;
		else if (p == 0x65)
			base = now.in.gs_base;
		else if (!X86_64 && (p & 0xe7) == 0x26)
			base = 0;
	}
	return base;
}

/* Move the memory operand into the arena, by setting a register or the displacement. */
static void place_operand(struct fuzz_random *r)
{
	struct insn *insn = &now.insn;
	unsigned long target = some_place(r) - segment_of_prefix();
	bool addr32 = X86_64 && insn->addr_bytes == 4;
	struct fuzz_operand o = fuzz_operand_of(insn);
	unsigned long *base;

	if (!fuzz_has_memory(insn) || insn->addr_bytes == 2)
		return;
	if (is_gather())
		o.index = -1;
	base = o.base >= 0 ? &now.in.reg[o.base] : NULL;
	/* EVEX multiplies a displacement of one byte by up to 64: choose a small one. */
	if (insn->vex_prefix.nbytes == 4 && insn->displacement.nbytes == 1)
		patch(insn_offset_displacement(insn), fuzz_below(r, 8), 1);
	if (base && insn->displacement.nbytes == 4 && (o.base == FUZZ_SP || fuzz_one_in(r, 2)))
		patch(insn_offset_displacement(insn), fuzz_below(r, 512), 4);
	decode();
	/*
	 * The register is both base and index, so it is added 1 + 2^scale times: divide the address
	 * by that. In 32-bit mode an operand outside the arena could be in the fuzzer's own memory.
	 */
	if (base && o.base == o.index) {
		*base = (target - insn->displacement.value) / (1 + (1UL << o.scale));
		if (addr32)
			*base = (u32)*base / (1 + (1UL << o.scale));
		return;
	}
	/*
	 * The base, sp, will be set to the target minus the index. With a large index, sp might not
	 * be canonical, and not all CPUs return to user space with such a stack pointer.
	 */
	if (o.base == FUZZ_SP && o.index >= 0)
		now.in.reg[o.index] = fuzz_below(r, 64);
	if (base) {
		*base = target - insn->displacement.value - fuzz_index(&o, now.in.reg);
		if (addr32 && o.base != FUZZ_SP && fuzz_one_in(r, 2))
			*base ^= (u64)fuzz_next(r) << 32;
		return;
	}
	if (insn_rip_relative(insn)) {
		patch(insn_offset_displacement(insn), target - FUZZ_AT - insn->length, 4);
	} else {
		/*
		 * Choose a small index, so that the displacement
		 * that leads to the target has 32 bits.
		 */
		if (o.index >= 0 && X86_64 && !addr32)
			now.in.reg[o.index] = fuzz_below(r, 1 << 24);
		patch(insn_offset_displacement(insn), target - fuzz_index(&o, now.in.reg), 4);
	}
	decode();
}

/* Put memory operands that the ModRM byte does not encode into the arena. */
static void place_implicit(struct fuzz_random *r)
{
	struct insn *insn = &now.insn;
	int reg = fuzz_reg_r(insn, X86_MODRM_REG(insn->modrm.bytes[0]));
	struct fuzz_operand o;

	now.in.reg[FUZZ_SP] = FUZZ_ARENA + FUZZ_ARENA_SIZE / 4 + 8 * fuzz_below(r, 64);
	if (fuzz_one_in(r, 8))
		now.in.reg[FUZZ_SP] += fuzz_below(r, 8);
	now.in.reg[FUZZ_BP] = FUZZ_ARENA + FUZZ_ARENA_SIZE / 2 + 8 * fuzz_below(r, 64);
	now.in.reg[FUZZ_SI] = some_place(r);
	now.in.reg[FUZZ_DI] = some_place(r);
	now.in.reg[FUZZ_BX] = some_place(r);
	if (has_prefix(0xf2) || has_prefix(0xf3))
		now.in.reg[FUZZ_CX] = fuzz_below(r, 32);
	else if (fuzz_one_in(r, 4))
		now.in.reg[FUZZ_CX] = fuzz_below(r, 3);
	/* mov between al or rax and an address in the instruction */
	if (fuzz_is(insn, 1, 0xa0, 0xa3) && insn->addr_bytes > 2) {
		patch(insn_offset_displacement(insn), some_place(r) - segment_of_prefix(),
		      insn->addr_bytes);
		decode();
	}
	if (!fuzz_has_memory(insn))
		return;
	if (fuzz_has_bit_offset(insn))
		now.in.reg[reg] = (long)fuzz_below(r, 16384) - 8192;
	else if (is_legacy(3, 0xf8) || is_legacy(3, 0xf9))
		now.in.reg[reg] = some_place(r) & ~63UL;
	else
		return;
	/*
	 * The value of @reg keeps the access in the arena. If @reg is also the base or the index,
	 * place_operand() overwrites that value: do not execute the instruction.
	 */
	o = fuzz_operand_of(insn);
	now.unsafe = !X86_64 && (o.base == reg || o.index == reg);
}

static void randomize(struct fuzz_random *r)
{
	int i;

	now.unsafe = false;
	for (i = 0; i < FUZZ_NR_REGS; i++)
		now.in.reg[i] = fuzz_value(r);
	now.in.ip = FUZZ_AT;
	now.in.flags = 0x202 | (fuzz_next(r) & FLAG_ARITHMETIC);
	if (fuzz_one_in(r, 4))
		now.in.flags |= 0x400;
	now.in.cs = X86_64 ? 0x33 : 0x23;
	now.in.fs_base = X86_64 ? 64 * fuzz_below(r, 8) : fuzz_cpu_fs_base;
	now.in.gs_base = X86_64 ? 64 * fuzz_below(r, 8) : 0;
	mem_in = mem_pool + 8 * fuzz_below(r, 3 * FUZZ_ARENA_SIZE / 8);
	place_implicit(r);
	place_operand(r);
	fuzz_fpu_randomize(r, is_gather());
}

/* Write @value, an address or a selector, to @at in the arena, where a branch will read it. */
static void plant(unsigned long at, u64 value, unsigned int len)
{
	if (at - FUZZ_ARENA < FUZZ_ARENA_SIZE - 8)
		memcpy((void *)at, &value, len);
}

static void reset_memory(void)
{
	struct insn *insn = &now.insn;
	unsigned long sp = now.in.reg[FUZZ_SP], target, i;

	memcpy((void *)FUZZ_ARENA, mem_in, FUZZ_ARENA_SIZE);
	memcpy(&target, mem_in, sizeof(target));
	if (X86_64)
		target = (long)(target << 16) >> 16;
	if (now.op == FUZZ_OP_RETURN) {
		bool wide = insn->rex_prefix.bytes[0] & 8;

		plant(sp, target, sizeof(target));
		if (is_legacy(1, 0xca) || is_legacy(1, 0xcb)) {
			plant(sp + (wide ? 8 : 4), now.in.cs, wide ? 8 : 4);
			if (wide)
				plant(sp, target, 8);
		}
	}
	if (now.op == FUZZ_OP_INDIRECT && insn->modrm.nbytes) {
		i = FUZZ_ARENA + FUZZ_ARENA_SIZE / 2 - 64;
		for (; i < FUZZ_ARENA + FUZZ_ARENA_SIZE - 8; i += 8)
			plant(i + (target & 7 & -(long)!X86_64), target + i, sizeof(target));
	}
}

/* Registers that rdtsc, rdtscp, rdrand and rdseed fill with other values each time */
static u32 volatile_regs(void)
{
	struct insn *insn = &now.insn;

	if (is_legacy(2, 0x31) || (is_legacy(2, 0x01) && insn->modrm.bytes[0] == 0xf9))
		return 1 << FUZZ_AX | 1 << FUZZ_DX;
	if (is_legacy(2, 0xc7) && insn->modrm.bytes[0] >= 0xf0)
		return 1 << fuzz_reg_b(insn, insn->modrm.bytes[0] & 7);
	return 0;
}

static unsigned long flags_compared(void)
{
	unsigned long mask = ~(FLAG_RF | FLAG_TF);

	/* rdrand, rdseed */
	if (is_legacy(2, 0xc7) && now.insn.modrm.bytes[0] >= 0xf0)
		mask &= ~FLAG_ARITHMETIC;
	/* In user mode, popf cannot change these flags as it does in the kernel. */
	return mask & ~(FLAG_IF | FLAG_IOPL);
}

static bool regs_differ(const char *kind, const struct fuzz_regs *a, const struct fuzz_regs *b)
{
	static const char *const names[] = {
		"ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	};
	u32 skip = volatile_regs();
	int i;

	for (i = 0; i < FUZZ_NR_REGS; i++) {
		if (a->reg[i] == b->reg[i] || skip >> i & 1)
			continue;
		fail(kind, "%s is %lx, not %lx", names[i], a->reg[i], b->reg[i]);
		return true;
	}
	if ((a->flags ^ b->flags) & flags_compared()) {
		fail(kind, "flags are %lx, not %lx", a->flags, b->flags);
		return true;
	}
	return false;
}

static bool memory_differs(const char *kind)
{
	const u8 *mem = (const u8 *)FUZZ_ARENA;
	unsigned int i;

	if (!memcmp(mem, mem_bare, FUZZ_ARENA_SIZE))
		return false;
	for (i = 0; mem[i] == mem_bare[i]; i++)
		;
	fail(kind, "byte %x of memory is %02x, not %02x (sp %lx)", i, mem[i], mem_bare[i],
	     now.in.reg[FUZZ_SP] - FUZZ_ARENA);
	return true;
}

/*
 * Compare with the outcome of the original. Execution must
 * end at @from if there is an exception, or else at @to.
 */
static void compare(const char *kind, const struct fuzz_outcome *o, unsigned long from,
		    unsigned long to)
{
	const struct fuzz_outcome *bare = &now.bare;
	int at;

	if (o->sig != bare->sig || o->code != bare->code || o->address != bare->address) {
		fail(kind, "signal %d/%d at %lx, ip %lx; not %d/%d, %lx, %lx", o->sig, o->code,
		     o->address, o->regs.ip, bare->sig, bare->code, bare->address, bare->regs.ip);
		return;
	}
	if (o->regs.ip != (o->sig ? from : to)) {
		fail(kind, "ip is %lx, not %lx", o->regs.ip, o->sig ? from : to);
		return;
	}
	if (regs_differ(kind, &o->regs, &bare->regs) || memory_differs(kind))
		return;
	if (o->regs.fs_base != bare->regs.fs_base || o->regs.gs_base != bare->regs.gs_base ||
	    o->regs.segments[0] != bare->regs.segments[0] ||
	    o->regs.segments[1] != bare->regs.segments[1]) {
		fail(kind, "segments differ");
		return;
	}
	at = fuzz_fpu_compare(fpu_other, fpu_bare);
	if (at >= 0)
		fail(kind, "byte %x of the state of the FPU is %02x, not %02x", at,
		     fpu_other[at], fpu_bare[at]);
}

/*
 * Take single steps through the slot at @from, until the CPU leaves it, or is where the original
 * went: a random branch may lead into the slots.
 */
static void step_through(unsigned long from, struct fuzz_outcome *out)
{
	struct fuzz_regs in = now.in;
	int steps;

	in.ip = from;
	for (steps = 0; steps < 4; steps++) {
		fuzz_execute(&in, FUZZ_AFTER_STEP, out, fpu_other);
		if (out->sig || out->regs.ip - FUZZ_SLOTS >= FUZZ_SLOTS_SIZE ||
		    out->regs.ip == now.bare.regs.ip)
			return;
		in = out->regs;
		in.flags &= ~FLAG_TF;
		in.fs_base = now.in.fs_base;
		in.gs_base = now.in.gs_base;
	}
}

static void test_slot(void)
{
	const struct fuzz_probe *p = &now.probe;
	struct fuzz_regs in = now.in;
	struct fuzz_outcome out;

	reset_memory();
	in.ip = p->slot;
	if (p->branch)
		step_through(p->slot, &out);
	else
		fuzz_execute(&in, FUZZ_BY_INT3, &out, fpu_other);
	++count[C_COPY_RUNS];
	compare("copy", &out, p->slot, p->branch ? now.bare.regs.ip :
		p->boosted ? p->next : p->slot + now.insn.length);
}

/*
 * Test the slot that calls the trampoline for post_handlers. The call follows the copy, and returns
 * to a jump to the next instruction.
 */
static void test_post_slot(void)
{
	const struct fuzz_probe *p = &now.probe;
	struct fuzz_regs in = now.in;
	struct fuzz_outcome out;
	unsigned long word, at;
	int disp;

	if (!p->post_slot)
		return;
	reset_memory();
	in.ip = p->post_slot;
	fuzz_execute(&in, FUZZ_BY_INT3, &out, fpu_other);
	if (!out.sig) {
		at = out.regs.reg[FUZZ_SP];
		if (at - FUZZ_ARENA >= FUZZ_ARENA_SIZE) {
			fail("post", "sp is %lx at the trampoline", at);
			return;
		}
		memcpy(&word, (void *)at, sizeof(word));
		out.regs.reg[FUZZ_SP] += sizeof(word);
		memcpy((void *)at, mem_bare + (at - FUZZ_ARENA), sizeof(word));
		memcpy(&disp, (void *)(word + 1), 4);
		if (word != p->post_slot + now.insn.length + 5 || *(u8 *)word != 0xe9 ||
		    word + 5 + disp != p->next)
			fail("post", "the trampoline returns to %lx, of the slot %lx", word,
			     p->post_slot);
	}
	compare("post", &out, p->post_slot, FUZZ_TRAMPOLINE);
}

/*
 * Does the instruction do the same in user mode as in the kernel? If not, the CPU's outcome cannot
 * be compared with that of the emulation.
 */
static bool has_oracle(void)
{
	/* An emulation accesses the stack without a check, since the kernel always has a stack. */
	if (now.in.reg[FUZZ_SP] - FUZZ_ARENA - 64 >= FUZZ_ARENA_SIZE - 128)
		return false;
	if (!now.bare.sig)
		return true;
	if (is_legacy(1, 0xfa) || is_legacy(1, 0xfb))
		return false;
	/*
	 * A page fault comes from the operand or the stack, so the emulation must leave it to the
	 * copy. A branch to a non-canonical address raises #GP: kprobes_faults tests that.
	 */
	if (now.op == FUZZ_OP_INDIRECT || now.op == FUZZ_OP_RETURN)
		return now.bare.page_fault;
	return true;
}

static void test_emulation(void)
{
	struct fuzz_regs regs = now.in;

	reset_memory();
	if (!has_oracle()) {
		++count[C_NO_ORACLE];
		return;
	}
	++count[C_EMULATION_RUNS];
	if (fuzz_emulate(&regs)) {
		/*
		 * The emulation has changed nothing: the copy
		 * of the instruction is to raise the fault.
		 */
		regs.ip = now.in.ip;
		if (memcmp(&regs, &now.in, sizeof(regs)))
			fail("emulation", "changes registers, and goes to the copy");
		else if (!now.bare.sig)
			fail("emulation", "goes to the copy, though the original does not fault");
		return;
	}
	if (now.bare.sig) {
		fail("emulation", "ip is %lx; the CPU raises signal %d/%d at %lx", regs.ip,
		     now.bare.sig, now.bare.code, now.bare.address);
		return;
	}
	if (regs.ip != now.bare.regs.ip)
		fail("emulation", "ip is %lx, not %lx", regs.ip, now.bare.regs.ip);
	else if (regs.cs != now.bare.regs.cs)
		fail("emulation", "cs is %lx, not %lx", regs.cs, now.bare.regs.cs);
	else if (!regs_differ("emulation", &regs, &now.bare.regs))
		memory_differs("emulation");
}

/* Does the CPU fetch bytes after the page if only @len bytes of the encoding are in the page? */
static bool fetches_more(unsigned int len)
{
	const unsigned long end = FUZZ_TEXT + FUZZ_TEXT_SIZE;
	struct fuzz_regs in = now.in;
	struct fuzz_outcome out;

	memset((void *)FUZZ_TEXT, 0xcc, FUZZ_TEXT_SIZE);
	memcpy((void *)(end - len), now.bytes, len);
	in.ip = end - len;
	fuzz_execute(&in, FUZZ_AFTER_STEP, &out, NULL);
	return out.page_fault && out.address == end && out.regs.ip == in.ip;
}

/* Return: the number of bytes that the CPU fetches, or 0 if these are more than @max. */
static unsigned int length_on_cpu(unsigned int max)
{
	unsigned int len;

	for (len = 1; len <= max; len++)
		if (!fetches_more(len))
			return len;
	return 0;
}

static bool test_length(void)
{
	unsigned int len = now.insn.length;
	bool more;

	++count[C_LENGTHS];
	more = fetches_more(len);
	if (!more && (len == 1 || fetches_more(len - 1)))
		return true;
	if (now.probe.err) {
		++count[C_REFUSED_WRONG];
		return false;
	}
	fail("length", "the decoder says %u, the CPU %u", len, length_on_cpu(FUZZ_MAX_INSN));
	return false;
}

/* May the encoding be executed? The fuzzer would not survive some encodings. */
static bool may_execute(void)
{
	struct insn *insn = &now.insn;

	if (now.unsafe || is_prefix_as_opcode())
		return false;
	/* wrpkru: no memory would be accessible. */
	if (is_legacy(2, 0x01) && insn->modrm.bytes[0] == 0xef)
		return false;
	/* vmmcall: a hypervisor may write another instruction over it. */
	if (is_legacy(2, 0x01) && insn->modrm.bytes[0] == 0xd9)
		return false;
	return !now.probe.err || now.op == FUZZ_OP_NONE;
}

static int class_of(void)
{
	const struct fuzz_probe *p = &now.probe;

	if (!p->err)
		return p->branch ? C_BRANCHES : !p->slot ? C_EMULATED : p->boosted ? C_COPIED :
		       p->emulated ? C_EMULATED : C_STEPPED;
	if (is_prefix_as_opcode())
		return C_PREFIX;
	switch (now.op) {
	case FUZZ_OP_NONE:
		return C_UNKNOWN;
	case FUZZ_OP_REFUSE:
		return C_REFUSED;
	case FUZZ_OP_TRAP:
		return C_TRAPS;
	case FUZZ_OP_COPY:
	case FUZZ_OP_STEP:
		return C_OTHERWISE;
	default:
		return C_NO_EMULATION;
	}
}

/* A locked verw is invalid, but an AMD CPU raises #UD only once in some ten thousand times. */
static bool is_locked_verw(void)
{
	return has_prefix(0xf0) && is_legacy(2, 0x00) && (now.insn.modrm.bytes[0] >> 3 & 7) == 5;
}

static void test_execution(void)
{
	const struct fuzz_probe *p = &now.probe;
	bool linear;

	reset_memory();
	/* Run pushf up to an int3: after a single step it would have saved the trap flag. */
	fuzz_execute(&now.in, is_legacy(1, 0x9c) ? FUZZ_BY_INT3 : repeats() ?
		     FUZZ_AFTER_REPEATING : FUZZ_AFTER_STEP, &now.bare, fpu_bare);
	memcpy(mem_bare, (void *)FUZZ_ARENA, FUZZ_ARENA_SIZE);
	if (p->err) {
		if (now.bare.sig != SIGILL)
			++count[C_RUNS_THOUGH_UNKNOWN];
		return;
	}
	if (is_locked_verw()) {
		++count[C_NO_ORACLE];
		return;
	}
	/*
	 * A hypervisor may make locked accesses that cross
	 * a cache line so slow that the alarm comes first.
	 */
	if (now.bare.sig == SIGALRM) {
		++count[C_SLOW];
		return;
	}
	if (now.bare.sig == SIGILL)
		++count[C_UD];
	else if (now.bare.sig)
		++count[C_FAULTED];
	linear = now.op == FUZZ_OP_COPY || now.op == FUZZ_OP_STEP;
	if (linear && !now.bare.sig && now.bare.regs.ip != p->next) {
		fail("class", "said to go on with the next instruction, goes to %lx",
		     now.bare.regs.ip);
		return;
	}
	/*
	 * If kprobes always emulates the instruction, the
	 * CPU executes the copy only to raise a fault.
	 */
	if (p->slot && (!p->emulated || p->boosted || now.bare.page_fault))
		test_slot();
	/* The slot calls the trampoline, which needs room for the return address on the stack. */
	if (linear && now.bare.regs.reg[FUZZ_SP] - FUZZ_ARENA - 8 < FUZZ_ARENA_SIZE - 8 &&
	    !(volatile_regs() & 1 << FUZZ_SP))
		test_post_slot();
	if (p->emulated)
		test_emulation();
}

static bool test_encoding(struct fuzz_random *r)
{
	bool known = false;

	++count[C_ENCODINGS];
	decode();
	if (!now.insn.length) {
		++count[C_UNDECODED];
		return false;
	}
	randomize(r);
	memset((void *)FUZZ_TEXT, 0xcc, FUZZ_TEXT_SIZE);
	memcpy((void *)FUZZ_AT, now.bytes, now.insn.length);
	fuzz_probe(&now.probe);
	++count[class_of()];
	if (!may_execute())
		return false;
	test_execution();
	if (now.bare.sig != SIGILL)
		known = test_length();
	return known;
}

/*
 * objdump gets many encodings in one file, each at a multiple of 32 bytes and followed by zeroes.
 */

#define BATCH	16384
#define SPACE	32

static struct {
	u8 bytes[FUZZ_MAX_INSN];
	u8 len;
	bool known;
	bool refused;
	u64 index;
} batch[BATCH];
static unsigned int batch_nr;
static char batch_file[] = "/tmp/kprobes-fuzz-XXXXXX";

static const char *const lone_prefixes[] = {
	"data16", "data32", "addr32", "addr16", "rep", "repz", "repnz", "lock", "cs", "ds", "es",
	"ss", "fs", "gs", "rex", "xacquire", "xrelease", "notrack", "bnd", NULL
};

/* Does objdump's text show no instruction: "(bad)", or only prefixes? */
static bool is_bad(char *text)
{
	char *word, *save = NULL;
	int i;

	if (strstr(text, "(bad)"))
		return true;
	for (word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		for (i = 0; lone_prefixes[i]; i++)
			if (!strcmp(word, lone_prefixes[i]) || !strncmp(word, "rex.", 4))
				break;
		if (!lone_prefixes[i])
			return false;
	}
	return true;
}

static void objdump_line(char *line)
{
	unsigned int len = 0, i;
	unsigned long at;
	char *p, *text;

	at = strtoul(line, &p, 16);
	i = at / SPACE;
	if (*p != ':' || p[1] != '\t' || at % SPACE || i >= batch_nr || !batch[i].len)
		return;
	/* objdump prints a blank after each byte, and blanks up to the column of the text. */
	for (p += 2; p[0] && p[1] && p[0] != ' ' && p[0] != '\n'; p += 3)
		len++;
	text = strchr(p, '\t');
	memcpy(now.bytes, batch[i].bytes, sizeof(now.bytes));
	number = batch[i].index;
	if (!text || is_bad(text + 1)) {
		++count[C_OBJDUMP_BAD];
	} else if (len == batch[i].len) {
		++count[C_OBJDUMP];
	} else if (batch[i].known) {
		++count[C_OBJDUMP_WRONG];
	} else if (batch[i].refused) {
		++count[C_REFUSED_WRONG];
	} else {
		decode();
		fail("objdump", "the decoder says %u, objdump %u, the CPU cannot tell",
		     batch[i].len, len);
	}
	batch[i].len = 0;
}

static void objdump_batch(void)
{
	u64 next = number;
	char command[256], line[512];
	unsigned int i;
	FILE *f;

	f = fopen(batch_file, "w");
	for (i = 0; f && i < batch_nr; i++) {
		u8 space[SPACE] = {};

		memcpy(space, batch[i].bytes, batch[i].len);
		fwrite(space, SPACE, 1, f);
	}
	if (!f || fclose(f)) {
		perror(batch_file);
		exit(2);
	}
	snprintf(command, sizeof(command), "objdump -D -w -b binary -m %s --insn-width=16 %s",
		 OBJDUMP_ARCH, batch_file);
	f = popen(command, "r");
	while (f && fgets(line, sizeof(line), f))
		objdump_line(line);
	if (!f || pclose(f)) {
		fprintf(stderr, "fuzz: objdump failed\n");
		exit(2);
	}
	batch_nr = 0;
	number = next;
}

static void note_for_objdump(bool known)
{
	unsigned int i = batch_nr;

	if (!now.insn.length || is_prefix_as_opcode())
		return;
	memcpy(batch[i].bytes, now.bytes, sizeof(now.bytes));
	batch[i].len = now.insn.length;
	batch[i].known = known;
	batch[i].refused = now.probe.err;
	batch[i].index = number;
	if (++batch_nr == BATCH)
		objdump_batch();
}

#define TABLE_STATES	200

static bool read_encoding(const char *text, u8 bytes[FUZZ_MAX_INSN])
{
	unsigned int i, byte;

	memset(bytes, 0xcc, FUZZ_MAX_INSN);
	for (i = 0; i < FUZZ_MAX_INSN && sscanf(text + 2 * i, "%2x", &byte) == 1; i++)
		bytes[i] = byte;
	return i && !text[2 * i];
}

static void test_in_many_states(const u8 *bytes)
{
	unsigned int i;

	for (i = 0; i < TABLE_STATES; i++) {
		struct fuzz_random r = fuzz_random_of(seed, i);

		memcpy(now.bytes, bytes, sizeof(now.bytes));
		note_for_objdump(test_encoding(&r));
	}
}

static void test_table(void)
{
	u8 bytes[FUZZ_MAX_INSN];
	u32 i;

	for (i = 0; i < kp_insn_nr; i++) {
		fuzz_case(&kp_insn_cases[i], bytes);
		test_in_many_states(bytes);
	}
	printf("table: %u encodings in %u states each\n", kp_insn_nr, TABLE_STATES);
}

static void test_random(void)
{
	time_t end = seconds_max ? time(NULL) + seconds_max : 0;
	struct fuzz_random r;

	for (; number < count_max; number++) {
		r = fuzz_random_of(seed, number);
		fuzz_generate(&r, now.bytes, X86_64);
		note_for_objdump(test_encoding(&r));
		if (end && !(number & 255) && time(NULL) >= end)
			break;
	}
}

static void report(void)
{
	u64 all = count[C_ENCODINGS];
	int c;

	for (c = 0; c < C_COUNTS; c++)
		printf("%-18s%10llu %5.1f%%\n", count_names[c],
		       (unsigned long long)count[c],
		       all ? 100.0 * count[c] / all : 0.0);
	printf("%d bits, SEED=%llu: %llu passed, %llu failed\n", MODE, (unsigned long long)seed,
	       (unsigned long long)(failures < all ? all - failures : 0),
	       (unsigned long long)failures);
}

static void usage(void)
{
	fprintf(stderr,
		"usage: fuzz_%d [-s SEED] [-n COUNT] [-t SECONDS] [-i NUMBER] [-x HEX] [-v]\n"
		"-i repeats one encoding of a seed, -x tries an encoding in many states\n", MODE);
	exit(2);
}

int main(int argc, char **argv)
{
	u8 bytes[FUZZ_MAX_INSN];
	bool random = true;
	struct fuzz_random r;
	unsigned int i;
	int opt, fd;

	while ((opt = getopt(argc, argv, "s:n:t:i:x:v")) != -1) {
		switch (opt) {
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			count_max = strtoull(optarg, NULL, 0);
			break;
		case 't':
			seconds_max = atoi(optarg);
			break;
		case 'i':
			number = strtoull(optarg, NULL, 0);
			count_max = number + 1;
			break;
		case 'x':
			if (!read_encoding(optarg, bytes))
				usage();
			random = false;
			break;
		case 'v':
			verbose = true;
			break;
		default:
			usage();
		}
	}
	fd = mkstemp(batch_file);
	if (fd < 0) {
		perror(batch_file);
		return 2;
	}
	close(fd);
	r.state = seed;
	for (i = 0; i < sizeof(mem_pool); i += 8) {
		u64 v = fuzz_value(&r);

		memcpy(mem_pool + i, &v, 8);
	}
	fuzz_cpu_init();
	if (random && !number)
		test_table();
	if (random)
		test_random();
	else
		test_in_many_states(bytes);
	if (batch_nr)
		objdump_batch();
	unlink(batch_file);
	report();
	return failures ? 1 : 0;
}
