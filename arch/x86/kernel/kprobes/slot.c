// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: building the slot of a probepoint, and patching it.
 *
 * A slot has one of three forms:
 *
 *	copy; int3				stepped
 *	copy; jmp back				boosted
 *	copy; call thunk; .quad kp; jmp back	boosted, with post_handlers
 *
 * The word that the call pushes tells the thunk which probepoint it is, and
 * is where the thunk returns to, after the pointer. A slot is complete before
 * anything can reach it and is never changed; a probepoint that needs another
 * form gets another slot.
 *
 * Slots are written under text_mutex, which nests inside kprobe_mutex.
 */
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "common.h"

/*
 * kprobes.boost=0 has every copy stepped that could be boosted: to compare,
 * and to find out whether it is boosting that something does not like.
 */
static bool x86_kprobe_boost = true;

static bool fits_s32(long v)
{
	return v == (s32)v;
}

/*
 * Make what is at @buf, to be run at @slot, refer to the memory that the
 * original at @addr does.
 */
static int fix_displacement(u8 *buf, unsigned long slot, unsigned long addr)
{
	struct insn insn;
	long disp;
	s32 disp32;

	if (insn_decode_kernel(&insn, buf))
		return -EILSEQ;
	if (!insn_rip_relative(&insn))
		return 0;
	disp = (long)insn.displacement.value + (long)(addr - slot);
	if (!fits_s32(disp))
		return -EOPNOTSUPP;
	disp32 = disp;
	memcpy(buf + insn_offset_displacement(&insn), &disp32, sizeof(disp32));
	return 0;
}

/* Put a jump or a call at @buf, which will be run at @at. */
static int put_branch(u8 *buf, u8 opcode, unsigned long at, unsigned long to)
{
	if (!fits_s32((long)to - (long)(at + JMP32_INSN_SIZE)))
		return -EOPNOTSUPP;
	__text_gen_insn(buf, opcode, (void *)at, (void *)to, JMP32_INSN_SIZE);
	return JMP32_INSN_SIZE;
}

/**
 * x86_kprobe_make_slot() - give a probepoint a slot
 * @p: the probepoint's kprobe; x86_kprobe_decode() has been through it
 * @post: the slot is to call post_handlers
 *
 * The new slot takes the place of the old one, if there is one.
 *
 * Context: sleeps; kprobe_mutex is held; takes text_mutex.
 *
 * Return: 0; -ENOMEM; or -EOPNOTSUPP if what the instruction refers to can't
 * be reached from the slot.
 */
int x86_kprobe_make_slot(struct kprobe *p, bool post)
{
	struct arch_specific_insn *ai = &p->ainsn;
	unsigned long slot, back = (unsigned long)p->addr + ai->size;
	u8 buf[KPROBE_SLOT_SIZE];
	kprobe_opcode_t *text;
	int len = ai->size, ret;

	text = get_insn_slot_for(p);
	if (!text)
		return -ENOMEM;
	slot = (unsigned long)text;

	memset(buf, INT3_INSN_OPCODE, sizeof(buf));
	memcpy(buf, ai->bytes, ai->size);
	ret = fix_displacement(buf, slot, (unsigned long)p->addr);
	if (ret)
		goto free;
	if (ai->slot_boosted && post) {
		ret = put_branch(buf + len, CALL_INSN_OPCODE, slot + len,
				 (unsigned long)kprobe_post_thunk);
		if (ret < 0)
			goto free;
		len += ret;
		memcpy(buf + len, &p, sizeof(p));
		len += sizeof(p);
	}
	if (ai->slot_boosted) {
		ret = put_branch(buf + len, JMP32_INSN_OPCODE, slot + len, back);
		if (ret < 0)
			goto free;
	}

	mutex_lock(&text_mutex);
	text_poke(text, buf, sizeof(buf));
	mutex_unlock(&text_mutex);
	perf_event_text_poke(text, NULL, 0, buf, sizeof(buf));

	ai->post = ai->slot_boosted && post;
	/* Hits see a slot that is complete. */
	smp_store_release(&ai->insn, text);
	return 0;
free:
	free_insn_slot(text, 0);
	return ret;
}

/**
 * arch_kprobe_reshape() - give a probepoint the slot it needs now
 * @p: the probepoint's kprobe
 * @post: the slot is to call post_handlers
 * @old: where to put the slot that it had, for the caller to free when nobody
 *	can be running in it; NULL if it keeps it
 *
 * Context: sleeps; kprobe_mutex is held.
 *
 * Return: 0 or -ENOMEM.
 */
