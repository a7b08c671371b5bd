// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: where a jump may be put into the text.
 *
 * A jump takes five bytes. Unless one instruction has as many, nobody may ever
 * get to the others but through the first: no branch, no exception-table fixup,
 * no patched jump label, no return of a call, and no task that has gone to
 * sleep there and comes back. And each instruction under the jump must be one
 * that can be run elsewhere, but for the int3 that compilers put after returns
 * and jumps, which nobody runs.
 *
 * The function itself is decoded. Its neighbours are, too, where they are near
 * enough for a short jump. What leads there from farther away is known from a
 * search of all text, see entries.c.
 *
 * What can't be seen is where an indirect jump leads. With
 * CONFIG_X86_KERNEL_IBT any target has an endbr. Without it a function with an
 * indirect jump is out, and a jump to a retpoline is one: with retpolines the
 * compiler makes no jump tables of switch statements, but the BPF interpreter
 * goes from one label to another by a table of its own, and assembly may do so.
 *
 * No lock of kprobes is held all this time. What the text was without probes is
 * what is looked at, so it does not matter which come and go; a branch that
 * leads from one function into the middle of another never gets under a jump,
 * or the search would miss it.
 */
#include <linux/cleanup.h>
#include <linux/extable.h>
#include <linux/ftrace.h>
#include <linux/jump_label.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "common.h"

/* How far a branch with one byte of displacement gets, either way. */
#define SHORT_BRANCH	130

static void refuse(struct kprobe_jump *jump, const char *why)
{
	if (!jump->refusal)
		jump->refusal = why;
}

/* Is it an address that nobody may get to? */
static bool is_inside(const struct kprobe_jump *jump, unsigned long addr)
{
	return addr - jump->addr - 1 < KPROBE_JUMP_SIZE - 1;
}

/* No short branch from there or above leads under the jump. */
static unsigned long short_branch_end(const struct kprobe_jump *jump)
{
	return jump->addr + KPROBE_JUMP_SIZE + SHORT_BRANCH;
}

/*
 * Decoding.
 */

static bool decode(unsigned long addr, unsigned long end, struct insn *insn,
		   u8 buf[MAX_INSN_SIZE])
{
	size_t max = min_t(size_t, end - addr, MAX_INSN_SIZE);

	guard(preempt)();
	return x86_kprobe_read_original(addr, buf, max) &&
	       !insn_decode(insn, buf, max, INSN_MODE_KERN);
}

/* Does a jump to @target go on to where a register says? */
static bool is_indirect_thunk(unsigned long target)
{
#ifdef CONFIG_MITIGATION_RETPOLINE
	const struct {
		unsigned long start;
		unsigned long size;
	} thunks[] = {
		{ (unsigned long)__x86_indirect_thunk_array, sizeof(retpoline_thunk_t) },
#ifdef CONFIG_MITIGATION_CALL_DEPTH_TRACKING
		{ (unsigned long)__x86_indirect_jump_thunk_array, sizeof(retpoline_thunk_t) },
#endif
#ifdef CONFIG_MITIGATION_ITS
		{ (unsigned long)__x86_indirect_its_thunk_array, sizeof(its_thunk_t) },
#endif
	};
	unsigned int i;

	/* One for each register */
	for (i = 0; i < ARRAY_SIZE(thunks); i++)
		if (target - thunks[i].start < 16 * thunks[i].size)
			return true;
#endif
	/* For ITS more thunks are allocated. */
	return !__kernel_text_address(target);
}

/* At boot a retpoline may have become a jump through the register. */
static bool is_indirect_jump(struct insn *insn, unsigned long addr)
{
	unsigned long target;

	if (x86_insn_jumps_indirectly(insn))
		return true;
	return x86_insn_branches(insn, addr, &target) && !x86_insn_is_call(insn) &&
	       is_indirect_thunk(target);
}

/*
 * May the instruction at @addr be under the jump? It is dead if the one before it
 * never goes on there.
 */
