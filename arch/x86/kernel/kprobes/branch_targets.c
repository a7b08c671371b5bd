// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the search for far branches into the middle of functions.
 *
 * No control flow may enter the JTPR (jump target prohibition region: bytes 1 to 4) of a jump.
 * safety.c finds the branches of the function and of its neighbours. This file finds the others,
 * for the whole kernel and for each module:
 *
 * - Branches of other functions with a displacement of four bytes. (Shorter branches reach only the
 *   neighbours.) The search looks for such displacements at each byte of the text. A match may be
 *   accidental, so the function that contains it is decoded. If the function contains data, a
 *   branch right after the data may be missed. Compiled code has such branches in .cold parts;
 *   assembly may have them anywhere.
 * - Addresses that other functions load: by lea with a displacement, which is found with the
 *   branches, or by mov or push of the address.
 * - Fixups of exception tables, and targets of jump labels.
 *
 * Nearly all branches to another function lead to its first byte, so the search finds only few
 * targets. They are kept in a sorted array, which is built when the first probepoint needs it.
 *
 * The array stays correct: no patching makes a branch lead into the middle of another function.
 * Targets of jump labels are in the array. Static calls and ftrace branch to the start of a
 * function or out of the text. Jumps and breakpoints of probes do not hide anything from a
 * later search, since it reads the text without them. Targets in freed init text do no harm.
 * The array of a module is freed with the module.
 */
#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/extable.h>
#include <linux/hash.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/extable.h>
#include <asm/insn.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "x86.h"

/*
 * Bytes of text that are searched at a time. Also read the 7 bytes before them, since opcode,
 * ModRM, SIB and disp32 can precede an imm32; and the 3 bytes after them, since a 4-byte operand
 * may start in the last byte.
 */
#define SEARCH_CHUNK	4096
#define SEARCH_BEFORE	7
#define SEARCH_AFTER	3

/* A search caches the starts of up to 1 << STARTS_BITS functions. */
#define STARTS_BITS	12

/* What leads to a target. If several kinds do, the first one here is reported as the reason. */
enum target_kind {
	BY_FIXUP,
	BY_LABEL,
	BY_BRANCH,
	BY_LOAD,
};

#define KIND_BITS	2

static const enum kprobe_reason reasons[] = {
	[BY_FIXUP] = KPROBE_REASON_JUMP_FIXUP,
	[BY_LABEL] = KPROBE_REASON_JUMP_LABEL_INTO,
	[BY_BRANCH] = KPROBE_REASON_JUMP_FAR_BRANCH,
	[BY_LOAD] = KPROBE_REASON_JUMP_FAR_ADDRESS,
};

/**
 * struct text_targets - branch targets in the middle of functions, in the text of the kernel or
 *	of a module
 * @list: links it on the list of all struct text_targets
 * @mod: the module, which is freed after this structure; NULL for the kernel
 * @nr: number of targets
 * @target: the targets, sorted. Each is the lower 32 bits of the address, which are unique in all
 *	text, shifted left by KIND_BITS, and in the bits below them the &enum target_kind
 */
struct text_targets {
	struct list_head list;
	const struct module *mod;
	unsigned int nr;
	u64 target[] __counted_by(nr);
};

/*
 * Guards the list, and keeps modules in memory: arch_kprobe_module_going() takes it before the
 * text of the module is freed. Nests inside kprobe_mutex.
 */
static DEFINE_MUTEX(targets_mutex);
static LIST_HEAD(known);

/**
 * struct text_range - a range of text
 * @start: its first address
 * @size: its size in bytes; 0 if there is no such range
 */
struct text_range {
	unsigned long start;
	unsigned long size;
};

/**
 * struct text_decoding - how far a function has been decoded
 * @function: its start; 0 if no function was decoded yet
 * @at: the next instruction
 * @dead: control flow does not reach @at from the previous instruction
 */
struct text_decoding {
	unsigned long function;
	unsigned long at;
	bool dead;
};

/**
 * struct text_search - a search of text
 * @range: the text, and the init text if it exists
 * @function: the function that is being searched; its size is 0 if it is not known
 * @decoding: how far the last function was decoded
 * @found: the targets
 * @nr: number of targets
 * @max: allocated size of @found, in targets
 * @starts: a cache of starts of functions, by the hash of the address
 * @buf: a copy of the text
 */
struct text_search {
	struct text_range range[2];
	struct text_range function;
	struct text_decoding decoding;
	u64 *found;
	unsigned int nr;
	unsigned int max;
	u32 starts[1 << STARTS_BITS];
	u8 buf[SEARCH_BEFORE + SEARCH_CHUNK + SEARCH_AFTER];
};

