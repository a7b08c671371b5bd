// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: the instruction matrix. Each of some hundreds of encodings runs bare
 * and probed from the same random registers, flags, stack and memory, and has to end
 * with the same; handlers have to be shown the same, too.
 */

#include <linux/cpufeature.h>
#include <asm/asm.h>
#include <asm/desc.h>
#include <asm/fpu/api.h>
#include <asm/processor-flags.h>
#include <asm/segment.h>
#include <asm/trapnr.h>
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "kp_insn.h"
#include "kp_opt.h"

static unsigned int rounds = 8;
module_param(rounds, uint, 0400);
MODULE_PARM_DESC(rounds, "how often each instruction runs in each mode, with other values");

static unsigned int seed = 1;
module_param(seed, uint, 0400);
MODULE_PARM_DESC(seed, "what the random values start from");

static char *only = "";
module_param(only, charp, 0400);
MODULE_PARM_DESC(only, "only instructions with this in their names");

static char *skip = "";
module_param(skip, charp, 0400);
MODULE_PARM_DESC(skip, "no instructions with this in their names");

static bool opt;
module_param(opt, bool, 0400);
MODULE_PARM_DESC(opt, "compare jump-optimised probes with others");

static bool stepped;
module_param(stepped, bool, 0400);
MODULE_PARM_DESC(stepped, "copies are single-stepped, which needs int3 to work after them");

#define KP_ARITHMETIC	(X86_EFLAGS_CF | X86_EFLAGS_PF | X86_EFLAGS_AF | X86_EFLAGS_ZF | \
			 X86_EFLAGS_SF | X86_EFLAGS_OF)
/* All but RF, which only the processor sees set. */
#define KP_COMPARED	(~X86_EFLAGS_RF)

enum kp_mode { KP_BARE, KP_PRE, KP_PRE_POST, KP_MODES };

static const char *const kp_mode_names[] = { "bare", "pre", "pre and post" };

/* The case at hand. One at a time: its memory has fixed addresses. */
static struct {
	const struct kp_insn_table *table;
	const struct kp_insn_case *insn;
	struct kprobe *probe;
	struct kprobe kp;
	struct rnd_state random;
	struct kp_state in;
	struct kp_state *bare;
	struct kp_state probed;
	struct pt_regs pre_regs;
	struct pt_regs post_regs;
	int pre;
	int post;
} kp;

static const struct kp_insn_table kp_tables[] = {
	{ kp_insn_integer, &kp_insn_integer_nr, kp_insn_integer_text, kp_insn_integer_names },
	{ kp_insn_vector, &kp_insn_vector_nr, kp_insn_vector_text, kp_insn_vector_names },
	{ kp_insn_dcr, &kp_insn_dcr_nr, kp_insn_dcr_text, kp_insn_dcr_names },
};

static const char *const kp_reg_names[KP_REGS] = {
	_ASM_AX, _ASM_CX, _ASM_DX, _ASM_BX, _ASM_SP, _ASM_BP, _ASM_SI, _ASM_DI,
#ifdef CONFIG_X86_64
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "flags",
#else
	"flags", "ds", "es", "fs", "gs",
#endif
};

static int kp_insn_pre(struct kprobe *p, struct pt_regs *regs)
{
	kp.pre_regs = *regs;
	kp.pre++;
	return 0;
}

NOKPROBE_SYMBOL(kp_insn_pre);

static void kp_insn_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
	kp.post_regs = *regs;
	kp.post++;
}

NOKPROBE_SYMBOL(kp_insn_post);

static const char *kp_name(void)
{
	return kp.table->names + kp.insn->name;
}

static void *kp_text(u32 offset)
{
	return (void *)kp.table->text + offset;
}

/* Now and then a value at which carries, signs and zero change. */
static unsigned long kp_random(void)
{
	static const u64 edges[] = {
		0, 1, ~0ULL, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0xffffffff,
		S64_MAX, S64_MIN,
	};
	u32 pick = prandom_u32_state(&kp.random);

	if (pick % 4 == 0)
		return edges[(pick >> 8) % ARRAY_SIZE(edges)];
	return (u64)prandom_u32_state(&kp.random) << 32 | prandom_u32_state(&kp.random);
}

