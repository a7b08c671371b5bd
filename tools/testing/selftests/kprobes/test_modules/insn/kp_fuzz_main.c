// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: random instructions must have the same effect with a probe as without. The programs
 * in the directory fuzz of the selftests have the same generator and table, but test copies and
 * emulations in user mode; here the probes are real, see kp_insn_run.c.
 *
 * No instruction is executed that could harm the kernel: no system instructions, none that
 * sets the stack pointer, and memory operands only in kp_insn_mem or on the stack. The
 * exception table catches exceptions.
 */

#include <linux/ctype.h>
#include <linux/memory.h>
#include <asm/insn.h>
#include "kp_fuzz.h"
#include "kp_insn.h"
#include "fuzz_gen.h"
#include "kp_symbol.h"

module_param_named(seed, kp_runner.seed, ulong, 0400);
MODULE_PARM_DESC(seed, "of the random values");
module_param_named(opt, kp_runner.opt, bool, 0400);
MODULE_PARM_DESC(opt, "compare jump-optimised probes with others");

KP_MODULE_PARAM(uint, seconds, 5, "how long the case lasts");
KP_MODULE_PARAM(uint, least, 1, "fail if the case has run fewer instructions under probes");
KP_MODULE_PARAM(bool, trace, false,
		"print each instruction first: the last one has killed the kernel");

#define KP_OPERAND	(KP_MEM / 2)

/*
 * struct kp_target - a function and its instruction
 * @run: the function
 * @name: the bytes of the instruction, and its number
 * @index: number of the instruction
 * @operand: the base is set so that the operand, with the index, is at @offset plus displacement
 * @to_reg: register that gets the target of a branch; -1: none
 * @branches: the branch reads its target from memory
 */
struct kp_target {
	struct kp_insn run;
	char name[64];
	u8 bytes[FUZZ_MAX_INSN];
	struct insn insn;
	u64 index;
	struct fuzz_operand operand;
	long offset;
	int to_reg;
	bool branches;
};

/* Minimum number of encodings of the table to be executed */
#define KP_TABLE_MIN	15UL

static struct kp_target *kp_targets;
static struct kprobe *kp_probes[KP_FUZZ_TARGETS];

static struct {
	u64 next;
	unsigned long refused;
	unsigned long faults;
	unsigned long run;
	unsigned long of_table;
} kp_count;

static struct {
	int (*insn_decode)(struct insn *insn, const void *kaddr, int buf_len, enum insn_mode m);
	void *(*text_poke)(void *addr, const void *opcode, size_t len);
	void (*text_poke_sync)(void);
	struct mutex *text_mutex;	/* held while text is patched */
} kernel;

/*
 * Which instructions are executed. A small letter means that the reg field of the ModRM byte is no
 * register, but extends the opcode. A dot means that no such instruction is executed.
 *
 *	A	any operands that the rules below allow
 *	V	the same, with vector registers
 *	J	a relative branch
 *	R	a near return
 *	F	popf
 *	I	outside of 64-bit mode only
 */
static const char one_byte[256 + 1] = {
	"AAAAAA..AAAAAA.."	/* 0_ */
	"AAAAAA..AAAAAA.."	/* 1_ */
	"AAAAAA.IAAAAAA.I"	/* 2_ */
	"AAAAAA.IAAAAAA.I"	/* 3_ */
	"IIIIIIIIIIIIIIII"	/* 4_ */
	"AAAAAAAAAAAAAAAA"	/* 5_ */
	"...A....AAAA...."	/* 6_ */
	"JJJJJJJJJJJJJJJJ"	/* 7_ */
	"aa.aAAAAAAAAaA.a"	/* 8_ */
	"AAAAAAAAAA..AFAA"	/* 9_ */
	"....AAAAAAAAAAAA"	/* a_ */
	"AAAAAAAAAAAAAAAA"	/* b_ */
	"aaRR..aa........"	/* c_ */
	"aaaaII.A........"	/* d_ */
	"JJJJ....JJ.J...."	/* e_ */
	".....AaaAAAAAAaa"	/* f_ */
};

