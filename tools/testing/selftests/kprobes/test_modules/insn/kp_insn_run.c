// SPDX-License-Identifier: GPL-2.0
/*
 * Executes instructions through kp_insn_harness.S, without and with a probe, each time from the
 * same random registers, flags, stack and memory. The results must be the same, and so must the
 * registers that handlers get, whether the probe is optimised or not.
 */

#include <linux/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include "kp_insn.h"
#include "kp_opt.h"

struct kp_runner kp_runner = { .rounds = 8, .seed = 1, .modes = KP_PRE_FAULT };

static const char *const kp_mode_names[KP_MODES] = {
	"bare", "pre", "pre and post", "pre and fault", "all three",
};

/* The current instruction. Instructions run one at a time, since all use the same memory. */
static struct {
	struct kp_insn *insn;
	enum kp_mode mode;
	struct fuzz_random random;
	struct kp_state in, probed;
	struct pt_regs pre_regs, post_regs;
	int pre, post;
	/* OR of the flags arguments of all post_handler calls; must be 0 */
	unsigned long post_flags;
} kp;

/* The probes that are registered together */
static struct {
	struct kprobe **kps;
	int nr;
} kp_registered;

static const struct {
	const char *name;
	size_t offset;
} kp_pt_regs[KP_REGS] = {
#define KP_PT_REG(name)	{ #name, offsetof(struct pt_regs, name) }
	KP_PT_REG(ax), KP_PT_REG(cx), KP_PT_REG(dx), KP_PT_REG(bx),
	KP_PT_REG(sp), KP_PT_REG(bp), KP_PT_REG(si), KP_PT_REG(di),
#ifdef CONFIG_X86_64
	KP_PT_REG(r8), KP_PT_REG(r9), KP_PT_REG(r10), KP_PT_REG(r11),
	KP_PT_REG(r12), KP_PT_REG(r13), KP_PT_REG(r14), KP_PT_REG(r15), KP_PT_REG(flags),
#else
	KP_PT_REG(flags), KP_PT_REG(ds), KP_PT_REG(es), KP_PT_REG(fs), KP_PT_REG(gs),
#endif
};

static void kp_fill(struct fuzz_random *random, void *to, size_t size)
{
	u64 value;

	for (; size; size -= sizeof(value), to += sizeof(value)) {
		value = fuzz_value(random);
		memcpy(to, &value, sizeof(value));
	}
}

void kp_insn_randomize(struct fuzz_random *random, struct kp_state *in)
{
	int i;

	for (i = 0; i < KP_REGS; i++)
		in->reg[i] = fuzz_value(random);
	in->reg[KP_BX] = (unsigned long)kp_insn_mem + 256;
	in->reg[KP_BP] = (unsigned long)kp_insn_mem + 384;
	in->reg[KP_SI] = (unsigned long)kp_insn_mem + 512;
	in->reg[KP_DI] = (unsigned long)kp_insn_mem + 640;
#ifdef CONFIG_X86_64
	in->reg[KP_R12] = (unsigned long)kp_insn_mem + 768;
	in->reg[KP_R13] = (unsigned long)kp_insn_mem + 896;
	in->reg[KP_R15] &= 7;
#else
	savesegment(ds, in->reg[KP_DS]);
	savesegment(es, in->reg[KP_ES]);
	savesegment(fs, in->reg[KP_FS]);
	savesegment(gs, in->reg[KP_GS]);
#endif
	in->reg[KP_FLAGS] &= KP_ARITHMETIC | X86_EFLAGS_DF | X86_EFLAGS_IF | X86_EFLAGS_AC;
	in->reg[KP_FLAGS] |= X86_EFLAGS_FIXED;
	kp_fill(random, in->stack, sizeof(in->stack));
	kp_fill(random, in->mem, sizeof(in->mem));
	kp_fill(random, in->vector, sizeof(in->vector));
	kp_fill(random, in->mmx, sizeof(in->mmx));
}

static void kp_load_vectors(const struct kp_state *in)
{
	if (boot_cpu_has(X86_FEATURE_AVX512F))
		kp_insn_load_avx512(in->vector);
	else if (boot_cpu_has(X86_FEATURE_AVX))
		kp_insn_load_avx(in->vector);
	else
		kp_insn_load_sse(in->vector);
}

static void kp_save_vectors(struct kp_state *out)
{
	if (boot_cpu_has(X86_FEATURE_AVX512F))
		kp_insn_save_avx512(out->vector);
	else if (boot_cpu_has(X86_FEATURE_AVX))
		kp_insn_save_avx(out->vector);
	else
		kp_insn_save_sse(out->vector);
}

