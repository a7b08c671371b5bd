// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: what instruction is it, and how can it be run?
 *
 * An instruction is either emulated in C, or run from a copy in a slot, or
 * refused. A copy differs from its original in two ways: it sits at another
 * address, and other code comes after it. Most instructions notice neither,
 * once a rip-relative displacement has been adjusted; the copy is followed by
 * a jump back ("boosted"). Of the others,
 *
 * - those that use their address (branches, calls) are emulated, see emulate.c,
 *   and so are some that don't (push, mov between registers, lea, nops) while
 *   there are post_handlers, which is cheaper then;
 * - those that change what the kernel itself stands on (control and debug
 *   registers, MSRs, descriptor tables, port I/O) are stepped with interrupts
 *   off: a trap follows the copy and nothing else runs before it;
 * - those that can't be run elsewhere, or whose effect on the instruction that
 *   follows would be lost, are refused with -EOPNOTSUPP, as is every opcode
 *   that the manual does not have, and what is there to trap by itself (int3,
 *   int, ud2) with -EINVAL.
 *
 * The decision is by opcode map, see opcodes.c.
 *
 * Runs at registration, under kprobe_mutex.
 */
#include <linux/cfi.h>
#include <linux/kallsyms.h>
#include <linux/memory.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "common.h"

/* The probepoint at @addr, if it has put the byte there; or NULL. */
static struct probepoint *probepoint_behind(unsigned long addr, u8 byte)
{
	struct probepoint *pp;

	if (byte != INT3_INSN_OPCODE && byte != JMP32_INSN_OPCODE)
		return NULL;
	pp = get_probepoint((void *)addr);
	return pp && pp->arch.detour.in_text == (byte == JMP32_INSN_OPCODE) ? pp : NULL;
}

/**
 * x86_kprobe_read_original() - copy text as it would be without probes
 * @addr: where to begin
 * @buf: where to put it
 * @len: how many bytes, at most KPROBE_JUMP_REACH
 *
 * Probes are known to us; what else has put a breakpoint there is for the
 * caller.
 *
 * Context: kprobe_mutex or text_mutex is held, so that jumps stay as they are,
 * and preemption is disabled if it is not kprobe_mutex.
 *
 * Return: false if the text can't be read.
 */
bool x86_kprobe_read_original(unsigned long addr, u8 *buf, size_t len)
{
	u8 text[KPROBE_JUMP_SIZE - 1 + KPROBE_JUMP_REACH];
	unsigned long start = addr - (KPROBE_JUMP_SIZE - 1);
	long i, j, end = len;

	if (copy_from_kernel_nofault(buf, (void *)addr, len))
		return false;
	memcpy(text + KPROBE_JUMP_SIZE - 1, buf, len);
	/*
	 * A jump may begin before what is asked for. Where a page begins in between,
	 * there may be none before it, but what is on this side of it counts.
	 */
	for (i = 0; i < KPROBE_JUMP_SIZE - 1; i++)
		if (get_kernel_nofault(text[i], (u8 *)start + i))
			text[i] = 0;

	for (i = 1 - KPROBE_JUMP_SIZE; i < end; i++) {
		u8 byte = text[i + KPROBE_JUMP_SIZE - 1];
		struct probepoint *pp = probepoint_behind(addr + i, byte);

		if (!pp)
			continue;
		if (i >= 0)
			buf[i] = pp->arch.insn.bytes[0];
		if (!pp->arch.detour.in_text)
			continue;
		for (j = max(i, 0L); j < min(i + KPROBE_JUMP_SIZE, end); j++)
			buf[j] = pp->arch.detour.covered[j - i];
	}
	return true;
}

/*
 * Decode the original instruction at @addr, which has no more than @max bytes
 * of its function left.
 */
static bool decode_original(unsigned long addr, size_t max, struct insn *insn,
			    u8 buf[MAX_INSN_SIZE])
{
	max = min_t(size_t, max, MAX_INSN_SIZE);
	return x86_kprobe_read_original(addr, buf, max) &&
	       !insn_decode(insn, buf, max, INSN_MODE_KERN);
}

/* How many instructions are decoded before others get text_mutex. */
#define DECODE_BATCH	32

/*
 * Decode the instruction at @addr, if one starts there: all of the function is
 * decoded up to it, so this takes as long as that is. text_mutex keeps jump
 * labels from being seen half patched. It is released now and then, for no
 * patching makes instructions begin elsewhere: what takes the place of one or
 * more has their length. Probes stay as they are under kprobe_mutex.
 */
