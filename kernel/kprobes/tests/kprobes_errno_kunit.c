// SPDX-License-Identifier: GPL-2.0
/* Every documented errno, by the path that leads to it */

#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include "kprobes_kunit.h"
#include "kp_module.h"

static void kp_errno_no_location(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);

	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.offset = 4;
	kp_expect_refused(test, &probe->kp, -EINVAL);
}

static void kp_errno_two_locations(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	probe->kp.symbol_name = "kp_target";
	kp_expect_refused(test, &probe->kp, -EINVAL);
	kp_expect_unprobed(test, probe, kp_target);
}

static void kp_errno_unknown_symbol(struct kunit *test)
{
	static const char *const names[] = {
		"kp_no_such_function", KP_QUALIFIED("kp_no_such_function"),
		"kp_no_such_module:kp_target",
	};
	struct kp_probe *probe = kp_new(test, NULL);
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe->kp.symbol_name = names[i];
		kp_expect_refused(test, &probe->kp, -ENOENT);
	}
}

static int kp_errno_data;

static void kp_errno_kernel_data(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);
	void *heap = kunit_kzalloc(test, 64, GFP_KERNEL);
	int stack = 0;

	KUNIT_ASSERT_NOT_NULL(test, heap);
	probe->kp.addr = (void *)&kp_errno_data;
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.addr = (void *)&kp_errno_suite;
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.addr = (void *)&loops_per_jiffy;
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.addr = heap;
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.addr = (void *)&stack;
	kp_expect_refused(test, &probe->kp, -EINVAL);
}

static void kp_errno_data_symbol(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);

	probe->kp.symbol_name = "jiffies";
	kp_expect_refused(test, &probe->kp, IS_ENABLED(CONFIG_KALLSYMS_ALL) ? -EINVAL : -ENOENT);
}

static void kp_errno_not_kernel(struct kunit *test)
{
	const unsigned long addrs[] = {
		1, PAGE_SIZE, 0x400000, TASK_SIZE - 1, 1UL << (BITS_PER_LONG - 1), ~0UL,
	};
	struct kp_probe *probe = kp_new(test, NULL);
	int i;

	for (i = 0; i < ARRAY_SIZE(addrs); i++) {
		probe->kp.addr = (void *)addrs[i];
		kp_expect_refused(test, &probe->kp, -EINVAL);
	}
}

#ifdef CONFIG_X86_32
#define KP_ENTRY_SYSCALL	"entry_SYSENTER_32"
#define KP_ENTRY_EXCEPTION	"handle_exception"
#else
#define KP_ENTRY_SYSCALL	"entry_SYSCALL_64"
#define KP_ENTRY_EXCEPTION	"error_entry"
#endif

static void kp_errno_blacklisted_kernel(struct kunit *test)
{
	static const char *const names[] = {
		"notify_die", "atomic_notifier_call_chain", "get_kprobe",
#ifdef CONFIG_X86
		/* entry text, in assembly and in C */
		"asm_exc_int3", "asm_exc_page_fault", KP_ENTRY_SYSCALL, KP_ENTRY_EXCEPTION,
		"exc_int3", "exc_page_fault", "irqentry_enter",
#endif
	};
	struct kp_probe *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe = kp_new(test, NULL);
		probe->kp.symbol_name = names[i];
		kp_expect_refused(test, &probe->kp, -EINVAL);
		/*
		 * Also inside the function, since the blacklist is checked before boundaries.
		 */
		probe->kp.addr = NULL;
		probe->kp.offset = 1;
		kp_expect_refused(test, &probe->kp, -EINVAL);
	}
}

