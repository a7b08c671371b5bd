// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the places that a location with wildcards in kprobes/explain stands for.
 *
 * The write looks up the functions. Their places are checked in batches, when they are read. So
 * a reader sees each place as it is then, and no other task waits until the list has been read. A
 * function whose text has been freed meanwhile is left out.
 */
#include <linux/cleanup.h>
#include <linux/err.h>
#include <linux/glob.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "explain.h"

/* Number of places that are checked at a time. The functions of these are decoded once. */
#define PLACES_MAX	1024

/**
 * struct place_list - the places that a location with wildcards stands for
 * @functions: the addresses of the functions of the kernel in ascending order, then of modules
 * @nr_functions: how many they are
 * @max: how many there is memory for
 * @inside: the list has all instructions of the functions, not only their entries
 * @next: index of the function that is checked next
 * @offset: the offset in it that is checked next
 * @size: the size of it, if @offset is not 0
 * @first: how many places of the list are before the first one in @places
 * @nr: how many places are in @places
 * @current_place: index in @places of the place to show
 * @named: the start of the function whose name is in @name
 * @named_size: its size; 0 if @name has none
 * @no_events: kprobe events are refused in it
 * @name: how it is printed
 * @places: places that were checked, and the results
 */
struct place_list {
	unsigned long *functions;
	unsigned int nr_functions, max;
	bool inside;
	unsigned int next;
	unsigned long offset, size;
	loff_t first;
	unsigned int nr;
	unsigned int current_place;
	unsigned long named, named_size;
	bool no_events;
	char name[KSYM_SYMBOL_LEN];
	struct question places[PLACES_MAX];
};

/**
 * struct function_search - a search for functions
 * @module: the pattern of the module's name; NULL for all modules and the kernel
 * @name: the pattern of the function's name
 * @list: the list to which the functions are added
 */
struct function_search {
	const char *module;
	const char *name;
	struct place_list *list;
};

static bool explain_in_module(unsigned long addr, const char *pattern)
{
	struct module *mod;

	guard(preempt)();
	mod = __module_text_address(addr);
	return mod && glob_match(pattern, mod->name);
}

/* Called for each symbol. Return: 0; or -ENOMEM or -EINTR, which end the search. */
static int explain_add_function(void *data, const char *name, unsigned long addr)
{
	struct function_search *search = data;
	struct place_list *list = search->list;
	unsigned long *functions;
	unsigned int max;

	if (!glob_match(search->name, name) || !kernel_text_address(addr))
		return 0;
	if (search->module && !explain_in_module(addr, search->module))
		return 0;
	if (fatal_signal_pending(current))
		return -EINTR;
	if (list->nr_functions == list->max) {
		max = max(2 * list->max, 512U);
		functions = kvrealloc(list->functions, max * sizeof(*functions), GFP_KERNEL);
		if (!functions)
			return -ENOMEM;
		list->functions = functions;
		list->max = max;
	}
	list->functions[list->nr_functions++] = addr;
	return 0;
}

static int explain_add_match(void *data, unsigned long addr)
{
	struct function_search *search = data;

	return explain_add_function(search, search->name, addr);
}

/* Add functions of the kernel. Without wildcards, kallsyms finds the name faster. */
static int explain_search_kernel(struct function_search *search)
{
	if (strpbrk(search->name, "*?["))
		return kallsyms_on_each_symbol(explain_add_function, search);
	return kallsyms_on_each_match_symbol(explain_add_match, search->name, search);
}

