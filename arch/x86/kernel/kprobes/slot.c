// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: building the slot of a probepoint, and patching it.
 *
 * A slot has one of three forms:
 *
 *	.quad kp; copy; int3			stepped
 *	.quad kp; copy; jmp back		boosted
 *	.quad kp; copy; call thunk; jmp back	boosted, with post_handlers
 *
 * A branch is not copied but made anew, for it has another way to go; it is
 * emulated where post_handlers are to be told where it went.
 *
 * The word that the call pushes tells the thunk which slot it is. A slot is
 * complete before anything can reach it and is never changed; a probepoint that
 * needs another form gets another slot. Detours, which opt.c makes, are slots
 * of a fourth form.
 *
 * Slots are written under text_mutex, which nests inside kprobe_mutex.
 */
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/sections.h>
#include <asm/text-patching.h>

#include "common.h"

#define PUSH_IMM32_OPCODE	0x68

/*
 * kprobes.boost=0 has every copy stepped that could be boosted: to compare,
 * and to find out whether it is boosting that something does not like.
 */
bool x86_kprobe_boost = true;

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

/**
 * x86_kprobe_put_copy() - put a copy of an instruction into a slot
 * @buf: where to write it
 * @bytes: the original
 * @size: its length
 * @at: where the copy is going to be run
 * @addr: where the original is
 *
 * Return: the length of the copy; or -EOPNOTSUPP if what the instruction refers
 * to can't be reached from the slot.
 */
int x86_kprobe_put_copy(u8 *buf, const u8 *bytes, size_t size, unsigned long at,
			unsigned long addr)
{
	memcpy(buf, bytes, size);
	return fix_displacement(buf, at, addr) ?: size;
}

/**
 * x86_kprobe_put_branch() - put a jump or a call into a slot
 * @buf: where to write it
 * @opcode: the opcode, of one byte
 * @at: where it is going to be run
 * @to: where it is to lead
 *
 * Return: the length of it; or -EOPNOTSUPP if that is too far away.
 */
int x86_kprobe_put_branch(u8 *buf, u8 opcode, unsigned long at, unsigned long to)
{
	if (!fits_s32((long)to - (long)(at + JMP32_INSN_SIZE)))
		return -EOPNOTSUPP;
	__text_gen_insn(buf, opcode, (void *)at, (void *)to, JMP32_INSN_SIZE);
	return JMP32_INSN_SIZE;
}

/**
 * x86_kprobe_put_branch_copy() - put what does the same as a branch into a slot
 * @buf: where to write it
 * @insn: the branch: jmp, jcc or call
 * @at: where it is going to be run
 * @addr: where the original is
 * @target: where that leads
 *
 * Short ones are made long, they have farther to go. A call is none any more,
 * so that it returns to the original.
 *
 * Return: the length of it; or -EOPNOTSUPP if the target is too far away.
 */
int x86_kprobe_put_branch_copy(u8 *buf, struct insn *insn, unsigned long at, unsigned long addr,
			       unsigned long target)
{
	u8 op = insn->opcode.bytes[insn->opcode.nbytes - 1];
	s32 next = addr + insn->length;
	int ret;

	if (x86_insn_is_call(insn)) {
		/* Sign-extended, it is the address that the call would push. */
		if ((long)next != (long)(addr + insn->length))
			return -EOPNOTSUPP;
		buf[0] = PUSH_IMM32_OPCODE;
		memcpy(buf + 1, &next, sizeof(next));
		ret = x86_kprobe_put_branch(buf + KPROBE_PUSH_SIZE, JMP32_INSN_OPCODE,
					    at + KPROBE_PUSH_SIZE, target);
		return ret < 0 ? ret : KPROBE_PUSH_SIZE + ret;
	}
	if (op == JMP32_INSN_OPCODE || op == JMP8_INSN_OPCODE)
		return x86_kprobe_put_branch(buf, JMP32_INSN_OPCODE, at, target);
	/* jcc: the long form has a prefix, and the same condition */
	buf[0] = 0x0f;
	ret = x86_kprobe_put_branch(buf + 1, 0x80 | (op & 0xf), at + 1, target);
	return ret < 0 ? ret : 1 + ret;
}