static const char map_0f[256 + 1] = {
	".............a.."	/* 0_ */
	"VVVVVVVVaaaaaaaa"	/* 1_ */
	"........VVVVVVVV"	/* 2_ */
	".A.............."	/* 3_ */
	"AAAAAAAAAAAAAAAA"	/* 4_ */
	"VVVVVVVVVVVVVVVV"	/* 5_ */
	"VVVVVVVVVVVVVVVV"	/* 6_ */
	"VvvvVVVV....VVVV"	/* 7_ */
	"JJJJJJJJJJJJJJJJ"	/* 8_ */
	"AAAAAAAAAAAAAAAA"	/* 9_ */
	"A.AAAA..A..AAA.A"	/* a_ */
	"AA.A..AAA.aAAAAA"	/* b_ */
	"AAVAVVVaAAAAAAAA"	/* c_ */
	"VVVVVVVVVVVVVVVV"	/* d_ */
	"VVVVVVVVVVVVVVVV"	/* e_ */
	"VVVVVVVVVVVVVVV."	/* f_ */
};

static char kp_letter(const struct insn *insn)
{
	const u8 *op = insn->opcode.bytes;

	if (insn->vex_prefix.nbytes == 4 || insn->emulate_prefix_size)
		return '.';
	if (insn->vex_prefix.nbytes) {
		switch (insn_vex_m_bits((struct insn *)insn)) {
		case 1:		/* not vldmxcsr, vstmxcsr */
			return op[0] == 0xae ? '.' : 'V';
		case 2:		/* not tiles, gathers */
			return (op[0] & 0xf0) == 0x40 || op[0] == 0x5c || op[0] == 0x5e ||
			       op[0] == 0x6c || (op[0] & 0xfc) == 0x90 ? '.' : 'V';
		case 3:
			return 'V';
		}
		return '.';
	}
	switch (insn->opcode.nbytes) {
	case 1:
		return one_byte[op[0]];
	case 2:
		return map_0f[op[1]];
	case 3:
		if (op[1] == 0x3a)
			return 'V';
		return op[2] <= 0x41 || (op[2] >= 0xc8 && op[2] <= 0xcf) ||
		       (op[2] >= 0xdb && op[2] <= 0xdf) || op[2] == 0xf0 || op[2] == 0xf1 ||
		       op[2] == 0xf6 ? 'V' : '.';
	}
	return '.';
}

static char kp_kind(const struct insn *insn)
{
	return toupper(kp_letter(insn));
}

static bool kp_has_prefix(const struct kp_target *t, u8 prefix)
{
	return fuzz_has_prefix(t->bytes, &t->insn, prefix);
}

static bool kp_is_rip_relative(const struct insn *insn)
{
	return IS_ENABLED(CONFIG_X86_64) && fuzz_has_memory(insn) &&
	       (insn->modrm.bytes[0] & 0xc7) == 0x05;
}

/* Does @insn name the stack pointer as a register, and so might set it? */
static bool kp_names_sp(const struct insn *insn)
{
	int reg = fuzz_reg_r(insn, X86_MODRM_REG(insn->modrm.bytes[0]));
	int rm = fuzz_reg_b(insn, X86_MODRM_RM(insn->modrm.bytes[0]));
	u8 v = X86_VEX_V(~insn->vex_prefix.bytes[2] & 0xff);

	/* In 32-bit mode the CPU ignores the highest bit of vvvv. */
	if (insn->vex_prefix.nbytes && (IS_ENABLED(CONFIG_X86_64) ? v : v & 7) == KP_SP)
		return true;
	if (insn->modrm.nbytes)
		return (!islower(kp_letter(insn)) && reg == KP_SP) ||
		       (!fuzz_has_memory(insn) && rm == KP_SP);
	return (fuzz_is(insn, 1, 0x40, 0x4f) || fuzz_is(insn, 1, 0x58, 0x5f) ||
		fuzz_is(insn, 1, 0x90, 0x97) || fuzz_is(insn, 1, 0xb0, 0xbf) ||
		fuzz_is(insn, 2, 0xc8, 0xcf)) &&
	       fuzz_reg_b(insn, insn->opcode.bytes[insn->opcode.nbytes - 1] & 7) == KP_SP;
}

