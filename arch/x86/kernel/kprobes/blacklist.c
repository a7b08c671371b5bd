// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: kernel text that must not be probed.
 *
 * kernel/kprobes/blacklist.c adds text that is marked by NOKPROBE_SYMBOL() or by its section. This
 * file adds text without a mark, by name. A name that kallsyms does not know is skipped: the kernel
 * was built without that code.
 */
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/preempt.h>
#include <linux/sprintf.h>
#include <linux/string.h>
#include <asm/page.h>
#include <asm/sections.h>

#include "x86.h"

/**
 * struct x86_blacklist_area - text from one symbol to another
 * @first: the symbol at its start
 * @last: the last symbol that belongs to it; NULL if @first is the only one
 *
 * A label inside a function splits it into several symbols, so one name may not be enough.
 */
struct x86_blacklist_area {
	const char *first;
	const char *last;
};

static const struct x86_blacklist_area areas[] __initconst = {
	/*
	 * Ftrace and the graph tracer patch these, and would overwrite a breakpoint. In 64-bit mode
	 * ftrace also copies them: a breakpoint in the copy would have no probepoint.
	 */
#ifdef CONFIG_X86_64
	{ "ftrace_caller", "ftrace_caller_end" },
	{ "ftrace_regs_caller", "ftrace_regs_caller_end" },
#else
	{ "ftrace_caller", "ftrace_stub" },
	{ "ftrace_regs_caller", "ftrace_regs_call" },
#endif

	/*
	 * Kexec, hibernation, SME and Hyper-V's crash handler execute copies of these, in which a
	 * breakpoint would have no probepoint.
	 */
	{ "relocate_kernel", "swap_pages" },
#ifdef CONFIG_X86_64
	{ "core_restore_code" },
#else
	{ "core_restore_code", "done" },
#endif
	{ "__enc_copy" },
	{ "hv_crash_asm32", "hv_crash_asm_end" },

	/*
	 * machine_kexec() resets the per-CPU base, or invalidates the descriptor tables: after
	 * that, the CPU cannot handle an int3.
	 */
	{ "machine_kexec" },
	/*
	 * A CPU that starts executes these before it has loaded the IDT or enabled FRED. Until then
	 * it cannot handle an int3.
	 */
	{ "secondary_startup_64", "common_startup_64" }, { "startup_32_smp" }, { "verify_cpu" },
	{ "early_setup_idt" }, { "startup_64_load_idt" }, { "__pi_startup_64_load_idt" },
	{ "vc_boot_ghcb" }, { "setup_ghcb" }, { "sev_es_terminate" },
	{ "__pi_sev_es_terminate" }, { "sev_es_negotiate_protocol" },
	{ "snp_register_ghcb_early" }, { "start_secondary" },
	{ "cr4_init" }, { "cr4_set_bits" }, { "cr4_update_irqsoff" },
	{ "cpu_init_exception_handling" }, { "load_current_idt" },
	{ "load_direct_gdt" }, { "load_fixmap_gdt" }, { "cpu_init_fred_exceptions" },
	{ "cpu_init_fred_rsps" }, { "native_load_gdt" }, { "native_load_tr_desc" },
	{ "native_write_cr0" }, { "native_write_cr3" }, { "native_write_cr4" },
	{ "native_write_gdt_entry" }, { "native_write_msr" }, { "__flush_tlb_all" },
	{ "native_flush_tlb_local" }, { "native_flush_tlb_global" }, { "memset" },
	/*
	 * When the system resumes, the CPU executes these before it has restored the GS base. Until
	 * then it cannot handle an int3. When a hibernation image was restored,
	 * swsusp_arch_suspend() returns while the CPU still has the IDT and the GS base of the
	 * kernel that loaded the image.
	 */
	{ "wakeup_long64" }, { "wakeup_pmode_return" }, { "do_suspend_lowlevel" }, { "ret_point" },
	{ "restore_image" }, { "restore_registers" }, { "swsusp_arch_suspend" },
	{ "create_image" }, { "restore_processor_state" }, { "__restore_processor_state" },

	/*
	 * A CPU executes these after it has reported itself dead. From then on, unregister_kprobe()
	 * does not wait for handlers on that CPU.
	 */
	{ "cpuhp_ap_report_dead" }, { "play_dead_common" }, { "native_play_dead" },
	{ "mwait_play_dead" }, { "hlt_play_dead" }, { "resume_play_dead" },
	{ "sev_es_play_dead" }, { "soft_restart_cpu" }, { "xen_pv_play_dead" },
	{ "xen_cpu_bringup_again" }, { "acpi_mp_play_dead" }, { "asm_acpi_mp_play_dead" },
	{ "tboot_shutdown" }, { "cpuidle_play_dead" }, { "cpuidle_get_cpu_driver" },
	{ "acpi_processor_ffh_play_dead" }, { "intel_idle_enter_dead" },

	/*
	 * The entry code and do_int3() call these for each int3, outside of
	 * kprobe_int3_handler(), so a probe in one would hit endlessly.
	 */
	{ "trace_hwlat_callback" },
	{ "trace_osnoise_callback" },
#ifdef CONFIG_RCU_TRACE
	/* The tracepoint in ct_nmi_enter() and ct_nmi_exit() calls these for each int3. */
	{ "trace_event_raw_event_rcu_watching" },
	{ "perf_trace_rcu_watching" },
	{ "trace_event_ignore_this_pid" },
	{ "trace_event_buffer_reserve" },
	{ "trace_event_buffer_lock_reserve" },
	{ "ring_buffer_lock_reserve" },
#endif
#ifdef CONFIG_KGDB_LOW_LEVEL_TRAP
	{ "__kgdb_notify" },
	{ "kgdb_ll_trap" },
#endif
};

