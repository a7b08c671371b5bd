// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the blacklist of text that must not be probed.
 *
 * This is text that a hit itself executes, or in which a trap cannot be handled.
 * NOKPROBE_SYMBOL() names some of these functions, others are in sections of their
 * own (.kprobes.text, .noinstr.text), and the architecture adds more.
 *
 * The ranges are in a maple tree, which readers search under RCU. A new range replaces the parts of
 * older ranges that it overlaps. kprobe_mutex guards all changes.
 */
#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/maple_tree.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "internal.h"

static struct maple_tree blacklist = MTREE_INIT(blacklist, MT_FLAGS_USE_RCU);

static int blacklist_add(unsigned long start, unsigned long end)
{
	/* Only the range matters: the entry can be any pointer but NULL. */
	return mtree_store_range(&blacklist, start, end - 1, &blacklist, GFP_KERNEL);
}

/**
 * kprobe_add_ksym_blacklist() - add a function to the blacklist
 * @entry: address of the function
 *
 * Return: the number of bytes from @entry to the end of the function; -EINVAL if @entry is
 * in no known function; or -ENOMEM.
 */
int kprobe_add_ksym_blacklist(unsigned long entry)
{
	unsigned long size = 0, offset = 0;

	lockdep_assert_held(&kprobe_mutex);
	if (!kallsyms_lookup_size_offset(entry, &size, &offset))
		return -EINVAL;
	/* Return at least 1, or else the loop in kprobe_add_area_blacklist() might never end. */
	size = size > offset ? size - offset : 1;
	return blacklist_add(entry, entry + size) ?: (int)size;
}

/**
 * kprobe_add_area_blacklist() - add a range of text to the blacklist
 * @start: its first address
 * @end: the first address after it
 *
 * Each function becomes an entry of its own, so that debugfs kprobes/blacklist can name it.
 *
 * Return: 0, or an error as kprobe_add_ksym_blacklist() returns it.
 */
int kprobe_add_area_blacklist(unsigned long start, unsigned long end)
{
	int size;

	lockdep_assert_held(&kprobe_mutex);
	for (; start < end; start += size) {
		size = kprobe_add_ksym_blacklist(start);
		if (size < 0)
			return size;
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_add_area_blacklist);

/**
 * arch_populate_kprobe_blacklist() - add the architecture's text to the blacklist
 *
 * Context: early in boot; sleeps; kprobe_mutex is held.
 *
 * Return: 0 or a negative errno.
 */
int __init __weak arch_populate_kprobe_blacklist(void)
{
	return 0;
}

/**
 * arch_within_kprobe_blacklist() - is an address on the architecture's own blacklist?
 * @addr: address of code
 *
 * Return: true if @addr must not be probed.
 */
bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return false;
}

/*
 * Add the kernel's own text that must not be probed. If kallsyms does not know a function that
 * NOKPROBE_SYMBOL() names, log that and go on.
 */
static int __init blacklist_populate(void)
{
	unsigned long *p;
	int ret;

	for (p = __start_kprobe_blacklist; p < __stop_kprobe_blacklist; p++) {
		unsigned long entry = (unsigned long)dereference_symbol_descriptor((void *)*p);

		ret = kprobe_add_ksym_blacklist(entry);
		if (ret == -EINVAL)
			pr_err("kprobes: no function at %pS to blacklist\n",
			       (void *)entry);
		else if (ret < 0)
			return ret;
	}

	ret = kprobe_add_area_blacklist((unsigned long)__kprobes_text_start,
					(unsigned long)__kprobes_text_end);
	if (!ret)
		ret = kprobe_add_area_blacklist((unsigned long)__noinstr_text_start,
						(unsigned long)__noinstr_text_end);
	return ret ?: arch_populate_kprobe_blacklist();
}

/*
 * Build the blacklist of the kernel's own text.
 *
 * Context: early in boot; sleeps; takes kprobe_mutex.
 */
void __init kprobe_blacklist_init(void)
{
	int err;

	guard(mutex)(&kprobe_mutex);
	err = blacklist_populate();
	/* A probe at an address that should be on the blacklist can crash the kernel. */
	if (err)
		pr_err("kprobes: incomplete blacklist (%d), take care what you probe\n", err);
}

/*
 * Find the range that contains @range->end, or the first one after that address. Return: false if
 * there is none.
 */
