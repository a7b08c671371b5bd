// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: detours, and the jumps to them.
 *
 * Where it is safe, see safety.c, a jump takes the place of the breakpoint. It
 * leads to a detour, which is a slot of this form:
 *
 *	.quad kp; call thunk; copies of all instructions under the jump; jmp back
 *
 * With post_handlers, a call of another thunk follows the first copy. The end
 * of the slot tells which original each copy belongs to.
 *
 * A detour can be entered behind the call of the thunk, too. That is where hits
 * of the breakpoint are sent from the moment there is a detour, so that after a
 * grace period of tasks RCU nobody can be in the bytes that the jump is going
 * to cover, nor on the way to them. They are sent there, too, until the text is
 * the original again.
 *
 * Text is patched under text_mutex. Detours are made and dropped under
 * kprobe_mutex; the core frees them when nobody can be in them.
 */
#include <linux/kprobes.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/alternative.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "common.h"

/* Where @detour has the copy of what is @offset behind the probed address. */
static unsigned long __kprobes copy_at(unsigned long detour, unsigned long offset)
{
	const struct kprobe_detour_map *map = kprobe_detour_map(detour);
	unsigned int i;

	for (i = 0; map && i < map->nr; i++) {
		unsigned long copy = detour + map->at[i];

		if (map->from[i] != offset)
			continue;
		/* No copy is a call, so that is the one of the post_handlers. */
		return copy + (*(u8 *)copy == CALL_INSN_OPCODE ? CALL_INSN_SIZE : 0);
	}
	return 0;
}

/**
 * x86_kprobe_landing() - find out where to go on
 * @ip: where a handler wants to
 *
 * Context: preemption is disabled, and stays so, or the task is not one to
 * sleep, until it is there.
 *
 * Return: @ip; or if there is a jump, or one to come, over the instruction
 * there, its copy in the detour.
 */
unsigned long __kprobes x86_kprobe_landing(unsigned long ip)
{
	unsigned long detour, copy;
	struct kprobe *kp;
	int i;

	for (i = 1; i < KPROBE_JUMP_SIZE; i++) {
		kp = get_kprobe((void *)(ip - i));
		if (!kp)
			continue;
		detour = (unsigned long)READ_ONCE(kp->ainsn.detour);
		copy = detour ? copy_at(detour, i) : 0;
		if (copy)
			return copy;
	}
	return ip;
}

/**
 * kprobe_detour_missed() - end a hit that a handler has made itself
 * @kp: the probepoint's kprobe
 *
 * Context: that of the probed function, but preemption is disabled and is
 * enabled here.
 */
asmlinkage __visible void __kprobes kprobe_detour_missed(struct kprobe *kp)
{
	kprobes_inc_nmissed_count(kp);
	preempt_enable_notrace();
}

/**
 * kprobe_detour_elsewhere() - end a hit whose handler has set where to go on
 * @regs: registers as the handler has left them
 * @f: the frame of the handler
 *
 * Context: that of the probed function, but preemption is disabled and is
 * enabled here.
 *
 * Return: true if all registers are to be as in @regs; false if the stack
 * pointer is what it was, and a return to where the thunk was called from will
 * do.
 */
asmlinkage __visible bool __kprobes kprobe_detour_elsewhere(struct pt_regs *regs,
							    struct kprobe_frame *f)
{
	unsigned long *where = kprobe_thunk_return(regs);

	kprobe_pop_frame(f);
	regs->ip = x86_kprobe_landing(regs->ip);
	preempt_enable_notrace();
	if (regs->sp != (unsigned long)(where + 1))
		return true;
	*where = regs->ip;
	return false;
}

/*
 * Put a copy of what is at @addr, not a branch, into a detour.
 *
 * A bare return is in the text where the kernel's mitigations need no return
 * thunk at that address (alternatives have replaced the jump to it), or where
 * assembly has asked for one. The detour has it at another address, in another
 * half of a cacheline, so it is decided anew: with ITS, returns are safe in the
 * upper half only. A jump to a return thunk is a branch, and is made anew.
 */