/* The instruction of @p, as it is to be in the slot. */
static int put_insn(struct kprobe *p, u8 *buf, unsigned long at)
{
	struct arch_specific_insn *ai = &p->ainsn;
	struct insn insn;

	if (!ai->branch)
		return x86_kprobe_put_copy(buf, ai->bytes, ai->size, at, (unsigned long)p->addr);
	if (insn_decode_kernel(&insn, ai->bytes))
		return -EILSEQ;
	return x86_kprobe_put_branch_copy(buf, &insn, at, (unsigned long)p->addr, ai->imm);
}

/**
 * x86_kprobe_write_slot() - fill a slot
 * @slot: the slot, in which nothing runs yet
 * @buf: what it is to be, KPROBE_SLOT_SIZE bytes
 *
 * Context: sleeps; takes text_mutex.
 */
void x86_kprobe_write_slot(kprobe_opcode_t *slot, const u8 *buf)
{
	mutex_lock(&text_mutex);
	text_poke(slot, buf, KPROBE_SLOT_SIZE);
	mutex_unlock(&text_mutex);
	perf_event_text_poke(slot, NULL, 0, buf, KPROBE_SLOT_SIZE);
}

/**
 * x86_kprobe_choose_run() - decide where hits go on
 * @p: the probepoint's kprobe
 *
 * A hit finds it either way: all that have been there are right.
 *
 * Context: kprobe_mutex is held.
 */
void x86_kprobe_choose_run(struct kprobe *p)
{
	struct arch_specific_insn *ai = &p->ainsn;
	unsigned long run = 0;

	if (ai->detour)
		run = kprobe_copy_of((unsigned long)ai->detour, true);
	/* Post_handlers are cheaper to call after emulation than from the slot. */
	else if (ai->slot_boosted && !(ai->emulate && ai->run_post))
		run = (unsigned long)ai->insn;
	/* Hits see a slot that is complete. */
	smp_store_release(&ai->run, run);
}

static kprobe_opcode_t *slot_start(const struct arch_specific_insn *ai)
{
	return ai->insn ? ai->insn - KPROBE_SLOT_CODE : NULL;
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
	unsigned long slot;
	int len = KPROBE_SLOT_CODE, ret;
	u8 buf[KPROBE_SLOT_SIZE];
	kprobe_opcode_t *text;

	text = get_insn_slot_for(p);
	if (!text)
		return -ENOMEM;
	slot = (unsigned long)text;

	memset(buf, INT3_INSN_OPCODE, sizeof(buf));
	memcpy(buf, &p, sizeof(p));
	ret = put_insn(p, buf + len, slot + len);
	if (ret < 0)
		goto free;
	len += ret;
	if (ai->slot_boosted && post) {
		ret = x86_kprobe_put_branch(buf + len, CALL_INSN_OPCODE, slot + len,
					    (unsigned long)kprobe_post_thunk);
		if (ret < 0)
			goto free;
		len += ret;
	}
	if (ai->slot_boosted) {
		ret = x86_kprobe_put_branch(buf + len, JMP32_INSN_OPCODE, slot + len,
					    ai->next_ip);
		if (ret < 0)
			goto free;
	}
	x86_kprobe_write_slot(text, buf);

	ai->post = ai->slot_boosted && post;
	/* Steps see a slot that is complete. */
	smp_store_release(&ai->insn, text + KPROBE_SLOT_CODE);
	x86_kprobe_choose_run(p);
	return 0;
free:
	free_insn_slot(text, 0);
	return ret;
}

