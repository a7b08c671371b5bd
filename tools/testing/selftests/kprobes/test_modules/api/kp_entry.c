// SPDX-License-Identifier: GPL-2.0
/* KUnit suite: kprobe_function_entry() must return the address to which function pointers lead */

#include "kp_handlers.h"
#include "kp_test.h"
#include "kp_regs.h"

KP_PLUS(, long, kp_entry_traced, 1)
KP_PLUS(notrace, long, kp_entry_notrace, 1)

struct kp_entry_case {
	const char *name;
	void *fn;
	const char *symbol;
};

/* Cast to an integer first, since compilers warn of casts between types of functions. */
#define KP_ENTRY_FN(fn)		((void *)(unsigned long)(fn))

static const struct kp_entry_case kp_entry_cases[] = {
	{ "ftrace", KP_ENTRY_FN(kp_entry_traced), "kp_entry_traced" },
	{ "no ftrace", KP_ENTRY_FN(kp_entry_notrace), "kp_entry_notrace" },
	{ "kernel", KP_ENTRY_FN(schedule_timeout_idle), "schedule_timeout_idle" },
};

KUNIT_ARRAY_PARAM_DESC(kp_entry_case, kp_entry_cases, name);

static void *kp_entry_in_handler;

KP_PRE_HANDLER(__kprobes, kp_entry_pre, kp_entry_in_handler = kprobe_function_entry(p))
KP_RETURN_HANDLER(__kprobes, kp_entry_return,
		  kp_entry_in_handler = kprobe_function_entry(&get_kretprobe(ri)->kp))

/*
 * Register three probes: by symbol, by the function's address, and by the addr that the first probe
 * got. On x86 that addr may be after an endbr.
 */
static void kp_entry_probes(struct kunit *test)
{
	const struct kp_entry_case *c = test->param_value;
	void *fn = dereference_function_descriptor(c->fn);
	struct kprobe by_symbol = { .symbol_name = c->symbol, .pre_handler = kp_entry_pre };
	struct kprobe by_addr = { .addr = kp_entry(fn), .pre_handler = kp_entry_pre };
	struct kprobe by_kp_addr = { .pre_handler = kp_entry_pre };

	KUNIT_ASSERT_EQ(test, register_kprobe(&by_symbol), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_function_entry(&by_symbol), fn);
	by_kp_addr.addr = by_symbol.addr;
	unregister_kprobe(&by_symbol);

	KUNIT_ASSERT_EQ(test, register_kprobe(&by_addr), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_function_entry(&by_addr), fn);
	unregister_kprobe(&by_addr);

	KUNIT_ASSERT_EQ(test, register_kprobe(&by_kp_addr), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_function_entry(&by_kp_addr), fn);
	unregister_kprobe(&by_kp_addr);
}

static void kp_entry_return_probes(struct kunit *test)
{
	const struct kp_entry_case *c = test->param_value;
	struct kretprobe rp = { .kp.symbol_name = c->symbol, .handler = kp_entry_return };

	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_function_entry(&rp.kp),
			    dereference_function_descriptor(c->fn));
	unregister_kretprobe(&rp);
}

static void kp_entry_handlers(struct kunit *test)
{
	struct kretprobe rp = { .kp.symbol_name = "kp_entry_traced", .handler = kp_entry_return };
	struct kprobe kp = { .symbol_name = "kp_entry_notrace", .pre_handler = kp_entry_pre };

	KUNIT_ASSERT_EQ(test, register_kprobe(&kp), 0);
	KUNIT_EXPECT_EQ(test, kp_entry_notrace(1), 2);
	unregister_kprobe(&kp);
	KUNIT_EXPECT_PTR_EQ(test, kp_entry_in_handler,
			    dereference_function_descriptor(KP_ENTRY_FN(kp_entry_notrace)));

	KUNIT_ASSERT_EQ(test, register_kretprobe(&rp), 0);
	KUNIT_EXPECT_EQ(test, kp_entry_traced(1), 2);
	unregister_kretprobe(&rp);
	KUNIT_EXPECT_PTR_EQ(test, kp_entry_in_handler,
			    dereference_function_descriptor(KP_ENTRY_FN(kp_entry_traced)));
}

#ifdef CONFIG_X86
asm(".pushsection .text, \"ax\"\n\t"
	".type kp_entry_insns, @function\n"
	"kp_entry_insns:\n\t"
	"nop\n\t"
	"nop\n\t"
	ASM_RET
	".size kp_entry_insns, . - kp_entry_insns\n\t"
	".popsection");

/* Probe the entry of a function that begins with no endbr, and an instruction inside it. */
static void kp_entry_inside(struct kunit *test)
{
	struct kprobe entry = { .symbol_name = "kp_entry_insns" };
	struct kprobe inside = { .symbol_name = "kp_entry_insns", .offset = 1 };

	KUNIT_ASSERT_EQ(test, register_kprobe(&entry), 0);
	KUNIT_EXPECT_PTR_EQ(test, kprobe_function_entry(&entry), (void *)entry.addr);
	KUNIT_EXPECT_EQ(test, register_kprobe(&inside), 0);
	KUNIT_EXPECT_NULL(test, kprobe_function_entry(&inside));
	unregister_kprobe(&inside);
	unregister_kprobe(&entry);
}
#else
KP_CASE(kp_entry_inside, kunit_skip(test, "the function is for x86"))
#endif

static struct kunit_case kp_entry_kunit_cases[] = {
	KUNIT_CASE_PARAM(kp_entry_probes, kp_entry_case_gen_params),
	KUNIT_CASE_PARAM(kp_entry_return_probes, kp_entry_case_gen_params),
	KUNIT_CASE(kp_entry_handlers),
	KUNIT_CASE(kp_entry_inside),
	{}
};

static KP_SUITE(kp_entry_kunit, "kprobes_entry");

KP_SUITES("KUnit tests of kprobe_function_entry()", &kp_entry_kunit_suite);
