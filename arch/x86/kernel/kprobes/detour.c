// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: detour buffers, and the jumps to them.
 *
 * If the safety check in safety.c allows it, a jump to a detour buffer replaces the breakpoint.
 * The DCR (detoured code region) is the instructions that the jump overlaps. A detour buffer is a
 * slot of this form:
 *
 *	probepoint; call trampoline; copies of all instructions of the DCR; jmp back
 *
 * It calls kprobe_detour_trampoline() while one probe has a pre_handler, and
 * kprobe_detour_multi_trampoline() while several have one. Each of the two is correct for any
 * number of pre_handlers, so the call can be patched while hits run.
 *
 * If there are post_handlers, a call of kprobe_post_trampoline() follows the first copy. The
 * map at the end of the buffer has the offset of each copy's original.
 *
 * As soon as there is a detour buffer, hits of the breakpoint resume there, after its call of
 * the trampoline, and not in the text after the breakpoint. So after a tasks-RCU grace period
 * no task is in the DCR or in a slot from which it would continue there, and the jump can be
 * written. While the probepoint is being unoptimised, hits still resume in the buffer, until the
 * text is the original again.
 *
 * Text is patched under text_mutex. Detour buffers are built and dropped under kprobe_mutex; the
 * core frees them when no task can be in them.
 */
#include <kunit/visibility.h>
#include <linux/array_size.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/perf_event.h>
#include <linux/pgtable.h>
#include <linux/preempt.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/alternative.h>
#include <asm/insn.h>
#include <asm/nospec-branch.h>
#include <asm/text-patching.h>

#include "x86.h"

/* Return: the copy in @detour of the instruction @offset bytes after the probed address; or 0. */
static unsigned long __kprobes detour_copy_at(unsigned long detour, unsigned long offset)
{
	const struct kprobe_detour_map *map = kprobe_detour_map(detour);
	unsigned int i;

	for (i = 0; map && i < map->nr; i++) {
		unsigned long copy = detour + map->at[i];

		if (map->from[i] != offset)
			continue;
		/*
		 * The copy of a call is a push and a jump. So a call instruction here is not a
		 * copy, but the call of kprobe_post_trampoline(): skip it.
		 */
		return copy + (*(u8 *)copy == CALL_INSN_OPCODE ? CALL_INSN_SIZE : 0);
	}
	return 0;
}

/*
 * Find where to resume after a handler has redirected execution to @ip. Return: if a probepoint
 * before @ip has a detour buffer, and its jump overlaps the instruction at @ip: the copy of that
 * instruction in the buffer; otherwise @ip.
 *
 * Context: preemption stays disabled until the CPU resumes; or the task does not sleep until then.
 * Otherwise the detour buffer could be freed before the CPU resumes there.
 */
unsigned long __kprobes x86_kprobe_resume_address(unsigned long ip)
{
	unsigned long detour, copy;
	struct probepoint *pp;
	int i;

	for (i = 1; i < KPROBE_JUMP_SIZE; i++) {
		pp = get_probepoint((void *)(ip - i));
		if (!pp)
			continue;
		detour = (unsigned long)READ_ONCE(pp->arch.detour.text);
		copy = detour ? detour_copy_at(detour, i) : 0;
		if (copy)
			return copy;
	}
	return ip;
}

/*
 * Handle a hit that a handler has caused, and enable preemption, which the trampoline has disabled.
 * Return: true if a handler has redirected execution to @regs.
 */
__visible bool __kprobes kprobe_detour_nested(struct probepoint *pp, struct pt_regs *regs)
{
	bool redirected = x86_kprobe_hit_nested(pp, kprobe_context(), regs);

	if (redirected)
		probepoint_note_redirect(pp);
	preempt_enable_notrace();
	return redirected;
}

#ifdef CONFIG_X86_32

/* Call the pre_handlers in the set, if any. Return: true if one has redirected execution. */
static __always_inline
bool detour_call_set(struct probepoint *pp, struct pt_regs *regs, struct kprobe_level *level)
{
	struct kprobe **pos = probepoint_set(pp)->probes, *p;

	while ((p = *pos++)) {
		WRITE_ONCE(level->probe, p);
		if (p->pre_handler(p, regs))
			return true;
	}
	return false;
}

