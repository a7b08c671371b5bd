// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: where a probe may be.
 *
 * From what a user gives, a symbol or an address and an offset, to the address to probe; and
 * from an address to whether its text can be patched. What the instruction there allows is up to
 * the architecture.
 *
 * The init text of the kernel cannot be probed any more when it is about to be freed.
 */
#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "internal.h"

/* The kernel's init text is being freed, or has been. Guarded by kprobe_mutex. */
static bool init_text_is_going;

/**
 * arch_adjust_kprobe_addr() - compute the address to probe in a function
 * @func: start of the function
 * @offset: offset of the probe in bytes
 * @is_entry: result: the address counts as the function's entry
 *
 * Architectures whose functions begin with instructions that must not be patched override it.
 *
 * Return: the address to probe.
 */
__weak
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long func, unsigned long offset, bool *is_entry)
{
	*is_entry = offset == 0;
	return (kprobe_opcode_t *)(func + offset);
}

/* Perf gives any address as an offset from one of these symbols, which are no functions. */
static bool place_is_start_of_text(const char *sym)
{
	return !strcmp(sym, "_text") || !strcmp(sym, "_stext");
}

/* Compute the address that a user gives: *@addr or the start of @sym, plus @offset. */
static enum kprobe_reason
place_find_given(kprobe_opcode_t **addr, const char *sym, unsigned long offset)
{
	unsigned long base = (unsigned long)*addr;

	if (!base == !sym)
		return KPROBE_WHY_NO_LOCATION;
	if (sym) {
		base = (unsigned long)kprobe_lookup_name(sym, offset);
		if (!base)
			return KPROBE_WHY_NO_SYMBOL;
	}
	if (base + offset < base)
		return KPROBE_WHY_OFFSET_WRAPS;
	*addr = (kprobe_opcode_t *)(base + offset);
	return KPROBE_WHY_NONE;
}

/* Let the architecture adjust *@addr, which is in the symbol that begins at @start. */
static enum kprobe_reason
place_adjust(kprobe_opcode_t **addr, const char *sym, unsigned long offset, unsigned long start,
	     unsigned long *entry)
{
	unsigned long within = (unsigned long)*addr - start;
	bool is_entry;

	/*
	 * Refuse an offset that leads into the middle of another symbol. Its first byte is
	 * accepted, since kprobe events accept the size of @sym as offset.
	 */
	if (sym && within && within < offset && !place_is_start_of_text(sym))
		return KPROBE_WHY_OFFSET_BEYOND;
	*addr = arch_adjust_kprobe_addr(start, within, &is_entry);
	*entry = is_entry ? start : 0;
	return KPROBE_WHY_NONE;
}

/**
 * kprobe_find_address() - compute the address to probe
 * @addr: an address, or NULL if @sym is given; result: the address to probe; after an error,
 *	it means nothing
 * @sym: name of a function, or NULL if @addr is given
 * @offset: offset in bytes from @addr or @sym
 * @entry: result: the start of the function if the address counts as its entry, otherwise 0
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: %KPROBE_WHY_NONE, or the reason why there is no such address.
 */
enum kprobe_reason kprobe_find_address(kprobe_opcode_t **addr, const char *sym,
				       unsigned long offset, unsigned long *entry)
{
	const struct kprobe_symbol *symbol;
	enum kprobe_reason why;

	lockdep_assert_held(&kprobe_mutex);
	why = place_find_given(addr, sym, offset);
	if (why)
		return why;
	symbol = kprobe_look_up((unsigned long)*addr);
	if (!symbol)
		return KPROBE_WHY_NO_FUNCTION;
	return place_adjust(addr, sym, offset, symbol->start, entry);
}

/**
 * kprobe_on_func_entry() - is an address the entry of a function?
 * @addr: address, or NULL if @sym is given
 * @sym: name of a function, or NULL if @addr is given
 * @offset: offset in bytes from @addr or @sym
 *
 * Context: sleeps.
 *
 * Return: 0 if it is; %-EINVAL if it is not, if it is in no function, or if both or
 * neither of @addr and @sym are given; %-ENOENT if there is no function @sym.
 */
int kprobe_on_func_entry(kprobe_opcode_t *addr, const char *sym,
			 unsigned long offset)
{
	enum kprobe_reason why = place_find_given(&addr, sym, offset);
	unsigned long size, within, entry;

	if (!why && !kallsyms_lookup_size_offset((unsigned long)addr, &size, &within))
		why = KPROBE_WHY_NO_FUNCTION;
	if (!why)
		why = place_adjust(&addr, sym, offset, (unsigned long)addr - within, &entry);
	if (why)
		return kprobe_reason_errno(why);
	return entry ? 0 : -EINVAL;
}

/**
 * kprobe_check_text() - can the text at an address be patched, or ftrace put a call there?
 * @addr: the address
 * @module: result: the module that contains @addr, pinned for the caller; NULL if there is
 *	none, or if the text is refused. If @module itself is NULL, the module is not pinned, and
 *	stays only as long as kprobe_mutex is held.
 * @on_ftrace: result: ftrace can put a call there
 * @site: result: the instruction that the kernel or ftrace patches, if that is the reason
 *
 * Context: sleeps; kprobe_mutex is held; takes jump_label_lock().
 *
 * Return: %KPROBE_WHY_NONE, or the reason why the text is refused.
 */
enum kprobe_reason kprobe_check_text(unsigned long addr, struct module **module,
				     bool *on_ftrace, struct kprobe_range *site)
{
	enum kprobe_reason why = KPROBE_WHY_NONE;
	struct module *mod = NULL;

	lockdep_assert_held(&kprobe_mutex);
	if (module)
		*module = NULL;
	*on_ftrace = false;
	if (kprobe_text_sites_init())
		return KPROBE_WHY_NO_MEMORY;
	/* Keeps jump labels from being added, removed and patched meanwhile. */
	jump_label_lock();
	preempt_disable();
	if (!core_kernel_text(addr))
		mod = __module_text_address(addr);
	if (init_text_is_going && is_kernel_inittext(addr))
		why = KPROBE_WHY_INIT_FREED;
	else if (!mod && !core_kernel_text(addr))
		why = KPROBE_WHY_NO_TEXT;
	else if (kprobe_blacklist_refuses(addr))
		why = KPROBE_WHY_BLACKLISTED;
	else
		why = kprobe_reserved_site(addr, mod, site);
	if (!why && mod)
		why = module ? kprobe_module_get(mod, addr) : kprobe_module_check(mod, addr);
	if (!why && module)
		*module = mod;
	/*
	 * After the module's state: ftrace has no records any more of a module
	 * that is being unloaded.
	 */
	if (!why)
		why = kprobe_ftrace_check(addr, on_ftrace, site);
	if (why && module) {
		module_put(*module);
		*module = NULL;
	}
	preempt_enable();
	jump_label_unlock();
	return why;
}

/**
 * kprobe_free_init_mem() - remove all probepoints in the kernel's init text
 *
 * Called before the init text is freed, while it can still be patched.
 *
 * Context: sleeps; takes kprobe_mutex.
 */
void kprobe_free_init_mem(void)
{
	guard(mutex)(&kprobe_mutex);
	init_text_is_going = true;
	probepoints_kill((unsigned long)__init_begin, (unsigned long)__init_end);
	kprobe_blacklist_del_range((unsigned long)__init_begin,
				   (unsigned long)__init_end);
}
