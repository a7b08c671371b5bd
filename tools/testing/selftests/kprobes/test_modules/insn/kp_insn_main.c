// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite: the cases of the table of instructions are executed without and with a probe, see
 * kp_insn_run.c.
 */

#include <asm/desc.h>
#include <asm/trapnr.h>
#include "kp_insn.h"
#include "kp_opt.h"

module_param_named(rounds, kp_runner.rounds, uint, 0400);
MODULE_PARM_DESC(rounds, "how often each instruction runs in each mode, with other values");
module_param_named(seed, kp_runner.seed, ulong, 0400);
MODULE_PARM_DESC(seed, "what the random values start from");
module_param_named(opt, kp_runner.opt, bool, 0400);
MODULE_PARM_DESC(opt, "compare jump-optimised probes with others");

static char *only = "";
module_param(only, charp, 0400);
MODULE_PARM_DESC(only, "only instructions with this in their names");

static char *skip = "";
module_param(skip, charp, 0400);
MODULE_PARM_DESC(skip, "no instructions with this in their names");

KP_MODULE_PARAM(bool, stepped, false,
		"copies are single-stepped, which needs int3 to work after them");

static bool kp_is_chosen(const char *name)
{
	return strstr(name, only) && !(*skip && strstr(name, skip));
}

static void kp_run_group(struct kunit *test, int group)
{
	struct kp_insn *insns = kp_vzalloc(test, kp_insn_nr * sizeof(*insns));
	struct kprobe **kps = kp_vzalloc(test, kp_insn_nr * sizeof(*kps));
	int i, each, nr = 0, lacking = 0;

	for (i = 0; i < kp_insn_nr; i++) {
		struct kp_insn *insn = &insns[nr];
		const struct kp_insn_case *c = &kp_insn_cases[i];

		if (c->group != group || !kp_is_chosen(kp_insn_names + c->name))
			continue;
		kp_insn_describe(insn, c);
		/* Without opt, instructions run one at a time, and share bare and shown. */
		insn->bare = insns->bare;
		insn->shown = insns->shown;
		kps[nr++] = &insn->kp;
		if (kp_runner.opt || nr == 1)
			kp_insn_alloc(test, insn);
		lacking += !insn->runs && !(c->flags & KP_REFUSED);
	}
	if (!nr)
		kunit_skip(test, "no instruction is chosen");
	/* With opt, register all: one wait is enough for all jumps. */
	each = kp_runner.opt ? nr : 1;
	for (i = 0; i < nr; i += each)
		kp_insn_run_all(test, &kps[i], each);
	kunit_info(test, "%d instructions, of which this processor lacks %d\n", nr, lacking);
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

static int kp_pre, kp_post;

KP_PRE_HANDLER(__kprobes, kp_idt_pre, kp_pre++)
KP_POST_HANDLER(__kprobes, kp_idt_post, kp_post++)

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
	int post;

	if (stepped)
		kunit_skip(test, "copies are single-stepped");
	if (cpu_feature_enabled(X86_FEATURE_FRED))
		kunit_skip(test, "with FRED, int3 needs no IDT");
	store_idt(&was);
	idt = kp_zalloc(test, was.size + 1);
	memcpy(idt, (void *)was.address, was.size + 1);
	idt[X86_TRAP_BP].bits.p = 0;
	bare = (struct desc_ptr){ .size = was.size, .address = (unsigned long)idt };
	for (post = 0; post < 2; post++) {
		probe = (struct kprobe){
			.addr = kp_insn_use_idt_probed, .pre_handler = kp_idt_pre,
			.post_handler = post ? kp_idt_post : NULL,
		};
		kp_pre = 0;
		kp_post = 0;
		kp_kprobe_add(test, &probe);
		if (kp_runner.opt) {
			KUNIT_ASSERT_EQ(test, kp_opt_switch(true), 0);
			KUNIT_EXPECT_TRUE(test, kp_wait_jump(probe.addr, true));
		}
		kp_insn_use_idt(&bare, &was);
		KUNIT_EXPECT_EQ(test, kp_pre, 1);
		KUNIT_EXPECT_EQ(test, kp_post, post);
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
