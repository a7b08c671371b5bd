// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: probes all instructions of the BPF interpreter, some at a time, and optimises the
 * probes where possible. The interpreter jumps through a table of addresses in data, which a search
 * of the text for branches does not find. No jump may be written over these addresses.
 */

#include <linux/filter.h>
#include "kp_opt.h"
#include "kp_symbol.h"

#define KP_INTERPRETER	"___bpf_prog_run"

/*
 * Each pass probes every KP_PASSES-th instruction. That many instructions are at least as long as a
 * jump, so no jump would overwrite another probed instruction: then it would not be written.
 */
#define KP_PASSES	5
#define KP_RUNS		20
#define KP_MAX_INSNS	1024
#define KP_STACK	64

static atomic_long_t kp_bpf_hits;

KP_PRE_HANDLER(__kprobes, kp_bpf_pre, atomic_long_inc(&kp_bpf_hits))

/* A program with most BPF instructions that call no helper. Their results are mixed into r0. */
struct kp_program {
	struct bpf_insn insn[KP_MAX_INSNS];
	int nr;
};

static void kp_emit(struct kp_program *p, struct bpf_insn insn)
{
	if (p->nr < KP_MAX_INSNS)
		p->insn[p->nr] = insn;
	p->nr++;
}

static void kp_emit_mix(struct kp_program *p, int reg)
{
	kp_emit(p, BPF_ALU64_IMM(BPF_MUL, BPF_REG_0, 31));
	kp_emit(p, BPF_ALU64_REG(BPF_ADD, BPF_REG_0, reg));
}

static void kp_emit_op(struct kp_program *p, struct bpf_insn insn)
{
	kp_emit(p, insn);
	kp_emit_mix(p, insn.dst_reg);
}

static void kp_emit_alu(struct kp_program *p)
{
	static const u8 ops[] = {
		BPF_ADD, BPF_SUB, BPF_AND, BPF_OR, BPF_LSH, BPF_RSH, BPF_XOR, BPF_MUL, BPF_MOV,
		BPF_ARSH, BPF_DIV, BPF_MOD,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		kp_emit(p, BPF_MOV64_REG(BPF_REG_3, BPF_REG_6));
		kp_emit(p, BPF_MOV64_IMM(BPF_REG_4, 13));
		kp_emit_op(p, BPF_ALU64_REG(ops[i], BPF_REG_3, BPF_REG_4));
		kp_emit_op(p, BPF_ALU32_REG(ops[i], BPF_REG_3, BPF_REG_4));
		kp_emit_op(p, BPF_ALU64_IMM(ops[i], BPF_REG_3, 7));
		kp_emit_op(p, BPF_ALU32_IMM(ops[i], BPF_REG_3, 5));
	}
	kp_emit_op(p, BPF_ALU64_IMM(BPF_NEG, BPF_REG_6, 0));
	kp_emit_op(p, BPF_ALU32_IMM(BPF_NEG, BPF_REG_6, 0));
	for (i = 16; i <= 64; i *= 2) {
		kp_emit_op(p, BPF_ENDIAN(BPF_TO_BE, BPF_REG_6, i));
		kp_emit_op(p, BPF_ENDIAN(BPF_TO_LE, BPF_REG_6, i));
	}
}

/* Each conditional jump, taken and not taken */
static void kp_emit_jumps(struct kp_program *p)
{
	static const u8 ops[] = {
		BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET, BPF_JSGT,
		BPF_JSGE, BPF_JSLT, BPF_JSLE,
	};
	int i, form, value;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		for (value = -5; value <= 5; value += 10) {
			struct bpf_insn forms[] = {
				BPF_JMP_REG(ops[i], BPF_REG_3, BPF_REG_4, 1),
				BPF_JMP_IMM(ops[i], BPF_REG_3, 4, 1),
				BPF_JMP32_REG(ops[i], BPF_REG_3, BPF_REG_4, 1),
				BPF_JMP32_IMM(ops[i], BPF_REG_3, 4, 1),
			};

			kp_emit(p, BPF_MOV64_IMM(BPF_REG_3, value));
			kp_emit(p, BPF_MOV64_IMM(BPF_REG_4, 5));
			for (form = 0; form < ARRAY_SIZE(forms); form++) {
				kp_emit(p, forms[form]);
				kp_emit(p, BPF_ALU64_IMM(BPF_ADD, BPF_REG_0, 1 << form));
			}
			kp_emit_mix(p, BPF_REG_3);
		}
	}
	kp_emit(p, BPF_JMP_A(1));
	kp_emit(p, BPF_MOV64_IMM(BPF_REG_0, 0));
}