static bool kp_names_mmx(const struct kp_target *t)
{
	bool plain = !kp_has_prefix(t, 0x66) && !kp_has_prefix(t, 0xf2) && !kp_has_prefix(t, 0xf3);
	const u8 *op = t->insn.opcode.bytes;

	if (t->insn.vex_prefix.nbytes || kp_kind(&t->insn) != 'V')
		return false;
	if (t->insn.opcode.nbytes == 3)
		return plain && (op[1] == 0x38 ? op[2] <= 0x1e : op[2] == 0x0f);
	/*
	 * Instructions that use MMX registers with mandatory prefixes, too: cvtpi2pd, cvttpd2pi,
	 * cvtpd2pi, movq2dq, movdq2q
	 */
	return op[1] == 0x2a || op[1] == 0x2c || op[1] == 0x2d || op[1] == 0xd6 ||
	       (plain && op[1] >= 0x60 && op[1] != 0xc2 && op[1] != 0xc6);
}

/* Return: true if QEMU 7.2 without KVM emulates the instruction wrongly. */
static bool kp_breaks_qemu(const struct kp_target *t)
{
	const struct insn *insn = &t->insn;
	u8 rex = insn->rex_prefix.bytes[0];

	/*
	 * A CPU has eight MMX registers and ignores REX.R and REX.B. QEMU takes mm8 to mm15 from
	 * the fields after mm7 in its own structure: mm9 is the address of the last memory operand
	 * of x87, which any process changes (41 0f 38 06 f1, phsubd %mm1, %mm6, after fldl).
	 */
	if (kp_names_mmx(t) && (X86_REX_R(rex) || (X86_REX_B(rex) && !fuzz_has_memory(insn))))
		return true;
	/* adcx, adox: QEMU sets reserved flags */
	if (fuzz_is(insn, 3, 0xf6, 0xf6))
		return true;
	/* lock with a register operand: QEMU aborts, at btc for example, instead of raising #UD */
	if (kp_has_prefix(t, 0xf0) && !fuzz_has_memory(insn))
		return true;
	/* In 32-bit mode the CPU ignores the highest bit of vvvv; QEMU reads another register. */
	if (!IS_ENABLED(CONFIG_X86_64) && insn->vex_prefix.nbytes &&
	    X86_VEX_V(~insn->vex_prefix.bytes[2] & 0xff) & 8)
		return true;
	/* vroundss, vroundsd with 256 bits: QEMU aborts */
	return insn->vex_prefix.nbytes && insn_vex_m_bits((struct insn *)insn) == 3 &&
	       (insn->opcode.bytes[0] & 0xfe) == 0x0a && X86_VEX_L(insn->vex_prefix.bytes[2]);
}

static void kp_patch(struct kp_target *t, int at, long value, int len)
{
	memcpy(t->bytes + at, &value, len);
}

static bool __nocfi kp_decode(struct kp_target *t)
{
	return !kernel.insn_decode(&t->insn, t->bytes, sizeof(t->bytes), INSN_MODE_KERN);
}