void kp_insn_run_state(struct kp_state *in, const void *start, u32 run, struct kp_state *out)
{
	bool irqs_on = in->reg[KP_FLAGS] & X86_EFLAGS_IF;
	unsigned long flags = 0;

	*out = *in;
	memcpy(kp_insn_in, in->reg, sizeof(in->reg));
	memcpy(kp_insn_stack, in->stack, sizeof(in->stack));
	memcpy(kp_insn_mem, in->mem, sizeof(in->mem));
	kp_insn_way = 0;
	if (run & KP_FPU) {
		kernel_fpu_begin();
		if (run & KP_MMX)
			kp_insn_load_mmx(in->mmx);
		kp_load_vectors(in);
	}
	if (!irqs_on)
		local_irq_save(flags);
	kp_insn_run(start);
	if (!irqs_on)
		local_irq_restore(flags);
	if (run & KP_FPU) {
		if (run & KP_MMX)
			kp_insn_save_mmx(out->mmx);
		kp_save_vectors(out);
		kernel_fpu_end();
	}
	memcpy(out->reg, kp_insn_out, sizeof(out->reg));
	memcpy(out->stack, kp_insn_stack, sizeof(out->stack));
	memcpy(out->mem, kp_insn_mem, sizeof(out->mem));
	out->way = kp_insn_way;
	in->reg[KP_SP] = kp_insn_in[KP_SP];
}

static int __kprobes kp_insn_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp.pre_regs = *regs;
	kp.pre++;
	return 0;
}

static void __kprobes kp_insn_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp.post_regs = *regs;
	kp.post_flags |= flags;
	kp.post++;
}

static bool kp_has_post(enum kp_mode mode)
{
	return mode == KP_PRE_POST || mode == KP_ALL_THREE;
}

void kp_insn_prepare(struct kp_insn *insn, enum kp_mode mode)
{
	memset(&insn->kp, 0, sizeof(insn->kp));
	insn->kp.addr = insn->probed;
	insn->kp.pre_handler = kp_insn_pre;
	if (kp_has_post(mode))
		insn->kp.post_handler = kp_insn_post;
	if (kp_runner.prepare)
		kp_runner.prepare(insn, mode);
}

/* The bits of a register that must be the same after each run */
static unsigned long kp_reg_mask(int reg)
{
	u32 flags = kp.insn->flags;

	switch (reg) {
	case KP_AX:
		return flags & KP_ANY_AX ? 0 : ~0UL;
	case KP_DX:
		return flags & KP_ANY_DX ? 0 : ~0UL;
	case KP_FLAGS:
		return KP_COMPARED & ~(flags & KP_ANY_FLAGS ? KP_ARITHMETIC : 0UL);
	}
	return ~0UL;
}

bool kp_insn_differ(struct kunit *test, const char *what, unsigned long got, unsigned long wanted)
{
	if (got == wanted)
		return false;
	KUNIT_FAIL(test, "%s, %s: %s is %lx, not %lx\n", kp.insn->name, kp_mode_names[kp.mode],
		   what, got, wanted);
	return true;
}

static bool kp_bytes_differ(struct kunit *test, const char *what, const void *got,
			    const void *wanted, int from, int to)
{
	const u8 *a = got, *b = wanted;
	char byte[40];

	if (!memcmp(a + from, b + from, to - from))
		return false;
	while (a[from] == b[from])
		from++;
	snprintf(byte, sizeof(byte), "byte %d of %s", from, what);
	return kp_insn_differ(test, byte, a[from], b[from]);
}

static bool kp_results_differ(struct kunit *test, const struct kp_state *bare)
{
	const struct kp_state *probed = &kp.probed;
	int sp = (int)(bare->reg[KP_SP] - kp.in.reg[KP_SP]) + KP_STACK_TOP;
	int reg;

	if (kp_insn_differ(test, "way", probed->way, bare->way))
		return true;
	for (reg = 0; reg < KP_REGS; reg++) {
		unsigned long mask = kp_reg_mask(reg);

		if (kp_insn_differ(test, kp_pt_regs[reg].name, probed->reg[reg] & mask,
				   bare->reg[reg] & mask))
			return true;
	}
	/* Interrupts may write below the last stack pointer or, with KP_GAP, the first one. */
	if (kp.insn->flags & KP_GAP)
		sp = max(sp, KP_STACK_TOP);
	return kp_bytes_differ(test, "the stack", probed->stack, bare->stack,
			       clamp(sp, 0, KP_STACK), KP_STACK) ||
		kp_bytes_differ(test, "memory", probed->mem, bare->mem, 0, KP_MEM) ||
		kp_bytes_differ(test, "vector registers", probed->vector, bare->vector, 0,
				sizeof(bare->vector)) ||
		kp_bytes_differ(test, "mm0 to mm7", probed->mmx, bare->mmx, 0, sizeof(bare->mmx));
}

