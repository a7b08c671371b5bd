// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: building the slot of a probepoint, and patching the text.
 *
 * A slot has one of three forms, see enum x86_slot_form:
 *
 *	probepoint; copy; int3			single-stepped
 *	probepoint; copy; jmp back		boosted
 *	probepoint; copy; call trampoline; jmp back	boosted, with post_handlers
 *
 * The trampoline finds the probepoint by rounding down its return address, which points into the
 * slot: the probepoint's address is the slot's first word. kernel/kprobes/slots.c allocates the
 * memory, also for detour buffers (detour.c).
 *
 * Instead of a copy of jmp or jcc, the slot has a branch with the same target. If there are
 * post_handlers, the branch is emulated, or else the CPU would not reach the slot's call after a
 * taken branch.
 *
 * A slot is complete before a hit uses it, and then never changes. A probepoint that needs
 * another form gets another slot.
 *
 * Slots are written under text_mutex, which nests inside kprobe_mutex.
 */
#include <linux/execmem.h>
#include <linux/init.h>
#include <linux/memory.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/pgtable.h>
#include <linux/preempt.h>
#include <linux/set_memory.h>
#include <linux/string.h>
#include <asm/alternative.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "x86.h"

#define PUSH_IMM32_OPCODE	0x68

static const u8 int3 = INT3_INSN_OPCODE;

/* 512 bytes is a size class of kmalloc(). For a larger struct, kmalloc() would use 1024 bytes. */
static_assert(sizeof(struct probepoint) <= 512);

/**
 * enum x86_exec - how the probed instruction is executed after a breakpoint hit
 * @X86_EXEC_EMULATE: in C
 * @X86_EXEC_STEP: in the slot, which then traps
 * @X86_EXEC_BOOST: in the slot, which then jumps back
 * @X86_EXEC_DETOUR: in the detour buffer, after its call of the trampoline
 */
enum x86_exec {
	X86_EXEC_EMULATE,
	X86_EXEC_STEP,
	X86_EXEC_BOOST,
	X86_EXEC_DETOUR,
};

/*
 * The parameter kprobes.boost, for debugging. While it is 0, no new probepoint is boosted, and no
 * detour buffer is built.
 */
bool x86_kprobe_boost = true;

/*
 * Return: a page for slots that is executable and not writable, or NULL. It has int3s where no slot
 * was written, not what the memory was used for before.
 */
void *alloc_insn_page(void)
{
	void *page = execmem_alloc(EXECMEM_KPROBES, PAGE_SIZE);

	if (page)
		memset(page, INT3_INSN_OPCODE, PAGE_SIZE);
	if (page && set_memory_rox((unsigned long)page, 1)) {
		execmem_free(page);
		return NULL;
	}
	return page;
}

static bool slot_fits_s32(long v)
{
	return v == (s32)v;
}

/*
 * Adjust the rip-relative displacement of the copy in @buf, which will be executed at @slot, so
 * that it refers to the same memory as the original at @addr.
 */
static int slot_fix_displacement(u8 *buf, unsigned long slot, unsigned long addr)
{
	struct insn insn;
	long disp;
	s32 disp32;

	if (insn_decode_kernel(&insn, buf))
		return -EILSEQ;
	if (!insn_rip_relative(&insn))
		return 0;
	disp = (long)insn.displacement.value + (long)(addr - slot);
	if (!slot_fits_s32(disp))
		return -EOPNOTSUPP;
	disp32 = disp;
	memcpy(buf + insn_offset_displacement(&insn), &disp32, sizeof(disp32));
	return 0;
}

/*
 * Write the copy of the instruction @bytes at @addr to @buf, to be executed at @at. Return: its
 * length; -EOPNOTSUPP if the slot is too far from the operand.
 */
int x86_kprobe_emit_copy(u8 *buf, const u8 *bytes, size_t size, unsigned long at,
			 unsigned long addr)
{
	memcpy(buf, bytes, size);
	return slot_fix_displacement(buf, at, addr) ?: size;
}

/*
 * Write a jump or a call with an opcode of one byte to @buf, to be executed at @at. Return: its
 * length; -EOPNOTSUPP if the target @to is too far away.
 */
