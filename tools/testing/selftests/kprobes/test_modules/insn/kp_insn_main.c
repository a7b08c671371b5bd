// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: the cases of the table of instructions are executed without and with a probe, each
 * time with the same random registers, flags, stack and memory. The results must be the same, and
 * so must the registers that handlers get, whether the probe is optimised or not.
 */

#include <linux/cpufeature.h>
#include <asm/desc.h>
#include <asm/processor-flags.h>
#include <asm/trapnr.h>
#include "kp_insn.h"
#include "kp_opt.h"

KP_MODULE_PARAM(uint, rounds, 8, "how often each instruction runs in each mode, with other values");
KP_MODULE_PARAM(uint, seed, 1, "what the random values start from");

static char *only = "";
module_param(only, charp, 0400);
MODULE_PARM_DESC(only, "only instructions with this in their names");

static char *skip = "";
module_param(skip, charp, 0400);
MODULE_PARM_DESC(skip, "no instructions with this in their names");

KP_MODULE_PARAM(bool, opt, false, "compare jump-optimised probes with others");
KP_MODULE_PARAM(bool, stepped, false,
		"copies are single-stepped, which needs int3 to work after them");

enum kp_mode { KP_BARE, KP_PRE, KP_PRE_POST, KP_MODES };

static const char *const kp_mode_names[] = { "bare", "pre", "pre and post" };

/* What both handlers got in a round, before optimisation */
struct kp_shown {
	struct pt_regs pre, post;
};

/* An instruction, its probe, and the results of its bare rounds */
struct kp_insn {
	struct kprobe kp;
	const struct kp_insn_case *insn;
	struct kp_state *bare;
	struct kp_shown *shown;
};

/* The group's instructions, and the probes registered together */
static struct {
	struct kp_insn *insns;
	struct kprobe **kps;
	int nr;
	struct kprobe **registered;
	int nr_registered;
} kp_group;

/* The current instruction. Instructions run one at a time, since all use the same memory. */
static struct {
	const struct kp_insn_case *insn;
	struct kprobe *probe;
	enum kp_mode mode;
	struct rnd_state random;
	struct kp_state in, probed;
	struct pt_regs pre_regs, post_regs;
	int pre, post;
	/* OR of the flags arguments of all post_handler calls; must be 0 */
	unsigned long post_flags;
} kp;

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

static const char *kp_name(void)
{
	return kp_insn_names + kp.insn->name;
}

static void *kp_text(u32 offset)
{
	return (void *)kp_insn_text + offset;
}

static void kp_run(struct kp_state *out)
{
	kp_insn_run_state(&kp.in, kp_text(kp.insn->start), kp.insn->flags & KP_FPU, out);
}

/* The bits of a register that must be the same after each run */
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

static bool kp_differ(struct kunit *test, const char *what, unsigned long got, unsigned long wanted)
{
	if (got == wanted)
		return false;
	KUNIT_FAIL(test, "%s, %s: %s is %lx, not %lx\n", kp_name(), kp_mode_names[kp.mode], what,
		   got, wanted);
	return true;
}

static bool kp_bytes_differ(struct kunit *test, const char *what, const void *got,
			    const void *wanted, int from, int to)
{
	for (; from < to; from++) {
		if (((u8 *)got)[from] == ((u8 *)wanted)[from])
			continue;
		KUNIT_FAIL(test, "%s, %s: byte %d of %s is %02x, not %02x\n", kp_name(),
			   kp_mode_names[kp.mode], from, what, ((u8 *)got)[from],
			   ((u8 *)wanted)[from]);
		return true;
	}
	return false;
}

static bool kp_results_differ(struct kunit *test, const struct kp_state *bare)
{
	const struct kp_state *probed = &kp.probed;
	int sp = (int)(bare->reg[KP_SP] - kp.in.reg[KP_SP]) + KP_STACK_TOP;
	int reg;

	for (reg = 0; reg < KP_REGS; reg++) {
		unsigned long mask = kp_reg_mask(reg);

		if (kp_differ(test, kp_pt_regs[reg].name, probed->reg[reg] & mask,
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
				sizeof(bare->vector));
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
		snprintf(what, sizeof(what), "%s in the %s_handler", kp_pt_regs[reg].name, handler);
		if (kp_differ(test, what, shown & mask, state->reg[reg] & mask))
			return true;
	}
	return false;
}

static bool kp_round_fails(struct kunit *test, const struct kp_state *bare)
{
	const struct kp_insn_case *insn = kp.insn;
	int hits = insn->flags & KP_HITS_AGAIN ? 5 : 1;

	if (kp_differ(test, "number of pre_handler calls", kp.pre, hits) ||
	    kp_differ(test, "number of post_handler calls", kp.post,
		      kp.mode == KP_PRE_POST ? hits : 0) ||
	    kp_differ(test, "flags of the post_handler", kp.post_flags, 0) ||
	    kp_results_differ(test, bare) ||
	    kp_differ(test, "ip in the pre_handler", kp.pre_regs.ip,
		      (unsigned long)kp.probe->addr + 1))
		return true;
	if (insn->start == insn->probed && kp_shown_differ(test, &kp.pre_regs, &kp.in, "pre"))
		return true;
	if (kp.mode != KP_PRE_POST || insn->flags & KP_BRANCH)
		return false;
	if (kp_differ(test, "ip in the post_handler", kp.post_regs.ip,
		      (unsigned long)kp_text(insn->next)))
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
		KUNIT_FAIL(test, "%s: word %u in the %s_handler is %lx, was %lx\n", kp_name(), i,
			   handler, is[i], was[i]);
		return false;
	}
	return true;
}