static void kp_randomize(void)
{
	struct kp_state *in = &kp.in;
	int i;

	for (i = 0; i < KP_REGS; i++)
		in->reg[i] = kp_random();
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
	if (kp.insn->flags & KP_IRQS_ON)
		in->reg[KP_FLAGS] |= X86_EFLAGS_IF;
	prandom_bytes_state(&kp.random, in->stack, sizeof(in->stack));
	prandom_bytes_state(&kp.random, in->mem, sizeof(in->mem));
	prandom_bytes_state(&kp.random, in->vector, sizeof(in->vector));
}

static void kp_load_vectors(void)
{
	if (boot_cpu_has(X86_FEATURE_AVX512F))
		kp_insn_load_avx512(kp.in.vector);
	else if (boot_cpu_has(X86_FEATURE_AVX))
		kp_insn_load_avx(kp.in.vector);
	else
		kp_insn_load_sse(kp.in.vector);
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

/* Always from here, so that the stack pointer is the same each time. */
static noinline void kp_run(struct kp_state *out)
{
	bool fpu = kp.insn->flags & KP_FPU;
	unsigned long flags = 0;
	bool irqs_on = kp.in.reg[KP_FLAGS] & X86_EFLAGS_IF;

	*out = kp.in;
	memcpy(kp_insn_in, kp.in.reg, sizeof(kp.in.reg));
	memcpy(kp_insn_stack, kp.in.stack, sizeof(kp.in.stack));
	memcpy(kp_insn_mem, kp.in.mem, sizeof(kp.in.mem));
	if (fpu) {
		kernel_fpu_begin();
		kp_load_vectors();
	}
	if (!irqs_on)
		local_irq_save(flags);
	kp_insn_run(kp_text(kp.insn->start));
	if (!irqs_on)
		local_irq_restore(flags);
	if (fpu) {
		kp_save_vectors(out);
		kernel_fpu_end();
	}
	memcpy(out->reg, kp_insn_out, sizeof(out->reg));
	memcpy(out->stack, kp_insn_stack, sizeof(out->stack));
	memcpy(out->mem, kp_insn_mem, sizeof(out->mem));
	/* The stack pointer that the case started with. */
	kp.in.reg[KP_SP] = kp_insn_in[KP_SP];
}

/* Which bits of a register are of interest after the instruction. */
static unsigned long kp_reg_mask(int reg)
{
	switch (reg) {
	case KP_AX:
		return kp.insn->flags & KP_ANY_AX ? 0 : ~0UL;
	case KP_DX:
		return kp.insn->flags & KP_ANY_DX ? 0 : ~0UL;
	case KP_FLAGS:
		return KP_COMPARED & ~(kp.insn->flags & KP_ANY_FLAGS ? KP_ARITHMETIC : 0UL);
	}
	return ~0UL;
}

static bool kp_differ(struct kunit *test, enum kp_mode mode, const char *what, unsigned long got,
		      unsigned long wanted)
{
	if (got == wanted)
		return false;
	KUNIT_FAIL(test, "%s, %s: %s is %lx, not %lx\n", kp_name(), kp_mode_names[mode], what,
		   got, wanted);
	return true;
}

static bool kp_bytes_differ(struct kunit *test, enum kp_mode mode, const char *what,
			    const void *got, const void *wanted, int from, int to)
{
	for (; from < to; from++) {
		if (((u8 *)got)[from] == ((u8 *)wanted)[from])
			continue;
		KUNIT_FAIL(test, "%s, %s: byte %d of %s is %02x, not %02x\n", kp_name(),
			   kp_mode_names[mode], from, what, ((u8 *)got)[from],
			   ((u8 *)wanted)[from]);
		return true;
	}
	return false;
}

/* What the probed run left against what the bare one did. */
static bool kp_results_differ(struct kunit *test, enum kp_mode mode, const struct kp_state *bare)
{
	const struct kp_state *probed = &kp.probed;
	int sp = (int)(bare->reg[KP_SP] - kp.in.reg[KP_SP]) + KP_STACK_TOP;
	int reg;

	for (reg = 0; reg < KP_REGS; reg++) {
		unsigned long mask = kp_reg_mask(reg);

		if (kp_differ(test, mode, kp_reg_names[reg], probed->reg[reg] & mask,
			      bare->reg[reg] & mask))
			return true;
	}
	/* Below a stack pointer, the first or the last one, interrupts may have written. */
	if (kp.insn->flags & KP_GAP)
		sp = max(sp, KP_STACK_TOP);
	return kp_bytes_differ(test, mode, "the stack", probed->stack, bare->stack,
			       clamp(sp, 0, KP_STACK), KP_STACK) ||
		kp_bytes_differ(test, mode, "memory", probed->mem, bare->mem, 0, KP_MEM) ||
		kp_bytes_differ(test, mode, "vector registers", probed->vector, bare->vector, 0,
				sizeof(bare->vector));
}

static unsigned long kp_pt_reg(const struct pt_regs *regs, int reg)
{
	switch (reg) {
	case KP_AX:	return regs->ax;
	case KP_CX:	return regs->cx;
	case KP_DX:	return regs->dx;
	case KP_BX:	return regs->bx;
	case KP_SP:	return regs->sp;
	case KP_BP:	return regs->bp;
	case KP_SI:	return regs->si;
	case KP_DI:	return regs->di;
#ifdef CONFIG_X86_64
	case 8:		return regs->r8;
	case 9:		return regs->r9;
	case 10:	return regs->r10;
	case 11:	return regs->r11;
	case 12:	return regs->r12;
	case 13:	return regs->r13;
	case 14:	return regs->r14;
	case 15:	return regs->r15;
#else
	case KP_DS:	return regs->ds;
	case KP_ES:	return regs->es;
	case KP_FS:	return regs->fs;
#endif
	}
	return regs->flags;
}

/* What a handler was shown against what there was. */
static bool kp_shown_differ(struct kunit *test, enum kp_mode mode, const struct pt_regs *regs,
			    const struct kp_state *state, const char *handler)
{
	char what[32];
	int reg;

	for (reg = 0; reg < KP_SHOWN_REGS; reg++) {
		unsigned long mask = kp_reg_mask(reg);

		snprintf(what, sizeof(what), "%s in the %s_handler", kp_reg_names[reg], handler);
		if (kp_differ(test, mode, what, kp_pt_reg(regs, reg) & mask,
			      state->reg[reg] & mask))
			return true;
	}
	return false;
}

/* What a probed run did against what the bare one from the same state did. */
static bool kp_round_fails(struct kunit *test, enum kp_mode mode, const struct kp_state *bare)
{
	const struct kp_insn_case *insn = kp.insn;
	int hits = insn->flags & KP_HITS_AGAIN ? 5 : 1;

	if (kp_differ(test, mode, "number of pre_handler calls", kp.pre, hits) ||
	    kp_differ(test, mode, "number of post_handler calls", kp.post,
		      mode == KP_PRE_POST ? hits : 0) ||
	    kp_results_differ(test, mode, bare))
		return true;
	if (kp_differ(test, mode, "ip in the pre_handler", kp.pre_regs.ip,
		      (unsigned long)kp.probe->addr + 1))
		return true;
	if (insn->start == insn->probed &&
	    kp_shown_differ(test, mode, &kp.pre_regs, &kp.in, "pre"))
		return true;
	if (mode != KP_PRE_POST || insn->flags & KP_BRANCH)
		return false;
	if (kp_differ(test, mode, "ip in the post_handler", kp.post_regs.ip,
		      (unsigned long)kp_text(insn->next)))
		return true;
	return !insn->has_post && kp_shown_differ(test, mode, &kp.post_regs, bare, "post");
}

/* The registers that both handlers were given in a round, before it was optimised. */
struct kp_shown {
	struct pt_regs pre;
	struct pt_regs post;
};

/*
 * The halves of words that have no part of a selector; and in the place of gs the entry code of
 * exceptions keeps something else.
 */
static void kp_clear_padding(struct pt_regs *regs)
{
#ifdef CONFIG_X86_32
	regs->__dsh = 0;
	regs->__esh = 0;
	regs->__fsh = 0;
	regs->gs = 0;
	regs->__gsh = 0;
	regs->__csh = 0;
	regs->__ssh = 0;
#endif
}

static bool kp_shown_as_before(struct kunit *test, const struct kp_shown *shown)
{
	/* Not what the processor alone sees, nor what is different each time. */
	unsigned long mask[] = { kp_reg_mask(KP_AX), kp_reg_mask(KP_DX), kp_reg_mask(KP_FLAGS) };
	const struct pt_regs *was[] = { &shown->pre, &shown->post };
	struct pt_regs *now[] = { &kp.pre_regs, &kp.post_regs };
	struct pt_regs a, b;
	unsigned int i, j;

	for (i = 0; i < (kp.post ? 2 : 1); i++) {
		a = *was[i];
		b = *now[i];
		/* Clear what is not compared. */
		a.ax &= mask[0];
		b.ax &= mask[0];
		a.dx &= mask[1];
		b.dx &= mask[1];
		a.flags &= mask[2];
		b.flags &= mask[2];
		kp_clear_padding(&a);
		kp_clear_padding(&b);
		for (j = 0; j < sizeof(a) / sizeof(long); j++) {
			if (((unsigned long *)&a)[j] == ((unsigned long *)&b)[j])
				continue;
			KUNIT_FAIL(test, "%s: word %u in the %s_handler is %lx, was %lx\n",
				   kp_name(), j, i ? "post" : "pre", ((unsigned long *)&b)[j],
				   ((unsigned long *)&a)[j]);
			return false;
		}
	}
	return true;
}

/* What is @shown is noted, or, when it is @optimized, compared. */
static noinline void kp_rounds(struct kunit *test, enum kp_mode mode, struct kp_shown *shown,
			       bool optimized)
{
	unsigned int round;

	/* The rounds of all modes begin with the same values. */
	prandom_seed_state(&kp.random, seed + kp.insn->start);
	for (round = 0; round < rounds; round++) {
		kp_randomize();
		kp.pre = 0;
		kp.post = 0;
		kp_run(mode == KP_BARE ? &kp.bare[round] : &kp.probed);
		if (mode != KP_BARE && kp_round_fails(test, mode, &kp.bare[round]))
			break;
		if (optimized && !kp_shown_as_before(test, &shown[round]))
			break;
		if (shown && !optimized)
			shown[round] = (struct kp_shown){ kp.pre_regs, kp.post_regs };
	}
}

static void kp_unregister(void *unused)
{
	unregister_kprobe(&kp.kp);
}

/* Can the processor run it? */
static bool kp_runs_here(void)
{
	return !kp.insn->feature || test_cpu_cap(&boot_cpu_data, kp.insn->feature);
}

/* True when the case had to be refused, or may be, and was. */
static bool kp_is_refused(struct kunit *test, int ret)
{
	bool refused = ret == -EINVAL || ret == -EOPNOTSUPP || ret == -EILSEQ;

	if (!ret) {
		KUNIT_EXPECT_FALSE_MSG(test, kp.insn->flags & KP_REFUSED, "%s is not refused\n",
				       kp_name());
		return false;
	}
	if (kp.insn->flags & KP_EOPNOTSUPP)
		refused = ret == -EOPNOTSUPP;
	if (!refused || !(kp.insn->flags & (KP_REFUSED | KP_MAYBE)))
		KUNIT_FAIL(test, "%s is refused with %d\n", kp_name(), ret);
	else if (kp.insn->flags & KP_MAYBE)
		kunit_info(test, "%s is refused with %d\n", kp_name(), ret);
	return true;
}

static void kp_prepare(struct kprobe *p, enum kp_mode mode)
{
	memset(p, 0, sizeof(*p));
	p->addr = kp_text(kp.insn->probed);
	p->pre_handler = kp_insn_pre;
	if (mode == KP_PRE_POST)
		p->post_handler = kp_insn_post;
	kp.probe = p;
}

static void kp_one_case(struct kunit *test)
{
	bool runs = kp_runs_here() && !(kp.insn->flags & KP_REFUSED);
	enum kp_mode mode;

	for (mode = KP_BARE; mode < KP_MODES; mode++) {
		if (mode != KP_BARE) {
			kp_prepare(&kp.kp, mode);
			if (kp_is_refused(test, register_kprobe(&kp.kp)))
				return;
			KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, NULL),
					0);
		}
		if (runs)
			kp_rounds(test, mode, NULL, false);
		if (mode != KP_BARE)
			kunit_release_action(test, kp_unregister, NULL);
	}
}