/* Text that the architecture names, as far as the kernel was built with it. */
static void kp_errno_blacklisted_by_name(struct kunit *test)
{
#if defined(CONFIG_X86) && defined(__ARCH_WANT_PROBEPOINT)
	static const char *const names[] = {
		"ftrace_caller", "ftrace_regs_caller", "ftrace_regs_call",
		"relocate_kernel", "swap_pages", "core_restore_code", "restore_image",
		"restore_registers", "secondary_startup_64", "startup_32_smp",
		"wakeup_long64", "wakeup_pmode_return", "do_suspend_lowlevel",
		"trace_hwlat_callback", "trace_osnoise_callback", "kgdb_handle_exception",
		"dbg_activate_sw_breakpoints", "gdbstub_state",
		IS_ENABLED(CONFIG_PREEMPTION) ? "preempt_schedule_notrace" : "get_kprobe",
		IS_ENABLED(CONFIG_MITIGATION_RETHUNK) ? "__x86_return_thunk" : "get_kprobe",
		"__x86_indirect_thunk_rax", "__x86_indirect_thunk_eax",
	};
	struct kp_probe *probe;
	int i, known = 0, ret;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		probe = kp_new(test, NULL);
		probe->kp.symbol_name = names[i];
		ret = register_kprobe(&probe->kp);
		if (!ret)
			unregister_kprobe(&probe->kp);
		KUNIT_EXPECT_TRUE_MSG(test, ret == -EINVAL || ret == -ENOENT, "%s: %d",
				      names[i], ret);
		known += ret == -EINVAL;
	}
	KUNIT_EXPECT_GT(test, known, 0);
#else
	kunit_skip(test, "no text is named");
#endif
}

static void kp_errno_blacklisted_module(struct kunit *test)
{
	static long (*const targets[])(long) = {
		kp_target_nokprobe, kp_target_noinstr, kp_target_kprobes,
		kp_target_kprobes_named, kp_target_kprobes_after,
	};
	static const char *const names[] = {
		"kp_target_nokprobe", "kp_target_noinstr", "kp_target_kprobes",
		"kp_target_kprobes_named", "kp_target_kprobes_after",
	};
	struct kp_probe *probe;
	int i;

	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		probe = kp_new(test, targets[i]);
		kp_expect_refused(test, &probe->kp, -EINVAL);
		kp_expect_unprobed(test, probe, targets[i]);
		probe = kp_new(test, NULL);
		probe->kp.symbol_name = names[i];
		kp_expect_refused(test, &probe->kp, -EINVAL);
		kp_expect_unprobed(test, probe, targets[i]);
	}
}

/* The module's own tables of patched sites. The kernel's have too many entries. */
static void kp_errno_jump_label(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_JUMP_LABEL)
	struct kp_probe *probe;
	int i, sites = 0;

	for (i = 0; i < THIS_MODULE->num_jump_entries; i++) {
		struct jump_entry *entry = &THIS_MODULE->jump_entries[i];

		if (jump_entry_is_init(entry))
			continue;
		probe = kp_new(test, (void *)jump_entry_code(entry));
		kp_expect_refused(test, &probe->kp, -EINVAL);
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
	struct kp_probe *probe;
	int i, sites = 0;

	for (i = 0; i < THIS_MODULE->num_static_call_sites; i++) {
		struct static_call_site *site = &THIS_MODULE->static_call_sites[i];

		if (((long)&site->key + site->key) & STATIC_CALL_SITE_INIT)
			continue;
		probe = kp_new(test, (void *)&site->addr + site->addr);
		kp_expect_refused(test, &probe->kp, -EINVAL);
		sites++;
	}
	KUNIT_EXPECT_GT(test, sites, 0);
	KUNIT_EXPECT_EQ(test, kp_target_static_call(1), 2);
#else
	kunit_skip(test, "no inline static calls, or no module's");
#endif
}

#if defined(MODULE) && defined(CONFIG_GENERIC_BUG)
static void *kp_bug_addr(struct bug_entry *bug)
{
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	return (void *)&bug->bug_addr_disp + bug->bug_addr_disp;
#else
	return (void *)bug->bug_addr;
#endif
}
#endif

static void kp_errno_bug(struct kunit *test)
{
#if defined(MODULE) && defined(CONFIG_GENERIC_BUG)
	struct kp_probe *probe;
	int i;

#ifdef __WARN_FLAGS
	KUNIT_EXPECT_GE(test, THIS_MODULE->num_bugs, 2);
#else
	/* WARN_ON() does not trap. */
	KUNIT_EXPECT_GE(test, THIS_MODULE->num_bugs, 1);
#endif
	for (i = 0; i < THIS_MODULE->num_bugs; i++) {
		probe = kp_new(test, kp_bug_addr(&THIS_MODULE->bug_table[i]));
		kp_expect_refused(test, &probe->kp, -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, kp_target_bug(1), 2);
	KUNIT_EXPECT_EQ(test, kp_target_warn(1), 2);
#else
	kunit_skip(test, "no bug table, or no module's");
#endif
}

static void kp_errno_same_twice(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);

	KUNIT_ASSERT_EQ(test, kp_register(test, probe), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&probe->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 1);

	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_EQ(test, register_kprobe(&probe->kp), -EINVAL);
	kp_expect_unprobed(test, probe, kp_target);
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, probe->pre, 2);

	kp_unregister(test, probe);
	kp_expect_unprobed(test, probe, kp_target);
}

