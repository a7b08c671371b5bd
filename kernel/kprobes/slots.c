// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: memory for instruction slots and detour buffers.
 *
 * Pages of executable memory are divided into slots of one size. Pages with a free slot are
 * on a list, so that finding one needs no search. The caller of free_insn_slot() makes sure that
 * no task is in the slot, running or preempted.
 *
 * An xarray finds the page of an address in a slot, and so the slot's owner. Exceptions and
 * unwinders look addresses up in any context, without a lock.
 *
 * slot_mutex guards the lists and the bitmaps. It nests inside kprobe_mutex and
 * text_mutex. Readers of the xarray use RCU.
 */
#include <kunit/visibility.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/execmem.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "internal.h"

#ifdef __ARCH_WANT_KPROBES_INSN_SLOT

#ifndef KPROBE_SLOT_SIZE
#define KPROBE_SLOT_SIZE	(MAX_INSN_SIZE * sizeof(kprobe_opcode_t))
#endif
#define SLOTS_PER_PAGE		(PAGE_SIZE / KPROBE_SLOT_SIZE)

/* The name of a page of slots in /proc/kallsyms and for perf. */
#define SLOT_PAGE_SYMBOL	"kprobe_insn_page"

/**
 * struct slot_page - a page of slots
 * @free_work: frees the structure and the page an RCU grace period after the last slot was
 *	freed. Until then an unwinder may read both.
 * @all: links all pages, in the order of their allocation
 * @avail: links the pages that have a free slot
 * @text: the page
 * @nr_used: number of slots in use
 * @used: the slots in use
 * @owner: the probepoint of each slot; NULL if the slot is free or has no owner. If the page
 *	size is not a multiple of the slot size, the last element is for the bytes after the
 *	last slot, and always NULL.
 */
struct slot_page {
	struct rcu_work free_work;
	struct list_head all;
	struct list_head avail;
	kprobe_opcode_t *text;
	unsigned int nr_used;
	DECLARE_BITMAP(used, SLOTS_PER_PAGE);
	struct probepoint *owner[DIV_ROUND_UP(PAGE_SIZE, KPROBE_SLOT_SIZE)];
};

static DEFINE_MUTEX(slot_mutex);
static LIST_HEAD(all_pages);
static LIST_HEAD(avail_pages);
static DEFINE_XARRAY(pages);

/**
 * alloc_insn_page() - allocate a page for slots
 *
 * Architectures that need slots in other memory override it.
 *
 * Context: sleeps.
 *
 * Return: an executable page that the architecture is able to write to; or NULL.
 */
void __weak *alloc_insn_page(void)
{
	return execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);
}

static struct slot_page *slot_page_create(void)
{
	struct slot_page *sp = kzalloc(sizeof(*sp), GFP_KERNEL);

	if (!sp)
		return NULL;
	sp->text = alloc_insn_page();
	if (!sp->text)
		goto free_page;
	if (xa_err(xa_store(&pages, (unsigned long)sp->text >> PAGE_SHIFT, sp,
			    GFP_KERNEL)))
		goto free_text;

	list_add_tail_rcu(&sp->all, &all_pages);
	list_add(&sp->avail, &avail_pages);
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
			   (unsigned long)sp->text, PAGE_SIZE, false,
			   SLOT_PAGE_SYMBOL);
	return sp;

free_text:
	execmem_free(sp->text);
free_page:
	kfree(sp);
	return NULL;
}

static void slot_page_free(struct work_struct *work)
{
	struct slot_page *sp = container_of(to_rcu_work(work), struct slot_page, free_work);

	execmem_free(sp->text);
	kfree(sp);
}

static void slot_page_destroy(struct slot_page *sp)
{
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL,
			   (unsigned long)sp->text, PAGE_SIZE, true,
			   SLOT_PAGE_SYMBOL);
	list_del_rcu(&sp->all);
	list_del(&sp->avail);
	xa_erase(&pages, (unsigned long)sp->text >> PAGE_SHIFT);
	INIT_RCU_WORK(&sp->free_work, slot_page_free);
	queue_rcu_work(system_unbound_wq, &sp->free_work);
}

/*
 * Allocate a slot of KPROBE_SLOT_SIZE bytes. @pp: the owner, as probepoint_of_insn_slot() returns
 * it; or NULL. Return: the slot, or NULL if out of memory.
 */