static bool kp_is_chosen(void)
{
	return strstr(kp_name(), only) && !(*skip && strstr(kp_name(), skip));
}

/*
 * The group's probes all at once: first with the breakpoint, then, where it can be, with
 * the jump. One wait is enough for all.
 */

struct kp_opt_case {
	struct kprobe kp;
	const struct kp_insn_table *table;
	const struct kp_insn_case *insn;
	struct kp_state *bare;
	struct kp_shown *shown;
};

static struct {
	struct kp_opt_case *cases;
	struct kprobe **kps;
	int nr;
} kp_opt;

static bool kp_opt_choose(struct kp_opt_case *c)
{
	kp.table = c->table;
	kp.insn = c->insn;
	kp.bare = c->bare;
	kp.probe = &c->kp;
	return kp_runs_here() && !(kp.insn->flags & KP_REFUSED);
}

static void kp_opt_unregister(void *unused)
{
	unregister_kprobes(kp_opt.kps, kp_opt.nr);
}

static void kp_opt_free(void *unused)
{
	int i;

	for (i = 0; i < kp_opt.nr; i++) {
		vfree(kp_opt.cases[i].bare);
		vfree(kp_opt.cases[i].shown);
	}
	vfree(kp_opt.cases);
	vfree(kp_opt.kps);
	kp_opt.nr = 0;
}