static int put_copy(u8 *buf, struct insn *insn, const u8 *bytes, unsigned long at,
		    unsigned long addr)
{
	if (x86_insn_op(insn) == X86_OP_RETURN && cpu_wants_rethunk_at((void *)at))
		return x86_kprobe_put_branch(buf, JMP32_INSN_OPCODE, at,
					     (unsigned long)x86_return_thunk);
	return x86_kprobe_put_copy(buf, bytes, insn->length, at, addr);
}

/* Write the copies and all that follows; @map is what they are copies of. */
static int fill_detour(struct kprobe *p, u8 *buf, unsigned long slot, const u8 *original,
		       unsigned int reach, bool post, struct kprobe_detour_map *map)
{
	unsigned long addr = (unsigned long)p->addr, target;
	unsigned int done = 0, len = KPROBE_SLOT_CODE;
	struct insn insn;
	int ret;

	map->nr = 0;
	ret = x86_kprobe_put_branch(buf + len, CALL_INSN_OPCODE, slot + len,
				    (unsigned long)kprobe_detour_thunk);
	while (ret > 0 && done < reach) {
		len += ret;
		if (insn_decode(&insn, original + done, reach - done, INSN_MODE_KERN))
			return -EILSEQ;
		/* The longest there is, and a call and a jump. */
		if (len + MAX_INSN_SIZE + 2 * JMP32_INSN_SIZE > KPROBE_DETOUR_END)
			return -ENOSPC;
		/* Post_handlers are to be called on both its ways. */
		if (post && !done && !x86_insn_boostable(&insn))
			return -EOPNOTSUPP;
		if (x86_insn_branches(&insn, addr + done, &target))
			ret = x86_kprobe_put_branch_copy(buf + len, &insn, slot + len, addr + done,
							 target);
		else
			ret = put_copy(buf + len, &insn, original + done, slot + len, addr + done);
		if (ret < 0)
			return ret;
		done += insn.length;
		map->at[map->nr] = len + ret;
		map->from[map->nr] = done;
		if (x86_insn_is_call(&insn)) {
			/* When it has pushed, it is where it calls. */
			map->at[map->nr] = len + KPROBE_PUSH_SIZE;
			map->from[map->nr] = KPROBE_DETOUR_CALLED;
		}
		map->nr++;
		if (map->nr == 1 && post) {
			len += ret;
			ret = x86_kprobe_put_branch(buf + len, CALL_INSN_OPCODE, slot + len,
						    (unsigned long)kprobe_post_thunk);
		}
	}
	if (ret > 0) {
		len += ret;
		ret = x86_kprobe_put_branch(buf + len, JMP32_INSN_OPCODE, slot + len, addr + done);
	}
	return min(ret, 0);
}

/**
 * arch_prepare_detour() - make a detour, and send hits of the breakpoint there
 * @p: the probepoint's kprobe, which has none
 * @reach: how many bytes of the text the instructions under the jump take, as
 *	arch_check_jumps() found
 * @post: there are post_handlers to be called
 *
 * Context: sleeps; kprobe_mutex is held; takes text_mutex.
 *
 * Return: 0; -ENOMEM; or another errno if there can't be a detour.
 */
int arch_prepare_detour(struct kprobe *p, unsigned int reach, bool post)
{
	struct arch_specific_insn *ai = &p->ainsn;
	u8 original[KPROBE_JUMP_REACH], buf[KPROBE_SLOT_SIZE];
	struct kprobe_detour_map map = {};
	kprobe_opcode_t *slot;
	int ret;

	/* It is a kind of boosting. */
	if (!x86_kprobe_boost)
		return -EOPNOTSUPP;
	if (!x86_kprobe_read_original((unsigned long)p->addr, original, reach))
		return -EFAULT;
	slot = get_insn_slot_for(p);
	if (!slot)
		return -ENOMEM;
	memset(buf, INT3_INSN_OPCODE, sizeof(buf));
	memcpy(buf, &p, sizeof(p));
	ret = fill_detour(p, buf, (unsigned long)slot, original, reach, post, &map);
	if (ret) {
		free_insn_slot(slot, 0);
		return ret;
	}
	memcpy(buf + KPROBE_DETOUR_END, &map, sizeof(map));
	x86_kprobe_write_slot(slot, buf);

	memcpy(ai->covered, original, sizeof(ai->covered));
	WRITE_ONCE(ai->detour, slot);
	x86_kprobe_choose_run(p);
	return 0;
}