/* Keep the operand in memory within bounds. Return: false if that is impossible. */
static bool kp_place_operand(struct kp_target *t, struct fuzz_random *r)
{
	struct insn *insn = &t->insn;
	bool addr_prefix = kp_has_prefix(t, 0x67);
	bool segment = kp_has_prefix(t, 0x64) || kp_has_prefix(t, 0x65);
	unsigned long place = (unsigned long)kp_insn_mem + KP_OPERAND - 64 + fuzz_below(r, 128);
	int disp_at = insn_offset_displacement(insn);
	struct fuzz_operand *o = &t->operand;

	o->base = -1;
	/* String instructions, xlat and maskmov use registers that are set anyway. */
	if (fuzz_is(insn, 1, 0xa4, 0xaf) || fuzz_is(insn, 1, 0xd7, 0xd7) ||
	    fuzz_is(insn, 2, 0xf7, 0xf7))
		return !addr_prefix && !segment;
	if (insn->vex_prefix.nbytes && insn_vex_m_bits(insn) == 1 && insn->opcode.bytes[0] == 0xf7)
		return !addr_prefix && !segment;
	if (!fuzz_has_memory(insn) || fuzz_is(insn, 1, 0x8d, 0x8d))
		return true;
	if (addr_prefix || segment)
		return false;
	/* A bit offset in a register may address bytes far from the operand. */
	if (fuzz_has_bit_offset(insn))
		return false;
	/* An indirect branch must read its target, which kp_place() writes to aligned words. */
	if (fuzz_one_in(r, 2) || fuzz_is(insn, 1, 0xff, 0xff))
		place = ALIGN_DOWN(place, 64);
	if (kp_is_rip_relative(insn)) {
		kp_patch(t, disp_at, place - (unsigned long)t->run.start - insn->length, 4);
		return kp_decode(t);
	}
	*o = fuzz_operand_of(insn);
	if (o->base < 0 && !insn->sib.nbytes) {
		kp_patch(t, disp_at, place, 4);
		return kp_decode(t);
	}
	if (o->base < 0 || o->base == o->index)
		return false;
	if (o->base == KP_SP) {
		/* The stack pointer cannot be chosen, only the displacement. */
		if (o->index >= 0)
			return false;
		o->base = -1;
		if (insn->displacement.nbytes)
			kp_patch(t, disp_at, fuzz_below(r, KP_STACK_TOP - 96),
				 insn->displacement.nbytes);
		return kp_decode(t);
	}
	t->offset = place - insn->displacement.value;
	return true;
}

/* Direct all branches to KP_FUZZ_TAKEN. Return: false if that is impossible. */
static bool kp_place_target(struct kp_target *t, char kind)
{
	struct insn *insn = &t->insn;
	u8 modrm = insn->modrm.bytes[0];

	t->to_reg = -1;
	t->branches = false;
	if (kind == 'J') {
		if (kp_has_prefix(t, 0x66))
			return false;
		kp_patch(t, insn_offset_immediate(insn), KP_FUZZ_TAKEN - insn->length,
			 insn->immediate.nbytes);
		return kp_decode(t);
	}
	/* ret with a number of bytes to drop: at most 0x38 */
	if (fuzz_is(insn, 1, 0xc2, 0xc2)) {
		kp_patch(t, insn_offset_immediate(insn), insn->immediate.value & 0x38, 2);
		return kp_decode(t);
	}
	if (!fuzz_is(insn, 1, 0xff, 0xff) || X86_MODRM_REG(modrm) < 2 || X86_MODRM_REG(modrm) > 5)
		return true;
	if (X86_MODRM_REG(modrm) & 1)
		return false;
	if (fuzz_has_memory(insn)) {
		/* No word of the stack is a target, so the operand must be in kp_insn_mem. */
		t->branches = t->operand.base >= 0 || kp_is_rip_relative(insn);
		return t->branches;
	}
	t->to_reg = fuzz_reg_b(insn, X86_MODRM_RM(modrm));
	return true;
}

static bool kp_is_of_table(const struct kp_target *t)
{
	return t->index < kp_insn_nr;
}

/*
 * Numbers below kp_insn_nr stand for encodings of the table: take one if kp_insn does not execute
 * it. For higher numbers, generate an encoding. Return: true if it can be executed.
 */