/* One case, always from here, for the stack pointer's sake. */
static noinline void kp_opt_rounds(struct kunit *test, enum kp_mode mode,
				   struct kp_opt_case *c, bool optimized)
{
	if (kp_opt_choose(c))
		kp_rounds(test, mode, mode == KP_BARE ? NULL : c->shown, optimized);
}

static void kp_opt_jump(struct kunit *test, enum kp_mode mode, struct kp_opt_case *c, bool jump)
{
	kp_opt_choose(c);
	if (c->insn->flags & KP_OPT)
		KUNIT_EXPECT_TRUE_MSG(test, jump, "%s, %s: not optimised\n", kp_name(),
				      kp_mode_names[mode]);
	if (c->insn->flags & KP_NO_OPT)
		KUNIT_EXPECT_FALSE_MSG(test, jump, "%s, %s: optimised\n", kp_name(),
				       kp_mode_names[mode]);
}

/* Once with breakpoints, and once with @optimized jumps where there are any. */
static noinline void kp_opt_pass(struct kunit *test, enum kp_mode mode, bool optimized)
{
	struct kp_opt_case *c;
	int i, jumps = 0;

	for (i = 0; i < kp_opt.nr; i++) {
		c = &kp_opt.cases[i];
		if (optimized) {
			bool jump = kp_is_jump(c->kp.addr);

			kp_opt_jump(test, mode, c, jump);
			jumps += jump;
			if (!jump || c->insn->flags & KP_NO_OPT)
				continue;
		} else if (mode != KP_BARE) {
			kp_opt_choose(c);
			kp_prepare(&c->kp, mode);
			if (kp_is_refused(test, register_kprobe(&c->kp)))
				continue;
		}
		kp_opt_rounds(test, mode, c, optimized);
	}
	if (optimized)
		kunit_info(test, "%s: %d of %d probes optimised\n", kp_mode_names[mode], jumps,
			   kp_opt.nr);
}