static u64 targets_make(unsigned long addr, enum target_kind kind)
{
	return (u64)(u32)addr << KIND_BITS | kind;
}

static bool targets_is_in_range(const struct text_range *range, unsigned long addr)
{
	return addr - range->start < range->size;
}

static bool targets_is_in_text(const struct text_search *s, unsigned long addr)
{
	return targets_is_in_range(&s->range[0], addr) || targets_is_in_range(&s->range[1], addr);
}

static int targets_note(struct text_search *s, unsigned long addr, enum target_kind kind)
{
	if (s->nr == s->max) {
		unsigned int max = max(2 * s->max, 1024U);
		u64 *found = kvrealloc(s->found, max * sizeof(*found), GFP_KERNEL);

		if (!found)
			return -ENOMEM;
		s->found = found;
		s->max = max;
	}
	s->found[s->nr++] = targets_make(addr, kind);
	return 0;
}

/* Is @addr in a function, but not at its start? */
static bool targets_is_in_middle(struct text_search *s, unsigned long addr)
{
	u32 *start = &s->starts[hash_32((u32)addr, STARTS_BITS)];
	unsigned long size, offset;

	if (*start == (u32)addr || !kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	if (!offset)
		*start = (u32)addr;
	return offset;
}

static int targets_note_if_in_middle(struct text_search *s, unsigned long addr,
				     enum target_kind kind)
{
	return targets_is_in_middle(s, addr) ? targets_note(s, addr, kind) : 0;
}

/* Are @from, which is in the text, and @to in the same function? */
static bool targets_is_same_function(struct text_search *s, unsigned long from, unsigned long to)
{
	unsigned long size, offset;

	if (!targets_is_in_range(&s->function, from)) {
		s->function = (struct text_range){};
		if (kallsyms_lookup_size_offset(from, &size, &offset))
			s->function = (struct text_range){ from - offset, size };
	}
	return targets_is_in_range(&s->function, to);
}

static int targets_find_fixups(struct text_search *s, const struct exception_table_entry *e,
			       unsigned int nr)
{
	int ret = 0;

	for (; nr && !ret; nr--, e++)
		ret = targets_note_if_in_middle(s, (unsigned long)&e->fixup + e->fixup, BY_FIXUP);
	return ret;
}

#ifdef CONFIG_JUMP_LABEL
static int targets_find_labels(struct text_search *s, struct jump_entry *e, unsigned int nr)
{
	int ret = 0;

	for (; nr && !ret; nr--, e++)
		ret = targets_note_if_in_middle(s, jump_entry_target(e), BY_LABEL);
	return ret;
}
#endif

/*
 * Are these the opcode and the ModRM byte of a lea whose address is only a displacement? In 64-bit
 * mode, that is relative to rip.
 */
static bool targets_is_lea(u8 opcode, u8 modrm)
{
	return opcode == 0x8d && (modrm & 0xc7) == 0x05;
}

/* May the four bytes at @p be the displacement of a branch or, in 64-bit mode, of a lea? */
static bool targets_looks_like_branch(const u8 *p)
{
	u8 before = p[-2], opcode = p[-1];

	switch (opcode) {
	case CALL_INSN_OPCODE:
	case JMP32_INSN_OPCODE:
	case INT3_INSN_OPCODE:		/* not written by kprobes: may hide a branch */
		return true;
	case 0x80 ... 0x8f:		/* jcc, perhaps with an int3 in place of the 0f */
		if (before == 0x0f || before == INT3_INSN_OPCODE)
			return true;
		break;
	case 0xf8:			/* xbegin */
		if (before == 0xc7)
			return true;
	}
	return IS_ENABLED(CONFIG_X86_64) && targets_is_lea(before, opcode);
}

/* May the four bytes at @p be an address that a mov, a push or, in 32-bit mode, a lea loads? */
static bool targets_looks_like_load(const u8 *p)
{
	u8 opcode = p[-1];
	int i;

	if (opcode == 0x68 || (opcode & 0xf8) == 0xb8)
		return true;
	if (!IS_ENABLED(CONFIG_X86_64) && targets_is_lea(p[-2], opcode))
		return true;
	/*
	 * mov (c7): between the opcode and its immediate operand are a ModRM byte, and perhaps a
	 * SIB byte and a displacement, so look for the opcode at each of these distances.
	 */
	for (i = 2; i <= SEARCH_BEFORE; i++)
		if (p[-i] == 0xc7)
			return true;
	return false;
}

/*
 * Is @at the displacement or the immediate operand of an instruction? Assume that it is in three
 * cases: if the bytes belong to no function; if decoding fails; or if decoding reaches an int3 that
 * kprobes did not write, which may hide any instruction. (An int3 that control flow does not reach
 * is padding.)
 */
static bool targets_has_operand_at(struct text_search *s, unsigned long at)
{
	struct text_decoding *d = &s->decoding;
	unsigned long size, offset, end;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	if (!kallsyms_lookup_size_offset(at, &size, &offset))
		return true;
	end = at - offset + size;
	/*
	 * The search calls this with ascending addresses: go on decoding at the instruction that
	 * contained the previous address. In another function, begin at its start.
	 */
	if (d->function != at - offset || d->at > at)
		*d = (struct text_decoding){ .function = at - offset, .at = at - offset };
	cond_resched();
	guard(mutex)(&text_mutex);
	while (d->at <= at) {
		if (!x86_kprobe_decode_text(d->at, end, &insn, buf))
			return true;
		if (buf[0] == INT3_INSN_OPCODE && !d->dead)
			return true;
		/* Do not advance: the next candidate may be in the same instruction. */
		if (at - d->at < insn.length)
			return (insn.displacement.nbytes == sizeof(s32) &&
				at - d->at == insn_offset_displacement(&insn)) ||
			       (insn.immediate.nbytes == sizeof(s32) &&
				at - d->at == insn_offset_immediate(&insn));
		d->dead = x86_insn_is_end(&insn, buf, d->dead);
		d->at += insn.length;
	}
	return true;
}

/* Does an operand at @from refer to @to, in the middle of another function? */
static bool targets_is_far(struct text_search *s, unsigned long from, unsigned long to)
{
	return !targets_is_same_function(s, from, to) && targets_is_in_middle(s, to) &&
	       targets_has_operand_at(s, from);
}

static int __no_sanitize_address targets_search_chunk(struct text_search *s, const u8 *p,
						      unsigned long at, unsigned int len)
{
	const u8 *end = p + len;
	int ret = 0;

	for (; p < end && !ret; p++, at++) {
		unsigned long value = (long)get_unaligned((s32 *)p);
		unsigned long target = at + sizeof(s32) + value;

		if (unlikely(targets_is_in_text(s, target)) && targets_looks_like_branch(p) &&
		    targets_is_far(s, at, target))
			ret = targets_note(s, target, BY_BRANCH);
		if (unlikely(targets_is_in_text(s, value)) && !ret && targets_looks_like_load(p) &&
		    targets_is_far(s, at, value))
			ret = targets_note(s, value, BY_LOAD);
	}
	return ret;
}

static bool targets_read_text(unsigned long at, u8 *buf, size_t len)
{
	guard(mutex)(&text_mutex);
	guard(preempt)();
	return x86_kprobe_read_original(at, buf, len);
}

static int targets_search_text(struct text_search *s, const struct text_range *range)
{
	unsigned long at = range->start, end = range->start + range->size, len;
	int ret = 0;

	memset(s->buf, 0, SEARCH_BEFORE);
	for (; at < end && !ret; at += len) {
		len = min_t(unsigned long, end - at, SEARCH_CHUNK);
		/* If this fails, init text was freed during the search: there is no more to do. */
		if (!targets_read_text(at, s->buf + SEARCH_BEFORE,
				       min(end - at, len + SEARCH_AFTER)))
			break;
		ret = targets_search_chunk(s, s->buf + SEARCH_BEFORE, at, len);
		memcpy(s->buf, s->buf + len, SEARCH_BEFORE);
		cond_resched();
	}
	return ret;
}

static int targets_search_kernel(struct text_search *s)
{
	int ret;

	s->range[0].start = (unsigned long)_stext;
	s->range[0].size = _etext - _stext;
	if (system_state < SYSTEM_FREEING_INITMEM) {
		s->range[1].start = (unsigned long)_sinittext;
		s->range[1].size = _einittext - _sinittext;
	}
	ret = targets_find_fixups(s, __start___ex_table, __stop___ex_table - __start___ex_table);
#ifdef CONFIG_JUMP_LABEL
	if (!ret)
		ret = targets_find_labels(s, __start___jump_table,
					  __stop___jump_table - __start___jump_table);
#endif
	return ret;
}

#ifdef CONFIG_MODULES
static int targets_search_module(struct text_search *s, const struct module *mod)
{
	static const enum mod_mem_type types[] = { MOD_TEXT, MOD_INIT_TEXT };
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		s->range[i].start = (unsigned long)mod->mem[types[i]].base;
		s->range[i].size = mod->mem[types[i]].size;
	}
	ret = targets_find_fixups(s, mod->extable, mod->num_exentries);
#ifdef CONFIG_JUMP_LABEL
	if (!ret) {
		/* While the module is being loaded, jump_label_module_notify() sorts the table. */
		jump_label_lock();
		ret = targets_find_labels(s, mod->jump_entries, mod->num_jump_entries);
		jump_label_unlock();
	}
#endif
	return ret;
}

