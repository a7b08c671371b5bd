// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: finding instructions that the kernel patches itself, or whose addresses it keeps.
 *
 * The kernel patches the sites of jump labels and static calls, and recognises the trap of a BUG()
 * by its address. No probe may be set there. The tables of the kernel image are not sorted by
 * address. jump_label_text_reserved(), static_call_text_reserved() and find_bug() search them from
 * end to end. That would take about as long as the rest of a registration, and these functions do
 * not return the site. The first two also pin a module while they search its tables: in the
 * meantime, delete_module() would fail.
 *
 * So the first check of an address builds a sorted list of the sites in the kernel's text. The
 * list never changes: when init text is freed, its sites match no address that is searched for.
 * Modules have few sites, so their own tables are searched.
 *
 * kprobe_mutex guards the building of the list. After that it is read without a lock.
 */
#include <kunit/visibility.h>
#include <linux/bsearch.h>
#include <linux/bug.h>
#include <linux/cleanup.h>
#include <linux/jump_label.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/static_call.h>
#include <asm/sections.h>

#include "internal.h"

/* An entry of the list, from bit 0: size of the site, kind, offset of its start from _stext */
#define KIND_SHIFT	6
#define SITE_BITS	8
#define SITE_MASK	((1U << SITE_BITS) - 1)
#define SIZE_MASK	((1U << KIND_SHIFT) - 1)

/* The kinds of sites */
enum site_kind {
	SITE_JUMP_LABEL,
	SITE_STATIC_CALL,
	SITE_BUG,
};

static const enum kprobe_reason reasons[] = {
	[SITE_JUMP_LABEL] = KPROBE_REASON_JUMP_LABEL,
	[SITE_STATIC_CALL] = KPROBE_REASON_STATIC_CALL,
	[SITE_BUG] = KPROBE_REASON_BUG,
};

/* The sites in the kernel's text, sorted; NULL before the first check of an address */
static u64 *sites;
static unsigned int nr_sites;

/* Unused if the kernel has no jump labels, no inline static calls and no table of BUG()s */
static __maybe_unused
u64 text_site_make(unsigned long addr, enum site_kind kind, unsigned int size)
{
	return (u64)(u32)(addr - (unsigned long)_stext) << SITE_BITS | kind << KIND_SHIFT | size;
}