static void kp_opt_group(struct kunit *test, int group)
{
	enum kp_mode mode;
	int i, j, nr = 0;

	for (i = 0; i < ARRAY_SIZE(kp_tables); i++)
		nr += *kp_tables[i].nr;
	kp_opt.cases = vcalloc(nr, sizeof(*kp_opt.cases));
	kp_opt.kps = vcalloc(nr, sizeof(*kp_opt.kps));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_opt_free, NULL), 0);
	KUNIT_ASSERT_TRUE(test, kp_opt.cases && kp_opt.kps);
	for (i = 0; i < ARRAY_SIZE(kp_tables); i++) {
		kp.table = &kp_tables[i];
		for (j = 0; j < *kp.table->nr; j++) {
			struct kp_opt_case *c = &kp_opt.cases[kp_opt.nr];

			kp.insn = &kp.table->cases[j];
			if (kp.insn->group != group || !kp_is_chosen())
				continue;
			c->table = kp.table;
			c->insn = kp.insn;
			c->bare = vcalloc(rounds, sizeof(*c->bare));
			c->shown = vcalloc(rounds, sizeof(*c->shown));
			kp_opt.kps[kp_opt.nr++] = &c->kp;
			KUNIT_ASSERT_TRUE(test, c->bare && c->shown);
		}
	}
	if (!kp_opt.nr)
		kunit_skip(test, "no instruction is chosen");

	for (mode = KP_BARE; mode < KP_MODES; mode++) {
		KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_opt_unregister, NULL), 0);
		kp_opt_pass(test, mode, false);
		KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		if (mode == KP_BARE)
			continue;
		KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
		kp_opt_pass(test, mode, true);
		kunit_release_action(test, kp_opt_unregister, NULL);
	}
}