/*
 * Return: the module that contains @addr, or NULL. It stays in memory until targets_mutex is
 * released: arch_kprobe_module_going() takes the mutex, and is called only after
 * kprobe_module_ready() has become false.
 */
static const struct module *targets_module_at(unsigned long addr)
{
	const struct module *mod;

	guard(preempt)();
	mod = __module_text_address(addr);
	return mod && kprobe_module_ready(mod) ? mod : NULL;
}
#else
static int targets_search_module(struct text_search *s, const struct module *mod)
{
	return 0;
}

static const struct module *targets_module_at(unsigned long addr)
{
	return NULL;
}
#endif

static int targets_cmp(const void *a, const void *b)
{
	const u64 *ea = a, *eb = b;

	return *ea < *eb ? -1 : *ea > *eb;
}

/*
 * Search the text of @mod, or of the kernel if @mod is NULL, and add the result to the list @known.
 * Return: the targets, or NULL if out of memory.
 */
static noinline struct text_targets *targets_find(const struct module *mod)
{
	struct text_search *s = kvzalloc(sizeof(*s), GFP_KERNEL);
	struct text_targets *tt = NULL;
	unsigned int i;
	int ret;

	if (!s)
		return NULL;
	ret = mod ? targets_search_module(s, mod) : targets_search_kernel(s);
	for (i = 0; i < ARRAY_SIZE(s->range) && !ret; i++)
		ret = targets_search_text(s, &s->range[i]);
	if (!ret)
		tt = kvmalloc(struct_size(tt, target, s->nr), GFP_KERNEL);
	if (tt) {
		tt->mod = mod;
		tt->nr = s->nr;
		if (s->nr)
			memcpy(tt->target, s->found, array_size(s->nr, sizeof(*s->found)));
		sort(tt->target, tt->nr, sizeof(tt->target[0]), targets_cmp, NULL);
		list_add(&tt->list, &known);
	}
	kvfree(s->found);
	kvfree(s);
	return tt;
}