static void kp_errno_not_registered(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, kp_target);
	struct kp_probe *other = kp_new(test, kp_target);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), -EINVAL);

	KUNIT_ASSERT_EQ(test, kp_register(test, other), 0);
	probe->kp.addr = other->kp.addr;
	KUNIT_EXPECT_EQ(test, enable_kprobe(&probe->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&probe->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, kp_target(1), 2);
	KUNIT_EXPECT_EQ(test, other->pre, 1);
	KUNIT_EXPECT_EQ(test, probe->pre, 0);
	kp_unregister(test, other);

	KUNIT_EXPECT_EQ(test, enable_kprobe(&other->kp), -EINVAL);
	KUNIT_EXPECT_EQ(test, disable_kprobe(&other->kp), -EINVAL);
	kp_expect_unprobed(test, other, kp_target);
}

#ifdef CONFIG_X86
static void kp_errno_smp_alternative(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, (void *)kp_x86_lock + kp_x86_lock_insn[0]);

	/* The kernel keeps the list of lock prefixes only while it may patch them back. */
	if (num_online_cpus() > 1 || num_possible_cpus() == 1)
		kunit_skip(test, "needs a kernel booted with maxcpus=1 on several CPUs");
	kp_expect_refused(test, &probe->kp, -EINVAL);
}

static void kp_errno_int3(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, (void *)kp_x86_int3 + kp_x86_int3_insn[0]);

	kp_expect_refused(test, &probe->kp, -EINVAL);
}

static void kp_errno_endbr(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, (void *)kp_x86_endbr + kp_x86_endbr_insn[0]);

	if (!IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		kunit_skip(test, "endbr is but a nop");
	kp_expect_refused(test, &probe->kp, -EINVAL);
	probe->kp.addr = NULL;
	probe->kp.symbol_name = "kp_x86_endbr";
	probe->kp.offset = kp_x86_endbr_insn[0];
	kp_expect_refused(test, &probe->kp, -EINVAL);

	probe = kp_new(test, (void *)kp_x86_endbr + kp_x86_endbr_insn[1]);
	KUNIT_EXPECT_EQ(test, kp_register(test, probe), 0);
	probe = kp_new(test, (void *)kp_x86_endbr + kp_x86_endbr_insn[2]);
	KUNIT_EXPECT_EQ(test, kp_register(test, probe), 0);
}

/*
 * The bytes before a function belong to call thunks and type checks. Their symbol has the
 * prefix __cfi_, from the compiler, or __pfx_, from objtool.
 */
static __maybe_unused void kp_expect_padding_refused(struct kunit *test, void *function)
{
	struct kp_probe *probe;
	char name[KSYM_SYMBOL_LEN];
	int i, in_padding = 0;

	for (i = 1; i <= 16; i++) {
		snprintf(name, sizeof(name), "%ps", function - i);
		if (!strstarts(name, "__pfx_") && !strstarts(name, "__cfi_"))
			break;
		in_padding++;
		probe = kp_new(test, function - i);
		kp_expect_refused(test, &probe->kp, -EINVAL);
	}
	KUNIT_EXPECT_GT_MSG(test, in_padding, 4, "in front of %ps", function);
	snprintf(name, sizeof(name), "%ps", function - 1);
	*strchrnul(name, ' ') = '\0';
	probe = kp_new(test, NULL);
	probe->kp.symbol_name = name;
	kp_expect_refused(test, &probe->kp, -EINVAL);
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

/* The compiler's check before an indirect call, which the trap handler decodes */
static void kp_errno_cfi_check(struct kunit *test)
{
#ifdef CONFIG_CFI_CLANG
	u8 *code = (u8 *)kp_target_indirect;
	struct kp_probe *probe;
	int i, found = 0;

	/* movl $type, %r10d; addl -4(%reg), %r10d or similar; je; ud2 */
	for (i = 0; i < 128 && !found; i++) {
		if (code[i] != 0x41 || code[i + 1] != 0xba || code[i + 10] != 0x74 ||
		    code[i + 12] != 0x0f || code[i + 13] != 0x0b)
			continue;
		found++;
		probe = kp_new(test, code + i);
		kp_expect_refused(test, &probe->kp, -EINVAL);
		probe = kp_new(test, code + i + 6);
		kp_expect_refused(test, &probe->kp, -EINVAL);
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
			kp_expect_refused(test, &probe->kp, -EILSEQ);

			probe = kp_new(test, kp_x86_sum);
			probe->kp.offset = byte;
			kp_expect_refused(test, &probe->kp, -EILSEQ);

			probe = kp_new(test, NULL);
			probe->kp.symbol_name = "kp_x86_sum";
			probe->kp.offset = byte;
			kp_expect_refused(test, &probe->kp, -EILSEQ);
		}
	}
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
}

