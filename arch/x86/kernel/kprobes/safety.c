// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: the safety check, which decides where a jump is safe.
 *
 * A jump has five bytes. No control flow may enter its JTPR (bytes 1 to 4): no branch, no fixup of
 * an exception table, no target of a jump label, no return of a call, and no task that slept in an
 * instruction there. And each instruction of the DCR (detoured code region: the instructions that
 * the jump overlaps) must have a correct copy in the detour buffer. An int3 after a return or a
 * jump is padding of the compiler, which is never executed and may be in the DCR.
 *
 * The check decodes the function, and its neighbours if they may have a short branch into a JTPR.
 * branch_targets.c searches all text for longer branches.
 *
 * The targets of an indirect jump are not known. With CONFIG_X86_KERNEL_IBT, each of them has an
 * endbr. Without IBT, no probe in a function with an indirect jump is optimised. A jump to a
 * retpoline counts as an indirect one: with retpolines the compiler generates no jump tables for
 * switch statements, but the BPF interpreter jumps through a table of labels, and assembly may do
 * so. A function and its .cold part count as one function: a jump table of either part may lead
 * into both.
 *
 * The check holds no lock of kprobes. It ignores the changes that probes made to the text, so
 * probes may be registered and unregistered at the same time.
 */
#include <kunit/visibility.h>
#include <linux/cleanup.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "x86.h"

/*
 * A call is at least as long as the jump, so a call that the jump overlaps returns to an address
 * after the jump.
 */
static_assert(CALL_INSN_SIZE >= KPROBE_JUMP_SIZE);

/*
 * A branch with a displacement of one byte is at most this number of bytes from its target: the
 * displacement is -128 to 127, and counts from the end of the branch, which has two or three bytes.
 */
#define SHORT_BRANCH	130

/**
 * struct jump_group - jumps in one function, which is decoded only once
 * @first: the jump with the lowest address. The others follow in ascending order.
 * @last: the jump with the highest address
 * @left: the first jump that may still be allowed; all jumps before it are refused
 * @start: start of the function
 * @end: end of the function
 */
struct jump_group {
	struct kprobe_jump *first, *last, *left;
	unsigned long start, end;
};

static void safety_refuse(struct kprobe_jump *jump, enum kprobe_reason why)
{
	if (!jump->refusal)
		jump->refusal = why;
}

static void safety_refuse_all(struct jump_group *g, enum kprobe_reason why)
{
	struct kprobe_jump *jump;

	for (jump = g->first; jump <= g->last; jump++)
		safety_refuse(jump, why);
}

static bool safety_all_refused(struct jump_group *g)
{
	while (g->left <= g->last && g->left->refusal)
		g->left++;
	return g->left > g->last;
}