int arch_kprobe_reshape(struct kprobe *p, bool post, kprobe_opcode_t **old)
{
	struct arch_specific_insn *ai = &p->ainsn;
	kprobe_opcode_t *before = ai->insn;
	int ret;

	*old = NULL;
	if (ai->emulate) {
		/*
		 * Post_handlers are cheaper to call after emulation than from
		 * the slot. A hit may find it either way: both are right.
		 */
		WRITE_ONCE(ai->boosted, ai->slot_boosted && !post);
		return 0;
	}
	/* Stepping calls the post_handlers itself. */
	if (!ai->boosted || ai->post == post)
		return 0;
	ret = x86_kprobe_make_slot(p, post);
	if (ret)
		return ret;
	*old = before;
	return 0;
}

/**
 * arch_prepare_kprobe() - look at the instruction of a new probepoint
 * @p: the probepoint's kprobe, with nothing set but its addr
 *
 * Context: sleeps; kprobe_mutex is held; takes text_mutex.
 *
 * Return: 0, or an errno as register_kprobe() documents it.
 */
int arch_prepare_kprobe(struct kprobe *p)
{
	int ret;

	/* The end of this range is the first byte after it. */
	scoped_guard(mutex, &text_mutex)
		if (alternatives_text_reserved(p->addr, p->addr + 1))
			return -EINVAL;
	ret = x86_kprobe_decode(p);
	if (ret || p->ainsn.slotless)
		return ret;
	/* Fixed from here on: a hit must not find it other than the slot is. */
	p->ainsn.slot_boosted = p->ainsn.boostable && x86_kprobe_boost;
	p->ainsn.boosted = p->ainsn.slot_boosted;
	return x86_kprobe_make_slot(p, false);
}

/**
 * arch_remove_kprobe() - free the slot of a probepoint
 * @p: the probepoint's kprobe; nobody can be running in its slot
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void arch_remove_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = p->ainsn.insn;

	if (!slot)
		return;
	perf_event_text_poke(slot, slot, KPROBE_SLOT_SIZE, NULL, 0);
	free_insn_slot(slot, 1);
	p->ainsn.insn = NULL;
}

static void poke_first_byte(struct kprobe *p, u8 from, u8 to)
{
	text_poke(p->addr, &to, 1);
	perf_event_text_poke(p->addr, &from, 1, &to, 1);
}

/**
 * arch_arm_kprobe() - put the breakpoint of a probepoint in place
 * @p: the probepoint's kprobe
 *
 * Not all CPUs see it before arch_kprobes_sync().
 *
 * Context: sleeps; text_mutex is held.
 */
void arch_arm_kprobe(struct kprobe *p)
{
	poke_first_byte(p, p->opcode, INT3_INSN_OPCODE);
}

/**
 * arch_disarm_kprobe() - take the breakpoint of a probepoint away
 * @p: the probepoint's kprobe
 *
 * Some CPUs may still hit it before arch_kprobes_sync().
 *
 * Context: sleeps; text_mutex is held.
 */
void arch_disarm_kprobe(struct kprobe *p)
{
	poke_first_byte(p, INT3_INSN_OPCODE, p->opcode);
}

/**
 * arch_kprobes_sync() - make all CPUs see what was patched
 *
 * int3 is handled with interrupts off, so when every CPU has taken the
 * interrupt that this sends, none is still on its way into the handler of a
 * breakpoint that is there no more.
 *
 * Context: sleeps; text_mutex is held.
 */
void arch_kprobes_sync(void)
{
	text_poke_sync();
}

/**
 * arch_adjust_kprobe_addr() - keep the entry of a function off its endbr
 * @func: start of the function
 * @offset: how far from it the probe is asked for, in bytes
 * @is_entry: set if the address counts as the function's entry
 *
 * An indirect call has to find endbr; where it is the first instruction, the
 * one after it is where the function begins for a probe.
 *
 * Return: the address to probe.
 */
kprobe_opcode_t *arch_adjust_kprobe_addr(unsigned long func, unsigned long offset, bool *is_entry)
{
	unsigned long entry = 0;
	u32 insn;

	if (!get_kernel_nofault(insn, (u32 *)func) && is_endbr(insn))
		entry = ENDBR_INSN_SIZE;
	*is_entry = !offset || offset == entry;
	return (kprobe_opcode_t *)func + (*is_entry ? entry : offset);
}

/**
 * arch_within_kprobe_blacklist() - the entry code can't take a trap
 * @addr: address of code
 *
 * Return: true if @addr is in it.
 */
bool arch_within_kprobe_blacklist(unsigned long addr)
{
	void *p = (void *)addr;

	return p >= (void *)__entry_text_start && p < (void *)__entry_text_end;
}

/**
 * arch_populate_kprobe_blacklist() - list the entry code
 *
 * Return: 0 or a negative errno.
 */
int __init arch_populate_kprobe_blacklist(void)
{
	unsigned long end = (unsigned long)__entry_text_end;

	return kprobe_add_area_blacklist((unsigned long)__entry_text_start, end);
}

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."
module_param_named(boost, x86_kprobe_boost, bool, 0644);
MODULE_PARM_DESC(boost, "run copies of instructions without a second trap (default: on)");
