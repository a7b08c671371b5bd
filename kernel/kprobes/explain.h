/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KERNEL_KPROBES_EXPLAIN_H
#define _KERNEL_KPROBES_EXPLAIN_H
/*
 * What explain.c and explain_list.c share
 */

#include <linux/probepoint.h>
#include <linux/seq_file.h>

#include "internal.h"

/**
 * struct location - a location that a user has written
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
 * @symbol: the symbol to look up, or NULL
 * @offset: the offset from @symbol
 * @nr_symbols: how many symbols have that name
 * @where: the address to probe if @symbol is NULL; result: the address, or NULL
 * @entry: the start of the function if @where counts as its entry, otherwise 0
 * @on_ftrace: ftrace can put a call at @where
 * @range: the text that the reason is about
 * @has_range: @range is known
 * @e: the results of the architecture's checks
 * @return_reason: why a return probe would be refused
 * @event_reason: why a kprobe event would be refused, if a probe would not
 * @jump: whether it would be optimised
 * @pp: a probepoint that the checks need; it is never registered
 */
struct question {
	const char *symbol;
	unsigned int offset;
	unsigned int nr_symbols;
	kprobe_opcode_t *where;
	unsigned long entry;
	bool on_ftrace;
	struct kprobe_range range;
	bool has_range;
	struct kprobe_explanation e;
	enum kprobe_reason return_reason;
	enum kprobe_reason event_reason;
	struct jump_question jump;
	struct probepoint pp;
};

/* explain.c */
void explain_probe(struct question *q);
int explain_finish(struct question *questions, unsigned int nr, unsigned int answers);

/* explain_list.c */
struct place_list *explain_find_places(const struct location *l);
void explain_free_places(struct place_list *list);
int explain_seek_place(struct place_list *list, loff_t pos);
void explain_show_place(struct seq_file *m, struct place_list *list, bool show_address);

#endif
