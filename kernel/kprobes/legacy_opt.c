// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: jump optimisation on architectures whose hooks take a struct
 * optimized_kprobe.
 *
 * Here a jump replaces one instruction, so the DCR (detoured code region) is that instruction
 * and has no other probepoint. A detour buffer calls pre_handlers only. So a probepoint with
 * post_handlers keeps its breakpoint, and a probe whose pre_handler redirects execution must
 * have a post_handler.
 *
 * A detour buffer is kept until the probepoint is freed. A new buffer could not be built while
 * tasks are in the old one: struct arch_specific_insn describes how the buffer executes the
 * instruction, and the probepoint has only one such struct.
 *
 * Detour buffers are not in pages of slots.c, since on powerpc, jumps do not reach these pages.
 * Powerpc has a fixed area for detour buffers, which is not page-aligned, so the xarray of slots.c
 * cannot find it. kprobe_mutex guards the list of pages. Its readers use RCU.
 */
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/execmem.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

#ifndef __ARCH_WANT_PROBEPOINT

/* The name of a page of detour buffers in /proc/kallsyms and for perf. */
#define DETOUR_PAGE_SYMBOL	"kprobe_optinsn_page"

/*
 * MAX_OPTINSN_SIZE is computed from symbols, so it is no C constant. It counts instructions; but on
 * arm it counts bytes, so that the buffers there are larger than needed.
 */
#define DETOUR_SIZE		(MAX_OPTINSN_SIZE * sizeof(kprobe_opcode_t))
#define DETOURS_PER_PAGE	(PAGE_SIZE / DETOUR_SIZE)

/**
 * struct detour_page - a page of detour buffers
 * @rcu: frees the structure when no reader of the list uses it any more
 * @list: links all pages
 * @text: the page
 * @used: bitmap of the buffers in use
 */
struct detour_page {
	struct rcu_head rcu;
	struct list_head list;
	void *text;
	unsigned long used[];
};

static LIST_HEAD(detour_pages);

/*
 * The jumps that are to be written: arch_install_jump() adds them, arch_sync_jumps() writes them.
 */
static LIST_HEAD(jumps);

/*
 * Allocate a page for detour buffers. Architectures override this if jumps do not reach the memory
 * of slots. kprobe_mutex, cpus_read_lock() and text_mutex are held.
 */
void __weak *alloc_optinsn_page(void)
{
	return alloc_insn_page();
}

/* Free what alloc_optinsn_page() returned. kprobe_mutex is held. */
void __weak free_optinsn_page(void *page)
{
	execmem_free(page);
}

static struct detour_page *detour_page_create(void)
{
	struct detour_page *dp;

	dp = kzalloc(struct_size(dp, used, BITS_TO_LONGS(DETOURS_PER_PAGE)), GFP_KERNEL);
	if (!dp)
		return NULL;
	dp->text = alloc_optinsn_page();
	if (!dp->text) {
		kfree(dp);
		return NULL;
	}
	list_add_rcu(&dp->list, &detour_pages);
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, (unsigned long)dp->text, PAGE_SIZE,
			   false, DETOUR_PAGE_SYMBOL);
	return dp;
}

static void detour_page_destroy(struct detour_page *dp)
{
	perf_event_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, (unsigned long)dp->text, PAGE_SIZE,
			   true, DETOUR_PAGE_SYMBOL);
	list_del_rcu(&dp->list);
	free_optinsn_page(dp->text);
	kfree_rcu(dp, rcu);
}

/*
 * Allocate a detour buffer, of MAX_OPTINSN_SIZE instructions, for arch_prepare_optimized_kprobe().
 * Return: the buffer; or NULL if there is no memory for it.
 */
kprobe_opcode_t *get_optinsn_slot(void)
{
	struct detour_page *dp;
	unsigned int i;

	lockdep_assert_held(&kprobe_mutex);
	list_for_each_entry(dp, &detour_pages, list)
		if (!bitmap_full(dp->used, DETOURS_PER_PAGE))
			goto found;
	dp = detour_page_create();
	if (!dp)
		return NULL;
found:
	i = find_first_zero_bit(dp->used, DETOURS_PER_PAGE);
	__set_bit(i, dp->used);
	return dp->text + i * DETOUR_SIZE;
}