int x86_kprobe_emit_branch(u8 *buf, u8 opcode, unsigned long at, unsigned long to)
{
	/*
	 * If @to is the address of a trampoline, the compiler may compute @to - 5 at build time.
	 * Then objtool warns that there is no endbr at that address. So hide the value of @to.
	 */
	OPTIMIZER_HIDE_VAR(to);
	if (!slot_fits_s32((long)to - (long)(at + JMP32_INSN_SIZE)))
		return -EOPNOTSUPP;
	__text_gen_insn(buf, opcode, (void *)at, (void *)to, JMP32_INSN_SIZE);
	return JMP32_INSN_SIZE;
}

/*
 * Write a branch with the same target as the original @insn at @addr: jmp, jcc or call. It will be
 * executed at @at. A short branch becomes a near one. A call becomes a push of the original's
 * return address and a jump, so that the called function returns to the probed function. Return:
 * its length; -EOPNOTSUPP if the target is too far away.
 */
int x86_kprobe_emit_branch_copy(u8 *buf, struct insn *insn, unsigned long at, unsigned long addr,
				unsigned long target)
{
	u8 op = insn->opcode.bytes[insn->opcode.nbytes - 1];
	s32 next = addr + insn->length;
	int ret;

	if (x86_insn_kind(insn) == X86_KIND_CALL) {
		/* push sign-extends its operand of 32 bits, so it cannot push just any address. */
		if ((long)next != (long)(addr + insn->length))
			return -EOPNOTSUPP;
		buf[0] = PUSH_IMM32_OPCODE;
		memcpy(buf + 1, &next, sizeof(next));
		ret = x86_kprobe_emit_branch(buf + KPROBE_PUSH_SIZE, JMP32_INSN_OPCODE,
					     at + KPROBE_PUSH_SIZE, target);
		return ret < 0 ? ret : KPROBE_PUSH_SIZE + ret;
	}
	if (x86_insn_kind(insn) == X86_KIND_JMP)
		return x86_kprobe_emit_branch(buf, JMP32_INSN_OPCODE, at, target);
	/* jcc: the near form has a second opcode byte, and the same condition bits. */
	buf[0] = 0x0f;
	ret = x86_kprobe_emit_branch(buf + 1, 0x80 | (op & 0xf), at + 1, target);
	return ret < 0 ? ret : 1 + ret;
}

/* Write the out-of-line copy, to be executed at @at. Return: its length, or an errno. */
static int slot_emit_insn(struct probepoint *pp, u8 *buf, unsigned long at)
{
	struct arch_probepoint *ap = &pp->arch;
	unsigned long addr = (unsigned long)pp->addr;
	struct insn insn;

	if (ap->insn.copy == X86_COPY_BYTES)
		return x86_kprobe_emit_copy(buf, ap->insn.bytes, ap->insn.size, at, addr);
	if (insn_decode_kernel(&insn, ap->insn.bytes))
		return -EILSEQ;
	return x86_kprobe_emit_branch_copy(buf, &insn, at, addr, ap->emulation.imm);
}

/* Write KPROBE_SLOT_SIZE bytes to a slot, which no hit uses yet. */
void x86_kprobe_write_slot(kprobe_opcode_t *slot, const u8 *buf)
{
	scoped_guard(mutex, &text_mutex)
		text_poke(slot, buf, KPROBE_SLOT_SIZE);
	perf_event_text_poke(slot, NULL, 0, buf, KPROBE_SLOT_SIZE);
}

/* Choose how a hit executes the instruction, given the slot, detour buffer and post_handlers. */
static enum x86_exec slot_choose_exec(const struct arch_probepoint *ap)
{
	if (ap->detour.text)
		return X86_EXEC_DETOUR;
	/* With post_handlers, an emulation costs less than the slot's call of the trampoline. */
	if (ap->slot.form >= X86_SLOT_BOOST && !(ap->emulation.run && ap->post))
		return X86_EXEC_BOOST;
	return ap->emulation.run ? X86_EXEC_EMULATE : X86_EXEC_STEP;
}

