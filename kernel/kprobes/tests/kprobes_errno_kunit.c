// SPDX-License-Identifier: GPL-2.0
/* Test that registrations of kprobes fail with the documented errno */

#include <linux/jump_label.h>
#include <linux/static_call.h>
#include "kprobes_kunit.h"
#include "kp_cases_errno.h"

/* Probes on functions that x86 blacklists by name must be refused, if this kernel has them. */
static void kp_errno_blacklisted_by_name(struct kunit *test)
{
#if defined(CONFIG_X86) && defined(__ARCH_WANT_PROBEPOINT)
	static const char *const names[] = {
		"ftrace_caller", "ftrace_regs_caller", "ftrace_regs_call",
		"relocate_kernel", "swap_pages", "core_restore_code", "restore_image",
		"restore_registers", "secondary_startup_64", "startup_32_smp",
		"common_startup_64", "start_secondary", "cr4_init", "cpu_init_exception_handling",
		"load_current_idt", "wakeup_long64", "wakeup_pmode_return", "do_suspend_lowlevel",
		"restore_processor_state", "swsusp_arch_suspend", "create_image",
		"cpuhp_ap_report_dead", "play_dead_common", "native_play_dead", "hlt_play_dead",
		"cpuidle_play_dead", "acpi_idle_play_dead",
		"trace_hwlat_callback", "trace_osnoise_callback", "kgdb_handle_exception",
		"dbg_activate_sw_breakpoints", "gdbstub_state",
		IS_ENABLED(CONFIG_PREEMPTION) ? "preempt_schedule_notrace" : "get_kprobe",
		IS_ENABLED(CONFIG_MITIGATION_RETHUNK) ? "__x86_return_thunk" : "get_kprobe",
		"__x86_indirect_thunk_rax", "__x86_indirect_thunk_eax",
	};
	int i, known = 0, ret;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ret = kp_refusal(test, kp_new_named(test, names[i], 0));
		KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT, "%s: %d",
				      names[i], ret);
		known += ret == -EINVAL;
	}
	KUNIT_EXPECT_GT(test, known, 0);
#else
	kunit_skip(test, "no text is named");
#endif
}

static const struct kp_marked {
	const char *name;
	long (*fn)(long arg);
} kp_marked_functions[] = {
#define KP_MARKED(fn)	{ #fn, fn }
	KP_MARKED(kp_target_nokprobe),
	KP_MARKED(kp_target_noinstr),
	KP_MARKED(kp_target_cpuidle),
	KP_MARKED(kp_target_kprobes),
	KP_MARKED(kp_target_kprobes_named),
	KP_MARKED(kp_target_kprobes_after),
};

KUNIT_ARRAY_PARAM_DESC(kp_marked, kp_marked_functions, name);

static void kp_errno_blacklisted_module(struct kunit *test)
{
	const struct kp_marked *marked = test->param_value;
	struct kp_probe *probe = kp_new(test, marked->fn);

	kp_expect_refused(test, probe, -EINVAL);
	kp_expect_unprobed(test, probe, marked->fn);
	probe = kp_new_named(test, marked->name, 0);
	kp_expect_refused(test, probe, -EINVAL);
	kp_expect_unprobed(test, probe, marked->fn);
}

/* Try only the jump labels of this module. The kernel has too many to try them all. */
static void kp_errno_jump_label(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_JUMP_LABEL)
	int i, sites = 0;

	for (i = 0; i < THIS_MODULE->num_jump_entries; i++) {
		struct jump_entry *entry = &THIS_MODULE->jump_entries[i];

		if (jump_entry_is_init(entry))
			continue;
		kp_expect_refused(test, kp_new(test, (void *)jump_entry_code(entry)), -EINVAL);
		sites++;
	}
	KUNIT_EXPECT_GT(test, sites, 0);
	KUNIT_EXPECT_EQ(test, kp_target_jump_label(1), 2);
#else
	kunit_skip(test, "no jump labels, or no module's");
#endif
}

static void kp_errno_static_call(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_HAVE_STATIC_CALL_INLINE)
	int i, sites = 0;

	for (i = 0; i < THIS_MODULE->num_static_call_sites; i++) {
		struct static_call_site *site = &THIS_MODULE->static_call_sites[i];

		if (((long)&site->key + site->key) & STATIC_CALL_SITE_INIT)
			continue;
		kp_expect_refused(test, kp_new(test, (void *)&site->addr + site->addr), -EINVAL);
		sites++;
	}
	KUNIT_EXPECT_GT(test, sites, 0);
	KUNIT_EXPECT_EQ(test, kp_target_static_call(1), 2);