/* Return the page with @addr, or NULL. The caller holds kprobe_mutex, or uses RCU. */
static struct detour_page *detour_page_of(unsigned long addr)
{
	struct detour_page *dp;

	list_for_each_entry_rcu(dp, &detour_pages, list, lockdep_is_held(&kprobe_mutex))
		if (addr - (unsigned long)dp->text < PAGE_SIZE)
			return dp;
	return NULL;
}

/*
 * Free a detour buffer, in which no task is running or preempted. @dirty: the contents were
 * reported to perf: report that they are invalid.
 */
void free_optinsn_slot(kprobe_opcode_t *slot, int dirty)
{
	struct detour_page *dp = detour_page_of((unsigned long)slot);

	lockdep_assert_held(&kprobe_mutex);
	if (WARN_ON_ONCE(!dp))
		return;
	__clear_bit(((void *)slot - dp->text) / DETOUR_SIZE, dp->used);
	if (dirty)
		perf_event_text_poke(slot, slot, DETOUR_SIZE, NULL, 0);
	if (bitmap_empty(dp->used, DETOURS_PER_PAGE))
		detour_page_destroy(dp);
}

/* Is an address in a page of detour buffers? RCU is watching. */
bool is_kprobe_optinsn_slot(unsigned long addr)
{
	guard(rcu)();
	return detour_page_of(addr);
}

/* As kprobe_get_kallsym(), for pages of detour buffers. */
int kprobe_get_optinsn_kallsym(unsigned int nth, unsigned long *addr, char *type, char *name)
{
	struct detour_page *dp;

	guard(rcu)();
	list_for_each_entry_rcu(dp, &detour_pages, list) {
		if (nth--)
			continue;
		*addr = (unsigned long)dp->text;
		*type = 't';
		strscpy(name, DETOUR_PAGE_SYMBOL, KSYM_NAME_LEN);
		return 0;
	}
	return -ERANGE;
}

/*
 * Build the detour buffer of a probepoint, if it has none.
 *
 * On architectures that use this file, the jump replaces one instruction. A task can be before or
 * after it, but not inside, as it can on x86. So, before the jump is written, hits of the
 * breakpoint need not be redirected to the buffer to keep tasks out.
 *
 * Return: 0, or an errno if the probepoint cannot be optimised now. -ENOMEM is replaced by -ENOSPC,
 * so that the optimiser does not try again: the memory that jumps reach may be full permanently.
 */
int arch_prepare_detour(struct probepoint *pp, unsigned int dcr_size, bool post)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	if (post) {
		pp->jump.failure = KPROBE_REASON_JUMP_POST;
		return -EOPNOTSUPP;
	}
	if (arch_prepared_optinsn(&pp->op.optinsn))
		return 0;
	guard(cpus_read_lock)();
	guard(mutex)(&text_mutex);
	ret = arch_prepare_optimized_kprobe(&pp->op, &pp->kp);
	return ret == -ENOMEM ? -ENOSPC : ret;
}

/*
 * Queue a jump for arch_sync_jumps(). Return: true. Only the version of x86 can fail, if other code
 * has changed the text.
 */
bool arch_install_jump(struct probepoint *pp)
{
	lockdep_assert_held(&kprobe_mutex);
	list_add_tail(&pp->op.list, &jumps);
	return true;
}

/*
 * Write the jumps of arch_install_jump(). kprobe_mutex, cpus_read_lock() and text_mutex are held.
 */
void arch_sync_jumps(void)
{
	lockdep_assert_held(&kprobe_mutex);
	/* The architecture removes each jump from the list. */
	arch_optimize_kprobes(&jumps);
}

#endif /* !__ARCH_WANT_PROBEPOINT */