static __always_inline
bool detour_hit(struct probepoint *pp, struct pt_regs *regs, bool several)
{
	struct kprobe_level *level;
	struct kprobe *first;
	bool redirected;
	s32 context;

	preempt_disable_notrace();
	context = kprobe_context();
	first = probepoint_first(pp);
	if (unlikely(!kprobe_enter(&level, context, context, first, NULL)))
		return kprobe_detour_nested(pp, regs);
	redirected = several ? detour_call_set(pp, regs, level) : first->pre_handler(first, regs);
	if (unlikely(redirected))
		probepoint_note_redirect(pp);
	kprobe_leave(level);
	preempt_enable_notrace();
	return redirected;
}

/*
 * Handle a hit for kprobe_detour_trampoline. In 64-bit mode the trampoline does this itself.
 * Return: true if a handler has redirected execution to @regs.
 */
__visible bool __kprobes kprobe_detour_hit(struct probepoint *pp, struct pt_regs *regs)
{
	return detour_hit(pp, regs, false);
}

/* As kprobe_detour_hit(), for kprobe_detour_multi_trampoline */
__visible bool __kprobes kprobe_detour_multi_hit(struct probepoint *pp, struct pt_regs *regs)
{
	return detour_hit(pp, regs, true);
}

#else

/*
 * Record that the pre_handler of @p, which is recorded as running on this CPU, returned non-zero.
 * The trampoline has disabled preemption.
 */
__visible void __kprobes kprobe_detour_redirected(struct kprobe *p)
{
	struct probepoint *pp = kprobe_hit_probepoint(p);

	if (pp)
		probepoint_note_redirect(pp);
}

#endif

/*
 * Write a copy of the instruction at @addr, which is not a relative branch, to a detour buffer.
 *
 * The text has a plain RET where this CPU needs no return thunk at that address, or where assembly
 * code avoids the thunk. The copy is at another address, so decide again: with ITS, a RET is safe
 * only in the upper half of a cache line. A jump to a return thunk is a relative branch, which is
 * not copied here.
 */
static int detour_emit_copy(u8 *buf, struct insn *insn, const u8 *bytes, unsigned long at,
			    unsigned long addr)
{
	if (x86_insn_op(insn) == X86_OP_RETURN && cpu_wants_rethunk_at((void *)at))
		return x86_kprobe_emit_branch(buf, JMP32_INSN_OPCODE, at,
					      (unsigned long)x86_return_thunk);
	return x86_kprobe_emit_copy(buf, bytes, insn->length, at, addr);
}

static unsigned long detour_trampoline(bool several)
{
	return (unsigned long)(several ? kprobe_detour_multi_trampoline : kprobe_detour_trampoline);
}

/* Write the code of a detour buffer to @buf, and fill in @map. Return: 0, or an errno. */
static int detour_fill(struct probepoint *pp, u8 *buf, unsigned long slot, const u8 *original,
		       unsigned int dcr_size, bool post, struct kprobe_detour_map *map)
{
	unsigned long addr = (unsigned long)pp->addr, target;
	unsigned int done = 0, len = KPROBE_SLOT_CODE;
	struct insn insn;
	bool dead = false;
	int ret;

	map->nr = 0;
	ret = x86_kprobe_emit_branch(buf + len, CALL_INSN_OPCODE, slot + len,
				     detour_trampoline(pp->arch.detour.several));
	while (ret > 0 && done < dcr_size) {
		len += ret;
		if (insn_decode(&insn, original + done, dcr_size - done, INSN_MODE_KERN))
			return -EILSEQ;
		/* A debugger may have set a breakpoint since arch_check_jumps(). */
		if (original[done] == INT3_INSN_OPCODE && !dead)
			return -EOPNOTSUPP;
		dead = x86_insn_is_end(&insn, original + done, dead);
		/* The longest copy, a call for post_handlers and the jump back must still fit. */
		if (len + MAX_INSN_SIZE + 2 * JMP32_INSN_SIZE > KPROBE_DETOUR_END)
			return -ENOSPC;
		/*
		 * The call for post_handlers follows the first copy. If that copy is a branch, a
		 * call or a return, the CPU may not reach the call, so refuse to optimise.
		 */
		if (post && !done && !x86_insn_boostable(&insn)) {
			pp->jump.failure = KPROBE_REASON_JUMP_POST;
			return -EOPNOTSUPP;
		}
		if (x86_insn_branches(&insn, addr + done, &target))
			ret = x86_kprobe_emit_branch_copy(buf + len, &insn, slot + len, addr + done,
							  target);
		else
			ret = detour_emit_copy(buf + len, &insn, original + done, slot + len,
					       addr + done);
		if (ret < 0)
			return ret;
		done += insn.length;
		map->at[map->nr] = len + ret;
		map->from[map->nr] = done;
		if (x86_insn_kind(&insn) == X86_KIND_CALL) {
			/*
			 * The copy is a push and a jump. If an unwinder finds a task between the
			 * two, it shows the task at the start of the called function: the task has
			 * yet to execute the jump there. See x86_kprobe_original_ip().
			 */
			map->at[map->nr] = len + KPROBE_PUSH_SIZE;
			map->from[map->nr] = KPROBE_DETOUR_CALLED;
		}
		map->nr++;
		if (map->nr == 1 && post) {
			len += ret;
			ret = x86_kprobe_emit_branch(buf + len, CALL_INSN_OPCODE, slot + len,
						     (unsigned long)kprobe_post_trampoline);
		}
	}
	if (ret > 0) {
		len += ret;
		ret = x86_kprobe_emit_branch(buf + len, JMP32_INSN_OPCODE, slot + len, addr + done);
	}
	return min(ret, 0);
}

