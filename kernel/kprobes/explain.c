// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes: the file /sys/kernel/debug/kprobes/explain.
 *
 * A user writes a location to the file, and reads from the same open file whether a probe can
 * be registered there, how the instruction would be executed, whether the probepoint would be
 * optimised, and the reasons. The write runs the checks of a registration up to the allocation
 * of a slot: it patches no text, and publishes no probepoint.
 *
 * A location with wildcards stands for many places, that is, addresses of instructions. The write
 * looks up the functions. The places in them are checked in batches, when the file is read. So each
 * line is true at the time of the read, and no other task has to wait for kprobe_mutex until the
 * whole list has been read. A function whose text was freed after the write is left out.
 *
 * Each open file has its own answer, guarded by a mutex of its own. kprobe_mutex nests inside
 * that mutex. The answer for a single location is computed by the write, not by each read.
 */
#include <linux/cleanup.h>
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/glob.h>
#include <linux/kallsyms.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/probepoint.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "internal.h"

/* Maximum length of a location: a module's name, a symbol and an offset; or an address */
#define LOCATION_MAX	(MODULE_NAME_LEN + KSYM_NAME_LEN + 32)

/* Large enough for the usage text, which has a line for each reason. Answers are shorter. */
#define ANSWER_MAX	(12 * 1024)

/* Number of places that are checked in one batch. For a batch, each function is decoded once. */
#define PLACES_MAX	1024

/**
 * struct location - a location that a user wrote
 * @addr: the address; NULL if @symbol is given
 * @symbol: the name of the symbol, or NULL
 * @offset: the offset from @symbol
 * @many: @symbol is a pattern, or @inside is set
 * @inside: all instructions of the functions are meant
 */
struct location {
	kprobe_opcode_t *addr;
	char *symbol;
	unsigned int offset;
	bool many;
	bool inside;
};

/**
 * struct question - the checks' results for a location
 * @nr_symbols: how many symbols have the name that the user wrote; 0 for an address
 * @place: the address, and what is known about it
 * @e: the results of the architecture's checks
 * @return_reason: why a return probe would be refused
 * @event_reason: why a kprobe event would be refused, if a probe would not
 * @jump: whether the probepoint would be optimised
 * @pp: a probepoint that the checks need; it is never registered. Its kp has the location.
 */
struct question {
	unsigned int nr_symbols;
	struct kprobe_place place;
	struct kprobe_explanation e;
	enum kprobe_reason return_reason;
	enum kprobe_reason event_reason;
	struct jump_question jump;
	struct probepoint pp;
};

/**
 * struct place_list - the places that a location with wildcards stands for
 * @functions: addresses of functions: those of the kernel in ascending order, then those of
 *	modules
 * @nr_functions: number of these functions
 * @max: allocated size of @functions, in functions
 * @inside: the list has all instructions of the functions, not only their entries
 * @next: index of the function that is checked next
 * @offset: the offset in that function that is checked next
 * @size: the size of that function, if @offset is not 0
 * @first: number of places of the list before the first one in @places
 * @nr: number of places in @places
 * @current_place: index in @places of the place to show
 * @named: the start of the function whose name is in @name
 * @named_size: the size of that function; 0 if @name is empty
 * @no_events: kprobe events are refused in that function
 * @name: MODULE:SYMBOL, or SYMBOL
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

/**
 * struct explain_file - an open file
 * @lock: guards the other members
 * @text: the answer, or the usage
 * @show_addresses: the user may see addresses of the kernel
 * @list: the places to list instead of @text, or NULL
 * @buf: the memory of @text
 */
struct explain_file {
	struct mutex lock;	/* guards the other members */
	struct seq_buf text;
	bool show_addresses;
	struct place_list *list;
	char buf[ANSWER_MAX];
};

/*
 * Do the checks of a registration. @q->pp.kp has the location; all else is zero. kprobe_mutex is
 * held.
 *
 * This pins no module, or else the module could not be unloaded while users read this file. Once
 * kprobe_mutex is released, the module may be unloaded. The safety check of jumps detects that, and
 * all other code that reads the text allows for faults.
 */
static void explain_check(struct question *q)
{
	struct kprobe_explanation *e = &q->e;

	e->refusal = kprobe_find_place(&q->pp.kp, &q->place, true);
	if (!e->refusal && q->place.on_ftrace)
		e->refusal = kprobe_ftrace_state();
	if (e->refusal == KPROBE_REASON_FTRACE_INSIDE) {
		e->before = q->place.range.start;
		e->after = q->place.range.end;
	}
	if (e->refusal)
		return;
	q->pp.addr = q->place.addr;
	if (!q->place.on_ftrace) {
		arch_explain_probepoint(&q->pp, e);
		return;
	}
	e->probed = KPROBE_YES;
	e->exec[0].how = "ftrace";
	e->exec[0].why = KPROBE_REASON_EXEC_FTRACE;
	e->exec[1] = e->exec[0];
	q->jump.why[0] = KPROBE_REASON_JUMP_FTRACE;
	q->jump.why[1] = KPROBE_REASON_JUMP_FTRACE;
}

