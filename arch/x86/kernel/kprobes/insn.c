// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel probes on x86: decoding the probed instruction.
 *
 * This file checks that an instruction can be probed. opcodes.c classifies it; emulate.c and
 * slot.c choose how it is executed:
 *
 * - Most instructions have the same effect at another address, once a rip-relative displacement
 *   is adjusted. They are boosted: a jump back follows the copy.
 * - Calls, returns, indirect branches, loop instructions, and instructions that use flags which
 *   differ while a hit is handled, are emulated, see emulate.c. jmp and jcc are re-encoded in the
 *   slot. They and a few others (push, mov between registers, lea, nops) are emulated if there
 *   are post_handlers, which costs less.
 * - In 32-bit mode, instructions that load ds, es, fs or gs, or that follow a load of ds or es
 *   in their function, are single-stepped: the trampoline that calls post_handlers does not
 *   load the kernel's segments, but the trap after a copy does.
 * - Instructions that depend on their address, or whose effect on the next instruction would be
 *   lost, are refused with -EOPNOTSUPP, as is every undefined opcode. Instructions that exist
 *   to trap (int3, int, ud2) are refused with -EINVAL.
 *
 * x86_kprobe_decode() runs at registration, under kprobe_mutex. The safety check and machine
 * checks read text without that mutex.
 */
#include <linux/cfi.h>
#include <linux/kallsyms.h>
#include <linux/kgdb.h>
#include <linux/memory.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <asm/ibt.h>
#include <asm/insn.h>
#include <asm/text-patching.h>

#include "x86.h"

/* Return: the probepoint at @addr, if it wrote @byte to the text; or NULL. */
static __always_inline struct probepoint *probepoint_with_byte(unsigned long addr, u8 byte)
{
	struct probepoint *pp;

	if (likely(byte != INT3_INSN_OPCODE && byte != JMP32_INSN_OPCODE))
		return NULL;
	pp = get_probepoint((void *)addr);
	return pp && pp->arch.detour.in_text == (byte == JMP32_INSN_OPCODE) ? pp : NULL;
}

/*
 * Read the four bytes before @addr, where a jump that covers @addr may begin. Bytes in a page that
 * cannot be read become 0: no jump of a probe begins there.
 */
static void kprobe_read_before(unsigned long addr, u8 before[KPROBE_JUMP_SIZE - 1])
{
	u8 *text = (u8 *)addr - (KPROBE_JUMP_SIZE - 1);
	unsigned int i;

	if (likely(!copy_from_kernel_nofault(before, text, KPROBE_JUMP_SIZE - 1)))
		return;
	for (i = 0; i < KPROBE_JUMP_SIZE - 1; i++)
		if (get_kernel_nofault(before[i], text + i))
			before[i] = 0;
}

/**
 * x86_kprobe_read_original() - read text without the changes that probes made
 * @addr: the first address
 * @buf: result: the bytes
 * @len: number of bytes
 *
 * Breakpoints of other code stay in the result.
 *
 * Context: kprobe_mutex is held; or text_mutex is held and preemption is disabled. Either prevents
 * jumps from being written or removed.
 *
 * Return: true if the text could be read.
 */