static const char *refuse_insn(struct kprobe_jump *jump, struct insn *insn, unsigned long addr,
			       const u8 *bytes, bool dead)
{
	unsigned long target, size, offset, next = addr + insn->length;

	if (next > jump->end)
		return "the function ends before the jump does";
	if (within_kprobe_blacklist(addr))
		return "text that can't be probed is under the jump";
	if (addr != jump->addr && search_exception_tables(addr))
		return "a task may sleep in a fault under the jump";
	if (addr != jump->addr && insn->length == ENDBR_INSN_SIZE &&
	    is_endbr(get_unaligned((u32 *)bytes)))
		return "an indirect jump leads under the jump";

	if (x86_insn_branches(insn, addr, &target)) {
		if (!x86_insn_has_near_form(insn))
			return "a branch under the jump has no long form";
		if (x86_insn_is_call(insn) && next < jump->addr + KPROBE_JUMP_SIZE)
			return "a call returns under the jump";
		if (target - jump->start >= jump->end - jump->start &&
		    (!kallsyms_lookup_size_offset(target, &size, &offset) || offset))
			return "a branch under the jump leads into another function";
		return NULL;
	}
	/* It only fills the space; whatever leads there is found as for any other. */
	if (dead && bytes[0] == INT3_INSN_OPCODE)
		return NULL;
	if (x86_insn_is_ret(insn) || x86_insn_boostable(insn))
		return NULL;
	return "an instruction under the jump can't be moved";
}

/* The last function of a module has the rest of its page, too. */
static bool is_filler(unsigned long addr, unsigned long end)
{
	u8 buf[MAX_INSN_SIZE];
	size_t len = end - addr;

	return len <= sizeof(buf) && !copy_from_kernel_nofault(buf, (void *)addr, len) &&
	       !memchr_inv(buf, 0, len);
}

/*
 * Refuse a jump in a function whose split-off part, if @target is in it, has an
 * indirect jump.
 */
static noinline void check_cold_part(struct kprobe_jump *jump, unsigned long target)
{
	unsigned long size, offset, at, end;
	char name[KSYM_NAME_LEN];
	u8 buf[MAX_INSN_SIZE];
	struct insn insn;

	if (lookup_symbol_name(target, name) || !strstr(name, ".cold") ||
	    !kallsyms_lookup_size_offset(target, &size, &offset))
		return;
	at = target - offset;
	for (end = at + size; at < end; at += insn.length) {
		if (!decode(at, end, &insn, buf)) {
			if (!is_filler(at, end))
				refuse(jump, "not all of the function can be decoded");
			return;
		}
		if (is_indirect_jump(&insn, at))
			refuse(jump, "where an indirect jump leads is not known");
	}
}

/* Without endbr where they lead, indirect jumps of its own rule a function out. */
static void check_indirect_jumps(struct kprobe_jump *jump, struct insn *insn, unsigned long at)
{
	unsigned long target;

	if (IS_ENABLED(CONFIG_X86_KERNEL_IBT))
		return;
	if (is_indirect_jump(insn, at))
		refuse(jump, "where an indirect jump leads is not known");
	else if (x86_insn_branches(insn, at, &target) && !x86_insn_is_call(insn) &&
		 target - jump->start >= jump->end - jump->start)
		check_cold_part(jump, target);
}

/*
 * Decode [@start, @end), a symbol; it may be the one that is probed. If it is
 * not, what counts is what short branches can get from.
 */