/* A breakpoint hides an instruction, but instruction boundaries after it stay known. */
static void kp_errno_boundary_behind_probe(struct kunit *test)
{
	struct kp_probe *first = kp_new(test, kp_x86_sum_addr(KP_SUM_LEA));
	struct kp_probe *second = kp_new(test, kp_x86_sum_addr(KP_SUM_MOVABS));
	struct kp_probe *inside = kp_new(test, kp_x86_sum_addr(KP_SUM_MOVABS) + 1);
	struct kp_probe *third = kp_new(test, kp_x86_sum_addr(KP_SUM_XOR));

	KUNIT_ASSERT_EQ(test, kp_register(test, first), 0);
	KUNIT_ASSERT_EQ(test, kp_register(test, second), 0);
	kp_expect_refused(test, &inside->kp, -EILSEQ);
	KUNIT_ASSERT_EQ(test, kp_register(test, third), 0);
	KUNIT_EXPECT_EQ(test, kp_x86_sum(40, 2), 42);
	KUNIT_EXPECT_EQ(test, first->pre, 1);
	KUNIT_EXPECT_EQ(test, second->pre, 1);
	KUNIT_EXPECT_EQ(test, third->pre, 1);
	KUNIT_EXPECT_EQ(test, inside->pre, 0);
}

static void kp_errno_beyond_the_end(struct kunit *test)
{
	struct kp_probe *probe = kp_new(test, NULL);
	/* The next function's second byte, far away, wrapping */
	const unsigned int offsets[] = {
		kp_x86_sum_insn[KP_SUM_SIZE] + 1, 0x100001, 0x7fffffff, 0x80000001, ~0U,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(offsets); i++) {
		probe->kp.symbol_name = "kp_x86_sum";
		probe->kp.addr = NULL;
		probe->kp.offset = offsets[i];
		kp_expect_refused(test, &probe->kp, -EINVAL);
	}

	/*
	 * An offset may lead to the first byte of the next function, as in
	 * kprobe/probepoint.tc.
	 */
	probe->kp.symbol_name = "kp_x86_sum";
	probe->kp.addr = NULL;
	probe->kp.offset = kp_x86_sum_insn[KP_SUM_SIZE];
	KUNIT_EXPECT_EQ(test, register_kprobe(&probe->kp), 0);
	KUNIT_EXPECT_LE(test, (void *)probe->kp.addr - kp_x86_sum_addr(KP_SUM_SIZE), 4L);
	KUNIT_EXPECT_GE(test, (void *)probe->kp.addr - kp_x86_sum_addr(KP_SUM_SIZE), 0L);
	unregister_kprobe(&probe->kp);
}
#endif

static struct kunit_case kp_errno_cases[] = {
	KUNIT_CASE(kp_errno_no_location),
	KUNIT_CASE(kp_errno_two_locations),
	KUNIT_CASE(kp_errno_unknown_symbol),
	KUNIT_CASE(kp_errno_kernel_data),
	KUNIT_CASE(kp_errno_data_symbol),
	KUNIT_CASE(kp_errno_not_kernel),
	KUNIT_CASE(kp_errno_blacklisted_kernel),
	KUNIT_CASE(kp_errno_blacklisted_by_name),
	KUNIT_CASE(kp_errno_blacklisted_module),
	KUNIT_CASE(kp_errno_jump_label),
	KUNIT_CASE(kp_errno_static_call),
	KUNIT_CASE(kp_errno_bug),
	KUNIT_CASE(kp_errno_same_twice),
	KUNIT_CASE(kp_errno_not_registered),
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

struct kunit_suite kp_errno_suite = {
	.name = "kprobes_errno",
	.test_cases = kp_errno_cases,
};