#ifdef CONFIG_GENERIC_BUG
static unsigned long text_site_bug_addr(const struct bug_entry *bug)
{
#ifdef CONFIG_GENERIC_BUG_RELATIVE_POINTERS
	return (unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp;
#else
	return bug->bug_addr;
#endif
}
#endif

#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
static unsigned long text_site_call_addr(const struct static_call_site *call)
{
	return (unsigned long)&call->addr + call->addr;
}
#endif

/* Count the sites in the kernel's tables, and write them to @to if it is not NULL. */
static unsigned int text_sites_list(u64 *to)
{
	unsigned int nr = 0;

#ifdef CONFIG_JUMP_LABEL
	for (struct jump_entry *e = __start___jump_table; e < __stop___jump_table; e++, nr++)
		if (to && core_kernel_text(jump_entry_code(e)))
			to[nr] = text_site_make(jump_entry_code(e), SITE_JUMP_LABEL,
						jump_entry_size(e));
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (struct static_call_site *c = __start_static_call_sites;
	     c < __stop_static_call_sites; c++, nr++)
		if (to)
			to[nr] = text_site_make(text_site_call_addr(c), SITE_STATIC_CALL,
						CALL_INSN_SIZE);
#endif
#ifdef CONFIG_GENERIC_BUG
	for (struct bug_entry *b = __start___bug_table; b < __stop___bug_table; b++, nr++)
		if (to)
			to[nr] = text_site_make(text_site_bug_addr(b), SITE_BUG, 1);
#endif
	return nr;
}

static int text_site_cmp(const void *a, const void *b)
{
	const u64 *sa = a, *sb = b;

	return *sa < *sb ? -1 : *sa > *sb;
}

/*
 * Build the list of the sites in the kernel's text.
 *
 * Do nothing if the list exists already.
 *
 * Context: sleeps; kprobe_mutex is held; takes jump_label_lock().
 *
 * Return: 0 or -ENOMEM.
 */
int kprobe_text_sites_init(void)
{
	unsigned int nr;
	u64 *list;

	lockdep_assert_held(&kprobe_mutex);
	if (sites)
		return 0;
	nr = text_sites_list(NULL);
	/*
	 * text_sites_list() skips jump labels in freed init text. Their entries
	 * stay 0: a site of size 0, which contains no address.
	 */
	list = kvcalloc(nr + 1, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	/* jump_entry_size() decodes text, which is not patched while this lock is held. */
	jump_label_lock();
	text_sites_list(list);
	jump_label_unlock();
	sort(list, nr, sizeof(*list), text_site_cmp, NULL);
	nr_sites = nr;
	sites = list;
	return 0;
}

/* Does the site of @size bytes at @site overlap [@start, @end)? Then fill in @where. */
static bool __maybe_unused text_site_overlaps(unsigned long start, unsigned long end,
					      unsigned long site, unsigned int size,
					      struct kprobe_range *where)
{
	if (site >= end || site + size <= start)
		return false;
	where->start = site;
	where->end = site + size;
	return true;
}

/* Is the offset of an address from _stext before, in or after a site? Sites do not overlap. */
static int text_site_cmp_offset(const void *offset, const void *site)
{
	u32 wanted = *(const u32 *)offset, start = *(const u64 *)site >> SITE_BITS;

	if (wanted < start)
		return -1;
	return wanted - start >= (*(const u64 *)site & SIZE_MASK);
}

static enum kprobe_reason text_site_find_kernel(unsigned long addr, struct kprobe_range *where)
{
	u32 offset = addr - (unsigned long)_stext;
	const u64 *site = bsearch(&offset, sites, nr_sites, sizeof(*sites), text_site_cmp_offset);

	if (!site)
		return KPROBE_REASON_NONE;
	where->start = (unsigned long)_stext + (u32)(*site >> SITE_BITS);
	where->end = where->start + (*site & SIZE_MASK);
	return reasons[(*site & SITE_MASK) >> KIND_SHIFT];
}

#ifdef CONFIG_MODULES
/*
 * Find a site that overlaps [@start, @end) in the tables of @mod. If there are several, return a
 * patched site rather than a BUG(), since kprobe_patches_text() ignores BUG().
 */
static enum kprobe_reason text_site_find_module(const struct module *mod, unsigned long start,
						unsigned long end, struct kprobe_range *where)
{
#ifdef CONFIG_JUMP_LABEL
	for (unsigned int i = 0; i < mod->num_jump_entries; i++) {
		struct jump_entry *e = &mod->jump_entries[i];
		unsigned long site = jump_entry_code(e);

		/*
		 * jump_entry_size() may decode the instruction, which is too slow to do for each
		 * entry, and may crash if that was in init text and is freed: first test with the
		 * maximum size, and then whether the module still has the text.
		 */
		if (site + SIZE_MASK > start && site < end && within_module(site, mod) &&
		    text_site_overlaps(start, end, site, jump_entry_size(e), where))
			return KPROBE_REASON_JUMP_LABEL;
	}
#endif
#ifdef CONFIG_HAVE_STATIC_CALL_INLINE
	for (int i = 0; i < mod->num_static_call_sites; i++)
		if (text_site_overlaps(start, end, text_site_call_addr(&mod->static_call_sites[i]),
				       CALL_INSN_SIZE, where))
			return KPROBE_REASON_STATIC_CALL;
#endif
#ifdef CONFIG_GENERIC_BUG
	for (unsigned int i = 0; i < mod->num_bugs; i++)
		if (text_site_overlaps(start, end, text_site_bug_addr(&mod->bug_table[i]), 1,
				       where))
			return KPROBE_REASON_BUG;
#endif
	return KPROBE_REASON_NONE;
}
#else
static enum kprobe_reason text_site_find_module(const struct module *mod, unsigned long start,
						unsigned long end, struct kprobe_range *where)
{
	return KPROBE_REASON_NONE;
}
#endif

/*
 * Is @addr in an instruction that the kernel patches? @mod: the module that contains @addr, or
 * NULL; the caller keeps it loaded. @where: result: if so, the range of the instruction; for a
 * BUG(), only its first byte. jump_label_lock() is held, and kprobe_text_sites_init() has returned
 * 0.
 *
 * Return: a reason if @addr is in a jump label or a static call, or is the address of a BUG(); or
 * KPROBE_REASON_NONE.
 */
enum kprobe_reason kprobe_reserved_site(unsigned long addr, const struct module *mod,
					struct kprobe_range *where)
{
	lockdep_assert_held(&kprobe_mutex);
	return mod ? text_site_find_module(mod, addr, addr + 1, where) :
		     text_site_find_kernel(addr, where);
}

/* Does the kernel patch sites that are refused for this reason? It does not patch a BUG(). */
static bool text_site_is_patched(enum kprobe_reason why)
{
	return why == KPROBE_REASON_JUMP_LABEL || why == KPROBE_REASON_STATIC_CALL;
}

/*
 * Is a jump label or a static call in [@start, @end), which has few bytes?
 *
 * Context: preemption is disabled, which keeps a module from being freed during the search, and
 * jump_label_lock() is held. The caller has taken kprobe_mutex at some time after
 * kprobe_text_sites_init() returned 0, so it sees the list of sites.
 */
bool kprobe_patches_text(unsigned long start, unsigned long end)
{
	struct kprobe_range where;
	struct module *mod;

	if (!core_kernel_text(start)) {
		mod = __module_text_address(start);
		return mod && text_site_is_patched(text_site_find_module(mod, start, end, &where));
	}
	for (; start < end; start++)
		if (text_site_is_patched(text_site_find_kernel(start, &where)))
			return true;
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(kprobe_patches_text);
