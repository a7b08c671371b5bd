// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: finding the address of a probe, and checking that it can be probed.
 *
 * This file finds the address to probe from the symbol or address, and the offset, that the user
 * gave, and checks whether the text there can be patched. Whether the instruction can be probed is
 * up to the architecture.
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

/* True once the kernel's init text is about to be freed. Guarded by kprobe_mutex. */
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

/*
 * Is @sym _text or _stext? These are not functions: perf specifies any address in the kernel as an
 * offset from one of them.
 */
static bool place_is_start_of_text(const char *sym)
{
	return !strcmp(sym, "_text") || !strcmp(sym, "_stext");
}

/* Compute the address that the user wants: @base or the start of @sym, plus @offset. */
static enum kprobe_reason
place_find_given(struct kprobe_place *place, kprobe_opcode_t *base, const char *sym,
		 unsigned long offset)
{
	if (!base == !sym)
		return KPROBE_REASON_NO_LOCATION;
	if (sym) {
		base = kprobe_lookup_name(sym, offset);
		if (!base)
			return KPROBE_REASON_NO_SYMBOL;
	}
	if ((unsigned long)base + offset < offset)
		return KPROBE_REASON_OFFSET_WRAPS;
	place->addr = (void *)base + offset;
	return KPROBE_REASON_NONE;
}

/* Let the architecture adjust the address, which is in the symbol that begins at @start. */
static enum kprobe_reason
place_adjust(struct kprobe_place *place, const char *sym, unsigned long offset, unsigned long start)
{
	unsigned long within = (unsigned long)place->addr - start;
	bool is_entry;

	/*
	 * Refuse an offset that leads into the middle of a symbol after @sym: then @within is less
	 * than @offset. If @sym is the start of the text, tools may reach any function by an
	 * offset. The first byte of another symbol is accepted, since kprobe events accept the size
	 * of @sym as offset.
	 */
	if (sym && within && within < offset && !place_is_start_of_text(sym))
		return KPROBE_REASON_OFFSET_BEYOND;
	place->addr = arch_adjust_kprobe_addr(start, within, &is_entry);
	place->entry = is_entry ? start : 0;
	return KPROBE_REASON_NONE;
}

static enum kprobe_reason place_find_address(const struct kprobe *p, struct kprobe_place *place)
{
	const struct kprobe_symbol *symbol;
	enum kprobe_reason why;

	why = place_find_given(place, kprobe_given(p), p->symbol_name, p->offset);
	if (why)
		return why;
	symbol = kprobe_look_up((unsigned long)place->addr);
	if (!symbol)
		return KPROBE_REASON_NO_FUNCTION;
	return place_adjust(place, p->symbol_name, p->offset, symbol->start);
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
	struct kprobe_place place = {};
	enum kprobe_reason why = place_find_given(&place, addr, sym, offset);
	unsigned long size, within;

	addr = place.addr;
	if (!why && !kallsyms_lookup_size_offset((unsigned long)addr, &size, &within))
		why = KPROBE_REASON_NO_FUNCTION;
	if (!why)
		why = place_adjust(&place, sym, offset, (unsigned long)addr - within);
	if (why)
		return kprobe_reason_errno(why);
	return place.entry ? 0 : -EINVAL;
}

/*
 * Can kprobes patch the text at @place->addr, or can ftrace put a call there? The caller has
 * preemption disabled, which keeps a module in memory. Return: %KPROBE_REASON_NONE, or the reason
 * why not.
 */
static enum kprobe_reason place_check_text(struct kprobe_place *place)
{
	unsigned long addr = (unsigned long)place->addr;
	enum kprobe_reason why;

	if (!core_kernel_text(addr))
		place->module = __module_text_address(addr);
	if (init_text_is_going && is_kernel_inittext(addr))
		return KPROBE_REASON_INIT_FREED;
	if (!place->module && !core_kernel_text(addr))
		return KPROBE_REASON_NO_TEXT;
	if (kprobe_blacklist_refuses(addr, &place->range))
		return KPROBE_REASON_BLACKLISTED;
	why = kprobe_reserved_site(addr, place->module, &place->range);
	if (!why && place->module)
		why = kprobe_module_check(place->module, addr);
	/*
	 * Ask ftrace last, when kprobe_module_check() has accepted the module: ftrace has no
	 * records of a module that is not ready, or is being unloaded.
	 */
	return why ?: kprobe_ftrace_check(place);
}

/*
 * Find the address to probe, and check whether it can be probed. Whether the instruction can be
 * probed is left to the architecture. @place: result: the address, and what is known about it.
 * @dry: do not pin the module, which then stays in memory only until kprobe_mutex is released.
 *
 * Return: KPROBE_REASON_NONE, and @place->module is pinned unless @dry; or the reason why it cannot
 * be probed. Takes jump_label_lock().
 */
enum kprobe_reason kprobe_find_place(const struct kprobe *p, struct kprobe_place *place, bool dry)
{
	enum kprobe_reason why;

	lockdep_assert_held(&kprobe_mutex);
	*place = (struct kprobe_place){};
	why = kprobe_event_allowed(p) ?:
	      kprobe_check_handlers(p) ?:
	      place_find_address(p, place);
	if (!why && is_kretprobe(p))
		why = kretprobe_check(place->entry);
	if (!why && is_jprobe(p) && !place->entry)
		why = KPROBE_REASON_JPROBE_INSIDE;
	if (!why && kprobe_text_sites_init())
		why = KPROBE_REASON_NO_MEMORY;
	if (why) {
		place->addr = NULL;
		return why;
	}
	/*
	 * The check of the text searches the jump labels of a module: while jump_label_lock() is
	 * held, none is added, removed or patched.
	 */
	jump_label_lock();
	preempt_disable();
	/*
	 * If both checks refuse the address, report the reason of place_check_text(), which says
	 * more.
	 */
	why = place_check_text(place) ?: kprobe_event_check(p, (unsigned long)place->addr);
	if (!why && !dry && place->module && !try_module_get(place->module))
		why = KPROBE_REASON_MODULE_GOING;
	preempt_enable();
	jump_label_unlock();
	return why;
}

/*
 * Remove all probepoints in the kernel's init text, which is about to be freed, but can still be
 * patched.
 */
void kprobe_free_init_mem(void)
{
	guard(mutex)(&kprobe_mutex);
	init_text_is_going = true;
	probepoints_kill((unsigned long)__init_begin, (unsigned long)__init_end);
	kprobe_blacklist_del_range((unsigned long)__init_begin,
				   (unsigned long)__init_end);
}