static void decode_symbol(struct kprobe_jump *jump, unsigned long start, unsigned long end)
{
	bool own = jump->addr - start < end - start;
	unsigned long reach = own ? end : min(end, short_branch_end(jump));
	u8 buf[MAX_INSN_SIZE];
	unsigned long at, target;
	struct insn insn;
	bool dead = false;

	for (at = start; at < reach && !jump->refusal; at += insn.length) {
		if (!decode(at, end, &insn, buf)) {
			if (is_filler(at, end))
				break;
			refuse(jump, "not all of the function can be decoded");
			return;
		}
		if (x86_insn_branches(&insn, at, &target) && is_inside(jump, target))
			refuse(jump, "a branch leads under the jump");
		if (x86_insn_loads_address(&insn, at, &target) && is_inside(jump, target))
			refuse(jump, "the address of what is under the jump is used");
		if (own)
			check_indirect_jumps(jump, &insn, at);
		if (at < jump->addr || at >= jump->addr + KPROBE_JUMP_SIZE)
			continue;
		refuse(jump, refuse_insn(jump, &insn, at, buf, dead));
		dead = x86_insn_never_falls_through(&insn) || (dead && buf[0] == INT3_INSN_OPCODE);
		jump->reach = at + insn.length - jump->addr;
	}
	if (own && jump->reach < KPROBE_JUMP_SIZE)
		refuse(jump, "the function ends before the jump does");
}

static void decode_around(struct kprobe_jump *jump)
{
	unsigned long at, size, offset;

	/* Nothing else patches text meanwhile. */
	guard(mutex)(&text_mutex);
	decode_symbol(jump, jump->start, jump->end);
	for (at = jump->start; !jump->refusal && at + SHORT_BRANCH > jump->addr; at -= offset) {
		if (!kallsyms_lookup_size_offset(--at, &size, &offset) ||
		    !__kernel_text_address(at))
			break;
		decode_symbol(jump, at - offset, at - offset + size);
	}
	for (at = jump->end; !jump->refusal && at < short_branch_end(jump); at += size) {
		if (!kallsyms_lookup_size_offset(at, &size, &offset) || offset ||
		    !__kernel_text_address(at))
			break;
		decode_symbol(jump, at, at + size);
	}
}

/*
 * What the kernel keeps notes of.
 */

/* A static call without a site of its own goes by way of a jump that is patched. */
static bool is_static_call_trampoline(unsigned long addr)
{
	static const u8 mark[] = { 0x0f, 0xb9, 0xcc };
	u8 text[sizeof(mark)];

	return !copy_from_kernel_nofault(text, (void *)(addr + JMP32_INSN_SIZE), sizeof(text)) &&
	       !memcmp(text, mark, sizeof(mark));
}

static void check_reserved(struct kprobe_jump *jump)
{
	void *first = (void *)jump->addr, *last = first + jump->reach - 1;
	bool reserved;

	jump_label_lock();
	scoped_guard(mutex, &text_mutex) {
		/* The end of this range is the first byte after it. */
		reserved = alternatives_text_reserved(first, last + 1);
		preempt_disable();
		reserved |= jump_label_text_reserved(first, last) ||
			    static_call_text_reserved(first, last) ||
			    ftrace_text_reserved(first, last) ||
			    is_static_call_trampoline(jump->addr);
		preempt_enable();
	}
	jump_label_unlock();
	if (reserved)
		refuse(jump, "the kernel patches what is under the jump itself");
}

/**
 * arch_check_jumps() - find out where jumps may take the place of breakpoints
 * @jumps: the probed addresses; what is found out about them is filled in
 * @nr: how many they are, more than 0
 *
 * Context: sleeps; takes jump_label_lock() and text_mutex now and then.
 *
 * Return: 0 or -ENOMEM.
 */
int arch_check_jumps(struct kprobe_jump *jumps, unsigned int nr)
{
	unsigned long size, offset;
	struct kprobe_jump *jump;
	int ret = 0;

	for (jump = jumps; jump < jumps + nr && !ret; jump++) {
		if (!kallsyms_lookup_size_offset(jump->addr, &size, &offset)) {
			refuse(jump, "the function is not known");
			continue;
		}
		jump->start = jump->addr - offset;
		jump->end = jump->start + size;
		decode_around(jump);
		if (!jump->refusal)
			check_reserved(jump);
		if (!jump->refusal)
			ret = x86_kprobe_check_entries(jump);
		cond_resched();
	}
	return ret;
}