bool x86_kprobe_read_original(unsigned long addr, u8 *buf, size_t len)
{
	long i, j, end = len;
	u8 before[KPROBE_JUMP_SIZE - 1];

	if (copy_from_kernel_nofault(buf, (void *)addr, len))
		return false;
	kprobe_read_before(addr, before);
	/* Begin before @addr: a jump of 5 bytes that begins up to 4 bytes before it covers it. */
	for (i = -(long)sizeof(before); i < end; i++) {
		struct probepoint *pp;

		/*
		 * If a jump that was found before covers this byte, buf[i] is already the original
		 * byte, so it is not mistaken for an int3 or a jump.
		 */
		pp = probepoint_with_byte(addr + i, i < 0 ? before[i + sizeof(before)] : buf[i]);
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

/**
 * x86_kprobe_restore_original() - read an instruction whose copy has raised an exception
 * @buf: MAX_INSN_SIZE bytes that the caller has read from the text at @addr. This function reads
 *	them again, without the changes that probes made.
 * @addr: address of the original, the instruction pointer in the registers of the exception
 *
 * For handlers of exceptions, which cannot take a mutex. The instruction may be the probed one, or
 * another one that a jump overlaps. What is read here does not change while this CPU has interrupts
 * off. The original bytes that a probepoint has saved are constant. Before the bytes of a jump are
 * restored, or its detour buffer is freed, arch_kprobes_sync() has to interrupt this CPU.
 *
 * Context: any.
 */
void __kprobes x86_kprobe_restore_original(u8 *buf, unsigned long addr)
{
	size_t in_page = min_t(size_t, MAX_INSN_SIZE, PAGE_SIZE - offset_in_page(addr));
	struct probepoint *pp;
	unsigned long flags;
	int i;

	raw_local_irq_save(flags);
	if (copy_from_kernel_nofault(buf, (void *)addr, in_page))
		goto out;
	/* If this fails, the next page cannot be read: the instruction ends in the first page. */
	copy_from_kernel_nofault(buf + in_page, (void *)addr + in_page, MAX_INSN_SIZE - in_page);
	pp = get_probepoint((void *)addr);
	for (i = 1; !pp && i < KPROBE_JUMP_SIZE; i++) {
		struct probepoint *before = get_probepoint((void *)(addr - i));

		/* Pairs with smp_store_release() in arch_prepare_detour(). */
		if (before && smp_load_acquire(&before->arch.detour.text))
			memcpy(buf, before->arch.detour.covered + i, KPROBE_JUMP_SIZE - i);
	}
	if (pp)
		memcpy(buf, pp->arch.insn.bytes, pp->arch.insn.size);
out:
	raw_local_irq_restore(flags);
}

/* Did kgdb write the int3 at @addr? Then kprobes does not know the original instruction there. */
static bool kprobe_is_debuggers_int3(unsigned long addr)
{
#ifdef CONFIG_KGDB
	return kgdb_has_hit_break(addr);
#else
	return false;
#endif
}

/*
 * Decode the original instruction at @addr, which has at most @max bytes up to the end of its
 * function. Return: true if it could be decoded.
 */
static bool kprobe_decode_original(unsigned long addr, size_t max, struct insn *insn,
				   u8 buf[MAX_INSN_SIZE])
{
	max = min_t(size_t, max, MAX_INSN_SIZE);
	return x86_kprobe_read_original(addr, buf, max) &&
	       !(buf[0] == INT3_INSN_OPCODE && kprobe_is_debuggers_int3(addr)) &&
	       !insn_decode(insn, buf, max, INSN_MODE_KERN);
}

/*
 * Decode an instruction of a function that ends at @end, without the changes that probes made.
 * Return: true if it could be decoded; then @buf has its bytes.
 */
bool x86_kprobe_decode_text(unsigned long addr, unsigned long end, struct insn *insn,
			    u8 buf[MAX_INSN_SIZE])
{
	lockdep_assert_held(&text_mutex);
	guard(preempt)();
	return kprobe_decode_original(addr, end - addr, insn, buf) && x86_insn_length_known(insn);
}

/* text_mutex is released after this number of instructions: other code may wait to patch text. */
#define DECODE_BATCH	32

/**
 * struct x86_decoding - results of decoding a function up to an address
 * @function: start of the function
 * @at: the address
 * @loads: any instruction from @function up to the address loads ds or es, so that at the address
 *	these may differ from the kernel's. Only in 32-bit mode
 * @before: the last instruction boundary before the address, or 0
 * @after: if the address is not a boundary, the first boundary after it, or 0
 */
struct x86_decoding {
	unsigned long function;
	unsigned long at;
	bool loads;
	unsigned long before;
	unsigned long after;
};

/*
 * The last boundary that was found. If probes at many instructions of a function are registered in
 * the order of their addresses, the function is decoded only once. Guarded by kprobe_mutex.
 */
static struct x86_decoding last_decoding;

/*
 * Discard the last boundary if a module was loaded since it was found: the boundary may be of a
 * module that was freed, and the new module's text may be at that address.
 */
static void kprobe_check_last_decoding(void)
{
#ifdef CONFIG_MODULES
	static unsigned int modules_seen;

	if (modules_seen != kprobe_modules_seen)
		last_decoding = (struct x86_decoding){};
	modules_seen = kprobe_modules_seen;
#endif
}

/*
 * Does an instruction begin at @addr? Decode the function from its start. Return:
 * KPROBE_REASON_NONE, or the reason why none begins there, or why that is not known.
 *
 * text_mutex keeps jump labels from being patched while they are read. Releasing it after every
 * DECODE_BATCH instructions does no harm: patching does not move instruction boundaries.
 * kprobe_mutex keeps probes from being armed or disarmed.
 */
static enum kprobe_reason kprobe_decode_on_boundary(unsigned long addr, struct insn *insn,
						    u8 buf[MAX_INSN_SIZE], struct x86_decoding *d)
{
	const struct kprobe_symbol *symbol = kprobe_symbol_at(addr);
	unsigned long at, end;
	int i;

	*d = (struct x86_decoding){};
	if (!symbol)
		return KPROBE_REASON_NO_FUNCTION;
	at = symbol->start;
	end = at + symbol->size;
	kprobe_check_last_decoding();
	if (last_decoding.function == at && last_decoding.at <= addr) {
		*d = last_decoding;
		at = d->at;
	}
	d->function = symbol->start;

	for (;;) {
		scoped_guard(mutex, &text_mutex) {
			for (i = 0; i < DECODE_BATCH; i++, at += insn->length) {
				if (at > addr) {
					d->after = at;
					return KPROBE_REASON_NO_BOUNDARY;
				}
				if (!kprobe_decode_original(at, end - at, insn, buf))
					return KPROBE_REASON_UNDECODED;
				if (at == addr) {
					d->at = at;
					last_decoding = *d;
					return KPROBE_REASON_NONE;
				}
				if (!x86_insn_length_known(insn))
					return KPROBE_REASON_UNDECODED;
				d->before = at;
				d->loads |= x86_insn_kind(insn) == X86_KIND_LOAD_SEGMENT;
			}
		}
		cond_resched();
	}
}

/*
 * Can the sti at @addr be emulated? Not if the next instruction relies on the interrupt shadow of
 * sti, which an emulation does not have, or cannot be read.
 */
static bool kprobe_sti_is_safe(unsigned long addr)
{
	u8 next[3];

	return x86_kprobe_read_original(addr + 1, next, sizeof(next)) &&
	       !x86_needs_sti_shadow(next, sizeof(next));
}

/*
 * Is @addr in the padding before a function? Its symbol is __cfi_ (from the compiler) or __pfx_
 * (from objtool) and the function's name. The padding must not be changed. It holds the hash of the
 * function's type, which callers read; or code that the kernel generates at boot, to which callers
 * jump; or code that counts calls.
 */
static bool kprobe_is_in_padding(unsigned long addr)
{
	const struct kprobe_symbol *symbol = kprobe_symbol_at(addr);

	return symbol &&
	       (strstarts(symbol->name, "__pfx_") || strstarts(symbol->name, "__cfi_"));
}

/*
 * Is an instruction a call that fills the return stack buffer?
 *
 * Such code, for instance in __switch_to_asm(), calls over an int3 and drops the return address
 * from the stack: it needs the entry that a call adds to the CPU's return stack buffer. Neither an
 * emulation nor the push and jump of a detour buffer adds one.
 *
 * Context: as for x86_kprobe_read_original().
 *
 * Return: true for a call into its own function that is followed by an int3.
 */
bool x86_kprobe_fills_rsb(struct insn *insn, unsigned long addr)
{
	unsigned long target, size, offset;
	u8 next;

	/* Look up the symbol last: that takes longest, and is rarely needed. */
	return x86_insn_kind(insn) == X86_KIND_CALL && x86_insn_branches(insn, addr, &target) &&
	       x86_kprobe_read_original(addr + insn->length, &next, sizeof(next)) &&
	       next == INT3_INSN_OPCODE &&
	       kallsyms_lookup_size_offset(addr, &size, &offset) &&
	       target - (addr - offset) < size;
}

/* With kCFI, the compiler puts these instructions before an indirect call: */
#define CFI_MOVL_SIZE	6		/* movl $-type, %r10d */
#define CFI_ADDL_SIZE	4		/* addl -4(%reg), %r10d */
#define CFI_JE_SIZE	2		/* je past the ud2 that follows */

/*
 * Is an instruction the movl or the addl of a kCFI check?
 *
 * When the ud2 of the check traps, the kernel decodes the movl and the addl in the text to find the
 * type and the register, so neither may be changed by a probe.
 *
 * Context: any in which RCU is watching.
 */
bool x86_kprobe_is_cfi_check(struct insn *insn, unsigned long addr)
{
	if (insn->opcode.value == 0xba && insn->length == CFI_MOVL_SIZE)
		return is_cfi_trap(addr + CFI_MOVL_SIZE + CFI_ADDL_SIZE + CFI_JE_SIZE);
	if (insn->opcode.value == 0x03 && insn->length == CFI_ADDL_SIZE)
		return is_cfi_trap(addr + CFI_ADDL_SIZE + CFI_JE_SIZE);
	return false;
}

/*
 * Is @addr in the trampoline of a static call? static_call_update() replaces its five bytes, and
 * would overwrite an int3 there. The kernel's trampolines are on the blacklist; the trampolines of
 * modules are identified by the mark after them, as in static_call_update().
 */
static bool kprobe_is_static_call_trampoline(unsigned long addr)
{
	static const u8 mark[] = { 0x0f, 0xb9, 0xcc };
	u8 text[JMP32_INSN_SIZE + sizeof(mark)];

	if (copy_from_kernel_nofault(text, (void *)addr, sizeof(text)))
		return false;
	for (int i = 1; i <= JMP32_INSN_SIZE; i++)
		if (!memcmp(text + i, mark, sizeof(mark)))
			return true;
	return false;
}

/**
 * x86_kprobe_decode() - decode the instruction of a probepoint
 * @pp: the probepoint, with its address set. Its fields insn and emulation are filled in, and, in
 *	case of an error, why.
 * @e: result, or NULL: if no instruction begins at the address, the instruction boundaries before
 *	and after it
 *
 * Context: sleeps; kprobe_mutex is held; takes text_mutex.
 *
 * Return: 0; -EILSEQ if no instruction begins at the address, or if the decoder does not know
 * an instruction before it; -EINVAL if the instruction exists to trap, or if other code must
 * find it unchanged; -EOPNOTSUPP if it can neither be copied nor emulated.
 */
int x86_kprobe_decode(struct probepoint *pp, struct kprobe_explanation *e)
{
	unsigned long addr = (unsigned long)pp->addr;
	struct arch_probepoint *ap = &pp->arch;
	u8 *bytes = ap->insn.bytes;
	struct x86_decoding decoding;
	enum kprobe_reason why;
	struct insn insn;

	lockdep_assert_held(&kprobe_mutex);
	if (kprobe_is_in_padding(addr))
		return probepoint_refuse(pp, KPROBE_REASON_PADDING);
	why = kprobe_decode_on_boundary(addr, &insn, bytes, &decoding);
	if (why && e) {
		e->before = decoding.before;
		e->after = decoding.after;
	}
	if (why)
		return probepoint_refuse(pp, why);
	/*
	 * An indirect jump must find an endbr inside a function. At the start of a function,
	 * arch_adjust_kprobe_addr() has moved the probe past the endbr.
	 */
	if (is_endbr(get_unaligned((u32 *)bytes)))
		return probepoint_refuse(pp, KPROBE_REASON_ENDBR);
	if (kprobe_is_static_call_trampoline(addr))
		return probepoint_refuse(pp, KPROBE_REASON_STATIC_CALL);
	if (x86_kprobe_is_cfi_check(&insn, addr))
		return probepoint_refuse(pp, KPROBE_REASON_CFI_CHECK);
	if (x86_kprobe_fills_rsb(&insn, addr))
		return probepoint_refuse(pp, KPROBE_REASON_FILLS_RSB);
	ap->insn.size = insn.length;
	ap->insn.op = x86_insn_op(&insn);
	/*
	 * Do not boost if the function may have loaded ds or es: post_handlers that a slot calls
	 * would run with these. The int3 after a single-stepped copy enters the kernel through the
	 * entry code, which loads the kernel's segments.
	 */
	if (decoding.loads && ap->insn.op == X86_OP_COPY) {
		ap->insn.op = X86_OP_STEP;
		pp->why = KPROBE_REASON_EXEC_SEGMENT;
	}
	ap->hit_ip = addr + INT3_INSN_SIZE;
	ap->next_ip = addr + insn.length;
	pp->kp.opcode = bytes[0];

	x86_kprobe_find_emulation(pp, &insn);
	if (ap->emulation.run && x86_insn_kind(&insn) == X86_KIND_STI && !kprobe_sti_is_safe(addr))
		return probepoint_refuse(pp, KPROBE_REASON_STI_SHADOW);
	if (ap->emulation.run)
		return 0;
	switch (ap->insn.op) {
	case X86_OP_COPY:
	case X86_OP_STEP:
		return 0;
	case X86_OP_TRAP:
		return probepoint_refuse(pp, KPROBE_REASON_TRAP);
	case X86_OP_NONE:
		return probepoint_refuse(pp, KPROBE_REASON_UNKNOWN_OPCODE);
	case X86_OP_REFUSE:
		return probepoint_refuse(pp, KPROBE_REASON_NOT_MOVABLE);
	default:
		return probepoint_refuse(pp, KPROBE_REASON_NO_EMULATION);
	}
}