/*
 * If a probe would be accepted, would a return probe or a kprobe event be refused? kprobe_mutex has
 * been held since explain_check().
 *
 * If the user wrote a name that several symbols have, the answer is "unknown": a registration would
 * probe the symbol that kallsyms finds first, which may not be the one that the user means. A
 * kprobe event with such a name is refused.
 */
static void explain_check_clients(struct question *q)
{
	if (q->e.probed == KPROBE_NO)
		return;
	q->return_reason = kretprobe_check(q->place.entry);
	if (kprobe_events_refuse((unsigned long)q->place.addr))
		q->event_reason = KPROBE_REASON_EVENT_NOTRACE;
	if (q->nr_symbols > 1) {
		q->e.probed = KPROBE_UNKNOWN;
		q->e.refusal = KPROBE_REASON_AMBIGUOUS;
		q->event_reason = KPROBE_REASON_AMBIGUOUS;
	}
}

/*
 * Find out which probepoints would be optimised, after explain_check(). @answers: how many answers
 * to find for each probepoint: 2 for one without and one with a post_handler, 1 for the first only.
 * Return: 0 or -ENOMEM. After an error, the results are not valid.
 */
static int explain_finish(struct question *questions, unsigned int nr, unsigned int answers)
{
	struct question *q, *end = questions + nr;
	LIST_HEAD(jumps);
	int err;

	for (q = questions; q < end; q++) {
		if (q->e.probed == KPROBE_NO || q->place.on_ftrace)
			continue;
		q->jump.pp = &q->pp;
		q->jump.nr = answers;
		list_add_tail(&q->jump.list, &jumps);
	}
	err = optimizer_explain(&jumps);
	for (q = questions; q < end; q++)
		if (q->e.refusal == KPROBE_REASON_NO_MEMORY)
			err = -ENOMEM;
	return err;
}

static bool explain_in_module(unsigned long addr, const char *pattern)
{
	struct module *mod;

	guard(preempt)();
	mod = __module_text_address(addr);
	return mod && glob_match(pattern, module_name(mod));
}

/*
 * kallsyms calls this for each symbol: add the function if it matches. Return: 0; or -ENOMEM or
 * -EINTR, which end the search.
 */
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

/* Add functions of the kernel. kallsyms has a faster search for a name without wildcards. */
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

/* Sort the functions from index @first on, and drop duplicates, which aliases have caused. */
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

static void explain_free_places(struct place_list *list)
{
	if (list)
		kvfree(list->functions);
	kvfree(list);
}

/*
 * Find the functions that a location with wildcards stands for. This splits the string @l->symbol
 * at its colon. Return: the list, or an error: -ENOENT if there is no such function, -EINTR, or
 * -ENOMEM.
 */
static struct place_list *explain_find_places(const struct location *l)
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
 * Does the address of @q get a line in a list of places? It does not if it is inside an
 * instruction or in padding, or if its text has been freed.
 */
static bool explain_is_place(const struct question *q)
{
	switch (q->e.refusal) {
	case KPROBE_REASON_NO_FUNCTION:
	case KPROBE_REASON_NO_TEXT:
	case KPROBE_REASON_INIT_FREED:
	case KPROBE_REASON_PADDING:
	case KPROBE_REASON_NO_BOUNDARY:
	case KPROBE_REASON_FTRACE_INSIDE:
		return false;
	default:
		return true;
	}
}

/*
 * Where in the function may the next instruction begin, after the place of @q? Return: the offset;
 * 0 if the list has only the entries of functions, if the rest of the function cannot be decoded,
 * or if @q is the last instruction.
 */
static unsigned long explain_next_offset(struct place_list *list, const struct question *q)
{
	unsigned long function = list->functions[list->next], offset;

	if (!list->inside || q->e.refusal == KPROBE_REASON_UNDECODED)
		return 0;
	if (!list->offset &&
	    (!kallsyms_lookup_size_offset(function, &list->size, &offset) || offset))
		return 0;
	/*
	 * A probe at the start of a function may be moved, for example past an
	 * endbr: continue after the instruction that it was moved to.
	 */
	offset = max(list->offset, (unsigned long)q->place.addr - function);
	offset += q->e.length ?: sizeof(kprobe_opcode_t);
	/* A range that is blacklisted or patched gets one line as a whole: skip the rest of it. */
	if (q->place.range.end)
		offset = max(offset, q->place.range.end - function);
	return offset < list->size ? offset : 0;
}