/**
 * arch_drop_detour() - send hits to the detour no more
 * @p: the probepoint's kprobe; there is no jump in its text
 *
 * Context: kprobe_mutex is held.
 *
 * Return: the detour, for the caller to free when nobody can be in it.
 */
kprobe_opcode_t *arch_drop_detour(struct kprobe *p)
{
	kprobe_opcode_t *detour = p->ainsn.detour;

	WRITE_ONCE(p->ainsn.detour, NULL);
	x86_kprobe_choose_run(p);
	return detour;
}

/**
 * arch_put_jump() - replace a breakpoint by a jump to the detour
 * @p: the probepoint's kprobe, which had its detour for a grace period
 *
 * It is not there before arch_sync_jumps().
 *
 * Context: sleeps; text_mutex is held.
 *
 * Return: false if the text is not what it was, and is left alone.
 */
bool arch_put_jump(struct kprobe *p)
{
	unsigned long thunk_call = (unsigned long)p->ainsn.detour + KPROBE_SLOT_CODE;
	u8 text[KPROBE_JUMP_SIZE], jump[KPROBE_JUMP_SIZE];

	if (copy_from_kernel_nofault(text, p->addr, sizeof(text)) ||
	    text[0] != INT3_INSN_OPCODE ||
	    memcmp(text + 1, p->ainsn.covered + 1, sizeof(text) - 1))
		return false;
	if (x86_kprobe_put_branch(jump, JMP32_INSN_OPCODE, (unsigned long)p->addr, thunk_call) < 0)
		return false;
	/* Who is hit while this is under way is sent where the jump leads. */
	text_poke_queue(p->addr, jump, sizeof(jump), NULL);
	p->ainsn.jump = true;
	return true;
}

/**
 * arch_sync_jumps() - put all jumps in place that arch_put_jump() has begun
 *
 * Context: sleeps; text_mutex is held.
 */
void arch_sync_jumps(void)
{
	text_poke_finish();
}

/**
 * arch_break_jump() - begin to replace a jump by a breakpoint
 * @p: the probepoint's kprobe
 *
 * Then, each after an arch_kprobes_sync(), arch_restore_jump() and what comes
 * next.
 *
 * Context: sleeps; text_mutex is held.
 */
void arch_break_jump(struct kprobe *p)
{
	u8 int3 = INT3_INSN_OPCODE;

	text_poke(p->addr, &int3, sizeof(int3));
}

/**
 * arch_restore_jump() - bring back what was under a jump, but the breakpoint
 * @p: the probepoint's kprobe
 *
 * Context: sleeps; text_mutex is held.
 */
void arch_restore_jump(struct kprobe *p)
{
	u8 jump[KPROBE_JUMP_SIZE], text[KPROBE_JUMP_SIZE];
	struct arch_specific_insn *ai = &p->ainsn;

	x86_kprobe_put_branch(jump, JMP32_INSN_OPCODE, (unsigned long)p->addr,
			      (unsigned long)ai->detour + KPROBE_SLOT_CODE);
	memcpy(text, ai->covered, sizeof(text));
	text[0] = INT3_INSN_OPCODE;
	text_poke(p->addr + 1, text + 1, sizeof(text) - 1);
	perf_event_text_poke(p->addr, jump, sizeof(jump), text, sizeof(text));
	ai->jump = false;
}

/**
 * is_kprobe_optinsn_slot() - tell whether an address is in a detour
 * @addr: any address
 *
 * May be called in any context in which RCU is watching. The answer is valid as
 * long as the caller knows that a detour can't be freed, because some task is
 * in it.
 *
 * Return: true if it is.
 */
bool is_kprobe_optinsn_slot(unsigned long addr)
{
	return kprobe_of_insn_slot(addr) && kprobe_detour_map(addr);
}
