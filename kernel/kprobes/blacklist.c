// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: what may not be probed.
 *
 * Code that a hit itself runs, or that runs where a trap can't be taken, is
 * named by NOKPROBE_SYMBOL(), sits in sections of its own (.kprobes.text,
 * .noinstr.text), or is named by the architecture. It is kept as ranges,
 * sorted by their start, each with the furthest end that it or any before it
 * reaches, so that overlapping ranges take one binary search too.
 *
 * The ranges that writers work on are guarded by kprobe_mutex; readers see a
 * copy, published by RCU, that is replaced whole when modules come and go.
 */
#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <asm/sections.h>

#include "internal.h"

static struct kprobe_blacklist __rcu *blacklist;

/* The ranges in no particular order, and how many there is room for. */
static struct kprobe_range *ranges;
static unsigned int nr_ranges, max_ranges;

static int list_range(unsigned long start, unsigned long end)
{
	if (nr_ranges == max_ranges) {
		unsigned int max = max_ranges ? 2 * max_ranges : 512;
		void *new;

		new = kvmalloc_array(max, sizeof(*ranges), GFP_KERNEL);
		if (!new)
			return -ENOMEM;
		if (nr_ranges)
			memcpy(new, ranges, array_size(nr_ranges, sizeof(*ranges)));
		kvfree(ranges);
		ranges = new;
		max_ranges = max;
	}
	ranges[nr_ranges].start = start;
	ranges[nr_ranges].end = end;
	nr_ranges++;
	return 0;
}

static int cmp_range(const void *a, const void *b)
{
	const struct kprobe_range *ra = a, *rb = b;

	if (ra->start != rb->start)
		return ra->start < rb->start ? -1 : 1;
	if (ra->end != rb->end)
		return ra->end < rb->end ? -1 : 1;
	return 0;
}