/*
 * Add the area @data. kallsyms calls this for each @start of a symbol with the name @first. Skip
 * symbols that are not in the kernel's text.
 */
static int __init x86_blacklist_area(void *data, unsigned long start)
{
	const struct x86_blacklist_area *area = data;
	unsigned long end = area->last ? kallsyms_lookup_name(area->last) : start;

	if (!is_kernel_text(start))
		return 0;
	/*
	 * Add only @first if @last is unknown. Do the same if the symbol @last is before @first, or
	 * a page or more after it: all areas are smaller than a page, so such a symbol belongs to
	 * other code.
	 */
	if (end < start || end - start >= PAGE_SIZE)
		end = start;
	return kprobe_add_area_blacklist(start, end + 1);
}

/*
 * The compiler may replace a function with a changed copy, and append one of these to its name.
 * Then no symbol has the original name, so the name is looked up with each suffix.
 */
static const char *const suffixes[] __initconst = { "", ".constprop.0", ".isra.0", ".part.0" };

static int __init x86_blacklist_named(const struct x86_blacklist_area *area)
{
	char name[64];
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", area->first, suffixes[i]);
		ret = kallsyms_on_each_match_symbol(x86_blacklist_area, name, (void *)area);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/*
 * Functions that instrumented code calls, and functions of the debugger: do_int3() may call them
 * before kprobe_int3_handler() has recorded that this CPU runs handlers. A hit there would cause
 * the next hit, and so on endlessly.
 */
static const char *const prefixes[] __initconst = {
#if defined(CONFIG_KASAN_GENERIC) || defined(CONFIG_KASAN_SW_TAGS)
	"__asan_", "__hwasan_", "__kasan_check_", "kasan_check_range",
#endif
#ifdef CONFIG_KCSAN
	"__tsan_", "kcsan_", "__kcsan_",
#endif
#ifdef CONFIG_KMSAN
	"__msan_", "kmsan_",
#endif
#ifdef CONFIG_KCOV
	"__sanitizer_cov_",
#endif
#ifdef CONFIG_KGDB_LOW_LEVEL_TRAP
	"kgdb_", "dbg_", "gdbstub_",
#endif
	NULL
};

static int __init x86_blacklist_prefixed(void *unused, const char *name, unsigned long addr)
{
	const char *const *prefix;
	int ret;

	for (prefix = prefixes; *prefix; prefix++) {
		if (!str_has_prefix(name, *prefix) || !is_kernel_text(addr))
			continue;
		ret = kprobe_add_ksym_blacklist(addr);
		return ret < 0 ? ret : 0;
	}
	return 0;
}

/*
 * Is an address in text that cannot take a trap?
 *
 * The handling of a trap executes the entry code, return thunks and indirect-branch thunks: an int3
 * in these would trap again, endlessly. The range also contains the trampolines of static calls,
 * which the kernel patches.
 */
bool arch_within_kprobe_blacklist(unsigned long addr)
{
	void *p = (void *)addr;

	return p >= (void *)__softirqentry_text_end && p < (void *)_etext;
}

int __init arch_populate_kprobe_blacklist(void)
{
	unsigned int i;
	int ret;

#ifdef CONFIG_PREEMPTION
	/*
	 * At the end of a hit, the trampoline calls this to reschedule. If there were a probe on
	 * it, that call would be the next hit, and so on endlessly.
	 */
	ret = kprobe_add_ksym_blacklist((unsigned long)preempt_schedule_notrace);
	if (ret < 0)
		return ret;
#endif
	for (i = 0; i < ARRAY_SIZE(areas); i++) {
		ret = x86_blacklist_named(&areas[i]);
		if (ret < 0)
			return ret;
	}
	/*
	 * Search for prefixes only if this configuration has any: the search takes long, since
	 * kallsyms decompresses the names of all symbols.
	 */
	if (prefixes[0]) {
		ret = kallsyms_on_each_symbol(x86_blacklist_prefixed, NULL);
		if (ret < 0)
			return ret;
	}
	return kprobe_add_area_blacklist((unsigned long)__softirqentry_text_end,
					 (unsigned long)_etext);
}