static struct text_targets *targets_for(const struct module *mod)
{
	struct text_targets *tt;

	list_for_each_entry(tt, &known, list)
		if (tt->mod == mod)
			return tt;
	return targets_find(mod);
}

/*
 * Return: the reason if anything leads into the JTPR (bytes 1 to 4) of a jump at @addr; or
 * KPROBE_REASON_NONE.
 */
static enum kprobe_reason targets_look_up(const struct text_targets *tt, unsigned long addr)
{
	u64 first = targets_make(addr + 1, 0), end = targets_make(addr + KPROBE_JUMP_SIZE, 0);
	unsigned int low = 0, high = tt->nr, kind = ARRAY_SIZE(reasons);

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (tt->target[mid] < first)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < tt->nr && tt->target[low] < end; low++)
		kind = min(kind, tt->target[low] & ((1U << KIND_BITS) - 1));
	return kind < ARRAY_SIZE(reasons) ? reasons[kind] : KPROBE_REASON_NONE;
}

/*
 * Look for far branches, loaded addresses, fixups and jump labels that lead into the JTPR of a jump
 * (its bytes 1 to 4), and set its refusal. Return: 0 or -ENOMEM. May search all text.
 */
int x86_kprobe_check_targets(struct kprobe_jump *jump)
{
	const struct module *mod = NULL;
	struct text_targets *tt;

	guard(mutex)(&targets_mutex);
	if (!core_kernel_text(jump->addr)) {
		mod = targets_module_at(jump->addr);
		if (!mod) {
			jump->refusal = KPROBE_REASON_JUMP_GONE;
			return 0;
		}
	}
	tt = targets_for(mod);
	if (!tt)
		return -ENOMEM;
	jump->refusal = targets_look_up(tt, jump->addr);
	return 0;
}

/* Free the branch targets of a module that is about to be freed. */
void arch_kprobe_module_going(const struct module *mod)
{
	struct text_targets *tt, *next;

	lockdep_assert_held(&kprobe_mutex);
	guard(mutex)(&targets_mutex);
	list_for_each_entry_safe(tt, next, &known, list) {
		if (tt->mod != mod)
			continue;
		list_del(&tt->list);
		kvfree(tt);
	}
}
EXPORT_SYMBOL_IF_KUNIT(arch_kprobe_module_going);