/*
 * Find the next places of the list, at most PLACES_MAX, and do the checks of a registration for
 * them. explain_finish() checks later, for all of them, whether probes there would be optimised.
 * Return: 0 or -EINTR.
 */
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
		q->pp.kp.addr = (kprobe_opcode_t *)(list->functions[list->next] + list->offset);
		scoped_guard(mutex, &kprobe_mutex)
			explain_check(q);
		list->offset = explain_next_offset(list, q);
		if (!list->offset)
			list->next++;
		if (explain_is_place(q))
			list->nr++;
	}
	return 0;
}

/*
 * Find and check the next places of the list. They replace the previous ones in @list->places.
 * Return: 0, -EINTR or -ENOMEM. After an error, the next call begins with the same places.
 */
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

/*
 * Go to the place with index @pos of a list. Return: 1; or 0 at the end of the list; or -EINTR or
 * -ENOMEM.
 */
static int explain_seek_place(struct place_list *list, loff_t pos)
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

/* Look up the function that contains @addr. If there is none, set @list->named_size to 0. */
static void explain_find_function(struct place_list *list, unsigned long addr)
{
	char name[KSYM_NAME_LEN], *module;
	unsigned long size, offset;

	list->named = 0;
	list->named_size = 0;
	list->no_events = false;
	/* @module points into the module, which may be freed once preemption is enabled. */
	guard(preempt)();
	if (!kallsyms_lookup(addr, &size, &offset, &module, name))
		return;
	snprintf(list->name, sizeof(list->name), "%s%s%s", module ?: "", module ? ":" : "", name);
	list->named = addr - offset;
	list->named_size = size;
	list->no_events = kprobe_events_refuse(addr);
}