/* Return: the first jump of @g at or above @addr; @g->last + 1 if all jumps are below @addr. */
static struct kprobe_jump *safety_first_jump(const struct jump_group *g, unsigned long addr)
{
	struct kprobe_jump *low = g->first, *high = g->last + 1, *mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (mid->addr < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Return: an address above @jump. No short branch at or after it reaches bytes 1 to 4 of @jump. */
static unsigned long safety_short_branch_end(const struct kprobe_jump *jump)
{
	return jump->addr + KPROBE_JUMP_SIZE + SHORT_BRANCH;
}

/*
 * Is @target a thunk that jumps through a register? Then a direct jump to it acts as an indirect
 * one.
 */
static bool safety_is_indirect_thunk(unsigned long target)
{
	/* ITS thunks may be allocated outside the kernel text. */
	if (!__kernel_text_address(target))
		return true;
	/*
	 * All other thunks are in this range. So are return thunks, but a jump to a return thunk is
	 * a return.
	 */
	return target >= (unsigned long)__softirqentry_text_end &&
	       target < (unsigned long)__static_call_text_start && !x86_is_return_thunk(target);
}

/* Is an instruction an indirect jump, or a direct jump to a thunk that jumps indirectly? */
static bool safety_is_indirect_jump(struct insn *insn, unsigned long addr)
{
	unsigned long target;

	if (x86_insn_kind(insn) == X86_KIND_JMP_INDIRECT)
		return true;
	return x86_insn_branches(insn, addr, &target) && x86_insn_kind(insn) != X86_KIND_CALL &&
	       safety_is_indirect_thunk(target);
}

/*
 * Check an instruction of the DCR: one that the jump overlaps. @dead: control flow does not reach
 * it from the previous instruction. Return: the reason why it cannot be in the DCR, or
 * KPROBE_REASON_NONE.
 */
static enum kprobe_reason safety_check_insn(const struct jump_group *g,
					    const struct kprobe_jump *jump, struct insn *insn,
					    unsigned long addr, const u8 *bytes, bool dead)
{
	unsigned long target, next = addr + insn->length;

	if (next > g->end)
		return KPROBE_REASON_JUMP_END;
	if (kprobe_blacklist_has(addr))
		return KPROBE_REASON_JUMP_BLACKLISTED;
	if (x86_kprobe_is_cfi_check(insn, addr))
		return KPROBE_REASON_JUMP_CFI_CHECK;
	if (addr != jump->addr && search_exception_tables(addr))
		return KPROBE_REASON_JUMP_FAULT;
	if (addr != jump->addr && insn->length == ENDBR_INSN_SIZE &&
	    is_endbr(get_unaligned((u32 *)bytes)))
		return KPROBE_REASON_JUMP_ENDBR;

	if (x86_insn_branches(insn, addr, &target)) {
		/*
		 * A loop instruction has no near form. With an operand-size prefix, only some CPUs
		 * truncate the target to 16 bits, so no near form does the same on all CPUs.
		 */
		if (x86_insn_kind(insn) == X86_KIND_LOOP ||
		    x86_insn_has_prefix(insn, X86_PREFIX_OPSIZE))
			return KPROBE_REASON_JUMP_NO_NEAR_FORM;
		scoped_guard(preempt)
			if (x86_kprobe_fills_rsb(insn, addr))
				return KPROBE_REASON_JUMP_NOT_MOVABLE;
		return KPROBE_REASON_NONE;
	}
	/*
	 * After a return or a jump, an int3 is padding, and may be in the DCR. If a branch leads to
	 * it, safety_check_targets() finds the branch.
	 */
	if (dead && bytes[0] == INT3_INSN_OPCODE)
		return KPROBE_REASON_NONE;
	if (x86_insn_kind(insn) == X86_KIND_RET || x86_insn_boostable(insn))
		return KPROBE_REASON_NONE;
	return KPROBE_REASON_JUMP_NOT_MOVABLE;
}

/*
 * Called if no instruction can be decoded at @addr, before @end. Are there only zeros up to @end?
 * Then they are no reason to refuse a jump. To kallsyms, the last function of a module includes the
 * zeros up to the end of the page. Two zero bytes decode as an instruction, but a last single one
 * does not.
 */
static bool safety_is_filler(unsigned long addr, unsigned long end)
{
	u8 buf[MAX_INSN_SIZE];
	size_t len = end - addr;

	return len <= sizeof(buf) && !copy_from_kernel_nofault(buf, (void *)addr, len) &&
	       !memchr_inv(buf, 0, len);
}

/*
 * @addr is in the .cold part of the function of @g, or in the function whose .cold part @g is in.
 * Refuse the jumps of @g if that other part has an indirect jump, or cannot be decoded: the jump
 * tables of one part may lead into both. text_mutex is held.
 */
static void safety_check_other_part(struct jump_group *g, unsigned long addr)
{
	unsigned long size, offset, at, end;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return;
	at = addr - offset;
	for (end = at + size; at < end; at += insn.length) {
		if (!x86_kprobe_decode_text(at, end, &insn, buf)) {
			if (!safety_is_filler(at, end))
				safety_refuse_all(g, KPROBE_REASON_JUMP_UNDECODED);
			return;
		}
		if (safety_is_indirect_jump(&insn, at))
			safety_refuse_all(g, KPROBE_REASON_JUMP_INDIRECT);
	}
}

/* If @target is in a .cold part, which has its own symbol, check that part for indirect jumps. */
static noinline void safety_check_cold_part(struct jump_group *g, unsigned long target)
{
	char name[KSYM_NAME_LEN];

	if (!lookup_symbol_name(target, name) && strstr(name, ".cold"))
		safety_check_other_part(g, target);
}

/**
 * struct hot_parts - the functions that a .cold part may belong to
 * @group: the jumps, in the .cold part
 * @found: number of functions found
 * @module: name of the module that has the functions; empty for the kernel itself
 * @name: name of the function
 */
struct hot_parts {
	struct jump_group *group;
	unsigned int found;
	char module[MODULE_NAME_LEN];
	char name[KSYM_NAME_LEN];
};

static int safety_check_hot_part(void *data, unsigned long addr)
{
	struct hot_parts *hot = data;

	guard(mutex)(&text_mutex);
	safety_check_other_part(hot->group, addr);
	hot->found++;
	return 0;
}

static int safety_check_hot_part_of_module(void *data, const char *name, unsigned long addr)
{
	struct hot_parts *hot = data;

	return strcmp(name, hot->name) ? 0 : safety_check_hot_part(hot, addr);
}

/*
 * Without IBT, an indirect jump of a function may lead to bytes in its .cold part that an optimised
 * probe would overwrite. So refuse the jumps of @g, if @g is in a .cold part, and the function has
 * an indirect jump or is not found. If several static functions have the name of that function,
 * kallsyms does not tell which of them the .cold part belongs to: check all of them.
 */
static noinline void safety_check_hot_parts(struct jump_group *g)
{
	struct hot_parts hot = { .group = g };
	unsigned long size, offset;
	char *module, *cold;

	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		return;
	/*
	 * Copy the module's name with preemption disabled: as soon as it is enabled, the module may
	 * be freed.
	 */
	scoped_guard(preempt)
		if (kallsyms_lookup(g->start, &size, &offset, &module, hot.name) && module)
			strscpy(hot.module, module);
	cold = strstr(hot.name, ".cold");
	if (!cold)
		return;
	*cold = '\0';
	if (hot.module[0])
		module_kallsyms_on_each_symbol(hot.module, safety_check_hot_part_of_module, &hot);
	else
		kallsyms_on_each_match_symbol(safety_check_hot_part, hot.name, &hot);
	if (!hot.found)
		safety_refuse_all(g, KPROBE_REASON_JUMP_INDIRECT);
}

/*
 * Without IBT, refuse the jumps of @g if @insn is an indirect jump, or if it leads to a .cold part
 * that has one. With IBT, the targets of indirect jumps have an endbr, so this is not needed.
 */
static void safety_check_indirect_jumps(struct jump_group *g, struct insn *insn, unsigned long at)
{
	unsigned long target;

	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		return;
	if (safety_is_indirect_jump(insn, at))
		safety_refuse_all(g, KPROBE_REASON_JUMP_INDIRECT);
	else if (x86_insn_branches(insn, at, &target) && x86_insn_kind(insn) != X86_KIND_CALL &&
		 target - g->start >= g->end - g->start)
		safety_check_cold_part(g, target);
}

/*
 * Can an instruction in [@at, @end), where @end is the end of the symbol, lead into the JTPR of
 * @jump (its bytes 1 to 4)? In the probed function, any instruction can. In other symbols only
 * short branches matter, since x86_kprobe_check_targets() finds the others. So a symbol before the
 * function matters if its end is within reach of a short branch; an instruction after the function
 * matters if its address @at is.
 */
static bool safety_concerns(const struct jump_group *g, const struct kprobe_jump *jump,
			    unsigned long at, unsigned long end)
{
	if (at < g->start)
		return end + SHORT_BRANCH > jump->addr;
	return at < g->end || at < safety_short_branch_end(jump);
}

/*
 * Refuse each jump of @g if the instruction branches into its JTPR (its bytes 1 to 4), or has an
 * operand that is an address there: code may load such an address, and jump to it.
 */
static void safety_check_targets(struct jump_group *g, struct insn *insn, unsigned long at,
				 unsigned long end)
{
	unsigned long target, first = g->first->addr + 1;
	unsigned long size = g->last->addr + KPROBE_JUMP_SIZE - first;
	bool branches = x86_insn_branches(insn, at, &target) && target - first < size;
	bool loads = x86_insn_has_address(insn, at, first, size);
	struct kprobe_jump *jump;

	if (branches) {
		jump = safety_first_jump(g, target - KPROBE_JUMP_SIZE + 1);
		for (; jump <= g->last && jump->addr < target; jump++)
			if (safety_concerns(g, jump, at, end))
				safety_refuse(jump, KPROBE_REASON_JUMP_BRANCH);
	}
	if (!loads)
		return;
	for (jump = g->first; jump <= g->last; jump++)
		if (safety_concerns(g, jump, at, end) &&
		    x86_insn_has_address(insn, at, jump->addr + 1, KPROBE_JUMP_SIZE - 1))
			safety_refuse(jump, KPROBE_REASON_JUMP_ADDRESS);
}

/*
 * Decode the symbol [@start, @end). If it is after the probed function, stop where no short branch
 * can reach bytes 1 to 4 of a jump any more. If it is before the function, decode all of it: only
 * decoding from its start shows where the last instructions begin.
 */
static void safety_decode_symbol(struct jump_group *g, unsigned long start, unsigned long end)
{
	unsigned long at, limit = end;
	struct kprobe_jump *jump, *in_dcr = g->first;
	bool own = start == g->start;
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;
	bool dead = false;

	if (start >= g->end)
		limit = min(end, safety_short_branch_end(g->last));
	for (at = start; at < limit && !safety_all_refused(g); at += insn.length) {
		if (!x86_kprobe_decode_text(at, end, &insn, buf)) {
			if (safety_is_filler(at, end))
				break;
			for (jump = g->first; jump <= g->last; jump++)
				if (safety_concerns(g, jump, at, end))
					safety_refuse(jump, KPROBE_REASON_JUMP_UNDECODED);
			return;
		}
		safety_check_targets(g, &insn, at, end);
		if (!own)
			continue;
		if (x86_insn_kind(&insn) == X86_KIND_LOAD_SEGMENT)
			safety_refuse_all(g, KPROBE_REASON_JUMP_SEGMENTS);
		safety_check_indirect_jumps(g, &insn, at);
		while (in_dcr <= g->last && at >= in_dcr->addr + KPROBE_JUMP_SIZE)
			in_dcr++;
		for (jump = in_dcr; jump <= g->last && at >= jump->addr; jump++) {
			if (jump->refusal)
				continue;
			safety_refuse(jump, safety_check_insn(g, jump, &insn, at, buf, dead));
			jump->dcr_size = at + insn.length - jump->addr;
		}
		dead = x86_insn_is_end(&insn, buf, dead);
	}
	if (!own)
		return;
	for (jump = g->first; jump <= g->last; jump++)
		if (jump->dcr_size < KPROBE_JUMP_SIZE)
			safety_refuse(jump, KPROBE_REASON_JUMP_END);
}

/*
 * May a short branch into the JTPR of a jump (its bytes 1 to 4) be in [@start, @end), which is
 * outside of the function? The opcode and the displacement of such a branch are two adjacent bytes:
 * look for them without regard to instruction boundaries. Few functions have such bytes next to
 * them. For all other functions this saves decoding the neighbours, which has to begin at their
 * start. If the range is too long for the buffer, or cannot be read, assume that there is such a
 * branch.
 */
static bool safety_may_branch_into(struct jump_group *g, unsigned long start, unsigned long end)
{
	unsigned long target, first = g->first->addr + 1;
	unsigned long size = g->last->addr + KPROBE_JUMP_SIZE - first;
	u8 buf[SHORT_BRANCH + KPROBE_JUMP_SIZE], *p = buf;

	guard(preempt)();
	if (end - start > sizeof(buf) || !x86_kprobe_read_original(start, buf, end - start))
		return true;
	for (; start + 1 < end; start++, p++) {
		switch (*p) {
		case 0x70 ... 0x7f:		/* jcc */
		case 0xe0 ... 0xe3:		/* loop, jcxz */
		case JMP8_INSN_OPCODE:
		case INT3_INSN_OPCODE:		/* not written by kprobes: may hide a branch */
			target = start + 2 + (s8)p[1];
			if (target - first < size)
				return true;
		}
	}
	return false;
}

static void safety_decode_around(struct jump_group *g)
{
	unsigned long at, size, offset;

	guard(mutex)(&text_mutex);
	safety_decode_symbol(g, g->start, g->end);
	at = min(g->first->addr - SHORT_BRANCH, g->start);
	if (!safety_may_branch_into(g, at, g->start) &&
	    !safety_may_branch_into(g, g->end, max(safety_short_branch_end(g->last), g->end)))
		return;
	for (at = g->start; !safety_all_refused(g) && at + SHORT_BRANCH > g->first->addr;
	     at -= offset) {
		if (!kallsyms_lookup_size_offset(--at, &size, &offset) ||
		    !__kernel_text_address(at))
			break;
		safety_decode_symbol(g, at - offset, at - offset + size);
	}
	for (at = g->end; !safety_all_refused(g) && at < safety_short_branch_end(g->last);
	     at += size) {
		if (!kallsyms_lookup_size_offset(at, &size, &offset) || offset ||
		    !__kernel_text_address(at))
			break;
		safety_decode_symbol(g, at, at + size);
	}
}

/* Refuse the jump if the kernel itself patches an instruction that the jump overlaps. */
static void safety_check_reserved(struct kprobe_jump *jump)
{
	unsigned long end = jump->addr + jump->dcr_size;
	void *first = (void *)jump->addr, *last = (void *)end - 1;
	bool reserved;

	jump_label_lock();
	scoped_guard(mutex, &text_mutex) {
		/* alternatives_text_reserved() takes the first byte after the range. */
		reserved = alternatives_text_reserved(first, last + 1);
		preempt_disable();
		reserved |= kprobe_patches_text(jump->addr, end) ||
			    ftrace_text_reserved(first, last);
		preempt_enable();
	}
	jump_label_unlock();
	if (reserved)
		safety_refuse(jump, KPROBE_REASON_JUMP_PATCHED);
}

/*
 * Group @jumps[0] with the jumps after it in the same function. Return: false if @jumps[0] is in no
 * function.
 */
static bool safety_find_group(struct jump_group *g, struct kprobe_jump *jumps, unsigned int nr)
{
	unsigned long size, offset;

	g->first = jumps;
	g->last = jumps;
	g->left = jumps;
	if (!kallsyms_lookup_size_offset(jumps->addr, &size, &offset))
		return false;
	g->start = jumps->addr - offset;
	g->end = g->start + size;
	while (g->last + 1 < jumps + nr && g->last[1].addr > g->last->addr &&
	       g->last[1].addr < g->end)
		g->last++;
	return true;
}

/**
 * arch_check_jumps() - do the safety check of jumps
 * @jumps: the probed addresses; the results are filled in
 * @nr: number of @jumps, more than 0
 *
 * A function is decoded only once if its jumps are adjacent in the array, in ascending order.
 *
 * Context: sleeps; takes jump_label_lock(), text_mutex and targets_mutex.
 *
 * Return: 0 or -ENOMEM.
 */
int arch_check_jumps(struct kprobe_jump *jumps, unsigned int nr)
{
	struct kprobe_jump *jump, *end = jumps + nr;
	struct jump_group g;
	int ret = 0;

	for (; jumps < end && !ret; jumps = g.last + 1) {
		if (!safety_find_group(&g, jumps, end - jumps)) {
			safety_refuse(jumps, KPROBE_REASON_JUMP_GONE);
			continue;
		}
		safety_decode_around(&g);
		if (!safety_all_refused(&g))
			safety_check_hot_parts(&g);
		for (jump = g.first; jump <= g.last; jump++) {
			if (!jump->refusal)
				safety_check_reserved(jump);
			if (!jump->refusal)
				ret = ret ?: x86_kprobe_check_targets(jump);
			cond_resched();
		}
	}
	return ret;
}
EXPORT_SYMBOL_IF_KUNIT(arch_check_jumps);