static void kp_group(struct kunit *test, int group)
{
	int i, j, run = 0, registered = 0;

	if (opt) {
		kp_opt_group(test, group);
		return;
	}

	for (i = 0; i < ARRAY_SIZE(kp_tables); i++) {
		kp.table = &kp_tables[i];
		for (j = 0; j < *kp.table->nr; j++) {
			kp.insn = &kp.table->cases[j];
			if (kp.insn->group != group || !kp_is_chosen())
				continue;
			kp_one_case(test);
			if (kp_runs_here())
				run++;
			else
				registered++;
		}
	}
	if (!run && !registered)
		kunit_skip(test, "no instruction is chosen");
	kunit_info(test, "%d instructions, and %d that this processor does not have\n", run,
		   registered);
}

/* Per-CPU values and addresses are compared: one CPU for all. */
static int kp_insn_init(struct kunit *test)
{
	kp.bare = kunit_kcalloc(test, rounds, sizeof(*kp.bare), GFP_KERNEL);
	if (!kp.bare)
		return -ENOMEM;
	return set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
}

#define KP_GROUP_CASE(name, group)				\
	static void kp_matrix_##name(struct kunit *test)		\
	{							\
		kp_group(test, group);				\
	}

KP_GROUP_CASE(alu, KP_ALU)
KP_GROUP_CASE(move, KP_MOVE)
KP_GROUP_CASE(address, KP_ADDRESS)
KP_GROUP_CASE(stack, KP_STACKS)
KP_GROUP_CASE(shift, KP_SHIFT)
KP_GROUP_CASE(muldiv, KP_MULDIV)
KP_GROUP_CASE(bits, KP_BITS)
KP_GROUP_CASE(string, KP_STRING)
KP_GROUP_CASE(atomic, KP_ATOMIC)
KP_GROUP_CASE(jump, KP_JUMP)
KP_GROUP_CASE(call, KP_CALL)
KP_GROUP_CASE(eflags, KP_EFLAGS)
KP_GROUP_CASE(system, KP_SYSTEM)
KP_GROUP_CASE(sse, KP_SSE)
KP_GROUP_CASE(avx, KP_AVX)
KP_GROUP_CASE(bmi, KP_BMI)
KP_GROUP_CASE(evex, KP_EVEX)
KP_GROUP_CASE(traps, KP_TRAPS)
KP_GROUP_CASE(unknown, KP_UNKNOWN)
KP_GROUP_CASE(dcr_plain, KP_DCR_PLAIN)
KP_GROUP_CASE(dcr_jump, KP_DCR_JUMP)
KP_GROUP_CASE(dcr_flags, KP_DCR_FLAGS)
#ifdef CONFIG_X86_64
KP_GROUP_CASE(rip, KP_RIP)
KP_GROUP_CASE(dcr_rip, KP_DCR_RIP)
#else
KP_GROUP_CASE(absolute, KP_ABSOLUTE)
KP_GROUP_CASE(segment, KP_SEGMENT)
KP_GROUP_CASE(decimal, KP_DECIMAL)
KP_GROUP_CASE(addr16, KP_ADDR16)
#endif