#else
	kunit_skip(test, "no inline static calls, or no module's");
#endif
}

static void kp_errno_bug(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_GENERIC_BUG)
	int i;

	/* Entries for BUG_ON() and WARN_ON(). Without __WARN_FLAGS, WARN_ON() has none. */
#ifdef __WARN_FLAGS
	KUNIT_EXPECT_GE(test, THIS_MODULE->num_bugs, 2);
#else
	KUNIT_EXPECT_GE(test, THIS_MODULE->num_bugs, 1);
#endif
	for (i = 0; i < THIS_MODULE->num_bugs; i++) {
		struct bug_entry *bug = &THIS_MODULE->bug_table[i];
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
		void *addr = (void *)&bug->bug_addr_disp + bug->bug_addr_disp;
#else
		void *addr = (void *)bug->bug_addr;
#endif

		kp_expect_refused(test, kp_new(test, addr), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, kp_target_bug(1), 2);
	KUNIT_EXPECT_EQ(test, kp_target_warn(1), 2);
#else
	kunit_skip(test, "no bug table, or no module's");
#endif
}

#ifdef CONFIG_X86
static void kp_errno_smp_alternative(struct kunit *test)
{
	/* The kernel keeps the list of lock prefixes only if another CPU may come online later. */
	if (num_online_cpus() > 1 || num_possible_cpus() == 1)
		kunit_skip(test, "needs a kernel booted with maxcpus=1 on several CPUs");
	kp_expect_refused(test, kp_new(test, (void *)kp_x86_lock + kp_x86_lock_insn[0]), -EINVAL);
}

KP_CASE(kp_errno_int3,
	kp_expect_refused(test, kp_new(test, (void *)kp_x86_int3 + kp_x86_int3_insn[0]), -EINVAL))