static void kp_emit_memory(struct kp_program *p)
{
	static const u8 sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		kp_emit(p, BPF_ST_MEM(BPF_DW, BPF_REG_10, -8, 0));
		kp_emit(p, BPF_ST_MEM(sizes[i], BPF_REG_10, -8, 0x1234567));
		kp_emit_op(p, BPF_LDX_MEM(sizes[i], BPF_REG_3, BPF_REG_10, -8));
		kp_emit(p, BPF_STX_MEM(sizes[i], BPF_REG_10, BPF_REG_6, -8));
		kp_emit_op(p, BPF_LDX_MEM(sizes[i], BPF_REG_3, BPF_REG_10, -8));
	}
	for (i = 2; i < 4; i++) {
		kp_emit(p, BPF_ATOMIC_OP(sizes[i], BPF_ADD, BPF_REG_10, BPF_REG_6, -8));
		kp_emit(p, BPF_ATOMIC_OP(sizes[i], BPF_XOR | BPF_FETCH, BPF_REG_10, BPF_REG_6, -8));
		kp_emit_mix(p, BPF_REG_6);
	}
}

static void kp_write_program(struct kp_program *p)
{
	struct bpf_insn imm64[] = { BPF_LD_IMM64(BPF_REG_6, 0x123456789abcdef0ULL) };

	kp_emit(p, BPF_MOV64_IMM(BPF_REG_0, 1));
	kp_emit(p, imm64[0]);
	kp_emit(p, imm64[1]);
	kp_emit_alu(p);
	kp_emit_jumps(p);
	kp_emit_memory(p);
	kp_emit(p, BPF_EXIT_INSN());
}

KUNIT_DEFINE_ACTION_WRAPPER(kp_bpf_free, bpf_prog_free, struct bpf_prog *);

static struct bpf_prog *kp_load_program(struct kunit *test)
{
	struct kp_program *p = kp_zalloc(test, sizeof(*p));
	struct bpf_prog *prog;
	int err = 0;

	kp_write_program(p);
	KUNIT_ASSERT_LE(test, p->nr, KP_MAX_INSNS);
	prog = bpf_prog_alloc(bpf_prog_size(p->nr), 0);
	KUNIT_ASSERT_NOT_NULL(test, prog);
	prog->len = p->nr;
	prog->type = BPF_PROG_TYPE_SOCKET_FILTER;
	prog->aux->stack_depth = KP_STACK;
	memcpy(prog->insnsi, p->insn, p->nr * sizeof(p->insn[0]));
	prog = bpf_prog_select_runtime(prog, &err);
	KUNIT_ASSERT_EQ(test, err, 0);
	kp_at_end(test, kp_bpf_free, prog);
	if (prog->jited)
		kunit_skip(test, "the program is compiled");
	return prog;
}

static u32 kp_run_program(const struct bpf_prog *prog)
{
	u32 ret;

	migrate_disable();
	ret = bpf_prog_run(prog, NULL);
	migrate_enable();
	return ret;
}

static void kp_unregister_all(struct kprobe *kps, int nr)
{
	struct kprobe **list = kvcalloc(nr, sizeof(*list), GFP_KERNEL | __GFP_NOFAIL);
	int i;

	for (i = 0; i < nr; i++)
		list[i] = &kps[i];
	unregister_kprobes(list, nr);
	kvfree(list);
}