/* Did a handler get registers that differ from @state? */
static bool kp_shown_differ(struct kunit *test, const struct pt_regs *regs,
			    const struct kp_state *state, const char *handler)
{
	char what[32];
	int reg;

	for (reg = 0; reg < KP_SHOWN_REGS; reg++) {
		unsigned long mask = kp_reg_mask(reg);
		unsigned long shown = *(unsigned long *)((void *)regs + kp_pt_regs[reg].offset);

		/* A selector in struct pt_regs has 16 bits: ignore the rest of the word. */
		if (reg > KP_FLAGS)
			mask = 0xffff;
		if (!((shown ^ state->reg[reg]) & mask))
			continue;
		snprintf(what, sizeof(what), "%s in the %s_handler", kp_pt_regs[reg].name, handler);
		return kp_insn_differ(test, what, shown & mask, state->reg[reg] & mask);
	}
	return false;
}

static bool kp_round_fails(struct kunit *test, const struct kp_state *bare)
{
	const struct kp_insn *insn = kp.insn;
	int hits = insn->flags & KP_HITS_AGAIN ? 5 : 1;
	bool post = kp_has_post(kp.mode) && bare->way != KP_FIXED_UP;

	if (kp_insn_differ(test, "number of pre_handler calls", kp.pre, hits) ||
	    kp_insn_differ(test, "number of post_handler calls", kp.post, post ? hits : 0) ||
	    kp_insn_differ(test, "flags of the post_handler", kp.post_flags, 0) ||
	    kp_results_differ(test, bare) ||
	    kp_insn_differ(test, "ip in the pre_handler", kp.pre_regs.ip,
			   (unsigned long)insn->probed + 1))
		return true;
	if (insn->start == insn->probed && kp_shown_differ(test, &kp.pre_regs, &kp.in, "pre"))
		return true;
	if (!post || insn->flags & KP_BRANCH || bare->way == KP_TAKEN)
		return false;
	if (kp_insn_differ(test, "ip in the post_handler", kp.post_regs.ip,
			   (unsigned long)insn->next))
		return true;
	return !insn->has_post && kp_shown_differ(test, &kp.post_regs, bare, "post");
}

/*
 * Clear what may differ after optimisation: registers that are different each time; the bits above
 * selectors, where FRED stores event data; and gs, which 32-bit exceptions do not save in pt_regs.
 */
static struct pt_regs kp_comparable(const struct pt_regs *from)
{
	struct pt_regs regs = *from;

	regs.ax &= kp_reg_mask(KP_AX);
	regs.dx &= kp_reg_mask(KP_DX);
	regs.flags &= kp_reg_mask(KP_FLAGS);
#ifdef CONFIG_X86_32
	regs.__dsh = 0;
	regs.__esh = 0;
	regs.__fsh = 0;
	regs.gs = 0;
	regs.__gsh = 0;
	regs.__csh = 0;
	regs.__ssh = 0;
#else
	regs.csx = regs.cs;
	regs.ssx = regs.ss;
#endif
	return regs;
}

static bool kp_shown_as_before(struct kunit *test, const char *handler,
			       const struct pt_regs *now, const struct pt_regs *before)
{
	struct pt_regs a = kp_comparable(before), b = kp_comparable(now);
	const unsigned long *was = (void *)&a, *is = (void *)&b;
	unsigned int i;

	for (i = 0; i < sizeof(a) / sizeof(long); i++) {
		if (is[i] == was[i])
			continue;
		KUNIT_FAIL(test, "%s: word %u in the %s_handler is %lx, was %lx\n", kp.insn->name,
			   i, handler, is[i], was[i]);
		return false;
	}
	return true;
}

/*
 * Run one round. Record the registers that handlers get or, if @optimized, compare them with those
 * that were recorded before. Return: false if the round fails.
 */
static bool kp_one_round(struct kunit *test, struct kp_insn *insn, unsigned int round,
			 bool optimized)
{
	struct kp_shown *shown = &insn->shown[round];

	kp_insn_randomize(&kp.random, &kp.in);
	if (kp_runner.place)
		kp_runner.place(insn, round, &kp.random, &kp.in);
	if (insn->flags & KP_IRQS_ON)
		kp.in.reg[KP_FLAGS] |= X86_EFLAGS_IF;
	kp.pre = 0;
	kp.post = 0;
	kp.post_flags = 0;
	kp_insn_run_state(&kp.in, insn->start, insn->flags,
			  kp.mode == KP_BARE ? &insn->bare[round] : &kp.probed);
	kp_runner.runs[kp.mode][optimized]++;
	if (kp.mode != KP_BARE && kp_round_fails(test, &insn->bare[round]))
		return false;
	if (kp_runner.check && !kp_runner.check(test, insn, kp.mode, round, &kp.in))
		return false;
	if (kp.mode == KP_BARE)
		return true;
	if (!optimized) {
		*shown = (struct kp_shown){ kp.pre_regs, kp.post_regs };
		return true;
	}
	return kp_shown_as_before(test, "pre", &kp.pre_regs, &shown->pre) &&
	       (!kp.post || kp_shown_as_before(test, "post", &kp.post_regs, &shown->post));
}

