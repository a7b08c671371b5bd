// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: checks that apply to kprobe events only.
 *
 * Kprobe events of tracefs and perf, and the probes of BPF links, have %KPROBE_FLAG_EVENT. They are
 * checked here when they are registered, and again when a module that they wait for is loaded.
 */
#include <linux/bitops.h>
#include <linux/bsearch.h>
#include <linux/cleanup.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/string.h>

#include "internal.h"

/*
 * With this many names or more, it takes less time to look at all symbols of the kernel than to
 * search for each name. Such a search expands some twenty symbols, each after a walk over up to 255
 * others.
 */
#define SEARCH_ALL	4096

/**
 * struct symbol_count - how many symbols have a name
 * @name: the name
 * @nr: result: how many were found
 * @addr: result: the address of the last one that event_count_match() has found
 */
struct symbol_count {
	const char *name;
	unsigned int nr;
	unsigned long addr;
};

static int event_count_match(void *data, unsigned long addr)
{
	struct symbol_count *count = data;

	count->nr++;
	count->addr = addr;
	return 0;
}

static int event_count_if_same(void *data, const char *name, unsigned long addr)
{
	struct symbol_count *count = data;

	count->nr += !strcmp(name, count->name);
	return 0;
}

#ifdef CONFIG_MODULES
/*
 * Count the symbols with a name in one module. @symbol is MODULE:NAME, and @colon points to its
 * colon. kprobe_mutex is held, so do not use module_kallsyms_on_each_symbol(), which takes
 * module_mutex: a task that unloads a module holds module_mutex during a grace period.
 */
static unsigned int event_count_in_module(const char *symbol, const char *colon)
{
	const struct mod_kallsyms *kallsyms;
	char name[MODULE_NAME_LEN];
	unsigned int i, nr = 0;
	struct module *mod;

	if (colon - symbol >= MODULE_NAME_LEN)
		return 0;
	strscpy(name, symbol, colon - symbol + 1);
	guard(preempt)();
	mod = find_module(name);
	if (!mod)
		return 0;
	kallsyms = rcu_dereference_sched(mod->kallsyms);
	for (i = 0; i < kallsyms->num_symtab; i++)
		nr += kallsyms->symtab[i].st_shndx != SHN_UNDEF &&
		      !strcmp(kallsyms->strtab + kallsyms->symtab[i].st_name, colon + 1);
	return nr;
}
#else
static unsigned int event_count_in_module(const char *symbol, const char *colon)
{
	return 0;
}
#endif

/**
 * kprobe_count_symbols() - count the symbols with a name
 * @symbol: name of a symbol, or "module:symbol"
 *
 * Context: sleeps. Without a module in @symbol, this takes module_mutex; kprobe_mutex must not be
 * held then.
 *
 * Return: the number of symbols.
 */
unsigned int kprobe_count_symbols(const char *symbol)
{
	struct symbol_count count = { .name = symbol };
	const char *colon = strchr(symbol, ':');

	if (colon)
		return event_count_in_module(symbol, colon);
	kallsyms_on_each_match_symbol(event_count_match, symbol, &count);
	module_kallsyms_on_each_symbol(NULL, event_count_if_same, &count);
	return count.nr;
}

/**
 * struct symbol_search - a search for the symbols with some names
 * @syms: sorted names, none of them twice
 * @nr: the number of names
 * @addrs: result: the addresses of those that the kernel has; or NULL
 * @found: result: the names for which a symbol has been found
 * @twice: result: index of a name for which a second symbol has been found
 */
struct symbol_search {
	const char **syms;
	unsigned int nr;
	unsigned long *addrs;
	unsigned long *found;
	unsigned int twice;
};

static int event_cmp_names(const void *a, const void *b)
{
	return strcmp(*(const char **)a, *(const char **)b);
}

/* Return: 1 if this is a second symbol with one of the names, which ends the search. */
static int event_search_name(void *data, const char *name, unsigned long addr)
{
	struct symbol_search *search = data;
	const char **sym = bsearch(&name, search->syms, search->nr, sizeof(name), event_cmp_names);

	if (!sym)
		return 0;
	search->twice = sym - search->syms;
	if (__test_and_set_bit(search->twice, search->found))
		return 1;
	if (search->addrs)
		search->addrs[search->twice] = addr;
	return 0;
}