/*
 * Choose how hits execute the instruction, after the slot, the detour buffer or the post_handlers
 * have changed. A concurrent hit may use the previous choice, which stays correct until the slot or
 * detour buffer is freed.
 */
void x86_kprobe_choose_exec(struct probepoint *pp)
{
	struct arch_probepoint *ap = &pp->arch;
	unsigned long resume = 0;

	lockdep_assert_held(&kprobe_mutex);
	switch (slot_choose_exec(ap)) {
	case X86_EXEC_DETOUR:
		resume = kprobe_copy_of((unsigned long)ap->detour.text, true);
		break;
	case X86_EXEC_BOOST:
		resume = (unsigned long)ap->slot.copy;
		break;
	default:
		break;
	}
	/*
	 * Publish the slot's code before its address. Pairs with READ_ONCE(resume) in
	 * x86_kprobe_go_on().
	 */
	smp_store_release(&ap->resume, resume);
}

static kprobe_opcode_t *kprobe_slot_start(const struct probepoint *pp)
{
	return pp->arch.slot.copy ? pp->arch.slot.copy - KPROBE_SLOT_CODE : NULL;
}

/*
 * Build a slot of the form @form, and replace the current one, if any. Return: 0; -ENOMEM; or
 * -EOPNOTSUPP if the slot is too far from the operand or target.
 */
static int slot_make(struct probepoint *pp, enum x86_slot_form form)
{
	struct arch_probepoint *ap = &pp->arch;
	int len = KPROBE_SLOT_CODE, ret;
	u8 buf[KPROBE_SLOT_SIZE];
	kprobe_opcode_t *text;
	unsigned long slot;

	text = get_insn_slot_for(pp);
	if (!text)
		return -ENOMEM;
	slot = (unsigned long)text;

	memset(buf, INT3_INSN_OPCODE, sizeof(buf));
	memcpy(buf, &pp, sizeof(pp));
	ret = slot_emit_insn(pp, buf + len, slot + len);
	if (ret < 0)
		goto free;
	len += ret;
	if (form == X86_SLOT_POST) {
		ret = x86_kprobe_emit_branch(buf + len, CALL_INSN_OPCODE, slot + len,
					     (unsigned long)kprobe_post_trampoline);
		if (ret < 0)
			goto free;
		len += ret;
	}
	if (form != X86_SLOT_STEP) {
		ret = x86_kprobe_emit_branch(buf + len, JMP32_INSN_OPCODE, slot + len,
					     ap->next_ip);
		if (ret < 0)
			goto free;
	}
	x86_kprobe_write_slot(text, buf);

	ap->slot.form = form;
	/*
	 * Publish the slot's code before its address. Pairs with READ_ONCE(copy) in step.c.
	 */
	smp_store_release(&ap->slot.copy, text + KPROBE_SLOT_CODE);
	return 0;
free:
	free_insn_slot(text, 0);
	return ret;
}

/**
 * arch_reshape_probepoint() - replace the slot if it must begin or cease to call post_handlers
 * @pp: the probepoint
 * @post: hits call a post_handler
 * @old: result: the replaced slot, which the caller frees when no task can be in it; or NULL
 *
 * Return: 0; or -ENOMEM, in which case nothing has changed.
 */
int arch_reshape_probepoint(struct probepoint *pp, bool post, kprobe_opcode_t **old)
{
	enum x86_slot_form form = post ? X86_SLOT_POST : X86_SLOT_BOOST;
	struct arch_probepoint *ap = &pp->arch;
	kprobe_opcode_t *before = kprobe_slot_start(pp);
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	*old = NULL;
	/*
	 * Only a boosted slot calls post_handlers itself. After a step or an emulation, C code
	 * calls them, so any slot will do.
	 */
	if (ap->slot.form >= X86_SLOT_BOOST && !ap->emulation.run && ap->slot.form != form) {
		ret = slot_make(pp, form);
		if (ret)
			return ret;
		*old = before;
	}
	ap->post = post;
	x86_kprobe_choose_exec(pp);
	return 0;
}