static void kp_rounds(struct kunit *test, struct kp_insn *insn, bool optimized)
{
	unsigned int round;

	/* Each mode begins with the same values. */
	kp.random = fuzz_random_of(kp_runner.seed, insn->number);
	for (round = 0; round < kp_runner.rounds && insn->runs; round++)
		insn->runs = kp_one_round(test, insn, round, optimized);
}

bool kp_insn_may_refuse(int ret)
{
	return ret == -EINVAL || ret == -EOPNOTSUPP || ret == -EILSEQ;
}

static bool kp_is_refused(struct kunit *test, const struct kp_insn *insn, int ret)
{
	bool refused = insn->flags & KP_EOPNOTSUPP ? ret == -EOPNOTSUPP :
		       insn->flags & KP_REFUSED ? ret == -EINVAL : kp_insn_may_refuse(ret);

	if (!ret) {
		KUNIT_EXPECT_FALSE_MSG(test, insn->flags & KP_REFUSED, "%s is not refused\n",
				       insn->name);
		return false;
	}
	if (!refused || !(insn->flags & (KP_REFUSED | KP_MAYBE)))
		KUNIT_FAIL(test, "%s is refused with %d\n", insn->name, ret);
	else if (insn->flags & KP_MAYBE)
		kunit_info(test, "%s is refused with %d\n", insn->name, ret);
	return true;
}

/*
 * Run instructions; with @optimized, only those whose probe is optimised. All runs are called from
 * this function, since the stack pointer must be the same each time.
 */
static noinline __noclone void kp_pass(struct kunit *test, struct kprobe **kps, int nr,
				       bool optimized)
{
	const char *mode = kp_mode_names[kp.mode];
	int i, jumps = 0;

	for (i = 0; i < nr; i++) {
		struct kp_insn *insn = container_of(kps[i], struct kp_insn, kp);

		kp.insn = insn;
		if (optimized) {
			bool jump = kp_is_jump(kps[i]->addr);

			jumps += jump;
			if (insn->flags & KP_OPT)
				KUNIT_EXPECT_TRUE_MSG(test, jump, "%s, %s\n", insn->name, mode);
			if (insn->flags & KP_NO_OPT)
				KUNIT_EXPECT_FALSE_MSG(test, jump, "%s, %s\n", insn->name, mode);
			if (!jump || insn->flags & KP_NO_OPT)
				continue;
		} else if (kp.mode != KP_BARE) {
			kp_insn_prepare(insn, kp.mode);
			if (kp_is_refused(test, insn, register_kprobe(&insn->kp)))
				continue;
		}
		kp_rounds(test, insn, optimized);
	}
	if (optimized)
		kunit_info(test, "%s: %d of %d probes optimised\n", mode, jumps, nr);
}

static void kp_unregister(void *unused)
{
	unregister_kprobes(kp_registered.kps, kp_registered.nr);
}

void kp_insn_run_all(struct kunit *test, struct kprobe **kps, int nr)
{
	kp_registered.kps = kps;
	for (kp.mode = KP_BARE; kp.mode < kp_runner.modes; kp.mode++) {
		if (kp_runner.opt)
			KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		if (kp.mode != KP_BARE) {
			kp_registered.nr = nr;
			kp_at_end(test, kp_unregister, NULL);
		}
		kp_pass(test, kps, nr, false);
		if (kp_runner.opt)
			KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		if (kp.mode == KP_BARE)
			continue;
		if (kp_runner.opt) {
			KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
			kp_pass(test, kps, nr, true);
		}
		kunit_release_action(test, kp_unregister, NULL);
	}
}

void kp_insn_describe(struct kp_insn *insn, const struct kp_insn_case *c)
{
	*insn = (struct kp_insn){
		.name = kp_insn_names + c->name, .number = c->start, .start = kp_insn_at(c->start),
		.probed = kp_insn_at(c->probed), .next = kp_insn_at(c->next), .flags = c->flags,
		.has_post = c->has_post,
		.runs = !(c->flags & KP_REFUSED) &&
			(!c->feature || test_cpu_cap(&boot_cpu_data, c->feature)),
	};
}

void kp_insn_alloc(struct kunit *test, struct kp_insn *insn)
{
	insn->bare = kp_vzalloc(test, kp_runner.rounds * sizeof(*insn->bare));
	insn->shown = kp_vzalloc(test, kp_runner.rounds * sizeof(*insn->shown));
}