/**
 * arch_kprobe_reshape() - give a probepoint the slot it needs now
 * @p: the probepoint's kprobe
 * @post: there are post_handlers to be called
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
	kprobe_opcode_t *before = slot_start(ai);
	int ret;

	*old = NULL;
	/* Stepping and emulation have them called themselves. */
	if (ai->slot_boosted && !ai->emulate && ai->post != post) {
		ret = x86_kprobe_make_slot(p, post);
		if (ret)
			return ret;
		*old = before;
	}
	ai->run_post = post;
	x86_kprobe_choose_run(p);
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
	struct arch_specific_insn *ai = &p->ainsn;
	int ret;

	/* The end of this range is the first byte after it. */
	scoped_guard(mutex, &text_mutex)
		if (alternatives_text_reserved(p->addr, p->addr + 1))
			return -EINVAL;
	ret = x86_kprobe_decode(p);
	if (ret || ai->slotless)
		return ret;
	/* Fixed from here on: a hit must not find it other than the slot is. */
	ai->slot_boosted = (ai->boostable || ai->branch) && x86_kprobe_boost;
	ret = ai->branch && !ai->slot_boosted ? -EOPNOTSUPP : x86_kprobe_make_slot(p, false);
	if (ai->branch && ret == -EOPNOTSUPP) {
		/* Emulation is all it takes. */
		ai->slot_boosted = false;
		ai->slotless = true;
		ret = 0;
	}
	return ret;
}

/**
 * arch_remove_kprobe() - free the slot of a probepoint
 * @p: the probepoint's kprobe; nobody can be running in its slot
 *
 * Context: sleeps; kprobe_mutex is held.
 */
void arch_remove_kprobe(struct kprobe *p)
{
	kprobe_opcode_t *slot = slot_start(&p->ainsn);

	if (!slot)
		return;
	free_insn_slot(slot, 1);
	p->ainsn.insn = NULL;
}

/*
 * What the text is for perf is what any CPU may execute there, or a breakpoint,
 * in whose place traces have the exception. So perf is told of a breakpoint when
 * no CPU can execute the original any more, and of the original before any can.
 */

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
	u8 int3 = INT3_INSN_OPCODE;

	text_poke(p->addr, &int3, 1);
}

/**
 * arch_kprobe_armed() - tell perf of the breakpoint of a probepoint
 * @p: the probepoint's kprobe; all CPUs see the breakpoint
 *
 * Context: text_mutex is held.
 */
void arch_kprobe_armed(struct kprobe *p)
{
	u8 original = p->opcode, int3 = INT3_INSN_OPCODE;

	perf_event_text_poke(p->addr, &original, 1, &int3, 1);
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
	u8 original = p->opcode, int3 = INT3_INSN_OPCODE;

	perf_event_text_poke(p->addr, &int3, 1, &original, 1);
	text_poke(p->addr, &original, 1);
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
 * arch_within_kprobe_blacklist() - tell what can't take a trap
 * @addr: address of code
 *
 * Entry code can't, and neither can what the handling of a trap returns and
 * makes indirect calls by: thunks, some of them before the entry code and some
 * after it, and the jumps of static calls.
 *
 * Return: true if @addr is in such code.
 */
bool arch_within_kprobe_blacklist(unsigned long addr)
{
	void *p = (void *)addr;

	return p >= (void *)__softirqentry_text_end && p < (void *)_etext;
}

/**
 * arch_populate_kprobe_blacklist() - list what can't take a trap
 *
 * Return: 0 or a negative errno.
 */
int __init arch_populate_kprobe_blacklist(void)
{
#ifdef CONFIG_PREEMPTION
	int ret;

	/* Hit at its entry, it would call itself when the handlers are through. */
	ret = kprobe_add_ksym_blacklist((unsigned long)preempt_schedule_notrace);
	if (ret < 0)
		return ret;
#endif
	return kprobe_add_area_blacklist((unsigned long)__softirqentry_text_end,
					 (unsigned long)_etext);
}

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."
module_param_named(boost, x86_kprobe_boost, bool, 0644);
MODULE_PARM_DESC(boost, "run copies of instructions without a second trap (default: on)");