static enum x86_slot_form slot_choose_form(const struct x86_probed_insn *insn)
{
	bool boost = x86_kprobe_boost &&
		     (insn->op == X86_OP_COPY || insn->copy == X86_COPY_BRANCH);

	if (boost)
		return insn->copy == X86_COPY_NONE ? X86_SLOT_NONE : X86_SLOT_BOOST;
	/*
	 * The slot of an instruction that is not boosted ends in an int3. A hit single-steps the
	 * copy; or it emulates the instruction, and executes the copy only if the emulation cannot
	 * read memory. A branch that is not boosted is emulated without a slot.
	 */
	return insn->copy == X86_COPY_BYTES ? X86_SLOT_STEP : X86_SLOT_NONE;
}

/*
 * Build the slot of a new probepoint. If a branch is not boosted, or is too far from its target, it
 * gets no slot, and is emulated. If a copy is too far from its operand, the probe is refused.
 * Return: 0, or an errno.
 */
static int slot_prepare(struct probepoint *pp)
{
	enum x86_slot_form form = slot_choose_form(&pp->arch.insn);
	int ret = form == X86_SLOT_NONE ? -EOPNOTSUPP : slot_make(pp, form);

	if (ret != -EOPNOTSUPP)
		return ret;
	if (pp->arch.insn.copy == X86_COPY_BYTES)
		return probepoint_refuse(pp, KPROBE_REASON_TOO_FAR);
	pp->arch.insn.copy = X86_COPY_NONE;
	return 0;
}

/*
 * Decode the instruction of @pp. Refuse it if it begins with a lock prefix that the kernel patches,
 * since that would overwrite a breakpoint. Return: 0, or an errno.
 */
static int slot_check_insn(struct probepoint *pp, struct kprobe_explanation *e)
{
	/*
	 * The second argument of alternatives_text_reserved() is the first byte after the range.
	 */
	scoped_guard(mutex, &text_mutex)
		if (alternatives_text_reserved(pp->addr, pp->addr + 1))
			return probepoint_refuse(pp, KPROBE_REASON_LOCK_PREFIX);
	return x86_kprobe_decode(pp, e);
}

/*
 * Decide how the instruction of a new probepoint is executed. Only its address is set. Return: 0,
 * or an errno as documented at register_kprobe().
 */
int arch_prepare_probepoint(struct probepoint *pp)
{
	int ret;

	lockdep_assert_held(&kprobe_mutex);
	ret = slot_check_insn(pp, NULL);
	if (!ret && pp->arch.insn.copy != X86_COPY_NONE)
		ret = slot_prepare(pp);
	if (!ret)
		x86_kprobe_choose_exec(pp);
	return ret;
}

#ifdef CONFIG_KPROBES_EXPLAIN

/*
 * Can a copy refer to its operand from every possible slot? The answer is KPROBE_UNKNOWN if only a
 * copy in the lowest or in the highest slot can, and KPROBE_YES if no copy of the bytes is needed.
 */
static enum kprobe_answer slot_copy_reaches(struct probepoint *pp)
{
	bool low, high;
	u8 buf[MAX_INSN_SIZE];

	if (pp->arch.insn.copy != X86_COPY_BYTES)
		return KPROBE_YES;
	low = slot_emit_insn(pp, buf, KPROBE_SLOTS_START) > 0;
	high = slot_emit_insn(pp, buf, KPROBE_SLOTS_END) > 0;
	if (low != high)
		return KPROBE_UNKNOWN;
	return low ? KPROBE_YES : KPROBE_NO;
}

/* Return: the reason for slot_choose_exec()'s choice @exec. */
static enum kprobe_reason slot_exec_reason(const struct probepoint *pp, enum x86_exec exec)
{
	const struct x86_probed_insn *insn = &pp->arch.insn;