/**
 * arch_prepare_detour() - build a detour buffer, and let hits of the breakpoint resume there
 * @pp: the probepoint, which has no detour buffer
 * @dcr_size: size of the instructions that the jump overlaps (the DCR) in bytes, as
 *	arch_check_jumps() found it
 * @post: hits call a post_handler
 *
 * Context: sleeps; kprobe_mutex is held; takes text_mutex.
 *
 * Return: 0; -ENOMEM; or another errno if no detour buffer can be built. If the reason may
 * change later, it is in @pp->jump.failure.
 */
int arch_prepare_detour(struct probepoint *pp, unsigned int dcr_size, bool post)
{
	struct x86_detour *detour = &pp->arch.detour;
	u8 original[KPROBE_DCR_MAX], buf[KPROBE_SLOT_SIZE];
	struct kprobe_detour_map map = {};
	kprobe_opcode_t *slot;
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	/* kprobes.boost=0 disables optimisation too. */
	if (!x86_kprobe_boost) {
		pp->jump.failure = KPROBE_REASON_JUMP_BOOST_OFF;
		return -EOPNOTSUPP;
	}
	if (!x86_kprobe_read_original((unsigned long)pp->addr, original, dcr_size))
		return -EFAULT;
	slot = get_insn_slot_for(pp);
	if (!slot)
		return -ENOMEM;
	memset(buf, INT3_INSN_OPCODE, sizeof(buf));
	memcpy(buf, &pp, sizeof(pp));
	detour->several = probepoint_has_multi_pre(pp);
	ret = detour_fill(pp, buf, (unsigned long)slot, original, dcr_size, post, &map);
	if (ret) {
		free_insn_slot(slot, 0);
		return ret;
	}
	memcpy(buf + KPROBE_DETOUR_END, &map, sizeof(map));
	x86_kprobe_write_slot(slot, buf);

	memcpy(detour->covered, original, sizeof(detour->covered));
	/* Publish covered[] before @text. Pairs with x86_kprobe_restore_original(). */
	smp_store_release(&detour->text, slot);
	x86_kprobe_choose_exec(pp);
	return 0;
}

#ifdef CONFIG_KPROBES_EXPLAIN
/**
 * arch_explain_detour() - could a detour buffer be built?
 * @pp: the probepoint of arch_explain_probepoint(); its jump.failure is set if the answer is
 *	not %KPROBE_YES
 * @dcr_size: size of the instructions that the jump overlaps (the DCR) in bytes
 * @post: hits would call a post_handler
 *
 * This tries the lowest and the highest address that a slot can have.
 *
 * Return: the answer. It is %KPROBE_UNKNOWN if only one of the two addresses is in reach of all
 * operands and targets.
 */
enum kprobe_answer arch_explain_detour(struct probepoint *pp, unsigned int dcr_size, bool post)
{
	unsigned long slots[] = { KPROBE_SLOTS_START, KPROBE_SLOTS_END };
	u8 original[KPROBE_DCR_MAX], buf[KPROBE_SLOT_SIZE];
	struct kprobe_detour_map map;
	unsigned int i, made = 0;