static bool kp_generate(struct kp_target *t)
{
	struct fuzz_random r = fuzz_random_of(kp_runner.seed, kp_count.next);
	char kind;

	t->index = kp_count.next++;
	if (!kp_is_of_table(t))
		fuzz_generate(&r, t->bytes, IS_ENABLED(CONFIG_X86_64));
	else if (kp_insn_cases[t->index].flags & KP_PLACED)
		fuzz_case(&kp_insn_cases[t->index], t->bytes);
	else
		return false;
	if (!kp_decode(t))
		return false;
	kind = kp_kind(&t->insn);
	if (kind == 'I' && IS_ENABLED(CONFIG_X86_64))
		return false;
	if (kind == '.' || kp_names_sp(&t->insn))
		return false;
	if (kp_breaks_qemu(t))
		return false;
	/* Of this opcode, execute only cmpxchg8b and cmpxchg16b. */
	if (fuzz_is(&t->insn, 2, 0xc7, 0xc7) &&
	    (!fuzz_has_memory(&t->insn) || X86_MODRM_REG(t->insn.modrm.bytes[0]) != 1))
		return false;
	return kp_place_operand(t, &r) && kp_place_target(t, kind);
}

/* Fill in t->run: the function of @t begins with its instruction. */
static void kp_prepare(struct kp_target *t)
{
	struct kp_insn *run = &t->run;

	snprintf(t->name, sizeof(t->name), "%*phN (number %llu)", t->insn.length, t->bytes,
		 t->index);
	run->name = t->name;
	run->number = t->index;
	run->probed = run->start;
	run->next = run->start + t->insn.length;
	run->flags = kp_kind(&t->insn) == 'V' ? KP_FPU | KP_MMX : 0;
	/* rdtsc */
	if (fuzz_is(&t->insn, 2, 0x31, 0x31))
		run->flags |= KP_ANY_AX | KP_ANY_DX;
	run->runs = true;
}

static void kp_place(struct kp_insn *run, unsigned int round, struct fuzz_random *random,
		     struct kp_state *in)
{
	const struct kp_target *t = container_of(run, struct kp_target, run);
	unsigned long *reg = in->reg, taken = (unsigned long)run->start + KP_FUZZ_TAKEN, flags;
	int i;

	reg[KP_FLAGS] &= ~X86_EFLAGS_AC;
	if (kp_has_prefix(t, 0xf2) || kp_has_prefix(t, 0xf3) || fuzz_one_in(random, 4))
		reg[KP_CX] = fuzz_below(random, 12);
	if (t->to_reg >= 0)
		reg[t->to_reg] = taken;
	if (t->operand.base >= 0)
		reg[t->operand.base] = t->offset - fuzz_index(&t->operand, reg);
	if (t->branches)
		for (i = 0; i < KP_MEM; i += sizeof(taken))
			memcpy(in->mem + i, &taken, sizeof(taken));
	if (fuzz_is(&t->insn, 1, 0xc2, 0xc3))
		memcpy(in->stack + KP_STACK_TOP, &taken, sizeof(taken));
	if (fuzz_is(&t->insn, 1, 0x9d, 0x9d)) {
		flags = (fuzz_next(random) & (KP_ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_ID)) |
			X86_EFLAGS_FIXED | (reg[KP_FLAGS] & X86_EFLAGS_IF);
		memcpy(in->stack + KP_STACK_TOP, &flags, sizeof(flags));
	}
	if (trace)
		pr_emerg("%s\n", run->name);
}

static void __nocfi kp_write(void)
{
	u8 code[KP_FUZZ_ROOM];
	int i;

	mutex_lock(kernel.text_mutex);
	for (i = 0; i < KP_FUZZ_TARGETS; i++) {
		struct kp_target *t = &kp_targets[i];

		memset(code, 0x90, sizeof(code));
		memcpy(code, t->bytes, t->insn.length);
		kernel.text_poke(t->run.start, code, sizeof(code));
	}
	kernel.text_poke_sync();
	mutex_unlock(kernel.text_mutex);
}

/*
 * Leave out encodings that register_kprobe() refuses: the CPU may not decode them as insn_decode()
 * does. Return: the number of encodings that are left.
 */