/*
 * Print a place as it can be written to the file: MODULE:SYMBOL+OFFSET, or the address if it is in
 * no function. The places of one function follow each other, so look the function up once.
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

/* Print the line of the place that explain_seek_place() found. */
static void explain_show_place(struct seq_file *m, struct place_list *list, bool show_address)
{
	struct question *q = &list->places[list->current_place];
	unsigned long addr = (unsigned long)q->place.addr;

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

static void explain_print_usage(struct seq_buf *s)
{
	enum kprobe_reason why;

	seq_buf_puts(s, "# Write a location, and read the answer from the same open file:\n"
		     "#	SYMBOL[+OFFSET], MODULE:SYMBOL[+OFFSET], or an address\n"
		     "# SYMBOL and MODULE may have the wildcards *, ? and [...], and OFFSET may be *. Then\n"
		     "# each line has an address, a symbol, and how a probe there is hit, or why not.\n"
		     "# In a shell:\n"
		     "#	exec 3<>/sys/kernel/debug/kprobes/explain\n"
		     "#	echo vfs_read+8 >&3; cat <&3\n"
		     "# The reasons that answers, the kernel's log and error logs have:\n");
	for (why = KPROBE_REASON_NONE + 1; why < NR_KPROBE_REASONS; why++)
		seq_buf_printf(s, "# %s: %s\n", kprobe_reason_kind(why), *kprobe_reason_text(why));
}

static void explain_print_address(struct explain_file *f, unsigned long addr)
{
	if (!f->show_addresses)
		addr = 0;
	seq_buf_printf(&f->text, "0x%0*lx", (int)(2 * sizeof(addr)), addr);
}

static void explain_print_symbol(struct explain_file *f, const char *key, unsigned long addr)
{
	if (addr)
		seq_buf_printf(&f->text, "%s: %pS\n", key, (void *)addr);
}

static void explain_print_because(struct explain_file *f, const char *key, const char *word,
				  enum kprobe_reason why)
{
	seq_buf_printf(&f->text, "%s: %s\n", key, word);
	if (why)
		seq_buf_printf(&f->text, "%s-reason: %s\n", key, *kprobe_reason_text(why));
}

/*
 * If the jump was refused because an instruction loads an address, print what may be the cause. The
 * safety check treats every address that an instruction loads as the target of an indirect jump.
 * Code that stores the address to probe in a struct kprobe also loads it, but never jumps to it.
 */
static void explain_print_hint(struct explain_file *f, enum kprobe_reason why)
{
	if (why == KPROBE_REASON_JUMP_ADDRESS || why == KPROBE_REASON_JUMP_FAR_ADDRESS)
		seq_buf_printf(&f->text, "jump-hint: %s; give symbol_name and offset instead\n",
			       "an address that is only stored in a struct kprobe looks the same");
}

/*
 * Print how many symbols have the name, and how to list them: "[v]fs_read" is a pattern that
 * matches all symbols of the name vfs_read.
 */
static void explain_print_symbols(struct explain_file *f, const struct question *q)
{
	const char *symbol = q->pp.kp.symbol_name;
	const char *colon = strchr(symbol, ':');
	int module = colon ? colon + 1 - symbol : 0;
	const char *name = symbol + module;

	seq_buf_printf(&f->text, "symbols: %u\n", q->nr_symbols);
	seq_buf_printf(&f->text, "symbols-hint: %s; write %.*s[%c]%s for a list\n",
		       "name one by MODULE:SYMBOL, or by its address", module, symbol,
		       *name, name + 1);
}

/* Print an answer and, if there is one, the reason for it. */
static void explain_print_answer(struct explain_file *f, const char *key,
				 enum kprobe_answer answer, enum kprobe_reason why)
{
	static const char *const words[] = {
		[KPROBE_NO] = "no",
		[KPROBE_YES] = "yes",
		[KPROBE_UNKNOWN] = "unknown",
	};

	explain_print_because(f, key, words[answer], why);
}

static void explain_print_exec(struct explain_file *f, const struct question *q)
{
	const struct kprobe_exec *exec = q->e.exec;

	if (q->e.length)
		seq_buf_printf(&f->text, "length: %u\n", q->e.length);
	if (exec[0].how) {
		explain_print_because(f, "execution", exec[0].how, exec[0].why);
		explain_print_because(f, "execution-post", exec[1].how, exec[1].why);
	}
	explain_print_answer(f, "jump", q->jump.answer[0], q->jump.why[0]);
	explain_print_hint(f, q->jump.why[0]);
	explain_print_answer(f, "jump-post", q->jump.answer[1], q->jump.why[1]);
	if (IS_ENABLED(CONFIG_KRETPROBES))
		explain_print_answer(f, "return-probe", q->return_reason ? KPROBE_NO : q->e.probed,
				     q->return_reason);
	if (IS_ENABLED(CONFIG_KPROBE_EVENTS))
		explain_print_answer(f, "event", q->event_reason ? KPROBE_NO : q->e.probed,
				     q->event_reason);
}

static void explain_print_all(struct explain_file *f, const char *location,
			      const struct question *q)
{
	const struct kprobe_explanation *e = &q->e;

	seq_buf_clear(&f->text);
	seq_buf_printf(&f->text, "location: %s\n", location);
	if (q->place.addr) {
		seq_buf_puts(&f->text, "address: ");
		explain_print_address(f, (unsigned long)q->place.addr);
		seq_buf_putc(&f->text, '\n');
		explain_print_symbol(f, "symbol", (unsigned long)q->place.addr);
	}
	if (q->nr_symbols > 1)
		explain_print_symbols(f, q);
	explain_print_answer(f, "probe", e->probed, KPROBE_REASON_NONE);
	if (e->probed == KPROBE_NO)
		seq_buf_printf(&f->text, "errno: %d\n", kprobe_reason_errno(e->refusal));
	if (e->refusal)
		seq_buf_printf(&f->text, "reason: %s\n", *kprobe_reason_text(e->refusal));
	if (q->place.range.end) {
		seq_buf_puts(&f->text, "range: ");
		explain_print_address(f, q->place.range.start);
		seq_buf_putc(&f->text, '-');
		explain_print_address(f, q->place.range.end);
		seq_buf_printf(&f->text, " %pS\n", (void *)q->place.range.start);
	}
	explain_print_symbol(f, "before", e->before);
	explain_print_symbol(f, "after", e->after);
	if (e->probed != KPROBE_NO)
		explain_print_exec(f, q);
}

static int explain_location(struct explain_file *f, const char *name, const struct location *l)
{
	struct question *q __free(kfree) = kzalloc(sizeof(*q), GFP_KERNEL);
	int err;

	if (!q)
		return -ENOMEM;
	q->pp.kp.addr = l->addr;
	q->pp.kp.symbol_name = l->symbol;
	q->pp.kp.offset = l->offset;
	if (l->symbol)
		q->nr_symbols = kprobe_count_symbols(l->symbol);
	scoped_guard(mutex, &kprobe_mutex) {
		explain_check(q);
		explain_check_clients(q);
	}
	err = explain_finish(q, 1, 2);
	if (!err)
		explain_print_all(f, name, q);
	return err;
}

/*
 * Find the answer for a location; or, if the location has wildcards, the list of its places. After
 * an error, the file keeps its previous answer or list.
 */
static int explain_answer(struct explain_file *f, const char *name, const struct location *l)
{
	struct place_list *list = NULL;
	int err = 0;

	if (l->many)
		list = explain_find_places(l);
	else
		err = explain_location(f, name, l);
	if (err || IS_ERR(list))
		return err ?: PTR_ERR(list);
	explain_free_places(f->list);
	f->list = list;
	return 0;
}

static void *explain_position(struct explain_file *f, loff_t pos)
{
	int ret;

	if (!f->list)
		return pos ? NULL : f;
	ret = explain_seek_place(f->list, pos);
	if (ret < 0)
		return ERR_PTR(ret);
	return ret ? f : NULL;
}

static void *explain_start(struct seq_file *m, loff_t *pos)
{
	struct explain_file *f = m->private;

	mutex_lock(&f->lock);
	return explain_position(f, *pos);
}

static void *explain_next(struct seq_file *m, void *v, loff_t *pos)
{
	return explain_position(m->private, ++*pos);
}

static void explain_stop(struct seq_file *m, void *v)
{
	struct explain_file *f = m->private;

	mutex_unlock(&f->lock);
}

static int explain_show(struct seq_file *m, void *v)
{
	struct explain_file *f = m->private;

	if (f->list)
		explain_show_place(m, f->list, f->show_addresses);
	else
		seq_write(m, f->buf, seq_buf_used(&f->text));
	return 0;
}

static const struct seq_operations explain_seq_ops = {
	.start = explain_start,
	.next = explain_next,
	.stop = explain_stop,
	.show = explain_show,
};

/* Parse a location: an address, or a symbol and perhaps an offset. Modifies @text. */
static int explain_parse(char *text, struct location *l)
{
	unsigned long addr;
	char *offset;

	if (!*text || strpbrk(text, " \t\n"))
		return -EINVAL;
	if (isdigit(*text) && !strchr(text, ':')) {
		if (kstrtoul(text, 0, &addr) || !addr)
			return -EINVAL;
		l->addr = (kprobe_opcode_t *)addr;
		return 0;
	}
	l->symbol = text;
	/* Look for wildcards before the offset is cut off: the offset "*" is one, too. */
	l->many = strpbrk(text, "*?[");
	offset = strchr(text, '+');
	if (!offset)
		return 0;
	*offset++ = '\0';
	if (*text && !strcmp(offset, "*")) {
		l->inside = true;
		return 0;
	}
	/*
	 * Refuse a number as offset after a pattern: in each function, it would mean another
	 * instruction, or none.
	 */
	if (l->many)
		return -EINVAL;
	if (!*text || !isdigit(*offset) || kstrtouint(offset, 0, &l->offset))
		return -EINVAL;
	return 0;
}

static int explain_open(struct inode *inode, struct file *file)
{
	struct explain_file *f = __seq_open_private(file, &explain_seq_ops, sizeof(*f));

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	seq_buf_init(&f->text, f->buf, sizeof(f->buf));
	f->show_addresses = kallsyms_show_value(file->f_cred);
	explain_print_usage(&f->text);
	return 0;
}

static int explain_release(struct inode *inode, struct file *file)
{
	struct explain_file *f = ((struct seq_file *)file->private_data)->private;

	explain_free_places(f->list);
	mutex_destroy(&f->lock);
	return seq_release_private(inode, file);
}

/* After an error, the file keeps its previous answer, or the usage text if there was no answer. */
static ssize_t explain_write(struct file *file, const char __user *buf, size_t count,
			     loff_t *pos)
{
	struct explain_file *f = ((struct seq_file *)file->private_data)->private;
	struct location location = {};
	char *text, *name;
	int err;

	if (count > LOCATION_MAX)
		return -E2BIG;
	text = memdup_user_nul(buf, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	name = kstrdup(strim(text), GFP_KERNEL);
	err = name ? explain_parse(strim(text), &location) : -ENOMEM;
	/* An answer for a raw address would reveal the KASLR offset. */
	if (!err && location.addr && !f->show_addresses)
		err = -EPERM;
	if (!err) {
		guard(mutex)(&f->lock);
		err = explain_answer(f, name, &location);
		/* Let the next read start at the beginning of the new answer. */
		if (!err)
			*pos = 0;
	}
	kfree(name);
	kfree(text);
	return err ?: count;
}

const struct file_operations kprobe_explain_fops = {
	.owner = THIS_MODULE,
	.open = explain_open,
	.read = seq_read,
	.write = explain_write,
	.llseek = seq_lseek,
	.release = explain_release,
};