	if (exec == X86_EXEC_BOOST)
		return insn->copy == X86_COPY_BRANCH ? KPROBE_REASON_EXEC_BRANCH :
						       KPROBE_REASON_EXEC_COPY;
	switch (insn->op) {
	case X86_OP_STEP:
		return pp->why ?: KPROBE_REASON_EXEC_KERNEL;
	case X86_OP_INDIRECT:
		return KPROBE_REASON_EXEC_INDIRECT;
	case X86_OP_RETURN:
		return KPROBE_REASON_EXEC_RETURN;
	case X86_OP_FLAGS:
		return KPROBE_REASON_EXEC_FLAGS;
	case X86_OP_RELATIVE:
		if (insn->copy == X86_COPY_NONE)
			return KPROBE_REASON_EXEC_RELATIVE;
		break;
	default:
		break;
	}
	return pp->arch.slot.form >= X86_SLOT_BOOST ? KPROBE_REASON_EXEC_POST :
						      KPROBE_REASON_EXEC_BOOST_OFF;
}

/*
 * Report how a probe at an address would be executed. @pp is zero except the address; it is never
 * registered, and gets no slot.
 */
void arch_explain_probepoint(struct probepoint *pp, struct kprobe_explanation *e)
{
	static const char *const words[] = {
		[X86_EXEC_EMULATE] = "emulate",
		[X86_EXEC_STEP] = "single-step",
		[X86_EXEC_BOOST] = "boost",
	};
	struct arch_probepoint *ap = &pp->arch;
	unsigned int post;

	lockdep_assert_held(&kprobe_mutex);
	if (slot_check_insn(pp, e)) {
		e->probed = KPROBE_NO;
		e->refusal = pp->why;
		return;
	}
	e->length = ap->insn.size;
	e->probed = slot_copy_reaches(pp);
	if (e->probed != KPROBE_YES)
		e->refusal = KPROBE_REASON_TOO_FAR;
	if (e->probed == KPROBE_NO)
		return;
	ap->slot.form = slot_choose_form(&ap->insn);
	for (post = 0; post < 2; post++) {
		enum x86_exec exec;

		ap->post = post;
		exec = slot_choose_exec(ap);
		e->exec[post].how = words[exec];
		e->exec[post].why = slot_exec_reason(pp, exec);
	}
}

#endif /* CONFIG_KPROBES_EXPLAIN */

/* Free the slot of a probepoint, in which no task can be. */
void arch_remove_probepoint(struct probepoint *pp)
{
	kprobe_opcode_t *slot = kprobe_slot_start(pp);

	lockdep_assert_held(&kprobe_mutex);
	if (!slot)
		return;
	free_insn_slot(slot, 1);
	pp->arch.slot.copy = NULL;
}

/*
 * perf decodes processor traces with the text that is reported here. So report a breakpoint when no
 * CPU can execute the original any more, and report its removal before any CPU can execute the
 * original again. If a CPU hits the breakpoint before the first report or after the second one,
 * perf finds the exception in the trace.
 */

/* Write the breakpoint. All CPUs see it after arch_kprobes_sync(). text_mutex is held. */
void arch_arm_probepoint(struct probepoint *pp)
{
	text_poke(pp->addr, &int3, 1);
}

/* Report a breakpoint that all CPUs see to perf. text_mutex is held. */
void arch_probepoint_armed(struct probepoint *pp)
{
	perf_event_text_poke(pp->addr, pp->arch.insn.bytes, 1, &int3, 1);
}

/*
 * Remove the breakpoint. A CPU may still hit it until arch_kprobes_sync() has returned. text_mutex
 * is held.
 */
void arch_disarm_probepoint(struct probepoint *pp)
{
	perf_event_text_poke(pp->addr, &int3, 1, pp->arch.insn.bytes, 1);
	text_poke(pp->addr, pp->arch.insn.bytes, 1);
}

/*
 * Make all CPUs see the text that was patched. text_mutex is held.
 *
 * int3 is handled with interrupts off. So when every online CPU has taken the interrupt that this
 * sends, each CPU that hit a breakpoint before its removal has already looked up the probepoint.
 */
void arch_kprobes_sync(void)
{
	text_poke_sync();
}

/*
 * Move a probe of a function's entry past its endbr: an int3 in place of the endbr would make
 * indirect calls of the function raise #CP.
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

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "kprobes."
module_param_named(boost, x86_kprobe_boost, bool, 0644);
MODULE_PARM_DESC(boost, "run copies of instructions without a second trap (default: on)");