kprobe_opcode_t *get_insn_slot_for(struct probepoint *pp)
{
	struct slot_page *sp;
	unsigned int i;

	guard(mutex)(&slot_mutex);
	sp = list_first_entry_or_null(&avail_pages, struct slot_page, avail) ?: slot_page_create();
	if (!sp)
		return NULL;
	i = find_first_zero_bit(sp->used, SLOTS_PER_PAGE);
	__set_bit(i, sp->used);
	if (++sp->nr_used == SLOTS_PER_PAGE)
		list_del_init(&sp->avail);
	WRITE_ONCE(sp->owner[i], pp);
	if (pp)
		pp->nr_slots++;
	return (void *)sp->text + i * KPROBE_SLOT_SIZE;
}

kprobe_opcode_t *get_insn_slot(void)
{
	return get_insn_slot_for(NULL);
}

static __always_inline struct slot_page *slot_page_of(unsigned long addr)
{
	return xa_load(&pages, addr >> PAGE_SHIFT);
}

/*
 * Free a slot, in which no task is running or preempted. @dirty: the slot had code that was
 * reported to perf: report its removal.
 */
void free_insn_slot(kprobe_opcode_t *slot, int dirty)
{
	struct slot_page *sp;
	unsigned int i;

	guard(mutex)(&slot_mutex);
	sp = slot_page_of((unsigned long)slot);
	if (WARN_ON_ONCE(!sp))
		return;
	i = ((unsigned long)slot & ~PAGE_MASK) / KPROBE_SLOT_SIZE;
	if (WARN_ON_ONCE(!__test_and_clear_bit(i, sp->used)))
		return;
	if (sp->owner[i])
		sp->owner[i]->nr_slots--;
	WRITE_ONCE(sp->owner[i], NULL);
	if (dirty)
		perf_event_text_poke(slot, slot, KPROBE_SLOT_SIZE, NULL, 0);
	if (sp->nr_used-- == SLOTS_PER_PAGE)
		list_add(&sp->avail, &avail_pages);
	/*
	 * Keep the only page with a free slot even if it is empty. Otherwise a single probe
	 * that is registered repeatedly would allocate a page each time.
	 */
	if (!sp->nr_used && !list_is_singular(&avail_pages))
		slot_page_destroy(sp);
}

/*
 * Find the owner of the slot that contains an address. Return: the owner; NULL if the slot has
 * none, or @addr is in no slot in use.
 *
 * Context: any. The probepoint and the text of the slot are valid until the caller enables
 * preemption; or as long as a task is in the slot.
 */
struct probepoint __kprobes *probepoint_of_insn_slot(unsigned long addr)
{
	struct probepoint *pp = NULL;
	struct slot_page *sp;

	rcu_read_lock();
	sp = slot_page_of(addr);
	if (sp)
		pp = READ_ONCE(sp->owner[(addr & ~PAGE_MASK) / KPROBE_SLOT_SIZE]);
	rcu_read_unlock();
	return pp;
}

/**
 * is_kprobe_insn_slot() - is an address in a page of slots?
 * @addr: any address
 *
 * Context: any in which RCU is watching.
 *
 * Return: true if it is.
 */
bool is_kprobe_insn_slot(unsigned long addr)
{
	return slot_page_of(addr);
}
EXPORT_SYMBOL_IF_KUNIT(is_kprobe_insn_slot);

/**
 * kprobe_get_kallsym() - describe a page of slots as a symbol, for /proc/kallsyms
 * @nth: number of the page, counted from 0
 * @addr: result: its address
 * @type: result: the type of the symbol
 * @name: result: the name of the symbol, in a buffer of KSYM_NAME_LEN bytes
 *
 * Return: 0, or %-ERANGE if there is no such page.
 */
int kprobe_get_kallsym(unsigned int nth, unsigned long *addr, char *type, char *name)
{
	struct slot_page *sp;

	guard(rcu)();
	list_for_each_entry_rcu(sp, &all_pages, all) {
		if (nth--)
			continue;
		*addr = (unsigned long)sp->text;
		*type = 't';
		strscpy(name, SLOT_PAGE_SYMBOL, KSYM_NAME_LEN);
		return 0;
	}
	/*
	 * The loop has subtracted the number of pages of slots from @nth: pages of detour buffers
	 * are counted after them.
	 */
	return kprobe_get_optinsn_kallsym(nth, addr, type, name);
}

#endif /* __ARCH_WANT_KPROBES_INSN_SLOT */

static void slots_free_deferred(struct kprobe_deferred *deferred)
{
	struct deferred_slot *ds = container_of(deferred, struct deferred_slot, deferred);

	free_insn_slot(ds->slot, 1);
	kfree(ds);
}

/* Free a slot, which new hits do not enter, when no task can be in it any more. */
void kprobe_defer_free_slot(struct deferred_slot *ds)
{
	lockdep_assert_held(&kprobe_mutex);
	kprobe_defer_free(&ds->deferred, slots_free_deferred);
}