bool kprobe_blacklist_next(struct kprobe_range *range)
{
	MA_STATE(mas, &blacklist, range->end, range->end);

	guard(rcu)();
	if (!mas_find(&mas, ULONG_MAX))
		return false;
	range->start = mas.index;
	range->end = mas.last + 1;
	return true;
}

/*
 * If @symbol is NAME.SUFFIX, return the address of function NAME; otherwise 0. During the lookup
 * @symbol is cut at the dot: a copy would take much of the stack.
 */
static unsigned long blacklist_whole_function(char *symbol)
{
	char *dot = strchr(symbol, '.');
	unsigned long whole;

	if (!dot || dot == symbol)
		return 0;
	*dot = '\0';
	whole = (unsigned long)kprobe_lookup_name(symbol, 0);
	*dot = '.';
	return whole;
}

/*
 * Is an address in a range of the blacklist?
 *
 * If @addr is in a function NAME.SUFFIX, within_kprobe_blacklist() also tests whether NAME is on
 * the blacklist. This function does not. The safety check of jumps calls it for each instruction
 * that a jump would replace. They are in the same function as the probed address, for which the
 * registration has already tested NAME.
 */
bool kprobe_blacklist_has(unsigned long addr)
{
	return arch_within_kprobe_blacklist(addr) || mtree_load(&blacklist, addr);
}

/* If @symbol is NAME.SUFFIX and NAME is on the blacklist, return NAME's address; otherwise 0. */
static unsigned long blacklist_contains_whole(char *symbol)
{
	unsigned long whole = blacklist_whole_function(symbol);

	return whole && kprobe_blacklist_has(whole) ? whole : 0;
}

/**
 * within_kprobe_blacklist() - is an address on the blacklist?
 * @addr: address of code
 *
 * The compiler moves parts of functions out (.cold, .part.0), and makes changed copies of
 * functions (.isra.0, .constprop.0). NAME.SUFFIX counts as blacklisted if NAME is.
 *
 * Context: any in which RCU is watching.
 *
 * Return: true if @addr must not be probed.
 */
bool within_kprobe_blacklist(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	if (kprobe_blacklist_has(addr))
		return true;
	return !lookup_symbol_name(addr, name) && blacklist_contains_whole(name);
}
EXPORT_SYMBOL_IF_KUNIT(within_kprobe_blacklist);

/*
 * Is the address of a probe, for which kprobe_find_place() has found the symbol, on the blacklist?
 * @range: result: the range that is the reason; empty if the reason is
 * arch_within_kprobe_blacklist(). If @addr is in NAME.SUFFIX, it may be the range of NAME. Return:
 * what within_kprobe_blacklist() would return. kprobe_mutex is held.
 */
bool kprobe_blacklist_refuses(unsigned long addr, struct kprobe_range *range)
{
	if (!kprobe_blacklist_has(addr)) {
		struct kprobe_symbol *symbol = kprobe_symbol_at(addr);

		addr = symbol ? blacklist_contains_whole(symbol->name) : 0;
		if (!addr)
			return false;
	}
	range->end = addr;
	if (!kprobe_blacklist_next(range) || range->start > addr)
		*range = (struct kprobe_range){};
	return true;
}

/* Remove [@start, @end), whose text is about to be freed, from the blacklist. */
void kprobe_blacklist_del_range(unsigned long start, unsigned long end)
{
	lockdep_assert_held(&kprobe_mutex);
	if (start < end)
		mtree_store_range(&blacklist, start, end - 1, NULL, GFP_KERNEL | __GFP_NOFAIL);
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_blacklist_del_range);

#ifdef CONFIG_MODULES

static int blacklist_add_module_area(const void *start, unsigned int size)
{
	if (!start || !size)
		return 0;
	return blacklist_add((unsigned long)start, (unsigned long)start + size);
}

/*
 * Add the blacklist of a module that is being loaded. Return: 0; or -ENOMEM, after which a part may
 * have been added.
 */
int kprobe_blacklist_add_module(struct module *mod)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	for (i = 0; i < mod->num_kprobe_blacklist; i++) {
		ret = kprobe_add_ksym_blacklist(mod->kprobe_blacklist[i]);
		if (ret == -ENOMEM)
			return ret;
	}
	return blacklist_add_module_area(mod->kprobes_text_start, mod->kprobes_text_size) ?:
	       blacklist_add_module_area(mod->noinstr_text_start, mod->noinstr_text_size);
}

#endif /* CONFIG_MODULES */