	lockdep_assert_held(&kprobe_mutex);
	pp->jump.failure = KPROBE_REASON_NONE;
	if (!x86_kprobe_boost) {
		pp->jump.failure = KPROBE_REASON_JUMP_BOOST_OFF;
		return KPROBE_NO;
	}
	if (x86_kprobe_read_original((unsigned long)pp->addr, original, dcr_size))
		for (i = 0; i < ARRAY_SIZE(slots); i++)
			made += !detour_fill(pp, buf, slots[i], original, dcr_size, post, &map);
	if (made == ARRAY_SIZE(slots))
		return KPROBE_YES;
	pp->jump.failure = pp->jump.failure ?: KPROBE_REASON_JUMP_DETOUR;
	return made ? KPROBE_UNKNOWN : KPROBE_NO;
}
#endif

/*
 * Stop hits from resuming in the detour buffer. The jump is not in the text. Return: the buffer,
 * which the caller frees when no task can be in it.
 */
kprobe_opcode_t *arch_drop_detour(struct probepoint *pp)
{
	kprobe_opcode_t *text = pp->arch.detour.text;

	lockdep_assert_held(&kprobe_mutex);
	WRITE_ONCE(pp->arch.detour.text, NULL);
	x86_kprobe_choose_exec(pp);
	return text;
}

/*
 * Choose the trampoline that suits the number of pre_handlers. arch_sync_jumps() patches the call.
 * A CPU that hits the int3 which replaces the call in the meantime calls the new trampoline.
 * Return: true if arch_sync_jumps() has something to patch.
 */
bool arch_match_detour(struct probepoint *pp)
{
	struct x86_detour *detour = &pp->arch.detour;
	bool several = probepoint_has_multi_pre(pp);
	u8 call[CALL_INSN_SIZE];
	u8 *at = detour->text + KPROBE_SLOT_CODE;

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_held(&text_mutex);
	if (several == detour->several ||
	    x86_kprobe_emit_branch(call, CALL_INSN_OPCODE, (unsigned long)at,
				   detour_trampoline(several)) < 0)
		return false;
	text_poke_queue(at, call, sizeof(call), NULL);
	detour->several = several;
	return true;
}

/*
 * Replace a breakpoint with a jump to the detour buffer, which is in place after arch_sync_jumps().
 * Since the buffer was built, a grace period of tasks RCU and one of RCU have passed. Return: false
 * if other code has changed the text. Then this writes nothing.
 */
bool arch_install_jump(struct probepoint *pp)
{
	struct x86_detour *detour = &pp->arch.detour;
	unsigned long thunk_call = (unsigned long)detour->text + KPROBE_SLOT_CODE;
	u8 text[KPROBE_JUMP_SIZE], jump[KPROBE_JUMP_SIZE];

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_held(&text_mutex);
	if (copy_from_kernel_nofault(text, pp->addr, sizeof(text)) ||
	    text[0] != INT3_INSN_OPCODE ||
	    memcmp(text + 1, detour->covered + 1, sizeof(text) - 1))
		return false;
	if (x86_kprobe_emit_branch(jump, JMP32_INSN_OPCODE, (unsigned long)pp->addr,
				   thunk_call) < 0)
		return false;
	/*
	 * A CPU that hits the int3 while the jump is being written is redirected to the jump's
	 * target.
	 */
	text_poke_queue(pp->addr, jump, sizeof(jump), NULL);
	detour->in_text = true;
	return true;
}

/* Patch what arch_install_jump() and arch_match_detour() queued. */
void arch_sync_jumps(void)
{
	text_poke_finish();
}

/*
 * Begin to replace a jump with a breakpoint. The caller next calls arch_kprobes_sync(),
 * arch_restore_jump() and arch_kprobes_sync(). text_mutex is held.
 */
void arch_break_jump(struct probepoint *pp)
{
	arch_arm_probepoint(pp);
}

