// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: checks that apply to kprobe events only.
 *
 * Kprobe events of tracefs and perf, and the probes of BPF links, have %KPROBE_FLAG_EVENT. They are
 * checked here when they are registered, and again when a module that they wait for is loaded.
 */
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
 * With this many names or more, one pass over all symbols of the kernel takes less time than a
 * search for each name. A search for one name expands some twenty symbols, each after a walk over
 * up to 255 others.
 */
#define SEARCH_ALL	4096

/**
 * struct symbol_search - a search for the symbols with some names
 * @syms: sorted names, none of them twice
 * @nr: the number of names
 * @current_sym: index of the name whose symbols are being searched
 * @addrs: result: the address of each name that the kernel has, apart from modules. NULL if the
 *	caller wants no addresses
 * @counts: result: how many symbols have each name
 */
struct symbol_search {
	const char **syms;
	unsigned int nr;
	unsigned int current_sym;
	unsigned long *addrs;
	unsigned int *counts;
};

static int event_count_match(void *data, unsigned long addr)
{
	struct symbol_search *search = data;

	search->counts[search->current_sym]++;
	if (search->addrs)
		search->addrs[search->current_sym] = addr;
	return 0;
}

static int event_cmp_names(const void *a, const void *b)
{
	return strcmp(*(const char **)a, *(const char **)b);
}

static int event_count_if_wanted(void *data, const char *name, unsigned long addr)
{
	struct symbol_search *search = data;
	const char **sym = bsearch(&name, search->syms, search->nr, sizeof(name), event_cmp_names);

	if (!sym)
		return 0;
	search->current_sym = sym - search->syms;
	return event_count_match(search, addr);
}

/* Count the symbols of the kernel and of all modules that have each name. Return: 0 or -EINTR. */
static int event_search(struct symbol_search *search)
{
	unsigned int *i = &search->current_sym;

	if (search->nr < SEARCH_ALL) {
		for (*i = 0; *i < search->nr; ++*i) {
			/* With one name, go on: kprobe_count_symbols() expects no error. */
			if (search->nr > 1 && fatal_signal_pending(current))
				return -EINTR;
			if (!strchr(search->syms[*i], ':'))
				kallsyms_on_each_match_symbol(event_count_match, search->syms[*i],
							      search);
			cond_resched();
		}
	} else {
		kallsyms_on_each_symbol(event_count_if_wanted, search);
	}
	/* Addresses in modules are not recorded: other text may be loaded there later. */
	search->addrs = NULL;
	module_kallsyms_on_each_symbol(NULL, event_count_if_wanted, search);
	return 0;
}

#ifdef CONFIG_MODULES
/*
 * Count the symbols with a name in one module. @symbol is MODULE:NAME, and @colon points to its
 * colon. kprobe_mutex is held, so do not use module_kallsyms_on_each_symbol(), which takes
 * module_mutex: a task that unloads a module holds module_mutex during a grace period, and all
 * registrations would wait for that task.
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

/*
 * Count the symbols with a name, which may be "module:symbol".
 *
 * Context: sleeps. Without a module in @symbol, this takes module_mutex; kprobe_mutex must not be
 * held then.
 */
unsigned int kprobe_count_symbols(const char *symbol)
{
	unsigned int count = 0;
	struct symbol_search search = { .syms = &symbol, .nr = 1, .counts = &count };
	const char *colon = strchr(symbol, ':');

	if (colon)
		return event_count_in_module(symbol, colon);
	event_search(&search);
	return count;
}

/**
 * kprobe_find_symbols() - find the symbols with some names
 * @syms: sorted names, none of them twice. A name "module:symbol" is ignored.
 * @nr: the number of names
 * @addrs: an array of zeros; result: the addresses of the names that the kernel has. The elements
 *	for names in modules stay 0, since other text may be loaded there later. All elements stay 0
 *	on architectures where kprobe_lookup_name() may find another address.
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
	unsigned int twice;
	int err;

	search.counts = kvcalloc(nr, sizeof(*search.counts), GFP_KERNEL);
	if (!search.counts)
		return -ENOMEM;
#ifdef __ARCH_WANT_PROBEPOINT
	search.addrs = addrs;
#endif
	err = event_search(&search);
	for (twice = 0; twice < nr && search.counts[twice] < 2; twice++)
		;
	kvfree(search.counts);
	return err ?: (int)twice;
}

/**
 * kprobe_event_address() - get the address of the probe of an event
 * @p: the probe
 *
 * Context: any.
 *
 * Return: the address; 0 if the probe waits for its module, if its text has been freed, or if it is
 * not registered.
 */
unsigned long kprobe_event_address(const struct kprobe *p)
{
	struct probepoint *pp;

	/*
	 * Read the probepoint's address: when the module of a probe that waited is loaded again,
	 * p->addr is that in the unloaded module until the batch is committed.
	 */
	guard(rcu)();
	pp = READ_ONCE(p->point);
	return pp && !kprobe_has_flag(p, KPROBE_FLAG_GONE) ? (unsigned long)pp->addr : 0;
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
 * Count the symbols only if symbol_name names a module, for which the probe may have waited. For
 * other names, the code that parses the event has already counted the symbols.
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