/*
 * Run the rounds of an instruction. Record the registers that handlers get or, if @optimized,
 * compare them with those of the first run.
 */
static void kp_rounds(struct kunit *test, struct kp_insn *c, bool optimized)
{
	struct kp_shown *shown = c->shown;
	unsigned int round;

	/* Each mode begins with the same values. */
	prandom_seed_state(&kp.random, seed + kp.insn->start);
	for (round = 0; round < rounds; round++) {
		kp_insn_randomize(&kp.random, &kp.in);
		if (kp.insn->flags & KP_IRQS_ON)
			kp.in.reg[KP_FLAGS] |= X86_EFLAGS_IF;
		kp.pre = 0;
		kp.post = 0;
		kp.post_flags = 0;
		kp_run(kp.mode == KP_BARE ? &c->bare[round] : &kp.probed);
		if (kp.mode == KP_BARE)
			continue;
		if (kp_round_fails(test, &c->bare[round]))
			break;
		if (!optimized) {
			shown[round] = (struct kp_shown){ kp.pre_regs, kp.post_regs };
			continue;
		}
		if (!kp_shown_as_before(test, "pre", &kp.pre_regs, &shown[round].pre))
			break;
		if (kp.post && !kp_shown_as_before(test, "post", &kp.post_regs, &shown[round].post))
			break;
	}
}

static bool kp_cpu_has_it(void)
{
	return !kp.insn->feature || test_cpu_cap(&boot_cpu_data, kp.insn->feature);
}

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

static void kp_prepare(struct kprobe *p, void *addr)
{
	memset(p, 0, sizeof(*p));
	p->addr = addr;
	p->pre_handler = kp_insn_pre;
	if (kp.mode == KP_PRE_POST)
		p->post_handler = kp_insn_post;
}

static void kp_unregister(void *unused)
{
	unregister_kprobes(kp_group.registered, kp_group.nr_registered);
}

/*
 * Run instructions; with @optimized, only those whose probe is optimised. All runs are called from
 * this function, since the stack pointer must be the same each time.
 */
static noinline __noclone void kp_pass(struct kunit *test, struct kp_insn *insns, int nr,
				       bool optimized)
{
	const char *mode = kp_mode_names[kp.mode];
	int i, jumps = 0;

	for (i = 0; i < nr; i++) {
		struct kp_insn *c = &insns[i];
		u16 flags = c->insn->flags;

		kp.insn = c->insn;
		kp.probe = &c->kp;
		if (optimized) {
			bool jump = kp_is_jump(c->kp.addr);

			jumps += jump;
			if (flags & KP_OPT)
				KUNIT_EXPECT_TRUE_MSG(test, jump, "%s, %s\n", kp_name(), mode);
			if (flags & KP_NO_OPT)
				KUNIT_EXPECT_FALSE_MSG(test, jump, "%s, %s\n", kp_name(), mode);
			if (!jump || flags & KP_NO_OPT)
				continue;
		} else if (kp.mode != KP_BARE) {
			kp_prepare(&c->kp, kp_text(c->insn->probed));
			if (kp_is_refused(test, register_kprobe(&c->kp)))
				continue;
		}
		if (kp_cpu_has_it() && !(flags & KP_REFUSED))
			kp_rounds(test, c, optimized);
	}
	if (optimized)
		kunit_info(test, "%s: %d of %d probes optimised\n", mode, jumps, nr);
}

static void kp_run_all(struct kunit *test, struct kp_insn *insns, int nr)
{
	kp_group.registered = &kp_group.kps[insns - kp_group.insns];
	for (kp.mode = KP_BARE; kp.mode < KP_MODES; kp.mode++) {
		if (opt)
			KUNIT_ASSERT_EQ(test, kp_opt_switch(false), 0);
		if (kp.mode != KP_BARE) {
			kp_group.nr_registered = nr;
			kp_at_end(test, kp_unregister, NULL);
		}
		kp_pass(test, insns, nr, false);
		if (opt)
			KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
		if (kp.mode == KP_BARE)
			continue;
		if (opt) {
			KUNIT_ASSERT_EQ(test, kp_opt_settle(), 0);
			kp_pass(test, insns, nr, true);
		}
		kunit_release_action(test, kp_unregister, NULL);
	}
}