static bool decode_on_boundary(unsigned long addr, struct insn *insn, u8 buf[MAX_INSN_SIZE])
{
	unsigned long size, offset, at, end;
	int i;

	if (!kallsyms_lookup_size_offset(addr, &size, &offset))
		return false;
	at = addr - offset;
	end = at + size;

	for (;;) {
		scoped_guard(mutex, &text_mutex) {
			for (i = 0; i < DECODE_BATCH; i++, at += insn->length) {
				if (at > addr || !decode_original(at, end - at, insn, buf))
					return false;
				if (at == addr)
					return true;
			}
		}
		cond_resched();
	}
}

/* Refuse sti if the next instruction relies on its interrupt shadow. */
static bool sti_is_safe(unsigned long addr)
{
	u8 next[3];

	return x86_kprobe_read_original(addr + 1, next, sizeof(next)) &&
	       !x86_needs_sti_shadow(next, sizeof(next));
}

/*
 * The bytes in front of a function have a symbol of their own: __cfi_ and the
 * function's name from the compiler, or __pfx_ from objtool. The kernel keeps the
 * hash of the function's type there, and code that it makes of it at boot, or code
 * that counts calls. Callers read the one and jump into the other.
 */
static bool is_in_padding(unsigned long addr)
{
	char name[KSYM_NAME_LEN];

	return !lookup_symbol_name(addr, name) &&
	       (strstarts(name, "__pfx_") || strstarts(name, "__cfi_"));
}

/* What the compiler puts before an indirect call, with kCFI. */
#define CFI_MOVL_SIZE	6		/* movl $-type, %r10d */
#define CFI_ADDL_SIZE	4		/* addl -4(%reg), %r10d */
#define CFI_JE_SIZE	2		/* je past the ud2 that follows */

/*
 * Is it the movl or the addl of such a check? When the ud2 traps, the kernel reads
 * both in the text, to learn which type and which register were meant.
 */
static bool is_cfi_check(unsigned long addr, struct insn *insn)
{
	if (insn->opcode.value == 0xba && insn->length == CFI_MOVL_SIZE)
		return is_cfi_trap(addr + CFI_MOVL_SIZE + CFI_ADDL_SIZE + CFI_JE_SIZE);
	if (insn->opcode.value == 0x03 && insn->length == CFI_ADDL_SIZE)
		return is_cfi_trap(addr + CFI_ADDL_SIZE + CFI_JE_SIZE);
	return false;
}

/*
 * Is it an endbr? A probe on a function's first is moved behind it, so this is one
 * in the middle. An indirect jump has to find it there.
 */
static bool is_endbr_insn(const u8 *bytes)
{
	return is_endbr(get_unaligned((u32 *)bytes));
}

/**
 * x86_kprobe_decode() - decode the instruction of a probepoint
 * @pp: the probepoint, its address set; its insn and emulation are filled in
 *
 * Context: sleeps; kprobe_mutex is held; takes text_mutex.
 *
 * Return: 0; -EILSEQ if no instruction begins at the address, or none that the decoder
 * knows; -EINVAL if it is there to trap, or if other code must find it unchanged;
 * -EOPNOTSUPP if it can neither be copied nor emulated.
 */
int x86_kprobe_decode(struct probepoint *pp)
{
	unsigned long addr = (unsigned long)pp->addr;
	struct arch_probepoint *ap = &pp->arch;
	u8 *bytes = ap->insn.bytes;
	struct insn insn;

	lockdep_assert_held(&kprobe_mutex);
	if (is_in_padding(addr))
		return -EINVAL;
	if (!decode_on_boundary(addr, &insn, bytes))
		return -EILSEQ;
	if (is_endbr_insn(bytes) || is_cfi_check(addr, &insn))
		return -EINVAL;
	ap->insn.size = insn.length;
	ap->insn.op = x86_insn_op(&insn);
	ap->hit_ip = addr + INT3_INSN_SIZE;
	ap->next_ip = addr + insn.length;
	pp->kp.opcode = bytes[0];

	x86_kprobe_find_emulation(pp, &insn);
	if (ap->emulation.run)
		return x86_insn_is_sti(&insn) && !sti_is_safe(addr) ? -EOPNOTSUPP : 0;
	switch (ap->insn.op) {
	case X86_OP_COPY:
	case X86_OP_STEP:
		return 0;
	case X86_OP_TRAP:
		return -EINVAL;
	default:
		return -EOPNOTSUPP;
	}
}