/*
 * An IDT that has no gate for int3 is loaded, and after some instructions the kernel's again: kexec
 * does the like before it jumps to the next kernel. A second trap after the copy would be a panic.
 */
static void kp_matrix_no_int3(struct kunit *test)
{
	struct desc_ptr was, bare;
	enum kp_mode mode;
	gate_desc *idt;

	if (stepped)
		kunit_skip(test, "copies are single-stepped");
	store_idt(&was);
	idt = kunit_kmalloc(test, was.size + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, idt);
	memcpy(idt, (void *)was.address, was.size + 1);
	idt[X86_TRAP_BP].bits.p = 0;
	bare = (struct desc_ptr){ .size = was.size, .address = (unsigned long)idt };
	for (mode = KP_PRE; mode < KP_MODES; mode++) {
		memset(&kp.kp, 0, sizeof(kp.kp));
		kp.kp.addr = kp_insn_use_idt_probed;
		kp.kp.pre_handler = kp_insn_pre;
		if (mode == KP_PRE_POST)
			kp.kp.post_handler = kp_insn_post;
		kp.pre = 0;
		kp.post = 0;
		KUNIT_ASSERT_EQ(test, register_kprobe(&kp.kp), 0);
		KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kp_unregister, NULL), 0);
		if (opt) {
			KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
			KUNIT_EXPECT_TRUE(test, kp_wait_jump(kp.kp.addr, true));
		}
		kp_insn_use_idt(&bare, &was);
		KUNIT_EXPECT_EQ(test, kp.pre, 1);
		KUNIT_EXPECT_EQ(test, kp.post, mode == KP_PRE_POST ? 1 : 0);
		kunit_release_action(test, kp_unregister, NULL);
	}
}

static struct kunit_case kp_insn_test_cases[] = {
	KUNIT_CASE_SLOW(kp_matrix_alu),
	KUNIT_CASE_SLOW(kp_matrix_move),
	KUNIT_CASE_SLOW(kp_matrix_address),
	KUNIT_CASE_SLOW(kp_matrix_stack),
	KUNIT_CASE_SLOW(kp_matrix_shift),
	KUNIT_CASE_SLOW(kp_matrix_muldiv),
	KUNIT_CASE_SLOW(kp_matrix_bits),
	KUNIT_CASE_SLOW(kp_matrix_string),
	KUNIT_CASE_SLOW(kp_matrix_atomic),
	KUNIT_CASE_SLOW(kp_matrix_jump),
	KUNIT_CASE_SLOW(kp_matrix_call),
	KUNIT_CASE_SLOW(kp_matrix_eflags),
	KUNIT_CASE_SLOW(kp_matrix_system),
	KUNIT_CASE(kp_matrix_no_int3),
	KUNIT_CASE_SLOW(kp_matrix_sse),
	KUNIT_CASE_SLOW(kp_matrix_avx),
	KUNIT_CASE_SLOW(kp_matrix_bmi),
	KUNIT_CASE_SLOW(kp_matrix_evex),
	KUNIT_CASE_SLOW(kp_matrix_traps),
	KUNIT_CASE_SLOW(kp_matrix_unknown),
	KUNIT_CASE_SLOW(kp_matrix_dcr_plain),
	KUNIT_CASE_SLOW(kp_matrix_dcr_jump),
	KUNIT_CASE_SLOW(kp_matrix_dcr_flags),
#ifdef CONFIG_X86_64
	KUNIT_CASE_SLOW(kp_matrix_rip),
	KUNIT_CASE_SLOW(kp_matrix_dcr_rip),
#else
	KUNIT_CASE_SLOW(kp_matrix_absolute),
	KUNIT_CASE_SLOW(kp_matrix_segment),
	KUNIT_CASE_SLOW(kp_matrix_decimal),
	KUNIT_CASE_SLOW(kp_matrix_addr16),
#endif
	{}
};

static struct kunit_suite kp_insn_suite = {
	.name = "kprobes_insn",
	.init = kp_insn_init,
	.test_cases = kp_insn_test_cases,
};

kunit_test_suite(kp_insn_suite);

MODULE_DESCRIPTION("KUnit suite: instructions run probed as they run bare");
MODULE_LICENSE("GPL");