static int kp_drop_refused(struct kunit *test)
{
	int i, nr = 0;

	for (i = 0; i < KP_FUZZ_TARGETS; i++) {
		struct kp_target *t = &kp_targets[i];
		int ret;

		kp_insn_prepare(&t->run, KP_PRE);
		ret = register_kprobe(&t->run.kp);
		if (!ret) {
			/* If the instruction is an endbr, the probe is on the nop after it. */
			if (t->run.kp.addr != t->run.probed) {
				t->run.probed = t->run.kp.addr;
				t->run.next = t->run.probed + 1;
			}
			kp_probes[nr++] = &t->run.kp;
			kp_count.of_table += kp_is_of_table(t);
			continue;
		}
		kp_count.refused++;
		if (!kp_insn_may_refuse(ret))
			KUNIT_FAIL(test, "%s is refused with %d\n", t->name, ret);
	}
	unregister_kprobes(kp_probes, nr);
	return nr;
}

static void kp_batch(struct kunit *test)
{
	int i, nr, round;

	for (i = 0; i < KP_FUZZ_TARGETS; i++) {
		while (!kp_generate(&kp_targets[i]))
			cond_resched();
		kp_prepare(&kp_targets[i]);
	}
	kp_write();
	nr = kp_drop_refused(test);
	kp_insn_run_all(test, kp_probes, nr);
	kp_count.run += nr;
	for (i = 0; i < nr; i++)
		for (round = 0; round < kp_runner.rounds; round++)
			kp_count.faults += container_of(kp_probes[i], struct kp_insn, kp)->
					   bare[round].way == KP_FIXED_UP;
	cond_resched();
}

static void kp_fuzz_random(struct kunit *test)
{
	unsigned long end = jiffies + seconds * HZ;

	do {
		kp_batch(test);
	} while (time_before(jiffies, end) && test->status == KUNIT_SUCCESS);
	kunit_info(test, "seed %lu: %llu encodings, %lu of them refused, %lu executed; %lu faults\n",
		   kp_runner.seed, kp_count.next, kp_count.refused, kp_count.run, kp_count.faults);
	kunit_info(test, "%lu of the table executed\n", kp_count.of_table);
	kunit_info(test, "runs: %lu bare, %lu and %lu with breakpoints, %lu and %lu with jumps\n",
		   kp_runner.runs[KP_BARE][0], kp_runner.runs[KP_PRE][0],
		   kp_runner.runs[KP_PRE_POST][0], kp_runner.runs[KP_PRE][1],
		   kp_runner.runs[KP_PRE_POST][1]);
	KUNIT_EXPECT_GE(test, kp_runner.runs[KP_PRE][kp_runner.opt], (unsigned long)least);
	KUNIT_EXPECT_GE(test, kp_runner.runs[KP_PRE_POST][kp_runner.opt], (unsigned long)least);
	KUNIT_EXPECT_GE(test, kp_count.of_table, KP_TABLE_MIN);
}

static int kp_fuzz_init(struct kunit *test)
{
	void *text = kp_fuzz_text;
	int i;

	/* objtool expects an endbr at an address that the compiler calculates. */
	OPTIMIZER_HIDE_VAR(text);
	kernel.insn_decode = kp_function(test, "insn_decode");
	kernel.text_poke = kp_function(test, "text_poke");
	kernel.text_poke_sync = kp_function(test, "text_poke_sync");
	kernel.text_mutex = kp_symbol(test, "text_mutex");
	kp_runner.rounds = 3;
	kp_runner.place = kp_place;
	kp_targets = kp_vzalloc(test, KP_FUZZ_TARGETS * sizeof(*kp_targets));
	for (i = 0; i < KP_FUZZ_TARGETS; i++) {
		/* kp_fuzz_text() itself only gives the text a symbol: the targets follow it. */
		kp_targets[i].run.start = text + (i + 1) * KP_FUZZ_SIZE;
		kp_insn_alloc(test, &kp_targets[i].run);
	}
	/* Per-CPU values are compared, so stay on one CPU. */
	return set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
}

static struct kunit_case kp_fuzz_cases[] = {
	KUNIT_CASE_SLOW(kp_fuzz_random),
	{}
};

KP_ONLY_SUITE(kp_fuzz, "kprobes_fuzz",
	      "KUnit suite: random instructions run probed as they run bare",
	      .init = kp_fuzz_init);