static int explain_compare(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Sort the functions from index @first on, and drop those that are there twice, by an alias. */
static void explain_sort_functions(struct place_list *list, unsigned int first)
{
	unsigned int i, nr = first;

	sort(list->functions + first, list->nr_functions - first, sizeof(*list->functions),
	     explain_compare, NULL);
	for (i = first; i < list->nr_functions; i++)
		if (nr == first || list->functions[nr - 1] != list->functions[i])
			list->functions[nr++] = list->functions[i];
	list->nr_functions = nr;
}

/**
 * explain_free_places() - free a list
 * @list: the list, or NULL
 */
void explain_free_places(struct place_list *list)
{
	if (list)
		kvfree(list->functions);
	kvfree(list);
}

/**
 * explain_find_places() - find the functions that a location with wildcards stands for
 * @l: the location; its symbol is changed
 *
 * Context: sleeps.
 *
 * Return: the list, or an error: -ENOENT if there is no such function, -EINTR, or -ENOMEM.
 */
struct place_list *explain_find_places(const struct location *l)
{
	struct place_list *list = kvmalloc(sizeof(*list), GFP_KERNEL);
	struct function_search search = { .name = l->symbol, .list = list };
	char *colon = strchr(l->symbol, ':');
	unsigned int nr_kernel;
	int err = 0;

	if (!list)
		return ERR_PTR(-ENOMEM);
	memset(list, 0, offsetof(struct place_list, places));
	list->inside = l->inside;
	if (colon) {
		*colon = '\0';
		search.module = l->symbol;
		search.name = colon + 1;
	} else {
		err = explain_search_kernel(&search);
		explain_sort_functions(list, 0);
	}
	nr_kernel = list->nr_functions;
	if (!err && IS_ENABLED(CONFIG_MODULES))
		err = module_kallsyms_on_each_symbol(NULL, explain_add_function, &search);
	if (!err && !list->nr_functions)
		err = -ENOENT;
	if (err) {
		explain_free_places(list);
		return ERR_PTR(err);
	}
	explain_sort_functions(list, nr_kernel);
	return list;
}

/*
 * Does the address of @q get a line? Not if it is inside an instruction or in
 * padding, or if its text has been freed.
 */
static bool explain_is_place(const struct question *q)
{
	switch (q->e.refusal) {
	case KPROBE_WHY_NO_FUNCTION:
	case KPROBE_WHY_NO_TEXT:
	case KPROBE_WHY_INIT_FREED:
	case KPROBE_WHY_PADDING:
	case KPROBE_WHY_NO_BOUNDARY:
	case KPROBE_WHY_FTRACE_INSIDE:
		return false;
	default:
		return true;
	}
}

/* Where may the next instruction begin? Return: the offset, or 0 if there is none. */
static unsigned long explain_next_offset(struct place_list *list, const struct question *q)
{
	unsigned long function = list->functions[list->next], offset;

	if (!list->inside || q->e.refusal == KPROBE_WHY_UNDECODED)
		return 0;
	if (!list->offset &&
	    (!kallsyms_lookup_size_offset(function, &list->size, &offset) || offset))
		return 0;
	/*
	 * A probe at the start of a function may be moved, for example past an
	 * endbr.
	 */
	offset = max(list->offset, (unsigned long)q->where - function);
	offset += q->e.length ?: sizeof(kprobe_opcode_t);
	/* A blacklisted or patched range gets one line. */
	if (q->has_range)
		offset = max(offset, q->range.end - function);
	return offset < list->size ? offset : 0;
}

/* Do the first part of the checks for the next places. Return: 0 or -EINTR. */
static int explain_probe_places(struct place_list *list)
{
	struct question *q;

	list->nr = 0;
	while (list->nr < PLACES_MAX && list->next < list->nr_functions) {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		q = &list->places[list->nr];
		memset(q, 0, sizeof(*q));
		q->where = (kprobe_opcode_t *)(list->functions[list->next] + list->offset);
		explain_probe(q);
		list->offset = explain_next_offset(list, q);
		if (!list->offset)
			list->next++;
		if (explain_is_place(q))
			list->nr++;
	}
	return 0;
}

/* Check the next places. After an error, the same places are the next ones again. */
static int explain_check_places(struct place_list *list)
{
	unsigned long offset = list->offset, size = list->size;
	unsigned int next = list->next;
	int interrupted, err;

	list->first += list->nr;
	list->named_size = 0;
	interrupted = explain_probe_places(list);
	err = explain_finish(list->places, list->nr, 1);
	err = interrupted ?: err;
	if (err) {
		list->next = next;
		list->offset = offset;
		list->size = size;
		list->nr = 0;
	}
	return err;
}

/**
 * explain_seek_place() - go to a place of a list
 * @list: the list
 * @pos: how many places are before it
 *
 * Context: sleeps; takes kprobe_mutex.
 *
 * Return: 1; or 0 at the end of the list; or -EINTR or -ENOMEM.
 */
int explain_seek_place(struct place_list *list, loff_t pos)
{
	int err;

	if (pos < list->first) {
		list->next = 0;
		list->offset = 0;
		list->first = 0;
		list->nr = 0;
	}
	while (pos >= list->first + list->nr) {
		if (list->next == list->nr_functions)
			return 0;
		err = explain_check_places(list);
		if (err)
			return err;
	}
	list->current_place = pos - list->first;
	return 1;
}

/* Look up the function that has @addr. If there is none, start and size become 0. */
static void explain_find_function(struct place_list *list, unsigned long addr)
{
	char name[KSYM_NAME_LEN], *module;
	unsigned long size, offset;

	list->named = 0;
	list->named_size = 0;
	list->no_events = false;
	/* With preemption enabled, the module's name may be freed. */
	guard(preempt)();
	if (!kallsyms_lookup(addr, &size, &offset, &module, name))
		return;
	snprintf(list->name, sizeof(list->name), "%s%s%s", module ?: "", module ? ":" : "", name);
	list->named = addr - offset;
	list->named_size = size;
	list->no_events = kprobe_events_refuse(addr);
}

/*
 * Print a place as it can be written to the file: MODULE:SYMBOL+OFFSET. The places of one function
 * follow each other: look it up once.
 */
static void explain_show_symbol(struct seq_file *m, struct place_list *list, unsigned long addr)
{
	if (addr - list->named >= list->named_size)
		explain_find_function(list, addr);
	if (list->named_size)
		seq_puts(m, list->name);
	seq_put_hex_ll(m, list->named_size ? "+0x" : "0x", addr - list->named, 0);
}

static const char *explain_mode(const struct question *q)
{
	static const char *const modes[][2] = {
		{ "boost", "boosted" }, { "emulate", "emulated" }, { "single-step", "stepped" },
	};
	const char *how = q->e.exec[0].how;
	unsigned int i;

	if (q->e.probed == KPROBE_NO)
		return "no";
	if (q->e.probed == KPROBE_UNKNOWN || !how)
		return "unknown";
	if (q->jump.answer[0] == KPROBE_YES)
		return "optimized";
	for (i = 0; i < ARRAY_SIZE(modes); i++)
		if (!strcmp(how, modes[i][0]))
			return modes[i][1];
	return how;
}

/**
 * explain_show_place() - print the line of a place
 * @m: where to print it
 * @list: the list, after explain_seek_place() has returned 1
 * @show_address: print the address, not 0
 */
void explain_show_place(struct seq_file *m, struct place_list *list, bool show_address)
{
	struct question *q = &list->places[list->current_place];
	unsigned long addr = (unsigned long)q->where;

	seq_put_hex_ll(m, "0x", show_address ? addr : 0, 2 * sizeof(addr));
	seq_putc(m, ' ');
	explain_show_symbol(m, list, addr);
	seq_putc(m, ' ');
	seq_puts(m, explain_mode(q));
	if (q->e.probed == KPROBE_YES && list->no_events)
		seq_puts(m, " notrace");
	if (q->e.probed == KPROBE_NO)
		seq_printf(m, " %d", kprobe_reason_errno(q->e.refusal));
	if (q->e.refusal)
		seq_printf(m, " %s", *kprobe_reason_text(q->e.refusal));
	seq_putc(m, '\n');
}