/* Find the instructions that can be probed. Return: their number; @insns has their addresses. */
static int kp_find_insns(struct kunit *test, unsigned long **insns)
{
	struct kprobe first = { .symbol_name = KP_INTERPRETER, .flags = KPROBE_FLAG_DISABLED };
	unsigned long addr, offset, size, nr = 0;
	struct kprobe *kps;
	int ret;

	ret = register_kprobe(&first);
	if (ret)
		kunit_skip(test, "no BPF interpreter: %d", ret);
	addr = (unsigned long)first.addr;
	unregister_kprobe(&first);
	KUNIT_ASSERT_EQ(test, kp_measure((void *)addr, &offset, &size), 0);
	addr -= offset;
	*insns = kunit_kcalloc(test, size, sizeof(**insns), GFP_KERNEL);
	kps = kvcalloc(size, sizeof(*kps), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, *insns && kps);
	for (offset = 0; offset < size; offset++) {
		kps[nr].addr = (kprobe_opcode_t *)addr + offset;
		kps[nr].pre_handler = kp_bpf_pre;
		kps[nr].flags = KPROBE_FLAG_DISABLED;
		if (!register_kprobe(&kps[nr]))
			(*insns)[nr++] = addr + offset;
		else
			memset(&kps[nr], 0, sizeof(kps[nr]));
		cond_resched();
	}
	kp_unregister_all(kps, nr);
	kvfree(kps);
	return nr;
}

/* Probe every KP_PASSES-th instruction, and run @prog. Return: the number of optimised probes. */
static int kp_probe_pass(struct kunit *test, const unsigned long *insns, int nr, int pass,
			 const struct bpf_prog *prog, u32 wanted)
{
	int i, run, probed = 0, jumps = 0, wrong = 0;
	unsigned long hits;
	struct kprobe *kps;

	kps = kvcalloc(nr, sizeof(*kps), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, kps);
	for (i = pass; i < nr; i += KP_PASSES) {
		kps[probed].addr = (kprobe_opcode_t *)insns[i];
		kps[probed].pre_handler = kp_bpf_pre;
		if (!register_kprobe(&kps[probed]))
			probed++;
	}
	KUNIT_EXPECT_EQ(test, kp_opt_switch(true), 0);
	KUNIT_EXPECT_EQ(test, kp_opt_settle(), 0);
	for (i = 0; i < probed; i++)
		jumps += kp_is_jump(kps[i].addr);
	hits = atomic_long_read(&kp_bpf_hits);
	for (run = 0; run < KP_RUNS; run++)
		wrong += kp_run_program(prog) != wanted;
	hits = atomic_long_read(&kp_bpf_hits) - hits;
	kp_unregister_all(kps, probed);
	kvfree(kps);
	kunit_info(test, "pass %d: %d probes, %d optimised, %lu hits\n", pass, probed, jumps, hits);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_GT(test, hits, KP_RUNS);
	KUNIT_EXPECT_EQ(test, kp_run_program(prog), wanted);
	return jumps;
}

static void kp_bpf_interpreter(struct kunit *test)
{
	const struct bpf_prog *prog = kp_load_program(test);
	unsigned long *insns;
	int pass, nr, jumps = 0;
	u32 wanted;

	wanted = kp_run_program(prog);
	nr = kp_find_insns(test, &insns);
	KUNIT_ASSERT_GT(test, nr, 100);
	for (pass = 0; pass < KP_PASSES; pass++)
		jumps += kp_probe_pass(test, insns, nr, pass, prog, wanted);
	kunit_info(test, "%d instructions, %d optimised\n", nr, jumps);
}

static struct kunit_case kp_bpf_cases[] = {
	KUNIT_CASE_SLOW(kp_bpf_interpreter),
	{}
};

KP_ONLY_SUITE(kp_bpf, "kprobes_bpf", "KUnit suite: kprobes within the BPF interpreter",
	      .init = kp_opt_init);