static int publish(void)
{
	struct kprobe_blacklist *new, *old;
	unsigned long reach = 0;
	unsigned int i;

	new = kvmalloc(struct_size(new, range, nr_ranges), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	new->nr = nr_ranges;
	if (nr_ranges)
		memcpy(new->range, ranges, array_size(nr_ranges, sizeof(*ranges)));
	sort(new->range, nr_ranges, sizeof(*ranges), cmp_range, NULL);
	for (i = 0; i < nr_ranges; i++) {
		reach = max(reach, new->range[i].end);
		new->range[i].reach = reach;
	}

	old = rcu_replace_pointer(blacklist, new,
				  lockdep_is_held(&kprobe_mutex));
	if (old)
		kvfree_rcu(old, rcu);
	return 0;
}

/**
 * kprobe_add_ksym_blacklist() - forbid probes in a function
 * @entry: address of the function
 *
 * For arch_populate_kprobe_blacklist(), which runs once at boot.
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: the size of the function in bytes, or -EINVAL if @entry is not in
 * any known function, or -ENOMEM.
 */
int kprobe_add_ksym_blacklist(unsigned long entry)
{
	unsigned long size = 0, offset = 0;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	if (!kallsyms_lookup_size_offset(entry, &size, &offset))
		return -EINVAL;
	/* A label that is a function's end in assembly has no size. */
	if (!size)
		size = 1;
	ret = list_range(entry, entry - offset + size);
	return ret ?: (int)size;
}

/**
 * kprobe_add_area_blacklist() - forbid probes in a range of text
 * @start: its first address
 * @end: the first address after it
 *
 * For arch_populate_kprobe_blacklist(), which runs once at boot. Every
 * function becomes an entry of its own, so that the list can name it.
 *
 * Context: sleeps; kprobe_mutex is held.
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

/**
 * arch_populate_kprobe_blacklist() - add what an architecture can't have probed
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
 * arch_within_kprobe_blacklist() - ask for text an architecture can't have
 *	probed
 * @addr: address of code
 *
 * Return: true if @addr must not be probed.
 */
bool __weak arch_within_kprobe_blacklist(unsigned long addr)
{
	return false;
}

/**
 * kprobe_blacklist_init() - collect what the kernel was built with
 *
 * Context: early in boot; sleeps; kprobe_mutex is held.
 *
 * Return: 0, or -ENOMEM. Entries that name no known function are left out.
 */
int __init kprobe_blacklist_init(void)
{
	unsigned long *p;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
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
	if (!ret)
		ret = arch_populate_kprobe_blacklist();
	return ret ?: publish();
}

/**
 * kprobe_blacklist_get() - the ranges, sorted, for debugfs
 *
 * Context: kprobe_mutex is held, and keeps the answer valid.
 *
 * Return: the ranges; NULL early in boot.
 */
const struct kprobe_blacklist *kprobe_blacklist_get(void)
{
	lockdep_assert_held(&kprobe_mutex);
	return rcu_dereference_protected(blacklist,
					 lockdep_is_held(&kprobe_mutex));
}

static bool addr_is_listed(unsigned long addr)
{
	const struct kprobe_blacklist *b;
	unsigned int lo = 0, hi;

	if (arch_within_kprobe_blacklist(addr))
		return true;

	guard(rcu)();
	b = rcu_dereference(blacklist);
	hi = b ? b->nr : 0;
	/* Find the first range that starts after addr. */
	while (lo < hi) {
		unsigned int mid = lo + (hi - lo) / 2;

		if (b->range[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < b->range[lo - 1].reach;
}

/**
 * within_kprobe_blacklist() - tell whether an address must not be probed
 * @addr: address of code
 *
 * The compiler moves parts of functions out and gives them names with a
 * suffix (.cold, .part.0, .isra.0 and so on); they are forbidden where the
 * function they come from is.
 *
 * May be called in any context in which RCU is watching.
 *
 * Return: true if it must not.
 */
bool within_kprobe_blacklist(unsigned long addr)
{
	char name[KSYM_NAME_LEN], *dot;
	unsigned long whole;

	if (addr_is_listed(addr))
		return true;

	if (lookup_symbol_name(addr, name))
		return false;
	dot = strchr(name, '.');
	if (!dot || dot == name)
		return false;
	*dot = '\0';
	whole = (unsigned long)kprobe_lookup_name(name, 0);
	return whole && addr_is_listed(whole);
}

/**
 * kprobe_blacklist_del_range() - forget about text that is being freed
 * @start: its first address
 * @end: the first address after it
 *
 * Without memory for a new list the old one stays in force; it says no to
 * addresses that it need not, until it is next replaced.
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void kprobe_blacklist_del_range(unsigned long start, unsigned long end)
{
	unsigned int i, kept = 0, before = nr_ranges;

	lockdep_assert_held(&kprobe_mutex);
	for (i = 0; i < nr_ranges; i++)
		if (ranges[i].start < start || ranges[i].start >= end)
			ranges[kept++] = ranges[i];
	nr_ranges = kept;
	if (kept != before)
		publish();
}

#ifdef CONFIG_MODULES

static int add_module_area(const void *start, unsigned int size)
{
	if (!start || !size)
		return 0;
	return list_range((unsigned long)start, (unsigned long)start + size);
}

/**
 * kprobe_blacklist_add_module() - add what a module names
 * @mod: the module, which is coming
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0, or -ENOMEM, and then nothing has been added.
 */
int kprobe_blacklist_add_module(struct module *mod)
{
	unsigned int i, before = nr_ranges;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	for (i = 0; i < mod->num_kprobe_blacklist; i++) {
		ret = kprobe_add_ksym_blacklist(mod->kprobe_blacklist[i]);
		if (ret == -ENOMEM)
			goto undo;
	}
	ret = add_module_area(mod->kprobes_text_start, mod->kprobes_text_size);
	if (!ret)
		ret = add_module_area(mod->noinstr_text_start,
				      mod->noinstr_text_size);
	if (!ret && nr_ranges != before)
		ret = publish();
	if (!ret)
		return 0;
undo:
	nr_ranges = before;
	return ret;
}

#endif /* CONFIG_MODULES */