/* Restore the original text in bytes 1 to 4 of a jump, after arch_break_jump(). */
void arch_restore_jump(struct probepoint *pp)
{
	u8 jump[KPROBE_JUMP_SIZE], text[KPROBE_JUMP_SIZE];
	struct x86_detour *detour = &pp->arch.detour;

	lockdep_assert_held(&kprobe_mutex);
	lockdep_assert_held(&text_mutex);
	x86_kprobe_emit_branch(jump, JMP32_INSN_OPCODE, (unsigned long)pp->addr,
			       (unsigned long)detour->text + KPROBE_SLOT_CODE);
	memcpy(text, detour->covered, sizeof(text));
	text[0] = INT3_INSN_OPCODE;
	text_poke(pp->addr + 1, text + 1, sizeof(text) - 1);
	perf_event_text_poke(pp->addr, jump, sizeof(jump), text, sizeof(text));
	detour->in_text = false;
}

/* Would a jump overwrite more than the probed instruction? */
bool arch_jump_covers_next(const struct probepoint *pp)
{
	return pp->arch.insn.size < KPROBE_JUMP_SIZE;
}

/*
 * Does an instruction only save, set up or restore the frame pointer? Compilers also do that in a
 * function that does nothing, see arch_post_is_empty().
 */
static bool detour_is_frame_insn(struct insn *insn)
{
	switch (insn->opcode.bytes[0]) {
	case 0x55:	/* push %rbp */
	case 0x5d:	/* pop %rbp */
	case 0xc9:	/* leave */
		return !insn->rex_prefix.nbytes;
	case 0x89:	/* mov %rsp, %rbp */
		return insn->modrm.value == 0xe5;
	case 0x8b:
		return insn->modrm.value == 0xec;
	default:
		return false;
	}
}

/*
 * Does an instruction have no effect, or only clear a register? With -fzero-call-used-regs,
 * functions clear registers before they return, even if they do nothing else.
 */
static bool detour_is_idle_insn(struct insn *insn)
{
	u8 modrm = insn->modrm.value;

	switch (insn->opcode.bytes[0]) {
	case 0x90:	/* nop */
		return !insn->rex_prefix.nbytes;
	case 0x0f:	/* endbr, and longer nops */
		return insn->opcode.bytes[1] == 0x1e || insn->opcode.bytes[1] == 0x1f;
	case 0x31:	/* xor of a register with itself */
	case 0x33:
		return X86_MODRM_MOD(modrm) == 3 && X86_MODRM_REG(modrm) == X86_MODRM_RM(modrm);
	default:
		return false;
	}
}

/* Does an instruction return, directly or through a return thunk? */
static bool detour_is_return(struct insn *insn, unsigned long addr)
{
	unsigned long target;

	if (x86_insn_kind(insn) == X86_KIND_RET)
		return true;
	return x86_insn_kind(insn) == X86_KIND_JMP && x86_insn_branches(insn, addr, &target) &&
	       x86_is_return_thunk(target);
}

/*
 * Is a post_handler a function that does nothing?
 *
 * Users set an empty post_handler to ask that no jump changes the text after the probed
 * instruction. For an empty function, compilers generate an endbr, a nop for ftrace, a frame
 * pointer, and a return.
 */
bool arch_post_is_empty(kprobe_post_handler_t post)
{
	unsigned long addr = (unsigned long)post, size, offset;
	u8 buf[MAX_INSN_SIZE];
	unsigned long end;
	struct insn insn;

	lockdep_assert_held(&kprobe_mutex);
	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	end = addr - offset + size;
	guard(mutex)(&text_mutex);
	while (addr < end) {
		if (ftrace_location(addr) == addr) {
			/* Ftrace's nop, or its call while the function is traced */
			addr += CALL_INSN_SIZE;
			continue;
		}
		if (!x86_kprobe_decode_text(addr, end, &insn, buf))
			return false;
		if (detour_is_return(&insn, addr))
			return true;
		if (!detour_is_frame_insn(&insn) && !detour_is_idle_insn(&insn))
			return false;
		addr += insn.length;
	}
	return false;
}

/**
 * is_kprobe_optinsn_slot() - is an address in a detour buffer?
 * @addr: any address
 *
 * The answer stays valid only if a task is in the detour buffer, since the buffer is not freed
 * before the task has left it.
 *
 * Context: any in which RCU is watching.
 *
 * Return: true if it is.
 */
bool is_kprobe_optinsn_slot(unsigned long addr)
{
	/* RCU frees the page. */
	guard(preempt_notrace)();
	return probepoint_of_insn_slot(addr) && kprobe_detour_map(addr);
}
EXPORT_SYMBOL_IF_KUNIT(is_kprobe_optinsn_slot);