static void kp_errno_endbr(struct kunit *test)
{
	void *start = kp_x86_endbr;

	if (!IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		kunit_skip(test, "endbr is but a nop");
	kp_expect_refused(test, kp_new(test, start + kp_x86_endbr_insn[0]), -EINVAL);
	kp_expect_refused(test, kp_new_named(test, "kp_x86_endbr", kp_x86_endbr_insn[0]), -EINVAL);
	kp_registered(test, start + kp_x86_endbr_insn[1]);
	kp_registered(test, start + kp_x86_endbr_insn[2]);
}

/*
 * Call thunks and kCFI use the padding before a function, so no byte of the padding may be probed.
 * The padding has at least 5 bytes, and a symbol of its own.
 */
static __maybe_unused void kp_expect_padding_refused(struct kunit *test, void *function)
{
	char name[KSYM_SYMBOL_LEN];
	int i, in_padding = 0;

	for (i = 1; i <= 16; i++) {
		snprintf(name, sizeof(name), "%ps", function - i);
		if (!strstarts(name, "__pfx_") && !strstarts(name, "__cfi_"))
			break;
		in_padding++;
		kp_expect_refused(test, kp_new(test, function - i), -EINVAL);
	}
	KUNIT_EXPECT_GT_MSG(test, in_padding, 4, "in front of %ps", function);
	snprintf(name, sizeof(name), "%ps", function - 1);
	*strchrnul(name, ' ') = '\0';
	kp_expect_refused(test, kp_new_named(test, name, 0), -EINVAL);
}

static void kp_errno_padding(struct kunit *test)
{
#if defined(CONFIG_PREFIX_SYMBOLS) || defined(CONFIG_CFI_CLANG)
	kp_expect_padding_refused(test, kp_target);
	kp_expect_padding_refused(test, kp_target_other);
	kp_expect_padding_refused(test, (void *)vsnprintf);
	kp_expect_padding_refused(test, register_kprobe);
#else
	kunit_skip(test, "functions have no symbol for their padding");
#endif
}

/*
 * Before an indirect call, code of kCFI checks the type of the function. The trap handler of kCFI
 * decodes this code, so it must not be probed.
 */
static void kp_errno_cfi_check(struct kunit *test)
{
#ifdef CONFIG_CFI_CLANG
	u8 *code = (u8 *)kp_target_indirect;
	int i, found = 0;

	/* The check: movl $type, %r10d; addl -4(%reg), %r10d or similar; je; ud2 */
	for (i = 0; i < 128 && !found; i++) {
		if (code[i] != 0x41 || code[i + 1] != 0xba || code[i + 10] != 0x74 ||
		    code[i + 12] != 0x0f || code[i + 13] != 0x0b)
			continue;
		found++;
		kp_expect_refused(test, kp_new(test, code + i), -EINVAL);
		kp_expect_refused(test, kp_new(test, code + i + 6), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, found, 1);
	KUNIT_EXPECT_EQ(test, kp_target_indirect(1), 2);
#else
	kunit_skip(test, "calls are not checked");
#endif
}

static void kp_errno_not_a_boundary(struct kunit *test)
{
	struct kp_probe *probe;
	int insn, byte;

	for (insn = KP_SUM_LEA; insn < KP_SUM_RET; insn++) {
		for (byte = kp_x86_sum_insn[insn] + 1; byte < kp_x86_sum_insn[insn + 1]; byte++) {
			probe = kp_new(test, (void *)kp_x86_sum + byte);
			kp_expect_refused(test, probe, -EILSEQ);
			probe = kp_new(test, kp_x86_sum);
			probe->kp.offset = byte;
			kp_expect_refused(test, probe, -EILSEQ);
			probe = kp_new_named(test, "kp_x86_sum", byte);
			kp_expect_refused(test, probe, -EILSEQ);
		}
	}
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
}

/*
 * kprobes must find instruction boundaries also after the breakpoint of a probe, which hides the
 * first byte of the original instruction.
 */
static void kp_errno_boundary_behind_probe(struct kunit *test)
{
	struct kp_probe *first = kp_registered(test, kp_x86_sum_addr(KP_SUM_LEA));
	struct kp_probe *second = kp_registered(test, kp_x86_sum_addr(KP_SUM_MOVABS));
	struct kp_probe *inside = kp_new(test, kp_x86_sum_addr(KP_SUM_MOVABS) + 1);
	struct kp_probe *third;

	kp_expect_refused(test, inside, -EILSEQ);
	third = kp_registered(test, kp_x86_sum_addr(KP_SUM_XOR));
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	kp_expect_hits(test, first, 1);
	kp_expect_hits(test, second, 1);
	kp_expect_hits(test, third, 1);
	kp_expect_hits(test, inside, 0);
}

static void kp_errno_beyond_the_end(struct kunit *test)
{
	/* The second byte after the function; two far after it; two that are negative as an int */
	const unsigned int offsets[] = {
		kp_x86_sum_insn[KP_SUM_SIZE] + 1, 0x100001, 0x7fffffff, 0x80000001, ~0U,
	};
	struct kp_probe *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++)
		kp_expect_refused(test, kp_new_named(test, "kp_x86_sum", offsets[i]), -EINVAL);

	/*
	 * An offset may lead to the start of the next function: the ftrace selftest
	 * kprobe/probepoint.tc relies on it. If that function starts with an ENDBR (4 bytes),
	 * registration moves the probe past it.
	 */
	probe = kp_new_named(test, "kp_x86_sum", kp_x86_sum_insn[KP_SUM_SIZE]);
	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_LE(test, (unsigned long)probe->kp.addr -
			(unsigned long)kp_x86_sum_addr(KP_SUM_SIZE), 4UL);
}
#endif

static struct kunit_case kp_errno_cases[] = {
	KP_CASES_ERRNO,
	KUNIT_CASE(kp_errno_blacklisted_by_name),
	KUNIT_CASE_PARAM(kp_errno_blacklisted_module, kp_marked_gen_params),
	KUNIT_CASE(kp_errno_jump_label),
	KUNIT_CASE(kp_errno_static_call),
	KUNIT_CASE(kp_errno_bug),
#ifdef CONFIG_X86
	KUNIT_CASE(kp_errno_smp_alternative),
	KUNIT_CASE(kp_errno_int3),
	KUNIT_CASE(kp_errno_endbr),
	KUNIT_CASE(kp_errno_padding),
	KUNIT_CASE(kp_errno_cfi_check),
	KUNIT_CASE(kp_errno_not_a_boundary),
	KUNIT_CASE(kp_errno_boundary_behind_probe),
	KUNIT_CASE(kp_errno_beyond_the_end),
#endif
	{}
};

KP_SUITE(kp_errno, "kprobes_errno");