/* Search for each name in the symbols of the kernel. Return: as kprobe_find_symbols(). */
static int event_search_each(struct symbol_search *search)
{
	unsigned int i;

	for (i = 0; i < search->nr; i++) {
		struct symbol_count count = {};

		if (fatal_signal_pending(current))
			return -EINTR;
		if (strchr(search->syms[i], ':'))
			continue;
		kallsyms_on_each_match_symbol(event_count_match, search->syms[i], &count);
		if (count.nr > 1)
			return i;
		if (count.nr)
			__set_bit(i, search->found);
		if (search->addrs)
			search->addrs[i] = count.addr;
		cond_resched();
	}
	return search->nr;
}

/**
 * kprobe_find_symbols() - find the symbols with some names
 * @syms: sorted names, none of them twice. A name "module:symbol" is ignored.
 * @nr: the number of names
 * @addrs: an array of zeros; result: the addresses of the names that the kernel has. Those of
 *	modules stay 0: a module may be unloaded, and another one be loaded there. All stay 0 on
 *	architectures where kprobe_lookup_name() may find another address.
 *
 * The symbols of all modules are searched once, not once for each name.
 *
 * Context: sleeps; takes module_mutex; kprobe_mutex must not be held.
 *
 * Return: @nr; or the index of a name that several symbols have; -EINTR if the task is being
 * killed; or -ENOMEM.
 */
int kprobe_find_symbols(const char **syms, unsigned int nr, unsigned long *addrs)
{
	struct symbol_search search = { .syms = syms, .nr = nr };
	int ret;

	search.found = kvcalloc(BITS_TO_LONGS(nr), sizeof(*search.found), GFP_KERNEL);
	if (!search.found)
		return -ENOMEM;
#ifdef __ARCH_WANT_PROBEPOINT
	search.addrs = addrs;
#endif
	if (nr < SEARCH_ALL)
		ret = event_search_each(&search);
	else
		ret = kallsyms_on_each_symbol(event_search_name, &search) ? search.twice : nr;
	search.addrs = NULL;
	if (ret == nr && module_kallsyms_on_each_symbol(NULL, event_search_name, &search) > 0)
		ret = search.twice;
	kvfree(search.found);
	return ret;
}

/**
 * kprobe_event_address() - get the address of the probe of an event
 * @p: the probe
 *
 * Context: any.
 *
 * Return: the address; 0 if the probe waits for its module, or if its text has been freed.
 */
unsigned long kprobe_event_address(const struct kprobe *p)
{
	if (kprobe_has_flag(p, KPROBE_FLAG_GONE) || kprobe_is_waiting(p))
		return 0;
	return (unsigned long)READ_ONCE(p->addr);
}

/*
 * May @p be registered now, at any address? Only lockdown forbids that, and only for kprobe events.
 *
 * Context: kprobe_mutex is held.
 *
 * Return: %KPROBE_REASON_NONE, or the reason why not.
 */
enum kprobe_reason kprobe_event_allowed(const struct kprobe *p)
{
	if (kprobe_has_flag(p, KPROBE_FLAG_EVENT) && security_locked_down(LOCKDOWN_KPROBES))
		return KPROBE_REASON_LOCKED_DOWN;
	return KPROBE_REASON_NONE;
}

/*
 * May a kprobe event have its probe at this address?
 *
 * Count the symbols only if symbol_name names a module: the probe may have waited for that module.
 * Otherwise the code that parses the event has already counted them.
 *
 * Context: kprobe_mutex is held.
 *
 * Return: %KPROBE_REASON_NONE, or the reason why not.
 */
enum kprobe_reason kprobe_event_check(const struct kprobe *p, unsigned long addr)
{
	if (!kprobe_has_flag(p, KPROBE_FLAG_EVENT))
		return KPROBE_REASON_NONE;
	if (p->symbol_name && strchr(p->symbol_name, ':') &&
	    kprobe_count_symbols(p->symbol_name) > 1)
		return KPROBE_REASON_AMBIGUOUS;
	if (kprobe_events_refuse(addr))
		return KPROBE_REASON_EVENT_NOTRACE;
	return KPROBE_REASON_NONE;
}