static void kp_group_free(void *unused)
{
	int i;

	for (i = 0; i < (opt ? kp_group.nr : 1); i++) {
		vfree(kp_group.insns[i].bare);
		vfree(kp_group.insns[i].shown);
	}
	vfree(kp_group.insns);
	vfree(kp_group.kps);
	memset(&kp_group, 0, sizeof(kp_group));
}

static bool kp_is_chosen(const char *name)
{
	return strstr(name, only) && !(*skip && strstr(name, skip));
}

static void kp_run_group(struct kunit *test, int group)
{
	int i, nr, lacking = 0;

	kp_group.insns = vcalloc(kp_insn_nr, sizeof(*kp_group.insns));
	KUNIT_ASSERT_NOT_NULL(test, kp_group.insns);
	kp_at_end(test, kp_group_free, NULL);
	kp_group.kps = vcalloc(kp_insn_nr, sizeof(*kp_group.kps));
	KUNIT_ASSERT_NOT_NULL(test, kp_group.kps);
	for (i = 0; i < kp_insn_nr; i++) {
		struct kp_insn *c = &kp_group.insns[kp_group.nr];

		kp.insn = &kp_insn_cases[i];
		if (kp.insn->group != group || !kp_is_chosen(kp_name()))
			continue;
		c->insn = kp.insn;
		if (opt || !kp_group.nr) {
			c->bare = vcalloc(rounds, sizeof(*c->bare));
			c->shown = vcalloc(rounds, sizeof(*c->shown));
		} else {
			/* Instructions run one at a time, and share these. */
			c->bare = kp_group.insns->bare;
			c->shown = kp_group.insns->shown;
		}
		kp_group.kps[kp_group.nr++] = &c->kp;
		KUNIT_ASSERT_TRUE(test, c->bare && c->shown);
		lacking += !kp_cpu_has_it();
	}
	if (!kp_group.nr)
		kunit_skip(test, "no instruction is chosen");
	/* With opt, register all: one wait is enough for all jumps. */
	nr = opt ? kp_group.nr : 1;
	for (i = 0; i < kp_group.nr; i += nr)
		kp_run_all(test, &kp_group.insns[i], nr);
	kunit_info(test, "%d instructions, of which this processor lacks %d\n", kp_group.nr,
		   lacking);
}

/* Stay on one CPU: per-CPU values and addresses are compared. */
static int kp_insn_init(struct kunit *test)
{
	return set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
}

#define KP_GROUP_FUNCTION(name)						\
	static void kp_matrix_##name(struct kunit *test)		\
	{								\
		kp_run_group(test, kp_group_##name);			\
	}

#define KP_GROUP_NUMBER(name)	kp_group_##name,
enum { KP_GROUPS(KP_GROUP_NUMBER) };
KP_GROUPS(KP_GROUP_FUNCTION)

/*
 * A probed lidt loads an IDT without a gate for int3, as kexec does, and some instructions later
 * the kernel's IDT is loaded again. So kprobes must execute no int3 after the copy of lidt: it
 * would oops.
 */
static void kp_matrix_no_int3(struct kunit *test)
{
	static struct kprobe probe;
	struct desc_ptr was, bare;
	gate_desc *idt;

	if (stepped)
		kunit_skip(test, "copies are single-stepped");
	if (cpu_feature_enabled(X86_FEATURE_FRED))
		kunit_skip(test, "with FRED, int3 needs no IDT");
	store_idt(&was);
	idt = kp_zalloc(test, was.size + 1);
	memcpy(idt, (void *)was.address, was.size + 1);
	idt[X86_TRAP_BP].bits.p = 0;
	bare = (struct desc_ptr){ .size = was.size, .address = (unsigned long)idt };
	for (kp.mode = KP_PRE; kp.mode < KP_MODES; kp.mode++) {
		kp_prepare(&probe, kp_insn_use_idt_probed);
		kp.pre = 0;
		kp.post = 0;
		kp_kprobe_add(test, &probe);
		if (opt) {
			KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
			KUNIT_EXPECT_TRUE(test, kp_wait_jump(probe.addr, true));
		}
		kp_insn_use_idt(&bare, &was);
		KUNIT_EXPECT_EQ(test, kp.pre, 1);
		KUNIT_EXPECT_EQ(test, kp.post, kp.mode == KP_PRE_POST);
		kp_kprobe_del(test, &probe);
	}
}

#define KP_GROUP_CASE(name)	KUNIT_CASE_SLOW(kp_matrix_##name),

static struct kunit_case kp_insn_test_cases[] = {
	KP_GROUPS(KP_GROUP_CASE)
	KUNIT_CASE(kp_matrix_no_int3),
	{}
};

KP_ONLY_SUITE(kp_insn_test, "kprobes_insn", "KUnit suite: instructions run probed as they run bare",
	      .init = kp_insn_init);
